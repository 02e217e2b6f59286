"""The one seam: what a parser knows of a chunk of sentences, and what follows from it.

Potentials first, then the chart: nothing below :func:`solve` calls a parser.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from sklearn_shag.encoding import Batch, arc_begins, places_of, places_of_heads, take_sentences
from sklearn_shag.parsing._chart import ROUTES, PackedGrammar, packed_unit_grammar, run_charts
from sklearn_shag.parsing._decoders import (
    best_arborescence,
    best_tree,
    eisner,
    maximum_arborescence,
    new_space,
)
from sklearn_shag.parsing._potentials import Potentials, as_factors, potentials_of_arcs
from sklearn_shag.parsing._viterbi import best_derivations, log_factors
from sklearn_shag.utils._arrays import log_of
from sklearn_shag.utils._kernel import kernel, table_kernel

# Marginals of signed operators can come out zero or negative; eq. 28 takes their logarithm.
SMALLEST_MARGINAL = 1e-12
# The logarithm of the probability of what has none, where something has to be chosen.
LARGEST_COST = -1e6
WITHOUT_MASS = ROUTES.index("none")


class Calibration(NamedTuple):
    """How the probabilities of the choices of a token, of heads or of labels, are corrected.

    With temperature T and share e, p becomes ``(1 - e) p^(1/T) / Z + e / n``, where Z makes the
    powers sum to 1 and n is the number of choices that are possible. The order of choices stays.
    """

    temperature: float
    share: float


EXACT = Calibration(1.0, 0.0)


class Scored(NamedTuple):
    """What a parser knows of the sentences of a chunk, made before any chart is asked."""

    grammar: PackedGrammar | None = None
    potentials: Potentials | None = None
    label: Callable | None = None  # takes flat heads, returns the codes of the labels of their arcs
    label_proba: Callable | None = None  # the same: probabilities, (n_tokens, n_labels)
    tags: Callable | None = None  # returns the codes of the tags of tokens
    tag_proba: Callable | None = None  # returns probabilities, (n_tokens, n_tags)
    marginals: np.ndarray | None = None  # (n_arcs,), in place of grammar and potentials
    calibration: Calibration = EXACT  # of marginals, once trees are found
    prune: float = 0.0  # of a grammar with refinements: below which marginal without them


def score_by_arcs(indptr, arcs, *labellers):
    """What a parser knows that scores arcs, each by itself, and perhaps labels them."""
    return Scored(packed_unit_grammar(), potentials_of_arcs(indptr, arcs), *labellers)


def allow(potentials, allowed):
    """Forbid arcs that are not allowed, and make the factors of what is left."""
    if allowed is not None:
        arcs = np.where(np.concatenate([part.ravel() for part in allowed]), 0.0, -np.inf)
        arcs = arcs if potentials.arcs is None else arcs + potentials.arcs
        potentials = potentials._replace(arcs=arcs)
    return as_factors(potentials)


@dataclass
class Rung:
    """What a parser knows of the sentences that it found no mass for before."""

    number: int
    scored: Scored
    batch: Batch
    places: np.ndarray  # of the sentences in the whole batch
    lost: np.ndarray  # which of them have no mass here either, as is found by whoever looks


def over_rungs(score, scored, batch, with_uniform=False):
    """Go from rung to rung until none of the sentences of a chunk is lost.

    Parameters
    ----------
    score : callable
        Takes a Batch and the number of a rung, from 0 on, and returns what is known of it, Scored;
        or None where there is no such rung.
    scored : Scored
        What the first one returns.
    batch : Batch
    with_uniform : bool, default=False
        Whether there is a last one by which all trees are alike.

    Yields
    ------
    rung : Rung
    """
    part, number, is_last = batch, 0, False
    places = np.arange(batch.indptr.size - 1)
    while True:
        rung = Rung(number, scored, part, places, np.zeros(places.size, dtype=bool))
        yield rung
        places, number = places[rung.lost], number + 1
        if not places.size or is_last:
            return
        part = take_sentences(batch, places)
        scored = score(part, number)
        if scored is None:
            if not with_uniform:
                return
            scored, is_last = score_by_arcs(part.indptr, None), True


def solve(score, want, batch):
    """Sum over the trees of a chunk, of each sentence by the first rung that has mass for it.

    Parameters
    ----------
    score : callable
        As for :func:`over_rungs`. What `label` and `tags` are is asked of the first rung.
    want : callable
        Takes the batch, what the first rung knows of it, and marginals of shape (n_arcs,): positive
        where arcs are allowed, rows sum to 1.
    batch : Batch

    Returns
    -------
    wanted : list
        What `want` returns.
    """
    first = score(batch)
    marginals, of_first = first.marginals, None
    for rung in over_rungs(score, first, batch) if marginals is None else ():
        factors = allow(rung.scored.potentials, rung.batch.allowed)
        if rung.scored.prune and batch.crossing is None:  # it knows nothing of arcs that cross
            factors = prune(rung.scored, factors)
        results = run_charts(rung.scored.grammar, factors)
        rung.lost = results.route == WITHOUT_MASS
        if of_first is None:
            marginals, of_first = results.arcs, factors
        else:
            marginals[places_of(arc_begins(batch.indptr), rung.places)[1]] = results.arcs
    if of_first is not None:
        repair(marginals, of_first)
    if batch.crossing is not None:
        forbid(marginals, batch.crossing)
    return want(batch, first, marginals)


def prune(scored, factors):
    """Forbid arcs that are improbable without refinements, but for those of the best tree.

    Parameters
    ----------
    scored : Scored
        With a grammar with refinements.
    factors : Factors

    Returns
    -------
    factors : Factors
        As they are for sentences that have no mass without refinements.
    """
    results = run_charts(scored.grammar.unrefined, factors)
    lost = np.isnan(results.arcs)
    repair(results.arcs, factors)
    heads = np.empty(factors.indptr[-1], dtype=np.int64)
    space = new_space(int(np.diff(factors.indptr).max()))
    _find_trees(log_of(results.arcs), factors.begins, factors.indptr, *space, heads)
    kept = lost | (results.arcs >= scored.prune)
    kept[places_of_heads(factors.indptr, heads)] = True
    arcs = factors.arcs if factors.arcs.size else np.zeros(kept.size)
    return factors._replace(arcs=np.where(kept, arcs, -np.inf))


def solve_derivations(score, want, batch):
    """Find the most probable derivations of a chunk; `want` takes the heads of its tokens, flat."""
    scored = score(batch)
    heads, _ = _find_derivations(score, scored, 1, batch, with_totals=False)
    return want(batch, scored, heads[0])


def list_derivations(score, k, batch):
    """List the heads of the k most probable derivations of each sentence, and their log P."""
    heads, logs = _find_derivations(score, score(batch), k, batch, with_totals=True)
    parts = np.split(heads, batch.indptr[1:-1], axis=1)
    n_found = np.count_nonzero(logs > -np.inf, axis=0)
    rows = zip(parts, logs.T, n_found, strict=True)
    return [(of_sentence[:n].copy(), its_logs[:n].copy()) for of_sentence, its_logs, n in rows]


def _find_derivations(score, scored, k, batch, with_totals):
    """Find heads, (k, n_tokens), and values of derivations, (k, n_sentences), the best first.

    Values are logarithms, less log Z where totals are wanted, and -inf where there are no more.
    """
    heads = np.empty((k, batch.indptr[-1]), dtype=np.int64)
    values = np.empty((k, batch.indptr.size - 1))
    for rung in over_rungs(score, scored, batch, with_uniform=True):
        grammar, factors = rung.scored.grammar, allow(rung.scored.potentials, rung.batch.allowed)
        found = np.empty((k, factors.indptr[-1]), dtype=np.int64)
        logs = np.empty((k, rung.places.size))
        best_derivations(
            grammar.logs, log_factors(factors), np.arange(rung.places.size), found, logs
        )
        rung.lost = logs[0] == -np.inf
        if with_totals:
            totals = run_charts(grammar, factors, with_uses=False)
            rung.lost |= totals.sign == 0
            logs[:, ~rung.lost] -= totals.log_abs_z[~rung.lost]
        heads[:, places_of(batch.indptr, rung.places)[1]] = found
        values[:, rung.places] = logs
    return heads, values


def decode(decoder, want, batch, scored, marginals):
    """Find the trees with the largest sum of marginals, or of their logarithms (eq. 28).

    `want` takes the batch, what is known of it, and the heads of all its tokens; the other
    parameters are those of :func:`solve`, the decoder is "mbr", "max_marginal" or "mst".
    """
    if decoder == "max_marginal":
        scores = np.where(marginals > 0, marginals, -np.inf)
    else:
        scores = log_of(marginals)  # some are forbidden, and no token is its own head
    heads = np.empty(batch.indptr[-1], dtype=np.int64)
    places = arc_begins(batch.indptr), batch.indptr
    if decoder == "mst":
        _find_arborescences(scores, *places, heads)
    else:
        _find_trees(scores, *places, *new_space(int(np.diff(batch.indptr).max())), heads)
    return want(batch, scored, heads)


def list_heads(batch, _, heads):
    """List the heads of each sentence."""
    ends = batch.indptr.tolist()
    return list(map(heads.__getitem__, map(slice, ends, ends[1:])))


def list_parts(batch, scored, heads, groups=None):
    """List heads, codes of labels and codes of tags of each sentence; None if not known.

    `groups` are those of :func:`keep_apart`, if labels are to be.
    """
    labels = scored.label and scored.label(heads)
    if labels is not None and groups is not None:
        keep_apart(batch.indptr, heads, labels, scored.label_proba(heads), groups)
    parts = [heads, labels, scored.tags and scored.tags()]
    nothing = [None] * (batch.indptr.size - 1)
    lists = (nothing if part is None else list_heads(batch, None, part) for part in parts)
    return list(zip(*lists, strict=True))


def keep_apart(indptr, heads, labels, probabilities, groups):
    """See that among the arcs of one head at most one has a label of each group.

    Parameters
    ----------
    indptr : int ndarray of shape (n_sentences + 1,)
    heads : int ndarray of shape (n_tokens,)
    labels : int ndarray of shape (n_tokens,)
        Changed where several arcs of a head compete, to the most probable ones that do not.
    probabilities : ndarray of shape (n_tokens, n_labels)
    groups : int ndarray of shape (n_labels,)
        -1 for labels that any number of arcs may have, which there must be some of.
    """
    of_sentence = np.repeat(indptr[:-1], np.diff(indptr))
    places = np.where(heads > 0, of_sentence + heads, -1 - of_sentence)  # the root has one arc
    grouped = groups[labels] >= 0
    pairs = np.stack([places, groups[labels]])[:, grouped]
    (competed_for, _), counts = np.unique(pairs, axis=1, return_counts=True)
    for place in np.unique(competed_for[counts > 1]):
        tokens = np.flatnonzero(places == place)
        labels[tokens] = _assign(log_of(probabilities[tokens]), groups)


def _assign(logs, groups):
    """Find the labels with the largest sum of logarithms of which no two are of one group."""
    n_arcs = len(logs)
    logs = np.maximum(logs, LARGEST_COST)
    columns = [np.flatnonzero(groups == group) for group in range(-1, groups.max() + 1)]
    best = np.stack([of_group[logs[:, of_group].argmax(axis=1)] for of_group in columns], axis=1)
    gains = np.take_along_axis(logs, best, axis=1)
    # A column for each group, and for each arc one of its own, for a label of none.
    free = np.where(np.eye(n_arcs, dtype=bool), gains[:, :1], -np.inf)
    _, chosen = linear_sum_assignment(np.hstack([gains[:, 1:], free]), maximize=True)
    chosen = np.where(chosen < len(columns) - 1, chosen + 1, 0)
    return best[np.arange(n_arcs), chosen]


def list_marginals(batch, _, marginals):
    """List the marginals of each sentence, of shape (n_tokens_i, n_tokens_i + 1)."""
    lengths, ends = np.diff(batch.indptr).tolist(), arc_begins(batch.indptr).tolist()
    parts = map(marginals.__getitem__, map(slice, ends, ends[1:]))
    return [part.reshape(-1, n + 1) for part, n in zip(parts, lengths, strict=True)]


def correct(batch, scored, marginals):
    """Correct marginals in place as the parser has learned to; and return them."""
    if scored.calibration != EXACT:
        lengths = np.diff(batch.indptr)
        ends = np.concatenate([[0], np.cumsum(np.repeat(lengths + 1, lengths))])
        calibrate(marginals, ends, *scored.calibration)
    return marginals


def list_corrected(batch, scored, marginals):
    """List the marginals of each sentence, corrected."""
    return list_marginals(batch, scored, correct(batch, scored, marginals))


def list_log_partitions(score, batch):
    """List sign and log |Z| of every sentence, by the first rung."""
    scored = score(batch)
    results = run_charts(scored.grammar, allow(scored.potentials, batch.allowed), with_uses=False)
    return list(zip(results.sign.tolist(), results.log_abs_z.tolist(), strict=True))


def report_marginals(score, batch):
    """List what is negative before it is repaired: see :class:`MarginalReport` for the fields."""
    scored, report = score(batch), []
    results = run_charts(scored.grammar, allow(scored.potentials, batch.allowed))
    for s, part in enumerate(list_marginals(batch, scored, results.arcs)):
        negative = part[part < -SMALLEST_MARGINAL]  # nothing where they are NaN
        share, mass = negative.size / len(part) ** 2, -negative.sum() / len(part)
        report.append((int(results.sign[s]), share, mass, ROUTES[results.route[s]]))
    return report


def permit_projective(allowed):
    """Allow all arcs of sentences whose trees all cross, of which a chart knows nothing.

    Parameters
    ----------
    allowed : list of bool ndarrays of shape (n_tokens_i, n_tokens_i + 1)
        Of which trees can be made whose arcs may cross.

    Returns
    -------
    permitted : list of bool ndarrays
        What else is not allowed, :func:`forbid` takes away from the marginals.
    """
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
    _, score = (eisner if projective else maximum_arborescence)(np.where(allowed, 0.0, -np.inf))
    return score > -np.inf


@table_kernel
def repair(marginals, factors):
    """Make signed marginals a distribution over heads for every token: clip, then renormalise.

    Their rows sum to 1 as they are, also where Z is negative. What is clipped here is what
    decoding and users see alike. What is forbidden stays 0, and without mass all else is equal.
    """
    for s in range(factors.indptr.size - 1):
        n = factors.indptr[s + 1] - factors.indptr[s] + 1
        of_sentence = marginals[factors.begins[s] : factors.begins[s + 1]]
        is_lost = np.isnan(of_sentence[0])
        for m in range(1, n):
            row, total = of_sentence[(m - 1) * n : m * n], 0.0
            arcs = factors.arcs[factors.begins[s] + (m - 1) * n :]
            for h in range(n):
                row[h] = 1.0 if is_lost else max(row[h], SMALLEST_MARGINAL)
                if arcs.size and arcs[h] == -np.inf:
                    row[h] = 0.0
            row[m] = 0.0
            for h in range(n):
                total += row[h]
            for h in range(n):
                row[h] /= total


@table_kernel
def calibrate(probabilities, ends, temperature, share):
    """Correct the probabilities of each token in place, see Calibration; what is 0 stays 0.

    Those of token t are ``probabilities[ends[t]:ends[t + 1]]``.
    """
    for t in range(ends.size - 1):
        row = probabilities[ends[t] : ends[t + 1]]
        largest, total, n_possible = 0.0, 0.0, 0
        for k in range(row.size):
            largest = max(largest, row[k])
        for k in range(row.size):
            if row[k] > 0:
                row[k] = (row[k] / largest) ** (1 / temperature)
                total += row[k]
                n_possible += 1
        for k in range(row.size):
            if row[k] > 0:
                row[k] = (1 - share) * row[k] / total + share / n_possible


@table_kernel
def _find_trees(scores, begins, indptr, space, agenda, heads):
    """Decode every sentence from the scores of its arcs, in the layout of marginals (eq. 28)."""
    for s in range(indptr.size - 1):
        n = indptr[s + 1] - indptr[s]
        of_sentence = scores[begins[s] : begins[s + 1]].reshape((n, n + 1))
        best_tree(of_sentence, space, agenda, heads[indptr[s] : indptr[s + 1]])


@kernel
def _find_arborescences(scores, begins, indptr, heads):
    """The same, of trees whose arcs may cross."""
    for s in range(indptr.size - 1):
        n = indptr[s + 1] - indptr[s]
        of_sentence = scores[begins[s] : begins[s + 1]].reshape((n, n + 1))
        best_arborescence(of_sentence, heads[indptr[s] : indptr[s + 1]])
