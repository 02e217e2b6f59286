"""Sentences in bulk, all that estimators ask of them: marginals, best trees, log Z, a report."""

from functools import partial

import numpy as np

from sklearn_shag.operators import Operators
from sklearn_shag.parsing._chunks import over_chunks, split, unsort
from sklearn_shag.parsing._decoding import decode_derivations, decode_trees
from sklearn_shag.parsing._ladder import SMALLEST_MARGINAL, parse_chunk, repair
from sklearn_shag.parsing._packed_grammar import pack_grammar
from sklearn_shag.parsing._results import ROUTES

__all__ = ["decode", "log_partitions", "marginal_report", "marginals"]


def _repair_task(grammars, first, codes, indptr):
    results = parse_chunk(grammars, first, codes, indptr)
    repair(results.marginals, results.begins, indptr)
    return results.marginals


def _decode_task(grammars, first, codes, indptr, logarithm):
    results = parse_chunk(grammars, first, codes, indptr)
    repair(results.marginals, results.begins, indptr)
    heads = np.empty(codes.size, dtype=np.int64)
    scores = results.marginals
    if logarithm:
        with np.errstate(divide="ignore"):  # no token is its own head
            scores = np.log(scores)
    decode_trees(scores, results.begins, indptr, heads)
    return np.delete(heads, indptr[:-1])


def _viterbi_task(log_operators, log_fallback, codes, indptr):
    heads = np.full(codes.size, -1)
    decode_derivations(log_operators, log_fallback, codes, indptr, heads)
    return np.delete(heads, indptr[:-1])


def _parse(task, grammars, codes, indptr, n_jobs, verbose, **options):
    """Run a task on chunks, for which the first grammar is prepared once."""
    task = partial(task, grammars, pack_grammar(grammars[0], codes), **options)
    return over_chunks(task, codes, indptr, _root(grammars[0]), n_jobs, verbose)


def marginals(operators, fallback, codes, indptr, n_jobs=None, verbose=0):
    """Compute the arc marginals of encoded sentences.

    Parameters
    ----------
    operators, fallback : Operators
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
    chunks, order = _parse(_repair_task, (operators, fallback), codes, indptr, n_jobs, verbose)
    lengths = np.diff(indptr)
    parts = split(chunks, lengths * (lengths + 1), order)
    return [part.reshape(-1, n + 1) for part, n in zip(parts, lengths.tolist(), strict=True)]


def decode(operators, fallback, codes, indptr, decoder="mbr", n_jobs=None, verbose=0):
    """Find the best tree of encoded sentences.

    Parameters
    ----------
    operators, fallback : Operators
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
            logs = [Operators(*map(np.log, grammar)) for grammar in (operators, fallback)]
        task = partial(_viterbi_task, *logs)
        chunks, order = over_chunks(task, codes, indptr, _root(operators), n_jobs, verbose)
    else:
        grammars, logarithm = (operators, fallback), decoder == "mbr"
        chunks, order = _parse(
            _decode_task, grammars, codes, indptr, n_jobs, verbose, logarithm=logarithm
        )
    return split(chunks, np.diff(indptr), order)


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
        parse_chunk, (operators,), codes, indptr, n_jobs, verbose, with_marginals=False
    )
    sign = unsort([results.sign for results in chunks], order)
    log_abs_z = unsort([results.log_abs_z for results in chunks], order)
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
    chunks, order = _parse(parse_chunk, (operators,), codes, indptr, n_jobs, verbose)
    route = unsort([results.route for results in chunks], order)
    sign = unsort([results.sign for results in chunks], order)
    lengths = np.diff(indptr)
    parts = split([results.marginals for results in chunks], lengths * (lengths + 1), order)
    # Where there is no mass marginals are 1.
    negative = [np.where(part < -SMALLEST_MARGINAL, part, 0.0) for part in parts]
    share = np.array([np.count_nonzero(part) for part in negative]) / lengths**2
    mass = -np.array([part.sum() for part in negative]) / lengths
    return sign.astype(np.int64), share, mass, np.array(ROUTES)[route]


def _root(operators):
    """The code of the root symbol, the last head of a grammar."""
    return operators.alpha_1.shape[0] - 1
