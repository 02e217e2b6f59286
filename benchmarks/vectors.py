"""What vectors that were learned elsewhere add to a parser of tokens alone, and what they cost.

Usage: python benchmarks/vectors.py [--vectors FILE] [--context FOLDER] [--raw FILE...] [--text]
[--treebank NAME] [--trees N...] [--seeds N] [--part dev|test] [--limit N] [--output RESULTS.json]

FILE is a text of vectors of words, as read_vectors reads it, FOLDER a transformer, as
TransformerVectors runs it, and the treebank (default: UD_English-EWT) one of SKLEARN_SHAG_DATA.
BiaffineParser learns tags and trees from the words of the first N trees of the training set, and of
all of them, without vectors and with those that are given; scores are those of a whole part in
percent, punctuation included, relations without subtypes, the mean of seeds. Seconds are CPU time
of training on one thread, and sentences those parsed in a CPU second, both without the transformer,
which looks at each sentence once for all runs. What it takes itself is another table, with the
memory that the command takes to train with it and without.

A transformer also makes a table of words, from the whole training set without its trees and from
raw text, FILEs with a sentence in each line and spaces between tokens; parsers with this table read
no vectors in context. With --text the networks of all trees and their average also parse the text
of the part, split by a Splitter of all trees: F1 of the official evaluation, in percent.

"Words with a vector" is the share of the tokens of the development set that have one, as they are
or in lower case, "unseen words" are those tokens whose word no training tree has.
"""

import argparse
import gzip
import tempfile
from pathlib import Path

import numpy as np
from _measure import Report, load, make_dgemm, minima, run_command, seconds_of
from biaffine import ENGLISH, average, score
from threadpoolctl import threadpool_limits

from sklearn_shag import BiaffineParser, ParserPipeline, Splitter
from sklearn_shag.features import TransformerVectors, read_vectors
from sklearn_shag.metrics import raw_text_scores
from sklearn_shag.treebank import to_text

KEPT = {}  # the vectors of sentences, by their words


class Kept(TransformerVectors):
    """A transformer that keeps the vectors of sentences, which are asked for many times."""

    def transform(self, X):
        forms = [tuple(getattr(each, "forms", each)) for each in X]
        if missing := list(dict.fromkeys(each for each in forms if each not in KEPT)):
            found = super().transform(missing)
            KEPT.update(
                zip(missing, (vectors.astype(np.float16) for vectors in found), strict=True)
            )
        return [KEPT[each] for each in forms]


def learn(train, embeddings, seeds):
    """Parsers of several seeds, and the mean of the seconds of training."""
    parsers, seconds = [], []
    for seed in range(seeds):
        settings = {"embeddings": embeddings, "calibrate": False, "random_state": seed}
        parser = BiaffineParser(tags="upos", **settings)
        parser, of_fit = seconds_of(lambda p=parser: p.fit(train))
        parsers.append(parser)
        seconds.append(of_fit)
    return parsers, float(np.mean(seconds))


def measure(parsers, test):
    """The mean of the scores of parsers, how far they spread, and the sentences they parse."""
    runs = [scores | {"sentences/s": speed} for scores, speed in (score(p, test) for p in parsers)]
    of_labels = [run["LAS"] for run in runs]
    means = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
    return means | {"LAS of seeds": f"{min(of_labels):.1f} to {max(of_labels):.1f}"}


def measure_whole(parsers, test, splitter):
    """Scores of one of the networks and of their average, from gold tokens and from text."""
    text, _ = to_text(test)
    for what, parser in {"one network": parsers[0], "their average": average(parsers)}.items():
        scores, _ = score(parser, test)
        trees = ParserPipeline([("splitter", splitter), ("parser", parser)]).parse_text(text)
        found = raw_text_scores(test, trees)
        of_text = {f"{name}, text": 100 * found[name].f1 for name in ("UAS", "LAS", "UPOS")}
        yield {"parser": what} | {name: scores[name] for name in ("UAS", "LAS", "UPOS")} | of_text


def read_lines(paths):
    """Sentences of files with one in each line, and spaces between tokens."""
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            yield from (tuple(line.split()) for line in file if not line.isspace())


