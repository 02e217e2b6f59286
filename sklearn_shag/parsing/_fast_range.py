"""The range of the fast chart: scales that keep sentences in it, and what tells if they are not."""

import numpy as np

from sklearn_shag.parsing._fast_sums import CLOSED, COMPLETE, INCOMPLETE
from sklearn_shag.utils._kernel import inlined_kernel, inner_table_kernel
from sklearn_shag.utils._simd import LANES, shaped

# A chart is in range if no entry is larger, and no closed half, nor Z, is smaller unless it is 0:
# then whatever vanished in a product is negligible. Operators may be small, but not larger.
SMALLEST_IN_RANGE, LARGEST_IN_RANGE = 1e-90, 1e90
# Of the scale of a token, as a power of two.
LARGEST_EXPONENT = 100
# Sentences up to this length seldom need a scale.
LONGEST_UNSCALED = np.int64(24)
# So many tokens tell by what factor the value of a sentence changes with each. Up to the longest
# scaled by them, it is not tried whether that is enough.
N_PROBED, LONGEST_SCALED_ALIKE = np.int64(12), np.int64(200)
# Where it was not enough, windows of so many tokens each tell it of their own; then windows so many
# times as long, as long as they are so small a part of the sentence that they cost little.
WINDOW, NEXT_WINDOW, SMALLEST_SHARE = np.int64(48), np.int64(4), np.int64(4)


@inlined_kernel
def choose_longer(group, longest):
    """Note which sentences are longer, as those to be scaled; return whether any is."""
    n_long = 0
    for member in range(group.lengths.size):
        group.n_wrong[member] = group.lengths[member] > longest
        n_long += group.n_wrong[member]
    return n_long > 0


@inlined_kernel
def _scale(group, member, m, exponent):
    """Divide arcs to a token by two to the power `exponent`, in all."""
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
    """Scale sentences by what each of their first tokens, 1 <= m < n, contributes to Z."""
    for member in range(group.lengths.size):
        if not group.n_wrong[member]:
            continue
        end = min(n, group.lengths[member] + 1)
        exponent = round(_log2_value(group, member, np.int64(1), end) / (end - 1))
        for m in range(1, group.lengths[member] + 1):
            _scale(group, member, m, group.exponents[m, member] + exponent)


@inner_table_kernel
def scale_by_window(group, first, n, window):
    """Scale the tokens first <= m < n by what they alone contribute to Z, if there are more."""
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
            _scale(group, member, m, group.exponents[m, member] + each + more)


@inlined_kernel
def _log2_value(group, member, first, end):
    """Logarithm of the largest value that a tree of the tokens first <= m < end contributes."""
    largest = 0.0
    for m in range(first, end):
        left = group.numbers[CLOSED, m, first, member]
        largest = max(largest, abs(left * group.numbers[CLOSED, m, end, member]))
    return np.log2(largest) if 0.0 < largest < np.inf else 0.0


@inner_table_kernel
def all_in_range(group, n_tokens):
    """Whether nothing is lost in the chart; count, by member, the entries that say otherwise.

    What is lost in a vector beside larger entries is negligible, and where the whole of it is,
    the closed half that it leads to is too small.
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
    n_wrong = 0
    for member in range(n_members):
        n_wrong += group.n_wrong[member]
    return n_wrong == 0


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
