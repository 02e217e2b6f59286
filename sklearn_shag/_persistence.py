"""Models on disk: arrays and a JSON header in an .npz file, never pickled objects."""

import json
import zipfile

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from sklearn_shag._deterministic import DeterministicSHAG
from sklearn_shag._spectral import SpectralSHAG
from sklearn_shag.operators import Operators
from sklearn_shag.treebank import TokenFeature
from sklearn_shag.utils._io import atomic_write

__all__ = ["load_model", "save_model"]

FORMAT_VERSION = 1
HEADER = "header"
# Only these are ever made from a file.
CLASSES = {cls.__name__: cls for cls in (DeterministicSHAG, SpectralSHAG, TokenFeature)}


def save_model(model, path):
    """Save a fitted estimator, or a pipeline of them, to a file.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted estimator of this package, or a :class:`sklearn.pipeline.Pipeline` whose steps are.
    path : str or path-like
        The file, by convention ``.npz``. It is replaced only when all is written.

    Raises
    ------
    TypeError
        If the model, or one of its parameters, cannot be stored without pickling it.
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


def load_model(path):
    """Load what :func:`save_model` has saved.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    model : estimator or Pipeline
        Fitted, with the parameters that it had.

    Raises
    ------
    ValueError
        If the file is not such a model, is damaged, or was written in a newer format.
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
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = dict(archive)
        header = json.loads(arrays[HEADER].tobytes())
        version = header["format"]
    except (EOFError, KeyError, TypeError, ValueError, AttributeError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is not a saved model, or is damaged: {error}") from error
    if version != FORMAT_VERSION:
        raise ValueError(
            f"{path} has the format {version}; this version of sklearn_shag reads format "
            f"{FORMAT_VERSION}. Use the version that wrote it, or train the model again."
        )
    try:
        return _restore(header["model"], "model", arrays)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{path} does not describe a model of this package: {error!r}") from error


def _describe(model, prefix, arrays):
    """Describe a model for the header; its arrays go to `arrays` under names with the prefix."""
    if isinstance(model, Pipeline):
        steps = [[name, _describe(step, f"{prefix}/{name}", arrays)] for name, step in model.steps]
        return {"class": "Pipeline", "steps": steps}
    if CLASSES.get(type(model).__name__) is not type(model):
        raise TypeError(
            f"A {type(model).__name__} cannot be saved as arrays; use joblib.dump, or save one of "
            f"{', '.join(sorted(CLASSES))} or a Pipeline of them."
        )
    check_is_fitted(model)
    attributes = {
        name: _describe_attribute(value, f"{prefix}/{name}", arrays)
        for name, value in vars(model).items()
        if name.endswith("_") and not name.startswith("_")
    }
    params = {name: _plain(name, value) for name, value in model.get_params(deep=False).items()}
    return {"class": type(model).__name__, "params": params, "attributes": attributes}


def _describe_attribute(value, key, arrays):
    """Store an attribute; text goes to the header, where no fixed width cuts it."""
    if isinstance(value, Operators):
        for field, array in value._asdict().items():
            arrays[f"{key}/{field}"] = array
        return {"kind": "operators"}
    if value.dtype.kind in "OU":
        return {"kind": "strings", "dtype": value.dtype.str, "values": value.tolist()}
    arrays[key] = value
    return {"kind": "array"}


def _plain(name, value):
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list | tuple):
        return [_plain(name, item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(
        f"The parameter {name}={value!r} cannot be saved; set it to a number, a string or None "
        f"before saving, or use joblib.dump."
    )


def _restore(description, prefix, arrays):
    if description["class"] == "Pipeline":
        return Pipeline(
            [
                (name, _restore(step, f"{prefix}/{name}", arrays))
                for name, step in description["steps"]
            ]
        )
    model = CLASSES[description["class"]](**description["params"])
    for name, stored in description["attributes"].items():
        key = f"{prefix}/{name}"
        if stored["kind"] == "operators":
            value = Operators(*(arrays[f"{key}/{field}"] for field in Operators._fields))
        elif stored["kind"] == "strings":
            value = np.array(stored["values"], dtype=stored["dtype"])
        else:
            value = arrays[key]
        setattr(model, name, value)
    return model
