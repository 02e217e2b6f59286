"""Probabilities that mean what they say: the correction, how it is learned, and what it leaves."""

import copy
from unittest import mock

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline

from sklearn_shag import (
    AveragedParser,
    BiaffineParser,
    CRFParser,
    DeterministicSHAG,
    SpectralSHAG,
    Tagger,
    load_model,
    save_model,
)
from sklearn_shag.encoding import encode_columns, forget_rare, list_values, make_columns
from sklearn_shag.network import _estimators
from sklearn_shag.parsing import calibrate
from sklearn_shag.parsing._calibration import Answers, learn_calibrations
from sklearn_shag.treebank import DependencyTree
from tests.estimators import ESTIMATORS, same
from tests.loops import over

ATTRIBUTES = ("temperatures_", "uniform_shares_")


@pytest.fixture(scope="module")
def trees(english):
    return english[:100]


def make_linear(**settings):
    return CRFParser(["upos", "form"], n_features=2**14, random_state=0, **settings)


def make_average(**settings):
    members = [("linear", make_linear(**settings)), ("spectral", SpectralSHAG(2))]
    return AveragedParser(members, **settings)


@pytest.fixture(scope="module")
def corrected(trees):
    return {make: make().fit(trees) for make in (make_linear, make_average)}


def by_hand(given, temperature, share):
    """Correct distributions, along the last axis."""
    is_possible, powers = given > 0, np.where(given > 0, given, 0) ** (1 / temperature)
    uniform = is_possible / is_possible.sum(axis=-1, keepdims=True)
    return (1 - share) * powers / powers.sum(axis=-1, keepdims=True) + share * uniform


def test_the_correction_is_its_formula(rng):
    sizes = rng.integers(1, 8, 50)
    ends = np.concatenate([[0], np.cumsum(sizes)])
    given = rng.random(ends[-1]) * (rng.random(ends[-1]) < 0.7)
    given[ends[:-1]] += 1e-9  # something is possible everywhere
    for temperature, share in ((1.7, 0.1), (0.3, 0.0), (1.0, 0.5)):
        found = given.copy()
        calibrate(found, ends, temperature, share)
        rows = zip(np.split(found, ends[1:-1]), np.split(given, ends[1:-1]), strict=True)
        for after, before in rows:
            assert_allclose(after, by_hand(before, temperature, share), rtol=1e-12)
            assert_array_equal(np.argsort(after, kind="stable"), np.argsort(before, kind="stable"))
            assert_allclose(after.sum(), 1)


def test_what_was_distorted_is_put_right(rng):
    """Choices that were drawn from known probabilities find them again."""
    n_tokens, n_choices, temperature, share = 40_000, 5, 0.6, 0.04
    raw = rng.dirichlet(np.full(n_choices, 0.5), n_tokens)
    raw[::2, 2:] = 0  # what is impossible counts neither as a choice nor as an answer
    truth = by_hand(raw, 1 / temperature, share)
    true = (truth.cumsum(axis=1) < rng.random((n_tokens, 1))).sum(axis=1)
    true[::7], true[::10] = -1, 4
    answers = Answers(raw.ravel(), np.full(n_tokens, n_choices), true, np.ones(n_tokens))
    found = learn_calibrations([(answers, answers, np.ones((1, 2)))])
    assert_allclose(found["temperatures_"], 1 / temperature, rtol=0.03)
    assert_allclose(found["uniform_shares_"], share, atol=0.01)
    assert_array_equal(learn_calibrations([])["temperatures_"], 1)
    unknown = answers._replace(true=np.full(n_tokens, -1))
    assert_array_equal(
        learn_calibrations([(unknown, unknown, np.ones((1, 2)))])["uniform_shares_"], 0
    )


