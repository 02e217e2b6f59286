"""How columns of tokens are grouped to be embedded."""

from sklearn_shag.features import FIRST, TAGS, VECTOR
from sklearn_shag.network import ARC, Group, Sizes

__all__ = ["VECTOR_GROUP", "list_sizes"]

# By the kinds of columns in a group: the standard deviation of its embeddings at first, and how
# often a value is replaced in training. Affixes are groups of their own where there are no tags.
TAG_GROUP, WORD_GROUP = (1.0, 0.02), (0.3, 0.2)
FORM_GROUP, AFFIX_GROUP = (0.3, 0.3), (0.5, 0.05)
# Of vectors that were learned elsewhere the standard deviation is made that.
VECTOR_GROUP = (0.3, 0.2)


def list_sizes(vocabulary, hidden, n_labels, n_tags, n_dimensions=0):
    """Group columns, and say how large everything in a network is.

    Parameters
    ----------
    vocabulary : dict of list of str
        The known values of each column.
    hidden : sequence of int
        Units per direction of each recurrent layer.
    n_labels : int or None
        None if arcs are not scored either.
    n_tags : int
    n_dimensions : int, default=0
        Of the vectors of words that were learned elsewhere.

    Returns
    -------
    sizes : Sizes
    """
    tagged = any(name in TAGS or name.startswith("feats") for name in vocabulary)
    members = {}
    for k, (name, values) in enumerate(vocabulary.items()):
        group = _group_of(name, tagged)
        members.setdefault(group, []).append((k, FIRST + len(values)))
    groups = [
        Group(*zip(*of_group, strict=True), *settings)
        for (_, settings), of_group in members.items()
    ]
    if VECTOR in vocabulary:  # a group of its own, and the last one
        groups[-1] = groups[-1]._replace(width=n_dimensions, fixed=True)
    arc = 0 if n_labels is None else ARC
    return Sizes(tuple(groups), tuple(map(int, hidden)), n_labels or 0, n_tags, arc=arc)


def _group_of(name, tagged):
    """Name the group of a column, and say how it is trained."""
    kind = name.partition(".")[0]
    if kind in TAGS or kind == "feats":
        return "tags", TAG_GROUP
    if kind == VECTOR:
        return "vectors", VECTOR_GROUP
    if tagged:
        return "words", WORD_GROUP
    if kind in ("form", "lemma"):
        return "forms", FORM_GROUP
    return "suffixes" if kind == "suffix" else "prefixes", AFFIX_GROUP
