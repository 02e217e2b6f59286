"""Every estimator as a citizen of scikit-learn."""

import copy
import inspect
import pickle

import joblib
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks

import sklearn_shag
from sklearn_shag import EMSHAG, BaseSHAG, DeterministicSHAG, SpectralSHAG
from sklearn_shag.treebank import TokenFeature

ESTIMATORS = [
    DeterministicSHAG(),
    DeterministicSHAG("sibling", smoothing=1),
    SpectralSHAG(3),
    EMSHAG(3, init="moments", smoothing=1, max_iter=100),
    EMSHAG(2, smoothing=1, max_iter=200, random_state=0),
]

# The checks of scikit-learn that need no array as X; the others are skipped by tag.
CHECKS_WITHOUT_DATA = [
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_estimators_unfitted",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_param_validation",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
]


@pytest.fixture(params=ESTIMATORS, ids=str)
def estimator(request):
    return clone(request.param)


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_all_estimators_are_tested():
    public = {
        value
        for value in vars(sklearn_shag).values()
        if inspect.isclass(value) and issubclass(value, BaseSHAG) and value is not BaseSHAG
    }
    assert public == {type(estimator) for estimator in ESTIMATORS}


@pytest.mark.parametrize("check", CHECKS_WITHOUT_DATA)
def test_checks_of_scikit_learn(estimator, check):
    if check in ("check_parameters_default_constructible", "check_estimators_unfitted"):
        estimator = type(estimator)()
    getattr(estimator_checks, check)(type(estimator).__name__, estimator)


def test_fit_changes_neither_data_nor_parameters(estimator, english):
    trees, params = list(english[:60]), estimator.get_params()
    symbols = [list(tree.symbols) for tree in trees]
    heads = [tree.heads.copy() for tree in trees]
    before = copy.deepcopy((symbols, heads))
    assert estimator.fit(symbols, heads) is estimator
    estimator.predict(symbols)
    assert symbols == before[0]
    assert same(heads, before[1])
    assert estimator.get_params() == params


def test_fitting_again_forgets_the_first_time(estimator, english):
    first = clone(estimator).fit(english[:80])
    again = estimator.fit(english[80:200]).fit(english[:80])
    assert_array_equal(again.symbols_, first.symbols_)
    for one, other in zip(again.operators_, first.operators_, strict=True):
        assert_array_equal(one, other)


def test_order_of_training_sentences_does_not_matter(estimator, english):
    one = clone(estimator).fit(english[:80]).predict_marginals(english[80:120])
    other = estimator.fit(english[:80][::-1]).predict_marginals(english[80:120])
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9)


def test_lists_tuples_and_arrays_are_the_same(estimator, english):
    symbols = [tree.symbols for tree in english[:60]]
    heads = [tree.heads for tree in english[:60]]
    ragged, ragged_heads = np.empty(60, dtype=object), np.empty(60, dtype=object)
    ragged[:] = [np.array(sentence) for sentence in symbols]
    ragged_heads[:] = heads
    variants = [
        (english[:60], None),
        (tuple(english[:60]), None),
        (np.array(english[:60], dtype=object), None),
        (symbols, heads),
        ([list(sentence) for sentence in symbols], [h.tolist() for h in heads]),
        (ragged, ragged_heads),
        (iter(english[:60]), None),
    ]
    expected = estimator.fit(english[:60]).predict(english[:60])
    for X, y in variants:
        model = clone(estimator).fit(X, y)
        again = english[:60] if y is None else X
        assert same(model.predict(again), expected)


def test_a_sentence_is_parsed_alike_alone_and_in_a_batch(estimator, english):
    estimator.fit(english[:200])
    together = estimator.predict_marginals(english[200:260])
    for tree, marginals in zip(english[200:260], together, strict=True):
        assert_array_equal(estimator.predict_marginals([tree])[0], marginals)
    backwards = estimator.predict(english[200:260][::-1])[::-1]
    assert same(backwards, estimator.predict(english[200:260]))


def test_n_jobs_changes_nothing(estimator, english):
    serial = clone(estimator).fit(english[:200])
    parallel = estimator.set_params(n_jobs=2).fit(english[:200])
    for one, other in zip(serial.operators_, parallel.operators_, strict=True):
        assert_array_equal(one, other)
    assert same(serial.predict(english), parallel.predict(english))
    assert same(serial.predict_marginals(english), parallel.predict_marginals(english))
    assert_array_equal(serial.log_likelihood(english), parallel.log_likelihood(english))


def test_other_joblib_backends_give_the_same(english):
    model = SpectralSHAG(3).fit(english[:100])
    expected = model.predict(english[:40])
    with joblib.parallel_config(backend="loky", n_jobs=2):
        assert same(model.predict(english[:40]), expected)


def test_pickle_and_joblib_keep_everything(estimator, english, tmp_path):
    estimator.fit(english[:100])
    joblib.dump(estimator, tmp_path / "model.joblib")
    for copied in (
        pickle.loads(pickle.dumps(estimator)),
        joblib.load(tmp_path / "model.joblib"),
        copy.deepcopy(estimator),
    ):
        assert same(copied.predict(english[100:150]), estimator.predict(english[100:150]))


def test_model_selection(estimator, english):
    heads = [tree.heads for tree in english]
    symbols = [tree.symbols for tree in english]
    folds = KFold(3, shuffle=True, random_state=0)
    scores = cross_val_score(estimator, english, cv=folds, error_score="raise")
    with_y = cross_val_score(estimator, symbols, heads, cv=folds, error_score="raise")
    assert_array_equal(scores, with_y)
    assert scores.min() > 0.6
    search = GridSearchCV(estimator, {"smoothing": [0, 1, 10]}, cv=folds, error_score="raise").fit(
        english
    )
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.score(english) >= search.best_score_


def test_pipelines_and_grids_over_their_steps(english):
    pipeline = make_pipeline(TokenFeature("upos", "xpos"), SpectralSHAG(3, smoothing=5))
    assert pipeline.fit(english).score(english) > 0.7
    assert "VERB|VBD" in pipeline[-1].symbols_
    search = GridSearchCV(
        pipeline,
        {"spectralshag__n_states": [2, 3], "tokenfeature__joined_with": [None, "xpos"]},
        cv=3,
        error_score="raise",
    ).fit(english)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_tags_and_html(estimator):
    tags = estimator.__sklearn_tags__()
    assert not tags.input_tags.two_d_array
    assert tags.input_tags.string
    assert type(estimator).__name__ in estimator._repr_html_()
