"""Scorers: functions of a fitted estimator, for ``scoring`` of scikit-learn's tools.

Scorers of :func:`sklearn.metrics.make_scorer` cannot do without y. These take it from the trees.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from sklearn.base import BaseEstimator

from sklearn_shag.encoding import check_heads, check_sentences, list_labels
from sklearn_shag.metrics._attachment import exact_match_score, unlabeled_attachment_score
from sklearn_shag.metrics._labeled import labeled_attachment_score
from sklearn_shag.treebank import DependencyTree, Heads, Sentence, fill_unknown, heads
from sklearn_shag.utils._estimators import open_parser
from sklearn_shag.utils._typing import ArrayLike


def uas_scorer(
    estimator: BaseEstimator,
    X: Collection[Sentence],
    y: Heads | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Compute the unlabelled attachment score of an estimator, for use as ``scoring``.

    Parameters
    ----------
    estimator : object
        Anything fitted whose ``predict`` returns heads: an estimator of this package, a pipeline
        that ends in one, a search.
    X : sequence of length n_sentences
        The sentences, as ``predict`` takes them.
    y : None or sequence of length n_sentences, default=None
        The true heads of each sentence, -1 where they are not known, or a DependencyTree with
        heads. None uses the heads of the trees in X, as they are before any step of a pipeline;
        unlabelled trees among others do not count.
    sample_weight : None or array-like of shape (n_sentences,), default=None
        The weight of each sentence.

    Returns
    -------
    score : float
        Share of tokens, punctuation included, with the right head, in [0, 1].

    Raises
    ------
    ValueError
        If `y` is None and no tree in X has heads, no head is known, or the numbers of sentences or
        tokens do not match. The message names the sentence.
    TypeError
        If `estimator` is not an estimator.

    See Also
    --------
    unlabeled_attachment_score : Scores given heads.
    exact_match_scorer : Computes the share of sentences in which every head is right.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn_shag import DeterministicSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.metrics import uas_scorer
    >>> trees = load_english().data
    >>> cross_val_score(DeterministicSHAG(), trees, cv=3, scoring=uas_scorer).round(2)
    array([0.77, 0.79, 0.76])
    """
    return unlabeled_attachment_score(
        *_true_and_predicted(estimator, X, y), sample_weight=sample_weight
    )


def exact_match_scorer(
    estimator: BaseEstimator,
    X: Collection[Sentence],
    y: Heads | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Compute the exact match of an estimator, for use as ``scoring``.

    Parameters
    ----------
    estimator : object
        Anything fitted whose ``predict`` returns heads, as for :func:`uas_scorer`.
    X : sequence of length n_sentences
        The sentences, as ``predict`` takes them.
    y : None or sequence of length n_sentences, default=None
        The true heads; None uses the heads of the trees in X.
    sample_weight : None or array-like of shape (n_sentences,), default=None
        The weight of each sentence.

    Returns
    -------
    score : float
        Share of sentences in which every token has the right head, in [0, 1].

    Raises
    ------
    ValueError, TypeError
        As for :func:`uas_scorer`.

    See Also
    --------
    exact_match_score : Scores given heads.
    uas_scorer : Computes the share of tokens that are right.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn_shag import DeterministicSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.metrics import exact_match_scorer
    >>> trees = load_english().data
    >>> cross_val_score(DeterministicSHAG(), trees, cv=3, scoring=exact_match_scorer).round(2)
    array([0.19, 0.16, 0.21])
    """
    return exact_match_score(*_true_and_predicted(estimator, X, y), sample_weight=sample_weight)


def las_scorer(
    estimator: BaseEstimator,
    X: Collection[Sentence],
    y: Heads | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Compute the labelled attachment score of an estimator, for use as ``scoring``.

    Parameters
    ----------
    estimator : estimator
        A fitted parser of this package, a pipeline that ends in one, or a search for one.
    X : sequence of length n_sentences
        The sentences to parse.
    y : None or sequence of length n_sentences, default=None
        The true heads of each sentence, -1 where they are not known, or a DependencyTree with
        heads. None uses the trees in X. The true relations are those of the tree in `y`, or of the
        tree in X if it has the same heads.
    sample_weight : None or array-like of shape (n_sentences,), default=None
        The weight of each sentence.

    Returns
    -------
    score : float
        Share of tokens, punctuation included, with the right head and relation, in [0, 1]. Only
        the part of relations before the colon counts. Tokens whose true relation is unknown do not
        count.

    Raises
    ------
    ValueError
        If no true relation is known, the estimator predicts none, or the numbers of sentences or
        tokens do not match.
    TypeError
        If `estimator` is not a parser, or `y` is None and X does not hold trees.

    See Also
    --------
    labeled_attachment_score : Scores given trees.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn_shag import DeterministicSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.metrics import las_scorer
    >>> trees = load_english().data
    >>> cross_val_score(DeterministicSHAG(), trees, cv=3, scoring=las_scorer).round(2)
    array([0.69, 0.71, 0.67])
    """
    transform, parser = open_parser(
        estimator, "predict_labels", " The estimator comes first: las_scorer(estimator, X)."
    )
    sentences, _ = check_sentences(X)
    y_true = _true_trees(sentences, y)
    return labeled_attachment_score(
        y_true, parser.parse(transform(sentences)), sample_weight=sample_weight
    )


def _true_trees(sentences, y):
    """Make trees with the true heads, and with their relations as far as they are known."""
    if y is None:
        return fill_unknown(sentences)
    y = list(y)
    true = check_heads(sentences, y, partial=True)
    parts = np.split(true, np.cumsum([len(sentence) for sentence in sentences])[:-1])
    labels = list_labels(sentences, true, y)
    return [DependencyTree(own, part, deprels=own) for own, part in zip(labels, parts, strict=True)]


def _true_and_predicted(estimator, X, y):
    if not hasattr(estimator, "predict"):
        raise TypeError(
            f"estimator must have a method predict, got a {type(estimator).__name__}. The "
            f"estimator comes first: uas_scorer(estimator, X)."
        )
    return heads(fill_unknown(X)) if y is None else y, estimator.predict(X)
