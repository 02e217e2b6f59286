"""Every estimator and transformer as a citizen of scikit-learn."""

import copy
import importlib
import inspect
import pickle
import pkgutil
from functools import partial

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import ConvergenceWarning, SkipTestWarning
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks, get_tags

import sklearn_shag
from sklearn_shag import (
    EMSHAG,
    BaseSHAG,
    DependencyVectorizer,
    DistilledParser,
    EMAutomaton,
    ParserPipeline,
    SpectralAutomaton,
    SpectralSHAG,
    SyntaxStatistics,
    TextParser,
)
from sklearn_shag.features import TransformerVectors
from sklearn_shag.learning._base import IncrementalMixin
from sklearn_shag.sequences import count_treebank, merge_statistics
from sklearn_shag.utils._arrays import object_array
from sklearn_shag.utils._estimators import open_member
from tests.estimators import (
    BY_SENTENCE,
    COUNTING,
    ESTIMATORS,
    OF_RAW_TEXT,
    OF_SYMBOLS,
    TRANSFORMERS,
    assert_same_model,
    parameters,
    repeat,
    same,
    symbols_and_heads,
    with_methods,
    without_relations,
)
from tests.loops import over
from tests.model_files import OF_SEQUENCES as MODELS_OF_SEQUENCES
from tests.model_files import small_models
from tests.test_transformers_of_documents import TEXTS

# The checks of scikit-learn that need no array as X. Of the others, those on data have their like
# below; those on columns, dtypes and feature names mean nothing for sentences.
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

SCORING_TREES = ["score_samples", "conditional_log_likelihood"]


EVERYTHING = ESTIMATORS | TRANSFORMERS
OF_SEQUENCES = {EMAutomaton, SpectralAutomaton}  # whose tests are in test_automata.py
# Whose other tests are in test_transformers_of_documents.py.
OF_DOCUMENTS = {DependencyVectorizer, SyntaxStatistics, TextParser}
TO_TABLES = {
    "documents": TextParser(),
    "statistics": make_pipeline(TextParser(), SyntaxStatistics()),
    "counts": make_pipeline(TextParser(), DependencyVectorizer("words", sparse_output=False)),
}


# What is tested


def test_every_public_estimator_is_tested():
    names = [info.name for info in pkgutil.iter_modules(sklearn_shag.__path__) if info.ispkg]
    packages = [importlib.import_module(f"sklearn_shag.{name}") for name in names]
    public = [getattr(p, n) for p in [sklearn_shag, *packages] for n in getattr(p, "__all__", ())]
    estimators = {v for v in public if inspect.isclass(v) and issubclass(v, BaseEstimator)}
    tested = {type(model) for model in (ESTIMATORS | TRANSFORMERS).values()}
    others = {BaseSHAG, DistilledParser, ParserPipeline, TransformerVectors, *OF_DOCUMENTS}
    assert estimators == tested | others | OF_SEQUENCES


# Nothing in, nothing out


ANSWERS = [*BY_SENTENCE, "predict_tree_proba", "predict_labels", "predict_label_proba", "parse"]
ANSWERS += ["score_arcs", "sample_heads", "transform", "predict_proba"]


@pytest.mark.parametrize("name", [*EVERYTHING, "pipeline", *MODELS_OF_SEQUENCES])
def test_of_nothing_there_is_nothing(name):
    model = small_models()[name]
    lacks_labels = not getattr(model, "_has_labels", True)
    for method in filter(lambda method: hasattr(model, method), ANSWERS):
        if not (lacks_labels and method.startswith("predict_label")):
            assert len(getattr(model, method)([])) == 0
    if hasattr(model, "k_best_heads"):
        assert [part.shape for part in model.k_best_heads(iter(()), 2)] == [(0,), (0,)]
    if hasattr(model, "predict_tags") and model.tag_values_:
        assert model.predict_tags([]).shape == (0,)
    if hasattr(model, "score"):
        with pytest.raises(ValueError, match="at least one"):
            model.score([])


# The checks of scikit-learn


