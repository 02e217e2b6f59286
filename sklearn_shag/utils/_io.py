"""Files that are either complete or not there."""

import contextlib
import os
import secrets

__all__ = ["atomic_write"]


@contextlib.contextmanager
def atomic_write(path, mode="w"):
    """Open a file for writing that takes the place of `path` only once it is complete.

    The content goes to a temporary file in the same folder, which is renamed when the block ends
    and removed when the block raises: `path` holds the old content or the new, never a part.

    Parameters
    ----------
    path : str or os.PathLike
        The file to write. A symbolic link is followed, the permissions of an existing file are
        kept, and what is not a regular file (a terminal, a pipe) is written directly.

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
        If the file cannot be written.

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
    text_options = {"encoding": "utf-8", "newline": "\n"} if mode == "w" else {}
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):
        with open(target, mode, **text_options) as file:
            yield file
        return
    temporary = os.path.join(os.path.dirname(target), f".{secrets.token_hex(8)}.tmp")
    try:
        file = open(temporary, mode.replace("w", "x"), **text_options)  # noqa: SIM115
    except OSError as error:
        error.filename = os.fspath(path)  # the name the caller knows
        raise
    try:
        with file:
            yield file
        if os.path.exists(target):
            os.chmod(temporary, os.stat(target).st_mode)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
