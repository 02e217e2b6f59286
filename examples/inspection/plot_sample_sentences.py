"""
Sampling sentences
==================

A grammar is a distribution over trees, and trees can be drawn from it. They show
what the grammar has learned and what it has not. The figures compare the lengths of sampled
sentences and the number of modifiers with those of the treebank, and show a sampled tree.
"""

# %%
# Grammars and samples
# --------------------
# All grammars learn from the same trees. DET remembers nothing of the previous modifiers, SPECTRAL
# has hidden states, and the last one knows words. Most samples are ungrammatical, and must be: a
# grammar of this kind only knows who modifies whom in a sentence, and in which order.

import matplotlib.pyplot as plt
import numpy as np

from sklearn_shag import DeterministicSHAG, LexicalizedSHAG, SpectralSHAG
from sklearn_shag.datasets import load_english
from sklearn_shag.inspection import DependencyTreeDisplay

trees = load_english().data
models = {"DET": DeterministicSHAG("single"), "SPECTRAL": SpectralSHAG()}
samples = {"treebank": trees}
for name, model in models.items():
    samples[name] = model.fit(trees).sample(3000, random_state=0)

words = LexicalizedSHAG().fit(trees).sample(400, random_state=0)
short = [tree for tree in words if 6 <= len(tree) <= 12]
for tree in short[:5]:
    print(" ".join(tree.forms))

# %%
# What they learned
# -----------------
# The left panel shows how many modifiers verbs have. DET continues with the same probability
# however many there have been: one verb in eight has none, and one in six has seven or more. In the
# treebank, each happens with one or two verbs in a hundred, and hidden states come close to that.
# The right panel shows how long sentences are. Here both are wrong: half of the sentences have no
# more than five or seven tokens, against twelve in the treebank, and too many are long. Each
# automaton knows its own modifiers and nothing of the rest of the tree.


def count_modifiers(trees, symbol="VERB", most=10):
    """Return the shares of tokens with 0, 1, ... modifiers, the last with so many or more."""
    sizes = [
        min(len(tree.children(token)), most)
        for tree in trees
        for token, own in enumerate(tree.symbols, start=1)
        if own == symbol
    ]
    return np.bincount(sizes, minlength=most + 1) / len(sizes)


figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
for (name, drawn), color in zip(samples.items(), ["black", "C1", "C0"], strict=True):
    left.plot(count_modifiers(drawn), marker="o", markersize=4, color=color, label=name)
    right.ecdf([len(tree) for tree in drawn], color=color, label=name)
left.set(xlabel="modifiers of a verb (10: or more)", ylabel="share of verbs")
right.set(xlabel="tokens", ylabel="share of sentences not longer", xlim=(0, 60))
left.legend()
right.legend()
plt.show()

# %%
# This is the share of nouns with two determiners or more, of which the treebank has hardly any:

for name, drawn in samples.items():
    nouns = [
        [tree.symbols[child - 1] for child in tree.children(token)].count("DET")
        for tree in drawn
        for token, symbol in enumerate(tree.symbols, start=1)
        if symbol == "NOUN"
    ]
    print(f"{name:<9}{np.mean(np.array(nouns) > 1):.3f}")

# %%
# A sampled tree
# --------------
# Words are drawn with the tags, each given the word that it modifies.

DependencyTreeDisplay(short[4]).plot()
plt.show()
