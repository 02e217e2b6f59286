"""Tables of the chart with refinements, sums over split points of its arcs, and counts of uses.

Sums are of four rows at a time, times four weights.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_shag.operators import RefinedOperators, count_refinements, extend
from sklearn_shag.parsing._fast_chart import LEFT_SIDE, RIGHT_SIDE
from sklearn_shag.utils._kernel import inlined_kernel, inner_table_kernel
from sklearn_shag.utils._simd import (
    LANES,
    add_sum,
    aligned,
    load,
    multiply,
    multiply_add,
    ones,
    store,
    weight,
    zeros,
)

ROWS = 4  # that are added at a time


class RefinedTables(NamedTuple):
    """A grammar with refinements in the layout of its chart.

    A row has entries for each state and, within it, for each refinement of the head. These are
    padded, so that the row is an even number of vectors; rows of heads with few are shorter, and
    their arrays not filled to the end.
    """

    starts: np.ndarray  # (V + 1, 2, n * k)
    stops: np.ndarray  # (V + 1, 2, n * k)
    moves: np.ndarray  # (n_blocks, k, n before, n * k)
    blocks: np.ndarray  # (V + 1, 2, V + 1), -1 for none
    backoff: np.ndarray  # (V + 1, 2, n * k)
    common: np.ndarray  # (V + 1, k)
    roots: np.ndarray  # (V + 1, k)
    unrefined: np.ndarray  # (V + 2, 2, V + 1, n after, n before)
    sizes: np.ndarray  # (V + 1,): refinements of each symbol as a modifier, a multiple of ROWS
    widths: np.ndarray  # (V + 1,): n times the refinements as a head, padded


def refined_tables(grammar):
    """Lay out a RefinedGrammar as RefinedTables."""
    n_states = grammar.refined.A.shape[2]
    is_own = np.pad(grammar.refined.blocks >= 0, ((0, 1), (0, 0), (0, 1)))
    is_own[:-1, :, -1] = True  # unknown modifiers of known heads
    pairs = np.argwhere(is_own)
    refined = extend(grammar, pairs)
    sizes = count_refinements(refined, pairs)
    widths = n_states * (sizes + -sizes % (LANES * (1 + n_states % 2)))
    k = widths.max() // n_states
    starts, stops, backoff = (
        _in_rows(part, widths, k) for part in (refined.alpha_1, refined.alpha_inf, refined.backoff)
    )
    return RefinedTables(
        starts,
        stops,
        _in_rows(_resize_axis(refined.A, k, axis=1), widths[pairs[:, 0]], k),
        refined.blocks,
        backoff,
        _resize_axis(refined.common, k, axis=1),
        _resize_axis(refined.roots, k, axis=1),
        np.ascontiguousarray(grammar.unrefined.A, dtype=float),
        sizes + -sizes % ROWS,
        widths,
    )


def unrefined_tables(operators):
    """Lay out Operators as RefinedTables: one refinement of each symbol, and no blocks."""
    alpha_1, alpha_inf, A = operators
    n_symbols, n_states = A.shape[2:4]
    k = LANES * (1 + n_states % 2)
    widths = np.full(n_symbols, n_states * k)
    roots = A[-1, RIGHT_SIDE] @ alpha_1[-1, RIGHT_SIDE] @ alpha_inf[-1, RIGHT_SIDE]
    return RefinedTables(
        *(_in_rows(part[:-1, ..., None], widths, k) for part in (alpha_1, alpha_inf)),
        np.empty((0, k, n_states, n_states * k)),
        np.full((n_symbols, 2, n_symbols), -1),
        _in_rows(np.ones((n_symbols, 2, n_states, 1)), widths, k),
        *(_resize_axis(part[:, None], k, axis=1) for part in (np.ones(n_symbols), roots)),
        A,
        np.full(n_symbols, ROWS),
        widths,
    )


def _resize_axis(values, size, axis):
    """Cut an axis of refinements to a size, or pad it with zeros."""
    values = values.take(range(min(size, values.shape[axis])), axis)
    missing = np.arange(values.ndim) == axis % values.ndim
    return np.pad(values, [(0, n) for n in (size - values.shape[axis]) * missing])


def _in_rows(values, widths, k):
    """Lay out values by state and refinement as rows, of the width of each head."""
    n_states = values.shape[-2]
    shape = *values.shape[:-2], n_states * k
    rows = aligned(math.prod(shape)).reshape(shape)
    rows[...] = 0.0
    for width in np.unique(widths):
        chosen = _resize_axis(values[widths == width], width // n_states, axis=-1)
        rows[widths == width, ..., :width] = chosen.reshape(*chosen.shape[:-2], width)
    return rows


def _from_rows(rows, widths, n_states, k):
    """Return values by state and refinement, (..., n_states, k), from rows of `widths`."""
    values = np.empty((*rows.shape[:-1], n_states, k))
    for width in np.unique(widths):
        chosen = rows[widths == width, ..., :width]
        chosen = chosen.reshape(*chosen.shape[:-1], n_states, width // n_states)
        values[widths == width] = _resize_axis(chosen, k, axis=-1)
    return values


@inlined_kernel
def add_vectors(one, other):
    """Return ``one + other``, lane by lane."""
    return multiply_add(ones(), one, other)


class RefinedSpace(NamedTuple):
    """Tables for one sentence of N tokens and C classes; d_ are derivatives of log Z."""

    open: np.ndarray  # (N + 1, N + 2, C, n * k), by head, boundary and class
    d_open: np.ndarray  # likewise
    closed: np.ndarray  # (N + 1, N + 2, k); boundary 0 is none, and 0
    d_closed: np.ndarray  # likewise
    alive: np.ndarray  # (N + 1, N + 2): halves that can be made of arcs that are allowed
    arcs: np.ndarray  # (n_arcs, k, n * k): what each arc that is allowed adds to open halves
    splits: np.ndarray  # (1, k, n * k), of one arc: its sum over split points
    d_arc: np.ndarray  # (1, k, n * k), of one arc
    d_splits: np.ndarray  # (1, k, n * k), of one arc
    places: np.ndarray  # (N + 1, N + 1): the place of the arc from a head to a modifier; or -1
    scores: np.ndarray  # (N + 1, N + 1): its factor
    memory: np.ndarray  # (N + 1, N + 1, C): likewise, by the class before
    rows: np.ndarray  # (N + ROWS, n * k): halves in the order of `listed`
    sums: np.ndarray  # (N + ROWS, n * k): terms to be added to them
    listed: np.ndarray  # (N + ROWS,): their boundaries, or arcs


class RefinedSentence(NamedTuple):
    """Codes and factors of one sentence of N tokens, from token 1 on."""

    codes: np.ndarray  # (N + 1,)
    classes: np.ndarray  # (N + 1,)
    sizes: np.ndarray  # (N + 1,): refinements, as of a modifier
    widths: np.ndarray  # (N + 1,): of rows, as of a head
    stops: np.ndarray  # (N + 1, 2, C)


@inlined_kernel
def list_splits(sentence, space, head, modifier, low, high):
    """List the split points of an arc, with rows[t] = sum_c memory[c] open[c]."""
    n_listed = 0
    for b in range(low, high + 1):
        if space.alive[head, b] and space.alive[modifier, b]:
            for q in range(0, sentence.widths[head], LANES):
                total = zeros()
                for c in range(space.open.shape[2]):
                    factor = weight(space.memory, (head, modifier, c))
                    total = multiply_add(factor, load(space.open, (head, b, c, q)), total)
                store(space.rows, (n_listed, q), total)
            space.listed[n_listed] = b
            n_listed += 1
    return n_listed


@inlined_kernel
def list_ends(sentence, space, head, modifier, n):
    """List the boundaries of the outer half of a modifier, with rows[t] = d_open."""
    low, high = (modifier + 1, n + 1) if modifier > head else (1, modifier)
    n_listed, of_class = 0, sentence.classes[modifier]
    for b in range(low, high + 1):
        if space.alive[head, b] and space.alive[modifier, b]:
            for q in range(0, sentence.widths[head], LANES):
                store(space.rows, (n_listed, q), load(space.d_open, (head, b, of_class, q)))
            space.listed[n_listed] = b
            n_listed += 1
    return n_listed


@inlined_kernel
def sum_outer(sentence, space, out, head, modifier, n_listed):
    """Set out[g, q] = sum_t closed[m, b_t, g] rows[t, q], over listed boundaries b_t."""
    closed, rows = space.closed, space.rows
    for g in range(0, sentence.sizes[modifier], ROWS):
        for q in range(0, sentence.widths[head], LANES):
            sum_0, sum_1, sum_2, sum_3 = zeros(), zeros(), zeros(), zeros()
            for t in range(n_listed):
                b, row = space.listed[t], load(rows, (t, q))
                sum_0 = multiply_add(weight(closed, (modifier, b, g)), row, sum_0)
                sum_1 = multiply_add(weight(closed, (modifier, b, g + 1)), row, sum_1)
                sum_2 = multiply_add(weight(closed, (modifier, b, g + 2)), row, sum_2)
                sum_3 = multiply_add(weight(closed, (modifier, b, g + 3)), row, sum_3)
            store(out, (0, g, q), sum_0)
            store(out, (0, g + 1, q), sum_1)
            store(out, (0, g + 2, q), sum_2)
            store(out, (0, g + 3, q), sum_3)


@inlined_kernel
def spread_matrix(sentence, space, matrices, place, head, modifier, n_listed):
    """Set sums[t, q] = sum_g closed[m, b_t, g] matrices[place, g, q], for listed b_t."""
    closed, listed = space.closed, space.listed
    listed[n_listed : n_listed + ROWS - 1] = 0
    for t in range(0, n_listed, ROWS):
        b_0, b_1, b_2, b_3 = listed[t], listed[t + 1], listed[t + 2], listed[t + 3]
        for q in range(0, sentence.widths[head], LANES):
            sum_0, sum_1, sum_2, sum_3 = zeros(), zeros(), zeros(), zeros()
            for g in range(sentence.sizes[modifier]):
                row = load(matrices, (place, g, q))
                sum_0 = multiply_add(weight(closed, (modifier, b_0, g)), row, sum_0)
                sum_1 = multiply_add(weight(closed, (modifier, b_1, g)), row, sum_1)
                sum_2 = multiply_add(weight(closed, (modifier, b_2, g)), row, sum_2)
                sum_3 = multiply_add(weight(closed, (modifier, b_3, g)), row, sum_3)
            store(space.sums, (t, q), sum_0)
            store(space.sums, (t + 1, q), sum_1)
            store(space.sums, (t + 2, q), sum_2)
            store(space.sums, (t + 3, q), sum_3)


@inlined_kernel
def add_products(sentence, space, matrices, place, head, modifier, n_listed):
    """Add sum_q matrices[place, g, q] rows[t, q] to d_closed[m, b_t, g], for listed b_t."""
    rows, out = space.rows, space.d_closed
    for t in range(n_listed):
        b = space.listed[t]
        for g in range(0, sentence.sizes[modifier], ROWS):
            sum_0, sum_1, sum_2, sum_3 = zeros(), zeros(), zeros(), zeros()
            for q in range(0, sentence.widths[head], LANES):
                row = load(rows, (t, q))
                sum_0 = multiply_add(row, load(matrices, (place, g, q)), sum_0)
                sum_1 = multiply_add(row, load(matrices, (place, g + 1, q)), sum_1)
                sum_2 = multiply_add(row, load(matrices, (place, g + 2, q)), sum_2)
                sum_3 = multiply_add(row, load(matrices, (place, g + 3, q)), sum_3)
            add_sum(out, (modifier, b, g), sum_0)
            add_sum(out, (modifier, b, g + 1), sum_1)
            add_sum(out, (modifier, b, g + 2), sum_2)
            add_sum(out, (modifier, b, g + 3), sum_3)


@inlined_kernel
def move_states(tables, sentence, space, half, before, after, place, backwards):
    """Set after[place, g, u] = score sum_v A[g, v, u] before[g, v]; or transposed (eq. 54)."""
    head, modifier, direction = half
    code, symbol, n_states = sentence.codes[head], sentence.codes[modifier], tables.moves.shape[2]
    block, k = tables.blocks[code, direction, symbol], sentence.widths[head] // n_states
    score = weight(space.scores, (head, modifier))
    for g in range(sentence.sizes[modifier]):
        for u in range(n_states):
            for h in range(0, k, LANES):
                total = zeros()
                for v in range(n_states):
                    source, target = (u, v) if backwards else (v, u)
                    term = load(before, (0, g, v * k + h))
                    if block >= 0:
                        factor = load(tables.moves, (block, g, source, target * k + h))
                    else:  # without a block: the move without refinements, in proportion
                        factor = load(tables.backoff, (code, direction, source * k + h))
                        index = code, direction, symbol, target, source
                        factor = multiply(weight(tables.unrefined, index), factor)
                        factor = multiply(weight(tables.common, (symbol, g)), factor)
                    total = multiply_add(factor, term, total)
                store(after, (place, g, u * k + h), multiply(score, total))


@inlined_kernel
def move_factor(tables, sentence, head, direction, modifier, g, source, target, h):
    """Return A[g, v, u, h], the factor of a move from state `source` to state `target`."""
    code, symbol = sentence.codes[head], sentence.codes[modifier]
    block = tables.blocks[code, direction, symbol]
    k = sentence.widths[head] // tables.moves.shape[2]
    if block >= 0:
        return tables.moves[block, g, source, target * k + h]
    factor = tables.common[symbol, g] * tables.backoff[code, direction, source * k + h]
    return tables.unrefined[code, direction, symbol, target, source] * factor


class RefinedCounts(NamedTuple):
    """Expected uses of a grammar, in the layout of its tables; of size 0 if not requested."""

    starts: np.ndarray
    stops: np.ndarray
    moves: np.ndarray
    roots: np.ndarray


@inner_table_kernel
def add_refined_counts(tables, sentence, space, z, times, counts, n):
    """Add the expected uses of operators in a sentence, times its weight."""
    for m in range(1, n + 1):
        code, width = sentence.codes[m], sentence.widths[m]
        k = width // tables.moves.shape[2]
        if space.alive[m, 1] and space.alive[m, n + 1]:
            for g in range(sentence.sizes[m]):
                both = space.closed[m, 1, g] * space.closed[m, n + 1, g]
                counts.roots[code, g] += (
                    times * space.scores[0, m] * tables.roots[code, g] * both / z
                )
        for b in range(1, n + 2):
            if not space.alive[m, b]:
                continue
            side = RIGHT_SIDE if b > m else LEFT_SIDE
            for q in range(width):
                if b == m or b == m + 1:
                    use = tables.starts[code, side, q] * space.d_open[m, b, 0, q]
                    counts.starts[code, side, q] += times * use
                derivative = space.d_closed[m, b, q % k]
                for c in range(space.open.shape[2]):
                    use = sentence.stops[m, side, c] * space.open[m, b, c, q] * derivative
                    counts.stops[code, side, q] += times * tables.stops[code, side, q] * use
    for h in range(1, n + 1):
        for m in range(1, n + 1):
            if space.places[h, m] >= 0:
                _add_refined_moves(tables, sentence, space, h, m, times, counts, n)


@inlined_kernel
def _add_refined_moves(tables, sentence, space, head, modifier, times, counts, n):
    code, width, n_states = sentence.codes[head], sentence.widths[head], tables.moves.shape[2]
    side, k = RIGHT_SIDE if modifier > head else LEFT_SIDE, width // n_states
    block = tables.blocks[code, side, sentence.codes[modifier]]
    if block < 0:
        return
    low, high = min(head, modifier) + 1, max(head, modifier)
    n_listed = list_splits(sentence, space, head, modifier, low, high)
    sum_outer(sentence, space, space.splits, head, modifier, n_listed)
    n_listed = list_ends(sentence, space, head, modifier, n)
    sum_outer(sentence, space, space.d_arc, head, modifier, n_listed)
    factor = times * space.scores[head, modifier]
    for g in range(sentence.sizes[modifier]):
        for v in range(n_states):
            for q in range(width):
                use = space.splits[0, g, v * k + q % k] * space.d_arc[0, g, q]
                counts.moves[block, g, v, q] += factor * tables.moves[block, g, v, q] * use


NO_REFINED_COUNTS = RefinedCounts(*(np.empty((0,) * n_axes) for n_axes in (3, 3, 4, 2)))


def new_refined_counts(grammar):
    """Allocate counts of a PackedRefined."""
    tables = grammar.refined
    return RefinedCounts(
        *map(np.zeros_like, (tables.starts, tables.stops, tables.moves, tables.roots))
    )


def finish_refined_counts(grammar, parts):
    """Add up the counts of chunks to expected uses of the operators of known symbols.

    Parameters
    ----------
    grammar : PackedRefined
    parts : list of RefinedCounts

    Returns
    -------
    uses : RefinedOperators
    """
    refined, tables = grammar.operators, grammar.refined
    counts = RefinedCounts(*map(sum, zip(*parts, strict=True)))
    n_states, k = refined.alpha_1.shape[2:]
    heads, _, modifiers = seen = np.nonzero(refined.blocks >= 0)
    starts, stops = (_from_rows(part, tables.widths, n_states, k)[:-1] for part in counts[:2])
    places = tables.blocks[seen]
    moves = _from_rows(counts.moves[places], tables.widths[heads], n_states, k)
    moves, roots = _resize_axis(moves, k, axis=1), _resize_axis(counts.roots[:-1], k, axis=1)
    common = roots.copy()
    np.add.at(common, modifiers, moves.sum(axis=(2, 3, 4)))
    A = np.empty(refined.A.shape)
    A[refined.blocks[seen]] = moves
    return RefinedOperators(
        starts, stops, A, refined.blocks, np.zeros_like(refined.backoff), common, roots
    )
