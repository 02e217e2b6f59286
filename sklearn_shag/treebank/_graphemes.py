"""Graphemes, each of which a reader sees as one letter, and the composed form of text."""

import re
from functools import lru_cache
from itertools import pairwise
from unicodedata import category, is_normalized, normalize

import numpy as np

# Characters that have no width and spell nothing: spaces of no width, marks of direction, word
# joiners, byte order marks, and soft hyphens. Joiners (U+200C and U+200D) spell words.
_INVISIBLE = re.compile("[\xad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_BEGINNING = re.compile(rf"(?:\s*{_INVISIBLE.pattern})*")
# Kinds of characters that make graphemes with their neighbours, beside marks: the joiner; signs
# that leave out the vowel of a consonant, which then makes one letter with the next one; characters
# that belong to the one before (a non-joiner, vowels AM of Thai and Lao, ends of Hangul syllables,
# voiced sound marks of half width, tones of skin, and tags of flags); characters that belong to the
# next one (signs before Arabic and Indic numbers and letters, and beginnings of Hangul syllables);
# and the letters of flags.
_KINDS = re.compile(
    "(?P<j>\u200d)|(?P<v>[\u094d\u09cd\u0acd\u0b4d\u0c4d\u0d4d\u1039\u17d2\u1a60\u1b44\u1bab"
    "\ua9c0\uaaf6\U00010a3f\U00011133\U000113d0\U0001193e\U00011a3a\U00011a47\U00011a99\U00011f42])"
    "|(?P<t>[\u200c\u0e33\u0eb3\u1160-\u11ff\ud7b0-\ud7fb\uff9e\uff9f\U0001f3fb-\U0001f3ff"
    "\U000e0020-\U000e007f])|(?P<h>[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u0d4e\u1100-\u115f"
    "\ua960-\ua97c\U000110bd\U000110cd\U000111c2\U000111c3\U000113d1\U0001193f\U00011941"
    "\U00011a84-\U00011a89\U00011d46\U00011f02])"
    "|(?P<f>[\U0001f1e6-\U0001f1ff])|(?P<s>\\s)|(?P<l>[^\\W\\d_])|(?P<o>(?s:.))"
)
# A grapheme in terms of these kinds, after Unicode Standard Annex 29: what belongs to the next
# character, then the two letters of a flag or another character, then what belongs to it. White
# space (s) is a grapheme of its own, whatever stands behind it.
_BASE = "h*(?:ff|v[vtj]*l?|[^s])"
_GRAPHEME = re.compile(f"{_BASE}(?:t|v[vtj]*(?:l|(?<=j)(?:{_BASE}))?|j(?:{_BASE})?)*")


@lru_cache(maxsize=2**16)
def _kind_of(sign):
    """Return the kind of a character, a group of _KINDS; marks belong to the one before."""
    kind = _KINDS.match(sign).lastgroup
    return "t" if kind == "o" and category(sign)[0] == "M" else kind


def find_joined(text):
    """Find the characters of a text that make one grapheme with the next one.

    Parameters
    ----------
    text : str

    Returns
    -------
    joined : bool ndarray of shape (n_characters,)
    """
    joined = np.zeros(len(text), dtype=bool)
    kind_of = {sign: _kind_of(sign) for sign in set(text)}
    if {"j", "v", "t", "h", "f"} & set(kind_of.values()):
        for found in _GRAPHEME.finditer("".join(map(kind_of.__getitem__, text))):
            joined[found.start() : found.end() - 1] = True
    return joined


def measure_invisible(text):
    """Count the invisible characters at the beginning of a text, and the space between them."""
    return _BEGINNING.match(text).end()


def remove_invisible(text):
    """Leave out the invisible characters of a text."""
    return _INVISIBLE.sub("", text)


def leave_out_invisible(text):
    """Return the visible characters of a text, and their places in it with its length."""
    visible, places = remove_invisible(text), range(len(text) + 1)
    if len(visible) < len(text):
        left_out = [match.start() for match in _INVISIBLE.finditer(text)]
        places = np.delete(places, left_out).tolist()
    return visible, places


def list_graphemes(text):
    """List the graphemes of a text, in order."""
    if text.isascii():
        return list(text)
    ends = np.flatnonzero(~find_joined(text)) + 1
    return [text[begin:end] for begin, end in pairwise([0, *ends.tolist()])]


@lru_cache(maxsize=2**15)
def compose(form):
    """Compose the letters and accents of a form (NFC), without its invisible characters."""
    return form if form.isascii() else normalize("NFC", remove_invisible(form)) or form


def compose_words(words):
    """Return the list of the composed forms of words."""
    return list(words) if "".join(words).isascii() else list(map(compose, words))


def compose_text(text):
    """Compose a text grapheme by grapheme.

    Parameters
    ----------
    text : str

    Returns
    -------
    composed : str
    ends, composed_ends : int ndarrays of shape (n_graphemes,)
        The last characters of graphemes, in the text and in the composed text. In a text that is
        composed already, all characters count as graphemes.
    """
    if is_normalized("NFC", text):
        places = np.arange(len(text))
        return text, places, places
    graphemes = list_graphemes(text)
    composed = list(map(compose, graphemes))
    ends = [np.cumsum(list(map(len, each))) - 1 for each in (graphemes, composed)]
    return "".join(composed), *ends
