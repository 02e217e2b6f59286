"""The dependency model with valence: its probabilities, EM, starts, rules and known heads."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import digamma, gammaln
from sklearn.pipeline import make_pipeline

from sklearn_shag import DMV, AveragedParser, DeterministicSHAG, DummyParser
from sklearn_shag.induction._valence import ValenceForm, ValenceModel, estimate_model, to_grammar
from sklearn_shag.parsing import Potentials, best_trees, chart
from sklearn_shag.treebank import TokenFeature
from tests import oracles
from tests.estimators import assert_same_model, same, without_relations
from tests.loops import assert_all_close, over
from tests.oracles import LEFT, RIGHT

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SENTENCES = [list("ABC"), list("BA"), ["A"], list("CABBA"), list("BCA"), list("BA"), list("AACB")]


def random_distributions(seed, form):
    rng = np.random.default_rng(seed)
    n, n_next = form.n_states, form.n_states if form.hidden else 1
    n_conditions = 1 if form.tied and not form.hidden else n
    starts = rng.dirichlet(np.ones(n), size=(4, 2))
    if not form.hidden:
        starts = np.broadcast_to([1.0, 0.0], (4, 2, 2))
    moves = rng.dirichlet(np.ones(3 * n_next), size=(4, 2, n_conditions))
    return ValenceModel(
        rng.dirichlet(np.ones(3)),
        starts,
        rng.dirichlet(np.ones(2), size=(4, 2, n)),
        moves.reshape(4, 2, n_conditions, 3, n_next),
    )


def klein_manning(distributions, codes, heads):
    """P(tree) by the recursion of the papers: stop or go, adjacent or not; a child given its head.

    Returns it with the uses (head, side, valence, outcome), -1 for STOP.
    """
    roots, _, stops, moves = distributions
    uses = []

    def generate(token):
        p, head = 1.0, codes[token - 1]
        for side in (LEFT, RIGHT):
            children = [m for m, h in enumerate(heads, start=1) if h == token]
            children = [m for m in children if (m < token) == (side == LEFT)]
            if side == LEFT:
                children = children[::-1]
            for place, child in enumerate(children):
                valence = int(place > 0)
                condition = min(valence, moves.shape[2] - 1)
                p *= stops[head, side, valence, 1]
                p *= moves[head, side, condition, codes[child - 1], 0] * generate(child)
                uses.append((head, side, valence, codes[child - 1]))
            valence = int(bool(children))
            p *= stops[head, side, valence, 0]
            uses.append((head, side, valence, -1))
        return p

    root = heads.index(0) + 1
    return roots[codes[root - 1]] * generate(root), uses


# The model


@over("tied", [True, False])
@over("n_tokens", range(1, 6))
def test_the_chart_sums_the_probabilities_of_klein_and_manning(n_tokens, tied):
    """Z, marginals, expected counts and the best tree, by enumeration."""
    form = ValenceForm(tied=tied)
    for seed in range(3):
        distributions = random_distributions(seed, form)
        codes = np.random.default_rng(seed).integers(3, size=n_tokens)
        values, counts = {}, np.zeros((3, 2, 2, 4))
        for heads in oracles.projective_trees(n_tokens):
            values[heads], uses = klein_manning(distributions, codes.tolist(), heads)
            for use in uses:
                counts[use] += values[heads]
        z, marginals = oracles.sum_trees([*values], [*values.values()])
        grammar = to_grammar(distributions, form)
        sentence = Potentials(np.array([0, n_tokens]), codes)
        found = chart(grammar, sentence, counts=True)
        assert_allclose(found.log_abs_z, np.log(z), atol=1e-12)
        assert_allclose(found.arcs.reshape(n_tokens, -1), marginals, atol=1e-12)
        assert_allclose(found.counts.alpha_inf[:3], counts[..., 3] / z, atol=1e-12)
        moved = found.counts.A[:3, :, :3].sum(axis=3)  # by head, side, modifier, valence
        assert_allclose(np.moveaxis(moved, 3, 2), counts[..., :3] / z, atol=1e-12)
        (best,), scores = best_trees(grammar, sentence)
        assert_allclose(scores, np.log(max(values.values())), atol=1e-12)
        assert_allclose(values[tuple(best.tolist())], max(values.values()), rtol=1e-12)


def test_uniform_trees_in_closed_form():
    """log Z = log #trees - N log V - (3N - 1) log 2: each token stops twice, and N - 1 go on."""
    model = DMV("uniform", max_iter=0).fit(SENTENCES)
    for sentence, found in zip(SENTENCES, model.log_likelihood(SENTENCES), strict=True):
        n, trees = len(sentence), oracles.projective_trees(len(sentence))
        n_trees, marginals = oracles.sum_trees(trees, np.ones(len(trees)))
        expected = np.log(n_trees) - n * np.log(3) - (3 * n - 1) * np.log(2)
        assert_allclose(found, expected, atol=1e-12)
        assert_allclose(model.predict_marginals([sentence])[0], marginals, atol=1e-9)


