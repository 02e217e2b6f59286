"""The sums that the fast chart consists of: factors times vectors, span by span or four at once.

With memory (see :class:`Potentials`) halves have states for every class of the last modifier, one
class after the other. Those that have just emitted a modifier are of its class, zero elsewhere: the
sums for four at once visit only modifiers of the class, or the states of the class. Span by span it
does not pay: there are few terms, and a loop of unforeseen length takes longer than a longer one.

Inner loops count with :func:`opaque`: the compiler would unroll them, and then keep an address in
memory for every table and step.
"""

from typing import NamedTuple

import numpy as np

from sklearn_shag.utils._kernel import inlined_kernel
from sklearn_shag.utils._simd import (
    LANES,
    add_sum,
    load,
    multiply_add,
    opaque,
    store,
    weight,
    zeros,
)

# Constants are of a type of which numba makes no literals: it would compile the functions below
# anew for each. They are folded all the same, since the functions are inlined.
BEGUN, NOT_BEGUN = np.bool_(True), np.bool_(False)  # sums of a tile, at their common points
# Tables of vectors. D_ are derivatives of log Z.
COMPLETE, AWAITING, INCOMPLETE, D_COMPLETE, D_AWAITING, D_INCOMPLETE = map(np.int64, range(6))
N_VECTOR_TABLES, N_NUMBER_TABLES = np.int64(6), np.int64(3)
# What is known of the last modifier before an operator is applied waits where dI will be.
REMEMBERED = D_INCOMPLETE
# Tables of numbers.
CLOSED, CLOSED_BY_BOUNDARY, D_CLOSED = map(np.int64, range(3))


class Tables(NamedTuple):
    """The chart: what each half sums up to, by table, head and end, and the derivatives."""

    vectors: np.ndarray  # (6, P, P + 1, n), n for all classes; P is at least N + 5
    numbers: np.ndarray  # (3, P + 1, P + 1), in lockstep (3, P + 1, P + 1, LANES)


class Memory(NamedTuple):
    """The class of every token of one sentence, as the sums need it."""

    n_states: int  # of one class
    classes: np.ndarray  # (n / LANES,): to which class LANES states belong
    columns: np.ndarray  # (P,): where the states of the class of a token begin
    following: np.ndarray  # (n_classes, P): the next token of the class from a position on


class Sum(NamedTuple):
    """The tables of out[head, end] = sum_k factors[end, k] terms[head, k]."""

    factors: np.int64
    terms: np.int64
    out: np.int64
    shift: np.int64  # of ends: 1 if they are boundaries, behind modifiers in right halves; else 0
    of_class: np.int64  # what is of one class only: nothing, terms[:, k], or out[:, end]


ALL_CLASSES, TERMS_OF_CLASS, OUT_OF_CLASS = map(np.int64, range(3))
SUM_AWAITING = Sum(CLOSED, COMPLETE, AWAITING, np.int64(0), ALL_CLASSES)  # (eq. 16)
SUM_COMPLETE = Sum(
    CLOSED_BY_BOUNDARY, INCOMPLETE, COMPLETE, np.int64(1), TERMS_OF_CLASS
)  # (eq. 18)
SUM_D_INCOMPLETE = Sum(CLOSED, D_COMPLETE, D_INCOMPLETE, np.int64(0), OUT_OF_CLASS)  # (eq. 20)
SUM_D_COMPLETE = Sum(
    CLOSED_BY_BOUNDARY, D_AWAITING, D_COMPLETE, np.int64(1), ALL_CLASSES
)  # (eq. 22)


@inlined_kernel
def states_of(vectors, memory, sums):
    """How many states the out of a sum has."""
    if memory is None:
        return vectors.shape[3]
    return memory.n_states if sums.of_class == OUT_OF_CLASS else vectors.shape[3]


@inlined_kernel
def place_of(memory, sums, q, end):
    """Where, in the terms of a sum, what contributes to the states from q on of out[:, end] is."""
    if memory is None:
        return q
    return q + memory.columns[end] if sums.of_class == OUT_OF_CLASS else q


