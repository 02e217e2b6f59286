"""The command evaluate, and sentences as commands read them."""

import json
import os
import warnings
from collections import defaultdict
from itertools import chain, compress, product, zip_longest
from typing import NamedTuple

import numpy as np

from sklearn_shag.encoding import read_column
from sklearn_shag.metrics import (
    align_heads,
    attachment_breakdown,
    is_punctuation,
    labeled_counts,
    raw_text_scores,
)
from sklearn_shag.treebank import (
    MISSING,
    DependencyTree,
    fill_unknown,
    iter_conllu,
    list_sources,
)
from sklearn_shag.utils._arrays import in_chunks
from sklearn_shag.utils._heads import UNKNOWN
from sklearn_shag.utils._io import STANDARD
from sklearn_shag.utils._messages import escape_acting, printable, shorten

N_RESAMPLES = 1000
CONFIDENCE = 0.95
CHUNK = 1000  # sentences that are held at once
# In the order in which they are printed; those of relations where both sides have some.
SCORES = {
    "uas": "UAS",
    "las": "LAS",
    "clas": "CLAS",
    "label_accuracy": "label accuracy",
    "exact_match": "exact match",
}
# The same of the columns of words, all of them counted; "tags" are UPOS, XPOS and FEATS together.
COLUMNS = {"upos": "UPOS", "xpos": "XPOS", "feats": "FEATS", "tags": "AllTags", "lemma": "Lemmas"}


class Sentence(NamedTuple):
    """A tree and where it stands."""

    path: str
    number: int
    tree: DependencyTree


def iter_sentences(files):
    """Read files of :func:`list_sources`, one after the other.

    Parameters
    ----------
    files : list of str

    Yields
    ------
    sentence : Sentence
        Their numbers count from 1 in each file.
    """
    for path in files:
        for number, tree in enumerate(iter_conllu(path), start=1):
            yield Sentence("<stdin>" if path == STANDARD else path, number, tree)


def print_json(content):
    """Print a JSON object; letters are themselves, and what a terminal acts on is escaped."""
    lines = json.dumps(content, indent=2, ensure_ascii=False).split("\n")
    print("\n".join(escape_acting(line, lambda sign: f"\\u{ord(sign):04x}") for line in lines))


def describe(sentence):
    """Say where a sentence stands."""
    sent_id = sentence.tree.sent_id
    name = f" (sent_id {sent_id})" if sent_id else ""
    return f"sentence {sentence.number} of {sentence.path}{name}"


def require_some(sentences, files):
    """Refuse files without any sentences."""
    if not sentences:
        names = ("standard input" if path == STANDARD else path for path in files)
        raise ValueError(f"There are no sentences in {', '.join(names)}.")


def evaluate(options):
    """Print scores, their intervals and where the errors are.

    Parameters
    ----------
    options : argparse.Namespace
        With `gold`, `system`, `raw`, `by`, `ignore_punctuation` and `json`.

    Raises
    ------
    ValueError
        If the files do not hold the same sentences, those parsed with all heads, or no token
        counts.
    """
    gold_files, system_files = list_sources(options.gold), list_sources(options.system)
    _check_files(gold_files, system_files)
    if options.raw:
        _evaluate_raw(options, gold_files, system_files)
        return
    ignore = is_punctuation if options.ignore_punctuation else None
    pairs = zip_longest(iter_sentences(gold_files), iter_sentences(system_files))
    first = next(pairs, (None, None))
    for side, sentence in zip((options.gold, options.system), first, strict=True):
        if sentence is None:
            raise ValueError(f"{side} holds no sentences.")
    parts = []
    for chunk in in_chunks(chain([first], pairs), CHUNK):
        _check_sentences(options, chunk)
        sides = [[sentence.tree for sentence in side] for side in zip(*chunk, strict=True)]
        parts.append(_count(*sides, options.by, ignore))
    report = _summarise(parts, options.gold, options.by, ignore)
    if options.json:
        print_json({"gold": gold_files, "system": system_files, **report})
    else:
        _print(report)


def _evaluate_raw(options, *files):
    """Print the official scores of text that two sides may have split in two ways."""
    if options.ignore_punctuation:
        raise ValueError("--raw scores all words; leave out --ignore-punctuation.")
    trees = []
    for side in files:
        sentences = list(iter_sentences(side))
        require_some(sentences, side)
        for sentence in sentences:
            _require_heads(sentence)
        trees.append([sentence.tree for sentence in sentences])
    try:
        scores = raw_text_scores(*trees)
    except ValueError as error:
        message = str(error).replace("y_true", options.gold).replace("y_pred", options.system)
        raise ValueError(message) from None
    if options.json:
        scores = {name: score._asdict() for name, score in scores.items()}
        print_json({"gold": files[0], "system": files[1], **scores})
        return
    print(f"{'':<10}{'precision':>11}{'recall':>9}{'F1':>9}")
    for name, score in scores.items():
        precision, recall, f1 = (100 * value for value in score)
        print(f"{name:<10}{precision:>11.2f}{recall:>9.2f}{f1:>9.2f}")


