"""What parsers of tags reach where a Tagger gives them, and why fit_transform cross-fits.

Usage: python benchmarks/tagger.py [--treebanks NAME...] [--seeds N] [--output RESULTS.json]

The treebanks are folders of SKLEARN_SHAG_DATA (default: French and Tamil). Parsers learn from the
training set, with three kinds of tags in it: those of the file; those of a tagger that has learned
from the same sentences; and those of taggers of the other folds. Each parses the development set
with the tags of a tagger; the first also with those of the file. Scores of attachment are in
percent, calibration errors of its probabilities in hundredths, and both means over seeds; seconds
are CPU time of training.
"""

import argparse
import time

import numpy as np
from _measure import Report
from sklearn.base import clone

from sklearn_shag import EMSHAG, BiaffineParser, CRFParser, SpectralSHAG, Tagger
from sklearn_shag.datasets import fetch_treebank
from sklearn_shag.inspection import expected_calibration_error
from sklearn_shag.utils._parallel import one_thread

PARSERS = {
    "SpectralSHAG(8)": SpectralSHAG(8),
    "EMSHAG(4)": EMSHAG(4, init="moments", smoothing=3),
    "CRFParser": CRFParser(["upos", "form", "suffix"], random_state=0),
}


def timed(function, *args):
    started = time.process_time()
    return function(*args), time.process_time() - started


def measure(treebank, seed):
    """The scores of one seed: by what they are of."""
    tagger, row = Tagger("upos", random_state=seed), {}
    crossed, row["seconds, Tagger cross-fitted"] = timed(tagger.fit_transform, treebank.train)
    row["accuracy of tags, development set"] = 100 * tagger.score(treebank.dev)
    row["accuracy of tags, training set"] = 100 * tagger.score(treebank.train)
    tagged = tagger.transform(treebank.dev)
    kinds = {
        "tags of the file": treebank.train,
        "of the same tagger": tagger.transform(treebank.train),
        "cross-fitted": crossed,
    }
    for name, parser in PARSERS.items():
        for kind, train in kinds.items():
            fitted, seconds = timed(clone(parser).fit, train)
            row[f"{name}, {kind}"] = 100 * fitted.score(tagged)
            error = expected_calibration_error(treebank.dev, fitted.predict_marginals(tagged))
            row[f"{name}, {kind}, calibration error"] = 100 * error
            if train is treebank.train:
                row[f"{name}, tags of the file in both"] = 100 * fitted.score(treebank.dev)
                row[f"seconds, {name}"] = seconds
    network = BiaffineParser(tags="upos", random_state=seed)
    _, row["seconds, BiaffineParser"] = timed(network.fit, treebank.train)
    row["BiaffineParser, tags learned along"] = 100 * network.score(treebank.dev)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--treebanks", nargs="+", default=["UD_French-Sequoia", "UD_Tamil-TTB"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--output", help="default: in the folder results beside the script")
    arguments = parser.parse_args()
    report, rows = Report("tagger", arguments.output), []
    with one_thread():
        for name in arguments.treebanks:
            treebank = fetch_treebank(name, download_if_missing=False)
            runs = [measure(treebank, seed) for seed in range(arguments.seeds)]
            rows += [
                {"treebank": name, "what": key, "mean": float(np.mean([run[key] for run in runs]))}
                for key in runs[0]
            ]
            report.add("tagger", rows)


if __name__ == "__main__":
    main()
