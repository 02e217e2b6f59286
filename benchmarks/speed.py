"""Where the time goes, from file to trees, and what a first call costs.

Usage: python benchmarks/speed.py [FOLDER] [TREEBANK] [--output RESULTS.json]

FOLDER holds the treebanks (default: the environment variable SKLEARN_SHAG_DATA), TREEBANK is one
of them (default: UD_English-EWT). Learns from the training set, parses the test set, both in
memory. Stages are the functions that `fit` and `predict` call, each timed by itself on what the
stage before it returned, in turns with the whole; "the rest" is what the sum of them leaves.

How much of `predict` is spent in chunks of sentences is measured within the same calls, by a
stopwatch around them, which no other load on the machine can turn into more than the whole. How
much of that is the chart, that is inside, outside and marginals with handing out sentences and
taking back results, but without the search for the best tree, is the ratio of two times on one
thread: a forest that is asked for marginals, and for the best trees.
First calls are measured in processes of their own, with a kernel cache of their own, which the
first of them finds empty.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from functools import partial
from itertools import chain
from unittest import mock

from _measure import Report, measured, medians, read_arguments
from sklearn.exceptions import ConvergenceWarning

from sklearn_shag import EMSHAG, DeterministicSHAG, SpectralSHAG, _parser
from sklearn_shag.encoding import Batch, check_heads, check_sentences, encode_sentences
from sklearn_shag.parsing import ask, list_best, list_corrected
from sklearn_shag.sequences import collect_statistics, count_treebank, extract_sequences
from sklearn_shag.treebank import read_conllu

MODELS = (
    *(DeterministicSHAG(automaton) for automaton in ("single", "first", "sibling")),
    *(SpectralSHAG(n_states) for n_states in (2, 6, 12)),
    EMSHAG(6, max_iter=25, random_state=0),
)

START = """
import json, statistics, time
times = {}
def run(step, code):
    started = time.perf_counter()
    exec(code, globals())
    times.setdefault(step, []).append(time.perf_counter() - started)
run("import sklearn", "import sklearn")
run("import sklearn_shag after it", "import sklearn_shag; from sklearn_shag import *")
from sklearn_shag.datasets import load_english
trees = load_english().data
for which in ("first", *6 * ["later"]):
    run(f"{which} fit", "model = sklearn_shag.SpectralSHAG(6).fit(trees)")
    run(f"{which} predict", "model.predict(trees)")
