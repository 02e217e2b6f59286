"""Trees, and files of sentences that went wrong in all ways."""

import gzip
import io
import re
import sys
import warnings
import xml.etree.ElementTree as ElementTree
from contextlib import contextmanager
from operator import attrgetter
from typing import NamedTuple

from hypothesis import assume
from hypothesis import strategies as st

from sklearn_shag.treebank import ConlluError, read_conllu, read_horizontal, write_conllu
from tests.fuzz._run import Target

SEEDS = [
    # Comments, multiword tokens, empty nodes, an enhanced graph, MISC.
    "# sent_id = 1\n# text = I don't\ttab\n0.1\t_\t_\tPRON\t_\t_\t_\t_\t3:nsubj\tCopy=yes\n"
    "1\tI\tI\tPRON\tPRP\tCase=Nom|Number=Sing\t4\tnsubj\t4:nsubj|0.1:x\t_\n"
    "2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n2\tdo\tdo\tAUX\tVBP\t_\t4\taux\t4:aux\t_\n"
    "3\tn't\tnot\tPART\tRB\t_\t4\tadvmod\t4:advmod\t_\n3.1\tx\tx\t_\t_\t_\t_\t_\t4:dep\t_\n"
    "4\tknow\tknow\tVERB\tVB\t_\t0\troot\t0:root\tGloss=a|Ref=b\n",
    # Crossing arcs, and characters of two, three and four bytes.
    "1\tä\t_\tX\t_\t_\t3\tdep\t_\t_\n2\tא\t_\tX\t_\t_\t4\tdep\t_\t_\n"
    "3\t日本\t_\tX\t_\t_\t0\troot\t_\t_\n4\t😀\t_\tX\t_\t_\t3\tdep\t_\t_\n",
    # Several roots, known heads beside unknown ones, none at all.
    "1\ttwo\t_\tNUM\t_\t_\t0\troot\t_\t_\n2\troots\t_\tNOUN\t_\t_\t0\troot\t_\t_\n",
    "1\tpart\t_\tX\t_\t_\t_\t_\t_\t_\n2\tknown\t_\tX\t_\t_\t0\troot\t_\tA=b\n",
    "# no heads\n1\traw\t_\tADJ\t_\t_\t_\t_\t_\t_\n2\ttext\t_\tNOUN\t_\t_\t_\tamod\t_\t_\n",
    "Dogs bark .\n\n  Cats   do n't  \n\nla ciudad donde naciste\n",
]
DIGITS = ["0", "1", "2", "3", "4", "5", "9", "10", "-1", "01", "1-2", "2-4", "1.1", "0.1", "_"]
STRANGE = [
    *(
        "",
        " ",
        "  ",
        "\t",
        "\t\t",
        "\n",
        "\n\n",
        "\n \n",
        "\r",
        "\r\n",
        "\0",
        "\v",
        "\f",
        "\x1b[2J",
    ),
    *("\x7f", "\x85", "\xa0", "\xad", "\u0301", "\u200b", "\u200f", "\u2028", "\u202e", "\u2066"),
    *("\ufeff", "\uffff", "\U0010ffff", "²", "٣", "#", "|", "=", "A=b|C", ",", ";", "(", "[", "<"),
    *("&", "1\u0660", "+1", "1e3", "None", "root", "_"),
]
BYTES = [
    b"\xff",
    b"\x80",
    b"\xed\xa0\x80",
    b"\xc0\xaf",
    b"\xf4\x90\x80\x80",
    b"\xef\xbb\xbf",
    b"\0",
]
# What stands between sentences is no part of them.
_UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class File(NamedTuple):
    content: bytes
    on_error: str


