"""From text to trees: how well it is split, tagged and parsed, how fast, and whether it comes back.

Usage: python benchmarks/raw_text.py [splitting | parsing | strange] [--treebanks NAME...]
[--seeds N] [--average] [--without-spaces] [--output RESULTS.json]

The treebanks are folders of SKLEARN_SHAG_DATA. Text is what their comments "text" say, with a space
between sentences and a blank line between paragraphs. `splitting` scores a Splitter on development
sets, `parsing` a pipeline of a Splitter and a network that learns all columns, with --average the
average of three networks and a linear model, on test sets, as the official evaluation from raw text
does; scores are F1 in percent, means over seeds. With --without-spaces the words of all sentences
stand side by side, as in languages that are written so. `strange` splits 100,000 strings drawn from
all of Unicode and a megabyte of each of several strange texts, and compares what comes back with
what was given. The strings must be valid CoNLL-U, with no end inside a grapheme (needs the packages
udtools and regex); seconds should grow with the length of a text, and not faster.
"""

import argparse
import random
import sys
from io import StringIO
from unicodedata import category, is_normalized

import numpy as np
import regex
from _measure import Report, load, seconds_of
from udtools.validator import Validator

from sklearn_shag import AveragedParser, BiaffineParser, CRFParser, Splitter, make_parser_pipeline
from sklearn_shag.datasets import load_english
from sklearn_shag.metrics import raw_text_scores
from sklearn_shag.network import list_known_columns
from sklearn_shag.treebank import DependencyTree, join_text, remove_invisible, to_text
from sklearn_shag.utils._parallel import one_thread

TREEBANKS = ["English-EWT", "French-Sequoia", "Afrikaans-AfriBooms", "Turkish-IMST", "Tamil-TTB"]
CLUSTERED = (
    "e\u0301\u0308\u20e3\ufe0f\u200d\u200c\u00ad\U0001f469\U0001f3fd\U0001f1e9\U0001f1ea\u0915\u094d\u0937"
    "\u0e33\u1100\u1161\u11a8\uac00\u0600\u0903\U000e0067\uff9e"
)
OF_SPLITTING = ("Tokens", "Sentences", "Words")


def mean_row(name, rows):
    """The mean of rows with the same columns."""
    return {"treebank": name} | {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}


def close_up(trees):
    """The same words without spaces."""
    return [
        DependencyTree(tree.forms, tree.heads).with_misc("SpaceAfter", ["No"] * len(tree))
        for tree in trees
    ]


def split(treebank, seed, without_spaces):
    train, dev = treebank.train, treebank.dev
    if without_spaces:
        train, dev = map(close_up, (train, dev))
    splitter, seconds = seconds_of(lambda: Splitter(random_state=seed).fit(train))
    text, _ = to_text(dev)
    splitter.split_text(text[:1000])  # compiles
    trees, seconds_of_split = seconds_of(lambda: splitter.split_text(text))
    if join_text(trees) != text:
        sys.exit("the text does not come back")
    scores = raw_text_scores(dev, trees)
    row = {name: 100 * scores[name].f1 for name in OF_SPLITTING}
    return row | {
        "characters to learn from": len(to_text(train)[0]),
        "training (CPU s)": seconds,
        "characters per CPU s": len(text) / seconds_of_split,
    }


def make_model(train, seed, average):
    """Make what learns all columns that have values."""
    tags = list_known_columns(train)
    if not average:
        parser = BiaffineParser(tags=tags, random_state=seed)
    else:
        networks = [
            (f"network{k}", BiaffineParser(tags=tags, random_state=seed + k)) for k in range(3)
        ]
        linear = CRFParser([tags[0], "form", "suffix"], random_state=seed)
        parser = AveragedParser([*networks, ("linear", linear)])
    return make_parser_pipeline(Splitter(random_state=seed), parser)


def parse(treebank, seed, average):
    model = make_model(treebank.train, seed, average)
    _, seconds = seconds_of(lambda: model.fit(treebank.train))
    text, _ = to_text(treebank.test)
    model.parse_text(text[:1000])
    trees, seconds_of_parse = seconds_of(lambda: model.parse_text(text))
    scores = raw_text_scores(treebank.test, trees)
    row = {name: 100 * score.f1 for name, score in scores.items()}
    sentences = len(trees) / seconds_of_parse
    return row | {"training (CPU s)": seconds, "sentences per CPU s": sentences}


