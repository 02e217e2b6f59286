"""Operators of any magnitude, as numbers of ordinary size times powers of one base."""

from typing import NamedTuple

import numpy as np

from sklearn_shag.encoding import RIGHT
from sklearn_shag.operators._grammar import pair_automaton
from sklearn_shag.operators._operators import Operators

LOG2_BASE = 256
LOG_BASE = LOG2_BASE * float(np.log(2.0))
BASE = 2.0**LOG2_BASE


class ScaledOperators(NamedTuple):
    """Operators in units of ``BASE ** exponent``, one exponent for each vector and each matrix.

    The largest entry of each lies in [1/sqrt(BASE), sqrt(BASE)], or is 0.
    """

    alpha_1: np.ndarray  # (..., n)
    alpha_inf: np.ndarray  # (..., n)
    A: np.ndarray  # (..., n_symbols, n, n)
    exponents: Operators  # int64: (...), (...) and (..., n_symbols)


def scale_operators(operators):
    """Take powers of a base out of operators, so that products of a few of them fit a double.

    Nothing is rounded, but for what becomes 0: it is more than 1e280 times as small as the largest
    entry of its vector or matrix. What has an ordinary size, as in nearly all grammars, stays as it
    is.

    Parameters
    ----------
    operators : Operators
        Finite.

    Returns
    -------
    scaled : ScaledOperators
    """
    alpha_1, alpha_inf, A = operators
    parts = (_scale(alpha_1, 1), _scale(alpha_inf, 1), _scale(A, 2))
    scaled, exponents = zip(*parts, strict=True)
    return ScaledOperators(*scaled, Operators(*exponents))


def root_masses(operators):
    """Compute how probable known symbols are as the root, up to a factor.

    Parameters
    ----------
    operators : Operators
        Of a grammar.

    Returns
    -------
    masses : ndarray of shape (n_symbols,)
    """
    root = pair_automaton(operators, operators.A.shape[0] - 1, RIGHT)
    alpha_1, alpha_inf, A, exponents = scale_operators(root)
    masses = alpha_inf @ A @ alpha_1
    some = masses != 0
    if some.any():
        masses = _shift(masses, exponents.A - exponents.A[some].max())
    return masses


def _shift(numbers, exponents):
    """Multiply by ``BASE ** exponents``."""
    return np.ldexp(numbers, (LOG2_BASE * exponents).astype(np.int32))


def _scale(part, n_axes):
    """Scale vectors, in one last axis, or matrices, in two."""
    axes = tuple(range(-n_axes, 0))
    largest = np.maximum(part.max(axis=axes), -part.min(axis=axes))
    # In steps of the base. (A power of two that is 0 has the exponent 0.)
    exponents = np.rint(np.frexp(largest)[1] / LOG2_BASE).astype(np.int64)
    if exponents.any():
        part = _shift(part, -np.expand_dims(exponents, axes))
    return part, exponents
