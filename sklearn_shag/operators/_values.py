"""The values of sequences under operators, and when the trees of a grammar are finite."""

import numpy as np

from sklearn_shag.encoding import Alphabet
from sklearn_shag.operators._operators import (
    Operators,
    check_axes,
    find_reached,
    root_masses,
    spectral_radius,
)
from sklearn_shag.sequences import HeadModifierSequences, check_sequences
from sklearn_shag.utils._kernel import kernel
from sklearn_shag.utils._typing import FloatArray


@kernel
def _signed_log_values(operators, sequences, signs, logs):
    n_states = operators.alpha_1.shape[2]
    state, moved = np.empty(n_states), np.empty(n_states)
    for k in range(sequences.heads.size):
        head, direction = sequences.heads[k], sequences.directions[k]
        for i in range(n_states):
            state[i] = operators.alpha_1[head, direction, i]
        log_scale = 0.0
        for symbol in sequences.modifiers[sequences.indptr[k] : sequences.indptr[k + 1]]:
            # alpha <- A[x] alpha, kept at unit length                                  (eq. 2)
            matrix = operators.A[head, direction, symbol]
            largest = 0.0
            for i in range(n_states):
                moved[i] = 0.0
                for j in range(n_states):
                    moved[i] += matrix[i, j] * state[j]
                largest = max(largest, abs(moved[i]))
            if largest > 0.0:
                log_scale += np.log(largest)
                for i in range(n_states):
                    moved[i] /= largest
            state, moved = moved, state
        value = 0.0
        for i in range(n_states):
            value += operators.alpha_inf[head, direction, i] * state[i]
        signs[k] = np.sign(value)
        logs[k] = log_scale + np.log(abs(value)) if value != 0.0 else -np.inf


def signed_log_values(operators, sequences):
    """Compute the sign of every value, and the logarithm of its absolute value: 0 and -inf of 0.

    Parameters
    ----------
    operators : Operators
        Of a grammar.
    sequences : HeadModifierSequences

    Returns
    -------
    signs, logs : ndarrays of shape (n_sequences,)
    """
    signs, logs = np.empty(sequences.heads.size), np.empty(sequences.heads.size)
    _signed_log_values(operators, sequences, signs, logs)
    return signs, logs


def _check_and_compute(operators, sequences):
    check_axes(operators)
    check_sequences(sequences, operators.A.shape[2] - 1)
    return signed_log_values(operators, sequences)


def sequence_values(operators: Operators, sequences: HeadModifierSequences) -> FloatArray:
    """Compute the value of every sequence (eq. 2 of the theory page).

    Parameters
    ----------
    operators : Operators
        The operators of a grammar; the leading axes are head and direction.
    sequences : HeadModifierSequences
        Sequences with the codes of the grammar.

    Returns
    -------
    values : ndarray of shape (n_sequences,)
        Probabilities under a probabilistic grammar. Under a grammar learned spectrally, they are
        estimates of probabilities and may be negative. inf or -inf beyond 1.8e308, 0 within 5e-324.

    Raises
    ------
    ValueError
        If shapes do not agree, or the grammar does not have a code.

    See Also
    --------
    log_values : Computes logarithms, which do not underflow.
    sklearn_shag.parsing.tree_values : Computes the values of whole trees.
    total_mass : Computes the sum of the values of all sequences.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_shag.operators import Operators, sequence_values
    >>> from sklearn_shag.sequences import extract_sequences
    >>> ones = np.ones((3, 2, 1))            # one symbol, the unknown one and the root symbol
    >>> coin = Operators(ones, 0.5 * ones, np.full((3, 2, 2, 1, 1), 0.25))
    >>> tree = extract_sequences(np.array([0, 0]), np.array([2, 0]), np.array([0, 2]), 1)
    >>> sequence_values(coin, tree)
    array([0.125, 0.125, 0.5  , 0.5  , 0.5  ])
    """
    signs, logs = _check_and_compute(operators, sequences)
    with np.errstate(over="ignore"):  # too large for doubles, they become inf
        return signs * np.exp(logs)


