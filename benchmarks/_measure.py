"""What the speed scripts share: their clocks, the machine and its yardstick, tables and their file.

Usage: python benchmarks/_measure.py RESULTS.json... [--into PAGE]

Prints the tables of saved results, which are tables of reStructuredText as they are. With --into,
puts each in PAGE behind the comment ".. measured: SCRIPT TABLE" that asks for it.
"""

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numba
import numpy as np
from threadpoolctl import threadpool_info

import sklearn_shag
from sklearn_shag.datasets import fetch_treebank
from sklearn_shag.utils._io import atomic_write

RESULTS = Path(__file__).parent / "results"
# Seconds: what takes less is called several times in a row.
SHORTEST = 0.02
# Seconds between two looks at the memory of a command.
PAUSE = 0.05


def medians(functions, rounds=5):
    """Median seconds of one call of every function of a dict, not counting the first calls.

    The functions take turns: what slows the machine for a while slows all of them alike, and
    their ratios stay.
    """
    times = _take_turns(functions, rounds, time.perf_counter)
    return {name: statistics.median(values) for name, values in times.items()}


def minima(functions, rounds=5):
    """Least CPU seconds, of all threads, of one call of every function of a dict, in turns.

    Unlike :func:`medians` it does not count the time that other programs had the processor.
    """
    times = _take_turns(functions, rounds, time.process_time)
    return {name: min(values) for name, values in times.items()}


def _take_turns(functions, rounds, clock):
    n_calls, times = {}, {name: [] for name in functions}
    for name, function in functions.items():
        function()  # compiles
        n_calls[name] = 1 + int(SHORTEST / _seconds(function, 1, time.perf_counter))
    for _ in range(rounds):
        for name, function in functions.items():
            times[name].append(_seconds(function, n_calls[name], clock))
    return times


def _seconds(function, n_calls, clock):
    started = clock()
    for _ in range(n_calls):
        function()
    return (clock() - started) / n_calls


def seconds_of(function):
    """Call a function once; return its result, and the CPU seconds of all threads."""
    started = time.process_time()
    result = function()
    return result, time.process_time() - started


