"""Read horizontal text: a sentence a line, with spaces between its tokens."""

import re
import sys
from collections.abc import Sequence
from numbers import Integral
from typing import TextIO

from sklearn_shag.treebank._sources import list_sources
from sklearn_shag.treebank._text import MAX_BYTES, NOT_UTF8, ConlluError, Room, read_text
from sklearn_shag.treebank._tree import DependencyTree
from sklearn_shag.utils._param_validation import Interval, validate_params
from sklearn_shag.utils._typing import FilePath

# What has no place between tokens, and what a file with it probably is.
_SIGNS = {
    "\t": "a tab, as in CoNLL-U, which read_conllu reads (on the command line --input conllu); "
    "between tokens there are spaces",
    "\r": "a line end of old Macs; convert them to '\\n'",
}
_TOKENS = re.compile(rb"[^ \n][^\n]*")  # a line from its first token on


@validate_params({"max_bytes": [Interval(Integral, 1, None, closed="left"), None]})
def read_horizontal(
    path_or_file: FilePath | TextIO | Sequence[FilePath | TextIO],
    *,
    max_bytes: int | None = MAX_BYTES,
) -> list[DependencyTree]:
    """Read sentences of tokens: a sentence a line, with spaces between its tokens.

    Parameters
    ----------
    path_or_file : str, os.PathLike, text file, or list or tuple of them
        As for :func:`read_conllu`, but a folder stands for its ".txt" and ".txt.gz" files. Several
        spaces are as one, also at the ends of lines; lines without tokens are left out. Nothing is
        a comment. Other white space, such as a no-break space, is part of its token.

    max_bytes : int or None, default=2**30
        As for :func:`read_conllu`.

    Returns
    -------
    trees : list of DependencyTree
        With nothing but forms.

    Raises
    ------
    ConlluError
        If a line is not UTF-8 or has a tab, or there is more than `max_bytes`.
    OSError
        If there is no such file, or it cannot be read.
    ValueError
        If text is given in place of a path.
    TypeError
        If a file is neither a path nor open, or is open in binary mode.

    See Also
    --------
    read_conllu : Reads trees, and sentences with tags.
    sklearn_shag.BiaffineParser : Parses tokens alone.

    Examples
    --------
    >>> import io
    >>> from sklearn_shag.treebank import read_horizontal
    >>> read_horizontal(io.StringIO("Dogs bark .\\n\\nThey  do n't  bite .\\n"))
    [DependencyTree('Dogs bark .', heads=None), DependencyTree("They do n't bite .", heads=None)]
    """
    trees = []
    for source in list_sources(path_or_file, suffix=".txt"):
        trees += _parse_lines(*read_text(source, max_bytes), max_bytes)
    return trees


def _parse_lines(path, text, max_bytes):
    room = Room(path, len(text), max_bytes, Room.TREE // 2)  # a word of one letter, and a line end
    number, end = 1, 0
    for match in _TOKENS.finditer(text):
        number += text.count(b"\n", end, match.start())
        end = match.start()
        if room.is_limited:
            room.check(number, Room.READING * (match.end() - end))
        tokens = _split_tokens(path, number, match.group())
        if room.is_limited:
            words = sum(map(sys.getsizeof, tokens)) + Room.WORD * len(tokens)
            room.take(number, Room.TREE + words)
        yield DependencyTree(tokens)


def _split_tokens(path, number, line):
    try:
        line = line.decode()
    except UnicodeDecodeError:
        raise ConlluError(path, number, NOT_UTF8) from None
    for sign, meaning in _SIGNS.items():
        if sign in line:
            raise ConlluError(path, number, f"the line holds {meaning}")
    return [token for token in line.split(" ") if token]
