"""Model selection: searches, curves, pipelines, routed weights, and counts kept between fits."""

from functools import partial

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
)
from sklearn.pipeline import make_pipeline

from sklearn_shag import SpectralSHAG
from sklearn_shag.treebank import DependencyTree, TokenFeature
from tests.estimators import ESTIMATORS, assert_same_model, repeat, symbols_and_heads

ROUTED = {"enable_metadata_routing": True}


@pytest.fixture(scope="module")
def trees(english):
    """So many that no part of a fold lacks a symbol of the others."""
    return english[:60]


@pytest.fixture(scope="module")
def weights():
    return np.arange(60) % 3


def needs_scikit_learn(*version):
    """Mark a test of what scikit-learn itself could not do before this version."""
    found = tuple(int(part) for part in sklearn.__version__.split(".")[:2])
    reason = f"needs scikit-learn {'.'.join(map(str, version))}"
    return pytest.mark.xfail(found < version, reason=reason, strict=True)


def take(sentences, chosen):
    return [sentences[i] for i in chosen]


def search_with(kind, model, X, y, **options):
    search = kind(model, cv=2, error_score="raise", **options).fit(X, y)
    return search.cv_results_["mean_test_score"], search.predict(X)


def curve_of(kind, model, X, y, **options):
    *_, train_scores, test_scores = kind(model, X, y, cv=2, error_score="raise", **options)
    return train_scores, test_scores


def scores_of(model, X, y):
    scores = cross_validate(model, X, y, cv=2, return_train_score=True, error_score="raise")
    return scores["train_score"], scores["test_score"]


TOOLS = {
    "cross_validate": scores_of,
    "cross_val_predict": partial(cross_val_predict, cv=2),
    "grid": partial(search_with, GridSearchCV, param_grid={"decoder": ["mbr", "max_marginal"]}),
    "learning curve": partial(curve_of, learning_curve, train_sizes=[0.5, 1.0]),
}


def flat(result):
    """All numbers of the result of a tool."""
    parts = result if isinstance(result, tuple | list | np.ndarray) else [result]
    return np.concatenate([np.ravel(p) if np.ndim(p) == 0 else flat(list(p)) for p in parts])


# The tools of scikit-learn


@pytest.mark.parametrize("tool", TOOLS)
def test_tools_take_trees_or_sentences_and_heads(trees, tool):
    expected = flat(TOOLS[tool](SpectralSHAG(3), trees, None))
    assert np.isfinite(expected).all()
    as_array = np.array(trees, dtype=object)
    for X, y in (symbols_and_heads(trees), (as_array, as_array)):
        assert_array_equal(flat(TOOLS[tool](SpectralSHAG(3), X, y)), expected)


def test_sentences_of_one_length_are_no_table():
    symbols = np.random.default_rng(0).choice(["DET", "NOUN", "VERB"], size=(30, 4))
    heads = np.tile([2, 3, 0, 3], (30, 1))
    trees = [DependencyTree(*sentence) for sentence in zip(symbols.tolist(), heads, strict=True)]
    expected = cross_val_score(SpectralSHAG(2), trees, cv=3, error_score="raise")
    for X, y in [(symbols, heads), (symbols.tolist(), heads.tolist())]:
        scores = cross_val_score(SpectralSHAG(2), X, y, cv=3, error_score="raise")
        assert_array_equal(scores, expected)
        assert cross_val_predict(SpectralSHAG(2), X, y, cv=3).shape == (30,)


# Weights that meta-estimators pass on


def routed(model):
    return model.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)


def weighted_folds(model, trees, weights, n_folds=3):
    """Scores of cross-validation in which sentences are repeated after they are split."""
    for train, test in KFold(n_folds).split(trees):
        fitted = clone(model).fit(repeat(take(trees, train), weights[train]))
        yield fitted.score(repeat(take(trees, test), weights[test]))


# One whose own methods take weights, and those that pass them on to members.
@pytest.mark.parametrize("name", ["spectral", "average", "product", "DMV"])
@sklearn.config_context(**ROUTED)
def test_pipelines_pass_weights_on(trees, weights, name):
    repeating = clone(ESTIMATORS[name])
    pipeline = make_pipeline(TokenFeature("upos"), routed(repeating))
    pipeline.fit(trees, sample_weight=weights)
    repeated = repeat(trees, weights)
    expected = clone(repeating).fit(repeated)
    assert_same_model(pipeline[-1], expected)
    assert pipeline.score(trees, sample_weight=weights) == expected.score(repeated)


@needs_scikit_learn(1, 8)
@pytest.mark.parametrize("name", ["spectral", "average"])
@sklearn.config_context(**ROUTED)
def test_cross_validation_passes_weights_on(trees, weights, name):
    repeating = clone(ESTIMATORS[name])
    pipeline = make_pipeline(TokenFeature("upos"), routed(repeating))
    scores = cross_val_score(
        pipeline, trees, cv=3, params={"sample_weight": weights}, error_score="raise"
    )
    assert_array_equal(scores, list(weighted_folds(repeating, trees, weights)))


def test_weights_reach_fit_without_routing(trees, weights):
    expected = SpectralSHAG(3).fit(repeat(trees, weights))
    pipeline = make_pipeline(TokenFeature("upos"), SpectralSHAG(3))
    assert_same_model(pipeline.fit(trees, spectralshag__sample_weight=weights)[-1], expected)
    grid = GridSearchCV(SpectralSHAG(), {"n_states": [3]}, cv=3, error_score="raise")
    grid.fit(trees, sample_weight=weights)
    assert_same_model(grid.best_estimator_, expected)


@needs_scikit_learn(1, 9)
@sklearn.config_context(**ROUTED)
def test_learning_curves_pass_weights_on_to_chunks(counting, trees, weights):
    model = routed(counting).set_partial_fit_request(sample_weight=True)
    one, by_chunks, unweighted = (
        curve_of(learning_curve, model, trees, None, train_sizes=[0.5, 1.0], **options)
        for options in (
            {"params": {"sample_weight": weights}},
            {"params": {"sample_weight": weights}, "exploit_incremental_learning": True},
            {},
        )
    )
    assert_array_equal(by_chunks, one)
    assert not np.array_equal(by_chunks, unweighted)
