"""The best tree of a sentence by the scores of its arcs: projective, or a maximum arborescence.

Marginals of signed operators become such scores by :func:`repair`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_shag.utils._kernel import inlined_kernel, inner_table_kernel, kernel, table_kernel
from sklearn_shag.utils._param_validation import as_floats
from sklearn_shag.utils._simd import shaped
from sklearn_shag.utils._typing import ArrayLike, IntArray

# Kinds of entries of the agenda of `_follow_splits`: both halves between two positions, or one.
BETWEEN_HALVES, RIGHT_HALF, LEFT_HALF = np.int64(0), np.int64(1), np.int64(2)

# Marginals of signed operators can come out zero or negative; eq. 28 takes their logarithm.
SMALLEST_MARGINAL = 1e-12

# Scores are never NaN. Compiled without NaN in mind, largest sums are found several at a time.
_without_nan = {"nnan", "nsz"}


def eisner(scores: ArrayLike) -> tuple[IntArray, float]:
    """Find the projective tree with one root whose arcs have the largest sum of scores.

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
        If `scores` has the wrong shape, is empty or contains NaN or +inf.

    See Also
    --------
    best_trees : Finds the best trees of many sentences, also with grammars.
    maximum_arborescence : Finds the best tree if arcs may cross.

    References
    ----------
    Eisner (2000), Bilexical grammars and their cubic-time parsing algorithms.

    Examples
    --------
    >>> from sklearn_shag.parsing import eisner
    >>> eisner([[0, 0, 2, 0], [1, 0, 0, 3], [2, 0, 1, 0]])
    (array([2, 3, 0]), 7.0)
    """
    scores = as_scores(scores)
    heads = np.empty(scores.shape[0], dtype=np.int64)
    score = best_tree(scores, *new_space(heads.size), heads)
    return heads, float(score)


def as_scores(scores):
    """Check the arc scores of a sentence that a user gave; return a contiguous float array.

    Raises
    ------
    ValueError
        If they have another shape than (n_tokens, n_tokens + 1), or contain NaN or +inf.
    """
    scores = as_floats(scores, "scores, those of one sentence,")
    if scores.ndim != 2 or scores.size == 0 or scores.shape[1] != scores.shape[0] + 1:
        raise ValueError(
            f"scores must have the shape (n_tokens, n_tokens + 1) with at least one token, got "
            f"{scores.shape}."
        )
    wrong = np.argwhere(np.isnan(scores) | (scores == np.inf))
    if wrong.size:
        token, head = wrong[0]
        raise ValueError(
            f"The score of head {head} of token {token + 1} is {scores[token, head]}; scores are "
            f"numbers, or -inf for a forbidden arc."
        )
    return np.ascontiguousarray(scores)


def new_space(longest):
    """Allocate the tables and the agenda of :func:`best_tree`, for up to `longest` tokens."""
    n = longest + 1
    return np.empty(5 * n * n), np.empty((n + 1, 3), dtype=np.int64)


@table_kernel(fastmath=_without_nan)
def best_tree(scores, space, agenda, heads):
    """Find the projective tree with one root of the largest sum of arc scores.

    Halves are stored by their head and by their end, so that all sums run along rows. Best splits
    are not stored: they are found again, N times in all, where the tree is read off.

    Parameters
    ----------
    scores : array of shape (N, N + 1)
        ``scores[m - 1, h]`` of the arc from head h, 0 the root symbol, to token m; may be -inf.
    space, agenda : arrays
        Of :func:`new_space`.
    heads : int array of shape (N,)
        Set to the heads of the best tree, the first met of equal ones. A tree also if all are -inf.

    Returns
    -------
    score : float
    """
    n = scores.shape[1]
    tables = shaped(space, (5, n, n))
    right, right_by_end, left, left_by_end = tables[0], tables[1], tables[2], tables[3]
    arcs = tables[4]
    for i in range(n):
        right[i, i] = right_by_end[i, i] = left[i, i] = left_by_end[i, i] = 0.0
    for j in range(1, n):
        for i in range(j - 1, 0, -1):
            # between = max_k right[i, k] + left[j, k + 1], what an arc from i to j or back spans
            between = _best_sum(right[i], i, left[j], i + 1, j - i)
            arcs[i, j] = between + scores[j - 1, i]
            arcs[j, i] = between + scores[i - 1, j]
            # right[i, j] = max_m arc[i, m] + right[m, j]
            right[i, j] = _best_sum(arcs[i], i + 1, right_by_end[j], i + 1, j - i)
            right_by_end[j, i] = right[i, j]
            # left[j, i] = max_m arc[j, m] + left[m, i]
            left[j, i] = _best_sum(arcs[j], i, left_by_end[i], i, j - i)
            left_by_end[i, j] = left[j, i]
    best, root = -np.inf, np.int64(1)
    for m in range(1, n):
        score = scores[m - 1, 0] + left[m, 1] + right[m, n - 1]
        if score > best:
            best, root = score, m
    heads[root - 1] = 0
    # The agenda holds kinds, first and last positions.
    _follow_splits(root, right, right_by_end, left, left_by_end, arcs, agenda, heads)
    return best


@inlined_kernel(fastmath=_without_nan)
def _best_sum(one, i, other, j, size):
    best = -np.inf
    for k in range(size):
        best = max(best, one[i + k] + other[j + k])
    return best


@inner_table_kernel(fastmath=_without_nan)
def _argbest_sum(one, i, other, j, size):
    """Return the first k < size with the largest sum ``one[i + k] + other[j + k]``."""
    best = _best_sum(one, i, other, j, size)
    for k in range(size):
        if one[i + k] + other[j + k] == best:
            return k
    return 0


@inner_table_kernel
def _follow_splits(root, right, right_by_end, left, left_by_end, arcs, agenda, heads):
    """Set the heads of the best tree, split by split, from the two halves of the root down."""
    push_entry(agenda, np.int64(0), LEFT_HALF, np.int64(1), root)
    push_entry(agenda, np.int64(1), RIGHT_HALF, root, np.int64(heads.size))
    size = np.int64(2)
    while size:
        size -= 1
        kind, i, j = agenda[size, 0], agenda[size, 1], agenda[size, 2]
        if i == j:
            continue
        if kind == BETWEEN_HALVES:
            k = i + _argbest_sum(right[i], i, left[j], i + 1, j - i)
            push_entry(agenda, size, RIGHT_HALF, i, k)
            push_entry(agenda, size + 1, LEFT_HALF, k + 1, j)
        elif kind == RIGHT_HALF:
            m = i + 1 + _argbest_sum(arcs[i], i + 1, right_by_end[j], i + 1, j - i)
            heads[m - 1] = i
            push_entry(agenda, size, BETWEEN_HALVES, i, m)
            push_entry(agenda, size + 1, RIGHT_HALF, m, j)
        else:
            m = i + _argbest_sum(arcs[j], i, left_by_end[i], i, j - i)
            heads[m - 1] = j
            push_entry(agenda, size, BETWEEN_HALVES, m, j)
            push_entry(agenda, size + 1, LEFT_HALF, i, m)
        size += 2


@inlined_kernel
def push_entry(agenda, row, first, second, third):
    """Put an entry of three numbers into a row of an agenda."""
    agenda[row, 0], agenda[row, 1], agenda[row, 2] = first, second, third


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
        If `scores` has the wrong shape, is empty or contains NaN or +inf.

    See Also
    --------
    eisner : Finds the best projective tree.

    Notes
    -----
    Takes O(n_tokens^2) time. The search itself is restricted to trees with one root, and none of
    these has a larger sum.

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
    """Nodes of the contracted graph of a sentence: its tokens, and cycles of nodes.

    The first N nodes are the tokens, the others cycles of nodes before them, 2 N - 1 at most. A
    node that is part of no other has a row with the best arc into it from each token, and from the
    root symbol. The value of an arc is a pair: a number of forbidden arcs, and a score. Of two
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
    itself, the cycle becomes one node: a tree enters it once, and the arc that enters adds its
    score less the score of the arc that it replaces. Between any two tokens there is an arc,
    forbidden or not, so at last all are in one node. Only then are arcs from the root symbol
    considered, which so has one modifier.

    Parameters
    ----------
    scores : array of shape (N, N + 1)
        ``scores[m - 1, h]`` of the arc from head h, 0 the root symbol, to token m; may be -inf.
    heads : int array of shape (N,)
        Set to the heads of the best tree: of some tree with one root also if all scores are -inf.

    Returns
    -------
    score : float
    """
    n = heads.size
    nodes = Nodes(
        np.zeros((n, n + 1)),
        scores.copy(),
        np.empty((n, n + 1), dtype=np.int64),
        np.arange(2 * n - 1),
        np.full(2 * n - 1, -1),
        np.empty(2 * n - 1, dtype=np.int64),
        np.empty(2 * n - 1, dtype=np.int64),
        np.arange(n),
    )
    for m in range(n):
        nodes.entered[m] = m
        for h in range(n + 1):
            if scores[m, h] == -np.inf:
                nodes.forbidden[m, h], nodes.scores[m, h] = 1.0, 0.0
    path, place, size, n_nodes = np.zeros(n, dtype=np.int64), np.full(2 * n - 1, -1), 1, n
    place[0] = 0
    while _choose_arc(nodes, path[size - 1]):
        other = nodes.node_of[nodes.head[path[size - 1]] - 1]
        if place[other] < 0:
            size += 1
        else:
            size, other = place[other] + 1, _merge_cycle(nodes, path[place[other] : size], n_nodes)
            n_nodes += 1
        path[size - 1], place[other] = other, size - 1
    _read_heads(nodes, n_nodes, heads)
    score = 0.0
    for m in range(n):
        score += scores[m, heads[m]]
    return score


@inner_table_kernel
def _choose_arc(nodes, node):
    """Choose the best arc into a node; False if it could only come from the root symbol."""
    row, best = nodes.row[node], np.int64(0)
    for h in range(1, nodes.node_of.size + 1):
        if nodes.node_of[h - 1] != node and (
            best == 0
            or _is_better(
                nodes.forbidden[row, h],
                nodes.scores[row, h],
                nodes.forbidden[row, best],
                nodes.scores[row, best],
            )
        ):
            best = h
    nodes.head[node], nodes.token[node] = best, nodes.entered[row, best]
    return best > 0


@inlined_kernel
def _is_better(forbidden, score, other_forbidden, other_score):
    return forbidden < other_forbidden or (forbidden == other_forbidden and score > other_score)


@inner_table_kernel
def _merge_cycle(nodes, cycle, new):
    """Make one node of a cycle of nodes; its row has the best adjusted arc from each head."""
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
def _read_heads(nodes, n_nodes, heads):
    """Set heads, from the largest cycle down: the arc into a cycle replaces one within it."""
    for node in range(n_nodes - 1, -1, -1):
        if nodes.token[node] >= 0:
            part = nodes.token[node]
            heads[part] = nodes.head[node]
            while part != node:
                nodes.token[part] = -1  # the arc of the cycle is replaced
                part = nodes.whole[part]


@table_kernel
def find_trees(scores, begins, indptr, space, agenda, heads):
    """Set `heads` to the best projective tree of each sentence, by arc scores (eq. 28)."""
    for s in range(indptr.size - 1):
        n = indptr[s + 1] - indptr[s]
        of_sentence = shaped(scores[begins[s] : begins[s + 1]], (n, n + 1))
        best_tree(of_sentence, space, agenda, heads[indptr[s] : indptr[s + 1]])


def find_best(scores, begins, indptr):
    """Return the heads of the best projective tree of each sentence, (n_tokens,)."""
    heads = np.empty(indptr[-1], dtype=np.int64)
    find_trees(scores, begins, indptr, *new_space(int(np.diff(indptr).max())), heads)
    return heads


@kernel
def find_arborescences(scores, begins, indptr, heads):
    """Set `heads` to the best tree of each sentence, by arc scores; arcs may cross.

    Returns
    -------
    totals : ndarray of shape (n_sentences,)
        The sums of scores.
    """
    totals = np.empty(indptr.size - 1)
    for s in range(indptr.size - 1):
        n = indptr[s + 1] - indptr[s]
        of_sentence = scores[begins[s] : begins[s + 1]].reshape((n, n + 1))
        totals[s] = best_arborescence(of_sentence, heads[indptr[s] : indptr[s + 1]])
    return totals


@table_kernel
def repair(marginals, factors):
    """Make signed marginals a distribution over heads for every token: clip, then renormalise.

    Rows sum to 1 before, too, also where Z is negative. Decoders and users see the same clipped
    marginals. Forbidden arcs stay 0; in sentences without mass all other arcs become equal.
    """
    for s in range(factors.indptr.size - 1):
        n = factors.indptr[s + 1] - factors.indptr[s] + 1
        of_sentence = marginals[factors.begins[s] : factors.begins[s + 1]]
        is_lost = np.isnan(of_sentence[0])
        for m in range(1, n):
            row, total = of_sentence[(m - 1) * n : m * n], 0.0
            arcs = factors.arcs[factors.begins[s] + (m - 1) * n :]
            for h in range(n):
                row[h] = 1.0 if is_lost else max(row[h], SMALLEST_MARGINAL)
                if arcs.size and arcs[h] == -np.inf:
                    row[h] = 0.0
            row[m] = 0.0
            for h in range(n):
                total += row[h]
            for h in range(n):
                row[h] /= total
