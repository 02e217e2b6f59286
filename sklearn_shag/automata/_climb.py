"""Expectation maximisation: iterations that never lower the objective."""

from typing import Any, NamedTuple

import numpy as np

# An objective that falls by more than rounding is a defect.
ROUNDING = 1e-9
# Of tiny weights: below it doubles have fewer digits.
SMALLEST = np.finfo(float).tiny


class Expected(NamedTuple):
    """What an E step finds."""

    counts: Any  # what the M step takes
    log_likelihood: float
    objective: float  # what iterations raise: with the logarithm of a prior, if there is one


def climb(start, expect, maximise, max_iter, n_samples):
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

    Yields
    ------
    parameters : object
        Those of the start, and after each iteration.
    expected : Expected
        Under these.
    gain : float
        By how much the objective rose; inf for the start.

    Raises
    ------
    ArithmeticError
        If the objective falls or is not a number.
    """
    parameters, previous = start, -np.inf
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


def climb_to_the_end(start, expect, maximise, *, max_iter, tol, n_samples, advance=lambda: None):
    """Run EM until an iteration raises the objective by no more than `tol` a sample.

    Parameters
    ----------
    start, expect, maximise, max_iter, n_samples
        As for :func:`climb`.
    tol : float
    advance : callable
        Is called after each E step.

    Returns
    -------
    ended : Ended
    """
    objectives = []
    for parameters, expected, gain in climb(start, expect, maximise, max_iter, n_samples):
        objectives.append(expected.objective)
        advance()
        ended = Ended(parameters, expected, objectives, bool(gain <= tol * n_samples))
        if ended.converged:
            break
    return ended