def run_command(*arguments):
    """Run a command; seconds by the clock and of processors, and the most memory in MiB."""
    before, peak = os.times(), 0
    command = [sys.executable, "-m", "sklearn_shag", *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while process.poll() is None:
        peak = max(peak, _resident(process.pid))
        time.sleep(PAUSE)
    if process.returncode:
        sys.exit(f"{command} has failed")
    after = os.times()
    used = [new - old for new, old in zip(after, before, strict=True)]
    return used[4], used[2] + used[3], peak / 1024  # elapsed, of child processes


def _resident(pid):
    """Kilobytes in memory of a process and all below it."""
    total = 0
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        total += sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
        children = [
            child
            for task in Path(f"/proc/{pid}/task").iterdir()
            for child in (task / "children").read_text().split()
        ]
    except OSError:  # it has ended
        return total
    return total + sum(map(_resident, children))


def load(name):
    """Load a treebank of SKLEARN_SHAG_DATA."""
    return fetch_treebank(name, download_if_missing=False)


def make_dgemm(order=512):
    """A product of two matrices in double precision, and how many operations it takes."""
    a, b = np.random.default_rng(0).random((2, order, order))
    out = np.empty_like(a)
    return lambda: np.matmul(a, b, out=out), 2 * order**3


def describe_machine():
    """The processor, how busy it was before, and the versions that decide over speed."""
    cpuinfo = Path("/proc/cpuinfo")
    names = re.findall(r"model name\s*: (.*)", cpuinfo.read_text()) if cpuinfo.exists() else []
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    blas = {f"{pool['internal_api']} {pool['version']}" for pool in pools}
    return {
        "cpu": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "blas": ", ".join(sorted(blas)),
        "sklearn_shag": sklearn_shag.__version__,
        "other load": f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown",
    }


def measured(what, value, *, at_least=None, at_most=None):
    """One row of a table of what was measured and, if anything, what is demanded."""
    row = {"what": what, "measured": value, "demanded": "", "met": ""}
    if at_least is not None:
        row |= {"demanded": f"at least {at_least}", "met": "yes" if value >= at_least else "no"}
    if at_most is not None:
        row |= {"demanded": f"at most {at_most}", "met": "yes" if value <= at_most else "no"}
    return row


def read_arguments(description, takes_treebank=True):
    """Read the command line that the usage of the scripts tells: a treebank, and `output`."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    if takes_treebank:
        parser.add_argument("folder", nargs="?")
        parser.add_argument("treebank", nargs="?", default="UD_English-EWT")
    parser.add_argument("--output", help="default: in the folder results beside the script")
    arguments = parser.parse_args()
    if takes_treebank:
        arguments.treebank = fetch_treebank(
            arguments.treebank, data_home=arguments.folder, download_if_missing=False
        )
        arguments.train_file = next(arguments.treebank.folder.glob("*-ud-train.conllu"))
    return arguments


class Report:
    """Tables of one script, printed and saved one by one: an interrupted run keeps the first.

    Parameters
    ----------
    script : str
        The name of the script.
    path : None or path-like
        The JSON file; None takes ``benchmarks/results/<script>.json``.
    **kept
        What the file holds beside the tables.
    """

    def __init__(self, script, path=None, **kept):
        self.path = Path(path or RESULTS / f"{script}.json")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.content = {"script": script, "machine": describe_machine(), "tables": {}, **kept}
        self.add(
            "machine",
            [{"what": key, "is": str(value)} for key, value in self.content["machine"].items()],
        )

    def add(self, name, rows):
        """Add a table: a list of dicts, all with the same keys, which are its header."""
        self.content["tables"][name] = rows
        print(f"{name}\n\n{format_table(rows)}\n", flush=True)
        with atomic_write(self.path) as file:
            file.write(f"{json.dumps(self.content, indent=1)}\n".encode())


def format_table(rows):
    """The table as text, a simple table of reStructuredText."""
    cells = [list(rows[0]), *([_format(value) for value in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    is_text = [isinstance(value, str) for value in rows[0].values()]
    lines = [
        "  ".join(
            cell.ljust(width) if text else cell.rjust(width)
            for cell, width, text in zip(line, widths, is_text, strict=True)
        ).rstrip()
        for line in cells
    ]
    rule = "  ".join("=" * width for width in widths)
    return "\n".join([rule, lines[0], rule, *lines[1:], rule])


def _format(value):
    """Three significant digits, or all before the point."""
    if not isinstance(value, float):
        return str(value)
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:#.3g}".rstrip(".")


def fill(page, tables):
    """Put tables in the text of a page, behind the comments that name them, without targets."""

    def replace(match):
        if match[1] not in tables:
            return match[0]
        rows = tables[match[1]]
        rows = [{key: row[key] for key in row if key not in ("demanded", "met")} for row in rows]
        return f".. measured: {match[1]}\n\n{format_table(rows)}\n"

    # A table begins with a rule and ends with an empty line.
    return re.sub(r"^\.\. measured: (.+)\n(?:\n=.*\n(?:.+\n)+)?", replace, page, flags=re.M)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", nargs="+", type=Path)
    parser.add_argument("--into", type=Path, metavar="PAGE")
    arguments = parser.parse_args()
    tables = {}
    for path in arguments.results:
        content = json.loads(path.read_text())
        for name, rows in content["tables"].items():
            tables[f"{content['script']} {name}"] = rows
    if arguments.into is None:
        for name, rows in tables.items():
            print(f"{name}\n\n{format_table(rows)}\n")
    else:
        page = fill(arguments.into.read_text(encoding="utf-8"), tables)
        with atomic_write(arguments.into) as file:
            file.write(page.encode())


if __name__ == "__main__":
    main()
