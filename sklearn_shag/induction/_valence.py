"""The dependency model with valence: its distributions, and EM over all trees."""

from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import digamma, gammaln

from sklearn_shag.automata import Expected, climb_to_the_end
from sklearn_shag.encoding import RIGHT
from sklearn_shag.operators import Operators, complete_grammar
from sklearn_shag.parsing import Potentials, best_trees, chart, keep_known


class Form(NamedTuple):
    """Which form automata have, and how distributions are estimated from counts."""

    n_states: int = 2
    tied: bool = True
    hidden: bool = False
    prior: float = 0.0  # pseudo-counts of each outcome
    inference: str = "map"  # or "variational"


class Distributions(NamedTuple):
    """Of a grammar over V symbols: heads, directions, states, outcomes; or their counts.

    Heads are the known ones and, last, the unknown one: the pool of all.
    """

    roots: np.ndarray  # (V,)
    starts: np.ndarray  # (V + 1, 2, n): the state before the first modifier
    stops: np.ndarray  # (V + 1, 2, n, 2): STOP, or a modifier
    moves: np.ndarray  # (V + 1, 2, n or 1, V, n or 1): the modifier, and the state after it


# How many axes the outcomes of each distribution have.
N_AXES = Distributions(1, 1, 1, 2)


class Estimate(NamedTuple):
    """What the M step makes of counts."""

    weights: Distributions  # of the next E step
    log_prior: float  # the logarithm of the prior, or what variational inference has in its place
    means: Distributions  # probabilities


def gather(counts, form):
    """Sum the uses of the operators of a grammar to counts of the outcomes of distributions."""
    uses = np.moveaxis(counts.A[:-1, :, :-1], -1, 2)  # head, direction, state, modifier, state
    going = uses.sum(axis=(3, 4))
    if not form.hidden:
        uses = uses.sum(axis=4, keepdims=True)
    if form.tied and not form.hidden:
        uses = uses.sum(axis=2, keepdims=True)
    stops = np.stack([counts.alpha_inf[:-1], going], axis=-1)
    starts = counts.alpha_1[:-1] if form.hidden else begin_in_first(stops.shape[:-1])
    return pool(Distributions(counts.A[-1, RIGHT, :-1, 0, 0], starts, stops, uses))


def begin_in_first(shape):
    """The starts of automata that begin in their first state."""
    starts = np.zeros(shape)
    starts[..., 0] = 1.0
    return starts


def pool(counts):
    """Give the unknown head, the last, the counts of all heads."""
    roots, *of_heads = counts
    return Distributions(roots, *map(_pool, of_heads))


def _pool(part):
    return np.concatenate([part[:-1], part[:-1].sum(axis=0, keepdims=True)])


def estimate(counts, form):
    """Estimate distributions from counts of their outcomes: the M step (theory, eqs. 43 and 44).

    Parameters
    ----------
    counts : Distributions
    form : Form

    Returns
    -------
    estimate : Estimate
        What was never seen, and has no prior, is uniform.
    """
    pairs = list(zip(counts, _priors(counts, form), N_AXES, strict=True))
    if form.inference == "map":
        weights = Distributions(*(normalise(part + prior, n) for part, prior, n in pairs))
        return Estimate(weights, log_prior(weights, form), weights)
    posteriors = [(part + prior, prior, n) for part, prior, n in pairs]
    means = Distributions(*(normalise(part, n) for part, _, n in posteriors))
    # What has no prior is no random variable: where automata begin, unless states are hidden.
    weights = Distributions(
        *(
            np.exp(_expected_logs(part, n)) if prior > 0 else mean
            for (part, prior, n), mean in zip(posteriors, means, strict=True)
        )
    )
    bound = -sum(_divergence(*each) for each in posteriors if each[1] > 0)
    return Estimate(weights, bound, means)


def log_prior(weights, form):
    """The logarithm of the Dirichlet prior of distributions, up to a constant."""
    total = 0.0
    for part, prior in zip(weights, _priors(weights, form), strict=True):
        if prior > 0:
            # A start may have zeros, and so may what weights leave of a prior.
            possible = np.maximum(_of_known(part), np.finfo(float).tiny)
            total += prior * float(np.log(possible).sum())
    return total


def _priors(counts, form):
    """The pseudo-counts of an outcome of each distribution; states after a modifier share one."""
    of_starts = form.prior if form.hidden else 0.0
    return Distributions(form.prior, of_starts, form.prior, form.prior / counts.moves.shape[-1])


def _of_known(part):
    """Without the unknown head, whose distributions are made of counts that are there already."""
    return part[:-1] if part.ndim > 1 else part


def normalise(part, n_axes):
    axes = tuple(range(-n_axes, 0))
    total = part.sum(axis=axes, keepdims=True)
    n_outcomes = np.prod(part.shape[-n_axes:])
    return np.where(total > 0, part / np.where(total > 0, total, 1.0), 1.0 / n_outcomes)


