"""Learn the parser that comes with the package, and score it.

Usage: python benchmarks/bundled.py TARGET.npz [--seed N] [--full FULL.npz] [--output RESULTS.json]

UD_English-EWT has to be a folder of SKLEARN_SHAG_DATA. A splitter and a network for all columns
learn from its training set, which takes five minutes on one core. The numbers of the networks are
then rounded, so that the file takes less than half: values of embeddings to sixteenths, and others
to five bits behind the first. Printed are the official scores from the text of the development and
the test set, F1 in percent, of the parser before and after that. With --full it is loaded, as an
earlier run has saved it, and not learned again.
"""

import argparse
from pathlib import Path

import numpy as np
from _measure import Report, load, minima, seconds_of

from sklearn_shag import BiaffineParser, Splitter, load_model, make_parser_pipeline, save_model
from sklearn_shag.metrics import raw_text_scores
from sklearn_shag.network import LEARNED
from sklearn_shag.network._parameters import sizes_of, view_parameters
from sklearn_shag.treebank import to_text
from sklearn_shag.utils._parallel import one_thread

STEP, BITS = 1 / 16, 5


def round_network(learner):
    """Round the numbers of a network."""
    labels = getattr(learner, "labels_", None)
    sizes = sizes_of(learner.weights_, learner.vocabulary_, labels, learner.tag_values_)
    values = learner.weights_.values.astype(np.float32)
    tables = view_parameters(sizes, values).embeddings
    n_embeddings = sum(table.size for table in tables)
    embeddings, others = np.split(values, [n_embeddings])
    mantissas, exponents = np.frexp(others)
    others = np.ldexp(np.round(mantissas * 2**BITS) / 2**BITS, exponents)
    values = np.concatenate([np.round(embeddings / STEP) * STEP, others])
    learner.weights_ = learner.weights_._replace(values=values.astype(np.float16))


def score(model, trees):
    """The official scores from the text of trees, in percent, and how fast that was."""
    text, _ = to_text(trees)
    model.parse_text(text[:1000])  # compiles
    parsed, seconds = seconds_of(lambda: model.parse_text(text))
    found = {name: 100 * each.f1 for name, each in raw_text_scores(trees, parsed).items()}
    return found | {"sentences a CPU s": len(parsed) / seconds}


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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--full", type=Path)
    parser.add_argument("--output", help="default: in the folder results beside the script")
    options = parser.parse_args()
    report, treebank, rows = Report("bundled", options.output), load("UD_English-EWT"), []
    with one_thread():
        if options.full is not None and options.full.exists():
            model = load_model(options.full)
        else:
            network = BiaffineParser(tags=LEARNED, random_state=options.seed)
            model = make_parser_pipeline(Splitter(random_state=options.seed), network)
            _, seconds = seconds_of(lambda: model.fit(treebank.train))
            print(f"learned in {seconds:.0f} CPU seconds")
            if options.full is not None:
                save_model(model, options.full)
        for state in ("full", "rounded"):
            if state == "rounded":
                splitter, network = model[0], model[-1]
                for learner in (splitter, network, network.tagger_):
                    round_network(learner)
                save_model(model, options.target)
                model = load_model(options.target)
            for part in ("dev", "test"):
                rows.append({"parser": state, "set": part} | score(model, treebank[part]))
        report.add("bundled", rows)
        report.add("latency", measure_latency(model))
    print(f"{options.target} has {options.target.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
