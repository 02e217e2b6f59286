"""Which parser to take: what each reaches from few trees and many, with and without tags.

Usage: python benchmarks/advice.py [--treebanks NAME...] [--trees N...] [--reads WHAT...]
           [--n-jobs N] [--output RESULTS.json]

The treebanks are folders of SKLEARN_SHAG_DATA. Parsers have their defaults and learn from 100, 300
or 1,000 training trees, drawn at random with three seeds, and from all of them, with one. They read

tags     gold UPOS alone
columns  all gold columns
words    forms alone
partial  gold UPOS, or all columns, of 300 trees and of up to 2,000 further sentences, in which
         5,000 heads are known, drawn at random

An average is one of three networks and a CRFParser, which reads the tags of a Tagger where there
are none. Scores are those of test sets in percent, punctuation included, relations without
subtypes; seconds are CPU time of `fit`, without what calibration costs, which changes no tree.
What the file of results holds is not measured again: a run that was interrupted goes on, and a
parser that has changed is measured anew if its rows are deleted from the file. The tables have the
attachment score of each parser, the mean of those draws that all have been measured on.
"""

import argparse
import json
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from _measure import RESULTS, Report, load, seconds_of
from biaffine import NAMES, average
from joblib import Parallel, delayed
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from sklearn_shag import (
    BiaffineParser,
    CRFParser,
    LexicalizedSHAG,
    ProductParser,
    RefinedSHAG,
    SpectralSHAG,
    Tagger,
)
from sklearn_shag.metrics import labeled_attachment_score
from sklearn_shag.utils._estimators import open_member

N_TREES = ["100", "300", "1000", "all"]
READS = ("tags", "columns", "words", "partial")
WHOLE, POOL, N_HEADS = 300, 2000, 5000  # of partial annotation
NETWORKS = [f"network {k}" for k in range(3)]
AVERAGED = {*NETWORKS, "CRFParser", "Tagger, CRFParser"}


def make_parsers(reads, seed, memory):
    """Parsers, by what the tables call them; pipelines share what their taggers do in a folder."""
    networks = {name: {"random_state": 10 * seed + k} for k, name in enumerate(NETWORKS)}
    of_tags = {
        "RefinedSHAG": RefinedSHAG(random_state=seed),
        "CRFParser": CRFParser(["upos"], random_state=seed),
    }
    of_columns = {
        "CRFParser": CRFParser(random_state=seed),
        **{name: BiaffineParser(**settings) for name, settings in networks.items()},
    }
    words = LexicalizedSHAG()
    if reads == "tags":
        return {
            "SpectralSHAG": SpectralSHAG(8),
            **of_tags,
            **{name: BiaffineParser(["upos"], **given) for name, given in networks.items()},
        }
    if reads == "columns":
        return {
            "Spectral x words": ProductParser([("hidden", SpectralSHAG(8)), ("words", words)]),
            "Refined x words": ProductParser(
                [("hidden", of_tags["RefinedSHAG"]), ("words", words)]
            ),
            **of_columns,
        }
    if reads == "words":
        tagger = Tagger(random_state=seed)
        tagged = CRFParser(["upos", "form", "suffix"], random_state=seed)
        return {
            "Tagger, RefinedSHAG": make_pipeline(tagger, of_tags["RefinedSHAG"], memory=memory),
            "Tagger, CRFParser": make_pipeline(tagger, tagged, memory=memory),
            **{name: BiaffineParser(tags="upos", **given) for name, given in networks.items()},
        }
    tags = {f"{name}, tags": parser for name, parser in of_tags.items()}
    return tags | {"BiaffineParser, tags": BiaffineParser(["upos"], random_state=seed)} | of_columns


def draw_trees(treebank, reads, n_trees, seed):
    """The training trees, as the parsers are to see them."""
    if n_trees == "all":
        return treebank.train
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(treebank.train))
    whole = [treebank.train[k] for k in order[: int(n_trees)]]
    if reads != "partial":
        return whole
    others = [treebank.train[k] for k in order[int(n_trees) :][:POOL]]
    n_tokens = sum(map(len, others))
    known = np.zeros(n_tokens, dtype=bool)
    known[rng.permutation(n_tokens)[:N_HEADS]] = True
    parts = np.split(known, np.cumsum([len(tree) for tree in others])[:-1])
    pairs = zip(others, parts, strict=True)
    return whole + [tree.with_heads(np.where(part, tree.heads, -1)) for tree, part in pairs]


