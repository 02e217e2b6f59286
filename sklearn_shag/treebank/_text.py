"""Text without annotation: sentences of tokens, one per line, and raw text, to and from trees."""

import io
import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from sklearn_shag.treebank._columns import ATTRIBUTES, MISSING
from sklearn_shag.treebank._graphemes import (
    find_joined,
    leave_out_invisible,
    measure_invisible,
    remove_invisible,
)
from sklearn_shag.treebank._lines import MultiwordToken, split_sentences
from sklearn_shag.treebank._pieces import MAX_BYTES, MAX_SENTENCE_BYTES, TextFormat, iter_pieces
from sklearn_shag.treebank._sources import ConlluError, decode_lines, list_sources, refuse_mark
from sklearn_shag.treebank._tokens import split_pairs
from sklearn_shag.treebank._tree import DependencyTree, make_tree, require_trees
from sklearn_shag.utils._io import UTF_8
from sklearn_shag.utils._messages import shorten
from sklearn_shag.utils._param_validation import COUNT, validate_params
from sklearn_shag.utils._typing import Files

# Characters that may not stand between tokens -> their probable cause, and advice.
_MISPLACED = {
    "\t": "a tab, as in CoNLL-U, which read_conllu reads (on the command line --input conllu); "
    "separate tokens with spaces",
    "\r": "'\\r', the line end of old Macs; convert line ends to '\\n'",
}
_TOKENS = re.compile(rb"[^ \n][^\n]*")  # a line from its first token on
# Kinds of ends at a character: WORD is the end of a word inside a token that is its words put
# together; tokens of other words end with MULTIWORD; sentences end with a token.
ENDS = ("inside", "word", "token", "multiword", "sentence")
INSIDE, WORD, TOKEN, MULTIWORD, SENTENCE = range(len(ENDS))
_BEGINS_PARAGRAPH = re.compile(r"^#\s*new(par|doc)\b", re.MULTILINE)
# Comment of the first sentence of a document: nothing follows its last token, although that is
# without SpaceAfter=No, which may not stand before the next document.
NO_SPACE_BEHIND = "# space_after_document = No"
_BLANK_LINES = re.compile(r"\n[^\S\n]*\n\s*")
_LINE_END = re.compile(r"[\r\n]\s*")  # the line ends of Python's text files, with blank lines
_NEXT_LINE = re.compile(r"\n\s*(\S+)")
_ITEM = re.compile(r"[-*\u2022]|\d\d?[.)]")  # begins an item of a list
# A line that ends on purpose, as titles do, has with the next word at most half the characters of
# the longest line of its paragraph, which has so many at least: that line was filled up. Short
# lines alone may be verse.
LONG_LINE = 40
_SPACE, _SPACES = re.compile(r"\s"), re.compile(r"\s*")
# White space that no form can hold: several characters, or one that ends lines or columns, also for
# other readers.
_BREAK = re.compile(r"\s\s|[\t\n\r\x0b\x0c\x1c-\x1f\x85\u2028\u2029]")
_BEFORE_BREAK = re.compile(rf"\S(?={_BREAK.pattern})")
_NOT_TEXT = re.compile("[\0\ud800-\udfff]")
_ESCAPES = {" ": r"\s", "\t": r"\t", "\n": r"\n", "\r": r"\r"}
_UNESCAPES = {escape: sign for sign, escape in _ESCAPES.items()}
_ESCAPE = re.compile(r"\\(?:[stnr]|u[0-9a-f]{4})")
# Ends of pieces of files, in order of preference.
_BOUNDARIES = b"\n\n", b"\n", b" "


