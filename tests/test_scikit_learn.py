"""What the page on scikit-learn's tools says of them: scorers, y, and tools that do not apply."""

import inspect
import pickle
import re
from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_selection import RFE
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.metrics import get_scorer_names, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedKFold,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    permutation_test_score,
    train_test_split,
    validation_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import sklearn_shag
from sklearn_shag import DeterministicSHAG, SpectralSHAG, SpectralSHAGCV
from sklearn_shag.metrics import (
    exact_match_score,
    exact_match_scorer,
    uas_scorer,
    unlabeled_attachment_score,
)
from sklearn_shag.parsing import eisner
from sklearn_shag.treebank import DependencyTree, TokenFeature, heads
from sklearn_shag.utils._estimators import find_documentation
from tests.loops import over

SCORERS = {"uas": uas_scorer, "exact": exact_match_scorer}
SCORES = {"uas": unlabeled_attachment_score, "exact": exact_match_score}
ERRORS = (ValueError, TypeError, AttributeError)


@pytest.fixture(scope="module")
def trees(english):
    return english[:60]


@pytest.fixture(scope="module")
def weights():
    return np.arange(60) % 3


def object_array(items):
    out = np.empty(len(items), dtype=object)
    out[:] = items
    return out


KINDS_OF_Y = {
    "None": lambda trees: None,
    "heads": heads,
    "lists": lambda trees: [tree.heads.tolist() for tree in trees],
    "array": lambda trees: object_array(heads(trees)),
    "trees": list,
}


@pytest.fixture(params=KINDS_OF_Y)
def y(request, trees):
    return KINDS_OF_Y[request.param](trees)


# heads


def test_heads_are_those_of_the_trees(trees):
    y = heads(trees)
    assert isinstance(y, list)
    assert all(part is tree.heads for part, tree in zip(y, trees, strict=True))
    assert all(a is b for a, b in zip(heads(iter(trees)), y, strict=True))
    assert heads([]) == []


@pytest.mark.parametrize("sentence", [DependencyTree(["Dogs", "bark"]), ["NOUN", "VERB"]])
def test_sentences_without_heads_have_no_y(trees, sentence):
    with pytest.raises(ValueError, match=r"X\[60\] has no heads \(2 of 63 sentences have none\)"):
        heads([*trees, sentence, trees[0], sentence])


@pytest.mark.parametrize("X", [DependencyTree(["Stop"], [0]), None, "train.conllu", SpectralSHAG()])
def test_a_single_tree_is_no_treebank(X):
    message = rf"X must be a sequence of trees, got a single {type(X).__name__}\. .*: \[tree\]"
    with pytest.raises(TypeError, match=message):
        heads(X)


# Scorers


@pytest.mark.parametrize("name", SCORERS)
def test_scorers_score_what_is_predicted(trees, y, weights, name):
    for model in (SpectralSHAG(2), make_pipeline(TokenFeature("xpos"), SpectralSHAG(2))):
        predicted = model.fit(trees).predict(trees)
        score = SCORERS[name](model, trees, y)
        assert 0 < score < 1
        assert score == SCORES[name](trees, predicted)
        weighted = SCORERS[name](model, trees, y, sample_weight=weights)
        assert weighted == SCORES[name](trees, predicted, sample_weight=weights)
        assert weighted != score
        if name == "uas":
            assert score == model.score(trees)


def test_scorers_take_sentences_with_y(trees):
    symbols, y = [tree.symbols for tree in trees], heads(trees)
    model = SpectralSHAG(2).fit(symbols, y)
    assert uas_scorer(model, symbols, y) == model.score(symbols, y)
    with pytest.raises(ValueError, match=r"X\[0\] has no heads .* heads of all sentences as y"):
        uas_scorer(model, symbols)
    with pytest.raises(ValueError, match="the same number of sentences"):
        uas_scorer(model, symbols, y[1:])


@pytest.mark.parametrize("name", SCORERS)
def test_scorers_take_the_estimator_first(trees, name):
    with pytest.raises(TypeError, match=r"got a list\. The estimator comes first"):
        SCORERS[name](trees, SpectralSHAG())


