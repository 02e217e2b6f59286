"""Sentences in bulk: chunks of them through the chart, on joblib workers."""

from functools import partial
from itertools import pairwise

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from sklearn_shag.operators import Operators
from sklearn_shag.parsing._chart import (
    LOG2_BASE,
    arc_marginals,
    inside,
    outside,
)
from sklearn_shag.parsing._viterbi import eisner, viterbi
from sklearn_shag.utils._kernel import kernel

__all__ = ["SMALLEST_MARGINAL", "decode", "log_partitions", "marginals"]

# Marginals of signed operators can come out zero or negative; eq. 28 takes their logarithm.
SMALLEST_MARGINAL = 1e-12


@kernel
def _with_root(codes, root):
    """Put the root symbol at position 0."""
    positions = np.empty(codes.size + 1, dtype=np.int64)
    positions[0] = root
    positions[1:] = codes
    return positions


@kernel
def _sentence_marginals(operators, codes, out):
    """Set `out` to the signed arc marginals of one sentence; False where Z is of no use."""
    positions = _with_root(codes, operators.alpha_1.shape[0] - 1)
    arc_scores = np.ones((positions.size, positions.size))
    stop_scores = np.ones((positions.size, 2))
    chart, z, exponent = inside(operators, positions, arc_scores, stop_scores, True)
    if z == 0.0 or not np.isfinite(z):
        return False
    adjoint = outside(operators, positions, arc_scores, stop_scores, True, chart, z, exponent)
    arc_marginals(chart, adjoint, out)
    return bool(np.all(np.isfinite(out)))


@kernel
def _repair(marginals):
    """Make signed marginals a distribution over heads for every token: clip, then renormalise.

    A negative Z has already flipped the sign of all of them: rows
    sum to 1 in any case. The clipping is what minimum-risk decoding and users see alike.
    """
    for m in range(marginals.shape[0]):
        total = 0.0
        for h in range(marginals.shape[1]):
            if h != m + 1:
                marginals[m, h] = max(marginals[m, h], SMALLEST_MARGINAL)
                total += marginals[m, h]
        for h in range(marginals.shape[1]):
            marginals[m, h] /= total


@kernel
def _chunk_marginals(operators, backoff, codes, indptr, flat):
    """Write the repaired marginals of every sentence to `flat`, one after the other."""
    begin = 0
    for s in range(indptr.size - 1):
        sentence = codes[indptr[s] : indptr[s + 1]]
        n_tokens = sentence.size
        end = begin + n_tokens * (n_tokens + 1)
        out = flat[begin:end].reshape(n_tokens, n_tokens + 1)
        if not _sentence_marginals(operators, sentence, out):
            _sentence_marginals(backoff, sentence, out)
        _repair(out)
        begin = end


@kernel
def _chunk_eisner(flat, indptr, logarithm, heads):
    """Decode every sentence from its marginals, by their logarithms or as they are."""
    begin = 0
    for s in range(indptr.size - 1):
        n_tokens = indptr[s + 1] - indptr[s]
        scores = np.zeros((n_tokens + 1, n_tokens + 1))
        for m in range(n_tokens):
            for h in range(n_tokens + 1):
                if h != m + 1:
                    marginal = flat[begin + m * (n_tokens + 1) + h]
                    scores[h, m + 1] = np.log(marginal) if logarithm else marginal
        eisner(scores, heads[indptr[s] : indptr[s + 1]])
        begin += n_tokens * (n_tokens + 1)


@kernel
def _chunk_viterbi(log_operators, log_backoff, codes, indptr, heads):
    """Find the most probable derivation of every sentence."""
    for s in range(indptr.size - 1):
        sentence = codes[indptr[s] : indptr[s + 1]]
        positions = _with_root(sentence, log_operators.alpha_1.shape[0] - 1)
        arc_scores = np.zeros((positions.size, positions.size))
        out = heads[indptr[s] : indptr[s + 1]]
        if viterbi(log_operators, positions, arc_scores, out) == -np.inf:
            viterbi(log_backoff, positions, arc_scores, out)


@kernel
def _chunk_log_partitions(operators, codes, indptr, logs):
    """Compute log Z of every sentence, -inf where Z is not positive."""
    for s in range(indptr.size - 1):
        positions = _with_root(codes[indptr[s] : indptr[s + 1]], operators.alpha_1.shape[0] - 1)
        arc_scores = np.ones((positions.size, positions.size))
        stop_scores = np.ones((positions.size, 2))
        _, z, exponent = inside(operators, positions, arc_scores, stop_scores, True)
        logs[s] = np.log(z) + exponent * LOG2_BASE * np.log(2.0) if z > 0.0 else -np.inf


