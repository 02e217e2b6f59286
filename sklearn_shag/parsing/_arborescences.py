"""Sums over all trees of a sentence with one root, whether or not their arcs cross.

Tokens are eliminated one by one: the weight of the arc from k to m passes to the arcs from the
heads of k to m. Every pivot is a sum of weights, and nothing is ever subtracted from it, so log Z
keeps its digits however far scores are apart (Grassmann, Taksar and Heyman 1985); an LU of the
Laplacian loses them where tokens point at each other. The root symbol is no head of a pivot. It is
considered at the last token alone, so trees have one root. Z is the determinant of the matrix-tree
theorem with its first row replaced by the arcs from the root (Koo et al. 2007).
"""

import numpy as np

from sklearn_shag.parsing._decoders import best_arborescence
from sklearn_shag.parsing._fast_driver import DONE, OUT_OF_RANGE, WITHOUT_MASS
from sklearn_shag.utils._kernel import inlined_kernel, inner_table_kernel, table_kernel

# By how many nats at most an arc counts as worse than the best one to the same token.
WIDEST = 600.0
# Derivatives by weights that are 0 may be infinite. No sum needs them, and 0 times this bound is 0.
STEEPEST = 1e290
_fast = {"reassoc", "contract", "nsz"}


def new_tables(longest):
    """Allocate the tables of an elimination, for sentences of up to `longest` tokens."""
    size = longest * (longest + 1)
    return np.empty((2, size)), np.empty(longest), np.empty(longest, dtype=np.int64)


def run_all_trees(call, which):
    """Sum over all trees of sentences of a Call, as a Route does; return their states."""
    factors, results = call.factors, call.results
    arcs = factors.arcs if factors.arcs.size else np.zeros(factors.begins[-1])
    longest = (factors.indptr[which + 1] - factors.indptr[which]).max(initial=0)
    states = np.empty(which.size, dtype=np.uint8)
    _sum_sentences(
        factors.indptr,
        factors.begins,
        arcs,
        which,
        *new_tables(longest),
        results.sign,
        results.log_abs_z,
        results.arcs,
        states,
    )
    for k in np.flatnonzero(states != DONE):
        # Z is 0 as there is no tree, or as weights are too far apart where arcs are forbidden.
        begin, n = factors.begins[which[k]], factors.indptr[which[k] + 1] - factors.indptr[which[k]]
        scores = arcs[begin : begin + n * (n + 1)].reshape(n, n + 1)
        found = best_arborescence(scores, np.empty(n, dtype=np.int64))
        states[k] = WITHOUT_MASS if found == -np.inf else OUT_OF_RANGE
    return states


@table_kernel
def _sum_sentences(indptr, begins, arcs, which, tables, sums, order, signs, log_z, uses, states):
    """Compute log Z of sentences and, if `uses` has room, marginals."""
    for i in range(which.size):
        s = which[i]
        n = indptr[s + 1] - indptr[s]
        rows = tables[0, : n * (n + 1)].reshape((n, n + 1))
        slopes = tables[1, : n * (n + 1)].reshape((n, n + 1))
        scores = arcs[begins[s] : begins[s + 1]].reshape((n, n + 1))
        weights = slopes
        if uses.size:
            weights = uses[begins[s] : begins[s + 1]].reshape((n, n + 1))
        shift = put_weights(scores, weights, rows, sums, order)
        total = shift + eliminate(rows, sums, order)
        is_done = -np.inf < total < np.inf
        if is_done and uses.size:
            _substitute(rows, sums, slopes)
            is_done = _multiply(weights, slopes, order)
        signs[s] = is_done
        log_z[s] = total if is_done else -np.inf
        states[i] = DONE if is_done else WITHOUT_MASS