def draw_text(rng):
    """Draw a string of assigned characters that a file can hold, of which some are visible.

    Marks, joiners, flags and letters that belong together are frequent.
    """
    while True:
        spaces = rng.choices(" \n\t\r\x0b\x0c\x1c\x85\u00a0\u2003\u2028\u3000", k=rng.randrange(6))
        highest = rng.choice([0x80, 0x500, 0x3000, 0x110000])
        letters = [chr(rng.randrange(1, highest)) for _ in range(rng.randrange(1, 40))]
        letters += rng.choices(CLUSTERED, k=rng.randrange(12))
        text = "".join(rng.sample(both := spaces + letters, len(both)))
        text = "".join(sign for sign in text if category(sign) not in ("Cs", "Cn"))
        if (
            remove_invisible(text).strip() and "\ufffd" not in text
        ):  # which the validator takes for a wrong encoding
            return text


def count_cut_graphemes(text, trees):
    """Count the ends of tokens inside graphemes, as the library regex sees them."""
    ends = {end for tree in trees for _, end in tree.spans}
    found = ((each.start(), each.end()) for each in regex.finditer(r"\X", text))
    inside = (k for begin, end in found for k in range(begin + 1, end) if k in ends)
    return sum(not (text[k - 1].isspace() or text[k].isspace()) for k in inside)


def go_strange(report, n_strings):
    splitter, rng = Splitter(random_state=0).fit(load_english().data), random.Random(0)
    # The official validator, at the level of the form of files.
    validator = Validator(lang="ud", level=1, output=None)
    counts = dict.fromkeys(("strings", "that do not come back", "graphemes cut", "not valid"), 0)
    for text in map(draw_text, [rng] * n_strings):
        trees = splitter.split_text(text)
        counts["strings"] += 1
        counts["that do not come back"] += join_text(trees) != text
        counts["graphemes cut"] += count_cut_graphemes(text, trees)
        if is_normalized("NFC", text):
            file = StringIO("".join(tree.to_conllu() for tree in trees), newline="\n")
            counts["not valid"] += bool(validator.validate_file_handle(file).error_tracker)
    report.add("random strings", [counts])
    rows = []
    for name, unit in {
        "no space": "a",
        "a word": "word ",
        "full stops": ". ",
        "spaces between letters": "a" + " " * 999,
        "line ends of Windows": "The cat sat.\r\n",
        "blank lines": "a\n\n",
        "right to left": "שלום עולם. ",
        "emoji with joiners": "\U0001f469\u200d\U0001f469\u200d\U0001f467 ",
        "Chinese": "你好。我们走吧",
        "combining": "e" + "\u0301" * 50,
    }.items():
        texts = [(unit * (n // len(unit) + 1))[:n] for n in (10**5, 10**6)]
        found = [seconds_of(lambda text=text: splitter.split_text(text)) for text in texts]
        if any(join_text(trees) != text for text, (trees, _) in zip(texts, found, strict=True)):
            sys.exit(f"{name} does not come back")
        short, long = (seconds for _, seconds in found)
        rows.append({"text": name, "100,000 characters, CPU s": short, "1,000,000": long})
        rows[-1] |= {"ratio": long / short, "sentences": len(found[1][0])}
    report.add("strange text", rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["splitting", "parsing", "strange"])
    parser.add_argument("--treebanks", nargs="+", default=TREEBANKS)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--average", action="store_true")
    parser.add_argument("--without-spaces", action="store_true")
    parser.add_argument("--strings", type=int, default=100_000)
    parser.add_argument("--output", help="default: in the folder results beside the script")
    options = parser.parse_args()
    name = "raw_text_" + ("average" if options.average else options.what)
    name += "_without_spaces" * options.without_spaces
    report, rows = Report(name, options.output), []
    with one_thread():
        if options.what == "strange":
            return go_strange(report, options.strings)
        for treebank in options.treebanks:
            data = load(f"UD_{treebank}")
            measure, how = {
                "splitting": (split, options.without_spaces),
                "parsing": (parse, options.average),
            }[options.what]
            found = [measure(data, seed, how) for seed in range(options.seeds)]
            rows.append(mean_row(treebank, found))
            report.add(name.replace("_", " "), rows)
    return None


if __name__ == "__main__":
    main()
