"""Split head-automata grammars: from trees to a fitted grammar that parses, scores and draws."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import Self

import numpy as np
from sklearn.utils import check_random_state

from sklearn_shag._parser import Parser
from sklearn_shag.encoding import decode_trees, encode_sentences, encode_trees
from sklearn_shag.learning._automata import fallback_grammar
from sklearn_shag.operators import Operators, sample_derivations
from sklearn_shag.parsing import (
    Forest,
    Potentials,
    Scored,
    ask,
    list_totals,
    pack_grammar,
    value_trees,
)
from sklearn_shag.sequences import (
    LabelCounts,
    TreebankStatistics,
    check_statistics,
    count_treebank,
    count_trees,
    merge_statistics,
    sequences_of,
)
from sklearn_shag.treebank import DependencyTree, Heads, Sentences, arcs_left_by
from sklearn_shag.utils._estimators import keep
from sklearn_shag.utils._heads import UNKNOWN
from sklearn_shag.utils._param_validation import check_whole_number, fit_context
from sklearn_shag.utils._typing import ArrayLike, FloatArray, ObjectArray, RandomSeed


class GenerativeMixin:
    """Mixin of parsers whose trees have probabilities together with their sentences.

    A subclass draws trees in the hook ``_draw``. It learns `symbols_`, `labels_` and
    `label_counts_`.
    """

    symbols_: ObjectArray
    labels_: ObjectArray
    label_counts_: LabelCounts

    @abstractmethod
    def _draw(self, n_samples, max_length, rng):
        """Draw trees, given the checked parameters of :meth:`sample`."""

    def _score_jointly(self, batch, rung=0):
        """Score sentences as `_score`, by joint probabilities of trees and sentences."""
        return self._score(batch, rung)

    def log_likelihood(self, X: Sentences) -> FloatArray:
        """Compute the log probability of sentences, summed over all their trees.

        Parameters
        ----------
        X : sequence of length n_sentences
            As for :meth:`predict`.

        Returns
        -------
        log_likelihoods : ndarray of shape (n_sentences,)
            In nats; -inf where the estimate is not positive.
        """
        sign, log_abs_z = self._sum_jointly(self._batch(X))
        return np.where(sign > 0, log_abs_z, -np.inf)

    def _sum_jointly(self, batch):
        """Return sign and logarithm of the summed values of the allowed trees, by sentence."""
        totals = ask(self, list_totals, batch, partial(Forest, self._score_jointly))
        return np.reshape(totals, (-1, 2)).T

    def score_samples(self, X: Sentences, y: Heads | None = None) -> FloatArray:
        """Compute the log probability of trees.

        Parameters
        ----------
        X : sequence of length n_sentences
            As for :meth:`fit`.
        y : None or sequence of length n_sentences, default=None
            Heads, -1 if unknown; None uses those of the trees in X.

        Returns
        -------
        log_probabilities : ndarray of shape (n_sentences,)
            In nats; -inf for trees with several roots, and where the estimate, a product over the
            head-modifier sequences, is not positive. For a partial tree, the probability is summed
            over all projective trees of the sentence that have the known heads.

        See Also
        --------
        log_likelihood : Log probability of a sentence, summed over its trees.
        sklearn_shag.BaseSHAG.conditional_log_likelihood : Of a tree given its sentence.

        Notes
        -----
        See theory, eq. 1. A non-projective tree is scored by its sequences like any other, although
        the grammar generates its words in a different order. An unknown symbol counts as a missing
        observation: the probability is summed over all symbols it may stand for.

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
        is_partial = np.array([heads.min() == UNKNOWN for heads in known], dtype=bool)
        scores = np.empty(is_partial.size)
        for chosen, score in (
            (np.flatnonzero(~is_partial), self._score_trees),
            (np.flatnonzero(is_partial), self._score_partial_trees),
        ):
            if chosen.size:
                sign, log_abs = score(batch.take(chosen), [known[s] for s in chosen])
                scores[chosen] = np.where(sign > 0, log_abs, -np.inf)
        return scores

    def _score_trees(self, batch, heads):
        """Return sign and logarithm of the value of each tree."""
        scored = self._score_jointly(batch)
        return value_trees(scored.grammar.operators, scored.potentials, np.concatenate(heads))

    def _score_partial_trees(self, batch, heads):
        """Return sign and logarithm of the summed values of trees with known heads, by sentence."""
        return self._sum_jointly(batch._replace(allowed=arcs_left_by(heads)))

    def sample(
        self, n_samples: int = 1, random_state: RandomSeed = None, *, max_length: int = 200
    ) -> list[DependencyTree]:
        """Draw trees.

        Parameters
        ----------
        n_samples : int, default=1
            Number of trees to draw.
        random_state : int, RandomState instance or None, default=None
            Seeds the draws: the same int gives the same trees.
        max_length : int, default=200
            Longer sentences are redrawn.

        Returns
        -------
        trees : list of DependencyTree
            Their forms are their symbols. If the grammar has words, the forms are words, with
            ``<rare>`` for an unknown one.

        Raises
        ------
        ValueError
            If `n_samples` or `max_length` is not positive, or sentences keep growing beyond
            `max_length`. For grammars of operators, the message says whether their sentences end at
            all; see :func:`~sklearn_shag.operators.branching_radius`.

        Notes
        -----
        Negative probability estimates of a learned automaton count as zero.

        Examples
        --------
        >>> from sklearn_shag import DeterministicSHAG
        >>> model = DeterministicSHAG().fit([["DET", "NOUN"], ["NOUN"]], [[2, 0], [0]])
        >>> model.sample(2, random_state=0)
        [DependencyTree('NOUN', heads=[0]), DependencyTree('DET NOUN', heads=[2, 0])]
        """
        self._check_ready()
        for name, number in (("n_samples", n_samples), ("max_length", max_length)):
            check_whole_number(number, name)
        return self._draw(n_samples, max_length, check_random_state(random_state))