OTHERS = [TransformerVectors("folder", layers=[2])]
OTHERS += [model() for model in sorted(OF_SEQUENCES | OF_DOCUMENTS, key=str)]


@over("anything", [*EVERYTHING.values(), *OTHERS])
@over("check", CHECKS_WITHOUT_DATA)
def test_checks_of_scikit_learn_without_data(anything, check):
    getattr(estimator_checks, check)(type(anything).__name__, clone(anything))


@pytest.mark.parametrize("name", [*EVERYTHING, *sorted(OF_DOCUMENTS, key=str)])
def test_checks_of_scikit_learn(name):
    model = clone(EVERYTHING[name]) if name in EVERYTHING else name()
    with pytest.warns(SkipTestWarning, match="Can't test estimator"):
        results = estimator_checks.check_estimator(model, on_skip=None)
    assert {result["status"] for result in results} == {"passed"}
    if name in TRANSFORMERS:
        estimator_checks.check_transformers_unfitted(type(model).__name__, model)


# Parameters


def test_parameters_make_the_round_trip():
    for anything in map(clone, EVERYTHING.values()):
        own, params = anything.get_params(deep=False), anything.get_params()
        assert type(anything)(**own).get_params() == params
        defaults = inspect.signature(type(anything)).parameters
        required = {n: own[n] for n, each in defaults.items() if each.default is each.empty}
        other = type(anything)(**required)
        assert other.set_params(**params) is other
        assert other.get_params() == params


@over("name", EVERYTHING)
def test_what_is_learned_has_a_name_with_an_underscore_at_the_end(fitted, name):
    model, params = fitted(name), EVERYTHING[name].get_params(deep=False).keys()
    learned = vars(model).keys() - params
    assert learned
    assert all(name.endswith("_") and not name.startswith("_") for name in learned)
    copied = clone(model)
    assert parameters(copied) == parameters(model)
    assert vars(copied).keys() == params
    for shown in (model, copied, make_pipeline(model)):
        assert type(model).__name__ in shown._repr_html_()


def test_clones_keep_the_operators_to_start_from(random_grammar):
    start = random_grammar(seed=0)
    copied = clone(EMSHAG(2, init=start)).init
    assert type(copied) is type(start)
    assert same(copied, start)


@over("name", ESTIMATORS)
def test_predicting_changes_nothing(fitted, trees, name):
    """Neither in an estimator nor in its members."""
    estimator = fitted(name)
    before, copied = dict(vars(estimator)), copy.deepcopy(estimator)
    for method in filter(partial(hasattr, estimator), [*BY_SENTENCE, "score", "parse"]):
        getattr(estimator, method)(trees)
    if hasattr(estimator, "sample"):
        estimator.sample(random_state=0)
    assert vars(estimator).keys() == before.keys()
    assert all(value is before[name] for name, value in vars(estimator).items())
    assert_same_model(estimator, copied)


def test_methods_take_y_second_and_weights_by_name():
    for name, method in with_methods(["fit", "score", "partial_fit"]):
        names = list(inspect.signature(getattr(ESTIMATORS[name], method)).parameters)
        assert names[:3] == ["X", "y", "sample_weight"], (name, method)


def test_tags():
    for name, anything in EVERYTHING.items():
        tags = get_tags(anything)
        assert not tags.input_tags.two_d_array, name
        assert tags.input_tags.string, name
        assert tags.requires_fit, name
        assert not tags.no_validation, name
        assert not tags.target_tags.required, name
        assert tags.estimator_type is None, name
        assert (tags.transformer_tags is not None) == hasattr(anything, "transform"), name


# The same again


# Sentences of splitters are a text, in their order.
@pytest.mark.parametrize("name", [name for name in EVERYTHING if name != "splitter"])
def test_the_order_of_sentences_changes_no_fit(fitted, trees, name):
    assert_same_model(clone(EVERYTHING[name]).fit(trees[::-1]), fitted(name))


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_transformers_forget_earlier_fits_and_change_nothing(fitted, english, trees, name):
    transformer, before = clone(TRANSFORMERS[name]), pickle.dumps(trees)
    params = transformer.get_params()
    assert transformer.fit(english[80:140]).fit(trees) is transformer
    assert_same_model(transformer, fitted(name))
    transformer.transform(trees)
    assert transformer.get_params() == params
    assert pickle.dumps(trees) == before


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_pickled_transformers_do_the_same(fitted, trees, name):
    transformer = fitted(name)
    assert pickle.loads(pickle.dumps(transformer)).transform(trees) == transformer.transform(trees)


