"""Expectation maximisation of hidden-state automata over head-modifier sequences."""

from functools import partial, reduce
from numbers import Integral, Real
from typing import Literal, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from sklearn_shag.encoding import Alphabet, pair_of
from sklearn_shag.learning._base import Learned, TreeLearner
from sklearn_shag.learning._climb import (
    NO_SEED,
    Checkpoint,
    digest_of,
    draw_seed,
    find_checkpoint,
    make_checkpoint,
)
from sklearn_shag.learning._expectation import (
    Starts,
    check_start,
    em_automaton,
    learn_by_em,
    make_starts,
    split_prefix_trees,
)
from sklearn_shag.operators import Operators, join_automata, pair_automaton
from sklearn_shag.utils._param_validation import LARGEST, LARGEST_COUNT, Interval, StrOptions
from sklearn_shag.utils._typing import FloatArray, RandomSeed


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
        Whether to go on where the previous `fit` ended, if there was one. On the same trees, with
        the same parameters, fits of k iterations each are one fit of all their iterations, to the
        last bit; what is not known any more is computed again, see the Notes. On others the
        operators are where a new run starts.
    decoder : {"mbr", "max_marginal", "mst"}, default="mbr"
        How trees are chosen: by the largest sum of log marginals (eq. 14 of the paper), the largest
        sum of marginals (the expected number of right arcs), or as by "mbr" of all trees, with arcs
        that may cross.
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
    labels_ : ndarray of shape (n_labels,), dtype object
        Known relations of arcs (str), sorted; empty if the training trees had none.
    label_counts_ : LabelCounts
        How often arcs had which of them, by the symbols at both ends and the direction.
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
    checkpoint_ : named tuple of ndarrays
        What `warm_start` needs to know of the fit, for this package alone.

    See Also
    --------
    SpectralSHAG : The same automata from moments, in one pass.

    Notes
    -----
    With `warm_start` an automaton that has converged stays as it is, and another one goes on. But
    where there are several random starts, `early_stopping`, or `smoothing` while the pooled
    automata have not converged, the iterations of the fits before are done once more.

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
        "n_states": [Interval(Integral, 1, LARGEST_COUNT, closed="both")],
        "init": [StrOptions({"random", "moments", "deterministic"}), Operators],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 0, LARGEST_COUNT, closed="both")],
        "tol": [Interval(Real, 0, LARGEST, closed="both")],
        "smoothing": [Interval(Real, 0, LARGEST, closed="both")],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
    }

    log_likelihoods_: FloatArray
    n_iter_: int
    converged_: bool
    checkpoint_: Checkpoint

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
        decoder: Literal["mbr", "max_marginal", "mst"] = "mbr",
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

    def _learn_operators(self, statistics, trees, sequences):
        symbols, counts = statistics.symbols, statistics.statistics
        data = symbols, trees.codes, trees.heads, trees.indptr, trees.weights
        plan = self._plan(digest_of(data, self._path()), symbols)
        rng = check_random_state(self.random_state if plan.seed == NO_SEED else plan.seed)
        seeds = rng.randint(np.iinfo(np.int32).max, size=Alphabet(symbols.size).n_pairs)
        held_out = self.validation_fraction if self.early_stopping else 0.0
        prefix_trees = split_prefix_trees(sequences, symbols.size, held_out, rng)
        start = partial(
            make_starts, init=plan.init, n_states=self.n_states, n_init=self.n_init, seeds=seeds
        )
        improve = partial(em_automaton, tol=self.tol, patience=self.n_iter_no_change)
        runs, pools = learn_by_em(
            *(statistics, prefix_trees, partial(_start, plan, start), improve),
            *(self.smoothing, self.n_jobs, self.verbose),
        )
        operators = join_automata([run.automaton for run in runs + pools], counts.roots)
        return Learned(operators, *self._report(plan, runs, pools))

    def _path(self):
        """The parameters that decide which way EM goes, though not how far."""
        names = ("n_states", "init", "n_init", "tol", "smoothing", "early_stopping")
        of_stopping = ("validation_fraction", "n_iter_no_change") if self.early_stopping else ()
        return [getattr(self, name) for name in names + of_stopping]

    def _plan(self, digest, symbols):
        """Where EM starts: where the last fit ended, or at its start once more, or anew."""
        if self.warm_start and hasattr(self, "operators_"):
            if not np.array_equal(symbols, self.symbols_):
                raise ValueError(
                    "warm_start=True goes on with the automata of the previous fit, whose symbols "
                    "were others. Fit the same symbols, or set warm_start=False."
                )
            init, seed = self.operators_, NO_SEED
        else:
            is_used = self.early_stopping or self.init == "random"
            init, seed = self.init, draw_seed(self.random_state, is_used)
        if isinstance(init, Operators):
            check_start(init, symbols.size, self.n_states)
        checkpoint = find_checkpoint(self, digest)
        if checkpoint is not None:
            # Else what it takes to go on is gone: starts that were not the best so far, iterations
            # behind the one that was kept, and, as long as the pools move, the objective.
            is_restarted = checkpoint.seed == NO_SEED  # with one start
            one_start = self.n_init == 1 or self.init != "random" or is_restarted
            same_objective = self.smoothing == 0 or checkpoint.converged[-2:].all()
            if one_start and same_objective and not self.early_stopping:
                ended = Ended(checkpoint, self.operators_, self.log_likelihoods_)
                return Plan(digest, self.init, int(checkpoint.seed), self.max_iter, ended)
            if not is_restarted:
                max_iter = int(checkpoint.max_iter) + self.max_iter
                return Plan(digest, self.init, int(checkpoint.seed), max_iter, None)
        return Plan(digest, init, seed, self.max_iter, None)

    def _report(self, plan, runs, pools):
        """The attributes that tell how EM went, over all heads and directions, and a warning."""
        n_iter = max(len(run.log_likelihoods) for run in runs) - 1
        curves = [
            np.pad(run.log_likelihoods, (0, n_iter + 1 - len(run.log_likelihoods)), "edge")
            for run in runs
        ]
        log_likelihoods = reduce(np.add, curves)  # the same sums whatever the number of iterations
        max_iter, converged = plan.max_iter, np.array([run.converged for run in runs + pools])
        if plan.ended is not None:
            log_likelihoods = np.append(plan.ended.log_likelihoods, log_likelihoods[1:])
            max_iter += int(plan.ended.checkpoint.max_iter)
            converged |= plan.ended.checkpoint.converged
        n_moving = int(np.count_nonzero(~converged[: len(runs)]))
        message = (
            f"{n_moving} of {len(runs)} automata have not converged after max_iter="
            f"{max_iter} iterations. Raise max_iter or tol"
            + (", or start with init='moments'." if self.init == "random" else ".")
        )
        attributes = {
            "n_iter_": log_likelihoods.size - 1,
            "log_likelihoods_": log_likelihoods,
            "converged_": not n_moving,
            "checkpoint_": make_checkpoint(plan.digest, plan.seed, max_iter, converged),
        }
        return attributes, [(message, ConvergenceWarning)] * bool(n_moving)


class Ended(NamedTuple):
    """The run that a fit goes on with."""

    checkpoint: Checkpoint
    operators: Operators
    log_likelihoods: FloatArray


class Plan(NamedTuple):
    """Where EM starts."""

    digest: np.ndarray
    init: str | Operators
    seed: int
    max_iter: int
    ended: Ended | None


def _start(plan, start, head, direction, moments):
    """Where EM starts with an automaton."""
    if plan.ended is None:
        return Starts(start(head, direction, moments), plan.max_iter)
    has_converged = plan.ended.checkpoint.converged[pair_of(head, direction)]
    automaton = pair_automaton(plan.ended.operators, head, direction)
    return Starts([automaton], 0 if has_converged else plan.max_iter)
