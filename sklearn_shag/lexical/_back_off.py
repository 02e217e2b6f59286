"""Probabilities of words after Collins: relative frequencies, backed off to coarser contexts.

With the head's word w, its tag t, the direction d and the class j of the modifier before (theory,
eqs. 36-38)::

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

# Where far more was seen than the constant, 1 - lambda is no less: so nothing is impossible, and no
# lambda differs in double precision.
SMALLEST_REST = 1e-30


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
    going_on: np.ndarray  # (n_coarse,): P_A of all tags together
    coarse_words: Frequencies  # of modifiers (rows) in coarse contexts (columns)
    coarse_word_rests: np.ndarray  # (n_coarse, n_tags), of each context with the modifier's tag
    fine: Frequencies  # of tags and STOP in fine contexts
    fine_rests: np.ndarray  # (n_fine,)
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
    return BackOff(
        statistics.lexicon.all_tags,
        statistics.classes,
        *_coarse_tables(statistics, constant),
        *_fine_tables(statistics, constant),
        _word_probabilities(statistics, constant),
    )


def _coarse_tables(statistics, constant):
    """P_A in contexts of a head's tag, P_A of all tags there, and P_B as far as it was seen."""
    lexicon, n_states = statistics.lexicon, 2 * statistics.n_classes
    n_tags, tags = lexicon.n_tags, lexicon.all_tags
    n_contexts = Alphabet(n_tags).n_heads * n_states
    # Each context is one of its head's tag, and one of the pool of all heads.
    heads, states = np.divmod(_rows(statistics), n_states)
    of_tokens = heads != lexicon.root
    contexts = np.concatenate([tags[heads], np.full(of_tokens.sum(), n_tags)]) * n_states
    contexts += np.concatenate([states, states[of_tokens]])
    outcomes = np.concatenate([statistics.outcomes, statistics.outcomes[of_tokens]])
    counts = np.concatenate([statistics.counts, statistics.counts[of_tokens]])

    of_tags = _sum(contexts, tags[outcomes], counts, (n_contexts, n_tags + 1))
    frequencies, rests = _discount(of_tags, _rows(of_tags), n_contexts, constant)
    p_tags = np.full(of_tags.shape, 1.0 / (n_tags + 1))
    p_tags[-n_states:] = np.append(np.full(n_tags, 1.0 / n_tags), 0.0)  # the root does not stop
    p_tags *= rests[:, None]
    p_tags[_rows(of_tags), frequencies.columns] += frequencies.values

    is_word = outcomes != lexicon.stop
    shape = lexicon.n_codes, n_contexts
    of_words = _sum(outcomes[is_word], contexts[is_word], counts[is_word], shape)
    groups = _columns(of_words) * n_tags + tags[_rows(of_words)]
    words, word_rests = _discount(of_words, groups, n_contexts * n_tags, constant)
    going_on = p_tags[:, :n_tags].sum(axis=1)
    return p_tags, going_on, words, word_rests.reshape(n_contexts, n_tags)


def _fine_tables(statistics, constant):
    """P_A and P_B in contexts of a known head word, both as far as they were seen."""
    lexicon, contexts = statistics.lexicon, _rows(statistics)
    n_contexts = lexicon.n_words * 2 * statistics.n_classes
    fine = contexts < n_contexts
    contexts, outcomes, counts = contexts[fine], statistics.outcomes[fine], statistics.counts[fine]
    tags, width = lexicon.all_tags, lexicon.n_tags + 1
    of_tags = _sum(contexts, tags[outcomes], counts, (n_contexts, width))
    frequencies, rests = _discount(of_tags, _rows(of_tags), n_contexts, constant)

    is_word = outcomes != lexicon.stop
    shape = n_contexts, lexicon.n_codes
    of_words = _sum(contexts[is_word], outcomes[is_word], counts[is_word], shape)
    pairs = _rows(of_tags) * width + _columns(of_tags)
    groups = np.searchsorted(pairs, _rows(of_words) * width + tags[_columns(of_words)])
    return frequencies, rests, *_discount(of_words, groups, pairs.size, constant)


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
    return np.repeat(np.arange(matrix.indptr.size - 1), np.diff(matrix.indptr))


def _columns(matrix):
    """The column of every entry, in numbers that can be multiplied."""
    return matrix.indices.astype(np.int64)


def _discount(matrix, groups, n_groups, constant):
    """Turn counts into frequencies within groups of entries, times lambda; also 1 - lambda."""
    totals = np.bincount(groups, matrix.data, n_groups)
    n_distinct = np.bincount(groups, minlength=n_groups)
    with np.errstate(over="ignore"):  # by tiny constants: infinity is what is meant
        coarser = constant * np.maximum(n_distinct, 1)
        rests = np.maximum(1.0 / (1.0 + totals / coarser), SMALLEST_REST)
    values = matrix.data / (totals + coarser)[groups]
    return Frequencies(matrix.indptr.astype(np.int64), _columns(matrix), values), rests
