"""
====================
Refinements of verbs
====================

A tag says little about what is above and below a word. :class:`~sklearn_shag.RefinedSHAG` splits
every tag into hidden refinements, which the head of a word sees. This example asks how many
are useful on the bundled treebank, and what those of verbs stand for.
"""

# %%
# How many refinements
# --------------------
# EM splits refinements again and again, and one fit keeps all the intermediate grammars. So states
# and refinements are two axes of one figure, drawn from one fit for each number of states.

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split

from sklearn_shag import RefinedSHAG
from sklearn_shag.datasets import load_english
from sklearn_shag.inspection import AutomatonDisplay, approximate_dfa, top_refinements

train, development = train_test_split(load_english().data, test_size=0.4, random_state=0)
refinements = [1, 2, 4, 8]
models = {
    n_states: RefinedSHAG(n_states, n_refinements=8, random_state=0).fit(train)
    for n_states in (1, 2, 4)
}

figure, axes = plt.subplots()
for n_states, model in models.items():
    scores = [100 * model.truncate(k).score(development) for k in refinements]
    axes.plot(refinements, scores, "o-", label=f"{n_states} states" if n_states > 1 else "1 state")
    print(n_states, [round(score, 1) for score in scores])
axes.set(xscale="log", xticks=refinements, xticklabels=refinements)
axes.set(xlabel="Refinements of a tag", ylabel="Unlabelled attachment score")
axes.legend()
plt.show()

# %%
# Neither is enough alone. States carry what a head has already taken, and refinements carry what
# its own head needs to know about it. With more trees, the difference is larger.

# %%
# What they stand for
# -------------------
# Given their trees, verbs have refinements with some probability. For each refinement, the table
# shows what it has more of than verbs in general. One kind is the root of its sentence, one
# precedes its head, one is below nouns or coordinated, and one has a conjunction or particle on its
# left.

model = RefinedSHAG(n_refinements=4, random_state=0).fit(train)
print(top_refinements(model, train, symbol="VERB", n=3, n_words=1))

# %%
# The automaton of a refinement
# -----------------------------
# Each refinement has its own automata on both sides. This is the left automaton of the most
# frequent one, made deterministic and drawn. States are shaded by their probability of stopping.

table = top_refinements(model, train, symbol="VERB", n=1, n_words=0, n_examples=0)
most_frequent = int(table.refinements[0].split(".")[-1])
dfa = approximate_dfa(
    model, train, head="VERB", direction="left", n_clusters=4, min_count=4, refinement=most_frequent
)
AutomatonDisplay(dfa).plot(min_probability=0.02)
plt.show()
print(dfa)
