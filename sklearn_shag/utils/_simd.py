"""Vectors of LANES doubles as values in kernels, each operation one machine instruction or few.

Numba keeps no sums over an inner dimension in vector registers by itself: it cannot know that
the result does not overlap the terms, and so stores and loads it at every step. In kernels that
say what they mean with the functions below sums stay in registers. A vector has eight lanes: one
register with AVX-512, two with AVX, four with SSE or Neon.

The functions below are the definitions, as interpreted kernels run them (``NUMBA_DISABLE_JIT=1``).
Their compiled forms are the functions `_compile_*` of :mod:`sklearn_shag.utils._simd_compiled`.
Indices are trusted: they count from 0, and LANES values follow where a vector is meant.
"""

import math

import numpy as np

LANES = 8
# Of products of matrices in single precision: columns that lie together, and rows at once.
PANEL, TILE = 64, 6


def aligned(size):
    """Allocate undefined values, the first of which lies at the begin of a cache line.

    Vectors that lie across two lines take twice as long to load, everywhere.
    """
    values = np.empty(size + LANES)
    address, _ = values.__array_interface__["data"]
    skipped = -(address // values.itemsize) % LANES
    return values[skipped : skipped + size]


def shaped(values, shape):
    """View the first values of a contiguous array in another shape, a tuple.

    It is `reshape` without a check, and so without the message of one in every kernel.
    """
    return values.reshape(-1)[: math.prod(shape)].reshape(shape)


def zeros():
    """Make a vector of zeros."""
    return np.zeros(LANES)


def ones():
    """Make a vector of ones."""
    return np.ones(LANES)


def load(array, index):
    """Take LANES values that begin at `index`, a tuple, and lie along the last axis."""
    return array[index[:-1]][index[-1] : index[-1] + LANES].copy()


def store(array, index, vector):
    """Put a vector at the LANES places that begin at `index`, a tuple, along the last axis."""
    array[index[:-1]][index[-1] : index[-1] + LANES] = vector


def weight(array, index):
    """Return the value at `index` in all lanes, or LANES values where there is one axis more."""
    return np.full(LANES, array[index]) if array.ndim == len(index) else array[index].copy()


def multiply(one, other):
    """Return ``one * other``, lane by lane."""
    return one * other


def multiply_add(one, other, total):
    """Return ``one * other + total``, lane by lane."""
    return one * other + total


def larger_sum(one, other, least):
    """Return ``max(one + other, least)``, lane by lane."""
    return np.maximum(one + other, least)


def lane_sum(vector):
    """Return the sum of all lanes."""
    return vector.sum()


def put_sum(array, index, vector):
    """Set the value at `index` to the sum of all lanes, or the LANES values there to the vector."""
    array[index] = vector.sum() if array.ndim == len(index) else vector


def add_sum(array, index, vector):
    """Add the sum of all lanes to the value at `index`, or the vector to the LANES values there."""
    array[index] += vector.sum() if array.ndim == len(index) else vector


def opaque(value):
    """Return an int, with its origin hidden from the compiler."""
    return value


def multiply_rows(x, panels, biases, place, y):
    """Set TILE rows of PANEL columns of y to those of ``x @ weight + bias``.

    Each entry is the bias, to which the products of the inputs are added one after the other, for
    any number of rows at once and on vectors of any width.

    Parameters
    ----------
    x : float32 ndarray of shape (n_rows, n_inputs)
    panels : float32 ndarray of shape (n_panels, n_inputs, PANEL)
        The columns of the weight.
    biases : float32 ndarray of shape (n_panels, PANEL)
    place : tuple of two int
        The first row, and the panel.
    y : float32 ndarray of shape (n_rows, n_panels * PANEL)
    """
    _multiply_rows(x, panels, biases, place, y, TILE)


def multiply_row(x, panels, biases, place, y):
    """Do the same for one row."""
    _multiply_rows(x, panels, biases, place, y, 1)


def _multiply_rows(x, panels, biases, place, y, n_rows):
    row, panel = place
    rows = slice(row, row + n_rows)
    sums = np.repeat(biases[panel][None], n_rows, axis=0)
    for inputs, weights in zip(x[rows].T, panels[panel], strict=True):
        sums += inputs[:, None] * weights
    y[rows, panel * PANEL : (panel + 1) * PANEL] = sums
