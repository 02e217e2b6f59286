"""The oracle in logarithms, where plain doubles fail: test_chart.py has the rest."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_shag import DeterministicSHAG
from sklearn_shag.operators import Operators
from sklearn_shag.parsing import eisner, grammar_of_arcs
from tests import oracles
from tests.log_chart import sum_up
from tests.loops import assert_all_close, compiled, over


@over("zeros", [0.0, 0.4])
@over("factors", [1e-306, 1e-120, 1e120, 1e307, 10.0 ** np.linspace(-90, 90, 5)])
def test_operators_of_any_magnitude(random_grammar, zeros, factors):
    """Also mixed ones have the uses of operators of ordinary size."""
    rng, factors = np.random.default_rng(0), np.broadcast_to(factors, 5)
    of_heads, of_symbols = factors[:, None, None], factors[:4, None, None]
    compared = 0
    for seed in range(12):
        operators = random_grammar(seed, n_states=3, signed=True)
        for part in operators:
            part[rng.uniform(size=part.shape) < zeros] = 0.0
        alpha_1, alpha_inf, A = operators
        codes = rng.integers(4, size=6)
        plain = sum_up(operators, codes)
        if plain.sign == 0 or np.abs(plain.arcs).max() > 100:
            continue
        compared += 1
        result = sum_up(Operators(alpha_1 * of_heads, alpha_inf * of_heads, A * of_symbols), codes)
        shift = 5 * np.log(factors[codes]).sum() + 2 * np.log(factors[-1])
        assert result.sign == plain.sign
        assert_allclose(result.log_abs_z, plain.log_abs_z + shift, rtol=1e-9)
        assert_all_close(result.counts, plain.counts, rtol=1e-7, atol=1e-9)
        assert_allclose(result.arcs, plain.arcs, rtol=1e-7, atol=1e-9)
    assert compared >= 3


@compiled
@over("n_tokens", [20, 100, 200])
def test_the_one_possible_tree_of_a_long_sentence_is_found(n_tokens):
    """Many half-built trees of ordinary size are impossible; the possible one is tiny."""
    X = [["R", "c", "b"]] * 400 + [["R", "c", "a", "b"]] + [["R", "c", *["a"] * 60]] * 20
    y = [[0, 1, 2]] * 400 + [[0, 1, 2, 2]] + [[0, 1, *[1] * 60]] * 20
    model = DeterministicSHAG("single").fit(X, y)
    sentence, heads = ["R", "c", *["a"] * n_tokens, "b"], [0, 1, *[2] * (n_tokens + 1)]
    found = sum_up(model.operators_, np.searchsorted(model.symbols_, sentence))
    assert eisner(found.arcs)[0].tolist() == heads
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
    expected = sum_up(operators, codes)
    for factor in (1e-4, 1e4):
        result = sum_up(operators._replace(A=operators.A * factor), codes)
        assert abs(result.log_abs_z) > 750  # beyond the range of a double
        shifted = expected.log_abs_z + n_tokens * np.log(factor)
        assert_allclose(result.log_abs_z, shifted, rtol=1e-12)
        assert result.sign == expected.sign
        assert_allclose(result.arcs, expected.arcs, rtol=1e-6, atol=1e-9)
        assert_allclose(result.arcs.sum(axis=1), 1.0, rtol=0, atol=1e-8)
        assert_allclose(result.counts[0][:3].sum(), 2 * n_tokens, rtol=1e-8)


@over("scale", [30.0, 2e3])
def test_gaps_between_scores_that_no_double_bridges(scale):
    """Log Z is that of the best trees, however much worse their arcs are than forbidden ones."""
    rng = np.random.default_rng(6)
    scores = scale * rng.normal(size=(2, 5, 6))
    scores[rng.uniform(size=scores.shape) < 0.3] = -np.inf
    for arcs in scores:
        found = sum_up(grammar_of_arcs("projective").operators, np.zeros(5, dtype=int), arcs)
        trees = np.array(oracles.projective_trees(5))
        logs = np.array([oracles.log_factors(heads, arcs) for heads in trees.tolist()])
        total, marginals = oracles.sum_trees(trees, np.exp(logs - logs.max()))
        assert_allclose(found.log_abs_z, logs.max() + np.log(total), rtol=1e-14)
        assert_allclose(found.arcs, marginals, rtol=0, atol=1e-9 + 1e-15 * scale)
