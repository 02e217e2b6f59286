"""Vectors of words that were learned elsewhere, in files of text."""

import re
from array import array
from collections.abc import Iterable
from itertools import chain, islice, takewhile
from math import isfinite, nan

import numpy as np

from sklearn_shag.treebank import ConlluError, iter_pieces
from sklearn_shag.utils._io import expand_user
from sklearn_shag.utils._messages import printable, shorten
from sklearn_shag.utils._param_validation import COUNT, HasMethods, validate_params
from sklearn_shag.utils._typing import FilePath, SingleArray

_HEADER = re.compile(r"\d+ ([1-9]\d{,8})")  # numbers of words and dimensions
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE)
_NOT_UTF8 = "this is not valid UTF-8; convert it, or, if it is a binary file, save vectors as text"


@validate_params({"words": [None, HasMethods("__iter__")], "limit": [None, *COUNT]})
def read_vectors(
    path: FilePath, *, words: Iterable[str] | None = None, limit: int | None = None
) -> tuple[list[str], SingleArray]:
    """Read word vectors from a text file in the format of word2vec, fastText and GloVe.

    Each line is a word and its numbers, separated by spaces or tabs. A first line with the numbers
    of words and dimensions is skipped. Files are read line by line, and memory holds only what is
    returned.

    Parameters
    ----------
    path : str or os.PathLike
        UTF-8, possibly compressed with gzip; ``-`` is standard input, ``~`` the home folder.
    words : None or iterable of str, default=None
        Words to keep, along with their lower-case forms, if the file has them. None keeps all.
    limit : None or int, default=None
        Number of words to read from the beginning of the file, where the most frequent ones usually
        are. None means no limit.

    Returns
    -------
    words : list of str
        The words as in the file. If a word comes twice, the first line counts.
    vectors : float32 ndarray of shape (n_words, n_dimensions)
        The vector of each word.

    Raises
    ------
    ValueError
        If a line is not a word with as many finite numbers as the others, the file is not text in
        UTF-8, or it has none of the words. The message names the file and the line.
    TypeError
        If `path` is not a path, or `words` are not words.
    OSError
        If the file cannot be read.

    See Also
    --------
    sklearn_shag.BiaffineParser : Takes the pair as `embeddings`.
    sklearn_shag.Tagger : Takes the pair as `embeddings` too.

    Notes
    -----
    A word may contain spaces, but the part after its last space must not be a number: such a line
    would look like one with too many numbers.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn_shag.features import read_vectors
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "tiny.vec"
    >>> _ = path.write_text("3 2\\nthe 0.5 -0.25\\ndogs 1 2\\ncats 1 1.5\\n")
    >>> words, vectors = read_vectors(path)
    >>> words, vectors.shape
    (['the', 'dogs', 'cats'], (3, 2))

    To save memory, read only the words of your trees:

    >>> from sklearn_shag.treebank import DependencyTree
    >>> trees = [DependencyTree(["Dogs", "bark"])]
    >>> read_vectors(path, words={form for tree in trees for form in tree.forms})[0]
    ['dogs']
    """
    path = expand_user(path)
    asked = None if words is None else _with_lower_case(words)
    try:
        found, vectors = _parse_vectors(path, asked, limit)
    except ConlluError as error:  # which names the file and the line, but is no error of CoNLL-U
        raise ValueError(str(error)) from None
    if not found:
        what = "" if asked is None else " of the words that are asked for"
        where = "" if limit is None else f" in its first {limit} lines"
        raise ValueError(f"{printable(path)} has no vectors{what}{where}; is it the right file?")
    return found, vectors


def _with_lower_case(words):
    words = words if isinstance(words, str) else list(words)
    if isinstance(words, str) or not all(isinstance(word, str) for word in words):
        raise TypeError(
            f"words must be a list or a set of str, or the like, got {shorten(words)}. To get the "
            f"words of trees: {{form for tree in trees for form in tree.forms}}."
        )
    return {*words, *map(str.lower, words)}


def _parse_vectors(path, asked, limit):
    lines = _iter_vector_lines(path)
    first = next(lines, (path, 1, "0 1"))  # an empty file counts as one without words
    header = _HEADER.fullmatch(first[2])
    n_dimensions = int(header[1]) if header else _count_numbers(first[2])
    found, values = {}, array("f")
    for place, number, line in islice(lines if header else chain([first], lines), limit):
        word, *numbers = line.rsplit(" ", n_dimensions)
        extra = " " in word and _NUMBER.fullmatch(word.rpartition(" ")[2])
        if extra or len(numbers) < n_dimensions:
            raise ConlluError(
                place,
                number,
                f"a word and a vector of size {n_dimensions} are expected, got {shorten(line)}",
            )
        if word in found or (asked is not None and word not in asked):
            continue
        try:
            row = array("f", map(float, numbers))
        except ValueError:
            row = [nan]
        if not isfinite(sum(row)):
            wrong = [text for text in numbers if not _NUMBER.fullmatch(text)] or numbers
            raise ConlluError(
                place,
                number,
                f"the vector of {shorten(word)} must be finite numbers, got {shorten(wrong)}",
            )
        found[word] = None
        values += row
    return list(found), np.frombuffer(values, dtype=np.float32).reshape(-1, n_dimensions)


def _iter_vector_lines(path):
    """Yield the file, the number and the text of each line that is not empty."""
    for piece in iter_pieces(path, b"\n"):
        for number, line in enumerate(piece.text.split(b"\n"), start=piece.n_lines + 1):
            try:
                text = line.decode().replace("\t", " ").rstrip(" ")
            except UnicodeDecodeError:
                raise ConlluError(piece.path, number, _NOT_UTF8) from None
            if text:
                yield piece.path, number, text


def _count_numbers(line):
    """Count the numbers at the end of the first line; at least one is expected."""
    fields = reversed(line.split(" ")[1:])
    return max(1, sum(1 for _ in takewhile(_NUMBER.fullmatch, fields)))
