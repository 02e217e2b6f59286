"""The scaled chart: inside-outside with an exponent for every entry (theory, eqs. 14-26).

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

from sklearn_shag.sequences import LEFT, RIGHT
from sklearn_shag.utils._kernel import kernel

LOG2_BASE = 256
# Entries are renormalised when they leave [1/sqrt(BASE), sqrt(BASE)]: a product of three of them,
# or of two and an operator or score of up to 1e200, still fits a double.
LARGEST_NORMALISED = 2.0 ** (LOG2_BASE // 2)
SMALLEST_NORMALISED = 2.0 ** (-LOG2_BASE // 2)
BASE = 2.0**LOG2_BASE
# The exponent of an empty sum: below that of every other entry.
ZERO_EXPONENT = -(2**24)
# By how much a term that is not zero can exceed a sum: terms cancel to 1e-16 of their size at best.
MAX_SHIFT = 2


class Table(NamedTuple):
    """Values in units of ``BASE ** exponent``: numbers, or vectors with one exponent each."""

    values: np.ndarray  # (rows, columns) or (rows, columns, n)
    exponent: np.ndarray  # (rows, columns)


class Chart(NamedTuple):
    """Inside values of one sentence of N tokens under automata with n states."""

    complete: Table  # values (N + 1, N + 2, n)
    closed: Table  # values (N + 1, N + 2)
    closed_by_boundary: Table  # the transpose, (N + 2, N + 1): sums run along rows
    awaiting: Table  # values (N + 1, N + 1, n)
    incomplete: Table  # values (N + 1, N + 1, n)


class Outside(NamedTuple):
    """Derivatives of log Z by the entries of the chart."""

    complete: np.ndarray  # (N + 1, N + 2, n)
    closed: np.ndarray  # (N + 1, N + 2)
    closed_by_boundary: np.ndarray  # (N + 2, N + 1), to be added to `closed`
    awaiting: np.ndarray  # (N + 1, N + 1, n)
    incomplete: np.ndarray  # (N + 1, N + 1, n)


class WeightedSum(NamedTuple):
    """The tables of out[head, column] = sum_k weights[column, k] vectors[head, k], or adjoints."""

    weights: Table | np.ndarray
    vectors: Table | np.ndarray
    out: Table | np.ndarray


@kernel
def _power(exponent):
    """BASE ** exponent."""
    return 1.0 if exponent == 0 else 2.0 ** (float(LOG2_BASE) * exponent)


@kernel
def _excess(size):
    """How often `size` must be divided by BASE to be normalised; 0 if it is 0."""
    excess = 0
    while LARGEST_NORMALISED < size < np.inf:
        size /= BASE
        excess += 1
    while 0.0 < size < SMALLEST_NORMALISED:
        size *= BASE
        excess -= 1
    return excess


@kernel
def _divide(value, times):
    """Divide by BASE so many times, in steps that cannot overflow."""
    for _ in range(times):
        value /= BASE
    for _ in range(-times):
        value *= BASE
    return value


@kernel
def _sum_up(tables, head, column, low, high):
    """Set a weighted sum to its terms low <= k < high."""
    weights, vectors, out = tables
    # Only terms that are not zero may set the scale of a sum: beside the scale of another they
    # could vanish. A sum of zeros has that of its terms, since its derivatives need not vanish.
    exponent, exponent_of_zeros = ZERO_EXPONENT, ZERO_EXPONENT
    for k in range(low, high):
        term_exponent = weights.exponent[column, k] + vectors.exponent[head, k]
        if weights.values[column, k] != 0.0 and _any(vectors.values, head, k):
            exponent = max(exponent, term_exponent)
        else:
            exponent_of_zeros = max(exponent_of_zeros, term_exponent)
    if exponent == ZERO_EXPONENT:
        out.exponent[head, column] = exponent_of_zeros
        return
    for k in range(low, high):
        weight = weights.values[column, k]
        if weight != 0.0 and _any(vectors.values, head, k):
            term_exponent = weights.exponent[column, k] + vectors.exponent[head, k]
            weight *= _power(term_exponent - exponent)
            for q in range(out.values.shape[2]):
                out.values[head, column, q] += weight * vectors.values[head, k, q]
    largest = 0.0
    for q in range(out.values.shape[2]):
        largest = max(largest, abs(out.values[head, column, q]))
    excess = _excess(largest)
    out.exponent[head, column] = exponent + excess
    if excess != 0:
        for q in range(out.values.shape[2]):
            out.values[head, column, q] = _divide(out.values[head, column, q], excess)


@kernel
def _any(values, row, column):
    for q in range(values.shape[2]):  # noqa: SIM110 (compiled: no generators)
        if values[row, column, q] != 0.0:
            return True
    return False


@kernel
def _sum_up_adjoint(tables, adjoints, head, column, low, high):
    """Add what the adjoint of a weighted sum contributes to the adjoints of its terms."""
    weights, vectors, out = tables
    weight_adjoint, vector_adjoint, out_adjoint = adjoints
    for k in range(low, high):
        term_exponent = weights.exponent[column, k] + vectors.exponent[head, k]
        shift = term_exponent - out.exponent[head, column]
        # The scale of a term that is zero, here because something is impossible, has no bound.
        if shift > MAX_SHIFT:
            continue
        scale = _power(shift)
        weight = scale * weights.values[column, k]
        product = 0.0
        for q in range(out_adjoint.shape[2]):
            adjoint = out_adjoint[head, column, q]
            vector_adjoint[head, k, q] += weight * adjoint
            product += adjoint * vectors.values[head, k, q]
        weight_adjoint[column, k] += scale * product


@kernel
def _close(chart, operators, codes, stop_scores, head, boundary):
    # closed[h, b] = stop(h) alpha_inf . C[h, b]                                       (eq. 14)
    direction = RIGHT if boundary > head else LEFT
    value = 0.0
    for q in range(chart.complete.values.shape[2]):
        stop = operators.alpha_inf[codes[head], direction, q]
        value += stop * chart.complete.values[head, boundary, q]
    value *= stop_scores[head, direction]
    excess = _excess(abs(value))
    value = _divide(value, excess)
    exponent = chart.complete.exponent[head, boundary] + excess
    chart.closed.values[head, boundary] = value
    chart.closed.exponent[head, boundary] = exponent
    chart.closed_by_boundary.values[boundary, head] = value
    chart.closed_by_boundary.exponent[boundary, head] = exponent


@kernel
def _emit(chart, operators, codes, arc_scores, head, modifier):
    # I[h, m] = score(h, m) A[h, m] g[h, m]                                            (eq. 17)
    direction = RIGHT if modifier > head else LEFT
    n_states = chart.awaiting.values.shape[2]
    for i in range(n_states):
        value = 0.0
        for j in range(n_states):
            transition = operators.A[codes[head], direction, codes[modifier], i, j]
            value += transition * chart.awaiting.values[head, modifier, j]
        chart.incomplete.values[head, modifier, i] = arc_scores[head, modifier] * value
    chart.incomplete.exponent[head, modifier] = chart.awaiting.exponent[head, modifier]


@kernel
def _new_table(rows, columns, n_states):
    return Table(
        np.zeros((rows, columns, n_states)), np.full((rows, columns), ZERO_EXPONENT, np.int32)
    )


@kernel
def _new_chart(n_tokens, n_states):
    """Allocate the chart of one sentence, every entry zero."""
    n = n_tokens + 1
    return Chart(
        complete=_new_table(n, n + 1, n_states),
        closed=Table(np.zeros((n, n + 1)), np.full((n, n + 1), ZERO_EXPONENT, np.int32)),
        closed_by_boundary=Table(
            np.zeros((n + 1, n)), np.full((n + 1, n), ZERO_EXPONENT, np.int32)
        ),
        awaiting=_new_table(n, n, n_states),
        incomplete=_new_table(n, n, n_states),
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
    chart = _new_chart(n_tokens, operators.alpha_1.shape[2])
    awaiting, complete = _sums(chart)
    first = 1 if single_root else 0
    for h in range(first, n_tokens + 1):
        # C[h, h] = C[h, h + 1] = alpha_1                                              (eq. 15)
        for direction in range(LEFT if h > 0 else RIGHT, RIGHT + 1):
            for q in range(chart.complete.values.shape[2]):
                chart.complete.values[h, h + direction, q] = operators.alpha_1[
                    codes[h], direction, q
                ]
            chart.complete.exponent[h, h + direction] = 0
            _close(chart, operators, codes, stop_scores, h, h + direction)
    for width in range(1, n_tokens + 1):
        for i in range(first, n_tokens + 1 - width):
            j = i + width
            for direction in range(LEFT if i > 0 else RIGHT, RIGHT + 1):
                head, modifier, boundary, low = _ends(i, j, direction)
                # g[h, m] = sum_b closed[m, b] C[h, b]    over boundaries between them (eq. 16)
                _sum_up(awaiting, head, modifier, i + 1, j + 1)
                _emit(chart, operators, codes, arc_scores, head, modifier)
                # C[h, b] = sum_m closed[m, b] I[h, m]     over the outermost modifier (eq. 18)
                _sum_up(complete, head, boundary, low, low + width)
                _close(chart, operators, codes, stop_scores, head, boundary)
    if single_root:
        return _single_root(chart, operators, codes, arc_scores, stop_scores)
    z, exponent = chart.closed.values[0, n_tokens + 1], chart.closed.exponent[0, n_tokens + 1]
    return chart, z, np.int64(exponent)


@kernel
def _sums(tables):
    """Return the sums that a chart, or what is outside of it, consists of (eqs. 16 and 18)."""
    return (
        WeightedSum(tables.closed, tables.complete, tables.awaiting),
        WeightedSum(tables.closed_by_boundary, tables.incomplete, tables.complete),
    )


@kernel
def _ends(i, j, direction):
    """Head, modifier, far boundary and first possible modifier of the half that covers i..j."""
    if direction == RIGHT:
        return i, j, j + 1, i + 1
    return j, i, i, i


@kernel
def _single_root(chart, operators, codes, arc_scores, stop_scores):
    """Z = sum_m w(m) closed[m, 1] closed[m, N + 1], one root m (eq. 23)."""
    n_tokens, root = codes.size - 1, np.int64(0)
    weights = np.zeros(n_tokens + 1)
    z_exponent = ZERO_EXPONENT
    for m in range(1, n_tokens + 1):
        for q in range(chart.awaiting.values.shape[2]):
            chart.awaiting.values[0, m, q] = operators.alpha_1[codes[0], RIGHT, q]
        chart.awaiting.exponent[0, m] = 0
        _emit(chart, operators, codes, arc_scores, root, m)
        for q in range(chart.complete.values.shape[2]):
            stop = stop_scores[0, RIGHT] * operators.alpha_inf[codes[0], RIGHT, q]
            weights[m] += stop * chart.incomplete.values[0, m, q]
        exponent = chart.closed.exponent[m, 1] + chart.closed.exponent[m, n_tokens + 1]
        if weights[m] * chart.closed.values[m, 1] * chart.closed.values[m, n_tokens + 1] != 0.0:
            z_exponent = max(z_exponent, exponent)
    z = 0.0
    for m in range(1, n_tokens + 1):
        exponent = chart.closed.exponent[m, 1] + chart.closed.exponent[m, n_tokens + 1]
        product = chart.closed.values[m, 1] * chart.closed.values[m, n_tokens + 1]
        if weights[m] * product != 0.0:
            z += _power(exponent - z_exponent) * weights[m] * product
    return chart, z, np.int64(z_exponent)


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
    adjoint = Outside(
        np.zeros(chart.complete.values.shape),
        np.zeros(chart.closed.values.shape),
        np.zeros(chart.closed_by_boundary.values.shape),
        np.zeros(chart.awaiting.values.shape),
        np.zeros(chart.incomplete.values.shape),
    )
    if single_root:
        _single_root_adjoint(chart, operators, codes, stop_scores, z, z_exponent, adjoint)
    else:
        adjoint.closed[0, n_tokens + 1] = 1.0 / z
    awaiting, complete = _sums(chart)
    d_awaiting, d_complete = _sums(adjoint)
    first = 1 if single_root else 0
    for width in range(n_tokens, 0, -1):
        for i in range(first, n_tokens + 1 - width):
            j = i + width
            for direction in range(LEFT if i > 0 else RIGHT, RIGHT + 1):
                head, modifier, boundary, low = _ends(i, j, direction)
                _close_adjoint(chart, adjoint, operators, codes, stop_scores, head, boundary)
                # dI[h, m] += closed[m, b] dC[h, b]
                # dclosed[m, b] += dC[h, b] . I[h, m]                                  (eq. 20)
                _sum_up_adjoint(complete, d_complete, head, boundary, low, low + width)
                _emit_adjoint(adjoint, operators, codes, arc_scores, head, modifier)
                # dC[h, b] += closed[m, b] dg[h, m]
                # dclosed[m, b] += dg[h, m] . C[h, b]                                  (eq. 22)
                _sum_up_adjoint(awaiting, d_awaiting, head, modifier, i + 1, j + 1)
    for h in range(first, n_tokens + 1):
        for direction in range(LEFT if h > 0 else RIGHT, RIGHT + 1):
            _close_adjoint(chart, adjoint, operators, codes, stop_scores, h, h + direction)
    return adjoint


@kernel
def _single_root_adjoint(chart, operators, codes, stop_scores, z, z_exponent, adjoint):
    """Differentiate log Z by the root's attachment and the two halves beside it (eq. 24)."""
    n_tokens = codes.size - 1
    for m in range(1, n_tokens + 1):
        left, right = chart.closed.values[m, 1], chart.closed.values[m, n_tokens + 1]
        exponent = chart.closed.exponent[m, 1] + chart.closed.exponent[m, n_tokens + 1]
        if exponent - z_exponent > MAX_SHIFT:  # as in `_sum_up_adjoint`
            continue
        scale = _power(exponent - z_exponent) / z
        weight = 0.0
        for q in range(chart.incomplete.values.shape[2]):
            stop = stop_scores[0, RIGHT] * operators.alpha_inf[codes[0], RIGHT, q]
            adjoint.incomplete[0, m, q] = scale * left * right * stop
            weight += stop * chart.incomplete.values[0, m, q]
        adjoint.closed[m, 1] += scale * weight * right
        adjoint.closed[m, n_tokens + 1] += scale * weight * left


