"""Fixtures: random grammars, and real treebanks where there are some."""

import gc
import io
import multiprocessing
import os
from functools import cache, partial
from multiprocessing import forkserver
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from joblib.externals.loky.backend import context
from sklearn.base import clone

from sklearn_shag import BiaffineParser, CRFParser, Splitter, Tagger
from sklearn_shag.cli import _models, _recipe, _suggest, main
from sklearn_shag.datasets import fetch_treebank, find_model, load_english, load_parser
from sklearn_shag.operators import Operators
from sklearn_shag.treebank import remove_punctuation, write_conllu
from tests.estimators import BLIND, COUNTING, ESTIMATORS, ONE_BY_ONE, TRANSFORMERS, with_labels
from tests.processes import METHOD, annotate_bundled, annotate_files, copy_pipeline, starting

# A time limit per example measures the machine: a busy one fails a test that compiles or waits.
settings.register_profile("sklearn_shag", deadline=None)
settings.load_profile("sklearn_shag")
collect_ignore = ["preload.py"]  # or the search for docstrings would import it


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """What real treebanks show takes long: it is exhaustive."""
    for item in items:
        if "treebank" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.exhaustive)
    # Garbage is not looked for among all that was imported, and seldom among what was compiled.
    gc.freeze()
    gc.set_threshold(100_000, 10, 100)


def pytest_sessionfinish():
    """Find what garbage complains of; pytest then looks ten times, for which nothing is left."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def fork_server():
    """Let processes be copies of one that has imported the package, where it is safe to fork."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[1]), prepend=os.pathsep)
        if METHOD == "forkserver":  # elsewhere loky's own way stays
            patch.setattr(context, "_DEFAULT_START_METHOD", METHOD)
        multiprocessing.set_forkserver_preload(["tests.preload"])
        yield
    if METHOD == "forkserver":
        for process in multiprocessing.active_children():
            process.kill()
        forkserver._forkserver._stop()  # its time counts as that of the tests


@pytest.fixture(scope="session")
def english():
    """The trees of the bundled treebank."""
    return load_english().data


@pytest.fixture(scope="session")
def bundled():
    """The bundled English parser, for tests that only read."""
    return load_parser()


@pytest.fixture
def quick_english(bundled, monkeypatch):
    """Let commands copy the bundled parser: to read its file takes five times as long."""
    path, load_model = find_model("english"), _models.load_model

    def copy_bundled(name, *, embeddings=None, dictionary=None):
        if name == path and dictionary is None:
            return copy_pipeline(bundled)
        return load_model(name, embeddings=embeddings, dictionary=dictionary)

    monkeypatch.setattr(_models, "load_model", copy_bundled)


@pytest.fixture
def run_command(capsys):
    """Run a command; give its status, its output, and its lines of complaints."""

    def run(*arguments):
        status = main(list(map(str, arguments)))
        out, err = capsys.readouterr()
        return status, out, err.replace(f"sklearn-shag {arguments[0]}: ", "").splitlines()

    return run


@pytest.fixture
def small_networks(monkeypatch):
    """Let commands train networks, taggers and linear parsers in a moment."""
    small = {"hidden_layer_sizes": [4], "max_iter": 1}
    tagging = small | {"columns": ["form", "suffix"]}  # letters have a million parameters
    network = tagging | {"calibrate": False}  # or two halves are trained on as well
    linear = {"n_features": 2**12, "max_iter": 1, "calibrate": False}
    monkeypatch.setitem(_recipe.LEARNERS, "biaffine", BiaffineParser(**network))
    monkeypatch.setitem(_recipe.LEARNERS, "crf", CRFParser(**linear))
    for module, kind, options in (
        (_suggest, CRFParser, linear),
        (_suggest, BiaffineParser, network),
        (_recipe, Tagger, tagging | {"cv": 2, "max_iter": 4}),
        (_recipe, Splitter, small),
    ):
        monkeypatch.setattr(module, kind.__name__, partial(kind, **options))


@pytest.fixture(scope="session")
def trees(english):
    """Those that :func:`fitted` learns from, too."""
    return english[:30]


@pytest.fixture(scope="session")
def unpunctuated(english):
    """Trees without punctuation, as learners from raw text like them."""
    return remove_punctuation(english[:150])


@pytest.fixture(scope="session")
def fitted(english):
    """Give estimators and transformers by name, each fitted once, for tests that only read."""

    @cache
    def fit(name):
        return clone((ESTIMATORS | TRANSFORMERS)[name]).fit(english[:30])

    return fit


@pytest.fixture(scope="session")
def with_relations(english, fitted):
    """Give parsers by name that know relations: those of y, where they learn from raw text."""

    @cache
    def fit(name):
        if name in BLIND or fitted(name).labels_.size:
            return fitted(name)
        return with_labels(clone(ESTIMATORS[name])).fit(english[:30], english[:30])

    return fit


@pytest.fixture(scope="session")
def weights():
    """Weights of those trees, as often as which each may be repeated."""
    return np.arange(30) % 3


@pytest.fixture(scope="session")
def test(english):
    """Trees that those models have not seen."""
    return english[200:240]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(params=[n for n in ESTIMATORS if n not in ONE_BY_ONE and n not in BLIND])
def repeating(request):
    """Every estimator to which sentences with weights are repeated sentences."""
    return clone(ESTIMATORS[request.param])


@pytest.fixture(params=[n for n, each in ESTIMATORS.items() if each._needs_whole_trees])
def of_whole_trees(request):
    """Every estimator that does not learn from trees that are known in part."""
    return clone(ESTIMATORS[request.param])


@pytest.fixture(params=COUNTING)
def counting(request):
    """Every estimator that learns from counts alone."""
    return clone(COUNTING[request.param])


@pytest.fixture
def random_grammar():
    """Make a grammar of random operators; signed ones have no probabilistic meaning."""

    def make(seed, n_symbols=3, n_states=2, signed=False):
        rng = np.random.default_rng(seed)
        low = -1.0 if signed else 0.05
        shapes = [(n_states,), (n_states,), (n_symbols + 1, n_states, n_states)]
        return Operators(*(rng.uniform(low, 1.0, size=(n_symbols + 2, 2, *s)) for s in shapes))

    return make


@pytest.fixture
def start_annotate():
    """Start the command annotate in a folder; give its process, which prints its address."""
    with starting() as start:
        yield lambda folder: start(annotate_bundled, annotate_files(folder))


@pytest.fixture(scope="session")
def official():
    """The official evaluation, of true and predicted trees."""
    udeval = pytest.importorskip("udtools.udeval", reason="needs the official evaluator, udtools")

    def evaluate(*sides):
        loaded = []
        for trees in sides:
            file = io.StringIO()
            write_conllu(trees, file)
            file.seek(0)
            loaded.append(udeval.load_conllu(file, "<memory>", {}))
        return udeval.evaluate(*loaded)

    return evaluate


@pytest.fixture(scope="session")
def treebank():
    """Load a real treebank by name, or skip where there is none."""
    home = os.environ.get("SKLEARN_SHAG_DATA")
    loaded = {}

    def load(name):
        if home is None or not Path(home, name).is_dir():
            pytest.skip(f"needs the folder {name} in the folder named by SKLEARN_SHAG_DATA")
        if name not in loaded:
            loaded[name] = fetch_treebank(name, download_if_missing=False)
        return loaded[name]

    return load
