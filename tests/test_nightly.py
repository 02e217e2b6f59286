"""Long runs of the command parse: documents with faults, JSON lines, progress, resuming."""

import contextlib
import gzip
import io
import json
import os
import re
import signal
import time
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_shag.cli import _parse
from sklearn_shag.parsing import head_probabilities
from sklearn_shag.treebank import join_text, read_conllu, read_jsonl, write_conllu
from sklearn_shag.treebank._text import NO_SPACE_BEHIND
from sklearn_shag.utils import _parallel
from sklearn_shag.utils._io import write_resumable
from tests.files import write_files
from tests.loops import over
from tests.processes import parse_small_pieces, starting
from tests.test_cli import assert_valid
from tests.test_streaming import read_at_once

TEXTS = {
    "a": "The cat sat. It slept.\r\n\r\n\ufeffDogs don't bark at \u201cme\u201d.\n\nNo\u2028way!",
    7: "  {braces} cost 5 \u20ac.  \n",
    "empty": "",
    "b c": "It rains.\n" * 30,
    "last": "Cats purr.",
}
SKIP = "--on-error", "skip"
JSON = "--input", "jsonl", "--output-format", "jsonl"


@pytest.fixture
def run(tmp_path, monkeypatch, run_command, quick_english):
    """Run the command parse in a folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_parallel, "DELAY", np.inf)  # of progress, where kernels are compiled
    return partial(run_command, "parse", "english")


def write_lines(path, texts):
    lines = (json.dumps({"id": name, "text": text, "x": 1}) for name, text in texts.items())
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def list_ids(text):
    return [json.loads(line)["id"] for line in text.split("\n")[:-1]]


# JSON lines


@over(("workers", "size"), [("1", 10), ("1", 10**6), ("2", 10)])
def test_json_lines_hold_the_trees_of_their_texts(
    run, tmp_path, monkeypatch, bundled, size, workers
):
    """As the library parses them, with offsets into the text as it was given."""
    write_lines(tmp_path / "in.jsonl", TEXTS)
    expected = bundled.parse_texts(TEXTS.values(), TEXTS)
    read_at_once(monkeypatch, size)
    status, out, err = run("in.jsonl", *JSON, "--n-jobs", workers)
    assert (status, err) == (0, [])
    read = read_jsonl(io.StringIO(out))
    lines = list(map(json.loads, out.split("\n")[:-1]))
    assert [(line["id"], line["text"]) for line in lines] == list(TEXTS.items())
    for line, trees in zip(lines, expected, strict=True):
        for sentence, tree in zip(line["sentences"], trees, strict=True):
            content = tree.to_dict()
            comments = [c for c in content.pop("comments") if "newdoc" not in c and " = " not in c]
            assert tree.spans == (*zip(sentence.pop("begin"), sentence.pop("end"), strict=True),)
            assert sentence == content | {"comments": comments}
    status, out, _ = run("in.jsonl", "--input", "jsonl")
    note = "# empty_document = empty\n"
    assert re.search(rf"\n\n(# .*\n)*{note}(# .*\n)*# sent_id = b c-1\n", out)
    found = read_conllu(io.StringIO(out.replace(note, "", 1)))
    written = [(tree.to_conllu(), tree.document) for trees in expected for tree in trees]
    for trees in (found, read):
        assert [(tree.to_conllu(), tree.document) for tree in trees] == written


def test_probabilities_are_those_of_the_library(run, tmp_path, bundled, english):
    write_conllu(english[:12], tmp_path / "in.conllu")
    _, out, _ = run("in.conllu", *JSON[2:], "--confidence")
    found = [json.loads(line)["sentences"][0] for line in out.split("\n")[:-1]]
    trees, parser = bundled.parse(english[:12], confidence=True), bundled[-1]
    heads = [tree.heads for tree in trees]
    of_heads = head_probabilities(bundled.predict_marginals(english[:12]), heads)
    tagging = parser._forest(parser._batch(english[:12])).scored.tagging
    proba = dict(zip(tagging.values, tagging.proba(None), strict=True))
    proba["deprel"] = np.concatenate(bundled.predict_label_proba(english[:12], heads))

    def of_tokens(name):
        return [value for sentence in found for value in sentence[name]]

    assert of_tokens("head") == np.concatenate(heads).tolist()
    assert_allclose(of_tokens("head_proba"), np.concatenate(of_heads), atol=6e-5)
    for name, values in {"deprel": parser.labels_, **tagging.values}.items():
        if name != "lemma":
            codes = {value: k for k, value in enumerate(values)}
            own = [rows[codes[v]] for rows, v in zip(proba[name], of_tokens(name), strict=True)]
            assert_allclose(of_tokens(f"{name}_proba"), own, atol=6e-5)
    for sentence, tree in zip(found, trees, strict=True):
        assert f"# score = {sentence['score']:.4f}" in tree.comments
        assert "Confidence" not in str(sentence["misc"])


# Documents with faults


LINES = {
    "nul": (rb'{"id": "x", "text": "a\u0000b"}', "'x'", r"the character '\x00' at 1"),
    "raw nul": (b'{"id": "x", "text": "a\0b"}', "the text", "control character"),
    "Latin": (b'{"id": "x", "text": "caf\xe9"}', "'x'", "not valid UTF-8"),
    "surrogate": (rb'{"id": "x", "text": "\ud800"}', "'x'", "no text file in UTF-8"),
    "id": (rb'{"id": "x\ny", "text": "a"}', "the text", "the id must be"),
    "no id": (rb'{"id": null, "text": "a"}', "the text", "the id must be"),
    "no text": (rb'{"id": "x", "text": null}', "'x'", "text must be a str"),
    "missing": (rb'{"id": "x"}', "the text", "no JSON object"),
    "list": (b'["x", "y"]', "the text", "no JSON object"),
    "cut": (b'{"id": "x", "te', "the text", "Unterminated string"),
    "deep": (b"[" * 10**5, "the text", "recursion"),
}


@pytest.mark.filterwarnings("default")
@over(("workers", "size"), [("1", 20), ("2", 10**6)])
def test_bad_lines_are_left_out(run, tmp_path, monkeypatch, workers, size):
    good = json.dumps({"id": "a", "text": "Dogs bark."}).encode()
    for bad, name, reason in LINES.values():
        data = b"\n".join([good, b"", bad, bad, good.replace(b'"a"', b'"b"')])
        (tmp_path / "in.jsonl").write_bytes(b"\xef\xbb\xbf" + data)
        with monkeypatch.context() as at:
            read_at_once(at, size)
            status, out, err = run("in.jsonl", *JSON, *SKIP, "--n-jobs", workers)
        assert (status, list_ids(out)) == (0, ["a", "b"])
        *told, last = err
        for each, line in zip(told, (3, 4), strict=True):
            assert each.startswith(f"warning: in.jsonl:{line}: ")
            assert reason in each
            assert f"{name} is left out" in each
        assert last.startswith("warning: 2 of 4 documents were left out; the others have 2 ")
        status, out, (err,) = run("in.jsonl", *JSON)
        assert (status, list_ids(out)) == (1, ["a"])  # what came before is written
        assert err.startswith("error: in.jsonl:3: ")


@pytest.mark.filterwarnings("default")
@over("packed", [False, True])
def test_bad_files_are_left_out_as_a_whole(run, tmp_path, monkeypatch, packed):
    """Also where much of them has been read when the fault comes."""
    read_at_once(monkeypatch, 50)
    good, bad = b"It rains.\n\n" * 20, [b"a\0b", b"caf\xe9"]
    contents = {"a": good, "b": good + bad[0], "c": b"", "d": good + bad[1], "e": b"Yes.\n"}
    names = [f"{name}.txt{'.gz' * packed}" for name in contents]
    for name, content in zip(names, contents.values(), strict=True):
        (tmp_path / name).write_bytes(gzip.compress(content) if packed else content)
    arguments = *names, "--input", "text", *SKIP, "--n-jobs", "2"
    status, out, err = run(*arguments)
    trees = read_conllu(io.StringIO(out))
    assert (status, [tree.document for tree in trees]) == (0, ["a"] * 20 + ["e"])
    assert "# empty_document = c" in trees[20].comments
    assert [each.rpartition("; ")[2] for each in err] == [
        "document 'b' is left out",
        "document 'd' is left out",
        "the others have 21 sentences (empty documents: 1)",
    ]
    assert err[0].startswith(f"warning: {names[1]}:41: NUL")
    assert err[1].startswith(f"warning: {names[3]}:41: ")
    assert list_ids(run(*arguments, *JSON[2:])[1]) == ["a", "c", "e"]


@pytest.mark.filterwarnings("default")
@pytest.mark.usefixtures("run")
def test_what_cannot_be_read_is_left_out(run_command, tmp_path, english):
    """A link that leads nowhere, of all formats, by all commands; it is an error without skip."""
    (tmp_path / "a.txt").write_text("Dogs bark .\n")
    write_lines(tmp_path / "a.jsonl", {"a": "Dogs bark."})
    for name in ("a.conllu", "b.conllu"):
        write_conllu(english[:20], tmp_path / name)
    for ending in ("txt", "jsonl", "conllu"):
        (tmp_path / f"gone.{ending}").symlink_to(tmp_path / "nowhere")
    model = ["-o", "m.npz", "--model", "single"]
    network = ["--model", "biaffine", "--max-iter", "1", "--columns", "form"]
    for command in (
        ["parse", "english", "gone.txt", "a.txt", "--input", "text"],
        ["parse", "english", "gone.txt", "a.txt", "--input", "horizontal"],
        ["parse", "english", "gone.jsonl", "a.jsonl", "--input", "jsonl"],
        ["parse", "english", "gone.conllu", "a.conllu"],
        ["train", "gone.conllu", "a.conllu", *model],
        ["train", "a.conllu", *model[:2], *network, "--raw-text", "gone.txt", "a.txt"],
        ["check", "a.conllu", "gone.conllu"],
        ["suggest", "m.npz", "gone.conllu", "a.conllu", "--ignore-heads"],
        ["suggest", "english", "gone.txt", "a.txt", "--input", "text"],
        ["evaluate", "[ag]*.conllu", "[bg]*.conllu"],
    ):
        gone = r"gone\.\w+ cannot be read: there is no such file.*"
        status, out, told = run_command(*command, *SKIP)
        assert (status, bool(out)) == (0, True)
        assert any(re.fullmatch(f"warning: {gone} is left out", line) for line in told)
        status, out, told = run_command(*command)
        assert (status, out) == (1, "")
        assert re.fullmatch(f"error: {gone}", told[-1])


@over("name", ["latin-1", "cp1252", "utf-16", "utf-16-le", "gb18030", "UTF8"])
def test_text_in_other_encodings(run, tmp_path, monkeypatch, name):
    """The same trees; what cannot be decoded is an error with its place."""
    text = "Dogs bark.\r\n\r\n" * 20 + "Caf\u00e9."
    (tmp_path / "a.txt").write_text(text, encoding="utf-8", newline="")
    expected = run("a.txt", "--input", "text")
    (tmp_path / "a.txt").write_text(text, encoding=name, newline="")
    with monkeypatch.context() as at:
        read_at_once(at, 50)
        assert run("a.txt", "--input", "text", "--encoding", name) == expected
        status, _, (err,) = run("a.txt", "--input", "text", "--encoding", "ascii")
    assert status == 1
    if not name.startswith("utf-16"):  # all of whose bytes but one are ASCII
        assert re.match(r"error: a\.txt:\d+: the file's encoding is not right: 'ascii'", err)
    lines = json.dumps({"id": "a", "text": text}, ensure_ascii=False)
    (tmp_path / "a.jsonl").write_text(lines, encoding=name)
    (tmp_path / "b.jsonl").write_text(lines, encoding="utf-8")
    found = run("a.jsonl", "--input", "jsonl", "--encoding", name)
    assert found == run("b.jsonl", "--input", "jsonl")


@pytest.mark.filterwarnings("default")
@over("workers", ["1", "2"])
def test_equal_ids_get_numbers(run, tmp_path, monkeypatch, workers):
    """No number makes an id that another document has; in one warning."""
    monkeypatch.setattr(_parse, "GROUP", 10)
    ids = ["a", "a", "a_2", 1, "a", "1", "b"]
    lines = (json.dumps({"id": each, "text": "Dogs bark. No.\n"}) for each in ids)
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    given = "in.jsonl", "in.jsonl", "--n-jobs", workers
    _, out, (err,) = run(*given, *JSON)
    expected = ["a", "a_2", "a_2_2", 1, "a_3", "1_2", "b"]
    expected += ["a_4", "a_5", "a_2_3", "1_3", "a_6", "1_4", "b_2"]
    assert list_ids(out) == expected
    assert err.endswith("got a number behind it: 11; the first became a_2")
    trees = read_conllu(io.StringIO(run(*given[:2], "--input", "jsonl")[1]))
    assert [tree.document for tree in trees[::2]] == list(map(str, expected))
    assert len({tree.sent_id for tree in trees}) == len(trees) == 28
    (tmp_path / "b.txt").write_text("Dogs bark.")
    _, out, (err,) = run("b.txt", "b.txt", "--input", "text")
    assert [tree.document for tree in read_conllu(io.StringIO(out))] == ["b", "b_2"]


WORDS = "Dogs bark. Cats sleep, I think. "


@over("size", [100, 10**6])
@over("form", ["text", "lines", "jsonl"])
def test_documents_are_valid_and_exact(run, tmp_path, monkeypatch, form, size):
    """Level 2 of the official validator passes, and the text of each document comes back."""
    begins, middles = ["", "\n\n", " " * 300], [WORDS, WORDS * 4, f"{WORDS}\n\n{WORDS}" * 2]
    texts = [
        a + b.strip() + c
        for a in begins
        for b in middles
        for c in ("", "\n", " ", "\n\n", "\u3000")
    ]
    if form == "jsonl":
        write_lines(tmp_path / "in.jsonl", dict(enumerate(texts)))
    else:
        for k, text in enumerate(texts):
            (tmp_path / f"{k:02}.txt").write_text(text, newline="")
    read_at_once(monkeypatch, size)
    assert run(".", "--input", form, "-o", "out.conllu") == (0, "", [])
    documents = {}
    for tree in read_conllu("out.conllu"):
        documents.setdefault(tree.document, []).append(tree)
    assert [join_text(trees) for trees in documents.values()] == texts
    assert join_text([t for trees in documents.values() for t in trees]) == "".join(texts)
    notes = [[NO_SPACE_BEHIND in tree.comments for tree in each] for each in documents.values()]
    expected = [not text[-1].isspace() for text in texts]
    assert [(each[0], sum(each)) for each in notes] == [(own, own) for own in expected]
    assert_valid(tmp_path / "out.conllu")


# Other languages


@pytest.mark.filterwarnings("default")
def test_text_in_another_language_is_told(run, tmp_path, monkeypatch, bundled):
    """Once for each file, over its pieces and workers; never of few words."""
    monkeypatch.setattr(_parse, "GROUP", 100)
    french = "Nous avons vu leurs enfants manger du pain chaud pendant toute la matinée.\n" * 20
    own = "The cat is on the table, and dogs sleep.\n" * 30
    texts = {"english.txt": own, "fr.txt": french, "few.txt": french[:1000], "dir/fr.txt": french}
    write_files(tmp_path, texts)
    given = ["english.txt", "fr.txt", "few.txt", "dir", "--input", "lines", "-o", "out"]
    for workers in ("1", "2"):
        status, _, err = run(*given, "--n-jobs", workers)
        assert (status, len(err)) == (0, 2)
        pattern = r"fr\.txt: the parser has never seen \d\d % of the 260 words.* English"
        for path, line in zip(["", "dir/"], err, strict=True):
            assert re.fullmatch(f"warning: {path}{pattern}", line)
    write_conllu(bundled.parse_text(french), tmp_path / "fr.conllu")
    assert "never seen" in run("fr.conllu", "-o", "out")[2][0]


# Partial files


PARTS = [b"one\n", b"", b"two" * 100, b"three\n"]


def write_parts(path, resume, parts=PARTS, key="x"):
    """Write parts, from the first one that is missing; tell which that was."""
    with write_resumable(path, {"the key": key}, resume) as (write, note, noted):
        begin = noted or 0
        for k, part in enumerate(parts[begin:], start=begin + 1):
            if isinstance(part, BaseException):
                raise part
            write(part)
            note(k)
    return begin


@over("name", ["out", "out.gz"])
def test_a_run_may_end_at_any_byte(tmp_path, name):
    path = tmp_path / name
    part, log = (tmp_path / f"{name}.part{end}" for end in ("", ".log"))
    write_parts(path, False)
    expected = path.read_bytes()
    content = gzip.decompress(expected) if name.endswith("z") else expected
    assert content == b"".join(PARTS)
    assert os.listdir(tmp_path) == [name]
    path.unlink()
    with contextlib.suppress(KeyboardInterrupt):
        write_parts(path, False, [*PARTS, KeyboardInterrupt()])
    assert sorted(os.listdir(tmp_path)) == [f"{name}.part", f"{name}.part.log"]
    texts = part.read_bytes(), log.read_bytes()
    begins = set()
    for n_text in range(len(texts[0]) + 1):
        for n_log in {len(texts[1]), n_text % len(texts[1]), len(texts[1]) - 3}:
            part.write_bytes(texts[0][:n_text])
            log.write_bytes(texts[1][:n_log])
            if n_text % 9 == 0:  # it ends a second time
                with contextlib.suppress(KeyboardInterrupt):
                    write_parts(path, True, [*PARTS[:3], KeyboardInterrupt()])
            begins.add(write_parts(path, True))
            assert path.read_bytes() == expected
            path.unlink()
    assert begins == {0, 1, 2, 3, 4}


def test_partial_files_that_stay_or_go(tmp_path):
    path = tmp_path / "out"
    path.write_text("old")
    for error, n_left in ((ValueError(), 0), (TypeError(), 0), (OSError("full"), 2)):
        with pytest.raises(type(error)):
            write_parts(path, False, [b"a", error])
        assert path.read_text() == "old"
        assert len(os.listdir(tmp_path)) == 1 + n_left
    with pytest.raises(ValueError, match=r"the key changed since .*out\.part\.log was made"):
        write_parts(path, True, key="y")
    assert write_parts(path, True) == 1  # it was only refused
    assert path.read_bytes() == b"a" + b"".join(PARTS[1:])
    assert write_parts(path, True) == 0  # nothing is left to go on with
    write_parts(tmp_path / "no.gz", True, [])
    assert gzip.decompress((tmp_path / "no.gz").read_bytes()) == b""


def test_two_runs_do_not_write_one_file(tmp_path):
    pytest.importorskip("fcntl")
    with write_resumable(tmp_path / "out", {}) as (write, *_):
        write(b"a")
        with pytest.raises(OSError, match="out cannot be written: another run is writing it"):
            write_parts(tmp_path / "out", False)
        write(b"b")
    assert (tmp_path / "out").read_bytes() == b"ab"


@pytest.mark.filterwarnings("default")
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs groups of processes")
@over(
    ("workers", "form", "end"),
    [("1", "jsonl", ""), ("2", "conllu", ".gz")],
)
def test_killed_and_resumed_it_writes_the_same_bytes(
    run, tmp_path, monkeypatch, workers, form, end
):
    texts = {f"d{k}": "The cat that you saw sat on my mat. " * (k % 30) for k in range(60)}
    write_lines(tmp_path / "in.jsonl", texts | {"bad": "\0", "e": "", "f": "Yes."})
    out = f"out.{workers}.{form}{end}"
    given = "in.jsonl", "-o", out, "--input", "jsonl", "--output-format", form, *SKIP
    read_at_once(monkeypatch, 300)
    assert run(*given)[0] == 0
    expected = (tmp_path / out).read_bytes()
    (tmp_path / out).unlink()
    part = tmp_path / f"{out}.part"
    with starting() as start:
        process = start(parse_small_pieces, "english", *given, "--n-jobs", workers, "--resume")
        while process.is_alive():
            if part.exists() and part.stat().st_size > len(expected) / 2:
                os.killpg(process.pid, signal.SIGKILL)
            time.sleep(0.002)
    with part.open("r+b") as file:  # in mid-sentence
        file.truncate(part.stat().st_size - 100)
    status, _, told = run(*given, "--n-jobs", "1", "--resume")
    assert told[-1].startswith("warning: 1 of 63 documents were left out; the others have")
    assert (status, (tmp_path / out).read_bytes()) == (0, expected)
    assert not [*tmp_path.glob("*part*")]


def test_another_run_is_not_resumed(run, tmp_path, english, monkeypatch):
    """One clear error, and the partial file stays for the run that it belongs to."""
    write_lines(tmp_path / "in.jsonl", dict.fromkeys("abcd", "Dogs bark. "))
    monkeypatch.setattr(_parse, "GROUP", 10)
    given = "in.jsonl", *JSON, "-o", "out"
    assert run(*given)[0] == 0
    expected = (tmp_path / "out").read_bytes()
    add = _parse.Output.add

    def interrupt(output, pieces, found):
        if output.counts["documents"] == 2:
            raise KeyboardInterrupt
        return add(output, pieces, found)

    with monkeypatch.context() as at:
        at.setattr(_parse.Output, "add", interrupt)
        assert run(*given) == (130, "", ["interrupted"])
    before = (tmp_path / "in.jsonl").stat()
    for changed, arguments in (
        ("the options", [*given, "--confidence"]),
        ("the options", [*given, *SKIP]),
        ("the inputs", ["in.jsonl", *given]),
    ):
        status, _, (err,) = run(*arguments, "--resume")
        assert (status, err.partition(" since ")[0]) == (1, f"error: --resume: {changed} changed")
    os.utime("in.jsonl", ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert "the inputs changed" in run(*given, "--resume")[2][0]
    os.utime("in.jsonl", ns=(before.st_atime_ns, before.st_mtime_ns))
    parse = _parse.PieceParser.__call__

    def check(work, pieces):
        assert pieces[0].document not in ("a", "b")  # what is done is not parsed again
        return parse(work, pieces)

    monkeypatch.setattr(_parse.PieceParser, "__call__", check)
    assert run(*given, "--resume", "--n-jobs", "2") == (0, "", [])
    assert (tmp_path / "out").read_bytes() == expected


# Progress


def test_progress_in_logs_is_lines(run, tmp_path, english, monkeypatch):
    monkeypatch.setattr(_parallel, "LOG_EVERY", 0)
    read_at_once(monkeypatch, 500)
    write_conllu(english[:60], tmp_path / "in.conllu")
    lines = run("in.conllu", "-o", "out")[2]
    pattern = r"Parsing: ([\d,]+) sentences, ([\d,]+) sentences/s, (\d+:\d\d:\d\d) left"
    found = [re.fullmatch(pattern, line).groups() for line in lines]
    assert len(found) > 1
    assert found[-1][::2] == ("60", "0:00:00")
    monkeypatch.setattr(_parallel, "LOG_EVERY", 60)
    assert run("in.conllu", "-o", "out")[2] == []
