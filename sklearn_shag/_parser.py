"""Sentences in, trees out: what all parsers share."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import lru_cache, partial
from itertools import accumulate, chain
from numbers import Integral
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_scalar
from sklearn.utils.validation import check_is_fitted

from sklearn_shag.encoding import Batch, check_allowed, check_heads, check_sentences, check_trees
from sklearn_shag.metrics import unlabeled_attachment_score
from sklearn_shag.parsing import (
    advise_on_crossing,
    allow_kept_heads,
    decode,
    find_impossible,
    kept_relations,
    list_corrected,
    list_heads,
    list_log_partitions,
    list_parts,
    make_trees,
    over_chunks,
    permit_projective,
    report_marginals,
    solve,
    solve_derivations,
)
from sklearn_shag.sequences import count_relations, find_contexts, tabulate_labels
from sklearn_shag.treebank import DependencyTree, Heads, Sentences, arcs_left_by
from sklearn_shag.utils._arrays import in_chunks, object_array, refuse_set
from sklearn_shag.utils._estimators import keep
from sklearn_shag.utils._param_validation import (
    Interval,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn_shag.utils._typing import Allowed, ArrayLike, FloatArray, ObjectArray


class Parser(BaseEstimator, ABC):
    """Scorer of sentences: it says what it knows of them, and all else is written once over that.

    A subclass has the parameters `decoder`, `n_jobs`, `verbose` and, if it likes, `max_tokens`, and
    learns `labels_`, the relations of arcs (str), sorted, which are none if the trees had none.
    It says what it knows of all sentences, at the edge, in the hook `_encode`, of a chunk of them
    in `_score`, and in `_label_arcs` how it labels given arcs: by default as those with the same
    symbols and direction are labelled most often, of which there have to be `label_counts_` then.
    """

    # Parameters that predictions depend on, which set_params may have changed since fit.
    _parsing_parameters = ("decoder", "max_tokens", "n_jobs", "verbose")
    _takes_heads_of_trees = True  # of X, where there is no y
    # Whether a derivation has just one state path, so that the best path is the best tree.
    _deterministic = False

    _parameter_constraints = {
        "decoder": [StrOptions({"mbr", "max_marginal", "viterbi", "mst"})],
        "max_tokens": [None, Interval(Integral, 1, None, closed="left")],
        "n_jobs": [
            None,
            Interval(Integral, 1, None, closed="left"),
            Interval(Integral, None, -1, closed="right"),
        ],
        "verbose": ["verbose"],
    }

    decoder: str
    max_tokens: int | None = None  # a subclass may do without
    n_jobs: int | None
    verbose: int

    @abstractmethod
    def fit(self, X: Sentences, y: Heads | None = None) -> Self:
        """Learn to parse.

        Parameters
        ----------
        X : sequence of length n_sentences
            As for :meth:`predict`, or with further columns.
        y : None or sequence of length n_sentences, default=None
            Their heads; None takes those of the trees in X, if heads are needed.

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
            ``X[i]`` is a DependencyTree, whose heads are not looked at, or a sequence of symbols.
        allowed : None or sequence of length n_sentences, default=None
            Which arcs may be used: ``allowed[i]`` is a boolean array of the shape of marginals,
            (n_tokens_i, n_tokens_i + 1), or None for all. A token with a known head has one True
            in its row, as :func:`~sklearn_shag.treebank.allowed_arcs` makes it.

        Returns
        -------
        heads : object ndarray of shape (n_sentences,)
            ``heads[i]`` is an int ndarray of shape (n_tokens_i,): 1-based head positions, 0 for the
            root. Always a tree with one root, and projective but with ``decoder="mst"``.

        Raises
        ------
        ValueError
            If `allowed` has other shapes, or leaves a sentence no such tree.

        Notes
        -----
        With a chart it takes O(n N^3 + n^2 N^2) time for a sentence of N tokens and automata with n
        states, and O(n N^2) memory for each thread: about 40 n N^2 bytes for its longest sentence,
        n rounded up to a multiple of 8, and twice as much for automata with one state, of which
        eight sentences are parsed together. k classes of memory take (k + 1) / 2 times the time,
        and k times the memory.
        """
        batch, task = self._batch(X, allowed), self._decoding(list_heads)
        return object_array(over_chunks(task, batch, self.n_jobs, self.verbose))

    def predict_marginals(self, X: Sentences, *, allowed: Allowed | None = None) -> ObjectArray:
        """Compute how probable each token is as the head of each other.

        Parameters
        ----------
        X : sequence of length n_sentences
            As for :meth:`predict`.
        allowed : None or sequence of length n_sentences, default=None
            As for :meth:`predict`. What is not allowed has the probability 0.

        Returns
        -------
        marginals : object ndarray of shape (n_sentences,)
            ``marginals[i]`` has the shape (n_tokens_i, n_tokens_i + 1): in row m, column 0 is the
            probability that token m + 1 is the root, column h that token h is its head. Rows
            sum to 1.

        Notes
        -----
        Theory, eq. 25. Marginals of signed operators may leave [0, 1]. They are clipped
        at 1e-12 from below and each row is divided by its sum; all decoders but "viterbi"
        decode from these. What parsers with the parameter `calibrate` have learned of their
        probabilities corrects them after that, so that trees stay as they are. Where Z, the total
        mass of the trees of a sentence, is zero, or it or a marginal is not finite, the grammar in
        `fallback_operators_` is used.

        Z is a sum over projective trees. Where `allowed` leaves none but others, which is an
        error but with ``decoder="mst"``, marginals are those without `allowed`: what it
        forbids is set to 0, and each row is divided by its sum.
        """
        batch = self._batch(X, allowed)
        task = partial(solve, self._score, list_corrected)
        return object_array(over_chunks(task, batch, self.n_jobs, self.verbose))

    def conditional_log_likelihood(self, X: Sentences, y: Heads | None = None) -> FloatArray:
        """Compute the log probability of trees, given their sentences.

        Parameters
        ----------
        X : sequence of length n_sentences
            As for :meth:`fit`.
        y : None or sequence of length n_sentences, default=None
            Heads, -1 where they are not known; None takes those of the trees in X.

        Returns
        -------
        log_probabilities : ndarray of shape (n_sentences,)
            In nats: log Z of the tree alone, or of all trees with the known heads, less log Z of
            all trees. -inf for trees that are not projective or have several roots, and where the
            estimate is not positive.
        """
        batch = self._batch(X)
        allowed = arcs_left_by(self._known_heads(batch, y))
        sign, log_abs_z = self._log_partitions(batch, self._score)
        known = batch._replace(allowed=allowed)
        sign_known, log_abs_known = self._log_partitions(known, self._score)
        possible, impossible = (sign != 0) & (sign == sign_known), np.full(sign.size, -np.inf)
        return np.subtract(log_abs_known, log_abs_z, out=impossible, where=possible)

    @abstractmethod
    def _encode(self, sentences, symbols, indptr):
        """Say in whole numbers what is known of the tokens of all sentences.

        Parameters
        ----------
        sentences : list
            As users give them.
        symbols : list of sequences of str
            Of each sentence.
        indptr : int ndarray of shape (n_sentences + 1,)
            Where the tokens of each begin, among all.

        Returns
        -------
        codes : int ndarray of shape (n_tokens,) or (n_tokens, n_columns), or a tuple of such
        """

    def _list_sources(self):
        """What is asked for vectors in context of the tokens of sentences as they are."""
        return []

    @abstractmethod
    def _score(self, batch, rung=0):
        """Say what is known of a chunk of sentences, before any chart is asked.

        Parameters
        ----------
        batch : Batch
        rung : int, default=0
            Further ones are for sentences that those before have no mass for.

        Returns
        -------
        scored : Scored or None
            None where there is no such rung.
        """

    def _label_arcs(self, batch, heads):
        """Label given arcs.

        Parameters
        ----------
        batch : Batch
        heads : int ndarray of shape (n_tokens,)
            1-based head positions within each sentence, 0 for the root.

        Returns
        -------
        labels : int ndarray of shape (n_tokens,)
            Places in `labels_`.
        """
        table, places = self._look_up(batch, heads)
        return table.labels[table.begins[places]]

    def _label_proba(self, batch, heads):
        """Say how probable each label is for given arcs, as an array of shape (n_tokens, n_labels).

        That is as :meth:`_label_arcs` labels them, before it is corrected.
        """
        table, places = self._look_up(batch, heads)
        counts = count_relations(table, places, self.labels_.size)
        return counts / counts.sum(axis=1, keepdims=True)

    def _look_up(self, batch, heads):
        """Find what is known of the relations of arcs by the symbols at their ends."""
        table = keep(self, (self.label_counts_, self.symbols_), tabulate_labels)
        return table, find_contexts(table, batch.codes, heads, batch.indptr)

    def _labellers(self, batch, **read):
        """Say how to label given arcs of a chunk: `label` and `label_proba` of Scored, if any.

        What a parser has read of the chunk, they need not read again.
        """
        both = (self._label_arcs, self._label_proba) if self._has_labels else ()
        return [partial(label, batch, **read) for label in both]

    @property
    def _has_labels(self):
        """Whether a fitted parser knows relations; what did not learn from trees has no labels_."""
        return len(getattr(self, "labels_", ())) > 0

    def predict_labels(
        self, X: Sentences, heads: Heads | None = None, *, allowed: Allowed | None = None
    ) -> ObjectArray:
        """Label the arcs of predicted or given trees with their relations.

        Parameters
        ----------
        X : sequence of length n_sentences
            As for :meth:`predict`.
        heads : None or sequence of length n_sentences, default=None
            The heads of each sentence, 1-based, 0 for the root, or a DependencyTree with heads.
            None predicts them.
        allowed : None or sequence of length n_sentences, default=None
            As for :meth:`predict`, if heads are predicted.

        Returns
        -------
        labels : object ndarray of shape (n_sentences,)
            ``labels[i]`` is an ndarray of str of shape (n_tokens_i,), dtype object: the relation of
            each token to its head, one of `labels_`.

        Raises
        ------
        ValueError
            If the training trees had no relations, or `heads` are not those of trees over these
            sentences, or there are `allowed` arcs beside them.
        """
        self._check_labels()
        sentences, _ = check_sentences(X)
        if heads is None:
            return self._predict_parts(sentences, allowed)[1]
        if allowed is not None:
            raise ValueError("Give heads, or the arcs allowed for heads to predict, but not both.")
        batch, heads = self._batch(sentences), check_heads(sentences, heads, "heads")
        labels = self.labels_[self._label_arcs(batch, heads)]
        return object_array(list_heads(batch, None, labels))

    def predict_label_proba(self, X: Sentences, heads: Heads | None = None) -> ObjectArray:
        """Compute how probable each relation is for the arcs of predicted or given trees.

        Parameters
        ----------
        X : sequence of length n_sentences
            As for :meth:`predict`.
        heads : None or sequence of length n_sentences, default=None
            As for :meth:`predict_labels`.

        Returns
        -------
        probabilities : object ndarray of shape (n_sentences,)
            ``probabilities[i]`` has the shape (n_tokens_i, n_labels): of each token how probable
            each of `labels_` is, given its head. Rows sum to 1.

        Raises
        ------
        ValueError
            As :meth:`predict_labels`.

        See Also
        --------
        predict_marginals : How probable heads are.

        Examples
        --------
        >>> from sklearn_shag import CRFParser
        >>> from sklearn_shag.datasets import load_english
        >>> trees = load_english().data
        >>> parser = CRFParser(["upos"], random_state=0).fit(trees)
        >>> probabilities = parser.predict_label_proba(trees[:1])[0]
        >>> parser.labels_[probabilities.argmax(axis=1)][:3]
        array(['det', 'nsubj', 'root'], dtype=object)
        """
        self._check_labels()
        sentences, _ = check_sentences(X)
        heads = self.predict(sentences) if heads is None else heads
        batch, heads = self._batch(sentences), check_heads(sentences, heads, "heads")
        return object_array(list_heads(batch, None, self._label_proba(batch, heads)))

    def _check_labels(self):
        self._check_ready()
        if not self._has_labels:
            raise ValueError(
                f"This {type(self).__name__} knows no relations: it was fitted on none. Fit it on "
                f"trees with relations (deprels, the column DEPREL of CoNLL-U), on raw text as y."
            )

    def _predict_parts(self, sentences, allowed):
        """Predict heads, the labels of their arcs, and tags by the name of their column.

        Labels are None for each sentence if none are known.
        """
        batch, task = self._batch(sentences, allowed), self._decoding(list_parts)
        found = over_chunks(task, batch, self.n_jobs, self.verbose)
        heads, labels, tags = map(object_array, zip(*found, strict=True))
        if self._has_labels:
            labels = look_up(self.labels_, labels)
        if tags[0] is None:
            return heads, labels, {}
        return heads, labels, {self.tag_column_: look_up(self.tags_, tags)}

    def score(
        self, X: Sentences, y: Heads | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Compute the unlabelled attachment score of the predicted trees.

        Parameters
        ----------
        X : sequence of length n_sentences
            As for :meth:`fit`.
        y : None or sequence of length n_sentences, default=None
            The true heads, -1 where they are not known; None takes those of the trees in X.
        sample_weight : None or array-like of shape (n_sentences,), default=None
            How often each sentence counts.

        Returns
        -------
        score : float
            Share of tokens with a known head, punctuation included, that get it, in [0, 1].

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

    def parse(
        self, X: Sentences, *, allowed: Allowed | None = None, keep_heads: bool = False
    ) -> list[DependencyTree]:
        """Parse sentences into trees that can be drawn or written as CoNLL-U.

        Parameters
        ----------
        X : sequence of length n_sentences
            As for :meth:`predict`.
        allowed : None or sequence of length n_sentences, default=None
            As for :meth:`predict`.
        keep_heads : bool, default=False
            Whether heads that trees of X have are kept, with their relations, so that only those
            that are not known (-1) are predicted. Else heads of X are not looked at.

        Returns
        -------
        trees : list of DependencyTree
            The trees of X with predicted heads and, if the training trees had any, relations, and
            tags if these were learned; for a plain sequence a tree whose forms are what is in it.
            None of no sentences.

        Raises
        ------
        ValueError
            As :meth:`predict`; or if no tree that it could predict has the heads to be kept, as
            where they cross and the decoder is not "mst". The message names the sentence, and the
            arcs.

        Examples
        --------
        >>> from sklearn_shag import DeterministicSHAG
        >>> model = DeterministicSHAG().fit([["DET", "NOUN", "VERB"]], [[2, 3, 0]])
        >>> model.parse([["DET", "NOUN", "VERB"]])[0]
        DependencyTree('DET NOUN VERB', heads=[2, 3, 0])
        """
        if hasattr(X, "__len__") and not len(X):  # of nothing
            self._check_ready()
            return []
        sentences, _ = check_sentences(X)
        if keep_heads:
            allowed = allow_kept_heads(sentences, allowed, self._projective)
        heads, labels, tags = self._predict_parts(sentences, allowed)
        if keep_heads:
            labels = map(kept_relations, sentences, heads, labels)
        return make_trees(sentences, heads, labels, tags)

    def parse_iter(
        self, X: Sentences, *, chunk_size: int = 1000, keep_heads: bool = False
    ) -> Iterator[DependencyTree]:
        """Parse sentences one after the other, however many there are.

        Parameters
        ----------
        X : iterable of sentences
            As for :meth:`parse`; it may be a generator, such as
            :func:`~sklearn_shag.treebank.iter_conllu`, of which no more than `chunk_size` are held.
        chunk_size : int, default=1000
            How many are parsed at once, by `n_jobs` workers. It changes nothing else.
        keep_heads : bool, default=False
            As for :meth:`parse`.

        Returns
        -------
        trees : iterator of DependencyTree
            As :meth:`parse` lists them.

        Raises
        ------
        ValueError
            As :meth:`parse`, when a chunk with such a sentence is parsed.

        Examples
        --------
        >>> from sklearn_shag import DeterministicSHAG
        >>> model = DeterministicSHAG().fit([["DET", "NOUN", "VERB"]], [[2, 3, 0]])
        >>> sentences = (["DET", "NOUN", "VERB"] for _ in range(3))
        >>> [tree.heads.tolist() for tree in model.parse_iter(sentences)]
        [[2, 3, 0], [2, 3, 0], [2, 3, 0]]
        """
        check_scalar(chunk_size, "chunk_size", Integral, min_val=1)
        refuse_set(X, "X")
        parse = partial(self.parse, keep_heads=keep_heads)
        return chain.from_iterable(map(parse, in_chunks(X, chunk_size)))

    @property
    def _needs_whole_trees(self):
        """What learns from whole trees alone, to be named in messages; None if nothing does."""
        return type(self).__name__

    @property
    def _projective(self):
        """Whether predicted trees have no arcs that cross."""
        return self.decoder != "mst"

    def _batch(self, X, allowed=None):
        """Check sentences, and which arcs they may have, and encode them."""
        self._check_ready()
        sentences, symbols = check_sentences(X)
        lengths = list(map(len, symbols))
        if self.max_tokens is not None and max(lengths, default=0) > self.max_tokens:
            index = next(k for k, length in enumerate(lengths) if length > self.max_tokens)
            raise ValueError(
                f"X[{index}] has {lengths[index]} tokens, more than max_tokens={self.max_tokens}. "
                f"Split it, or raise the limit; time grows with the cube of its length."
            )
        indptr = np.array([*accumulate(lengths, initial=0)])
        codes = self._encode(sentences, symbols, indptr)
        if allowed is None:
            return Batch(codes, indptr, sentences)
        allowed = check_allowed(allowed, lengths)
        impossible = find_impossible(allowed, self._projective)
        if impossible is not None:
            raise ValueError(
                f"X[{impossible}] has no {'projective ' * self._projective}tree with one root "
                f"whose arcs are all allowed: allow more of them in allowed[{impossible}]"
                f"{advise_on_crossing(allowed[impossible])}."
            )
        if self._projective:
            return Batch(codes, indptr, sentences, allowed)
        return Batch(codes, indptr, sentences, permit_projective(allowed), allowed)

    def _decoding(self, want):
        """Say how to find the best trees of a chunk, and list what is wanted of them."""
        if self.decoder == "viterbi":
            return partial(solve_derivations, self._score, want)
        return partial(solve, self._score, partial(decode, self.decoder, want))

    def _known_heads(self, batch, y):
        """List the heads of each sentence, -1 where they are not known."""
        return list_heads(batch, None, check_heads(batch.sentences, y, partial=True))

    def _log_partitions(self, batch, score):
        """Compute sign and log |Z| of every sentence by the first rung."""
        task = partial(list_log_partitions, score)
        results = over_chunks(task, batch, self.n_jobs, self.verbose)
        return tuple(map(np.array, zip(*results, strict=True)))

    def _report_marginals(self, X):
        """List what :class:`~sklearn_shag.inspection.MarginalReport` says of each sentence."""
        task = partial(report_marginals, self._score)
        return over_chunks(task, self._batch(X), self.n_jobs, self.verbose)

    def _check_ready(self):
        check_is_fitted(self)
        self._check_parsing()

    def _check_parsing(self):
        """Check the parameters of parsing, for each class and values once."""
        values = tuple(getattr(self, name) for name in self._parsing_parameters)
        check = _check_parsing
        try:
            hash(values)
        except TypeError:  # to be refused, too, and not for that
            check = _check_parsing.__wrapped__
        check(type(self), *values)
        if self.decoder == "viterbi" and not self._deterministic:
            raise ValueError(
                f"decoder='viterbi' finds the best path through the states, which is the best tree "
                f"only for deterministic automata. Use decoder='mbr' or 'max_marginal' with "
                f"{type(self).__name__}."
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags


@lru_cache(typed=True)
def _check_parsing(kind, *values):
    """Check them for a class of estimators: it takes longer than to parse a sentence."""
    params = dict(zip(kind._parsing_parameters, values, strict=True))
    constraints = {name: kind._parameter_constraints[name] for name in params}
    validate_parameter_constraints(constraints, params, kind.__name__)


def look_up(names, codes):
    """List the names of the codes of each sentence."""
    return object_array([names[of_sentence] for of_sentence in codes])
