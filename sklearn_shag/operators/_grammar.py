"""Grammars: one operator model for every head and direction, in one value."""

from collections.abc import Callable, Sequence

import numpy as np

from sklearn_shag.operators._operators import Operators, operators_from_counts
from sklearn_shag.sequences import RIGHT, Moments, SequenceStatistics, pair_moments
from sklearn_shag.utils._parallel import delayed, run_parallel
from sklearn_shag.utils._progress import progress
from sklearn_shag.utils._typing import FloatArray, IntArray

__all__ = ["backoff_grammar", "complete_grammar", "join_automata", "learn_grammar"]


def learn_grammar(
    statistics: SequenceStatistics,
    learn: Callable[[Moments], Operators],
    smoothing: float = 0.0,
    n_jobs: int | None = None,
) -> Operators:
    """Learn one automaton for every head and direction, each on its own.

    Parameters
    ----------
    statistics : SequenceStatistics
    learn : callable
        Takes the :class:`~sklearn_shag.sequences.Moments` of one head and direction and returns
        the :class:`Operators` of one automaton over the known symbols.
    smoothing : float, default=0.0
        Pseudo-sequences of the pool of the direction beside those of each head.
    n_jobs : int or None, default=None
        Number of joblib workers.

    Returns
    -------
    operators : Operators
        Of the grammar: see the Notes of :class:`Operators` for its axes. The unknown head has
        the automaton of the pool; for the rest see :func:`join_automata`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_shag.operators import Operators, learn_grammar
    >>> from sklearn_shag.sequences import collect_statistics, extract_sequences
    >>> sequences = extract_sequences(
    ...     np.array([0, 1, 1]), np.array([2, 0, 2]), np.array([0, 3]), n_symbols=2)
    >>> def geometric(moments):
    ...     uses = moments.bigrams.sum(axis=1) / moments.bigrams.sum()
    ...     return Operators(np.ones(1), uses[-1:], uses[:-1, None, None])
    >>> grammar = learn_grammar(collect_statistics(sequences, 2), geometric)
    >>> grammar.alpha_inf[1].ravel()           # the stop probability of symbol 1, left and right
    array([0.66666667, 0.66666667])
    >>> grammar.A.shape
    (4, 2, 3, 1, 1)
    """
    automata = learn_automata(statistics, learn, smoothing, n_jobs)
    return join_automata(automata, statistics.roots)


def learn_automata(statistics, learn, smoothing=0.0, n_jobs=None, context=0.0, verbose=0):
    """List what `learn` returns for every head and direction, in the order of their codes."""
    tasks = (
        delayed(_learn_pair)(statistics, head, direction, learn, smoothing, context)
        for head in range(statistics.roots.size + 1)
        for direction in range(2)
    )
    n_automata = 2 * (statistics.roots.size + 1)
    with progress("Learning", n_automata, "automata", verbose) as advance:
        return run_parallel(tasks, n_jobs, lambda _: advance())


def join_automata(automata: Sequence[Operators], root_counts: FloatArray | IntArray) -> Operators:
    """Put the automata of all heads and directions together to a grammar.

    Parameters
    ----------
    automata : list of Operators
        Over the known symbols; that of head h and direction d at ``2 * h + d``. The last two are
        those of the unknown head. They may have different numbers of states.
    root_counts : ndarray of shape (n_symbols,)
        How often each symbol is the root, up to a factor.

    Returns
    -------
    operators : Operators
        Of the grammar: see the Notes of :class:`Operators` for its axes. An unknown modifier is a
        missing observation: it may stand for any symbol, so its operator is the sum of all
        others. The root symbol gets one state that emits; the chart lets it emit just once.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_shag.operators import Operators, join_automata
    >>> one = Operators(np.ones(1), np.ones(1), np.zeros((1, 1, 1)))
    >>> two = Operators(np.ones(2) / 2, np.ones(2), np.zeros((1, 2, 2)))
    >>> join_automata([one, two, one, one], np.ones(1)).alpha_1[0]
    array([[1. , 0. ],
           [0.5, 0.5]])
    """
    n_symbols = root_counts.size
    n_states = max(automaton.alpha_1.size for automaton in automata)
    grammar = Operators(
        np.zeros((n_symbols + 2, 2, n_states)),
        np.zeros((n_symbols + 2, 2, n_states)),
        np.zeros((n_symbols + 2, 2, n_symbols + 1, n_states, n_states)),
    )
    for k, automaton in enumerate(automata):
        pair, n = divmod(k, 2), automaton.alpha_1.size
        grammar.alpha_1[pair][:n] = automaton.alpha_1
        grammar.alpha_inf[pair][:n] = automaton.alpha_inf
        grammar.A[pair][:-1, :n, :n] = automaton.A
    grammar.alpha_1[-1, RIGHT, 0] = 1.0
    grammar.alpha_inf[-1, RIGHT, 0] = 1.0
    grammar.A[-1, RIGHT, :-1, 0, 0] = root_counts / root_counts.sum()
    grammar.A[:, :, -1] = grammar.A[:, :, :-1].sum(axis=2)
    return grammar


