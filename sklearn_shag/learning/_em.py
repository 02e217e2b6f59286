"""Expectation maximisation of the hidden-state automata of all heads and directions."""

from functools import partial, reduce
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from sklearn_shag.automata import (
    em_automaton,
    moments_start,
    prior_uses,
    proper_start,
    random_start,
)
from sklearn_shag.encoding import Alphabet, pair_of
from sklearn_shag.learning._automata import pair_tasks
from sklearn_shag.learning._base import TreeLearner
from sklearn_shag.learning._deterministic import deterministic_counts
from sklearn_shag.operators import (
    Operators,
    grammar_shapes,
    join_automata,
    operators_from_counts,
    pair_automaton,
)
from sklearn_shag.sequences import list_prefix_trees, pair_moments, take_sequences
from sklearn_shag.utils._arrays import TINY
from sklearn_shag.utils._estimators import WatchedMixin, check_same_symbols
from sklearn_shag.utils._messages import warn
from sklearn_shag.utils._parallel import one_thread, progress, run_parallel
from sklearn_shag.utils._param_validation import (
    COUNT,
    LARGEST_COUNT,
    LARGEST_NUMBER,
    Interval,
    StrOptions,
)
from sklearn_shag.utils._typing import RandomSeed


def check_start(operators, n_symbols, n_states):
    """Check that EM can start from the automata of a grammar.

    Raises
    ------
    ValueError
        If it is not a grammar over so many symbols and states, or has negative entries.
    """
    expected = grammar_shapes(n_symbols, n_states)
    if np.shape(operators.A) != expected.A or np.shape(operators.alpha_1) != expected.alpha_1:
        raise ValueError(
            f"The operators to start from have shape {np.shape(operators.A)}; for {n_symbols} "
            f"symbols and n_states={n_states} it must be {expected.A}."
        )
    if min(part.min() for part in operators) < 0:
        raise ValueError("The operators to start from have negative entries.")


def make_starts(head, direction, moments, *, init, n_states, n_init, seeds):
    """List the automata of one head and direction that EM starts from.

    Parameters
    ----------
    head, direction : int
    moments : Moments
        The moments of this head and direction.
    init : {"random", "moments", "deterministic"} or Operators
        See :class:`~sklearn_shag.EMSHAG`.
    n_states : int
    n_init : int
        Number of random starts.
    seeds : sequence of int
        Seeds of the random starts, by pair of head and direction.

    Returns
    -------
    starts : list of Operators
    """
    if isinstance(init, Operators):
        return [operators_from_counts(pair_automaton(init, head, direction))]
    if init == "random":
        rng = np.random.RandomState(seeds[pair_of(head, direction)])
        return [random_start(moments.bigrams, n_states, rng) for _ in range(n_init)]
    if init == "moments":
        return [moments_start(moments.bigrams, n_states)]
    return [deterministic_start(moments, n_states)]


def deterministic_start(moments, n_states):
    """Merge the states of the sibling automaton: START and clusters of previous modifiers.

    Modifiers are alike if similar ones, or STOP, follow them.
    """
    from sklearn.cluster import KMeans

    n_symbols = moments.n_symbols
    count = moments.bigrams[:, :-1].sum(axis=0)
    seen = np.flatnonzero(count > 0)
    state_of = np.zeros(n_symbols, dtype=np.int64)
    if n_states > 1 and seen.size:
        following = (moments.bigrams[:, seen] / count[seen]).T
        n_clusters = min(n_states - 1, np.unique(following, axis=0).shape[0])
        clusters = KMeans(n_clusters, n_init=10, random_state=0)
        with one_thread("openmp"):
            clusters.fit(following, sample_weight=count[seen])
        state_of[seen] = 1 + clusters.labels_
    merged = np.zeros((n_states, n_symbols + 1))
    merged[0, -1] = 1.0
    merged[state_of, np.arange(n_symbols)] += 1.0
    uses = moments.bigrams @ merged.T
    leaving = np.maximum(uses.sum(axis=0), TINY)
    return proper_start(*deterministic_counts(uses / leaving, state_of), moments.bigrams)


