"""Altered copies to learn from: what is altered, where copies go, and what they are good for."""

from unicodedata import normalize
from unittest import mock

import numpy as np
import pytest

from sklearn_shag import BiaffineParser, Tagger
from sklearn_shag.conditional import without_heads
from sklearn_shag.encoding import list_values
from sklearn_shag.network import _augmentation, _estimators
from sklearn_shag.network._augmentation import add_copies, respell, respell_lemmas
from sklearn_shag.network._tags import apply_script, collect_tags, encode_tags, read_tags
from sklearn_shag.treebank import ENDS, SENTENCE, DependencyTree
from tests.estimators import assert_same_model, same

COLUMNS = ("upos", "lemma")
CURLY = str.maketrans("'", "\u2019")


def small(tags="upos", estimator=BiaffineParser, **parameters):
    settings = {"hidden_layer_sizes": [16], "batch_size": 100, "max_iter": 1, "random_state": 0}
    return estimator(tags=tags, **(settings | parameters))


@pytest.mark.parametrize("rng", [np.random.default_rng(0), np.random.RandomState(0)])
def test_texts_keep_their_length(rng):
    assert respell("I\u2019m \u0130 stra\u00dfe", "capitals", rng) == "I\u2019M \u0130 STRA\u00dfE"
    assert respell("I\u2019M \u0130 STRASSE", "small letters", rng) == "i\u2019m \u0130 strasse"
    text = '\u00bbI \u2018can\'t\u2019 "go" \u00abup\u00bb'
    found = {respell(text, "quotes", rng) for _ in range(200)}
    assert {len(each) for each in found} == {len(text)}
    assert {'"I \'can\'t\' "go" "up"', "\u201cI `can't' \u201ego\u201c \u201eup\u201c"} <= found
    assert "\u201dI \u2018can\u2019t\u2019 \u201cgo\u201d \u201cup\u201d" in found


@pytest.mark.parametrize(
    ("words", "heads", "n_left"),
    [
        (["Go", "on", "!", ")"], [0, 1, 1, 3], 2),  # the last mark depends on the one before it
        (["Go", "on", "!", ")"], [0, 1, 4, 1], 4),
        (["!", "?"], [-1, -1], 1),
        (["Go", "_"], [0, 1], 2),
    ],
)
def test_final_marks_without_dependents_go(monkeypatch, words, heads, n_left):
    monkeypatch.setattr(_augmentation, "SHARES", {"unfinished": 1.0})
    n, n_copied = 2 + len(words), n_left * (n_left < len(words))
    examples = without_heads(None, np.array([0, 2, n]), np.arange(n)[:, np.newaxis], np.arange(2))
    examples = examples._replace(heads=np.array([2, 0, *heads]))
    found, text = add_copies(examples, [["before", "this"], words], {}, np.random.RandomState(0))
    assert text[:2] == [["before", "this"], words]
    assert text[2:] == [words[:n_left]] * (n_copied > 0)
    assert found.copied.tolist() == [1] * (n_copied > 0)
    assert found.tags.ravel().tolist() == [*range(n), *range(2, 2 + n_copied)]
    assert found.heads[n:].tolist() == heads[:n_copied]
    assert found.weights.tolist() == [0, 1, 1][: 2 + (n_copied > 0)]


@pytest.mark.parametrize("kind", ["quotes", "capitals", "small letters", "unfinished"])
def test_copies_have_the_lemmas_of_their_originals(english, monkeypatch, kind):
    """As far as their edits are known; those of originals do not change."""
    monkeypatch.setattr(_augmentation, "SHARES", {kind: 1.0})
    trees = english[:100]
    tags = [read_tags(COLUMNS, tree) for tree in trees]
    values = collect_tags(COLUMNS, tags, 2)
    indptr = np.cumsum([0, *map(len, trees)])
    examples = without_heads(None, indptr, encode_tags(values, tags, indptr[-1]), np.ones(100))
    found, words = add_copies(examples, trees, values, np.random.RandomState(0))
    np.testing.assert_array_equal(found.tags[: indptr[-1]], examples.tags)
    n_known = 0
    for s, copy, codes in zip(
        found.copied, words[100:], np.split(found.tags, found.indptr[1:-1])[100:], strict=True
    ):
        for form, lemma, code in zip(copy, trees[s].lemmas, codes[:, 1], strict=False):
            assert code < 0 or apply_script(values["lemma"][code], form) == lemma
            n_known += code >= 0
    assert n_known > 0.85 * sum(map(len, words[100:]))


@pytest.mark.parametrize("early_stopping", [False, True])
def test_copies_are_where_their_originals_are(english, monkeypatch, early_stopping):
    """And nowhere where sentences are set aside, or parsed by a model of the other half."""
    run = mock.Mock(wraps=_estimators.run_passes)
    answer = mock.create_autospec(BiaffineParser._answer, side_effect=BiaffineParser._answer)
    monkeypatch.setattr(_estimators, "run_passes", run)
    monkeypatch.setattr(BiaffineParser, "_answer", answer)
    one = small(early_stopping=early_stopping).fit(english[40:0:-1])
    trained = [call.args[1:] for call in run.call_args_list]
    for examples, chosen in trained:
        n = examples.n_originals
        copies = np.isin(examples.copied, chosen[chosen < n])
        assert copies.any()
        assert (chosen[chosen >= n] - n).tolist() == np.flatnonzero(copies).tolist()
    whole, *halves = ((chosen < n).sum() for _, chosen in trained)
    asked = [call.args[1].indptr.size - 1 for call in answer.call_args_list]
    assert asked == ([40 - whole] if early_stopping else halves[::-1])
    assert_same_model(one, small(early_stopping=early_stopping).fit(english[1:41]))