def _check_files(gold, system):
    if STANDARD in gold and STANDARD in system:
        raise ValueError("Standard input, '-', can be read only once.")
    for a, b in product(gold, system):
        if STANDARD not in (a, b) and os.path.samefile(a, b):
            warnings.warn(f"{a} is compared with itself", UserWarning, stacklevel=2)


def _check_sentences(options, pairs):
    for true, parsed in pairs:
        difference = _find_difference(true, parsed)
        if difference is not None:
            raise ValueError(
                f"{options.gold} and {options.system} do not hold the same sentences: {difference}."
            )
        _require_heads(parsed)


def _require_heads(sentence):
    if sentence.tree.heads is None:
        raise ValueError(f"{describe(sentence)} is without heads, so it cannot be scored.")
    if UNKNOWN in sentence.tree.heads:
        raise ValueError(
            f"{describe(sentence)} has words without heads; only whole trees can be scored."
        )


def _find_difference(true, parsed):
    """What differs between two sentences, one of which may be missing; None if nothing does."""
    if true is None or parsed is None:
        return f"only one of them has {describe(true or parsed)}"
    if true.tree.forms == parsed.tree.forms:
        return None
    pairs = enumerate(zip_longest(true.tree.forms, parsed.tree.forms), start=1)
    token, words = next((token, pair) for token, pair in pairs if pair[0] != pair[1])
    first, second = ("no word" if word is None else shorten(word) for word in words)
    return (
        f"word {token} is {first} in {describe(true)}, and {second} in {describe(parsed)}. Both "
        f"must have the same words in the same order"
    )


class Counts(NamedTuple):
    """What is counted in some sentences."""

    # (n_sentences, 2): above and below, such as right of all heads
    scores: dict[str, np.ndarray]
    columns: dict[str, np.ndarray]  # the same of the values of columns
    has_values: dict[str, np.ndarray]  # (2,): whether true and parsed sentences have any
    breakdown: dict[str, np.ndarray]  # (2, 2): right and all heads, to the left and to the right
    n_tokens: int
    n_unknown: int
    is_parsed: bool  # whether any true head is known
    is_tagged: bool
    has_labels: np.ndarray  # (2,): whether any true, and any parsed relation is known


def _count(gold, system, by, ignore):
    """Count in every sentence what scores are sums of."""
    n_tokens = sum(map(len, gold))
    is_tagged = any(set(tree.symbols) != {MISSING} for tree in gold)
    has_labels = np.array([False, any(set(tree.deprels) != {MISSING} for tree in system)])
    columns = _count_columns(gold, system)
    if all(tree.heads is None for tree in gold):
        scores = dict.fromkeys(SCORES, np.zeros((len(gold), 2)))
        return Counts(scores, *columns, {}, n_tokens, n_tokens, False, is_tagged, has_labels)
    gold, ignore = fill_unknown(gold), ignore if is_tagged else None
    starts = np.cumsum([0, *map(len, gold[:-1])])
    heads, counted, _ = align_heads(gold, system, None, ignore)
    uas = np.add.reduceat(np.transpose([heads.right & counted, counted]).astype(float), starts)
    scored = uas[:, 1] > 0
    exact = np.transpose([scored & (uas[:, 0] == uas[:, 1]), scored]).astype(float)
    scores = dict.fromkeys(SCORES, np.zeros(uas.shape)) | {"uas": uas, "exact_match": exact}
    labels = chain.from_iterable(tree.deprels for tree in gold)
    has_labels[0] = any(label != MISSING for label in compress(labels, counted))
    if has_labels[0]:
        for name, of_tokens in labeled_counts(gold, system, ignore=ignore).items():
            scores[name] = np.add.reduceat(np.transpose(of_tokens), starts)
    symbols, *cells = attachment_breakdown(gold, system, by=by, ignore=ignore)
    breakdown = dict(zip(symbols, np.stack(cells, axis=1), strict=True))
    n_unknown = int(np.count_nonzero(heads.true == UNKNOWN))
    return Counts(scores, *columns, breakdown, n_tokens, n_unknown, True, is_tagged, has_labels)


def _count_columns(gold, system):
    """Count in every sentence the right values of columns; say which sides have some."""
    right, has_values = {"tags": True}, {}
    for name in COLUMNS.keys() - right.keys():
        sides = [_read_column(trees, name) for trees in (gold, system)]
        has_values[name] = np.array([(values != MISSING).any() for values in sides])
        right[name] = sides[0] == sides[1]
        if name != "lemma":
            right["tags"] = right["tags"] & right[name]
    starts = np.cumsum([0, *map(len, gold[:-1])])
    cells = {
        name: np.transpose([of_name, np.ones(of_name.size)]) for name, of_name in right.items()
    }
    return {name: np.add.reduceat(cells[name], starts) for name in COLUMNS}, has_values


def _read_column(trees, name):
    return np.array([value for tree in trees for value in read_column(tree, name)], dtype=object)


