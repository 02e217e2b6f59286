"""Input as people have it: which files a name means, and guesses what is not CoNLL-U."""

import gzip
import io
import os
import re
import sys

import pytest

from sklearn_shag import DeterministicSHAG
from sklearn_shag.treebank import DependencyTree, read_conllu
from tests.files import write_files
from tests.loops import over


def text(*words):
    """A treebank with one sentence a word."""
    return "\n".join(f"1\t{word}\t_\tX\t_\t_\t0\troot\t_\t_\n" for word in words)


def forms(trees):
    return [form for tree in trees for form in tree.forms]


@pytest.fixture
def folder(tmp_path):
    """A folder with files to read, in another order than that of their names, and others."""
    write_files(
        tmp_path,
        {
            "c.conllu": text("c"),
            "a.conllu": text("a1", "a2"),
            "README.txt": "Not a treebank.",
            "more/d.conllu": text("d"),
        },
    )
    (tmp_path / "b.conllu.gz").write_bytes(gzip.compress(text("b").encode()))
    return tmp_path


class TestSources:
    def test_folder(self, folder):
        (folder / "more" / "circle").symlink_to(folder)
        (folder / "more" / "twice").symlink_to(folder / "more")
        write_files(folder, {".checkpoints/a.conllu": text("old")})
        assert forms(read_conllu(folder)) == ["a1", "a2", "b", "c", "d"]
        assert forms(read_conllu(str(folder))) == ["a1", "a2", "b", "c", "d"]

    def test_what_may_not_be_read(self, folder, monkeypatch):
        """A folder in a folder is no reason to be silent."""
        list_folder = os.scandir

        def refuse(path):
            if path == str(folder / "more"):
                raise PermissionError(13, "Permission denied", path)
            return list_folder(path)

        monkeypatch.setattr(os, "scandir", refuse)
        monkeypatch.setattr(os, "access", lambda *path: False)
        with pytest.raises(IsADirectoryError, match="more cannot be read: permission is denied"):
            read_conllu(folder)

    @pytest.mark.parametrize(
        ("pattern", "expected"),
        [
            ("*.conllu", ["a1", "a2", "c"]),
            ("[bc].conllu*", ["b", "c"]),
            ("*/?.conllu", ["d"]),
            ("m*", ["d"]),
            ("~/c.conllu", ["c"]),
            ("~/[ab].conllu", ["a1", "a2"]),
            ("[d].conllu", ["brackets"]),  # a name that could be a pattern
        ],
    )
    def test_pattern(self, folder, monkeypatch, pattern, expected):
        for name in ("HOME", "USERPROFILE"):
            monkeypatch.setenv(name, str(folder))
        monkeypatch.chdir(folder)
        if pattern == "[d].conllu":
            (folder / pattern).write_text(text("brackets"))
        assert forms(read_conllu(pattern)) == expected

    @pytest.mark.parametrize("kind", [list, tuple])
    def test_several(self, folder, kind):
        files = kind([folder / "c.conllu", io.StringIO(text("x")), str(folder / "more")])
        assert forms(read_conllu(files)) == ["c", "x", "d"]
        assert [tree.symbols for tree in read_conllu(files[::2], symbols="form")] == [
            ("c",),
            ("d",),
        ]

    @pytest.mark.parametrize(
        "stream",
        [
            io.TextIOWrapper(io.BytesIO(text("é").encode()), encoding="ascii"),
            io.TextIOWrapper(io.BytesIO(gzip.compress(text("é").encode())), encoding="ascii"),
            io.StringIO(text("é")),  # with no bytes below
        ],
    )
    def test_standard_input(self, monkeypatch, stream):
        monkeypatch.setattr(sys, "stdin", stream)
        assert forms(read_conllu("-")) == ["é"]

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
    def test_pipe(self, tmp_path):
        """As the shell's <(command) gives it: no regular file, and read once."""
        reader, writer = os.pipe()
        os.write(writer, gzip.compress(text("a").encode()))
        os.close(writer)
        with os.fdopen(reader):
            assert forms(read_conllu(f"/dev/fd/{reader}")) == ["a"]


def test_links_that_lead_nowhere(tmp_path):
    (tmp_path / "none.conllu").symlink_to(tmp_path / "nowhere")
    for source in (tmp_path / "none.conllu", tmp_path / "*.conllu", tmp_path):
        with pytest.raises(FileNotFoundError, match=r"none\.conllu cannot be read: there is no"):
            read_conllu(source)


def test_names_that_no_file_can_have():
    with pytest.raises(OSError, match="holds the character"):
        read_conllu("\0")


class TestHeads:
    """Heads by other conventions, and what the message says to do."""

    # Trees in CoNLL-U's convention: chains, roots first and last, a single word.
    TREES = [[2, 0, 2], [0, 1, 1, 3], [2, 3, 4, 0], [2, 3, 0, 3], [3, 1, 0], [0]]
    CONVENTIONS = {
        "spaCy": lambda heads: [head - 1 if head else i for i, head in enumerate(heads)],
        "own": lambda heads: [head or i for i, head in enumerate(heads, start=1)],
        "-1": lambda heads: [head - 1 for head in heads],
    }

    @over("convention", CONVENTIONS)
    @over("tree", TREES)
    def test_advice_gives_the_tree(self, convention, tree):
        heads = self.CONVENTIONS[convention](tree)
        words = ["w"] * len(tree)
        try:
            DependencyTree(words, heads)
        except ValueError as error:
            codes = re.findall(r"convert them: (\[[^]]*\])", str(error))
            # Some heads are trees by two of the conventions; then both are named.
            assert tree in [eval(code, {"heads": heads, "enumerate": enumerate}) for code in codes]
            with pytest.raises(ValueError, match=re.escape(codes[0])):
                DeterministicSHAG().fit([words], [heads])
        else:
            # A tree, or part of one, by CoNLL-U's convention too, as far as one sentence tells.
            assert (0 if convention == "spaCy" else -1) in heads
            assert convention != "own"
        if -1 in heads:  # so they are no whole tree, whatever else they are
            code = re.escape("convert them: [head + 1 for head in heads]")
            with pytest.raises(ValueError, match=code):
                DeterministicSHAG().fit([words], [heads])
