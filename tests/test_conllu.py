"""Reading and writing CoNLL-U: exact round trips, every error with its line, whole files only."""

import gzip
import io
import os
import pathlib
import pickle
import secrets
import sys
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_shag.treebank import (
    ConlluError,
    DependencyTree,
    read_conllu,
    read_horizontal,
    write_conllu,
)
from tests.loops import over

COLUMNS = "ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC"


def lines(text):
    """Turn the readable form, with columns separated by spaces, into lines with tabs."""
    return "\n".join(
        line if line.startswith("#") else "\t".join(line.split()) for line in text.split("\n")
    )


# Comments (one with tabs and one inside the sentence), multiword tokens, empty nodes before the
# first word and inside, an enhanced graph, MISC, several roots, crossing arcs, no heads.
TEXT = lines(
    """\
# newdoc id = one
# sent_id = 1
# text = I don't\ttab
0.1 _ _ PRON _ _ _ _ 3:nsubj Copy=yes
1 I I PRON PRP Case=Nom|Number=Sing 4 nsubj 4:nsubj|0.1:x _
2-3 don't _ _ _ _ _ _ _ SpaceAfter=No
2 do do AUX VBP _ 4 aux 4:aux _
# inside
3 n't not PART RB _ 4 advmod 4:advmod _
3.1 x x _ _ _ _ _ 4:dep _
4 know know VERB VB _ 0 root 0:root Gloss=a|Ref=b

# sent_id = 2
1 two _ NUM _ _ 0 root _ _
2 roots _ NOUN _ _ 0 root _ _

1 a _ X _ _ 3 dep _ _
2 b _ X _ _ 4 dep _ _
3 c _ X _ _ 0 root _ _
4 d _ X _ _ 3 dep _ _

# no heads
1 raw _ ADJ _ _ _ _ _ _
2 text _ NOUN _ _ _ amod _ SpaceAfter=No

"""
)
WORD = "\t".join(["{}", "w", "_", "X", "_", "_", "{}", "dep", "_", "_"]) + "\n"


def read(text, **options):
    return read_conllu(io.StringIO(text, newline=""), **options)


def write(trees):
    file = io.StringIO(newline="")
    write_conllu(trees, file)
    return file.getvalue()


def words(*heads):
    """The lines of words with these heads."""
    return "".join(WORD.format(token, head) for token, head in enumerate(heads, start=1))


class TestRead:
    def test_roots_crossing_arcs_and_missing_heads(self):
        _, roots, crossing, unlabelled = read(TEXT)
        assert roots.heads.tolist() == [0, 0]
        assert not roots.heads.flags.writeable
        assert not crossing.is_projective
        assert (unlabelled.heads, unlabelled.deprels) == (None, ("_", "amod"))

    @pytest.mark.parametrize(
        ("symbols", "expected"),
        [
            ("form", ("I", "do", "n't", "know")),
            (["upos"], ("PRON", "AUX", "PART", "VERB")),
            (("upos", "xpos"), ("PRON|PRP", "AUX|VBP", "PART|RB", "VERB|VB")),
            (["xpos", "feats.Case"], ("PRP|Nom", "VBP|_", "RB|_", "VB|_")),
        ],
    )
    def test_symbols(self, symbols, expected):
        trees = read(TEXT, symbols=symbols)
        assert trees[0].symbols == expected
        assert write(trees) == TEXT

    @pytest.mark.parametrize(
        "variant",
        [
            pytest.param("\ufeff" + TEXT, id="byte order mark"),
            pytest.param(TEXT.rstrip("\n"), id="no line end at the end"),
            pytest.param(TEXT + "\n\n", id="blank lines at the end"),
            pytest.param("\n\n" + TEXT.replace("\n\n", "\n \n\n"), id="more blank lines"),
        ],
    )
    def test_variants_of_the_same_text(self, variant, tmp_path):
        path = tmp_path / "variant.conllu"
        path.write_bytes(variant.encode())
        assert write(read_conllu(path)) == write(read(variant)) == TEXT

    def test_line_ends_stay(self, tmp_path):
        """All trees have the line end of the first line of their file."""
        crlf = TEXT.replace("\n", "\r\n")
        path = tmp_path / "crlf.conllu"
        for text in (crlf, TEXT.replace("\n", "\r\n", 3)):
            path.write_bytes(text.encode())
            trees = pickle.loads(pickle.dumps(read_conllu(path)))
            write_conllu(trees, path)
            assert path.read_bytes() == crlf.encode()
            assert trees == read(TEXT)
            heads = [tree.with_heads(tree.heads, tree.deprels) for tree in trees]
            assert all("\n" not in tree.to_conllu().replace("\r\n", "") for tree in heads)
            assert all("\r" not in line for tree in trees for line in tree.to_dict()["comments"])

    @pytest.mark.parametrize("text", ["", "\n", "\n\n\n", "\ufeff", " \n"])
    def test_no_sentences(self, text):
        assert read(text) == []

    def test_characters_that_only_unicode_calls_line_ends(self):
        text = words(0).replace("\tw\t", "\ta\x0b\x0c\x1c\x85\u2028\u2029b\t") + "\n"
        assert write(read(text)) == text


