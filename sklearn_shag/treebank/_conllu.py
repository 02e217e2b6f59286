"""Read and write CoNLL-U without loss: the file format of Universal Dependencies."""

import io
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from numbers import Integral
from typing import Literal, TextIO

import numpy as np
from conllu.exceptions import ParseException
from conllu.parser import DEFAULT_FIELDS, parse_id_value, parse_int_value

from sklearn_shag.treebank._columns import check_column_name, join_columns
from sklearn_shag.treebank._pieces import (
    MAX_BYTES,
    MAX_SENTENCE_BYTES,
    NOT_UTF8,
    TextFormat,
    iter_trees,
)
from sklearn_shag.treebank._sources import ConlluError, guess_format, list_sources
from sklearn_shag.treebank._tree import DependencyTree, make_tree
from sklearn_shag.utils._arrays import is_collection
from sklearn_shag.utils._heads import UNKNOWN, advise_on_convention, find_head_error
from sklearn_shag.utils._io import write_text
from sklearn_shag.utils._messages import printable, shorten
from sklearn_shag.utils._param_validation import Interval, StrOptions, validate_params
from sklearn_shag.utils._typing import FilePath

# Attributes of a tree, and the columns that they come from.
_KEPT = {"forms": 1, "lemmas": 2, "upos": 3, "xpos": 4, "feats": 5, "deprels": 7}
_VISIBLE = re.compile(rb"[^ \n]")  # what a line holds that is not blank
_BLANK_LINE = re.compile(rb"\n *+(?:\n|\Z)")  # and the line end before it
_parse_head = lru_cache(maxsize=1024)(parse_int_value)  # the same few numbers at every word


_CHECKED = {
    "symbols": [str, list, tuple],
    "on_error": [StrOptions({"raise", "skip", "warn"})],
}
_SIZE = [Interval(Integral, 1, None, closed="left"), None]


@validate_params({**_CHECKED, "max_bytes": _SIZE})
def read_conllu(
    path_or_file: FilePath | TextIO | Sequence[FilePath | TextIO],
    symbols: str | Sequence[str] = "upos",
    on_error: Literal["raise", "skip", "warn"] = "raise",
    *,
    max_bytes: int | None = MAX_BYTES,
) -> list[DependencyTree]:
    """Read the sentences of CoNLL-U files.

    Comments, multiword tokens, empty nodes and MISC values are not part of the tree, but the
    :class:`DependencyTree` keeps them for :func:`write_conllu`.

    Parameters
    ----------
    path_or_file : str, os.PathLike, text file, or list or tuple of them
        The file, in UTF-8 and optionally compressed with gzip, whatever its name is. A byte order
        mark is dropped, and CRLF becomes LF. "-" is standard input, "~" the home folder. A folder
        stands for its ".conllu" and ".conllu.gz" files, a pattern such as ``UD_*/*-train.conllu``
        for the files that it matches, sorted by name. Several files are read one after the other.

    symbols : str or sequence of str, default="upos"
        What the grammar sees: a column as in :meth:`DependencyTree.column`, or several columns
        joined by "|". For example, ``("upos", "xpos")`` gives ``VERB|VBD``.

    on_error : {"raise", "skip", "warn"}, default="raise"
        What to do with an invalid sentence: raise :class:`ConlluError`, skip it, or skip it with a
        `UserWarning` that holds the message. A file that is truncated (bad gzip) or is not text is
        always an error.

    max_bytes : int or None, default=2**30
        The largest size of a file after decompression, in bytes: one megabyte can unpack to a
        thousand. None for no limit. Trees of sentences of usual length take two to three times as
        much memory as their text, those of a word or two up to thirty times.

    Returns
    -------
    trees : list of DependencyTree
        With all columns as they are in the file ("_" where it has no value). The head "_" becomes
        -1 if other words of the sentence have heads. A sentence in which all words have the head
        "_" is unlabelled: its `heads` are None. Crossing arcs are not errors, nor are several roots
        if all heads are known.

    Raises
    ------
    ConlluError
        If a line does not have 10 tab-separated columns or is not UTF-8, or if a column is empty.
        If the IDs are not consecutive, a sentence has no word, or the heads are not a tree or part
        of one. If there is more than `max_bytes`. For a file in another format, the message guesses
        the format.
    OSError
        If the file does not exist or cannot be read.
    ValueError
        If `symbols` names an unknown column, or text is given instead of a path.
    TypeError
        If a file is neither a path nor open, or is open in binary mode.

    See Also
    --------
    iter_conllu : Reads files of any size.
    write_conllu : The inverse.
    read_horizontal : Reads sentences that consist of tokens only.

    Examples
    --------
    >>> import io
    >>> from sklearn_shag.treebank import read_conllu
    >>> file = io.StringIO(
    ...     "1\\tdogs\\tdog\\tNOUN\\tNNS\\t_\\t2\\tnsubj\\t_\\t_\\n"
    ...     "2\\tbark\\tbark\\tVERB\\tVBP\\t_\\t0\\troot\\t_\\t_\\n"
    ... )
    >>> trees = read_conllu(file, symbols=("upos", "xpos"))
    >>> trees
    [DependencyTree('dogs bark', heads=[2, 0])]
    >>> trees[0].symbols
    ('NOUN|NNS', 'VERB|VBP')
    """
    trees = iter_trees(list_sources(path_or_file), CONLLU, on_error, max_bytes=max_bytes)
    return list(_choose_symbols(trees, symbols))


