"""Vectors in context: what networks make of them, who is asked, and transformers that give them."""

import gc
import json
import pickle
import shutil
import tempfile
import weakref
from collections import Counter
from copy import copy
from functools import partial

import numpy as np
import pytest
from joblib import Memory
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline

from sklearn_shag import (
    AveragedParser,
    BiaffineParser,
    CRFParser,
    ModelFileError,
    Tagger,
    load_model,
    save_model,
)
from sklearn_shag.cli._main import main
from sklearn_shag.encoding import _context, ask_vectors, check_sentences, split_embeddings
from sklearn_shag.features import TransformerVectors, _transformer
from sklearn_shag.treebank import DependencyTree, TokenFeature, write_conllu
from sklearn_shag.utils import _arrays
from tests.encoders import LONGEST, expected_vectors, longest_pieces, write_encoder
from tests.estimators import assert_same_model, same
from tests.faults import not_refused
from tests.loops import assert_all_close
from tests.test_persistence import read_parts, write_parts


class Source:
    """Says of each token its own length, those of its neighbours, and 1; it counts questions."""

    def __init__(self, n_more=0):
        self.n_more, self.asked = n_more, []

    def __call__(self, sentences):
        assert isinstance(sentences, list)
        self.asked += sentences
        return [self.vectors(sentence) for sentence in sentences]

    def vectors(self, sentence):
        sizes = [len(form) for form in getattr(sentence, "forms", sentence)]
        columns = [
            [0, *sizes[:-1]],
            sizes,
            [*sizes[1:], 0],
            *[[1] * len(sizes)] * (1 + self.n_more),
        ]
        return np.array(columns).T

    def __deepcopy__(self, memo):
        return self  # what clone does to parameters; it is to count on

    def __repr__(self):
        return "Source()"


# Of parsers that only have to run.
TINY = {"hidden_layer_sizes": [4], "max_iter": 1, "random_state": 0}


def small(embeddings, **settings):
    settings = {"hidden_layer_sizes": [8], "max_iter": 4, "batch_size": 100, **settings}
    return BiaffineParser(["upos"], embeddings=embeddings, random_state=0, **settings)


@pytest.fixture(scope="module")
def fitted(english):
    return small(Source()).fit(english[:40])


@pytest.fixture(scope="module")
def folder(tmp_path_factory, english):
    words = {form for tree in english[:30] for form in tree.forms}
    return write_encoder(tmp_path_factory.mktemp("encoder"), words)


# What networks make of them


def test_moments_of_many_rows_do_not_cancel():
    rng = np.random.default_rng(0)
    sentences = [["a"] * 7 for _ in range(500)]
    rows = 1000 + rng.normal(size=(3500, 2))
    vectors = ask_vectors(lambda _: np.split(rows, 500), check_sentences(sentences)[0])
    mean, deviation = vectors.moments(np.arange(3500))
    halves = rows.astype(np.float16).astype(float)
    assert_allclose(mean, halves.mean(axis=0), rtol=1e-7)
    assert_allclose(deviation, halves.std(axis=0), rtol=1e-5)


def test_moments_are_those_of_training(english, fitted):
    rows = np.concatenate([Source().vectors(tree) for tree in english[:40]]).astype(float)
    mean, factors = fitted.weights_.moments
    assert_allclose(mean, rows.mean(axis=0), rtol=1e-6)
    assert_allclose(factors[:3], 0.3 / rows[:, :3].std(axis=0), rtol=1e-5)
    assert factors[3] == 0  # what is always the same says nothing


def test_many_are_in_a_file_and_in_parts(english, fitted, monkeypatch):
    """The model is the same to the last bit."""
    monkeypatch.setattr(_arrays, "LARGEST_IN_MEMORY", 100)
    monkeypatch.setattr(_context, "SOURCE_CHUNK", 7)
    assert_same_model(small(Source()).fit(english[:40]), fitted)


def test_half_precision_in_memory():
    """A thousand dimensions of 2,000 tokens take 4 MB."""
    sentences, _ = check_sentences([["word"] * 20 for _ in range(100)])
    vectors = ask_vectors(lambda part: [np.ones((20, 1000))] * len(part), sentences)
    assert vectors.rows.nbytes == 4e6


