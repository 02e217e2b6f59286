"""The grammar that stands in where a learned one gives no tree any mass."""

import numpy as np

from sklearn_shag.encoding import Alphabet
from sklearn_shag.operators import Operators, complete_grammar, operators_from_counts
from sklearn_shag.sequences import SequenceStatistics


def fallback_grammar(statistics: SequenceStatistics) -> Operators:
    """Estimate a grammar of one state that gives every tree a positive probability.

    It stands in where a learned grammar gives all trees of a sentence zero mass.

    Parameters
    ----------
    statistics : SequenceStatistics
        Trigram counts, as of :func:`~sklearn_shag.sequences.collect_statistics`.

    Returns
    -------
    operators : Operators
        Relative frequencies of modifiers and STOP given head and direction, with one use of
        every outcome added to the pool of the direction and to the roots, and one use
        distributed like the pool added to each head.

    See Also
    --------
    learn_grammar : A grammar of automata that are learned in any way.
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
    """Do what :func:`fallback_grammar` does, from counts alone.

    Parameters
    ----------
    uses : ndarray of shape (n_symbols + 1, 2, n_symbols + 1)
        Of each modifier and, last, STOP, by head and direction; those of all heads are last.
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
