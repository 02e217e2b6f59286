"""Records in model files: NamedTuples of arrays, and what is checked before they are trusted.

A further one needs a line in `RECORDS`, and a function that checks it.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sklearn_shag.encoding import Alphabet
from sklearn_shag.operators import Operators, grammar_shapes
from sklearn_shag.sequences import SequenceStatistics, TreebankStatistics

__all__ = ["RECORDS"]


def _same(record, _=None):
    return record


class Record(NamedTuple):
    """How files keep a fitted attribute that is a record."""

    annotation: type  # of the attribute
    stored: type  # the NamedTuple of arrays that goes to the file
    check: Callable  # of the record, other attributes by name, and what messages call it
    take: Callable = _same  # of the attribute, the record
    make: Callable = _same  # of the record and other attributes, the attribute


def _check_grammar(operators, others, key):
    """Kernels trust the shapes of operators."""
    shapes = grammar_shapes(others["symbols_"].size, operators.alpha_1.shape[-1])
    for field, array, shape in zip(Operators._fields, operators, shapes, strict=True):
        _check_array(array, np.float64, shape, f"{key}/{field}")


def _check_statistics(statistics, others, key):
    """Learners trust the codes of trigrams."""
    n_symbols = others["symbols_"].size
    alphabet = Alphabet(n_symbols)
    n_trigrams = (statistics.counts.size,)
    expected = SequenceStatistics(
        roots=(np.float64, (n_symbols,)),
        n_sequences=(np.float64, (alphabet.n_learned, 2)),
        indptr=(np.int64, (alphabet.n_pairs + 1,)),
        first=(np.int64, n_trigrams),
        middle=(np.int64, n_trigrams),
        last=(np.int64, n_trigrams),
        counts=(np.float64, n_trigrams),
    )
    for field, array, (dtype, shape) in zip(expected._fields, statistics, expected, strict=True):
        _check_array(array, dtype, shape, f"{key}/{field}")
    for codes, largest in (
        (statistics.first, alphabet.n_contexts - 1),
        (statistics.middle, n_symbols - 1),
        (statistics.last, alphabet.n_contexts - 1),
    ):
        if codes.min(initial=0) < 0 or codes.max(initial=0) > largest:
            raise ValueError(f"{key} holds codes outside 0..{largest}")
    indptr = statistics.indptr
    if indptr[0] != 0 or indptr[-1] != statistics.counts.size or np.any(np.diff(indptr) < 0):
        raise ValueError(f"{key}/indptr does not divide the {statistics.counts.size} trigrams")


def _take_statistics(statistics):
    """Leave out the symbols, which are those of the model."""
    return statistics.statistics


def _make_statistics(statistics, others):
    return TreebankStatistics(others["symbols_"], statistics)


def _check_array(array, dtype, shape, key):
    if array.shape != shape or array.dtype != dtype:
        raise ValueError(
            f"{key} is {array.dtype} of shape {array.shape}, not {np.dtype(dtype)} of {shape}"
        )
    if not np.isfinite(array).all():
        raise ValueError(f"{key} holds values that are not finite")


# By the name of their kind in files, which never changes.
RECORDS = {
    "operators": Record(Operators, Operators, _check_grammar),
    "statistics": Record(
        TreebankStatistics,
        SequenceStatistics,
        _check_statistics,
        _take_statistics,
        _make_statistics,
    ),
}
