"""
Your own symbols and features
=============================

A grammar sees one symbol for each token, and you decide what the symbols are. The first figure
shows the gain or loss from merging or splitting part-of-speech tags with your own transformers.
The second does without language: the symbols are those of arithmetic, trees say what is computed
first, and the grammar learns the precedence of operators.
"""

# %%
# Transformers
# ------------
# A transformer takes trees and returns trees with other symbols. Without parameters, it is a
# function. With parameters, it is a class, so that a search can set them.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sklearn_shag import DeterministicSHAG, SpectralSHAG
from sklearn_shag.datasets import load_english
from sklearn_shag.inspection import DependencyTreeDisplay
from sklearn_shag.treebank import DependencyTree, TokenFeature

RELATIVE = ("who", "whom", "whose", "which", "that")


def merge_nominals(trees):
    """Call pronouns and names nouns."""
    names = {"PRON": "NOUN", "PROPN": "NOUN"}
    return [tree.with_symbols([names.get(tag, tag) for tag in tree.symbols]) for tree in trees]


class SplitTag(TransformerMixin, BaseEstimator):
    """Give some words of a tag a symbol of their own."""

    def __init__(self, tag, words):
        self.tag = tag
        self.words = words

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return [tree.with_symbols(list(map(self._split, tree.forms, tree.symbols))) for tree in X]

    def _split(self, form, tag):
        return f"{tag}|split" if tag == self.tag and form.lower() in self.words else tag


# %%
# Gains and losses
# ----------------
# The folds are the same for all, so differences are known better than scores. Bars are mean
# differences, and lines are one standard error. Separating relative and interrogative pronouns
# helps a little. Separating singular and plural makes no difference beyond chance. Splitting off
# commas harms: both commas and other punctuation then have less to learn from. Treating pronouns
# and names as nouns harms most, since the three take different modifiers.

trees = load_english().data
steps = {
    "nouns, pronouns, names merged": FunctionTransformer(merge_nominals),
    "commas split": SplitTag("PUNCT", (",",)),
    "number split": TokenFeature("upos", "feats.Number"),
    "relative pronouns split": SplitTag("PRON", RELATIVE),
}
folds = KFold(n_splits=5, shuffle=True, random_state=0)
tags_alone = cross_val_score(SpectralSHAG(), trees, cv=folds)
differences = {
    name: 100 * (cross_val_score(make_pipeline(step, SpectralSHAG()), trees, cv=folds) - tags_alone)
    for name, step in steps.items()
}
print(f"tags alone: UAS {100 * tags_alone.mean():.1f}")

figure, axes = plt.subplots(figsize=(7, 2.8), layout="constrained")
axes.barh(
    list(differences),
    [difference.mean() for difference in differences.values()],
    xerr=[difference.std(ddof=1) / np.sqrt(difference.size) for difference in differences.values()],
    color="C0",
)
axes.axvline(0, color="black", linewidth=1)
axes.set(xlabel="difference to tags alone, points of UAS")
plt.show()

# %%
# Trees of arithmetic terms
# -------------------------
# Symbols may be anything. Here they form random terms. An operator is the head of its operands, and
# an opening bracket is the head of the term inside and of the closing bracket. There are only as
# many brackets as needed, so the symbols determine the tree.

BINDING = {"+": 1, "-": 1, "*": 2, "/": 2, "n": 3}


def draw_term(rng, depth=0):
    """Draw the symbols of a term, their heads (from 1 on, 0 for the root), how it binds."""
    symbol = "n" if rng.random() < 0.2 * depth else str(rng.choice(["+", "-", "*", "/"]))
    binding = BINDING[symbol]
    if symbol == "n":
        return ["n"], [0], binding
    left, left_heads = enclose(*draw_term(rng, depth + 1), binding)
    right, right_heads = enclose(*draw_term(rng, depth + 1), binding + 1)
    own = len(left) + 1
    heads = [head or own for head in left_heads] + [0] + [own + head for head in right_heads]
    return [*left, symbol, *right], heads, binding


def enclose(symbols, heads, binding, least):
    """Put a term in brackets if it binds less than it must."""
    if binding >= least:
        return symbols, heads
    return ["(", *symbols, ")"], [0, *(head + 1 for head in heads), 1]


rng = np.random.default_rng(0)
X, y, _ = zip(*(draw_term(rng) for _ in range(400)), strict=True)
print("".join(X[4]))

# %%
# The models learn from a hundred terms and parse three hundred. Automata with one state do not know
# that an operator takes one operand on either side. Those of DET+F do, but do not know that a
# closing bracket is the last modifier of an opening one. Four hidden states make no errors.

models = {
    "DET": DeterministicSHAG("single"),
    "DET+F": DeterministicSHAG("first"),
    "SPECTRAL": SpectralSHAG(4),
}
for name, model in models.items():
    print(f"{name:<9}{model.fit(X[:100], y[:100]).score(X[100:], y[100:]):.3f}")

# %%
# The parse of another term:

term = DependencyTree(list("n-n*(n+n/n-n)"))
DependencyTreeDisplay.from_estimator(models["SPECTRAL"], term)
plt.show()
