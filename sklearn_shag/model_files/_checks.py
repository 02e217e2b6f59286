"""What must hold of an estimator that came from a file, so that nothing fails later.

Estimators trust what `fit` has made, and kernels do not check bounds: `CHECKS` has, for each class,
what of that a file could get wrong, and `RECORDS` the same for NamedTuples of arrays: a further one
needs a line there, and a function that checks it.
"""

import re
import types
from collections.abc import Callable
from typing import Any, NamedTuple, Union, get_args, get_origin

import numpy as np
from sklearn.pipeline import Pipeline

from sklearn_shag._dummy import DummyParser
from sklearn_shag.conditional import ConditionalSHAG, CRFParser
from sklearn_shag.encoding import AFFIXES, FIRST, RIGHT, VECTOR, Alphabet, check_name, pair_of
from sklearn_shag.ensembles import ComposedParser
from sklearn_shag.features import LinearWeights
from sklearn_shag.induction import MixtureSHAG
from sklearn_shag.learning import NO_SEED, Checkpoint, OperatorMixin, SpectralSHAGCV
from sklearn_shag.lexical import LexicalizedSHAG, LexicalStatistics
from sklearn_shag.model_files._archive import ModelFileError
from sklearn_shag.network import (
    BiaffineParser,
    NetworkLearner,
    NetworkWeights,
    Tagger,
    count_parameters,
    list_sizes,
)
from sklearn_shag.operators import Operators, grammar_shapes
from sklearn_shag.sequences import LabelCounts, SequenceStatistics, TreebankStatistics
from sklearn_shag.treebank import TokenFeature


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


def _check_label_counts(counts, others, key):
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


def _check_linear_weights(weights, others, key):
    """Kernels trust that each label has a weight."""
    _check_array(weights.label_mask, np.bool_, (2, others["labels_"].size), f"{key}/label_mask")
    for field, array in (("arcs", weights.arcs), ("labels", weights.labels)):
        n_classes = 1 if field == "arcs" else others["labels_"].size
        shape = (array.shape[0] if array.ndim else 0, n_classes)
        _check_array(array, np.float32, shape, f"{key}/{field}")
        if not array.shape[0]:
            raise ModelFileError(f"{key}/{field} holds no weights")


def _check_network_weights(weights, others, key):
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
    "labels": Record(LabelCounts, LabelCounts, _check_label_counts),
    "words": Record(LexicalStatistics, LexicalStatistics, _check_words),
    "linear": Record(LinearWeights, LinearWeights, _check_linear_weights),
    "checkpoint": Record(Checkpoint, Checkpoint, _check_checkpoint),
    "network": Record(NetworkWeights, NetworkWeights, _check_network_weights),
}


_ANY_SIZE = None
_IN_COLUMNS = re.compile(r"[^\t\n\r]+")  # values that CoNLL-U can hold
_LAST_SEED = np.iinfo(np.int32).max
_LARGEST_DOUBLE = float(np.finfo(float).max)  # numpy's cannot be compared with all whole numbers
# Of arrays that are no records, where an estimator has the attribute.
_SHAPES = {
    "log_likelihoods_": lambda model: (model.n_iter_ + 1,),
    "objectives_": lambda model: (model.n_iter_ + 1,),
    "singular_values_": lambda model: (model.symbols_.size + 1, 2, _ANY_SIZE),
    "effective_rank_": lambda model: (model.symbols_.size + 1, 2),
    "scores_": lambda model: (_ANY_SIZE, _ANY_SIZE, model.n_splits_),
    "weights_": lambda model: (len(model.estimators_), *model.operators_.alpha_1.shape[:2]),
}


def check_params(model):
    """Check the parameters of an estimator and, if it is composed, its members as given.

    Parameters
    ----------
    model : estimator or Pipeline

    Raises
    ------
    ValueError, TypeError
        As its `fit` would.
    """
    model._validate_params()
    if isinstance(model, ComposedParser):
        model._check_members()
    if isinstance(model, Pipeline):
        model._validate_steps()


