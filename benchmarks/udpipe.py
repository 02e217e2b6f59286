"""UDPipe 1 trained on the same files, with their tags: what CRFParser is compared with.

Usage: python benchmarks/udpipe.py TREEBANK... [--tags] [--output RESULTS.json]

The treebanks are folders of SKLEARN_SHAG_DATA. It needs ``pip install ufal.udpipe``, which nothing
else does, and from minutes (Tamil) to hours (English) on one core. The parser is trained with
UDPipe's own defaults for forms, UPOS and features, on the training set, and stops by itself at the
best score on the development set; tags are those of the files. With --tags it sees UPOS alone.
"""

import argparse
import time
from pathlib import Path

from _measure import Report
from ufal.udpipe import InputFormat, Model, ProcessingError, Sentence, Sentences, Trainer

from sklearn_shag.datasets import fetch_treebank
from sklearn_shag.metrics import labeled_attachment_score, unlabeled_attachment_score
from sklearn_shag.treebank import heads

# What the authors' own models of Universal Dependencies have in common.
OPTIONS = (
    "iterations=10;transition_system=projective;transition_oracle=dynamic;structured_interval=8;"
    "hidden_layer=200;learning_rate=0.02;learning_rate_final=0.001;l2=0.5;run=1;use_gold_tags=1;"
    "embedding_upostag=20;embedding_xpostag=0;embedding_lemma=0;embedding_deprel=20;"
)
WORDS, TAGS = "embedding_form=50;embedding_feats=20;", "embedding_form=0;embedding_feats=0;"


def read(path):
    """Read a file as UDPipe does."""
    reader, found = InputFormat.newConlluInputFormat(), Sentences()
    reader.setText(path.read_text(encoding="utf-8"))
    while reader.nextSentence(sentence := Sentence()):
        found.push_back(sentence)
    return found


def train(folder, options):
    """Train a parser; return it with the CPU seconds that it took."""
    started, error = time.process_time(), ProcessingError()
    parts = [read(next(folder.glob(f"*-ud-{part}.conllu"))) for part in ("train", "dev")]
    trained = Trainer.train("morphodita_parsito", *parts, "none", "none", options, error)
    if error.occurred():
        raise RuntimeError(error.message)
    seconds, path = time.process_time() - started, folder.name + ".udpipe"
    Path(path).write_bytes(trained)
    model = Model.load(path)
    Path(path).unlink()
    return model, seconds


def parse(model, path, trees):
    """Parse a file with its tags, as trees, and say how many sentences a second that were."""
    started, parsed = time.process_time(), []
    for sentence, tree in zip(read(path), trees, strict=True):
        model.parse(sentence, Model.DEFAULT)
        words = list(sentence.words)[1:]
        parsed.append(tree.with_heads([w.head for w in words], [w.deprel for w in words]))
    return parsed, len(trees) / (time.process_time() - started)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("treebank", nargs="+")
    parser.add_argument("--tags", action="store_true")
    parser.add_argument("--output", help="default: in the folder results beside the script")
    arguments = parser.parse_args()
    name = "udpipe tags" if arguments.tags else "udpipe words"
    report, rows = Report(name.replace(" ", "_"), arguments.output), []
    for treebank in arguments.treebank:
        data = fetch_treebank(treebank, download_if_missing=False)
        model, seconds = train(data.folder, OPTIONS + (TAGS if arguments.tags else WORDS))
        parsed, speed = parse(model, next(data.folder.glob("*-ud-test.conllu")), data.test)
        rows.append(
            {
                "treebank": treebank,
                "UAS": 100 * unlabeled_attachment_score(heads(data.test), heads(parsed)),
                "LAS": 100 * labeled_attachment_score(data.test, parsed),
                "CPU s": seconds,
                "sentences/s": speed,
            }
        )
        report.add(name, rows)


if __name__ == "__main__":
    main()
