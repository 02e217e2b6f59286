"""
Conventions in grammar induction
================================

A determiner and its noun belong together, and raw text shows it. But that the noun is the head is a
convention of the treebank, and other treebanks do it the other way round. This example looks at the
arcs that a grammar learned from raw text reverses.
"""

# %%
# Three scores
# ------------
# Undirected attachment accepts an arc either way. The neutral edge direction of Schwartz et al.
# (2011) also accepts the grandparent, which a reversed arc makes the head of the word below it.
# The log likelihood is that of the training sentences, which have at most
# ten words. The last model learned from their trees.

import warnings
from collections import Counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sklearn_shag import DMV, DummyParser
from sklearn_shag.datasets import load_english
from sklearn_shag.metrics import (
    neutral_edge_direction_score,
    undirected_attachment_score,
    unlabeled_attachment_score,
)
from sklearn_shag.treebank import remove_punctuation

warnings.simplefilter("ignore", ConvergenceWarning)  # a hundred iterations will do here
trees = remove_punctuation(load_english().data)
models = {
    "harmonic start": DMV("harmonic", tol=1e-3),
    "uniform start": DMV("uniform", tol=1e-3),
    "uniform start, rules": DMV("uniform", rules="ud", tol=1e-3),
    "from trees": DMV(),
}
short = [tree for tree in trees if len(tree) <= 10]
metrics = (unlabeled_attachment_score, undirected_attachment_score, neutral_edge_direction_score)
predicted = {}


def report(name, heads, of_text=""):
    """Print the scores of a parser."""
    scores = [f"{100 * metric(trees, heads):5.1f}" for metric in metrics]
    print(f"{name:<21}directed {scores[0]}, undirected {scores[1]}, neutral {scores[2]}{of_text}")


for name, model in models.items():
    model.fit(trees, trees if name == "from trees" else None)
    predicted[name] = model.predict(trees)
    report(name, predicted[name], f", likelihood {model.log_likelihood(short).sum():.0f}")
report("chain", DummyParser("right").fit(trees).predict(trees))

# %%
# The likeliest of these grammars has the lowest directed score. The grammar of the trees has the
# highest score and is the least likely. So likelihood can choose neither between conventions nor
# between grammars.

# %%
# Correct, reversed and other arcs
# --------------------------------
# For the most frequent arcs of the treebank, written head before modifier: how often does the
# grammar have them, and how often in reverse?
#
# From the harmonic start, nearly every determiner governs its noun, 596 of 604, and most
# auxiliaries govern their verb: two thirds of the arcs that it finds are reversed. From the uniform
# start, nouns govern determiners, but auxiliaries still govern verbs. Rules settle it.
#
# However, conventions do not explain everything. Arcs that are neither correct nor reversed are
# wrong by any convention: those of the nouns and clauses of verbs, most of which only rules
# correct. Even undirected, the harmonic start is hardly above a chain, in which every word depends
# on the next one, and the uniform start is below it. So look at both scores: a grammar that is low
# in both has learned little.


def count(heads):
    """Return how often arcs with the tags of both ends are there, and there the other way round."""
    gold, right, turned = Counter(), Counter(), Counter()
    for tree, found in zip(trees, heads, strict=True):
        for modifier, head in enumerate(tree.heads.tolist(), start=1):
            if head:
                tags = tree.symbols[head - 1], tree.symbols[modifier - 1]
                gold[tags] += 1
                right[tags] += found[modifier - 1] == head
                turned[tags] += found[head - 1] == modifier
    return gold, right, turned


figure, panels = plt.subplots(1, 4, figsize=(11, 4), sharey=True, layout="constrained")
for axes, (name, heads) in zip(panels, predicted.items(), strict=True):
    gold, right, turned = count(heads)
    kinds = [tags for tags, _ in gold.most_common(9)]
    labels = [" - ".join(tags) for tags in kinds]
    shares = [
        np.array([100 * part[tags] / gold[tags] for tags in kinds]) for part in (right, turned)
    ]
    axes.barh(labels, shares[0], label="right")
    axes.barh(labels, shares[1], left=shares[0], label="the other way round")
    axes.set(title=name, xlabel="per cent of arcs", xlim=(0, 100))
panels[0].invert_yaxis()
figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
plt.show()
