"""What a command takes beyond the import of the libraries that it stands on.

Usage: python benchmarks/command_line.py [FOLDER] [TREEBANK] [--output RESULTS.json]

FOLDER holds the treebanks (default: the environment variable SKLEARN_SHAG_DATA), TREEBANK is one of
them (default: UD_English-EWT). Commands are processes of their own, as users start them, with
kernels in their cache; what counts is CPU time, user and system, of all threads. They take turns,
and of each the fastest of many runs is given. The model is a spectral one of tags.
"""

import resource
import subprocess
import sys
import tempfile

from _measure import Report, measured, read_arguments

ROUNDS = 12
REFERENCE = "import sklearn, numba"


def fastest(commands, rounds):
    """CPU seconds of every command of a dict, which take turns. First runs compile."""
    seconds = {name: [] for name in commands}
    for _ in range(1 + rounds):
        for name, command in commands.items():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            seconds[name].append(used)
    return {name: min(times[1:]) for name, times in seconds.items()}


def list_commands(arguments, folder):
    """The commands, and the imports with which they are compared."""
    python = [sys.executable, "-c"]
    command = [sys.executable, "-m", "sklearn_shag"]
    model, parsed = f"{folder}/model.npz", f"{folder}/parsed.conllu"
    train, test = arguments.train_file, next(arguments.treebank.folder.glob("*-ud-test.conllu"))
    return {
        REFERENCE: [*python, REFERENCE],
        "the same, with sklearn.pipeline": [*python, f"{REFERENCE}, sklearn.pipeline"],
        "from sklearn_shag import *": [*python, "from sklearn_shag import *"],
        "train --model spectral": [*command, "train", train, "--model", "spectral", "-o", model],
        "parse, the test set": [*command, "parse", model, test, "-o", parsed],
        "evaluate, the same": [*command, "evaluate", test, parsed],
        "demo": [*command, "demo"],
        "demo --help": [*command, "demo", "--help"],
    }


def main():
    arguments = read_arguments(__doc__)
    report = Report("command_line", arguments.output)
    with tempfile.TemporaryDirectory() as folder:
        seconds = fastest(list_commands(arguments, folder), ROUNDS)
    reference = seconds[REFERENCE]
    report.add(
        "commands",
        [
            {"what": name, "CPU seconds": value, "times the import": value / reference}
            for name, value in seconds.items()
        ],
    )
    ratio = seconds["parse, the test set"] / reference
    report.add("summary", [measured("times the import alone: parse", ratio, at_most=1.3)])


if __name__ == "__main__":
    main()
