"""The paper's comparison on open treebanks: DET, DET+F, SPECTRAL and EM.

Usage: python benchmarks/spectral_and_em.py [FOLDER...] [--states N] [--figure FILE]

Each FOLDER is a treebank, with a training, a development and a test set (default: five of those in
SKLEARN_SHAG_DATA). Printed are, for each treebank: attachment scores on the development set by
number of states (the paper's Figure 1, drawn to a file with --figure), SPECTRAL as it was published
beside that of today's defaults, the test scores of the models that the development set prefers,
with ten restarts of EM and their spread (Table 1), training times, and what the moments start of EM
saves. Symbols are UPOS tags, punctuation is scored.
"""

import argparse
import itertools
import os
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sklearn_shag import EMSHAG, DeterministicSHAG, SpectralSHAG
from sklearn_shag.datasets import fetch_treebank
from sklearn_shag.sequences import count_treebank

TREEBANKS = (
    "UD_Afrikaans-AfriBooms",
    "UD_English-EWT",
    "UD_French-Sequoia",
    "UD_Tamil-TTB",
    "UD_Turkish-IMST",
)
GRID = {"smoothing": (1, 5, 20), "shrinkage": (10, 30, 100), "context": (0.25, 0.5, 1.0)}
ITERATIONS = (5, 10, 25, 100)
RESTARTS = 10
PUBLISHED = "published"


def timed_fit(model, trees):
    started = time.perf_counter()
    model.fit(trees)
    return time.perf_counter() - started


def em(n_states, max_iter, seed, init="random"):
    return EMSHAG(n_states, init=init, max_iter=max_iter, tol=0, random_state=seed)


def percent(model, trees):
    return 100 * model.score(trees)


def curves(treebank, n_states):
    """Scores on the development set by model and number of states, and seconds of training."""
    scores, seconds = {}, {}
    for n in n_states:
        models = {"SPECTRAL": SpectralSHAG(n), PUBLISHED: SpectralSHAG.published(n)}
        models |= {f"EM ({iterations})": em(n, iterations, seed=0) for iterations in ITERATIONS}
        for label, model in models.items():
            seconds[label, n] = timed_fit(model, treebank.train)
            scores[label, n] = percent(model, treebank.dev)
    return scores, seconds


def print_curves(scores, seconds):
    labels, n_states = dict.fromkeys(key[0] for key in scores), sorted({n for _, n in scores})
    print(f"{'states':<12}" + "".join(f"{n:>6}" for n in n_states))
    for label in labels:
        print(f"{label:<12}" + "".join(f"{scores[label, n]:>6.1f}" for n in n_states))
    for label in labels:
        times = [seconds[label, n] for n in n_states]
        print(f"{label:<12} training {min(times):.2f} to {max(times):.2f} s")


def draw_curves(scores_of, path):
    """Draw Figure 1, with a panel for each treebank."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(
        1, len(scores_of), figsize=(4 * len(scores_of), 4), squeeze=False, layout="constrained"
    )
    for ax, (name, scores) in zip(panels[0], scores_of.items(), strict=True):
        for label in dict.fromkeys(key[0] for key in scores):
            points = sorted((n, value) for (of, n), value in scores.items() if of == label)
            ax.plot(*zip(*points, strict=True), label=label, linewidth=1)
        ax.set(title=name, xlabel="states", ylabel="UAS of the development set")
    panels[0][0].legend()
    figure.savefig(path)


def best(scores, prefix):
    return max((key for key in scores if key[0].startswith(prefix)), key=scores.get)


def tune_spectral(treebank, n_states):
    """The model of a grid that the development set likes best; trees are counted once."""
    statistics = count_treebank(treebank.train)
    models = []
    for smoothing, shrinkage, context in itertools.product(*GRID.values()):
        params = {"smoothing": smoothing, "shrinkage": shrinkage, "context": context}
        for n in n_states[3::2] or n_states[-1:]:
            models.append(SpectralSHAG(n, **params).fit_statistics(statistics))
    return max(models, key=lambda model: model.score(treebank.dev))


def print_table(treebank, scores):
    print(f"{'model':<62}{'dev':>8}{'test':>8}")

    def row(label, model):
        print(
            f"{label:<62}{percent(model, treebank.dev):>8.2f}{percent(model, treebank.test):>8.2f}"
        )

    row("DET", DeterministicSHAG("single").fit(treebank.train))
    row("DET+F", DeterministicSHAG("first").fit(treebank.train))
    for label, make in ((PUBLISHED, SpectralSHAG.published), ("SPECTRAL", SpectralSHAG)):
        _, n = best(scores, label)
        row(f"{label}, {n} states", make(n).fit(treebank.train))
    tuned = tune_spectral(treebank, sorted({n for _, n in scores}))
    row(
        f"SPECTRAL, {tuned.n_states} states, smoothing {tuned.smoothing}, "
        f"shrinkage {tuned.shrinkage}, context {tuned.context}",
        tuned,
    )
    label, n = best(scores, "EM")
    iterations = int(label[4:-1])
    runs = [em(n, iterations, seed).fit(treebank.train) for seed in range(RESTARTS)]
    chosen = min(runs, key=lambda run: run.loss_curve_[-1])
    row(f"EM, {n} states, {iterations} iterations, likeliest of {RESTARTS}", chosen)
    for split in ("dev", "test"):
        values = [percent(run, treebank[split]) for run in runs]
        print(
            f"    {RESTARTS} restarts on {split}: mean {np.mean(values):.2f}, standard deviation "
            f"{np.std(values):.2f}, {min(values):.2f} to {max(values):.2f}"
        )


def print_starts(treebanks, n_states=8, n_seeds=5):
    """Development scores of few iterations from moments and of more from random starts."""
    print(f"\nstarts of EM, {n_states} states, development sets; random: mean of {n_seeds} seeds")
    columns = [("moments", 0), ("moments", 5), ("random", 5), ("random", 20), ("random", 100)]
    print(f"{'':<26}" + "".join(f"{f'{init} {k}':>12}" for init, k in columns))
    rows = []
    for name, treebank in treebanks.items():
        values = []
        for init, iterations in columns:
            seeds = range(n_seeds if init == "random" else 1)
            runs = [em(n_states, iterations, seed, init).fit(treebank.train) for seed in seeds]
            values.append(np.mean([percent(run, treebank.dev) for run in runs]))
        rows.append(values)
        print(f"{name:<26}" + "".join(f"{value:>12.2f}" for value in values), flush=True)
    print(f"{'mean':<26}" + "".join(f"{value:>12.2f}" for value in np.mean(rows, axis=0)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    home = Path(os.environ.get("SKLEARN_SHAG_DATA", "."))
    folders = [home / name for name in TREEBANKS]
    parser.add_argument("folders", nargs="*", type=Path, default=folders, metavar="FOLDER")
    parser.add_argument("--states", type=int, default=16, metavar="N", help="the most")
    parser.add_argument("--figure", metavar="FILE", help="an image, such as figure.svg")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)  # iterations are cut on purpose
    treebanks = {
        folder.name: fetch_treebank(
            folder.name, data_home=folder.resolve().parent, download_if_missing=False
        )
        for folder in arguments.folders
    }
    scores_of = {}
    for name, treebank in treebanks.items():
        print(f"\n{name}: {len(treebank.train)} sentences")
        scores_of[name], seconds = curves(treebank, range(1, arguments.states + 1))
        print_curves(scores_of[name], seconds)
        print_table(treebank, scores_of[name])
        if arguments.figure:
            draw_curves(scores_of, arguments.figure)
    print_starts(treebanks)


if __name__ == "__main__":
    main()
