"""Locks on what a process makes for a time, by which others know that it is still wanted.

The system drops a lock when its process ends, however that ends: who can lock a temporary file or
folder knows that nobody uses it. Numbers of processes would not say that, as those of containers
and of machines that share a folder are given twice. There are no such locks on Windows.
"""

import contextlib
import os

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None


@contextlib.contextmanager
def hold_lock(file):
    """Hold a lock on a file or folder, also when that is closed before the end.

    Parameters
    ----------
    file : int or path-like
        A descriptor, or the path of what need not be there any more.
    """
    if fcntl is None:
        yield
        return
    try:
        own = os.dup(file) if isinstance(file, int) else os.open(file, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        yield
        return
    try:
        # Where there are no locks, nobody gets one and removes the file.
        with contextlib.suppress(OSError):
            fcntl.flock(own, fcntl.LOCK_EX)
        yield
    finally:
        os.close(own)


def remove_unlocked(paths, is_kind, remove):
    """Remove what killed processes have left; what is in use, or may not be removed, stays.

    Parameters
    ----------
    paths : iterable of path-like
        Links among them stay.
    is_kind : callable
        Tells of the mode of a path whether it is of the kind to be removed, as `stat.S_ISREG`.
    remove : callable
        Removes a path.
    """
    for path in paths if fcntl is not None else ():
        with contextlib.suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                if is_kind(os.fstat(descriptor).st_mode):
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    remove(path)
            finally:
                os.close(descriptor)
