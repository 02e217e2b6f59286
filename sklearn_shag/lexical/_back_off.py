"""Probabilities of words after Collins: relative frequencies, backed off to coarser contexts.

With the head's word w, its tag t, the direction d and the class j of the modifier before (theory,
eqs. 40-43)::

    P(tag, word | w, t, d, j) = P_A(tag | w, t, d, j) P_B(word | tag, w, t, d, j)

P_A of a context is a mixture, with weights lambda and 1 - lambda, of its relative frequencies and
P_A of the next coarser one: that of the head's tag alone, and last the uniform distribution over
tags and STOP. P_B likewise, with one step more, the modifier's tag alone, and last the uniform
distribution over the words of the tag, the unknown one among them.
"""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from sklearn_shag.encoding import Alphabet


class Frequencies(NamedTuple):
    """Relative frequencies of pairs that were seen, times the lambda of their context."""

    indptr: np.ndarray  # (n_rows + 1,)
    columns: np.ndarray  # (n_pairs,), ascending in each row
    values: np.ndarray  # (n_pairs,)


class BackOff(NamedTuple):
    """Tables of backed-off probabilities, laid out for the kernel.

    A context is a head, a direction and a class, numbered in this order; a rest is the 1 - lambda
    of a context. Coarse contexts have the heads of :class:`~sklearn_shag.encoding.Alphabet`, fine
    ones those of known words.
    """

    tags: np.ndarray  # (n_codes + 2,): of each code of the lexicon; the root symbol's is the last
    classes: np.ndarray  # (n_tags + 1,): what a modifier leaves behind
    coarse: np.ndarray  # (n_coarse, n_tags + 1): P_A in coarse contexts; STOP is last
    fine: Frequencies  # of tags and STOP in fine contexts
    fine_rests: np.ndarray  # (n_fine,)
    coarse_words: Frequencies  # of modifiers (rows) in coarse contexts (columns)
    coarse_word_rests: np.ndarray  # (n_coarse, n_tags), of each context with the modifier's tag
    fine_words: Frequencies  # of modifiers in fine contexts
    fine_word_rests: np.ndarray  # one for each pair in `fine`
    words: np.ndarray  # (n_codes,): P_B of each modifier given nothing but its tag


def back_off(statistics, constant):
    """Estimate the probabilities of words in every context.

    Parameters
    ----------
    statistics : LexicalStatistics
    constant : float
        Of a context seen f times with u distinct outcomes, lambda is ``f / (f + constant * u)``.

    Returns
    -------
    tables : BackOff
    """
    lexicon, n_states = statistics.lexicon, 2 * statistics.n_classes
    n_tags, tags = lexicon.n_tags, lexicon.all_tags
    n_fine, n_coarse = lexicon.n_words * n_states, Alphabet(n_tags).n_heads * n_states
    contexts = np.repeat(np.arange(statistics.indptr.size - 1), np.diff(statistics.indptr))
    outcomes, counts = statistics.outcomes, statistics.counts
    # In coarse contexts: each is one of its head's tag, and one of the pool of all heads.
    heads, states = np.divmod(contexts, n_states)
    of_tokens = heads != lexicon.root
    coarse = np.concatenate([tags[heads], np.full(of_tokens.sum(), n_tags)]) * n_states
    coarse += np.concatenate([states, states[of_tokens]])
    seen = np.concatenate([outcomes, outcomes[of_tokens]])
    times = np.concatenate([counts, counts[of_tokens]])

    of_tags = _sum(coarse, tags[seen], times, (n_coarse, n_tags + 1))
    frequencies, rests = _discount(of_tags, _rows(of_tags), n_coarse, constant)
    uniform = np.full(of_tags.shape, 1.0 / (n_tags + 1))
    uniform[-n_states:] = np.append(np.full(n_tags, 1.0 / n_tags), 0.0)  # the root does not stop
    p_coarse = rests[:, None] * uniform
    p_coarse[_rows(of_tags), of_tags.indices] += frequencies.values

    is_word = seen != lexicon.stop
    by_modifier = _sum(seen[is_word], coarse[is_word], times[is_word], (lexicon.n_codes, n_coarse))
    groups = by_modifier.indices * n_tags + tags[_rows(by_modifier)]
    coarse_words, coarse_word_rests = _discount(by_modifier, groups, n_coarse * n_tags, constant)

    fine = contexts < n_fine
    contexts, outcomes, counts = contexts[fine], outcomes[fine], counts[fine]
    of_tags = _sum(contexts, tags[outcomes], counts, (n_fine, n_tags + 1))
    fine_tags, fine_rests = _discount(of_tags, _rows(of_tags), n_fine, constant)
    is_word = outcomes != lexicon.stop
    of_words = _sum(
        contexts[is_word], outcomes[is_word], counts[is_word], (n_fine, lexicon.n_codes)
    )
    pairs = _rows(of_tags) * (n_tags + 1) + of_tags.indices
    groups = np.searchsorted(pairs, _rows(of_words) * (n_tags + 1) + tags[of_words.indices])
    fine_words, fine_word_rests = _discount(of_words, groups, pairs.size, constant)

    return BackOff(
        tags,
        statistics.classes,
        p_coarse,
        fine_tags,
        fine_rests,
        coarse_words,
        coarse_word_rests.reshape(n_coarse, n_tags),
        fine_words,
        fine_word_rests,
        _word_probabilities(statistics, constant),
    )


def _word_probabilities(statistics, constant):
    """P_B of every modifier given its tag, backed off to the uniform distribution."""
    lexicon = statistics.lexicon
    tags, n_tags = lexicon.all_tags[: lexicon.n_codes], lexicon.n_tags
    counts = np.bincount(statistics.outcomes, statistics.counts, lexicon.stop + 1)[: lexicon.stop]
    seen = np.flatnonzero(counts)
    alone = csr_array((counts[seen], (tags[seen], seen)), shape=(n_tags, lexicon.n_codes))
    frequencies, rests = _discount(alone, _rows(alone), n_tags, constant)
    probabilities = (rests / np.bincount(tags))[tags]
    probabilities[frequencies.columns] += frequencies.values
    return probabilities


def _sum(rows, columns, counts, shape):
    summed = csr_array((counts, (rows, columns)), shape=shape)
    summed.sum_duplicates()
    return summed


def _rows(matrix):
    """The row of every entry."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def _discount(matrix, groups, n_groups, constant):
    """Turn counts into frequencies within groups of entries, times lambda; also 1 - lambda."""
    totals = np.bincount(groups, matrix.data, n_groups)
    n_distinct = np.bincount(groups, minlength=n_groups)
    with np.errstate(over="ignore"):  # so much more seen than distinct that nothing is left
        rests = 1.0 / (1.0 + totals / (constant * np.maximum(n_distinct, 1)))
    values = ((1.0 - rests)[groups] / totals[groups]) * matrix.data
    indptr, columns = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
    return Frequencies(indptr, columns, values), rests
