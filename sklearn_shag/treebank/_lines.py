"""The lines of a sentence in CoNLL-U: columns that are replaced, all else as it is."""

import re

from sklearn_shag.treebank._columns import unspecified_relation
from sklearn_shag.treebank._unknown import MISSING
from sklearn_shag.utils._heads import UNKNOWN

# Neither a comment nor a range nor an empty node; up to HEAD, and what is replaced with it.
_HEAD = re.compile(r"^([0-9]+(?:\t[^\t]+){5}\t)[^\t]+\t[^\t]+\t[^\t]+", flags=re.MULTILINE)
# Likewise, up to MISC, and MISC.
_MISC = re.compile(r"^([0-9]+(?:\t[^\t]+){8}\t)(.+)$", flags=re.MULTILINE)


def format_columns(tree):
    """Make the lines of a tree from its columns, without heads."""
    missing = (MISSING,) * len(tree)
    columns = [tree.forms, tree.lemmas, tree.upos, tree.xpos, tree.feats, *[None] * 4]
    ids = map(str, range(1, len(tree) + 1))
    rows = zip(ids, *(column or missing for column in columns), strict=True)
    return "\n".join(map("\t".join, rows))


def replace_heads(text, heads, deprels):
    """Replace HEAD and DEPREL of the words, and drop DEPS.

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
    pieces = _HEAD.split(text)  # each second one is the beginning of a word's line
    if heads is None:
        heads = deprels = [MISSING] * (len(pieces) // 2)
    else:
        heads = heads.tolist()
        deprels = deprels or list(map(unspecified_relation, heads))
        heads = [MISSING if head == UNKNOWN else head for head in heads]
    pieces[1::2] = map("{}{}\t{}\t_".format, pieces[1::2], heads, deprels)
    return "".join(pieces)


def replace_column(text, number, values):
    """Replace one of the columns between ID and HEAD, which follow the numbers from 0 to 4."""
    word = re.compile(rf"^([0-9]+(?:\t[^\t]+){{{number}}}\t)[^\t]+", flags=re.MULTILINE)
    pieces = word.split(text)  # each second one is the beginning of a word's line
    pieces[1::2] = map("{}{}".format, pieces[1::2], values)
    return "".join(pieces)


def replace_misc(text, name, values):
    """Give each word ``name=value`` in MISC, in place of what it has there of that name.

    Parameters
    ----------
    text : str
        The lines of a sentence.
    name : str
    values : sequence of str, length n_tokens

    Returns
    -------
    text : str
    """
    key, values = f"{name}=", iter(values)

    def replace(match):
        items = [] if match[2] == MISSING else match[2].split("|")
        items = [item for item in items if not item.startswith(key)]
        return match[1] + "|".join([*items, key + next(values)])

    return _MISC.sub(replace, text)
