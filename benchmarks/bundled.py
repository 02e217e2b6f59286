"""Learn the parser that comes with the package, and score it.

Usage: python benchmarks/bundled.py WORK --context FOLDER [--raw FILE...] [--lines FILE...]
[--text FILE...] [--made N] [--without LIST...] [--seed N] [--part dev|test] [--treebanks NAME...]
[--output RESULTS.json]

The treebanks (default: UD_English-EWT and UD_English-GUM) are folders of SKLEARN_SHAG_DATA. FOLDER
has a transformer as TransformerVectors runs it (MPNet; encoders.py makes it), and each FILE has raw
text: a sentence in each line with spaces between its tokens (--raw), a plain sentence in each line
(--lines), or running text (--text), which the splitter splits. FILE:NUMBER are its first sentences.
N sentences of each kind are made of the trees (benchmarks/made.py). Sentences of a LIST
(benchmarks/everyday.py) are left out. Of all these files the SHA-256 is printed: the same files
give the same parser on the same processor.

Features of all trees become those of the first treebank (benchmarks/conventions.py). A splitter
learns from the trees. An average of three networks that read the transformer's vectors in context
learns from them too. It teaches, from the trees and the raw text, a network that reads a table of
words made from the same vectors; and it tags the raw text, from which a tagger learns. Teachers and
tagger look up the lemmas of the first treebank that has a word, unless they depend on the sentence.
The folder WORK keeps the vectors (1.5 kB a token), the splitter, the teachers, the parser and the
tagger, each as soon as it is made, and another run goes on from there. The numbers of the networks
are then rounded, so that the file english.npz there takes a third less: embeddings to fractions of
a power of two, and other numbers to five bits behind the first. Printed are the official scores
from text, F1 in percent, and those from gold tokens, of the parser before and after that; then, of
the latter, how often the heads of each probability are right, and the expected calibration error in
percent.
"""

import argparse
import gc
import hashlib
from collections import Counter, defaultdict
from itertools import chain, islice, pairwise
from pathlib import Path

import numpy as np
from _measure import Report, load, minima, seconds_of
from biaffine import average
from biaffine import score as score_tokens
from conventions import Convention
from everyday import letters_of, read_listed
from made import KINDS, make
from sklearn.frozen import FrozenEstimator
from vectors import KEPT, Kept

from sklearn_shag import (
    BiaffineParser,
    DistilledParser,
    Splitter,
    Tagger,
    load_model,
    make_parser_pipeline,
    save_model,
)
from sklearn_shag.features import TransformerVectors
from sklearn_shag.inspection._confidence import fill_bins, look_up_confidence
from sklearn_shag.metrics import raw_text_scores
from sklearn_shag.network import LEARNED
from sklearn_shag.network._parameters import sizes_of, view_parameters
from sklearn_shag.treebank import DependencyTree, iter_horizontal, to_text
from sklearn_shag.utils._arrays import in_chunks
from sklearn_shag.utils._parallel import one_thread

# Steps of embeddings, and bits behind the first of other numbers: of splitter, parser and tagger.
ROUNDING = (1 / 8, 5), (1 / 32, 5), (1 / 16, 5)
AT_ONCE = 2000  # sentences whose vectors are in one file
N_TEACHERS = 3
N_PASSES, N_TAGGER_PASSES = 10, 12  # of the student and of its tagger
# Their units. With 10,000 raw sentences and 6 passes, the student has an LAS of 86.0 (the mean of
# both development sets, gold tokens) with two layers of 200 units, 86.5 with three of 160, and 86.4
# with four of 128, which all take about the same time.
UNITS, TAGGER_UNITS = (160, 160, 160), (112, 112)
SURE = 0.95  # share of a word's tokens with the lemma that is looked up
SPLITTER = (48, 48)  # as good as the default, and a quarter faster
BEST = 3  # of four splitters, on the development sets and on sentences without full stops


def round_numbers(numbers, bits):
    mantissas, exponents = np.frexp(numbers.astype(np.float32))
    return np.ldexp(np.round(mantissas * 2**bits) / 2**bits, exponents)


def round_network(learner, step, bits):
    """Round the numbers of a network, and its vectors of words."""
    weights, labels = learner.weights_, getattr(learner, "labels_", None)
    sizes = sizes_of(weights, learner.vocabulary_, labels, learner.tag_values_)
    values = weights.values.astype(np.float32)
    tables = view_parameters(sizes, values).embeddings
    embeddings, others = np.split(values, [sum(table.size for table in tables)])
    values = np.concatenate([np.round(embeddings / step) * step, round_numbers(others, bits)])
    rounded = (each.astype(np.float16) for each in (values, round_numbers(weights.vectors, bits)))
    learner.weights_ = weights._replace(**dict(zip(("values", "vectors"), rounded, strict=True)))


