"""Sentences of a chunk through the fast chart: one by one, or in lockstep."""

import math

import numpy as np

from sklearn_shag.parsing._fast_chart import ChartSentence, fill_inside, fill_outside
from sklearn_shag.parsing._fast_group import (
    add_counts,
    add_counts_of_arcs,
    group_of,
    put_memory,
    put_sentence,
    put_uses,
)
from sklearn_shag.parsing._fast_sums import (
    CLOSED,
    D_CLOSED,
    LONGEST_SCALED_ALIKE,
    LONGEST_UNSCALED,
    N_NUMBER_TABLES,
    N_PROBED,
    NEXT_WINDOW,
    SMALLEST_SHARE,
    WINDOW,
    Tables,
    all_in_range,
    choose_longer,
    recount_by_derivatives,
    scale_by_first_tokens,
    scale_by_window,
)
from sklearn_shag.parsing._potentials import classes_of
from sklearn_shag.utils._kernel import (
    inlined_kernel,
    inner_table_kernel,
    merged_kernel,
    table_kernel,
)
from sklearn_shag.utils._simd import LANES, shaped

# Sentences up to this length are one tile, longer ones and those in lockstep are cut; measured. Of
# very long ones the tables leave the caches: larger tiles read each row less often.
LONGEST_UNCUT, LONGEST_IN_SMALL_TILES, LONGEST_IN_MEDIUM_TILES = 24, 80, 300
# Of a type of which numba makes no literals, as in :mod:`_fast_sums`.
CHART_TILE, FIRST_MEMBER, ONE_STATE, ONE_SENTENCE, IN_LOCKSTEP = map(np.int64, (4, 0, 1, 1, LANES))

# States of a sentence after the chart, as places in ROUTES.
DONE, OUT_OF_RANGE, WITHOUT_MASS = map(np.uint8, (0, 1, 3))


@table_kernel
def run_one_by_one(grammar, factors, which, results, memory, weights, counts, space, states):
    for k in range(which.size):
        states[k] = _parse_one(grammar, factors, which[k], results, memory, space)
        if states[k] == DONE and counts.A.size:
            add_counts(grammar, factors, which[k], weights, space, counts)


@table_kernel
def run_lockstep(grammar, factors, which, results, memory, weights, counts, space, states):
    """Run the chart of a grammar of one state, LANES sentences at a time; `memory` is None."""
    for first in range(0, which.size, LANES):
        several = which[first : min(first + LANES, which.size)]
        _parse_several(grammar, factors, several, results, space, states[first:])
    if counts.A.size:
        for k in range(which.size):
            if states[k] == DONE:
                add_counts_of_arcs(factors, which[k], weights, results, counts)


@inlined_kernel
def _length_of(factors, s):
    return factors.indptr[s + 1] - factors.indptr[s]


@merged_kernel
def _parse_one(grammar, factors, s, results, memory, space):
    """Run the chart on one sentence; return DONE, OUT_OF_RANGE or WITHOUT_MASS."""
    n_tokens, n_states = _length_of(factors, s), grammar.alpha_1.shape[2]
    n_classes = classes_of(factors)
    group = group_of(space, n_tokens, n_states, n_classes, ONE_SENTENCE)
    put_sentence(grammar, factors, s, group, FIRST_MEMBER)
    if memory is not None:
        put_memory(factors, s, memory)
    n, p = n_tokens + 1, group.numbers.shape[1]
    sentence = ChartSentence(
        group.codes,
        group.starts,
        group.stops,
        grammar.A,
        grammar.A_transposed,
        shaped(group.arc_scores, (n, n, group.arc_scores.shape[2])),
        n_classes,
        memory,
        group.in_class,
    )
    tables = Tables(group.vectors, shaped(group.numbers, (N_NUMBER_TABLES, p, p)))
    marginals = shaped(group.marginals, (n_tokens, n))
    tile = n_tokens
    if grammar.in_arcs.size:
        tile = CHART_TILE  # as in lockstep, so that all sums are the same to the last bit
    elif n_tokens > LONGEST_UNCUT:
        tile = CHART_TILE if n_tokens <= LONGEST_IN_SMALL_TILES else 2 * CHART_TILE
        tile = tile if n_tokens <= LONGEST_IN_MEDIUM_TILES else 4 * CHART_TILE
    _solve_group(sentence, tables, marginals, group, factors, results, tile)
    state = _put_result(factors, group, FIRST_MEMBER, s, results)
    if memory is None:
        return state
    if state == DONE and results.arcs.size:
        put_uses(factors, group, FIRST_MEMBER, s, results, n_states)
    return state


