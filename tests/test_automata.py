"""Automata of sequences, against enumeration and counts by hand."""

import itertools
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal, assert_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sklearn_shag import EMAutomaton, ModelFileError, SpectralAutomaton, load_model, save_model
from sklearn_shag.automata._base import build_prefix_tree
from sklearn_shag.automata._contexts import (
    EncodedSequences,
    choose_contexts,
    count_contexts,
    count_ngrams,
    list_gaps,
)
from sklearn_shag.automata._starts import spectral_starts
from sklearn_shag.datasets import make_sequences
from sklearn_shag.operators import Operators, total_mass
from tests.loops import compiled, over
from tests.test_operators import all_strings, random_automaton, string_values, value

START, STOP = "<", ">"


def short_automaton(seed):
    """One whose sequences are short: enumerated, they leave next to nothing."""
    return random_automaton(np.random.default_rng(seed), 2, 3, moving=(0.05, 0.15))


def enumerate_sequences(operators, longest):
    """All sequences up to a length, and their probabilities."""
    codes = list(map(list, all_strings(len(operators.A), longest)))
    return codes, string_values(operators, longest)


@pytest.fixture(scope="module")
def sequences():
    """Words over three letters, in which the next letter depends on more than the last one."""
    rng = np.random.default_rng(0)
    words = ("abc", "acb", "bca", "", "aab")
    parts = (rng.choice(words, size=rng.integers(4)) for _ in range(300))
    return [list("".join(part)) for part in parts]


@pytest.fixture(scope="module")
def models(sequences):
    return [SpectralAutomaton(4).fit(sequences), EMAutomaton(4, random_state=0).fit(sequences)]


def hankel_operators(operators, prefixes, suffixes, n_states, kind, longest=9):
    """Textbook: values of strings, beginnings or factors by enumeration, and their SVD."""
    counts = Counter()
    for x, p in zip(*enumerate_sequences(operators, longest), strict=True):
        starts = range(len(x) + 1) if kind == "factors" else [0]
        for i in starts:
            for j in [len(x)] if kind == "strings" else range(i, len(x) + 1):
                counts[tuple(x[i:j])] += p

    def block(*middle):
        return np.array([[counts[(*p, *middle, *s)] for s in suffixes] for p in prefixes])

    U, d, Vt = np.linalg.svd(block())
    U, d, V = U[:, :n_states], d[:n_states], Vt[:n_states].T
    A = [(U.T @ block(a) @ V / d[:, None]).T for a in range(len(operators.A))]
    start, stop = V.T @ block()[0], U.T @ block()[:, 0] / d
    rest = np.eye(n_states) - np.sum(A, axis=0)
    if kind != "strings":
        stop = rest.T @ stop
    if kind == "factors":
        start = rest @ start
    return Operators(start, stop, np.array(A))


@over("kind", ["strings", "beginnings", "factors"])
def test_moments_of_strings_of_ones_own_are_those_of_the_textbook(kind):
    truth = short_automaton(1)
    X, probabilities = enumerate_sequences(truth, 9)
    prefixes = [[], [0], [1], [0, 1], [1, 1]]
    suffixes = [[], [1], [0], [0, 0]]
    model = SpectralAutomaton(
        2,  # fewer states than the truth has: what is cut off depends on the strings
        scaling=0.0,
        shrinkage=0.0,
        mixing=0.0,
        prefixes=[p if kind == "factors" else [None, *p] for p in prefixes],
        suffixes=[[*s, None] if kind == "strings" else s for s in suffixes],
    ).fit(X, sample_weight=probabilities)
    if kind == "strings":
        own, textbook = model.operators_, hankel_operators(truth, prefixes, suffixes, 2, kind)
        assert_allclose(string_values(own, 5), string_values(textbook, 5), rtol=0, atol=1e-7)
    model = clone(model).set_params(n_states=3).fit(X, sample_weight=probabilities)
    assert model.operators_.alpha_1.size == 3
    expected = hankel_operators(truth, prefixes, suffixes, 3, kind)
    atol, exact = 1e-4 if kind == "factors" else 1e-6, string_values(truth, 5)
    assert_allclose(string_values(expected, 5), exact, rtol=0, atol=atol)
    assert_allclose(string_values(model.operators_, 5), exact, rtol=0, atol=1e-6)


