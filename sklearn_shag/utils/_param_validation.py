"""The only importer of scikit-learn's private parameter validation.

Constraints, their messages and the ``fit`` decorator behave as in scikit-learn itself; should
scikit-learn move them, this is the one module to change.
"""

from sklearn.base import _fit_context as fit_context
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    InvalidParameterError,
    StrOptions,
    validate_parameter_constraints,
    validate_params,
)

__all__ = [
    "HasMethods",
    "Interval",
    "InvalidParameterError",
    "StrOptions",
    "fit_context",
    "validate_parameter_constraints",
    "validate_params",
]
