"""Calibration of arc marginals: the expected calibration error of every model on real dev sets.

Usage: python benchmarks/calibration.py [FOLDER] [TREEBANK...]

FOLDER holds the treebanks (default: the environment variable SKLEARN_SHAG_DATA), TREEBANK are some
of them (default: UD_Tamil-TTB UD_French-Sequoia). Models are learned from the training set, with
gold tags, and punctuation is scored. ECE is over ten bins of equal width; "claimed" is the mean
probability of the predicted heads, to be compared with UAS: more is over-confident. The last column
is the error that chance alone would make with probabilities that are right, on as many tokens.
"""

import argparse

import numpy as np
from _measure import format_table
from sklearn.frozen import FrozenEstimator

from sklearn_shag import (
    EMSHAG,
    AveragedParser,
    BiaffineParser,
    CRFParser,
    DeterministicSHAG,
    LexicalizedSHAG,
    ProductParser,
    SpectralSHAG,
)
from sklearn_shag.datasets import fetch_treebank
from sklearn_shag.inspection._confidence import fill_bins, look_up_confidence

TREEBANKS = ("UD_Tamil-TTB", "UD_French-Sequoia")
N_BINS, N_DRAWS = 10, 100


def make_models():
    """Those that are fitted on trees; combinations of them follow in :func:`combine`."""
    return {
        "DET": DeterministicSHAG("single", smoothing=1),
        "DET+F": DeterministicSHAG("first", smoothing=1),
        "SPECTRAL": SpectralSHAG(),
        "EM": EMSHAG(4, init="moments", smoothing=3),
        "LEX+FCP": LexicalizedSHAG("fcp"),
        "CRF, tags": CRFParser(["symbol"], random_state=0),
        "CRF": CRFParser(random_state=0),
        "network": BiaffineParser(random_state=0),
        "average": AveragedParser(
            [
                ("network", BiaffineParser(random_state=0)),
                ("linear", CRFParser(random_state=0)),
            ]
        ),
    }


def combine(fitted):
    members = [(name, FrozenEstimator(fitted[name])) for name in ("SPECTRAL", "LEX+FCP")]
    yield "SPECTRAL x LEX+FCP", ProductParser(members)
    yield "averages of both", AveragedParser(members)


def measure(name, model, trees):
    marginals, heads = model.predict_marginals(trees), model.predict(trees)
    right, probabilities = look_up_confidence(trees, marginals, heads)
    rng = np.random.default_rng(0)
    by_chance = [
        fill_bins(rng.uniform(size=right.size) < probabilities, probabilities, N_BINS, "uniform")
        for _ in range(N_DRAWS)
    ]
    bins = fill_bins(right, probabilities, N_BINS, "uniform")
    return {
        "model": name,
        "UAS": f"{100 * right.mean():.1f}",
        "claimed": f"{100 * probabilities.mean():.1f}",
        "ECE": f"{100 * bins.expected_error:.1f}",
        "by chance": f"{100 * np.mean([each.expected_error for each in by_chance]):.1f}",
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?")
    parser.add_argument("treebanks", nargs="*", default=TREEBANKS)
    arguments = parser.parse_args()
    for name in arguments.treebanks:
        treebank = fetch_treebank(name, data_home=arguments.folder, download_if_missing=False)
        fitted = {key: model.fit(treebank.train) for key, model in make_models().items()}
        fitted |= {key: model.fit(treebank.train[:1]) for key, model in combine(fitted)}
        rows = [measure(key, model, treebank.dev) for key, model in fitted.items()]
        print(f"{name[3:]}, dev, {sum(map(len, treebank.dev))} tokens, in percent\n")
        print(f"{format_table(rows)}\n", flush=True)


if __name__ == "__main__":
    main()
