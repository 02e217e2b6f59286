"""Scores of predicted heads with the relations to them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import numpy as np

from sklearn_shag.metrics._attachment import (
    AlignedHeads,
    Ignored,
    align_heads,
    join_all,
    list_sentences,
)
from sklearn_shag.treebank import MISSING, DependencyTree, require_trees
from sklearn_shag.utils._heads import UNKNOWN, follow_heads
from sklearn_shag.utils._typing import ArrayLike, FloatArray

# Relations of content words, which CLAS scores; others are of function words and punctuation.
# fmt: off
CONTENT_RELATIONS = frozenset({
    "nsubj", "obj", "iobj", "csubj", "ccomp", "xcomp", "obl", "vocative", "expl", "dislocated",
    "advcl", "advmod", "discourse", "nmod", "appos", "nummod", "acl", "amod", "conj", "fixed",
    "flat", "compound", "list", "parataxis", "orphan", "goeswith", "reparandum", "root", "dep",
})
# fmt: on


def labeled_attachment_score(
    y_true: Iterable[DependencyTree],
    y_pred: Iterable[DependencyTree],
    *,
    sample_weight: ArrayLike | None = None,
    ignore: Ignored | None = None,
    max_length: int | None = None,
    subtypes: bool = False,
) -> float:
    """Compute the share of tokens whose head and relation are both right (LAS).

    Parameters
    ----------
    y_true : sequence of DependencyTree of length n_sentences
        The true trees. Tokens whose head (-1) or relation ("_") is not known do not count.
    y_pred : sequence of DependencyTree of length n_sentences
        Trees of the same sentences with predicted heads and relations, such as from ``parse``.
    sample_weight : None or array-like of shape (n_sentences,), default=None
        The weight of each sentence, which multiplies the counts of its tokens.
    ignore : None, callable or sequence of bool arrays, default=None
        Tokens that do not count, as for :func:`unlabeled_attachment_score`.
    max_length : None or int, default=None
        Longer sentences do not count; None counts all.
    subtypes : bool, default=False
        Whether whole relations are compared. By default, only the part before the colon is: "nmod"
        matches "nmod:poss", as in the official evaluation of Universal Dependencies.

    Returns
    -------
    score : float
        In [0, 1].

    Raises
    ------
    ValueError
        If the numbers of sentences or tokens do not match, a predicted tree has no relations, or no
        token counts.
    TypeError
        If an argument has the wrong type, or does not hold trees.

    See Also
    --------
    las_scorer : The score of an estimator, for scikit-learn's tools.
    labeled_breakdown : Counts by relation, length or depth.

    Examples
    --------
    >>> from sklearn_shag.metrics import labeled_attachment_score
    >>> from sklearn_shag.treebank import DependencyTree
    >>> tree = DependencyTree(["Dogs", "bark", "."], [2, 0, 2], deprels=["nsubj", "root", "punct"])
    >>> parsed = tree.with_heads([2, 0, 1], ["nsubj:pass", "root", "punct"])
    >>> round(labeled_attachment_score([tree], [parsed]), 2)
    0.67
    >>> round(labeled_attachment_score([tree], [parsed], subtypes=True), 2)
    0.33
    """
    return _score("las", y_true, y_pred, sample_weight, ignore, max_length, subtypes)


def content_labeled_attachment_score(
    y_true: Iterable[DependencyTree],
    y_pred: Iterable[DependencyTree],
    *,
    sample_weight: ArrayLike | None = None,
    ignore: Ignored | None = None,
    max_length: int | None = None,
    subtypes: bool = False,
) -> float:
    """Compute the labelled attachment score of content words (CLAS).

    Parameters
    ----------
    y_true, y_pred : sequences of DependencyTree of length n_sentences
        As for :func:`labeled_attachment_score`.
    sample_weight : None or array-like of shape (n_sentences,), default=None
        The weight of each sentence, which multiplies the counts of its tokens.
    ignore : None, callable or sequence of bool arrays, default=None
        Tokens that do not count, as for :func:`unlabeled_attachment_score`.
    max_length : None or int, default=None
        Longer sentences do not count; None counts all.
    subtypes : bool, default=False
        Whether whole relations are compared, or only the parts before the colon.

    Returns
    -------
    score : float
        In [0, 1]: the harmonic mean of the share of true content words, and of predicted ones,
        whose head and relation are right. Content words are those with any relation of Universal
        Dependencies except aux, case, cc, clf, cop, det, mark and punct.

    Raises
    ------
    ValueError, TypeError
        As for :func:`labeled_attachment_score`; also if there are no content words.

    See Also
    --------
    labeled_attachment_score : Scores all words.

    References
    ----------
    Nivre and Fang (2017), Universal Dependency Evaluation.

    Examples
    --------
    >>> from sklearn_shag.metrics import content_labeled_attachment_score
    >>> from sklearn_shag.treebank import DependencyTree
    >>> tree = DependencyTree(["Dogs", "bark", "."], [2, 0, 2], deprels=["nsubj", "root", "punct"])
    >>> parsed = tree.with_heads([2, 0, 1], ["nsubj", "root", "punct"])
    >>> content_labeled_attachment_score([tree], [parsed])
    1.0
    """
    return _score("clas", y_true, y_pred, sample_weight, ignore, max_length, subtypes)


def label_accuracy_score(
    y_true: Iterable[DependencyTree],
    y_pred: Iterable[DependencyTree],
    *,
    sample_weight: ArrayLike | None = None,
    ignore: Ignored | None = None,
    max_length: int | None = None,
    subtypes: bool = False,
) -> float:
    """Compute the share of tokens whose relation is right, whatever their heads are.

    Parameters
    ----------
    y_true, y_pred : sequences of DependencyTree of length n_sentences
        As for :func:`labeled_attachment_score`.
    sample_weight : None or array-like of shape (n_sentences,), default=None
        The weight of each sentence, which multiplies the counts of its tokens.
    ignore : None, callable or sequence of bool arrays, default=None
        Tokens that do not count, as for :func:`unlabeled_attachment_score`.
    max_length : None or int, default=None
        Longer sentences do not count; None counts all.
    subtypes : bool, default=False
        Whether whole relations are compared, or only the parts before the colon.

    Returns
    -------
    score : float
        In [0, 1].

    Raises
    ------
    ValueError, TypeError
        As for :func:`labeled_attachment_score`.

    See Also
    --------
    labeled_attachment_score : The share of tokens whose relation and head are right.

    Examples
    --------
    >>> from sklearn_shag.metrics import label_accuracy_score
    >>> from sklearn_shag.treebank import DependencyTree
    >>> tree = DependencyTree(["Dogs", "bark"], [2, 0], deprels=["nsubj", "root"])
    >>> label_accuracy_score([tree], [tree.with_heads([0, 1], ["root", "root"])])
    0.5
    """
    return _score("label_accuracy", y_true, y_pred, sample_weight, ignore, max_length, subtypes)


class LabeledBreakdown(NamedTuple):
    """Counts of right heads and relations, by the relation, length or depth of arcs.

    Tokens have the weight of their sentences.

    Attributes
    ----------
    values : ndarray of shape (n_values,)
        Relations (str, dtype object), or lengths or depths (int), ascending.
    total : ndarray of shape (n_values,)
        The number of true arcs.
    predicted : ndarray of shape (n_values,)
        The number of predicted arcs.
    right_heads, right_labels, right : ndarrays of shape (n_values,)
        The numbers of true arcs with the right head, the right relation, and both.

    See Also
    --------
    labeled_breakdown : Computes it from true and predicted trees.

    Examples
    --------
    >>> from sklearn_shag.metrics import labeled_breakdown
    >>> from sklearn_shag.treebank import DependencyTree
    >>> tree = DependencyTree(["Dogs", "bark", "."], [2, 0, 2], deprels=["nsubj", "root", "punct"])
    >>> values, total, *_, right = labeled_breakdown([tree], [tree], by="depth")
    >>> values, right / total
    (array([1, 2]), array([1., 1.]))
    """

    values: np.ndarray[Any, np.dtype[Any]]
    total: FloatArray
    predicted: FloatArray
    right_heads: FloatArray
    right_labels: FloatArray
    right: FloatArray


def labeled_breakdown(
    y_true: Iterable[DependencyTree],
    y_pred: Iterable[DependencyTree],
    *,
    by: Literal["relation", "length", "depth"] = "relation",
    sample_weight: ArrayLike | None = None,
    ignore: Ignored | None = None,
    max_length: int | None = None,
    subtypes: bool = False,
) -> LabeledBreakdown:
    """Count right heads and relations by the relation, the length or the depth of arcs.

    Parameters
    ----------
    y_true, y_pred : sequences of DependencyTree of length n_sentences
        As for :func:`labeled_attachment_score`.
    by : {"relation", "length", "depth"}, default="relation"
        The length of an arc is the distance between a token and its head, 0 for roots. The depth is
        the number of arcs from the token to the root, 1 for roots. If a head on the way is unknown,
        so is the depth, and the token does not count by depth.
    sample_weight : None or array-like of shape (n_sentences,), default=None
        The weight of each sentence, which multiplies the counts of its tokens.
    ignore : None, callable or sequence of bool arrays, default=None
        Tokens that do not count, as for :func:`unlabeled_attachment_score`.
    max_length : None or int, default=None
        Longer sentences do not count; None counts all.
    subtypes : bool, default=False
        Whether whole relations are compared, or only the parts before the colon.

    Returns
    -------
    breakdown : LabeledBreakdown
        ``right / total`` is the labelled attachment score of each row. By relation or length,
        ``right / predicted`` is its precision. The total is 0 in rows with predicted arcs only.

    Raises
    ------
    ValueError, TypeError
        As for :func:`labeled_attachment_score`; also if `by` is unknown.

    See Also
    --------
    attachment_breakdown : Counts right heads by symbol and direction.

    Examples
    --------
    >>> from sklearn_shag.metrics import labeled_breakdown
    >>> from sklearn_shag.treebank import DependencyTree
    >>> tree = DependencyTree(["Dogs", "bark", "."], [2, 0, 2], deprels=["nsubj", "root", "punct"])
    >>> parsed = tree.with_heads([2, 0, 1], ["obj", "root", "punct"])
    >>> breakdown = labeled_breakdown([tree], [parsed])
    >>> breakdown.values
    array(['nsubj', 'obj', 'punct', 'root'], dtype=object)
    >>> breakdown.total, breakdown.right_heads, breakdown.right
    (array([1., 0., 1., 1.]), array([1., 0., 0., 1.]), array([0., 0., 0., 1.]))
    """
    if by not in ("relation", "length", "depth"):
        raise ValueError(f"by must be 'relation', 'length' or 'depth', got {by!r}.")
    tokens = _compare_trees(y_true, y_pred, sample_weight, ignore, max_length, subtypes)
    heads, counted = tokens.heads, tokens.weights > 0
    if by == "relation":
        true, predicted = tokens.true, tokens.predicted
    else:
        measure = _measure_lengths if by == "length" else _measure_depths
        true, predicted = measure(heads, heads.true), measure(heads, heads.pred)
        counted &= true != UNKNOWN
        if not counted.any():
            raise ValueError(
                "No token to be scored has a known depth, for which all heads from it to the root "
                "must be known. Count by relation or length."
            )
    both = np.concatenate([true[counted], predicted[counted]])
    values, rows = np.unique(both, return_inverse=True)
    true, predicted = np.split(rows, 2)
    weights, right_heads = tokens.weights[counted], heads.right[counted]
    of_labels = weights * tokens.right_labels[counted]
    cells = (
        (true, weights),
        (predicted, weights),
        (true, weights * right_heads),
        (true, of_labels),
        (true, of_labels * right_heads),
    )
    return LabeledBreakdown(values, *(np.bincount(*each, values.size) for each in cells))


def _score(name, *sides):
    """Compute the score called `name`; `sides` are the arguments of :func:`_compare_trees`."""
    part, total = count_compared(_compare_trees(*sides))[name]
    if not total.any():
        raise ValueError(
            "None of the relations to be scored is one between content words in Universal "
            "Dependencies, such as nsubj or obj. Use labeled_attachment_score."
        )
    return float(part.sum() / total.sum())


def count_compared(tokens):
    """Return numerator and denominator terms of each labelled score, per token.

    Parameters
    ----------
    tokens : ComparedTokens

    Returns
    -------
    counts : dict of pairs of ndarrays of shape (n_tokens,)
        For "las", "clas" and "label_accuracy": terms of numerator and denominator.
    """
    weights, right = tokens.weights, tokens.heads.right & tokens.right_labels
    true, predicted = (
        np.array([drop_subtype(label) in CONTENT_RELATIONS for label in labels], dtype=bool)
        for labels in (tokens.true, tokens.predicted)
    )
    return {
        "las": (weights * right, weights),
        # An F1: twice the right content relations, by the true and the predicted ones.
        "clas": (2 * weights * (right & true), weights * true + weights * predicted),
        "label_accuracy": (weights * tokens.right_labels, weights),
    }


class ComparedTokens(NamedTuple):
    """The tokens of all sentences: heads, relations and weights, each (n_tokens,)."""

    heads: AlignedHeads
    right_labels: np.ndarray
    weights: np.ndarray  # 0 for tokens that do not count
    true: np.ndarray  # relations, as they are compared
    predicted: np.ndarray


def _compare_trees(y_true, y_pred, sample_weight, ignore, max_length, subtypes):
    y_true, y_pred = list_sentences(y_true, "y_true"), list_sentences(y_pred, "y_pred")
    for trees, name in ((y_true, "y_true"), (y_pred, "y_pred")):
        require_trees(trees, name, "relations are")
    bare = [index for index, tree in enumerate(y_pred) if tree.deprels is None]
    if bare:
        raise ValueError(
            f"y_pred[{bare[0]}] has no relations (deprels), and {len(bare)} of {len(y_pred)} trees "
            f"have none. Parsers predict them if the trees that they were fitted on have some; to "
            f"make trees from heads and labels, call tree.with_heads(heads, labels)."
        )
    heads, counted, weights = align_heads(y_true, y_pred, sample_weight, ignore, max_length)
    tokens = compare_labels(heads, weights * counted, y_true, y_pred, subtypes)
    if (tokens.true == MISSING).all():
        raise ValueError(
            f"No relation of y_true is known: all {tokens.true.size} are {MISSING!r}, or the trees "
            f"have none (deprels). Pass trees that have some."
        )
    if not tokens.weights.any():
        raise ValueError(
            "No token whose true head and relation are known is left to score. Change ignore, "
            "max_length or sample_weight so that some tokens count."
        )
    return tokens


def compare_labels(heads, weights, y_true, y_pred, subtypes=False):
    """Compare the relations of tokens of aligned heads, and give unknown ones weight 0.

    Parameters
    ----------
    heads : AlignedHeads
    weights : float ndarray of shape (n_tokens,)
        0 where a token does not count.
    y_true, y_pred : sequences of DependencyTree of length n_sentences
    subtypes : bool, default=False

    Returns
    -------
    tokens : ComparedTokens
    """
    true, predicted = (_list_labels(trees, subtypes) for trees in (y_true, y_pred))
    weights = weights * (true != MISSING)
    return ComparedTokens(heads, true == predicted, weights, true, predicted)


def _list_labels(trees, subtypes):
    labels = join_all(tree.deprels or (MISSING,) * len(tree) for tree in trees)
    return labels if subtypes else np.array(list(map(drop_subtype, labels)), dtype=object)


def drop_subtype(label):
    """Return a relation without its subtype."""
    return label.partition(":")[0]


def _measure_lengths(heads, chosen):
    """Return the distance of each token of AlignedHeads from its chosen head; 0 for roots."""
    return np.where(chosen > 0, np.abs(chosen - heads.tokens), 0)


def _measure_depths(heads, chosen):
    """Count the arcs from the root to each token; -1 if a head on the way is unknown."""
    depths, ends = follow_heads(np.where(chosen > 0, heads.begins + chosen, chosen))
    return np.where(ends == UNKNOWN, UNKNOWN, depths)
