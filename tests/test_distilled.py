"""Parsers that learn from a teacher, and the loss of its marginals."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from sklearn_shag import (
    AveragedParser,
    BiaffineParser,
    CRFParser,
    DistilledParser,
    RefinedSHAG,
    SpectralSHAG,
    Splitter,
    Tagger,
    load_model,
    make_parser_pipeline,
    save_model,
)
from sklearn_shag.conditional import Examples, Lesson, find_places
from sklearn_shag.ensembles._distilled import _ask_teacher
from sklearn_shag.parsing import arc_losses, cross_entropy
from sklearn_shag.treebank import DependencyTree, TokenFeature, to_text
from tests.estimators import assert_same_model, same
from tests.loops import assert_all_close
from tests.oracles import differences, projective_trees, sum_trees

CRF = CRFParser(["upos"], n_features=2**12, max_iter=3, random_state=0)


def network(**settings):
    settings = {"columns": ["upos"], "hidden_layer_sizes": [8], "max_iter": 3} | settings
    return BiaffineParser(random_state=0, **settings)


def used_arcs(n_tokens):
    """A row for each projective tree, with 1 for its arcs in the layout of marginals."""
    return np.array([sum_trees([heads], [1.0])[1].ravel() for heads in projective_trees(n_tokens)])


def distance_from_hull(marginals):
    """The least largest difference of marginals from a mean of trees, by a linear program."""
    trees = used_arcs(len(marginals))
    n_trees, n_arcs = trees.shape
    slack = -np.ones((n_arcs, 1))
    found = linprog(
        [*[0] * n_trees, 1],
        A_ub=np.block([[trees.T, slack], [-trees.T, slack]]),
        b_ub=np.concatenate([marginals.ravel(), -marginals.ravel()]),
        A_eq=[[*[1] * n_trees, 0]],
        b_eq=[1],
    )
    return found.x[-1]


@pytest.fixture(scope="module")
def raw(english):
    return [tree.with_heads(None) for tree in english[60:90]]


# The loss


def test_the_loss_of_marginals_against_all_trees():
    rng = np.random.default_rng(0)
    trees = {n: used_arcs(n) for n in (3, 4)}
    indptr, weights = np.array([0, 3, 7, 10]), np.array([1.0, 0.5, 2.0])
    arcs = rng.normal(size=3 * 4 + 4 * 5 + 3 * 4)
    shares = [rng.dirichlet(np.ones(len(trees[n]))) for n in (3, 4)]
    targets = [shares[0] @ trees[3], shares[1] @ trees[4], None]
    heads = np.array([-1] * 7 + [2, 0, 2])
    losses, gradient = arc_losses(indptr, arcs, heads, weights, targets)
    for s, (n, begin) in enumerate([(3, 0), (4, 12)]):
        scores = trees[n] @ arcs[begin : begin + n * (n + 1)]
        logs = scores - np.logaddexp.reduce(scores)
        assert_allclose(losses[s], -shares[s] @ logs)
    assert_allclose(losses[2], arc_losses(indptr, arcs, heads, weights)[0][2])
    expected = differences(
        lambda: arc_losses(indptr, arcs, heads, weights, targets)[0] @ weights, arcs
    )
    assert_allclose(gradient, expected, atol=1e-8)


def test_certain_targets_are_as_known_heads():
    heads, indptr = np.array([2, 0, 2, 0]), np.array([0, 3, 4])
    arcs = np.random.default_rng(1).normal(size=14)
    _, target = sum_trees([heads[:3]], [1.0])
    known = arc_losses(indptr, arcs, heads, np.ones(2))
    taught = arc_losses(indptr, arcs, heads, np.ones(2), [target.ravel(), None])
    assert_all_close(taught, known, atol=1e-12)


@pytest.mark.parametrize(
    "teacher",
    [
        network(),
        AveragedParser([("network", network()), ("linear", CRF)]),
        AveragedParser([("a", FrozenEstimator(clone(CRF))), ("b", FrozenEstimator(network()))]),
    ],
)
def test_targets_are_those_of_a_distribution_over_trees(english, teacher):
    """Corrected probabilities are not, so that they would be learned without end."""
    for _, member in getattr(teacher, "estimators", ()):
        if isinstance(member, FrozenEstimator):
            member.estimator.fit(english[:60])
    teacher = teacher.fit(english[:60])
    short = [tree for tree in english if len(tree) == 5]
    raw = [tree.with_heads(None) for tree in short]
    partial = [tree.with_heads([-1, *tree.heads[1:]]) for tree in short]
    assert max(distance_from_hull(m) for m in teacher.predict_marginals(short)) > 1e-4
    for sentences in (raw, partial):
        trees, targets, _ = zip(*_ask_teacher(teacher, sentences, ()), strict=True)
        assert max(map(distance_from_hull, targets)) < 1e-6
    for tree, taught, marginals in zip(short, trees, targets, strict=True):
        assert_array_equal(taught.heads[1:], tree.heads[1:])
        assert_allclose(marginals[np.arange(1, 5), tree.heads[1:]], 1, atol=1e-6)


def test_distributions_over_classes_against_finite_differences():
    rng = np.random.default_rng(2)
    scores, weights = rng.normal(size=(5, 3)), rng.uniform(size=5)
    shares = rng.dirichlet(np.ones(3), size=5)
    _, gradient = cross_entropy(scores, shares, weights)
    expected = differences(lambda: cross_entropy(scores, shares, weights)[0], scores)
    assert_allclose(gradient, expected, atol=1e-8)
    codes = np.array([0, 2, 1, 1, 0])
    certain = cross_entropy(scores, np.eye(3)[codes], weights)
    assert_all_close(certain, cross_entropy(scores, codes, weights))


def test_shares_of_what_is_known_and_of_what_is_not():
    """The teacher knows z, which the student does not, and the student x, unknown to it."""
    proba = np.array([[0.2, 0.3, 0.5], [0.1, 0.4, 0.5], [0.0, 0.0, 1.0]])
    kinds = {"labels": proba, "upos": proba}
    values = np.array(["a", "b", "z"])
    lessons = [None, Lesson(np.array([-1, 1, -1]), None, kinds, dict.fromkeys(kinds, values))]
    places = find_places(lessons, ["b", "a", "x"], {"upos": ["a", "b"]})
    heads, codes = np.array([0, 3, 1, 0]), np.array([0, 1, 2, 2])
    tags = codes[:, np.newaxis].clip(0, 1)
    known = heads, codes, tags, np.ones(2)
    examples = Examples(codes, np.array([0, 1, 4]), *known, lessons=lessons, places=places)
    one, other = np.eye(3), np.eye(2)
    labels = [one[0], [0.6, 0.4, 0], one[2], one[2]]
    assert_allclose(examples.shares("labels", codes, 3), labels, atol=1e-7)
    assert_allclose(
        examples.shares(0, tags[:, 0], 2), [other[0], [0.4, 0.6], [0.2, 0.8], other[1]], atol=1e-7
    )
    assert examples.shares(1, codes, 3) is codes


# The estimator


@pytest.mark.parametrize("student", [network(), CRF])
def test_without_raw_text_it_is_the_student_alone(english, student):
    model = DistilledParser(student, CRF).fit(english[:40])
    assert_same_model(model.parser_, clone(student).fit(english[:40]))
    assert not hasattr(student, "labels_")


@pytest.mark.parametrize("targets", ["trees", "marginals"])
def test_the_student_learns_the_trees_of_the_teacher(english, trees, raw, targets):
    """With trees as targets this is what can be done by hand."""
    student = network(calibrate=False)
    model = DistilledParser(student, CRF, targets=targets, weight=0.5).fit([*trees, *raw])
    teacher = clone(CRF).set_params(calibrate=False).fit(trees)
    assert_same_model(model.teacher_, teacher)
    weights = [1.0] * len(trees) + [0.5] * len(raw)
    by_hand = clone(student).fit([*trees, *teacher.parse(raw)], sample_weight=weights)
    marginals = by_hand.predict_marginals(raw)
    assert same(model.predict_marginals(raw), marginals) == (targets == "trees")
    assert np.abs(model.predict_marginals(raw)[0] - marginals[0]).max() < 0.3
    assert model.score(english) == model.parser_.score(english)


def test_heads_in_y_are_as_those_of_trees(trees, raw):
    """Of plain sequences, too."""
    y = [*trees, *[[-1] * len(tree) for tree in raw]]
    student = network(calibrate=False)
    expected = DistilledParser(student, CRF).fit([*trees, *raw])
    found = DistilledParser(student, CRF).fit([*trees, *raw], y)
    assert_same_model(found.parser_, expected.parser_)
    symbols, crf = [tree.upos for tree in [*trees, *raw]], clone(CRF).set_params(columns=["symbol"])
    assert DistilledParser(crf, crf).fit(symbols, y).score(symbols[: len(trees)], trees) > 0.7


def test_raw_text_as_text(english, trees):
    text = to_text(english[60:90])[0]
    splitter = Splitter(hidden_layer_sizes=[8], max_iter=2, random_state=0)
    linear = clone(CRF).set_params(columns=["form"])
    model = make_parser_pipeline(splitter, DistilledParser(linear, linear)).fit([*trees, text])
    raw = clone(splitter).fit(trees).split_text(text)
    assert len(raw) > 1
    assert_same_model(
        model[-1].parser_, DistilledParser(linear, linear).fit([*trees, *raw]).parser_
    )


def test_it_goes_where_parsers_go(trees, raw, tmp_path):
    """A file holds the student alone."""
    average = AveragedParser([("student", DistilledParser(CRF, CRF))], calibrate=False)
    assert average.fit([*trees, *raw]).predict(raw).size == len(raw)
    model = make_parser_pipeline(TokenFeature("upos"), DistilledParser(CRF, CRF))
    save_model(model.fit([*trees, *raw]), tmp_path / "model.npz")
    loaded = load_model(tmp_path / "model.npz")
    assert same(loaded.predict_marginals(raw), model.predict_marginals(raw))
    assert type(loaded[-1]) is CRFParser


def test_partial_trees_keep_what_is_known(english, trees):
    partial = [tree.with_heads([-1, *tree.heads[1:]], tree.deprels) for tree in english[60:90]]
    crossing = DependencyTree(["a", "b", "c", "d"], [3, 4, -1, -1], upos=["X"] * 4)
    model = DistilledParser(network(), CRF)
    with pytest.warns(UserWarning, match="2 of 61 sentences are left out"):
        model.fit([*trees, *partial, crossing])
    assert model.parser_.n_left_out_ == 2


def test_probabilities_are_corrected_by_annotated_sentences_alone(english, trees, raw):
    """Heads that the teacher has guessed would make the student too sure of itself."""
    few = DistilledParser(network(), CRF).fit([*trees[:19], *raw])
    assert_array_equal(few.parser_.temperatures_, 1)
    more = DistilledParser(network(), CRF).fit([*trees, *raw])
    assert (more.parser_.temperatures_ != 1).any()
    early = network(early_stopping=True, validation_fraction=0.5, calibrate=False)
    stopped = DistilledParser(early, CRF).fit([*trees, *raw])
    assert len(stopped.parser_.validation_scores_) == stopped.parser_.n_iter_


def test_the_teacher_fills_in_tags(english, trees, raw):
    raw = [DependencyTree(tree.forms) for tree in raw]
    teacher = make_parser_pipeline(
        Tagger("upos", ["form"], hidden_layer_sizes=[8], max_iter=2, random_state=0),
        TokenFeature("upos"),
        RefinedSHAG(2, max_iter=2, random_state=0),
    )
    student = network(columns=["form"], tags="upos", augment=True, calibrate=False)
    model = DistilledParser(student, teacher).fit([*trees, *raw])
    assert model.predict_tags(raw).size == len(raw)
    assert model.parse(raw)[0].upos is not None


def test_frozen_teachers_stay_as_they_are(english, trees, raw):
    teacher = FrozenEstimator(clone(CRF).fit(trees))
    for sentences in ([*trees, *raw], raw):  # also if there are no trees at all
        model = DistilledParser(network(calibrate=False), teacher).fit(sentences)
        assert model.teacher_ is teacher
    assert len(DistilledParser(network(max_iter=1)).fit(trees).teacher_.estimators_) == 3


def test_of_signed_operators_the_trees_are_learned(english, trees, raw):
    """Their probabilities are those of no distribution, so that the loss had no lower bound."""
    teacher = make_parser_pipeline(TokenFeature("upos"), SpectralSHAG(2))
    models = [DistilledParser(CRF, teacher, targets=each) for each in ("trees", "marginals")]
    by_trees, by_marginals = (model.fit([*trees, *raw]) for model in models)
    assert_same_model(by_marginals.parser_, by_trees.parser_)
    members = [("spectral", teacher), ("linear", CRF)]
    average = AveragedParser(members, calibrate=False).fit(trees)
    assert all(arcs is None for _, arcs, _ in _ask_teacher(average, raw, ()))
