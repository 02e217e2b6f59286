"""The tables of the fast chart: sums over splits, and the range that they must keep."""

from typing import NamedTuple

import numpy as np

from sklearn_shag.utils._kernel import inlined_kernel, inner_table_kernel
from sklearn_shag.utils._simd import (
    LANES,
    add_sum,
    load,
    multiply_add,
    opaque,
    shaped,
    store,
    weight,
    zeros,
)

# Constants are of a type of which numba makes no literals: it would compile the functions below
# anew for each. They are folded all the same, since the functions are inlined.
# Tables of vectors. D_ are derivatives of log Z.
COMPLETE, AWAITING, INCOMPLETE, D_COMPLETE, D_AWAITING, D_INCOMPLETE = map(np.int64, range(6))
N_VECTOR_TABLES, N_NUMBER_TABLES = np.int64(6), np.int64(3)
# Vectors of an arc before its operator is applied take the place of dI, which comes later.
REMEMBERED = D_INCOMPLETE
# Tables of numbers.
CLOSED, CLOSED_BY_BOUNDARY, D_CLOSED = map(np.int64, range(3))


class Tables(NamedTuple):
    """Tables of the chart: values of halves and arcs, by head and end, and the derivatives."""

    vectors: np.ndarray  # (6, P, P + 1, n), n for all classes; P is at least N + 5
    numbers: np.ndarray  # (3, P + 1, P + 1), in lockstep (3, P + 1, P + 1, LANES)


class TokenClasses(NamedTuple):
    """Memory classes of the tokens of one sentence, and their states in the tables."""

    n_states: int  # of one class
    classes: np.ndarray  # (n / LANES,): the class of LANES states
    columns: np.ndarray  # (P,): the first state of the class of each token
    following: np.ndarray  # (n_classes, P): the next token of the class from a position on


class Sum(NamedTuple):
    """The tables of out[head, end] = sum_k factors[end, k] terms[head, k]."""

    factors: np.int64
    terms: np.int64
    out: np.int64
    shift: np.int64  # of ends: 1 if they are boundaries, behind modifiers in right halves; else 0
    of_class: np.int64  # the part of one class only: none, terms[:, k], or out[:, end]


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
    """Return the number of states in the output table of a sum."""
    if memory is None:
        return vectors.shape[3]
    return memory.n_states if sums.of_class == OUT_OF_CLASS else vectors.shape[3]


@inlined_kernel
def place_of(memory, sums, q, end):
    """Return the state of the terms that belongs to state q of out[:, end] in a sum."""
    if memory is None:
        return q
    return q + memory.columns[end] if sums.of_class == OUT_OF_CLASS else q


