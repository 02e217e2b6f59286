"""
======================================
Hidden states of nouns as an automaton
======================================

Hidden states have no names. To see what they stand for, Luque et al. (2012, section 5.3) turn the
states that modifier sequences pass into a deterministic automaton, and draw it (their Figure 3).
This example does so for the modifiers left of nouns, on the bundled treebank.
"""

# %%
# Where hidden states help
# ------------------------
# The baseline automata only know whether there was a modifier before. Hidden states gain most over
# them for the modifiers of verbs, especially right ones, and for the choice of the root. Left of
# nouns, they gain 17 heads of 656. A token belongs to the automaton that generates it in the true
# tree.

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split

from sklearn_shag import DeterministicSHAG, SpectralSHAG
from sklearn_shag.datasets import load_english
from sklearn_shag.inspection import (
    AutomatonDisplay,
    approximate_dfa,
    automaton_gains,
    top_modifiers,
)

train, development = train_test_split(load_english().data, test_size=0.5, random_state=0)
model = SpectralSHAG(9).fit(train)
gains = automaton_gains(model, development, baseline=DeterministicSHAG("first").fit(train))
print(f"{gains.gains.sum()} of {gains.counts.sum()} heads gained")
print(gains)

# %%
# Modifiers of nouns
# ------------------
# This is the learned grammar in words: how probable it is that a noun has such a modifier on that
# side, and how many it has on average.

print(top_modifiers(model, head="NOUN"))

# %%
# The automaton
# -------------
# Prefixes of at least four modifier sequences are clustered by the direction of their state
# vectors. Clusters that the same symbol reaches from the same cluster are merged. Modifiers are
# read from the noun outwards, so the first is the one closest to it.

dfa = approximate_dfa(model, development, head="NOUN", direction="left", n_clusters=6, min_count=4)
print(dfa)

# %%
# In the drawing, states are shaded by their probability of stopping, which is below their number.

AutomatonDisplay(dfa).plot(min_probability=0.01)
plt.show()

# %%
# Each state shows what may still come. After adjectives and further nouns (state 1), hardly any
# sequence stops, since a determiner is missing. After a determiner or a number (state 4), two of
# three stop. Most others continue with the preposition in front, which is a modifier of its noun in
# Universal Dependencies. After that (state 2) nearly all stop. Coordination has its own state (3).
# The paper's figure has the same two states before and after determiners and possessive pronouns,
# which stop with the probabilities 0.15 and 0.67, and it also has states for coordination. An
# automaton that only knows whether there was a modifier cannot tell them apart.
#
# The automaton itself gives what follows a prefix:

for prefix in (["ADJ"], ["ADJ", "DET"], ["ADJ", "DET", "ADP"]):
    state = dfa.run(prefix)
    stop = dfa.states.stop_probabilities[state]
    print(f"{' '.join(prefix):<12} state {state}, stops with probability {stop:.2f}")
