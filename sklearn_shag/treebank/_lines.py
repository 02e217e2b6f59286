"""The lines of a sentence in CoNLL-U: checks, reading of each kind of line, and changes."""

import re
import sys
from functools import lru_cache
from itertools import repeat
from typing import NamedTuple

import numpy as np
from conllu.exceptions import ParseException
from conllu.parser import DEFAULT_FIELDS, parse_id_value, parse_int_value

from sklearn_shag.treebank._columns import MISSING, PLACES, check_column, unspecified_relation
from sklearn_shag.treebank._sources import ConlluError, decode_lines, guess_format, refuse_mark
from sklearn_shag.utils._heads import UNKNOWN, advise_on_convention, find_head_error
from sklearn_shag.utils._messages import shorten

_TOKEN_RANGE = re.compile(r"(?<![^|])TokenRange=([0-9]{1,18}):([0-9]{1,18})(?![^|])")
# Kinds of lines, each with the line end before it.
_COMMENT = re.compile(r"\n(#.*)")
_MULTIWORD_TOKEN = re.compile(r"\n(\d+)-(\d+)\t(.*?)\t.*\t(.*)")
_EMPTY_NODE = re.compile(r"\n(\d+)\.\d+\t(.*)")
_NEW_DOCUMENT = re.compile(r"(?:#.*\n)*?#\s*newdoc\b(?:\s+id\s*=(.*))?")  # in the first comments
_VISIBLE = re.compile(rb"[^ \n]")  # a character of a line that is not blank
_COLUMNS = [name.upper() for name in DEFAULT_FIELDS]
# The comment that names the columns, in the first comments of a file.
_DECLARATION = re.compile(rb"\s*(?:#.*\n)*?# *global\.columns *=(.*)")
_LINE_ENDS = re.compile(r"[\n\r]")
_BLANK_LINE = re.compile(rb"\n *+(?:\n|\Z)")  # with the line end before it
_parse_head = lru_cache(maxsize=1024)(parse_int_value)  # the same few numbers at every word


class MultiwordToken(NamedTuple):
    """A token of the text that consists of several words.

    For example, French "du" consists of "de" and "le". In CoNLL-U it has its own line before the
    lines of its words.

    Attributes
    ----------
    first, last : int
        Positions of its words, from 1.
    form : str
        The token as it is in the text.
    misc : str, default="_"
        The column MISC.

    See Also
    --------
    DependencyTree.with_multiword_tokens : Sets them.

    Examples
    --------
    >>> from sklearn_shag.treebank import DependencyTree, MultiwordToken
    >>> tree = DependencyTree(["à", "le"]).with_multiword_tokens([MultiwordToken(1, 2, "au")])
    >>> tree.multiword_tokens[0].form
    'au'
    """

    first: int
    last: int
    form: str
    misc: str = MISSING


class EmptyNode(NamedTuple):
    """A word that the text leaves out.

    It is not part of the tree, only of the enhanced graph (DEPS). Its ID is that of the word before
    it followed by a number, such as 8.1.

    Attributes
    ----------
    after : int
        The position of the word that it follows, 0 for the beginning.
    columns : tuple of str, length 9
        FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS and MISC.

    See Also
    --------
    DependencyTree.with_empty_nodes : Sets them.

    Examples
    --------
    >>> from sklearn_shag.treebank import DependencyTree, EmptyNode
    >>> node = EmptyNode(1, ("ate", "eat", "VERB", *"_____", "_"))
    >>> DependencyTree(["Sue", "fish"]).with_empty_nodes([node]).empty_nodes[0].after
    1
    """

    after: int
    columns: tuple[str, ...]


def split_sentences(piece):
    """Yield the number of lines before each sentence, and the text between its blank lines."""
    text, line, end = piece.text, 0, 0
    if not piece.n_lines:
        _refuse_other_columns(piece)
    while visible := _VISIBLE.search(text, end):
        start = max(end, text.rfind(b"\n", end, visible.start()) + 1)
        line += text.count(b"\n", end, start)
        blank = _BLANK_LINE.search(text, start)
        end = blank.start() if blank else len(text)
        yield line, text[start:end]
        line += text.count(b"\n", start, end)


