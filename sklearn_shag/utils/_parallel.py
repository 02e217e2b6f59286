"""Tasks side by side in threads or processes, and progress bars."""

import signal
import sys
import warnings
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import cache
from itertools import repeat
from numbers import Integral
from threading import Lock
from time import perf_counter, sleep

import numpy as np
from joblib import effective_n_jobs, parallel_config
from joblib.externals.loky import BrokenProcessPool, ProcessPoolExecutor
from joblib.parallel import ThreadingBackend, get_active_backend
from sklearn import config_context, get_config
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import ThreadpoolController

from sklearn_shag.utils._messages import warn

# Work that is over sooner needs no bar, unless one asks for more than verbose=1.
DELAY = 2.0  # seconds
LOG_EVERY = 60.0  # seconds between lines of progress
EQUAL_SIZES = repeat(1)  # of tasks that progress counts
_LOGGED = []  # is not empty within log_progress
_PREPARED = []  # the function that a worker calls on each item


@contextmanager
def progress(description, n_steps, unit, verbose, log=False):
    """Show a progress bar, or lines of progress, on standard error while the block runs.

    Parameters
    ----------
    description : str
        What is being done.
    n_steps : int or None
        None if it is not known.
    unit : str
        What a step is; "B" for bytes.
    verbose : int
        0 shows no bar, 1 a bar for work that takes more than two seconds, 2 one in any case.
    log : bool, default=False
        Whether to write a line a minute where there is no bar. Within :func:`log_progress`, lines
        are written in any case.

    Yields
    ------
    advance : callable
        ``advance(n=1, note="", done="")`` says that n more steps are done; any thread may. The
        note is shown behind the bar; a line has `done` before it.
    """
    if not verbose or sys.stderr is None:  # it is closed
        every = LOG_EVERY / 3 if _LOGGED else LOG_EVERY if log else np.inf
        yield _log(description, n_steps, unit, every if sys.stderr else np.inf)
        return
    from tqdm import tqdm

    lock = Lock()
    of_bytes = unit == "B"
    with tqdm(
        desc=description,
        total=n_steps,
        delay=DELAY if verbose == 1 else 0.0,
        unit=unit if of_bytes else f" {unit}",
        unit_scale=of_bytes,
    ) as bar:

        def advance(n=1, note="", done=""):
            with lock:
                bar.set_postfix_str(note, refresh=False)
                bar.update(n)

        yield advance


@contextmanager
def log_progress():
    """Let all work in the block write a line every 20 seconds where it shows no bar."""
    _LOGGED.append(True)
    try:
        yield
    finally:
        _LOGGED.clear()


