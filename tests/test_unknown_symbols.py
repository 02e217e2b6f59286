"""Symbols that say nothing to a grammar: who warns of them, and where."""

import warnings
from functools import partial

from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline

from sklearn_shag import DeterministicSHAG, SpectralSHAG
from sklearn_shag.inspection import inspect_marginals
from sklearn_shag.treebank import DependencyTree, TokenFeature, UnknownSymbolWarning
from tests.estimators import BLIND, ESTIMATORS
from tests.loops import over

RELATIONS = ["det", "nsubj", "root", "obj"]
TREES = [DependencyTree(["DET", "NOUN", "VERB", "NOUN"], [2, 3, 0, 3], deprels=RELATIONS)] * 25


def caught(call, X):
    """The messages of all warnings of a call, and where they point."""
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        call(X)
    assert all(record.category is UnknownSymbolWarning for record in records)
    return [(str(record.message), record.filename) for record in records]


def with_symbols(n_replaced, symbol):
    """The 100 tokens of the trees, the first of them with another symbol."""
    flat = [name for tree in TREES for name in tree.symbols]
    flat[:n_replaced] = [symbol] * n_replaced
    return [tree.with_symbols(flat[4 * k : 4 * k + 4]) for k, tree in enumerate(TREES)]


METHODS = ["predict", "predict_marginals", "parse", "predict_labels", "score", "score_samples"]
METHODS += ["log_likelihood", "conditional_log_likelihood"]


def test_once_a_call_at_the_line_of_the_user():
    model = SpectralSHAG(2, n_jobs=2).fit(TREES)
    methods = [getattr(model, name) for name in METHODS]
    for call in (*methods, partial(inspect_marginals, model), make_pipeline(model).predict):
        ((_, filename),) = caught(call, with_symbols(50, "NN"))
        assert filename == __file__


@over("name", [name for name in ESTIMATORS if name not in BLIND])
@over("transformers", [(), (TokenFeature("symbol"),)])
def test_learning_from_missing_tags(name, transformers):
    """They have symbols of their own then, and are known. Every learner says it."""
    estimator = clone(ESTIMATORS[name])
    if hasattr(estimator, "cv"):
        estimator.set_params(cv=2)  # all sentences have one length
    learner = make_pipeline(*transformers, estimator)
    messages = caught(learner.fit, with_symbols(30, "_"))
    members = [member for _, member in getattr(estimator, "estimators", [("", estimator)])]
    learners = [member for member in members if not isinstance(member, FrozenEstimator)]
    assert len(messages) == len(learners or [estimator])
    for message, filename in messages:
        assert message.startswith("30 % of the tokens (30 of 100) have the symbol '_', which")
        assert "training" not in message  # trees: these are they
        assert filename == __file__


def test_learning_in_parts():
    model = DeterministicSHAG()
    assert len(caught(model.partial_fit, with_symbols(30, "_"))) == 1
    assert caught(model.partial_fit, TREES) == []
