"""Training of linear models of arcs: AdaGrad on small batches, with averaged weights."""

import numpy as np

from sklearn_shag.encoding import all_arcs, arcs_of_heads
from sklearn_shag.features._hashing import Weights, add_scores, new_space, take_step
from sklearn_shag.parsing import arc_losses, cross_entropy

# AdaGrad divides by the root of the sum of this and all squared gradients so far.
FIRST_SQUARE = 0.1


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
    to_learn : callable
        Takes a batch of Examples, and returns Arcs and a function that takes their scores,
        (n_arcs, n_classes), and returns a loss and its gradient.
    """

    def __init__(self, start, templates, learning_rate, smallest, to_learn):
        self.templates, self.learning_rate, self.smallest = templates, learning_rate, smallest
        self.to_learn = to_learn
        squares = np.full(start.shape, FIRST_SQUARE, dtype=np.float32)
        self.weights = Weights(start.astype(np.float32), squares, np.zeros(start.shape))
        self.n_steps = 0

    def learn(self, batch):
        """Take a step along the gradient of the loss of a batch, and return the loss before."""
        values, templates = self.weights.values, self.templates
        arcs, loss_of = self.to_learn(batch)
        loss, gradient = loss_of(score_arcs(values, templates, batch, arcs))
        take_step(
            *(batch.codes, batch.indptr, templates.atoms, templates.n_of_arcs, arcs, gradient),
            *(self.smallest, self.learning_rate, float(self.n_steps), self.weights),
            new_space(templates, longest(batch), values.shape[1]),
        )
        self.n_steps += 1
        return loss

    def is_finite(self):
        """Tell whether nothing has left the range of numbers."""
        return all(np.isfinite(part).all() for part in self.weights)

    def average(self):
        """Average the weights over all steps."""
        values, _, sums = self.weights
        return (values - sums / max(self.n_steps, 1)).astype(np.float32)


def score_arcs(weights, templates, batch, arcs):
    """Sum the weights of the features of arcs.

    Parameters
    ----------
    weights : ndarray of shape (n_features, n_classes)
    templates : Templates
    batch : Batch
        Or Examples.
    arcs : Arcs

    Returns
    -------
    scores : ndarray of shape (n_arcs, n_classes)
    """
    scores = np.zeros((arcs.heads.size, weights.shape[1]))
    space = new_space(templates, longest(batch), weights.shape[1])
    atoms, n_of_arcs = templates.atoms, templates.n_of_arcs
    add_scores(batch.codes, batch.indptr, atoms, n_of_arcs, arcs, weights, space, scores)
    return scores


def longest(batch):
    """How many tokens the longest sentence has."""
    return int(np.diff(batch.indptr).max())


def trees_to_learn(batch):
    """What makes known heads more probable: all arcs, and the loss of trees by their scores."""

    def loss_of(scores):
        losses, gradient = arc_losses(batch.indptr, scores.ravel(), batch.heads, batch.weights)
        return losses @ batch.weights, gradient[:, None]

    return all_arcs(batch.indptr), loss_of


def labels_to_learn(batch):
    """What makes labels more probable: the arcs of trees, and their loss by scores of labels."""
    known = np.flatnonzero(batch.labels >= 0)
    weights = np.repeat(batch.weights, np.diff(batch.indptr))[known]

    def loss_of(scores):
        gradient = np.zeros_like(scores)
        loss, gradient[known] = cross_entropy(scores[known], batch.labels[known], weights)
        return loss, gradient

    return arcs_of_heads(batch.indptr, np.maximum(batch.heads, 0)), loss_of
