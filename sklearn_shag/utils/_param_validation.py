"""The only importer of scikit-learn's private parameter validation.

Constraints, their messages and the ``fit`` decorator behave as in scikit-learn itself; should
scikit-learn move them, this is the one module to change.
"""

from inspect import signature

import numpy as np
from sklearn.base import _fit_context as fit_context
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    InvalidParameterError,
    StrOptions,
    validate_parameter_constraints,
    validate_params,
)
from sklearn.utils.validation import _check_sample_weight

__all__ = [
    "HasMethods",
    "Interval",
    "InvalidParameterError",
    "StrOptions",
    "check_sample_weight",
    "fit_context",
    "validate_parameter_constraints",
    "validate_params",
]

# From version 1.9 on scikit-learn refuses weights that are all zero, unless it is told not to.
_ALL_ZERO = "allow_all_zero_weights"
_ALLOWED = {_ALL_ZERO: True} if _ALL_ZERO in signature(_check_sample_weight).parameters else {}


def check_sample_weight(sample_weight, X, *, allow_all_zero=False):
    """Check that there is one weight a sample, none of them negative; None gives ones.

    Parameters
    ----------
    sample_weight : None, float or array-like of shape (n_samples,)
    X : sequence of length n_samples
    allow_all_zero : bool, default=False

    Returns
    -------
    sample_weight : float ndarray of shape (n_samples,)

    Raises
    ------
    ValueError
        If it is anything else.
    """
    weights = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True, **_ALLOWED
    )
    if not (allow_all_zero or weights.any()):
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return weights
