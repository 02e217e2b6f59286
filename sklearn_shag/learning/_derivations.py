"""Trees under a grammar with refinements: each distinct part of a treebank is visited once.

Equal subtrees have equal sums over their states and refinements in every tree, and so have equal
beginnings of modifier sequences. A treebank is folded into the graph of its distinct
parts; a sum over it and its derivatives take one pass up and one down (theory, eq. 51).
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sklearn_shag.encoding import LEFT, RIGHT
from sklearn_shag.operators import RefinedOperators
from sklearn_shag.utils._arrays import log_of
from sklearn_shag.utils._kernel import inlined_kernel, table_kernel


class Level(NamedTuple):
    """Slices of the parts of one level: paths of lower parts, their subtrees, and arcs to these."""

    paths: tuple  # without the empty paths, which have no modifiers
    subtrees: tuple
    arcs: tuple
    groups: list  # runs of arcs of one block: (first, last, block)


class Parts(NamedTuple):
    """The distinct parts of trees, for kernels: lower levels first, arcs of a block together.

    A path is a head, a direction and the subtrees of its first modifiers; an arc a head, a
    direction and the subtree of a modifier; a subtree a symbol and its two finished paths.
    """

    owners: np.ndarray  # (n_paths,): 2 * head + direction
    previous: np.ndarray  # (n_paths,): the path without its last modifier; -1 for none
    last: np.ndarray  # (n_paths,): the arc to the last modifier
    subtrees: np.ndarray  # (n_arcs,): the subtree of the modifier
    blocks: np.ndarray  # (n_arcs,): the block of head, direction and modifier
    left: np.ndarray  # (n_subtrees,): a path
    right: np.ndarray  # (n_subtrees,): a path


class TreebankGraph(NamedTuple):
    """The graph of the distinct parts of a treebank."""

    pairs: np.ndarray  # (n_blocks, 3): head, direction and modifier of each block, sorted
    symbols: np.ndarray  # (n_subtrees,)
    tokens: np.ndarray  # (n_tokens,): the subtree of each token
    roots: np.ndarray  # (n_roots,): the subtree of each root of each sentence
    sentences: np.ndarray  # (n_roots,): the sentence of each root
    parts: Parts
    levels: list


def fold_trees(codes, heads, indptr, n_symbols, others=None, by_token=False):
    """Fold trees into the graph of their distinct parts.

    Parameters
    ----------
    codes, heads : int ndarrays of shape (n_tokens,)
    indptr : int ndarray of shape (n_sentences + 1,)
    n_symbols : int
        Number of symbols; codes are smaller.
    others : None or int ndarray of shape (n_others, 3), default=None
        Heads, directions and modifiers that get blocks in addition to the arcs of the trees.
    by_token : bool, default=False
        Whether equal subtrees of several tokens stay separate.

    Returns
    -------
    graph : TreebankGraph
        Its parts depend neither on the order of the trees nor on repeated trees.
    """
    # Numbers of all parts, in the order in which they were met: every part after its own parts.
    paths = {(owner, -1): owner for owner in range(2 * n_symbols)}
    arcs, subtrees, tokens = {}, {}, []
    of_codes, of_heads = codes.tolist(), heads.tolist()
    for start, stop in pairwise(indptr.tolist()):
        tokens += _fold_tree(
            of_codes[start:stop], of_heads[start:stop], paths, arcs, subtrees, by_token
        )
    others = np.empty((0, 3), dtype=np.int64) if others is None else others
    graph = _in_levels(n_symbols, others, paths, arcs, subtrees, np.array(tokens))
    sentences = np.repeat(np.arange(indptr.size - 1), np.diff(indptr))
    return graph._replace(roots=graph.tokens[heads == 0], sentences=sentences[heads == 0])


def _fold_tree(codes, heads, paths, arcs, subtrees, by_token):
    """Number the parts of a tree; return the subtrees of its tokens."""
    modifiers = [([], []) for _ in range(len(codes) + 1)]
    for modifier, head in enumerate(heads, start=1):
        modifiers[head][LEFT if modifier < head else RIGHT].append(modifier)
    order = list(modifiers[0][RIGHT])
    for token in order:  # grows: heads before their modifiers
        order += modifiers[token][LEFT] + modifiers[token][RIGHT]
    found = {}
    for token in reversed(order):
        code, ends = codes[token - 1], []
        for direction, towards in ((LEFT, -1), (RIGHT, 1)):
            path = owner = 2 * code + direction
            for modifier in modifiers[token][direction][::towards]:
                arc = arcs.setdefault((owner, found[modifier]), len(arcs))
                path = paths.setdefault((path, arc), len(paths))
            ends.append(path)
        copy = len(subtrees) if by_token else 0
        found[token] = subtrees.setdefault((code, *ends, copy), len(subtrees))
    return [found[token] for token in range(1, len(codes) + 1)]


def _in_levels(n_symbols, others, paths, arcs, subtrees, tokens):
    """Make the graph, with parts in order of level, block of arcs, and their own parts."""
    paths, arcs, subtrees = (
        np.array([*parts], dtype=np.int64).reshape(-1, width)
        for parts, width in ((paths, 2), (arcs, 2), (subtrees, 4))
    )
    path_levels, subtree_levels = _find_levels(n_symbols, paths, arcs, subtrees)
    (owners, of_arcs), symbols = arcs.T, subtrees[:, 0]
    pairs = np.column_stack([owners // 2, owners % 2, symbols[of_arcs]])
    pairs, blocks = np.unique(np.concatenate([others, pairs]), axis=0, return_inverse=True)
    blocks, arc_levels = blocks.ravel()[len(others) :], subtree_levels[of_arcs]
    # The new place of each part: sums must not depend on the order in which trees were met.
    new_paths, new_arcs, new_subtrees = (np.arange(len(part)) for part in (paths, arcs, subtrees))
    ends = [[2 * n_symbols], [0], [0]]
    for level in range(int(path_levels.max()) + 1):
        chosen = np.flatnonzero((path_levels == level) & (paths[:, 1] >= 0))
        keys = new_arcs[paths[chosen, 1]], new_paths[paths[chosen, 0]]
        _place_parts(new_paths, chosen, keys, ends[0])
        chosen = np.flatnonzero(subtree_levels == level)
        keys = new_paths[subtrees[chosen, 2]], new_paths[subtrees[chosen, 1]], symbols[chosen]
        _place_parts(new_subtrees, chosen, keys, ends[1])
        chosen = np.flatnonzero(arc_levels == level)
        _place_parts(new_arcs, chosen, (new_subtrees[of_arcs[chosen]], blocks[chosen]), ends[2])
    by_path, by_arc, by_subtree = map(np.argsort, (new_paths, new_arcs, new_subtrees))
    paths, subtrees = paths[by_path], subtrees[by_subtree]
    arcs, blocks = arcs[by_arc], blocks[by_arc]
    is_longer = paths[:, 1] >= 0
    owners, (previous, last) = paths[:, 0].copy(), np.full((2, len(paths)), -1)
    previous[is_longer] = new_paths[paths[is_longer, 0]]
    last[is_longer] = new_arcs[paths[is_longer, 1]]
    owners[is_longer] = arcs[last[is_longer], 0]
    joined = new_paths[subtrees[:, 1]], new_paths[subtrees[:, 2]]
    levels = [
        Level(*slices, _find_groups(blocks, *slices[2]))
        for slices in zip(*map(pairwise, ends), strict=True)
    ]
    return TreebankGraph(
        pairs,
        subtrees[:, 0].copy(),
        new_subtrees[tokens],
        None,
        None,
        Parts(owners, previous, last, new_subtrees[arcs[:, 1]], blocks, *joined),
        levels,
    )


def _place_parts(places, chosen, keys, ends):
    """Place chosen parts behind lower levels, sorted by keys; the last key is the primary one."""
    first = ends[-1]
    places[chosen[np.lexsort(keys)]] = first + np.arange(chosen.size)
    ends.append(first + chosen.size)


def _find_levels(n_symbols, paths, arcs, subtrees):
    """Compute levels: of paths, one above their parts; of subtrees, the higher of both paths.

    Both were numbered after their parts.
    """
    path_levels, subtree_levels = [0] * len(paths), [0] * len(subtrees)
    arcs, paths, subtrees = arcs.tolist(), paths.tolist(), subtrees.tolist()
    path = 2 * n_symbols
    for subtree, (_, left, right, _) in enumerate(subtrees):
        while path <= max(left, right):
            before, arc = paths[path]
            path_levels[path] = 1 + max(path_levels[before], subtree_levels[arcs[arc][1]])
            path += 1
        subtree_levels[subtree] = max(path_levels[left], path_levels[right])
    return np.array(path_levels), np.array(subtree_levels)


def _find_groups(blocks, first, last):
    """List the runs of arcs of one block."""
    cuts = first + 1 + np.flatnonzero(np.diff(blocks[first:last]))
    ends = [first, *cuts.tolist(), last] if last > first else []
    return [(low, high, int(blocks[low])) for low, high in pairwise(ends)]


class PartSums(NamedTuple):
    """Sums over the n states and k refinements of parts, each divided by its largest entry."""

    paths: np.ndarray  # (n_paths, n, k)
    subtrees: np.ndarray  # (n_subtrees, k)
    steps: np.ndarray  # (n_arcs, n, n, k): moves of a path by a modifier
    path_scales: np.ndarray  # (n_paths,): the last factor of the sum
    subtree_scales: np.ndarray  # (n_subtrees,)
    path_logs: np.ndarray  # (n_paths,): the logarithm of the divisor of the whole sum
    subtree_logs: np.ndarray  # (n_subtrees,)


def sum_over_trees(graph, refined):
    """Sum over the refinements and states of all parts.

    Parameters
    ----------
    graph : TreebankGraph
    refined : RefinedOperators
        Over the symbols of the graph; its blocks are those of `graph.pairs`.

    Returns
    -------
    sums : PartSums
    """
    parts, (n_states, k) = graph.parts, refined.alpha_1.shape[2:]
    n_arcs, n_subtrees, n_paths = parts.subtrees.size, graph.symbols.size, parts.owners.size
    shapes = (n_paths, n_states, k), (n_subtrees, k), (n_arcs, n_states, n_states, k)
    sums = PartSums(*map(np.empty, (*shapes, n_paths, n_subtrees, n_paths, n_subtrees)))
    starts, stops, moves = _flatten_operators(refined)
    steps = sums.steps.reshape(n_arcs, n_states * n_states * k)
    sums.paths[: len(starts)], sums.path_logs[: len(starts)] = starts, 0.0
    for level in graph.levels:
        _extend_paths(parts, *level.paths, sums)
        _join_paths(parts, *level.subtrees, stops, sums)
        _make_steps(parts, *level.arcs, moves, sums.subtrees, steps)
    return sums


def _flatten_operators(refined):
    """Reshape operators: starts and stops by empty path, moves by block and refined modifier."""
    n_states, k = refined.alpha_1.shape[2:]
    starts, stops = (part.reshape(-1, n_states, k) for part in refined[:2])
    return starts, stops, refined.A.reshape(len(refined.A), k, n_states * n_states * k)


def root_values(graph, refined, sums):
    """Compute the value of each distinct subtree as a whole tree, divided as in `sums`."""
    return (refined.roots[graph.symbols] * sums.subtrees).sum(axis=1)


def tree_logs(graph, refined):
    """Compute the log probability of each tree; -inf if it has several roots, or none has mass."""
    sums = sum_over_trees(graph, refined)
    logs = log_of(root_values(graph, refined, sums)) + sums.subtree_logs
    found = np.full(graph.sentences.max() + 1, -np.inf)
    found[graph.sentences] = logs[graph.roots]
    found[np.bincount(graph.sentences) != 1] = -np.inf
    return found


def expect_uses(graph, refined, weights):
    """Sum over refinements and states, and differentiate: the E step on trees.

    Parameters
    ----------
    graph : TreebankGraph
    refined : RefinedOperators
        Over the symbols of the graph; its blocks are those of `graph.pairs`.
    weights : ndarray of shape (n_sentences,)

    Returns
    -------
    uses : RefinedOperators
        Expected uses of each parameter; `common` counts the tokens themselves.
    log_likelihood : float
        Log likelihood of all trees, times their weights, in nats.
    """
    sums, derivatives, d_stops, d_moves, of_roots, log_likelihood = _differentiate_trees(
        graph, refined, weights
    )
    starts, stops, moves = _flatten_operators(refined)
    n_roots, common = np.zeros((2, *refined.roots.shape))
    np.add.at(n_roots, graph.symbols, of_roots * sums.subtrees)
    np.add.at(common, graph.symbols, derivatives.subtrees * sums.subtrees)
    uses = RefinedOperators(
        (derivatives.paths[: len(starts)] * starts).reshape(refined.alpha_1.shape),
        (d_stops * stops).reshape(refined.alpha_inf.shape),
        np.multiply(d_moves, moves, out=d_moves).reshape(refined.A.shape),
        refined.blocks,
        np.zeros_like(refined.backoff),
        common,
        n_roots,
    )
    return uses, log_likelihood


def token_posteriors(graph, refined):
    """Compute the probabilities of the refinements of tokens, given their trees.

    Parameters
    ----------
    graph : TreebankGraph
        Folded with `by_token`, so that tokens have subtrees of their own.
    refined : RefinedOperators
        As for :func:`expect_uses`.

    Returns
    -------
    posteriors : ndarray of shape (n_tokens, n_refinements)
        Rows sum to 1; they are 0 where a tree has no mass.
    """
    n_sentences = graph.sentences.max() + 1
    sums, derivatives = _differentiate_trees(graph, refined, np.ones(n_sentences))[:2]
    return (derivatives.subtrees * sums.subtrees)[graph.tokens]


def _differentiate_trees(graph, refined, weights):
    """Sum over trees, and differentiate the log likelihood by all parts, and by operators."""
    sums, parts = sum_over_trees(graph, refined), graph.parts
    _, stops, moves = _flatten_operators(refined)
    values = root_values(graph, refined, sums)
    n_times = np.bincount(graph.roots, weights[graph.sentences], values.size)
    is_root = n_times > 0
    log_likelihood = n_times[is_root] @ (log_of(values) + sums.subtree_logs)[is_root]
    shares = np.divide(n_times, values, out=np.zeros_like(values), where=values > 0)
    of_roots = shares[:, None] * refined.roots[graph.symbols]

    derivatives = PartSums(*map(np.zeros_like, sums))._replace(subtrees=of_roots.copy())
    d_stops, d_moves = np.zeros_like(stops), np.zeros_like(moves)
    d_steps = derivatives.steps.reshape(len(sums.steps), moves.shape[2])
    for level in reversed(graph.levels):
        for first, last, block in level.groups:
            chosen = parts.subtrees[first:last]
            d_moves[block] += sums.subtrees[chosen].T @ d_steps[first:last]
            # A subtree has one arc at most in each block.
            derivatives.subtrees[chosen] += d_steps[first:last] @ moves[block].T
        _differentiate_subtrees(parts, *level.subtrees, stops, sums, derivatives, d_stops)
        _differentiate_paths(parts, *level.paths, sums, derivatives)
    return sums, derivatives, d_stops, d_moves, of_roots, float(log_likelihood)


@table_kernel
def _make_steps(parts, first, last, moves, subtrees, steps):
    """step[q] = sum_g moves[g, q] subtree[g]. In BLAS, bits would depend on the other rows."""
    for a in range(first, last):
        block, subtree = parts.blocks[a], subtrees[parts.subtrees[a]]
        steps[a] = 0.0
        for g in range(subtree.size):
            for q in range(steps.shape[1]):
                steps[a, q] += subtree[g] * moves[block, g, q]


@table_kernel
def _extend_paths(parts, first, last, sums):
    """path'[u, h] = sum_v step[v, u, h] path[v, h]."""
    n_states, k = sums.paths.shape[1:]
    for p in range(first, last):
        before, arc, path, largest = parts.previous[p], parts.last[p], sums.paths[p], 0.0
        for u in range(n_states):
            path[u] = 0.0
            for v in range(n_states):
                for h in range(k):
                    path[u, h] += sums.steps[arc, v, u, h] * sums.paths[before, v, h]
            for h in range(k):
                largest = max(largest, path[u, h])
        sums.path_scales[p] = 1.0 / largest if largest > 0.0 else 0.0
        for u in range(n_states):
            for h in range(k):
                path[u, h] *= sums.path_scales[p]
        sums.path_logs[p] = sums.path_logs[before] + sums.subtree_logs[parts.subtrees[arc]]
        sums.path_logs[p] += np.log(largest)


