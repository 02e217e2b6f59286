"""The files that a name means: standard input, one file, those of a folder or of a pattern."""

import glob
import os

from sklearn_shag.utils._io import STANDARD, expand_user
from sklearn_shag.utils._messages import printable, shorten


def list_sources(path_or_file, suffix=".conllu"):
    """List what :func:`read_conllu` reads one after the other.

    Parameters
    ----------
    path_or_file : str, os.PathLike, text file, or list or tuple of them
        ``-`` is standard input. A folder stands for its ``.conllu`` and ``.conllu.gz`` files, a
        pattern such as ``UD_*/*-train.conllu`` for the files it matches, sorted by name.
    suffix : str, default=".conllu"
        What the names of files in folders end in, before ``.gz``.

    Returns
    -------
    sources : list of str and text files
        Paths with the home folder in place of ``~``, and open files as they are.

    Raises
    ------
    TypeError
        If something else is given.
    ValueError
        If there is nothing in the list, standard input would be read twice, the text of a treebank
        is given in place of a path, or a folder holds a file both compressed and not.
    FileNotFoundError
        If there is no such file.
    """
    if isinstance(path_or_file, list | tuple):
        if not path_or_file:
            raise ValueError("No file is given: the list of files is empty.")
        sources = [source for item in path_or_file for source in list_sources(item, suffix)]
        if sources.count(STANDARD) > 1:
            raise ValueError("Standard input, '-', can be read only once.")
        return sources
    if hasattr(path_or_file, "read"):
        return [path_or_file]
    if not isinstance(path_or_file, str | os.PathLike):
        wrap = isinstance(path_or_file, bytes | bytearray)
        raise TypeError(
            f"A file is a path (str or os.PathLike) or a file open for reading text, got "
            f"{type(path_or_file).__name__}: {shorten(path_or_file)}"
            + (". Of text make a file: io.StringIO(data.decode())." if wrap else "")
        )
    path = expand_user(path_or_file)
    if path == STANDARD:
        return [path]
    if os.path.isdir(path):
        return _list_folder(path, suffix)
    if os.path.exists(path):  # so that a name with brackets is no pattern
        return [path]
    if "\n" in path or "\t" in path:
        raise ValueError(
            f"What is given as a path is text, which begins with {path[:40]!r}. Wrap text in a "
            f"file: read_conllu(io.StringIO(text)), or read_horizontal likewise."
        )
    matches = sorted(glob.glob(path))
    if not matches:
        raise FileNotFoundError(printable(_describe_missing(path)))
    return [
        source
        for match in matches
        for source in (_list_folder(match, suffix) if os.path.isdir(match) else [match])
    ]


def _list_folder(folder, suffix):
    suffixes = suffix, f"{suffix}.gz"
    names = sorted(name for name in os.listdir(folder) if name.endswith(suffixes))
    if not names:
        message = (
            f"The folder {folder} holds no {suffix} or {suffix}.gz file. Name the files, or a "
            f"pattern that matches them, such as {os.path.join(folder, '*', f'*{suffix}')}."
        )
        raise FileNotFoundError(printable(message))
    for name in names:
        if f"{name}.gz" in names:
            message = (
                f"The folder {folder} holds {name} and {name}.gz, the same sentences twice as it "
                f"seems. Name the files to read."
            )
            raise ValueError(printable(message))
    return [os.path.join(folder, name) for name in names]


def _describe_missing(path):
    if not path:
        return "The path of the file to read is empty."
    if "://" in path:
        return f"{path} is no file. Download it first, and give the path of what was downloaded."
    if glob.escape(path) != path:
        return f"No file matches the pattern {path}."
    seen_from = "" if os.path.isabs(path) else f" in {os.getcwd()}"
    return f"There is no file or folder {path}{seen_from}."
