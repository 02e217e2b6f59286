"""Outside sums and uses of the scaled chart, for one sentence and for those of a chunk."""

from typing import NamedTuple

import numpy as np

from sklearn_shag.encoding import LEFT, RIGHT
from sklearn_shag.operators import LOG_BASE, Operators, scale_operators
from sklearn_shag.parsing._potentials import as_codes, check_operators, classes_of
from sklearn_shag.parsing._scaled_chart import (
    Sentence,
    Table,
    between,
    drop,
    emitting,
    ends,
    inside,
    normalise_scores,
    outermost,
    power,
    product,
    root_term,
    root_weight,
    stopping,
    sum_up,
)
from sklearn_shag.utils._arrays import check_finite, check_shape
from sklearn_shag.utils._kernel import inner_kernel, inner_table_kernel, kernel
from sklearn_shag.utils._param_validation import as_floats
from sklearn_shag.utils._typing import ArrayLike, FloatArray, IntArrayLike

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


# Further below the largest score of its token an arc counts as forbidden: there, a logarithm in
# double precision is off by a tenth.
LARGEST_GAP = 1e15


@kernel
def run_scaled(operators, factors, which, results, done, weights, counts):
    """Parse sentences of a chunk, as :func:`run_fast` does, whatever the size of their values.

    Parameters
    ----------
    operators : ScaledOperators
        Of a grammar.
    factors : Factors
        Of the chunk.
    which : int array
        The sentences to parse.
    results : Results
        Gets what is found of each, its expected uses where there is room for them.
    done : bool array of the size of `which`
        Is set to whether Z is not 0, and it and all expected uses are finite. Else the results
        stay as they are.
    weights : array of shape (n_sentences,)
        Of sentences in `counts`.
    counts : Operators
        The expected uses of operators are added to it; none where it is empty.
    """
    of_sentence = Operators(
        np.zeros(counts.alpha_1.shape), np.zeros(counts.alpha_inf.shape), np.zeros(counts.A.shape)
    )
    for k in range(which.size):
        s = which[k]
        sentence, offset = _sentence_of(factors, s, operators.A.shape[0] - 1)
        z, exponent, arcs, stops = sum_over_trees(operators, sentence, True, of_sentence)
        # They are NaN if Z is 0. What cancels in them may be counts that do not fit a double.
        done[k] = np.isfinite(arcs).all() and np.isfinite(stops).all() and _are_finite(of_sentence)
        _move(of_sentence.alpha_1, done[k], weights[s], counts.alpha_1)
        _move(of_sentence.alpha_inf, done[k], weights[s], counts.alpha_inf)
        _move(of_sentence.A, done[k], weights[s], counts.A)
        if done[k] and results.arcs.size:
            _note_uses(factors, s, arcs, stops, results)
        if done[k]:
            results.sign[s] = np.sign(z)
            results.log_abs_z[s] = np.log(abs(z)) + exponent * LOG_BASE + offset


@inner_kernel
def _sentence_of(factors, s, root):
    """Make the sentence of some factors; its log Z is to be increased by the number returned."""
    low, high = factors.indptr[s], factors.indptr[s + 1]
    n = high - low + 1
    n_classes = classes_of(factors)
    codes, memory = np.full(n, root), np.zeros(n, np.int64)
    codes[1:] = factors.codes[low:high]
    if factors.memory.size:
        memory[1:] = factors.memory[low:high]
    stop_scores = np.ones((n, 2, n_classes))
    if factors.stop_memory.size:
        stop_scores[1:] = factors.stop_memory[low:high]
    arc_scores = np.ones((n, n, n_classes))
    if factors.arc_memory.size:
        for m in range(1, n):
            row = factors.begins[s] + (m - 1) * n
            arc_scores[:, m] = factors.arc_memory[row : row + n]
    sentence = Sentence(
        codes,
        memory,
        Table(arc_scores, np.zeros(arc_scores.shape, np.int64)),
        Table(stop_scores, np.zeros(stop_scores.shape, np.int64)),
    )
    normalise_scores(sentence.arc_scores)
    normalise_scores(sentence.stop_scores)
    offset = 0.0
    if factors.arcs.size:
        for m in range(1, n):
            row = factors.begins[s] + (m - 1) * n
            offset += _multiply_arcs(sentence.arc_scores, factors.arcs[row : row + n], m)
    return sentence, offset


