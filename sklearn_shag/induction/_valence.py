"""The dependency model with valence: its distributions, and EM over all trees."""

from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import digamma, gammaln

from sklearn_shag.automata import Expected, climb_to_the_end
from sklearn_shag.encoding import RIGHT
from sklearn_shag.operators import Operators, complete_grammar
from sklearn_shag.parsing import Potentials, best_trees, chart, keep_known
from sklearn_shag.utils._arrays import TINY


class ValenceForm(NamedTuple):
    """Form of the automata, and the settings for estimates of their distributions."""

    n_states: int = 2
    tied: bool = True
    hidden: bool = False
    prior: float = 0.0  # pseudo-counts of each outcome
    inference: str = "map"  # or "variational"


class ValenceModel(NamedTuple):
    """Probabilities of a grammar over V symbols, or counts of their outcomes.

    Axes are heads, directions, states and outcomes. The last head is the unknown one, the pool.
    """

    roots: np.ndarray  # (V,)
    starts: np.ndarray  # (V + 1, 2, n): the state before the first modifier
    stops: np.ndarray  # (V + 1, 2, n, 2): STOP, or a modifier
    moves: np.ndarray  # (V + 1, 2, n or 1, V, n or 1): the modifier, and the state after it


# Number of axes of the outcomes of each distribution.
N_AXES = ValenceModel(1, 1, 1, 2)


class Estimate(NamedTuple):
    """Result of an M step: probabilities, and weights for the next E step."""

    weights: ValenceModel  # of the next E step
    log_prior: float  # of the weights; in variational inference minus the divergence
    means: ValenceModel  # probabilities


def gather_counts(counts, form):
    """Sum the uses of the operators of a grammar to counts of the outcomes of a ValenceModel."""
    uses = np.moveaxis(counts.A[:-1, :, :-1], -1, 2)  # head, direction, state, modifier, state
    going = uses.sum(axis=(3, 4))
    if not form.hidden:
        uses = uses.sum(axis=4, keepdims=True)
    if form.tied and not form.hidden:
        uses = uses.sum(axis=2, keepdims=True)
    stops = np.stack([counts.alpha_inf[:-1], going], axis=-1)
    starts = counts.alpha_1[:-1] if form.hidden else begin_in_first(stops.shape[:-1])
    return pool_counts(ValenceModel(counts.A[-1, RIGHT, :-1, 0, 0], starts, stops, uses))


def begin_in_first(shape):
    """Return starts of this shape, with probability 1 for the first state, on the last axis."""
    starts = np.zeros(shape)
    starts[..., 0] = 1.0
    return starts


def pool_counts(counts):
    """Give the unknown head, the last one, the summed counts of all others."""
    roots, *of_heads = counts
    return ValenceModel(roots, *map(_pool_heads, of_heads))


def _pool_heads(part):
    return np.concatenate([part[:-1], part[:-1].sum(axis=0, keepdims=True)])


def estimate_model(counts, form):
    """Estimate distributions from counts of their outcomes: the M step (theory, eqs. 43 and 44).

    Parameters
    ----------
    counts : ValenceModel
    form : ValenceForm

    Returns
    -------
    estimate : Estimate
        Distributions without counts and prior are uniform.
    """
    priors = _list_priors(counts, form)
    posteriors = [
        (part + prior, prior, n) for part, prior, n in zip(counts, priors, N_AXES, strict=True)
    ]
    means = ValenceModel(*(normalise_outcomes(part, n) for part, _, n in posteriors))
    if form.inference == "map":
        return Estimate(means, log_prior(means, form), means)
    # Distributions without a prior are no random variables: starts, unless states are hidden.
    weights = ValenceModel(
        *(
            np.exp(_expected_logs(part, n)) if prior > 0 else mean
            for (part, prior, n), mean in zip(posteriors, means, strict=True)
        )
    )
    bound = -sum(_sum_divergences(*each) for each in posteriors if each[1] > 0)
    return Estimate(weights, bound, means)


def log_prior(weights, form):
    """Compute the log density of the Dirichlet prior at these distributions, up to a constant."""
    total = 0.0
    for part, prior in zip(weights, _list_priors(weights, form), strict=True):
        if prior > 0:
            # A start may have zeros, and large weights of sentences may round a prior to 0.
            possible = np.maximum(_drop_unknown_head(part), TINY)
            total += prior * float(np.log(possible).sum())
    return total


def _list_priors(counts, form):
    """Return the pseudo-count of each outcome; that of a modifier is divided by its next states."""
    of_starts = form.prior if form.hidden else 0.0
    return ValenceModel(form.prior, of_starts, form.prior, form.prior / counts.moves.shape[-1])


