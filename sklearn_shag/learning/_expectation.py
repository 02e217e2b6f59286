"""Expectation maximisation for the automata of all heads and directions."""

from functools import partial

import numpy as np

from sklearn_shag.automata import moments_start, prior_uses, proper_start, random_start
from sklearn_shag.encoding import Alphabet, pair_of
from sklearn_shag.learning._automata import pair_tasks
from sklearn_shag.learning._deterministic import deterministic_counts
from sklearn_shag.operators import (
    Operators,
    grammar_shapes,
    operators_from_counts,
    pair_automaton,
)
from sklearn_shag.sequences import build_prefix_trees, pair_moments, take_sequences
from sklearn_shag.utils._parallel import one_thread, progress, run_parallel


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
        Theirs.
    init : {"random", "moments", "deterministic"} or Operators
        See :class:`~sklearn_shag.EMSHAG`.
    n_states : int
    n_init : int
        Number of random starts.
    seeds : sequence of int
        Of the random starts of every head and direction.

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
    leaving = np.maximum(uses.sum(axis=0), np.finfo(float).tiny)
    return proper_start(*deterministic_counts(uses / leaving, state_of), moments.bigrams)


def learn_by_em(statistics, prefix_trees, start, improve, smoothing, n_jobs, verbose):
    """Learn the automata of all heads and directions by EM, those of the pools first.

    Parameters
    ----------
    statistics : TreebankStatistics
    prefix_trees : sequence of pairs of PrefixTree, the second may be None
        Of every head and direction, see :func:`split_prefix_trees`.
    start : callable
        Takes head, direction and moments and returns a list of automata.
    improve : callable
        :func:`em_automaton` but for its first four arguments.
    smoothing : float
        So many sequences of the pooled automaton are a prior of the others.
    n_jobs : int or None
    verbose : int

    Returns
    -------
    runs, pools : lists of Run
        The best of every known head and direction, and of the pools of both directions.

    Raises
    ------
    ValueError, ArithmeticError
        As :func:`em_automaton`; the message names head and direction.
    """
    alphabet = Alphabet(statistics.symbols.size)
    learn = partial(_best_run, statistics, prefix_trees, start, improve, smoothing)
    with progress("EM", alphabet.n_pairs, "automata", verbose) as advance:

        def run(priors, heads):
            tasks = pair_tasks(partial(learn, priors), heads)
            return run_parallel(tasks, n_jobs, lambda _: advance())

        pools = run([None, None], [alphabet.unknown_head])
        priors = [
            prior_uses(pool.automaton, smoothing) if smoothing > 0 else None for pool in pools
        ]
        return run(priors, range(alphabet.n_symbols)), pools


def _best_run(statistics, prefix_trees, start, improve, smoothing, priors, head, direction):
    """Run EM from every start of one head and direction and keep the best run."""
    symbols, counts = statistics.symbols, statistics.statistics
    moments = pair_moments(counts, head, direction, smoothing)
    tree, held_out = prefix_trees[pair_of(head, direction)]
    automata = start(head, direction, moments)
    try:
        runs = [improve(tree, held_out, automaton, priors[direction]) for automaton in automata]
    except (ArithmeticError, ValueError) as error:
        side = ("left", "right")[direction]
        name = symbols[head] if head < symbols.size else "of any symbol"
        raise type(error)(f"{side} modifiers of the head {name}: {error}.") from error
    return max(runs, key=lambda run: run.quality)


def split_prefix_trees(sequences, n_symbols, held_out, rng):
    """Build the prefix trees to learn from and to watch.

    Parameters
    ----------
    sequences : HeadModifierSequences
    n_symbols : int
    held_out : float
        The share of sequences to watch; with 0 none are.
    rng : RandomState

    Returns
    -------
    prefix_trees : list of pairs of PrefixTree
        Of every head and direction. The second is None, and the first has all sequences, where
        nothing is left to learn from or to watch.
    """
    everything = build_prefix_trees(sequences, n_symbols)
    if not held_out:
        return [(tree, None) for tree in everything]
    watched = rng.uniform(size=sequences.heads.size) < held_out
    parts = (
        build_prefix_trees(take_sequences(sequences, np.flatnonzero(chosen)), n_symbols)
        for chosen in (~watched, watched)
    )
    return [
        (train, test) if train.weight.size and test.weight.size else (tree, None)
        for train, test, tree in zip(*parts, everything, strict=True)
    ]
