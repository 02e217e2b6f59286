"""Models on disk: arrays and a JSON header in an .npz file, never pickled objects."""

import inspect
import json
import os
from collections import ChainMap
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, get_args, get_type_hints

import numpy as np
from joblib import hash as hash_of
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from sklearn_shag.automata import SequenceModel
from sklearn_shag.encoding import split_embeddings
from sklearn_shag.model_files._archive import HEADER, Archive, ModelFileError, require
from sklearn_shag.model_files._checks import RECORDS, check_model, check_params, check_value
from sklearn_shag.network import TagLearner
from sklearn_shag.operators import RefinedOperators
from sklearn_shag.sequences import TreebankStatistics
from sklearn_shag.treebank import MAX_BYTES, Dictionary, TokenFeature
from sklearn_shag.utils._arrays import check_finite
from sklearn_shag.utils._estimators import name_members
from sklearn_shag.utils._io import STANDARD, atomic_write, read_bytes
from sklearn_shag.utils._messages import printable, shorten
from sklearn_shag.utils._typing import FilePath, FloatArray, IntArray, ObjectArray, StrArray

if TYPE_CHECKING:
    from sklearn_shag.ensembles import ParserPipeline

    class Model(ParserPipeline, Any):
        """Any model: it has the methods of parsers, and may have others and be of other classes."""
else:
    Model = Any

FORMAT_VERSION = 1
_MAX_ESTIMATORS = 1000  # in a file, members of members included
_LONGEST_RANGE = 1 << 20
_WORTH_SHARING = 1 << 12  # bytes of an array
# Kinds of fitted attributes in files, by type; attributes of other types must be plain values.
KINDS = {
    **{stored: kind for kind, (stored, _) in RECORDS.items()},
    TreebankStatistics: "statistics",
    list[RefinedOperators]: "stages",
    ObjectArray: "strings",
    ObjectArray | IntArray: "strings",
    StrArray: "strings",
    FloatArray: "array",
    Bunch: "members",
}


DOCUMENTS = "sklearn_shag.documents"  # the folder of transformers that files do not hold


class FileContents(NamedTuple):
    """The arrays of a file and its frozen estimators, while the header is written."""

    arrays: dict  # by their names in the archive
    frozen: dict  # the first place of each frozen estimator, by its id


class FileSource(NamedTuple):
    """The arrays of a file and the restored estimators, while the header is read."""

    archive: Archive
    frozen: dict  # frozen estimators by the first of their places
    dictionaries: dict  # by their texts
    places: list  # of the estimators restored so far
    networks: list  # restored estimators that may read vectors in context, or tag words


