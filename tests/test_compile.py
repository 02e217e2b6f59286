"""The command `compile`: after it, processes that may not write to the cache compile nothing."""

import os

import numba
import pytest

from sklearn_shag import RefinedSHAG, make_parser_pipeline, save_model
from sklearn_shag.treebank import DependencyTree, TokenFeature, write_conllu
from sklearn_shag.utils._kernel_cache import code_folder
from tests.files import write_files
from tests.processes import run

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
# Machine code that other tests have made is copied where it would be compiled, and only there: as
# if it were compiled, but in no time.
BORROW = """
import shutil, sys
from pathlib import Path
from sklearn_shag.cli._main import main
from sklearn_shag.utils import _kernel_cache

read_code, write_code, others = _kernel_cache.read_code, _kernel_cache.write_code, Path({others!r})

def read(path):
    if not path.exists() and (others / path.name).exists():
        shutil.copy(others / path.name, path)
    return read_code(path)

def write(path, data):
    write_code(path, data)
    if others.exists():
        shutil.copy(path, others / path.name)

_kernel_cache.read_code, _kernel_cache.write_code = read, write
assert main({arguments!r}) == 0
"""
# Each model is read once, and then copied: that takes a fifth of the time.
COUNT = """
import contextlib, ctypes, functools, io, os, sys
from sklearn_shag.cli import _models
from sklearn_shag.cli._main import main
from numba.core import event
from sklearn_shag.utils._kernel_cache import code_folder
from tests.processes import copy_pipeline

if os.geteuid() == 0:  # without its capabilities, root may no more than the owner of a file
    header, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert ctypes.CDLL(None, use_errno=True).capset(header, none) == 0
try:
    open(code_folder() / "file", "w")
except PermissionError:
    pass
else:
    raise AssertionError("the cache can be written")

class Listener(event.Listener):
    def on_start(self, event):
        compiled.append(event.data["dispatcher"].py_func.__qualname__)

    def on_end(self, event):
        pass

event.register("numba:compile", Listener())
read_model = functools.cache(functools.partial(_models.load_model, embeddings=None))
_models.load_model = lambda path, **none: copy_pipeline(read_model(path))
for line in sys.stdin.read().splitlines():
    compiled = []
    with contextlib.redirect_stdout(io.StringIO()):
        status = main(line.split("\\t"))
    print(status, compiled, line)
"""


def run_with_cache(cache, program, text=""):
    """Run a program in a process of its own, with its own cache; give what it prints."""
    return run(program, text=text, NUMBA_CACHE_DIR=cache, PYTHONDONTWRITEBYTECODE=1).stdout


@pytest.mark.skipif(os.name == "nt", reason="needs permissions of folders")
def test_a_cache_that_cannot_be_written_compiles_nothing(tmp_path, english):
    own, trees = tmp_path / "own.npz", tmp_path / "trees.conllu"
    learner = RefinedSHAG(2, 2, max_iter=2, random_state=0)
    save_model(make_parser_pipeline(TokenFeature("upos"), learner).fit(english[:40]), own)
    partial = [t.with_heads([t.heads[0], *[-1] * (len(t) - 1)]) for t in english[:40]]
    partial.append(partial[0].with_heads([3, 4, *[-1] * (len(partial[0]) - 2)]))  # these cross
    forms, tags = ((20 * column)[:150] for column in (partial[0].forms, partial[0].upos))
    write_conllu(partial, trees)
    # Of more words than any sentence of the treebank.
    write_conllu([DependencyTree(forms, upos=tags)], tmp_path / "long.conllu")
    text = "Dogs bark. I don't.\n\nIt's 3 o'clock in L.A.\n"
    write_files(tmp_path, {"text.txt": text, "line.txt": "Dogs bark .\n"})

    program = BORROW.format(
        others=str(code_folder()), arguments=["compile", "english", "demo", str(own)]
    )
    assert "kernels is in" in run_with_cache(tmp_path / "cache", program)
    (folder,) = (tmp_path / "cache" / "sklearn_shag").iterdir()
    files = sorted(folder.iterdir())
    assert len(files) > 20
    calls = [
        ["demo"],
        ["demo", "--grammars"],
        ["demo", "It sleeps."],
        ["parse", "english", tmp_path / "text.txt", "--input", "text", "--confidence"],
        ["parse", "english", tmp_path / "text.txt", "--input", "lines", "--k-best", "3"],
        ["parse", "english", tmp_path / "line.txt", "--input", "horizontal"],
    ]
    for model in ("english", own):
        calls += [
            *(["parse", model, trees, *way.split()] for way in WAYS),
            *(["suggest", model, trees, "--by", by] for by in ("arcs", "sentences", "trees")),
            ["parse", model, tmp_path / "long.conllu", "--confidence"],
        ]
    folder.chmod(0o555)
    try:
        text = "\n".join("\t".join(map(str, call)) for call in calls)
        said = run_with_cache(tmp_path / "cache", COUNT, text).splitlines()
    finally:
        folder.chmod(0o755)
    assert said == [f"0 [] {line}" for line in text.splitlines()]
    assert sorted(folder.iterdir()) == files


WAYS = [
    "",
    "--confidence",
    "--k-best 3",
    "--sample 2 --confidence",
    "--keep-heads",
    "--keep-heads --k-best 2",
    "--keep-heads --sample 2",
    "--decoder max_marginal",
    "--decoder mst",
    "--decoder mst --confidence",
    "--decoder mst --k-best 2",
    "--decoder mst --sample 2",
    "--decoder mst --keep-heads --k-best 2",
    "--decoder max_marginal --keep-heads --sample 2",
    "--decoder mst --keep-heads",
    "--unique-relations nsubj+csubj,obj",
    "--n-jobs 2",
]


@pytest.mark.exhaustive
def test_all_has_every_kernel_of_models(tmp_path):
    compile_all = BORROW.format(others=str(code_folder()), arguments=["compile", "--all"])
    look = """
import importlib, pkgutil
import sklearn_shag
from sklearn_shag.utils._kernel import Kernel

inner = ("no_cpython_wrapper", "inline")  # part of the code of others
for info in pkgutil.walk_packages(sklearn_shag.__path__, "sklearn_shag."):
    if not info.name.endswith("__main__"):
        for name, each in vars(importlib.import_module(info.name)).items():
            if isinstance(each, Kernel) and not set(inner) & each.targetoptions.keys():
                if each.__module__ == info.name and not each.dispatcher.signatures:
                    print("left", name)
"""
    printed = run_with_cache(tmp_path, compile_all + look).splitlines()
    left = [line for line in printed if line.startswith("left")]
    # Of functions for sequences and operators, which no model calls.
    assert left == ["left _signed_log_values", "left _linearise_trees"]
