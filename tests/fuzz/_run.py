"""Run targets over many inputs: what came out, how long it took and how much memory."""

import importlib
import pkgutil
import resource
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import tests.fuzz

# Warnings that inputs of any size bring about, and that say what becomes of them.
OUT_OF_RANGE = ".* leave the range of doubles"


class Target(NamedTuple):
    """What is tried: how inputs are made, and what must hold of them."""

    make: Callable[[Random], Any]  # all that is left to chance comes from the argument
    run: Callable[[Any], str]  # what came out, to be counted; raises if something does not hold
    describe: Callable[[Any], str | bytes] = repr  # an input, to be looked at
    seconds: float = 1.0  # of CPU that one input may take


class Result(NamedTuple):
    """What became of an input."""

    number: int
    outcome: str
    failure: str = ""  # what is wrong
    seconds: float = 0.0  # of CPU
    memory: int = 0  # the largest that the process ever had, in bytes


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


def try_once(target, seed, number):
    """What comes out of an input, or the failure."""
    start = time.process_time()
    try:
        value = make_input(target, seed, number)
        start = time.process_time()
        outcome, failure = target.run(value), ""
    except Exception:
        outcome, failure = "FAILED", traceback.format_exc()
    return Result(number, outcome, failure, time.process_time() - start)


def try_twice(target, seed, number):
    """Like `try_once`; slow twice is a failure, slow once may be compilation."""
    result = try_once(target, seed, number)
    if not result.failure and result.seconds > target.seconds:
        result = try_once(target, seed, number)
        if not result.failure and result.seconds > target.seconds:
            failure = f"{result.seconds:.1f} CPU seconds"
            result = result._replace(outcome="FAILED", failure=failure)
    return result


def _work(find, name, seed, memory, connection):
    """Try inputs as they are asked for, in a process of its own."""
    if memory is not None:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    target = find()[name]
    connection.send("ready")
    with suppress(EOFError):  # nobody asks any more
        while True:
            result = try_twice(target, seed, connection.recv())
            connection.send(result._replace(memory=_peak_memory()))


def _peak_memory():
    """The largest memory of this process so far, in bytes."""
    # What getrusage says begins with the memory of the process that started this one.
    status = Path("/proc/self/status")
    if not status.exists():  # not on Linux
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    (peak,) = (line.split()[1] for line in status.read_text().splitlines() if "VmHWM" in line)
    return int(peak) * 1024


def run(find, name, seed, numbers, memory=None, hang=600.0):
    """Yield the result of each input.

    A worker that is ended by a signal, or hangs, is a failure of the input that it had; another
    goes on behind that.

    Parameters
    ----------
    find : callable
        Gives the targets by name; called in the worker.
    name : str
    seed : int
    numbers : iterable of int
        Those of the inputs.
    memory : int, optional
        Bytes of address space that the worker may have.
    hang : float
        Seconds for an input after which a worker is stopped; kernels may be compiled.
    """
    context, worker = get_context("spawn"), None
    for number in numbers:
        if worker is None:
            connection, other = context.Pipe()
            arguments = find, name, seed, memory, other
            worker = context.Process(target=_work, args=arguments, daemon=True)
            worker.start()
            other.close()
            connection.recv()  # an error here is one of the worker, which has not begun
        result = _ask(worker, connection, number, hang)
        yield result
        if not result.memory:
            worker.kill()
            worker = None


def _ask(worker, connection, number, hang):
    """The result of an input, or how the worker ended."""
    connection.send(number)
    if not connection.poll(hang):
        return Result(number, "FAILED", f"no end after {hang:.0f} s")
    try:
        return connection.recv()
    except (EOFError, ConnectionError):
        worker.join()
        return Result(number, "FAILED", f"the process ended with {worker.exitcode}")
