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
# Tables of vectors, each (P, P + 1, n) for P > N positions: by head and end. D_ are derivatives of
# log Z. Nobody needs what awaited a modifier once it is emitted; its derivatives take its place.
COMPLETE, AWAITING, INCOMPLETE, D_COMPLETE, D_AWAITING = map(np.int64, range(5))
D_INCOMPLETE = AWAITING
# Tables of numbers, each (P + 1, P + 1), in lockstep (P + 1, P + 1, LANES).
CLOSED, CLOSED_BY_BOUNDARY, D_CLOSED = map(np.int64, range(3))


class Sentence(NamedTuple):
    """What the chart has to know of one sentence of N tokens, or of several in lockstep."""

    codes: np.ndarray  # (N + 1,)
    starts: np.ndarray  # alpha_1 of every position and direction, (N + 1, 2, n)
    stops: np.ndarray  # alpha_inf likewise
    A: np.ndarray | None  # (n_heads, 2, n_symbols, n, n); None in lockstep
    A_transposed: np.ndarray | None  # the last two axes exchanged: both products run along rows
    arc_scores: np.ndarray  # (N + 1, N + 1), in lockstep (N + 1, N + 1, LANES) with A in them


@inlined_kernel
def _add_pairs(
    vectors, numbers, factors, right_row, left_row, table, i, j, q, low, high, left_low, right, left
):
    """Add sum_k factors[row, k] table[head, k] for both halves of i..j, low <= k < high.

    The left half, of head j, has as many terms, from `left_low` on.
    """
    k = low
    while k < high:
        factor = weight(numbers, (factors, right_row, k))
        right = multiply_add(factor, load(vectors, (table, i, k, q)), right)
        left_k = k + left_low - low
        factor = weight(numbers, (factors, left_row, left_k))
        left = multiply_add(factor, load(vectors, (table, j, left_k, q)), left)
        k = opaque(k + 1)
    return right, left


@inlined_kernel
def _emit(vectors, matrices, codes, arc_scores, before, after, head, modifier, direction):
    """Set after[h, m] = score(h, m) sum_p matrices[h, m][p] before[h, m, p]."""
    score = weight(arc_scores, (head, modifier))
    for q in range(0, vectors.shape[3], LANES):
        if matrices is None:
            total = multiply(score, load(vectors, (before, head, modifier, q)))
        else:
            even, odd = zeros(), zeros()  # two sums: one would wait for itself
            for p in range(0, vectors.shape[3], 2):
                row = load(matrices, (codes[head], direction, codes[modifier], p, q))
                even = multiply_add(weight(vectors, (before, head, modifier, p)), row, even)
                row = load(matrices, (codes[head], direction, codes[modifier], p + 1, q))
                odd = multiply_add(weight(vectors, (before, head, modifier, p + 1)), row, odd)
            total = multiply_add(score, even, multiply(score, odd))
        store(vectors, (after, head, modifier, q), total)


@inlined_kernel
def _close(vectors, numbers, stops, head, boundary, direction):
    # closed[h, b] = alpha_inf . C[h, b]                                               (eq. 14)
    total = zeros()
    for q in range(0, vectors.shape[3], LANES):
        complete = load(vectors, (COMPLETE, head, boundary, q))
        total = multiply_add(load(stops, (head, direction, q)), complete, total)
    put_sum(numbers, (CLOSED, head, boundary), total)
    put_sum(numbers, (CLOSED_BY_BOUNDARY, boundary, head), total)


@inlined_kernel
def _start(sentence, vectors, numbers, head, boundary, direction):
    # C[h, h] = C[h, h + 1] = alpha_1                                                  (eq. 15)
    for q in range(0, vectors.shape[3], LANES):
        start = load(sentence.starts, (head, direction, q))
        store(vectors, (COMPLETE, head, boundary, q), start)
        store(vectors, (INCOMPLETE, head, head, q), zeros())  # defined: its range is checked
    _close(vectors, numbers, sentence.stops, head, boundary, direction)


