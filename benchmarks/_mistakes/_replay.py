"""Make a mistake, and judge what the user sees of it.

A :class:`Mistake` is one line, of Python or of the shell, and a :class:`Must`: what has to be seen.
Whatever that is, nobody may be misled, so some things are never good enough: scores that are NaN,
a bare "[Errno 2]", an error from the inside of another library, messages of many lines or with
characters that command a terminal, warnings that nobody expects, and files that an error has left
changed.
"""

import contextlib
import copy
import io
import os
import re
import shlex
import sys
import traceback
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np

import sklearn_shag
from sklearn_shag.cli import main

PACKAGE = Path(sklearn_shag.__file__).parent
DOC = Path(__file__).parents[2] / "doc"
PROGRAM = r"^(python -m )?sklearn[-_]shag"  # what lines on standard error begin with
LONGEST = 800  # characters of a message; one that holds what the user gave can hold a whole file
# Errors that say something only to the author of the code that raises them.
FOREIGN = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    NameError,
    RecursionError,
    UnicodeError,
)


@dataclass(frozen=True)
class Must:
    """What has to be seen.

    Parameters
    ----------
    words : tuple of str
        Regular expressions, without regard to case, of what the message says, or the output.
    error : None, type or tuple of types
        The type of the error of a line of Python.
    by : {"package", "line", "tool"}
        Where the error comes from: this package (or scikit-learn's validation, which it calls), the
        user's line itself, as where an argument is unknown, or the tool that the user called.
    warning : None or str
        The name of the one type of warning that is given.
    times : None or int
        How often it is given; None takes any number above 0.
    check : str
        An expression about the `result` that has to be true.
    status : None or int
        What a command returns.
    guide : str
        Regular expression of what the documentation says about a case that the package cannot see.
    nan : bool
        Whether scores may be NaN all the same, because the tool that gives them warns.
    """

    words: tuple[str, ...] = ()
    error: type | tuple | None = None
    by: str = "package"
    warning: str | None = None
    times: int | None = 1
    check: str = ""
    status: int | None = None
    guide: str = ""
    nan: bool = False


class Mistake(NamedTuple):
    """What a user does, and what must be seen.

    Parameters
    ----------
    line : str
        A line of Python, or the arguments of the command line.
    must : Must
    before : str
        A line of Python that is no mistake.
    stdin : str
        The file on the standard input of a command.
    closed_pipe : bool
        Whether the standard output of a command is a pipe that nobody reads.
    locked : str
        A file that may not be read, or a folder that may not be written.
    """

    line: str
    must: Must
    before: str = ""
    stdin: str = ""
    closed_pipe: bool = False
    locked: str = ""

    @property
    def is_skipped(self):
        """Whether it cannot be made: root may read and write everything."""
        return bool(self.locked) and os.geteuid() == 0

    @property
    def is_command(self):
        return self.must.status is not None


def raises(error, *words, by="package"):
    """Python: an error with these words."""
    return Must(words, error=error, by=by)


def warns(*words, warning="UnknownSymbolWarning", check=""):
    """Python: a result, and one warning with these words."""
    return Must(words, warning=warning, check=check)


def works(check="True"):
    """Python: no mistake after all, or what to do in its place; the right result, no warning."""
    return Must(check=check)


def tool_raises(error, *words, guide=""):
    """Python: the tool fails before the package is reached; the guide says what to do."""
    return Must(words, error=error, by="tool", guide=guide)


def tool_warns(*words, guide="", warning="UserWarning", nan=True):
    """Python: the tool goes on and warns, maybe often, with these words."""
    return Must(words, warning=warning, times=None, guide=guide, nan=nan)


def stops(*words):
    """Command: one line that says what is wrong, and status 1."""
    return Must(words, status=1)


def usage(*words):
    """Command: argparse's usage and error, and status 2."""
    return Must(words, status=2)


def prints(*words, check=""):
    """Command: this output, nothing on standard error, and status 0."""
    return Must(words, status=0, check=check)


def prints_warning(*words):
    """Command: done, and one line of warning on standard error, whatever its type."""
    return Must(words, status=0, warning="Warning")


