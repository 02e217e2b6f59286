"""
Training a scorer of arcs
=========================

A parser need not be a grammar: any score for every pair of a modifier and a head defines a
distribution over trees. The function :func:`~sklearn_shag.parsing.tree_loss` computes how
improbable known heads are under the scores, and the derivative, which is all that training needs.
Here the scores come from a table of weights, in plain numpy; they could equally come from a network
in any framework.

You will learn how scores are laid out, how to train and decode with them, and what to do if only
some heads are known.
"""

# %%
# Features of arcs
# ----------------
# An arc is described by the tags of head and modifier, its direction, and its distance in five
# classes. Each arc has two weights: one for both tags and the direction, and one for these and
# the distance. The scores of a sentence have the layout of marginals: a row for each token and a
# column for each head, the root first.

from itertools import chain

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from sklearn_shag import DeterministicSHAG, SpectralSHAG
from sklearn_shag.datasets import load_english
from sklearn_shag.metrics import unlabeled_attachment_score
from sklearn_shag.parsing import Potentials, best_trees, tree_loss

train, test = train_test_split(load_english().data, test_size=0.25, random_state=0)
# The loss is that of projective trees: others are impossible.
train = [tree for tree in train if tree.is_projective]

tags = ["<root>", *sorted(set(chain.from_iterable(tree.symbols for tree in train)))]
shape = (len(tags), len(tags), 2, 6)  # head, modifier, direction, distance or any
FARTHER = [2, 3, 5, 9]  # where classes of distances begin


def active_weights(tree):
    """Return the places of the two weights of every arc, (n_arcs, 2)."""
    codes = np.array([0, *map(tags.index, tree.symbols)])
    modifier, head = np.indices((len(tree), len(tree) + 1))
    modifier += 1
    distance = np.where(head == 0, 0, np.digitize(abs(head - modifier), FARTHER))
    arc = codes[head], codes[modifier], (head < modifier).astype(int)
    places = [np.ravel_multi_index((*arc, last), shape) for last in (distance, 0 * distance + 5)]
    return np.stack([part.ravel() for part in places], axis=1)


known, new = (np.concatenate([active_weights(tree) for tree in part]) for part in (train, test))
print(f"{known.shape[0]} arcs, {np.prod(shape)} weights")

# %%
# Training and decoding
# ---------------------
# The gradient with respect to a weight is the sum of those with respect to the scores of its arcs.
# Adam takes one step per pass over all training sentences. The best trees of new sentences
# are those of :func:`~sklearn_shag.parsing.best_trees`, without a grammar.

indptr = np.cumsum([0, *map(len, test)])


def score(weights):
    """Return the UAS on the test set in percent."""
    heads, _ = best_trees(None, Potentials(indptr, arcs=weights[new].sum(axis=1)))
    return 100 * unlabeled_attachment_score([tree.heads for tree in test], heads)


def learn(heads, n_passes=40, rate=0.1, pull=1e-4):
    """Return the loss per known head and the score after every pass."""
    weights, mean, square = np.zeros((3, np.prod(shape)))
    n_known = sum(np.count_nonzero(h >= 0) for h in heads)
    curve = []
    for step in range(1, n_passes + 1):
        losses, of_scores = tree_loss(weights[known].sum(axis=1), heads)
        slope = np.bincount(known.ravel(), np.repeat(of_scores, 2), weights.size) / n_known
        slope += pull * weights  # towards 0
        mean += 0.1 * (slope - mean)
        square += 0.01 * (slope**2 - square)
        unbiased = mean / (1 - 0.9**step), square / (1 - 0.99**step)
        weights -= rate * unbiased[0] / (np.sqrt(unbiased[1]) + 1e-8)
        curve.append((losses.sum() / n_known, score(weights)))
    return np.array(curve)


# %%
# Training with some heads
# ------------------------
# An unknown head is -1. The loss is then the negative log probability of all trees that agree with
# the known heads, and nothing else changes. Here three of four tokens lose their heads.

heads = [tree.heads for tree in train]
rng = np.random.default_rng(0)
a_quarter = [np.where(rng.random(h.size) < 0.25, h, -1) for h in heads]
curves = {"all heads known": learn(heads), "a quarter known": learn(a_quarter)}
for name, curve in curves.items():
    print(f"{name:<18}loss {curve[0, 0]:.2f} to {curve[-1, 0]:.2f}, UAS {curve[-1, 1]:.1f}")

# %%
# Comparison with grammars
# ------------------------
# These grammars learn from all heads, and from the same tags.

grammars = {"SPECTRAL": SpectralSHAG(), "DET+F": DeterministicSHAG("first")}
scores = {name: 100 * model.fit(train).score(test) for name, model in grammars.items()}

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for name, curve in curves.items():
    axes.plot(np.arange(1, len(curve) + 1), curve[:, 1], marker="o", markersize=3, label=name)
for (name, value), style in zip(scores.items(), ["--", ":"], strict=True):
    axes.axhline(value, color="black", linestyle=style, label=f"{name}, {value:.1f}")
axes.set(xlabel="passes", ylabel="UAS, per cent", title=f"{len(test)} sentences")
axes.legend(loc="center", bbox_to_anchor=(0.5, 0.8), ncols=2)
plt.show()

# %%
# With all heads, the scorer is better than DET+F, which knows no distances; with a quarter of
# them, it is not far from it. It does not match SPECTRAL, whose automata see the sequence of
# modifiers, whereas here each arc is independent. The two can be combined:
# :func:`~sklearn_shag.parsing.chart` takes scores, as the ``arcs`` of
# :class:`~sklearn_shag.parsing.Potentials`, together with a grammar.
