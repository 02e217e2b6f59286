"""Operators of an automaton and of a grammar, their algebra, and their scales."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import linalg

from sklearn_shag.encoding import RIGHT, Alphabet, split_pair
from sklearn_shag.sequences import Moments
from sklearn_shag.utils._arrays import check_shapes
from sklearn_shag.utils._messages import shorten
from sklearn_shag.utils._typing import FloatArray, IntArray


class Operators(NamedTuple):
    """An operator model, or a whole grammar of such models along leading axes.

    The model assigns to a sequence x_1 ... x_T the value (Luque et al. 2012, eq. 3)::

        f(x_1 ... x_T) = alpha_inf . A[x_T] @ ... @ A[x_1] @ alpha_1

    In a probabilistic automaton all entries are non-negative, ``alpha_1`` sums to 1, and every
    state j stops or moves on: ``alpha_inf[j] + A[:, :, j].sum() == 1``. Operators learned
    spectrally have the same values in another basis, with entries of either sign.

    Attributes
    ----------
    alpha_1 : ndarray of shape (..., n_states)
        Initial vector.
    alpha_inf : ndarray of shape (..., n_states)
        Stopping vector.
    A : ndarray of shape (..., n_symbols, n_states, n_states)
        One operator per symbol; ``A[a, i, j]`` leads from state j to state i.

    See Also
    --------
    sequence_values : Computes the values of many sequences under a grammar.
    join_automata : Makes a grammar from models.
    sklearn_shag.BaseSHAG : A parser with a grammar.

    Notes
    -----
    A grammar over V symbols has leading axes (V + 2, 2): the code of the head and the direction
    (0 left, 1 right). Code V is the unknown head, code V + 1 the root symbol, whose right
    automaton gives the distribution of the root. Its `A` has V + 1 symbols, the last for
    unknown modifiers. Automata with fewer than `n_states` states are padded with zeros.

    Examples
    --------
    A single state stops with probability 1/2, and otherwise draws one of two symbols:

    >>> import numpy as np
    >>> from sklearn_shag.operators import Operators
    >>> coin = Operators(np.array([1.0]), np.array([0.5]), np.array([[[0.25]], [[0.25]]]))
    >>> float(coin.alpha_inf @ coin.A[1] @ coin.A[0] @ coin.alpha_1)   # of the sequence 0, 1
    0.03125
    """

    alpha_1: FloatArray
    alpha_inf: FloatArray
    A: FloatArray


def require_operators(*models):
    """Raise a TypeError if a model is something else than Operators, such as an estimator."""
    for model in models:
        if not isinstance(model, Operators):
            raise TypeError(
                f"Operators are expected, got {shorten(model)}. Those of a fitted automaton or "
                f"grammar are its .operators_."
            )


def total_mass(operators: Operators) -> np.float64 | FloatArray:
    """Sum the values of all sequences of all lengths.

    Parameters
    ----------
    operators : Operators
        One model, or many along leading axes. For each model, the spectral radius of the sum of the
        operators must be below 1.

    Returns
    -------
    mass : float or ndarray
        ``alpha_inf (I - sum_a A_a)^-1 alpha_1``; 1 for a probability distribution.

    Raises
    ------
    ValueError
        If the total mass of a model is not finite.

    See Also
    --------
    sequence_values : Computes the values of single sequences.
    operators_from_counts : Estimates models whose mass is 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_shag.operators import Operators, total_mass
    >>> coin = Operators(np.array([1.0]), np.array([0.5]), np.array([[[0.25]], [[0.25]]]))
    >>> float(total_mass(coin))
    1.0
    """
    _check_mass(operators)
    return np.einsum("...i,...i->...", operators.alpha_inf, expected_visits(operators))[()]


def expected_visits(operators):
    """Expected visits of each state in a sequence: (I - sum_a A_a)^-1 alpha_1."""
    transitions = operators.A.sum(axis=-3)
    identity = np.eye(transitions.shape[-1])
    return np.linalg.solve(identity - transitions, operators.alpha_1[..., None])[..., 0]


def remaining_mass(operators):
    """Compute the mass of all ways to go on from each state: all ones for a proper automaton.

    It is the solution of ``mass = alpha_inf + mass S``, S the sum of the operators. Of a learned
    automaton S may have eigenvalues of noise beyond 1. Then the sum over all ways diverges, but the
    equation still has its solution.
    """
    transitions = operators.A.sum(axis=0)
    equation = np.eye(transitions.shape[0]) - transitions.T
    return np.linalg.lstsq(equation, operators.alpha_inf)[0]


def _check_mass(operators):
    require_operators(operators)
    radius = spectral_radius(operators.A.sum(axis=-3))
    if radius >= 1.0:
        raise ValueError(
            f"The total mass does not exist: the sum of the operators has spectral radius "
            f"{radius:.6g}, which must be below 1. A model needs stopping mass."
        )


def spectral_radius(matrices):
    """Return the largest absolute eigenvalue of any of the matrices."""
    return float(np.abs(np.linalg.eigvals(matrices)).max(initial=0.0))


def change_basis(operators: Operators, basis: FloatArray) -> Operators:
    """Write a model in another basis of its state space, without changing any sequence's value.

    Parameters
    ----------
    operators : Operators
        One model, or many along leading axes.
    basis : ndarray of shape (..., n_states, n_states)
        An invertible matrix G for each model, or one for all models.

    Returns
    -------
    operators : Operators
        ``(G^-1 alpha_1, G^T alpha_inf, G^-1 A_a G)``.

    See Also
    --------
    total_mass : Computes the total mass, which is the same in every basis.
    sequence_values : Computes values, which are the same in every basis.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_shag.operators import Operators, change_basis, total_mass
    >>> coin = Operators(np.array([1.0]), np.array([0.5]), np.array([[[0.25]], [[0.25]]]))
    >>> float(total_mass(change_basis(coin, np.array([[-4.0]]))))
    1.0
    """
    require_operators(operators)
    inverse = np.linalg.inv(basis)
    return Operators(
        np.einsum("...ij,...j->...i", inverse, operators.alpha_1),
        np.einsum("...ji,...j->...i", basis, operators.alpha_inf),
        np.einsum("...ij,...ajk,...kl->...ail", inverse, operators.A, basis, optimize=True),
    )


def product(left: Operators, right: Operators) -> Operators:
    """Multiply two models so that each sequence gets the product of its two values.

    Parameters
    ----------
    left, right : Operators
        Models over the same symbols, with the same leading axes.

    Returns
    -------
    operators : Operators
        With ``left.n_states * right.n_states`` states (Kronecker products). Products of
        probabilities do not sum to 1.

    Raises
    ------
    ValueError
        If the models are not over the same number of symbols.

    See Also
    --------
    mixture : Takes means instead of products.
    sklearn_shag.ProductParser : A parser with a product of grammars.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_shag.operators import Operators, product
    >>> coin = Operators(np.array([1.0]), np.array([0.5]), np.array([[[0.25]], [[0.25]]]))
    >>> product(coin, coin).A.ravel()
    array([0.0625, 0.0625])
    """
    _check_alike("A product", left, right)
    *lead, n_left, _ = left.A.shape
    n_states = n_left * right.A.shape[-1]
    vectors = "...i,...j->...ij"
    return Operators(
        np.einsum(vectors, left.alpha_1, right.alpha_1).reshape(*lead[:-1], n_states),
        np.einsum(vectors, left.alpha_inf, right.alpha_inf).reshape(*lead[:-1], n_states),
        np.einsum("...ik,...jl->...ijkl", left.A, right.A).reshape(*lead, n_states, n_states),
    )


def mixture(one: Operators, other: Operators, weight: float) -> Operators:
    """Mix two models so that each sequence gets the weighted mean of its two values.

    Parameters
    ----------
    one, other : Operators
        Models over the same symbols, with the same leading axes.
    weight : float
        The weight of `other`, in [0, 1].

    Returns
    -------
    operators : Operators
        The direct sum, with ``one.n_states + other.n_states`` states; those of `one` come first.

    Raises
    ------
    ValueError
        If the models are not over the same number of symbols.

    See Also
    --------
    product : Takes products instead of means.
    total_mass : Computes the total mass, which for a mixture is the mean of both.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_shag.operators import Operators, mixture
    >>> coin = Operators(np.array([1.0]), np.array([0.5]), np.array([[[0.25]], [[0.25]]]))
    >>> mixture(coin, coin, 0.1).alpha_1
    array([0.9, 0.1])
    """
    _check_alike("A mixture", one, other)
    one = one._replace(alpha_1=(1.0 - weight) * one.alpha_1)
    return direct_sum(one, other._replace(alpha_1=weight * other.alpha_1))


def direct_sum(one, other):
    """Add two models: each sequence gets the sum of its two values (theory, eq. 47)."""
    *lead, n_one, _ = one.A.shape
    n_states = n_one + other.A.shape[-1]
    A = np.zeros((*lead, n_states, n_states))
    A[..., :n_one, :n_one] = one.A
    A[..., n_one:, n_one:] = other.A
    starts, stops = zip(one[:2], other[:2], strict=True)
    return Operators(np.concatenate(starts, axis=-1), np.concatenate(stops, axis=-1), A)


def find_reached(start, moves):
    """Find places reached from `start`; moves lead from the last axis to the one before it."""
    reached = start
    for _ in range(start.shape[-1]):
        reached = reached | (moves & reached[..., None, :]).any(axis=-1)
    return reached


def trim(operators):
    """Leave out the states of one model that are on no way from a start to a stop."""
    alpha_1, alpha_inf, A = operators
    moves = (A != 0).any(axis=0)
    used = find_reached(alpha_1 != 0, moves) & find_reached(alpha_inf != 0, moves.T)
    return Operators(alpha_1[used], alpha_inf[used], A[:, used][:, :, used])


def _check_alike(what, one, other):
    require_operators(one, other)
    if one.A.shape[:-2] != other.A.shape[:-2]:
        raise ValueError(
            f"{what} needs models over the same heads and symbols, got operators of shapes "
            f"{one.A.shape} and {other.A.shape}."
        )


def operators_from_counts(counts: Operators) -> Operators:
    """Estimate probabilistic automata by relative frequency (eq. 11 of the theory page).

    Parameters
    ----------
    counts : Operators
        Non-negative (expected) uses of each start, stop and transition, of one model or many.

    Returns
    -------
    operators : Operators
        ``alpha_1`` is divided by its sum, and the stop and moves out of every state are divided by
        their sum. States that were never used stay zero.

    See Also
    --------
    sklearn_shag.parsing.chart : Computes expected counts over all trees.
    sklearn_shag.learning.fallback_grammar : Estimates relative frequencies that are never zero.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_shag.operators import Operators, operators_from_counts
    >>> counts = Operators(np.array([4.0]), np.array([4.0]), np.array([[[6.0]], [[0.0]]]))
    >>> operators_from_counts(counts).alpha_inf
    array([0.4])
    """
    leaving = counts.alpha_inf + counts.A.sum(axis=(-3, -2))
    leaving = np.where(leaving > 0, leaving, 1.0)
    starting = counts.alpha_1.sum(axis=-1, keepdims=True)
    starting = np.where(starting > 0, starting, 1.0)
    return Operators(
        counts.alpha_1 / starting,
        counts.alpha_inf / leaving,
        counts.A / leaving[..., None, None, :],
    )


def exact_moments(operators: Operators, context: float = 0.0) -> Moments:
    """Compute the expected moments of sequences drawn from one model.

    Parameters
    ----------
    operators : Operators
        One model: `alpha_1` of shape (n_states,), `A` of shape (n_symbols, n_states, n_states).
    context : float, default=0.0
        Weight of symbols further away. With 0, rows and columns stand for neighbours only.

    Returns
    -------
    moments : Moments
        Expected bigram and trigram counts per sequence, START and STOP included (eqs. 6-8 and 32 of
        the theory page).

    See Also
    --------
    sklearn_shag.sequences.pair_moments : Computes the moments of observed sequences.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_shag.operators import Operators, exact_moments
    >>> coin = Operators(np.array([1.0]), np.array([0.5]), np.array([[[0.25]], [[0.25]]]))
    >>> exact_moments(coin).bigrams
    array([[0.125, 0.125, 0.25 ],
           [0.125, 0.125, 0.25 ],
           [0.25 , 0.25 , 0.5  ]])
    """
    _check_mass(operators)
    n_symbols = operators.A.shape[0]
    passing = expected_visits(operators)
    resolvent = np.eye(passing.size) - operators.A.sum(axis=0)
    finishing = linalg.solve(resolvent.T, operators.alpha_inf)
    # Columns: the mass after the first symbol; rows: the mass from the last symbol on.
    forward = np.column_stack([(operators.A @ passing).T, operators.alpha_1])
    backward = np.vstack([finishing @ operators.A, operators.alpha_inf])
    if context > 0:
        # A symbol is further away after one more move, or two, or three, ...
        moves = linalg.solve(resolvent, operators.A.sum(axis=0))
        forward = np.hstack([forward, context * moves @ forward[:, :-1]])
        backward = np.vstack([backward, context * backward[:-1] @ moves])
    dense = np.einsum("ci,bij,ja->bac", backward, operators.A, forward, optimize=True)
    middle, first, last = np.indices((n_symbols, *backward.shape[:1] * 2)).reshape(3, -1)
    return Moments(n_symbols, np.inf, backward @ forward, first, middle, last, dense.ravel())


def grammar_shapes(n_symbols, n_states):
    """Return the shapes of the operators of a grammar, as Operators."""
    alphabet = Alphabet(n_symbols)
    vectors = (alphabet.n_heads, 2, n_states)
    return Operators(vectors, vectors, (*vectors[:2], alphabet.n_modifiers, n_states, n_states))


def check_axes(operators, name="The grammar", symbols=None):
    """Check the shapes of the operators of a grammar, which kernels trust.

    With `symbols`, the grammar must be over them, and have at least one.
    """
    shapes = Operators(*map(np.shape, operators))
    vectors = shapes.alpha_1 or (0,)
    n_symbols = vectors[0] - Alphabet(0).n_heads if symbols is None else symbols.size
    if n_symbols < 0 or shapes != grammar_shapes(n_symbols, vectors[-1]):
        raise ValueError(
            f"The operators of a grammar over V symbols have leading axes (V + 2, 2), and V + 1 "
            f"matrices; got the shapes {list(shapes)}."
        )
    if not vectors[-1] or (symbols is not None and not n_symbols):
        raise ValueError(f"{name} has {vectors[-1]} states over {n_symbols} symbols.")


def check_automaton(operators, name, symbols):
    """Check the shapes of the operators of one automaton."""
    n_states = max(np.size(operators.alpha_1), 1)
    check_shapes(operators, ((n_states,), (n_states,), (len(symbols), n_states, n_states)), name)


def pair_automaton(operators, head, direction):
    """Take the automaton of one head and direction, over the known symbols, from a grammar."""
    return Operators(
        operators.alpha_1[head, direction],
        operators.alpha_inf[head, direction],
        operators.A[head, direction, :-1],
    )


def join_automata(automata: Sequence[Operators], root_counts: FloatArray | IntArray) -> Operators:
    """Join the automata of all heads and directions into a grammar.

    Parameters
    ----------
    automata : list of Operators
        Automata over the known symbols; the one of head h and direction d is at ``2 * h + d``. The
        last two belong to the unknown head. They may have different numbers of states.
    root_counts : ndarray of shape (n_symbols,)
        How often each symbol is the root, up to a factor.

    Returns
    -------
    operators : Operators
        The operators of the grammar; see the Notes of :class:`Operators` for their axes. An unknown
        modifier is a missing observation: it may stand for any symbol, so its operator is the sum
        of all others. The root symbol gets one state that emits; the chart lets it emit only once.

    See Also
    --------
    complete_grammar : Does the same for automata that are already in one array.
    sklearn_shag.learning.learn_grammar : Learns the automata as well.

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
    return _add_root(grammar, root_counts)


