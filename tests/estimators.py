"""All estimators, each listed once: the tests that all must pass draw from here."""

import copy
import itertools

import numpy as np
from numpy.testing import assert_equal
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline, make_pipeline

from sklearn_shag import (
    DMV,
    EMSHAG,
    AveragedParser,
    BiaffineParser,
    ConcaveParser,
    CRFParser,
    DeterministicSHAG,
    DummyParser,
    LexicalizedSHAG,
    MixtureSHAG,
    ProductParser,
    RefinedSHAG,
    SpectralSHAG,
    Splitter,
    Tagger,
)
from sklearn_shag.checks._parsers import _Contract
from sklearn_shag.datasets import load_english
from sklearn_shag.treebank import DependencyTree, TokenFeature

# Parsers of sentences of any kind.
OF_SYMBOLS = {
    "first": DeterministicSHAG(),
    "sibling": DeterministicSHAG("sibling", smoothing=1, decoder="viterbi"),
    "spectral": SpectralSHAG(3),
    "published": SpectralSHAG.published(3),
    "EM from moments": EMSHAG(2, init="moments", smoothing=1, tol=0.01, max_iter=100),
    "EM from random": EMSHAG(2, smoothing=1, tol=0.01, max_iter=200, decoder="mst", random_state=0),
    "refined": RefinedSHAG(2, 2, max_iter=4, prune=0, random_state=0),
    "average": AveragedParser(
        [("single", DeterministicSHAG("single", smoothing=1)), ("spectral", SpectralSHAG(2))],
        weights=[1, 2],
        decoder="mst",
    ),
    "product": ProductParser(
        [("first", DeterministicSHAG(smoothing=1)), ("EM", EMSHAG(2, tol=0.1, random_state=0))],
        weights=[0.5, 1],
    ),
    "deterministic product": ProductParser(
        [("single", DeterministicSHAG("single")), ("sibling", DeterministicSHAG("sibling"))],
        decoder="viterbi",
    ),
    "CRF": CRFParser(["symbol"], n_features=2**12, random_state=0),
    "network": BiaffineParser(
        ["symbol"],
        hidden_layer_sizes=[8],
        labels=False,
        max_iter=4,
        decoder="mst",
        random_state=0,
    ),
}
# Parsers that read columns of trees, and refuse plain sequences of symbols.
OF_TREES = {
    "lexicalized": LexicalizedSHAG(),
    "CRF of words": CRFParser(
        ["symbol", "form", "suffix"], n_features=2**14, calibrate=False, random_state=0
    ),
    "network of words": BiaffineParser(
        ["symbol", "form", "suffix"],
        hidden_layer_sizes=(8, 8),
        batch_size=100,
        max_iter=3,
        learning_rate_init=0.02,
        calibrate=False,
        random_state=0,
    ),
    "average of pipelines": AveragedParser(
        [
            ("pipeline", make_pipeline(TokenFeature("symbol"), SpectralSHAG(2))),
            ("average", AveragedParser([("first", DeterministicSHAG())])),
        ],
        calibrate=False,
        decoder="max_marginal",
    ),
    "product with words": ProductParser(
        [
            ("pipeline", make_pipeline(TokenFeature("symbol"), SpectralSHAG(2))),
            ("words", LexicalizedSHAG()),
        ],
        decoder="mst",
    ),
}


def symbols_and_heads(trees):
    return [list(tree.symbols) for tree in trees], [tree.heads for tree in trees]


def _helper(automaton):
    """A fitted grammar that knows no relations, and to which no tree is impossible."""
    X, y = symbols_and_heads(load_english().data)
    for head, modifier in itertools.product(sorted(set().union(*X)), repeat=2):
        X += [[modifier, modifier, head], [head, modifier, modifier]]
        y += [[3, 3, 0], [0, 1, 1]]
    return FrozenEstimator(DeterministicSHAG(automaton).fit(X, y))