@validate_params({"max_bytes": [*COUNT, None]})
def read_horizontal(
    path_or_file: Files, *, max_bytes: int | None = MAX_BYTES
) -> list[DependencyTree]:
    """Read tokenized sentences, one per line, with spaces between their tokens.

    Parameters
    ----------
    path_or_file : str, os.PathLike, text file, or list or tuple of them
        As for :func:`read_conllu`, but a folder stands for its ".txt" and ".txt.gz" files. Several
        spaces count as one, spaces at the ends of lines are ignored, and lines without tokens are
        skipped. There are no comments. Other white space, such as a no-break space, is part of its
        token.

    max_bytes : int or None, default=2**30
        As for :func:`read_conllu`.

    Returns
    -------
    trees : list of DependencyTree
        Trees with forms only.

    Raises
    ------
    ConlluError
        If a line is not UTF-8 or has a tab, or there is more than `max_bytes`.
    OSError
        If the file does not exist or cannot be read.
    ValueError
        If text is given instead of a path.
    TypeError
        If a file is neither a path nor open, or is open in binary mode.

    See Also
    --------
    iter_horizontal : Reads files of any size.
    read_conllu : Reads trees, and sentences with tags.
    sklearn_shag.BiaffineParser : Parses sentences that consist of tokens only.

    Examples
    --------
    >>> import io
    >>> from sklearn_shag.treebank import read_horizontal
    >>> read_horizontal(io.StringIO("Dogs bark .\\n\\nThey  do n't  bite .\\n"))
    [DependencyTree('Dogs bark .', heads=None), DependencyTree("They do n't bite .", heads=None)]
    """
    return list(HORIZONTAL.trees(list_sources(path_or_file, ".txt"), max_bytes=max_bytes))


@validate_params({"max_sentence_bytes": [*COUNT, None]})
def iter_horizontal(
    path_or_file: Files, *, max_sentence_bytes: int | None = MAX_SENTENCE_BYTES
) -> Iterator[DependencyTree]:
    """Read tokenized sentences one at a time from files of any size.

    Parameters
    ----------
    path_or_file : str, os.PathLike, text file, or list or tuple of them
        As for :func:`read_horizontal`.

    max_sentence_bytes : int or None, default=2**24
        The largest size of a line, in bytes.

    Returns
    -------
    trees : iterator of DependencyTree
        Trees with forms only.

    Raises
    ------
    ConlluError, OSError, ValueError, TypeError
        As for :func:`read_horizontal`, but not before reading reaches the place of the error.

    See Also
    --------
    read_horizontal : Reads all sentences into a list.
    iter_conllu : Reads trees, and sentences with tags.

    Examples
    --------
    >>> import io
    >>> from sklearn_shag.treebank import iter_horizontal
    >>> for tree in iter_horizontal(io.StringIO("Dogs bark .\\nThey  do n't  bite .\\n")):
    ...     print(len(tree))
    3
    5
    """
    return HORIZONTAL.trees(list_sources(path_or_file, ".txt"), longest=max_sentence_bytes)


def split_lines(piece):
    """Yield the number of lines before each line with tokens, and its text from the first token."""
    text, n_lines, end = piece.text, 0, 0
    for match in _TOKENS.finditer(text):
        n_lines += text.count(b"\n", end, match.start())
        end = match.start()
        yield n_lines, match.group()


def _parse_line(path, number, line):
    line = decode_lines(path, number, line)
    refuse_mark(path, number, line)
    for sign, meaning in _MISPLACED.items():
        if sign in line:
            raise ConlluError(path, number, f"the line holds {meaning}")
    return DependencyTree([token for token in line.split(" ") if token])


HORIZONTAL = TextFormat(".txt", b"\n", split_lines, _parse_line)


def _parse_vertical(path, number, text):
    return DependencyTree(decode_lines(path, number, text).rstrip("\n").split("\n"))


# A token per line, and a blank line after each sentence.
VERTICAL = TextFormat(".txt", b"\n\n", split_sentences, _parse_vertical)


class TextPiece(NamedTuple):
    """A part of a document, with its position in lines of a file and characters of the text."""

    path: str
    n_lines: int  # before it
    n_characters: int  # before it
    text: str
    n_read: int = 0  # bytes of the file that were read for it
    begins_paragraph: bool = True
    document: str | int | None = None
    ends: bool = False  # whether it is the last part
    error: Exception | None = None  # for which the document breaks off here
    # Whether the first sentence of the document tells that nothing follows its last word. None is
    # for a piece that is the whole document, which shows it.
    tells_end: bool | None = None


