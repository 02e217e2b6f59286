"""What factors cost in the chart, and which of its routes sentences take.

Usage: python benchmarks/chart_factors.py [FOLDER] [TREEBANK] [--output RESULTS.json]

FOLDER holds the treebanks (default: the environment variable SKLEARN_SHAG_DATA), TREEBANK is one of
them (default: UD_English-EWT). Compared are calls of public functions on one thread: those of a
group take turns in one process, beside a product of matrices, and what counts is the CPU time of
the fastest of several calls. The operators are learned from the training set and have 8 states, 2
of them those of the mixture; factors are random, but always the same. Takes a few minutes.
"""

from itertools import chain

import numpy as np
from _measure import Report, make_dgemm, measured, minima, read_arguments
from threadpoolctl import threadpool_limits

from sklearn_shag import SpectralSHAG
from sklearn_shag.datasets import load_english
from sklearn_shag.encoding import encode_sentences
from sklearn_shag.parsing import Potentials, chart, tree_loss

N_STATES = 6  # and the two of the mixture
N_CLASSES = (2, 4)
LONG = (600, 1000)
ROUTES = {0: "fast", 1: "out of range", 3: "none"}  # as ChartResults counts them
# With a mixture they have two states more than they are asked for.
MODELS = {
    "SpectralSHAG(n_states=6)": SpectralSHAG(6),
    "SpectralSHAG(n_states=8, mixing=0)": SpectralSHAG(8, mixing=0),
    "SpectralSHAG()": SpectralSHAG(),
    "SpectralSHAG(n_states=16)": SpectralSHAG(16),
}


def normal(deviation, gap=0.0, offset=0.0):
    """Normal arc scores, those of right heads larger by a gap, with an offset for each token."""

    def draw(rng, right):
        offsets = rng.uniform(-offset, offset, size=(len(right), 1))
        return rng.normal(scale=deviation, size=right.shape) + gap * right + offsets

    return draw


def known(share):
    """Arc scores that forbid all but the right head of a share of the tokens."""

    def draw(rng, right):
        is_known = rng.random((len(right), 1)) < share
        return np.where(is_known & ~right, -np.inf, 0.0)

    return draw


SCORES = {
    "none": None,
    "standard deviation 8": normal(8),
    "standard deviation 18": normal(18),
    "right heads 18 above the others": normal(1, gap=18),
    "right heads 30 above the others": normal(1, gap=30),
    "offsets of tokens up to 5000": normal(1, offset=5000),
    "20 % of heads known": known(0.2),
    "50 % of heads known": known(0.5),
}


def encode(model, trees):
    """The potentials of sentences without factors."""
    codes, indptr = encode_sentences([tree.symbols for tree in trees], model.symbols_)
    return Potentials(indptr, codes)


def score_arcs(trees, draw):
    """Scores of all arcs of some trees, which `draw` is told the right ones of."""
    rng = np.random.default_rng(0)
    heads = (tree.heads for tree in trees)
    parts = [draw(rng, np.arange(h.size + 1) == h[:, None]) for h in heads]
    return np.concatenate([part.ravel() for part in parts])


def add_memory(sentences, n_arcs, k):
    """Give every token a class at random, and every factor of k classes a value."""
    rng, n_tokens = np.random.default_rng(k), sentences.codes.size
    return sentences._replace(
        memory=rng.integers(k, size=n_tokens),
        arc_memory=rng.uniform(0.1, 1.0, size=(n_arcs, k)),
        stop_memory=rng.uniform(0.1, 1.0, size=(n_tokens, 2, k)),
    )


class Stopwatch:
    """CPU seconds of groups of calls, each beside a product of matrices."""

    def __init__(self):
        self.rows, self.dgemm_rates = [], []

    def compare(self, functions, rounds):
        """Return the seconds of every function of a dict, and keep them for the table."""
        dgemm, operations = make_dgemm()
        seconds = minima(functions | {"dgemm": dgemm}, rounds)
        of_dgemm = seconds.pop("dgemm")
        self.dgemm_rates.append(operations / of_dgemm)
        self.rows += [
            {"what": name, "CPU ms": 1000 * t, "in products of matrices": t / of_dgemm}
            for name, t in seconds.items()
        ]
        return list(seconds.values())


def compare_factors(stopwatch, grammar, model, trees):
    """Marginals of the test set, with factors and without."""
    codes = encode(model, trees)
    arcs = score_arcs(trees, normal(2))
    given = {"codes alone": codes, "arc scores": codes._replace(arcs=arcs)}
    given |= {f"memory, k = {k}": add_memory(codes, arcs.size, k) for k in N_CLASSES}
    alone, *others = stopwatch.compare(
        {f"test set, {name}": lambda p=p: chart(grammar, p) for name, p in given.items()}, 9
    )
    bars = {"with arc scores": 1.3, "with memory, k = 2": 1.8, "with memory, k = 4": 2.8}
    return [
        measured(f"times the marginals {name}", seconds / alone, at_most=bar)
        for (name, bar), seconds in zip(bars.items(), others, strict=True)
    ]


