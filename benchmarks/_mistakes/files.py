"""Treebank files: reading what is not CoNLL-U, or not there, and writing."""

import bz2
import lzma

from _mistakes._replay import Mistake, raises, works

ALL = "len(result) == 60"


# A line in another format, and what it looks like.
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
    "lines of old Macs": (
        "1\ta\t_\tX\t_\t_\t0\troot\t_\t_\r" * 2,
        r"line ends are '\\r'.*to '\\n'",
    ),
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
ONE = b"1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n"
# What is no text, and what it is.
BINARY = [
    ((b"\xff\xfe" + ONE.decode().encode("utf-16-le")), "UTF-16.*save it in UTF-8"),
    (ONE.decode().encode("utf-16-be"), "binary file, not text in UTF-8"),
    (b"\xfe\xff" + ONE.decode().encode("utf-16-be"), "UTF-16"),
    (lzma.compress(ONE), "compressed with xz"),
    (bz2.compress(ONE), "compressed with bzip2"),
    (b"\x28\xb5\x2f\xfd....", "compressed with zstd"),
    (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "binary file"),  # NUL in line 3
]


def refused(name, *words, line=r"\d+"):
    """A file that is not CoNLL-U: named with the line, and a guess at what it is."""
    where = rf"{name}:{line}: .*"
    said = (rf"{where}({word})" for word in words)
    return Mistake(f"read_conllu({name!r})", raises(ValueError, *said))


