"""Models on disk: arrays and a JSON header in an .npz file, never pickled objects."""

import inspect
import io
import json
import os
import zipfile
from functools import cache
from typing import Any, get_type_hints

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from sklearn_shag._spectral_cv import format_results
from sklearn_shag.encoding import Alphabet
from sklearn_shag.operators import Operators, grammar_shapes
from sklearn_shag.sequences import SequenceStatistics, TreebankStatistics
from sklearn_shag.treebank import TokenFeature
from sklearn_shag.utils._io import STANDARD, atomic_write, read_bytes
from sklearn_shag.utils._typing import FilePath, FloatArray, ObjectArray, StrArray

FORMAT_VERSION = 1
HEADER = "header"
PICKLE = b"\x80"  # what a pickle begins with, also one of joblib
# How fitted attributes of a type are kept; those of other types must be plain values.
KINDS = {
    Operators: "operators",
    TreebankStatistics: "statistics",
    ObjectArray: "strings",
    StrArray: "strings",
    FloatArray: "array",
}


def save_model(model: BaseEstimator, path: FilePath) -> None:
    """Save a fitted estimator, or a pipeline of them, to a file.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted estimator of this package, or a :class:`sklearn.pipeline.Pipeline` whose steps are.
    path : str or path-like
        The file, by convention ``.npz``. It is replaced only when all is written. ``-`` is
        standard output, ``~`` the home folder.

    Raises
    ------
    TypeError
        If the model, or one of its parameters, cannot be stored without pickling it, or `path` is
        no path.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    OSError
        If the file cannot be written.

    See Also
    --------
    load_model : The inverse.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn_shag import DeterministicSHAG, load_model, save_model
    >>> model = DeterministicSHAG().fit([["DET", "NOUN"]], [[2, 0]])
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.npz"
    >>> save_model(model, path)
    >>> load_model(path).predict([["DET", "NOUN"]])[0]
    array([2, 0])
    """
    arrays = {}
    header = {"format": FORMAT_VERSION, "model": _describe(model, "model", arrays)}
    arrays[HEADER] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with atomic_write(path, "wb") as file:
        np.savez_compressed(file, **arrays)


# Estimators of this package and pipelines have too little in common to say more of the result.
def load_model(path: FilePath) -> Any:
    """Load what :func:`save_model` has saved.

    Parameters
    ----------
    path : str or path-like
        ``-`` is standard input, ``~`` the home folder.

    Returns
    -------
    model : estimator or Pipeline
        Fitted, with the parameters that it had.

    Raises
    ------
    ValueError
        If the file is not such a model, is damaged, or was written in a newer format.
    TypeError
        If `path` is no path.
    OSError
        If the file cannot be read.

    Notes
    -----
    The file holds numbers and text only, and names classes of a fixed list: loading a file of
    unknown origin does not run code from it.

    Examples
    --------
    See :func:`save_model`.
    """
    content = io.BytesIO(read_bytes(path))
    path = "<stdin>" if path == STANDARD else path
    # numpy takes any other file for a pickle, and would advise to trust it.
    if not zipfile.is_zipfile(content):
        problem = "it is no .npz archive, as save_model and the command train write it."
        if content.getvalue().startswith(PICKLE):
            problem = (
                "it looks like a pickle. joblib.load or pickle.load may read it; but loading it "
                "can run any code, so load only what you trust."
            )
        raise ValueError(f"{path} is not a saved model, or is damaged: {problem}")
    try:
        # Damaged archives raise errors of many kinds, from zipfile, zlib, numpy and json.
        with np.load(content, allow_pickle=False) as archive:
            arrays = dict(archive)
        header = json.loads(arrays[HEADER].tobytes())
        version = header["format"]
    except KeyError:
        raise ValueError(
            f"{path} is not a saved model, or is damaged: it is an archive without a header, which "
            f"those that save_model and the command train write have."
        ) from None
    except Exception as error:
        raise ValueError(
            f"{path} is not a saved model, or is damaged: {error!r}. Take a copy of the file, or "
            f"train the model again."
        ) from error
    if type(version) is not int or version != FORMAT_VERSION:
        raise ValueError(
            f"{path} has the format {version}; this version of sklearn_shag reads format "
            f"{FORMAT_VERSION}. Use the version that wrote it, or train the model again."
        )
    try:
        return _restore(header["model"], "model", arrays)
    except Exception as error:
        raise ValueError(f"{path} does not describe a model of this package: {error!r}") from error


@cache
def _classes():
    """The only classes that are ever made from a file, by name: all public estimators."""
    import sklearn_shag

    public = [getattr(sklearn_shag, name) for name in sklearn_shag.__all__] + [TokenFeature]
    return {
        value.__name__: value
        for value in public
        if inspect.isclass(value)
        and issubclass(value, BaseEstimator)
        and not inspect.isabstract(value)
    }


@cache
def _attributes(cls):
    """The kind of every fitted attribute of an estimator, from its annotation."""
    hints = get_type_hints(cls)
    kinds = {name: KINDS.get(hint, "plain") for name, hint in hints.items() if name.endswith("_")}
    if "cv_results_" in kinds:  # a table, unlike other dictionaries
        kinds["cv_results_"] = "results"
    return kinds


