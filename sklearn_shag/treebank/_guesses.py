"""Marks of guesses: predictions for annotators that nobody has confirmed."""

import re
from itertools import compress

import numpy as np

from sklearn_shag.treebank._columns import (
    ATTRIBUTES,
    LEARNED,
    MISSING,
    UNKNOWN_FEATS,
    unspecified_relation,
)
from sklearn_shag.treebank._lines import list_words, replace_columns
from sklearn_shag.treebank._tree import with_tags, with_valid_heads
from sklearn_shag.utils._heads import UNKNOWN
from sklearn_shag.utils._messages import shorten, warn

GUESSED, GUESSED_COLUMNS = "Predicted", "Guessed"  # in MISC: of heads, with the value Yes; of tags
GIVEN_RELATION = "GivenDeprel"  # in MISC, with the value Yes: a relation was given without its head
ASKED = "Check"  # in MISC, with the value Yes, of words to look at; it is only written
CHECKED, GUESSED_SENTENCE = "checked", "predicted"  # comments
RELATION = "deprel"
WORDS = "words"  # in the comment, of words and boundaries; older files name columns there, too
ROOT = unspecified_relation(0)
_FLAGS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
# The values that marks may have, by their names in lower case.
_IN_MISC = {"predicted": _FLAGS, "guessed": (*LEARNED, RELATION), "givendeprel": _FLAGS}
_IN_COMMENTS = {CHECKED: _FLAGS, GUESSED_SENTENCE: (WORDS, *LEARNED)}


def find_guesses(tree):
    """Find what is only guessed in a tree.

    Parameters
    ----------
    tree : DependencyTree

    Returns
    -------
    guesses : dict of bool ndarrays of shape (n_tokens,)
        For "head", "deprel" and each column of LEARNED. Nothing is guessed in a tree without marks,
        or with the comment "# checked = yes".
    """
    guesses = {name: np.zeros(len(tree), dtype=bool) for name in ("head", RELATION, *LEARNED)}
    if not _is_marked(tree):
        return guesses
    comments = _read_comments(tree)
    if _is_set(comments, CHECKED):
        return guesses
    for t, line in enumerate(list_words(tree._source)):
        marks = _read_marks(line)
        guesses["head"][t] = _is_set(marks, "predicted", unclear=True)
        guesses[RELATION][t] = guesses["head"][t] and not _is_set(marks, "givendeprel")
        for name in guesses.keys() & marks.get("guessed", ()):
            guesses[name][t] = True
    if guesses["head"].any():
        for name in guesses.keys() & comments.get(GUESSED_SENTENCE, ()):
            guesses[name][:] = True
    return guesses


def words_guessed(tree):
    """Tell whether words and boundaries of a tree are only guessed."""
    marks = _read_comments(tree)
    return WORDS in marks.get(GUESSED_SENTENCE, ()) and bool(find_guesses(tree)["head"].any())


def find_given(tree):
    """Find the tags, features and lemmas of a tree that are given and no guesses.

    Parameters
    ----------
    tree : DependencyTree

    Returns
    -------
    given : dict of bool ndarrays of shape (n_tokens,)
        For each column of LEARNED. FEATS is given for a sentence that has any value there, since
        "_" is a value, too.
    """
    guesses, given = find_guesses(tree), {}
    for name in LEARNED:
        values = getattr(tree, ATTRIBUTES[name]) or (MISSING,) * len(tree)
        given[name] = np.not_equal(values, MISSING) & ~guesses[name]
        if name == "feats" and given[name].any():
            given[name] = ~guesses[name]
    return given


def keep_given(tree, own):
    """Put tags and relations that are given in `own` into a tree that was predicted for it."""
    kept, given, deprels = {}, find_given(own), own.deprels or MISSING
    fits = np.equal(deprels, ROOT) == (tree.heads == 0)  # the relation root is for roots alone
    given[RELATION] = np.not_equal(deprels, MISSING) & fits
    for name, of_words in given.items():
        if of_words.any():
            values = getattr(own, ATTRIBUTES[name]), getattr(tree, ATTRIBUTES[name])
            kept[name] = np.where(of_words, *values).tolist()
    return with_tags(tree, kept) if kept else tree


def forget_heads(tree):
    """Remove heads and relations of a tree that are only guessed; their marks stay."""
    guesses = find_guesses(tree)
    if tree.heads is None or not (guesses["head"] | guesses[RELATION]).any():
        return tree
    heads = np.where(guesses["head"], UNKNOWN, tree.heads)
    deprels = np.where(guesses[RELATION], MISSING, tree.deprels).tolist()
    known = heads if heads.max() > UNKNOWN else None
    return with_valid_heads(tree, known, deprels, keep_deps=True)


