"""Refinements of symbols: how they are split, and estimated from their uses."""

import numpy as np

from sklearn_shag.learning._derivations import expect_uses
from sklearn_shag.operators import RefinedOperators, back_off

NOISE = 0.02  # by which the halves of a refinement differ at first
TINY = np.finfo(float).tiny


def maximise(uses, unrefined, pairs, smoothing=0.0, mixing=0.0):
    """Estimate operators from their uses: the M step (theory, eq. 52).

    Parameters
    ----------
    uses : RefinedOperators
    unrefined : Operators
        Of the grammar without refinements.
    pairs : int ndarray of shape (n_blocks, 3)
        Head, direction and modifier of the blocks, sorted.
    smoothing : float
        How many events each refinement of a head sees beside its own, in each state: so many of
        all refinements together, and so many of the grammar without them.
    mixing : float
        The share of the mean over refinements in each.

    Returns
    -------
    refined : RefinedOperators
    """
    common = _normalise(uses.common, axis=1)
    leaving = uses.alpha_inf + sum_blocks(uses.A, pairs, uses.alpha_inf.shape)

    def estimate(events, total, of_unrefined):
        shared = events.sum(axis=-1, keepdims=True)
        shared = shared / np.maximum(total.sum(axis=-1, keepdims=True), TINY) + of_unrefined
        estimates = events + smoothing * shared
        estimates *= (1.0 - mixing) / np.maximum(total + 2.0 * smoothing, TINY)
        estimates += mixing / (1.0 - mixing) * estimates.mean(axis=-1, keepdims=True)
        return estimates

    starting = uses.alpha_1.sum(axis=2, keepdims=True)
    alpha_1 = estimate(uses.alpha_1, starting, unrefined.alpha_1[:-2, ..., None])
    alpha_inf = estimate(uses.alpha_inf, leaving, unrefined.alpha_inf[:-2, ..., None])
    if not smoothing:
        alpha_inf[leaving <= 0] = 1.0  # a state that nothing leads to
    of_heads = leaving[pairs[:, 0], pairs[:, 1], None, :, None]
    return RefinedOperators(
        _normalise(alpha_1, axis=2),  # where a head had neither
        alpha_inf,
        estimate(uses.A, of_heads, back_off(unrefined, common, pairs)),
        uses.blocks,
        estimate(np.zeros_like(leaving), leaving, 1.0),
        common,
        uses.roots / uses.roots.sum(),
    )


def _normalise(values, axis):
    return values / np.maximum(values.sum(axis=axis, keepdims=True), TINY)


def sum_blocks(moves, pairs, shape):
    """Sum moves over modifiers and states after: what goes on from each state of each head."""
    total = np.zeros(shape)
    np.add.at(total, (pairs[:, 0], pairs[:, 1]), moves.sum(axis=(1, 3)))
    return total


def split(refined, uses, pairs, n_refinements, rng):
    """Split refinements into halves that differ a little: all, or those most used, up to a number.

    Parameters
    ----------
    refined, uses : RefinedOperators
    pairs : int ndarray of shape (n_blocks, 3)
        Head, direction and modifier of the blocks.
    n_refinements : int
        More than there are, and twice as many at most.
    rng : RandomState

    Returns
    -------
    refined : RefinedOperators
    """
    n_symbols, k = refined.roots.shape
    most_used = uses.common.argsort(axis=1, kind="stable")[:, ::-1]
    # Every refinement and, once more, those that are split.
    every = np.tile(np.arange(k), (n_symbols, 1))
    parents = np.concatenate([every, most_used[:, : n_refinements - k]], axis=1)
    n_parts = np.stack([np.bincount(row, minlength=k) for row in parents])
    shares = 1.0 / np.take_along_axis(n_parts, parents, axis=1)

    def take(values, of_symbols, axis):
        shape = [1] * values.ndim
        shape[0], shape[axis] = len(values), n_refinements
        return np.take_along_axis(values, parents[of_symbols].reshape(shape), axis=axis)

    every = slice(None)
    alpha_1, alpha_inf, backoff = (
        take(part, every, 3) for part in (refined.alpha_1, refined.alpha_inf, refined.backoff)
    )
    common, roots = (take(part, every, 1) * shares for part in (refined.common, refined.roots))
    moves = take(take(refined.A, pairs[:, 2], 1), pairs[:, 0], 4)
    moves *= shares[pairs[:, 2]][:, :, None, None, None]
    total = sum_blocks(moves, pairs, alpha_1.shape)
    # The same for all states: the first iterations tell refinements apart, not states.
    moves *= 1.0 + NOISE * rng.uniform(-1.0, 1.0, (len(pairs), n_refinements, 1, 1, n_refinements))
    ratio = total / np.maximum(sum_blocks(moves, pairs, alpha_1.shape), TINY)
    moves *= ratio[pairs[:, 0], pairs[:, 1], None, :, None]
    roots = _normalise(roots * (1.0 + NOISE * rng.uniform(-1.0, 1.0, roots.shape)), axis=None)
    return RefinedOperators(alpha_1, alpha_inf, moves, refined.blocks, backoff, common, roots)


def refine(
    graph, weights, refined, unrefined, n_refinements, rng, *, max_iter, tol, advance, **smoothing
):
    """Split refinements, and climb after each split.

    Parameters
    ----------
    graph : Graph
    weights : ndarray of shape (n_sentences,)
    refined : RefinedOperators
        Where to start; if it has several refinements already, by climbing.
    unrefined : Operators
    n_refinements : int
    rng : RandomState
    max_iter, tol
        As of :class:`RefinedSHAG`.
    advance : callable
        Is called after each iteration.
    **smoothing
        `smoothing` and `mixing`.

    Returns
    -------
    stages : list of RefinedOperators
        At the end of each climb.
    log_likelihoods : list of float
        After 0, 1, ... iterations.
    """
    uses, log_likelihood = expect_uses(graph, refined, weights)
    stages, curve = [], [log_likelihood]
    while True:
        k = refined.roots.shape[1]
        for _ in range(max_iter if k > 1 else 0):
            refined = maximise(uses, unrefined, graph.pairs, **smoothing)
            uses, log_likelihood = expect_uses(graph, refined, weights)
            curve.append(log_likelihood)
            advance()
            if abs(curve[-1] - curve[-2]) <= tol * weights.sum():
                break
        stages.append(refined)
        if k >= n_refinements:
            return stages, curve
        refined = split(refined, uses, graph.pairs, min(2 * k, n_refinements), rng)
        uses, _ = expect_uses(graph, refined, weights)
