"""Characters as a network reads them: columns, rare signs as familiar ones, pieces of text."""

import re
from collections import Counter, defaultdict
from functools import lru_cache
from itertools import chain, pairwise
from unicodedata import category, name, normalize

import numpy as np

from sklearn_shag.encoding import UNKNOWN_CODE, number_values, place_codes
from sklearn_shag.network._augmentation import APOSTROPHES, QUOTATION_MARKS

# Characters of a piece of text, and of the margins on both sides that the network reads, too.
PIECE, MARGIN = 400, 40
OF_CHARACTERS = ("character", "pair", "shapes", "word")  # the columns of characters
BEFORE, AFTER = 2, 3  # shapes around a character; a blank line has two characters
SIGNS = ".,!?'\"-():;"  # which are their own shapes
# Signs that stand for each other.
SIMILAR = (APOSTROPHES, QUOTATION_MARKS, "-\u2010\u2011\u2012\u2013\u2014\u2212", "([{", ")]}")
# Scripts are named as the Unicode names of their letters begin. Chinese and Japanese texts mix
# some, which count as one. What belongs to a letter of any script has one of its own.
_MIXED = "CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "BOPOMOFO"
SCRIPTS, MARK = dict.fromkeys(_MIXED, "HAN"), "MODIFIER"
FEWEST_LETTERS = 10  # of a known script; a few letters are those of foreign names


def number_columns(vocabulary):
    """Return the code of each known value of each column of characters."""
    return {name: number_values(values) for name, values in vocabulary.items()}


def list_known(columns, min_count):
    """Return the values of each column of characters that were seen at least `min_count` times."""
    return {
        name: [values[k] for k in np.flatnonzero(counts >= min_count)]
        for name, values, counts, _ in columns
    }


def encode_characters(code_of, columns):
    """Return the codes of characters, (n_characters, n_columns)."""
    return place_codes(
        ([code_of[name].get(value, UNKNOWN_CODE) for value in values], places)
        for name, values, _, places in columns
    )


def read_unknown_as_known(text, known):
    """Replace unknown characters of a text by known ones of their class, one by one.

    So boundaries do not depend on which signs a treebank happens to hold: letters with accents are
    read as the letters, signs as others of the same use, and all other signs as commas.

    Parameters
    ----------
    text : str
    known : container of str
        Characters.

    Returns
    -------
    text : str
        Of the same length.
    """
    for sign in set(text):  # faster than str.translate, since few are unknown
        if sign not in known and not sign.isspace():
            text = text.replace(sign, _stand_in(sign, known))
    return text


def _stand_in(sign, known):
    candidates = [normalize("NFKD", sign)[0]]
    candidates += [other for group in SIMILAR if sign in group for other in group]
    if category(sign)[0] in "PS":
        candidates += [",", "."]
    return next((other for other in candidates if other in known), sign)


@lru_cache(maxsize=2**14)
def script_of(sign):
    """Return the script of a letter, MARK for marks and joiners, or "" for other characters."""
    if category(sign)[0] == "M" or sign in "\u200c\u200d":
        return MARK
    if not sign.isalpha():
        return ""
    script, _, _ = name(normalize("NFKD", sign)[0], "UNNAMED").partition(" ")
    return SCRIPTS.get(script, script)


def list_scripts(known):
    """List the scripts of which enough characters are known, or most of all letters."""
    counts = Counter(map(script_of, known))
    del counts[MARK], counts[""]
    least = min(FEWEST_LETTERS, counts.total() / 2)
    return [script for script, n_letters in counts.items() if n_letters >= least]


def list_runs(text, scripts):
    """List begin and end of each run of letters of one script that is not among these scripts."""
    letters = defaultdict(str)
    for sign in set(text):
        letters[script_of(sign)] += sign
    foreign = letters.keys() - {*scripts, MARK, ""}
    patterns = (f"[{letters[script]}][{letters[script]}{letters[MARK]}]*" for script in foreign)
    return [run.span() for run in chain.from_iterable(re.finditer(p, text) for p in patterns)]


