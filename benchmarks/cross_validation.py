"""SpectralSHAGCV against GridSearchCV over the same grid: equal results, and the ratio of times.

Learning is shared by all ranks, parsing is not: each rank parses every fold. So the ratio depends
on how many symbols there are, since learning grows with them and parsing does not.

    SKLEARN_SHAG_DATA=treebanks python benchmarks/cross_validation.py [--treebanks NAME ...]
"""

import argparse
import time

import numpy as np
from sklearn.model_selection import GridSearchCV

from sklearn_shag import SpectralSHAG, SpectralSHAGCV
from sklearn_shag.datasets import fetch_treebank
from sklearn_shag.treebank import TokenFeature

FEATURES = [("upos",), ("upos", "deprel"), ("upos", "feats")]


def timed(search, X):
    start = time.perf_counter()
    search.fit(X)
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--treebanks", nargs="+", default=["UD_Tamil-TTB", "UD_French-Sequoia"])
    parser.add_argument("--ranks", type=int, default=16)
    arguments = parser.parse_args()
    n_states, smoothing = list(range(1, arguments.ranks + 1)), [5.0]
    print(f"{arguments.ranks} ranks, 5 folds, one job; seconds, and their ratio")
    for name in arguments.treebanks:
        trees = fetch_treebank(name, download_if_missing=False).train
        for feature in FEATURES:
            X = TokenFeature(*feature).fit_transform(trees)
            model = SpectralSHAG().fit(X[:100])
            model.predict(X[:100])  # compiles
            one = SpectralSHAGCV(n_states, smoothing_grid=smoothing, cv=5)
            grid = {"n_states": n_states, "smoothing": smoothing}
            all_ = GridSearchCV(SpectralSHAG(), grid, cv=5, error_score="raise")
            seconds_one, seconds_all = timed(one, X), timed(all_, X)
            for key in ("mean_test_score", "std_test_score", "rank_test_score"):
                assert np.array_equal(one.cv_results_[key], all_.cv_results_[key]), key
            assert (one.n_states_, one.smoothing_) == tuple(all_.best_params_.values())
            assert all(map(np.array_equal, one.operators_, all_.best_estimator_.operators_))
            print(
                f"{name:<22}{'|'.join(feature):<13}{one.symbols_.size:>4} symbols  "
                f"SpectralSHAGCV {seconds_one:8.2f}  GridSearchCV {seconds_all:8.2f}  "
                f"ratio {seconds_one / seconds_all:.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