@over("make", [make_linear, make_average])
def test_trees_stay(corrected, english, trees, make):
    """Weights too; probabilities of heads and of labels alone are others."""
    test = english[200:300]
    model, raw = copy.copy(corrected[make]), make(calibrate=False).fit(trees)
    for decoder in ("mbr", "max_marginal", "mst"):
        model.set_params(decoder=decoder)
        raw.set_params(decoder=decoder)
        assert same(model.predict(test), raw.predict(test))
    assert same(model.predict_labels(test), raw.predict_labels(test))
    assert not same(model.predict_marginals(test), raw.predict_marginals(test))
    parts = zip(model.predict_marginals(test[:5]), raw.predict_marginals(test[:5]), strict=True)
    for found, given in parts:
        expected = by_hand(given, model.temperatures_[0], model.uniform_shares_[0])
        assert_allclose(found, expected, rtol=1e-9)
    if make is make_linear:
        assert_array_equal(model.weights_.arcs, raw.weights_.arcs)
    for name in ATTRIBUTES:
        setattr(model, name, getattr(raw, name))
    assert same(model.predict_marginals(test), raw.predict_marginals(test))
    assert same(model.predict_label_proba(test), raw.predict_label_proba(test))


def test_each_half_is_learned_as_if_there_were_no_other(trees):
    """Encoded once, with what is rare in a half forgotten, as that half alone would be."""
    names, indptr = ("upos", "form", "suffix.3"), np.cumsum([0, *map(len, trees)])
    half = trees[::2]
    whole = make_columns(list_values(names, trees, 2))
    alone = make_columns(list_values(names, half, 2))
    codes = encode_columns(whole, trees, indptr)
    known = encode_columns(whole, half, np.cumsum([0, *map(len, half)]))
    found = forget_rare(names, codes, known, 2)
    expected = encode_columns(alone, trees, indptr)
    for k in range(len(names)):
        pairs = set(zip(found[:, k].tolist(), expected[:, k].tolist(), strict=True))
        assert (0, 0) in pairs or names[k] == "upos"
        assert len(pairs) == np.unique(found[:, k]).size == np.unique(expected[:, k]).size


def test_trees_that_are_set_aside_serve(trees, monkeypatch):
    """Those of early stopping, and of many tokens some: then nothing is learned twice."""
    learn = mock.create_autospec(CRFParser._learn_from, side_effect=CRFParser._learn_from)
    monkeypatch.setattr(CRFParser, "_learn_from", learn)
    model = make_linear(early_stopping=True, validation_fraction=0.5).fit(trees)
    assert model.temperatures_[0] != 1
    assert learn.call_count == 1
    monkeypatch.setattr("sklearn_shag.conditional._base.MANY_TOKENS", 1000)
    monkeypatch.setattr("sklearn_shag.conditional._base.SET_ASIDE", 0.2)
    assert make_linear().fit(trees).temperatures_[0] != 1
    assert learn.call_count == 2
    assert make_linear(calibrate=False).fit(trees).temperatures_[0] == 1
    assert learn.call_count == 3


def test_where_nothing_can_be_learned_nothing_is_corrected(trees, corrected):
    for model in (make_linear(), make_average()):
        assert_array_equal(model.fit(trees[:19]).temperatures_, 1)
    frozen = [("linear", FrozenEstimator(corrected[make_linear])), ("spectral", SpectralSHAG(2))]
    assert_array_equal(AveragedParser(frozen).fit(trees).temperatures_, 1)


def test_warm_start_leaves_it(trees):
    model = make_linear(warm_start=True).fit(trees)
    before = [getattr(model, name) for name in ATTRIBUTES]
    model.fit(trees[:50])
    assert all(getattr(model, n) is b for n, b in zip(ATTRIBUTES, before, strict=True))
    model.set_params(calibrate=False).fit(trees[:50])
    assert_array_equal(model.temperatures_, 1)


@over("name", sorted(set(ESTIMATORS) - {"network", "chain", "random trees"}))
def test_probabilities_of_labels(english, with_relations, name):
    """They sum to 1, and the most probable one is the label, whatever the others of its head."""
    model, text = with_relations(name), english[60:80]
    parts = zip(
        model.predict_label_proba(text, text),
        model.predict_labels(text, text, unique_relations=()),
        model.predict_label_proba(text),
        model.predict_labels(text, unique_relations=()),
        strict=True,
    )
    for probabilities, labels, of_predicted, predicted in parts:
        assert probabilities.min() >= 0
        assert_allclose(probabilities.sum(axis=1), 1)
        assert_array_equal(model.labels_[probabilities.argmax(axis=1)], labels)
        assert_array_equal(model.labels_[of_predicted.argmax(axis=1)], predicted)


