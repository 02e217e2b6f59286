"""Model selection: searches, curves, pipelines, routed weights, and counts kept between fits."""

import re
import time
from functools import partial

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.metrics import make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
)
from sklearn.pipeline import make_pipeline

from sklearn_shag import SpectralSHAG, SpectralSHAGCV
from sklearn_shag.metrics import exact_match_score, is_punctuation, unlabeled_attachment_score
from sklearn_shag.treebank import DependencyTree, TokenFeature
from tests.estimators import ESTIMATORS, assert_same_model, repeat, same, symbols_and_heads
from tests.loops import over

DECODERS = {"decoder": ["mbr", "max_marginal"]}
ROUTED = {"enable_metadata_routing": True}


def needs_scikit_learn(*version):
    """Mark a test of what scikit-learn itself could not do before this version."""
    found = tuple(int(part) for part in sklearn.__version__.split(".")[:2])
    reason = f"needs scikit-learn {'.'.join(map(str, version))}"
    return pytest.mark.xfail(found < version, reason=reason, strict=True)


@pytest.fixture(scope="module")
def weights():
    return np.arange(60) % 3


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
    "grid": partial(search_with, GridSearchCV, param_grid=DECODERS),
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


# SpectralSHAGCV

GRID = {"n_states": range(1, 5), "smoothing": [0, 20, 1.5]}
SMALL_GRID = {"n_states": [1, 2], "smoothing": [0, 5]}
OF_SEARCH, SMALL_SEARCH = (
    {f"{name}_grid": values for name, values in grid.items()} for grid in (GRID, SMALL_GRID)
)
GROUPS = np.arange(60) // 7


def grid_search(grid, model=None, **options):
    return GridSearchCV(model or SpectralSHAG(), grid, error_score="raise", **options)


def assert_same_search(search, grid):
    """Assert that a SpectralSHAGCV and a GridSearchCV have the same results to the last digit."""
    times = {"mean_fit_time", "std_fit_time", "mean_score_time", "std_score_time"}
    assert search.cv_results_.keys() == grid.cv_results_.keys() - times
    for name, column in search.cv_results_.items():
        assert_array_equal(column, grid.cv_results_[name], err_msg=name)
    assert search.best_score_ == grid.best_score_
    assert search.n_splits_ == grid.n_splits_
    assert search.n_states_ == grid.best_estimator_.n_states
    assert search.smoothing_ == grid.best_estimator_.smoothing
    assert_array_equal(search.symbols_, grid.best_estimator_.symbols_)
    assert same(search.operators_, grid.best_estimator_.operators_)
    assert same(search.fallback_operators_, grid.best_estimator_.fallback_operators_)


SPLITTERS = {
    "int": 3,
    "shuffled": KFold(3, shuffle=True, random_state=0),
    "groups": GroupKFold(3),
    "splits": list(KFold(4).split(range(60)))[2:0:-1],
}


@pytest.mark.parametrize(
    ("cv", "decoder"),
    [("int", "mbr"), ("groups", "mbr"), ("splits", "mbr"), ("shuffled", "max_marginal")],
)
def test_spectral_search_is_a_grid_search(trees, cv, decoder):
    options, groups = {"cv": SPLITTERS[cv]}, GROUPS if cv == "groups" else None
    search = SpectralSHAGCV(**OF_SEARCH, decoder=decoder, **options).fit(trees, groups=groups)
    grid = grid_search(GRID, SpectralSHAG(decoder=decoder), **options).fit(trees, groups=groups)
    assert_same_search(search, grid)
    rows = search.scores_.reshape(12, search.n_splits_)
    assert_array_equal(rows[:, 1], grid.cv_results_["split1_test_score"])
    assert_array_equal(rows.mean(axis=1), search.cv_results_["mean_test_score"])


def exact_matches(estimator, X, y=None):
    return exact_match_score(X if y is None else y, estimator.predict(X))


@pytest.mark.parametrize(
    "scoring", [exact_matches, make_scorer(unlabeled_attachment_score, ignore=is_punctuation)]
)
def test_spectral_search_takes_scorers(trees, scoring):
    options = {"cv": 3, "scoring": scoring}
    search = SpectralSHAGCV(**SMALL_SEARCH, **options).fit(trees, trees)
    grid = grid_search(SMALL_GRID, **options).fit(trees, trees)
    assert_same_search(search, grid)
    assert search.score(trees, trees) == grid.score(trees, trees)
    unscored = SpectralSHAGCV(**SMALL_SEARCH, cv=3).fit(trees)
    assert not np.array_equal(search.scores_, unscored.scores_)


@pytest.mark.parametrize(
    "params",
    [{"context": 0}, {"shrinkage": 0}, {"scaling": 0}, {"alpha": 0.1}, {"mixing": 0}],
    ids=str,
)
def test_spectral_search_passes_its_other_parameters_on(trees, params):
    search = SpectralSHAGCV(**SMALL_SEARCH, **params, cv=3).fit(trees)
    assert_same_search(search, grid_search(SMALL_GRID, SpectralSHAG(**params), cv=3).fit(trees))


