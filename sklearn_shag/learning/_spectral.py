"""Spectral learning of one automaton from moments."""

from typing import NamedTuple

import numpy as np
from scipy import linalg
from sklearn.utils.extmath import svd_flip

from sklearn_shag.learning._deterministic import deterministic_automaton
from sklearn_shag.operators import Operators, mixture
from sklearn_shag.utils._kernel import kernel
from sklearn_shag.utils._typing import FloatArray

# What is seen less often, as a share of all, is not seen: sums of squares would leave the range of
# doubles. Only weights of sentences that are as far apart have such shares.
SMALLEST_MASS = 1e-100
# The states of the deterministic automaton in a mixture.
N_BASELINE_STATES = 2


class SpectralAutomaton(NamedTuple):
    """What one decomposition gives."""

    operators: Operators
    singular_values: FloatArray  # all of them, largest first


def spectral_automaton(moments, n_states, *, shrinkage=0.0, scaling=0.0, alpha=0.0, mixing=0.0):
    """Learn an operator model from moments by a singular value decomposition.

    Parameters
    ----------
    moments : Moments
    n_states : int
        At most so many states; fewer where the bigram matrix has a smaller rank.
    shrinkage, scaling, alpha, mixing : float, default=0.0
        See :class:`~sklearn_shag.SpectralSHAG`.

    Returns
    -------
    automaton : SpectralAutomaton

    Notes
    -----
    Without options these are eqs. 12 and 13 of the theory page: for the top left singular
    vectors U of the bigrams P, ``alpha_1 = U^T P[:, START]``, ``alpha_inf = P[STOP, :] (U^T P)^+``
    and ``A_a = U^T P_a (U^T P)^+``. With them U becomes ``left`` and the pseudo-inverse ``right``
    (eqs. 33 and 34).
    """
    n_symbols, P = moments.n_symbols, moments.bigrams
    # How often there is something to be seen in a row or a column. Symbols that never occur are
    # rows and columns of zeros; most heads see few symbols.
    row_mass, column_mass = P[:, : n_symbols + 1].sum(axis=1), P[: n_symbols + 1].sum(axis=0)
    rows, columns = (np.flatnonzero(mass > SMALLEST_MASS) for mass in (row_mass, column_mass))
    row_scale, column_scale = row_mass[rows] ** -scaling, column_mass[columns] ** -scaling
    scaled = row_scale[:, None] * P[np.ix_(rows, columns)] * column_scale
    U, singular_values, Vt = _svd(scaled)
    noise = singular_values[0] * max(scaled.shape) * np.finfo(float).eps
    n = min(n_states, int(np.sum(singular_values > noise)))
    # The sign of a singular vector is arbitrary: the largest entry of each column of U is positive.
    U, Vt = svd_flip(U, Vt)
    shares = singular_values[:n] / singular_values[0]
    inverse = shares / (shares**2 + alpha) / singular_values[0]
    left, right = np.zeros((2, P.shape[0], n))
    left[rows] = row_scale[:, None] * U[:, :n]
    right[columns] = column_scale[:, None] * Vt[:n].T * inverse
    operators = Operators(np.zeros(n), np.zeros(n), np.zeros((n_symbols, n, n)))
    _project(moments, left, right, _reliance(moments, shrinkage), operators)
    if mixing > 0:
        baseline = deterministic_automaton(moments, "first")
        operators = mixture(baseline, operators, 1.0 - mixing)
    return SpectralAutomaton(operators, singular_values)


def _svd(matrix):
    try:
        return linalg.svd(matrix, full_matrices=False)
    except linalg.LinAlgError:
        # Divide and conquer is faster but does not converge for all matrices; seen with words as
        # symbols. The older QR iteration does.
        return linalg.svd(matrix, full_matrices=False, lapack_driver="gesvd")


def _reliance(moments, shrinkage):
    """How far each trigram is relied upon, by the count of its first two symbols (eq. 35)."""
    n_columns = moments.bigrams.shape[1]
    pairs = moments.middle * n_columns + moments.first
    near = moments.last <= moments.n_symbols
    counts = np.bincount(
        pairs[near], weights=moments.trigrams[near], minlength=moments.n_symbols * n_columns
    )
    # Without a pseudo-count, and for exact moments, it is 1.
    seen = counts[pairs] > 0  # or weights are so small that counts have vanished
    with np.errstate(over="ignore"):  # to infinity: nothing is relied upon then
        pseudo_count = shrinkage / moments.n_sequences
    return np.divide(
        counts[pairs], counts[pairs] + pseudo_count, out=np.ones(seen.size), where=seen
    )


@kernel
def _project(moments, left, right, reliance, operators):
    """Compute the operator model, which is zero on entry, in the basis of the singular vectors.

    Every entry is a sum in one fixed order, which a matrix product is not: the operators of fewer
    states are leading blocks of these to the last bit.
    """
    n_states, n_symbols = left.shape[1], moments.n_symbols
    # alpha_1 = L^T P[:, START], alpha_inf = P[STOP, :] R                              (eq. 34)
    for k in range(left.shape[0]):
        for i in range(n_states):
            operators.alpha_1[i] += left[k, i] * moments.bigrams[k, n_symbols]
            operators.alpha_inf[i] += moments.bigrams[n_symbols, k] * right[k, i]
    # A_b = L^T P_b R, where what is not relied upon of P_b is replaced by the product of the
    # moments of what follows b and of what came before it, given b                    (eq. 35)
    follows = np.zeros((n_symbols, n_states))
    came = np.zeros((n_symbols, n_states))
    mass = np.zeros(n_symbols)
    for t in range(moments.trigrams.size):
        row, b, column = moments.last[t], moments.middle[t], moments.first[t]
        relied = moments.trigrams[t] * reliance[t]
        for i in range(n_states):
            for j in range(n_states):
                operators.A[b, i, j] += relied * left[row, i] * right[column, j]
        if column <= n_symbols:
            for i in range(n_states):
                follows[b, i] += moments.trigrams[t] * left[row, i]
        if row <= n_symbols:
            for j in range(n_states):
                came[b, j] += (moments.trigrams[t] - relied) * right[column, j]
        if row <= n_symbols and column <= n_symbols:
            mass[b] += moments.trigrams[t]
    for b in range(n_symbols):
        if mass[b] > 0.0:
            for i in range(n_states):
                for j in range(n_states):
                    operators.A[b, i, j] += follows[b, i] * came[b, j] / mass[b]


def leading_states(operators, n_states):
    """Cut an automaton down to its first states.

    Parameters
    ----------
    operators : Operators
        From :func:`spectral_automaton`.
    n_states : int

    Returns
    -------
    operators : Operators
        To the last bit what :func:`spectral_automaton` returns for fewer states: the singular
        vectors of a smaller rank are the first ones of a larger.
    """
    n = n_states
    return Operators(operators.alpha_1[:n], operators.alpha_inf[:n], operators.A[:, :n, :n])
