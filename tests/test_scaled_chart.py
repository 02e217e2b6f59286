"""The scaled chart against enumeration, counting numbers and invariants."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_shag import DeterministicSHAG
from sklearn_shag.operators import Operators, change_basis
from sklearn_shag.parsing import Potentials, eisner
from sklearn_shag.parsing._chart import new_results, sum_up_sentences, unit_grammar
from sklearn_shag.parsing._potentials import as_factors, check_potentials
from tests import oracles
from tests.loops import over
from tests.scaled_chart import ScaledGrammar, inside_outside, run_scaled


def with_root(operators, codes):
    return np.concatenate([[operators.A.shape[0] - 1], codes])


@over(
    ("single_root", "expected"),
    [(False, [1, 3, 12, 55, 273, 1428, 7752]), (True, [1, 2, 7, 30, 143, 728, 3876])],
)
def test_operators_of_one_count_projective_trees(single_root, expected):
    ones = np.ones((3, 2, 1))
    counting = Operators(ones, ones, np.ones((3, 2, 2, 1, 1)))
    results = [inside_outside(counting, [0] * n, single_root=single_root) for n in range(1, 8)]
    assert_allclose([np.exp(result.log_abs_z) for result in results], expected, rtol=1e-12)


@over("single_root", [True, False])
@over("signed", [True, False])
@over("n_states", [1, 2, 3])
@over("with_scores", [False, True])
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


@over("single_root", [True, False])
def test_agrees_with_enumeration_for_six_tokens(random_grammar, single_root):
    operators = random_grammar(5, n_states=2, signed=True)
    codes = np.array([0, 1, 2, 3, 1, 0])
    result = inside_outside(operators, codes, single_root=single_root)
    z, marginals = oracles.partition_and_marginals(
        operators, with_root(operators, codes), single_root
    )
    assert_allclose(result.sign * np.exp(result.log_abs_z), z, rtol=1e-9)
    assert_allclose(result.marginals, marginals, rtol=1e-8, atol=1e-9)


@over("single_root", [True, False])
@over("zeros", [0.0, 0.4])
@over("magnitude", [1e-120, 1e120, None])
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


@over("scaled", ["A", "alpha_inf", "arcs"])
@over("largest_power", [0, 50, 150, 300])
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


@over("magnitude", [1e-160, 1e160])
def test_stop_scores_of_any_magnitude(random_grammar, magnitude):
    operators, codes = random_grammar(1, signed=True), [0, 1, 2, 0]
    plain = inside_outside(operators, codes)
    scores = np.full((5, 2), magnitude)
    result = inside_outside(operators, codes, stop_scores=scores)
    # Each of four tokens stops twice, the root symbol once.
    assert_allclose(result.log_abs_z, plain.log_abs_z + 9 * np.log(magnitude), rtol=1e-9)
    assert_allclose(result.marginals, plain.marginals, rtol=1e-7, atol=1e-9)


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
    for found, expected in zip(result.counts, plain.counts, strict=True):
        assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


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


def test_what_is_not_finite_is_refused(random_grammar):
    for value in (np.inf, np.nan):
        with pytest.raises(ValueError, match="not finite"):
            inside_outside(random_grammar(0), [0], arc_scores=np.full((2, 2), value))
        for k in range(3):
            operators = random_grammar(0)
            operators[k].flat[0] = value
            with pytest.raises(ValueError, match=r"operators\..* holds values that are not finite"):
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
    # Every token is a symbol of its own, so that the counts tell them apart.
    operators = Operators(
        rng.uniform(-0.2, 1, size=(n_tokens + 1, 2, n_states)),
        rng.uniform(-0.2, 1, size=(n_tokens + 1, 2, n_states)),
        rng.uniform(-0.2, 1, size=(n_tokens + 1, 2, n_tokens, n_states, n_states)),
    )
    result = inside_outside(operators, np.arange(n_tokens), single_root=single_root)
    marginals, counts = result.marginals, result.counts
    scale = np.abs(marginals).max()
    assert_allclose(marginals.sum(axis=1), 1.0, rtol=0, atol=1e-9 * scale)
    if single_root:
        assert_allclose(marginals[:, 0].sum(), 1.0, rtol=0, atol=1e-9 * scale)
    # Every token starts and stops its left and its right sequence exactly once.
    for part in (counts.alpha_1, counts.alpha_inf):
        assert_allclose(part[:n_tokens].sum(axis=2), 1.0, rtol=0, atol=1e-8 * scale)
    moves = counts.A.sum(axis=(1, 3, 4))  # by head and modifier
    assert_allclose(moves[:n_tokens].T, marginals[:, 1:], rtol=0, atol=1e-8 * scale)
    assert_allclose(moves[n_tokens], marginals[:, 0], rtol=0, atol=1e-8 * scale)


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


@pytest.mark.parametrize("n_tokens", [200, pytest.param(1000, marks=pytest.mark.exhaustive)])
def test_long_sentences(random_grammar, n_tokens):
    """Z is near exp(-1200) and exp(+1000), or exp(-6000) and exp(+5000).

    A tree has as many arcs as tokens: to scale all operators multiplies it by a known power.
    """
    operators = random_grammar(2, n_states=2, signed=True)
    codes = np.random.default_rng(0).integers(3, size=n_tokens)
    expected = inside_outside(operators, codes)
    for factor in (1e-3, 1e3):
        result = inside_outside(operators._replace(A=operators.A * factor), codes)
        assert abs(result.log_abs_z) > 750  # beyond the range of a double
        shifted = expected.log_abs_z + n_tokens * np.log(factor)
        assert_allclose(result.log_abs_z, shifted, rtol=1e-12)
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


@over(
    ("codes", "scores", "message"),
    [
        ([], {}, "at least one symbol code"),
        ([0, 4], {}, r"codes\[1\] must be from 0 to 3, .*, got 4"),
        ([-1], {}, r"codes\[0\] must be from 0 to 3, .*, got -1"),
        ([0.5, 1.5], {}, r"codes must be a flat array of whole numbers, .*got \[0\.5, 1\.5\]"),
        (["DET"], {}, r"codes must be .* whole numbers, the places of symbols in symbols_"),
        ([[0, 1]], {}, r"codes must be a flat array of whole numbers, .*got \[\[0, 1\]\]"),
        ([0], {"arc_scores": "a"}, "arc_scores must be an array of numbers, got 'a'"),
        ([0], {"arc_scores": np.ones((3, 3))}, r"arc_scores must have the shape \(2, 2\)"),
        ([0], {"stop_scores": np.ones(2)}, r"stop_scores must have the shape \(2, 2\)"),
    ],
)
def test_bad_sentences_are_refused(random_grammar, codes, scores, message):
    with pytest.raises(ValueError, match=message):
        inside_outside(random_grammar(0), codes, **scores)


def test_bad_grammars_are_refused(random_grammar):
    """Kernels trust shapes."""
    grammar = random_grammar(0)
    with pytest.raises(ValueError, match="got the shapes"):
        inside_outside(grammar._replace(alpha_1=grammar.alpha_1[:-1]), [0])
    with pytest.raises(
        TypeError, match=r"Operators, got DeterministicSHAG\. A fitted estimator has"
    ):
        inside_outside(DeterministicSHAG(), [0])


def run(operators, factors, which=None, with_uses=True, with_counts=True, weights=None):
    """All that the driver finds of a chunk, given by the fields of its potentials."""
    potentials = check_potentials(Potentials(**factors), operators.A.shape[2])
    factors = as_factors(potentials)
    n_sentences = factors.indptr.size - 1
    which = np.arange(n_sentences) if which is None else np.asarray(which)
    weights = np.ones(n_sentences) if weights is None else np.asarray(weights, dtype=float)
    results = new_results(factors, with_uses)
    for uses in results[3:]:
        uses[...] = np.nan
    counts = [np.zeros(part.shape if with_counts else (0,) * part.ndim) for part in operators]
    done = run_scaled(operators, factors, which, results, weights, Operators(*counts))
    return results, done, counts


def enumerate_sentence(operators, factors, s):
    return oracles.enumerate_uses(operators, **oracles.of_sentence(factors, factors["indptr"], s))


def assert_uses_are(results, factors, s, expected, rtol=1e-8, atol=1e-9):
    """Compare the uses of sentence s with enumeration; those of absent factors are not there."""
    uses = results._asdict()
    for name in ("arc_memory", "stop_memory"):
        if factors.get(name) is None:
            assert uses.pop(name).size == 0
    for name in ("route", "sign", "log_abs_z"):
        uses.pop(name)
    for name, found in oracles.of_sentence(uses, factors["indptr"], s).items():
        assert_allclose(found, getattr(expected, name), rtol=rtol, atol=atol, err_msg=name)


@over("forbidden", [0.0, 0.2])
@over("n_classes", [1, 2, 4])
@over("signed", [True, False])
@over("n_states", [1, 3])
def test_every_factor_against_enumeration(random_grammar, n_states, signed, n_classes, forbidden):
    operators = random_grammar(n_classes, n_states=n_states, signed=signed)
    rng = np.random.default_rng(n_states)
    factors = oracles.random_factors(rng, [3, 1, 5, 4, 2, 5], 4, n_classes, forbidden)
    weights = rng.uniform(0.5, 2.0, size=6)
    results, done, counts = run(operators, factors, weights=weights)
    expected_counts = [np.zeros_like(part) for part in operators]
    for s in range(6):
        expected = enumerate_sentence(operators, factors, s)
        assert done[s] == (expected.z != 0)
        assert results.sign[s] == np.sign(expected.z)
        if expected.z == 0:
            assert results.log_abs_z[s] == -np.inf
        else:
            assert_allclose(results.log_abs_z[s], np.log(abs(expected.z)), rtol=1e-9, atol=1e-9)
            for total, part in zip(expected_counts, expected.counts, strict=True):
                total += weights[s] * part
        assert_uses_are(results, factors, s, expected)
    assert done.sum() >= 4
    for found, expected in zip(counts, expected_counts, strict=True):
        assert_allclose(found, expected, rtol=1e-8, atol=1e-9)


@over(
    "absent",
    [
        ("arcs", "memory", "arc_memory", "stop_memory"),
        ("memory", "arc_memory", "stop_memory"),
        ("arcs", "memory", "stop_memory"),
        ("arcs", "arc_memory"),
        ("arc_memory",),
        ("stop_memory",),
    ],
)
def test_absent_factors_are_one(random_grammar, absent):
    rng, n_classes = np.random.default_rng(1), 1 if "memory" in absent else 3
    factors = oracles.random_factors(rng, [2, 4, 1], 4, n_classes)
    factors.update(dict.fromkeys(absent))
    for operators in (random_grammar(0, signed=True), unit_grammar()):
        of_grammar = factors | {"codes": factors["codes"] % operators.A.shape[2]}
        results, done, _ = run(operators, of_grammar)
        assert done.all()
        for s in range(3):
            expected = enumerate_sentence(operators, of_grammar, s)
            assert_allclose(results.log_abs_z[s], np.log(abs(expected.z)), rtol=1e-9, atol=1e-9)
            assert_uses_are(results, of_grammar, s, expected)


@over("name", ["arcs", "arc_memory", "stop_memory"])
def test_uses_are_derivatives_by_logarithms_of_factors(random_grammar, name):
    operators = random_grammar(2, n_states=2)
    factors = oracles.random_factors(np.random.default_rng(3), [3, 4], 4, 3)
    results, _, _ = run(operators, factors)
    uses, step = getattr(results, name), 1e-5
    for place in np.ndindex(uses.shape):
        logs = []
        for sign in (1, -1):
            changed = factors[name].copy()
            changed[place] = (
                changed[place] + sign * step
                if name == "arcs"
                else changed[place] * np.exp(sign * step)
            )
            changed, _, _ = run(operators, factors | {name: changed}, with_uses=False)
            logs.append(changed.log_abs_z.sum())
        assert_allclose(uses[place], (logs[0] - logs[1]) / (2 * step), rtol=0, atol=1e-8)


def test_counts_are_derivatives_by_logarithms_of_operators(random_grammar):
    operators = random_grammar(2, n_states=2)
    factors = oracles.random_factors(np.random.default_rng(3), [3, 4], 4, 3)
    weights, step = np.array([0.5, 2.0]), 1e-5
    _, _, counts = run(operators, factors, weights=weights)
    for part, count in zip(operators, counts, strict=True):
        for place in list(np.ndindex(part.shape))[::3]:
            value, logs = part[place], []
            for sign in (1, -1):
                part[place] = value * np.exp(sign * step)
                results, _, _ = run(operators, factors, with_uses=False, with_counts=False)
                logs.append(weights @ results.log_abs_z)
            part[place] = value
            assert_allclose(count[place], (logs[0] - logs[1]) / (2 * step), rtol=0, atol=1e-8)


@over("n_classes", [1, 2, 4])
def test_memory_is_the_product_with_an_automaton(random_grammar, n_classes):
    """Kronecker products: the states of the operators times the class of the last modifier."""
    n, n_states = 5, 3
    operators = random_grammar(0, n_states=n_states, signed=True)
    factors = oracles.random_factors(np.random.default_rng(4), [n], 4, n_classes)
    results, _, _ = run(operators, factors)
    sentence = oracles.of_sentence(factors, factors["indptr"], 0)
    # Every position is a symbol of its own; the last head is the root symbol.
    codes, start = [*sentence["codes"], operators.A.shape[0] - 1], np.eye(n_classes)[0]
    dense = Operators(
        np.zeros((n + 1, 2, n_states * n_classes)),
        np.zeros((n + 1, 2, n_states * n_classes)),
        np.zeros((n + 1, 2, n, n_states * n_classes, n_states * n_classes)),
    )
    for h, side in np.ndindex(n + 1, 2):
        stop = sentence["stop_memory"][h, side] if h < n else np.ones(n_classes)
        dense.alpha_1[h, side] = np.kron(operators.alpha_1[codes[h], side], start)
        dense.alpha_inf[h, side] = np.kron(operators.alpha_inf[codes[h], side], stop)
        for m in range(n):
            column = (h + 1) % (n + 1)
            scores = np.exp(sentence["arcs"][m, column]) * sentence["arc_memory"][m, column]
            after = np.eye(n_classes)[sentence["memory"][m]]
            matrix = operators.A[codes[h], side, codes[m]]
            dense.A[h, side, m] = np.kron(matrix, np.outer(after, scores))
    expected = inside_outside(dense, np.arange(n))
    assert results.sign[0] == expected.sign
    assert_allclose(results.log_abs_z[0], expected.log_abs_z, rtol=1e-12)
    assert_allclose(results.arcs.reshape(n, n + 1), expected.marginals, rtol=1e-9, atol=1e-12)


@over("offset", [1e3, -1e4, 1e6])
def test_offsets_of_scores_change_nothing_but_log_z(random_grammar, offset):
    """Every token's scores have an offset of their own; its other factors a magnitude."""
    operators = random_grammar(5, signed=True)
    rng = np.random.default_rng(5)
    factors = oracles.random_factors(rng, [5], 4, 2, forbidden=0.2)
    plain, _, plain_counts = run(operators, factors)
    offsets, logs = offset * rng.uniform(0.5, 1, size=5), rng.uniform(-650, -550, size=5)
    shifted = dict(
        factors,
        arcs=factors["arcs"] + np.repeat(offsets, 6),
        arc_memory=factors["arc_memory"] * np.exp(np.repeat(logs, 6))[:, None],
        stop_memory=factors["stop_memory"] * 1e-300,
    )
    results, done, counts = run(operators, shifted)
    assert done.all()
    shift = offsets.sum() + logs.sum() + 10 * np.log(1e-300)
    assert results.sign[0] == plain.sign[0]
    assert_allclose(results.log_abs_z, plain.log_abs_z + shift, rtol=1e-14, atol=1e-9)
    for name in ("arcs", "arc_memory", "stop_memory"):
        atol = 1e-15 * abs(offset) + 1e-12
        assert_allclose(getattr(results, name), getattr(plain, name), rtol=1e-8, atol=atol)
    for found, expected in zip(counts, plain_counts, strict=True):
        assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


