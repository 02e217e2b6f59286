"""The driver of the fuzzers: no failure is lost, and none ends the run."""

import ctypes
import time

import pytest

from tests.fuzz import _run
from tests.fuzz._run import Target, find_targets, make_input, run


def _behave(kind):
    if kind == 0:
        raise ValueError("refused")
    if kind == 1:
        ctypes.string_at(0)  # signal 11
    if kind == 2:
        time.sleep(60)
    if kind == 3:
        bytearray(2**40)
    if kind == 4:
        start = time.process_time()
        while time.process_time() < start + 0.1:
            pass
    return f"kind {kind}"


def find_kinds():
    return {"kinds": Target(lambda random: random.randrange(9), _behave)}


@pytest.mark.exhaustive  # it starts processes, and waits for some that hang
def test_failures_are_counted_and_the_run_goes_on():
    numbers = range(2, 80, 3)
    kinds = {number: make_input(find_kinds()["kinds"], 7, number) for number in numbers}
    assert {0, 1, 2, 3} < set(kinds.values())
    results = list(run(find_kinds, "kinds", 7, numbers, memory=2**34, hang=2.5))
    assert [result.number for result in results] == [*numbers]
    words = {0: "ValueError: refused", 1: "ended with -11", 2: "no end after 2 s", 3: "MemoryError"}
    for result in results:
        kind = kinds[result.number]
        assert result.outcome == ("FAILED" if kind < 4 else f"kind {kind}")
        assert words.get(kind, "") in result.failure
        assert bool(result.failure) == (kind < 4)
    assert max(result.seconds for result in results) < 1
    assert max(result.memory for result in results) < 2**30


def test_slow_inputs_fail():
    target = find_kinds()["kinds"]
    slow = next(n for n in range(1000) if make_input(target, 0, n) == 4)
    assert _run.try_twice(target, 0, slow)[:3] == (slow, "kind 4", "")
    result = _run.try_twice(target._replace(seconds=0.05), 0, slow)
    assert result[:3] == (slow, "FAILED", f"{result.seconds:.1f} CPU seconds")


def test_all_modules_list_their_targets():
    assert all(isinstance(target, Target) for target in find_targets().values())
