"""Attachment scores on real treebanks, beside those of a prototype.

Usage: python benchmarks/accuracy.py [FOLDER]

FOLDER holds the treebanks, one folder UD_* each (default: the environment variable
SKLEARN_SHAG_DATA). Symbols are UPOS tags, punctuation is scored, sentences have one root. The
number of states of SPECTRAL (1 to 16) is chosen on the development set, for the published algorithm
and for the defaults.
"""

import itertools
import sys
import time

from sklearn_shag import DeterministicSHAG, SpectralSHAG
from sklearn_shag._spectral import PUBLISHED
from sklearn_shag.datasets import fetch_treebank

# dev DET, DET+F, SPECTRAL, then test: a throw-away implementation, no smoothing.
PROTOTYPE = {
    "UD_Afrikaans-AfriBooms": (71.7, 74.1, 77.9, 73.0, 74.5, 78.6),
    "UD_English-EWT": (63.0, 68.7, 72.1, 63.6, 69.0, 72.6),
    "UD_French-Sequoia": (74.8, 76.4, 80.0, 75.0, 76.6, 79.8),
    "UD_Tamil-TTB": (63.3, 65.0, 65.6, 69.3, 70.1, 71.0),
    "UD_Turkish-IMST": (54.9, 56.8, 57.3, 57.5, 59.7, 60.0),
}
STATES = range(1, 17)
CONFIGURATIONS = {"published": PUBLISHED, "defaults": {}}
# The prototype left out longer sentences; rows with this length compare like with like.
MAX_LENGTH = 60


def main(data_home=None):
    print(f"{'':<62}{'DET':>7}{'':7}{'DET+F':>7}{'':7}{'SPECTRAL':>9}")
    print(f"{'':<62}{'here':>7}{'proto':>7}{'here':>7}{'proto':>7}{'here':>9}{'proto':>7}")
    for name, prototype in PROTOTYPE.items():
        treebank = fetch_treebank(name, data_home=data_home, download_if_missing=False)
        started = time.perf_counter()
        deterministic = [DeterministicSHAG(a).fit(treebank.train) for a in ("single", "first")]
        for configuration, params in CONFIGURATIONS.items():
            curve = {
                n: SpectralSHAG(n, **params).fit(treebank.train).score(treebank.dev) for n in STATES
            }
            best = max(curve, key=curve.get)
            spectral = SpectralSHAG(best, **params).fit(treebank.train)
            for k, longest in itertools.product(range(2), (None, MAX_LENGTH)):
                split = ("dev", "test")[k]
                trees = [t for t in treebank[split] if longest is None or len(t) <= longest]
                length = "" if longest is None else f" up to {longest} tokens"
                row = f"{name[3:]} {split}{length}, {configuration}, n = {best}"
                scores = [100 * model.score(trees) for model in (*deterministic, spectral)]
                cells = "".join(
                    f"{score:>{width}.2f}{proto:>7.1f}"
                    for score, proto, width in zip(
                        scores, prototype[3 * k : 3 * k + 3], (7, 7, 9), strict=True
                    )
                )
                print(f"{row:<62}{cells}")
            points = " ".join(f"{n}:{100 * score:.1f}" for n, score in curve.items())
            print(f"    SPECTRAL on dev by number of states: {points}")
        if name == "UD_English-EWT":
            for model, label in zip(deterministic, ("DET", "DET+F"), strict=True):
                mbr = 100 * model.score(treebank.dev)
                best_path = 100 * model.set_params(decoder="viterbi").score(treebank.dev)
                print(f"    {label} on dev: Viterbi {best_path:.2f}, marginals {mbr:.2f}")
            sibling = DeterministicSHAG("sibling").fit(treebank.train)
            print(f"    sibling model on dev: {100 * sibling.score(treebank.dev):.2f}")
        print(f"    {time.perf_counter() - started:.1f} s for all of it", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
