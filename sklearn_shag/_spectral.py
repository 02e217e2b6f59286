"""Spectral learning of hidden-state automata from moments."""

from functools import partial
from numbers import Integral, Real

import numpy as np
from scipy import linalg

from sklearn_shag._base import BaseSHAG
from sklearn_shag.operators import Operators, learn_grammar
from sklearn_shag.utils._param_validation import Interval

__all__ = ["SpectralSHAG"]


def spectral_automaton(moments, n_states):
    """Learn an operator model from moments by a singular value decomposition (theory, eqs. 12-13).

    Parameters
    ----------
    moments : Moments
    n_states : int
        At most so many states; fewer where the bigram matrix has a smaller rank.

    Returns
    -------
    operators : Operators
        ``alpha_1 = U^T P[:, START]``, ``alpha_inf = P[STOP, :] (U^T P)^+ = U[STOP, :]`` and
        ``A_a = U^T P_a (U^T P)^+`` for the top left singular vectors U of the bigrams P.
    """
    # Symbols that never occur are rows and columns of zeros; most heads see few symbols.
    seen_rows, seen_columns = (np.flatnonzero(moments.bigrams.any(axis=a)) for a in (1, 0))
    P = moments.bigrams[np.ix_(seen_rows, seen_columns)]
    U_seen, singular_values, Vt_seen = linalg.svd(P, full_matrices=False)
    noise = singular_values[0] * max(P.shape) * np.finfo(float).eps
    n = min(n_states, int(np.sum(singular_values > noise)))
    # The sign of a singular vector is arbitrary: the largest entry of each column of U is positive.
    signs = np.sign(U_seen[np.abs(U_seen[:, :n]).argmax(axis=0), np.arange(n)])
    U, pseudo_inverse = np.zeros((2, moments.bigrams.shape[0], n))
    U[seen_rows] = U_seen[:, :n] * signs
    pseudo_inverse[seen_columns] = (Vt_seen[:n].T * signs) / singular_values[:n]

    n_symbols = moments.bigrams.shape[0] - 1
    rows = U[moments.last] * moments.trigrams[:, None]
    columns = pseudo_inverse[moments.first]
    A = np.zeros((n_symbols, n, n))
    order = np.argsort(moments.middle, kind="stable")
    cuts = np.searchsorted(moments.middle[order], np.arange(n_symbols + 1))
    for a in range(n_symbols):
        of_a = order[cuts[a] : cuts[a + 1]]
        A[a] = rows[of_a].T @ columns[of_a]
    return Operators(U.T @ moments.bigrams[:, -1], U[-1].copy(), A)


class SpectralSHAG(BaseSHAG):
    """Split head-automata grammar with hidden states, learned from moments in one pass.

    Every head and direction gets its own weighted automaton over modifier sequences. Its operators
    come from bigram and trigram counts and one singular value decomposition: no iteration, no
    local optima, no initialisation. Entries may be negative; sentences are parsed by
    marginals, not by the best state path.

    Parameters
    ----------
    n_states : int, default=6
        Number of hidden states of each automaton. Where the bigram matrix of a head and direction
        has a smaller rank r, its automaton has r states.
    smoothing : float, default=5.0
        How many sequences of the pool of the same direction are added to the moments of each head
        and direction. It matters for small treebanks and many symbols. 0 is the published
        algorithm.
    decoder : {"mbr", "max_marginal"}, default="mbr"
        How trees are chosen: by the largest sum of log marginals (eq. 14 of the paper) or the
        largest sum of marginals (the expected number of right arcs). "viterbi" is refused:
        the most probable derivation of a grammar with hidden states is intractable.
    n_jobs : int or None, default=None
        Number of joblib workers, for learning over heads and directions, for parsing over chunks
        of sentences.

    Attributes
    ----------
    symbols_ : ndarray of shape (n_symbols,), dtype object
        Known symbols (str), sorted; the code of each is its position.
    operators_ : Operators
        `alpha_1` and `alpha_inf` of shape (n_symbols + 2, 2, n_states), `A` of shape
        (n_symbols + 2, 2, n_symbols + 1, n_states, n_states), padded with zeros where an automaton
        has fewer states than the largest. Heads ``n_symbols`` and ``n_symbols + 1`` are
        the unknown head and the root symbol; symbol ``n_symbols`` is the unknown modifier.
    backoff_operators_ : Operators
        A grammar of one state without zeros, for sentences that `operators_` gives no mass.

    See Also
    --------
    DeterministicSHAG : The same grammars without hidden states.

    Notes
    -----
    The root symbol is not learned spectrally: its distribution is a relative frequency, and
    exactly one root is built into chart and decoder.

    References
    ----------
    Luque, Quattoni, Balle and Carreras (2012), Spectral Learning for Non-Deterministic Dependency
    Parsing, Algorithm 1 with START and STOP symbols and packed operators (footnote 6).

    Examples
    --------
    >>> from sklearn_shag import SpectralSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> trees = load_english().data
    >>> model = SpectralSHAG(n_states=3, smoothing=5).fit(trees)
    >>> model.predict([["DET", "NOUN", "VERB", "DET", "NOUN", "PUNCT"]])[0]
    array([2, 3, 0, 5, 3, 3])
    """

    _parameter_constraints = {
        **BaseSHAG._parameter_constraints,
        "n_states": [Interval(Integral, 1, None, closed="left")],
        "smoothing": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, n_states=6, *, smoothing=5.0, decoder="mbr", n_jobs=None):
        self.n_states = n_states
        self.smoothing = smoothing
        self.decoder = decoder
        self.n_jobs = n_jobs

    def _learn_operators(self, sequences, statistics):
        learn = partial(spectral_automaton, n_states=self.n_states)
        return learn_grammar(statistics, learn, self.smoothing, self.n_jobs)
