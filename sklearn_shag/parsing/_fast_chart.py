"""The fast chart: plain doubles, for sentences whose values neither under- nor overflow.

Recurrences and names are those of the theory page, for trees with one root. The outside pass
gathers: each derivative is one sum over the larger spans that use its entry, and so takes the same
form as the inside sums, factors along a row of one table times vectors along a row of another.

Vectors are those of :mod:`sklearn_shag.utils._simd`. One source serves two regimes:

- they hold states, padded to a multiple of LANES: one sentence at a time;
- they hold sentences, LANES of them in lockstep, of automata with one state. Tables of numbers have
  one axis more. Shorter sentences are followed by zeros.

With memory, in lockstep, the class of a modifier differs from lane to lane: no class is skipped.

Spans i..j are visited tile by tile, i in rows and j in columns. Split points between the rows and
the columns of a tile are common to all its spans: their share of every sum is taken for four rows
of factors at once, as in a product of matrices. The few split points left, the edges, are added
span by span. If all is one tile, all of it is edges.

All tables lie in two arrays, so that offsets within them are computed once and not once a table.
"""

from typing import NamedTuple

import numpy as np

from sklearn_shag.encoding import LEFT, RIGHT
from sklearn_shag.parsing._fast_sums import (
    AWAITING,
    CLOSED,
    CLOSED_BY_BOUNDARY,
    COMPLETE,
    D_AWAITING,
    D_CLOSED,
    D_COMPLETE,
    D_INCOMPLETE,
    INCOMPLETE,
    REMEMBERED,
    SUM_AWAITING,
    SUM_COMPLETE,
    SUM_D_COMPLETE,
    SUM_D_INCOMPLETE,
    TokenClasses,
    add_inner_products,
    four_sums,
    place_of,
    states_of,
    sum_up,
)
from sklearn_shag.utils._kernel import inlined_kernel, inner_table_kernel, merged_kernel
from sklearn_shag.utils._simd import (
    LANES,
    add_sum,
    load,
    multiply,
    multiply_add,
    ones,
    opaque,
    put_sum,
    store,
    weight,
    zeros,
)

# Of a type of which numba makes no literals, as in :mod:`_fast_sums`.
LEFT_SIDE, RIGHT_SIDE = np.int64(LEFT), np.int64(RIGHT)
OF_CLASS, NOT_OF_CLASS = np.bool_(True), np.bool_(False)


class SpanHalf(NamedTuple):
    """One of the two halves that cover a span: its head, outermost modifier, end and side."""

    head: int
    modifier: int  # the other end of the span; the head itself in a span of one token
    boundary: int  # the end of the half, behind the modifier
    direction: int


class ChartSentence(NamedTuple):
    """Codes, vectors and arc scores of a sentence of N tokens, or of several in lockstep."""

    codes: np.ndarray  # (N,)
    starts: np.ndarray  # alpha_1 of every position and direction, (N + 1, 2, n)
    stops: np.ndarray  # alpha_inf of every position and direction, (N + 1, 2, n)
    A: np.ndarray | None  # (n_heads, 2, n_symbols, n, n); None in lockstep
    A_transposed: np.ndarray | None  # the last two axes exchanged: both products run along rows
    # (N + 1, N + 1, n_classes), by modifier, head and the class before; in lockstep with A in them
    # and one axis more.
    arc_scores: np.ndarray
    n_classes: int
    memory: TokenClasses | None  # None without memory, and in lockstep
    in_class: np.ndarray  # for memory in lockstep: 1 or 0, (N + 1, n_classes, LANES)


@inlined_kernel
def _halves_of(i, j):
    """Return the right and the left half of i..j."""
    return SpanHalf(i, j, j + 1, RIGHT_SIDE), SpanHalf(j, i, i, LEFT_SIDE)