class OperatorMixin:
    """Mixin of parsers that score by the operators of a grammar, and of its fallback.

    A subclass learns `operators_` and, for sentences without mass under them,
    `fallback_operators_`, beside `symbols_` and labels.
    """

    symbols_: ObjectArray
    labels_: ObjectArray
    label_counts_: LabelCounts
    operators_: Operators
    fallback_operators_: Operators

    def _encode(self, sentences, symbols, indptr):
        return encode_sentences(symbols, self.symbols_)[0]

    def _score(self, batch, rung=0):
        # Kept, since packing a grammar takes longer than parsing a sentence.
        grammars = keep(self, (self.operators_, self.fallback_operators_), _pack_grammars)
        if rung == len(grammars):
            return None
        return Scored(grammars[rung], Potentials(batch.indptr, batch.codes), self._labeller(batch))


class BaseSHAG(OperatorMixin, GenerativeMixin, Parser):
    """Base class of split head-automata grammars, with parsing, scoring and sampling.

    A subclass learns `symbols_`, `operators_` and `fallback_operators_`, and labels if there are
    any.

    Parameters
    ----------
    decoder : {"mbr", "max_marginal", "viterbi", "mst"}
        How trees are chosen, as for :class:`SpectralSHAG`.
    max_tokens : int or None
        The longest sentence to parse; None for any length.
    n_jobs : int or None
        How many sentences are parsed at once.
    verbose : int
        Whether to show progress.

    See Also
    --------
    SpectralSHAG : Learns the operators from moments.
    EMSHAG : Learns the operators by expectation maximisation.
    DeterministicSHAG : Learns operators without hidden states, as relative frequencies.

    Examples
    --------
    A grammar that is known rather than learned, from which the trees were drawn:

    >>> import numpy as np
    >>> from sklearn_shag import BaseSHAG
    >>> from sklearn_shag.datasets import make_treebank
    >>> class KnownGrammar(BaseSHAG):
    ...     def __init__(self, operators, decoder="mbr", n_jobs=None, verbose=0):
    ...         self.operators, self.decoder = operators, decoder
    ...         self.n_jobs, self.verbose = n_jobs, verbose
    ...
    ...     def fit(self, X, y=None):
    ...         symbols = {symbol for tree in X for symbol in tree.symbols}
    ...         self.symbols_ = np.array(sorted(symbols), dtype=object)
    ...         self.operators_ = self.fallback_operators_ = self.operators
    ...         return self
    >>> trees, operators = make_treebank(100, n_symbols=4, random_state=0, return_operators=True)
    >>> round(KnownGrammar(operators).fit(trees).score(trees), 2)
    0.54
    """

    def _draw(self, n_samples, max_length, rng):
        return decode_trees(
            self.symbols_,
            *sample_derivations(self.operators_, n_samples, rng, max_length=max_length),
        )


