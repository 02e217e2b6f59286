"""One iteration of EM against hmmlearn, and 25 against reading the file.

Usage: python benchmarks/em_speed.py [FOLDER] [TREEBANK]

FOLDER holds the treebanks (default: the environment variable SKLEARN_SHAG_DATA), TREEBANK is one of
them (default: UD_English-EWT). Needs hmmlearn (pip install hmmlearn). Both learn 8 states on the
same head-modifier sequences, with STOP appended for hmmlearn, in one thread; hmmlearn learns one
model of all sequences of a direction, the cheapest way to give it all of them.
"""

import sys
import time
import warnings

import numpy as np
from hmmlearn.hmm import CategoricalHMM
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from sklearn_shag import EMSHAG
from sklearn_shag.datasets import get_data_home
from sklearn_shag.sequences import extract_sequences
from sklearn_shag.sequences._encode import check_heads, check_sentences, encode_sentences
from sklearn_shag.treebank import read_conllu

N_STATES = 8


def seconds_of(function, repeats=3):
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        function()
        times.append(time.perf_counter() - started)
    return min(times)


def hmm_iteration(trees):
    """Seconds of one iteration over all sequences of heads that are not the root symbol."""
    sentences, symbols = check_sentences(trees)
    known = sorted({symbol for sentence in symbols for symbol in sentence})
    codes, indptr = encode_sentences(symbols, known)
    sequences = extract_sequences(codes, check_heads(sentences, None), indptr, len(known))
    total = 0.0
    for direction in (0, 1):
        chosen = np.flatnonzero(
            (sequences.directions == direction) & (sequences.heads < len(known))
        )
        starts, stops = sequences.indptr[chosen], sequences.indptr[chosen + 1]
        parts = [
            np.append(sequences.modifiers[a:b], len(known))
            for a, b in zip(starts, stops, strict=True)
        ]
        X, lengths = np.concatenate(parts)[:, None], list(map(len, parts))

        def run(n_iter, X=X, lengths=lengths):
            CategoricalHMM(
                N_STATES, n_iter=n_iter, tol=-np.inf, random_state=0, n_features=len(known) + 1
            ).fit(X, lengths)

        total += seconds_of(lambda: run(2), repeats=1) - seconds_of(lambda: run(1), repeats=1)
    return total


def main(data_home=None, name="UD_English-EWT"):
    warnings.simplefilter("ignore", ConvergenceWarning)
    path = next((get_data_home(data_home) / name).glob("*-ud-train.conllu"))
    reading = seconds_of(lambda: read_conllu(path))
    trees = read_conllu(path)

    def fit(max_iter):
        EMSHAG(N_STATES, max_iter=max_iter, tol=0, random_state=0).fit(trees)

    fit(1)  # compiles
    with threadpool_limits(1):
        start, short, long = (seconds_of(lambda k=k: fit(k)) for k in (0, 25, 225))
        iteration = (long - short) / 200
        other = hmm_iteration(trees)
    print(f"read the file                         {1000 * reading:>9.1f} ms")
    print(f"fit with 25 iterations                {1000 * short:>9.1f} ms = "
          f"{short / reading:.2f} of reading")  # fmt: skip
    print(f"    of these before the first         {1000 * start:>9.1f} ms")
    print(f"one iteration                         {1000 * iteration:>9.2f} ms")
    print(f"one iteration of CategoricalHMM       {1000 * other:>9.1f} ms = "
          f"{other / iteration:.0f} times as long")  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
