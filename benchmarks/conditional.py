"""What training on trees given their sentences reaches, and what it costs.

Usage: python benchmarks/conditional.py [--treebanks NAME...] [--output RESULTS.json]

The treebanks are folders of SKLEARN_SHAG_DATA (default: five). CRFParser is trained on tags alone
(XPOS in English, else UPOS) and on all columns, with three seeds, and scored on the test set:
attachment, and relations without subtypes. Seconds are CPU time on one thread, beside the speed of
a product of matrices in the same process. Memory is the peak of a process of its own.
``benchmarks/udpipe.py`` measures UDPipe 1 on the same files.
"""

import argparse
import resource
import subprocess
import sys

import numpy as np
from _measure import Report, load, make_dgemm, measured, minima, seconds_of
from threadpoolctl import threadpool_limits

from sklearn_shag import CRFParser
from sklearn_shag.metrics import labeled_attachment_score

ENGLISH = "UD_English-EWT"
# What is demanded: UAS of tags alone, UAS and LAS of all columns.
BARS = {
    ENGLISH: (79.0, 85.8, 83.0),
    "UD_French-Sequoia": (84.5, 88.0, 85.5),
    "UD_Afrikaans-AfriBooms": (83.5, 86.0, 80.5),
    "UD_Tamil-TTB": (73.0, 77.0, 69.0),
    "UD_Turkish-IMST": (64.5, 71.0, 62.5),
}
SECONDS = {ENGLISH: 40, "UD_French-Sequoia": 8}
N_SEEDS = 3


def measure_parser(name, columns):
    """Train with each seed; return the means."""
    treebank, runs = load(name), []
    for seed in range(N_SEEDS):
        parser, seconds = seconds_of(
            lambda seed=seed: CRFParser(columns, random_state=seed).fit(treebank.train)
        )
        _, of_test = seconds_of(lambda parser=parser: parser.predict(treebank.test))
        parsed = parser.parse(treebank.test)
        las = labeled_attachment_score(treebank.test, parsed)
        uas = parser.score(treebank.test)
        runs.append((100 * uas, 100 * las, seconds, len(treebank.test) / of_test))
    names = "UAS", "LAS", "training (CPU s)", "sentences per CPU s"
    return dict(zip(names, np.mean(runs, axis=0), strict=True))


def report_parsers(report, names):
    rows, bars = [], []
    CRFParser(random_state=0).fit(load(names[0]).train[:20]).parse(load(names[0]).test[:20])
    for name in names:
        of_tags, *of_words = BARS[name]
        tags = measure_parser(name, ["xpos" if name == ENGLISH else "upos"])
        words = measure_parser(name, "auto")
        rows += [{"treebank": name, "columns": "tags"} | tags]
        rows += [{"treebank": name, "columns": "all"} | words]
        report.add("parsers", rows)
        bars.append(measured(f"{name}, tags, UAS", tags["UAS"], at_least=of_tags))
        for score, bar in zip(("UAS", "LAS"), of_words, strict=True):
            bars.append(measured(f"{name}, all columns, {score}", words[score], at_least=bar))
        if name in SECONDS:
            what = f"{name}, all columns, CPU seconds of training"
            bars.append(measured(what, words["training (CPU s)"], at_most=SECONDS[name]))
        if name == ENGLISH:
            speed = words["sentences per CPU s"]
            bars.append(measured(f"{name}, sentences a second", speed, at_least=4000))
        peak = measure_peak(name)
        bars.append(measured(f"{name}, peak memory, GiB", peak, at_most=1.5))
        report.add("bars of parsers", bars)


def report_peak(name):
    """Read, learn and parse in this process, and print the peak of its memory in bytes."""
    treebank = load(name)
    CRFParser(random_state=0).fit(treebank.train).parse(treebank.test)
    print(1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def measure_peak(name):
    command = [sys.executable, __file__, "--peak", name]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(done.stdout) / 2**30


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--treebanks", nargs="+", default=list(BARS), choices=list(BARS))
    parser.add_argument("--output", help="default: in the folder results beside the script")
    arguments = parser.parse_args()
    report = Report("conditional", arguments.output)
    dgemm, n_operations = make_dgemm()
    with threadpool_limits(1):
        speed = n_operations / minima({"dgemm": dgemm})["dgemm"] / 1e9
        report.add("yardstick", [{"what": "dgemm, GFlop/s", "measured": speed}])
        report_parsers(report, arguments.treebanks)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peak"]:
        report_peak(sys.argv[2])
    else:
        main()
