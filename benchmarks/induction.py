"""What grammar induction reaches on three treebanks, and what an iteration costs.

Usage: python benchmarks/induction.py [--treebanks NAME...] [--output RESULTS.json]

The treebanks are folders of SKLEARN_SHAG_DATA. Punctuation is removed, tags are UPOS; models learn
from the training sentences of at most ten words and are scored on the test set, on sentences of at
most ten words and on all: attachment, directed and undirected. CPU seconds are those of `fit`, on
one thread.
"""

import argparse
import warnings

import numpy as np
from _measure import Report, make_dgemm, measured, minima, seconds_of
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from threadpoolctl import threadpool_limits

from sklearn_shag import (
    DMV,
    AveragedParser,
    BiaffineParser,
    ConcaveParser,
    CRFParser,
    DummyParser,
    MixtureSHAG,
    RefinedSHAG,
)
from sklearn_shag.datasets import fetch_treebank
from sklearn_shag.metrics import (
    labeled_attachment_score,
    undirected_attachment_score,
    unlabeled_attachment_score,
)
from sklearn_shag.treebank import remove_punctuation

ROOTS = ("VERB", "AUX")
ENGLISH = "UD_English-EWT"
CONCAVE = {"init": "concave", "root_symbols": ROOTS}
RULES = {"init": "uniform", "rules": "ud", "max_iter": 60, "tol": 1e-3}
MODELS = {
    "chain, right": DummyParser("right"),
    "chain, left": DummyParser("left"),
    "concave": ConcaveParser(),
    "concave, roots": ConcaveParser(ROOTS),
    "uniform": DMV("uniform", prior=0),
    "harmonic": DMV(prior=0),
    "from concave": DMV("concave", prior=0),
    "from concave, roots": DMV(**CONCAVE, prior=0),
    "harmonic, prior": DMV(),
    "harmonic, prior, untied": DMV(tied=False),
    "uniform, variational": DMV("uniform", prior_inference="variational"),
    "uniform, Viterbi": DMV("uniform", algorithm="viterbi"),
    "harmonic, Viterbi": DMV(algorithm="viterbi"),
    "from concave, roots, Viterbi": DMV(**CONCAVE, algorithm="viterbi"),
    "from concave, roots, 2 states": DMV(**CONCAVE, prior=0, n_states=2, random_state=0),
    "rules": DMV(**RULES),
    "rules, also in prediction": DMV(**RULES, predict_with_rules=True),
    "rules, 2 states": DMV(**RULES, n_states=2, random_state=0),
    "rules, Viterbi": DMV(**RULES, algorithm="viterbi"),
    "trees": DMV(),
}
# Figures of at most ten words and of all: to be reached to within TOLERANCE, or those of rules to
# be reached at least.
EXPECTED = {
    ENGLISH: {
        "uniform": (35.8, 29.6),
        "from concave, roots": (42.6, 35.5),
        "rules": (58, 54),
        "trees": (75.4, 67.4),
    },
    "UD_French-Sequoia": {
        "uniform": (39.0, 34.2),
        "from concave, roots": (40.2, 36.6),
        "rules": (80, 72),
        "trees": (82.6, 76.5),
    },
    "UD_Turkish-IMST": {
        "uniform": (36.5, 29.0),
        "from concave, roots": (45.9, 41.1),
        "rules": (54, 47),
        "trees": (65.4, 58.8),
    },
}
TOLERANCE = 1.0
# Each of these without trees, its helpers being the four others; bars are means of the five.
LANGUAGES = (*EXPECTED, "UD_Afrikaans-AfriBooms", "UD_Tamil-TTB")
MIXTURES = {
    "uniform": {"weights": "uniform"},
    "EM": {"max_iter": 20, "tol": 0},
    "EM, tied": {"max_iter": 20, "tol": 0, "tied": True},
}
EXPECTED_OF_HELPERS = (64.5, 57)
# Parsers of tags that helpers learn, and how many of their trees: about so many, evenly spread.
PARSERS = {
    "RefinedSHAG": RefinedSHAG(random_state=0),
    "CRFParser": CRFParser(["symbol"], random_state=0),
    "BiaffineParser": BiaffineParser(["symbol"], calibrate=False, random_state=0),
}
N_TREES = 2000
LEAST_MEAN, LARGEST_LOSS = 62, 1.5  # of averages: their mean, and below the best helper
N_SEEDS = 10


def load(name):
    """Training and test trees without punctuation."""
    treebank = fetch_treebank(name, download_if_missing=False)
    return remove_punctuation(treebank.train), remove_punctuation(treebank.test)


