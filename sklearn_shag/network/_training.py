"""Training of the network: the loss of known trees, and Adam along its gradient."""

from math import cos, isfinite, nan, pi, sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import log_softmax

from sklearn_shag.network._layers import Noise, with_roots
from sklearn_shag.network._network import Scores, backward, forward, make_network
from sklearn_shag.parsing import packed_unit_grammar, places_of, potentials_of_arcs, sum_up_losses
from sklearn_shag.utils._kernel import table_kernel

BETA_1, BETA_2, EPSILON = 0.9, 0.95, 1e-8
LARGEST_NORM = 5.0  # of a gradient; longer ones are shortened
LAST_RATE = 0.02  # of the first one
WARM_UP, LONGEST_WARM_UP = 0.05, 50  # the share of all steps, and at most how many
AVERAGED = 0.998  # how much of the average of parameters stays at a step


class Examples(NamedTuple):
    """Sentences, and what is known of them."""

    codes: np.ndarray  # (n_tokens, n_columns)
    indptr: np.ndarray  # (n_sentences + 1,)
    heads: np.ndarray  # (n_tokens,), -1 where they are not known
    labels: np.ndarray  # (n_tokens,), the same
    tags: np.ndarray  # (n_tokens,), the same
    weights: np.ndarray  # (n_sentences,)

    def take(self, chosen):
        """Take some sentences."""
        indptr, places = places_of(self.indptr, chosen)
        codes, heads, labels, tags = (
            each[places] for each in (self.codes, self.heads, self.labels, self.tags)
        )
        return Examples(codes, indptr, heads, labels, tags, self.weights[chosen])


def learn_batch(network, batch, noise, gradient):
    """Compute the loss of sentences, and its derivatives by all parameters.

    It is that of known heads, -log P(heads | sentence), and the cross-entropies of the labels of
    known arcs and of known tags, all divided by the number of tokens. Returned are the three parts,
    not divided.
    """
    tokens = with_roots(batch.codes, batch.indptr)
    rows = np.flatnonzero(~tokens.are_roots())
    n_tokens = rows.size
    of_tokens = np.repeat(batch.weights, np.diff(batch.indptr))
    labelled = np.flatnonzero((batch.labels >= 0) & (batch.heads >= 0))
    roots = np.repeat(tokens.begins[:-1], np.diff(batch.indptr))
    arcs = rows[labelled], (roots + batch.heads)[labelled]
    scores, cache = forward(network, tokens, arcs, noise)
    losses, d_arcs = _tree_losses(scores.arcs.astype(np.float64), batch)
    label_loss, d_labels = _cross_entropy(
        scores.labels, batch.labels[labelled], of_tokens[labelled]
    )
    tagged = np.flatnonzero(batch.tags >= 0)
    tag_loss, d_tagged = _cross_entropy(
        scores.tags[rows[tagged]], batch.tags[tagged], of_tokens[tagged]
    )
    d_tags = np.zeros_like(scores.tags)
    d_tags[rows[tagged]] = d_tagged
    dtype = scores.arcs.dtype
    d_scores = Scores(
        (d_arcs / n_tokens).astype(dtype), (d_labels / n_tokens).astype(dtype), d_tags / n_tokens
    )
    backward(network, cache, d_scores, gradient)
    return float(losses @ batch.weights), label_loss, tag_loss


def _tree_losses(scores, batch):
    """Compute -log P(heads | sentence) of sentences, and the derivative of the weighted sum."""
    if batch.heads.max() < 0:  # all trees are as good
        return np.zeros(batch.weights.size), np.zeros_like(scores)
    potentials = potentials_of_arcs(batch.indptr, scores)
    return sum_up_losses(packed_unit_grammar(), potentials, batch.heads, batch.weights)


def _cross_entropy(scores, known, weights):
    """Compute a weighted sum of cross-entropies, and its derivative by the scores."""
    if not known.size:
        return 0.0, np.zeros_like(scores)
    logs, rows = log_softmax(scores, axis=1), np.arange(known.size)
    d_scores = np.exp(logs)
    d_scores[rows, known] -= 1
    d_scores *= weights[:, None].astype(scores.dtype)
    return -float(weights @ logs[rows, known]), d_scores


class Trainer:
    """A network while it learns.

    Parameters
    ----------
    sizes : Sizes
    start : float32 ndarray of shape (n_parameters,)
        Parameters, which are not changed.
    learning_rate : float
    alpha : float
        Of the L2 penalty.
    dropout : float
    n_steps : int
        How many there will be, about.
    rng : Generator
    vectors : float32 ndarray of shape (n_codes, n_dimensions)
        Of words, which stay as they are.
    """

    def __init__(self, sizes, start, *, learning_rate, alpha, dropout, n_steps, rng, vectors=None):
        self.learning_rate, self.alpha, self.n_steps = learning_rate, alpha, n_steps
        self.noise, self.n_taken = Noise(dropout, rng), 0
        self.values, self.average = start.copy(), start.copy()
        self.gradient = np.zeros_like(start)
        self.first, self.second = np.zeros_like(start), np.zeros_like(start)
        self.network = make_network(sizes, self.values, vectors)
        self.views = make_network(sizes, self.gradient).parameters

    def learn(self, batch):
        """Take a step for a batch, and return its losses, from :func:`learn_batch`, before."""
        losses = learn_batch(self.network, batch, self.noise, self.views)
        if self.alpha:
            self.gradient += self.values * (self.alpha / batch.indptr[-1])
        norm = sqrt(float(self.gradient @ self.gradient))
        rate, decay = self._rate(), min(AVERAGED, (1 + self.n_taken) / (10 + self.n_taken))
        self.n_taken += 1
        settings = np.array(
            [
                LARGEST_NORM / max(norm, LARGEST_NORM) if isfinite(norm) else nan,
                rate / (1 - BETA_1**self.n_taken),
                1 - BETA_2**self.n_taken,
                decay,
            ],
            dtype=np.float32,
        )
        _adam(self.gradient, settings, self.values, self.first, self.second, self.average)
        return losses

    def _rate(self):
        """The learning rate: up during the first steps, then down as half a cosine."""
        done = min(self.n_taken / self.n_steps, 1.0)
        warm_up = max(min(LONGEST_WARM_UP, WARM_UP * self.n_steps), 1.0)
        falling = LAST_RATE + (1 - LAST_RATE) * (1 + cos(pi * done)) / 2
        return self.learning_rate * falling * min(1.0, (self.n_taken + 1) / warm_up)

    def is_finite(self):
        """Tell whether nothing has left the range of numbers."""
        return bool(np.isfinite(self.values).all())


@table_kernel
def _adam(gradient, settings, values, first, second, average):
    """Take a step of Adam (Kingma and Ba 2015), and average the parameters."""
    one, beta_1, beta_2 = np.float32(1), np.float32(BETA_1), np.float32(BETA_2)
    epsilon = np.float32(EPSILON)
    shorter, rate, correction, decay = settings[0], settings[1], settings[2], settings[3]
    for k in range(values.size):
        slope = gradient[k] * shorter
        first[k] = beta_1 * first[k] + (one - beta_1) * slope
        second[k] = beta_2 * second[k] + (one - beta_2) * slope * slope
        values[k] -= rate * first[k] / (np.sqrt(second[k] / correction) + epsilon)
        average[k] = decay * average[k] + (one - decay) * values[k]
