"""Outside of the scaled chart: expected uses of factors and operators (theory, eqs. 19-26).

The outside pass is the reverse derivative of log Z, line by line; every adjoint carries the inverse
scale of its variable, so that adjoint times variable is a posterior expectation as it stands. It
goes on to the scores of arcs and stops, whose expected uses are found in this way.
"""

from typing import NamedTuple

import numpy as np

from sklearn_shag.parsing._scaled_chart import (
    between,
    divide,
    emitting,
    ends,
    outermost,
    power,
    root_term,
    root_weight,
    stopping,
    sum_up,
)
from sklearn_shag.sequences import LEFT, RIGHT
from sklearn_shag.utils._kernel import kernel

# By how much a term that is not zero can exceed a sum: terms cancel to 1e-16 of their size at best.
MAX_SHIFT = 2


class Outside(NamedTuple):
    """Derivatives of log Z by the entries of the chart, and by the scores of the sentence."""

    complete: np.ndarray  # (N + 1, N + 2, k, n)
    closed: np.ndarray  # (N + 1, N + 2)
    closed_by_boundary: np.ndarray  # (N + 2, N + 1), to be added to `closed`
    awaiting: np.ndarray  # (N + 1, N + 1, k, n)
    incomplete: np.ndarray  # (N + 1, N + 1, n)
    arc_scores: np.ndarray  # (N + 1, N + 1, k)
    stop_scores: np.ndarray  # (N + 1, 2, k)
    sum: np.ndarray  # (n,), for that by a sum that is not kept


@kernel
def _sum_up_adjoint(terms, exponent, d_out, d_weights, d_vectors):
    """Add what the adjoint of a weighted sum contributes to the adjoints of its terms."""
    weights, vectors, is_term = terms
    for t in range(is_term.size):
        shift = weights.exponent[t] + vectors.exponent[t] - exponent
        # The scale of a term that is zero, here because something is impossible, has no bound.
        if not is_term[t] or shift > MAX_SHIFT:
            continue
        scale = power(shift)
        weight, product = scale * weights.values[t], 0.0
        for q in range(d_out.size):
            d_vectors[t, q] += weight * d_out[q]
            product += d_out[q] * vectors.values[t, q]
        d_weights[t] += scale * product


@kernel
def outside(operators, sentence, single_root, chart, z, z_exponent):
    """Differentiate log Z by every entry of the chart, and every score (eqs. 19-22, 24).

    `chart`, `z` and `z_exponent` are what :func:`inside` returned for the other arguments; z must
    be finite and not zero.

    Returns
    -------
    outside : Outside
    """
    n_tokens = sentence.codes.size - 1
    adjoint = _new_outside(chart, sentence)
    if single_root:
        _single_root_adjoint(chart, adjoint, operators, sentence, z, z_exponent)
    else:
        adjoint.closed[0, n_tokens + 1] = 1.0 / z
    first = 1 if single_root else 0
    for width in range(n_tokens, 0, -1):
        for i in range(first, n_tokens + 1 - width):
            j = i + width
            for direction in range(LEFT if i > 0 else RIGHT, RIGHT + 1):
                head, modifier, boundary, low = ends(i, j, direction)
                _close_adjoint(chart, adjoint, operators, sentence, head, boundary)
                _outermost_adjoint(chart, adjoint, head, boundary, low, low + width)
                _emit_adjoint(chart, adjoint, operators, sentence, head, modifier)
                _between_adjoint(chart, adjoint, head, modifier, i + 1, j + 1)
    for h in range(first, n_tokens + 1):
        for direction in range(LEFT if h > 0 else RIGHT, RIGHT + 1):
            _close_adjoint(chart, adjoint, operators, sentence, h, h + direction)
    return adjoint


@kernel
def _new_outside(chart, sentence):
    return Outside(
        np.zeros(chart.complete.values.shape),
        np.zeros(chart.closed.values.shape),
        np.zeros(chart.closed_by_boundary.values.shape),
        np.zeros(chart.awaiting.values.shape),
        np.zeros(chart.incomplete.values.shape),
        np.zeros(sentence.arc_scores.values.shape),
        np.zeros(sentence.stop_scores.values.shape),
        np.zeros(chart.sum.size),
    )