def test_halves_are_trained_as_the_whole(english, monkeypatch):
    """Else what is learned from them is surer, or less sure, than what they are to correct."""
    train, trainer = english[:40], mock.Mock(wraps=_estimators.Trainer)
    n_tokens = sum(map(len, train))
    schedule = (0.75 * n_tokens, 50, 3, 0.2), (np.inf, 100, 2, 0.1)
    monkeypatch.setattr(_estimators.NetworkLearner, "_schedule", schedule)
    monkeypatch.setattr(_estimators, "Trainer", trainer)
    network = BiaffineParser(hidden_layer_sizes=[4], random_state=0).fit(train)
    assert [call.kwargs["dropout"] for call in trainer.call_args_list] == 3 * [0.1]
    tagged = make_pipeline(
        Tagger(hidden_layer_sizes=[4], cv=2), CRFParser(n_features=2**12, max_iter=1)
    )
    AveragedParser([("network", network), ("tagged", tagged)]).fit(train)
    dropouts = [call.kwargs["dropout"] for call in trainer.call_args_list]
    # The folds that the tagger of all trees is fitted to are no halves of that kind.
    assert dropouts.count(0.2) == 2
    assert dropouts.count(0.1) == 3 + (1 + 1) + 2  # halves train no taggers


def rename(trees, **names):
    """Give relations other names."""
    return [
        tree.with_heads(tree.heads, [names.get(r.partition(":")[0], r) for r in tree.deprels])
        for tree in trees
    ]


@pytest.mark.parametrize(("n_lost", "is_on"), [(0, True), (13, True), (15, False)])
def test_relations_are_unique_if_that_costs_next_to_nothing(n_lost, is_on):
    """In 10,000 tokens ten may be lost, and as many more as the square root of all, by Poisson."""
    answers = Answers(np.full(2, 0.5), np.full(1, 2), np.zeros(1, dtype=int), np.ones(1))
    losses = np.stack([np.full(1000, 10.0), np.arange(1000) < n_lost], axis=1)
    for parts in ([losses], np.split(losses, 2)):
        learned = learn_calibrations([(answers, answers, part) for part in parts])
        assert learned["unique_relations_"] == (("nsubj", "obj") if is_on else ())
    unknown = learn_calibrations([(answers, answers, np.zeros((20, 2)))])
    assert unknown["unique_relations_"] == learn_calibrations([])["unique_relations_"] == ()


@over(("make", "n"), [(make_linear, 300), (make_average, 200)])
def test_unique_relations_are_found_in_training(english, make, n, tmp_path):
    model, test = make().fit(english[:n]), english[300:]
    assert model.unique_relations_ == ("nsubj", "obj")
    labels = model.predict_labels(test, unique_relations=["nsubj", "obj"])
    assert same(model.predict_labels(test), labels)
    assert not same(model.predict_labels(test, unique_relations=()), labels)
    assert [tree.deprels for tree in model.parse(test)] == list(map(tuple, labels))
    save_model(model, tmp_path / "model.npz")
    assert same(load_model(tmp_path / "model.npz").predict_labels(test), labels)


def test_relations_that_are_not_unique_or_unknown(english):
    """Where objects are subjects, most heads have two; nobody knows without held-out trees."""
    fit = make_linear().fit
    assert fit(rename(english[:300], obj="nsubj")).unique_relations_ == ()
    assert fit(rename(english[:300], nsubj="subj", obj="comp")).unique_relations_ == ()
    assert fit(english[:19]).unique_relations_ == ()
    assert make_linear(calibrate=False).fit(english[:300]).unique_relations_ == ()
    only = [DependencyTree(list("ab"), [2, 0], upos=list("XY"), deprels=["nsubj", "obj"])] * 30
    assert [tree.deprels for tree in fit(only).parse(only[:1])] == [("nsubj", "obj")]


@pytest.mark.parametrize(
    ("relation", "n"), [("nsubj:outer", 2), ("csubj:outer", 2), ("csubj:pass", 1)]
)
def test_subjects_of_an_outer_clause_stay_beside_others(relation, n):
    """As in "The problem is he left"; subjects of passives count."""
    tree = DependencyTree(list("abcd"), [3, 3, 0, 3], deprels=[relation, "nsubj", "root", "punct"])
    model = DeterministicSHAG().fit([tree])
    groups = [("nsubj", "csubj")]
    (labels,) = model.predict_labels([tree], [tree.heads], unique_relations=groups)
    assert sum("subj" in label for label in labels) == n