def test_probabilities_of_sentences_sum_to_one():
    """All sentences of a head that stops, or takes one modifier at once: others are longer."""
    model = DMV("random", prior=1, random_state=0).fit(SENTENCES)
    A, stops = model.operators_.A, model.operators_.alpha_inf
    assert_allclose(A[:4, :, :3].sum(axis=(2, 3)) + stops[:4], 1, atol=1e-12)
    assert_allclose(A[4, RIGHT, :3, 0, 0].sum(), 1, atol=1e-12)
    assert_array_equal(model.operators_.alpha_1[:4], np.broadcast_to([1.0, 0.0], (4, 2, 2)))
    tied = A[:3, :, :3, 1] / (1 - stops[:3, :, None])
    assert_allclose(tied[..., 0], tied[..., 1], atol=1e-12)
    assert len(model.sample(3, random_state=0)) == 3


# EM


RUNS = {
    "em": {},
    "no prior": {"prior": 0},
    "untied": {"tied": False, "prior": 1},
    "viterbi": {"algorithm": "viterbi"},
    "viterbi, uniform": {"algorithm": "viterbi", "init": "uniform", "prior": 0},
    "variational": {"prior_inference": "variational"},
    "variational, untied": {"prior_inference": "variational", "tied": False, "prior": 0.7},
    "variational viterbi": {"prior_inference": "variational", "algorithm": "viterbi"},
    "hidden": {"n_states": 3, "random_state": 0},
    "hidden, variational": {"n_states": 2, "prior_inference": "variational", "random_state": 0},
    "rules": {"rules": "ud", "prior": 0.5},
    "concave": {"init": "concave", "prior": 0},
}


@over("name", RUNS)
@over("with_heads", [False, True])
def test_no_iteration_lowers_the_objective(unpunctuated, name, with_heads):
    model = DMV(**{"tol": 0, "max_iter": 15, "max_length": 8} | RUNS[name])
    y = None
    if with_heads:
        rng = np.random.default_rng(0)
        y = [np.where(rng.random(len(tree)) < 0.7, -1, tree.heads) for tree in unpunctuated]
    objectives = np.negative(model.fit(unpunctuated, y).loss_curve_)
    assert objectives.shape == (model.n_iter_ + 1,)
    assert np.isfinite(objectives).all()
    assert np.diff(objectives).min() > -1e-8 * abs(objectives[-1])
    assert objectives[-1] > objectives[0] + 1


