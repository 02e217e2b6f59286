"""Sufficient statistics of head-modifier sequences (theory, eqs. 5-9)."""

from typing import NamedTuple

import numpy as np

__all__ = ["Moments", "SequenceStatistics", "collect_statistics", "pair_moments"]


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
    n_outcomes = n_symbols + 1
    if 2 * n_outcomes**4 > np.iinfo(np.int64).max:
        raise ValueError(
            f"{n_symbols} symbols are too many to count trigrams of; merge rare symbols, for "
            f"example with TokenFeature(min_count=...)."
        )
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
    own_pair = np.repeat(pairs, lengths)[kept]
    trigram = (middle[kept] * n_outcomes + following[kept]) * n_outcomes + previous[kept]
    pooled_pair = 2 * n_symbols + np.repeat(sequences.directions, lengths)[kept]
    n_trigrams = n_outcomes**3
    keys, inverse = np.unique(
        np.concatenate([own_pair * n_trigrams + trigram, pooled_pair * n_trigrams + trigram]),
        return_inverse=True,
    )
    counts = np.bincount(inverse, weights=np.tile(weights[kept], 2), minlength=keys.size)
    pair, trigram = np.divmod(keys, n_trigrams)
    middle, ends = np.divmod(trigram, n_outcomes**2)
    last, first = np.divmod(ends, n_outcomes)
    indptr = np.searchsorted(pair, np.arange(2 * n_outcomes + 1))
    return SequenceStatistics(roots, n_sequences, indptr, first, middle, last, counts)


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