def iter_text(source, **reading):
    """Read a text file piece by piece.

    Parameters
    ----------
    source : str or text file
        One of :func:`list_sources`.
    **reading : dict
        `raw` and `encoding`, as for :func:`iter_pieces`.

    Yields
    ------
    piece : TextPiece
        It ends with a blank line, or, within a paragraph of more than 128 kilobytes, with a line or
        a word. Together the pieces are the text of the file, with "\\n" as line end.
    """
    held = None  # invisible characters behind it belong to it
    try:
        for part in _decode_pieces(source, reading):
            if held is None:
                visible = remove_invisible(part.text) or part.text
                held = part._replace(tells_end=_ends_with_word(source, visible, reading))
                continue
            own = part.text
            if _is_visible(held.text) and _is_visible(own):
                own = own[: measure_invisible(own)]
            held = held._replace(text=held.text + own)
            if len(own) == len(part.text):
                held = held._replace(n_read=held.n_read + part.n_read)
                continue
            yield held
            before, behind = map(remove_invisible, (held.text, part.text))
            space = before[len(before.rstrip()) :] + behind[: -len(behind.lstrip())]
            held = part._replace(
                n_lines=part.n_lines + own.count("\n"),
                n_characters=held.n_characters + len(held.text),
                text=part.text[len(own) :],
                begins_paragraph=_BLANK_LINES.search(space) is not None,
                tells_end=held.tells_end,
            )
    except (ConlluError, OSError):
        if held is not None:
            yield held
        raise
    if held is not None:
        yield held


def _is_visible(text):
    return bool(remove_invisible(text).strip())


def _decode_pieces(source, reading):
    """Yield the pieces of a file as they are read."""
    for piece in iter_pieces(source, *_BOUNDARIES, longest=MAX_SENTENCE_BYTES, **reading):
        text = decode_lines(piece.path, piece.n_lines + 1, piece.text)
        if "\0" in text:
            line = piece.n_lines + 1 + text.count("\n", 0, text.index("\0"))
            raise ConlluError(piece.path, line, "NUL is not a character of a text; remove it")
        yield TextPiece(piece.path, piece.n_lines, 0, text, piece.n_read)


def _ends_with_word(source, text, reading):
    """Return whether a file ends without space, given the visible text of its first piece.

    False is also for a file that can be read only once.
    """
    if not text[-1].isspace():
        return True  # other pieces end with white space
    with suppress(ConlluError, OSError):
        if isinstance(source, str) and os.path.isfile(source):  # not a pipe
            for piece in iter_pieces(source, *_BOUNDARIES, longest=MAX_SENTENCE_BYTES, **reading):
                text = remove_invisible(piece.text.decode(errors="replace")) or text
        elif getattr(source, "seekable", bool)():
            place = source.tell()
            for part in iter(partial(source.read, MAX_SENTENCE_BYTES), ""):
                text = remove_invisible(part) or text
            source.seek(place)
    return not text[-1].isspace()


def read_text_file(path, document=None, whole=False, encoding=UTF_8):
    """Yield the pieces of a document that is a text file.

    Parameters
    ----------
    path : str
    document : None or str, default=None
        Its id.
    whole : bool, default=False
        Whether to read the file to its end first, so that nothing comes of one with an error. Not
        of standard input and pipes.
    encoding : str, default="utf-8"

    Yields
    ------
    piece : TextPiece
        The last one ends the document, without text, and has the error if there was one.
    """
    end = TextPiece(path, 0, 0, "", document=document, ends=True)
    try:
        if whole and os.path.isfile(path):
            for _ in iter_text(path, encoding=encoding):
                pass
        for piece in iter_text(path, encoding=encoding):
            yield piece._replace(document=document)
    except (ConlluError, OSError) as error:
        end = end._replace(error=error)
    yield end


def read_json_lines(path, keys=("id", "text"), encoding=UTF_8):
    """Yield the pieces of documents that are lines of JSON, each an object with id and text.

    Pieces are those of :func:`read_text_file`. Of a document with an error only the end comes.

    Parameters
    ----------
    path : str
    keys : pair of str, default=("id", "text")
        The names of id and text.
    encoding : str, default="utf-8"

    Yields
    ------
    piece : TextPiece
    """
    try:
        for part in iter_pieces(path, b"\n", longest=MAX_BYTES, raw=True, encoding=encoding):
            for k, line in enumerate(part.text.splitlines()):
                if line.strip():
                    end, text = _read_json(path, part.n_lines + k, line, *keys)
                    for piece in iter_text(io.StringIO(text, newline=""), raw=True):
                        yield piece._replace(
                            path=path, n_lines=end.n_lines, n_read=0, document=end.document
                        )
                    yield end
            yield TextPiece(path, 0, 0, "", part.n_read)  # reports the bytes
    except (ConlluError, OSError) as error:  # of the file
        yield TextPiece(path, 0, 0, "", ends=True, error=error)


