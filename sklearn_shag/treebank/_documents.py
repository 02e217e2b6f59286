"""Documents to be parsed: text files, and lines of JSON with an id and a text."""

import io
import json

from sklearn_shag.treebank import _pieces
from sklearn_shag.treebank._sources import ConlluError, decode_lines
from sklearn_shag.treebank._text import TextPiece, check_text, iter_text
from sklearn_shag.utils._messages import shorten


def read_text_file(path, document=None, whole=False):
    """Yield the pieces of a document that is a text file.

    Parameters
    ----------
    path : str
    document : None or str, default=None
        Its id.
    whole : bool, default=False
        Whether to read the file to its end first, so that nothing comes of one with an error.

    Yields
    ------
    piece : TextPiece
        The last one ends the document, without text, and has the error if there was one.
    """
    end = TextPiece(path, 0, 0, "", document=document, ends=True)
    try:
        for _ in iter_text(path) if whole else ():
            pass
        for piece in iter_text(path):
            yield piece._replace(document=document)
    except (ConlluError, OSError) as error:
        end = end._replace(error=error)
    yield end


def read_json_lines(path):
    """Yield the pieces of documents that are lines of JSON, each an object with `id` and `text`.

    Pieces are those of :func:`read_text_file`. Of a document with an error only the end comes.
    """
    try:
        for part in _pieces.iter_pieces(path, b"\n", longest=_pieces.MAX_BYTES, raw=True):
            n_read = part.n_read
            for n_lines, line in enumerate(part.text.split(b"\n"), start=part.n_lines):
                if line := line.strip():
                    document, text, error = _read_line(path, n_lines + 1, line)
                    end = TextPiece(path, n_lines, 0, "", n_read, True, document, True, error)
                    for piece in iter_text(io.StringIO(text, newline=""), raw=True):
                        yield piece._replace(path=path, n_lines=n_lines, document=document)
                    yield end
                    n_read = 0
    except ConlluError as error:  # of the file
        yield TextPiece(path, 0, 0, "", ends=True, error=error)


def _read_line(path, number, line):
    """Return id, text and error of a line of JSON; None and no text if there is an error."""
    document = None
    try:
        if len(line) > _pieces.MAX_SENTENCE_BYTES:
            raise ValueError(f"the line has more than {_pieces.MAX_SENTENCE_BYTES:,} bytes")
        content = json.loads(line.decode("utf-8-sig", errors="replace"))
        if not isinstance(content, dict) or content.keys().isdisjoint({"id"}):
            raise ValueError('the line is no JSON object with "id" and "text"')
        name, text = content["id"], content.get("text")
        if type(name) not in (str, int) or len(str(name).splitlines()) != 1:
            raise ValueError(f"the id must be a number or one line of text, got {shorten(name)}")
        check_text(str(document := name))
        check_text(text)
        decode_lines(path, number, line)
    except ConlluError as error:
        return document, "", error
    except (TypeError, ValueError, RecursionError) as error:
        return document, "", ConlluError(path, number, str(error))
    return document, text, None


def group_pieces(pieces):
    """Yield lists of pieces of at least 32 kilobytes, which are parsed together."""
    group, size = [], 0
    for piece in pieces:
        group.append(piece)
        size += 1 + len(piece.text)
        if size >= _pieces._CHUNK:
            yield group
            group, size = [], 0
    if group:
        yield group