def _refuse_other_columns(piece):
    """Raise a ConlluError if a file, given its first piece, is CoNLL-U Plus with other columns."""
    found = _DECLARATION.match(piece.text)
    names = found[1].decode(errors="replace").split() if found else _COLUMNS
    if names != _COLUMNS:
        raise ConlluError(
            piece.path,
            1 + piece.text.count(b"\n", 0, found.start(1)),
            f"CoNLL-U Plus, with the columns {shorten(' '.join(names))}, is not read; delete this "
            f"line, and write {' '.join(_COLUMNS)}, in this order, with '_' for no value (cut -f "
            f"1-10 if they come first)",
        )


def parse_sentence(path, first_line, block):
    """Check the lines of a sentence, and read the values of all slots of its tree.

    Parameters
    ----------
    path : str
        Of the file, for messages.
    first_line : int
        The number of its first line in the file.
    block : bytes
        Its lines.

    Returns
    -------
    state : dict

    Raises
    ------
    ConlluError
        If a line is not valid.
    """
    source = decode_lines(path, first_line, block)
    words, line_numbers = _parse_words(path, first_line, source.split("\n"))
    if "\r" in source:  # at the end of a line it would become part of the written line end
        line = first_line + source.count("\n", 0, source.index("\r"))
        raise ConlluError(
            path, line, r"the line holds '\r', the line end of old Macs; convert line ends to '\n'"
        )
    columns = list(zip(*words, strict=True))
    heads = _parse_heads(path, columns[6], line_numbers)
    # Tags and most words repeat: sharing equal strings halves the memory.
    state = {name: tuple(map(sys.intern, columns[k])) for name, k in PLACES.items()}
    return state | {"heads": heads, "symbols": state["upos"], "_source": source}


def _parse_words(path, first_line, lines):
    """Return the columns of the words, and the line numbers of the words."""
    words, line_numbers = [], []
    range_end, range_line = 0, 0
    for line_number, line in enumerate(lines, start=first_line):
        if line[0] == "#":
            continue
        columns = line.split("\t")
        if len(columns) != 10 or "" in columns:
            refuse_mark(path, line_number, line)
            raise ConlluError(path, line_number, _describe_columns(line, columns))
        if columns[0] == str(len(words) + 1):
            words.append(columns)
            line_numbers.append(line_number)
            continue
        try:
            end = _parse_other_id(columns[0], len(words), range_end)
        except ParseException as error:
            refuse_mark(path, line_number, line)
            raise ConlluError(path, line_number, str(error)) from None
        if end:
            range_end, range_line = end, line_number
    if not words:
        raise ConlluError(
            path, first_line, "the sentence has no words; remove its lines, or add its words"
        )
    if range_end > len(words):
        raise ConlluError(
            path,
            range_line,
            f"the multiword token ends at {range_end}, after the last word, {len(words)}",
        )
    return words, line_numbers


def _parse_other_id(text, n_words, range_end):
    """Check the ID of a multiword token or empty node; return the end of its range, or 0.

    Range 3-4 stands before word 3, outside the range before it, and empty node 3.1 after word 3;
    `n_words` is the number of words so far.
    """
    try:
        token_id = parse_id_value(text)
    except ValueError:  # too many digits for Python
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
            return f"{message}; they are {', '.join(_COLUMNS)}, '_' for no value"
        return f"{message}; the line looks like {guess}"
    return f"column {_COLUMNS[columns.index('')]} is empty; write '_' for no value"


def _parse_heads(path, column, line_numbers):
    """Return the heads of a sentence as an int array, or None if no word has a head."""
    heads = []
    try:
        for text in column:
            heads.append(_parse_head(text))
    except (ParseException, ValueError):  # ValueError: too many digits for Python
        raise ConlluError(
            path,
            line_numbers[len(heads)],
            f"bad head {shorten(text)}; HEAD is an integer, 0 for the root, or '_'",
        ) from None
    if heads.count(None) == len(heads):
        return None
    known = [UNKNOWN if head is None else head for head in heads]
    if UNKNOWN in heads:  # -1 is for trees in Python; files have "_"
        advice = advise_on_convention(known) or "write '_' where a head is not known"
        error = heads.index(UNKNOWN) + 1, f"head -1 is outside 0..{len(heads)}; {advice}"
    else:
        error = find_head_error(known)
    if error is not None:
        token, message = error
        raise ConlluError(path, line_numbers[token - 1], message)
    return np.array(known, dtype=np.intp)


def list_comments(text):
    """List the comments of a sentence, before and between its words."""
    return _COMMENT.findall(f"\n{text}")


