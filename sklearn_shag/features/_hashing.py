"""Training of linear models of arcs: AdaGrad on small batches, with averaged weights."""

from typing import NamedTuple

import numpy as np

from sklearn_shag.encoding import (
    GOLDEN,
    OUTSIDE_CODE,
    ROOT_CODE,
    all_arcs,
    arcs_of_heads,
    find_bucket,
    mix,
)
from sklearn_shag.features._templates import BETWEEN, HEAD, MODIFIER
from sklearn_shag.parsing import arc_losses, cross_entropy
from sklearn_shag.utils._arrays import check_shapes
from sklearn_shag.utils._kernel import inlined_kernel, table_kernel
from sklearn_shag.utils._typing import BoolArray, SingleArray

# The shortest distance of each bucket but the first.
DISTANCE_BUCKETS = (2, 3, 4, 5, 6, 8, 11, 16, 26)


class LinearWeights(NamedTuple):
    """Weights of hashed features.

    The hash of a feature gives its row; features whose hashes collide share one.

    Attributes
    ----------
    arcs : float32 ndarray of shape (n_features, 1)
        What features add to the score of an arc.
    labels : float32 ndarray of shape (n_features // 8, n_labels)
        What they add to the score of each of its labels.
    label_mask : bool ndarray of shape (2, n_labels)
        Which labels training has between tokens, and which at roots; others are not predicted
        there.

    See Also
    --------
    sklearn_shag.CRFParser : Learns these weights.

    Examples
    --------
    >>> from sklearn_shag import CRFParser
    >>> from sklearn_shag.datasets import load_english
    >>> trees = load_english().data
    >>> parser = CRFParser(["upos"], n_features=2**12, random_state=0).fit(trees[:50])
    >>> arcs, labels, _ = parser.weights_
    >>> arcs.shape, labels.shape == (2**9, parser.labels_.size)
    ((4096, 1), True)
    """

    arcs: SingleArray
    labels: SingleArray
    label_mask: BoolArray


def check_linear_weights(weights, name, labels):
    """Check the shapes of LinearWeights, which kernels trust."""
    check_shapes(weights, ((None, 1), (None, labels.size), (2, labels.size)), name)
    if not (len(weights.arcs) and len(weights.labels)):
        raise ValueError(f"{name}.arcs or {name}.labels holds no weights.")


class AdaGradWeights(NamedTuple):
    """Weights of features for each of several classes, with the sums of AdaGrad."""

    values: np.ndarray  # (n_features, n_classes)
    squares: np.ndarray  # (n_features, n_classes), sums of squared gradients
    sums: np.ndarray  # (n_features, n_classes), sums of steps, each times its number


class FeatureMemory(NamedTuple):
    """Memory of kernels for the hashes of one sentence and the features of one arc."""

    hashes: np.ndarray  # (3, N + 1, n_templates), of heads, modifiers, tokens between
    places: np.ndarray  # (n_places,), of the features of an arc among all weights
    classes: np.ndarray  # (n_classes,), of gradients that are not skipped


def allocate_memory(templates, indptr, n_classes):
    """Allocate the FeatureMemory of the arcs of sentences, large enough for the longest one."""
    n_templates, n_of_arcs = len(templates.texts), templates.n_of_arcs
    longest = int(np.diff(indptr).max())
    n_places = 2 * (n_of_arcs + (n_templates - n_of_arcs) * longest)
    return FeatureMemory(
        np.empty((3, longest + 1, n_templates), dtype=np.uint64),
        np.empty(n_places, dtype=np.int64),
        np.empty(n_classes, dtype=np.int64),
    )


@inlined_kernel
def _code_at(codes, begin, n_tokens, position, column):
    if position == 0:
        return ROOT_CODE
    if position < 0 or position > n_tokens:
        return OUTSIDE_CODE
    return codes[begin + position - 1, column]


