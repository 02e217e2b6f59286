"""
Learning on a cluster
=====================

This example runs the fits of a grid search on the workers of a dask cluster, and learns a grammar
from files whose trees are counted there. Both give the same result as one process, to the last
digit.

``python cluster.py`` starts a cluster of two processes on this machine and stops it again.
``python cluster.py tcp://host:8786 --folder FOLDER`` connects to a scheduler. The package must be
installed on its workers, and they must be able to read the folder.
"""

import argparse
import tempfile
from pathlib import Path

import joblib
import numpy as np
from distributed import Client, LocalCluster, as_completed
from sklearn.model_selection import GridSearchCV, train_test_split

from sklearn_shag import SpectralSHAG
from sklearn_shag.datasets import load_english
from sklearn_shag.sequences import count_treebank, merge_statistics
from sklearn_shag.treebank import read_conllu, write_conllu

N_FILES = 8


def search_grid(trees):
    """Fit and score the candidates on the workers, which get the trees once."""
    grid = {"n_states": [1, 2, 4, 6, 8], "smoothing": [0, 1, 5]}
    search = GridSearchCV(SpectralSHAG(), grid, cv=3, error_score="raise")
    with joblib.parallel_config(backend="dask", scatter=[trees]):
        return search.fit(trees)


def count_file(path):
    """Read and count one file, on the worker that got its path."""
    return count_treebank(read_conllu(path))


def count_files(client, paths):
    """Add up the counts of files, in whatever order they arrive."""
    futures = client.map(count_file, paths, pure=False)
    arrived = as_completed(futures, with_results=True)
    return merge_statistics(statistics for _, statistics in arrived)


def run(client, folder):
    """Learn in both ways and print what came out."""
    train, test = train_test_split(load_english().data, test_size=0.25, random_state=0)
    print(f"{len(client.ncores())} workers with {sum(client.ncores().values())} threads")

    search = search_grid(train)
    print(f"{len(search.cv_results_['params'])} candidates, the best of them {search.best_params_}")
    print(f"unlabelled attachment score of the best {search.score(test):.3f}")

    paths = [folder / f"part-{k}.conllu" for k in range(N_FILES)]
    for k, path in enumerate(paths):
        write_conllu(train[k::N_FILES], path)
    statistics = count_files(client, paths)
    model = SpectralSHAG(**search.best_params_).fit_statistics(statistics)
    print(f"{len(paths)} files counted, {statistics.symbols.size} symbols in all of them together")
    print(f"unlabelled attachment score from the counts {model.score(test):.3f}")
    equal = np.array_equal(model.operators_.A, search.best_estimator_.operators_.A)
    print(f"the two grammars are {'equal' if equal else 'different'} to the last bit")


def main():
    """Find or start a cluster and use it."""
    parser = argparse.ArgumentParser(description="Learning on a dask cluster.")
    parser.add_argument("scheduler", nargs="?", help="address, such as tcp://host:8786")
    parser.add_argument("--folder", help="for the parts of the treebank; workers must see it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        if options.scheduler is not None:
            with Client(options.scheduler) as client:
                run(client, Path(folder))
        else:
            with (
                LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
                Client(cluster) as client,
            ):
                run(client, Path(folder))


if __name__ == "__main__":
    main()

# sphinx_gallery_thumbnail_path = "../examples/at_scale/cluster.svg"
