"""The distance of two automata: a sum over all sequences, by the product automaton."""

import numpy as np

from sklearn_shag.operators._operators import (
    Operators,
    check_automaton,
    direct_sum,
    require_operators,
    trim,
)
from sklearn_shag.utils._arrays import check_finite

# Least share of a direction of the state space in the largest one: smaller ones are rounding.
LEAST_SHARE = 1e-16
# Sums of squares beyond this, of states of size 1, cannot be told from infinite ones.
LARGEST_SUM = 1e14


def l2_distance(one: Operators, other: Operators) -> float:
    """Compute the L2 distance of two models, a sum over all sequences of all lengths.

    Parameters
    ----------
    one, other : Operators
        Single models over the same symbols: `alpha_1` of shape (n_states,), `A` of shape
        (n_symbols, n_states, n_states). Numbers of states may differ.

    Returns
    -------
    distance : float
        The root of the sum, over all sequences, of the squared difference of the two values.

    Raises
    ------
    ValueError
        If shapes do not match, numbers are not finite, or the squared values of one of the models
        sum to infinity.

    See Also
    --------
    are_equivalent : Compares the distance with the norms of the models.
    product : Multiplies two models.
    total_mass : Sums the values themselves.

    Notes
    -----
    The difference of the models is a model with the states of both (eq. 71 of the theory page).
    Its product with itself has the squares as values, and the sum of all of them is a system of
    linear equations, in about half as many unknowns as there are pairs of states. It is solved a
    second time in a basis in which all directions of the state space are equally large, so that the
    distance is exact up to rounding, and not only its square. Time grows with the sixth
    power of the number of states; 40 states take a second.

    References
    ----------
    Cortes, Mohri and Rastogi (2007), L_p distance and equivalence of probabilistic automata.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_shag.operators import Operators, l2_distance
    >>> coin = Operators(np.array([1.0]), np.array([0.5]), np.array([[[0.25]], [[0.25]]]))
    >>> never = coin._replace(alpha_inf=np.zeros(1))
    >>> round(l2_distance(coin, never) ** 2, 6)    # 1/4, and twice 1/64, and 4 times 1/1024, ...
    0.285714
    """
    require_operators(one, other)
    for operators, name in ((one, "one"), (other, "other")):
        check_automaton(operators, name, one.A)
        for field, values in zip(Operators._fields, operators, strict=True):
            check_finite(values, f"{name}.{field}")
    return _l2_norm(direct_sum(*map(_scale_start, (one, other._replace(alpha_1=-other.alpha_1)))))


def are_equivalent(one: Operators, other: Operators, tol: float = 1e-9) -> bool:
    """Tell whether two models give all sequences the same values.

    Parameters
    ----------
    one, other : Operators
        As for :func:`l2_distance`.
    tol : float, default=1e-9
        They are equivalent if their distance is at most this share of the larger L2 norm. Rounding
        alone leaves about 1e-15.

    Returns
    -------
    equivalent : bool
        Whether they do.

    Raises
    ------
    ValueError
        As for :func:`l2_distance`.

    See Also
    --------
    l2_distance : Computes the distance.
    change_basis : Makes equivalent models.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_shag.operators import Operators, are_equivalent, change_basis, mixture
    >>> coin = Operators(np.array([1.0]), np.array([0.5]), np.array([[[0.25]], [[0.25]]]))
    >>> are_equivalent(coin, mixture(coin, change_basis(coin, np.array([[3.0]])), 0.4))
    True
    """
    distance = l2_distance(one, other)
    return distance <= tol * max(_l2_norm(_scale_start(operators)) for operators in (one, other))


def _scale_start(operators):
    """Give the initial vector the size 1, at the cost of the stopping vector."""
    size = np.abs(operators.alpha_1).max() or 1.0
    return operators._replace(
        alpha_1=operators.alpha_1 / size, alpha_inf=operators.alpha_inf * size
    )


def _l2_norm(operators):
    """Compute the root of the sum of the squared values of all sequences."""
    alpha_1, alpha_inf, A = trim(operators)
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            squares, _ = _sum_of_squares(alpha_1, A)
            sizes = np.diag(squares)
            sizes = np.sqrt(np.where(sizes > 0.0, sizes, 1.0))  # what cancels has no size
            scales, directions = np.linalg.eigh(squares / sizes / sizes[:, None])
            scales = np.sqrt(np.maximum(scales, LEAST_SHARE * scales.max(initial=0.0)))
            basis, inverse = sizes[:, None] * directions * scales, (directions / scales).T / sizes
            squares, bounds = _sum_of_squares(inverse @ alpha_1, inverse @ A @ basis)
            bounds = np.linalg.eigvalsh(bounds)
            converges = np.all((bounds > 0.0) & (bounds < LARGEST_SUM))
    except np.linalg.LinAlgError:  # singular, or of numbers beyond doubles
        converges = False
    if not converges:
        raise ValueError(
            "The L2 distance does not exist: the squared values of all sequences sum to infinity. "
            "A model needs stopping mass, or smaller operators."
        )
    stop = basis.T @ alpha_inf
    size = np.abs(stop).max(initial=0.0) or 1.0
    return float(size * np.sqrt(max((stop / size) @ squares @ (stop / size), 0.0)))


def _sum_of_squares(alpha_1, A):
    """Sum ``s s^T`` over the forward vectors s of all sequences (theory, eq. 72).

    The sum X solves ``X = alpha_1 alpha_1^T + sum_a A_a X A_a^T``. The second solution has the
    identity in place of the first term: it is positive definite if and only if the sums converge.
    """
    n = alpha_1.size
    rows, columns = np.triu_indices(n)
    moves = np.einsum("api,apj->pij", A[:, rows], A[:, columns], optimize=True)
    moves += np.swapaxes(moves, 1, 2).copy()
    moves[:, range(n), range(n)] /= 2.0
    equations = np.eye(rows.size) - moves[:, rows, columns]
    right_sides = np.stack([np.outer(alpha_1, alpha_1), np.eye(n)])[:, rows, columns]
    solutions = np.empty((2, n, n))
    solutions[:, rows, columns] = np.linalg.solve(equations, right_sides.T).T
    solutions[:, columns, rows] = solutions[:, rows, columns]
    return solutions