@inlined_kernel
def _inside_span(sentence, vectors, numbers, i, j, low, high, begun):
    """Build both halves of i..j; if `begun`, but for split points low <= k < high."""
    i, j = opaque(i), opaque(j)
    n_states = vectors.shape[3]
    # g[h, m] = sum_b closed[m, b] C[h, b]    over boundaries between them             (eq. 16)
    for q in range(0, n_states, LANES):
        right = load(vectors, (AWAITING, i, j, q)) if begun else zeros()
        left = load(vectors, (AWAITING, j, i, q)) if begun else zeros()
        right, left = _add_pairs(
            vectors, numbers, CLOSED, j, i, COMPLETE, i, j, q, i + 1, low, i + 1, right, left
        )
        if begun:
            right, left = _add_pairs(
                vectors, numbers, CLOSED, j, i, COMPLETE, i, j, q, high, j + 1, high, right, left
            )
        store(vectors, (AWAITING, i, j, q), right)
        store(vectors, (AWAITING, j, i, q), left)
    # I[h, m] = score(h, m) A[h, m] g[h, m]                                            (eq. 17)
    matrices, codes, scores = sentence.A_transposed, sentence.codes, sentence.arc_scores
    _emit(vectors, matrices, codes, scores, AWAITING, INCOMPLETE, i, j, RIGHT)
    _emit(vectors, matrices, codes, scores, AWAITING, INCOMPLETE, j, i, LEFT)
    # C[h, b] = sum_m closed[m, b] I[h, m]    over the outermost modifier              (eq. 18)
    factors, row = CLOSED_BY_BOUNDARY, j + 1
    for q in range(0, n_states, LANES):
        right = load(vectors, (COMPLETE, i, row, q)) if begun else zeros()
        left = load(vectors, (COMPLETE, j, i, q)) if begun else zeros()
        end = low + 1 if begun else low
        right, left = _add_pairs(
            vectors, numbers, factors, row, i, INCOMPLETE, i, j, q, i + 1, end, i, right, left
        )
        if begun:
            start = max(high, low + 1)
            right, left = _add_pairs(
                vectors,
                numbers,
                factors,
                row,
                i,
                INCOMPLETE,
                i,
                j,
                q,
                start,
                j + 1,
                start - 1,
                right,
                left,
            )
        store(vectors, (COMPLETE, i, row, q), right)
        store(vectors, (COMPLETE, j, i, q), left)
    _close(vectors, numbers, sentence.stops, i, j + 1, RIGHT)
    _close(vectors, numbers, sentence.stops, j, i, LEFT)


@merged_kernel
def inside(sentence, n_tokens, tile, vectors, numbers):
    """Fill the chart of tokens 1..N (eqs. 14-18).

    Parameters
    ----------
    sentence : Sentence
    n_tokens : int
        N; the sentence may go on behind it.
    tile : int
        Rows and columns of a tile: N or more for one tile, else a multiple of four.
    vectors : array of shape (5, P, P + 1, n)
        Tables, undefined on entry; P is at least N + 5.
    numbers : array of shape (3, P + 1, P + 1), in lockstep (3, P + 1, P + 1, LANES)
        Likewise.
    """
    n = n_tokens + 1
    for j0 in range(1, n, tile):
        for i0 in range(j0, 0, -tile):
            begun = i0 < j0
            if begun:
                _inside_common(vectors, numbers, i0, j0, tile, n)
            for j in range(j0, min(j0 + tile, n)):
                for i in range(min(i0 + tile - 1, j), i0 - 1, -1):
                    if begun:
                        _inside_span(sentence, vectors, numbers, i, j, i0 + tile, j0, BEGUN)
                    elif i < j:
                        _inside_span(sentence, vectors, numbers, i, j, j + 1, j + 1, NOT_BEGUN)
                    else:
                        _start(sentence, vectors, numbers, i, i, LEFT)
                        _start(sentence, vectors, numbers, i, i + 1, RIGHT)


