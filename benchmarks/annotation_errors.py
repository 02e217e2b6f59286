"""Errors of annotation that ``suspicious_arcs`` finds, beside two simpler ways.

Usage: python benchmarks/annotation_errors.py [TREEBANK ...] [--trees N] [--seed N]
       [--output RESULTS.json]

Errors are planted in the training trees of treebanks of SKLEARN_SHAG_DATA (default: five), at most
N of them (default: 3000). Random ones: 1 % of the tokens, in different sentences, get another head.
Plausible ones: 1 % get the second best head or relation, as the tree allows, of a BiaffineParser
that has learned from the development and the test set. They are looked for with a CRFParser, which
reads all columns. Precision is the share of planted ones, in percent, among so many tokens at the
top; recall is that of all planted ones among as many tokens as were planted.

Beside it are the tokens whose head and relation have the lowest probability by held-out CRFParsers
with one seed, and the n-gram variation of dependencies (Boyd, Dickinson and Meurers, 2008): pairs
of words, with the words between and beside them, that occur several times and do not always have
the same relation. The rarest of their relations come first.
"""

import argparse
import warnings
from collections import Counter, defaultdict

import numpy as np
from _measure import Report, load

from sklearn_shag import BiaffineParser, CRFParser
from sklearn_shag.inspection import suspicious_arcs
from sklearn_shag.inspection._suspicious import assign_folds

TREEBANKS = [
    *("UD_English-EWT", "UD_French-Sequoia", "UD_Turkish-IMST", "UD_Afrikaans-AfriBooms"),
    "UD_Tamil-TTB",
]
SHARE, LONGEST = 0.01, 6  # of tokens with errors; words between head and modifier, for variation


def plant(trees, rng, change):
    """Plant errors at random tokens; return the trees, and pairs of a sentence and a token."""
    trees, planted = list(trees), set()
    tokens = [(s, t) for s, tree in enumerate(trees) for t in range(len(tree))]
    for k in rng.permutation(len(tokens)):
        s, t = tokens[k]
        if len(planted) >= round(SHARE * len(tokens)):
            break
        try:
            tree = change(trees[s], s, t, planted)
        except ValueError:  # no tree
            continue
        if tree is not None:
            trees[s] = tree
            planted.add((s, t + 1))
    return trees, planted


def move_at_random(rng):
    used = set()

    def change(tree, s, t, planted):
        heads = tree.heads.copy()
        if s in used or heads[t] == 0 or len(tree) < 3:
            return None
        others = [head for head in range(1, len(tree) + 1) if head not in (t + 1, heads[t])]
        heads[t] = rng.choice(others)
        moved = tree.with_heads(heads, tree.deprels)
        used.add(s)
        return moved

    return change


def take_second_best(trees, model):
    marginals, of_labels = model.predict_marginals(trees), model.predict_label_proba(trees, trees)

    def change(tree, s, t, planted):
        heads, deprels = tree.heads.copy(), list(tree.deprels)
        if heads[t] == 0:
            return None
        of_heads, labels = marginals[s][t].copy(), of_labels[s][t].copy()
        of_heads[[0, heads[t]]] = 0.0
        labels[model.labels_ == deprels[t]] = 0.0
        if of_heads.max() >= labels.max():
            heads[t] = of_heads.argmax()
        else:
            deprels[t] = model.labels_[labels.argmax()]
        return tree.with_heads(heads, deprels)

    return change


def list_improbable(trees):
    """Tokens by the probability of their head and relation, the lowest first."""
    values = []
    for rest, held_out in assign_folds(trees, 5):
        model = CRFParser(random_state=0).fit([trees[s] for s in rest])
        part = [trees[s] for s in held_out]
        places = {label: k for k, label in enumerate(model.labels_)}
        pairs = (model.predict_marginals(part), model.predict_label_proba(part, part))
        for s, marginals, labels in zip(held_out, *pairs, strict=True):
            for t, (head, deprel) in enumerate(zip(trees[s].heads, trees[s].deprels, strict=True)):
                label = labels[t, places[deprel]] if deprel in places else 0.0
                values.append((marginals[t, head] * label, s, t + 1))
    return [(s, t) for _, s, t in sorted(values)]


def list_variation(trees):
    """Tokens whose relation to a word varies in the same context, the rarest relations first."""
    found = defaultdict(list)
    for s, tree in enumerate(trees):
        words = ["<", *(form.lower() for form in tree.forms), ">"]
        for i in range(1, len(tree) + 1):
            for j in range(i + 1, min(i + 1 + LONGEST, len(tree)) + 1):
                relation, token = None, i
                for one, other in ((i, j), (j, i)):
                    if tree.heads[one - 1] == other:
                        relation, token = (one < other, tree.deprels[one - 1]), one
                found[tuple(words[i - 1 : j + 2])].append((relation, s, token))
    scores = {}
    for each in found.values():
        counts = Counter(relation for relation, *_ in each)
        if len(counts) > 1:
            for relation, s, token in each:
                share = counts[relation] / len(each)
                scores[s, token] = min(scores.get((s, token), 1.0), share)
    return sorted(scores, key=scores.get)


def measure(name, kind, method, ranked, planted):
    hits = np.array([place in planted for place in ranked])
    rows = {f"at {k}": 100 * float(np.sum(hits[:k])) / k for k in (50, 100, 200)}
    recall = 100 * float(np.sum(hits[: len(planted)])) / len(planted)
    row = {"treebank": name.removeprefix("UD_"), "errors": kind, "planted": len(planted)}
    return row | {"found by": method} | rows | {"recall": recall}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("treebanks", nargs="*", default=TREEBANKS)
    parser.add_argument("--trees", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", help="default: in the folder results beside the script")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    report, rows = Report("annotation_errors", arguments.output), []
    for name in arguments.treebanks:
        treebank = load(name)
        own, others = treebank.train[: arguments.trees], [*treebank.dev, *treebank.test]
        for kind in ["random"] * ("French" in name) + ["plausible"]:
            rng = np.random.default_rng(arguments.seed)
            change = move_at_random(rng)
            if kind == "plausible":
                model = BiaffineParser(random_state=arguments.seed).fit(others)
                change = take_second_best(own, model)
            trees, planted = plant(own, rng, change)
            found = suspicious_arcs(CRFParser(), trees)
            ranked = list(zip(found.sentences.tolist(), found.tokens.tolist(), strict=True))
            for method, places in {
                "suspicious_arcs": ranked,
                "lowest probability": list_improbable(trees),
                "n-gram variation": list_variation(trees),
            }.items():
                rows.append(measure(name, kind, method, places, planted))
            report.add("precision", rows)


if __name__ == "__main__":
    main()
