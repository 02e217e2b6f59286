"""Whether probabilities mean what they say after few trees, by parser, treebank and what is read.

Usage: python benchmarks/calibration_few_trees.py [--trees N] [--n-jobs N] [--output RESULTS.json]

A CRFParser, a BiaffineParser and the AveragedParser of both learn from trees drawn at random with
three seeds (300 by default), from gold UPOS alone, from all gold columns, or from forms alone,
with calibration as it is by default. Printed is the expected calibration error of test sets in
percent, over ten bins of equal width, punctuation included: the mean of the draws and, of several,
the largest.
"chance" is what probabilities that are right would show on as many tokens. What the file of results
holds is not measured again.
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
from _measure import RESULTS, Report, load
from advice import draw_trees
from biaffine import NAMES
from calibration import measure
from joblib import Parallel, delayed
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from sklearn_shag import AveragedParser, BiaffineParser, CRFParser, Tagger

READS = ("tags", "columns", "words")
N_DRAWS = 3


def make_parsers(reads, seed):
    network = BiaffineParser(["upos"] if reads == "tags" else "auto", random_state=seed)
    linear = CRFParser(["upos"] if reads == "tags" else "auto", random_state=seed)
    if reads == "words":
        network.set_params(tags="upos")
        tagged = CRFParser(["upos", "form", "suffix"], random_state=seed)
        linear = make_pipeline(Tagger(random_state=seed), tagged)
    average = AveragedParser([("network", network), ("linear", linear)])
    return {"CRFParser": linear, "BiaffineParser": network, "average": average}


def measure_draw(name, reads, n_trees, seed):
    """The rows of one draw."""
    warnings.simplefilter("ignore")  # of what has not converged
    treebank, rows = load(name), []
    train = draw_trees(treebank, reads, n_trees, seed)
    with threadpool_limits(1):
        for called, parser in make_parsers(reads, seed).items():
            fitted, test = parser.fit(train), treebank.test
            if hasattr(fitted, "steps"):
                fitted, test = fitted[-1], fitted[:-1].transform(test)
            row = measure(called, fitted, test)
            rows.append({"treebank": name, "reads": reads, "seed": seed, "parser": called, **row})
    return rows


def tabulate(rows, reads):
    found = {}
    for row in rows:
        if row["reads"] == reads:
            of_treebank = found.setdefault(row["treebank"].removeprefix("UD_"), {})
            of_treebank.setdefault(row["parser"], []).append(float(row["ECE"]))
            of_treebank.setdefault("chance", []).append(float(row["by chance"]))
    return [
        {"treebank": name}
        | {parser: _show(values) for parser, values in sorted(of_parsers.items())}
        for name, of_parsers in sorted(found.items())
    ]


def _show(values):
    mean, largest = f"{np.mean(values):.1f}", f" ({max(values):.1f})"
    return mean + largest if len(values) > 1 else mean


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trees", default="300")
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--output", default=RESULTS / "calibration_few_trees.json", type=Path)
    arguments = parser.parse_args()
    rows = []
    if arguments.output.exists():
        rows = json.loads(arguments.output.read_text())["runs"]
    done = {(row["treebank"], row["reads"], row["seed"]) for row in rows}
    tasks = [
        delayed(measure_draw)(name, reads, arguments.trees, seed)
        for seed in range(N_DRAWS)
        for reads in READS
        for name in NAMES
        if (name, reads, seed) not in done
    ]
    report = Report("calibration_few_trees", arguments.output, runs=rows)
    for found in Parallel(arguments.n_jobs, return_as="generator_unordered")(tasks):
        rows += found
        report.add(found[0]["reads"], tabulate(rows, found[0]["reads"]))
    for reads in READS:
        report.add(reads, tabulate(rows, reads))


if __name__ == "__main__":
    main()
