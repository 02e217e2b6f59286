"""Training of the network: the loss of known trees, and Adam along its gradient."""

from math import cos, isfinite, nan, pi, sqrt

import numpy as np

from sklearn_shag.conditional import cut_into_batches
from sklearn_shag.network._layers import Noise, with_roots
from sklearn_shag.network._network import NetworkScores, backward, forward, make_network
from sklearn_shag.network._parameters import view_parameters
from sklearn_shag.parsing import arc_losses, cross_entropy
from sklearn_shag.utils._kernel import table_kernel
from sklearn_shag.utils._parallel import delayed, run_parallel

BETA_1, BETA_2, EPSILON = 0.9, 0.95, 1e-8
LARGEST_NORM = 5.0  # of a gradient; longer ones are shortened
LAST_RATE = 0.02  # as a share of the first one
WARM_UP, LONGEST_WARM_UP = 0.05, 50  # as a share of all steps, and at most, in steps
# Number of parts of a step, for any number of threads, on which results must not depend. Two parts
# take no longer than one, four 15 % longer, since products of few rows are slower.
N_PARTS = 2
AVERAGED = 0.998  # weight of the previous average of parameters at each step


def learn_batch(network, batch, noise, gradient, n_tokens):
    """Compute the loss of sentences, and its derivatives by all parameters.

    The loss is -log P(known heads | sentence) plus the cross-entropies of the labels of known arcs
    and of known tags, divided by `n_tokens`. Its three parts are returned, not divided.
    """
    tokens = with_roots(batch.codes, batch.indptr)
    rows = np.flatnonzero(~tokens.are_roots())
    of_tokens = np.repeat(batch.weights, np.diff(batch.indptr))
    labelled = np.flatnonzero((batch.labels >= 0) & (batch.heads >= 0))
    roots = np.repeat(tokens.begins[:-1], np.diff(batch.indptr))
    arcs = rows[labelled], (roots + batch.heads)[labelled]
    scores, cache = forward(network, tokens, arcs, noise)
    if batch.heads.max() < 0:  # no heads are known
        losses, d_arcs = np.zeros(batch.weights.size), np.zeros(scores.arcs.shape)
    else:
        arcs = scores.arcs.astype(np.float64)
        losses, d_arcs = arc_losses(
            batch.indptr, arcs, batch.heads, batch.weights, batch.targets, batch.trees
        )
    labels = batch.shares("labels", batch.labels, scores.labels.shape[1])[labelled]
    label_loss, d_labels = cross_entropy(scores.labels, labels, of_tokens[labelled])
    tag_loss, d_tags = 0.0, np.zeros_like(scores.tags)
    for k, (columns, tags) in enumerate(zip(network.tags, batch.tags.T, strict=True)):
        tagged = np.flatnonzero(tags >= 0)
        places = rows[tagged], columns
        own = batch.shares(k, tags, columns.stop - columns.start)[tagged]
        loss, d_tags[places] = cross_entropy(scores.tags[places], own, of_tokens[tagged])
        tag_loss += loss
    d_both = ((each / n_tokens).astype(scores.arcs.dtype) for each in (d_arcs, d_labels))
    backward(network, cache, NetworkScores(*d_both, d_tags / n_tokens), gradient)
    return float(losses @ batch.weights), label_loss, tag_loss


class Trainer:
    """A network while it learns.

    Parameters
    ----------
    sizes : Sizes
    weights : NetworkWeights
        Those to start from, in half or single precision; they are not changed.
    learning_rate : float
    alpha : float
        Strength of the L2 penalty.
    dropout : float
    n_steps : int
        Approximate number of steps of the whole training.
    rng : Generator
    n_jobs : int or None, default=None
        Number of threads for the parts of each step. Results do not depend on it.
    """

    def __init__(self, sizes, weights, *, learning_rate, alpha, dropout, n_steps, rng, n_jobs=None):
        self.learning_rate, self.alpha, self.n_steps = learning_rate, alpha, n_steps
        self.n_taken, self.n_jobs = 0, n_jobs
        self.loss_shown = 0 if sizes.arc else 2  # of trees or, without arcs, of tags
        self.noises = [Noise(dropout, of_part) for of_part in rng.spawn(N_PARTS)]
        self.values = weights.values.astype(np.float32)
        self.averaged = self.values.copy()
        of_parts = [np.zeros_like(self.values) for _ in range(N_PARTS)]
        self.gradient, self.others = of_parts[0], of_parts[1:]
        self.first, self.second = np.zeros_like(self.values), np.zeros_like(self.values)
        self.network = make_network(sizes, self.values, weights.vectors, weights.moments)
        self.views = [view_parameters(sizes, gradient) for gradient in of_parts]

    def learn(self, batch):
        """Take a step for a batch; return its loss before the step, by `loss_shown`."""
        n_tokens, lengths = batch.indptr[-1], np.diff(batch.indptr)
        chosen = cut_into_batches(lengths, np.arange(lengths.size), -(-n_tokens // N_PARTS))
        parts = [batch.take(of_part) for of_part in chosen]
        tasks = zip(parts, self.noises, self.views, strict=False)
        found = run_parallel(
            (delayed(learn_batch)(self.network, *task, n_tokens) for task in tasks),
            self.n_jobs,
            in_place=True,
        )
        losses = np.sum(found, axis=0)
        for other in self.others[: len(parts) - 1]:
            self.gradient += other
        if self.alpha:
            self.gradient += self.values * (self.alpha / n_tokens)
        norm = sqrt(float(self.gradient @ self.gradient))
        rate, decay = self._rate(), min(AVERAGED, (1 + self.n_taken) / (10 + self.n_taken))
        self.n_taken += 1
        shorter = LARGEST_NORM / max(norm, LARGEST_NORM) if isfinite(norm) else nan
        corrected = rate / (1 - BETA_1**self.n_taken), 1 - BETA_2**self.n_taken
        settings = list(map(np.float32, (shorter, *corrected, decay)))
        moved = self.gradient, self.values, self.first, self.second, self.averaged
        pieces = zip(*(np.array_split(array, N_PARTS) for array in moved), strict=True)
        run_parallel(
            (delayed(_step_adam)(*settings, *piece) for piece in pieces),
            self.n_jobs,
            in_place=True,
        )
        return losses[self.loss_shown]

    def average(self):
        """Return a copy of the average of the parameters over all steps."""
        return self.averaged.copy()

    def _rate(self):
        """Return the learning rate: linear warm-up, then half a cosine."""
        done = min(self.n_taken / self.n_steps, 1.0)
        warm_up = max(min(LONGEST_WARM_UP, WARM_UP * self.n_steps), 1.0)
        falling = LAST_RATE + (1 - LAST_RATE) * (1 + cos(pi * done)) / 2
        return self.learning_rate * falling * min(1.0, (self.n_taken + 1) / warm_up)

    def is_finite(self):
        """Tell whether all parameters are finite."""
        return bool(np.isfinite(self.values).all())


@table_kernel
def _step_adam(shorter, rate, correction, decay, gradient, values, first, second, average):
    """Take a step of Adam (Kingma and Ba 2015), and average the parameters."""
    one, beta_1, beta_2 = np.float32(1), np.float32(BETA_1), np.float32(BETA_2)
    epsilon = np.float32(EPSILON)
    for k in range(values.size):
        slope = gradient[k] * shorter
        first[k] = beta_1 * first[k] + (one - beta_1) * slope
        second[k] = beta_2 * second[k] + (one - beta_2) * slope * slope
        values[k] -= rate * first[k] / (np.sqrt(second[k] / correction) + epsilon)
        average[k] = decay * average[k] + (one - decay) * values[k]
