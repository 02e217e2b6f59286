"""Programs in processes of their own, and what workers do: to import this takes no time."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import sklearn_shag


def run(program, source=Path(sklearn_shag.__file__).parents[1], text="", **variables):
    """Run a program with kernels compiled, and with these variables; give what it printed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    result = subprocess.run(
        [sys.executable, "-c", program],
        cwd=source,  # comes before any installed package
        env=kept | {name: str(value) for name, value in variables.items()},
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result


def annotate_files(folder):
    """The command annotate, of a file in a folder."""
    paths = str(folder / "in.conllu"), "-o", str(folder / "out.conllu")
    return ["annotate", "english", *paths, "--no-browser"]


def shout(text):
    """What workers do in the tests."""
    if text == "end":
        os.kill(os.getpid(), signal.SIGKILL)
    if text == "fail":
        raise MemoryError("too much")
    time.sleep(0.01 * (text == "a"))
    return Slow() if text == "slow" else text.upper()


ARRIVED = threading.Event()


class Slow:
    """A result that its parent takes half a second to read."""

    def __reduce__(self):
        return _arrive, ()


def _arrive():
    ARRIVED.set()
    time.sleep(0.5)