@kernel
def _single_root_adjoint(chart, adjoint, operators, sentence, z, z_exponent):
    """Differentiate log Z by the root's attachment and the two halves beside it (eq. 24)."""
    end, root = sentence.codes.size, np.int64(0)
    for m in range(1, end):
        weight, _, excess = root_weight(chart, operators, sentence, m)
        _, exponent = root_term(chart, operators, sentence, m)
        if exponent - z_exponent > MAX_SHIFT:  # as in `_sum_up_adjoint`
            continue
        scale = power(exponent - z_exponent) / z
        left, right = chart.closed.values[m, 1], chart.closed.values[m, end]
        adjoint.closed[m, 1] += scale * weight * right
        adjoint.closed[m, end] += scale * weight * left
        stop = scale * left * right * sentence.stop_scores.values[0, RIGHT, sentence.memory[m]]
        for q in range(chart.sum.size):
            use = stop * operators.alpha_inf[sentence.codes[0], RIGHT, q]
            adjoint.incomplete[root, m, q] = divide(use, excess)
        _emit_adjoint(chart, adjoint, operators, sentence, root, m)


@kernel
def _close_adjoint(chart, adjoint, operators, sentence, head, boundary):
    # dS[h, b] = dclosed[h, b] alpha_inf
    # dC_j[h, b] += stop(h, j) dS[h, b],  dstop(h, j) += dS[h, b] . C_j[h, b]          (eq. 19)
    direction = RIGHT if boundary > head else LEFT
    adjoint.closed[head, boundary] += adjoint.closed_by_boundary[boundary, head]
    terms = stopping(chart, sentence, head, boundary)
    exponent = _stop_uses(chart, adjoint, operators, sentence, head, boundary)
    d_stops, d_complete = adjoint.stop_scores[head, direction], adjoint.complete[head, boundary]
    _sum_up_adjoint(terms, exponent, adjoint.sum, d_stops, d_complete)


@kernel
def _stop_uses(chart, adjoint, operators, sentence, head, boundary):
    """Set ``chart.sum`` to S[h, b] and ``adjoint.sum`` to dS[h, b]; return the exponent of S."""
    direction = RIGHT if boundary > head else LEFT
    exponent = sum_up(stopping(chart, sentence, head, boundary), chart.sum)
    # What was divided out of closed[h, b] beyond the scale of S[h, b] comes back here.
    excess = chart.closed.exponent[head, boundary] - exponent
    for q in range(chart.sum.size):
        stop = operators.alpha_inf[sentence.codes[head], direction, q]
        adjoint.sum[q] = divide(adjoint.closed[head, boundary] * stop, excess)
    return exponent


@kernel
def _emit_adjoint(chart, adjoint, operators, sentence, head, modifier):
    # dg[h, m] = A[h, m]^T dI[h, m]
    # dg_j[h, m] = score(h, m, j) dg[h, m],  dscore(h, m, j) = dg[h, m] . g_j[h, m]    (eq. 21)
    direction = RIGHT if modifier > head else LEFT
    matrix = operators.A[sentence.codes[head], direction, sentence.codes[modifier]]
    terms = emitting(chart, sentence, head, modifier)
    exponent = sum_up(terms, chart.sum)
    excess = chart.incomplete.exponent[head, modifier] - exponent
    for j in range(chart.sum.size):
        adjoint.sum[j] = 0.0
        for i in range(chart.sum.size):
            adjoint.sum[j] += divide(adjoint.incomplete[head, modifier, i] * matrix[i, j], excess)
    d_scores, d_awaiting = adjoint.arc_scores[head, modifier], adjoint.awaiting[head, modifier]
    _sum_up_adjoint(terms, exponent, adjoint.sum, d_scores, d_awaiting)


