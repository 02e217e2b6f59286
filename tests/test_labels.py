"""Relations of arcs: counted, backed off, predicted, kept."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal, assert_equal
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from sklearn_shag import DeterministicSHAG, LexicalizedSHAG, ProductParser, SpectralSHAG
from sklearn_shag.sequences import count_treebank, merge_statistics
from sklearn_shag.treebank import DependencyTree
from tests.estimators import BLIND, ESTIMATORS, same, with_labels, without_relations
from tests.fuzz.treebanks import heads_lists

ROOT = "<root>"
# Some symbols of sentences to label are not known.
SYMBOLS = ["A", "B", "C", "?"]
pytestmark = pytest.mark.filterwarnings("ignore::sklearn_shag.treebank.UnknownSymbolWarning")


@st.composite
def labelled_trees(draw, symbols=SYMBOLS[:3], labels=("_", "x", "y", "y:z", "root")):
    n_tokens = draw(st.integers(1, 5))
    return DependencyTree(
        draw(st.lists(st.sampled_from(symbols), min_size=n_tokens, max_size=n_tokens)),
        draw(heads_lists(n_tokens=n_tokens, n_roots=1)),
        deprels=draw(st.lists(st.sampled_from(labels), min_size=n_tokens, max_size=n_tokens)),
    )


def arcs_of(tree):
    """Head symbol, direction and modifier symbol of every token."""
    for token, head in enumerate(tree.heads, start=1):
        symbol = ROOT if head == 0 else tree.symbols[head - 1]
        yield symbol, token > head, tree.symbols[token - 1]


def naive_counts(trees, weights):
    counts = Counter()
    for tree, weight in zip(trees, weights, strict=True):
        for arc, label in zip(arcs_of(tree), tree.deprels, strict=True):
            if label != "_" and weight:
                counts[arc, label] += weight
    return counts


def back_off(arc):
    """What an arc is counted by, the most special first: the root is no head like others."""
    head, direction, modifier = arc
    is_root = head == ROOT
    return [arc, (is_root, direction, modifier), (is_root, modifier), arc[:2], (is_root,), ()]


def naive_shares(counts, arc):
    """How often each label is that of such arcs."""
    for level, seen in enumerate(back_off(arc)):
        found = Counter()
        for (other, label), count in counts.items():
            if back_off(other)[level] == seen:
                found[label] += count
        if found:
            break
    return {label: count / found.total() for label, count in found.items()}


def as_counts(statistics):
    """The counts of statistics in words."""
    symbols = [*statistics.symbols, "<unknown>", ROOT]
    return {
        ((symbols[head], bool(direction), symbols[modifier]), statistics.labels[label]): count
        for head, direction, modifier, label, count in zip(*statistics.label_counts, strict=True)
    }


@given(st.lists(labelled_trees(), min_size=1, max_size=5), st.data())
def test_counts_are_those_of_the_trees(trees, data):
    n = len(trees)
    weights = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n).filter(any))
    counted = count_treebank(trees, sample_weight=weights)
    expected = naive_counts(trees, weights)
    assert as_counts(counted) == expected
    assert counted.labels.tolist() == sorted({label for _, label in expected})
    cuts = data.draw(st.integers(1, len(trees)))
    parts = [
        count_treebank(trees[part], sample_weight=weights[part])
        for part in (slice(0, cuts), slice(cuts, None))
        if any(weights[part])
    ]
    merged = merge_statistics(parts[::-1])
    assert as_counts(merged) == expected
    assert_equal(merged.label_counts, counted.label_counts)
    assert [c.dtype for c in merged.label_counts] == [c.dtype for c in counted.label_counts]


def test_counts_of_many_symbols_are_the_same():
    """Many cells are added up in another way than few."""
    rng = np.random.default_rng(0)
    trees = [
        DependencyTree([f"w{k}" for k in rng.integers(100, size=4)], [2, 0, 2, 3], deprels=row)
        for row in rng.choice(["x", "y", "_"], size=(300, 4)).tolist()
    ]
    assert as_counts(count_treebank(trees)) == naive_counts(trees, [1] * 300)


def test_relations_belong_to_heads():
    """Those of y are its own, those of X count where the heads are the same."""
    tree = DependencyTree(["A", "B", "C"], [2, 0, 2], deprels=["x", "root", "y"])
    kept = {(("B", False, "A"), "x"): 1, ((ROOT, True, "B"), "root"): 1}
    assert as_counts(count_treebank([tree], [[2, 0, 1]])) == kept
    assert as_counts(count_treebank([tree], [tree.with_heads([2, 0, 1])])) == kept
    other = tree.with_heads([2, 0, 1], ["a", "b", "_"])
    expected = {(("B", False, "A"), "a"): 1, ((ROOT, True, "B"), "b"): 1}
    assert as_counts(count_treebank([tree], [other])) == expected
    assert as_counts(count_treebank([tree.symbols], [other])) == expected
    assert as_counts(count_treebank([tree.symbols], [[2, 0, 2]])) == {}
    assert as_counts(count_treebank([tree.with_heads(None, tree.deprels)], [[2, 0, 2]])) == {}
    partial = DependencyTree(["A", "B"], [-1, -1], deprels=["x", "z"])
    assert as_counts(count_treebank([partial, tree], sample_weight=[0, 1])) == as_counts(
        count_treebank([tree])
    )


@given(st.lists(labelled_trees(), min_size=1, max_size=6), labelled_trees(SYMBOLS))
def test_a_prediction_is_the_most_frequent_relation(trees, tree):
    """Of equals the first in the alphabet."""
    model = DeterministicSHAG("single").fit(trees)
    counts = naive_counts(trees, [1] * len(trees))
    if not counts:
        assert model.labels_.size == 0
        return
    (labels,) = model.predict_labels([tree], [tree.heads])
    (proba,) = model.predict_label_proba([tree], [tree.heads])
    for arc, label, row in zip(arcs_of(tree), labels, proba, strict=True):
        shares = naive_shares(counts, arc)
        assert label == min(shares, key=lambda label: (-shares[label], label))
        assert_allclose(row, [shares.get(each, 0.0) for each in model.labels_])


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name not in BLIND])
def test_relations_of_every_estimator(name, english):
    model = with_labels(clone(ESTIMATORS[name])).fit(english[:200], english[:200])
    test = english[200:230]
    heads, labels = model.predict(test), model.predict_labels(test)
    assert set(model.labels_) <= {label for tree in english[:200] for label in tree.deprels}
    assert model.labels_.tolist() == sorted(model.labels_)
    assert labels.dtype == object
    assert same(labels, model.predict_labels(test, heads))
    assert same(labels, model.predict_labels(list(map(without_relations, test)), list(heads)))
    assert {each.dtype for each in labels} == {np.dtype(object)}
    assert [tree.deprels for tree in model.parse(test)] == list(map(tuple, labels))
    assert_array_equal(np.concatenate(labels) == "root", np.concatenate(heads) == 0)
    # Given heads are labelled as they are, well above the share of the most frequent relation.
    gold = model.predict_labels(test, test)
    right = np.concatenate(gold) == np.concatenate([tree.deprels for tree in test])
    assert right.mean() > 0.7


def test_of_a_product_the_first_that_knows_relations_gives_them(english):
    bare = FrozenEstimator(DeterministicSHAG().fit(list(map(without_relations, english))))
    renamed = [tree.with_heads(tree.heads, [f"{r}!" for r in tree.deprels]) for tree in english]
    other = FrozenEstimator(SpectralSHAG(2).fit(renamed))
    members = [("bare", bare), ("words", LexicalizedSHAG()), ("other", other)]
    model = ProductParser(members).fit(english)
    expected = model.named_estimators_["words"].predict_labels(english, english)
    assert same(model.predict_labels(english, english), expected)
    assert_array_equal(model.labels_, model.named_estimators_["words"].labels_)
    model.set_params(weights=[1, 0, 1])
    assert same(model.predict_labels(english, english), other.predict_labels(english, english))
    model.set_params(weights=[1, 0, 0])
    assert model.labels_.size == 0


def test_parse_keeps_relations_of_kept_heads(english):
    model = DeterministicSHAG().fit(english)
    tree = DependencyTree(["DET", "NOUN", "VERB"], [2, -1, 0], deprels=["mine", "yours", "_"])
    kept = model.parse([tree, ["DET", "NOUN"]], keep_heads=True)
    assert [tree.deprels for tree in kept] == [("mine", "nsubj", "root"), ("det", "root")]
    assert model.parse([tree])[0].deprels == ("det", "nsubj", "root")
    bare = model.fit(list(map(without_relations, english)))
    assert bare.parse([tree], keep_heads=True)[0].deprels == ("mine", "dep", "_")
