"""What BiaffineParser reaches, and what it costs.

Usage: python benchmarks/biaffine.py [PART...] [--treebanks NAME...] [--output RESULTS.json]

The treebanks are folders of SKLEARN_SHAG_DATA (default: five). The parts, by default all:

tags     from gold tags alone (XPOS in English, else UPOS): three seeds, their average, and that
         of them and a CRFParser of the same tags
words    from gold tags, features, lemmas and forms, with relations: the same
tokens   from tokens alone, with relations and UPOS learned along: three seeds and their average
columns  all columns from tokens alone, by the Tagger of BiaffineParser: one seed
small    from 100 and 1000 English trees, tags and relations: three draws, two seeds and a CRFParser
cost     seconds, sentences a second, memory and the size of a model file, in English

Scores are those of test sets, punctuation included, relations without subtypes, and beside them
what is demanded. Seconds are CPU time on one thread, beside the speed of a product of matrices in
the same process; ``benchmarks/bilstm.py`` trains a parser of the same size with PyTorch, and
``benchmarks/udpipe.py`` UDPipe 1.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from _measure import Report, load, make_dgemm, measured, minima, seconds_of
from sklearn.frozen import FrozenEstimator
from threadpoolctl import threadpool_limits

from sklearn_shag import AveragedParser, BiaffineParser, CRFParser, Tagger, save_model
from sklearn_shag.metrics import labeled_attachment_score

ENGLISH = "UD_English-EWT"
FRENCH, AFRIKAANS = "UD_French-Sequoia", "UD_Afrikaans-AfriBooms"
TAMIL, TURKISH = "UD_Tamil-TTB", "UD_Turkish-IMST"
NAMES = (ENGLISH, FRENCH, AFRIKAANS, TAMIL, TURKISH)
# What is demanded of the mean of seeds, and of their average.
DEMANDED = {
    "tags": {
        ENGLISH: (82.0,),
        FRENCH: (87.8,),
        AFRIKAANS: (86.3,),
        TAMIL: (73.4,),
        TURKISH: (65.0,),
    },
    "words": {
        ENGLISH: (90.1, 88.5),
        FRENCH: (91.6, 90),
        AFRIKAANS: (89.1, 85.7),
        TAMIL: (79.5, 71.6),
        TURKISH: (75.5, 68.5),
    },
    "tokens": {
        ENGLISH: (86.3, 82.8),
        FRENCH: (90.4, 87.3, 97.3),
        AFRIKAANS: (86.1, 81.0),
        TAMIL: (70.0, 58.6, 83.3),
        TURKISH: (72.0, 62.8, 92.0),
    },
}
OF_AVERAGES = {
    "tags": {
        ENGLISH: (82.6,),
        FRENCH: (88.5,),
        AFRIKAANS: (87.0,),
        TAMIL: (73.5,),
        TURKISH: (65.5,),
    },
    "words": {},
    "tokens": {
        ENGLISH: (87.2, 84),
        FRENCH: (91.4, 88.5),
        AFRIKAANS: (86.8, 82),
        TAMIL: (71.6, 60.0),
        TURKISH: (73.3, 64.6),
    },
}
N_SEEDS = 3
COLUMNS = {"upos": "upos", "xpos": "xpos", "feats": "feats", "lemma": "lemmas"}
# A hundred trees are six batches of the default size: they need more steps, and more noise.
OF_FEW_TREES = {"max_iter": 40, "batch_size": 100, "dropout": 0.3}


def make_parser(what, name, seed):
    settings = {"random_state": seed, "calibrate": False}  # which changes no tree
    if what == "tags":
        settings |= {"columns": ["xpos" if name == ENGLISH else "upos"], "labels": False}
    if what == "tokens":
        settings |= {"tags": "upos"}
    return BiaffineParser(**settings)


def score(parser, trees):
    """UAS, and as far as they are learned LAS and the share of right UPOS, in percent."""
    parsed, seconds = seconds_of(lambda: parser.parse(trees))
    right = np.concatenate(
        [tree.heads == other.heads for tree, other in zip(trees, parsed, strict=True)]
    )
    scores = {"UAS": 100 * right.mean()}
    if parser.labels_.size:
        scores["LAS"] = 100 * labeled_attachment_score(trees, parsed)
    if getattr(parser, "tag_column_", None) is not None:
        tags, true = (np.concatenate([tree.upos for tree in each]) for each in (parsed, trees))
        scores["UPOS"] = 100 * np.mean(tags == true)
    return scores, len(trees) / seconds


def average(parsers):
    """A fitted average of fitted parsers."""
    members = [(f"member {k}", FrozenEstimator(parser)) for k, parser in enumerate(parsers)]
    return AveragedParser(members).fit([["X"]], [[0]])


def report_parsers(report, what, names):
    rows, bars = [], []
    for name in names:
        treebank, parsers, runs = load(name), [], []
        for seed in range(N_SEEDS):
            parser = make_parser(what, name, seed)
            parser, seconds = seconds_of(lambda p=parser, t=treebank: p.fit(t.train))
            scores, speed = score(parser, treebank.test)
            parsers.append(parser)
            runs.append(scores | {"training (CPU s)": seconds, "sentences per CPU s": speed})
        row = {key: np.mean([run[key] for run in runs]) for key in runs[0]}
        of_seeds, _ = score(average(parsers), treebank.test)
        rows.append({"treebank": name, "spread of UAS": np.ptp([run["UAS"] for run in runs])} | row)
        rows[-1] |= {f"{key}, seeds averaged": value for key, value in of_seeds.items()}
        for found, called, demanded in (
            (row, what, DEMANDED),
            (of_seeds, f"{what}, averaged", OF_AVERAGES),
        ):
            for key, least in zip(
                ("UAS", "LAS", "UPOS"), demanded[what].get(name, ()), strict=False
            ):
                bars.append(measured(f"{name}, {called}, {key}", found[key], at_least=least))
        if what != "tokens":
            columns = parsers[0].columns if what == "tags" else "auto"
            linear = CRFParser(columns, calibrate=False, random_state=0).fit(treebank.train)
            of_both, _ = score(average([*parsers, linear]), treebank.test)
            rows[-1] |= {"and CRFParser": of_both["UAS"]}
        report.add(f"from {what}", rows)
        report.add(f"bars of {what}", bars)


def report_columns(report, names):
    """Shares of right values; AllTags are UPOS, XPOS and FEATS together."""
    rows = []
    for name in names:
        treebank = load(name)
        has_xpos = any(set(tree.xpos or "_") != {"_"} for tree in treebank.train)
        tagger = Tagger([c for c in COLUMNS if c != "xpos" or has_xpos], random_state=0)
        _, seconds = seconds_of(lambda t=tagger, b=treebank: t.fit(b.train))
        tagged, of_test = seconds_of(lambda t=tagger, b=treebank: t.transform(b.test))
        row, right = {"treebank": name}, {}
        for column, attribute in COLUMNS.items():
            columns = [
                [getattr(tree, attribute) or ["_"] * len(tree) for tree in trees]
                for trees in (tagged, treebank.test)
            ]
            right[column] = np.equal(*map(np.concatenate, columns))
            is_learned = column in tagger.tag_values_
            row[column] = 100 * right[column].mean() if is_learned else "--"
        row["AllTags"] = 100 * (right["upos"] & right["xpos"] & right["feats"]).mean()
        rows.append(
            row | {"training (CPU s)": seconds, "sentences per CPU s": len(treebank.test) / of_test}
        )
        report.add("columns", rows)


def report_small_data(report):
    treebank, rows, bars = load(ENGLISH), [], []
    for n_trees, settings, n_passes, of_one, of_all in (
        (100, OF_FEW_TREES, 10, None, 68),
        (1000, {}, 3, 75, 76),
    ):
        runs = []
        for draw in range(3):
            rng = np.random.default_rng(draw)
            drawn = [treebank.train[k] for k in rng.choice(len(treebank.train), n_trees, False)]
            parsers = [
                BiaffineParser(["xpos"], random_state=seed, **settings).fit(drawn)
                for seed in range(2)
            ]
            linear = CRFParser(["xpos"], max_iter=n_passes, random_state=0).fit(drawn)
            models = (*parsers, linear, average([*parsers, linear]))
            runs.append([score(model, treebank.test)[0]["UAS"] for model in models])
        one, other, linear, together = np.mean(runs, axis=0)
        one = (one + other) / 2
        rows.append({"trees": n_trees, "one seed": one, "CRFParser": linear, "averaged": together})
        if of_one is not None:
            bars.append(measured(f"{n_trees} trees, one seed", one, at_least=of_one))
        bars.append(measured(f"{n_trees} trees, averaged", together, at_least=of_all))
    report.add("small data", rows)
    report.add("bars of small data", bars)


def report_cost(report):
    treebank, bars = load(ENGLISH), []
    for what, longest in (("tags", 60), ("words", 120), ("tokens", 114)):
        parser = make_parser(what, ENGLISH, 0)
        parser.fit(treebank.train[:50]).parse(treebank.test[:50])  # compiles
        _, seconds = seconds_of(lambda p=parser: p.fit(treebank.train))
        bars.append(measured(f"training from {what}, CPU s", seconds, at_most=longest))
        least = minima({"parse": lambda p=parser: p.parse(treebank.test)}, rounds=3)["parse"]
        speed = len(treebank.test) / least
        bars.append(measured(f"parsing from {what}, sentences/s", speed, at_least=3000))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.npz")
            save_model(parser, path)
            size = path.stat().st_size / 1e6
        bars.append(measured(f"model file of {what}, MB", size, at_most=12))
    bars.append(measured("peak memory, GiB", measure_peak(), at_most=1.5))
    report.add("cost", bars)


def report_peak():
    """Read, learn and parse in this process, and print the peak of its memory in bytes."""
    treebank = load(ENGLISH)
    BiaffineParser(max_iter=1, random_state=0).fit(treebank.train).parse(treebank.test)
    print(1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def measure_peak():
    command = [sys.executable, __file__, "--peak"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(done.stdout) / 2**30


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = ("tags", "words", "tokens", "columns", "small", "cost")
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(parts))
    parser.add_argument("--treebanks", nargs="+", default=list(NAMES), choices=NAMES)
    parser.add_argument("--output", help="default: in the folder results beside the script")
    arguments = parser.parse_args()
    report = Report("biaffine", arguments.output)
    dgemm, n_operations = make_dgemm()
    with threadpool_limits(1):
        speed = n_operations / minima({"dgemm": dgemm})["dgemm"] / 1e9
        report.add("yardstick", [{"what": "dgemm, GFlop/s", "measured": speed}])
        for part in arguments.parts or parts:
            if part == "small":
                report_small_data(report)
            elif part == "cost":
                report_cost(report)
            elif part == "columns":
                report_columns(report, arguments.treebanks)
            else:
                report_parsers(report, part, arguments.treebanks)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peak"]:
        report_peak()
    else:
        main()
