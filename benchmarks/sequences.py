"""Automata of sequences: made problems, tags and letters, time, memory; peers where installed.

    python benchmarks/sequences.py [--seed 0] [--treebanks FOLDER]

Made problems are scored as in the PAutomaC competition: by the perplexity of whole sequences of a
test set against their true probabilities, both scaled to sum to 1 there; printed is how far it is
above the optimum, in percent. The number of states is chosen on the last tenth of training, that of
EM by the automaton alone.
"""

import argparse
import resource
import time
import warnings
from collections import defaultdict
from functools import partial
from pathlib import Path

import numpy as np

from sklearn_shag import EMAutomaton, SpectralAutomaton
from sklearn_shag.datasets import make_sequences
from sklearn_shag.treebank import read_conllu

# Kind, states, symbols, expected length.
PROBLEMS = [
    ("hmm", 6, 4, 9),
    ("hmm", 20, 10, 15),
    ("hmm", 40, 20, 20),
    ("hmm", 70, 12, 20),
    ("deterministic", 10, 6, 10),
    ("deterministic", 25, 10, 15),
    ("deterministic", 40, 5, 20),
    ("deterministic", 60, 20, 15),
    ("nondeterministic", 8, 4, 8),
    ("nondeterministic", 20, 12, 15),
    ("nondeterministic", 40, 8, 20),
    ("nondeterministic", 70, 24, 20),
]
N_TRAIN, N_TEST, ORDERS = 20_000, 1000, (1, 2, 3, 4, 5)


def em(n_states, mixing=0.0):
    return EMAutomaton(n_states, tol=1e-3, mixing=mixing, random_state=0)


# How to make each with a number of states, which of these are tried, and how the best is made.
LEARNERS = {
    "spectral": (SpectralAutomaton, (4, 8, 16, 32, 64), SpectralAutomaton),
    "EM": (em, (8, 16, 32, 64), partial(em, mixing=None)),
}


class NGrams:
    """Interpolated as by Witten and Bell (1991), with padding: a peer that shares no code."""

    def __init__(self, order):
        self.order = order

    def fit(self, sequences):
        symbols = {symbol for sequence in sequences for symbol in sequence}
        self.n_outcomes = len(symbols) + 1
        self.counts = defaultdict(lambda: defaultdict(int))
        for history, symbol in self._events(sequences):
            for k in range(self.order):
                self.counts[history[len(history) - k :]][symbol] += 1
        self.totals = {h: (sum(c.values()), len(c)) for h, c in self.counts.items()}
        return self

    def _events(self, sequences):
        for sequence in sequences:
            padded = ("<",) * (self.order - 1) + tuple(sequence) + (">",)
            for t in range(self.order - 1, len(padded)):
                yield padded[t - self.order + 1 : t], padded[t]

    def score_samples(self, sequences):
        return np.array([self._score(sequence) for sequence in sequences])

    def _score(self, sequence):
        total = 0.0
        for history, symbol in self._events([sequence]):
            probability = 1.0 / self.n_outcomes
            for k in range(self.order):
                known = self.totals.get(history[len(history) - k :])
                if known is None:
                    break
                count = self.counts[history[len(history) - k :]].get(symbol, 0)
                probability = (count + known[1] * probability) / sum(known)
            total += np.log(probability)
        return total


def perplexity(true_logs, logs):
    true_logs = true_logs - np.logaddexp.reduce(true_logs)
    return np.exp(-np.exp(true_logs) @ (logs - np.logaddexp.reduce(logs)))


def choose(make, numbers, make_best, train):
    """Fit the number of states that is best on the last tenth, and time it."""
    n_seen = len(train) * 9 // 10
    scores = {n: make(n).fit(train[:n_seen]).score(train[n_seen:]) for n in numbers}
    n_states, start = max(scores, key=scores.get), time.process_time()
    return make_best(n_states).fit(train), n_states, time.process_time() - start