@pytest.mark.parametrize("rules", [None, "ud"])
def test_the_objective_is_the_penalised_likelihood(unpunctuated, rules):
    model = DMV(prior=0.5, rules=rules, rule_strength=0.0, max_iter=3, max_length=6).fit(
        unpunctuated
    )
    short = [tree for tree in unpunctuated if len(tree) <= 6]
    n = model.symbols_.size
    A, stops = model.operators_.A[:n], model.operators_.alpha_inf[:n]
    log_prior = np.log(stops).sum() + np.log(1 - stops).sum()
    log_prior += np.log(A[:, :, :n, 1, 0] / (1 - stops[..., 0])[..., None]).sum()
    log_prior += np.log(model.operators_.A[-1, RIGHT, :n, 0, 0]).sum()
    expected = model.log_likelihood(short).sum() + 0.5 * log_prior
    assert_allclose(model.loss_curve_[-1], -expected, rtol=1e-10)


def test_rules_raise_the_trees_that_follow_them():
    """The likelihood with rules sums P(tree) exp(strength * arcs that follow)."""
    rules, strength = [("A", "B"), ("<root>", "C"), ("B", "C", "left")], 0.7
    settings = {"prior": 0, "max_iter": 0, "rules": rules, "rule_strength": strength}
    model = DMV("random", random_state=0, **settings).fit(SENTENCES)
    total = 0.0
    for sentence in SENTENCES:
        codes = [4, *("ABC".index(symbol) for symbol in sentence)]
        names, z = ["<root>", *sentence], 0.0
        for heads in oracles.projective_trees(len(sentence)):
            followed = 0
            for m, h in enumerate(heads, start=1):
                sides = (names[h], names[m], "left" if m < h else "right")
                followed += sides[:2] in rules or sides in rules
            value = oracles.tree_value(model.operators_, codes, heads)
            z += value * np.exp(strength * followed)
        total += np.log(z)
    assert_allclose(model.loss_curve_, [-total], rtol=1e-10)


def test_rules_count_in_predictions_where_asked(unpunctuated):
    rules = [("NOUN", "DET", "right")]
    model = DMV("uniform", rules=rules, rule_strength=8.0, max_iter=1).fit(unpunctuated)
    without = DMV(init=model.operators_, max_iter=0).fit(unpunctuated)
    assert same(model.predict(unpunctuated), without.predict(unpunctuated))
    model.set_params(predict_with_rules=True)
    sentence = ["NOUN", "DET", "VERB"]
    marginals = model.predict_marginals([sentence])[0]
    assert marginals[1, 1] > 0.99
    assert model.predict([sentence])[0][1] == 1
    expected = np.log(marginals[1, 1])
    assert_allclose(
        model.conditional_log_likelihood([sentence], [[-1, 1, -1]]), expected, atol=1e-9
    )
    likelihood = model.log_likelihood([sentence])
    assert_array_equal(
        likelihood, model.set_params(predict_with_rules=False).log_likelihood([sentence])
    )
    assert model.predict_marginals([sentence])[0][1, 1] < 0.95


def test_rules_of_ud():
    from sklearn_shag.induction._text import UD_RULES, score_rules

    table = score_rules("ud", 2.0, ["ADJ", "ADV", "NOUN", "VERB"])
    assert np.count_nonzero(table) == 1 * 2 + 3 * 2 + 1 * 2 + 2 * 2
    assert table[5, RIGHT, 3] == table[3, LEFT, 2] == table[2, LEFT, 0] == 2.0
    assert table[2, LEFT, 3] == table[0, LEFT, 2] == 0
    assert ("PROPN", "DET") in UD_RULES
    assert ("VERB", "ADP") not in UD_RULES


# Known heads


def test_known_trees_are_counted(unpunctuated):
    """Untied it is DeterministicSHAG("first")."""
    projective = [
        tree for tree in unpunctuated if tree.is_projective and len(tree.children(0)) == 1
    ]
    expected = DeterministicSHAG("first").fit(projective)
    settings = {"prior": 0, "max_length": None, "nonprojective": "drop"}
    seen = expected.operators_.alpha_inf > 0
    untied = DMV(tied=False, **settings).fit(projective, projective)
    assert_array_equal(untied.symbols_, expected.symbols_)
    for name in ("alpha_inf", "A"):
        one, other = (getattr(model.operators_, name) for model in (untied, expected))
        mask = seen if name == "alpha_inf" else seen[:, :, None, None, :]
        assert_allclose(np.where(mask, one, 0), np.where(mask, other, 0), atol=1e-10)
    assert_array_equal(untied.labels_, expected.labels_)
    assert same(untied.predict(unpunctuated), expected.predict(unpunctuated))


