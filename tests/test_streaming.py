"""Files of any size: pieces of text, sentences one after the other, parses in order."""

import contextlib
import gc
import gzip
import io
import os
import signal
import subprocess
import sys
import threading
from functools import partial

import pytest

from sklearn_shag import BiaffineParser, CRFParser, DeterministicSHAG, load_model, save_model
from sklearn_shag.cli import _parse, _suggest, _train, _training_data, main
from sklearn_shag.treebank import (
    ConlluError,
    _pieces,
    iter_conllu,
    iter_horizontal,
    iter_pieces,
    read_conllu,
    write_conllu,
)
from sklearn_shag.utils import _io
from sklearn_shag.utils._parallel import map_in_processes
from tests.loops import over
from tests.model_files import read_without_card
from tests.processes import ARRIVED, shout

CHUNKS = [1, 7, 100, 1000, 10**6]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, english):
    path = tmp_path_factory.mktemp("stream")
    write_conllu(english[:60], path / "in.conllu")
    text = (path / "in.conllu").read_bytes()
    # Line ends of Windows, but not in the last third, a byte order mark, blank lines with spaces,
    # and none at the end.
    windows = text.replace(b"\n", b"\r\n", 900).replace(b"\r\n\r\n", b"\r\n  \r\n\r\n", 3)
    (path / "windows.conllu").write_bytes(b"\xef\xbb\xbf" + windows.rstrip())
    (path / "packed.conllu.gz").write_bytes(gzip.compress(text[:9000]) + gzip.compress(text[9000:]))
    lines = "\n".join(" ".join(tree.forms) for tree in english[:60])
    (path / "tokens.txt").write_text(f"{lines}\n\n  {lines}", encoding="utf-8")
    save_model(DeterministicSHAG(smoothing=1).fit(english[60:160]), path / "model.npz")
    return path


def read_at_once(monkeypatch, size):
    """Let files be read in chunks of so many bytes."""
    monkeypatch.setattr(_pieces, "_CHUNK", size)
    monkeypatch.setattr(_io, "_CHUNK", size)
    monkeypatch.setattr(_parse, "GROUP", size)


@over("size", CHUNKS)
@over("name", ["in.conllu", "windows.conllu", "packed.conllu.gz"])
def test_pieces_of_any_size_hold_the_same_sentences(folder, english, monkeypatch, size, name):
    read_at_once(monkeypatch, size)
    assert list(iter_conllu(folder / name)) == english[:60]
    if not name.endswith(".gz"):
        with open(folder / name, encoding="utf-8", newline="") as file:
            assert list(iter_conllu(file)) == english[:60]
    text = b"".join(piece.text for piece in iter_pieces(str(folder / name), b"\n\n"))
    assert text.startswith(b"# ")
    assert b"\r" not in text
    pieces = list(iter_pieces(str(folder / "in.conllu"), b"\n\n"))
    assert all(piece.text.endswith(b"\n\n") for piece in pieces)
    assert sum(piece.n_read for piece in pieces) == (folder / "in.conllu").stat().st_size
    assert (len(pieces) == 1) == (size == 10**6)
    assert len(pieces) == 60 or size > 7


@over("size", CHUNKS)
@over("line, old, new", [(600, b"\t", b" "), (30, b"\t", b"\t\xff")])
def test_errors_name_the_same_line_whatever_the_pieces(folder, monkeypatch, size, line, old, new):
    lines = (folder / "in.conllu").read_bytes().splitlines(keepends=True)
    while b"\t" not in lines[line]:
        line += 1
    lines[line] = lines[line].replace(old, new, 1)
    bad = folder / "bad.conllu"
    bad.write_bytes(b"".join(lines))
    read_at_once(monkeypatch, size)
    before = []
    with pytest.raises(ConlluError) as raised:
        before.extend(iter_conllu(bad))
    assert raised.value.line == line + 1
    assert before
    assert len(list(iter_conllu(bad, on_error="skip"))) == 59


def test_a_file_that_breaks_off(folder, monkeypatch):
    (folder / "broken.gz").write_bytes((folder / "packed.conllu.gz").read_bytes()[:-30])
    read_at_once(monkeypatch, 2000)
    trees = []
    with pytest.raises(ConlluError, match=r"broken.gz:\d{3,}: cannot be decompressed further"):
        trees.extend(iter_conllu(folder / "broken.gz", on_error="skip"))
    assert len(trees) > 20


