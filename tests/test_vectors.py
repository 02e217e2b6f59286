"""Files of vectors of words: what is read, and models that learn from them."""

import gzip
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sklearn_shag import BiaffineParser, load_model
from sklearn_shag.cli import _recipe, main
from sklearn_shag.features import read_vectors
from sklearn_shag.treebank import write_conllu
from tests.estimators import assert_same_model

WORDS = ["the", "Dogs", "dogs", "cats"]
VECTORS = np.array([[0.5, -0.25, 1e-3], [1, 2, 3], [-1, 0, 4.5], [0, 0, 0]], dtype=np.float32)
LINES = ["the 0.5 -.25 1E-3", "Dogs 1 2 3.", "dogs -1 0 +4.5", "cats 0 0 0"]


@pytest.fixture
def write(tmp_path):
    """Write a file of these lines, or of this text; give its path."""

    def write(content, name="vectors.txt"):
        text = content if isinstance(content, str) else "\n".join([*content, ""])
        data, path = text.encode(), tmp_path / name
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write


@pytest.mark.parametrize("name", ["vectors.txt", "vectors.vec.gz"])
@pytest.mark.parametrize(
    "content",
    [
        LINES,
        ["4 3", *LINES],
        [f"{line} " for line in ["4 3 ", *LINES]],  # as word2vec and fastText write them
        "\n".join(LINES),
        "\r\n".join(["4 3", *LINES]),
        "\ufeff" + "\n".join(LINES),
        "\n\n".join(LINES),
        [line.replace(" ", "\t", 1) for line in LINES],
    ],
    ids=["GloVe", "header", "word2vec", "no end", "CRLF", "mark", "empty lines", "tabs"],
)
def test_formats(write, content, name):
    path = write(content, name)
    for given in (path, str(path)):
        words, vectors = read_vectors(given)
        assert words == WORDS
        assert vectors.dtype == np.float32
        assert_array_equal(vectors, VECTORS)


def test_words_are_all_in_front_of_the_numbers(write):
    """Also spaces, of any kind, and what looks like a number or a header."""
    words = [". .", "7", "at name@domain.com", "a\u00a0b", "\u3000", "3 p.m.", "x 1 y", "nan"]
    for ordered in (words, words[1:]):
        for header in ([], [f"{len(ordered)} 2"]):
            path = write([*header, *(f"{word} 1 2.5" for word in ordered)])
            found, vectors = read_vectors(path)
            assert found == ordered
            assert vectors.tolist() == [[1, 2.5]] * len(ordered)


def test_of_a_word_that_comes_twice_the_first_line_counts(write):
    words, vectors = read_vectors(write([*LINES, "dogs 7 7 7", "the 7 7 7"]))
    assert words == WORDS
    assert_array_equal(vectors, VECTORS)


def test_words_that_are_asked_for(write):
    path = write(LINES)
    for words, expected in (
        (["DOGS", "birds"], ["dogs"]),
        ({"Dogs"}, ["Dogs", "dogs"]),
        (iter(["cats", "the", "cats"]), ["the", "cats"]),
    ):
        found, vectors = read_vectors(path, words=words)
        assert found == expected
        assert_array_equal(vectors, VECTORS[[WORDS.index(word) for word in expected]])


def test_limit_counts_words_and_what_follows_is_not_looked_at(write):
    for header in ([], ["4 3"]):
        path = write([*header, *LINES[:2], "dogs nonsense"])
        assert read_vectors(path, limit=2)[0] == WORDS[:2]
        assert read_vectors(path, limit=1, words=["Dogs", "the"])[0] == ["the"]
        with pytest.raises(ValueError, match=f":{3 + len(header)}: a word and a vector of size 3"):
            read_vectors(path, limit=3)


def test_memory_is_that_of_what_is_kept(write):
    line = " ".join(["0.123456789"] * 300)
    path = write([f"word{k} {line}" for k in range(4000)])
    tracemalloc.start()
    words, _ = read_vectors(path, words=["word3999", "Word7"])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert words == ["word7", "word3999"]
    assert peak < path.stat().st_size / 2


def test_the_command_learns_from_a_file(capsys, english, write, tmp_path, monkeypatch):
    monkeypatch.setattr(_recipe, "N_VECTORS", 100)
    words = sorted({form.lower() for tree in english[:100] for form in tree.forms})
    table = np.random.default_rng(0).normal(size=(len(words), 4)).round(4).tolist()
    lines = (" ".join([word, *map(str, row)]) for word, row in zip(words, table, strict=True))
    of_trees = write([f"{len(words)} 4", *lines], "vectors.vec.gz")
    write_conllu(english[:30], tmp_path / "train.conllu")
    options = ["--model", "biaffine", "--set", "hidden_layer_sizes=[4]", "--max-iter", "1"]
    paths = [str(tmp_path / name) for name in ("train.conllu", "model.npz")]
    arguments = ["train", paths[0], "-o", paths[1], *options, "--embeddings", str(of_trees)]
    assert main(arguments) == 0
    assert "from 30 sentences" in capsys.readouterr().out
    embeddings = read_vectors(of_trees, limit=100)
    settings = {"hidden_layer_sizes": [4], "max_iter": 1, "random_state": 0}
    expected = BiaffineParser(embeddings=embeddings, **settings).fit(english[:30])
    assert_same_model(load_model(paths[1]), expected)
