"""
Recovering a grammar from its trees
===================================

The published spectral algorithm is consistent: with enough trees it finds the grammar that they
were drawn from. This example draws trees from a random grammar with hidden states, learns
from ever larger samples, and compares the learned probabilities of modifier sequences with the true
ones.

You will learn how to generate treebanks, how to evaluate sequences under a grammar, and what error
to expect: it falls roughly like one over the square root of the number of trees.
"""

# %%
# Grammar and trees
# -----------------
# There are four symbols, and two hidden states for each head and direction. `max_length` is so
# large that no sentence is drawn anew: leaving out the long ones would bias what is learned.

import itertools

import matplotlib.pyplot as plt
import numpy as np

from sklearn_shag import SpectralSHAG
from sklearn_shag.datasets import make_treebank
from sklearn_shag.operators import sequence_values
from sklearn_shag.sequences import HeadModifierSequences

N_SYMBOLS, N_STATES = 4, 2
sizes = 2 ** np.arange(7, 14)


def draw(seed):
    """Draw a grammar and trees from it."""
    return make_treebank(
        sizes[-1],
        N_STATES,
        n_symbols=N_SYMBOLS,
        mean_length=5,
        max_length=100_000,
        random_state=seed,
        return_operators=True,
    )


# %%
# The error
# ---------
# These are all sequences of at most three modifiers, of every head in both directions. The error is
# the sum of absolute differences of their probabilities, averaged over heads and directions.

pairs = list(itertools.product(range(N_SYMBOLS), range(2)))
short = [modifiers for n in range(4) for modifiers in itertools.product(range(N_SYMBOLS), repeat=n)]
heads, directions = np.repeat(pairs, len(short), axis=0).T
lengths = np.tile([len(modifiers) for modifiers in short], len(pairs))
sequences = HeadModifierSequences(
    heads,
    directions,
    indptr=np.concatenate([[0], np.cumsum(lengths)]),
    modifiers=np.tile(np.concatenate(short).astype(int), len(pairs)),
    weights=np.ones(heads.size),
)


def error(learned, true):
    """Compare two grammars by the probabilities of short sequences."""
    differences = sequence_values(learned, sequences) - sequence_values(true, sequences)
    return np.abs(differences).sum() / len(pairs)


# %%
# Learning from growing samples
# -----------------------------
# The learned states differ from the true ones, because they are in another basis. The values of
# sequences do not depend on the basis. The defaults of :class:`~sklearn_shag.SpectralSHAG` help
# with little data, but some of them, such as `mixing`, bias the values however many trees there
# are. So this is the published algorithm, without them. Four grammars show how much the error
# varies.

errors = []
for seed in range(4):
    trees, true = draw(seed)
    errors.append(
        [
            error(SpectralSHAG.published(N_STATES).fit(trees[:size]).operators_, true)
            for size in sizes
        ]
    )
errors = np.array(errors)
slope = np.polyfit(np.log(sizes), np.log(errors.mean(axis=0)), 1)[0]
print(f"The mean error falls like the number of trees to the power {slope:.2f}")

# %%
# On logarithmic axes, the theoretical rate is a straight line of slope -1/2. Single grammars (pale)
# stay close to it.

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.loglog(sizes, errors.T, color="C0", alpha=0.35)
axes.loglog(sizes, errors.mean(axis=0), color="C0", marker="o", label="mean of four grammars")
rate = errors.mean(axis=0)[-1] * np.sqrt(sizes[-1] / sizes)
axes.loglog(sizes, rate, color="black", linestyle="--", label="one over square root")
axes.set(xlabel="training trees", ylabel="error of probabilities")
axes.set_xticks(sizes, sizes)
axes.set_yticks([0.01, 0.02, 0.05, 0.1], [0.01, 0.02, 0.05, 0.1])
axes.minorticks_off()
axes.legend()
plt.show()
