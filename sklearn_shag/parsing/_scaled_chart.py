"""The scaled chart: inside-outside with an exponent for every entry (theory, eqs. 14-26).

One sentence with positions 0..N; position 0 is the root symbol. A half-constituent is addressed by
its head and by the boundary where it ends: boundary b lies left of token b, so the right half of
head i that covers i..j is ``[i, j + 1]`` and the left half of head j that covers i..j is
``[j, i]``. Both directions thus share one table and one recurrence. The memory of an automaton is
the class of its last modifier, 0 at the start; where more than one is possible, there is a vector
for each:

- ``complete[h, b, j]``, vector C_j: the automaton of h has emitted every modifier up to b, the last
  of them of class j;
- ``closed[h, b]``, a number: the same after STOP, whatever the class;
- ``awaiting[h, m, j]``, vector g_j: everything between h and m is built, m is not yet emitted;
- ``incomplete[h, m]``, vector I: m has just been emitted, so that its class is the memory.

Spectral operators are signed, so the chart works in plain reals, not logarithms. A value is
its table entry times ``BASE ** exponent``; exponents are kept per entry, are 0 in sentences of
ordinary length, and let products of thousands of probabilities neither vanish nor overflow.

An entry is 0 where something is impossible, or terms cancel exactly, but not where it is small:
beside others in its vector that are 1e300 times as large it becomes the smallest double
(:func:`multiply`). Should it count in the end, its derivative is no double, and the sentence is
refused. For that, what is summed up is rounded once, at the scale that the sum turns out to have.

All but the operators is weighted sums of vectors, and all of them are done by :func:`sum_up`. The
outside pass is in :mod:`_scaled_outside`.
"""

from typing import NamedTuple

import numpy as np

from sklearn_shag.encoding import LEFT, RIGHT
from sklearn_shag.operators import BASE, LOG2_BASE
from sklearn_shag.utils._kernel import inner_kernel, inner_table_kernel, kernel

