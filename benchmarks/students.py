"""What raw text adds to a parser: students of an average of networks, or of a transformer.

Usage: python benchmarks/students.py [--treebanks NAME...] [--trees N...] [--seeds N...] [--limit N]
[--context FOLDER] [--raw FILE...] [--lines FILE...] [--targets KIND...] [--part dev|test]
[--output RESULTS.json]

The treebanks are folders of SKLEARN_SHAG_DATA (default: five). For each seed, N trees of the
training set are drawn, and the others are raw text: their tokens alone, without columns or trees.
The files of --raw, with a sentence in each line and spaces between tokens, are raw text instead.
An average of three networks learns from the trees and teaches a network like them, which also
learns from the raw text. With --context, the teachers read the vectors of a transformer in context,
and the student a table of words that is made of the same vectors and sentences.

With --targets, students of several kinds are compared: they learn the teacher's "marginals", its
best "trees", one tree that is "drawn" for each sentence, or the best trees that are "probable", 0.1
or more.

With --lines, all trees of the training set are learned, and the files have a plain sentence in each
line, which a Splitter that learned from the same trees splits; FILE:NUMBER are its first sentences.
With --context, too, there are students both of networks that read words alone and of those that
read the transformer. Scores are also those of the whole text of a part, split by that splitter, as
the official evaluation counts them (F1).

Scores are those of a whole part from tokens alone in percent, punctuation included, relations
without subtypes, the mean of the seeds. Seconds are CPU time on one thread; those of the student
are without the teacher's training.
"""

import argparse
from itertools import compress, islice

import numpy as np
from _measure import Report, load, seconds_of
from biaffine import NAMES, score
from bundled import read_part
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from vectors import Kept, size_of

from sklearn_shag import AveragedParser, BiaffineParser, DistilledParser, ParserPipeline, Splitter
from sklearn_shag.metrics import raw_text_scores
from sklearn_shag.treebank import DependencyTree, iter_horizontal, to_text
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
OF_TEXT = "UAS", "LAS", "UPOS", "Words", "Sentences"
# What parsers are called beside those whose teacher reads other vectors.
OF_WORDS = {"one network": "one network", "teacher": "three networks", "student": "their student"}
OF_TRANSFORMER = {"teacher": "transformer", "student": "its student"}
NAMES_OF_TARGETS = {"trees": "best trees"}  # another column has the number of trees


def fit_student(student, teacher, known, raw, kind):
    """Fit a student to trees and to what the teacher says of raw text, in one of several ways."""
    if kind in ANNOTATE:
        return clone(student).fit([*known, *ANNOTATE[kind](teacher, raw)])
    model = DistilledParser(student, FrozenEstimator(teacher), targets=kind)
    return model.fit([*known, *raw]).parser_


def learn(known, raw, encoder, kinds, seed):
    """Yield a name, a parser, and the seconds of its training."""
    if encoder is not None:
        yield "one network", *seconds_of(lambda: make_network(seed).fit(known))
    yield from teach(known, raw, encoder, kinds, seed)


def make_network(seed):
    return BiaffineParser(tags="upos", calibrate=False, random_state=seed)


def teach(known, raw, encoder, kinds, seed):
    """Yield teachers and students; without an encoder, one of the teacher's networks as well."""
    student = make_network(seed)
    teacher = AveragedParser.of_seeds(student, random_state=seed, calibrate=False)
    if encoder is not None:
        names = [name for name in teacher.get_params() if name.endswith("embeddings")]
        teacher.set_params(**dict.fromkeys(names, encoder))
    teacher, seconds = seconds_of(lambda: teacher.fit(known))
    if encoder is None:
        yield "one network", teacher.estimators_[0], seconds / 3
    else:
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


def run_with_text(name, options):
    """Yield the rows of each seed, from all trees of a treebank and raw text that is split."""
    treebank = load(name)
    test = treebank[options.part]
    text, _ = to_text(test)
    encoders = [None] if options.context is None else [None, options.context]
    for seed in options.seeds:
        splitter = Splitter(random_state=seed).fit(treebank.train)
        raw = split_lines(splitter, options.lines)
        known = {"treebank": name.removeprefix("UD_"), "trees": len(treebank.train)}
        known |= {"raw": len(raw), "seed": seed}
        for encoder in encoders:
            names = OF_WORDS if encoder is None else OF_TRANSFORMER
            for kind, parser, seconds in teach(treebank.train, raw, encoder, ["marginals"], seed):
                scores, _ = score(parser, test)
                model = ParserPipeline([("splitter", splitter), ("parser", parser)])
                found = raw_text_scores(test, model.parse_text(text))
                of_text = {f"{each}, text": 100 * found[each].f1 for each in OF_TEXT}
                cost = {"training (CPU s)": seconds, "MB": size_of(parser)}
                yield known | {"parser": names[kind]} | scores | of_text | cost


def split_lines(splitter, parts):
    """Sentences of files with a plain one in each line, without spaces and multiword tokens."""
    texts = [islice(splitter.iter_split_text(path, lines=True), n) for path, n in parts]
    return [DependencyTree(sentence.forms) for text in texts for sentence in text]


def compare_seeds(rows, score):
    """A row for each treebank: a score of all parsers, the mean of the seeds and their range."""
    found = {}
    for row in rows:
        own = {"treebank": row["treebank"], "trees": row["trees"], "raw": row["raw"]}
        found.setdefault(row["treebank"], own).setdefault(row["parser"], []).append(row[score])
    for own in found.values():
        for name, scores in own.items():
            if isinstance(scores, list):
                own[name] = f"{np.mean(scores):.1f}"
                if len(scores) > 1:
                    own[name] += f" ({min(scores):.1f} to {max(scores):.1f})"
    return list(found.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--treebanks", nargs="+", default=NAMES)
    parser.add_argument("--trees", nargs="+", type=int, default=[100, 300, 1000])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--limit", type=int, help="of raw sentences; default: none")
    parser.add_argument("--context", metavar="FOLDER")
    parser.add_argument("--raw", nargs="+", default=[], metavar="FILE")
    parser.add_argument("--lines", nargs="+", type=read_part, metavar="FILE")
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
            if options.lines:
                for row in run_with_text(name, options):
                    rows.append(row)
                    report.add("runs from text", rows)
                report.add("LAS from text", compare_seeds(rows, "LAS, text"))
                report.add("LAS from tokens", compare_seeds(rows, "LAS"))
                continue
            for n_trees in options.trees:
                report_treebank(rows, name, n_trees, options)
                report.add("runs", rows)
                report.add(title, compare(rows))


if __name__ == "__main__":
    main()