def learn_by_em(settings, statistics, sequences, init):
    """Learn the automata of all heads and directions by EM, the pools first.

    Parameters
    ----------
    settings : EMSHAG
        Its parameters are used, except `init`.
    statistics : TreebankStatistics
    sequences : HeadModifierSequences
        The sequences of the trees in the statistics.
    init : {"random", "moments", "deterministic"} or Operators

    Returns
    -------
    operators : Operators
        The grammar.
    runs : list of EMResult
        The best run of every known head and direction.

    Raises
    ------
    ValueError, ArithmeticError
        As :func:`check_start` and :func:`em_automaton`; the message names head and direction.
    """
    alphabet, n_jobs = Alphabet(statistics.symbols.size), settings.n_jobs
    n_states, smoothing = settings.n_states, settings.smoothing
    if isinstance(init, Operators):
        check_start(init, alphabet.n_symbols, n_states)
    rng = check_random_state(settings.random_state)
    seeds = rng.randint(np.iinfo(np.int32).max, size=alphabet.n_pairs)
    held_out = settings.validation_fraction if settings.early_stopping else 0.0
    prefix_trees = split_prefix_trees(sequences, alphabet.n_symbols, held_out, rng)
    start = partial(make_starts, init=init, n_states=n_states, n_init=settings.n_init, seeds=seeds)
    improve = partial(
        em_automaton,
        max_iter=settings.max_iter,
        tol=settings.tol,
        patience=settings.n_iter_no_change,
    )
    with (
        progress("EM", alphabet.n_pairs, "automata", settings.verbose) as advance,
        settings._watch(alphabet.n_pairs, in_order=False) as fit,
    ):
        begin = partial(fit.begin, "automaton", n_tasks=settings.n_init * settings.max_iter)
        learn = partial(_best_run, begin, statistics, prefix_trees, start, improve, smoothing)

        def run(priors, heads):
            return run_parallel(pair_tasks(partial(learn, priors), heads), n_jobs, advance)

        pools = run([None, None], [alphabet.unknown_head])
        priors = [
            prior_uses(pool.parameters, smoothing) if smoothing > 0 else None for pool in pools
        ]
        runs = run(priors, range(alphabet.n_symbols))
    automata = [each.parameters for each in runs + pools]
    return join_automata(automata, statistics.statistics.roots), runs


def _best_run(begin, statistics, prefix_trees, start, improve, smoothing, priors, head, direction):
    """Run EM from every start of one head and direction, as a task, and keep the best run."""
    moments = pair_moments(statistics.statistics, head, direction, smoothing)
    tree, held_out = prefix_trees[pair_of(head, direction)]
    automata = start(head, direction, moments)
    passes = begin(number=pair_of(head, direction))
    run = partial(improve, tree, held_out, prior=priors[direction], passes=passes)
    try:
        best = max(map(run, automata), key=lambda run: run.quality)
    except (ArithmeticError, ValueError) as error:
        side = ("left", "right")[direction]
        name = statistics.symbols[head] if head < statistics.symbols.size else "of any symbol"
        raise type(error)(f"{side} modifiers of the head {name}: {error}.") from error
    passes.end(-best.log_likelihoods[-1], best.quality)
    return best


