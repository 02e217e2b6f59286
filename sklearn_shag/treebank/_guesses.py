"""Marks of guesses: predictions for annotators that nobody has confirmed."""

import numpy as np

import sklearn_shag.treebank._lines as lines
from sklearn_shag.treebank._columns import MISSING
from sklearn_shag.treebank._tree import with_tags
from sklearn_shag.utils._heads import UNKNOWN

GUESSED, ASKED = "Predicted", "Check"  # names in MISC, each with the value Yes
CHECKED, GUESSED_COLUMNS = "checked", "predicted"  # comments
WORDS = "words"  # stands among guessed columns for words and boundaries


def mark_guesses(tree, columns, guessed=(), asked=()):
    """Mark guesses in a tree that annotators correct.

    Parameters
    ----------
    tree : DependencyTree
    columns : list of str
        The columns that are guessed, beside those marked before; WORDS if the text was split.
    guessed, asked : list of int, default=()
        The tokens with guessed heads, and those to look at, from 0; all others lose their marks.

    Returns
    -------
    tree : DependencyTree
    """
    for name, marked in ((GUESSED, guessed), (ASKED, asked)):
        if marked:
            tree = tree.with_misc(name, ["Yes" if t in marked else None for t in range(len(tree))])
    columns = sorted({*columns, *_list_columns(tree)})
    return tree._with_comment(GUESSED_COLUMNS, ",".join(columns)) if columns else tree


def forget_guesses(tree):
    """Remove from a tree what is only guessed; None if nobody has confirmed any head of it.

    Parameters
    ----------
    tree : DependencyTree

    Returns
    -------
    tree : DependencyTree or None
        Guessed heads are unknown, and guessed columns without values. A tree without marks, or with
        the comment "# checked = yes", is returned as it is.
    """
    guessed = _find_guesses(tree)
    if guessed is None:
        return tree
    known = [] if tree.heads is None else tree.heads[~guessed]
    if not np.any(np.greater(known, UNKNOWN)):
        return None
    deprels = tree.deprels and np.where(guessed, MISSING, tree.deprels).tolist()
    empty = dict.fromkeys({*_list_columns(tree)} - {WORDS}, [MISSING] * len(tree))
    tree = tree.with_heads(np.where(guessed, UNKNOWN, tree.heads), deprels, keep_deps=True)
    return with_tags(tree, empty) if empty else tree


def words_guessed(tree):
    """Tell whether words and boundaries of a tree are only guessed."""
    return _find_guesses(tree) is not None and WORDS in _list_columns(tree)


def _list_columns(tree):
    found = lines.find_comment(tree._source or "", GUESSED_COLUMNS) or ""
    return [name.strip() for name in found.split(",") if name.strip()]


def _find_guesses(tree):
    """Find the tokens with guessed heads, a bool array; None without any, or if all is checked."""
    mark = f"{GUESSED}=Yes"
    if mark not in (tree._source or ""):
        return None
    guessed = np.array([mark in misc.split("|") for misc in tree.misc])
    checked = (lines.find_comment(tree._source, CHECKED) or "").lower() == "yes"
    return guessed if guessed.any() and not checked else None