# Parsers that learn from sentences alone: heads of X change nothing, and those of y need not.
OF_RAW_TEXT = {
    "DMV": DMV(rules=[("VERB", "NOUN")], tol=0.01, max_length=None),
    "DMV with hidden states": DMV("concave", n_states=2, tol=0.01, max_length=None, random_state=0),
    "concave": ConcaveParser(("VERB",), max_iter=5, max_length=None),
    "mixture": MixtureSHAG(
        [("first", _helper("first")), ("single", _helper("single"))], tol=0.1, max_length=None
    ),
}
# Those that learn nothing at all.
BLIND = {
    "chain": DummyParser("left", random_state=0),
    "random trees": DummyParser("random", random_state=0),
}
ESTIMATORS = OF_SYMBOLS | OF_TREES | OF_RAW_TEXT | BLIND
# Those that go over sentences one by one, so that a weight is no repetition.
ONE_BY_ONE = ("CRF", "CRF of words", "network", "network of words")
# One for each way to learn and to score, where it is not the estimator that is tested.
REPRESENTATIVES = [
    *("spectral", "EM from moments", "average", "product", "CRF"),
    *("refined", "network", "lexicalized", "DMV", "mixture", "chain"),
]
SMALL_TAGGER = {
    "columns": ["form", "suffix"],
    "hidden_layer_sizes": [8],
    "batch_size": 100,
    "cv": 2,
    "random_state": 0,
}
TRANSFORMERS = {
    "token feature": TokenFeature("upos", ["xpos"], min_count=2),
    "tagger": Tagger("upos", max_iter=4, **SMALL_TAGGER),
    "tagger of columns": Tagger(["upos", "feats", "lemma"], max_iter=8, **SMALL_TAGGER),
    "splitter": Splitter(hidden_layer_sizes=[8], max_iter=2, random_state=0),
}
# Learners that see nothing of the trees but counts.
COUNTING = {name: each for name, each in ESTIMATORS.items() if hasattr(each, "partial_fit")}

BY_SENTENCE = [
    "predict",
    "predict_marginals",
    "score_samples",
    "log_likelihood",
    "conditional_log_likelihood",
]


def with_labels(estimator):
    """Let an estimator learn relations; where they share weights with heads it was told not to."""
    return estimator.set_params(labels=True) if hasattr(estimator, "labels") else estimator


def with_methods(methods):
    """Pairs of the name of an estimator and that of one of the methods, where it has that."""
    return [
        (name, method)
        for name, estimator in ESTIMATORS.items()
        for method in methods
        if hasattr(estimator, method)
    ]


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def learned(model):
    """What an estimator has learned, and its members; of a pipeline its last step alone.

    Weights of sentences are not for transformers.
    """
    if isinstance(model, Pipeline):
        return learned(model[-1])
    if isinstance(model, FrozenEstimator):
        return learned(model.estimator)
    if isinstance(model, BaseEstimator):
        return {n: learned(value) for n, value in vars(model).items() if n.endswith("_")}
    if isinstance(model, dict):
        return {name: learned(value) for name, value in model.items()}
    return model


def uncorrected(parser):
    """A copy of a fitted parser whose probabilities are those of its model."""
    parser = copy.copy(parser)
    if hasattr(parser, "temperatures_"):
        parser.temperatures_, parser.uniform_shares_ = np.ones(2), np.zeros(2)
    return parser


def assert_same_model(one, other):
    """Assert that two estimators have learned the same to the last bit, statistics included."""
    assert learned(one)
    assert_equal(learned(one), learned(other))


def parameters(model):
    """All parameters of an estimator, with those of its members in place of each."""
    if isinstance(model, BaseEstimator):
        params = model.get_params(deep=False)
        return type(model), {name: parameters(value) for name, value in params.items()}
    if isinstance(model, list | tuple):
        return [parameters(value) for value in model]
    return model


def check_promises(parser, sentences, *names):
    """Check what the contract says of fitted parsers, whatever their numbers are."""
    contract = _Contract(parser)
    contract.model, contract.others = parser, sentences
    for name in names:
        getattr(contract, f"check_{name}")()


def hide(tree, seed, share=0.5):
    """The same tree with some heads unknown; relations stay."""
    hidden = np.random.default_rng(seed).uniform(size=len(tree)) < share
    return tree.with_heads(np.where(hidden, -1, tree.heads), tree.deprels, keep_deps=True)


def mirror(tree):
    """A tree of the mirrored language."""
    heads = [0 if head == 0 else len(tree) + 1 - head for head in tree.heads[::-1]]
    deprels = [f"{deprel}'" for deprel in tree.deprels[::-1]]
    return DependencyTree(list(tree.symbols[::-1]), heads, deprels=deprels)


def without_relations(tree):
    return tree.with_heads(tree.heads)


def repeat(sentences, weights):
    return [s for s, weight in zip(sentences, weights, strict=True) for _ in range(weight)]
