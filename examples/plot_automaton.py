"""
=================================
What the states of a noun learned
=================================

Hidden states have no names. To see what they stand for, Luque et al. (2012, section 5.3) make a
deterministic automaton of those that modifier sequences pass, and draw it (their Figure 3). This
example does so for the modifiers left of nouns.

It uses the treebank UD_English-EWT if that lies in the data folder (see
:func:`sklearn_shag.datasets.get_data_home`), and otherwise the small bundled one.
"""

# %%
# Where hidden states help
# ------------------------
# Against automata that only know whether there was a modifier before, most is gained among the
# modifiers of verbs and of nouns. A token belongs to the automaton that generates it in the true
# tree.

from sklearn.model_selection import train_test_split

from sklearn_shag import DeterministicSHAG, SpectralSHAG
from sklearn_shag.datasets import fetch_treebank, load_english
from sklearn_shag.inspection import (
    AutomatonDisplay,
    approximate_dfa,
    automaton_gains,
    top_modifiers,
)

try:
    treebank = fetch_treebank("UD_English-EWT", download_if_missing=False)
    name, train, development = treebank.name, treebank.train, treebank.dev
except OSError:
    name = "the bundled English treebank"
    train, development = train_test_split(load_english().data, test_size=0.5, random_state=0)
model = SpectralSHAG(9).fit(train)
gains = automaton_gains(model, DeterministicSHAG("first").fit(train), development)
print(f"{name}: {gains.gains.sum()} of {gains.counts.sum()} heads gained")
print(gains)

# %%
# What nouns take
# ---------------
# The learned grammar in words: how probable it is that a noun has such a modifier on that
# side, and how many it has on average.

print(top_modifiers(model, "NOUN"))

# %%
# The automaton
# -------------
# Beginnings of at least twenty modifier sequences (five of the bundled trees) are clustered by the
# direction of their state vectors; clusters to which the same symbol leads from the same one are
# merged. Modifiers are read from the noun outwards, so that the first is the one closest to it.

dfa = approximate_dfa(
    model, "NOUN", "left", development, min_count=20 if len(development) > 1000 else 5
)
print(dfa)

# %%
# Drawn: states are filled by their probability to stop, which stands below their number.

AutomatonDisplay(dfa).plot()

# %%
# Each state tells what may still come. As long as there is no determiner or possessive pronoun,
# adjectives and further nouns may follow. After it most sequences stop, or go on with the
# preposition in front, which is a modifier of its noun in Universal Dependencies; and after that
# nearly all stop. Coordination has a state of its own here as in the paper. In EWT there is one
# more way to go on: auxiliaries, and then pronouns, are modifiers of nouns that are predicates, as
# in "it is a dog". An automaton that knows no more than whether there was a modifier cannot tell
# all these apart.
#
# What follows a beginning is asked of the automaton itself:

for prefix in (["ADJ"], ["ADJ", "DET"], ["DET", "ADP"]):
    state = dfa.run(prefix)
    if state is not None:
        stop = dfa.states.stop_probabilities[state]
        print(f"{' '.join(prefix):<8} state {state}, stops with probability {stop:.2f}")
