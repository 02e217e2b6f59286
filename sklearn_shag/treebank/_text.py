"""The text of a file, and the error that names one of its lines."""

import codecs
import gzip
import io
import math
import zlib

from sklearn_shag.treebank._formats import describe_binary
from sklearn_shag.utils._io import STANDARD, read_bytes
from sklearn_shag.utils._messages import printable

MAX_BYTES = 2**30  # of a file, by default: what unpacks to more is more likely an attack
NOT_UTF8 = "a character is not valid UTF-8; convert the file to UTF-8"
_GZIP = b"\x1f\x8b"  # what every file compressed with gzip begins with
_CHUNK = 1 << 20  # bytes of a compressed file that are read at once


class ConlluError(ValueError):
    """A file is not valid CoNLL-U, or no horizontal text.

    Its message begins with the file and the line.

    Parameters
    ----------
    path : str
        The file.

    line : int
        The line of the file, counted from 1.

    message : str
        What is wrong. Control characters are escaped, and what is long loses its middle.

    Attributes
    ----------
    path : str
        The file.

    line : int
        The line of the file, counted from 1.

    See Also
    --------
    read_conllu : Raises it, or leaves out what it would be raised for.
    read_horizontal : Raises it for lines with tabs.

    Examples
    --------
    >>> from sklearn_shag.treebank import ConlluError
    >>> print(ConlluError("dev.conllu", 7, "bad ID 'x'"))
    dev.conllu:7: bad ID 'x'
    """

    def __init__(self, path: str, line: int, message: str) -> None:
        message = printable(message)  # it may quote megabytes of a file
        super().__init__(path, line, message)  # all three, so that the exception can be pickled
        self.path = path
        self.line = line

    def __str__(self) -> str:
        return printable(f"{self.path}:{self.line}: {self.args[2]}")


def read_text(path_or_file, max_bytes):
    """Read a whole file of text.

    Parameters
    ----------
    path_or_file : str or text file
        What is compressed with gzip, whatever its name, is decompressed; ``-`` is standard input.
    max_bytes : int or None
        The largest size of the text, not compressed; None for any.

    Returns
    -------
    path : str
        The name of the file, for messages.

    text : bytes or bytearray
        Its text without byte order mark and with "\\n" as line end, in UTF-8 as it seems: whether
        it is can be told sentence by sentence, so that only those that it is not in are lost.

    Raises
    ------
    ConlluError
        If the file is too large, compressed data cannot be decompressed, the file is no text, or
        the encoding of an open file is not right.
    OSError
        If the file cannot be read.
    """
    if hasattr(path_or_file, "read"):
        path = str(getattr(path_or_file, "name", "<text>"))
        data = _gather(path, _encode_lines(path, path_or_file), max_bytes)
    else:
        path = "<stdin>" if path_or_file == STANDARD else path_or_file
        data = read_bytes(path_or_file, max_bytes)
        if data.startswith(_GZIP):
            with gzip.open(io.BytesIO(data)) as file:
                # `read` would lose what comes before an error.
                data = _gather(path, iter(lambda: file.read1(_CHUNK), b""), max_bytes)
        if problem := describe_binary(data):
            raise ConlluError(path, 1, problem)
    if data.startswith(codecs.BOM_UTF8):  # `removeprefix` of a bytearray would always copy it
        data = data[len(codecs.BOM_UTF8) :]
    return path, data.replace(b"\r\n", b"\n") if b"\r\n" in data else data


def _encode_lines(path, file):
    """Yield the lines of an open file, of which very long ones come in pieces."""
    while line := file.readline(_CHUNK):
        if not isinstance(line, str):
            raise TypeError(
                f"{printable(path)} is open in binary mode; open it as text, with encoding='utf-8'"
            )
        yield line.encode(errors="surrogatepass")


def _gather(path, pieces, max_bytes):
    """Put the pieces of a file together, up to its largest size."""
    data = bytearray()
    try:
        for piece in pieces:
            data += piece
            if max_bytes is not None and len(data) > max_bytes:
                raise ConlluError(path, 1 + data.count(b"\n"), _describe_size(max_bytes))
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        line = 1 + data.count(b"\n")
        raise ConlluError(path, line, f"cannot be decompressed further: {error}") from error
    except UnicodeDecodeError as error:  # of an open file, which knows of the lines not yet given
        line = 1 + data.count(b"\n") + error.object.count(b"\n", 0, error.start)
        raise ConlluError(path, line, f"the file's encoding is not right: {error}") from None
    return data


class Room:
    """What trees may take beside their text, so that both are below four times `max_bytes`.

    Parameters
    ----------
    path : str
    n_bytes : int
        The size of the text.
    max_bytes : int or None
    most : int
        What trees may take for each byte of text; if that is there, nothing need be measured.
    """

    # Of a tree, and of each of its words, beside text.
    TREE, WORD = 620, 64
    # Of a sentence while it is read, for each of its bytes.
    READING = 40

    def __init__(self, path, n_bytes, max_bytes, most):
        self._path, self._max_bytes = path, max_bytes
        self._left = math.inf
        if max_bytes is not None:  # below a megabyte there is nothing to be saved
            self._left = 4 * max(max_bytes, 1 << 20) - n_bytes
        self.is_limited = most * n_bytes > self._left

    def check(self, line, n_bytes):
        """Refuse what takes more than is left, for a time or as long as there are trees.

        Raises
        ------
        ConlluError
        """
        if n_bytes > self._left:
            what = f"trees take more than four times max_bytes={self._max_bytes} bytes"
            raise ConlluError(self._path, line, f"up to here the {what}{_ADVICE}")

    def take(self, line, n_bytes):
        """Take what a tree keeps; raise the same error."""
        self.check(line, n_bytes)
        self._left -= n_bytes


_ADVICE = ". If you trust the file, pass a larger max_bytes, or None; else read a part of it"


def _describe_size(max_bytes):
    return f"up to here the text has more than max_bytes={max_bytes} bytes{_ADVICE}"
