"""Reading of files in pieces of whole sentences, so that files need not fit in memory."""

import codecs
import gzip
import zlib
from collections.abc import Callable
from itertools import chain, islice
from typing import NamedTuple

from sklearn_shag.treebank._lines import find_document
from sklearn_shag.treebank._sources import ConlluError, describe_binary
from sklearn_shag.utils._io import STANDARD, UTF_8, iter_chunks, open_bytes
from sklearn_shag.utils._messages import printable, warn

MAX_BYTES = 2**30  # of a file, by default: a larger one is more likely an attack
MAX_SENTENCE_BYTES = 2**24  # of a sentence, in functions that read files of any size
_GZIP = b"\x1f\x8b"  # first bytes of files compressed with gzip
# Bytes of text that are read at once. A piece is at least as long, since memory grows with it, and
# four times as long before it ends with anything but the first boundary.
_CHUNK, _LONGER = 1 << 15, 4
_ADVICE = ". If you trust the file, pass a larger max_bytes, or None; else read a part of it"


class Piece(NamedTuple):
    """Consecutive sentences of a file, in bytes."""

    path: str
    n_lines: int  # before it
    text: bytes
    n_read: int  # bytes of the file, compressed or not, that were read for it
    longest: int | None  # limit of the bytes of a sentence
    line_end: str  # of the first line of the file; in the text they are all "\n"


class TextFormat(NamedTuple):
    """A text format: functions that split its text into sentences and parse a sentence."""

    suffix: str  # of names of files
    boundary: bytes  # ends a sentence wherever it occurs
    split: Callable  # piece -> number of its lines before each sentence, and text of that
    parse: Callable  # path, number of the first line, text of a sentence -> tree, or list of trees
    n_chunks: int = 1  # in a piece
    unit: str = "sentence"  # what is left out if it is not valid
    keeps_line_end: bool = False  # whether trees are written with the line end of their file

    def pieces(
        self,
        sources,
        *,
        max_bytes=None,
        longest=MAX_SENTENCE_BYTES,
        encoding=UTF_8,
        skips=False,
    ):
        """Yield the pieces of all files in `sources`, one file after the other.

        With `skips`, what cannot be read of a file is left out with a warning.
        """
        for source in sources:
            pieces = iter_pieces(
                source,
                self.boundary,
                n_chunks=self.n_chunks,
                max_bytes=max_bytes,
                longest=longest,
                encoding=encoding,
            )
            yield from leave_out_rest(pieces, skips)

    def sentences(self, pieces):
        """Yield place of the piece, line, text, and tree or error of each sentence of pieces."""
        for k, piece in enumerate(pieces):
            for n_lines, text in self.split(piece):
                line = piece.n_lines + n_lines + 1
                try:
                    if piece.longest is not None and len(text) > piece.longest:
                        raise _too_long(piece.path, line, piece.longest)
                    tree = self.parse(piece.path, line, text)
                    if self.keeps_line_end:  # nobody else has the tree yet
                        object.__setattr__(tree, "_line_end", piece.line_end)
                except ConlluError as error:
                    tree = error
                yield k, line, text, tree

    def trees(self, sources, on_error="raise", *, max_bytes=None, longest=None):
        """Yield the trees of files of :func:`list_sources`.

        Parameters
        ----------
        sources : list of str and text files
        on_error : {"raise", "skip", "warn"}, default="raise"
        max_bytes, longest : None or int, default=None
            Limits of each file, and of each sentence.
        """
        document = None
        for piece in self.pieces(sources, max_bytes=max_bytes, longest=longest):
            document = document if piece.n_lines else None  # of another file
            for _, _, text, found in self.sentences([piece]):
                if isinstance(found, ConlluError):
                    document = find_document(text.decode(errors="replace"), document)
                    if on_error == "raise":
                        raise found
                    if on_error == "warn":
                        warn(f"{found}; the {self.unit} is left out", UserWarning)
                    continue
                for tree in found if isinstance(found, list) else [found]:
                    document = find_document(tree._source or "", document)
                    object.__setattr__(tree, "_document", document)  # nobody else has it yet
                    yield tree


def leave_out_rest(content, skips):
    """Yield the content of a file; with `skips`, an error in reading ends it with a warning."""
    try:
        yield from content
    except (ConlluError, OSError) as error:
        if not skips:
            raise
        warn(f"{str(error).rstrip('.')}; the rest of the file is left out", UserWarning)


def _too_long(path, line, longest):
    return ConlluError(
        path,
        line,
        f"this sentence has more than max_sentence_bytes={longest} bytes; see that sentences end "
        f"where they should, or raise the limit",
    )


