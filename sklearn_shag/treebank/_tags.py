"""Tags that were predicted: how they come into trees."""

from sklearn_shag.treebank._columns import ATTRIBUTES, check_column
from sklearn_shag.treebank._lines import replace_column
from sklearn_shag.treebank._tree import make_tree


def with_tags(tree, name, tags):
    """Make a tree of the same sentence with other tags.

    Parameters
    ----------
    tree : DependencyTree
    name : {"upos", "xpos"}
        Their column.
    tags : sequence of str, length n_tokens

    Returns
    -------
    tree : DependencyTree
        Its symbols are the tags where they were those of the column before; also the forms of a
        tree without UPOS, which stand for it, give way to that. All else stays, as with
        :meth:`DependencyTree.with_heads`.
    """
    state = {slot: getattr(tree, slot) for slot in tree.__slots__}
    old, tags = state[name], check_column(name, tags, len(tree))
    if old is None and name == "upos":
        old = tree.forms
    if tree.symbols == old:
        state["symbols"] = tags
    if tree._source is not None:
        state["_source"] = replace_column(tree._source, list(ATTRIBUTES).index(name), tags)
    return make_tree(state | {name: tags})