def _read_json(path, n_lines, line, id_key, text_key):
    """Return the end of the document in a line of JSON, and its text, if there is no error."""
    end = TextPiece(path, n_lines, 0, "", ends=True)
    try:
        content = json.loads(line.decode("utf-8-sig", errors="replace"))
        if not (isinstance(content, dict) and content.keys() >= {id_key, text_key}):
            raise ValueError(f'the line is no JSON object with "{id_key}" and "{text_key}"')
        name = content[id_key]
        if type(name) not in (str, int) or len(str(name).splitlines()) != 1:
            raise ValueError(f"the id must be a number or one line of text, got {shorten(name)}")
        check_text(str(name))
        end = end._replace(document=name)
        decode_lines(path, n_lines + 1, line)
        check_text(content[text_key])
    except ConlluError as error:
        return end._replace(error=error), ""
    except (TypeError, ValueError, RecursionError) as error:
        message = f"this is not JSON of a document: {error}"
        return end._replace(error=ConlluError(path, n_lines + 1, message)), ""
    return end, content[text_key]


def group_pieces(pieces, least):
    """Yield lists of TextPieces, of which all but the last have at least so many characters."""
    group, size = [], 0
    for piece in pieces:
        group.append(piece)
        size += 1 + len(str(piece.text))
        if size >= least:
            yield group
            group, size = [], 0
    if group:
        yield group


def to_text(trees, begin_paragraphs=()):
    """Rebuild the text of trees, and mark the ends of its tokens and sentences.

    Sentences have a space between them, and a blank line before those with the comment "newpar" or
    "newdoc". A sentence is its comment "text" if this has the same letters. Otherwise it is its
    tokens, each with a space behind it unless MISC has SpaceAfter=No.

    Parameters
    ----------
    trees : iterable of DependencyTree
    begin_paragraphs : collection of int, default=()
        Indices of further trees that get a blank line before them.

    Returns
    -------
    text : str
    ends : int8 ndarray of shape (n_characters,)
        The kind of end: INSIDE, WORD, TOKEN, MULTIWORD or SENTENCE.
    """
    parts, found = [], []
    for index, tree in enumerate(trees):
        begins = index in begin_paragraphs or any(map(_BEGINS_PARAGRAPH.match, tree.comments))
        gap = ("\n\n" if begins else " ") if parts else ""
        text, places, kinds = _find_tokens(tree)
        ends = np.zeros(len(gap) + len(text), dtype=np.int8)
        ends[len(gap) + places] = kinds
        ends[-1] = SENTENCE
        parts += [gap, text]
        found.append(ends)
    return "".join(parts), np.concatenate(found)


def _find_tokens(tree):
    """Return the text of a sentence, the last characters of tokens and words, and their kinds."""
    tokens = list_tokens(tree)
    forms = ["".join(token.form.split()) for token in tokens]
    lengths, kinds = [], []
    for token, form in zip(tokens, forms, strict=True):
        parts = token.words if is_spelled(form, token.words) else (form,)
        lengths += map(len, parts)
        kinds += [WORD] * (len(parts) - 1)
        kinds.append(TOKEN if len(parts) == len(token.words) else MULTIWORD)
    text = " ".join((tree.text or "").split())
    if "".join(text.split()) != "".join(forms):
        shown = (" ".join(token.form.split()) + _space_behind(token.misc) for token in tokens)
        text = "".join(shown).rstrip()
    # Tokens have the letters of the text, in their order.
    letters = np.flatnonzero([not sign.isspace() for sign in text])
    return text, letters[np.cumsum(lengths) - 1], kinds


def is_spelled(form, words):
    """Return whether a token is its words put together, in whatever case."""
    return sum(map(len, words)) == len(form) and "".join(words).lower() == form.lower()


