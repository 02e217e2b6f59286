"""Best derivations: a chart with (max, +) in place of (+, x) (theory, eq. 27).

Otherwise the recurrences are those of :mod:`_scaled_chart`. The automaton's state stays an index,
and the best split or predecessor of every entry is kept.
"""

from typing import NamedTuple

import numpy as np

from sklearn_shag.sequences import RIGHT
from sklearn_shag.utils._kernel import inlined_kernel, kernel, table_kernel

# What an entry of the agenda of `_backtrack` stands for; numba makes no literals of this type.
COMPLETE_HALF, INCOMPLETE_HALF = np.int64(0), np.int64(1)


class Derivations(NamedTuple):
    """The best derivations of one sentence of N tokens: their scores, and what they chose last."""

    complete: np.ndarray  # (N + 1, N + 2, n)
    incomplete: np.ndarray  # (N + 1, N + 1, n)
    closed: np.ndarray  # (N + 1, N + 2)
    awaiting: np.ndarray  # (n,), of one half at a time
    complete_from: np.ndarray  # the outermost modifier
    incomplete_from: np.ndarray  # the state before the modifier
    closed_from: np.ndarray  # the state before STOP
    awaiting_from: np.ndarray  # (N + 1, N + 1, n), the boundary before the modifier


@kernel
def viterbi(log_operators, codes, log_arc_scores, heads):
    """Find the best tree with exactly one root, and its score.

    Parameters
    ----------
    log_operators : Operators
        Logarithms of the operators of a grammar.
    codes : int array of shape (N + 1,)
        Symbol codes; ``codes[0]`` is the code of the root symbol.
    log_arc_scores : array of shape (N + 1, N + 1)
        Added for every arc from a head (row) to a modifier (column).
    heads : int array of shape (N,)
        Set to the heads of the best tree. Of equal trees the first met is kept.

    Returns
    -------
    score : float
        -inf, with `heads` a tree of impossible arcs, where no tree is possible.
    """
    n = codes.size
    best = _new_derivations(n, log_operators.alpha_1.shape[2])
    for h in range(1, n):
        for direction in range(2):
            for q in range(best.awaiting.size):
                best.complete[h, h + direction, q] = log_operators.alpha_1[codes[h], direction, q]
            _close(best, log_operators.alpha_inf[codes[h], direction], h, h + direction)
    for width in range(1, n):
        for i in range(1, n - width):
            j = i + width
            for direction in range(2):
                if direction == RIGHT:
                    head, modifier, boundary, low = i, j, j + 1, i + 1
                else:
                    head, modifier, boundary, low = j, i, i, i
                _await(best, head, modifier, i + 1, j + 1)
                matrix = log_operators.A[codes[head], direction, codes[modifier]]
                _emit(best, matrix, log_arc_scores[head, modifier], head, modifier)
                _complete(best, head, modifier, boundary, low, low + width)
                _close(best, log_operators.alpha_inf[codes[head], direction], head, boundary)
    root, score = _best_root(best, log_operators, codes, log_arc_scores)
    heads[root - 1] = 0
    _backtrack(root, best, heads)
    return score


@kernel
def _new_derivations(n, n_states):
    return Derivations(
        np.full((n, n + 1, n_states), -np.inf),
        np.full((n, n, n_states), -np.inf),
        np.full((n, n + 1), -np.inf),
        np.empty(n_states),
        np.zeros((n, n + 1, n_states), dtype=np.int64),
        np.zeros((n, n, n_states), dtype=np.int64),
        np.zeros((n, n + 1), dtype=np.int64),
        np.zeros((n, n, n_states), dtype=np.int64),
    )


@inlined_kernel
def _await(best, head, modifier, low, high):
    # g[h, m] = max_b C[h, b] + closed[m, b]
    for q in range(best.awaiting.size):
        best.awaiting[q] = -np.inf
        best.awaiting_from[head, modifier, q] = low
        for b in range(low, high):
            score = best.complete[head, b, q] + best.closed[modifier, b]
            if score > best.awaiting[q]:
                best.awaiting[q] = score
                best.awaiting_from[head, modifier, q] = b


