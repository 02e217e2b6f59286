"""Grammars: one operator model for every head and direction, in one value."""

from collections.abc import Sequence

import numpy as np

from sklearn_shag.encoding import RIGHT, Alphabet, split_pair
from sklearn_shag.operators._operators import Operators
from sklearn_shag.utils._typing import FloatArray, IntArray


def grammar_shapes(n_symbols, n_states):
    """The shapes of the operators of a grammar."""
    alphabet = Alphabet(n_symbols)
    vectors = (alphabet.n_heads, 2, n_states)
    return Operators(vectors, vectors, (*vectors[:2], alphabet.n_modifiers, n_states, n_states))


def check_shapes(operators):
    """Refuse operators whose shapes are not those of a grammar; kernels trust them."""
    shapes = Operators(*map(np.shape, operators))
    n_symbols = shapes.alpha_1[0] - Alphabet(0).n_heads if len(shapes.alpha_1) == 3 else 0
    if n_symbols < 0 or shapes != grammar_shapes(n_symbols, (shapes.alpha_1 or (0,))[-1]):
        raise ValueError(
            f"The operators of a grammar over V symbols have leading axes (V + 2, 2), and V + 1 "
            f"matrices; got the shapes {list(shapes)}."
        )


def pair_automaton(operators, head, direction):
    """Take the automaton of one head and direction, over the known symbols, from a grammar."""
    return Operators(
        operators.alpha_1[head, direction],
        operators.alpha_inf[head, direction],
        operators.A[head, direction, :-1],
    )


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

    See Also
    --------
    complete_grammar : The same for automata that are in one array already.
    sklearn_shag.learning.learn_grammar : Learns the automata, too.

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
    n_states = max(automaton.alpha_1.size for automaton in automata)
    grammar = _new_grammar(root_counts.size, n_states)
    for k, automaton in enumerate(automata):
        pair, n = split_pair(k), automaton.alpha_1.size
        grammar.alpha_1[pair][:n] = automaton.alpha_1
        grammar.alpha_inf[pair][:n] = automaton.alpha_inf
        grammar.A[pair][:-1, :n, :n] = automaton.A
    return _with_root(grammar, root_counts)


def _new_grammar(n_symbols, n_states):
    return Operators(*map(np.zeros, grammar_shapes(n_symbols, n_states)))


def _with_root(grammar, root_counts):
    """Fill in the root symbol and the unknown modifier; without roots that of no mass."""
    alphabet = Alphabet(root_counts.size)
    root, unknown = alphabet.root, alphabet.unknown_modifier
    grammar.alpha_1[root, RIGHT, 0] = 1.0
    grammar.alpha_inf[root, RIGHT, 0] = 1.0
    total = root_counts.sum()
    if total != 0:
        grammar.A[root, RIGHT, :unknown, 0, 0] = root_counts / total
    with np.errstate(over="ignore"):
        grammar.A[:, :, unknown] = grammar.A[:, :, :unknown].sum(axis=2)
    if not np.isfinite(grammar.A[:, :, unknown]).all():
        raise ValueError(
            "Operators are so large that those of all symbols sum to more than 1.8e308, where "
            "doubles end. Divide them, and the probabilities of sequences, by a constant."
        )
    return grammar


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

    See Also
    --------
    join_automata : The same for automata one by one.

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
    grammar = _new_grammar(root_counts.size, operators.alpha_1.shape[-1])
    grammar.alpha_1[:-1] = operators.alpha_1
    grammar.alpha_inf[:-1] = operators.alpha_inf
    grammar.A[:-1, :, :-1] = operators.A
    return _with_root(grammar, root_counts)