def split_prefix_trees(sequences, n_symbols, held_out, rng):
    """Build the prefix trees of training and held-out sequences.

    Parameters
    ----------
    sequences : HeadModifierSequences
    n_symbols : int
    held_out : float
        Share of held-out sequences; with 0 there are none.
    rng : RandomState

    Returns
    -------
    prefix_trees : list of pairs of PrefixTree
        Training and held-out tree of every head and direction. Where one would be empty, the first
        has all sequences, and the second is None.
    """
    everything = list_prefix_trees(sequences, n_symbols)
    if not held_out:
        return [(tree, None) for tree in everything]
    watched = rng.uniform(size=sequences.heads.size) < held_out
    parts = (
        list_prefix_trees(take_sequences(sequences, np.flatnonzero(chosen)), n_symbols)
        for chosen in (~watched, watched)
    )
    return [
        (train, test) if train.weight.size and test.weight.size else (tree, None)
        for train, test, tree in zip(*parts, everything, strict=True)
    ]


class HiddenStatesMixin:
    """Mixin of learners of automata with hidden states by EM: their shared parameters."""

    _parameter_constraints = {
        "n_states": [Interval(Integral, 1, LARGEST_COUNT, closed="both")],
        "init": [StrOptions({"random", "moments", "deterministic"}), Operators],
        "n_init": COUNT,
        "max_iter": [Interval(Integral, 0, LARGEST_COUNT, closed="both")],
        "tol": [Interval(Real, 0, LARGEST_NUMBER, closed="both")],
        "smoothing": [Interval(Real, 0, LARGEST_NUMBER, closed="both")],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        n_states: int,
        init: Literal["random", "moments", "deterministic"] | Operators,
        n_init: int,
        max_iter: int,
        tol: float,
        smoothing: float,
        warm_start: bool,
        random_state: RandomSeed,
        **parser: Any,
    ) -> None:
        super().__init__(**parser)
        self.n_states = n_states
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.smoothing = smoothing
        self.warm_start = warm_start
        self.random_state = random_state


