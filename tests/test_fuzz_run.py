"""The driver of the fuzzers: no failure is lost, and none ends the run."""

import ctypes
import time
from collections import Counter

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
    bad = {number: kind for number, kind in kinds.items() if kind in (0, 1, 2, 3)}
    assert set(bad.values()) == {0, 1, 2, 3}
    reports = list(run(find_kinds, "kinds", 7, numbers, memory=2**34, hang=2.5))
    counts = sum((report.counts for report in reports), Counter())
    assert counts == Counter(
        {"FAILED": len(bad), **Counter(f"kind {k}" for k in kinds.values() if k > 3)}
    )
    failures = {failure.number: failure.reason for report in reports for failure in report.failures}
    assert max(report.slowest for report in reports)[0] < 1
    words = {0: "ValueError: refused", 1: "ended with -11", 2: "no end after 2 s", 3: "MemoryError"}
    assert failures.keys() == bad.keys()
    for number, reason in failures.items():
        assert words[bad[number]] in reason
    assert max(report.memory for report in reports) < 2**30


def test_slow_inputs_fail():
    target = find_kinds()["kinds"]
    slow = next(n for n in range(1000) if make_input(target, 0, n) == 4)
    assert _run.try_twice(target, 0, slow)[:2] == ("kind 4", None)
    _, failure, seconds = _run.try_twice(target._replace(seconds=0.05), 0, slow)
    assert failure == (slow, f"{seconds:.1f} CPU seconds")


def test_all_modules_list_their_targets():
    assert all(isinstance(target, Target) for target in find_targets().values())
