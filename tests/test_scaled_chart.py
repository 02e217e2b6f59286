"""The scaled chart, an oracle, where plain doubles fail: test_chart.py has the rest."""

import numba
import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_shag import DeterministicSHAG
from sklearn_shag.operators import Operators
from sklearn_shag.parsing import Potentials, eisner
from sklearn_shag.parsing._chart import grammar_of_arcs, sum_up_sentences
from tests import oracles
from tests.loops import assert_all_close, over
from tests.scaled_chart import ScaledGrammar, inside_outside


@over("zeros", [0.0, 0.4])
@over("magnitude", [1e-120, 1e120, None])
def test_exponents_keep_what_plain_doubles_lose(random_grammar, zeros, magnitude):
    """Operators of any magnitude, also mixed, give the marginals of operators of ordinary size."""
    rng = np.random.default_rng(0)
    compared = 0
    for seed in range(12):
        operators = random_grammar(seed, n_states=3, signed=True)
        for part in operators:
            part[rng.uniform(size=part.shape) < zeros] = 0.0
        factors = 10.0 ** rng.uniform(-90, 90, size=4) if magnitude is None else [magnitude] * 4
        scaled = operators._replace(A=operators.A * np.reshape(factors, (1, 1, 4, 1, 1)))
        codes = rng.integers(4, size=6)
        plain = inside_outside(operators, codes)
        if plain.sign == 0 or np.abs(plain.marginals).max() > 100:
            continue
        compared += 1
        result = inside_outside(scaled, codes)
        shift = np.sum(np.log(np.asarray(factors)[codes]))
        assert result.sign == plain.sign
        assert_allclose(result.log_abs_z, plain.log_abs_z + shift, rtol=1e-9)
        assert_allclose(result.marginals, plain.marginals, rtol=1e-7, atol=1e-9)
        assert_all_close(result.counts, plain.counts, rtol=1e-7, atol=1e-9)
    assert compared >= 3


@over("magnitude", [5e-324, 1e-300, 1e-200, 1e200, 1e307])
@over(("name", "n_uses"), [("alpha_1", 9), ("alpha_inf", 9), ("A", 4)])
def test_operators_of_any_magnitude(random_grammar, name, n_uses, magnitude):
    operators, codes = random_grammar(1, signed=True), [0, 1, 2, 0]
    if magnitude < 1e-307:  # of which there are few doubles
        operators = Operators(*(np.rint(8 * part) for part in operators))
    plain = inside_outside(operators, codes)
    scaled = operators._replace(**{name: getattr(operators, name) * magnitude})
    result = inside_outside(scaled, codes)
    assert_allclose(result.log_abs_z, plain.log_abs_z + n_uses * np.log(magnitude), rtol=1e-9)
    assert_allclose(result.marginals, plain.marginals, rtol=1e-7, atol=1e-9)
    assert_all_close(result.counts, plain.counts, rtol=1e-7, atol=1e-9)


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="takes minutes if interpreted")
@over("n_tokens", [20, 100, 200])
def test_the_one_possible_tree_of_a_long_sentence_is_found(n_tokens):
    """Many half-built trees of ordinary size are impossible; the possible one is tiny."""
    X = [["R", "c", "b"]] * 400 + [["R", "c", "a", "b"]] + [["R", "c", *["a"] * 60]] * 20
    y = [[0, 1, 2]] * 400 + [[0, 1, 2, 2]] + [[0, 1, *[1] * 60]] * 20
    model = DeterministicSHAG("single").fit(X, y)
    sentence, heads = ["R", "c", *["a"] * n_tokens, "b"], [0, 1, *[2] * (n_tokens + 1)]
    scaled = ScaledGrammar(model.operators_, None)
    codes = np.searchsorted(model.symbols_, sentence)
    potentials = Potentials(np.array([0, codes.size]), codes)
    found = sum_up_sentences(scaled, potentials)
    assert eisner(found.arcs.reshape(codes.size, -1))[0].tolist() == heads
    assert_allclose(found.log_abs_z, model.score_samples([sentence], [heads]), rtol=1e-9)
    if n_tokens == 20:
        assert model.predict([sentence])[0].tolist() == heads
        assert_allclose(model.log_likelihood([sentence]), found.log_abs_z, rtol=1e-9)
    else:  # out of the range of doubles
        with pytest.warns(UserWarning, match="Values of 1 of 1 sentences leave the range"):
            assert model.predict([sentence])[0].min() == 0


@pytest.mark.parametrize("n_tokens", [120, pytest.param(1000, marks=pytest.mark.exhaustive)])
def test_long_sentences(random_grammar, n_tokens):
    """Z is near exp(-1300) and exp(+900), or exp(-11000) and exp(+7400).

    A tree has as many arcs as tokens: to scale all operators multiplies it by a known power.
    """
    operators = random_grammar(2, n_states=2, signed=True)
    codes = np.random.default_rng(0).integers(3, size=n_tokens)
    expected = inside_outside(operators, codes)
    for factor in (1e-4, 1e4):
        result = inside_outside(operators._replace(A=operators.A * factor), codes)
        assert abs(result.log_abs_z) > 750  # beyond the range of a double
        shifted = expected.log_abs_z + n_tokens * np.log(factor)
        assert_allclose(result.log_abs_z, shifted, rtol=1e-12)
        assert result.sign == expected.sign
        assert_allclose(result.marginals, expected.marginals, rtol=1e-6, atol=1e-9)
        assert_allclose(result.marginals.sum(axis=1), 1.0, rtol=0, atol=1e-8)
        assert_allclose(result.counts.alpha_1[:3].sum(), 2 * n_tokens, rtol=1e-8)


@over("scale", [30.0, 2e3])
def test_gaps_between_scores_that_no_double_bridges(scale):
    """Log Z is that of the best trees, however much worse their arcs are than forbidden ones."""
    rng = np.random.default_rng(6)
    scores = scale * rng.normal(size=60)
    scores[rng.uniform(size=60) < 0.3] = -np.inf
    potentials = Potentials(np.array([0, 5, 10]), np.zeros(10, dtype=int), scores)
    results = sum_up_sentences(
        ScaledGrammar(grammar_of_arcs("projective").operators, None), potentials
    )
    for s, arcs in enumerate(scores.reshape(2, 5, 6)):
        trees = np.array(oracles.projective_trees(5))
        logs = np.array([oracles.log_factors(heads, arcs) for heads in trees.tolist()])
        total, marginals = oracles.sum_trees(trees, np.exp(logs - logs.max()))
        assert_allclose(results.log_abs_z[s], logs.max() + np.log(total), rtol=1e-14)
        found = results.arcs.reshape(2, 5, 6)[s]
        assert_allclose(found, marginals, rtol=0, atol=1e-9 + 1e-15 * scale)
