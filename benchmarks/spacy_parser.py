"""spaCy trained on the same files, from text: what a pipeline with Splitter is compared with.

Usage: python benchmarks/spacy_parser.py TREEBANK... [--output RESULTS.json]

The treebanks are folders of SKLEARN_SHAG_DATA. It needs ``pip install spacy``, which nothing else
does, and up to an hour a treebank on one core. Tagger, morphologizer, lemmatizer and parser are
trained with the configuration that spaCy proposes for processors without vectors ("efficiency").
They share their layers, and training stops by the development set. Tokens of several words stay
single tokens, since spaCy does not split them. The test set is scored as in the official
evaluation.
"""

import argparse
import tempfile
import time
from pathlib import Path

import spacy
from _measure import Report
from spacy.cli.convert import convert
from spacy.cli.init_config import init_config
from spacy.cli.train import train

from sklearn_shag.datasets import fetch_treebank
from sklearn_shag.metrics import raw_text_scores
from sklearn_shag.treebank import from_spacy, to_text

LANGUAGES = {"Afrikaans": "af", "English": "en", "French": "fr", "Tamil": "ta", "Turkish": "tr"}
PIPELINE = ["tagger", "morphologizer", "trainable_lemmatizer", "parser"]


def train_spacy(data, language, folder, **settings):
    """Train on a treebank; with the CPU seconds that it took and the megabytes on disk."""
    paths = settings
    for part in ("train", "dev"):
        path = next(data.folder.glob(f"*-ud-{part}.conllu"))
        how = {"converter": "conllu", "n_sents": 10, "merge_subtokens": True}
        convert(path, folder, file_type="spacy", **how)
        paths[f"paths.{part}"] = str(folder / f"{path.stem}.spacy")
    config = init_config(lang=language, pipeline=PIPELINE, optimize="efficiency", gpu=False)
    config.to_disk(folder / "config.cfg")
    started = time.process_time()
    train(folder / "config.cfg", folder / "model", overrides=paths)
    seconds = time.process_time() - started
    best = folder / "model" / "model-best"
    n_bytes = sum(path.stat().st_size for path in best.rglob("*") if path.is_file())
    return spacy.load(best), seconds, n_bytes / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("treebank", nargs="+")
    parser.add_argument("--output", help="default: in the folder results beside the script")
    arguments = parser.parse_args()
    report, rows = Report("spacy_parser", arguments.output), []
    for treebank in arguments.treebank:
        data = fetch_treebank(treebank, download_if_missing=False)
        language = LANGUAGES[treebank.removeprefix("UD_").partition("-")[0]]
        with tempfile.TemporaryDirectory() as folder:
            model, seconds, megabytes = train_spacy(data, language, Path(folder))
        text, _ = to_text(data.test)
        started = time.process_time()
        parsed = [tree for doc in model.pipe(text.split("\n\n")) for tree in from_spacy(doc)]
        speed = len(data.test) / (time.process_time() - started)
        scores = raw_text_scores(data.test, parsed)
        row = {"treebank": treebank} | {name: 100 * score.f1 for name, score in scores.items()}
        row |= {"training (CPU s)": seconds, "sentences per CPU s": speed, "MB": megabytes}
        rows.append(row)
        report.add("spacy raw", rows)


if __name__ == "__main__":
    main()
