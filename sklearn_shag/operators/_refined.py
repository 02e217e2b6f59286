"""Grammars whose symbols have hidden refinements, which heads see of their modifiers."""

from typing import NamedTuple

import numpy as np

from sklearn_shag.operators._operators import Operators, complete_grammar, root_masses
from sklearn_shag.utils._arrays import check_codes, check_range, check_shapes
from sklearn_shag.utils._typing import FloatArray, IntArray


class RefinedOperators(NamedTuple):
    """Operators of automata whose heads and modifiers have hidden refinements.

    Every token has a symbol and a hidden refinement of it. The automata on both sides of a token
    depend on its refinement, and emit modifiers with their refinements (eqs. 49-50 of the theory
    page).

    Attributes
    ----------
    alpha_1 : ndarray of shape (n_symbols, 2, n_states, n_refinements)
        The probability of starting in a state, by head, direction, state and refinement of the
        head.
    alpha_inf : ndarray of shape (n_symbols, 2, n_states, n_refinements)
        Likewise, the probability of stopping in a state.
    A : ndarray of shape (n_blocks, n_refinements, n_states, n_states, n_refinements)
        Moves, with one block for each head, direction and modifier that occur together. The axes of
        a block are the refinement of the modifier, the state before, the state after, and the
        refinement of the head.
    blocks : int ndarray of shape (n_symbols, 2, n_symbols)
        The index of the block in `A`, by head, direction and modifier; -1 if there is no block.
    backoff : ndarray of shape (n_symbols, 2, n_states, n_refinements)
        The factor of moves of the grammar without refinements, which are used where there is no
        block, by the state before and the refinement of the head.
    common : ndarray of shape (n_symbols, n_refinements)
        The share of each refinement among modifiers with a symbol, used for their refinements in
        such moves.
    roots : ndarray of shape (n_symbols, n_refinements)
        The probability that each symbol and refinement is the root.

    See Also
    --------
    RefinedGrammar : Adds the grammar without refinements.
    sklearn_shag.RefinedSHAG : Learns such operators.

    Examples
    --------
    >>> from sklearn_shag import RefinedSHAG
    >>> model = RefinedSHAG(2, 2).fit([["DET", "NOUN", "VERB"]], [[2, 3, 0]])
    >>> model.refined_operators_.A.shape                      # two pairs were seen
    (2, 2, 2, 2, 2)
    >>> float(model.refined_operators_.roots.sum().round(6))
    1.0
    """

    alpha_1: FloatArray
    alpha_inf: FloatArray
    A: FloatArray
    blocks: IntArray
    backoff: FloatArray
    common: FloatArray
    roots: FloatArray


class RefinedGrammar(NamedTuple):
    """A grammar with hidden refinements, and the one without refinements that it backs off to.

    :func:`~sklearn_shag.parsing.chart` accepts it in place of operators.

    Attributes
    ----------
    refined : RefinedOperators
        The operators of known symbols.
    unrefined : Operators
        A grammar over the same symbols, with as many states. It is used for unknown heads, and for
        modifiers that were never seen with a head.

    See Also
    --------
    sklearn_shag.parsing.chart : Sums over trees.
    unfold : Writes the grammar over pairs of a symbol and a refinement.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_shag import RefinedSHAG
    >>> from sklearn_shag.operators import RefinedGrammar
    >>> from sklearn_shag.parsing import Potentials, chart
    >>> model = RefinedSHAG(2, 2).fit([["DET", "NOUN", "VERB"]], [[2, 3, 0]])
    >>> grammar = RefinedGrammar(model.refined_operators_, model.operators_)
    >>> result = chart(grammar, Potentials(np.array([0, 3]), np.array([0, 1, 2])))
    >>> result.arcs.reshape(3, 4).argmax(axis=1)
    array([2, 3, 0])
    """

    refined: RefinedOperators
    unrefined: Operators


