"""Two processes compile into one empty cache at the same time; do all numbers come out right?

Usage: python benchmarks/kernel_cache.py [ROUNDS] [--numba]

Each round (1,000 unless told otherwise) has an empty folder and a new module of two kernels, one of
which calls the other. Two processes start at a barrier, and each calls the kernels with integers,
floating-point numbers and arrays, in opposite orders; a third then loads what they have left. All
numbers have to be right, and the third process should not have to compile. With --numba the kernels
are kept by numba's own cache: its index and its numbered files may come from different writers, and
the third process then runs the code of one type with arguments of another, or of another kernel.
"""

import argparse
import importlib
import multiprocessing
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numba
import numpy as np

from sklearn_shag.utils._kernel import kernel

MODULE = """
from benchmarked import kernel

@kernel
def inner(x):
    return x * {factor}

@kernel
def outer(x):
    return inner(x) + 1
"""
ARGUMENTS = [3, 2.5, np.arange(4.0)]


def use(folder, factor, step, barrier, queue):
    """Call both kernels of the module in a folder; tell of wrong numbers and of code not found."""
    sys.path.insert(0, str(folder))
    module = importlib.import_module("throw_away")
    barrier.wait()
    n_wrong = n_compiled = 0
    for name in ("inner", "outer")[::step]:
        function = getattr(module, name)
        for x in ARGUMENTS[::step]:
            expected = x * factor + (name == "outer")
            n_wrong += not np.array_equal(function(x), expected)
        stats = getattr(function, "dispatcher", function).stats
        n_compiled += sum(stats.cache_misses.values())
    queue.put((n_wrong, n_compiled))


def play(context, factor, folder):
    """Return what happened in a round: of two writers, and of one reader after them."""
    (folder / "throw_away.py").write_text(MODULE.format(factor=factor), encoding="utf-8")
    numba.config.CACHE_DIR = str(folder)
    outcomes = []
    for steps in ((1, -1), (1,)):
        barrier, queue = context.Barrier(len(steps)), context.SimpleQueue()
        arguments = [(folder, factor, step, barrier, queue) for step in steps]
        processes = [context.Process(target=use, args=each) for each in arguments]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        found = [(0, 0) if process.exitcode else queue.get() for process in processes]
        n_wrong, n_compiled = (sum(each) for each in zip(*found, strict=True))
        who = "writers" if len(steps) == 2 else "reader"
        outcomes.append(f"{who}: a process fails" if any(p.exitcode for p in processes) else "")
        outcomes.append(f"{who}: wrong numbers" if n_wrong else "")
    outcomes.append("reader: has to compile" if n_compiled else "")
    return list(filter(None, outcomes)) or ["all is right"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("rounds", nargs="?", type=int, default=1000)
    parser.add_argument("--numba", action="store_true")
    options = parser.parse_args()
    decorator = numba.njit(cache=True) if options.numba else kernel
    sys.modules["benchmarked"] = argparse.Namespace(kernel=decorator)
    # Children find numba, and what it prepares for its first compilation, in their memory.
    numba.njit(lambda x: x + 1)(1)
    context, counts, started = multiprocessing.get_context("fork"), Counter(), time.monotonic()
    for factor in range(2, options.rounds + 2):
        with tempfile.TemporaryDirectory() as folder:
            counts.update(play(context, factor, Path(folder)))
    print(f"{options.rounds} rounds in {time.monotonic() - started:.0f} s")
    for outcome, n in sorted(counts.items()):
        print(f"{n:>6} {outcome}")


if __name__ == "__main__":
    main()