@inlined_kernel
def _add_beyond(
    vectors, numbers, head, modifier, boundary, other, q, low, high, direction, own, across, dC, dI
):
    """Add what larger spans beyond the modifier contribute to the derivatives of one half.

    `own` is the derivative of closed[head, boundary], `across` that of closed[modifier, other].
    """
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
    return own, across, dC, dI


@inlined_kernel
def _outside_span(sentence, vectors, numbers, marginals, i, j, far, end, begun):
    """Differentiate by both halves of i..j and the arcs between i and j."""
    i, j = opaque(i), opaque(j)
    b = j + 1
    right, left = zeros(), zeros()
    for q in range(0, vectors.shape[3], LANES):
        dC = load(vectors, (D_COMPLETE, i, b, q)) if begun else zeros()
        dI = load(vectors, (D_INCOMPLETE, i, j, q)) if begun else zeros()
        right, left, dC, dI = _add_beyond(
            vectors, numbers, i, j, b, i, q, b, end, RIGHT, right, left, dC, dI
        )
        store(vectors, (D_COMPLETE, i, b, q), dC)
        store(vectors, (D_INCOMPLETE, i, j, q), dI)
        dC = load(vectors, (D_COMPLETE, j, i, q)) if begun else zeros()
        dI = load(vectors, (D_INCOMPLETE, j, i, q)) if begun else zeros()
        left, right, dC, dI = _add_beyond(
            vectors, numbers, j, i, i, b, q, far, i, LEFT, left, right, dC, dI
        )
        store(vectors, (D_COMPLETE, j, i, q), dC)
        store(vectors, (D_INCOMPLETE, j, i, q), dI)
    add_sum(numbers, (D_CLOSED, i, b), right)
    add_sum(numbers, (D_CLOSED, j, i), left)
    _finish_half(sentence, vectors, numbers, marginals, i, j, b, RIGHT)
    _finish_half(sentence, vectors, numbers, marginals, j, i, i, LEFT)


@inlined_kernel
def _finish_half(sentence, vectors, numbers, marginals, head, modifier, boundary, direction):
    # dC[h, b] += dclosed[h, b] alpha_inf                                              (eq. 19)
    # dI[h, m] += closed[m, b] dC[h, b]    where b is the boundary behind m            (eq. 20)
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
        matrices, codes, scores = sentence.A, sentence.codes, sentence.arc_scores
        _emit(vectors, matrices, codes, scores, D_INCOMPLETE, D_AWAITING, head, modifier, direction)
        # The posterior of the arc is dI[h, m] . I[h, m]                               (eq. 25)
        total = zeros()
        for q in range(0, vectors.shape[3], LANES):
            dI = load(vectors, (D_INCOMPLETE, head, modifier, q))
            total = multiply_add(dI, load(vectors, (INCOMPLETE, head, modifier, q)), total)
        put_sum(marginals, (modifier - 1, head), total)


