"""What the command train takes as its treebank grows: seconds and memory of each model.

    python benchmarks/training_cost.py [FOLDER [TREEBANK]] [--output RESULTS.json]

The training set is repeated 1, 2, 4 and 8 times in one file. Models that go over their sentences
do so once. Seconds are CPU seconds of the whole command, memory the largest of its process (Linux
only). The slope is that of the straight line through the first and the last: seconds for each
further repetition, bytes for each further token. "4 x over line" says how far what is between
them lies from it: 1 is linear, 0.6 were quadratic.
"""

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
            for rows, name, unit, measured in zip(
                (seconds, memory),
                ("slope, s", "slope, bytes a token"),
                (1, 2**20 / n_tokens),
                zip(*costs, strict=True),
                strict=True,
            ):
                slope = (measured[3] - measured[0]) / (TIMES[3] - TIMES[0])
                line = measured[0] + slope * (TIMES[2] - TIMES[0])
                columns = {f"{n} x": cost for n, cost in zip(TIMES, measured, strict=True)}
                ends = {name: slope * unit, "4 x over line": measured[2] / line}
                rows.append({"model": model} | columns | ends)
            report.add("seconds", seconds)
            report.add("MiB", memory)


if __name__ == "__main__":
    main()
