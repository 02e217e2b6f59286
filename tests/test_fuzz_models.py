"""Some mutants of model files; `python -m tests.fuzz models` tries as many as one likes."""

import pytest

from tests.fuzz._run import make_input
from tests.fuzz.models import TARGETS


@pytest.mark.parametrize("seed", range(4))
def test_mutants_are_refused_or_parse(seed):
    target = TARGETS["models"]
    outcomes = {target.run(make_input(target, seed, number)) for number in range(250)}
    assert {"ModelFileError", "loaded"} <= outcomes
