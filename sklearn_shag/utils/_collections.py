"""What can be meant as a sequence of items, and what is one item, or none; arrays of items."""

import io
import os
from collections.abc import Set

import numpy as np


def is_collection(value):
    """Tell whether something can be meant as a sequence of sentences, of heads or of words.

    Parameters
    ----------
    value : object

    Returns
    -------
    bool
        False also for what can be iterated but is something else: text, a path, an open file, a
        dict, a set, which has no order, an array without axes.
    """
    if isinstance(value, str | bytes | os.PathLike | dict | Set | io.IOBase):
        return False
    return hasattr(value, "__iter__") and getattr(value, "ndim", 1) > 0


def as_list(items, name, kind, advice=""):
    """List items, or refuse with a TypeError what is none of their kind or a single one."""
    if not is_collection(items):
        raise TypeError(f"{name} must be {kind}, got a single {type(items).__name__}.{advice}")
    return list(items)


def rows_of(table):
    """Go through the rows of a table, a sequence of arrays, as values of Python."""
    return zip(*(column.tolist() for column in table), strict=True)


def refuse_set(value, name):
    """Refuse with a TypeError what has no order, so that nothing could be paired with its items."""
    if isinstance(value, Set):
        raise TypeError(
            f"{name} is a {type(value).__name__}, which has no order; pass a list of its items."
        )


def object_array(arrays):
    """Put arrays of different sizes into a 1-D object array."""
    out = np.empty(len(arrays), dtype=object)
    out[:] = arrays
    return out