def list_words(text):
    """List the lines of the words of a sentence: their IDs are numbers."""
    return [line for line in text.split("\n") if line.partition("\t")[0].isdecimal()]


def list_column(text, place):
    """Return the values of column number `place`, from 1 on, of the words of a sentence."""
    return tuple(line.rsplit("\t", 10 - place)[1] for line in list_words(text))


def list_multiword_tokens(text):
    """List the multiword tokens of a sentence."""
    found = _MULTIWORD_TOKEN.findall(f"\n{text}")
    return [MultiwordToken(int(first), int(last), *others) for first, last, *others in found]


def list_empty_nodes(text):
    """List the empty nodes of a sentence."""
    found = _EMPTY_NODE.findall(f"\n{text}")
    return [EmptyNode(int(after), tuple(cells.split("\t"))) for after, cells in found]


def replace_tokens(text, multiword_tokens, empty_nodes):
    """Replace multiword tokens and empty nodes of a sentence; comments move to its start."""
    words, ranges, nodes, end = list_words(text), {}, {}, 0
    for token in multiword_tokens:
        if not end < token.first <= token.last <= len(words):
            raise ValueError(f"{token} must cover words from {end + 1} to {len(words)}, in order.")
        check_column("form and misc", [token.form, token.misc], 2)
        ranges[token.first] = token
        end = token.last
    for node in empty_nodes:
        if not 0 <= node.after <= len(words):
            raise ValueError(f"{node} must follow a word from 0 to {len(words)}.")
        cells = check_column("columns", node.columns, 9)
        of_word = nodes.setdefault(node.after, [])
        of_word.append("\t".join([f"{node.after}.{len(of_word) + 1}", *cells]))
    rows = [*list_comments(text), *nodes.get(0, ())]
    for k, line in enumerate(words, start=1):
        if k in ranges:
            first, last, form, misc = ranges[k]
            rows.append("\t".join([f"{first}-{last}", form, *[MISSING] * 7, misc]))
        rows += [line, *nodes.get(k, ())]
    return "\n".join(rows)


def to_content(text):
    """Describe the lines of a sentence by a dict that JSON can hold."""
    names = DEFAULT_FIELDS[1:]
    words = [line.split("\t") for line in list_words(text)]
    content = {name: [row[k] for row in words] for k, name in enumerate(names, start=1)}
    content["head"] = [None if head == MISSING else int(head) for head in content["head"]]
    keys = ["after", *names]
    nodes = [dict(zip(keys, [k, *cells], strict=True)) for k, cells in list_empty_nodes(text)]
    return {
        "comments": list_comments(text),
        "sent_id": find_comment(text, "sent_id"),
        "text": find_comment(text, "text"),
        **content,
        "multiword_tokens": [token._asdict() for token in list_multiword_tokens(text)],
        "empty_nodes": nodes,
    }


def from_content(content):
    """Format the lines of a sentence that :func:`to_content` describes."""
    if not (isinstance(content, dict) and content.get("form")):
        raise ValueError(f"A sentence is a dict with its words as 'form', got {shorten(content)}.")
    names = DEFAULT_FIELDS[1:]
    n_tokens = len(content["form"])
    missing = (MISSING,) * n_tokens
    heads = [MISSING if head is None else str(head) for head in content.get("head") or missing]
    values = map((content | {"head": heads}).get, names)
    columns = [check_column(*each, n_tokens) or missing for each in zip(names, values, strict=True)]
    rows = zip(map(str, range(1, n_tokens + 1)), *columns, strict=True)
    tokens = [MultiwordToken(**each) for each in content.get("multiword_tokens") or ()]
    nodes = content.get("empty_nodes") or ()
    nodes = [EmptyNode(node["after"], tuple(map(node.get, names))) for node in nodes]
    text = replace_tokens("\n".join(map("\t".join, rows)), tokens, nodes)
    text = replace_comments(text, content.get("comments") or ())
    for name in ("sent_id", "text"):
        if content.get(name) not in (None, find_comment(text, name)):
            text = set_comment(text, name, content[name])
    return text


def name_comment(line):
    """Split a comment such as "# sent_id = 1" into name and value, both None without "="."""
    name, equals, value = line.removeprefix("#").partition("=")
    return (name.strip(), value.strip()) if equals else (None, None)


def find_comment(text, wanted):
    """Return the value of the first comment named `wanted` in a sentence, or None."""
    for line in _COMMENT.finditer(f"\n{text}"):  # usually one of the first; the rest is not read
        name, value = name_comment(line[1])
        if name == wanted:
            return value or None
    return None


