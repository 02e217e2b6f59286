"""Try the package on many inputs made by chance, for a time or for a number of them.

The same seed and number are the same input: a failure is run again alone with
``--first NUMBER --inputs 1 --here``.
"""

import argparse
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path

from tests.fuzz._run import find_targets, make_input, run, try_once


def main():
    args = _parse_arguments()
    sys.stdout.reconfigure(line_buffering=True)
    targets = find_targets()
    unknown = set(args.targets) - targets.keys()
    if unknown:
        sys.exit(f"No targets: {', '.join(sorted(unknown))}. There are {', '.join(targets)}.")
    n_failed = sum(_run_target(targets[name], name, args) for name in args.targets or targets)
    sys.exit(int(n_failed > 0))


def _run_target(target, name, args):
    """Print what came out, and keep the inputs that failed; how many these are."""
    numbers = range(args.first, args.first + args.inputs, args.step)
    results = run(find_targets, name, args.seed, numbers, args.memory)
    if args.here:
        results = map(partial(try_once, target, args.seed), numbers)
    start = shown = time.monotonic()
    counts, slowest, memory = Counter(), (0.0, -1), 0
    for result in results:
        counts[result.outcome] += 1
        slowest = max(slowest, (result.seconds, result.number))
        memory = max(memory, result.memory)
        if result.failure:
            _keep(target, name, args, result)
        now = time.monotonic()
        if now - shown > 60:
            shown = now
            print(f"... {name}: {counts.total():,} inputs, {counts['FAILED']} failed")
        if args.seconds is not None and now - start > args.seconds:
            break
    seconds = time.monotonic() - start
    print(f"{name}: {counts.total():,} inputs of seed {args.seed} in {seconds:.0f} s")
    for outcome, count in counts.most_common():
        print(f"  {count:>9,}  {outcome}")
    print(
        f"  slowest {slowest[0]:.2f} CPU s (input {slowest[1]}), memory {memory / 2**20:,.0f} MiB"
    )
    return counts["FAILED"]


def _keep(target, name, args, result):
    print(f"{name}: input {result.number} of seed {args.seed} failed\n{result.failure}")
    described = target.describe(make_input(target, args.seed, result.number))
    data = described if isinstance(described, bytes) else described.encode(errors="replace")
    args.failures.mkdir(parents=True, exist_ok=True)
    (args.failures / f"{name}-{args.seed}-{result.number}").write_bytes(data)


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
