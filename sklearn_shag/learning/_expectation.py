"""Expectation maximisation over sequences: where it starts, the E step, all automata."""

from functools import partial
from typing import NamedTuple

import numpy as np

from sklearn_shag.encoding import Alphabet, pair_of
from sklearn_shag.learning._automata import pair_tasks
from sklearn_shag.learning._climb import Expected, climb
from sklearn_shag.learning._deterministic import deterministic_counts
from sklearn_shag.operators import (
    Operators,
    expected_visits,
    grammar_shapes,
    operators_from_counts,
    pair_automaton,
)
from sklearn_shag.sequences import build_prefix_trees, pair_moments, take_sequences
from sklearn_shag.utils._arrays import log_of
from sklearn_shag.utils._kernel import table_kernel
from sklearn_shag.utils._parallel import one_thread, progress, run_parallel

# How much of a start is uniform, so that EM can move away from its zeros.
UNIFORM_SHARE = 1e-3
NMF_ITERATIONS = 200


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
        return [random_start(moments, n_states, rng) for _ in range(n_init)]
    start = moments_start if init == "moments" else deterministic_start
    return [start(moments, n_states)]


def random_start(moments, n_states, rng):
    """Draw the start of Luque et al. (2012, sec. 5.1), made a proper automaton.

    alpha_1, alpha_inf and a transition matrix T are random; every state emits the symbols by their
    relative frequency, and column j of ``A_a = T P(a)`` is scaled to ``1 - alpha_inf[j]``.
    """
    emission = moments.bigrams[:-1].sum(axis=1)
    emission /= max(emission.sum(), np.finfo(float).tiny)
    transitions = rng.dirichlet(np.ones(n_states), size=n_states).T
    alpha_inf = rng.uniform(size=n_states)
    A = emission[:, None, None] * (transitions * (1.0 - alpha_inf))
    return _proper(rng.dirichlet(np.ones(n_states)), alpha_inf, A, moments)


def moments_start(moments, n_states):
    """Factorise the bigrams into a non-negative automaton (theory, eq. 31).

    ``P ~ W H`` by non-negative matrix factorisation: with columns of W scaled to sum to 1,
    column j of W is the distribution of the next symbol or STOP in state j, and column a of H
    the mass of the states after symbol a (or START). The next state depends on the symbol
    alone: ``A[a, i, j] = H[i, a] / sum_i H[i, a] * W[a, j]``.
    """
    from sklearn.decomposition import NMF  # like KMeans slow to import, and seldom needed

    # The start of the factorisation by singular vectors is undefined beyond the rank.
    n_components = min(n_states, int(np.linalg.matrix_rank(moments.bigrams)))
    # Without a tolerance it takes a fixed number of iterations: a start need not be the optimum.
    factorisation = NMF(n_components, init="nndsvd", tol=0, max_iter=NMF_ITERATIONS, random_state=0)
    W = factorisation.fit_transform(moments.bigrams)
    H = factorisation.components_
    # Components without mass, and states beyond the matrix, start as the average state.
    used = (W.sum(axis=0) > 0) & (H.sum(axis=1) > 0)
    average = moments.bigrams.sum(axis=1)
    W = np.column_stack([W[:, used], np.repeat(average[:, None], n_states - used.sum(), axis=1)])
    H = np.vstack([H[used], np.full((n_states - used.sum(), H.shape[1]), 1e-3 * H.mean())])
    mass = W.sum(axis=0)
    W, H = W / mass, H * mass[:, None]
    following = H / np.maximum(H.sum(axis=0), np.finfo(float).tiny)
    A = following[:, :-1].T[:, :, None] * W[:-1, None, :]
    return _proper(following[:, -1], W[-1], A, moments)


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
    return _proper(*deterministic_counts(uses / leaving, state_of), moments)


def _proper(alpha_1, alpha_inf, A, moments):
    """Mix a start with the uniform use of all states and normalise it."""
    n_states = alpha_1.size
    average = moments.bigrams.sum(axis=1) / moments.bigrams.sum()
    uniform = np.broadcast_to(average[:-1, None, None] / n_states, A.shape)
    start = Operators(
        alpha_1 + UNIFORM_SHARE / n_states,
        alpha_inf + UNIFORM_SHARE * average[-1],
        A + UNIFORM_SHARE * uniform,
    )
    return operators_from_counts(start)