def score(model, trees):
    """The official scores from the text of trees, in percent, and how fast that was."""
    text, _ = to_text(trees)
    model.parse_text(text[:1000])  # compiles
    parsed, seconds = seconds_of(lambda: model.parse_text(text))
    found = {name: 100 * each.f1 for name, each in raw_text_scores(trees, parsed).items()}
    return found | {"sentences per CPU s": len(parsed) / seconds}


def count_heads(model, treebanks, part):
    """Shares of heads by their probability, from gold tokens, and of right ones, in percent."""
    edges, found = (0.0, 0.5, 0.8, 0.95, 1.0), {}
    rows = [{"probability": f"{100 * a:.0f} to {100 * b:.0f}"} for a, b in pairwise(edges)]
    for name, treebank in treebanks.items():
        trees = [tree.with_heads(None) for tree in treebank[part]]
        marginals, heads = model.predict_marginals(trees), model.predict(trees)
        right, probabilities = look_up_confidence(treebank[part], marginals, heads)
        places = np.searchsorted(edges[1:-1], probabilities)
        short = name.rpartition("-")[2]
        for k, row in enumerate(rows):
            row[f"heads ({short})"] = 100 * np.mean(places == k)
            row[f"right ({short})"] = 100 * np.mean(right[places == k])
        found[name] = 100 * fill_bins(right, probabilities, 10, "uniform").expected_error
    return rows[::-1], [{"treebank": name, "ECE": error} for name, error in found.items()]


def measure_latency(model):
    """Milliseconds of one core for texts of several lengths."""
    sentence, rows = "The committee that met on Tuesday has not yet decided to publish it. ", []
    for n_sentences in (1, 5, 20, 100):
        text = sentence * n_sentences
        seconds = minima({"parse": lambda text=text: model.parse_text(text)})["parse"]
        rows.append({"sentences": n_sentences, "ms a text": 1000 * seconds})
        rows[-1]["ms a sentence"] = 1000 * seconds / n_sentences
    longest = "word " * 500
    seconds = minima({"parse": lambda: model.parse_text(longest)})["parse"]
    print(f"500 words without a full stop take {seconds:.2f} s")
    return rows


def keep_vectors(encoder, sentences, folder):
    """Take the vectors of sentences from files, or ask the transformer and write them there."""
    folder.mkdir(exist_ok=True)
    for part in in_chunks(sentences, AT_ONCE):
        forms = [tuple(getattr(sentence, "forms", sentence)) for sentence in part]
        words = "\n".join(map(" ".join, forms))
        path = folder / f"{hashlib.sha256(words.encode()).hexdigest()[:20]}.npy"
        if not path.exists():
            rows = np.concatenate([each.astype(np.float16) for each in encoder.transform(forms)])
            with open(path.with_suffix(".part"), "wb") as file:
                np.save(file, rows)
            path.with_suffix(".part").replace(path)  # whole, or not at all
        ends = np.cumsum(list(map(len, forms)))[:-1]
        KEPT.update(zip(forms, np.split(np.load(path, mmap_mode="r"), ends), strict=True))


def make_once(path, encoder, make):
    """Load a model from a file, or make it and save it there."""
    if not path.exists():
        model, seconds = seconds_of(make)
        print(f"{path.name} has been made in {seconds:.0f} CPU seconds", flush=True)
        save_model(model, path)
    return load_model(path, embeddings=encoder)


def read_part(text):
    """A file, and how many of its sentences are read: None for all."""
    path, _, number = text.partition(":")
    return Path(path), int(number) if number else None


def read_raw(splitter, trees, options):
    """Sentences of raw text by the names of their files, and those that are made."""
    texts = {path.stem: islice(iter_horizontal(path), n) for path, n in options.raw}
    for parts, is_split in ((options.lines, True), (options.text, False)):
        for path, n in parts:
            texts[path.stem] = islice(splitter.iter_split_text(path, lines=is_split), n)
    texts["made"] = (tree for _, tree in make(trees, KINDS, options.made, options.seed))
    listed = read_listed(options.without)
    for name, sentences in texts.items():
        raw = (DependencyTree(sentence.forms) for sentence in sentences)
        texts[name] = [each for each in raw if letters_of("".join(each.forms)) not in listed]
    return texts