def test_true_heads_are_those_before_the_steps_of_a_pipeline(trees):
    def chain(trees):
        return [tree.with_heads(np.arange(len(tree))) for tree in trees]

    model = make_pipeline(FunctionTransformer(chain), DeterministicSHAG()).fit(trees)
    score = unlabeled_attachment_score(trees, model.predict(trees))
    assert uas_scorer(model, trees) == score
    assert model.score(trees) != score  # of the chains


@pytest.mark.parametrize("name", SCORERS)
def test_scorers_can_be_pickled(name):
    assert pickle.loads(pickle.dumps(SCORERS[name])) is SCORERS[name]


def search(model, trees, y, scoring):
    grid = GridSearchCV(
        model, {"decoder": ["mbr"]}, cv=3, scoring=scoring, n_jobs=2, error_score="raise"
    )
    return grid.fit(trees, y).best_score_


def learning(model, trees, y, scoring):
    *_, scores = learning_curve(
        model, trees, y, cv=3, scoring=scoring, train_sizes=[0.5, 1.0], error_score="raise"
    )
    return scores


def validation(model, trees, y, scoring):
    *_, scores = validation_curve(
        model,
        trees,
        y,
        param_name="decoder",
        param_range=["mbr", "max_marginal"],
        cv=3,
        scoring=scoring,
        error_score="raise",
    )
    return scores


TOOLS = {
    "cross_val_score": partial(cross_val_score, cv=3, error_score="raise"),
    "search": search,
    "learning curve": learning,
    "validation curve": validation,
}


@pytest.mark.parametrize("tool", TOOLS)
def test_tools_take_scorers_and_any_y(trees, tool):
    by_default = TOOLS[tool](DeterministicSHAG(), trees, None, scoring=None)
    for make in KINDS_OF_Y.values():
        uas, exact = (
            TOOLS[tool](DeterministicSHAG(), trees, make(trees), scoring=scoring)
            for scoring in (uas_scorer, exact_match_scorer)
        )
        assert_array_equal(uas, by_default)
        assert np.all(exact < uas)


def test_tools_take_several_scorers(trees):
    model = make_pipeline(TokenFeature(), DeterministicSHAG())
    results = cross_validate(model, trees, cv=3, scoring=SCORERS, error_score="raise")
    for name, scorer in SCORERS.items():
        alone = cross_val_score(model, trees, cv=3, scoring=scorer, error_score="raise")
        assert_array_equal(results[f"test_{name}"], alone)
    grid = GridSearchCV(
        SpectralSHAG(), {"n_states": [1, 4]}, scoring=SCORERS, refit="exact", error_score="raise"
    ).fit(trees)
    assert grid.best_score_ == grid.cv_results_["mean_test_exact"].max()
    assert grid.score(trees) == exact_match_scorer(grid, trees)


def test_spectral_search_passes_weights_to_scorers(trees, weights):
    options = {"n_states": [1, 2], "smoothing": [5], "cv": 3}
    by_default, uas = (
        SpectralSHAGCV(**options, scoring=scoring).fit(trees, sample_weight=weights)
        for scoring in (None, uas_scorer)
    )
    assert_array_equal(uas.scores_, by_default.scores_)
    assert uas.score(trees, sample_weight=weights) == by_default.score(trees, sample_weight=weights)
    exact = clone(uas).set_params(scoring=exact_match_scorer).fit(trees)
    assert exact.score(trees) == exact_match_score(trees, exact.predict(trees))


@sklearn.config_context(enable_metadata_routing=True)
def test_routing_passes_weights_to_objects_and_not_to_functions(trees, weights):
    model = DeterministicSHAG().set_fit_request(sample_weight=True)
    model.set_score_request(sample_weight=True)
    made = make_scorer(unlabeled_attachment_score).set_score_request(sample_weight=True)
    by_default, by_object, by_function = (
        cross_val_score(
            model,
            trees,
            trees,
            cv=3,
            scoring=scoring,
            params={"sample_weight": weights},
            error_score="raise",
        )
        for scoring in (None, made, uas_scorer)
    )
    assert_array_equal(by_object, by_default)
    for k, (train, test) in enumerate(KFold(3).split(trees)):
        held_out = [trees[i] for i in test]
        fitted = clone(model).fit([trees[i] for i in train], sample_weight=weights[train])
        assert by_function[k] == fitted.score(held_out)
        assert by_default[k] == fitted.score(held_out, sample_weight=weights[test])


