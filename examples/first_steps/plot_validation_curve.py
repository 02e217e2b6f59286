"""
Choosing the number of states and the smoothing
===============================================

The number of hidden states and the smoothing of :class:`~sklearn_shag.SpectralSHAG` trade bias for
variance. This example draws the scores of all their combinations from one fit of
:class:`~sklearn_shag.SpectralSHAGCV`, and marks the fewest states whose score is within one
standard error of the best. It does so for the default parameters and for the published algorithm;
many states hurt only the latter. Scores on the training trees themselves show
over-fitting. :ref:`cross_validation` explains how to use such curves.
"""

# %%
# One fit, all scores
# -------------------
# In each fold, trees are counted once. For each smoothing there is one singular value decomposition
# for each head and direction, and the operators of all numbers of states are cut from it.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import KFold, ValidationCurveDisplay

from sklearn_shag import SpectralSHAG, SpectralSHAGCV
from sklearn_shag.datasets import load_english

trees = load_english().data
folds = KFold(n_splits=5, shuffle=True, random_state=0)
n_states = np.arange(1, 17)
smoothing = [0.0, 1.0, 5.0, 20.0]
variants = {
    "Defaults": {},
    "Published": {"context": 0, "shrinkage": 0, "scaling": 0, "alpha": 0, "mixing": 0},
}

searches = {
    name: SpectralSHAGCV(n_states, smoothing_grid=smoothing, cv=folds, **params).fit(trees)
    for name, params in variants.items()
}
print("numbers of states, smoothings, folds:", searches["Defaults"].scores_.shape)
for name, search in searches.items():
    print(f"{name}: {search.n_states_} states, smoothing {search.smoothing_:g}, ", end="")
    print(f"UAS {100 * search.best_score_:.1f}")

# %%
# The fewest states that are enough
# ---------------------------------
# The mean over the folds has a standard error, and all candidates within one standard error of the
# best are about as good. Of these, we take the fewest states, with the smoothing that suits them
# best.


def choose(search):
    """Return indices of the best and of the chosen candidate, and the least score that will do."""
    mean = 100 * search.scores_.mean(axis=2)
    deviation = 100 * search.scores_.std(axis=2, ddof=1)
    best = np.unravel_index(mean.argmax(), mean.shape)
    threshold = mean[best] - deviation[best] / np.sqrt(search.n_splits_)
    fewest = int((mean >= threshold).any(axis=1).argmax())
    return best, (fewest, int(mean[fewest].argmax())), threshold


for name, search in searches.items():
    _, (row, column), _ = choose(search)
    print(f"{name}: {n_states[row]} states, smoothing {smoothing[column]:g}, ", end="")
    print(f"UAS {100 * search.scores_[row, column].mean():.1f}")

# %%
# Folds differ more than candidates do, but a difficult fold is difficult for all of them. So the
# difference of two candidates is known better than either score.

for name, search in searches.items():
    best, chosen, _ = choose(search)
    difference = 100 * (search.scores_[best] - search.scores_[chosen])
    error = difference.std(ddof=1) / np.sqrt(search.n_splits_)
    print(f"{name}: the best is ahead by {difference.mean():.1f} +- {error:.1f} points")

# %%
# Training scores
# ---------------
# scikit-learn's :class:`~sklearn.model_selection.ValidationCurveDisplay` also parses the training
# trees. It fits anew for every number of states and every fold. Its bands are one
# standard deviation of the folds to either side, for the default smoothing; lines without a band
# are the other smoothings.

figure, panels = plt.subplots(
    1, 2, figsize=(8.5, 4.8), sharex=True, sharey=True, layout="constrained"
)
for axes, (name, search) in zip(panels, searches.items(), strict=True):
    curve = ValidationCurveDisplay.from_estimator(
        SpectralSHAG(smoothing=5, **variants[name]),
        trees,
        None,
        param_name="n_states",
        param_range=n_states,
        cv=folds,
        score_name="UAS",
        fill_between_kw={"alpha": 0.15},
        ax=axes,
    )
    for line, label in zip(curve.lines_, ["trees learned from", "held out"], strict=True):
        line.set(label=f"{label}, smoothing 5", linewidth=2.5)
    for k in (0, 1, 3):
        mean = search.scores_[:, k].mean(axis=1)
        axes.plot(n_states, mean, f"C{k + 2}", label=f"held out, smoothing {smoothing[k]:g}")
    _, chosen, threshold = choose(search)
    axes.axhline(threshold / 100, color="grey", linestyle="--", label="best less 1 s.e.")
    axes.plot(
        n_states[chosen[0]],
        search.scores_[chosen].mean(),
        "*",
        markersize=15,
        color="black",
        markeredgecolor="white",
        label="fewest within 1 s.e. of the best",
    )
    axes.set(title=name, xlabel="hidden states", xticks=n_states[::3])
    axes.get_legend().remove()
panels[0].legend(loc="lower center", fontsize="small")
panels[1].set_ylabel(None)
plt.show()

# %%
# With few states, all scores are low, and training and held-out scores are nearly equal: the model
# is too simple, and more trees would not help it much (bias). With more states, the two diverge:
# some of what is learned is true of the training trees only (variance).
#
# As published, the scores fall from there. Where even the training score falls, the added singular
# values are so small that dividing by them mainly magnifies noise. Smoothing does not
# prevent that. With the defaults, the curves are flat from about eight states on, and the number of
# states needs no tuning. :ref:`robust` explains how the defaults achieve this.