# One for each way to take trees in.
@pytest.mark.parametrize("name", ["spectral", "product", "CRF", "network", "chain"])
def test_lists_tuples_and_arrays_are_the_same(trees, name):
    estimator = clone(ESTIMATORS[name])
    symbols, heads = symbols_and_heads(trees)
    ragged = object_array([np.array(sentence) for sentence in symbols])
    expected = clone(estimator).fit(trees)
    predicted, score = expected.predict(trees), expected.score(trees)
    methods = [name for name in SCORING_TREES if hasattr(estimator, name)]
    log_probabilities = [getattr(expected, name)(trees) for name in methods]
    unlabelled = clone(estimator).fit(list(map(without_relations, trees)))
    for X, y, model in [
        (tuple(trees), None, expected),
        (np.array(trees, dtype=object), None, expected),
        (symbols, heads, unlabelled),
        (tuple(map(tuple, symbols)), [h.tolist() for h in heads], unlabelled),
        (ragged, object_array(heads), unlabelled),
        (symbols, trees, expected),  # y as trees
        (trees, heads, expected),
    ]:
        assert_same_model(estimator.fit(X, y), model)
        assert same(estimator.predict(X), predicted)
        assert estimator.score(X, y) == score
        assert same([getattr(estimator, name)(X, y) for name in methods], log_probabilities)
    assert_same_model(estimator.fit(iter(symbols), iter(heads)), unlabelled)
    assert_same_model(estimator.fit(iter(symbols), iter(trees)), expected)


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name not in OF_RAW_TEXT])
def test_heads_of_y_count_where_trees_have_their_own(trees, name):
    """Relations of trees count where the heads are the same."""
    chains = [np.arange(len(tree)) for tree in trees]
    others = [
        tree.with_heads(heads, np.where(tree.heads == heads, tree.deprels, "_"))
        for tree, heads in zip(trees, chains, strict=True)
    ]
    estimator = clone(ESTIMATORS[name])
    assert_same_model(estimator.fit(trees, chains), clone(estimator).fit(others))


@pytest.mark.parametrize("name", OF_RAW_TEXT)
def test_raw_text_has_the_heads_of_y_alone(trees, name):
    estimator = clone(OF_RAW_TEXT[name])
    without_heads = clone(estimator).fit([tree.with_heads(None) for tree in trees])
    for y in (None, [[-1] * len(tree) for tree in trees]):
        assert_same_model(clone(estimator).fit(trees, y), without_heads)
    with_heads = clone(estimator).fit(trees, trees)
    chains = [np.arange(len(tree)) for tree in trees]
    assert_same_model(estimator.fit([tree.with_heads(None) for tree in trees], trees), with_heads)
    assert with_heads.labels_.size > without_heads.labels_.size == 0
    assert not same(estimator.fit(trees, chains).operators_, with_heads.operators_)


@pytest.mark.parametrize("name", OF_RAW_TEXT)
def test_convergence_is_told(trees, name):
    estimator = clone(OF_RAW_TEXT[name]).set_params(max_iter=1, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match="not converged after max_iter=1") as caught:
        estimator.fit(trees)
    assert caught[-1].filename == __file__
    assert not estimator.converged_
    assert estimator.n_iter_ == 1
    assert len(estimator.loss_curve_) == 2
    assert estimator.set_params(max_iter=100, tol=10).fit(trees).converged_


# Output containers


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_trees_stay_trees_where_data_frames_are_the_rule(trees, name):
    pipeline = make_pipeline(clone(TRANSFORMERS[name]), SpectralSHAG(2))
    expected = pipeline.fit(trees).score(trees)
    assert clone(pipeline).set_output(transform="default").fit(trees).score(trees) == expected
    tagged = pipeline[0].transform(trees)
    with sklearn.config_context(transform_output="pandas"):
        assert pipeline.fit(trees).score(trees) == expected
        assert pipeline[0].transform(trees)["trees"].tolist() == tagged
        assert open_member(pipeline).transform(trees) == tagged


