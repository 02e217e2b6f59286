"""Naive twins of what the package computes: obvious, slow, and sharing no code with it."""

import itertools
from functools import cache

import numpy as np

LEFT, RIGHT = 0, 1


def is_tree(heads):
    for token in range(1, len(heads) + 1):
        visited = set()
        while token:
            if token in visited:
                return False
            visited.add(token)
            token = heads[token - 1]
    return True


def crosses(heads):
    arcs = [(min(h, m), max(h, m)) for m, h in enumerate(heads, start=1)]
    return any(a < c < b < d for (a, b), (c, d) in itertools.permutations(arcs, 2))


@cache
def projective_trees(n_tokens, single_root=True):
    """All projective trees over n tokens, as tuples of heads."""
    return [
        heads
        for heads in itertools.product(range(n_tokens + 1), repeat=n_tokens)
        if (heads.count(0) == 1 or not single_root) and is_tree(heads) and not crosses(heads)
    ]


def tree_sequences(heads):
    """(head position, direction, modifier positions head-outwards) of every half of a tree."""
    n_tokens = len(heads)
    halves = [(0, RIGHT, [m for m in range(1, n_tokens + 1) if heads[m - 1] == 0])]
    for h in range(1, n_tokens + 1):
        modifiers = [m for m in range(1, n_tokens + 1) if heads[m - 1] == h]
        halves.append((h, LEFT, [m for m in modifiers if m < h][::-1]))
        halves.append((h, RIGHT, [m for m in modifiers if m > h]))
    return halves


def sequence_value(operators, head, direction, symbols):
    state = operators.alpha_1[head, direction]
    for symbol in symbols:
        state = operators.A[head, direction, symbol] @ state
    return operators.alpha_inf[head, direction] @ state


def tree_value(operators, codes, heads, arc_scores=None, stop_scores=None):
    """Product over the halves of a tree, with arc and stop factors; codes[0] is the root's."""
    value = 1.0
    for h, direction, modifiers in tree_sequences(heads):
        value *= sequence_value(operators, codes[h], direction, [codes[m] for m in modifiers])
        if stop_scores is not None:
            value *= stop_scores[h, direction]
        for m in modifiers:
            if arc_scores is not None:
                value *= arc_scores[h, m]
    return value


def partition_and_marginals(operators, codes, single_root=True, arc_scores=None, stop_scores=None):
    n_tokens = len(codes) - 1
    z, marginals = 0.0, np.zeros((n_tokens, n_tokens + 1))
    for heads in projective_trees(n_tokens, single_root):
        value = tree_value(operators, codes, heads, arc_scores, stop_scores)
        z += value
        marginals[np.arange(n_tokens), heads] += value
    return z, marginals / z


def expected_counts(operators, codes, single_root=True, arc_scores=None, stop_scores=None):
    """Posterior uses of every operator entry: tree by tree, by products of matrices."""
    z = 0.0
    counts = [np.zeros_like(part) for part in operators]
    for heads in projective_trees(len(codes) - 1, single_root):
        value = tree_value(operators, codes, heads, arc_scores, stop_scores)
        z += value
        for h, direction, modifiers in tree_sequences(heads):
            key = codes[h], direction
            matrices = [operators.A[(*key, codes[m])] for m in modifiers]
            forward = [operators.alpha_1[key]]
            for matrix in matrices:
                forward.append(matrix @ forward[-1])
            backward = [operators.alpha_inf[key]]
            for matrix in matrices[::-1]:
                backward.append(backward[-1] @ matrix)
            backward = backward[::-1]
            total = operators.alpha_inf[key] @ forward[-1]
            counts[0][key] += value * backward[0] * operators.alpha_1[key] / total
            counts[1][key] += value * forward[-1] * operators.alpha_inf[key] / total
            for t, m in enumerate(modifiers):
                use = np.outer(backward[t + 1], forward[t]) * matrices[t]
                counts[2][(*key, codes[m])] += value * use / total
    return [count / z for count in counts]


def best_tree(scores):
    """The heads of the single-root projective tree with the largest sum of scores[m - 1, h]."""
    n_tokens = len(scores)
    return max(
        projective_trees(n_tokens),
        key=lambda heads: sum(scores[m][h] for m, h in enumerate(heads)),
    )


def ngram_counts(sentences, n):
    """Counts of n-grams of START x STOP by (head symbol, direction), and of sequences."""
    counts, n_sequences = {}, {}
    for symbols, heads in sentences:
        for h, direction, modifiers in tree_sequences(heads):
            key = ("<root>" if h == 0 else symbols[h - 1], direction)
            n_sequences[key] = n_sequences.get(key, 0) + 1
            padded = ["<start>", *(symbols[m - 1] for m in modifiers), "<stop>"]
            for t in range(len(padded) - n + 1):
                gram = tuple(padded[t : t + n])
                counts.setdefault(key, {})
                counts[key][gram] = counts[key].get(gram, 0) + 1
    return counts, n_sequences


def random_tree(rng, n_tokens):
    """A random tree, mostly non-projective: heads by a random order of attachment."""
    order = rng.permutation(n_tokens) + 1
    heads = np.zeros(n_tokens, dtype=int)
    for k in range(1, n_tokens):
        heads[order[k] - 1] = order[rng.integers(k)]
    return heads.tolist()
