"""Files given by path, folder or pattern, guesses of their formats, and ConlluError."""

import codecs
import glob
import os
import re

from sklearn_shag.utils._io import STANDARD, expand_user
from sklearn_shag.utils._messages import printable, shorten


def list_sources(path_or_file, suffix=".conllu"):
    """List the files that are given by paths, folders, patterns, or a list of them.

    Parameters
    ----------
    path_or_file : str, os.PathLike, text file, or list or tuple of them
        ``-`` is standard input. A folder stands for the ``.conllu`` and ``.conllu.gz`` files in it
        and its sub-folders, a pattern such as ``UD_*/*-train.conllu`` for the files it matches,
        sorted by name. Sub-folders whose names begin with a dot are passed over.
    suffix : str, default=".conllu"
        Ending of the names of files in folders, before ``.gz``.

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
            + (". Wrap them in a file: io.StringIO(data.decode())." if wrap else "")
        )
    path = expand_user(path_or_file)
    if path == STANDARD or os.path.exists(path):  # so that a name with brackets is no pattern
        return _list_files(path, suffix)
    if "\n" in path or "\t" in path:
        raise ValueError(
            f"The path given is text, which begins with {path[:40]!r}. Wrap the text in a file: "
            f"read_conllu(io.StringIO(text)), and likewise for read_horizontal."
        )
    matches = sorted(glob.glob(path))
    if not matches:
        raise FileNotFoundError(printable(_describe_missing(path)))
    return [source for match in matches for source in _list_files(match, suffix)]


def _list_files(folder, suffix):
    """List the files in a folder that end in `suffix`, or the path itself if it is a file."""
    if folder == STANDARD or not os.path.isdir(folder):
        return [folder]
    names, seen, unread = [], set(), []
    for path, folders, files in os.walk(folder, onerror=unread.append, followlinks=True):
        place = os.path.realpath(path)
        is_new = place not in seen  # else a link has led there, perhaps in a circle
        seen.add(place)
        folders[:] = sorted(name for name in folders if is_new and not name.startswith("."))
        found = [name for name in files if is_new and name.endswith((suffix, f"{suffix}.gz"))]
        names += [os.path.join(path, name) for name in found]
    twice = set(names) & {f"{name}.gz" for name in names}
    if twice:
        place, name = os.path.split(min(twice))
        raise ValueError(
            printable(
                f"The folder {place} holds {name.removesuffix('.gz')} and {name}, which seem to "
                f"be the same sentences. Name the files to read."
            )
        )
    names += [error.filename for error in unread]  # reading them tells why
    if not names:
        raise FileNotFoundError(
            printable(
                f"The folder {folder} holds no {suffix} or {suffix}.gz file, and neither do its "
                f"sub-folders. Name the files, or a pattern that matches them."
            )
        )
    return sorted(names)


def _describe_missing(path):
    if not path:
        return "The path of the file to read is empty."
    if "://" in path:
        return f"{path} is not a file. Download it first, and give the path of the download."
    if glob.escape(path) != path:
        return f"No file matches the pattern {path}."
    seen_from = "" if os.path.isabs(path) else f" in {os.getcwd()}"
    return f"There is no file or folder {path}{seen_from}."


# First bytes of files that are not text -> a description.
_BEGINNINGS = {
    codecs.BOM_UTF16_LE: "text in UTF-16, as some programs for Windows write it; save it in UTF-8",
    codecs.BOM_UTF16_BE: "text in UTF-16; save it in UTF-8",
    b"PK\x03\x04": "a zip archive, as are model files (.npz); unpack it first, or, if it is a "
    "model, give it where a model is expected",
    b"\xfd7zXZ\x00": "compressed with xz; decompress it first, or use gzip",
    b"BZh": "compressed with bzip2; decompress it first, or use gzip",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; decompress it first, or use gzip",
}


def describe_binary(data):
    """Describe a file that is not text, by its first bytes.

    Parameters
    ----------
    data : bytes
        The beginning of the file.

    Returns
    -------
    found : None or (str, int)
        A description, and the position of the byte that shows it. None for a file that may be text.
    """
    for beginning, description in _BEGINNINGS.items():
        if data.startswith(beginning):
            return f"this is {description}", 0
    place = data.find(b"\0", 0, 1024)
    return ("this is a binary file, not text in UTF-8", place) if place >= 0 else None


# What lines look like that do not have the columns of CoNLL-U, and advice, by patterns of their
# beginning. The first one that matches counts; None is for other lines with tabs.
_GUESSES = {
    r"[^\r]*\r": r"text whose line ends are '\r', as on old Macs; convert them to '\n'",
    r"\d+(\t[^\t]*){7}\t\d+(\t[^\t]*){5}": (
        "CoNLL-2009; write its columns 1, 2, 3, 5, 6, 7, 9 and 11 and two columns of '_', as ID, "
        "FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS and MISC"
    ),
    r"\d+(\t[^\t]*){5}\t\d+\t[^\t]*$": (
        "CoNLL-X without its last two columns; write '_' in columns 9 and 10"
    ),
    r"(<{7}|\|{7}|={7}|>{7})( |$)": (
        "a mark of git between conflicting versions; keep the lines of one version, and delete the "
        "marks"
    ),
    r"[^\t]*\t": None,
    r"\s*\d+(\s+\S+){5}\s+(\d+|_)\s+\S+(\s+\S+\s+\S+)?\s*$": (
        "CoNLL-U with spaces for tabs; separate the columns with one tab each"
    ),
    r"\s*version https://git-lfs": (
        "a Git LFS pointer, not the file itself; fetch the file with `git lfs pull`"
    ),
    r"[^,]*(,[^,]*){9}$": "columns separated by commas; put tabs between them",
    r"[^;]*(;[^;]*){9}$": "columns separated by semicolons; put tabs between them",
    r"\s*(\(\s*\(|\([A-Z]\S*\s*(\(|$))": (
        "Penn Treebank brackets; convert constituents to dependencies first, for example with the "
        "UniversalDependenciesConverter of Stanford CoreNLP"
    ),
    r"\s*#": "a comment; its '#' must be the first character of the line",
    r"\s*<": "XML or HTML; if it was saved from a web page, download the raw file instead",
    r"\s*[\[{]\s*([\"{\[]|$)": (
        "JSON; read_jsonl reads what parse writes, and other JSON must become CoNLL-U first"
    ),
    r"\s*[^\s,;]*[,;][^\s,;]*[,;]\S*\s*$": (
        "a table with commas or semicolons between its columns; convert it to CoNLL-U first"
    ),
    "": (
        "plain text; a model that has learned to split it parses it as it is (parse_text, on the "
        "command line parse --input text); with one sentence per line and spaces between words, "
        "read_horizontal reads it (parse --input horizontal), for parsers that need no tags"
    ),
}


def guess_format(line):
    """Guess the format of a line that does not have the columns of CoNLL-U.

    Parameters
    ----------
    line : str

    Returns
    -------
    guess : None or str
        The probable format, and advice; None without a guess.
    """
    return next(guess for pattern, guess in _GUESSES.items() if re.match(pattern, line))


class ConlluError(ValueError):
    """A file is not valid CoNLL-U, JSON of trees or horizontal text.

    Its message begins with the file and the line.

    Parameters
    ----------
    path : str
        The file.

    line : int
        The line of the file, counted from 1.

    message : str
        What is wrong. Control characters are escaped, and long messages are cut in the middle.

    Attributes
    ----------
    path : str
        The file.

    line : int
        The line of the file, counted from 1.

    See Also
    --------
    read_conllu : Raises it for an invalid sentence, or skips the sentence.
    read_jsonl : Raises it for lines that are not JSON of trees.
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


def refuse_mark(path, number, line):
    """Raise a ConlluError for a line with a byte order mark, which only files may begin with."""
    if line.startswith("\ufeff"):
        raise ConlluError(
            path,
            number,
            "the line begins with a byte order mark, as where files were put together; remove "
            "this mark, its first character",
        )


def decode_lines(path, first_line, text):
    """Decode lines of a file; bytes that are not UTF-8 raise a ConlluError with their line."""
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        line = first_line + text.count(b"\n", 0, error.start)
        raise ConlluError(
            path, line, "a character is not valid UTF-8; convert the file to UTF-8"
        ) from None