def check_value(value, annotation, key):
    """Check a plain value by the annotation of its attribute.

    Parameters
    ----------
    value : object
        Of JSON, with tuples.
    annotation : type
    key : str
        What messages call it.

    Raises
    ------
    ModelFileError
    """
    if not _fits(value, annotation):
        raise ModelFileError(f"{key} is no {getattr(annotation, '__name__', annotation)}")


def _fits(value, annotation):
    origin, inner = get_origin(annotation), get_args(annotation)
    if annotation is Any:
        return True
    if origin in (Union, types.UnionType):
        return any(_fits(value, each) for each in inner)
    if origin in (list, tuple):
        return type(value) is origin and all(_fits(item, inner[0]) for item in value)
    if origin is dict:
        return type(value) is dict and all(_fits(item, inner[1]) for item in value.values())
    if annotation is float:
        # Whole numbers may have any number of digits.
        return type(value) in (int, float) and abs(value) <= _LARGEST_DOUBLE
    if annotation is int:
        return type(value) is int and value >= 0  # all are numbers of something
    return type(value) is annotation


def check_model(model, key, max_bytes):
    """Check a fitted estimator whose attributes have the right types.

    Parameters
    ----------
    model : estimator
        No pipeline, and not frozen.
    key : str
        What messages call it.
    max_bytes : None or int
        The size of tables that it would make of what the file holds.

    Raises
    ------
    ValueError, TypeError
        ModelFileError, or as `fit` of a composed parser.
    """
    for name, shape_of in _SHAPES.items():
        array = getattr(model, name, None)
        if isinstance(array, np.ndarray):
            _check_numbers(array, shape_of(model), f"{key}/{name}")
    for kind, check in CHECKS.items():
        if isinstance(model, kind):
            check(model, key)
    if isinstance(model, LexicalizedSHAG) and max_bytes is not None:
        _check_size_of_tables(model, key, max_bytes)


def _check_numbers(array, shape, key):
    matches = len(shape) == array.ndim and all(
        n in (_ANY_SIZE, size) for n, size in zip(shape, array.shape, strict=True)
    )
    if array.dtype != np.float64 or not matches:
        raise ModelFileError(f"{key} is {array.dtype} of shape {array.shape}")
    if np.isnan(array).any():
        raise ModelFileError(f"{key} holds values that are no numbers")


def _check_operators(model, key):
    """Logarithms are taken of deterministic automata; the fallback must be able to do anything."""
    if model._deterministic and min(part.min() for part in model.operators_) < 0:
        raise ModelFileError(f"{key}/operators_ holds negative values of deterministic automata")
    alpha_1, alpha_inf, A = model.fallback_operators_
    if min(part.min() for part in model.fallback_operators_) < 0:
        raise ModelFileError(f"{key}/fallback_operators_ holds negative values")
    # Of each automaton some state begins, goes on with whatever comes, and ends.
    stays = np.diagonal(A, axis1=-2, axis2=-1).min(axis=2)
    possible = (np.minimum(alpha_1, alpha_inf) * stays > 0).any(axis=-1)
    if not (possible[:-1].all() and possible[-1, RIGHT]):
        raise ModelFileError(f"{key}/fallback_operators_ leaves sentences without a tree")


def _check_labels(model, key):
    _check_values_of_column(model.labels_, f"{key}/labels_")


def _check_values_of_column(values, key):
    if not all(map(_IN_COLUMNS.fullmatch, values)):
        raise ModelFileError(f"{key} holds values that are empty, or have a tab or line end")


def _check_vocabulary(model, key):
    """Columns are read by their names; each group of them has a table of values."""
    names = list(model.vocabulary_)
    if isinstance(model, NetworkLearner) and names[-1:] == [VECTOR]:
        names.pop()
    if not names:
        raise ModelFileError(f"{key}/vocabulary_ names no columns")
    for name in names:
        check_name(name, f"{key}/vocabulary_")
        kind, _, length = name.partition(".")
        if kind in AFFIXES and not 0 < len(length) < 4:
            raise ModelFileError(f"{key}/vocabulary_ has {name!r} without a length, or a long one")
    for name, values in model.vocabulary_.items():
        if len(set(values)) < len(values):
            raise ModelFileError(f"{key}/vocabulary_ has a value of {name!r} twice")
    if tuple(model.vocabulary_) != getattr(model, "columns_", tuple(model.vocabulary_)):
        raise ModelFileError(f"{key}/columns_ are not those of its vocabulary_")


