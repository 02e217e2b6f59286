"""Starts of EM for one automaton, made of the states of a spectral one (theory, eq. 64)."""

import numpy as np
from scipy import linalg

from sklearn_shag.automata._contexts import NGrams, learn_spectral, list_gaps
from sklearn_shag.automata._expectation import proper_start
from sklearn_shag.automata._prediction import advance_state, make_predictor
from sklearn_shag.operators import Operators, operators_from_counts
from sklearn_shag.utils._kernel import table_kernel
from sklearn_shag.utils._parallel import one_thread

# Of the spectral automaton: see SpectralAutomaton. Contexts may be longer than there, because few
# symbols have few short ones. Of many symbols, the most frequent contexts are short all the same.
SCALING, SHRINKAGE, MAX_CONTEXT = 0.4, 5.0, 8
# Places in sequences whose states are grouped, and groups per state, of which corners are chosen.
N_PLACES, N_GROUPS = 5000, 4
# States further out, relative to the median, are noise.
FURTHEST = 10.0


def make_memoryless(outcomes, n_states):
    """Make an automaton whose states all have the same probabilities of symbols and of the end."""
    even = np.full((n_states, n_states), 1.0 / n_states)
    return Operators(even[0], np.full(n_states, outcomes[-1]), outcomes[:-1, None, None] * even)


def no_ngrams(n_symbols):
    """Make n-grams that know nothing: all outcomes are equally probable."""
    even = np.full((1, n_symbols + 1), 1.0 / (n_symbols + 1))
    return NGrams(even, np.zeros(even.shape, dtype=np.int64), np.array(0))


def spectral_starts(sequences, tree, outcomes, n_states, n_contexts):
    """Make automata of the states of a spectral automaton after all prefixes of sequences.

    In the first one, groups of similar states are the states, and moves between groups are counted.
    This suits deterministic automata, which have few different states. In the second one, corners
    of the set of all states are the states: its operators are those of the spectral automaton in
    another basis, without what is negative. This suits automata whose states are mixtures.

    Parameters
    ----------
    sequences : EncodedSequences
    tree : PrefixTree
        Of the sequences.
    outcomes : ndarray of shape (n_symbols + 1,)
        Probabilities of symbols and the end.
    n_states : int
    n_contexts : int
        Largest number of contexts on each side.

    Returns
    -------
    starts : list of Operators
    """
    from sklearn.cluster import KMeans  # slow to import, and seldom needed

    n_symbols, n = outcomes.size - 1, n_states
    gaps = list_gaps(sequences, n_symbols, MAX_CONTEXT, n_contexts)
    spectral, _ = learn_spectral(
        gaps, sequences.weights, n_symbols, n, scaling=SCALING, shrinkage=SHRINKAGE
    )
    predictor = make_predictor(spectral, no_ngrams(n_symbols), 0.0)
    states, visits = np.empty((tree.parent.size, spectral.alpha_1.size)), tree.weight.copy()
    _visit_prefixes(predictor, tree, states, visits, np.empty(spectral.alpha_1.size))
    furthest = FURTHEST * np.median(np.abs(states).max(axis=1))
    states = states.clip(-furthest, furthest)
    places = np.random.RandomState(0).choice(visits.size, N_PLACES, p=visits / visits.sum())
    places, counts = np.unique(places, return_counts=True)
    n_different = len(np.unique(states[places].round(7), axis=0))

    @one_thread("openmp")
    def find_groups(n_groups):
        return KMeans(min(n_groups, n_different), n_init=2, random_state=0).fit(
            states[places], sample_weight=counts
        )

    own = find_groups(n).predict(states)
    moves = (tree.symbol[1:] * n + own[1:]) * n + own[tree.parent[1:]]
    A = np.bincount(moves, visits[1:], n_symbols * n * n).reshape(n_symbols, n, n)
    grouped = Operators(np.eye(n)[own[0]], np.bincount(own, tree.weight, n), A)
    corners = find_groups(N_GROUPS * n).cluster_centers_
    corners = corners[linalg.qr(corners.T, pivoting=True, mode="r")[1][:n]].T
    inverse, missing = linalg.pinv(corners), (0, n - corners.shape[1])
    A = np.pad(inverse @ spectral.A @ corners, ((0, 0), missing, missing))
    vectors = inverse @ predictor.alpha_1, spectral.alpha_inf @ corners
    cornered = Operators(*(np.pad(vector, missing) for vector in vectors), A)
    starts = (Operators(*(part.clip(0.0) for part in start)) for start in (grouped, cornered))
    return [proper_start(*operators_from_counts(start), outcomes[:, None]) for start in starts]


@table_kernel
def _visit_prefixes(predictor, tree, states, visits, moved):
    """Set the states after all prefixes, and add up visits from the longest prefixes on."""
    for i in range(moved.size):
        states[0, i] = predictor.alpha_1[i]
    for v in range(1, visits.size):
        for i in range(moved.size):
            states[v, i] = states[tree.parent[v], i]
        advance_state(predictor, states[v], tree.symbol[v], moved)
    for v in range(visits.size - 1, 0, -1):
        visits[tree.parent[v]] += visits[v]