@inlined_kernel
def _apply_operator(sentence, vectors, matrices, before, after, half, score, first):
    """Set after[h, m], from its state `first` on: score sum_p matrices[h, m][p] before[h, m, p]."""
    head, modifier, codes = half.head, half.modifier, sentence.codes
    code, symbol = codes[head - 1], codes[modifier - 1]
    for q in range(0, matrices.shape[4], LANES):
        even, odd = zeros(), zeros()  # two sums: one would wait for itself
        for p in range(0, matrices.shape[4], 2):
            row = load(matrices, (code, half.direction, symbol, p, q))
            even = multiply_add(weight(vectors, (before, head, modifier, p)), row, even)
            row = load(matrices, (code, half.direction, symbol, p + 1, q))
            odd = multiply_add(weight(vectors, (before, head, modifier, p + 1)), row, odd)
        total = multiply_add(score, even, multiply(score, odd))
        store(vectors, (after, head, modifier, first + q), total)


@inlined_kernel
def _emit_modifier(sentence, matrices, memory, vectors, half):
    """Set I[h, m] = A[h, m] g[h, m] w[h, m], where w are the scores of the arc (eq. 17)."""
    scores, head, modifier = sentence.arc_scores, half.head, half.modifier
    if matrices is None:  # in lockstep; they are in the scores
        total = _sum_classes(sentence, vectors, half, 0, LANES)
        for c in range(sentence.n_classes):
            of_class = multiply(weight(sentence.in_class, (modifier, c)), total)
            store(vectors, (INCOMPLETE, head, modifier, c * LANES), of_class)
    elif memory is None:
        score = weight(scores, (modifier, head, 0))
        _apply_operator(sentence, vectors, matrices, AWAITING, INCOMPLETE, half, score, 0)
    else:
        for q in range(0, memory.n_states, LANES):
            total = _sum_classes(sentence, vectors, half, q, memory.n_states)
            store(vectors, (REMEMBERED, head, modifier, q), total)
        for q in range(0, vectors.shape[3], LANES):
            store(vectors, (INCOMPLETE, head, modifier, q), zeros())
        first = memory.columns[modifier]
        _apply_operator(sentence, vectors, matrices, REMEMBERED, INCOMPLETE, half, ones(), first)


@inlined_kernel
def _sum_classes(sentence, vectors, half, q, n_states):
    """Return sum_c w[h, m, c] g[h, m, c], a vector of LANES states from q on."""
    total = zeros()
    for c in range(sentence.n_classes):
        awaiting = load(vectors, (AWAITING, half.head, half.modifier, c * n_states + q))
        score = weight(sentence.arc_scores, (half.modifier, half.head, c))
        total = multiply_add(score, awaiting, total)
    return total


@inlined_kernel
def _differentiate_emission(sentence, matrices, memory, vectors, half):
    """Set dg[h, m] = A[h, m]^T dI[h, m] w[h, m]^T (eq. 21)."""
    head, modifier = half.head, half.modifier
    if matrices is None:  # in lockstep
        total = zeros()
        for c in range(sentence.n_classes):
            dI = load(vectors, (D_INCOMPLETE, head, modifier, c * LANES))
            total = multiply_add(weight(sentence.in_class, (modifier, c)), dI, total)
        _spread_classes(sentence, vectors, half, 0, LANES, total)
    elif memory is None:
        score = weight(sentence.arc_scores, (modifier, head, 0))
        _apply_operator(sentence, vectors, matrices, D_INCOMPLETE, D_AWAITING, half, score, 0)
    else:
        _apply_operator(sentence, vectors, matrices, D_INCOMPLETE, D_AWAITING, half, ones(), 0)
        for q in range(0, memory.n_states, LANES):
            total = load(vectors, (D_AWAITING, head, modifier, q))
            _spread_classes(sentence, vectors, half, q, memory.n_states, total)


@inlined_kernel
def _spread_classes(sentence, vectors, half, q, n_states, total):
    """Set dg[h, m, c] = w[h, m, c] `total` for each class c, for LANES states from q on."""
    for c in range(sentence.n_classes):
        of_class = multiply(weight(sentence.arc_scores, (half.modifier, half.head, c)), total)
        store(vectors, (D_AWAITING, half.head, half.modifier, c * n_states + q), of_class)


