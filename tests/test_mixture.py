"""Mixtures of helpers: their operators, EM of their weights, what they take and refuse."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.frozen import FrozenEstimator

from sklearn_shag import EMSHAG, DeterministicSHAG, MixtureSHAG, SpectralSHAG
from sklearn_shag.metrics import unlabeled_attachment_score
from sklearn_shag.treebank import DependencyTree
from tests import oracles
from tests.estimators import mirror, same
from tests.oracles import LEFT, RIGHT
from tests.test_operators import at, string_values

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def em(trees, seed=0, **params):
    return EMSHAG(2, smoothing=1, tol=0.1, random_state=seed, **params).fit(trees)


def freeze(**helpers):
    return [(name, FrozenEstimator(helper)) for name, helper in helpers.items()]


@pytest.fixture(scope="module")
def raw(english):
    return [list(tree.symbols) for tree in english[200:300] if len(tree) <= 10]


@pytest.fixture(scope="module")
def helpers(english):
    """A model of the target, one of the mirrored language, and one of another form."""
    trees = english[:200]
    return freeze(
        target=em(trees),
        mirrored=em([mirror(tree) for tree in trees]),
        first=DeterministicSHAG(smoothing=1).fit([mirror(tree) for tree in trees[:50]]),
    )


# Small grammars over two or three symbols, to be enumerated.
SMALL = {
    "ab": ([["a", "b"], ["b", "a", "b"], ["b"]], [[2, 0], [2, 0, 2], [0]]),
    "ba": ([["b", "a", "a"], ["a"], ["a", "b"]], [[2, 0, 2], [0], [0, 1]]),
    "bc": ([["c", "c"], ["c", "b", "c"], ["c"]], [[2, 0], [2, 0, 2], [0]]),
    "abc": ([["a", "c"], ["b", "c", "a"], ["c", "b"]], [[2, 0], [2, 0, 2], [0, 1]]),
}


def small(*names):
    return freeze(**{name: DeterministicSHAG(smoothing=1).fit(*SMALL[name]) for name in names})


def sequence_value(model, head, direction, sequence):
    return oracles.sequence_value(model.operators_, head, direction, sequence)


# The mixture


@pytest.mark.parametrize("weights", ["uniform", [3, 1]])
def test_values_of_sequences_are_means_of_those_of_helpers(weights):
    members = small("ab", "ba")
    model = MixtureSHAG(members, weights=weights).fit([["a", "b"], ["b"]])
    shares = [0.5, 0.5] if weights == "uniform" else [0.75, 0.25]
    assert_array_equal(model.symbols_, ["a", "b"])
    for head, direction in itertools.product(range(3), (LEFT, RIGHT)):
        found, *values = (
            string_values(at(each.operators_, head, direction), 3)
            for each in (model, *dict(members).values())
        )
        assert_allclose(found, np.dot(shares, values), rtol=1e-12)
    for root in range(2):
        values = [sequence_value(member, 3, RIGHT, [root]) for _, member in members]
        assert_allclose(sequence_value(model, 3, RIGHT, [root]), np.dot(shares, values), rtol=1e-12)


def mixed_tree_value(model, members, codes, heads):
    """The probability of a tree: each sequence is drawn by a helper of its own."""
    product = 1.0
    for head, direction, sequence in oracles.tree_sequences(heads):
        code = codes[head - 1] if head else 3
        values = [
            sequence_value(member, code, direction, [codes[m - 1] for m in sequence])
            for _, member in members
        ]
        product *= model.weights_[:, code, direction] @ values
    return product


def test_sentences_against_enumeration():
    members = small("ab", "ba")
    model = MixtureSHAG(members, max_iter=3).fit([["a", "b"], ["b"], ["b", "a", "b"]])
    for codes in ([0], [1, 0], [0, 1, 1], [1, 0, 0, 1]):
        symbols = [[["a", "b"][code] for code in codes]]
        values = {
            heads: mixed_tree_value(model, members, codes, heads)
            for heads in map(tuple, oracles.projective_trees(len(codes)))
        }
        total = sum(values.values())
        assert_allclose(model.log_likelihood(symbols), np.log(total), rtol=1e-10)
        for heads, value in values.items():
            found = np.exp(model.score_samples(symbols, [heads]))
            assert_allclose(found, value, rtol=1e-10)


def test_symbols_that_a_helper_does_not_know_have_their_share_of_the_text():
    members = small("ab", "abc")
    text = [["a", "b"], ["c", "b"], ["b"], ["c"], ["b"]]
    model = MixtureSHAG(members, weights=[1, 0]).fit(text)
    assert_array_equal(model.symbols_, ["a", "b", "c"])
    shares = np.array([1, 4, 2]) + 1.0
    shares /= shares.sum()
    helper = members[0][1]
    for direction in (LEFT, RIGHT):
        for symbol in range(2):
            known = sequence_value(helper, 0, direction, [symbol])
            found = sequence_value(model, 0, direction, [symbol])
            assert_allclose(found, known * (1 - shares[2]), rtol=1e-12)
        any_of_them = sequence_value(helper, 0, direction, [2])
        found = sequence_value(model, 0, direction, [2])
        assert_allclose(found, any_of_them * shares[2], rtol=1e-12)
        # As a head, it is an unknown one; a symbol that nobody knows is any symbol.
        below = sequence_value(model, 2, direction, [])
        assert_allclose(below, sequence_value(helper, 2, direction, []), rtol=1e-12)
        found = sequence_value(model, 0, direction, [3])
        assert_allclose(found, any_of_them, rtol=1e-12)
    total = sum(sequence_value(model, 4, RIGHT, [symbol]) for symbol in range(3))
    assert_allclose(total, 1.0, rtol=1e-12)
    assert_allclose(sequence_value(model, 4, RIGHT, [2]) / total, shares[2], rtol=1e-12)


def test_symbols_have_their_own_codes_in_each_helper():
    members = small("ab", "bc")
    model = MixtureSHAG(members, weights=[0, 1]).fit([["a", "b"], ["c", "b"]])
    known = 1 - (1 + 1) / (1 + 2 + 1 + 3)  # the share of all but a
    for head, own_head in ((0, 2), (1, 0), (2, 1), (3, 2)):  # a is an unknown head
        for direction in (LEFT, RIGHT):
            for modifier in (1, 2):
                found = sequence_value(model, head, direction, [modifier])
                own = sequence_value(members[1][1], own_head, direction, [modifier - 1])
                assert_allclose(found, known * own, rtol=1e-12)


def test_signed_helpers_are_mixed_too(english, raw):
    members = freeze(one=SpectralSHAG(2).fit(english[:200]), other=SpectralSHAG(3).fit(english))
    model = MixtureSHAG(members, weights="uniform").fit(raw)
    widths = [helper.operators_.A.shape[-1] for _, helper in members]
    assert model.operators_.A.shape[-1] == sum(widths)
    assert unlabeled_attachment_score(english, model.predict(english)) > 0.75


# EM


def test_the_target_s_own_model_gets_nearly_all(helpers, raw):
    model = MixtureSHAG(helpers, tied=True, max_iter=500, tol=1e-7).fit(raw)
    assert model.weights_[0, 0, 0] > 0.99
    assert (model.weights_ == model.weights_[:, :1, :1]).all()


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("with_heads", [False, True])
def test_no_iteration_lowers_the_likelihood(helpers, english, tied, with_heads):
    trees = [tree for tree in english[200:300] if len(tree) <= 10]
    y = [np.where(np.arange(len(tree)) % 3 == 0, tree.heads, -1) for tree in trees]
    model = MixtureSHAG(helpers, tied=tied, max_iter=15, tol=0)
    model.fit(trees, y if with_heads else None)
    assert np.diff(model.loss_curve_).max() < 1e-9
    assert model.loss_curve_[-1] < model.loss_curve_[0] - 1
    if not with_heads:
        found = model.log_likelihood(trees).sum()
        assert_allclose(model.loss_curve_[-1], -found, rtol=1e-12)


def test_an_iteration_shares_sequences_out_among_helpers():
    members = small("ab", "ba")
    text = [["a", "b"], ["b"], ["b", "a", "b"]]
    model = MixtureSHAG(members, max_iter=1, tol=0).fit(text)
    start = MixtureSHAG(members, weights="uniform").fit(text)
    uses = np.zeros((2, 4, 2))
    for sentence in text:
        codes = ["ab".index(symbol) for symbol in sentence]
        trees = list(oracles.projective_trees(len(codes)))
        values = [mixed_tree_value(start, members, codes, heads) for heads in trees]
        for heads, value in zip(trees, values, strict=True):
            for head, direction, sequence in oracles.tree_sequences(heads):
                if value == 0:
                    continue
                code = codes[head - 1] if head else 3
                modifiers = [codes[m - 1] for m in sequence]
                each = [sequence_value(m, code, direction, modifiers) for _, m in members]
                uses[:, code, direction] += value / sum(values) * np.array(each) / sum(each)
    expected = uses / np.maximum(uses.sum(axis=0), 1e-300)
    assert_allclose(model.weights_[:, :2], expected[:, :2], rtol=1e-9)
    assert_allclose(model.weights_[:, 3, RIGHT], expected[:, 3, RIGHT], rtol=1e-9)
    # A head that is not there has the weights of all.
    pool = uses[:, :2].sum(axis=1)
    assert_allclose(model.weights_[:, 2], pool / pool.sum(axis=0), rtol=1e-9)


def test_sentences_that_no_helper_has_a_tree_for():
    hard = DeterministicSHAG().fit([["a", "b"], ["b"]], [[2, 0], [0]])
    members, text = freeze(hard=hard), [["a", "b"], ["b"], ["b", "a"]]
    with pytest.warns(UserWarning, match="1 of 3 different sentences are left out"):
        model = MixtureSHAG(members).fit(text)
    assert_allclose(model.loss_curve_[0], -hard.log_likelihood(text[:2]).sum(), rtol=1e-9)
    assert list(map(len, model.predict(text))) == [2, 1, 2]
    # Weights that are compared must be so on the same sentences.
    assert MixtureSHAG(members, weights="uniform").fit(text).loss_curve_ == [np.inf]


# Helpers


def test_relations_are_those_of_all_helpers_or_of_known_trees(helpers, english):
    trees = english[200:260]
    model = MixtureSHAG(helpers, max_iter=2, max_length=None).fit(trees)
    known = {str(label) for _, helper in helpers for label in helper.estimator.labels_}
    assert set(model.labels_) == known
    assert "nsubj'" in known
    one = MixtureSHAG(helpers[:1], max_length=None).fit(trees)
    assert same(one.predict_labels(trees, trees), helpers[0][1].predict_labels(trees, trees))
    model.fit(trees, trees)
    assert not any(label.endswith("'") for label in model.labels_)
    assert "nsubj" in model.labels_


@pytest.mark.filterwarnings("ignore::sklearn_shag.treebank.UnknownSymbolWarning")
def test_relations_count_where_the_head_and_the_symbols_are_known(helpers):
    """One is of an arc without its head, and one of a symbol that no helper knows."""
    deprels = ["headless", "strange", "root"]
    tree = DependencyTree(["a", "b", "c"], [-1, 3, 0], upos=["DET", "ODD", "NOUN"], deprels=deprels)
    model = MixtureSHAG(helpers, max_iter=1).fit([tree], [tree])
    assert "headless" not in model.labels_
    assert model.labels_[model.label_counts_.labels].tolist() == ["root"]


def test_mixtures_are_helpers(helpers, raw):
    inner = MixtureSHAG(helpers[:2], weights="uniform").fit(raw)
    outer = MixtureSHAG([*freeze(both=inner), helpers[2]], weights=[2, 1]).fit(raw)
    flat = MixtureSHAG(helpers, weights="uniform").fit(raw)
    assert_allclose(outer.log_likelihood(raw), flat.log_likelihood(raw), rtol=1e-9)
