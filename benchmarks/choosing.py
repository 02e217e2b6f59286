"""What each estimator reaches on five treebanks, and how long it is trained for that.

Usage: python benchmarks/choosing.py [--treebanks NAME...] [--output RESULTS.json]

The treebanks are folders of SKLEARN_SHAG_DATA. Estimators have their defaults, but for numbers of
states that the table tells; they are trained once, on one thread, on the whole training set with
its tags ("tags" is UPOS alone) and scored on the test set, punctuation included. Seconds are CPU
time of `fit`, after compiling. The figure of the user guide is drawn from the saved results.
"""

import argparse

import numpy as np
from _measure import Report, load, seconds_of
from biaffine import NAMES
from threadpoolctl import threadpool_limits

from sklearn_shag import (
    EMSHAG,
    BiaffineParser,
    CRFParser,
    DeterministicSHAG,
    LexicalizedSHAG,
    ProductParser,
    SpectralSHAG,
)
from sklearn_shag.metrics import labeled_attachment_score

ESTIMATORS = {
    "DeterministicSHAG": ("tags", DeterministicSHAG("first")),
    "SpectralSHAG(8)": ("tags", SpectralSHAG(8)),
    "EMSHAG(4)": ("tags", EMSHAG(4, init="moments", smoothing=3)),
    "LexicalizedSHAG": ("tags, forms", LexicalizedSHAG()),
    "ProductParser": (
        "tags, forms",
        ProductParser([("hidden", SpectralSHAG(8)), ("words", LexicalizedSHAG())]),
    ),
    "CRFParser, tags": ("tags", CRFParser(["upos"], random_state=0)),
    "CRFParser": ("all columns", CRFParser(random_state=0)),
    "BiaffineParser, tags": ("tags", BiaffineParser(["upos"], labels=False, random_state=0)),
    "BiaffineParser": ("all columns", BiaffineParser(random_state=0)),
    "BiaffineParser, tokens": ("forms", BiaffineParser(tags="upos", random_state=0)),
}


def measure(estimator, treebank):
    """Train once; return CPU seconds and scores in percent."""
    _, seconds = seconds_of(lambda: estimator.fit(treebank.train))
    parsed = estimator.parse(treebank.test)
    pairs = list(zip(treebank.test, parsed, strict=True))
    uas = np.concatenate([tree.heads == other.heads for tree, other in pairs]).mean()
    known = getattr(estimator, "labels_", np.array([])).size
    las = labeled_attachment_score(treebank.test, parsed) if known else np.nan
    return {"training (CPU s)": seconds, "UAS": 100 * uas, "LAS": 100 * las}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--treebanks", nargs="+", default=list(NAMES), choices=NAMES)
    parser.add_argument("--output", help="default: in the folder results beside the script")
    arguments = parser.parse_args()
    report, rows = Report("choosing", arguments.output), []
    with threadpool_limits(1):
        for name in arguments.treebanks:
            treebank = load(name)
            for called, (reads, estimator) in ESTIMATORS.items():
                estimator.fit(treebank.train[:30]).parse(treebank.test[:5])  # compiles
                row = {"treebank": name, "estimator": called, "reads": reads}
                rows.append(row | measure(estimator, treebank))
            report.add("estimators", rows)


if __name__ == "__main__":
    main()