def test_contexts_of_ones_own_by_their_count():
    X = [list("abab"), list("b"), [], list("aba")]
    gaps = list_gaps(encode([[0, 1, 0, 1], [1], [], [0, 1, 0]], np.ones(4)), 2, 1, 9)
    prefixes = [[], ["a"], ["b", "a"], [None, "a", "b"], ["z"]]
    suffixes = [["b", None], ["a", "b"], []]
    chosen = choose_contexts(gaps, prefixes, suffixes, np.array(["a", "b"], dtype=object))
    found, _, _ = count_contexts(chosen, np.ones(chosen.sequences.size))

    def count(prefix, suffix):
        padded = [[None, *x, None] for x in X]
        n, whole = len(prefix), [*prefix, *suffix]
        return sum(
            x[i : i + len(whole)] == whole
            for x in padded
            for i in range(max(0, 1 - n), len(x) - n)  # gaps are behind the start, before the end
        )

    rows, columns = [[None], *suffixes], [[None], *prefixes]
    assert_array_equal(found, [[count(p, s) for p in columns] for s in rows])


@over("max_context", [1, 2, 3])
@over("scaling", [0.0, 0.5])
def test_exact_moments_give_exact_probabilities(max_context, scaling):
    truth = short_automaton(1)
    X, probabilities = enumerate_sequences(truth, 12)
    assert_allclose(probabilities.sum(), 1.0, atol=1e-12)
    model = SpectralAutomaton(
        10, max_context=max_context, scaling=scaling, shrinkage=0.0, mixing=0.0
    ).fit(X, sample_weight=probabilities)
    # Rounding leaves more singular values than there are states.
    model = model.truncate(3)
    short = X[:100]
    assert_allclose(np.exp(model.score_samples(short)), probabilities[:100], rtol=0, atol=1e-9)
    found = model.predict_proba(short)
    for prefix, row in zip(short, found, strict=True):
        state = truth.alpha_1
        for code in prefix:
            state = truth.A[code] @ state
        state = state / state.sum()
        expected = [*(truth.A @ state).sum(axis=1), truth.alpha_inf @ state]
        assert_allclose(row, expected, rtol=0, atol=1e-6)


def encode(X, weights):
    indptr = np.cumsum([0, *map(len, X)])
    codes = np.array([symbol for sequence in X for symbol in sequence], dtype=np.int64)
    return EncodedSequences(codes, indptr, np.asarray(weights, dtype=float))


def names_of(numbers, n_contexts, X, length, is_behind):
    """The string of each context, read off where it stands."""
    names, g = [None] * n_contexts, 0
    for sequence in X:
        padded = [START, *sequence, STOP]
        for gap in range(len(sequence) + 1):
            for k, number in enumerate(numbers[g], start=1):
                if number >= 0:
                    own = (
                        padded[gap + 1 : gap + 1 + k]
                        if is_behind
                        else padded[gap + 1 - k : gap + 1]
                    )
                    assert names[number] in (None, tuple(own))
                    names[number] = tuple(own)
            g += 1
    assert g == len(numbers)
    return names


def test_weights_count_in_what_is_most_frequent():
    X, weights = [[0, 1], [2, 2], [2, 2]], np.array([5.0, 1.0, 1.0])
    gaps = list_gaps(encode(X, weights), 3, 1, 3)
    assert names_of(gaps.columns.numbers, 3, X, 1, False) == [(0,), (1,), (START,)]
    assert names_of(gaps.rows.numbers, 3, X, 1, True) == [(0,), (1,), (STOP,)]


def witten_bell(X, length, prefix):
    """Probabilities of what comes next, with contexts of up to a length, by recursion."""
    n_symbols = 3
    probabilities = np.full(n_symbols + 1, 1.0 / (n_symbols + 1))
    history = [START, *prefix]
    for k in range(min(length, len(history)) + 1):
        context, counts = history[len(history) - k :], np.zeros(n_symbols + 1)
        for sequence in X:
            padded = [START, *sequence]
            for t in range(1, len(padded) + 1):
                if t >= k and padded[t - k : t] == context:
                    counts[padded[t] if t < len(padded) else -1] += 1
        if not counts.any():
            break
        other = np.count_nonzero(counts)
        probabilities = (counts + other * probabilities) / (counts.sum() + other)
    return probabilities


