"""Checks of flat arrays: kernels trust what they get."""

import numpy as np

from sklearn_shag.encoding import RIGHT, Alphabet
from sklearn_shag.utils._messages import shorten


def check_trees(codes, heads, indptr, n_symbols):
    """Check the arrays of :func:`extract_sequences`, all but for cycles.

    Returns
    -------
    codes, heads, indptr : int64 ndarrays

    Raises
    ------
    ValueError
        If they are no flat arrays of whole numbers, their sizes do not agree, or a code or a head
        is out of its range.
    """
    codes, heads = _as_integers(codes, "codes"), _as_integers(heads, "heads")
    if codes.size != heads.size:
        raise ValueError(
            f"There are {codes.size} codes and {heads.size} heads; each token has one."
        )
    indptr = check_indptr(indptr, codes.size, "indptr", "codes")
    _check_range(codes, 0, n_symbols, "codes")
    lengths = np.diff(indptr)
    _check_range(heads, 0, np.repeat(lengths, lengths), "heads")
    return codes, heads, indptr


def check_sequences(sequences, n_symbols):
    """Check that flat arrays are sequences of symbols of that number.

    Parameters
    ----------
    sequences : HeadModifierSequences
    n_symbols : int
        Modifiers may be the unknown symbol, heads also the root symbol.

    Raises
    ------
    ValueError
        If their sizes do not agree, or something is out of its range.
    """
    n_sequences = np.size(sequences.heads)
    for name in ("heads", "directions", "indptr", "modifiers"):
        _as_integers(getattr(sequences, name), f"sequences.{name}")
    for name in ("directions", "weights"):
        if np.shape(getattr(sequences, name)) != (n_sequences,):
            raise ValueError(
                f"sequences.{name} has the shape {np.shape(getattr(sequences, name))}, but there "
                f"are {n_sequences} heads; each sequence has one of both."
            )
    if np.size(sequences.indptr) != n_sequences + 1:
        raise ValueError(
            f"sequences.indptr has {np.size(sequences.indptr)} entries, but the "
            f"{n_sequences} sequences have {n_sequences + 1}: where each begins, and the end."
        )
    check_indptr(sequences.indptr, sequences.modifiers.size, "sequences.indptr", "modifiers")
    _check_range(sequences.directions, 0, RIGHT, "sequences.directions")
    _check_range(sequences.modifiers, 0, n_symbols, "sequences.modifiers")
    _check_range(sequences.heads, 0, Alphabet(n_symbols).root, "sequences.heads")


def check_indptr(indptr, size, name, of):
    """Check that positions run from 0 to the size of an array, and never back."""
    indptr = _as_integers(indptr, name)
    if not indptr.size or indptr[0] != 0 or indptr[-1] != size or (np.diff(indptr) < 0).any():
        raise ValueError(
            f"{name} must grow from 0 to the number of {of}, {size}; got {shorten(indptr)}."
        )
    return indptr


def _as_integers(values, name):
    given = np.asarray(values)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise ValueError(f"{name} must be a flat array of whole numbers, got {shorten(values)}.")
    return given.astype(np.int64, copy=False)


def _check_range(values, low, high, name):
    """Check that values are at least `low` and at most `high`, one number or one for each."""
    outside = (values < low) | (values > high)
    if outside.any():
        k = int(np.argmax(outside))
        highest = int(np.broadcast_to(high, values.shape)[k])
        raise ValueError(f"{name}[{k}] must be from {low} to {highest}, got {int(values[k])}.")
