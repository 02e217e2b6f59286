"""Model files: exact round trips, refusal of everything that is not one, atomic replacement."""

import copy
import functools
import io
import json
import operator
import os
import pathlib
import pickle
import tracemalloc
import zipfile
from functools import cache
from pathlib import Path

import joblib
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline, make_pipeline

from sklearn_shag import (
    AveragedParser,
    BiaffineParser,
    DeterministicSHAG,
    LexicalizedSHAG,
    ModelFileError,
    SpectralSHAG,
    load_model,
    read_card,
    save_model,
)
from sklearn_shag.model_files._checks import check_model, check_value
from sklearn_shag.operators import Operators
from sklearn_shag.treebank import DependencyTree, TokenFeature
from tests.estimators import ESTIMATORS
from tests.loops import over

# Parameters of other kinds than those of the estimators of all tests.
MODELS = [
    DeterministicSHAG("single", smoothing=2.5, decoder="viterbi", n_jobs=2),
    DeterministicSHAG("sibling", decoder="max_marginal"),
    SpectralSHAG(3, smoothing=0.1, decoder="max_marginal", n_jobs=1),
    AveragedParser(
        [
            ("tags/é", make_pipeline(TokenFeature("xpos"), make_pipeline(SpectralSHAG(2)))),
            ("self", SpectralSHAG(1)),
        ],
        weights=(1, 0.1),
    ),
    AveragedParser(
        [(name, DeterministicSHAG(name)) for name in ("first", "sibling")], weights=range(1, 3)
    ),
]
PIPELINES = [
    make_pipeline(TokenFeature("upos", ("xpos",), separator=" "), SpectralSHAG(3)),
    Pipeline(
        [
            ("tags/é", TokenFeature("upos", ["xpos", "feats.Case"], min_count=3, rare_symbol=None)),
            ("tags", DeterministicSHAG("single")),
        ]
    ),
    make_pipeline(make_pipeline(TokenFeature("form", min_count=2)), SpectralSHAG(2)),
    make_pipeline("passthrough", None, DeterministicSHAG()),
]


def saved(model, path):
    save_model(model, path)
    return path


@pytest.fixture
def small(tmp_path):
    """A small saved model; small enough to damage every part of it."""
    model = DeterministicSHAG("single").fit([["D", "N", "V"]], [[2, 3, 0]])
    return saved(model, tmp_path / "small.npz")


@pytest.fixture
def small_words(tmp_path):
    """A small saved model of words."""
    trees = [
        DependencyTree(
            ["the", "dog", "barks"],
            [2, 3, 0],
            upos=["D", "N", "V"],
            deprels=["det", "nsubj", "root"],
        ),
        DependencyTree(["a", "dog"], [2, 0], upos=["D", "N"], deprels=["det", "root"]),
    ]
    return saved(LexicalizedSHAG("first").fit(trees), tmp_path / "words.npz")


@pytest.fixture
def composed(english, tmp_path):
    """A saved model with a member."""
    average = AveragedParser([("member", SpectralSHAG(2))]).fit(english[:50])
    return saved(average, tmp_path / "model.npz")


@pytest.fixture
def feature(english, tmp_path):
    return saved(TokenFeature().fit(english[:9]), tmp_path / "feature.npz")


def put(place, value):
    """Change one value of an array."""

    def change(array):
        array = array.copy()
        array[place] = value
        return array

    return change


def assert_same(a, b):
    """Equal up to the last bit, in values, dtypes and types."""
    assert type(a) is type(b)
    if isinstance(a, BaseEstimator):
        a, b = vars(a), vars(b)
    if isinstance(a, dict):
        a, b = list(a.items()), list(b.items())
    if isinstance(a, np.ndarray):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
    if isinstance(a, tuple | list) or (isinstance(a, np.ndarray) and a.dtype.hasobject):
        for x, y in zip(a, b, strict=True):
            assert_same(x, y)
    elif isinstance(a, np.ndarray):
        assert a.tobytes() == b.tobytes()
    else:
        assert a == b or (a != a and b != b)


def round_trip(model, path):
    save_model(model, path)
    return load_model(path)


