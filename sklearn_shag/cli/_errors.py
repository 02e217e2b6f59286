"""Differences of parsed and true trees, for the command `evaluate`."""

from collections import Counter
from heapq import nlargest
from itertools import chain

import numpy as np

from sklearn_shag.treebank import MISSING, iter_conllu, nonprojective_arcs
from sklearn_shag.utils._heads import UNKNOWN
from sklearn_shag.utils._messages import printable

FAR = 7  # distances from here on are counted together
N_CONFUSIONS = 20


class ErrorCounts:
    """Counts of right and wrong arcs, and the worst sentences, of trees that are watched.

    Parameters
    ----------
    n_worst : int or None
        How many of the worst sentences are kept; None counts nothing.
    train : str or None
        The files with the words that are known.
    """

    def __init__(self, n_worst, train):
        trees = () if train is None else iter_conllu(train)
        self.n_worst, self.known = n_worst, set(chain.from_iterable(t.forms for t in trees))
        # By group and value: words, right heads, and right heads with right relations.
        self.confused, self.worst, self.counts = Counter(), [], {}

    def watch(self, pairs):
        """Yield pairs of a true and a parsed tree, and count their arcs."""
        for number, (true, parsed) in enumerate(pairs, start=1):
            if self.n_worst is not None and true.heads is not None:
                self.worst.append((self._count_arcs(true, parsed), -number, true, parsed))
                self.worst = nlargest(self.n_worst, self.worst)
            yield true, parsed

    def _count_arcs(self, true, parsed):
        crossing, n_wrong = set(nonprojective_arcs(true)), 0
        labels, others = (t.deprels or (MISSING,) * len(t) for t in (true, parsed))
        for t in np.flatnonzero(true.heads != UNKNOWN).tolist():
            head, label, other = int(true.heads[t]), labels[t], others[t]
            right, same = int(parsed.heads[t] == head), label in (other, MISSING)
            n_wrong += not (right and same)
            if right and not same:
                self.confused[label, other] += 1
            distance = abs(head - t - 1) if head else 0
            groups = {
                "relation": label.partition(":")[0],
                "distance": f"{FAR} or more" if distance >= FAR else str(distance or "root"),
                "arcs": "crossing" if t + 1 in crossing else "not crossing",
            }
            if self.known:
                groups["word"] = "known" if true.forms[t] in self.known else "unknown"
            for group in groups.items():
                self.counts[group] = self.counts.get(group, 0) + np.array([1, right, right * same])
        return n_wrong

    def summarize(self):
        """Summarize everything in one object, for JSON; frequent values and confusions first."""
        counted = sorted(self.counts.items(), key=lambda row: (row[0][0], -row[1][0]))
        names = ("group", "value", "words", "right_heads", "right_arcs")
        rows = [dict(zip(names, (*key, *n.tolist()), strict=True)) for key, n in counted]
        confused = [
            {"true": label, "parsed": other, "words": n}
            for (label, other), n in self.confused.most_common(N_CONFUSIONS)
        ]
        worst = [
            {"sentence": -k, "wrong_arcs": n, "true": a.to_dict(), "parsed": b.to_dict()}
            for n, k, a, b in self.worst
        ]
        return {"accuracy": rows, "confusions": confused, "worst": worst}

    def print_tables(self):
        """Print tables of accuracy and confusions, and the worst sentences side by side."""
        found = self.summarize()
        print(f"\n{'':<10}{'':<20}{'words':>8}{'UAS':>8}{'LAS':>8}")
        for group, value, n, *right in map(dict.values, found["accuracy"]):
            shares = "".join(f"{100 * each / n:>8.1f}" for each in right)
            print(f"{group:<10}{printable(value):<20}{n:>8}{shares}")
        print("\nConfused relations of right heads: true, parsed, words\n")
        for label, other, n in map(dict.values, found["confusions"]):
            print(f"{printable(label):<20}{printable(other):<20}{n:>6}")
        for n_wrong, k, *trees in self.worst:
            print(f"\nSentence {-k}: {n_wrong} wrong arcs; true and parsed\n")
            heads = (tree.heads.tolist() for tree in trees)
            labels = (t.deprels or (MISSING,) * len(t) for t in trees)
            for form, a, b, *pair in zip(trees[0].forms, *heads, *labels, strict=True):
                cells = form, f"{a} {pair[0]}", f"{b} {pair[1]}"
                mark = " " if cells[1] == cells[2] else "*"
                print(mark, "".join(f"{printable(cell):<24}" for cell in cells).rstrip())