@dataclass
class Seen:
    """What came of a mistake."""

    error: BaseException | None = None
    warnings: list = field(default_factory=list)
    result: object = None
    status: int | None = None
    out: str = ""
    err: str = ""
    changed: list = field(default_factory=list)

    def __str__(self):
        lines = []
        if self.error is not None:
            lines.append(f"{type(self.error).__name__}: {self.error}")
        lines += [f"{warning.category.__name__}: {warning.message}" for warning in self.warnings]
        if self.status is not None:
            lines += [self.out, self.err, f"status {self.status}"]
        elif self.error is None:
            lines.append(f"{type(self.result).__name__}: {self.result!r}")
        return "\n".join(filter(None, (line.strip() for line in lines)))


def replay(mistake, names, folder):
    """Make a mistake in a folder of files, and return what was seen and what is wrong with it.

    Parameters
    ----------
    mistake : Mistake
    names : dict
        What a user has imported and made before.
    folder : Folder
        Is the working directory, and is put in order afterwards.

    Returns
    -------
    seen : Seen
    complaints : list of str
        Empty if all that must be seen was.
    """
    names = dict(names, model=copy.deepcopy(names["model"]))
    if mistake.before:
        exec(mistake.before, names)
        folder.take_snapshot()
    with _locked(mistake.locked):
        seen = _command(mistake) if mistake.is_command else _python(mistake, names)
    seen.changed = folder.changes()
    complaints = list(_complaints(mistake.must, seen, names))
    mock.patch.stopall()  # of `before`
    folder.restore()
    return seen, complaints


@contextlib.contextmanager
def _locked(name):
    """Take the permissions of a file, or that of writing to a folder, for a while."""
    if not name:
        yield
        return
    path = Path(name)
    mode = path.stat().st_mode
    path.chmod(0o555 if path.is_dir() else 0)
    try:
        yield
    finally:
        path.chmod(mode)


def _python(mistake, names):
    seen = Seen()
    with warnings.catch_warnings(record=True) as seen.warnings, _captured() as streams:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ResourceWarning)  # files that the user's line leaves open
        try:
            try:
                code = compile(mistake.line, "<the user's line>", "eval")
            except SyntaxError:
                exec(compile(mistake.line, "<the user's line>", "exec"), names)
                seen.result = names.get("result")
            else:
                seen.result = eval(code, names)
        except Exception as error:
            seen.error = error
    seen.out, seen.err = streams.texts()
    return seen


def _command(mistake):
    seen = Seen()
    stdin = Path(mistake.stdin).read_bytes() if mistake.stdin else b""
    # As in a process of its own: every warning once, on standard error.
    with warnings.catch_warnings(), _captured(stdin, mistake.closed_pipe) as streams:
        warnings.simplefilter("default")
        warnings.simplefilter("ignore", ResourceWarning)  # as there; of files of earlier lines
        try:
            seen.status = main(shlex.split(mistake.line))
        except SystemExit as exit_:
            seen.status = exit_.code
        except Exception as error:
            traceback.print_exception(error)
            seen.error, seen.status = error, 1
    seen.out, seen.err = streams.texts()
    return seen


class _Streams:
    """Standard streams in memory, with the methods of real ones that programs use."""

    def __init__(self, stdin, closed_pipe):
        self.stdin = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
        self.stderr = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
        self.closed_pipe = closed_pipe
        if closed_pipe:
            reader, writer = os.pipe()
            os.close(reader)
            self.stdout = open(writer, "w", encoding="utf-8")  # noqa: SIM115
        else:
            self.stdout = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)

    def texts(self):
        out = "" if self.closed_pipe else self.stdout.buffer.getvalue().decode()
        return out, self.stderr.buffer.getvalue().decode()


@contextlib.contextmanager
def _captured(stdin=b"", closed_pipe=False):
    streams = _Streams(stdin, closed_pipe)
    kept = sys.stdin, sys.stdout, sys.stderr
    sys.stdin, sys.stdout, sys.stderr = streams.stdin, streams.stdout, streams.stderr
    try:
        yield streams
    finally:
        sys.stdin, sys.stdout, sys.stderr = kept
        if closed_pipe:
            streams.stdout.close()


