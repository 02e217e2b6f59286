"""Extreme weights and parameters: what is learned is finite, or an error says why not."""

import re
import warnings
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from sklearn_shag.treebank import DependencyTree
from sklearn_shag.utils._param_validation import Interval
from tests import oracles
from tests.estimators import ESTIMATORS, learned
from tests.fuzz._run import Target

SYMBOLS = ("NOUN", "VERB", "DET", "PUNCT")
EXTREMES = (0, 5e-324, 1e-320, 1e-300, 1e-100, 1e-17, 0.5, 1, 1e17, 1e100, 1e300, 1.79e308)
EXTREMES += tuple(-each for each in EXTREMES)
# What is finite anyway, and how long it takes.
FEW = {"max_iter": (0, 1, 3), "n_states": (1, 2, 3), "max_length": (None,)}
# Beginnings of messages that are documented.
REFUSED = re.compile(
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


class Case(NamedTuple):
    """An estimator, by name, with some parameters, and trees with weights."""

    name: str
    parameters: dict[str, Any]
    trees: list[DependencyTree]
    weights: np.ndarray | None


def _make(random):
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
    return Case(name, parameters, trees, _make_weights(random, len(trees)))


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
    kind = random.choice(["none", "alike", "one", "any"])
    weights = np.ones(n_sentences)
    if kind == "none":
        return None
    if kind == "alike":
        weights *= abs(random.choice(EXTREMES))
    elif kind == "one":
        weights[0] = abs(random.choice(EXTREMES))
    else:
        weights = np.array([abs(random.choice(EXTREMES)) for _ in weights])
    return weights


def _run(case):
    estimator = clone(ESTIMATORS[case.name])
    names = estimator.get_params(deep=False)
    estimator.set_params(**{k: v for k, v in case.parameters.items() if k in names})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UserWarning)  # these are documented
        try:
            model = estimator.fit(case.trees, case.trees, sample_weight=case.weights)
        except ValueError as error:
            if not REFUSED.match(str(error)):
                raise
            return "refused"
        _assert_finite(learned(model))
        model.predict(case.trees)
        for marginals in model.predict_marginals(case.trees):
            assert np.isfinite(marginals).all()
            np.testing.assert_allclose(marginals.sum(axis=1), 1.0, rtol=1e-9)
        assert 0.0 <= model.score(case.trees) <= 1.0
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


TARGETS = {"learning": Target(_make, _run, seconds=20.0)}