@pytest.fixture(params=[*TRANSFORMERS, *TO_TABLES])
def transformed(request, trees):
    """A transformer, what it takes, and the rows of what it makes of that, fitted to it and not."""
    model, X = clone((TRANSFORMERS | TO_TABLES)[request.param]), trees[:12]
    if request.param in TO_TABLES:
        X = TEXTS
    made = model.fit_transform(X), model.transform(X)
    cells = [rows if isinstance(rows, np.ndarray) else object_array(rows) for rows in made]
    return model, X, [rows.reshape(len(X), -1).tolist() for rows in cells]


def test_rows_of_data_frames_are_those_of_what_is_given(transformed):
    """Each with its label, in tables of one transformer and of several."""
    pd = pytest.importorskip("pandas")
    model, X, expected = transformed
    permuted = pd.Series(X, index=np.random.RandomState(0).permutation(len(X)))
    named = pd.Series(X, index=[f"row {k}" for k in range(len(X), 0, -1)])
    columns = [permuted, pd.Series(X, index=np.arange(len(X)) // 3)]
    if X is not TEXTS:
        columns.append(named.to_frame())
    with sklearn.config_context(transform_output="pandas"):
        table = model.fit(named).transform(named)
    assert table.equals(model.set_output(transform="pandas").transform(named))
    for column in columns:
        tables = [clone(model).fit_transform(column), model.transform(column)]
        assert all(table.index.equals(column.index) for table in tables)
        assert [table.to_numpy().tolist() for table in tables] == expected
    frame = pd.DataFrame({"size": range(len(X)), "row": named})
    joined = ColumnTransformer([("own", model, "row"), ("n", "passthrough", ["size"])])
    found = joined.set_output(transform="pandas").fit(frame).transform(frame[:4:-1])
    assert found.index.equals(frame.index[:4:-1])
    assert found.to_numpy().tolist() == [[*expected[1][k], k] for k in range(len(X) - 1, 4, -1)]


def test_rows_of_polars_are_in_the_order_of_what_is_given(transformed):
    pl = pytest.importorskip("polars")
    model, X, expected = transformed
    model.set_output(transform="polars")
    column = pl.Series("row", X, dtype=pl.String if X is TEXTS else pl.Object)
    columns = [X, column]
    if X is not TEXTS:
        columns.append(column.to_frame())
    for each in columns:
        tables = [clone(model).fit_transform(each), model.transform(each)]
        assert [list(map(list, table.rows())) for table in tables] == expected
    frame = pl.DataFrame({"row": column, "size": range(len(X))})
    joined = ColumnTransformer([("own", model, "row"), ("n", "passthrough", ["size"])])
    found = joined.set_output(transform="polars").fit(frame).transform(frame[::-1])
    assert list(map(list, found.rows())) == [[*expected[1][k], k] for k in range(len(X))[::-1]]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_parsers_read_the_column_that_transformers_make(fitted, trees, name):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"trees": object_array(trees)}, index=[-k for k in range(len(trees))])
    model = fitted(name)
    assert same(model.predict(frame), model.predict(trees))
    assert model.score(frame) == model.score(trees)
    if isinstance(model, BaseSHAG):
        assert_same_model(clone(model).fit(frame), model)


# Sample weights


def test_weights_are_repeated_sentences(repeating, trees):
    """Whole ones, and one number for all: two halves are a sentence."""
    weights = np.arange(len(trees)) % 3 + 1
    weighted = clone(repeating).fit(trees, sample_weight=weights)
    halves = clone(repeating).fit([*trees, *trees], sample_weight=0.5)
    assert_same_model(weighted, clone(repeating).fit(repeat(trees, weights)))
    assert_same_model(halves, repeating.fit(trees))


