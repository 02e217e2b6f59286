"""Sentences side by side, as the fast chart takes them: LANES in lockstep, else one."""

import math
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from sklearn_shag.parsing._fast_sums import N_NUMBER_TABLES, N_VECTOR_TABLES
from sklearn_shag.sequences import LEFT, RIGHT
from sklearn_shag.utils._kernel import inlined_kernel, inner_table_kernel
from sklearn_shag.utils._simd import LANES, aligned, shaped


class Workspace(NamedTuple):
    """Memory for the longest sentences of a chunk, used for all of them."""

    begins: tuple[int, ...]  # of each array of a group, in all of them
    numbers: np.ndarray
    whole_numbers: np.ndarray


class SentenceGroup(NamedTuple):
    """Sentences side by side. The last axis counts them: LANES members in lockstep, else one.

    States and members share an axis, of the size ``n_classes * n_states * n_members``: there are
    several states or several members.
    """

    lengths: np.ndarray  # (n_members,)
    starts: np.ndarray  # (N + 1, 2, size)
    stops: np.ndarray  # (N + 1, 2, size)
    roots: np.ndarray  # (N + 1, n_members)
    arc_scores: np.ndarray  # (N + 1, N + 1, n_classes, n_members): modifier, head, class before
    vectors: np.ndarray  # (6, P, P + 1, size)
    numbers: np.ndarray  # (3, P + 1, P + 1, n_members)
    marginals: np.ndarray  # (N, N + 1, n_members)
    in_class: np.ndarray  # (N + 1, n_classes, n_members): 1 or 0
    log_shifts: np.ndarray  # (n_members,): to be added to log Z
    z: np.ndarray  # (n_members,), set by the chart
    exponents: np.ndarray  # (N + 1, n_members): arcs to a token are divided by 2 to their power
    codes: np.ndarray  # (N,), for operators: of one sentence, 0 where they are in arcs
    n_wrong: np.ndarray  # (n_members,): how many entries of the chart are out of range


@inlined_kernel
def padded(n_tokens):
    """P of the tables: room for four rows at once, and rows that begin in different cache sets."""
    return (n_tokens + 5 + 3) // 4 * 4


def new_workspace(n_tokens, n_states, n_classes, n_members):
    """Allocate what the chart needs of sentences of up to N tokens.

    Not within a kernel: numpy asks the system for large pages, which long sentences need.
    """
    p, n, size = padded.py_func(n_tokens), n_tokens + 1, n_states * n_classes * n_members
    sizes = (
        int(N_VECTOR_TABLES) * p * (p + 1) * size,
        int(N_NUMBER_TABLES) * (p + 1) ** 2 * n_members,
        2 * n * size,
        2 * n * size,
        n * n_members,
        n * n * n_classes * n_members,
        (n - 1) * n * n_members,
        n * n_classes * n_members,
        n_members,
        n_members,
    )
    # Each at the begin of a cache line.
    *begins, end = accumulate((size + -size % LANES for size in sizes), initial=0)
    whole_numbers = np.empty((n + 2) * n_members + n, dtype=np.int64)
    return Workspace(tuple(begins), aligned(end), whole_numbers)


@inner_table_kernel
def group_of(space, n_tokens, n_states, n_classes, n_members):
    """Cut what sentences side by side, the longest of N tokens, need from the workspace."""
    p, n, size = padded(n_tokens), n_tokens + 1, n_states * n_classes * n_members
    begins, numbers, whole_numbers = space.begins, space.numbers, space.whole_numbers
    return SentenceGroup(
        shaped(whole_numbers, (n_members,)),
        shaped(numbers[begins[2] :], (n, 2, size)),
        shaped(numbers[begins[3] :], (n, 2, size)),
        shaped(numbers[begins[4] :], (n, n_members)),
        shaped(numbers[begins[5] :], (n, n, n_classes, n_members)),
        shaped(numbers, (N_VECTOR_TABLES, p, p + 1, size)),
        shaped(numbers[begins[1] :], (N_NUMBER_TABLES, p + 1, p + 1, n_members)),
        shaped(numbers[begins[6] :], (n - 1, n, n_members)),
        shaped(numbers[begins[7] :], (n, n_classes, n_members)),
        shaped(numbers[begins[8] :], (n_members,)),
        shaped(numbers[begins[9] :], (n_members,)),
        shaped(whole_numbers[2 * n_members + n :], (n, n_members)),
        shaped(whole_numbers[2 * n_members :], (n - 1,)),
        shaped(whole_numbers[n_members:], (n_members,)),
    )


@inner_table_kernel
def put_sentence(grammar, factors, s, group, member):
    """Put a sentence in its place. Behind its end all is zero."""
    begin, n_tokens = factors.indptr[s], factors.indptr[s + 1] - factors.indptr[s]
    group.lengths[member], group.log_shifts[member] = n_tokens, 0.0
    n_members, n_classes = group.lengths.size, group.arc_scores.shape[2]
    n_states, in_arcs = group.stops.shape[2] // (n_classes * n_members), grammar.in_arcs.size > 0
    if not in_arcs:
        scores = shaped(group.arc_scores, (group.arc_scores.size,))
        for k in range(scores.size):
            scores[k] = 1.0
    for h in range(1, group.roots.shape[0]):
        code = factors.codes[begin + h - 1] if h <= n_tokens else -1
        group.roots[h, member] = grammar.roots[code] if code >= 0 else 0.0
        group.exponents[h, member] = 0
        for direction in range(2):
            _put_states(grammar, code, group, h, direction, n_states, member)
        group.codes[h - 1] = 0 if in_arcs else code
        if in_arcs:
            _put_row(grammar, factors, begin, n_tokens, group, h, member)
    if factors.stop_memory.shape[0]:
        _put_stop_factors(factors, begin, n_tokens, group, n_states, member)
    for m in range(1, n_tokens + 1):
        first = factors.begins[s] + (m - 1) * (n_tokens + 1)
        if factors.arcs.size:
            _put_arcs(factors, first, n_tokens, group, m, member)
        if factors.arc_memory.shape[0]:
            _put_arc_memory(factors, first, n_tokens, group, m, member)


