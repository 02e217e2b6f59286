"""Probabilities of the next symbol and of the end, given a prefix (eqs. 61-63)."""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from sklearn_shag.automata._contexts import NGrams
from sklearn_shag.operators import remaining_mass
from sklearn_shag.utils._arrays import TINY
from sklearn_shag.utils._kernel import inlined_kernel, table_kernel

# Share of noise in a state per share of negative mass; less negative mass is rounding.
NOISE_FACTOR, LEAST_NOISE = 3.0, 1e-9
# Least mass of a state, relative to its terms, above rounding; and least positive divisor.
LEAST_MASS = 1e-12
# Prior of the share of n-grams: its mode, and its weight as a number of outcomes.
PRIOR_SHARE, PRIOR_COUNT, LARGEST_LOG = 0.1, 1.0, 600.0


class Predictor(NamedTuple):
    """An automaton and n-grams, prepared for kernels."""

    alpha_1: np.ndarray  # (n_states,)
    A: np.ndarray  # (n_symbols + 1, n_states, n_states): an unknown symbol, last, is the sum
    outcomes: np.ndarray  # (n_symbols + 1, n_states): mass of each symbol, and of the end
    totals: np.ndarray  # (n_states,): mass of all outcomes
    restarts: np.ndarray  # (n_symbols + 1, n_states): mean state after each symbol
    ngrams: NGrams  # of (n_contexts + 1, n_symbols + 1)
    mixing: float  # the share of n-grams


def make_predictor(operators, ngrams, mixing):
    """Prepare an automaton for prediction.

    Parameters
    ----------
    operators : Operators
        One automaton.
    ngrams : NGrams
    mixing : float

    Returns
    -------
    predictor : Predictor
    """
    alpha_1, alpha_inf, A = operators
    mass = remaining_mass(operators)
    A = np.concatenate([A, A.sum(axis=0, keepdims=True)])
    outcomes = np.concatenate([mass @ A[:-1], alpha_inf[None]])
    visits = np.linalg.lstsq(np.eye(alpha_1.size) - A[-1], alpha_1)[0]
    first, *restarts = _of_mass_one(np.vstack([alpha_1, A @ visits]), mass)
    return Predictor(
        *map(np.ascontiguousarray, (first, A, outcomes, mass, restarts)), ngrams, mixing
    )


def _of_mass_one(states, totals):
    """Divide states by their mass; states without mass, but for rounding, become 0."""
    with np.errstate(over="ignore", invalid="ignore"):  # inf and nan have no mass
        mass = states @ totals
        has_mass = mass > TINY + LEAST_MASS * (np.abs(states) @ np.abs(totals))
    return np.divide(states, mass[:, None], out=np.zeros_like(states), where=has_mass[:, None])


@inlined_kernel
def _put_masses(predictor, state, outcomes):
    """Set the masses of next outcomes, 0 for negative ones; return positive and negative sums."""
    positive, negative = 0.0, 0.0
    for b in range(outcomes.size):
        mass = 0.0
        for i in range(state.size):
            mass += predictor.outcomes[b, i] * state[i]
        outcomes[b] = max(mass, 0.0)
        positive += outcomes[b]
        negative += outcomes[b] - mass
    return positive, negative


@inlined_kernel
def put_outcomes(predictor, state, previous, context, outcomes):
    """Set the probabilities of each next symbol and of the end (eq. 62).

    Negative masses show the share of noise in a state. This share is replaced by the mean state
    after the previous symbol.
    """
    positive, negative = _put_masses(predictor, state, outcomes)
    if previous >= 0 and negative > LEAST_NOISE * positive:
        noise = min(NOISE_FACTOR * negative / positive, 1.0) if positive > 0.0 else 1.0
        for i in range(state.size):
            state[i] = (1.0 - noise) * state[i] + noise * predictor.restarts[previous, i]
        positive, negative = _put_masses(predictor, state, outcomes)
    share = predictor.mixing if positive > 0.0 else 1.0
    scale = (1.0 - share) / positive if positive > 0.0 else 0.0
    for b in range(outcomes.size):
        outcomes[b] = scale * outcomes[b] + share * predictor.ngrams.probabilities[context, b]


