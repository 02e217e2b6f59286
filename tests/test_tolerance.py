"""The command line with invalid sentences, files that are no text, and closed or narrow streams."""

import io
import json
import os
import re
import subprocess
import sys

import pytest

from sklearn_shag import DeterministicSHAG, save_model
from sklearn_shag.treebank import DependencyTree, write_conllu
from sklearn_shag.utils._parallel import progress
from tests.loops import over
from tests.model_files import read_without_card
from tests.test_cli import environment

pytestmark = pytest.mark.filterwarnings("default")  # commands show warnings as lines

SKIP = ("--on-error", "skip")
TRAIN = ("train", "--model", "single", "-o")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, english):
    """Files that no test changes: sentences 4 and 6 of bad.conllu are invalid."""
    folder, bare = tmp_path_factory.mktemp("tolerance"), [t.with_heads(None) for t in english[:7]]
    write_conllu([english[k] for k in (0, 1, 2, 4, 6)], folder / "five.conllu")
    write_conllu(english[:7], folder / "good.conllu")
    for name, trees in (("bad", english[:7]), ("bare-bad", bare)):
        blocks = [tree.to_conllu() for tree in trees]
        blocks[3], blocks[5] = "# no columns\n1 Dogs\n\n", "1\tDogs\n\n"
        (folder / f"{name}.conllu").write_text("".join(blocks), encoding="utf-8")
    save_model(DeterministicSHAG(smoothing=1).fit(english[:80]), folder / "m.npz")
    return folder


@pytest.fixture
def run(folder, run_command, monkeypatch):
    """Run a command in the folder."""
    monkeypatch.chdir(folder)
    return run_command


def test_the_others_are_as_without_invalid_sentences(run, folder, tmp_path):
    out, again = tmp_path / "out", tmp_path / "again"
    text, _, _ = (folder / "bad.conllu").read_text(encoding="utf-8").partition("1 Dogs")
    place = f"bad.conllu:{text.count(chr(10)) + 1}: 10 columns"
    status, _, (err,) = run(*TRAIN, out, "bad.conllu", *SKIP)
    assert status == 0
    assert place in err
    assert run(*TRAIN, again, "five.conllu")[0] == 0
    assert read_without_card(out) == read_without_card(again)
    rows = run("suggest", "m.npz", "bare-bad.conllu", "-n", 999, *SKIP)[1].splitlines()[1:]
    assert {row.split("\t")[1] for row in rows} == set("12357")


@over("encoding", ["ascii", "cp1252"])
def test_letters_that_the_encoding_lacks(run, monkeypatch, tmp_path, encoding):
    tree = DependencyTree(["é", "Čapek"], [2, 0], upos=["X", "Č"])
    gold, system, bare = (tmp_path / f"{name}.conllu" for name in ("č", "system", "bare"))
    for path in (gold, system, bare):
        write_conllu([tree.with_heads(None) if path == bare else tree], path)
    for command in (
        ("evaluate", gold, system, "--by", "modifier"),
        ("suggest", "m.npz", bare),
        ("suggest", "m.npz", bare, "--json"),
        ("demo", "Čapek sleeps."),
        (*TRAIN, tmp_path / "č.npz", system),
    ):
        with monkeypatch.context() as patch:
            stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
            patch.setattr(sys, "stdout", stream)
            assert (run(*command)[0], stream.errors) == (0, "strict")
        out = stream.buffer.getvalue().decode(encoding)
        assert re.search(r"\\u010[cd]", out), command
        if command[-1] == "--json":
            forms = {row["form"] for row in json.loads(out)["suggestions"]}
            assert forms == {"é", "Čapek"}


class Bare(list):
    """A stream that can be written to, and nothing else."""

    write = list.append


@over("kind", [lambda: None, Bare])
def test_standard_error_is_closed_or_no_terminal(run, monkeypatch, tmp_path, kind):
    for command, status in (
        (("evaluate", "none", "none"), 1),
        ((*TRAIN, tmp_path / "m", "bad.conllu", *SKIP), 0),
        (("parse", "m.npz", "bad.conllu", *SKIP), 0),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stderr", kind())
            found, out, _ = run(*command)
            said = "".join(sys.stderr or ())
            with progress("Working", 1, "step", verbose=2) as advance:
                advance()
        assert found == status
        assert "sklearn-shag" not in out
        assert said.startswith(f"sklearn-shag {command[0]}: ") == (kind is Bare)


def test_standard_input_or_output_is_closed(run, monkeypatch):
    for name, source in (("stdin", "-"), ("stdout", "good.conllu")):
        with monkeypatch.context() as patch:
            patch.setattr(sys, name, None)
            for command in (("parse", "m.npz", source), (*TRAIN, "-", source)):
                status, out, (err,) = run(*command)
                assert (status, out) == (1, "")
                assert "is closed" in err
            assert run("evaluate", "good.conllu", "five.conllu")[0] == 1
            assert run("demo", "It sleeps.")[::2] == (0, [])


@pytest.mark.skipif(os.name != "posix", reason="a shell of POSIX")
@over("closing", [">&-", "<&- 2>&-"])
def test_processes_without_standard_streams(run, tmp_path, closing):
    expected = run("parse", "m.npz", "good.conllu", "five.conllu")[1]
    command = f"{sys.executable} -m sklearn_shag parse m.npz good.conllu five.conllu --n-jobs 2 -o"
    command = f"{command} {tmp_path}/out {closing}"
    done = subprocess.run(command, shell=True, env=environment(), capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert (tmp_path / "out").read_text(encoding="utf-8") == expected
