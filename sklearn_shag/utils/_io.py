"""Files that are either complete or not there, standard input and output, and errors in words."""

import contextlib
import errno
import gzip
import io
import json
import os
import secrets
import signal
import sys
import threading
from functools import partial

from sklearn_shag.utils._messages import printable, shorten

STANDARD = "-"  # a path that stands for standard input or output
UTF_8 = "utf-8"  # as codecs.lookup names it
PARTIAL = ".part", ".part.log"  # endings of the files beside one that can be gone on with
_CHUNK = 1 << 20  # bytes that are read at once
_SHOWN = 200  # characters of a path in messages


def expand_user(path):
    """The path as a str, with the home folder in place of ``~``; ``-`` stays as it is.

    Parameters
    ----------
    path : str or os.PathLike

    Returns
    -------
    path : str

    Raises
    ------
    TypeError
        If it is something else.
    OSError
        If no file can have it: it holds the character of number 0.
    """
    if not isinstance(path, str | bytes | os.PathLike):  # os.fsdecode says it without `path`
        raise TypeError(
            f"The path of a file must be a str or os.PathLike, got {type(path).__name__}: "
            f"{shorten(path)}"
        )
    path = os.fsdecode(path)
    if "\0" in path:
        raise OSError(
            errno.EINVAL, f"the path {shorten(path)} holds the character \\0; leave it out"
        )
    return os.path.expanduser(path)


def read_bytes(path, max_bytes=None):
    """Read a whole file.

    Parameters
    ----------
    path : str or os.PathLike
        ``-`` is standard input, ``~`` the home folder.
    max_bytes : None or int, default=None
        The largest file that is read; of a larger one no more than that. None is no limit.

    Returns
    -------
    data : bytes

    Raises
    ------
    OSError
        If the file cannot be read, or is larger (EFBIG); the message says why in words.
    """
    data = io.BytesIO()
    with open_bytes(path) as stream:
        for chunk in iter_chunks(stream, _CHUNK):
            data.write(chunk)
            if max_bytes is not None and data.tell() > max_bytes:
                raise OSError(
                    errno.EFBIG,
                    f"it has more than {max_bytes:,} bytes; if you trust it, give a larger "
                    f"max_bytes",
                )
    return data.getvalue()


def iter_chunks(stream, size):
    """Yield the content of a binary stream, so many bytes at once."""
    size = -1 if stream.isatty() else size  # at a terminal, input would have to be ended twice
    while chunk := stream.read(size):
        yield chunk


def _describe_error(error, path):
    """Return the reason of an OSError in words, without number and path."""
    if isinstance(error, BlockingIOError):  # from a lock
        return "another run is writing it"
    if isinstance(error, PermissionError):
        return "permission is denied"
    return error.strerror or str(error)


@contextlib.contextmanager
def _word_errors(path, *others, done="written", describe=_describe_error):
    """Reword errors of files: they name the path that the user gave, and the failed action.

    Errors that name a file which is none of these, or that have been put in words, pass.
    """
    try:
        yield
    except OSError as error:
        is_other = isinstance(error.filename, str) and error.filename not in (path, *others)
        if error.strerror is None or is_other:
            raise
        reason = describe(error, path)
        named = type(error)(f"{printable(path, _SHOWN)} cannot be {done}: {reason}.")
        named.errno = error.errno
        raise named from None


@contextlib.contextmanager
def open_bytes(path):
    """Open a file for reading, with errors in words.

    Parameters
    ----------
    path : str or os.PathLike
        ``-`` is standard input, ``~`` the home folder.

    Yields
    ------
    stream : io.BufferedReader

    Raises
    ------
    OSError
        If the file cannot be read, here or in the block.
    """
    path = expand_user(path)
    if path == STANDARD:
        with _word_errors("<stdin>", done="read"):
            yield _standard_input()
    else:
        with _word_errors(path, done="read", describe=_describe_unread), open(path, "rb") as file:
            yield file


