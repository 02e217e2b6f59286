"""What treebanks of other languages bring to a language with few trees, or none.

Usage: python benchmarks/helpers.py --context FOLDER [--targets NAME...] [--helpers NAME...]
[--trees N...] [--seeds N...] [--at-most N] [--limit N] [--weight W] [--networks N] [--tags COLUMNS]
[--memory FOLDER] [--part dev|test] [--output RESULTS.json]

Each target, a treebank of SKLEARN_SHAG_DATA (default: seven), is left out once, and the first trees
of all others, or of those that --helpers names, are its helpers, --at-most N of each. For each
seed, N own trees of the training set are drawn, and the others are raw text: their tokens alone,
--limit N of them. Three parsers are compared. "own trees" is one network that learns from these
alone. "teacher" reads the vectors of the transformer in FOLDER and the shapes of words, and learns
from helpers, relations without subtypes, and own trees, each with --weight W. "student" reads words
and a table of their vectors, learns from own trees and from what the teacher says of raw text, and
needs no transformer to parse.

Scores are those of a whole part from tokens alone in percent, punctuation included, relations
without subtypes. Seconds are CPU time on one thread; those of the student are without the
teacher's training. The vectors of helpers are another table. They are kept in the folder that
--memory names, so that a second run finds them, or else in one that is removed at the end.
"""

import argparse
import tempfile

import numpy as np
from _measure import Report, load, seconds_of
from biaffine import score
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from students import draw

from sklearn_shag import AveragedParser, BiaffineParser, DistilledParser
from sklearn_shag.features import TransformerVectors
from sklearn_shag.utils._parallel import one_thread

# How many trees of each treebank help.
HELPERS = {
    "UD_English-EWT": 2000,
    "UD_French-Sequoia": 1500,
    "UD_Turkish-IMST": 1500,
    "UD_Afrikaans-AfriBooms": 1000,
    "UD_Tamil-TTB": 400,
    "UD_Dutch-LassySmall": 1000,
    "UD_Latin-Perseus": 1000,
}
NOT_KNOWN = ("UD_Latin-Perseus",)  # to the usual encoders; no part of the mean
OWN, TEACHER, STUDENT = "own trees", "teacher", "student"


def read_helpers(name, at_most):
    """The first trees of a treebank, with what is universal of their relations."""
    trees = load(name).train[: min(HELPERS[name], at_most)]
    return [t.with_heads(t.heads, [each.partition(":")[0] for each in t.deprels]) for t in trees]


def learn(own, raw, helpers, encoder, seed, options):
    """Yield a name, a parser, and the seconds of its training."""
    student = BiaffineParser(tags=options.tags, calibrate=False, random_state=seed)
    teacher = clone(student).set_params(columns=["shape"], embeddings=encoder)
    if options.networks > 1:
        settings = {"random_state": seed, "calibrate": False}
        teacher = AveragedParser.of_seeds(teacher, options.networks, **settings)
    if own:
        yield OWN, *seconds_of(lambda: clone(student).fit(own))
    weights = [1.0] * len(helpers) + [options.weight] * len(own)
    teacher, seconds = seconds_of(lambda: teacher.fit([*helpers, *own], sample_weight=weights))
    yield TEACHER, teacher, seconds

    def fit_student():
        student.set_params(embeddings=encoder.to_table([*raw, *own]))
        return DistilledParser(student, FrozenEstimator(teacher)).fit([*own, *raw])

    model, seconds = seconds_of(fit_student)
    yield STUDENT, model.parser_, seconds


def compare(rows):
    """A row for each number of trees: UAS / LAS (UPOS) of all parsers, the mean of seeds."""
    found, table = {}, []
    for row in rows:
        runs = found.setdefault((row["target"], row["trees"]), {OWN: [], TEACHER: [], STUDENT: []})
        runs[row["parser"]].append([row["UAS"], row["LAS"], row["UPOS"]])
    for (target, n_trees), runs in found.items():
        of_parsers = {
            kind: "{:.1f} / {:.1f} ({:.1f})".format(*np.mean(scores, axis=0)) if scores else ""
            for kind, scores in runs.items()
        }
        table.append({"target": target, "trees": n_trees, **of_parsers})
    return table