@inner_kernel
def _multiply_arcs(scores, arcs, m):
    """Multiply the scores of the arcs to token m by given ones, logarithms, but for the largest.

    Returns the largest, or 0 where all arcs are forbidden.
    """
    largest = -np.inf
    for h in range(arcs.size):
        if h != m:
            largest = max(largest, arcs[h])
    for h in range(arcs.size):
        gap = arcs[h] - largest if h != m and arcs[h] > -np.inf else -np.inf
        if gap < -LARGEST_GAP:
            scores.values[h, m] = 0.0
        else:
            exponent = int(gap / LOG_BASE)
            # By a factor in (1/BASE, 1]: MAX_SHIFT leaves room for scores as small as that.
            scores.values[h, m] *= np.exp(gap - exponent * LOG_BASE)
            scores.exponent[h, m] += exponent
    return largest if largest > -np.inf else 0.0


@inner_kernel
def _are_finite(counts):
    return (
        np.isfinite(counts.alpha_1).all()
        and np.isfinite(counts.alpha_inf).all()
        and np.isfinite(counts.A).all()
    )


@inner_kernel
def _move(part, wanted, weight, total):
    """Move the counts of a sentence to the sum, times its weight, or nowhere."""
    for place in range(part.size):
        if wanted:
            total.flat[place] += weight * part.flat[place]
        part.flat[place] = 0.0


@inner_kernel
def _note_uses(factors, s, arcs, stops, results):
    n, row = arcs.shape[1], factors.begins[s]
    for m in range(n - 1):
        for h in range(n):
            results.arcs[row] = arcs[m, h].sum()
            if results.arc_memory.size:
                results.arc_memory[row] = arcs[m, h]
            row += 1
    if results.stop_memory.size:
        results.stop_memory[factors.indptr[s] : factors.indptr[s + 1]] = stops[1:]


class InsideOutside(NamedTuple):
    """What the chart knows about one sentence.

    It is the sum over all its projective trees, and the share of each arc in it.

    Attributes
    ----------
    sign : float
        Sign of Z, the total value of all trees; 0 where it vanishes.
    log_abs_z : float
        Logarithm of the absolute value of Z, in nats.
    marginals : ndarray of shape (n_tokens, n_tokens + 1)
        ``marginals[m - 1, h]`` is the share of Z of the trees in which h is the head of m; column 0
        is the root symbol. Rows sum to 1. Signed operators can give values outside [0, 1].
        NaN where Z vanishes.
    counts : Operators
        The expected uses of every start, stop and transition in a tree of the sentence.

    See Also
    --------
    inside_outside : Makes it.
    ChartResults : The same of many sentences.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_shag.operators import Operators
    >>> from sklearn_shag.parsing import inside_outside
    >>> ones = np.ones((3, 2, 1))
    >>> result = inside_outside(Operators(ones, ones, np.ones((3, 2, 2, 1, 1))), [0, 0])
    >>> round(np.exp(result.log_abs_z)), result.sign         # two trees, of the value 1
    (2, 1.0)
    >>> result.counts.A[2, 1, 0].item()                      # each has one root
    1.0
    """

    sign: float
    log_abs_z: float
    marginals: FloatArray
    counts: Operators


