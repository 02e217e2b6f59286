"""The command line with invalid sentences, files that are no text, and closed or narrow streams."""

import io
import json
import os
import re
import subprocess
import sys

import pytest

from sklearn_shag import DeterministicSHAG, load_model, save_model
from sklearn_shag.cli import main
from sklearn_shag.datasets import load_parser
from sklearn_shag.treebank import DependencyTree, read_conllu, write_conllu
from sklearn_shag.utils._io import write_text
from sklearn_shag.utils._parallel import progress
from tests.loops import over
from tests.test_cli import environment
from tests.test_streaming import read_at_once

pytestmark = pytest.mark.filterwarnings("default")  # commands show warnings as lines

SKIP = ("--on-error", "skip")
WORD = "1\tGo\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory, english):
    """Files that no test changes: sentences 4 and 6 of bad.conllu are invalid."""
    folder = tmp_path_factory.mktemp("tolerance")
    trees = english[:7]
    write_conllu(trees, folder / "good.conllu")
    blocks = (folder / "good.conllu").read_text(encoding="utf-8").split("\n\n")[:7]
    lines = "\n\n".join(blocks[:3]).count("\n") + 3
    blocks[3] = "# no columns\n1 Dogs"
    (folder / "one.conllu").write_text("\n\n".join([*blocks, ""]), encoding="utf-8")
    blocks[5] = "1\tDogs"
    (folder / "bad.conllu").write_text("\n\n".join([*blocks, ""]), encoding="utf-8")
    (folder / "line").write_text(str(lines + 1))
    write_conllu([trees[k] for k in (0, 1, 2, 4, 6)], folder / "five.conllu")
    save_model(DeterministicSHAG(smoothing=1).fit(english[:80]), folder / "model.npz")
    return folder


@pytest.fixture
def run(folder, capsys, monkeypatch):
    """Run a command in the folder; give its status, its output, and its lines of complaints."""
    monkeypatch.chdir(folder)

    def run(*arguments):
        status = main(list(map(str, arguments)))
        out, err = capsys.readouterr()
        return status, out, err.replace(f"sklearn-shag {arguments[0]}: ", "").splitlines()

    return run


def left_out(folder, name="bad.conllu", n=2):
    line = (folder / "line").read_text()
    return f"{n} of 7 sentences were left out as invalid; the first: {name}:{line}: 10 columns"


@over("model", ["single", "crf"])
def test_training_leaves_out_invalid_sentences(run, folder, tmp_path, model):
    command = "train", "bad.conllu", "-o", tmp_path / "m.npz", "--model", model
    options = ("--columns", "upos", "--max-iter", "1") if model == "crf" else ()
    status, _, (err,) = run(*command, *options)
    assert (status, err[:12]) == (1, "error: bad.c")
    assert f"bad.conllu:{(folder / 'line').read_text()}: 10 columns" in err
    status, out, (err,) = run(*command, *options, *SKIP)
    assert status == 0
    assert err.startswith(f"warning: {left_out(folder)}")
    assert "from 5 of 7 sentences; saved" in out
    assert run("train", "five.conllu", "-o", tmp_path / "5.npz", *command[4:], *options)[0] == 0
    assert (tmp_path / "m.npz").read_bytes() == (tmp_path / "5.npz").read_bytes()


def test_suggestions_leave_out_invalid_sentences(run, folder, tmp_path):
    """Sentences keep the numbers that they have in the file."""
    for name in ("one.conllu", "bare.conllu"):
        text = (folder / name.replace("bare", "good")).read_text(encoding="utf-8")
        bare = re.sub(r"\t\d+\t\w+(:\w+)?\t(\S+\t\S+)\n", r"\t_\t_\t\2\n", text)
        (tmp_path / name).write_text(bare, encoding="utf-8")
    assert run("suggest", "model.npz", tmp_path / "one.conllu")[0] == 1
    status, out, (err,) = run("suggest", "model.npz", tmp_path / "one.conllu", "-n", "999", *SKIP)
    assert (status, "1 of 7 sentences were left out" in err) == (0, True)
    _, expected, _ = run("suggest", "model.npz", tmp_path / "bare.conllu", "-n", "999")
    rows = [row.replace("bare", "one") for row in expected.splitlines() if "\t4\tem" not in row]
    assert [row for row in rows if row.split("\t")[1] != "4"] == out.splitlines()


