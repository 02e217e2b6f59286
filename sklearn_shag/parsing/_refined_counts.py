"""Expected uses of the operators of a grammar with refinements."""

from typing import NamedTuple

import numpy as np

from sklearn_shag.encoding import LEFT as LEFT_CODE
from sklearn_shag.encoding import RIGHT as RIGHT_CODE
from sklearn_shag.operators import RefinedOperators
from sklearn_shag.parsing._refined_sums import list_ends, list_splits, sum_outer
from sklearn_shag.utils._kernel import inlined_kernel, inner_table_kernel

LEFT, RIGHT = np.int64(LEFT_CODE), np.int64(RIGHT_CODE)


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
