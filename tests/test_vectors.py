"""Files of vectors of words: what is read, what is refused, and models that learn from them."""

import gzip
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sklearn_shag import BiaffineParser, load_model
from sklearn_shag.cli import _recipe, main
from sklearn_shag.features import read_vectors
from sklearn_shag.treebank import DependencyTree, write_conllu
from tests.estimators import assert_same_model
from tests.faults import not_refused

WORDS = ["the", "Dogs", "dogs", "cats"]
VECTORS = np.array([[0.5, -0.25, 1e-3], [1, 2, 3], [-1, 0, 4.5], [0, 0, 0]], dtype=np.float32)
LINES = ["the 0.5 -.25 1E-3", "Dogs 1 2 3.", "dogs -1 0 +4.5", "cats 0 0 0"]


@pytest.fixture
def write(tmp_path):
    """Write a file of these lines, or of this text or these bytes; give its path."""

    def write(content, name="vectors.txt"):
        content = "\n".join([*content, ""]) if isinstance(content, list) else content
        data = content if isinstance(content, bytes) else content.encode()
        path = tmp_path / name
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write


@pytest.fixture
def fail(capsys):
    """Run a command that fails; give its message."""

    def fail(*arguments):
        assert main([str(argument) for argument in arguments]) == 1
        (line,) = capsys.readouterr().err.splitlines()
        return line

    return fail


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


def test_lines_are_counted_in_long_files(write):
    lines = [f"word{k} 0.123456789" for k in range(100_000)]
    lines[90_000] = "word90000 0.12x"
    with pytest.raises(ValueError, match=r"vectors\.txt:90001: the vector of 'word90000'"):
        read_vectors(write(lines))


def test_what_is_refused(write):
    named, no_utf8 = r"vectors\.txt", "not valid UTF-8; convert it, or, if it is a binary file"
    cases = [
        (["the 0.5 x", "of 1"], rf"{named}:1: a word and a vector of size 1 are expected"),
        (["the 0.5 1", "of 1 x"], rf"{named}:2: the vector of 'of' must be .* got \['x'\]"),
        (["the 0.5 1", "of 1  2"], rf"{named}:2: a word and a vector of size 2"),
        (["2 2", "the 0.5 nan"], rf"{named}:2: .* finite numbers, got \['nan'\]"),
        (["2 2", "the -inf 1"], rf"{named}:2: .* finite numbers, got \['-inf'\]"),
        (["the 1e39 1"], rf"{named}:1: .* finite numbers, got \['1e39', '1'\]"),
        (
            ["the 0.5 1", "of 1"],
            rf"{named}:2: a word and a vector of size 2 are expected, got 'of 1'",
        ),
        (["the 0.5 1", "", "of 1 2 3"], rf"{named}:3: a word and a vector of size 2"),
        (["1 3", "the 0.5 1"], rf"{named}:2: a word and a vector of size 3"),
        (["1 1", "the 0.5 1"], rf"{named}:2: a word and a vector of size 1"),
        (["some text"], rf"{named}:1: the vector of 'some' must be .* got \['text'\]"),
        (["text"], rf"{named}:1: a word and a vector of size 1 are expected, got 'text'"),
        ("", rf"{named} has no vectors; is it the right file"),
        ("\n\n", rf"{named} has no vectors; is"),
        ("0 100\n", rf"{named} has no vectors; is"),
        (b"2 2\nthe \x01\x00\x80\x3f\x00\x00\x80\x3f\n", rf"{named}:2: this is a binary file"),
        (b"2 2\nthe \xcd\xcc\x8c\x3f\xcd\xcc\x8c\x3f\n", rf"{named}:2: this is {no_utf8}"),
        ("the 1\ncafé 1\n".encode("latin-1"), rf"{named}:2: this is {no_utf8}"),
        (gzip.compress(b"the 0.5\nof 0.5\n")[:-9], rf"{named}:\d: cannot be decompressed further"),
        (b"PK\x03\x04", rf"{named}:1: this is a zip archive"),
    ]
    assert not not_refused(cases, lambda content: read_vectors(write(content)))
    path = write(LINES)
    cases = [
        ({"words": ["birds", "fish"]}, "txt has no vectors of the words that are asked for; is"),
        ({"words": []}, "has no vectors of the words that are asked for; is"),
        ({"words": ["cats"], "limit": 3}, "that are asked for in its first 3 lines"),
        ({"limit": 0}, "'limit' parameter"),
        ({"limit": 2.0}, "'limit' parameter"),
        ({"words": 3}, "'words' parameter"),
    ]
    assert not not_refused(cases, lambda settings: read_vectors(path, **settings))
    cases = [
        ("cats", "words must be a list or a set of str, or the like, got 'cats'"),
        ([DependencyTree(["cats"])], r"got \[DependencyTree\(.*form for tree in trees"),
    ]
    assert not not_refused(cases, lambda words: read_vectors(path, words=words), TypeError)


@pytest.fixture
def of_trees(english, write):
    """A file with vectors of some words of trees."""
    words = sorted({form.lower() for tree in english[:100] for form in tree.forms})
    table = np.random.default_rng(0).normal(size=(len(words), 4)).round(4).tolist()
    lines = (" ".join([word, *map(str, row)]) for word, row in zip(words, table, strict=True))
    return write([f"{len(words)} 4", *lines], "vectors.vec.gz")


def test_the_command_learns_from_a_file(capsys, english, of_trees, tmp_path, monkeypatch):
    monkeypatch.setattr(_recipe, "N_VECTORS", 100)
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


def test_what_the_command_refuses(english, of_trees, write, fail, tmp_path):
    write_conllu(english[:5], tmp_path / "train.conllu")
    command = ["train", tmp_path / "train.conllu", "-o", tmp_path / "model.npz", "--embeddings"]
    for model in ("crf", "spectral"):
        message = fail(*command, of_trees, "--model", model)
        assert "--embeddings: vectors are for networks, --model biaffine or ensemble" in message
        assert f"--model {model} reads none." in message
    assert "leave out --embeddings" in fail(*command, of_trees, "--continue", "model.npz")
    bad = write(["the 1 2", "of 1"])
    assert f"{bad}:2: a word and a vector of size 2" in fail(*command, bad, "--model", "biaffine")
    assert not (tmp_path / "model.npz").exists()
