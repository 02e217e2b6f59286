"""Five rounds of annotation in the shell: what is gained per head, and per sentence read.

Usage: python benchmarks/annotation_loop.py [TREEBANK] [--model KIND] [--draws N]
       [--output RESULTS.json]

The treebank is a folder of SKLEARN_SHAG_DATA (default: UD_Afrikaans-AfriBooms). The command
``train`` learns from 300 trees, drawn at random, of which it has the forms alone; the others are a
file of tokens. In each of five rounds ``suggest`` lists words of this file, and writes the
sentences that hold them. An annotator gives the right head and relation of each word with the mark
Check=Yes, and removes its mark Predicted=Yes; then ``train`` learns from all files. 200 heads a
round are asked for one by one (``--by arcs``). Beside these are whole sentences at random, of as
many heads; and all uncertain heads (``--by heads-in-sentences``) in as many sentences as these are.
Scores are those of the test set, from forms alone; means of draws.
"""

import argparse
import contextlib
import io
import tempfile
from pathlib import Path

import numpy as np
from _measure import Report, load

from sklearn_shag.cli import main as run_command
from sklearn_shag.metrics import labeled_attachment_score, unlabeled_attachment_score
from sklearn_shag.treebank import DependencyTree, read_conllu, write_conllu

N_TREES, N_ROUNDS, N_HEADS = 300, 5, 200


def run(*arguments):
    with contextlib.redirect_stdout(io.StringIO()):
        if run_command([str(argument) for argument in arguments]):
            raise SystemExit(f"sklearn-shag {' '.join(map(str, arguments))} has failed")


def bare(tree):
    """The forms of a tree, with its heads and relations."""
    return DependencyTree(tree.forms, tree.heads, deprels=tree.deprels)


def annotate(path, done, gold):
    """Answer what is marked in a file; return the numbers of sentences and heads."""
    n_heads, trees = 0, read_conllu(path)
    for tree in trees:
        true, heads, deprels = gold[tree.forms], tree.heads.copy(), list(tree.deprels)
        marks = [misc.split("|") for misc in tree.misc]
        asked = np.array(["Check=Yes" in each for each in marks])
        known = asked | ["Predicted=Yes" not in each for each in marks]
        n_heads += np.count_nonzero(asked)
        heads = np.where(known, true.heads, -1)
        deprels = np.where(known, true.deprels, "_").tolist()
        done[tree.forms] = DependencyTree(tree.forms).with_heads(heads, deprels)
    return len(trees), n_heads


def choose_at_random(rng, others, n_heads):
    """Whole sentences, until there are so many heads."""
    chosen = {}
    for k in rng.permutation(len(others)):
        if sum(map(len, chosen.values())) >= n_heads:
            break
        chosen[others[k].forms] = bare(others[k])
    return chosen


def share_out(total):
    """Parts of a number, one for each round, as equal as whole numbers are."""
    ends = np.arange(N_ROUNDS + 1) * total // N_ROUNDS
    return np.diff(ends).tolist()


class Loop:
    """The files of one draw, and its annotators."""

    def __init__(self, folder, kind, whole, others, test, seed):
        self.folder, self.kind, self.test, self.seed = folder, kind, test, seed
        self.gold = {tree.forms: tree for tree in others}
        write_conllu(map(bare, whole), folder / "own.conllu")
        lines = (" ".join(tree.forms) for tree in others)
        (folder / "pool.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        write_conllu([DependencyTree(tree.forms) for tree in test], folder / "test.conllu")

    def train(self, *more):
        own, model = self.folder / "own.conllu", self.folder / "model.npz"
        settings = "--model", self.kind, "--columns", "form,suffix", "--seed", self.seed
        run("train", own, *more, "-o", model, *settings, "--set-aside", 0)

    def score(self):
        """UAS and LAS of the model."""
        out = self.folder / "parsed.conllu"
        run("parse", self.folder / "model.npz", self.folder / "test.conllu", "-o", out)
        pair = self.test, read_conllu(out)
        scores = unlabeled_attachment_score(*pair), labeled_attachment_score(*pair)
        return [100 * score for score in scores]

    def learn(self, done):
        """The scores of a model that also learns from what is done."""
        write_conllu(done.values(), self.folder / "done.conllu")
        self.train(self.folder / "done.conllu")
        return self.score()

    def ask(self, by, numbers):
        """Go through the rounds; return sentences and heads of each, and scores in the end."""
        done, counts, next_file = {}, [], self.folder / "next.conllu"
        self.train()
        for number in numbers:
            files = [self.folder / "done.conllu"] * bool(done) + [self.folder / "pool.txt"]
            run("suggest", self.folder / "model.npz", *files, "--input", "horizontal", "--by", by,
                "-n", number, "-o", next_file)  # fmt: skip
            counts.append(annotate(next_file, done, self.gold))
            scores = self.learn(done)
        return counts, scores


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("treebank", nargs="?", default="UD_Afrikaans-AfriBooms")
    parser.add_argument("--model", default="crf")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--output", help="default: in the folder results beside the script")
    arguments = parser.parse_args()
    treebank, report = load(arguments.treebank), Report("annotation_loop", arguments.output)
    found = {}

    def note(name, sentences, heads, scores):
        found.setdefault(name, []).append([sentences, heads, *scores])

    for seed in range(arguments.draws):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(treebank.train))
        whole, others = ([treebank.train[k] for k in p] for p in np.split(order, [N_TREES]))
        others = [tree for tree in others if not any(" " in form for form in tree.forms)]
        with tempfile.TemporaryDirectory() as folder:
            loop = Loop(Path(folder), arguments.model, whole, others, treebank.test, seed)
            loop.train()
            note("none", 0, 0, loop.score())
            chosen = choose_at_random(rng, others, N_HEADS * N_ROUNDS)
            heads = sum(map(len, chosen.values()))
            note("random sentences", len(chosen), heads, loop.learn(chosen))
            for name, by, numbers in (
                ("uncertain heads", "arcs", [N_HEADS] * N_ROUNDS),
                ("uncertain heads in sentences", "heads-in-sentences", share_out(len(chosen))),
            ):
                counts, scores = loop.ask(by, numbers)
                note(name, *np.sum(counts, axis=0), scores)
        names = ("sentences read", "heads", "UAS", "LAS")
        rows = [
            {"annotated": name}
            | dict(zip(names, np.mean(each, axis=0).tolist(), strict=True))
            | {"spread of LAS": float(np.ptp(np.array(each)[:, 3]))}
            for name, each in found.items()
        ]
        report.add(f"{arguments.treebank} {arguments.model}", rows)


if __name__ == "__main__":
    main()
