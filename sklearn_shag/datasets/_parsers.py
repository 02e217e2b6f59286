"""Parsers by name or address: they come with the package, or are downloaded once and kept."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Any, NamedTuple

import sklearn_shag
from sklearn_shag.datasets._universal_dependencies import get_data_home, retrieve
from sklearn_shag.treebank import Dictionary
from sklearn_shag.utils._messages import shorten
from sklearn_shag.utils._typing import FilePath


class NamedParser(NamedTuple):
    """A parser that has a name."""

    address: str | None  # of the file; None for a parser that comes with the package
    known_hash: str  # SHA-256 of the file
    card: dict[str, Any]  # its licence, and what else is known; the file may know more


PARSERS = {
    "english": NamedParser(
        None,
        "d9d1579d673c537e7123b0ecf8a8582afeb934d88006dd13eb4dbc9e4069dbe9",
        {
            "licence": "CC BY-SA 4.0",
            "treebanks": ["UD_English-EWT", "UD_English-GUM, nine genres"],
            # The guide has more of them.
            "scores": [{"on": "text of UD_English-EWT's test set", "uas": 0.888, "las": 0.866}],
        },
    )
}


def load_parser(
    name: str = "english",
    *,
    known_hash: str | None = None,
    data_home: FilePath | None = None,
    dictionary: Dictionary | None = None,
) -> sklearn_shag.ParserPipeline:
    """Load a parser that comes with the package, or one from an address.

    Parameters
    ----------
    name : str, default="english"
        The parser that comes with the package, "english"; or the address of a model file, which
        begins with ``https://`` or ``http://``.
    known_hash : None or str, default=None
        SHA-256 of the file at an address, as 64 digits; ``sklearn-shag info`` prints it. An address
        needs it: what is there may change.
    data_home : None, str or path-like, default=None
        The file of an address is kept there, in the folder ``parsers``; see :func:`get_data_home`.
    dictionary : None or Dictionary, default=None
        As for :func:`~sklearn_shag.load_model`.

    Returns
    -------
    model : ParserPipeline
        A :class:`~sklearn_shag.Splitter` and a :class:`~sklearn_shag.BiaffineParser`, which fills
        in UPOS, XPOS, features, lemmas, heads and relations. From an address, the model of the
        file.

    Raises
    ------
    ValueError
        If there is no parser of this name, `known_hash` is missing or malformed, or the file does
        not have it; nothing is kept then.
    OSError
        If the file of an address is missing and cannot be downloaded.
    ImportError
        If it must be downloaded and pooch is not installed.
    sklearn_shag.ModelFileError
        If the file is not a saved model.

    See Also
    --------
    sklearn_shag.ParserPipeline.parse_text : Parses a text.
    sklearn_shag.load_model : Loads models from files.
    fetch_treebank : Downloads a treebank of another language, to train a parser on.

    Notes
    -----
    The English parser was learned by ``benchmarks/bundled.py`` from the training sets of UD English
    EWT and GUM and from raw text. Unlike the package, it is licensed under CC BY-SA 4.0.
    :ref:`english_parser` names the sources, and has its scores.

    Examples
    --------
    >>> from sklearn_shag.datasets import load_parser
    >>> model = load_parser("english")
    >>> for tree in model.parse_text("The cat sat on my mat. It slept."):
    ...     print(tree.forms, tree.heads)
    ('The', 'cat', 'sat', 'on', 'my', 'mat', '.') [2 3 0 6 6 3 3]
    ('It', 'slept', '.') [2 0 2]
    """
    return sklearn_shag.load_model(find_parser(name, known_hash, data_home), dictionary=dictionary)


def find_parser(name, known_hash=None, data_home=None):
    """Return the path of the file of a parser, downloaded if need be; see `load_parser`."""
    address, known, _ = PARSERS.get(str(name), (str(name), str(known_hash), {}))
    if address is None and known_hash in (None, known):
        return Path(__file__).with_name("data") / f"{name}_parser.npz"
    is_known = re.fullmatch("https?://.+ [0-9a-f]{64}", f"{address} {known}")
    if known_hash not in (None, known) or not is_known:
        raise ValueError(
            f"name must be one of {', '.join(PARSERS)}, or an address that begins with https://, "
            f"whose SHA-256, 64 digits from 0 to f, is known_hash; got {shorten(name)} and "
            f"{shorten(known_hash)}. Parsers of other treebanks learn from fetch_treebank(...)."
        )
    path = get_data_home(data_home) / "parsers" / f"{known}.npz"
    if path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == known:
        return path
    return retrieve(address, path, known)


def find_model(name):
    """Return the path of a model file, given by its path or by the name of a parser."""
    return find_parser(name) if name in PARSERS and not os.path.exists(name) else name
