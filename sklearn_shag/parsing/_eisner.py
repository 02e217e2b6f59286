"""The best tree of independent arcs: Eisner (2000), in O(N^3) (theory, eq. 28)."""

import numpy as np

from sklearn_shag.utils._kernel import inlined_kernel, inner_table_kernel, kernel
from sklearn_shag.utils._param_validation import as_floats
from sklearn_shag.utils._typing import ArrayLike, IntArray

# What an entry of the agenda of `_backtrack` stands for: both halves between two positions, or one.
BETWEEN, RIGHT_HALF, LEFT_HALF = np.int64(0), np.int64(1), np.int64(2)

# NaN never gets here. Without it in mind, largest sums are found several at a time.
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
        If `scores` has another shape, is empty or contains NaN or +inf.

    See Also
    --------
    best_trees : The best trees of many sentences, and of grammars.
    maximum_arborescence : The best tree if arcs may cross.

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
    score = best_tree(scores, heads)
    return heads, float(score)


def as_scores(scores):
    """Make the array for kernels of the scores of arcs of a sentence, as users give them.

    Raises
    ------
    ValueError
        If they have another shape than (n_tokens, n_tokens + 1), or contain NaN or +inf.
    """
    scores = as_floats(scores, "scores, those of one sentence,")
    if scores.ndim != 2 or scores.size == 0 or scores.shape[1] != scores.shape[0] + 1:
        raise ValueError(
            f"scores must have the shape (n_tokens, n_tokens + 1), at least one token, got "
            f"{scores.shape}."
        )
    wrong = np.argwhere(np.isnan(scores) | (scores == np.inf))
    if wrong.size:
        token, head = wrong[0]
        raise ValueError(
            f"The score of head {head} of token {token + 1} is {scores[token, head]}; scores are "
            f"numbers, or -inf for an arc that is forbidden."
        )
    return np.ascontiguousarray(scores)


@kernel(fastmath=_without_nan)
def best_tree(scores, heads):
    """Find the projective tree with one root of the largest sum of arc scores.

    Halves are stored by their head and by their end, so that all sums run along rows. Only values
    are: which split was the best is asked again where the tree is read off, N times in all.

    Parameters
    ----------
    scores : array of shape (N, N + 1)
        ``scores[m - 1, h]`` of the arc from head h, 0 the root symbol, to token m; may be -inf.
    heads : int array of shape (N,)
        Set to the heads of the best tree, the first met of equal ones. A tree also if all are -inf.

    Returns
    -------
    score : float
    """
    n = scores.shape[1]
    tables = np.zeros((5, n, n))
    right, right_by_end, left, left_by_end = tables[0], tables[1], tables[2], tables[3]
    arcs = tables[4]
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
    agenda = np.empty((n + 1, 3), dtype=np.int64)  # kind, first and last position
    _backtrack(root, right, right_by_end, left, left_by_end, arcs, agenda, heads)
    return best


@inlined_kernel(fastmath=_without_nan)
def _best_sum(one, i, other, j, size):
    best = -np.inf
    for k in range(size):
        best = max(best, one[i + k] + other[j + k])
    return best


@inner_table_kernel(fastmath=_without_nan)
def _argbest_sum(one, i, other, j, size):
    """Find the first best of the sums that :func:`_best_sum` takes."""
    best = _best_sum(one, i, other, j, size)
    for k in range(size):
        if one[i + k] + other[j + k] == best:
            return k
    return 0


@inner_table_kernel
def _backtrack(root, right, right_by_end, left, left_by_end, arcs, agenda, heads):
    """Follow the best splits from the two halves of the root."""
    _put(agenda, np.int64(0), LEFT_HALF, np.int64(1), root)
    _put(agenda, np.int64(1), RIGHT_HALF, root, np.int64(heads.size))
    size = np.int64(2)
    while size:
        size -= 1
        kind, i, j = agenda[size, 0], agenda[size, 1], agenda[size, 2]
        if i == j:
            continue
        if kind == BETWEEN:
            k = i + _argbest_sum(right[i], i, left[j], i + 1, j - i)
            _put(agenda, size, RIGHT_HALF, i, k)
            _put(agenda, size + 1, LEFT_HALF, k + 1, j)
        elif kind == RIGHT_HALF:
            m = i + 1 + _argbest_sum(arcs[i], i + 1, right_by_end[j], i + 1, j - i)
            heads[m - 1] = i
            _put(agenda, size, BETWEEN, i, m)
            _put(agenda, size + 1, RIGHT_HALF, m, j)
        else:
            m = i + _argbest_sum(arcs[j], i, left_by_end[i], i, j - i)
            heads[m - 1] = j
            _put(agenda, size, BETWEEN, m, j)
            _put(agenda, size + 1, LEFT_HALF, i, m)
        size += 2


@inlined_kernel
def _put(agenda, row, kind, i, j):
    agenda[row, 0], agenda[row, 1], agenda[row, 2] = kind, i, j
