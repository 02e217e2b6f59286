"""What several answers are worth: oracle scores, relations that fit, honest trees.

Usage: python benchmarks/answers.py [--treebanks NAME...] [--output RESULTS.json]

A CRFParser and a BiaffineParser learn from all gold columns, and an EMSHAG with 8 states from gold
UPOS, with the seed 0. All else is on the development sets, in percent, punctuation included:

- oracle: UAS / LAS of the best of so many trees, for each sentence the one that scores most: of the
  k best, by EMSHAG of 1,000 draws, and of as many that are drawn. Relations are those predicted.
- unique: LAS without and with `unique_relations`, and how many words get another relation.
- trees: how probable predicted trees are on average, how many are right as a whole, and the
  expected calibration error of whole trees over ten bins.
- speed: the least CPU milliseconds of five rounds, of one sentence: the best of 40 tokens and the
  hundred best, and of 25 tokens one drawn tree, which needs the inside values, and 1,000.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from _measure import RESULTS, Report, load, minima
from biaffine import NAMES

from sklearn_shag import EMSHAG, BiaffineParser, CRFParser
from sklearn_shag.datasets import load_english
from sklearn_shag.inspection import ArcCalibrationDisplay
from sklearn_shag.metrics import labeled_attachment_score
from sklearn_shag.treebank import DependencyTree

UNIQUE = {
    "subjects": [("nsubj", "csubj")],
    "and objects": [("nsubj", "csubj"), "obj", "iobj"],
    "and others": [("nsubj", "csubj"), "obj", "iobj", "ccomp", "xcomp", "cop", "expl"],
}
SIZES = (1, 10, 100)
CHUNK = 100  # sentences whose trees are labelled at a time


def make_parsers():
    return {
        "CRFParser": CRFParser(random_state=0),
        "BiaffineParser": BiaffineParser(random_state=0),
        "EMSHAG": EMSHAG(8, init="moments", smoothing=1.0, random_state=0),
    }


def oracle(parser, trees, list_trees):
    """Oracle UAS and LAS in percent of the first trees of each sentence, by how many."""
    hits = np.zeros((len(SIZES), 2))
    for first in range(0, len(trees), CHUNK):
        part = trees[first : first + CHUNK]
        found = list_trees(part)
        copies = [tree for tree, rows in zip(part, found, strict=True) for _ in rows]
        labels = iter(parser.predict_labels(copies, [row for rows in found for row in rows]))
        for tree, rows in zip(part, found, strict=True):
            right = np.asarray(rows) == tree.heads
            relations = np.stack([next(labels) for _ in rows])
            both = right & (relations == np.array(tree.deprels, dtype=object))
            for s, size in enumerate(SIZES):
                hits[s] += right[:size].sum(axis=1).max(), both[:size].sum(axis=1).max()
    return 100 * hits / sum(map(len, trees))


def measure_oracle(parser, trees):
    best = oracle(parser, trees, lambda part: parser.k_best_heads(part, 100, random_state=0)[0])
    drawn = oracle(parser, trees, lambda part: parser.sample_heads(part, 100, random_state=0))
    row = {f"{size} best": _pair(scores) for size, scores in zip(SIZES, best, strict=True)}
    return row | {f"{size} drawn": _pair(scores) for size, scores in zip(SIZES, drawn, strict=True)}


def _pair(scores):
    return "{:.1f} / {:.1f}".format(*scores)


def measure_unique(parser, trees):
    parsed = parser.parse(trees, unique_relations=())
    row = {"LAS": f"{100 * labeled_attachment_score(trees, parsed):.2f}"}
    for name, groups in UNIQUE.items():
        apart = parser.parse(trees, unique_relations=groups)
        gain = 100 * (
            labeled_attachment_score(trees, apart) - labeled_attachment_score(trees, parsed)
        )
        pairs = zip(parsed, apart, strict=True)
        n_changed = sum(np.not_equal(a.deprels, b.deprels).sum() for a, b in pairs)
        row[name] = f"{gain:+.2f} ({n_changed})"
    return row


def measure_trees(parser, trees):
    probabilities = parser.predict_tree_proba(trees)
    heads = parser.predict(trees)
    right = [np.array_equal(tree.heads, found) for tree, found in zip(trees, heads, strict=True)]
    display = ArcCalibrationDisplay.from_estimator(parser, trees, unit="trees")
    return {
        "mean probability": f"{100 * probabilities.mean():.1f}",
        "right": f"{100 * np.mean(right):.1f}",
        "ECE": f"{100 * display.bins.expected_error:.1f}",
    }


def measure_speed():
    """Of sentences of random tags; the learners see the bundled treebank."""
    trees, rng = load_english().data, np.random.default_rng(0)
    crf = CRFParser(["upos"], random_state=0).fit(trees)
    em = EMSHAG(8, init="moments", smoothing=1.0, max_iter=20).fit(trees)
    longer, shorter = ([_random_tags(trees, n, rng)] for n in (40, 25))
    seconds = minima(
        {
            "CRFParser, the best of 40 tokens": lambda: crf.k_best_heads(longer, 1),
            "CRFParser, the 100 best": lambda: crf.k_best_heads(longer, 100),
            "EMSHAG(8), a drawn tree of 25 tokens": lambda: em.sample_heads(shorter, 1, 0),
            "EMSHAG(8), 1,000 drawn trees": lambda: em.sample_heads(shorter, 1000, 0),
        }
    )
    return [{"what": name, "CPU ms": f"{1000 * s:.2f}"} for name, s in seconds.items()]


def _random_tags(trees, n_tokens, rng):
    tags = [tag for tree in trees for tag in tree.upos]
    drawn = [str(tag) for tag in rng.choice(tags, n_tokens)]
    return DependencyTree(drawn, upos=drawn)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--treebanks", nargs="+", default=NAMES)
    parser.add_argument("--output", default=RESULTS / "answers.json", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # of what has not converged
    report = Report("answers", arguments.output)
    report.add("speed", measure_speed())
    tables = {"oracle": [], "unique": [], "trees": []}
    for name in arguments.treebanks:
        treebank = load(name)
        for called, model in make_parsers().items():
            began = time.process_time()
            model.fit(treebank.train)
            place = {"treebank": name.removeprefix("UD_"), "parser": called}
            for table, measure in (
                ("oracle", measure_oracle),
                ("unique", measure_unique),
                ("trees", measure_trees),
            ):
                tables[table].append(place | measure(model, treebank.dev))
                report.add(table, tables[table])
            print(f"{time.process_time() - began:.0f} CPU s", flush=True)


if __name__ == "__main__":
    main()
