"""The concave model of dependencies: every token chooses its head, whatever the others choose."""

from functools import partial

import numpy as np

from sklearn_shag.encoding import RIGHT, Alphabet
from sklearn_shag.induction._arcs import list_arcs, observed_arcs
from sklearn_shag.induction._valence import normalise
from sklearn_shag.learning import Expected, climb_to_the_end
from sklearn_shag.operators import Operators, complete_grammar


def learn_concave(text, symbols, root_symbols=None, *, max_iter=100, tol=0.0, start=None):
    """Learn how probable each symbol is given its head and the direction, by EM.

    Parameters
    ----------
    text : Text
    symbols : sequence of str
    root_symbols : None or collection of str
        In sentences that have some of these no other token may be the root.
    max_iter : int
    tol : float
        EM ends when an iteration raises the log likelihood by less a sentence.
    start : None or ndarray of shape (n_symbols + 2, 2, n_symbols)
        Probabilities to start from; None for uniform ones. Where these end does not matter.

    Returns
    -------
    ended : Ended
        Its parameters are probabilities of shape (n_symbols + 2, 2, n_symbols): by head (also the
        unknown one, the pool, and the root symbol), direction and modifier.
    """
    n_symbols = len(symbols)
    shape = (Alphabet(n_symbols).n_heads, 2, n_symbols)
    cells = list_arcs(text.codes, text.indptr, n_symbols)
    chosen = np.flatnonzero(
        cells.possible
        & observed_arcs(text.heads, cells)
        & _roots_left(text, symbols, root_symbols, cells)
    )
    places = np.ravel_multi_index(
        (cells.heads[chosen], cells.directions[chosen], cells.modifiers[chosen]), shape
    )
    weights = np.repeat(text.weights, np.diff(text.indptr))
    expect = partial(_expect, places, cells.tokens[chosen], weights)
    start = np.full(shape, 1.0 / n_symbols) if start is None else start
    return climb_to_the_end(
        start, expect, _maximise, max_iter=max_iter, tol=tol, n_samples=text.weights.sum()
    )


def _roots_left(text, symbols, root_symbols, cells):
    """Which arcs are left if roots have some of the symbols wherever there is one that may."""
    if root_symbols is None:
        return np.ones(cells.tokens.size, dtype=bool)
    may = np.isin(np.asarray(symbols, dtype=object), list(root_symbols))[text.codes]
    may &= text.heads <= 0  # it is the root, or nothing is known
    some = np.logical_or.reduceat(may, text.indptr[:-1])
    refused = ~may & np.repeat(some, np.diff(text.indptr)) & (text.heads != 0)
    return (cells.positions > 0) | ~refused[cells.tokens]


def _expect(places, tokens, weights, probabilities):
    """The E step: each token shares itself out among its heads (theory, eq. 46)."""
    of_arcs = probabilities.ravel()[places]
    # Probabilities vanish where weights vanish beside those of others.
    of_tokens = np.maximum(np.bincount(tokens, of_arcs, weights.size), np.finfo(float).tiny)
    shares = of_arcs / of_tokens[tokens] * weights[tokens]
    counts = np.bincount(places, shares, probabilities.size).reshape(probabilities.shape)
    counts[-2] = counts[:-2].sum(axis=0)  # the unknown head has those of all
    log_likelihood = float(weights @ np.log(of_tokens))
    return Expected(counts, log_likelihood, log_likelihood)


def _maximise(counts):
    return normalise(counts, 1)


def as_grammar(probabilities):
    """Make the operators of a grammar of one state, which never stops at a cost."""
    ones = np.ones((probabilities.shape[0] - 1, 2, 1))
    automata = Operators(ones, ones, probabilities[:-1, :, :, None, None])
    return complete_grammar(automata, probabilities[-1, RIGHT])
