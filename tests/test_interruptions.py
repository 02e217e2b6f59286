"""A fit that fails, wherever it fails, leaves the estimator as it was."""

import copy
import inspect
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from sklearn_shag import EMSHAG
from tests.estimators import ESTIMATORS, TRANSFORMERS


def shortened(learner):
    """A learner that iterates a few times only, which are all alike."""
    short = {"max_iter": 2, "tol": 9}
    iterating = short.keys() & learner.get_params()
    return clone(learner).set_params(**{name: short[name] for name in iterating})


LEARNERS = {
    **{name: shortened(each) for name, each in (ESTIMATORS | TRANSFORMERS).items()},
    "early stopping": EMSHAG(2, init="moments", early_stopping=True, max_iter=200, random_state=0),
}
METHODS = [
    (name, method)
    for name, learner in LEARNERS.items()
    for method in ("fit", "partial_fit", "fit_statistics")
    if hasattr(learner, method)
]


class Interrupter:
    """Counts the calls of the package's own functions, and raises an error in one of them."""

    def __init__(self, at=None, error=KeyboardInterrupt):
        self.at, self.error, self.n_calls = at, error, 0

    def __enter__(self):
        sys.setprofile(self._profile)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)

    def _profile(self, frame, event, _):
        is_own = frame.f_globals.get("__name__", "").startswith("sklearn_shag.")
        # Where a generator is closed before its end, Python itself would lose the error.
        is_generator = frame.f_code.co_flags & inspect.CO_GENERATOR
        if is_own and event in ("call", "return") and not is_generator:
            self.n_calls += 1
            if self.n_calls == self.at:
                sys.setprofile(None)
                raise self.error


def is_same(one, other):
    return one.keys() == other.keys() and all(one[key] is other[key] for key in one)


USUAL = [("EM from moments", "fit", True), ("product", "fit", False)]
# For those who have the time.
EVERY = {(name, method, fitted) for name, method in METHODS for fitted in (False, True)}
OTHERS = [pytest.param(*case, marks=pytest.mark.exhaustive) for case in sorted(EVERY - {*USUAL})]


@pytest.mark.parametrize(("name", "method", "fitted"), [*USUAL, *OTHERS])
def test_at_any_moment(name, method, fitted, english):
    """Within every function that a fit calls, at its beginning and at its end."""
    few = [tree for tree in english if {*tree.upos} <= {"DET", "NOUN", "PRON", "PUNCT", "VERB"}]
    trees, data = few[:6], few[6:]
    estimator = clone(LEARNERS[name])
    if fitted:
        estimator.fit(trees)
    if method == "fit_statistics":
        data = clone(estimator).fit(data).statistics_
    complete = copy.copy(estimator)
    getattr(copy.copy(estimator), method)(data)  # what happens once in a process
    with Interrupter() as counting:
        getattr(complete, method)(data)
    n = counting.n_calls
    assert n > 15
    # All of the first and last moments, when attributes change hands, and some between; any are
    # tried by the fuzzer of estimators.
    moments = {*range(1, 8), *range(8, n, max(1, n // 6)), *range(n - 12, n + 1)}
    before = vars(estimator).copy()
    for moment in sorted(moments):
        error = (KeyboardInterrupt, MemoryError)[moment % 2]
        with Interrupter(moment, error), pytest.raises(error):
            getattr(estimator, method)(data)
        after = vars(estimator).copy()
        if not is_same(after, before):
            # As if it had come just after the fit.
            assert moment > n - 5
            assert after.keys() == vars(complete).keys()
            assert all(
                value is not before.get(key)
                for key, value in after.items()
                if key.endswith("_") and isinstance(value, np.ndarray | tuple | dict)
            )
        vars(estimator).clear()
        vars(estimator).update(before)


@pytest.mark.filterwarnings("error")
def test_warnings_that_are_errors(english):
    model = EMSHAG(2, max_iter=1, random_state=0)
    with pytest.raises(ConvergenceWarning):
        model.fit(english[:60])
    with pytest.raises(NotFittedError):
        model.predict(english[:5])
    model.set_params(tol=9).fit(english[:30])
    kept = vars(model).copy()
    with pytest.raises(ConvergenceWarning):
        model.set_params(tol=0).fit(english[:60])
    assert is_same({**kept, "tol": 0}, vars(model))