@inlined_kernel
def _emit(best, matrix, log_arc_score, head, modifier):
    # I[h, m] = arc[h, m] + max_q A[h, m] + g[h, m]
    for p in range(best.awaiting.size):
        for q in range(best.awaiting.size):
            score = log_arc_score + matrix[p, q] + best.awaiting[q]
            if score > best.incomplete[head, modifier, p]:
                best.incomplete[head, modifier, p] = score
                best.incomplete_from[head, modifier, p] = q


@inlined_kernel
def _complete(best, head, modifier, boundary, low, high):
    # C[h, b] = max_m I[h, m] + closed[m, b]
    for q in range(best.awaiting.size):
        best.complete_from[head, boundary, q] = modifier
        for m in range(low, high):
            score = best.incomplete[head, m, q] + best.closed[m, boundary]
            if score > best.complete[head, boundary, q]:
                best.complete[head, boundary, q] = score
                best.complete_from[head, boundary, q] = m


@inlined_kernel
def _close(best, stop, head, boundary):
    # closed[h, b] = max_q alpha_inf + C[h, b]
    for q in range(stop.size):
        score = stop[q] + best.complete[head, boundary, q]
        if score > best.closed[head, boundary]:
            best.closed[head, boundary] = score
            best.closed_from[head, boundary] = q


@table_kernel
def _best_root(best, log_operators, codes, log_arc_scores):
    """Find the single root: max_m w(m) + closed[m, 1] + closed[m, N + 1]."""
    n, n_states = codes.size, best.awaiting.size
    best_score, root = -np.inf, np.int64(1)
    for m in range(1, n):
        emitted = -np.inf
        for p in range(n_states):
            for q in range(n_states):
                score = (
                    log_operators.alpha_inf[codes[0], RIGHT, p]
                    + log_operators.A[codes[0], RIGHT, codes[m], p, q]
                    + log_operators.alpha_1[codes[0], RIGHT, q]
                )
                emitted = max(emitted, score)
        score = emitted + log_arc_scores[0, m] + best.closed[m, 1] + best.closed[m, n]
        if score > best_score:
            best_score, root = score, m
    return root, best_score


@kernel
def _backtrack(root, best, heads):
    """Follow the best choices from the two closed halves of the root."""
    n_tokens, closed_from = heads.size, best.closed_from
    agenda = np.empty((2 * n_tokens + 2, 4), dtype=np.int64)  # kind, head, end, state
    _put(agenda, 0, COMPLETE_HALF, root, 1, closed_from[root, 1])
    _put(agenda, 1, COMPLETE_HALF, root, n_tokens + 1, closed_from[root, n_tokens + 1])
    size = 2
    while size:
        size -= 1
        kind, head = agenda[size, 0], agenda[size, 1]
        end, state = agenda[size, 2], agenda[size, 3]
        if kind == COMPLETE_HALF:
            if end != head and end != head + 1:
                modifier = best.complete_from[head, end, state]
                _put(agenda, size, INCOMPLETE_HALF, head, modifier, state)
                _put(agenda, size + 1, COMPLETE_HALF, modifier, end, closed_from[modifier, end])
                size += 2
        else:
            heads[end - 1] = head
            before = best.incomplete_from[head, end, state]
            boundary = best.awaiting_from[head, end, before]
            _put(agenda, size, COMPLETE_HALF, head, boundary, before)
            _put(agenda, size + 1, COMPLETE_HALF, end, boundary, closed_from[end, boundary])
            size += 2


@kernel
def _put(agenda, row, kind, head, end, state):
    agenda[row, 0], agenda[row, 1] = kind, head
    agenda[row, 2], agenda[row, 3] = end, state
