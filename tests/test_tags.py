"""Several columns at once: tags, features, and lemmas by a table and by edits of forms."""

import re
from collections import Counter
from copy import copy
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.frozen import FrozenEstimator

from sklearn_shag import AveragedParser, BiaffineParser, Tagger
from sklearn_shag.network._tags import (
    SCRIPT,
    apply_script,
    choose_lemmas,
    collect_lemmas,
    edit_script,
    read_tags,
)
from sklearn_shag.treebank import DependencyTree, heads
from tests.estimators import assert_same_model, same
from tests.test_averaged import average_of_logs
from tests.test_tagger import combine

COLUMNS = ("upos", "xpos", "lemma", "feats")
ATTRIBUTES = ("upos", "xpos", "lemmas", "feats")
WORDS = st.text(st.characters(exclude_characters="\t\n\r", exclude_categories=["Cs"]), min_size=1)


def small(tags=COLUMNS, **parameters):
    settings = {"hidden_layer_sizes": [8], "max_iter": 3, "random_state": 0, "cv": 2}
    return Tagger(tags, ("form", "suffix", "letters"), **(settings | parameters))


@pytest.fixture(scope="module")
def fitted(english):
    settings = {"batch_size": 100, "max_iter": 4, "learning_rate_init": 0.02}
    return small(hidden_layer_sizes=[32], **settings).fit(english[:300])


@pytest.fixture(scope="module")
def parser(english):
    settings = {"hidden_layer_sizes": [16], "max_iter": 3, "calibrate": False, "random_state": 0}
    return BiaffineParser(tags=COLUMNS, **settings).fit(english[:100])


# Edits


@given(WORDS, WORDS)
def test_scripts_make_the_lemma_of_the_form(form, lemma):
    script = edit_script(form, lemma)
    assert apply_script(script, form) == lemma
    assert re.fullmatch(SCRIPT, script)  # so that files hold it


def test_scripts_say_how_many_letters_go_and_which_come():
    cases = {
        ("dogs", "dog"): "lower\t0\t\t1\t",
        ("Dogs", "dog"): "lower\t0\t\t1\t",
        ("The", "the"): "lower\t0\t\t0\t",
        ("Paris", "Paris"): "kept\t0\t\t0\t",
        ("PARIS", "Paris"): "title\t0\t\t0\t",
        ("paris", "Paris"): "title\t0\t\t0\t",
        ("cities", "city"): "lower\t0\t\t3\ty",
        ("gegangen", "gehen"): "lower\t0\t\t6\then",
        ("unseen", "seen"): "lower\t2\t\t0\t",
        ("was", "be"): "whole\tbe",
    }
    assert {pair: edit_script(*pair) for pair in cases} == cases
    assert apply_script("lower\t0\t\t3\ty", "Parties") == "party"
    assert apply_script("lower\t0\t\t3\ty", "the") is None  # nothing would be left
    assert apply_script("whole\tbe", "x") == "be"


def test_scripts_count_letters_as_readers_see_them():
    """A vowel sign goes with its consonant, and what comes is never a sign alone."""
    all_of_you, all_of_it, suffixed = (
        "\u0b85\u0ba9\u0bc8\u0ba4\u0bcd\u0ba4\u0bc1" + ending
        for ending in ("", "\u0bae\u0bcd", "\u0ba4\u0bcd")
    )
    script = edit_script(all_of_it, all_of_you)
    assert script == "lower\t0\t\t1\t"
    assert apply_script(script, suffixed) == all_of_you
    assert apply_script(script, all_of_you) == all_of_you[:-2]
    # Another vowel sign is another letter.
    assert edit_script("\u0bb5\u0bc0\u0b9f\u0bc1", "\u0bb5\u0bc0\u0b9f\u0bbf") == (
        "lower\t0\t\t1\t\u0b9f\u0bbf"
    )
    family = "\U0001f469\u200d\U0001f469\U0001f3fd"
    assert apply_script(script, "ok" + family) == "ok"


MARKED = st.text(
    "abA\u00e9\u0301\u0b95\u0bcd\u0bbe\u0915\u094d\u093f\u200d\ufe0f\U0001f44d\U0001f3fd\uac00\u11a8",
    min_size=1,
    max_size=8,
)