class TextToken(NamedTuple):
    """A token of the text: a word, or a multiword token."""

    form: str
    misc: str
    words: tuple[str, ...]
    has_line: bool  # of its own, beside those of its words


def list_tokens(tree):
    """List the tokens of the text of a tree: words and multiword tokens, in order."""
    ranges = {token.first: token for token in tree.multiword_tokens}
    found, last, misc = [], 0, tree.misc
    while last < len(tree):
        first = last + 1
        word = MultiwordToken(first, first, tree.forms[last], misc[last])
        _, last, form, of_token = ranges.get(first, word)
        found.append(TextToken(form, of_token, tree.forms[first - 1 : last], first in ranges))
    return found


def check_text(text):
    """Check that a text is a str, is not blank, and has no NUL or surrogate.

    Parameters
    ----------
    text : str

    Raises
    ------
    TypeError
        If it is no str.
    ValueError
        If it has a character that files of text cannot hold.
    """
    if not isinstance(text, str):
        raise TypeError(
            f"text must be a str, got {type(text).__name__}; decode bytes with data.decode(), and "
            f"pass sentences that have already been split to parse."
        )
    if wrong := _NOT_TEXT.search(text):
        place = wrong.start()
        raise ValueError(
            f"text has the character {text[place]!r} at {place}, which no text file in UTF-8 can "
            f"hold. Remove it, or decode the original bytes with their own encoding."
        )


def list_paragraphs(text, lines=False):
    """List begin and end of each paragraph, or of each line, of a text, without space around it.

    Titles and items of lists in lines of their own are paragraphs, too.
    """
    begin, end = len(text) - len(text.lstrip()), len(text.rstrip())
    found = []
    for match in (_LINE_END if lines else _BLANK_LINES).finditer(text, begin, end):
        found.append((begin, begin + len(text[begin : match.start()].rstrip())))
        begin = match.end()
    found.append((begin, end))
    return found if lines else list(chain.from_iterable(_cut_lines(text, *each) for each in found))


def _cut_lines(text, begin, end):
    """Yield begin and end of the parts of a paragraph, cut where lines end on purpose."""
    longest = max(map(len, text[begin:end].split("\n")))
    for match in _NEXT_LINE.finditer(text, begin, end):
        first = max(text.rfind("\n", 0, match.start()) + 1, begin)
        line, word = text[first : match.start()].rstrip(), match[1]
        is_short = longest >= max(LONG_LINE, 2 * len(line + word))
        goes_on = line[-1] in ",;([/-" or not (word[0].isupper() or word[0].isdigit())
        if _ITEM.fullmatch(word) or (is_short and not goes_on):
            yield begin, first + len(line)
            begin = match.start(1)
    yield begin, end


def correct_ends(ends, text, paragraphs, lines=False, keeps_space=None, patterns=(), runs=()):
    """Correct ends in place, so that they are possible ones.

    Nothing ends inside a grapheme, inside a run, or at white space. Tokens end before white space,
    unless the splitter keeps it inside a token and may do so, and always at ends of lines and
    paragraphs.

    Parameters
    ----------
    ends : int8 ndarray of shape (n_characters,)
        The kind of end that a splitter predicts at each character.
    text : str
    paragraphs : list of pairs of int
        From :func:`list_paragraphs`; they cover all characters except white space.
    lines : bool, default=False
        Whether a sentence ends with its paragraph only, which is a line.
    keeps_space : None or callable
        Takes the characters on both sides of white space; returns whether a token may hold it. None
        if no token may.
    patterns : iterable of re.Pattern
        What matches is one token; of overlapping matches the one of the last pattern.
    runs : iterable of pairs of int
        Begin and end of each run of letters that is not to be cut.
    """
    joined = find_joined(text)
    for begin, end in runs:
        joined[begin : end - 1] = True
    if joined.any():
        last = np.flatnonzero(~joined)
        highest = np.maximum.reduceat(ends, np.append(0, last[:-1] + 1))
        ends[:] = INSIDE
        ends[last] = highest
    # A space at the end also stands before the text.
    is_space = np.fromiter(map(str.isspace, text + " "), bool, len(text) + 1)
    ends[is_space[:-1]] = INSIDE
    last = [match.start() for match in _BEFORE_BREAK.finditer(text)]
    ends[last] = np.maximum(ends[last], TOKEN)
    if lines:
        ends[ends == SENTENCE] = TOKEN
    ends[[end - 1 for _, end in paragraphs]] = SENTENCE
    before = np.flatnonzero(is_space[1:] & ~is_space[:-1])
    for place in before[ends[before] < TOKEN].tolist():
        kept = keeps_space and keeps_space(text[place], text[place + 2])
        ends[place] = INSIDE if kept else TOKEN
    for pattern in patterns:
        for match in pattern.finditer(text):
            begin, end = match.span()
            # Neither empty matches nor those with white space at an end are tokens.
            is_none = _BREAK.search(f" {match.group()} ")
            if not (is_none or joined[end - 1] or joined[begin - 1]):
                ends[begin : end - 1] = INSIDE
                last = [end - 1] if is_space[begin - 1] else [begin - 1, end - 1]
                ends[last] = np.maximum(ends[last], TOKEN)


