"""The inside-outside chart of a split head-automata grammar (theory, eqs. 14-24).

One sentence with positions 0..N; position 0 is the root symbol. A half-constituent is addressed by
its head and by the boundary where it ends: boundary b lies left of token b, so the right half of
head i that covers i..j is ``[i, j + 1]`` and the left half of head j that covers i..j is
``[j, i]``. Both directions thus share one table and one recurrence:

- ``complete[h, b]``, vector C: the automaton of h has emitted every modifier up to b;
- ``closed[h, b]``, scalar r or l: the same after STOP;
- ``awaiting[h, m]``, vector g: everything between h and m is built, m is not yet emitted;
- ``incomplete[h, m]``, vector I: m has just been emitted.

Spectral operators are signed, so the chart works in plain reals, not logarithms. A value is
its table entry times ``BASE ** exponent``; exponents are kept per entry, are 0 in sentences of
ordinary length, and let products of thousands of probabilities neither vanish nor overflow.

The outside pass is the reverse derivative of log Z, line by line; every adjoint carries the inverse
scale of its variable, so that adjoint times variable is a posterior expectation as it stands.
"""

from typing import NamedTuple

import numpy as np

from sklearn_shag.utils._kernel import kernel

LEFT, RIGHT = 0, 1

LOG2_BASE = 256
# Entries are renormalised when they leave [1/sqrt(BASE), sqrt(BASE)], so that a product of
# three of them still fits a double.
LARGEST = 2.0 ** (LOG2_BASE // 2)
SMALLEST = 2.0 ** (-LOG2_BASE // 2)
# The exponent of an empty sum: below that of every other entry.
ZERO_EXPONENT = -(2**24)


class Chart(NamedTuple):
    """Inside values of one sentence of N tokens under automata with n states."""

    complete: np.ndarray  # (N + 1, N + 2, n)
    complete_exponent: np.ndarray  # (N + 1, N + 2), shared by `closed`
    closed: np.ndarray  # (N + 1, N + 2)
    closed_by_boundary: np.ndarray  # (N + 2, N + 1), the transpose: sums run along rows
    exponent_by_boundary: np.ndarray  # (N + 2, N + 1), the transpose
    awaiting: np.ndarray  # (N + 1, N + 1, n)
    incomplete: np.ndarray  # (N + 1, N + 1, n)
    incomplete_exponent: np.ndarray  # (N + 1, N + 1), shared by `awaiting`


class Outside(NamedTuple):
    """Derivatives of log Z by the entries of the chart."""

    complete: np.ndarray  # (N + 1, N + 2, n)
    incomplete: np.ndarray  # (N + 1, N + 1, n)
    closed: np.ndarray  # (N + 1, N + 2)


@kernel
def _power(exponent):
    """BASE ** exponent."""
    return 1.0 if exponent == 0 else 2.0 ** (float(LOG2_BASE) * exponent)


@kernel
def _weighted_sum(weights, weight_exponents, vectors, vector_exponents, out):
    """Set out = sum_k weights[k] vectors[k] and return its exponent."""
    exponent = ZERO_EXPONENT
    for k in range(weights.size):
        if weights[k] != 0.0:
            exponent = max(exponent, weight_exponents[k] + vector_exponents[k])
    n_states = out.size
    out[:] = 0.0
    if exponent <= ZERO_EXPONENT:
        return ZERO_EXPONENT
    for k in range(weights.size):
        if weights[k] != 0.0:
            weight = weights[k] * _power(weight_exponents[k] + vector_exponents[k] - exponent)
            for q in range(n_states):
                out[q] += weight * vectors[k, q]
    largest = 0.0
    for q in range(n_states):
        largest = max(largest, abs(out[q]))
    # A sum that cancels keeps the exponent of its terms: its derivatives need not vanish.
    while largest > LARGEST or 0.0 < largest < SMALLEST:
        shift = 1 if largest > LARGEST else -1
        for q in range(n_states):
            out[q] *= _power(-shift)
        largest *= _power(-shift)
        exponent += shift
    return exponent


@kernel
def _weighted_sum_adjoint(
    weights,
    weight_exponents,
    vectors,
    vector_exponents,
    out_exponent,
    out_adjoint,
    weight_adjoints,
    vector_adjoints,
):
    """Add what `out_adjoint` contributes to the adjoints of the terms of a weighted sum."""
    for k in range(weights.size):
        scale = _power(weight_exponents[k] + vector_exponents[k] - out_exponent)
        # A weight of zero had no say in `out_exponent`, so its scale may be beyond any bound. Such
        # an entry is zero because STOP has no mass there, and then its adjoint leads nowhere.
        if scale == 0.0 or (weights[k] == 0.0 and scale > LARGEST):
            continue
        weight = scale * weights[k]
        product = 0.0
        for q in range(out_adjoint.size):
            vector_adjoints[k, q] += weight * out_adjoint[q]
            product += out_adjoint[q] * vectors[k, q]
        weight_adjoints[k] += scale * product


@kernel
def _dot(left, right):
    total = 0.0
    for q in range(left.size):
        total += left[q] * right[q]
    return total


@kernel
def _apply(factor, matrix, vector, out):
    """Set out = factor * matrix @ vector."""
    for i in range(out.size):
        out[i] = factor * _dot(matrix[i], vector)


@kernel
def _apply_transposed(factor, matrix, vector, out):
    """Set out = factor * matrix.T @ vector."""
    out[:] = 0.0
    for i in range(vector.size):
        scaled = factor * vector[i]
        for j in range(out.size):
            out[j] += scaled * matrix[i, j]


@kernel
def _close(chart, head, boundary, exponent, stop_vector, stop_score):
    # closed[h, b] = stop(h) alpha_inf . C[h, b]                                       (eq. 14)
    value = stop_score * _dot(stop_vector, chart.complete[head, boundary])
    chart.closed[head, boundary] = value
    chart.closed_by_boundary[boundary, head] = value
    chart.complete_exponent[head, boundary] = exponent
    chart.exponent_by_boundary[boundary, head] = exponent


@kernel
def _attach(chart, head, modifier, low, high, matrix, score):
    # g[h, m] = sum_b C[h, b] closed[m, b]       over the boundaries between h and m   (eq. 16)
    exponent = _weighted_sum(
        chart.closed[modifier, low:high],
        chart.complete_exponent[modifier, low:high],
        chart.complete[head, low:high],
        chart.complete_exponent[head, low:high],
        chart.awaiting[head, modifier],
    )
    # I[h, m] = score(h, m) A[h, m] g[h, m]                                            (eq. 17)
    _apply(score, matrix, chart.awaiting[head, modifier], chart.incomplete[head, modifier])
    chart.incomplete_exponent[head, modifier] = exponent


@kernel
def _complete(chart, head, boundary, low, high, stop_vector, stop_score):
    # C[h, b] = sum_m I[h, m] closed[m, b]      over the outermost modifier m of h     (eq. 18)
    exponent = _weighted_sum(
        chart.closed_by_boundary[boundary, low:high],
        chart.exponent_by_boundary[boundary, low:high],
        chart.incomplete[head, low:high],
        chart.incomplete_exponent[head, low:high],
        chart.complete[head, boundary],
    )
    _close(chart, head, boundary, exponent, stop_vector, stop_score)


@kernel
def new_chart(n_tokens, n_states):
    """Allocate the chart of one sentence, every entry zero."""
    n = n_tokens + 1
    return Chart(
        complete=np.zeros((n, n + 1, n_states)),
        complete_exponent=np.full((n, n + 1), ZERO_EXPONENT, dtype=np.int32),
        closed=np.zeros((n, n + 1)),
        closed_by_boundary=np.zeros((n + 1, n)),
        exponent_by_boundary=np.full((n + 1, n), ZERO_EXPONENT, dtype=np.int32),
        awaiting=np.zeros((n, n, n_states)),
        incomplete=np.zeros((n, n, n_states)),
        incomplete_exponent=np.full((n, n), ZERO_EXPONENT, dtype=np.int32),
    )


@kernel
def inside(operators, codes, arc_scores, stop_scores, single_root):
    """Fill the chart of one sentence (eqs. 14-18, 23).

    Parameters
    ----------
    operators : Operators
        Of a grammar: `alpha_1` and `alpha_inf` (n_heads, 2, n), `A` (n_heads, 2, n_symbols, n, n).
    codes : int array of shape (N + 1,)
        Symbol codes; ``codes[0]`` is the code of the root symbol.
    arc_scores : array of shape (N + 1, N + 1)
        A factor for every head (row) and modifier (column) position.
    stop_scores : array of shape (N + 1, 2)
        A factor for the end of the sequence of every head position and direction.
    single_root : bool
        Whether the root symbol takes exactly one modifier whatever its automaton says.

    Returns
    -------
    chart : Chart
    z : float
        Z is ``z * BASE ** exponent``.
    exponent : int
    """
    n_tokens = codes.size - 1
    chart = new_chart(n_tokens, operators.alpha_1.shape[2])
    first = 1 if single_root else 0
    for h in range(first, n_tokens + 1):
        # C[h, h] = C[h, h + 1] = alpha_1                                              (eq. 15)
        for direction in range(LEFT if h > 0 else RIGHT, RIGHT + 1):
            chart.complete[h, h + direction] = operators.alpha_1[codes[h], direction]
            stop_vector = operators.alpha_inf[codes[h], direction]
            _close(chart, h, h + direction, 0, stop_vector, stop_scores[h, direction])
    for width in range(1, n_tokens + 1):
        for i in range(first, n_tokens + 1 - width):
            j = i + width
            matrix = operators.A[codes[i], RIGHT, codes[j]]
            _attach(chart, i, j, i + 1, j + 1, matrix, arc_scores[i, j])
            stop_vector = operators.alpha_inf[codes[i], RIGHT]
            _complete(chart, i, j + 1, i + 1, j + 1, stop_vector, stop_scores[i, RIGHT])
            if i > 0:
                matrix = operators.A[codes[j], LEFT, codes[i]]
                _attach(chart, j, i, i + 1, j + 1, matrix, arc_scores[j, i])
                stop_vector = operators.alpha_inf[codes[j], LEFT]
                _complete(chart, j, i, i, j, stop_vector, stop_scores[j, LEFT])
    if single_root:
        return _single_root(chart, operators, codes, arc_scores, stop_scores)
    return chart, chart.closed[0, n_tokens + 1], chart.complete_exponent[0, n_tokens + 1]


@kernel
def _single_root(chart, operators, codes, arc_scores, stop_scores):
    """Z = sum_m w(m) closed[m, 1] closed[m, N + 1], one root m (eq. 23)."""
    n_tokens = codes.size - 1
    weights = np.empty(n_tokens)
    for m in range(1, n_tokens + 1):
        chart.awaiting[0, m] = operators.alpha_1[codes[0], RIGHT]
        matrix = operators.A[codes[0], RIGHT, codes[m]]
        _apply(arc_scores[0, m], matrix, chart.awaiting[0, m], chart.incomplete[0, m])
        chart.incomplete_exponent[0, m] = 0
        stop = _dot(operators.alpha_inf[codes[0], RIGHT], chart.incomplete[0, m])
        weights[m - 1] = stop_scores[0, RIGHT] * stop * chart.closed[m, 1]
    z = np.empty(1)
    exponent = _weighted_sum(
        weights,
        chart.exponent_by_boundary[1, 1:],
        chart.closed_by_boundary[n_tokens + 1, 1:].reshape(n_tokens, 1),
        chart.exponent_by_boundary[n_tokens + 1, 1:],
        z,
    )
    return chart, z[0], exponent


@kernel
def outside(operators, codes, arc_scores, stop_scores, single_root, chart, z, z_exponent):
    """Differentiate log Z by every entry of the chart (eqs. 19-22, 24).

    `chart`, `z` and `z_exponent` are what :func:`inside` returned for the other arguments; z must
    be finite and not zero.

    Returns
    -------
    outside : Outside
    """
    n_tokens = codes.size - 1
    shape = chart.complete.shape
    adjoint = Outside(np.zeros(shape), np.zeros(chart.incomplete.shape), np.zeros(shape[:2]))
    # Adjoints of the weights of `_complete` arrive by boundary: a second, transposed table
    # keeps their sums along rows too; `_close_adjoint` adds the two.
    closed_by_boundary = np.zeros((n_tokens + 2, n_tokens + 1))
    if single_root:
        _single_root_adjoint(
            chart, operators, codes, stop_scores, z, z_exponent, adjoint, closed_by_boundary
        )
    else:
        adjoint.closed[0, n_tokens + 1] = 1.0 / z
    awaiting = np.empty(shape[2])
    first = 1 if single_root else 0
    for width in range(n_tokens, 0, -1):
        for i in range(first, n_tokens + 1 - width):
            j = i + width
            stop_vector = operators.alpha_inf[codes[i], RIGHT]
            stop = stop_scores[i, RIGHT]
            _close_adjoint(adjoint, closed_by_boundary, i, j + 1, stop_vector, stop)
            _complete_adjoint(chart, adjoint, closed_by_boundary, i, j + 1, i + 1, j + 1)
            matrix = operators.A[codes[i], RIGHT, codes[j]]
            _apply_transposed(arc_scores[i, j], matrix, adjoint.incomplete[i, j], awaiting)
            _attach_adjoint(chart, adjoint, i, j, i + 1, j + 1, awaiting)
            if i > 0:
                stop_vector = operators.alpha_inf[codes[j], LEFT]
                stop = stop_scores[j, LEFT]
                _close_adjoint(adjoint, closed_by_boundary, j, i, stop_vector, stop)
                _complete_adjoint(chart, adjoint, closed_by_boundary, j, i, i, j)
                matrix = operators.A[codes[j], LEFT, codes[i]]
                _apply_transposed(arc_scores[j, i], matrix, adjoint.incomplete[j, i], awaiting)
                _attach_adjoint(chart, adjoint, j, i, i + 1, j + 1, awaiting)
    for h in range(first, n_tokens + 1):
        for direction in range(LEFT if h > 0 else RIGHT, RIGHT + 1):
            stop_vector = operators.alpha_inf[codes[h], direction]
            stop = stop_scores[h, direction]
            _close_adjoint(adjoint, closed_by_boundary, h, h + direction, stop_vector, stop)
    return adjoint


@kernel
def _single_root_adjoint(
    chart, operators, codes, stop_scores, z, z_exponent, adjoint, closed_by_boundary
):
    """Differentiate log Z by the root's attachment and the two halves beside it (eq. 24)."""
    n_tokens = codes.size - 1
    stop_vector = operators.alpha_inf[codes[0], RIGHT]
    for m in range(1, n_tokens + 1):
        exponent = chart.complete_exponent[m, 1] + chart.complete_exponent[m, n_tokens + 1]
        scale = stop_scores[0, RIGHT] * _power(exponent - z_exponent) / z
        left, right = chart.closed[m, 1], chart.closed[m, n_tokens + 1]
        weight = _dot(stop_vector, chart.incomplete[0, m])
        for q in range(stop_vector.size):
            adjoint.incomplete[0, m, q] = scale * left * right * stop_vector[q]
        closed_by_boundary[1, m] += scale * weight * right
        closed_by_boundary[n_tokens + 1, m] += scale * weight * left


@kernel
def _close_adjoint(adjoint, closed_by_boundary, head, boundary, stop_vector, stop_score):
    # dC[h, b] += dclosed[h, b] stop(h) alpha_inf                                      (eq. 19)
    adjoint.closed[head, boundary] += closed_by_boundary[boundary, head]
    weight = adjoint.closed[head, boundary] * stop_score
    for q in range(stop_vector.size):
        adjoint.complete[head, boundary, q] += weight * stop_vector[q]


@kernel
def _complete_adjoint(chart, adjoint, closed_by_boundary, head, boundary, low, high):
    # dI[h, m] += closed[m, b] dC[h, b];   dclosed[m, b] += dC[h, b] . I[h, m]         (eq. 20)
    _weighted_sum_adjoint(
        chart.closed_by_boundary[boundary, low:high],
        chart.exponent_by_boundary[boundary, low:high],
        chart.incomplete[head, low:high],
        chart.incomplete_exponent[head, low:high],
        chart.complete_exponent[head, boundary],
        adjoint.complete[head, boundary],
        closed_by_boundary[boundary, low:high],
        adjoint.incomplete[head, low:high],
    )


@kernel
def _attach_adjoint(chart, adjoint, head, modifier, low, high, awaiting_adjoint):
    # dg = score A^T dI  (made by the caller)                                          (eq. 21)
    # dC[h, b] += closed[m, b] dg[h, m];   dclosed[m, b] += dg[h, m] . C[h, b]         (eq. 22)
    _weighted_sum_adjoint(
        chart.closed[modifier, low:high],
        chart.complete_exponent[modifier, low:high],
        chart.complete[head, low:high],
        chart.complete_exponent[head, low:high],
        chart.incomplete_exponent[head, modifier],
        awaiting_adjoint,
        adjoint.closed[modifier, low:high],
        adjoint.complete[head, low:high],
    )


@kernel
def arc_marginals(chart, adjoint, out):
    """Set out[m - 1, h] = dI[h, m] . I[h, m], the posterior of the arc h -> m (eq. 25)."""
    n_tokens = out.shape[0]
    for m in range(1, n_tokens + 1):
        for h in range(n_tokens + 1):
            out[m - 1, h] = _dot(adjoint.incomplete[h, m], chart.incomplete[h, m])


@kernel
def add_expected_counts(
    operators, codes, arc_scores, stop_scores, single_root, chart, adjoint, counts
):
    """Add the expected uses of every operator entry in one sentence to `counts` (eq. 26).

    `counts` is an Operators of the shape of `operators`.
    """
    n_tokens = codes.size - 1
    n_states = operators.alpha_1.shape[2]
    for h in range(n_tokens + 1):
        # The root emits left of nothing; with a single root its uses follow its one modifier.
        for direction in range(LEFT if h > 0 else RIGHT, RIGHT + 1):
            if h == 0 and single_root:
                continue
            start = operators.alpha_1[codes[h], direction]
            stop = operators.alpha_inf[codes[h], direction]
            for q in range(n_states):
                use = adjoint.complete[h, h + direction, q] * start[q]
                counts.alpha_1[codes[h], direction, q] += use
            low, high = (0, h + 1) if direction == LEFT else (h + 1, n_tokens + 2)
            for b in range(low, high):
                weight = adjoint.closed[h, b] * stop_scores[h, direction]
                for q in range(n_states):
                    use = weight * stop[q] * chart.complete[h, b, q]
                    counts.alpha_inf[codes[h], direction, q] += use
        for m in range(1, n_tokens + 1):
            if m == h:
                continue
            direction = LEFT if m < h else RIGHT
            matrix = operators.A[codes[h], direction, codes[m]]
            for i in range(n_states):
                after = adjoint.incomplete[h, m, i] * arc_scores[h, m]
                for j in range(n_states):
                    use = after * matrix[i, j] * chart.awaiting[h, m, j]
                    counts.A[codes[h], direction, codes[m], i, j] += use
                    if h == 0 and single_root:
                        counts.alpha_1[codes[0], RIGHT, j] += use
                        counts.alpha_inf[codes[0], RIGHT, i] += use
