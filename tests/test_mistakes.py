"""What is refused is a row of the table of mistakes: a call, its error, and what that says."""

from pathlib import Path

import pytest

with pytest.MonkeyPatch.context() as _patch:
    _patch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    first_minutes = pytest.importorskip("first_minutes", reason="needs the folder benchmarks")


@pytest.fixture(scope="module")
def desk():
    with first_minutes.make_desk() as (names, folder):
        yield names, folder


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of users' files
@pytest.mark.usefixtures("quick_english")
@pytest.mark.parametrize("occasion", first_minutes.GROUPS)
def test_mistakes_are_told(desk, occasion):
    faults = []
    for mistake in first_minutes.GROUPS[occasion]:
        if not mistake.is_skipped:
            seen, complaints = first_minutes.replay(mistake, *desk)
            faults += [(mistake.line, complaint, str(seen)) for complaint in complaints]
    assert not faults