def inside_outside(
    operators: Operators,
    codes: IntArrayLike,
    *,
    arc_scores: ArrayLike | None = None,
    stop_scores: ArrayLike | None = None,
    single_root: bool = True,
) -> InsideOutside:
    """Sum over all projective trees of a sentence (theory, eqs. 14-26).

    Parameters
    ----------
    operators : Operators
        Of a grammar; entries of any sign. See the Notes of
        :class:`~sklearn_shag.operators.Operators` for its axes.
    codes : int array-like of shape (n_tokens,)
        Symbol codes of the sentence.
    arc_scores : None or array-like of shape (n_tokens + 1, n_tokens + 1), default=None
        A factor for the arc from every head position (row, 0 the root symbol) to every modifier
        position (column).
    stop_scores : None or array-like of shape (n_tokens + 1, 2), default=None
        A factor for the end of the left (column 0) and right (column 1) sequence of every
        position.
    single_root : bool, default=True
        Whether only trees with one root count. If False the automaton of the root symbol says how
        many there are.

    Returns
    -------
    result : InsideOutside
        The sum, and what each arc and operator has to do with it.

    Raises
    ------
    ValueError
        If the sentence is empty, a code is not one of the grammar's, scores have another shape,
        or a number is not finite; or expected uses are not, where large values cancel.
    TypeError
        If `operators` are none.

    See Also
    --------
    chart : Many sentences at once, and faster; factors are not negative there.

    Notes
    -----
    Takes O(n N^3 + n^2 N^2) time for N tokens and n states, and about 50 n N^2 bytes.

    References
    ----------
    Luque, Quattoni, Balle and Carreras (2012), eqs. 15-20.

    Examples
    --------
    With all operators 1 the chart counts trees; three words have 7 with one root:

    >>> import numpy as np
    >>> from sklearn_shag.operators import Operators
    >>> from sklearn_shag.parsing import inside_outside
    >>> ones = np.ones((3, 2, 1))
    >>> counting = Operators(ones, ones, np.ones((3, 2, 2, 1, 1)))
    >>> result = inside_outside(counting, [0, 0, 0])
    >>> round(np.exp(result.log_abs_z))
    7
    >>> result.marginals.round(2)
    array([[0.43, 0.  , 0.29, 0.29],
           [0.14, 0.43, 0.  , 0.43],
           [0.43, 0.29, 0.29, 0.  ]])
    """
    # Contiguous, so that the kernels compile for one memory layout only.
    check_operators(operators)
    operators = Operators(*(np.ascontiguousarray(part, dtype=float) for part in operators))
    sentence = _check_sentence(operators, codes, arc_scores, stop_scores)
    counts = Operators(*(np.zeros_like(part) for part in operators))
    scaled = scale_operators(operators)
    z, exponent, arcs, _ = sum_over_trees(scaled, sentence, single_root, counts)
    if z == 0:
        counts = Operators(*(np.full_like(part, np.nan) for part in operators))
        return InsideOutside(0.0, -np.inf, arcs[:, :, 0], counts)
    if not all(np.isfinite(part).all() for part in (arcs, *counts)):
        raise ValueError(
            "Expected uses overflow: operators of both signs cancel until Z is some 300 orders of "
            "magnitude smaller than their products, which no double can tell from 0. Parsers then "
            "take another grammar."
        )
    log_abs_z = np.log(abs(z)) + exponent * LOG_BASE
    return InsideOutside(float(np.sign(z)), float(log_abs_z), arcs[:, :, 0], counts)


def _check_sentence(operators, codes, arc_scores, stop_scores):
    n_heads, _, n_symbols = operators.A.shape[:3]
    if np.size(codes) == 0:
        raise ValueError("codes must hold at least one symbol code, got none.")
    codes = as_codes(codes, n_symbols)
    positions = np.concatenate([[n_heads - 1], codes])
    n = positions.size
    return Sentence(
        positions,
        np.zeros_like(positions),
        _check_scores(arc_scores, (n, n), "arc_scores"),
        _check_scores(stop_scores, (n, 2), "stop_scores"),
    )


def _check_scores(scores, shape, name):
    scores = np.ones(shape) if scores is None else as_floats(scores, name).copy()
    check_shape(scores, shape, name)
    check_finite(scores, name)
    table = Table(np.ascontiguousarray(scores[..., None]), np.zeros((*shape, 1), dtype=np.int64))
    normalise_scores(table)
    return table
