"""The command `evaluate`, and reading of sentences and printing of JSON for all commands."""

import json
import os
import sys
import warnings
from itertools import chain, product, tee, zip_longest
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from sklearn_shag.cli._errors import ErrorCounts
from sklearn_shag.metrics import is_punctuation, raw_text_scores, score_report
from sklearn_shag.treebank import CONLLU, ConlluError, DependencyTree, list_sources
from sklearn_shag.utils._heads import UNKNOWN
from sklearn_shag.utils._io import STANDARD
from sklearn_shag.utils._messages import escape_acting, printable, shorten, warn

SCORE_NAMES = {
    "uas": "UAS",
    "las": "LAS",
    "clas": "CLAS",
    "label_accuracy": "label accuracy",
    "exact_match": "exact match",
    "upos": "UPOS",
    "xpos": "XPOS",
    "feats": "FEATS",
    "tags": "AllTags",
    "lemma": "Lemmas",
}


class LocatedTree(NamedTuple):
    """A tree with the file that it was read from, its number and its first line there, from 1."""

    path: str
    number: int
    tree: DependencyTree | ConlluError
    line: int


class LeftOut:
    """Invalid sentences that a command leaves out: their number, and a description of the first."""

    def __init__(self):
        self.n_read, self.n_left_out, self.first = 0, 0, None

    def drop(self, sentences, find_fault):
        """Yield the sentences in which `find_fault` finds no fault, and count all."""
        for sentence in sentences:
            fault = find_fault(sentence)
            self.n_read += 1
            if fault is None:
                yield sentence
            else:
                self.n_left_out += 1
                self.first = self.first or str(fault)

    def tell(self, files):
        """Warn once of what was left out; if none of the sentences is left, raise a ValueError."""
        if not self.n_read:
            names = ("standard input" if path == STANDARD else path for path in files)
            raise ValueError(f"There are no sentences in {', '.join(names)}.")
        message = (
            f"{self.n_left_out} of {self.n_read} sentences were left out as invalid; the first: "
            f"{self.first}"
        )
        if self.n_left_out == self.n_read:
            raise ValueError(message)
        if self.n_left_out:
            warn(message, UserWarning)


def _read_conllu(path, skips):
    return CONLLU.sentences(CONLLU.pieces([path], skips=skips))


def iter_sentences(files, on_error, read=_read_conllu):
    """Read files of :func:`list_sources`, one after the other.

    Parameters
    ----------
    files : list of str
    on_error : {"stop", "skip"}
        What to do at an invalid sentence. With "skip", its error takes the place of its tree, and
        what cannot be read of a file is left out with a warning.
    read : function
        Yields the sentences of a file as formats do; its second argument is whether to skip.

    Yields
    ------
    sentence : LocatedTree
        Its number counts from 1 in each file.
    """
    for path in files:
        for number, (_, line, _, tree) in enumerate(read(path, on_error == "skip"), start=1):
            if on_error == "stop" and isinstance(tree, ConlluError):
                raise tree
            yield LocatedTree("<stdin>" if path == STANDARD else path, number, tree, line)


def is_conllu(path):
    """Whether the name of a file says that it is CoNLL-U."""
    return path.endswith((".conllu", ".conllu.gz"))


def find_invalid(*sentences):
    """Return the error of the first sentence, None if it is missing, that is invalid, or None."""
    return next((s.tree for s in sentences if s and isinstance(s.tree, ConlluError)), None)


def print_json(content):
    """Print a JSON object with control characters escaped, and letters if they must be."""
    is_narrow = "utf" not in (getattr(sys.stdout, "encoding", None) or "utf").lower()
    lines = json.dumps(content, indent=2, ensure_ascii=is_narrow).split("\n")
    print("\n".join(escape_acting(line, lambda sign: f"\\u{ord(sign):04x}") for line in lines))


