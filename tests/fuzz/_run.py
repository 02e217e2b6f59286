"""Run targets over many inputs: what came out, how often, how long it took and how much memory."""

import importlib
import pkgutil
import resource
import time
import traceback
from collections import Counter
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import tests.fuzz

SECONDS = 1.0  # of CPU that one input may take, if a target says nothing else
HANG = 600.0  # seconds without a report after which a worker is stopped; kernels may be compiled
# A warning that inputs of any size bring about, and that says what becomes of them.
OUT_OF_RANGE = "Values of .* leave the range of doubles"
REPORT = 1.0  # seconds between the reports of a worker


class Target(NamedTuple):
    """What is tried: how inputs are made, and what must hold of them."""

    make: Callable[[Random], Any]  # all that is left to chance comes from the argument
    run: Callable[[Any], str]  # what came out, to be counted; raises if something does not hold
    describe: Callable[[Any], str | bytes] = repr  # an input, to be looked at
    seconds: float = SECONDS  # of CPU that one input may take


class Failure(NamedTuple):
    number: int  # of the input
    reason: str


class Report(NamedTuple):
    """What a worker has done since its last report."""

    counts: Counter
    failures: list
    stop: int  # the first input that is not done
    slowest: tuple  # CPU seconds, and number of the input
    memory: int  # the largest that the process ever had, in bytes


def find_targets():
    """All targets by name: those that the modules of this folder list."""
    modules = (
        importlib.import_module(f"tests.fuzz.{info.name}")
        for info in pkgutil.iter_modules(tests.fuzz.__path__)
        if not info.name.startswith("_")
    )
    return {name: target for module in modules for name, target in module.TARGETS.items()}


def make_input(target, seed, number):
    """The same input for the same number, whatever came before."""
    return target.make(Random(f"{seed}-{number}"))


def _peak_memory():
    """The largest memory of this process so far, in bytes."""
    # What getrusage says begins with the memory of the process that started this one.
    status = Path("/proc/self/status")
    if not status.exists():  # not on Linux
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    (peak,) = (line.split()[1] for line in status.read_text().splitlines() if "VmHWM" in line)
    return int(peak) * 1024


def try_input(target, seed, number):
    """What comes out, or the failure, and the CPU seconds of an input."""
    start = time.process_time()
    try:
        value = make_input(target, seed, number)
        start = time.process_time()
        outcome = target.run(value)
    except Exception:
        return None, Failure(number, traceback.format_exc()), time.process_time() - start
    return outcome, None, time.process_time() - start


def try_twice(target, seed, number):
    """Like `try_input`; slow twice is a failure, slow once may be compilation."""
    outcome, failure, seconds = try_input(target, seed, number)
    if failure is None and seconds > target.seconds:
        outcome, failure, seconds = try_input(target, seed, number)
        if failure is None and seconds > target.seconds:
            failure = Failure(number, f"{seconds:.1f} CPU seconds")
    return outcome, failure, seconds


def _work(find, name, seed, numbers, skipped, memory, current, connection):
    """Try inputs one after the other, in a process of its own."""
    if memory is not None:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    target = find()[name]
    counts, failures, slowest = Counter(), [], (0.0, -1)
    connection.send(Report(counts, failures, numbers.start, slowest, 0))  # it has begun
    last = time.monotonic()
    for number in numbers:
        current.value = number
        if number not in skipped:
            outcome, failure, seconds = try_twice(target, seed, number)
            slowest = max(slowest, (seconds, number))
            counts[outcome if failure is None else "FAILED"] += 1
            if failure is not None:
                failures.append(failure)
        if time.monotonic() - last > REPORT or number == numbers[-1]:
            peak = _peak_memory()
            connection.send(Report(counts, failures, number + numbers.step, slowest, peak))
            counts, failures, slowest = Counter(), [], (0.0, -1)
            last = time.monotonic()


def run(find, name, seed, numbers, memory=None, deadline=None, hang=HANG):
    """Yield reports on a target until all inputs are done or the time is over.

    A worker that is ended by a signal, or hangs, is a failure of the input that it had; another
    goes on behind that.

    Parameters
    ----------
    find : callable
        Gives the targets by name; called in the worker.
    name : str
    seed : int
    numbers : range
        Those of the inputs.
    memory : int, optional
        Bytes of address space that the worker may have.
    deadline : float, optional
        In terms of `time.monotonic`.
    hang : float
        Seconds without a report after which a worker is stopped.
    """
    context, skipped = get_context("spawn"), set()
    while numbers:
        current = context.Value("q", -1)
        receiver, sender = context.Pipe(duplex=False)
        arguments = find, name, seed, numbers, skipped, memory, current, sender
        worker = context.Process(target=_work, args=arguments)
        worker.start()
        sender.close()
        patience, ended = HANG, ""
        try:
            while numbers:
                if deadline is not None and time.monotonic() > deadline:
                    return
                if not receiver.poll(patience):
                    ended = f"no end after {patience:.0f} s"
                    break
                report, patience = receiver.recv(), hang
                numbers = numbers[(report.stop - numbers.start) // numbers.step :]
                yield report
        except EOFError:
            worker.join()
            ended = f"the process ended with {worker.exitcode}"
        finally:
            worker.kill()
            worker.join()
        if numbers:
            if current.value < 0:
                raise RuntimeError(f"a worker on {name} has not begun: {ended}")
            skipped.add(current.value)
            failure = Failure(current.value, ended)
            yield Report(Counter(FAILED=1), [failure], numbers.start, (0.0, -1), 0)
