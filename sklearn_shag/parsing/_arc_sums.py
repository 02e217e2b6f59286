"""Sums over the trees of sentences whose scores are of single arcs.

They are those of the chart without automata, and compile in a tenth of its time. The outside pass
is the derivative of the inside pass. All sums are products of rows, so that tables are kept in two
orders: by head and end (R, L), and by end and head (R_by_end, L_by_end).
"""

import numpy as np

from sklearn_shag.utils._kernel import inlined_kernel, merged_kernel, table_kernel
from sklearn_shag.utils._simd import LANES, aligned, lane_sum, load, multiply_add, shaped, zeros

# Tokens of the longest sentences that are summed here, and the smallest Z. A sentence has less than
# 8 trees for each token, and no arc is worth more than 1. So no value and no derivative leaves the
# range, and values below 1e-300, which are lost, have shares of less than 1e-90 in Z.
LONGEST, SMALLEST_Z = 120, 1e-100
N_TABLES = 15


def new_arc_tables(n_tokens):
    """Allocate working memory for sentences of up to `n_tokens` tokens."""
    return aligned(N_TABLES * n_tokens * (n_tokens + LANES))


@table_kernel
def sum_arcs(factors, which, results, space, is_done):
    """Sum over the trees of sentences, for as long as values stay in range.

    Parameters
    ----------
    factors : Factors
        With arcs alone.
    which : int ndarray
        The sentences.
    results : Results
        Set for sentences that are done.
    space : ndarray
        Of :func:`new_arc_tables`, for the longest sentence.
    is_done : bool ndarray of at least the size of `which`
        Set to False where Z is 0, or so small that values may be lost.
    """
    for k in range(which.size):
        s = which[k]
        n, first = factors.indptr[s + 1] - factors.indptr[s], factors.begins[s]
        n_columns = (n // LANES + 1) * LANES
        tables = shaped(space, (N_TABLES, n, n_columns))
        space[: tables.size] = 0.0
        log_scale = _put_values(factors.arcs[first : factors.begins[s + 1]], tables[0])
        z = _sum_arcs_inside(tables)
        is_done[k] = z >= SMALLEST_Z
        if is_done[k]:
            results.sign[s], results.log_abs_z[s] = 1, np.log(z) + log_scale
            if results.arcs.size:
                _sum_arcs_outside(z, tables)
                for m in range(n):
                    for h in range(n + 1):
                        results.arcs[first + m * (n + 1) + h] = tables[1, m, h]


@merged_kernel
def _put_values(arcs, values):
    """Set the values of arcs, divided by the largest to each token; return the log of divisors."""
    n, log_scale = values.shape[0], 0.0
    for m in range(n):
        row, largest = arcs[m * (n + 1) : (m + 1) * (n + 1)], -np.inf
        for h in range(n + 1):
            if h != m + 1:
                largest = max(largest, row[h])
        for h in range(n + 1):
            values[m, h] = np.exp(row[h] - largest) if h != m + 1 else 0.0
        log_scale += largest
    return log_scale


@inlined_kernel
def _sum_products(one, other, begin, end):
    """Compute the product of two rows from `begin` to `end`; one of them is 0 elsewhere."""
    total = zeros()
    for k in range(begin // LANES * LANES, end, LANES):
        total = multiply_add(load(one, (k,)), load(other, (k,)), total)
    return lane_sum(total)


@merged_kernel
def _sum_arcs_inside(tables):
    """Fill the tables of values, and return Z.

    R[i, j + 1] and L[j, i] are the values of the tokens i to j below the first and below the last
    of them; open_R[i, j] and open_L[j, i] those of the arc to the other one with all between.
    """
    values, R, R_by_end, L, L_by_end = tables[0], tables[2], tables[3], tables[4], tables[5]
    open_R, open_R_by_end, open_L, open_L_by_end = tables[6], tables[7], tables[8], tables[9]
    n = values.shape[0]
    for i in range(n):
        R[i, i + 1] = R_by_end[i, i] = L[i, i] = L_by_end[i, i] = 1.0
    for distance in range(1, n):
        for i in range(n - distance):
            j = i + distance
            between = _sum_products(R[i], L[j], i + 1, j + 1)
            open_R[i, j] = open_R_by_end[j, i] = between * values[j, i + 1]
            open_L[j, i] = open_L_by_end[i, j] = between * values[i, j + 1]
            R[i, j + 1] = R_by_end[j, i] = _sum_products(open_R[i], R_by_end[j], i + 1, j + 1)
            L[j, i] = L_by_end[i, j] = _sum_products(open_L[j], L_by_end[i], i, j)
    z = 0.0
    for m in range(n):
        z += values[m, 0] * L[m, 0] * R[m, n]
    return z


@merged_kernel
def _sum_arcs_outside(z, tables):
    """Set the share of each arc in Z."""
    values, uses, R, R_by_end, L = tables[0], tables[1], tables[2], tables[3], tables[4]
    L_by_end, open_R, open_R_by_end, open_L = tables[5], tables[6], tables[7], tables[8]
    open_L_by_end, d_R, d_R_by_end, d_L = tables[9], tables[10], tables[11], tables[12]
    d_L_by_end, d_between = tables[13], tables[14]  # the latter by both ends, in both orders
    n = values.shape[0]
    for m in range(n):
        uses[m, 0] = values[m, 0] * L[m, 0] * R[m, n] / z
    for distance in range(n - 1, 0, -1):
        for i in range(n - distance):
            j = i + distance
            right = _sum_products(d_R_by_end[j], open_R_by_end[i], 0, i)
            left = _sum_products(d_L_by_end[i], open_L_by_end[j], j + 1, n)
            if j == n - 1:
                right += values[i, 0] * L[i, 0] / z
            else:
                right += _sum_products(d_between[i], L_by_end[j + 1], j + 1, n)
            if i == 0:
                left += values[j, 0] * R[j, n] / z
            else:
                left += _sum_products(d_between[j], R_by_end[i - 1], 0, i)
            d_R[i, j + 1] = d_R_by_end[j, i] = right
            d_L[j, i] = d_L_by_end[i, j] = left
            right, left = (
                _sum_products(d_R[i], R[j], j + 1, n + 1),
                _sum_products(d_L[j], L[i], 0, i + 1),
            )
            uses[j, i + 1], uses[i, j + 1] = right * open_R[i, j], left * open_L[j, i]
            total = right * values[j, i + 1] + left * values[i, j + 1]
            d_between[i, j] = d_between[j, i] = total
