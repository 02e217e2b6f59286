"""Model files, whole and damaged: refused, or an estimator that parses."""

import contextlib
import copy
import io
import json
import tempfile
import traceback
import warnings
import zipfile
from functools import cache, partial
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import sklearn_shag
from sklearn_shag import ModelFileError, load_model, save_model
from sklearn_shag.automata import SequenceModel
from sklearn_shag.treebank import DependencyTree, UnknownSymbolWarning, is_projective
from sklearn_shag.utils._estimators import open_member
from sklearn_shag.utils._param_validation import InvalidParameterError
from tests.estimators import check_promises
from tests.fuzz._run import OUT_OF_RANGE, Target
from tests.fuzz.treebanks import change_bytes
from tests.model_files import short_trees, small_models

PACKAGE = str(Path(sklearn_shag.__file__).parent)
LONGEST_MESSAGE = 500
DEEP = "@deep@"  # stands for lists in lists, which json cannot write
VALUES = [
    *(None, True, False, 0, 1, -1, 2, 3, 7, 100, 2**31 - 1, 2**31, 2**63, 2**64, -(2**63), 10**30),
    *(0.0, -0.0, 0.5, -1.5, 1e308, 1e-308, 5e-324, float("inf"), float("-inf"), float("nan")),
    *("", "x", "_", "a\tb", "a\nb", "\ud800", "\0", "\x1b[2J", "x" * 5000, "NOUN", "DET", "root"),
    *("mbr", "viterbi", "mst", "max_marginal", "single", "first", "sibling", "fcp", "em", "random"),
    *("symbol", "form", "suffix", "prefix.2", "shape", "vector", "feats.Case", "upos", "deprel"),
    *("h.symbol", "h.tag m.tag", "m+999999999999.symbol", "bias", "array", "strings", "operators"),
    *([], {}, [[]], [1, 2], ["NOUN"], [["VERB", "NOUN"]], {"x": 1}, DEEP),
    *({"tuple": [1, 2]}, {"dict": {}}, {"range": [0, 3, 1]}, {"range": [0, 10**18, 1]}),
    *({"range": [0]}, {"range": "x"}, {"tuple": {}}, {"class": "DMV"}, "DMV", "Pipeline", "os"),
]
NUMBERS = (
    1e38,
    -1e38,
    1e-38,
    0.0,
    1.0,
    -1.0,
    0.5,
    1e-300,
    1e300,
    -1e300,
    5e-324,
    np.inf,
    -np.inf,
    np.nan,
    2.0,
    1e6,
)
WHOLE_NUMBERS = (0, 1, -1, 2, 3, 1000, 2**31, 2**62, -(2**62), 2**63 - 1)


class Model(NamedTuple):
    """What is in a model file."""

    header: dict
    arrays: dict


class Mutant(NamedTuple):
    """A damaged file, and what is to be done with what comes out of it."""

    data: bytes
    chosen: int  # the method that is tried beside the cheap ones


@cache
def saved_models():
    """What is in the files of all small models, by their names."""
    models = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        for name, estimator in small_models().items():
            save_model(estimator, path)
            with np.load(path) as archive:
                arrays = dict(archive)
            models[name] = Model(json.loads(arrays.pop("header").tobytes()), arrays)
    return models


def make(random):
    """A mutant of one of the models."""
    chosen = random.randrange(1 << 16)
    if random.random() < 0.15:
        data = _pack(*random.choice(list(saved_models().values())))
        data = data[: random.choice((len(data), len(data), random.randrange(len(data))))]
        return Mutant(change_bytes(random, data), chosen)
    header, arrays = random.choice(list(saved_models().values()))
    header, arrays = copy.deepcopy(header), dict(arrays)
    for _ in range(random.choice((1, 1, 1, 1, 2))):
        change = random.choice((_change_array, _change_values, _change_header, _change_size))
        header = change(random, header, arrays) or header
    return Mutant(_pack(header, arrays, random if random.random() < 0.1 else None), chosen)


def _change_array(random, _, arrays):
    if not arrays:
        return
    name = random.choice(list(arrays))
    array = arrays[name]
    action = random.randrange(8)
    if action == 0:
        del arrays[name]
    elif action == 1:
        arrays[random.choice((name + "x", "header", "\x1b", random.choice(list(arrays))))] = array
    elif action == 2:
        kinds = ("f4", ">f8", "i4", "i8", "u1", "?", "c16", "O", "S3", "U2", "f2")
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            arrays[name] = array.astype(random.choice(kinds))
    else:
        shapes = ((-1,), (1, -1), (-1, 1), (*array.shape, 1), array.shape[::-1])
        rows = np.atleast_1d(array)
        arrays[name] = random.choice(
            [
                array.reshape(random.choice(shapes)),
                array.T,
                rows[: random.randrange(len(rows) + 1)],
                np.concatenate([rows, rows[:1]]),
                np.asfortranarray(array),
            ]
        )