@table_kernel
def hash_tokens(codes, begin, n_tokens, atoms, hashes):
    """Hash the part of each token of a sentence in the features of arcs, for each template."""
    for position in range(n_tokens + 1):
        for t in range(hashes.shape[2]):
            hashes[HEAD, position, t] = mix(np.uint64(t + 1) * GOLDEN)
            hashes[MODIFIER, position, t] = hashes[BETWEEN, position, t] = np.uint64(0)
    for a in range(atoms.shape[0]):
        t, side, offset, column = atoms[a, 0], atoms[a, 1], atoms[a, 2], atoms[a, 3]
        seed = mix(np.uint64(a + 1))
        for position in range(n_tokens + 1):
            code = _code_at(codes, begin, n_tokens, position + offset, column)
            hashes[side, position, t] ^= mix(seed + np.uint64(code) * GOLDEN)


def bucket_of(distance):
    """Name the bucket of a distance."""
    shortest = [1, *DISTANCE_BUCKETS][find_bucket.py_func(distance, DISTANCE_BUCKETS)]
    end = next((each for each in DISTANCE_BUCKETS if each > shortest), None)
    if end is None:
        return f"{shortest}+"
    return f"{shortest}" if end == shortest + 1 else f"{shortest}-{end - 1}"


@inlined_kernel
def _reduce_hash(key, n_features):
    """Map the upper half of a hash to 0 .. n_features - 1."""
    return np.int64(((key >> np.uint64(32)) * np.uint64(n_features)) >> np.uint64(32))


@table_kernel
def list_features(memory, n_of_arcs, head, modifier, n_features):
    """List the places of the features of an arc in `memory`, and return their number."""
    hashes, places, n = memory.hashes, memory.places, 0
    direction = np.int64(modifier > head)
    bucket = find_bucket(abs(modifier - head), DISTANCE_BUCKETS)
    alone = mix(np.uint64(direction + 1))
    near = mix(np.uint64(2 * bucket + direction + 3))
    for t in range(n_of_arcs):
        key = hashes[HEAD, head, t] ^ hashes[MODIFIER, modifier, t]
        places[n] = _reduce_hash(key ^ alone, n_features)
        places[n + 1] = _reduce_hash(key ^ near, n_features)
        n += 2
    for t in range(n_of_arcs, hashes.shape[2]):
        key = hashes[HEAD, head, t] ^ hashes[MODIFIER, modifier, t]
        for token in range(min(head, modifier) + 1, max(head, modifier)):
            between = key ^ hashes[BETWEEN, token, t]
            places[n] = _reduce_hash(between ^ alone, n_features)
            places[n + 1] = _reduce_hash(between ^ near, n_features)
            n += 2
    return n


@table_kernel
def add_scores(codes, indptr, atoms, n_of_arcs, arcs, weights, memory, scores):
    """Add the weights of the features of arcs to their scores, of shape (n_arcs, n_classes)."""
    for s in range(indptr.size - 1):
        hash_tokens(codes, indptr[s], indptr[s + 1] - indptr[s], atoms, memory.hashes)
        for a in range(arcs.begins[s], arcs.begins[s + 1]):
            head, modifier = arcs.heads[a], arcs.modifiers[a]
            if head == modifier:
                continue
            n = list_features(memory, n_of_arcs, head, modifier, weights.shape[0])
            if weights.shape[1] == 1:  # the sum stays in a register
                total = 0.0
                for k in range(n):
                    total += weights[memory.places[k], 0]
                scores[a, 0] += total
                continue
            for k in range(n):
                place = memory.places[k]
                for c in range(weights.shape[1]):
                    scores[a, c] += weights[place, c]


@table_kernel
def take_step(
    codes, indptr, atoms, n_of_arcs, arcs, gradient, smallest, rate, number, weights, memory
):
    """Take a step of AdaGrad (Duchi, Hazan and Singer 2011), arc by arc.

    The gradient is by scores of arcs, (n_arcs, n_classes); entries below `smallest` are skipped.
    """
    values, squares, sums = weights.values, weights.squares, weights.sums
    for s in range(indptr.size - 1):
        hash_tokens(codes, indptr[s], indptr[s + 1] - indptr[s], atoms, memory.hashes)
        for a in range(arcs.begins[s], arcs.begins[s + 1]):
            head, modifier = arcs.heads[a], arcs.modifiers[a]
            n_classes = 0
            for c in range(gradient.shape[1]):
                if abs(gradient[a, c]) >= smallest:
                    memory.classes[n_classes] = c
                    n_classes += 1
            if head == modifier or n_classes == 0:
                continue
            n = list_features(memory, n_of_arcs, head, modifier, values.shape[0])
            for k in range(n):
                place = memory.places[k]
                for i in range(n_classes):
                    c = memory.classes[i]
                    slope = gradient[a, c]
                    squares[place, c] += slope * slope
                    step = rate * slope / np.sqrt(squares[place, c])
                    values[place, c] -= step
                    sums[place, c] -= number * step


