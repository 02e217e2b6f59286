"""What parsers ask of a chunk of sentences: marginals that are probabilities, best trees, log Z."""

import numpy as np

from sklearn_shag.parsing._chart import ROUTES, Rung, climb, take_batch
from sklearn_shag.parsing._decoders import best_arborescence, best_tree
from sklearn_shag.parsing._potentials import arc_begins, as_factors
from sklearn_shag.parsing._viterbi import best_derivations, log_factors, log_grammar
from sklearn_shag.utils._kernel import kernel

# Marginals of signed operators can come out zero or negative; eq. 28 takes their logarithm.
SMALLEST_MARGINAL = 1e-12


def _split(flat, indptr):
    ends = indptr.tolist()
    return list(map(flat.__getitem__, map(slice, ends, ends[1:])))


def parse_marginals(rungs, batch, decoder="mbr"):
    """List arc marginals: positive where arcs are allowed, rows sum to 1.

    Parameters
    ----------
    rungs : sequence of Rung
        The second and further ones are for sentences that those before have no mass for.
    batch : Batch
        With allowed arcs of which the decoder can make a tree.
    decoder : str, default="mbr"
        With "mst" arcs of trees may cross.

    Returns
    -------
    marginals : list of ndarrays of shape (n_tokens_i, n_tokens_i + 1)
    """
    lengths = np.diff(batch.indptr).tolist()
    parts = _split(_repaired_marginals(rungs, batch, decoder), arc_begins(batch.indptr))
    return [part.reshape(-1, n + 1) for part, n in zip(parts, lengths, strict=True)]


def parse_heads(rungs, batch, decoder):
    """List the heads of the trees that :func:`decode_marginals` finds."""
    return decode_marginals(_repaired_marginals(rungs, batch, decoder), batch.indptr, decoder)


def _repaired_marginals(rungs, batch, decoder):
    """The marginals of all sentences, one after the other, of shape (n_arcs,)."""
    possible = permit_projective(batch.allowed, decoder)
    factors, results = climb(rungs, batch._replace(allowed=possible))
    repair(results.arcs, factors)
    if possible is not batch.allowed:
        forbid(results.arcs, batch.allowed)
    return results.arcs


def permit_projective(allowed, decoder):
    """Allow all arcs of sentences whose trees all cross, of which a chart knows nothing.

    Parameters
    ----------
    allowed : None or list of bool ndarrays of shape (n_tokens_i, n_tokens_i + 1)
        Of which the decoder can make a tree.
    decoder : str

    Returns
    -------
    permitted : None or list of bool ndarrays
        `allowed` itself but with the decoder "mst". What else is not allowed, :func:`forbid` takes
        away from the marginals.
    """
    if allowed is None or decoder != "mst":
        return allowed
    return [arcs if has_tree(arcs) else np.ones_like(arcs) for arcs in allowed]


def forbid(marginals, allowed):
    """Set marginals of arcs that are not allowed to 0, and divide their rows by what is left.

    Parameters
    ----------
    marginals : ndarray of shape (n_arcs,)
        Of all sentences, one after the other: of what :func:`permit_projective` permits. Changed.
    allowed : list of bool ndarrays of shape (n_tokens_i, n_tokens_i + 1)
        Some head of every token.
    """
    begin = 0
    for arcs in allowed:
        of_sentence = marginals[begin : begin + arcs.size].reshape(arcs.shape)
        begin += arcs.size
        if of_sentence[~arcs].any():  # else they are what they should be, to the last bit
            of_sentence[~arcs] = 0.0
            of_sentence /= of_sentence.sum(axis=1, keepdims=True)


def decode_marginals(marginals, indptr, decoder):
    """List the heads of the trees with the largest sum of marginals, or of their logarithms.

    Parameters
    ----------
    marginals : array of shape (n_arcs,)
        Of all sentences, one after the other: 0 where arcs are forbidden, else positive.
    indptr : int ndarray of shape (n_sentences + 1,)
    decoder : {"mbr", "max_marginal", "mst"}

    Returns
    -------
    heads : list of int ndarrays of shape (n_tokens_i,)
    """
    if decoder == "max_marginal":
        scores = np.where(marginals > 0, marginals, -np.inf)
    else:
        with np.errstate(divide="ignore"):  # what is forbidden, and no token is its own head
            scores = np.log(marginals)
    heads = np.empty(indptr[-1], dtype=np.int64)
    decode = _decode_arborescences if decoder == "mst" else _decode
    decode(scores, arc_begins(indptr), indptr, heads)
    return _split(heads, indptr)