def _check_network(model, key):
    _check_vocabulary(model, key)
    _check_values_of_column(model.tags_, f"{key}/tags_")
    has_tags = model.tag_column_ in ("upos", "xpos")
    if has_tags != bool(model.tags_.size) or not (has_tags or model.tag_column_ is None):
        raise ModelFileError(f"{key}/tags_ are not those of its tag_column_, {model.tag_column_!r}")
    model._kept()  # what is made of these before the first sentence


def _check_tagger(model, key):
    if not model.tags_.size:
        raise ModelFileError(f"{key}/tags_ holds no tags")


def _check_linear(model, key):
    _check_vocabulary(model, key)
    for text in model.templates_:
        columns = {atom.partition(".")[2] for atom in text.split()} - {""}
        if not columns <= set(model.columns_):
            raise ModelFileError(f"{key}/templates_ has {text!r} of other columns than columns_")
    _, templates = model._kept()
    if templates.texts != model.templates_:
        raise ModelFileError(f"{key}/templates_ are not in their order, or one is there twice")


def _check_history(model, key):
    """Curves have a value for each iteration."""
    n_first = 0 if isinstance(model, CRFParser | NetworkLearner) else 1
    if len(model.loss_curve_) != model.n_iter_ + n_first:
        raise ModelFileError(f"{key}/loss_curve_ has {len(model.loss_curve_)} values")
    if len(getattr(model, "validation_scores_", ())) not in (0, model.n_iter_):
        raise ModelFileError(f"{key}/validation_scores_ has not {model.n_iter_} values")


def _check_tuned(model, key):
    """What goes on from tuned operators measures how far they are from where they began."""
    if model.start_operators_.A.shape != model.operators_.A.shape:
        raise ModelFileError(f"{key}/start_operators_ have other states than its operators_")


def _check_composed(model, key):
    """The fitted members must be such as could have been given."""
    params = model.get_params(deep=False) | {"estimators": list(model.named_estimators_.items())}
    type(model)(**params)._check_members()


def _check_mixture(model, key):
    if model.weights_.min() < 0 or not np.isfinite(model.weights_).all():
        raise ModelFileError(f"{key}/weights_ holds weights that are negative or not finite")


def _check_search(model, key):
    chosen = {"n_states": model.best_n_states_, "smoothing": model.best_smoothing_}
    if model.best_params_ != chosen or chosen not in model.cv_results_["params"]:
        raise ModelFileError(f"{key}/best_params_ are none of its candidates")


def _check_dummy(model, key):
    if model.seed_ > _LAST_SEED:
        raise ModelFileError(f"{key}/seed_ is larger than {_LAST_SEED}")


def _check_feature(model, key):
    if model.rare_symbol == "" or not 0 <= model.rare_share_ <= 1:
        raise ModelFileError(f"{key} has an empty rare_symbol, or a rare_share_ that is no share")


def _check_size_of_tables(model, key, max_bytes):
    """What backs off to tags has a table of pairs of them, which the file need not have."""
    n_tags = model.symbols_.size
    n_bytes = 8 * 2 * (n_tags + 2) * 2 * model.statistics_.n_classes * (n_tags + 1)
    if n_bytes > max_bytes:
        raise ModelFileError(
            f"{key} makes tables of {n_bytes:,} bytes of its {n_tags:,} tags. If you trust it, "
            f"load it with a larger max_bytes={max_bytes:,}, or None."
        )


CHECKS = {
    OperatorMixin: _check_operators,
    (OperatorMixin, LexicalizedSHAG, CRFParser, BiaffineParser): _check_labels,
    NetworkLearner: _check_network,
    Tagger: _check_tagger,
    CRFParser: _check_linear,
    (ConditionalSHAG, CRFParser, NetworkLearner): _check_history,
    ConditionalSHAG: _check_tuned,
    ComposedParser: _check_composed,
    MixtureSHAG: _check_mixture,
    SpectralSHAGCV: _check_search,
    DummyParser: _check_dummy,
    TokenFeature: _check_feature,
}
