"""Sentences in bulk: chunks of them through the charts, on joblib workers."""

from functools import partial
from itertools import pairwise

import numpy as np

from sklearn_shag.operators import Operators
from sklearn_shag.parsing._fast_driver import lane_grammar, run_fast
from sklearn_shag.parsing._results import (
    ROUTES,
    SMALLEST_MARGINAL,
    decode_trees,
    new_results,
    repair,
)
from sklearn_shag.parsing._scaled_chart import LOG2_BASE, arc_marginals, inside, outside
from sklearn_shag.parsing._viterbi import viterbi
from sklearn_shag.utils._kernel import kernel
from sklearn_shag.utils._parallel import count_workers, delayed, run_parallel
from sklearn_shag.utils._progress import progress

# So many that workers end at about the same time.
CHUNKS_PER_WORKER = 5
# Marginals of a chunk, about: few enough for a treebank of any size, and to see progress.
LARGEST_CHUNK = 2**20

__all__ = ["decode", "log_partitions", "marginal_report", "marginals"]


@kernel
def _run_exactly(operators, codes, indptr, which, results, done):
    """Parse sentences of a chunk by the chart with exponents, as :func:`run_fast` does."""
    for k in range(which.size):
        s = which[k]
        sentence = codes[indptr[s] : indptr[s + 1]]
        arc_scores = np.ones((sentence.size, sentence.size))
        stop_scores = np.ones((sentence.size, 2))
        chart, z, exponent = inside(operators, sentence, arc_scores, stop_scores, True)
        done[k] = False
        if z == 0.0 or not np.isfinite(z):
            continue
        if results.marginals.size:
            adjoint = outside(
                operators, sentence, arc_scores, stop_scores, True, chart, z, exponent
            )
            out = np.zeros((sentence.size - 1, sentence.size))
            arc_marginals(chart, adjoint, out)
            if not np.isfinite(out).all():
                continue
            results.marginals[results.begins[s] : results.begins[s + 1]] = out.ravel()
        done[k] = True
        results.sign[s] = np.sign(z)
        results.log_abs_z[s] = np.log(abs(z)) + exponent * LOG2_BASE * np.log(2.0)


def _parse_chunk(grammars, first, codes, indptr, with_marginals=True):
    """Parse a chunk, each sentence with the first of the grammars that has mass for it.

    `first` is the :func:`lane_grammar` of the first, made once for all chunks; the others are
    seldom needed.
    """
    results = new_results(indptr, with_marginals)
    pending = np.arange(indptr.size - 1)
    for k, operators in enumerate(grammars):
        if not pending.size:
            break
        lanes, place = first
        if k:
            of_pending = [codes[indptr[s] : indptr[s + 1]] for s in pending]
            lanes, place = lane_grammar(operators, np.concatenate(of_pending))
        if lanes is not None:
            done = run_fast(lanes, place[codes], indptr, pending, results)
            pending = _take_route("fallback" if k else "fast", done, pending, results)
        if pending.size:
            # Out of range, or without mass, which only this chart is sure of.
            done = np.empty(pending.size, dtype=bool)
            _run_exactly(operators, codes, indptr, pending, results, done)
            pending = _take_route("fallback" if k else "scaled", done, pending, results)
    if with_marginals:
        for s in pending:  # no head is better than another
            results.marginals[results.begins[s] : results.begins[s + 1]] = 1.0
    return results


def _take_route(route, done, pending, results):
    """Note how the sentences that are done were parsed, and return the others."""
    results.route[pending[done]] = ROUTES.index(route)
    return pending[~done]


def _repair_task(grammars, first, codes, indptr):
    results = _parse_chunk(grammars, first, codes, indptr)
    repair(results.marginals, results.begins, indptr)
    return results.marginals


def _decode_task(grammars, first, codes, indptr, logarithm):
    results = _parse_chunk(grammars, first, codes, indptr)
    repair(results.marginals, results.begins, indptr)
    heads = np.empty(codes.size, dtype=np.int64)
    scores = results.marginals
    if logarithm:
        with np.errstate(divide="ignore"):  # no token is its own head
            scores = np.log(scores)
    decode_trees(scores, results.begins, indptr, heads)
    return np.delete(heads, indptr[:-1])


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


def _viterbi_task(log_operators, log_backoff, codes, indptr):
    heads = np.full(codes.size, -1)
    _chunk_viterbi(log_operators, log_backoff, codes, indptr, heads)
    return np.delete(heads, indptr[:-1])


def _over_chunks(task, codes, indptr, root, n_jobs, verbose):
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
    lengths = np.diff(indptr)
    order = np.argsort(lengths, kind="stable")
    codes = np.insert(codes, indptr[:-1], root)
    begins, sizes = (indptr[:-1] + np.arange(lengths.size))[order], lengths[order] + 1
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    codes = codes[np.repeat(begins - indptr[:-1], sizes) + np.arange(codes.size)]
    # Of the chart with 8 states, measured: cubic only for long sentences.
    cost = np.cumsum(sizes**2 * (sizes + 30.0))
    n_workers = count_workers(n_jobs)
    n_chunks = CHUNKS_PER_WORKER * n_workers if n_workers > 1 else 1
    n_chunks = max(n_chunks, int(np.sum(sizes**2.0) / LARGEST_CHUNK))
    cuts = np.searchsorted(cost, cost[-1] * np.arange(1, n_chunks) / n_chunks)
    cuts = np.unique(np.concatenate([[0], cuts, [lengths.size]]))
    tasks = (
        delayed(task)(
            codes=codes[indptr[start] : indptr[stop]],
            indptr=indptr[start : stop + 1] - indptr[start],
        )
        for start, stop in pairwise(cuts.tolist())
    )
    sentences = np.diff(cuts).tolist()
    with progress("Parsing", lengths.size, "sentences", verbose) as advance:
        return run_parallel(tasks, n_jobs, lambda k: advance(sentences[k])), order