@over("length", [1, 2, 3])
def test_n_grams_are_those_of_witten_and_bell(length):
    rng = np.random.default_rng(3)
    X = [rng.integers(3, size=rng.integers(6)).tolist() for _ in range(40)]
    model = SpectralAutomaton(1, max_context=length, n_contexts=1000, mixing=1.0).fit(X)
    prefixes = list(map(list, all_strings(3, 4)))
    expected = [witten_bell(X, length, prefix) for prefix in prefixes]
    assert_allclose(model.predict_proba(prefixes), expected, rtol=1e-12)


def test_n_grams_go_on_with_a_shorter_context_where_few_are_kept():
    rng = np.random.default_rng(4)
    X = [rng.integers(3, size=6).tolist() for _ in range(50)]
    gaps = list_gaps(encode(X, np.ones(50)), 3, 3, 9)
    ngrams = count_ngrams(gaps, np.ones(50), 1.0)
    names = names_of(gaps.columns.numbers, 9, X, 3, False)
    names = [(), *names]
    for number, name in enumerate(names):
        for symbol in range(3):
            string = (*name, symbol)
            suffixes = [string[k:] for k in range(len(string) + 1)]
            longest = next(suffix for suffix in suffixes if suffix in names)
            assert names[ngrams.following[number, symbol]] == longest
        assert ngrams.following[number, 3] == 0
    assert names[int(ngrams.start)] == (START,)


def test_scores_are_sums_of_conditionals_and_these_sum_to_one(models, sequences):
    X = [*sequences[:20], [], list("cccccc"), ["a", "unknown", "b"]]
    for model in models:
        for sequence, score in zip(X, model.score_samples(X), strict=True):
            prefixes = [sequence[:k] for k in range(len(sequence) + 1)]
            probabilities = model.predict_proba(prefixes)
            assert probabilities.min() >= 0
            assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
            total = 0.0
            for symbol, row in zip([*sequence, None], probabilities, strict=True):
                known = {**dict(zip("abc", row, strict=False)), None: row[-1]}
                total += np.log(known.get(symbol, row[:-1].sum()))
            assert_allclose(score, total, rtol=1e-12)
        assert_allclose(model.predict_log_proba(X), np.log(model.predict_proba(X)), rtol=1e-12)
        n_outcomes = sum(map(len, sequences)) + len(sequences)
        total = model.score_samples(sequences).sum()
        assert_allclose(model.perplexity(sequences), np.exp(-total / n_outcomes))
        assert_allclose(model.score(sequences), total / len(sequences))


def test_probabilities_of_em_are_those_of_its_operators(sequences):
    model = EMAutomaton(3, tol=0.01, random_state=0).fit(sequences)
    codes = {"a": 0, "b": 1, "c": 2}
    X = sequences[:50]
    expected = [value(model.operators_, [codes[x] for x in sequence]) for sequence in X]
    assert_allclose(np.exp(model.score_samples(X)), expected, rtol=1e-10)
    alpha_1, alpha_inf, A = model.operators_
    assert_allclose(alpha_inf + A.sum(axis=(0, 1)), 1.0)
    state = alpha_1
    for symbol in X[5]:
        state = A[codes[symbol]] @ state
    assert_allclose(model.transform([X[5]])[0], state / state.sum(), rtol=1e-10)


def test_likelihoods_of_em_never_fall(sequences):
    model = EMAutomaton(5, smoothing=0.0, init="random", random_state=1, tol=0.0, max_iter=30)
    with pytest.warns(ConvergenceWarning, match="not converged after max_iter=30"):
        model.fit(sequences)
    assert (np.diff(model.loss_curve_) < 1e-9).all()
    assert_allclose(-model.loss_curve_[-1], model.score_samples(sequences).sum(), rtol=1e-10)
    assert (model.n_iter_, model.converged_) == (30, False)


def test_more_starts_and_warm_ones_are_no_worse(sequences):
    def fit(**params):
        return EMAutomaton(4, smoothing=0.0, random_state=0, tol=0.01, **params).fit(sequences)

    single = fit(init="random")
    assert fit(init="random", n_init=4).score(sequences) >= single.score(sequences)
    again = clone(single).set_params(warm_start=True).fit(sequences)
    last = again.score(sequences)
    assert again.fit(sequences).score(sequences) >= last - 1e-12
    begun = EMAutomaton(4, init=single.operators_, smoothing=0.0, max_iter=0, tol=1e300)
    with pytest.warns(ConvergenceWarning):
        begun.fit(sequences)
    assert begun.n_iter_ == 0
    assert_allclose(begun.score(sequences), single.score(sequences), rtol=1e-12)


