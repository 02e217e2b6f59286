"""Factors of the chart for words, and samples from the distributions of words."""

from functools import partial

import numpy as np
from scipy.sparse import csr_array

from sklearn_shag.encoding import LEFT, RIGHT, arc_begins, pair_of
from sklearn_shag.operators import draw_derivations, draw_outcome
from sklearn_shag.parsing import Potentials
from sklearn_shag.utils._kernel import inlined_kernel, table_kernel


def lexical_potentials(tables, codes, indptr):
    """Make the potentials of sentences of words, by the memory of automata alone.

    Parameters
    ----------
    tables : BackOff
    codes : int ndarray of shape (n_tokens,)
        Codes of the Lexicon. A token with an unknown tag is a missing observation: its factor is
        the sum over all modifiers.
    indptr : int ndarray of shape (n_sentences + 1,)

    Returns
    -------
    potentials : Potentials
        For the grammar of one symbol that gives every tree the value 1.
    """
    n_coarse, n_classes = tables.coarse.shape[0], int(tables.classes.max()) + 1
    arc_memory = np.zeros((arc_begins(indptr)[-1], n_classes))
    stop_memory = np.empty((codes.size, 2, n_classes))
    seen = np.zeros(n_coarse)
    of_tags, rests = np.zeros(tables.classes.size), np.ones(tables.classes.size)
    _fill_factors(tables, codes, indptr, seen, of_tags, rests, arc_memory, stop_memory)
    memory = tables.classes[tables.tags[codes]]
    return Potentials(indptr, np.zeros_like(codes), None, memory, arc_memory, stop_memory)


@table_kernel
def _fill_factors(tables, codes, indptr, seen, of_tags, rests, arc_memory, stop_memory):
    """Set the factors of all sentences; `seen`, `of_tags` and `rests` are memory for tables."""
    root, begin = tables.tags.size - 1, 0
    for s in range(indptr.size - 1):
        n = indptr[s + 1] - indptr[s]
        words = codes[indptr[s] : indptr[s + 1]]
        arcs = arc_memory[begin : begin + n * (n + 1)]
        begin += n * (n + 1)
        _fill_coarse_factors(tables, words, root, arcs, seen)
        for state in range(arcs.shape[1]):
            _fill_fine_factors(tables, words, np.int64(0), root, RIGHT, state, arcs, of_tags, rests)
            for h in range(1, n + 1):
                for direction in range(2):
                    stop_memory[indptr[s] + h - 1, direction, state] = _fill_fine_factors(
                        tables, words, h, words[h - 1], direction, state, arcs, of_tags, rests
                    )


@inlined_kernel
def _fill_coarse_factors(tables, words, root, arcs, seen):
    """Set the factor of every arc to P_B of its modifier given the head's tag."""
    n, (indptr, contexts, values) = words.size, tables.coarse_words
    n_classes, n_tags = arcs.shape[1], tables.classes.size - 1
    for m in range(1, n + 1):
        word = words[m - 1]
        tag = tables.tags[word]
        if tag == n_tags:
            continue
        for k in range(indptr[word], indptr[word + 1]):
            seen[contexts[k]] = values[k]
        for h in range(n + 1):
            head = root if h == 0 else words[h - 1]
            context = (2 * tables.tags[head] + (LEFT if m < h else RIGHT)) * n_classes
            for state in range(n_classes):
                rest = tables.coarse_word_rests[context + state, tag]
                p = seen[context + state] + rest * tables.words[word]
                arcs[(m - 1) * (n + 1) + h, state] = p
        for k in range(indptr[word], indptr[word + 1]):
            seen[contexts[k]] = 0.0


