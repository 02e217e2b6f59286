"""Corrections that annotators need if the parser uses each answer, and how long answers take.

Usage: python benchmarks/annotation_clicks.py [TREEBANK...] [--sentences N] [--output RESULTS.json]

The treebanks are folders of SKLEARN_SHAG_DATA (default: UD_English-EWT and UD_French-Sequoia). A
BiaffineParser that has learned from 100 or 1,000 trees, or the bundled one, guesses the heads of
the first N sentences (400) of the development set. An annotator reads each from left to right,
corrects the first wrong head, and has confirmed those before it; or looks at the least certain head
that is not known, and confirms or corrects it. The sentence is parsed anew after each answer.
Without that, there are as many corrections as wrong heads. An annotator who skips heads from a
probability of .99 leaves some errors: of those that are so certain at first, and of those that are
left when the least certain of all is. The table of answers is that of the bundled parser.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
import urllib.request
from io import BytesIO
from pathlib import Path

import numpy as np
from _measure import Report, load, measured

from sklearn_shag import BiaffineParser
from sklearn_shag.annotation import Annotation, Guesser, Store
from sklearn_shag.datasets import load_parser
from sklearn_shag.parsing import parse_trees
from sklearn_shag.service import AnnotationApp, open_served
from sklearn_shag.treebank import write_conllu
from sklearn_shag.utils._estimators import open_parser

UNKNOWN, CERTAIN = -1, 0.99


class Reading:
    """A sentence that is annotated.

    Attributes
    ----------
    known : int ndarray
        The heads that are known; UNKNOWN for others.
    skipped : None or pair of int
        When all unknown heads are certain: how many, and how many of these are wrong.
    """

    def __init__(self, tree):
        self.tree, self.known = tree, np.full(len(tree), UNKNOWN)
        self.n_corrections, self.skipped = 0, None

    def read_on(self, heads, probabilities):
        """Correct the first wrong head; return whether there was one."""
        wrong = np.flatnonzero(heads != self.tree.heads)
        for word in wrong[:1]:
            self.known[: word + 1] = self.tree.heads[: word + 1]
        self.n_corrections += bool(wrong.size)
        return bool(wrong.size)

    def ask(self, heads, probabilities):
        """Answer for the least certain head; return whether there was one."""
        is_wrong, unknown = heads != self.tree.heads, np.flatnonzero(self.known == UNKNOWN)
        if self.skipped is None and (probabilities[unknown] >= CERTAIN).all():
            self.skipped = unknown.size, np.count_nonzero(is_wrong[unknown])
        for word in unknown[np.argsort(probabilities[unknown], kind="stable")][:1]:
            self.known[word] = self.tree.heads[word]
            self.n_corrections += is_wrong[word]
        return bool(unknown.size)


def guess(opened, trees):
    """Yield heads and their probabilities, given those that are known."""
    for pairs, *_ in parse_trees(opened, trees, keep_heads=True, confidence="all"):
        ((found, probabilities),) = pairs
        yield found.heads, np.array(probabilities["head_proba"])


def annotate(opened, trees, act):
    """Annotate sentences until there is nothing to answer; return the readings."""
    readings = rest = list(map(Reading, trees))
    while rest:
        partial = [
            each.tree.with_heads(each.known if (each.known != UNKNOWN).any() else None)
            for each in rest
        ]
        found = zip(rest, guess(opened, partial), strict=True)
        rest = [each for each, answer in found if act(each, *answer)]
    return readings


def count_clicks(name, parser, trees):
    """Make a row of the table."""
    opened = open_parser(parser, "parse")
    opened.parser.set_params(n_jobs=1, verbose=0)
    first = list(guess(opened, [tree.with_heads(None) for tree in trees]))
    wrong = np.concatenate([heads != t.heads for (heads, _), t in zip(first, trees, strict=True)])
    certain = np.concatenate([probabilities for _, probabilities in first]) >= CERTAIN
    read, asked = annotate(opened, trees, Reading.read_on), annotate(opened, trees, Reading.ask)
    skipped = np.array([reading.skipped for reading in asked]).sum(axis=0)
    return {
        "parser": name,
        "words": wrong.size,
        "wrong heads": int(wrong.sum()),
        "left to right": float(sum(each.n_corrections for each in read) / wrong.sum()),
        "least certain first": float(sum(each.n_corrections for each in asked) / wrong.sum()),
        "certain at first": f"{certain.mean():.1%}, {np.count_nonzero(wrong & certain)} wrong",
        "certain in the end": f"{skipped[0] / wrong.size:.1%}, {skipped[1]} wrong",
    }


def call(app, method, path, content=None):
    """Ask an application in this process; return the seconds by the clock and of processors."""
    body = json.dumps(content).encode() if content else b""
    environ = {"REQUEST_METHOD": method, "PATH_INFO": path, "HTTP_X_KEY": app.key}
    environ |= {"CONTENT_LENGTH": str(len(body)), "wsgi.input": BytesIO(body)}
    environ["wsgi.errors"], answers = sys.stderr, []
    before = time.perf_counter(), time.process_time()
    (content,) = app(environ, lambda status, headers: answers.append(status))
    seconds = time.perf_counter() - before[0], time.process_time() - before[1]
    if answers != ["200 OK"]:
        raise SystemExit(content.decode())
    return seconds, json.loads(content)


def time_answers(trees, folder):
    """Return the median milliseconds of a change, by the clock and of processors."""
    path = str(folder / "long.conllu")
    write_conllu([tree.with_heads(None) for tree in trees], path)
    store = Store(f"{path}.out", [path], lambda: (tree.with_heads(None) for tree in trees))
    guesser = Guesser(open_served("english", 1000).opened)
    app = AnnotationApp({}, Annotation(store, guesser), "key")
    app.start()
    while any(row["expected_errors"] is None for row in call(app, "GET", "/sentences")[1]):
        time.sleep(0.1)
    rng, seconds = random.Random(0), []
    for k, tree in enumerate(trees):
        call(app, "GET", f"/sentences/{k}")
        for word in rng.sample(range(len(tree)), 5):
            heads = {str(word + 1): int(tree.heads[word])}
            seconds.append(call(app, "PUT", f"/sentences/{k}", {"heads": heads})[0])
    app.close()
    return 1000 * np.median(seconds, axis=0)


def time_start(trees, n, folder):
    """Return seconds until the command is ready, and milliseconds of requests from then on."""
    path = folder / f"{n}.conllu"
    write_conllu([trees[k % len(trees)].with_heads(None) for k in range(n)], path)
    command = [sys.executable, "-m", "sklearn_shag", "annotate", "english", path, "-o"]
    started = time.perf_counter()
    process = subprocess.Popen(
        [*command, f"{path}.out", "--no-browser"], stdout=subprocess.PIPE, text=True
    )
    server, key = process.stdout.readline().strip().split("/?key=")
    ready, rng, waited = time.perf_counter() - started, random.Random(0), []
    for _ in range(200):
        before = time.perf_counter()
        urllib.request.urlopen(f"{server}/sentences/{rng.randrange(n)}?key={key}").read()
        waited.append(1000 * (time.perf_counter() - before))
    process.kill()
    process.communicate()
    return ready, waited


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("treebanks", nargs="*", default=["UD_English-EWT", "UD_French-Sequoia"])
    parser.add_argument("--sentences", type=int, default=400)
    parser.add_argument("--output", help="default: in the folder results beside the script")
    arguments = parser.parse_args()
    report, answers = Report("annotation_clicks", arguments.output), []
    for name in arguments.treebanks:
        treebank = load(name)
        trees, rows = treebank.dev[: arguments.sentences], []
        for n in (100, 1000):
            learned = BiaffineParser(["form", "suffix"], random_state=0).fit(treebank.train[:n])
            rows.append(count_clicks(f"{n} trees", learned, trees))
        if "English-EWT" in name:
            rows.append(count_clicks("bundled", load_parser(), trees))
            ratio = rows[-1]["left to right"]
            answers.append(measured("corrections per wrong head", ratio, at_most=0.8))
        report.add(name, rows)
    treebank = load(arguments.treebanks[0])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        long = [tree for tree in treebank.train if 38 <= len(tree) <= 42][:40]
        wall, cpu = time_answers(long, folder)
        answers.append(measured("milliseconds of a change in 40 words", wall, at_most=40))
        answers.append(measured("of these, of processors", cpu))
        for n, most in ((5000, 5), (20000, 15)):
            ready, waited = time_start(treebank.train, n, folder)
            answers.append(measured(f"seconds until {n} sentences are ready", ready, at_most=most))
            for q in (50, 99, 100):
                what = f"milliseconds of a sentence then, percentile {q}"
                answers.append(measured(what, float(np.percentile(waited, q)), at_most=100))
    report.add("answers", answers)


if __name__ == "__main__":
    main()