def head_probabilities(marginals, heads):
    """Look up how probable given heads are.

    Parameters
    ----------
    marginals : sequence of ndarrays of shape (n_tokens_i, n_tokens_i + 1)
    heads : sequence of int ndarrays of shape (n_tokens_i,)

    Returns
    -------
    probabilities : list of ndarrays of shape (n_tokens_i,)
    """
    return [
        of_sentence[np.arange(found.size), found]
        for of_sentence, found in zip(marginals, heads, strict=True)
    ]


def log_rungs(rungs):
    """Take the logarithms of the grammars of rungs, for :func:`parse_derivations`."""
    return [Rung(log_grammar(rung.grammar.operators), rung.make_potentials) for rung in rungs]


def parse_derivations(rungs, batch):
    """List the heads of the most probable derivations; the rungs are of :func:`log_rungs`."""
    heads, lost = [None] * (batch.indptr.size - 1), np.arange(batch.indptr.size - 1)
    for rung in rungs:
        part = take_batch(batch, lost)
        factors = log_factors(as_factors(rung.potentials_of(part)))
        found, scores = np.empty(part.indptr[-1], dtype=np.int64), np.empty(lost.size)
        best_derivations(rung.grammar, factors, np.arange(lost.size), found, scores)
        for s, of_sentence in zip(lost.tolist(), _split(found, part.indptr), strict=True):
            heads[s] = of_sentence
        lost = lost[scores == -np.inf]
        if not lost.size:
            break
    return heads


def parse_log_partitions(rungs, batch):
    """List sign and log |Z| of every sentence."""
    _, results = climb(rungs, batch, with_uses=False)
    return list(zip(results.sign.tolist(), results.log_abs_z.tolist(), strict=True))


def report_marginals(rungs, batch):
    """List what is negative before it is repaired: see :class:`MarginalReport` for the fields."""
    factors, results = climb(rungs, batch)
    report, sizes = [], np.diff(batch.indptr).tolist()
    for s, (part, n) in enumerate(zip(_split(results.arcs, factors.begins), sizes, strict=True)):
        negative = part[part < -SMALLEST_MARGINAL]  # nothing where they are NaN
        share, mass = negative.size / n**2, -negative.sum() / n
        report.append((int(results.sign[s]), share, mass, ROUTES[results.route[s]]))
    return report


def find_impossible(allowed, projective):
    """Find the first sentence whose allowed arcs make no tree, as :func:`has_tree` tells; or None.

    Parameters
    ----------
    allowed : sequence of bool ndarrays of shape (n_tokens_i, n_tokens_i + 1)
    projective : bool

    Returns
    -------
    impossible : None or int
    """
    return next((s for s, arcs in enumerate(allowed) if not has_tree(arcs, projective)), None)


def has_tree(allowed, projective=True):
    """Tell whether allowed arcs of a sentence make a tree with one root, by default projective."""
    heads = np.empty(allowed.shape[0], dtype=np.int64)
    find = best_tree if projective else best_arborescence
    return find(np.where(allowed, 0.0, -np.inf), heads) > -np.inf


@kernel
def repair(marginals, factors):
    """Make signed marginals a distribution over heads for every token: clip, then renormalise.

    Their rows sum to 1 as they are, also where Z is negative. What is clipped here is what
    decoding and users see alike. What is forbidden stays 0, and without mass all else is equal.
    """
    for s in range(factors.indptr.size - 1):
        n = factors.indptr[s + 1] - factors.indptr[s] + 1
        of_sentence = marginals[factors.begins[s] : factors.begins[s + 1]]
        if np.isnan(of_sentence[0]):
            of_sentence[:] = 1.0
        for m in range(1, n):
            row, total = of_sentence[(m - 1) * n : m * n], 0.0
            if factors.arcs.size:
                arcs = factors.arcs[factors.begins[s] + (m - 1) * n :]
                for h in range(n):
                    row[h] = max(row[h], SMALLEST_MARGINAL) if arcs[h] > -np.inf else 0.0
            else:
                for h in range(n):
                    row[h] = max(row[h], SMALLEST_MARGINAL)
            row[m] = 0.0
            for h in range(n):
                total += row[h]
            for h in range(n):
                row[h] /= total


@kernel
def _decode(scores, begins, indptr, heads):
    """Decode every sentence from the scores of its arcs, in the layout of marginals (eq. 28)."""
    for s in range(indptr.size - 1):
        n = indptr[s + 1] - indptr[s]
        of_sentence = scores[begins[s] : begins[s + 1]].reshape((n, n + 1))
        best_tree(of_sentence, heads[indptr[s] : indptr[s + 1]])


@kernel
def _decode_arborescences(scores, begins, indptr, heads):
    """The same, of trees whose arcs may cross."""
    for s in range(indptr.size - 1):
        n = indptr[s + 1] - indptr[s]
        of_sentence = scores[begins[s] : begins[s + 1]].reshape((n, n + 1))
        best_arborescence(of_sentence, heads[indptr[s] : indptr[s + 1]])
