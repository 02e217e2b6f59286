"""Expectation maximisation: the E step, monotone likelihood, starts, stopping."""

import itertools
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_equal
from scipy import special, stats
from sklearn.exceptions import ConvergenceWarning

from sklearn_shag import EMSHAG, DeterministicSHAG
from sklearn_shag.automata import _expectation, moments_start, random_start
from sklearn_shag.automata._expectation import expected_uses
from sklearn_shag.encoding import encode_trees
from sklearn_shag.learning._deterministic import deterministic_automaton
from sklearn_shag.learning._em import deterministic_start
from sklearn_shag.operators import Operators, exact_moments, operators_from_counts
from sklearn_shag.sequences import (
    build_prefix_trees,
    collapse_sequences,
    collect_statistics,
    extract_sequences,
    pair_moments,
    take_sequences,
)
from tests.loops import assert_all_close, over
from tests.oracles import sequence_uses
from tests.test_operators import as_sequences, random_automaton, string_values
from tests.test_sequences import N_SYMBOLS, POOL, as_tuples, flatten, random_treebank

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def one_pair(strings, weights):
    """Sequences of head 0 to the left."""
    return as_sequences([(0, 0)] * len(strings), strings)._replace(weights=np.asarray(weights))


def zeros_like(automaton):
    return Operators(*(np.zeros_like(part) for part in automaton))


def naive_uses(automaton, strings, weights):
    """Uses of every entry, path by path: all state sequences of every string."""
    n_states = automaton.alpha_1.size
    uses, log_likelihood = zeros_like(automaton), 0.0
    for string, weight in zip(strings, weights, strict=True):
        paths = {}
        for path in itertools.product(range(n_states), repeat=len(string) + 1):
            probability = automaton.alpha_1[path[0]] * automaton.alpha_inf[path[-1]]
            for t, symbol in enumerate(string):
                probability *= automaton.A[symbol, path[t + 1], path[t]]
            paths[path] = probability
        total = sum(paths.values())
        log_likelihood += weight * np.log(total)
        for path, probability in paths.items():
            share = weight * probability / total
            uses.alpha_1[path[0]] += share
            uses.alpha_inf[path[-1]] += share
            for t, symbol in enumerate(string):
                uses.A[symbol, path[t + 1], path[t]] += share
    return uses, log_likelihood


@pytest.mark.parametrize("n_states", [1, 2, 3])
def test_expected_uses_agree_with_the_enumeration_of_state_paths(n_states):
    rng = np.random.default_rng(n_states)
    automaton = random_automaton(rng, n_symbols=3, n_states=n_states)
    strings = [rng.integers(3, size=rng.integers(5)).tolist() for _ in range(12)]
    strings += strings[:4]
    weights = rng.uniform(0.5, 3, size=len(strings))
    tree = build_prefix_trees(one_pair(strings, weights), 3)[0]
    found = zeros_like(automaton)
    log_likelihood = expected_uses(automaton, tree, found)
    expected, expected_log = naive_uses(automaton, strings, weights)
    assert_allclose(log_likelihood, expected_log, rtol=1e-12)
    assert_all_close(found, expected, rtol=1e-10, atol=1e-13)


