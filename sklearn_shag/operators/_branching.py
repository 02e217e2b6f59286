"""Whether sentences of a grammar end: how many modifiers a head has in expectation."""

import numpy as np

from sklearn_shag.encoding import Alphabet
from sklearn_shag.operators._grammar import check_shapes
from sklearn_shag.operators._operators import Operators
from sklearn_shag.operators._scales import root_masses


def branching_radius(operators: Operators) -> float:
    r"""Compute whether sentences drawn from a grammar are finite.

    Tokens of a sentence are a branching process: each has modifiers, which have modifiers. It is
    the spectral radius of the matrix of expected numbers of modifiers that decides.

    Parameters
    ----------
    operators : Operators
        Of a grammar: see the Notes of :class:`Operators`.

    Returns
    -------
    radius : float
        Below 1 derivations end with probability 1, and have a finite expected number of tokens.
        Above 1 some never end. At 1 they end, unless each head surely has one modifier, but the
        expected number of tokens is infinite. inf if a head that occurs has infinitely many
        modifiers in expectation.

    See Also
    --------
    sample_derivations : Draws them.
    total_mass : Whether the sequences of one head end.

    Notes
    -----
    Theory, eq. 29. Heads, and states of automata, that are not reached from the root do not count.
    Relative frequencies of trees have a radius of at most 1.

    Of signed operators, such as those learned spectrally, expected numbers are estimates, which may
    be negative, and a sum of operators may have a radius of 1 or more, where the automaton they
    estimate has none: inf then tells that the sums diverge, not that sentences do.

    References
    ----------
    Cohen and Johnson (2013), The effect of non-tightness on Bayesian estimation of PCFGs, sec. 4.

    Examples
    --------
    A head stops with probability q on its only side, or takes a further modifier: (1 - q) / q in
    expectation.

    >>> import numpy as np
    >>> from sklearn_shag.operators import Operators, branching_radius
    >>> def one_sided(q):
    ...     A = np.zeros((3, 2, 2, 1, 1))
    ...     A[:2, 1] = 1 - q
    ...     A[2, 1] = 1.0                    # the root is symbol 0, like all its modifiers
    ...     stops = np.ones((3, 2, 1))
    ...     stops[:2, 1] = q
    ...     return Operators(np.ones((3, 2, 1)), stops, A)
    >>> [round(branching_radius(one_sided(q)), 6) for q in (0.8, 0.5, 0.2)]
    [0.25, 1.0, 4.0]
    """
    check_shapes(operators)
    heads = slice(0, Alphabet(operators.A.shape[2] - 1).n_symbols)
    alpha_1, alpha_inf, A = (part[heads] for part in operators)
    A = A[:, :, :-1]
    arcs = (A != 0).any(axis=(1, 3, 4))
    occurs = _reached(root_masses(operators) != 0, arcs.T)
    alpha_1, alpha_inf, A = alpha_1[occurs], alpha_inf[occurs], A[occurs][:, :, occurs]
    with np.errstate(over="ignore"):  # what is no double is infinite
        moves = A.sum(axis=2)
    states = _reached(alpha_1 != 0, moves != 0)
    moves = np.where(states[..., None, :], moves, 0.0)
    if not np.isfinite(moves).all() or _radius(moves) >= 1.0:
        return np.inf
    # alpha_inf (I - S)^-1 A[a] (I - S)^-1 alpha_1, S the sum of all A[a], summed over directions
    identity = np.eye(moves.shape[-1])
    passing = np.linalg.solve(identity - moves, alpha_1[..., None])[..., 0]
    ending = np.linalg.solve(identity - np.swapaxes(moves, -1, -2), alpha_inf[..., None])[..., 0]
    with np.errstate(over="ignore", invalid="ignore"):
        modifiers = np.einsum("hdi,hdaij,hdj->ha", ending, A, passing)
    return _radius(modifiers) if np.isfinite(modifiers).all() else np.inf


def _reached(start, moves):
    """Which places are reached from some: moves lead from the last axis to the one before it."""
    reached = start
    for _ in range(start.shape[-1]):
        reached = reached | (moves & reached[..., None, :]).any(axis=-1)
    return reached


def _radius(matrices):
    return float(np.abs(np.linalg.eigvals(matrices)).max(initial=0.0))
