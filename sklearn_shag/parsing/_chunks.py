"""Chunks of sentences: how a text is cut into them, handed to workers, and put together again."""

from itertools import pairwise

import numpy as np

from sklearn_shag.utils._parallel import count_workers, delayed, run_parallel
from sklearn_shag.utils._progress import progress

# So many that workers end at about the same time.
CHUNKS_PER_WORKER = 5
# Marginals of a chunk, about: few enough for a treebank of any size, and to see progress.
LARGEST_CHUNK = 2**20


def over_chunks(task, codes, indptr, root, n_jobs, verbose):
    """Run a task on chunks of sentences of about equal length, and chunks of about equal cost.

    Tasks see the root symbol at the first position of every sentence. Kernels release the
    interpreter lock, so threads suffice; tasks share nothing but their arguments, so any joblib
    backend will do.

    Returns
    -------
    results : list
        What the task returned for each chunk.
    order : int ndarray of shape (n_sentences,)
        The sentences in the order in which they were taken: the shortest first.
    """
    codes, indptr, order = _shortest_first(codes, indptr, root)
    cuts = _cut(np.diff(indptr), n_jobs)
    tasks = (
        delayed(task)(
            codes=codes[indptr[start] : indptr[stop]],
            indptr=indptr[start : stop + 1] - indptr[start],
        )
        for start, stop in pairwise(cuts.tolist())
    )
    sentences = np.diff(cuts).tolist()
    with progress("Parsing", order.size, "sentences", verbose) as advance:
        return run_parallel(tasks, n_jobs, lambda k: advance(sentences[k])), order


def _shortest_first(codes, indptr, root):
    """Sort sentences by their lengths, and put the root symbol before each."""
    lengths = np.diff(indptr)
    order = np.argsort(lengths, kind="stable")
    codes = np.insert(codes, indptr[:-1], root)
    begins, sizes = (indptr[:-1] + np.arange(lengths.size))[order], lengths[order] + 1
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    return codes[np.repeat(begins - indptr[:-1], sizes) + np.arange(codes.size)], indptr, order


def _cut(sizes, n_jobs):
    """Find where chunks of about equal cost begin, and the last one ends."""
    # Of the chart with 8 states, measured: cubic only for long sentences.
    cost = np.cumsum(sizes**2 * (sizes + 30.0))
    n_workers = count_workers(n_jobs)
    n_chunks = CHUNKS_PER_WORKER * n_workers if n_workers > 1 else 1
    n_chunks = max(n_chunks, int(np.sum(sizes**2.0) / LARGEST_CHUNK))
    cuts = np.searchsorted(cost, cost[-1] * np.arange(1, n_chunks) / n_chunks)
    return np.unique(np.concatenate([[0], cuts, [sizes.size]]))


def split(chunks, sizes, order):
    """Cut joined results into those of each sentence, in the order of the sentences."""
    flat = np.concatenate(chunks)
    ends = [0, *np.cumsum(sizes[order]).tolist()]
    parts = [None] * order.size
    for s, begin, end in zip(order.tolist(), ends, ends[1:], strict=False):
        parts[s] = flat[begin:end]
    return parts


def unsort(chunks, order):
    values = np.concatenate(chunks)
    values[order] = values.copy()
    return values
