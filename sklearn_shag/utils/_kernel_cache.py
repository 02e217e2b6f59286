"""Machine code of kernels on disk, safe against files that are damaged or out of date.

Numba's own cache has an index and numbered files. A process that ends between writing the one and
the other, or two that write at once, leave an index that names the code of other sources or of
other types; an index that is damaged, or names a class that has moved since, is an error in every
process that comes later; and so is a full disk. Here each code has a file of its own, which is
written whole, and whose name is a digest of all that the code depends on.
"""

import hashlib
import logging
import pickle
import re
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

import numba
from numba import config
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.runtime import rtsys
from numba.core.serialize import dumps
from numba.misc.appdirs import user_cache_dir

from sklearn_shag.utils._io import atomic_write

PACKAGE_FOLDER = Path(__file__).parents[1]
DIGEST_SIZE = hashlib.sha256().digest_size
MONTH = 30 * 24 * 3600.0  # in seconds
# A function of a module that nothing decorates: Python code, which no kernel can call.
_PYTHON_FUNCTION = re.compile(rb"(?<=\n\n)def [^\n]*\n(?:(?:[ )][^\n]*)?\n)*")

# Kernels that take more than a second to compile: their purpose, and about how many seconds.
SLOW = {
    "features._hashing.add_scores": ("features of arcs", 1),
    "lexical._potentials._fill_factors": ("probabilities of words", 2),
    "parsing._arborescences._sum_sentences": ("probabilities of arcs that may cross", 2),
    "parsing._arc_sums.sum_arcs": ("probabilities of arcs", 1),
    "parsing._decoders.best_arborescence": ("best trees whose arcs may cross", 2),
    "parsing._decoders.find_trees": ("best trees", 2),
    "parsing._fast_driver.run_lockstep": ("the chart of this kind of grammar, eight at once", 13),
    "parsing._fast_driver.run_one_by_one": ("the chart of this kind of grammar", 15),
    "parsing._refined_chart._run_sentences": ("the chart of grammars with refinements", 11),
    "parsing._samples._draw_all": ("sampled trees", 5),
    "parsing._viterbi._find_all": ("best derivations", 5),
}
logger = logging.getLogger(PACKAGE_FOLDER.name)


class KernelCache(NullCache):
    """The cache of one kernel: code is compiled if none can be read, and kept if it can be.

    Parameters
    ----------
    function : callable
        A function of a module that has a file.
    """

    def __init__(self, function):
        code, self.source = function.__code__, None
        self.name = f"{function.__module__}.{function.__qualname__}"
        path = Path(code.co_filename)
        if (
            PACKAGE_FOLDER not in path.parents
        ):  # else it is part of the digest in the name of the folder
            self.source = path.read_bytes(), code.co_firstlineno
        self.folder = code_folder()

    def load_overload(self, sig, target_context):
        """Return the code for types of arguments; or announce its compilation, and return None."""
        # All that code on disk needs. What numba needs to compile takes a quarter of a second.
        rtsys.initialize(target_context)
        # An undamaged file may still fail to load: its types may be of classes that have changed.
        with suppress(Exception):
            content = read_code(self._path(sig, target_context.codegen()))
            return CompileResult._rebuild(target_context, *content)
        from sklearn_shag.utils import _simd_compiled  # noqa: F401 (numba learns of vectors)

        announce_compilation(self.name.removeprefix(f"{PACKAGE_FOLDER.name}."), self.folder)
        return None

    def save_overload(self, sig, data):
        """Write code to the cache, unless it holds addresses of this process."""
        if not data.library.has_dynamic_globals and can_write(self.folder):
            with suppress(OSError):
                write_code(self._path(sig, data.codegen), data._reduce())

    def _path(self, sig, codegen):
        key = repr((self.name, self.source, sig, _list_fields(sig), codegen.magic_tuple()))
        digest = hashlib.sha256(key.encode()).hexdigest()
        return self.folder / f"{self.name.rpartition('.')[2]}.{digest[:32]}.nbc"


def _list_fields(types):
    """List the fields of the named tuples among types, which code knows by their positions."""
    if isinstance(types, numba.types.BaseTuple):
        return [str(types), getattr(types, "fields", None), *map(_list_fields, types)]
    if isinstance(types, tuple):  # all arguments
        return list(map(_list_fields, types))
    return None


def announce_compilation(name, folder):
    """Log that a kernel is about to be compiled: minutes of silence look like a hang.

    The message is a log record of level WARNING, which Python prints on standard error unless
    logging is configured otherwise; standard output may be a treebank that is being written.
    """
    if name in SLOW:
        kept = f"once; the result is kept in {folder}"
        if not can_write(folder):
            kept = (
                f"in every process, since {folder} cannot be written; set the environment variable "
                "NUMBA_CACHE_DIR to a folder that can"
            )
        message = "sklearn_shag compiles its kernel for %s, which takes about %d s, %s."
        logger.warning(message, *SLOW[name], kept)


def cache_folder():
    """Return the folder of all that the package keeps on disk between runs."""
    if config.CACHE_DIR:
        return Path(config.CACHE_DIR, PACKAGE_FOLDER.name)
    return Path(user_cache_dir(PACKAGE_FOLDER.name, appauthor=False, opinion=False))


def code_folder():
    """Return the folder of the machine code of these sources, Python and numba."""
    return cache_folder() / _digest_sources()


@cache
def _digest_sources():
    """Digest all source code of the package that the machine code of a kernel may depend on.

    The code of a kernel contains that of the kernels that it calls, which may be in other files.
    """
    python = sys.implementation.cache_tag, getattr(sys, "abiflags", "")
    digest = hashlib.sha256(repr((python, numba.__version__)).encode())
    for path in sorted(PACKAGE_FOLDER.rglob("*.py")):
        source = path.read_bytes()
        if any(word in source for word in (b"_kernel", b"_simd", b"numba")):
            name = path.relative_to(PACKAGE_FOLDER).as_posix().encode()
            digest.update(name + b"\0" + read_compiled(path) + b"\0")
    return digest.hexdigest()[:16]


def read_compiled(path):
    """Read a source file without its undecorated functions, which are never compiled.

    So an edit of the Python code that prepares the arguments of kernels recompiles nothing. What
    defines the compiled operations themselves, in ``utils``, counts as a whole.
    """
    source = path.read_bytes().replace(b"\r\n", b"\n")
    return source if path.parent == Path(__file__).parent else _PYTHON_FUNCTION.sub(b"", source)


@cache
def can_write(folder):
    """Make a folder if need be, and tell whether files can be written there.

    Beside a new one, those of other sources or versions are removed where nothing has been written
    for a month.
    """
    try:
        is_new = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    if is_new:
        for other in folder.parent.glob("[0-9a-f]" * 16):
            with suppress(OSError):  # another process has been faster
                if time.time() - other.stat().st_mtime > MONTH:
                    shutil.rmtree(other)
    return True


def read_code(path):
    """Return the content of a cache file; an error if it is missing or damaged."""
    content = path.read_bytes()
    digest, content = content[:DIGEST_SIZE], content[DIGEST_SIZE:]
    if hashlib.sha256(content).digest() != digest:
        raise ValueError(f"{path} is damaged.")
    return pickle.loads(content)


def write_code(path, data):
    """Write data to a cache file with a digest, whole or not at all."""
    content = dumps(data)
    with atomic_write(path) as file:
        file.write(hashlib.sha256(content).digest() + content)
