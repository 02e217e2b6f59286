"""ConditionalSHAG: its objective against enumeration and differences, its start, its data."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from sklearn_shag import (
    EMSHAG,
    ConditionalSHAG,
    CRFParser,
    DeterministicSHAG,
    LexicalizedSHAG,
    ProductParser,
    SpectralSHAG,
)
from sklearn_shag.conditional import _tuned
from sklearn_shag.encoding import encode_sentences
from sklearn_shag.parsing import Potentials, grammar_loss, pack_grammar
from sklearn_shag.treebank import DependencyTree, allowed_arcs, heads, lift
from tests import oracles
from tests.estimators import assert_same_model, same
from tests.faults import not_refused

# The symbol "?" is not known to the grammars.
SENTENCES = [list("ABC"), list("BA?C"), ["A"], list("CAB"), list("?B")]
HEADS = [[2, 0, 2], [-1, 0, -1, 2], [0], [-1, -1, -1], [-1, 1]]
WEIGHTS = np.array([1.0, 2.5, 1.0, 3.0, 0.5])


def start(**parameters):
    return EMSHAG(2, init="moments", smoothing=1, tol=0.1, **parameters)


@pytest.fixture(scope="module")
def trees(english):
    return english[:60]


def hide(tree, seed, share=0.5):
    known = np.random.default_rng(seed).random(len(tree)) >= share
    return tree.with_heads(np.where(known, tree.heads, -1), tree.deprels)


def potentials():
    codes, indptr = encode_sentences(SENTENCES, list("ABC"))
    arcs = [np.where(part, 0.0, -np.inf).ravel() for part in allowed_arcs(HEADS)]
    free = Potentials(indptr, codes)
    return free, free._replace(arcs=np.concatenate(arcs))


def enumerated_losses(operators):
    """log Z - log Z(known), tree by tree."""
    losses = []
    codes, indptr = encode_sentences(SENTENCES, list("ABC"))
    for s, known in enumerate(HEADS):
        of_tokens = [4, *codes[indptr[s] : indptr[s + 1]]]
        totals = np.zeros(2)
        for tree in oracles.projective_trees(len(known)):
            value = oracles.tree_value(operators, of_tokens, tree)
            agrees = all(h in (-1, own) for h, own in zip(known, tree, strict=True))
            totals += value, value * agrees
        losses.append(np.log(totals[0] / totals[1]))
    return losses


# The objective


@pytest.mark.filterwarnings("ignore::sklearn_shag.treebank.UnknownSymbolWarning")
def test_losses_are_those_of_enumeration(random_grammar):
    for n_states, seed in itertools.product((1, 2, 3), range(2)):
        operators = random_grammar(seed, n_states=n_states)
        losses, _ = grammar_loss(pack_grammar(operators), *potentials(), WEIGHTS)
        assert_allclose(losses, enumerated_losses(operators), atol=1e-12)


@pytest.mark.filterwarnings("ignore::sklearn_shag.treebank.UnknownSymbolWarning")
@pytest.mark.parametrize(
    ("n_states", "sparse", "alpha"), [(2, False, 0.7), (1, False, 0.0), (2, True, 0.7)]
)
def test_the_gradient_is_the_derivative(random_grammar, n_states, sparse, alpha):
    """By all parameters: of heads and modifiers that are known, unknown, and of the root."""
    operators = random_grammar(3, n_states=n_states)
    if sparse:  # the first modifier told apart: no way back
        operators.alpha_1[..., 1] = 0.0
        operators.A[..., 0, :] = 0.0
    space = _tuned.LogOperators(operators)
    free, known = potentials()

    def objective(vector):
        of_all = space, free, known, WEIGHTS, alpha
        return _tuned._objective(*of_all, vector, n_jobs=None, losses=[])

    rng = np.random.default_rng(0)
    at = space.start + rng.normal(scale=0.1, size=space.start.size)
    _, gradient = objective(at)
    step, n_moving = 1e-5, 0
    for k in range(at.size):
        moved = np.zeros(at.size)
        moved[k] = step
        slope = (objective(at + moved)[0] - objective(at - moved)[0]) / (2 * step)
        assert_allclose(gradient[k], slope, atol=1e-6)
        n_moving += abs(slope) > 1e-3
    assert n_moving > at.size / 3


@pytest.mark.filterwarnings("ignore::sklearn_shag.treebank.UnknownSymbolWarning")
def test_the_objective_is_the_weighted_sum_and_the_penalty(random_grammar):
    operators = random_grammar(1)
    operators.A[:, :, -1] = operators.A[:, :, :-1].sum(axis=2)
    space, noted = _tuned.LogOperators(operators), []
    at = space.start + 0.3
    value, _ = _tuned._objective(space, *potentials(), WEIGHTS, 2.0, at, n_jobs=None, losses=noted)
    losses = enumerated_losses(space.operators(at))
    assert_allclose(value, WEIGHTS @ losses + at.size * 0.3**2, rtol=1e-10)
    assert_allclose(noted, [WEIGHTS @ losses / WEIGHTS.sum()], rtol=1e-10)


def test_the_unknown_modifier_is_the_sum_of_all(trees):
    model = ConditionalSHAG(start(), max_iter=3).fit(trees)
    A = model.operators_.A
    assert_allclose(A[:, :, -1], A[:, :, :-1].sum(axis=2), rtol=1e-12)


# Tuning


def test_the_loss_is_minus_the_conditional_likelihood(trees):
    before = start().fit(trees)
    model = ConditionalSHAG(start(), max_iter=6).fit(trees)
    means = [-each.conditional_log_likelihood(trees).mean() for each in (before, model)]
    assert_allclose(model.loss_curve_[0], means[0], rtol=1e-3)  # logarithms have a floor
    assert_allclose(model.loss_curve_[-1], means[1], rtol=1e-6)
    assert len(model.loss_curve_) == model.n_iter_ + 1 == 7
    assert np.all(np.diff(model.loss_curve_) < 0)
    assert not hasattr(model, "score_samples")  # sentences have no probability


def test_zeros_stay_zero(trees):
    before = DeterministicSHAG("sibling", smoothing=0).fit(trees)
    model = ConditionalSHAG(DeterministicSHAG("sibling", smoothing=0), max_iter=4).fit(trees)
    for one, other in zip(before.operators_, model.operators_, strict=True):
        assert np.all(other[one == 0] == 0)
        assert np.all(other[one > 1e-6] > 0)
    assert not np.allclose(before.operators_.A, model.operators_.A)


def test_penalty(trees):
    def distance(alpha):
        model = ConditionalSHAG(DeterministicSHAG(smoothing=1), alpha=alpha).fit(trees)
        return np.abs(np.log(model.operators_.alpha_inf[positive] / before[positive])).sum()

    before = DeterministicSHAG(smoothing=1).fit(trees).operators_.alpha_inf
    positive = before > 1e-6
    moved = [distance(alpha) for alpha in (0.0, 1.0, 100.0, 1e12, 1e300)]
    assert moved == sorted(moved, reverse=True)
    assert moved[0] > 2 * moved[2] > 0
    assert moved[-2] < 1e-6
    assert moved[-1] < 1e-6


def test_tuning_ends_where_nothing_is_to_be_gained(trees):
    model = ConditionalSHAG(DeterministicSHAG(smoothing=1), max_iter=1000, tol=1e-3).fit(trees)
    assert 5 < model.n_iter_ < 500
    one = ConditionalSHAG(DeterministicSHAG(smoothing=1), max_iter=1).fit(trees)
    assert one.n_iter_ == 1


# The start


@pytest.mark.parametrize("automaton", ["single", "first", "sibling"])
def test_deterministic_automata_begin_alike(automaton):
    """Every tree has one path, so all are as probable."""
    X = [list("ABC"), list("BCAA"), list("CA")]
    y = [[-1, 0, -1], [2, 0, -1, -1], [-1, 1]]
    model = ConditionalSHAG(DeterministicSHAG(automaton), alpha=0.3).fit(X, y)
    expected = []
    for known in y:
        projective = oracles.projective_trees(len(known))
        fitting = [
            tree
            for tree in projective
            if all(h in (-1, own) for h, own in zip(known, tree, strict=True))
        ]
        expected.append(np.log(len(projective) / len(fitting)))
    assert_allclose(model.loss_curve_[0], np.mean(expected), rtol=1e-9)
    assert model.symbols_.tolist() == ["A", "B", "C"]
    assert model.loss_curve_[-1] < 0.5 * model.loss_curve_[0]


def test_whole_trees_begin_with_their_own_grammar(trees):
    """Even where heads of a few others are known."""
    mixed = [*trees, *(hide(tree, 0) for tree in trees[:5])]
    model = ConditionalSHAG(DeterministicSHAG(smoothing=1), alpha=1e12, max_iter=1).fit(mixed)
    expected = DeterministicSHAG(smoothing=1).fit(trees).operators_
    assert_allclose(model.operators_.alpha_inf, expected.alpha_inf, atol=2e-6)


def test_the_start_has_the_weights_of_sentences(trees):
    weights = np.arange(60) % 4 + 0.5
    learner = DeterministicSHAG(smoothing=1)
    model = ConditionalSHAG(learner, alpha=1e12, max_iter=1).fit(trees, sample_weight=weights)
    expected = clone(learner).fit(trees, sample_weight=weights).operators_
    assert_allclose(model.operators_.alpha_inf, expected.alpha_inf, atol=2e-6)
    unweighted = clone(learner).fit(trees).operators_
    assert np.abs(model.operators_.alpha_inf - unweighted.alpha_inf).max() > 0.01


def test_hidden_states_need_whole_trees(trees):
    scattered = [hide(tree, seed, 0.7) for seed, tree in enumerate(trees)]
    scattered = [tree for tree in scattered if -1 in tree.heads]
    with pytest.raises(ValueError, match=r"no sentence .* all heads are known, and EMSHAG cannot"):
        ConditionalSHAG(start()).fit(scattered)
    # Those of some sentences will do.
    model = ConditionalSHAG(start(), max_iter=2).fit([*scattered, *trees])
    assert model.loss_curve_[-1] < model.loss_curve_[0]


def test_symbols_of_partial_trees_alone_are_unknown(trees):
    odd = DependencyTree(["x", "y"], [2, -1], upos=["ODD", "NOUN"], deprels=["odd", "_"])
    model = ConditionalSHAG(start(), max_iter=2).fit([*trees, odd])
    assert "ODD" not in model.symbols_
    assert model.n_left_out_ == 0
    assert "odd" not in model.labels_[model.label_counts_.labels]


def test_signed_operators_are_refused(trees):
    message = r"SpectralSHAG has learned negative operators: .* Take EMSHAG\(n_states, init='mom"
    with pytest.raises(ValueError, match=message):
        ConditionalSHAG(SpectralSHAG(3)).fit(trees)


def test_what_has_no_operators_is_refused(trees):
    cases = [
        LexicalizedSHAG(),
        CRFParser(),
        make_pipeline(EMSHAG()),
        ProductParser([("one", DeterministicSHAG())]),
    ]
    partial_trees = [hide(tree, 0, 0.9) for tree in trees]

    def fit(estimator):
        ConditionalSHAG(estimator).fit(trees)

    message = r"has no operators to tune\. Take EMSHAG or"
    assert not not_refused([(estimator, message) for estimator in cases], fit, TypeError)
    with pytest.raises(TypeError, match=message):
        ConditionalSHAG(cases[0]).fit(partial_trees)
    others = [(estimator, "estimator") for estimator in (None, 3, "EM", EMSHAG)]
    assert not not_refused(others, fit, (ValueError, TypeError))


# Data


def test_sentences_without_mass_are_left_out():
    """Nouns have never been roots in whole trees, nor verbs modifiers."""
    X, y = [["N", "V"]] * 5 + [["N", "N"]], [[2, 0]] * 5 + [[-1, 1]]
    model = ConditionalSHAG(EMSHAG(1, init="moments", tol=0.1))
    with pytest.warns(UserWarning, match="1 of 2 sentences are left out of training, since EMSHAG"):
        model.fit(X, y)
    assert model.n_left_out_ == 1
    assert np.isfinite(model.loss_curve_).all()


def test_nothing_with_mass_is_an_error(monkeypatch):
    impossible = ConditionalSHAG(DeterministicSHAG())
    monkeypatch.setattr(_tuned, "grammar_loss", lambda *args: (np.full(args[3].size, np.inf), None))
    with pytest.raises(ValueError, match="No sentence of X can be learned from: Deterministic"):
        impossible.fit([["N", "V"]], [[2, 0]])


def test_crossing_arcs_are_lifted_or_left_out(trees):
    symbols, crossing = trees[0].symbols[:5], [3, 4, 0, 3, 2]
    tree = DependencyTree(symbols, crossing, symbols=symbols)
    lifted = ConditionalSHAG(DeterministicSHAG(smoothing=1), max_iter=3).fit([*trees, tree])
    assert (lifted.n_lifted_, lifted.n_left_out_) == (1, 0)
    assert lift(crossing).tolist() != crossing
    dropping = clone(lifted).set_params(nonprojective="drop")
    with pytest.warns(UserWarning, match="1 of 61 sentences are left out of training, since no"):
        dropping.fit([*trees, tree])
    assert (dropping.n_lifted_, dropping.n_left_out_) == (0, 1)
    expected = clone(lifted).fit(trees)
    assert same(dropping.operators_, expected.operators_)


def test_y_is_what_counts(trees):
    partial = [hide(tree, seed, 0.3) for seed, tree in enumerate(trees)]
    model = ConditionalSHAG(DeterministicSHAG(smoothing=1), max_iter=2)
    one, other = clone(model).fit(partial), clone(model).fit(trees, heads(partial))
    assert_same_model(one, other)


def test_labels_are_those_of_known_arcs(trees):
    tree = DependencyTree(["a", "b"], [-1, 0], upos=["NOUN", "VERB"], deprels=["odd", "root"])
    model = ConditionalSHAG(DeterministicSHAG(smoothing=1), max_iter=1).fit([*trees, tree])
    assert "odd" not in model.labels_
    assert model.labels_.tolist() == sorted({label for tree in trees for label in tree.deprels})


# Within scikit-learn, and in files


def test_the_start_is_left_as_it_was(trees):
    estimator = start()
    ConditionalSHAG(estimator, max_iter=1).fit(trees)
    assert not hasattr(estimator, "operators_")


@pytest.mark.parametrize("length", [1, 150])
def test_one_sentence(length):
    rng = np.random.default_rng(0)
    symbols = rng.choice(list("AB"), size=length).tolist()
    model = ConditionalSHAG(start(), max_iter=2).fit([symbols], [oracles.random_tree(rng, length)])
    assert np.isfinite(model.loss_curve_).all()
    (predicted,) = model.predict([symbols])
    assert predicted.size == length
