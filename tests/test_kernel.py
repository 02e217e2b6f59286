"""Kernels: numba comes with the first call, compiling is announced, any place will do."""

import os
import pickle
import re
import shutil
import subprocess
import sys
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import NamedTuple

import numba
import numpy as np
import pytest

import sklearn_shag
from sklearn_shag import DeterministicSHAG, SpectralSHAG
from sklearn_shag.learning._expectation import expected_uses
from sklearn_shag.parsing import _chart as _ladder
from sklearn_shag.utils import _kernel, _kernel_cache
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
        program = """
import pickle, pkgutil, sys
import sklearn_shag
for info in pkgutil.walk_packages(sklearn_shag.__path__, "sklearn_shag."):
    if not info.name.endswith(("__main__", "_simd_compiled", "_kernel_cache")):
        __import__(info.name)
from unittest import mock
from sklearn.base import clone
with mock.patch.object(sklearn_shag.DeterministicSHAG, "fit", lambda self, X, y: self):
    from tests.estimators import ESTIMATORS  # which has fitted helpers of mixtures
for estimator in map(clone, ESTIMATORS.values()):
    estimator.set_params(**{**estimator.get_params(), "verbose": 1})
    pickle.loads(pickle.dumps(estimator)), repr(estimator)
sklearn_shag.datasets.load_english()
slow = {"numba", "llvmlite", "sklearn.cluster", "sklearn.decomposition"}
assert not slow & set(sys.modules), slow & set(sys.modules)
sklearn_shag.DeterministicSHAG().fit([["DET", "NOUN"]], [[2, 0]])
assert "numba" in sys.modules
"""
        run(program, PYTHONPATH=Path(__file__).parents[1])

    def test_the_package_by_itself_imports_no_library(self):
        """So that help, and an error in the options, come at once."""
        run("""
import sys
import sklearn_shag
from sklearn_shag.cli._main import main
assert set(sklearn_shag.__all__) <= set(dir(sklearn_shag))
assert not hasattr(sklearn_shag, "SpectralSHAQ")
for arguments, status in (["--help"], 0), (["parse", "--help"], 0), (["parse"], 2):
    try:
        main(arguments)
    except SystemExit as error:
        assert error.code == status
    else:
        raise AssertionError(arguments)
assert not {"numpy", "scipy", "sklearn", "numba"} & set(sys.modules)
assert sklearn_shag.treebank.DependencyTree.__name__ in dir(sklearn_shag.treebank)
from sklearn_shag import SpectralSHAG
assert vars(sklearn_shag)["SpectralSHAG"] is SpectralSHAG
assert not {"numba", "sklearn.metrics", "sklearn.model_selection"} & set(sys.modules)
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


@compiles
class TestPrivateOptions:
    """Options that numba does not document, and may drop without an error."""

    @pytest.mark.parametrize(
        ("decorator", "counts_references", "is_called"),
        [
            (kernel, True, True),
            (_kernel.table_kernel, False, True),
            (_kernel.inlined_kernel, False, False),
            (_kernel.merged_kernel, False, False),
        ],
        ids=["kernel", "table_kernel", "inlined_kernel", "merged_kernel"],
    )
    def test_they_do_what_they_are_for(self, decorator, counts_references, is_called):
        def options(decorator):
            return {} if decorator is kernel else decorator.keywords

        part = numba.njit(**options(decorator))(_part_of_a_kernel)

        @numba.njit(**options(_kernel.table_kernel if decorator is not kernel else kernel))
        def whole(values):
            rows = values[2:].reshape((2, 4))
            return part(rows[0], 2) + part(rows[1], 3)

        whole(np.arange(10.0))
        (code,) = whole.inspect_llvm().values()
        assert ("NRT_incref" in code) == counts_references
        assert bool(re.search("call .*_part_of_a_kernel", code)) == is_called


def _part_of_a_kernel(values, n):
    """Too long for the compiler to make it part of others by itself."""
    total = 0.0
    for i in range(n):
        total += values[i] * np.sin(total)
        for j in range(n):
            total += values[j] * np.cos(total + values[i])
            for k in range(n):
                total += values[k] * np.tan(total - values[j])
    return total


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
    FIT += "model = DeterministicSHAG().fit(X, y)\n"

    def test_once_if_something_is_compiled(self, tmp_path):
        """A fit compiles several kernels, the second call one more; then all are in the cache."""
        program = self.FIT + "model.score_samples(X, y)"
        result = run(program, NUMBA_CACHE_DIR=tmp_path)
        assert result.stdout == ""
        (line,) = result.stderr.splitlines()
        assert line.startswith("sklearn_shag compiles its numerical kernels for this processor")
        assert f"once; the result is kept in {tmp_path}" in line
        assert len(list(tmp_path.rglob("*.nbc"))) == 3
        assert run(program, NUMBA_CACHE_DIR=tmp_path).stderr == ""

    def test_before_it_begins(self, tmp_path):
        """What is printed when the first kernel is about to be compiled comes later."""
        program = """
import sys
from numba.core import compiler
compile_extra = compiler.compile_extra
def tell(*args, **kwargs):
    print("compiling", file=sys.stderr)
    return compile_extra(*args, **kwargs)
compiler.compile_extra = tell
"""
        lines = run(program + self.FIT, NUMBA_CACHE_DIR=tmp_path).stderr.splitlines()
        assert lines[0].startswith("sklearn_shag compiles its numerical kernels")
        assert "compiling" in lines[1:]

    def test_logging_can_silence_it(self, tmp_path):
        program = "import logging\nlogging.getLogger('sklearn_shag').setLevel('ERROR')\n"
        assert run(program + self.FIT, NUMBA_CACHE_DIR=tmp_path).stderr == ""

    @pytest.mark.exhaustive
    def test_other_kernels_are_not_announced(self, tmp_path):
        program = self.FIT + "import numba\nassert numba.njit(lambda: 1)() == 1\n"
        run(self.FIT, NUMBA_CACHE_DIR=tmp_path)
        assert run(program, NUMBA_CACHE_DIR=tmp_path).stderr == ""


def test_fallbacks_are_called_only_where_a_sentence_needs_them(english, monkeypatch):
    """They are slow."""
    calls = []

    def run_scaled(*arguments):
        calls.append(arguments)
        return original(*arguments)

    original = _ladder.run_scaled
    monkeypatch.setattr(_ladder, "run_scaled", run_scaled)
    for model in (DeterministicSHAG("single"), DeterministicSHAG("first"), SpectralSHAG()):
        model.fit(english)
        model.predict(english[:100]), model.predict_marginals(english[:100])
        model.log_likelihood(english[:100])
        assert not calls
    assert "DET" not in {tree.symbols[tree.heads.argmin()] for tree in english}
    DeterministicSHAG().fit(english).predict([["DET"]])  # no mass: was never a root
    assert not calls


@compiles
@pytest.mark.exhaustive
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
model = DeterministicSHAG(decoder="viterbi").fit(X, y)
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
        assert list(Path(folder).glob("*.nbc"))
        assert f"once; the result is kept in {cache}" in result.stderr
        assert sorted(installed.rglob("*")) == before
        again = run(self.FIT, source=installed, HOME=tmp_path, XDG_CACHE_HOME=cache)
        assert again.stderr == ""

    def test_kernels_are_compiled_each_time_where_nothing_can_be_written(self, installed, tmp_path):
        (tmp_path / "cache").touch()  # again a file in place of the folder
        result = run(self.FIT, source=installed, HOME=tmp_path, XDG_CACHE_HOME=tmp_path / "cache")
        file, folder = result.stdout.splitlines()
        assert Path(file).is_relative_to(installed)
        assert folder == "None"
        assert "in every process, since no folder for the result can be written" in result.stderr


@compiles
class TestStaleCache:
    """Kernels are changed while the machine code of those that call them lies in the cache."""

    # Compiled are `_find_trees` and, as part of it, `best_tree` of another file.
    DECODE = """
import numpy as np
from sklearn_shag.parsing import _parse
heads = np.full(3, -1)
scores = np.array([0, 0, 9, 0, 9, 0, 0, 0, 0, 0, 9, 0], dtype=float)
_parse._find_trees(scores, np.array([0, 12]), np.array([0, 3]), heads)
print(heads.tolist(), sum(_parse._find_trees.dispatcher.stats.cache_hits.values()))
"""

    @pytest.fixture
    def copy(self, tmp_path):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(SOURCE, tmp_path / SOURCE.name, ignore=ignored)
        for path in tmp_path.rglob("*"):  # also from a checkout that cannot be written
            path.chmod(0o755)
        assert run(self.DECODE, source=tmp_path).stdout == "[2, 0, 2] 0\n"
        return tmp_path

    def test_a_changed_kernel_is_seen_by_those_that_call_it(self, copy):
        path = copy / SOURCE.name / "parsing" / "_decoders.py"
        source = path.read_text(encoding="utf-8")
        assert "heads[root - 1] = 0\n" in source
        path.write_text(source.replace("heads[root - 1] = 0\n", "heads[root - 1] = 7\n"), "utf-8")
        assert run(self.DECODE, source=copy).stdout == "[2, 7, 2] 0\n"

    def test_other_files_keep_the_cache(self, copy):
        assert run(self.DECODE, source=copy).stdout == "[2, 0, 2] 1\n"
        with open(copy / SOURCE.name / "_parser.py", "a", encoding="utf-8") as file:
            file.write("# changed\n")
        assert run(self.DECODE, source=copy).stdout == "[2, 0, 2] 1\n"


class Pair(NamedTuple):
    first: float
    second: float


def _difference(pair):
    return pair[0] - 2 * pair[1]


@compiles
class TestCache:
    """Whatever lies in the folder of the cache, kernels do what they do."""

    @pytest.fixture
    def call(self, tmp_path, monkeypatch):
        """Call the kernel as a new process would; returns its value, and whether it was cached."""
        monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))

        def call(pair=Pair(5.0, 1.0), sources="sources"):  # noqa: B008 (immutable)
            dispatcher = numba.njit(_difference)
            dispatcher._cache = _kernel_cache.KernelCache(_difference, sources)
            return dispatcher(pair), sum(dispatcher.stats.cache_hits.values()) == 1

        return call

    @pytest.fixture
    def file(self, call, tmp_path):
        assert call() == (3.0, False)
        assert call() == (3.0, True)
        (file,) = tmp_path.rglob("*.nb*")
        return file

    @pytest.mark.parametrize("kept", [0, 31, 40, 0.5, 0.999])
    @pytest.mark.parametrize("rest", [b"", bytes(10_000)])
    def test_damaged_files_are_written_anew(self, call, file, kept, rest):
        content = file.read_bytes()
        file.write_bytes(content[: int(kept if kept >= 1 else kept * len(content))] + rest)
        assert call() == (3.0, False)
        assert call() == (3.0, True)

    @pytest.mark.parametrize("error", [AttributeError, ImportError, RuntimeError, KeyError])
    def test_what_does_not_load_is_compiled(self, call, file, monkeypatch, error):
        """As of a class that has moved, where all else is as it was."""

        def fail(content):
            raise error("moved")

        with monkeypatch.context() as context:
            context.setattr(_kernel_cache.pickle, "loads", fail)
            assert call() == (3.0, False)
        assert call() == (3.0, True)

    def test_code_belongs_to_types_fields_and_sources(self, call, file):
        turned = namedtuple("Pair", ["second", "first"])
        for pair in (Pair(5, 1), Pair(np.float32(5), np.float32(1)), turned(5.0, 1.0), (5.0, 1.0)):
            assert call(pair) == (3.0, False)
            assert call(pair) == (3.0, True)
        assert len(list(file.parent.iterdir())) == 5
        assert call(sources="others") == (3.0, False)
        (other,) = file.parent.iterdir()  # those of the old sources are gone
        assert other.name != file.name

    @pytest.mark.parametrize("name", ["write_bytes", "replace"])
    def test_a_full_disk(self, call, file, monkeypatch, name):
        file.write_bytes(b"damaged")

        def fail(*_):
            raise OSError(28, "No space left on device")

        place = _kernel_cache.os if name == "replace" else _kernel_cache.Path
        monkeypatch.setattr(place, name, fail)
        assert call() == (3.0, False)
        assert [path.read_bytes() for path in file.parent.iterdir()] == [b"damaged"]

    def test_a_folder_that_is_closed_meanwhile(self, call, file, monkeypatch):
        """Also to the system's owner, since a file is where it was."""

        def close(self):
            shutil.rmtree(file.parent)
            file.parent.touch()

        monkeypatch.setattr(_kernel_cache.CodeFiles, "_remove_old", close)
        file.unlink()
        assert call() == (3.0, False)
        assert file.parent.is_file()

    def test_what_others_left_is_removed(self, call, file):
        """Files of other versions and of numba's cache, and those of processes that were killed."""
        base = file.name.rsplit(".", 3)[0]
        old, new = file.name + ".tmp.old", file.name + ".tmp.new"
        for name in (base + ".nbi", base + ".1.nbc", old, new, "x-1.py311.1.nbc", base + "x.nbi"):
            file.with_name(name).touch()
        os.utime(file.with_name(old), (0, 0))
        file.unlink()
        assert call() == (3.0, False)
        left = {path.name for path in file.parent.iterdir()}
        assert left == {file.name, new, "x-1.py311.1.nbc", base + "x.nbi"}

    def test_a_killed_process_leaves_nothing_that_is_read(self, tmp_path):
        program = f"""
import signal
from tests.test_kernel import _difference, _kernel_cache, numba, Pair
numba.config.CACHE_DIR = {str(tmp_path)!r}
dispatcher = numba.njit(_difference)
dispatcher._cache = _kernel_cache.KernelCache(_difference, "sources")
_kernel_cache.os.replace = lambda *_: signal.raise_signal(signal.SIGKILL)
dispatcher(Pair(5.0, 1.0))
"""
        folder = str(Path(__file__).parents[1])
        environment = {**os.environ, "PYTHONPATH": folder}
        ended = subprocess.run([sys.executable, "-c", program], env=environment, check=False)
        assert ended.returncode == -9
        (left,) = (path for path in tmp_path.rglob("*") if path.is_file())
        assert ".nbc.tmp." in left.name

    def test_processes_at_the_same_time(self, file):
        """Each finds what another has written whole, or nothing."""
        files = _kernel_cache.CodeFiles(file.parent, "base", ("1", "2"))
        data = {key: bytes([key]) * 100_000 for key in range(4)}

        def work(_):
            for key, content in data.items():
                assert files.load(key) in (None, content)
                files.save(key, content)
                assert files.load(key) == content

        with ThreadPoolExecutor(8) as executor:
            list(executor.map(work, range(40)))
        assert not list(file.parent.glob("*.tmp.*"))


@compiles
def test_a_function_without_a_file_has_no_cache():
    namespace = {}
    exec("def double(x):\n    return 2 * x", namespace)
    with pytest.raises(RuntimeError, match="cannot cache"):
        numba.njit(cache=True)(namespace["double"])
    assert kernel(namespace["double"])(21) == 42