def _log(description, n_steps, unit, every):
    """Return a function like `advance` of a progress bar that writes a line so often."""
    began = shown = perf_counter()
    n_done, lock = 0, Lock()

    def advance(n=1, note="", done=""):
        nonlocal shown, n_done
        with lock:
            n_done, now = n_done + n, perf_counter()
            if now - shown < every:
                return
            shown, left = now, "an unknown time"
            if n_steps and n_done:
                left = timedelta(seconds=round((now - began) * (n_steps / n_done - 1)))
            parts = filter(None, [done or f"{n_done} of {n_steps} {unit}", note, f"{left} left"])
            print(f"{description}: {', '.join(parts)}", file=sys.stderr, flush=True)

    return advance


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

    Raises
    ------
    ValueError
        If `n_jobs` is anything else, or 0. Estimators have checked it before.
    """
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise ValueError(f"n_jobs must be None or a whole number other than 0, got {n_jobs!r}.")
    # joblib's backend for dask would send out tasks even of one job.
    return 1 if n_jobs == 1 or _within_task() else effective_n_jobs(n_jobs)


def _within_task():
    backend, _ = get_active_backend()
    if backend.nesting_level:
        return True
    # The backend for dask does not count levels; its tasks are those that run on a worker.
    if "distributed" in sys.modules:
        with suppress(ValueError):  # elsewhere there is no worker
            return bool(sys.modules["distributed"].get_worker())
    return False


@cache
def _list_libraries(user_api):
    """List the libraries of this process that have threads, once: it takes milliseconds."""
    return ThreadpoolController().select(user_api=user_api).lib_controllers


@contextmanager
def one_thread(user_api="blas"):
    """Limit linear algebra, or with "openmp" OpenMP, to one thread within the block.

    On small data threads wait for each other, fifty times as long where cores are not free. To do
    the same, threadpoolctl takes three times as long, which is felt beside a single sentence.
    """
    libraries = _list_libraries(user_api)
    numbers = [library.get_num_threads() for library in libraries]
    for library in libraries:
        library.set_num_threads(1)
    try:
        yield
    finally:
        for library, number in zip(libraries, numbers, strict=True):
            if number is not None:  # else it does not tell
                library.set_num_threads(number)


def run_parallel(tasks, n_jobs, on_done=None, sizes=EQUAL_SIZES, *, in_place=False):
    """Run joblib tasks, by preference in threads, and list their results.

    Tasks are many and their matrices small: linear algebra that spreads each over all cores
    only waits for itself (a hundred times longer, measured, where the cores are not free), so it
    keeps to one thread meanwhile.

    Parameters
    ----------
    tasks : iterable of delayed calls
        Of the `delayed` of this module, which takes scikit-learn's configuration along.
    n_jobs : int or None
    on_done : None or callable, default=None
        Called with the size of each task that is done, by the thread that did it. On workers
        that are other processes, tasks count as done when they are sent there, a few ahead.
    sizes : iterable of int, default=EQUAL_SIZES
    in_place : bool, default=False
        Whether tasks write into arrays of the caller. They are then never sent to other processes.

    Returns
    -------
    results : list
    """
    n_workers = count_workers(n_jobs)
    backend, _ = get_active_backend(prefer="threads")
    with one_thread():
        if n_workers > 1 and isinstance(backend, ThreadingBackend):
            return _run_in_threads(list(tasks), n_workers, backend, on_done, sizes)
        # To call one function joblib takes longer than a short sentence does.
        if n_workers == 1 or in_place:
            return [_call_task(task) for task in _report_done(tasks, on_done, sizes)]
        return list(Parallel(n_jobs=n_jobs, prefer="threads")(_report_done(tasks, on_done, sizes)))


def map_in_processes(function, items, n_workers):
    """Call a function on items, in processes, and yield its results in their order.

    This process is one of them: another one would have to hold the function, too. Warnings of the
    function are issued in this process, each with the result that it belongs to.

    No more than a few items are under way at once, however many there are, and however slowly
    results are taken.

    Parameters
    ----------
    function : callable
        It is sent to each worker once.
    items : iterable
        What it raises comes after the results of the items before.
    n_workers : int
        Number of processes. With one, or if standard output or error is closed, it is this one.

    Yields
    ------
    result : object

    Raises
    ------
    ChildProcessError
        If a worker ends.
    """
    # Without standard streams, loky starts no processes.
    if n_workers == 1 or None in (sys.__stdout__, sys.__stderr__):
        yield from map(function, items)
        return
    n_others = n_workers - 1
    executor = ProcessPoolExecutor(n_others, initializer=_prepare_worker, initargs=(function,))
    pending, failure, items = deque(), None, iter(items)
    try:
        while failure is None:
            try:
                item = next(items)
                if sum(not work.done() for work in pending) < 2 * n_others:
                    pending.append(executor.submit(_call_prepared, item))
                else:
                    pending.append(_call_here(function, item))
            except Exception as error:  # of the items; StopIteration is one
                failure = error
            while pending and (
                failure is not None or len(pending) > 2 * n_workers or pending[0].done()
            ):
                result, warned = pending[0].result()
                for category, message in warned:
                    warn(message, category)
                yield result
                pending.popleft()
        if not isinstance(failure, StopIteration):
            raise failure
    except BrokenProcessPool:
        raise ChildProcessError(
            "a worker process has ended, as they do when memory runs out. Use fewer workers "
            "(n_jobs)"
        ) from None
    finally:
        # Of work that loky has not yet handed on when its workers end, it prints a KeyError.
        while not all(work.running() or work.done() for work in pending):
            sleep(0.001)
        executor.shutdown(kill_workers=True)


def _prepare_worker(function):
    """Begin a worker of :func:`map_in_processes`, which leaves interruptions to its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _leave_one_worker()
    _PREPARED[:] = [function]


def _leave_one_worker():
    """Let tasks within a function have one worker, from now on or, in a with statement, there."""
    return parallel_config(backend=ThreadingBackend(nesting_level=1))


def _call_prepared(item):
    return call_recorded(_PREPARED[0], item)


def _call_here(function, item):
    """Call a function in this process; return its result or exception as a Future."""
    done = Future()
    try:
        with _leave_one_worker():
            done.set_result(call_recorded(function, item))
    except Exception as error:  # comes after the results of the items before
        done.set_exception(error)
    return done


def call_recorded(function, item):
    """Call a function; return its result, and the warnings that it issued."""
    with warnings.catch_warnings(record=True, action="always") as warned:
        result = function(item)
    return result, [(each.category, str(each.message)) for each in warned]


def _call_task(task):
    function, args, kwargs = task
    # Called as it is: `delayed` of scikit-learn asks for its own Parallel.
    return function.__wrapped__(*args, **kwargs)


def _report_done(tasks, on_done, sizes):
    """Yield tasks, and report each when the next one is requested: it is done, or sent away."""
    for task, size in zip(tasks, sizes, strict=False):
        yield task
        if on_done is not None:
            on_done(size)


def _run_in_threads(tasks, n_workers, backend, on_done, sizes):
    """Run tasks in threads as joblib does, without waiting 10 milliseconds for results.

    In that time hundreds of sentences are parsed.
    """
    nested_backend, n_nested = backend.get_nested_backend()
    config, errors = get_config(), np.geterr()

    queue = deque(zip(range(len(tasks)), tasks, sizes, strict=False))
    results = [None] * len(tasks)

    def work():
        with (
            parallel_config(backend=nested_backend, n_jobs=n_nested),
            config_context(**config),
            np.errstate(**errors),
        ):
            while queue:
                try:
                    k, task, size = queue.popleft()
                except IndexError:  # another thread has taken the last one
                    return
                try:
                    results[k] = _call_task(task)
                    if on_done is not None:
                        on_done(size)
                except BaseException:
                    queue.clear()  # nobody takes another task
                    raise

    n_helpers = min(n_workers, len(tasks)) - 1
    with ThreadPoolExecutor(max(n_helpers, 1)) as executor:
        helpers = [executor.submit(work) for _ in range(n_helpers)]
        work()  # the calling thread works too: it is on a core already
        for helper in helpers:
            helper.result()
    return results
