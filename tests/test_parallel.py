"""Side by side: no more workers than asked for, and one thread each for linear algebra."""

import threading
import time
from unittest import mock

import numpy as np
import pytest
import sklearn
from joblib import Parallel, cpu_count, parallel_config
from joblib import delayed as outer_delayed
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_info, threadpool_limits

from sklearn_shag import SpectralSHAG
from sklearn_shag.parsing import _chart as _chunks
from sklearn_shag.parsing import _forest
from sklearn_shag.utils._parallel import count_workers, delayed, run_parallel
from tests.estimators import ESTIMATORS

SECONDS = 10  # a worker that waits longer for another waits in vain


@pytest.fixture(params=["loky", "threading"])
def backend(request):
    with parallel_config(backend=request.param):
        yield request.param


def tell_thread():
    time.sleep(0.01)  # leaves time for others to take the next task
    return threading.get_ident()


def sleep_and_return(value, seconds):
    time.sleep(seconds)
    return value


def threads_of_tasks(n_jobs):
    """How many tasks run on the calling thread, and on how many threads they run."""
    threads = run_parallel([delayed(tell_thread)() for _ in range(8)], n_jobs)
    return threads.count(threading.get_ident()), len(set(threads))


def count_started_threads(model, trees):
    """How many threads the calling thread starts when it learns, and parses small chunks."""
    here, started, start = threading.get_ident(), [], threading.Thread.start

    def watched_start(thread):
        if threading.get_ident() == here:
            started.append(thread)
        start(thread)

    with (
        mock.patch.object(threading.Thread, "start", watched_start),
        mock.patch.object(_chunks, "CHUNK_COST", 1e5),
        mock.patch.object(_forest, "CHUNK_COST", 1e5),
    ):
        model.fit(trees).predict(trees)
    return len(started)


def workers_of(estimator, X, y=None):
    """A scorer that tells how many workers the estimator would use."""
    return count_workers(estimator.n_jobs)


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_results_come_in_the_order_of_tasks_also_if_first_ones_take_longest():
    tasks = [delayed(sleep_and_return)(k, 0.02 if k % 4 == 0 else 0.0) for k in range(20)]
    assert run_parallel(tasks, 3) == list(range(20))


@pytest.mark.parametrize("within_caller", [True, False])
def test_an_error_in_a_task_is_raised_and_stops_the_others(within_caller):
    """Whether the calling thread meets it or one that it has started."""
    caller, begun, met = threading.get_ident(), [], threading.Barrier(2)

    def task(k):
        begun.append(k)
        if k < 2:
            met.wait(SECONDS)  # both threads have one of the first two
            if (threading.get_ident() == caller) == within_caller:
                raise FloatingPointError("of a task")
        time.sleep(0.05)

    with pytest.raises(FloatingPointError, match="of a task"):
        run_parallel([delayed(task)(k) for k in range(50)], 2)
    assert len(begun) < 10


def test_at_top_level_n_jobs_counts():
    assert count_workers(None) == 1
    assert count_workers(2) == 2
    assert count_workers(-1) == cpu_count()
    with parallel_config(n_jobs=3):
        assert count_workers(None) == 3
    meeting = threading.Barrier(2)
    run_parallel([delayed(meeting.wait)(SECONDS) for _ in range(2)], 2)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_there_are_no_more_threads_than_jobs(n_jobs):
    on_caller, n_threads = threads_of_tasks(n_jobs)
    assert on_caller > 0
    assert 1 < n_threads <= n_jobs


def workers_and_threads(n_jobs):
    return count_workers(n_jobs), threads_of_tasks(n_jobs)


@pytest.mark.parametrize("n_jobs", [-1, None])
def test_tasks_within_tasks_run_on_the_thread_of_theirs(backend, n_jobs):
    """Also where the outer tasks are those of the package itself, with any number of workers."""
    inside = Parallel(n_jobs=2)(outer_delayed(workers_and_threads)(n_jobs) for _ in range(2))
    inside += run_parallel([delayed(workers_and_threads)(n) for n in (n_jobs, 2, 2, n_jobs)], 2)
    assert inside == [(1, (8, 1))] * 6


@pytest.mark.parametrize(("outer", "workers"), [(1, 2), (2, 1)])
def test_a_search_and_its_estimators_do_not_both_run_in_parallel(backend, english, outer, workers):
    search = GridSearchCV(
        SpectralSHAG(n_jobs=2),
        {"n_states": [1, 2]},
        scoring=workers_of,
        cv=2,
        n_jobs=outer,
        error_score="raise",
    ).fit(english[:40])
    assert_array_equal(search.cv_results_["mean_test_score"], workers)


@pytest.mark.parametrize("name", ["spectral", "network"])
def test_within_tasks_no_estimator_starts_threads(backend, english, name):
    model = clone(ESTIMATORS[name]).set_params(n_jobs=2)
    task = outer_delayed(count_started_threads)(model, english[:40])
    assert Parallel(n_jobs=2)([task]) == [0]
    with parallel_config(backend="threading"):
        assert count_started_threads(model, english[:40]) > 0


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_linear_algebra_keeps_to_one_thread_meanwhile(n_jobs):
    with threadpool_limits(2, user_api="blas"):
        inside = run_parallel([delayed(blas_threads)() for _ in range(4)], n_jobs)
        assert inside == [{1}] * 4
        assert blas_threads() == {2}


def test_threads_have_the_configuration_of_numpy_and_of_scikit_learn():
    both = threading.Barrier(2, timeout=60)

    def look():
        both.wait()  # so that neither thread does both
        return np.geterr()["over"], sklearn.get_config()["working_memory"]

    with np.errstate(over="ignore"), sklearn.config_context(working_memory=7):
        assert run_parallel([delayed(look)() for _ in range(2)], 2) == [("ignore", 7)] * 2


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_who_watches_sees_parsing_go_on(english, n_jobs):
    """A bar that moves when all is done is none."""
    model, many = SpectralSHAG(2, n_jobs=n_jobs, verbose=1).fit(english), english * 10
    with mock.patch.object(_forest, "progress") as progress:
        model.predict(many)
    assert progress.call_args.args[1] == len(many)
    advance = progress.return_value.__enter__.return_value
    steps = [call.args[0] for call in advance.call_args_list]
    assert sum(steps) == len(many)
    assert len(steps) > 2
