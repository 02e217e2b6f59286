"""Documents to be parsed: text files, and lines of JSON with an id and a text."""

import io
import json

from sklearn_shag.treebank._pieces import MAX_BYTES, iter_pieces
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
        for part in iter_pieces(path, b"\n", longest=MAX_BYTES, raw=True):
            for k, line in enumerate(part.text.splitlines()):
                if line.strip():
                    end, text = _read_line(path, part.n_lines + k, line)
                    for piece in iter_text(io.StringIO(text, newline=""), raw=True):
                        own = piece.n_characters, piece.text, 0, piece.begins_paragraph
                        yield TextPiece(path, end.n_lines, *own, end.document)
                    yield end
            yield TextPiece(path, 0, 0, "", part.n_read)  # reports the bytes
    except ConlluError as error:  # of the file
        yield TextPiece(path, 0, 0, "", ends=True, error=error)


def _read_line(path, n_lines, line):
    """Return the end of the document in a line of JSON, and its text, if there is no error."""
    end = TextPiece(path, n_lines, 0, "", ends=True)
    try:
        content = json.loads(line.decode("utf-8-sig", errors="replace"))
        if not (isinstance(content, dict) and content.keys() >= {"id", "text"}):
            raise ValueError('the line is no JSON object with "id" and "text"')
        name = content["id"]
        if type(name) not in (str, int) or len(str(name).splitlines()) != 1:
            raise ValueError(f"the id must be a number or one line of text, got {shorten(name)}")
        check_text(str(name))
        end = end._replace(document=name)
        decode_lines(path, n_lines + 1, line)
        check_text(content["text"])
    except ConlluError as error:
        return end._replace(error=error), ""
    except (TypeError, ValueError, RecursionError) as error:
        return end._replace(error=ConlluError(path, n_lines + 1, str(error))), ""
    return end, content["text"]
