"""
Grid search in a pipeline
=========================

What should the grammar see of a token, and how many hidden states does that need? Both are
parameters of one pipeline, and :class:`~sklearn.model_selection.GridSearchCV` tries their
combinations. The first figure shows all scores, and the second the learning curve of the best
pipeline.
"""

# %%
# The pipeline and its parameters
# -------------------------------
# :class:`~sklearn_shag.treebank.TokenFeature` makes symbols from columns: the universal tag alone,
# or with a second column, such as the kind of a pronoun or the Penn tag. Joined symbols that occur
# less than ten times are reduced to the tag.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV, KFold, LearningCurveDisplay, ShuffleSplit
from sklearn.pipeline import make_pipeline

from sklearn_shag import DeterministicSHAG, SpectralSHAG
from sklearn_shag.datasets import load_english
from sklearn_shag.treebank import TokenFeature

trees = load_english().data
pipeline = make_pipeline(TokenFeature("upos", min_count=10, rare_symbol=None), SpectralSHAG())
grid = {
    "tokenfeature__joined_with": [None, "feats.PronType", "feats.Case", "feats.VerbForm", "xpos"],
    "spectralshag__n_states": [1, 2, 3, 4, 6, 8],
}
folds = KFold(n_splits=5, shuffle=True, random_state=0)
search = GridSearchCV(pipeline, grid, cv=folds, error_score="raise").fit(trees)
print(search.best_params_)
print(f"mean of the folds {search.best_score_:.3f}")

# %%
# All scores
# ----------
# Each line is one choice of columns. The tag with the case or the kind of a pronoun ("I" and "me",
# personal and relative) is always a little better than the tag alone. Penn tags are best with one
# state. From three states on, they and the forms of verbs fall behind: with more symbols there are
# fewer sequences of each, from which states must be learned.

results = search.cv_results_
columns = results["param_tokenfeature__joined_with"]
figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
for column in grid["tokenfeature__joined_with"]:
    rows = np.array([other == column for other in columns])
    axes.plot(
        results["param_spectralshag__n_states"][rows],
        results["mean_test_score"][rows],
        marker="o",
        label="upos" if column is None else f"upos|{column}",
    )
axes.set(xlabel="hidden states", ylabel="UAS, mean of five folds")
axes.legend()
plt.show()

# %%
# Do more trees help?
# -------------------
# These are scikit-learn's learning curves for the best pipeline and for a baseline. Bands are one
# standard deviation of ten splits to either side. Hidden states are ahead from the first fifty
# trees on and still rise at the end. The baseline is flat from 150 trees on.

figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
contenders = {"best of the search": search.best_estimator_, "DET+F": DeterministicSHAG("first")}
for name, estimator in contenders.items():
    curve = LearningCurveDisplay.from_estimator(
        estimator,
        trees,
        None,
        train_sizes=np.linspace(0.15, 1, 6),
        cv=ShuffleSplit(n_splits=10, test_size=0.2, random_state=0),
        score_type="test",
        score_name="UAS",
        fill_between_kw={"alpha": 0.2},
        ax=axes,
    )
    curve.lines_[-1].set(label=name, marker="o")
axes.set_xlabel("training trees")
axes.legend()
plt.show()
