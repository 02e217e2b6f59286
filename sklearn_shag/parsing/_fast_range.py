"""The range of the fast chart: scales that keep sentences in it, and what tells if they are not."""

import numpy as np

from sklearn_shag.parsing._fast_chart import CLOSED, COMPLETE, INCOMPLETE
from sklearn_shag.utils._kernel import inlined_kernel, table_kernel
from sklearn_shag.utils._simd import LANES

# A chart is in range if no entry is larger, and no closed half, nor Z, is smaller unless it is 0:
# then whatever vanished in a product is negligible. Operators may be small, but not larger.
SMALLEST_IN_RANGE, LARGEST_IN_RANGE = 1e-90, 1e90
# Of the scale of a token, as a power of two.
LARGEST_EXPONENT = 100
# Sentences up to this length seldom need a scale.
LONGEST_UNSCALED = 24
# So many tokens tell by what factor the value of a sentence changes with each; where they were not
# enough, so many.
N_PROBED, N_PROBED_AGAIN = np.int64(12), np.int64(48)


@inlined_kernel
def begin_unscaled(group):
    """Set all powers to 0, and return whether a sentence is so long that it needs another."""
    n_long = 0
    for member in range(group.lengths.size):
        group.exponents[member] = 0
        group.n_wrong[member] = group.lengths[member] > LONGEST_UNSCALED
        n_long += group.n_wrong[member]
    return n_long > 0


@inlined_kernel
def _scale(group, member, exponent):
    """Divide arcs by two to the power `exponent` from now on."""
    factor = 2.0 ** (group.exponents[member] - exponent)
    group.exponents[member] = exponent
    for h in range(1, group.arc_scores.shape[0]):
        for m in range(1, group.arc_scores.shape[1]):
            group.arc_scores[h, m, member] *= factor


@table_kernel
def probe(group, n_probed):
    """Set the powers, where they are wrong, by what each of the first tokens contributes to Z."""
    for member in range(group.lengths.size):
        if not group.n_wrong[member]:
            continue
        n = min(n_probed, group.lengths[member])
        largest = 0.0
        for m in range(1, n + 1):
            left = group.numbers[CLOSED, m, 1, member]
            largest = max(largest, abs(left * group.numbers[CLOSED, m, n + 1, member]))
        exponent = group.exponents[member]
        if 0.0 < largest < np.inf:
            exponent += round(np.log2(largest) / n)
        _scale(group, member, min(max(exponent, -LARGEST_EXPONENT), LARGEST_EXPONENT))


@table_kernel
def all_in_range(vectors, group, n_tokens):
    """Whether nothing is lost in the chart; count, by member, the entries that say otherwise.

    What is lost in a vector beside larger entries is negligible, and where the whole of it is,
    the closed half that it leads to is too small.
    """
    n_members, width = group.lengths.size, vectors.shape[2] * vectors.shape[3]
    for member in range(n_members):
        group.n_wrong[member] = _is_out_of_range(group.z[member], SMALLEST_IN_RANGE)
    for h in range(1, n_tokens + 1):
        # There is a boundary behind the last token, but no modifier.
        for table, end in ((COMPLETE, n_tokens + 2), (INCOMPLETE, n_tokens + 1)):
            row = vectors[table, h].reshape(width)
            row = row[vectors.shape[3] : end * vectors.shape[3]]
            _count_out_of_range(row, 0.0, group.n_wrong)
        row = group.numbers[CLOSED, h].reshape(group.numbers.shape[2] * n_members)
        row = row[n_members : (n_tokens + 2) * n_members]
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
