"""
Comparing texts by their syntax
===============================

The sentences of the bundled treebank are from three texts: stories of a coast, reports, and talk.
Their arcs tell them apart, and so do a few statistics.
"""

# %%
# From trees to counts
# --------------------
# :class:`~sklearn_shag.DependencyVectorizer` counts the arcs of each document: the tags of head and
# modifier, and their relation. Here, five sentences of one text in a row are a document. (If there
# were only texts, :class:`~sklearn_shag.TextParser` would come first.)

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sklearn_shag import DependencyVectorizer, SyntaxStatistics
from sklearn_shag.datasets import load_english

trees = load_english().data
names = ["coast", "report", "talk"]
parts = {name: [t for t in trees if t.sent_id.startswith(name)] for name in names}
documents, labels = [], []
for name, part in parts.items():
    for start in range(0, len(part), 5):
        documents.append(part[start : start + 5])
        labels.append(name)
model = make_pipeline(
    DependencyVectorizer("arcs", min_df=3), LogisticRegression(C=0.1, max_iter=1000)
)
model.fit(documents, labels)
print(len(documents), "documents,", len(model[0].vocabulary_), "kinds of arcs")

# %%
# The strongest features
# ----------------------
# The weights of the classifier say which arcs are typical of each text. Reports have verbs with
# nouns as subjects, and talk has pronouns.

features, weights = model[0].get_feature_names_out(), model[-1].coef_
figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
for ax, name, of_text in zip(axes, model.classes_, weights, strict=True):
    strongest = np.argsort(of_text)[-8:]
    ax.barh(features[strongest], of_text[strongest])
    ax.set(title=name, xlabel="weight")
plt.show()

# %%
# A few numbers
# -------------
# :class:`~sklearn_shag.SyntaxStatistics` has a row for each document, here for each whole text.

statistics = SyntaxStatistics()
table = statistics.fit_transform(list(parts.values()))
for name, *values in zip(statistics.get_feature_names_out()[:11], *table, strict=False):
    print(f"{name:20}", *(f"{value:8.2f}" for value in values))