def list_gains(rows):
    """By the number of trees, the mean LAS of targets, and the least gain of a student."""
    found, table = {}, []
    for row in rows:
        if f"UD_{row['target']}" not in NOT_KNOWN:
            runs = found.setdefault(row["trees"], {}).setdefault(row["target"], {})
            runs.setdefault(row["parser"], []).append(row["LAS"])
    for n_trees, of_targets in found.items():
        means = [{k: np.mean(v) for k, v in runs.items()} for runs in of_targets.values()]
        means = [each for each in means if STUDENT in each]
        for simple in (OWN, TEACHER):
            gains = [each[STUDENT] - each[simple] for each in means if simple in each]
            if gains:
                row = {"trees": n_trees, "student beside": simple, "targets": len(gains)}
                table.append(row | {"mean gain": np.mean(gains), "least gain": np.min(gains)})
    return table


def go(report, rows, target, helpers, encoder, options):
    """Measure one target, and report after each parser."""
    treebank = load(target)
    part = getattr(treebank, options.part)
    for n_trees in options.trees:
        for seed in options.seeds:
            own, raw = draw(treebank, n_trees, seed, [], options.limit)
            if len(own) < n_trees or not raw:
                continue
            for kind, parser, seconds in learn(own, raw, helpers, encoder, seed, options):
                scores, _ = score(parser, part)
                place = {"target": target.removeprefix("UD_"), "trees": n_trees, "raw": len(raw)}
                scores = {name: scores[name] for name in ("UAS", "LAS", "UPOS")}
                rows.append(
                    place | {"seed": seed, "parser": kind} | scores | {"training (CPU s)": seconds}
                )
                report.add("runs", rows)
                report.add("helpers", compare(rows))
                if gains := list_gains(rows):
                    report.add("gains of the student, LAS", gains)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--context", metavar="FOLDER", required=True)
    parser.add_argument("--targets", nargs="+", default=list(HELPERS))
    parser.add_argument("--helpers", nargs="+", default=list(HELPERS))
    parser.add_argument("--trees", nargs="+", type=int, default=[0, 30, 100, 300])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--at-most", type=int, default=500, help="trees of each helper")
    parser.add_argument("--limit", type=int, help="of raw sentences; default: none")
    parser.add_argument("--weight", type=float, default=5.0, help="of own trees for the teacher")
    parser.add_argument("--networks", type=int, default=1, help="of the teacher")
    parser.add_argument("--tags", default="upos", help="that all three learn")
    parser.add_argument("--memory", metavar="FOLDER", help="default: a temporary one")
    parser.add_argument("--part", default="test", choices=["dev", "test"])
    parser.add_argument("--output", help="default: in the folder results beside the script")
    options = parser.parse_args()
    report, rows, vectors = Report("helpers", options.output), [], []
    with one_thread(), tempfile.TemporaryDirectory() as folder:
        encoder = TransformerVectors(options.context, memory=options.memory or folder).fit()
        trees = {name: read_helpers(name, options.at_most) for name in options.helpers}
        for name, own in trees.items():
            _, seconds = seconds_of(lambda own=own: encoder.transform(own))
            pieces = encoder.pieces_per_word(own)
            row = {"treebank": name.removeprefix("UD_"), "trees": len(own)}
            vectors.append(row | {"pieces per word": pieces, "CPU s": seconds})
        report.add("vectors of helpers", vectors)
        for target in options.targets:
            helpers = [tree for name, own in trees.items() if name != target for tree in own]
            go(report, rows, target, helpers, encoder, options)


if __name__ == "__main__":
    main()