@inlined_kernel
def advance_state(predictor, state, symbol, moved):
    """state <- A[symbol] state, divided by its mass (eq. 61); without mass, the mean state."""
    mass, size = 0.0, 0.0
    for i in range(state.size):
        moved[i] = 0.0
        for j in range(state.size):
            moved[i] += predictor.A[symbol, i, j] * state[j]
        mass += predictor.totals[i] * moved[i]
        size += abs(predictor.totals[i] * moved[i])
    has_mass = mass > TINY + LEAST_MASS * size
    for i in range(state.size):
        state[i] = moved[i] / mass if has_mass else predictor.restarts[symbol, i]


def make_room(predictor, n_sequences, n_rows):
    """Allocate the last arguments of :func:`follow`."""
    n_outcomes, n_states = predictor.outcomes.shape
    return np.empty((n_sequences, n_states)), np.empty((n_rows, n_outcomes)), np.empty(n_states)


@table_kernel
def follow(predictor, codes, indptr, logs, states, outcomes, moved):
    """Go through sequences and fill the arrays of results; `logs` may be empty.

    Parameters
    ----------
    predictor : Predictor
    codes, indptr : int ndarrays
        Sequences, one after the other.
    logs : ndarray of shape (n_tokens + n_sequences,) or (0,)
        Set to the log probabilities of each symbol, given its prefix, and of the ends.
    states : ndarray of shape (n_sequences, n_states)
        Set to the last states.
    outcomes : ndarray of shape (n_sequences or 1, n_symbols + 1)
        Set to the probabilities of the next symbol and of the end.
    moved : ndarray of shape (n_states,)
    """
    n_symbols = outcomes.shape[1] - 1
    for s in range(indptr.size - 1):
        state, own = states[s], outcomes[min(s, len(outcomes) - 1)]
        for i in range(state.size):
            state[i] = predictor.alpha_1[i]
        previous, context = -1, predictor.ngrams.start[()]
        for t in range(indptr[s], indptr[s + 1]):
            symbol = codes[t]
            put_outcomes(predictor, state, previous, context, own)
            if logs.size:
                probability = own[symbol] if symbol < n_symbols else 1.0 - own[n_symbols]
                logs[t + s] = np.log(probability) if probability > 0.0 else -np.inf
            advance_state(predictor, state, symbol, moved)
            previous, context = symbol, predictor.ngrams.following[context, symbol]
        put_outcomes(predictor, state, previous, context, own)
        if logs.size:
            logs[indptr[s + 1] + s] = np.log(own[n_symbols]) if own[n_symbols] > 0.0 else -np.inf


def fit_share(predictor, sequences, chosen):
    """Fit the share of the n-grams under which sequences are most probable.

    Parameters
    ----------
    predictor : Predictor
    sequences : EncodedSequences
    chosen : bool ndarray of shape (n_sequences,)
        Sequences that the predictor has not seen.

    Returns
    -------
    share : float
        Between 0 and 1, under a prior: see PRIOR_SHARE.
    """
    codes, indptr, weights = sequences
    logs = np.empty((2, codes.size + weights.size))
    for mixing, own in enumerate(logs):
        alone = predictor._replace(mixing=float(mixing))
        follow(alone, codes, indptr, own, *make_room(predictor, weights.size, 1))
    counts = np.repeat(np.where(chosen, weights, 0.0), np.diff(indptr) + 1)
    ratio = np.exp(np.clip(logs[1] - logs[0], -LARGEST_LOG, LARGEST_LOG)) - 1.0

    def loss(share):
        prior = PRIOR_SHARE * np.log(share) + (1.0 - PRIOR_SHARE) * np.log1p(-share)
        return -(counts @ np.log1p(share * ratio) + PRIOR_COUNT * prior)

    return float(minimize_scalar(loss, bounds=(0, 1), method="bounded").x)


@table_kernel
def draw_one(predictor, uniforms, codes, state, outcomes, moved):
    """Draw a sequence into `codes` and return its length, -1 if it is longer than `codes`."""
    n_symbols, previous, context = outcomes.size - 1, -1, predictor.ngrams.start[()]
    for i in range(state.size):
        state[i] = predictor.alpha_1[i]
    for t in range(uniforms.size):
        put_outcomes(predictor, state, previous, context, outcomes)
        symbol, left = 0, uniforms[t] - outcomes[0]
        while left >= 0.0 and symbol < n_symbols:
            symbol += 1
            left -= outcomes[symbol]
        if symbol == n_symbols:
            return t
        if t < codes.size:
            codes[t] = symbol
        advance_state(predictor, state, symbol, moved)
        previous, context = symbol, predictor.ngrams.following[context, symbol]
    return -1
