"""Values of head-modifier sequences under a grammar."""

import numpy as np

from sklearn_shag.operators._grammar import check_shapes
from sklearn_shag.operators._operators import Operators
from sklearn_shag.operators._scales import LOG_BASE, scale_operators
from sklearn_shag.sequences import HeadModifierSequences, check_sequences
from sklearn_shag.utils._kernel import kernel
from sklearn_shag.utils._typing import FloatArray


@kernel
def _signed_log_values(operators, sequences, signs, logs):
    n_states, exponents = operators.alpha_1.shape[2], operators.exponents
    state, moved = np.empty(n_states), np.empty(n_states)
    for k in range(sequences.heads.size):
        head, direction = sequences.heads[k], sequences.directions[k]
        state[:] = operators.alpha_1[head, direction]
        exponent = exponents.alpha_1[head, direction] + exponents.alpha_inf[head, direction]
        log_scale = 0.0
        for symbol in sequences.modifiers[sequences.indptr[k] : sequences.indptr[k + 1]]:
            # alpha <- A[x] alpha, kept at unit length                                  (eq. 2)
            matrix = operators.A[head, direction, symbol]
            exponent += exponents.A[head, direction, symbol]
            largest = 0.0
            for i in range(n_states):
                moved[i] = 0.0
                for j in range(n_states):
                    moved[i] += matrix[i, j] * state[j]
                largest = max(largest, abs(moved[i]))
            if largest > 0.0:
                log_scale += np.log(largest)
                moved /= largest
            state, moved = moved, state
        value = 0.0
        for i in range(n_states):
            value += operators.alpha_inf[head, direction, i] * state[i]
        signs[k] = np.sign(value)
        log_scale += LOG_BASE * exponent
        logs[k] = log_scale + np.log(abs(value)) if value != 0.0 else -np.inf


def signed_log_values(operators, sequences):
    """Compute the sign of every value, and the logarithm of its absolute value: 0 and -inf of 0.

    Parameters
    ----------
    operators : ScaledOperators
        Of a grammar.
    sequences : HeadModifierSequences

    Returns
    -------
    signs, logs : ndarrays of shape (n_sequences,)
    """
    signs, logs = np.empty(sequences.heads.size), np.empty(sequences.heads.size)
    _signed_log_values(operators, sequences, signs, logs)
    return signs, logs


def _check(operators, sequences):
    check_shapes(operators)
    check_sequences(sequences, operators.A.shape[2] - 1)


def sequence_values(operators: Operators, sequences: HeadModifierSequences) -> FloatArray:
    """Compute the value of every sequence (theory, eq. 2).

    Parameters
    ----------
    operators : Operators
        Of a grammar: leading axes are head and direction.
    sequences : HeadModifierSequences
        Codes are those of the grammar.

    Returns
    -------
    values : ndarray of shape (n_sequences,)
        Probabilities under a probabilistic grammar; under one learned spectrally estimates of
        them, which may be negative. inf or -inf beyond 1.8e308, 0 within 5e-324.

    Raises
    ------
    ValueError
        If shapes do not agree, or a code is none of the grammar.

    See Also
    --------
    log_values : Logarithms, which do not underflow.
    sklearn_shag.parsing.tree_values : The values of whole trees.
    total_mass : The sum of the values of all sequences.

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
    _check(operators, sequences)
    signs, logs = signed_log_values(scale_operators(operators), sequences)
    with np.errstate(over="ignore"):  # such values are no doubles
        return signs * np.exp(logs)


def log_values(operators: Operators, sequences: HeadModifierSequences) -> FloatArray:
    """Compute the logarithm of the value of every sequence, -inf where it is not positive.

    Parameters
    ----------
    operators : Operators
        Of a grammar: leading axes are head and direction.
    sequences : HeadModifierSequences
        Codes are those of the grammar.

    Returns
    -------
    log_values : ndarray of shape (n_sequences,)
        In nats; finite also where the value itself over- or underflows.

    Raises
    ------
    ValueError
        If shapes do not agree, or a code is none of the grammar.

    See Also
    --------
    sequence_values : The values themselves, which may be negative.
    sklearn_shag.BaseSHAG.score_samples : Log probabilities of whole trees.

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
    _check(operators, sequences)
    signs, logs = signed_log_values(scale_operators(operators), sequences)
    return np.where(signs > 0, logs, -np.inf)
