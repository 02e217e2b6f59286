"""What vectors that were learned elsewhere add to a parser of tokens alone, and what they cost.

Usage: python benchmarks/vectors.py [--vectors FILE] [--context FOLDER] [--raw FILE...] [--text]
[--treebanks NAME...] [--trees N...] [--seeds N] [--part dev|test] [--limit N] [--output FILE]

FILE is a text of vectors of words, as read_vectors reads it, FOLDER a transformer, as
TransformerVectors runs it, and treebanks (default: UD_English-EWT) are those of SKLEARN_SHAG_DATA.
BiaffineParser learns tags and trees from the words of the first N trees of the training set, and of
all of them, without vectors and with those that are given; scores are those of a whole part in
percent, punctuation included, relations without subtypes, the mean of seeds. Seconds are CPU time
of training on one thread, and sentences those parsed in a CPU second by parsers that take turns,
both without the transformer, which looks at each sentence once for all runs. What it takes itself
is another table, with the memory that the command takes to train with it and without.

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

from sklearn_shag import BiaffineParser, ParserPipeline, Splitter, save_model
from sklearn_shag.features import TransformerVectors, read_vectors
from sklearn_shag.metrics import raw_text_scores
from sklearn_shag.treebank import to_text

ROUNDS = 15
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
    """The mean of the scores of parsers, and how far they spread."""
    runs = [score(parser, test)[0] for parser in parsers]
    of_labels = [run["LAS"] for run in runs]
    means = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
    return means | {"LAS of seeds": f"{min(of_labels):.1f} to {max(of_labels):.1f}"}


def compare(rows):
    """The UAS and LAS of all kinds of parsers side by side, a row for each treebank and size."""
    found = {}
    for row in rows:
        place = found.setdefault((row["treebank"], row["trees"]), {})
        place[row["read"]] = f"{row['UAS']:.1f} / {row['LAS']:.1f}"
    for (treebank, trees), scores in found.items():
        yield {"treebank": treebank.removeprefix("UD_"), "trees": str(trees)} | scores


def measure_whole(parsers, test, splitter):
    """Scores of one of the networks and of their average, from gold tokens and from text."""
    text, _ = to_text(test)
    for what, parser in {"one network": parsers[0], "their average": average(parsers)}.items():
        scores, _ = score(parser, test)
        trees = ParserPipeline([("splitter", splitter), ("parser", parser)]).parse_text(text)
        found = raw_text_scores(test, trees)
        of_text = {f"{name}, text": 100 * found[name].f1 for name in ("UAS", "LAS", "UPOS")}
        yield {"parser": what} | {name: scores[name] for name in ("UAS", "LAS", "UPOS")} | of_text


def size_of(parser):
    """The size of a model file in MB."""
    with tempfile.TemporaryDirectory() as folder:
        save_model(parser, path := Path(folder) / "model.npz")
        return path.stat().st_size / 1e6


def measure_speed(learned, test):
    """Sentences that a parser of each kind parses in a CPU second, in turns, and their ratios."""
    seconds = minima({what: lambda p=p: p.parse(test) for what, p in learned.items()}, ROUNDS)
    for what, least in seconds.items():
        speed, ratio = len(test) / least, least / seconds["tokens"]
        row = {"read": what, "sentences per CPU s": speed, "times as long as tokens": ratio}
        yield row | {"model MB": size_of(learned[what])}


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
        {"what": "vectors of 1,000 training tokens, CPU s", "measured": 1000 * seconds / n_tokens},
    ]
    dev, test = (str(next(treebank.folder.glob(f"*-ud-{part}.conllu"))) for part in ("dev", "test"))
    with tempfile.TemporaryDirectory() as place:
        learn = ["--model", "biaffine", "--tags", "upos", "--max-iter", "1", "--context", folder]
        for what, options in {"parsing": [], "training": ["--context-for", "training"]}.items():
            model = str(Path(place) / "model.npz")
            _, _, memory = run_command("train", dev, "-o", model, *learn, *options)
            size = Path(model).stat().st_size / 1e6
            needed = [] if options else ["--context", folder]
            _, seconds, _ = run_command("parse", model, test, "-o", Path(place) / "out", *needed)
            rows += [
                {"what": f"for {what}: most memory of training, MiB", "measured": memory},
                {"what": f"for {what}: model of the development set, MB", "measured": size},
                {"what": f"for {what}: parsing the test set, CPU s", "measured": seconds},
            ]
    return rows


def go(report, tables, name, arguments):
    """Measure all for one treebank, and add it to the tables of all."""
    treebank = load(name)
    train, test, whole = treebank.train, getattr(treebank, arguments.part), len(treebank.train)
    read, learned = {"tokens": None}, {}
    if arguments.vectors:
        words, vectors = read_vectors(arguments.vectors, limit=arguments.limit)
        read["vectors of words"] = words, vectors
        report.add(f"coverage, {name}", measure_coverage(treebank, words))
    if arguments.context:
        source = Kept(arguments.context)
        _, seconds = seconds_of(lambda: source.transform(train))
        report.add(f"cost, {name}", measure_cost(treebank, arguments.context, seconds))
        sentences = [*(tree.forms for tree in train), *read_lines(arguments.raw)]
        read["table of words"] = source.to_table(sentences)
        read["vectors in context"] = source
    splitter = Splitter(random_state=0).fit(train) if arguments.text else None
    for n_trees in [*(n for n in arguments.trees if n < whole), whole]:
        for what, given in read.items():
            parsers, seconds = learn(train[:n_trees], given, arguments.seeds)
            learned[what], place = parsers[0], {"treebank": name, "trees": n_trees, "read": what}
            tables["vectors"].append(place | measure(parsers, test) | {"training (CPU s)": seconds})
            if splitter is not None and n_trees == whole:
                rows = measure_whole(parsers, test, splitter)
                tables["text"] += [{"treebank": name, "read": what} | row for row in rows]
            for kind, rows in tables.items():
                if rows:
                    report.add(f"{kind}, {arguments.part}", rows)
    report.add(f"UAS and LAS, {arguments.part}", list(compare(tables["vectors"])))
    report.add(f"speed, {name}", list(measure_speed(learned, test)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vectors", metavar="FILE")
    parser.add_argument("--context", metavar="FOLDER")
    parser.add_argument("--raw", metavar="FILE", nargs="*", default=[], help="compressed with gzip")
    parser.add_argument("--text", action="store_true")
    parser.add_argument("--treebanks", nargs="*", default=[ENGLISH])
    parser.add_argument("--trees", nargs="*", type=int, default=[100, 300, 1000, 4000])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--part", choices=["dev", "test"], default="dev")
    parser.add_argument("--limit", type=int, default=200_000, help="words of the file to read")
    parser.add_argument("--output", help="default: in the folder results beside the script")
    arguments = parser.parse_args()
    report, tables = Report("vectors", arguments.output), {"vectors": [], "text": []}
    with threadpool_limits(1):
        for name in arguments.treebanks:
            go(report, tables, name, arguments)
            KEPT.clear()


if __name__ == "__main__":
    main()
