"""Splitting and joining of sentences and words."""

import re
from copy import copy

from sklearn_shag.annotation._draft import FORM, MISC, TOP, UPOS, ConflictError, Row
from sklearn_shag.treebank import CHECKED, MISSING

_NAME = re.compile(r"#\s*(\w+)")  # of a comment
_OF_ONE = ("sent_id", "text", "newpar", "predicted")  # comments that joining drops
_UNSPACED = "SpaceAfter=No"


def split_sentence(draft, number, ending):
    """Split a sentence before a word; arcs between the parts become unknown.

    Parameters
    ----------
    draft : Draft
    number : int
        Of the word.
    ending : str
        Is added to the sent_id of the second part.

    Returns
    -------
    parts : list of two Draft
    """
    word = draft.find(number)
    token = _find_token(draft, word)
    if word is draft.words[0] or (token is not None and token.first is not word):
        raise ConflictError(f"No sentence can begin with word {number}.")
    cut = draft.lines.index(token or word)
    second = copy(draft)
    second.lines = [
        line + ending * (_name_of(line) == "sent_id")
        for line in draft.lines[:cut]
        if _name_of(line) in ("sent_id", "text", "predicted")
    ]
    second.lines += draft.lines[cut:]
    del draft.lines[cut:]
    return [_finish_draft(draft), _finish_draft(second)]


def join_sentences(draft, other):
    """Join a sentence with the next one, whose root becomes unknown if both are known."""
    names = set(map(_name_of, other.lines))
    if "newdoc" in names:
        raise ConflictError("A document begins with the next sentence.")
    if "newpar" in names:
        _add_items(other.rows[0], ["NewPar=Yes"])
    draft.lines += [line for line in other.lines if _name_of(line) not in _OF_ONE]
    draft.lines.sort(key=lambda line: isinstance(line, Row))
    return _finish_draft(draft)


def split_word(draft, number, character):
    """Split a word before a character; the first part keeps all annotation."""
    word = draft.find(number)
    token, form = _find_token(draft, word), word.cells[FORM]
    left, right = form[: max(character, 0)].rstrip(), form[max(character, 0) :].lstrip()
    if not (left and right):
        raise ConflictError(f"{form} has no two parts, before and from character {character}.")
    second = Row([str(number), right, MISSING, word.cells[UPOS], *[MISSING] * 6])
    second.guesses.add("upos")
    second.arcs = [(None, MISSING)] * bool(word.arcs)
    word.cells[FORM] = left
    if token is not None and token.last is word:
        token.last = second
    if token is None and _UNSPACED in _list_items(word):
        second.cells[MISC] = _UNSPACED
    elif token is None and left + right == form:
        _add_items(word, [_UNSPACED])
    draft.lines.insert(draft.lines.index(word) + 1, second)
    return _finish_draft(draft)


def join_words(draft, number):
    """Join a word with the next one; the annotation of the upper one of the two stays."""
    if number >= len(draft.words):
        raise ConflictError("There is no next word.")
    first, second = draft.find(number), draft.find(number + 1)
    token, unspaced = _find_token(draft, first), {_UNSPACED}
    if token is not _find_token(draft, second):
        raise ConflictError("One of the words is inside a token, the other is not.")
    if token is None and _UNSPACED not in _list_items(first):
        raise ConflictError("There is a space between the words, so they stay two.")
    above = first.head
    while above not in (TOP, second):
        above = above.head
    upper, lower = (second, first) if above is second else (first, second)
    form, more = first.cells[FORM] + second.cells[FORM], unspaced.intersection(_list_items(second))
    if token is not None and (token.first, token.last) == (first, second):
        form, more = token.cells[FORM], _list_items(token)
        draft.lines.remove(token)
    upper.cells[FORM] = form
    items = [item for item in _list_items(upper) if item != _UNSPACED]
    upper.cells[MISC] = "|".join([*items, *more]) or MISSING
    place = draft.lines.index(first)
    draft.lines.remove(second)
    draft.lines[place] = upper
    for row in draft.rows:
        row.replace(lower, upper)
    return _finish_draft(draft)


def _name_of(line):
    """Return the name of a comment, None for other lines."""
    found = isinstance(line, str) and _NAME.match(line)
    return found[1] if found else None


def _list_items(row):
    return [item for item in row.cells[MISC].split("|") if item != MISSING]


def _add_items(row, items):
    row.cells[MISC] = "|".join([*_list_items(row), *items])


def _find_token(draft, word):
    """Find the multiword token that a word is in, None for most words."""
    words = draft.words
    at = words.index(word)
    tokens = [row for row in draft.rows if row.last is not None]
    around = (each for each in tokens if words.index(each.first) <= at <= words.index(each.last))
    return next(around, None)


def _finish_draft(draft):
    """Let heads of a draft fit to its words, which nobody has checked as they are."""
    draft.lines = [line for line in draft.lines if _name_of(line) != CHECKED]
    draft.settle()
    return draft