def score(test, predicted):
    """Directed and undirected attachment, each of at most ten words and of all."""
    return [
        100 * metric(test, predicted, max_length=length)
        for metric in (unlabeled_attachment_score, undirected_attachment_score)
        for length in (10, None)
    ]


def report_models(report, name, train, test, bars):
    rows = []
    for what, model in MODELS.items():
        y = train if what == "trees" else None
        _, seconds = seconds_of(lambda model=model, y=y: model.fit(train, y))
        found = score(test, model.predict(test))
        names = ("UAS <= 10", "UAS", "undirected <= 10", "undirected")
        rows.append(
            {"model": what} | dict(zip(names, found, strict=True)) | {"training (CPU s)": seconds}
        )
        for place, expected in enumerate(EXPECTED[name].get(what, ())):
            bar = f"{name}, {what}, {names[place]}"
            if what == "rules":
                bars.append(measured(bar, found[place], at_least=expected))
            else:
                off = abs(found[place] - expected)
                bars.append(measured(f"{bar}, off {expected}", off, at_most=TOLERANCE))
    report.add(name, rows)


def report_random_starts(report, treebanks):
    """Of random starts the likeliest, and all: likelihood does not tell the best."""
    rows = []
    for name, (train, test) in treebanks.items():
        runs = []
        for seed in range(N_SEEDS):
            model = DMV("random", prior=0, random_state=seed).fit(train)
            runs.append((-model.loss_curve_[-1], *score(test, model.predict(test))[:2]))
        likelihoods, short, whole = np.transpose(runs)
        rows.append(
            {
                "treebank": name,
                "mean <= 10": short.mean(),
                "sd <= 10": short.std(ddof=1),
                "mean": whole.mean(),
                "sd": whole.std(ddof=1),
                "likeliest <= 10": short[likelihoods.argmax()],
                "best <= 10": short.max(),
                "correlation": np.corrcoef(likelihoods, short)[0, 1],
            }
        )
    report.add("random starts", rows)


def report_raw_text_beside_trees(report, treebanks):
    """A hundred trees, and the same beside all raw sentences."""
    rows = []
    for name, (train, test) in treebanks.items():
        short, runs = [tree for tree in train if len(tree) <= 10], []
        for seed in range(3):
            chosen = np.random.default_rng(seed).permutation(len(short))
            known = [short[k] for k in chosen[:100]]
            rest = [short[k].with_heads(None) for k in chosen[100:]]
            alone = DMV().fit(known, known)
            joint = DMV().fit(known + rest, known + rest)
            runs.append([score(test, model.predict(test))[1] for model in (alone, joint)])
        alone, joint = np.mean(runs, axis=0)
        rows.append({"treebank": name, "100 trees": alone, "beside raw text": joint})
    report.add("raw text beside trees", rows)


def report_helpers(report, bars):
    """Each language parsed by the grammars of the four others."""
    treebanks = {name: load(name) for name in LANGUAGES}
    fitted = {
        name: FrozenEstimator(DMV(max_length=None).fit(train, train))
        for name, (train, _) in treebanks.items()
    }
    rows = []
    for name, (train, test) in treebanks.items():
        helpers = [(other, fitted[other]) for other in LANGUAGES if other != name]
        for what, parameters in MIXTURES.items():
            model = MixtureSHAG(helpers, **parameters)
            _, seconds = seconds_of(lambda model=model, train=train: model.fit(train))
            found = score(test, model.predict(test))[:2]
            rows.append((what, name, *found, seconds))
        alone = [score(test, helper.predict(test))[:2] for _, helper in helpers]
        among_all = [
            -MixtureSHAG(helpers, weights=weights).fit(train).loss_curve_[0]
            for weights in np.eye(len(helpers))
        ]
        short = [tree for tree in train if len(tree) <= 10]
        by_itself = [helper.log_likelihood(short).sum() for _, helper in helpers]
        rows.append(("likeliest helper in the mixture", name, *alone[np.argmax(among_all)], 0.0))
        rows.append(("likeliest helper by itself", name, *alone[np.argmax(by_itself)], 0.0))
        rows.append(("best helper", name, *max(alone), 0.0))
    for what in dict.fromkeys(row[0] for row in rows):
        means = np.mean([row[2:] for row in rows if row[0] == what], axis=0)
        rows.append((what, "mean", *means))
        if what == "EM":
            for place, expected in enumerate(EXPECTED_OF_HELPERS):
                bar = f"helpers, mean, {('UAS <= 10', 'UAS')[place]}"
                bars.append(measured(bar, means[place], at_least=expected))
    columns = ("model", "language", "UAS <= 10", "UAS", "training (CPU s)")
    report.add("helpers", [dict(zip(columns, row, strict=True)) for row in sorted(rows)])


