"""Symbols that say nothing to a grammar: a warning, or an error where there are no others."""

import warnings

import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline

from sklearn_shag import BiaffineParser, CRFParser, DeterministicSHAG, SpectralSHAG
from sklearn_shag.inspection import inspect_marginals
from sklearn_shag.treebank import DependencyTree, TokenFeature, UnknownSymbolWarning
from tests.estimators import BLIND, ESTIMATORS
from tests.loops import over

RELATIONS = ["det", "nsubj", "root", "obj"]
TREES = [DependencyTree(["DET", "NOUN", "VERB", "NOUN"], [2, 3, 0, 3], deprels=RELATIONS)] * 25


def caught(call):
    """The messages of all warnings of a call, and where they point."""
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        call()
    assert all(record.category is UnknownSymbolWarning for record in records)
    return [(str(record.message), record.filename) for record in records]


def with_symbols(n_replaced, symbol):
    """The 100 tokens of the trees, the first of them with another symbol."""
    flat = [name for tree in TREES for name in tree.symbols]
    flat[:n_replaced] = [symbol] * n_replaced
    return [tree.with_symbols(flat[4 * k : 4 * k + 4]) for k, tree in enumerate(TREES)]


@over("symbol", ["NN", "_"])
@over(("n_unknown", "warns"), [(0, False), (5, False), (6, True), (99, True)])
def test_a_warning_for_more_than_five_percent(symbol, n_unknown, warns):
    model = DeterministicSHAG().fit(TREES)
    X = with_symbols(n_unknown, symbol)
    messages = caught(lambda: model.predict(X))
    assert len(messages) == warns
    if warns:
        (message, filename), *_ = messages
        what = {
            "NN": f"have symbols that say nothing to the grammar: 'NN' ({n_unknown}). It knows "
            "'DET', 'NOUN', 'VERB'. Tag the text as the training trees were",
            "_": "have the symbol '_', which stands for a missing value and says nothing to the "
            "grammar. Tag the text first",
        }
        assert message.startswith(
            f"{n_unknown} % of the tokens ({n_unknown} of 100) {what[symbol]}"
        )
        assert filename == __file__


CALLS = {
    "predict": lambda model, X: model.predict(X),
    "predict_marginals": lambda model, X: model.predict_marginals(X),
    "parse": lambda model, X: model.parse(X),
    "predict_labels": lambda model, X: model.predict_labels(X),
    "score": lambda model, X: model.score(X),
    "score_samples": lambda model, X: model.score_samples(X),
    "log_likelihood": lambda model, X: model.log_likelihood(X),
    "conditional_log_likelihood": lambda model, X: model.conditional_log_likelihood(X),
    "inspect_marginals": inspect_marginals,
    "fit_predict": lambda model, X: make_pipeline(model).predict(X),
}


@over("call", CALLS.values())
def test_once_a_call_at_the_line_of_the_user(call):
    model = SpectralSHAG(2, n_jobs=2).fit(TREES)
    ((_, filename),) = caught(lambda: call(model, with_symbols(50, "NN")))
    assert filename == __file__


@over("name", [name for name in ESTIMATORS if name not in BLIND])
@over("transformers", [(), (TokenFeature("symbol"),)])
def test_learning_from_missing_tags(name, transformers):
    """They have symbols of their own then, and are known. Every learner says it."""
    estimator = clone(ESTIMATORS[name])
    if hasattr(estimator, "cv"):
        estimator.set_params(cv=2)  # all sentences have one length
    learner = make_pipeline(*transformers, estimator)
    X = with_symbols(30, "_")
    messages = caught(lambda: learner.fit(X))
    members = [member for _, member in getattr(estimator, "estimators", [("", estimator)])]
    learners = [member for member in members if not isinstance(member, FrozenEstimator)]
    assert len(messages) == len(learners or [estimator])
    for message, filename in messages:
        assert message.startswith("30 % of the tokens (30 of 100) have the symbol '_', which")
        assert "training" not in message  # trees: these are they
        assert filename == __file__


def test_missing_and_unknown_symbols_are_listed_together():
    X = with_symbols(20, "_")
    X[-1] = X[-1].with_symbols(["NN"] * 4)
    ((message, _),) = caught(lambda: DeterministicSHAG().fit(TREES).predict(X))
    assert message.startswith("24 % of the tokens (24 of 100) have symbols")
    assert "to the grammar: '_' (20), 'NN' (4). It knows 'DET', 'NOUN', 'VERB'" in message


def test_learning_in_parts():
    model = DeterministicSHAG()
    assert len(caught(lambda: model.partial_fit(with_symbols(30, "_")))) == 1
    assert caught(lambda: model.partial_fit(TREES)) == []


def test_many_symbols_are_not_listed_all():
    model = DeterministicSHAG().fit([["a", "b", "c", "d"]], [[0, 1, 1, 1]])
    ((message, _),) = caught(lambda: model.predict([["A", "B", "B", "C", "D", "D"]]))
    assert "to the grammar: 'B' (2), 'D' (2), 'A' (1), .... It knows 'a', 'b', 'c', ...." in message


def test_one_column_with_tags_is_enough(english):
    """A fifth of the tokens have no XPOS, but all have UPOS: nothing is amiss."""
    trees = [
        DependencyTree(
            tree.forms,
            tree.heads,
            upos=tree.upos,
            xpos=["_" if k % 5 == 0 else tag for k, tag in enumerate(tree.xpos)],
            deprels=tree.deprels,
        )
        for tree in english[:60]
    ]
    both = CRFParser(["upos", "xpos"], n_features=2**12, random_state=0)
    assert caught(lambda: both.fit(trees).score(trees)) == []
    fine = CRFParser(["xpos", "form"], n_features=2**12, random_state=0)
    (message, filename), *others = caught(lambda: fine.fit(trees))
    assert not others
    assert "have the symbol '_' in the column 'xpos', which stands for a missing" in message
    assert filename == __file__


def test_text_that_is_not_split(english):
    """A word with letters on both sides of a space, or with a full stop at the end."""
    model = BiaffineParser(["form", "suffix"], hidden_layer_sizes=[4], max_iter=1, random_state=0)
    model.fit(english[:60])
    for text, example in (
        ([["The cat sat."]], "'the cat sat.'"),
        ([["The", "cat", "sat."], ["It", "slept."], ["Yes", "."]], "'sat.'"),
    ):
        with pytest.warns(UserWarning, match="text is not split into tokens") as records:
            model.parse(text)
        (record,) = records
        assert f"as in {example}. A token is a word or a punctuation mark" in str(record.message)
    for fine in (english[60:], [["Mr.", "Smith", "sat", "."]], [["It", "sat."], ["Yes", "."]]):
        assert caught(lambda fine=fine: model.parse(fine)) == []
    spaced = [tree.with_heads(tree.heads) for tree in english[:60]]
    spaced = [DependencyTree([f"{f} {f}" for f in tree.forms], tree.heads) for tree in spaced]
    model.fit(spaced)  # a language that writes spaces within words
    assert caught(lambda: model.parse([["Mm mm", "quux quux"]])) == []