def compare_training(stopwatch, grammar, model, trees):
    """What learning from the training set needs: counts of operators, and the loss of trees."""
    codes = encode(model, trees)
    projective = [tree for tree in trees if tree.is_projective]
    arcs, heads = score_arcs(projective, normal(2)), [tree.heads for tree in projective]
    alone, counts, loss = stopwatch.compare(
        {
            "training set, codes alone": lambda: chart(grammar, codes),
            "training set, counts": lambda: chart(grammar, codes, counts=True),
            "training set, tree_loss": lambda: tree_loss(arcs, heads),
        },
        5,
    )
    return [
        measured("times the marginals of the training set: counts", counts / alone, at_most=3),
        measured("seconds of counts, training set", counts),
        measured(f"seconds of tree_loss, its {len(heads)} projective trees", loss),
    ]


def time_sentence(stopwatch, train, test):
    """`predict` of one sentence of nine tokens, by the default model."""
    model, sentence = SpectralSHAG().fit(train), next(tree for tree in test if len(tree) == 9)
    (seconds,) = stopwatch.compare({"predict, 9 tokens": lambda: model.predict([sentence])}, 9)
    return [measured("ms of predict, one sentence of 9 tokens", 1000 * seconds)]


def compare_long(stopwatch):
    """`predict` of a text as if it were one sentence."""
    trees = load_english().data
    model, text = SpectralSHAG().fit(trees), list(chain.from_iterable(t.symbols for t in trees))
    shorter, longer = stopwatch.compare(
        {f"predict, {n} tokens": lambda n=n: model.predict([text[:n]]) for n in LONG}, 3
    )
    codes = encode_sentences([text[: LONG[1]]], model.symbols_)
    route = chart(model.operators_, Potentials(codes.indptr, codes.codes), marginals=False).route
    return [
        measured(f"times {LONG[0]} tokens: {LONG[1]} tokens", longer / shorter, at_most=5),
        measured(f"chart of {LONG[1]} tokens", ROUTES[route[0]]),
    ]


def compare_models(report, train, test):
    """The default estimator beside those of fewer states and of more."""
    models = {name: model.fit(train) for name, model in MODELS.items()}
    seconds = minima({n: lambda m=m: m.predict_marginals(test) for n, m in models.items()}, 9)
    eight = min(t for n, t in seconds.items() if models[n].operators_.alpha_1.shape[2] == 8)
    report.add(
        "models",
        [
            {
                "model": name,
                "states in all": model.operators_.alpha_1.shape[2],
                "predict_marginals, ms": 1000 * seconds[name],
                "times 8 states": seconds[name] / eight,
                "UAS, percent": f"{100 * model.score(test):.2f}",
            }
            for name, model in models.items()
        ],
    )
    default = seconds["SpectralSHAG()"] / eight
    return [measured("times 8 states: the default estimator", default, at_most=1.3)]


def count_routes(grammar, model, trees):
    """How many sentences are in range, out of it, or have no tree with mass, by their scores."""
    projective = [tree for tree in trees if tree.is_projective]
    codes = encode(model, projective)
    rows = []
    for name, draw in SCORES.items():
        arcs = None if draw is None else score_arcs(projective, draw)
        cases = {"8 states": (grammar, codes.codes), "no grammar": (None, None)}
        for label, (operators, symbols) in cases.items():
            sentences = Potentials(codes.indptr, symbols, arcs)
            routes = chart(operators, sentences).route.tolist()
            counts = {route: routes.count(k) for k, route in ROUTES.items()}
            rows.append({"arc scores": name, "operators": label} | counts)
    return rows


def main():
    arguments = read_arguments(__doc__)
    train, test = arguments.treebank.train, arguments.treebank.test
    report, stopwatch = Report("chart_factors", arguments.output), Stopwatch()
    model = SpectralSHAG(N_STATES).fit(train)
    grammar = model.operators_
    report.add("routes", count_routes(grammar, model, test))
    with threadpool_limits(1):
        rows = compare_factors(stopwatch, grammar, model, test)
        rows += compare_training(stopwatch, grammar, model, train)
        rows += compare_models(report, train, test)
        rows += time_sentence(stopwatch, train, test)
        rows += compare_long(stopwatch)
    report.add("times", stopwatch.rows)
    rows.append(measured("dgemm, GFlop/s", max(stopwatch.dgemm_rates) / 1e9))
    report.add("summary", rows)


if __name__ == "__main__":
    main()