times = {step: statistics.median(values) for step, values in times.items()}
first, later = (times[f"{which} fit"] + times[f"{which} predict"] for which in ("first", "later"))
print(json.dumps(times | {"first fit and predict less later ones": first - later}))
"""


def fit_stages(trees):
    """Seconds of `fit` and of what it consists of."""
    sentences, symbols = check_sentences(trees)
    heads = check_heads(sentences, None)
    known = sorted(set(chain.from_iterable(symbols)))
    codes, indptr = encode_sentences(symbols, known)
    sequences = extract_sequences(codes, heads, indptr, len(known))
    counted = count_treebank(trees)

    def encode():
        encode_sentences(symbols, sorted(set(chain.from_iterable(symbols))))

    stages = {
        "check sentences": lambda: check_sentences(trees),
        "check heads": lambda: check_heads(sentences, None),
        "encode": encode,
        "extract sequences": lambda: extract_sequences(codes, heads, indptr, len(known)),
        "collect statistics": lambda: collect_statistics(sequences, len(known)),
        "learn": lambda: SpectralSHAG(6).fit_statistics(counted),
    }
    return medians(stages | {"fit": lambda: SpectralSHAG(6).fit(trees)})


def share_in_chunks(parser, trees, rounds=9):
    """Median share of `predict` that is spent in the forests of chunks."""
    in_chunks, shares = [], []

    def timed(*arguments):
        started = time.perf_counter()
        heads = ask(*arguments)
        in_chunks.append(time.perf_counter() - started)
        return heads

    with mock.patch.object(_parser, "ask", timed):
        for _ in range(rounds):
            started = time.perf_counter()
            parser.predict(trees)
            shares.append(in_chunks.pop() / (time.perf_counter() - started))
    return statistics.median(shares)


def predict_stages(model, trees):
    """Seconds of `predict` and of what it consists of, on one thread and on two."""
    _, symbols = check_sentences(trees)
    batch = Batch(*encode_sentences(symbols, model.symbols_))
    wanted = {"marginals": list_corrected, "heads": partial(list_best, "mbr")}
    parsers = {n: SpectralSHAG(6, n_jobs=n).fit_statistics(model.statistics_) for n in (1, 2)}
    times = medians(
        {
            "check sentences": lambda: check_sentences(trees),
            "encode": lambda: encode_sentences(symbols, model.symbols_),
            **{name: partial(ask, parsers[1], want, batch) for name, want in wanted.items()},
            1: lambda: parsers[1].predict(trees),
            2: lambda: parsers[2].predict(trees),
        },
        rounds=9,
    )
    chart = min(1.0, times["marginals"] / times["heads"])
    stages = {}
    for n, parser in parsers.items():
        in_chunks = share_in_chunks(parser, trees) * times[n]
        stages[n] = {
            "check sentences": times["check sentences"],
            "encode": times["encode"],
            "chart": chart * in_chunks,
            "best tree": (1 - chart) * in_chunks,
            "predict": times[n],
        }
    return stages


def tabulate(stages, whole):
    """Rows of milliseconds and of percent of the whole, with what its stages leave."""
    rest = 2 * stages[whole] - sum(stages.values())
    return [
        {"stage": stage, "ms": 1000 * t, "percent": 100 * t / stages[whole]}
        for stage, t in (stages | {"the rest": rest}).items()
    ]


def time_models(train, test):
    warnings.simplefilter("ignore", ConvergenceWarning)  # iterations are cut on purpose
    calls, rows = {"fit": train, "predict": test}, []
    for model in MODELS:
        model.fit(train)
        functions = {name: partial(getattr(model, name), trees) for name, trees in calls.items()}
        times = medians(functions, rounds=3)
        rows.append({"model": str(model), **{f"{name}, ms": 1000 * times[name] for name in calls}})
    return rows


def time_starts():
    """What the first calls of a process cost, with an empty kernel cache and with a filled one."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        command = [sys.executable, "-c", START]
        outputs = [subprocess.check_output(command, env=environment) for _ in range(5)]
    cold, *warm = map(json.loads, outputs)
    filled = {step: statistics.median(run[step] for run in warm) for step in cold}
    return [
        {"step": step, "empty cache, s": cold[step], "filled cache, s": filled[step]}
        for step in cold
    ]


def main():
    arguments = read_arguments(__doc__)
    train, test = arguments.treebank.train, arguments.treebank.test
    report = Report("speed", arguments.output)
    reading = medians({"read": lambda: read_conllu(arguments.train_file)}, rounds=3)["read"]
    fit = fit_stages(train)
    report.add("fit", tabulate(fit, "fit"))
    predict = predict_stages(SpectralSHAG(6).fit(train), test)
    for n in (1, 2):
        report.add(f"predict, n_jobs={n}", tabulate(predict[n], "predict"))
    report.add("models", time_models(train, test))
    report.add("start", time_starts())
    one, two = predict[1]["predict"], predict[2]["predict"]
    report.add(
        "summary",
        [
            measured(f"sentences to learn from, {sum(map(len, train))} tokens", len(train)),
            measured("seconds to read them from their file", reading),
            measured("seconds of fit, n = 6", fit["fit"], at_most=0.3),
            measured(f"sentences to parse, {sum(map(len, test))} tokens", len(test)),
            measured("sentences per second, two threads", len(test) / two, at_least=15000),
            measured("percent of that in the chart", 100 * predict[2]["chart"] / two, at_least=60),
            measured("times as fast on two threads as on one", one / two, at_least=1.7),
        ],
    )


if __name__ == "__main__":
    main()