def test_both_kinds_together(english):
    words = {form: np.ones(2) for tree in english[:50] for form in tree.forms}
    model = small((words, Source()), max_iter=1).fit(english[:40])
    assert model.weights_.vectors.shape[1] == 2
    assert model.weights_.moments.shape == (2, 4)


def test_warm_start(english):
    parser = small(Source(), warm_start=True, max_iter=1).fit(english[:60])
    moments = parser.weights_.moments
    assert_array_equal(parser.fit(english[40:100]).weights_.moments, moments)
    with pytest.raises(ValueError, match="had 4"):
        parser.set_params(embeddings=Source(1)).fit(english[:60])


def test_they_are_read_of_known_and_unknown_words(english):
    """The head of each token is told by its vector alone, whatever the word."""

    def source(sentences):
        return [given[sentence.lemmas[0]] for sentence in sentences]

    given, blank = {}, []
    for k, tree in enumerate(english[:200]):
        n_tokens = len(tree)
        sides = np.sign(tree.heads - np.arange(1, n_tokens + 1))
        given[f"{k}"] = np.eye(3)[1 - sides]
        columns = {"upos": ["X"] * n_tokens, "lemmas": [f"{k}"] * n_tokens}
        blank.append(DependencyTree(["x"] * n_tokens, tree.heads, **columns))
    train, test = blank[:150], blank[150:]
    without = small(None).fit(train).score(test)
    assert small(source, max_iter=8).fit(train).score(test) > without + 0.2


def test_tables_and_sources_are_told_apart():
    def call(_): ...

    class KeyedVectors:
        index_to_key = ("a",)
        transform = None

    pipeline, table = make_pipeline(TokenFeature()), {"a": [1.0]}
    pair, keyed = (["a"], [[1.0]]), KeyedVectors()
    for given, expected in [
        (None, (None, None)),
        (call, (None, call)),
        (pipeline, (None, pipeline)),
        (table, (table, None)),
        (pair, (pair, None)),
        (keyed, (keyed, None)),
        ((table, call), (table, call)),
        ([call, keyed], (keyed, call)),
        ((pair, pipeline), (pair, pipeline)),
    ]:
        assert split_embeddings(given) == expected


# Who is asked, and how often


def test_each_sentence_is_asked_for_once(english):
    train, test = english[:24], english[40:50]
    several = BiaffineParser(tags=("upos", "xpos"), embeddings=Source(), **TINY)
    linear = CRFParser(n_features=2**12, max_iter=1)
    for parser in [
        several,
        clone(several).set_params(tags="upos", early_stopping=True),
        AveragedParser.of_seeds(several, 2, n_jobs=2),
        AveragedParser([("network", several), ("linear", linear)], calibrate=False),
    ]:
        source = Source()
        names = [name for name in parser.get_params() if name.split("__")[-1] == "embeddings"]
        parser.set_params(**dict.fromkeys(names, source)).fit(train)
        assert list(map(id, source.asked)) == list(map(id, train))
        source.asked.clear()
        parser.parse(test)
        assert list(map(id, source.asked)) == list(map(id, test))
    source = Source()
    fitted = [clone(several).set_params(embeddings=source).fit(train) for _ in range(2)]
    frozen = AveragedParser([(f"{k}", FrozenEstimator(each)) for k, each in enumerate(fitted)])
    source.asked.clear()
    frozen.fit(train).parse(test)
    assert list(map(id, source.asked)) == list(map(id, test))
    tagger, source = Tagger(embeddings=Source(), cv=2, n_jobs=2, **TINY), Source()
    tagger.set_params(embeddings=source).fit_transform(train)
    assert list(map(id, source.asked)) == list(map(id, train))


def test_sentences_keep_their_vectors(english, folder):
    source, (sentences, _) = Source(), check_sentences(english[:5])
    assert check_sentences(sentences)[0] is sentences
    vectors = ask_vectors(source, sentences)
    assert ask_vectors(source, sentences) is vectors
    assert ask_vectors(Source(), sentences) is not vectors
    of_transformer = ask_vectors(TransformerVectors(folder), sentences)
    assert ask_vectors(TransformerVectors(folder), sentences) is of_transformer
    assert ask_vectors(TransformerVectors(folder, layers=[1]), sentences) is not of_transformer
    taken = sentences.take([3, 1])
    assert taken == [english[3], english[1]]
    part = ask_vectors(source, taken)
    assert_array_equal(part.rows[part.places], np.concatenate(Source()(taken)))
    assert source.asked == english[:5]
    sent = pickle.loads(pickle.dumps(sentences))  # to another process
    assert sent == sentences
    assert not sent.vectors


