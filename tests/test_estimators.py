"""What the estimators promise on sentences of any kind, and how they refuse the rest."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal, assert_equal
from sklearn.base import clone

from sklearn_shag import EMSHAG, DeterministicSHAG, SpectralSHAG
from sklearn_shag.parsing import eisner
from sklearn_shag.treebank import DependencyTree, UnknownSymbolWarning
from tests import oracles
from tests.estimators import ESTIMATORS, check_promises
from tests.log_chart import sum_up

MODELS = {
    "single": DeterministicSHAG("single"),
    "first": DeterministicSHAG("first"),
    "sibling": DeterministicSHAG("sibling"),
    "viterbi": DeterministicSHAG("first", decoder="viterbi"),
    "spectral": SpectralSHAG(4),
    "one state": SpectralSHAG(1),
    "many states": SpectralSHAG(30),
    "em": EMSHAG(3, init="moments", max_iter=200),
    "max_marginal": SpectralSHAG(4, smoothing=5, decoder="max_marginal"),
}
X = [["DET", "NOUN", "VERB"], ["NOUN", "VERB", "NOUN"], ["VERB"]]
Y = [[2, 3, 0], [2, 0, 2], [0]]


@pytest.fixture(scope="module", params=MODELS)
def model(request, english):
    return clone(MODELS[request.param]).fit(english)


def assert_is_parse(heads, n_tokens, decoder="mbr"):
    assert isinstance(heads, np.ndarray)
    assert heads.shape == (n_tokens,)
    assert np.issubdtype(heads.dtype, np.integer)
    assert oracles.is_tree(heads.tolist())
    assert decoder == "mst" or not oracles.crosses(heads.tolist())
    assert np.sum(heads == 0) == 1


def hard_sentences(trees):
    """Sentences that no grammar of trees expects: random, long, repetitive, unknown symbols."""
    rng, symbols = np.random.default_rng(0), sorted({s for tree in trees for s in tree.symbols})
    sentences = [rng.choice(symbols, size=n).tolist() for n in (1, 2, 3, 5, 20, 60)]
    sentences += [[symbol] * n for symbol in symbols for n in (1, 7)]
    sentences += [["<new>"], ["<new>"] * 6, [*symbols[:3], "<new>", symbols[0], "<other>"]]
    return sentences


@pytest.mark.filterwarnings("ignore:Values of 1 of 39 sentences leave the range")
@pytest.mark.parametrize("name", MODELS | ESTIMATORS)
def test_every_sentence_gets_a_tree_and_distributions_over_heads(name, fitted, trees):
    parser = fitted(name) if name in ESTIMATORS else clone(MODELS[name]).fit(trees)
    trees = [DependencyTree(each, range(len(each))) for each in hard_sentences(trees)]
    check_promises(parser, trees, "heads", "marginals")
    for marginals in parser.predict_marginals(trees):
        assert_allclose(marginals.sum(axis=1), 1.0, rtol=1e-12)
    predicted = parser.predict(trees)
    assert predicted.shape == (len(trees),)
    assert predicted.dtype == object
    for heads, tree in zip(predicted, trees, strict=True):
        assert_is_parse(heads, len(tree), getattr(parser, "decoder", "mbr"))


def test_nothing_warns_at_any_rank(english):
    with warnings.catch_warnings(action="error"):
        for n_states in (1, 2, 5, 12, 20):
            SpectralSHAG(n_states).fit(english[:300]).predict(english[300:])


def test_decoding_maximises_over_the_marginals_that_the_user_sees(english):
    for decoder, transform in [("mbr", np.log), ("max_marginal", np.asarray)]:
        model = SpectralSHAG(4, decoder=decoder).fit(english)
        sentences = english[:60]
        for heads, marginals in zip(
            model.predict(sentences), model.predict_marginals(sentences), strict=True
        ):
            with np.errstate(divide="ignore"):
                scores = transform(marginals)
            assert_array_equal(heads, eisner(scores)[0])


def test_marginals_are_the_clipped_and_renormalised_ones_of_the_chart(english):
    model = SpectralSHAG(8).fit(english)
    negative = 0
    for tree in english[:80]:
        codes = np.searchsorted(model.symbols_, tree.symbols)
        signed = sum_up(model.operators_, codes).arcs
        negative += signed.min() < -1e-6
        expected = oracles.repaired(signed)
        assert_allclose(model.predict_marginals([tree])[0], expected, rtol=1e-6, atol=1e-9)
    assert negative > 0


def test_sentences_without_mass_are_parsed_with_the_fallback_grammar():
    """B is only ever a left modifier, so that a final B has no analysis."""
    model = DeterministicSHAG().fit([["B", "A"], ["A"]], [[2, 0], [0]])
    sentence = ["A", "B"]
    assert model.log_likelihood([sentence])[0] == -np.inf
    codes = np.searchsorted(model.symbols_, sentence)
    expected = sum_up(model.fallback_operators_, codes).arcs
    assert_allclose(model.predict_marginals([sentence])[0], expected, rtol=1e-9, atol=1e-11)
    for decoder in ("mbr", "max_marginal", "viterbi"):
        assert_is_parse(model.set_params(decoder=decoder).predict([sentence])[0], 2)


def test_unknown_symbols_are_missing_observations(english):
    """P(sentence with a gap) is the sum over what may fill it."""
    model = SpectralSHAG(3, smoothing=1).fit(english)
    leaf = ["DET", "NOUN", "VERB", "<new>"]
    tree = [2, 3, 0, 3]
    # As a modifier the unknown symbol sums over all; its own halves are those of the pool.
    symbols = model.symbols_.tolist()
    with pytest.warns(UnknownSymbolWarning, match=r"25 % of the tokens \(1 of 4\).*'<new>'"):
        gap = model.score_samples([leaf], [tree])[0]
    pool = len(symbols)
    code = symbols.index("VERB")
    state = model.operators_.alpha_1[code, 1]
    filled = sum(
        model.operators_.alpha_inf[code, 1] @ model.operators_.A[code, 1, a] @ state
        for a in range(pool)
    )
    ends = [model.operators_.alpha_inf[pool, d] @ model.operators_.alpha_1[pool, d] for d in (0, 1)]
    known = model.score_samples([["DET", "NOUN", "VERB"]], [[2, 3, 0]])[0]
    empty_right = np.log(model.operators_.alpha_inf[code, 1] @ state)
    expected = known - empty_right + np.log(filled) + np.log(ends).sum()
    assert_allclose(gap, expected, rtol=1e-9)


@pytest.mark.parametrize("dtype", [float, object, np.uint8, np.int32])
def test_heads_of_any_type_of_integer(dtype):
    y = [np.array(heads, dtype=dtype) for heads in Y]
    expected = DeterministicSHAG().fit(X, Y)
    assert_equal(DeterministicSHAG().fit(X, y).operators_, expected.operators_)
    assert expected.score(X, y) == expected.score(X, Y)


def test_probability_of_a_tree_is_the_product_of_its_sequences(model, english):
    trees = [tree for tree in english if len(tree) < 12][:30]
    codes = {symbol: code for code, symbol in enumerate(model.symbols_)}
    found = model.score_samples(trees)
    for log_probability, tree in zip(found, trees, strict=True):
        positions = [model.operators_.A.shape[0] - 1, *(codes[s] for s in tree.symbols)]
        factors = [
            oracles.sequence_value(
                model.operators_, positions[h], d, [positions[m] for m in modifiers]
            )
            for h, d, modifiers in oracles.tree_sequences(tree.heads.tolist())
        ]
        if np.abs(factors).min() < 1e-12:
            continue
        if np.prod(np.sign(factors)) > 0:
            assert_allclose(log_probability, np.log(np.abs(factors)).sum(), rtol=1e-7)
        else:
            assert log_probability == -np.inf


def test_trees_with_several_roots_are_learned_from_but_have_no_probability():
    model = DeterministicSHAG().fit([["A", "B"], ["B"]], [[0, 0], [0]])
    assert_allclose(model.operators_.A[-1, 1, :2, 0, 0], [1 / 3, 2 / 3], rtol=1e-12)
    assert model.score_samples([["A", "B"]], [[0, 0]])[0] == -np.inf


def test_samples_are_trees_over_the_known_symbols(model):
    trees = model.sample(20, random_state=0, max_length=60)
    assert len(trees) == 20
    assert trees == model.sample(20, random_state=0, max_length=60)
    for tree in trees:
        assert_is_parse(tree.heads, len(tree))
        assert set(tree.symbols) <= set(model.symbols_)
        assert len(tree) <= 60
