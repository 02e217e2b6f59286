"""Digests of all that every estimator learns and predicts, one a line, to compare processes by.

``python -m tests.digests N_JOBS BLAS_THREADS [NAME ...]`` prints them for all estimators, or some.
"""

import hashlib
import sys

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from sklearn_shag.datasets import load_english
from tests.estimators import BY_SENTENCE, ESTIMATORS, TRANSFORMERS, learned


def digest(value):
    """A number of all bits of a value: of arrays, and what is made of them."""
    found = hashlib.sha256()
    for part in _parts(value):
        found.update(part)
    return found.hexdigest()[:16]


def _parts(value):
    if isinstance(value, np.ndarray) and value.dtype != object:
        yield f"{value.dtype}{value.shape}".encode()
        yield np.ascontiguousarray(value).tobytes()
    elif isinstance(value, dict):
        for name in sorted(value):
            yield str(name).encode()
            yield from _parts(value[name])
    elif isinstance(value, list | tuple | np.ndarray):
        yield f"{len(value)}".encode()
        for each in value:
            yield from _parts(each)
    elif hasattr(value, "indptr"):
        yield from map(np.ndarray.tobytes, (value.indptr, value.indices, value.data))
    elif callable(value) or type(value).__module__.startswith("sklearn_shag."):
        yield type(value).__name__.encode()  # no numbers
    else:
        yield repr(value).encode()


def digests(estimator, trees):
    """Those of what is learned, and of what each method returns."""
    model = clone(estimator).fit(trees[:150])
    yield "learned", digest(learned(model))
    methods = ["transform"] if hasattr(model, "transform") else [*BY_SENTENCE, "predict_labels"]
    for name in filter(lambda name: hasattr(model, name), methods):
        if name != "predict_labels" or len(getattr(model, "labels_", ())):
            yield name, digest(getattr(model, name)(trees[150:200]))
    if hasattr(model, "sample"):
        drawn = model.sample(5, random_state=0)
        yield "sample", digest([[tree.symbols, tree.heads] for tree in drawn])
    if hasattr(model, "score"):
        yield "score", digest(model.score(trees[150:200]))


def main(n_jobs, blas_threads, *names):
    trees = load_english().data
    with threadpool_limits(int(blas_threads), user_api="blas"):
        for name, estimator in (ESTIMATORS | TRANSFORMERS).items():
            if names and name not in names:
                continue
            if "n_jobs" in estimator.get_params():
                estimator = clone(estimator).set_params(n_jobs=int(n_jobs))
            for what, found in digests(estimator, trees):
                print(name, what, found, sep="\t", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
