"""
Arc probabilities and confidence
================================

A parser that says how sure it is can ask for help. This example draws the probabilities of all
arcs of a sentence, checks whether they mean what they say over the treebank, and how accurate the
heads are of which the parser is surest.
"""

# %%
# One sentence
# ------------
# A row for each token, a column for each head it may have, the root first; rows sum to 1. Of the
# test sentences of ten tokens this is the one that the model is least sure of: what do "but" and
# "pleasant" depend on? Of the root it is sure, and wrong. A verb stands first, and that it is the
# subject here, tags do not tell.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibrationDisplay
from sklearn.model_selection import KFold

from sklearn_shag import SpectralSHAG
from sklearn_shag.datasets import load_english
from sklearn_shag.inspection import ArcMarginalsDisplay

trees = np.array(load_english().data, dtype=object)
folds = list(KFold(n_splits=5, shuffle=True, random_state=0).split(trees))

train, test = (trees[part] for part in folds[0])
model = SpectralSHAG().fit(train)
sentences = [tree for tree in test if len(tree) == 10]
sureness = [marginals.max(axis=1).mean() for marginals in model.predict_marginals(sentences)]
unsure = sentences[np.argmin(sureness)]
ArcMarginalsDisplay.from_estimator(model, unsure)
plt.show()

# %%
# The decoder looks for the tree with the largest sum of log marginals. Here it takes the darkest
# square of every row. It need not, since the arcs must make up one projective tree.

print(model.parse([unsure])[0])

# %%
# What the probabilities mean
# ---------------------------
# Every tree is parsed once, by a model that was learned from the other folds. The confidence of a
# token is the probability of its predicted head.

right, confidence = [], []
for known, new in folds:
    model.fit(trees[known])
    marginals, heads = model.predict_marginals(trees[new]), model.predict(trees[new])
    for tree, probabilities, found in zip(trees[new], marginals, heads, strict=True):
        right.extend(tree.heads == found)
        confidence.extend(probabilities[np.arange(len(tree)), found])
right, confidence = np.array(right), np.array(confidence)
certain = confidence > 1 - 1e-9
print(f"mean confidence {confidence.mean():.3f}, right heads {right.mean():.3f}")
print(f"probability 1: {certain.sum()} tokens, {right[certain].sum()} of them right")

# %%
# On the left each point is an eighth of the tokens. The probabilities are about right: those near
# 1/2 are a little too small, those near 0.8 too large. On the right tokens are accepted in the
# order of their confidence, as an annotator would who checks the others by hand: of the surer half
# 97 % are right.
#
# The surest of all are an exception. Most errors among them are due to negative estimates, which a
# spectral model may have: they count as 0, and that leaves a probability of 1 to others that have
# not earned it. :func:`~sklearn_shag.inspection.inspect_marginals` finds the sentences.

figure, panels = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
CalibrationDisplay.from_predictions(
    right, confidence, n_bins=8, strategy="quantile", ax=panels[0], name="SPECTRAL"
)
panels[0].set(xlabel="mean confidence of an eighth of the tokens", ylabel="share of right heads")

order = np.argsort(-confidence, kind="stable")
accepted = np.arange(1, order.size + 1)
panels[1].plot(accepted / order.size, np.cumsum(right[order]) / accepted)
panels[1].axhline(right.mean(), color="black", linestyle=":", label="all tokens")
panels[1].set(xlabel="share of tokens accepted, the surest first", ylabel="share of right heads")
panels[1].set(xlim=(0, 1), ylim=(0.8, 1))
panels[1].legend(loc="lower center")
plt.show()
