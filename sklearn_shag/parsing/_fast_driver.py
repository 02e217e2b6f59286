"""Sentences of a chunk through the fast chart: one by one, or in lockstep."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sklearn_shag.encoding import places_of_heads
from sklearn_shag.parsing._arc_sums import LONGEST, new_arc_tables, sum_arcs
from sklearn_shag.parsing._decoders import find_trees, new_space
from sklearn_shag.parsing._fast_chart import ChartSentence, fill_inside, fill_outside
from sklearn_shag.parsing._fast_group import (
    NO_COUNTS,
    add_counts,
    add_counts_of_arcs,
    group_of,
    new_workspace,
    padded_size,
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
    TokenClasses,
    all_in_range,
    choose_longer,
    recount_by_derivatives,
    scale_by_first_tokens,
    scale_by_window,
)
from sklearn_shag.parsing._potentials import classes_of, longest_counted, make_writable, support_of
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
CHART_TILE = np.int64(4)
# Sentences of grammars of one state run in lockstep, with kernels of their own, which take ten
# seconds to compile. Texts of fewer arcs, N (N + 1) for a sentence of N tokens, and without
# factors, use the kernels of all other grammars: these take milliseconds more.
FEWEST_ARCS_IN_LOCKSTEP = 50_000


# States of a sentence after the chart, as places in ROUTES.
DONE, OUT_OF_RANGE, WITHOUT_MASS = map(np.uint8, (0, 1, 3))


class Call(NamedTuple):
    """The sentences of a chunk, their grammar, and the results that its routes set."""

    grammar: Any  # PackedGrammar, PackedRefined or AllTrees
    factors: Any  # Factors
    results: Any  # Results, set for sentences that are done; uses only if there is room for them
    weights: np.ndarray  # (n_sentences,)
    # Expected uses of operators in sentences that are done are added, times their weights, in the
    # form for `finish_counts` of the grammar; of size 0 if no counts are requested.
    counts: Any


def takes_all(call):
    """Say that a route applies to any call."""
    return True


class Route(NamedTuple):
    """A way to sum over trees, for sentences out of the range of the routes before."""

    # Takes a Call and the places of sentences, the shortest first; returns the state of each: DONE;
    # WITHOUT_MASS where no tree is possible; or OUT_OF_RANGE where values are too large or too
    # small, or cancel.
    run: Callable[[Call, np.ndarray], np.ndarray]
    applies: Callable[[Call], bool] = takes_all


def _has_only_arcs(call):
    """Whether trees are worth the product of the scores of their arcs, and no more is asked for."""
    factors = call.factors
    if not (call.grammar.is_unit and factors.arcs.size):
        return False
    return not (factors.arc_memory.size or factors.stop_memory.size or call.counts.A.size)


def _sum_scores_of_arcs(call, which):
    """Sum over scores of arcs in sentences that are not too long for it."""
    indptr, is_done = call.factors.indptr, np.zeros(which.size, dtype=bool)
    lengths = indptr[which + 1] - indptr[which]
    n_short = np.searchsorted(lengths, LONGEST, side="right")
    space = new_arc_tables(min(int(lengths[-1]), LONGEST))
    sum_arcs(call.factors, which[:n_short], call.results, space, is_done)
    return np.where(is_done, DONE, OUT_OF_RANGE)


def _has_chart(call):
    """Whether the entries of the operators are small enough for the chart."""
    return call.grammar.fast is not None


def fill_chart(call, which):
    """Fill the chart; where Z is 0, tell whether a tree is possible."""
    grammar, factors, results, weights, counts = call
    kernel, memory, space = _choose_kernel(call, which)
    states, operators = np.empty(which.size, dtype=np.uint8), make_writable(grammar.fast)
    kernel(operators, factors, which, results, memory, weights, counts, space, states)
    if np.count_nonzero(states == WITHOUT_MASS):
        lost = np.flatnonzero(states == WITHOUT_MASS)
        # Z is 0 also where values vanish or cancel. The same kernel, on the support, tells.
        others, found = which[lost], np.empty(lost.size, dtype=np.uint8)
        support, spare = make_writable(grammar.support), results._make(map(np.empty_like, results))
        kernel(
            support,
            support_of(factors),
            others,
            spare,
            memory,
            weights,
            NO_COUNTS,
            space,
            found,
        )
        is_certain = found == WITHOUT_MASS
        is_certain &= _lengths_of(factors, others) <= longest_counted(grammar)
        states[lost[~is_certain]] = OUT_OF_RANGE
    # With one class, memory factors of arcs are used as arcs are, and each stop once.
    has_memory = results.arc_memory.size or results.stop_memory.size
    if has_memory and classes_of.py_func(factors) == 1:
        results.arc_memory[...] = results.arcs[: len(results.arc_memory), None]
        results.stop_memory[...] = 1.0
    return states


def _choose_kernel(call, which):
    """Return the kernel for sentences, one by one or in lockstep, and its memory and space."""
    fast, factors = call.grammar.fast, call.factors
    n_classes, n_states = classes_of.py_func(factors), fast.alpha_1.shape[2]
    n_tokens = int(_lengths_of(factors, which[-1]))
    # None without memory: the kernels with memory are compiled when they are first needed.
    memory = None
    if fast.in_arcs.size and _is_worth_lockstep(call, which):
        return _in_lockstep, memory, new_workspace(n_tokens, 1, n_classes, LANES)
    if n_classes > 1:
        columns = np.empty(padded_size.py_func(n_tokens), dtype=np.int64)
        following = np.empty((n_classes, columns.size), dtype=np.int64)
        classes = np.repeat(np.arange(n_classes), max(n_states // LANES, 1))
        memory = TokenClasses(n_states, classes, columns, following)
    return _one_by_one, memory, new_workspace(n_tokens, n_states, n_classes, 1)


def _is_worth_lockstep(call, which):
    """Whether there are factors or counts, or many arcs."""
    factors = call.factors
    if factors.arcs.size or factors.arc_memory.size or factors.stop_memory.size:
        return True
    n_arcs = np.sum(factors.begins[which + 1] - factors.begins[which])
    return call.counts.A.size > 0 or n_arcs >= FEWEST_ARCS_IN_LOCKSTEP


def _can_scale_arcs(call):
    """Whether there are scores of arcs, for a grammar that has a chart."""
    return _has_chart(call) and call.factors.arcs.size > 0


def _fill_chart_of_scaled_arcs(call, which):
    """Fill the chart with arcs of the best tree scaled to 1, however much better others are."""
    factors = call.factors
    heads = np.zeros(factors.indptr[-1], dtype=np.int64)
    space = new_space(int(_lengths_of(factors, which[-1])))
    for s in which:
        find_trees(
            factors.arcs, factors.begins[s : s + 2], factors.indptr[s : s + 2], *space, heads
        )
    scales = factors.arcs[places_of_heads(factors.indptr, heads)]
    return fill_chart(call._replace(factors=factors._replace(arc_scales=scales)), which)


def _lengths_of(factors, which):
    return factors.indptr[which + 1] - factors.indptr[which]


# Those of a grammar, in this order.
FAST_ROUTES = (
    Route(_sum_scores_of_arcs, _has_only_arcs),
    Route(fill_chart, _has_chart),
    Route(_fill_chart_of_scaled_arcs, _can_scale_arcs),
)


@table_kernel
def _one_by_one(grammar, factors, which, results, memory, weights, counts, space, states):
    for k in range(which.size):
        states[k] = _parse_one(grammar, factors, which[k], results, memory, space)
        if states[k] == DONE and counts.A.size:
            add_counts(grammar, factors, which[k], weights, space, counts)


@table_kernel
def _in_lockstep(grammar, factors, which, results, memory, weights, counts, space, states):
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
    group = group_of(space, n_tokens, n_states, n_classes, 1)
    put_sentence(grammar, factors, s, group, 0)
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
    state = _put_result(factors, group, 0, s, results)
    if memory is None:
        return state
    if state == DONE and results.arcs.size:
        put_uses(factors, group, 0, s, results, n_states)
    return state


@merged_kernel
def _parse_several(grammar, factors, which, results, space, states):
    """Run the chart on up to LANES sentences in lockstep, and set their states."""
    n_tokens, n_classes = _length_of(factors, which[-1]), classes_of(factors)  # the longest is last
    group = group_of(space, n_tokens, 1, n_classes, LANES)
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
            put_uses(factors, group, k, which[k], results, 1)


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
    for k in range(d_closed.size):
        d_closed[k] = 0.0
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