def _describe_unread(error, path):
    """Return the reason why a file cannot be read, also of a folder or a missing file."""
    if os.path.isdir(path):
        may_read = os.access(path, os.R_OK)
        return "it is a folder, and not a file" if may_read else "permission is denied"
    if isinstance(error, FileNotFoundError):
        return "there is no such file" + ("" if os.path.isabs(path) else f" in {os.getcwd()}")
    return _describe_error(error, path)


def _standard_input():
    if sys.stdin is None:
        raise OSError(errno.EBADF, "it is closed")
    binary = getattr(sys.stdin, "buffer", sys.stdin)
    if isinstance(binary, io.TextIOBase):  # a notebook's gives text alone
        binary = io.BytesIO(binary.read().encode())
    return binary if hasattr(binary, "peek") else io.BufferedReader(binary)


def check_target(path):
    """Check, as far as that can be known beforehand, that a file can be written.

    Parameters
    ----------
    path : str or os.PathLike
        ``-`` is standard output, ``~`` the home folder.

    Raises
    ------
    OSError
        If it is a folder, or would be in one that does not exist or is a file, or standard output
        is closed.
    """
    path = expand_user(path)
    if path == STANDARD:
        if sys.stdout is None:
            raise OSError("Standard output is closed; name a file to write.")
        return
    if not path:
        raise FileNotFoundError("The path of the file to write is empty.")
    folder, shown = os.path.dirname(os.path.realpath(path)), printable(path, _SHOWN)
    if os.path.isdir(path):
        raise IsADirectoryError(f"{shown} cannot be written: it is a folder; name a file in it.")
    # Links in a circle, and names that are too long, have no folder either.
    with _word_errors(path), contextlib.suppress(FileNotFoundError, NotADirectoryError):
        os.stat(path)
    if not os.path.isdir(folder):
        raise FileNotFoundError(
            f"{shown} cannot be written: there is no folder {printable(folder, _SHOWN)}; make it "
            f"first, or name another."
        )


