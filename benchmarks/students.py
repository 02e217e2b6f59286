"""What raw text adds to a parser: students of an average of networks, or of a transformer.

Usage: python benchmarks/students.py [--treebanks NAME...] [--trees N...] [--seeds N...] [--limit N]
[--context FOLDER] [--raw FILE...] [--targets KIND...] [--part dev|test] [--output RESULTS.json]

The treebanks are folders of SKLEARN_SHAG_DATA (default: five). For each seed, N trees of the
training set are drawn, and the others are raw text: their tokens alone, without columns or trees.
The files of --raw, with a sentence in each line and spaces between tokens, are raw text instead.
An average of three networks learns from the trees and teaches a network like them, which also
learns from the raw text. With --context, the teachers read the vectors of a transformer in context,
and the student a table of words that is made of the same vectors and sentences.

With --targets, students of several kinds are compared: they learn the teacher's "marginals", its
best "trees", one tree that is "drawn" for each sentence, or the best trees that are "probable", 0.1
or more.

Scores are those of a whole part from tokens alone in percent, punctuation included, relations
without subtypes, the mean of the seeds. Seconds are CPU time on one thread; those of the student
are without the teacher's training.
"""

import argparse
from itertools import compress

import numpy as np
from _measure import Report, load, seconds_of
from biaffine import NAMES, score
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from vectors import Kept

from sklearn_shag import AveragedParser, BiaffineParser, DistilledParser
from sklearn_shag.treebank import DependencyTree, iter_horizontal
from sklearn_shag.utils._parallel import one_thread

PROBABLE = 0.1


def draw(treebank, n_trees, seed, files, limit):
    """Trees of the training set, and raw text."""
    order = np.random.default_rng(seed).permutation(len(treebank.train))
    known, others = order[:n_trees], order[n_trees:]
    raw = [sentence for path in files for sentence in iter_horizontal(path)]
    raw = raw or [DependencyTree(treebank.train[k].forms) for k in others]
    return [treebank.train[k] for k in known], raw[:limit]


def draw_trees(teacher, raw):
    """A tree of each sentence, drawn from the teacher's distribution."""
    best, heads = teacher.parse(raw), [drawn[0] for drawn in teacher.sample_heads(raw, 1, 0)]
    found = zip(best, heads, teacher.predict_labels(raw, heads), strict=True)
    return [tree.with_heads(own, relations) for tree, own, relations in found]


def list_probable(teacher, raw):
    """The best trees, of those sentences where they are probable."""
    best = teacher.parse(raw)
    return list(compress(best, teacher.predict_tree_proba(raw, best) >= PROBABLE))


ANNOTATE = {"drawn": draw_trees, "probable": list_probable}
NAMES_OF_TARGETS = {"trees": "best trees"}  # another column has the number of trees


def fit_student(student, teacher, known, raw, kind):
    """Fit a student to trees and to what the teacher says of raw text, in one of several ways."""
    if kind in ANNOTATE:
        return clone(student).fit([*known, *ANNOTATE[kind](teacher, raw)])
    model = DistilledParser(student, FrozenEstimator(teacher), targets=kind)
    return model.fit([*known, *raw]).parser_


def learn(known, raw, encoder, kinds, seed):
    """Yield a name, a parser, and the seconds of its training."""
    student = BiaffineParser(tags="upos", calibrate=False, random_state=seed)
    teacher = AveragedParser.of_seeds(student, random_state=seed, calibrate=False)
    if encoder is None:
        teacher, seconds = seconds_of(lambda: teacher.fit(known))
        yield "one network", teacher.estimators_[0], seconds / 3
    else:
        yield "one network", *seconds_of(lambda: clone(student).fit(known))
        names = [name for name in teacher.get_params() if name.endswith("embeddings")]
        teacher.set_params(**dict.fromkeys(names, encoder))
        teacher, seconds = seconds_of(lambda: teacher.fit(known))
        student.set_params(embeddings=encoder.to_table([*known, *raw]))
    yield "teacher", teacher, seconds
    for kind in kinds:
        name = "student" if len(kinds) == 1 else NAMES_OF_TARGETS.get(kind, kind)
        given = student, teacher, known, raw, kind
        yield name, *seconds_of(lambda given=given: fit_student(*given))


def report_treebank(rows, name, n_trees, options):
    """Add the rows of one number of trees."""
    treebank, runs = load(name), {}
    for seed in options.seeds:
        known, raw = draw(treebank, n_trees, seed, options.raw, options.limit)
        if len(known) < n_trees:
            return
        trained = learn(known, raw, options.context, options.targets, seed)
        for kind, parser, seconds in trained:
            scores, _ = score(parser, treebank[options.part])
            runs.setdefault(kind, []).append(scores | {"training (CPU s)": seconds})
    for kind, own in runs.items():
        means = {key: np.mean([run[key] for run in own]) for key in own[0]}
        spread = np.ptp([run["LAS"] for run in own])
        row = {"treebank": name.removeprefix("UD_"), "trees": n_trees, "raw": len(raw)}
        rows.append(row | {"parser": kind} | means | {"spread of LAS": spread})


def compare(rows):
    """A row for each number of trees: UAS / LAS of all parsers."""
    found = {}
    for row in rows:
        key = row["treebank"], row["trees"]
        own = {"treebank": key[0], "trees": key[1], "raw": row["raw"]}
        of_key = found.setdefault(key, own)
        of_key[row["parser"]] = f"{row['UAS']:.1f} / {row['LAS']:.1f}"
    return list(found.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--treebanks", nargs="+", default=NAMES)
    parser.add_argument("--trees", nargs="+", type=int, default=[100, 300, 1000])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--limit", type=int, help="of raw sentences; default: none")
    parser.add_argument("--context", metavar="FOLDER")
    parser.add_argument("--raw", nargs="+", default=[], metavar="FILE")
    parser.add_argument("--targets", nargs="+", default=["marginals"])
    parser.add_argument("--part", default="test", choices=["dev", "test"])
    parser.add_argument("--output", help="default: in the folder results beside the script")
    options = parser.parse_args()
    report, rows, title = Report("students", options.output), [], "students"
    if options.context is not None:
        options.context = Kept(options.context).fit()
        title = "students of a transformer"
    with one_thread():
        for name in options.treebanks:
            for n_trees in options.trees:
                report_treebank(rows, name, n_trees, options)
                report.add("runs", rows)
                report.add(title, compare(rows))


if __name__ == "__main__":
    main()
