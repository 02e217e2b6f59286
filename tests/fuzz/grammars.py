"""Grammars of all magnitudes: whatever their numbers are, sentences get trees and probabilities."""

import warnings
from functools import cache
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from sklearn_shag import AveragedParser, BaseSHAG, DeterministicSHAG, MixtureSHAG, ProductParser
from sklearn_shag.operators import Operators, change_basis
from sklearn_shag.parsing import Potentials, best_trees, chart, tree_values
from sklearn_shag.parsing._chart import ROUTES
from sklearn_shag.treebank import UnknownSymbolWarning, lift
from tests import oracles
from tests.fuzz._run import OUT_OF_RANGE, Target
from tests.log_chart import sum_up

LONGEST, VERY_LONG, SHARE_VERY_LONG = 200, 1000, 0.002
MAGNITUDES = -60, 60  # powers of ten; badly conditioned bases of states come to them
# Charts agree to so much, in units of Z, where Z is at least such a share of the sum of the
# absolute values of all derivations. Beyond that, terms cancel.
AGREEMENT, SHARE = 1e-9, 1e-4
KINDS = ("positive", "signed", "deterministic", "whole numbers")
DECODERS = ("mbr", "max_marginal", "mst", "viterbi")
# What is seldom tried, since it takes long.
COMBINATIONS = (None, None, None, None, "average", "product", "mixture", "mixture by EM")

# Beginnings of messages that are documented.
REFUSED = (
    "No sentence of X has a tree that is possible",
    "Operators are so large that",
    "1000 sentences in a row",
    "The grammar gives no symbol any mass",
)


class Case(NamedTuple):
    """A grammar, sentences, and how they are parsed."""

    kind: str
    operators: Operators
    codes: np.ndarray  # of one sentence; the unknown symbol is the last
    arcs: np.ndarray | None  # (N, N + 1) logarithms, as of Potentials
    arc_memory: np.ndarray | None  # (N, N + 1, 2)
    allowed: np.ndarray | None  # (N, N + 1)
    decoder: str
    combination: str | None
    seed: int


class KnownGrammar(BaseSHAG):
    """A parser by operators that are given."""

    automaton = "sibling"  # has states of its own in a product

    def __init__(self, operators, decoder="mbr", n_jobs=None, verbose=0):
        self.operators = operators
        self.decoder = decoder
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def _deterministic(self):
        return self.decoder == "viterbi"

    def fit(self, X=None, y=None, sample_weight=None):
        model = _smooth_grammar(self.operators.A.shape[2] - 1)
        for name in ("symbols_", "labels_", "label_counts_", "fallback_operators_"):
            setattr(self, name, getattr(model, name))
        self.operators_ = self.operators
        return self


@cache
def _smooth_grammar(n_symbols):
    """A grammar that was learned, over so many symbols."""
    return DeterministicSHAG("first", smoothing=1).fit(*_trees(n_symbols))


def _trees(n_symbols):
    symbols = [f"s{k}" for k in range(n_symbols)]
    X = [symbols, *([one] for one in symbols), [*symbols, *symbols[::-1]]]
    return X, [[0, *range(1, len(sentence))] for sentence in X]


def make_operators(rng, kind, n_symbols, n_states, magnitudes=MAGNITUDES):
    """Operators of a grammar, of some magnitude each, with zeros, and badly conditioned."""
    heads = (n_symbols + 2, 2)
    shapes = (*heads, n_states), (*heads, n_states), (*heads, n_symbols + 1, n_states, n_states)
    low = {"positive": 0.0, "signed": -1.0, "deterministic": 0.0, "whole numbers": -1.0}[kind]
    parts = [rng.uniform(low, 1.0, size=shape) for shape in shapes]
    if kind == "whole numbers":
        parts = [np.rint(part) for part in parts]
    zeros = rng.choice([0.0, 0.0, 0.3, 0.7, 1.0], p=[0.4, 0.2, 0.2, 0.18, 0.02])
    parts = [part * (rng.uniform(size=part.shape) >= zeros) for part in parts]
    if kind == "deterministic":
        parts[0] *= np.arange(n_states) == 0
        following = rng.integers(n_states, size=parts[2].shape[:3])
        parts[2] *= np.arange(n_states)[:, None] == following[..., None, None]
    operators = Operators(*parts)
    if kind == "signed" and rng.uniform() < 0.5:
        operators = change_basis(operators, _basis(rng, heads, n_states))
    return scale_at_random(rng, operators, magnitudes)


def _basis(rng, heads, n_states):
    """Invertible matrices with condition numbers to 1e12."""
    left, right = (np.linalg.qr(rng.normal(size=(*heads, n_states, n_states)))[0] for _ in "lr")
    sizes = 10.0 ** (-rng.uniform(0, 12) * np.linspace(0, 1, n_states))
    return left * sizes @ right


