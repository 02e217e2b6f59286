"""Training of linear models of arcs: AdaGrad on small batches, with averaged weights."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import log_softmax

from sklearn_shag.features._hashing import (
    Weights,
    add_scores,
    all_arcs,
    arcs_of_heads,
    new_space,
    take_step,
)
from sklearn_shag.parsing import packed_unit_grammar, places_of, potentials_of_arcs, sum_up_losses

# AdaGrad divides by the root of the sum of this and all squared gradients so far.
FIRST_SQUARE = 0.1


class Text(NamedTuple):
    """Sentences as whole numbers."""

    codes: np.ndarray  # (n_tokens, n_columns)
    indptr: np.ndarray  # (n_sentences + 1,)

    def take(self, chosen):
        """Take some sentences, and say where their tokens were."""
        indptr, places = places_of(self.indptr, chosen)
        return Text(self.codes[places], indptr), places


class LinearTrainer:
    """A linear model of hashed features of arcs while it learns.

    Parameters
    ----------
    start : ndarray of shape (n_features, n_classes)
        Weights, which are not changed.
    templates : Templates
    learning_rate : float
    smallest : float
        Entries of gradients that are nearer to 0 are skipped: soon most of them are.
    """

    def __init__(self, start, templates, learning_rate, smallest):
        self.templates, self.learning_rate, self.smallest = templates, learning_rate, smallest
        squares = np.full(start.shape, FIRST_SQUARE, dtype=np.float32)
        self.weights = Weights(start.astype(np.float32), squares, np.zeros(start.shape))
        self.n_steps = 0

    def learn(self, text, arcs, loss_of):
        """Take a step along the gradient of a loss of the scores of the arcs of sentences.

        Parameters
        ----------
        text : Text
        arcs : Arcs
        loss_of : callable
            Takes scores, (n_arcs, n_classes), and returns a loss and its gradient.

        Returns
        -------
        loss : float
        """
        values, templates = self.weights.values, self.templates
        loss, gradient = loss_of(score_arcs(values, templates, text, arcs))
        shown, space = _prepare(values, templates, text, arcs)
        settings = self.smallest, self.learning_rate, float(self.n_steps)
        take_step(*shown, gradient, *settings, self.weights, space)
        self.n_steps += 1
        return loss

    def is_finite(self):
        """Tell whether nothing has left the range of numbers."""
        return all(np.isfinite(part).all() for part in self.weights)

    def average(self):
        """Average the weights over all steps."""
        values, _, sums = self.weights
        return (values - sums / max(self.n_steps, 1)).astype(np.float32)


def score_arcs(weights, templates, text, arcs):
    """Sum the weights of the features of arcs.

    Parameters
    ----------
    weights : ndarray of shape (n_features, n_classes)
    templates : Templates
    text : Text
    arcs : Arcs

    Returns
    -------
    scores : ndarray of shape (n_arcs, n_classes)
    """
    scores = np.zeros((arcs.heads.size, weights.shape[1]))
    shown, space = _prepare(weights, templates, text, arcs)
    add_scores(*shown, weights, space, scores)
    return scores


def _prepare(weights, templates, text, arcs):
    """What kernels of features take, and memory for them."""
    shown = *text, templates.atoms, templates.n_of_arcs, arcs
    return shown, new_space(templates, int(np.diff(text.indptr).max()), weights.shape[1])


def learn_trees(trainer, text, heads, weights, batches):
    """Go once over sentences, to make known heads more probable.

    Parameters
    ----------
    trainer : LinearTrainer
        Of one class.
    text : Text
    heads : int ndarray of shape (n_tokens,)
        Of trees with projective completions; -1 where they are not known.
    weights : ndarray of shape (n_sentences,)
    batches : list of int ndarrays

    Returns
    -------
    loss : float
        Sum over sentences, each before the step of its batch.
    """
    total = 0.0
    for batch in batches:
        part, places = text.take(batch)

        def loss_of(scores, part=part, known=heads[places], weights=weights[batch]):
            potentials = potentials_of_arcs(part.indptr, scores.ravel())
            losses, gradient = sum_up_losses(packed_unit_grammar(), potentials, known, weights)
            return losses @ weights, gradient[:, None]

        total += trainer.learn(part, all_arcs(part.indptr), loss_of)
    return total


def learn_labels(trainer, text, heads, labels, weights, batches):
    """Go once over sentences, to make the labels of their arcs more probable.

    Parameters
    ----------
    trainer : LinearTrainer
        With a class for each label.
    text : Text
    heads : int ndarray of shape (n_tokens,)
    labels : int ndarray of shape (n_tokens,)
        -1 where they, or the heads, are not known.
    weights : ndarray of shape (n_sentences,)
    batches : list of int ndarrays

    Returns
    -------
    loss : float
        Sum over sentences, each before the step of its batch.
    """
    total = 0.0
    for batch in batches:
        part, places = text.take(batch)
        of_arcs = labels[places]
        known = np.flatnonzero(of_arcs >= 0)
        of_tokens = np.repeat(weights[batch], np.diff(part.indptr))

        def loss_of(scores, known=known, of_arcs=of_arcs, of_tokens=of_tokens):
            logs = log_softmax(scores, axis=1)
            gradient = np.exp(logs)
            gradient[known, of_arcs[known]] -= 1.0
            gradient *= np.where(of_arcs >= 0, of_tokens, 0.0)[:, None]
            return -(of_tokens[known] @ logs[known, of_arcs[known]]), gradient

        arcs = arcs_of_heads(part.indptr, np.maximum(heads[places], 0))
        total += trainer.learn(part, arcs, loss_of)
    return total


def cut_into_batches(indptr, order, batch_size):
    """Cut sentences, in some order, into batches of about `batch_size` tokens, at least one each.

    Parameters
    ----------
    indptr : int ndarray of shape (n_sentences + 1,)
    order : int ndarray
        Which sentences.
    batch_size : int

    Returns
    -------
    batches : list of int ndarrays
    """
    ends = np.cumsum(np.diff(indptr)[order])
    batch_size = min(batch_size, ends[-1])
    cuts = np.searchsorted(ends, np.arange(batch_size, ends[-1], batch_size)) + 1
    cuts = np.unique([0, *np.minimum(cuts, order.size), order.size])
    return [order[begin:end] for begin, end in pairwise(cuts.tolist())]
