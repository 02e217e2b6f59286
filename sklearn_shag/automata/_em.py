"""Expectation maximisation of one automaton over sequences."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sklearn_shag.automata._base import (
    SequenceModel,
    SymbolSequences,
    build_prefix_tree,
    encode_symbols,
)
from sklearn_shag.automata._expectation import em_automaton, prior_uses, random_start, warn_of_limit
from sklearn_shag.automata._starts import make_memoryless, no_ngrams, spectral_starts
from sklearn_shag.operators import (
    Operators,
    check_automaton,
    operators_from_counts,
    spectral_radius,
)
from sklearn_shag.utils._arrays import check_codes, check_range, check_shape, divide_by_sum, log_of
from sklearn_shag.utils._estimators import WatchedMixin, check_same_symbols
from sklearn_shag.utils._messages import shorten
from sklearn_shag.utils._parallel import delayed, progress, run_parallel
from sklearn_shag.utils._param_validation import (
    COUNT,
    LARGEST_COUNT,
    LARGEST_NUMBER,
    N_JOBS,
    Interval,
    StrOptions,
    as_floats,
)
from sklearn_shag.utils._typing import ArrayLike, FloatArray, IntArray, RandomSeed

PROBABILITY_ROUNDING = 1e-9  # of probabilities that sum to 1
TRIAL = 10  # iterations, after which the best of several starts goes on alone


def climb_from_best(improve, starts, max_iter, fit, number):
    """Run EM from the start that is the best after a few iterations, as a task of a fit."""
    run = fit.begin("run", number, TRIAL * len(starts) + max_iter)
    trials = [improve(start, max_iter=min(TRIAL, max_iter), passes=run) for start in starts]
    best = max(trials, key=lambda trial: trial.quality)
    if not (best.converged or run.stops) and max_iter > TRIAL:
        rest = improve(best.parameters, max_iter=max_iter - TRIAL, passes=run)
        best = rest._replace(log_likelihoods=best.log_likelihoods[:-1] + rest.log_likelihoods)
    run.end(-best.log_likelihoods[-1], best.quality)
    return best


class HMM(NamedTuple):
    """A hidden Markov model whose sequences end.

    Each state emits a symbol, and the next state does not depend on it.

    Attributes
    ----------
    startprob : ndarray of shape (n_states,)
        Probabilities of the first state; one minus their sum is that of the empty sequence.
    transmat : ndarray of shape (n_states, n_states)
        Probabilities of the next state, by row; one minus the sum of a row is its `endprob`.
    emissionprob : ndarray of shape (n_states, n_symbols)
        Probabilities of the symbols of each state.
    endprob : ndarray of shape (n_states,)
        Probability that a sequence ends after each state.

    See Also
    --------
    sklearn_shag.EMAutomaton.to_hmm : Converts an automaton to a hidden Markov model.

    Examples
    --------
    >>> from sklearn_shag import EMAutomaton
    >>> coin = EMAutomaton.from_hmm([1.0], [[1.0]], [[0.5, 0.5]], endprob=0.25)
    >>> coin.to_hmm().transmat
    array([[0.75]])
    """

    startprob: FloatArray
    transmat: FloatArray
    emissionprob: FloatArray
    endprob: FloatArray


class EMAutomaton(WatchedMixin, SequenceModel):
    """Probabilistic automaton over sequences, learned by expectation maximisation.

    It is a hidden Markov model that also models where a sequence ends, and whose next state may
    depend on the symbol. EM raises the likelihood step by step to a local optimum, which depends on
    the start. Equal prefixes of sequences are visited once per iteration.

    Parameters
    ----------
    n_states : int, default=8
        Number of hidden states.
    init : {"moments", "random"} or Operators, default="moments"
        Where EM starts. "moments" makes two automata of the states of a
        :class:`SpectralAutomaton` after all beginnings of sequences (eq. 64 of the theory page); of
        these, the one that is better after ten iterations goes on. Further starts are drawn at
        random, as are all starts of "random". Operators must have the same symbols; their zeros
        stay zero unless `smoothing` is set.
    n_init : int, default=1
        Number of starts; the run with the best objective is kept.
    max_iter : int, default=100
        Largest number of iterations.
    tol : float, default=1e-4
        EM has converged when an iteration raises the objective by no more than this per sequence,
        in nats.
    smoothing : float, default=1.0
        Number of sequences of a memoryless automaton that are added to the training data; for
        n-grams, as in :class:`SpectralAutomaton`. With 0, sequences may have probability zero.
    mixing : None or float, default=0.0
        Share of n-grams, over the contexts before each symbol, in the probabilities. None finds it
        on every tenth sequence, with an automaton trained on the others; this takes twice as long.
    max_context : int, default=3
        Longest context, in symbols, for the n-grams. The start takes contexts of up to eight.
    n_contexts : int, default=400
        Largest number of contexts on each side; the most frequent ones are used.
    warm_start : bool, default=False
        Whether EM starts from the operators of the previous `fit`, if there was one, instead of
        `init`. The symbols must be the same.
    random_state : int, RandomState instance or None, default=None
        Seed of the random starts.
    n_jobs : int or None, default=None
        Number of joblib workers for the starts.
    verbose : int, default=0
        1 shows progress bars on standard error for work that takes more than two seconds; 2 shows
        them for all work.

    Attributes
    ----------
    symbols_ : ndarray of shape (n_symbols,)
        Known symbols, sorted: objects (str) or integers.
    operators_ : Operators
        `alpha_1` and `alpha_inf` of shape (n_states,), `A` of shape
        (n_symbols, n_states, n_states), non-negative.
    ngrams_ : NGrams
        The n-grams that are mixed with the automaton.
    mixing_ : float
        The share of the n-grams.
    loss_curve_ : list of float
        Minus the log likelihood, in nats, of the training sequences after 0, 1, ..., `n_iter_`
        iterations.
    n_iter_ : int
        Number of iterations of the best run.
    converged_ : bool
        Whether it converged within `max_iter` iterations.

    See Also
    --------
    SpectralAutomaton : Learns an automaton from moments, in one pass.
    EMSHAG : Learns automata of the modifiers of heads in trees.

    Examples
    --------
    >>> from sklearn_shag import EMAutomaton
    >>> words = [list(word) for word in ["banana", "bandana", "cabana", "panama"] * 5]
    >>> model = EMAutomaton(n_states=6, random_state=0).fit(words)
    >>> model.predict([list("ban"), list("c")])
    array(['a', 'a'], dtype=object)
    """

    _parameter_constraints = {
        **SequenceModel._parameter_constraints,
        "init": [StrOptions({"random", "moments"}), Operators],
        "n_init": COUNT,
        "max_iter": [Interval(Integral, 0, LARGEST_COUNT, closed="both")],
        "tol": [Interval(Real, 0, LARGEST_NUMBER, closed="both")],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "n_jobs": N_JOBS,
        "verbose": ["verbose"],
    }

    converged_: bool

    def __init__(
        self,
        n_states: int = 8,
        *,
        init: Literal["moments", "random"] | Operators = "moments",
        n_init: int = 1,
        max_iter: int = 100,
        tol: float = 1e-4,
        smoothing: float = 1.0,
        mixing: float | None = 0.0,
        max_context: int = 3,
        n_contexts: int = 400,
        warm_start: bool = False,
        random_state: RandomSeed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_states=n_states,
            max_context=max_context,
            n_contexts=n_contexts,
            smoothing=smoothing,
            mixing=mixing,
        )
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _learn_automaton(self, sequences, gaps, symbols):
        tree, prior = build_prefix_tree(sequences), None
        outcomes = np.bincount(gaps.behind, sequences.weights[gaps.sequences])
        outcomes /= outcomes.sum()
        if self.smoothing:
            prior = prior_uses(make_memoryless(outcomes, self.n_states), self.smoothing)
        improve = partial(em_automaton, tree, None, prior=prior, tol=self.tol, patience=0)
        with (
            progress("EM", self.n_init, "runs", self.verbose) as advance,
            self._watch(self.n_init, in_order=False) as fit,
        ):
            tasks = (
                delayed(climb_from_best)(improve, starts, self.max_iter, fit, number)
                for number, starts in enumerate(
                    self._list_starts(sequences, tree, outcomes, symbols)
                )
            )
            runs = run_parallel(tasks, self.n_jobs, advance)
        best = max(runs, key=lambda run: run.quality)
        if not best.converged and len(best.log_likelihoods) > self.max_iter:
            warn_of_limit(self.max_iter)
        return {
            "operators_": best.parameters,
            "loss_curve_": np.negative(best.log_likelihoods).tolist(),
            "n_iter_": len(best.log_likelihoods) - 1,
            "converged_": best.converged,
        }

    def _list_starts(self, sequences, tree, outcomes, symbols):
        """List the starts of each run."""
        init = self.init
        if self.warm_start and hasattr(self, "operators_"):
            check_same_symbols(self, symbols, "automaton")
            init = self.operators_
        if isinstance(init, Operators):
            check_shape(init.alpha_1, (self.n_states,), "init.alpha_1")
            check_automaton(init, "init", symbols)
            check_codes(init, "init", **dict.fromkeys(Operators._fields, np.inf))
            return [[operators_from_counts(init)]]
        rng = check_random_state(self.random_state)
        starts = [[random_start(outcomes[:, None], self.n_states, rng)] for _ in range(self.n_init)]
        if init == "moments":
            starts[0] = spectral_starts(sequences, tree, outcomes, self.n_states, self.n_contexts)
        return starts

    @classmethod
    def from_hmm(
        cls,
        startprob: ArrayLike,
        transmat: ArrayLike,
        emissionprob: ArrayLike,
        *,
        endprob: ArrayLike | None = None,
        symbols: Sequence[Any] | None = None,
    ) -> Self:
        """Make the automaton of a hidden Markov model.

        Parameters
        ----------
        startprob : array-like of shape (n_states,)
            Probabilities of the first state. If they sum to less than 1, the rest is that of the
            empty sequence.
        transmat : array-like of shape (n_states, n_states)
            Row i has the probabilities of the next state after state i.
        emissionprob : array-like of shape (n_states, n_symbols)
            Probabilities of the symbols of each state; rows sum to 1.
        endprob : None, float or array-like of shape (n_states,), default=None
            Probability that a sequence ends after each state, if rows of `transmat` sum to 1. None
            takes one minus the sum of each row.
        symbols : None or sequence of length n_symbols, default=None
            The symbols, all str or all int, sorted; None takes 0, 1, ...

        Returns
        -------
        model : EMAutomaton
            A fitted automaton, with one more state for the end.

        Raises
        ------
        ValueError
            If shapes do not match, numbers are negative or have the wrong sum, or sequences never
            end.

        Examples
        --------
        >>> from sklearn_shag import EMAutomaton
        >>> coin = EMAutomaton.from_hmm([1.0], [[1.0]], [[0.5, 0.5]], endprob=0.25)
        >>> coin.predict_proba([[0, 1]])
        array([[0.375, 0.375, 0.25 ]])
        """
        start, moves = as_floats(startprob, "startprob"), as_floats(transmat, "transmat")
        emissions = as_floats(emissionprob, "emissionprob")
        n = start.size
        if endprob is not None:
            moves = moves * (1.0 - np.broadcast_to(as_floats(endprob, "endprob"), n)[:, None])
        check_shape(start, (n,), "startprob")
        check_shape(moves, (n, n), "transmat")
        check_shape(emissions, (n, None), "emissionprob")
        for name, part, least in (
            ("startprob", start, 0.0),
            ("transmat", moves, 0.0),
            ("emissionprob", emissions, 1.0 - PROBABILITY_ROUNDING),
        ):
            check_range(part, 0.0, 1.0, name)
            check_range(part.sum(axis=-1), least, 1.0 + PROBABILITY_ROUNDING, f"The sum of {name}")
        end = np.maximum(1.0 - moves.sum(axis=1), 0.0)
        if spectral_radius(moves) >= 1.0 - PROBABILITY_ROUNDING:
            raise ValueError(
                "Sequences of this model never end, so none has a probability. Set endprob, for "
                "example to 1 / (expected length), or let rows of transmat sum to less than 1."
            )
        operators = Operators(*np.zeros((2, n + 1)), np.zeros((emissions.shape[1], n + 1, n + 1)))
        operators.alpha_1[:n], operators.alpha_1[n] = start, max(1.0 - start.sum(), 0.0)
        operators.alpha_inf[n] = 1.0
        operators.A[:, :n, :n] = emissions.T[:, None, :] * moves.T
        operators.A[:, n, :n] = emissions.T * end
        return cls.from_operators(operators, symbols)

    @classmethod
    def from_operators(cls, operators: Operators, symbols: Sequence[Any] | None = None) -> Self:
        """Make a fitted estimator from a known probabilistic automaton.

        Parameters
        ----------
        operators : Operators
            `alpha_1` and `alpha_inf` of shape (n_states,), `A` of shape
            (n_symbols, n_states, n_states), non-negative; for each state, the stop and the moves
            sum to 1.
        symbols : None or sequence of length n_symbols, default=None
            The symbols, all str or all int, sorted; None takes 0, 1, ...

        Returns
        -------
        model : EMAutomaton
            The fitted automaton, whose probabilities are those of the operators, without n-grams.

        Raises
        ------
        ValueError
            If shapes do not match, or numbers are negative.

        Examples
        --------
        >>> from sklearn_shag import EMAutomaton
        >>> from sklearn_shag.datasets import make_sequences
        >>> sequences, operators = make_sequences(3, random_state=0, return_operators=True)
        >>> EMAutomaton.from_operators(operators).score_samples(sequences).round(1)
        array([-9.1, -8. , -4.3])
        """
        n_symbols = len(operators.A)
        given = list(range(n_symbols) if symbols is None else symbols)
        known, _ = encode_symbols([given])
        check_shape(given, (n_symbols,), "symbols")
        if known.tolist() != given:
            raise ValueError(
                f"symbols must be sorted, each once, in the order of the operators; got "
                f"{shorten(given)}."
            )
        check_automaton(operators, "operators", known)
        check_codes(operators, "operators", **dict.fromkeys(Operators._fields, np.inf))
        model = cls(operators.alpha_1.size)
        vars(model).update(
            symbols_=known,
            operators_=operators,
            ngrams_=no_ngrams(n_symbols),
            mixing_=0.0,
            loss_curve_=[0.0],  # of no sequences
            n_iter_=0,
            converged_=True,
        )
        return model

    def to_hmm(self) -> HMM:
        """Convert the automaton to a hidden Markov model.

        Returns
        -------
        hmm : HMM
            `startprob`, `transmat`, `emissionprob` and `endprob`, as :meth:`from_hmm` takes them,
            without states that only end.

        Raises
        ------
        ValueError
            If no such model has as many states, because the next state also depends on the symbol.
        """
        check_is_fitted(self)
        alpha_1, _, A = self.operators_
        goes_on = A.sum(axis=(0, 1))
        emits = goes_on > 0
        uses = A[:, :, emits] / goes_on[emits]
        emissions, moves = uses.sum(axis=1), uses.sum(axis=0)
        if np.abs(uses - emissions[:, None] * moves).max(initial=0.0) > PROBABILITY_ROUNDING:
            raise ValueError(
                "The next state also depends on the symbol, so no hidden Markov model with as many "
                "states is equivalent. Use the operators themselves, operators_."
            )
        moves = (moves * goes_on[:, None])[emits].T
        return HMM((alpha_1 * goes_on)[emits], moves, emissions.T, 1.0 - moves.sum(axis=1))

    @classmethod
    def from_hmmlearn(
        cls, hmm: Any, endprob: ArrayLike, *, symbols: Sequence[Any] | None = None
    ) -> Self:
        """Make the automaton of a fitted model of hmmlearn, and of where its sequences end.

        Parameters
        ----------
        hmm : hmmlearn.hmm.CategoricalHMM
            Or any object with its attributes `startprob_`, `transmat_` and `emissionprob_`.
        endprob : float or array-like of shape (n_states,)
            Probability that a sequence ends after each state, which hmmlearn does not model; for
            example, 1 / (expected length).
        symbols : None or sequence of length n_symbols, default=None
            As for :meth:`from_hmm`.

        Returns
        -------
        model : EMAutomaton
            The fitted automaton. If all states have the same `endprob` e, its log probability of a
            sequence of length T is the score of hmmlearn plus ``(T - 1) log(1 - e) + log(e)``.

        Raises
        ------
        TypeError
            If the model is not one of single symbols.
        ValueError
            As for :meth:`from_hmm`.

        See Also
        --------
        to_hmmlearn : The way back.
        """
        if not hasattr(hmm, "emissionprob_") or hasattr(hmm, "n_trials"):
            raise TypeError(
                f"hmm must be a fitted CategoricalHMM, with emissionprob_; got {shorten(hmm)}."
            )
        return cls.from_hmm(
            hmm.startprob_, hmm.transmat_, hmm.emissionprob_, endprob=endprob, symbols=symbols
        )

    def to_hmmlearn(self, hmm: Any) -> Any:
        """Set the parameters of a model of hmmlearn to those of the automaton, without its ends.

        Parameters
        ----------
        hmm : hmmlearn.hmm.CategoricalHMM
            Its `n_components`, `n_features`, `startprob_`, `transmat_` and `emissionprob_` are set.

        Returns
        -------
        hmm : object
            The same object. Its probabilities are those of the states and symbols given that
            sequences go on. After states where all sequences end, all states are equally probable.

        Raises
        ------
        ValueError
            As for :meth:`to_hmm`.

        See Also
        --------
        from_hmmlearn : The way back.
        """
        start, moves, emissions, _ = self.to_hmm()
        moves = np.where(moves.any(axis=1, keepdims=True), moves, 1.0)
        hmm.n_components, hmm.n_features = emissions.shape
        hmm.startprob_, hmm.transmat_ = divide_by_sum(start, 0), divide_by_sum(moves, 1)
        hmm.emissionprob_ = emissions
        return hmm

    def state_probabilities(self, X: SymbolSequences) -> list[FloatArray]:
        """Compute the probabilities of the states between symbols, given the whole sequence.

        Parameters
        ----------
        X : sequence of length n_sequences
            As for :meth:`score_samples`.

        Returns
        -------
        probabilities : list of ndarrays of shape (n_symbols_i + 1, n_states)
            The first row is for the place before the first symbol, the last row for the place after
            the last symbol. Rows are 0 if the automaton gives the sequence probability zero.
        """
        codes, indptr = self._encode(X)
        alpha_1, alpha_inf, A = self.operators_
        A = np.concatenate([A, A.sum(axis=0, keepdims=True)])
        found = []
        for begin, end in pairwise(indptr):
            forward, backward = np.empty((2, end - begin + 1, alpha_1.size))
            forward[0], backward[-1] = alpha_1, alpha_inf
            for t, code in enumerate(codes[begin:end]):
                forward[t + 1] = divide_by_sum(A[code] @ forward[t], -1)
            for t, code in enumerate(codes[begin:end][::-1]):
                backward[-t - 2] = divide_by_sum(backward[-t - 1] @ A[code], -1)
            found.append(divide_by_sum(forward * backward, -1))
        return found

    def state_paths(self, X: SymbolSequences) -> tuple[list[IntArray], FloatArray]:
        """Find the most probable path of states of each sequence (Viterbi's algorithm).

        Parameters
        ----------
        X : sequence of length n_sequences
            As for :meth:`score_samples`.

        Returns
        -------
        paths : list of int ndarrays of shape (n_symbols_i + 1,)
            The states before the first symbol, between symbols, and after the last one. If a
            sequence has no path, because the automaton gives it probability zero, they are -1. Of
            equally probable states, the last one is the first in number, and so are, one after the
            other, those before it.
        log_probabilities : ndarray of shape (n_sequences,)
            Log probabilities of the sequence and this path together, in nats. The n-grams have no
            part in them.

        See Also
        --------
        state_probabilities : The probabilities of single states, over all paths.

        Examples
        --------
        >>> from sklearn_shag import EMAutomaton
        >>> hmm = EMAutomaton.from_hmm(
        ...     [0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], [[0.8, 0.2], [0.3, 0.7]], endprob=0.1
        ... )
        >>> hmm.state_paths([[0, 0, 1, 0]])[0]    # state 2 is the end
        [array([0, 0, 0, 0, 2])]
        """
        codes, indptr = self._encode(X)
        alpha_1, alpha_inf, A = self.operators_
        start, stop = log_of(alpha_1), log_of(alpha_inf)
        moves = log_of(np.concatenate([A, A.sum(axis=0, keepdims=True)]))
        paths, scores = [], np.empty(indptr.size - 1)
        for k, (begin, end) in enumerate(pairwise(indptr)):
            best, path = start, np.full(end - begin + 1, -1)
            origins = np.empty((end - begin, start.size), dtype=np.int64)
            for t, code in enumerate(codes[begin:end]):
                ways = moves[code] + best
                origins[t] = ways.argmax(axis=1)
                best = ways.max(axis=1)
            scores[k] = (best + stop).max()
            if scores[k] > -np.inf:
                path[-1] = (best + stop).argmax()
                for t in range(end - begin - 1, -1, -1):
                    path[t] = origins[t, path[t + 1]]
            paths.append(path)
        return paths, scores

    @property
    def _n_parameters(self):
        n_symbols, n_states = self.operators_.A.shape[:2]
        return n_states - 1 + n_states * n_symbols * n_states

    def aic(self, X: SymbolSequences) -> float:
        """Compute Akaike's information criterion on sequences; smaller is better.

        Parameters
        ----------
        X : sequence of length n_sequences
            As for :meth:`score_samples`.

        Returns
        -------
        aic : float
            Twice the number of free parameters minus twice the log probability.
        """
        return float(2 * self._n_parameters - 2 * self.score_samples(X).sum())

    def bic(self, X: SymbolSequences) -> float:
        """Compute the Bayesian information criterion on sequences; smaller is better.

        Parameters
        ----------
        X : sequence of length n_sequences
            As for :meth:`score_samples`.

        Returns
        -------
        bic : float
            The criterion; symbols and ends count as observations.
        """
        logs = self._follow(X, scores=True)[0]
        return float(self._n_parameters * np.log(logs.size) - 2 * logs.sum())
