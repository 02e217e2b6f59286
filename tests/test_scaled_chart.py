"""The scaled chart against enumeration, counting numbers and invariants."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_shag import DeterministicSHAG
from sklearn_shag.operators import Operators, change_basis
from sklearn_shag.parsing import _scaled_chart, inside_outside
from tests import oracles


def with_root(operators, codes):
    return np.concatenate([[operators.A.shape[0] - 1], codes])


@pytest.mark.parametrize(
    ("single_root", "expected"),
    [(False, [1, 3, 12, 55, 273, 1428, 7752]), (True, [1, 2, 7, 30, 143, 728, 3876])],
)
def test_operators_of_one_count_projective_trees(single_root, expected):
    ones = np.ones((3, 2, 1))
    counting = Operators(ones, ones, np.ones((3, 2, 2, 1, 1)))
    results = [inside_outside(counting, [0] * n, single_root=single_root) for n in range(1, 8)]
    assert_allclose([np.exp(result.log_abs_z) for result in results], expected, rtol=1e-12)


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("n_states", [1, 2, 3])
@pytest.mark.parametrize("with_scores", [False, True])
def test_agrees_with_the_enumeration_of_all_trees(
    random_grammar, single_root, signed, n_states, with_scores
):
    for n_tokens in range(1, 6):
        operators = random_grammar(n_tokens, n_states=n_states, signed=signed)
        rng = np.random.default_rng(n_tokens)
        codes = rng.integers(4, size=n_tokens)
        low = -1.0 if signed else 0.1
        scores = {}
        if with_scores:
            scores["arc_scores"] = rng.uniform(low, 2, size=(n_tokens + 1, n_tokens + 1))
            scores["stop_scores"] = rng.uniform(low, 2, size=(n_tokens + 1, 2))
        result = inside_outside(operators, codes, single_root=single_root, **scores)
        positions = with_root(operators, codes)
        z, marginals = oracles.partition_and_marginals(operators, positions, single_root, **scores)
        assert_allclose(result.sign * np.exp(result.log_abs_z), z, rtol=1e-9)
        assert_allclose(result.marginals, marginals, rtol=1e-8, atol=1e-9)
        counts = oracles.expected_counts(operators, positions, single_root, **scores)
        for found, expected in zip(result.counts, counts, strict=True):
            assert_allclose(found, expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("single_root", [True, False])
def test_agrees_with_enumeration_for_six_tokens(random_grammar, single_root):
    operators = random_grammar(5, n_states=2, signed=True)
    codes = np.array([0, 1, 2, 3, 1, 0])
    result = inside_outside(operators, codes, single_root=single_root)
    z, marginals = oracles.partition_and_marginals(
        operators, with_root(operators, codes), single_root
    )
    assert_allclose(result.sign * np.exp(result.log_abs_z), z, rtol=1e-9)
    assert_allclose(result.marginals, marginals, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("zeros", [0.0, 0.4])
@pytest.mark.parametrize("magnitude", [1e-120, 1e120, None])
def test_exponents_keep_what_plain_doubles_lose(random_grammar, single_root, zeros, magnitude):
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
        plain = inside_outside(operators, codes, single_root=single_root)
        if plain.sign == 0 or np.abs(plain.marginals).max() > 100:
            continue
        compared += 1
        result = inside_outside(scaled, codes, single_root=single_root)
        shift = np.sum(np.log(np.asarray(factors)[codes]))
        assert result.sign == plain.sign
        assert_allclose(result.log_abs_z, plain.log_abs_z + shift, rtol=1e-9)
        assert_allclose(result.marginals, plain.marginals, rtol=1e-7, atol=1e-9)
        for found, expected in zip(result.counts, plain.counts, strict=True):
            assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
    assert compared >= 3


@pytest.mark.parametrize("scaled", ["A", "alpha_inf", "arcs"])
@pytest.mark.parametrize("largest_power", [0, 50, 150, 300])
def test_sums_that_cancel_exactly_at_any_scale(scaled, largest_power):
    """Operators of -1, 0 and 1 cancel to exact zeros, whose derivatives count all the same."""
    compared = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n_states = int(rng.integers(1, 4))
        shapes = (4, 2, n_states), (4, 2, n_states), (4, 2, 3, n_states, n_states)
        operators = Operators(*(rng.choice([-1.0, 0, 1, 1], size=shape) for shape in shapes))
        codes, single_root = rng.integers(3, size=4), bool(rng.integers(2))
        if not _has_mass(operators, codes, single_root):
            continue
        z, marginals = oracles.partition_and_marginals(
            operators, with_root(operators, codes), single_root
        )
        compared += 1
        scores = {}
        if scaled == "A":
            powers = rng.integers(-largest_power, largest_power + 1, size=3)
            operators = operators._replace(A=operators.A * 2.0 ** powers.reshape(3, 1, 1))
            shift = powers[codes].sum()
        elif scaled == "alpha_inf":
            powers = rng.integers(-largest_power, largest_power + 1, size=(4, 2))
            operators = operators._replace(alpha_inf=operators.alpha_inf * 2.0 ** powers[..., None])
            shift = powers[codes].sum() + powers[3, 1]
        else:
            powers = rng.integers(-largest_power, largest_power + 1, size=5)
            scores = {"arc_scores": np.tile(2.0**powers, (5, 1))}
            shift = powers[1:].sum()
        result = inside_outside(operators, codes, single_root=single_root, **scores)
        assert result.sign == np.sign(z)
        assert_allclose(result.log_abs_z, np.log(abs(z)) + shift * np.log(2), rtol=0, atol=1e-9)
        assert_allclose(result.marginals, marginals, rtol=0, atol=1e-9)
    assert compared >= 5


def _has_mass(operators, codes, single_root):
    trees = oracles.projective_trees(len(codes), single_root)
    positions = with_root(operators, codes)
    return sum(oracles.tree_value(operators, positions, heads) for heads in trees) != 0


@pytest.mark.parametrize("magnitude", [1e-160, 1e160])
def test_stop_scores_of_any_magnitude(random_grammar, magnitude):
    operators, codes = random_grammar(1, signed=True), [0, 1, 2, 0]
    plain = inside_outside(operators, codes)
    scores = np.full((5, 2), magnitude)
    result = inside_outside(operators, codes, stop_scores=scores)
    # Each of four tokens stops twice, the root symbol once.
    assert_allclose(result.log_abs_z, plain.log_abs_z + 9 * np.log(magnitude), rtol=1e-9)
    assert_allclose(result.marginals, plain.marginals, rtol=1e-7, atol=1e-9)


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="takes minutes if interpreted")
@pytest.mark.parametrize("n_tokens", [20, 100, 200])
def test_the_one_possible_tree_of_a_long_sentence_is_found(n_tokens):
    """Many half-built trees of ordinary size are impossible; the possible one is tiny."""
    X = [["R", "c", "b"]] * 400 + [["R", "c", "a", "b"]] + [["R", "c", *["a"] * 60]] * 20
    y = [[0, 1, 2]] * 400 + [[0, 1, 2, 2]] + [[0, 1, *[1] * 60]] * 20
    model = DeterministicSHAG("single").fit(X, y)
    sentence, heads = ["R", "c", *["a"] * n_tokens, "b"], [0, 1, *[2] * (n_tokens + 1)]
    assert model.predict([sentence])[0].tolist() == heads
    assert_allclose(
        model.log_likelihood([sentence]), model.score_samples([sentence], [heads]), rtol=1e-9
    )


@pytest.mark.filterwarnings("ignore:(overflow|invalid):RuntimeWarning")  # if interpreted
def test_what_overflows_is_refused(random_grammar):
    operators = Operators(*(np.full_like(part, 1e300) for part in random_grammar(0)))
    with pytest.raises(ValueError, match="overflows"):
        inside_outside(operators, [0, 1, 2])
    for value in (np.inf, np.nan):
        with pytest.raises(ValueError, match="not finite"):
            inside_outside(random_grammar(0), [0], arc_scores=np.full((2, 2), value))
        for k in range(3):
            operators = random_grammar(0)
            operators[k].flat[0] = value
            with pytest.raises(ValueError, match="operators hold values that are not finite"):
                inside_outside(operators, [0])


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    n_tokens=st.integers(1, 12),
    n_states=st.integers(1, 4),
    single_root=st.booleans(),
)
def test_invariants_of_signed_charts(seed, n_tokens, n_states, single_root):
    rng = np.random.default_rng(seed)
    operators = Operators(
        rng.uniform(-0.2, 1, size=(5, 2, n_states)),
        rng.uniform(-0.2, 1, size=(5, 2, n_states)),
        rng.uniform(-0.2, 1, size=(5, 2, 4, n_states, n_states)),
    )
    codes = with_root(operators, rng.integers(4, size=n_tokens))
    ones = np.ones((n_tokens + 1, n_tokens + 1)), np.ones((n_tokens + 1, 2))
    chart, z, exponent = _scaled_chart.inside(operators, codes, *ones, single_root)
    adjoint = _scaled_chart.outside(operators, codes, *ones, single_root, chart, z, exponent)
    marginals = np.empty((n_tokens, n_tokens + 1))
    _scaled_chart.arc_marginals(chart, adjoint, marginals)
    scale = np.abs(marginals).max()
    assert_allclose(marginals.sum(axis=1), 1.0, rtol=0, atol=1e-9 * scale)
    if single_root:
        assert_allclose(marginals[:, 0].sum(), 1.0, rtol=0, atol=1e-9 * scale)
    for h in range(1, n_tokens + 1):
        # Every token starts and stops its left and its right sequence exactly once.
        for side, boundaries in enumerate((slice(0, h + 1), slice(h + 1, None))):
            start = adjoint.complete[h, h + side] @ chart.complete.values[h, h + side]
            stop = adjoint.closed[h, boundaries] @ chart.closed.values[h, boundaries]
            assert_allclose([start, stop], 1.0, rtol=0, atol=1e-8 * scale)


def test_change_of_basis_changes_nothing(random_grammar):
    operators = random_grammar(0, n_states=3, signed=True)
    basis = np.random.default_rng(1).normal(size=(5, 2, 3, 3))
    codes = [0, 1, 2, 1, 3, 0, 2]
    one, other = (inside_outside(o, codes) for o in (operators, change_basis(operators, basis)))
    assert one.sign == other.sign
    assert_allclose(one.log_abs_z, other.log_abs_z, rtol=1e-9)
    assert_allclose(one.marginals, other.marginals, rtol=1e-6, atol=1e-8)


def test_marginals_are_the_derivatives_by_arc_scores(random_grammar):
    operators = random_grammar(3, n_states=2)
    codes, step = [2, 0, 1, 1, 3], 1e-5
    marginals = inside_outside(operators, codes).marginals
    for m in range(1, 6):
        for h in range(6):
            logs = []
            for sign in (1, -1):
                scores = np.ones((6, 6))
                scores[h, m] = np.exp(sign * step)
                logs.append(inside_outside(operators, codes, arc_scores=scores).log_abs_z)
            slope = (logs[0] - logs[1]) / (2 * step)
            assert_allclose(slope, marginals[m - 1, h], rtol=0, atol=1e-8)


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="takes minutes if interpreted")
@pytest.mark.parametrize(
    ("n_tokens", "factor"),
    [(300, 1e-3), (300, 1e3), pytest.param(1000, 1e-3, marks=pytest.mark.exhaustive)],
)
def test_long_sentences(random_grammar, n_tokens, factor):
    """Z is near exp(-1800), exp(+1500) or exp(-6000).

    A tree has as many arcs as tokens: to scale all operators multiplies it by a known power.
    """
    operators = random_grammar(2, n_states=2, signed=True)
    codes = np.random.default_rng(0).integers(3, size=n_tokens)
    expected = inside_outside(operators, codes)
    result = inside_outside(operators._replace(A=operators.A * factor), codes)
    assert abs(result.log_abs_z) > 750  # beyond the range of a double
    assert_allclose(result.log_abs_z, expected.log_abs_z + n_tokens * np.log(factor), rtol=1e-12)
    assert result.sign == expected.sign
    assert_allclose(result.marginals, expected.marginals, rtol=1e-6, atol=1e-9)
    assert_allclose(result.marginals.sum(axis=1), 1.0, rtol=0, atol=1e-8)
    assert_allclose(result.counts.alpha_1[:3].sum(), 2 * n_tokens, rtol=1e-8)


def test_impossible_sentence_has_no_marginals(random_grammar):
    operators = random_grammar(0)
    operators.A[..., 1, :, :] = 0.0
    result = inside_outside(operators, [0, 1, 2])
    assert result.sign == 0
    assert result.log_abs_z == -np.inf
    assert all(np.isnan(part).all() for part in (result.marginals, *result.counts))


def test_arguments_stay_as_they_are(random_grammar):
    operators = random_grammar(0)
    copies = [part.copy() for part in operators]
    scores = np.full((3, 3), 2.0)
    inside_outside(operators, [0, 1], arc_scores=scores)
    for part, copy in zip(operators, copies, strict=True):
        assert_array_equal(part, copy)
    assert_array_equal(scores, 2.0)


@pytest.mark.parametrize(
    ("codes", "scores", "message"),
    [
        ([], {}, "at least one symbol code"),
        ([0, 4], {}, r"codes must lie in 0\.\.3"),
        ([-1], {}, r"codes must lie in 0\.\.3"),
        ([0], {"arc_scores": np.ones((3, 3))}, r"arc_scores must have the shape \(2, 2\)"),
        ([0], {"stop_scores": np.ones(2)}, r"stop_scores must have the shape \(2, 2\)"),
    ],
)
def test_bad_sentences_are_refused(random_grammar, codes, scores, message):
    with pytest.raises(ValueError, match=message):
        inside_outside(random_grammar(0), codes, **scores)