def find_document(text, known=None):
    """Return the document that the comment newdoc of a sentence names, or else the known one."""
    found = _NEW_DOCUMENT.match(text)
    return ((found[1] or "").strip() or None) if found else known


def read_range(misc):
    """Read begin and end of a token in the text from TokenRange in MISC, or return None."""
    found = _TOKEN_RANGE.search(misc)
    return found and (int(found[1]), int(found[2]))


def format_columns(tree):
    """Format the columns of a tree, except for heads and relations, as lines in CoNLL-U."""
    columns = [map(str, range(1, len(tree) + 1)), *[(MISSING,) * len(tree)] * 9]
    for attribute, place in PLACES.items():
        columns[place] = getattr(tree, attribute) or columns[place]
    return "\n".join(map("\t".join, zip(*columns, strict=True)))


def replace_heads(text, heads, deprels, keep_deps=False):
    """Replace HEAD and DEPREL of the words, by default without DEPS and empty nodes.

    Parameters
    ----------
    text : str
        The lines of a sentence.
    heads : int ndarray of shape (n_tokens,) or None
    deprels : sequence of str, length n_tokens, or None
    keep_deps : bool, default=False
        Whether to keep the enhanced graph, which belongs to the old heads.

    Returns
    -------
    text : str
    """
    if heads is None:
        rows = repeat(f"{MISSING}\t{MISSING}")
    else:
        heads = heads.tolist()
        names = [MISSING if head == UNKNOWN else str(head) for head in heads]
        rows = map("\t".join, zip(names, deprels or map(unspecified_relation, heads), strict=True))
    lines = text.split("\n")
    for k, row in zip(_find_words(lines), rows, strict=False):  # faster than replace_columns
        kept, _, _, deps, misc = lines[k].rsplit("\t", 4)
        lines[k] = f"{kept}\t{row}\t{deps if keep_deps else MISSING}\t{misc}"
    text = "\n".join(lines)
    return text if keep_deps else _EMPTY_NODE.sub("", f"\n{text}")[1:]


def replace_columns(text, columns):
    """Replace columns of a sentence; `columns` maps places to a value for each word."""
    lines, rows, n_cuts = text.split("\n"), zip(*columns.values(), strict=True), max(columns) + 1
    for k in _find_words(lines):
        cells = lines[k].split("\t", n_cuts)
        for place, value in zip(columns, next(rows), strict=True):
            cells[place] = value
        lines[k] = "\t".join(cells)
    return "\n".join(lines)


def set_comment(text, name, value):
    """Set a comment such as "# sent_id = 1" in place of the first one with this name."""
    line = f"# {name} = {value}"
    _check_comment(line)
    for found in _COMMENT.finditer(f"\n{text}"):
        if name_comment(found[1])[0] == name:
            return text[: found.start()] + line + text[found.end() - 1 :]
    return replace_comments(text, [*list_comments(text), line])


def replace_comments(text, comments):
    """Replace all comments of a sentence, and put the new ones first."""
    for comment in comments:
        _check_comment(comment)
    others = (line for line in text.split("\n") if not line.startswith("#"))
    return "\n".join([*comments, *others])


def _check_comment(comment):
    is_line = isinstance(comment, str) and comment.startswith("#")
    if not is_line or _LINE_ENDS.search(comment):
        raise ValueError(f"A comment is a line that begins with '#', got {shorten(comment)}.")


def replace_misc(text, name, values):
    """Set ``name=value`` in MISC of each word, at its place by name, or remove it for None."""
    lines = text.split("\n")
    for k, value in zip(_find_words(lines), values, strict=True):
        others, _, misc = lines[k].rpartition("\t")
        items = [] if misc == MISSING else misc.split("|")
        kept = [item for item in items if not item.startswith(f"{name}=")]
        if value is not None:
            names = [item.partition("=")[0].lower() for item in kept]
            larger = (place for place, each in enumerate(names) if each > name.lower())
            kept.insert(next(larger, len(kept)), f"{name}={value}")
        lines[k] = f"{others}\t{'|'.join(kept) or MISSING}"
    return "\n".join(lines)


def _find_words(lines):
    """List the indices of the lines of words, whose IDs are whole numbers."""
    return [k for k, line in enumerate(lines) if line.partition("\t")[0].isdecimal()]