# Names of scorers


@over("name", ["accuracy", "r2"])
def test_names_of_scorers_give_nan(trees, y, name):
    with pytest.warns(UserWarning, match="Scoring failed"):
        scores = cross_val_score(DeterministicSHAG(), trees, y, cv=3, scoring=name)
    assert np.isnan(scores).all()
    with pytest.raises(ERRORS):
        cross_val_score(DeterministicSHAG(), trees, y, cv=3, scoring=name, error_score="raise")


def test_spectral_search_refuses_names_of_scorers(trees):
    search = SpectralSHAGCV([1], smoothing_grid=[0], cv=2, scoring="accuracy")
    with pytest.raises(ValueError, match="'scoring' parameter of SpectralSHAGCV must be None or"):
        search.fit(trees)


@pytest.mark.filterwarnings("ignore")  # scikit-learn's, about what is refused in the end
def test_no_name_of_a_scorer_would_do_where_all_sentences_have_one_length():
    symbols = np.random.default_rng(0).choice(["DET", "NOUN", "VERB"], size=(12, 4)).tolist()
    y = np.tile([2, 3, 0, 3], (12, 1))
    model = DeterministicSHAG().fit(symbols, y)
    for name in get_scorer_names():
        with pytest.raises(ERRORS):
            sklearn.metrics.get_scorer(name)(model, symbols, y)


# Folds


def test_strata_are_labels_of_ones_own(trees):
    is_long = np.array([len(tree) > 12 for tree in trees])
    folds = list(StratifiedKFold(3).split(trees, is_long))
    scores = cross_val_score(DeterministicSHAG(), trees, cv=folds, error_score="raise")
    assert np.isfinite(scores).all()
    for _, test in folds:
        assert_allclose(is_long[test].mean(), is_long.mean(), atol=0.05)
    train, test = train_test_split(trees, stratify=is_long, random_state=0)
    for part in (train, test):
        share = np.mean([len(tree) > 12 for tree in part])
        assert_allclose(share, is_long.mean(), atol=0.05)


def test_heads_are_no_strata(trees, y):
    with pytest.raises((ValueError, TypeError)):
        cross_val_score(DeterministicSHAG(), trees, y, cv=StratifiedKFold(3))
    if y is not None:
        with pytest.raises((ValueError, TypeError)):
            train_test_split(trees, stratify=y)


def test_heads_are_permuted_among_sentences_of_one_length(english):
    y, folds = heads(english), list(KFold(3).split(english))
    options = {"cv": folds, "n_permutations": 3, "random_state": 0}
    model, lengths = DeterministicSHAG(), [len(tree) for tree in english]
    score, permuted, _ = permutation_test_score(model, english, y, groups=lengths, **options)
    assert score == cross_val_score(model, english, cv=folds).mean()
    assert np.all(permuted < score - 0.3)
    with pytest.raises(ValueError, match=r"y\[\d+\] holds \d+ heads for a sentence of \d+ tokens"):
        permutation_test_score(model, english, y, **options)


@pytest.mark.parametrize("method", ["predict_marginals", "score_samples", "predict_proba"])
def test_cross_val_predict_knows_only_predict(trees, y, method):
    with pytest.raises(ERRORS):
        cross_val_predict(DeterministicSHAG(), trees, y, cv=3, method=method)


# Ensembles


def test_decoded_marginals_are_the_trees_of_a_model(trees):
    model = SpectralSHAG(2, decoder="max_marginal").fit(trees)
    for marginals, predicted in zip(
        model.predict_marginals(trees), model.predict(trees), strict=True
    ):
        assert_array_equal(eisner(marginals)[0], predicted)


def test_marginals_can_be_averaged(trees):
    one, other = (model.fit(trees) for model in (SpectralSHAG(2), DeterministicSHAG("sibling")))
    mean = (one.predict_marginals(trees) + other.predict_marginals(trees)) / 2
    assert mean.shape == (60,)
    for marginals, tree in zip(mean, trees, strict=True):
        assert_allclose(marginals.sum(axis=1), 1, rtol=1e-12)
        found = DependencyTree(tree.symbols, eisner(marginals)[0])
        assert found.is_projective
        assert np.count_nonzero(found.heads == 0) == 1


