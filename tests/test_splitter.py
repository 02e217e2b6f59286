"""Text to sentences and words and back: what is learned of trees, and every character kept."""

import io
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator

from sklearn_shag import (
    DeterministicSHAG,
    Splitter,
    Tagger,
    load_model,
    make_parser_pipeline,
    save_model,
)
from sklearn_shag.cli._main import main
from sklearn_shag.datasets import load_parser
from sklearn_shag.metrics import raw_text_scores
from sklearn_shag.network import _splitter
from sklearn_shag.treebank import (
    ConlluError,
    DependencyTree,
    MultiwordToken,
    correct_ends,
    join_text,
    list_paragraphs,
    read_conllu,
    to_text,
    to_trees,
    write_conllu,
)
from tests.faults import not_refused
from tests.test_streaming import read_at_once

# White space of all kinds, what MISC and comments write in another way, and letters of more than
# one byte, code point, or direction.
SIGNS = " \t\n\r\x0b\x0c\x1c\x85\u00a0\u2028\u3000|\\=#_abX9.'\ufeff\u200d\u0301\U0001f469שم中"
# NUL and lone surrogates are no text.
TEXTS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0") | st.sampled_from(SIGNS)
)
TEXTS = TEXTS.filter(str.strip)


@pytest.fixture(scope="module")
def splitter(english):
    return Splitter(hidden_layer_sizes=[32], max_iter=6, random_state=0).fit(english[:300])


@pytest.fixture(scope="module")
def model(splitter, english):
    """A splitter, a tagger and a grammar."""
    tagger = Tagger("upos", hidden_layer_sizes=[16], max_iter=6, cv=2, random_state=1)
    pipeline = make_parser_pipeline(FrozenEstimator(splitter), tagger, DeterministicSHAG())
    return pipeline.fit(english[:200])


def written(trees):
    """What is left of trees in a file."""
    file = io.StringIO()
    write_conllu(trees, file)
    return read_conllu(io.StringIO(file.getvalue()))


def assert_keeps(trees, text):
    """Nothing is lost or changed: white space, forms, and where they are."""
    assert join_text(trees) == join_text(written(trees)) == text
    for tree in trees:
        assert tree.to_conllu() == written([tree])[0].to_conllu()
        ranges = {token.first: token for token in tree.multiword_tokens}
        position = 0
        while position < len(tree):
            token = ranges.get(position + 1)
            form = tree.forms[position] if token is None else token.form
            begin, end = tree.spans[position]
            assert text[begin:end] == form == form.strip()
            position = position + 1 if token is None else token.last


# Text comes back


@given(TEXTS)
@settings(max_examples=200)
def test_every_text_comes_back(splitter, text):
    assert_keeps(splitter.split_text(text), text)


