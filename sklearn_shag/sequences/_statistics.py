"""Sufficient statistics of head-modifier sequences (theory, eqs. 5-9)."""

from itertools import chain
from typing import NamedTuple

import numpy as np

from sklearn_shag.sequences._encode import encode_trees
from sklearn_shag.sequences._extract import LEFT, RIGHT, extract_sequences

__all__ = [
    "Moments",
    "SequenceStatistics",
    "TreebankStatistics",
    "collect_statistics",
    "count_treebank",
    "merge_statistics",
    "pair_moments",
]


class SequenceStatistics(NamedTuple):
    """How often symbols follow each other in the sequences of every head and direction.

    Every sequence counts with START before its first and STOP behind its last modifier. Each
    modifier is the middle of exactly one trigram, so trigrams and the number of sequences
    determine the bigrams as well.

    Attributes
    ----------
    roots : float ndarray of shape (n_symbols,)
        How often each symbol is the root of a sentence.
    n_sequences : float ndarray of shape (n_symbols + 1, 2)
        Number of sequences of each head and direction (0 left, 1 right). The last head is
        the pool of all heads.
    indptr : int ndarray of shape (2 * (n_symbols + 1) + 1,)
        The trigrams of head h in direction d are those from ``indptr[2 * h + d]`` on.
    first, middle, last : int ndarrays of shape (n_trigrams,)
        Symbol codes; ``n_symbols`` is START in `first` and STOP in `last`.
    counts : float ndarray of shape (n_trigrams,)
    """

    roots: np.ndarray
    n_sequences: np.ndarray
    indptr: np.ndarray
    first: np.ndarray
    middle: np.ndarray
    last: np.ndarray
    counts: np.ndarray


class TreebankStatistics(NamedTuple):
    """The statistics of a treebank, and the symbols that their codes stand for.

    Attributes
    ----------
    symbols : ndarray of shape (n_symbols,), dtype object
        Distinct symbols (str), sorted; the code of each is its position.
    statistics : SequenceStatistics
    """

    symbols: np.ndarray
    statistics: SequenceStatistics


class Moments(NamedTuple):
    """Expected n-gram counts in one sequence of one head and direction.

    Attributes
    ----------
    bigrams : ndarray of shape (n_symbols + 1, n_symbols + 1)
        The matrix P: row = second symbol or STOP, column = first symbol or START.
    first, middle, last : int ndarrays of shape (n_trigrams,)
        The non-zero entries of the matrices P_b: b is `middle`, the row `last` (or STOP), the
        column `first` (or START). An entry may be listed more than once; it is their sum.
    trigrams : ndarray of shape (n_trigrams,)
        Their values.
    """

    bigrams: np.ndarray
    first: np.ndarray
    middle: np.ndarray
    last: np.ndarray
    trigrams: np.ndarray


def collect_statistics(sequences, n_symbols):
    """Count the trigrams of head-modifier sequences, by head and direction and pooled.

    Parameters
    ----------
    sequences : HeadModifierSequences
    n_symbols : int
        Number of known symbols; the root symbol has the code ``n_symbols + 1``.

    Returns
    -------
    statistics : SequenceStatistics

    Raises
    ------
    ValueError
        If there are so many symbols that trigrams cannot be numbered in 64 bits.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_shag.sequences import collect_statistics, extract_sequences
    >>> codes, heads = np.array([0, 1, 1]), np.array([2, 0, 2])
    >>> sequences = extract_sequences(codes, heads, np.array([0, 3]), n_symbols=2)
    >>> statistics = collect_statistics(sequences, n_symbols=2)
    >>> statistics.n_sequences
    array([[1., 1.],
           [2., 2.],
           [3., 3.]])
    >>> statistics.roots
    array([0., 1.])
    """
    _check_n_symbols(n_symbols)
    n_outcomes = n_symbols + 1
    lengths = np.diff(sequences.indptr)
    weights = np.repeat(sequences.weights, lengths)
    middle = sequences.modifiers
    previous = np.concatenate([[n_symbols], middle[:-1]])
    following = np.concatenate([middle[1:], [n_symbols]])
    filled = lengths > 0
    previous[sequences.indptr[:-1][filled]] = n_symbols
    following[sequences.indptr[1:][filled] - 1] = n_symbols

    of_root = sequences.heads > n_symbols
    modifier_of_root = np.repeat(of_root, lengths)
    roots = np.bincount(
        middle[modifier_of_root], weights=weights[modifier_of_root], minlength=n_symbols
    )
    pairs = 2 * sequences.heads + sequences.directions
    n_sequences = np.bincount(
        pairs[~of_root], weights=sequences.weights[~of_root], minlength=2 * n_outcomes
    ).reshape(n_outcomes, 2)
    n_sequences[n_symbols] = n_sequences.sum(axis=0)

    kept = ~modifier_of_root
    first, middle, last = previous[kept], middle[kept], following[kept]
    own_pair = np.repeat(pairs, lengths)[kept]
    pooled_pair = 2 * n_symbols + np.repeat(sequences.directions, lengths)[kept]
    trigrams = _add_up(
        n_symbols,
        np.concatenate([own_pair, pooled_pair]),
        *(np.tile(part, 2) for part in (first, middle, last, weights[kept])),
    )
    return SequenceStatistics(roots, n_sequences, *trigrams)