def iter_columns(text, paragraphs, stops=None):
    """Yield each column of characters: its name, distinct values, their counts, and places.

    The places are the index of the value of each character. The last characters of texts that were
    put together, `stops`, do not see the next text.
    """
    text = re.sub(r"\s", " ", text)
    distinct, places = _number(np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32))
    signs, n = list(map(chr, distinct.tolist())), distinct.size
    yield "character", signs, np.bincount(places), places
    following = np.append(places[1:], places[-1])
    if stops is not None:
        following[stops] = places[stops]
    pairs, of_pairs = _number(places * n + following)
    values = [signs[pair // n] + signs[pair % n] for pair in pairs.tolist()]
    yield "pair", values, np.bincount(of_pairs), of_pairs
    # Shapes are ASCII.
    shapes, size = np.array([ord(shape_of(sign)) for sign in signs])[places], BEFORE + 1 + AFTER
    shapes = np.pad(shapes, (BEFORE, AFTER), constant_values=ord(" "))
    powers = (128 ** np.arange(size)).tolist()
    windows = sum(shapes[k : k + len(text)] * power for k, power in enumerate(powers))
    last = np.array([end - 1 for _, end in paragraphs])  # no paragraph sees the next one
    windows[last] += (ord(" ") - shapes[last + size - 1]) * powers[-1]
    distinct, of_windows = _number(windows)
    values = ["".join(map(chr, w)) for w in (distinct[:, np.newaxis] // powers % 128).tolist()]
    yield "shapes", values, np.bincount(of_windows), of_windows
    in_word = np.array([_is_letter(sign) or sign.isdigit() for sign in signs])[places]
    begins = np.flatnonzero(np.append(True, ~(in_word[1:] & in_word[:-1])))
    words = [text[begin:end] for begin, end in pairwise([*begins.tolist(), len(text)])]
    numbers = {word: k for k, word in enumerate(sorted(set(words)))}
    of_words = np.array([numbers[word] for word in words])
    lengths = np.diff(begins, append=len(text))
    yield "word", list(numbers), np.bincount(of_words), np.repeat(of_words, lengths)


def _number(values):
    """Return the distinct values in order, and the index of each value."""
    # With return_index the sort is stable, which is twice as fast for what repeats as text does.
    return np.unique(values, return_index=True, return_inverse=True)[::2]


def _is_letter(sign):
    return sign.isalpha() or category(sign)[0] == "M"


def shape_of(sign):
    """Return the shape of a character: "X", "x" or "l" for letters, "9", " ", "*", or itself."""
    if _is_letter(sign):
        return "X" if sign.isupper() else "x" if sign.islower() else "l"
    return "9" if sign.isdigit() else sign if sign in (" ", *SIGNS) else "*"


def cut_into_pieces(text, paragraphs):
    """Cut paragraphs into pieces, by preference at spaces, with margins.

    Returns
    -------
    places : int ndarray of shape (n_rows,)
        Indices of characters of the text.
    is_own : bool ndarray of shape (n_rows,)
        Whether each belongs to the piece, and not to a margin.
    indptr : int ndarray of shape (n_pieces + 1,)
        Piece k has the rows ``indptr[k]:indptr[k + 1]``.
    """
    places, is_own = [], []
    for begin, end in paragraphs:
        first = begin
        while first < end:
            last = min(first + PIECE, end)
            if last < end:
                last = max(text.rfind(" ", first + PIECE // 2, last) + 1, 0) or last
            places.append(np.arange(max(first - MARGIN, begin), min(last + MARGIN, end)))
            is_own.append((places[-1] >= first) & (places[-1] < last))
            first = last
    return np.concatenate(places), np.concatenate(is_own), np.cumsum([0, *map(len, places)])
