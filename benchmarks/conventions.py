"""Features of several treebanks as one of them has them."""

from collections import Counter, defaultdict

from sklearn_shag.encoding import read_column
from sklearn_shag.treebank import with_tags

FREQUENT = 20  # tokens of a word with its tags, which show all features that it may have


class Convention:
    """Morphological features as a treebank has them, in trees of others.

    Treebanks of a language may disagree on features of the same words: in one of them adverbs have
    a degree and "you" has a number, in another one neither has. What learns from both gives a
    mixture that is right in none. Here the features of a frequent word stay if the first treebank
    has them for this word with these tags, and otherwise become the most similar ones that it has
    there. Those of another word become what the same features with the same tags most often become
    in the other treebanks' frequent words.
    """

    def fit(self, trees, others):
        self.known_ = defaultdict(Counter)
        for *word, feats in _list_tokens(trees):
            self.known_[tuple(word)][feats] += 1
        self.known_ = {
            word: counts for word, counts in self.known_.items() if counts.total() >= FREQUENT
        }
        changes = defaultdict(Counter)
        for form, *tags, feats in _list_tokens(others):
            if (form, *tags) in self.known_:
                changes[(*tags, feats)][self._look_up((form, *tags), feats)] += 1
        self.changes_ = {key: counts.most_common(1)[0][0] for key, counts in changes.items()}
        return self

    def transform(self, trees):
        return [
            with_tags(tree, {"feats": [self._change(*token) for token in _list_tokens([tree])]})
            for tree in trees
        ]

    def _change(self, form, upos, xpos, feats):
        word = form, upos, xpos
        if word in self.known_:
            return self._look_up(word, feats)
        return self.changes_.get((upos, xpos, feats), feats)

    def _look_up(self, word, feats):
        """Find the most similar features of a word; of several the most frequent."""
        counts, own = self.known_[word], set(feats.split("|"))
        return min(counts, key=lambda each: (len(own ^ set(each.split("|"))), -counts[each]))


def _list_tokens(trees):
    for tree in trees:
        columns = (read_column(tree, name) for name in ("upos", "xpos", "feats"))
        yield from zip(map(str.lower, tree.forms), *columns, strict=True)
