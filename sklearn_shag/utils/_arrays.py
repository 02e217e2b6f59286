"""Checks and conversions of arrays and collections, as users and files give them."""

import io
import os
from collections.abc import Set
from itertools import islice
from tempfile import TemporaryFile

import numpy as np

from sklearn_shag.utils._messages import shorten

LARGEST_IN_MEMORY = 2**30  # bytes of an array; larger ones are in a temporary file
TINY = np.finfo(float).tiny  # the smallest number with all its digits, to divide by


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
    """Return items as a list; a TypeError for a single item or an object of another kind."""
    if not is_collection(items):
        raise TypeError(f"{name} must be {kind}, got a single {type(items).__name__}.{advice}")
    return list(items)


def rows_of(table):
    """Iterate over the rows of a table, a sequence of columns, as values of Python."""
    return zip(*(column.tolist() for column in table), strict=True)


def unpack_column(X):
    """Return the values in a data frame of one column as a list, and anything else as it is."""
    columns = getattr(X, "columns", ())
    return list(X[columns[0]]) if len(columns) == 1 else X


def refuse_set(value, name):
    """Raise a TypeError for a set: it has no order to pair its items with others."""
    if isinstance(value, Set):
        raise TypeError(
            f"{name} is a {type(value).__name__}, which has no order; pass a list of its items."
        )


def object_array(arrays):
    """Put arrays of different sizes into a 1-D object array."""
    out = np.empty(len(arrays), dtype=object)
    out[:] = arrays
    return out


def as_integers(values, name, meaning=""):
    """Make a flat array of whole numbers, and of nothing else.

    Parameters
    ----------
    values : array-like
    name : str
        What the message calls them.
    meaning : str, default=""
        What the message says of the numbers.

    Returns
    -------
    array : int64 ndarray
        Contiguous, for kernels.
    """
    try:
        array = np.asarray(values)
    except ValueError:  # a ragged one
        array = np.array(None)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ValueError(
            f"{name} must be a flat array of whole numbers{meaning}, got {shorten(values)}."
        )
    return np.ascontiguousarray(array, dtype=np.int64)


def check_shape(values, shape, name, symbols="", advice=""):
    """Check the shape of an array.

    Parameters
    ----------
    values : array-like
    shape : tuple
        None stands for any size.
    name : str
    symbols, advice : str, default=""
        Text of the message before and after the shape.
    """
    given = np.shape(values)
    if len(given) != len(shape) or any(
        size not in (None, own) for own, size in zip(given, shape, strict=True)
    ):
        raise ValueError(f"{name} must have the shape {symbols}{shape}, got {given}.{advice}")


def check_finite(values, name):
    """Check that there are neither infinities nor NaN."""
    if not np.isfinite(values).all():
        raise ValueError(f"{name} holds values that are not finite.")


def check_positive(counts, name):
    """Check that all counts are positive."""
    if not np.all(counts > 0):
        raise ValueError(f"{name} holds counts that are not positive.")


def check_range(values, low, high, name, meaning=""):
    """Check that values lie in a range, in which NaN never is.

    Parameters
    ----------
    values : ndarray or number
    low : number
    high : number or ndarray
        The largest of all values, or of each.
    name : str
    meaning : str, default=""
        What the message says of the range.
    """
    values = np.asarray(values)
    outside = ~((values >= low) & (values <= high))
    if np.any(outside):
        place = tuple(np.argwhere(outside)[0].tolist())
        where = list(place) if place else ""  # of an array without axes
        highest = np.broadcast_to(high, outside.shape)[place]
        raise ValueError(
            f"{name}{where} must be from {low} to {highest}{meaning}, got {values[place]}."
        )


def check_indptr(indptr, size, name, of):
    """Check that positions run from 0 to the size of an array, and never back.

    Parameters
    ----------
    indptr : array-like
    size : int
    name, of : str
        What messages call the positions, and what they are positions of.

    Returns
    -------
    indptr : int64 ndarray
    """
    indptr = as_integers(indptr, name)
    if not indptr.size or indptr[0] != 0 or indptr[-1] != size or (np.diff(indptr) < 0).any():
        raise ValueError(
            f"{name} must grow from 0 to the number of {of}, {size}; got {shorten(indptr)}."
        )
    return indptr


def check_shapes(record, shapes, name):
    """Check the shapes of all arrays of a NamedTuple."""
    for field, array, shape in zip(record._fields, record, shapes, strict=True):
        check_shape(array, shape, f"{name}.{field}")


def check_codes(record, name, **largest):
    """Check that the codes in arrays of a NamedTuple run from 0 to the largest of each."""
    for field, high in largest.items():
        check_range(getattr(record, field), 0, high, f"{name}.{field}")


def log_of(values):
    """Return logarithms, -inf for 0 without a warning."""
    with np.errstate(divide="ignore"):
        return np.log(values)


def in_chunks(items, size):
    """Iterate over lists of `size` items, of which the last may be shorter."""
    items = iter(items)
    return iter(lambda: list(islice(items, size)), [])


def group_equal(keys):
    """Group equal keys; return the first place of each group, ascending, and the group of each."""
    first_of = {}
    firsts = [first_of.setdefault(key, place) for place, key in enumerate(keys)]
    return np.unique(np.array(firsts, dtype=np.int64), return_inverse=True)


def answer_each(function, items):
    """Ask a function about many items at once, and find out which of them it refuses.

    Parameters
    ----------
    function : callable
        Takes a list of items, and returns a list with an answer for each.
    items : list

    Returns
    -------
    answers : list
        For an item that is refused the TypeError or ValueError.
    """
    try:
        return function(items)
    except (TypeError, ValueError) as error:
        if len(items) == 1:
            return [error]
    half = len(items) // 2  # halves of halves find the item at fault
    return answer_each(function, items[:half]) + answer_each(function, items[half:])


def make_room(shape, dtype):
    """Make an array without values, in memory or, if it is large, in a temporary file."""
    if np.dtype(dtype).itemsize * np.prod(shape) <= LARGEST_IN_MEMORY:
        return np.empty(shape, dtype)
    # The file has no name any more, or goes with its last handle: it is never left behind.
    with TemporaryFile(prefix="sklearn_shag") as file:
        return np.memmap(file, dtype, mode="w+", shape=shape)


def divide_by_sum(values, axis):
    """Divide values by their sum over an axis; None takes all. Where that is 0 they stay 0."""
    return values / np.maximum(values.sum(axis=axis, keepdims=True), TINY)