def test_known_heads_are_in_all_trees():
    """Expected counts are those of the trees that have them: marginals of the restricted text."""
    X, y = [list("ABA")], [[-1, 0, -1]]
    model = DMV("uniform", max_iter=1, prior=0).fit(X, y)
    assert_allclose(model.operators_.A[-1, RIGHT, :2, 0, 0], [0, 1], atol=1e-12)
    whole = DMV("uniform", max_iter=5, prior=0).fit(X, [[2, 0, 2]])
    assert whole.predict(X)[0].tolist() == [2, 0, 2]


# The prior


def test_variational_inference_of_known_trees_is_the_evidence():
    """Nothing is hidden then: the bound is the log probability of Dirichlet-multinomial counts."""
    X = [list("AAB"), list("BA"), list("BAA")]
    y = [[2, 0, 2], [2, 0], [0, 1, 2]]
    prior = 0.3
    model = DMV(prior=prior, prior_inference="variational", max_iter=20).fit(X, y)
    roots, stops, moves = np.zeros(2), np.zeros((2, 2, 2, 2)), np.zeros((2, 2, 2))
    for sentence, heads in zip(X, y, strict=True):
        codes = ["AB".index(symbol) for symbol in sentence]
        roots[codes[heads.index(0)]] += 1
        for h, side, modifiers in oracles.tree_sequences(heads):
            if h == 0:
                continue
            for place, m in enumerate(modifiers):
                stops[codes[h - 1], side, int(place > 0), 1] += 1
                moves[codes[h - 1], side, codes[m - 1]] += 1
            stops[codes[h - 1], side, int(bool(modifiers)), 0] += 1

    def evidence(counts):
        n = counts.shape[-1]
        values = gammaln(n * prior) - gammaln(counts.sum(axis=-1) + n * prior)
        values += (gammaln(counts + prior) - gammaln(prior)).sum(axis=-1)
        return values.sum()

    assert_allclose(-model.loss_curve_[-1], sum(map(evidence, (roots, stops, moves))), rtol=1e-10)
    found = model.operators_.A[-1, RIGHT, :2, 0, 0]
    assert_allclose(found, (roots + prior) / (roots + prior).sum(), rtol=1e-12)
    assert_allclose(
        model.operators_.alpha_inf[:2],
        (stops[..., 0] + prior) / (stops.sum(axis=-1) + 2 * prior),
        rtol=1e-12,
    )


@pytest.mark.parametrize("hidden", [False, True])
def test_distributions_are_estimated_from_counts(hidden):
    """Pseudo-counts are those of modifiers, of which states after them have their share."""
    form = ValenceForm(2, tied=False, hidden=hidden, prior=0.4, inference="variational")
    rng = np.random.default_rng(0)
    counts = random_distributions(1, form)
    counts = ValenceModel(*(part * rng.uniform(1, 9, size=part.shape) for part in counts))
    found = estimate_model(counts, form)
    n_next = counts.moves.shape[-1]
    posterior = counts.moves + 0.4 / n_next
    total = posterior.sum(axis=(-2, -1), keepdims=True)
    assert_allclose(found.means.moves, posterior / total, rtol=1e-12)
    assert_allclose(found.weights.moves, np.exp(digamma(posterior) - digamma(total)), rtol=1e-12)
    posterior = counts.roots + 0.4
    expected = np.exp(digamma(posterior) - digamma(posterior.sum()))
    assert_allclose(found.weights.roots, expected, rtol=1e-12)
    of_map = estimate_model(counts, form._replace(inference="map"))
    assert of_map.weights is of_map.means
    assert_allclose(of_map.means.roots, posterior / posterior.sum(), rtol=1e-12)


