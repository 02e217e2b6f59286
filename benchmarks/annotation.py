"""What to annotate next: what 5,000 more heads bring, by how they are chosen.

Usage: python benchmarks/annotation.py [TREEBANK] [--heads N] [--output RESULTS.json]

The treebank is a folder of SKLEARN_SHAG_DATA (default: UD_French-Sequoia). A BiaffineParser that
has learned from 300 trees, drawn at random, says of which of the others it is unsure. Heads are
added, with their relations: of whole sentences, at random or those the parser expects the largest
share of errors in, or one by one, at random or the least certain ones. Then it learns anew, from
all columns. Scores are those of the test set, punctuation included, relations without subtypes;
means of three draws, and their spread.
"""

import argparse

import numpy as np
from _measure import Report, load

from sklearn_shag import BiaffineParser
from sklearn_shag.inspection import least_certain_arcs, least_certain_sentences
from sklearn_shag.metrics import labeled_attachment_score, unlabeled_attachment_score

N_TREES = 300


def by_sentences(order, trees, n_heads):
    """Which heads are known if whole sentences are, in some order."""
    known, n_known = [np.zeros(len(tree), dtype=bool) for tree in trees], 0
    for s in order:
        if n_known >= n_heads:
            break
        known[s][:] = True
        n_known += len(trees[s])
    return known


def by_heads(pairs, trees, n_heads):
    """Which are if single ones are, pairs of a sentence and a token from 1 in some order."""
    known = [np.zeros(len(tree), dtype=bool) for tree in trees]
    for s, token in pairs[:n_heads]:
        known[s][token - 1] = True
    return known


def choose(parser, trees, n_heads, rng):
    """Yield each choice, and which heads it makes known."""
    raw = [tree.with_heads(None) for tree in trees]
    yield "whole sentences at random", by_sentences(rng.permutation(len(trees)), trees, n_heads)
    doubtful = least_certain_sentences(parser, raw, n=None).sentences
    yield "least certain sentences", by_sentences(doubtful, trees, n_heads)
    pairs = [(s, token) for s, tree in enumerate(trees) for token in range(1, len(tree) + 1)]
    shuffled = [pairs[k] for k in rng.permutation(len(pairs))]
    yield "single heads at random", by_heads(shuffled, trees, n_heads)
    arcs = least_certain_arcs(parser, raw, n=n_heads)
    yield "least certain heads", by_heads(list(zip(*arcs[:2], strict=True)), trees, n_heads)


def annotate(tree, known):
    """A tree with known heads and relations alone."""
    heads = np.where(known, tree.heads, -1)
    return tree.with_heads(heads, np.where(known, tree.deprels, "_").tolist())


def score(parser, trees):
    parsed = parser.parse(trees)
    return 100 * unlabeled_attachment_score(trees, parsed), 100 * labeled_attachment_score(
        trees, parsed
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("treebank", nargs="?", default="UD_French-Sequoia")
    parser.add_argument("--heads", type=int, default=5000)
    parser.add_argument("--output", help="default: in the folder results beside the script")
    arguments = parser.parse_args()
    treebank, report, found = load(arguments.treebank), Report("annotation", arguments.output), {}
    for seed in range(3):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(treebank.train))
        whole, others = ([treebank.train[k] for k in p] for p in np.split(order, [N_TREES]))
        first = BiaffineParser(random_state=seed).fit(whole)
        found.setdefault("none", []).append(score(first, treebank.test))
        for called, known in choose(first, others, arguments.heads, rng):
            partial = [annotate(*pair) for pair in zip(others, known, strict=True)]
            partial = [tree for tree, part in zip(partial, known, strict=True) if part.any()]
            model = BiaffineParser(random_state=seed, calibrate=False).fit(whole + partial)
            found.setdefault(called, []).append(score(model, treebank.test))
        rows = [
            {
                "heads added": called,
                "UAS": np.mean(scores, axis=0)[0],
                "LAS": np.mean(scores, axis=0)[1],
                "spread of UAS": np.ptp(scores, axis=0)[0],
            }
            for called, scores in found.items()
        ]
        report.add(f"{arguments.treebank} {arguments.heads}", rows)


if __name__ == "__main__":
    main()
