"""Cases of a test, one after the other in one test."""

import functools
import inspect

import pytest


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