@inlined_kernel
def _close_half(sentence, tables, half):
    # closed[h, b] = alpha_inf . C[h, b]                                               (eq. 14)
    head, boundary, total = half.head, half.boundary, zeros()
    for q in range(0, tables.vectors.shape[3], LANES):
        complete = load(tables.vectors, (COMPLETE, head, boundary, q))
        total = multiply_add(load(sentence.stops, (head, half.direction, q)), complete, total)
    put_sum(tables.numbers, (CLOSED, head, boundary), total)
    put_sum(tables.numbers, (CLOSED_BY_BOUNDARY, boundary, head), total)


@inlined_kernel
def _start_half(sentence, tables, half):
    # C[h, h] = C[h, h + 1] = alpha_1                                                  (eq. 15)
    vectors, head = tables.vectors, half.head
    for q in range(0, vectors.shape[3], LANES):
        start = load(sentence.starts, (head, half.direction, q))
        store(vectors, (COMPLETE, head, half.boundary, q), start)
        store(vectors, (INCOMPLETE, head, head, q), zeros())  # defined: its range is checked
    _close_half(sentence, tables, half)


@merged_kernel
def _inside_span(sentence, tables, i, j, low, high, begun):
    """Fill both halves of i..j; if `begun`, sums have the terms of low <= k < high already."""
    i, j = opaque(i), opaque(j)
    right, left = _halves_of(i, j)
    memory, matrices = sentence.memory, sentence.A_transposed
    # g[h, m] = sum_b closed[m, b] C[h, b]    over boundaries between them             (eq. 16)
    sum_up(tables, SUM_AWAITING, i, j, low, high, begun)
    # I[h, m] = score(h, m) A[h, m] g[h, m]                                            (eq. 17)
    _emit_modifier(sentence, matrices, memory, tables.vectors, right)
    _emit_modifier(sentence, matrices, memory, tables.vectors, left)
    # C[h, b] = sum_m closed[m, b] I[h, m]    over the outermost modifier              (eq. 18)
    sum_up(tables, SUM_COMPLETE, i, j, low, high, begun)
    _close_half(sentence, tables, right)
    _close_half(sentence, tables, left)


@merged_kernel
def fill_inside(sentence, first, n, tile, tables):
    """Fill the chart of some tokens, as if there were no others (eqs. 14-18).

    Parameters
    ----------
    sentence : ChartSentence
    first, n : int
        The tokens are first <= m < n.
    tile : int
        Rows and columns of a tile: n - 1 or more for one tile, else a multiple of four.
    tables : Tables
        Undefined on entry.
    """
    for j0 in range(first, n, tile):
        for i0 in range(j0, first - 1, -tile):
            begun = i0 < j0
            if begun:
                _inside_common(tables, sentence.memory, i0, j0, tile, n)
            for j in range(j0, min(j0 + tile, n)):
                for i in range(min(i0 + tile - 1, j), i0 - 1, -1):
                    if i < j:
                        low, high = (i0 + tile, j0) if begun else (j + 1, j + 1)
                        _inside_span(sentence, tables, i, j, low, high, begun)
                    else:
                        right, left = _halves_of(i, i)
                        _start_half(sentence, tables, left)
                        _start_half(sentence, tables, right)


