"""Replay mistakes of new users, in Python and on the command line, and judge what they see.

Usage: python benchmarks/first_minutes.py [--only WORDS] [--failures]

Prints for each mistake the line that was typed, what the user sees, and whether that is enough:
an error or a warning that says what is wrong, where, and what to do; never a silent wrong result,
a bare errno, an error from the inside of another library, or NaN. Exits with 1, after a list of
those that fail. Needs no treebank, no network, and of the extras only "service"; takes less than a
minute once the kernels are compiled.

The mistakes are in the folder _mistakes, one module for each occasion.
"""

import argparse
import os
import re
import socket
import sys
import tempfile
import textwrap
import time
import warnings
from contextlib import chdir, contextmanager
from pathlib import Path
from unittest import mock

from _mistakes import (
    annotation,
    charts,
    combinations,
    command_line,
    command_line_files,
    files,
    induction,
    labels,
    models,
    networks,
    parameters,
    scores,
    sentences,
    symbols,
    tools,
    trees,
    words,
)
from _mistakes._folder import Folder, fill
from _mistakes._names import make_names
from _mistakes._replay import replay

GROUPS = {
    "Sentences": sentences.MISTAKES,
    "Heads and trees": trees.MISTAKES,
    "Symbols that a model does not know": symbols.MISTAKES,
    "Grammars of words": words.MISTAKES,
    "Networks": networks.MISTAKES,
    "Parameters": parameters.MISTAKES,
    "Treebank files": files.MISTAKES,
    "Scores, weights, datasets": scores.MISTAKES,
    "scikit-learn's tools": tools.MISTAKES,
    "Words, and several parsers as one": combinations.MISTAKES,
    "Models and their files": models.MISTAKES,
    "Relations of arcs": labels.MISTAKES,
    "Annotation and calibration": annotation.MISTAKES,
    "Raw text": induction.MISTAKES,
    "Charts and known heads": charts.MISTAKES,
    "Command line: options": command_line.MISTAKES,
    "Command line: files": command_line_files.MISTAKES,
}
LONGEST = 600  # characters of what is seen that are printed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="WORDS", help="lines that hold these words")
    parser.add_argument("--failures", action="store_true", help="print those that fail only")
    arguments = parser.parse_args()
    started = time.perf_counter()
    groups = {
        title: [mistake for mistake in mistakes if arguments.only in mistake.line]
        for title, mistakes in GROUPS.items()
    }
    if not any(groups.values()):
        parser.error(f"no mistake has the words {arguments.only!r} in its line")
    failures, n_mistakes = [], 0
    with _desk() as (names, folder):
        for title, mistakes in groups.items():
            if mistakes:
                print(f"\n{title}\n{'=' * len(title)}")
            for mistake in mistakes:
                n_mistakes += 1
                seen, complaints = None, []
                if not mistake.is_skipped:
                    seen, complaints = replay(mistake, names, folder)
                report = _report(n_mistakes, mistake, seen, complaints)
                if complaints:
                    failures.append(report)
                if complaints or not arguments.failures:
                    print(report, flush=True)
    seconds = time.perf_counter() - started
    if failures and not arguments.failures:
        title = f"{len(failures)} FAIL"
        print(f"\n{title}\n{'=' * len(title)}")
        print("\n".join(failures))
    print(f"\n{n_mistakes} mistakes, {len(failures)} fail, {seconds:.0f} s")
    return 1 if failures else 0


@contextmanager
def _desk():
    """A new user's desk: a working directory with files, a home, imports, and no network."""
    no_network = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    with tempfile.TemporaryDirectory() as path, chdir(path):
        names = make_names()
        fill(Path(path), names["all_trees"])
        environment = {
            name: value
            for name, value in os.environ.items()
            if name != "SKLEARN_SHAG_DATA" and not name.lower().endswith("_proxy")
        }
        environment["HOME"] = str(Path(path, "home"))
        with (
            mock.patch.dict(os.environ, environment, clear=True),
            mock.patch("socket.getaddrinfo", side_effect=no_network),
            warnings.catch_warnings(),
        ):
            yield names, Folder(path)


def _report(number, mistake, seen, complaints):
    prompt = "$ python -m sklearn_shag " if mistake.is_command else ">>> "
    lines = [f">>> {mistake.before}"] if mistake.before else []
    lines.append(f"{prompt}{mistake.line}{' < ' if mistake.stdin else ''}{mistake.stdin}")
    if mistake.is_skipped:
        lines.append("-> skipped: root may read and write everything")
    else:
        text = re.sub(r"\n\s*\n", "\n", str(seen))
        lines.append(text if len(text) < LONGEST else f"{text[:LONGEST]} ...")
        lines.append(f"-> {'FAIL: ' + '; '.join(complaints) if complaints else 'ok'}")
    return f"\n{number:3} {textwrap.indent(chr(10).join(lines), 4 * ' ').lstrip()}"


if __name__ == "__main__":
    sys.exit(main())
