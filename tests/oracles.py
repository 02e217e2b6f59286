"""Naive twins of what the package computes: obvious, slow, and sharing no code with it."""

import itertools
from collections import Counter, defaultdict
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.stats import chi2

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
    modifiers = np.arange(1, len(heads) + 1)
    low, high = np.minimum(heads, modifiers), np.maximum(heads, modifiers)
    inside = (low[:, None] < low) & (low < high[:, None]) & (high[:, None] < high)
    return bool(inside.any())


@cache
def trees(n_tokens):
    """All trees with one root over n tokens, as tuples of heads."""
    return [
        heads
        for heads in itertools.product(range(n_tokens + 1), repeat=n_tokens)
        if heads.count(0) == 1 and is_tree(heads)
    ]


@cache
def projective_trees(n_tokens, single_root=True):
    """All projective trees over n tokens, as tuples of heads."""
    return [
        heads
        for heads in itertools.product(range(n_tokens + 1), repeat=n_tokens)
        if (heads.count(0) == 1 or not single_root) and is_tree(heads) and not crosses(heads)
    ]


@cache
def partial_trees(n_tokens):
    """All parts of trees with one root, -1 for an unknown head, and whole trees with several."""
    masks = list(itertools.product([False, True], repeat=n_tokens))
    trees = filter(is_tree, itertools.product(range(n_tokens + 1), repeat=n_tokens))
    return {
        tuple(np.where(mask, -1, tree).tolist())
        for tree in trees
        for mask in masks
        if tree.count(0) == 1 or not any(mask)
    }


def fits(tree, known):
    """Whether a tree has all heads that are known, which are not -1."""
    return all(own in (-1, head) for own, head in zip(known, tree, strict=True))


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


def tree_value(operators, codes, heads, value_of=sequence_value):
    """Product over the halves of a tree; codes[0] is that of the root symbol."""
    value = 1.0
    for h, direction, modifiers in tree_sequences(heads):
        value *= value_of(operators, codes[h], direction, [codes[m] for m in modifiers])
    return value


def sum_trees(trees, values):
    """The sum of the values of trees over the same tokens, and the share of each arc in it."""
    n_tokens = len(trees[0])
    of_arcs = np.zeros((n_tokens, n_tokens + 1))
    for heads, value in zip(trees, values, strict=True):
        of_arcs[np.arange(n_tokens), heads] += value
    return np.sum(values), of_arcs / np.sum(values)


def enumerate_loss(scores, known):
    """log Z - log Z(known), over projective trees, and its derivatives by the scores of arcs."""
    trees = np.array(projective_trees(len(known)))
    values = np.exp(scores[np.arange(len(known)), trees].sum(axis=1))
    z, of_arcs = sum_trees(trees, values)
    z_known, of_known_arcs = sum_trees(trees, values * [fits(tree, known) for tree in trees])
    return np.log(z / z_known), of_arcs - of_known_arcs


def sequence_uses(automaton, string):
    """Uses of every entry in the value of a sequence, and the logarithm of its absolute value."""
    alpha_1, alpha_inf, A = automaton
    forward, backward, log_value = [alpha_1], [alpha_inf], 0.0
    for symbol in string:  # in any unit, or long sequences would vanish
        state = A[symbol] @ forward[-1]
        log_value += np.log(np.abs(state).max())
        forward.append(state / np.abs(state).max())
    for symbol in string[::-1]:
        state = backward[0] @ A[symbol]
        backward.insert(0, state / np.abs(state).max())
    total = alpha_inf @ forward[-1]
    uses = [np.zeros_like(part) for part in automaton]
    uses[0][:] = alpha_1 * backward[0] / (alpha_1 @ backward[0])
    uses[1][:] = alpha_inf * forward[-1] / total
    for t, symbol in enumerate(string):
        use = np.outer(backward[t + 1], forward[t]) * A[symbol]
        uses[2][symbol] += use / use.sum()
    return uses, log_value + np.log(np.abs(total))


