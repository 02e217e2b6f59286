"""Read horizontal text: a sentence a line, with spaces between its tokens."""

from collections.abc import Sequence
from typing import TextIO

from sklearn_shag.treebank._sources import list_sources
from sklearn_shag.treebank._text import ConlluError, read_text
from sklearn_shag.treebank._tree import DependencyTree
from sklearn_shag.utils._typing import FilePath

# What has no place between tokens, and what a file with it probably is.
_SIGNS = {
    "\t": "a tab, as in CoNLL-U, which read_conllu reads (on the command line --input conllu); "
    "between tokens there are spaces",
    "\r": "a line end of old Macs; convert them to '\\n'",
}


def read_horizontal(
    path_or_file: FilePath | TextIO | Sequence[FilePath | TextIO],
) -> list[DependencyTree]:
    """Read sentences of tokens: a sentence a line, with spaces between its tokens.

    Parameters
    ----------
    path_or_file : str, os.PathLike, text file, or list or tuple of them
        As for :func:`read_conllu`, but a folder stands for its ".txt" and ".txt.gz" files. Several
        spaces are as one, also at the ends of lines; lines without tokens are left out. Nothing is
        a comment. Other white space, such as a no-break space, is part of its token.

    Returns
    -------
    trees : list of DependencyTree
        With nothing but forms.

    Raises
    ------
    ConlluError
        If a line is not UTF-8, or has a tab.
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
        path, text = read_text(source)
        for number, line in enumerate(text.split("\n"), start=1):
            tokens = [token for token in line.split(" ") if token]
            if tokens:
                _check_line(path, number, line)
                trees.append(DependencyTree(tokens))
    return trees


def _check_line(path, number, line):
    for sign, meaning in _SIGNS.items():
        if sign in line:
            raise ConlluError(path, number, f"the line holds {meaning}")
    try:
        line.encode()
    except UnicodeEncodeError:
        message = "a character is not valid UTF-8; convert the file to UTF-8"
        raise ConlluError(path, number, message) from None