@over("score", [-1e20, 1e20])
def test_scores_that_are_all_alike_change_only_log_z(random_grammar, score):
    """However large: only gaps between the scores of arcs to a token decide what is possible."""
    operators = random_grammar(5)
    factors = oracles.random_factors(np.random.default_rng(5), [4], 4, 1) | {"arcs": np.zeros(20)}
    plain, _, _ = run(operators, factors)
    results, done, _ = run(operators, factors | {"arcs": np.full(20, score)})
    assert done.all()
    assert_allclose(results.log_abs_z, 4 * score, rtol=1e-15)
    assert_allclose(results.arcs, plain.arcs, rtol=1e-12)


@over("scale", [30.0, 2e3, 1e9])
def test_gaps_between_scores_that_no_double_bridges(scale):
    """Log Z is that of the best trees, however much worse their arcs are than forbidden ones."""
    rng = np.random.default_rng(6)
    factors = {
        "indptr": np.array([0, 5, 10]),
        "codes": np.zeros(10, dtype=int),
        "arcs": scale * rng.normal(size=60),
    }
    factors["arcs"][rng.uniform(size=60) < 0.3] = -np.inf
    results, done, _ = run(unit_grammar(), factors)
    assert done.all()
    for s, arcs in enumerate(factors["arcs"].reshape(2, 5, 6)):
        trees = np.array(oracles.projective_trees(5))
        logs = np.array([oracles.log_factors(heads, arcs) for heads in trees.tolist()])
        weights, marginals = np.exp(logs - logs.max()), np.zeros((5, 6))
        for heads, weight in zip(trees, weights, strict=True):
            marginals[np.arange(5), heads] += weight / weights.sum()
        assert_allclose(results.log_abs_z[s], logs.max() + np.log(weights.sum()), rtol=1e-14)
        found = results.arcs.reshape(2, 5, 6)[s]
        assert_allclose(found, marginals, rtol=0, atol=1e-9 + 1e-15 * scale)


