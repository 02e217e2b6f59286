"""Kernels: numba comes with the first call, compiling is announced, any place will do."""

import os
import pickle
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numba
import numpy as np
import pytest
from numba.core import event

import sklearn_shag
from sklearn_shag import EMSHAG, DeterministicSHAG, SpectralSHAG, SpectralSHAGCV
from sklearn_shag.inspection import inspect_marginals
from sklearn_shag.operators._expectation import expected_uses
from sklearn_shag.utils import _kernel
from sklearn_shag.utils._kernel import kernel

compiles = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")

SOURCE = Path(sklearn_shag.__file__).parent
SENTENCES = 'X, y = [["DET", "NOUN", "VERB"], ["NOUN", "VERB"]], [[2, 3, 0], [2, 0]]\n'


def run(program, *, source=SOURCE.parent, **variables):
    """Run a program in a process of its own with kernels compiled; returns what it printed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    result = subprocess.run(
        [sys.executable, "-c", program],
        cwd=source,  # comes before any installed package
        env={**kept, **{name: str(value) for name, value in variables.items()}},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result


class TestFirstCall:
    def test_nothing_slow_is_imported_before_it(self):
        """Numba takes as long to import as all the rest of the package, clustering half as long."""
        run("""
import pickle, pkgutil, sys
import sklearn_shag
for info in pkgutil.walk_packages(sklearn_shag.__path__, "sklearn_shag."):
    if not info.name.endswith(("__main__", "_lanes_compiled")):
        __import__(info.name)
from sklearn.base import clone
for name in ("DeterministicSHAG", "EMSHAG", "SpectralSHAG", "SpectralSHAGCV"):
    estimator = clone(getattr(sklearn_shag, name)())
    estimator.set_params(**{**estimator.get_params(), "verbose": 1})
    pickle.loads(pickle.dumps(estimator)), repr(estimator)
sklearn_shag.datasets.load_english()
slow = {"numba", "llvmlite", "sklearn.cluster", "sklearn.decomposition"}
assert not slow & set(sys.modules), slow & set(sys.modules)
sklearn_shag.DeterministicSHAG().fit([["DET", "NOUN"]], [[2, 0]])
assert "numba" in sys.modules
""")

    def test_kernels_call_kernels(self):
        assert _count_down(5) == 15

    @compiles
    def test_a_kernel_is_its_dispatcher_to_numba(self):
        assert numba.typeof(_double).dispatcher is _double.dispatcher
        assert _quadruple(1.5) == 6.0

    def test_threads_that_come_first_share_what_is_made(self, monkeypatch):
        barrier = Barrier(2)

        def decorate(function, options):
            barrier.wait(timeout=60)
            return object()

        monkeypatch.setattr(_kernel, "_decorate", decorate)
        new = kernel(lambda x: x)
        with ThreadPoolExecutor(2) as pool:
            first, second = pool.map(lambda _: new.dispatcher, range(2))
        assert first is second is new.dispatcher

    @compiles
    def test_threads_compile_once(self, tmp_path):
        run(
            """
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
import numpy as np
from sklearn_shag.sequences import _extract
barrier = Barrier(4)
def extract(_):
    barrier.wait()
    return _extract.extract_sequences([0, 1], [2, 0], [0, 2], 2)
with ThreadPoolExecutor(4) as pool:
    first, *others = pool.map(extract, range(4))
for other in others:
    assert all(np.array_equal(a, b) for a, b in zip(first, other))
stats = _extract._breadth_first.dispatcher.stats
assert sum(stats.cache_misses.values()) == 1, stats
""",
            NUMBA_CACHE_DIR=tmp_path,
        )

    def test_without_compilation_a_kernel_is_the_function(self):
        run(
            """