@compiled
@pytest.mark.parametrize(
    ("kind", "n_states", "n_symbols", "mean_length", "seed"),
    [
        ("deterministic", 6, 2, 27, 6518),  # contexts of three symbols do not tell the states
        ("deterministic", 6, 3, 17, 6503),
        ("deterministic", 10, 7, 10, 6509),
        ("hmm", 6, 3, 15, 6517),
        ("nondeterministic", 6, 3, 11, 6520),
    ],
)
def test_em_comes_near_to_the_truth(kind, n_states, n_symbols, mean_length, seed):
    """Also where the last symbols do not tell the state."""
    X, truth = make_sequences(
        12_000,
        n_states,
        n_symbols=n_symbols,
        kind=kind,
        density=0.9 if n_symbols < 4 and kind == "deterministic" else 0.5,
        mean_length=mean_length,
        random_state=seed,
        return_operators=True,
    )
    train, test = X[:10_000], X[10_000:]
    best = EMAutomaton.from_operators(truth).perplexity(test)
    model = EMAutomaton(n_states, tol=1e-3).fit(train)
    assert model.perplexity(test) < 1.01 * best
    # Nothing is drawn: one start after the other gives the same automaton.
    if kind == "hmm":
        assert_array_equal(
            EMAutomaton(n_states, tol=1e-3).fit(train).operators_.A, model.operators_.A
        )


def list_spectral_starts(X, n_states, n_symbols):
    sequences = encode(X, np.ones(len(X)))
    counts = [*np.bincount(sequences.codes, minlength=n_symbols), len(X)]
    outcomes = np.array(counts) / np.sum(counts)
    return spectral_starts(sequences, build_prefix_tree(sequences), outcomes, n_states, 400)


@compiled
def test_groups_of_states_are_those_of_a_deterministic_automaton():
    made = {"n_symbols": 3, "kind": "deterministic", "density": 0.9, "mean_length": 17.0}
    X, truth = make_sequences(5000, 6, random_state=6503, return_operators=True, **made)
    grouped, cornered = list_spectral_starts(X, 6, 3)
    for start in (grouped, cornered):
        assert_allclose(start.alpha_1.sum(), 1.0)
        assert_allclose(start.alpha_inf + start.A.sum(axis=(0, 1)), 1.0)
    # Nearly all of each symbol leads to one group.
    uses = grouped.A.max(axis=1) / grouped.A.sum(axis=1)
    assert np.average(uses, weights=grouped.A.sum(axis=1)) > 0.85
    scores = [EMAutomaton.from_operators(each).score(X) for each in (grouped, truth)]
    assert scores[0] > scores[1] - 0.5


@compiled
def test_corners_are_the_states_of_an_automaton_that_shows_them():
    """Each symbol leads to one state, so that all states are seen, and no other corners."""
    hmm = np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6]])
    truth = EMAutomaton.from_hmm([0.5, 0.3, 0.2], hmm, np.eye(3), endprob=0.2).operators_
    X = EMAutomaton.from_operators(truth).sample(5000, random_state=0)
    _, cornered = list_spectral_starts(X, 4, 3)
    scores = [EMAutomaton.from_operators(each).score(X) for each in (cornered, truth)]
    assert scores[0] > scores[1] - 0.1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_better_start_goes_on(sequences):
    """The curve is that of one run, from its own start on."""
    codes = [["abc".index(symbol) for symbol in x] for x in sequences]
    params = {"smoothing": 0.0, "tol": 0.0}
    model = EMAutomaton(4, max_iter=25, **params).fit(codes)
    alone = [
        EMAutomaton(4, max_iter=25, init=start, **params).fit(codes)
        for start in list_spectral_starts(codes, 4, 3)
    ]
    assert len(model.loss_curve_) == 26
    assert (np.diff(model.loss_curve_) < 1e-9).all()
    best = min(alone, key=lambda run: run.loss_curve_[10])
    assert_allclose(model.loss_curve_, best.loss_curve_, rtol=1e-9)


@pytest.mark.parametrize(
    "model", [SpectralAutomaton(3, mixing=0.1), EMAutomaton(3, max_iter=5, tol=1.0)], ids=str
)
def test_weights_are_repetitions(model, sequences):
    weights = np.arange(len(sequences)) % 4
    weighted = clone(model).fit(sequences, sample_weight=weights)
    repeated = [x for x, w in zip(sequences, weights, strict=True) for _ in range(w)]
    expected = clone(model).fit(repeated)
    found = weighted.score_samples(sequences)
    assert_allclose(found, expected.score_samples(sequences), rtol=1e-8)
    score = weighted.score(sequences, sample_weight=weights)
    assert_allclose(score, expected.score(repeated), rtol=1e-8)


