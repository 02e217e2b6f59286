"""Sentences in, trees out: what all parsers share, and what those with a grammar share."""

from abc import ABC, abstractmethod
from functools import lru_cache, partial
from numbers import Integral
from typing import Any, NamedTuple, Self
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from sklearn_shag.encoding import (
    check_allowed,
    check_heads,
    check_sentences,
    decode_trees,
    encode_sentences,
)
from sklearn_shag.metrics import unlabeled_attachment_score
from sklearn_shag.operators import Operators, sample_derivations
from sklearn_shag.parsing import (
    Batch,
    Potentials,
    find_impossible,
    log_grammar,
    over_chunks,
    pack_grammar,
    parse_derivations,
    parse_heads,
    parse_log_partitions,
    parse_marginals,
    report_marginals,
    value_trees,
)
from sklearn_shag.treebank import DependencyTree, Heads, Sentences
from sklearn_shag.utils._param_validation import (
    Interval,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn_shag.utils._typing import Allowed, ArrayLike, FloatArray, ObjectArray, RandomSeed
from sklearn_shag.utils._warnings import warn

__all__ = ["BaseParser", "BaseSHAG", "Learned"]


class BaseParser(BaseEstimator, ABC):
    """Parser by a chart: everything but what it knows of sentences, and how it came to know it.

    A subclass has the parameters `decoder`, `n_jobs` and `verbose`. It says what it knows in three
    hooks: of sentences in `_encode` their symbols and in `_potentials`, a chunk at a time, the
    rest; in `_grammars` what they have in common.
    """

    _parameter_constraints = {
        "decoder": [StrOptions({"mbr", "max_marginal", "viterbi"})],
        "n_jobs": [
            None,
            Interval(Integral, 1, None, closed="left"),
            Interval(Integral, None, -1, closed="right"),
        ],
        "verbose": ["verbose"],
    }

    decoder: str
    n_jobs: int | None
    verbose: int

    # Whether a derivation has just one state path, so that the best path is the best tree.
    _deterministic = False

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

    @abstractmethod
    def _grammars(self):
        """Return packed grammars, each for sentences that those before have no mass for."""

    @abstractmethod
    def _encode(self, symbols):
        """Return the symbol codes of all sentences, and where those of each begin."""

    @staticmethod
    def _potentials(batch):
        """Return the Potentials of a Batch of sentences: by default their codes."""
        return Potentials(batch.indptr, batch.codes)

    def _batch(self, X, allowed=None):
        self._check_ready()
        sentences, symbols = check_sentences(X)
        codes, indptr = self._encode(symbols)
        if allowed is not None:
            allowed = check_allowed(allowed, np.diff(indptr).tolist())
            impossible = find_impossible(allowed)
            if impossible is not None:
                raise ValueError(
                    f"X[{impossible}] has no projective tree with one root whose arcs are all "
                    f"allowed: allow more of them in allowed[{impossible}]."
                )
        return Batch(sentences, codes, indptr, allowed)

    def predict(self, X: Sentences, *, allowed: Allowed | None = None) -> ObjectArray:
        """Parse sentences.

        Parameters
        ----------
        X : sequence of length n_sentences
            ``X[i]`` is a DependencyTree, whose heads are not looked at, or a sequence of symbols.
        allowed : None or sequence of length n_sentences, default=None
            Which arcs may be used: ``allowed[i]`` is a boolean array of the shape of marginals,
            (n_tokens_i, n_tokens_i + 1), or None for all. A token with a known head has one True
            in its row.

        Returns
        -------
        heads : object ndarray of shape (n_sentences,)
            ``heads[i]`` is an int ndarray of shape (n_tokens_i,): 1-based head positions, 0 for the
            root. Always a projective tree with one root.

        Raises
        ------
        ValueError
            If `allowed` has other shapes, or leaves a sentence no projective tree with one root.

        Notes
        -----
        O(n N^3 + n^2 N^2) time for a sentence of N tokens and automata with n states, and
        O(n N^2) memory for each thread: about 40 n N^2 bytes for its longest sentence, n rounded
        up to a multiple of 8, and twice as much for automata with one state, of which eight
        sentences are parsed together.
        """
        batch = self._batch(X, allowed)
        if self.decoder == "viterbi":
            logs = [log_grammar(grammar.operators) for grammar in self._grammars()]
            task = partial(parse_derivations, logs, self._potentials)
        else:
            logarithm = self.decoder == "mbr"
            task = partial(parse_heads, self._grammars(), self._potentials, logarithm=logarithm)
        return _object_array(over_chunks(task, batch, self.n_jobs, self.verbose))

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
        at 1e-12 from below and each row is divided by its sum; ``decoder="mbr"`` and
        ``"max_marginal"`` decode from exactly what is returned here. Where Z, the total
        mass of the trees of a sentence, is zero, or it or a marginal is not finite, the
        grammar in `fallback_operators_` is used.
        """
        batch = self._batch(X, allowed)
        task = partial(parse_marginals, self._grammars(), self._potentials)
        return _object_array(over_chunks(task, batch, self.n_jobs, self.verbose))

    def score(
        self, X: Sentences, y: Heads | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Compute the unlabelled attachment score of the predicted trees.

        Parameters
        ----------
        X : sequence of length n_sentences
            As for :meth:`fit`.
        y : None or sequence of length n_sentences, default=None
            The true heads; None takes those of the trees in X.
        sample_weight : None or array-like of shape (n_sentences,), default=None
            How often each sentence counts.

        Returns
        -------
        score : float
            Share of tokens, punctuation included, with the right head, in [0, 1].
        """
        check_is_fitted(self)
        sentences, symbols = check_sentences(X)
        true_heads = check_heads(sentences, y)
        cuts = np.cumsum([len(sentence) for sentence in symbols])[:-1]
        return unlabeled_attachment_score(
            np.split(true_heads, cuts), self.predict(sentences), sample_weight=sample_weight
        )

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
        sign, log_abs_z = self._log_partitions(self._batch(X))
        return np.where(sign > 0, log_abs_z, -np.inf)

    def conditional_log_likelihood(self, X: Sentences, y: Heads | None = None) -> FloatArray:
        """Compute the log probability of trees, given their sentences.

        Parameters
        ----------
        X : sequence of length n_sentences
            As for :meth:`fit`.
        y : None or sequence of length n_sentences, default=None
            Heads; None takes those of the trees in X.

        Returns
        -------
        log_probabilities : ndarray of shape (n_sentences,)
            In nats: log Z of the tree alone, less log Z of all trees. -inf for trees that are not
            projective or have several roots, and where the estimate is not positive.
        """
        batch = self._batch(X)
        known = np.split(check_heads(batch.sentences, y), batch.indptr[1:-1])
        sign, log_abs_z = self._log_partitions(batch)
        allowed = [np.arange(heads.size + 1) == heads[:, None] for heads in known]
        sign_known, log_abs_known = self._log_partitions(batch._replace(allowed=allowed))
        possible, impossible = (sign != 0) & (sign == sign_known), np.full(sign.size, -np.inf)
        return np.subtract(log_abs_known, log_abs_z, out=impossible, where=possible)

    def _log_partitions(self, batch):
        """Compute sign and log |Z| of every sentence."""
        task = partial(parse_log_partitions, self._grammars()[:1], self._potentials)
        results = over_chunks(task, batch, self.n_jobs, self.verbose)
        return tuple(map(np.array, zip(*results, strict=True)))

    def _report_marginals(self, X):
        """List what :class:`~sklearn_shag.inspection.MarginalReport` says of each sentence."""
        batch = self._batch(X)
        task = partial(report_marginals, self._grammars()[:1], self._potentials)
        return over_chunks(task, batch, self.n_jobs, self.verbose)

    def parse(self, X: Sentences, *, allowed: Allowed | None = None) -> list[DependencyTree]:
        """Parse sentences into trees that can be drawn or written as CoNLL-U.

        Parameters
        ----------
        X : sequence of length n_sentences
            As for :meth:`predict`.
        allowed : None or sequence of length n_sentences, default=None
            As for :meth:`predict`.

        Returns
        -------
        trees : list of DependencyTree
            The trees of X with predicted heads and no relation labels; for a plain sequence of
            symbols a tree whose forms are the symbols.
        """
        sentences, _ = check_sentences(X)
        return [
            sentence.with_heads(heads)
            if isinstance(sentence, DependencyTree)
            else DependencyTree(sentence, heads)
            for sentence, heads in zip(
                sentences, self.predict(sentences, allowed=allowed), strict=True
            )
        ]

    def _check_ready(self):
        check_is_fitted(self)
        self._check_parsing()

    def _check_parsing(self):
        """Check the parameters of parsing, which set_params may have changed since fit."""
        values = type(self), self.decoder, self.n_jobs, self.verbose
        check = _check_parsing
        try:
            hash(values)
        except TypeError:  # to be refused, too, and not for that
            check = _check_parsing.__wrapped__
        check(*values)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags


@lru_cache(typed=True)
def _check_parsing(kind, decoder, n_jobs, verbose):
    """Check them for a class of estimators, once: it takes longer than to parse a sentence."""
    params = {"decoder": decoder, "n_jobs": n_jobs, "verbose": verbose}
    constraints = {name: kind._parameter_constraints[name] for name in params}
    validate_parameter_constraints(constraints, params, kind.__name__)
    if decoder == "viterbi" and not kind._deterministic:
        raise ValueError(
            f"decoder='viterbi' finds the best path through the states, which is the best tree "
            f"only for deterministic automata. Use decoder='mbr' or 'max_marginal' with "
            f"{kind.__name__}."
        )


class Learned(NamedTuple):
    """What a learner has learned. It is no part of the estimator yet."""

    operators: Operators  # leading axes (n_symbols + 2, 2)
    attributes: dict[str, Any] = {}
    warnings: tuple = ()  # pairs of a message and a category


# Grammars as the charts need them, while their estimators live: to pack them takes longer than to
# parse a sentence. No attributes, since prediction must not change what is copied and pickled.
_PACKED = WeakKeyDictionary()


class BaseSHAG(BaseParser):
    """Split head-automata grammar: parsing, scoring and sampling, however it was learned.

    A subclass learns `symbols_`, `operators_` and `fallback_operators_`.
    """

    symbols_: ObjectArray
    operators_: Operators
    fallback_operators_: Operators

    def _become_fitted(self, statistics, learned, fallback, **others):
        """Take over what was learned.

        Warnings come first, since they may be errors, and all attributes last and at once: an
        estimator that fails, or is interrupted, is left as it was.
        """
        for message, category in learned.warnings:
            warn(message, category)
        vars(self).update(
            symbols_=statistics.symbols,
            operators_=learned.operators,
            fallback_operators_=fallback,
            **learned.attributes,
            **others,
        )

    def _grammars(self):
        operators, fallback = self.operators_, self.fallback_operators_
        kept = _PACKED.get(self)
        if kept is None or kept[0] is not operators or kept[1] is not fallback:
            kept = operators, fallback, (pack_grammar(operators), pack_grammar(fallback))
            _PACKED[self] = kept
        return kept[2]

    def _encode(self, symbols):
        return encode_sentences(symbols, self.symbols_)

    def score_samples(self, X: Sentences, y: Heads | None = None) -> FloatArray:
        """Compute the log probability of trees.

        Parameters
        ----------
        X : sequence of length n_sentences
            As for :meth:`fit`.
        y : None or sequence of length n_sentences, default=None
            Heads; None takes those of the trees in X.

        Returns
        -------
        log_probabilities : ndarray of shape (n_sentences,)
            In nats. -inf for trees with several roots, and where the estimate, a product over the
            head-modifier sequences, is not positive.

        Notes
        -----
        Eq. 1 of the theory page. A non-projective tree is scored by its sequences like any other,
        although the grammar generates its words in another order. An unknown symbol counts as a
        missing observation: the probability is summed over what it may stand for.
        """
        batch = self._batch(X)
        heads = check_heads(batch.sentences, y)
        sign, log_abs = value_trees(self.operators_, self._potentials(batch), heads)
        return np.where(sign > 0, log_abs, -np.inf)

    def sample(
        self, n_samples: int = 1, random_state: RandomSeed = None, *, max_length: int = 200
    ) -> list[DependencyTree]:
        """Draw trees from the grammar.

        Parameters
        ----------
        n_samples : int, default=1
            Number of trees.
        random_state : int, RandomState instance or None, default=None
        max_length : int, default=200
            Longer sentences are drawn anew.

        Returns
        -------
        trees : list of DependencyTree
            Their forms are their symbols.

        Raises
        ------
        ValueError
            If `n_samples` is not positive, or sentences keep growing beyond `max_length`.

        Notes
        -----
        Where a learned automaton estimates a probability below zero, it counts as zero.
        """
        self._check_ready()
        for name, number in (("n_samples", n_samples), ("max_length", max_length)):
            if not isinstance(number, Integral) or number < 1:
                raise ValueError(f"{name} must be a whole number from 1 on, got {number!r}.")
        rng = check_random_state(random_state)
        drawn = sample_derivations(self.operators_, n_samples, max_length, rng)
        return decode_trees(self.symbols_, *drawn)


def _object_array(arrays):
    """Put arrays of different sizes into a 1-D object array."""
    out = np.empty(len(arrays), dtype=object)
    out[:] = arrays
    return out
