"""
========================
Words and hidden states
========================

Tags say most of what a grammar needs, words say more, and hidden states add to both. Luque et al.
(2012, Figure 2) multiply each of three lexicalised grammars with a grammar of hidden states, for
various numbers of states. The value of a tree is the product of its probabilities under both. This
example draws their figure for the small bundled treebank; :ref:`results` has the scores on larger
ones.
"""

# %%
# The data
# --------
# The symbols of the trees are their tags, and the words are the column "form".

import matplotlib.pyplot as plt
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split

from sklearn_shag import LexicalizedSHAG, ProductParser, SpectralSHAG
from sklearn_shag.datasets import load_english

train, test = train_test_split(load_english().data, test_size=0.25, random_state=0)

# %%
# Three grammars of words
# -----------------------
# They differ in what an automaton remembers of its modifiers: nothing (LEX), whether there was one
# (LEX+F), and whether the last one was a coordination, a punctuation mark or another word
# (LEX+FCP). Probabilities are relative frequencies, backed off to tags as by Collins.

automata = {"LEX": "single", "LEX+F": "first", "LEX+FCP": "fcp"}
words = {label: LexicalizedSHAG(automaton).fit(train) for label, automaton in automata.items()}
alone = {label: 100 * model.score(test) for label, model in words.items()}
for label, score in alone.items():
    print(f"{label:<8} {score:.1f} % of the heads right")

# %%
# Products with hidden states
# ---------------------------
# Frozen members are not fitted again, so each is fitted just once.

numbers_of_states = [1, 2, 3, 4, 6, 8, 12, 16]
hidden = [SpectralSHAG(n_states).fit(train) for n_states in numbers_of_states]
scores = {"SPECTRAL": [100 * model.score(test) for model in hidden]}
for label, lexical in words.items():
    scores[f"SPECTRAL x {label}"] = [
        100
        * ProductParser([("hidden", FrozenEstimator(model)), ("words", FrozenEstimator(lexical))])
        .fit(train)
        .score(test)
        for model in hidden
    ]

figure, axes = plt.subplots(figsize=(7.5, 4.5), layout="constrained")
for label, values in scores.items():
    (line,) = axes.plot(numbers_of_states, values, marker="o", markersize=4, label=label)
    lexical = label.rpartition(" ")[2]
    if lexical in alone:
        axes.axhline(alone[lexical], linestyle="--", color=line.get_color(), label=lexical)
axes.set(xlabel="hidden states", ylabel="UAS, per cent")
axes.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
plt.show()

# %%
# Each product is above the grammar of words alone, its dashed line, with any number of states, as
# in the paper. What words remember of the previous modifiers (LEX+F, LEX+FCP) matters less once
# hidden states remember more than that. From three states on, the products are close to the hidden
# states alone: few words of such a small treebank occur often enough to add anything.
#
# An unknown word
# ---------------
# All unknown words with the same tag count as one word, so their arcs come from the tags. The
# following words of this sentence are unknown, and all heads are correct:

product = ProductParser([("hidden", hidden[4]), ("words", words["LEX+FCP"])]).fit(train)
known = set(product.named_estimators_["words"].words_)
print([form for form in test[0].forms if form not in known], product.score(test[:1]))
print(product.parse(test[:1])[0])
