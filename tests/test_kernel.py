"""Kernels: numba comes with the first call, code is kept in one folder, waits are announced."""

import ast
import inspect
import os
import pickle
import re
import shutil
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from threading import Barrier
from typing import NamedTuple
from unittest import mock

import numba
import numpy as np
import pytest

import sklearn_shag
from sklearn_shag.automata._expectation import expected_uses
from sklearn_shag.utils import _kernel, _kernel_cache
from sklearn_shag.utils._kernel import kernel
from tests.processes import run

compiles = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")

SOURCE = Path(sklearn_shag.__file__).parent


def test_nothing_slow_is_imported_before_the_first_call():
    """The package by itself imports no library, so that help, and errors in options, come at once.

    Numba takes as long to import as all the rest of the package, clustering half as long.
    """
    program = """
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

import pickle, pkgutil
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


class TestKernel:
    def test_they_are_pickled_by_name(self):
        assert pickle.loads(pickle.dumps(expected_uses)) is expected_uses
        assert expected_uses.__name__ == "expected_uses"
        assert expected_uses.__doc__.startswith("Add the expected uses")

    @compiles
    def test_they_are_dispatchers_to_numba_with_its_options(self):
        assert numba.typeof(_quadruple).dispatcher is _quadruple.dispatcher
        assert _add_up.dispatcher.targetoptions["fastmath"] == {"reassoc"}
        assert _add_up.dispatcher.targetoptions["nogil"]
        assert _add_up(np.ones(5)) == 5.0

    def test_without_compilation_they_are_the_functions_and_warn_of_nothing(self, monkeypatch):
        monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
        new = kernel(_difference)
        assert inspect.unwrap(new.dispatcher) is _difference
        assert new((5, 1)) == 3
        assert new((np.float64(-1e308), np.float64(1e308))) == -np.inf
        assert np.isnan(new((np.float64(np.inf), np.float64(np.inf))))

    def test_threads_that_come_first_share_what_is_made(self, monkeypatch):
        barrier = Barrier(2)

        def decorate(function, options):
            barrier.wait(timeout=60)
            return object()

        monkeypatch.setattr(_kernel, "_make_dispatcher", decorate)
        new = kernel(lambda x: x)
        with ThreadPoolExecutor(2) as pool:
            first, second = pool.map(lambda _: new.dispatcher, range(2))
        assert first is second is new.dispatcher


@compiles
def test_private_options_do_what_they_are_for():
    """Numba does not document them, and may drop them without an error."""

    def options(decorator):
        return {} if decorator is kernel else decorator.keywords

    def compile_with(decorator):
        """Whether code counts references, and whether it calls a part of it."""
        part = numba.njit(**options(decorator))(_part_of_a_kernel)

        @numba.njit(**options(_kernel.table_kernel if decorator is not kernel else kernel))
        def whole(values):
            rows = values[2:].reshape((2, 4))
            return part(rows[0], 2) + part(rows[1], 3)

        whole(np.arange(10.0))
        (code,) = whole.inspect_llvm().values()
        return "NRT_incref" in code, bool(re.search("call .*_part_of_a_kernel", code))

    assert compile_with(kernel) == (True, True)
    assert compile_with(_kernel.table_kernel) == (False, True)
    assert compile_with(_kernel.inlined_kernel) == (False, False)
    assert compile_with(_kernel.merged_kernel) == (False, False)


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


@kernel(fastmath={"reassoc"})
def _add_up(values):
    total = 0.0
    for value in values:
        total += value
    return total


class Pair(NamedTuple):
    first: float
    second: float


def _difference(pair):
    return pair[0] - 2 * pair[1]


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Call a kernel as a new process would; returns its value, and whether it was in the cache."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))

    forget = _kernel_cache.can_write.cache_clear

    def call(pair=Pair(5.0, 1.0), sources=16 * "a"):  # noqa: B008 (immutable)
        monkeypatch.setattr(_kernel_cache, "_digest_sources", lambda: sources)
        forget()
        new = kernel(_difference)
        return new(pair), sum(new.dispatcher.stats.cache_hits.values()) == 1

    yield call
    forget()


@pytest.fixture
def file(call, tmp_path):
    """The file with the code of that kernel, which has been called once."""
    assert call() == (3.0, False)
    assert call() == (3.0, True)
    (file,) = (path for path in tmp_path.rglob("*") if path.is_file())
    assert file.parent == tmp_path / "cache" / "sklearn_shag" / (16 * "a")
    return file


@compiles
class TestCache:
    """Whatever lies in the folder of the cache, kernels do what they do."""

    def test_damaged_files_are_written_anew(self, call, file):
        content = file.read_bytes()
        ends = [0, 31, 40, len(content) // 2, len(content) - 9]
        middle = len(content) // 2
        flipped = content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :]
        cut = [content[:end] + rest for end in ends for rest in (b"", bytes(10_000))]
        for damaged in [flipped, *cut]:
            file.write_bytes(damaged)
            assert call() == (3.0, False)
            assert call() == (3.0, True)

    def test_what_does_not_load_is_compiled(self, call, file, monkeypatch):
        """As of a class that has moved, where all else is as it was."""
        for error in (AttributeError, ImportError, RuntimeError, KeyError):
            with monkeypatch.context() as context:
                context.setattr(
                    _kernel_cache.pickle, "loads", mock.Mock(side_effect=error("moved"))
                )
                assert call() == (3.0, False)
            assert call() == (3.0, True)

    def test_code_belongs_to_types_and_fields(self, call, file):
        turned = namedtuple("Pair", ["second", "first"])
        singles = Pair(np.float32(5), np.float32(1))
        arrays = np.array([5.0, 1.0]), np.array([5, 1])
        for pair in (Pair(5, 1), singles, turned(5.0, 1.0), (5.0, 1.0), *arrays):
            assert call(pair) == (3.0, False)
            assert call(pair) == (3.0, True)
        assert len(list(file.parent.iterdir())) == 7

    def test_code_belongs_to_processors_and_versions(self, call, file, monkeypatch):
        codegen = type(_add_up.dispatcher.targetctx.codegen())
        with monkeypatch.context() as context:
            context.setattr(codegen, "magic_tuple", lambda self: ("another", "processor"))
            assert call() == (3.0, False)
        assert call() == (3.0, True)
        monkeypatch.undo()
        of_sources = _kernel_cache._digest_sources.__wrapped__
        digests = {of_sources()}
        monkeypatch.setattr(numba, "__version__", "another")
        digests.add(of_sources())
        monkeypatch.setattr(_kernel_cache.sys, "abiflags", "another", raising=False)
        digests.add(of_sources())
        assert len(digests) == 3

    def test_folders_of_other_sources_are_removed_after_a_month(self, call, file):
        """And nothing else that lies there."""
        root = file.parents[1]
        (root / "mine").mkdir()
        for folder in (root, root / "mine", file.parent):
            os.utime(folder, (0, 0))
        assert call() == (3.0, True)
        assert file.is_file()
        assert call(sources=16 * "b") == (3.0, False)
        assert {path.name for path in root.iterdir()} == {"mine", 16 * "b"}
        assert call(sources=16 * "c") == (3.0, False)
        assert call(sources=16 * "b") == (3.0, True)

    def test_a_full_disk(self, call, file, monkeypatch):
        file.write_bytes(b"damaged")
        full = mock.Mock(side_effect=OSError(28, "No space left on device"))
        for name in ("replace", "fsync"):
            with monkeypatch.context() as context:
                context.setattr(os, name, full)
                assert call() == (3.0, False)
            assert [path.read_bytes() for path in file.parent.iterdir()] == [b"damaged"]

    def test_processes_at_the_same_time(self, tmp_path):
        """Each finds what another has written whole, or nothing."""
        data = {tmp_path / f"{key}.nbc": bytes([key]) * 100_000 for key in range(4)}

        def work(_):
            for path, content in data.items():
                assert not path.exists() or _kernel_cache.read_code(path) == content
                _kernel_cache.write_code(path, content)
                assert _kernel_cache.read_code(path) == content

        with ThreadPoolExecutor(8) as executor:
            list(executor.map(work, range(24)))
        assert sorted(tmp_path.iterdir()) == sorted(data)

    @pytest.mark.exhaustive
    def test_processes_that_compile_at_the_same_time(self):
        script = Path(__file__).parents[1] / "benchmarks" / "kernel_cache.py"
        program = f"""
