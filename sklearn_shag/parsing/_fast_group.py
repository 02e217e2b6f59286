"""Groups of one or LANES sentences for the fast chart: their factors, and expected uses."""

import math
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from sklearn_shag.encoding import LEFT, RIGHT
from sklearn_shag.operators import Operators
from sklearn_shag.parsing._fast_sums import (
    AWAITING,
    COMPLETE,
    D_AWAITING,
    D_CLOSED,
    D_COMPLETE,
    D_INCOMPLETE,
    N_NUMBER_TABLES,
    N_VECTOR_TABLES,
)
from sklearn_shag.parsing._potentials import FastGrammar, classes_of
from sklearn_shag.utils._kernel import inlined_kernel, inner_table_kernel, merged_kernel
from sklearn_shag.utils._simd import (
    LANES,
    aligned,
    lane_sum,
    load,
    multiply,
    multiply_add,
    shaped,
    store,
    weight,
    zeros,
)


class Workspace(NamedTuple):
    """Arrays for the largest group of sentences of a chunk, reused by all its groups."""

    begins: tuple[int, ...]  # of each array of a group, in `numbers`
    numbers: np.ndarray
    whole_numbers: np.ndarray


class SentenceGroup(NamedTuple):
    """Arrays of sentences side by side; the last axis has LANES members in lockstep, else one.

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
    codes: np.ndarray  # (N,), of one sentence; 0 where operators are in arc scores
    n_wrong: np.ndarray  # (n_members,): number of chart entries out of range


@inlined_kernel
def padded_size(n_tokens):
    """Return P, the size of tables: four rows fit in at once, and rows differ in cache sets."""
    return (n_tokens + 5 + 3) // 4 * 4


def new_workspace(n_tokens, n_states, n_classes, n_members):
    """Allocate the Workspace for groups of sentences of up to N tokens.

    Not within a kernel: numpy asks the system for large pages, which long sentences need.
    """
    p, n, size = padded_size.py_func(n_tokens), n_tokens + 1, n_states * n_classes * n_members
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
    ends = tuple(accumulate((size + -size % LANES for size in sizes), initial=0))
    return Workspace(
        ends[:-1], aligned(ends[-1]), np.empty((n + 2) * n_members + n, dtype=np.int64)
    )


@inner_table_kernel
def group_of(space, n_tokens, n_states, n_classes, n_members):
    """Return the SentenceGroup in a workspace for sentences of up to N tokens."""
    p, n, size = padded_size(n_tokens), n_tokens + 1, n_states * n_classes * n_members
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
    """Fill a member of a group with the factors of sentence s, and with zeros behind its end."""
    begin, n_tokens = factors.indptr[s], factors.indptr[s + 1] - factors.indptr[s]
    group.lengths[member], group.log_shifts[member] = n_tokens, 0.0
    n_members, n_classes = group.lengths.size, group.arc_scores.shape[2]
    n_states, in_arcs = group.stops.shape[2] // (n_classes * n_members), grammar.in_arcs.size > 0
    if not in_arcs:
        scores = shaped(group.arc_scores, (group.arc_scores.size,))
        scores[:] = 1.0
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
            _put_arcs(factors, begin, first, n_tokens, group, m, member)
        if factors.arc_memory.shape[0]:
            _put_arc_memory(factors, first, n_tokens, group, m, member)


@merged_kernel
def _put_states(grammar, code, group, h, direction, n_states, member):
    """Set starts to alpha_1 in class 0, else to 0, and stops to alpha_inf in every class."""
    n_members = group.lengths.size
    for c in range(group.arc_scores.shape[2]):
        for q in range(n_states):
            start = grammar.alpha_1[code, direction, q] if code >= 0 and c == 0 else 0.0
            stop = grammar.alpha_inf[code, direction, q] if code >= 0 else 0.0
            place = (c * n_states + q) * n_members + member
            group.starts[h, direction, place] = start
            group.stops[h, direction, place] = stop


@merged_kernel
def _put_row(grammar, factors, begin, n_tokens, group, h, member):
    """Set the arc scores of head h to the operators of a grammar of one state."""
    for m in range(1, group.roots.shape[0]):
        score = 0.0
        if h <= n_tokens and m <= n_tokens:
            code, symbol = factors.codes[begin + h - 1], factors.codes[begin + m - 1]
            score = grammar.in_arcs[code, RIGHT if m > h else LEFT, symbol]
        for c in range(group.arc_scores.shape[2]):
            group.arc_scores[m, h, c, member] = score
    of_token = factors.memory[begin + h - 1] if factors.memory.size and h <= n_tokens else 0
    for c in range(group.in_class.shape[1]):
        group.in_class[h, c, member] = 1.0 if c == of_token else 0.0


@merged_kernel
def _put_stop_factors(factors, begin, n_tokens, group, n_states, member):
    """Multiply stops by their factors, divided by a power of two for each token and side."""
    n_classes, n_members = group.arc_scores.shape[2], group.lengths.size
    for h in range(1, n_tokens + 1):
        for direction in range(2):
            of_half = factors.stop_memory[begin + h - 1, direction]
            scale = _choose_scale(_largest_of(of_half, 0, n_classes), group, member)
            for c in range(n_classes):
                for q in range(c * n_states, (c + 1) * n_states):
                    group.stops[h, direction, q * n_members + member] *= scale * of_half[c]


@merged_kernel
def _put_arcs(factors, begin, first, n_tokens, group, m, member):
    """Multiply by the scores of all arcs to a token, divided by a scale, the largest by default."""
    log_scale = -np.inf
    if factors.arc_scales.size:
        log_scale = factors.arc_scales[begin + m - 1]
    else:
        for h in range(n_tokens + 1):
            if h != m:
                log_scale = max(log_scale, factors.arcs[first + h])
    # Without any possible arc the scale is 1: all scores are then 0, and none is NaN.
    log_scale = log_scale if log_scale > -np.inf else 0.0
    group.log_shifts[member] += log_scale
    group.roots[m, member] *= np.exp(factors.arcs[first] - log_scale)
    for h in range(1, n_tokens + 1):
        if h != m:
            score = np.exp(factors.arcs[first + h] - log_scale)
            for c in range(group.arc_scores.shape[2]):
                group.arc_scores[m, h, c, member] *= score


@merged_kernel
def _put_arc_memory(factors, first, n_tokens, group, m, member):
    """Multiply by the factors of all arcs to a token, divided by a power of two."""
    n_classes, n_members = factors.arc_memory.shape[1], group.lengths.size
    of_token = factors.arc_memory[first : first + n_tokens + 1]
    values = shaped(of_token, (of_token.size,))
    before, behind = m * n_classes, (m + 1) * n_classes
    largest = max(_largest_of(values, 0, before), _largest_of(values, behind, values.size))
    scale = _choose_scale(largest, group, member)
    group.roots[m, member] *= scale * values[0]
    scores = shaped(group.arc_scores[m], (group.arc_scores[m].size,))
    for k in range(n_classes, values.size):
        scores[k * n_members + member] *= scale * values[k]


@inlined_kernel(fastmath={"nnan", "nsz"})  # or it could not compare several at once
def _largest_of(values, begin, end):
    largest = 0.0
    for k in range(begin, end):
        largest = max(largest, values[k])
    return largest


@inlined_kernel
def _choose_scale(largest, group, member):
    """Return the power of two that brings the largest factor near 1, and note its logarithm."""
    exponent = max(math.frexp(largest)[1], -1000)  # the power is finite
    group.log_shifts[member] += np.log(2.0) * exponent
    return 2.0**-exponent


@inner_table_kernel
def put_memory(factors, s, memory):
    """Set the first state of the class of each token, and the next token of each class."""
    begin, n_tokens = factors.indptr[s], factors.indptr[s + 1] - factors.indptr[s]
    n_columns = padded_size(n_tokens)
    for m in range(n_columns):
        inside = 1 <= m <= n_tokens
        memory.columns[m] = factors.memory[begin + m - 1] * memory.n_states if inside else 0
    for c in range(memory.following.shape[0]):
        next_one = n_columns
        for m in range(n_columns - 1, -1, -1):
            if 1 <= m <= n_tokens and memory.columns[m] == c * memory.n_states:
                next_one = m
            memory.following[c, m] = next_one


@inner_table_kernel
def put_uses(factors, group, member, s, results, n_states):
    """Set the expected uses of the memory factors of one sentence, of arcs and of stops."""
    n_tokens, n_classes = group.lengths[member], group.arc_scores.shape[2]
    if results.arc_memory.shape[0]:
        for m in range(1, n_tokens + 1):
            first = factors.begins[s] + (m - 1) * (n_tokens + 1)
            for h in range(n_tokens + 1):
                for c in range(n_classes):
                    use = 0.0
                    if h == 0 and c == 0:
                        use = group.marginals[m - 1, 0, member]
                    elif h > 0 and h != m:
                        use = _inner_product(group, D_AWAITING, AWAITING, h, m, c, n_states, member)
                    results.arc_memory[first + h, c] = use
    if results.stop_memory.shape[0]:
        for h in range(1, n_tokens + 1):
            for direction in range(2):
                for c in range(n_classes):
                    use = _stop_use(group, h, direction, c, n_states, member)
                    results.stop_memory[factors.indptr[s] + h - 1, direction, c] = use


@inlined_kernel
def _inner_product(group, one, other, h, m, c, n_states, member):
    """Return the inner product of two tables at [h, m], over the states of class c."""
    vectors, n_members, total = group.vectors, group.lengths.size, zeros()
    if n_members == 1:
        for q in range(c * n_states, (c + 1) * n_states, LANES):
            left = load(vectors, (one, h, m, q))
            total = multiply_add(left, load(vectors, (other, h, m, q)), total)
        return lane_sum(total)
    place = c * n_members + member  # the one state
    return vectors[one, h, m, place] * vectors[other, h, m, place]


@inlined_kernel
def _boundary_range(group, h, direction, member):
    """Return the range of the boundaries where halves of a head end."""
    if direction == LEFT:
        return 1, h + 1
    return h + 1, group.lengths[member] + 2


@inlined_kernel
def _stop_use(group, h, direction, c, n_states, member):
    # sum_b dclosed[h, b] stop(h, c) alpha_inf . C[h, b, c]
    vectors, n_members, use, total = group.vectors, group.lengths.size, 0.0, zeros()
    low, high = _boundary_range(group, h, direction, member)
    if n_members == 1:
        for q in range(c * n_states, (c + 1) * n_states, LANES):
            stop = load(group.stops, (h, direction, q))
            for b in range(low, high):
                d_closed = multiply(weight(group.numbers, (D_CLOSED, h, b, 0)), stop)
                total = multiply_add(d_closed, load(vectors, (COMPLETE, h, b, q)), total)
        return lane_sum(total)
    place = c * n_members + member  # the one state
    for b in range(low, high):
        use += group.numbers[D_CLOSED, h, b, member] * vectors[COMPLETE, h, b, place]
    return use * group.stops[h, direction, place]


@inner_table_kernel
def add_counts(grammar, factors, s, weights, space, counts):
    """Add the expected uses of operators in one sentence, times its weight (eq. 26).

    Uses of starts and moves are divided by their entries, and the uses of the root symbol are only
    counted by modifier: :func:`finish_fast_counts` completes them.
    """
    begin, n_tokens = factors.indptr[s], factors.indptr[s + 1] - factors.indptr[s]
    n_states = grammar.alpha_1.shape[2]
    group = group_of(space, n_tokens, n_states, classes_of(factors), np.int64(1))
    for h in range(1, n_tokens + 1):
        code = factors.codes[begin + h - 1]
        for direction in range(2):
            for q in range(n_states):
                start = group.vectors[D_COMPLETE, h, h + direction, q]
                counts.alpha_1[code, direction, q] += weights[s] * start
            _add_stops(group, h, code, direction, n_states, weights[s], counts)
        for m in range(1, n_tokens + 1):
            if m != h:
                place = code, RIGHT if m > h else LEFT, factors.codes[begin + m - 1]
                _add_moves(group, h, m, place, weights, s, counts)
        counts.roots[code] += weights[s] * group.marginals[h - 1, 0, 0]


@merged_kernel
def _add_stops(group, h, code, direction, n_states, factor, counts):
    low, high = _boundary_range(group, h, direction, 0)
    for b in range(low, high):
        d_closed = factor * group.numbers[D_CLOSED, h, b, 0]
        for place in range(group.stops.shape[2]):
            use = d_closed * group.stops[h, direction, place] * group.vectors[COMPLETE, h, b, place]
            counts.alpha_inf[code, direction, place % n_states] += use


@merged_kernel
def _add_moves(group, h, m, place, weights, s, counts):
    # dI[h, m, i] sum_c score(h, m, c) g[h, m, c, j]
    n_classes = group.arc_scores.shape[2]
    n_states = group.vectors.shape[3] // n_classes
    for q in range(0, n_states, LANES):
        before = zeros()
        for c in range(n_classes):
            awaiting = load(group.vectors, (AWAITING, h, m, c * n_states + q))
            before = multiply_add(weight(group.arc_scores, (m, h, c, 0)), awaiting, before)
        before = multiply(weight(weights, (s,)), before)
        for i in range(n_states):
            use = load(counts.A, (*place, i, q))
            after = weight(group.vectors, (D_INCOMPLETE, h, m, i))
            store(counts.A, (*place, i, q), multiply_add(after, before, use))


@inner_table_kernel
def add_counts_of_arcs(factors, s, weights, results, counts):
    """Add the expected uses of operators of one state in one sentence: a move for each arc."""
    begin, n_tokens = factors.indptr[s], factors.indptr[s + 1] - factors.indptr[s]
    place = factors.begins[s]
    for m in range(1, n_tokens + 1):
        symbol = factors.codes[begin + m - 1]
        counts.roots[symbol] += weights[s] * results.arcs[place]
        for h in range(1, n_tokens + 1):
            code, direction = factors.codes[begin + h - 1], RIGHT if m > h else LEFT
            counts.A[code, direction, symbol, 0, 0] += weights[s] * results.arcs[place + h]
        for direction in range(2):
            counts.alpha_1[symbol, direction, 0] += weights[s]
            counts.alpha_inf[symbol, direction, 0] += weights[s]
        place += n_tokens + 1


# Of size 0, for charts that count nothing.
_of_states, _of_moves = np.empty((0, 2, 1)), np.empty((0, 2, 0, 1, 1))
NO_COUNTS = FastGrammar(
    _of_states, _of_states, _of_moves, _of_moves, np.empty((0, 2, 0)), np.empty(0)
)


def new_fast_counts(grammar):
    """Allocate counts of the operators of a PackedGrammar, padded if its FastGrammar is."""
    padded = grammar.fast is not None and grammar.operators.alpha_1.shape[2] > 1
    like = grammar.fast if padded else grammar.operators
    alpha_1, alpha_inf, A = map(np.zeros_like, like[:3])
    return FastGrammar(alpha_1, alpha_inf, A, A, np.empty((0, 2, 0)), np.zeros(A.shape[2]))


def finish_fast_counts(grammar, parts):
    """Add up the counts of chunks: the expected uses of the operators of a PackedGrammar."""
    finished = [_finish_chunk(counts, grammar.operators) for counts in parts]
    return Operators(*map(sum, zip(*finished, strict=True)))


def _finish_chunk(counts, operators):
    """Return the expected uses of operators that :func:`add_counts` has counted in a chunk."""
    n_states = operators.alpha_1.shape[2]
    alpha_1, alpha_inf = (part[..., :n_states] for part in counts[:2])
    A = counts.A[..., :n_states, :n_states]
    if n_states > 1:
        alpha_1, A = alpha_1 * operators.alpha_1, A * operators.A
    # The root: its one modifier tells the states before and after.
    root = -1, RIGHT
    moves = operators.alpha_inf[root][:, None] * operators.A[root] * operators.alpha_1[root]
    values = moves.sum(axis=(1, 2))
    shares = np.divide(counts.roots, values, out=np.zeros_like(values), where=values != 0)
    A[root] = moves * shares[:, None, None]
    alpha_1[root], alpha_inf[root] = A[root].sum(axis=(0, 1)), A[root].sum(axis=(0, 2))
    return Operators(alpha_1, alpha_inf, A)
