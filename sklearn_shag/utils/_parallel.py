"""The one way to run tasks side by side."""

from joblib import Parallel
from threadpoolctl import threadpool_limits

__all__ = ["run_parallel"]


def run_parallel(tasks, n_jobs, **options):
    """Run joblib tasks, by preference in threads, and list what they return.

    Tasks are many and their matrices small: linear algebra that spreads each over all cores
    only waits for itself (a hundred times longer, measured, where the cores are not free), so it
    keeps to one thread meanwhile.

    Parameters
    ----------
    tasks : iterable of delayed calls
    n_jobs : int or None
    **options : dict
        For :class:`joblib.Parallel`.

    Returns
    -------
    results : list
    """
    with threadpool_limits(limits=1, user_api="blas"):
        return list(Parallel(n_jobs=n_jobs, prefer="threads", **options)(tasks))
