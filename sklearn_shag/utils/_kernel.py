"""The one numba decorator of the package. Numba itself is imported when a kernel is called."""

from functools import partial, update_wrapper

import numpy as np


def kernel(function=None, /, **options):
    """Compile `function` at its first call, without the GIL, and cache the machine code on disk.

    The cache is in the folder that the environment variable NUMBA_CACHE_DIR names, or else in the
    user's cache folder. Where that cannot be written (a read-only container) the function is
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


# For kernels that allocate nothing. Numba would count references to every array at every call,
# which can take longer than what the call is for. They must not return arrays to kernels that do
# count: these would free what they hold no reference to.
table_kernel = partial(kernel, _nrt=False)
# For kernels, and such kernels, that Python never calls: to unpack tuples of arrays that come from
# it can take longer to compile than what is done with them. They are part of the cached code of
# those that Python does call, and have no cache of their own.
inner_kernel = partial(kernel, no_cpython_wrapper=True)
inner_table_kernel = partial(inner_kernel, _nrt=False)
# For parts of such kernels that are called in inner loops.
inlined_kernel = partial(inner_table_kernel, forceinline=True)
# For large parts of such kernels with one caller, and one call: they are compiled as part of it.
# Else they would be optimised on their own, and then again within each kernel on the way up.
merged_kernel = partial(kernel, _nrt=False, inline="always")


class Kernel:
    """A function that is compiled when it is first called, by Python or by another kernel."""

    def __init__(self, function, options):
        update_wrapper(self, function)
        # Numba looks for these where it inlines a call before it compiles.
        self.py_func, self.targetoptions = function, options

    def __call__(self, *args, **kwargs):
        return self.dispatcher(*args, **kwargs)

    def __reduce__(self):
        return self.__qualname__  # pickled by its name, as a function is

    @property
    def dispatcher(self):
        """The function as compiled by numba; with NUMBA_DISABLE_JIT=1, a plain call of it."""
        made = vars(self)
        if "_dispatcher" not in made:
            # Two threads that come here at once both go on with what the first has made.
            made.setdefault("_dispatcher", _make_dispatcher(self.py_func, self.targetoptions))
        return made["_dispatcher"]

    @property
    def _numba_type_(self):
        # Numba looks here for the type of a global value: to a kernel that calls this one it is
        # the dispatcher.
        from numba import typeof

        return typeof(self.dispatcher)


def _make_dispatcher(function, options):
    from numba import config, njit

    from sklearn_shag.utils._kernel_cache import KernelCache

    # No wrapper for C, which calls no kernels. Division by zero is as in arrays: checks of every
    # divisor would keep loops from being vectorised.
    usual = {"nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy"}
    made = njit(**usual | options)(function)
    if config.DISABLE_JIT:
        return np.errstate(all="ignore")(made)  # machine code does not warn either
    if "no_cpython_wrapper" not in options:
        try:
            made._cache = KernelCache(function)
        except OSError:  # a function without a file has no cache
            from sklearn_shag.utils import _simd_compiled  # noqa: F401 (as KernelCache does)
    return made