def run_problems(seed):
    excesses = defaultdict(list)
    print(f"{'problem':28}{'best n-gram':>12}" + "".join(f"{name:>24}" for name in LEARNERS))
    for k, (kind, n_states, n_symbols, mean_length) in enumerate(PROBLEMS):
        X, truth = make_sequences(
            N_TRAIN + 3 * N_TEST,
            n_states,
            n_symbols=n_symbols,
            kind=kind,
            density=0.4,
            mean_length=mean_length,
            random_state=1000 * seed + k,
            return_operators=True,
        )
        train = X[:N_TRAIN]
        test = [list(x) for x in dict.fromkeys(map(tuple, X[N_TRAIN:]))][:N_TEST]
        true_logs = EMAutomaton.from_operators(truth).score_samples(test)
        best = perplexity(true_logs, true_logs)

        def excess(model, test=test, true_logs=true_logs, best=best):
            return 100 * (perplexity(true_logs, model.score_samples(test)) / best - 1)

        excesses["n-gram"].append(min(excess(NGrams(order).fit(train)) for order in ORDERS))
        line = f"{f'{kind} {n_states} x {n_symbols}':28}{excesses['n-gram'][-1]:12.2f}"
        for name, how in LEARNERS.items():
            model, n_chosen, seconds = choose(*how, train)
            excesses[name].append(excess(model))
            line += f"{excesses[name][-1]:10.2f} ({n_chosen:2d}, {seconds:5.1f} s)"
        print(line, flush=True)
    for name, values in excesses.items():
        print(f"{name}: mean excess {np.mean(values):.2f} %")


LEARN_TEXT = SpectralAutomaton, em, partial(em, mixing=None)


def run_treebanks(folder):
    for path in sorted(Path(folder).glob("UD_*")):
        parts = [read_conllu(next(path.glob(f"*-{part}.conllu"))) for part in ("train", "dev")]
        run_text(f"{path.name}, UPOS", *([list(tree.symbols) for tree in part] for part in parts))
        words = [[list(form) for tree in part for form in tree.forms] for part in parts]
        run_text(f"{path.name}, letters of words", words[0][:N_TRAIN], words[1][:N_TRAIN])


def run_text(name, train, dev):
    n_outcomes = sum(map(len, dev)) + len(dev)
    found = [
        np.exp(-NGrams(order).fit(train).score_samples(dev).sum() / n_outcomes) for order in ORDERS
    ]
    learned = [[make(n).fit(train).perplexity(dev) for n in (16, 32)] for make in LEARN_TEXT]
    spectral, alone, mixed = np.round(learned, 2)
    print(
        f"{name} of dev, perplexity: n-grams of orders 1 to 5 {np.round(found, 2)}, spectral of 16 "
        f"and 32 states {spectral}, EM {alone}, with n-grams {mixed}",
        flush=True,
    )


def run_speed():
    X = make_sequences(20_000, 16, n_symbols=20, mean_length=20, random_state=0)
    n_symbols = sum(map(len, X))
    for model in (SpectralAutomaton(2), EMAutomaton(2, max_iter=1)):
        model.fit(X[:20])  # kernels are compiled

    def seconds(work):
        start = time.process_time()
        work()
        return time.process_time() - start

    matrix = np.random.default_rng(0).uniform(size=(2000, 2000))
    print(f"dgemm: {16 / seconds(lambda: matrix @ matrix):.0f} GFlop/s")
    spectral = seconds(lambda: SpectralAutomaton().fit(X))
    print(f"{n_symbols} symbols; spectral, 8 states: {spectral:.2f} s")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wide = seconds(lambda: SpectralAutomaton(max_context=5).fit(X))
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"max_context=5: {wide:.2f} s, peak {grown:.0f} MiB above what was there")
    model = SpectralAutomaton(16).fit(X)
    print(f"scored: {n_symbols / seconds(lambda: model.score_samples(X)):,.0f} symbols/s")
    prefix = [(X[0] * 20)[:20] or [0] * 20]
    times = [seconds(lambda: [model.predict_proba(prefix) for _ in range(200)]) for _ in range(5)]
    print(f"predict_proba of one prefix of 20 symbols: {min(times) * 5:.3f} ms")
    start = seconds(lambda: EMAutomaton(16, max_iter=0).fit(X))
    five = seconds(lambda: EMAutomaton(16, max_iter=5, tol=0).fit(X))
    iteration = (five - start) / 5
    print(f"EM, 16 states: start {start:.2f} s, {iteration:.3f} s an iteration")
    try:
        from hmmlearn.hmm import CategoricalHMM
    except ImportError:
        print("hmmlearn is not installed")
        return
    some = [sequence for sequence in X[:2000] if sequence]
    flat, lengths = np.concatenate(some)[:, None], [len(sequence) for sequence in some]
    peer = CategoricalHMM(16, n_iter=2, tol=-np.inf, random_state=0)
    of_peer = seconds(lambda: peer.fit(flat, lengths)) / 2 * n_symbols / len(flat)
    print(f"hmmlearn: {of_peer:.2f} s an iteration, {of_peer / iteration:.0f} times as long")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--treebanks", help="a folder with treebanks of Universal Dependencies")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    run_speed()
    if arguments.treebanks:
        run_treebanks(arguments.treebanks)
    run_problems(arguments.seed)


if __name__ == "__main__":
    main()