@kernel
def _outermost_adjoint(chart, adjoint, head, boundary, low, high):
    # dI[h, m] += closed[m, b] dC_j[h, b],  dclosed[m, b] += dC_j[h, b] . I[h, m]      (eq. 20)
    for j in range(adjoint.complete.shape[2]):
        _sum_up_adjoint(
            outermost(chart, head, boundary, low, high, j),
            chart.complete.exponent[head, boundary, j],
            adjoint.complete[head, boundary, j],
            adjoint.closed_by_boundary[boundary, low:high],
            adjoint.incomplete[head, low:high],
        )


@kernel
def _between_adjoint(chart, adjoint, head, modifier, low, high):
    # dC_j[h, b] += closed[m, b] dg_j[h, m],  dclosed[m, b] += dg_j[h, m] . C_j[h, b]  (eq. 22)
    for j in range(adjoint.awaiting.shape[2]):
        _sum_up_adjoint(
            between(chart, head, modifier, low, high, j),
            chart.awaiting.exponent[head, modifier, j],
            adjoint.awaiting[head, modifier, j],
            adjoint.closed[modifier, low:high],
            adjoint.complete[head, low:high, j],
        )


@kernel
def uses_of_arcs(sentence, adjoint):
    """Derivative times score: the posterior of each arc and class before it (eq. 25).

    Returns an array of shape (N, N + 1, k), row m - 1 and column h.
    """
    n, _, n_classes = adjoint.arc_scores.shape
    uses = np.zeros((n - 1, n, n_classes))
    for m in range(1, n):
        for h in range(n):
            for j in range(n_classes):
                score = sentence.arc_scores.values[h, m, j]
                uses[m - 1, h, j] = adjoint.arc_scores[h, m, j] * score
    return uses


@kernel
def add_expected_counts(operators, sentence, single_root, chart, adjoint, counts):
    """Add the expected uses of every operator entry in one sentence to `counts` (eq. 26).

    `counts` is an Operators of the shape of `operators`.
    """
    n_tokens = sentence.codes.size - 1
    for h in range(1 if single_root else 0, n_tokens + 1):
        # The root emits left of nothing; with a single root its uses follow its one modifier.
        for direction in range(LEFT if h > 0 else RIGHT, RIGHT + 1):
            _count_start_and_stops(operators, sentence, chart, adjoint, counts, h, direction)
    for h in range(n_tokens + 1):
        for m in range(1, n_tokens + 1):
            if m != h:
                _count_moves(operators, sentence, single_root, chart, adjoint, counts, h, m)


@kernel
def _count_start_and_stops(operators, sentence, chart, adjoint, counts, h, direction):
    starts = counts.alpha_1[sentence.codes[h], direction]
    stops = counts.alpha_inf[sentence.codes[h], direction]
    for q in range(starts.size):
        start = chart.complete.values[h, h + direction, 0, q]
        starts[q] += adjoint.complete[h, h + direction, 0, q] * start
    low, high = (1, h + 1) if direction == LEFT else (h + 1, sentence.codes.size + 1)
    for b in range(low, high):
        _stop_uses(chart, adjoint, operators, sentence, h, b)
        for q in range(stops.size):
            stops[q] += adjoint.sum[q] * chart.sum[q]


@kernel
def _count_moves(operators, sentence, single_root, chart, adjoint, counts, h, m):
    code, direction = sentence.codes[h], LEFT if m < h else RIGHT
    matrix = operators.A[code, direction, sentence.codes[m]]
    moves = counts.A[code, direction, sentence.codes[m]]
    exponent = sum_up(emitting(chart, sentence, h, m), chart.sum)
    excess = chart.incomplete.exponent[h, m] - exponent
    for i in range(chart.sum.size):
        for j in range(chart.sum.size):
            after = divide(adjoint.incomplete[h, m, i] * matrix[i, j], excess)
            use = after * chart.sum[j]
            moves[i, j] += use
            if h == 0 and single_root:
                counts.alpha_1[code, RIGHT, j] += use
                counts.alpha_inf[code, RIGHT, i] += use