def test_entries_of_a_token_with_itself_are_ignored(random_grammar):
    operators = random_grammar(7)
    factors = oracles.random_factors(np.random.default_rng(7), [4], 4, 2)
    diagonal = np.arange(4) * 5 + np.arange(1, 5)
    plain, _, plain_counts = run(operators, factors)
    for value in (-np.inf, 1e300):
        factors["arcs"][diagonal] = value
        factors["arc_memory"][diagonal] = 0.0 if value < 0 else value
        results, _, counts = run(operators, factors)
        for found, expected in zip((*results, *counts), (*plain, *plain_counts), strict=True):
            assert_array_equal(found, expected)
        assert_array_equal(results.arcs[diagonal], 0.0)


def test_a_token_without_heads_leaves_no_tree(random_grammar):
    """The other sentences of the chunk, and sums over them, are as if it were not there."""
    operators = random_grammar(8)
    factors = oracles.random_factors(np.random.default_rng(8), [3, 4, 2, 3], 4, 2)
    row = slice(12 + 5, 12 + 10)  # second token of the second sentence
    begin = 12 + 20 + 6  # first token of the last sentence
    factors["arcs"][row] = -np.inf
    factors["arcs"][12 + 5 + 2] = 3.0  # but for itself
    factors["arc_memory"][begin : begin + 4] = 0.0
    results, done, counts = run(operators, factors)
    assert done.tolist() == [True, False, True, False]
    assert results.sign.tolist() == [1, 0, 1, 0]
    assert_array_equal(np.isneginf(results.log_abs_z), ~done)
    for s in range(4):
        uses = {"arcs": results.arcs, "stop_memory": results.stop_memory}
        for part in oracles.of_sentence(uses, factors["indptr"], s).values():
            assert np.isnan(part).all() == (not done[s])
    some, _, expected_counts = run(operators, factors, which=[2, 0])
    assert_array_equal(some.log_abs_z, results.log_abs_z)
    assert_array_equal(some.arcs, results.arcs)
    for found, expected in zip(counts, expected_counts, strict=True):
        assert_allclose(found, expected, rtol=1e-12)


