"""What must hold of an estimator that came from a file, so that nothing fails later.

Estimators trust what `fit` has made, and kernels do not check bounds: `CHECKS` has, for each class,
what of that a file could get wrong. Arrays of records have their checks in `_records.py`.
"""

import re
import types
from typing import Any, Union, get_args, get_origin

import numpy as np
from sklearn.pipeline import Pipeline

from sklearn_shag._base_network import NetworkLearner
from sklearn_shag._base_shag import OperatorParser
from sklearn_shag._biaffine import BiaffineParser
from sklearn_shag._composition import ComposedParser
from sklearn_shag._conditional import ConditionalSHAG
from sklearn_shag._crf import CRFParser
from sklearn_shag._dummy import DummyParser
from sklearn_shag._lexicalized import LexicalizedSHAG
from sklearn_shag._mixture import MixtureSHAG
from sklearn_shag._model_file import ModelFileError
from sklearn_shag._spectral_cv import SpectralSHAGCV
from sklearn_shag._tagger import Tagger
from sklearn_shag.encoding import RIGHT
from sklearn_shag.features import AFFIXES, VECTOR, check_name
from sklearn_shag.treebank import TokenFeature

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
    OperatorParser: _check_operators,
    (OperatorParser, LexicalizedSHAG, CRFParser, BiaffineParser): _check_labels,
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
