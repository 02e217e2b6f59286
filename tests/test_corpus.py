"""The engines of examples/at_scale/corpus.py give the files that one process gives."""

import io
import os
import sys
from contextlib import redirect_stdout

import pytest

from sklearn_shag import BiaffineParser, save_model
from sklearn_shag.treebank import read_horizontal, write_conllu
from tests.processes import METHOD
from tests.test_architecture import load_script


@pytest.fixture(scope="module")
def corpus(tmp_path_factory, english):
    """The module, a model, files of tokens, and what is to be written."""
    module = load_script("examples", "at_scale", "corpus.py")
    folder = tmp_path_factory.mktemp("corpus")
    parser = BiaffineParser(
        ["form"], hidden_layer_sizes=[4], max_iter=1, tags="upos", random_state=0
    )
    parser.fit(english[:30])
    save_model(parser, folder / "model.npz")
    expected = {}
    for k in range(3):
        source = folder / f"part-{k}.txt"
        trees = english[100 + 10 * k : 110 + 10 * k]
        source.write_text("\n".join(" ".join(tree.forms) for tree in trees), encoding="utf-8")
        text = io.StringIO()
        write_conllu(parser.parse(read_horizontal(source)), text)
        expected[str(source)] = text.getvalue()
    return module, str(folder / "model.npz"), expected


def check(corpus, folder, parse, *engine):
    _, model, expected = corpus
    targets = parse(model, list(expected), str(folder), *engine)
    assert sorted(map(os.path.basename, targets)) == [f"part-{k}.conllu" for k in range(3)]
    for source, text in expected.items():
        name = os.path.basename(source).replace(".txt", ".conllu")
        assert (folder / name).read_text(encoding="utf-8") == text


def test_one_process(corpus, tmp_path):
    module, model, expected = corpus
    parser = module.FileParser(model, tmp_path)
    check(corpus, tmp_path, lambda *_: [parser.parse(source) for source in expected])


def test_dask(corpus, tmp_path, monkeypatch):
    dask = pytest.importorskip("dask")
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(distributed.utils, "_forkserver_preload_set", True)  # to our modules
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        dask.config.set({"distributed.worker.multiprocessing-method": METHOD}),
        distributed.Client(**options),
    ):
        check(corpus, tmp_path, corpus[0].with_dask)


@pytest.mark.exhaustive
def test_ray(corpus, tmp_path):
    ray = pytest.importorskip("ray")
    pytest.importorskip("ray.data")
    with redirect_stdout(io.StringIO()):
        ray.init(num_cpus=2, include_dashboard=False)
        try:
            check(corpus, tmp_path, corpus[0].with_ray)
        finally:
            ray.shutdown()


@pytest.mark.exhaustive
def test_spark(corpus, tmp_path, monkeypatch):
    sql = pytest.importorskip("pyspark.sql")
    pytest.importorskip("pyarrow")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    spark = sql.SparkSession.builder.master("local[2]").getOrCreate()
    try:
        check(corpus, tmp_path, corpus[0].with_spark, spark)
    finally:
        spark.stop()