def save_model(model: BaseEstimator, path: FilePath, *, card: dict[str, Any] | None = None) -> None:
    """Save a fitted estimator, or a pipeline of them, to a file.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted estimator of this package, or a :class:`sklearn.pipeline.Pipeline` whose steps are.
        Any of them may be in a :class:`sklearn.frozen.FrozenEstimator`.
    path : str or path-like
        The file, by convention ``.npz``. It is replaced only when everything is written. ``-`` is
        standard output, ``~`` the home folder.
    card : None or dict, default=None
        What the file says of the model, for :func:`read_card`: names with numbers, text, None, and
        lists and dicts of them. It belongs to the file, and not to the model, which may be fitted
        again.

    Raises
    ------
    TypeError
        If the model, one of its parameters, or the card cannot be stored without pickling it, or
        `path` is not a path.
    ValueError
        If a parameter has been set to a value that `fit` would refuse.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    OSError
        If the file cannot be written.

    See Also
    --------
    load_model : Loads the model.
    read_card : Reads the card.

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
    if not isinstance(card, dict | None):
        raise TypeError(f"card must be a dict, got {shorten(card)}.")
    contents = FileContents({}, {})
    header = {"format": FORMAT_VERSION, "model": _describe_model(model, "model", contents, True)}
    header |= {"card": card} if card else {}
    arrays, header["same"] = _keep_once(contents.arrays)
    arrays[HEADER] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with atomic_write(path) as file:
        np.savez_compressed(file, **arrays)


def load_model(
    path: FilePath,
    *,
    max_bytes: int | None = MAX_BYTES,
    embeddings: Any = None,
    dictionary: Dictionary | None = None,
) -> Model | Any:
    """Load a model that :func:`save_model` has saved.

    Parameters
    ----------
    path : str or path-like
        The file. ``-`` is standard input, ``~`` the home folder.
    max_bytes : None or int, default=2**30
        Largest size of the file, and of the unpacked data that is read from it. Memory stays below
        four times that. None means no limit, for files that you trust.
    embeddings : None, callable or object with `transform`, default=None
        The source of vectors in context, for a model that was trained with some; files do not store
        it. Every network in the model gets it as its parameter `embeddings`.
    dictionary : None or Dictionary, default=None
        Every network in the model that tags words gets it as its parameter `dictionary`. None
        leaves the dictionary of the file, if it holds one.

    Returns
    -------
    model : estimator or Pipeline
        The fitted model, with the parameters that it had.

    Raises
    ------
    ModelFileError
        A ValueError: if the file is not such a model, is damaged, was written in a newer format, or
        holds more than `max_bytes`.
    ValueError
        If `embeddings` is given, but nothing in the model reads vectors in context; or a
        `dictionary`, but nothing tags words.
    TypeError
        If `path` is not a path, or `embeddings` cannot give such vectors.
    OSError
        If the file cannot be read, or is larger than `max_bytes` (EFBIG).

    See Also
    --------
    save_model : Saves a model.

    Notes
    -----
    The file holds only numbers and text, and names classes from a fixed list: loading an untrusted
    file does not run code from it. :ref:`model_files` describes the format and the checks.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn_shag import DeterministicSHAG, load_model, save_model
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.npz"
    >>> save_model(DeterministicSHAG("single").fit([["DET", "NOUN"]], [[2, 0]]), path)
    >>> load_model(path)
    DeterministicSHAG(automaton='single')
    """
    if embeddings is not None and split_embeddings(embeddings)[1] is None:
        raise TypeError(
            f"embeddings must be a function from sentences to vectors in context, or have the "
            f"method transform, got {shorten(embeddings)}. Vectors of words are in the file."
        )
    model, networks, _ = _load_file(path, max_bytes)
    readers = [each for each in networks if each.embeddings_name_ is not None]
    if embeddings is not None and not readers:
        raise ValueError(
            f"{_show_path(path)}: this model reads no vectors in context; leave them out."
        )
    for estimator in readers:
        estimator.embeddings = embeddings
    if dictionary is not None:
        taggers = [each for each in networks if each._own_tagger().tag_values_]
        if not taggers:
            raise ValueError(
                f"{_show_path(path)}: this model tags no words; leave the dictionary out."
            )
        for estimator in taggers:
            estimator.dictionary = dictionary
    return model


def read_card(path: FilePath) -> dict[str, Any]:
    """Read what the file of a model says of it.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    card : dict
        Empty if the file has none. The command ``train`` writes `treebanks`, `trees`, `tokens`,
        `date`, `version` (of this package), `scores` and `note`, as far as it knows them. What a
        file says of itself is not checked.

    Raises
    ------
    ModelFileError
        If the file is not a saved model, or is damaged.
    OSError
        If the file cannot be read.

    See Also
    --------
    save_model : Writes the card.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn_shag import DeterministicSHAG, read_card, save_model
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.npz"
    >>> model = DeterministicSHAG().fit([["DET", "NOUN"]], [[2, 0]])
    >>> save_model(model, path, card={"note": "Of one tree.", "trees": 1})
    >>> read_card(path)
    {'note': 'Of one tree.', 'trees': 1}
    """
    return _load_file(path, MAX_BYTES)[-1]


def _load_file(path, max_bytes):
    """Return the model of a file, its networks, and the card."""
    data = read_bytes(path, max_bytes)
    try:
        return _load_archive(data, max_bytes)
    except MemoryError:
        raise
    # Damaged archives raise errors of many kinds, from zipfile, zlib and json; checks raise those
    # of the estimators.
    except Exception as error:
        problem = str(error) if isinstance(error, ValueError) else repr(error)
    # Raised outside of the handler: the first error may hold megabytes of the file.
    raise ModelFileError(
        printable(f"{_show_path(path)} is not a saved model, or is damaged: {problem}")
    )


def _show_path(path):
    return "<stdin>" if path == STANDARD else printable(os.fsdecode(path), 200)


def _load_archive(data, max_bytes):
    archive = Archive(data, max_bytes)
    header = archive.read_header()
    version = header.get("format") if isinstance(header, dict) else None
    require(
        type(version) is int and version == FORMAT_VERSION,
        f"it has the format {version}; this version of sklearn_shag reads format "
        f"{FORMAT_VERSION}. Use the version that wrote it, or train the model again.",
    )
    archive.same = header.get("same", {})
    check_value(archive.same, dict[str, str], "same")
    source = FileSource(archive, {}, {}, [], [])
    model = _restore_model(header.get("model"), "model", source, True)
    return model, source.networks, _take_item({"card": {}} | header, "card", dict, "its header")


def _keep_once(arrays):
    """Leave out large arrays that are equal to others, such as the vectors of parser and tagger.

    Return the arrays that stay, and for each other one the name of that which it is equal to.
    """
    large = {name: array for name, array in arrays.items() if array.nbytes >= _WORTH_SHARING}
    first = {}
    kept = {name: first.setdefault(hash_of(array), name) for name, array in large.items()}
    same = {name: equal for name, equal in kept.items() if equal != name}
    return {name: array for name, array in arrays.items() if name not in same}, same


def _take_item(described, name, kind, key):
    """Return an item of a description in the header, which must be of type `kind`."""
    value = described.get(name) if isinstance(described, dict) else None
    require(type(value) is kind, f"{key} has no {name!r}, or none that is a {kind.__name__}.")
    return value


@cache
def _find_classes():
    """Find the classes that files may name, by name: public estimators, and a few others.

    Transformers of documents go with classifiers of scikit-learn, which files cannot hold.
    """
    import sklearn_shag

    public = [getattr(sklearn_shag, name) for name in sklearn_shag.__all__]
    return {
        value.__name__: value
        for value in (*public, TokenFeature, Pipeline, FrozenEstimator)
        if inspect.isclass(value)
        and issubclass(value, BaseEstimator)
        and not inspect.isabstract(value)
        and not value.__module__.startswith(DOCUMENTS)
    }


_hints = cache(get_type_hints)


@cache
def _find_kinds(cls):
    """Find the kind of each fitted attribute of a class of estimators, from its annotation."""
    kinds = {
        name: KINDS.get(hint, "plain") for name, hint in _hints(cls).items() if name.endswith("_")
    }
    if issubclass(cls, SequenceModel):
        kinds["operators_"] = "automaton"  # others have one for each head and direction
    return kinds


def _describe_model(model, key, contents, fitted):
    """Describe a model for the header; its arrays go to `contents` under names with the key.

    Without `fitted`, as for members as they were given, it has parameters alone. Frozen estimators
    are always fitted, and described at the first of their places. A student needs no teacher any
    more, so it is described alone.
    """
    model = getattr(model, "_opened", model)
    cls = type(model)
    if cls not in _find_classes().values():
        raise TypeError(_describe_other(model))
    described = {"class": cls.__name__}
    if cls is FrozenEstimator:
        described["key"] = contents.frozen.setdefault(id(model), key)
        if described["key"] == key:
            described["estimator"] = _describe_model(
                model.estimator, f"{key}/estimator", contents, True
            )
        return described
    params = model.get_params(deep=False) | dict.fromkeys(getattr(cls, "_unsaved_params", ()))
    if params.get("memory") is not None:
        raise TypeError("Pipeline memory, a folder of pickles, cannot be saved; set memory=None.")
    of_steps = fitted and issubclass(cls, Pipeline)
    described["params"] = {
        name: _to_json(value, f"{key}/{name}", contents, of_steps) for name, value in params.items()
    }
    check_params(model)
    if fitted and not of_steps:
        check_is_fitted(model)
        kinds = _find_kinds(cls)
        described["attributes"] = {
            name: _describe_attribute(kinds[name], value, f"{key}/{name}", contents)
            for name, value in vars(model).items()
            if name in kinds
        }
    return described


def _describe_other(model):
    """Write the message that an object cannot be saved, with advice."""
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
        f"of {', '.join(_find_classes())}."
    )


def _describe_attribute(kind, value, key, contents):
    """Describe a fitted attribute; `_restore_attribute` is the inverse."""
    if kind == "array":
        contents.arrays[key] = value
        return None
    if kind == "stages":
        for k, stage in enumerate(value):
            _describe_attribute("refined", stage, f"{key}/{k}", contents)
        return len(value)
    if kind in RECORDS:
        # The other fields of TreebankStatistics are attributes of the model, too.
        record = value.statistics if isinstance(value, TreebankStatistics) else value
        contents.arrays.update(
            {f"{key}/{field}": array for field, array in record._asdict().items()}
        )
        return None
    # Strings in the header have no fixed width.
    return _to_json(value.tolist() if kind == "strings" else value, key, contents, True)


def _to_json(value, key, contents, fitted):
    """Convert a value, and models in it, to types of JSON; `_restore_value` is the inverse."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, BaseEstimator):
        return _describe_model(value, key, contents, fitted)
    if isinstance(value, range):
        return {"range": [value.start, value.stop, value.step]}
    if isinstance(value, Dictionary):
        contents.arrays[key] = np.frombuffer("\n".join(value.to_lines()).encode(), np.uint8)
        return {"dictionary": key}
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        items = _to_json(list(value.values()), key, contents, fitted)
        return {"dict": dict(zip(value, items, strict=True))}
    if isinstance(value, tuple):
        return {"tuple": _to_json(list(value), key, contents, fitted)}
    if isinstance(value, list):
        return [_to_json(item, f"{key}/{k}", contents, fitted) for k, item in enumerate(value)]
    raise TypeError(
        f"{key}={shorten(value)} cannot be saved; set the parameter to a number, a string, None "
        f"or a list of them before saving, or use joblib.dump."
    )


