"""Grammars learned from trigram counts alone: the counts of separate treebanks add up."""

from typing import Self

from sklearn_shag._base import BaseSHAG
from sklearn_shag.sequences import TreebankStatistics, merge_statistics
from sklearn_shag.sequences._encode import encode_trees
from sklearn_shag.sequences._statistics import check_statistics
from sklearn_shag.treebank._typing import Heads, Sentences
from sklearn_shag.utils._param_validation import fit_context
from sklearn_shag.utils._typing import ArrayLike

__all__ = ["CountingSHAG"]


class CountingSHAG(BaseSHAG):
    """Split head-automata grammar whose learner sees nothing of the trees but trigram counts.

    In the hook ``_learn_operators`` of a subclass, `trees` may be None.
    """

    statistics_: TreebankStatistics

    @fit_context(prefer_skip_nested_validation=True)
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
        """
        # scikit-learn checks parameters in the first call only.
        self._validate_params()
        self._check_parsing()
        parts = [self.statistics_] if hasattr(self, "statistics_") else []
        self._learn(merge_statistics([*parts, self._count(encode_trees(X, y, sample_weight))]))
        return self

    @fit_context(prefer_skip_nested_validation=True)
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
        """
        self._check_parsing()
        check_statistics(statistics, "statistics")
        self._learn(statistics)
        return self

    def _adopt(self, statistics, operators, backoff):
        super()._adopt(statistics, operators, backoff)
        self.statistics_ = statistics