def test_fewer_states_are_leading_blocks(sequences):
    largest = SpectralAutomaton(6, mixing=0.2).fit(sequences)
    for n_states in (1, 3, 6):
        cut = largest.truncate(n_states)
        own = SpectralAutomaton(n_states, mixing=0.2).fit(sequences)
        assert_equal(cut.operators_, own.operators_)
        assert_array_equal(cut.score_samples(sequences), own.score_samples(sequences))
        assert cut.n_states == n_states


def test_the_share_of_n_grams_is_found_on_held_out_sequences(sequences):
    model = SpectralAutomaton(2).fit(sequences)
    train = [x for i, x in enumerate(sequences, start=1) if i % 10]
    test = sequences[9::10]

    def score(mixing):
        return SpectralAutomaton(2, mixing=mixing).fit(train).score_samples(test).sum()

    assert 0 < model.mixing_ < 1
    assert score(model.mixing_) > max(score(0.0), score(1.0)) - 5.0
    # Where nothing is held out, it is what is assumed before.
    assert_allclose(SpectralAutomaton(2).fit(sequences[:9]).mixing_, 0.1, atol=1e-4)


def outcomes_by_hand(model, ngrams, codes):
    """Probabilities of what comes after each prefix (eqs. 61 and 62), and where there is noise."""
    alpha_1, alpha_inf, A = model.operators_
    equation = np.eye(alpha_1.size) - A.sum(axis=0)
    mass = np.linalg.lstsq(equation.T, alpha_inf)[0]
    anywhere = A @ np.linalg.lstsq(equation, alpha_1)[0]
    anywhere = [state / (mass @ state) if mass @ state > 0 else 0 * state for state in anywhere]
    state, found, is_noisy = alpha_1, [], []
    for t in range(len(codes) + 1):
        for attempt in range(2):
            masses = np.array([*(mass @ A @ state), alpha_inf @ state])
            positive, negative = masses.clip(0).sum(), -masses.clip(max=0).sum()
            if attempt == 0 and t > 0 and negative > 1e-9 * positive:
                noise = min(3 * negative / positive, 1.0) if positive > 0 else 1.0
                state = (1 - noise) * state + noise * anywhere[codes[t - 1]]
                is_noisy.append(t)
        share = model.mixing_ if positive > 0 else 1.0
        own = masses.clip(0) / positive if positive > 0 else 0.0
        found.append((1 - share) * own + share * ngrams[t])
        if t < len(codes):
            moved = A[codes[t]] @ state
            state = moved / (mass @ moved) if mass @ moved > 0 else anywhere[codes[t]]
    return np.array(found), is_noisy


def test_what_is_negative_is_replaced(sequences):
    model = SpectralAutomaton(12, scaling=1.0, shrinkage=0.0, mixing=0.1).fit(sequences[:30])
    alone = clone(model).set_params(mixing=1.0).fit(sequences[:30])
    n_noisy = 0
    for codes in itertools.product(range(3), repeat=4):
        prefixes = [["abc"[code] for code in codes[:k]] for k in range(5)]
        expected, is_noisy = outcomes_by_hand(model, alone.predict_proba(prefixes), codes)
        assert_allclose(model.predict_proba(prefixes), expected, rtol=1e-5, atol=1e-7)
        n_noisy += len(is_noisy)
    assert n_noisy > 10


def test_n_grams_stand_in_where_nothing_is_possible():
    """Symbol 1 comes first only, so that behind it no other 1 is possible."""
    operators = Operators(
        np.array([1.0, 0.0]),
        np.array([0.0, 0.5]),
        np.array([[[0.0, 0.0], [0.0, 0.5]], [[0.0, 0.0], [1.0, 0.0]]]),
    )
    model = EMAutomaton.from_operators(operators)
    assert_allclose(model.predict_proba([[1]]), [[0.5, 0.0, 0.5]])
    assert_allclose(model.predict_proba([[0]]).sum(), 1.0)
    assert model.score_samples([[1, 1]])[0] == -np.inf
    stuck = operators._replace(alpha_inf=np.zeros(2), A=np.zeros((2, 2, 2)))
    assert_allclose(EMAutomaton.from_operators(stuck).predict_proba([[]]), 1 / 3)


