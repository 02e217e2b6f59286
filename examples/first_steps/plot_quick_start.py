"""
Quick start
===========

This example goes from a treebank to a parser, a score and the picture of a tree. The picture shows
what a parser that only sees part-of-speech tags gets right, and what it cannot know.
"""

# %%
# Trees
# -----
# A treebank is a list of trees. This one comes with the package; for your own files, use
# :func:`~sklearn_shag.treebank.read_conllu`. Everything else stays the same.

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split

from sklearn_shag import DeterministicSHAG, SpectralSHAG
from sklearn_shag.datasets import load_english
from sklearn_shag.inspection import DependencyTreeDisplay

trees = load_english().data
print(len(trees), "sentences,", sum(map(len, trees)), "tokens")
print(trees[5])

# %%
# Learn and score
# ---------------
# The score is the unlabelled attachment score: the share of tokens with the correct head. The
# baseline's automata tell the first modifier from the rest, and those of
# :class:`~sklearn_shag.SpectralSHAG` have hidden states.

train, test = train_test_split(trees, test_size=0.25, random_state=0)
model = SpectralSHAG().fit(train)
baseline = DeterministicSHAG("first").fit(train)
print(f"hidden states {model.score(test):.3f}, without {baseline.score(test):.3f}")

# %%
# Predict
# -------
# Sentences are trees, or plain sequences of symbols. Heads are positions, counted from 1; 0 is the
# root.

model.predict([["DET", "ADJ", "NOUN", "VERB", "ADP", "DET", "NOUN"]])[0]

# %%
# A tree
# ------
# Words are shown above their tags and the relations of the true tree. The parser found eight of
# nine arcs. It takes "seals" for the subject of "sliding", but in the true tree it is the object of
# "watched". It is both. The annotation rule depends on the verb, which tags do not show.

DependencyTreeDisplay.from_estimator(model, test[46])
plt.show()
