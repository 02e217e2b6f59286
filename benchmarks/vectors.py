"""What vectors that were learned elsewhere add to a parser of tokens alone, and what they cost.

Usage: python benchmarks/vectors.py [--vectors FILE] [--context FOLDER] [--treebank NAME]
[--trees N...] [--seeds N] [--part dev|test] [--limit N] [--output RESULTS.json]

FILE is a text of vectors of words, as read_vectors reads it, FOLDER a transformer, as
TransformerVectors runs it, and the treebank (default: UD_English-EWT) one of SKLEARN_SHAG_DATA.
BiaffineParser learns tags and trees from the words of the first N trees of the training set, and of
all of them, without vectors and with those that are given; scores are those of a whole part in
percent, punctuation included, relations without subtypes, the mean of seeds. Seconds are CPU time
of training on one thread, and sentences those parsed in a CPU second, both without the transformer,
which looks at each sentence once for all runs. What it takes itself is another table, with the
memory that the command takes to train with it and without.

"Words with a vector" is the share of the tokens of the development set that have one, as they are
or in lower case, "unseen words" are those tokens whose word no training tree has.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from _measure import Report, load, make_dgemm, minima, run_command, seconds_of
from biaffine import ENGLISH, score
from threadpoolctl import threadpool_limits

from sklearn_shag import BiaffineParser
from sklearn_shag.features import TransformerVectors, read_vectors

AT_ONCE = 1000


class Known:
    """Vectors in context that were computed before, by the sentences as objects."""

    def __init__(self, source, *parts):
        self.vectors, self.seconds, self.kept = {}, [], parts
        for trees in parts:
            _, seconds = seconds_of(lambda trees=trees: self._add(source, trees))
            self.seconds.append(seconds)

    def _add(self, source, trees):
        for first in range(0, len(trees), AT_ONCE):
            part = trees[first : first + AT_ONCE]
            found = (vectors.astype(np.float16) for vectors in source.transform(part))
            self.vectors.update(zip(map(id, part), found, strict=True))

    def __call__(self, sentences):
        return [self.vectors[id(sentence)] for sentence in sentences]

    def __deepcopy__(self, memo):
        return self


def measure(train, test, embeddings, seeds):
    """The mean of the scores of seeds, and of the seconds of training."""
    runs = []
    for seed in range(seeds):
        settings = {"embeddings": embeddings, "calibrate": False, "random_state": seed}
        parser = BiaffineParser(tags="upos", **settings)
        parser, seconds = seconds_of(lambda p=parser: p.fit(train))
        scores, speed = score(parser, test)
        runs.append(scores | {"CPU s": seconds, "sentences/s": speed})
    return {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}


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


def measure_cost(treebank, folder, known):
    """What the transformer takes, beside products of matrices in the same run."""
    dgemm, n_operations = make_dgemm()
    speed = n_operations / minima({"dgemm": dgemm})["dgemm"] / 1e9
    n_tokens = sum(map(len, treebank.train))
    rows = [
        {"what": "dgemm, 10^9 operations a CPU second", "measured": speed},
        {"what": f"vectors of {n_tokens:,} training tokens, CPU s", "measured": known.seconds[0]},
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
    parser.add_argument("--treebank", default=ENGLISH)
    parser.add_argument("--trees", nargs="*", type=int, default=[100, 300, 1000, 4000])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--part", choices=["dev", "test"], default="dev")
    parser.add_argument("--limit", type=int, default=200_000, help="words of the file to read")
    parser.add_argument("--output", help="default: in the folder results beside the script")
    arguments = parser.parse_args()
    treebank = load(arguments.treebank)
    test = getattr(treebank, arguments.part)
    report, read, rows = Report("vectors", arguments.output), {"tokens": None}, []
    with threadpool_limits(1):
        if arguments.vectors:
            words, vectors = read_vectors(arguments.vectors, limit=arguments.limit)
            read["vectors of words"] = words, vectors
            report.add(f"coverage, {arguments.treebank}", measure_coverage(treebank, words))
        if arguments.context:
            known = Known(TransformerVectors(arguments.context), treebank.train, test)
            read["vectors in context"] = known
            report.add("cost", measure_cost(treebank, arguments.context, known))
        for n_trees in [*arguments.trees, len(treebank.train)]:
            for what, given in read.items():
                scores = measure(treebank.train[:n_trees], test, given, arguments.seeds)
                rows.append({"trees": n_trees, "read": what} | scores)
                report.add(f"vectors, {arguments.part}", rows)


if __name__ == "__main__":
    main()
