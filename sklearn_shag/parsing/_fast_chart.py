"""The fast chart: plain doubles, for sentences whose values neither under- nor overflow.

Recurrences and names are those of :mod:`_scaled_chart`, for trees with one root. The outside pass
gathers: each derivative is one sum over the larger spans that use its entry, and so takes the same
form as the inside sums, factors along a row of one table times vectors along a row of another.

Vectors are those of :mod:`sklearn_shag.utils._simd`. One source serves two regimes:

- they hold states, padded to a multiple of LANES: one sentence at a time;
- they hold sentences, LANES of them in lockstep, of automata with one state. Tables of numbers have
  one axis more. Shorter sentences end where they end; what lies behind is zero.

Spans i..j are visited tile by tile, i in rows and j in columns. Split points between the rows and
the columns of a tile are common to all its spans: their share of every sum is taken for four rows
of factors at once, as in a product of matrices. The few split points left, the edges, are added
span by span. If all is one tile, all of it is edges.

All tables lie in two arrays, so that offsets within them are computed once and not once a table.
Inner loops count with :func:`opaque`: the compiler would unroll them, and then keep an address in
memory for every table and step.
"""

from typing import NamedTuple

import numpy as np

from sklearn_shag.sequences import LEFT as LEFT_CODE
from sklearn_shag.sequences import RIGHT as RIGHT_CODE
from sklearn_shag.utils._kernel import inlined_kernel, merged_kernel, table_kernel
from sklearn_shag.utils._simd import (
    LANES,
    add_sum,
    load,
    multiply,
    multiply_add,
    opaque,
    put_sum,
    store,
    weight,
    zeros,
)

# Constants are of a type of which numba makes no literals: it would compile the functions below
# anew for each. They are folded all the same, since the functions are inlined.
LEFT, RIGHT = np.int64(LEFT_CODE), np.int64(RIGHT_CODE)
BEGUN, NOT_BEGUN = np.bool_(True), np.bool_(False)  # sums of a tile, at their common points
# Tables of vectors. D_ are derivatives of log Z. Nobody needs what awaited a modifier once it is
# emitted; its derivatives take its place.
COMPLETE, AWAITING, INCOMPLETE, D_COMPLETE, D_AWAITING = map(np.int64, range(5))
D_INCOMPLETE = AWAITING
# Tables of numbers.
CLOSED, CLOSED_BY_BOUNDARY, D_CLOSED = map(np.int64, range(3))


class Tables(NamedTuple):
    """The chart: what each half sums up to, by table, head and end, and the derivatives."""

    vectors: np.ndarray  # (5, P, P + 1, n); P is at least N + 5
    numbers: np.ndarray  # (3, P + 1, P + 1), in lockstep (3, P + 1, P + 1, LANES)


class Sum(NamedTuple):
    """The tables of out[head, end] = sum_k factors[end, k] terms[head, k]."""

    factors: np.int64
    terms: np.int64
    out: np.int64
    shift: np.int64  # of ends: 1 if they are boundaries, behind modifiers in right halves; else 0


SUM_AWAITING = Sum(CLOSED, COMPLETE, AWAITING, np.int64(0))  # (eq. 16)
SUM_COMPLETE = Sum(CLOSED_BY_BOUNDARY, INCOMPLETE, COMPLETE, np.int64(1))  # (eq. 18)
SUM_D_INCOMPLETE = Sum(CLOSED, D_COMPLETE, D_INCOMPLETE, np.int64(0))  # (eq. 20)
SUM_D_COMPLETE = Sum(CLOSED_BY_BOUNDARY, D_AWAITING, D_COMPLETE, np.int64(1))  # (eq. 22)


class Half(NamedTuple):
    """What one of the two halves that cover a span has to do with it."""

    head: int
    modifier: int  # the other end of the span; the head itself where that is all
    boundary: int  # where the half ends, behind the modifier
    direction: int


class Sentence(NamedTuple):
    """What the chart has to know of one sentence of N tokens, or of several in lockstep."""

    codes: np.ndarray  # (N + 1,)
    starts: np.ndarray  # alpha_1 of every position and direction, (N + 1, 2, n)
    stops: np.ndarray  # alpha_inf likewise
    A: np.ndarray | None  # (n_heads, 2, n_symbols, n, n); None in lockstep
    A_transposed: np.ndarray | None  # the last two axes exchanged: both products run along rows
    arc_scores: np.ndarray  # (N + 1, N + 1), in lockstep (N + 1, N + 1, LANES) with A in them