BAD_SENTENCES = {
    "too few columns": (words(0) + "2\tw\n", 2, "10 columns .* got 2; they are ID, FORM, .*'_'"),
    "too many columns": (words(0)[:-1] + "\t_\n", 1, "10 columns .* got 11"),
    "spaces for tabs": (
        "# c\n" + words(0).replace("\t", "  "),
        2,
        "10 columns .* got 1; the line looks like CoNLL-U with spaces for tabs",
    ),
    "empty column": (words(2, 0).replace("X", "", 1), 1, "column UPOS is empty"),
    "empty last column": (words(0)[:-2] + "\n", 1, "column MISC is empty"),
    "indented comment": (" # c\n" + words(0), 1, "10 columns"),
    "ID without number": (words(0).replace("1\t", "x\t"), 1, "'x' is not a valid ID"),
    "ID with sign": (words(0).replace("1\t", "+1\t"), 1, "not a valid ID"),
    "ID with leading zero": (words(0).replace("1\t", "01\t"), 1, "not a valid ID"),
    "no ID": (words(0).replace("1\t", "_\t"), 1, "ID '_' is out of place"),
    "reversed range": (WORD.format("2-1", "_") + words(0), 1, "not a valid ID"),
    "first ID is 2": (WORD.format(2, 0), 1, "'2' is out of place.*next word is 1"),
    "first ID is 0": (WORD.format(0, 0), 1, "'0' is out of place"),
    "sentences without a line between": (words(0) * 2, 2, "'1' is out.* empty line .*sentence"),
    "ID left out": (words(2, 0) + WORD.format(4, 2), 3, "'4' is out of place.*next word is 3"),
    "ID twice": (words(2, 0) + WORD.format(2, 2), 3, "'2' is out of place"),
    "range too early": (WORD.format("2-3", "_") + words(0, 1, 1), 1, "'2-3' is out of place"),
    "range too late": (words(0, 1) + WORD.format("1-2", "_"), 3, "'1-2' is out of place"),
    "range too long": ("# c\n" + WORD.format("1-3", "_") + words(0, 1), 2, "ends at 3"),
    "ranges overlap": (
        WORD.format("1-2", "_") + words(0) + WORD.format("2-3", "_") + WORD.format(2, 1),
        3,
        "'2-3' is out of place",
    ),
    "empty node out of place": (words(0) + WORD.format("2.1", "_"), 2, "'2.1' is out of place"),
    "empty node too late": (words(2, 0) + WORD.format("1.1", "_"), 3, "'1.1' is out of place"),
    "head without number": (words(0, "x"), 2, "bad head 'x'; HEAD is an integer, 0 for the root"),
    "head with decimals": (words("0.0"), 1, "bad head '0.0'"),
    "head with leading zero": (words(0, "01"), 2, "bad head '01'"),
    "two roots and a head missing": (words(0, "_", 0), 3, "head 0, and so has token 1"),
    "cycle and a head missing": ("# c\n" + words("_", 3, 2), 3, "cycle"),
    "head too large": (words(0, 1, 4), 3, "head 4 is outside 0..3"),
    "head negative": (words(0, -1), 2, "head -1 is outside"),
    "head negative, another missing": (words("_", -1, 2), 2, "head -1 is outside.*write '_' where"),
    "own head": (words(0, 2), 2, "cycle"),
    "cycle": ("# c\n" + words(0, 3, 4, 2), 3, "cycle"),
    "cycle after a range": (
        words(0) + WORD.format("2-3", "_") + WORD.format(2, 3) + WORD.format(3, 2),
        3,
        "cycle",
    ),
    "no root": ("# c\n# d\n" + words(2, 1), 3, "no root"),
    "comments only": ("# c\n# d\n", 1, "no words; remove its lines"),
    "a range and an empty node only": (
        WORD.format("0.1", "_") + WORD.format("1-1", "_"),
        1,
        "no words",
    ),
    "a CR too many": (words(0, 1)[:-1] + "\r\r\n", 2, "old Macs"),
    "a CR in a word": (words(0).replace("w", "a\rb"), 1, "old Macs"),
    "not UTF-8": (words(0, 1) + WORD.format(3, 1).replace("w", "\udce9"), 3, "not valid UTF-8"),
    "comment not UTF-8": ("# ok\n# \udcff\n" + words(0), 2, "not valid UTF-8"),
    "two files, a comment first": ("\ufeff# c\n" + words(0), 1, "line begins with a byte order"),
    "two files, a word first": ("# c\n\ufeff" + words(0), 2, "the line begins with .*remove"),
}


