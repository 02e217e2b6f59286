"""A fit that fails, wherever it fails, leaves the estimator as it was."""

import copy
import inspect
import sys
from contextlib import contextmanager

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


@contextmanager
def interrupted(at=None, error=KeyboardInterrupt):
    """List calls and returns of the package's own functions, and raise an error in one of them."""
    moments = []

    def profile(frame, event, _):
        is_own = frame.f_globals.get("__name__", "").startswith("sklearn_shag.")
        # Where a generator is closed before its end, Python itself would lose the error.
        if (
            is_own
            and event in ("call", "return")
            and not frame.f_code.co_flags & inspect.CO_GENERATOR
        ):
            moments.append(event)
            if len(moments) == at:
                sys.setprofile(None)
                raise error

    sys.setprofile(profile)
    try:
        yield moments
    finally:
        sys.setprofile(None)


def is_same(one, other):
    return one.keys() == other.keys() and all(one[key] is other[key] for key in one)


USUAL = [("EM from moments", "fit", True), ("product", "fit", False)]
# For those who have the time.
EVERY = {(name, method, fitted) for name, method in METHODS for fitted in (False, True)}
OTHERS = [pytest.param(*case, marks=pytest.mark.exhaustive) for case in sorted(EVERY - {*USUAL})]


@pytest.mark.parametrize(("name", "method", "fitted"), [*USUAL, *OTHERS])
def test_at_any_moment(name, method, fitted, english):
    """Within every function that a fit calls, at its beginning and at its end."""
    trees, others = english[:24], english[24:40]
    estimator = clone(LEARNERS[name])
    if fitted:
        estimator.fit(trees)
    data = others
    if method == "fit_statistics":
        data = clone(estimator).fit(others).statistics_
    complete = copy.copy(estimator)
    getattr(copy.copy(estimator), method)(data)  # what happens once in a process
    with interrupted() as calls:
        getattr(complete, method)(data)
    n = len(calls)
    assert n > 15
    # All of the first and last moments, when attributes change hands, and some between; any are
    # tried by the fuzzer of estimators.
    moments = {*range(1, 8), *range(8, n, max(1, n // 6)), *range(n - 12, n + 1)}
    before = vars(estimator).copy()
    for moment in sorted(moments):
        error = (KeyboardInterrupt, MemoryError)[moment % 2]
        with pytest.raises(error), interrupted(moment, error):
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