def measure_coverage(treebank, words):
    """How many tokens of the development set have a vector, in percent."""
    known, seen = set(words), {form for tree in treebank.train for form in tree.forms}
    forms = [form for tree in treebank.dev for form in tree.forms]
    covered = np.array([form in known or form.lower() in known for form in forms])
    is_unseen = np.array([form not in seen for form in forms])
    return [
        {"what": "words of the file", "measured": float(len(words))},
        {"what": "words with a vector, %", "measured": 100 * covered.mean()},
        {"what": "unseen words with a vector, %", "measured": 100 * covered[is_unseen].mean()},
    ]


def measure_cost(treebank, folder, seconds):
    """What the transformer takes, beside products of matrices in the same run."""
    dgemm, n_operations = make_dgemm()
    speed = n_operations / minima({"dgemm": dgemm})["dgemm"] / 1e9
    n_tokens = sum(map(len, treebank.train))
    rows = [
        {"what": "dgemm, 10^9 operations a CPU second", "measured": speed},
        {"what": f"vectors of {n_tokens:,} training tokens, CPU s", "measured": seconds},
    ]
    train = next(treebank.folder.glob("*-ud-train.conllu"))
    test = next(treebank.folder.glob("*-ud-test.conllu"))
    with tempfile.TemporaryDirectory() as place:
        model = Path(place) / "model.npz"
        learn = ["train", train, "-o", model, "--model", "biaffine", "--tags", "upos"]
        context = "--context", folder
        for name, options in (("without", ()), ("with it", context)):
            _, _, memory = run_command(*learn, "--max-iter", "1", *options)
            rows.append({"what": f"most memory of training {name}, MiB", "measured": memory})
        _, seconds, _ = run_command("parse", model, test, "-o", Path(place) / "out", *context)
    rows.append({"what": "parsing with it, all of the command, CPU s", "measured": seconds})
    rows.append({"what": "sentences of that", "measured": float(len(treebank.test))})
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vectors", metavar="FILE")
    parser.add_argument("--context", metavar="FOLDER")
    parser.add_argument("--raw", metavar="FILE", nargs="*", default=[], help="compressed with gzip")
    parser.add_argument("--text", action="store_true")
    parser.add_argument("--treebank", default=ENGLISH)
    parser.add_argument("--trees", nargs="*", type=int, default=[100, 300, 1000, 4000])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--part", choices=["dev", "test"], default="dev")
    parser.add_argument("--limit", type=int, default=200_000, help="words of the file to read")
    parser.add_argument("--output", help="default: in the folder results beside the script")
    arguments = parser.parse_args()
    treebank = load(arguments.treebank)
    test = getattr(treebank, arguments.part)
    report, read, rows, wholes = Report("vectors", arguments.output), {"tokens": None}, [], []
    splitter = Splitter(random_state=0).fit(treebank.train) if arguments.text else None
    with threadpool_limits(1):
        if arguments.vectors:
            words, vectors = read_vectors(arguments.vectors, limit=arguments.limit)
            read["vectors of words"] = words, vectors
            report.add(f"coverage, {arguments.treebank}", measure_coverage(treebank, words))
        if arguments.context:
            source = Kept(arguments.context)
            _, seconds = seconds_of(lambda: source.transform(treebank.train))
            report.add("cost", measure_cost(treebank, arguments.context, seconds))
            sentences = [tree.forms for tree in treebank.train]
            read["table of words"] = source.to_table([*sentences, *read_lines(arguments.raw)])
            read["vectors in context"] = source
        for n_trees in [*arguments.trees, len(treebank.train)]:
            for what, given in read.items():
                parsers, seconds = learn(treebank.train[:n_trees], given, arguments.seeds)
                row = {"trees": n_trees, "read": what} | measure(parsers, test)
                rows.append(row | {"CPU s": seconds})
                report.add(f"vectors, {arguments.treebank}, {arguments.part}", rows)
                if splitter is not None and n_trees == len(treebank.train):
                    whole = measure_whole(parsers, test, splitter)
                    wholes += [{"read": what} | row for row in whole]
                    report.add(f"text, {arguments.treebank}, {arguments.part}", wholes)


if __name__ == "__main__":
    main()