class TestErrors:
    @over("name", BAD_SENTENCES)
    def test_a_bad_sentence_between_good_ones(self, tmp_path, name):
        sentence, line, message = BAD_SENTENCES[name]
        before, after = "# before\n" + words(0) + "\n\n", "\n# after\n" + words(2, 0) + "\n"
        path, line = tmp_path / "bad.conllu", before.count("\n") + line
        path.write_bytes((before + sentence + after).encode(errors="surrogateescape"))
        with pytest.raises(ConlluError, match=message) as raised:
            read_conllu(path)
        assert str(raised.value).startswith(f"{path}:{line}: ")
        assert (raised.value.path, raised.value.line) == (str(path), line)
        with pytest.warns(UserWarning, match=message) as warned:
            trees = [read_conllu(path, on_error=on_error) for on_error in ("skip", "warn")]
        assert [list(map(len, each)) for each in trees] == [[1, 2], [1, 2]]
        told = [(str(each.message), each.filename) for each in warned]
        assert told == [(f"{raised.value}; the sentence is left out", __file__)]

    def test_line_numbers_count_crlf_and_blank_lines(self):
        text = ("\n\n" + words(0) + "\n\n\n# c\n" + words(1)).replace("\n", "\r\n")
        with pytest.raises(ConlluError, match=r"^<text>:8: "):
            read(text)

    def test_error_is_a_value_error_and_can_be_pickled(self):
        error = pickle.loads(pickle.dumps(ConlluError("a\n.conllu", 7, "wrong")))
        assert isinstance(error, ValueError)
        assert (error.path, error.line) == ("a\n.conllu", 7)
        assert str(error) == r"a\n.conllu:7: wrong"

    @over("names", ["ID FORM HEAD", f"{COLUMNS} MWE", COLUMNS.replace("LEMMA UPOS", "UPOS LEMMA")])
    def test_other_columns_are_refused(self, names):
        """Whatever is done with bad sentences: ten columns in another order would look good."""
        plain, plus = (f"\n# c\n# global.columns = {c}\n{words(0)}" for c in (COLUMNS, names))
        assert write(read(plain)) == plain[1:] + "\n"
        for on_error in ("raise", "skip", "warn"):
            with pytest.raises(ConlluError, match=f"CoNLL-U Plus.* '{names}'.*cut ") as caught:
                read(plus, on_error=on_error)
            assert caught.value.line == 3


