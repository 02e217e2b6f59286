"""Input as people have it: which files a name means, and guesses what is not CoNLL-U."""

import bz2
import gzip
import io
import lzma
import os
import re
import sys

import pytest

from sklearn_shag import DeterministicSHAG
from sklearn_shag.treebank import ConlluError, DependencyTree, read_conllu
from sklearn_shag.treebank._sources import guess_format
from tests.loops import over

LINE = "1\t{}\t_\tX\t_\t_\t0\troot\t_\t_\n"


def text(*words):
    """A treebank with one sentence a word."""
    return "\n".join(map(LINE.format, words))


def forms(trees):
    return [form for tree in trees for form in tree.forms]


@pytest.fixture
def folder(tmp_path):
    """A folder with files to read, in another order than that of their names, and others."""
    (tmp_path / "c.conllu").write_text(text("c"))
    (tmp_path / "b.conllu.gz").write_bytes(gzip.compress(text("b").encode()))
    (tmp_path / "a.conllu").write_text(text("a1", "a2"))
    (tmp_path / "README.txt").write_text("Not a treebank.")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "d.conllu").write_text(text("d"))
    return tmp_path


class TestSources:
    def test_folder(self, folder):
        (folder / "more" / "circle").symlink_to(folder)
        (folder / "more" / "twice").symlink_to(folder / "more")
        (folder / ".checkpoints").mkdir()
        (folder / ".checkpoints" / "a.conllu").write_text(text("old"))
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

    def test_gzip_by_its_first_bytes(self, tmp_path):
        (tmp_path / "packed.conllu").write_bytes(gzip.compress(text("a").encode()))
        (tmp_path / "plain.conllu.gz").write_text(text("b"))
        assert forms(read_conllu(tmp_path)) == ["a", "b"]

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
    def test_pipe(self, tmp_path):
        """As the shell's <(command) gives it: no regular file, and read once."""
        reader, writer = os.pipe()
        os.write(writer, gzip.compress(text("a").encode()))
        os.close(writer)
        try:
            assert forms(read_conllu(f"/dev/fd/{reader}")) == ["a"]
        finally:
            os.close(reader)


GUESSES = {
    "words": ("The cat sat on the mat .", "like plain text.*--input text.*read_horizontal"),
    "a number and words": ("1 man went up the hill and came down again", "plain text"),
    "spaces": ("1  The  the  DET  DT  _  2  det  _  _", "spaces for tabs"),
    "spaces, no head": ("1 The the DET DT _ _ _ _ _", "spaces for tabs"),
    "spaces, a relation without a head": ("1 The the DET DT _ _ det _ _", "spaces for tabs"),
    "a table with commas": ("id,form,upos,head", "a table with commas or"),
    "a table with semicolons": ("1;The;DET;", "a table with commas or semi"),
    "JSON without spaces": ('{"id":0,"form":"The","upos":"DET"}', "JSON"),
    "words and commas": ("Well,then,go,now on,please", "plain text"),
    "git, one version": ("<<<<<<< HEAD", "mark of git between conflicting versions"),
    "git, what both had": ("||||||| merged common ancestors", "mark of git"),
    "git, the other version": ("=======", "mark of git"),
    "git, the end": (">>>>>>> a1b2c3 (Dogs)", "mark of git"),
    "Git LFS": ("version https://git-lfs.github.com/spec/v1", "Git LFS.*git lfs pull"),
    "commas": ("1,The,the,DET,DT,_,2,det,_,_", "separated by commas"),
    "semicolons": ("1;The;the;DET;DT;_;2;det;_;_", "separated by semicolons"),
    "Penn": ("(S (NP (DT The) (NN cat)) (VP (VBD sat)))", "Penn Treebank brackets.*dependencies"),
    "Penn, empty label": ("( (S (NP (DT The))))", "Penn"),
    "Penn, first line": ("(ROOT", "Penn"),
    "brackets in words": ("(Reuters) The cat sat .", "plain text"),
    "HTML": ("<!DOCTYPE html>", "HTML.*raw file"),
    "JSON": ('{"tokens": []}', "JSON"),
    "JSON, first line": ("[", "JSON"),
    "comment": (" # c", "comment.*first character"),
    "lines of old Macs": (text("a").replace("\n", "\r") * 2, r"line ends are '\\r'.*to '\\n'"),
    "2009": (
        "1\tcats\tcat\tcat\tN\tN\tnum=p\tnum=p\t2\t2\tSBJ\tSBJ\t_\t_",
        r"CoNLL-2009.*1, 2, 3, 5, 6, 7, 9 and 11",
    ),
    "2009 with arguments": (
        "1\tcats\tcat\tcat\tN\tN\t_\t_\t2\t2\tSBJ\tSBJ\tY\tcat.01\tA0\t_",
        "CoNLL-2009",
    ),
    "2009 without PHEAD": ("1\tcats\tcat\t_\tN\t_\t_\t_\t2\t_\tSBJ\t_\t_\t_", "CoNLL-2009"),
    "CoNLL-X, eight columns": ("1\tcats\tcat\tN\tNNS\t_\t2\tSBJ", "CoNLL-X.*columns 9 and 10"),
}


def test_links_that_lead_nowhere(tmp_path):
    (tmp_path / "none.conllu").symlink_to(tmp_path / "nowhere")
    for source in (tmp_path / "none.conllu", tmp_path / "*.conllu", tmp_path):
        with pytest.raises(FileNotFoundError, match=r"none\.conllu cannot be read: there is no"):
            read_conllu(source)


def test_names_that_no_file_can_have():
    with pytest.raises(OSError, match="holds the character"):
        read_conllu("\0")


class TestFormats:
    @over("name", GUESSES)
    def test_guess(self, name, tmp_path):
        line, message = GUESSES[name]
        (tmp_path / "a").write_text(f"# c\n{line}\n")
        with pytest.raises(ConlluError, match=rf":2: 10 columns.*; the line looks .*{message}"):
            read_conllu(tmp_path / "a")

    @pytest.mark.parametrize("line", ["a\tb", "1\t2\t3\t4", "1\ta\tb\tc\td\te\tf\tg\th\ti\tj"])
    def test_no_guess(self, line):
        assert guess_format(line) is None
        with pytest.raises(ConlluError, match=r"expected, got \d+; they are ID, .*MISC, '_' for"):
            read_conllu(io.StringIO(line))

    @over("on_error", ["raise", "skip", "warn"])
    @over(
        ("data", "message"),
        [
            (text("a").encode("utf-16"), "UTF-16.*save it in UTF-8"),
            (text("a").encode("utf-16-be"), "binary file, not text in UTF-8"),
            (b"\xfe\xff" + text("a").encode("utf-16-be"), "UTF-16"),
            (lzma.compress(text("a").encode()), "compressed with xz"),
            (bz2.compress(text("a").encode()), "compressed with bzip2"),
            (b"\x28\xb5\x2f\xfd....", "compressed with zstd"),
            (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "binary file"),  # NUL in line 3
        ],
    )
    def test_binary(self, tmp_path, data, message, on_error):
        (tmp_path / "a").write_bytes(data)
        with pytest.raises(ConlluError, match=f":[13]: .*{message}"):
            read_conllu(tmp_path / "a", on_error=on_error)

    def test_guesses_do_not_touch_what_is_valid(self, tmp_path):
        """Whatever a valid file begins with is not taken for something else."""
        for start in ("\ufeff", "\n", "# (S (NP\n", "# {\n"):
            (tmp_path / "a").write_text(start + text("PK"), encoding="utf-8")
            assert forms(read_conllu(tmp_path / "a")) == ["PK"]


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