@given(TEXTS, st.integers(0, 2**32 - 1), st.sampled_from([None, 1, 3]))
@settings(max_examples=300)
def test_every_text_comes_back_wherever_things_end(text, seed, max_tokens):
    """Also with words that have nothing of their tokens."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, 4, len(text), dtype=np.int8) * rng.integers(0, 2, dtype=np.int8)
    correct_ends(ends, text, list_paragraphs(text), max_tokens)
    trees = list(
        to_trees(text, ends, lambda form, several: ["x", form, "y"] if several else None, count(1))
    )
    assert_keeps(trees, text)
    if max_tokens is not None:
        assert max(tree.to_conllu().count("TokenRange") for tree in trees) <= max_tokens


def test_sentences_have_all_that_the_format_asks_for():
    text = "  It's du café.\r\n\r\n \tOui !"
    ends = np.zeros(len(text), dtype=np.int8)
    ends[[3, 5, 8, 13, 14, 23, 25]] = 1, 1, 2, 1, 3, 1, 3
    correct_ends(ends, text, list_paragraphs(text))
    words = {"du": ["de", "le"]}
    trees = list(to_trees(text, ends, lambda form, several: words.get(form), count(5), 100))
    assert "".join(tree.to_conllu() for tree in trees) == (
        "# newpar\n# sent_id = 5\n# text = It's du café.\n"
        "1\tIt\t_\t_\t_\t_\t_\t_\t_\tTokenRange=102:104|SpacesBefore=\\s\\s|SpaceAfter=No\n"
        "2\t's\t_\t_\t_\t_\t_\t_\t_\tTokenRange=104:106\n"
        "3-4\tdu\t_\t_\t_\t_\t_\t_\t_\tTokenRange=107:109\n"
        "3\tde\t_\t_\t_\t_\t_\t_\t_\t_\n4\tle\t_\t_\t_\t_\t_\t_\t_\t_\n"
        "5\tcafé\t_\t_\t_\t_\t_\t_\t_\tTokenRange=110:114|SpaceAfter=No\n"
        "6\t.\t_\t_\t_\t_\t_\t_\t_\tTokenRange=114:115|SpacesAfter=\\r\\n\\r\\n\\s\\t\n\n"
        "# newpar\n# sent_id = 6\n# text = Oui !\n"
        "1\tOui\t_\t_\t_\t_\t_\t_\t_\tTokenRange=121:124\n"
        "2\t!\t_\t_\t_\t_\t_\t_\t_\tTokenRange=125:126|SpaceAfter=No\n\n"
    )
    assert trees[0].spans == (
        (102, 104),
        (104, 106),
        (107, 109),
        (107, 109),
        (110, 114),
        (114, 115),
    )
    assert DependencyTree(["a"]).with_misc("TokenRange", ["1-2"]).spans == (None,)


@pytest.mark.parametrize(
    ("text", "paragraphs"),
    [
        ("a", [(0, 1)]),
        ("\n a b\nc \n \n\t\nd\n\n", [(2, 7), (13, 14)]),
        ("a\r\n\r\nb", [(0, 1), (5, 6)]),
        (" \n\n a", [(4, 5)]),
    ],
)
def test_blank_lines_end_paragraphs(text, paragraphs):
    assert list_paragraphs(text) == paragraphs


def test_lines_end_tokens_and_paragraphs_sentences():
    text = "a b\nc\u2028d e\n\nf g"
    ends = np.zeros(len(text), dtype=np.int8)
    correct_ends(ends, text, list_paragraphs(text))
    trees = list(to_trees(text, ends, lambda form, several: None, count(1)))
    assert [tree.forms for tree in trees] == [("a b", "c", "d e"), ("f g",)]


# The text of trees


def tree_of(forms, *, tokens=(), misc=None, comments=()):
    tree = DependencyTree(forms).with_multiword_tokens(tokens)
    if misc is not None:
        tree = tree.with_misc("SpaceAfter", misc)
    return tree.with_comments(comments)


def test_text_of_trees_is_what_their_comments_or_tokens_say():
    du = MultiwordToken(2, 3, "du", "SpaceAfter=No")
    trees = [
        tree_of(["Pas", "de", "le", "x"], tokens=[du], comments=["# newdoc", "# text = Pas  dux"]),
        tree_of(["a", "b", "."], misc=[None, "No", None]),
        tree_of(["a", "b"], misc=["No", None], comments=["#newpar id=2", "# text = a c"]),
        tree_of(["10 000"], comments=["# text = 10\u00a0000"]),
    ]
    text, ends = to_text(trees)
    assert text == "Pas dux a b.\n\nab 10 000"
    assert ends.tolist() == [0, 0, 1, 0, 0, 2, 3, 0, 1, 0, 1, 3, 0, 0, 1, 3, 0, 0, 0, 0, 0, 0, 3]


def test_text_of_trees_that_were_made_of_it(splitter):
    """Single spaces stay, and all that ends."""
    text = "The cat sat on my mat.\n\nIt slept, I think. I do not know."
    trees = splitter.split_text(text)
    assert to_text(trees)[0] == text
    again = to_trees(*to_text(trees), splitter._words_of, count(1))
    assert [tree.to_conllu() for tree in again] == [tree.to_conllu() for tree in trees]


# What is learned


def test_it_learns_where_tokens_and_sentences_end(splitter, english):
    text, _ = to_text(english[300:])
    trees = [tree.with_heads(range(len(tree))) for tree in splitter.split_text(text)]
    scores = raw_text_scores(english[300:], trees)
    assert scores["Tokens"].f1 > 0.99
    assert scores["Sentences"].f1 > 0.9
    expected = (scores["Tokens"].f1 + scores["Sentences"].f1) / 2
    assert splitter.score(english[300:]) == pytest.approx(expected, abs=1e-12)


def test_a_paragraph_is_split_as_if_it_were_alone(splitter):
    """Also one that is read in several pieces, with what is around them."""
    parts = ["The cat sat", "It slept, I think. " * 60, "A cat is not my mat!", "x"]
    together = splitter.split_text("\n\n".join(part.strip() for part in parts))
    alone = [tree for part in parts for tree in splitter.split_text(part.strip())]
    assert [tree.forms for tree in together] == [tree.forms for tree in alone]
    assert len(parts[1]) > 2 * _splitter.PIECE


def test_pieces_cover_all_characters_once():
    text = "ab " * 500 + "c" * 1000 + "\n\nd"
    places, is_own, indptr = _splitter._cut_into_pieces(text, list_paragraphs(text))
    assert places[is_own].tolist() == [*range(2500), 2502]
    sizes = np.diff(indptr)
    assert sizes.max() <= _splitter.PIECE + 2 * _splitter.MARGIN
    assert sizes[-1] == 1  # no margin is in another paragraph


def test_words_of_tokens():
    """Known ones, such as are words too, in capitals, and such as end as known ones did."""
    du, ambiguous = MultiwordToken(1, 2, "du"), MultiwordToken(1, 2, "des")
    parts = [MultiwordToken(1, 2, form) for form in ("dont", "isnt", "it's", "he's")]
    trees = [
        tree_of(["de", "le"], tokens=[du]),
        tree_of(["de", "les"], tokens=[ambiguous]),
        tree_of(["des"]),
        *(
            tree_of(words, tokens=[token])
            for words, token in zip(
                [["do", "nt"], ["is", "nt"], ["it", "'s"], ["he", "'s"]], parts, strict=True
            )
        ),
    ]
    words_of = Splitter(hidden_layer_sizes=[2], max_iter=1).fit(trees)._words_of
    assert words_of("du", False) == ["de", "le"]
    assert words_of("Du", False) == ["De", "le"]
    assert words_of("DU", False) == ["DE", "LE"]
    assert words_of("des", True) == ["de", "les"]
    assert words_of("des", False) is None
    assert words_of("CaN'S", True) == ["CaN", "'S"]
    assert words_of("wasnt", True) == ["was", "nt"]
    assert words_of("wasnt", False) is None
    assert words_of("nt", True) is None
    assert words_of("xyz", True) is None


def test_long_sentences_are_cut(splitter):
    text = "cat, " * 100
    assert len(splitter.split_text(text)) < 5
    cut = Splitter(hidden_layer_sizes=[32], max_iter=6, random_state=0, max_tokens=7)
    vars(cut).update({name: value for name, value in vars(splitter).items() if name.endswith("_")})
    trees = cut.split_text(text)
    assert max(map(len, trees)) == 7
    assert_keeps(trees, text)


# Strange text


def test_what_is_no_text_is_refused(splitter, tmp_path):
    sign = r"the character '\\(x00|ud800)' at 1"
    assert not not_refused([("a\0b", sign), ("a\ud800b", sign)], splitter.split_text)
    assert splitter.split_text("") == splitter.split_text(" \n\t\u3000") == []
    others = [(b"text", "decode"), (["a", "b"], "parse"), (None, "str")]
    assert not not_refused(others, splitter.split_text, TypeError)
    with pytest.raises(NotFittedError):
        Splitter().split_text("a")
    with pytest.raises(TypeError, match="DependencyTree"):
        Splitter().fit([["a", "b"]])
    with pytest.raises(ValueError, match="max_tokens"):
        Splitter(max_tokens=0).fit([DependencyTree(["a"])])


# Files


def test_files_are_split_in_pieces(splitter, tmp_path, monkeypatch):
    """As their text is together, wherever pieces end that end with a paragraph."""
    text = "The cat sat. It slept.\n\n\nI do not think so.\nIs it a cat?\n \nNo!\n\n" * 40
    path = tmp_path / "a.txt"
    path.write_bytes(text.replace("\n", "\r\n").encode())
    expected = splitter.split_text(text)
    read_at_once(monkeypatch, 100)
    trees = list(splitter.iter_split_text(path))
    assert [tree.to_conllu() for tree in trees] == [tree.to_conllu() for tree in expected]
    assert join_text(trees) == text
    twice = list(splitter.iter_split_text([path, str(path)]))
    assert [tree.spans for tree in twice] == 2 * [tree.spans for tree in trees]
    assert [tree.sent_id for tree in twice] == [str(k + 1) for k in range(2 * len(trees))]


@pytest.mark.parametrize("separator", ["\n", " "])
def test_endless_paragraphs_are_split_too(splitter, monkeypatch, separator):
    text = separator.join(["The cat sat. It slept."] * 40)
    read_at_once(monkeypatch, 100)
    trees = list(splitter.iter_split_text(io.StringIO(text)))
    assert join_text(trees) == text
    assert sum("# newpar" in tree.comments for tree in trees) > 5  # a piece looks like one


def test_files_that_are_no_text(splitter, tmp_path):
    path = tmp_path / "a.txt"
    for data, problem in [
        (b"ab\n\nc\xe9", "a.txt:3: .*UTF-8"),
        (b"x" * 2000 + b"\n\0", "a.txt:2: NUL"),
        (b"\xff\xfea\0", "UTF-16"),
    ]:
        path.write_bytes(data)
        with pytest.raises(ConlluError, match=problem):
            list(splitter.iter_split_text(path))
    path.write_text(" \n\n")
    assert list(splitter.iter_split_text(path)) == []
    with pytest.raises(FileNotFoundError):
        splitter.iter_split_text(tmp_path / "b.txt")


# Pipelines and model files


def test_pipelines_parse_text(model, english):
    text = "  " + to_text(english[:3])[0] + "\n\n" + to_text(english[3:5])[0]
    expected = model.parse(model[0].split_text(text))
    assert model.parse_text(text) == expected
    assert [tree.sent_id for tree in expected] == [str(k + 1) for k in range(len(expected))]
    assert join_text(expected) == text
    assert list(model.iter_parse_text(io.StringIO(text), chunk_size=1)) == expected
    with pytest.raises(AttributeError, match=r"make_parser_pipeline\(Splitter\(\)"):
        make_parser_pipeline(model[1], model[2]).parse_text(text)


# The command line


@pytest.fixture
def text_model(model, tmp_path):
    save_model(model, tmp_path / "model.npz")
    return str(tmp_path / "model.npz")


def test_command_parses_text(text_model, model, tmp_path, capsys, monkeypatch):
    """The same by several workers, and numbered through."""
    text = "The cat sat. It slept.\n\nI do not think so.\n\n" * 30
    source = tmp_path / "a.txt"
    source.write_text(text)
    expected = "".join(tree.to_conllu() for tree in model.parse_text(text))
    assert main(["parse", text_model, str(source), "--input", "text"]) == 0
    assert capsys.readouterr().out == expected
    read_at_once(monkeypatch, 300)
    command = ["parse", text_model, str(source), "--input", "text", "--n-jobs", "2"]
    assert main(command) == 0
    assert capsys.readouterr().out == expected
    assert expected.count("# sent_id = 7\n") == 1


def test_command_numbers_sentences_and_nothing_else(text_model, tmp_path, capsys, monkeypatch):
    """Through pieces and files, each of the trees of a sentence; whatever the text looks like."""
    paths = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for path in paths:
        path.write_text("The cat sat.\n\n# sent_id = 7\n\nsent_id = 7 # sent_id = 7\n\n" * 5)
    read_at_once(monkeypatch, 100)
    command = ["parse", text_model, *map(str, paths), "--input", "text", "--sample", "2"]
    assert main(command) == 0
    trees = read_conllu(io.StringIO(capsys.readouterr().out))
    assert len(trees) == 2 * 30
    assert [tree.sent_id for tree in trees] == [str(k // 2 + 1) for k in range(len(trees))]
    assert join_text(trees[::2]) == "".join(path.read_text() for path in paths)
    assert all("\n# sent_id" not in tree.to_conllu().partition("# text")[2] for tree in trees)


def test_command_names_the_line_of_a_sentence(text_model, tmp_path, capsys):
    source = tmp_path / "a.txt"
    source.write_text(
        "The cat sat.\n\nOne, two, three, four, five, six,\nseven, eight, nine, ten.\n"
    )
    command = ["parse", text_model, str(source), "--input", "text", "--max-tokens", "7"]
    assert main(command) == 1
    assert f"{source}:3: " in capsys.readouterr().err


def test_command_trains_for_text(english, tmp_path, capsys):
    """By default with all columns that have values."""
    plain = [DependencyTree(t.forms, t.heads, upos=t.upos, lemmas=t.lemmas) for t in english[:12]]
    write_conllu(plain, tmp_path / "train.conllu")
    command = ["train", str(tmp_path / "train.conllu"), "-o", str(tmp_path / "m.npz"), "--text"]
    assert main([*command, "--model", "biaffine", "--max-iter", "1"]) == 0
    model = load_model(tmp_path / "m.npz")
    assert isinstance(model[0], Splitter)
    assert model[-1].tags == ["upos", "lemma"]
    assert main([*command, "--model", "first", "--tags", "upos"]) == 0
    assert [type(step).__name__ for _, step in load_model(tmp_path / "m.npz").steps] == [
        "Splitter",
        "Tagger",
        "DeterministicSHAG",
    ]


def test_command_refuses_text_for_other_models(english, tmp_path, capsys):
    save_model(DeterministicSHAG().fit(english[:20]), tmp_path / "m.npz")
    (tmp_path / "a.txt").write_text("a")
    command = ["parse", str(tmp_path / "m.npz"), str(tmp_path / "a.txt"), "--input", "text"]
    assert main(command) == 1
    assert "train --text" in capsys.readouterr().err


# The bundled parser


def test_bundled_parser_fills_in_all_columns():
    text = "The cat sleeps on my mat.\n\nThey don't mind."
    trees = load_parser("english").parse_text(text)
    assert_keeps(trees, text)
    assert trees[0].upos == ("DET", "NOUN", "VERB", "ADP", "PRON", "NOUN", "PUNCT")
    assert trees[0].lemmas[2] == "sleep"
    assert trees[0].heads[1:].tolist() == [3, 0, 6, 6, 3, 3]
    assert trees[1].forms == ("They", "do", "n't", "mind", ".")
    assert all(tree.xpos and tree.feats and tree.deprels for tree in trees)


def test_bundled_parsers_have_names(tmp_path, monkeypatch, capsys, model):
    """A file of that name comes first."""
    with pytest.raises(ValueError, match=r"english, got 'klingon'.*fetch_treebank"):
        load_parser("klingon")
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("It sleeps.")
    command = ["parse", "english", "a.txt", "--input", "text"]
    assert main(command) == 0
    assert "\tsleep\tVERB\t" in capsys.readouterr().out
    save_model(model, "english")
    assert main(command) == 0
    assert "\tsleep\t" not in capsys.readouterr().out


def test_demo_draws_no_text_of_other_parsers(capsys):
    assert main(["demo", "Cats sleep.", "--treebank", "x"]) == 1
    assert main(["demo", " "]) == 1
    assert "blank" in capsys.readouterr().err