def test_draws_have_their_probabilities(models):
    for model in models:
        drawn = model.sample(4000, random_state=0)
        assert drawn == model.sample(4000, random_state=0)
        counts = Counter(map(tuple, drawn))
        for sequence in [(), *[x for x, n in counts.most_common(5) if x]]:
            probability = np.exp(model.score_samples([list(sequence)])[0])
            deviation = np.sqrt(4000 * probability * (1 - probability))
            assert abs(counts[sequence] - 4000 * probability) < 4.5 * deviation
        assert max(map(len, model.sample(200, max_length=2, random_state=0))) == 2


def test_symbols_may_be_integers():
    def fit(X):
        return EMAutomaton(2, random_state=0, tol=0.1).fit(X)

    model = fit([[3, 1], [3], np.array([1, 3, 7]), (7,)])
    assert_array_equal(model.symbols_, [1, 3, 7])
    assert model.predict([[3, 1]]).dtype == object
    assert isinstance(model.sample(5, random_state=0)[0], list)
    rows, lists = fit(np.array([[1, 3], [7, 1]])), fit([[1, 3], [7, 1]])
    assert_array_equal(rows.score_samples([[1, 3]]), lists.score_samples([[1, 3]]))


def test_one_symbol_is_enough():
    for model in (SpectralAutomaton(), EMAutomaton(random_state=0)):
        model.fit([["a"], ["a", "a"], []])
        assert_allclose(model.predict_proba([[], ["a"] * 100]).sum(axis=1), 1.0)


def test_models_are_saved_and_loaded(models, sequences, tmp_path):
    own = SpectralAutomaton(3, prefixes=[["a"], ("b", "c")], suffixes=[["c", None]]).fit(sequences)
    integers = EMAutomaton(2, random_state=0, tol=0.1).fit([[1, 2], [2]])
    for model, X in [*((model, sequences) for model in [*models, own]), (integers, [[2, 1]])]:
        save_model(model, tmp_path / "model.npz")
        loaded = load_model(tmp_path / "model.npz")
        assert loaded.get_params() == model.get_params()
        assert_array_equal(loaded.score_samples(X), model.score_samples(X))
        assert loaded.symbols_.dtype == model.symbols_.dtype
        assert vars(loaded).keys() == vars(model).keys()


def random_hmm(seed, n_states=3, n_symbols=4):
    rng = np.random.default_rng(seed)
    start = rng.dirichlet(np.ones(n_states))
    moves = rng.dirichlet(np.ones(n_states), size=n_states)
    return start, moves, rng.dirichlet(np.ones(n_symbols), size=n_states)


def test_hidden_markov_models_by_the_enumeration_of_paths():
    start, moves, emissions = random_hmm(0)
    end = np.array([0.2, 0.5, 0.3])
    model = EMAutomaton.from_hmm(start, moves, emissions, endprob=end)
    X = [[0], [1, 3], [2, 2, 0], [3, 1, 0, 2]]
    scores, states = model.score_samples(X), model.state_probabilities(X)
    for sequence, score, found in zip(X, scores, states, strict=True):
        total, visits = 0.0, np.zeros((len(sequence), 3))
        for path in itertools.product(range(3), repeat=len(sequence)):
            p = start[path[0]] * end[path[-1]]
            for one, other in itertools.pairwise(path):
                p *= (1 - end[one]) * moves[one, other]
            p *= np.prod(emissions[list(path), sequence])
            total += p
            visits[np.arange(len(path)), list(path)] += p
        assert_allclose(np.exp(score), total, rtol=1e-10)
        assert_allclose(found[:-1, :-1], visits / total, rtol=1e-9)
        assert_allclose(found[-1], [0, 0, 0, 1], atol=1e-12)
    hmm = model.to_hmm()
    expected = start, moves * (1 - end)[:, None], emissions, end
    for part, values in zip(hmm, expected, strict=True):
        assert_allclose(part, values)
    again = EMAutomaton.from_hmm(*hmm[:3], symbols=list("abcd"))
    assert_allclose(again.score_samples([list("bd")]), scores[1:2])
    # One number less than there are shares in each sum to 1.
    logs = scores.sum()
    assert_allclose(model.aic(X), 2 * (3 + 4 * 4 * 4) - 2 * logs)
    assert_allclose(model.bic(X), (3 + 4 * 4 * 4) * np.log(10 + 4) - 2 * logs)