# Tools for tables and classes

MODEL = DeterministicSHAG()
FOR_TABLES = {
    "bagging": lambda X, y: BaggingClassifier(MODEL, 2).fit(X, y),
    "bagging, regression": lambda X, y: BaggingRegressor(MODEL, 2).fit(X, y),
    "voting": lambda X, y: VotingClassifier([("one", MODEL), ("two", MODEL)]).fit(X, y),
    "stacking": lambda X, y: StackingClassifier([("one", MODEL)]).fit(X, y),
    "boosting": lambda X, y: AdaBoostClassifier(MODEL).fit(X, y),
    "elimination": lambda X, y: RFE(MODEL).fit(X, y),
    "permutation importance": lambda X, y: permutation_importance(clone(MODEL).fit(X), X, y),
    "partial dependence": lambda X, y: partial_dependence(clone(MODEL).fit(X), X, [0]),
    "calibration": lambda X, y: CalibratedClassifierCV(MODEL).fit(X, y),
    "threshold": lambda X, y: TunedThresholdClassifierCV(MODEL).fit(X, y),
}


@over("tool", FOR_TABLES)
def test_tools_for_tables_refuse_sentences(trees, tool):
    for y in (None, heads(trees), trees):
        with pytest.raises((ValueError, TypeError)):
            FOR_TABLES[tool](trees, y)


def test_pipelines_pass_on_what_scikit_learn_knows(trees):
    pipeline = make_pipeline(TokenFeature("xpos"), SpectralSHAG(2)).fit(trees)
    for method in ("predict", "score", "score_samples"):
        assert hasattr(pipeline, method)
    for method in ("predict_marginals", "parse", "log_likelihood"):
        assert hasattr(pipeline[-1], method)
        assert not hasattr(pipeline, method)
    assert not hasattr(pipeline[0], "get_feature_names_out")


ADDRESS = "https://docs.org/shag"


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Install the package with these lines in its metadata."""

    def install(lines):
        folder = tmp_path / "sklearn_shag-0.1.0.dist-info"
        folder.mkdir(exist_ok=True)
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: sklearn-shag\n{lines}")
        find_documentation.cache_clear()

    monkeypatch.syspath_prepend(tmp_path)
    yield install
    find_documentation.cache_clear()


def test_diagrams_link_to_pages_of_the_documentation_if_its_address_is_known(installed):
    reference = Path(sklearn_shag.__file__).parents[1] / "doc" / "api.rst"
    if not reference.exists():
        pytest.skip("the documentation is not part of this copy")
    links = {}  # by the names of the pages that autosummary makes
    for section in reference.read_text(encoding="utf-8").split(".. currentmodule:: ")[1:]:
        module, rest = section.split("\n", 1)
        for name in re.findall(r"^   (\w+)$", rest, flags=re.MULTILINE):
            value = getattr(import_module(module), name)
            is_class = inspect.isclass(value) and not inspect.isabstract(value)
            if is_class and issubclass(value, BaseEstimator):
                links[f"{ADDRESS}/generated/{module}.{name}.html"] = value.__new__(value)
    assert len(links) > 20
    for lines in ("", "Project-URL: Source, https://source.org\n"):
        installed(lines)
        assert {estimator._get_doc_link() for estimator in links.values()} == {""}
    installed(f"Project-URL: Source, https://source.org\nProject-URL: Documentation, {ADDRESS}/\n")
    assert [estimator._get_doc_link() for estimator in links.values()] == list(links)
    assert (
        f'href="{ADDRESS}/generated/sklearn_shag.SpectralSHAG.html"' in SpectralSHAG()._repr_html_()
    )

    class Own(SpectralSHAG):
        """Of somebody else, who has other documentation, if any."""

    assert not Own()._get_doc_link()


def test_diagrams_do_not_link_where_the_package_is_not_installed(installed, monkeypatch):
    monkeypatch.setattr("sys.path", [])
    find_documentation.cache_clear()
    assert not SpectralSHAG()._get_doc_link()