@merged_kernel
def _parse_several(grammar, factors, which, results, space, states):
    """Run the chart on up to LANES sentences in lockstep, and set their states."""
    n_tokens, n_classes = _length_of(factors, which[-1]), classes_of(factors)  # the longest is last
    group = group_of(space, n_tokens, ONE_STATE, n_classes, IN_LOCKSTEP)
    for member in range(LANES):
        # The last sentence also fills the lanes left over.
        put_sentence(grammar, factors, which[min(member, which.size - 1)], group, member)
    sentence = ChartSentence(
        group.codes,
        group.starts,
        group.stops,
        None,
        None,
        group.arc_scores,
        n_classes,
        None,
        group.in_class,
    )
    tables = Tables(group.vectors, group.numbers)
    # Always in tiles: the order of sums must not depend on how long the others are.
    _solve_group(sentence, tables, group.marginals, group, factors, results, CHART_TILE)
    for k in range(which.size):
        states[k] = _put_result(factors, group, k, which[k], results)
        if states[k] == DONE and n_classes > 1 and results.arcs.size:
            put_uses(factors, group, k, which[k], results, ONE_STATE)


@merged_kernel
def _solve_group(sentence, tables, marginals, group, factors, results, tile):
    """Fill the chart, Z and, if requested, marginals; count the entries out of range.

    Arcs to a token are divided by a power of two, so that the value of any part of a sentence is
    near 1. That rounds nothing: results are the same to the last bit for any powers. They come
    from the first tokens of the sentence and, where that turns out not to do, from all of them,
    window by window. So a sentence decides by itself whether it is in range, not its neighbours.
    Where entries are too small all the same, derivatives tell whether that matters. Arcs that were
    given scales keep them.
    """
    n, is_scaled = group.roots.shape[0], factors.arc_scales.size > 0
    window = np.int64(0) if is_scaled else N_PROBED * choose_longer(group, LONGEST_UNSCALED)
    first, retried, in_range = np.int64(1), is_scaled, False
    while True:  # one call of `fill_inside`, since each is compiled
        end = min(first + window, n) if window else n
        fill_inside(sentence, first, end, tile, tables)
        if window == N_PROBED:
            scale_by_first_tokens(group, end)
            window = WINDOW if choose_longer(group, LONGEST_SCALED_ALIKE) else np.int64(0)
        elif window:
            scale_by_window(group, first, end, window)
            first = end
            if first == n:
                first, window = np.int64(1), window * NEXT_WINDOW
                window = window if SMALLEST_SHARE * window < n - 1 else np.int64(0)
        else:
            _attach_roots(group)
            in_range = all_in_range(group, n - 1)
            if in_range or retried:
                break
            window, retried = WINDOW, True
    if results.arcs.size or not in_range:
        fill_outside(sentence, n - 1, tile, tables, marginals)
    if not in_range:
        recount_by_derivatives(group)


@inner_table_kernel
def _attach_roots(group):
    """Z = sum_m w(m) closed[m, 1] closed[m, N + 1] and its derivatives (eqs. 23, 24)."""
    numbers = group.numbers
    d_closed = shaped(numbers[D_CLOSED], (numbers[D_CLOSED].size,))
    d_closed[:] = 0.0
    for member in range(group.lengths.size):
        n = group.lengths[member] + 1
        z = 0.0
        for m in range(1, n):
            closed = numbers[CLOSED, m, 1, member] * numbers[CLOSED, m, n, member]
            z += group.roots[m, member] * closed
        group.z[member] = z
        for m in range(1, n):
            factor = group.roots[m, member] / z if z != 0.0 else 0.0
            left, right = numbers[CLOSED, m, 1, member], numbers[CLOSED, m, n, member]
            numbers[D_CLOSED, m, 1, member] += factor * right
            numbers[D_CLOSED, m, n, member] += factor * left
            group.marginals[m - 1, 0, member] = factor * left * right


@inner_table_kernel
def _put_result(factors, group, member, s, results):
    """Store the results of one sentence; return DONE, OUT_OF_RANGE or WITHOUT_MASS."""
    z, n_tokens = group.z[member], group.lengths[member]
    if group.n_wrong[member]:
        return OUT_OF_RANGE
    if z == 0.0:
        return WITHOUT_MASS
    if results.arcs.size:
        total, place = 0.0, factors.begins[s]
        for m in range(n_tokens):
            for h in range(n_tokens + 1):
                marginal = group.marginals[m, h, member] if h != m + 1 else 0.0
                results.arcs[place] = marginal
                total += abs(marginal)
                place += 1
        if not np.isfinite(total):
            return OUT_OF_RANGE
    results.sign[s] = np.sign(z)
    # In two parts, so that the power of two changes no bit.
    mantissa, exponent = math.frexp(abs(z))
    for m in range(1, n_tokens + 1):
        exponent += group.exponents[m, member]
    results.log_abs_z[s] = np.log(mantissa) + np.log(2.0) * exponent + group.log_shifts[member]
    return DONE