def forget_guesses(tree):
    """Remove from a tree what is only guessed; None if nobody has confirmed any head of it.

    Parameters
    ----------
    tree : DependencyTree

    Returns
    -------
    tree : DependencyTree or None
        Guessed heads and tags are unknown. A tree without marks, or with the comment "# checked =
        yes", is returned as it is.
    """
    guesses, known = find_guesses(tree), forget_heads(tree)
    if known is not tree and known.heads is None:
        return None
    columns = {}
    for name in LEARNED:
        if guesses[name].any():
            unknown = UNKNOWN_FEATS if name == "feats" else MISSING
            columns[name] = np.where(guesses[name], unknown, tree.column(name)).tolist()
    return with_tags(known, columns) if columns else known


def mark_words(tree):
    """Mark words and boundaries of a tree as guesses."""
    return tree._with_comment(GUESSED_SENTENCE, WORDS)


def mark_guesses(tree, guesses):
    """Mark guesses in a tree that annotators correct, in place of all marks before.

    Parameters
    ----------
    tree : DependencyTree
    guesses : dict of bool ndarrays of shape (n_tokens,)
        As :func:`find_guesses` finds them.

    Returns
    -------
    tree : DependencyTree
    """
    marks = _read_comments(tree)
    of_sentence = marks.get(GUESSED_SENTENCE, ())
    # Older files name columns in a comment, and a sentence with new guesses is no longer checked.
    if {*of_sentence} & {*LEARNED} or (_is_set(marks, CHECKED) and np.any(list(guesses.values()))):
        tree = tree.with_comments([each for each in tree.comments if not _read_marks(each)])
        tree = mark_words(tree) if WORDS in of_sentence else tree
    # Relations to guessed heads need no mark of their own.
    guessed = guesses | {RELATION: guesses[RELATION] & ~guesses["head"]}
    columns = zip(*map(guessed.get, _IN_MISC["guessed"]), strict=True)
    values = {
        GUESSED: np.where(guesses["head"], "Yes", None),
        GIVEN_RELATION: np.where(guesses["head"] & ~guesses[RELATION], "Yes", None),
        GUESSED_COLUMNS: [
            ",".join(compress(_IN_MISC["guessed"], of_word)) or None for of_word in columns
        ],
    }
    for name, of_words in values.items():
        as_written = re.compile(rf"(?i)(?:^|(?<=\|)) *{name} *=")
        misc = [as_written.sub(f"{name}=", each) for each in tree.misc]
        tree = tree._with_source(replace_columns(tree._written(), {9: misc}))
        tree = tree.with_misc(name, list(of_words))
    return tree


def clear_marks(tree, columns):
    """Remove the marks of guesses in `columns`, of which "head" stands for heads, from a tree."""
    if not _is_marked(tree):
        return tree
    none = np.zeros(len(tree), dtype=bool)
    return mark_guesses(tree, find_guesses(tree) | dict.fromkeys(columns, none))


def check_marks(tree, path, first_line):
    """Warn of marks in a tree with other values than they may have, by file and line."""
    if not _is_marked(tree):
        return
    for number, line in enumerate(tree._source.split("\n"), start=first_line):
        known = _IN_COMMENTS if line.startswith("#") else _IN_MISC
        for name, values in _read_marks(line).items():
            wrong = [value for value in values if value not in known[name]]
            if wrong:
                warn(
                    f"{path}:{number}: The mark {name} has the value {shorten(wrong[0])}, which is "
                    f"none of {', '.join(known[name])}. It confirms nothing.",
                    UserWarning,
                )


def _is_marked(tree):
    """Whether a tree may have marks of guesses; most trees have none, and are not searched."""
    source = (tree._source or "").lower()
    return any(name in source for name in (*_IN_MISC, CHECKED))


def _read_comments(tree):
    """Read the marks in the comments of a tree, as :func:`_read_marks` does."""
    marks = {}
    for comment in reversed(tree.comments):  # the first of several counts
        marks |= _read_marks(comment)
    return marks


def _read_marks(line):
    """Read the marks of a comment or in MISC of a word: lists of values in lower case by name."""
    is_comment = line.startswith("#")
    items = [line[1:]] if is_comment else line.rpartition("\t")[2].split("|")
    known, marks = _IN_COMMENTS if is_comment else _IN_MISC, {}
    for item in items:
        name, _, value = map(str.strip, item.lower().partition("="))
        if name in known:
            marks[name] = [each.strip() for each in value.split(",")]
    return marks


def _is_set(marks, name, unclear=False):
    """Tell whether a mark says yes; `unclear` is for values that say neither yes nor no."""
    return name in marks and _FLAGS.get(marks[name][0], unclear)