def _summarise(parts, gold, by, ignore):
    """All that is printed, as a dict for JSON."""
    if not any(part.is_parsed for part in parts):
        raise ValueError(f"{gold} is without heads, so it cannot be scored.")
    if ignore is not None and not any(part.is_tagged for part in parts):
        raise ValueError(
            f"All tags of the true trees are {MISSING!r}, so punctuation cannot be told from "
            f"words. Tag the text first, or score without --ignore-punctuation."
        )
    scores = {name: np.concatenate([part.scores[name] for part in parts]) for name in SCORES}
    n_scored = int(scores["uas"][:, 1].sum())
    if not n_scored:
        raise ValueError(
            "No token is left to score: all symbols of words with heads stand for punctuation."
        )
    is_labeled = np.any([part.has_labels for part in parts], axis=0).all()
    kept = [
        name
        for name in SCORES  # there may be no content words
        if name in ("uas", "exact_match") or (is_labeled and scores[name][:, 1].any())
    ]
    kept = {name: scores[name] for name in kept}
    has_values = {
        name: np.any([part.has_values[name] for part in parts], axis=0).all()
        for name in parts[0].has_values
    }
    has_values["tags"] = sum(has_values[name] for name in ("upos", "xpos", "feats")) > 1
    for name in filter(has_values.get, COLUMNS):
        kept[name] = np.concatenate([part.columns[name] for part in parts])
    breakdown = defaultdict(lambda: np.zeros((2, 2)))
    for part in parts:
        for symbol, cells in part.breakdown.items():
            breakdown[symbol] += cells
    return {
        "sentences": len(scores["uas"]),
        "tokens": sum(part.n_tokens for part in parts),
        "unknown_tokens": sum(part.n_unknown for part in parts),
        "scored_tokens": n_scored,
        "punctuation": "scored" if ignore is None else "ignored",
        **_resample(kept),
        "confidence": CONFIDENCE,
        "resamples": N_RESAMPLES,
        "breakdown": {
            "by": by,
            "rows": [
                {
                    "symbol": symbol,
                    "left": {"correct": int(right[0]), "total": int(total[0])},
                    "right": {"correct": int(right[1]), "total": int(total[1])},
                }
                for symbol, (right, total) in sorted(breakdown.items())
            ],
        },
    }


def _resample(counts):
    """Scores, and by a percentile bootstrap their intervals, over sentences drawn anew."""
    rng = np.random.default_rng(0)
    table = np.hstack(list(counts.values()))
    n_sentences = len(table)
    draws = (rng.integers(n_sentences, size=n_sentences) for _ in range(N_RESAMPLES))
    sums = np.array([table.sum(axis=0), *(table[drawn].sum(axis=0) for drawn in draws)])
    shares = sums[:, ::2] / np.maximum(sums[:, 1::2], 1)
    tail = (1 - CONFIDENCE) / 2
    lows, highs = np.quantile(shares[1:], [tail, 1 - tail], axis=0)
    rows = zip(counts, *(part.tolist() for part in (shares[0], lows, highs)), strict=True)
    return {name: {"score": score, "low": low, "high": high} for name, score, low, high in rows}


def _print(report):
    n_tokens, n_unknown = report["tokens"], report["unknown_tokens"]
    scored = "punctuation scored"
    if report["punctuation"] == "ignored":
        n_ignored = n_tokens - n_unknown - report["scored_tokens"]
        scored = f"{n_ignored} of them punctuation and ignored"
    if n_unknown:
        scored = f"{n_unknown} of them without true heads and left out, {scored}"
    print(f"{report['sentences']} sentences, {n_tokens} tokens, {scored}\n")
    print(f"{'':<15}{'score':>7}   {100 * report['confidence']:.0f} % interval")
    for key, name in (SCORES | COLUMNS).items():
        if key in report:
            score, low, high = (100 * value for value in report[key].values())
            print(f"{name:<15}{score:>7.2f}   {low:.2f} to {high:.2f}")
    print(f"(intervals: {report['resamples']} resamples of the sentences)\n")
    by = report["breakdown"]["by"]
    print(
        "Right heads by the symbol of the true head, for words left and right of it:\n"
        if by == "head"
        else "Right heads by the symbol of the word, for words left and right of their heads:\n"
    )
    rows = [
        (printable(row["symbol"]), *(tuple(row[side].values()) for side in ("left", "right")))
        for row in report["breakdown"]["rows"]
    ]
    rows.sort(key=lambda row: -row[1][1] - row[2][1])
    width = max(len("symbol"), *(len(row[0]) for row in rows))
    print(f"{'symbol':<{width}}{'left':>20}{'right':>20}{'both':>20}")
    for symbol, left, right in rows:
        both = (left[0] + right[0], left[1] + right[1])
        cells = "".join(f"{_share(*cell):>20}" for cell in (left, right, both))
        print(f"{symbol:<{width}}{cells}")


def _share(correct, total):
    return f"{100 * correct / total:.1f} % of {total:>6}" if total else "-"