def describe_place(sentence):
    """Name a sentence by its number, its file and its sent_id, for messages."""
    sent_id = sentence.tree.sent_id
    name = f" (sent_id {sent_id})" if sent_id else ""
    return f"sentence {sentence.number} of {sentence.path}{name}"


def find_lack(sentence):
    """Describe the heads that a LocatedTree lacks, or return None if it is whole."""
    if sentence.tree.heads is None:
        return "no heads"
    return "words without heads" if UNKNOWN in sentence.tree.heads else None


def evaluate(options):
    """Print scores, their intervals, and right heads by symbol and direction.

    Parameters
    ----------
    options : argparse.Namespace
        With `gold`, `system`, `raw`, `by`, `ignore_punctuation`, `errors`, `train`, `on_error` and
        `json`.

    Raises
    ------
    ValueError
        If the files do not hold the same sentences, those parsed with all heads (with `raw`, also
        all without), or no token counts.
    """
    files = list_sources(options.gold), list_sources(options.system)
    _check_files(*files)
    if options.raw and options.errors:
        raise ValueError("--errors is for the same words on both sides; leave out --raw.")
    if options.raw:
        _evaluate_raw(options, *files)
        return
    if options.train and not options.errors:
        raise ValueError("--train is for unknown words among errors; add --errors 10.")
    errors = ErrorCounts(options.errors, options.train)
    pairs = tee(errors.watch(_iter_tree_pairs(options, *files)))
    trees = (map(itemgetter(side), copy) for side, copy in enumerate(pairs))
    ignore = is_punctuation if options.ignore_punctuation else None
    report = score_report(*trees, ignore=ignore, by=options.by)
    if report.n_unknown == report.n_tokens:
        raise ValueError(f"{options.gold} is without heads, so it cannot be scored.")
    if options.json:
        content = {"gold": files[0], "system": files[1], **_as_json(report, options)}
        print_json(content | ({"errors": errors.summarize()} if options.errors else {}))
    else:
        _print_report(report, options)
        if options.errors:
            errors.print_tables()


def _evaluate_raw(options, *files):
    """Print the official scores of raw text, which both sides may have split differently."""
    if options.ignore_punctuation or options.on_error == "skip":
        raise ValueError("--raw scores all words; leave out --ignore-punctuation and --on-error.")
    trees = []
    for side in files:
        sentences = list(iter_sentences(side, "stop"))
        has_heads = any(sentence.tree.heads is not None for sentence in sentences)
        trees.append([_whole_tree(each) if has_heads else each.tree for each in sentences])
    try:
        scores = raw_text_scores(*trees)
    except ValueError as error:
        raise ValueError(
            str(error).replace("y_true", options.gold).replace("y_pred", options.system)
        ) from None
    if options.json:
        scores = {name: score._asdict() for name, score in scores.items()}
        print_json({"gold": files[0], "system": files[1], **scores})
    else:
        print(f"{'':<10}{'precision':>11}{'recall':>9}{'F1':>9}")
        for name, score in scores.items():
            precision, recall, f1 = (100 * value for value in score)
            print(f"{name:<10}{precision:>11.2f}{recall:>9.2f}{f1:>9.2f}")


def _check_files(gold, system):
    if STANDARD in gold and STANDARD in system:
        raise ValueError("Standard input, '-', can be read only once.")
    for a, b in product(gold, system):
        if STANDARD not in (a, b) and os.path.realpath(a) == os.path.realpath(b):
            warnings.warn(f"{a} is compared with itself", UserWarning, stacklevel=2)


def _iter_tree_pairs(options, gold_files, system_files):
    """Yield pairs of a true and a parsed tree, after checking that they have the same words."""
    sides = (iter_sentences(files, options.on_error) for files in (gold_files, system_files))
    names, invalid = (options.gold, options.system), LeftOut()
    pairs = invalid.drop(zip_longest(*sides), lambda pair: find_invalid(*pair))
    first = next(pairs, (None, None))
    for name, sentence in zip(names, first, strict=True):
        if sentence is None:
            invalid.tell(names)
            raise ValueError(f"{name} holds no sentences.")
    for true, parsed in chain([first], pairs):
        difference = _find_difference(true, parsed)
        if difference is not None:
            raise ValueError(
                f"{options.gold} and {options.system} do not hold the same sentences: {difference}."
            )
        yield true.tree, _whole_tree(parsed)
    invalid.tell(names)


