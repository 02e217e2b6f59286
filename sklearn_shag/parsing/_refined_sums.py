"""Tables of the chart with refinements, sums over split points of its arcs, and counts of uses.

Sums are of four rows at a time, times four weights.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sklearn_shag.encoding import LEFT as LEFT_CODE
from sklearn_shag.encoding import RIGHT as RIGHT_CODE
from sklearn_shag.operators import RefinedGrammar, RefinedOperators, extend
from sklearn_shag.parsing._potentials import PackedGrammar
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

LEFT, RIGHT = np.int64(LEFT_CODE), np.int64(RIGHT_CODE)
ROWS = 4  # that are added at a time


class RefinedTables(NamedTuple):
    """A grammar with refinements in the layout of its chart.

    Refinements are padded to a multiple of LANES; a row, of an even number of vectors, has so many
    for each state.
    """

    starts: np.ndarray  # (V + 1, 2, n * k)
    stops: np.ndarray  # (V + 1, 2, n * k)
    moves: np.ndarray  # (n_blocks, k, n before, n * k)
    blocks: np.ndarray  # (V + 1, 2, V + 1), -1 for none
    backoff: np.ndarray  # (V + 1, 2, n * k)
    common: np.ndarray  # (V + 1, k)
    roots: np.ndarray  # (V + 1, k)
    unrefined: np.ndarray  # (V + 2, 2, V + 1, n after, n before)
    sizes: np.ndarray  # (V + 1,): refinements of each symbol, as a multiple of ROWS


@dataclass(frozen=True)
class PackedRefined:
    """A grammar with refinements, and the one without them that it was made of."""

    grammar: RefinedGrammar
    refined: RefinedTables
    unrefined: PackedGrammar


def pack_refined(grammar, unrefined):
    """Lay out a grammar with refinements as its chart needs it.

    Parameters
    ----------
    grammar : RefinedGrammar
    unrefined : PackedGrammar
        Of `grammar.unrefined`.

    Returns
    -------
    grammar : PackedRefined
    """
    n_symbols, k = grammar.refined.roots.shape
    multiple = LANES * (1 + grammar.refined.A.shape[2] % 2)  # rows are read by two vectors
    is_own = np.pad(grammar.refined.blocks >= 0, ((0, 1), (0, 0), (0, 1)))
    is_own[:-1, :, -1] = True  # unknown modifiers of known heads
    refined = extend(grammar, np.argwhere(is_own))

    def pad(values, *axes):
        """Pad axes of refinements with zeros."""
        shape, places = list(values.shape), [slice(None)] * values.ndim
        for axis in axes:
            shape[axis], places[axis] = k + -k % multiple, slice(k)
        padded = aligned(int(np.prod(shape))).reshape(shape)
        padded[...] = 0.0
        padded[tuple(places)] = values
        return padded

    rows = n_symbols + 1, 2, -1
    sizes = np.append(np.full(n_symbols, k + -k % ROWS), ROWS)
    moves = pad(refined.A, 1, 4)
    tables = RefinedTables(
        pad(refined.alpha_1, 3).reshape(rows),
        pad(refined.alpha_inf, 3).reshape(rows),
        moves.reshape(*moves.shape[:3], -1),
        refined.blocks,
        pad(refined.backoff, 3).reshape(rows),
        pad(refined.common, 1),
        pad(refined.roots, 1),
        unrefined.operators.A,
        sizes,
    )
    return PackedRefined(grammar, tables, unrefined)


@inlined_kernel
def add(one, other):
    """Return ``one + other``, lane by lane."""
    return multiply_add(ones(), one, other)


class Space(NamedTuple):
    """Room for one sentence of N tokens, and C classes of memory; D_ are derivatives of log Z."""

    open: np.ndarray  # (N + 1, N + 2, C, n * k), by head, boundary and class
    d_open: np.ndarray  # likewise
    closed: np.ndarray  # (N + 1, N + 2, k); boundary 0 is none, and 0
    d_closed: np.ndarray  # likewise
    alive: np.ndarray  # (N + 1, N + 2): halves that can be made of arcs that are allowed
    arcs: np.ndarray  # (n_arcs, k, n * k): what each arc that is allowed adds to open halves
    splits: np.ndarray  # (1, k, n * k), of one arc: what is below it
    d_arc: np.ndarray  # (1, k, n * k), of one arc
    d_splits: np.ndarray  # (1, k, n * k), of one arc
    places: np.ndarray  # (N + 1, N + 1): the place of the arc from a head to a modifier; or -1
    scores: np.ndarray  # (N + 1, N + 1): its factor
    memory: np.ndarray  # (N + 1, N + 1, C): likewise, by the class before
    rows: np.ndarray  # (N + ROWS, n * k): halves, as they are listed
    sums: np.ndarray  # (N + ROWS, n * k): what is to be added to them
    listed: np.ndarray  # (N + ROWS,): their boundaries, or arcs


class Sentence(NamedTuple):
    """Codes and factors of one sentence of N tokens, from token 1 on."""

    codes: np.ndarray  # (N + 1,)
    classes: np.ndarray  # (N + 1,)
    stops: np.ndarray  # (N + 1, 2, C)


@inlined_kernel
def list_splits(space, head, modifier, low, high):
    """List where an arc may meet its modifier's inner half: rows[t] = sum_c memory[c] open[c]."""
    n_listed = 0
    for b in range(low, high + 1):
        if space.alive[head, b] and space.alive[modifier, b]:
            for q in range(0, space.rows.shape[1], LANES):
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
    """List where the outer half of a modifier may end: rows[t] = d_open."""
    low, high = (modifier + 1, n + 1) if modifier > head else (1, modifier)
    n_listed, of_class = 0, sentence.classes[modifier]
    for b in range(low, high + 1):
        if space.alive[head, b] and space.alive[modifier, b]:
            for q in range(0, space.rows.shape[1], LANES):
                store(space.rows, (n_listed, q), load(space.d_open, (head, b, of_class, q)))
            space.listed[n_listed] = b
            n_listed += 1
    return n_listed