def cut_sentences(ends, likely, max_tokens):
    """Cut sentences that are too long in place, where an end is likeliest.

    Parameters
    ----------
    ends : int8 ndarray of shape (n_characters,)
        The kind of end at each character.
    likely : callable
        Takes the indices of characters; returns numbers, which are higher the likelier each is the
        end of a sentence.
    max_tokens : int
        Limit of the length of a sentence.
    """
    places = np.flatnonzero(ends >= TOKEN)
    stops = np.flatnonzero(ends[places] == SENTENCE)
    lengths = np.diff(stops, prepend=-1)
    for stop, length in zip(stops.tolist(), lengths.tolist(), strict=True):
        first = stop - length + 1
        while stop - first >= max_tokens:
            first += int(likely(places[first : first + max_tokens]).argmax()) + 1
            ends[places[first - 1]] = SENTENCE


def to_trees(piece, ends, words_of, numbers):
    """Make trees of a text.

    Parameters
    ----------
    piece : TextPiece
        Its invisible characters come back: inside a token they are part of its form, but not of
        several words, and elsewhere of the space around it.
    ends : int8 ndarray of shape (n_visible,)
        The kind of end at each visible character, corrected.
    words_of : callable
        Takes a token, whether it seems to have several words, and where words end inside it;
        returns its words, or None if it is a single word.
    numbers : iterator of int or str
        Numbers of the sentences, for sent_id.

    Yields
    ------
    tree : DependencyTree
        With forms, multiword tokens, sent_id, text, and in MISC the characters of each token and
        the white space around it.
    """
    source, first_character = piece.text, piece.n_characters
    begins_paragraph, tells_end = piece.begins_paragraph, piece.tells_end
    text, places = leave_out_invisible(source)
    document = None if piece.document is None else str(piece.document)
    last = np.flatnonzero(ends >= TOKEN)
    cuts = np.flatnonzero(ends == WORD)
    spans = pairwise([0, *np.searchsorted(cuts, last).tolist()])  # of the cuts in each token
    begin = len(text) - len(text.lstrip())
    first = places[begin]  # in the source
    before = f"SpacesBefore={_escape_spaces(source[:first])}|" if first else ""
    opening = [] if document is None else [f"# newdoc id = {document}"]
    if tells_end is None:
        tells_end = not (first_character or text[-1:].isspace())
    closing = [NO_SPACE_BEHIND] if tells_end and not first_character else []
    told = len(text) if tells_end else np.inf  # tokens that end there have no SpaceAfter=No
    rows, forms, shown = [], [], []
    for kind, stop, span in zip(ends[last].tolist(), (last + 1).tolist(), spans, strict=True):
        behind = _SPACES.match(text, stop).end()
        end, following = places[stop - 1] + 1, places[behind]
        form, space = source[first:end], source[end:following]
        # Sorted by name in lower case, as other programs write it.
        misc = f"{before}TokenRange={first_character + first}:{first_character + end}"
        if space not in ("", " "):
            misc = f"SpacesAfter={_escape_spaces(space)}|{misc}"
        if stop == behind and stop < told:
            misc = f"SpaceAfter=No|{misc}"
        shown += [form, " " if stop < behind else ""]
        inside = (cuts[slice(*span)] + 1 - begin).tolist() if span[0] < span[1] else []
        words = words_of(text[begin:stop], kind == MULTIWORD, inside)
        number = len(forms) + 1
        if words is None or _SPACE.search(form):  # a token with white space is a single word
            words = [form]
        else:
            rows.append(_format_row(f"{number}-{len(forms) + len(words)}", form, misc))
            misc = MISSING
        rows += [_format_row(k, word, misc) for k, word in enumerate(words, start=number)]
        forms += words
        begin, first, before = behind, following, ""
        if kind == SENTENCE:
            comments = [
                *opening,
                *(["# newpar"] if begins_paragraph else []),
                f"# sent_id = {next(numbers)}",
                f"# text = {''.join(shown).rstrip()}",
            ]
            yield _make_split_tree(tuple(forms), "\n".join([*comments, *closing, *rows]), document)
            opening = closing = ()
            begins_paragraph = _BLANK_LINES.search(text, stop, behind) is not None
            rows, forms, shown = [], [], []


