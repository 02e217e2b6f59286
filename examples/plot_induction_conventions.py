"""
Wrong, or turned round?
=======================

Whether the noun is the head of its determiner, or the determiner that of the noun, is a convention,
and raw text says nothing about conventions. So attachment scores of grammars that are learned from
it, without trees, mix two kinds of errors. This example tells them apart.
"""

# %%
# Three fates of an arc
# ---------------------
# An arc of the treebank is found, or it is turned round (its modifier is taken for the head of its
# head), or it is missed. Undirected attachment counts the first two,
# :func:`~sklearn_shag.metrics.unlabeled_attachment_score` the first. Sentences are those that were
# learned from, and longer ones; their heads were not looked at.

from collections import Counter

import matplotlib.pyplot as plt
import numpy as np

from sklearn_shag import DMV, DummyParser
from sklearn_shag.datasets import load_english
from sklearn_shag.metrics import (
    neutral_edge_direction_score,
    undirected_attachment_score,
    unlabeled_attachment_score,
)
from sklearn_shag.treebank import remove_punctuation

trees = remove_punctuation(load_english().data)
metrics = {
    "directed": unlabeled_attachment_score,
    "undirected": undirected_attachment_score,
    "neutral": neutral_edge_direction_score,
}
models = {
    "harmonic start": DMV(tol=1e-3),
    "harmonic, NOUN heads DET": DMV(rules=[("NOUN", "DET")], tol=1e-3),
    "concave, roots are verbs": DMV("concave", root_symbols=["VERB", "AUX"], tol=1e-3),
    "rules": DMV(rules="ud", tol=1e-3),
    "chain": DummyParser("right"),
}
predictions = {name: model.fit(trees).predict(trees) for name, model in models.items()}
for name, heads in predictions.items():
    values = (f"{of} {100 * metric(trees, heads):.1f}" for of, metric in metrics.items())
    print(f"{name:<25}", ", ".join(values))

# %%
# Neutral edge direction also forgives a head that is the head of the true head, which arcs that are
# turned round bring with them: see :ref:`scores`.
#
# Arcs by their tags
# ------------------

FATES = {"found": "C0", "turned round": "C1", "missed": "lightgrey"}


def count_fates(heads):
    """Count the arcs of the treebank by head, modifier and fate."""
    counts = Counter()
    for tree, found in zip(trees, heads, strict=True):
        symbols, found = ["<root>", *tree.symbols], [-1, *found]
        for modifier, head in enumerate(tree.heads, start=1):
            right, turned = found[modifier] == head, found[head] == modifier
            fate = "found" if right else "turned round" if turned else "missed"
            counts[f"{symbols[head]} → {symbols[modifier]}", fate] += 1
    return counts


pairs = Counter()
for (pair, _), number in count_fates(predictions["chain"]).items():
    pairs[pair] += number
names = [pair for pair, _ in pairs.most_common(12)]

figure, panels = plt.subplots(1, 3, figsize=(9, 4.6), sharey=True, layout="constrained")
for axes, name in zip(panels, list(models)[:3], strict=True):
    counts, begin = count_fates(predictions[name]), np.zeros(len(names))
    for fate, color in FATES.items():
        width = np.array([counts[pair, fate] for pair in names])
        axes.barh(names, width, left=begin, label=fate, color=color)
        begin += width
    axes.set(title=name, xlabel="arcs")
panels[0].invert_yaxis()
figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
plt.show()

# %%
# What a score hides
# ------------------
# TEXT