def _complaints(must, seen, names):
    """Yield what is wrong with what was seen."""
    if must.status is None:
        yield from _complaints_of_python(must, seen)
    else:
        yield from _complaints_of_command(must, seen)
    if must.check and seen.error is None:
        try:
            holds = eval(must.check, {**names, "result": seen.result, "out": seen.out})
        except Exception as error:
            holds, seen.result = False, error
        if not holds:
            yield f"not true: {must.check}"
    if re.search(r"^\[Errno|: \[Errno", f"{seen.error or ''}{seen.err}"):
        yield "a bare errno, not the package's words"
    if must.by == "package" and not f"{seen.error or ''}{seen.err}".replace("\n", "").isprintable():
        yield "characters that command a terminal"
    failed = seen.error is not None or seen.status not in (0, None)
    if failed and seen.changed:
        yield f"failed, but changed {', '.join(seen.changed)}"
    if must.guide and not any(re.search(must.guide, text, re.I | re.S) for text in _guide()):
        yield f"the documentation does not say: {must.guide}"


def _complaints_of_python(must, seen):
    text = str(seen)
    if must.error is None and seen.error is not None:
        yield f"an error: {type(seen.error).__name__}"
    if must.error is not None:
        if seen.error is None:
            yield f"no error, but a {type(seen.result).__name__}"
        elif not isinstance(seen.error, must.error):
            yield f"the error is a {type(seen.error).__name__}"
        else:
            yield from _foreign(must, seen.error)
        text = f"{seen.error}"
        if must.by == "package" and len(text) > LONGEST:
            yield f"a message of {len(text)} characters"
    kinds = [{base.__name__ for base in each.category.__mro__} for each in seen.warnings]
    if must.warning is None:
        if seen.warnings and must.by == "package":
            yield f"unexpected warnings, {len(kinds)}"
    else:
        n_given = sum(must.warning in kind for kind in kinds)
        if n_given == 0 or n_given < len(kinds) or must.times not in (None, n_given):
            yield f"{n_given} of {len(kinds)} warnings are a {must.warning}"
        text = "\n".join(str(warning.message) for warning in seen.warnings)
    if not must.nan and _holds_nan(seen.result):
        yield "NaN"
    yield from _missing_words(must, text)


def _complaints_of_command(must, seen):
    if seen.error is not None:
        yield "a traceback"
    if seen.status != must.status:
        yield f"status {seen.status}, not {must.status}"
    lines = seen.err.splitlines()
    if must.status == 0 and must.warning is None:
        if lines:
            yield "something on standard error"
        yield from _missing_words(must, seen.out)
        return
    kind = "warning" if must.warning else "error"
    told = [line for line in lines if re.search(rf"{PROGRAM}[\w ]*: {kind}: ", line)]
    if len(told) != 1:
        yield f"{len(told)} lines of {kind} on standard error"
    # An error may come after warnings; both are single lines, but for argparse's usage.
    others = [line for line in lines if not re.search(rf"{PROGRAM}[\w ]*: (error|warning): ", line)]
    if must.status < 2 and others:
        yield "more on standard error than lines of the program"
    if must.status == 1 and len(seen.err) > LONGEST:
        yield f"a message of {len(seen.err)} characters"
    yield from _missing_words(must, seen.err)


def _missing_words(must, text):
    for words in must.words:
        if not re.search(words, text, re.I | re.S):
            yield f"not said: {words}"


def _foreign(must, error):
    """Complain of an error that comes from the inside of something that the user does not know."""
    frames = traceback.extract_tb(error.__traceback__)
    # The first frame is of the replay, the second of the user's line.
    own_line = len(frames) == 2
    if must.by == "tool" or (must.by == "line" and own_line):
        return
    # Decorators that are contexts say nothing of their own.
    frame = [each for each in frames if Path(each.filename).name != "contextlib.py"][-1]
    parts = Path(frame.filename).parts
    # The package's own words stand behind its own `raise`.
    own_words = PACKAGE in Path(frame.filename).parents and frame.line.startswith("raise ")
    validation = parts[-2:] in (
        ("utils", "_param_validation.py"),
        ("utils", "validation.py"),
        ("sklearn", "base.py"),
    )
    if (isinstance(error, FOREIGN) and own_line) or not (own_words or validation or own_line):
        yield f"a {type(error).__name__} from the inside, {'/'.join(parts[-2:])}: {frame.name}"


def _holds_nan(value):
    if isinstance(value, dict):
        return any(map(_holds_nan, value.values()))
    array = np.asarray(value) if isinstance(value, float | np.ndarray | np.floating) else None
    return array is not None and array.dtype.kind == "f" and bool(np.isnan(array).any())


def _guide():
    pages = [*DOC.glob("*.rst"), *DOC.glob("guide/*.rst")]
    return [path.read_text(encoding="utf-8") for path in sorted(pages)]