def test_without_a_prior_nothing_is_added():
    model = DMV(prior=0).fit([["A", "B"]], [[2, 0]])
    assert model.operators_.A[-1, RIGHT, :2, 0, 0].tolist() == [0, 1]
    smoothed = DMV(prior=1).fit([["A", "B"]], [[2, 0]])
    assert_allclose(smoothed.operators_.A[-1, RIGHT, :2, 0, 0], [1 / 3, 2 / 3])
    # A never had a modifier, so what comes next is uniform.
    assert_allclose(model.operators_.A[0, LEFT, :2, 1, 1], 0.25)


# Starts


def naive_harmonic(sentences):
    """Counts of independent arcs, token by token."""
    roots, stops, moves = np.zeros(3), np.zeros((3, 2, 2, 2)), np.zeros((3, 2, 3))
    for sentence in sentences:
        codes, n = ["ABC".index(symbol) for symbol in sentence], len(sentence)
        p = np.zeros((n + 1, n + 1))
        for m in range(1, n + 1):
            roots[codes[m - 1]] += 1 / n
            total = sum(1 / abs(h - m) for h in range(1, n + 1) if h != m)
            for h in range(1, n + 1):
                if h != m:
                    p[h, m] = (1 - 1 / n) / abs(h - m) / total
        for h in range(1, n + 1):
            for side, reach in ((LEFT, range(1, h)), (RIGHT, range(h + 1, n + 1))):
                none, expected = 1.0, 0.0
                for m in reach:
                    none *= 1 - p[h, m]
                    expected += p[h, m]
                    moves[codes[h - 1], side, codes[m - 1]] += p[h, m]
                cell = stops[codes[h - 1], side]
                cell += [[none, 1 - none], [1 - none, expected - (1 - none)]]
    return roots, stops, moves


@pytest.mark.parametrize("prior", [0.0, 0.5])
def test_the_harmonic_start(prior):
    model = DMV(max_iter=0, prior=prior).fit(SENTENCES)
    roots, stops, moves = (part + prior for part in naive_harmonic(SENTENCES))
    operators = model.operators_
    assert_allclose(operators.A[-1, RIGHT, :3, 0, 0], roots / roots.sum(), rtol=1e-12)
    assert_allclose(operators.alpha_inf[:3], stops[..., 0] / stops.sum(axis=-1), rtol=1e-10)
    going = stops[:, :, 0, 1] / stops[:, :, 0].sum(axis=-1)
    children = operators.A[:3, :, :3, 1, 0] / going[..., None]
    assert_allclose(children, moves / moves.sum(axis=-1, keepdims=True), rtol=1e-10)


def test_random_starts_are_those_of_their_seeds():
    one, other = (DMV("random", random_state=seed).fit(SENTENCES) for seed in (0, 1))
    assert not same(one.operators_, other.operators_)


def test_viterbi_from_nowhere_starts_with_uniform_trees():
    """Best trees of uniform distributions would be those that happen to come first."""
    viterbi = DMV("uniform", algorithm="viterbi", max_iter=0).fit(SENTENCES)
    em = DMV("uniform", max_iter=1).fit(SENTENCES)
    assert_all_close(viterbi.operators_, em.operators_, atol=1e-12)
    best = DMV(init=em.operators_, algorithm="viterbi", max_iter=0).fit(SENTENCES)
    scores = best.score_samples(SENTENCES, best.set_params(decoder="viterbi").predict(SENTENCES))
    assert best.loss_curve_[0] > em.loss_curve_[-1]
    assert scores.sum() > -best.loss_curve_[0]  # the prior of probabilities is a loss


def test_viterbi_learns_from_its_own_trees(unpunctuated):
    model = DMV(algorithm="viterbi", tol=0, decoder="viterbi", prior=0, tied=False).fit(
        unpunctuated
    )
    assert model.converged_
    short = [tree for tree in unpunctuated if len(tree) <= 10]
    found = model.parse([without_relations(tree) for tree in short])
    again = DMV(prior=0, tied=False).fit(found, found)
    assert_allclose(again.log_likelihood(short), model.log_likelihood(short), atol=1e-8)


