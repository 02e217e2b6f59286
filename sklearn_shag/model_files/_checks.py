"""Checks of estimators from files, so that nothing fails later.

Estimators trust the attributes that `fit` has set, and kernels do not check bounds. `CHECKS` has
the checks of each class; `RECORDS` has the NamedTuples of arrays, each with its check: a further
one needs a line there.
"""

import re
import types
from itertools import chain
from typing import Any, Union, get_args, get_origin

import numpy as np
from sklearn.pipeline import Pipeline

from sklearn_shag.automata import NGrams, SequenceModel, check_ngrams
from sklearn_shag.conditional import CRFParser
from sklearn_shag.encoding import AFFIXES, LETTERS, RIGHT, VECTOR, check_name
from sklearn_shag.ensembles import ComposedParser
from sklearn_shag.features import LinearWeights, check_linear_weights
from sklearn_shag.learning import OperatorMixin, RefinedSHAG
from sklearn_shag.lexical import LexicalizedSHAG, LexicalStatistics, check_words
from sklearn_shag.model_files._archive import ModelFileError, require
from sklearn_shag.network import (
    LEARNED,
    OF_CHARACTERS,
    SCRIPT,
    NetworkLearner,
    NetworkWeights,
    Splitter,
    Tagger,
    TagLearner,
    check_network_weights,
    compile_patterns,
)
from sklearn_shag.operators import (
    Operators,
    RefinedOperators,
    check_automaton,
    check_axes,
    check_refined,
)
from sklearn_shag.parsing import LARGEST_SHARE, LARGEST_TEMPERATURE, TREES
from sklearn_shag.sequences import LabelCounts, SequenceStatistics, check_labels, check_trigrams
from sklearn_shag.treebank import ENDS, TokenFeature
from sklearn_shag.utils._arrays import check_codes, check_range, check_shape
from sklearn_shag.utils._messages import shorten

# NamedTuples of arrays by the name of their kind in files, which never changes, and their checks.
# Checks take the record, its name in messages, and the attributes with the names of their other
# parameters. Kinds are read in this order: the statistics of treebanks have the counts of labels.
RECORDS = {
    "automaton": (Operators, check_automaton),
    "operators": (Operators, check_axes),
    "refined": (RefinedOperators, check_refined),
    "labels": (LabelCounts, check_labels),
    "statistics": (SequenceStatistics, check_trigrams),
    "words": (LexicalStatistics, check_words),
    "linear": (LinearWeights, check_linear_weights),
    "network": (NetworkWeights, check_network_weights),
    "ngrams": (NGrams, check_ngrams),
}


def _learned_axes(model):
    """Return the leading axes of the automata of a model: by head and direction, if any."""
    return () if isinstance(model, SequenceModel) else (len(model.symbols_) + 1, 2)


