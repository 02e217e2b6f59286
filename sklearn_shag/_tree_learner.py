"""Learning from trees: from sentences with heads to a fitted grammar."""

from abc import abstractmethod
from typing import Self

from sklearn_shag._base_shag import BaseSHAG
from sklearn_shag.encoding import encode_trees
from sklearn_shag.learning import fallback_grammar
from sklearn_shag.sequences import (
    TreebankStatistics,
    check_statistics,
    count_trees,
    merge_statistics,
)
from sklearn_shag.treebank import Heads, Sentences
from sklearn_shag.utils._param_validation import fit_context
from sklearn_shag.utils._typing import ArrayLike


class TreeLearner(BaseSHAG):
    """Split head-automata grammar learned from trees: everything but how.

    A subclass learns from head-modifier sequences in the hook ``_learn_operators``.
    """

    @abstractmethod
    def _learn_operators(self, statistics, trees):
        """Learn the grammar; nothing of the estimator changes.

        Parameters
        ----------
        statistics : TreebankStatistics
            The symbols of all training trees and their trigram counts.
        trees : EncodedTrees or None
            The trees themselves; None where only their statistics are known.

        Returns
        -------
        learned : Learned
        """

    @fit_context
    def fit(
        self, X: Sentences, y: Heads | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn the automaton of every head and direction from trees.

        Parameters
        ----------
        X : sequence of length n_sentences
            ``X[i]`` is a DependencyTree, or a sequence of n_tokens_i symbols (str).
        y : None or sequence of length n_sentences, default=None
            ``y[i]`` holds n_tokens_i heads, 1-based, 0 for the root, or is a DependencyTree with
            heads. None takes the heads of the trees in X. Non-projective trees, and trees with
            several roots, count like any other.
        sample_weight : None or array-like of shape (n_sentences,), default=None
            How often each sentence counts; 0 leaves it out.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If X is empty, a sentence has no tokens, heads are missing, unknown (-1) or not a tree,
            weights are negative or all zero, or a parameter is invalid. The message names the
            sentence.
        TypeError
            If symbols are not strings.
        """
        self._check_parsing()
        trees = encode_trees(X, y, sample_weight, learner=type(self).__name__)
        self._learn(count_trees(trees), trees)
        return self

    def _learn(self, statistics, trees=None):
        learned = self._learn_operators(statistics, trees)
        self._become_fitted(statistics, learned, fallback_grammar(statistics.statistics))


class StatisticsLearner(TreeLearner):
    """Split head-automata grammar whose learner sees nothing of the trees but trigram counts.

    In the hook ``_learn_operators`` of a subclass, `trees` may be None.
    """

    statistics_: TreebankStatistics

    @fit_context
    def partial_fit(
        self, X: Sentences, y: Heads | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from further trees, beside those of earlier calls of `fit` and `partial_fit`.

        Parameters
        ----------
        X : sequence of length n_sentences
            As for :meth:`fit`. Its symbols may be new.
        y : None or sequence of length n_sentences, default=None
            As for :meth:`fit`.
        sample_weight : None or array-like of shape (n_sentences,), default=None
            How often each sentence counts; 0 leaves it out.

        Returns
        -------
        self : object
            The fitted estimator: the same, to the last bit, as one `fit` on all trees together.

        Raises
        ------
        ValueError, TypeError
            As :meth:`fit`; what was learned before stays as it was.

        Notes
        -----
        Memory depends on the number of distinct trigrams, not of trees. Each call learns all
        automata anew from the counts; for many small chunks it is cheaper to count first, see
        :meth:`fit_statistics`.

        Examples
        --------
        >>> from sklearn_shag import DeterministicSHAG
        >>> model = DeterministicSHAG().partial_fit([["DET", "NOUN"]], [[2, 0]])
        >>> model.partial_fit([["NOUN", "VERB"]], [[2, 0]]).predict([["DET", "NOUN", "VERB"]])[0]
        array([2, 3, 0])
        """
        # scikit-learn checks parameters in the first call only.
        self._validate_params()
        self._check_parsing()
        parts = [self.statistics_] if hasattr(self, "statistics_") else []
        trees = encode_trees(X, y, sample_weight, learner=type(self).__name__)
        self._learn(merge_statistics([*parts, count_trees(trees)]))
        return self

    @fit_context
    def fit_statistics(self, statistics: TreebankStatistics) -> Self:
        """Learn from trees that have been counted elsewhere, for example on other machines.

        Parameters
        ----------
        statistics : TreebankStatistics
            From :func:`~sklearn_shag.sequences.count_treebank` or
            :func:`~sklearn_shag.sequences.merge_statistics`.

        Returns
        -------
        self : object
            The fitted estimator: the same, to the last bit, as one `fit` on these trees.

        Raises
        ------
        TypeError
            If `statistics` is something else, such as the trees themselves.

        Examples
        --------
        >>> from sklearn_shag import DeterministicSHAG
        >>> from sklearn_shag.sequences import count_treebank, merge_statistics
        >>> parts = [count_treebank([["DET", "NOUN"]], [[2, 0]]), count_treebank([["VERB"]], [[0]])]
        >>> DeterministicSHAG().fit_statistics(merge_statistics(parts)).symbols_
        array(['DET', 'NOUN', 'VERB'], dtype=object)
        """
        self._check_parsing()
        check_statistics(statistics, "statistics")
        self._learn(statistics)
        return self

    def _become_fitted(self, statistics, learned, fallback, **others):
        others["statistics_"] = statistics
        super()._become_fitted(statistics, learned, fallback, **others)
