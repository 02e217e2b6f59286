"""
Rules for grammar induction
===========================

Every grammar book says that nouns have determiners, and that verbs have nouns. A dozen such rules
help a grammar that is learned from raw text more than any start or prior. This example asks how
much the rules do alone, how strong they should be, and which of them matter.
"""

# %%
# With and without
# ----------------
# In training, each arc of a tree that follows a rule makes the tree count :math:`e^2` times as
# much. So EM prefers trees with such arcs and learns the rest from them. The third model did not
# learn at all: in its trees, each arc counts only by the rules. A chain, in which each word depends
# on the next one, is the baseline.

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
# The rules do most of the work: without any training, they are 24 points above the chain. Training
# adds six more. Without rules, the trained model ends below the chain.
#
# Which rules matter
# ------------------
# These are the rules of ``rules="ud"`` by head: each group alone, and all except this group.

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
# Strength of the rules
# ---------------------
# Half a nat is little: of two trees that differ by one arc of the rules, one is then 1.6 times as
# probable. That already gives more than half of the gain, and above two nats nothing is added. The
# model has learned to do without the rules: they do not help in predictions. The rules of verbs are
# worth more than all others.

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