@inlined_kernel
def sum_outer(space, out, modifier, size, n_listed):
    """out[g, q] = sum_t closed[m, b_t, g] rows[t, q], over what is listed."""
    closed, rows = space.closed, space.rows
    for g in range(0, size, ROWS):
        for q in range(0, rows.shape[1], LANES):
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
def spread(space, matrices, place, modifier, size, n_listed):
    """sums[t, q] = sum_g closed[m, b_t, g] matrices[place, g, q], over what is listed."""
    closed, listed = space.closed, space.listed
    for t in range(n_listed, n_listed + ROWS - 1):
        listed[t] = 0
    for t in range(0, n_listed, ROWS):
        b_0, b_1, b_2, b_3 = listed[t], listed[t + 1], listed[t + 2], listed[t + 3]
        for q in range(0, space.rows.shape[1], LANES):
            sum_0, sum_1, sum_2, sum_3 = zeros(), zeros(), zeros(), zeros()
            for g in range(size):
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
def add_products(space, matrices, place, modifier, size, n_listed):
    """d_closed[m, b_t, g] += sum_q matrices[place, g, q] rows[t, q], over what is listed."""
    rows, out = space.rows, space.d_closed
    for t in range(n_listed):
        b = space.listed[t]
        for g in range(0, size, ROWS):
            sum_0, sum_1, sum_2, sum_3 = zeros(), zeros(), zeros(), zeros()
            for q in range(0, rows.shape[1], LANES):
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
def move(tables, sentence, space, half, before, after, place, backwards):
    """after[place, g, u, h] = score sum_v A[g, v, u, h] before[g, v, h]; or transposed (eq. 54)."""
    head, modifier, direction = half
    code, symbol, k = sentence.codes[head], sentence.codes[modifier], space.closed.shape[2]
    block, n_states = tables.blocks[code, direction, symbol], tables.moves.shape[2]
    score = weight(space.scores, (head, modifier))
    for g in range(tables.sizes[symbol]):
        for u in range(n_states):
            for h in range(0, k, LANES):
                total = zeros()
                for v in range(n_states):
                    source, target = (u, v) if backwards else (v, u)
                    term = load(before, (0, g, v * k + h))
                    if block >= 0:
                        factor = load(tables.moves, (block, g, source, target * k + h))
                    else:  # one that has no refinements, in proportion
                        factor = load(tables.backoff, (code, direction, source * k + h))
                        index = code, direction, symbol, target, source
                        factor = multiply(weight(tables.unrefined, index), factor)
                        factor = multiply(weight(tables.common, (symbol, g)), factor)
                    total = multiply_add(factor, term, total)
                store(after, (place, g, u * k + h), multiply(score, total))


