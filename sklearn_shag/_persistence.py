"""Models on disk: arrays and a JSON header in an .npz file, never pickled objects."""

import inspect
import io
import json
import os
import zipfile
from functools import cache
from typing import Any, NamedTuple, get_type_hints

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from sklearn_shag._composition import ComposedParser
from sklearn_shag._records import RECORDS
from sklearn_shag._spectral_cv import format_results
from sklearn_shag.treebank import TokenFeature
from sklearn_shag.utils._io import STANDARD, atomic_write, read_bytes
from sklearn_shag.utils._typing import FilePath, FloatArray, ObjectArray, StrArray

FORMAT_VERSION = 1
HEADER = "header"
PICKLE = b"\x80"  # what a pickle begins with, also one of joblib
# How fitted attributes of a type are kept; those of other types must be plain values.
KINDS = {
    **{record.annotation: kind for kind, record in RECORDS.items()},
    ObjectArray: "strings",
    StrArray: "strings",
    FloatArray: "array",
    Bunch: "members",
}


class Contents(NamedTuple):
    """What a file holds beside its header, while that is written or read."""

    arrays: dict  # by their names in the archive
    # Frozen estimators, which are at several places: when writing, the place that holds one by its
    # id; when reading, the estimator by its place.
    frozen: dict


def save_model(model: BaseEstimator, path: FilePath) -> None:
    """Save a fitted estimator, or a pipeline of them, to a file.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted estimator of this package, or a :class:`sklearn.pipeline.Pipeline` whose steps are.
        Any of them may be in a :class:`sklearn.frozen.FrozenEstimator`.
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
    contents = Contents(arrays := {}, {})
    header = {"format": FORMAT_VERSION, "model": _describe(model, "model", contents)}
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

    See Also
    --------
    save_model : The inverse.

    Notes
    -----
    The file holds numbers and text only, and names classes of a fixed list: loading a file of
    unknown origin does not run code from it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn_shag import DeterministicSHAG, load_model, save_model
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.npz"
    >>> save_model(DeterministicSHAG("single").fit([["DET", "NOUN"]], [[2, 0]]), path)
    >>> load_model(path)
    DeterministicSHAG(automaton='single')
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
        return _restore(header["model"], "model", Contents(arrays, {}))
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


def _describe(model, key, contents, fitted=True):
    """Describe a model for the header; its arrays go to `contents` under names with the key.

    One that is not to be fitted, such as a member as it was given, is no more than its parameters.
    """
    cls = type(model)
    if cls is FrozenEstimator:
        return _describe_frozen(model, key, contents)
    if cls is not Pipeline and cls not in _classes().values():
        raise TypeError(_describe_other(model))
    params = model.get_params(deep=False)
    params |= dict.fromkeys(getattr(cls, "_unsaved_params", ()))
    described = {"class": cls.__name__}
    if cls is Pipeline:
        described["steps"] = [
            [name, _describe(step, f"{key}/{name}", contents, fitted)]
            for name, step in params.pop("steps")
        ]
    elif issubclass(cls, ComposedParser):
        described["estimators"] = _describe_members(
            params.pop("estimators"), f"{key}/estimators", contents, fitted=False
        )
    nested = [name for name, value in params.items() if isinstance(value, BaseEstimator)]
    described["nested"] = _describe_members(
        [(name, params.pop(name)) for name in nested], f"{key}/nested", contents, fitted=False
    )
    described["params"] = _describe_params(params)
    if fitted and cls is not Pipeline:
        check_is_fitted(model)
        kinds = _attributes(cls)
        described["attributes"] = {
            name: _describe_attribute(kinds[name], value, f"{key}/{name}", contents)
            for name, value in vars(model).items()
            if name in kinds
        }
    return described


def _describe_frozen(model, key, contents):
    """Describe a frozen estimator, which is always fitted, where it is met first."""
    first = contents.frozen.setdefault(id(model), key)
    described = {"class": "FrozenEstimator", "key": first}
    if first == key:
        described["estimator"] = _describe(model.estimator, f"{key}/estimator", contents)
    return described


def _describe_members(members, key, contents, fitted):
    return [
        [name, _describe(member, f"{key}/{k}", contents, fitted)]
        for k, (name, member) in enumerate(members)
    ]


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


def _describe_attribute(kind, value, key, contents):
    """Describe a fitted attribute; `_restore_attribute` is the inverse."""
    described = {"kind": kind}
    if kind == "array":
        contents.arrays[key] = value
    elif kind in RECORDS:
        fields = RECORDS[kind].take(value)._asdict()
        contents.arrays.update({f"{key}/{field}": array for field, array in fields.items()})
    elif kind == "members":
        described["members"] = _describe_members(value.items(), key, contents, fitted=True)
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
                f"string, None or a list of them before saving, or use joblib.dump."
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


def _restore(description, key, contents, fitted=True):
    """Make the model that `_describe` has described."""
    name = description["class"]
    if name == "FrozenEstimator":
        return _restore_frozen(description, key, contents)
    params = {name: _revive(value) for name, value in description["params"].items()}
    if name == "Pipeline":
        steps = [
            (name, _restore(step, f"{key}/{name}", contents, fitted))
            for name, step in description["steps"]
        ]
        return Pipeline(steps, **params)
    cls = _classes()[name]
    if issubclass(cls, ComposedParser):
        members = description["estimators"]
        params["estimators"] = _restore_members(members, f"{key}/estimators", contents, False)
    params.update(_restore_members(description["nested"], f"{key}/nested", contents, False))
    model = cls(**params)
    if fitted:
        vars(model).update(_restore_attributes(cls, description["attributes"], key, contents))
    return model


def _restore_frozen(description, key, contents):
    if "estimator" in description:
        estimator = _restore(description["estimator"], f"{key}/estimator", contents)
        contents.frozen[key] = FrozenEstimator(estimator)
    return contents.frozen[description["key"]]


def _restore_members(members, key, contents, fitted):
    return [
        (name, _restore(member, f"{key}/{k}", contents, fitted))
        for k, (name, member) in enumerate(members)
    ]


def _restore_attributes(cls, stored, key, contents):
    expected = _attributes(cls)
    if {name: attribute["kind"] for name, attribute in stored.items()} != expected:
        raise ValueError(f"the attributes of a {cls.__name__} are {', '.join(expected)}")
    restored = dict.fromkeys(stored)  # in their order
    # Those that are checked or made with the help of others come last.
    for name in sorted(stored, key=lambda name: expected[name] in (*RECORDS, "results")):
        restored[name] = _restore_attribute(stored[name], f"{key}/{name}", contents, restored)
    return restored


def _restore_attribute(attribute, key, contents, others):
    kind = attribute["kind"]
    if kind == "array":
        return contents.arrays[key]
    if kind in RECORDS:
        record = RECORDS[kind]
        names = record.stored._fields
        value = record.stored(*(contents.arrays[f"{key}/{field}"] for field in names))
        record.check(value, others, key)
        return record.make(value, others)
    if kind == "members":
        named = Bunch()
        named.update(_restore_members(attribute["members"], key, contents, True))
        return named
    if kind == "results":
        candidates = _revive(attribute["candidates"])
        return format_results(candidates, others["scores_"].reshape(len(candidates), -1))
    if kind == "strings":
        if not all(isinstance(value, str) for value in attribute["values"]):
            raise ValueError(f"{key} holds values that are no strings")
        return np.array(attribute["values"], dtype=attribute["dtype"])
    return _revive(attribute["value"])
