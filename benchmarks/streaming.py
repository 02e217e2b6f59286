"""Text of any size: time and memory of the command parse, and of evaluate, as the text grows.

    python benchmarks/streaming.py FOLDER [--times 6 60 600] [--workers 1 2]

FOLDER holds a treebank of Universal Dependencies. Its test set is repeated, and parsed by a grammar
of its tags. Printed are wall and CPU seconds of the whole command, the largest memory of all its
processes together (Linux only), and whether the output is that of one repetition, repeated.
"""

import argparse
import hashlib
import tempfile
from pathlib import Path

from _measure import run_command


def digest(path, times=1):
    """A digest of what is in a file, repeated."""
    found = hashlib.sha256()
    for _ in range(times):
        with open(path, "rb") as file:
            while data := file.read(1 << 20):
                found.update(data)
    return found.hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("treebank", type=Path)
    parser.add_argument("--times", type=int, nargs="+", default=[6, 60, 600])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    options = parser.parse_args()
    train, test = (next(options.treebank.glob(f"*-{part}.conllu")) for part in ("train", "test"))
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        model, source, once, parsed = (
            folder / name for name in ("model.npz", "in.conllu", "once.conllu", "out.conllu")
        )
        run_command("train", train, "-o", model)
        run_command("parse", model, test, "-o", once)
        text = test.read_bytes()
        n_sentences = text.count(b"\n1\t")
        print(f"{'sentences':>10}{'workers':>9}{'wall s':>9}{'CPU s':>9}{'MiB':>7}{'a second':>10}")
        for times in options.times:
            with source.open("wb") as file:
                for _ in range(times):
                    file.write(text)
            for n_workers in options.workers:
                wall, cpu, memory = run_command(
                    "parse", model, source, "-o", parsed, "--n-jobs", n_workers
                )
                same = "" if digest(parsed) == digest(once, times) else "  another output"
                print(
                    f"{n_sentences * times:>10,}{n_workers:>9}{wall:>9.1f}{cpu:>9.1f}{memory:>7.0f}"
                    f"{n_sentences * times / wall:>10,.0f}{same}",
                    flush=True,
                )
            wall, cpu, memory = run_command("evaluate", source, parsed)
            print(f"{'':>10}{'evaluate':>9}{wall:>9.1f}{cpu:>9.1f}{memory:>7.0f}", flush=True)


if __name__ == "__main__":
    main()
