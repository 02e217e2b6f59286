"""The one way to run tasks side by side."""

from functools import cache

from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import ThreadpoolController

__all__ = ["count_workers", "delayed", "run_parallel"]


def count_workers(n_jobs):
    """Count the workers that tasks would run on.

    Within a task of another joblib call, such as the fits of a parallel grid search, it is one:
    that call has shared out the cores already, and in larger pieces.

    Parameters
    ----------
    n_jobs : int or None

    Returns
    -------
    n_workers : int
    """
    backend, _ = get_active_backend()
    return 1 if backend.nesting_level else effective_n_jobs(n_jobs)


@cache
def _thread_pools():
    """The linear algebra libraries of this process; to look for them takes milliseconds."""
    return ThreadpoolController()


def run_parallel(tasks, n_jobs):
    """Run joblib tasks, by preference in threads, and list what they return.

    Tasks are many and their matrices small: linear algebra that spreads each over all cores
    only waits for itself (a hundred times longer, measured, where the cores are not free), so it
    keeps to one thread meanwhile.

    Parameters
    ----------
    tasks : iterable of delayed calls
        Of the `delayed` of this module, which takes scikit-learn's configuration along.
    n_jobs : int or None

    Returns
    -------
    results : list
    """
    if count_workers(n_jobs) == 1:
        n_jobs = 1
    with _thread_pools().limit(limits=1, user_api="blas"):
        return list(Parallel(n_jobs=n_jobs, prefer="threads")(tasks))