def test_no_vectors_are_held_afterwards(english, fitted, monkeypatch):
    made, init = [], _context.ContextVectors.__init__

    def watched(self, *args):
        made.append(weakref.ref(self))
        init(self, *args)

    monkeypatch.setattr(_context.ContextVectors, "__init__", watched)
    fitted.parse(english[:5])
    clone(fitted).fit(english[:30])
    gc.collect()
    assert [vectors() for vectors in made] == [None, None]


def test_an_interrupted_fit_leaves_nothing(english, monkeypatch, tmp_path):
    monkeypatch.setattr(_arrays, "LARGEST_IN_MEMORY", 100)
    monkeypatch.setattr(_context, "SOURCE_CHUNK", 10)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    source = Source()

    def interrupted(sentences):
        if len(source.asked) > 20:
            raise KeyboardInterrupt
        return source(sentences)

    parser = small(interrupted)
    with pytest.raises(KeyboardInterrupt):
        parser.fit(english[:100])
    assert not hasattr(parser, "weights_")
    assert not list(tmp_path.iterdir())


# Around it


def test_files_do_not_hold_the_source(english, fitted, tmp_path):
    path = tmp_path / "model.npz"
    save_model(fitted, path)
    loaded = load_model(path)
    assert loaded.embeddings is None
    with pytest.raises(ValueError, match=r"of 4 dimensions, from Source\(\), which no model file"):
        loaded.parse(english[:1])
    expected = fitted.predict_marginals(english[:9])
    for again in (loaded.set_params(embeddings=Source()), load_model(path, embeddings=Source())):
        assert same(again.predict_marginals(english[:9]), expected)
    header, arrays = read_parts(path)
    header["model"]["attributes"]["embeddings_name_"] = None
    write_parts(path, header, arrays)
    with pytest.raises(ModelFileError, match=r"weights_\.moments must have the shape"):
        load_model(path)


def test_every_network_of_a_file_gets_the_source(english, tmp_path):
    parser = BiaffineParser(tags=("upos", "xpos"), embeddings=Source(), **TINY)
    average = AveragedParser.of_seeds(parser, 2, calibrate=False).fit(english[:20])
    save_model(average, tmp_path / "model.npz")
    loaded = load_model(tmp_path / "model.npz", embeddings=Source())
    assert loaded.parse(english[20:25]) == average.parse(english[20:25])


def test_a_parser_gives_its_source_to_its_tagger(english):
    parser = BiaffineParser(tags=("upos", "xpos"), embeddings=Source(), **TINY)
    parser.fit(english[:20]).set_params(embeddings=(source := Source()))
    parser.predict_tags(english[:2], "xpos")
    assert source.asked == english[:2]


def test_vectors_of_another_size_are_refused(english, fitted):
    with pytest.raises(ValueError, match=r"of 5 dimensions.*from Source\(\), had 4"):
        copy(fitted).set_params(embeddings=Source(1)).parse(english[:1])


# Transformers


@pytest.mark.parametrize(("kind", "first"), [("bert", 0), ("roberta", 1), ("mpnet", 1)])
def test_a_transformer_against_formulas(tmp_path, english, kind, first):
    words = [form for tree in english[:8] for form in tree.forms]
    folder = write_encoder(tmp_path / "encoder", words[:-5], kind=kind)
    sentences = [tree for tree in english[:8] if 2 * len(tree) + 2 <= LONGEST - first]
    for layers in ([2, 3], [4]):
        found = TransformerVectors(folder, layers=layers).transform(sentences)
        expected = [expected_vectors(folder, tree.forms, layers, first) for tree in sentences]
        assert_all_close(found, expected, atol=1e-5)
    default = TransformerVectors(folder).transform(sentences)
    assert same(default, TransformerVectors(folder, layers=[1, 2]).transform(sentences))


