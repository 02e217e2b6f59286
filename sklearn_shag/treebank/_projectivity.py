"""Heads of trees: unknown heads, allowed arcs, projectivity, and removal of punctuation."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from itertools import accumulate, compress

import numpy as np

from sklearn_shag.treebank._columns import ATTRIBUTES, MISSING
from sklearn_shag.treebank._tree import DependencyTree, Heads, SentenceHeads, require_trees
from sklearn_shag.utils._arrays import as_list, is_collection
from sklearn_shag.utils._heads import UNKNOWN, check_tree
from sklearn_shag.utils._heads import is_projective as has_no_crossing_arcs
from sklearn_shag.utils._messages import shorten
from sklearn_shag.utils._typing import BoolArray, IndexArray, IntArray


def heads(X: Iterable[DependencyTree]) -> list[IndexArray]:
    """Collect the heads of trees, for scikit-learn tools that require a y.

    Parameters
    ----------
    X : iterable of DependencyTree, length n_sentences
        Trees that all have heads.

    Returns
    -------
    y : list of read-only int ndarrays of shape (n_tokens_i,)
        The head of each token, 1-based, 0 for the root, -1 where it is not known.

    Raises
    ------
    ValueError
        If a sentence is not a tree with heads. The message names the first.
    TypeError
        If X is a single tree or not a sequence.

    See Also
    --------
    DependencyTree : Holds the heads of one sentence.
    sklearn_shag.metrics.uas_scorer : A scorer that needs no y.

    Examples
    --------
    >>> from sklearn_shag.treebank import DependencyTree, heads
    >>> heads([DependencyTree(["Dogs", "bark"], [2, 0]), DependencyTree(["Stop"], [0])])
    [array([2, 0]), array([0])]
    """
    sentences = as_list(X, "X", "a sequence of trees", " Wrap it in a list: [tree].")
    missing = [
        index
        for index, sentence in enumerate(sentences)
        if not isinstance(sentence, DependencyTree) or sentence.heads is None
    ]
    if missing:
        raise ValueError(
            f"X[{missing[0]}] has no heads ({len(missing)} of {len(sentences)} sentences have "
            f"none). Use DependencyTrees that have heads, or, where there is a y, pass the heads "
            f"of all sentences as y."
        )
    return [tree.heads for tree in sentences]


def fill_unknown(trees):
    """Give the unlabelled trees among labelled ones unknown heads (-1).

    Parameters
    ----------
    trees : sequence
        Trees, or any other sentences or heads.

    Returns
    -------
    trees : sequence
        Unchanged if all are unlabelled, which is a mistake more often than not, or if `trees` is
        no sequence.
    """
    if not is_collection(trees):
        return trees
    trees = list(trees)
    unlabelled = [isinstance(tree, DependencyTree) and tree.heads is None for tree in trees]
    if all(unlabelled):
        return trees
    return [
        tree.with_heads([UNKNOWN] * len(tree), tree.deprels) if is_unlabelled else tree
        for tree, is_unlabelled in zip(trees, unlabelled, strict=True)
    ]


def allowed_arcs(heads: Heads) -> list[BoolArray]:
    """List the arcs that known heads allow, as the `allowed` of an estimator's methods.

    Parameters
    ----------
    heads : sequence of length n_sentences
        ``heads[i]`` holds the head of every token of sentence i, 1-based, 0 for the root, -1 where
        it is not known; or it is a DependencyTree. An unlabelled tree allows all arcs.

    Returns
    -------
    allowed : list of bool ndarrays of shape (n_tokens_i, n_tokens_i + 1)
        In the layout of marginals: row m - 1 belongs to token m. If its head is known, the row is
        True in the column of that head only, and otherwise in all columns.

    Raises
    ------
    ValueError
        If the heads of a sentence are neither a tree nor part of one.
    TypeError
        If `heads` is not a sequence.

    See Also
    --------
    read_conllu : Reads heads that are not known as -1.

    Examples
    --------
    The verb is the root, and the heads of the other words are unknown:

    >>> from sklearn_shag.treebank import allowed_arcs
    >>> allowed_arcs([[-1, 0, -1]])[0].astype(int)
    array([[1, 1, 1, 1],
           [1, 0, 0, 0],
           [1, 1, 1, 1]])
    """
    return arcs_left_by(list_known_heads(heads))


def list_known_heads(heads):
    """Check known and unknown (-1) heads of sentences, and return an int ndarray for each."""
    if not is_collection(heads) or isinstance(heads, DependencyTree):
        raise TypeError(
            f"heads must hold the heads of each sentence, got {shorten(heads)}. Wrap the heads of "
            f"a single sentence in a list: [heads]."
        )
    return [_copy_heads(of_sentence, f"heads[{s}]") for s, of_sentence in enumerate(heads)]


def known_heads(sentence):
    """Return the heads of a sentence, all unknown (-1) if it has none, as symbols have none."""
    heads = getattr(sentence, "heads", None)
    return np.full(len(sentence), UNKNOWN) if heads is None else heads


def arcs_left_by(known):
    """List masks of allowed arcs, of shape (n_tokens, n_tokens + 1), from checked heads."""
    return [
        (heads[:, None] == UNKNOWN) | (heads[:, None] == np.arange(heads.size + 1))
        for heads in known
    ]


def is_projective(heads: SentenceHeads) -> bool:
    """Tell whether a sentence is projective, so that no two known arcs cross.

    Parameters
    ----------
    heads : int array-like of shape (n_tokens,) or DependencyTree
        1-based, 0 for the root, -1 where they are not known.

    Returns
    -------
    bool
        Arcs from the root start left of all tokens.

    Raises
    ------
    ValueError
        If `heads` are neither a tree nor part of one.

    See Also
    --------
    DependencyTree.crossing_arcs : Lists the arcs that cross.
    sklearn_shag.parsing.has_projective_completion : Whether a projective tree has the known heads.

    Examples
    --------
    >>> from sklearn_shag.treebank import is_projective
    >>> is_projective([2, 0, 2]), is_projective([3, 4, 0, 3]), is_projective([3, -1, 0, 3])
    (True, False, True)
    """
    return has_no_crossing_arcs(_copy_heads(heads, "heads").tolist())


def nonprojective_arcs(heads: SentenceHeads) -> tuple[int, ...]:
    """List the tokens whose arcs are not projective.

    An arc is not projective if a token between its ends does not descend from its head.

    Parameters
    ----------
    heads : int array-like of shape (n_tokens,) or DependencyTree
        1-based, 0 for the root, -1 where they are not known.

    Returns
    -------
    tokens : tuple of int
        Positions from 1, in their order. Arcs that are not projective for some unknown heads only
        are not listed.

    Raises
    ------
    ValueError
        If `heads` are neither a tree nor part of one.

    See Also
    --------
    is_projective : Whether any arcs cross.
    lift : Moves these tokens up until the tree is projective.

    Examples
    --------
    In "A hearing is held on it today" the phrase "on it" belongs to "hearing", across the verb:

    >>> from sklearn_shag.treebank import nonprojective_arcs
    >>> nonprojective_arcs([2, 4, 4, 0, 6, 2, 4])
    (6,)

    The share of such arcs in a treebank tells whether to learn from all trees (see `trees` of
    :class:`~sklearn_shag.BiaffineParser`):

    >>> from sklearn_shag.datasets import load_english
    >>> trees = load_english().data
    >>> f"{sum(len(nonprojective_arcs(t)) for t in trees) / sum(map(len, trees)):.2%}"
    '0.06%'
    """
    heads = _copy_heads(heads, "heads").tolist()
    if has_no_crossing_arcs(heads):
        return ()
    return tuple(token for token, head in enumerate(heads, start=1) if _skips(heads, token, head))


def lift(heads: SentenceHeads) -> IntArray:
    """Make a tree projective by moving tokens of crossing arcs up to the heads of their heads.

    Parameters
    ----------
    heads : int array-like of shape (n_tokens,) or DependencyTree
        A tree: 1-based, 0 for the root.

    Returns
    -------
    lifted : int ndarray of shape (n_tokens,)
        A projective tree with the same roots; the same heads if the tree is already projective.

    Raises
    ------
    ValueError
        If `heads` are not a tree, or some are unknown, so that where tokens move is unknown too.

    See Also
    --------
    nonprojective_arcs : Lists the arcs that are lifted first.
    sklearn_shag.parsing.projectivize : Lifts many sentences, and drops those that stay impossible.

    Notes
    -----
    As long as an arc spans a token that does not descend from the head of the arc, the shortest
    such arc is lifted, and the leftmost of equally short ones (Nivre and Nilsson, 2005). These are
    the arcs that :func:`nonprojective_arcs` lists: one in a thousand in French and English
    treebanks, one in a hundred in Dutch, more than five in a hundred in Latin. Where there are
    many, :class:`~sklearn_shag.BiaffineParser` and :class:`~sklearn_shag.CRFParser` learn better
    from trees that are not lifted.

    References
    ----------
    Nivre and Nilsson (2005), Pseudo-projective dependency parsing.

    Examples
    --------
    In "A hearing is held on it today" the phrase "on it" belongs to "hearing", across the verb:

    >>> from sklearn_shag.treebank import lift
    >>> lift([2, 4, 4, 0, 6, 2, 4])
    array([2, 4, 4, 0, 6, 4, 4])
    """
    lifted = _copy_heads(heads, "heads")
    if UNKNOWN in lifted:
        token = int(np.argmax(lifted == UNKNOWN)) + 1
        raise ValueError(
            f"heads cannot be lifted: the head of token {token} is not known (-1). Leave the "
            f"sentence as it is, or complete it first: parser.parse([tree], keep_heads=True)."
        )
    lifted = lifted.tolist()
    while (token := _find_lift(lifted)) is not None:
        lifted[token - 1] = lifted[lifted[token - 1] - 1]
    return np.array(lifted, dtype=np.int64)


def _find_lift(heads):
    """Return the dependent of the shortest arc that is not projective, or None."""
    lengths = (
        (abs(token - head), token)
        for token, head in enumerate(heads, start=1)
        if _skips(heads, token, head)
    )
    return min(lengths, default=(None, None))[1]


def _skips(heads, token, head):
    """Tell whether an arc spans a token that does not descend from its head."""
    between = range(min(token, head) + 1, max(token, head))
    return head > 0 and not all(_may_be_below(heads, k, head) for k in between)


def _may_be_below(heads, token, ancestor):
    while token > 0 and token != ancestor:
        token = heads[token - 1]
    return token != 0  # above an unknown head there may be anything


def _copy_heads(heads, where):
    """Check that heads are a whole or partial tree of at least one token, and copy them."""
    if isinstance(heads, DependencyTree):
        return known_heads(heads).astype(np.int64)
    return check_tree(heads, where)


def marks_punctuation(symbol):
    """Tell whether a symbol, a str, stands for punctuation."""
    return symbol not in ("", MISSING) and (
        symbol.split("|")[0] == "PUNCT"
        or all(unicodedata.category(character)[0] == "P" for character in symbol)
    )


def remove_punctuation(trees: Iterable[DependencyTree]) -> list[DependencyTree]:
    """Remove punctuation from trees.

    Dependents of a punctuation mark are attached to its head, or to the head of that if it is
    punctuation as well.

    Parameters
    ----------
    trees : sequence of DependencyTree
        With or without heads. Their symbols determine what is punctuation, by the rule of
        :func:`~sklearn_shag.metrics.is_punctuation`.

    Returns
    -------
    trees : list of DependencyTree
        With the columns and symbols of the remaining tokens, but without comments and the rest of
        the file. Trees without punctuation are returned as they are. Sentences that consist of
        punctuation only are dropped.

    Raises
    ------
    ValueError
        If all symbols are ``_``, so that punctuation cannot be recognised.
    TypeError
        If `trees` is not a sequence of trees.

    See Also
    --------
    sklearn_shag.metrics.unlabeled_attachment_score : Can leave punctuation out of the score only.

    Notes
    -----
    If a punctuation mark is the root, its modifiers become roots. Unknown heads stay unknown, and
    modifiers of a mark whose head is unknown have unknown heads. Grammar induction is usually
    evaluated on such trees.

    Examples
    --------
    >>> from sklearn_shag.treebank import DependencyTree, remove_punctuation
    >>> tree = DependencyTree(
    ...     ["Well", ",", "yes", "!"], [2, 3, 0, 3], upos=["INTJ", "PUNCT", "INTJ", "PUNCT"]
    ... )
    >>> remove_punctuation([tree])
    [DependencyTree('Well yes', heads=[2, 0])]
    """
    trees = as_list(trees, "trees", "a sequence of DependencyTrees", " Wrap it in a list: [tree].")
    require_trees(trees, "trees", "symbols are")
    if trees and set().union(*(tree.symbols for tree in trees)) == {MISSING}:
        raise ValueError(
            f"All symbols of the trees are {MISSING!r}, so that punctuation cannot be recognised. "
            f"Tag the text first, or choose a column that has values with TokenFeature."
        )
    kept = ((tree, [not marks_punctuation(symbol) for symbol in tree.symbols]) for tree in trees)
    return [tree if all(mask) else _keep_tokens(tree, mask) for tree, mask in kept if any(mask)]


def _keep_tokens(tree, kept):
    """Make a tree of the tokens for which the mask `kept` is True."""
    columns = {
        attribute: list(compress(values, kept))
        for attribute in ATTRIBUTES.values()
        if (values := getattr(tree, attribute)) is not None
    }
    heads = None if tree.heads is None else _attach_to_kept(tree.heads.tolist(), kept)
    return DependencyTree(heads=heads, **columns)


def _attach_to_kept(heads, kept):
    """Return the new heads of the kept tokens: their nearest kept ancestors, renumbered."""
    places = list(accumulate(kept, initial=0))
    climbed = []
    for head in compress(heads, kept):
        while head > 0 and not kept[head - 1]:
            head = heads[head - 1]
        climbed.append(places[head] if head > 0 else head)
    return climbed