class EMSHAG(HiddenStatesMixin, WatchedMixin, TreeLearner):
    """Split head-automata grammar with hidden states, learned by expectation maximisation.

    Every head and direction gets its own probabilistic automaton over modifier sequences. EM raises
    their likelihood step by step and finds a local optimum that depends on the start. Iterations
    are cheap because each visits equal prefixes of sequences only once.

    Parameters
    ----------
    n_states : int, default=8
        Number of hidden states of each automaton.
    init : {"random", "moments", "deterministic"} or Operators, default="random"
        Where EM starts:

        - "random": the start in the paper. Initial, stopping and transition probabilities are
          random; every state emits symbols according to their relative frequencies.
        - "moments": a non-negative factorisation of the bigrams that the spectral learner also
          uses. Each component is a state. Its column is the distribution of the next symbol, its
          row the mass of the state after each symbol. This start is nearly as good as the result
          of EM; see theory, eq. 31.
        - "deterministic": the previous modifier is the state, as in
          ``DeterministicSHAG("sibling")``. k-means merges modifiers that are followed by similar
          ones. Two states distinguish before and after the first modifier.
        - a grammar as in `operators_` over the same symbols, with non-negative entries.
          Its zeros stay zero.
    n_init : int, default=1
        Number of random starts of each automaton; the one with the best likelihood is kept.
    max_iter : int, default=25
        Maximum number of iterations.
    tol : float, default=1e-3
        An automaton has converged when an iteration raises its log likelihood by no more than this
        per sequence, in nats.
    smoothing : float, default=0.0
        Number of sequences of the pooled automaton of the same direction to add to those of each
        head and direction. Their expected uses of each start, stop and move are added to the
        counts, as a Dirichlet prior. 0 is the published algorithm.
    early_stopping : bool, default=False
        Whether to hold out some sequences, stop when their likelihood has not risen for
        `n_iter_no_change` iterations, and keep the iteration where it was highest. A head with too
        few sequences to hold any out is learned from all of them.
    validation_fraction : float, default=0.1
        Fraction of sequences held out for early stopping.
    n_iter_no_change : int, default=5
        Number of iterations to wait for a better likelihood of the held-out sequences.
    warm_start : bool, default=False
        Whether EM starts from the operators of the previous `fit`, if there was one, instead of
        from `init`. The symbols must be the same.
    decoder : {"mbr", "max_marginal", "mst"}, default="mbr"
        How trees are chosen. "mbr" maximises the sum of log marginals (eq. 14 of the paper), and
        "max_marginal" the sum of marginals (the expected number of correct arcs). "mst" is like
        "mbr", but its trees may have crossing arcs.
    random_state : int, RandomState instance or None, default=None
        Seeds the random starts and the choice of held-out sequences.
    max_tokens : None or int, default=None
        Maximum number of tokens in a sentence to parse; longer ones raise an error. Time grows with
        the cube of the length, memory with its square: 1,000 tokens take seconds and up to 0.8 GB.
    n_jobs : int or None, default=None
        Number of joblib workers. Learning is split over heads and directions, parsing over chunks
        of sentences.
    verbose : int, default=0
        1 shows progress bars on standard error for work that takes more than two seconds; 2 always
        shows them.

    Attributes
    ----------
    symbols_ : ndarray of shape (n_symbols,), dtype object
        Known symbols (str), sorted; the code of each is its position.
    labels_ : ndarray of shape (n_labels,), dtype object
        Known relations of arcs (str), sorted; empty if the training trees had none.
    label_counts_ : LabelCounts
        How often each relation occurred, by the symbols at both ends of the arc and its direction.
    operators_ : Operators
        `alpha_1` and `alpha_inf` have shape (n_symbols + 2, 2, n_states), `A` has shape
        (n_symbols + 2, 2, n_symbols + 1, n_states, n_states); non-negative. Heads ``n_symbols``
        and ``n_symbols + 1`` are the unknown head and the root symbol; symbol ``n_symbols`` is
        the unknown modifier.
    fallback_operators_ : Operators
        A one-state grammar without zeros, for sentences to which `operators_` gives no mass.
    loss_curve_ : list of float
        Minus the log likelihood, in nats, of the training sequences of all heads and directions
        under the automata after 0, 1, ..., `n_iter_` iterations. An automaton that stopped early
        keeps its last value.
    n_iter_ : int
        The largest number of iterations of any automaton.
    converged_ : bool
        Whether all automata converged within `max_iter` iterations.

    See Also
    --------
    SpectralSHAG : Learns the same kind of automata from moments, in one pass.

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
        **HiddenStatesMixin._parameter_constraints,
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": COUNT,
    }

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
        decoder: Literal["mbr", "max_marginal", "mst"] = "mbr",
        random_state: RandomSeed = None,
        max_tokens: int | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_states=n_states,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            smoothing=smoothing,
            warm_start=warm_start,
            random_state=random_state,
            decoder=decoder,
            max_tokens=max_tokens,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change

    def _learn_operators(self, statistics, trees, sequences):
        init = self.init
        if self.warm_start and hasattr(self, "operators_"):
            check_same_symbols(self, statistics.symbols, "automata")
            init = self.operators_
        operators, runs = learn_by_em(self, statistics, sequences, init)
        return {"operators_": operators, **self._report(runs)}

    def _report(self, runs):
        """Return the attributes about the course of EM, over all heads and directions."""
        n_iter = max(len(run.log_likelihoods) for run in runs) - 1
        curves = [
            np.pad(run.log_likelihoods, (0, n_iter + 1 - len(run.log_likelihoods)), "edge")
            for run in runs
        ]
        n_moving = sum(not run.converged for run in runs)
        if n_moving and n_iter == self.max_iter:  # else callbacks have stopped them
            warn(
                f"{n_moving} of {len(runs)} automata have not converged after max_iter="
                f"{self.max_iter} iterations. Raise max_iter or tol"
                + (", or start with init='moments'." if self.init == "random" else "."),
                ConvergenceWarning,
            )
        return {
            "n_iter_": n_iter,
            "loss_curve_": (-reduce(np.add, curves)).tolist(),  # in one order for any n_iter_
            "converged_": not n_moving,
        }
