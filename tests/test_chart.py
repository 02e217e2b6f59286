"""The public chart, against enumeration and the oracle in logarithms."""

from dataclasses import replace

import numba
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal, assert_equal

from sklearn_shag import EMSHAG, DeterministicSHAG, SpectralSHAG
from sklearn_shag.operators import Operators
from sklearn_shag.parsing import (
    Potentials,
    _chart,
    _fast_driver,
    chart,
    grammar_of_arcs,
    inside_outside,
    pack_grammar,
)
from sklearn_shag.parsing._chart import cut_chunks, run_charts
from sklearn_shag.parsing._fast_driver import WITHOUT_MASS
from sklearn_shag.parsing._losses import sum_up_losses
from sklearn_shag.parsing._potentials import (
    as_factors,
    check_potentials,
    longest_counted,
    take_potentials,
)
from tests import log_chart, oracles
from tests.loops import assert_all_close, compiled, over

N_SYMBOLS = 4  # one of them unknown


def sum_up(operators, given, **options):
    return chart(operators, Potentials(**given), **options)


def drawn(seed, lengths, n_classes=1, forbidden=0.0):
    return oracles.random_factors(
        np.random.default_rng(seed), lengths, N_SYMBOLS, n_classes, forbidden
    )


LENGTHS = [5, 1, 2, 3, 4, 4, 1, 5, 2, 3]


def uses_of(results, given, s):
    """What the chart has found of one sentence, as oracles give it."""
    arrays = {name: getattr(results, name) for name in ("arcs", "arc_memory", "stop_memory")}
    uses = oracles.of_sentence(arrays, given["indptr"], s)
    return oracles.Uses(results.sign[s], results.log_abs_z[s], **uses, counts=None)


def assert_same_uses(found, expected, rtol=1e-8, atol=1e-9):
    """Of one sentence; of factors that there are."""
    assert found.sign == expected.sign
    assert_allclose(found.log_abs_z, expected.log_abs_z, rtol=min(rtol, 1e-9), atol=atol)
    for one, other in zip(found[2:5], expected[2:5], strict=True):
        if one is not None:
            assert_allclose(one, other, rtol=rtol, atol=atol)


@over("forbidden", [0.0, 0.25])
@over("n_classes", [1, 2, 4])
@over("signed", [True, False])
@over("n_states", [1, 2, 9])
def test_every_factor_comes_out_as_its_expected_use(
    random_grammar, n_states, signed, n_classes, forbidden
):
    """Of the chart and of the oracle, by enumeration."""
    operators = random_grammar(n_states, n_states=n_states, signed=signed)
    given = drawn(n_classes, LENGTHS, n_classes, forbidden)
    weights = np.random.default_rng(0).uniform(0, 2, size=len(LENGTHS))
    results = sum_up(operators, given, counts=True, sample_weight=weights)
    assert (results.sign == 0).any() == (forbidden > 0)
    expected_counts = [np.zeros_like(part) for part in operators]
    for s, weight in enumerate(weights):
        factors = oracles.of_sentence(given, given["indptr"], s)
        expected = oracles.enumerate_uses(operators, **factors)
        in_logs = log_chart.sum_up(operators, **factors)
        assert_same_uses(uses_of(results, given, s), expected)
        assert_same_uses(in_logs, expected)
        assert results.route[s] == (0 if expected.sign else 3)
        if expected.sign:
            assert_all_close(in_logs.counts, expected.counts, rtol=1e-8, atol=1e-9)
            for total, part in zip(expected_counts, expected.counts, strict=True):
                total += weight * part
    assert_all_close(results.counts, expected_counts, rtol=1e-8, atol=1e-9)


@over("absent", ["arcs", "memory", "arc_memory", "stop_memory"])
@over("n_states", [1, 2])
def test_absent_factors_are_one(random_grammar, n_states, absent):
    """For the oracle, and there are no uses of them; without a memory there is one class."""
    given = drawn(3, LENGTHS, 1 if absent == "memory" else 2)
    assert_in_range(random_grammar(3, n_states=n_states), {**given, absent: None})


def test_without_a_grammar_there_are_factors_alone(random_grammar):
    ones = Operators(*(np.ones_like(part) for part in random_grammar(0, n_states=1)))
    given = drawn(4, LENGTHS, 2)
    expected = chart(ones, Potentials(**given))
    found = chart(None, Potentials(**{**given, "codes": None}))
    assert_equal(found[:6], expected[:6])
    n_trees = [np.exp(chart(None, Potentials(np.array([0, n]))).log_abs_z[0]) for n in range(1, 8)]
    assert_allclose(n_trees, [1, 2, 7, 30, 143, 728, 3876])