def scale_at_random(rng, operators, magnitudes):
    """Multiply a whole grammar, some automata, or starts, stops and symbols, by powers of ten."""
    logs = [np.zeros(part.shape[:2]) for part in operators[:2]] + [np.zeros(operators.A.shape[:3])]
    of_what = rng.choice(["nothing", "all", "automata", "parts", "symbols", "everything"])
    if of_what in ("all", "automata"):
        shape = (1, 1) if of_what == "all" else logs[0].shape
        exponents = rng.uniform(*magnitudes, size=shape) * (rng.uniform(size=shape) < 0.7)
        logs = [log + exponents[(...,) + (None,) * (log.ndim - 2)] for log in logs]
    elif of_what == "parts":
        logs = [log + rng.uniform(*magnitudes) for log in logs]
    elif of_what == "symbols":
        logs[2] = logs[2] + rng.uniform(*magnitudes, size=logs[2].shape[2])
    elif of_what == "everything":
        logs = [rng.uniform(*magnitudes, size=log.shape) for log in logs]
    axes = (-1,), (-1,), (-2, -1)
    return Operators(
        *(
            np.expand_dims(10.0**log, of) * part
            for part, log, of in zip(operators, logs, axes, strict=True)
        )
    )


def make_sentence(rng, n_symbols, longest=LONGEST):
    """Codes of a sentence of any length, in some of unknown symbols alone."""
    n_tokens = int(np.exp(rng.uniform(0, np.log(longest + 1))))
    unknown = rng.choice([0.0, 0.1, 1.0], p=[0.6, 0.3, 0.1])
    codes = rng.integers(n_symbols, size=n_tokens)
    return np.where(rng.uniform(size=n_tokens) < unknown, n_symbols, codes)


def _make(random):
    rng = np.random.default_rng(random.getrandbits(64))
    kind, n_symbols = str(rng.choice(KINDS)), int(rng.integers(1, 7))
    very_long = rng.uniform() < SHARE_VERY_LONG
    n_states = int(rng.integers(1, 9)) if rng.uniform() < 0.98 else 16
    operators = make_operators(rng, kind, n_symbols, min(n_states, 2) if very_long else n_states)
    longest = LONGEST if rng.uniform() < 0.9 else 6
    codes = make_sentence(rng, n_symbols, longest)
    if very_long:
        codes = rng.integers(n_symbols + 1, size=VERY_LONG)
    n = codes.size
    arcs = arc_memory = allowed = None
    if rng.uniform() < 0.3 and not very_long:
        arcs = rng.normal(size=(n, n + 1)) * 10.0 ** rng.uniform(-300, 300)
        arcs[rng.uniform(size=arcs.shape) < rng.choice([0.0, 0.3, 0.9])] = -np.inf
    if rng.uniform() < 0.2 and n <= 50:
        arc_memory = 10.0 ** rng.uniform(*MAGNITUDES, size=(n, n + 1, 2))
        arc_memory *= rng.uniform(size=arc_memory.shape) < rng.choice([0.5, 1.0])
    if rng.uniform() < 0.2:
        allowed = rng.uniform(size=(n, n + 1)) < rng.choice([0.1, 0.5])
        allowed[np.arange(n), lift(oracles.random_tree(rng, n))] = True
    decoders = DECODERS if kind == "deterministic" else DECODERS[:3]
    combination = None if very_long else COMBINATIONS[rng.integers(len(COMBINATIONS))]
    return Case(
        *(kind, operators, codes, arcs, arc_memory, allowed),
        *(str(rng.choice(decoders)), combination, int(rng.integers(2**31))),
    )


def _run(case):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UnknownSymbolWarning)
        warnings.filterwarnings("ignore", OUT_OF_RANGE)
        model = KnownGrammar(case.operators, decoder=case.decoder).fit()
        sentence = [*model.symbols_, "?"]
        sentence = [[sentence[code] for code in case.codes]]
        if case.codes.size == VERY_LONG:
            _look(model, sentence)
            assert not np.isnan(model.log_likelihood(sentence)[0])
            return "very long"
        _parse(model, sentence, case)
        outcome = _sum_up(case)
        if case.codes.size <= 50:
            _draw(model, case.seed)
            _combine(model, sentence, case)
    return outcome


def _parse(model, sentence, case):
    """A tree always, with probabilities that are some."""
    allowed = None if case.allowed is None else [case.allowed]
    heads = _look(model, sentence, allowed)
    likelihood = model.log_likelihood(sentence)[0]
    of_tree, given = (
        method(sentence, [heads])[0]
        for method in (model.score_samples, model.conditional_log_likelihood)
    )
    assert not np.isnan([likelihood, of_tree, given]).any(), (likelihood, of_tree, given)
    assert np.inf not in (likelihood, of_tree, given)
    potentials = Potentials(np.array([0, case.codes.size]), case.codes)
    is_out = _route(chart(case.operators, potentials, marginals=False)) == "out of range"
    if case.operators.A.min() >= 0 and not oracles.crosses(heads):
        assert not is_out or likelihood == -np.inf
        if not is_out:
            _assert_at_least(likelihood, of_tree)
    if 1 < case.codes.size <= 50:
        known = np.where(np.arange(heads.size) % 2, heads, -1)
        partial = model.score_samples(sentence, [known])[0], model.score(sentence, [known])
        assert not np.isnan(partial).any()