def check_refined(operators, name, symbols):
    """Check the shapes and ranges of operators with refinements, which kernels trust."""
    n_symbols = symbols.size
    if np.ndim(operators.A) != 5 or 0 in operators.A.shape[1:]:
        raise ValueError(f"{name} has no blocks of moves: A has the shape {np.shape(operators.A)}.")
    n_blocks, k, n_states = operators.A.shape[:3]
    vectors, matrix = (n_symbols, 2, n_states, k), (n_symbols, k)
    moves, blocks = (n_blocks, k, n_states, n_states, k), (n_symbols, 2, n_symbols)
    check_shapes(operators, (vectors, vectors, moves, blocks, vectors, matrix, matrix), name)
    check_range(operators.blocks, -1, n_blocks - 1, f"{name}.blocks")
    masses = "alpha_1", "alpha_inf", "A", "backoff", "common", "roots"
    check_codes(operators, name, **dict.fromkeys(masses, np.inf))


def start_unrefined(operators, pairs):
    """Write a grammar without refinements as one that has one of each symbol.

    Parameters
    ----------
    operators : Operators
        Of a grammar.
    pairs : int ndarray of shape (n_blocks, 3)
        Head, direction and modifier of the blocks.

    Returns
    -------
    refined : RefinedOperators
        With the same values.
    """
    n_symbols = len(operators.alpha_1) - 2
    heads, directions, modifiers = pairs.T
    alpha_1, alpha_inf = (part[:n_symbols, ..., None] for part in operators[:2])
    blocks = np.full((n_symbols, 2, n_symbols), -1)
    blocks[heads, directions, modifiers] = np.arange(len(pairs))
    moves = operators.A[heads, directions, modifiers].swapaxes(1, 2)[:, None, ..., None]
    ones, roots = np.ones((n_symbols, 1)), root_masses(operators)[:, None]
    return RefinedOperators(alpha_1, alpha_inf, moves, blocks, np.ones(alpha_1.shape), ones, roots)


def extend(grammar, pairs):
    """Add the unknown symbol, which has one refinement, and take the blocks of given pairs.

    Parameters
    ----------
    grammar : RefinedGrammar
    pairs : int ndarray of shape (n_blocks, 3)
        Head, direction and modifier, which may be unknown.

    Returns
    -------
    refined : RefinedOperators
        With leading axes ``n_symbols + 1``. An unknown modifier stands for any.
    """
    refined, unrefined = grammar
    n_symbols, k = refined.roots.shape
    first = np.arange(k) == 0.0
    alpha_1, alpha_inf, backoff = (
        np.concatenate([part, (of_pool * first)[None]])
        for part, of_pool in (
            (refined.alpha_1, unrefined.alpha_1[n_symbols, ..., None]),
            (refined.alpha_inf, unrefined.alpha_inf[n_symbols, ..., None]),
            (refined.backoff, np.ones((2, refined.A.shape[2], 1))),
        )
    )
    common, roots = (
        np.vstack([part, first * total])
        for part, total in ((refined.common, 1.0), (refined.roots, refined.roots.sum()))
    )
    places = np.pad(refined.blocks, ((0, 1), (0, 0), (0, 1)), constant_values=-1)
    heads, directions, modifiers = pairs.T
    found = places[heads, directions, modifiers]
    A = np.empty((len(pairs), *refined.A.shape[1:]))
    A[found >= 0] = refined.A[found[found >= 0]]
    others = pairs[found < 0]
    A[found < 0] = (
        back_off(unrefined, common, others) * backoff[others[:, 0], others[:, 1], None, :, None]
    )
    # In the sum over all modifiers, moves with a block replace the moves without refinements.
    is_any = np.flatnonzero((modifiers == n_symbols) & (heads < n_symbols))
    if is_any.size:
        seen = np.argwhere(refined.blocks >= 0)
        surplus = refined.A[refined.blocks[tuple(seen.T)]].sum(axis=1)
        less = back_off(unrefined, np.ones((n_symbols, 1)), seen)[:, 0]
        surplus -= less * refined.backoff[seen[:, 0], seen[:, 1], :, None]
        total = np.zeros((n_symbols, 2, *surplus.shape[1:]))
        np.add.at(total, (seen[:, 0], seen[:, 1]), surplus)
        A[is_any, 0] += total[heads[is_any], directions[is_any]]
    blocks = np.full(places.shape, -1)
    blocks[heads, directions, modifiers] = np.arange(len(pairs))
    return RefinedOperators(alpha_1, alpha_inf, A, blocks, backoff, common, roots)