@inlined_kernel
def _halves(i, j):
    """Return the right and the left half of i..j."""
    return Half(i, j, j + 1, RIGHT), Half(j, i, i, LEFT)


@inlined_kernel
def _add_terms(tables, sums, i, j, q, low, high, right, left):
    """Add terms low <= k < high to a sum of the right half of i..j, and as many to the left half's.

    k are boundaries or, in sums whose ends are boundaries, modifiers: of the left half one less.
    """
    k = low
    while k < high:
        factor = weight(tables.numbers, (sums.factors, j + sums.shift, k))
        right = multiply_add(factor, load(tables.vectors, (sums.terms, i, k, q)), right)
        factor = weight(tables.numbers, (sums.factors, i, k - sums.shift))
        left = multiply_add(factor, load(tables.vectors, (sums.terms, j, k - sums.shift, q)), left)
        k = opaque(k + 1)
    return right, left


@inlined_kernel
def _sum_up(tables, sums, i, j, low, high, begun):
    """Take a sum for both halves of i..j; if `begun`, but for split points low <= k < high."""
    vectors = tables.vectors
    for q in range(0, vectors.shape[3], LANES):
        right = load(vectors, (sums.out, i, j + sums.shift, q)) if begun else zeros()
        left = load(vectors, (sums.out, j, i, q)) if begun else zeros()
        end = low + sums.shift if begun else low
        right, left = _add_terms(tables, sums, i, j, q, i + 1, end, right, left)
        if begun:
            start = max(high, end)
            right, left = _add_terms(tables, sums, i, j, q, start, j + 1, right, left)
        store(vectors, (sums.out, i, j + sums.shift, q), right)
        store(vectors, (sums.out, j, i, q), left)


@inlined_kernel
def _emit(sentence, vectors, matrices, before, after, half):
    """Set after[h, m] = score(h, m) sum_p matrices[h, m][p] before[h, m, p]."""
    head, modifier, codes = half.head, half.modifier, sentence.codes
    score = weight(sentence.arc_scores, (head, modifier))
    for q in range(0, vectors.shape[3], LANES):
        if matrices is None:
            total = multiply(score, load(vectors, (before, head, modifier, q)))
        else:
            even, odd = zeros(), zeros()  # two sums: one would wait for itself
            for p in range(0, vectors.shape[3], 2):
                row = load(matrices, (codes[head], half.direction, codes[modifier], p, q))
                even = multiply_add(weight(vectors, (before, head, modifier, p)), row, even)
                row = load(matrices, (codes[head], half.direction, codes[modifier], p + 1, q))
                odd = multiply_add(weight(vectors, (before, head, modifier, p + 1)), row, odd)
            total = multiply_add(score, even, multiply(score, odd))
        store(vectors, (after, head, modifier, q), total)


@inlined_kernel
def _close(sentence, tables, half):
    # closed[h, b] = alpha_inf . C[h, b]                                               (eq. 14)
    head, boundary, total = half.head, half.boundary, zeros()
    for q in range(0, tables.vectors.shape[3], LANES):
        complete = load(tables.vectors, (COMPLETE, head, boundary, q))
        total = multiply_add(load(sentence.stops, (head, half.direction, q)), complete, total)
    put_sum(tables.numbers, (CLOSED, head, boundary), total)
    put_sum(tables.numbers, (CLOSED_BY_BOUNDARY, boundary, head), total)


@inlined_kernel
def _start(sentence, tables, half):
    # C[h, h] = C[h, h + 1] = alpha_1                                                  (eq. 15)
    vectors, head = tables.vectors, half.head
    for q in range(0, vectors.shape[3], LANES):
        start = load(sentence.starts, (head, half.direction, q))
        store(vectors, (COMPLETE, head, half.boundary, q), start)
        store(vectors, (INCOMPLETE, head, head, q), zeros())  # defined: its range is checked
    _close(sentence, tables, half)