def read_parts(path):
    """The header and the arrays of a model file."""
    with np.load(path, allow_pickle=False) as archive:
        arrays = dict(archive)
    return json.loads(arrays.pop("header").tobytes()), arrays


@cache
def _first_parts(path):
    return read_parts(path)


def first_parts(path):
    """The parts that a file had when they were first asked for: cases of a test change it."""
    return copy.deepcopy(_first_parts(path))


def write_parts(path, header, arrays, save=np.savez):
    """The inverse; the header as bytes stays as it is."""
    if not isinstance(header, bytes):
        header = json.dumps(header).encode()
    save(path, header=np.frombuffer(header, dtype=np.uint8), **arrays)


def assert_refused(path, match=None, **options):
    """The error says so, and names the file."""
    with pytest.raises(ModelFileError, match=match) as caught:
        load_model(path, **options)
    assert str(path) in str(caught.value)
    return caught.value


def assert_little_memory(path, match, **options):
    """It is refused before there is room for what it holds."""
    tracemalloc.start()
    try:
        assert_refused(path, match, **options)
        assert tracemalloc.get_traced_memory()[1] < 40_000_000
    finally:
        tracemalloc.stop()


def read_members(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_members(path, members, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


class TestRoundTrip:
    @pytest.mark.parametrize("model", [*ESTIMATORS, *MODELS, *PIPELINES], ids=str)
    def test_estimators(self, model, fitted, english, tmp_path):
        """Parameters and all that was learned, to the last bit; the contract asks for answers."""
        if model not in ESTIMATORS:
            model = clone(model).fit(english[:80])
        elif "cv" in ESTIMATORS[model].get_params():  # splitters are objects
            model = clone(ESTIMATORS[model]).set_params(cv=3).fit(english[:80])
        else:
            model = fitted(model)
        assert_same(model, round_trip(model, tmp_path / "model.npz"))

    def test_files_from_before_a_parameter(self, small):
        """A parameter that the file does not know yet has its default."""
        damage(small, ("params", "verbose"), DELETED)
        assert load_model(small).verbose == 0

    def test_numpy_parameters_become_plain_ones(self, english, tmp_path):
        model = SpectralSHAG(np.int64(3), smoothing=np.float64(0.1)).fit(english[:20])
        loaded = round_trip(model, tmp_path / "model.npz")
        assert loaded.get_params() == model.get_params()
        assert (type(loaded.n_states), type(loaded.smoothing)) == (int, float)

    @pytest.mark.parametrize(("name", "cast"), [("model", str), ("modèle 1.bin", pathlib.Path)])
    def test_file_has_the_name_that_was_given(self, small, tmp_path, name, cast):
        model = load_model(small)
        small.unlink()
        path = tmp_path / name
        assert_same(model, round_trip(model, cast(path)))
        assert list(tmp_path.iterdir()) == [path]

    @over(
        "symbol",
        [
            "🌳" * 3,
            "x" * 5000,
            "trailing  ",
            "a\tb\nc\\\"'",
            "nul\0",
        ],
    )
    def test_symbols(self, tmp_path, symbol):
        model = DeterministicSHAG().fit([[symbol, "b", symbol], ["b"]], [[2, 0, 2], [0]])
        loaded = round_trip(model, tmp_path / "model.npz")
        assert loaded.symbols_.tolist() == sorted([symbol, "b"])
        assert_same(model, loaded)


class TestComposed:
    """Estimators made of estimators, and frozen ones."""

    @pytest.fixture
    def frozen(self, english):
        """An average with frozen members: a parser, a pipeline, the step of a pipeline."""
        parser = FrozenEstimator(DeterministicSHAG("single").fit(english[:90]))
        pipeline = make_pipeline(TokenFeature("xpos"), SpectralSHAG(2)).fit(english[90:180])
        members = [
            ("parser", parser),
            ("pipeline", FrozenEstimator(pipeline)),
            ("same parser", make_pipeline(TokenFeature("upos"), parser)),
            ("frozen feature", make_pipeline(FrozenEstimator(pipeline[0]), SpectralSHAG(2))),
        ]
        return AveragedParser(members).fit(english[180:270])

    def test_a_frozen_member_stays_one_object(self, frozen, tmp_path):
        """It is in the file once, although it is a parameter and a fitted member."""
        loaded = round_trip(frozen, tmp_path / "model.npz")
        parser = loaded.estimators[0][1]
        assert loaded.named_estimators_["parser"] is parser
        assert loaded.estimators[2][1][1] is parser
        assert loaded.named_estimators_["same parser"][1] is parser
        _, arrays = read_parts(tmp_path / "model.npz")
        assert sum(name.endswith("/statistics_/counts") for name in arrays) == 3

    def test_equal_arrays_are_stored_once(self, english, tmp_path):
        vectors = [f"w{k}" for k in range(300)], np.arange(3000.0).reshape(300, 10) / 1000
        parser = BiaffineParser(
            tags=["upos", "xpos"], embeddings=vectors, hidden_layer_sizes=[4], max_iter=1
        ).fit(english[:30])
        save_model(parser, path := tmp_path / "model.npz")
        header, arrays = read_parts(path)
        ((name, kept),) = header["same"].items()
        assert {name, kept} == {f"model/{part}weights_/vectors" for part in ("", "tagger_/")}
        assert name not in arrays
        loaded = load_model(path)
        for weights in (loaded.weights_, loaded.tagger_.weights_):
            assert_array_equal(weights.vectors, parser.weights_.vectors)
        assert not np.shares_memory(loaded.weights_.vectors, loaded.tagger_.weights_.vectors)
        for wrong in (kept, "other"):  # one step is followed, so there are no circles
            write_parts(path, header | {"same": {name: wrong, kept: name}}, arrays)
            assert_refused(path)
        write_parts(path, {key: header[key] for key in ("format", "model")}, arrays)
        assert_refused(path)
        write_parts(path, {"format": 1, "model": header["model"]}, arrays | {name: arrays[kept]})
        assert_array_equal(load_model(path).tagger_.weights_.vectors, arrays[kept])  # as before

    def test_members_as_given_are_their_parameters(self, english, tmp_path):
        """Whether or not they happen to be fitted, as a clone would have them."""
        member = SpectralSHAG(2).fit(english[:50])
        model = AveragedParser([("member", member)]).fit(english[50:120])
        ((name, loaded),) = round_trip(model, tmp_path / "model.npz").estimators
        assert (name, loaded.get_params()) == ("member", member.get_params())
        assert not hasattr(loaded, "operators_")


class Bomb:
    """Its unpickling makes a folder."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


class TestNoCodeFromFiles:
    @pytest.fixture
    def bomb(self, tmp_path):
        mark = tmp_path / "executed"
        pickle.loads(pickle.dumps(Bomb(str(mark))))
        assert mark.is_dir()  # the bomb works
        mark.rmdir()
        yield Bomb(str(mark))
        assert not mark.exists()

    def test_object_array(self, small, bomb):
        damage(small, "operators_/A", np.array([bomb], dtype=object))
        assert_refused(small)

    def test_what_the_header_does_not_ask_for_is_not_read(self, small, bomb):
        damage(small, "other", np.array([bomb], dtype=object))
        assert load_model(small).symbols_.tolist() == ["D", "N", "V"]

    def test_joblib(self, small, bomb):
        joblib.dump(bomb, small)
        assert_refused(small, r"looks like a pickle\. joblib\.load .* what you trust")


DELETED = object()


def damage(path, place, change, save=np.savez):
    """Change an array, by its name, or what is at a place of the header.

    Parameters
    ----------
    path : Path
    place : str or tuple
    change : object
        The value that is to be there, or a function of that which is.
    """
    header, arrays = first_parts(path)
    if isinstance(place, str):
        node, last = arrays, f"model/{place}"
    else:
        *way, last = place
        node = functools.reduce(operator.getitem, way, header["model"])
    if change is DELETED:
        del node[last]
    else:
        node[last] = change(node[last]) if callable(change) else change
    write_parts(path, header, arrays, save)


ATTRIBUTES = "attributes"
GROWS = "indptr must grow from 0 to the number of trigrams, "
# Where a model is changed, how, and what is said of it.
WRONG = {
    "small": [
        (("params", "decoder"), "x", "'decoder' parameter of DeterministicSHAG must be"),
        (("params", "n_jobs"), 0.5, "'n_jobs' parameter of DeterministicSHAG must be"),
        (("params", "x"), 1, "unexpected keyword argument 'x'"),
        (("params", "n_jobs"), {"range": [0, 10**15, 1]}, "range that is too long"),
        (("params", "n_jobs"), {"set": [1]}, "a value of an unknown kind"),
        (("params", "n_jobs"), {"dict": [1]}, "a value of an unknown kind"),
        (("params", "n_jobs"), {"tuple": {}}, "a value of an unknown kind"),
        (("params", "memory"), "folder", "has the parameter 'memory', which is never saved"),
        (("params",), [], "has no 'params', or none that is a dict"),
        (("class",), "Other", "model is a 'Other', which model files cannot hold"),
        (("class",), "BaseSHAG", "which model files cannot hold"),
        (("class",), ["SpectralSHAG"], "has no 'class', or none that is a str"),
        (("class",), "TokenFeature", "unexpected keyword argument"),
        ((ATTRIBUTES,), None, "has no 'attributes', or none that is a dict"),
        ((ATTRIBUTES, "symbols_"), DELETED, "the attributes of a DeterministicSHAG are"),
        ((ATTRIBUTES, "predict"), None, "the attributes of a DeterministicSHAG are"),
        ((ATTRIBUTES, "symbols_"), ["D", 5, "V"], "symbols_ is not of type list"),
        ((ATTRIBUTES, "symbols_"), ["", "N", "V"], "symbols_ holds strings that are empty"),
        ((ATTRIBUTES, "symbols_"), ["N", "D", "V"], "not sorted, or repeated"),
        ((ATTRIBUTES, "symbols_"), ["D", "D", "V"], "not sorted, or repeated"),
        ("operators_/A", DELETED, "it holds no array model/operators_/A"),
        ("operators_/A", np.negative, r"operators_\.A\[.*\] must be from 0 to inf, got -"),
        ("statistics_/roots", put(2, -0.5), r"roots\[2\] must be from 0 to inf, got -0\.5"),
        (
            "statistics_/n_sequences",
            put((3, 1), -0.5),
            r"n_sequences\[3, 1\] must be from 0 to inf",
        ),
        ("statistics_/counts", put(-1, 0), "counts holds counts that are not positive"),
        ("statistics_/counts", put(-1, np.inf), "counts holds values that are not finite"),
        ("statistics_/indptr", lambda indptr: np.maximum(indptr, 1), GROWS),
        ("statistics_/indptr", lambda indptr: np.minimum(indptr, indptr[-1] - 1), GROWS),
        ("statistics_/indptr", lambda indptr: np.r_[0, indptr[-1], indptr[2:]], GROWS),
        ("statistics_/middle", put(0, 3), "must be from 0 to 2, got 3"),  # the code of STOP
        *[
            (f"fallback_operators_/{field}", put(head, 0.0), "fallback_operators_ leaves sentences")
            for field in Operators._fields
            for head in range(5)
        ],
    ],
    "small_words": [
        ("statistics_/tags", put(0, -1), r"tags\[0\] must be from 0 to 2, got -1"),
        ("statistics_/tags", put(-1, 3), r"tags\[3\] must be from 0 to 2, got 3"),
        ("statistics_/tags", np.flip, "not sorted"),
        ("statistics_/classes", put(0, -1), r"classes\[0\] must be from 0 to 3, got -1"),
        ("statistics_/classes", put(0, 4), r"classes\[0\] must be from 0 to 3, got 4"),
        ("statistics_/classes", np.zeros_like, "indptr must have the shape"),
        ("statistics_/indptr", put(0, 1), "indptr must grow from 0 to the number of pairs, 13"),
        ("statistics_/indptr", put(-1, 12), "indptr must grow from 0 to the number of pairs, 13"),
        ("statistics_/indptr", put(3, 99), "indptr must grow from 0 to the number of pairs, 13"),
        ("statistics_/outcomes", put(0, -1), r"outcomes\[0\] must be from 0 to 7, got -1"),
        ("statistics_/outcomes", put(0, 8), r"outcomes\[0\] must be from 0 to 7, got 8"),
        ("statistics_/outcomes", np.zeros_like, "outcomes do not ascend in each context"),
        ("statistics_/counts", put(0, 0.0), "counts holds counts that are not positive"),
        ("statistics_/counts", put(0, np.nan), "counts holds values that are not finite"),
        ("label_counts_/heads", put(0, -1), r"heads\[0\] must be from 0 to 4, got -1"),
        ("label_counts_/heads", put(0, 5), r"heads\[0\] must be from 0 to 4, got 5"),
        ("label_counts_/directions", put(0, 2), r"directions\[0\] must be from 0 to 1, got 2"),
        ("label_counts_/modifiers", put(-1, 3), r"modifiers\[3\] must be from 0 to 2, got 3"),
        ("label_counts_/labels", put(0, 3), r"labels\[0\] must be from 0 to 2, got 3"),
        ("label_counts_/labels", put(0, -1), r"labels\[0\] must be from 0 to 2, got -1"),
        ("label_counts_/counts", put(0, np.nan), "counts holds values that are not finite"),
        (
            (ATTRIBUTES, "labels_"),
            ["det\t", "nsubj", "root"],
            "labels_ holds values that have a tab",
        ),
        ((ATTRIBUTES, "labels_"), [], "label"),
        ((ATTRIBUTES, "labels_"), ["det", "nsubj"], "label"),
        ((ATTRIBUTES, "words_"), ["the", "a", "dog", "barks"], "not sorted"),
        ((ATTRIBUTES, "words_"), ["a", "a", "dog", "barks"], "not sorted"),
        ((ATTRIBUTES, "words_"), ["a", "the", "dog"], "must have the shape"),
        ((ATTRIBUTES, "symbols_"), ["D", "N"], "model"),
        ((ATTRIBUTES, "symbols_"), [], "model"),
    ],
    "composed": [
        (("params", "estimators"), 5, "damaged: "),
        (("params", "estimators", 0, "tuple", 1, "class"), "os.system", "damaged: "),
        ((ATTRIBUTES, "named_estimators_"), None, "damaged: "),
        ((ATTRIBUTES, "named_estimators_"), {"dict": {"member": 5}}, "damaged: "),
        ((ATTRIBUTES, "named_estimators_", "dict", "member", ATTRIBUTES), {}, "damaged: "),
        (
            (ATTRIBUTES, "named_estimators_", "dict", "member"),
            {"class": "FrozenEstimator", "key": "model/estimators/0/1"},
            "damaged: ",
        ),
        ("named_estimators_/0/operators_/A", lambda array: array[:-1], "damaged: "),
    ],
    "feature": [
        ((ATTRIBUTES, "rare_share_"), 1.5, r"rare_share_ must be from 0 to 1, got 1\.5"),
    ],
}
HEADERS = [
    (b"", "is not a saved model, or is damaged: "),
    (b"{", "is not a saved model, or is damaged: "),
    (b"null", "it has the format None"),
    (b'{"format": 2, "model": {}}', r"format 2; .* reads format 1\. Use the"),
    (b'{"format": "1", "model": {}}', "it has the format 1; this"),
    (b'{"format": true, "model": {}}', "it has the format True; this"),
    (b'{"format": 1}', "model has no 'class', or none that is a str"),
    (b'{"format": 1, "model": {"class": "Pipeline", "params": {"steps": [1]}}}', "damaged: "),
    (b'{"format": 1, "model": ' + b"[" * 63 + b"]" * 63 + b"}", "model has no 'class'"),
    (b'{"format": 1, "model": ' + b"[" * 64 + b"]" * 64 + b"}", "more than 64 levels deep"),
    (b'{"format": 1, "model": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "damaged: "),
]


class TestDamage:
    """One fault of each kind; `python -m tests.fuzz models` makes others by chance."""

    @over("name, row", [(name, row) for name, rows in WRONG.items() for row in rows])
    def test_values(self, request, name, row):
        path, (place, change, message) = request.getfixturevalue(name), row
        damage(path, place, change)
        assert_refused(path, message)

    @over("name", ["small", "small_words"])
    def test_arrays_of_other_shapes_and_types(self, request, name):
        """Kernels do not check bounds: what does not fit must not get to them."""
        path = request.getfixturevalue(name)
        header, arrays = read_parts(path)
        for name, right in arrays.items():
            if right.size == 0:  # labels that there are none of
                continue
            longer = np.concatenate([right, right[-1:]])
            for wrong in (right[:-1], longer, right[..., None], right.astype("f4")):
                write_parts(path, header, {**arrays, name: wrong})
                assert_refused(path, r"shape|holds float32|states|grow")

    @over("header, message", HEADERS)
    def test_header(self, small, header, message):
        write_parts(small, header, first_parts(small)[1])
        assert_refused(small, message)

    def test_damaged_bytes(self, small):
        """Whichever byte is damaged: a ValueError with the name, or the very same model."""
        model, data = load_model(small), small.read_bytes()
        refused = 0
        for position in range(0, len(data), 50):
            damaged = bytearray(data)
            damaged[position] ^= 0xFF
            small.write_bytes(damaged)
            try:
                assert_same(model, load_model(small))
            except ModelFileError as error:
                assert str(small) in str(error)  # noqa: PT017
                refused += 1
        assert refused > len(data) / 50 / 4

    def test_labels_without_counts(self, small_words):
        header, arrays = read_parts(small_words)
        empty = {name: a[:0] for name, a in arrays.items() if "label_counts_" in name}
        assert len(empty) == 5
        write_parts(small_words, header, {**arrays, **empty})
        assert_refused(small_words, "holds 0 counts of 3 labels")
        header["model"]["attributes"]["labels_"] = []
        write_parts(small_words, header, {**arrays, **empty})
        assert load_model(small_words).labels_.size == 0


class TestLimits:
    """No more is read than is allowed, whatever a file says of itself."""

    def test_what_is_unpacked(self, small):
        """A small file of a large array that is asked for."""
        damage(small, "operators_/A", np.zeros((5, 2, 4, 1000, 1000)), np.savez_compressed)
        assert small.stat().st_size < 400_000
        assert_little_memory(small, "holds more than max_bytes=10,000,000", max_bytes=10_000_000)

    def test_what_nobody_asks_for_is_not_unpacked(self, small):
        damage(small, "other", np.zeros(10**7), np.savez_compressed)
        assert load_model(small, max_bytes=1_000_000).symbols_.size == 3

    @pytest.mark.parametrize("shape", [(10**9,), (1,)])
    def test_shapes_that_do_not_fit_their_member(self, small, shape):
        """Checksums are right here, so nothing but the size can tell; no room is made for it."""
        members, start = read_members(small), io.BytesIO()
        header = {"descr": "<f8", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(start, header)
        begin, content = start.getvalue(), members["model/operators_/A.npy"]
        members["model/operators_/A.npy"] = begin + content[len(begin) :]
        write_members(small, members)
        assert_little_memory(small, "operators_/A is longer or shorter than")

    def test_the_limit_is_of_all_arrays_together(self, small):
        """Each of two arrays is smaller than what is allowed, both are not."""
        header, arrays = read_parts(small)
        arrays |= {f"model/operators_/{field}": np.zeros(125_000) for field in ("alpha_1", "A")}
        write_parts(small, header, arrays, np.savez_compressed)
        assert_refused(small, "holds more than max_bytes=1,500,000", max_bytes=1_500_000)

    def test_many_estimators(self, small):
        header, arrays = read_parts(small)
        step = {"class": "DummyParser", "params": {}, "attributes": {"seed_": 0}}
        steps = [{"tuple": [f"step{k}", step]} for k in range(2000)]
        header["model"] = {"class": "Pipeline", "params": {"steps": steps}}
        write_parts(small, header, arrays)
        assert_refused(small, "more than 1,000 estimators")

    def test_many_members(self, small):
        write_members(small, dict.fromkeys(map(str, range(20_000)), b""))
        assert_refused(small, "directory has more than 16,384 entries")

    def test_other_compression(self, small):
        write_members(small, read_members(small), zipfile.ZIP_LZMA)
        assert_refused(small, "encrypted, or compressed in another way")

    def test_tables_of_many_tags(self, small_words):
        """Tables of pairs of tags are made of a file that need not have them."""
        message = "makes tables of [0-9,]+ bytes for its 3 tags. If you trust it, load it with"
        with pytest.raises(ModelFileError, match=message):
            check_model(load_model(small_words), "model", max_bytes=100)

    def test_messages_are_short_and_plain(self, small):
        for name in ("x" * 100_000, "\x1b[2J", "a\nb", "\ud800"):
            damage(small, ("class",), name)
            error = assert_refused(small, "which model files cannot hold")
            assert len(str(error)) <= 500
            assert str(error).isprintable()
            assert error.__cause__ is None


class TestChecks:
    @over(
        ("value", "annotation"),
        [
            ([0.5, "x"], list[float]),
            ((0.5,), list[float]),
            ("words", tuple[str, ...]),
            (["words"], tuple[str, ...]),
            ([10**400], list[float]),
            ([float("nan")], list[float]),
            ({"form": ["a", 5]}, dict[str, list[str]]),
            ([["form", []]], dict[str, list[str]]),
            (-1, int),
            (True, int),
        ],
    )
    def test_values_of_other_types(self, value, annotation):
        with pytest.raises(ModelFileError, match="model/x_ is not of type "):
            check_value(value, annotation, "model/x_")

    def test_no_states(self, small):
        """A grammar without states ended the process."""
        header, arrays = read_parts(small)
        for grammar in ("operators_", "fallback_operators_"):
            for field, n_axes in (("alpha_1", 1), ("alpha_inf", 1), ("A", 2)):
                name = f"model/{grammar}/{field}"
                arrays[name] = arrays[name][(..., *[slice(0)] * n_axes)]
        write_parts(small, header, arrays)
        assert_refused(small, "has 0 states over 3 symbols")


class TestAtomic:
    def test_failure_while_writing(self, small, english, monkeypatch):
        def write_half(file, **arrays):
            file.write(b"PK\x03\x04 half")
            file.flush()
            raise KeyboardInterrupt

        model = SpectralSHAG(2).fit(english[:20])
        monkeypatch.setattr(np, "savez_compressed", write_half)
        before = small.read_bytes()
        with pytest.raises(KeyboardInterrupt):
            save_model(model, small)
        assert small.read_bytes() == before
        assert [item.name for item in small.parent.iterdir()] == [small.name]


class TestCard:
    """What a file says of its model belongs to the file alone."""

    CARD = {
        "treebanks": [{"name": "UD_Test-Tiny", "licence": "CC0"}],
        "trees": 2,
        "scores": [{"uas": 0.5}],
        "note": "\u2603\n\x1b",
        "none": None,
    }

    def test_round_trip(self, english, tmp_path):
        model = DeterministicSHAG().fit(english[:9])
        save_model(model, tmp_path / "with.npz", card=self.CARD)
        save_model(model, tmp_path / "without.npz")
        cards = [read_card(tmp_path / name) for name in ("with.npz", "without.npz")]
        assert cards == [self.CARD, {}]
        loaded = load_model(tmp_path / "with.npz")
        assert_same(loaded, load_model(tmp_path / "without.npz"))
        # It may be fitted again, so a file of it says nothing unless it is told.
        save_model(loaded.fit(english[9:18]), tmp_path / "again.npz")
        assert read_card(tmp_path / "again.npz") == {}

    @pytest.mark.parametrize(
        "path", sorted(Path(__file__).parent.glob("data/models/*/*.npz"))[:3], ids=lambda p: p.stem
    )
    def test_older_files_have_none(self, path):
        assert read_card(path) == {}

    def test_refused(self, english, tmp_path):
        path = tmp_path / "m.npz"
        model = DeterministicSHAG().fit(english[:9])
        for card in ({"x": np.ones(2)}, {"x": {1, 2}}):
            with pytest.raises(TypeError, match="not JSON serializable"):
                save_model(model, path, card=card)
        save_model(model, path, card={"a": 1})
        header, arrays = read_parts(path)
        assert header["card"] == {"a": 1}
        write_parts(path, header | {"card": ["no dict"]}, arrays)
        for read in (read_card, load_model):
            with pytest.raises(ModelFileError, match="its header has no 'card', or none that is"):
                read(path)