def make_file(random):
    """A file of sentences to which a few things were done, seldom many, or nothing."""
    blocks = random.choices(SEEDS, k=random.choice([1, 1, 2, 3]))
    lines = random.choice(["\n", "\n\n", "\n  \n"]).join(blocks).split("\n")
    for _ in range(random.choice([0, 1, 1, 1, 2, 8])):
        random.choice([_change_column, _change_column, _change_line, _insert])(random, lines)
    text = random.choice(["\n", "\n", "\n", "\r\n", "\r"]).join(lines)
    content = text.encode(errors="surrogatepass")
    if random.random() < 0.15:
        content = change_bytes(random, content)
    if random.random() < 0.05:
        content = b"\xef\xbb\xbf" + content
    if random.random() < 0.001:
        content *= random.randrange(2, 10**5 // (len(content) + 1) + 2)
    if random.random() < 0.1:
        content = gzip.compress(content, 1, mtime=0)
        if random.random() < 0.5:
            content = change_bytes(random, content)
    return File(content, random.choice(["raise", "skip", "warn"]))


def make_tokens(random):
    """Such a file, of which what stands between columns is as a rule a space."""
    file = make_file(random)
    if random.random() < 0.1:
        return file
    return file._replace(content=file.content.replace(b"\t", b" "))


def _change_column(random, lines):
    place = random.randrange(len(lines))
    columns = lines[place].split("\t")
    column = random.choice([0, 6, random.randrange(10)]) % len(columns)
    columns[column] = _make_value(random)
    lines[place] = "\t".join(columns)


def _make_value(random):
    if random.random() < 0.01:  # more digits than an int takes, or a very long word
        return random.choice(["1", "9", "x"]) * random.choice([19, 4300, 4301, 9000])
    return random.choice(random.choice([DIGITS, STRANGE]))


def _change_line(random, lines):
    place, other = random.randrange(len(lines)), random.randrange(len(lines))
    change = random.randrange(4)
    if change == 0:
        lines.insert(other, lines[place])
    elif change == 1:
        lines[place], lines[other] = lines[other], lines[place]
    else:  # an empty line, or a part of one
        lines[place] = lines[place][: (change - 2) * random.randrange(len(lines[place]) + 1)]


def _insert(random, lines):
    place = random.randrange(len(lines))
    letter = random.randrange(len(lines[place]) + 1)
    lines[place] = lines[place][:letter] + _make_value(random) + lines[place][letter:]


def change_bytes(random, content):
    """Take bytes out, put others in, or both, at a few places."""
    for _ in range(random.choice([1, 1, 2, 5, 16])):
        place = random.randrange(len(content) + 1)
        end = random.choice([place, place + 1, place + random.randrange(40)])
        piece = random.choice([b"", random.randbytes(1), random.choice(BYTES)])
        content = content[:place] + piece + content[end:]
    return content


def run_conllu(file):
    """Read a file: an error that is a message, or trees that are written as they were."""
    try:
        with _standard_input(file.content), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            trees = read_conllu("-", on_error=file.on_error, max_bytes=10**6)
    except ConlluError as error:
        _check_message(error)
        return "ConlluError"
    for warning in caught:
        _check_message(warning.message)
    written = _write(trees)
    if file.on_error == "raise":
        assert written == _normalise(file.content)
    assert read_conllu(io.StringIO(written, newline="")) == trees
    for tree in trees:
        _check_tree(tree)
    return f"{min(len(trees), 3)} trees" if trees else "nothing"


def run_horizontal(file):
    """Read it as tokens alone."""
    try:
        with _standard_input(file.content):
            trees = read_horizontal("-", max_bytes=10**6)
    except ConlluError as error:
        _check_message(error)
        return "ConlluError"
    lines = re.split("\r?\n", _decode(file.content))
    expected = [line.split(" ") for line in lines if line.strip(" ")]
    assert [list(tree.forms) for tree in trees] == [list(filter(None, line)) for line in expected]
    again = read_conllu(io.StringIO(_write(trees), newline=""))
    assert [tree.forms for tree in again] == [tree.forms for tree in trees]
    return f"{min(len(trees), 3)} trees" if trees else "nothing"


@contextmanager
def _standard_input(content):
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(content))
    try:
        yield
    finally:
        sys.stdin = before


def _check_message(error):
    message = str(error)
    assert len(message) <= 600, message  # the message of a warning has some words more
    assert message.startswith("<stdin>:")
    assert not _UNSAFE.search(message.replace("\n", "\0")), ascii(message)


def _write(trees):
    file = io.StringIO(newline="")
    write_conllu(trees, file)
    return file.getvalue()


def _decode(content):
    if content.startswith(b"\x1f\x8b"):
        content = gzip.decompress(content)
    return content.decode().removeprefix("\ufeff")


def _normalise(content):
    """The sentences with one blank line after each, and the line end of the first line."""
    content, sentences = _decode(content), [[]]
    line_end = "\r\n" if content.partition("\n")[0].endswith("\r") else "\n"
    for line in content.replace("\r\n", "\n").split("\n"):
        if line.strip(" "):
            sentences[-1].append(line)
        elif sentences[-1]:
            sentences.append([])
    return "".join(line_end.join([*lines, "", ""]) for lines in sentences if lines)


def _check_tree(tree):
    n_tokens = len(tree)
    drawing = str(tree)
    assert not _UNSAFE.search(drawing), ascii(drawing)
    assert drawing.count("\n") == n_tokens - 1
    assert repr(tree).isprintable()
    assert {len(tree.column(name)) for name in ("form", "upos", "feats.Case")} == {n_tokens}
    ElementTree.fromstring(tree.to_svg())
    bare = tree.with_heads(None).with_misc("Ref", ["x"] * n_tokens)
    assert [row.heads for row in read_conllu(io.StringIO(_write([bare]), newline=""))] == [None]
    if tree.heads is not None:
        assert tree.is_projective == (not tree.crossing_arcs())
        (again,) = read_conllu(io.StringIO(_write([bare.with_heads(tree.heads)]), newline=""))
        assert again.heads.tolist() == tree.heads.tolist()
        assert len(tree.subtree(1)) <= n_tokens == len(tree.to_displacy()["words"])


TARGETS = {
    "conllu": Target(make_file, run_conllu, attrgetter("content")),
    "horizontal": Target(make_tokens, run_horizontal, attrgetter("content")),
}


@st.composite
def heads_lists(draw, max_tokens=12, *, n_tokens=None, n_roots=None):
    """Any trees, also with crossing arcs and, unless it is said how many, several roots."""
    if n_tokens is None:
        n_tokens = draw(st.integers(1, max_tokens))
    order = draw(st.permutations(range(1, n_tokens + 1)))
    heads = [0] * n_tokens
    for place, token in enumerate(order):
        if n_roots is None:
            heads[token - 1] = draw(st.sampled_from([0, *order[:place]]))
        elif place >= n_roots:
            heads[token - 1] = draw(st.sampled_from(order[:place]))
    return heads


@st.composite
def partial_heads(draw, max_tokens=8):
    """Parts of trees with one root, at least one head of which is known, and one is not."""
    tree = draw(heads_lists(max_tokens))
    known = draw(st.lists(st.booleans(), min_size=len(tree), max_size=len(tree)))
    partial = [head if is_known else -1 for head, is_known in zip(tree, known, strict=True)]
    assume(any(known) and not all(known) and partial.count(0) <= 1)
    return partial