def _whole_tree(sentence):
    """Return the tree of a sentence, after checking that all its heads are known."""
    if sentence.tree.heads is None:
        raise ValueError(f"{describe_place(sentence)} is without heads, so it cannot be scored.")
    if UNKNOWN in sentence.tree.heads:
        raise ValueError(
            f"{describe_place(sentence)} has words without heads; only whole trees can be scored."
        )
    return sentence.tree


def _find_difference(true, parsed):
    """Describe the difference of two sentences, one of them perhaps missing, or return None."""
    if true is None or parsed is None:
        return (
            f"only one of them has {describe_place(true or parsed)}. For text that was split "
            f"differently, add --raw"
        )
    if true.tree.forms == parsed.tree.forms:
        return None
    pairs = enumerate(zip_longest(true.tree.forms, parsed.tree.forms), start=1)
    token, words = next((token, pair) for token, pair in pairs if pair[0] != pair[1])
    first, second = ("no word" if word is None else shorten(word) for word in words)
    return (
        f"word {token} is {first} in {describe_place(true)}, and {second} in "
        f"{describe_place(parsed)}. Both must have the same words in the same order; for text that "
        f"was split differently, add --raw"
    )


def _as_json(report, options):
    rows = [
        {
            "symbol": symbol,
            "left": {"correct": int(right[0]), "total": int(total[0])},
            "right": {"correct": int(right[1]), "total": int(total[1])},
        }
        for symbol, right, total in zip(*report.breakdown, strict=True)
    ]
    return {
        "sentences": report.n_sentences,
        "tokens": report.n_tokens,
        "unknown_tokens": report.n_unknown,
        "scored_tokens": report.n_scored,
        "punctuation": "ignored" if options.ignore_punctuation else "scored",
        **{name: interval._asdict() for name, interval in report.scores.items()},
        "confidence": report.confidence_level,
        "resamples": report.n_resamples,
        "breakdown": {"by": options.by, "rows": rows},
    }


def _print_report(report, options):
    scored = "punctuation scored"
    if options.ignore_punctuation:
        n_ignored = report.n_tokens - report.n_unknown - report.n_scored
        scored = f"{n_ignored} of them punctuation and ignored"
    if report.n_unknown:
        scored = f"{report.n_unknown} of them without true heads and left out, {scored}"
    print(f"{report.n_sentences} sentences, {report.n_tokens} tokens, {scored}\n")
    print(f"{'':<15}{'score':>7}   {100 * report.confidence_level:.0f} % interval")
    for name, interval in report.scores.items():
        score, low, high = (100 * value for value in interval)
        print(f"{SCORE_NAMES[name]:<15}{score:>7.2f}   {low:.2f} to {high:.2f}")
    print(f"(intervals: {report.n_resamples} resamples of the sentences)\n")
    named, place = ("true head", "it") if options.by == "head" else ("word", "their heads")
    print(f"Right heads by the symbol of the {named}, for words left and right of {place}:\n")
    rows = [
        (printable(symbol), *np.transpose([[*right, sum(right)], [*total, sum(total)]]))
        for symbol, right, total in zip(*report.breakdown, strict=True)
    ]
    rows.sort(key=lambda row: -row[3][1])
    width = max(len("symbol"), *(len(row[0]) for row in rows))
    print(f"{'symbol':<{width}}{'left':>20}{'right':>20}{'both':>20}")
    for symbol, *cells in rows:
        print(f"{symbol:<{width}}{''.join(f'{_format_share(*cell):>20}' for cell in cells)}")


def _format_share(correct, total):
    return f"{100 * correct / total:.1f} % of {total:>6.0f}" if total else "-"