@inlined_kernel
def _inside_span(sentence, tables, i, j, low, high, begun):
    """Build both halves of i..j; if `begun`, but for split points low <= k < high."""
    i, j = opaque(i), opaque(j)
    right, left = _halves(i, j)
    # g[h, m] = sum_b closed[m, b] C[h, b]    over boundaries between them             (eq. 16)
    _sum_up(tables, SUM_AWAITING, i, j, low, high, begun)
    # I[h, m] = score(h, m) A[h, m] g[h, m]                                            (eq. 17)
    _emit(sentence, tables.vectors, sentence.A_transposed, AWAITING, INCOMPLETE, right)
    _emit(sentence, tables.vectors, sentence.A_transposed, AWAITING, INCOMPLETE, left)
    # C[h, b] = sum_m closed[m, b] I[h, m]    over the outermost modifier              (eq. 18)
    _sum_up(tables, SUM_COMPLETE, i, j, low, high, begun)
    _close(sentence, tables, right)
    _close(sentence, tables, left)


@merged_kernel
def inside(sentence, n_tokens, tile, tables):
    """Fill the chart of tokens 1..N (eqs. 14-18).

    Parameters
    ----------
    sentence : Sentence
    n_tokens : int
        N; the sentence may go on behind it.
    tile : int
        Rows and columns of a tile: N or more for one tile, else a multiple of four.
    tables : Tables
        Undefined on entry.
    """
    n = n_tokens + 1
    for j0 in range(1, n, tile):
        for i0 in range(j0, 0, -tile):
            begun = i0 < j0
            if begun:
                _inside_common(tables, i0, j0, tile, n)
            for j in range(j0, min(j0 + tile, n)):
                for i in range(min(i0 + tile - 1, j), i0 - 1, -1):
                    if begun:
                        _inside_span(sentence, tables, i, j, i0 + tile, j0, BEGUN)
                    elif i < j:
                        _inside_span(sentence, tables, i, j, j + 1, j + 1, NOT_BEGUN)
                    else:
                        right, left = _halves(i, i)
                        _start(sentence, tables, left)
                        _start(sentence, tables, right)


@inlined_kernel
def _add_beyond(tables, half, other, q, low, high, begun, own, across):
    """Add what larger spans, from their heads or to ends k, contribute to derivatives of one half.

    `own` is the derivative of closed[head, boundary], `across` that of closed[modifier, other].
    """
    vectors, numbers = tables.vectors, tables.numbers
    head, modifier, boundary, direction = half
    dC = load(vectors, (D_COMPLETE, head, boundary, q)) if begun else zeros()
    dI = load(vectors, (D_INCOMPLETE, head, modifier, q)) if begun else zeros()
    k = low
    while k < high:
        # dclosed[h, b] += dg[k, h] . C[k, b]    over heads k beyond b                   (eq. 22)
        vector = load(vectors, (D_AWAITING, k, head, q))
        own = multiply_add(vector, load(vectors, (COMPLETE, k, boundary, q)), own)
        # dclosed[m, b'] += I[k, m] . dC[k, b']    over the same heads                   (eq. 20)
        vector = load(vectors, (INCOMPLETE, k, modifier, q))
        across = multiply_add(vector, load(vectors, (D_COMPLETE, k, other, q)), across)
        # dC[h, b] += closed[k, b] dg[h, k]    over modifiers k beyond b                 (eq. 22)
        factor = weight(numbers, (CLOSED_BY_BOUNDARY, boundary, k))
        dC = multiply_add(factor, load(vectors, (D_AWAITING, head, k, q)), dC)
        # dI[h, m] += closed[m, k] dC[h, k]    over boundaries k beyond b                (eq. 20)
        factor = weight(numbers, (CLOSED, modifier, k + direction))
        dI = multiply_add(factor, load(vectors, (D_COMPLETE, head, k + direction, q)), dI)
        k = opaque(k + 1)
    store(vectors, (D_COMPLETE, head, boundary, q), dC)
    store(vectors, (D_INCOMPLETE, head, modifier, q), dI)
    return own, across


@inlined_kernel
def _outside_span(sentence, tables, marginals, i, j, far, end, begun):
    """Differentiate by both halves of i..j and the arcs between i and j."""
    i, j = opaque(i), opaque(j)
    b = j + 1
    right, left = _halves(i, j)
    d_right, d_left = zeros(), zeros()
    for q in range(0, tables.vectors.shape[3], LANES):
        d_right, d_left = _add_beyond(tables, right, i, q, b, end, begun, d_right, d_left)
        d_left, d_right = _add_beyond(tables, left, b, q, far, i, begun, d_left, d_right)
    add_sum(tables.numbers, (D_CLOSED, i, b), d_right)
    add_sum(tables.numbers, (D_CLOSED, j, i), d_left)
    _finish_half(sentence, tables, marginals, right)
    _finish_half(sentence, tables, marginals, left)