@over("size", [10, 10**6])
def test_sentences_have_a_largest_size(folder, monkeypatch, size):
    read_at_once(monkeypatch, size)
    longest = max(map(len, (folder / "in.conllu").read_bytes().split(b"\n\n")))
    assert len(list(iter_conllu(folder / "in.conllu", max_sentence_bytes=longest + 1))) == 60
    with pytest.raises(ConlluError, match=f"more than max_sentence_bytes={longest - 1} bytes"):
        list(iter_conllu(folder / "in.conllu", max_sentence_bytes=longest - 1))
    with pytest.raises(ConlluError, match=r":1: this sentence has more than max_sentence_bytes=9"):
        list(iter_horizontal(folder / "tokens.txt", max_sentence_bytes=9))


@over("chunk_size", [1, 7, 1000])
def test_iter_parse_is_parse_in_chunks(folder, english, chunk_size):
    model = load_model(folder / "model.npz")
    asked = []
    sentences = (asked.append(tree) or tree for tree in english[:60])
    trees = model.iter_parse(sentences, chunk_size=chunk_size, keep_heads=chunk_size == 7)
    assert not asked
    first = next(trees)
    assert len(asked) == min(chunk_size, 60)
    expected = model.parse(english[:60], keep_heads=chunk_size == 7)
    assert [first, *trees] == expected
    assert list(model.iter_parse([])) == []


def test_results_of_processes_come_in_order_and_few_at_once():
    asked = []

    def items():
        for k in range(40):
            asked.append(k)
            yield "ab"[k % 2]
        raise OSError("no more")

    results = map_in_processes(shout, items(), 2)
    assert next(results) == "A"
    assert len(asked) <= 6
    found = ["A"]
    with pytest.raises(OSError, match="no more"):
        found.extend(results)
    assert found == ["A", "B"] * 20  # all before the error
    assert list(map_in_processes(shout, iter("xy"), 1)) == ["X", "Y"]


@over(
    ("word", "error", "message"),
    [
        ("end", ChildProcessError, "a worker process has ended"),
        ("fail", MemoryError, "too much"),
    ],
)
def test_failures_of_processes(word, error, message):
    with pytest.raises(error, match=message):
        list(map_in_processes(shout, ["a", word, "b"], 2))


@over("ending", ["closed", "failed"])
def test_processes_end_quietly_with_work_that_none_has_begun(monkeypatch, ending):
    """The thread that hands it on is busy with a result when the workers are to end."""
    ARRIVED.clear()
    complaints = []
    monkeypatch.setattr(threading, "excepthook", complaints.append)

    def items():
        yield from ["b" if ending == "closed" else "fail", "slow", "b", "b"]
        assert ARRIVED.wait(60)
        yield "b"

    results = map_in_processes(shout, items(), 2)
    if ending == "closed":
        assert next(results) == "B"
        results.close()
    else:
        with pytest.raises(MemoryError, match="too much"):
            next(results)
    assert complaints == []


@pytest.fixture
def command(folder, run_command, monkeypatch):
    """Run the command parse on files of the folder."""
    monkeypatch.chdir(folder)
    return partial(run_command, "parse", "model.npz")


@pytest.mark.filterwarnings("default")
@over(("size", "workers"), [(10**6, "1"), (1000, "2")])
def test_a_bad_sentence_stops_or_is_passed_on(folder, english, command, monkeypatch, size, workers):
    blocks = (folder / "in.conllu").read_text(encoding="utf-8").split("\n\n")[:-1]
    bad = dict(enumerate(blocks)) | {41: "1\tword", 50: blocks[50].replace("\t0\t", "\t99\t")}
    long = max(range(60), key=lambda k: len(english[k]))
    (folder / "bad.conllu").write_text("\n\n".join(bad.values()) + "\n\n", encoding="utf-8")
    read_at_once(monkeypatch, size)
    good = command("in.conllu")[1].split("\n\n")[:-1]
    (folder / "old.conllu").write_text("old")
    status, out, err = command("bad.conllu", "--n-jobs", workers)
    assert (status, out.split("\n\n")[:-1]) == (1, good[:41])
    line = "\n\n".join(blocks[:41]).count("\n") + 3
    assert f"bad.conllu:{line}: 10 columns separated by tabs are expected" in err[0]
    assert command("bad.conllu", "-o", "old.conllu")[0] == 1
    assert (folder / "old.conllu").read_text() == "old"
    arguments = "--on-error", "skip", "--max-tokens", str(len(english[long]) - 1)
    status, out, err = command("bad.conllu", *arguments, "--n-jobs", workers)
    expected = [bad[k] if k in (41, 50, long) else good[k] for k in range(60)]
    assert (status, out.split("\n\n")[:-1]) == (0, expected)
    assert "3 of 60 sentences were passed on without a parse" in err[-1]
    _, out, _ = command("tokens.txt", "--input", "horizontal", *arguments)
    assert len(read_conllu(io.StringIO(out))) == 120