_IN_COLUMNS = re.compile(r"[^\t\n\r]+")  # values that CoNLL-U can hold
_FORM_AND_TAG = re.compile(r"[^\t\n\r]+\t[^\t\n\r]*")
_SCRIPT = re.compile(SCRIPT, flags=re.ASCII)
_LARGEST_DOUBLE = float(np.finfo(float).max)  # float, since numpy's cannot be compared with all int
# Numbers outside of records, by attribute: their shape, or a function of the model that returns it,
# in which None is any size, and their smallest and largest value.
_NUMBERS = {
    "singular_values_": (lambda model: (*_learned_axes(model), None), -np.inf, np.inf),
    "effective_rank_": (_learned_axes, -np.inf, np.inf),
    "mixing_": ((), 0, 1),
    "weights_": (
        lambda model: (len(model.estimators_), *model.operators_.alpha_1.shape[:2]),
        0,
        _LARGEST_DOUBLE,
    ),
    "shares_": (lambda model: (len(model.estimators_),), 0, 1),
    "seed_": ((), 0, np.iinfo(np.int32).max),
    "rare_share_": ((), 0, 1),
    "nonprojective_share_": ((), 0, 1),
    "temperatures_": ((2,), 1 / LARGEST_TEMPERATURE, LARGEST_TEMPERATURE),
    "uniform_shares_": ((2,), 0, LARGEST_SHARE),
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
        Its name in messages.

    Raises
    ------
    ModelFileError
    """
    require(
        _fits_type(value, annotation),
        f"{key} is not of type {getattr(annotation, '__name__', annotation)}",
    )


def _fits_type(value, annotation):
    origin, inner = get_origin(annotation), get_args(annotation)
    if annotation is Any:
        return True
    if origin in (Union, types.UnionType):
        return any(_fits_type(value, each) for each in inner)
    if origin in (list, tuple):
        return type(value) is origin and _all_fit(value, inner[0])
    if origin is dict:
        return type(value) is dict and _all_fit(value.values(), inner[1])
    if annotation is float:
        # Whole numbers may have any number of digits; the loss of what is impossible is infinite.
        return type(value) in (int, float) and (abs(value) <= _LARGEST_DOUBLE or value == np.inf)
    # All whole numbers are counts.
    return type(value) is annotation and (annotation is not int or value >= 0)


def _all_fit(values, annotation):
    if annotation is str:  # most of a file: words
        return set(map(type, values)) <= {str}
    return all(_fits_type(value, annotation) for value in values)


def _require_in_columns(values, key):
    """Refuse values that the columns of CoNLL-U cannot hold."""
    require(
        all(map(_IN_COLUMNS.fullmatch, values)), f"{key} holds values that have a tab or line end"
    )


def check_model(model, key, max_bytes):
    """Check a fitted estimator whose attributes have the right types.

    Parameters
    ----------
    model : estimator
        No pipeline, and not frozen.
    key : str
        Its name in messages.
    max_bytes : float
        Largest size of tables that the estimator would make of its attributes.

    Raises
    ------
    ValueError, TypeError
        ModelFileError, or as `fit` of a composed parser.
    """
    for name, (shape, low, high) in _NUMBERS.items():
        numbers = getattr(model, name, None)
        if isinstance(numbers, np.ndarray | int | float):
            shape = shape(model) if callable(shape) else shape
            check_shape(numbers, shape, f"{key}/{name}")
            check_range(numbers, low, high, f"{key}/{name}")
    _require_in_columns(getattr(model, "labels_", ()), f"{key}/labels_")
    if hasattr(model, "loss_curve_"):
        _check_history(model, key)
    require(
        getattr(model, "trees_", "all") in TREES and len(getattr(model, "trees_scores_", ())) <= 2,
        f"{key}/trees_ is none of {', '.join(TREES)}, or has other scores",
    )
    for kind, check in CHECKS.items():
        if isinstance(model, kind):
            check(model, key)
    if isinstance(model, LexicalizedSHAG):
        _check_size_of_tables(model, key, max_bytes)


def _check_grammar(model, key):
    """Check that deterministic automata have logarithms, and the fallback a tree for everything."""
    not_negative = dict.fromkeys(Operators._fields, np.inf)
    if model._deterministic:
        check_codes(model.operators_, f"{key}/operators_", **not_negative)
    check_codes(model.fallback_operators_, f"{key}/fallback_operators_", **not_negative)
    alpha_1, alpha_inf, A = model.fallback_operators_
    # Each automaton needs a state that can begin, go on with any symbol, and end.
    stays = np.diagonal(A, axis1=-2, axis2=-1).min(axis=2)
    possible = (np.minimum(alpha_1, alpha_inf) * stays > 0).any(axis=-1)
    require(
        possible[:-1].all() and possible[-1, RIGHT],
        f"{key}/fallback_operators_ leaves sentences without a tree",
    )


def _check_vocabulary(model, key):
    """Check that names of columns can be read, and that tables of values have no repetitions."""
    names = list(model.vocabulary_)
    if isinstance(model, TagLearner) and names[-1:] == [VECTOR]:
        names.pop()
    require(names, f"{key}/vocabulary_ names no columns")
    for name in names:
        if not (isinstance(model, TagLearner) and name == LETTERS):
            check_name(name, f"{key}/vocabulary_")
        kind, _, length = name.partition(".")
        require(
            kind not in AFFIXES or 0 < len(length) < 4,
            f"{key}/vocabulary_ has {name!r} with no length, or a long one",
        )
    for name, values in model.vocabulary_.items():
        require(len(set(values)) == len(values), f"{key}/vocabulary_ has a value of {name!r} twice")
    columns = tuple(model.vocabulary_)
    require(
        columns == getattr(model, "columns_", columns),
        f"{key}/columns_ are not those of its vocabulary_",
    )


def _check_network(model, key):
    _check_vocabulary(model, key)
    for name, values in model.tag_values_.items():
        pattern = _SCRIPT if name == "lemma" else _IN_COLUMNS
        require(
            name in LEARNED
            and values
            and values == sorted(set(values))
            and all(map(pattern.fullmatch, values)),
            f"{key}/tag_values_ has no values for {name!r}, or wrong ones",
        )
    model._network()  # the network, which fails for wrong weights and unknown combinations of tags
    if isinstance(model, Tagger):
        lemmas = model.lemmas_
        require(
            model.tag_values_ and all(map(_FORM_AND_TAG.fullmatch, lemmas)),
            f"{key} holds no tags, or a lemma not named by a form and its tag",
        )
        _require_in_columns(lemmas.values(), f"{key}/lemmas_")
    else:
        require(isinstance(model.tagger_, Tagger | None), f"{key}/tagger_ is not a Tagger")


def _check_splitter(model, key):
    require(
        tuple(model.vocabulary_) == OF_CHARACTERS,
        f"{key}/vocabulary_ has columns other than {', '.join(OF_CHARACTERS)}",
    )
    require(
        model.tag_values_ == {"end": list(ENDS)},
        f"{key}/tag_values_ holds other ends than {', '.join(ENDS)}",
    )
    compile_patterns(model.patterns_)
    endings = {letters: words[1:] for letters, words in model.endings_.items()}
    tables = model.words_, model.ambiguous_, endings
    for form, words in chain.from_iterable(table.items() for table in tables):
        if not (words and all(map(_IN_COLUMNS.fullmatch, words))):
            raise ModelFileError(f"{key} has no words for {shorten(form)} that CoNLL-U can hold")
    require(
        all(_IN_COLUMNS.fullmatch(f"-{first}") for first, *_ in model.endings_.values()),
        f"{key}/endings_ has a tab or line end",
    )


def _check_linear(model, key):
    _check_vocabulary(model, key)
    for text in model.templates_:
        columns = {atom.partition(".")[2] for atom in text.split()} - {""}
        require(
            columns <= set(model.columns_),
            f"{key}/templates_ has {text!r}, with columns not in columns_",
        )
    _, templates = model._compiled()
    require(
        templates.texts == model.templates_,
        f"{key}/templates_ are not in order, or one is repeated",
    )


def _check_history(model, key):
    """Check that curves have a value for each iteration, and after EM one for the start."""
    n_first = 0 if isinstance(model, CRFParser | NetworkLearner) else 1
    n_losses = len(model.loss_curve_)
    require(n_losses == model.n_iter_ + n_first, f"{key}/loss_curve_ has {n_losses} values")
    require(
        len(getattr(model, "validation_scores_", ())) in (0, model.n_iter_),
        f"{key}/validation_scores_ does not have {model.n_iter_} values",
    )


def _check_composed(model, key):
    """Check that the fitted members would be accepted as `estimators`."""
    params = model.get_params(deep=False) | {"estimators": list(model.named_estimators_.items())}
    type(model)(**params)._check_members()


def _check_refined(model, key):
    """Check that the grammars with and without refinements have equal numbers of states."""
    n_states = {part.A.shape[2] for part in (*model.stages_, model.refined_operators_)}
    require(
        n_states == {model.operators_.A.shape[-1]},
        f"{key}/refined_operators_ and operators_ have different states",
    )


def _check_feature(model, key):
    require(model.rare_symbol != "", f"{key} has an empty rare_symbol")


def _check_size_of_tables(model, key, max_bytes):
    """Check the size of the tables of pairs of tags, which are made of smaller arrays."""
    n_tags = model.symbols_.size
    n_bytes = 8 * 2 * (n_tags + 2) * 2 * model.statistics_.n_classes * (n_tags + 1)
    require(
        n_bytes <= max_bytes,
        f"{key} makes tables of {n_bytes:,} bytes for its {n_tags:,} tags. If you trust it, load "
        f"it with a larger max_bytes={max_bytes:,}, or None.",
    )


CHECKS = {
    OperatorMixin: _check_grammar,
    TagLearner: _check_network,
    Splitter: _check_splitter,
    CRFParser: _check_linear,
    ComposedParser: _check_composed,
    RefinedSHAG: _check_refined,
    TokenFeature: _check_feature,
}