# Entries are normalised into [1/sqrt(BASE), sqrt(BASE)], as operators are: a product of three still
# fits a double.
LARGEST_NORMALISED = 2.0 ** (LOG2_BASE // 2)
SMALLEST_NORMALISED = 2.0 ** (-LOG2_BASE // 2)
SMALLEST = 5e-324  # of the doubles above 0
# By how many powers of BASE a product of two may be lifted, and after how many it is the smallest.
LARGEST_LIFT, LARGEST_DROP = 6, 12
# By how many powers of BASE a normalised number can be divided without rounding.
EXACT_DROP = 3
# The exponent of an empty sum: below that of every other entry.
ZERO_EXPONENT = -(2**60)


class Table(NamedTuple):
    """Values in units of ``BASE ** exponent``: numbers, or vectors with one exponent each."""

    values: np.ndarray  # (...) or (..., n)
    exponent: np.ndarray  # (...), int64


class Sentence(NamedTuple):
    """One sentence of N tokens, with factors of either sign, for automata with k memories."""

    codes: np.ndarray  # (N + 1,); the first is that of the root symbol
    memory: np.ndarray  # (N + 1,), the class of each token; the root symbol is no modifier
    arc_scores: Table  # values (N + 1, N + 1, k): head, modifier, class before
    stop_scores: Table  # values (N + 1, 2, k)


class Chart(NamedTuple):
    """Inside values of one sentence of N tokens under automata with n states and k memories."""

    complete: Table  # values (N + 1, N + 2, k, n)
    closed: Table  # values (N + 1, N + 2)
    closed_by_boundary: Table  # the transpose, (N + 2, N + 1): sums run along rows
    awaiting: Table  # values (N + 1, N + 1, k, n)
    incomplete: Table  # values (N + 1, N + 1, n)
    members: np.ndarray  # (k + 1, ...): which positions are of class j; its last row is all True
    sum: np.ndarray  # (n,), room for a sum that is not kept
    number: np.ndarray  # (1,)


class Terms(NamedTuple):
    """The terms of a weighted sum of vectors, those for which `is_term` holds."""

    weights: Table  # values (n_terms,)
    vectors: Table  # values (n_terms, n)
    is_term: np.ndarray  # (n_terms,)


@inner_table_kernel
def power(exponent):
    """BASE ** exponent."""
    return 1.0 if exponent == 0 else 2.0 ** (float(LOG2_BASE) * exponent)


@inner_table_kernel
def multiply(a, b):
    """Multiply; what is not 0 stays so."""
    result = a * b
    if result == 0.0 and a != 0.0 and b != 0.0:
        return SMALLEST if (a > 0.0) == (b > 0.0) else -SMALLEST
    return result


@inner_table_kernel
def excess_of(size):
    """How often `size` must be divided by BASE to be normalised; 0 if it is 0."""
    excess = 0
    while LARGEST_NORMALISED < size < np.inf:
        size /= BASE
        excess += 1
    while 0.0 < size < SMALLEST_NORMALISED:
        size *= BASE
        excess -= 1
    return excess


@inner_table_kernel
def divide(value, times):
    """Divide by BASE so many times, in steps that cannot overflow; what is not 0 stays so."""
    for _ in range(times):
        value = multiply(value, 1.0 / BASE)
    for _ in range(-times):
        value *= BASE
    return value


@inner_table_kernel
def product(a, b, exponent):
    """Multiply two numbers and BASE ** exponent; what is small is rounded at the end alone."""
    if exponent == 0:  # as in sentences of ordinary length
        return multiply(a, b)
    if exponent > 0:
        of_a = exponent // 2
        return multiply(a * power(of_a), b * power(exponent - of_a))
    return divide(multiply(a, b), min(-exponent, LARGEST_DROP))


@inner_table_kernel
def drop(weight, exponent):
    """Two factors of a normalised weight times BASE ** exponent: the first is not rounded.

    Where the second is not 1, the first is so small that it enlarges no rounded product of both.
    """
    near = max(exponent, -EXACT_DROP)
    return weight * power(near), max(power(exponent - near), SMALLEST)


@kernel
def normalise_scores(scores):
    """Normalise each score of a table with three axes, in place."""
    for i, j, k in np.ndindex(scores.values.shape):
        excess = excess_of(abs(scores.values[i, j, k]))
        scores.values[i, j, k] = divide(scores.values[i, j, k], excess)
        scores.exponent[i, j, k] += excess


@inner_table_kernel
def _excess(vector):
    """How often a vector must be divided by BASE to be normalised."""
    largest = 0.0
    for q in range(vector.size):
        largest = max(largest, abs(vector[q]))
    return excess_of(largest)


@inner_table_kernel
def _normalise(vector):
    """Divide a vector by a power of BASE, and return its exponent."""
    excess = _excess(vector)
    if excess != 0:
        for q in range(vector.size):
            vector[q] = divide(vector[q], excess)
    return excess


@inner_table_kernel
def apply(matrix, vector, out):
    """Set `out` to a matrix times a vector, and return its exponent."""
    exponent = 0
    while True:
        for i in range(out.size):
            out[i] = 0.0
            for j in range(vector.size):
                out[i] += product(matrix[i, j], vector[j], -exponent)
        excess = _excess(out)
        # Entries may be so far apart in both that only the product of two small ones is not 0.
        if excess == 0 or exponent + excess < -LARGEST_LIFT:
            return exponent + _normalise(out)
        exponent += excess


@inner_table_kernel
def sum_up(terms, out):
    """Set `out` to the sum of weights times vectors, and return its exponent."""
    weights, vectors, is_term = terms
    out[:] = 0.0
    # Only terms that are not zero may set the scale of a sum: beside the scale of another they
    # could vanish. A sum of zeros has that of its terms, since its derivatives need not vanish.
    exponent, exponent_of_zeros = ZERO_EXPONENT, ZERO_EXPONENT
    for t in range(is_term.size):
        if is_term[t]:
            term_exponent = weights.exponent[t] + vectors.exponent[t]
            if weights.values[t] != 0.0 and _any(vectors.values, t):
                exponent = max(exponent, term_exponent)
            else:
                exponent_of_zeros = max(exponent_of_zeros, term_exponent)
    if exponent == ZERO_EXPONENT:
        return exponent_of_zeros
    while True:
        for t in range(is_term.size):
            weight = weights.values[t]
            if is_term[t] and weight != 0.0 and _any(vectors.values, t):
                shift = weights.exponent[t] + vectors.exponent[t] - exponent
                weight, rest = drop(weight, shift)
                for q in range(out.size):
                    out[q] += multiply(weight, multiply(rest, vectors.values[t, q]))
        excess = _excess(out)
        if excess == 0:
            return exponent
        exponent += excess
        out[:] = 0.0


@inner_table_kernel
def _any(vectors, row):
    for q in range(vectors.shape[1]):  # noqa: SIM110 (compiled: no generators)
        if vectors[row, q] != 0.0:
            return True
    return False


@inner_table_kernel
def stopping(chart, sentence, head, boundary):
    """Give the terms of S[h, b] = sum_j stop(h, j) C_j[h, b] (eq. 14)."""
    side = RIGHT if boundary > head else LEFT
    scores, complete = sentence.stop_scores, chart.complete
    return Terms(
        Table(scores.values[head, side], scores.exponent[head, side]),
        Table(complete.values[head, boundary], complete.exponent[head, boundary]),
        chart.members[-1, : scores.values.shape[2]],
    )


@inner_table_kernel
def between(chart, head, modifier, low, high, j):
    """Give the terms of g_j[h, m] = sum_b closed[m, b] C_j[h, b], low <= b < high (eq. 16)."""
    closed, complete = chart.closed, chart.complete
    return Terms(
        Table(closed.values[modifier, low:high], closed.exponent[modifier, low:high]),
        Table(complete.values[head, low:high, j], complete.exponent[head, low:high, j]),
        chart.members[-1, low:high],
    )


@inner_table_kernel
def emitting(chart, sentence, head, modifier):
    """Give the terms of g[h, m] = sum_j score(h, m, j) g_j[h, m] (eq. 17)."""
    scores, awaiting = sentence.arc_scores, chart.awaiting
    return Terms(
        Table(scores.values[head, modifier], scores.exponent[head, modifier]),
        Table(awaiting.values[head, modifier], awaiting.exponent[head, modifier]),
        chart.members[-1, : scores.values.shape[2]],
    )


@inner_table_kernel
def outermost(chart, head, boundary, low, high, j):
    """Give the terms of C_j[h, b] = sum_m closed[m, b] I[h, m], m of class j (eq. 18)."""
    closed, incomplete = chart.closed_by_boundary, chart.incomplete
    return Terms(
        Table(closed.values[boundary, low:high], closed.exponent[boundary, low:high]),
        Table(incomplete.values[head, low:high], incomplete.exponent[head, low:high]),
        chart.members[j, low:high],
    )


@inner_table_kernel
def _start(table, row, column, operators, code, direction):
    # C_0[h, h] = C_0[h, h + 1] = alpha_1, the others are 0; likewise g of the root  (eqs. 15, 23)
    alpha_1 = operators.alpha_1[code, direction]
    for q in range(alpha_1.size):
        table.values[row, column, 0, q] = alpha_1[q]
    excess = _normalise(table.values[row, column, 0])
    table.exponent[row, column, 0] = operators.exponents.alpha_1[code, direction] + excess


@inner_table_kernel
def _close(chart, operators, sentence, head, boundary):
    # closed[h, b] = alpha_inf . S[h, b]                                               (eq. 14)
    code, direction = sentence.codes[head], RIGHT if boundary > head else LEFT
    exponent = sum_up(stopping(chart, sentence, head, boundary), chart.sum)
    exponent += operators.exponents.alpha_inf[code, direction]
    exponent += apply(operators.alpha_inf[code, direction : direction + 1], chart.sum, chart.number)
    value = chart.number[0]
    chart.closed.values[head, boundary] = value
    chart.closed.exponent[head, boundary] = exponent
    chart.closed_by_boundary.values[boundary, head] = value
    chart.closed_by_boundary.exponent[boundary, head] = exponent


@inner_table_kernel
def _emit(chart, operators, sentence, head, modifier):
    # I[h, m] = A[h, m] g[h, m]                                                        (eq. 17)
    direction = RIGHT if modifier > head else LEFT
    exponent = sum_up(emitting(chart, sentence, head, modifier), chart.sum)
    code, symbol = sentence.codes[head], sentence.codes[modifier]
    matrix = operators.A[code, direction, symbol]
    exponent += operators.exponents.A[code, direction, symbol]
    exponent += apply(matrix, chart.sum, chart.incomplete.values[head, modifier])
    chart.incomplete.exponent[head, modifier] = exponent


@inner_kernel
def _new_chart(sentence, n_states):
    """Allocate the chart of one sentence, every entry zero."""
    n, k = sentence.codes.size, sentence.arc_scores.values.shape[2]
    members = np.zeros((k + 1, max(n + 1, k)), np.bool_)
    members[k] = True
    for m in range(1, n):
        members[sentence.memory[m], m] = True
    exponents = np.full((n, n + 1, k), ZERO_EXPONENT)
    return Chart(
        complete=Table(np.zeros((n, n + 1, k, n_states)), exponents),
        closed=Table(np.zeros((n, n + 1)), exponents[:, :, 0].copy()),
        closed_by_boundary=Table(np.zeros((n + 1, n)), np.full((n + 1, n), ZERO_EXPONENT)),
        awaiting=Table(np.zeros((n, n, k, n_states)), exponents[:, :n].copy()),
        incomplete=Table(np.zeros((n, n, n_states)), exponents[:, :n, 0].copy()),
        members=members,
        sum=np.zeros(n_states),
        number=np.zeros(1),
    )


@kernel
def inside(operators, sentence, single_root):
    """Fill the chart of one sentence (eqs. 14-18, 23).

    Parameters
    ----------
    operators : ScaledOperators
        Of a grammar: `alpha_1` and `alpha_inf` (n_heads, 2, n), `A` (n_heads, 2, n_symbols, n, n).
    sentence : Sentence
    single_root : bool
        Whether the root symbol takes exactly one modifier whatever its automaton says.

    Returns
    -------
    chart : Chart
    z : float
        Z is ``z * BASE ** exponent``.
    exponent : int
    """
    chart = _new_chart(sentence, operators.alpha_1.shape[2])
    _fill(chart, operators, sentence, single_root)
    if single_root:
        z, exponent = _single_root(chart, operators, sentence)
        return chart, z, exponent
    end = sentence.codes.size
    return chart, chart.closed.values[0, end], chart.closed.exponent[0, end]


@inner_table_kernel
def _fill(chart, operators, sentence, single_root):
    n_tokens, n_classes = sentence.codes.size - 1, sentence.arc_scores.values.shape[2]
    first = 1 if single_root else 0
    for h in range(first, n_tokens + 1):
        for direction in range(LEFT if h > 0 else RIGHT, RIGHT + 1):
            _start(chart.complete, h, h + direction, operators, sentence.codes[h], direction)
            _close(chart, operators, sentence, h, h + direction)
    for width in range(1, n_tokens + 1):
        for i in range(first, n_tokens + 1 - width):
            j = i + width
            for direction in range(LEFT if i > 0 else RIGHT, RIGHT + 1):
                head, modifier, boundary, low = ends(i, j, direction)
                for c in range(n_classes):
                    terms = between(chart, head, modifier, i + 1, j + 1, c)
                    out = chart.awaiting.values[head, modifier, c]
                    chart.awaiting.exponent[head, modifier, c] = sum_up(terms, out)
                _emit(chart, operators, sentence, head, modifier)
                for c in range(n_classes):
                    terms = outermost(chart, head, boundary, low, low + width, c)
                    out = chart.complete.values[head, boundary, c]
                    chart.complete.exponent[head, boundary, c] = sum_up(terms, out)
                _close(chart, operators, sentence, head, boundary)


@inner_table_kernel
def ends(i, j, direction):
    """Head, modifier, far boundary and first possible modifier of the half that covers i..j."""
    if direction == RIGHT:
        return i, j, j + 1, i + 1
    return j, i, i, i


@inner_table_kernel
def _single_root(chart, operators, sentence):
    """Z = sum_m w(m) closed[m, 1] closed[m, N + 1], one root m (eq. 23)."""
    n_tokens, root = sentence.codes.size - 1, np.int64(0)
    z, z_exponent = 0.0, ZERO_EXPONENT
    for m in range(1, n_tokens + 1):
        _start(chart.awaiting, root, m, operators, sentence.codes[0], RIGHT)
        _emit(chart, operators, sentence, root, m)
        value, exponent = root_term(chart, operators, sentence, m)
        if value != 0.0:
            z_exponent = max(z_exponent, exponent)
    for m in range(1, n_tokens + 1):
        value, exponent = root_term(chart, operators, sentence, m)
        if value != 0.0:
            z += value * power(exponent - z_exponent)
    excess = excess_of(abs(z))
    return divide(z, excess), z_exponent + excess


@inner_table_kernel
def root_term(chart, operators, sentence, m):
    """Value and exponent of the trees with the root m."""
    end = sentence.codes.size
    weight, exponent, _ = root_weight(chart, operators, sentence, m)
    exponent += chart.closed.exponent[m, 1] + chart.closed.exponent[m, end]
    return weight * chart.closed.values[m, 1] * chart.closed.values[m, end], exponent


@inner_table_kernel
def root_weight(chart, operators, sentence, m):
    """Value and exponent of w(m) = stop(0) alpha_inf . I[0, m], and what was divided out."""
    stop = sentence.stop_scores.values[0, RIGHT, sentence.memory[m]]
    exponent = sentence.stop_scores.exponent[0, RIGHT, sentence.memory[m]]
    exponent += operators.exponents.alpha_inf[sentence.codes[0], RIGHT]
    alpha_inf = operators.alpha_inf[sentence.codes[0], RIGHT : RIGHT + 1]
    excess = apply(alpha_inf, chart.incomplete.values[0, m], chart.number)
    weight = stop * chart.number[0]
    excess += excess_of(abs(weight))
    exponent += chart.incomplete.exponent[0, m] + excess
    return divide(weight, excess_of(abs(weight))), exponent, excess