@kernel
def _close_adjoint(chart, adjoint, operators, codes, stop_scores, head, boundary):
    # dC[h, b] += dclosed[h, b] stop(h) alpha_inf                                      (eq. 19)
    direction = RIGHT if boundary > head else LEFT
    adjoint.closed[head, boundary] += adjoint.closed_by_boundary[boundary, head]
    # What was divided out of closed[h, b] beyond the scale of C[h, b] comes back here.
    excess = chart.closed.exponent[head, boundary] - chart.complete.exponent[head, boundary]
    weight = _divide(adjoint.closed[head, boundary] * stop_scores[head, direction], excess)
    for q in range(adjoint.complete.shape[2]):
        stop = operators.alpha_inf[codes[head], direction, q]
        adjoint.complete[head, boundary, q] += weight * stop


@kernel
def _emit_adjoint(adjoint, operators, codes, arc_scores, head, modifier):
    # dg[h, m] = score(h, m) A[h, m]^T dI[h, m]                                        (eq. 21)
    direction = RIGHT if modifier > head else LEFT
    n_states = adjoint.awaiting.shape[2]
    for i in range(n_states):
        scaled = arc_scores[head, modifier] * adjoint.incomplete[head, modifier, i]
        for j in range(n_states):
            transition = operators.A[codes[head], direction, codes[modifier], i, j]
            adjoint.awaiting[head, modifier, j] += scaled * transition