def test_uses_that_overflow_are_not_done_and_spoil_no_counts(random_grammar):
    operators = random_grammar(9)
    # 1e300 - 1e300 is 0, but 1e10 of each is too much
    operators.alpha_1[0, oracles.RIGHT] = 1.0
    operators.alpha_inf[0, oracles.RIGHT] = 1e10, 1.0
    operators.A[0, oracles.RIGHT, 1] = [[1e300, -1e300], [0.0, 1.0]]
    operators.A[1, oracles.LEFT, 0] = 0.0
    factors = {"indptr": np.array([0, 2, 4, 6]), "codes": np.array([2, 3, 0, 1, 2, 2])}
    results, done, counts = run(operators, factors)
    assert done.tolist() == [True, False, True]
    assert results.sign.tolist() == [1, 0, 1]
    assert np.isnan(results.arcs).tolist() == [False] * 6 + [True] * 6 + [False] * 6
    expected = [enumerate_sentence(operators, factors, s).counts for s in (0, 2)]
    for found, *parts in zip(counts, *expected, strict=True):
        assert_allclose(found, sum(parts), rtol=1e-8, atol=1e-9)
    with pytest.raises(ValueError, match=r"Expected uses overflow: .* cancel"):
        inside_outside(operators, [0, 1])


def test_only_what_there_is_room_for_is_computed(random_grammar):
    operators = random_grammar(10)
    factors = oracles.random_factors(np.random.default_rng(10), [3, 4], 4, 2)
    everything, _, counts = run(operators, factors)
    without_uses, _, the_counts = run(operators, factors, with_uses=False)
    without_counts, _, _ = run(operators, factors, with_counts=False)
    for some in (without_uses, without_counts):
        assert_array_equal(some.log_abs_z, everything.log_abs_z)
    assert_array_equal(without_counts.stop_memory, everything.stop_memory)
    for found, expected in zip(the_counts, counts, strict=True):
        assert_array_equal(found, expected)


