"""Outside of the scaled chart: expected uses of factors and operators (theory, eqs. 19-26).

The outside pass is the reverse derivative of log Z, line by line; every adjoint carries the inverse
scale of its variable, so that adjoint times variable is a posterior expectation as it stands. It
goes on to the scores of arcs and stops, whose expected uses are found in this way.

The derivative by a variable that is 0 because something is impossible has no bound: it says what
trees would be worth if there were any. It may overflow; :func:`times` keeps it from the others.
"""

from typing import NamedTuple

import numpy as np

from sklearn_shag.parsing._scaled_chart import (
    between,
    drop,
    emitting,
    ends,
    inside,
    outermost,
    power,
    product,
    root_term,
    root_weight,
    stopping,
    sum_up,
)
from sklearn_shag.sequences import LEFT, RIGHT
from sklearn_shag.utils._kernel import inner_kernel, inner_table_kernel, kernel

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


@inner_table_kernel
def times(value, derivative):
    """Multiply; what is 0 has no use, even where the derivative is not finite."""
    return value * derivative if value != 0.0 else 0.0


@inner_table_kernel
def times_power(value, derivative, exponent):
    """Multiply them and BASE ** exponent."""
    return product(value, derivative, exponent) if value != 0.0 else 0.0


@inner_table_kernel
def _sum_up_adjoint(terms, exponent, d_out, d_weights, d_vectors):
    """Add what the adjoint of a weighted sum contributes to the adjoints of its terms."""
    weights, vectors, is_term = terms
    for t in range(is_term.size):
        shift = weights.exponent[t] + vectors.exponent[t] - exponent
        # Here the scale of a term that is zero because something is impossible has no bound either.
        if not is_term[t] or shift > MAX_SHIFT:
            continue
        weight, rest = drop(weights.values[t], shift)
        scale, total = drop(1.0, shift)[0] * rest, 0.0
        for q in range(d_out.size):
            d_vectors[t, q] += times(weight, rest * d_out[q])
            total += times(vectors.values[t, q], d_out[q])
        d_weights[t] += scale * total


@kernel
def sum_over_trees(operators, sentence, single_root, counts):
    """Sum over the trees of a sentence, and find the expected uses of its scores (eq. 25).

    Parameters
    ----------
    operators : ScaledOperators
        Of a grammar.
    sentence : Sentence
    single_root : bool
        Whether the root symbol takes exactly one modifier whatever its automaton says.
    counts : Operators
        The expected uses of operators are added to it; none where it is empty.

    Returns
    -------
    z : float
        The sum over all trees is ``z * BASE ** exponent``.
    exponent : int
    arcs : array of shape (N, N + 1, k)
        Expected uses of arcs, row m - 1 and column h; NaN if z is 0 or not finite. They tell
        whether z can be trusted: where what it consists of did not fit a double beside other terms,
        they are not finite.
    stops : array of shape (N + 1, 2, k)
        The same of stops.
    """
    chart, z, exponent = inside(operators, sentence, single_root)
    n, _, n_classes = sentence.arc_scores.values.shape
    arcs, stops = np.full((n - 1, n, n_classes), np.nan), np.full((n, 2, n_classes), np.nan)
    if z != 0.0 and np.isfinite(z):
        adjoint = _outside(operators, sentence, single_root, chart, z, exponent, counts)
        for h in range(n):
            for j in range(n_classes):
                for m in range(1, n):
                    score = sentence.arc_scores.values[h, m, j]
                    arcs[m - 1, h, j] = times(score, adjoint.arc_scores[h, m, j])
                for side in range(2):
                    score = sentence.stop_scores.values[h, side, j]
                    stops[h, side, j] = times(score, adjoint.stop_scores[h, side, j])
    return z, exponent, arcs, stops


@inner_kernel
def _outside(operators, sentence, single_root, chart, z, z_exponent, counts):
    """Differentiate log Z by every entry of the chart and every score (eqs. 19-22, 24)."""
    adjoint = _new_outside(chart, sentence)
    if single_root:
        _single_root_adjoint(chart, adjoint, operators, sentence, z, z_exponent, counts)
    else:
        adjoint.closed[0, sentence.codes.size] = 1.0 / z
    _fill(chart, adjoint, operators, sentence, single_root, counts)
    return adjoint