class Run(NamedTuple):
    """One run of EM: the automaton, how it got there, how good it is, and whether it converged."""

    automaton: Operators
    log_likelihoods: list
    quality: float  # log likelihood held out, or else the objective
    converged: bool


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
            _prior_uses(pool.automaton, smoothing) if smoothing > 0 else None for pool in pools
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
    run : Run

    Raises
    ------
    ValueError
        If a sequence has no probability under the start.
    ArithmeticError
        If the objective falls or is not a number.
    """
    n_sequences = float(tree.weight.sum())
    # Contiguous, so that the kernel compiles for one memory layout only.
    start = Operators(*map(np.ascontiguousarray, start))
    expect = partial(_expect, tree, prior)
    log_likelihoods, best_held_out, waited = [], -np.inf, 0
    for automaton, expected, gain in climb(
        start, expect, operators_from_counts, max_iter, n_sequences
    ):
        log_likelihoods.append(expected.log_likelihood)
        if held_out is None:
            kept = automaton
            converged = gain <= tol * n_sequences
        else:
            unused = Operators(*map(np.zeros_like, automaton))
            score = expected_uses(automaton, held_out, unused)
            waited += 1
            if score > best_held_out or len(log_likelihoods) == 1:
                kept, best_held_out, waited = automaton, score, 0
            converged = waited >= patience
        if converged:
            break
    quality = expected.objective if held_out is None else best_held_out
    return Run(kept, log_likelihoods, quality, converged)


def _expect(tree, prior, automaton):
    """The E step of one automaton."""
    counts = Operators(*map(np.zeros_like, automaton))
    log_likelihood = expected_uses(automaton, tree, counts)
    if log_likelihood == -np.inf:  # no iteration makes it so
        raise ValueError(
            "the start gives a training sequence the probability zero. Raise smoothing; or leave "
            "sentences out whose weights vanish beside those of others"
        )
    if prior is None:
        return Expected(counts, log_likelihood, log_likelihood)
    objective = log_likelihood + _log_prior(automaton, prior)
    return Expected(Operators(*map(np.add, counts, prior)), log_likelihood, objective)


def _log_prior(automaton, prior):
    """Logarithm of the Dirichlet prior whose pseudo-counts are `prior`, up to a constant."""
    total = 0.0
    for part, uses in zip(automaton, prior, strict=True):
        used = uses > 0
        # A start may lack what the pool has.
        total += float(np.sum(uses[used] * log_of(part[used])))
    return total


def _prior_uses(pooled, strength):
    """Compute how often so many sequences of the pooled automaton use each of its entries."""
    visits = expected_visits(pooled)
    return Operators(
        strength * pooled.alpha_1,
        strength * pooled.alpha_inf * visits,
        strength * pooled.A * visits,
    )


def expected_uses(automaton, tree, counts):
    """Add the expected uses of an automaton by all sequences of a prefix tree (theory, eq. 30).

    Parameters
    ----------
    automaton : Operators
        Non-negative, of one head and direction.
    tree : PrefixTree
    counts : Operators
        Of the shapes of `automaton`; the uses are added to it.

    Returns
    -------
    log_likelihood : float
        Of all sequences, in nats.
    """
    n_nodes, n_states = tree.parent.size, automaton.alpha_1.size
    (forward, backward), logs = np.zeros((2, n_nodes, n_states)), np.zeros(n_nodes)
    return _add_uses(automaton, tree, counts, forward, np.ones(n_nodes), logs, backward)


@table_kernel
def _add_uses(automaton, tree, counts, forward, scale, log_scale, backward):
    """Do what :func:`expected_uses` does, with memory for what is noted of each prefix."""
    n_nodes, n_states = tree.parent.size, automaton.alpha_1.size
    # forward[v] is the forward vector of prefix v divided by its sum, whose logarithm is
    # log_scale[v]; scale[v] is the last factor of that sum.
    for i in range(n_states):
        forward[0, i] = automaton.alpha_1[i]
    for v in range(1, n_nodes):
        symbol, parent = tree.symbol[v], tree.parent[v]
        total = 0.0
        for i in range(n_states):
            for j in range(n_states):
                forward[v, i] += automaton.A[symbol, i, j] * forward[parent, j]
            total += forward[v, i]
        scale[v] = total
        log_scale[v] = log_scale[parent] + np.log(total) if total > 0.0 else -np.inf
        for i in range(n_states):
            forward[v, i] /= total if total > 0.0 else 1.0
    # backward[v] sums the backward vectors of all sequences that begin with prefix v, each divided
    # by its probability: what the sequences below v say about the state after v.
    log_likelihood = 0.0
    for v in range(n_nodes - 1, -1, -1):
        if tree.weight[v] > 0.0:
            probability = 0.0
            for j in range(n_states):
                probability += automaton.alpha_inf[j] * forward[v, j]
            if probability == 0.0 or log_scale[v] == -np.inf:
                return -np.inf
            log_likelihood += tree.weight[v] * (np.log(probability) + log_scale[v])
            for j in range(n_states):
                stop = automaton.alpha_inf[j] * tree.weight[v] / probability
                backward[v, j] += stop
                counts.alpha_inf[j] += stop * forward[v, j]
        if v > 0:
            symbol, parent = tree.symbol[v], tree.parent[v]
            for i in range(n_states):
                after = backward[v, i] / scale[v] if scale[v] > 0.0 else 0.0
                for j in range(n_states):
                    move = after * automaton.A[symbol, i, j]
                    backward[parent, j] += move
                    counts.A[symbol, i, j] += move * forward[parent, j]
    for j in range(n_states):
        counts.alpha_1[j] += backward[0, j] * automaton.alpha_1[j]
    return log_likelihood