def test_models_of_hmmlearn_are_taken_and_given_back():
    hmm = pytest.importorskip("hmmlearn.hmm")
    peer = hmm.CategoricalHMM(3)
    peer.startprob_, peer.transmat_, peer.emissionprob_ = random_hmm(1)
    peer.n_features = 4
    model = EMAutomaton.from_hmmlearn(peer, 0.1, symbols=list("abcd"))
    X = [[0], [1, 3], [2, 2, 0], np.random.default_rng(0).integers(4, size=300).tolist()]
    lengths = np.array(list(map(len, X)))
    letters = [["abcd"[code] for code in x] for x in X]
    columns = [np.array(x)[:, None] for x in X]
    scores = [peer.score(x) for x in columns]
    expected = scores + (lengths - 1) * np.log(0.9) + np.log(0.1)
    assert_allclose(model.score_samples(letters), expected, rtol=1e-9)
    ends = expected - scores
    best = [peer.decode(x)[0] for x in columns]  # paths that are equally probable may differ
    assert_allclose(model.state_paths(letters)[1], best + ends, rtol=1e-9)
    for x, states in zip(columns, model.state_probabilities(letters), strict=True):
        assert_allclose(states[:-1, :-1], peer.predict_proba(x), rtol=1e-6, atol=1e-9)
    back = model.to_hmmlearn(hmm.CategoricalHMM())
    assert_allclose([back.score(x) for x in columns], scores, rtol=1e-9)
    back.fit(np.concatenate(columns), lengths)  # and it learns on
    # After a state that always ends, its rows still are distributions.
    last = EMAutomaton.from_hmm([1.0, 0.0], [[0.0, 1.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]])
    assert_allclose(last.to_hmmlearn(hmm.CategoricalHMM()).transmat_, [[0.0, 1.0], [0.5, 0.5]])
    for other in (hmm.GaussianHMM(3), hmm.CategoricalHMM(3), hmm.MultinomialHMM(3)):
        with pytest.raises(TypeError, match="hmm must be a fitted CategoricalHMM"):
            EMAutomaton.from_hmmlearn(other, 0.1)


def test_models_of_hmmlearn_by_their_attributes():
    """Without hmmlearn: any object with the attributes will do."""
    start, moves, emissions = random_hmm(2)
    peer = SimpleNamespace(startprob_=start, transmat_=moves, emissionprob_=emissions)
    model = EMAutomaton.from_hmmlearn(peer, [0.2, 0.5, 0.3])
    X = [[0], [1, 3, 2]]
    expected = EMAutomaton.from_hmm(start, moves, emissions, endprob=[0.2, 0.5, 0.3])
    assert_allclose(model.score_samples(X), expected.score_samples(X), rtol=1e-12)
    back = model.to_hmmlearn(SimpleNamespace())
    assert (back.n_components, back.n_features) == (3, 4)
    for name, values in vars(peer).items():
        assert_allclose(getattr(back, name), values, rtol=1e-9)


def path_probability(operators, codes, path):
    alpha_1, alpha_inf, A = operators
    A = [*A, A.sum(axis=0)]
    steps = zip(codes, path, path[1:], strict=False)
    moves = [A[code][after, before] for code, before, after in steps]
    return alpha_1[path[0]] * np.prod(moves) * alpha_inf[path[-1]]


def test_paths_of_states_by_enumeration():
    for seed in range(3):
        truth = short_automaton(seed)
        model = EMAutomaton.from_operators(truth)
        X = list(map(list, all_strings(3, 4)))
        paths, scores = model.state_paths(X)  # code 2 is unknown, and stands for any symbol
        for codes, path, score in zip(X, paths, scores, strict=True):
            every = itertools.product(range(3), repeat=len(codes) + 1)
            best = max(path_probability(truth, codes, other) for other in every)
            assert_allclose(path_probability(truth, codes, path), best, rtol=1e-12)
            assert_allclose(score, np.log(best), rtol=1e-12)


