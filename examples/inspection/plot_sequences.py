"""
===============================
Automata of letters and of tags
===============================

The automata of this package learn from any sequences of symbols. Here the sequences are words of
the bundled treebank, and the symbols are their letters. We ask which letters are alike, how well
the next letter is predicted, and which new words an automaton generates.
"""

# %%
# Vowels and consonants
# ---------------------
# An automaton with two hidden states has to sort letters into two kinds. Cave and Neuwirth (1980)
# found that, in this way, a hidden Markov model of English text discovers vowels. For each letter,
# we take the state in which it is emitted, given the whole word.

import matplotlib.pyplot as plt
import numpy as np

from sklearn_shag import EMAutomaton, SpectralAutomaton
from sklearn_shag.datasets import load_english
from sklearn_shag.inspection import AutomatonDisplay

trees = load_english().data
words = sorted({form.lower() for tree in trees for form in tree.forms if form.isalpha()})
np.random.default_rng(0).shuffle(words)
words = [list(word) for word in words]
train, test = words[:-500], words[-500:]
print(f"{len(train)} words to learn from, {len(test)} to test on")

model = EMAutomaton(n_states=2, max_iter=500, random_state=0).fit(words)
letters = np.concatenate(words)
states = np.concatenate([rows[:-1] for rows in model.state_probabilities(words)])
for state in range(2):
    shares = {letter: states[letters == letter, state].mean() for letter in model.symbols_}
    print(f"state {state}:", " ".join(letter for letter in shares if shares[letter] > 0.5))

# %%
# Predicting the next letter
# --------------------------
# The perplexity of unseen words is the number of equally probable letters that would be as hard to
# guess. The end of a word counts as a letter. With so few words, trigrams are hard to
# beat. Both estimators mix in n-grams, with the share that is best on held-out words, and that is
# better still.

n_states = [1, 2, 4, 8, 12, 16, 24]
curves = {
    "EM alone": [EMAutomaton(n, tol=1e-3, random_state=0) for n in n_states],
    "EM with n-grams": [EMAutomaton(n, tol=1e-3, mixing=None, random_state=0) for n in n_states],
    "Spectral, with n-grams": [SpectralAutomaton(n) for n in n_states],
}
fig, ax = plt.subplots(layout="constrained")
for name, models in curves.items():
    ax.plot(n_states, [model.fit(train).perplexity(test) for model in models], "o-", label=name)
for length in (1, 2):
    n_grams = SpectralAutomaton(1, max_context=length, n_contexts=2000, mixing=1.0).fit(train)
    perplexity = n_grams.perplexity(test)
    ax.axhline(perplexity, color="gray", linestyle=":")
    ax.annotate(f"{length + 1}-grams", (n_states[-1], perplexity), ha="right", va="bottom")
ax.set(xlabel="Number of states", ylabel="Perplexity of a letter", ylim=(8.5, 15))
ax.legend()
plt.show()

# %%
# New words
# ---------
# Samples look like English. The model also knows that swapped letters make a word improbable, and
# what may follow the beginning of a word.

model = EMAutomaton(12, tol=1e-3, mixing=None, random_state=0).fit(words)
print(" ".join("".join(word) for word in model.sample(12, random_state=1)))
for word in ("nation", "natoin"):
    print(f"log p({word}) = {model.score_samples([list(word)])[0]:.1f}")
following = model.predict_proba([list("th")])[0]
best = np.argsort(-following)[:4]
print("after th:", ", ".join(f"{[*model.symbols_, 'the end'][k]} {following[k]:.2f}" for k in best))

# %%
# An automaton of tags
# --------------------
# The tags of a sentence are a sequence, too. The picture shows a deterministic automaton close to a
# spectral one. Beginnings of sentences that lead to similar states share a circle. Within a noun
# phrase (state 2), an adjective changes nothing, and a noun leads out of it.

tags = [tree.symbols for tree in trees]
model = SpectralAutomaton(8).fit(tags)
AutomatonDisplay.from_estimator(model, tags, n_clusters=4, min_probability=0.1)
plt.show()