def _change_values(random, _, arrays):
    """Change numbers alone, so that more may still be a model."""
    if not arrays:
        return
    name = random.choice(list(arrays))
    array = arrays[name]
    action = random.randrange(4)
    with np.errstate(all="ignore"):
        if action == 0:
            arrays[name] = np.full_like(array, _number(random, array))
        elif action == 1 and array.dtype.kind == "f":
            factor = random.choice((-1, 0, 1e-300, 1e-30, 1e-5, 1e5, 1e30, 1e300))
            arrays[name] = (array * factor).astype(array.dtype)
        elif array.size:
            arrays[name] = array = array.copy(order="K")
            for _ in range(random.choice((1, 1, 3, array.size // 2))):
                place = tuple(random.randrange(n) for n in array.shape)
                array[place] = _number(random, array)


def _number(random, array):
    if array.dtype.kind == "f":
        return random.choice(NUMBERS)
    if array.dtype == bool:
        return random.random() < 0.5
    if array.dtype.kind not in "iu":  # after another change
        return array.reshape(-1)[0] if array.size else 0
    value = random.choice((*WHOLE_NUMBERS, array.size, *array.ravel()[:1].tolist()))
    return int(np.clip(value, np.iinfo(array.dtype).min, np.iinfo(array.dtype).max))


def _change_size(random, header, arrays):
    """Give all axes of one size another, and lists in the header too: shapes that fit."""
    sizes = sorted({size for array in arrays.values() for size in array.shape})
    if not sizes:
        return None
    old = random.choice(sizes)
    new = random.choice((0, 1, max(old - 1, 0), old + 1, 2 * old))
    apart = random.choice((0, 0, 1, 2))  # sizes that are larger than that by one or two
    for name, array in arrays.items():
        for axis, size in enumerate(array.shape):
            more = size - old
            if 0 <= more <= apart and size:
                array = array.take(np.arange(new + more) % size, axis=axis)
        arrays[name] = array
    return _resize_lists(header, old, new)


def _resize_lists(node, old, new):
    if isinstance(node, dict):
        return {key: _resize_lists(child, old, new) for key, child in node.items()}
    if isinstance(node, list) and node and len(node) == old and isinstance(node[0], str | float):
        longer = [
            f"{value}{k}" if isinstance(value, str) else value for k, value in enumerate(node)
        ]
        return (node + longer)[:new]
    return [_resize_lists(child, old, new) for child in node] if isinstance(node, list) else node


def _change_header(random, header, _):
    """Change one value, wherever it is."""
    parent, key, node = None, None, header
    while isinstance(node, dict | list) and node and (parent is None or random.random() < 0.9):
        parent = node
        key = random.choice(list(node)) if isinstance(node, dict) else random.randrange(len(node))
        node = node[key]
    action = random.randrange(8)
    if action == 0:
        del parent[key]
    elif action == 1:
        name = random.choice((*vars(sklearn_shag)["__all__"], "x"))
        if isinstance(parent, dict):
            parent[random.choice((name, key, "random_state", "class"))] = name
        else:
            parent.append(copy.deepcopy(node))
    elif action == 2 and isinstance(parent, list):
        random.shuffle(parent)
    elif action == 3:
        other = random.choice(list(saved_models().values())).header["model"]
        for level in ("attributes", "params"):
            if isinstance(parent, dict) and key in other.get(level, {}):
                parent[key] = copy.deepcopy(other[level][key])
    elif action == 4 and isinstance(node, int | float):
        parent[key] = random.choice((node + 1, node - 1, -node, node * 10, float(node), str(node)))
    else:
        parent[key] = copy.deepcopy(random.choice(VALUES))  # the next change may be within it


def _pack(header, arrays, random=None):
    """The bytes of an archive; with `random` what stands in its directory may be wrong."""
    text = json.dumps(header)
    if DEEP in text:
        deep = 40 if random is None else random.choice((10, 1000, 100_000))
        text = text.replace(f'"{DEEP}"', "[" * deep + "]" * deep)
    file = io.BytesIO()
    method = zipfile.ZIP_STORED
    if random is not None:
        method = random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA))
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w", method) as archive:
        warnings.simplefilter("ignore")  # names that are there twice
        arrays = {"header": np.frombuffer(text.encode(), dtype=np.uint8)} | arrays
        for name, array in arrays.items():
            archive.writestr(f"{name}.npy", _as_npy(array))
            if random is not None and random.random() < 0.05:
                archive.writestr(f"{name}.npy", _as_npy(array))
        if random is not None:
            _lie(random, archive.infolist())
    return file.getvalue()


def _as_npy(array):
    file = io.BytesIO()
    np.lib.format.write_array(file, array, allow_pickle=True)
    return file.getvalue()


def _lie(random, infos):
    info = random.choice(infos)
    field, values = random.choice(
        [
            ("file_size", (0, 1, info.file_size + 1, 2**31, 2**32 - 2, 2**40)),
            ("compress_size", (0, 1, info.compress_size - 1, 2**31, 2**40)),
            ("flag_bits", [info.flag_bits | bit for bit in (1, 0x40, 0x800, 0x2000)]),
            ("compress_type", (0, 1, 8, 9, 12, 14, 93, 99)),
            ("CRC", (info.CRC ^ 1, info.CRC ^ 0xFFFF)),
            ("header_offset", (0, 1, info.header_offset + 1, 2**31)),
        ]
    )
    setattr(info, field, random.choice(values))


@cache
def _file():
    """The name of a file of this process, in a folder that goes with it."""
    folder = tempfile.TemporaryDirectory()
    return folder, Path(folder.name) / "model.npz"


@cache
def _sentences():
    """Known sentences, and one with unknown words and tags, which has no values elsewhere."""
    known = [tree for tree in short_trees() if len(tree) > 3][:2]
    columns = {name: getattr(known[0], name)[:3] for name in ("xpos", "feats", "lemmas")}
    columns |= {"upos": ["ADJ", "new", "NOUN"], "deprels": ["amod", "root", "dep"]}
    return [*known, DependencyTree(["Brand-new", "words", "NOUN"], [2, 0, 2], **columns)]


def run(mutant):
    """Load a mutant, and do with it whatever can be done."""
    _, path = _file()
    path.write_bytes(mutant.data)
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UnknownSymbolWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", OUT_OF_RANGE)
        try:
            model = load_model(path)
        except ModelFileError as error:
            message = str(error)
            assert len(message) <= LONGEST_MESSAGE, len(message)
            assert message.isprintable(), message
            return "ModelFileError"
        outcomes = set()
        assert isinstance(repr(model), str)
        last = open_member(model).parser
        for method in (_predict, _OTHERS[mutant.chosen % len(_OTHERS)]):
            try:
                method(model, last)
            except Exception as error:
                if not _is_documented(error):
                    raise
                outcomes.add(type(error).__name__)
    return ", then ".join(["loaded", *sorted(outcomes)])


def _is_documented(error):
    """Whether an error was raised by this package, or by what it has parameters checked."""
    own = traceback.extract_tb(error.__traceback__)[-1].filename.startswith(PACKAGE)
    kinds = NotFittedError, InvalidParameterError
    return isinstance(error, kinds) or (own and type(error) in (ValueError, TypeError))


def _predict(model, last):
    if isinstance(model, SequenceModel):
        sequences = [[], *(tree.symbols for tree in _sentences())]
        following = model.predict_proba(sequences)
        assert (following >= 0).all()
        np.testing.assert_allclose(following.sum(axis=1), 1, rtol=1e-6)
        assert not np.isnan(model.score_samples(sequences)).any()
        assert np.isfinite(model.transform(sequences)).all()
        assert len(model.sample(random_state=0, max_length=5)[0]) <= 5
    elif hasattr(model, "predict"):
        for sentence, heads in zip(_sentences(), model.predict(_sentences()), strict=True):
            assert len(DependencyTree(sentence.forms, heads).children(0)) == 1, heads
            assert last.decoder == "mst" or is_projective(heads.tolist()), heads
    else:
        assert len(model.transform(_sentences())) == len(_sentences())


def _check_promise(name, _, last):
    if hasattr(last, "predict_marginals"):
        check_promises(last, _sentences(), name)


def _others(_, last):
    """What only must not fail in a way that nobody knows."""
    for method, *options in (("score_arcs",), ("explain", 2)):
        if hasattr(last, method):
            sentences = _sentences() if method != "explain" else _sentences()[0]
            getattr(last, method)(sentences, *options)


def _sample(_, last):
    if hasattr(last, "sample"):
        trees = last.sample(2, random_state=0, max_length=10)
        assert all(len(tree) <= 10 for tree in trees)


def _learn_more(_, last):
    if hasattr(last, "partial_fit"):
        last.partial_fit(short_trees()[:3])
        _predict(last, last)


def _again(model, _):
    """Save it and load it: the same, whatever it is."""
    _, path = _file()
    save_model(model, path)
    assert repr(load_model(path)) == repr(model)


def _clone(model, _):
    clone(model).get_params()


PROMISES = ("heads", "marginals", "tags", "chunks", "files", "partial_trees")
_OTHERS = [partial(_check_promise, name) for name in PROMISES]
_OTHERS += [_others, _sample, _learn_more, _again, _clone]
TARGETS = {"models": Target(make, run, attrgetter("data"))}
