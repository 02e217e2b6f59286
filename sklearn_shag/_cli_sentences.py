"""Sentences of files, and where they stand: what commands share that point at them."""

import re
from typing import NamedTuple

from sklearn_shag.treebank import DependencyTree, read_conllu
from sklearn_shag.utils._io import STANDARD

__all__ = ["Sentence", "describe", "find_sent_id", "read_sentences", "require_some"]


class Sentence(NamedTuple):
    """A tree and where it stands."""

    path: str
    number: int
    tree: DependencyTree


def read_sentences(files):
    """Read files of :func:`list_sources`, one after the other.

    Parameters
    ----------
    files : list of str

    Returns
    -------
    sentences : list of Sentence
        Their numbers count from 1 in each file.
    """
    return [
        Sentence("<stdin>" if path == STANDARD else path, number, tree)
        for path in files
        for number, tree in enumerate(read_conllu(path), start=1)
    ]


def find_sent_id(sentence):
    """Find the name that a sentence has in its comments; None without one."""
    comment = re.search(r"^# *sent_id *= *(.+)$", sentence.tree._source or "", flags=re.MULTILINE)
    return comment[1].strip() if comment else None


def describe(sentence):
    """Say where a sentence stands."""
    sent_id = find_sent_id(sentence)
    name = f" (sent_id {sent_id})" if sent_id else ""
    return f"sentence {sentence.number} of {sentence.path}{name}"


def require_some(sentences, files):
    """Refuse files without any sentences."""
    if not sentences:
        names = ("standard input" if path == STANDARD else path for path in files)
        raise ValueError(f"There are no sentences in {', '.join(names)}.")
