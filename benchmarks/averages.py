"""What averages of parsers gain, and what they cost, on the development sets of open treebanks.

Usage: python benchmarks/averages.py [FOLDER]

FOLDER holds the treebanks (default: the environment variable SKLEARN_SHAG_DATA). Printed are
attachment scores, for all tokens, of single models and of averages, and the times in which an
average and its members parse: minima of five rounds in which they take turns.
"""

import sys
import time
import warnings

from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline

from sklearn_shag import EMSHAG, AveragedParser, LexicalizedSHAG, ProductParser, SpectralSHAG
from sklearn_shag.datasets import fetch_treebank
from sklearn_shag.treebank import TokenFeature, UnknownSymbolWarning

TREEBANKS = (
    "UD_Afrikaans-AfriBooms",
    "UD_English-EWT",
    "UD_French-Sequoia",
    "UD_Tamil-TTB",
    "UD_Turkish-IMST",
)
STARTS = ["EM 0", "EM 1", "EM 2"]
AVERAGES = [
    STARTS,
    ["SPECTRAL", *STARTS],
    ["SPECTRAL", "FEATS"],
    ["SPECTRAL", "LEX"],
    ["product", "FEATS"],
]


def make_models():
    morphology = TokenFeature(
        "upos", ["feats.Case", "feats.Number", "feats.VerbForm"], min_count=20, rare_symbol=None
    )
    return {
        "SPECTRAL": SpectralSHAG(8),
        **{name: EMSHAG(8, random_state=seed) for seed, name in enumerate(STARTS)},
        "FEATS": make_pipeline(morphology, SpectralSHAG(8)),
        "LEX": LexicalizedSHAG(),
        "product": ProductParser([("hidden", SpectralSHAG(8)), ("words", LexicalizedSHAG())]),
    }


def average(models, names):
    frozen = [(name, FrozenEstimator(models[name])) for name in names]
    return AveragedParser(frozen).fit([["frozen"]], [[0]])


def minima(models, trees, rounds=5):
    seconds = {name: [] for name in models}
    for _ in range(rounds):
        for name, model in models.items():
            started = time.perf_counter()
            model.predict(trees)
            seconds[name].append(time.perf_counter() - started)
    return {name: min(times) for name, times in seconds.items()}


def main(folder):
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", UnknownSymbolWarning)  # not all have cases
    for name in TREEBANKS:
        treebank = fetch_treebank(name, data_home=folder, download_if_missing=False)
        models = {key: model.fit(treebank.train) for key, model in make_models().items()}
        print(f"\n{name}")
        for key, model in models.items():
            print(f"{key:<32}{100 * model.score(treebank.dev):6.2f}")
        for names in AVERAGES:
            score = 100 * average(models, names).score(treebank.dev)
            print(f"{' + '.join(names):<32}{score:6.2f}")
        members = {key: models[key] for key in ("SPECTRAL", *STARTS)}
        times = minima({**members, "average": average(models, members)}, treebank.dev)
        of_average = times.pop("average")
        print(f"{of_average:.3f} s, members one after the other {sum(times.values()):.3f} s")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