def _new_grammar(n_symbols, n_states):
    return Operators(*map(np.zeros, grammar_shapes(n_symbols, n_states)))


def _add_root(grammar, root_counts):
    """Fill in the root symbol, without mass if there are no roots, and the unknown modifier."""
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
            "Operators are so large that those of all symbols sum to more than 1.8e308, the limit "
            "of doubles. Divide them, and the probabilities of sequences, by a constant."
        )
    return grammar


def complete_grammar(operators: Operators, root_counts: FloatArray | IntArray) -> Operators:
    """Add the unknown modifier and the root symbol to the automata of a grammar.

    Parameters
    ----------
    operators : Operators
        Automata of the known heads and, last, of the unknown head, with leading axes
        (n_symbols + 1, 2) and operators of the known symbols.
    root_counts : ndarray of shape (n_symbols,)
        How often each symbol is the root, up to a factor.

    Returns
    -------
    operators : Operators
        The operators of the grammar, in the form that :func:`join_automata` returns.

    See Also
    --------
    join_automata : Does the same for a list of automata.

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
    return _add_root(grammar, root_counts)


def root_masses(operators):
    """Compute the mass of each known symbol as the root.

    Parameters
    ----------
    operators : Operators
        Of a grammar.

    Returns
    -------
    masses : ndarray of shape (n_symbols,)
    """
    root = pair_automaton(operators, operators.A.shape[0] - 1, RIGHT)
    with np.errstate(over="ignore"):  # in values that are part of no result
        return root.alpha_inf @ root.A @ root.alpha_1
