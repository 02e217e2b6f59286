"""Automata from moments: singular vectors, and operators in their basis (theory, eqs. 12, 33-35).

The rows of the bigrams are contexts behind a gap between two symbols, the columns contexts before.
Each symbol that was seen is an event: the contexts before it, itself, and the contexts behind it.
"""

from typing import NamedTuple

import numpy as np
from scipy import linalg
from sklearn.utils.extmath import svd_flip

from sklearn_shag.operators import Operators
from sklearn_shag.utils._kernel import table_kernel
from sklearn_shag.utils._typing import FloatArray

# Contexts with a smaller share of the counts are left out: sums of squares would leave the range of
# doubles. Shares are as small only where the weights of sequences are as far apart.
SMALLEST_MASS = 1e-100


class Basis(NamedTuple):
    """Singular vectors of the bigrams, scaled: operators are products of moments with them."""

    left: FloatArray  # (n_rows, n_states)
    right: FloatArray  # (n_columns, n_states)
    singular_values: FloatArray  # all of them, largest first


class Events(NamedTuple):
    """Seen symbols with their contexts; one symbol of a sequence may be several events."""

    rows: np.ndarray  # (n_events, n_contexts): contexts behind it, -1 for none
    symbols: np.ndarray  # (n_events,)
    columns: np.ndarray  # (n_events, n_contexts): contexts before it, -1 for none
    counts: np.ndarray  # (n_events,)


def find_basis(bigrams, row_mass, column_mass, n_states, scaling, alpha):
    """Find the basis of the states.

    Parameters
    ----------
    bigrams : ndarray of shape (n_rows, n_columns)
    row_mass, column_mass : ndarrays of shape (n_rows,) and (n_columns,)
        Counts of the row and column contexts.
    n_states : int
        At most so many states; fewer where the bigrams have a smaller rank.
    scaling, alpha : float
        See :class:`~sklearn_shag.SpectralSHAG`.

    Returns
    -------
    basis : Basis
    """
    # Symbols that never occur are rows and columns of zeros; most heads see few symbols.
    rows, columns = (np.flatnonzero(mass > SMALLEST_MASS) for mass in (row_mass, column_mass))
    row_scale, column_scale = row_mass[rows] ** -scaling, column_mass[columns] ** -scaling
    scaled = row_scale[:, None] * bigrams[np.ix_(rows, columns)] * column_scale
    U, singular_values, Vt = _compute_svd(scaled)
    noise = singular_values[0] * max(scaled.shape) * np.finfo(float).eps
    n = min(n_states, int(np.sum(singular_values > noise)))
    # The sign of a singular vector is arbitrary: the largest entry of each column of U is positive.
    U, Vt = svd_flip(U, Vt)
    shares = singular_values[:n] / singular_values[0]
    inverse = shares / (shares**2 + alpha) / singular_values[0]
    left, right = (np.zeros((size, n)) for size in bigrams.shape)
    left[rows] = row_scale[:, None] * U[:, :n]
    right[columns] = column_scale[:, None] * Vt[:n].T * inverse
    return Basis(left, right, singular_values)


def _compute_svd(matrix):
    try:
        return linalg.svd(matrix, full_matrices=False)
    except linalg.LinAlgError:
        # Divide and conquer is faster but does not converge for all matrices; seen with words as
        # symbols. The older QR iteration does.
        return linalg.svd(matrix, full_matrices=False, lapack_driver="gesvd")