@validate_params({**_CHECKED, "max_sentence_bytes": _SIZE})
def iter_conllu(
    path_or_file: FilePath | TextIO | Sequence[FilePath | TextIO],
    symbols: str | Sequence[str] = "upos",
    on_error: Literal["raise", "skip", "warn"] = "raise",
    *,
    max_sentence_bytes: int | None = MAX_SENTENCE_BYTES,
) -> Iterator[DependencyTree]:
    """Read sentences one at a time from CoNLL-U files of any size.

    Parameters
    ----------
    path_or_file : str, os.PathLike, text file, or list or tuple of them
        As for :func:`read_conllu`.

    symbols : str or sequence of str, default="upos"
        As for :func:`read_conllu`.

    on_error : {"raise", "skip", "warn"}, default="raise"
        As for :func:`read_conllu`.

    max_sentence_bytes : int or None, default=2**24
        The largest size of a sentence, in bytes.

    Returns
    -------
    trees : iterator of DependencyTree
        The trees that :func:`read_conllu` returns. About two megabytes of a file are in memory at
        once.

    Raises
    ------
    ConlluError, OSError, ValueError, TypeError
        As for :func:`read_conllu`, but not before reading reaches the place of the error.

    See Also
    --------
    read_conllu : Reads all sentences into a list.
    iter_horizontal : Reads sentences that consist of tokens only.

    Examples
    --------
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.treebank import iter_conllu
    >>> sum(len(tree) for tree in iter_conllu(load_english().filename))
    4802
    """
    trees = iter_trees(list_sources(path_or_file), CONLLU, on_error, longest=max_sentence_bytes)
    return _choose_symbols(trees, symbols)


def _choose_symbols(trees, symbols):
    """Trees with other symbols than those of UPOS, which they are read with."""
    names = (symbols,) if isinstance(symbols, str) else tuple(symbols)
    if not names:
        raise ValueError("symbols must name at least one column, got none")
    for name in names:
        check_column_name(name)
    if names == ("upos",):
        return trees
    return (tree.with_symbols(join_columns(tree, names)) for tree in trees)