@over("size", [1, 7, 1000])
@over(
    ("model", "options"),
    [("words", ()), ("first", ()), ("words", ("--set", "min_count=2"))],
)
def test_words_and_tags_are_counted_in_parts(folder, capsys, monkeypatch, size, model, options):
    """The file of the model is the same, to the last byte, as of all trees together."""
    monkeypatch.setattr(_training_data, "MOST_TREES", 2 * size)
    common = "--model", model, "--symbols", "upos,xpos", "--min-count", "3", *options
    for chunk, source, target in ((size, "in.conllu", "parts.npz"), (1000, "-", "whole.npz")):
        monkeypatch.setattr(_train, "COUNTED_CHUNK", chunk)
        with open(folder / "in.conllu", encoding="utf-8") as file, monkeypatch.context() as at:
            at.setattr(sys, "stdin", file)
            at.chdir(folder)
            assert main(["train", source, "-o", target, *common]) == 0
        assert "from 60 sentences" in capsys.readouterr().out
    assert read_without_card(folder / "parts.npz") == read_without_card(folder / "whole.npz")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_training_on_a_pipe_with_a_name(folder, capsys, monkeypatch):
    monkeypatch.setattr(_training_data, "MOST_TREES", 2)
    monkeypatch.chdir(folder)
    text, pipe = (folder / "in.conllu").read_bytes(), folder / "pipe.conllu"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=[text], daemon=True)
    writer.start()
    for source, target in (("pipe.conllu", "piped.npz"), ("in.conllu", "read.npz")):
        assert main(["train", source, "-o", target, "--model", "spectral"]) == 0
        assert "from 60 sentences" in capsys.readouterr().out
    writer.join()
    assert read_without_card(folder / "piped.npz") == read_without_card(folder / "read.npz")


@over(
    "learner",
    [
        CRFParser(n_features=2**12, max_iter=1, calibrate=False),
        BiaffineParser(["form", "suffix"], hidden_layer_sizes=[8], max_iter=1, calibrate=False),
    ],
)
def test_training_leaves_no_garbage(english, learner):
    """The command collects it seldom: cycles that held a batch each took 6 kB a token."""
    learner.fit(english[:20])  # what is made once stays
    gc.collect()
    gc.disable()
    try:
        learner.fit(english[:20])
        n_found = gc.collect()
    finally:
        gc.enable()
    assert n_found < 20  # no more than a batch would leave


@over("by", ["arcs", "sentences", "trees"])
def test_suggestions_of_chunks_are_those_of_the_whole(folder, english, capsys, monkeypatch, by):
    partial = list(english[:60])
    for k in [0, *range(31, 60)]:  # among chunks without anything to annotate
        partial[k] = partial[k].with_heads([-1, *partial[k].heads[1:]])
    partial[40] = partial[40].with_heads(None)
    write_conllu(partial, folder / "partial.conllu")

    def suggest(chunk, number):
        monkeypatch.setattr(_suggest, "SUGGESTED_CHUNK", chunk)
        names = (str(folder / name) for name in ("model.npz", "partial.conllu"))
        assert main(["suggest", *names, "--by", by, "-n", str(number)]) == 0
        return capsys.readouterr().out

    for number in (3, 1000):
        expected = suggest(1000, number)
        assert [suggest(chunk, number) for chunk in (1, 7, 30)] == [expected] * 3


@contextlib.contextmanager
def started(folder, text, workers):
    """The command at the end of a pipe that never ends."""
    # In the background of a script, where tests may run, processes start without interruptions.
    program = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from sklearn_shag.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    command = [sys.executable, "-c", program, "parse", "model.npz", "-", "--n-jobs", workers]

    def feed():
        with contextlib.suppress(BrokenPipeError):
            while True:
                process.stdin.write(text)

    with subprocess.Popen(command, **pipes, bufsize=0, cwd=folder) as process:
        feeder, killer = threading.Thread(target=feed), threading.Timer(120, process.kill)
        feeder.start()
        killer.start()  # rather than wait for ever
        try:
            yield process
        finally:
            process.kill()
            killer.cancel()
            feeder.join()


def test_in_pipes(folder):
    text = (folder / "in.conllu").read_bytes() * 40  # more than one piece
    with started(folder, text, "1") as process:
        assert process.stdout.readline().startswith(b"# ")
        process.stdout.close()
        assert (process.wait(timeout=60), process.stderr.read()) == (0, b"")

    with started(folder, text, "2") as process:
        found = process.stdout.read(1000)
        process.send_signal(signal.SIGINT)
        found += process.stdout.read()
        assert process.wait(timeout=60) == 130
        assert process.stderr.read() == b"sklearn-shag parse: interrupted\n"
    assert found.endswith(b"\n\n")
    assert len(read_conllu(io.StringIO(found.decode()))) > 100
