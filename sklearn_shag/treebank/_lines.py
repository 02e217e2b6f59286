"""The lines of a sentence in CoNLL-U: taken apart, changed, and put together again."""

import re
from itertools import repeat
from typing import NamedTuple

from sklearn_shag.treebank._columns import MISSING, unspecified_relation
from sklearn_shag.utils._heads import UNKNOWN

_TOKEN_RANGE = re.compile(r"(?<![^|])TokenRange=([0-9]{1,18}):([0-9]{1,18})(?![^|])")
_EMPTY_NODE = re.compile(r"\n\d+\.\d+\t[^\n]*")


class MultiwordToken(NamedTuple):
    """A token of the text that consists of several words.

    For example, French "du" consists of "de" and "le". In CoNLL-U it has its own line before the
    lines of its words.

    Attributes
    ----------
    first, last : int
        Positions of its words, from 1.
    form : str
        The token as it is in the text.
    misc : str, default="_"
        The column MISC.

    See Also
    --------
    DependencyTree.with_multiword_tokens : Sets them.

    Examples
    --------
    >>> from sklearn_shag.treebank import DependencyTree, MultiwordToken
    >>> tree = DependencyTree(["à", "le"]).with_multiword_tokens([MultiwordToken(1, 2, "au")])
    >>> tree.multiword_tokens[0].form
    'au'
    """

    first: int
    last: int
    form: str
    misc: str = MISSING


class EmptyNode(NamedTuple):
    """A word that the text leaves out.

    It is not part of the tree, only of the enhanced graph (DEPS). Its ID is that of the word before
    it followed by a number, such as 8.1.

    Attributes
    ----------
    after : int
        The position of the word that it follows, 0 for the beginning.
    columns : tuple of str, length 9
        FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS and MISC.

    See Also
    --------
    DependencyTree.with_empty_nodes : Sets them.

    Examples
    --------
    >>> from sklearn_shag.treebank import DependencyTree, EmptyNode
    >>> node = EmptyNode(1, ("ate", "eat", "VERB", *"_____", "_"))
    >>> DependencyTree(["Sue", "fish"]).with_empty_nodes([node]).empty_nodes[0].after
    1
    """

    after: int
    columns: tuple[str, ...]


class Lines(NamedTuple):
    """A sentence, taken apart."""

    comments: list[str]  # in front of all else
    words: list[list[str]]  # ten columns each
    multiword_tokens: list[MultiwordToken]
    empty_nodes: list[EmptyNode]


def take_apart(text):
    """Take the lines of a sentence apart; comments within it come to its beginning."""
    found = Lines([], [], [], [])
    for line in text.split("\n"):
        cells = line.split("\t")
        if line.startswith("#"):
            found.comments.append(line)
        elif cells[0].isdecimal():
            found.words.append(cells)
        elif "-" in cells[0]:
            first, last = map(int, cells[0].split("-"))
            found.multiword_tokens.append(MultiwordToken(first, last, cells[1], cells[9]))
        else:
            found.empty_nodes.append(EmptyNode(int(cells[0].split(".")[0]), tuple(cells[1:])))
    return found


def put_together(lines):
    """Make the text of a sentence."""
    ranges = {token.first: token for token in lines.multiword_tokens}
    nodes = {}
    for after, columns in lines.empty_nodes:
        of_word = nodes.setdefault(after, [])
        of_word.append("\t".join([f"{after}.{len(of_word) + 1}", *columns]))
    rows = [*lines.comments, *nodes.get(0, ())]
    for k, cells in enumerate(lines.words, start=1):
        if k in ranges:
            first, last, form, misc = ranges[k]
            rows.append("\t".join([f"{first}-{last}", form, *[MISSING] * 7, misc]))
        rows += ["\t".join(cells), *nodes.get(k, ())]
    return "\n".join(rows)


def name_comment(line):
    """Take a comment such as "# sent_id = 1" apart: name and value, None if it has none."""
    name, equals, value = line.removeprefix("#").partition("=")
    return (name.strip(), value.strip()) if equals else (None, None)


def find_comment(comments, wanted):
    """Look up the value of the first comment of a name; None if there is none."""
    named = map(name_comment, comments)
    return next((value for name, value in named if name == wanted), None) or None


def read_range(misc):
    """Read the place of a token in a text from MISC, None if there is none."""
    found = _TOKEN_RANGE.search(misc)
    return found and (int(found[1]), int(found[2]))


def format_columns(tree):
    """Make the lines of a tree from its columns, without heads."""
    missing = (MISSING,) * len(tree)
    columns = [tree.forms, tree.lemmas, tree.upos, tree.xpos, tree.feats, *[None] * 4]
    ids = map(str, range(1, len(tree) + 1))
    rows = zip(ids, *(column or missing for column in columns), strict=True)
    return "\n".join(map("\t".join, rows))


def replace_heads(text, heads, deprels):
    """Replace HEAD and DEPREL of the words, and drop the enhanced graph: DEPS and empty nodes.

    Parameters
    ----------
    text : str
        The lines of a sentence.
    heads : int ndarray of shape (n_tokens,) or None
    deprels : sequence of str, length n_tokens, or None

    Returns
    -------
    text : str
    """
    if heads is None:
        rows = repeat(f"{MISSING}\t{MISSING}")
    else:
        heads = heads.tolist()
        names = [MISSING if head == UNKNOWN else str(head) for head in heads]
        rows = map("\t".join, zip(names, deprels or map(unspecified_relation, heads), strict=True))

    def edit(line, row):
        kept, _, _, _, misc = line.rsplit("\t", 4)
        return f"{kept}\t{row}\t{MISSING}\t{misc}"

    return _EMPTY_NODE.sub("", f"\n{edit_words(text, rows, edit)}")[1:]


def replace_misc(text, name, values):
    """Give each word ``name=value`` in MISC, in place of what it has there of that name."""

    def replace(line, value):
        others, _, misc = line.rpartition("\t")
        items = [] if misc == MISSING else misc.split("|")
        kept = [item for item in items if not item.startswith(f"{name}=")]
        kept += [] if value is None else [f"{name}={value}"]
        return f"{others}\t{'|'.join(kept) or MISSING}"

    return edit_words(text, values, replace)


def edit_words(text, values, edit):
    """Change the lines of the words of a sentence: each by its own value."""
    lines, values = text.split("\n"), iter(values)
    for k, line in enumerate(lines):
        # The ID of a comment, a range or an empty node is no number.
        if line.partition("\t")[0].isdecimal():
            lines[k] = edit(line, next(values))
    return "\n".join(lines)
