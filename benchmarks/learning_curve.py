"""Attachment scores by the number of training sentences: DET+F, SPECTRAL and EM.

Usage: python benchmarks/learning_curve.py [FOLDER]

FOLDER holds the treebanks (default: the environment variable SKLEARN_SHAG_DATA). From the training
set of English-EWT random subsets are drawn, three of each size, the same for all models; printed
are mean and standard deviation of the scores on the test set. Nothing is tuned: SPECTRAL has its
defaults; EM has 8 states and 100 iterations, from random starts, without smoothing and with 5
pseudo-sequences.
"""

import sys
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sklearn_shag import EMSHAG, DeterministicSHAG, SpectralSHAG
from sklearn_shag.datasets import fetch_treebank

SIZES = (100, 300, 1000, 3000, None)
MODELS = {
    "DET+F": lambda seed: DeterministicSHAG("first"),
    "DET+F, smoothing 5": lambda seed: DeterministicSHAG("first", smoothing=5),
    "SPECTRAL": lambda seed: SpectralSHAG(8),
    "SPECTRAL, published, 4 states": lambda seed: SpectralSHAG.published(4),
    "EM": lambda seed: EMSHAG(8, max_iter=100, random_state=seed),
    "EM, smoothing 5": lambda seed: EMSHAG(8, max_iter=100, smoothing=5, random_state=seed),
}


def main(data_home=None):
    warnings.simplefilter("ignore", ConvergenceWarning)
    data = fetch_treebank("UD_English-EWT", data_home=data_home, download_if_missing=False)
    header = "".join(f"{size or len(data.train):>14}" for size in SIZES)
    print(f"{'sentences':<32}{header}")
    for label, make in MODELS.items():
        cells = []
        for size in SIZES:
            scores = []
            for seed in range(3):
                order = np.random.default_rng(seed).permutation(len(data.train))[:size]
                model = make(seed).fit([data.train[i] for i in order])
                scores.append(100 * model.score(data.test))
            cells.append(f"{np.mean(scores):>8.2f} ±{np.std(scores):>4.2f}")
        print(f"{label:<32}" + "".join(f"{cell:>14}" for cell in cells), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