def _learn_pair(statistics, head, direction, learn, smoothing, context):
    return learn(pair_moments(statistics, head, direction, smoothing, context))


def complete_grammar(operators: Operators, root_counts: FloatArray | IntArray) -> Operators:
    """Add the unknown modifier and the root symbol to the automata of a grammar.

    Parameters
    ----------
    operators : Operators
        Automata of the known heads and, last, of the unknown head: leading axes
        (n_symbols + 1, 2), operators of the known symbols.
    root_counts : ndarray of shape (n_symbols,)
        How often each symbol is the root, up to a factor.

    Returns
    -------
    operators : Operators
        Of the grammar, as :func:`join_automata` returns it.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_shag.operators import Operators, complete_grammar
    >>> halves = np.full((2, 2, 1), 0.5)
    >>> automata = Operators(np.ones((2, 2, 1)), halves, np.full((2, 2, 1, 1, 1), 0.5))
    >>> complete_grammar(automata, np.array([3])).A[:, 1, :, 0, 0]
    array([[0.5, 0.5],
           [0.5, 0.5],
           [1. , 1. ]])
    """
    automata = [
        Operators(*(part[pair] for part in operators))
        for pair in np.ndindex(operators.alpha_1.shape[:2])
    ]
    return join_automata(automata, root_counts)


def backoff_grammar(statistics: SequenceStatistics) -> Operators:
    """Estimate a grammar of one state that gives every tree a positive probability.

    It stands in where a learned grammar gives all trees of a sentence zero mass.

    Parameters
    ----------
    statistics : SequenceStatistics

    Returns
    -------
    operators : Operators
        Relative frequencies of modifiers and STOP given head and direction, with one use of
        every outcome added to the pool of the direction and to the roots, and one use
        distributed like the pool added to each head.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_shag.operators import backoff_grammar
    >>> from sklearn_shag.sequences import collect_statistics, extract_sequences
    >>> sequences = extract_sequences(
    ...     np.array([0, 1, 1]), np.array([2, 0, 2]), np.array([0, 3]), n_symbols=2)
    >>> grammar = backoff_grammar(collect_statistics(sequences, 2))
    >>> bool(grammar.A[:3].min() > 0)
    True
    """
    n_symbols = statistics.roots.size
    pairs = np.repeat(np.arange(2 * (n_symbols + 1)), np.diff(statistics.indptr))
    # Every modifier has one trigram with both its neighbours.
    near = (statistics.first <= n_symbols) & (statistics.last <= n_symbols)
    emitted = np.bincount(
        pairs[near] * n_symbols + statistics.middle[near],
        weights=statistics.counts[near],
        minlength=2 * (n_symbols + 1) * n_symbols,
    ).reshape(n_symbols + 1, 2, n_symbols)
    uses = np.concatenate([emitted, statistics.n_sequences[:, :, None]], axis=2)
    pool = uses[-1] + 1.0
    uses += pool / pool.sum(axis=1, keepdims=True)
    automata = operators_from_counts(
        Operators(np.ones_like(uses[..., :1]), uses[..., -1:], uses[..., :-1, None, None])
    )
    return complete_grammar(automata, statistics.roots + 1.0)
