"""Input of the command `train`: treebanks, trees of other languages, and raw text."""

import os
import unicodedata
from collections import Counter
from itertools import chain, islice

import numpy as np

from sklearn_shag.cli._evaluate import LeftOut, find_invalid, find_lack, is_conllu, iter_sentences
from sklearn_shag.cli._info import list_parts
from sklearn_shag.cli._models import choose_verbosity
from sklearn_shag.cli._recipe import LEARNERS
from sklearn_shag.network import LEARNED, list_known_columns
from sklearn_shag.parsing import has_projective_completion
from sklearn_shag.treebank import (
    HORIZONTAL,
    check_marks,
    forget_guesses,
    iter_horizontal,
    known_heads,
    leave_out_rest,
    list_sources,
    nonprojective_arcs,
    read_conllu,
)
from sklearn_shag.utils._estimators import open_member
from sklearn_shag.utils._heads import UNKNOWN
from sklearn_shag.utils._io import STANDARD, expand_user
from sklearn_shag.utils._parallel import progress

MOST_TREES = 20_000  # trees that are kept in memory
# With several treebanks or raw text, each 20th sentence is set aside, with helpers each 10th.
EVERY, EVERY_OF_FEW = 20, 10
LOOKED_AT = 1000  # lines of text without trees, for its script


def find_treebanks(options):
    """Find the treebanks to learn from: those of the language, and those of other languages.

    Parameters
    ----------
    options : argparse.Namespace
        With `file`, `helpers`, `weight`, `set_aside`, `cv`, `raw_text`, `continue_` and `on_error`.

    Returns
    -------
    treebank, others : Treebank

    Raises
    ------
    ValueError
        If there is none, or scores by cross-validation are wanted of more than trees; or as for
        :class:`Treebank`.
    """
    if not options.file and not options.helpers:
        raise ValueError("Name a FILE of trees, or treebanks of other languages with --helpers.")
    if options.cv and (options.raw_text or options.helpers or options.weight or options.continue_):
        raise ValueError(
            "--cv is for trees alone: leave out --raw-text, --helpers, --weight and --continue."
        )
    every = options.set_aside
    if every is None:
        is_checked = options.raw_text is not None or len(options.file) > 1
        every = EVERY_OF_FEW if options.helpers else EVERY if is_checked else 0
    return (
        Treebank(options.file, options.weight, every, options.on_error),
        Treebank(options.helpers or [], on_error=options.on_error),
    )


