"""Trees drawn from the distribution over the trees of a sentence, by stochastic traceback.

From the root down, each choice is drawn with the probability that the inside values give it: its
term in a sum of the chart, divided by the sum. So trees are drawn exactly, with the states and
refinements on the way, which are forgotten. Values must not be negative.
"""

from typing import NamedTuple

import numpy as np

from sklearn_shag.parsing._arborescence_draws import draw_all_trees
from sklearn_shag.parsing._chart import run_charts
from sklearn_shag.parsing._decoders import push_entry
from sklearn_shag.parsing._fast_chart import LEFT_SIDE, RIGHT_SIDE
from sklearn_shag.parsing._refined_chart import new_room, sum_inside
from sklearn_shag.parsing._refined_sums import move_factor
from sklearn_shag.utils._kernel import inner_table_kernel, table_kernel


class UndrawnHalf(NamedTuple):
    """A half with the refinement of its head drawn, and its derivation still to be drawn."""

    head: int
    boundary: int
    refinement: int


@inner_table_kernel
def _draw_root(tables, sentence, space, z, n, rng):
    """Draw the root and its refinement (eq. 57)."""
    left, root, refinement = rng.random() * z, np.int64(1), np.int64(0)
    for m in range(1, n + 1):
        if not (space.alive[m, 1] and space.alive[m, n + 1]):
            continue
        for g in range(sentence.sizes[m]):
            both = space.closed[m, 1, g] * space.closed[m, n + 1, g]
            value = space.scores[0, m] * tables.roots[sentence.codes[m], g] * both
            if value > 0:
                root, refinement, left = m, g, left - value
                if left < 0:
                    return root, refinement
    return root, refinement


@inner_table_kernel
def _draw_end(tables, sentence, space, half, side, k, rng):
    """Draw the class of the last modifier of a half, and the state behind it (eq. 56)."""
    head, boundary, r = half
    left = rng.random() * space.closed[head, boundary, r]
    of_class, state = np.int64(0), np.int64(0)
    for c in range(space.open.shape[2]):
        for v in range(tables.moves.shape[2]):
            stop = tables.stops[sentence.codes[head], side, v * k + r]
            value = sentence.stops[head, side, c] * stop
            value *= space.open[head, boundary, c, v * k + r]
            if value > 0:
                of_class, state, left = c, v, left - value
                if left < 0:
                    return of_class, state
    return of_class, state


@inner_table_kernel
def _draw_modifier(sentence, space, half, side, of_class, q, rng):
    """Draw the last modifier of a half, of a given class, and its refinement (eq. 55)."""
    head, boundary, _ = half
    left = rng.random() * space.open[head, boundary, of_class, q]
    low, high = (head + 1, boundary) if side == RIGHT_SIDE else (boundary, head)
    modifier, refinement = low, np.int64(0)
    for m in range(low, high):
        place = space.places[head, m]
        if place < 0 or sentence.classes[m] != of_class or not space.alive[m, boundary]:
            continue
        for g in range(sentence.sizes[m]):
            value = space.closed[m, boundary, g] * space.arcs[place, g, q]
            if value > 0:
                modifier, refinement, left = m, g, left - value
                if left < 0:
                    return modifier, refinement
    return modifier, refinement


@inner_table_kernel
def _draw_before(tables, sentence, space, half, side, k, modifier, g, state, rng):
    """Draw the half that an arc was added to: its end, class and state (eqs. 53, 54)."""
    head, _, r = half
    left = rng.random() * space.arcs[space.places[head, modifier], g, state * k + r]
    left /= space.scores[head, modifier]
    boundary, of_class, before = head + side, np.int64(0), np.int64(0)
    for b in range(min(head, modifier) + 1, max(head, modifier) + 1):
        if not (space.alive[head, b] and space.alive[modifier, b]):
            continue
        for v in range(tables.moves.shape[2]):
            factor = move_factor(tables, sentence, head, side, modifier, g, v, state, r)
            factor *= space.closed[modifier, b, g]
            for c in range(space.open.shape[2]):
                value = factor * space.memory[head, modifier, c] * space.open[head, b, c, v * k + r]
                if value > 0:
                    boundary, of_class, before, left = b, c, v, left - value
                    if left < 0:
                        return boundary, of_class, before
    return boundary, of_class, before