def _pack_grammars(*grammars):
    return list(map(pack_grammar, grammars))


class TreeLearner(BaseSHAG):
    """Base class of split head-automata grammars that are learned from trees.

    A subclass learns from head-modifier sequences in the hook ``_learn_operators``.
    """

    @abstractmethod
    def _learn_operators(self, statistics, trees, sequences):
        """Learn the grammar; nothing of the estimator changes.

        Parameters
        ----------
        statistics : TreebankStatistics
            The symbols of all training trees and their trigram counts.
        trees : EncodedTrees or None
            The trees themselves; None where only their statistics are known.
        sequences : HeadModifierSequences or None
            The head-modifier sequences of the trees; None where only statistics are known.

        Returns
        -------
        learned : dict
            Fitted attributes by name, among them `operators_`.
        """

    @fit_context
    def fit(
        self, X: Sentences, y: Heads | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn the automaton of every head and direction from trees.

        Parameters
        ----------
        X : sequence of length n_sentences
            ``X[i]`` is a DependencyTree or a sequence of n_tokens_i symbols (str).
        y : None or sequence of length n_sentences, default=None
            ``y[i]`` holds n_tokens_i heads (1-based, 0 for the root) or is a DependencyTree with
            heads. None uses the heads of the trees in X. Non-projective trees and trees with
            several roots count like any other.
        sample_weight : None or array-like of shape (n_sentences,), default=None
            Weight of each sentence; 0 leaves it out.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If X is empty; if a sentence has no tokens; if heads are missing, unknown (-1) or not a
            tree; if weights are negative or all zero; or if a parameter is invalid. The message
            names the sentence.
        TypeError
            If symbols are not strings.
        """
        self._check_parsing()
        trees = encode_trees(X, y, sample_weight, learner=type(self).__name__)
        sequences = sequences_of(trees)
        self._learn_statistics(count_trees(trees, sequences), trees, sequences)
        return self

    def _learn_statistics(self, statistics, trees=None, sequences=None):
        """Learn the grammar and set it, all attributes at once.

        An estimator whose fit fails, or is interrupted, or warns where warnings are errors, is left
        as it was.
        """
        vars(self).update(
            symbols_=statistics.symbols,
            labels_=statistics.labels,
            label_counts_=statistics.label_counts,
            fallback_operators_=fallback_grammar(statistics.statistics),
            **self._learn_operators(statistics, trees, sequences),
        )


class IncrementalMixin:
    """Mixin of learners that need trigram counts of trees alone, which can be added up.

    In its hook ``_learn_operators``, `trees` and `sequences` may be None, and the `statistics` are
    among the fitted attributes.
    """

    statistics_: TreebankStatistics

    @fit_context
    def partial_fit(
        self, X: Sentences, y: Heads | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from more trees, in addition to those of earlier calls to `fit` and `partial_fit`.

        Parameters
        ----------
        X : sequence of length n_sentences
            As for :meth:`fit`. It may contain new symbols.
        y : None or sequence of length n_sentences, default=None
            As for :meth:`fit`.
        sample_weight : None or array-like of shape (n_sentences,), default=None
            Weight of each sentence; 0 leaves it out.

        Returns
        -------
        self : object
            The fitted estimator, identical to the last bit to one `fit` on all trees together.

        Raises
        ------
        ValueError, TypeError
            As for :meth:`fit`; what was learned before does not change.

        Notes
        -----
        Memory depends on the number of distinct trigrams, not on the number of trees. Each call
        relearns all automata from the counts. For many small chunks it is cheaper to count first;
        see :meth:`fit_statistics`.

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
        self._learn_statistics(merge_statistics([*parts, count_trees(trees)]))
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
            The fitted estimator, identical to the last bit to one `fit` on these trees.

        Raises
        ------
        TypeError
            If `statistics` is anything else, such as the trees themselves.

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
        self._learn_statistics(statistics)
        return self

    def _fit_parts(self, parts):
        """Learn from an iterator of lists of trees, of which counts alone stay in memory."""
        return self.fit_statistics(merge_statistics(map(count_treebank, parts)))
