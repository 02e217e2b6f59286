"""
Raw text
========

A hundred sentences have trees, and many more have none. This example lets a teacher parse the
others, and a student learn from both. The curve shows what that adds, by the amount of raw text.
"""

# %%
# A teacher and its student
# -------------------------
# The teacher, an average of three networks, learns from the trees alone. The student is one such
# network, a third of the size of the teacher. It learns from the trees and from the probabilities
# that the teacher gives to the arcs, relations and tags of the raw sentences. All of them read
# words alone and learn the tags.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.frozen import FrozenEstimator

from sklearn_shag import AveragedParser, BiaffineParser, DistilledParser
from sklearn_shag.datasets import load_english
from sklearn_shag.metrics import labeled_attachment_score
from sklearn_shag.treebank import DependencyTree

trees = load_english().data
AMOUNTS, N_TREES = [0, 50, 100, 200], 100
network = BiaffineParser(tags="upos", hidden_layer_sizes=[50], calibrate=False, random_state=0)


def score(parser, test):
    return 100 * labeled_attachment_score(test, parser.parse(test))


def learn(seed):
    """Score the teacher, one of its networks, and students of several amounts of raw text."""
    order = np.random.default_rng(seed).permutation(len(trees))
    known, others, test = (
        [trees[k] for k in part] for part in np.split(order, [N_TREES, N_TREES + AMOUNTS[-1]])
    )
    raw = [DependencyTree(tree.forms) for tree in others]
    teacher = AveragedParser.of_seeds(network, random_state=seed, calibrate=False).fit(known)
    students = [
        DistilledParser(network, FrozenEstimator(teacher)).fit([*known, *raw[:amount]])
        for amount in AMOUNTS
    ]
    return [score(parser, test) for parser in [teacher, teacher.estimators_[0], *students]]


scores = np.array([learn(seed) for seed in range(2)])

# %%
# The curve
# ---------
# Without raw text, the student is a network like those of the teacher.

teacher, network_alone, *students = scores.mean(axis=0)
_, ax = plt.subplots()
ax.plot(AMOUNTS, students, "o-", label="student")
ax.axhline(teacher, color="C1", linestyle="--", label="teacher, an average of three networks")
ax.axhline(network_alone, color="C2", linestyle=":", label="one of these networks")
ax.set(xlabel="raw sentences", ylabel="LAS in percent", title=f"{N_TREES} trees and raw text")
ax.legend()
plt.show()
