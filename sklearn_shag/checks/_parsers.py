"""The contract of parsers: each check is one promise, kept or broken by a parser of anybody."""

import pickle
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, cached_property, partial
from itertools import chain
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import has_fit_parameter

from sklearn_shag.datasets import load_english
from sklearn_shag.metrics import unlabeled_attachment_score
from sklearn_shag.model_files import load_model, save_model
from sklearn_shag.treebank import DependencyTree, allowed_arcs
from sklearn_shag.utils._estimators import PACKAGE
from sklearn_shag.utils._heads import UNKNOWN, find_head_error
from sklearn_shag.utils._messages import shorten

# Sentences that nobody expects: of one token, of unknown symbols, of one symbol many times.
ODD = [DependencyTree([symbol] * n, range(n)) for symbol in ("NOUN", "<new>") for n in (1, 6, 40)]
# What is no list of sentences: a string, one sentence, what has no order, symbols of other types.
WRONG = ["NOUN VERB", DependencyTree(["a"], [0]), {("NOUN",)}, 7, [["NOUN", 3]], [[]]]
BY_SENTENCE = (
    *("predict", "predict_marginals", "log_likelihood", "score_samples"),
    *("conditional_log_likelihood", "predict_tree_proba"),
)

_load_english = cache(load_english)  # to read it takes longer than most checks


def check_parser(estimator: BaseEstimator) -> None:
    """Check that a parser keeps what every parser of this package promises.

    The parser is fitted many times on 30 sentences of the bundled treebank. What it has beyond the
    minimum, such as `sample` or `partial_fit`, is checked where it is there.

    Parameters
    ----------
    estimator : estimator
        A parser, fitted or not; only clones of it are fitted. Its class inherits from
        :class:`~sklearn_shag.BaseSHAG`, or has the same methods.

    Raises
    ------
    AssertionError
        If it breaks a promise. The message says which.

    See Also
    --------
    yield_checks : Each promise by itself.
    sklearn.utils.estimator_checks.check_estimator : What scikit-learn asks of all estimators.

    Examples
    --------
    >>> from sklearn_shag import SpectralSHAG
    >>> from sklearn_shag.checks import check_parser
    >>> check_parser(SpectralSHAG(2))
    """
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # of odd sentences
        for check in yield_checks(estimator):
            check()


def yield_checks(estimator: BaseEstimator) -> Iterator[Callable[[], None]]:
    """Yield the checks of :func:`check_parser`, to run them one by one.

    Parameters
    ----------
    estimator : estimator
        As for :func:`check_parser`.

    Yields
    ------
    check : callable
        Takes no arguments, and raises an AssertionError if the parser breaks its promise. The
        attribute `__name__` says what is checked.

    See Also
    --------
    check_parser : Runs all of them.

    Examples
    --------
    >>> from sklearn_shag import DummyParser
    >>> from sklearn_shag.checks import yield_checks
    >>> checks = {check.__name__: check for check in yield_checks(DummyParser())}
    >>> "check_marginals" in checks
    True
    >>> checks["check_marginals"]()
    """
    contract = _Contract(estimator)
    yield from (getattr(contract, name) for name in vars(_Contract) if name.startswith("check_"))


