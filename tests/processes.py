"""Programs and functions in processes of their own, and what workers do."""

import copy
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

import sklearn_shag
from sklearn_shag.cli import _annotate, _parse, main
from sklearn_shag.datasets import load_parser
from sklearn_shag.service import open_served
from sklearn_shag.treebank import _pieces

# Where it is safe to fork, processes are copies of one that has imported all there is.
METHOD = "forkserver" if sys.platform == "linux" else "spawn"


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


@contextmanager
def starting():
    """Give what starts functions in processes of their own, which end with the block.

    What a function returns is the exit status. What it prints and complains of can be read.
    """
    context = multiprocessing.get_context(METHOD)
    with ExitStack() as stack:

        def start(function, *arguments):
            reader, writer = context.Pipe(duplex=False)
            process = context.Process(target=_run, args=(writer, function, arguments))
            process.start()
            writer.close()  # so that reading ends with the process
            stack.callback(process.join)
            stack.callback(process.kill)
            process.output = stack.enter_context(os.fdopen(os.dup(reader.fileno())))
            return process

        yield start


def _run(output, function, arguments):
    for number in (1, 2):
        os.dup2(output.fileno(), number)
    sys.stdout = sys.stderr = os.fdopen(os.dup(1), "w", buffering=1)
    sys.exit(function(*arguments))


@cache
def open_bundled():
    """Open the bundled parser for annotators, once in a process and all copies of it."""
    model = load_parser()
    return model, open_served(model, _annotate._MAX_TOKENS)


def annotate_bundled(arguments):
    """Run the command annotate with the bundled parser."""
    model, served = open_bundled()
    _annotate.open_model = lambda *_, **__: model
    _annotate.open_served = lambda *_: served
    return main(arguments)


def copy_pipeline(pipeline):
    """Copy a pipeline for a command, which sets parameters and changes nothing else."""
    copied = copy.copy(pipeline)
    copied.steps = [(step, copy.copy(each)) for step, each in pipeline.steps]
    return copied


def annotate_files(folder):
    """The command annotate, of a file in a folder."""
    paths = str(folder / "in.conllu"), "-o", str(folder / "out.conllu")
    return ["annotate", "english", *paths, "--no-browser"]


def parse_small_pieces(*arguments):
    """Run the command parse in a session of its own, with small pieces."""
    os.setsid()
    _pieces._CHUNK = _parse.GROUP = 300
    return main(["parse", *arguments])


def run_gunicorn(*arguments):
    """Run the server gunicorn."""
    from gunicorn.app.wsgiapp import run

    sys.argv[1:] = arguments
    run()


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