class Treebank:
    """The trees of files, checked for a learner; each loop over them reads the files again.

    A small treebank stays in memory instead, and so does a pipe, which can be read only once.

    Parameters
    ----------
    names : list of str
        Of files, patterns of their names, or treebanks of Universal Dependencies.
    weights : None or list of float, default=None
        One for each name.
    every : int, default=0
        Sentences of a name whose number is a multiple of this one are set aside; with 0 none are.
    on_error : {"stop", "skip"}, default="stop"

    Attributes
    ----------
    files : list of str
    needs_heads : bool
        Whether a tree that lacks heads is refused.
    set_aside : list of lists of DependencyTree
        By name, of the last reading.
    seen : Counter
        Of the last reading, without what was set aside: trees, tokens, arcs, nonprojective arcs,
        trees without any head, and partial trees that are impossible to complete without crossing
        arcs. Trees that are unconfirmed are not among the trees.

    Raises
    ------
    ValueError
        If there are more weights than names, or fewer.
    """

    def __init__(self, names, weights=None, every=0, on_error="stop"):
        self.names, self.weights, self.every, self.on_error = names, weights, every, on_error
        parts = [list_parts(name) for name in names]
        self.files_of, self.tests = [train for train, _ in parts], [test for _, test in parts]
        self.files = list(chain.from_iterable(self.files_of))
        if weights is not None and len(weights) != len(names):
            raise ValueError(
                f"--weight needs a number for each FILE, {len(names)}, got {len(weights)}."
            )
        self.needs_heads, self.kept = False, []
        self.is_file = all(p != STANDARD and os.path.isfile(expand_user(p)) for p in self.files)

    def __iter__(self):
        if self.kept:
            yield from self.kept
        else:
            for tree in self.read():
                self.kept.append(tree)
                if self.seen["trees"] > MOST_TREES and self.is_file:
                    self.kept = []
                yield tree

    def list_columns(self):
        """List the columns that can be learned and have values, by reading the trees once."""
        found = list_known_columns(self)
        if self.is_file:  # trees are checked when they are read again
            self.kept = []
        return found or LEARNED[:1]

    def read(self):
        """Read the files once, and yield their trees after checking them for the learner."""
        self.seen, self.invalid, self.counts = Counter(), LeftOut(), [0] * len(self.names)
        self.set_aside = [[] for _ in self.names]
        pairs = [(k, path) for k, paths in enumerate(self.files_of) for path in paths]
        with progress("Reading", len(self.files), "files", choose_verbosity()) as advance:
            for k, path in pairs:
                sentences = self.invalid.drop(iter_sentences([path], self.on_error), find_invalid)
                for n_read, sentence in enumerate(sentences):
                    tree = sentence.tree
                    check_marks(tree, path, sentence.line)
                    sentence = sentence._replace(tree=forget_guesses(tree))
                    if sentence.tree is None:
                        self.seen["unconfirmed"] += 1
                        continue
                    lack = find_lack(sentence)
                    if lack and self.needs_heads:
                        found = Counter(map(find_lack, chain([sentence], sentences)))
                        _refuse_file(path, found, n_read)
                    is_known = lack is None and sentence.tree is tree  # and no tag is a guess
                    if self.every and is_known and n_read % self.every == self.every - 1:
                        self.set_aside[k].append(sentence.tree)
                        continue
                    self.counts[k] += 1
                    heads = known_heads(sentence.tree)
                    is_partial = lack == "words without heads"
                    self.seen.update(
                        trees=1,
                        tokens=heads.size,
                        arcs=int(np.count_nonzero(heads > UNKNOWN)),
                        nonprojective=len(nonprojective_arcs(sentence.tree)),
                        without=int(lack == "no heads"),
                        impossible=int(is_partial and not has_projective_completion([heads])[0]),
                    )
                    yield sentence.tree
                advance()
        if not self.files:  # there are helpers
            return
        self.invalid.tell(self.files)
        if self.seen["without"] < self.seen["trees"]:
            return
        names = " and ".join(self.files)
        if self.seen["unconfirmed"]:
            raise ValueError(
                f"{names}: nobody has confirmed a head: {self.seen['unconfirmed']} sentences are "
                f"as the command suggest wrote them. Correct them, and remove Predicted=Yes from "
                f"words, or write '# checked = yes' above sentences that are done."
            )
        _refuse_file(names, Counter({"no heads": self.seen["without"]}), 0)

    def list_held_out(self):
        """List the trees set aside and the test sets, with words and the treebank's name before."""
        tests = [read_conllu(files) if files else [] for files in self.tests]
        kinds = {"set aside from": self.set_aside, "of the test set of": tests}
        pairs = [(words, zip(self.names, trees, strict=True)) for words, trees in kinds.items()]
        return [(words, *pair) for words, of_kind in pairs for pair in of_kind if pair[1]]

    def list_weights(self):
        """List the weight of each sentence of the last reading, or return None without weights."""
        return None if self.weights is None else np.repeat(self.weights, self.counts).tolist()

    def count_learned(self, learner):
        """Describe how many of the sentences, at the last reading, a fitted learner has used.

        Returns
        -------
        count : str
            A number, or two numbers, such as "30 of 34".
        reasons : list of str
            Why others were left out, with their numbers.
        """
        members = [learner, *getattr(learner, "estimators_", ())]
        left_out = [getattr(open_member(each).parser, "n_left_out_", 0) for each in members]
        n_impossible = self.seen["impossible"] if learner.trees_ == "projective" else 0
        counts = {
            "invalid": self.invalid.n_left_out,
            "not confirmed": self.seen["unconfirmed"],
            "set aside": sum(map(len, self.set_aside)),
            "without heads": self.seen["without"],
            "of no use to the model": max(n_impossible, *left_out),
        }
        n_read, reasons = self.invalid.n_read, [f"{n} {why}" for why, n in counts.items() if n]
        n_learned = n_read - sum(counts.values())
        return f"{n_learned} of {n_read}" if reasons else f"{n_read}", reasons


