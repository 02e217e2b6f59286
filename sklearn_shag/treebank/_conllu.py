"""Read and write CoNLL-U without loss, and read the same from JSON lines."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Iterator
from typing import Literal, TextIO

from sklearn_shag.treebank._columns import check_column_name, join_columns
from sklearn_shag.treebank._pieces import MAX_BYTES, MAX_SENTENCE_BYTES, TextFormat
from sklearn_shag.treebank._sources import ConlluError, decode_lines, list_sources
from sklearn_shag.treebank._text import NO_SPACE_BEHIND, split_lines
from sklearn_shag.treebank._tree import CONLLU, DependencyTree
from sklearn_shag.utils._arrays import is_collection
from sklearn_shag.utils._io import write_text
from sklearn_shag.utils._messages import printable, shorten
from sklearn_shag.utils._param_validation import COUNT, StrOptions, validate_params
from sklearn_shag.utils._typing import FilePath, Files, Symbols

_CHECKED = {"symbols": [str, list, tuple], "on_error": [StrOptions({"raise", "skip", "warn"})]}
_SIZE = [*COUNT, None]
# Comments that have a key of their own, or follow from the text of the document.
_OF_OWN = re.compile(r"#\s*(sent_id|text|space_after_document)\s*=")


@validate_params({**_CHECKED, "max_bytes": _SIZE})
def read_conllu(
    path_or_file: Files,
    symbols: Symbols = "upos",
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
        mark is dropped. "-" is standard input, "~" the home folder. A folder stands for the
        ".conllu" and ".conllu.gz" files in it and its sub-folders, a pattern such as
        ``UD_*/*-train.conllu`` for the files that it matches, sorted by name. Several files are
        read one after the other.

    symbols : str or sequence of str, default="upos"
        What the grammar sees: a column as in :meth:`DependencyTree.column`, or several columns
        joined by "|". For example, ``("upos", "xpos")`` gives ``VERB|VBD``.

    on_error : {"raise", "skip", "warn"}, default="raise"
        What to do with an invalid sentence: raise :class:`ConlluError`, skip it, or skip it with a
        `UserWarning` that holds the message. A file that is truncated (bad gzip), is not text, or
        has other columns (CoNLL-U Plus) is always an error.

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
    read_jsonl : Reads the same from JSON lines.
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
    return list(_iter_trees(CONLLU, path_or_file, symbols, on_error, max_bytes=max_bytes))


@validate_params({**_CHECKED, "max_sentence_bytes": _SIZE})
def iter_conllu(
    path_or_file: Files,
    symbols: Symbols = "upos",
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
        The trees that :func:`read_conllu` returns. Of a file, the trees of about half a
        megabyte are in memory at once.

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
    return _iter_trees(CONLLU, path_or_file, symbols, on_error, longest=max_sentence_bytes)


@validate_params({**_CHECKED, "max_bytes": _SIZE})
def read_jsonl(
    path_or_file: Files,
    symbols: Symbols = "upos",
    on_error: Literal["raise", "skip", "warn"] = "raise",
    *,
    max_bytes: int | None = MAX_BYTES,
) -> list[DependencyTree]:
    """Read trees from JSON lines, as ``sklearn-shag parse --output-format jsonl`` writes them.

    Parameters
    ----------
    path_or_file : str, os.PathLike, text file, or list or tuple of them
        As for :func:`read_conllu`, but a folder stands for its ".jsonl" and ".jsonl.gz" files. Each
        line is a document or sentence that `parse` has written, or a dict of
        :meth:`DependencyTree.to_dict`. Empty lines are skipped.

    symbols : str or sequence of str, default="upos"
        As for :func:`read_conllu`.

    on_error : {"raise", "skip", "warn"}, default="raise"
        What to do with an invalid line, as for :func:`read_conllu`.

    max_bytes : int or None, default=2**30
        As for :func:`read_conllu`.

    Returns
    -------
    trees : list of DependencyTree
        The trees of all lines, as :func:`read_conllu` reads them from the CoNLL-U that `parse`
        writes. They know their `document`. Probabilities are ignored.

    Raises
    ------
    ConlluError
        If a line is not such JSON or not UTF-8, or there is more than `max_bytes`.
    OSError, ValueError, TypeError
        As for :func:`read_conllu`.

    See Also
    --------
    iter_jsonl : Reads files of any size.
    DependencyTree.from_dict : Makes a tree of the dict of a sentence.

    Examples
    --------
    >>> import io, json
    >>> from sklearn_shag.treebank import DependencyTree, read_jsonl
    >>> tree = DependencyTree(["Dogs", "bark"], [2, 0])
    >>> read_jsonl(io.StringIO(json.dumps(tree.to_dict())))
    [DependencyTree('Dogs bark', heads=[2, 0])]
    """
    return list(_iter_trees(JSON_LINES, path_or_file, symbols, on_error, max_bytes=max_bytes))


@validate_params({**_CHECKED, "max_sentence_bytes": _SIZE})
def iter_jsonl(
    path_or_file: Files,
    symbols: Symbols = "upos",
    on_error: Literal["raise", "skip", "warn"] = "raise",
    *,
    max_sentence_bytes: int | None = MAX_BYTES,
) -> Iterator[DependencyTree]:
    """Read trees one at a time from JSON lines in files of any size.

    Parameters
    ----------
    path_or_file : str, os.PathLike, text file, or list or tuple of them
        As for :func:`read_jsonl`.

    symbols : str or sequence of str, default="upos"
        As for :func:`read_conllu`.

    on_error : {"raise", "skip", "warn"}, default="raise"
        As for :func:`read_jsonl`.

    max_sentence_bytes : int or None, default=2**30
        The largest size of a line, in bytes, which may be a whole document.

    Returns
    -------
    trees : iterator of DependencyTree
        The trees that :func:`read_jsonl` returns. Those of a line are in memory at once.

    Raises
    ------
    ConlluError, OSError, ValueError, TypeError
        As for :func:`read_jsonl`, but not before reading reaches the place of the error.

    See Also
    --------
    read_jsonl : Reads all trees into a list.

    Examples
    --------
    >>> import io
    >>> from sklearn_shag.treebank import iter_jsonl
    >>> lines = io.StringIO('{"form": ["Dogs", "bark"]}\\n{"form": ["Cats"]}')
    >>> [len(tree) for tree in iter_jsonl(lines)]
    [2, 1]
    """
    return _iter_trees(JSON_LINES, path_or_file, symbols, on_error, longest=max_sentence_bytes)


def _parse_json(path, number, line):
    """List the trees of a line of JSON."""
    text = decode_lines(path, number, line)
    try:
        return list(map(DependencyTree.from_dict, _list_sentences(json.loads(text))))
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ConlluError(
            path, number, f"this is not JSON of trees, as the command parse writes it: {error}"
        ) from None


def _list_sentences(content):
    """List the sentences in the object of a line, which may be a sentence itself."""
    if not (isinstance(content, dict) and "sentences" in content):
        return [content]
    name, sentences = content.get("id"), content["sentences"]
    if name is not None and sentences and "sent_id" in sentences[0]:  # the line is a document
        first = sentences[0]
        comments = [f"# newdoc id = {name}", *first["comments"]]
        if "text" in first and not content.get("text", " ")[-1:].isspace():
            comments += [
                f"# sent_id = {first['sent_id']}",
                f"# text = {first['text']}",
                NO_SPACE_BEHIND,
            ]
        first["comments"] = comments
    return [{"sent_id": name, **sentence} for sentence in sentences]


def describe_tree(tree, probabilities):
    """Describe a tree as a dict for JSON, with the places and probabilities of its words.

    Its sent_id is left out: it belongs to the line, or to the document.
    """
    content = tree.to_dict()
    del content["sent_id"]
    comments = [each for each in content["comments"] if not _OF_OWN.match(each)]
    begin, end = zip(*(span or (None, None) for span in tree.spans), strict=True)
    return content | {"comments": comments, "begin": begin, "end": end} | probabilities


JSON_LINES = TextFormat(".jsonl", b"\n", split_lines, _parse_json, unit="line")


def _iter_trees(form, path_or_file, symbols, on_error, **limits):
    """Iterate over the trees of files in a format, with the chosen columns as symbols."""
    trees = form.trees(list_sources(path_or_file, form.suffix), on_error, **limits)
    names = (symbols,) if isinstance(symbols, str) else tuple(symbols)
    if not names:
        raise ValueError("symbols must name at least one column, got none")
    for name in names:
        check_column_name(name)
    chosen = (tree.with_symbols(join_columns(tree, names)) for tree in trees)
    return trees if names == ("upos",) else chosen


def write_conllu(trees: Iterable[DependencyTree], path_or_file: FilePath | TextIO) -> None:
    """Write sentences to a CoNLL-U file.

    A tree that was read from a file is written exactly as it was there, with the line ends of the
    file. If its heads were replaced (:meth:`DependencyTree.with_heads`), HEAD and DEPREL have the
    new values. DEPS and empty nodes are then dropped, unless told otherwise, since the enhanced
    graph belongs to the old heads. Comments, multiword tokens and MISC are kept;
    :meth:`DependencyTree.with_misc` adds to MISC.

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
    blocks = _format_trees(trees)
    if hasattr(path_or_file, "write"):
        _write_open_file(path_or_file, list(blocks))
    else:
        with write_text(path_or_file) as write:
            for block in blocks:
                write(block.encode())


def _write_open_file(file, blocks):
    name = printable(getattr(file, "name", "The file"))
    try:
        file.writelines(blocks)
    except io.UnsupportedOperation:
        raise io.UnsupportedOperation(
            f"{name} is open for reading; open it for writing, with mode='w'"
        ) from None
    except TypeError:  # blocks are strings
        raise TypeError(
            f"{name} is open in binary mode; open it as text, with encoding='utf-8'"
        ) from None
    except UnicodeEncodeError as error:
        character = error.object[error.start]
        raise ValueError(
            f"{name} is open with the encoding {error.encoding}, which lacks the character "
            f"{character!r}; open it with encoding='utf-8'"
        ) from None


def _format_trees(trees):
    """Yield each tree as CoNLL-U, with the blank line after it."""
    for index, tree in enumerate(trees):
        if not isinstance(tree, DependencyTree):
            raise TypeError(
                f"trees[{index}] must be a DependencyTree, got {type(tree).__name__}: "
                f"{shorten(tree)}. The parse method of an estimator returns trees, and "
                f"tree.with_heads(heads) makes a tree with your own heads."
            )
        yield tree.to_conllu()
