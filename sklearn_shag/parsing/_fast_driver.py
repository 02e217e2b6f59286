"""Sentences of a chunk through the fast chart: one by one, or in lockstep."""

import math
from typing import NamedTuple

import numpy as np

from sklearn_shag.parsing._fast_chart import CLOSED, D_CLOSED, Sentence, Tables, inside, outside
from sklearn_shag.parsing._fast_range import (
    N_PROBED,
    N_PROBED_AGAIN,
    all_in_range,
    begin_unscaled,
    probe,
)
from sklearn_shag.parsing._packed_grammar import writable
from sklearn_shag.sequences import LEFT, RIGHT
from sklearn_shag.utils._kernel import inlined_kernel, merged_kernel, table_kernel
from sklearn_shag.utils._simd import LANES, aligned

# Sentences up to this length are one tile, longer ones and those in lockstep are cut; measured.
LONGEST_UNCUT = 24
TILE = np.int64(4)


def run_fast(grammar, codes, indptr, which, results):
    """Parse sentences of a chunk.

    Parameters
    ----------
    grammar : PackedGrammar
    codes, indptr : int ndarrays
        Sentence s is ``codes[indptr[s]:indptr[s + 1]]``, in codes of the grammar; its first code is
        the root symbol's.
    which : int ndarray
        The sentences to parse, the shortest first.
    results : Results
        Of sentences that are done they are set; marginals only if there is room for them.

    Returns
    -------
    done : bool ndarray of the shape of `which`
        Where it is False, the scaled chart must tell.
    """
    grammar = writable(grammar)
    n_states = grammar.alpha_1.shape[2]
    run, width, n_members = (
        (_in_lockstep, LANES, LANES) if n_states == 1 else (_one_by_one, n_states, 1)
    )
    longest = indptr[which[-1] + 1] - indptr[which[-1]] - 1
    workspace = _new_workspace(longest, width, n_members)
    done = np.empty(which.size, dtype=bool)
    run(grammar, codes, indptr, which, results, workspace, done)
    return done


@inlined_kernel
def _padded(n_tokens):
    """P of the tables: room for four rows at once, and rows that begin in different cache sets."""
    return (n_tokens + 5 + 3) // 4 * 4


class Workspace(NamedTuple):
    """Memory for the longest sentence of a chunk, used for all of them."""

    vectors: np.ndarray
    numbers: np.ndarray
    starts: np.ndarray
    stops: np.ndarray
    roots: np.ndarray
    arc_scores: np.ndarray
    marginals: np.ndarray
    lengths: np.ndarray
    z: np.ndarray
    exponents: np.ndarray
    n_wrong: np.ndarray


def _new_workspace(n_tokens, width, n_members):
    p, n = _padded(n_tokens), n_tokens + 1
    return Workspace(
        vectors=aligned(5 * p * (p + 1) * width),
        numbers=aligned(3 * (p + 1) ** 2 * n_members),
        starts=aligned(2 * n * width),
        stops=aligned(2 * n * width),
        roots=aligned(n * n_members),
        arc_scores=aligned(n * n * n_members),
        marginals=aligned((n - 1) * n * n_members),
        lengths=np.empty(n_members, dtype=np.int64),
        z=np.empty(n_members),
        exponents=np.zeros(n_members, dtype=np.int64),
        n_wrong=np.empty(n_members, dtype=np.int64),
    )


class SentenceGroup(NamedTuple):
    """Sentences side by side: LANES members in lockstep, else one. The last axis counts them."""

    lengths: np.ndarray  # (n_members,)
    roots: np.ndarray  # (N + 1, n_members)
    arc_scores: np.ndarray  # (N + 1, N + 1, n_members)
    numbers: np.ndarray  # (3, P + 1, P + 1, n_members)
    marginals: np.ndarray  # (N, N + 1, n_members)
    z: np.ndarray  # (n_members,), set by the chart
    exponents: np.ndarray  # (n_members,): arcs are divided by 2 to their power
    n_wrong: np.ndarray  # (n_members,): how many entries of the chart are out of range


