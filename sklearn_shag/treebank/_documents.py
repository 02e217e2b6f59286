"""Documents to be parsed: text files, and lines of JSON with an id and a text."""

import json

from sklearn_shag.treebank import _pieces
from sklearn_shag.treebank._pieces import MAX_SENTENCE_BYTES, iter_pieces
from sklearn_shag.treebank._sources import ConlluError, decode_lines
from sklearn_shag.treebank._text import TextPiece, check_text, cut_text, iter_text, place_pieces
from sklearn_shag.utils._io import STANDARD
from sklearn_shag.utils._messages import shorten


def read_text_file(path, document=None, *, whole=False):
    """Read a document that is a text file.

    Parameters
    ----------
    path : str
    document : None or str, default=None
        Its id.
    whole : bool, default=False
        Whether to read the file to its end first, so that nothing comes of one with an error. That
        is not possible with standard input.

    Yields
    ------
    piece : TextPiece
        The last one ends the document, without text, and has the error if there was one.
    """
    end = TextPiece(path, 0, 0, "", document=document, ends=True)
    try:
        for _ in iter_text(path) if whole and path != STANDARD else ():
            pass
        for piece in iter_text(path):
            yield piece._replace(document=document)
    except ConlluError as error:
        end = end._replace(error=error)
    yield end


def read_json_lines(path):
    """Read documents that are lines of JSON, each an object with `id` and `text`.

    Parameters
    ----------
    path : str

    Yields
    ------
    piece : TextPiece
        As for :func:`read_text_file`. A document with an error has no other piece.
    """
    try:
        for n_lines, line, n_read in _iter_lines(path):
            document, text, error = _read_line(path, n_lines + 1, line)
            end = TextPiece(path, n_lines, 0, "", n_read, True, document, True, error)
            if error is None:
                parts = cut_text(text, _pieces._CHUNK, _pieces._LONGER * _pieces._CHUNK)
                yield from place_pieces(
                    end._replace(text=part, n_read=0, ends=False) for part in parts if part
                )
            yield end
    except ConlluError as error:  # of the file
        yield TextPiece(path, error.line - 1, 0, "", ends=True, error=error)


def _iter_lines(path):
    """Yield the lines of a file that are not blank: their number, bytes, and the bytes read."""
    held, n_lines, n_read = b"", 0, 0
    for piece in iter_pieces(path, b"\n", b" ", longest=MAX_SENTENCE_BYTES, binary=True):
        *lines, rest = piece.text.split(b"\n")
        n_read += piece.n_read
        for line in lines:
            if line := (held + line).strip():
                yield n_lines, line, n_read
                n_read = 0
            held, n_lines = b"", n_lines + 1
        held = (held + rest)[: MAX_SENTENCE_BYTES + 1]  # more is an error
    if line := held.strip():
        yield n_lines, line, n_read


def _read_line(path, number, line):
    """Return the id, if there is one, the text, and the error of a line of JSON."""
    document = text = None
    try:
        if len(line) > MAX_SENTENCE_BYTES:
            raise ValueError(f"the line has more than {MAX_SENTENCE_BYTES:,} bytes; cut the text")
        try:
            content = json.loads(line.decode(errors="replace"))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"the line is not valid JSON: {error}") from None
        if not (isinstance(content, dict) and content.keys() >= {"id", "text"}):
            raise ValueError('the line is no JSON object with "id" and "text"')
        document, text = content["id"], content["text"]
        if type(document) not in (str, int) or len(str(document).splitlines()) != 1:
            document, wrong = None, document
            raise ValueError(f"the id must be a number or one line of text, got {shorten(wrong)}")
        decode_lines(path, number, line)
        check_text(str(document))
        check_text(text)
    except ConlluError as error:
        return document, text, error
    except (TypeError, ValueError) as error:
        return document, text, ConlluError(path, number, str(error))
    return document, text, None


def group_pieces(pieces):
    """Yield lists of pieces of about 32 kilobytes, which are parsed together."""
    group, size = [], 0
    for piece in pieces:
        group.append(piece)
        size += 1 + len(piece.text)
        if size >= _pieces._CHUNK:
            yield group
            group, size = [], 0
    if group:
        yield group
