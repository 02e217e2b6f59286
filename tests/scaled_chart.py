"""The scaled chart: inside-outside with an exponent for every vector (theory, eqs. 14-26).

An oracle for the chart of the package, which is in plain doubles. It takes sentences of any length
and value, as long as the entries of each vector, matrix and set of factors are within 1e+-100 of
each other. What is smaller beside others may vanish. Where expected uses then leave the range of
doubles, the sentence is not done.

A sentence has positions 0..N; position 0 is the root symbol. Both directions share all tables and
sums: a token has a *place* in each, N - position to the left and its position to the right, so that
modifiers lie behind their heads. Tables are addressed by direction, width and place: a half of the
width w and the head at p ends with the place p + w. The memory of an automaton is the class of its
last modifier, 0 at the start; where more than one is possible, there is a vector for each:

- ``complete[d, w, p, j]``, vector C_j: the automaton of the head has emitted every modifier up to
  p + w, the last of them of class j;
- ``facing[d, w, p]`` and ``ending[d, w, p]``, numbers: halves after STOP, whatever the class, in
  two orders. The first are those with the head p that lie before it, of the other direction; the
  second those that end with p;
- ``awaiting[d, w, p, j]``, vector g_j: everything between p and p + w is built, the modifier p + w
  is not yet emitted;
- ``incomplete[d, w, p, j]``, vector I: it has just been emitted, and j is its class; else 0.

Spectral operators are signed, so the chart works in plain reals, not logarithms. It consists of
weighted sums of vectors, all done by :func:`_sum_up` and differentiated by :func:`_differentiate`.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sklearn_shag.encoding import LEFT, RIGHT
from sklearn_shag.operators import Operators
from sklearn_shag.parsing import InsideOutside
from sklearn_shag.parsing._chart import PackedGrammar, Route
from sklearn_shag.parsing._fast_driver import DONE, WITHOUT_MASS
from sklearn_shag.parsing._potentials import classes_of

# The exponent of an empty sum: below that of every other entry.
ZERO_EXPONENT = -(2**60)
# Scores of arcs are numbers times a power of this base.
LOG2_BASE = 256
LOG_BASE = LOG2_BASE * float(np.log(2.0))
# Further below the largest score of its token an arc counts as forbidden: there, a logarithm in
# double precision is off by a tenth.
LARGEST_GAP = 1e15
# Any double times 2 to this power is infinite, or 0, and divided by it 0.
LARGEST_SHIFT = 5000
DIRECTIONS = np.array([[LEFT], [RIGHT]])


@dataclass(frozen=True)
class Scaled:
    """Numbers, or vectors along the last axis, in units of ``2 ** exponents``."""

    values: np.ndarray
    exponents: np.ndarray  # one of each number, or of each vector

    def __getitem__(self, place):
        return Scaled(self.values[place], self.exponents[place])

    def __setitem__(self, place, scaled):
        self.values[place], self.exponents[place] = scaled.values, scaled.exponents


class Sentence(NamedTuple):
    """One sentence of N tokens, with factors of either sign, for automata with k memories."""

    codes: np.ndarray  # (N + 1,); the first is that of the root symbol
    memory: np.ndarray  # (N + 1,), the class of each token; the root symbol is no modifier
    arc_scores: Scaled  # (N + 1, N + 1, k): head, modifier, class before
    stop_scores: Scaled  # (N + 1, 2, k)


class Chart(NamedTuple):
    """Inside values of one sentence of N tokens, or, as arrays, the derivatives of log Z by them.

    The first axes are direction, width and place, (2, N + 1, N + 1).
    """

    complete: Scaled  # (..., k, n)
    facing: Scaled  # (...)
    ending: Scaled  # (...)
    awaiting: Scaled  # (..., k, n)
    incomplete: Scaled  # (..., k, n)


class Terms(NamedTuple):
    """What a sum consists of: weights times vectors, along an axis."""

    weights: Scaled
    vectors: Scaled
    axis: int


def _shift(values, exponents):
    """Multiply by 2 ** exponents."""
    return np.ldexp(values, np.clip(exponents, -LARGEST_SHIFT, LARGEST_SHIFT).astype(np.int32))


def _normalise(values, exponents=0, n_axes=1):
    """Divide vectors, or matrices of two axes, by the power of two next to the largest entry."""
    axes = tuple(range(-n_axes, 0))
    excess = np.frexp(np.abs(values).max(axis=axes))[1].astype(np.int64)
    return Scaled(_shift(values, -np.expand_dims(excess, axes)), exponents + excess)


def _sum_up(terms):
    """Sum up, in plain products, and normalise the sum."""
    weights, vectors, axis = terms
    exponents = weights.exponents + vectors.exponents
    # Only terms that are not zero may set the scale of a sum: beside the scale of another they
    # could vanish. A sum of zeros has that of its terms, since its derivatives need not vanish.
    is_zero = (weights.values == 0.0) | ~vectors.values.any(axis=-1)
    largest = np.where(is_zero, ZERO_EXPONENT, exponents).max(axis=axis, keepdims=True)
    of_zeros = np.maximum(exponents.max(axis=axis, keepdims=True), ZERO_EXPONENT)
    largest = np.where(largest == ZERO_EXPONENT, of_zeros, largest)
    scaled = _shift(weights.values, np.minimum(exponents - largest, 0))
    total = (scaled[..., None] * vectors.values).sum(axis=axis)
    return _normalise(total, largest.squeeze(axis))


def _differentiate(terms, total, d_total):
    """Find the derivatives of log Z by weights and vectors, given that by their sum."""
    weights, vectors, axis = terms
    exponents = weights.exponents + vectors.exponents - np.expand_dims(total.exponents, axis)
    d_total = np.expand_dims(d_total, axis)
    d_weights = _shift(_times(vectors.values, d_total).sum(axis=-1), exponents)
    return d_weights, _times(_shift(weights.values, exponents)[..., None], d_total)


def _times(values, derivatives):
    """Multiply; what is 0 has no use, even where the derivative is not finite, and vice versa."""
    uses = values * derivatives
    if not np.isfinite(uses).all():
        uses = np.where((values != 0.0) & (derivatives != 0.0), uses, 0.0)
    return uses


def _apart(scaled):
    """The entries of vectors, or the rows of matrices, with exponents of their own."""
    return Scaled(scaled.values, scaled.exponents[..., None])


class Halves:
    """All halves of one width: their places in tables, and the terms of their sums."""

    def __init__(self, operators, sentence, chart, width):
        self.operators, self.sentence, self.chart = operators, sentence, chart
        n = sentence.codes.size
        positions, places = np.stack([np.arange(n)[::-1], np.arange(n)]), np.arange(n - width)
        self.heads, self.modifiers = positions[:, : n - width], positions[:, width:]
        self.codes = sentence.codes[self.heads], DIRECTIONS
        # The root symbol is among the modifiers, with scores of 0: its code may be any.
        self.moves = *self.codes, np.where(self.modifiers, sentence.codes[self.modifiers], 0)
        self.here = np.s_[:, width, : n - width]
        self.narrower = np.s_[:, :width, : n - width]
        self.emitted = np.s_[:, 1 : width + 1, : n - width]
        self.behind = np.s_[:, width - 1 :: -1, width:]  # those two, the widest first
        self.of_class = DIRECTIONS, width, places, sentence.memory[self.modifiers]
        self.facing = 1 - DIRECTIONS, width, n - 1 - places
        self.ending = DIRECTIONS, width, width + places

    def awaiting(self):
        # g_j[h, m] = sum_b closed[m, b] C_j[h, b]                                       (eq. 16)
        chart = self.chart
        return Terms(chart.facing[self.behind][..., None], chart.complete[self.narrower], 1)

    def scored(self):
        # g[h, m] = sum_j score(h, m, j) g_j[h, m]                                       (eq. 17)
        scores = self.sentence.arc_scores[self.heads, self.modifiers]
        return Terms(scores, self.chart.awaiting[self.here], 2)

    def incomplete(self, scored):
        # I[h, m] = A[h, m] g[h, m]                                                      (eq. 17)
        matrices = _normalise(self.operators.A[self.moves].swapaxes(2, 3), n_axes=2)
        return Terms(_apart(scored), _apart(matrices), 2)

    def complete(self):
        # C_j[h, b] = sum_m closed[m, b] I_j[h, m]                                       (eq. 18)
        chart = self.chart
        return Terms(chart.ending[self.behind][..., None], chart.incomplete[self.emitted], 1)

    def stopped(self):
        # S[h, b] = sum_j stop(h, j) C_j[h, b]                                           (eq. 14)
        scores = self.sentence.stop_scores[self.heads, DIRECTIONS]
        return Terms(scores, self.chart.complete[self.here], 2)

    def closed(self, stopped):
        # closed[h, b] = alpha_inf . S[h, b]                                             (eq. 14)
        stops = _normalise(self.operators.alpha_inf[self.codes])
        return Terms(_apart(stops), stopped[..., None], 2)


def _new_chart(sentence, n_states):
    n, _, n_classes = sentence.arc_scores.values.shape

    def table(*axes):
        return Scaled(np.zeros((2, n, n, *axes)), np.full((2, n, n, *axes[:-1]), ZERO_EXPONENT))

    of_vectors = n_classes, n_states
    return Chart(table(*of_vectors), table(), table(), table(*of_vectors), table(*of_vectors))


def inside(operators, sentence):
    """Fill the chart of one sentence (eqs. 14-18, 23)."""
    n = sentence.codes.size
    chart = _new_chart(sentence, operators.alpha_1.shape[2])
    for width in range(n):
        halves = Halves(operators, sentence, chart, width)
        if width == 0:  # C_0[h, b] = alpha_1                                            (eq. 15)
            chart.complete[:, 0, :, 0] = _normalise(operators.alpha_1[halves.codes])
        else:
            chart.awaiting[halves.here] = _sum_up(halves.awaiting())
            scored = _sum_up(halves.scored())
            chart.incomplete[halves.of_class] = _sum_up(halves.incomplete(scored))
            chart.complete[halves.here] = _sum_up(halves.complete())
            if width < n - 1:  # whoever has a root takes no other
                chart.complete[RIGHT, width, 0] = Scaled(0.0, ZERO_EXPONENT)
        closed = _sum_up(halves.closed(_sum_up(halves.stopped())))
        closed = Scaled(closed.values[..., 0], closed.exponents)
        chart.facing[halves.facing] = chart.ending[halves.ending] = closed
    return chart


def _outside(operators, sentence, chart, counts):
    """Differentiate log Z by the entries of the chart (eqs. 19-22), and find uses (eqs. 25, 26).

    Those of arcs and stops are returned, by head and modifier and by head and side; those of
    operators are added to `counts`, unless it is empty.
    """
    n = sentence.codes.size
    adjoint = Chart(*(np.zeros(table.values.shape) for table in chart))
    adjoint.ending[RIGHT, -1, -1] = 1.0 / chart.ending.values[RIGHT, -1, -1]
    arcs, stops = (np.zeros(scores.values.shape) for scores in sentence[2:])
    for width in reversed(range(n)):
        halves = Halves(operators, sentence, chart, width)
        terms = halves.stopped()
        stopped = _sum_up(terms)
        closed, d_closed = halves.closed(stopped), adjoint.facing[halves.facing]
        d_closed = (d_closed + adjoint.ending[halves.ending])[..., None]
        d_stops, d_stopped = _differentiate(closed, chart.ending[halves.ending], d_closed)
        _count(counts.alpha_inf, halves.codes, closed.weights.values, d_stops)
        d_scores, d_complete = _differentiate(terms, stopped, d_stopped[..., 0])
        stops[halves.heads, DIRECTIONS] += _times(terms.weights.values, d_scores)
        adjoint.complete[halves.here] += d_complete
        if width == 0:
            break
        d_complete, complete = adjoint.complete[halves.here], chart.complete[halves.here]
        d_closed, d_incomplete = _differentiate(halves.complete(), complete, d_complete)
        adjoint.ending[halves.behind] += d_closed.sum(axis=-1)
        adjoint.incomplete[halves.emitted] += d_incomplete
        terms = halves.scored()
        scored = _sum_up(terms)
        moved, d_incomplete = halves.incomplete(scored), adjoint.incomplete[halves.of_class]
        d_scored, d_moves = _differentiate(moved, chart.incomplete[halves.of_class], d_incomplete)
        _count(counts.A.swapaxes(3, 4), halves.moves, moved.vectors.values, d_moves)
        d_scores, d_awaiting = _differentiate(terms, scored, d_scored)
        arcs[halves.heads, halves.modifiers] = _times(terms.weights.values, d_scores)
        awaiting = chart.awaiting[halves.here]
        d_closed, d_complete = _differentiate(halves.awaiting(), awaiting, d_awaiting)
        adjoint.facing[halves.behind] += d_closed.sum(axis=-1)
        adjoint.complete[halves.narrower] += d_complete
    starts = chart.complete.values[:, 0, :, 0]
    _count(counts.alpha_1, halves.codes, starts, adjoint.complete[:, 0, :, 0])
    return arcs, stops


def _count(part, places, values, derivatives):
    if part.size:
        np.add.at(part, places, _times(values, derivatives))


def _sum_over_trees(operators, sentence, counts):
    """Sum over the trees of a sentence, and find the expected uses of its scores.

    Parameters
    ----------
    operators : Operators
        Of a grammar.
    sentence : Sentence
    counts : Operators
        The expected uses of operators are added to it; none where it is empty.

    Returns
    -------
    sign : float
        Of Z, the sum; 0 where it vanishes.
    log_abs_z : float
    arcs : ndarray of shape (N, N + 1, k)
        Expected uses of arcs, by modifier and head. They tell whether Z can be trusted: it is 0 or
        not finite, or so is what it consists of, where they are not finite.
    stops : ndarray of shape (N + 1, 2, k)
        The same of stops.
    """
    with np.errstate(all="ignore"):
        chart = inside(operators, sentence)
        z = chart.ending[RIGHT, -1, -1]
        if z.values == 0.0 or not np.isfinite(z.values):
            arcs, stops = (np.full(scores.values.shape, np.nan) for scores in sentence[2:])
        else:
            arcs, stops = _outside(operators, sentence, chart, counts)
        log_abs_z = np.log(abs(z.values)) + z.exponents * np.log(2.0)
    return np.sign(z.values), log_abs_z, arcs[:, 1:].swapaxes(0, 1), stops


def new_sentence(codes, memory, arc_scores, stop_scores):
    arc_scores = _normalise(arc_scores, n_axes=0)
    arc_scores.values[:, 0] = 0.0  # the root symbol is no modifier
    return Sentence(codes, memory, arc_scores, _normalise(stop_scores, n_axes=0))


@np.errstate(all="ignore")  # what leaves the range of doubles is refused at the end
def run_scaled(call, which):
    """Parse sentences of a Call: DONE where Z is not 0, and it and all uses are finite."""
    grammar, factors, results, weights, counts = call
    operators = grammar.operators
    done = np.zeros(which.size, dtype=bool)
    for k, s in enumerate(which.tolist()):
        sentence, offset = _sentence_of(factors, s, operators.A.shape[0] - 1)
        used = Operators(*map(np.zeros_like, counts))
        sign, log_abs_z, arcs, stops = _sum_over_trees(operators, sentence, used)
        # They are NaN if Z is 0. What cancels in them may be counts that do not fit a double.
        done[k] = all(np.isfinite(part).all() for part in (arcs, stops, *used))
        if not done[k]:
            continue
        results.sign[s], results.log_abs_z[s] = sign, log_abs_z + offset
        for total, part in zip(counts, used, strict=True):
            total += weights[s] * part
        if results.arcs.size:
            place = slice(factors.begins[s], factors.begins[s + 1])
            results.arcs[place] = arcs.sum(axis=2).ravel()
            if results.arc_memory.size:
                results.arc_memory[place] = arcs.reshape(-1, arcs.shape[2])
        if results.stop_memory.size:
            results.stop_memory[factors.indptr[s] : factors.indptr[s + 1]] = stops[1:]
    return np.where(done, DONE, WITHOUT_MASS)


def _sentence_of(factors, s, root):
    """Make the sentence of some factors; its log Z is to be increased by the number returned."""
    tokens = slice(factors.indptr[s], factors.indptr[s + 1])
    place = slice(factors.begins[s], factors.begins[s + 1])
    codes = np.concatenate([[root], factors.codes[tokens]])
    n, n_classes = codes.size, classes_of.py_func(factors)
    memory, offset = np.zeros(n, dtype=np.int64), 0.0
    arc_scores, stop_scores = np.ones((n, n, n_classes)), np.ones((n, 2, n_classes))
    if factors.memory.size:
        memory[1:] = factors.memory[tokens]
    if factors.stop_memory.size:
        stop_scores[1:] = factors.stop_memory[tokens]
    if factors.arc_memory.size:
        arc_scores[:, 1:] = factors.arc_memory[place].reshape(n - 1, n, -1).swapaxes(0, 1)
    sentence = new_sentence(codes, memory, arc_scores, stop_scores)
    if factors.arcs.size:
        arcs = np.full((n, n), -np.inf)
        arcs[:, 1:] = factors.arcs[place].reshape(n - 1, n).T
        np.fill_diagonal(arcs, -np.inf)
        largest = arcs.max(axis=0)  # to each token
        largest[largest == -np.inf] = 0.0
        offset = largest.sum()
        gaps = arcs - largest
        possible = gaps >= -LARGEST_GAP
        exponents = np.trunc(np.where(possible, gaps, 0.0) / LOG_BASE)
        scores = np.where(possible, np.exp(gaps - LOG_BASE * exponents), 0.0)
        sentence.arc_scores.values[...] *= scores[..., None]
        sentence.arc_scores.exponents[...] += LOG2_BASE * exponents[..., None].astype(np.int64)
    return sentence, offset


def inside_outside(operators, codes, *, arc_scores=None, stop_scores=None):
    """Sum over all projective trees of a sentence, as the function of the package does.

    Scores may have any sign.
    """
    positions = np.concatenate([[operators.A.shape[0] - 1], codes]).astype(np.int64)
    n = positions.size
    arc_scores = np.ones((n, n)) if arc_scores is None else arc_scores
    stop_scores = np.ones((n, 2)) if stop_scores is None else stop_scores
    scores = arc_scores[..., None], stop_scores[..., None]
    sentence = new_sentence(positions, np.zeros_like(positions), *scores)
    counts = Operators(*map(np.zeros_like, operators))
    sign, log_abs_z, arcs, _ = _sum_over_trees(operators, sentence, counts)
    return InsideOutside(sign, log_abs_z, arcs[:, :, 0], counts)


@dataclass(frozen=True)
class ScaledGrammar(PackedGrammar):
    """A grammar whose sentences are summed by this chart."""

    no_counts = Operators(np.empty((0, 2, 1)), np.empty((0, 2, 1)), np.empty((0, 2, 0, 1, 1)))
    routes = (Route(run_scaled),)

    def new_counts(self):
        return Operators(*map(np.zeros_like, self.operators))

    def finish_counts(self, parts):
        return Operators(*map(sum, zip(*parts, strict=True)))