def write_conllu(trees: Iterable[DependencyTree], path_or_file: FilePath | TextIO) -> None:
    """Write sentences to a CoNLL-U file.

    A tree that was read from a file is written exactly as it was there. If its heads were replaced
    (:meth:`DependencyTree.with_heads`), HEAD and DEPREL have the new values. DEPS and empty nodes
    are then dropped, since the enhanced graph belongs to the old heads. Comments, multiword tokens
    and MISC are kept; :meth:`DependencyTree.with_misc` adds to MISC.

    A tree built in Python is written from its columns, with "_" for missing ones and for unknown
    heads (-1). If a tree has heads but no relations, DEPREL is `root` for roots and `dep`, the
    unspecified relation of Universal Dependencies, for other words.

    Parameters
    ----------
    trees : iterable of DependencyTree
        May be a generator.

    path_or_file : str, os.PathLike or text file
        The file is compressed if the path ends in ".gz"; "-" is standard output, "~" the home
        folder. If an error occurs, nothing is written to a path: an old file stays as it was.
        Standard output and an open file are written only after all trees have been checked.

    Raises
    ------
    TypeError
        If `trees` is not an iterable of :class:`DependencyTree`, the arguments are swapped, or the
        file is open in binary mode.
    ValueError
        If the encoding of an open file lacks a character.
    OSError
        If the file cannot be written, or is open for reading.

    See Also
    --------
    read_conllu : The inverse.

    Examples
    --------
    >>> import sys
    >>> from sklearn_shag.treebank import DependencyTree, write_conllu
    >>> write_conllu([DependencyTree(["dogs", "bark"], [2, 0])], sys.stdout)
    1   dogs  _  _  _  _  2  dep   _  _
    2   bark  _  _  _  _  0  root  _  _
    """
    if isinstance(trees, DependencyTree):
        raise TypeError("trees must be an iterable of DependencyTree, got one tree: write [tree]")
    if not is_collection(trees) or hasattr(trees, "write"):
        raise TypeError(
            f"trees must be an iterable of DependencyTree, got {shorten(trees)}. The trees come "
            f"first and the file second: write_conllu(trees, path_or_file)."
        )
    blocks = format_trees(trees)
    if hasattr(path_or_file, "write"):
        _write_open_file(path_or_file, list(blocks))
        return
    with write_text(path_or_file) as write:
        for block in blocks:
            write(block.encode())


def _write_open_file(file, blocks):
    name = printable(getattr(file, "name", "The file"))
    try:
        file.writelines(blocks)
    except io.UnsupportedOperation:
        message = f"{name} is open for reading; open it for writing, with mode='w'"
        raise io.UnsupportedOperation(message) from None
    except TypeError:  # blocks are strings
        message = f"{name} is open in binary mode; open it as text, with encoding='utf-8'"
        raise TypeError(message) from None
    except UnicodeEncodeError as error:
        character = error.object[error.start]
        raise ValueError(
            f"{name} is open with the encoding {error.encoding}, which lacks the character "
            f"{character!r}; open it with encoding='utf-8'"
        ) from None


def _split_sentences(text):
    """Yield how many lines stand before what is between blank lines, and its text."""
    line, end = 0, 0
    while visible := _VISIBLE.search(text, end):
        start = max(end, text.rfind(b"\n", end, visible.start()) + 1)
        line += text.count(b"\n", end, start)
        blank = _BLANK_LINE.search(text, start)
        end = blank.start() if blank else len(text)
        yield line, text[start:end]
        line += text.count(b"\n", start, end)


def _parse_sentence(path, first_line, block):
    try:
        source = block.decode()
    except UnicodeDecodeError as error:
        line = first_line + block.count(b"\n", 0, error.start)
        raise ConlluError(path, line, NOT_UTF8) from None
    words, line_numbers = _parse_words(path, first_line, source.split("\n"))
    if "\r" in source:  # at the end of a line it would become a part of that, once it is written
        line = first_line + source.count("\n", 0, source.index("\r"))
        message = r"the line holds '\r', the line end of old Macs; convert line ends to '\n'"
        raise ConlluError(path, line, message)
    columns = list(zip(*words, strict=True))
    heads = _parse_heads(path, columns[6], line_numbers)
    # Tags and most words repeat: one string for all that are equal halves the memory.
    state = {name: tuple(map(sys.intern, columns[k])) for name, k in _KEPT.items()}
    state |= {"heads": heads, "symbols": state["upos"], "_source": source, "_reparsed": False}
    return make_tree(state)