def _add_up(n_symbols, pairs, first, middle, last, counts):
    """Add up equal trigrams; returns indptr, first, middle, last and counts, sorted by pair."""
    n_outcomes = n_symbols + 1
    trigrams = (middle * n_outcomes + last) * n_outcomes + first
    keys, inverse = np.unique(pairs * n_outcomes**3 + trigrams, return_inverse=True)
    counts = np.bincount(inverse, weights=counts, minlength=keys.size)
    pairs, trigrams = np.divmod(keys, n_outcomes**3)
    middle, ends = np.divmod(trigrams, n_outcomes**2)
    last, first = np.divmod(ends, n_outcomes)
    indptr = np.searchsorted(pairs, np.arange(2 * n_outcomes + 1))
    return indptr, first, middle, last, counts


def _check_n_symbols(n_symbols):
    if 2 * (n_symbols + 1) ** 4 > np.iinfo(np.int64).max:
        raise ValueError(
            f"{n_symbols} symbols are too many to count trigrams of; merge rare symbols, for "
            f"example with TokenFeature(min_count=...)."
        )


def count_trees(trees):
    """Count the trigrams of encoded trees.

    Parameters
    ----------
    trees : EncodedTrees

    Returns
    -------
    statistics : TreebankStatistics
    """
    sequences = extract_sequences(
        trees.codes, trees.heads, trees.indptr, trees.symbols.size, trees.weights
    )
    return TreebankStatistics(trees.symbols, collect_statistics(sequences, trees.symbols.size))


def count_treebank(X, y=None, sample_weight=None):
    """Count what :class:`~sklearn_shag.SpectralSHAG` learns from: the trigrams of trees.

    Parameters
    ----------
    X : sequence of length n_sentences
        ``X[i]`` is a DependencyTree, or a sequence of n_tokens_i symbols (str).
    y : None or sequence of length n_sentences, default=None
        ``y[i]`` holds n_tokens_i heads, 1-based, 0 for the root, or is a DependencyTree. None takes
        the heads from the trees in X.
    sample_weight : None or array-like of shape (n_sentences,), default=None
        How often each sentence counts.

    Returns
    -------
    statistics : TreebankStatistics
        Small, whatever the number of sentences: its size is that of the distinct trigrams.

    Raises
    ------
    ValueError
        If X is empty, a sentence has no tokens, heads are missing or not a tree, or weights are
        negative or all zero.
    TypeError
        If symbols are not strings.

    See Also
    --------
    merge_statistics : Adds up the statistics of several treebanks.

    Examples
    --------
    >>> from sklearn_shag.sequences import count_treebank
    >>> counted = count_treebank([["DET", "NOUN"], ["NOUN", "VERB"]], [[2, 0], [2, 0]])
    >>> counted.symbols
    array(['DET', 'NOUN', 'VERB'], dtype=object)
    >>> counted.statistics.roots
    array([0., 1., 1.])
    """
    return count_trees(encode_trees(X, y, sample_weight))


