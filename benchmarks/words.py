"""What words cost: reading, learning and parsing with lexicalised grammars and their products.

Usage: python benchmarks/words.py [FOLDER] [TREEBANK] [--output RESULTS.json]

FOLDER holds the treebanks (default: the environment variable SKLEARN_SHAG_DATA), TREEBANK is one of
them (default: UD_English-EWT). All on one thread: functions take turns in one process, and what
counts is the CPU time of the fastest of several calls. Memory is the peak of a process of its own
that reads, learns and parses the training set.
"""

import resource
import subprocess
import sys
from functools import partial

from _measure import Report, make_dgemm, measured, minima, read_arguments
from sklearn.frozen import FrozenEstimator
from threadpoolctl import threadpool_limits

from sklearn_shag import AveragedParser, LexicalizedSHAG, ProductParser, SpectralSHAG
from sklearn_shag.treebank import read_conllu


def make_product():
    return ProductParser([("spectral", SpectralSHAG(9)), ("words", LexicalizedSHAG("fcp"))])


def report_peak(path):
    """Read, learn and parse in this process, and print the peak of its memory in bytes."""
    trees = read_conllu(path)
    make_product().fit(trees).predict(trees)
    print(1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def measure_peak(path):
    command = [sys.executable, __file__, "--peak", str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(done.stdout) / 2**30


def main():
    arguments = read_arguments(__doc__)
    report = Report("words", arguments.output)
    train, test = arguments.treebank.train, arguments.treebank.test
    dgemm, n_operations = make_dgemm()
    product = make_product().fit(train)
    spectral, words = product.estimators_
    members = [(name, FrozenEstimator(each)) for name, each in product.named_estimators_.items()]
    averaged = AveragedParser(members).fit(train)
    with threadpool_limits(1):
        learning = minima(
            {
                "dgemm": dgemm,
                "read": partial(read_conllu, arguments.train_file),
                "LEX+FCP": lambda: LexicalizedSHAG("fcp").fit(train),
                "SPECTRAL x LEX+FCP": lambda: make_product().fit(train),
            }
        )
        parsing = minima(
            {
                "SPECTRAL": lambda: spectral.predict(test),
                "LEX+FCP": lambda: words.predict(test),
                "SPECTRAL x LEX+FCP": lambda: product.predict(test),
                "both averaged": lambda: averaged.predict(test),
            },
            rounds=9,
        )
    speed = n_operations / learning.pop("dgemm") / 1e9
    report.add("yardstick", [{"what": "dgemm, GFlop/s", "measured": speed}])
    report.add(
        "seconds",
        [
            *({"what": f"{what}, training set", "CPU s": s} for what, s in learning.items()),
            *({"what": f"parse the test set, {what}", "CPU s": s} for what, s in parsing.items()),
        ],
    )
    report.add(
        "bars",
        [
            measured(
                "parsing speed, product over SPECTRAL (9 states)",
                parsing["SPECTRAL"] / parsing["SPECTRAL x LEX+FCP"],
                at_least=0.25,
            ),
            measured(
                "learning the product, times reading",
                learning["SPECTRAL x LEX+FCP"] / learning["read"],
                at_most=3,
            ),
            measured(
                "peak memory of reading, learning and parsing the training set, GiB",
                measure_peak(arguments.train_file),
                at_most=1,
            ),
        ],
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peak"]:
        report_peak(sys.argv[2])
    else:
        main()
