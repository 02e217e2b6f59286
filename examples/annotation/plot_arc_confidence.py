"""
Arc probabilities and confidence
================================

A parser that knows how sure it is can ask for help. This example draws the probabilities of all
arcs of a sentence. Then it checks on the treebank, for each kind of parser, whether these
probabilities are right, and how accurate the surest heads are.
"""

# %%
# One sentence
# ------------
# There is a row for each token and a column for each head it may have, the root first; each row
# sums to 1. Of the test sentences with ten tokens, this is the one that the model is least sure of:
# what do "but" and "pleasant" depend on? The model is sure of the root, but wrong. A verb comes
# first, and tags do not show that it is the subject here.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import KFold

from sklearn_shag import (
    EMSHAG,
    AveragedParser,
    CRFParser,
    DeterministicSHAG,
    LexicalizedSHAG,
    ProductParser,
    SpectralSHAG,
)
from sklearn_shag.datasets import load_english
from sklearn_shag.inspection import ArcCalibrationDisplay, ArcMarginalsDisplay

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
# square of every row. This is not always so, since the arcs must form a projective tree.

print(model.parse([unsure])[0])

# %%
# What the probabilities mean
# ---------------------------
# Every tree is parsed once, by a model that was learned from the other folds. The confidence of a
# token is the probability of its predicted head. Of all heads that are predicted with the
# probability 0.8, four in five should be right.

models = {
    "DET+F": DeterministicSHAG("first", smoothing=1),
    "SPECTRAL": SpectralSHAG(),
    "EM": EMSHAG(4, init="moments", smoothing=3),
    "LEX+F": LexicalizedSHAG("first"),
    "product": ProductParser([("tags", SpectralSHAG()), ("words", LexicalizedSHAG())]),
    "averaged": AveragedParser([("tags", SpectralSHAG()), ("words", LexicalizedSHAG())]),
    "CRF": CRFParser(random_state=0),
}
parsed = np.concatenate([trees[new] for _, new in folds])
predictions = {}
for name, model in models.items():
    marginals, heads = [], []
    for known, new in folds:
        model.fit(trees[known])
        marginals.extend(model.predict_marginals(trees[new]))
        heads.extend(model.predict(trees[new]))
    predictions[name] = parsed, marginals, heads

# %%
# Each point stands for the tokens of one tenth of the interval from 0 to 1; large points stand for
# many tokens. Below the diagonal, a parser is overconfident. The expected calibration error (ECE)
# is the mean distance of a token from the diagonal; chance alone makes it about 0.01 with so few
# tokens. Words alone are no further off. The product of both grammars is far too sure: it
# multiplies the evidence of its factors as if they were independent. The average is not sure
# enough: where its members disagree, it believes neither. The CRF, with 310 trees to learn from,
# expects two heads in a hundred too many to be right.

figure, panels = plt.subplots(1, 2, figsize=(8, 4.5), layout="constrained", sharey=True)
for number, (name, prediction) in enumerate(predictions.items()):
    ArcCalibrationDisplay.from_predictions(*prediction, name=name, ax=panels[number // 4])
plt.show()

# %%
# Choosing tokens to check
# ------------------------
# Tokens are accepted in the order of their confidence, as if an annotator checked the others
# by hand. Of the surer half, 97 % are right with the spectral model, and 99 % with the CRF.
#
# The surest heads of the spectral model are an exception. Most errors among them are due to
# negative estimates, which a spectral model may have. These count as 0, and leave an undeserved
# probability of 1 to other heads.
# :func:`~sklearn_shag.inspection.inspect_marginals` finds the sentences.

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
true = np.concatenate([tree.heads for tree in parsed])
for name in ("SPECTRAL", "CRF"):
    _, marginals, heads = predictions[name]
    rows = zip(marginals, heads, strict=True)
    confidence = np.concatenate([part[np.arange(len(found)), found] for part, found in rows])
    right = np.concatenate(heads) == true
    order = np.argsort(-confidence, kind="stable")
    accepted = np.arange(1, order.size + 1)
    axes.plot(accepted / order.size, np.cumsum(right[order]) / accepted, label=name)
    certain = confidence > 1 - 1e-9
    half = right[order][: order.size // 2].mean()
    print(f"{name:<9} all {right.mean():.3f}, the surer half {half:.3f}, ", end="")
    print(f"probability 1: {certain.sum()} tokens, {right[certain].sum()} of them right")
axes.set(xlabel="share of tokens accepted, the surest first", ylabel="share of right heads")
axes.set(xlim=(0, 1), ylim=(0.8, 1))
axes.legend(loc="lower left")
plt.show()
