"""Relative frequencies: one deterministic automaton from moments."""

import numpy as np

from sklearn_shag.operators import Operators, operators_from_counts


def deterministic_automaton(moments, automaton):
    """Estimate a deterministic automaton from bigrams (theory, eqs. 10-11).

    Parameters
    ----------
    moments : Moments
    automaton : {"single", "first", "sibling"}
        See :class:`~sklearn_shag.DeterministicSHAG`.

    Returns
    -------
    operators : Operators
        With 1, 2 or ``n_symbols + 1`` states.
    """
    n_symbols = moments.n_symbols
    bigrams = moments.bigrams[: n_symbols + 1, : n_symbols + 1]
    # uses[a, j]: modifier (last row: STOP) a is generated in state j. State 0 is that before
    # the first modifier: column START of the bigrams.
    starts, continues = bigrams[:, -1:], bigrams[:, :-1]
    if automaton == "single":
        uses = starts + continues.sum(axis=1, keepdims=True)
        target = np.zeros(n_symbols, dtype=np.int64)
    elif automaton == "first":
        uses = np.hstack([starts, continues.sum(axis=1, keepdims=True)])
        target = np.ones(n_symbols, dtype=np.int64)
    else:
        uses = np.hstack([starts, continues])
        target = np.arange(1, n_symbols + 1)
    return operators_from_counts(deterministic_counts(uses, target))


def deterministic_counts(uses, target):
    """Put the uses of an automaton into the form of one, starting in state 0.

    Parameters
    ----------
    uses : ndarray of shape (n_symbols + 1, n_states)
        How often each modifier, or STOP (last row), is generated in each state.
    target : int ndarray of shape (n_symbols,)
        The state after each modifier.

    Returns
    -------
    counts : Operators
    """
    n_symbols, n_states = target.size, uses.shape[1]
    transitions = np.zeros((n_symbols, n_states, n_states))
    transitions[np.arange(n_symbols), target] = uses[:-1]
    return Operators(np.eye(n_states)[0], uses[-1], transitions)