@inlined_kernel
def _finish_path(stops, sums, owner, path, h):
    """finished[h] = sum_v stop[v, h] path[v, h]."""
    total = 0.0
    for v in range(stops.shape[1]):
        total += stops[owner, v, h] * sums.paths[path, v, h]
    return total


@table_kernel
def _join_paths(parts, first, last, stops, sums):
    """subtree[h] = finished_left[h] finished_right[h]."""
    for s in range(first, last):
        left, right, largest = parts.left[s], parts.right[s], 0.0
        for h in range(stops.shape[2]):
            value = _finish_path(stops, sums, parts.owners[left], left, h)
            value *= _finish_path(stops, sums, parts.owners[right], right, h)
            sums.subtrees[s, h] = value
            largest = max(largest, value)
        sums.subtree_scales[s] = 1.0 / largest if largest > 0.0 else 0.0
        for h in range(stops.shape[2]):
            sums.subtrees[s, h] *= sums.subtree_scales[s]
        sums.subtree_logs[s] = sums.path_logs[left] + sums.path_logs[right] + np.log(largest)


@table_kernel
def _differentiate_subtrees(parts, first, last, stops, sums, derivatives, d_stops):
    """Add to the derivatives of paths and stops, from the derivatives of subtrees."""
    for s in range(first, last):
        left, right = parts.left[s], parts.right[s]
        for h in range(stops.shape[2]):
            derivative = derivatives.subtrees[s, h] * sums.subtree_scales[s]
            of_left = derivative * _finish_path(stops, sums, parts.owners[right], right, h)
            of_right = derivative * _finish_path(stops, sums, parts.owners[left], left, h)
            for v in range(stops.shape[1]):
                d_stops[parts.owners[left], v, h] += of_left * sums.paths[left, v, h]
                d_stops[parts.owners[right], v, h] += of_right * sums.paths[right, v, h]
                derivatives.paths[left, v, h] += of_left * stops[parts.owners[left], v, h]
                derivatives.paths[right, v, h] += of_right * stops[parts.owners[right], v, h]


@table_kernel
def _differentiate_paths(parts, first, last, sums, derivatives):
    """Add to the derivatives of shorter paths and of steps, from the derivatives of paths."""
    n_states, k = sums.paths.shape[1:]
    for p in range(first, last):
        before, arc = parts.previous[p], parts.last[p]
        for u in range(n_states):
            for h in range(k):
                derivatives.paths[p, u, h] *= sums.path_scales[p]
            for v in range(n_states):
                for h in range(k):
                    derivative = derivatives.paths[p, u, h]
                    step, path = sums.steps[arc, v, u, h], sums.paths[before, v, h]
                    derivatives.paths[before, v, h] += step * derivative
                    derivatives.steps[arc, v, u, h] += path * derivative