# AdaGrad divides by the root of the sum of this and all squared gradients so far.
FIRST_SQUARE = 0.1
# The penalty moves all weights, but a batch only the weights of its features. So the penalty waits
# until the steps that are due exceed this share of the steps before.
DUE = 0.1


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
    alpha : float, default=0.0
        Half of it times the sum of squared weights is added to the loss of each batch.
    """

    def __init__(self, start, templates, learning_rate, smallest, to_learn, alpha=0.0):
        self.templates, self.smallest, self.to_learn = templates, smallest, to_learn
        self.learning_rate, self.alpha = learning_rate, alpha
        self.weights = AdaGradWeights(
            values=start.astype(np.float32),
            squares=np.full(start.shape, FIRST_SQUARE, dtype=np.float32),
            sums=np.zeros(start.shape, dtype=np.float32),
        )
        self.n_steps = self.n_penalized = 0

    def learn(self, batch):
        """Take a step along the gradient of the loss of a batch, and return the loss before it."""
        values, templates = self.weights.values, self.templates
        arcs, loss_of = self.to_learn(batch)
        loss, gradient = loss_of(score_arcs(values, templates, batch, arcs))
        take_step(
            *(batch.codes, batch.indptr, templates.atoms, templates.n_of_arcs, arcs, gradient),
            *(self.smallest, self.learning_rate, float(self.n_steps), self.weights),
            allocate_memory(templates, batch.indptr, values.shape[1]),
        )
        n_due = self.n_steps + 1 - self.n_penalized
        if self.alpha and n_due > DUE * self.n_penalized:
            self._shrink(n_due)
        self.n_steps += 1
        return loss

    def _shrink(self, n_due):
        """Take the proximal step of the penalty for `n_due` steps at once."""
        self.n_penalized += n_due
        values, squares, sums = self.weights
        # At more than 1e30, which float32 can hold, nothing is left of a weight either.
        rates = np.float32(min(n_due * self.learning_rate * self.alpha, 1e30)) / np.sqrt(squares)
        step = values - values / (1 + rates)
        values -= step
        sums -= np.float32(self.n_steps) * step

    def is_finite(self):
        """Tell whether all weights and sums are finite."""
        return all(np.isfinite(part).all() for part in self.weights)

    def average(self):
        """Return the weights, averaged over all steps."""
        values, _, sums = self.weights
        averaged = sums / np.float32(-max(self.n_steps, 1))
        averaged += values
        return averaged


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
    memory = allocate_memory(templates, batch.indptr, weights.shape[1])
    add_scores(
        batch.codes,
        batch.indptr,
        templates.atoms,
        templates.n_of_arcs,
        arcs,
        weights,
        memory,
        scores,
    )
    return scores


def trees_to_learn(batch):
    """Return all arcs of a batch, and the loss of known heads as a function of their scores."""

    def loss_of(scores):
        losses, gradient = arc_losses(
            batch.indptr, scores.ravel(), batch.heads, batch.weights, batch.targets, batch.trees
        )
        return losses @ batch.weights, gradient[:, None]

    return all_arcs(batch.indptr), loss_of


def labels_to_learn(batch):
    """Return the arcs of known trees, and the loss of labels as a function of their scores."""
    known = np.flatnonzero(batch.labels >= 0)
    weights = np.repeat(batch.weights, np.diff(batch.indptr))[known]

    def loss_of(scores):
        gradient = np.zeros_like(scores)
        loss, gradient[known] = cross_entropy(scores[known], batch.labels[known], weights)
        return loss, gradient

    return arcs_of_heads(batch.indptr, np.maximum(batch.heads, 0)), loss_of