@given(MARKED, MARKED, MARKED)
def test_scripts_keep_whole_graphemes(form, lemma, other):
    """As another library finds them, of any word, whatever word they were learned from."""
    clusters = pytest.importorskip("regex").compile(r"\X")
    case, *edits = edit_script(form, lemma).split("\t")
    found = apply_script("\t".join([case, *edits]), other)
    if case != "whole" and found is not None:
        kept = found[len(edits[1]) : len(found) - len(edits[3])]
        source = {"lower": other.lower(), "title": other.capitalize()}.get(case, other)
        letters = [match.start() for match in clusters.finditer(source)] + [len(source)]
        begins = [k for k in letters if source.startswith(kept, k) and k + len(kept) in letters]
        assert kept
        assert begins


def test_lemmas_that_are_known_come_first():
    trees = [
        DependencyTree(["saw", "saw"], upos=["NOUN", "VERB"], lemmas=["saw", "see"]),
        DependencyTree(["saw", "is"], upos=["VERB", "AUX"], lemmas=["see", "_"]),
        DependencyTree(["saw", "mats"], upos=["VERB", "NOUN"], lemmas=["saw", "mat"]),
        DependencyTree(["saw"], upos=["NOUN"]),
    ]
    columns = ("upos", "lemma")
    tags = [read_tags(columns, tree) for tree in trees]
    assert tags[0][1] == ("lower\t0\t\t0\t", "lower\t0\t\t2\tee")
    assert tags[3][1] == ("_",)
    lemmas = collect_lemmas(columns, trees, tags, [1, 1, 1, 1])
    assert lemmas == {"saw\tNOUN": "saw", "saw\tVERB": "see", "mats\tNOUN": "mat"}
    weighted = collect_lemmas(columns, trees, tags, [1, 1, 5, 1])
    assert weighted["saw\tVERB"] == "saw"
    script = "lower\t0\t\t1\t"
    forms, upos = ["saw", "Cats", "a"], ["VERB", "NOUN", "X"]
    found = choose_lemmas(columns, lemmas, forms, upos, [script] * 3)
    assert found == ["see", "cat", "a"]  # the last has too few letters for the script
    # Files hold no spaces at the ends of lemmas, and letters with their marks.
    odd = choose_lemmas(
        columns, {}, ["10\xa0000", "ee\u0301x"], upos[:2], ["kept\t0\t\t3\t", script]
    )
    assert odd == ["10", "e\xe9"]
    alone = collect_lemmas(("lemma",), trees, [each[1:] for each in tags], [1, 1, 1, 1])
    assert alone == {"saw\t": "saw", "mats\t": "mat"}  # of two that are as frequent the first
    assert choose_lemmas(("lemma",), alone, ["mats"], [script], [script]) == ["mat"]


# Taggers


def test_each_column_is_learned(fitted, english):
    test = english[300:]
    assert tuple(fitted.tag_values_) == COLUMNS
    assert fitted.tag_column_ == "upos"
    assert fitted.tags_.tolist() == fitted.tag_values_["upos"]
    assert "_" in fitted.tag_values_["feats"]  # to have no features is to have known ones
    assert "_" not in fitted.tag_values_["xpos"]
    seen = Counter(
        edit_script(*p) for t in english[:300] for p in zip(t.forms, t.lemmas, strict=True)
    )
    assert fitted.tag_values_["lemma"] == sorted(each for each, n in seen.items() if n > 1)
    right = {}
    for name, attribute in zip(COLUMNS, ATTRIBUTES, strict=True):
        found = np.concatenate(fitted.predict_tags(test, column=name))
        right[name] = found == [value for tree in test for value in getattr(tree, attribute)]
    shares = {name: each.mean() for name, each in right.items()}
    assert min(shares.values()) > 0.75, shares
    assert_array_equal(fitted.predict_tags(test[:1])[0], fitted.predict_tags(test[:1], "upos")[0])
    assert fitted.score(test) == np.all(list(right.values()), axis=0).mean()


def test_trees_get_all_columns(fitted):
    (tree,) = fitted.transform([["The", "windows", "."]])
    for name, values in zip(COLUMNS, (tree.upos, tree.xpos, tree.lemmas, tree.feats), strict=True):
        assert values == tuple(fitted.predict_tags([tree], name)[0])
    assert tree.symbols == tree.upos
    assert tree.lemmas[0] == "the"


def test_a_list_of_one_column_is_that_column(english):
    assert_same_model(small("upos").fit(english[:40]), small(["upos"]).fit(english[:40]))


