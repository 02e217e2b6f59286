"""The best tree of independent arcs that may cross: Chu and Liu, in O(N^2) (theory, eq. 28)."""

from typing import NamedTuple

import numpy as np

from sklearn_shag.parsing._eisner import as_scores
from sklearn_shag.utils._kernel import inlined_kernel, inner_table_kernel, kernel
from sklearn_shag.utils._typing import ArrayLike, IntArray


def maximum_arborescence(scores: ArrayLike) -> tuple[IntArray, float]:
    """Find the tree with one root whose arcs, which may cross, have the largest sum of scores.

    Parameters
    ----------
    scores : array-like of shape (n_tokens, n_tokens + 1)
        ``scores[m - 1, h]`` for head h (0 the root symbol) of token m, as in `marginals`. -inf
        forbids an arc.

    Returns
    -------
    heads : int ndarray of shape (n_tokens,)
        1-based, 0 for the root.
    score : float
        The sum; -inf if every tree has a forbidden arc.

    Raises
    ------
    ValueError
        If `scores` has another shape, is empty or contains NaN or +inf.

    See Also
    --------
    eisner : The best of the projective trees.

    Notes
    -----
    Takes O(n_tokens^2) time. That there is one root is part of the search: no other tree with one
    root has a larger sum.

    References
    ----------
    Chu and Liu (1965), On the shortest arborescence of a directed graph.

    Gabow, Galil, Spencer and Tarjan (1986), Efficient algorithms for finding minimum spanning trees
    in undirected and directed graphs.

    McDonald, Pereira, Ribarov and Hajic (2005), Non-projective dependency parsing using spanning
    tree algorithms.

    Examples
    --------
    >>> from sklearn_shag.parsing import eisner, maximum_arborescence
    >>> scores = [[0, 0, 0, 5, 0], [0, 0, 0, 0, 5], [5, 0, 0, 0, 0], [0, 0, 0, 5, 0]]
    >>> maximum_arborescence(scores)
    (array([3, 4, 0, 3]), 20.0)
    >>> eisner(scores)[1]                               # the arcs 3 -> 1 and 4 -> 2 cross
    15.0
    """
    scores = as_scores(scores)
    heads = np.empty(scores.shape[0], dtype=np.int64)
    score = best_arborescence(scores, heads)
    return heads, float(score)


class Nodes(NamedTuple):
    """What the tokens of a sentence have been contracted to so far.

    The first N nodes are the tokens, the others cycles of nodes before them, 2 N - 1 at most. A
    node that is part of no other has a row with the best arc into it from each token, and from the
    root symbol. What the arc adds to a tree is a pair: how many forbidden arcs, and a score. Of two
    pairs the one with fewer forbidden arcs is better, whatever the scores: no infinity is ever
    subtracted from another.
    """

    forbidden: np.ndarray  # (N, N + 1)
    scores: np.ndarray  # (N, N + 1)
    entered: np.ndarray  # (N, N + 1), at which token, from 0, the arc enters the node
    row: np.ndarray  # (2 N - 1,), of each node
    whole: np.ndarray  # (2 N - 1,), the node that each is part of, -1 for none
    head: np.ndarray  # (2 N - 1,), where the chosen arc into each node comes from
    token: np.ndarray  # (2 N - 1,), and the token, from 0, that it goes to
    node_of: np.ndarray  # (N,), the node, part of no other, that each token is in


@kernel
def best_arborescence(scores, heads):
    """Find the tree with one root of the largest sum of arc scores, whether or not arcs cross.

    A path of nodes grows backwards, always along the best arc from another token. Where it meets
    itself, the cycle becomes one node: a tree enters it once, and an arc that does adds its score
    less that of the arc of the cycle that it replaces. Between any two tokens there is an arc,
    forbidden or not, so at last all are in one node. The root symbol is asked only then, and
    so has one modifier.

    Parameters
    ----------
    scores : array of shape (N, N + 1)
        ``scores[m - 1, h]`` of the arc from head h, 0 the root symbol, to token m; may be -inf.
    heads : int array of shape (N,)
        Set to the heads of the best tree. Those of some tree with one root also if the score of
        each is -inf.

    Returns
    -------
    score : float
    """
    n = heads.size
    nodes = Nodes(
        np.where(scores == -np.inf, 1.0, 0.0),
        np.where(scores == -np.inf, 0.0, scores),
        np.empty((n, n + 1), dtype=np.int64),
        np.arange(2 * n - 1),
        np.full(2 * n - 1, -1),
        np.empty(2 * n - 1, dtype=np.int64),
        np.empty(2 * n - 1, dtype=np.int64),
        np.arange(n),
    )
    for m in range(n):
        nodes.entered[m] = m
    path, place, size, n_nodes = np.zeros(n, dtype=np.int64), np.full(2 * n - 1, -1), 1, n
    place[0] = 0
    while _choose_arc(nodes, path[size - 1]):
        other = nodes.node_of[nodes.head[path[size - 1]] - 1]
        if place[other] < 0:
            size += 1
        else:
            size, other = place[other] + 1, _contract(nodes, path[place[other] : size], n_nodes)
            n_nodes += 1
        path[size - 1], place[other] = other, size - 1
    _read_off(nodes, n_nodes, heads)
    score = 0.0
    for m in range(n):
        score += scores[m, heads[m]]
    return score


@inner_table_kernel
def _choose_arc(nodes, node):
    """Choose the best arc into a node; False if it could only come from the root symbol."""
    row, best = nodes.row[node], np.int64(0)
    for h in range(1, nodes.node_of.size + 1):
        if nodes.node_of[h - 1] != node:
            better = _is_better(
                nodes.forbidden[row, h],
                nodes.scores[row, h],
                nodes.forbidden[row, best],
                nodes.scores[row, best],
            )
            if best == 0 or better:
                best = h
    nodes.head[node], nodes.token[node] = best, nodes.entered[row, best]
    return best > 0


@inlined_kernel
def _is_better(forbidden, score, other_forbidden, other_score):
    fewer = forbidden < other_forbidden
    return fewer or (forbidden == other_forbidden and score > other_score)


@inner_table_kernel
def _contract(nodes, cycle, new):
    """Make one node of a cycle of nodes, and its row of the best of theirs."""
    into = nodes.row[new] = nodes.row[cycle[0]]
    for k in range(cycle.size):
        node = cycle[k]
        row, head = nodes.row[node], nodes.head[node]
        nodes.whole[node] = new
        less_forbidden, less = nodes.forbidden[row, head], nodes.scores[row, head]
        for h in range(nodes.node_of.size + 1):
            forbidden, score = nodes.forbidden[row, h] - less_forbidden, nodes.scores[row, h] - less
            if k == 0 or _is_better(
                forbidden, score, nodes.forbidden[into, h], nodes.scores[into, h]
            ):
                nodes.forbidden[into, h], nodes.scores[into, h] = forbidden, score
                nodes.entered[into, h] = nodes.entered[row, h]
    for m in range(nodes.node_of.size):
        if nodes.whole[nodes.node_of[m]] == new:
            nodes.node_of[m] = new
    return new


@inner_table_kernel
def _read_off(nodes, n_nodes, heads):
    """Take the arc into each node, the largest first, but where an arc into a larger one enters."""
    for node in range(n_nodes - 1, -1, -1):
        if nodes.token[node] < 0:
            continue
        part = nodes.token[node]
        heads[part] = nodes.head[node]
        while part != node:
            nodes.token[part] = -1  # the arc of the cycle is replaced
            part = nodes.whole[part]
