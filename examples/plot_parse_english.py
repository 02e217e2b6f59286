"""
Parsing English with hidden states
==================================

Part-of-speech tags go in, trees come out. This example compares three kinds of grammar on the small
treebank that comes with the package, by cross-validation:

- DET: each automaton has one state, so modifiers are independent of each other;
- DET+F: two states, which tell the first modifier from the rest;
- SPECTRAL: hidden states, learned from moments.

You will learn how the number of hidden states changes the accuracy, and how to see what a model
believes about a sentence.
"""

# %%
# The treebank
# ------------
# Trees are ordinary items of a list. Their symbols, here universal tags, are all that a grammar
# sees.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import KFold, cross_val_score, train_test_split

from sklearn_shag import DeterministicSHAG, SpectralSHAG
from sklearn_shag.datasets import load_english

trees = load_english().data
print(len(trees), "sentences,", sum(map(len, trees)), "tokens")
print(trees[5])

# %%
# Accuracy and the number of states
# ---------------------------------
# The score is the unlabelled attachment score (UAS), the share of tokens with the right head. The
# same five folds serve all models. There are no random starts: what varies is only the data.

folds = KFold(n_splits=5, shuffle=True, random_state=0)


def cross_validate(model):
    """Return mean and standard error of the UAS in percent."""
    scores = 100 * cross_val_score(model, trees, cv=folds, error_score="raise")
    return scores.mean(), scores.std(ddof=1) / np.sqrt(scores.size)


baselines = {
    "DET": cross_validate(DeterministicSHAG("single")),
    "DET+F": cross_validate(DeterministicSHAG("first")),
}
n_states = np.arange(1, 17)
spectral = np.array([cross_validate(SpectralSHAG(n)) for n in n_states])

for name, (mean, error) in baselines.items():
    print(f"{name:<20}{mean:.1f} +- {error:.1f}")
best = spectral[:, 0].argmax()
print(f"SPECTRAL, {n_states[best]} states  {spectral[best, 0]:.1f} +- {spectral[best, 1]:.1f}")

# %%
# With one state SPECTRAL is close to DET. The first few states help much. From eight or so on the
# curve is flat: the singular vectors that are added are mostly noise, and the default parameters of
# :class:`~sklearn_shag.SpectralSHAG` keep it from doing harm. What becomes of it without them is
# shown in :ref:`sphx_glr_auto_examples_plot_validation_curve.py`.

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.errorbar(n_states, spectral[:, 0], yerr=spectral[:, 1], marker="o", label="SPECTRAL")
for (name, (mean, _)), style in zip(baselines.items(), ["--", ":"], strict=True):
    axes.axhline(mean, color="black", linestyle=style, label=name)
axes.set(xlabel="hidden states", ylabel="UAS, per cent", xticks=n_states)
axes.set_title("Five-fold cross-validation, 387 sentences")
axes.legend()
plt.show()

# %%
# What the model believes
# -----------------------
# Marginals are the probabilities of arcs, summed over all trees. Each row is a token, each column a
# possible head; rows sum to 1. The circles are the true heads. Of the test sentences of ten tokens,
# this is the one that the model is least sure of.

train, test = train_test_split(trees, test_size=0.25, random_state=0)
model = SpectralSHAG().fit(train)
sentences = [tree for tree in test if len(tree) == 10]
candidates = model.predict_marginals(sentences)
chosen = np.argmin([marginals.max(axis=1).mean() for marginals in candidates])
sentence, marginals = sentences[chosen], candidates[chosen]

figure, axes = plt.subplots(figsize=(7, 6), layout="constrained")
image = axes.imshow(marginals, cmap="Blues", vmin=0, vmax=1)
axes.scatter(sentence.heads, np.arange(len(sentence)), s=90, facecolors="none", edgecolors="C3")
axes.set_xticks(np.arange(len(sentence) + 1), ["<root>", *sentence.forms], rotation=60, ha="right")
axes.set_yticks(np.arange(len(sentence)), sentence.forms)
axes.set(xlabel="head", ylabel="modifier")
figure.colorbar(image, label="probability")
plt.show()

# %%
# The decoder looks for the tree with the largest sum of log marginals. It need not take the darkest
# square of every row, since the arcs must make up one projective tree.

print(model.parse([sentence])[0])

# sphinx_gallery_thumbnail_number = 2
