"""Words in context: the probabilities of all outcomes, and sentences drawn by them."""

from functools import partial

import numpy as np
from scipy.sparse import csr_array

from sklearn_shag.encoding import RIGHT, pair_of
from sklearn_shag.operators import choose, draw_derivations


class Distributions:
    """The probabilities of all outcomes, a context at a time.

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
        """Compute the probability of every modifier, as the lexicon counts them, and of STOP.

        Parameters
        ----------
        head : int
            As the lexicon counts heads.
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


class _SequenceSampler:
    """Draws the modifiers of one head on one side, head outwards."""

    def __init__(self, distributions, head, direction):
        self.distribution = partial(distributions, head, direction)
        self.classes, self.tags = distributions.tables.classes, distributions.tables.tags

    def draw(self, rng, max_length):
        state, modifiers = 0, []
        while len(modifiers) < max_length:
            probabilities = self.distribution(state)
            outcome = choose(probabilities, rng)
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
        Codes as the lexicon counts them.
    """
    distributions, root = Distributions(tables), tables.tags.size - 1
    sampler = partial(_SequenceSampler, distributions)
    roots = distributions(root, RIGHT, 0)[:-1]
    return draw_derivations(roots, sampler, roots.size, n_sentences, max_length, rng)
