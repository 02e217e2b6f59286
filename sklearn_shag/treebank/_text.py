"""The text of a file, and the error that names one of its lines."""

import gzip
import io
import zlib

from sklearn_shag.treebank._formats import describe_binary
from sklearn_shag.utils._io import STANDARD, read_bytes

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
        What is wrong.

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
        super().__init__(path, line, message)  # all three, so that the exception can be pickled
        self.path = path
        self.line = line

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.args[2]}"


def read_text(path_or_file):
    """Read a whole file of text.

    Parameters
    ----------
    path_or_file : str or text file
        What is compressed with gzip, whatever its name, is decompressed; ``-`` is standard input.

    Returns
    -------
    path : str
        The name of the file, for messages.

    text : str
        Its text without byte order mark and with "\\n" as line end; bytes that are not UTF-8 have
        become lone surrogates, so that only the sentence they are in is lost.

    Raises
    ------
    ConlluError
        If compressed data cannot be decompressed, the file is no text, or the encoding of an open
        file is not right.
    OSError
        If the file cannot be read.
    """
    if hasattr(path_or_file, "read"):
        path = str(getattr(path_or_file, "name", "<text>"))
        text = _read_open_file(path, path_or_file)
    else:
        path = "<stdin>" if path_or_file == STANDARD else path_or_file
        data = _decompress(path, read_bytes(path_or_file))
        if problem := describe_binary(data):
            raise ConlluError(path, 1, problem)
        text = data.decode("utf-8", errors="surrogateescape")
    return path, text.removeprefix("\ufeff").replace("\r\n", "\n")


def _read_open_file(path, file):
    try:
        text = file.read()
    except UnicodeDecodeError as error:
        line = 1 + error.object.count(b"\n", 0, error.start)
        raise ConlluError(path, line, f"the file's encoding is not right: {error}") from None
    if not isinstance(text, str):
        raise TypeError(f"{path} is open in binary mode; open it as text, with encoding='utf-8'")
    return text


def _decompress(path, compressed):
    if not compressed.startswith(_GZIP):
        return compressed
    data = bytearray()
    with gzip.open(io.BytesIO(compressed)) as file:
        try:
            while chunk := file.read1(_CHUNK):  # read would lose what comes before the error
                data += chunk
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            line = 1 + data.count(b"\n")
            raise ConlluError(path, line, f"cannot be decompressed further: {error}") from error
    return bytes(data)