@over("n_states", [1, 8])
@over("n_classes", [1, 3])
@over("spread", [1.0, 18.0])
@over("known", [0.0, 0.5])
def test_routes_agree_on_scores_as_parsers_have_them(
    random_grammar, monkeypatch, n_states, n_classes, spread, known
):
    operators, lengths = random_grammar(8, n_states=n_states), [4, 12, 25, 26, 40]
    if numba.config.DISABLE_JIT:  # tiles of shorter sentences
        lengths = [4, 12]
        monkeypatch.setattr(_fast_driver, "LONGEST_UNCUT", 5)
    given, rng = drawn(8, lengths, n_classes), np.random.default_rng(1)
    rows = []
    for n in lengths:
        scores = spread * rng.normal(size=(n, n + 1)) + rng.choice([0.0, 3000.0, -3000.0], (n, 1))
        # Heads of some tokens are known: those of a tree to the left, so that there are trees.
        for m in np.flatnonzero(rng.uniform(size=n) < known):
            scores[m, np.arange(n + 1) != m] = -np.inf
        rows.append(scores.ravel())
    given["arcs"] = np.concatenate(rows)
    assert_in_range(operators, given)


def assert_in_range(operators, given):
    """The chart takes all sentences, and finds what the oracle finds."""
    results = sum_up(operators, given, counts=True)
    assert_array_equal(results.route, 0)
    for name in ("arc_memory", "stop_memory"):
        assert (getattr(results, name) is None) == (given.get(name) is None)
    sentences = [oracles.of_sentence(given, given["indptr"], s) for s in range(len(results.sign))]
    expected = [log_chart.sum_up(operators, **sentence) for sentence in sentences]
    for s, of_sentence in enumerate(expected):
        assert_same_uses(uses_of(results, given, s), of_sentence)
    assert_allclose(results.log_abs_z, [each.log_abs_z for each in expected], rtol=1e-11)
    counts = zip(*[each.counts for each in expected], strict=True)
    assert_all_close(results.counts, map(sum, counts), rtol=1e-8, atol=1e-9)
    without = sum_up(operators, given, marginals=False)
    assert_array_equal(without.log_abs_z, results.log_abs_z)


@compiled
@over(("n_states", "n_tokens", "n_classes"), [(2, 81, 2), (1, 210, 3), (2, 301, 1)])
def test_long_sentences_agree_with_the_oracle(random_grammar, n_states, n_tokens, n_classes):
    """In larger tiles, and scaled window by window: tokens change the value by many factors."""
    operators = random_grammar(12, n_states=n_states)
    operators = operators._replace(A=operators.A * 10.0 ** np.array([-3, 2, 0, 1])[:, None, None])
    given = drawn(12, [n_tokens, 30], n_classes)
    given["codes"] = np.sort(given["codes"][:n_tokens]).tolist() + [0] * 30
    assert_in_range(operators, given)


@compiled
@over("n_states", [1, 2])
@over("spread", [40.0, 60.0])
@over("n_classes", [1, 2])
def test_halves_that_are_too_small_but_of_no_use(random_grammar, n_states, spread, n_classes):
    """Beside the best heads of some tokens the others are worth nothing, but not exactly."""
    given = drawn(13, [20, 30, 8], n_classes)
    given["arcs"] = spread * np.random.default_rng(13).normal(size=given["arcs"].size)
    assert_in_range(random_grammar(13, n_states=n_states), given)


@compiled
def test_a_head_that_all_tokens_want():
    """Parts of the sentence without it are worth nothing, and the first tokens say nothing."""
    given = drawn(15, [150, 9])
    given["codes"] = [0] * 159
    given["arcs"][: 150 * 151].reshape(150, 151)[:, 90] += 20.0
    assert_in_range(grammar_of_arcs("projective").operators, given)


@compiled
@over("n_states", [2, 4])
def test_states_of_next_to_no_weight(random_grammar, n_states):
    """As rounding leaves them in operators that were learned from moments."""
    operators = random_grammar(14, n_states=n_states, signed=True)
    operators.alpha_1[:, :, 1:] *= 1e-40
    operators.A[..., 1:, :] *= 1e-55
    given = drawn(14, [24, 9])
    given["arcs"] = None
    operators.alpha_inf[:-1, :, 0] *= np.array([1e-60, 1.0, 1.0, 1.0])[:, None]
    operators.A[:, :, 0] *= 1e60
    assert_in_range(operators, given)


