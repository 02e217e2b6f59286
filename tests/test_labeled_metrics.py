"""Labelled scores against naive counting and against the official evaluation of UD."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal, assert_equal

from sklearn_shag import DeterministicSHAG, LexicalizedSHAG, SpectralSHAG
from sklearn_shag.metrics import (
    attachment_breakdown,
    content_labeled_attachment_score,
    is_punctuation,
    label_accuracy_score,
    labeled_attachment_score,
    labeled_breakdown,
    las_scorer,
    unlabeled_attachment_score,
)
from sklearn_shag.treebank import DependencyTree, heads
from tests.estimators import symbols_and_heads, without_relations
from tests.fuzz.treebanks import heads_lists
from tests.oracles import random_tree

SCORES = {
    "LAS": labeled_attachment_score,
    "CLAS": content_labeled_attachment_score,
    "label accuracy": label_accuracy_score,
}
OFFICIAL = SCORES | {"UAS": unlabeled_attachment_score}
LABELS = ["nsubj", "nsubj:pass", "obj", "case", "det", "punct", "root", "mine"]
FUNCTION = {"case", "det", "punct", "mine"}


@st.composite
def pairs_of_trees(draw):
    """True and predicted trees, what is ignored, and weights; some true things are not known."""
    sentences = []
    for _ in range(draw(st.integers(1, 4))):
        n_tokens = draw(st.integers(1, 6))

        def of_tokens(values, n_tokens=n_tokens):
            return draw(st.lists(values, min_size=n_tokens, max_size=n_tokens))

        trees = []
        for labels in (["_", *LABELS], LABELS):
            tree = draw(heads_lists(n_tokens=n_tokens, n_roots=1))
            trees.append(
                DependencyTree(["w"] * n_tokens, tree, deprels=of_tokens(st.sampled_from(labels)))
            )
        true, other = trees
        labels = np.where(of_tokens(st.booleans()), true.deprels, other.deprels)
        parsed = other.with_heads(
            draw(st.sampled_from(trees)).heads, np.where(labels == "_", "obj", labels)
        )
        hidden = of_tokens(st.sampled_from([False, False, True]))
        true = true.with_heads(np.where(hidden, -1, true.heads), true.deprels)
        sentences.append((true, parsed, of_tokens(st.booleans()), draw(st.integers(0, 2))))
    return [list(column) for column in zip(*sentences, strict=True)]


def naive_scores(gold, system, masks, weights, subtypes):
    """Right and all of each score, by counting."""
    sums = {name: np.zeros(2) for name in SCORES}
    for true, parsed, mask, weight in zip(gold, system, masks, weights, strict=True):
        for k in range(len(true)):
            if mask[k] or true.heads[k] == -1 or true.deprels[k] == "_":
                continue
            label, other = true.deprels[k], parsed.deprels[k]
            content = [each.split(":")[0] not in FUNCTION for each in (label, other)]
            if not subtypes:
                label, other = label.split(":")[0], other.split(":")[0]
            right = true.heads[k] == parsed.heads[k] and label == other
            sums["LAS"] += weight * right, weight
            sums["label accuracy"] += weight * (label == other), weight
            # The harmonic mean of precision and recall has both denominators.
            sums["CLAS"] += 2 * weight * (right and content[0]), weight * sum(content)
    return sums


@given(trees=pairs_of_trees())
def test_counts(trees):
    gold, system, masks, weights = trees
    if not any((tree.heads >= 0).any() for tree in gold):
        return
    for subtypes in (False, True):
        expected = naive_scores(gold, system, masks, weights, subtypes)
        options = {"ignore": masks, "sample_weight": weights, "subtypes": subtypes}
        for name, score in SCORES.items():
            right, total = expected[name]
            if total:
                found = score(gold, system, **options)
                assert_allclose(found, right / total, rtol=1e-12, err_msg=f"{name}, {subtypes}")
                continue
            with pytest.raises(ValueError, match=r"[Nn]o (token|relation)|^None of the relations"):
                score(gold, system, **options)


def naive_value(tree, token, by, subtypes):
    """The relation, the length or the depth of an arc; None for an unknown depth."""
    head = tree.heads[token - 1]
    if by == "relation":
        relation = tree.deprels[token - 1]
        return relation if subtypes else relation.split(":")[0]
    if by == "length":
        return abs(token - head) if head else 0
    depth = 1
    while head > 0:
        depth, head = depth + 1, tree.heads[head - 1]
    return None if head < 0 else depth


@given(trees=pairs_of_trees())
def test_breakdown_counts(trees):
    for by in ("relation", "length", "depth"):
        for subtypes in (False, True):
            check_breakdown(by, subtypes, *trees)


def check_breakdown(by, subtypes, gold, system, masks, weights):
    rows = {}
    for true, parsed, mask, weight in zip(gold, system, masks, weights, strict=True):
        for k in range(len(true)):
            value = naive_value(true, k + 1, by, subtypes)
            known = true.heads[k] >= 0 and true.deprels[k] != "_"
            if mask[k] or not known or value is None or not weight:
                continue
            right_head = true.heads[k] == parsed.heads[k]
            label, other = (naive_value(t, k + 1, "relation", subtypes) for t in (true, parsed))
            right_label = label == other
            row = rows.setdefault(value, np.zeros(5))
            row += weight * np.array([1, 0, right_head, right_label, right_head and right_label])
            other = rows.setdefault(naive_value(parsed, k + 1, by, subtypes), np.zeros(5))
            other[1] += weight
    options = {"by": by, "ignore": masks, "sample_weight": weights, "subtypes": subtypes}
    n_scored = naive_scores(gold, system, masks, weights, False)["LAS"][1]
    if not n_scored or not rows:
        with pytest.raises(ValueError, match=r"[Nn]o (head|token|relation)"):
            labeled_breakdown(gold, system, **options)
        return
    values, *columns = labeled_breakdown(gold, system, **options)
    assert values.tolist() == sorted(rows)
    expected = [rows[v] for v in sorted(rows)]
    assert_allclose(np.transpose(columns), expected, rtol=1e-12, err_msg=by)


def test_true_trees_without_relations_do_not_count():
    tree = DependencyTree(["a", "b"], [2, 0], deprels=["obj", "root"])
    other = tree.with_heads([0, 1], ["x", "y"])
    for score in SCORES.values():
        assert score([tree, without_relations(tree)], [tree, other]) == 1.0


def test_a_length_is_a_filter(english):
    gold, parsed = english[300:], SpectralSHAG(2).fit(english[:300]).parse(english[300:])
    short = [k for k, tree in enumerate(gold) if len(tree) <= 8]
    sides = [gold[k] for k in short], [parsed[k] for k in short]
    by_depth = partial(labeled_breakdown, by="depth")
    for score in (*SCORES.values(), labeled_breakdown, by_depth, attachment_breakdown):
        assert_equal(score(gold, parsed, max_length=8), score(*sides), err_msg=score)


class TestOfficialEvaluation:
    @pytest.mark.parametrize(
        "model", [DeterministicSHAG("single"), SpectralSHAG(6), LexicalizedSHAG()], ids=str
    )
    def test_bundled_treebank(self, official, english, model):
        train, test = english[::2], english[1::2]
        parsed = model.fit(train).parse(test)
        found = official(test, parsed)
        for name in ("UAS", "LAS", "CLAS"):
            assert 0.4 < found[name].f1 < 0.95
            assert_allclose(OFFICIAL[name](test, parsed), found[name].f1, rtol=1e-12)

    def test_random_trees(self, official):
        udeval = pytest.importorskip("udtools.udeval")
        rng = np.random.default_rng(0)
        labels = [*LABELS, *udeval.CONTENT_DEPRELS, *udeval.FUNCTIONAL_DEPRELS, "acl:relcl", "cc:x"]
        labels.sort()

        def draw(n_tokens):
            tree, deprels = random_tree(rng, n_tokens), rng.choice(labels, n_tokens)
            return DependencyTree(["w"] * n_tokens, tree, deprels=deprels)

        gold = [draw(n) for n in rng.integers(1, 12, size=60)]
        system = []
        for tree in gold:
            other = draw(len(tree))
            kept = np.where(rng.random(len(tree)) < 0.6, tree.deprels, other.deprels)
            system.append(tree.with_heads((tree if rng.random() < 0.7 else other).heads, kept))
        found = official(gold, system)
        assert 0.1 < found["CLAS"].f1 < 0.9
        for name in ("UAS", "LAS", "CLAS"):
            assert_allclose(OFFICIAL[name](gold, system), found[name].f1, rtol=1e-12)


class TestScorer:
    def test_is_the_score_of_what_is_parsed(self, english):
        train, test = english[:300], english[300:]
        model = DeterministicSHAG().fit(train)
        expected = labeled_attachment_score(test, model.parse(test))
        assert expected < model.score(test)
        symbols, _ = symbols_and_heads(test)
        given = [(test,), (test, heads(test)), (symbols, test), (iter(test), iter(test))]
        assert [las_scorer(model, *each) for each in given] == [expected] * 4
        weights = {"sample_weight": np.arange(len(test))}
        expected = labeled_attachment_score(test, model.parse(test), **weights)
        assert las_scorer(model, test, **weights) == expected

    def test_relations_count_where_y_has_the_same_heads(self, english):
        model = DeterministicSHAG().fit(english)
        tree = DependencyTree(["DET", "NOUN", "VERB"], [2, 3, 0], deprels=["x", "nsubj", "root"])
        assert las_scorer(model, [tree]) == pytest.approx(2 / 3)
        for heads_of_y in ([3, 3, 0], [-1, 3, 0]):
            assert las_scorer(model, [tree], [heads_of_y]) == 1


def test_ignored_punctuation(english):
    gold = english[300:]
    parsed = DeterministicSHAG().fit(english[:300]).parse(gold)
    masks = [[symbol == "PUNCT" for symbol in tree.symbols] for tree in gold]
    for score in SCORES.values():
        ignored = score(gold, parsed, ignore=is_punctuation)
        assert ignored == score(gold, parsed, ignore=masks)
    assert ignored < label_accuracy_score(gold, parsed)
    assert_array_equal(
        labeled_breakdown(gold, parsed, ignore=is_punctuation).values,
        [v for v in labeled_breakdown(gold, parsed).values if v != "punct"],
    )
