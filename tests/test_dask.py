"""On a cluster of processes, learning, parsing and counting give what they give in one process."""

import os
import threading

import joblib
import pytest
from numpy.testing import assert_equal
from sklearn.base import clone

from sklearn_shag import SpectralSHAG
from sklearn_shag.sequences import count_treebank, merge_statistics
from sklearn_shag.treebank import DependencyTree, read_conllu, write_conllu
from sklearn_shag.utils._parallel import delayed, run_parallel
from tests.estimators import BY_SENTENCE, ESTIMATORS, assert_same_model, same

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.exhaustive  # it starts processes


@pytest.fixture(scope="module")
def client():
    """Connect to two processes of one thread each; joblib's backend finds the client by itself."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def count_file(path):
    return count_treebank(read_conllu(path))


def place():
    return os.getpid(), threading.get_ident()


def places_of_nested_tasks(n_jobs):
    return place(), run_parallel([delayed(place)() for _ in range(4)], n_jobs)


def test_tasks_leave_the_process_unless_they_are_tasks_of_a_task(client):
    with joblib.parallel_config(backend="dask"):
        places = run_parallel([delayed(place)() for _ in range(4)], n_jobs=None)
        assert place()[0] not in {process for process, _ in places}
        for n_jobs in (None, 2):
            tasks = [delayed(places_of_nested_tasks)(n_jobs) for _ in range(2)]
            for own_place, nested in run_parallel(tasks, n_jobs=2):
                assert nested == [own_place] * 4
        # joblib's backend for dask takes no notice of n_jobs.
        assert places_of_nested_tasks(n_jobs=1) == (place(), [place()] * 4)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_learning_and_parsing_on_the_cluster_are_the_local_ones(client, english, name):
    train, test = english[:100], english[100:150]
    local = clone(ESTIMATORS[name]).fit(train)
    with joblib.parallel_config(backend="dask"):
        remote = clone(ESTIMATORS[name]).fit(train)
        found = {name: getattr(remote, name)(test) for name in BY_SENTENCE if hasattr(remote, name)}
    assert_same_model(remote, local)
    for name, values in found.items():
        assert same(values, getattr(local, name)(test))


def test_files_counted_on_the_cluster_add_up_to_one_fit(client, english, tmp_path):
    interjection = DependencyTree(["Oh", "dear", "!"], [2, 0, 2], upos=["INTJ2", "INTJ", "PUNCT"])
    foreign = DependencyTree(["Ach", "so"], [0, 1], upos=["ACH", "ZZZ"])
    parts = [english[:120], [interjection, *english[120:240]], [foreign], english[240:]]
    paths = [tmp_path / f"{k}.conllu" for k in range(len(parts))]
    for path, trees in zip(paths, parts, strict=True):
        write_conllu(trees, path)
    every_tree = [tree for path in paths for tree in read_conllu(path)]
    assert len(every_tree) == len(english) + 2

    counted = client.gather(client.map(count_file, paths))
    # What only some files have is in the middle of the order as well as at its end.
    assert len({tuple(part.symbols) for part in counted}) > 2
    expected = SpectralSHAG(4).fit(every_tree)
    assert {"ACH", "INTJ2", "ZZZ"} < set(expected.symbols_)
    for statistics in (merge_statistics(counted), merge_statistics(counted[::-1])):
        assert_equal(statistics, count_treebank(every_tree))
        assert_same_model(SpectralSHAG(4).fit_statistics(statistics), expected)

    growing = SpectralSHAG(4)
    for path in paths:
        growing.partial_fit(read_conllu(path))
    assert_same_model(growing, expected)