import runpy, sys
sys.argv = [{str(script)!r}, "20"]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
        printed = run(program).stdout
        assert re.search(r"\A20 rounds in \d+ s\n +20 all is right\n\Z", printed)


@compiles
class TestAnnouncement:
    NAME = f"{__name__}._difference"

    @pytest.fixture
    def said(self, monkeypatch, caplog):
        monkeypatch.setitem(_kernel_cache.SLOW, self.NAME, ("differences", 7))
        return caplog

    def test_it_comes_before_what_takes_long(self, call, said, tmp_path, monkeypatch):
        """Once, and not for what is in the cache, nor for kernels that take less than a second."""
        compile_result = numba.core.compiler.compile_extra
        n_said = []

        def compile_extra(*args, **kwargs):
            n_said.append(len(said.messages))
            return compile_result(*args, **kwargs)

        monkeypatch.setattr(numba.core.compiler, "compile_extra", compile_extra)
        assert call() == (3.0, False)
        assert n_said == [1]
        assert call() == (3.0, True)
        folder = tmp_path / "cache" / "sklearn_shag" / (16 * "a")
        assert said.messages == [
            "sklearn_shag compiles its kernel for differences, which takes about 7 s, once; the "
            f"result is kept in {folder}."
        ]
        del _kernel_cache.SLOW[self.NAME]
        assert call(Pair(5, 1)) == (3, False)
        assert len(said.messages) == 1

    def test_where_nothing_can_be_written(self, call, said, tmp_path):
        (tmp_path / "cache").touch()  # a file in place of the folder stops the system's owner too
        for _ in range(2):
            assert call() == (3.0, False)
        assert len(said.messages) == 2
        assert re.search(
            "about 7 s, in every process, since .*cache.* cannot be written; set the environment "
            "variable NUMBA_CACHE_DIR to a folder that can.",
            said.messages[0],
        )

    def test_a_folder_that_cannot_be_written_is_read(self, call, file, said, monkeypatch):
        """As one that was filled when an image was built, by another user."""
        monkeypatch.setattr(
            _kernel_cache.tempfile, "TemporaryFile", mock.Mock(side_effect=OSError())
        )
        assert call() == (3.0, True)
        assert said.messages == []
        assert call(Pair(5, 1)) == (3, False)
        assert "in every process" in said.messages[0]
        assert list(file.parent.iterdir()) == [file]

    def test_it_is_about_kernels(self):
        for name in _kernel_cache.SLOW:
            module, _, function = name.rpartition(".")
            found = getattr(import_module(f"sklearn_shag.{module}"), function)
            assert isinstance(found, _kernel.Kernel), name
            assert "no_cpython_wrapper" not in found.targetoptions, name