@over("n_tokens", [20, 100, 200])
def test_a_memory_that_is_impossible_in_the_end_hides_no_other(n_tokens):
    """The first token takes one modifier, the last; all between hang there, which is unlikely."""
    arcs = np.full((n_tokens, n_tokens + 1), -np.inf)
    arcs[0, 0] = arcs[-1, 1] = 0.0
    arcs[1:-1, 1], arcs[1:-1, -1] = 0.0, -20.0
    arc_memory = np.ones((n_tokens, n_tokens + 1, 2))
    arc_memory[-1, 1, 1] = 0.0
    factors = {
        "indptr": np.array([0, n_tokens]),
        "codes": np.zeros(n_tokens, dtype=int),
        "arcs": arcs.ravel(),
        "memory": np.ones(n_tokens, dtype=int),
        "arc_memory": arc_memory.reshape(-1, 2),
    }
    results, done, _ = run(unit_grammar(), factors)
    assert done.all()
    assert_allclose(results.log_abs_z, -20.0 * (n_tokens - 2), rtol=1e-12)
    heads = results.arcs.reshape(arcs.shape).argmax(axis=1)
    assert heads.tolist() == [0, *[n_tokens] * (n_tokens - 2), 1]


@over("n_tokens", [12, 60])
@over("single_root", [False, True])
def test_what_is_impossible_may_have_any_worth(random_grammar, n_tokens, single_root):
    """From a state that nothing leads to, sentences would be worth more than any number."""
    operators = random_grammar(4)
    codes = np.arange(n_tokens) % 3
    alpha_1, alpha_inf, A = operators
    with_another = Operators(
        np.concatenate([alpha_1, np.zeros((*alpha_1.shape[:2], 1))], axis=2),
        np.concatenate([alpha_inf, np.full((*alpha_1.shape[:2], 1), 1e60)], axis=2),
        np.zeros((*A.shape[:3], 3, 3)),
    )
    with_another.A[..., :2, :2] = A
    with_another.A[..., 2] = 1e60  # out of the state, and to itself
    expected = inside_outside(operators, codes, single_root=single_root)
    found = inside_outside(with_another, codes, single_root=single_root)
    assert found.sign == expected.sign
    assert_allclose(found.log_abs_z, expected.log_abs_z, rtol=1e-12)
    assert_allclose(found.marginals, expected.marginals, atol=1e-12)
    for part, counts in zip(found.counts, expected.counts, strict=True):
        inner = tuple(slice(size) for size in counts.shape)
        assert_allclose(part[inner], counts, atol=1e-12)
        part[inner] = 0.0
        assert not part.any()