def tree_factors(heads, memory=None):
    """Places of the factors that a tree uses, as in the layout of Potentials of one sentence.

    Returns (m - 1, h, class before) of every arc and (h - 1, side, class at the end) of every
    sequence of a token; the root symbol has no factor where its sequence ends.
    """
    arcs, stops = [], []
    for h, side, modifiers in tree_sequences(heads):
        state = 0
        for m in modifiers:
            arcs.append((m - 1, h, 0 if h == 0 else state))
            state = 0 if memory is None else int(memory[m - 1])
        if h > 0:
            stops.append((h - 1, side, state))
    return arcs, stops


def log_factors(heads, arcs=None, memory=None, arc_memory=None, stop_memory=None):
    """The logarithm of the product of all factors of a tree, operators apart."""
    of_arcs, of_stops = tree_factors(heads, memory)
    total = 0.0
    with np.errstate(divide="ignore"):
        for m, h, state in of_arcs:
            total += 0.0 if arcs is None else arcs[m, h]
            total += 0.0 if arc_memory is None else np.log(arc_memory[m, h, state])
        for place in of_stops:
            total += 0.0 if stop_memory is None else np.log(stop_memory[place])
    return total


class Uses(NamedTuple):
    """A sentence by an oracle: Z, and expected uses in the layout of Potentials."""

    sign: float  # of Z
    log_abs_z: float
    arcs: np.ndarray  # (N, N + 1)
    arc_memory: np.ndarray  # (N, N + 1, k)
    stop_memory: np.ndarray  # (N, 2, k)
    counts: list  # the parts of the operators


def enumerate_uses(
    operators, codes, arcs=None, memory=None, arc_memory=None, stop_memory=None
) -> Uses:
    """Z and the expected uses of everything, by all trees with one root.

    Factors are those of one sentence of N tokens, shaped (N, N + 1), (N,), (N, N + 1, k) and
    (N, 2, k); codes are without that of the root symbol. Uses are NaN where Z is 0.
    """
    n = len(codes)
    if arc_memory is None and stop_memory is None:
        memory = None
    n_classes = max([np.shape(f)[-1] for f in (arc_memory, stop_memory) if f is not None] or [1])
    positions = [operators.A.shape[0] - 1, *codes]
    z, of_arcs = np.float64(0.0), np.zeros((n, n + 1, n_classes))
    of_stops = np.zeros((n, 2, n_classes))
    counts = [np.zeros_like(part) for part in operators]

    @cache  # many trees have the same sequences
    def uses_of(h, side, *modifiers):
        automaton = [part[positions[h], side] for part in operators]
        return sequence_uses(automaton, [positions[m] for m in modifiers])[0]

    for heads in projective_trees(n):
        factors = np.exp(log_factors(heads, arcs, memory, arc_memory, stop_memory))
        value = factors * tree_value(operators, positions, heads)
        z += value
        for h, side, modifiers in tree_sequences(heads):
            for total, use in zip(counts, uses_of(h, side, *modifiers), strict=True):
                total[positions[h], side] += value * use
        arc_places, stop_places = tree_factors(heads, memory)
        for place in arc_places:
            of_arcs[place] += value
        for place in stop_places:
            of_stops[place] += value
    with np.errstate(all="ignore"):
        log_abs_z, of_arcs, of_stops = np.log(abs(z)), of_arcs / z, of_stops / z
        counts = [count / z for count in counts]
    return Uses(np.sign(z), log_abs_z, of_arcs.sum(axis=2), of_arcs, of_stops, counts)


