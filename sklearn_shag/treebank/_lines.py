"""The lines of a sentence in CoNLL-U: read one kind at a time, and changed."""

import re
from itertools import repeat
from typing import NamedTuple

from sklearn_shag.treebank._columns import MISSING, unspecified_relation
from sklearn_shag.utils._heads import UNKNOWN

_TOKEN_RANGE = re.compile(r"(?<![^|])TokenRange=([0-9]{1,18}):([0-9]{1,18})(?![^|])")
# Lines of these kinds, each with the line end before it.
_COMMENT = re.compile(r"\n(#.*)")
_MULTIWORD_TOKEN = re.compile(r"\n(\d+)-(\d+)\t(.*?)\t.*\t(.*)")
_EMPTY_NODE = re.compile(r"\n(\d+)\.\d+\t(.*)")


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


def list_comments(text):
    """List the comments of a sentence, also those between its words."""
    return _COMMENT.findall(f"\n{text}")


def list_words(text):
    """List the lines of the words of a sentence: their IDs are numbers."""
    return [line for line in text.split("\n") if line.partition("\t")[0].isdecimal()]


def list_last_column(text, place):
    """List the values of one of the last columns of the words of a sentence."""
    return tuple(line.rsplit("\t", 10 - place)[1] for line in list_words(text))


def list_multiword_tokens(text):
    """List the multiword tokens of a sentence."""
    found = _MULTIWORD_TOKEN.findall(f"\n{text}")
    return [MultiwordToken(int(first), int(last), *others) for first, last, *others in found]


def list_empty_nodes(text):
    """List the empty nodes of a sentence."""
    found = _EMPTY_NODE.findall(f"\n{text}")
    return [EmptyNode(int(after), tuple(cells.split("\t"))) for after, cells in found]


def replace_tokens(text, multiword_tokens, empty_nodes):
    """Put other multiword tokens and empty nodes into a sentence; its comments come first."""
    ranges = {token.first: token for token in multiword_tokens}
    nodes = {}
    for after, columns in empty_nodes:
        of_word = nodes.setdefault(after, [])
        of_word.append("\t".join([f"{after}.{len(of_word) + 1}", *columns]))
    rows = [*list_comments(text), *nodes.get(0, ())]
    for k, line in enumerate(list_words(text), start=1):
        if k in ranges:
            first, last, form, misc = ranges[k]
            rows.append("\t".join([f"{first}-{last}", form, *[MISSING] * 7, misc]))
        rows += [line, *nodes.get(k, ())]
    return "\n".join(rows)


def name_comment(line):
    """Take a comment such as "# sent_id = 1" apart: name and value, None if it has none."""
    name, equals, value = line.removeprefix("#").partition("=")
    return (name.strip(), value.strip()) if equals else (None, None)


def find_comment(text, wanted):
    """Look up the value of the first comment of a name in a sentence; None if there is none."""
    for line in _COMMENT.finditer(f"\n{text}"):  # most often one of the first, all else is not read
        name, value = name_comment(line[1])
        if name == wanted:
            return value or None
    return None


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


def replace_comments(text, comments):
    """Put other comments in front of a sentence."""
    return "\n".join([*comments, *(line for line in text.split("\n") if line[0] != "#")])


def replace_deps(text, deps):
    """Replace DEPS of each word."""

    def edit(line, own):
        kept, _, misc = line.rsplit("\t", 2)
        return f"{kept}\t{own}\t{misc}"

    return edit_words(text, deps, edit)


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
