"""Dictionaries: tags, features and lemmas that words may have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from sys import intern
from typing import TextIO

from sklearn_shag.treebank._graphemes import compose
from sklearn_shag.treebank._pieces import iter_pieces
from sklearn_shag.treebank._sources import ConlluError, decode_lines
from sklearn_shag.utils._io import expand_user
from sklearn_shag.utils._messages import printable, shorten
from sklearn_shag.utils._typing import FilePath

OF_ENTRIES = ("upos", "xpos", "feats", "lemma")  # columns of entries, in the order of the file


class Dictionary(dict[str, tuple[tuple[str, ...], ...]]):
    """The tags, features and lemmas that words may have.

    It maps words to their entries. Taggers and networks with the parameter `dictionary` give a word
    in it one of its entries; other words have any tags. Deep copies of it are the same object.

    Parameters
    ----------
    lines : iterable of str
        One entry each: word, UPOS, XPOS, features and lemma, with tabs between them. ``_`` stands
        for what an entry does not say. A word may have several entries. Empty lines are left out.

    Raises
    ------
    ValueError
        If a line has not five values. The message names its number.

    See Also
    --------
    read_dictionary : Reads the lines of a file.

    Examples
    --------
    >>> from sklearn_shag.treebank import Dictionary
    >>> words = Dictionary(["saw\\tNOUN\\t_\\tNumber=Sing\\tsaw", "saw\\tVERB\\t_\\t_\\tsee"])
    >>> words
    Dictionary of 1 word
    >>> words["saw"]
    (('NOUN', '_', 'Number=Sing', 'saw'), ('VERB', '_', '_', 'see'))
    """

    def __init__(self, lines: Iterable[str]) -> None:
        for number, line in enumerate(lines, start=1):
            if not line:
                continue
            form, *entry = line.split("\t")
            if len(entry) != len(OF_ENTRIES) or "" in entry or not form:
                raise ValueError(
                    f"Line {number} of the dictionary, {shorten(line)}, must have five values with "
                    f"tabs between them: word, UPOS, XPOS, features and lemma, '_' for each that "
                    f"is not known."
                )
            form = compose(form)
            self[form] = (*self.get(form, ()), tuple(map(intern, entry)))

    def __deepcopy__(self, memo: object) -> Dictionary:
        return self

    def __repr__(self) -> str:
        return f"Dictionary of {len(self):,} {'word' if len(self) == 1 else 'words'}"

    def to_lines(self) -> Iterator[str]:
        """Iterate over the lines of all entries.

        Returns
        -------
        lines : iterator of str
            As the class takes them.
        """
        rows = ((form, *entry) for form, entries in self.items() for entry in entries)
        return map("\t".join, rows)


def read_dictionary(path_or_file: FilePath | TextIO) -> Dictionary:
    """Read the entries of words from a file.

    Parameters
    ----------
    path_or_file : str, os.PathLike or text file
        Its lines are those of a :class:`Dictionary`, in UTF-8. It may be compressed with gzip.

    Returns
    -------
    dictionary : Dictionary
        The entries of each word, in the order of the file.

    Raises
    ------
    ValueError
        If a line has not five values, or is not UTF-8. The message names file and line.
    OSError, TypeError
        If the file cannot be read, or something else is given.

    See Also
    --------
    sklearn_shag.Tagger : Tags words by a dictionary, and learns the tags of others.

    Examples
    --------
    >>> import io
    >>> from sklearn_shag import Tagger
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.treebank import read_dictionary
    >>> trees = load_english().data
    >>> words = read_dictionary(io.StringIO("glorked\\tVERB\\t_\\t_\\tglork"))
    >>> tagger = Tagger("upos", max_iter=2, dictionary=words, random_state=0).fit(trees[:100])
    >>> tagger.transform([["the", "glorked"]])[0].upos
    ('DET', 'VERB')
    """
    source = path_or_file if hasattr(path_or_file, "read") else expand_user(path_or_file)
    try:
        return Dictionary(_iter_lines(source))
    except ConlluError:
        raise
    except ValueError as error:
        name = getattr(source, "name", "<text>") if hasattr(source, "read") else source
        raise ValueError(f"{printable(str(name))}: {error}") from None


def _iter_lines(source):
    for piece in iter_pieces(source, b"\n"):
        text = decode_lines(piece.path, piece.n_lines + 1, piece.text)
        yield from text.removesuffix("\n").split("\n")
