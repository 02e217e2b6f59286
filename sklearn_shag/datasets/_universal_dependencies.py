"""Treebanks of Universal Dependencies, downloaded once and kept."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import zipfile
import zlib
from functools import partial
from itertools import chain
from numbers import Real
from pathlib import Path

from sklearn.utils import Bunch

from sklearn_shag.treebank import MAX_BYTES, DependencyTree, read_conllu
from sklearn_shag.utils._messages import import_optional, printable, shorten
from sklearn_shag.utils._param_validation import COUNT, Interval, validate_params
from sklearn_shag.utils._typing import FilePath, Symbols

# The repositories of the project itself; every release is a tag of each.
ARCHIVE_URL = "https://github.com/UniversalDependencies/{name}/archive/refs/tags/r{version}.zip"
DEFAULT_VERSION = "2.16"
TREEBANK_NAME = r"UD_\w+-\w+"
SPLITS = ("train", "dev", "test")
_WANTED = re.compile(r"[\w.-]+\.conllu|(LICENSE|README)[\w.-]*")


def unpack_archive(archive, folder, max_bytes):
    """Unpack trees, licence and README from the top folder of a zip archive.

    Parameters
    ----------
    archive : path-like
    folder : pathlib.Path
        An existing folder for the files.
    max_bytes : int or None
        Limit of the size of all files together.

    Raises
    ------
    OSError
        If the archive cannot be read, or is too large.
    """
    try:
        with zipfile.ZipFile(archive) as content:
            # By names without the top folder, so that nothing is written elsewhere.
            named = {member.filename.partition("/")[2]: member for member in content.infolist()}
            members = {name: member for name, member in named.items() if _WANTED.fullmatch(name)}
            n_bytes = sum(member.file_size for member in members.values())
            if max_bytes is not None and n_bytes > max_bytes:
                raise OSError(
                    f"it has more than max_bytes={max_bytes} bytes; if you trust it, increase "
                    f"max_bytes"
                )
            for name, member in members.items():
                with content.open(member) as source, open(folder / name, "wb") as target:
                    shutil.copyfileobj(source, target)  # no more than its file_size
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, ValueError) as error:
        raise OSError(f"it is not a zip archive that can be read: {error}") from error


class FetchedTreebank(Bunch):
    """The three parts of a treebank, with its name and folder, from :func:`fetch_treebank`."""

    train: list[DependencyTree]
    dev: list[DependencyTree]
    test: list[DependencyTree]
    name: str
    folder: Path


def get_data_home(data_home: FilePath | None = None) -> Path:
    """Return the folder for downloaded treebanks, which need not exist.

    Parameters
    ----------
    data_home : None, str or path-like, default=None
        None takes the environment variable ``SKLEARN_SHAG_DATA`` or, if it is not set,
        ``~/sklearn_shag_data``.

    Returns
    -------
    data_home : pathlib.Path
        The folder, with ``~`` replaced by the home folder.

    See Also
    --------
    fetch_treebank : Keeps treebanks there.

    Examples
    --------
    >>> from sklearn_shag.datasets import get_data_home
    >>> get_data_home("treebanks").name
    'treebanks'
    """
    if data_home is None:
        data_home = os.environ.get("SKLEARN_SHAG_DATA", Path("~", "sklearn_shag_data"))
    return Path(data_home).expanduser()


@validate_params(
    {"max_bytes": [*COUNT, None], "timeout": [Interval(Real, 0, 1e9, closed="right"), None]}
)
def fetch_treebank(
    name: str,
    *,
    data_home: FilePath | None = None,
    version: str | None = None,
    symbols: Symbols = "upos",
    download_if_missing: bool = True,
    known_hash: str | None = None,
    progressbar: bool = True,
    max_bytes: int | None = MAX_BYTES,
    timeout: float | None = 60.0,
) -> FetchedTreebank:
    """Load a treebank of Universal Dependencies, downloading it if it is not there yet.

    Parameters
    ----------
    name : str
        Name of the treebank, such as "UD_English-EWT".
    data_home : None, str or path-like, default=None
        Where treebanks are kept; see :func:`get_data_home`. A folder ``name`` with ``.conllu``
        files in it is used as it is, and so is ``ud-treebanks-v<version>/name`` as in an unpacked
        official release.
    version : None or str, default=None
        A release, such as "2.16". None takes the folder ``name`` of any version if there is one,
        and release 2.16 otherwise.
    symbols : str or sequence of str, default="upos"
        The columns that become the symbols of the trees, as for
        :func:`sklearn_shag.treebank.read_conllu`.
    download_if_missing : bool, default=True
        Whether to download a missing treebank; if False, a missing treebank is an OSError.
    known_hash : None or str, default=None
        SHA-256 of the archive to download, checked if given.
    progressbar : bool, default=True
        Whether to show the progress of a download.
    max_bytes : int or None, default=2**30
        The largest total size of an archive's unpacked files, and of each file that is read, as for
        :func:`sklearn_shag.treebank.read_conllu`. None for any size.
    timeout : float or None, default=60
        Seconds to wait for a server that sends nothing; None means no limit.

    Returns
    -------
    treebank : sklearn.utils.Bunch
        `train`, `dev` and `test`, lists of DependencyTree (empty for a split that the treebank
        does not have); `name`; `folder`, where its files and licence are.

    Raises
    ------
    ValueError
        If `name` or `version` is malformed, or the archive does not have `known_hash`.
    OSError
        If the treebank is missing and cannot or must not be downloaded, or its place or that of
        `data_home` is taken. Also if it is larger than `max_bytes`, or the server sends nothing for
        `timeout` seconds.
    ImportError
        If it must be downloaded and pooch is not installed.

    See Also
    --------
    load_english : A small treebank that comes with the package.
    sklearn_shag.treebank.read_conllu : Reads trees from any file.

    Notes
    -----
    Several processes may fetch the same treebank at a time: the first to finish installs it for
    all. A download that fails or is interrupted leaves nothing behind.

    Examples
    --------
    >>> from sklearn_shag.datasets import fetch_treebank
    >>> treebank = fetch_treebank("UD_English-EWT")            # doctest: +SKIP
    >>> len(treebank.train)                                    # doctest: +SKIP
    12544
    """
    folder = find_treebank(
        name,
        data_home,
        version,
        download_if_missing,
        known_hash=known_hash,
        progressbar=progressbar,
        timeout=timeout,
        max_bytes=max_bytes,
    )
    read = partial(read_conllu, symbols=symbols, max_bytes=max_bytes)
    splits = {
        split: list(chain.from_iterable(map(read, find_files(folder, f"-ud-{split}"))))
        for split in SPLITS
    }
    return FetchedTreebank(**splits, name=name, folder=folder)


def find_treebank(name, data_home=None, version=None, download_if_missing=True, **download):
    """Return the folder of a treebank, downloaded if need be, by options of `fetch_treebank`."""
    if not _is_like(name, TREEBANK_NAME):
        raise ValueError(f"name must be like 'UD_English-EWT', got {shorten(name)}.")
    if version is not None and not _is_like(version, r"\d+\.\d+"):
        raise ValueError(f"version must be a str such as '2.16', got {shorten(version)}.")
    home = get_data_home(data_home)
    released = home / f"ud-treebanks-v{version or DEFAULT_VERSION}" / name
    folders = [released] if version else [home / name, released]
    folder = next((folder for folder in folders if find_files(folder)), None)
    if folder is None:
        if not download_if_missing:
            raise OSError(
                printable(
                    f"The treebank {name} is not in {' and '.join(map(str, folders))}; allow its "
                    f"download."
                )
            )
        folder = released
        _check_target(folder)
        _fetch_release(name, version or DEFAULT_VERSION, folder, **download)
    return folder


def find_files(folder, end=""):
    """List the CoNLL-U files of a folder, sorted; an unpacked file replaces its .gz."""
    packed = {path.stem: path for path in folder.glob(f"*{end}.conllu.gz")}
    unpacked = {path.name: path for path in folder.glob(f"*{end}.conllu")}
    return [path for _, path in sorted((packed | unpacked).items())]


def _is_like(value, pattern):
    return isinstance(value, str) and re.fullmatch(pattern, value) is not None


def _check_target(folder):
    """Check, before the download, that a treebank can be put into its folder."""
    for place in (folder.parent.parent, folder.parent, folder):
        if os.path.lexists(place) and (place == folder or not place.is_dir()):
            problem = "there already, without .conllu files" if place == folder else "not a folder"
            raise FileExistsError(
                printable(f"{place} is {problem}. Move it away to download the treebank.")
            )


def retrieve(address, path, known_hash=None, progressbar=True, timeout=60.0):
    """Download a file by pooch, which puts it at its path when it is complete and checked."""
    pooch = import_optional("pooch", "fetch", "A download")
    return pooch.retrieve(
        address,
        known_hash,
        path.name,
        path.parent,
        downloader=pooch.HTTPDownloader(progressbar=progressbar, timeout=timeout),
    )


def _fetch_release(name, version, folder, *, max_bytes=MAX_BYTES, **download):
    """Download a release of a treebank and move its files into place in one step."""
    url = ARCHIVE_URL.format(name=name, version=version)
    home = folder.parent.parent
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        dir=home, prefix=".sklearn_shag-fetch-", ignore_cleanup_errors=True
    ) as scratch:
        try:
            archive = retrieve(url, Path(scratch, "archive.zip"), **download)
        except OSError as error:
            raise OSError(
                f"Could not download {name}, release {version}, from {url}: "
                f"{printable(error, 200)}. Check the name, the version and the network, or put the "
                f"treebank's folder into {printable(folder.parent, 200)}."
            ) from error
        unpacked = Path(scratch, name)
        unpacked.mkdir()
        try:
            unpack_archive(archive, unpacked, max_bytes)
            if not any(unpacked.glob("*.conllu")):
                raise OSError("it holds no .conllu files")
        except OSError as error:
            raise OSError(
                f"The download from {url} cannot be used: {printable(error, 300)}."
            ) from error
        _move_into_place(unpacked, folder)


def _move_into_place(unpacked, folder):
    """Rename a folder to its final name, unless another process has put one there before."""
    folder.parent.mkdir(exist_ok=True)
    try:
        os.replace(unpacked, folder)
    except OSError:
        if not any(folder.glob("*.conllu")):
            raise
