"""Treebanks of Universal Dependencies, downloaded once and kept."""

import hashlib
import os
import re
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

from sklearn.utils import Bunch

from sklearn_shag.treebank import DependencyTree, read_conllu
from sklearn_shag.utils._messages import shorten
from sklearn_shag.utils._typing import FilePath

# The repositories of the project itself; every release is a tag of each.
ARCHIVE_URL = "https://github.com/UniversalDependencies/{name}/archive/refs/tags/r{version}.zip"
DEFAULT_VERSION = "2.16"
SPLITS = ("train", "dev", "test")
CHECKSUMS = "SHA256SUMS"


class FetchedTreebank(Bunch):
    """What :func:`fetch_treebank` returns."""

    train: list[DependencyTree]
    dev: list[DependencyTree]
    test: list[DependencyTree]
    name: str
    folder: Path


def get_data_home(data_home: FilePath | None = None) -> Path:
    """Return the folder for downloaded treebanks; it need not exist.

    Parameters
    ----------
    data_home : None, str or path-like, default=None
        None takes the environment variable ``SKLEARN_SHAG_DATA``, or else
        ``~/sklearn_shag_data``.

    Returns
    -------
    data_home : pathlib.Path
        With the home folder in place of ``~``.

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


def fetch_treebank(
    name: str,
    *,
    data_home: FilePath | None = None,
    version: str | None = None,
    symbols: str | Sequence[str] = "upos",
    download_if_missing: bool = True,
    known_hash: str | None = None,
    progressbar: bool = True,
) -> FetchedTreebank:
    """Load a treebank of Universal Dependencies, downloading it if it is not there yet.

    Parameters
    ----------
    name : str
        Name of the treebank, such as "UD_English-EWT".
    data_home : None, str or path-like, default=None
        Where treebanks are kept, see :func:`get_data_home`. A folder ``name`` with ``.conllu``
        files in it, or ``ud-treebanks-v<version>/name`` as in an unpacked official release, is
        used as it is.
    version : None or str, default=None
        A release, such as "2.16". None takes the folder ``name`` of any version if there is one,
        and else release 2.16.
    symbols : str or sequence of str, default="upos"
        The columns that become the symbols of the trees, as for
        :func:`sklearn_shag.treebank.read_conllu`.
    download_if_missing : bool, default=True
        Whether to download a treebank that is not there; if False, that is an OSError.
    known_hash : None or str, default=None
        SHA-256 of the archive to download, checked if given. The files of a downloaded
        treebank are in any case checked against the hashes they had when they were unpacked.
    progressbar : bool, default=True
        Whether to show the progress of a download.

    Returns
    -------
    treebank : sklearn.utils.Bunch
        `train`, `dev` and `test`, lists of DependencyTree (empty for a split that the treebank
        does not have); `name`; `folder`, where its files and licence are.

    Raises
    ------
    ValueError
        If `name` or `version` is not of the form of one, or a file does not have its checksum.
    OSError
        If the treebank is missing and must not, or cannot, be downloaded, or `data_home` is a file.
    ImportError
        If it must be downloaded and pooch is not installed.

    See Also
    --------
    load_english : A small treebank that comes with the package.
    sklearn_shag.treebank.read_conllu : Trees from any file.

    Examples
    --------
    >>> from sklearn_shag.datasets import fetch_treebank
    >>> treebank = fetch_treebank("UD_English-EWT")            # doctest: +SKIP
    >>> len(treebank.train)                                    # doctest: +SKIP
    12544
    """
    if not _is_like(name, r"UD_\w+-\w+"):
        raise ValueError(f"A treebank has a name such as 'UD_English-EWT', got {shorten(name)}.")
    if version is not None and not _is_like(version, r"\d+\.\d+"):
        raise ValueError(f"A release has a version such as '2.16', a str; got {shorten(version)}.")
    home = get_data_home(data_home)
    if home.exists() and not home.is_dir():
        raise NotADirectoryError(
            f"{home} is no folder. As data_home pass the folder for treebanks; it need not exist."
        )
    released = home / f"ud-treebanks-v{version or DEFAULT_VERSION}" / name
    folders = [released] if version else [home / name, released]
    folder = next((folder for folder in folders if any(folder.glob("*.conllu"))), None)
    if folder is None:
        if not download_if_missing:
            looked_in = " and ".join(map(str, folders))
            raise OSError(f"The treebank {name} is not in {looked_in}; allow its download.")
        folder = released
        _download(name, version or DEFAULT_VERSION, folder, known_hash, progressbar)
    _verify(folder)
    splits = {
        split: [
            tree
            for path in sorted(folder.glob(f"*-ud-{split}.conllu"))
            for tree in read_conllu(path, symbols=symbols)
        ]
        for split in SPLITS
    }
    return FetchedTreebank(**splits, name=name, folder=folder)


def _is_like(value, pattern):
    return isinstance(value, str) and re.fullmatch(pattern, value) is not None


def _download(name, version, folder, known_hash, progressbar):
    """Download a release of a treebank and move its files into place in one step."""
    try:
        import pooch
    except ImportError:
        raise ImportError(
            "Downloading a treebank needs pooch: pip install 'sklearn-shag[fetch]'."
        ) from None
    url = ARCHIVE_URL.format(name=name, version=version)
    home = folder.parent.parent
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home, prefix=f".{name}-") as scratch:
        try:
            archive = pooch.retrieve(
                url,
                known_hash=known_hash and f"sha256:{known_hash}",
                path=scratch,
                fname="archive.zip",
                downloader=pooch.HTTPDownloader(progressbar=progressbar, timeout=60),
            )
        except OSError as error:
            raise OSError(
                f"Could not download {name}, release {version}, from {url}: {error}. Check the "
                f"name, the version and the network, or put the treebank's folder into "
                f"{folder.parent}."
            ) from error
        unpacked = Path(scratch) / name
        unpacked.mkdir()
        _unpack(archive, unpacked, url)
        folder.parent.mkdir(exist_ok=True)
        os.replace(unpacked, folder)


def _unpack(archive, folder, url):
    """Take the trees, the licence and the README from the top folder of an archive."""
    try:
        with zipfile.ZipFile(archive) as content:
            for member in content.namelist():
                parts = member.split("/")
                wanted = parts[-1].endswith(".conllu") or parts[-1].startswith(
                    ("LICENSE", "README")
                )
                if len(parts) == 2 and wanted:
                    with content.open(member) as source, open(folder / parts[1], "wb") as target:
                        shutil.copyfileobj(source, target)
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError) as error:
        raise OSError(f"What {url} gave is not a zip archive that can be read: {error}.") from error
    files = sorted(folder.glob("*.conllu"))
    if not files:
        raise OSError(f"The archive from {url} holds no .conllu files.")
    lines = [f"{_sha256(path)}  {path.name}\n" for path in files]
    (folder / CHECKSUMS).write_text("".join(lines), encoding="utf-8")


def _verify(folder):
    """Compare files with the checksums that were written when they were unpacked."""
    checksums = folder / CHECKSUMS
    if not checksums.exists():
        return
    for line in checksums.read_text(encoding="utf-8").splitlines():
        expected, filename = line.split(maxsplit=1)
        path = folder / filename
        if not path.exists() or _sha256(path) != expected:
            raise ValueError(
                f"{path} is missing or no longer what was downloaded (its SHA-256 is not "
                f"{expected}). Delete the folder {folder} to download it again."
            )


def _sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
