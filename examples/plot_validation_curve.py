"""
How many states, how much smoothing?
====================================

The number of hidden states and the smoothing of :class:`~sklearn_shag.SpectralSHAG` trade bias for
variance. This example draws the scores of all their combinations from one fit of
:class:`~sklearn_shag.SpectralSHAGCV`, and marks the fewest states whose score is within one
standard error of the best. Beside it stand the scores on the training trees themselves, which show
over-fitting. What to do with such curves is the subject of :ref:`choosing`.
"""

# %%
# One fit, all scores
# -------------------
# In each fold trees are counted once, and for each smoothing there is one singular value
# decomposition for each head and direction: the operators of all numbers of states are cut from it.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import KFold, validation_curve

from sklearn_shag import SpectralSHAG, SpectralSHAGCV
from sklearn_shag.datasets import load_english

trees = load_english().data
folds = KFold(n_splits=5, shuffle=True, random_state=0)
n_states = np.arange(1, 17)
smoothing = [0.0, 1.0, 5.0, 20.0]

search = SpectralSHAGCV(n_states, smoothing=smoothing, cv=folds).fit(trees)
print("numbers of states, smoothings, folds:", search.scores_.shape)
print(f"best: {search.best_n_states_} states, smoothing {search.best_smoothing_:g}, ", end="")
print(f"UAS {100 * search.best_score_:.1f}")

# %%
# The fewest states that are enough
# ---------------------------------
# The mean over the folds has a standard error, and all candidates that come within one of the best
# are about as good. Of these we take the fewest states, and the smoothing that suits them best.

mean = 100 * search.scores_.mean(axis=2)
deviation = 100 * search.scores_.std(axis=2, ddof=1)
best = np.unravel_index(mean.argmax(), mean.shape)
threshold = mean[best] - deviation[best] / np.sqrt(search.n_splits_)

fewest = int((mean >= threshold).any(axis=1).argmax())
chosen = fewest, int(mean[fewest].argmax())
print(f"within one standard error: {n_states[chosen[0]]} states, ", end="")
print(f"smoothing {smoothing[chosen[1]]:g}, UAS {mean[chosen]:.1f}")

# %%
# Folds differ more than candidates do, but a fold that is hard is hard for all of them. So the
# difference of two candidates is known better than either score.

difference = 100 * (search.scores_[best] - search.scores_[chosen])
error = difference.std(ddof=1) / np.sqrt(search.n_splits_)
print(f"the best is ahead of it by {difference.mean():.1f} +- {error:.1f} points")

# %%
# Training scores
# ---------------
# :func:`~sklearn.model_selection.validation_curve` of scikit-learn also parses the trees that were
# learned from. It fits anew for every number of states and every fold. The bands of the figure are
# the mean of the folds, plus and minus one standard deviation.

of_training, of_test = validation_curve(
    SpectralSHAG(smoothing=1.0),
    trees,
    None,
    param_name="n_states",
    param_range=n_states,
    cv=folds,
)

figure, (left, right) = plt.subplots(
    1, 2, figsize=(10, 4.5), sharex=True, sharey=True, layout="constrained"
)


def draw_curve(axes, mean, deviation, **style):
    (line,) = axes.plot(n_states, mean, marker="o", markersize=3, **style)
    color = line.get_color()
    axes.fill_between(n_states, mean - deviation, mean + deviation, color=color, alpha=0.12, lw=0)


for k, color in enumerate(plt.colormaps["viridis"](np.linspace(0, 0.9, len(smoothing)))):
    draw_curve(left, mean[:, k], deviation[:, k], color=color, label=f"smoothing {smoothing[k]:g}")
left.axhline(threshold, color="grey", linestyle="--", linewidth=1)
left.annotate("best less 1 s.e.", (16.4, threshold), ha="right", va="bottom")
left.plot(
    n_states[chosen[0]],
    mean[chosen],
    marker="*",
    markersize=15,
    color="C3",
    markeredgecolor="white",
    linestyle="none",
    label="fewest within 1 s.e. of the best",
)
left.set(title="Trees held out", xlabel="hidden states", ylabel="UAS, per cent", xticks=n_states)
left.legend(loc="lower center")

for scores, label in [(of_training, "trees learned from"), (of_test, "trees held out")]:
    draw_curve(right, 100 * scores.mean(axis=1), 100 * scores.std(axis=1, ddof=1), label=label)
right.set(
    title="Trees learned from and held out, smoothing 1", xlabel="hidden states", xticks=n_states
)
right.legend(loc="lower center")
plt.show()

# %%
# With few states both scores are low and nearly equal: the model is too simple, and more trees
# would not help it much (bias). With more states the training score goes on rising after the other
# one has stopped, and the two part: what is learned now is true of these trees only (variance).
# Where even the training score falls, the added singular values are so small that dividing by them
# magnifies noise and little else. Smoothing matters much less than the number of states, and does
# not take the place of choosing it.