@table_kernel
def _one_by_one(grammar, codes, indptr, which, results, space, done):
    """Parse sentences one by one; tell which of `which` are done."""
    n_states = grammar.alpha_1.shape[2]
    for k in range(which.size):
        s = which[k]
        tokens = codes[indptr[s] : indptr[s + 1]]
        n, p = tokens.size, _padded(tokens.size - 1)
        group = _group(space, n, p, 1)
        arc_scores = group.arc_scores.reshape((n, n))
        numbers = group.numbers.reshape((3, p + 1, p + 1))
        marginals = group.marginals.reshape((n - 1, n))
        starts = space.starts[: 2 * n * n_states].reshape((n, 2, n_states))
        stops = space.stops[: 2 * n * n_states].reshape((n, 2, n_states))
        group.lengths[0] = n - 1
        for m in range(1, n):
            group.roots[m, 0] = grammar.roots[tokens[m]]
            for direction in range(2):
                for q in range(n_states):
                    starts[m, direction, q] = grammar.alpha_1[tokens[m], direction, q]
                    stops[m, direction, q] = grammar.alpha_inf[tokens[m], direction, q]
            for h in range(1, n):
                arc_scores[m, h] = 1.0
        vectors = space.vectors[: 5 * p * (p + 1) * n_states].reshape((5, p, p + 1, n_states))
        sentence = Sentence(tokens, starts, stops, grammar.A, grammar.A_transposed, arc_scores)
        tile = n - 1 if n - 1 <= LONGEST_UNCUT else TILE
        _solve(sentence, Tables(vectors, numbers), marginals, group, results, tile)
        done[k] = _put_result(group, 0, s, results)


@table_kernel
def _in_lockstep(grammar, codes, indptr, which, results, space, done):
    """Parse sentences of one state, LANES at a time; tell which of `which` are done."""
    for first in range(0, which.size, LANES):
        end = min(first + LANES, which.size)
        n = indptr[which[end - 1] + 1] - indptr[which[end - 1]]  # the last is the longest
        p = _padded(n - 1)
        group = _group(space, n, p, LANES)
        starts = space.starts[: 2 * n * LANES].reshape((n, 2, LANES))
        stops = space.stops[: 2 * n * LANES].reshape((n, 2, LANES))
        for member in range(LANES):
            k = min(first + member, end - 1)  # the last fills places that would be empty
            tokens = codes[indptr[which[k]] : indptr[which[k] + 1]]
            _put_member(grammar, tokens, member, group, starts, stops)
        vectors = space.vectors[: 5 * p * (p + 1) * LANES].reshape((5, p, p + 1, LANES))
        # Codes are for operators, which arcs have in them already.
        sentence = Sentence(which, starts, stops, None, None, group.arc_scores)
        tables = Tables(vectors, group.numbers)
        # Always in tiles: the order of sums must not depend on how long the others are.
        _solve(sentence, tables, group.marginals, group, results, TILE)
        for k in range(first, end):
            done[k] = _put_result(group, k - first, which[k], results)


@inlined_kernel
def _put_member(grammar, tokens, member, group, starts, stops):
    """Put one of the sentences in lockstep in its place. Behind its end all is zero."""
    n = starts.shape[0]
    group.lengths[member] = tokens.size - 1
    for h in range(1, n):
        present = h < tokens.size
        group.roots[h, member] = grammar.roots[tokens[h]] if present else 0.0
        for direction in range(2):
            start, stop = 0.0, 0.0
            if present:
                start = grammar.alpha_1[tokens[h], direction, 0]
                stop = grammar.alpha_inf[tokens[h], direction, 0]
            starts[h, direction, member], stops[h, direction, member] = start, stop
        for m in range(1, n):
            score = 0.0
            if present and m < tokens.size:
                direction = RIGHT if m > h else LEFT
                score = grammar.A[tokens[h], direction, tokens[m], 0, 0]
            group.arc_scores[h, m, member] = score


