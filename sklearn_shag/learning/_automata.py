"""The loop over heads and directions of all learners, and the fallback grammar."""

from collections.abc import Callable
from functools import partial
from itertools import product, starmap

import numpy as np

from sklearn_shag.encoding import LEFT, RIGHT, Alphabet
from sklearn_shag.operators import Operators, complete_grammar, join_automata, operators_from_counts
from sklearn_shag.sequences import Moments, SequenceStatistics, pair_moments
from sklearn_shag.utils._parallel import delayed, progress, run_parallel


def learn_grammar(
    statistics: SequenceStatistics,
    learn: Callable[[Moments], Operators],
    smoothing: float = 0.0,
    n_jobs: int | None = None,
) -> Operators:
    """Learn an automaton for every head and direction independently.

    Parameters
    ----------
    statistics : SequenceStatistics
        Trigram counts, as from :func:`~sklearn_shag.sequences.collect_statistics`.
    learn : callable
        Takes the :class:`~sklearn_shag.sequences.Moments` of one head and direction and returns
        the :class:`~sklearn_shag.operators.Operators` of one automaton over the known symbols.
    smoothing : float, default=0.0
        Number of pseudo-sequences from the pool of the direction to add to those of each head.
    n_jobs : int or None, default=None
        Number of joblib workers.

    Returns
    -------
    operators : Operators
        The grammar; see the Notes of :class:`~sklearn_shag.operators.Operators` for its axes. The
        unknown head has the automaton of the pool; for the rest, see
        :func:`~sklearn_shag.operators.join_automata`.

    See Also
    --------
    fallback_grammar : Used where the grammar gives no mass to any tree.
    sklearn_shag.sequences.pair_moments : Makes the moments that `learn` takes.
    sklearn_shag.operators.join_automata : Joins the automata that it returns into a grammar.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_shag.learning import learn_grammar
    >>> from sklearn_shag.operators import Operators
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
    return join_automata(learn_automata(statistics, learn, smoothing, n_jobs), statistics.roots)


def learn_automata(statistics, learn, smoothing=0.0, n_jobs=None, context=0.0, verbose=0):
    """Call `learn` on the moments of every head and direction; list results in order of pairs."""
    learn = partial(_learn_from_moments, statistics, learn, smoothing, context)
    alphabet = Alphabet(statistics.roots.size)
    with progress("Learning", alphabet.n_pairs, "automata", verbose) as advance:
        return run_parallel(pair_tasks(learn, range(alphabet.n_learned)), n_jobs, advance)


def _learn_from_moments(statistics, learn, smoothing, context, head, direction):
    return learn(pair_moments(statistics, head, direction, smoothing, context))


def pair_tasks(learn, heads):
    """Delay ``learn(head, direction)`` for both directions of every head."""
    return starmap(delayed(learn), product(heads, (LEFT, RIGHT)))


def fallback_grammar(statistics: SequenceStatistics) -> Operators:
    """Estimate a one-state grammar that gives every tree a positive probability.

    It is used where a learned grammar gives zero mass to all trees of a sentence.

    Parameters
    ----------
    statistics : SequenceStatistics
        Trigram counts, as from :func:`~sklearn_shag.sequences.collect_statistics`.

    Returns
    -------
    operators : Operators
        Relative frequencies of modifiers and STOP given head and direction. One use of every
        outcome is added to the pool of the direction and to the roots; one use distributed like
        the pool is added to each head.

    See Also
    --------
    learn_grammar : Makes a grammar from automata learned in any way.
    sklearn_shag.operators.operators_from_counts : Relative frequencies, with nothing added.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_shag.learning import fallback_grammar
    >>> from sklearn_shag.sequences import collect_statistics, extract_sequences
    >>> sequences = extract_sequences(
    ...     np.array([0, 1, 1]), np.array([2, 0, 2]), np.array([0, 3]), n_symbols=2)
    >>> grammar = fallback_grammar(collect_statistics(sequences, 2))
    >>> bool(grammar.A[:3].min() > 0)
    True
    """
    alphabet = Alphabet(statistics.roots.size)
    n_symbols, n_pairs = alphabet.n_symbols, alphabet.n_pairs
    pairs = np.repeat(np.arange(n_pairs), np.diff(statistics.indptr))
    # Every modifier has one trigram with both its neighbours.
    near = np.maximum(statistics.first, statistics.last) <= alphabet.boundary
    emitted = np.bincount(
        pairs[near] * n_symbols + statistics.middle[near],
        weights=statistics.counts[near],
        minlength=n_pairs * n_symbols,
    ).reshape(-1, 2, n_symbols)
    uses = np.concatenate([emitted, statistics.n_sequences[:, :, None]], axis=2)
    return fallback_from_uses(uses, statistics.roots)


def fallback_from_uses(uses, roots):
    """Estimate the grammar of :func:`fallback_grammar` from counts of modifiers and roots.

    Parameters
    ----------
    uses : ndarray of shape (n_symbols + 1, 2, n_symbols + 1)
        Uses of each modifier and, last, STOP, by head and direction. The last head is the pool.
    roots : ndarray of shape (n_symbols,)

    Returns
    -------
    operators : Operators
    """
    pool = uses[-1] + 1.0
    uses = uses + pool / pool.sum(axis=1, keepdims=True)
    automata = operators_from_counts(
        Operators(np.ones_like(uses[..., :1]), uses[..., -1:], uses[..., :-1, None, None])
    )
    return complete_grammar(automata, roots + 1.0)
