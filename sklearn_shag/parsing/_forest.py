"""Distributions of parsers over the trees of the sentences of a chunk, for all questions.

A parser scores a chunk once, when the :class:`Forest` of the chunk is made. The scores are a value:
:class:`Scored`. All answers follow from this value and from charts, each of which is run when it is
first needed; only sentences without mass are scored again, by the next rung of the parser.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from sklearn_shag.encoding import arc_begins, places_of, places_of_heads
from sklearn_shag.parsing._calibration import EXACT, Calibration, calibrate
from sklearn_shag.parsing._chart import (
    CHUNK_COST,
    CHUNK_COST_ALONE,
    ROUTES,
    AllTrees,
    PackedGrammar,
    cut_chunks,
    grammar_of_arcs,
    join_in_order,
    run_charts,
)
from sklearn_shag.parsing._decoders import SMALLEST_MARGINAL, find_arborescences, find_best, repair
from sklearn_shag.parsing._fast_driver import OUT_OF_RANGE
from sklearn_shag.parsing._potentials import (
    Factors,
    Potentials,
    as_factors,
    potentials_of_arcs,
    take_potentials,
)
from sklearn_shag.parsing._samples import draw_trees
from sklearn_shag.parsing._viterbi import rank_trees
from sklearn_shag.treebank import arcs_left_by
from sklearn_shag.utils._arrays import log_of
from sklearn_shag.utils._messages import warn
from sklearn_shag.utils._parallel import count_workers, delayed, progress, run_parallel

# Log probability of impossible labels, in case that one of them has to be chosen.
LARGEST_COST = -1e6


class Labeller(ABC):
    """The labels that a parser gives to the arcs of any trees over the sentences of a chunk."""

    names: np.ndarray  # (n_labels,) str objects, sorted

    @abstractmethod
    def scores(self, heads):
        """Score the labels, (n_tokens, n_labels), of the arcs of trees with these flat heads."""

    def proba(self, scores):
        """Make probabilities of the scores of any tokens, which may be changed in place."""
        return scores


class Tagging(ABC):
    """The learned columns of the tokens of a chunk, computed when they are asked for."""

    values: dict[str, np.ndarray]  # the known values of each column
    combinations: list = []  # those that may be found, sorted; if there are none, all may

    @abstractmethod
    def find(self, with_proba, relations=()):
        """Find the best value of each token, and if wanted the probabilities of these values.

        Parameters
        ----------
        with_proba : bool
        relations : sequence of str of length n_tokens, default=()
            Those that the tokens have, or none if they are not known. Probabilities do not depend
            on them.

        Returns
        -------
        found : dict of str ndarrays of shape (n_tokens,)
            By column.
        proba : dict of ndarrays of shape (n_tokens,)
            Without lemmas; empty if probabilities are not wanted.
        """

    @abstractmethod
    def proba(self, chosen=None):
        """Compute the probabilities of all values, (n_tokens, n_values) of each column.

        With `chosen`, an int array, they are those of the tokens of these sentences.
        """

    def entries(self):
        """List the entries of each token in a dictionary, None for most; empty without one."""
        return ()

    def finish(self, found):
        """Make lemmas of the values of :meth:`find`."""
        return found


class Scored(NamedTuple):
    """Grammar, potentials, labels and tags of a parser for a chunk, before any chart is run."""

    grammar: PackedGrammar | AllTrees | None = None
    potentials: Potentials | None = None
    labeller: Labeller | None = None  # None without labels
    tagging: Tagging | None = None  # None without learned columns
    calibration: Calibration = EXACT  # of marginals, once trees are found
    prune: float = 0.0  # the smallest marginal, without refinements, of an arc
    trees: str = "projective"  # among which the best is found, or "all", whose arcs may cross


def score_by_arcs(indptr, arcs, trees="projective", **others):
    """Return the Scored of a parser that scores each arc by itself; `others` are fields."""
    return Scored(grammar_of_arcs(trees), potentials_of_arcs(indptr, arcs), trees=trees, **others)


def restrict_arcs(potentials, allowed):
    """Return the Factors of potentials, with arcs forbidden that are not allowed."""
    if allowed is not None:
        arcs = np.where(np.concatenate([part.ravel() for part in allowed]), 0.0, -np.inf)
        arcs = arcs if potentials.arcs is None else arcs + potentials.arcs
        potentials = potentials._replace(arcs=arcs)
    return as_factors(potentials)


@dataclass
class Rung:
    """One grammar of a parser, for the sentences without mass on the rungs before."""

    number: int
    scored: Scored
    factors: Factors
    places: np.ndarray  # of the sentences in the whole batch
    lost: np.ndarray  # bool: sentences without mass here either, set by the caller


class Forest:
    """The distribution of a parser over the trees of each sentence of a chunk.

    Parameters
    ----------
    score : callable
        Takes a Batch and the number of a rung, from 0 on, and returns its Scored, or None where
        there is no such rung.
    batch : Batch

    Attributes
    ----------
    scored : Scored
        Of the first rung.
    out_of_range : bool ndarray of shape (n_sentences,)
        Whether values of a sentence left the range of doubles in the charts run so far.
    drawn_by : int ndarray of shape (n_sentences,)
        The rung that random trees of each sentence were drawn from.
    """

    def __init__(self, score, batch):
        self._score, self.scored = score, score(batch)
        if batch.crossing is not None and self.scored.trees == "projective":
            batch = batch._replace(allowed=None)  # which leaves no projective tree
        self.batch = batch
        self.out_of_range = np.zeros(batch.indptr.size - 1, dtype=bool)
        self.drawn_by = np.zeros(batch.indptr.size - 1, dtype=np.int64)

    def _rungs(self, with_uniform=False):
        """Go from rung to rung, each a Rung, until no sentence is lost.

        With `with_uniform` there is a last rung on which all trees are equally probable.
        """
        scored, part, number, is_last = self.scored, self.batch, 0, False
        places = np.arange(part.indptr.size - 1)
        while True:
            rung = Rung(
                number,
                scored,
                restrict_arcs(scored.potentials, part.allowed),
                places,
                np.zeros(places.size, dtype=bool),
            )
            yield rung
            places, number = places[rung.lost], number + 1
            if not places.size or is_last:
                return
            part = self.batch.take(places)
            scored = self._score(part, number)
            if scored is None:
                if not with_uniform:
                    return
                scored = score_by_arcs(part.indptr, None, trees=self.scored.trees)
                is_last = True

    def _note(self, places, results):
        """Note sentences out of the range of doubles; return a bool array, True without mass."""
        if np.count_nonzero(results.route):
            self.out_of_range[places] |= results.route == OUT_OF_RANGE
        return results.sign == 0

    @cached_property
    def marginals(self):
        """Probabilities of arcs, (n_arcs,), before correction: positive if allowed; rows sum to 1.

        A sentence has its marginals from the first rung that has mass for it.
        """
        batch, found, of_first = self.batch, None, None
        for rung in self._rungs():
            factors = rung.factors
            if rung.scored.prune and batch.crossing is None:  # pruning knows no arcs that cross
                factors = prune_arcs(rung.scored, factors)
            results = run_charts(rung.scored.grammar, factors)
            rung.lost = self._note(rung.places, results)
            if found is None:
                found, of_first = results.arcs, factors
            else:
                found[places_of(arc_begins(batch.indptr), rung.places)[1]] = results.arcs
        repair(found, of_first)
        return found

    @property
    def exact(self):
        """Probabilities of arcs, (n_arcs,), of a distribution over trees; None if there is none."""
        return None if self.scored.grammar.is_signed else self.marginals

    @cached_property
    def corrected(self):
        """Probabilities of arcs, (n_arcs,), corrected as the parser has learned to."""
        if self.scored.calibration == EXACT:
            return self.marginals
        lengths, marginals = np.diff(self.batch.indptr), self.marginals.copy()
        ends = np.concatenate([[0], np.cumsum(np.repeat(lengths + 1, lengths))])
        calibrate(marginals, ends, *self.scored.calibration)
        return marginals

    @cached_property
    def totals(self):
        """Sign and log |Z| of each sentence, by the first rung."""
        factors = restrict_arcs(self.scored.potentials, self.batch.allowed)
        results = run_charts(self.scored.grammar, factors, with_uses=False)
        self._note(slice(None), results)
        return results.sign, results.log_abs_z

    def log_proba(self, trees):
        """Log probabilities of the trees with known heads, in the order of sentences.

        `trees` holds an int array (n_trees_i, n_tokens_i) for each sentence, -1 for heads that are
        not known.
        """
        places = np.repeat(np.arange(len(trees)), list(map(len, trees)))
        known = arcs_left_by([heads for of_sentence in trees for heads in of_sentence])
        factors = restrict_arcs(take_potentials(self.scored.potentials, places), known)
        results = run_charts(self.scored.grammar, factors, with_uses=False)
        sign, log_abs_z = (part[places] for part in self.totals)
        possible = (sign != 0) & (sign == results.sign)
        impossible = np.full(sign.size, -np.inf)
        return np.subtract(results.log_abs_z, log_abs_z, out=impossible, where=possible)

    def best(self, decoder):
        """Heads of the best trees, (n_tokens,)."""
        if decoder == "viterbi":
            return self.derivations(1, with_totals=False)[0][0]
        may_cross = decoder == "mst" or self.scored.trees == "all"
        return decode_marginals(decoder, self.batch.indptr, self.marginals, may_cross)

    def derivations(self, k, with_totals=True):
        """Heads, (k, n_tokens), and logs, (k, n_sentences), of the best derivations, best first.

        Logarithms are of probabilities, or with_totals=False of values, which is faster; -inf where
        there are no more derivations.
        """
        batch = self.batch
        heads = np.empty((k, batch.indptr[-1]), dtype=np.int64)
        logs = np.empty((k, batch.indptr.size - 1))
        for rung in self._rungs(with_uniform=True):
            grammar, factors = rung.scored.grammar, rung.factors
            found = np.empty((k, factors.indptr[-1]), dtype=np.int64)
            values = np.empty((k, rung.places.size))
            rank_trees(grammar, factors, found, values)
            rung.lost = values[0] == -np.inf
            if with_totals:
                totals = run_charts(grammar, factors, with_uses=False)
                rung.lost |= self._note(rung.places, totals)
                values[:, ~rung.lost] -= totals.log_abs_z[~rung.lost]
            heads[:, places_of(batch.indptr, rung.places)[1]] = found
            logs[:, rung.places] = values
        return heads, logs

    def samples(self, n_samples, seeds):
        """Heads of random trees, (n_samples, n_tokens), by the seeds of the sentences."""
        samples = np.empty((n_samples, self.batch.indptr[-1]), dtype=np.int64)
        for rung in self._rungs(with_uniform=True):
            own = [seeds[s] for s in rung.places]
            found, rung.lost = draw_trees(rung.scored.grammar, rung.factors, own, n_samples)
            samples[:, places_of(self.batch.indptr, rung.places)[1]] = found
            self.drawn_by[rung.places] = rung.number
        return samples

    def label_codes(self, scores, heads, *groupings):
        """Codes of the labels of the arcs of trees, for each grouping an array (n_tokens,).

        A grouping holds the group of each label, one of which goes with a head; None sets none.
        """
        proba = self.scored.labeller.proba
        found = [scores.argmax(axis=1) for _ in groupings]
        for labels, groups in zip(found, groupings, strict=True):
            if groups is not None:
                keep_apart(self.batch.indptr, heads, labels, lambda own: proba(scores[own]), groups)
        return found

    def label_proba(self, heads):
        """Probabilities of the labels of the arcs of trees, (n_tokens, n_labels)."""
        labeller = self.scored.labeller
        return labeller.proba(labeller.scores(heads))

    def labels(self, heads, groups=None, with_proba=False):
        """Labels of the arcs of trees, (n_tokens,) str objects; one of each group by head.

        Behind them are their probabilities, or None if these are not wanted.
        """
        labeller = self.scored.labeller
        scores = labeller.scores(heads)
        (codes,) = self.label_codes(scores, heads, groups)
        names = labeller.names[codes]
        if not with_proba:
            return names, None
        return names, labeller.proba(scores)[np.arange(codes.size), codes]

    def columns(self, with_proba=False, relations=()):
        """Values of the learned columns of tokens, by name, each (n_tokens,).

        Behind them, if wanted, are the probabilities of those of tags. Values depend on the
        relations of the tokens, if these are given.
        """
        tagging = self.scored.tagging
        if tagging is None:
            return {}, {}
        found, proba = tagging.find(with_proba, relations)
        return tagging.finish(found), proba


class Mixture(Forest):
    """The weighted mean of the distributions of several parsers over the trees of a chunk.

    Parameters
    ----------
    members : list of Forest
    shares : ndarray of shape (n_members,)
        Positive; they sum to 1.
    scored : Scored
        With labels, columns and the calibration, but without grammar and potentials.
    batch : Batch
    """

    def __init__(self, members, shares, scored, batch):
        super().__init__(partial(_score_first, scored), batch)
        self.batch, self.members, self.shares = batch, members, shares

    @cached_property
    def marginals(self):
        """Means of the corrected probabilities of the members, (n_arcs,)."""
        means = 0
        for share, member in zip(self.shares, self.members, strict=True):
            means = means + share * member.corrected
            self.out_of_range |= member.out_of_range
        return means

    @property
    def exact(self):
        """Means of the exact probabilities of the members; corrected ones are those of no trees."""
        rows = [member.exact for member in self.members]
        return None if any(row is None for row in rows) else np.tensordot(self.shares, rows, 1)

    def log_proba(self, trees):
        """Log probabilities of trees by the mixture; a member of -inf adds nothing."""
        values = [member.log_proba(trees) for member in self.members]
        return np.logaddexp.reduce(np.log(self.shares)[:, None] + values, axis=0)

    def samples(self, n_samples, seeds):
        """Heads of random trees, (n_samples, n_tokens), of members drawn with the seeds."""
        samples = np.empty((n_samples, self.batch.indptr[-1]), dtype=np.int64)
        chosen = seeds[0].members
        for k in np.unique(chosen):
            member = self.members[k]
            of_member = [each.of_members[k] for each in seeds]
            samples[chosen == k] = member.samples(np.count_nonzero(chosen == k), of_member)
            self.drawn_by = np.maximum(self.drawn_by, member.drawn_by)
        return samples


class MixtureSeeds(NamedTuple):
    """Seeds of the random trees of a sentence, of a mixture."""

    members: np.ndarray  # (n_samples,), the place of the member that each tree is drawn from
    of_members: dict  # the seeds of each member that trees are drawn from


class SpanningForest(Forest):
    """The distribution over trees of sentences whose allowed arcs make only trees that cross.

    Sums over projective trees know nothing of these. So arcs have their marginals without
    constraints, divided among the arcs that are allowed, and a tree is worth their product.

    Parameters
    ----------
    forest : Forest
        The distribution of a parser over the trees of the same sentences, without constraints.
    batch : Batch
        With the allowed arcs.
    """

    def __init__(self, forest, batch):
        arcs = forbid_arcs(batch, forest.marginals)
        scored = forest.scored._replace(
            grammar=grammar_of_arcs("all"),
            potentials=potentials_of_arcs(batch.indptr, log_of(arcs)),
            trees="all",
        )
        super().__init__(partial(_score_first, scored), batch)
        self.marginals, self.out_of_range = arcs, forest.out_of_range

    def best(self, decoder):
        """Heads of the best trees, (n_tokens,), as by the decoder "mst"."""
        return super().best("mst")

    def samples(self, n_samples, seeds):
        """Heads of random trees, (n_samples, n_tokens), by one of the seeds of each sentence."""
        return super().samples(n_samples, list(map(_choose_seed, seeds)))


def _score_first(scored, batch, rung=0):
    """Return the Scored of the first rung, the only one."""
    return None if rung else scored


def _choose_seed(seed):
    """Choose one of the seeds of a mixture; a single one is returned as it is."""
    while isinstance(seed, MixtureSeeds):
        seed = next(iter(seed.of_members.values()))
    return seed


def ask(parser, want, batch, make=None):
    """Ask the forests of sentences, chunk by chunk.

    Chunks are of about equal cost, each of sentences of about equal length. Kernels release the
    interpreter lock, so threads suffice; tasks share nothing but their arguments, so any joblib
    backend will do.

    Parameters
    ----------
    parser : Parser
    want : callable
        Takes a Forest, and returns a list with a result for each of its sentences.
    batch : Batch
    make : None or callable, default=None
        Makes the forest of a chunk; None for the parser's own method.

    Returns
    -------
    results : list
        For each sentence of the batch.

    Warns
    -----
    UserWarning
        If values of sentences leave the range of doubles, or trees are drawn from another grammar.
    """
    make, verbose = make or parser._forest, parser.verbose
    lengths = batch.indptr[1:] - batch.indptr[:-1]
    if not lengths.size:
        return []
    chunks = _cut_batch(batch, CHUNK_COST) if lengths.size > 1 else [np.arange(1)]
    if len(chunks) > 1 and not verbose and count_workers(parser.n_jobs) == 1:
        chunks = _cut_batch(batch, CHUNK_COST_ALONE)
    if len(chunks) == 1 and not verbose and batch.crossing is None:
        forest = make(batch)
        results = want(forest)
        n_out, n_drawn = _count_exceptions(forest)
    else:
        tasks = (delayed(_ask_chunk)(make, want, batch.take(part)) for part in chunks)
        with progress("Parsing", lengths.size, "sentences", verbose) as advance:
            parts = run_parallel(tasks, parser.n_jobs, advance, map(np.size, chunks))
        found, *counts = zip(*parts, strict=True)
        results = join_in_order(chunks, found)
        n_out, n_drawn = map(sum, counts)
    if n_out:
        warn(
            f"Values of {n_out} of {lengths.size} sentences leave the range of doubles, or may do "
            f"so, in this {type(parser).__name__}. These sentences are parsed by its fallback "
            f"grammar, or if it has none as if all their trees were equally probable.",
            UserWarning,
        )
    if n_drawn:
        warn(
            f"The trees of {n_drawn} of {lengths.size} sentences are drawn from "
            f"the fallback grammar of this {type(parser).__name__}, or uniformly, because it has "
            f"no mass for them or values leave the range of doubles.",
            UserWarning,
        )
    return results


def _cut_batch(batch, cost):
    """Cut a batch into chunks of about equal cost; sentences that only cross are apart."""
    lengths = np.diff(batch.indptr)
    if batch.crossing is None:
        return cut_chunks(lengths, cost)
    parts = np.flatnonzero(~batch.crossing), np.flatnonzero(batch.crossing)
    return [part[chunk] for part in parts if part.size for chunk in cut_chunks(lengths[part], cost)]


def _ask_chunk(make, want, batch):
    forest = make(batch)
    if batch.crossing is not None:
        forest = SpanningForest(forest, batch)
    return want(forest), *_count_exceptions(forest)


def _count_exceptions(forest):
    """Count sentences out of range, and sentences with trees drawn from a later rung."""
    return np.count_nonzero(forest.out_of_range), np.count_nonzero(forest.drawn_by)


# Questions to forests; each function returns a list with a result for each sentence.


def list_heads(batch, heads):
    """Split an array with a row for each token into a list with the rows of each sentence."""
    ends = batch.indptr.tolist()
    return list(map(heads.__getitem__, map(slice, ends, ends[1:])))


def list_marginals(batch, marginals):
    """List the marginals of each sentence, of shape (n_tokens_i, n_tokens_i + 1)."""
    lengths, ends = np.diff(batch.indptr).tolist(), arc_begins(batch.indptr).tolist()
    parts = map(marginals.__getitem__, map(slice, ends, ends[1:]))
    return [part.reshape(-1, n + 1) for part, n in zip(parts, lengths, strict=True)]


def list_best(decoder, forest):
    return list_heads(forest.batch, forest.best(decoder))


def list_corrected(forest):
    return list_marginals(forest.batch, forest.corrected)


def list_totals(forest):
    """List sign and log |Z| of each sentence."""
    sign, log_abs_z = forest.totals
    return list(zip(sign.tolist(), log_abs_z.tolist(), strict=True))


def list_log_proba(decoder, forest):
    """List log probabilities of the best trees, or with decoder=None of known ones."""
    trees = list_heads(forest.batch, _find_heads(decoder, forest))
    return forest.log_proba([heads[None] for heads in trees]).tolist()


def list_arc_labels(decoder, groups, forest):
    """List the labels of the best trees, or with decoder=None of known ones."""
    return list_heads(forest.batch, forest.labels(_find_heads(decoder, forest), groups)[0])


def list_label_proba(decoder, forest):
    """List label probabilities of best or known trees, each (n_tokens_i, n_labels)."""
    return list_heads(forest.batch, forest.label_proba(_find_heads(decoder, forest)))


def list_uncertain(decoder, groups, forest):
    """List marginals, probabilities of the labels of known heads, and predictions.

    The predictions of a sentence, (n_tokens_i, 3), are heads, labels, and labels of which one of
    each group goes with a head; all are 0 without groups.
    """
    found = np.zeros((forest.batch.indptr[-1], 0))
    predicted = np.zeros((len(found), 3), dtype=np.int64)
    if forest.scored.labeller is not None:
        found = forest.label_proba(_find_heads(None, forest))
    if groups is not None:
        heads = forest.best(decoder)
        scores = forest.scored.labeller.scores(heads)
        predicted = np.stack([heads, *forest.label_codes(scores, heads, None, groups)], axis=1)
    parts = (list_heads(forest.batch, each) for each in (found, predicted))
    return list(zip(list_marginals(forest.batch, forest.marginals), *parts, strict=True))


def _find_heads(decoder, forest):
    return np.concatenate(forest.batch.known) if decoder is None else forest.best(decoder)


def list_columns(forest):
    """List the values of learned columns of each sentence, by name."""
    return split_columns(forest.batch, forest.columns()[0])


def split_columns(batch, columns):
    """Split columns, each (n_tokens,), into a list with a dict for each sentence."""
    if not columns:
        return [{}] * (batch.indptr.size - 1)
    parts = (list_heads(batch, column) for column in columns.values())
    return [dict(zip(columns, row, strict=True)) for row in zip(*parts, strict=True)]


def report_marginals(forest):
    """List, by sentence, a tuple with the fields of :class:`MarginalReport`, before repair."""
    batch, scored, report = forest.batch, forest.scored, []
    results = run_charts(scored.grammar, restrict_arcs(scored.potentials, batch.allowed))
    for s, part in enumerate(list_marginals(batch, results.arcs)):
        negative = part[part < -SMALLEST_MARGINAL]  # nothing where they are NaN
        share, mass = negative.size / len(part) ** 2, -negative.sum() / len(part)
        report.append((int(results.sign[s]), share, mass, ROUTES[results.route[s]]))
    return report


def decode_marginals(decoder, indptr, marginals, may_cross):
    """Find the trees with the largest sum of marginals, or of their logarithms (eq. 28).

    Parameters
    ----------
    decoder : {"mbr", "max_marginal", "mst"}
    indptr : int ndarray of shape (n_sentences + 1,)
    marginals : ndarray of shape (n_arcs,)
    may_cross : bool
        Whether arcs of these trees may cross.

    Returns
    -------
    heads : int ndarray of shape (n_tokens,)
    """
    if decoder == "max_marginal":
        scores = np.where(marginals > 0, marginals, -np.inf)
    else:
        scores = log_of(marginals)  # some are forbidden, and no token is its own head
    if not may_cross:
        return find_best(scores, arc_begins(indptr), indptr)
    heads = np.empty(indptr[-1], dtype=np.int64)
    find_arborescences(scores, arc_begins(indptr), indptr, heads)
    return heads


def prune_arcs(scored, factors):
    """Forbid arcs that are improbable without refinements, except in the best tree.

    Parameters
    ----------
    scored : Scored
        With a grammar with refinements.
    factors : Factors

    Returns
    -------
    factors : Factors
        Unchanged for sentences that have no mass without refinements.
    """
    results = run_charts(scored.grammar.unrefined, factors)
    lost = np.isnan(results.arcs)
    repair(results.arcs, factors)
    heads = find_best(log_of(results.arcs), factors.begins, factors.indptr)
    kept = lost | (results.arcs >= scored.prune)
    kept[places_of_heads(factors.indptr, heads)] = True
    arcs = factors.arcs if factors.arcs.size else np.zeros(kept.size)
    return factors._replace(arcs=np.where(kept, arcs, -np.inf))


def forbid_arcs(batch, marginals):
    """Set marginals of arcs that are not allowed to 0, and divide rows by their new sums.

    Parameters
    ----------
    batch : Batch
        Some head of every token is allowed.
    marginals : ndarray of shape (n_arcs,)
        Of all arcs. Changed.

    Returns
    -------
    marginals : ndarray of shape (n_arcs,)
        The same array.
    """
    for arcs, of_sentence in zip(batch.allowed, list_marginals(batch, marginals), strict=True):
        if of_sentence[~arcs].any():  # else all stay the same to the last bit
            of_sentence[~arcs] = 0.0
            of_sentence /= of_sentence.sum(axis=1, keepdims=True)
    return marginals


def keep_apart(indptr, heads, labels, proba, groups):
    """See that among the arcs of one head at most one has a label of each group.

    Parameters
    ----------
    indptr : int ndarray of shape (n_sentences + 1,)
    heads : int ndarray of shape (n_tokens,)
    labels : int ndarray of shape (n_tokens,)
        Changed where several arcs of a head compete, to the most probable ones that do not.
    proba : callable
        Takes tokens; returns probabilities of their labels, (n, n_labels).
    groups : int ndarray of shape (n_labels,)
        -1 for labels that any number of arcs may have, which there must be some of.
    """
    of_sentence = np.repeat(indptr[:-1], np.diff(indptr))
    places = np.where(heads > 0, of_sentence + heads, -1 - of_sentence)  # the root has one arc
    of_labels, n_groups = groups[labels], groups.max() + 1
    pairs = (places * n_groups + of_labels)[of_labels >= 0]
    found, counts = np.unique(pairs, return_counts=True)
    for place in np.unique(found[counts > 1] // n_groups):
        tokens = np.flatnonzero(places == place)
        labels[tokens] = _assign_labels(log_of(proba(tokens)), groups)


def _assign_labels(logs, groups):
    """Find the labels, no two of one group, with the largest sum of log probabilities."""
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
