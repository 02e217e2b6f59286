"""Products of matrices in prediction: a row does not depend on the rows beside it.

BLAS does not promise that: on some processors the last bits of a row depend on how many rows there
are, and on its place among them. But a sentence alone is parsed like the same sentence in a text.
"""

from typing import NamedTuple

import numpy as np

from sklearn_shag.utils._kernel import table_kernel
from sklearn_shag.utils._simd import PANEL, TILE, multiply_row, multiply_rows

BLOCK = 40 * TILE  # rows that stay in the cache beside a panel


class Panels(NamedTuple):
    """A linear map, with columns in panels that are filled up with zeros."""

    weights: np.ndarray  # (n_panels, n_inputs, PANEL)
    biases: np.ndarray  # (n_panels, PANEL)


def make_panels(weight, bias=0):
    """Lay out a weight, (n_inputs, n_outputs), and a bias as Panels."""
    n_inputs, n_outputs = weight.shape
    n_panels = -(-n_outputs // PANEL)
    padded = np.zeros((n_inputs + 1, n_panels * PANEL), dtype=np.float32)
    padded[:-1, :n_outputs], padded[-1, :n_outputs] = weight, bias
    panels = padded.reshape(n_inputs + 1, n_panels, PANEL).transpose(1, 0, 2)
    return Panels(panels[:, :-1].copy(), panels[:, -1].copy())


def apply_panels(x, panels):
    """Compute ``x @ weight + bias``, each entry by one sum from the first input to the last.

    Parameters
    ----------
    x : float32 ndarray of shape (n_rows, n_inputs)
    panels : Panels

    Returns
    -------
    y : float32 ndarray of shape (n_rows, n_panels * PANEL)
        Behind the outputs there are columns without meaning.
    """
    y = np.empty((len(x), panels.biases.size), dtype=np.float32)
    _apply(x, *panels, y)
    return y


@table_kernel
def _apply(x, weights, biases, y):
    for first in range(0, x.shape[0], BLOCK):
        last = min(first + BLOCK, x.shape[0])
        for panel in range(weights.shape[0]):
            row = first
            while row + TILE <= last:
                multiply_rows(x, weights, biases, (row, panel), y)
                row += TILE
            while row < last:
                multiply_row(x, weights, biases, (row, panel), y)
                row += 1
