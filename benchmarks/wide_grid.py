"""A grid search far beyond what is sensible: no fold may fail, no score may be NaN.

SKLEARN_SHAG_DATA=treebanks python benchmarks/wide_grid.py [--n-jobs 2]
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.model_selection import GridSearchCV

from sklearn_shag import SpectralSHAG
from sklearn_shag.datasets import fetch_treebank

TREEBANKS = [
    "UD_Tamil-TTB",
    "UD_Turkish-IMST",
    "UD_Afrikaans-AfriBooms",
    "UD_French-Sequoia",
    "UD_English-EWT",
]
GRID = {"n_states": list(range(1, 31)), "smoothing": [0, 0.01, 1, 10, 100]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--treebanks", nargs="+", default=TREEBANKS)
    parser.add_argument("--n-jobs", type=int, default=2)
    arguments = parser.parse_args()
    warnings.simplefilter("error")
    for name in arguments.treebanks:
        trees = fetch_treebank(name, download_if_missing=False).train
        search = GridSearchCV(
            SpectralSHAG(), GRID, cv=2, n_jobs=arguments.n_jobs, error_score="raise"
        )
        start = time.perf_counter()
        scores = search.fit(trees).cv_results_["mean_test_score"]
        assert np.isfinite(scores).all()
        print(
            f"{name:<24}{scores.size} candidates, scores {scores.min():.4f} to {scores.max():.4f}, "
            f"best {search.best_params_}, {time.perf_counter() - start:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