HUGE = [
    ("9" * 4301, 0, "ID '9999.*is out of place"),
    ("1-" + "9" * 4301, 0, "ID '1-999.*is out of place"),
    ("0." + "9" * 4301, 0, "ID '0.999.*is out of place"),
    ("9" * 10**7, 0, "ID '9999.*is out of place"),
    ("x" * 10**7, 0, "'xxx.* is not a valid ID"),
    ("\x1b]0;owned\x07\u202e", 0, r"'\\x1b\]0;owned\\x07\\u202e' is not a valid ID"),
    *[(1, head, "head") for head in ("9" * 4300, "-" + "9" * 4301, "x" * 10**7)],
]


class TestHostileFiles:
    """Whatever is in a file: an error in one line, soon, and without much memory."""

    @over(("token_id", "head", "message"), HUGE)
    def test_ids_and_heads(self, token_id, head, message):
        with pytest.raises(ConlluError, match=message) as caught:
            read(WORD.format(token_id, head))
        assert len(str(caught.value)) <= 500
        assert len(pickle.dumps(caught.value.args)) < 1000
        assert str(caught.value).isprintable()

    # A hundred thousand bytes: where each is read once more for every other, this takes minutes.
    @over(
        "text",
        [
            " " * 10**5 + "x",
            " \n" * 50_000,
            "," * 10**5 + " x",
            "(" + " " * 10**5,
            "#\n" * 50_000,
            "x\n\n" * 33_000,
            "".join(WORD.format(k, k - 1) for k in range(1, 4500)),
            "".join(WORD.format(k, k % 4499 + 1) for k in range(1, 4500)),
        ],
    )
    def test_long_texts(self, text):
        for tree in read(text, on_error="skip"):
            assert str(tree)
            assert tree.to_svg()

    @pytest.mark.parametrize("reader", [read_conllu, read_horizontal])
    def test_what_unpacks_to_more(self, tmp_path, reader):
        path = tmp_path / "bomb.conllu"
        path.write_bytes(gzip.compress(b"\n" * 10**7, 1))
        assert reader(path) == reader(path, max_bytes=10**7) == []
        message = r"bomb\.conllu:\d+: up to here the text has more than max_bytes=9999999 bytes"
        tracemalloc.start()
        with pytest.raises(ConlluError, match=message):
            reader(path, max_bytes=10**7 - 1)
        with pytest.raises(ConlluError):
            reader(path, max_bytes=10**6)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 2 * 10**7

    @over(
        ("text", "max_bytes", "line"),
        [
            ("# \N{GRINNING FACE}\n" + words(0), 7 + len(words(0)) - 1, 3),
            (words(0) + "\n" + words(0), len(words(0)) + 1, 4),  # of three lines the last is beyond
        ],
    )
    def test_open_files_that_are_too_large(self, text, max_bytes, line):
        assert read(text, max_bytes=len(text.encode()))
        with pytest.raises(ConlluError, match=f"more than max_bytes={max_bytes} bytes") as caught:
            read(text, max_bytes=max_bytes)
        assert caught.value.line == line

    def test_blank_lines(self):
        """They are lines of spaces, and whatever ends the file."""
        for end in ("", "\n", "\n\n", "\n  ", "\n  \n", "\n \n\n  "):
            for start in ("", "\n", "  \n", "\n \n\n"):
                trees = read(start + words(0) + "  \n\n   \n" + words(0, 1) + end[1:])
                assert [tree._source for tree in trees] == [words(0)[:-1], words(0, 1)[:-1]]
        with pytest.raises(ConlluError, match="<text>:5: 10 columns"):
            read("\n  \n" + words(0) + " \n  x\n")