def project_events(basis, start, stop, events, n_symbols, n_near=np.inf, pseudo_count=0.0):
    """Make the operators in a basis (eqs. 34, 35).

    Parameters
    ----------
    basis : Basis
    start, stop : ndarrays of shape (n_rows,) and (n_columns,)
        The column of START and the row of STOP of the bigrams.
    events : Events
    n_symbols : int
    n_near : number, default=inf
        Number of near contexts, the first ones. The contexts around a symbol are counted in events
        with a near first context on the other side. By default all events count.
    pseudo_count : float, default=0.0
        Draws the events of a symbol after a context, where they are rare, towards the events of the
        symbol after any context.

    Returns
    -------
    operators : Operators
    """
    n = basis.left.shape[1]
    operators = Operators(np.zeros(n), np.zeros(n), np.zeros((n_symbols, n, n)))
    is_near = events.rows[:, 0] < n_near, events.columns[:, 0] < n_near
    weights = _weigh_events(events, (n_symbols, len(basis.right)), is_near[0], pseudo_count)
    _sum_events(
        basis.left,
        basis.right,
        start,
        stop,
        events,
        weights,
        *is_near,
        operators,
        *np.zeros((2, n_symbols, n)),
        np.zeros(n_symbols),
        np.zeros((3, n)),
    )
    return operators


def _weigh_events(events, shape, is_near, pseudo_count):
    """Weigh events by the count of their symbol after their context: 1 for full trust (eq. 35)."""
    if not pseudo_count:
        return np.ones(events.columns.shape)
    pairs = events.symbols[:, None] * (shape[1] + 1) + events.columns + 1  # 0 for none
    counted = np.repeat(events.counts[is_near], pairs.shape[1])
    counts = np.bincount(pairs[is_near].ravel(), counted, shape[0] * (shape[1] + 1))[pairs]
    seen = counts > 0  # counts of tiny weights can be 0
    return np.divide(counts, counts + pseudo_count, out=np.ones(counts.shape), where=seen)


@table_kernel
def _sum_events(
    left,
    right,
    start,
    stop,
    events,
    reliance,
    row_is_near,
    column_is_near,
    operators,
    follows,
    came,
    mass,
    sums,
):
    """Sum events to operators; all arrays from `operators` on are zero on entry.

    Every entry is a sum in one fixed order, which a matrix product is not: the operators of fewer
    states are leading blocks of these to the last bit.
    """
    n_states, behind, before, unrelied = left.shape[1], sums[0], sums[1], sums[2]
    # alpha_1 = L^T P[:, START], alpha_inf = P[STOP, :] R                              (eq. 34)
    for k in range(left.shape[0]):
        for i in range(n_states):
            operators.alpha_1[i] += left[k, i] * start[k]
    for k in range(right.shape[0]):
        for i in range(n_states):
            operators.alpha_inf[i] += stop[k] * right[k, i]
    # A_b = L^T P_b R. The part of P_b that is not relied upon is replaced by the product of the
    # moments of contexts behind b and before b, given b                              (eq. 35)
    for t in range(events.symbols.size):
        b, count = events.symbols[t], events.counts[t]
        sums[:] = 0.0
        for c in range(events.rows.shape[1]):
            if events.rows[t, c] >= 0:
                for i in range(n_states):
                    behind[i] += count * left[events.rows[t, c], i]
        for c in range(events.columns.shape[1]):
            if events.columns[t, c] >= 0:
                relied = reliance[t, c]
                for j in range(n_states):
                    before[j] += relied * right[events.columns[t, c], j]
                    unrelied[j] += (1.0 - relied) * right[events.columns[t, c], j]
        for i in range(n_states):
            for j in range(n_states):
                operators.A[b, i, j] += behind[i] * before[j]
        for i in range(n_states):
            if column_is_near[t]:
                follows[b, i] += behind[i]
            if row_is_near[t]:
                came[b, i] += count * unrelied[i]
        if row_is_near[t] and column_is_near[t]:
            mass[b] += count
    for b in range(mass.size):
        if mass[b] > 0.0:
            for i in range(n_states):
                for j in range(n_states):
                    operators.A[b, i, j] += follows[b, i] * came[b, j] / mass[b]


def leading_states(operators, n):
    """Cut an automaton down to its first states.

    Parameters
    ----------
    operators : Operators
        From :func:`project_events`.
    n : int
        Number of states.

    Returns
    -------
    operators : Operators
        To the last bit the operators of a smaller basis: the singular vectors of a smaller rank are
        the first ones of a larger rank.
    """
    return Operators(operators.alpha_1[:n], operators.alpha_inf[:n], operators.A[:, :n, :n])
