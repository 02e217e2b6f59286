"""Spectral learning of hidden-state automata from moments."""

from functools import partial
from numbers import Integral, Real

import numpy as np
from scipy import linalg

from sklearn_shag._counting import CountingSHAG
from sklearn_shag.operators import Operators, learn_grammar
from sklearn_shag.utils._kernel import kernel
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
    operators = Operators(np.zeros(n), U[-1].copy(), np.zeros((moments.bigrams.shape[0] - 1, n, n)))
    _project(moments, U, pseudo_inverse, operators)
    return operators


@kernel
def _project(moments, U, pseudo_inverse, operators):
    """Compute initial vector and operators, which are zero on entry.

    Every entry is a sum in one fixed order, which a matrix product is not: the operators of fewer
    states are leading blocks of these to the last bit.
    """
    n_states = U.shape[1]
    # alpha_1 = U^T P[:, START]                                                        (eq. 12)
    for row in range(U.shape[0]):
        for i in range(n_states):
            operators.alpha_1[i] += U[row, i] * moments.bigrams[row, -1]
    # A_b = U^T P_b (U^T P)^+                                                          (eq. 13)
    for k in range(moments.trigrams.size):
        row, symbol, column = moments.last[k], moments.middle[k], moments.first[k]
        for i in range(n_states):
            weight = moments.trigrams[k] * U[row, i]
            for j in range(n_states):
                operators.A[symbol, i, j] += weight * pseudo_inverse[column, j]


def leading_states(automaton, n_states):
    """Cut an automaton down to its first states.

    Parameters
    ----------
    automaton : Operators
        From :func:`spectral_automaton`.
    n_states : int

    Returns
    -------
    automaton : Operators
        To the last bit what :func:`spectral_automaton` returns for `n_states`: the singular
        vectors of a smaller rank are the first ones of a larger.
    """
    n = n_states
    return Operators(automaton.alpha_1[:n], automaton.alpha_inf[:n], automaton.A[:, :n, :n])


class SpectralSHAG(CountingSHAG):
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
    memory : None, str or object with the joblib.Memory interface, default=None
        Where to keep trigram counts, so that fitting the same trees with other parameters, as a
        grid search does, does not count them again: a folder or a :class:`joblib.Memory`.
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
    statistics_ : TreebankStatistics
        The trigram counts that the grammar was learned from; `partial_fit` adds to them.

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
        **CountingSHAG._parameter_constraints,
        "n_states": [Interval(Integral, 1, None, closed="left")],
        "smoothing": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, n_states=6, *, smoothing=5.0, decoder="mbr", memory=None, n_jobs=None):
        self.n_states = n_states
        self.smoothing = smoothing
        self.decoder = decoder
        self.memory = memory
        self.n_jobs = n_jobs

    def _learn_operators(self, statistics, trees):
        learn = partial(spectral_automaton, n_states=self.n_states)
        return learn_grammar(statistics.statistics, learn, self.smoothing, self.n_jobs)
