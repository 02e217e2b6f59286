"""Loops of tests: over cases, one after the other in one test, and over pairs of arrays."""

import functools
import inspect

import numba
import pytest
from numpy.testing import assert_allclose

compiled = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="takes minutes if interpreted")


def over(names, cases):
    """Run a test for each of some cases, as pytest.mark.parametrize does, but as one test.

    It fails at its end, and names every case that has failed.
    """
    names = names.split(", ") if isinstance(names, str) else names

    def decorate(test):
        signature = inspect.signature(test)

        @functools.wraps(test)
        def loop(*args, **kwargs):
            faults = []
            for case in cases:
                values = case if len(names) > 1 else (case,)
                given = dict(zip(names, values, strict=True))
                try:
                    test(*args, **kwargs, **given)
                except (Exception, pytest.fail.Exception) as error:  # what did not raise, too
                    faults.append((given, error))
            if faults:
                told = "\n".join(f"{given}: {error!r}" for given, error in faults)
                raise AssertionError(told) from faults[0][1]

        kept = [p for name, p in signature.parameters.items() if name not in names]
        loop.__signature__ = signature.replace(parameters=kept)
        return loop

    return decorate


def assert_all_close(found, expected, **tolerances):
    """Assert that there are as many arrays as expected, and that each is the expected one."""
    for one, other in zip(found, expected, strict=True):
        assert_allclose(one, other, **tolerances)
