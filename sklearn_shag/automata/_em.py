"""Expectation maximisation of one automaton over sequences."""

from functools import partial
from numbers import Integral, Real
from typing import Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from sklearn_shag.automata._base import SequenceModel
from sklearn_shag.automata._contexts import count_ngrams, list_gaps, take_moments
from sklearn_shag.automata._decomposition import Basis, Events, project
from sklearn_shag.automata._expectation import (
    em_automaton,
    factorise,
    prior_uses,
    proper_start,
    random_start,
)
from sklearn_shag.operators import Operators, check_automaton, operators_from_counts
from sklearn_shag.sequences import PrefixTree, number_prefixes
from sklearn_shag.utils._arrays import check_codes, check_shape
from sklearn_shag.utils._messages import warn
from sklearn_shag.utils._parallel import delayed, progress, run_parallel
from sklearn_shag.utils._param_validation import LARGEST, LARGEST_COUNT, Interval, StrOptions
from sklearn_shag.utils._typing import FloatArray, RandomSeed

# Of the contexts that tell where EM starts.
MAX_CONTEXT, N_CONTEXTS = 3, 400


def build_prefix_tree(sequences):
    """Build the prefix tree of sequences."""
    codes, indptr, weights = sequences
    ends, _, parents, symbols = number_prefixes(np.zeros_like(indptr[:-1]), indptr, codes)
    return PrefixTree(parents, symbols, np.bincount(ends, weights, parents.size))


def contexts_start(gaps, weights, outcomes, n_states):
    """Factorise the matrix of contexts into a non-negative automaton (theory, eq. 64).

    ``P ~ W H`` by non-negative matrix factorisation: column c of H, scaled to sum to 1, is how
    probable the states are after the context c. Each symbol is a move from the states before it to
    those behind it, both told by the longest known context.
    """
    moments, columns = take_moments(gaps, weights), gaps.columns
    H, _ = factorise(moments.bigrams, n_states)
    H = np.pad(H, ((0, n_states - len(H)), (0, 0)))
    states = (H / np.maximum(H.sum(axis=0), np.finfo(float).tiny)).T
    known = np.arange(1, columns.numbers.shape[1] + 1) * (columns.numbers >= 0)
    longest = np.take_along_axis(columns.numbers, known.argmax(axis=1)[:, None], axis=1)
    counts, n_symbols = weights[gaps.sequences], len(outcomes) - 1
    is_last = gaps.behind == n_symbols
    places = np.flatnonzero(~is_last)
    events = Events(longest[places + 1], gaps.behind[places], longest[places], counts[places])
    ends = longest[is_last, 0]
    stop = np.bincount(ends[ends >= 0], counts[is_last][ends >= 0], columns.n_contexts)
    start = np.where(np.arange(columns.n_contexts) == columns.boundary, weights.sum(), 0.0)
    uses = project(Basis(states, states, None), start, stop, events, n_symbols)
    return proper_start(*operators_from_counts(uses), outcomes[:, None])


