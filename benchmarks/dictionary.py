"""A dictionary of words that a tagger has not seen: how many of them it tags rightly.

Usage: python benchmarks/dictionary.py [FOLDER] [TREEBANK] [--seeds N] [--output RESULTS.json]

The tagger learns UPOS, XPOS, features and lemmas from each second sentence of the training set. The
dictionary holds every entry of the other sentences. Scores are those of the development set, from
gold tokens: the share of tokens of which all four columns are right, among words that the tagger
has not seen, among those of them that are in the dictionary, and among all words.
"""

import argparse
import statistics
import time
from copy import copy

from _measure import Report, measured

from sklearn_shag import Tagger
from sklearn_shag.datasets import fetch_treebank
from sklearn_shag.treebank import Dictionary, read_conllu

COLUMNS = ["upos", "xpos", "feats", "lemma"]


def rows_of(trees):
    """List form and columns of every token."""
    return [
        row
        for tree in trees
        for row in zip(tree.forms, *(tree.column(name) for name in COLUMNS), strict=True)
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?")
    parser.add_argument("treebank", nargs="?", default="UD_Turkish-IMST")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--output")
    arguments = parser.parse_args()
    given = {"data_home": arguments.folder, "download_if_missing": False}
    folder = fetch_treebank(arguments.treebank, **given).folder
    train, dev = (
        read_conllu(next(folder.glob(f"*-ud-{part}.conllu"))) for part in ("train", "dev")
    )
    seen, other = train[::2], train[1::2]
    known = {form for form, *_ in rows_of(seen)}
    words = Dictionary(sorted({"\t".join(row) for row in rows_of(other)}))
    gold, shares, ratios = rows_of(dev), {}, []
    groups = {
        "all words": lambda _: True,
        "unknown words": lambda form: form not in known,
        "unknown words in the dictionary": lambda form: form not in known and form in words,
    }
    for seed in range(arguments.seeds):
        free = Tagger(COLUMNS, random_state=seed).fit(seen)
        seconds = {}
        for name, tagger in (("without", free), ("with", copy(free).set_params(dictionary=words))):
            times = []
            for _ in range(7):
                began = time.process_time()
                found = rows_of(tagger.transform(dev))
                times.append(time.process_time() - began)
            seconds[name] = min(times)
            for group, holds in groups.items():
                right = [a == b for a, b in zip(gold, found, strict=True) if holds(a[0])]
                shares.setdefault((group, name), []).append(100 * statistics.fmean(right))
                upos = [a[1] == b[1] for a, b in zip(gold, found, strict=True) if holds(a[0])]
                shares.setdefault((f"{group}, UPOS", name), []).append(100 * statistics.fmean(upos))
        ratios.append(seconds["with"] / seconds["without"])
    rows = [
        measured(f"{group}, {name}: % right", statistics.fmean(values))
        for (group, name), values in sorted(shares.items())
    ]
    rows.append(measured("CPU time, with / without", statistics.fmean(ratios)))
    report = Report("dictionary", arguments.output)
    report.add(f"{arguments.treebank}, {len(gold)} words, {len(words)} in the dictionary", rows)


if __name__ == "__main__":
    main()