class RefinedCounts(NamedTuple):
    """Expected uses of a grammar, in the layout of its tables; of size 0 if they are not wanted."""

    starts: np.ndarray
    stops: np.ndarray
    moves: np.ndarray
    roots: np.ndarray


@inner_table_kernel
def add_refined_counts(tables, sentence, space, z, times, counts, n):
    """Add the uses of operators in a sentence: each times the derivative by it."""
    width = space.rows.shape[1]
    for m in range(1, n + 1):
        code = sentence.codes[m]
        if space.alive[m, 1] and space.alive[m, n + 1]:
            for g in range(tables.sizes[code]):
                both = space.closed[m, 1, g] * space.closed[m, n + 1, g]
                counts.roots[code, g] += (
                    times * space.scores[0, m] * tables.roots[code, g] * both / z
                )
        for b in range(1, n + 2):
            if not space.alive[m, b]:
                continue
            side = RIGHT if b > m else LEFT
            for q in range(width):
                if b == m or b == m + 1:
                    use = tables.starts[code, side, q] * space.d_open[m, b, 0, q]
                    counts.starts[code, side, q] += times * use
                derivative = space.d_closed[m, b, q % space.closed.shape[2]]
                for c in range(space.open.shape[2]):
                    use = sentence.stops[m, side, c] * space.open[m, b, c, q] * derivative
                    counts.stops[code, side, q] += times * tables.stops[code, side, q] * use
    for h in range(1, n + 1):
        for m in range(1, n + 1):
            if space.places[h, m] >= 0:
                _add_moves(tables, sentence, space, h, m, times, counts, n)


@inlined_kernel
def _add_moves(tables, sentence, space, head, modifier, times, counts, n):
    code, symbol, k = sentence.codes[head], sentence.codes[modifier], space.closed.shape[2]
    side = RIGHT if modifier > head else LEFT
    block, size = tables.blocks[code, side, symbol], tables.sizes[symbol]
    if block < 0:
        return
    low, high = min(head, modifier) + 1, max(head, modifier)
    n_listed = list_splits(space, head, modifier, low, high)
    sum_outer(space, space.splits, modifier, size, n_listed)
    n_listed = list_ends(sentence, space, head, modifier, n)
    sum_outer(space, space.d_arc, modifier, size, n_listed)
    factor, n_states = times * space.scores[head, modifier], tables.moves.shape[2]
    for g in range(size):
        for v in range(n_states):
            for q in range(n_states * k):
                use = space.splits[0, g, v * k + q % k] * space.d_arc[0, g, q]
                counts.moves[block, g, v, q] += factor * tables.moves[block, g, v, q] * use


NO_REFINED_COUNTS = RefinedCounts(*(np.empty((0,) * n_axes) for n_axes in (3, 3, 4, 2)))


def new_refined_counts(grammar):
    """Allocate counts of a PackedRefined."""
    tables = grammar.refined
    return RefinedCounts(
        *map(np.zeros_like, (tables.starts, tables.stops, tables.moves, tables.roots))
    )


def as_uses(counts, grammar):
    """Write counts as uses of the operators of a PackedRefined, unknown symbols left out."""
    refined, n_blocks = grammar.grammar.refined, len(grammar.grammar.refined.A)
    n_symbols, k = refined.roots.shape
    n_states = refined.A.shape[2]
    starts, stops = (
        part.reshape(n_symbols + 1, 2, n_states, -1)[:-1, ..., :k] for part in counts[:2]
    )
    places = grammar.refined.blocks[tuple(np.argwhere(refined.blocks >= 0).T)]
    moves = counts.moves.reshape(*counts.moves.shape[:3], n_states, -1)[places, :k, ..., :k]
    roots = counts.roots[:-1, :k]
    common = roots.copy()
    np.add.at(common, np.nonzero(refined.blocks >= 0)[2], moves.sum(axis=(2, 3, 4)))
    A = np.empty((n_blocks, *moves.shape[1:]))
    A[refined.blocks[refined.blocks >= 0]] = moves
    nothing = np.zeros_like(refined.backoff)
    return RefinedOperators(starts, stops, A, refined.blocks, nothing, common, roots)