from sklearn_shag.sequences import _extract
assert _extract._breadth_first.dispatcher is _extract._breadth_first.__wrapped__
assert _extract.extract_sequences([0, 1], [2, 0], [0, 2], 2).heads.tolist() == [3, 1, 1, 0, 0]
""",
            NUMBA_DISABLE_JIT=1,
        )

    def test_kernels_are_pickled_by_name(self):
        assert pickle.loads(pickle.dumps(expected_uses)) is expected_uses
        assert expected_uses.__name__ == "expected_uses"
        assert expected_uses.__doc__.startswith("Add the expected uses")

    @compiles
    def test_options_are_numba_s(self):
        assert _add_up.dispatcher.targetoptions["fastmath"] == {"reassoc"}
        assert _add_up.dispatcher.targetoptions["nogil"]
        assert _add_up(np.ones(5)) == 5.0


@kernel
def _double(x):
    return 2 * x


@kernel
def _quadruple(x):
    return _double(_double(x))


@kernel
def _count_down(n):
    return n + _count_down(n - 1) if n > 0 else 0


@kernel(fastmath={"reassoc"})
def _add_up(values):
    total = 0.0
    for value in values:
        total += value
    return total


@compiles
class TestAnnouncement:
    FIT = "from sklearn_shag import DeterministicSHAG\n" + SENTENCES
    FIT += "model = DeterministicSHAG(verbose={}).fit(X, y)\n"

    def test_once_if_something_is_compiled(self, tmp_path):
        """A fit compiles several kernels, the second call one more; then all are in the cache."""
        program = self.FIT.format(1) + "model.score_samples(X, y)"
        result = run(program, NUMBA_CACHE_DIR=tmp_path)
        assert result.stdout == ""
        (line,) = result.stderr.splitlines()
        assert line.startswith(f"Compiling the kernels of sklearn_shag (once; cached in {tmp_path}")
        assert len(list(tmp_path.rglob("*.nbi"))) == 3
        assert run(program, NUMBA_CACHE_DIR=tmp_path).stderr == ""

    def test_not_unless_asked_for(self, tmp_path):
        program = self.FIT.format(0) + "model.set_params(verbose=1).fit(X, y)"
        assert run(program, NUMBA_CACHE_DIR=tmp_path).stderr == ""

    def test_later_than_the_first_call(self, tmp_path):
        """What was compiled without a word, or for others, is no reason not to speak later."""
        program = (
            "import numba\n"
            + self.FIT.format(0)
            + "numba.njit(lambda: 1)()\nmodel.set_params(verbose=True).score_samples(X, y)"
        )
        assert run(program, NUMBA_CACHE_DIR=tmp_path).stderr.count("Compiling") == 1

    def test_other_kernels_are_not_announced(self, capsys):
        with _kernel.announce_compilation(1):
            assert numba.njit(lambda: 1)() == 1
        assert capsys.readouterr().err == ""

    @pytest.mark.parametrize(
        "call",
        [
            lambda model, X, y: DeterministicSHAG(verbose=1).fit(X, y),
            lambda model, X, y: SpectralSHAG(1, verbose=1).fit(X, y),
            lambda model, X, y: EMSHAG(1, init="moments", max_iter=1, tol=9, verbose=1).fit(X, y),
            lambda model, X, y: SpectralSHAGCV([1], smoothing=[5], cv=2, verbose=1).fit(X, y),
            lambda model, X, y: model.partial_fit(X, y),
            lambda model, X, y: SpectralSHAG(1, verbose=1).fit_statistics(model.statistics_),
            lambda model, X, y: model.predict(X),
            lambda model, X, y: model.predict_marginals(X),
            lambda model, X, y: model.score(X, y),
            lambda model, X, y: model.score_samples(X, y),
            lambda model, X, y: model.log_likelihood(X),
            lambda model, X, y: model.sample(),
            lambda model, X, y: inspect_marginals(model, X),
        ],
    )
    def test_by_everything_that_calls_kernels(self, call, monkeypatch, capsys):
        """As if numba compiled at every call of a kernel."""
        X, y = [["DET", "NOUN", "VERB"], ["NOUN", "VERB"]] * 2, [[2, 3, 0], [2, 0]] * 2
        model = DeterministicSHAG().fit(X, y).set_params(verbose=1)
        announced = []

        def compile_and_call(self, *args):
            with event.trigger_event("numba:compile", data={"dispatcher": self.dispatcher}):
                announced.append(_kernel._announced)
                return self.dispatcher(*args)

        monkeypatch.setattr(_kernel.Kernel, "__call__", compile_and_call)
        monkeypatch.setattr(_kernel, "_announced", False)
        call(model, X, y)
        assert all(announced)
        assert announced
        assert capsys.readouterr().err.count("Compiling the kernels of sklearn_shag") == 1


@compiles
class TestReadOnlyInstallation:
    """A copy of the package where nothing can be written, not even by the system's owner.

    A file stands where each folder for a cache would be made.
    """

    FIT = (
        SENTENCES
        + """
import sklearn_shag
from sklearn_shag import DeterministicSHAG
from sklearn_shag.sequences._extract import _breadth_first
model = DeterministicSHAG(decoder="viterbi", verbose=1).fit(X, y)
assert [heads.tolist() for heads in model.predict(X)] == y
print(sklearn_shag.__file__, _breadth_first.dispatcher.stats.cache_path, sep="\\n")
"""
    )

    @pytest.fixture
    def installed(self, tmp_path):
        site = tmp_path / "site-packages"
        without_caches = shutil.ignore_patterns("__pycache__")
        shutil.copytree(SOURCE, site / SOURCE.name, ignore=without_caches)
        folders = [path for path in site.rglob("*") if path.is_dir()]
        for folder in folders:
            (folder / "__pycache__").touch()
            folder.chmod(0o555)
        yield site
        for folder in folders:
            folder.chmod(0o755)

    def test_kernels_go_to_the_user_s_folder(self, installed, tmp_path):
        cache = tmp_path / "cache"
        before = sorted(installed.rglob("*"))
        result = run(self.FIT, source=installed, HOME=tmp_path, XDG_CACHE_HOME=cache)
        file, folder = result.stdout.splitlines()
        assert Path(file).is_relative_to(installed)
        assert Path(folder).is_relative_to(cache)
        assert list(Path(folder).glob("*.nbi"))
        assert f"(once; cached in {cache}" in result.stderr
        assert sorted(installed.rglob("*")) == before
        again = run(self.FIT, source=installed, HOME=tmp_path, XDG_CACHE_HOME=cache)
        assert again.stderr == ""

    def test_kernels_are_compiled_each_time_where_nothing_can_be_written(self, installed, tmp_path):
        (tmp_path / "cache").touch()  # again a file in place of the folder
        result = run(self.FIT, source=installed, HOME=tmp_path, XDG_CACHE_HOME=tmp_path / "cache")
        file, folder = result.stdout.splitlines()
        assert Path(file).is_relative_to(installed)
        assert folder == "None"
        assert "(in every process: no folder for a cache can be written)" in result.stderr


@compiles
def test_a_function_without_a_file_has_no_cache():
    namespace = {}
    exec("def double(x):\n    return 2 * x", namespace)
    with pytest.raises(RuntimeError, match="cannot cache"):
        numba.njit(cache=True)(namespace["double"])
    assert kernel(namespace["double"])(21) == 42