@inlined_kernel
def _put_states(grammar, code, group, h, direction, n_states, member):
    """Put alpha_1, of class 0, and alpha_inf, of every class."""
    n_members = group.lengths.size
    for c in range(group.arc_scores.shape[2]):
        for q in range(n_states):
            start = grammar.alpha_1[code, direction, q] if code >= 0 and c == 0 else 0.0
            stop = grammar.alpha_inf[code, direction, q] if code >= 0 else 0.0
            place = (c * n_states + q) * n_members + member
            group.starts[h, direction, place] = start
            group.stops[h, direction, place] = stop


@inlined_kernel
def _put_row(grammar, factors, begin, n_tokens, group, h, member):
    """Put the operators of a grammar of one state where they are, in arcs."""
    for m in range(1, group.roots.shape[0]):
        score = 0.0
        if h <= n_tokens and m <= n_tokens:
            code, symbol = factors.codes[begin + h - 1], factors.codes[begin + m - 1]
            score = grammar.in_arcs[code, RIGHT if m > h else LEFT, symbol]
        for c in range(group.arc_scores.shape[2]):
            group.arc_scores[m, h, c, member] = score
    for c in range(group.in_class.shape[1]):
        in_class = h <= n_tokens and factors.memory.size and factors.memory[begin + h - 1] == c
        group.in_class[h, c, member] = 1.0 if in_class else 0.0


@inner_table_kernel
def _put_stop_factors(factors, begin, n_tokens, group, n_states, member):
    """Multiply what stops by its factors, divided by a power of two for each token and side."""
    n_classes, n_members = group.arc_scores.shape[2], group.lengths.size
    for h in range(1, n_tokens + 1):
        for direction in range(2):
            of_half = factors.stop_memory[begin + h - 1, direction]
            scale = _normalise(_largest(of_half, 0, n_classes), group, member)
            for c in range(n_classes):
                for q in range(c * n_states, (c + 1) * n_states):
                    group.stops[h, direction, q * n_members + member] *= scale * of_half[c]


@inlined_kernel
def _put_arcs(factors, first, n_tokens, group, m, member):
    """Multiply by the scores of all arcs to a token, divided by the largest."""
    log_largest = -np.inf
    for h in range(n_tokens + 1):
        if h != m:
            log_largest = max(log_largest, factors.arcs[first + h])
    # Where there is none, no arc will be possible, and nothing be NaN.
    log_largest = log_largest if log_largest > -np.inf else 0.0
    group.log_shifts[member] += log_largest
    group.roots[m, member] *= np.exp(factors.arcs[first] - log_largest)
    for h in range(1, n_tokens + 1):
        if h != m:
            score = np.exp(factors.arcs[first + h] - log_largest)
            for c in range(group.arc_scores.shape[2]):
                group.arc_scores[m, h, c, member] *= score


@inlined_kernel
def _put_arc_memory(factors, first, n_tokens, group, m, member):
    """Multiply by the factors of all arcs to a token, divided by a power of two."""
    n_classes, n_members = factors.arc_memory.shape[1], group.lengths.size
    of_token = factors.arc_memory[first : first + n_tokens + 1]
    values = shaped(of_token, (of_token.size,))
    largest = max(
        _largest(values, 0, m * n_classes), _largest(values, (m + 1) * n_classes, values.size)
    )
    scale = _normalise(largest, group, member)
    group.roots[m, member] *= scale * values[0]
    scores = shaped(group.arc_scores[m], (group.arc_scores[m].size,))
    for k in range(n_classes, values.size):
        scores[k * n_members + member] *= scale * values[k]


@inlined_kernel(fastmath={"nnan", "nsz"})  # or it could not compare several at once
def _largest(values, begin, end):
    largest = 0.0
    for k in range(begin, end):
        largest = max(largest, values[k])
    return largest


@inlined_kernel
def _normalise(largest, group, member):
    """Return by which power of two factors are multiplied, so that the largest is near 1."""
    exponent = max(math.frexp(largest)[1], -1000)  # the power is finite
    group.log_shifts[member] += np.log(2.0) * exponent
    return 2.0**-exponent


@inner_table_kernel
def put_memory(factors, s, memory):
    """Set where the states of the class of each token begin, and the next token of each class."""
    begin, n_tokens = factors.indptr[s], factors.indptr[s + 1] - factors.indptr[s]
    n_columns = padded(n_tokens)
    for m in range(n_columns):
        inside = 1 <= m <= n_tokens
        memory.columns[m] = factors.memory[begin + m - 1] * memory.n_states if inside else 0
    for c in range(memory.following.shape[0]):
        next_one = n_columns
        for m in range(n_columns - 1, -1, -1):
            if 1 <= m <= n_tokens and memory.columns[m] == c * memory.n_states:
                next_one = m
            memory.following[c, m] = next_one
