"""Where EM starts: probabilistic automata at random, from moments, or from relative frequencies."""

from typing import NamedTuple

import numpy as np

from sklearn_shag.encoding import pair_of
from sklearn_shag.learning._deterministic import deterministic_counts
from sklearn_shag.operators import (
    Operators,
    grammar_shapes,
    operators_from_counts,
    pair_automaton,
)
from sklearn_shag.utils._parallel import one_openmp_thread

# How much of a start is uniform, so that EM can move away from its zeros.
UNIFORM_SHARE = 1e-3
NMF_ITERATIONS = 200


class Starts(NamedTuple):
    """Where EM starts for one head and direction, and how far it may go."""

    automata: list
    max_iter: int


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
        with one_openmp_thread():
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