@over("with_uses", [True, False])
@over(("survives", "is_done"), [(1.0, True), (0.0, False), (1e-200, False)])
def test_what_fits_no_double_beside_others_is_refused_where_it_counts(survives, is_done, with_uses):
    """Two states have the values 1 and 1e-400; then that of the first becomes as small, or 0."""
    ones = np.ones((5, 2, 2))
    operators = Operators(ones, ones.copy(), np.zeros((5, 2, 4, 2, 2)))
    operators.alpha_1[1:, :, 1] = operators.alpha_1[0, oracles.LEFT, 1] = 0.0
    operators.A[-1, oracles.RIGHT, 0, 0, 0] = 1.0  # the first token is the root
    operators.A[0, oracles.RIGHT, 1] = np.diag([1.0, 1e-200])
    operators.A[0, oracles.RIGHT, 2] = np.diag([survives, 1.0])
    factors = {"indptr": np.array([0, 5]), "codes": np.array([0, 1, 1, 2, 2])}
    results, done, _ = run(operators, factors, with_uses=with_uses, with_counts=False)
    assert done.tolist() == [is_done]
    assert results.log_abs_z[0] == (0.0 if is_done else -np.inf)


@over("single_root", [True, False])
def test_what_is_small_is_not_enlarged_before_it_is_rounded(single_root):
    """Of two states 1e276 apart the larger has no end: a product of a few powers of two is left."""
    operators = Operators(np.zeros((5, 2, 2)), np.ones((5, 2, 2)), np.zeros((5, 2, 4, 2, 2)))
    operators.alpha_1[..., 0] = 1.0
    for size, (huge, of_stop, of_start) in enumerate(((100, 10, 20), (866, 61, 113))):
        operators.alpha_1[2] = 2.0**of_start, 0.0
        operators.alpha_inf[1, oracles.RIGHT] = 2.0**of_stop
        operators.A[[4, 0], oracles.RIGHT, [0, 1], 0, 0] = operators.A[0, 1, 3, 1, 1] = 1.0
        operators.A[1, oracles.RIGHT, 2, 0, 0] = 2.0**huge
        operators.A[0, oracles.RIGHT, 2, 1, 0] = 2.0**-51
        try:
            found = inside_outside(operators, [0, 1, 2, 3], single_root=single_root)
        except ValueError:  # it cannot be told
            assert size == 1
        else:
            expected = (2 * of_start + of_stop - 51) * np.log(2)
            assert_allclose(found.log_abs_z, expected, rtol=1e-12)
