"""Sentences in bulk: chunks of them through the chart, on joblib workers."""

from functools import partial
from itertools import pairwise

import numpy as np

from sklearn_shag.operators import Operators
from sklearn_shag.parsing._chart import (
    LOG2_BASE,
    arc_marginals,
    inside,
    outside,
)
from sklearn_shag.parsing._viterbi import eisner, viterbi
from sklearn_shag.utils._kernel import kernel
from sklearn_shag.utils._parallel import count_workers, delayed, run_parallel

__all__ = ["SMALLEST_MARGINAL", "decode", "log_partitions", "marginal_signs", "marginals"]

# Marginals of signed operators can come out zero or negative; eq. 28 takes their logarithm.
SMALLEST_MARGINAL = 1e-12


@kernel
def _sentence_marginals(operators, backoff, codes):
    """Compute the repaired marginals of one sentence; ``codes[0]`` is the root symbol."""
    arc_scores = np.ones((codes.size, codes.size))
    stop_scores = np.ones((codes.size, 2))
    out = np.zeros((codes.size - 1, codes.size))
    for grammar in (operators, backoff):
        chart, z, exponent = inside(grammar, codes, arc_scores, stop_scores, True)
        if z != 0.0 and np.isfinite(z):
            adjoint = outside(grammar, codes, arc_scores, stop_scores, True, chart, z, exponent)
            arc_marginals(chart, adjoint, out)
            if _repair(out):
                break
    return out


@kernel
def _repair(marginals):
    """Make signed marginals a distribution over heads for every token: clip, then renormalise.

    Their rows sum to 1 as they are, also where Z is negative. What is clipped here is what
    decoding and users see alike. Returns False, with rows undefined, where they are not finite.
    """
    for m in range(marginals.shape[0]):
        total = 0.0
        for h in range(marginals.shape[1]):
            if h != m + 1:
                # Written so that NaN stays NaN.
                clipped = marginals[m, h] < SMALLEST_MARGINAL
                marginals[m, h] = SMALLEST_MARGINAL if clipped else marginals[m, h]
                total += marginals[m, h]
        if not np.isfinite(total):
            return False
        for h in range(marginals.shape[1]):
            marginals[m, h] /= total
    return True


@kernel
def _chunk_marginals(operators, backoff, codes, indptr, flat):
    """Write the marginals of every sentence to `flat`, one after the other."""
    end = 0
    for s in range(indptr.size - 1):
        marginals = _sentence_marginals(operators, backoff, codes[indptr[s] : indptr[s + 1]])
        for m in range(marginals.shape[0]):
            for h in range(marginals.shape[1]):
                flat[end] = marginals[m, h]
                end += 1


@kernel
def _chunk_decode(operators, backoff, codes, indptr, logarithm, heads):
    """Decode every sentence from its marginals, by their logarithms or as they are (eq. 28)."""
    for s in range(indptr.size - 1):
        marginals = _sentence_marginals(operators, backoff, codes[indptr[s] : indptr[s + 1]])
        scores = np.zeros((marginals.shape[1], marginals.shape[1]))
        for m in range(marginals.shape[0]):
            for h in range(marginals.shape[1]):
                if h != m + 1:
                    scores[h, m + 1] = np.log(marginals[m, h]) if logarithm else marginals[m, h]
        eisner(scores, heads[indptr[s] + 1 : indptr[s + 1]])


@kernel
def _chunk_viterbi(log_operators, log_backoff, codes, indptr, heads):
    """Find the most probable derivation of every sentence."""
    for s in range(indptr.size - 1):
        sentence = codes[indptr[s] : indptr[s + 1]]
        arc_scores = np.zeros((sentence.size, sentence.size))
        for grammar in (log_operators, log_backoff):
            score = viterbi(grammar, sentence, arc_scores, heads[indptr[s] + 1 : indptr[s + 1]])
            if score > -np.inf:
                break


@kernel
def _chunk_log_partitions(operators, codes, indptr, logs):
    """Compute log Z of every sentence, -inf where Z is not positive."""
    for s in range(indptr.size - 1):
        sentence = codes[indptr[s] : indptr[s + 1]]
        arc_scores = np.ones((sentence.size, sentence.size))
        stop_scores = np.ones((sentence.size, 2))
        _, z, exponent = inside(operators, sentence, arc_scores, stop_scores, True)
        logs[s] = np.log(z) + exponent * LOG2_BASE * np.log(2.0) if z > 0.0 else -np.inf