MISTAKES = [
    Mistake(
        "read_conllu('missing.conllu')", raises(OSError, r"missing\.conllu", r"no (such )?file")
    ),
    Mistake("read_conllu('tain.conllu')", raises(OSError, r"tain\.conllu", r"no (such )?file")),
    Mistake(
        "read_conllu('no/such/folder/train.conllu')",
        raises(OSError, r"no/such/folder", r"no (such )?(file|folder)"),
    ),
    Mistake("read_conllu('train.conllu/train')", raises(OSError, r"train\.conllu/train", r"file")),
    Mistake(
        "read_conllu('nothing')", raises(OSError, r"nothing", r"no .*\.conllu", r"folder|direc")
    ),
    Mistake("read_conllu('treebank')", works("len(result) == 70")),
    Mistake("read_conllu('treebank/*.conllu')", works("len(result) == 70")),
    Mistake("read_conllu('treebank/*-dev.conllu')", raises(OSError, r"\*-dev\.conllu", r"no ")),
    Mistake("read_conllu(['train.conllu', 'test.conllu'])", works("len(result) == 70")),
    Mistake("read_conllu([])", raises(ValueError, r"at least one|no file|empty")),
    Mistake("read_conllu(['train.conllu', 'missing.conllu'])", raises(OSError, r"missing\.conllu")),
    Mistake("read_conllu(sorted(Path('treebank').glob('*')))", works("len(result) == 70")),
    Mistake("read_conllu('~/test.conllu')", works("len(result) == 10")),
    Mistake(
        "read_conllu('~/missing.conllu')", raises(OSError, r"missing\.conllu", r"no (such )?file")
    ),
    Mistake(
        "read_conllu('train.conllu', 'test.conllu')", raises(ValueError, r"'test\.conllu'", "upos")
    ),
    Mistake(
        "read_conllu('https://example.org/train.conllu')",
        raises(OSError, r"example\.org", r"no (such )?file|download|address|URL"),
    ),
    Mistake("read_conllu(Path('train.conllu').read_text())", raises(ValueError, r"io\.StringIO")),
    Mistake(
        "read_conllu(Path('train.conllu').read_text()[1000:1090])",
        raises(ValueError, r"io\.StringIO"),
    ),
    Mistake("read_conllu(io.StringIO(Path('train.conllu').read_text()))", works(ALL)),
    Mistake("read_conllu(open('train.conllu', 'rb'))", raises(TypeError, r"binary", r"text")),
    Mistake(
        "read_conllu(Path('train.conllu').read_bytes())",
        raises(TypeError, r"bytes", r"io\.StringIO\(data\.decode\(\)\)"),
    ),
    Mistake("read_conllu(None)", raises(TypeError, r"path.* or a file open", r"None")),
    Mistake("read_conllu(7)", raises(TypeError, r"path.* or a file open", r"int: 7")),
    Mistake("read_conllu(trees)", raises((TypeError, ValueError), r"DependencyTree|path")),
    Mistake(
        "read_conllu('train.conllu', symbols='pos')", raises(ValueError, r"'pos'", r"upos, xpos")
    ),
    Mistake("read_conllu('train.conllu', symbols='UPOS')", raises(ValueError, r"'UPOS'", r"upos")),
    Mistake("read_conllu('train.conllu', symbols='misc')", raises(ValueError, r"'misc'", r"upos")),
    Mistake("read_conllu('train.conllu', symbols='upos,xpos')", raises(ValueError, r"'upos,xpos'")),
    Mistake("read_conllu('train.conllu', symbols=[])", raises(ValueError, r"at least one column")),
    Mistake("read_conllu('train.conllu', symbols=None)", raises(ValueError, r"'symbols'", r"None")),
    Mistake("read_conllu('train.conllu', on_error='ignore')", raises(ValueError, r"'skip'")),
    Mistake("SpectralSHAG().fit(read_conllu('empty.conllu'))", raises(ValueError, r"no sentences")),
    Mistake("SpectralSHAG().fit(read_conllu('blank.conllu'))", raises(ValueError, r"no sentences")),
    refused("comments.conllu", r"no words", r"remove its lines"),
    refused("plain.txt", r"10 columns", r"plain text", line=1),
    refused("tagged.txt", r"10 columns", line=1),
    refused("penn.mrg", r"10 columns", r"Penn|bracket", line=1),
    refused("conll2009.txt", r"10 columns", r"CoNLL-2009", line=1),
    refused("conll2003.txt", r"10 columns", line=1),
    refused("three_columns.tsv", r"10 columns", r"got 3", r"ID, FORM", line=1),
    refused("spaces.conllu", r"10 columns", r"spaces", r"tab", line=1),
    refused("table.csv", r"10 columns", r"table", r"commas", line=1),
    refused("spacy.json", r"10 columns", line=1),
    refused("page.conllu", r"10 columns", line=1),
    refused("lfs.conllu", r"10 columns", r"git lfs pull", line=1),
    Mistake("read_conllu('conllx.conll')", works(ALL)),
    Mistake("read_conllu('windows.conllu')", works(ALL)),
    Mistake("read_conllu('no_last_line_end.conllu')", works(ALL)),
    Mistake("read_conllu('old_mac.conllu')", raises(ValueError, r"line", r"\\r|line end|carriage")),
    refused("latin1.conllu", r"UTF-8", r"encoding|convert|save"),
    refused("utf16.conllu", r"UTF-8|UTF-16", r"encoding|convert|save", line=1),
    Mistake("read_conllu(open('latin1.conllu', encoding='latin-1'))", works(ALL)),
    refused("binary.conllu", r"UTF-8|binary|text"),
    refused("model.npz", r"zip archive.*\(\.npz\)", line=1),
    refused("treebank.zip", r"zip|archive|unpack"),
    Mistake("read_conllu('packed.conllu.gz')", works(ALL)),
    Mistake("read_conllu('packed.conllu')", works(ALL)),
    Mistake("read_conllu('not_packed.conllu.gz')", works(ALL)),
    refused("truncated.conllu.gz", r"decompress", r"end|break|truncat|incomplete"),
    refused("zero_based.conllu", r"head -1"),
    refused("one_off.conllu", r"no token has head 0", r"give its root"),
    refused("self_root.conllu", r"itself", r"\b0\b"),
    refused("cycle.conllu", r"cycle", r"correct"),
    refused("words_as_heads.conllu", r"bad head", r"integer|number"),
    refused("float_heads.conllu", r"bad head '2\.0'", r"integer|number"),
    refused("glued.conllu", r"ID '1'", r"empty line"),
    refused("ids_from_0.conllu", r"ID '0'", r"from 1"),
    refused("missing_column.conllu", r"UPOS is empty", r"'_'"),
    Mistake("read_conllu('some_heads.conllu')", works("result[0].heads is None")),
    Mistake(
        "DeterministicSHAG().fit(read_conllu('some_heads.conllu'))",
        raises(ValueError, r"X\[0\] has no heads", r"1 of 60"),
    ),
    Mistake(
        "DeterministicSHAG().fit(read_conllu('no_heads.conllu'))",
        raises(ValueError, r"X\[0\] has no heads", r"60 of 60"),
    ),
    Mistake(
        "write_conllu('new.conllu', trees)",
        raises(TypeError, r"write_conllu\(trees, |swapped|order|first", r"trees"),
    ),
    Mistake("write_conllu(trees[0], 'new.conllu')", raises(TypeError, r"\[tree\]")),
    Mistake(
        "write_conllu(model.predict(trees), 'new.conllu')",
        raises(TypeError, r"trees\[0\]", r"array", r"parse.*returns trees", r"with_heads"),
    ),
    Mistake("write_conllu(tags, 'new.conllu')", raises(TypeError, r"trees\[0\]", r"list")),
    Mistake("write_conllu(None, 'new.conllu')", raises(TypeError, r"trees", r"None")),
    Mistake(
        "write_conllu(trees, None)", raises((TypeError, ValueError), r"path_or_file|path", r"None")
    ),
    Mistake("write_conllu(trees)", raises(TypeError, r"missing 1.*'path_or_file'", by="line")),
    Mistake(
        "write_conllu(trees, 'no/such/folder/new.conllu')",
        raises(
            FileNotFoundError,
            r"^no/such/folder/new\.conllu cannot be written: there is no folder /.*/folder;",
        ),
    ),
    Mistake(
        "write_conllu(trees, 'x' * 300)",
        raises(OSError, r"^(?!.*tmp').*cannot be written: File name too long"),
    ),
    Mistake(
        "write_conllu(trees, '/dev/full')",
        raises(OSError, r"^/dev/full cannot be written: No space left on device\.$"),
    ),
    Mistake("write_conllu(trees, 'treebank')", raises(OSError, r"treebank", r"folder|directory")),
    Mistake("write_conllu(trees, '~/new.conllu')", works("Path('home/new.conllu').exists()")),
    Mistake("write_conllu(trees, open(os.devnull, 'wb'))", raises(TypeError, r"binary", r"text")),
    Mistake("write_conllu(trees, open('train.conllu'))", raises((OSError, ValueError), r"writ")),
    Mistake(
        "read_conllu('train.conllu')",
        raises(OSError, r"train\.conllu", r"permi|may not|not readable"),
        locked="train.conllu",
    ),
    Mistake(
        "write_conllu(trees, 'treebank/new.conllu')",
        raises(OSError, r"treebank", r"permi|may not|not writable"),
        locked="treebank",
    ),
    *[
        Mistake(
            f"write_conllu(iter([*trees, {other}]), {name!r})",
            raises(TypeError, rf"trees\[60\] must be a DependencyTree, got {kind}"),
        )
        for other, kind in (("None", "None"), ("['DET', 'NOUN']", "list"))
        for name in ("train.conllu", "packed.conllu.gz")
    ],
    Mistake("read_jsonl('train.conllu', on_error='ignore')", raises(ValueError, r"on_error")),
    # Names of files, and what they hold, are the fault of nobody who skips sentences.
    *[
        Mistake(f"read_conllu({given}, on_error={on_error!r})", raises(error, said), before=before)
        for on_error in ("raise", "skip", "warn")
        for given, error, said, before in (
            ("''", FileNotFoundError, r"path of the file to read is empty", ""),
            ("'# a comment\\n'", ValueError, r"io\.StringIO", ""),
            ("[]", ValueError, r"list of files is empty", ""),
            ("[io.StringIO(), 3]", TypeError, r"open for reading text, got int: 3", ""),
            ("['-', '-']", ValueError, r"only once", ""),
            ("'none.conllu'", FileNotFoundError, r"no file or folder none\.conllu in /.+\.", ""),
            ("'treebank/none'", FileNotFoundError, r"^There is no file .* treebank/none", ""),
            ("'treebank/*.xml'", FileNotFoundError, r"^No file matches .* treebank/\*\.xml", ""),
            ("'nothing'", FileNotFoundError, r"nothing holds no \.conllu", ""),
            ("'https://x.org/a.conllu'", FileNotFoundError, r"Download it first", ""),
            (
                "Path('train.conllu').read_text()",
                ValueError,
                r"is text.*read_conllu\(io\.StringIO\(text\)\)",
                "",
            ),
            (
                "'twice'",
                ValueError,
                r"x\.conllu and x\.conllu\.gz.*Name the files",
                "folder = Path('twice'); folder.mkdir(); "
                "(folder / 'x.conllu').touch(); (folder / 'x.conllu.gz').touch()",
            ),
            (
                "'bad.conllu.gz'",
                ValueError,
                r"^bad\.conllu\.gz:1: .*cannot be decompressed further",
                "Path('bad.conllu.gz').write_bytes(b'\\x1f\\x8b123')",
            ),
            (
                "open('latin1.conllu', encoding='utf-8')",
                ValueError,
                r"latin1\.conllu:2: the file's encoding is not right",
                "",
            ),
        )
    ],
    *[
        Mistake(
            "read_conllu('a')",
            raises(ValueError, rf"^a:2: 10 columns.*; the line looks .*{looks}"),
            before=f"Path('a').write_text({line!r})",
        )
        for line, looks in ((f"# c\n{line}\n", looks) for line, looks in GUESSES.values())
    ],
    *[
        # Whatever a valid file begins with is not taken for something else.
        Mistake(
            "[tree.forms for tree in read_conllu('a')]",
            works("result == [('PK',)]"),
            before=f"Path('a').write_text({start + ONE.decode().replace('a', 'PK', 1)!r})",
        )
        for start in ("\ufeff", "\n", "# (S (NP\n", "# {\n")
    ],
    *[
        Mistake(
            f"read_conllu(io.StringIO({line!r}))",
            raises(ValueError, r"^(?!.*looks).*expected, got \d+; they are ID, .*MISC, '_' for"),
        )
        for line in ("a\tb", "1\t2\t3\t4", "1\ta\tb\tc\td\te\tf\tg\th\ti\tj")
    ],
    *[
        Mistake(
            f"read_conllu('a', on_error={on_error!r})",
            raises(ValueError, rf"^a:[13]: .*{message}"),
            before=f"Path('a').write_bytes({data!r})",
        )
        for data, message in BINARY
        for on_error in ("raise", "skip", "warn")
    ],
    *[
        Mistake(f"read_conllu({name!r})", raises(OSError, r"path|file|folder|pattern"))
        for name in ("\x1b[2J", "x" * 10_000, "a\x07*")
    ],
    *[
        Mistake(
            f"read_conllu({name!r})",
            raises(OSError, r"\\x1b\[31m"),
            before="Path('\\x1b[31m').mkdir()",
        )
        for name in ("\x1b[31m", "\x1b[31m/none")
    ],
    *[
        Mistake(
            "read_dictionary('words.tsv')",
            raises(ValueError, r"words\.tsv: Line 5001 of the dictionary, .* five values"),
            before=f"lines = ['b\\tNOUN\\t_\\t_\\tb'] * 5000 + [{line!r}, 'b\\tNOUN\\t_\\t_\\tb']; "
            f"Path('words.tsv').write_bytes({end!r}.join(lines).encode())",  # in several pieces
        )
        for line in ("a\tNOUN", "a\tNOUN\t_\t_\t_\t_", "a\t\t_\t_\t_", "\tX\t_\t_\t_")
        for end in ("\n", "\r\n")
    ],
    Mistake(
        "read_dictionary('words.tsv')",
        raises(ValueError, r"words\.tsv(:|, line )2"),
        before="Path('words.tsv').write_bytes(b'b\\tNOUN\\t_\\t_\\tb\\n\\xff\\n')",
    ),
    Mistake(
        "read_conllu('a\\nb\\x1b[2J\\u202e.conllu')",
        raises(ValueError, r"^a\\nb\\x1b\[2J\\u202e\.conllu:1: 10 columns"),
        before="Path('a\\nb\\x1b[2J\\u202e.conllu').write_text('x\\n')",
    ),
]