class _Contract:
    """A parser and what it has to do, in checks that share one fit.

    Parameters
    ----------
    estimator : estimator
    """

    def __init__(self, estimator):
        trees = _load_english().data
        self.estimator, self.trees, self.others = estimator, trees[:30], trees[100:110] + ODD

    @cached_property
    def model(self):
        """Fit the parser once for all checks that only ask it."""
        return clone(self.estimator).fit(self.trees)

    def check_fit(self):
        parser, mark = clone(self.estimator), "a mark that nobody learns"
        params, trees = parser.get_params(), [tree.with_sent_id(mark) for tree in self.trees]
        heads = [tree.heads.copy() for tree in trees]
        self._require(parser.fit(trees, heads) is parser, "fit returns the parser")
        self._require(
            _are_same([trees, heads], [self.trees, [tree.heads for tree in self.trees]]),
            "fit leaves X and y as they are",
        )
        self._require(
            all(value is params[name] for name, value in parser.get_params().items()),
            "fit leaves the parameters as they are",
        )
        names = vars(parser).keys() - params.keys()
        self._require(
            names and all(name[0] != "_" == name[-1] for name in names),
            "what is learned has a name that ends with _",
        )
        self._require(mark.encode() not in pickle.dumps(parser), "fit keeps no sentences")

    def check_fit_again(self):
        parser = clone(self.model).fit(self.others)
        self._query(parser, self.others)  # so that what it looks up is there when it learns again
        self._require_same(parser.fit(self.trees), "fit forgets earlier fits")
        self._require_same(
            clone(self.model).set_params(n_jobs=2).fit(self.trees),
            "the number of workers changes nothing",
        )

    def check_partial_fit(self):
        if hasattr(self.estimator, "partial_fit"):
            self._require_same(
                clone(self.estimator).partial_fit(self.trees[:10]).partial_fit(self.trees[10:]),
                "partial_fit goes on learning",
            )

    def check_sample_weight(self):
        if has_fit_parameter(self.estimator, "sample_weight"):
            weights = np.repeat([0.0, 1.0], [len(self.others), len(self.trees)])
            self._require_same(
                clone(self.estimator).fit(self.others + self.trees, sample_weight=weights),
                "weights are 1 by default, and 0 leaves sentences out",
            )
            self._require(set(weights) == {0, 1}, "fit leaves weights as they are")

    def check_files(self):
        self._require_same(pickle.loads(pickle.dumps(self.model)), "a pickle holds the parser")
        if type(self.model).__module__.startswith(f"{PACKAGE}."):  # model files hold no others
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "model.npz")
                save_model(self.model, path)
                self._require_same(load_model(path), "a model file holds the parser")

    def check_refusals(self):
        parser, ones = clone(self.estimator), np.ones(len(self.trees))
        unfitted = filter(partial(hasattr, parser), [*BY_SENTENCE, "score", "parse"])
        calls = [
            partial(parser.fit, []),
            *(partial(getattr(parser, name), self.others) for name in unfitted),
        ]
        calls += [
            partial(parser.fit, self.trees, sample_weight=weights)
            for weights in (-ones, 0 * ones, np.nan * ones, ones[1:])
        ]
        for X in WRONG:
            calls += [partial(method, X) for method in (parser.fit, self.model.predict)]
        for call in calls:
            with suppress(TypeError, ValueError):
                call()
                self._require(False, f"it refuses {shorten(call)}")
        self._require(
            vars(parser).keys() == vars(clone(parser)).keys(),
            "a fit that is refused learns nothing",
        )

    def check_nothing(self):
        for answers in self._query(self.model, []):
            self._require(len(answers) == 0, "of no sentences there are no answers")

    def check_heads(self):
        predicted = self.model.predict(self.others)
        for tree, heads in zip(self.model.parse(self.others), predicted, strict=True):
            self._require_trees([heads], len(tree))
            self._require(np.array_equal(tree.heads, heads), "parse writes the heads of predict")
        self._require(
            self.model.score(self.others) == unlabeled_attachment_score(self.others, predicted),
            "score is the share of right heads",
        )

    def check_marginals(self):
        for tree, own in zip(self.others, self.model.predict_marginals(self.others), strict=True):
            self._require_distributions(own, (len(tree), len(tree) + 1), "marginals")
            self._require(not own.diagonal(1).any(), "no token is the head of itself")

    def check_chunks(self):
        alone = [chain(*self._query(self.model, [tree])) for tree in self.others]
        self._require(
            _are_same(alone, zip(*self._query(self.model, self.others), strict=True)),
            "a sentence is parsed as if it were alone",
        )

    def check_labels(self):
        if len(getattr(self.model, "labels_", ())):
            labels = np.concatenate(self.model.predict_labels(self.others))
            self._require(np.isin(labels, self.model.labels_).all(), "labels are some of labels_")
            self._require_distributions(
                np.concatenate(self.model.predict_label_proba(self.others)),
                (len(labels), len(self.model.labels_)),
                "probabilities of labels",
            )

    def check_tags(self):
        for column, values in getattr(self.model, "tag_values_", {}).items():
            for tags in self.model.predict_tags(self.others, column):
                self._require(np.isin(tags, values).all(), "tags are some of tag_values_")

    def check_drawn_trees(self):
        try:
            draws = [self.model.sample_heads(self.others, 3, random_state=0) for _ in range(2)]
            best, logs = self.model.k_best_heads(self.others, 3, random_state=0)
        except ValueError:  # of operators of any sign, which are no distribution
            return
        self._require(_are_same(draws[:1], draws[1:]), "a seed gives the same samples again")
        for tree, drawn, listed, own in zip(self.others, draws[0], best, logs, strict=True):
            self._require_trees([*drawn, *listed], len(tree))
            self._require(
                len(np.unique(listed, axis=0)) == len(own) <= len(drawn) == 3,
                "there are as many trees as asked for, and the best differ",
            )
            self._require(
                np.all(np.diff(own) <= 0) and np.exp(own).sum() < 1 + 1e-9,
                "the best tree is first, and probabilities sum to 1 at most",
            )

    def check_partial_trees(self):
        allowed = allowed_arcs([np.where(t.heads % 2, UNKNOWN, t.heads) for t in self.others])
        predicted = self.model.predict(self.others, allowed=allowed)
        marginals = self.model.predict_marginals(self.others, allowed=allowed)
        for arcs, heads, own in zip(allowed, predicted, marginals, strict=True):
            self._require(arcs[np.arange(len(heads)), heads].all(), "known heads are kept")
            self._require(not own[~arcs].any(), "arcs that are not allowed have probability 0")

    def _require(self, holds, promise):
        if not holds:
            raise AssertionError(f"{type(self.estimator).__name__} breaks a promise: {promise}.")

    def _require_trees(self, rows, n_tokens):
        for heads in rows:
            self._require(
                len(heads) == n_tokens and not find_head_error(heads) and np.sum(heads == 0) == 1,
                "heads are trees with one root",
            )

    def _require_distributions(self, rows, shape, name):
        self._require(np.shape(rows) == shape, f"{name} have the shape {shape}")
        self._require(
            np.allclose(np.sum(rows, axis=1), 1.0, rtol=0, atol=1e-9) and np.min(rows) >= 0,
            f"{name} are not negative and sum to 1",
        )

    def _require_same(self, model, promise):
        """Require that a parser is of the class of the fitted one, and answers as it does."""
        self._require(
            type(model) is type(self.model)
            and _are_same(self._query(model, self.others), self._query(self.model, self.others)),
            promise,
        )

    def _query(self, model, sentences):
        """Ask for all that a parser says of each sentence: a list for each method."""
        methods = [getattr(model, name) for name in BY_SENTENCE if hasattr(model, name)]
        texts = [tree.to_conllu() for tree in model.parse(sentences)]
        return [*(list(method(sentences)) for method in methods), texts]


def _are_same(one, other):
    """Tell whether lists of lists of arrays or numbers are equal to the last bit."""
    return all(np.array_equal(*pair) for pair in zip(chain(*one), chain(*other), strict=True))