@kernel
def _chunk_signs(operators, codes, indptr, report):
    """Write the sign of Z, and share and mass of negative marginals, of every sentence."""
    for s in range(indptr.size - 1):
        sentence = codes[indptr[s] : indptr[s + 1]]
        arc_scores = np.ones((sentence.size, sentence.size))
        stop_scores = np.ones((sentence.size, 2))
        chart, z, exponent = inside(operators, sentence, arc_scores, stop_scores, True)
        if z == 0.0 or not np.isfinite(z):
            continue
        adjoint = outside(operators, sentence, arc_scores, stop_scores, True, chart, z, exponent)
        marginals = np.zeros((sentence.size - 1, sentence.size))
        arc_marginals(chart, adjoint, marginals)
        if not np.isfinite(marginals).all():
            continue
        report[s, 0] = np.sign(z)
        for marginal in marginals.flat:
            if marginal < -SMALLEST_MARGINAL:
                report[s, 1] += 1.0 / (sentence.size - 1) ** 2
                report[s, 2] -= marginal / (sentence.size - 1)


def _marginals_task(operators, backoff, codes, indptr):
    sizes = np.diff(indptr)
    flat = np.empty(np.sum(sizes * (sizes - 1)))
    _chunk_marginals(operators, backoff, codes, indptr, flat)
    return flat


def _decode_task(operators, backoff, codes, indptr, decoder):
    heads = np.full(codes.size, -1)
    if decoder == "viterbi":
        with np.errstate(divide="ignore"):
            log_operators = Operators(*(np.log(part) for part in operators))
            log_backoff = Operators(*(np.log(part) for part in backoff))
        _chunk_viterbi(log_operators, log_backoff, codes, indptr, heads)
    else:
        _chunk_decode(operators, backoff, codes, indptr, decoder == "mbr", heads)
    return np.delete(heads, indptr[:-1])


def _log_partitions_task(operators, codes, indptr):
    logs = np.empty(indptr.size - 1)
    _chunk_log_partitions(operators, codes, indptr, logs)
    return logs


def _signs_task(operators, codes, indptr):
    report = np.zeros((indptr.size - 1, 3))
    _chunk_signs(operators, codes, indptr, report)
    return report


def _over_chunks(task, codes, indptr, root, n_jobs):
    """Run a task on chunks of sentences of about equal cost and join what it returns.

    Tasks see the root symbol at the first position of every sentence. Kernels release the
    interpreter lock, so threads suffice; tasks share nothing but their arguments, so any joblib
    backend will do.
    """
    cost = np.cumsum(np.diff(indptr).astype(float) ** 3)
    n_workers = count_workers(n_jobs)
    n_chunks = 4 * n_workers if n_workers > 1 else 1
    cuts = np.searchsorted(cost, cost[-1] * np.arange(1, n_chunks) / n_chunks)
    cuts = np.unique(np.concatenate([[0], cuts, [indptr.size - 1]]))
    codes = np.insert(codes, indptr[:-1], root)
    indptr = indptr + np.arange(indptr.size)
    tasks = (
        delayed(task)(
            codes=codes[indptr[start] : indptr[stop]],
            indptr=indptr[start : stop + 1] - indptr[start],
        )
        for start, stop in pairwise(cuts)
    )
    return np.concatenate(run_parallel(tasks, n_jobs))


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
    flat = _over_chunks(task, codes, indptr, _root(operators), n_jobs)
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
    return _over_chunks(task, codes, indptr, _root(operators), n_jobs)


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
    task = partial(_log_partitions_task, operators)
    return _over_chunks(task, codes, indptr, _root(operators), n_jobs)


def marginal_signs(operators, codes, indptr, n_jobs=None):
    """Tell what is negative before it is repaired.

    Parameters
    ----------
    operators : Operators
    codes, indptr : int ndarrays
        Sentence s is ``codes[indptr[s]:indptr[s + 1]]``.
    n_jobs : int or None, default=None

    Returns
    -------
    z_sign : int ndarray of shape (n_sentences,)
        Of Z; 0 where the back-off grammar would stand in.
    negative_share, negative_mass : ndarrays of shape (n_sentences,)
        Share of negative marginals among those of a sentence, and their mass per token.
    """
    task = partial(_signs_task, operators)
    sign, share, mass = _over_chunks(task, codes, indptr, _root(operators), n_jobs).T
    return sign.astype(np.int64), share, mass


def _root(operators):
    """The code of the root symbol, the last head of a grammar."""
    return operators.alpha_1.shape[0] - 1