@inlined_kernel
def _fill_fine_factors(tables, words, h, head, direction, state, arcs, of_tags, rests):
    """Set the factors of arcs from a head to one side in one state; return the one of STOP."""
    n, n_classes, n_tags = words.size, arcs.shape[1], tables.classes.size - 1
    coarse = (2 * tables.tags[head] + direction) * n_classes + state
    fine = (2 * head + direction) * n_classes + state
    begin = end = begin_words = end_words = np.int64(0)
    rest, going_on = 1.0, 0.0
    if fine < tables.fine_rests.size:
        begin, end = tables.fine.indptr[fine], tables.fine.indptr[fine + 1]
        begin_words, end_words = tables.fine_words.indptr[fine], tables.fine_words.indptr[fine + 1]
        rest = tables.fine_rests[fine]
    for k in range(begin, end):
        tag = tables.fine.columns[k]
        of_tags[tag] = tables.fine.values[k]
        rests[tag] = tables.fine_word_rests[k]
        if tag < n_tags:
            going_on += tables.fine.values[k]
    going_on += rest * tables.going_on[coarse]  # 1 - stop, without rounding to 0
    stop = of_tags[n_tags] + rest * tables.coarse[coarse, n_tags]
    first, last = (1, h - 1) if direction == LEFT else (h + 1, n)
    for m in range(first, last + 1):
        arc, word = (m - 1) * (n + 1) + h, words[m - 1]
        tag = tables.tags[word]
        if tag == n_tags:
            arcs[arc, state] = going_on
            continue
        p_word = rests[tag] * arcs[arc, state]
        if of_tags[tag] > 0.0:
            p_word += _find_value(tables.fine_words, begin_words, end_words, word)
        arcs[arc, state] = (of_tags[tag] + rest * tables.coarse[coarse, tag]) * p_word
    for k in range(begin, end):
        of_tags[tables.fine.columns[k]] = 0.0
        rests[tables.fine.columns[k]] = 1.0
    return stop


@inlined_kernel
def _find_value(frequencies, begin, end, column):
    """Return the value of a column in ``begin:end``, part of a row; 0 if it is not there."""
    stop = end
    while begin < end:
        middle = (begin + end) // 2
        if frequencies.columns[middle] < column:
            begin = middle + 1
        else:
            end = middle
    found = begin < stop and frequencies.columns[begin] == column
    return frequencies.values[begin] if found else 0.0


class WordDistributions:
    """Probabilities of all modifiers and STOP, computed for one context at a time.

    Parameters
    ----------
    tables : BackOff
    """

    def __init__(self, tables):
        indptr, columns, values = tables.coarse_words
        shape = tables.words.size, tables.coarse.shape[0]
        self.tables = tables
        self.coarse_words = csr_array((values, columns, indptr), shape=shape).tocsc()

    def __call__(self, head, direction, state):
        """Compute the probability of every modifier in the Lexicon, and of STOP.

        Parameters
        ----------
        head : int
            Its code in the Lexicon.
        direction : int
        state : int
            The class of the modifier before, 0 before the first.

        Returns
        -------
        probabilities : ndarray of shape (n_codes + 1,)
            They sum to 1.
        """
        tables, n_tags = self.tables, self.tables.classes.size - 1
        n_classes = tables.classes.max() + 1
        tags = tables.tags[: tables.words.size]
        context = pair_of(tables.tags[head], direction) * n_classes + state
        of_tags = tables.coarse[context].copy()
        of_words = tables.coarse_word_rests[context, tags] * tables.words
        here = slice(*self.coarse_words.indptr[context : context + 2])
        of_words[self.coarse_words.indices[here]] += self.coarse_words.data[here]
        context = pair_of(head, direction) * n_classes + state
        if context < tables.fine_rests.size:
            here, rests = slice(*tables.fine.indptr[context : context + 2]), np.ones(n_tags + 1)
            of_tags *= tables.fine_rests[context]
            of_tags[tables.fine.columns[here]] += tables.fine.values[here]
            rests[tables.fine.columns[here]] = tables.fine_word_rests[here]
            of_words *= rests[tags]
            here = slice(*tables.fine_words.indptr[context : context + 2])
            of_words[tables.fine_words.columns[here]] += tables.fine_words.values[here]
        return np.append(of_tags[tags] * of_words, of_tags[n_tags])


class _WordSampler:
    """Draws the modifiers of one head on one side, head outwards."""

    def __init__(self, distributions, head, direction):
        self.distribution = partial(distributions, head, direction)
        self.classes, self.tags = distributions.tables.classes, distributions.tables.tags

    def draw(self, rng, max_length):
        state, modifiers = 0, []
        while len(modifiers) < max_length:
            probabilities = self.distribution(state)
            outcome = draw_outcome(probabilities, rng)
            if outcome == probabilities.size - 1:
                break
            modifiers.append(outcome)
            state = self.classes[self.tags[outcome]]
        return modifiers


def sample_words(tables, n_sentences, max_length, rng):
    """Draw sentences of words: see :func:`~sklearn_shag.operators.sample_derivations`.

    Parameters
    ----------
    tables : BackOff
    n_sentences, max_length : int
    rng : numpy.random.RandomState

    Returns
    -------
    codes, heads, indptr : int ndarrays
        Codes of the Lexicon.
    """
    distributions, root = WordDistributions(tables), tables.tags.size - 1
    sampler = partial(_WordSampler, distributions)
    roots = distributions(root, RIGHT, 0)[:-1]
    return draw_derivations(roots, sampler, n_sentences, max_length, rng)
