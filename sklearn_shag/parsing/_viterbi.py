"""Best derivations: a chart with (max, +) in place of (+, x) (theory, eq. 27).

Otherwise the recurrences are those of :mod:`_scaled_chart`. The automaton's state stays an index,
and the best split or predecessor of every entry is kept.
"""

import numpy as np

from sklearn_shag.sequences import RIGHT
from sklearn_shag.utils._kernel import kernel

# What an entry of the agenda of `_backtrack` stands for; numba makes no literals of this type.
COMPLETE_HALF, INCOMPLETE_HALF = np.int64(0), np.int64(1)


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
    n_states = log_operators.alpha_1.shape[2]
    complete = np.full((n, n + 1, n_states), -np.inf)
    incomplete = np.full((n, n, n_states), -np.inf)
    closed = np.full((n, n + 1), -np.inf)
    complete_from = np.zeros((n, n + 1, n_states), dtype=np.int64)  # outermost modifier
    closed_from = np.zeros((n, n + 1), dtype=np.int64)  # state before STOP
    incomplete_from = np.zeros((n, n, n_states), dtype=np.int64)  # state before the modifier
    awaiting_from = np.zeros((n, n, n_states), dtype=np.int64)  # boundary before the modifier
    awaiting = np.empty(n_states)
    for h in range(1, n):
        for direction in range(2):
            for q in range(n_states):
                complete[h, h + direction, q] = log_operators.alpha_1[codes[h], direction, q]
            stop = log_operators.alpha_inf[codes[h], direction]
            _close(complete, closed, closed_from, h, h + direction, stop)
    for width in range(1, n):
        for i in range(1, n - width):
            j = i + width
            for direction in range(2):
                if direction == RIGHT:
                    head, modifier, boundary, low = i, j, j + 1, i + 1
                else:
                    head, modifier, boundary, low = j, i, i, i
                # g[h, m] = max_b C[h, b] + closed[m, b]
                for q in range(n_states):
                    awaiting[q] = -np.inf
                    awaiting_from[head, modifier, q] = i + 1
                    for b in range(i + 1, j + 1):
                        score = complete[head, b, q] + closed[modifier, b]
                        if score > awaiting[q]:
                            awaiting[q] = score
                            awaiting_from[head, modifier, q] = b
                # I[h, m] = arc[h, m] + max_q A[h, m] + g[h, m]
                matrix = log_operators.A[codes[head], direction, codes[modifier]]
                for p in range(n_states):
                    for q in range(n_states):
                        score = log_arc_scores[head, modifier] + matrix[p, q] + awaiting[q]
                        if score > incomplete[head, modifier, p]:
                            incomplete[head, modifier, p] = score
                            incomplete_from[head, modifier, p] = q
                # C[h, b] = max_m I[h, m] + closed[m, b]
                for q in range(n_states):
                    complete_from[head, boundary, q] = modifier
                    for m in range(low, low + width):
                        score = incomplete[head, m, q] + closed[m, boundary]
                        if score > complete[head, boundary, q]:
                            complete[head, boundary, q] = score
                            complete_from[head, boundary, q] = m
                stop = log_operators.alpha_inf[codes[head], direction]
                _close(complete, closed, closed_from, head, boundary, stop)
    # The single root: max_m w(m) + closed[m, 1] + closed[m, N + 1]
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
        score = emitted + log_arc_scores[0, m] + closed[m, 1] + closed[m, n]
        if score > best_score:
            best_score, root = score, m
    heads[root - 1] = 0
    _backtrack(root, closed_from, complete_from, incomplete_from, awaiting_from, heads)
    return best_score


@kernel
def _close(complete, closed, closed_from, head, boundary, stop):
    # closed[h, b] = max_q alpha_inf + C[h, b]
    for q in range(stop.size):
        score = stop[q] + complete[head, boundary, q]
        if score > closed[head, boundary]:
            closed[head, boundary] = score
            closed_from[head, boundary] = q


@kernel
def _backtrack(root, closed_from, complete_from, incomplete_from, awaiting_from, heads):
    """Follow the best choices from the two closed halves of the root."""
    n_tokens = heads.size
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
                modifier = complete_from[head, end, state]
                _put(agenda, size, INCOMPLETE_HALF, head, modifier, state)
                _put(agenda, size + 1, COMPLETE_HALF, modifier, end, closed_from[modifier, end])
                size += 2
        else:
            heads[end - 1] = head
            before = incomplete_from[head, end, state]
            boundary = awaiting_from[head, end, before]
            _put(agenda, size, COMPLETE_HALF, head, boundary, before)
            _put(agenda, size + 1, COMPLETE_HALF, end, boundary, closed_from[end, boundary])
            size += 2


@kernel
def _put(agenda, row, kind, head, end, state):
    agenda[row, 0], agenda[row, 1] = kind, head
    agenda[row, 2], agenda[row, 3] = end, state
