"""What users gave, in messages: safe for terminals, and short."""

import sys
import unicodedata

from sklearn_shag.utils._messages import printable, shorten
from tests.loops import over

ACTING = [
    chr(code)
    for code in range(sys.maxunicode + 1)
    if unicodedata.category(chr(code)) in ("Cc", "Cs", "Zl", "Zp")
    or unicodedata.bidirectional(chr(code))
    in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
] + ["\u200e", "\u200f", "\u061c"]


def test_signs_that_act_are_escaped():
    text = printable("".join(ACTING), max_length=None)
    assert text.isascii()
    assert text.isprintable()
    assert text.encode().decode("unicode_escape") == "".join(ACTING)


def test_all_else_stays():
    text = "naïve  日本 👩‍👩‍👧 \\n שלום \u0301\xa0"
    assert printable(text) == text


@over("length", [499, 500, 501, 10**7])
@over("character", ["a", "\x1b", "\ud800"])
def test_long_text_loses_its_middle(length, character):
    text = printable(f"<{character * length}>")
    assert len(text) <= 500
    assert text[0] + text[-1] == "<>"


def test_whole_numbers_of_any_size():
    assert shorten([10**5000, -7]) == "[<int of 16610 bits>, -7]"
