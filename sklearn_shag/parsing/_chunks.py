"""Chunks of sentences: how a text is cut into them, handed to workers, and put together again."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sklearn_shag.parsing._potentials import places_of
from sklearn_shag.utils._parallel import count_workers, delayed, run_parallel
from sklearn_shag.utils._progress import progress

# Of a chunk, about, in the units of `cut`: a hundredth of a second with 8 states. That is much
# beside what it takes to hand one out, and makes enough of them for many workers.
CHUNK_COST = 8e6
# One worker whom nobody watches has chunks so much larger: for results that fit into memory.
CHUNK_COST_ALONE = 1e9


class Batch(NamedTuple):
    """Sentences that are to be parsed."""

    sentences: list  # as they were given
    codes: np.ndarray  # (n_tokens,), or (n_tokens, n_columns) as the parser encodes them
    indptr: np.ndarray  # (n_sentences + 1,)
    allowed: list | None  # which arcs of each sentence may be used, (N, N + 1); None for all


def over_chunks(task, batch, n_jobs, verbose):
    """Run a task on chunks of sentences of about equal length, and chunks of about equal cost.

    Kernels release the interpreter lock, so threads suffice; tasks share nothing but their
    arguments, so any joblib backend will do.

    Parameters
    ----------
    task : callable
        Takes a Batch and returns a list with a result for each of its sentences.
    batch : Batch
    n_jobs : int or None
    verbose : int

    Returns
    -------
    results : list
        For each sentence of the batch.
    """
    lengths = batch.indptr[1:] - batch.indptr[:-1]
    chunks = cut(lengths, CHUNK_COST)
    if len(chunks) > 1 and not verbose and count_workers(n_jobs) == 1:
        chunks = cut(lengths, CHUNK_COST_ALONE)
    if len(chunks) == 1 and not verbose:
        return task(batch)
    tasks = (delayed(task)(take_batch(batch, chosen)) for chosen in chunks)
    with progress("Parsing", batch.indptr.size - 1, "sentences", verbose) as advance:
        parts = run_parallel(tasks, n_jobs, lambda k: advance(chunks[k].size))
    results = [None] * (batch.indptr.size - 1)
    for chosen, part in zip(chunks, parts, strict=True):
        for s, result in zip(chosen.tolist(), part, strict=True):
            results[s] = result
    return results


def cut(lengths, chunk_cost):
    """Cut sentences into chunks of about some cost, the shortest first: a list of int arrays."""
    # Of the chart with 8 states, measured: cubic only for long sentences.
    cost = (lengths + 1) ** 2 * (lengths + 31.0)
    total = cost.sum()
    if total <= chunk_cost:
        return [np.arange(lengths.size)]
    order = np.argsort(lengths, kind="stable")
    n_chunks = int(total / chunk_cost) + 1
    cuts = np.searchsorted(np.cumsum(cost[order]), total * np.arange(1, n_chunks) / n_chunks)
    cuts = np.unique(np.concatenate([[0], cuts, [lengths.size]]))
    return [order[start:stop] for start, stop in pairwise(cuts.tolist())]


def take_batch(batch, chosen):
    """Take some sentences of a batch, in the order given by an int array."""
    indptr, places = places_of(batch.indptr, chosen)
    allowed = None if batch.allowed is None else [batch.allowed[s] for s in chosen]
    return Batch([batch.sentences[s] for s in chosen], batch.codes[places], indptr, allowed)