def test_sentences_longer_than_the_encoder(folder, english):
    """Windows of 16 pieces, 14 of words, begin 7 pieces after each other."""
    words = [w for tree in english[:30] for w in tree.forms if len(w) < 4][:24]  # a piece each
    found = TransformerVectors(folder, layers=[4]).transform([words])[0]
    windows = [expected_vectors(folder, words[begin : begin + 14], [4]) for begin in (0, 7, 10)]
    assert_allclose(found[:7], windows[0][:7], atol=1e-5)
    assert_allclose(found[7:10], (windows[0][7:10] + windows[1][:3]) / 2, atol=1e-5)
    whole = (windows[0][10:14] + windows[1][3:7] + windows[2][:4]) / 3
    assert_allclose(found[10:14], whole, atol=1e-5)
    assert_allclose(found[21:], windows[2][11:], atol=1e-5)


def test_batches_and_threads_change_nothing(folder, english):
    sentences = english[:40]
    expected = TransformerVectors(folder).transform(sentences)
    for settings in ({"batch_size": 1}, {"batch_size": 100, "n_jobs": 2}):
        found = TransformerVectors(folder, **settings).transform(sentences)
        assert_all_close(found, expected, atol=1e-5)


def count_windows(monkeypatch):
    """A list that grows by the number of windows that are run."""
    run, encode = [], _transformer._encode_windows

    def counted(encoder, pieces):
        run.append(len(pieces))
        return encode(encoder, pieces)

    monkeypatch.setattr(_transformer, "_encode_windows", counted)
    return run


def test_what_is_kept_is_the_same_and_is_run_once(tmp_path, folder, english, monkeypatch):
    monkeypatch.setattr(_transformer, "ENCODED_CHUNK", 7)
    sentences, run = english[:40], count_windows(monkeypatch)
    plain = TransformerVectors(folder)
    expected = plain.transform(sentences)
    n_windows = sum(run)
    for memory in (str(tmp_path / "a"), Memory(tmp_path / "b", verbose=0)):
        run.clear()
        kept = clone(plain).set_params(memory=memory)
        assert same(kept.transform(sentences), expected)
        assert sum(run) == n_windows
        assert same(clone(kept).transform(sentences), expected)
        assert same(kept.transform(sentences[:14]), expected[:14])
        assert same(kept.set_params(n_jobs=2).transform([t.forms for t in sentences]), expected)
        assert sum(run) == n_windows
        assert ask_vectors(kept, check_sentences(sentences[:3])[0]).rows.dtype == np.float16
        assert kept.transform([]) == []
    # No sentence is written out.
    files = [path.read_text(encoding="utf-8") for path in (tmp_path / "a").rglob("*.json")]
    assert files
    assert max(sentences[0].forms, key=len) not in "".join(files)


def test_vectors_of_other_files_or_layers_are_not_taken(tmp_path, english, monkeypatch):
    words, run = [form for tree in english[:8] for form in tree.forms], count_windows(monkeypatch)
    folder = write_encoder(tmp_path / "encoder", words)
    source = TransformerVectors(folder, memory=str(tmp_path / "kept"))
    first = source.transform(english[:8])
    shutil.copytree(folder, tmp_path / "moved")  # with their times
    run.clear()
    moved = clone(source).set_params(folder=tmp_path / "moved")
    assert same(moved.transform(english[:8]), first)
    assert same(clone(source).set_params(layers=[1, 2]).transform(english[:8]), first)  # as None
    assert not run
    for settings in ({"layers": [1]}, {"layers": [4]}):
        other = clone(source).set_params(**settings).transform(english[:8])
        assert same(other, TransformerVectors(folder, **settings).transform(english[:8]))
        assert not np.allclose(other[0], first[0])
    write_encoder(folder, words, seed=1)
    changed = source.transform(english[:8])
    assert same(changed, TransformerVectors(folder).transform(english[:8]))
    assert not np.allclose(changed[0], first[0])


def test_damaged_vectors_are_computed_anew(tmp_path, folder, english, caplog):
    source = TransformerVectors(folder, memory=str(tmp_path / "kept"))
    expected = source.transform(english[:5])
    (path,) = (tmp_path / "kept").rglob("output.pkl")
    path.write_bytes(path.read_bytes()[:50])
    assert same(source.transform(english[:5]), expected)
    assert "Exception while loading results" in caplog.text  # joblib logs it


