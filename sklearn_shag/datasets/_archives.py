"""Archives from servers: how they are saved, and what of them is unpacked."""

import contextlib
import shutil
import stat
import tempfile
import zipfile
import zlib
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from threading import TIMEOUT_MAX, Event, Thread

from sklearn_shag.utils._locks import hold_lock, remove_unlocked
from sklearn_shag.utils._messages import shorten
from sklearn_shag.utils._progress import progress

_PREFIX = ".sklearn_shag-fetch-"
_CHUNK = 1 << 16  # bytes that are saved or unpacked at once
_SILENCE = 60.0  # seconds that a server may need for the next bytes


@contextlib.contextmanager
def scratch_folder(home):
    """Make a folder that is gone at the end, and remove those that killed processes have left.

    A process holds a lock on its folder (POSIX).

    Parameters
    ----------
    home : pathlib.Path
        Where it is to be.

    Yields
    ------
    folder : pathlib.Path
    """
    remove = partial(shutil.rmtree, ignore_errors=True)
    remove_unlocked(home.glob(f"{_PREFIX}*"), stat.S_ISDIR, remove)
    while True:
        folder = Path(tempfile.mkdtemp(dir=home, prefix=_PREFIX))
        with hold_lock(folder):
            if not folder.exists():  # another process was faster to remove it than the lock
                continue
            try:
                yield folder
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            return


class Downloader:
    """Save what a server sends, as pooch asks for it: not more than so much, nor for longer.

    Parameters
    ----------
    max_bytes : int or None
    timeout : float or None
        Seconds for all of it: a server that sends a byte now and then is never silent.
    progressbar : bool
    """

    def __init__(self, max_bytes, timeout, progressbar):
        self.max_bytes = max_bytes
        self.timeout = timeout
        self.progressbar = progressbar

    def __call__(self, url, output_file, pooch):
        # Nothing else ends a read that gets its bytes one by one: it goes on in a thread that
        # nobody waits for.
        done, stopped = Future(), Event()

        def work():
            try:
                done.set_result(self._save(url, output_file, stopped))
            except BaseException as error:
                done.set_exception(error)

        Thread(target=work, daemon=True).start()
        try:
            # The system cannot wait for more than some centuries.
            done.result(None if self.timeout is None else min(self.timeout, TIMEOUT_MAX))
        except TimeoutError:
            raise OSError(
                f"it is not complete after timeout={self.timeout:g} seconds; give it more"
            ) from None
        finally:
            stopped.set()

    def _save(self, url, path, stopped):
        import requests

        with requests.get(url, timeout=_SILENCE, stream=True) as response:
            response.raise_for_status()
            declared = response.headers.get("Content-Length", "")
            total = int(declared) if declared.isdecimal() and len(declared) < 20 else None
            check_size(total or 0, self.max_bytes)
            verbose = 2 if self.progressbar else 0
            with progress("Download", total, "bytes", verbose) as advance, open(path, "wb") as file:
                for chunk in response.iter_content(_CHUNK):
                    if stopped.is_set():
                        return
                    file.write(chunk)
                    check_size(file.tell(), self.max_bytes)
                    advance(len(chunk))


def check_size(n_bytes, max_bytes):
    """Refuse with an OSError what is larger than it may be."""
    if max_bytes is not None and n_bytes > max_bytes:
        raise OSError(
            f"it has more than max_bytes={max_bytes} bytes; if you trust it, give a larger one"
        )


def unpack(archive, folder, is_wanted, max_bytes):
    """Unpack files from the top folder of a zip archive.

    Parameters
    ----------
    archive : path-like
    folder : pathlib.Path
        Where they are to be.
    is_wanted : callable
        Tells of the name of a file whether it is unpacked.
    max_bytes : int or None
        The largest size of all together, as the archive has it and as it is.

    Raises
    ------
    OSError
        If it cannot be read, is too large, or holds names that no treebank has.
    """
    try:
        with zipfile.ZipFile(archive) as content:
            members = {}
            for member in content.infolist():
                _check_name(member.filename)
                _, *path = member.filename.split("/")
                if len(path) == 1 and is_wanted(path[0]):
                    if path[0] in members:
                        raise OSError(f"it holds {shorten(path[0])} twice")
                    members[path[0]] = member
            check_size(sum(member.file_size for member in members.values()), max_bytes)
            n_bytes = 0
            for name, member in members.items():
                with content.open(member) as source, open(folder / name, "wb") as target:
                    while chunk := source.read(_CHUNK):
                        n_bytes += len(chunk)
                        check_size(n_bytes, max_bytes)
                        target.write(chunk)
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, ValueError) as error:
        raise OSError(f"it is not a zip archive that can be read: {error}") from error


def _check_name(name):
    """Refuse what would be unpacked elsewhere, or could not be listed on a line."""
    if not name.isprintable() or "\\" in name or ".." in name.split("/") or name.startswith("/"):
        raise OSError(f"it holds a file of the name {shorten(name)}, which none of a treebank has")