def _describe(model, prefix, arrays):
    """Describe a model for the header; its arrays go to `arrays` under names with the prefix."""
    if type(model) is Pipeline:
        params = model.get_params(deep=False)
        steps = [
            [name, _describe(step, f"{prefix}/{name}", arrays)]
            for name, step in params.pop("steps")
        ]
        return {"class": "Pipeline", "steps": steps, "params": _describe_params(params)}
    if type(model) not in _classes().values():
        raise TypeError(_describe_other(model))
    check_is_fitted(model)
    params = model.get_params(deep=False)
    kinds = _attributes(type(model))
    attributes = {
        name: _describe_attribute(kinds[name], value, f"{prefix}/{name}", arrays)
        for name, value in vars(model).items()
        if name in kinds
    }
    described = _describe_params(params)
    return {"class": type(model).__name__, "params": described, "attributes": attributes}


def _describe_other(model):
    """Why something cannot be saved, and what can."""
    if isinstance(model, str | os.PathLike):
        return (
            f"A {type(model).__name__} cannot be saved. The model comes first and the path second: "
            f"save_model(model, path)."
        )
    if isinstance(model, type):
        return f"The class {model.__name__} cannot be saved; save a fitted instance of it."
    best = "its best_estimator_, " if hasattr(model, "best_estimator_") else ""
    return (
        f"A {type(model).__name__} cannot be saved as arrays; use joblib.dump, or save {best}one "
        f"of {', '.join(_classes())} or a Pipeline of them."
    )


def _describe_attribute(kind, value, key, arrays):
    """Describe a fitted attribute; `_restore_attribute` is the inverse."""
    described = {"kind": kind}
    if kind == "array":
        arrays[key] = value
    elif kind in ("operators", "statistics"):
        # The symbols of statistics are those of the model.
        record = value.statistics if kind == "statistics" else value
        arrays.update({f"{key}/{field}": array for field, array in record._asdict().items()})
    elif kind == "results":
        described["candidates"] = _plain(value["params"])
    elif kind == "strings":
        # Text goes to the header, where no fixed width cuts it.
        described |= {"dtype": value.dtype.str, "values": value.tolist()}
    else:
        described["value"] = _plain(value)
    return described


def _describe_params(params):
    described = {name: _plain(value) for name, value in params.items()}
    for name, plain in described.items():
        if plain is NotImplemented:
            raise TypeError(
                f"The parameter {name}={params[name]!r} cannot be saved; set it to a number, a "
                f"string or None before saving, or use joblib.dump."
            )
    return described


def _plain(value):
    """A value as JSON can hold it, or NotImplemented; `_revive` is the inverse."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, range):
        return {"range": [value.start, value.stop, value.step]}
    if isinstance(value, dict):
        items = {name: _plain(item) for name, item in value.items()}
        if NotImplemented in items.values() or not all(isinstance(name, str) for name in items):
            return NotImplemented
        return {"dict": items}
    if isinstance(value, list | tuple):
        items = [_plain(item) for item in value]
        if NotImplemented in items:
            return NotImplemented
        return {"tuple": items} if isinstance(value, tuple) else items
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return NotImplemented


def _revive(value):
    if isinstance(value, list):
        return [_revive(item) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "range":
        return range(*content)
    if kind == "dict":
        return {name: _revive(item) for name, item in content.items()}
    if kind == "tuple":
        return tuple(_revive(content))
    raise ValueError(f"unknown kind of value {kind!r}")


def _restore(description, prefix, arrays):
    params = {name: _revive(value) for name, value in description["params"].items()}
    if description["class"] == "Pipeline":
        steps = [
            (name, _restore(step, f"{prefix}/{name}", arrays))
            for name, step in description["steps"]
        ]
        return Pipeline(steps, **params)
    model = _classes()[description["class"]](**params)
    expected = _attributes(type(model))
    stored = description["attributes"]
    if {name: attribute["kind"] for name, attribute in stored.items()} != expected:
        raise ValueError(f"the attributes of a {type(model).__name__} are {', '.join(expected)}")
    symbols = np.array(stored["symbols_"]["values"], dtype=stored["symbols_"]["dtype"])
    for name, attribute in stored.items():
        value = _restore_attribute(attribute, f"{prefix}/{name}", arrays, symbols)
        if attribute["kind"] == "results":
            scores = arrays[f"{prefix}/scores_"]
            value = format_results(value, scores.reshape(len(value), -1))
        setattr(model, name, value)
    return model


def _restore_attribute(attribute, key, arrays, symbols):
    kind = attribute["kind"]
    if kind == "array":
        return arrays[key]
    if kind == "operators":
        value = Operators(*(arrays[f"{key}/{field}"] for field in Operators._fields))
        _check_grammar(value, symbols.size, key)
        return value
    if kind == "statistics":
        fields = SequenceStatistics._fields
        value = SequenceStatistics(*(arrays[f"{key}/{field}"] for field in fields))
        _check_statistics(value, symbols.size, key)
        return TreebankStatistics(symbols, value)
    if kind == "results":
        return _revive(attribute["candidates"])
    if kind == "strings":
        return symbols
    return _revive(attribute["value"])


def _check_grammar(operators, n_symbols, key):
    """Kernels trust the shapes of operators."""
    shapes = grammar_shapes(n_symbols, operators.alpha_1.shape[-1])
    for field, array, shape in zip(Operators._fields, operators, shapes, strict=True):
        _check_array(array, np.float64, shape, f"{key}/{field}")


def _check_statistics(statistics, n_symbols, key):
    """Learners trust the codes of trigrams."""
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


def _check_array(array, dtype, shape, key):
    if array.shape != shape or array.dtype != dtype:
        raise ValueError(
            f"{key} is {array.dtype} of shape {array.shape}, not {np.dtype(dtype)} of {shape}"
        )
    if not np.isfinite(array).all():
        raise ValueError(f"{key} holds values that are not finite")