def log_values(operators: Operators, sequences: HeadModifierSequences) -> FloatArray:
    """Compute the logarithm of the value of every sequence, -inf where it is not positive.

    Parameters
    ----------
    operators : Operators
        The operators of a grammar; the leading axes are head and direction.
    sequences : HeadModifierSequences
        Sequences with the codes of the grammar.

    Returns
    -------
    log_values : ndarray of shape (n_sequences,)
        In nats; finite even where the value itself overflows or underflows.

    Raises
    ------
    ValueError
        If shapes do not agree, or the grammar does not have a code.

    See Also
    --------
    sequence_values : Computes the values themselves, which may be negative.
    sklearn_shag.BaseSHAG.score_samples : Computes log probabilities of whole trees.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_shag.operators import Operators, log_values
    >>> from sklearn_shag.sequences import extract_sequences
    >>> ones = np.ones((3, 2, 1))
    >>> coin = Operators(ones, 0.5 * ones, np.full((3, 2, 2, 1, 1), 0.25))
    >>> tree = extract_sequences(np.array([0]), np.array([0]), np.array([0, 1]), 1)
    >>> log_values(coin, tree).round(3)
    array([-2.079, -0.693, -0.693])
    """
    signs, logs = _check_and_compute(operators, sequences)
    return np.where(signs > 0, logs, -np.inf)


def branching_radius(operators: Operators) -> float:
    r"""Compute the branching radius, which tells whether sentences of a grammar are finite.

    The tokens of a sentence form a branching process: each has modifiers, which have modifiers of
    their own. The radius is the spectral radius of the matrix of expected numbers of modifiers.

    Parameters
    ----------
    operators : Operators
        The operators of a grammar; see the Notes of :class:`Operators`.

    Returns
    -------
    radius : float
        Below 1, derivations end with probability 1 and have a finite expected number of tokens.
        Above 1, some never end. At 1 they end, unless each head certainly has one modifier, but the
        expected number of tokens is infinite. inf if a head that occurs has infinitely many
        expected modifiers.

    See Also
    --------
    sample_derivations : Draws sentences.
    total_mass : Tells whether the sequences of one head end.

    Notes
    -----
    See eq. 29 of the theory page. Heads, and states of automata, that are not reached from the root
    do not count. Grammars of relative frequencies of trees have a radius of at most 1.

    For signed operators, such as those learned spectrally, expected numbers are estimates, which
    may be negative. A sum of such operators may have a radius of 1 or more even if the automaton
    that they estimate does not. inf then means that the sums diverge, not the sentences.

    References
    ----------
    Cohen and Johnson (2013), The effect of non-tightness on Bayesian estimation of PCFGs, sec. 4.

    Examples
    --------
    On its only side, a head stops with probability q or takes a further modifier, so it has
    (1 - q) / q expected modifiers:

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
    check_axes(operators)
    heads = slice(0, Alphabet(operators.A.shape[2] - 1).n_symbols)
    alpha_1, alpha_inf, A = (part[heads] for part in operators)
    A = A[:, :, :-1]
    arcs = (A != 0).any(axis=(1, 3, 4))
    occurs = find_reached(root_masses(operators) != 0, arcs.T)
    alpha_1, alpha_inf, A = alpha_1[occurs], alpha_inf[occurs], A[occurs][:, :, occurs]
    with np.errstate(over="ignore"):  # too large for doubles, sums become inf
        moves = A.sum(axis=2)
    states = find_reached(alpha_1 != 0, moves != 0)
    moves = np.where(states[..., None, :], moves, 0.0)
    if not np.isfinite(moves).all() or spectral_radius(moves) >= 1.0:
        return np.inf
    # alpha_inf (I - S)^-1 A[a] (I - S)^-1 alpha_1, S the sum of all A[a], summed over directions
    identity = np.eye(moves.shape[-1])
    passing = np.linalg.solve(identity - moves, alpha_1[..., None])[..., 0]
    ending = np.linalg.solve(identity - np.swapaxes(moves, -1, -2), alpha_inf[..., None])[..., 0]
    with np.errstate(over="ignore", invalid="ignore"):
        modifiers = np.einsum("hdi,hdaij,hdj->ha", ending, A, passing)
    return spectral_radius(modifiers) if np.isfinite(modifiers).all() else np.inf