def _look(model, sentence, allowed=None):
    """The heads of a sentence, when they and its marginals have been looked at."""
    heads = model.predict(sentence, allowed=allowed)[0]
    marginals = model.predict_marginals(sentence, allowed=allowed)[0]
    assert oracles.is_tree(heads.tolist())
    assert np.count_nonzero(heads == 0) == 1
    assert model.decoder == "mst" or not oracles.crosses(heads)
    assert np.isfinite(marginals).all()
    assert (marginals >= 0).all()
    np.testing.assert_allclose(marginals.sum(axis=1), 1.0, rtol=1e-9)
    if allowed is not None:
        assert not marginals[~allowed[0]].any()
        assert allowed[0][np.arange(heads.size), heads].all()
    return heads


def _sum_up(case):
    """Sums over all trees, by both charts, and the best tree, which is not larger."""
    n, codes, operators = case.codes.size, case.codes, case.operators
    flat = {}
    if case.arcs is not None:
        flat["arcs"] = case.arcs.ravel()
    if case.arc_memory is not None:
        flat.update(arc_memory=case.arc_memory.reshape(-1, 2), memory=codes % 2)
    for factors in ({}, flat) if flat else ({},):
        potentials = Potentials(np.array([0, n]), codes, **factors)
        found = chart(operators, potentials)
        assert not np.isnan(found.log_abs_z[0])
        assert found.log_abs_z[0] < np.inf
        assert np.isfinite(found.arcs).all() == (found.sign[0] != 0)
        if min(part.min() for part in operators) >= 0:
            (heads,), (best,) = best_trees(operators, potentials)
            assert not np.isnan(best)
            _assert_at_least(tree_values(operators, potentials, [heads])[1][0], best)
            # Factors of one token that are further apart hide each other, which is a limit.
            arcs = factors.get("arcs", np.zeros(1))
            no_limit = np.abs(arcs[arcs > -np.inf]).max(initial=0.0) < 1e13
            if "arc_memory" not in factors and no_limit and _route(found) != "out of range":
                _assert_at_least(found.log_abs_z[0], best)
    return _compare(operators, codes)


def _route(found):
    return ROUTES[found.route[0]]


def _assert_at_least(larger, smaller):
    assert smaller == -np.inf or larger >= smaller - AGREEMENT * max(1.0, abs(smaller)), (
        larger,
        smaller,
    )


def _compare(operators, codes):
    """The chart agrees with the oracle, where terms do not cancel."""
    potentials = Potentials(np.array([0, codes.size]), codes)
    found = chart(operators, potentials)
    route = _route(found)
    if route == "fast":
        absolute = Operators(*map(np.abs, operators))
        of_absolute = chart(absolute, potentials, marginals=False).log_abs_z[0]
        if found.log_abs_z[0] >= of_absolute + np.log(SHARE):
            in_logs = sum_up(operators, codes)
            assert found.sign[0] == in_logs.sign
            assert abs(found.log_abs_z[0] - in_logs.log_abs_z) <= AGREEMENT
            arcs = found.arcs.reshape(codes.size, -1)
            np.testing.assert_allclose(arcs, in_logs.arcs, rtol=0, atol=AGREEMENT)
            return "fast, compared"
    return route


def _draw(model, seed):
    try:
        trees = model.sample(2, random_state=seed, max_length=20)
    except ValueError as error:
        if not str(error).startswith(REFUSED):
            raise
    else:
        assert all(oracles.is_tree(list(tree.heads)) for tree in trees)


def _combine(model, sentence, case):
    """The grammar beside others."""
    if case.combination is None:
        return
    other = clone(_smooth_grammar(model.symbols_.size)).fit(*_trees(model.symbols_.size))
    rng = np.random.default_rng(case.seed)
    other.operators_ = scale_at_random(rng, other.operators_, MAGNITUDES)
    model = KnownGrammar(case.operators).fit()
    members = [("one", FrozenEstimator(model)), ("other", FrozenEstimator(other))]
    is_signed = min(map(np.min, case.operators)) < 0
    by_em = MixtureSHAG(members, weights="em", max_iter=2, tol=0, max_length=None)
    mixture = clone(by_em).set_params(weights=[1, 1e-3])
    combined = {
        "average": AveragedParser(members, weights=[1, 1e-300]),
        "product": ProductParser(members, weights=[1, rng.choice([0, 1e-3, 1, 7])]),
        "mixture": mixture,
        "mixture by EM": mixture if is_signed else by_em,
    }[case.combination]
    combined.set_params(decoder="mbr" if case.decoder == "viterbi" else case.decoder)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*not converged|.*left out of training")
        try:
            combined.fit(sentence, [[0, *range(1, len(sentence[0]))]])
        except ValueError as error:
            if str(error).startswith(REFUSED):
                return
            raise
    _look(combined, sentence)


# A sentence of a thousand tokens takes the oracle a minute.
TARGETS = {"grammars": Target(_make, _run, seconds=600.0)}
