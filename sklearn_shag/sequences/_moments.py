"""Moments of one head and direction, from trigram counts (theory, eqs. 6-9 and 32)."""

import numpy as np

from sklearn_shag.encoding import Alphabet, pair_of
from sklearn_shag.sequences._statistics import Moments, SequenceStatistics

SMALLEST_DIVISOR = 2.0**-900


def pair_moments(
    statistics: SequenceStatistics,
    head: int,
    direction: int,
    smoothing: float = 0.0,
    context: float = 0.0,
) -> Moments:
    """Estimate the moments of one head and direction (theory, eqs. 6-9).

    Parameters
    ----------
    statistics : SequenceStatistics
        Of all heads and directions.
    head : int
        Symbol code, or ``n_symbols`` for the pool of all heads.
    direction : int
        0 for left, 1 for right.
    smoothing : float, default=0.0
        How many sequences of the pool of the same direction are counted beside the own ones.
    context : float, default=0.0
        Weight of symbols further away; with 0 rows and columns are neighbours only.

    Returns
    -------
    moments : Moments
        Counts divided by the number of sequences, own and pooled.

    See Also
    --------
    sklearn_shag.operators.exact_moments : Those of a known automaton.
    sklearn_shag.learning.learn_grammar : Calls it for every head and direction.

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
    alphabet = Alphabet(statistics.roots.size)
    total = statistics.n_sequences[head, direction] + smoothing
    parts = [(head, 1.0, total)]
    if smoothing > 0:
        pool = alphabet.unknown_head
        parts.append((pool, smoothing / total, statistics.n_sequences[pool, direction]))

    chosen, trigrams, empty = [], [], 0.0
    for pair_head, share, divisor in parts:
        # Of tiny weights inverses are no doubles: both they and counts are multiplied.
        unit = 1.0 if divisor > SMALLEST_DIVISOR else 1.0 / SMALLEST_DIVISOR
        scale = share / (unit * divisor)
        start, stop = statistics.indptr[pair_of(pair_head, direction) :][:2]
        first, last = statistics.first[start:stop], statistics.last[start:stop]
        counts = unit * statistics.counts[start:stop]
        # Rounding may leave a hair below zero where weights are not integers.
        not_empty = counts[(first == alphabet.boundary) & (last <= alphabet.boundary)].sum()
        n_sequences = unit * statistics.n_sequences[pair_head, direction]
        empty += scale * max(n_sequences - not_empty, 0.0)
        n_far = (first > alphabet.boundary).astype(np.int64) + (last > alphabet.boundary)
        kept = np.flatnonzero(n_far == 0) if context == 0 else np.arange(counts.size)
        chosen.append(start + kept)
        trigrams.append(scale * counts[kept] * context ** n_far[kept])
    chosen, trigrams = np.concatenate(chosen), np.concatenate(trigrams)
    first, middle, last = (
        codes[chosen] for codes in (statistics.first, statistics.middle, statistics.last)
    )
    bigrams = _bigrams(alphabet, first, middle, last, trigrams, context)
    bigrams[alphabet.boundary, alphabet.boundary] = empty
    return Moments(alphabet.n_symbols, total, bigrams, first, middle, last, trigrams)


def _bigrams(alphabet, first, middle, last, trigrams, context):
    """Sum trigrams to bigrams, all but the empty sequence (theory, eqs. 6 and 32)."""
    n_codes = alphabet.boundary + 1 if context == 0 else alphabet.n_contexts
    before, after = first <= alphabet.boundary, last <= alphabet.boundary
    ends = last == alphabet.boundary
    cells = [  # row, column, values of each way from a trigram to a bigram
        # The middle symbol follows what came before it,
        (middle[after], first[after], trigrams[after]),
        # STOP follows the middle symbol of the last trigram,
        (last[ends & before], middle[ends & before], trigrams[ends & before]),
    ]
    if context > 0:
        # what came before the last symbol came further before STOP,
        met = ends & (first != alphabet.boundary)
        cells.append((last[met], *_further(first[met], trigrams[met], alphabet, context)))
        # and what follows the middle symbol follows further after what came before it.
        rows, values = _further(last[~ends], trigrams[~ends], alphabet, context)
        cells.append((rows, first[~ends], values))
    rows, columns, values = (np.concatenate(part) for part in zip(*cells, strict=True))
    flat = np.bincount(rows * n_codes + columns, weights=values, minlength=n_codes**2)
    # (Without any trigram they would be integers.)
    return flat.reshape(n_codes, n_codes).astype(float)


def _further(codes, values, alphabet, context):
    """Codes and values of symbols seen from a place further away."""
    near = codes < alphabet.boundary
    return np.where(near, alphabet.further(codes), codes), np.where(near, context * values, values)