@inlined_kernel
def _group(space, n, p, n_members):
    """Cut what sentences side by side need from the workspace."""
    return SentenceGroup(
        space.lengths,
        space.roots[: n * n_members].reshape((n, n_members)),
        space.arc_scores[: n * n * n_members].reshape((n, n, n_members)),
        space.numbers[: 3 * (p + 1) ** 2 * n_members].reshape((3, p + 1, p + 1, n_members)),
        space.marginals[: (n - 1) * n * n_members].reshape((n - 1, n, n_members)),
        space.z,
        space.exponents,
        space.n_wrong,
    )


@merged_kernel
def _solve(sentence, tables, marginals, group, results, tile):
    """Fill Z and, if there is room for them, marginals, and tell what is out of range.

    Arcs are divided by a power of two, so that the value of a sentence is near 1. That rounds
    nothing: results are the same to the last bit for any power. The power comes from the first
    tokens of the sentence, and from more of them where it turns out not to do. So a sentence
    decides by itself whether it is in range, not those before or beside it.
    """
    n_tokens = sentence.starts.shape[0] - 1
    n_probed = N_PROBED if begin_unscaled(group) else 0
    retried = False
    while True:  # one call of `inside`, since each is compiled
        inside(sentence, min(n_probed, n_tokens) if n_probed else n_tokens, tile, tables)
        if n_probed:
            probe(group, n_probed)
            n_probed = 0
        else:
            _attach_roots(group)
            if all_in_range(tables.vectors, group, n_tokens) or retried:
                break
            n_probed, retried = N_PROBED_AGAIN, True
    if results.marginals.size:
        outside(sentence, n_tokens, tile, tables, marginals)


@table_kernel
def _attach_roots(group):
    """Z = sum_m w(m) closed[m, 1] closed[m, N + 1] and its derivatives (eqs. 23, 24)."""
    numbers = group.numbers
    d_closed = numbers[D_CLOSED].reshape(numbers[D_CLOSED].size)
    for k in range(d_closed.size):
        d_closed[k] = 0.0
    for member in range(group.lengths.size):
        n = group.lengths[member] + 1
        scale = 2.0 ** -group.exponents[member]
        z = 0.0
        for m in range(1, n):
            closed = numbers[CLOSED, m, 1, member] * numbers[CLOSED, m, n, member]
            z += scale * group.roots[m, member] * closed
        group.z[member] = z
        for m in range(1, n):
            factor = scale * group.roots[m, member] / z if z != 0.0 else 0.0
            left, right = numbers[CLOSED, m, 1, member], numbers[CLOSED, m, n, member]
            numbers[D_CLOSED, m, 1, member] += factor * right
            numbers[D_CLOSED, m, n, member] += factor * left
            group.marginals[m - 1, 0, member] = factor * left * right


@table_kernel
def _put_result(group, member, s, results):
    """Keep the results of one sentence; return whether it is done."""
    z, n_tokens = group.z[member], group.lengths[member]
    if group.n_wrong[member] or z == 0.0:
        return False
    if results.marginals.size:
        total, place = 0.0, results.begins[s]
        for m in range(n_tokens):
            for h in range(n_tokens + 1):
                marginal = group.marginals[m, h, member] if h != m + 1 else 0.0
                results.marginals[place] = marginal
                total += abs(marginal)
                place += 1
        if not np.isfinite(total):
            return False
    results.sign[s] = np.sign(z)
    # Taken apart, so that the power of two decides over no bit.
    mantissa, exponent = math.frexp(abs(z))
    exponent += group.exponents[member] * n_tokens
    results.log_abs_z[s] = np.log(mantissa) + np.log(2.0) * exponent
    return True
