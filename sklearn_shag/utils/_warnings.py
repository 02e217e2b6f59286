"""Warnings that point at the user's line."""

import sys
import warnings

# What lies between the user's call and the place that warns.
_PASSED_OVER = {__name__.partition(".")[0], "contextlib", "joblib", "sklearn"}


def warn(message, category):
    """Issue a warning for the innermost line that is neither this package's nor scikit-learn's.

    Parameters
    ----------
    message : str
    category : type
        A subclass of Warning.
    """
    level, frame = 1, sys._getframe()
    while frame is not None and _package(frame) in _PASSED_OVER:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _package(frame):
    return frame.f_globals.get("__name__", "").partition(".")[0]
