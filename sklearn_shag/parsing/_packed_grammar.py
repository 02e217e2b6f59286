"""A grammar as the charts need it."""

from typing import NamedTuple

import numpy as np

from sklearn_shag.operators import Operators, ScaledOperators, scale_operators
from sklearn_shag.parsing._fast_range import LARGEST_IN_RANGE
from sklearn_shag.sequences import RIGHT
from sklearn_shag.utils._simd import LANES, aligned


class FastGrammar(NamedTuple):
    """Operators in the layout of the fast chart.

    Those of one state are numbers, and in the chart they are part of the scores of arcs. `A` is
    then of one head and one symbol, and leaves the one state as it is.
    """

    alpha_1: np.ndarray  # (n_heads, 2, n), states padded to a multiple of LANES
    alpha_inf: np.ndarray  # (n_heads, 2, n)
    A: np.ndarray  # (n_heads, 2, n_symbols, n, n)
    A_transposed: np.ndarray  # the last two axes exchanged
    in_arcs: np.ndarray  # (n_heads, 2, n_symbols), the operators of one state; else of size 0
    roots: np.ndarray  # (n_symbols,): the value of being the one root


class PackedGrammar(NamedTuple):
    """Operators in the layouts of both charts."""

    operators: Operators
    scaled: ScaledOperators  # for the scaled chart
    fast: FastGrammar | None  # None where entries are so large that the fast chart cannot take them


def pack_grammar(operators):
    """Lay out the operators of a grammar as the charts need them.

    Parameters
    ----------
    operators : Operators or PackedGrammar

    Returns
    -------
    grammar : PackedGrammar
    """
    if isinstance(operators, PackedGrammar):
        return operators
    # Contiguous, for kernels that are compiled for this layout.
    operators = Operators(*(np.ascontiguousarray(part, dtype=float) for part in operators))
    alpha_1, alpha_inf, A = operators
    scaled = scale_operators(operators)
    if not all(np.all(np.abs(part) <= LARGEST_IN_RANGE) for part in operators):
        return PackedGrammar(operators, scaled, None)
    roots = A[-1, RIGHT] @ alpha_1[-1, RIGHT] @ alpha_inf[-1, RIGHT]
    in_arcs = np.empty((0, 2, 0))
    if alpha_1.shape[2] == 1:
        in_arcs, A = A.reshape(A.shape[:3]), np.ones((1, 2, 1, 1, 1))
    parts = [_pad(part, part.shape[:2]) for part in (alpha_1, alpha_inf)]
    parts += [_pad(part, part.shape[:3]) for part in (A, A.swapaxes(3, 4))]
    return PackedGrammar(operators, scaled, FastGrammar(*parts, in_arcs, roots))


def writable(grammar):
    """Copy what is read-only, as other processes get large arrays: another type to the kernels."""
    for part in grammar:
        if not part.flags.writeable:
            return type(grammar)(*(_pad(part, part.shape) for part in grammar))
    return grammar


def _pad(values, leading):
    """Pad the axes of states, which follow the leading ones, with zeros to a multiple of LANES."""
    axes = values.shape[len(leading) :]
    shape = (*leading, *(size + -size % LANES for size in axes))
    out = aligned(int(np.prod(shape))).reshape(shape)
    out[...] = 0.0
    out[(..., *map(slice, axes))] = values
    return out