def test_long_sequences_do_not_underflow():
    """The likelihood is e^-3000; three sequences share the beginning of the longest."""
    rng = np.random.default_rng(0)
    automaton = random_automaton(rng, n_symbols=50)
    longest = rng.integers(50, size=800).tolist()
    strings, weights = [longest, longest[:500], [*longest[:600], 0]], [1.0, 2.5, 0.5]
    tree = build_prefix_trees(one_pair(strings, weights), 50)[0]
    found = zeros_like(automaton)
    log_likelihood = expected_uses(automaton, tree, found)
    parts = [sequence_uses(automaton, string) for string in strings]
    assert parts[0][1] < -3000
    expected = sum(weight * total for weight, (_, total) in zip(weights, parts, strict=True))
    assert_allclose(log_likelihood, expected, rtol=1e-12)
    for k, one in enumerate(found):
        uses = sum(weight * part[k] for weight, (part, _) in zip(weights, parts, strict=True))
        assert_allclose(one, uses, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_prefix_trees_hold_the_collapsed_sequences(seed):
    sequences = extract_sequences(*flatten(random_treebank(seed, projective=False)), N_SYMBOLS)
    trees = build_prefix_trees(sequences, N_SYMBOLS)
    read = []
    for pair, tree in enumerate(trees):
        assert (tree.parent[1:] < np.arange(1, tree.parent.size)).all()
        children = list(zip(tree.parent[1:], tree.symbol[1:], strict=True))
        assert len(set(children)) == len(children)
        for v in np.flatnonzero(tree.weight):
            path, u = [], v
            while u > 0:
                path.append(int(tree.symbol[u]))
                u = tree.parent[u]
            read.append((*divmod(pair, 2), tuple(path[::-1]), float(tree.weight[v])))
    own = [item for item in as_tuples(collapse_sequences(sequences)) if item[0] < POOL]
    pooled = {}
    for _, direction, string, weight in own:
        pooled[direction, string] = pooled.get((direction, string), 0.0) + weight
    assert sorted(read) == sorted(
        own + [(POOL, direction, string, w) for (direction, string), w in pooled.items()]
    )


@over("init", ["random", "moments", "deterministic"])
@over("smoothing", [0.0, 2.0])
def test_likelihood_never_falls_and_automata_stay_proper(english, init, smoothing):
    for seed in range(3 if init == "random" else 1):
        model = EMSHAG(4, init=init, smoothing=smoothing, max_iter=30, tol=0, random_state=seed)
        model.fit(english)
        if smoothing == 0:  # with a prior it is the objective that rises, and is checked in fit
            gains = -np.diff(model.loss_curve_)
            assert gains.min() > -1e-6
        assert_proper(model)


def assert_proper(model):
    operators = Operators(*(part[:-1] for part in model.operators_))
    assert min(part.min() for part in operators) >= 0
    assert_allclose(operators.alpha_1.sum(axis=-1), 1.0, rtol=1e-9)
    leaving = operators.alpha_inf + operators.A[:, :, :-1].sum(axis=(2, 3))
    used = leaving > 0
    assert used.any(axis=-1).all()
    assert_allclose(leaving[used], 1.0, rtol=1e-9)


def test_the_support_of_the_first_modifier_automaton_leads_to_it(english):
    expected = DeterministicSHAG("first").fit(english).operators_
    rng = np.random.default_rng(0)
    start = Operators(
        expected.alpha_1,
        rng.uniform(0.1, 1, size=expected.alpha_inf.shape),
        (expected.A > 0) * rng.uniform(0.1, 1, size=expected.A.shape),
    )
    model = EMSHAG(2, init=start, max_iter=1).fit(english)
    for one, other in zip(model.operators_, expected, strict=True):
        assert_allclose(one[:-1], other[:-1], rtol=1e-9, atol=1e-12)


def test_random_starts_are_those_of_the_paper():
    """All states emit alike, by relative frequency; T and the vectors are random."""
    moments = exact_moments(random_automaton(np.random.default_rng(1), n_symbols=4))
    start = random_start(moments.bigrams, 3, np.random.RandomState(0))
    emitted = start.A.sum(axis=1) / start.A.sum(axis=(0, 1))
    relative = moments.bigrams[:-1].sum(axis=1) / moments.bigrams[:-1].sum()
    assert_allclose(emitted, np.repeat(relative[:, None], 3, axis=1), rtol=1e-9)
    transitions = start.A / start.A.sum(axis=1, keepdims=True)
    assert_allclose(transitions, np.broadcast_to(transitions[:1], start.A.shape), rtol=1e-9)
    assert np.ptp(start.alpha_inf) > 0.01


def test_random_starts_are_drawn_uniformly():
    """Stopping probabilities from (0, 1), distributions of states from the simplex."""
    moments = exact_moments(random_automaton(np.random.default_rng(1), n_symbols=2))
    rng = np.random.RandomState(0)
    starts = [random_start(moments.bigrams, 3, rng) for _ in range(1000)]
    stops = np.ravel([start.alpha_inf for start in starts])
    moves = np.array([start.A.sum(axis=0) for start in starts])
    following = moves / moves.sum(axis=1, keepdims=True)
    # One coordinate of a uniform point of the simplex of three has the distribution Beta(1, 2).
    for drawn, distribution in (
        (stops, stats.uniform()),
        (np.array([start.alpha_1[0] for start in starts]), stats.beta(1, 2)),
        (following[:, 0].ravel(), stats.beta(1, 2)),
        (following[:, 2].ravel(), stats.beta(1, 2)),
    ):
        # Up to the uniform share, which all starts have.
        assert stats.kstest(drawn, distribution.cdf).statistic < 1.6 / np.sqrt(drawn.size)


@pytest.mark.parametrize("n_states", [1, 2, 5, 7])
def test_deterministic_starts_are_relative_frequencies(n_states):
    """Few states are those of a classical automaton, all there are those of the sibling one."""
    moments = exact_moments(random_automaton(np.random.default_rng(2), n_symbols=4, n_states=3))
    start = deterministic_start(moments, n_states)
    automaton = {1: "single", 2: "first"}.get(n_states, "sibling")
    expected = deterministic_automaton(moments, automaton)
    # A thousandth of each start is uniform.
    assert_allclose(string_values(start, 3), string_values(expected, 3), rtol=0.02, atol=1e-6)


def two_means(points, weights):
    """The best of all divisions of points into two clusters, by weighted squares."""

    def spread(chosen):
        center = np.average(points[chosen], axis=0, weights=weights[chosen])
        return weights[chosen] @ ((points[chosen] - center) ** 2).sum(axis=1)

    subsets = [
        np.array([0, *rest]) for k in range(4) for rest in itertools.combinations(range(1, 5), k)
    ]
    divisions = [(one, np.setdiff1d(np.arange(5), one)) for one in subsets]
    return min(divisions, key=lambda division: sum(map(spread, division)))


def test_deterministic_starts_merge_modifiers_that_are_followed_alike():
    """Clusters of previous modifiers, by how often they are seen: against all divisions."""
    n_by_weight = 0
    for seed in range(12):
        moments = exact_moments(
            random_automaton(np.random.default_rng(seed), n_symbols=5, n_states=4)
        )
        count = moments.bigrams[:, :-1].sum(axis=0)
        following = (moments.bigrams[:, :-1] / count).T
        division = two_means(following, count)
        start = deterministic_start(moments, 3)
        state_of = start.A.sum(axis=2).argmax(axis=1)
        assert set(state_of) == {1, 2}  # 0 is the state before the first modifier
        assert start.alpha_1.argmax() == 0
        for states in division:
            assert np.ptp(state_of[states]) == 0
        n_by_weight += not np.array_equal(division, two_means(following, np.ones(5)))
    assert n_by_weight > 3


@pytest.mark.parametrize("n_states", [1, 5])
def test_starts_are_proper_and_give_everything_seen_a_probability(n_states, english):
    for automaton_seed in range(3):
        moments = exact_moments(
            random_automaton(np.random.default_rng(automaton_seed), n_symbols=4)
        )
        for start in (
            random_start(moments.bigrams, n_states, np.random.RandomState(0)),
            moments_start(moments.bigrams, n_states),
            deterministic_start(moments, n_states),
        ):
            assert start.alpha_1.shape == (n_states,)
            assert_allclose(start.alpha_1.sum(), 1.0, rtol=1e-12)
            assert_allclose(start.alpha_inf + start.A.sum(axis=(0, 1)), 1.0, rtol=1e-12)
            assert start.A.min() > 0


def test_moments_start_close_to_the_truth():
    """States that the last symbol tells apart: the factorisation has little to lose."""
    errors = {}
    for seed in range(5):
        moments = exact_moments(random_automaton(np.random.default_rng(seed), n_symbols=4))
        starts = {
            "random": random_start(moments.bigrams, 2, np.random.RandomState(0)),
            "moments": moments_start(moments.bigrams, 2),
        }
        for name, start in starts.items():
            error = np.abs(exact_moments(start).bigrams - moments.bigrams).sum()
            errors.setdefault(name, []).append(error)
    assert np.mean(errors["moments"]) < 0.2 * np.mean(errors["random"])


def test_accuracy_on_english(treebank):
    data = treebank("UD_English-EWT")
    model = EMSHAG(12, init="moments", max_iter=100).fit(data.train)
    assert model.score(data.dev) >= 0.728


def test_convergence_is_reported(english):
    message = r"of 30 automata have not converged after max_iter=2 .* start with init='moments'\.$"
    with pytest.warns(ConvergenceWarning, match=message) as caught:
        model = EMSHAG(3, max_iter=2, tol=0, random_state=0).fit(english)
    assert caught[0].filename == __file__
    assert not model.converged_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = EMSHAG(3, max_iter=500, random_state=0).fit(english)
    assert model.converged_
    assert model.n_iter_ < 500
    assert len(model.loss_curve_) == model.n_iter_ + 1


@pytest.mark.parametrize("values", [[-1.0, -2.0], [-1.0, np.nan], [np.nan]])
def test_falling_likelihoods_are_errors(english, monkeypatch, values):
    given = iter(itertools.cycle(values))
    monkeypatch.setattr(_expectation, "expected_uses", lambda *args: next(given))
    with pytest.raises(ArithmeticError, match=r"modifiers of the head .*: EM iteration"):
        EMSHAG(2, random_state=0).fit(english)


def em_by_hand(start, tree, n_iterations, prior=None):
    """The automata after 0, 1, ... iterations, their log likelihoods, and these with the prior."""
    prior = prior or zeros_like(start)
    automata, log_likelihoods, objectives = [start], [], []
    while True:
        counts = Operators(*map(np.copy, prior))
        log_likelihoods.append(expected_uses(automata[-1], tree, counts))
        log_prior = sum(map(np.sum, map(special.xlogy, prior, automata[-1])))
        objectives.append(log_likelihoods[-1] + log_prior)
        if len(automata) > n_iterations:
            return automata, np.array(log_likelihoods), objectives
        automata.append(operators_from_counts(counts))


def first_small_gain(objectives, tol, tree):
    """The iteration that gains no more than `tol` per sequence, or the last; if there is one."""
    small = np.diff(objectives) <= tol * tree.weight.sum()
    return min(1 + int(np.append(small, True).argmax()), small.size), small.any()


def automaton_of(model, pair):
    """What was learned of a head and a direction, but for unknown modifiers."""
    alpha_1, alpha_inf, A = (part[divmod(pair, 2)] for part in model.operators_)
    return Operators(alpha_1, alpha_inf, A[:-1])


def encode(trees):
    """Symbols, sequences and statistics of trees, counted as `fit` counts them."""
    encoded = encode_trees(trees)
    sequences = extract_sequences(
        encoded.codes, encoded.heads, encoded.indptr, encoded.symbols.size
    )
    return encoded.symbols.size, sequences, collect_statistics(sequences, encoded.symbols.size)


def seeds_and_generator(random_state, n_symbols):
    rng = np.random.RandomState(random_state)
    return rng.randint(np.iinfo(np.int32).max, size=2 * (n_symbols + 1)), rng


def uses_of_a_sequence(automaton):
    """Expected uses of each entry by one sequence that the automaton generates, step by step."""
    uses, state = zeros_like(automaton), automaton.alpha_1
    uses.alpha_1[:] = state
    for _ in range(3000):
        uses.alpha_inf[:] += automaton.alpha_inf * state
        uses.A[:] += automaton.A * state
        state = automaton.A.sum(axis=0) @ state
    return uses


@pytest.mark.parametrize(
    ("smoothing", "tol", "max_iter"), [(0.0, 0.005, 40), (2.0, 0.005, 40), (2.0, 0.0, 4)]
)
def test_fit_is_em_by_hand(english, smoothing, tol, max_iter):
    """Start, prior, both steps and the end, of every head and direction."""
    trees = english[:150]
    options = {"init": "moments", "smoothing": smoothing, "tol": tol, "max_iter": max_iter}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = EMSHAG(3, **options).fit(trees)
    n_symbols, sequences, statistics = encode(trees)
    prefix_trees = build_prefix_trees(sequences, n_symbols)
    priors, logs, lengths, n_moving = [None, None], [], [], 0
    pools = [2 * n_symbols, 2 * n_symbols + 1]
    for pair in [*pools, *range(2 * n_symbols)]:
        head, direction = divmod(pair, 2)
        moments = pair_moments(statistics, head, direction, smoothing)
        prior = priors[direction] if head < n_symbols else None
        start, tree = moments_start(moments.bigrams, 3), prefix_trees[pair]
        automata, log_likelihoods, objectives = em_by_hand(start, tree, max_iter, prior)
        last, converged = first_small_gain(objectives, tol, tree)
        automaton = automata[last]
        assert_all_close(automaton_of(model, pair), automaton, rtol=1e-7, atol=1e-12)
        assert_allclose(automaton_of(model, pair).alpha_1, automaton.alpha_1, rtol=1e-8)
        if head == n_symbols:
            if smoothing:
                uses = uses_of_a_sequence(automaton)
                priors[direction] = Operators(*(smoothing * part for part in uses))
            continue
        lengths.append(last + 1)
        logs.append(np.pad(log_likelihoods[: last + 1], (0, max_iter - last), "edge"))
        n_moving += not converged
    assert len(set(lengths)) >= (5 if tol else 1)
    assert model.n_iter_ == max(lengths) - 1
    assert_allclose(model.loss_curve_, -np.sum(logs, axis=0)[: max(lengths)], rtol=1e-9)
    assert model.converged_ == (n_moving == 0)
    said = [str(one.message) for one in caught]
    message = (
        f"{n_moving} of {2 * n_symbols} automata have not converged after max_iter={max_iter} "
        f"iterations. Raise max_iter or tol."
    )
    assert said == ([message] if n_moving else [])


def test_without_any_gain_an_automaton_has_converged(english):
    """One state is at its optimum after one step; then the likelihood is the same number."""
    model = EMSHAG(1, tol=0, max_iter=50, random_state=0).fit(english)
    assert model.converged_


def test_the_best_of_the_starts_is_kept(english):
    """Each start is run again on its own, step by step."""
    trees = english[:100]
    model = EMSHAG(3, n_init=4, max_iter=6, tol=0, random_state=5).fit(trees)
    n_symbols, sequences, statistics = encode(trees)
    seeds, _ = seeds_and_generator(5, n_symbols)
    best_starts, total = [], 0.0
    for pair, tree in enumerate(build_prefix_trees(sequences, n_symbols)):
        head, direction = divmod(pair, 2)
        rng = np.random.RandomState(seeds[pair])
        moments = pair_moments(statistics, head, direction)
        runs = [em_by_hand(random_start(moments.bigrams, 3, rng), tree, 6) for _ in range(4)]
        last = [log_likelihoods[-1] for _, log_likelihoods, _ in runs]
        best = int(np.argmax(last))
        total += last[best] * (head < n_symbols)  # the pool has seen these sequences too
        if np.ptp(last) > 1e-6:  # or all are the same but for rounding: there is one optimum
            best_starts.append(best)
            assert_equal(automaton_of(model, pair), runs[best][0][-1])
    assert set(best_starts) == set(range(4))
    assert_allclose(model.loss_curve_[-1], -total, rtol=1e-12)


def stopped_by_hand(start, tree, held_out, max_iter, patience):
    """What early stopping keeps, from which iteration, its quality, and all log likelihoods."""
    automata, log_likelihoods, _ = em_by_hand(start, tree, max_iter)
    kept = last = 0
    if held_out is None:
        kept = last = first_small_gain(log_likelihoods, 1e-3, tree)[0]
        return automata[kept], kept, log_likelihoods[kept], log_likelihoods[: last + 1]
    scores = [expected_uses(a, held_out, zeros_like(a)) for a in automata]
    while last < max_iter and last - kept < patience:
        last += 1
        if scores[last] > scores[kept]:
            kept = last
    return automata[kept], kept, scores[kept], log_likelihoods[: last + 1]


@pytest.mark.parametrize("patience", [1, 4])
def test_early_stopping_keeps_the_iteration_and_the_start_best_held_out(english, patience):
    """EM once more from every start, step by step: what is kept, and when it stops."""
    trees, max_iter, n_init = english[:250], 40, 3
    model = EMSHAG(
        6,
        n_init=n_init,
        early_stopping=True,
        validation_fraction=0.2,
        n_iter_no_change=patience,
        max_iter=max_iter,
        random_state=0,
    ).fit(trees)
    n_symbols, sequences, statistics = encode(trees)
    seeds, rng = seeds_and_generator(0, n_symbols)
    watched = rng.uniform(size=sequences.heads.size) < 0.2
    everything, learned, held_out = (
        build_prefix_trees(take_sequences(sequences, np.flatnonzero(chosen)), n_symbols)
        for chosen in (watched | True, ~watched, watched)
    )
    kept_at, log_likelihoods, n_less_likely = [], [], 0
    for pair in range(2 * (n_symbols + 1)):
        head, direction = divmod(pair, 2)
        if learned[pair].weight.size and held_out[pair].weight.size:
            split = learned[pair], held_out[pair]
        else:
            split = everything[pair], None
        moments = pair_moments(statistics, head, direction)
        rng = np.random.RandomState(seeds[pair])
        starts = [random_start(moments.bigrams, 6, rng) for _ in range(n_init)]
        runs = [stopped_by_hand(start, *split, max_iter, patience) for start in starts]
        best = int(np.argmax([quality for _, _, quality, _ in runs]))
        automaton, kept, _, logs = runs[best]
        assert_equal(automaton_of(model, pair), automaton)
        kept_at.append(kept)
        n_less_likely += best != np.argmax([logs[-1] for *_, logs in runs])
        if head < n_symbols:  # the pool is no head of its own
            log_likelihoods.append(logs)
    # Some are best at first, some at last, some between; what is best held out was often not the
    # most likely in training.
    assert len(set(kept_at)) >= 5
    assert n_less_likely >= 5
    assert model.n_iter_ == max(map(len, log_likelihoods)) - 1
    padded = [np.pad(logs, (0, model.n_iter_ + 1 - len(logs)), "edge") for logs in log_likelihoods]
    assert_allclose(model.loss_curve_, -np.sum(padded, axis=0), rtol=1e-12)


def test_smoothing_fills_the_zeros_of_a_start(english):
    """DET+F has zeros that the pool does not have; every entry of the pool gets its share."""
    start = DeterministicSHAG("first").fit(english).operators_
    uniform = EMSHAG(2, max_iter=0, init="moments").fit(english).operators_
    start = start._replace(
        A=np.where(start.A.sum(axis=(2, 3), keepdims=True) > 0, start.A, uniform.A)
    )
    model = EMSHAG(2, init=start, smoothing=1, max_iter=20).fit(english)
    assert_proper(model)
    assert len(model.loss_curve_) > 1
