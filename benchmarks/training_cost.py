"""What the command train takes as its treebank grows: seconds and memory of each model.

    python benchmarks/training_cost.py [FOLDER [TREEBANK]] [--output RESULTS.json]

The training set is repeated 1, 2, 4 and 8 times in one file. Models that go over their sentences
do so once. Seconds are CPU seconds of the whole command, memory the largest of its process (Linux
only), and "exponent" is that of growth: the logarithm, to base 2, of how much more the last
doubling added than the one before it; 1 is linear.
"""

import math
import tempfile
from pathlib import Path

from _measure import Report, read_arguments, run_command

TIMES = (1, 2, 4, 8)
MODELS = {
    "spectral": (),
    "em": (),
    "single": (),
    "first": (),
    "sibling": (),
    "words": (),
    "crf": ("max_iter=1",),
    "biaffine": ("max_iter=1",),
}


def main():
    arguments = read_arguments(__doc__)
    text = arguments.train_file.read_bytes()
    n_tokens = sum(map(len, arguments.treebank.train))
    report = Report("training_cost", arguments.output)
    seconds, memory = [], []
    with tempfile.TemporaryDirectory() as folder:
        for model, settings in MODELS.items():
            options = [part for setting in settings for part in ("--set", setting)]
            costs = []
            for times in TIMES:
                source = Path(folder) / f"{times}.conllu"
                if not source.exists():
                    source.write_bytes(text * times)
                target = Path(folder) / "model.npz"
                command = "train", source, "-o", target, "--model", model, *options
                costs.append(run_command(*command)[1:])
            of_cpu, of_memory = zip(*costs, strict=True)
            growth = math.log2((of_cpu[3] - of_cpu[2]) / (of_cpu[2] - of_cpu[1]))
            a_token = (of_memory[3] - of_memory[0]) * 2**20 / ((TIMES[3] - TIMES[0]) * n_tokens)
            names = [f"{times} x" for times in TIMES]
            row = {"model": model, **dict(zip(names, of_cpu, strict=True)), "exponent": growth}
            seconds.append(row)
            row = {"model": model, **dict(zip(names, of_memory, strict=True))}
            memory.append({**row, "bytes a token": a_token})
            report.add("seconds", seconds)
            report.add("MiB", memory)


if __name__ == "__main__":
    main()
