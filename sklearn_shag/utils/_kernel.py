"""The one numba decorator of the package. Numba itself is imported when a kernel is called."""

from functools import partial, update_wrapper

__all__ = ["kernel"]


def kernel(function=None, /, **options):
    """Compile `function` at its first call, without the GIL, and cache the machine code on disk.

    Numba writes the cache beside the module or, where that folder cannot be written, into the
    user's cache folder. Where neither can be written (a read-only container) the function is
    compiled anew in every process.

    Parameters
    ----------
    function : callable
        A function of a module.
    **options
        Further options of :func:`numba.njit`, as in ``@kernel(fastmath={"reassoc"})``.

    Returns
    -------
    kernel : Kernel
    """
    return partial(kernel, **options) if function is None else Kernel(function, options)


class Kernel:
    """A function that is compiled when it is first called, by Python or by another kernel."""

    def __init__(self, function, options):
        update_wrapper(self, function)
        self._options = options

    def __call__(self, *args, **kwargs):
        return self.dispatcher(*args, **kwargs)

    def __reduce__(self):
        return self.__qualname__  # pickled by its name, as a function is

    @property
    def dispatcher(self):
        """What numba makes of the function; with NUMBA_DISABLE_JIT=1 the function itself."""
        made = vars(self)
        if "_dispatcher" not in made:
            # Two threads that come here at once both go on with what the first has made.
            made.setdefault("_dispatcher", _decorate(self.__wrapped__, self._options))
        return made["_dispatcher"]

    @property
    def _numba_type_(self):
        # Numba looks here for the type of a global value: to a kernel that calls this one it is
        # the dispatcher.
        from numba import typeof

        return typeof(self.dispatcher)


def _decorate(function, options):
    from numba import njit

    try:
        return njit(cache=True, nogil=True, **options)(function)
    except RuntimeError:  # numba finds no folder for a cache that it can write
        return njit(nogil=True, **options)(function)