@inner_table_kernel
def _fill(chart, adjoint, operators, sentence, single_root, counts):
    n_tokens, first = sentence.codes.size - 1, 1 if single_root else 0
    for width in range(n_tokens, 0, -1):
        for i in range(first, n_tokens + 1 - width):
            j = i + width
            for direction in range(LEFT if i > 0 else RIGHT, RIGHT + 1):
                head, modifier, boundary, low = ends(i, j, direction)
                _close_adjoint(chart, adjoint, operators, sentence, head, boundary, counts)
                _outermost_adjoint(chart, adjoint, head, boundary, low, low + width)
                _emit_adjoint(chart, adjoint, operators, sentence, head, modifier, counts)
                _between_adjoint(chart, adjoint, head, modifier, i + 1, j + 1)
    for h in range(first, n_tokens + 1):
        for direction in range(LEFT if h > 0 else RIGHT, RIGHT + 1):
            _close_adjoint(chart, adjoint, operators, sentence, h, h + direction, counts)
            if counts.A.size:
                start = chart.complete.values[h, h + direction, 0]
                for q in range(start.size):
                    use = times(start[q], adjoint.complete[h, h + direction, 0, q])
                    counts.alpha_1[sentence.codes[h], direction, q] += use


@inner_kernel
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


@inner_table_kernel
def _single_root_adjoint(chart, adjoint, operators, sentence, z, z_exponent, counts):
    """Differentiate log Z by the root's attachment and the two halves beside it (eq. 24)."""
    end, root = sentence.codes.size, sentence.codes[0]
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
            use = times_power(operators.alpha_inf[root, RIGHT, q], stop, -excess)
            adjoint.incomplete[0, m, q] = use
            if counts.A.size:
                counts.alpha_inf[root, RIGHT, q] += times(chart.incomplete.values[0, m, q], use)
        _emit_adjoint(chart, adjoint, operators, sentence, np.int64(0), m, counts)
        if counts.A.size:
            for q in range(chart.sum.size):
                counts.alpha_1[root, RIGHT, q] += times(chart.sum[q], adjoint.sum[q])


@inner_table_kernel
def _close_adjoint(chart, adjoint, operators, sentence, head, boundary, counts):
    # dS[h, b] = dclosed[h, b] alpha_inf
    # dC_j[h, b] += stop(h, j) dS[h, b],  dstop(h, j) += dS[h, b] . C_j[h, b]          (eq. 19)
    code, direction = sentence.codes[head], RIGHT if boundary > head else LEFT
    adjoint.closed[head, boundary] += adjoint.closed_by_boundary[boundary, head]
    terms = stopping(chart, sentence, head, boundary)
    exponent = sum_up(terms, chart.sum)
    # What was divided out of closed[h, b] beyond the scale of S[h, b] comes back here.
    excess = chart.closed.exponent[head, boundary] - exponent
    excess -= operators.exponents.alpha_inf[code, direction]
    for q in range(chart.sum.size):
        stop = operators.alpha_inf[code, direction, q]
        adjoint.sum[q] = times_power(stop, adjoint.closed[head, boundary], -excess)
        if counts.A.size:
            counts.alpha_inf[code, direction, q] += times(chart.sum[q], adjoint.sum[q])
    d_stops, d_complete = adjoint.stop_scores[head, direction], adjoint.complete[head, boundary]
    _sum_up_adjoint(terms, exponent, adjoint.sum, d_stops, d_complete)


@inner_table_kernel
def _emit_adjoint(chart, adjoint, operators, sentence, head, modifier, counts):
    # dg[h, m] = A[h, m]^T dI[h, m]
    # dg_j[h, m] = score(h, m, j) dg[h, m],  dscore(h, m, j) = dg[h, m] . g_j[h, m]    (eq. 21)
    direction = RIGHT if modifier > head else LEFT
    code, symbol = sentence.codes[head], sentence.codes[modifier]
    matrix = operators.A[code, direction, symbol]
    terms = emitting(chart, sentence, head, modifier)
    exponent = sum_up(terms, chart.sum)
    excess = chart.incomplete.exponent[head, modifier] - exponent
    excess -= operators.exponents.A[code, direction, symbol]
    for j in range(chart.sum.size):
        adjoint.sum[j] = 0.0
        for i in range(chart.sum.size):
            move = times_power(matrix[i, j], adjoint.incomplete[head, modifier, i], -excess)
            adjoint.sum[j] += move
            if counts.A.size:
                counts.A[code, direction, symbol, i, j] += times(chart.sum[j], move)
    d_scores, d_awaiting = adjoint.arc_scores[head, modifier], adjoint.awaiting[head, modifier]
    _sum_up_adjoint(terms, exponent, adjoint.sum, d_scores, d_awaiting)


@inner_table_kernel
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


@inner_table_kernel
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
