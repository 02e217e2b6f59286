"""The base class of all parsers: sentences in, trees out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import lru_cache, partial
from inspect import signature
from itertools import accumulate, chain
from typing import Any, Self, TypedDict, Unpack, overload

import numpy as np
from sklearn.utils import InputTags, Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from sklearn_shag.encoding import Batch, check_heads, check_sentences, check_trees
from sklearn_shag.metrics import unlabeled_attachment_score
from sklearn_shag.parsing import (
    UNIQUE,
    Answers,
    Calibration,
    Forest,
    Labeller,
    allow_arcs,
    ask,
    calibrate,
    learn_calibrations,
    list_answers,
    list_arc_labels,
    list_best,
    list_best_rows,
    list_corrected,
    list_derivations,
    list_heads,
    list_label_proba,
    list_log_proba,
    list_most_probable,
    list_rows,
    list_samples,
    list_uncertain,
    make_trees,
)
from sklearn_shag.sequences import count_relations, find_contexts, tabulate_labels
from sklearn_shag.treebank import DependencyTree, Heads, Sentences
from sklearn_shag.utils._arrays import in_chunks, object_array, refuse_set
from sklearn_shag.utils._estimators import BaseEstimator, keep, linked
from sklearn_shag.utils._parallel import count_workers, map_in_processes
from sklearn_shag.utils._param_validation import (
    COUNT,
    N_JOBS,
    StrOptions,
    check_whole_number,
    validate_parameter_constraints,
)
from sklearn_shag.utils._typing import (
    Allowed,
    ArrayLike,
    FloatArray,
    ObjectArray,
    RandomSeed,
    UniqueRelations,
)

N_DRAWN = 1000  # random trees to find the most probable ones among, by default


class _Options(TypedDict, total=False):
    keep_heads: bool
    unique_relations: UniqueRelations
    confidence: bool
    random_state: RandomSeed


class OneTree(_Options, total=False):
    """Options of parsing for type checkers, if a sentence is to have one tree."""

    n_best: None
    n_samples: None


class TreeLists(_Options, total=False):
    """Options of parsing for type checkers, if a sentence is to have a list of trees."""

    n_best: int
    n_samples: int


@linked
class Parser(BaseEstimator, ABC):
    """Base class of parsers: subclasses score sentences, and everything else builds on the scores.

    A subclass has the parameters `decoder`, `n_jobs`, `verbose` and optionally `max_tokens`. It
    learns `labels_`, the sorted relations of arcs (str), empty if the trees had none. Its hook
    `_encode` encodes all sentences, and `_score` scores a chunk of them. An arc gets the most
    frequent label of arcs with the same symbols and direction by the Labeller that `_labeller`
    makes, which requires `label_counts_`.
    """

    # Parameters that predictions depend on, which set_params may have changed since fit.
    _parsing_parameters = ("decoder", "max_tokens", "n_jobs", "verbose")
    _takes_heads_of_trees = True  # of the trees in X, if y is None
    # Whether a derivation has just one state path, so that the best path is the best tree.
    _deterministic = False
    trees_ = "projective"  # that sums are over; a subclass may learn to take "all"

    _parameter_constraints = {
        "decoder": [StrOptions({"mbr", "max_marginal", "viterbi", "mst"})],
        "max_tokens": [None, *COUNT],
        "n_jobs": N_JOBS,
        "verbose": ["verbose"],
    }

    max_tokens: int | None = None  # a subclass may do without

    def __init__(
        self, *, decoder: str, max_tokens: int | None, n_jobs: int | None, verbose: int
    ) -> None:
        self.decoder = decoder
        self.max_tokens = max_tokens
        self.n_jobs = n_jobs
        self.verbose = verbose

    @abstractmethod
    def fit(self, X: Sentences, y: Heads | None = None) -> Self:
        """Learn to parse.

        Parameters
        ----------
        X : sequence of length n_sentences
            As for :meth:`predict`, possibly with further columns.
        y : None or sequence of length n_sentences, default=None
            Their heads; None uses those of the trees in X, if heads are needed.

        Returns
        -------
        self : object
            The fitted estimator.
        """

    def predict(self, X: Sentences, *, allowed: Allowed | None = None) -> ObjectArray:
        """Parse sentences.

        Parameters
        ----------
        X : sequence of length n_sentences
            ``X[i]`` is a DependencyTree, whose heads are ignored, or a sequence of symbols.
        allowed : None or sequence of length n_sentences, default=None
            Which arcs may be used: ``allowed[i]`` is a boolean array with the same shape as
            marginals, (n_tokens_i, n_tokens_i + 1), or None to allow all. A token with a known head
            has a single True in its row; see :func:`~sklearn_shag.treebank.allowed_arcs`.

        Returns
        -------
        heads : object ndarray of shape (n_sentences,)
            ``heads[i]`` is an int ndarray of shape (n_tokens_i,): 1-based head positions, 0 for the
            root. They always form a tree with one root, projective unless ``decoder="mst"``, the
            parser has learned from all trees, or `allowed` leaves only trees whose arcs cross. Of
            no sentences, this and all other predictions are empty.

        Raises
        ------
        ValueError
            If `allowed` has the wrong shape, or leaves no tree with one root for a sentence.

        Warns
        -----
        UserWarning
            If values of sentences leave the range of doubles; the fallback grammar parses these.

        Notes
        -----
        With a chart, parsing takes O(n N^3 + n^2 N^2) time for a sentence of N tokens and automata
        with n states. Each thread needs O(n N^2) memory: about 40 n N^2 bytes for its longest
        sentence, with n rounded up to a multiple of 8. Automata with one state need twice as much,
        because eight sentences are parsed together. k classes of memory take (k + 1) / 2 times the
        time and k times the memory.
        """
        return object_array(ask(self, partial(list_best, self.decoder), self._batch(X, allowed)))

    def predict_marginals(self, X: Sentences, *, allowed: Allowed | None = None) -> ObjectArray:
        """Compute the probability of each token as the head of each other token.

        Parameters
        ----------
        X : sequence of length n_sentences
            As for :meth:`predict`.
        allowed : None or sequence of length n_sentences, default=None
            As for :meth:`predict`. Arcs that are not allowed have probability 0.

        Returns
        -------
        marginals : object ndarray of shape (n_sentences,)
            ``marginals[i]`` has shape (n_tokens_i, n_tokens_i + 1): in row m, column 0 is the
            probability that token m + 1 is the root, and column h that token h is its head. Rows
            sum to 1.

        Notes
        -----
        See theory, eq. 25. Marginals of signed operators may lie outside [0, 1]. They are clipped
        at 1e-12 from below, and each row is divided by its sum; all decoders except "viterbi" use
        the result. Parsers with the parameter `calibrate` then apply the correction they have
        learned, so it does not change the trees. The grammar in `fallback_operators_` is used where
        Z, the total mass of the trees of a sentence, is zero, or where Z or a marginal is not
        finite.

        Z is a sum over projective trees, or over all trees for parsers whose `trees_` is "all". A
        sum over projective trees knows nothing of a sentence for which `allowed` leaves only trees
        whose arcs cross. Its marginals are computed without `allowed`. Forbidden arcs are then set
        to 0, and each row is divided by its sum. The tree is the one with the largest product of
        these, whatever the decoder, and the probability of any tree is its share of the products of
        all allowed trees.
        """
        return object_array(ask(self, list_corrected, self._batch(X, allowed)))

    def conditional_log_likelihood(self, X: Sentences, y: Heads | None = None) -> FloatArray:
        """Compute the log probability of trees, given their sentences.

        Parameters
        ----------
        X : sequence of length n_sentences
            As for :meth:`fit`.
        y : None or sequence of length n_sentences, default=None
            Heads, -1 if unknown; None uses those of the trees in X.

        Returns
        -------
        log_probabilities : ndarray of shape (n_sentences,)
            In nats: log Z of the tree alone, or of all trees with the known heads, minus log Z of
            all trees. -inf for trees with several roots, for trees that are not projective unless
            the parser sums over all trees, and where the estimate is not positive.
        """
        batch = self._batch(X)
        batch = batch._replace(known=self._known_heads(batch, y))
        return np.array(ask(self, partial(list_log_proba, None), batch))

    def predict_tree_proba(
        self, X: Sentences, y: Heads | None = None, *, allowed: Allowed | None = None
    ) -> FloatArray:
        """Compute the probability of predicted or given whole trees, given their sentences.

        Parameters
        ----------
        X : sequence of length n_sentences
            As for :meth:`predict`.
        y : None or sequence of length n_sentences, default=None
            The heads of each sentence (1-based, 0 for the root, -1 if unknown) or a DependencyTree
            with heads. None predicts them.
        allowed : None or sequence of length n_sentences, default=None
            As for :meth:`predict`. Probabilities are relative to the allowed trees, and given trees
            must be among them.

        Returns
        -------
        probabilities : ndarray of shape (n_sentences,)
            In [0, 1]: the exponential of :meth:`conditional_log_likelihood`. If a tree has unknown
            heads, this is the probability of all trees that have the known heads. 0 for trees that
            are not projective, unless the parser sums over all trees or `allowed` leaves only such
            trees.

        Raises
        ------
        ValueError
            As for :meth:`predict`, or if `y` cannot be part of trees over these sentences.

        See Also
        --------
        k_best_heads : The most probable trees.
        predict_marginals : Probabilities of single heads.

        Notes
        -----
        The probability of a tree falls with its length: a tree of 20 tokens whose heads each have
        probability 0.95 may have probability one third. `calibrate` does not correct it.

        Examples
        --------
        >>> from sklearn_shag import CRFParser
        >>> from sklearn_shag.datasets import load_english
        >>> trees = load_english().data
        >>> parser = CRFParser(["upos"], n_features=2**12, random_state=0).fit(trees[:100])
        >>> parser.predict_tree_proba(trees[:2]).round(1)
        array([0.2, 0.9])
        """
        batch, decoder = self._batch_of_trees(X, y, allowed, partial=True)
        logs = np.array(ask(self, partial(list_log_proba, decoder), batch))
        return np.exp(np.minimum(logs, 0.0))

    def sample_heads(
        self,
        X: Sentences,
        n_samples: int = 1,
        random_state: RandomSeed = None,
        *,
        allowed: Allowed | None = None,
    ) -> ObjectArray:
        """Draw trees of sentences according to their probability given the sentence.

        The share of samples that have some property, for example that a phrase depends on the verb,
        estimates the probability of that property.

        Parameters
        ----------
        X : sequence of length n_sentences
            As for :meth:`predict`.
        n_samples : int, default=1
            Number of trees to draw independently for each sentence.
        random_state : int, RandomState instance or None, default=None
            Seeds the draws: the same int gives the same trees, regardless of `n_jobs`.
        allowed : None or sequence of length n_sentences, default=None
            As for :meth:`predict`; only allowed trees are drawn.

        Returns
        -------
        heads : object ndarray of shape (n_sentences,)
            ``heads[i]`` is an int ndarray of shape (n_samples, n_tokens_i). Each row holds the
            heads of a tree with one root, projective unless the parser sums over all trees or
            `allowed` leaves only trees whose arcs cross.

        Raises
        ------
        ValueError
            If `n_samples` is below 1, `allowed` leaves no tree for a sentence, or the values of
            trees may be negative, as for :class:`SpectralSHAG`.

        Warns
        -----
        UserWarning
            If the trees of a sentence are drawn from the grammar in `fallback_operators_`, or
            uniformly if there is none, because Z is 0 or values leave the range of doubles.

        See Also
        --------
        k_best_heads : The most probable trees.
        predict_marginals : The limits of the shares of samples with each arc.

        Notes
        -----
        Draws are exact: hidden states, and the refinements of :class:`RefinedSHAG`, are drawn with
        the trees and then discarded. Theory, eqs. 53-57, defines the inside values; each choice is
        drawn in proportion to its share of one of these sums. Once the sums are computed, a tree of
        N tokens takes O(N^2) time. Draws from all trees follow theory, eqs. 69 and 70.

        References
        ----------
        Goodman (1998), Parsing inside-out, on uses of inside values.

        Examples
        --------
        How probable is it that the last word depends on the verb?

        >>> from sklearn_shag import DeterministicSHAG
        >>> X, y = [["N", "V", "N", "ADV"], ["N", "V", "N", "ADV"]], [[2, 0, 2, 2], [2, 0, 2, 3]]
        >>> model = DeterministicSHAG(smoothing=0.1).fit(X, y)
        >>> samples = model.sample_heads(X[:1], 1000, random_state=0)[0]
        >>> samples.shape
        (1000, 4)
        >>> print(f"{(samples[:, 3] == 2).mean():.1f}")
        0.5
        """
        check_whole_number(n_samples, "n_samples")
        batch = self._seeded(self._batch(X, allowed), n_samples, random_state)
        return object_array(ask(self, partial(list_samples, n_samples), batch))

    def k_best_heads(
        self,
        X: Sentences,
        k: int,
        *,
        allowed: Allowed | None = None,
        n_samples: int = N_DRAWN,
        random_state: RandomSeed = None,
    ) -> tuple[ObjectArray, ObjectArray]:
        """List the most probable trees of sentences, the best first.

        For parsers that score arcs and for deterministic grammars, these are exactly the k most
        probable trees. For grammars with hidden states and for averages, finding them is
        intractable. Instead, trees are drawn, and the k most probable of those drawn are listed.

        Parameters
        ----------
        X : sequence of length n_sentences
            As for :meth:`predict`.
        k : int
            Number of trees to list for each sentence.
        allowed : None or sequence of length n_sentences, default=None
            As for :meth:`predict`; only allowed trees are listed.
        n_samples : int, default=1000
            Number of trees to draw, if trees are drawn.
        random_state : int, RandomState instance or None, default=None
            Seeds the draws, as for :meth:`sample_heads`.

        Returns
        -------
        heads : object ndarray of shape (n_sentences,)
            ``heads[i]`` is an int ndarray of shape (n_found_i, n_tokens_i). Each row holds the
            heads of a tree as from :meth:`sample_heads`; all rows differ. There are k rows, or
            fewer if fewer trees exist or were drawn.
        log_probabilities : object ndarray of shape (n_sentences,)
            ``log_probabilities[i]`` is an ndarray of shape (n_found_i,), in decreasing order: the
            log probability, in nats, of each tree among the allowed trees of its sentence.

        Raises
        ------
        ValueError
            If `k` or `n_samples` is below 1, or as for :meth:`sample_heads`.

        Warns
        -----
        UserWarning
            As for :meth:`sample_heads`, where trees are drawn.

        See Also
        --------
        predict_tree_proba : Probability of one tree.
        sample_heads : Trees drawn according to their probability.

        Notes
        -----
        Probabilities are exact, even for trees that were drawn. The first tree is the one that
        ``decoder="viterbi"`` finds, which is not necessarily the one with the most heads expected
        to be correct. If a parser has no mass for a sentence, the trees come from its
        `fallback_operators_`, and the probability of a drawn tree is its share of the draws.

        k exact trees of N tokens take k times O(N^2) time on top of the time for the best tree.

        References
        ----------
        Huang and Chiang (2005), Better k-best parsing, on the problem and another solution.

        Lawler (1972), A procedure for computing the k best solutions to discrete optimization
        problems, on the solution used here.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn_shag import DeterministicSHAG
        >>> X, y = [["N", "V", "N", "ADV"], ["N", "V", "N", "ADV"]], [[2, 0, 2, 2], [2, 0, 2, 3]]
        >>> model = DeterministicSHAG(smoothing=0.1).fit(X, y)
        >>> heads, log_probabilities = model.k_best_heads(X[:1], 2)
        >>> heads[0]
        array([[2, 0, 2, 2],
               [2, 0, 2, 3]])
        >>> np.exp(log_probabilities[0]).round(1)
        array([0.5, 0.5])
        """
        want, batch = self._rank_trees(self._batch(X, allowed), k, n_samples, random_state)
        answers = ask(self, want, batch)
        heads, logs = (object_array([answer[k] for answer in answers]) for k in range(2))
        return heads, logs

    def _rank_trees(self, batch, k, n_samples, random_state, name="k"):
        """Return a function that lists the k best trees of a forest, and the batch for it."""
        check_whole_number(k, name)
        check_whole_number(n_samples, "n_samples")
        if self._deterministic:
            return partial(list_derivations, k), batch
        batch = self._seeded(batch, n_samples, random_state)
        return partial(list_most_probable, k, n_samples), batch

    def _seeded(self, batch, n_samples, random_state):
        """Give each sentence the seeds of its random trees."""
        seeds = self._draw_seeds(batch, n_samples, check_random_state(random_state))
        return batch._replace(seeds=seeds)

    def _draw_seeds(self, batch, n_samples, rng):
        """Draw the seeds of random trees, by default one for each sentence."""
        return rng.randint(2**32, size=batch.indptr.size - 1, dtype=np.uint32)

    def _forest(self, batch):
        """Make the Forest of a chunk: a hook for parsers that have no `_score` of their own."""
        return Forest(self._score, batch)

    @abstractmethod
    def _encode(self, sentences, symbols, indptr):
        """Encode the tokens of all sentences as whole numbers.

        Parameters
        ----------
        sentences : list
            The sentences as users give them.
        symbols : list of sequences of str
            The symbols of each sentence.
        indptr : int ndarray of shape (n_sentences + 1,)
            Place of the first token of each sentence, among all tokens.

        Returns
        -------
        codes : int ndarray of shape (n_tokens,) or (n_tokens, n_columns), or a tuple of such
        """

    def _list_sources(self):
        """List the sources of vectors in context that read the sentences of users, unchanged."""
        return []

    @abstractmethod
    def _score(self, batch, rung=0):
        """Score a chunk of sentences: grammar and potentials for the chart, and a Labeller.

        Parameters
        ----------
        batch : Batch
        rung : int, default=0
            Higher rungs are for sentences without mass under the lower ones.

        Returns
        -------
        scored : Scored or None
            None where there is no such rung.
        """

    def _labeller(self, batch):
        """Return the CountLabeller of a chunk encoded as symbols, or None without labels."""
        return CountLabeller(self, batch) if self._has_labels else None

    @property
    def _has_labels(self):
        """Whether a fitted parser knows relations; a parser without trees may have no labels_."""
        return len(getattr(self, "labels_", ())) > 0

    def predict_labels(
        self,
        X: Sentences,
        y: Heads | None = None,
        *,
        allowed: Allowed | None = None,
        unique_relations: UniqueRelations = "auto",
    ) -> ObjectArray:
        """Label the arcs of predicted or given trees with their relations.

        Parameters
        ----------
        X : sequence of length n_sentences
            As for :meth:`predict`.
        y : None or sequence of length n_sentences, default=None
            The heads of each sentence (1-based, 0 for the root) or a DependencyTree with heads.
            None predicts them.
        allowed : None or sequence of length n_sentences, default=None
            As for :meth:`predict`, if heads are predicted.
        unique_relations : "auto" or sequence of str or tuple of str, default="auto"
            Relations, or groups of them, that each head may have at most once, such as
            ``[("nsubj", "csubj"), "obj"]``. Subtypes such as nsubj:pass count as their relation,
            except nsubj:outer and csubj:outer. Where several arcs compete, the most probable
            compatible labels are chosen. "auto" means the attribute `unique_relations_`, and none
            for parsers without it.

        Returns
        -------
        labels : object ndarray of shape (n_sentences,)
            ``labels[i]`` is an ndarray of str of shape (n_tokens_i,), dtype object: the relation of
            each token to its head, one of `labels_`.

        Raises
        ------
        ValueError
            If the training trees had no relations, `y` are not trees over these sentences,
            both `y` and `allowed` are given, or `unique_relations` leaves no other relation.
        TypeError
            If `unique_relations` holds anything else.

        Notes
        -----
        No two arcs of a head may have labels from the same group. Subject to that, the labels with
        the largest product of probabilities are chosen: an assignment problem, solved exactly.
        """
        if y is not None and allowed is not None:
            raise ValueError("Give y, or the arcs allowed in predicted trees, but not both.")
        self._check_labels()
        groups = self._group_labels(unique_relations)
        batch, decoder = self._batch_of_trees(X, y, allowed)
        return object_array(ask(self, partial(list_arc_labels, decoder, groups), batch))

    def _batch_of_trees(self, X, y, allowed=None, partial=False):
        """Encode sentences whose trees are asked about; no decoder is needed for given heads."""
        batch = self._batch(X, allowed)
        if y is None:
            return batch, self.decoder
        heads = check_heads(batch.sentences, y, partial=partial)
        return batch._replace(known=list_heads(batch, heads)), None

    def _group_labels(self, unique_relations):
        """Return the group of each label, (n_labels,), -1 for none; or None without groups."""
        is_auto = isinstance(unique_relations, str) and unique_relations == "auto"
        if is_auto:
            unique_relations = getattr(self, "unique_relations_", ())
        if isinstance(unique_relations, str):
            raise TypeError(f"unique_relations must be 'auto' or a list, got {unique_relations!r}.")
        if not unique_relations:
            return None
        groups, count = np.full(len(getattr(self, "labels_", ())), -1), 0
        for group in unique_relations:
            names = (group,) if isinstance(group, str) else group
            if not (isinstance(names, tuple | list) and all(isinstance(n, str) for n in names)):
                raise TypeError(f"unique_relations holds {group!r}, which names no relations.")
            bases = (label.partition(":") for label in self.labels_)
            chosen = [base in names and subtype != "outer" for base, _, subtype in bases]
            groups[chosen] = count
            count += any(chosen)
        if not count or (is_auto and groups.min() >= 0):
            return None
        if groups.min() >= 0:
            raise ValueError(
                "unique_relations holds all relations that this parser knows, so a head could not "
                "have more arcs than there are groups. Leave some out."
            )
        return np.unique(groups, return_inverse=True)[1] - 1  # without groups that lost all labels

    def predict_label_proba(self, X: Sentences, y: Heads | None = None) -> ObjectArray:
        """Compute the probability of each relation for the arcs of predicted or given trees.

        Parameters
        ----------
        X : sequence of length n_sentences
            As for :meth:`predict`.
        y : None or sequence of length n_sentences, default=None
            As for :meth:`predict_labels`.

        Returns
        -------
        probabilities : object ndarray of shape (n_sentences,)
            ``probabilities[i]`` has shape (n_tokens_i, n_labels): for each token, the probability
            of each of `labels_` given its head. Rows sum to 1.

        Raises
        ------
        ValueError
            As for :meth:`predict_labels`.

        See Also
        --------
        predict_marginals : Probabilities of heads.

        Examples
        --------
        >>> from sklearn_shag import CRFParser
        >>> from sklearn_shag.datasets import load_english
        >>> trees = load_english().data
        >>> parser = CRFParser(["upos"], n_features=2**12, random_state=0).fit(trees[:100])
        >>> probabilities = parser.predict_label_proba(trees[:1])[0]
        >>> parser.labels_[probabilities.argmax(axis=1)][:3]
        array(['det', 'nsubj', 'root'], dtype=object)
        """
        self._check_labels()
        batch, decoder = self._batch_of_trees(X, y)
        return object_array(ask(self, partial(list_label_proba, decoder), batch))

    def _check_labels(self):
        self._check_ready()
        if not self._has_labels:
            raise ValueError(
                f"This {type(self).__name__} knows no relations: it was fitted on none. Fit it on "
                f"trees with relations (deprels, the column DEPREL of CoNLL-U); a parser that "
                f"learns from raw text takes them as y."
            )

    def score(
        self, X: Sentences, y: Heads | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Compute the unlabelled attachment score of the predicted trees.

        Parameters
        ----------
        X : sequence of length n_sentences
            As for :meth:`fit`.
        y : None or sequence of length n_sentences, default=None
            The true heads, -1 if unknown; None uses those of the trees in X.
        sample_weight : None or array-like of shape (n_sentences,), default=None
            Weight of each sentence.

        Returns
        -------
        score : float
            Share of tokens with a known head, including punctuation, that get it, in [0, 1].

        Raises
        ------
        ValueError
            If no head is known.
        """
        check_is_fitted(self)
        sentences, true_heads = check_trees(X, y)
        return unlabeled_attachment_score(
            true_heads, self.predict(sentences), sample_weight=sample_weight
        )

    @overload
    def parse(
        self, X: Sentences, *, allowed: Allowed | None = None, **options: Unpack[OneTree]
    ) -> list[DependencyTree]: ...

    @overload
    def parse(
        self, X: Sentences, *, allowed: Allowed | None = None, **options: Unpack[TreeLists]
    ) -> list[list[DependencyTree]]: ...

    def parse(
        self,
        X: Sentences,
        *,
        allowed: Allowed | None = None,
        keep_heads: bool = False,
        unique_relations: UniqueRelations = "auto",
        confidence: bool = False,
        n_best: int | None = None,
        n_samples: int | None = None,
        random_state: RandomSeed = None,
    ) -> list[Any]:
        """Parse sentences into trees that can be drawn or written as CoNLL-U.

        Parameters
        ----------
        X : sequence of length n_sentences
            As for :meth:`predict`.
        allowed : None or sequence of length n_sentences, default=None
            As for :meth:`predict`.
        keep_heads : bool, default=False
            Whether to keep the heads of the trees in X, with their relations, and predict only
            unknown ones (-1). If no projective tree has them, the tree is the best of all trees
            that do, as with ``decoder="mst"``. The enhanced graph (DEPS and empty nodes) is kept,
            too. Otherwise, heads in X are ignored, and the graph is dropped.
        unique_relations : "auto" or sequence of str or tuple of str, default="auto"
            As for :meth:`predict_labels`; relations that are kept do not count.
        confidence : bool, default=False
            Whether to write into each tree how probable it is: as the comment "score" its log
            probability given the sentence, in nats, and for each token, in MISC, the probability of
            its head as ``Confidence``, as from :meth:`predict_marginals`. The score is -inf if the
            parser has no mass for the sentence.
        n_best : None or int, default=None
            List so many trees of each sentence, the most probable ones, as :meth:`k_best_heads`
            finds them. Each has the comment "score".
        n_samples : None or int, default=None
            List so many random trees of each sentence, as :meth:`sample_heads` draws them. Each has
            the comment "score".
        random_state : int, RandomState instance or None, default=None
            Seeds the draws, if trees are drawn.

        Returns
        -------
        trees : list of DependencyTree, or list of lists of DependencyTree
            The trees of X with predicted heads, with relations if the training trees had any, and
            with tags if these were learned. A plain sequence becomes a tree whose forms are its
            items. A list of trees for each sentence with `n_best` or `n_samples`.

        Raises
        ------
        ValueError
            As for :meth:`predict`; or if the heads to be kept have two roots. The message names the
            sentence and the tokens. With `n_best` and `n_samples` as for :meth:`k_best_heads` and
            :meth:`sample_heads`, or if both are given.

        Examples
        --------
        >>> from sklearn_shag import DeterministicSHAG
        >>> X, y = [["N", "V", "N", "ADV"], ["N", "V", "N", "ADV"]], [[2, 0, 2, 2], [2, 0, 2, 3]]
        >>> model = DeterministicSHAG(smoothing=0.1).fit(X, y)
        >>> model.parse(X[:1])[0]
        DependencyTree('N V N ADV', heads=[2, 0, 2, 2])
        >>> for tree in model.parse(X[:1], n_best=2, confidence=True)[0]:
        ...     print(tree.heads, tree.comments, tree.misc[3])
        [2 0 2 2] ('# score = -0.6853',) Confidence=0.5041
        [2 0 2 3] ('# score = -0.7013',) Confidence=0.4959
        """
        trees = {"n_best": n_best, "n_samples": n_samples, "random_state": random_state}
        rows = self._find_answers(X, allowed, keep_heads, unique_relations, confidence, **trees)
        found = [make_trees(sentence, answer, keep_heads) for sentence, answer in rows]
        is_one = n_best is None and n_samples is None
        return [tree for (tree,) in found] if is_one else found

    def _find_answers(self, X, allowed, keep_heads, unique_relations, confidence, **trees):
        """Iterate over pairs of a sentence and its Answer, by the arguments of `parse`.

        With "all" as confidence, there are probabilities of labels and tags, too.
        """
        several = trees["n_best"] is not None or trees["n_samples"] is not None
        groups = self._group_labels(unique_relations)
        batch = self._batch(X, allowed, keep_heads)
        find, batch = self._choose_trees(batch, **trees)
        want = partial(
            list_answers, find, groups, several or confidence, confidence, confidence == "all"
        )
        return zip(batch.sentences, ask(self, want, batch), strict=True)

    def _choose_trees(self, batch, n_best, n_samples, random_state):
        """Return a function that lists the trees of `parse` in a forest, and the batch for it."""
        if n_best is not None and n_samples is not None:
            raise ValueError("Give n_best, for the best trees, or n_samples, but not both.")
        if n_best is not None:
            want, batch = self._rank_trees(batch, n_best, N_DRAWN, random_state, "n_best")
            return partial(list_rows, want), batch
        if n_samples is not None:
            check_whole_number(n_samples, "n_samples")
            batch = self._seeded(batch, n_samples, random_state)
            return partial(list_samples, n_samples), batch
        return partial(list_best_rows, self.decoder), batch

    def iter_parse(
        self: Any,  # pipelines have it too
        X: Sentences,
        *,
        chunk_size: int = 1000,
        n_jobs: int | None = None,
        random_state: RandomSeed = None,
        **options: Any,
    ) -> Iterator[Any]:
        """Parse any number of sentences one after the other.

        Parameters
        ----------
        X : iterable of sentences
            As for :meth:`parse`; it may be a generator, such as
            :func:`~sklearn_shag.treebank.iter_conllu`. At most a few chunks are held in memory.
        chunk_size : int, default=1000
            How many are parsed at once. It does not affect the result, unless trees are drawn.
        n_jobs : int or None, default=None
            Number of processes, each of which parses whole chunks. With None or 1, chunks are
            parsed in this process, by as many threads as the parameter `n_jobs` of the parser says.
        random_state : int, RandomState instance or None, default=None
            Seeds the draws, if trees are drawn. The same int gives the same trees for the same
            `chunk_size`, regardless of `n_jobs`.
        **options : dict
            As for :meth:`parse`: `keep_heads`, `unique_relations`, `confidence`, `n_best` and
            `n_samples`.

        Returns
        -------
        trees : iterator of DependencyTree, or iterator of lists of DependencyTree
            The same trees as from :meth:`parse`.

        Raises
        ------
        ValueError
            As for :meth:`parse`, when a chunk with such a sentence is parsed.
        TypeError
            If :meth:`parse` has no such option.

        Examples
        --------
        >>> from sklearn_shag import DeterministicSHAG
        >>> model = DeterministicSHAG().fit([["DET", "NOUN", "VERB"]], [[2, 3, 0]])
        >>> sentences = (["DET", "NOUN", "VERB"] for _ in range(3))
        >>> [tree.heads.tolist() for tree in model.iter_parse(sentences)]
        [[2, 3, 0], [2, 3, 0], [2, 3, 0]]
        """
        check_whole_number(chunk_size, "chunk_size")
        refuse_set(X, "X")
        try:
            signature(self.parse).bind(X, **options)
        except TypeError as error:
            raise TypeError(f"iter_parse {error}.") from None
        rng = check_random_state(random_state)
        chunks = ((part, rng.randint(2**31)) for part in in_chunks(X, chunk_size))
        parse, n_workers = partial(_parse_chunk, self, options), count_workers(n_jobs or 1)
        return chain.from_iterable(map_in_processes(parse, chunks, n_workers))

    @property
    def _needs_whole_trees(self):
        """Class name of the learner that needs whole trees, for messages; None if none does."""
        return type(self).__name__

    @property
    def _projective(self):
        """Whether predicted trees have no arcs that cross, where known heads leave such trees."""
        return self.decoder != "mst" and self.trees_ == "projective"

    @property
    def _kinds(self):
        """The kinds of trees, "projective" or "all", of its sums, or of the sums of members."""
        return {self.trees_}

    def _batch(self, X, allowed=None, keep_heads=False):
        """Check sentences and `allowed` arcs, and encode them as a Batch."""
        self._check_ready()
        sentences, symbols = check_sentences(X, allow_empty=True)
        lengths = list(map(len, symbols))
        if self.max_tokens is not None and max(lengths, default=0) > self.max_tokens:
            index = next(k for k, length in enumerate(lengths) if length > self.max_tokens)
            raise ValueError(
                f"X[{index}] has {lengths[index]} tokens, more than max_tokens={self.max_tokens}. "
                f"Split it, or raise the limit; time grows with the cube of its length."
            )
        crossing = None
        if keep_heads or allowed is not None:
            projective = "projective" in self._kinds
            allowed, crossing = allow_arcs(sentences, allowed, keep_heads, projective)
        indptr = np.array([*accumulate(lengths, initial=0)])
        codes = self._encode(sentences, symbols, indptr) if sentences else np.zeros(0, np.int64)
        return Batch(codes, indptr, sentences, allowed, crossing)

    def _known_heads(self, batch, y):
        """List the heads of each sentence, -1 where they are not known."""
        return list_heads(batch, check_heads(batch.sentences, y, partial=True))

    def _check_ready(self):
        check_is_fitted(self)
        self._check_parsing()

    def _check_parsing(self):
        """Check the parameters of parsing, for each class and values once."""
        values = tuple(getattr(self, name) for name in self._parsing_parameters)
        check = _check_parsing_params
        try:
            hash(values)
        except TypeError:  # the check refuses them with a better message
            check = _check_parsing_params.__wrapped__
        check(type(self), *values)
        if self.decoder == "viterbi" and not self._deterministic:
            raise ValueError(
                f"decoder='viterbi' finds the best path through the states, which is the best tree "
                f"only for deterministic automata. Use decoder='mbr' or 'max_marginal' with "
                f"{type(self).__name__}."
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = InputTags(two_d_array=False, string=True)
        return tags


@lru_cache(typed=True)
def _check_parsing_params(kind, *values):
    """Check parameters of parsing for a class; cached, since it takes longer than a sentence."""
    params = dict(zip(kind._parsing_parameters, values, strict=True))
    constraints = {name: kind._parameter_constraints[name] for name in params}
    validate_parameter_constraints(constraints, params, kind.__name__)


def _parse_chunk(parser, options, chunk):
    sentences, seed = chunk
    return parser.parse(sentences, random_state=seed, **options)


class CountLabeller(Labeller):
    """Labels by their shares among the arcs of training with the same symbols and direction."""

    def __init__(self, parser, batch):
        self.names, self._parser, self._batch = parser.labels_, parser, batch

    def scores(self, heads):
        parser, batch = self._parser, self._batch
        table = keep(parser, (parser.label_counts_, parser.symbols_), tabulate_labels)
        contexts = find_contexts(table, batch.codes, heads, batch.indptr)
        counts = count_relations(table, contexts, self.names.size)
        return counts / counts.sum(axis=1, keepdims=True)


class CalibratedMixin:
    """Mixin of parsers that learn on held-out trees to correct their probabilities and labels."""

    temperatures_: FloatArray
    uniform_shares_: FloatArray
    unique_relations_: tuple[str, ...]

    @property
    def _of_heads(self):
        return Calibration(float(self.temperatures_[0]), float(self.uniform_shares_[0]))

    def _correct_labels(self, probabilities):
        """Correct probabilities of labels, (n_tokens, n_labels), in place, and return them."""
        ends = np.arange(len(probabilities) + 1) * probabilities.shape[1]
        calibrate(probabilities.ravel(), ends, self.temperatures_[1], self.uniform_shares_[1])
        return probabilities

    def _answer(self, batch, heads, labels, weights):
        """Compute the uncorrected probabilities of heads and labels, and losses by unique ones.

        Parameters
        ----------
        batch : Batch
        heads, labels : int ndarrays of shape (n_tokens,)
            True ones, -1 if unknown.
        weights : ndarray of shape (n_sentences,)

        Returns
        -------
        of_heads, of_labels : Answers
        losses : ndarray of shape (n_sentences, 2)
            As for :func:`learn_calibrations`; 0 if no relation can be made unique.
        """
        vars(self).update(learn_calibrations([]), unique_relations_=UNIQUE)
        groups = self._group_labels("auto")
        lengths = np.diff(batch.indptr)
        weights = np.repeat(weights, lengths)
        batch = batch._replace(known=list_heads(batch, np.maximum(heads, 0)))
        want = partial(list_uncertain, self.decoder, groups)
        marginals, found, predicted = zip(*ask(self, want, batch), strict=True)
        sizes = np.repeat(lengths + 1, lengths)
        of_heads = Answers(np.concatenate(list(map(np.ravel, marginals))), sizes, heads, weights)
        found = np.concatenate(found)
        sizes = np.full(heads.size, found.shape[1])
        chosen, plain, unique = np.concatenate(predicted).T
        counted = weights * (heads >= 0)
        if groups is None:
            counted[:] = 0.0
        lost = counted * (chosen == heads) * (1.0 * (plain == labels) - (unique == labels))
        losses = np.add.reduceat(np.stack([counted, lost], axis=1), batch.indptr[:-1])
        return of_heads, Answers(found.ravel(), sizes, labels, weights), losses