@inlined_kernel
def _next_term(memory, sums, q, k):
    """Return the first term from k on that adds to the states from q on."""
    if memory is None:
        return opaque(k)
    if sums.of_class == TERMS_OF_CLASS:
        return memory.following[memory.classes[q // LANES], k]
    return opaque(k)


@inlined_kernel
def _add_terms(tables, sums, i, j, q, low, high, right, left):
    """Add terms low <= k < high to a sum of the right half of i..j, and as many to the left.

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
    """Compute a sum for both halves of i..j; if `begun`, it has the terms low <= k < high."""
    vectors = tables.vectors
    for q in range(0, vectors.shape[3], LANES):
        right = load(vectors, (sums.out, i, j + sums.shift, q)) if begun else zeros()
        left = load(vectors, (sums.out, j, i, q)) if begun else zeros()
        end = min(low + sums.shift, j + 1)
        right, left = _add_terms(tables, sums, i, j, q, i + 1, end, right, left)
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
        # One place, and so one load, except in sums for the class of each end.
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


# A chart is in range if no entry is larger, and no closed half, nor Z, is smaller unless it is 0:
# then whatever vanished in a product is negligible. Operators may be small, but not larger.
SMALLEST_IN_RANGE, LARGEST_IN_RANGE = 1e-90, 1e90
# Smaller halves do not matter where no derivative of log Z is larger than this: lost values were
# below 1e-300, and so change neither log Z nor an expected use.
LARGEST_DERIVATIVE = 1e100
# Largest scale of a token, as a power of two.
LARGEST_EXPONENT = 100
# Sentences up to this length seldom need a scale.
LONGEST_UNSCALED = np.int64(24)
# All tokens of a sentence are scaled by the mean of its first N_PROBED tokens. Sentences longer
# than LONGEST_SCALED_ALIKE, or out of range, are then scaled window by window as well.
N_PROBED, LONGEST_SCALED_ALIKE = np.int64(12), np.int64(200)
# Tokens of the first windows, each scaled by its own total; the factor by which windows then grow;
# and the number of windows that a sentence must exceed, so that windows cost little.
WINDOW, NEXT_WINDOW, SMALLEST_SHARE = np.int64(48), np.int64(4), np.int64(4)


@inlined_kernel
def choose_longer(group, longest):
    """Mark sentences longer than `longest` in n_wrong, to be scaled; return whether any is."""
    for member in range(group.lengths.size):
        group.n_wrong[member] = group.lengths[member] > longest
    return group.n_wrong.any()


@inlined_kernel
def _scale_arcs(group, member, m, exponent):
    """Divide arcs to a token by two to the power `exponent`, instead of its scale so far."""
    exponent = min(max(exponent, -LARGEST_EXPONENT), LARGEST_EXPONENT)
    factor = 2.0 ** (group.exponents[m, member] - exponent)
    group.exponents[m, member] = exponent
    group.roots[m, member] *= factor
    scores = shaped(group.arc_scores[m], (group.arc_scores[m].size,))
    n_members = group.lengths.size
    for k in range(group.arc_scores.shape[2], scores.size // n_members):  # the first is the root
        scores[k * n_members + member] *= factor


@inner_table_kernel
def scale_by_first_tokens(group, n):
    """Scale all tokens of marked sentences by the mean of tokens 1 <= m < n."""
    for member in range(group.lengths.size):
        if not group.n_wrong[member]:
            continue
        exponent = round(_log2_value(group, member, np.int64(1), n) / (n - 1))
        for m in range(1, group.lengths[member] + 1):
            _scale_arcs(group, member, m, group.exponents[m, member] + exponent)


@inner_table_kernel
def scale_by_window(group, first, n, window):
    """Scale tokens first <= m < n of marked sentences by their own total, in longer ones."""
    for member in range(group.lengths.size):
        end = min(n, group.lengths[member] + 1)
        longer = window == WINDOW or SMALLEST_SHARE * window < group.lengths[member]
        if not (group.n_wrong[member] and longer and first < end):
            continue
        # Spread evenly: to a part of the tokens one more.
        exponent = round(_log2_value(group, member, first, end))
        each, n_more = divmod(exponent, end - first)
        for m in range(first, end):
            more = 1 if m - first < n_more else 0
            _scale_arcs(group, member, m, group.exponents[m, member] + each + more)


@inlined_kernel
def _log2_value(group, member, first, end):
    """Return log2 of the largest total, by root, of the trees over tokens first <= m < end.

    Where there is none, as when known heads lie elsewhere, or a total is too large, it is estimated
    from as many arcs of smaller halves.
    """
    largest = 0.0
    for m in range(first, end):
        left = group.numbers[CLOSED, m, first, member]
        size = abs(left * group.numbers[CLOSED, m, end, member])
        largest = max(largest, size) if size < np.inf else np.inf
    if 0.0 < largest < np.inf:
        return np.log2(largest)
    total, n_arcs = 0.0, 0
    for h in range(first, end):
        for b in range(first, end + 1):
            width, size = max(h - b, b - h - 1), abs(group.numbers[CLOSED, h, b, member])
            if width > 0 and 0.0 < size < np.inf:
                total += np.log2(size)
                n_arcs += width
    return total / n_arcs * (end - first) if n_arcs else 0.0


@inner_table_kernel
def all_in_range(group, n_tokens):
    """Tell whether all entries of the chart are in range; count the others in n_wrong.

    An entry lost beside larger ones of its vector is negligible; where a whole vector is lost, the
    closed half that it leads to is too small.
    """
    vectors, n_members = group.vectors, group.lengths.size
    size = vectors.shape[3]
    for member in range(n_members):
        group.n_wrong[member] = _is_out_of_range(group.z[member], SMALLEST_IN_RANGE)
    for h in range(1, n_tokens + 1):
        # There is a boundary behind the last token, but no modifier.
        row = shaped(vectors[COMPLETE, h], ((n_tokens + 2) * size,))[size:]
        _count_out_of_range(row, 0.0, group.n_wrong)
        row = shaped(vectors[INCOMPLETE, h], ((n_tokens + 1) * size,))[size:]
        _count_out_of_range(row, 0.0, group.n_wrong)
        row = shaped(group.numbers[CLOSED, h], ((n_tokens + 2) * n_members,))[n_members:]
        _count_out_of_range(row, SMALLEST_IN_RANGE, group.n_wrong)
    return not group.n_wrong.any()


@inner_table_kernel
def recount_by_derivatives(group):
    """Count again, by derivatives, the lost entries of sentences that seem out of range."""
    for member in range(group.lengths.size):
        if group.n_wrong[member]:
            group.n_wrong[member] = _count_losses(group, member)


@inlined_kernel
def _count_losses(group, member):
    vectors, numbers, z = group.vectors, group.numbers, abs(group.z[member])
    n, size, n_members = group.lengths[member], vectors.shape[3], group.lengths.size
    of_class = size if n_members > 1 else size // group.arc_scores.shape[2]
    n_wrong = 0 if z == 0.0 or 1 / LARGEST_DERIVATIVE <= z <= LARGEST_IN_RANGE else 1
    for h in range(1, n + 1):
        for b in range(1, n + 2):
            n_wrong += not abs(numbers[CLOSED, h, b, member]) <= LARGEST_IN_RANGE
            n_wrong += not abs(numbers[D_CLOSED, h, b, member]) <= LARGEST_DERIVATIVE
            for q in range(member, size, n_members):
                n_wrong += not abs(vectors[COMPLETE, h, b, q]) <= LARGEST_IN_RANGE
                n_wrong += not abs(vectors[D_COMPLETE, h, b, q]) <= LARGEST_DERIVATIVE
                if b <= n:
                    n_wrong += not abs(vectors[INCOMPLETE, h, b, q]) <= LARGEST_IN_RANGE
                if b <= n and q < of_class:
                    n_wrong += not abs(vectors[D_INCOMPLETE, h, b, q]) <= LARGEST_DERIVATIVE
    return n_wrong


@inlined_kernel
def _count_out_of_range(values, smallest, n_wrong):
    if n_wrong.size == 1:
        count = 0  # in a register
        for k in range(values.size):
            count += _is_out_of_range(values[k], smallest)
        n_wrong[0] += count
        return
    for k in range(0, values.size, LANES):
        for member in range(LANES):
            n_wrong[member] += _is_out_of_range(values[k + member], smallest)


@inlined_kernel
def _is_out_of_range(value, smallest):
    # Without branches, so that several are compared at once; NaN is not equal to itself.
    size = abs(value)
    return (size != 0.0) & ((size < smallest) | (size > LARGEST_IN_RANGE) | (size != size))