def iter_pieces(
    source,
    *boundaries,
    n_chunks=1,
    max_bytes=None,
    longest=None,
    raw=False,
    encoding=UTF_8,
):
    """Read a file piece by piece.

    Parameters
    ----------
    source : str or text file
        A file compressed with gzip, whatever its name, is decompressed; ``-`` is standard input.
    *boundaries : bytes
        All pieces but the last end with the first boundary, or, if four times the least size
        does not have it, with the next one.
    n_chunks : int, default=1
        The least size of all pieces but the last, in chunks of 32 kilobytes.
    max_bytes : None or int, default=None
        The largest size of the text, not compressed.
    longest : None or int, default=None
        Limit of the bytes of a sentence: more text without a boundary is an error.
    raw : bool, default=False
        Whether to change nothing in the text, and to read on in a file that seems to be none.
    encoding : str, default="utf-8"
        The encoding of a file that is not open, by the name of Python's codec.

    Yields
    ------
    piece : Piece
        Its text has no byte order mark, and "\\n" as line end. UTF-8 is checked later, sentence by
        sentence, so that only invalid sentences are lost.

    Raises
    ------
    ConlluError
        If a limit is exceeded, compressed data cannot be decompressed, the file is no text, or the
        encoding of an open file is not right.
    OSError
        If the file cannot be read.
    """
    if hasattr(source, "read"):
        path = str(getattr(source, "name", "<text>"))
        chunks = _read_open(path, source)
    else:
        path = "<stdin>" if source == STANDARD else source
        chunks = _read_file(path, source, raw or encoding != UTF_8)
        if encoding != UTF_8:
            chunks = _recode(chunks, encoding)
    held, n_lines, n_bytes, n_read, n_read_before, searched = bytearray(), 0, 0, 0, 0, 0
    size = n_chunks * _CHUNK
    try:
        first = list(islice(chunks, 1))
        is_crlf = any(chunk.partition(b"\n")[0].endswith(b"\r") for chunk, _ in first)
        chunks, line_end = chain(first, chunks), "\r\n" if is_crlf else "\n"
        for chunk, n_read in chunks if raw else _clean_chunks(chunks):
            held += chunk
            n_bytes += len(chunk)
            if max_bytes is not None and n_bytes > max_bytes:
                raise ConlluError(
                    path,
                    1 + n_lines + held.count(b"\n"),
                    f"up to here the text has more than max_bytes={max_bytes} bytes{_ADVICE}",
                )
            if len(held) < size:
                continue
            is_long = len(held) >= _LONGER * size
            tried = boundaries if is_long else boundaries[:1]
            if is_long and searched < _LONGER * size:  # so far only for the first boundary
                searched = 0
            starts = (max(searched - len(each), 0) for each in tried)
            ends = map(held.rfind, tried, starts)
            end = next((k + len(b) for k, b in zip(ends, tried, strict=True) if k >= 0), 0)
            searched = len(held)
            if end:
                yield Piece(
                    path, n_lines, bytes(held[:end]), n_read - n_read_before, longest, line_end
                )
                n_read_before = n_read
                n_lines += held.count(b"\n", 0, end)
                del held[:end]
                searched = 0
            elif longest is not None and len(held) > longest:
                raise _too_long(path, n_lines + 1, longest)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ConlluError(
            path, 1 + n_lines + held.count(b"\n"), f"cannot be decompressed further: {error}"
        ) from error
    except UnicodeDecodeError as error:  # `object` holds lines not yet returned
        line = 1 + n_lines + held.count(b"\n") + error.object.count(b"\n", 0, error.start)
        raise ConlluError(path, line, f"the file's encoding is not right: {error}") from None
    if held:
        yield Piece(path, n_lines, bytes(held), n_read - n_read_before, longest, line_end)


def _read_file(path, source, raw):
    """Yield chunks of the text of a file, each with the number of bytes read so far."""
    with open_bytes(source) as stream, gzip.open(stream) as unpacked:
        is_packed = stream.peek(2).startswith(_GZIP)
        # `read` would lose the text before an error.
        chunks = (
            iter(lambda: unpacked.read1(_CHUNK), b"") if is_packed else iter_chunks(stream, _CHUNK)
        )
        for k, chunk in enumerate(chunks):
            if not (k or raw) and (found := describe_binary(chunk)):
                problem, place = found
                raise ConlluError(path, 1 + chunk.count(b"\n", 0, place), problem)
            yield chunk, stream.tell() if stream.seekable() else 0


def _read_open(path, file):
    """Yield the lines of an open file, long ones in parts, each with 0 for the bytes read."""
    while line := file.readline(_CHUNK):
        if not isinstance(line, str):
            raise TypeError(
                f"{printable(path)} is open in binary mode; open it as text, with encoding='utf-8'"
            )
        yield line.encode(errors="surrogatepass"), 0


def _recode(chunks, encoding):
    """Turn chunks of text in another encoding into UTF-8."""
    decode = codecs.getincrementaldecoder(encoding)().decode
    n_read = 0
    for chunk, n_read in chunks:
        yield decode(chunk).encode(), n_read
    yield decode(b"", True).encode(), n_read


def _clean_chunks(chunks):
    """Remove the byte order mark from chunks of text, and replace "\\r\\n" by "\\n"."""
    held, n_read, mark = b"", 0, codecs.BOM_UTF8
    for chunk, n_read in chunks:
        text = held + chunk
        if mark.startswith(text):  # the chunk may end within the mark
            held = text
            continue
        text, mark = text.removeprefix(mark), b""
        held = b"\r" if text.endswith(b"\r") else b""
        yield text.removesuffix(held).replace(b"\r\n", b"\n"), n_read
    if held := held.removeprefix(mark):
        yield held, n_read
