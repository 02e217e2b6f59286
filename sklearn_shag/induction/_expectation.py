"""EM over all trees of sentences, or over their best trees."""

from functools import partial
from typing import NamedTuple

import numpy as np

from sklearn_shag.induction._valence import (
    Estimate,
    estimate,
    gather,
    log_prior,
    to_grammar,
)
from sklearn_shag.learning import Expected, climb_to_the_end
from sklearn_shag.parsing import Potentials, arc_begins, best_trees, chart


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
    text,
    start,
    form,
    *,
    viterbi=False,
    by_all_first=False,
    ended=None,
    max_iter,
    tol,
    n_jobs,
    advance,
):
    """Improve distributions by EM.

    Parameters
    ----------
    text : Text
        Each sentence has a tree that is possible under the start.
    start : Distributions
    form : Form
    ended : None or tuple of Operators and list of float, default=None
        The counts and objectives with which EM ended before it had converged; it goes on there, and
        not at `start`.
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
    maximise = partial(_maximise, form)
    climb = partial(
        climb_to_the_end,
        expect=expect,
        maximise=maximise,
        tol=tol,
        n_samples=float(text.weights.sum()),
        advance=advance,
    )
    if ended is not None:
        counts, objectives = ended
        found = climb(maximise(counts), max_iter=max_iter - 1, objectives=objectives)
        return found._replace(parameters=found.parameters.means)
    first = Estimate(start, log_prior(start, form), start)
    if by_all_first or form.inference == "variational":  # whose bound needs counts
        first = maximise(_expect(text, form, viterbi and not by_all_first, n_jobs, first).counts)
    found = climb(first, max_iter=max_iter)
    return found._replace(parameters=found.parameters.means)


def _maximise(form, counts):
    return estimate(gather(counts, form), form)


def _expect(text, form, viterbi, n_jobs, estimated):
    """The E step: expected uses of operators, in all trees or in the best ones."""
    grammar, potentials = to_grammar(estimated.weights, form), text.potentials
    scores = None
    if viterbi:
        heads, scores = best_trees(grammar, potentials, n_jobs=n_jobs)
        potentials = potentials._replace(arcs=_arcs_of(heads, text.indptr))
    found = chart(
        grammar, potentials, marginals=False, counts=True, weights=text.weights, n_jobs=n_jobs
    )
    scores = found.log_abs_z if scores is None else scores
    log_likelihood = float(text.weights @ scores)
    return Expected(found.counts, log_likelihood, log_likelihood + estimated.log_prior)


def _arcs_of(heads, indptr):
    """Forbid all arcs but those of given trees."""
    lengths, begins = np.diff(indptr), arc_begins(indptr)
    rows = np.arange(indptr[-1]) - np.repeat(indptr[:-1], lengths)
    arcs = np.full(begins[-1], -np.inf)
    places = np.repeat(begins[:-1], lengths) + rows * np.repeat(lengths + 1, lengths)
    arcs[places + np.concatenate(heads)] = 0.0
    return arcs
