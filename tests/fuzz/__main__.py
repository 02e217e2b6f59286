"""Try the package on many inputs made by chance, for a time or for a number of them.

The same seed and number are the same input: a failure is run again alone with
``--first NUMBER --inputs 1 --here``.
"""

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

from tests.fuzz._run import find_targets, make_input, run, try_input


def main():
    args = _parse_arguments()
    sys.stdout.reconfigure(line_buffering=True)
    targets = find_targets()
    unknown = set(args.targets) - targets.keys()
    if unknown:
        sys.exit(f"No targets: {', '.join(sorted(unknown))}. There are {', '.join(targets)}.")
    failed = False
    for name in args.targets or targets:
        if args.here:
            failed |= _run_here(targets[name], name, args)
        else:
            failed |= _run_target(targets[name], name, args)
    sys.exit(int(failed))


def _run_target(target, name, args):
    """Print what came out, and keep the inputs that failed; whether there are some."""
    numbers = range(args.first, args.first + args.inputs, args.step)
    start = time.monotonic()
    deadline = None if args.seconds is None else start + args.seconds
    counts, slowest, memory = Counter(), (0.0, -1), 0
    shown = start
    for report in run(find_targets, name, args.seed, numbers, args.memory, deadline):
        counts += report.counts
        slowest, memory = max(slowest, report.slowest), max(memory, report.memory)
        for failure in report.failures:
            _keep(target, name, args, failure)
        if time.monotonic() - shown > 60:
            shown = time.monotonic()
            print(f"... {name}: {counts.total():,} inputs, {counts['FAILED']} failed")
    seconds = time.monotonic() - start
    print(f"{name}: {counts.total():,} inputs of seed {args.seed} in {seconds:.0f} s")
    for outcome, count in counts.most_common():
        print(f"  {count:>9,}  {outcome}")
    print(
        f"  slowest {slowest[0]:.2f} CPU s (input {slowest[1]}), memory {memory / 2**20:,.0f} MiB"
    )
    return bool(counts["FAILED"])


def _run_here(target, name, args):
    """In this process, for debuggers."""
    failed = False
    for number in range(args.first, args.first + args.inputs, args.step):
        outcome, failure, seconds = try_input(target, args.seed, number)
        print(f"{name} {number}: {outcome}, {seconds:.2f} CPU s")
        if failure is not None:
            failed = True
            _keep(target, name, args, failure)
    return failed


def _keep(target, name, args, failure):
    print(f"{name}: input {failure.number} of seed {args.seed} failed\n{failure.reason}")
    described = target.describe(make_input(target, args.seed, failure.number))
    data = described if isinstance(described, bytes) else described.encode(errors="replace")
    args.failures.mkdir(parents=True, exist_ok=True)
    (args.failures / f"{name}-{args.seed}-{failure.number}").write_bytes(data)


def _parse_arguments():
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="(default: all)")
    parser.add_argument("--inputs", type=int, default=1000, help="(default: %(default)s)")
    parser.add_argument("--seconds", type=float, help="for each target, at most")
    parser.add_argument("--seed", type=int, default=0, help="(default: %(default)s)")
    parser.add_argument("--first", type=int, default=0, help="number of the first input")
    parser.add_argument("--step", type=int, default=1, help="from input to input")
    parser.add_argument(
        "--memory", type=int, help="bytes of address space of a worker (default: no limit)"
    )
    parser.add_argument("--here", action="store_true", help="no worker: in this process")
    parser.add_argument(
        "--failures",
        type=Path,
        default=Path("fuzz-failures"),
        help="folder for inputs that failed (default: %(default)s)",
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