def count_refinements(refined, pairs):
    """Count the refinements of each symbol: up to the last one that tokens may have.

    Parameters
    ----------
    refined : RefinedOperators
    pairs : int ndarray of shape (n_blocks, 3)
        Head, direction and modifier of the blocks.

    Returns
    -------
    sizes : int ndarray of shape (n_symbols,)
        At least 1.
    """
    is_used = (refined.common > 0) | (refined.roots > 0)
    np.logical_or.at(is_used, pairs[:, 2], refined.A.any(axis=(2, 3, 4)))
    return (is_used * np.arange(1, is_used.shape[1] + 1)).max(axis=1, initial=1)


def refined_automaton(grammar, head, direction, refinement):
    """Take the automaton of one refinement of a head, summed over refinements of modifiers.

    Parameters
    ----------
    grammar : RefinedGrammar
    head, direction, refinement : int

    Returns
    -------
    automaton : Operators
    """
    n_symbols = len(grammar.refined.roots)
    pairs = np.array([(head, direction, modifier) for modifier in range(n_symbols + 1)])
    refined = extend(grammar, pairs)
    alpha_1, alpha_inf = (part[head, direction, :, refinement] for part in refined[:2])
    return Operators(alpha_1, alpha_inf, refined.A.sum(axis=1)[..., refinement].swapaxes(1, 2))


def back_off(unrefined, common, pairs):
    """Divide the moves of a grammar without refinements among refinements of the modifier.

    Parameters
    ----------
    unrefined : Operators
    common : ndarray of shape (n_symbols or more, n_refinements)
    pairs : int ndarray of shape (n_blocks, 3)

    Returns
    -------
    moves : ndarray of shape (n_blocks, n_refinements, n_states, n_states, 1)
    """
    moves = unrefined.A[tuple(pairs.T)].swapaxes(1, 2)[:, None, :, :, None]
    return moves * common[pairs[:, 2]][:, :, None, None, None]


def unfold(grammar: RefinedGrammar) -> Operators:
    """Write a grammar with refinements as a grammar over pairs of a symbol and a refinement.

    Parameters
    ----------
    grammar : RefinedGrammar
        A grammar over V symbols, each with the same number of refinements.

    Returns
    -------
    operators : Operators
        Refinement r of symbol s has the code ``s * n_refinements + r``. The unknown head has a
        single code.

    See Also
    --------
    sklearn_shag.inspection.top_refinements : Shows what refinements stand for.

    Examples
    --------
    >>> from sklearn_shag import RefinedSHAG
    >>> from sklearn_shag.operators import RefinedGrammar, unfold
    >>> model = RefinedSHAG(2, 2).fit([["DET", "NOUN", "VERB"]], [[2, 3, 0]])
    >>> unfold(RefinedGrammar(model.refined_operators_, model.operators_)).A.shape
    (8, 2, 7, 2, 2)
    """
    n_symbols, k = grammar.refined.roots.shape
    n_pairs, n_states = n_symbols * k, grammar.refined.A.shape[2]
    pairs = np.argwhere(np.ones((n_symbols + 1, 2, n_symbols), dtype=bool))
    refined = extend(grammar, pairs)

    def by_pair(values):
        """Join the axes of heads and their refinements; the unknown head has one refinement."""
        values = np.moveaxis(values, -1, 1)
        return values.reshape(-1, *values.shape[2:])[: n_pairs + 1]

    moves = refined.A.reshape(n_symbols + 1, 2, n_pairs, n_states, n_states, k).swapaxes(3, 4)
    automata = Operators(*map(by_pair, (refined.alpha_1, refined.alpha_inf, moves)))
    return complete_grammar(automata, refined.roots[:-1].ravel())