@inlined_kernel
def _next_term(memory, sums, q, k):
    """Which term from k on is the next that contributes to the states from q on."""
    if memory is None:
        return opaque(k)
    if sums.of_class == TERMS_OF_CLASS:
        return memory.following[memory.classes[q // LANES], k]
    return opaque(k)


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
def sum_up(tables, sums, i, j, low, high, begun):
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
def four_sums(tables, sums, memory, head, end, low, high):
    """Set a sum of a head to its terms low <= k < high, for four ends from `end` on."""
    vectors, numbers, factors = tables.vectors, tables.numbers, sums.factors
    for q in range(0, states_of(vectors, memory, sums), LANES):
        sum_0, sum_1, sum_2, sum_3 = zeros(), zeros(), zeros(), zeros()
        # One place, and so one load, but for sums of the class of each end.
        place_0, place_1 = place_of(memory, sums, q, end), place_of(memory, sums, q, end + 1)
        place_2, place_3 = place_of(memory, sums, q, end + 2), place_of(memory, sums, q, end + 3)
        k = _next_term(memory, sums, q, low)
        while k < high:
            vector = load(vectors, (sums.terms, head, k, place_0))
            sum_0 = multiply_add(weight(numbers, (factors, end, k)), vector, sum_0)
            vector = load(vectors, (sums.terms, head, k, place_1))
            sum_1 = multiply_add(weight(numbers, (factors, end + 1, k)), vector, sum_1)
            vector = load(vectors, (sums.terms, head, k, place_2))
            sum_2 = multiply_add(weight(numbers, (factors, end + 2, k)), vector, sum_2)
            vector = load(vectors, (sums.terms, head, k, place_3))
            sum_3 = multiply_add(weight(numbers, (factors, end + 3, k)), vector, sum_3)
            k = _next_term(memory, sums, q, k + 1)
        store(vectors, (sums.out, head, end, q), sum_0)
        store(vectors, (sums.out, head, end + 1, q), sum_1)
        store(vectors, (sums.out, head, end + 2, q), sum_2)
        store(vectors, (sums.out, head, end + 3, q), sum_3)


@inlined_kernel
def add_inner_products(tables, sums, memory, lefts, x, rights, y, low, high):
    """Add sum_h lefts[h, x + r] . rights[h, y + s], low <= h < high, to dclosed[x + r, y + s].

    `sums` tells which states there are in both.
    """
    vectors, numbers = tables.vectors, tables.numbers
    for r in range(x, x + 4, 2):
        sum_00, sum_01, sum_02, sum_03 = zeros(), zeros(), zeros(), zeros()
        sum_10, sum_11, sum_12, sum_13 = zeros(), zeros(), zeros(), zeros()
        h = low
        while h < high:
            for q in range(0, states_of(vectors, memory, sums), LANES):
                place_0, place_1 = place_of(memory, sums, q, r), place_of(memory, sums, q, r + 1)
                left_0 = load(vectors, (lefts, h, r, place_0))
                left_1 = load(vectors, (lefts, h, r + 1, place_1))
                sum_00 = multiply_add(left_0, load(vectors, (rights, h, y, place_0)), sum_00)
                sum_10 = multiply_add(left_1, load(vectors, (rights, h, y, place_1)), sum_10)
                sum_01 = multiply_add(left_0, load(vectors, (rights, h, y + 1, place_0)), sum_01)
                sum_11 = multiply_add(left_1, load(vectors, (rights, h, y + 1, place_1)), sum_11)
                sum_02 = multiply_add(left_0, load(vectors, (rights, h, y + 2, place_0)), sum_02)
                sum_12 = multiply_add(left_1, load(vectors, (rights, h, y + 2, place_1)), sum_12)
                sum_03 = multiply_add(left_0, load(vectors, (rights, h, y + 3, place_0)), sum_03)
                sum_13 = multiply_add(left_1, load(vectors, (rights, h, y + 3, place_1)), sum_13)
            h = opaque(h + 1)
        add_sum(numbers, (D_CLOSED, r, y), sum_00)
        add_sum(numbers, (D_CLOSED, r, y + 1), sum_01)
        add_sum(numbers, (D_CLOSED, r, y + 2), sum_02)
        add_sum(numbers, (D_CLOSED, r, y + 3), sum_03)
        add_sum(numbers, (D_CLOSED, r + 1, y), sum_10)
        add_sum(numbers, (D_CLOSED, r + 1, y + 1), sum_11)
        add_sum(numbers, (D_CLOSED, r + 1, y + 2), sum_12)
        add_sum(numbers, (D_CLOSED, r + 1, y + 3), sum_13)
