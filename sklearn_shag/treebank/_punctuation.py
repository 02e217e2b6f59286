"""Trees without their punctuation."""

import unicodedata
from collections.abc import Iterable
from itertools import compress

from sklearn_shag.treebank._columns import ATTRIBUTES
from sklearn_shag.treebank._tree import DependencyTree
from sklearn_shag.treebank._unknown import MISSING
from sklearn_shag.utils._collections import is_collection
from sklearn_shag.utils._messages import shorten


def marks_punctuation(symbol):
    """Tell whether a symbol, a str, stands for punctuation."""
    if symbol in ("", MISSING):
        return False
    return symbol.split("|")[0] == "PUNCT" or all(
        unicodedata.category(character)[0] == "P" for character in symbol
    )


def remove_punctuation(trees: Iterable[DependencyTree]) -> list[DependencyTree]:
    """Make trees of the same sentences without punctuation.

    What depends on a punctuation mark then depends on its head, or on the head of that if it is one
    as well.

    Parameters
    ----------
    trees : sequence of DependencyTree
        With or without heads. Their symbols tell what is punctuation, by the rule of
        :func:`~sklearn_shag.metrics.is_punctuation`.

    Returns
    -------
    trees : list of DependencyTree
        With the columns and symbols of the tokens that are left, and without comments and whatever
        else the file held; what has no punctuation stays as it is. Sentences of which nothing is
        left are left out.

    Raises
    ------
    ValueError
        If all symbols are ``_``, so that they tell nothing.
    TypeError
        If `trees` is no sequence of trees.

    See Also
    --------
    sklearn_shag.metrics.unlabeled_attachment_score : Leaves punctuation out of the score alone.

    Notes
    -----
    A sentence whose root is a punctuation mark has as many roots as that has modifiers. A head that
    is not known stays unknown, also that of what depended on a mark whose head is not known.
    Grammar induction is measured on such trees by custom.

    Examples
    --------
    >>> from sklearn_shag.treebank import DependencyTree, remove_punctuation
    >>> tree = DependencyTree(
    ...     ["Well", ",", "yes", "!"], [2, 3, 0, 3], upos=["INTJ", "PUNCT", "INTJ", "PUNCT"]
    ... )
    >>> remove_punctuation([tree])
    [DependencyTree('Well yes', heads=[2, 0])]
    """
    if not is_collection(trees):
        raise TypeError(
            f"trees must be a sequence of DependencyTrees, got a single {type(trees).__name__}. Of "
            f"one tree make a list: [tree]."
        )
    trees = list(trees)
    for index, tree in enumerate(trees):
        if not isinstance(tree, DependencyTree):
            raise TypeError(
                f"trees[{index}] is a {type(tree).__name__}: {shorten(tree)}. Symbols are only "
                f"known of a DependencyTree."
            )
    if trees and set().union(*(tree.symbols for tree in trees)) == {MISSING}:
        raise ValueError(
            f"All symbols of the trees are {MISSING!r}, which does not tell what is punctuation. "
            f"Tag the text first, or choose a column that has values with TokenFeature."
        )
    kept = ((tree, [not marks_punctuation(symbol) for symbol in tree.symbols]) for tree in trees)
    return [tree if all(mask) else _take(tree, mask) for tree, mask in kept if any(mask)]


def _take(tree, kept):
    """Make a tree of the tokens that are kept."""
    columns = {
        attribute: list(compress(values, kept))
        for attribute in ATTRIBUTES.values()
        if (values := getattr(tree, attribute)) is not None
    }
    heads = None if tree.heads is None else _climb(tree.heads.tolist(), kept)
    return DependencyTree(heads=heads, **columns)


def _climb(heads, kept):
    """The heads of the tokens that are kept: those above whatever is not, in their new places."""
    places = [0]
    for is_kept in kept:
        places.append(places[-1] + is_kept)
    climbed = []
    for head in compress(heads, kept):
        while head > 0 and not kept[head - 1]:
            head = heads[head - 1]
        climbed.append(places[head] if head > 0 else head)
    return climbed