def _restore_value(value, key, source, fitted):
    if isinstance(value, list):
        if not {list, dict} & set(map(type, value)):  # most of a file: words
            return value
        return [_restore_value(item, f"{key}/{k}", source, fitted) for k, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    if "class" in value:
        return _restore_model(value, key, source, fitted)
    ((kind, content),) = value.items()
    if kind == "dict" and isinstance(content, dict):
        items = _restore_value(list(content.values()), key, source, fitted)
        return dict(zip(content, items, strict=True))
    if kind == "tuple" and isinstance(content, list):
        return tuple(_restore_value(content, key, source, fitted))
    if kind == "dictionary" and isinstance(content, str):
        text = source.archive.read(content, np.uint8).tobytes().decode()
        if text not in source.dictionaries:
            source.dictionaries[text] = Dictionary(text.split("\n"))
        return source.dictionaries[text]
    if kind == "range" and len(revived := range(*content)) <= _LONGEST_RANGE:
        return revived
    raise ModelFileError(f"{key} has a value of an unknown kind, or a range that is too long.")


def _restore_model(description, key, source, fitted):
    """Make a model of its description by `_describe_model`."""
    source.places.append(key)
    require(
        len(source.places) <= _MAX_ESTIMATORS,
        f"it holds more than {_MAX_ESTIMATORS:,} estimators.",
    )
    name = _take_item(description, "class", str, key)
    require(name in _find_classes(), f"{key} is a {name!r}, which model files cannot hold.")
    cls = _find_classes()[name]
    if cls is FrozenEstimator:
        if "estimator" in description:
            source.frozen[key] = FrozenEstimator(
                _restore_model(description["estimator"], f"{key}/estimator", source, True)
            )
        return source.frozen[_take_item(description, "key", str, key)]
    of_steps = fitted and issubclass(cls, Pipeline)
    params = {
        param: _restore_value(value, f"{key}/{param}", source, of_steps)
        for param, value in _take_item(description, "params", dict, key).items()
    }
    for unsaved in ("memory", *getattr(cls, "_unsaved_params", ())):
        require(
            params.get(unsaved) is None,
            f"{key} has the parameter {unsaved!r}, which is never saved",
        )
    model = cls(**params)
    check_params(model)
    if fitted and not of_steps:
        stored = _take_item(description, "attributes", dict, key)
        vars(model).update(_restore_attributes(cls, stored, key, source))
        check_model(model, key, source.archive.max_bytes)
        if isinstance(model, TagLearner):
            source.networks.append(model)
    return model


def _restore_attributes(cls, stored, key, source):
    expected, hints = _find_kinds(cls), _hints(cls)
    required = {name for name in expected if not hasattr(cls, name)}  # others are newer
    require(
        required <= stored.keys() <= expected.keys(),
        f"the attributes of a {cls.__name__} are {', '.join(expected)}",
    )
    restored = dict.fromkeys(stored)  # in their order
    known = ChainMap(restored, {name: getattr(cls, name) for name in expected.keys() - required})
    # Attributes whose checks need other attributes come after these.
    order = {kind: place for place, kind in enumerate((*RECORDS, "stages"), start=1)}
    for name in sorted(stored, key=lambda name: order.get(expected[name], 0)):
        restored[name] = _restore_attribute(
            expected[name], hints[name], stored[name], f"{key}/{name}", source, known
        )
    return restored


def _restore_attribute(kind, annotation, value, key, source, others):
    if kind == "array":
        return source.archive.read(key, _find_dtype(annotation))
    if kind in RECORDS:
        return _restore_record(kind, annotation, key, source, others)
    value = _restore_value(value, key, source, True)
    if kind == "stages":
        check_value(value, int, key)
        parts = (f"{key}/{k}" for k in range(value))
        return [_restore_record("refined", annotation, part, source, others) for part in parts]
    if kind == "members":
        return name_members(value)
    if kind == "strings":
        return _restore_strings(value, annotation, key, source.archive.max_bytes)
    check_value(value, annotation, key)
    return value


def _restore_record(kind, annotation, key, source, others):
    stored, check = RECORDS[kind]
    arrays = {}
    for field, hint in _hints(stored).items():
        arrays[field] = source.archive.read(f"{key}/{field}", _find_dtype(hint))
        check_finite(arrays[field], f"{key}.{field}")
    record, names = stored(**arrays), list(inspect.signature(check).parameters)[2:]
    check(record, key, **{name: others[f"{name}_"] for name in names if f"{name}_" in others})
    if annotation is not TreebankStatistics:
        return record
    symbols, labels, counts = map(others.get, ("symbols_", "labels_", "label_counts_"))
    return TreebankStatistics(symbols, record, labels, counts)


def _find_dtype(annotation):
    """Return the type of the entries of arrays with this annotation, an NDArray."""
    # NDArray[T] is an alias of its own since numpy 2.5, before it was ndarray[Any, dtype[T]].
    while inner := get_args(annotation):
        annotation = inner[-1]
    return annotation


def _restore_strings(values, annotation, key, max_bytes):
    if annotation == ObjectArray | IntArray and values and type(values[0]) is int:
        require(
            set(map(type, values)) == {int} and values == sorted(set(values)),
            f"{key} holds symbols that are not integers, not sorted, or repeated",
        )
        return np.array(values, dtype=np.int64)
    check_value(values, list[str], key)
    # Words are sorted with their tags, which their record checks.
    is_sorted = key.endswith("/words_") or values == sorted(set(values))
    require(
        is_sorted and "" not in values,
        f"{key} holds strings that are empty, not sorted, or repeated",
    )
    if annotation != StrArray:
        return np.array(values, dtype=object)
    # Each string takes the room of the longest.
    n_bytes = 4 * len(values) * max(map(len, values), default=0)
    require(
        n_bytes <= max_bytes, f"{key} takes {n_bytes:,} bytes, more than max_bytes={max_bytes:,}"
    )
    return np.array(values, dtype=np.str_)
