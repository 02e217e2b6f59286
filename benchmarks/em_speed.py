"""One iteration of EM against hmmlearn, and 25 against reading the file.

Usage: python benchmarks/em_speed.py [FOLDER] [TREEBANK] [--output RESULTS.json]

FOLDER holds the treebanks (default: the environment variable SKLEARN_SHAG_DATA), TREEBANK is one of
them (default: UD_English-EWT). Both learn 8 states on the same head-modifier sequences, with STOP
appended for hmmlearn, in one thread; hmmlearn learns one model of all sequences of a direction, the
cheapest way to give it all of them. It is optional (pip install hmmlearn).
"""

import time
import warnings

import numpy as np
from _measure import Report, measured, medians, read_arguments
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from sklearn_shag import EMSHAG
from sklearn_shag.encoding import check_heads, check_sentences, encode_sentences
from sklearn_shag.sequences import extract_sequences
from sklearn_shag.treebank import read_conllu

try:
    from hmmlearn.hmm import CategoricalHMM
except ImportError:
    CategoricalHMM = None

N_STATES = 8


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

        def seconds(n_iter, X=X, lengths=lengths):
            model = CategoricalHMM(
                N_STATES, n_iter=n_iter, tol=-np.inf, random_state=0, n_features=len(known) + 1
            )
            started = time.perf_counter()
            model.fit(X, lengths)
            return time.perf_counter() - started

        total += seconds(2) - seconds(1)
    return total


def main():
    arguments = read_arguments(__doc__)
    trees = arguments.treebank.train
    warnings.simplefilter("ignore", ConvergenceWarning)  # iterations are cut on purpose
    report = Report("em_speed", arguments.output)

    def read():
        read_conllu(arguments.train_file)

    def fit(max_iter):
        return lambda: EMSHAG(N_STATES, max_iter=max_iter, tol=0, random_state=0).fit(trees)

    with threadpool_limits(1):
        times = medians(
            {k: fit(k) for k in (0, 25, 225)} | {"read": lambda: read_conllu(arguments.train_file)},
            3,
        )
        iteration = (times[225] - times[25]) / 200
        rows = [
            measured("read the file, ms", 1000 * times["read"]),
            measured("fit with 25 iterations, ms", 1000 * times[25]),
            measured("fit over reading", times[25] / times["read"]),
            measured("of the fit before the first iteration, ms", 1000 * times[0]),
            measured("one iteration, ms", 1000 * iteration),
        ]
        if CategoricalHMM is None:
            rows.append(measured("hmmlearn", "not installed"))
        else:
            other = hmm_iteration(trees)
            rows.append(measured("one iteration of CategoricalHMM, ms", 1000 * other))
            rows.append(measured("times as long as one here", other / iteration))
    report.add("EM", rows)


if __name__ == "__main__":
    main()