@inlined_kernel
def _add_beyond(tables, memory, half, other, q, low, high, begun, of_class, own, across):
    """Add the terms of larger spans, with heads or ends k, to the derivatives of one half.

    `own` is the derivative of closed[head, boundary], `across` of closed[modifier, other];
    `of_class` says whether there are states q in dI, which has the states of one class only.
    """
    vectors, numbers = tables.vectors, tables.numbers
    head, modifier, boundary, direction = half
    place = place_of(memory, SUM_D_INCOMPLETE, q, modifier)
    dC = load(vectors, (D_COMPLETE, head, boundary, q)) if begun else zeros()
    dI = load(vectors, (D_INCOMPLETE, head, modifier, q)) if begun and of_class else zeros()
    k = low
    while k < high:
        # dclosed[h, b] += dg[k, h] . C[k, b]    over heads k beyond b                   (eq. 22)
        vector = load(vectors, (D_AWAITING, k, head, q))
        own = multiply_add(vector, load(vectors, (COMPLETE, k, boundary, q)), own)
        if of_class:
            # dclosed[m, b'] += I[k, m] . dC[k, b']    over the same heads               (eq. 20)
            vector = load(vectors, (INCOMPLETE, k, modifier, place))
            across = multiply_add(vector, load(vectors, (D_COMPLETE, k, other, place)), across)
        # dC[h, b] += closed[k, b] dg[h, k]    over modifiers k beyond b                 (eq. 22)
        factor = weight(numbers, (CLOSED_BY_BOUNDARY, boundary, k))
        dC = multiply_add(factor, load(vectors, (D_AWAITING, head, k, q)), dC)
        if of_class:
            # dI[h, m] += closed[m, k] dC[h, k]    over boundaries k beyond b            (eq. 20)
            factor = weight(numbers, (CLOSED, modifier, k + direction))
            vector = load(vectors, (D_COMPLETE, head, k + direction, place))
            dI = multiply_add(factor, vector, dI)
        k = opaque(k + 1)
    store(vectors, (D_COMPLETE, head, boundary, q), dC)
    if of_class:
        store(vectors, (D_INCOMPLETE, head, modifier, q), dI)
    return own, across


@merged_kernel
def _outside_span(sentence, tables, marginals, i, j, far, end, begun):
    """Compute the derivatives by both halves of i..j and by the arcs between i and j."""
    i, j = opaque(i), opaque(j)
    b, memory = j + 1, sentence.memory
    right, left = _halves_of(i, j)
    d_right, d_left = zeros(), zeros()
    width = states_of(tables.vectors, memory, SUM_D_INCOMPLETE)
    for q in range(0, width, LANES):
        d_right, d_left = _add_beyond(
            tables, memory, right, i, q, b, end, begun, OF_CLASS, d_right, d_left
        )
        d_left, d_right = _add_beyond(
            tables, memory, left, b, q, far, i, begun, OF_CLASS, d_left, d_right
        )
    if memory is not None:
        for q in range(width, tables.vectors.shape[3], LANES):
            d_right, d_left = _add_beyond(
                tables, memory, right, i, q, b, end, begun, NOT_OF_CLASS, d_right, d_left
            )
            d_left, d_right = _add_beyond(
                tables, memory, left, b, q, far, i, begun, NOT_OF_CLASS, d_left, d_right
            )
    add_sum(tables.numbers, (D_CLOSED, i, b), d_right)
    add_sum(tables.numbers, (D_CLOSED, j, i), d_left)
    _finish_half(sentence, memory, tables, marginals, right)
    _finish_half(sentence, memory, tables, marginals, left)


@inlined_kernel
def _finish_states(vectors, closed, half, q, place, total):
    """Finish dI, and add its product with I: the posterior of the arc is the sum (eq. 25)."""
    dC = load(vectors, (D_COMPLETE, half.head, half.boundary, place))
    dI = load(vectors, (D_INCOMPLETE, half.head, half.modifier, q))
    dI = multiply_add(closed, dC, dI)
    store(vectors, (D_INCOMPLETE, half.head, half.modifier, q), dI)
    return multiply_add(dI, load(vectors, (INCOMPLETE, half.head, half.modifier, place)), total)


@inlined_kernel
def _finish_half(sentence, memory, tables, marginals, half):
    # dC[h, b] += dclosed[h, b] alpha_inf                                              (eq. 19)
    # dI[h, m] += closed[m, b] dC[h, b]    where b is the boundary behind m            (eq. 20)
    vectors, numbers = tables.vectors, tables.numbers
    head, modifier, boundary, direction = half
    d_closed = weight(numbers, (D_CLOSED, head, boundary))
    closed = weight(numbers, (CLOSED, modifier, boundary))
    total = zeros()
    for q in range(0, vectors.shape[3], LANES):
        stop = load(sentence.stops, (head, direction, q))
        dC = multiply_add(d_closed, stop, load(vectors, (D_COMPLETE, head, boundary, q)))
        store(vectors, (D_COMPLETE, head, boundary, q), dC)
        if memory is None:
            total = _finish_states(vectors, closed, half, q, q, total)
    if memory is not None:
        for q in range(0, memory.n_states, LANES):
            place = q + memory.columns[modifier]
            total = _finish_states(vectors, closed, half, q, place, total)
    if head == modifier:
        return
    put_sum(marginals, (modifier - 1, head), total)
    _differentiate_emission(sentence, sentence.A, memory, vectors, half)


