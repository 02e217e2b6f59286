"""What vectors of words that were learned elsewhere add to a parser of tokens alone.

Usage: python benchmarks/vectors.py --vectors FILE [--treebank NAME] [--seeds N] [--limit N]
[--max-iter N] [--output RESULTS.json]

FILE is a text of vectors, as read_vectors reads it, and the treebank (default: UD_English-EWT) a
folder of SKLEARN_SHAG_DATA. BiaffineParser learns tags and trees from the words of the training
set, with the vectors and without; scores are those of the development set in percent, punctuation
included, relations without subtypes, the mean of seeds. "Words with a vector" is the share of the
tokens of that set that have one, as they are or in lower case, "unseen words" are those tokens
whose word no training tree has. Seconds are CPU time of training on one thread.
"""

import argparse

import numpy as np
from _measure import Report, load, seconds_of
from biaffine import ENGLISH, score
from threadpoolctl import threadpool_limits

from sklearn_shag import BiaffineParser
from sklearn_shag.features import read_vectors


def measure(treebank, embeddings, seeds, max_iter):
    """The mean of the scores of seeds, and of the seconds of training."""
    runs = []
    for seed in range(seeds):
        parser = BiaffineParser(
            tags="upos",
            embeddings=embeddings,
            max_iter=max_iter,
            calibrate=False,
            random_state=seed,
        )
        parser, seconds = seconds_of(lambda p=parser: p.fit(treebank.train))
        scores, speed = score(parser, treebank.dev)
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vectors", required=True, metavar="FILE")
    parser.add_argument("--treebank", default=ENGLISH)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--limit", type=int, default=200_000, help="words of the file to read")
    parser.add_argument("--max-iter", type=int, help="default: that of the library")
    parser.add_argument("--output", help="default: in the folder results beside the script")
    arguments = parser.parse_args()
    treebank = load(arguments.treebank)
    embeddings = read_vectors(arguments.vectors, limit=arguments.limit)
    report, rows = Report("vectors", arguments.output), []
    report.add(f"coverage, {arguments.treebank}", measure_coverage(treebank, embeddings[0]))
    with threadpool_limits(1):
        for what, given in (("tokens", None), ("tokens and vectors", embeddings)):
            scores = measure(treebank, given, arguments.seeds, arguments.max_iter)
            rows.append({"treebank": arguments.treebank, "read": what} | scores)
            report.add("vectors", rows)


if __name__ == "__main__":
    main()
