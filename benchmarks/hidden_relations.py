"""Hidden relations: how well grammars with refinements parse, and what they and pruning cost.

Usage: python benchmarks/hidden_relations.py [FOLDER] [--dev] [--few] [--states] [--recover]

FOLDER holds the treebanks (default: the environment variable SKLEARN_SHAG_DATA). Printed are
unlabelled attachment scores in percent on test sets (with --dev: development sets), from gold tags
alone unless words are named, punctuation scored: of three seeds their mean and spread, and that of
their averaged marginals; products and averages with a grammar of words, of the first seed. Then CPU
seconds of fits, sentences a second in one thread beside dgemm, sizes of pickles and files, and how
far pruning moves marginals. With --few: of three draws of few trees, on development sets; with
--states: of numbers of states and refinements, on that of English. With --recover: how far from the
truth the likelihood of held-out trees is that a known grammar drew, after learning from 20,000.
"""

import argparse
import pickle
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from _measure import make_dgemm, minima
from sklearn.frozen import FrozenEstimator
from threadpoolctl import threadpool_limits

from sklearn_shag import (
    AveragedParser,
    LexicalizedSHAG,
    ProductParser,
    RefinedSHAG,
    SpectralSHAG,
    save_model,
)
from sklearn_shag.datasets import fetch_treebank, load_english
from sklearn_shag.treebank import TokenFeature

TREEBANKS = (
    ("UD_English-EWT", "upos"),
    ("UD_English-EWT", "xpos"),
    ("UD_French-Sequoia", "upos"),
    ("UD_Turkish-IMST", "upos"),
    ("UD_Tamil-TTB", "upos"),
    ("UD_Afrikaans-AfriBooms", "upos"),
)
SEEDS = range(3)


def join(kind, **members):
    frozen = [(name, FrozenEstimator(model)) for name, model in members.items()]
    return kind(frozen).fit([["frozen"]], [[0]])


def percent(scores):
    scores = 100 * np.asarray(scores)
    return f"{scores.mean():.2f} ({scores.min():.1f} to {scores.max():.1f})"


def report_accuracy(name, column, train, test):
    models, seconds = [], []
    for seed in SEEDS:
        start = time.process_time()
        models.append(RefinedSHAG(random_state=seed).fit(train))
        seconds.append(time.process_time() - start)
    print(f"\n{name} {column}, fit in {min(seconds):.1f} CPU s")
    for k in (1, 2, 4, 8, 16):
        print(f"  k = {k}: {percent([m.truncate(k).score(test) for m in models])}")
    named = {f"seed{seed}": model for seed, model in zip(SEEDS, models, strict=True)}
    print(f"  average of three: {100 * join(AveragedParser, **named).score(test):.2f}")
    words = LexicalizedSHAG().fit(train)
    both = {"hidden": models[0], "words": words}
    print(f"  words: {100 * words.score(test):.2f}")
    print(f"  product with words: {100 * join(ProductParser, **both).score(test):.2f}")
    print(f"  average with words: {100 * join(AveragedParser, **both).score(test):.2f}")
    everything = join(AveragedParser, **named, words=words)
    print(f"  average of three and words: {100 * everything.score(test):.2f}", flush=True)
    return models[0]


def report_cost(model, train, test):
    dgemm, n_operations = make_dgemm()
    parsers = {
        f"k = {k}, prune={prune}": model.truncate(k).set_params(prune=prune)
        for k in (8, 16)
        for prune in (model.prune, 0)
    }
    calls = {name: lambda parser=parser: parser.predict(test) for name, parser in parsers.items()}
    seconds = minima({"dgemm": dgemm, **calls}, rounds=3)
    print(f"  dgemm: {n_operations / seconds.pop('dgemm') / 1e9:.0f} GFlop/s")
    for name, of_parser in seconds.items():
        print(f"  {name}: {len(test) / of_parser:,.0f} sentences/s")
    for k in (8, 16):
        start = time.process_time()
        RefinedSHAG(n_refinements=k, random_state=0).fit(train)
        print(f"  k = {k}: fit in {time.process_time() - start:.1f} CPU s")
    path = Path(tempfile.mkdtemp()) / "model.npz"
    save_model(model, path)
    n_bytes = len(pickle.dumps(model)), path.stat().st_size
    print("  pickle {:.1f} MB, file {:.1f} MB".format(*(size / 1e6 for size in n_bytes)))