class EMAutomaton(SequenceModel):
    """Probabilistic automaton over sequences, learned by expectation maximisation.

    It is a hidden Markov model that also tells where a sequence ends, and whose next state may
    depend on the symbol. EM raises the likelihood step by step; it finds a local optimum, which
    depends on the start. Equal prefixes of sequences are visited once an iteration.

    Parameters
    ----------
    n_states : int, default=8
        Number of hidden states.
    init : {"moments", "random"} or Operators, default="moments"
        Where EM starts. "moments" is a non-negative factorisation of the matrix of contexts of
        :class:`SpectralAutomaton` (eq. 64 of the theory page); further starts, and all of "random",
        are drawn. Of Operators over the same symbols what is zero stays zero, unless `smoothing` is
        set.
    n_init : int, default=1
        Number of starts; the run with the best objective is kept.
    max_iter : int, default=100
        Largest number of iterations.
    tol : float, default=1e-4
        EM has converged when an iteration raises the objective by no more than this per sequence,
        in nats.
    smoothing : float, default=1.0
        How many sequences of an automaton without memory EM sees beside those that it is given.
        Without any, sequences may have probability zero.
    mixing : float, default=0.0
        The share of n-grams, with up to three symbols as a context, in the probabilities.
    warm_start : bool, default=False
        Whether EM starts from the operators of the previous `fit`, if there was one, in place of
        `init`. The symbols must be the same.
    random_state : int, RandomState instance or None, default=None
        Seeds the random starts.
    n_jobs : int or None, default=None
        Number of joblib workers, over starts.
    verbose : int, default=0
        1 shows a progress bar, on standard error, for work that takes more than two seconds, 2 for
        all.

    Attributes
    ----------
    symbols_ : ndarray of shape (n_symbols,)
        Known symbols, sorted: objects (str) or integers.
    operators_ : Operators
        `alpha_1` and `alpha_inf` of shape (n_states,), `A` of shape
        (n_symbols, n_states, n_states), non-negative.
    ngrams_ : NGrams
        N-grams, which are mixed with the automaton.
    mixing_ : float
        Their share.
    log_likelihoods_ : ndarray of shape (n_iterations + 1,)
        Log likelihood, in nats, of the training sequences after 0, 1, ... iterations.
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
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 0, LARGEST_COUNT, closed="both")],
        "tol": [Interval(Real, 0, LARGEST, closed="both")],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
    }

    log_likelihoods_: FloatArray
    n_iter_: int
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
        mixing: float = 0.0,
        warm_start: bool = False,
        random_state: RandomSeed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_states = n_states
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.smoothing = smoothing
        self.mixing = mixing
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _learn(self, sequences, symbols):
        n_symbols = symbols.size
        gaps = list_gaps(sequences, n_symbols, MAX_CONTEXT, N_CONTEXTS)
        tree, prior = build_prefix_tree(sequences), None
        outcomes = np.bincount(gaps.behind, sequences.weights[gaps.sequences])
        outcomes /= outcomes.sum()
        if self.smoothing:
            even = np.full((self.n_states, self.n_states), 1.0 / self.n_states)
            stops = np.full(self.n_states, outcomes[-1])
            memoryless = Operators(even[0], stops, outcomes[:-1, None, None] * even)
            prior = prior_uses(memoryless, self.smoothing)
        improve = partial(
            em_automaton,
            *(tree, None),
            prior=prior,
            max_iter=self.max_iter,
            tol=self.tol,
            patience=0,
        )
        with progress("EM", self.n_init, "runs", self.verbose) as advance:
            tasks = (
                delayed(improve)(start)
                for start in self._list_starts(gaps, sequences.weights, outcomes, symbols)
            )
            runs = run_parallel(tasks, self.n_jobs, lambda _: advance())
        best = max(runs, key=lambda run: run.quality)
        if not best.converged:
            warn(
                f"EM has not converged after max_iter={self.max_iter} iterations. Raise max_iter "
                f"or tol.",
                ConvergenceWarning,
            )
        return {
            "operators_": best.automaton,
            "ngrams_": count_ngrams(gaps, sequences.weights, smoothing=1.0),
            "mixing_": float(self.mixing),
            "log_likelihoods_": np.array(best.log_likelihoods),
            "n_iter_": len(best.log_likelihoods) - 1,
            "converged_": bool(best.converged),
        }

    def _list_starts(self, gaps, weights, outcomes, symbols):
        init = self.init
        if self.warm_start and hasattr(self, "operators_"):
            if not np.array_equal(symbols, self.symbols_):
                raise ValueError(
                    "warm_start=True goes on with the automaton of the previous fit, whose symbols "
                    "were others. Fit the same symbols, or set warm_start=False."
                )
            init = self.operators_
        if isinstance(init, Operators):
            check_shape(init.alpha_1, (self.n_states,), "init.alpha_1")
            check_automaton(init, "init", symbols)
            check_codes(init, "init", **dict.fromkeys(Operators._fields, np.inf))
            return [operators_from_counts(init)]
        rng = check_random_state(self.random_state)
        starts = [random_start(outcomes[:, None], self.n_states, rng) for _ in range(self.n_init)]
        if init == "moments":
            starts[0] = contexts_start(gaps, weights, outcomes, self.n_states)
        return starts