def test_paths_of_long_and_impossible_sequences():
    truth = short_automaton(0)
    (path,), (score,) = EMAutomaton.from_operators(truth).state_paths([[0] * 3000])
    assert np.isfinite(score)
    assert score < -3000  # no double has such a probability
    assert_array_equal(np.unique(path[500:2500]), np.unique(path[1000:2000]))
    stuck = truth._replace(A=np.stack([truth.A[0], np.zeros((3, 3))]))
    (none, empty), scores = EMAutomaton.from_operators(stuck).state_paths([[0, 1], []])
    assert (none.tolist(), scores[0]) == ([-1, -1, -1], -np.inf)
    assert empty == (truth.alpha_1 * truth.alpha_inf).argmax()
    # One path alone is possible: it has the whole probability.
    X, known = make_sequences(50, 6, kind="deterministic", random_state=0, return_operators=True)
    known = known._replace(alpha_1=np.eye(6)[0])
    model = EMAutomaton.from_operators(known)
    X = model.sample(50, random_state=0)
    paths, scores = model.state_paths(X)
    assert_allclose(scores, model.score_samples(X), rtol=1e-10)
    assert_equal(paths, [states.argmax(axis=1) for states in model.state_probabilities(X)])


def test_one_state_is_a_hidden_markov_model():
    single = EMAutomaton(1, tol=1.0).fit([["a", "b"], ["b"], []])
    again = EMAutomaton.from_hmm(*single.to_hmm()[:3], symbols=["a", "b"])
    X = [[], ["a"], ["b", "b"]]
    assert_allclose(again.score_samples(X), single.score_samples(X))


@over("kind", ["nondeterministic", "deterministic", "hmm"])
def test_made_sequences_have_the_probabilities_of_their_automaton(kind):
    made = {"n_states": 6, "n_symbols": 4, "mean_length": 5.0, "kind": kind, "random_state": 3}
    X, truth = make_sequences(5000, return_operators=True, **made)
    assert make_sequences(5000, **made) == X
    alpha_1, alpha_inf, A = truth
    assert_allclose(alpha_1.sum(), 1.0)
    assert_allclose(alpha_inf + A.sum(axis=(0, 1)), 1.0)
    assert_allclose(total_mass(truth), 1.0)
    lengths = np.array([len(sequence) for sequence in X])
    assert abs(lengths.mean() - 5.0) < 4 * lengths.std() / np.sqrt(5000)
    model = EMAutomaton.from_operators(truth)
    counts = Counter(map(tuple, X))
    for sequence, count in counts.most_common(5):
        probability = value(truth, sequence)
        assert_allclose(np.exp(model.score_samples([sequence])[0]), probability, rtol=1e-9)
        assert abs(count - 5000 * probability) < 4.5 * np.sqrt(5000 * probability)
    assert (np.count_nonzero(A, axis=1).max() == 1) == (kind == "deterministic")
    if kind == "hmm":
        model.to_hmm()


@over("part", ["alpha_1", "alpha_inf", "A"])
@over("size", [5e-324, 1e-200, 1e200])
def test_operators_of_any_size_give_probabilities(
    part,
    size,
):
    operators = short_automaton(3)
    strange = operators._replace(**{part: getattr(operators, part) * size})
    model = EMAutomaton.from_operators(strange)
    assert_allclose(model.predict_proba([[], [0], [0, 1, 1], [7]]).sum(axis=1), 1.0)
    assert np.isfinite(model.transform([[], [0]])).all()


def test_n_grams_of_a_file_sum_to_one(tmp_path, sequences):
    model = SpectralAutomaton(2, mixing=0.5).fit(sequences)
    model.ngrams_.probabilities[1] *= 0.5
    save_model(model, tmp_path / "model.npz")
    with pytest.raises(ModelFileError, match="ngrams_"):
        load_model(tmp_path / "model.npz")


def test_em_finds_the_share_of_n_grams():
    # N-grams know noise by heart that they have seen, and are of little use on what they have not.
    sequences = np.random.default_rng(0).integers(12, size=(100, 6)).tolist()
    model = EMAutomaton(1, mixing=None, random_state=0).fit(sequences)
    assert model.mixing_ < 0.5
    train, test = [x for i, x in enumerate(sequences, start=1) if i % 10], sequences[9::10]
    shares = np.linspace(0.01, 0.99, 25)
    # As if one outcome more had been seen, to a tenth one of the n-grams.
    scores = [
        clone(model).set_params(mixing=share).fit(train).score_samples(test).sum()
        + 0.1 * np.log(share)
        + 0.9 * np.log1p(-share)
        for share in shares
    ]
    assert abs(shares[np.argmax(scores)] - model.mixing_) < 0.1
    # The automaton itself is that of all sequences.
    alone = clone(model).set_params(mixing=0.0).fit(sequences)
    assert_array_equal(model.operators_.A, alone.operators_.A)
