"""Read sentences of tokens alone: a sentence a line."""

import re
from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import TextIO

from sklearn_shag.treebank._pieces import (
    MAX_BYTES,
    MAX_SENTENCE_BYTES,
    NOT_UTF8,
    TextFormat,
    iter_trees,
)
from sklearn_shag.treebank._sources import ConlluError, list_sources
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
    iter_horizontal : Reads files of any size.
    read_conllu : Reads trees, and sentences with tags.
    sklearn_shag.BiaffineParser : Parses tokens alone.

    Examples
    --------
    >>> import io
    >>> from sklearn_shag.treebank import read_horizontal
    >>> read_horizontal(io.StringIO("Dogs bark .\\n\\nThey  do n't  bite .\\n"))
    [DependencyTree('Dogs bark .', heads=None), DependencyTree("They do n't bite .", heads=None)]
    """
    return list(iter_trees(list_sources(path_or_file, ".txt"), HORIZONTAL, max_bytes=max_bytes))


@validate_params({"max_sentence_bytes": [Interval(Integral, 1, None, closed="left"), None]})
def iter_horizontal(
    path_or_file: FilePath | TextIO | Sequence[FilePath | TextIO],
    *,
    max_sentence_bytes: int | None = MAX_SENTENCE_BYTES,
) -> Iterator[DependencyTree]:
    """Read sentences of tokens one after the other, from files of any size.

    Parameters
    ----------
    path_or_file : str, os.PathLike, text file, or list or tuple of them
        As for :func:`read_horizontal`.

    max_sentence_bytes : int or None, default=2**24
        The largest size of a line, in bytes.

    Returns
    -------
    trees : iterator of DependencyTree
        With nothing but forms.

    Raises
    ------
    ConlluError, OSError, ValueError, TypeError
        As :func:`read_horizontal`; what is wrong with a file when it is read up to there.

    See Also
    --------
    read_horizontal : Lists them.
    iter_conllu : Does it with trees, and sentences with tags.

    Examples
    --------
    >>> import io
    >>> from sklearn_shag.treebank import iter_horizontal
    >>> for tree in iter_horizontal(io.StringIO("Dogs bark .\\nThey  do n't  bite .\\n")):
    ...     print(len(tree))
    3
    5
    """
    sources = list_sources(path_or_file, ".txt")
    return iter_trees(sources, HORIZONTAL, longest=max_sentence_bytes)


def _split_lines(text):
    """Yield how many lines stand before each line with tokens, and its text."""
    n_lines, end = 0, 0
    for match in _TOKENS.finditer(text):
        n_lines += text.count(b"\n", end, match.start())
        end = match.start()
        yield n_lines, match.group()


def _parse_line(path, number, line):
    try:
        line = line.decode()
    except UnicodeDecodeError:
        raise ConlluError(path, number, NOT_UTF8) from None
    for sign, meaning in _SIGNS.items():
        if sign in line:
            raise ConlluError(path, number, f"the line holds {meaning}")
    return DependencyTree([token for token in line.split(" ") if token])


HORIZONTAL = TextFormat(".txt", b"\n", _split_lines, _parse_line)