def merge_statistics(parts):
    """Add up the statistics of several treebanks, as if they had been counted as one.

    Parameters
    ----------
    parts : iterable of TreebankStatistics
        At least one. Their symbols may differ.

    Returns
    -------
    statistics : TreebankStatistics
        The same, to the last bit, whatever the order and the division into parts, as long as sums
        of weights are exact, such as those of integers.

    Raises
    ------
    ValueError
        If there are no parts, or together they have so many symbols that trigrams cannot be
        numbered in 64 bits.

    Examples
    --------
    >>> from sklearn_shag.sequences import count_treebank, merge_statistics
    >>> one, two = count_treebank([["DET", "NOUN"]], [[2, 0]]), count_treebank([["VERB"]], [[0]])
    >>> merged = merge_statistics([one, two])
    >>> merged.symbols
    array(['DET', 'NOUN', 'VERB'], dtype=object)
    >>> merged.statistics.roots
    array([0., 1., 1.])
    """
    parts = list(parts)
    if not parts:
        raise ValueError("There are no statistics to merge; at least one part is needed.")
    known = sorted(set(chain.from_iterable(part.symbols for part in parts)))
    n_symbols = len(known)
    _check_n_symbols(n_symbols)
    code_of = {symbol: code for code, symbol in enumerate(known)}
    roots, n_sequences = np.zeros(n_symbols), np.zeros((n_symbols + 1, 2))
    recoded = []
    for symbols, statistics in parts:
        # The last code, of START, STOP and the pool, stays the last.
        codes = np.array([*(code_of[symbol] for symbol in symbols), n_symbols])
        roots[codes[:-1]] += statistics.roots
        n_sequences[codes] += statistics.n_sequences
        pairs = (2 * codes[:, None] + [LEFT, RIGHT]).ravel()
        recoded.append(
            (
                np.repeat(pairs, np.diff(statistics.indptr)),
                codes[statistics.first],
                codes[statistics.middle],
                codes[statistics.last],
                statistics.counts,
            )
        )
    trigrams = _add_up(
        n_symbols, *(np.concatenate(column) for column in zip(*recoded, strict=True))
    )
    return TreebankStatistics(
        np.array(known, dtype=object), SequenceStatistics(roots, n_sequences, *trigrams)
    )


def pair_moments(statistics, head, direction, smoothing=0.0):
    """Estimate the moments of one head and direction (theory, eqs. 6-9).

    Parameters
    ----------
    statistics : SequenceStatistics
    head : int
        Symbol code, or ``n_symbols`` for the pool of all heads.
    direction : int
        0 for left, 1 for right.
    smoothing : float, default=0.0
        How many sequences of the pool of the same direction are counted beside the own ones.

    Returns
    -------
    moments : Moments
        Counts divided by the number of sequences, own and pooled.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_shag.sequences import (
    ...     collect_statistics, extract_sequences, pair_moments)
    >>> codes, heads = np.array([0, 1, 1]), np.array([2, 0, 2])
    >>> sequences = extract_sequences(codes, heads, np.array([0, 3]), n_symbols=2)
    >>> statistics = collect_statistics(sequences, n_symbols=2)
    >>> pair_moments(statistics, head=1, direction=0).bigrams
    array([[0. , 0. , 0.5],
           [0. , 0. , 0. ],
           [0.5, 0. , 0.5]])
    """
    n_symbols = statistics.n_sequences.shape[0] - 1
    total = statistics.n_sequences[head, direction] + smoothing
    parts = [(head, 1.0 / total)]
    if smoothing > 0:
        parts.append((n_symbols, smoothing / total / statistics.n_sequences[n_symbols, direction]))

    chosen, trigrams, empty = [], [], 0.0
    for pair_head, scale in parts:
        start, stop = statistics.indptr[2 * pair_head + direction :][:2]
        counts = statistics.counts[start:stop]
        chosen.append(np.arange(start, stop))
        trigrams.append(scale * counts)
        # Rounding may leave a hair below zero where weights are not integers.
        not_empty = counts[statistics.first[start:stop] == n_symbols].sum()
        empty += scale * max(statistics.n_sequences[pair_head, direction] - not_empty, 0.0)
    chosen, trigrams = np.concatenate(chosen), np.concatenate(trigrams)
    first, middle, last = (
        codes[chosen] for codes in (statistics.first, statistics.middle, statistics.last)
    )

    # Each trigram (a, b, c) starts with the bigram (a, b). The bigrams that end in STOP start none:
    # (b, STOP) ends the trigrams with c = STOP, and (START, STOP) is the empty sequence.
    bigrams = np.zeros((n_symbols + 1, n_symbols + 1))
    np.add.at(bigrams, (middle, first), trigrams)
    ends = last == n_symbols
    np.add.at(bigrams[n_symbols], middle[ends], trigrams[ends])
    bigrams[n_symbols, n_symbols] = empty
    return Moments(bigrams, first, middle, last, trigrams)
