"""Where the time goes, from file to trees, and what a cold start costs.

Usage: python benchmarks/speed.py [FOLDER] [TREEBANK]

FOLDER holds the treebanks (default: the environment variable SKLEARN_SHAG_DATA), TREEBANK is one
of them (default: UD_English-EWT). Stages are timed in one process and printed as the best of five
and as a ratio to reading the file, since absolute times differ between machines.
"""

import os
import subprocess
import sys
import tempfile
import time

import numpy as np

from sklearn_shag import DeterministicSHAG, SpectralSHAG
from sklearn_shag.datasets import get_data_home
from sklearn_shag.operators import Operators
from sklearn_shag.parsing import inside_outside
from sklearn_shag.sequences import collapse_sequences, collect_statistics, extract_sequences
from sklearn_shag.sequences._encode import check_heads, check_sentences, encode_sentences
from sklearn_shag.treebank import read_conllu

COLD_START = """
import time
import sklearn
started = time.perf_counter()
from sklearn_shag import SpectralSHAG
imported = time.perf_counter()
model = SpectralSHAG(2).fit([["A", "B", "C"]], [[2, 0, 2]])
fitted = time.perf_counter()
model.predict([["A", "B", "C"]])
parsed = time.perf_counter()
print(f"import {imported - started:.2f} s after sklearn, first fit {fitted - imported:.2f} s, "
      f"first predict {parsed - fitted:.2f} s")
"""


def best_of(function, repeats=5):
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - started)
    return min(times), result


def main(data_home=None, name="UD_English-EWT"):
    folder = get_data_home(data_home) / name
    path = next(folder.glob("*-ud-train.conllu"))
    reading, trees = best_of(lambda: read_conllu(path), repeats=3)
    test = read_conllu(next(folder.glob("*-ud-test.conllu")))
    n_tokens = sum(map(len, trees))
    print(f"{name}: {len(trees)} sentences, {n_tokens} tokens to learn from, {len(test)} to parse")

    def report(label, seconds):
        print(f"{label:<44}{1000 * seconds:>9.1f} ms{seconds / reading:>9.3f} of reading")

    report("read the training file", reading)
    seconds, (sentences, symbols) = best_of(lambda: check_sentences(trees))
    report("check sentences", seconds)
    known = sorted({symbol for sentence in symbols for symbol in sentence})
    seconds, (codes, indptr) = best_of(lambda: encode_sentences(symbols, known))
    report("encode symbols", seconds)
    heads = check_heads(sentences, None)
    seconds, sequences = best_of(lambda: extract_sequences(codes, heads, indptr, len(known)))
    report("extract head-modifier sequences", seconds)
    seconds, _ = best_of(lambda: collapse_sequences(sequences))
    report("collapse equal sequences", seconds)
    seconds, _ = best_of(lambda: collect_statistics(sequences, len(known)))
    report("collect statistics", seconds)
    models = [DeterministicSHAG(a) for a in ("single", "first", "sibling")]
    models += [SpectralSHAG(n) for n in (2, 6, 12)]
    for model in models:
        seconds, _ = best_of(lambda model=model: model.fit(trees))
        report(f"fit {model}", seconds)
        seconds, _ = best_of(lambda model=model: model.predict(test))
        report("    parse the test file", seconds)

    print("\none sentence, inside and outside, expected counts")
    rng = np.random.default_rng(0)
    for n_states in (1, 6, 12):
        operators = Operators(
            rng.uniform(size=(20, 2, n_states)),
            rng.uniform(size=(20, 2, n_states)),
            rng.uniform(size=(20, 2, 19, n_states, n_states)),
        )
        for length in (10, 20, 40, 80, 160, 320):
            sentence = rng.integers(19, size=length)
            seconds, _ = best_of(lambda o=operators, s=sentence: inside_outside(o, s), repeats=3)
            print(f"{n_states:>4} states{length:>5} tokens{1000 * seconds:>10.2f} ms")

    print("\na process with an empty kernel cache, then a second one")
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        for _ in range(2):
            subprocess.run([sys.executable, "-c", COLD_START], env=environment, check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