class TestRoundTrip:
    def test_unchanged_after_pickle_and_other_symbols(self):
        trees = [tree.with_symbols(tree.forms) for tree in pickle.loads(pickle.dumps(read(TEXT)))]
        assert write(trees) == TEXT

    def test_replaced_heads(self):
        trees = read(TEXT)
        changed = [
            trees[0].with_heads([0, 1, 2, 2]),
            trees[1].with_heads([0, 1], ["root", "nsubj"]),
            trees[2],
            trees[3].with_heads([2, 0]),
        ]
        assert write(changed) == lines(
            """\
# newdoc id = one
# sent_id = 1
# text = I don't\ttab
1 I I PRON PRP Case=Nom|Number=Sing 0 root _ _
2-3 don't _ _ _ _ _ _ _ SpaceAfter=No
2 do do AUX VBP _ 1 dep _ _
# inside
3 n't not PART RB _ 2 dep _ _
4 know know VERB VB _ 2 dep _ Gloss=a|Ref=b

# sent_id = 2
1 two _ NUM _ _ 0 root _ _
2 roots _ NOUN _ _ 1 nsubj _ _

1 a _ X _ _ 3 dep _ _
2 b _ X _ _ 4 dep _ _
3 c _ X _ _ 0 root _ _
4 d _ X _ _ 3 dep _ _

# no heads
1 raw _ ADJ _ _ 2 dep _ _
2 text _ NOUN _ _ 0 root _ SpaceAfter=No

"""
        )

    def test_removed_heads(self):
        bare = words("_", "_").replace("\tdep\t", "\t_\t") + "\n"
        assert write([read(words(2, 0))[0].with_heads(None)]) == bare

    def test_misc_of_a_file(self):
        """Values are added, those of the same name replaced; nothing else changes."""
        trees = read(TEXT)
        changed = [
            trees[0].with_misc("Ref", list("wxyz")),
            trees[1],
            trees[2],
            trees[3].with_misc("Ref", ["a=b c", "\u2028"]),
        ]
        expected = TEXT
        for old, new in (
            ("4:nsubj|0.1:x\t_\n", "4:nsubj|0.1:x\tRef=w\n"),
            ("4:aux\t_\n", "4:aux\tRef=x\n"),
            ("4:advmod\t_\n", "4:advmod\tRef=y\n"),
            ("Gloss=a|Ref=b\n", "Gloss=a|Ref=z\n"),
            ("1\traw\t_\tADJ\t_\t_\t_\t_\t_\t_\n", "1\traw\t_\tADJ\t_\t_\t_\t_\t_\tRef=a=b c\n"),
            ("amod\t_\tSpaceAfter=No\n", "amod\t_\tRef=\u2028|SpaceAfter=No\n"),
        ):
            assert expected.count(old) == 1
            expected = expected.replace(old, new)
        assert write(changed) == expected
        assert changed == trees
        assert write(trees) == TEXT
        again = [tree.with_misc("Ref", list("abcd")[: len(tree)]) for tree in read(expected)]
        assert write(again[:1]) == write([trees[0].with_misc("Ref", list("abcd"))])

    def test_misc_and_replaced_heads(self):
        """In either order, and pickled."""
        tree, values = read(TEXT)[0], ["0.1", "0.2", "0.3", "0.4"]
        one = tree.with_heads([0, 1, 2, 2]).with_misc("Confidence", values)
        other = tree.with_misc("Confidence", values).with_heads([0, 1, 2, 2])
        written = write([pickle.loads(pickle.dumps(one))])
        assert written == write([other])
        assert written.splitlines()[-2].split("\t")[6:] == [
            *("2", "dep", "_", "Confidence=0.4|Gloss=a|Ref=b")
        ]

    def test_built_in_python(self):
        full = DependencyTree(
            ["a b", "#"],
            [2, 0],
            lemmas=["x", "y"],
            upos=["X", "Y"],
            xpos=["XX", "YY"],
            feats=["Case=Nom", "_"],
            deprels=["obj", "root"],
        )
        bare = DependencyTree(["a", "b"], [0, 1])
        unlabelled = DependencyTree(["a"], deprels=["obj"])
        assert write([full, bare, unlabelled]) == (
            "1\ta b\tx\tX\tXX\tCase=Nom\t2\tobj\t_\t_\n"
            "2\t#\ty\tY\tYY\t_\t0\troot\t_\t_\n\n"
            "1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n"
            "2\tb\t_\t_\t_\t_\t1\tdep\t_\t_\n\n"
            "1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
        )
        assert read(write([full])) == [full]

    @given(
        st.lists(
            st.text(
                st.characters(exclude_characters="\t\n\r", exclude_categories=["Cs"]), min_size=1
            ),
            min_size=1,
        )
    )
    def test_any_form(self, forms):
        tree = DependencyTree(forms, range(len(forms)))
        assert read(write([tree]))[0].forms == tree.forms
        assert write(read(write([tree]))) == write([tree])


