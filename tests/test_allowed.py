"""Known heads and forbidden arcs, and the probability of trees given their sentences."""

import copy
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from sklearn_shag import EMSHAG, DeterministicSHAG, SpectralSHAG
from sklearn_shag.operators import Operators
from sklearn_shag.parsing._forest import decode_marginals
from sklearn_shag.treebank import DependencyTree, allowed_arcs
from tests import oracles
from tests.estimators import ESTIMATORS, same, uncorrected
from tests.loops import over

MODELS = {
    "spectral": SpectralSHAG(3),
    "max_marginal": SpectralSHAG(3, decoder="max_marginal"),
    "one state": SpectralSHAG(1, mixing=0.0),
    "first": DeterministicSHAG(),
    "viterbi": DeterministicSHAG(decoder="viterbi"),
    "em": EMSHAG(2, tol=0.01, random_state=0),
    "mst": SpectralSHAG(3, decoder="mst"),
}
pytestmark = pytest.mark.filterwarnings("ignore::sklearn_shag.treebank.UnknownSymbolWarning")
TEXT = [["NOUN", "VERB", "ADP", "NOUN"], ["PRON", "VERB"], ["DET", "NOUN", "VERB", "NUM", "<new>"]]
TREES = [DependencyTree(sentence, upos=sentence) for sentence in TEXT]


# One for each way to score sentences, and for each decoder.
PARSERS = [*MODELS, "lexicalized", "CRF", "network", "average", "product with words"]
PARSERS += ["deterministic product", "DMV", "chain"]


@pytest.fixture(scope="module")
def fitted(english):
    """Any of the parsers, fitted once."""
    return cache(lambda name: clone((MODELS | ESTIMATORS)[name]).fit(english))


def random_constraints(seed, n_tokens, share):
    """Arcs forbidden at random; all are allowed of one tree at least."""
    rng = np.random.default_rng(seed)
    trees = oracles.projective_trees(n_tokens)
    allowed = rng.uniform(size=(n_tokens, n_tokens + 1)) > share
    allowed[np.arange(n_tokens), trees[rng.integers(len(trees))]] = True
    return allowed


@over("share", [0.3, 0.7, 1.0])
@over("name", PARSERS)
def test_nothing_forbidden_is_predicted(fitted, name, share):
    parser = fitted(name)
    others = [["X"] * 5, ["<new>"] * 4]
    text = [*TREES, *(DependencyTree(each, upos=each) for each in others)]
    allowed = [random_constraints(k, len(sentence), share) for k, sentence in enumerate(text)]
    marginals = parser.predict_marginals(text, allowed=allowed)
    list_trees = oracles.trees if parser.decoder == "mst" else oracles.projective_trees
    for of_sentence, arcs, heads, tree in zip(
        marginals,
        allowed,
        parser.predict(text, allowed=allowed),
        parser.parse(text, allowed=allowed),
        strict=True,
    ):
        assert_array_equal(of_sentence[~arcs], 0.0)
        assert_allclose(of_sentence.sum(axis=1), 1.0, rtol=1e-12)
        assert tuple(heads) in list_trees(len(heads))
        assert arcs[np.arange(heads.size), heads].all()
        assert_array_equal(tree.heads, heads)


@over("name", MODELS)
def test_marginals_are_those_of_the_trees_that_are_left(fitted, name):
    """But for the clipping of what is negative, as everywhere."""
    model = fitted(name)
    operators, codes = model.operators_, [model.symbols_.tolist().index(s) for s in TEXT[0]]
    allowed = random_constraints(3, 4, 0.5)
    positions = [operators.A.shape[0] - 1, *codes]
    trees = [h for h in oracles.projective_trees(4) if allowed[np.arange(4), h].all()]
    values = [oracles.tree_value(operators, positions, heads) for heads in trees]
    _, expected = oracles.sum_trees(trees, values)
    expected = np.where(allowed, np.maximum(expected, 1e-12), 0.0)
    expected[np.arange(4), np.arange(1, 5)] = 0.0
    found = model.predict_marginals(TEXT[:1], allowed=[allowed])[0]
    assert_allclose(found, expected / expected.sum(axis=1, keepdims=True), rtol=1e-7, atol=1e-11)


@over(
    ("decoder", "transform", "trees"),
    [
        ("mbr", np.log, oracles.projective_trees),
        ("max_marginal", np.asarray, oracles.projective_trees),
        ("mst", np.log, oracles.trees),
    ],
)
def test_no_tree_has_an_arc_of_probability_zero(decoder, transform, trees):
    """However much the other arcs of such a tree are worth."""
    rng = np.random.default_rng(0)
    for seed in range(40):
        allowed = random_constraints(seed, 4, 0.6)
        allowed[np.arange(4), np.arange(1, 5)] = False  # no token is its own head
        marginals = np.where(allowed, rng.gamma(0.3, size=(4, 5)) + 1e-9, 0.0)
        with np.errstate(divide="ignore"):
            scores = np.where(allowed, transform(marginals), -np.inf)
        heads = decode_marginals(decoder, np.array([0, 4]), marginals.ravel(), decoder == "mst")
        assert tuple(heads) == oracles.best_tree(scores, trees(4))


