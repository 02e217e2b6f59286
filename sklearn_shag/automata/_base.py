"""The base class of estimators of sequences: checks, predictions and scores."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from itertools import chain, compress, repeat
from numbers import Integral, Real
from typing import Any, Self, TypeAlias

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sklearn_shag.automata._contexts import EncodedSequences, NGrams, count_ngrams, list_gaps
from sklearn_shag.automata._prediction import draw_one, fit_share, follow, make_predictor, make_room
from sklearn_shag.operators import MAX_REJECTED, Operators
from sklearn_shag.sequences import PrefixTree, number_prefixes
from sklearn_shag.utils._arrays import check_range, is_collection, log_of, refuse_set
from sklearn_shag.utils._estimators import BaseEstimator, NamesMixin, TransformerMixin, keep, linked
from sklearn_shag.utils._messages import shorten
from sklearn_shag.utils._param_validation import (
    LARGEST_COUNT,
    LARGEST_NUMBER,
    Interval,
    check_sample_weight,
    check_whole_number,
    fit_context,
)
from sklearn_shag.utils._typing import ArrayLike, FloatArray, IntArray, ObjectArray, RandomSeed

HELD_OUT_EVERY = 10  # sequences, to find the share of n-grams

SymbolSequences: TypeAlias = Iterable[Sequence[str] | Sequence[int] | IntArray]


def list_sequences(X, name="X"):
    """Check sequences as users give them, and return them as lists of symbols."""
    refuse_set(X, name)
    if not is_collection(X) or hasattr(X, "columns"):
        raise TypeError(
            f"{name} must be a sequence of sequences of symbols, got a {type(X).__name__}. Put one "
            f"sequence in a list: [['a', 'b']]."
        )
    sequences = []
    for index, sequence in enumerate(X):
        if not is_collection(sequence):
            advice = " Take its letters, list(text), or its words, text.split()."
            raise TypeError(
                f"{name}[{index}] is {shorten(sequence)} of type {type(sequence).__name__}, not a "
                f"sequence of symbols.{advice if isinstance(sequence, str) else ''}"
            )
        refuse_set(sequence, f"{name}[{index}]")
        sequences.append(sequence.tolist() if isinstance(sequence, np.ndarray) else list(sequence))
    return sequences


def _require_some(items):
    if not len(items):
        raise ValueError("X holds no sequences; at least one is needed.")


def encode_symbols(sequences, known=None):
    """Replace symbols by their codes.

    Parameters
    ----------
    sequences : list of lists
    known : None or ndarray
        The symbols, sorted; None takes those that occur.

    Returns
    -------
    known : ndarray of shape (n_symbols,)
        Of objects (str) or of integers.
    codes : int ndarray of shape (n_tokens,)
        ``n_symbols`` for others.

    Raises
    ------
    TypeError
        If symbols are neither all str nor all integers, or have another type than `known`.
    ValueError
        If integers are beyond 64 bits.
    """
    kinds = set(map(type, chain.from_iterable(sequences)))
    of_text = all(issubclass(kind, str) for kind in kinds)
    of_integers = all(issubclass(kind, Integral) and kind is not bool for kind in kinds)
    if not (of_text or of_integers):
        _refuse_symbol(sequences)
    if known is None:
        known = sorted(set(chain.from_iterable(sequences)))
        if not of_text:
            limits = np.iinfo(np.int64)
            check_range(np.array(known, dtype=object), limits.min, limits.max, "The symbols")
        known = np.array(known, dtype=object if of_text else np.int64)
    elif kinds and known.size and of_text != (known.dtype == object):
        raise TypeError(
            f"X holds {'strings' if of_text else 'integers'}, but the model has learned sequences "
            f"of {'integers' if of_text else 'strings'}, such as {shorten(known[:3].tolist())}."
        )
    code_of = dict(zip(known.tolist(), range(known.size), strict=True))
    codes = map(code_of.get, chain.from_iterable(sequences), repeat(known.size))
    return known, np.fromiter(codes, np.int64, sum(map(len, sequences)))


def _refuse_symbol(sequences):
    first = next(chain.from_iterable(sequences))
    fits = str if isinstance(first, str) else Integral
    for index, sequence in enumerate(sequences):
        for place, symbol in enumerate(sequence):
            if not isinstance(symbol, fits) or isinstance(symbol, bool):
                raise TypeError(
                    f"X[{index}]: the symbol at position {place} is {shorten(symbol)} of type "
                    f"{type(symbol).__name__}; symbols must be all strings, or all integers."
                )


def build_prefix_tree(sequences):
    """Build the PrefixTree of EncodedSequences."""
    codes, indptr, weights = sequences
    ends, _, parents, symbols = number_prefixes(np.zeros_like(indptr[:-1]), indptr, codes)
    return PrefixTree(parents, symbols, np.bincount(ends, weights, parents.size))


@linked
class SequenceModel(NamesMixin, TransformerMixin, BaseEstimator):
    """Base class of estimators that learn one automaton from sequences.

    A subclass learns in the hook ``_learn_automaton`` and annotates its further attributes. N-grams
    over the contexts before each symbol are learned beside the automaton and have a share in all
    probabilities.
    """

    _parameter_constraints: dict[str, list[Any]] = {
        **{
            name: [Interval(Integral, 1, LARGEST_COUNT, closed="both")]
            for name in ("n_states", "max_context", "n_contexts")
        },
        "smoothing": [Interval(Real, 0, LARGEST_NUMBER, closed="both")],
        "mixing": [Interval(Real, 0, 1, closed="both"), None],
    }

    symbols_: ObjectArray | IntArray
    operators_: Operators
    ngrams_: NGrams
    mixing_: float

    def __init__(
        self,
        *,
        n_states: int,
        max_context: int,
        n_contexts: int,
        smoothing: float,
        mixing: float | None,
    ) -> None:
        self.n_states = n_states
        self.max_context = max_context
        self.n_contexts = n_contexts
        self.smoothing = smoothing
        self.mixing = mixing

    @abstractmethod
    def _learn_automaton(self, sequences, gaps, symbols):
        """Learn from EncodedSequences with positive weights; return fitted attributes by name."""

    @fit_context
    def fit(
        self, X: SymbolSequences, y: None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn an automaton from sequences.

        Parameters
        ----------
        X : sequence of length n_sequences
            ``X[i]`` is a sequence of symbols, all str or all int, which may be empty. The rows of a
            2-D array are sequences of equal length.
        y : None
            Ignored, but its length must be that of X.
        sample_weight : None or array-like of shape (n_sequences,), default=None
            How often each sequence counts; 0 leaves it out.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If there are no sequences, all are empty, weights are negative or all zero, `y` has
            another length than X, or a parameter is invalid.
        TypeError
            If X is not a sequence of sequences, or symbols are neither all str nor all int. The
            message names the sequence.
        """
        listed = list_sequences(X)
        _require_some(listed)
        if y is not None and len(y) != len(listed):
            raise ValueError(
                f"X holds {len(listed)} sequences, but y {len(y)} values. It is ignored; if it is "
                f"lengths, as for hmmlearn, split a column into its sequences: "
                f"X = np.split(np.ravel(X), np.cumsum(lengths)[:-1])."
            )
        weights = check_sample_weight(sample_weight, listed)
        listed = list(compress(listed, weights > 0))
        symbols, codes = encode_symbols(listed)
        if not symbols.size:
            raise ValueError("All sequences of X are empty; at least one symbol is needed.")
        indptr = np.cumsum([0, *map(len, listed)])
        sequences = EncodedSequences(codes, indptr, weights[weights > 0])
        gaps = list_gaps(sequences, symbols.size, self.max_context, self.n_contexts)
        vars(self).update(
            mixing_=float(self._find_share(sequences, gaps, symbols)),
            ngrams_=count_ngrams(gaps, sequences.weights, self.smoothing),
            **self._learn_automaton(sequences, gaps, symbols),
            symbols_=symbols,
        )
        return self

    def _find_share(self, sequences, gaps, symbols):
        """Return the share of n-grams: `mixing` or, if it is None, the best on held-out data."""
        if self.mixing is not None:
            return self.mixing
        weights = sequences.weights
        is_held_out = np.arange(1, weights.size + 1) % HELD_OUT_EVERY == 0
        seen = np.where(is_held_out, 0.0, weights)
        learned = self._learn_automaton(sequences._replace(weights=seen), gaps, symbols)
        predictor = make_predictor(
            learned["operators_"], count_ngrams(gaps, seen, self.smoothing), 0.0
        )
        return fit_share(predictor, sequences, is_held_out)

    @property
    def _n_features_out(self):
        return self.operators_.alpha_1.size

    def _encode(self, X):
        """Check sequences of a fitted model and encode them: codes and indptr."""
        check_is_fitted(self)
        listed = list_sequences(X)
        _, codes = encode_symbols(listed, self.symbols_)
        return codes, np.cumsum([0, *map(len, listed)])

    def _prefix_tree(self, X):
        codes, indptr = self._encode(X)
        return build_prefix_tree(EncodedSequences(codes, indptr, np.ones(indptr.size - 1)))

    def _follow(self, X, *, scores=False):
        """Return log probabilities, last states, next outcomes, and indptr of sequences."""
        codes, indptr = self._encode(X)
        predictor, n_sequences = self._predictor(), indptr.size - 1
        logs = np.empty(codes.size + n_sequences if scores else 0)
        room = make_room(predictor, n_sequences, 1 if scores else n_sequences)
        follow(predictor, codes, indptr, logs, *room)
        return logs, *room[:2], indptr

    def _predictor(self):
        return keep(self, (self.operators_, self.ngrams_, self.mixing_), make_predictor)

    def score_samples(self, X: SymbolSequences) -> FloatArray:
        """Compute the log probability of sequences.

        Parameters
        ----------
        X : sequence of length n_sequences
            As for :meth:`fit`. An unknown symbol stands for any symbol: the probability is summed
            over the known ones.

        Returns
        -------
        log_probabilities : ndarray of shape (n_sequences,)
            Sum of the log probabilities, in nats, of each symbol given those before it, and of the
            end.
        """
        logs, _, _, indptr = self._follow(X, scores=True)
        firsts = indptr[:-1] + np.arange(indptr.size - 1)
        return np.add.reduceat(logs, firsts) if firsts.size else logs

    def score(
        self, X: SymbolSequences, y: None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Compute the mean log probability of sequences.

        Parameters
        ----------
        X : sequence of length n_sequences
            As for :meth:`score_samples`.
        y : None
            Ignored.
        sample_weight : None or array-like of shape (n_sequences,), default=None
            How often each sequence counts.

        Returns
        -------
        score : float
            Mean log probability of a sequence, in nats.
        """
        logs = self.score_samples(X)
        _require_some(logs)
        return float(np.average(logs, weights=check_sample_weight(sample_weight, logs)))

    def perplexity(self, X: SymbolSequences) -> float:
        """Compute the perplexity of sequences, per symbol.

        Parameters
        ----------
        X : sequence of length n_sequences
            As for :meth:`score_samples`.

        Returns
        -------
        perplexity : float
            The inverse of the geometric mean of the probabilities of all symbols, each given those
            before it, and of the ends.
        """
        logs = self._follow(X, scores=True)[0]
        _require_some(logs)
        return float(np.exp(-logs.mean()))

    def predict_proba(self, X: SymbolSequences) -> FloatArray:
        """Compute the probabilities of the next symbol, or the end.

        Parameters
        ----------
        X : sequence of length n_prefixes
            As for :meth:`score_samples`, but each item is the beginning of a sequence.

        Returns
        -------
        probabilities : ndarray of shape (n_prefixes, n_symbols + 1)
            Probability of each of `symbols_` and, last, of the end. Rows sum to 1.
        """
        return self._follow(X)[2]

    def predict_log_proba(self, X: SymbolSequences) -> FloatArray:
        """Compute the logarithms of :meth:`predict_proba`.

        Parameters
        ----------
        X : sequence of length n_prefixes
            As for :meth:`predict_proba`.

        Returns
        -------
        log_probabilities : ndarray of shape (n_prefixes, n_symbols + 1)
            The log probabilities, in nats.
        """
        return log_of(self.predict_proba(X))

    def predict(self, X: SymbolSequences) -> ObjectArray:
        """Find the most probable next symbol.

        Parameters
        ----------
        X : sequence of length n_prefixes
            As for :meth:`predict_proba`.

        Returns
        -------
        symbols : ndarray of shape (n_prefixes,), dtype object
            The symbols, with None for the end.
        """
        best = self.predict_proba(X).argmax(axis=1)
        return np.array([*self.symbols_.tolist(), None], dtype=object)[best]

    def transform(self, X: SymbolSequences) -> FloatArray:
        """Compute the states of the automaton after prefixes, as features.

        Parameters
        ----------
        X : sequence of length n_prefixes
            As for :meth:`predict_proba`.

        Returns
        -------
        states : ndarray of shape (n_prefixes, n_states)
            The states, scaled to mass 1. For an automaton learned by EM they are the probabilities
            of the states, given the prefix.
        """
        return self._follow(X)[1]

    def sample(
        self, n_samples: int = 1, random_state: RandomSeed = None, *, max_length: int = 1000
    ) -> list[list[Any]]:
        """Draw sequences.

        Parameters
        ----------
        n_samples : int, default=1
            Number of sequences.
        random_state : int, RandomState instance or None, default=None
            Seeds the draws: the same int gives the same sequences.
        max_length : int, default=1000
            Longer sequences are redrawn.

        Returns
        -------
        sequences : list of lists
            Lists of symbols.

        Raises
        ------
        ValueError
            If `n_samples` is not positive, or 1000 sequences in a row are longer than `max_length`.
        """
        check_is_fitted(self)
        check_whole_number(n_samples, "n_samples")
        check_whole_number(max_length, "max_length", least=0)
        rng, predictor, symbols = check_random_state(random_state), self._predictor(), self.symbols_
        (state,), (outcomes,), moved = make_room(predictor, 1, 1)
        codes, drawn = np.empty(max_length, dtype=np.int64), []
        for _ in range(n_samples):
            for _ in range(MAX_REJECTED):
                uniforms = rng.uniform(size=max_length + 1)
                length = draw_one(predictor, uniforms, codes, state, outcomes, moved)
                if length >= 0:
                    break
            else:
                raise ValueError(
                    f"{MAX_REJECTED} sequences in a row grew beyond max_length={max_length}. Raise "
                    f"max_length, or use an automaton whose sequences end sooner."
                )
            drawn.append(symbols[codes[:length]].tolist())
        return drawn
