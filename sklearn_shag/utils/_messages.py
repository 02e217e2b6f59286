"""Values as messages show them, and warnings that point at the user's line."""

import importlib
import re
import sys
import warnings
from reprlib import Repr


class _Repr(Repr):
    def repr_int(self, value, level):  # int's own refuses to write more than 4,300 digits
        n_bits = value.bit_length()
        return f"<int of {n_bits} bits>" if n_bits > 1000 else super().repr_int(value, level)


_repr = _Repr()
_repr.maxlist = _repr.maxtuple = _repr.maxarray = 12
_repr.maxstring = _repr.maxother = 80
# Signs that a terminal acts on, or that change the order or the lines in which it shows the rest:
# control characters, marks of direction, line and paragraph separators, halves of characters.
_ACTING = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_DOTS = " ... "


def printable(text, max_length=500):
    r"""Make text safe for a terminal or a log: signs that act are escaped, long text is cut.

    Parameters
    ----------
    text : object
        Its str is shown.
    max_length : None or int, default=500
        Of the result, in characters; what is longer loses its middle. None leaves all.

    Returns
    -------
    text : str
        Without control characters, line ends, marks of direction and lone surrogates, which are
        written as in Python.

    Examples
    --------
    >>> from sklearn_shag.utils._messages import printable
    >>> print(printable("a\x1b[2J\nb"))
    a\x1b[2J\nb
    >>> printable("0123456789" * 1000, max_length=15)
    '01234 ... 56789'
    """
    # Cut twice: escapes take time and room, and there may be megabytes.
    text = escape_acting(_cut_middle(str(text), max_length), _escape_sign)
    return _cut_middle(text, max_length)


def escape_acting(text, escape):
    """Replace each sign that a terminal acts on by ``escape(sign)``."""
    return _ACTING.sub(lambda match: escape(match[0]), text)


def shorten(value):
    """Show a value on one line, with dots in place of omitted parts.

    Parameters
    ----------
    value : object

    Returns
    -------
    text : str

    Examples
    --------
    >>> from sklearn_shag.utils._messages import shorten
    >>> shorten(["DET", "NOUN", None])
    "['DET', 'NOUN', None]"
    >>> shorten(list(range(100)))
    '[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, ...]'
    """
    return printable(" ".join(_repr.repr(value).split()))


def join_first(names, n):
    """Join the first `n` of some names by commas, with dots in place of the others."""
    return ", ".join([*names[:n], "..."] if len(names) > n else names)


def _cut_middle(text, max_length):
    if max_length is None or len(text) <= max_length:
        return text
    kept = max_length - len(_DOTS)
    return text[: kept - kept // 2] + _DOTS + text[-(kept // 2) :]


def _escape_sign(sign):
    return sign.encode("unicode_escape").decode()


def import_optional(name, extra, purpose):
    """Import a library that not everybody needs.

    Parameters
    ----------
    name : str
        Of the library, or of a module in it.
    extra : str
        The extra of this package that installs it.
    purpose : str
        What needs it, for the message.

    Returns
    -------
    module : module

    Raises
    ------
    ImportError
        If it is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError:
        name, _, _ = name.partition(".")
        raise ImportError(f"{purpose} needs {name}: pip install 'sklearn-shag[{extra}]'.") from None


# Packages between the user's call and the place that warns.
_PASSED_OVER = {__name__.partition(".")[0], "contextlib", "joblib", "sklearn"}


def warn(message, category):
    """Issue a warning for the innermost line that is neither this package's nor scikit-learn's.

    Parameters
    ----------
    message : str
    category : type
        A subclass of Warning.
    """
    level, frame = 1, sys._getframe()
    while frame and frame.f_globals.get("__name__", "").partition(".")[0] in _PASSED_OVER:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