@pytest.mark.parametrize("name", [*ESTIMATORS, "tagger", "tagger of columns"])
def test_score_counts_repeated_sentences(fitted, english, name):
    estimator, held_out, weights = fitted(name), english[100:160], np.arange(60) % 4
    expected = estimator.score(repeat(held_out, weights))
    assert estimator.score(held_out, sample_weight=weights) == expected
    assert estimator.score(held_out) != expected
    if name in OF_SYMBOLS:
        symbols, heads = symbols_and_heads(held_out)
        assert estimator.score(symbols, heads, sample_weight=weights) == expected


# Learning in parts


def test_only_learners_from_counts_learn_in_parts():
    for name, estimator in ESTIMATORS.items():
        counts = isinstance(estimator, IncrementalMixin)
        assert hasattr(estimator, "partial_fit") == counts, name
        assert hasattr(estimator, "fit_statistics") == counts, name


@pytest.mark.parametrize("name", COUNTING)
@settings(max_examples=12)
@given(data=st.data())
def test_chunks_in_any_order_are_one_fit(name, english, data):
    trees = english[:40]
    cuts = data.draw(st.lists(st.integers(1, 39), unique=True, max_size=3).map(sorted))
    order = data.draw(st.permutations(range(40)))
    chunks = [[trees[i] for i in part] for part in np.split(order, cuts)]

    expected, model = clone(COUNTING[name]).fit(trees), clone(COUNTING[name])
    for chunk in chunks:
        assert model.partial_fit(chunk) is model
    merged = merge_statistics(count_treebank(chunk) for chunk in chunks)
    from_statistics = clone(COUNTING[name]).fit_statistics(merged)
    assert_same_model(model, expected)
    assert_same_model(from_statistics, expected)


def test_fit_forgets_what_was_learned_in_parts(counting, trees):
    expected = clone(counting).fit(trees[:20])
    counting.partial_fit(trees[20:]).partial_fit(trees).fit(trees[:20])
    assert_same_model(counting, expected)


def test_chunks_may_come_with_heads_and_weights(counting, trees, weights):
    bare = list(map(without_relations, trees))
    expected = clone(counting).fit(bare, sample_weight=weights)
    for part in (slice(0, 20), slice(20, None)):
        symbols, heads = symbols_and_heads(trees[part])
        counting.partial_fit(symbols, heads, sample_weight=weights[part])
    assert_same_model(counting, expected)


def test_other_parameters_count_from_the_next_chunk_on(trees):
    model = SpectralSHAG(4).partial_fit(trees[:20])
    model.set_params(n_states=2, smoothing=1).partial_fit(trees[20:])
    assert_same_model(model, SpectralSHAG(2, smoothing=1).fit(trees))


BAD_CHUNKS = [
    ([], None, None, "X holds no sentences"),
    ([["A", 3]], [[2, 0]], None, "symbols must be strings"),
    ([["A", "B"]], [[2, 1]], None, "is not a tree"),
    ([["A", "B"]], None, None, "has no heads"),
    ([["A", "B"]], [[-1, 0]], None, r"y\[0\] .* needs whole trees"),
    ([["A", "B"]], [[2, 0]], [-1], "Negative values"),
    ([["A", "B"]], [[2, 0]], [0], "at least one .*non-zero"),
]


def test_a_bad_chunk_changes_nothing(counting, trees):
    expected = clone(counting).fit(trees)
    before = dict(vars(counting.partial_fit(trees[:20])))
    for X, y, weights, message in BAD_CHUNKS:
        with pytest.raises((ValueError, TypeError), match=message):
            counting.partial_fit(X, y, sample_weight=weights)
        assert vars(counting).keys() == before.keys()
        assert all(value is before[name] for name, value in vars(counting).items())
    assert_same_model(counting.partial_fit(trees[20:]), expected)


def test_statistics_do_not_grow_when_chunks_return(counting, trees):
    once = counting.partial_fit(trees).statistics_.statistics
    twice = counting.partial_fit(trees).statistics_.statistics
    assert [part.shape for part in twice] == [part.shape for part in once]
    assert_array_equal(twice.counts, 2 * once.counts)
