"""What first calls cost: seven of them in turn, with one kernel cache that the first finds empty.

Usage: python benchmarks/first_calls.py [--package FOLDER] [--kernels]

Each call is a process of its own, so a later one compiles only what those before it did not need.
Seconds are those of the processor, user and system, less those of the same call once more, which
finds everything in the cache. FOLDER is a checkout of the package, this one by default. With
--kernels every kernel is listed that is compiled, with the seconds it takes, those of the kernels
that it calls included.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

CALLS = {
    "SpectralSHAG: fit, predict": "SpectralSHAG().fit(trees).predict(trees)",
    "EMSHAG: fit, predict": "EMSHAG(max_iter=5, random_state=0).fit(trees).predict(trees)",
    "LexicalizedSHAG: fit, predict": "LexicalizedSHAG().fit(trees).predict(trees)",
    "CRFParser: fit, predict": "CRFParser(max_iter=2).fit(trees).predict(trees)",
    "BiaffineParser: fit, predict": "BiaffineParser(max_iter=2).fit(trees).predict(trees)",
    "a sentence without mass": (
        "model = DeterministicSHAG().fit(trees)\n"
        "model.score_samples([['DET']], [[0]]), model.predict_marginals([['DET']])"
    ),
    "DMV: fit, predict": "DMV(max_iter=2).fit(trees).predict(trees)",
}
PROGRAM = """
import time, warnings
from numba.core import event
warnings.simplefilter("ignore")

class Listener(event.Listener):
    def on_start(self, event):
        started.append(time.process_time())

    def on_end(self, event):
        function = event.data["dispatcher"].py_func
        seconds = time.process_time() - started.pop()
        print(f"{function.__module__} {function.__name__} {seconds:.1f} {len(started)}")

started = []
event.register("numba:compile", Listener())
from sklearn_shag import *
from sklearn_shag.datasets import load_english
trees = load_english().data
"""


def call(code, environment):
    """Seconds of the processor of a process that runs the code, and lines on what it compiled."""
    program = [sys.executable, "-P", "-c", PROGRAM + code]  # not the package of this folder
    before = os.times()
    result = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
    after = os.times()
    if result.returncode:
        sys.exit(result.stderr)
    seconds = after.children_user + after.children_system
    return seconds - before.children_user - before.children_system, result.stdout.splitlines()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--package", type=Path, default=Path(__file__).parents[1])
    parser.add_argument("--kernels", action="store_true")
    options = parser.parse_args()
    total, n_total = 0.0, 0
    print(f"{'first call':<34}{'CPU s':>8}{'kernels':>9}")
    with tempfile.TemporaryDirectory() as cache:
        own = {"PYTHONPATH": str(options.package.absolute()), "NUMBA_CACHE_DIR": cache}
        for name, code in CALLS.items():
            first, compiled = call(code, os.environ | own)
            again, none = call(code, os.environ | own)
            assert not none, none
            print(f"{name:<34}{first - again:>8.1f}{len(compiled):>9}", flush=True)
            total, n_total = total + first - again, n_total + len(compiled)
            if options.kernels:
                print(*(f"    {line}" for line in compiled if line.endswith(" 0")), sep="\n")
        sizes = [path.stat().st_size for path in Path(cache).rglob("*.nbc")]
    print(f"{'all':<34}{total:>8.1f}{n_total:>9}")

    print(f"{len(sizes)} files, {sum(sizes) / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