@merged_kernel
def fill_outside(sentence, n_tokens, tile, tables, marginals):
    """Differentiate log Z by every entry of the chart (eqs. 19-22, 25).

    Parameters
    ----------
    sentence, n_tokens, tile, tables
        As for :func:`fill_inside`, which has filled the chart. On entry, the table D_CLOSED holds
        the derivatives by the halves that the root joins, and zeros.
    marginals : array of shape (N, N + 1), in lockstep (N, N + 1, LANES)
        Column 0, of the root, is left as it is.
    """
    n = n_tokens + 1
    for j0 in range(1 + (n_tokens - 1) // tile * tile, 0, -tile):
        for i0 in range(1, j0 + 1, tile):
            begun, far, end = i0 < j0, np.int64(1), n
            if begun:
                far, end = i0, min(j0 + tile, n)
                _outside_common(tables, sentence.memory, i0, j0, tile, n)
            for j in range(min(j0 + tile, n) - 1, j0 - 1, -1):
                for i in range(i0, min(i0 + tile - 1, j) + 1):
                    _outside_span(sentence, tables, marginals, i, j, far, end, begun)


@inner_table_kernel
def _inside_common(tables, memory, i0, j0, tile, n):
    """Set the sums of eqs. 16 and 18 to their terms at split points common to a tile."""
    low, high = i0 + tile, j0
    for i in range(i0, i0 + tile):
        for j in range(j0, min(j0 + tile, n), 4):
            four_sums(tables, SUM_AWAITING, memory, i, j, low, high)
            four_sums(tables, SUM_COMPLETE, memory, i, j + 1, low + 1, high)
    for j in range(j0, min(j0 + tile, n)):
        for i in range(i0, i0 + tile, 4):
            four_sums(tables, SUM_AWAITING, memory, j, i, low, high)
            four_sums(tables, SUM_COMPLETE, memory, j, i, low, high - 1)


@inner_table_kernel
def _outside_common(tables, memory, i0, j0, tile, n):
    """Set the sums of eqs. 20 and 22 to their terms beyond the rows and columns of a tile."""
    low, behind = np.int64(1), j0 + tile  # of one type, or functions would be compiled for each
    for i in range(i0, i0 + tile):
        for j in range(j0, min(behind, n), 4):
            four_sums(tables, SUM_D_COMPLETE, memory, i, j + 1, behind, n)
            four_sums(tables, SUM_D_INCOMPLETE, memory, i, j, behind + 1, n + 1)
    for j in range(j0, min(behind, n)):
        for i in range(i0, i0 + tile, 4):
            four_sums(tables, SUM_D_COMPLETE, memory, j, i, low, i0)
            four_sums(tables, SUM_D_INCOMPLETE, memory, j, i, low, i0)
    awaiting, emitted = SUM_D_COMPLETE, SUM_D_INCOMPLETE
    for j in range(j0, min(behind, n), 4):
        for i in range(i0, i0 + tile, 4):
            add_inner_products(tables, awaiting, memory, D_AWAITING, i, COMPLETE, j + 1, behind, n)
            add_inner_products(tables, emitted, memory, INCOMPLETE, i, D_COMPLETE, j + 1, low, i0)
            add_inner_products(tables, awaiting, memory, D_AWAITING, j, COMPLETE, i, low, i0)
            add_inner_products(tables, emitted, memory, INCOMPLETE, j, D_COMPLETE, i, behind, n)