def _marginals_task(operators, backoff, codes, indptr):
    lengths = np.diff(indptr)
    flat = np.zeros(np.sum(lengths * (lengths + 1)))
    _chunk_marginals(operators, backoff, codes, indptr, flat)
    return flat


def _decode_task(operators, backoff, codes, indptr, decoder):
    heads = np.empty(codes.size, dtype=np.int64)
    if decoder == "viterbi":
        with np.errstate(divide="ignore"):
            log_operators = Operators(*(np.log(part) for part in operators))
            log_backoff = Operators(*(np.log(part) for part in backoff))
        _chunk_viterbi(log_operators, log_backoff, codes, indptr, heads)
    else:
        flat = _marginals_task(operators, backoff, codes, indptr)
        _chunk_eisner(flat, indptr, decoder == "mbr", heads)
    return heads


def _log_partitions_task(operators, codes, indptr):
    logs = np.empty(indptr.size - 1)
    _chunk_log_partitions(operators, codes, indptr, logs)
    return logs


def _over_chunks(task, codes, indptr, n_jobs):
    """Run a task on chunks of sentences of about equal cost and join what it returns.

    Kernels release the interpreter lock, so threads suffice; tasks share nothing but their
    arguments, so any joblib backend will do.
    """
    cost = np.cumsum(np.diff(indptr).astype(float) ** 3)
    n_workers = effective_n_jobs(n_jobs)
    n_chunks = 4 * n_workers if n_workers > 1 else 1
    cuts = np.searchsorted(cost, cost[-1] * np.arange(1, n_chunks) / n_chunks)
    cuts = np.unique(np.concatenate([[0], cuts, [indptr.size - 1]]))
    results = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(task)(
            codes=codes[indptr[start] : indptr[stop]],
            indptr=indptr[start : stop + 1] - indptr[start],
        )
        for start, stop in pairwise(cuts)
    )
    return np.concatenate(results)


def marginals(operators, backoff, codes, indptr, n_jobs=None):
    """Compute the arc marginals of encoded sentences.

    Parameters
    ----------
    operators, backoff : Operators
        A grammar, and the positive one for sentences where its Z is zero or not finite.
    codes, indptr : int ndarrays
        Sentence s is ``codes[indptr[s]:indptr[s + 1]]``.
    n_jobs : int or None, default=None

    Returns
    -------
    marginals : list of ndarrays of shape (n_tokens_i, n_tokens_i + 1)
        Positive, rows sum to 1.
    """
    task = partial(_marginals_task, operators, backoff)
    flat = _over_chunks(task, codes, indptr, n_jobs)
    lengths = np.diff(indptr)
    ends = np.cumsum(lengths * (lengths + 1))
    return [
        part.reshape(length, length + 1)
        for part, length in zip(np.split(flat, ends[:-1]), lengths, strict=True)
    ]


def decode(operators, backoff, codes, indptr, decoder="mbr", n_jobs=None):
    """Find the best tree of encoded sentences.

    Parameters
    ----------
    operators, backoff : Operators
        A grammar, and the positive one for sentences where its Z is zero or not finite.
    codes, indptr : int ndarrays
        Sentence s is ``codes[indptr[s]:indptr[s + 1]]``.
    decoder : {"mbr", "max_marginal", "viterbi"}, default="mbr"
        Maximise the sum of log marginals, the sum of marginals, or the probability of the
        derivation with its states, which needs non-negative operators.
    n_jobs : int or None, default=None

    Returns
    -------
    heads : int ndarray of shape (n_tokens,)
        Projective trees with one root each.
    """
    task = partial(_decode_task, operators, backoff, decoder=decoder)
    return _over_chunks(task, codes, indptr, n_jobs)


def log_partitions(operators, codes, indptr, n_jobs=None):
    """Compute log Z, the log probability of each sentence summed over its trees.

    Parameters
    ----------
    operators : Operators
    codes, indptr : int ndarrays
        Sentence s is ``codes[indptr[s]:indptr[s + 1]]``.
    n_jobs : int or None, default=None

    Returns
    -------
    log_partitions : ndarray of shape (n_sentences,)
        -inf where Z is not positive.
    """
    return _over_chunks(partial(_log_partitions_task, operators), codes, indptr, n_jobs)
