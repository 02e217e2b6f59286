"""Files that are either complete or not there, standard input and output, and errors in words."""

import contextlib
import errno
import io
import os
import secrets
import sys

from sklearn_shag.utils._messages import shorten

STANDARD = "-"  # a path that stands for standard input or output


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
    """
    if not isinstance(path, str | bytes | os.PathLike):  # os.fsdecode says it without `path`
        raise TypeError(
            f"The path of a file must be a str or os.PathLike, got {type(path).__name__}: "
            f"{shorten(path)}"
        )
    return os.path.expanduser(os.fsdecode(path))


def read_bytes(path):
    """Read a whole file.

    Parameters
    ----------
    path : str or os.PathLike
        ``-`` is standard input, ``~`` the home folder.

    Returns
    -------
    data : bytes

    Raises
    ------
    OSError
        If the file cannot be read; the message says why in words.
    """
    path = expand_user(path)
    if path == STANDARD:
        stream = getattr(sys.stdin, "buffer", sys.stdin)
        data = stream.read()
        return data.encode() if isinstance(data, str) else data
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        reason = _describe(error)
        if os.path.isdir(path):
            reason = "it is a folder, and not a file"
        elif isinstance(error, FileNotFoundError):
            reason = "there is no such file"
            if not os.path.isabs(path):
                reason += f" in {os.getcwd()}"
        raise type(error)(f"{path} cannot be read: {reason}.") from None


def check_target(path):
    """Check, as far as that can be known beforehand, that a file can be written.

    Parameters
    ----------
    path : str or os.PathLike
        ``-`` is standard output, ``~`` the home folder.

    Raises
    ------
    OSError
        If it is a folder, or would be in one that does not exist or is a file.
    """
    path = expand_user(path)
    if path == STANDARD:
        return
    folder = os.path.dirname(os.path.realpath(path))
    if not path:
        raise FileNotFoundError("The path of the file to write is empty.")
    if os.path.isdir(path):
        raise IsADirectoryError(f"{path} cannot be written: it is a folder; name a file in it.")
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise NotADirectoryError(
            f"{path} cannot be written: {folder} is a file, and not a folder; name another folder."
        )
    if not os.path.isdir(folder):
        raise FileNotFoundError(
            f"{path} cannot be written: there is no folder {folder}; make it first."
        )


@contextlib.contextmanager
def atomic_write(path, mode="w"):
    """Open a file for writing that takes the place of `path` only once it is complete.

    The content goes to a temporary file in the same folder, which is renamed when the block ends
    and removed when the block raises: `path` holds the old content or the new, never a part.

    Parameters
    ----------
    path : str or os.PathLike
        The file to write. A symbolic link is followed, the permissions of an existing file are
        kept, and what is not a regular file (a terminal, a pipe) is written directly. ``-`` is
        standard output, which gets all at the end, ``~`` the home folder.

    mode : {"w", "wb"}, default="w"
        Text (UTF-8, with ``\\n`` as line end on every platform) or bytes.

    Yields
    ------
    file : file object

    Raises
    ------
    ValueError
        If `mode` is neither of the two.
    OSError
        If the file cannot be written; the message says why in words.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn_shag.utils._io import atomic_write
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "note.txt"
    >>> with atomic_write(path) as file:
    ...     _ = file.write("complete")
    >>> path.read_text()
    'complete'
    """
    if mode not in ("w", "wb"):
        raise ValueError(f"mode must be 'w' or 'wb', got {mode!r}")
    path = expand_user(path)
    if path == STANDARD:
        with io.BytesIO() if mode == "wb" else io.StringIO(newline="\n") as file:
            yield file
            _write_standard_output(file.getvalue())
        return
    check_target(path)
    text_options = {"encoding": "utf-8", "newline": "\n"} if mode == "w" else {}
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):
        with _naming_a_full(path), open(target, mode, **text_options) as file:
            yield file
        return
    temporary = os.path.join(os.path.dirname(target), f".{secrets.token_hex(8)}.tmp")
    try:
        file = open(temporary, mode.replace("w", "x"), **text_options)  # noqa: SIM115
    except OSError as error:
        raise type(error)(f"{path} cannot be written: {_describe(error)}.") from None
    try:
        with _naming_a_full(path), file:
            yield file
        if os.path.exists(target):
            os.chmod(temporary, os.stat(target).st_mode)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


@contextlib.contextmanager
def _naming_a_full(path):
    """Where the disk is full, name the file that the user knows."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise OSError(f"{path} cannot be written: {_describe(error)}.") from None


def _write_standard_output(data):
    """CoNLL-U is UTF-8 with ``\\n`` as line end, whatever the terminal's encoding is."""
    binary = getattr(sys.stdout, "buffer", None)
    if binary is None:  # a notebook's takes text alone
        sys.stdout.write(data if isinstance(data, str) else data.decode())
        return
    sys.stdout.flush()
    binary.write(data.encode() if isinstance(data, str) else data)
    binary.flush()


def _describe(error):
    """Why the system refuses, without number and path."""
    if isinstance(error, PermissionError):
        return "permission is denied"
    return error.strerror or str(error)