def _format_row(number, form, misc):
    return f"{number}\t{form}\t_\t_\t_\t_\t_\t_\t_\t{misc}"


def _make_split_tree(forms, source, document):
    missing = dict.fromkeys([*ATTRIBUTES.values(), "heads"])
    return make_tree(
        missing | {"forms": forms, "symbols": forms, "_source": source, "_document": document}
    )


def _escape_spaces(spaces):
    return "".join(_ESCAPES.get(sign) or f"\\u{ord(sign):04x}" for sign in spaces)


def join_text(trees: Iterable[DependencyTree]) -> str:
    """Rebuild the text of trees from the spaces that MISC records.

    Parameters
    ----------
    trees : iterable of DependencyTree
        In the order of the text.

    Returns
    -------
    text : str
        The tokens, each surrounded by what SpacesBefore and SpacesAfter hold: white space, and
        invisible characters. By default one space follows a token, and none if MISC has
        SpaceAfter=No. None follows the last token of a document whose first sentence has the
        comment ``space_after_document = No``. For trees made by :class:`~sklearn_shag.Splitter`,
        this is the original text, to the last character.

    See Also
    --------
    sklearn_shag.Splitter : Splits a text into trees.

    Examples
    --------
    >>> from sklearn_shag.treebank import DependencyTree, join_text
    >>> tree = DependencyTree(["Dogs", "bark", "."])
    >>> join_text([tree.with_misc("SpaceAfter", [None, "No", "No"])])
    'Dogs bark.'
    """
    trees, parts = list(trees), []
    require_trees(trees, "trees", "the white space between tokens is")
    for tree, is_end in zip(trees, find_document_ends(trees), strict=True):
        for form, misc, *_ in list_tokens(tree):
            given = split_pairs(misc)
            before = given.get("SpacesBefore", "")
            behind = given.get("SpacesAfter", _space_behind(misc))
            parts += [_unescape_spaces(before), form, _unescape_spaces(behind)]
        if is_end:
            parts[-1] = ""
    return "".join(parts)


def find_document_ends(trees):
    """Tell of each tree whether nothing follows it, because the first one of its document says so.

    Parameters
    ----------
    trees : list of DependencyTree

    Returns
    -------
    ends : list of bool
    """
    ends, tells = [], False
    for tree, following in pairwise([*trees, None]):
        tells = tells or NO_SPACE_BEHIND in tree.comments
        comments = "# newdoc" if following is None else "\n".join(following.comments)
        # Of texts without names, one after the other, each begins a paragraph.
        begun = _BEGINS_PARAGRAPH.findall(comments)
        is_end = tells and begun and "SpacesAfter=" not in list_tokens(tree)[-1].misc
        ends.append(bool(is_end))
        tells = tells and not is_end and "doc" not in begun
    return ends


def _space_behind(misc):
    """Return the space behind a token, as SpaceAfter in its MISC tells."""
    return "" if "SpaceAfter=No" in misc.split("|") else " "


def _unescape_spaces(text):
    return _ESCAPE.sub(lambda found: _UNESCAPES.get(found[0]) or chr(int(found[0][2:], 16)), text)
