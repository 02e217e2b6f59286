"""Machine code of kernels on disk, where nothing that lies there can do harm.

Numba's own cache has an index and numbered files. A process that ends between writing the one and
the other, or two that write at once, leave an index that names the code of other sources or of
other types; an index that is damaged, or names a class that has moved since, is an error in every
process that comes later; and so is a full disk.
"""

import hashlib
import os
import pickle
import time
import uuid
from contextlib import suppress
from pathlib import Path

import numba
from numba.core.caching import FunctionCache
from numba.core.serialize import dumps

STALE = 3600.0  # seconds after which a file that is still being written belongs to nobody
DIGEST_SIZE = hashlib.sha256().digest_size


class KernelCache(FunctionCache):
    """The cache of one kernel: what cannot be read is compiled, what cannot be written is not kept.

    Parameters
    ----------
    function : callable
    sources : str
        A digest of what the code is made of, beside the file of the function.
    """

    def __init__(self, function, sources):
        super().__init__(function)
        version = numba.__version__, self._impl.locator.get_source_stamp(), sources
        self._cache_file = CodeFiles(Path(self.cache_path), self._impl.filename_base, version)

    def load_overload(self, sig, target_context):
        # Code that is whole may still fail to load: its types are those of classes of then.
        with suppress(Exception):
            return super().load_overload(sig, target_context)
        return None

    def save_overload(self, sig, data):
        with suppress(OSError):
            super().save_overload(sig, data)

    def _index_key(self, sig, codegen):
        return super()._index_key(sig, codegen), _list_fields(sig)


def _list_fields(types):
    """The fields of the named tuples among types: code knows them by their positions."""
    if isinstance(types, numba.types.BaseTuple):
        return [str(types), getattr(types, "fields", None), *map(_list_fields, types)]
    if isinstance(types, tuple):  # all arguments
        return list(map(_list_fields, types))
    return None


class CodeFiles:
    """Files with the code of one function, one for the types of its arguments each.

    Parameters
    ----------
    folder : Path
    base : str
        What their names begin with.
    version : tuple
        What all of them depend on. Files of other versions are removed.
    """

    def __init__(self, folder, base, version):
        self.folder, self.base, self.version = folder, base, version

    def load(self, key):
        """Return the code for a key, or None if there is none, or is damaged."""
        try:
            content = self._path(key).read_bytes()
        except OSError:
            return None
        digest, content = content[:DIGEST_SIZE], content[DIGEST_SIZE:]
        if hashlib.sha256(content).digest() != digest:
            return None
        return pickle.loads(content)

    def save(self, key, data):
        """Keep the code for a key; an OSError leaves what was there."""
        self._remove_old()
        path, content = self._path(key), dumps(data)
        written = path.with_name(f"{path.name}.tmp.{uuid.uuid4().hex[:16]}")
        try:
            written.write_bytes(hashlib.sha256(content).digest() + content)
            os.replace(written, path)
        finally:
            written.unlink(missing_ok=True)

    def _path(self, key):
        name = hashlib.sha256(repr((self.version, key)).encode()).hexdigest()
        return self.folder / f"{self._begin()}{name[:32]}.nbc"

    def _begin(self):
        version = hashlib.sha256(repr(self.version).encode()).hexdigest()
        return f"{self.base}.{version[:16]}."

    def _remove_old(self):
        """Remove files of other versions, and what processes that were killed have left."""
        for path in self.folder.glob("*.nb[ci]*"):
            if path.name.startswith(f"{self.base}."):
                with suppress(OSError):  # another process has been faster
                    is_left = path.suffix != ".nbc" and time.time() - path.stat().st_mtime > STALE
                    if is_left or not path.name.startswith(self._begin()):
                        path.unlink()
