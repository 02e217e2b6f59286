"""What may happen to estimators: errors at any call, threads, strange parameters."""

import copy
import re
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from sklearn_shag.utils._param_validation import Interval, InvalidParameterError, StrOptions
from tests import oracles
from tests.estimators import ESTIMATORS, TRANSFORMERS
from tests.fuzz._run import Target
from tests.test_interruptions import Interrupter, is_same, shortened

SUITE = {name: shortened(each) for name, each in (ESTIMATORS | TRANSFORMERS).items()}
SUITE["spectral CV"].set_params(cv=2)  # files hold numbers there
EVENTS = ("parameters", "interrupt", "interrupt", "threads", "fits in threads")
# Where fractions are meant: one that is no machine word, one that is no double.
WHOLE_NUMBERS = 10**30, 10**400
# What makes arrays larger, or a fit longer, than a fuzzer has time for.
SMALL_ENOUGH = 6
# What takes no number but None and one of few, or makes other objects of the input.
FIXED = {"n_jobs", "verbose", "columns", "templates", "n_features", "hidden_layer_sizes"}
# Beginnings of messages that are documented.
REFUSED = re.compile(
    r"No sentence of X|X holds|All sentences of X|decoder='viterbi'|algorithm='viterbi'|"
    r"Training has left the range|prior_inference='variational'|early_stopping|tags=|"
    r"fit_transform tags|The only sentence|None of the|X\[\d+\] |EM needs|.*is to be learned|"
    r"n_states=|unknown column|"
    r".*more than max_length|.*automata|.*the start gives a training sequence"
)


class Case(NamedTuple):
    """An estimator, by name, what befalls it, and trees."""

    name: str
    event: str
    parameters: dict[str, Any]
    trees: list
    share: float  # of all calls, after which an error is raised
    error: type


def _make(random):
    name = random.choice(list(SUITE))
    event = random.choice(EVENTS)
    parameters = _draw_parameters(SUITE[name], random) if event == "parameters" else {}
    trees = random.sample(_trees(), random.randint(6, 10))
    error = random.choice([KeyboardInterrupt, MemoryError])
    return Case(name, event, parameters, trees, random.random(), error)


@cache
def _trees():
    from sklearn_shag.datasets import load_english

    return [tree for tree in load_english().data if len(tree) < 9]


def _draw_parameters(estimator, random):
    """Ends of intervals, and what is just outside; options; None; what is not meant at all."""
    parameters = {}
    for key, constraints in type(estimator)._parameter_constraints.items():
        if key in FIXED or random.random() < 0.6:
            continue
        choices = ["no such option", -1, object]
        for constraint in constraints:
            if isinstance(constraint, StrOptions):
                choices += sorted(constraint.options) * 2
            elif isinstance(constraint, Interval):
                choices += _ends(constraint)
            elif constraint == "boolean":
                choices += [False, True] * 3
            elif constraint is None:
                choices += [None] * 3
        parameters[key] = random.choice(choices)
    return parameters


def _ends(interval):
    is_whole = interval.type is Integral
    low = interval.left if interval.left is not None else -SMALL_ENOUGH
    high = interval.right if interval.right is not None else low + SMALL_ENOUGH
    high = min(high, low + SMALL_ENOUGH)
    ends = [low, high, (low + high) // 2 if is_whole else (low + high) / 2]
    return ends if is_whole else [*ends, np.nextafter(low, high), np.nan, np.inf, *WHOLE_NUMBERS]


def _run(case):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator = clone(SUITE[case.name])
        return _EVENTS[case.event](case, estimator)


def _try_parameters(case, estimator):
    estimator.set_params(**case.parameters)
    assert estimator.get_params(deep=False).keys() == SUITE[case.name].get_params(deep=False).keys()
    before = vars(estimator).copy()
    try:
        estimator.fit(case.trees)
    except InvalidParameterError:
        outcome = "invalid parameter"
    except ValueError as error:
        if not REFUSED.match(str(error)):
            raise
        outcome = "refused"
    else:
        _assert_works(estimator, case.trees)
        return "fitted"
    assert is_same(vars(estimator), before)
    return outcome


def _interrupt(case, estimator):
    """Raise an error somewhere in `fit` again, and in what comes after it."""
    estimator.fit(case.trees)
    expected = _answer(estimator, case.trees)
    before = vars(estimator).copy()
    for call in (lambda model: model.fit(case.trees[1:]), lambda model: _ask(model, case.trees)):
        with Interrupter() as counting:
            call(copy.copy(estimator))
        at = 1 + int(case.share * (counting.n_calls - 1))
        try:
            with Interrupter(at, case.error):
                call(estimator)
        except (KeyboardInterrupt, MemoryError):
            pass
        if not is_same(vars(estimator), before):  # just behind the last assignment
            assert at > counting.n_calls - 4
            vars(estimator).clear()
            vars(estimator).update(before)
        assert _same(_answer(estimator, case.trees), expected)
    return f"{case.error.__name__} survived"


def _ask_in_threads(case, estimator):
    estimator.fit(case.trees)
    expected = _answer(copy.deepcopy(estimator), case.trees)
    with ThreadPoolExecutor(8) as executor:
        found = list(executor.map(lambda _: _answer(estimator, case.trees), range(8)))
    assert all(_same(each, expected) for each in found)
    return "same in threads"


def _fit_in_threads(case, estimator):
    """Each fit is one of the same estimator; somebody else asks meanwhile."""
    estimator.fit(case.trees)
    expected = _answer(estimator, case.trees)

    def work(k):
        if k % 2:
            return _same(_answer(estimator, case.trees), expected)
        return estimator.fit(case.trees) is estimator

    with ThreadPoolExecutor(8) as executor:
        assert all(executor.map(work, range(8)))
    assert _same(_answer(estimator, case.trees), expected)
    return "same after fits in threads"


_EVENTS = {
    "parameters": _try_parameters,
    "interrupt": _interrupt,
    "threads": _ask_in_threads,
    "fits in threads": _fit_in_threads,
}


def _ask(estimator, trees):
    return estimator.predict(trees) if hasattr(estimator, "predict") else estimator.transform(trees)


def _answer(estimator, trees):
    answers = _ask(estimator, trees)
    return [getattr(each, "symbols", each) for each in answers]


def _same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def _assert_works(estimator, trees):
    """What comes out of a fitted estimator is trees."""
    for tree, answer in zip(trees, _ask(estimator, trees), strict=True):
        assert len(answer) == len(tree)
        if hasattr(estimator, "predict"):
            assert oracles.is_tree(answer.tolist())


def _describe(case):
    trees = [(tree.forms, tree.symbols, tree.heads.tolist()) for tree in case.trees]
    return repr(case._replace(trees=trees))


# The estimators iterate a few times only, but some of their kernels are compiled at first.
TARGETS = {"estimators": Target(_make, _run, _describe, seconds=10.0)}