# Compiled are `find_trees` and, as part of it, `best_tree`.
DECODE = """
import sys
import numpy as np
from sklearn_shag.parsing import _decoders
heads = np.full(3, -1)
scores = np.array([0, 0, 9, 0, 9, 0, 0, 0, 0, 0, 9, 0], dtype=float)
_decoders.find_trees(scores, np.array([0, 12]), np.array([0, 3]), *_decoders.new_space(3), heads)
hits = sum(_decoders.find_trees.dispatcher.stats.cache_hits.values())
print(heads.tolist(), hits, "numba.np.arrayobj" in sys.modules)
"""


def test_undecorated_functions_alone_are_left_out_of_the_digest_of_sources():
    """By another reading of the files, of which a kernel may use whatever is made at import."""
    left_out, called = set(), set()
    for path in SOURCE.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        if "_kernel" not in source:
            continue
        lines, compiled = source.splitlines(), _kernel_cache.read_compiled(path).decode()
        if path.parent.name == "utils":
            assert compiled == source
            continue
        python = [
            node
            for node in ast.parse(source).body
            if isinstance(node, ast.FunctionDef) and not node.decorator_list
        ]
        of_python = {k for node in python for k in range(node.lineno, node.end_lineno + 1)}
        expected = [line for k, line in enumerate(lines, start=1) if k not in of_python]
        assert [*filter(None, compiled.splitlines())] == [*filter(None, expected)], path
        left_out |= {node.name for node in python}
        called |= {
            node.func.id
            for part in ast.parse(source).body
            if not isinstance(part, ast.FunctionDef | ast.ClassDef)
            for node in ast.walk(part)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
    assert {"new_workspace", "fast_grammar"} <= left_out
    assert not called & left_out  # a constant that a kernel uses may be made of what they return


@compiles
def test_code_is_kept_in_the_user_s_cache_folder_by_the_digest_of_sources(tmp_path):
    """Whichever copy of the package runs, in which nothing is written.

    Code that is there is read without what numba needs to compile, a quarter of a second of work.
    """
    cache, announced = tmp_path / "cache", "sklearn_shag compiles its kernel for best trees, which"
    copies = [tmp_path / "one", tmp_path / "other"]
    for copy in copies:
        shutil.copytree(SOURCE, copy / SOURCE.name, ignore=shutil.ignore_patterns("*.pyc.*"))

    def decode(copy):
        before = sorted(copy.rglob("*"))
        home = {"XDG_CACHE_HOME": cache, "HOME": tmp_path, "LOCALAPPDATA": cache}
        result = run(DECODE, source=copy, PYTHONDONTWRITEBYTECODE=1, **home)
        assert sorted(copy.rglob("*")) == before
        return result.stdout, result.stderr

    out, err = decode(copies[0])
    assert out == "[2, 0, 2] 0 True\n"
    (line,) = err.splitlines()
    assert line.startswith(announced)
    (folder,) = {path.parent for path in tmp_path.rglob("*.nbc")}
    assert folder.parent.name == "sklearn_shag"
    assert line.endswith(f"once; the result is kept in {folder}.")
    # Files without kernels do not count, and neither do functions that are not compiled.
    with open(copies[1] / SOURCE.name / "_parser.py", "a", encoding="utf-8") as file:
        file.write("# changed\n")
    path = copies[1] / SOURCE.name / "parsing" / "_decoders.py"
    source = path.read_text(encoding="utf-8")
    assert "def new_space(longest):\n" in source
    source = source.replace("def new_space(longest):\n", "def new_space(longest):\n    # changed\n")
    path.write_text(source, "utf-8")
    assert decode(copies[1]) == ("[2, 0, 2] 1 False\n", "")
    # A changed kernel is seen by those that call it.
    assert "heads[root - 1] = 0\n" in source
    path.write_text(source.replace("heads[root - 1] = 0\n", "heads[root - 1] = 7\n"), "utf-8")
    out, err = decode(copies[1])
    assert out == "[2, 7, 2] 0 True\n"
    assert err.startswith(announced)
    assert len({path.parent for path in folder.parent.rglob("*.nbc")}) == 2