@compiled
@over("n_states", [1, 2])
@over("n_tokens", [30, 61, 130])
@over("share", [0.8, 1.0])
def test_known_heads_of_long_sentences(random_grammar, n_states, n_tokens, share):
    """The first tokens, or a window of them, have no tree of their own that tells the scale."""
    operators = random_grammar(15, n_states=n_states)
    operators = operators._replace(A=0.02 * operators.A)
    rng, heads = np.random.default_rng(15), np.empty(n_tokens, dtype=int)
    nest_heads(heads, 0, n_tokens, 0, rng)
    arcs = np.zeros((n_tokens, n_tokens + 1))
    for m in np.flatnonzero(rng.uniform(size=n_tokens) < share):
        arcs[m, np.arange(n_tokens + 1) != heads[m]] = -np.inf
    codes = rng.integers(N_SYMBOLS, size=n_tokens)
    given = {"indptr": np.array([0, n_tokens]), "codes": codes, "arcs": arcs.ravel()}
    assert_in_range(operators, given)


def nest_heads(heads, begin, end, above, rng):
    """Draw a projective tree of begin <= m < end, whose root is far from where others are."""
    if begin < end:
        root = rng.choice([begin, end - 1])
        heads[root] = above
        nest_heads(heads, begin, root, root + 1, rng)
        nest_heads(heads, root + 1, end, root + 1, rng)


@compiled
@over("n_states", [1, 3])
def test_neither_workers_nor_neighbours_decide_over_a_bit(random_grammar, n_states, monkeypatch):
    monkeypatch.setattr("sklearn_shag.parsing._chart.cut_chunks", lambda n, _: cut_chunks(n, 2e4))
    operators = random_grammar(9, n_states=n_states)
    rng = np.random.default_rng(9)
    given = drawn(9, rng.integers(1, 30, size=40), 2)
    weights = rng.uniform(size=40)
    one, two = (
        chart(operators, Potentials(**given), counts=True, sample_weight=weights, n_jobs=n_jobs)
        for n_jobs in (1, 2)
    )
    assert_equal(two, one)
    sums = chart(operators, Potentials(**given), marginals=False, n_jobs=2)
    assert sums[3:] == (None, None, None, None)
    assert_equal(sums[:3], one[:3])
    for s in (0, 7, 39):
        result = chart(operators, take_potentials(Potentials(**given), np.array([s])))
        assert result.counts is None
        assert result.log_abs_z[0] == one.log_abs_z[s]
        of_all = {"arcs": one.arcs, "arc_memory": one.arc_memory, "stop_memory": one.stop_memory}
        for name, part in oracles.of_sentence(of_all, given["indptr"], s).items():
            assert_array_equal(getattr(result, name).reshape(part.shape), part)


@pytest.mark.filterwarnings("ignore::sklearn_shag.treebank.UnknownSymbolWarning")
@over(
    "model",
    [
        *(DeterministicSHAG(automaton) for automaton in ("single", "first", "sibling")),
        SpectralSHAG(3, smoothing=0, mixing=0.0),
        EMSHAG(2, init="moments", max_iter=3, tol=0.1),
    ],
)
def test_nothing_is_out_of_range_where_there_is_no_tree(english, model):
    """Of symbols that are new, and of sequences that were never seen: nobody is warned."""
    model.fit(english[:10])
    short = [tree for tree in english[10:] if len(tree) < 10][:20]
    X = [["<new>"], ["<new>", "NOUN"], *(list(tree.symbols) for tree in short)]
    y = [[0], [2, 0], *(tree.heads for tree in short)]
    signs = [np.isfinite(each) for each in model.log_likelihood(X)]
    assert 1 < sum(signs) < len(X) - 1
    model.predict(X)
    model.predict_marginals(X)
    model.score_samples(X, y)
    model.conditional_log_likelihood(X, y)


TO_EACH_OTHER = np.array([-np.inf, -np.inf, 0, -np.inf, 0, -np.inf])


@over("n_states", [1, 2])
@over("counts", [False, True])
@over("arcs", [np.full(6, -np.inf), TO_EACH_OTHER])
def test_forbidden_arcs_leave_no_tree(random_grammar, n_states, counts, arcs):
    operators = random_grammar(0, n_states=n_states, signed=n_states > 1)
    arcs = np.concatenate([np.zeros(6), arcs])
    potentials = Potentials(np.array([0, 2, 4]), np.zeros(4, dtype=int), arcs)
    result = chart(operators, potentials, counts=counts)
    assert result.route.tolist() == [0, 3]
    if counts:
        alone = chart(operators, Potentials(np.array([0, 2]), [0, 0], np.zeros(6)), counts=True)
        assert_equal(result.counts, alone.counts)


