"""Where the time goes, from file to trees, and what a first call costs.

Usage: python benchmarks/speed.py [FOLDER] [TREEBANK] [--output RESULTS.json]

FOLDER holds the treebanks (default: the environment variable SKLEARN_SHAG_DATA), TREEBANK is one
of them (default: UD_English-EWT). Learns from the training set, parses the test set, both in
memory. Stages are the functions that `fit` and `predict` call, each timed by itself on what the
stage before it returned, in turns with the whole; "the rest" is what the sum of them leaves.

The chart's share is the time of `marginals` of the encoded sentences over that of `predict`:
inside, outside and marginals, with handing out sentences and taking back results, but without the
search for the best tree, which is what `decode` takes longer. First calls are measured in processes
of their own, with a kernel cache of their own, which the first of them finds empty.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import warnings
from itertools import chain

from _measure import Report, measured, medians, read_arguments
from sklearn.exceptions import ConvergenceWarning

from sklearn_shag import EMSHAG, DeterministicSHAG, SpectralSHAG
from sklearn_shag.parsing._batch import decode, marginals
from sklearn_shag.sequences import collect_statistics, count_treebank, extract_sequences
from sklearn_shag.sequences._encode import check_heads, check_sentences, encode_sentences
from sklearn_shag.treebank import read_conllu

MODELS = (
    *(DeterministicSHAG(automaton) for automaton in ("single", "first", "sibling")),
    *(SpectralSHAG(n_states) for n_states in (2, 6, 12)),
    EMSHAG(6, max_iter=25, random_state=0),
)
N_PROCESSES = 4

START = """
import json
from time import perf_counter
times = [perf_counter()]
def stop():
    times.append(perf_counter())
import sklearn; stop()
import sklearn_shag; stop()
from sklearn_shag.datasets import load_english
trees = load_english().data; stop()
for _ in range(6):
    model = sklearn_shag.SpectralSHAG(6).fit(trees); stop()
    model.predict(trees); stop()
print(json.dumps([b - a for a, b in zip(times, times[1:])]))
"""


def fit_stages(trees):
    """Milliseconds of `fit` and of what it consists of."""
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


def predict_stages(model, trees):
    """Seconds of `predict` and of what it consists of, on one thread and on two."""
    _, symbols = check_sentences(trees)
    encoded = encode_sentences(symbols, model.symbols_)
    parts = (model.operators_, model.backoff_operators_, *encoded)
    functions = {
        "check sentences": lambda: check_sentences(trees),
        "encode": lambda: encode_sentences(symbols, model.symbols_),
    }
    for n in (1, 2):
        parser = SpectralSHAG(6, n_jobs=n).fit_statistics(model.statistics_)
        functions["marginals", n] = lambda n=n: marginals(*parts, n)
        functions["decode", n] = lambda n=n: decode(*parts, "mbr", n)
        functions["predict", n] = lambda parser=parser: parser.predict(trees)
    times = medians(functions, rounds=9)
    return {
        n: {
            "check sentences": times["check sentences"],
            "encode": times["encode"],
            "chart": times["marginals", n],
            "best tree": times["decode", n] - times["marginals", n],
            "predict": times["predict", n],
        }
        for n in (1, 2)
    }


def tabulate(stages, whole):
    """Rows of milliseconds and of percent of the whole, with what its stages leave."""
    rest = 2 * stages[whole] - sum(stages.values())
    return [
        {"stage": stage, "ms": 1000 * t, "percent": 100 * t / stages[whole]}
        for stage, t in (stages | {"the rest": rest}).items()
    ]


def time_models(train, test):
    warnings.simplefilter("ignore", ConvergenceWarning)  # iterations are cut on purpose
    rows = []
    for model in MODELS:
        model.fit(train)
        times = medians(
            {
                "fit": lambda model=model: model.fit(train),
                "predict": lambda model=model: model.predict(test),
            },
            rounds=3,
        )
        rows.append({"model": str(model), **{f"{key}, ms": 1000 * times[key] for key in times}})
    return rows


def time_starts():
    """What the first calls of a process cost, with an empty kernel cache and with a filled one."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        command = [sys.executable, "-c", START]
        runs = [
            json.loads(subprocess.check_output(command, env=environment))
            for _ in range(1 + N_PROCESSES)
        ]

    def steps(sklearn, package, _, first_fit, first_predict, *later):
        fit, predict = statistics.median(later[::2]), statistics.median(later[1::2])
        return {
            "import sklearn": sklearn,
            "import sklearn_shag after it": package,
            "first fit": first_fit,
            "first predict": first_predict,
            "a later fit": fit,
            "a later predict": predict,
            "first fit and predict over later ones": first_fit + first_predict - fit - predict,
        }

    cold, *warm = (steps(*run) for run in runs)
    return [
        {"step": step, "empty cache, s": cold[step], "filled, s": statistics.median(column)}
        for step, column in ((step, [run[step] for run in warm]) for step in cold)
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