def _refuse_file(path, found, n_whole):
    """Refuse a file by its numbers of whole trees and, by kind, of trees that lack heads."""
    lacking = "no heads" if found["no heads"] else "words without heads"
    advice = " to learn from. Leave them out, or use files with trees"
    if lacking != "no heads":
        others = [name for name, each in LEARNERS.items() if not each._needs_whole_trees]
        advice = (
            f", but this model learns from whole trees only. Leave them out, complete them with a "
            f"model of other files (parse --keep-heads), or choose --model {' or '.join(others)}"
        )
    raise ValueError(
        f"{path}: {found[lacking]} of {n_whole + found.total()} sentences have {lacking}{advice}."
    )


def read_helpers(treebank):
    """Yield the trees of other languages, without the subtypes of their relations."""
    for tree in treebank:
        if tree.heads is not None:
            names = tree.deprels and [name.partition(":")[0] for name in tree.deprels]
            yield tree.with_heads(tree.heads, names)


def read_raw_text(paths, splitter, on_error):
    """Yield sentences of raw text: of CoNLL-U without its heads, of lines of tokens, or of text.

    Parameters
    ----------
    paths : list of str
    splitter : Splitter or None
        Splits text; without one, there are spaces between tokens.
    on_error : {"stop", "skip"}
        What to do at a sentence of CoNLL-U that is not valid, and where text cannot be read.

    Yields
    ------
    sentence : DependencyTree
        Without heads.
    """
    for path in list_sources(paths, HORIZONTAL.suffix):
        if is_conllu(path):
            sentences, invalid = iter_sentences([path], on_error), LeftOut()
            for each in invalid.drop(sentences, find_invalid):
                yield each.tree.with_heads(None)
            invalid.tell([path])
        else:
            read = iter_horizontal if splitter is None else splitter.iter_split_text
            yield from leave_out_rest(read(path), on_error == "skip")


def list_split(own, helpers, raw_text):
    """List the sentences that a splitter learns from: own ones, and helpers in the same script.

    Helpers with a token of several words are left out, since each language has its own ones.

    Parameters
    ----------
    own, helpers : list of DependencyTree
    raw_text : list of str
        Paths of text whose script counts if there are no own trees.

    Returns
    -------
    sentences : list of DependencyTree
    """
    plain = [tree for tree in helpers if not tree.multiword_tokens]
    files = [
        path
        for path in list_sources(raw_text, HORIZONTAL.suffix)
        if path != STANDARD and not is_conllu(path)
    ]
    seen = own or chain.from_iterable(islice(iter_horizontal(path), LOOKED_AT) for path in files)
    script = _find_script(seen)
    split = [tree for tree in plain if _find_script([tree]) == script]
    return [*split, *own] or plain or helpers


def _find_script(sentences):
    """Find the script of most letters, by the first word of their names, such as LATIN."""
    letters = chain.from_iterable(chain.from_iterable(tree.forms for tree in sentences))
    scripts = Counter()
    for letter, count in Counter(filter(str.isalpha, letters)).items():
        scripts[unicodedata.name(letter, "unknown").split()[0]] += count
    return max(scripts, key=scripts.get, default=None)
