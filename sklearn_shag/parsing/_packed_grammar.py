"""Operators repacked for the fast chart."""

from typing import NamedTuple

import numpy as np

from sklearn_shag.parsing._fast_range import LARGEST_IN_RANGE
from sklearn_shag.sequences import RIGHT
from sklearn_shag.utils._simd import LANES, aligned


class PackedGrammar(NamedTuple):
    """Operators in the layout of the fast chart, of the symbols that a text has."""

    alpha_1: np.ndarray  # (n_heads, 2, n), states padded to a multiple of LANES
    alpha_inf: np.ndarray  # (n_heads, 2, n)
    A: np.ndarray  # (n_heads, 2, n_symbols, n, n)
    A_transposed: np.ndarray  # the last two axes exchanged
    roots: np.ndarray  # (n_symbols,): the value of being the one root


def pack_grammar(operators, codes):
    """Take the operators that a text needs, in the layout of the fast chart.

    Parameters
    ----------
    operators : Operators
        Of a grammar.
    codes : int ndarray
        All codes of the text.

    Returns
    -------
    grammar : PackedGrammar or None
        None if entries are so large that the fast chart cannot take them.
    place : int ndarray of shape (n_heads,)
        The code in `grammar` of each code. The root symbol is the last head.
    """
    n_heads, _, n_states = operators.alpha_1.shape
    used = np.flatnonzero(np.bincount(codes, minlength=n_heads)[:-1])
    place = np.zeros(n_heads, dtype=np.int64)
    place[used], place[-1] = np.arange(used.size), used.size
    heads = np.append(used, n_heads - 1)
    alpha_1, alpha_inf = operators.alpha_1[heads], operators.alpha_inf[heads]
    A = operators.A[heads[:, None, None], [[0], [1]], used]
    if not all(np.all(np.abs(part) <= LARGEST_IN_RANGE) for part in (alpha_1, alpha_inf, A)):
        return None, place
    roots = A[-1, RIGHT] @ alpha_1[-1, RIGHT] @ alpha_inf[-1, RIGHT]
    if n_states == 1:
        A = np.ascontiguousarray(A)  # for kernels that are compiled for this layout
        return PackedGrammar(alpha_1, alpha_inf, A, A, roots), place
    parts = [_pad(part, part.shape[:2]) for part in (alpha_1, alpha_inf)]
    parts += [_pad(part, part.shape[:3]) for part in (A, A.swapaxes(3, 4))]
    return PackedGrammar(*parts, roots), place


def writable(grammar):
    """Copy what is read-only, as other processes get large arrays: another type to the kernels."""
    return PackedGrammar(
        *(part if part.flags.writeable else _pad(part, part.shape) for part in grammar)
    )


def _pad(values, leading):
    """Pad the axes of states, which follow the leading ones, with zeros to a multiple of LANES."""
    axes = values.shape[len(leading) :]
    out = aligned((*leading, *(size + -size % LANES for size in axes)))
    out[...] = 0.0
    out[(..., *map(slice, axes))] = values
    return out
