"""Parsers by a chart that generate: probabilities of sentences, and sentences drawn from them."""

from abc import abstractmethod
from numbers import Integral

import numpy as np
from sklearn.utils import check_random_state

from sklearn_shag._base import ChartParser
from sklearn_shag.parsing import take_batch, value_trees
from sklearn_shag.sequences import LabelCounts
from sklearn_shag.treebank import DependencyTree, Heads, Sentences, arcs_left_by
from sklearn_shag.utils._heads import UNKNOWN
from sklearn_shag.utils._typing import FloatArray, ObjectArray, RandomSeed

__all__ = ["GenerativeParser"]


class GenerativeParser(ChartParser):
    """Parser whose chart sums probabilities of trees and their sentences, and that can draw them.

    A subclass draws in the hook ``_draw``. It learns `symbols_`, `labels_` and `label_counts_`.
    """

    symbols_: ObjectArray
    labels_: ObjectArray
    label_counts_: LabelCounts

    @abstractmethod
    def _draw(self, n_samples, max_length, rng):
        """Draw trees; the parameters are those of :meth:`sample`, checked."""

    def log_likelihood(self, X: Sentences) -> FloatArray:
        """Compute the log probability of sentences, summed over all their trees.

        Parameters
        ----------
        X : sequence of length n_sentences
            As for :meth:`predict`.

        Returns
        -------
        log_likelihoods : ndarray of shape (n_sentences,)
            In nats. -inf where the estimate is not positive.
        """
        sign, log_abs_z = self._log_partitions(self._batch(X), self._rungs())
        return np.where(sign > 0, log_abs_z, -np.inf)

    def score_samples(self, X: Sentences, y: Heads | None = None) -> FloatArray:
        """Compute the log probability of trees.

        Parameters
        ----------
        X : sequence of length n_sentences
            As for :meth:`fit`.
        y : None or sequence of length n_sentences, default=None
            Heads, -1 where they are not known; None takes those of the trees in X.

        Returns
        -------
        log_probabilities : ndarray of shape (n_sentences,)
            In nats. -inf for trees with several roots, and where the estimate, a product over the
            head-modifier sequences, is not positive. Of a partial tree it is that of its sentence
            with any of the projective trees that have the known heads.

        See Also
        --------
        log_likelihood : Of a sentence, summed over its trees.
        conditional_log_likelihood : Of a tree, given its sentence: the difference of the two.

        Notes
        -----
        Eq. 1 of the theory page. A non-projective tree is scored by its sequences like any other,
        although the grammar generates its words in another order. An unknown symbol counts as a
        missing observation: the probability is summed over what it may stand for.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn_shag import DeterministicSHAG
        >>> X, y = [["DET", "NOUN"], ["NOUN"]], [[2, 0], [0]]
        >>> np.exp(DeterministicSHAG().fit(X, y).score_samples(X, y)).round(2)
        array([0.5, 0.5])
        """
        batch = self._batch(X)
        known = self._known_heads(batch, y)
        is_partial = np.array([heads.min() == UNKNOWN for heads in known])
        scores = np.empty(is_partial.size)
        for chosen, score in (
            (np.flatnonzero(~is_partial), self._score_trees),
            (np.flatnonzero(is_partial), self._score_partial_trees),
        ):
            if chosen.size:
                sign, log_abs = score(take_batch(batch, chosen), [known[s] for s in chosen])
                scores[chosen] = np.where(sign > 0, log_abs, -np.inf)
        return scores

    def _score_trees(self, batch, heads):
        """Sign and logarithm of the value of each tree."""
        rung = self._rungs()[0]
        potentials = rung.make_potentials(batch)
        return value_trees(rung.grammar.scaled, potentials, np.concatenate(heads))

    def _score_partial_trees(self, batch, heads):
        """Sign and logarithm of the summed value of the trees that have the known heads."""
        return self._log_partitions(batch._replace(allowed=arcs_left_by(heads)), self._rungs())

    def sample(
        self, n_samples: int = 1, random_state: RandomSeed = None, *, max_length: int = 200
    ) -> list[DependencyTree]:
        """Draw trees.

        Parameters
        ----------
        n_samples : int, default=1
            Number of trees.
        random_state : int, RandomState instance or None, default=None
            Seeds the draws: the same int gives the same trees.
        max_length : int, default=200
            Longer sentences are drawn anew.

        Returns
        -------
        trees : list of DependencyTree
            Their forms are their symbols. Those of a grammar of words have words, and
            ``<rare>`` where it draws one that it does not know.

        Raises
        ------
        ValueError
            If `n_samples` is not positive, or sentences keep growing beyond `max_length`. Of
            operators, the message tells whether their sentences end at all, see
            :func:`~sklearn_shag.operators.branching_radius`.

        Notes
        -----
        Where a learned automaton estimates a probability below zero, it counts as zero.

        Examples
        --------
        >>> from sklearn_shag import DeterministicSHAG
        >>> model = DeterministicSHAG().fit([["DET", "NOUN"], ["NOUN"]], [[2, 0], [0]])
        >>> model.sample(2, random_state=0)
        [DependencyTree('NOUN', heads=[0]), DependencyTree('DET NOUN', heads=[2, 0])]
        """
        self._check_ready()
        for name, number in (("n_samples", n_samples), ("max_length", max_length)):
            if not isinstance(number, Integral) or number < 1:
                raise ValueError(f"{name} must be a whole number from 1 on, got {number!r}.")
        return self._draw(n_samples, max_length, check_random_state(random_state))
