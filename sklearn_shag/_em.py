"""Expectation maximisation of hidden-state automata over head-modifier sequences."""

from functools import partial
from numbers import Integral, Real
from typing import Literal, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from sklearn_shag._base import Learned
from sklearn_shag._em_starts import deterministic_start, moments_start, random_start
from sklearn_shag._tree_learner import TreeLearner
from sklearn_shag.operators import Operators, expected_uses, join_automata, operators_from_counts
from sklearn_shag.sequences import (
    build_prefix_trees,
    extract_sequences,
    pair_moments,
    take_sequences,
)
from sklearn_shag.utils._parallel import delayed, run_parallel
from sklearn_shag.utils._param_validation import Interval, StrOptions
from sklearn_shag.utils._progress import progress
from sklearn_shag.utils._typing import FloatArray, RandomSeed

__all__ = ["EMSHAG"]

# A likelihood that falls by more than rounding is a defect.
ROUNDING = 1e-9


class _Run(NamedTuple):
    """One run of EM: the automaton, how it got there, how good it is, and whether it converged."""

    automaton: Operators
    log_likelihoods: list
    quality: float  # log likelihood held out, or else the objective
    converged: bool


def em_automaton(tree, held_out, start, prior, max_iter, tol, patience):
    """Improve an automaton by EM until the likelihood stops rising (theory, eqs. 11 and 30).

    Parameters
    ----------
    tree : PrefixTree
        The sequences to learn from.
    held_out : PrefixTree or None
        Sequences whose likelihood decides when to stop and which iteration is kept.
    start : Operators
    prior : Operators or None
        Uses that are counted beside those of the sequences.
    max_iter : int
    tol : float
        Stop when an iteration raises the objective by less, per sequence.
    patience : int
        Stop after so many iterations without a better likelihood of `held_out`.

    Returns
    -------
    run : _Run

    Raises
    ------
    ValueError
        If a sequence has no probability under the start.
    ArithmeticError
        If the objective falls or is not a number.
    """
    n_sequences = float(tree.weight.sum())
    # Contiguous, so that the kernel compiles for one memory layout only.
    automaton = kept = Operators(*(np.ascontiguousarray(part) for part in start))
    log_likelihoods, previous, best_held_out, waited = [], -np.inf, -np.inf, 0
    for iteration in range(max_iter + 1):
        counts = Operators(*(np.zeros_like(part) for part in automaton))
        log_likelihood = expected_uses(automaton, tree, counts)
        if iteration == 0 and log_likelihood == -np.inf:
            raise ValueError("the start gives a training sequence the probability zero")
        objective = log_likelihood + (0.0 if prior is None else _log_prior(automaton, prior))
        if not objective >= previous - ROUNDING * (n_sequences + abs(objective)):
            raise ArithmeticError(
                f"EM iteration {iteration} changed the objective from {previous!r} to {objective!r}"
            )
        log_likelihoods.append(log_likelihood)
        if held_out is None:
            kept = automaton
            converged = objective - previous <= tol * n_sequences
        else:
            unused = Operators(*(np.zeros_like(part) for part in automaton))
            score = expected_uses(automaton, held_out, unused)
            waited += 1
            if score > best_held_out or iteration == 0:
                kept, best_held_out, waited = automaton, score, 0
            converged = waited >= patience
        if converged or iteration == max_iter:
            break
        previous = objective
        if prior is not None:
            counts = Operators(*(a + b for a, b in zip(counts, prior, strict=True)))
        automaton = operators_from_counts(counts)
    quality = objective if held_out is None else best_held_out
    return _Run(kept, log_likelihoods, quality, converged)


def _log_prior(automaton, prior):
    """Logarithm of the Dirichlet prior whose pseudo-counts are `prior`, up to a constant."""
    total = 0.0
    for part, uses in zip(automaton, prior, strict=True):
        used = uses > 0
        with np.errstate(divide="ignore"):  # a start may lack what the pool has
            total += float(np.sum(uses[used] * np.log(part[used])))
    return total


def _label(pair, symbols):
    head, direction = divmod(pair, 2)
    name = symbols[head] if head < symbols.size else "of any symbol"
    return f"{('left', 'right')[direction]} modifiers of the head {name}"


def prior_uses(pooled, strength):
    """Compute how often so many sequences of the pooled automaton use each of its entries."""
    transitions = pooled.A.sum(axis=0)
    visits = np.linalg.solve(np.eye(transitions.shape[0]) - transitions, pooled.alpha_1)
    return Operators(
        strength * pooled.alpha_1,
        strength * pooled.alpha_inf * visits,
        strength * pooled.A * visits,
    )


