"""Altered copies of text to learn from: text as it is has other signs than its treebank."""

QUOTES, CAPITALS, SMALL = "quotes", "capitals", "small letters"

# Signs that stand for each other, some of which only open or only close a quotation: straight,
# curly, low, reversed and angle ones, accents, primes, letters, and signs of full width.
APOSTROPHES = "'\u2019\u2018`\u00b4\u02bc\u201b\u2032\uff07"
QUOTATION_MARKS = '"\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033\uff02'
_OPENING, _CLOSING = "\u2018\u201b`\u201e\u00ab", "\u201d\u00bb"
# What opens and what closes a quotation, the most usual ones twice. What closes is an apostrophe.
_OF_APOSTROPHES = (
    "''",
    "\u2019\u2019",
    *2 * ["\u2018\u2019"],
    "``",
    "`'",
    "\u00b4\u00b4",
    "\u02bc\u02bc",
)
_OF_QUOTATION_MARKS = ('""', *2 * ["\u201c\u201d"], "\u201e\u201c", "\u201d\u201d", "\u00ab\u00bb")


def respell(text, kind, rng):
    """Write a text in other signs, as many as before.

    Parameters
    ----------
    text : str
    kind : {"quotes", "capitals", "small letters"}
        Other quotation marks and apostrophes, drawn once for the text; or other letters. Those
        whose other form is not a single character stay as they are.
    rng : RandomState or Generator

    Returns
    -------
    text : str
        It may be the same.
    """
    if kind == QUOTES:
        styles = (str(rng.choice(each)) for each in (_OF_APOSTROPHES, _OF_QUOTATION_MARKS))
        return "".join(_replace_marks(text, *styles))
    change = str.upper if kind == CAPITALS else str.lower
    return "".join(new if len(new := change(sign)) == 1 else sign for sign in text)


def _replace_marks(text, apostrophes, quotation_marks):
    """Yield the characters of a text with the marks of a style, given as what opens and closes."""
    is_open = False
    for sign in text:
        if sign in APOSTROPHES:
            yield apostrophes[sign not in _OPENING]
        elif sign in QUOTATION_MARKS:
            is_open = sign in _OPENING or (sign not in _CLOSING and not is_open)
            yield quotation_marks[not is_open]
        else:
            yield sign
