"""What it takes to go on with EM as if it had never stopped."""

import hashlib
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from sklearn_shag.encoding import Alphabet
from sklearn_shag.utils._arrays import check_range, check_shapes
from sklearn_shag.utils._typing import BoolArray, ByteArray, IntArray

# An objective that falls by more than rounding is a defect.
ROUNDING = 1e-9
# Of tiny weights: below it doubles have fewer digits.
SMALLEST = np.finfo(float).tiny


class Expected(NamedTuple):
    """What an E step finds."""

    counts: Any  # what the M step takes
    log_likelihood: float
    objective: float  # what iterations raise: with the logarithm of a prior, if there is one


def climb(start, expect, maximise, max_iter, n_samples, previous=-np.inf):
    """Run EM, and see that no iteration lowers the objective.

    Parameters
    ----------
    start : object
        The parameters to start from.
    expect : callable
        The E step: takes parameters and returns Expected.
    maximise : callable
        The M step: takes counts and returns parameters.
    max_iter : int
    n_samples : float
        How many the log likelihood is a sum over: the scale of its rounding errors.
    previous : float, default=-inf
        The objective before the start, if that is an iteration of a run that goes on.

    Yields
    ------
    parameters : object
        Those of the start, and after each iteration.
    expected : Expected
        Under these.
    gain : float
        By how much the objective rose; inf for the start of a new run.

    Raises
    ------
    ArithmeticError
        If the objective falls or is not a number.
    """
    parameters = start
    for iteration in range(max_iter + 1):
        expected = expect(parameters)
        objective = expected.objective
        if not objective >= previous - ROUNDING * (n_samples + abs(objective)) - SMALLEST:
            raise ArithmeticError(
                f"EM iteration {iteration} changed the objective from {previous!r} to {objective!r}"
            )
        yield parameters, expected, objective - previous
        previous = objective
        if iteration < max_iter:
            parameters = maximise(expected.counts)


class Ended(NamedTuple):
    """Where EM ended."""

    parameters: Any
    expected: Expected
    objectives: list  # after 0, 1, ... iterations
    converged: bool


def climb_to_the_end(
    start, expect, maximise, *, max_iter, tol, n_samples, objectives=(), advance=lambda: None
):
    """Run EM until an iteration raises the objective by no more than `tol` a sample.

    Parameters
    ----------
    start, expect, maximise, max_iter, n_samples
        As for :func:`climb`.
    tol : float
    objectives : sequence of float, default=()
        Those before the start, if that is an iteration of a run that goes on.
    advance : callable
        Is called after each E step.

    Returns
    -------
    ended : Ended
    """
    objectives = list(objectives)
    previous = objectives[-1] if objectives else -np.inf
    for parameters, expected, gain in climb(start, expect, maximise, max_iter, n_samples, previous):
        objectives.append(expected.objective)
        advance()
        ended = Ended(parameters, expected, objectives, bool(gain <= tol * n_samples))
        if ended.converged:
            break
    return ended


# The seed of a run that began with the operators of an earlier fit: nothing can begin it again.
NO_SEED = -1


class Checkpoint(NamedTuple):
    """How far a run of EM has come, and which one it is.

    Attributes
    ----------
    digest : uint8 ndarray of shape (32,)
        Of the data and the parameters, but for the number of iterations.
    seed : int64 ndarray of shape ()
        Of all that was left to chance.
    max_iter : int64 ndarray of shape ()
        How many iterations there might have been, over all fits.
    converged : bool ndarray of shape (n,)
        Which parts have converged.
    """

    digest: ByteArray
    seed: IntArray
    max_iter: IntArray
    converged: BoolArray


def check_checkpoint(checkpoint, name, symbols, log_likelihoods=None):
    """Check that it is of each automaton that EM has learned, or of both phases of a DMV."""
    n_parts = 2 if log_likelihoods is None else Alphabet(symbols.size).n_pairs
    check_shapes(checkpoint, ((32,), (), (), (n_parts,)), name)
    check_range(checkpoint.seed, NO_SEED, 2**32 - 1, f"{name}.seed")
    # Of all fits together, each of which may have had LARGEST_COUNT.
    check_range(checkpoint.max_iter, 0, 2**62, f"{name}.max_iter")


def make_checkpoint(digest, seed, max_iter, converged):
    seed, max_iter = np.array(seed, np.int64), np.array(max_iter, np.int64)
    return Checkpoint(digest, seed, max_iter, np.array(converged, dtype=bool))


def digest_of(*values):
    """Compute a digest of arrays, text and numbers, and of tuples and lists of them."""
    digest = hashlib.sha256()
    _update(digest, values)
    return np.frombuffer(digest.digest(), dtype=np.uint8)


def _update(digest, value):
    if isinstance(value, tuple | list):
        digest.update(f"{len(value)} values".encode())
        for each in value:
            _update(digest, each)
    elif isinstance(value, np.ndarray) and value.dtype != object:
        digest.update(f"{value.dtype} {value.shape}".encode() + value.tobytes())
    else:
        value = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
        digest.update(f"{value!r},".encode())


def find_checkpoint(model, digest):
    """Take the checkpoint of an estimator if its last fit was of the same data and parameters."""
    if not (model.warm_start and hasattr(model, "checkpoint_")):
        return None
    return model.checkpoint_ if np.array_equal(model.checkpoint_.digest, digest) else None


def draw_seed(random_state, is_used):
    """Draw the seed of a run, with which it can begin again: a number that is given is that.

    Where nothing is left to chance, it is 0.
    """
    if not is_used:
        return 0
    if isinstance(random_state, Integral):
        return int(random_state)
    return check_random_state(random_state).randint(2**31)