def test_pieces_per_word(folder, english):
    described = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    sentences = english[:60]  # the encoder has seen the words of the first 30
    words = [form for tree in sentences for form in tree.forms]
    pieces = [longest_pieces(form, described["model"]["vocab"]) for form in words]
    source = TransformerVectors(folder)
    assert source.pieces_per_word(sentences) == np.mean(list(map(len, pieces)))
    assert source.pieces_per_word([[words[0], " "]]) == len(pieces[0]) / 2
    with pytest.raises(ValueError, match="no sentences"):
        source.pieces_per_word([])


def test_words_of_no_pieces_have_zeros(folder, english):
    known = english[0].forms[0]
    found = TransformerVectors(folder).transform([[known, " ", known], [" "]])
    assert [each.any(axis=1).tolist() for each in found] == [[True, False, True], [False]]


@pytest.mark.parametrize("at_once", [7, 1000])
def test_a_table_of_words_against_every_occurrence(folder, english, monkeypatch, at_once):
    """The axes are those of a matrix with a row for each occurrence, not for each word."""
    monkeypatch.setattr(_transformer, "SOURCE_CHUNK", at_once)
    source, sentences = TransformerVectors(folder, layers=[1, 4]), english[:60]
    words, table = source.to_table(sentences, n_components=5, min_count=3)
    forms = [form for tree in sentences for form in tree.forms]
    assert words == [word for word, count in Counter(forms).most_common() if count >= 3]
    vectors = np.concatenate(source.transform(sentences)).astype(float)
    means = {word: vectors[[form == word for form in forms]].mean(axis=0) for word in words}
    every = np.array([means[form] for form in forms if form in means])
    centre = every.mean(axis=0)
    _, _, axes = np.linalg.svd(every - centre)
    expected = (np.array(list(map(means.get, words))) - centre) @ axes[:5].T
    expected /= np.sqrt(np.square((every - centre) @ axes[:5].T).mean())
    signs = np.sign(np.sum(expected * table, axis=0))
    assert table.dtype == np.float16
    assert_allclose(table, expected * signs, atol=5e-3)


def test_folders_that_are_refused(tmp_path, folder, english):
    def encoder(name, **config):
        return write_encoder(tmp_path / name, ["a", "b"], **config)

    broken = encoder("broken")
    (broken / "model.safetensors").write_bytes(b"x" * 20)
    cases = [
        ((encoder("relu", hidden_act="relu"),), {}, "relu"),
        ((encoder("far", position_embedding_type="relative_key"),), {}, "relative_key"),
        ((encoder("t5", kind="t5"),), {}, "of the type 't5'"),
        ((encoder("deep", num_hidden_layers=8),), {"layers": [8]}, "no encoder that can be read"),
        ((broken,), {}, "no encoder that can be read"),
        ((folder,), {"layers": [0]}, "layers must name some of the 4 layers"),
        ((folder,), {"layers": [5]}, "layers must name"),
        ((folder,), {"layers": []}, "layers must name"),
        ((folder,), {"batch_size": 0}, "batch_size"),
        ((folder,), {"memory": 5}, "memory"),
    ]
    of_folders = [
        (partial(TransformerVectors(*given, **settings).transform, english[:1]), told)
        for given, settings, told in cases
    ]
    make = partial(TransformerVectors(folder).to_table, english[:5])
    of_tables = [
        (partial(make, min_count=10**6), "No word occurs min_count=1000000 times"),
        (partial(make, n_components=0), "n_components"),
        (partial(make, min_count=1.5), "min_count"),
    ]
    assert not not_refused([*of_folders, *of_tables], lambda call: call())
    assert make()[1].shape[1] == 12  # all it has
    with pytest.raises(FileNotFoundError, match=r"config\.json"):
        TransformerVectors(tmp_path).transform(english[:1])


# The command


def test_the_command_with_a_transformer_for_training(tmp_path, english):
    train, test, model = (str(tmp_path / name) for name in ("a.conllu", "b.conllu", "m.npz"))
    write_conllu(english[:20], train)
    write_conllu(english[20:30], test)
    words = [form for tree in english[:20] for form in tree.forms]
    folder = write_encoder(tmp_path / "encoder", words)
    settings = ["--max-iter", "1", "--set", "hidden_layer_sizes=[4]", "--context-for"]
    learn = ["train", train, "-o", model, "--model", "biaffine", *settings, "training"]
    assert main([*learn, "--context", str(folder)]) == 0
    shutil.rmtree(folder)
    assert main(["parse", model, test, "-o", str(tmp_path / "out")]) == 0
