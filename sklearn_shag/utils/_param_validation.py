"""The only importer of private modules of scikit-learn.

Constraints, their messages, the ``fit`` decorators and estimators made of named estimators behave
as in scikit-learn itself; should scikit-learn move them, this is the one module to change.
"""

from collections.abc import Callable
from inspect import signature
from numbers import Integral
from typing import Any, TypeVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils import check_scalar
from sklearn.utils._missing import is_pandas_na as is_pandas_na
from sklearn.utils._missing import is_scalar_nan as is_scalar_nan
from sklearn.utils._param_validation import HasMethods as HasMethods
from sklearn.utils._param_validation import Interval as Interval
from sklearn.utils._param_validation import InvalidParameterError as InvalidParameterError
from sklearn.utils._param_validation import Options as Options
from sklearn.utils._param_validation import StrOptions as StrOptions
from sklearn.utils._param_validation import (
    validate_parameter_constraints as validate_parameter_constraints,
)
from sklearn.utils._param_validation import validate_params as _validate_params
from sklearn.utils._repr_html.estimator import _VisualBlock
from sklearn.utils._set_output import _get_output_config as _get_output_config
from sklearn.utils.metaestimators import _BaseComposition as _BaseComposition
from sklearn.utils.validation import _check_sample_weight

from sklearn_shag.utils._messages import shorten
from sklearn_shag.utils._parallel import one_thread

VisualBlock = _VisualBlock

# From version 1.9 on scikit-learn refuses weights that are all zero, unless it is told not to.
_ALL_ZERO = "allow_all_zero_weights"
_ALLOWED = {_ALL_ZERO: True} if _ALL_ZERO in signature(_check_sample_weight).parameters else {}

# Of parameters that stand beside counts, and of the sum of the weights of samples. So many doubles,
# or tokens of so much weight, can be added and multiplied by each other's shares.
LARGEST_NUMBER, LARGEST_WEIGHT = 1e300, 1e100
# Of iterations that are added, and of states that make arrays.
LARGEST_COUNT = 2**31 - 1

# Constraints of parameters: of a whole number from 1 on, and of n_jobs.
COUNT = [Interval(Integral, 1, None, closed="left")]
N_JOBS = [None, *COUNT, Interval(Integral, None, -1, closed="right")]

Function = TypeVar("Function", bound=Callable[..., Any])


# scikit-learn has no annotations: to a type checker its decorators would make of a function
# something unknown.
def fit_context(method: Function) -> Function:
    """Decorate a method that fits: parameters are checked before it runs, in one BLAS thread.

    Sums of several threads depend, in their last bits, on how many there are.
    """
    return _fit_context(prefer_skip_nested_validation=True)(one_thread()(method))


def fit_members_context(method: Function) -> Function:
    """Decorate a method that fits other estimators, which check their own parameters too."""
    return _fit_context(prefer_skip_nested_validation=False)(one_thread()(method))


def validate_params(constraints: dict[str, list[Any]]) -> Callable[[Function], Function]:
    """Decorate a function: its arguments are checked before it runs."""
    return _validate_params(constraints, prefer_skip_nested_validation=True)


def check_whole_number(number, name, least=1):
    """Raise an error unless a value is a whole number that is not below `least`, and no bool."""
    if isinstance(number, bool):
        raise TypeError(f"{name} must be a whole number, got {number}.")
    check_scalar(number, name, Integral, min_val=least)


def as_floats(values, name):
    """Make an array of floats of numbers, of any shape.

    Parameters
    ----------
    values : array-like
    name : str
        What the message calls them.

    Returns
    -------
    array : float ndarray

    Raises
    ------
    ValueError
        If they are no numbers, or not as many in each row.
    """
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be an array of numbers, got {shorten(values)}.") from None


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
        If it is anything else, or weights sum to more than 1e100.
    """
    try:
        weights = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True, **_ALLOWED
        )
    except ValueError as error:
        if "sample_weight" in str(error):
            raise
        raise ValueError(f"sample_weight: {error}") from None
    if not (allow_all_zero or weights.any()):
        raise ValueError("sample_weight must contain at least one non-zero number.")
    with np.errstate(over="ignore"):
        total = weights.sum()
    if total > LARGEST_WEIGHT:
        raise ValueError(
            f"sample_weight sums to {total:.3g}, more than {LARGEST_WEIGHT:g}: counts times "
            f"weights would leave the range of numbers. Divide all weights by a constant."
        )
    return weights