def learn_pair(
    label,
    tree,
    held_out,
    start,
    moments,
    prior,
    seed,
    *,
    n_states,
    init,
    n_init,
    max_iter,
    tol,
    patience,
):
    """Run EM from every start of one head and direction and keep the best run."""
    if start is not None:
        starts = [start]
    elif init == "random":
        rng = np.random.RandomState(seed)
        starts = [random_start(moments, n_states, rng) for _ in range(n_init)]
    elif init == "moments":
        starts = [moments_start(moments, n_states)]
    else:
        starts = [deterministic_start(moments, n_states)]
    try:
        runs = [
            em_automaton(tree, held_out, start, prior, max_iter, tol, patience) for start in starts
        ]
    except (ArithmeticError, ValueError) as error:
        raise type(error)(f"{label}: {error}.") from error
    return max(runs, key=lambda run: run.quality)


class EMSHAG(TreeLearner):
    """Split head-automata grammar with hidden states, learned by expectation maximisation.

    Every head and direction gets its own probabilistic automaton over modifier sequences. EM raises
    their likelihood step by step; it finds a local optimum, which depends on the start. Equal
    prefixes of sequences are visited once an iteration, so that iterations are cheap.

    Parameters
    ----------
    n_states : int, default=8
        Number of hidden states of each automaton.
    init : {"random", "moments", "deterministic"} or Operators, default="random"
        Where EM starts:

        - "random": the start of the paper. Random initial, stopping and transition
          probabilities; every state emits the symbols by their relative frequency.
        - "moments": a non-negative factorisation of the bigrams that the spectral learner uses
          as well: a component is a state, its column the distribution of the next symbol, its row
          the mass of the state after each symbol. Nearly as good as where EM ends; see eq. 31 of
          the theory page.
        - "deterministic": the previous modifier is the state, as in
          ``DeterministicSHAG("sibling")``, with modifiers merged by k-means if similar ones
          follow them. Two states tell before and after the first modifier apart.
        - a grammar as in `operators_` over the same symbols, with non-negative entries.
          What is zero in it stays zero.
    n_init : int, default=1
        Number of random starts of each automaton; the one with the best likelihood is kept.
    max_iter : int, default=25
        Largest number of iterations.
    tol : float, default=1e-3
        An automaton has converged when an iteration raises its log likelihood by no more than this
        per sequence, in nats.
    smoothing : float, default=0.0
        How many sequences of the pooled automaton of the same direction each head and direction
        sees beside its own: their expected uses of each start, stop and move are added to the
        counts, a Dirichlet prior. 0 is the published algorithm.
    early_stopping : bool, default=False
        Whether to hold out some sequences, stop when their likelihood has not risen for
        `n_iter_no_change` iterations, and keep the iteration where it was best. A head with too
        few sequences to hold any out is learned from all of them.
    validation_fraction : float, default=0.1
        The share of sequences to hold out.
    n_iter_no_change : int, default=5
        Iterations to wait for a better likelihood of the sequences held out.
    warm_start : bool, default=False
        Whether to start from the operators of the previous `fit`, if there was one.
    decoder : {"mbr", "max_marginal"}, default="mbr"
        How trees are chosen: by the largest sum of log marginals (eq. 14 of the paper) or the
        largest sum of marginals (the expected number of right arcs).
    random_state : int, RandomState instance or None, default=None
        Seeds random starts and the choice of sequences held out.
    n_jobs : int or None, default=None
        Number of joblib workers, for learning over heads and directions, for parsing over chunks
        of sentences.
    verbose : int, default=0
        1 shows progress bars, on standard error, for work that takes more than two seconds, 2 for
        all.

    Attributes
    ----------
    symbols_ : ndarray of shape (n_symbols,), dtype object
        Known symbols (str), sorted; the code of each is its position.
    operators_ : Operators
        `alpha_1` and `alpha_inf` of shape (n_symbols + 2, 2, n_states), `A` of shape
        (n_symbols + 2, 2, n_symbols + 1, n_states, n_states), non-negative. Heads ``n_symbols``
        and ``n_symbols + 1`` are the unknown head and the root symbol; symbol ``n_symbols`` is
        the unknown modifier.
    fallback_operators_ : Operators
        A grammar of one state without zeros, for sentences that `operators_` gives no mass.
    log_likelihoods_ : ndarray of shape (n_iterations + 1,)
        Log likelihood, in nats, of the training sequences of all heads and directions under the
        automata after 0, 1, ... iterations; an automaton that stopped early keeps its last.
    n_iter_ : int
        The largest number of iterations of an automaton.
    converged_ : bool
        Whether all automata converged within `max_iter` iterations.

    See Also
    --------
    SpectralSHAG : The same automata from moments, in one pass.

    References
    ----------
    Luque, Quattoni, Balle and Carreras (2012), Spectral Learning for Non-Deterministic Dependency
    Parsing, sec. 5.1.

    Examples
    --------
    >>> from sklearn_shag import EMSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> model = EMSHAG(n_states=3, init="moments", smoothing=1).fit(load_english().data)
    >>> model.predict([["DET", "NOUN", "VERB", "DET", "NOUN", "PUNCT"]])[0]
    array([2, 3, 0, 5, 3, 3])
    """

    _parameter_constraints = {
        **TreeLearner._parameter_constraints,
        "n_states": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions({"random", "moments", "deterministic"}), Operators],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "smoothing": [Interval(Real, 0, None, closed="left")],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
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
        init: Literal["random", "moments", "deterministic"] | Operators = "random",
        n_init: int = 1,
        max_iter: int = 25,
        tol: float = 1e-3,
        smoothing: float = 0.0,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        warm_start: bool = False,
        decoder: Literal["mbr", "max_marginal"] = "mbr",
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
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.decoder = decoder
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _learn_operators(self, statistics, trees):
        symbols, statistics = statistics
        n_symbols = symbols.size
        rng = check_random_state(self.random_state)
        seeds = rng.randint(np.iinfo(np.int32).max, size=2 * (n_symbols + 1))
        sequences = extract_sequences(
            trees.codes, trees.heads, trees.indptr, n_symbols, trees.weights
        )
        prefix_trees, held_out = self._hold_out(sequences, n_symbols, rng)
        starts = self._given_starts(symbols)
        learn = partial(
            learn_pair,
            n_states=self.n_states,
            init=self.init,
            n_init=self.n_init,
            max_iter=self.max_iter,
            tol=self.tol,
            patience=self.n_iter_no_change,
        )

        def learn_pairs(pairs, priors, advance):
            tasks = [
                delayed(learn)(
                    _label(pair, symbols),
                    prefix_trees[pair],
                    held_out[pair],
                    starts[pair],
                    pair_moments(statistics, *divmod(pair, 2), self.smoothing),
                    priors[pair % 2],
                    seeds[pair],
                )
                for pair in pairs
            ]
            return run_parallel(tasks, self.n_jobs, lambda _: advance())

        pools = range(2 * n_symbols, 2 * n_symbols + 2)
        with progress("EM", pools.stop, "automata", self.verbose) as advance:
            pool_runs = learn_pairs(pools, [None, None], advance)
            priors = [
                prior_uses(run.automaton, self.smoothing) if self.smoothing > 0 else None
                for run in pool_runs
            ]
            runs = learn_pairs(range(2 * n_symbols), priors, advance)
        operators = join_automata([run.automaton for run in runs + pool_runs], statistics.roots)
        return Learned(operators, *self._report(runs))

    def _hold_out(self, sequences, n_symbols, rng):
        """The prefix trees to learn from and, each a tree or None, to watch."""
        everything = build_prefix_trees(sequences, n_symbols)
        if not self.early_stopping:
            return everything, [None] * len(everything)
        watched = rng.uniform(size=sequences.heads.size) < self.validation_fraction
        learned, held_out = (
            build_prefix_trees(take_sequences(sequences, np.flatnonzero(chosen)), n_symbols)
            for chosen in (~watched, watched)
        )
        # Where nothing is left to learn from or to watch, all is learned from.
        split = [
            (train, test) if train.weight.size and test.weight.size else (tree, None)
            for train, test, tree in zip(learned, held_out, everything, strict=True)
        ]
        return tuple(zip(*split, strict=True))

    def _given_starts(self, symbols):
        """The automaton that each pair is to start from, or None."""
        n_symbols = symbols.size
        given = self.init if isinstance(self.init, Operators) else None
        if self.warm_start and hasattr(self, "operators_"):
            if not np.array_equal(symbols, self.symbols_):
                raise ValueError(
                    "warm_start=True goes on with the automata of the previous fit, whose symbols "
                    "were others. Fit the same symbols, or set warm_start=False."
                )
            given = self.operators_
        if given is None:
            return [None] * (2 * (n_symbols + 1))
        lead = (n_symbols + 2, 2)
        shape = (*lead, n_symbols + 1, self.n_states, self.n_states)
        if np.shape(given.A) != shape or np.shape(given.alpha_1) != (*lead, self.n_states):
            raise ValueError(
                f"The operators to start from have shape {np.shape(given.A)}; for {n_symbols} "
                f"symbols and n_states={self.n_states} it must be {shape}."
            )
        if min(part.min() for part in given) < 0:
            raise ValueError("The operators to start from have negative entries.")
        return [
            operators_from_counts(Operators(given.alpha_1[p], given.alpha_inf[p], given.A[p][:-1]))
            for p in (divmod(pair, 2) for pair in range(2 * (n_symbols + 1)))
        ]

    def _report(self, runs):
        """The attributes that tell how EM went, over all heads and directions, and a warning."""
        n_iter = max(len(run.log_likelihoods) for run in runs) - 1
        curves = [
            np.pad(run.log_likelihoods, (0, n_iter + 1 - len(run.log_likelihoods)), "edge")
            for run in runs
        ]
        n_moving = sum(not run.converged for run in runs)
        message = (
            f"{n_moving} of {len(runs)} automata have not converged after max_iter="
            f"{self.max_iter} iterations. Raise max_iter or tol"
            + (", or start with init='moments'." if self.init == "random" else ".")
        )
        attributes = {
            "n_iter_": n_iter,
            "log_likelihoods_": np.sum(curves, axis=0),
            "converged_": not n_moving,
        }
        return attributes, [(message, ConvergenceWarning)] * bool(n_moving)
