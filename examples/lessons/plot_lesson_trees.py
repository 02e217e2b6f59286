"""
A lesson on trees and grammars, with solutions
==============================================

These are solutions of the exercises in the lesson of 90 minutes (:ref:`teaching`). They need no
network, and every model is trained in about a second.
"""

# %%
# 1. Look at trees
# ----------------
# *Draw the tree of* ``trees[6]`` *on paper.* The printed tree has each word below or above its
# head; lines lead from a head to its modifiers.

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split

from sklearn_shag import LexicalizedSHAG, SpectralSHAG
from sklearn_shag.datasets import load_english, load_parser
from sklearn_shag.inspection import AutomatonDisplay, DependencyTreeDisplay

trees = load_english().data
print(trees[6])

# %%
# 2. See where sentences are ambiguous
# ------------------------------------
# *Which words change the probabilities?* The verb and the noun both do. The parser has learned from
# trees alone, without pictures of the world: spoons go with eating, and it is wrong about noodles.

parser = load_parser("english")
for text in (
    "We saw the man with the dog.",
    "We saw the man with the telescope.",
    "We ate the soup with a spoon.",
    "We ate the soup with noodles.",
):
    (tree,) = parser.parse_text(text)
    last = len(tree) - 2  # the word before the full stop, counted from 0
    of_last = parser.predict_marginals([tree])[0][last]
    likely = {tree.forms[head - 1]: of_last[head] for head in (2, 4)}
    print(f"{text:36}", *(f"{head} {value:.2f}" for head, value in likely.items()))

# %%
# 3. Train a grammar
# ------------------
# *Why is the score on* ``train`` *higher?* The grammar has counted these very sentences. With more
# states it remembers more of them, but at some point this is of no use for new sentences. With 32
# states or more, the score on ``test`` no longer grows.

train, test = train_test_split(trees, test_size=0.25, random_state=0)
for n_states in (1, 2, 4, 8, 16, 32):
    model = SpectralSHAG(n_states=n_states).fit(train)
    print(f"{n_states:2} states: train {model.score(train):.2f}, test {model.score(test):.2f}")

# %%
# 4. Look into an automaton
# -------------------------
# *Follow the path of "of the old ferry".* The noun is "ferry". Outwards from it, its modifiers on
# the left are ADJ, DET and ADP. *After which modifier does it almost always stop?* After a
# preposition: nothing stands before it in such a phrase.

grammar = SpectralSHAG().fit(trees)
AutomatonDisplay.from_estimator(grammar, trees, head="NOUN", direction="left", n_clusters=4)
plt.show()

# %%
# 5. Look at errors
# -----------------
# *Collect ten errors.* These are the words whose head is wrong, with both heads. Many are
# prepositional phrases and conjunctions, and tags alone cannot decide these.

grammar = SpectralSHAG(n_states=4).fit(train)
n_wrong = 0
for tree, parsed in zip(test, grammar.predict(test), strict=True):
    names = ["root", *tree.forms]
    for k, (true, found) in enumerate(zip(tree.heads, parsed, strict=True)):
        if true != found and tree.upos[k] != "PUNCT" and n_wrong < 10:
            print(f"{tree.forms[k]:12} is a modifier of {names[true]:12} not of {names[found]}")
            n_wrong += 1
DependencyTreeDisplay.from_estimator(grammar, test[3])
plt.show()

# %%
# 6. Let the grammar speak
# ------------------------
# *Can your neighbour tell which is which?* With one state, a grammar does not remember which
# modifiers it has already generated: sentences have several subjects, or several full stops.
# ``LexicalizedSHAG`` has words beside the tags, and so it says words.

for n_states in (1, 8):
    sample = SpectralSHAG(n_states=n_states).fit(trees).sample(40, random_state=0)
    print(n_states, *(" ".join(t.forms) for t in sample if 4 <= len(t) <= 8), sep="\n  ")

speaker = LexicalizedSHAG().fit(trees)
for tree in speaker.sample(60, random_state=1):
    if 4 <= len(tree) <= 9:
        print(" ".join(tree.forms))