@pytest.mark.parametrize("tied", [True, False])
def test_operators_are_a_start(tied):
    model = DMV(max_iter=3, tied=tied).fit(SENTENCES)
    again = DMV(init=model.operators_, max_iter=0, tied=tied).fit(SENTENCES)
    learned, kept = ([part[:3] for part in each.operators_] for each in (model, again))
    assert_all_close(kept, learned, atol=1e-12)
    onward = DMV(init=model.operators_, max_iter=2, tied=tied, tol=0).fit(SENTENCES)
    whole = DMV(max_iter=5, tied=tied, tol=0).fit(SENTENCES)
    assert_allclose(onward.loss_curve_, whole.loss_curve_[3:], rtol=1e-12)


@pytest.mark.parametrize("n_states", [2, 4])
def test_states_are_split(unpunctuated, n_states):
    model = DMV(n_states=n_states, random_state=0, max_iter=10).fit(unpunctuated)
    n = model.symbols_.size
    assert model.operators_.A.shape == (n + 2, 2, n + 1, n_states, n_states)
    A, stops = model.operators_.A[:-1, :, :n], model.operators_.alpha_inf[:-1]
    assert_allclose(A.sum(axis=(2, 3)) + stops, 1, atol=1e-12)
    assert_allclose(model.operators_.alpha_1[:-1].sum(axis=-1), 1, atol=1e-12)
    plain = DMV(prior=0, max_iter=30).fit(unpunctuated)
    hidden = DMV(prior=0, max_iter=30, n_states=n_states, random_state=0).fit(unpunctuated)
    short = [tree for tree in unpunctuated if len(tree) <= 10]
    assert hidden.log_likelihood(short).sum() > plain.log_likelihood(short).sum()


def test_split_states_are_as_good_as_those_they_were(monkeypatch):
    """But for what is spread at random."""
    from sklearn_shag.induction import _starts

    monkeypatch.setattr(_starts, "SPREAD", 0.0)
    distributions = random_distributions(0, ValenceForm())
    form = ValenceForm(4, hidden=True)
    split = _starts.split_states(distributions, form, np.random.RandomState(0))
    codes, indptr = np.array([0, 1, 2, 0, 0, 2]), np.array([0, 4, 6])
    values = [
        chart(to_grammar(each, its_form), Potentials(indptr, codes)).log_abs_z
        for each, its_form in ((distributions, ValenceForm()), (split, form))
    ]
    assert_allclose(*values, atol=1e-12)


# The citizen


def test_members_of_other_parsers_learn_from_raw_text(unpunctuated):
    """Beside members that learn from the heads of X; those of y are for all."""
    model = AveragedParser(
        [
            ("raw", DMV(max_iter=2)),
            ("known", DeterministicSHAG()),
            ("pipeline", make_pipeline(TokenFeature("upos"), DMV(max_iter=2))),
            ("inner", AveragedParser([("raw", DMV(max_iter=2)), ("known", DeterministicSHAG())])),
        ]
    )
    for y in (None, unpunctuated):
        raw, known, pipeline, inner = model.fit(unpunctuated, y).estimators_
        expected = DMV(max_iter=2).fit(unpunctuated, y)
        for member in (raw, pipeline[-1], inner.estimators_[0]):
            assert_same_model(member, expected)
        for member in (known, inner.estimators_[1]):
            assert_same_model(member, DeterministicSHAG().fit(unpunctuated))
    symbols = [list(tree.symbols) for tree in unpunctuated]
    blind = AveragedParser([("raw", DMV(max_iter=2)), ("chain", DummyParser())]).fit(symbols)
    assert_same_model(blind.estimators_[0], DMV(max_iter=2).fit(unpunctuated))
