"""Every parser keeps the contract that is public, and learners that break it are found."""

import numpy as np
import pytest
from sklearn.base import clone

from sklearn_shag import BiaffineParser, DeterministicSHAG
from sklearn_shag.checks import check_parser, yield_checks
from tests.estimators import ESTIMATORS

SMALL = {"tags": ("upos", "xpos"), "hidden_layer_sizes": [8], "max_iter": 2, "random_state": 0}
PARSERS = ESTIMATORS | {"network with tags": BiaffineParser(**SMALL)}


@pytest.mark.parametrize("name", PARSERS)
def test_every_parser_keeps_the_contract(name):
    check_parser(clone(PARSERS[name]))


class AnswersAnEmptySentence(DeterministicSHAG):
    def predict(self, X, *, allowed=None):
        try:
            return super().predict(X, allowed=allowed)
        except ValueError:
            return np.array([np.zeros(len(sentence), dtype=int) for sentence in X])


class LosesMass(DeterministicSHAG):
    def predict_marginals(self, X, *, allowed=None):
        return 0.9 * super().predict_marginals(X, allowed=allowed)


class LooksAtTheChunk(DeterministicSHAG):
    def predict_marginals(self, X, *, allowed=None):
        marginals = super().predict_marginals(X, allowed=allowed) ** (1 + (len(X) > 1))
        for own in marginals:
            own /= own.sum(axis=1, keepdims=True)
        return marginals


class KeepsTheInput(DeterministicSHAG):
    def fit(self, X, y=None, sample_weight=None):
        self.sentences_ = X
        return super().fit(X, y, sample_weight)


class ChangesAParameter(DeterministicSHAG):
    def fit(self, X, y=None, sample_weight=None):
        self.smoothing += 1.0
        return super().fit(X, y, sample_weight)


class LoadsAsAnother(DeterministicSHAG):
    def __reduce__(self):
        return DeterministicSHAG, (), self.__dict__


class InventsTags(BiaffineParser):
    def predict_tags(self, X, column=None):
        return [np.full(len(sentence), "?") for sentence in X]


class KeepsAll(DeterministicSHAG):
    """Nothing is wrong with a class of another package as such."""


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (AnswersAnEmptySentence(), r"it refuses .*\[\[\]\]"),
        (LosesMass(), "marginals are not negative and sum to 1"),
        (LooksAtTheChunk(), "a sentence is parsed as if it were alone"),
        (KeepsTheInput(), "fit keeps no sentences"),
        (ChangesAParameter(), "fit leaves the parameters as they are"),
        (LoadsAsAnother(), "a pickle holds the parser"),
        (InventsTags(**SMALL), "tags are some of tag_values_"),
    ],
)
def test_a_broken_parser_is_found(broken, promise):
    name = type(broken).__name__
    with pytest.raises(AssertionError, match=f"^{name} breaks a promise: {promise}"):
        check_parser(broken)


def test_checks_have_names():
    names = [check.__name__ for check in yield_checks(KeepsAll())]
    assert len(names) == len(set(names)) > 10
    check_parser(KeepsAll())