def test_what_cancels_or_vanishes_is_out_of_range(random_grammar, monkeypatch):
    ones = Operators(*(np.ones_like(part) for part in random_grammar(0, n_states=2)))
    cancels = ones._replace(alpha_inf=ones.alpha_inf * [1.0, -1.0])
    vanishes = ones._replace(alpha_1=ones.alpha_1 * 1e-170, alpha_inf=ones.alpha_inf * 1e-170)
    potentials = Potentials(np.array([0, 1]), [0])
    for operators in (cancels, vanishes):
        result = chart(operators, potentials)
        assert (result.sign, result.route) == (0, 1)
        assert np.isnan(result.arcs).all()
    # Whether the derivations of a long sentence would all be counted is not certain.
    impossible = ones._replace(A=0 * ones.A)
    for longest, route in ((1, 3), (0, 1)):
        monkeypatch.setattr(_chart, "longest_counted", lambda grammar, n=longest: n)
        result = chart(impossible, potentials)
        assert (result.sign, result.route) == (0, route)


@compiled
@over("n_states", [1, 2])
@over("share", [0.0, 0.02, 1.0])
def test_where_there_is_a_tree_it_is_counted(random_grammar, n_states, share):
    """In the longest sentences of which that is said: one tree, or a part that has many more."""
    packed = pack_grammar(random_grammar(0, n_states=n_states, signed=True))
    n = longest_counted(packed)
    allowed = np.random.default_rng(0).uniform(size=(n, n + 1)) < share
    allowed[n // 3 :] = False
    allowed[np.arange(n), np.arange(n)] = True  # the head of each is the token before
    arcs = np.where(allowed, 0.0, -np.inf).ravel()
    factors = as_factors(Potentials(np.array([0, n]), np.zeros(n, dtype=int), arcs))
    counting = replace(packed, fast=packed.support)
    (state,) = run_charts(counting, factors, with_uses=False).route
    assert state != WITHOUT_MASS


@compiled
@over("n_states", [1, 2])
@over("counts", [False, True])
def test_to_count_derivations_compiles_nothing(random_grammar, n_states, counts):
    operators = random_grammar(0, n_states=n_states)
    kernels = _fast_driver.run_one_by_one.dispatcher, _fast_driver.run_lockstep.dispatcher
    compiled_for = []
    for impossible in (False, True):
        operators.A[:, :, 1] *= not impossible
        chart(operators, Potentials(np.array([0, 2]), [0, 1]), counts=counts)
        compiled_for.append([len(each.signatures) for each in kernels])
    assert compiled_for[0] == compiled_for[1]


class TestInsideOutside:
    """Of one sentence, what the enumeration finds; and what is refused."""

    @over("n_states", [1, 2, 3])
    @over("signed", [True, False])
    @over("with_scores", [False, True])
    def test_agrees_with_the_enumeration(self, random_grammar, signed, n_states, with_scores):
        for n_tokens in range(1, 6):
            operators = random_grammar(n_tokens, n_states=n_states, signed=signed)
            rng, n = np.random.default_rng(n_tokens), n_tokens + 1
            codes, arcs, stops = rng.integers(4, size=n_tokens), np.ones((n, n)), np.ones((n, 2))
            scores = {}
            if with_scores:
                arcs, stops = rng.uniform(0.1, 2, size=(n, n)), rng.uniform(0.1, 2, size=(n, 2))
                arcs[0, 1] = 0.0 if n_tokens > 1 else 1.0
                scores = {"arc_scores": arcs, "stop_scores": stops}
            result = inside_outside(operators, codes, **scores)
            factors = {"arc_memory": arcs[:, 1:].T[..., None], "stop_memory": stops[1:, :, None]}
            expected = oracles.enumerate_uses(operators, codes, **factors)
            log_abs_z = expected.log_abs_z + np.log(stops[0, 1])  # the sequence of the root
            assert result.sign == expected.sign
            assert_allclose(result.log_abs_z, log_abs_z, rtol=1e-9, atol=1e-9)
            assert_allclose(result.marginals, expected.arcs, rtol=1e-8, atol=1e-9)
            assert_all_close(result.counts, expected.counts, rtol=1e-8, atol=1e-9)

    def test_without_a_tree_nothing_is_known(self, random_grammar):
        operators = random_grammar(0, n_states=2)
        stops = np.ones((3, 2))
        stops[0, 1] = 0.0
        for scores in ({"arc_scores": np.zeros((3, 3))}, {"stop_scores": stops}):
            result = inside_outside(operators, [0, 1], **scores)
            assert (result.sign, result.log_abs_z) == (0.0, -np.inf)
            assert all(np.isnan(part).all() for part in (result.marginals, *result.counts))


def test_losses_out_of_range_are_infinite():
    """And no excellent step for who minimises them."""
    weights, known = np.ones(1), np.array([2, 0, 2])
    potentials = check_potentials(Potentials(np.array([0, 3]), arcs=np.zeros(12)), None)
    packed = replace(grammar_of_arcs("projective"), fast=None)  # of which all is out of range
    losses, _ = sum_up_losses(packed, potentials, known, weights)
    assert losses.tolist() == [np.inf]