def _parse_words(path, first_line, lines):
    """The columns of each word, and the number of its line."""
    words, line_numbers = [], []
    range_end, range_line = 0, 0
    for line_number, line in enumerate(lines, start=first_line):
        if line[0] == "#":
            continue
        columns = line.split("\t")
        if len(columns) != 10 or "" in columns:
            raise ConlluError(path, line_number, _describe_columns(line, columns))
        if columns[0] == str(len(words) + 1):
            words.append(columns)
            line_numbers.append(line_number)
            continue
        try:
            end = _parse_other_id(columns[0], len(words), range_end)
        except ParseException as error:
            raise ConlluError(path, line_number, str(error)) from None
        if end:
            range_end, range_line = end, line_number
    if not words:
        message = "the sentence has no words; remove its lines, or add its words"
        raise ConlluError(path, first_line, message)
    if range_end > len(words):
        message = f"the multiword token ends at {range_end}, after the last word, {len(words)}"
        raise ConlluError(path, range_line, message)
    return words, line_numbers


def _parse_other_id(text, n_words, range_end):
    """Check an ID that is not the next word's, and return the end of a multiword token's range.

    Range 3-4 stands before word 3, outside the range before it, and empty node 3.1 after word 3;
    `n_words` is the number of words so far.
    """
    try:
        token_id = parse_id_value(text)
    except ValueError:  # it has more digits than Python takes
        token_id = None
    if isinstance(token_id, tuple):
        number, kind, end = token_id
        if kind == "." and number == n_words:
            return 0
        if kind == "-" and number == n_words + 1 and number > range_end:
            return end
    message = (
        f"ID {shorten(text)} is out of place: the next word is {n_words + 1}, words are numbered "
        "consecutively from 1, and multiword tokens do not overlap"
    )
    if text == "1":
        message += "; put an empty line before the first word of the next sentence"
    raise ParseException(message)


def _describe_columns(line, columns):
    if len(columns) != 10:
        message = f"10 columns separated by tabs are expected, got {len(columns)}"
        guess = guess_format(line)
        if guess is None:
            return f"{message}; they are {', '.join(DEFAULT_FIELDS).upper()}, '_' for no value"
        return f"{message}; the line looks like {guess}"
    return f"column {DEFAULT_FIELDS[columns.index('')].upper()} is empty; write '_' for no value"


def _parse_heads(path, column, line_numbers):
    """The heads of a sentence as an array, None if no word has one."""
    heads = []
    try:
        for text in column:
            heads.append(_parse_head(text))
    except (ParseException, ValueError):  # a ValueError of more digits than Python takes
        message = f"bad head {shorten(text)}; HEAD is an integer, 0 for the root, or '_'"
        raise ConlluError(path, line_numbers[len(heads)], message) from None
    if heads.count(None) == len(heads):
        return None
    known = [UNKNOWN if head is None else head for head in heads]
    if UNKNOWN in heads:  # only trees say so; files have "_"
        advice = advise_on_convention(known) or "write '_' where a head is not known"
        error = heads.index(UNKNOWN) + 1, f"head -1 is outside 0..{len(heads)}; {advice}"
    else:
        error = find_head_error(known)
    if error is not None:
        token, message = error
        raise ConlluError(path, line_numbers[token - 1], message)
    return np.array(known, dtype=np.intp)


CONLLU = TextFormat(".conllu", b"\n\n", _split_sentences, _parse_sentence)


def format_trees(trees):
    """Yield the text of each tree, with the blank line after it."""
    for index, tree in enumerate(trees):
        if not isinstance(tree, DependencyTree):
            raise TypeError(
                f"trees[{index}] must be a DependencyTree, got {type(tree).__name__}: "
                f"{shorten(tree)}. The parse method of an estimator returns trees, and "
                f"tree.with_heads(heads) makes a tree with your own heads."
            )
        yield tree.to_conllu()