@kernel
def arc_marginals(chart, adjoint, out):
    """Set out[m - 1, h] = dI[h, m] . I[h, m], the posterior of the arc h -> m (eq. 25)."""
    n_tokens = out.shape[0]
    for m in range(1, n_tokens + 1):
        for h in range(n_tokens + 1):
            total = 0.0
            for q in range(chart.incomplete.values.shape[2]):
                total += adjoint.incomplete[h, m, q] * chart.incomplete.values[h, m, q]
            out[m - 1, h] = total


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
                excess = chart.closed.exponent[h, b] - chart.complete.exponent[h, b]
                weight = _divide(adjoint.closed[h, b] * stop_scores[h, direction], excess)
                for q in range(n_states):
                    use = weight * stop[q] * chart.complete.values[h, b, q]
                    counts.alpha_inf[codes[h], direction, q] += use
        for m in range(1, n_tokens + 1):
            if m == h:
                continue
            direction = LEFT if m < h else RIGHT
            matrix = operators.A[codes[h], direction, codes[m]]
            for i in range(n_states):
                after = adjoint.incomplete[h, m, i] * arc_scores[h, m]
                for j in range(n_states):
                    use = after * matrix[i, j] * chart.awaiting.values[h, m, j]
                    counts.A[codes[h], direction, codes[m], i, j] += use
                    if h == 0 and single_root:
                        counts.alpha_1[codes[0], RIGHT, j] += use
                        counts.alpha_inf[codes[0], RIGHT, i] += use
