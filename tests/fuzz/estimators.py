"""What may happen to estimators: errors at any call, threads, strange parameters.

And what they learn from extreme weights with extreme parameters: it is finite, or an error says
why not.
"""

import copy
import re
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from sklearn_shag.treebank import DependencyTree
from sklearn_shag.utils._param_validation import Interval, InvalidParameterError, StrOptions
from tests import oracles
from tests.estimators import ESTIMATORS, TRANSFORMERS, check_promises, learned, same
from tests.fuzz._run import Target
from tests.test_interruptions import Interrupter, is_same, shortened

SUITE = {name: shortened(each) for name, each in (ESTIMATORS | TRANSFORMERS).items()}
EVENTS = ("parameters", "interrupt", "interrupt", "threads", "threads")
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
        return _EVENTS[case.event](case, clone(SUITE[case.name]))


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
        assert same(_answer(estimator, case.trees), expected)
    return f"{case.error.__name__} survived"


def _use_in_threads(case, estimator):
    """Answers stay the same; in half of the cases while the estimator is fitted again."""
    estimator.fit(case.trees)
    expected = _answer(copy.deepcopy(estimator), case.trees)

    def work(k):
        if k % 2 and case.share < 0.5:
            return estimator.fit(case.trees) is estimator
        return same(_answer(estimator, case.trees), expected)

    with ThreadPoolExecutor(8) as executor:
        assert all(executor.map(work, range(8)))
    assert same(_answer(estimator, case.trees), expected)
    return "same in threads"


_EVENTS = {"parameters": _try_parameters, "interrupt": _interrupt, "threads": _use_in_threads}


def _ask(estimator, trees):
    return estimator.predict(trees) if hasattr(estimator, "predict") else estimator.transform(trees)


def _answer(estimator, trees):
    return [getattr(each, "symbols", each) for each in _ask(estimator, trees)]


def _assert_works(estimator, trees):
    """What comes out of a fitted estimator is trees."""
    if hasattr(estimator, "predict"):
        check_promises(estimator, trees, "heads")
    assert list(map(len, _ask(estimator, trees))) == list(map(len, trees))


def _describe(case):
    trees = [(tree.forms, tree.symbols, tree.heads.tolist()) for tree in case.trees]
    return repr(case._replace(trees=trees))


# Extreme weights and parameters

SYMBOLS = ("NOUN", "VERB", "DET", "PUNCT")
EXTREMES = (0, 5e-324, 1e-320, 1e-300, 1e-100, 1e-17, 0.5, 1, 1e17, 1e100, 1e300, 1.79e308)
EXTREMES += tuple(-each for each in EXTREMES)
# What is finite anyway, and how long it takes.
FEW = {"max_iter": (0, 1, 3), "n_states": (1, 2, 3), "max_length": (None,)}
# Beginnings of messages that are documented.
NOT_LEARNED = re.compile(
    "|".join(
        (
            "sample_weight (sums to|must contain)",
            "No sentence of X",
            "X holds no sentence",
            r"X\[\d+\] .* is possible under init",
            "None of (root_symbols|the 1 rules)",
            "The '.*' parameter",
            ".*the start gives a training sequence",
            "Training has left the range",
        )
    )
)


class Learning(NamedTuple):
    """An estimator, by name, with some parameters, and trees with weights."""

    name: str
    parameters: dict[str, Any]
    trees: list[DependencyTree]
    weights: np.ndarray | None


def _make_learning(random):
    name = random.choice(sorted(ESTIMATORS))
    estimator = ESTIMATORS[name]
    parameters = {}
    for key, constraints in type(estimator)._parameter_constraints.items():
        intervals = [each for each in constraints if isinstance(each, Interval)]
        if key in FEW:
            choices = FEW[key]
        elif any(each.type is Integral for each in intervals):
            continue
        else:
            choices = EXTREMES if intervals else ()
        choices = [value for value in choices if _satisfies(value, constraints)]
        if choices and random.random() < (0.8 if key in FEW else 0.3):
            parameters[key] = random.choice(choices)
    rng = np.random.default_rng(random.getrandbits(64))
    trees = [_make_tree(rng, random) for _ in range(random.randint(2, 8))]
    return Learning(name, parameters, trees, _make_weights(random, len(trees)))


def _satisfies(value, constraints):
    return any(
        value is None if each is None else each.is_satisfied_by(value)
        for each in constraints
        if each is None or isinstance(each, Interval)
    )


def _make_tree(rng, random):
    n_tokens = random.randint(1, 7)
    symbols = [random.choice(SYMBOLS) for _ in range(n_tokens)]
    forms = [f"{symbol.lower()}{random.randint(0, 2)}" for symbol in symbols]
    heads = oracles.random_tree(rng, n_tokens)
    return DependencyTree(forms, heads, upos=symbols, deprels=[f"of {s}" for s in symbols])


def _make_weights(random, n_sentences):
    """Of any size each, or of one for all, or beside ones, or none."""
    weights = np.array([abs(random.choice(EXTREMES)) for _ in range(n_sentences)])
    alike, one = np.full(n_sentences, weights[0]), np.append(weights[0], np.ones(n_sentences - 1))
    return random.choice([weights, alike, one, None])


def _learn(case):
    estimator = clone(ESTIMATORS[case.name])
    names = estimator.get_params(deep=False)
    estimator.set_params(**{k: v for k, v in case.parameters.items() if k in names})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UserWarning)  # these are documented
        try:
            model = estimator.fit(case.trees, case.trees, sample_weight=case.weights)
        except ValueError as error:
            if not NOT_LEARNED.match(str(error)):
                raise
            return "refused"
        _assert_finite(learned(model))
        check_promises(model, case.trees, "heads", "marginals")
        for method in ("log_likelihood", "score_samples", "conditional_log_likelihood"):
            if hasattr(model, method):
                found = getattr(model, method)(case.trees)
                assert not np.isnan(found).any()
                assert (found < np.inf).all()
    return "learned"


def _assert_finite(value, path=""):
    """Assert that all numbers that were learned are finite."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        assert np.isfinite(value).all() or "log_likelihood" in path, path
    elif isinstance(value, dict):
        for name, part in value.items():
            _assert_finite(part, f"{path}.{name}")
    elif isinstance(value, list | tuple):
        for part in value:
            _assert_finite(part, path)
    elif isinstance(value, float):
        assert np.isfinite(value), path
    else:
        assert not isinstance(value, Pipeline | FrozenEstimator), path  # they are opened


# The estimators iterate a few times only, but some of their kernels are compiled at first.
TARGETS = {
    "estimators": Target(_make, _run, _describe, seconds=10.0),
    "learning": Target(_make_learning, _learn, seconds=20.0),
}