@inlined_kernel
def _finish_half(sentence, tables, marginals, half):
    # dC[h, b] += dclosed[h, b] alpha_inf                                              (eq. 19)
    # dI[h, m] += closed[m, b] dC[h, b]    where b is the boundary behind m            (eq. 20)
    vectors, numbers = tables.vectors, tables.numbers
    head, modifier, boundary, direction = half
    d_closed = weight(numbers, (D_CLOSED, head, boundary))
    closed = weight(numbers, (CLOSED, modifier, boundary))
    for q in range(0, vectors.shape[3], LANES):
        stop = load(sentence.stops, (head, direction, q))
        dC = multiply_add(d_closed, stop, load(vectors, (D_COMPLETE, head, boundary, q)))
        store(vectors, (D_COMPLETE, head, boundary, q), dC)
        dI = multiply_add(closed, dC, load(vectors, (D_INCOMPLETE, head, modifier, q)))
        store(vectors, (D_INCOMPLETE, head, modifier, q), dI)
    if head != modifier:
        # dg[h, m] = score(h, m) A[h, m]^T dI[h, m]                                    (eq. 21)
        _emit(sentence, vectors, sentence.A, D_INCOMPLETE, D_AWAITING, half)
        # The posterior of the arc is dI[h, m] . I[h, m]                               (eq. 25)
        total = zeros()
        for q in range(0, vectors.shape[3], LANES):
            dI = load(vectors, (D_INCOMPLETE, head, modifier, q))
            total = multiply_add(dI, load(vectors, (INCOMPLETE, head, modifier, q)), total)
        put_sum(marginals, (modifier - 1, head), total)