def score_averages(what, parser, treebanks, grammars):
    """Rows of each language: parsers of the others, weighted by its tags, and the best of them."""
    fitted = {
        name: FrozenEstimator(clone(parser).fit(train)) for name, (train, _) in treebanks.items()
    }
    for name, (train, test) in treebanks.items():
        helpers, mixed = (
            [(other, learned[other]) for other in LANGUAGES if other != name]
            for learned in (fitted, grammars)
        )
        model = AveragedParser(helpers, weights=MixtureSHAG(mixed, max_length=20))
        text = [list(tree.symbols) for tree in train]
        _, seconds = seconds_of(lambda model=model, text=text: model.fit(text))
        print(name, dict(zip(dict(helpers), model.shares_.round(2).tolist(), strict=True)))
        rows = [
            (
                *score(test, found.predict(test))[:2],
                100 * labeled_attachment_score(test, found.parse(test)),
            )
            for found in (model, *dict(helpers).values())
        ]
        yield f"average of {what}", name, *rows[0], seconds
        yield f"best {what}", name, *max(rows[1:], key=lambda row: row[1]), 0.0


def report_averages(report, bars):
    """Each language parsed by parsers of the four others, averaged with weights from its tags."""
    treebanks = {}
    for name in LANGUAGES:
        train, test = (
            [tree.with_heads(tree.heads, [r.split(":")[0] for r in tree.deprels]) for tree in trees]
            for trees in load(name)
        )
        treebanks[name] = train[:: max(1, round(len(train) / N_TREES))], test
    grammars = {
        name: FrozenEstimator(DMV(max_length=None).fit(train, train))
        for name, (train, _) in treebanks.items()
    }
    columns, table = ("model", "language", "UAS <= 10", "UAS", "LAS", "training (CPU s)"), []
    for what, parser in PARSERS.items():
        rows = list(score_averages(what, parser, treebanks, grammars))
        of_average, of_best = (np.array([row[2:] for row in rows[k::2]]) for k in (0, 1))
        rows.append((f"average of {what}", "mean", *of_average.mean(axis=0)))
        rows.append((f"best {what}", "mean", *of_best.mean(axis=0)))
        loss = (of_best - of_average)[:, 1].max()
        bars.append(measured(f"average of {what}", of_average[:, 1].mean(), at_least=LEAST_MEAN))
        bars.append(measured(f"{what}, best helper better by", loss, at_most=LARGEST_LOSS))
        table += rows
    report.add("averages", [dict(zip(columns, row, strict=True)) for row in table])


def report_speed(report, train, bars):
    """Iterations on short sentences, and on nearly all."""
    rows = []
    for longest, n_iterations in ((10, 50), (40, 50)):
        parameters = {"max_length": longest, "tol": 0}
        none = DMV("uniform", max_iter=0, **parameters)
        some = DMV("uniform", max_iter=n_iterations, **parameters)
        seconds = minima(
            {"none": lambda m=none: m.fit(train), "some": lambda m=some: m.fit(train)}, rounds=3
        )
        iterations = seconds["some"] - seconds["none"]
        n_sentences = sum(len(tree) <= longest for tree in train)
        rows.append(
            {
                "words at most": longest,
                "sentences": n_sentences,
                "training (CPU s)": seconds["some"],
                "CPU s an iteration": iterations / n_iterations,
            }
        )
    report.add("speed", rows)
    bars.append(
        measured("CPU seconds an iteration, <= 10", rows[0]["CPU s an iteration"], at_most=0.2)
    )
    bars.append(
        measured("CPU seconds of 50 iterations, <= 40", rows[1]["training (CPU s)"], at_most=60)
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--treebanks", nargs="+", default=list(EXPECTED), choices=list(EXPECTED))
    parser.add_argument("--output", help="default: in the folder results beside the script")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    report, bars = Report("induction", arguments.output), []
    dgemm, n_operations = make_dgemm()
    treebanks = {name: load(name) for name in arguments.treebanks}
    with threadpool_limits(1):
        speed = n_operations / minima({"dgemm": dgemm})["dgemm"] / 1e9
        report.add("yardstick", [{"what": "dgemm, GFlop/s", "measured": speed}])
        for model in MODELS.values():  # compiles
            model.fit(treebanks[arguments.treebanks[0]][0][:50]).predict([["NOUN", "VERB"]])
        for name, (train, test) in treebanks.items():
            report_models(report, name, train, test, bars)
        report_random_starts(report, treebanks)
        report_raw_text_beside_trees(report, treebanks)
        report_helpers(report, bars)
        report_averages(report, bars)
        if ENGLISH in treebanks:
            report_speed(report, treebanks[ENGLISH][0], bars)
        report.add("bars", bars)


if __name__ == "__main__":
    main()
