"""Kernels compiled for other processors: do they say the same of the same models, and how fast.

Usage: python benchmarks/processors.py [--output RESULTS.json]

Models are learned and stored by one process, and loaded by one each for this processor, for this
one without AVX-512, and for the x86-64 processor that all have in common
(``NUMBA_CPU_NAME=generic``, with vectors of two doubles). Compared are the logarithms of the
probabilities of sentences under grammars, relatively, and the marginals of parsers that score arcs.
Seconds are CPU seconds of predicting the bundled treebank, the least of three rounds.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from _measure import Report, minima
from llvmlite import binding

from sklearn_shag import (
    EMSHAG,
    BiaffineParser,
    CRFParser,
    LexicalizedSHAG,
    RefinedSHAG,
    SpectralSHAG,
    load_model,
    save_model,
)
from sklearn_shag.datasets import load_english

MODELS = {
    "SpectralSHAG": SpectralSHAG(8),
    "EMSHAG": EMSHAG(8, max_iter=20, random_state=0),
    "RefinedSHAG": RefinedSHAG(max_iter=20, random_state=0),
    "LexicalizedSHAG": LexicalizedSHAG(),
    "CRFParser": CRFParser(max_iter=5, random_state=0),
    "BiaffineParser": BiaffineParser(tags="upos", max_iter=5, random_state=0),
}
GRAMMARS = "SpectralSHAG", "EMSHAG", "RefinedSHAG", "LexicalizedSHAG"


def list_processors():
    """Environments that tell numba which processor to compile for."""
    features = binding.get_host_cpu_features()
    without = {name: on and not name.startswith("avx512") for name, on in features.items()}
    listed = ",".join(f"{'+' if on else '-'}{name}" for name, on in without.items())
    return {
        "this one": {},
        "without AVX-512": {"NUMBA_CPU_FEATURES": listed},
        "generic x86-64": {"NUMBA_CPU_NAME": "generic"},
    }


def say(folder):
    """Load all models of a folder; save what they say of trees, and how long they take."""
    trees, said, models = load_english().data, {}, {}
    for name in MODELS:
        models[name] = load_model(folder / f"{name}.npz")
        if name in GRAMMARS:
            said[name] = models[name].log_likelihood(trees)
        else:
            marginals = models[name].predict_marginals(trees)
            said[name] = np.concatenate([part.ravel() for part in marginals])
    calls = {name: lambda model=model: model.predict(trees) for name, model in models.items()}
    seconds = {f"{name} seconds": value for name, value in minima(calls, rounds=3).items()}
    np.savez(folder / "said.npz", **said, **seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", help="default: in the folder results beside the script")
    parser.add_argument("--say", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # so few iterations
    if arguments.say:
        say(arguments.say)
        return
    report, found = Report("processors", arguments.output), {}
    with tempfile.TemporaryDirectory() as folder:
        for name, model in MODELS.items():
            save_model(model.fit(load_english().data), Path(folder, f"{name}.npz"))
        for processor, environment in list_processors().items():
            command = [sys.executable, __file__, "--say", folder]
            subprocess.run(command, env=os.environ | environment, check=True)
            found[processor] = dict(np.load(Path(folder, "said.npz")))
    expected, rows = found["this one"], []
    for name in MODELS:
        row = {"model": name, "what": "log likelihood" if name in GRAMMARS else "marginals"}
        for processor, said in found.items():
            same = said[name] == expected[name]  # with infinities
            difference = np.abs(np.where(same, 0, said[name] - expected[name]))
            if name in GRAMMARS:
                difference /= np.abs(expected[name])
            if processor != "this one":
                row[f"difference, {processor}"] = f"{difference.max():.0e}"
        for processor, said in found.items():
            row[f"s, {processor}"] = float(said[f"{name} seconds"])
        rows.append(row)
    report.add("processors", rows)


if __name__ == "__main__":
    main()