@pytest.mark.parametrize(
    "others",
    [
        {},
        {"tags": None, "columns": ["form"]},
        {"columns": ["form", "lemma"]},
        {"embeddings": lambda X: [np.ones((len(sentence), 2)) for sentence in X]},
    ],
)
def test_words_alone_are_altered_and_only_where_tags_are_learned(english, others):
    models = [
        small(**others, augment=augment, calibrate=False).fit(english[:30])
        for augment in (True, False)
    ]
    assert same(*([model.weights_.values] for model in models)) == bool(others)


def test_apostrophes_may_be_others(english):
    train = [tree for tree in english if "n't" in tree.forms]
    curly = [[form.translate(CURLY) for form in tree.forms] for tree in train]
    for augment in (True, False):
        tagger = small(COLUMNS, Tagger, max_iter=6, augment=augment).fit(8 * train + english[:60])
        plain, found = tagger.transform(train), tagger.transform(curly)
        are_same = [
            (a.upos, a.lemmas) == (b.upos, b.lemmas) for a, b in zip(plain, found, strict=True)
        ]
        assert all(are_same) == augment == ("n`t\tPART" in tagger.lemmas_)


def test_copies_change_no_schedule(english, monkeypatch):
    n = sum(map(len, english[:60]))
    monkeypatch.setattr(Tagger, "_schedule", ((n + 1, 100, 1, 0.1), (np.inf, 100, 2, 0.1)))
    assert small(estimator=Tagger, max_iter="auto").fit(english[:60]).n_iter_ == 1


def test_lemmas_of_other_spellings():
    lemmas = {
        "n't\tPART": "not",
        "n't\tX": "not",
        "n\u2019t\tX": "nt",
        "''\t''": "q",
        "a\tDET": "a",
    }
    found = respell_lemmas(lemmas)
    assert found | lemmas == found
    assert [found[f"n{sign}t\tPART"] for sign in "'\u2019`"] == ["not"] * 3
    assert found["``\t''"] == "q"
    assert "``\t``" not in found


def test_decomposed_words_are_those_they_compose(english):
    change = str.maketrans("ae", "\u00e4\u00e9")
    trees = [
        DependencyTree(
            [f.translate(change) for f in t.forms], t.heads, upos=t.upos, lemmas=t.lemmas
        )
        for t in english[:40]
    ]
    split = [["\u00ad".join(normalize("NFD", form)) for form in tree.forms] for tree in trees]
    parser = small(COLUMNS, max_iter=4, calibrate=False).fit(trees)
    for one, other, forms in zip(parser.parse(trees), parser.parse(split), split, strict=True):
        assert list(other.forms) == forms
        assert (one.upos, one.lemmas, one.deprels) == (other.upos, other.lemmas, other.deprels)
        assert one.heads.tolist() == other.heads.tolist()
    assert parser.predict_tags([["\u00ad"]])[0].size == 1


def test_decomposed_words_are_learned_composed():
    trees = [DependencyTree([form], lemmas=["\u00e4s"]) for form in ("\u00e4s", "a\u0308s")]
    assert len({read_tags(["lemma"], tree) for tree in trees}) == 1
    trees[1] = DependencyTree(trees[1].forms, lemmas=trees[1].forms)
    assert list_values(["lemma", "form"], trees, 2) == {"lemma": ["\u00e4s"], "form": ["\u00e4s"]}


def read_ends(marked):
    """The text and its ends: a bar stands behind each token, and a hash behind each sentence."""
    kinds = {"|": ENDS.index("token"), "#": SENTENCE}
    pairs = zip(marked, marked[1:] + " ", strict=True)
    signs = [(sign, kinds.get(behind, 0)) for sign, behind in pairs if sign not in kinds]
    return "".join(sign for sign, _ in signs), np.array([kind for _, kind in signs], dtype=np.int8)


@pytest.mark.parametrize(
    ("kind", "added"),
    [
        ("unfinished", ["It| was|n't| (|ha#", "No#"]),
        ("run on", ["It| was|n't| (|ha|)|.#Oh#"]),  # no mark ends the second, and none is behind
        ("capitals", ["IT| WAS|N'T| (|HA|)|.#", "OH#", "NO|.#"]),
        ("signed", ["It| was|\u2026|n't| (|ha|)|.#", "\u00ab|No|\u00bb|.#"]),
    ],
)
def test_texts_are_altered_with_their_ends(monkeypatch, kind, added):
    monkeypatch.setattr(_augmentation, "SHARES_OF_TEXT", {kind: 1.0})
    marked = "It| was|n't| (|ha|)|.# Oh# No|.#"
    found = _augmentation.add_altered(*read_ends(marked), np.random.RandomState(3))
    expected = read_ends("\n\n".join([marked, *added]))
    assert found[0] == expected[0]
    assert found[1].tolist() == expected[1].tolist()