def _parse(task, grammars, codes, indptr, n_jobs, verbose, **options):
    """Run a task on chunks, for which the first grammar is prepared once."""
    task = partial(task, grammars, lane_grammar(grammars[0], codes), **options)
    return _over_chunks(task, codes, indptr, _root(grammars[0]), n_jobs, verbose)


def _split(chunks, sizes, order):
    """Cut joined results into those of each sentence, in the order of the sentences."""
    flat = np.concatenate(chunks)
    ends = [0, *np.cumsum(sizes[order]).tolist()]
    parts = [None] * order.size
    for s, begin, end in zip(order.tolist(), ends, ends[1:], strict=False):
        parts[s] = flat[begin:end]
    return parts


def _unsort(chunks, order):
    values = np.concatenate(chunks)
    values[order] = values.copy()
    return values


def marginals(operators, backoff, codes, indptr, n_jobs=None, verbose=0):
    """Compute the arc marginals of encoded sentences.

    Parameters
    ----------
    operators, backoff : Operators
        A grammar, and the positive one for sentences where its Z is zero or not finite.
    codes, indptr : int ndarrays
        Sentence s is ``codes[indptr[s]:indptr[s + 1]]``.
    n_jobs : int or None, default=None
    verbose : int, default=0

    Returns
    -------
    marginals : list of ndarrays of shape (n_tokens_i, n_tokens_i + 1)
        Positive, rows sum to 1.
    """
    chunks, order = _parse(_repair_task, (operators, backoff), codes, indptr, n_jobs, verbose)
    lengths = np.diff(indptr)
    parts = _split(chunks, lengths * (lengths + 1), order)
    return [part.reshape(-1, n + 1) for part, n in zip(parts, lengths.tolist(), strict=True)]


def decode(operators, backoff, codes, indptr, decoder="mbr", n_jobs=None, verbose=0):
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
    verbose : int, default=0

    Returns
    -------
    heads : list of int ndarrays of shape (n_tokens_i,)
        Projective trees with one root each.
    """
    if decoder == "viterbi":
        with np.errstate(divide="ignore"):
            logs = [Operators(*map(np.log, grammar)) for grammar in (operators, backoff)]
        task = partial(_viterbi_task, *logs)
        chunks, order = _over_chunks(task, codes, indptr, _root(operators), n_jobs, verbose)
    else:
        grammars, logarithm = (operators, backoff), decoder == "mbr"
        chunks, order = _parse(
            _decode_task, grammars, codes, indptr, n_jobs, verbose, logarithm=logarithm
        )
    return _split(chunks, np.diff(indptr), order)


def log_partitions(operators, codes, indptr, n_jobs=None, verbose=0):
    """Compute log Z, the log probability of each sentence summed over its trees.

    Parameters
    ----------
    operators : Operators
    codes, indptr : int ndarrays
        Sentence s is ``codes[indptr[s]:indptr[s + 1]]``.
    n_jobs : int or None, default=None
    verbose : int, default=0

    Returns
    -------
    log_partitions : ndarray of shape (n_sentences,)
        -inf where Z is not positive.
    """
    chunks, order = _parse(
        _parse_chunk, (operators,), codes, indptr, n_jobs, verbose, with_marginals=False
    )
    sign = _unsort([results.sign for results in chunks], order)
    log_abs_z = _unsort([results.log_abs_z for results in chunks], order)
    return np.where(sign > 0, log_abs_z, -np.inf)


def marginal_report(operators, codes, indptr, n_jobs=None, verbose=0):
    """Tell which chart parses each sentence, and what is negative before it is repaired.

    Parameters
    ----------
    operators : Operators
    codes, indptr : int ndarrays
        Sentence s is ``codes[indptr[s]:indptr[s + 1]]``.
    n_jobs : int or None, default=None
    verbose : int, default=0

    Returns
    -------
    z_sign : int ndarray of shape (n_sentences,)
        Of Z; 0 where the fallback grammar would stand in.
    negative_share, negative_mass : ndarrays of shape (n_sentences,)
        Share of negative marginals among those of a sentence, and their mass per token.
    routes : str ndarray of shape (n_sentences,)
        Of ROUTES: "fast", "scaled", or "none" where the fallback grammar would stand in.
    """
    chunks, order = _parse(_parse_chunk, (operators,), codes, indptr, n_jobs, verbose)
    route = _unsort([results.route for results in chunks], order)
    sign = _unsort([results.sign for results in chunks], order)
    lengths = np.diff(indptr)
    parts = _split([results.marginals for results in chunks], lengths * (lengths + 1), order)
    # Where there is no mass marginals are 1.
    negative = [np.where(part < -SMALLEST_MARGINAL, part, 0.0) for part in parts]
    share = np.array([np.count_nonzero(part) for part in negative]) / lengths**2
    mass = -np.array([part.sum() for part in negative]) / lengths
    return sign.astype(np.int64), share, mass, np.array(ROUTES)[route]


def _root(operators):
    """The code of the root symbol, the last head of a grammar."""
    return operators.alpha_1.shape[0] - 1
