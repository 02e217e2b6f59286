"""Parsers by name or address: they come with the package, or are downloaded once and kept."""

from __future__ import annotations

import contextlib
import hashlib
import re
from importlib import resources
from typing import Any, Literal, NamedTuple, overload

import sklearn_shag
from sklearn_shag.datasets._universal_dependencies import get_data_home, retrieve
from sklearn_shag.treebank import MAX_BYTES
from sklearn_shag.utils._messages import printable, shorten
from sklearn_shag.utils._typing import FilePath


class NamedParser(NamedTuple):
    """A parser that has a name."""

    address: str | None  # of the file; None for a parser that comes with the package
    known_hash: str  # SHA-256 of the file
    licence: str
    card: dict[str, Any]  # what is known of it; its file may know more


# The scores are those of the guide, from raw text.
PARSERS = {
    "english": NamedParser(
        None,
        "3188b44876530d7c9e459e17b6882cd996fa08e24f644ecf5c78612d8fd6b894",
        "CC BY-SA 4.0",
        {
            "treebanks": [{"name": "UD_English-EWT"}, {"name": "UD_English-GUM (nine genres)"}],
            "note": "Learned from training sets, and from the raw text of MASC; see NOTICE.",
            "scores": [
                {"on": "raw text of the test set of UD_English-EWT", "uas": 0.874, "las": 0.851},
                {"on": "raw text of the test set of UD_English-GUM", "uas": 0.880, "las": 0.855},
            ],
        },
    )
}


@overload
def load_parser(name: Literal["english"] = "english") -> sklearn_shag.ParserPipeline: ...
@overload
def load_parser(
    name: str,
    *,
    known_hash: str | None = None,
    data_home: FilePath | None = None,
    download_if_missing: bool = True,
    progressbar: bool = True,
    max_bytes: int | None = MAX_BYTES,
    timeout: float | None = 60.0,
) -> Any: ...
def load_parser(
    name: str = "english",
    *,
    known_hash: str | None = None,
    data_home: FilePath | None = None,
    download_if_missing: bool = True,
    progressbar: bool = True,
    max_bytes: int | None = MAX_BYTES,
    timeout: float | None = 60.0,
) -> Any:
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
    download_if_missing : bool, default=True
        Whether to download a missing file; if False, a missing file is an OSError.
    progressbar : bool, default=True
        Whether to show the progress of a download.
    max_bytes : None or int, default=2**30
        As for :func:`sklearn_shag.load_model`.
    timeout : float or None, default=60
        Seconds to wait for a server that sends nothing; None means no limit.

    Returns
    -------
    model : ParserPipeline or estimator
        A :class:`~sklearn_shag.Splitter` and a :class:`~sklearn_shag.BiaffineParser`, which fills
        in UPOS, XPOS, features, lemmas, heads and relations. From an address, whatever model the
        file holds.

    Raises
    ------
    ValueError
        If there is no parser of this name, `known_hash` is missing or malformed, or the file does
        not have it; nothing is kept then.
    OSError
        If the file is missing and cannot or must not be downloaded.
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
    place = {"data_home": data_home, "download_if_missing": download_if_missing}
    download = {"progressbar": progressbar, "timeout": timeout}
    with open_parser(name, known_hash, **place, **download) as path:
        return sklearn_shag.load_model(path, max_bytes=max_bytes)  # imports all learners


@contextlib.contextmanager
def open_parser(name, known_hash=None, **options):
    """Give the path of the file of a parser, downloaded if need be; see `load_parser`."""
    address = name
    if isinstance(name, str) and name in PARSERS:
        if known_hash not in (None, PARSERS[name].known_hash):
            raise ValueError(f"The parser {name} has another SHA-256; known_hash is for addresses.")
        address, known_hash, *_ = PARSERS[name]
    elif not (isinstance(name, str) and re.match("https?://", name)):
        raise ValueError(
            f"name must be one of {', '.join(PARSERS)}, or begin with https://, got "
            f"{shorten(name)}. For others, train a parser: make_parser_pipeline(Splitter(), "
            f"BiaffineParser(tags=...)).fit(fetch_treebank(...).train)."
        )
    elif not (isinstance(known_hash, str) and re.fullmatch("[0-9a-fA-F]{64}", known_hash)):
        raise ValueError(
            f"known_hash must be the SHA-256 of the file at the address, 64 digits, which "
            f"sklearn-shag info prints; got {shorten(known_hash)}."
        )
    if address is not None:
        yield _fetch_file(address, known_hash.lower(), **options)
        return
    file = resources.files("sklearn_shag.datasets") / "data" / f"{name}_parser.npz"
    with resources.as_file(file) as path:
        yield path


def _fetch_file(address, known_hash, data_home=None, download_if_missing=True, **download):
    """Return the path of a file with this hash, which is downloaded if it is not there yet."""
    name = re.sub(r"[^\w.-]", "_", address.partition("?")[0].rpartition("/")[2])
    path = get_data_home(data_home) / "parsers" / f"{known_hash[:16]}-{name[-80:]}"
    if path.is_file():
        with open(path, "rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() == known_hash:
                return path
    if not download_if_missing:
        raise OSError(printable(f"The parser of {address} is not in {path}; allow its download."))
    shown = printable(address, 200)
    try:
        retrieve(address, path, known_hash, **download)
    except OSError as error:
        raise OSError(
            f"Could not download {shown}: {printable(error, 200)}. Check the address and the "
            f"network."
        ) from error
    except ValueError:
        raise ValueError(
            f"The file at {shown} does not have the SHA-256 {known_hash}: it is damaged, or "
            f"another one than was meant. It has not been kept."
        ) from None
    return path