def _expected_logs(part, n_axes):
    """The expected logarithms of what has Dirichlet distributions with these parameters."""
    total = part.sum(axis=tuple(range(-n_axes, 0)), keepdims=True)
    return digamma(part) - digamma(total)


def _divergence(part, prior, n_axes):
    """The Kullback-Leibler divergence of these Dirichlet distributions from their priors."""
    part = _of_known(part)
    axes, n_outcomes = tuple(range(-n_axes, 0)), int(np.prod(part.shape[-n_axes:]))
    values = gammaln(part.sum(axis=axes)) - gammaln(part).sum(axis=axes)
    values += n_outcomes * gammaln(prior) - gammaln(n_outcomes * prior)
    values += ((part - prior) * _expected_logs(part, n_axes)).sum(axis=axes)
    return float(values.sum())


def to_grammar(distributions, form):
    """Make the operators of a grammar (theory, eq. 41).

    Parameters
    ----------
    distributions : Distributions
        They need not sum to 1.
    form : Form

    Returns
    -------
    operators : Operators
        Leading axes (V + 2, 2).
    """
    roots, starts, stops, moves = distributions
    n_states = stops.shape[2]
    A = np.zeros((*starts.shape[:2], roots.size, n_states, n_states))
    after = slice(None) if form.hidden else slice(1, 2)  # the state after a modifier
    A[..., after, :] = np.moveaxis(stops[..., 1, None, None] * moves, 2, -1)
    grammar = complete_grammar(Operators(starts, stops[..., 0], A), np.ones(roots.size))
    grammar.A[-1, RIGHT, :-1, 0, 0] = roots
    grammar.A[-1, RIGHT, -1, 0, 0] = roots.sum()
    return grammar


def count_uses(counts):
    """Sum the uses of operators to those of modifiers and, last, STOP: (V + 1, 2, V + 1)."""
    uses = np.concatenate(
        [counts.A[:-1, :, :-1].sum(axis=(3, 4)), counts.alpha_inf[:-1].sum(axis=2)[:, :, None]],
        axis=2,
    )
    return _pool(uses)


class Text(NamedTuple):
    """Sentences to learn from."""

    codes: np.ndarray  # (n_tokens,)
    heads: np.ndarray  # (n_tokens,): -1 where they are not known
    indptr: np.ndarray  # (n_sentences + 1,)
    weights: np.ndarray  # (n_sentences,)
    arcs: np.ndarray | None  # (n_arcs,): what rules and known heads add to the scores of arcs

    @property
    def potentials(self):
        """What the chart is told of them."""
        return Potentials(self.indptr, self.codes, self.arcs)


def improve(
    text, start, form, *, viterbi=False, by_all_first=False, max_iter, tol, n_jobs, advance
):
    """Improve distributions by EM.

    Parameters
    ----------
    text : Text
        Each sentence has a tree that is possible under the start.
    start : Distributions
    form : Form
    max_iter : int
    tol : float
        EM ends when an iteration raises the objective by no more than this a sentence.
    viterbi : bool, default=False
        Whether counts are those of the best trees, not of all.
    by_all_first : bool, default=False
        Whether the first ones, before iterations are counted, are those of all trees in any case.
    n_jobs : int or None
    advance : callable
        Is called after every iteration.

    Returns
    -------
    ended : Ended
        Its parameters are Distributions, its counts those of operators.
    """
    expect = partial(_expect, text, form, viterbi, n_jobs)

    def maximise(counts):
        return estimate(gather(counts, form), form)

    first = Estimate(start, log_prior(start, form), start)
    if by_all_first or form.inference == "variational":  # whose bound needs counts
        first = maximise(_expect(text, form, viterbi and not by_all_first, n_jobs, first).counts)
    limits = {"n_samples": float(text.weights.sum()), "max_iter": max_iter, "tol": tol}
    found = climb_to_the_end(first, expect, maximise, advance=advance, **limits)
    return found._replace(parameters=found.parameters.means)


def _expect(text, form, viterbi, n_jobs, estimated):
    """The E step: expected uses of operators, in all trees or in the best ones."""
    grammar, potentials = to_grammar(estimated.weights, form), text.potentials
    scores = None
    if viterbi:
        heads, scores = best_trees(grammar, potentials, n_jobs=n_jobs)
        potentials = keep_known(potentials, np.concatenate(heads))
    options = {"marginals": False, "counts": True, "n_jobs": n_jobs}
    found = chart(grammar, potentials, sample_weight=text.weights, **options)
    scores = found.log_abs_z if scores is None else scores
    log_likelihood = float(text.weights @ scores)
    return Expected(found.counts, log_likelihood, log_likelihood + estimated.log_prior)
