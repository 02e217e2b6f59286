"""Words with their tags as codes, and how often each is a modifier of which head."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from sklearn_shag.encoding import Alphabet, pair_of
from sklearn_shag.sequences import extract_sequences
from sklearn_shag.utils._typing import FloatArray, IntArray


class Lexicon(NamedTuple):
    """The codes of words: a word is known together with its tag, not by its form alone.

    Known words have the codes from 0 on, sorted by tag and form. Behind them stands, for each tag,
    one code for all its unknown words, and last one for whatever has an unknown tag.

    Attributes
    ----------
    tags : int ndarray of shape (n_words,)
        The code of the tag of each known word, ascending.
    n_tags : int
    """

    tags: IntArray
    n_tags: int

    @property
    def n_words(self):
        """How many words are known."""
        return self.tags.size

    @property
    def n_codes(self):
        """How many codes modifiers have that can be counted: all but that of an unknown tag."""
        return self.tags.size + self.n_tags

    @property
    def stop(self):
        """The code of STOP among outcomes, none of which has an unknown tag."""
        return self.n_codes

    @property
    def root(self):
        """The code of the root symbol as a head, behind that of an unknown tag."""
        return self.n_codes + 1

    @property
    def all_tags(self):
        """The tag of every code, that of the root symbol included, as an Alphabet counts heads."""
        return np.concatenate([self.tags, np.arange(Alphabet(self.n_tags).n_heads)])

    def encode(self, tags, words, code_of):
        """Look up the codes of words.

        Parameters
        ----------
        tags : int ndarray of shape (n_tokens,)
            The code of each tag, ``n_tags`` if it is unknown.
        words : iterable of str, n_tokens of them
        code_of : dict
            The code of each known (tag, word).

        Returns
        -------
        codes : int ndarray of shape (n_tokens,)
        """
        pairs = zip(tags.tolist(), words, strict=True)
        codes = np.fromiter((code_of.get(pair, -1) for pair in pairs), np.int64, tags.size)
        return np.where(codes < 0, self.n_words + tags, codes)


class LexicalStatistics(NamedTuple):
    """How often each word, or STOP, follows in which context: all that is learned of words.

    The context of a modifier is its head's code in the :class:`Lexicon`, the direction, and the
    class of the modifier before it. Its number is ``(2 * head + direction) * n_classes + class``.

    Attributes
    ----------
    tags : int ndarray of shape (n_words,)
        The tag of each known word, ascending.
    classes : int ndarray of shape (n_tags + 1,)
        The class that a modifier with each tag leaves behind it; last that of an unknown tag.
    indptr, outcomes : int ndarrays of shapes (n_contexts + 1,) and (n_pairs,)
        The outcomes of context c are ``outcomes[indptr[c]:indptr[c + 1]]``, ascending.
    counts : float ndarray of shape (n_pairs,)
        How often each was seen there; positive.
    """

    tags: IntArray
    classes: IntArray
    indptr: IntArray
    outcomes: IntArray
    counts: FloatArray

    @property
    def lexicon(self):
        """The codes of its words."""
        return Lexicon(self.tags, self.classes.size - 1)

    @property
    def n_classes(self):
        """How many classes a modifier can follow, the start included."""
        return int(self.classes.max()) + 1


def list_words(tags, words, weights, min_count):
    """List the words that are frequent enough to be known.

    Parameters
    ----------
    tags : int ndarray of shape (n_tokens,)
    words : sequence of str of length n_tokens
    weights : float ndarray of shape (n_tokens,)
    min_count : float
        Words seen less often, each with its tag, count as unknown.

    Returns
    -------
    known : list of (int, str)
        Tags and words, sorted.
    """
    pairs = list(zip(tags.tolist(), words, strict=True))
    counts = dict.fromkeys(pairs, 0.0)
    for pair, weight in zip(pairs, weights.tolist(), strict=True):
        counts[pair] += weight
    return sorted(pair for pair, count in counts.items() if count >= min_count)


def count_words(codes, trees, lexicon, classes):
    """Count the modifiers, and STOP, of every context.

    Parameters
    ----------
    codes : int ndarray of shape (n_tokens,)
        Of the words, as the lexicon counts them.
    trees : EncodedTrees
    lexicon : Lexicon
    classes : int ndarray of shape (n_tags + 1,)
        As of :class:`LexicalStatistics`.

    Returns
    -------
    statistics : LexicalStatistics
    """
    n_tokens, n_classes = codes.size, classes.max() + 1
    tokens = extract_sequences(
        np.arange(n_tokens), trees.heads, trees.indptr, n_tokens, trees.weights
    )
    lengths = np.diff(tokens.indptr)
    heads = np.append(codes, [lexicon.root, lexicon.root])[tokens.heads]
    # The class before each modifier, and behind the last of each sequence; 0 before the first.
    outcomes = codes[tokens.modifiers]
    left_behind = classes[lexicon.all_tags[outcomes]]
    before = np.append(0, left_behind[:-1])
    before[tokens.indptr[:-1][lengths > 0]] = 0
    last = np.zeros(lengths.size, dtype=np.int64)
    last[lengths > 0] = left_behind[tokens.indptr[1:][lengths > 0] - 1]
    is_root = heads == lexicon.root
    before[np.repeat(is_root, lengths)] = 0  # one modifier, or several roots, all the same to it
    pairs = pair_of(heads, tokens.directions)
    contexts = [
        np.repeat(pairs, lengths) * n_classes + before,
        (pairs * n_classes + last)[~is_root],
    ]
    outcomes = [outcomes, np.full(contexts[1].size, lexicon.stop)]
    weights = [np.repeat(tokens.weights, lengths), tokens.weights[~is_root]]
    weights, contexts, outcomes = map(np.concatenate, (weights, contexts, outcomes))
    shape = 2 * (lexicon.root + 1) * n_classes, lexicon.stop + 1
    counted = csr_array((weights, (contexts, outcomes)), shape=shape)
    counted.sum_duplicates()
    indptr, indices = counted.indptr.astype(np.int64), counted.indices.astype(np.int64)
    return LexicalStatistics(lexicon.tags, classes, indptr, indices, counted.data)