@merged_kernel
def outside(sentence, n_tokens, tile, tables, marginals):
    """Differentiate log Z by every entry of the chart (eqs. 19-22, 25).

    Parameters
    ----------
    sentence, n_tokens, tile, tables
        As for :func:`inside`, which has filled the chart. The table D_CLOSED holds, on entry, the
        derivatives by the halves that the root joins, and zeros.
    marginals : array of shape (N, N + 1), in lockstep (N, N + 1, LANES)
        Column 0, of the root, is left as it is.
    """
    n = n_tokens + 1
    for j0 in range(1 + (n_tokens - 1) // tile * tile, 0, -tile):
        for i0 in range(1, j0 + 1, tile):
            begun, end = i0 < j0, min(j0 + tile, n)
            if begun:
                _outside_common(tables, i0, j0, tile, n)
            for j in range(end - 1, j0 - 1, -1):
                for i in range(i0, min(i0 + tile - 1, j) + 1):
                    if begun:
                        _outside_span(sentence, tables, marginals, i, j, i0, end, BEGUN)
                    else:
                        first = np.int64(1)
                        _outside_span(sentence, tables, marginals, i, j, first, n, NOT_BEGUN)


@inlined_kernel
def _four_sums(tables, sums, head, end, low, high):
    """Set a sum of a head to its terms low <= k < high, for four ends from `end` on."""
    vectors, numbers, factors = tables.vectors, tables.numbers, sums.factors
    for q in range(0, vectors.shape[3], LANES):
        sum_0, sum_1, sum_2, sum_3 = zeros(), zeros(), zeros(), zeros()
        k = low
        while k < high:
            vector = load(vectors, (sums.terms, head, k, q))
            sum_0 = multiply_add(weight(numbers, (factors, end, k)), vector, sum_0)
            sum_1 = multiply_add(weight(numbers, (factors, end + 1, k)), vector, sum_1)
            sum_2 = multiply_add(weight(numbers, (factors, end + 2, k)), vector, sum_2)
            sum_3 = multiply_add(weight(numbers, (factors, end + 3, k)), vector, sum_3)
            k = opaque(k + 1)
        store(vectors, (sums.out, head, end, q), sum_0)
        store(vectors, (sums.out, head, end + 1, q), sum_1)
        store(vectors, (sums.out, head, end + 2, q), sum_2)
        store(vectors, (sums.out, head, end + 3, q), sum_3)


@inlined_kernel
def _inner_products(tables, lefts, x, rights, y, low, high):
    """Add sum_h lefts[h, x + r] . rights[h, y + s], low <= h < high, to dclosed[x + r, y + s]."""
    vectors, numbers = tables.vectors, tables.numbers
    for r in range(x, x + 4, 2):
        sum_00, sum_01, sum_02, sum_03 = zeros(), zeros(), zeros(), zeros()
        sum_10, sum_11, sum_12, sum_13 = zeros(), zeros(), zeros(), zeros()
        h = low
        while h < high:
            for q in range(0, vectors.shape[3], LANES):
                left_0 = load(vectors, (lefts, h, r, q))
                left_1 = load(vectors, (lefts, h, r + 1, q))
                right = load(vectors, (rights, h, y, q))
                sum_00 = multiply_add(left_0, right, sum_00)
                sum_10 = multiply_add(left_1, right, sum_10)
                right = load(vectors, (rights, h, y + 1, q))
                sum_01 = multiply_add(left_0, right, sum_01)
                sum_11 = multiply_add(left_1, right, sum_11)
                right = load(vectors, (rights, h, y + 2, q))
                sum_02 = multiply_add(left_0, right, sum_02)
                sum_12 = multiply_add(left_1, right, sum_12)
                right = load(vectors, (rights, h, y + 3, q))
                sum_03 = multiply_add(left_0, right, sum_03)
                sum_13 = multiply_add(left_1, right, sum_13)
            h = opaque(h + 1)
        add_sum(numbers, (D_CLOSED, r, y), sum_00)
        add_sum(numbers, (D_CLOSED, r, y + 1), sum_01)
        add_sum(numbers, (D_CLOSED, r, y + 2), sum_02)
        add_sum(numbers, (D_CLOSED, r, y + 3), sum_03)
        add_sum(numbers, (D_CLOSED, r + 1, y), sum_10)
        add_sum(numbers, (D_CLOSED, r + 1, y + 1), sum_11)
        add_sum(numbers, (D_CLOSED, r + 1, y + 2), sum_12)
        add_sum(numbers, (D_CLOSED, r + 1, y + 3), sum_13)


@table_kernel
def _inside_common(tables, i0, j0, tile, n):
    """Begin the sums of :func:`_inside_span` for all spans of a tile, at their common points."""
    low, high = i0 + tile, j0
    for i in range(i0, i0 + tile):
        for j in range(j0, min(j0 + tile, n), 4):
            _four_sums(tables, SUM_AWAITING, i, j, low, high)
            _four_sums(tables, SUM_COMPLETE, i, j + 1, low + 1, high)
    for j in range(j0, min(j0 + tile, n)):
        for i in range(i0, i0 + tile, 4):
            _four_sums(tables, SUM_AWAITING, j, i, low, high)
            _four_sums(tables, SUM_COMPLETE, j, i, low, high - 1)


@table_kernel
def _outside_common(tables, i0, j0, tile, n):
    """Begin the sums of :func:`_outside_span` for all spans of a tile, beyond rows and columns."""
    behind = j0 + tile
    for i in range(i0, i0 + tile):
        for j in range(j0, min(behind, n), 4):
            _four_sums(tables, SUM_D_COMPLETE, i, j + 1, behind, n)
            _four_sums(tables, SUM_D_INCOMPLETE, i, j, behind + 1, n + 1)
    for j in range(j0, min(behind, n)):
        for i in range(i0, i0 + tile, 4):
            _four_sums(tables, SUM_D_COMPLETE, j, i, 1, i0)
            _four_sums(tables, SUM_D_INCOMPLETE, j, i, 1, i0)
    for j in range(j0, min(behind, n), 4):
        for i in range(i0, i0 + tile, 4):
            _inner_products(tables, D_AWAITING, i, COMPLETE, j + 1, behind, n)
            _inner_products(tables, INCOMPLETE, i, D_COMPLETE, j + 1, 1, i0)
            _inner_products(tables, D_AWAITING, j, COMPLETE, i, 1, i0)
            _inner_products(tables, INCOMPLETE, j, D_COMPLETE, i, behind, n)
