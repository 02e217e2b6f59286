"""
Choosing the number of states and the smoothing
===============================================

The number of hidden states and the smoothing of :class:`~sklearn_shag.SpectralSHAG` trade bias for
variance. This example draws the scores of all their combinations, and marks the fewest states
whose score is within one standard error of the best. It does so for the default parameters and for
the published algorithm; many states hurt only the latter. Scores on the training trees themselves
show over-fitting. :ref:`cross_validation` explains how to use such curves.
"""

# %%
# All scores
# ----------
# A grid search learns with each combination from four folds, and parses the fifth. We arrange the
# scores by number of states, smoothing and fold.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV, KFold, ValidationCurveDisplay

from sklearn_shag import SpectralSHAG
from sklearn_shag.datasets import load_english

trees = load_english().data
folds = KFold(n_splits=5, shuffle=True, random_state=0)
n_states = np.arange(1, 17)
smoothing = [0.0, 1.0, 5.0, 20.0]
grid = {"n_states": n_states, "smoothing": smoothing}
models = {"Defaults": SpectralSHAG(), "Published": SpectralSHAG.published()}

scores = {}
for name, model in models.items():
    search = GridSearchCV(model, grid, cv=folds).fit(trees)
    by_fold = [search.cv_results_[f"split{k}_test_score"] for k in range(5)]
    scores[name] = np.transpose(by_fold).reshape(len(n_states), len(smoothing), 5)
    best = search.best_params_
    print(f"{name}: {best['n_states']} states, smoothing {best['smoothing']:g}, ", end="")
    print(f"UAS {100 * search.best_score_:.1f}")

# %%
# The fewest states that are enough
# ---------------------------------
# The mean over the folds has a standard error, and all candidates within one standard error of the
# best are about as good. Of these, we take the fewest states, with the smoothing that suits them
# best.


def choose(scores):
    """Return indices of the best and of the chosen candidate, and the least score that will do."""
    mean = 100 * scores.mean(axis=2)
    deviation = 100 * scores.std(axis=2, ddof=1)
    best = np.unravel_index(mean.argmax(), mean.shape)
    threshold = mean[best] - deviation[best] / np.sqrt(scores.shape[2])
    fewest = int((mean >= threshold).any(axis=1).argmax())
    return best, (fewest, int(mean[fewest].argmax())), threshold


for name in models:
    _, (row, column), _ = choose(scores[name])
    print(f"{name}: {n_states[row]} states, smoothing {smoothing[column]:g}, ", end="")
    print(f"UAS {100 * scores[name][row, column].mean():.1f}")

# %%
# Folds differ more than candidates do, but a difficult fold is difficult for all of them. So the
# difference of two candidates is known better than either score.

for name in models:
    best, chosen, _ = choose(scores[name])
    difference = 100 * (scores[name][best] - scores[name][chosen])
    error = difference.std(ddof=1) / np.sqrt(difference.size)
    print(f"{name}: the best is ahead by {difference.mean():.1f} +- {error:.1f} points")

# %%
# Training scores
# ---------------
# scikit-learn's :class:`~sklearn.model_selection.ValidationCurveDisplay` also parses the training
# trees. Its bands are one standard deviation of the folds to either side, for the default
# smoothing; lines without a band are the other smoothings.

figure, panels = plt.subplots(
    1, 2, figsize=(8.5, 4.8), sharex=True, sharey=True, layout="constrained"
)
for axes, (name, model) in zip(panels, models.items(), strict=True):
    curve = ValidationCurveDisplay.from_estimator(
        model.set_params(smoothing=5),
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
        mean = scores[name][:, k].mean(axis=1)
        axes.plot(n_states, mean, f"C{k + 2}", label=f"held out, smoothing {smoothing[k]:g}")
    _, chosen, threshold = choose(scores[name])
    axes.axhline(threshold / 100, color="grey", linestyle="--", label="best less 1 s.e.")
    axes.plot(
        n_states[chosen[0]],
        scores[name][chosen].mean(),
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
