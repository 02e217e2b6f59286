"""Grammars whose symbols have hidden refinements, which heads see of their modifiers."""

from typing import NamedTuple

import numpy as np

from sklearn_shag.encoding import Alphabet
from sklearn_shag.operators._operators import Operators, complete_grammar
from sklearn_shag.utils._arrays import check_codes, check_shape
from sklearn_shag.utils._typing import FloatArray, IntArray


class RefinedOperators(NamedTuple):
    """A split head-automata grammar whose symbols have hidden refinements.

    Every token has a symbol and a refinement of it, which is hidden. The automata on both sides of
    a token depend on its refinement, and emit modifiers together with theirs (theory, eqs. 70-71).
    It is the grammar of :func:`unfold` over pairs of a symbol and a refinement, of which the
    symbols alone are seen.

    Attributes
    ----------
    alpha_1 : ndarray of shape (n_symbols + 1, 2, n_states, n_refinements)
        By head, direction, state and refinement of the head: the probability to start in a state.
        The last head is the unknown one.
    alpha_inf : ndarray of shape (n_symbols + 1, 2, n_states, n_refinements)
        Likewise, to stop in it.
    A : ndarray of shape (n_blocks, n_refinements, n_states, n_states, n_refinements)
        Blocks of moves: by refinement of the modifier, state before, state after, refinement of the
        head. The first ``2 * n_symbols`` are those of the pool of all heads, by direction and
        modifier.
    blocks : int ndarray of shape (n_symbols + 1, 2, n_symbols)
        By head, direction and modifier: the place of the block in `A`.
    backoff : ndarray of shape (n_symbols + 1, 2, n_states, n_refinements)
        By head, direction, state before and refinement of the head: the factor of blocks of the
        pool where they stand in for modifiers that were never seen.
    roots : ndarray of shape (n_symbols, n_refinements)
        The probability of each symbol and refinement to be the root.

    See Also
    --------
    sklearn_shag.RefinedSHAG : Learns it.
    Operators : A grammar without refinements.

    Notes
    -----
    A symbol with fewer refinements than others has zeros in place of them.
    """

    alpha_1: FloatArray
    alpha_inf: FloatArray
    A: FloatArray
    blocks: IntArray
    backoff: FloatArray
    roots: FloatArray


def check_refined(operators, name, symbols):
    """Refuse what is no grammar with refinements over these symbols; kernels trust it."""
    alpha_1, alpha_inf, A, blocks, backoff, roots = operators
    n_learned = Alphabet(symbols.size).n_learned
    if np.ndim(A) != 5 or not A.size:
        raise ValueError(f"{name} has no blocks of moves: A has the shape {np.shape(A)}.")
    n_states, k = A.shape[3:]
    for field, part in (("alpha_1", alpha_1), ("alpha_inf", alpha_inf), ("backoff", backoff)):
        check_shape(part, (n_learned, 2, n_states, k), f"{name}.{field}")
    check_shape(A, (len(A), k, n_states, n_states, k), f"{name}.A")
    check_shape(roots, (symbols.size, k), f"{name}.roots")
    check_shape(blocks, (n_learned, 2, symbols.size), f"{name}.blocks")
    numbers = dict.fromkeys(("alpha_1", "alpha_inf", "A", "backoff", "roots"), np.inf)
    check_codes(operators, name, blocks=len(A) - 1, **numbers)


def unfold(operators: RefinedOperators) -> Operators:
    """Write a grammar with refinements as one over pairs of a symbol and a refinement.

    Parameters
    ----------
    operators : RefinedOperators

    Returns
    -------
    operators : Operators
        Refinement r of symbol s has the code ``s * n_refinements + r``. The unknown head and the
        unknown modifier have one each.

    See Also
    --------
    sklearn_shag.inspection.top_refinements : What refinements stand for.
    """
    n_learned, _, n_states, k = operators.alpha_1.shape
    n_pairs = (n_learned - 1) * k

    def by_pair(values):
        """Heads with their refinements as one axis; the unknown head has one."""
        values = np.moveaxis(values, -1, 1)
        return values.reshape(n_learned * k, *values.shape[2:])[: n_pairs + 1]

    # By head, direction, modifier, its refinement, state after, state before, refinement of the head.
    moves = moves_of(operators).swapaxes(4, 5)
    moves = moves.reshape(n_learned, 2, n_pairs, n_states, n_states, k)
    automata = Operators(*map(by_pair, (operators.alpha_1, operators.alpha_inf, moves)))
    return complete_grammar(automata, operators.roots.ravel())


def moves_of(operators):
    """The moves of every head, direction and modifier, those of the pool times their factors.

    Parameters
    ----------
    operators : RefinedOperators

    Returns
    -------
    moves : ndarray of shape (n_symbols + 1, 2, n_symbols, *block)
    """
    moves = operators.A[operators.blocks]
    shared = operators.blocks < 2 * operators.blocks.shape[2]
    moves[shared] *= operators.backoff[np.nonzero(shared)[:2]][:, None, :, None]
    return moves
