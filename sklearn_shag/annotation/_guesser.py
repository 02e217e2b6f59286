"""Guesses of a parser for a sentence, given all answers of annotators."""

import numpy as np

from sklearn_shag.parsing import parse_trees
from sklearn_shag.treebank import find_given, known_heads, with_tags
from sklearn_shag.utils._heads import UNKNOWN

_CLOSED = {"upos", "xpos", "feats", "deprel"}  # columns whose values are listed
_LEAST = 5e-4  # the least probability of alternatives


def keep_known_tags(values, tagged, own):
    """Put given tags of a tree in place of those by a tagger, if the tagger knows them."""
    given, columns = find_given(own), {}
    for name in given.keys() & values.keys():
        is_kept = given[name] & np.isin(own.column(name), values[name])  # else of another tag set
        columns[name] = np.where(is_kept, own.column(name), tagged.column(name)).tolist()
    return with_tags(tagged, columns) if columns else tagged


class Guesser:
    """A parser that completes sentences.

    Parameters
    ----------
    opened : OpenMember
    """

    def __init__(self, opened):
        transform = opened.transform._replace(keep=keep_known_tags)
        self._opened = opened._replace(transform=transform)

    def list_values(self, asked=()):
        """List the values of columns that the model knows, by the names of the columns."""
        transform, parser = self._opened
        known = {"deprel": parser.labels_} if parser._has_labels else {}
        for part in (*transform.steps, parser):
            known |= getattr(part, "tag_values_", {})
        return {name: list(known[name]) for name in _CLOSED & known.keys()}

    def guess(self, tree):
        """Guess what is not known of a sentence.

        The alternatives to known heads are those of the sentence without any known head, since
        whoever looks for errors asks what the parser takes for probable.

        Parameters
        ----------
        tree : DependencyTree
            With what is known, and marks of guessed tags.

        Returns
        -------
        found : DependencyTree
            Which keeps what is known.
        columns : list of str
            Of tags that the model predicts.
        words : dict of lists of length n_tokens
            The probability of each head, alternatives to it, and relations with probabilities.
        """
        both = [tree, tree.with_heads(None, keep_deps=True)]
        options = {"keep_heads": True, "confidence": "all"}
        ((pairs, columns, answer), (_, _, free)) = parse_trees(self._opened, both, **options)
        ((found, probabilities),) = pairs
        is_known = known_heads(tree) != UNKNOWN
        marginals = np.where(is_known[:, None], free.marginals, answer.marginals)
        likely = [_list_likely(range(len(tree) + 1), of_word) for of_word in marginals]
        words = {"probability": probabilities["head_proba"], "alternatives": likely}
        words["relations"] = [[] for _ in likely]
        transform, parser = self._opened
        if parser._has_labels:
            (of_words,) = parser.predict_label_proba(transform([tree]), [found.heads])
            words["relations"] = [_list_likely(parser.labels_, of_word) for of_word in of_words]
        return found, columns, words


def _list_likely(values, probabilities):
    """List values that are likely, with their probabilities, the most likely first."""
    shares = probabilities.round(4).tolist()
    order = np.argsort(-probabilities, kind="stable").tolist()
    return [[values[k], shares[k]] for k in order if shares[k] >= _LEAST]
