"""A few inputs of the fuzzer of estimators; `python -m tests.fuzz estimators` tries more."""

import pytest

from tests.fuzz._run import make_input
from tests.fuzz.estimators import TARGETS


@pytest.mark.parametrize("number", range(20))
def test_what_befalls_estimators(number):
    target = TARGETS["estimators"]
    assert target.run(make_input(target, 1, number))
