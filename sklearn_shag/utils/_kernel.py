"""The one numba decorator of the package."""

from numba import njit

__all__ = ["kernel"]


def kernel(function):
    """Compile `function` lazily, without the GIL, and cache the machine code on disk.

    Numba writes the cache beside the module or, where that folder cannot be written, into the
    user's cache folder. Where neither can be written (a read-only container) it refuses to
    decorate at all: then the function is compiled anew in every process.
    """
    try:
        return njit(cache=True, nogil=True)(function)
    except RuntimeError:
        return njit(nogil=True)(function)
