"""Horizontal text: what is a token, and what is a line."""

import gzip
import io

from sklearn_shag.treebank import read_horizontal
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


def test_files_as_of_conllu(tmp_path, monkeypatch):
    (tmp_path / "b.txt").write_bytes(b"\xef\xbb\xbfb\r\n\r\nb\xc3\xa9\r\n")  # a mark, and CRLF
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"a a\n"))
    (tmp_path / "x.conllu").write_text("not read")
    expected = [("a", "a"), ("b",), ("bé",)]
    for source in (tmp_path, tmp_path / "*.txt*", [tmp_path / "a.txt.gz", tmp_path / "b.txt"]):
        assert forms(read_horizontal(source)) == expected
    monkeypatch.setattr("sys.stdin", io.StringIO("c d\n"))
    assert read_horizontal("-")[0].forms == ("c", "d")
