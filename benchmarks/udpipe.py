"""UDPipe 1 trained on the same files: what CRFParser and BiaffineParser are compared with.

Usage: python benchmarks/udpipe.py TREEBANK... [--tags | --tokens | --columns | --raw]
[--output RESULTS.json]

The treebanks are folders of SKLEARN_SHAG_DATA. It needs ``pip install ufal.udpipe``, which nothing
else does, and from minutes (Tamil) to hours (English) on one core. The parser is trained with
UDPipe's own defaults for forms, UPOS and features, on the training set, and stops by itself at the
best score on the development set; tags are those of the files. With --tags it sees UPOS alone.
With --tokens a tagger is trained too, by its own defaults, the parser learns from its tags, and the
test set is parsed with the tags of the file, and again from its tokens alone. Relations are scored
without subtypes. With --columns a tagger alone is trained, and all columns that it fills in are
scored, "AllTags" as UPOS, XPOS and features together. With --raw tokenizer, tagger and parser are
trained, the first two by their defaults, and the text of development and test set is split, tagged
and parsed, and scored as in the official evaluation.
"""

import argparse
import io
import time
from pathlib import Path

from _measure import Report
from ufal.udpipe import InputFormat, Model, Pipeline, ProcessingError, Sentence, Sentences, Trainer

from sklearn_shag.datasets import fetch_treebank
from sklearn_shag.metrics import (
    labeled_attachment_score,
    raw_text_scores,
    unlabeled_attachment_score,
)
from sklearn_shag.treebank import heads, read_conllu, to_text

# What the authors' own models of Universal Dependencies have in common.
OPTIONS = (
    "iterations=10;transition_system=projective;transition_oracle=dynamic;structured_interval=8;"
    "hidden_layer=200;learning_rate=0.02;learning_rate_final=0.001;l2=0.5;run=1;"
    "embedding_upostag=20;embedding_xpostag=0;embedding_lemma=0;embedding_deprel=20;"
)
WORDS, TAGS = "embedding_form=50;embedding_feats=20;", "embedding_form=0;embedding_feats=0;"
GOLD = "use_gold_tags=1;"
COLUMNS = {
    "UPOS": ["upostag"],
    "XPOS": ["xpostag"],
    "FEATS": ["feats"],
    "AllTags": ["upostag", "xpostag", "feats"],
    "Lemmas": ["lemma"],
}


def read(path):
    """Read a file as UDPipe does."""
    reader, found = InputFormat.newConlluInputFormat(), Sentences()
    reader.setText(path.read_text(encoding="utf-8"))
    while reader.nextSentence(sentence := Sentence()):
        found.push_back(sentence)
    return found


def train(folder, tagger, options, tokenizer="none", save=None):
    """Train parser, tagger and tokenizer unless "none"; with the CPU seconds they took.

    The model is kept in the file `save`, if there is one.
    """
    started, error = time.process_time(), ProcessingError()
    parts = [read(next(folder.glob(f"*-ud-{part}.conllu"))) for part in ("train", "dev")]
    trained = Trainer.train("morphodita_parsito", *parts, tokenizer, tagger, options, error)
    if error.occurred():
        raise RuntimeError(error.message)
    seconds, path = time.process_time() - started, Path(save or folder.name + ".udpipe")
    path.write_bytes(trained)
    model = Model.load(str(path))
    if save is None:
        path.unlink()
    return model, seconds


def parse(model, path, trees, tagged):
    """Parse a file, with its tags or its tokens alone.

    Returns
    -------
    row : dict
        Scores, with that of tags, and how many sentences a second that were.
    """
    sentences = list(read(path))
    started = time.process_time()
    for sentence in sentences:
        if not tagged:
            model.tag(sentence, Model.DEFAULT)
        model.parse(sentence, Model.DEFAULT)
    speed = len(trees) / (time.process_time() - started)
    words = [list(sentence.words)[1:] for sentence in sentences]
    parsed = [
        tree.with_heads([w.head for w in its_words], [w.deprel for w in its_words])
        for tree, its_words in zip(trees, words, strict=True)
    ]
    right = [
        w.upostag == tag
        for tree, its_words in zip(trees, words, strict=True)
        for w, tag in zip(its_words, tree.upos, strict=True)
    ]
    return {
        "UPOS": 100 * sum(right) / len(right),
        "UAS": 100 * unlabeled_attachment_score(heads(trees), heads(parsed)),
        "LAS": 100 * labeled_attachment_score(trees, parsed),
        "sentences per CPU s": speed,
    }


def score_columns(model, path):
    """The share of right values of each column, in percent, from tokens alone."""
    right = {name: [] for name in COLUMNS}
    for true, tagged in zip(read(path), read(path), strict=True):
        for word in list(tagged.words)[1:]:
            word.upostag = word.xpostag = word.feats = word.lemma = ""
        model.tag(tagged, Model.DEFAULT)
        for one, other in zip(list(true.words)[1:], list(tagged.words)[1:], strict=True):
            for name, columns in COLUMNS.items():
                is_right = all(getattr(one, column) == getattr(other, column) for column in columns)
                right[name].append(is_right)
    return {name: 100 * sum(of_name) / len(of_name) for name, of_name in right.items()}


def score_text(model, trees):
    """The scores of the official evaluation from the text of trees, in percent."""
    text, _ = to_text(trees)
    pipeline = Pipeline(model, "tokenize", Pipeline.DEFAULT, Pipeline.DEFAULT, "conllu")
    started, error = time.process_time(), ProcessingError()
    parsed = pipeline.process(text, error)
    seconds = time.process_time() - started
    if error.occurred():
        raise RuntimeError(error.message)
    scores = raw_text_scores(trees, read_conllu(io.StringIO(parsed)))
    found = {name: 100 * score.f1 for name, score in scores.items()}
    return found | {"sentences per CPU s": len(trees) / seconds}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("treebank", nargs="+")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--tags", action="store_true")
    what.add_argument("--tokens", action="store_true")
    what.add_argument("--columns", action="store_true")
    what.add_argument("--raw", action="store_true")
    parser.add_argument("--output", help="default: in the folder results beside the script")
    arguments = parser.parse_args()
    names = "tags", "tokens", "columns", "raw"
    name = next((name for name in names if getattr(arguments, name)), "words")
    options = OPTIONS + (TAGS if arguments.tags else WORDS)
    options += "" if arguments.tokens or arguments.raw else GOLD
    tagger = "" if arguments.tokens or arguments.columns or arguments.raw else "none"
    tokenizer = "" if arguments.raw else "none"
    options = "none" if arguments.columns else options
    report, rows = Report(f"udpipe_{name}", arguments.output), []
    for treebank in arguments.treebank:
        data = fetch_treebank(treebank, download_if_missing=False)
        model, seconds = train(data.folder, tagger, options, tokenizer)
        path = next(data.folder.glob("*-ud-test.conllu"))
        if arguments.columns:
            rows.append({"treebank": treebank} | score_columns(model, path))
            rows[-1]["training (CPU s)"] = seconds
            report.add("udpipe columns", rows)
            continue
        if arguments.raw:
            for part in ("dev", "test"):
                row = {"treebank": treebank, "set": part} | score_text(model, data[part])
                rows.append(row | {"training (CPU s)": seconds})
            report.add("udpipe raw", rows)
            continue
        for tagged in (True, False) if arguments.tokens else (True,):
            row = {"treebank": treebank, "from": "tags of the file" if tagged else "tokens alone"}
            row |= parse(model, path, data.test, tagged)
            rows.append(row | {"training (CPU s)": seconds})
        report.add(f"udpipe {name}", rows)


if __name__ == "__main__":
    main()