class TestWrite:
    def test_gzip(self, tmp_path):
        path = tmp_path / "out.conllu.gz"
        write_conllu(read(TEXT), path)
        assert gzip.decompress(path.read_bytes()) == TEXT.encode()
        assert read_conllu(path) == read(TEXT)
        # RFC 1952: no file name (flags, byte 3) and no time (bytes 4 to 7).
        assert path.read_bytes()[3:8] == bytes(5)

    @pytest.mark.parametrize("name", ["out.conllu.gz"])
    def test_generator_is_read_lazily(self, name, tmp_path):
        written = []

        def trees():
            for _ in range(20):
                # Random words, which cannot be compressed to less than the file's buffer.
                words = [secrets.token_hex(4000) for _ in range(100)]
                yield DependencyTree(words, range(100))
                written.append(sum(path.stat().st_size for path in tmp_path.iterdir()))

        write_conllu(trees(), tmp_path / name)
        assert 0 < written[0] < written[10] < written[19]
        assert len(read_conllu(tmp_path / name)) == 20

    def test_standard_output(self, capfdbinary, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        with open(1, "w", encoding="ascii", closefd=False) as stdout:
            monkeypatch.setattr(sys, "stdout", stdout)
            print("before")
            write_conllu([DependencyTree(["é"])], "-")
            with pytest.raises(TypeError, match=r"trees\[1\]"):
                write_conllu([DependencyTree(["a"]), None], "-")
        out = capfdbinary.readouterr().out.replace(b"\r\n", b"\n")
        assert out == b"before\n1\t\xc3\xa9" + b"\t_" * 8 + b"\n\n"
        assert os.listdir(tmp_path) == []

    def test_standard_output_of_text_alone(self, monkeypatch):
        """As in notebooks."""
        monkeypatch.setattr(sys, "stdout", io.StringIO())
        write_conllu(read(TEXT), "-")
        assert sys.stdout.getvalue() == TEXT


def files_of_treebanks(part):
    """Those of all treebanks in the folder that SKLEARN_SHAG_DATA names, if there is one."""
    folder = os.environ.get("SKLEARN_SHAG_DATA", "nowhere")
    return sorted(pathlib.Path(folder).glob(f"UD_*/*-{part}.conllu"))


@pytest.mark.skipif(not files_of_treebanks("dev"), reason="needs SKLEARN_SHAG_DATA")
@over("path", files_of_treebanks("dev"))
def test_treebanks_are_written_as_they_were(path):
    with open(path, encoding="utf-8", newline="") as file:
        assert write(read_conllu(path)) == file.read()
