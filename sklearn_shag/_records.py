"""Records in model files: NamedTuples of arrays, and what is checked before they are trusted.

A further one needs a line in `RECORDS`, and a function that checks it.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sklearn_shag._column_groups import list_sizes
from sklearn_shag._model_file import ModelFileError
from sklearn_shag.encoding import RIGHT, Alphabet, pair_of
from sklearn_shag.features import FIRST, VECTOR, LinearWeights
from sklearn_shag.learning import NO_SEED, Checkpoint
from sklearn_shag.lexical import LexicalStatistics
from sklearn_shag.network import NetworkWeights, count_parameters
from sklearn_shag.operators import Operators, grammar_shapes
from sklearn_shag.sequences import LabelCounts, SequenceStatistics, TreebankStatistics

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
    n_symbols, n_states = others["symbols_"].size, operators.alpha_1.shape[-1]
    if not n_symbols or not n_states:
        raise ModelFileError(f"{key} has {n_states} states over {n_symbols} symbols")
    shapes = grammar_shapes(n_symbols, n_states)
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
        _check_codes(codes, largest, key)
    _check_indptr(statistics.indptr, statistics.counts.size, "trigrams", key)
    if min(part.min(initial=0) for part in statistics[:2]) < 0 or np.any(statistics.counts <= 0):
        raise ModelFileError(f"{key} holds counts that are negative, or trigrams that never were")


def _take_statistics(statistics):
    """Leave out the symbols, which are those of the model."""
    return statistics.statistics


def _make_statistics(statistics, others):
    return TreebankStatistics(
        others["symbols_"], statistics, others["labels_"], others["label_counts_"]
    )


def _check_labels(counts, others, key):
    """What is made of the counts trusts their codes, and that there are some of labels."""
    n_symbols, n_labels = others["symbols_"].size, others["labels_"].size
    n_rows = (counts.counts.size,)
    for field, array in counts._asdict().items():
        dtype = np.float64 if field == "counts" else np.int64
        _check_array(array, dtype, n_rows, f"{key}/{field}")
    _check_codes(counts.heads, Alphabet(n_symbols).root, f"{key}/heads")
    _check_codes(counts.directions, RIGHT, f"{key}/directions")
    if counts.counts.min(initial=1) <= 0:
        raise ModelFileError(f"{key}/counts holds counts that are not positive")
    if bool(counts.counts.size) != bool(n_labels):
        raise ModelFileError(f"{key} holds {counts.counts.size} counts of {n_labels} labels")
    if n_labels:
        _check_codes(counts.modifiers, n_symbols - 1, f"{key}/modifiers")
        _check_codes(counts.labels, n_labels - 1, f"{key}/labels")


def _check_words(statistics, others, key):
    """What is made of the counts trusts their codes, and looks for words among sorted ones."""
    n_symbols, words = others["symbols_"].size, others["words_"]
    _check_array(statistics.tags, np.int64, (words.size,), f"{key}/tags")
    _check_array(statistics.classes, np.int64, (n_symbols + 1,), f"{key}/classes")
    _check_codes(statistics.tags, n_symbols - 1, f"{key}/tags")
    _check_codes(statistics.classes, 3, f"{key}/classes")
    known = list(zip(statistics.tags.tolist(), words.tolist(), strict=True))
    if known != sorted(set(known)):
        raise ModelFileError(f"{key}/tags and the words are not sorted, or hold a word twice")
    lexicon, n_pairs = statistics.lexicon, statistics.counts.size
    n_contexts = pair_of(lexicon.root + 1, 0) * statistics.n_classes
    _check_array(statistics.indptr, np.int64, (n_contexts + 1,), f"{key}/indptr")
    _check_array(statistics.outcomes, np.int64, (n_pairs,), f"{key}/outcomes")
    _check_array(statistics.counts, np.float64, (n_pairs,), f"{key}/counts")
    _check_indptr(statistics.indptr, n_pairs, "pairs", key)
    _check_codes(statistics.outcomes, lexicon.stop, f"{key}/outcomes")
    contexts = np.repeat(np.arange(n_contexts), np.diff(statistics.indptr))
    if np.any(np.diff(contexts * (lexicon.stop + 1) + statistics.outcomes) <= 0):
        raise ModelFileError(f"{key}/outcomes do not ascend in each context")
    if np.any(statistics.counts <= 0):
        raise ModelFileError(f"{key}/counts holds counts that are not positive")


def _check_linear(weights, others, key):
    """Kernels trust that each label has a weight."""
    _check_array(weights.label_mask, np.bool_, (2, others["labels_"].size), f"{key}/label_mask")
    for field, array in (("arcs", weights.arcs), ("labels", weights.labels)):
        n_classes = 1 if field == "arcs" else others["labels_"].size
        shape = (array.shape[0] if array.ndim else 0, n_classes)
        _check_array(array, np.float32, shape, f"{key}/{field}")
        if not array.shape[0]:
            raise ModelFileError(f"{key}/{field} holds no weights")


def _check_network(weights, others, key):
    """Layers trust that their parameters are where their sizes say."""
    hidden = weights.hidden_layer_sizes
    _check_array(hidden, np.int64, (hidden.size,), f"{key}/hidden_layer_sizes")
    if not hidden.size or hidden.min() < 1:
        raise ModelFileError(f"{key}/hidden_layer_sizes holds no layers, or some without units")
    n_labels = others["labels_"].size if "labels_" in others else None
    _check_array(weights.label_mask, np.bool_, (2, n_labels or 0), f"{key}/label_mask")
    vocabulary, vectors = others["vocabulary_"], weights.vectors
    n_codes = FIRST + len(vocabulary[VECTOR]) if VECTOR in vocabulary else 0
    n_dimensions = vectors.shape[-1] if n_codes else 0
    _check_array(vectors, np.float32, (n_codes, n_dimensions), f"{key}/vectors")
    sizes = list_sizes(vocabulary, hidden, n_labels, others["tags_"].size, n_dimensions)
    _check_array(weights.values, np.float32, (count_parameters(sizes),), f"{key}/values")


def _check_checkpoint(checkpoint, others, key):
    """EM trusts that it knows of each automaton, or of both phases of a DMV."""
    n_parts = Alphabet(others["symbols_"].size).n_pairs if "log_likelihoods_" in others else 2
    _check_array(checkpoint.digest, np.uint8, (32,), f"{key}/digest")
    _check_array(checkpoint.converged, np.bool_, (n_parts,), f"{key}/converged")
    # Iterations are those of all fits together, each of which may have had LARGEST_COUNT.
    for field, least, largest in (("seed", NO_SEED, 2**32 - 1), ("max_iter", 0, 2**62)):
        value = getattr(checkpoint, field)
        _check_array(value, np.int64, (), f"{key}/{field}")
        if not least <= value <= largest:
            raise ModelFileError(f"{key}/{field} is {value}, which is outside {least}..{largest}")


def _check_codes(codes, largest, key):
    if codes.min(initial=0) < 0 or codes.max(initial=0) > largest:
        raise ModelFileError(f"{key} holds codes outside 0..{largest}")


def _check_indptr(indptr, n_entries, entries, key):
    if indptr[0] != 0 or indptr[-1] != n_entries or np.any(np.diff(indptr) < 0):
        raise ModelFileError(f"{key}/indptr does not divide the {n_entries} {entries}")


def _check_array(array, dtype, shape, key):
    if array.shape != shape or array.dtype != dtype:
        raise ModelFileError(
            f"{key} is {array.dtype} of shape {array.shape}, not {np.dtype(dtype)} of {shape}"
        )
    if not np.isfinite(array).all():
        raise ModelFileError(f"{key} holds values that are not finite")


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
    "labels": Record(LabelCounts, LabelCounts, _check_labels),
    "words": Record(LexicalStatistics, LexicalStatistics, _check_words),
    "linear": Record(LinearWeights, LinearWeights, _check_linear),
    "checkpoint": Record(Checkpoint, Checkpoint, _check_checkpoint),
    "network": Record(NetworkWeights, NetworkWeights, _check_network),
}