@contextlib.contextmanager
def atomic_write(path):
    """Open a file for writing bytes that takes the place of `path` only once it is complete.

    The content goes to a temporary file in the same folder, which is renamed when the block ends
    and removed when the block raises: `path` holds the old content or the new, never a part. That
    holds for a loss of power too: the file is on the disk before it gets its name. A process that
    is killed leaves its temporary file, ``.sklearn_shag-*.tmp``.

    Parameters
    ----------
    path : str or os.PathLike
        The file to write. A symbolic link is followed, the permissions of an existing file are
        kept, and what is not a regular file (a terminal, a pipe) is written directly. ``-`` is
        standard output, which gets all at the end, ``~`` the home folder.

    Yields
    ------
    file : binary file object

    Raises
    ------
    OSError
        If the file cannot be written; the message says why in words. Other errors of the block
        pass as they are.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn_shag.utils._io import atomic_write
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "note.txt"
    >>> with atomic_write(path) as file:
    ...     _ = file.write(b"complete")
    >>> path.read_text()
    'complete'
    """
    path = expand_user(path)
    check_target(path)
    if path == STANDARD:
        with io.BytesIO() as file:
            yield file
            _write_standard_output(file.getvalue())
        return
    target = os.path.realpath(path)
    name = f".sklearn_shag-{secrets.token_hex(8)}.tmp"
    temporary = os.path.join(os.path.dirname(target), name)
    with _word_errors(path, target, temporary):
        if os.path.exists(target) and not os.path.isfile(target):
            with open(target, "wb") as file:
                yield file
            return
        try:
            with open(temporary, "xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            _replace(temporary, target)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)


def _replace(temporary, target):
    """Let a complete file take the place of another one, with the permissions of that."""
    if os.path.exists(target):
        os.chmod(temporary, os.stat(target).st_mode)
    os.replace(temporary, target)


@contextlib.contextmanager
def write_text(path):
    """Open a file for text in UTF-8, of which one that ends in ".gz" is compressed.

    Parameters
    ----------
    path : str or os.PathLike
        Is written by :func:`atomic_write`.

    Yields
    ------
    write : callable
        Takes bytes.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    path = expand_user(path)
    with atomic_write(path) as file:
        if path.endswith(".gz"):
            # Neither name nor time in the header: the same text gives the same bytes.
            with gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as compressed:
                yield compressed.write
        else:
            yield file.write


@contextlib.contextmanager
def write_resumable(path, key, resume=False):
    """Write a file through ``PATH.part`` beside it, which a later run can go on with.

    It takes the place of the file once it is complete. Beside it, ``PATH.part.log`` holds the key
    and notes of how far the text is. If the block ends with an error of its input (TypeError or
    ValueError), both are removed; otherwise they stay.

    Parameters
    ----------
    path : str or os.PathLike
        As for :func:`write_text`. What is no regular file is written as the text comes.
    key : dict of str
        Names of what the text depends on -> digests of that.
    resume : bool, default=False
        Whether to go on with the partial file, if there is one.

    Yields
    ------
    write : callable
        Takes bytes, which are compressed by themselves if the file is.
    note : callable
        Takes what JSON can hold, and notes it for the text so far.
    noted : object
        The last note for text that is in the partial file; the rest of that is dropped. None
        without one.

    Raises
    ------
    ValueError
        If `resume` is not possible: the key has changed, or there is no file to go on with.
    OSError
        If the file cannot be written, or another run is writing it.
    """
    target = os.path.realpath(path := expand_user(path))
    if path == STANDARD or (os.path.exists(target) and not os.path.isfile(target)):
        if resume:
            raise ValueError("--resume goes on with a file; name it with -o.")
        to_file = contextlib.nullcontext(_write_standard_output) if path == STANDARD else None
        with to_file or write_text(path) as write:
            yield write, lambda _: None, None
        return
    check_target(path)
    names = [target + ending for ending in PARTIAL]
    pack = partial(gzip.compress, compresslevel=6, mtime=0) if path.endswith(".gz") else memoryview
    with _word_errors(path, target, *names):
        with open(names[0], "ab") as file, open(names[1], "a+b") as log:
            with contextlib.suppress(ImportError):  # not everywhere
                import fcntl

                fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)
            n_bytes, noted = _begin_log(log, file.tell(), key, resume)
            file.truncate(n_bytes)
            file.seek(0, os.SEEK_END)

            def note(content):
                file.flush()
                log.write(json.dumps([file.tell(), content]).encode() + b"\n")
                log.flush()

            def write(data):
                if data:
                    file.write(pack(data))

            try:
                yield write, note, noted
            except (TypeError, ValueError):
                for each in (file, log):
                    each.close()
                    os.unlink(each.name)
                raise
            if not file.tell():
                file.write(pack(b""))
            file.flush()
            os.fsync(file.fileno())
        _replace(names[0], target)
        os.unlink(names[1])


def _begin_log(log, size, key, resume):
    """Return length and content of the last note for a text of this size; or begin anew."""
    log.seek(0)
    *lines, _ = log.read().split(b"\n")  # the last one is empty, or not complete
    if resume and size and len(lines) > 1:
        header, *notes = map(json.loads, lines)
        if changed := " and ".join(name for name in key if header.get(name) != key[name]):
            made = f"changed since {printable(log.name)} was made; leave it out to begin anew"
            raise ValueError(f"--resume: {changed} {made}.")
        log.truncate(sum(map(len, lines)) + len(lines))
        return next((note for note in reversed(notes) if note[0] <= size), (0, None))
    log.truncate(0)
    log.write(json.dumps(key).encode() + b"\n")
    log.flush()
    return 0, None


@contextlib.contextmanager
def _delay_interruptions():
    """Delay an interruption to the end of the block, so that its output is complete."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    seen = []
    handler = signal.signal(signal.SIGINT, lambda *signals: seen.append(signals))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if seen and callable(handler):
        handler(*seen[0])


def _write_standard_output(data):
    """Write bytes of UTF-8 to standard output."""
    binary = getattr(sys.stdout, "buffer", None)
    with _word_errors("<stdout>"), _delay_interruptions():
        if binary is None:  # a notebook's takes text alone
            sys.stdout.write(data.decode())
        else:
            sys.stdout.flush()
            left = memoryview(data)
            while left:  # where output is not buffered (python -u), signals end a write too early
                left = left[binary.write(left) :]
            binary.flush()