@over("name", PARSERS)
def test_all_arcs_allowed_is_no_constraint(fitted, name):
    parser = fitted(name)
    every = [None if k == 1 else np.ones((len(s), len(s) + 1), bool) for k, s in enumerate(TEXT)]
    assert same(parser.predict(TREES, allowed=every), parser.predict(TREES))


@over("decoder", ["mbr", "max_marginal", "mst"])
@over("name", PARSERS)
def test_arcs_that_only_cross_make_the_best_of_all_trees(fitted, name, decoder):
    """Whatever the decoder, a tree is worth the product of its free marginals."""
    parser = copy.copy(uncorrected(fitted(name))).set_params(decoder=decoder)
    first, second = [3, 4, 0, 3], [2, 4, 1, 0]
    assert oracles.crosses(first)
    assert oracles.crosses(second)
    free = parser.predict_marginals(TREES[:1])[0]
    (alone,) = parser.predict(TREES[1:2])
    one, other = allowed_arcs([first, second])
    for allowed in (one, other, one | other):
        trees = [t for t in oracles.trees(4) if allowed[np.arange(4), t].all()]
        assert all(map(oracles.crosses, trees))
        expected = np.where(allowed, free, 0.0)
        expected /= expected.sum(axis=1, keepdims=True)
        given = {"X": TREES[:2], "allowed": [allowed, None]}
        assert_allclose(parser.predict_marginals(**given)[0], expected, rtol=1e-12)
        with np.errstate(divide="ignore"):
            best = oracles.best_tree(np.log(expected), trees)
        found = parser.predict(**given)
        assert tuple(found[0]) == best
        assert_array_equal(found[1], alone)
        assert tuple(parser.parse(**given)[0].heads) == best
        products = expected[np.arange(4), trees].prod(axis=1)
        products /= products.sum()
        own = TREES[:1] * len(trees)
        proba = parser.predict_tree_proba(own, trees, allowed=[allowed] * len(trees))
        assert_allclose(proba, products, rtol=1e-9)
        (heads,), (logs,) = parser.k_best_heads(TREES[:1], 5, allowed=[allowed], random_state=0)
        order = np.argsort(-products, kind="stable")[: len(heads)]
        assert_allclose(logs, np.log(products[order]), rtol=1e-9, atol=1e-12)
        assert set(map(tuple, heads.tolist())) <= set(trees)
        (samples,) = parser.sample_heads(TREES[:1], 200, 0, allowed=[allowed])
        shares = [(samples == tree).all(axis=1).mean() for tree in trees]
        assert_allclose(shares, products, atol=0.15)


@over("name", PARSERS)
def test_where_projective_trees_are_left_marginals_are_theirs(fitted, name):
    """To the last bit, whatever other trees are left."""
    parser = fitted(name)
    allowed = [random_constraints(k, len(sentence), 0.5) for k, sentence in enumerate(TEXT)]
    found = [
        copy.copy(parser).set_params(decoder=decoder).predict_marginals(TREES, allowed=allowed)
        for decoder in ("mst", "mbr")
    ]
    assert same(*found)


@over("name", MODELS)
def test_conditional_log_likelihood_is_the_share_of_a_tree(fitted, name):
    model = fitted(name)
    text = TEXT[:2]
    codes = [[model.symbols_.tolist().index(symbol) for symbol in s] for s in text]
    for heads in ([[2, 0, 2, 3], [2, 0]], [[3, 3, 0, 3], [0, 1]]):
        shares = []
        for of_sentence, tree in zip(codes, heads, strict=True):
            positions = [model.operators_.A.shape[0] - 1, *of_sentence]
            values = {
                tuple(other): oracles.tree_value(model.operators_, positions, other)
                for other in oracles.projective_trees(len(tree))
            }
            shares.append(values[tuple(tree)] / sum(values.values()))
        with np.errstate(divide="ignore"):
            expected = np.log(np.maximum(shares, 0.0))
        assert_allclose(model.conditional_log_likelihood(text, heads), expected, rtol=1e-8)


@over("name", PARSERS)
def test_trees_that_are_not_generated_have_no_probability(fitted, name):
    parser = fitted(name)
    two_roots, crossing = [0, 0, 2, 2], [3, 4, 0, 3]
    for decoder in ("mbr", "mst"):
        parser = copy.copy(parser).set_params(decoder=decoder)
        found = parser.conditional_log_likelihood([TREES[0], TREES[0]], [two_roots, crossing])
        assert_array_equal(found, -np.inf)


def test_signs_cancel():
    """A negative share of a negative Z is a probability."""
    model = SpectralSHAG(2).fit([["A", "B"]], [[2, 0]])
    flipped = model.operators_.A.copy()
    flipped[-1] *= -1.0
    before = model.conditional_log_likelihood([["A", "B"]], [[2, 0]])
    model.operators_ = Operators(*model.operators_[:2], flipped)
    assert_allclose(model.conditional_log_likelihood([["A", "B"]], [[2, 0]]), before)
    assert model.log_likelihood([["A", "B"]])[0] == -np.inf
