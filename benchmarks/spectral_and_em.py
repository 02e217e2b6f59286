"""The paper's comparison on open treebanks: DET, DET+F, SPECTRAL and EM.

Usage: python benchmarks/spectral_and_em.py [FOLDER]

FOLDER holds the treebanks (default: the environment variable SKLEARN_SHAG_DATA). Printed are, for
each treebank: attachment scores on the development set by number of states (the paper's Figure 1),
the test scores of the models that the development set prefers, with ten restarts of EM and their
spread (Table 1), training times, and what the moments start of EM saves. Symbols are UPOS tags,
punctuation is scored.
"""

import itertools
import sys
import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sklearn_shag import EMSHAG, DeterministicSHAG, SpectralSHAG
from sklearn_shag.datasets import fetch_treebank
from sklearn_shag.learning import fallback_grammar

TREEBANKS = (
    "UD_Afrikaans-AfriBooms",
    "UD_English-EWT",
    "UD_French-Sequoia",
    "UD_Tamil-TTB",
    "UD_Turkish-IMST",
)
STATES = range(1, 17)
GRID = {"smoothing": (1, 5, 20), "shrinkage": (10, 30, 100), "context": (0.25, 0.5, 1.0)}
ITERATIONS = (5, 10, 25, 100)
RESTARTS = 10


def timed_fit(model, trees):
    started = time.perf_counter()
    model.fit(trees)
    return time.perf_counter() - started


def em(n_states, max_iter, seed, init="random"):
    return EMSHAG(n_states, init=init, max_iter=max_iter, tol=0, random_state=seed)


def percent(model, trees):
    return 100 * model.score(trees)


def curves(treebank):
    """Scores on the development set by model and number of states, and all fitted models."""
    scores, seconds = {}, {}
    for n in STATES:
        model = SpectralSHAG(n)
        seconds["SPECTRAL", n] = timed_fit(model, treebank.train)
        scores["SPECTRAL", n] = percent(model, treebank.dev)
        for iterations in ITERATIONS:
            model = em(n, iterations, seed=0)
            seconds[f"EM ({iterations})", n] = timed_fit(model, treebank.train)
            scores[f"EM ({iterations})", n] = percent(model, treebank.dev)
    return scores, seconds


def print_curves(scores, seconds):
    labels = ["SPECTRAL", *(f"EM ({iterations})" for iterations in ITERATIONS)]
    print(f"{'states':<12}" + "".join(f"{n:>6}" for n in STATES))
    for label in labels:
        print(f"{label:<12}" + "".join(f"{scores[label, n]:>6.1f}" for n in STATES))
    for label in labels:
        times = [seconds[label, n] for n in STATES]
        print(f"{label:<12} training {min(times):.2f} to {max(times):.2f} s")


def best(scores, prefix):
    return max((key for key in scores if key[0].startswith(prefix)), key=scores.get)


def tune_spectral(treebank):
    """The model of a grid that the development set likes best; one SVD serves all ranks."""
    statistics = SpectralSHAG().fit(treebank.train).statistics_
    fallback = fallback_grammar(statistics.statistics)
    models = []
    for smoothing, shrinkage, context in itertools.product(*GRID.values()):
        params = {"smoothing": smoothing, "shrinkage": shrinkage, "context": context}
        automata = SpectralSHAG(max(STATES), **params)._decompose(statistics)
        for n_states in STATES[3::2]:
            model = SpectralSHAG(n_states, **params)
            model._become_fitted(statistics, model._cut(automata, statistics), fallback)
            models.append(model)
    return max(models, key=lambda model: model.score(treebank.dev))


def print_table(treebank, scores):
    print(f"{'model':<62}{'dev':>8}{'test':>8}")

    def row(label, model):
        print(
            f"{label:<62}{percent(model, treebank.dev):>8.2f}{percent(model, treebank.test):>8.2f}"
        )

    row("DET", DeterministicSHAG("single").fit(treebank.train))
    row("DET+F", DeterministicSHAG("first").fit(treebank.train))
    _, n = best(scores, "SPECTRAL")
    row(f"SPECTRAL, {n} states", SpectralSHAG(n).fit(treebank.train))
    tuned = tune_spectral(treebank)
    row(
        f"SPECTRAL, {tuned.n_states} states, smoothing {tuned.smoothing}, "
        f"shrinkage {tuned.shrinkage}, context {tuned.context}",
        tuned,
    )
    label, n = best(scores, "EM")
    iterations = int(label[4:-1])
    runs = [em(n, iterations, seed).fit(treebank.train) for seed in range(RESTARTS)]
    chosen = max(runs, key=lambda run: run.log_likelihoods_[-1])
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


def main(data_home=None):
    warnings.simplefilter("ignore", ConvergenceWarning)  # iterations are cut on purpose
    treebanks = {
        name: fetch_treebank(name, data_home=data_home, download_if_missing=False)
        for name in TREEBANKS
    }
    for name, treebank in treebanks.items():
        print(f"\n{name}: {len(treebank.train)} sentences")
        scores, seconds = curves(treebank)
        print_curves(scores, seconds)
        print_table(treebank, scores)
        sys.stdout.flush()
    print_starts(treebanks)


if __name__ == "__main__":
    main(*sys.argv[1:])
