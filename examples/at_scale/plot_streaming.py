"""
Learning from a stream
======================

Trees need not be available all at once: ``partial_fit`` adds the counts of a chunk to those of all
earlier chunks and learns from the sum. The figure shows how the score rises while trees arrive, and
that the last update takes hardly longer than the first.
"""

# %%
# The stream
# ----------
# The chunks have 1,000 trees each, drawn from a grammar with hidden states. In practice they would
# be files, read one at a time, so that the treebank need not fit into memory.

import time

import matplotlib.pyplot as plt
import numpy as np

from sklearn_shag import SpectralSHAG
from sklearn_shag.datasets import make_treebank

CHUNK = 1000
trees = make_treebank(21_000, n_states=3, n_symbols=12, random_state=0)
test, trees = trees[:1000], trees[1000:]
chunks = [trees[start : start + CHUNK] for start in range(0, len(trees), CHUNK)]
print(len(chunks), "chunks of", CHUNK, "trees,", sum(map(len, trees)), "tokens")

# %%
# Learning on the way
# -------------------
# After each chunk, the model is ready to parse. For comparison, another model is learned anew from
# all trees so far, as one would without :meth:`~sklearn_shag.SpectralSHAG.partial_fit`. (The first
# fit of a process loads compiled code, so one is made before times are taken.)

SpectralSHAG(4).fit(test)
model = SpectralSHAG(4)
scores, seconds = [], {"partial_fit on the chunk": [], "fit on all trees so far": []}
for k, chunk in enumerate(chunks, start=1):
    started = time.thread_time()
    model.partial_fit(chunk)
    seconds["partial_fit on the chunk"].append(time.thread_time() - started)
    scores.append(model.score(test))

    started = time.thread_time()
    anew = SpectralSHAG(4).fit(trees[: k * CHUNK])
    seconds["fit on all trees so far"].append(time.thread_time() - started)

# %%
# In the end, both are the same model, to the last bit:

print(np.array_equal(model.operators_.A, anew.operators_.A))

# %%
# An update counts one chunk and learns the automata again, which takes hardly longer when more has
# been counted. Fitting anew takes longer with every chunk, and needs all of them. The score rises
# steeply with the first 3,000 trees, and then little. (How high it can get depends on the grammar
# from which the trees were drawn, which is a random one.)

seen = CHUNK * np.arange(1, len(chunks) + 1)
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
left.plot(seen, scores, marker="o")
left.set(xlabel="trees seen", xticks=seen[4::5], ylabel="UAS of 1,000 other trees")
for (name, values), marker in zip(seconds.items(), "os", strict=True):
    right.plot(seen, values, marker=marker, label=name)
right.set(
    xlabel="trees seen", xticks=seen[4::5], ylabel="seconds of processor time", ylim=(0, None)
)
right.legend()
plt.show()
