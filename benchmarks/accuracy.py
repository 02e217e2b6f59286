"""Attachment scores on real treebanks, beside those of a prototype.

Usage: python benchmarks/accuracy.py [FOLDER]

FOLDER holds the treebanks, one folder UD_* each (default: the environment variable
SKLEARN_SHAG_DATA). Symbols are UPOS tags, punctuation is scored, sentences have one root. The
number of states of SPECTRAL (1 to 16) is chosen on the development set, for the published algorithm
and for the defaults. Then words, with gold tags: lexicalised grammars alone and times others, by
the number of states (the paper's Figure 2), and what the product gains over the lexicalised grammar
alone in five folds of the training trees.
"""

import itertools
import sys
import time

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import KFold

from sklearn_shag import (
    EMSHAG,
    AveragedParser,
    DeterministicSHAG,
    LexicalizedSHAG,
    ProductParser,
    SpectralSHAG,
)
from sklearn_shag.datasets import fetch_treebank
from sklearn_shag.learning._spectral import PUBLISHED

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
LEXICALISED = {"LEX": "single", "LEX+F": "first", "LEX+FCP": "fcp"}
WITH_WORDS = (1, 2, 3, 4, 6, 9, 12, 16)
PAPER = 9  # states, in the paper's section 5.3


def combined(one, other, trees, composed=ProductParser):
    """A product, or another composition, of fitted parsers."""
    members = [("one", FrozenEstimator(one)), ("other", FrozenEstimator(other))]
    return composed(members).fit(trees[:1])


def print_words(treebank):
    """The paper's Figure 2 on the development set, and what products gain in five folds."""
    train, dev = treebank.train, treebank.dev
    words = {name: LexicalizedSHAG(a).fit(train) for name, a in LEXICALISED.items()}
    hidden = {
        "SPECTRAL": {n: SpectralSHAG(n).fit(train) for n in WITH_WORDS},
        "EM": {n: EMSHAG(n, random_state=0).fit(train) for n in WITH_WORDS},
    }
    print(f"    {'with words, on dev':<24}{'alone':>7}" + "".join(f"{n:>7}" for n in WITH_WORDS))
    for label, curve in hidden.items():
        scores = "".join(f"{100 * model.score(dev):>7.2f}" for model in curve.values())
        print(f"    {label:<24}{'':>7}{scores}")
    for (name, lexical), (label, curve) in itertools.product(words.items(), hidden.items()):
        scores = "".join(
            f"{100 * combined(model, lexical, train).score(dev):>7.2f}" for model in curve.values()
        )
        print(f"    {f'{name} x {label}':<24}{100 * lexical.score(dev):>7.2f}{scores}", flush=True)
    print(f"    {'on test, 9 states':<24}{'alone':>9}{'x SPECTRAL':>12}{'x EM':>9}")
    for name, lexical in words.items():
        cells = [100 * lexical.score(treebank.test)]
        for curve in hidden.values():
            cells.append(100 * combined(curve[PAPER], lexical, train).score(treebank.test))
        print(f"    {name:<24}{cells[0]:>9.2f}{cells[1]:>12.2f}{cells[2]:>9.2f}")
    print_folds(train)


def print_folds(trees):
    """What each combination gains over the lexicalised grammar alone: mean and spread."""
    rows = {name: [] for name in LEXICALISED}
    for learned_from, parsed in KFold(5, shuffle=True, random_state=0).split(trees):
        train, test = ([trees[k] for k in part] for part in (learned_from, parsed))
        spectral = SpectralSHAG(PAPER).fit(train)
        first = DeterministicSHAG().fit(train)
        for name, automaton in LEXICALISED.items():
            lexical = LexicalizedSHAG(automaton).fit(train)
            alone, *others = (
                100 * model.score(test)
                for model in (
                    lexical,
                    combined(spectral, lexical, train),
                    combined(first, lexical, train),
                    combined(spectral, lexical, train, AveragedParser),
                )
            )
            rows[name].append([alone, *(score - alone for score in others)])
    columns = ("x SPECTRAL", "x DET+F", "averaged with SPECTRAL")
    head = "".join(f"{column:>24}" for column in columns)
    print(f"    {'five folds of train':<24}{'alone':>7}{head}")
    for name, values in rows.items():
        (alone, *gains), (_, *spreads) = np.mean(values, axis=0), np.std(values, axis=0, ddof=1)
        cells = "".join(
            f"{f'{gain:+.2f} +- {spread:.2f}':>24}"
            for gain, spread in zip(gains, spreads, strict=True)
        )
        print(f"    {name:<24}{alone:>7.2f}{cells}", flush=True)


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
        print_words(treebank)
        print(f"    {time.perf_counter() - started:.1f} s for all of it", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
