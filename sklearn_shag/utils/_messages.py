"""What users gave, as messages show it."""

from reprlib import Repr

_repr = Repr()
_repr.maxlist = _repr.maxtuple = _repr.maxarray = 12
_repr.maxstring = _repr.maxother = 80


def shorten(value):
    """Show a value on one line, and what is left out of it as dots.

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
    return " ".join(_repr.repr(value).split())