def report_pruning(model, test):
    exact = model.truncate(16).set_params(prune=0)
    differences = [
        np.abs(one - other)
        for one, other in zip(
            model.predict_marginals(test), exact.predict_marginals(test), strict=True
        )
    ]
    largest = max(of_sentence.max() for of_sentence in differences)
    mean = sum(of_sentence.sum() for of_sentence in differences) / sum(map(len, differences)) / 2
    print(f"  pruned: marginals differ by at most {largest:.3f}, {mean:.2e} of the mass of a token")
    print(
        f"  exact: {100 * exact.score(test):.2f}, pruned: {100 * model.score(test):.2f}", flush=True
    )


def report_few_trees(name, train, dev):
    for n in (100, 300, 1000):
        scores = {"SPECTRAL": [], "k = 8": []}
        for seed in SEEDS:
            chosen = np.random.RandomState(seed).permutation(len(train))[:n]
            few = [train[s] for s in chosen]
            scores["SPECTRAL"].append(SpectralSHAG().fit(few).score(dev))
            model = RefinedSHAG(n_refinements=8, random_state=seed)
            scores["k = 8"].append(model.fit(few).score(dev))
        parts = "; ".join(f"{what} {percent(of_draws)}" for what, of_draws in scores.items())
        print(f"{name}, {n} trees: {parts}", flush=True)


def report_states(name, train, dev):
    for n_states in (1, 2, 3, 4, 6):
        models = [RefinedSHAG(n_states, random_state=seed).fit(train) for seed in SEEDS]
        for k in (1, 2, 4, 8, 16):
            scores = percent([model.truncate(k).score(dev) for model in models])
            print(f"{name}, n = {n_states}, k = {k}: {scores}", flush=True)


def report_recovery():
    for n_states, k in ((2, 2), (2, 4), (4, 4)):
        truth = RefinedSHAG(n_states, k, random_state=0).fit(load_english().data)
        drawn = truth.sample(25_000, random_state=1)
        likely = truth.score_samples(drawn[20_000:]).sum()
        gaps = []
        for seed in range(4):
            model = RefinedSHAG(
                n_states, k, smoothing=0.5, mixing=0, max_iter=100, random_state=seed
            )
            found = model.fit(drawn[:20_000]).score_samples(drawn[20_000:]).sum()
            gaps.append(100 * (found / likely - 1))
        without = 100 * (model.truncate(1).score_samples(drawn[20_000:]).sum() / likely - 1)
        shown = ", ".join(f"{gap:.2f}" for gap in sorted(gaps))
        print(
            f"n = {n_states}, k = {k}: {shown} % below the truth; k = 1 {without:.1f} %", flush=True
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--dev", action="store_true")
    parser.add_argument("--few", action="store_true")
    parser.add_argument("--states", action="store_true")
    parser.add_argument("--recover", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.recover:
        report_recovery()
        return
    for name, column in TREEBANKS:
        treebank = fetch_treebank(name, data_home=arguments.folder)
        if arguments.few:
            if (name, column) in (TREEBANKS[0], TREEBANKS[2]):
                report_few_trees(name, treebank.train, treebank.dev[:600])
            continue
        if arguments.states:
            report_states(name, treebank.train, treebank.dev)
            break
        feature = TokenFeature(column)
        train = feature.fit_transform(treebank.train)
        test = feature.transform(treebank.dev if arguments.dev else treebank.test)
        with threadpool_limits(1):
            model = report_accuracy(name, column, train, test)
            if column == "upos":
                report_pruning(model, test)
            if (name, column) == TREEBANKS[0]:
                report_cost(model, train, test)


if __name__ == "__main__":
    main()