@merged_kernel
def outside(sentence, n_tokens, tile, vectors, numbers, marginals):
    """Differentiate log Z by every entry of the chart (eqs. 19-22, 25).

    Parameters
    ----------
    sentence, n_tokens, tile, vectors, numbers
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
                _outside_common(vectors, numbers, i0, j0, tile, n)
            for j in range(end - 1, j0 - 1, -1):
                for i in range(i0, min(i0 + tile - 1, j) + 1):
                    if begun:
                        _outside_span(sentence, vectors, numbers, marginals, i, j, i0, end, BEGUN)
                    else:
                        _outside_span(
                            sentence, vectors, numbers, marginals, i, j, np.int64(1), n, NOT_BEGUN
                        )


@inlined_kernel
def _four_weighted_sums(vectors, numbers, factors, row, table, head, low, high, out):
    """Set out[head, row + r] = sum_k factors[row + r, k] table[head, k], low <= k < high."""
    for q in range(0, vectors.shape[3], LANES):
        sum_0, sum_1, sum_2, sum_3 = zeros(), zeros(), zeros(), zeros()
        k = low
        while k < high:
            vector = load(vectors, (table, head, k, q))
            sum_0 = multiply_add(weight(numbers, (factors, row, k)), vector, sum_0)
            sum_1 = multiply_add(weight(numbers, (factors, row + 1, k)), vector, sum_1)
            sum_2 = multiply_add(weight(numbers, (factors, row + 2, k)), vector, sum_2)
            sum_3 = multiply_add(weight(numbers, (factors, row + 3, k)), vector, sum_3)
            k = opaque(k + 1)
        store(vectors, (out, head, row, q), sum_0)
        store(vectors, (out, head, row + 1, q), sum_1)
        store(vectors, (out, head, row + 2, q), sum_2)
        store(vectors, (out, head, row + 3, q), sum_3)


@inlined_kernel
def _inner_products(vectors, numbers, lefts, x, rights, y, low, high):
    """Add sum_h lefts[h, x + r] . rights[h, y + s], low <= h < high, to dclosed[x + r, y + s]."""
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
def _inside_common(vectors, numbers, i0, j0, tile, n):
    """Begin the sums of :func:`_inside_span` for all spans of a tile, at their common points."""
    low, high = i0 + tile, j0
    by_boundary = CLOSED_BY_BOUNDARY
    for i in range(i0, i0 + tile):
        for j in range(j0, min(j0 + tile, n), 4):
            _four_weighted_sums(vectors, numbers, CLOSED, j, COMPLETE, i, low, high, AWAITING)
            _four_weighted_sums(
                vectors, numbers, by_boundary, j + 1, INCOMPLETE, i, low + 1, high, COMPLETE
            )
    for j in range(j0, min(j0 + tile, n)):
        for i in range(i0, i0 + tile, 4):
            _four_weighted_sums(vectors, numbers, CLOSED, i, COMPLETE, j, low, high, AWAITING)
            _four_weighted_sums(
                vectors, numbers, by_boundary, i, INCOMPLETE, j, low, high - 1, COMPLETE
            )


@table_kernel
def _outside_common(vectors, numbers, i0, j0, tile, n):
    """Begin the sums of :func:`_outside_span` for all spans of a tile, beyond rows and columns."""
    behind = j0 + tile
    by_boundary = CLOSED_BY_BOUNDARY
    for i in range(i0, i0 + tile):
        for j in range(j0, min(behind, n), 4):
            _four_weighted_sums(
                vectors, numbers, by_boundary, j + 1, D_AWAITING, i, behind, n, D_COMPLETE
            )
            _four_weighted_sums(
                vectors, numbers, CLOSED, j, D_COMPLETE, i, behind + 1, n + 1, D_INCOMPLETE
            )
    for j in range(j0, min(behind, n)):
        for i in range(i0, i0 + tile, 4):
            _four_weighted_sums(vectors, numbers, by_boundary, i, D_AWAITING, j, 1, i0, D_COMPLETE)
            _four_weighted_sums(vectors, numbers, CLOSED, i, D_COMPLETE, j, 1, i0, D_INCOMPLETE)
    for j in range(j0, min(behind, n), 4):
        for i in range(i0, i0 + tile, 4):
            _inner_products(vectors, numbers, D_AWAITING, i, COMPLETE, j + 1, behind, n)
            _inner_products(vectors, numbers, INCOMPLETE, i, D_COMPLETE, j + 1, 1, i0)
            _inner_products(vectors, numbers, D_AWAITING, j, COMPLETE, i, 1, i0)
            _inner_products(vectors, numbers, INCOMPLETE, j, D_COMPLETE, i, behind, n)
