"""Collins' back-off by counting in dictionaries: the naive twin of words in contexts."""

from collections import Counter, defaultdict
from functools import cache

from tests.oracles import projective_trees, tree_sequences

ROOT, ANY, STOP, UNKNOWN = "<root>", "<any head>", "<stop>", None
CLASSES = {"CCONJ": 1, "PUNCT": 2}


class Collins:
    """P(tag, word | head, direction, state) of one automaton, estimated from trees.

    A sentence is a tuple of words and one of tags. A token is a pair of a tag and a word, which is
    UNKNOWN if this pair was not seen often enough; a head may also be the ROOT.
    """

    def __init__(self, trees, automaton="fcp", backoff=5.0, min_count=1, weights=None):
        self.automaton, self.backoff = automaton, backoff
        weights = [1.0] * len(trees) if weights is None else weights
        seen = Counter()
        for tree, weight in zip(trees, weights, strict=True):
            for pair in zip(tree.symbols, tree.forms, strict=True):
                seen[pair] += weight
        self.tags = {tag for tag, _ in seen}
        self.known = {pair for pair, count in seen.items() if count >= min_count}
        self.counts = defaultdict(Counter)
        for tree, weight in zip(trees, weights, strict=True):
            self._count(tree, weight)
        # Asked for again and again.
        self.probability, self.vocabulary = cache(self.probability), cache(self.vocabulary)
        self.totals = {context: sum(c.values()) for context, c in self.counts.items()}

    def _count(self, tree, weight):
        tokens = self.tokens(tree)
        for h, direction, modifiers in tree_sequences(tree.heads.tolist()):
            state = 0
            for m in modifiers:
                tag, word = tokens[m]
                self.counts[tag][word] += weight
                for level in self._levels_counted(tokens[h]):
                    self.counts[level, direction, state][tag] += weight
                    self.counts[level, direction, state, tag][word] += weight
                state = 0 if h == 0 else self.class_of(tag)
            if h > 0:
                for level in self._levels_counted(tokens[h]):
                    self.counts[level, direction, state][STOP] += weight

    def tokens(self, tree):
        """Tags and words of a sentence; behind the root symbol."""
        pairs = zip(tree.symbols, tree.forms, strict=True)
        return [
            (ROOT, UNKNOWN),
            *((tag, word if (tag, word) in self.known else UNKNOWN) for tag, word in pairs),
        ]

    def class_of(self, tag):
        if self.automaton == "fcp":
            return CLASSES.get(tag, 3) if tag in self.tags else 3
        return 1 if self.automaton == "first" else 0

    def _levels_counted(self, head):
        return [level for level in (*self._levels(head), ANY) if head[0] != ROOT or level != ANY]

    def _levels(self, head):
        """What stands for a head, from fine to coarse."""
        tag, word = head
        if tag not in self.tags and tag != ROOT:
            return [ANY]
        return [tag] if word is UNKNOWN else [head, tag]

    def _back_off(self, outcome, contexts, uniform):
        """e = l1 e1 + (1 - l1) (l2 e2 + (1 - l2) (... uniform)), l = f / (f + 5 u)."""
        probability = uniform
        for context in contexts[::-1]:
            if context in self.counts:
                f, u = self.totals[context], len(self.counts[context])
                weight = f / (f + self.backoff * u)
                frequency = self.counts[context].get(outcome, 0) / f
                probability = weight * frequency + (1 - weight) * probability
        return probability

    def stop(self, head, direction, state):
        contexts = [(level, direction, state) for level in self._levels(head)]
        return self._back_off(STOP, contexts, 1 / (len(self.tags) + 1))

    def vocabulary(self, tag):
        """What modifiers with a tag there are."""
        return [pair for pair in sorted(self.known) if pair[0] == tag] + [(tag, UNKNOWN)]

    def probability(self, modifier, head, direction, state):
        tag, word = modifier
        if tag not in self.tags:  # all that it may stand for
            every = [pair for known in sorted(self.tags) for pair in self.vocabulary(known)]
            return sum(self.probability(pair, head, direction, state) for pair in every)
        contexts = [(level, direction, state) for level in self._levels(head)]
        n_outcomes = len(self.tags) + (head[0] != ROOT)
        p_tag = self._back_off(tag, contexts, 1 / n_outcomes)
        contexts = [*((*context, tag) for context in contexts), tag]
        return p_tag * self._back_off(word, contexts, 1 / len(self.vocabulary(tag)))

    def tree_probability(self, tree, heads):
        tokens, product = self.tokens(tree), 1.0
        for h, direction, modifiers in tree_sequences(heads):
            state = 0
            for m in modifiers:
                product *= self.probability(tokens[m], tokens[h], direction, state)
                state = self.class_of(tokens[m][0])
            if h > 0:
                product *= self.stop(tokens[h], direction, state)
        return product

    def trees(self, tree):
        """The probability of every projective tree over a sentence."""
        return {heads: self.tree_probability(tree, heads) for heads in projective_trees(len(tree))}
