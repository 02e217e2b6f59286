"""Horizontal text: what is a token, what is a line, and what is refused."""

import gzip
import io

import pytest

from sklearn_shag.treebank import ConlluError, read_horizontal
from tests.loops import over


def forms(trees):
    return [tree.forms for tree in trees]


def read(text):
    return forms(read_horizontal(io.StringIO(text)))


@over(
    ("text", "expected"),
    [
        ("Dogs bark .\nStop !\n", [("Dogs", "bark", "."), ("Stop", "!")]),
        ("Dogs bark", [("Dogs", "bark")]),  # without a line end
        ("  Dogs   bark  \n", [("Dogs", "bark")]),
        ("a\n\n   \nb\n\n", [("a",), ("b",)]),
        ("# a\n1 2\n", [("#", "a"), ("1", "2")]),  # nothing is a comment or a number
        ("10\u00a0000 euros\n", [("10\u00a0000", "euros")]),
        ("a\u2028b c\n", [("a\u2028b", "c")]),
        ('_ "\n', [("_", '"')]),
        ("", []),
        ("\n \n", []),
    ],
)
def test_lines_and_tokens(text, expected):
    assert read(text) == expected


def test_trees_have_forms_alone():
    (tree,) = read_horizontal(io.StringIO("Dogs bark\n"))
    assert tree.symbols == tree.forms == ("Dogs", "bark")
    for name in ("heads", "lemmas", "upos", "xpos", "feats", "deprels"):
        assert getattr(tree, name) is None


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "b.txt").write_bytes(b"\xef\xbb\xbfb\r\n\r\nb\xc3\xa9\r\n")  # a mark, and CRLF
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"a a\n"))
    (tmp_path / "x.conllu").write_text("not read")
    return tmp_path


def test_files_as_of_conllu(folder, monkeypatch):
    expected = [("a", "a"), ("b",), ("bé",)]
    for source in (folder, folder / "*.txt*", [folder / "a.txt.gz", folder / "b.txt"]):
        assert forms(read_horizontal(source)) == expected
    monkeypatch.setattr("sys.stdin", io.StringIO("c d\n"))
    assert read_horizontal("-")[0].forms == ("c", "d")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a b\n\nc\td\n", r"b\.txt:3: the line holds a tab, as in CoNLL-U"),
        (b"a\rb\r", r"b\.txt:1: the line holds '.*', the line end of old Macs"),
        (b"a\nb \xff\n", r"b\.txt:2: a character is not valid UTF-8"),
        ("\ufeffa\n\ufeffb\n".encode(), r"b\.txt:2: the line begins with a byte order mark"),
        (b"\xff\xfea\0", r"b\.txt:1: this is text in UTF-16"),
    ],
)
def test_lines_that_are_refused(folder, content, message):
    (folder / "b.txt").write_bytes(content)
    with pytest.raises(ConlluError, match=message):
        read_horizontal(folder / "b.txt")


def test_sources_that_are_refused(folder):
    (folder / "b.txt").unlink()
    (folder / "a.txt.gz").unlink()
    with pytest.raises(FileNotFoundError, match=r"holds no \.txt or \.txt\.gz file"):
        read_horizontal(folder)
