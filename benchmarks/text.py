"""Raw text to complete CoNLL-U with the bundled parser: microseconds a token.

Usage: python benchmarks/text.py [FOLDER] [TREEBANK] [--text FILE] [--base PATH] [--peers]
[--rounds N] [--output RESULTS.json]

The text is that of the test set of a treebank, or of a file. With --base, another checkout of the
package, such as an earlier commit, does the same, with the same model file, in a process of its
own. The processes take turns, and the ratio is the median over the turns, so that other load on the
machine matters little. Each turn also measures the rate of products of matrices in single
precision, the least that a network can take. What counts is CPU time, on one thread.

With --peers, spaCy and UDPipe 1 do the same work in their turns; they need ``pip install spacy
ufal.udpipe``. Both learn from the training set of the treebank, for a short while only, since the
time that they take for a text hardly depends on how much they have learned: spaCy the pipeline of
`spacy_parser.py` in 300 steps, UDPipe that of `udpipe.py --raw` in one pass. spaCy writes no
CoNLL-U, so its time ends with its documents.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from _measure import Report, measured

import sklearn_shag
from sklearn_shag.datasets import fetch_treebank
from sklearn_shag.treebank import read_conllu, to_text

# A process that parses whenever it reads a line, and writes the seconds of all it measures.
WORKER = """
import sys, time, warnings
import numpy as np
from sklearn_shag import load_model

def seconds(function):
    begin = time.process_time()
    function()
    return time.process_time() - begin

def parse():
    return "".join(tree.to_conllu() for tree in model.parse_text(text))

def parse_sentences():
    for _ in range(50):
        model.predict([words])

warnings.simplefilter("ignore")
model = load_model(sys.argv[1])
words = "This is the first sentence of a short text .".split()
text = open(sys.argv[2], encoding="utf-8").read()
with open(sys.argv[3], "w", encoding="utf-8") as file:
    file.write(parse())
matrix = np.random.default_rng(0).random((512, 512), dtype=np.float32)
for _ in sys.stdin:
    product = min(seconds(lambda: matrix @ matrix) for _ in range(9))
    print(seconds(parse), seconds(parse_sentences) / 50, product, flush=True)
"""

# The same for peers; they write nothing.
PEER = """
import sys, time
text = open(sys.argv[2], encoding="utf-8").read()
{imports}
n_tokens = parse()
for _ in sys.stdin:
    begin = time.process_time()
    parse()
    print(1e6 * (time.process_time() - begin) / n_tokens, flush=True)
"""
SPACY = """
import spacy
nlp = spacy.load(sys.argv[1])
def parse():
    return sum(map(len, nlp.pipe(text.split("\\n\\n"))))
"""
UDPIPE = """
from ufal.udpipe import Model, Pipeline
model = Model.load(sys.argv[1])  # the pipeline does not keep it
work = Pipeline(model, "tokenize", Pipeline.DEFAULT, Pipeline.DEFAULT, "conllu")
def parse():
    return sum(line[:1].isdigit() for line in work.process(text).splitlines())
"""


class Worker:
    """A process with one checkout of the package, or with a peer."""

    def __init__(self, package, model, text, output, program=WORKER):
        self.output = Path(output)
        one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        environment = os.environ | one | {"PYTHONPATH": str(package), "PYTHONSAFEPATH": "1"}
        command = [sys.executable, "-c", program, model, text, output]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(list(map(str, command)), env=environment, **pipes)

    def measure(self):
        """Seconds of the text, of one sentence of tokens, and of a product of matrices.

        Of a peer, microseconds a token.
        """
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return tuple(map(float, self.process.stdout.readline().split()))


def train_peers(data, folder):
    """Train both peers for a short while; return name, path and program of each."""
    import spacy
    import ufal.udpipe
    from spacy_parser import LANGUAGES, train_spacy
    from udpipe import OPTIONS, WORDS, train

    language = LANGUAGES[data.folder.name.removeprefix("UD_").partition("-")[0]]
    short = {"training.max_steps": 300, "training.eval_frequency": 300}
    train_spacy(data, language, folder, **short)
    options = OPTIONS.replace("iterations=10", "iterations=1")
    brief = {"tagger": "iterations=1", "tokenizer": "epochs=1"}
    train(data.folder, options=options + WORDS, save=folder / "udpipe", **brief)
    udpipe = f"UDPipe {ufal.udpipe.Version.current().major}"
    return [
        (f"spaCy {spacy.__version__}", folder / "model" / "model-last", PEER.format(imports=SPACY)),
        (udpipe, folder / "udpipe", PEER.format(imports=UDPIPE)),
    ]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?")
    parser.add_argument("treebank", nargs="?", default="UD_English-EWT")
    parser.add_argument("--text", type=Path)
    parser.add_argument("--base", type=Path)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--output")
    return parser.parse_args()


def run(arguments, folder):
    """Let all workers take turns; return what each measured in each turn, and what they wrote."""
    here, path = Path(sklearn_shag.__file__).parents[1], arguments.text
    if arguments.peers or path is None:
        data = fetch_treebank(
            arguments.treebank, data_home=arguments.folder, download_if_missing=False
        )
    if path is None:
        path = folder / "text.txt"
        trees = read_conllu(next(data.folder.glob("*-ud-test.conllu")))
        path.write_text(to_text(trees)[0], encoding="utf-8")
    model = here / "sklearn_shag" / "datasets" / "data" / "english_parser.npz"
    peers = train_peers(data, folder) if arguments.peers else []
    packages = {"here": here} | ({"base": arguments.base.resolve()} if arguments.base else {})
    workers = {
        name: Worker(package, model, path, folder / name) for name, package in packages.items()
    }
    workers |= {name: Worker("", trained, path, "", program) for name, trained, program in peers}
    turns = [
        {name: worker.measure() for name, worker in workers.items()}
        for _ in range(arguments.rounds)
    ]
    for worker in workers.values():
        worker.process.communicate()
    return turns, {name: workers[name].output.read_bytes() for name in packages}


def main():
    arguments = parse_arguments()
    report = Report("text", arguments.output)
    with tempfile.TemporaryDirectory() as folder:
        turns, parsed = run(arguments, Path(folder))
    n_tokens = sum(line[:1].isdigit() for line in parsed["here"].splitlines())
    rows = []
    for name in turns[0]:
        least = [min(turn[name][k] for turn in turns) for k in range(len(turns[0][name]))]
        if name not in parsed:
            rows.append(measured(f"{name}: text, µs a token", least[0]))
            continue
        text, sentence, product = least
        rows += [
            measured(f"{name}: text to CoNLL-U, µs a token", 1e6 * text / n_tokens),
            measured(f"{name}: one sentence of 10 tokens, µs", 1e6 * sentence),
            measured(f"{name}: products of matrices, GF/s", 2e-9 * 512**3 / product),
        ]
    if "base" in parsed:
        for k, what in enumerate(("text", "one sentence")):
            ratio = statistics.median(turn["base"][k] / turn["here"][k] for turn in turns)
            rows.append(measured(f"base / here: {what}", ratio))
        lines = (output.splitlines() for output in parsed.values())
        rows.append(measured("lines that differ", sum(map(bytes.__ne__, *lines))))
    learned = f"; peers learned from the training set of {arguments.treebank}"
    report.add(f"{n_tokens} tokens{learned if arguments.peers else ''}", rows)


if __name__ == "__main__":
    main()
