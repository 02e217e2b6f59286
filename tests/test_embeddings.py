"""Vectors of words that were learned elsewhere: what a network makes of them."""

from copy import copy

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sklearn_shag import BiaffineParser, ModelFileError, load_model, save_model
from sklearn_shag.encoding import N_LETTER_ROWS, spell_words
from sklearn_shag.network._parameters import (
    NetworkWeights,
    initial_parameters,
    sizes_of,
    spell_vectors,
    tabulate_embeddings,
    view_parameters,
)
from sklearn_shag.treebank import DependencyTree
from tests.estimators import assert_same_model, same
from tests.test_persistence import read_parts, write_parts

N_DIMENSIONS = 6


class KeyedVectors:
    """What there is to those of gensim: no mapping, nothing to go through."""

    def __init__(self, vectors):
        self.index_to_key = list(vectors)
        self._vectors = vectors

    def __getitem__(self, word):
        return self._vectors[word]

    __iter__ = None


def small(embeddings, **settings):
    settings = {"hidden_layer_sizes": [8], "max_iter": 2, "batch_size": 100, **settings}
    settings |= {"calibrate": False, "random_state": 0}
    return BiaffineParser(["upos"], embeddings=embeddings, **settings)


@pytest.fixture(scope="module")
def vectors(english):
    words = sorted({form for tree in english[:200] for form in tree.forms})
    table = np.random.default_rng(0).normal(size=(len(words), N_DIMENSIONS))
    return dict(zip(words, table, strict=True))


@pytest.fixture(scope="module")
def fitted(english, vectors):
    return small(vectors).fit(english[:40])


def renamed(tree, rename):
    return DependencyTree(
        list(map(rename, tree.forms)), tree.heads, upos=tree.upos, deprels=tree.deprels
    )


def test_however_they_are_given_they_are_the_same(english, vectors, fitted):
    pair = list(vectors), np.array(list(vectors.values()), dtype=np.float32)
    for given in (pair, list(pair), KeyedVectors(vectors)):
        assert_same_model(small(given).fit(english[:40]), fitted)


def test_training_leaves_them_as_they_are_but_for_their_scale(vectors, fitted):
    assert fitted.weights_.vectors.dtype == np.float16
    table = fitted.weights_.vectors.astype(float)
    assert not table[:3].any()  # of what is no word
    expected = np.array(list(vectors.values()))
    np.testing.assert_allclose(table[3:] / table[3:].std(), expected / expected.std(), rtol=2**-10)
    assert fitted.vocabulary_["vector"] == list(vectors)
    assert fitted.columns_ == ("upos", "vector")


def test_warm_start_keeps_them(english, vectors):
    parser = small(vectors, warm_start=True, max_iter=2).fit(english[:60])
    table = parser.weights_.vectors
    assert_array_equal(parser.fit(english[:60]).weights_.vectors, table)


def test_words_of_the_same_vector_are_the_same_seen_in_training_or_not(english, vectors, fitted):
    text = english[:20]
    before = fitted.predict_marginals(text)
    twins = {f"{word}-twin": vector for word, vector in vectors.items()}
    both = small(vectors | twins).fit(english[:40])
    # The scale of all is that of the twins.
    assert same(both.predict_marginals(text), before)
    twin_text = [renamed(tree, lambda form: f"{form}-twin") for tree in text]
    assert same(both.predict_marginals(twin_text), before)
    unknown = [renamed(tree, lambda form: f"{form}-stranger") for tree in text]
    assert not same(both.predict_marginals(unknown), before)


def test_letters_start_from_what_they_say_of_vectors():
    """Words that end alike have vectors alike, and so have the n-grams of these endings."""
    endings = {"ing": [1.0, 0.0, 0.5], "ed": [-1.0, 0.5, 0.0], "ness": [0.0, -1.0, 0.0]}
    stems = ["walk", "talk", "paint", "clean", "dark", "cook", "help", "soft", "jump", "turn"]
    table = {stem + ending: v for stem in stems for ending, v in endings.items()}
    words, vectors = tabulate_embeddings(table)
    vocabulary = {"form": [], "letters": [], "vector": words}
    weights = NetworkWeights(np.array([4]), None, None, vectors)
    sizes = sizes_of(weights, vocabulary, None, {"upos": ["A", "B"]})
    flat = initial_parameters(sizes, np.random.default_rng(0))
    before = view_parameters(sizes, flat.copy()).embeddings
    spell_vectors(sizes, flat, words, vectors)
    after = view_parameters(sizes, flat).embeddings
    changed = [not np.array_equal(a, b) for a, b in zip(before, after, strict=True)]
    assert changed == [group.spelled for group in sizes.groups]
    letters = after[changed.index(True)]
    assert not letters[:, 3:].any()

    # A ridge regression, solved with the matrix of all n-grams.
    spelled = np.zeros((len(words), N_LETTER_ROWS))
    for row, word in enumerate(words):
        rows = spell_words([word]).rows
        np.add.at(spelled[row], rows, 1 / np.sqrt(rows.size))
    kernel = spelled @ spelled.T + 0.3 * np.eye(len(words))
    solved = 2 * spelled.T @ np.linalg.solve(kernel, vectors[3:].astype(float))
    np.testing.assert_allclose(letters[:, :3], solved, atol=2e-3)


def test_words_are_looked_up_as_they_are_and_then_in_lower_case(english):
    table = {"bill": [1.0, 0.0], "Bill": [0.0, 1.0], "dogs": [-1.0, -1.0]}
    parser = small(table, learning_rate_init=0.05).fit(english[:50])
    tags = ["NOUN", "VERB"]

    def marginals(*forms):
        return parser.predict_marginals([DependencyTree(forms, upos=tags)])[0]

    assert not np.array_equal(marginals("Bill", "x"), marginals("bill", "x"))
    assert_array_equal(marginals("BILL", "x"), marginals("bill", "x"))
    assert_array_equal(marginals("Dogs", "x"), marginals("dogs", "x"))
    assert not np.array_equal(marginals("cats", "x"), marginals("dogs", "x"))


def test_files_hold_them_but_not_the_parameter(english, fitted, tmp_path):
    save_model(fitted, tmp_path / "model.npz")
    loaded = load_model(tmp_path / "model.npz")
    assert loaded.embeddings is None
    assert_array_equal(loaded.weights_.vectors, fitted.weights_.vectors)
    assert same(
        loaded.predict_marginals(english[200:220]), fitted.predict_marginals(english[200:220])
    )
    header, arrays = read_parts(tmp_path / "model.npz")
    header["model"]["params"]["embeddings"] = "vectors"
    write_parts(tmp_path / "model.npz", header, arrays)
    with pytest.raises(ModelFileError, match="the parameter 'embeddings', which is never saved"):
        load_model(tmp_path / "model.npz")


@pytest.mark.parametrize("name", ["vectors", "values", "hidden_layer_sizes"])
def test_files_with_other_sizes_are_refused(fitted, name, tmp_path):
    damaged = copy(fitted)
    shorter = {name: getattr(fitted.weights_, name)[1:]}
    damaged.weights_ = fitted.weights_._replace(**shorter)
    save_model(damaged, tmp_path / "model.npz")
    with pytest.raises(ValueError, match=rf"weights_\.{name}"):
        load_model(tmp_path / "model.npz")