def _drop_unknown_head(part):
    """Drop the unknown head from distributions of heads: its counts are sums of all others."""
    return part[:-1] if part.ndim > 1 else part


def normalise_outcomes(part, n_axes):
    total = part.sum(axis=tuple(range(-n_axes, 0)), keepdims=True)
    n_outcomes = np.prod(part.shape[-n_axes:])
    return np.where(total > 0, part / np.where(total > 0, total, 1.0), 1.0 / n_outcomes)


def _expected_logs(part, n_axes):
    """Expected logarithms of probabilities under Dirichlet distributions with these parameters."""
    total = part.sum(axis=tuple(range(-n_axes, 0)), keepdims=True)
    return digamma(part) - digamma(total)


def _sum_divergences(part, prior, n_axes):
    """Sum the Kullback-Leibler divergences of Dirichlet distributions from their priors."""
    part = _drop_unknown_head(part)
    axes, n_outcomes = tuple(range(-n_axes, 0)), int(np.prod(part.shape[-n_axes:]))
    values = gammaln(part.sum(axis=axes)) - gammaln(part).sum(axis=axes)
    values += n_outcomes * gammaln(prior) - gammaln(n_outcomes * prior)
    values += ((part - prior) * _expected_logs(part, n_axes)).sum(axis=axes)
    return float(values.sum())


def to_grammar(distributions, form):
    """Make the operators of a grammar (theory, eq. 41).

    Parameters
    ----------
    distributions : ValenceModel
        They need not sum to 1.
    form : ValenceForm

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
    """Sum the uses of operators over states: of modifiers and, last, STOP, (V + 1, 2, V + 1)."""
    uses = np.concatenate(
        [counts.A[:-1, :, :-1].sum(axis=(3, 4)), counts.alpha_inf[:-1].sum(axis=2)[:, :, None]],
        axis=2,
    )
    return _pool_heads(uses)


class EncodedText(NamedTuple):
    """Encoded sentences to learn from."""

    codes: np.ndarray  # (n_tokens,)
    heads: np.ndarray  # (n_tokens,): -1 for unknown ones
    indptr: np.ndarray  # (n_sentences + 1,)
    weights: np.ndarray  # (n_sentences,)
    arcs: np.ndarray | None  # (n_arcs,): log scores of arcs by rules and known heads

    @property
    def potentials(self):
        """Potentials of the sentences, for the chart."""
        return Potentials(self.indptr, self.codes, self.arcs)


def improve_model(
    text, start, form, *, viterbi=False, by_all_first=False, max_iter, tol, n_jobs, **watchers
):
    """Improve distributions by EM.

    Parameters
    ----------
    text : EncodedText
        Each sentence has a tree that is possible under the start.
    start : ValenceModel
    form : ValenceForm
    max_iter : int
    tol : float
        EM ends when an iteration raises the objective by no more than this per sentence.
    viterbi : bool, default=False
        Whether the best trees alone are counted, instead of all trees.
    by_all_first : bool, default=False
        Whether all trees are counted before the first iteration in any case.
    n_jobs : int or None
    **watchers
        `advance` and `passes` of :func:`~sklearn_shag.automata.climb_to_the_end`.

    Returns
    -------
    ended : EMResult
        Its parameters are a ValenceModel, its counts uses of operators.
    """
    expect = partial(_expect_uses, text, form, n_jobs, viterbi=viterbi)

    def maximise(counts):
        return estimate_model(gather_counts(counts, form), form)

    first = Estimate(start, log_prior(start, form), start)
    if by_all_first or form.inference == "variational":  # its bound needs counts
        first = maximise(expect(first, viterbi=viterbi and not by_all_first).counts)
    found = climb_to_the_end(
        first,
        expect,
        maximise,
        max_iter=max_iter,
        tol=tol,
        n_samples=float(text.weights.sum()),
        **watchers,
    )
    return found._replace(parameters=found.parameters.means)


def _expect_uses(text, form, n_jobs, estimated, viterbi):
    """The E step: expected uses of operators, in all trees or in the best ones."""
    grammar, potentials = to_grammar(estimated.weights, form), text.potentials
    if viterbi:
        heads, scores = best_trees(grammar, potentials, n_jobs=n_jobs)
        potentials = keep_known(potentials, np.concatenate(heads))
    found = chart(
        grammar,
        potentials,
        marginals=False,
        counts=True,
        sample_weight=text.weights,
        n_jobs=n_jobs,
    )
    log_likelihood = float(text.weights @ (scores if viterbi else found.log_abs_z))
    return Expected(found.counts, log_likelihood, log_likelihood + estimated.log_prior)
