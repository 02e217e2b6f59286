"""Probabilities that mean what they say: learned on trees that were not learned from."""

from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, softmax

from sklearn_shag.parsing._chart import over_chunks
from sklearn_shag.parsing._parse import EXACT, Calibration, calibrate, list_marginals, solve
from sklearn_shag.utils._typing import FloatArray

# From so many sentences on there is something to learn from.
MIN_SENTENCES = 20
LARGEST_TEMPERATURE, LARGEST_SHARE = 10.0, 0.5
# What one member has never seen, or does not know, others may be sure of: no member may forbid it,
# as the logarithm of 0 would, nor outvote all others by the logarithm of next to nothing.
SMALLEST_PROBABILITY = 1e-6


class CalibratedMixin:
    """Parser that corrects its probabilities of heads and of labels, if it has learned how to."""

    # Of models that were saved before there was this.
    temperatures_: FloatArray = np.ones(2)
    uniform_shares_: FloatArray = np.zeros(2)

    @property
    def _of_heads(self):
        return Calibration(float(self.temperatures_[0]), float(self.uniform_shares_[0]))

    def _correct_labels(self, probabilities):
        """Correct probabilities of labels, (n_tokens, n_labels), in place; and return them."""
        ends = np.arange(len(probabilities) + 1) * probabilities.shape[1]
        calibrate(probabilities.ravel(), ends, self.temperatures_[1], self.uniform_shares_[1])
        return probabilities

    def _answer(self, batch, heads, labels, weights):
        """Say how probable the heads of sentences, and their labels, would be uncorrected.

        Parameters
        ----------
        batch : Batch
        heads, labels : int ndarrays of shape (n_tokens,)
            -1 where they are not known.
        weights : ndarray of shape (n_sentences,)

        Returns
        -------
        of_heads, of_labels : Answers
        """
        vars(self).update(learn_calibrations([]))
        lengths = np.diff(batch.indptr)
        weights = np.repeat(weights, lengths)
        task = partial(solve, self._score, list_marginals)
        marginals = map(np.ravel, over_chunks(task, batch, self.n_jobs, 0))
        sizes = np.repeat(lengths + 1, lengths)
        of_heads = Answers(np.concatenate(list(marginals)), sizes, heads, weights)
        found = np.zeros((heads.size, 0))
        if self._has_labels:
            found = self._label_proba(batch, np.maximum(heads, 0))
        sizes = np.full(heads.size, found.shape[1])
        return of_heads, Answers(found.ravel(), sizes, labels, weights)


def average_choices(known, members):
    """Average what members say of the choices of tokens: the logarithms of their probabilities.

    Parameters
    ----------
    known : ndarray of str of shape (n_known,)
        All choices, sorted.
    members : list of tuples
        Of each member its weight, the choices that it knows, sorted, and their probabilities,
        (n_tokens, n_choices).

    Returns
    -------
    probabilities : ndarray of shape (n_tokens, n_known)
        What has none in all members has none.
    """
    means, possible = 0.0, False
    total = sum(weight for weight, *_ in members)
    for weight, choices, probabilities in members:
        of_known = np.zeros((len(probabilities), known.size))
        of_known[:, np.searchsorted(known, choices)] = probabilities
        possible = possible | (of_known > 0)
        means = means + weight / total * np.log(np.maximum(of_known, SMALLEST_PROBABILITY))
    return softmax(np.where(possible, means, -np.inf), axis=1)


class Answers(NamedTuple):
    """How probable the choices of tokens are, and which of them are right."""

    probabilities: np.ndarray  # (n_choices,), of one token after the other
    sizes: np.ndarray  # (n_tokens,): how many choices each has
    true: np.ndarray  # (n_tokens,): which is right, -1 where that is not known
    weights: np.ndarray  # (n_tokens,)


def learn_calibrations(answers):
    """Learn the attributes of CalibratedMixin.

    Parameters
    ----------
    answers : list of pairs of Answers
        Of heads and of labels, by parsers that did not learn from these sentences. Without any,
        nothing is corrected.

    Returns
    -------
    attributes : dict
    """
    both = [_learn_calibration(part) for part in zip(*answers, strict=True)] or [EXACT, EXACT]
    temperatures, shares = np.array(both).T.copy()
    return {"temperatures_": temperatures, "uniform_shares_": shares}


def _learn_calibration(answers):
    """Find the correction under which right choices are most probable (Guo et al., 2017)."""
    probabilities, sizes, true, weights = map(np.concatenate, zip(*answers, strict=True))
    ends = np.concatenate([[0], np.cumsum(sizes)])
    known = np.flatnonzero(true >= 0)
    places, weights = ends[known] + true[known], weights[known]
    possible = probabilities[places] > 0
    places, weights = places[possible], weights[possible]
    if not weights.any():
        return EXACT
    space = np.empty_like(probabilities)

    def loss(parameters):
        space[:] = probabilities
        calibrate(space, ends, *_read(parameters))
        return -weights @ np.log(space[places]) / weights.sum()

    options = {"xatol": 0.01, "fatol": 1e-6}
    return _read(minimize(loss, (0.0, -3.0), method="Nelder-Mead", options=options).x)


def _read(parameters):
    """A correction of two real numbers."""
    temperature = np.exp(np.clip(parameters[0], -10, 10))
    temperature = np.clip(temperature, 1 / LARGEST_TEMPERATURE, LARGEST_TEMPERATURE)
    return Calibration(float(temperature), float(LARGEST_SHARE * expit(parameters[1])))