def test_the_fewest_states_win_among_equals(trees):
    search = SpectralSHAGCV(**OF_SEARCH, cv=3, scoring=lambda estimator, X, y: 0.5).fit(trees)
    assert (search.n_states_, search.smoothing_) == (1, 0)


def test_spectral_search_can_be_a_step_of_a_pipeline(trees):
    pipeline = make_pipeline(TokenFeature("xpos"), SpectralSHAGCV(**SMALL_SEARCH, cv=GroupKFold(3)))
    pipeline.fit(trees, spectralshagcv__groups=GROUPS)
    grid = grid_search(SMALL_GRID, cv=GroupKFold(3))
    grid.fit(TokenFeature("xpos").fit_transform(trees), groups=GROUPS)
    assert_same_search(pipeline[-1], grid)


def slow_score(estimator, X, y=None):
    time.sleep(0.02)  # the other worker gets its turn
    return estimator.score(X)


def test_folds_that_are_scored_side_by_side_have_grammars_of_their_own(trees):
    options = {"n_states_grid": [1, 2], "smoothing_grid": [5], "cv": 4, "scoring": slow_score}
    serial, parallel = (SpectralSHAGCV(**options, n_jobs=n).fit(trees) for n in (1, 2))
    assert_array_equal(parallel.scores_, serial.scores_)


# Weights that meta-estimators pass on


def routed(model):
    return model.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)


def weighted_folds(model, trees, weights, n_folds=3):
    """Scores of cross-validation in which sentences are repeated after they are split."""
    for train, test in KFold(n_folds).split(trees):
        fitted = clone(model).fit(repeat(take(trees, train), weights[train]))
        yield fitted.score(repeat(take(trees, test), weights[test]))


# One whose own methods take weights, and those that pass them on to members.
WEIGHTED = ["spectral", "average", "product", "conditional", "DMV"]


@pytest.mark.parametrize("name", WEIGHTED)
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
    grid = grid_search({"n_states": [3]}, cv=3).fit(trees, sample_weight=weights)
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


@pytest.mark.parametrize("scoring", [None, "punctuation ignored"])
def test_weighted_spectral_search_is_a_weighted_grid_search(trees, weights, scoring):
    with sklearn.config_context(**ROUTED):
        if scoring is not None:
            scoring = make_scorer(unlabeled_attachment_score, ignore=is_punctuation)
            scoring.set_score_request(sample_weight=True)
        grid = grid_search(SMALL_GRID, routed(SpectralSHAG()), cv=3, scoring=scoring)
        grid.fit(trees, trees, sample_weight=weights)
        search = SpectralSHAGCV(**SMALL_SEARCH, cv=3, scoring=scoring)
        assert_same_search(search.fit(trees, trees, sample_weight=weights), grid)
        score, expected = (
            model.score(trees, trees, sample_weight=weights) for model in (search, grid)
        )
        assert score == expected
    assert_same_search(search.fit(trees, trees, sample_weight=weights), grid)
    unweighted = clone(search).fit(trees, trees)
    assert not np.array_equal(search.scores_, unweighted.scores_)


@sklearn.config_context(**ROUTED)
def test_pipelines_pass_weights_and_groups_on_to_spectral_search(trees, weights):
    metadata = {"sample_weight": weights, "groups": GROUPS}
    search = SpectralSHAGCV(**SMALL_SEARCH, cv=GroupKFold(3))
    expected = clone(search).fit(trees, **metadata)
    search.set_fit_request(sample_weight=True, groups=True)
    pipeline = make_pipeline(TokenFeature("upos"), search).fit(trees, **metadata)
    assert_same_model(pipeline[-1], expected)


@over(
    "options, message",
    [
        (
            {"n_states_grid": [2, 0]},
            r"The 'n_states_grid\[1\]' parameter of SpectralSHAGCV must .* 0",
        ),
        (
            {"smoothing_grid": [-1]},
            r"The 'smoothing_grid\[0\]' parameter of SpectralSHAGCV must .* -1",
        ),
        ({"mixing": 2.0}, "The 'mixing' parameter of SpectralSHAGCV must be .* Got 2.0"),
    ],
)
def test_messages_about_candidates_name_the_search(trees, options, message):
    with pytest.raises(ValueError, match=message):
        SpectralSHAGCV(**options).fit(trees)


def test_progress_of_the_search(trees, capsys):
    search = SpectralSHAGCV([1, 2], smoothing_grid=[0, 5], cv=3, verbose=2).fit(trees)
    out, err = capsys.readouterr()
    assert out == ""
    # Two strengths of smoothing in three folds, and what is learned from all trees. The last line
    # is drawn twice where the search takes long.
    assert set(re.findall(r"([\w-]+): 100%.*?(\d+)/\2", err)) == {("Cross-validation", "6")}
    assert search.set_params(verbose=1).predict(trees).size == len(trees)
    assert capsys.readouterr().err == ""
