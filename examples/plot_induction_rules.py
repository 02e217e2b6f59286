"""
What a dozen rules do
=====================

That nouns have determiners, and verbs nouns, every grammar book says. Such rules, a dozen of them,
help a grammar that is learned from raw text more than any start or prior. This example asks how
much of that is the rules alone, how strong they should be, and which of them matter.
"""

# %%
# With and without
# ----------------
# A tree counts :math:`e^2` times as much in training for each of its arcs that follows a rule, so
# EM prefers trees with such arcs and learns the rest from them. The third model did not learn at
# all: in its trees each arc counts by the rules and nothing else. A chain, in which each word
# depends on the next one, is what to compare with.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

from sklearn_shag import DMV, DummyParser
from sklearn_shag.datasets import load_english
from sklearn_shag.treebank import remove_punctuation

trees = remove_punctuation(load_english().data)
train, test = train_test_split(trees, test_size=0.25, random_state=0)
warnings.simplefilter("ignore", ConvergenceWarning)  # one of them does not learn at all


def score(rules, **parameters):
    """Return the attachment score in percent after training on raw text."""
    parameters = {"init": "uniform", "rules": rules, "tol": 1e-3} | parameters
    return 100 * DMV(**parameters).fit(train).score(test)


chain = 100 * DummyParser("right").fit(train).score(test)
untaught = score("ud", max_iter=0, predict_with_rules=True)
from_trees = 100 * DMV().fit(train, train).score(test)
print(
    f"chain {chain:.1f}, raw text {score(None):.1f}, rules without training {untaught:.1f}, ",
    end="",
)
print(f"raw text with rules {score('ud'):.1f}, trees {from_trees:.1f}")

# %%
# Most of it is in the rules: without any training they are 24 points above the chain. Training adds
# six more. Without rules it ends below the chain.
#
# Which of them
# -------------
# The rules by head, those of ``rules="ud"``: each group alone, and all but this group.

groups = {
    "<root>": ["VERB"],
    "VERB": ["VERB", "NOUN", "PROPN", "PRON", "ADV", "AUX"],
    "NOUN": ["NOUN", "PROPN", "ADJ", "DET", "NUM", "ADP"],
    "PROPN": ["NOUN", "PROPN", "ADJ", "DET", "NUM", "ADP"],
    "ADJ": ["ADV"],
}
rules = [(head, modifier) for head, modifiers in groups.items() for modifier in modifiers]
alone = [score([rule for rule in rules if rule[0] == head]) for head in groups]
others = [score([rule for rule in rules if rule[0] != head]) for head in groups]

# %%
# How strong
# ----------
# Half a nat is little: two trees that differ by one arc of the rules are then as 1 to 1.6. That is
# more than half of the gain, and above two nats nothing is added. The model has learned to do
# without the rules: they are no help in predictions. Those of verbs are worth more than all others.

strengths = [0, 0.25, 0.5, 1, 2, 4, 8]
learned = [score("ud", rule_strength=strength) for strength in strengths]
helped = [score("ud", rule_strength=strength, predict_with_rules=True) for strength in strengths]

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
left.plot(strengths, learned, marker="o", label="rules in training")
left.plot(strengths, helped, marker="o", label="and in predictions")
left.axhline(chain, color="black", linestyle="--", label="chain")
left.set(xlabel="strength of rules, in nats", ylabel="attachment, per cent", ylim=(0, 85))
left.legend()
places = np.arange(len(groups))
right.bar(places - 0.2, alone, 0.4, label="this head alone")
right.bar(places + 0.2, others, 0.4, label="all but this head")
right.axhline(score("ud"), color="black", linestyle=":", label="all rules")
right.set_xticks(places, groups)
right.set_xlabel("head of the rules")
right.legend(loc="upper right", ncols=3, fontsize="small")
plt.show()