def test_columns_that_are_partly_known(english):
    """Unknown values teach nothing and are not scored; features that are not there are known."""
    tree = english[0]
    part = DependencyTree(tree.forms, upos=tree.upos, lemmas=["_", *tree.lemmas[1:]])
    model = small(("upos", "lemma")).fit([part, *english[1:60]])
    assert model.score([part]) == model.score([part.with_heads(None)])
    features = small("feats").fit(english[:60])
    (found,) = features.predict_tags([tree])
    assert features.score([tree]) == np.mean(found == np.array(tree.feats, dtype=object))
    assert "_" in tree.feats


# Parsers


def test_other_columns_cost_the_trees_nothing(parser, english):
    """They are learned by a tagger of its own, so that trees are those of the first alone."""
    first = BiaffineParser(**parser.get_params() | {"tags": "upos"}).fit(english[:100])
    assert_array_equal(first.weights_.values, parser.weights_.values)
    assert first.tagger_ is None
    assert tuple(parser.tagger_.tag_values_) == COLUMNS
    parsed = parser.parse(english[200:220])
    assert same(heads(parsed), heads(first.parse(english[200:220])))
    for name, attribute in zip(COLUMNS, ATTRIBUTES, strict=True):
        found = parser.predict_tags(english[200:220], column=name)
        assert [getattr(tree, attribute) for tree in parsed] == list(map(tuple, found))


def test_lemmas_alone_are_learned_by_the_tagger(english):
    settings = {"hidden_layer_sizes": [8], "max_iter": 1, "calibrate": False, "random_state": 0}
    model = BiaffineParser(tags="lemma", **settings).fit(english[:60])
    assert model.tag_column_ is None
    assert list(model.tagger_.tag_values_) == ["lemma"]
    (tree,) = model.parse([["The", "tides"]])
    assert tree.lemmas[0] == "the"
    assert tree.upos is None


def test_averages_fill_in_all_columns(parser, english):
    """By the mean of the logarithms of what the taggers of members say, and of relations.

    Tags are a combination that training tokens of any member have.
    """
    test, columns, n_unknown, parser = english[200:230], ("upos", "xpos", "feats"), 0, copy(parser)
    other = BiaffineParser(**parser.get_params() | {"random_state": 1}).fit(english[:90])
    single = BiaffineParser(**parser.get_params() | {"tags": "upos"}).fit(english[:30])
    both = sorted(map(tuple, parser.tagger_.tag_combinations_))
    for k, member in enumerate((parser, other)):
        member.tagger_ = copy(member.tagger_)
        member.tagger_.tag_combinations_ = list(map(list, both[k::2]))
    members = [(f"m{k}", FrozenEstimator(each)) for k, each in enumerate((single, parser, other))]
    for weights, asked, known in (
        ([1, 1, 3], [parser, other], both),
        ([0, 1], [parser], both[::2]),
    ):
        average = AveragedParser(members[: len(weights)], weights=weights).fit([["X"]], [[0]])
        parsed, taggers = average.parse(test), [each.tagger_ for each in asked]
        parts = [each._score(each._batch(test)).tagging.proba() for each in asked]
        factors = parser.tagger_.tag_factors_  # of the first member with these columns
        pairs = [(name, value) for name, own in parser.tagger_.tag_values_.items() for value in own]
        relations = chain(*(tree.deprels for tree in parsed))
        for k, (row, relation) in enumerate(zip(combine(parsed, columns), relations, strict=True)):
            of_relation, scores = dict(zip(pairs, factors.get(relation, ()), strict=False)), []
            for name in columns:
                values = [tagger.tag_values_[name] for tagger in taggers]
                of_token = [part[COLUMNS.index(name)][k] for part in parts]
                union, proba = average_of_logs(values, of_token, weights[1:])
                more = [of_relation.get((name, value), 0.0) for value in union]
                scores.append(dict(zip(union, np.log(proba) + more, strict=True)))
            best = tuple(max(own, key=own.get) for own in scores)
            sums = {r: sum(own[v] for own, v in zip(scores, r, strict=True)) for r in known}
            n_unknown += best not in known
            assert row == (best if best in known else max(sums, key=sums.get))
        for tree in parsed:
            for form, tag, lemma in zip(tree.forms, tree.upos, tree.lemmas, strict=True):
                assert lemma == parser.tagger_.lemmas_.get(f"{form}\t{tag}", lemma)
    assert n_unknown > 100
    assert [tree.to_conllu() for tree in parsed] == [t.to_conllu() for t in parser.parse(test)]
    other.tagger_.tag_combinations_ = []  # as in old model files
    average = AveragedParser(members, weights=[1, 1, 3]).fit([["X"]], [[0]])
    assert set(combine(average.parse(test), columns)) - set(both)