def learn(splitter, treebanks, raw, encoder, options):
    """A splitter and a student of networks that read vectors in context, with its tagger."""
    members, trees, lemmas = [], list(chain(*treebanks)), list_sure_lemmas(treebanks)
    for seed in range(options.seed, options.seed + N_TEACHERS):
        settings = {"embeddings": encoder, "calibrate": False, "random_state": seed}
        reader = BiaffineParser(tags=LEARNED, **settings)
        path = options.work / f"teacher-{seed}.npz"
        members.append(make_once(path, encoder, lambda reader=reader: reader.fit(trees)))
        members[-1].tagger_.lemmas_ = lemmas
    teacher, table = average(members), encoder.to_table([*trees, *raw])
    settings = {"embeddings": table, "random_state": options.seed}
    sizes = {"hidden_layer_sizes": UNITS, "max_iter": N_PASSES}
    network = BiaffineParser(tags=LEARNED[0], **sizes, **settings)
    student = DistilledParser(network, FrozenEstimator(teacher))
    path = options.work / "parser.npz"
    parser = make_once(path, None, lambda: student.fit([*trees, *raw]).parser_)
    sizes = {"hidden_layer_sizes": TAGGER_UNITS, "max_iter": N_TAGGER_PASSES}
    tagger = Tagger(LEARNED, **sizes, **settings)
    path = options.work / "tagger.npz"
    tagger = make_once(path, None, lambda: tagger.fit([*trees, *teacher.parse(raw)]))
    tagger.lemmas_ = lemmas
    parser.set_params(tags=LEARNED).tagger_ = tagger
    return make_parser_pipeline(splitter, parser)


def list_sure_lemmas(treebanks):
    """List the lemmas that words with a tag nearly always have in the first treebank with them.

    The others are made by the tagger's edits, since the tagger reads the sentence.
    """
    found = {}
    for trees in treebanks:
        counts = defaultdict(Counter)
        for tree in trees:
            for form, tag, lemma in zip(tree.forms, tree.upos, tree.lemmas, strict=True):
                counts[f"{form}\t{tag}"][lemma] += 1
        for word, own in counts.items():
            lemma, n = own.most_common(1)[0]
            found.setdefault(word, lemma if n >= SURE * own.total() else None)
    return {word: lemma for word, lemma in found.items() if lemma}


def print_digests(folders, files):
    for path in sorted([*(path for folder in folders for path in folder.iterdir()), *files]):
        print(hashlib.sha256(path.read_bytes()).hexdigest(), path.name)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("--context", type=Path, metavar="FOLDER", required=True)
    for name in ("--raw", "--lines", "--text"):
        parser.add_argument(name, type=read_part, nargs="+", metavar="FILE", default=[])
    parser.add_argument("--made", type=int, metavar="N", default=0)
    parser.add_argument("--without", type=Path, nargs="+", metavar="LIST", default=[])
    parser.add_argument("--treebanks", nargs="+", default=["UD_English-EWT", "UD_English-GUM"])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", default="test", choices=["dev", "test"])
    parser.add_argument("--output", help="default: in the folder results beside the script")
    options = parser.parse_args()
    treebanks = {name: load(name) for name in options.treebanks}
    files = [path for path, _ in (*options.raw, *options.lines, *options.text)] + options.without
    print_digests([options.context, *(each.folder for each in treebanks.values())], files)
    report, rows = Report("bundled", options.output), []
    reader, encoder = (each(options.context).fit() for each in (TransformerVectors, Kept))
    with one_thread():
        first, *others = (treebank.train for treebank in treebanks.values())
        others = [tree for own in others for tree in own]
        learned = first, Convention().fit(first, others).transform(others)
        trees = list(chain(*learned))
        splitter = Splitter(hidden_layer_sizes=SPLITTER, random_state=options.seed + BEST)
        path = options.work / "splitter.npz"
        splitter = make_once(path, None, lambda: splitter.fit(trees))
        texts = read_raw(splitter, trees, options)
        parts = texts | {name: treebank.train for name, treebank in reversed(treebanks.items())}
        for sentences in parts.values():  # sentences of several parts are as in the last one
            keep_vectors(reader, sentences, options.work / "vectors")
        raw = [sentence for sentences in texts.values() for sentence in sentences]
        full, target = options.work / "full.npz", options.work / "english.npz"
        model = make_once(full, None, lambda: learn(splitter, learned, raw, encoder, options))
        for state in ("full", "rounded"):
            if state == "rounded":
                splitter, network = model[0], model[-1]
                learners = splitter, network, network.tagger_
                for learner, (step, bits) in zip(learners, ROUNDING, strict=True):
                    round_network(learner, step, bits)
                save_model(model, target)
                model = load_model(target)
            for name, treebank in treebanks.items():
                of_tokens, _ = score_tokens(model[-1], treebank[options.part])
                row = {"parser": state, "treebank": name} | score(model, treebank[options.part])
                rows.append(row | {f"{key}, tokens": value for key, value in of_tokens.items()})
        report.add(f"bundled, {options.part}", rows)
        heads, errors = count_heads(model[-1], treebanks, options.part)
        report.add("probabilities", heads)
        report.add("calibration", errors)
        gc.freeze()  # collections of the sentences in memory are no part of parsing
        report.add("latency", measure_latency(model))
    print(f"{target} has {target.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
