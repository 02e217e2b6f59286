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
    HalvingGridSearchCV,
    HalvingRandomSearchCV,
    KFold,
    RandomizedSearchCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    validation_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

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


HALVING = {"min_resources": 30, "factor": 2, "random_state": 0}
TOOLS = {
    "cross_validate": scores_of,
    "cross_val_score": partial(cross_val_score, cv=2, error_score="raise"),
    "cross_val_predict": partial(cross_val_predict, cv=2),
    "grid": partial(search_with, GridSearchCV, param_grid=DECODERS),
    "random": partial(
        search_with, RandomizedSearchCV, param_distributions=DECODERS, n_iter=2, random_state=0
    ),
    "halving grid": partial(search_with, HalvingGridSearchCV, param_grid=DECODERS, **HALVING),
    "halving random": partial(
        search_with,
        HalvingRandomSearchCV,
        param_distributions=DECODERS,
        n_candidates=2,
        **HALVING,
    ),
    "learning curve": partial(curve_of, learning_curve, train_sizes=[0.5, 1.0]),
    "validation curve": partial(
        curve_of, validation_curve, param_name="decoder", param_range=DECODERS["decoder"]
    ),
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


@pytest.mark.parametrize("name", ["product", "conditional, sibling", "CRF", "network"])
def test_other_estimators_can_be_searched_over(trees, name):
    estimator = ESTIMATORS[name]
    expected = flat(TOOLS["grid"](estimator, trees, None))
    assert np.isfinite(expected).all()
    by_symbols = flat(TOOLS["grid"](estimator, *symbols_and_heads(trees)))
    assert_array_equal(by_symbols, expected)


def test_cross_validation_fits_and_scores_each_fold(representative, trees):
    estimator = representative
    folds = KFold(3, shuffle=True, random_state=0)
    scores = cross_val_score(estimator, trees, cv=folds, error_score="raise")
    predicted = cross_val_predict(estimator, trees, cv=folds)
    for score, (train, test) in zip(scores, folds.split(trees), strict=True):
        model = clone(estimator).fit(take(trees, train))
        assert score == model.score(take(trees, test))
        assert same(predicted[test], model.predict(take(trees, test)))
    assert scores.min() > 0.5 or not estimator._takes_heads_of_trees


def test_grid_search_fits_the_best_candidate_to_all_trees(trees):
    search = GridSearchCV(SpectralSHAG(), {"n_states": [1, 3]}, cv=3, error_score="raise")
    search.fit(trees)
    assert search.best_params_ == {"n_states": 3}
    assert_same_model(search.best_estimator_, SpectralSHAG(3).fit(trees))
    assert search.score(trees) == SpectralSHAG(3).fit(trees).score(trees)


def test_states_can_be_the_resource_of_halving(trees):
    search = HalvingGridSearchCV(
        SpectralSHAG(),
        {"smoothing": [0, 1, 5]},
        resource="n_states",
        max_resources=8,
        factor=2,
        cv=3,
        error_score="raise",
    ).fit(trees)
    assert search.best_estimator_.n_states == 8


# Ten sentences do not have all symbols.
@pytest.mark.filterwarnings("ignore::sklearn_shag.treebank.UnknownSymbolWarning")
def test_learning_curves_by_chunks_are_learning_curves(counting, trees):
    one, by_chunks = (
        curve_of(learning_curve, counting, trees, None, exploit_incremental_learning=incremental)
        for incremental in (False, True)
    )
    assert_array_equal(one, by_chunks)


def test_sentences_of_one_length_are_no_table():
    symbols = np.random.default_rng(0).choice(["DET", "NOUN", "VERB"], size=(30, 4))
    heads = np.tile([2, 3, 0, 3], (30, 1))
    trees = [DependencyTree(*sentence) for sentence in zip(symbols.tolist(), heads, strict=True)]
    expected = cross_val_score(SpectralSHAG(2), trees, cv=3, error_score="raise")
    for X, y in [(symbols, heads), (symbols.tolist(), heads.tolist())]:
        scores = cross_val_score(SpectralSHAG(2), X, y, cv=3, error_score="raise")
        assert_array_equal(scores, expected)
        assert cross_val_predict(SpectralSHAG(2), X, y, cv=3).shape == (30,)


def test_pipelines_and_grids_over_their_steps(trees):
    pipeline = make_pipeline(TokenFeature("upos", "xpos"), SpectralSHAG(3, smoothing=5))
    assert pipeline.fit(trees).score(trees) > 0.7
    assert "VERB|VBD" in pipeline[-1].symbols_
    search = GridSearchCV(
        pipeline,
        {"spectralshag__n_states": [2, 3], "tokenfeature__joined_with": [None, "xpos"]},
        cv=3,
        error_score="raise",
    ).fit(trees)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_functions_can_be_steps_of_pipelines(trees):
    def use_xpos(trees):
        return [tree.with_symbols(tree.xpos) for tree in trees]

    by_function, by_feature = (
        cross_val_score(make_pipeline(step, SpectralSHAG(2)), trees, cv=3, error_score="raise")
        for step in (FunctionTransformer(use_xpos), TokenFeature("xpos"))
    )
    assert_array_equal(by_function, by_feature)
    assert not np.array_equal(by_function, cross_val_score(SpectralSHAG(2), trees, cv=3))


def test_scorers_may_ignore_punctuation(trees):
    scorer = make_scorer(unlabeled_attachment_score, ignore=is_punctuation)
    scores = cross_val_score(
        SpectralSHAG(2), trees, trees, scoring=scorer, cv=3, error_score="raise"
    )
    for score, (train, test) in zip(scores, KFold(3).split(trees), strict=True):
        model, held_out = SpectralSHAG(2).fit(take(trees, train)), take(trees, test)
        predicted = model.predict(held_out)
        assert score == unlabeled_attachment_score(held_out, predicted, ignore=is_punctuation)
        assert score != model.score(held_out)


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
    ("cv", "decoder"), [*((cv, "mbr") for cv in SPLITTERS), ("shuffled", "max_marginal")]
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


def test_spectral_search_takes_sentences_and_heads(trees):
    symbols, heads = symbols_and_heads(trees)
    search = SpectralSHAGCV(**SMALL_SEARCH, cv=3).fit(symbols, heads)
    assert_same_search(search, grid_search(SMALL_GRID, cv=3).fit(trees))


def test_the_fewest_states_win_among_equals(trees):
    search = SpectralSHAGCV(**OF_SEARCH, cv=3, scoring=lambda estimator, X, y: 0.5).fit(trees)
    assert (search.n_states_, search.smoothing_) == (1, 0)


def test_spectral_search_can_be_nested(trees):
    options = {"cv": 3, "scoring": exact_matches}
    one, other = (
        cross_validate(model, trees, cv=2, error_score="raise", return_train_score=True)
        for model in (SpectralSHAGCV(**SMALL_SEARCH, **options), grid_search(SMALL_GRID, **options))
    )
    for name in ("train_score", "test_score"):
        assert_array_equal(one[name], other[name])


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
@pytest.mark.parametrize("name", WEIGHTED)
@sklearn.config_context(**ROUTED)
def test_cross_validation_passes_weights_on(trees, weights, name):
    repeating = clone(ESTIMATORS[name])
    pipeline = make_pipeline(TokenFeature("upos"), routed(repeating))
    scores = cross_val_score(
        pipeline, trees, cv=3, params={"sample_weight": weights}, error_score="raise"
    )
    assert_array_equal(scores, list(weighted_folds(repeating, trees, weights)))


@needs_scikit_learn(1, 8)
@sklearn.config_context(**ROUTED)
def test_grid_search_passes_weights_on(trees, weights):
    pipeline = make_pipeline(TokenFeature("upos"), routed(SpectralSHAG()))
    grid = grid_search({"spectralshag__n_states": [1, 3]}, pipeline, cv=3)
    grid.fit(trees, sample_weight=weights)
    for n_states, mean in zip([1, 3], grid.cv_results_["mean_test_score"], strict=True):
        assert mean == np.mean(list(weighted_folds(SpectralSHAG(n_states), trees, weights)))
    assert_same_model(grid.best_estimator_[-1], SpectralSHAG(3).fit(repeat(trees, weights)))


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


@needs_scikit_learn(1, 8)
@sklearn.config_context(**ROUTED)
def test_weighted_spectral_search_can_be_nested(trees, weights):
    params = {"sample_weight": weights}
    one, other = (
        cross_val_score(model, trees, cv=2, params=params, error_score="raise")
        for model in (
            routed(SpectralSHAGCV(**SMALL_SEARCH, cv=3)),
            grid_search(SMALL_GRID, routed(SpectralSHAG()), cv=3),
        )
    )
    assert_array_equal(one, other)


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