def test_evaluation_leaves_out_pairs_with_an_invalid_sentence(run, folder):
    for pair in (("bad.conllu", "good.conllu"), ("good.conllu", "bad.conllu")):
        assert run("evaluate", *pair)[0] == 1
        status, out, (err,) = run("evaluate", *pair, *SKIP)
        assert (status, out[:12]) == (0, "5 sentences,")
        assert err.startswith(f"warning: {left_out(folder)}")
    status, out, (err, _) = run("evaluate", "one.conllu", "one.conllu", *SKIP)[:3]
    assert (status, out[:12], "compared with itself" in err) == (0, "6 sentences,", True)
    status, _, (err,) = run("evaluate", "bad.conllu", "good.conllu", "--raw", *SKIP)
    assert (status, "--raw scores all words; leave out" in err) == (1, True)


def test_nothing_is_left(run, tmp_path):
    path, gold = tmp_path / "no.conllu", tmp_path / "gold.conllu"
    path.write_text("1\ta\n\n1\tb\n\n")
    gold.write_text(2 * WORD)
    commands = (
        ("train", path, "-o", tmp_path / "m", "--model", "single"),
        ("suggest", "model.npz", path),
        ("evaluate", gold, path),
    )
    for command in commands:
        status, out, (err,) = run(*command, *SKIP)
        assert (status, out) == (1, "")
        assert err.startswith(
            f"error: 2 of 2 sentences were left out as invalid; the first: {path}"
        )


@over(("data", "line"), [(b"One.\n\nA\0.\n", 3), (b"One.\r\n\r\nTwo.\r\nC\xe4f.\n", 4)])
@over("size", [4, 10**6])
def test_files_that_are_no_text(run, tmp_path, monkeypatch, data, line, size):
    read_at_once(monkeypatch, size)
    bad, good, out = (tmp_path / name for name in ("bad.txt", "good.txt", "out"))
    bad.write_bytes(data)
    good.write_text("It sleeps.\n")
    for to in ((), ("-o", out)):
        status, _, (err,) = run("parse", "english", bad, good, "--input", "text", *to)
        assert (status, err.startswith(f"error: {bad}:{line}: ")) == (1, True)
    status, text, (err,) = run("parse", "english", bad, good, "--input", "text", *SKIP)
    assert (status, err.startswith(f"warning: {bad}:{line}: ")) == (0, True)
    assert err.endswith(f"; the {'rest of the ' * (size == 4)}file is left out")
    parsed = [" ".join(tree.forms) for tree in read_conllu(io.StringIO(text))]
    assert parsed[-1] == "It sleeps ."
    assert parsed[:-1] == ["One .", "Two ."][: line - 2] * (size == 4)