def random_factors(rng, lengths, n_symbols, n_classes=1, forbidden=0.0):
    """The fields of Potentials of random sentences, with all factors; some arcs are forbidden."""
    lengths = np.asarray(lengths)
    n_tokens, n_arcs = lengths.sum(), np.sum(lengths * (lengths + 1))
    arcs = rng.normal(size=n_arcs)
    arcs[rng.uniform(size=n_arcs) < forbidden] = -np.inf
    return {
        "indptr": np.concatenate([[0], np.cumsum(lengths)]),
        "codes": rng.integers(n_symbols, size=n_tokens),
        "arcs": arcs,
        "memory": rng.integers(n_classes, size=n_tokens),
        "arc_memory": rng.uniform(0.1, 2.0, size=(n_arcs, n_classes)),
        "stop_memory": rng.uniform(0.1, 2.0, size=(n_tokens, 2, n_classes)),
    }


def of_sentence(arrays, indptr, s):
    """What arrays of a chunk, by the names of Potentials, hold of sentence s, in its shape."""
    lengths = np.diff(indptr)
    n, begin = lengths[s], np.sum(lengths[:s] * (lengths[:s] + 1))
    tokens, of_arcs = slice(indptr[s], indptr[s + 1]), slice(begin, begin + n * (n + 1))
    found = dict.fromkeys(arrays.keys() - {"indptr"})
    for name in found:
        values = arrays[name]
        if name in ("arcs", "arc_memory") and values is not None:
            found[name] = values[of_arcs].reshape(n, n + 1, *values.shape[1:])
        elif values is not None:
            found[name] = values[tokens]
    return found


def best_tree(scores, trees=None):
    """The heads of the single-root tree with the largest sum of scores[m - 1, h].

    It is a projective one, or one of those that are given.
    """
    return max(
        projective_trees(len(scores)) if trees is None else trees,
        key=lambda heads: sum(scores[m][h] for m, h in enumerate(heads)),
    )


def repaired(marginals):
    """Marginals as parsers give them: none is negative, and those of each token sum to 1."""
    tokens = np.arange(len(marginals))
    positive = np.maximum(marginals, 1e-12)
    positive[tokens, tokens + 1] = 0.0
    return positive / positive.sum(axis=1, keepdims=True)


def differences(function, array, step=1e-5, places=None):
    """The derivatives of a number by entries of an array, which is changed meanwhile, and back."""
    slopes = []
    for place in np.ndindex(array.shape) if places is None else places:
        value = array[place]
        array[place] = value + step
        above = function()
        array[place] = value - step
        slopes.append((above - function()) / (2 * step))
        array[place] = value
    return np.reshape(slopes, array.shape if places is None else -1)


def chi_square(samples, trees, probabilities):
    """The p-value of how often each tree was drawn; those of less than ten are put together."""
    n_tokens = samples.shape[1]
    powers = (n_tokens + 1) ** np.arange(n_tokens)  # trees of few tokens as numbers
    counts = np.bincount(samples @ powers, minlength=(n_tokens + 1) ** n_tokens)
    observed, expected = counts[np.array(trees) @ powers], probabilities * len(samples)
    assert observed.sum() == len(samples)
    assert not observed[expected == 0].any()
    rare = expected < 10
    observed = np.append(observed[~rare], observed[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    cells = expected > 1e-9
    statistic = ((observed - expected)[cells] ** 2 / expected[cells]).sum()
    return chi2.sf(statistic, max(cells.sum() - 1, 1))


def ngram_counts(sentences, n):
    """Counts of n-grams of START x STOP by (head symbol, direction), and of sequences."""
    counts, n_sequences = defaultdict(Counter), Counter()
    for symbols, heads in sentences:
        for h, direction, modifiers in tree_sequences(heads):
            key = ("<root>" if h == 0 else symbols[h - 1], direction)
            n_sequences[key] += 1
            padded = ["<start>", *(symbols[m - 1] for m in modifiers), "<stop>"]
            counts[key].update(zip(*(padded[k:] for k in range(n)), strict=False))
    return counts, n_sequences


def random_tree(rng, n_tokens):
    """A random tree, mostly non-projective: heads by a random order of attachment."""
    order = rng.permutation(n_tokens) + 1
    heads = np.zeros(n_tokens, dtype=int)
    for k in range(1, n_tokens):
        heads[order[k] - 1] = order[rng.integers(k)]
    return heads.tolist()