def measure(fit, trees):
    """Scores of what is fitted by a function, beside its CPU seconds."""
    parser, seconds = seconds_of(fit)
    transform, opened = open_member(parser)
    parsed = opened.parse(transform(trees))
    pairs = zip(trees, parsed, strict=True)
    right = np.concatenate([tree.heads == other.heads for tree, other in pairs])
    las = labeled_attachment_score(trees, parsed)
    return parser, {"UAS": 100 * right.mean(), "LAS": 100 * las, "training (CPU s)": seconds}


def measure_parsers(name, reads, n_trees, seed, known):
    """The rows of one draw, but for those of known parsers."""
    warnings.simplefilter("ignore")  # of columns without values, and of what has not converged
    place = {"treebank": name, "reads": reads, "trees": n_trees, "seed": seed}
    treebank, rows, fitted = load(name), [], {}
    train, test = draw_trees(treebank, reads, n_trees, seed), treebank.test
    with threadpool_limits(1), TemporaryDirectory() as memory:
        for called, parser in make_parsers(reads, seed, memory).items():
            if called in known and (called not in AVERAGED or "average" in known):
                continue
            uncalibrated = {p: False for p in parser.get_params() if p.endswith("calibrate")}
            parser.set_params(**uncalibrated)
            fitted[called], row = measure(lambda p=parser: p.fit(train), test)
            rows.append({**place, "parser": called, **row})
        if "average" in known:
            return rows
        together = [model for called, model in fitted.items() if called in AVERAGED]
        _, row = measure(lambda: average(together), test)
    row["training (CPU s)"] = sum(
        each["training (CPU s)"] for each in rows if each["parser"] in AVERAGED
    )
    rows.append({**place, "parser": "average", **row})
    return [row for row in rows if row["parser"] not in known]


def draw_of(row):
    return row["treebank"], row["reads"], row["trees"], row["seed"]


def group_by_draw(rows):
    """The parsers that were measured on each draw."""
    done = {}
    for row in rows:
        done.setdefault(draw_of(row), set()).add(row["parser"])
    return done


def tabulate(rows, reads):
    """One table: means over draws that are complete, and the networks' over networks."""
    found, done = {}, group_by_draw(rows)
    n_parsers = len(make_parsers(reads, 0, None)) + 1
    for row in rows:
        if row["reads"] != reads or len(done[draw_of(row)]) < n_parsers:
            continue
        parser = "BiaffineParser" if row["parser"].startswith("network") else row["parser"]
        place = row["treebank"].removeprefix("UD_"), row["trees"]
        found.setdefault(place, {}).setdefault(parser, []).append(row["UAS"])
    table, parsers = [], dict.fromkeys(parser for scores in found.values() for parser in scores)
    for (treebank, n_trees), scores in found.items():
        means = {p: f"{np.mean(scores[p]):.1f}" if p in scores else "--" for p in parsers}
        table.append({"treebank": treebank, "trees": n_trees, **means})
    return sorted(table, key=lambda row: (row["treebank"], N_TREES.index(row["trees"])))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--treebanks", nargs="+", default=list(NAMES), choices=NAMES)
    parser.add_argument("--trees", nargs="+", default=N_TREES, choices=N_TREES)
    parser.add_argument("--reads", nargs="+", default=list(READS), choices=READS)
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--output", default=RESULTS / "advice.json", type=Path)
    arguments = parser.parse_args()
    rows = []
    if arguments.output.exists():
        rows = json.loads(arguments.output.read_text())["runs"]
    done = group_by_draw(rows)
    wanted = [
        (name, reads, n_trees, seed)
        for seed in range(3)  # each row once, before one has a second draw
        for n_trees in arguments.trees
        for reads in arguments.reads
        for name in arguments.treebanks
        if (reads != "partial" or n_trees == str(WHOLE)) and (n_trees != "all" or seed == 0)
    ]
    tasks = [
        delayed(measure_parsers)(*draw, done.get(draw, set()))
        for draw in wanted
        if len(done.get(draw, ())) < len(make_parsers(draw[1], 0, None)) + 1
    ]
    report = Report("advice", arguments.output, runs=rows)
    for found in Parallel(arguments.n_jobs, return_as="generator_unordered")(tasks):
        rows += found
        report.add(found[0]["reads"], tabulate(rows, found[0]["reads"]))
    for reads in {row["reads"] for row in rows}:
        report.add(reads, tabulate(rows, reads))


if __name__ == "__main__":
    main()