@inner_table_kernel
def put_weights(scores, weights, rows, sums, order):
    """Set weights and rows to exponentials of scores less the best of a token (eq. 65).

    Returns
    -------
    shift : float
        The sum of what was subtracted, for log Z.
    """
    n = scores.shape[0]
    shift, of_root = 0.0, -np.inf
    for m in range(n):
        order[m], best = m, -np.inf
        for h in range(1, n + 1):
            if h != m + 1:
                best = max(best, scores[m, h])
        if best == -np.inf:
            best = scores[m, 0] if scores[m, 0] > -np.inf else 0.0
        sums[m] = best
        shift += best
        of_root = max(of_root, scores[m, 0] - best)
    if of_root == -np.inf:
        of_root = 0.0
    for m in range(n):
        for h in range(n + 1):
            score = scores[m, h] - sums[m] - (of_root if h == 0 else 0.0)
            is_arc = score > -np.inf and h != m + 1
            weights[m, h] = rows[m, h] = np.exp(max(score, -WIDEST)) if is_arc else 0.0
    return shift + of_root


@inner_table_kernel(fastmath=_fast)
def eliminate(rows, sums, order):
    """Eliminate all tokens but one (eqs. 66 and 67).

    Parameters
    ----------
    rows : array of shape (N, N + 1)
        Weights. Token m is row m and column m + 1. Changed to what they were when the first of the
        two tokens of each arc was eliminated, the last one first.
    sums : array of shape (N,)
        Set to the pivots.
    order : int array of shape (N,)
        The token in each row. Changed where a pivot is 0, so that another token comes first.

    Returns
    -------
    log_z : float
        -inf where Z is 0.
    """
    n, log_z = rows.shape[0], 0.0
    for k in range(n - 1, 0, -1):
        pivot, total = rows[k], _sum_tokens(rows[k], k)
        if total <= 0.0:
            other = k - 1
            while other >= 0 and _sum_tokens(rows[other], k + 1) <= 0.0:
                other -= 1
            if other < 0:
                return -np.inf
            _swap_tokens(rows, order, k, other)
            total = _sum_tokens(pivot, k)
        sums[k] = total
        log_z += np.log(total)
        for m in range(k):
            row = rows[m]
            if row[k + 1] != 0.0:
                share = row[k + 1] / total
                for h in range(k + 1):
                    row[h] += share * pivot[h]
    return log_z + np.log(rows[0, 0]) if rows[0, 0] > 0.0 else -np.inf


@inlined_kernel(fastmath=_fast)
def _sum_tokens(row, n):
    """Sum the weights of the arcs from the first n tokens."""
    total = 0.0
    for h in range(1, n + 1):
        total += row[h]
    return total


@inner_table_kernel
def _swap_tokens(rows, order, one, other):
    order[one], order[other] = order[other], order[one]
    for h in range(rows.shape[1]):
        rows[one, h], rows[other, h] = rows[other, h], rows[one, h]
    for m in range(rows.shape[0]):
        rows[m, one + 1], rows[m, other + 1] = rows[m, other + 1], rows[m, one + 1]


@inner_table_kernel(fastmath=_fast)
def _substitute(rows, sums, slopes):
    """Compute the derivatives of log Z by weights, from the last token back (eq. 68)."""
    slopes[0, 0], slopes[0, 1] = 1.0 / rows[0, 0], 0.0
    for k in range(1, rows.shape[0]):
        pivot, of_pivot, used = rows[k], slopes[k], 0.0
        of_pivot[: k + 1] = 0.0
        for m in range(k):
            of_row, slope, weight = slopes[m], 0.0, rows[m, k + 1]
            for h in range(k + 1):
                slope += of_row[h] * pivot[h]
            for h in range(k + 1):
                of_pivot[h] += weight * of_row[h]
            of_row[k + 1] = min(slope / sums[k], STEEPEST)
            used += weight * of_row[k + 1]
        of_pivot[0] = min(of_pivot[0] / sums[k], STEEPEST)
        for h in range(1, k + 1):
            slope = (of_pivot[h] + (1.0 - used)) / sums[k]
            of_pivot[h] = min(max(slope, 0.0), STEEPEST)
        of_pivot[k + 1] = 0.0


@inner_table_kernel
def _multiply(weights, slopes, order):
    """Multiply weights by their derivatives, which gives marginals; tell if all are finite."""
    n, total = weights.shape[0], 0.0
    for m in range(n):
        row = weights[order[m]]
        row[0] *= slopes[m, 0]
        total += row[0]
        for h in range(n):
            row[order[h] + 1] *= slopes[m, h + 1]
            total += row[order[h] + 1]
    return total < np.inf
