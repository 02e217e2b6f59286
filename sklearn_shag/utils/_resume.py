"""Files that a later run can go on with, where a run that wrote them has been ended."""

import contextlib
import gzip
import json
import os
import zlib

from sklearn_shag.utils._io import (
    STANDARD,
    _word_errors,
    check_target,
    expand_user,
    iter_chunks,
    pack,
    write_text,
)
from sklearn_shag.utils._messages import printable

ENDINGS = ".part", ".part.log", ".part.old"  # of files beside one that is written
_CHUNK = 1 << 20  # bytes that are copied at once


@contextlib.contextmanager
def write_resumable(path, key, resume):
    """Write a file through ``PATH.part`` beside it, which takes its place once it is complete.

    ``PATH.part.log`` holds the key, and notes of how far the text is. If the block ends with an
    error of its input (ValueError or TypeError), both are removed; after any other they stay.

    Parameters
    ----------
    path : str
        As for :func:`write_text`. What is not a regular file is written as the text comes.
    key : dict of str
        What the text depends on: names of things in words -> anything that changes with them.
    resume : bool
        Whether to go on with the partial file, if there is one.

    Yields
    ------
    write : callable
        Takes bytes.
    note : callable
        Takes anything that JSON can hold, and notes it for the text so far.
    noted : object
        The last note that the partial file reaches; the text up to it has been written. None if
        there is none.

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
        with write_text(path, streamed=True) as write:
            yield write, lambda _: None, None
        return
    check_target(path)
    partial, journal, former = map(target.__add__, ENDINGS)
    has_begun = False
    with _word_errors(path, target, partial, journal, former):
        try:
            with open(journal, "a+b") as log:
                _lock(log, path)
                left = former if os.path.exists(former) else partial
                notes = _begin_journal(log, left, key, resume)
                if left == partial and os.path.exists(partial):
                    os.replace(partial, former)  # it stays until its text has been copied
                with open(partial, "wb") as file, pack(file, path) as write:
                    n_bytes, noted = _copy(former, notes, write)
                    file.flush()
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(former)

                    def write_counted(data):
                        nonlocal n_bytes
                        write(data)
                        n_bytes += len(data)

                    def note(content):
                        log.write(json.dumps([n_bytes, content]).encode() + b"\n")
                        log.flush()
                        file.flush()

                    has_begun = True
                    yield write_counted, note, noted
        except (TypeError, ValueError):
            for name in (partial, journal) if has_begun else ():
                os.unlink(name)
            raise
        with open(partial, "r+b") as file:
            os.fsync(file.fileno())
        if os.path.exists(target):
            os.chmod(partial, os.stat(target).st_mode)
        os.replace(partial, target)
        os.unlink(journal)


def _lock(log, path):
    """Lock a file as long as this process has it open, where the system can do that."""
    with contextlib.suppress(ImportError):
        import fcntl

        try:
            fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OSError(f"{printable(path)} is being written by another run.") from None


def _begin_journal(log, partial, key, resume):
    """List the notes of an earlier run to go on with; begin anew if there are none."""
    log.seek(0)
    *lines, _ = log.read().split(b"\n")  # the last one is empty, or not complete
    header, *notes = map(json.loads, lines) if resume and lines else [None]
    if notes and os.path.exists(partial):
        changed = [name for name in key if header.get(name) != key[name]]
        if changed:
            raise ValueError(
                f"--resume cannot go on: {' and '.join(changed)} changed since the run that left "
                f"{printable(partial)}. Leave out --resume to begin anew."
            )
        log.truncate(sum(len(line) + 1 for line in lines))
        return notes
    log.truncate(0)
    log.write(json.dumps(key).encode() + b"\n")
    log.flush()
    return []


def _copy(former, notes, write):
    """Copy a text up to the last note that is not behind its end; return this note."""
    size = sum(map(len, _read_packed(former))) if notes else 0
    n_bytes, noted = next((each for each in reversed(notes) if each[0] <= size), (0, None))
    left = n_bytes
    for chunk in _read_packed(former) if left else ():
        write(chunk[:left])
        left -= min(left, len(chunk))
    return n_bytes, noted


def _read_packed(path):
    """Yield the text of a file that may be compressed, and may break off."""
    with open(path, "rb") as file, gzip.open(file) as unpacked:
        chunks = iter_chunks(file, _CHUNK)
        if file.peek(2).startswith(b"\x1f\x8b"):
            chunks = iter(lambda: unpacked.read1(_CHUNK), b"")
        with contextlib.suppress(EOFError, gzip.BadGzipFile, zlib.error):
            yield from chunks
