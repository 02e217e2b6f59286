"""
A lesson on texts, with solutions
=================================

This is the lesson of 45 minutes (:ref:`teaching`): parse texts, search in them, count, and compare
two of them. It needs no network. To use your own texts, read them from files.
"""

# %%
# 1. Parse (10 minutes)
# ---------------------
# Two plain texts come with the package: a report, and talk. The parser splits them into sentences
# and words, and finds tags, lemmas and trees.

from collections import Counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_selection import chi2

from sklearn_shag import DependencyVectorizer, SyntaxStatistics
from sklearn_shag.datasets import load_english, load_parser
from sklearn_shag.treebank import to_text

NAMES = ["report", "talk"]
texts = [to_text([t for t in load_english().data if t.sent_id.startswith(n)])[0] for n in NAMES]
print(texts[0][:150], texts[1][:150], sep="\n\n")
parsed = load_parser("english").parse_texts(texts)
print(parsed[0][0])

# %%
# *Exercise.* Find a sentence that is split or parsed wrongly. *Solution.* Look at long sentences
# first: their trees have most words to be wrong about.

print(max(parsed[1], key=len).text)

# %%
# 2. Search (15 minutes)
# ----------------------
# A token knows its relation, its head and its children. So the subjects of passives, with their
# verbs, are found in one line.

passives = [(t, t.head) for tree in parsed[0] for t in tree.tokens if t.deprel == "nsubj:pass"]
for subject, verb in passives[:8]:
    print(f"{subject.form:>14}  {verb.form}")

# %%
# *Exercise.* Which passives name who did it ("by the wind")? *Solution.* The verb has a child with
# the relation ``obl:agent``, or ``obl`` with the preposition "by".


def find_agent(verb):
    """The one who did it, or None."""
    for child in verb.children:
        if child.deprel.startswith("obl") and any(c.form == "by" for c in child.children):
            return child
    return None


for subject, verb in passives:
    agent = find_agent(verb)
    if agent is not None:
        print(subject.form, verb.form, "by", agent.form)

# %%
# 3. Count (10 minutes)
# ---------------------
# *Exercise.* What are the most frequent verbs of each text, and what do people "want"?
# *Solution.* Count lemmas, not forms.

for name, trees in zip(NAMES, parsed, strict=True):
    verbs = Counter(t.lemma for tree in trees for t in tree.tokens if t.upos == "VERB")
    print(name, verbs.most_common(8))

# %%
# 4. Compare (10 minutes)
# -----------------------
# A few numbers describe the style of each text, and a test says which arcs tell them apart.

statistics = SyntaxStatistics()
table = statistics.fit_transform(parsed)
for name, *values in zip(statistics.get_feature_names_out()[:8], *table, strict=False):
    print(f"{name:20}", *(f"{value:8.2f}" for value in values))

sentences = [*parsed[0], *parsed[1]]
labels = np.repeat(NAMES, [len(trees) for trees in parsed])
vectorizer = DependencyVectorizer("arcs", min_df=3)
counts = vectorizer.fit_transform(sentences)
strongest = np.argsort(chi2(counts, labels)[0])[-8:]
totals = np.array([counts[labels == name].sum(axis=0).A1[strongest] for name in NAMES])
figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
for shift, name, of_text in zip((-0.2, 0.2), NAMES, totals, strict=True):
    ax.barh(np.arange(8) + shift, of_text, height=0.4, label=name)
ax.set_yticks(np.arange(8), vectorizer.get_feature_names_out()[strongest])
ax.set(xlabel="arcs")
ax.legend()
plt.show()

# %%
# *Exercise.* Which of these differences are about the topic, and which about the kind of text?
# *Solution.* Pronouns as subjects and questions belong to talk of any topic; so do nouns as
# subjects, and passives, to reports. Compare them with a third text to see.