@inner_table_kernel
def _draw_tree(tables, sentence, space, z, agenda, heads, rng):
    """Draw a tree, half by half, each from its last modifier to its head."""
    root, refinement = _draw_root(tables, sentence, space, z, heads.size, rng)
    heads[root - 1] = 0
    push_entry(agenda, 0, root, np.int64(1), refinement)
    push_entry(agenda, 1, root, heads.size + 1, refinement)
    size = 2
    while size:
        size -= 1
        half = UndrawnHalf(agenda[size, 0], agenda[size, 1], agenda[size, 2])
        head, boundary, refinement = half
        side = RIGHT_SIDE if boundary > head else LEFT_SIDE
        k = sentence.widths[head] // tables.moves.shape[2]
        if boundary != head + side:
            of_class, state = _draw_end(tables, sentence, space, half, side, k, rng)
        while boundary != head + side:
            half, q = UndrawnHalf(head, boundary, refinement), state * k + refinement
            modifier, g = _draw_modifier(sentence, space, half, side, of_class, q, rng)
            heads[modifier - 1] = head
            push_entry(agenda, size, modifier, boundary, g)
            boundary, of_class, state = _draw_before(
                tables, sentence, space, half, side, k, modifier, g, state, rng
            )
            push_entry(agenda, size + 1, modifier, boundary, g)
            size += 2


@table_kernel
def _draw_all(tables, factors, s, log_total, sentence, space, agenda, samples, rng):
    """Draw trees of one sentence; return whether its values are in range."""
    z, _ = sum_inside(tables, factors, s, log_total, sentence, space)
    if z > 0:
        for row in range(samples.shape[0]):
            heads = samples[row, factors.indptr[s] : factors.indptr[s + 1]]
            _draw_tree(tables, sentence, space, z, agenda, heads, rng)
    return z > 0


def draw_trees(grammar, factors, seeds, n_samples):
    """Draw trees of sentences.

    Parameters
    ----------
    grammar : PackedGrammar, PackedRefined or AllTrees
    factors : Factors
    seeds : sequence of n_sentences whole numbers
    n_samples : int

    Returns
    -------
    samples : int ndarray of shape (n_samples, n_tokens)
        The heads of the trees of all sentences.
    lost : bool ndarray of shape (n_sentences,)
        Sentences without mass, which have no trees.

    Raises
    ------
    ValueError
        If the values of trees may be negative.
    """
    if grammar.is_signed:
        raise ValueError(
            "Trees cannot be drawn from a grammar with negative values, such as SpectralSHAG "
            "learns: it does not define a distribution over trees. Learn the grammar with EMSHAG."
        )
    if grammar.trees == "all":
        return draw_all_trees(factors, seeds, n_samples)
    packed = grammar.as_refined()
    # Values are scaled by totals; totals without refinements are about the same.
    totals = run_charts(packed.unrefined, factors, with_uses=False)
    which = np.flatnonzero(totals.sign)
    samples = np.empty((n_samples, factors.indptr[-1]), dtype=np.int64)
    lost = np.ones(totals.sign.size, dtype=bool)
    if which.size:
        room = new_room(packed.refined, factors, which, with_uses=False)
        agenda = np.empty((2 * room[0].codes.size, 3), dtype=np.int64)
    for s in which:
        rng, total = np.random.default_rng(seeds[s]), totals.log_abs_z[s]
        lost[s] = not _draw_all(packed.refined, factors, s, total, *room, agenda, samples, rng)
    return samples, lost