@over("form", ["conllu", "horizontal", "text", "lines"])
def test_nothing_to_parse(run, tmp_path, monkeypatch, form):
    (tmp_path / "empty").write_text("\n" * (form != "text"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    for sources in ([tmp_path / "empty"], []):
        assert run("parse", "english", *sources, "--input", form) == (0, "", [])
    output = tmp_path / "out.conllu"
    assert run("parse", "english", tmp_path / "empty", "--input", form, "-o", output)[0] == 0
    assert output.read_bytes() == b""
    assert load_parser("english").parse_text("") == []


def test_standard_input_is_parsed_by_default(run, folder, monkeypatch):
    expected = run("parse", "model.npz", "good.conllu")
    data = (folder / "good.conllu").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert run("parse", "model.npz") == expected
    assert "only once" in run("parse", "-")[2][0]


def test_known_heads_that_cross(run, folder, tmp_path, english):
    """They are left out, unless the decoder lets arcs cross."""
    crossing = DependencyTree(list("abcd"), [3, 4, -1, -1], upos=["NOUN"] * 4)
    bare = [tree.with_heads(None) for tree in english[:3]]
    write_conllu(bare, tmp_path / "a.conllu")
    write_conllu([crossing, *bare, crossing], tmp_path / "b.conllu")
    for by in ("arcs", "trees"):
        names = tmp_path / "a.conllu", tmp_path / "b.conllu", "-n", "999", "--by", by
        status, out, (err,) = run("suggest", "model.npz", *names)
        rows = [row.split("\t")[:2] for row in out.splitlines()[1:]]
        found = {(name[-8:], int(number)) for name, number in rows}
        assert found == {(f"{'ab'[b]}.conllu", k + b) for b in (0, 1) for k in (1, 2, 3)}
        assert err.startswith("warning: 2 of 8 sentences were left out, since no projective tree ")
        assert err.endswith(f"; the first: sentence 1 of {tmp_path / 'b.conllu'}")
    status, _, (err,) = run("train", tmp_path / "b.conllu", "-o", "m", "--model", "crf")
    assert (status, "heads" in err) == (1, True)
    save_model(load_model("model.npz").set_params(decoder="mst"), tmp_path / "mst.npz")
    status, out, err = run("suggest", tmp_path / "mst.npz", tmp_path / "b.conllu", "-n", "999")
    assert (status, err) == (0, [])
    assert {int(row.split("\t")[1]) for row in out.splitlines()[1:]} == {1, 2, 3, 4, 5}


@over("model", ["refined", "crf"])
def test_the_number_of_sentences_learned(run, tmp_path, english, model):
    crossing = DependencyTree(list("abcd"), [3, 4, -1, -1], upos=["NOUN"] * 4)
    bare = [tree.with_heads(None) for tree in english[5:8]]
    write_conllu([*english[:5], crossing, crossing, *bare], tmp_path / "in.conllu")
    quick = "--model", model, "--max-iter", "1", *(("--columns", "upos") * (model == "crf"))
    status, out, _ = run("train", tmp_path / "in.conllu", "-o", tmp_path / "m.npz", *quick)
    assert (status, "from 5 of 10 sentences;" in out) == (0, True)


@over("encoding", ["ascii", "cp1252"])
def test_letters_that_the_encoding_lacks(run, monkeypatch, tmp_path, encoding):
    tree = DependencyTree(["é", "Čapek"], [2, 0], upos=["X", "Č"])
    gold, system, bare = (tmp_path / f"{name}.conllu" for name in ("č", "system", "bare"))
    write_conllu([tree], gold)
    write_conllu([tree], system)
    write_conllu([tree.with_heads(None)], bare)
    commands = (
        ("evaluate", gold, system, "--by", "modifier"),
        ("evaluate", gold, system, "--by", "modifier", "--json"),
        ("suggest", "model.npz", bare),
        ("suggest", "model.npz", bare, "--json"),
        ("demo", "Čapek sleeps."),
        ("train", system, "-o", tmp_path / "č.npz", "--model", "single"),
    )
    for command in commands:
        with monkeypatch.context() as patch:
            stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
            patch.setattr(sys, "stdout", stream)
            assert run(*command)[0] == 0
            assert stream.errors == "strict"  # as before
        out = stream.buffer.getvalue().decode(encoding)
        assert re.search(r"\\u010[cd]", out), command
        if command[-1] == "--json":
            assert re.search("[čČ]", json.dumps(json.loads(out), ensure_ascii=False))


class Bare:
    """A stream that can be written to, and nothing else."""

    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text


@over("stream", [None, Bare])
def test_standard_error_is_closed_or_no_terminal(run, monkeypatch, tmp_path, stream):
    for command, status in (
        (("evaluate", "none", "none"), 1),
        (("train", "one.conllu", "-o", tmp_path / "m", "--model", "single", *SKIP), 0),
        (("suggest", "model.npz", "good.conllu"), 1),
        (("parse", "model.npz", "one.conllu", *SKIP), 0),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stderr", stream and stream())
            found, out, _ = run(*command)
            said = sys.stderr and sys.stderr.text
        assert found == status
        assert "sklearn-shag" not in out  # complaints are not output
        assert said is None or said.startswith(f"sklearn-shag {command[0]}: ")
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", stream and stream())
        with progress("Working", 1, "step", verbose=2) as advance:
            advance()


def test_standard_input_or_output_is_closed(run, monkeypatch, tmp_path):
    for name in ("stdin", "stdout"):
        monkeypatch.setattr(sys, name, None)
        closed = "error: <stdin> cannot be read: it is closed."
        if name == "stdout":
            closed = "error: Standard output is closed; name a file to write."
            for command in (("evaluate", "good.conllu", "five.conllu"), ("demo", "It sleeps.")):
                status, _, err = run(*command)
                assert len(err) == status == (command[0] == "evaluate")
            with pytest.raises(OSError, match="is closed"), write_text("-"):
                pass
        assert run("parse", "model.npz") == (1, "", [closed])
        source = "-" if name == "stdin" else "good.conllu"
        assert run("train", source, "-o", "-", "--model", "single") == (1, "", [closed])
        assert run("train", "good.conllu", "-o", tmp_path / "m", "--model", "single")[0] == 0


@pytest.mark.skipif(os.name != "posix", reason="a shell of POSIX")
@over("closing", [">&-", "<&- 2>&-"])
def test_processes_without_standard_streams(run, folder, tmp_path, closing):
    sources = [folder / "good.conllu", folder / "five.conllu"]  # a piece each
    _, expected, _ = run("parse", "model.npz", *sources)
    output = tmp_path / "out.conllu"
    names = " ".join(map(str, [folder / "model.npz", *sources, "-o", output]))
    command = f"{sys.executable} -m sklearn_shag parse {names} --n-jobs 2 {closing}"
    done = subprocess.run(command, shell=True, env=environment(), capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert output.read_text(encoding="utf-8") == expected
