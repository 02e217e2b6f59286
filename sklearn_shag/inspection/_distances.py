"""Attachment scores of a parser by the length of arcs and by symbols."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator

from sklearn_shag.encoding import arcs_of_heads, check_heads, check_sentences, encode_trees
from sklearn_shag.inspection._display import Display, cut_word
from sklearn_shag.inspection._grammars import ROOT_NAME, known_tokens, predict_heads
from sklearn_shag.inspection._tables import shown_as_table, to_dataframe
from sklearn_shag.treebank import DependencyTree, Heads, Sentences
from sklearn_shag.utils._typing import FloatArray, IntArray, ObjectArray

# The first length of each bin.
_LENGTHS = np.array([1, 2, 3, 4, 5, 6, 7, 8, 10, 15, 20, 30, 40])
_ROW, _LETTERS = 0.17, 20  # inches per symbol, and letters shown of it


@shown_as_table
class AttachmentCounts(NamedTuple):
    """Counts of true and predicted arcs of each kind.

    Precision and recall are computed from these counts.

    Attributes
    ----------
    names : ndarray of shape (n_kinds,), dtype object
        The kind of arc: a symbol, or lengths such as ``"10-14"``.
    right : int ndarray of shape (n_kinds,)
        Number of arcs that were predicted and are true.
    true, predicted : int ndarrays of shape (n_kinds,)
        Number of arcs that are true, and number that were predicted.

    See Also
    --------
    AttachmentByDistanceDisplay : Counts arcs, and draws precision and recall.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_shag.inspection import AttachmentCounts
    >>> right, true, predicted = np.array([[8, 1], [10, 2], [8, 4]])
    >>> counts = AttachmentCounts(np.array(["1", "2-4"], dtype=object), right, true, predicted)
    >>> counts.precision, counts.recall
    (array([1.  , 0.25]), array([0.8, 0.5]))
    """

    names: ObjectArray
    right: IntArray
    true: IntArray
    predicted: IntArray

    to_dataframe = to_dataframe

    @property
    def precision(self) -> FloatArray:
        """Share of the predicted arcs that are true.

        Returns
        -------
        ndarray of shape (n_kinds,)
            NaN where none were predicted.
        """
        return _divide_counts(self.right, self.predicted)

    @property
    def recall(self) -> FloatArray:
        """Share of the true arcs that were predicted.

        Returns
        -------
        ndarray of shape (n_kinds,)
            NaN where there are no true arcs.
        """
        return _divide_counts(self.right, self.true)


class AttachmentByDistanceDisplay(Display):
    """Precision and recall by length of arc, and accuracy by symbol of the modifier.

    Create it with :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    by_distance : AttachmentCounts
        Arcs by their length, those from the root symbol first. Neighbours have an arc of length 1.
    by_symbol : AttachmentCounts
        Arcs by the symbol of their modifier, the most frequent first. Each token has one true and
        one predicted head, so precision and recall are the same.

    Attributes
    ----------
    ax_ : ndarray of shape (2,) of matplotlib.axes.Axes
        Set by :meth:`plot`.
    figure_ : matplotlib.figure.Figure
        Set by :meth:`plot`.
    lines_ : list of matplotlib.lines.Line2D
        Precision and recall by length, and accuracy by symbol. Set by :meth:`plot`.

    See Also
    --------
    sklearn_shag.metrics.attachment_breakdown : Counts by symbol and direction.
    automaton_gains : Shows what one parser does better than another.

    Examples
    --------
    >>> from sklearn_shag import SpectralSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.inspection import AttachmentByDistanceDisplay
    >>> trees = load_english().data
    >>> model = SpectralSHAG().fit(trees[:300])
    >>> display = AttachmentByDistanceDisplay.from_estimator(model, trees[300:])
    >>> display.by_distance.names[:3]
    array(['<root>', '1', '2'], dtype=object)
    >>> display.by_distance.recall[:3].round(2)
    array([0.85, 0.91, 0.86])
    """

    lines_: list[Any]

    def __init__(self, by_distance: AttachmentCounts, by_symbol: AttachmentCounts) -> None:
        self.by_distance = by_distance
        self.by_symbol = by_symbol

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, X: Sentences, y: Heads | None = None, *, ax: Any = None
    ) -> Self:
        """Parse sentences, compare the result with the true trees, and draw.

        Parameters
        ----------
        estimator : estimator
            Any fitted estimator that predicts heads: a parser, a pipeline, a search.
        X : sequence of length n_sentences
            As for :meth:`~sklearn_shag.BaseSHAG.score`. Rows are named by the symbols in X.
        y : None or sequence of length n_sentences, default=None
            The true heads; None takes those of the trees in X.
        ax : None or two matplotlib axes, default=None
            As for :meth:`plot`.

        Returns
        -------
        display : AttachmentByDistanceDisplay
            The display, already drawn.

        Raises
        ------
        TypeError
            If the estimator does not predict.
        ValueError
            If X is not valid, or no true head is known.
        """
        sentences, _ = check_sentences(X)
        trees = encode_trees(sentences, y, partial=True)
        return cls(*_count_arcs(trees, predict_heads(estimator, sentences))).plot(ax=ax)

    @classmethod
    def from_predictions(
        cls, y_true: Iterable[DependencyTree], y_pred: Heads, *, ax: Any = None
    ) -> Self:
        """Compare predicted heads with the true trees, and draw.

        Parameters
        ----------
        y_true : sequence of DependencyTree
            Trees with heads; their symbols name the rows.
        y_pred : sequence of length n_sentences
            The heads of each sentence, 1-based, 0 for the root, or a tree with them.
        ax : None or two matplotlib axes, default=None
            As for :meth:`plot`.

        Returns
        -------
        display : AttachmentByDistanceDisplay
            The display, already drawn.

        Raises
        ------
        TypeError, ValueError
            If `y_true` does not hold trees with known heads, or `y_pred` heads for them.
        """
        sentences, _ = check_sentences(y_true)
        predicted = check_heads(sentences, y_pred, "y_pred")
        return cls(*_count_arcs(encode_trees(sentences, partial=True), predicted)).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw lengths on the left and symbols on the right.

        Parameters
        ----------
        ax : None or sequence of two matplotlib axes, default=None
            Axes to draw in. None makes a figure that is as high as the symbols need.

        Returns
        -------
        display : AttachmentByDistanceDisplay
            The display itself. Numbers next to names are numbers of true arcs.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If `ax` is not two axes.
        """
        height = max(4.0, 1.0 + _ROW * len(self.by_symbol.names))
        self.ax_ = np.ravel(self._make_axes(ax, 1, 2, figsize=(10, height)))
        if self.ax_.size != 2:
            raise ValueError(
                f"ax must be two axes, for lengths and for symbols, got {self.ax_.size}. Make them "
                f"with plt.subplots(1, 2)."
            )
        self.figure_ = self.ax_[0].figure
        self.lines_ = [*self._draw_distances(self.ax_[0]), self._draw_symbols(self.ax_[1])]
        return self

    def _draw_distances(self, ax):
        counts = self.by_distance
        places = np.arange(len(counts.names))
        lines = [
            ax.plot(places, counts.precision, "o-", color="#0072b2", label="precision")[0],
            ax.plot(places, counts.recall, "s--", color="#d55e00", label="recall")[0],
        ]
        ax.set_xticks(places, _make_tick_labels(counts), rotation=90, fontsize=8)
        ax.set(ylim=(-0.03, 1.03), xlabel="length of the arc (true arcs)")
        ax.grid(axis="y", alpha=0.3)
        ax.legend()
        return lines

    def _draw_symbols(self, ax):
        counts = self.by_symbol
        places = np.arange(len(counts.names))
        (line,) = ax.plot(counts.recall, places, "o", color="#4d4d4d")
        ax.set_yticks(places, _make_tick_labels(counts), fontsize=8, parse_math=False)
        ax.set(xlim=(-0.03, 1.03), ylim=(places.size - 0.5, -0.5))
        ax.set(xlabel="share of right heads", ylabel="symbol of the modifier (true arcs)")
        ax.grid(alpha=0.3)
        return line


def _make_tick_labels(counts):
    rows = zip(counts.names, counts.true, strict=True)
    return [f"{cut_word(name, _LETTERS)}  ({n})" for name, n in rows]


def _count_arcs(trees, predicted):
    """Count arcs by length and by the symbol of the modifier."""
    known = known_tokens(trees.heads)
    places = arcs_of_heads(trees.indptr, trees.heads).modifiers[known]
    true, predicted, codes = trees.heads[known], predicted[known], trees.codes[known]
    is_right = true == predicted
    true, found = (
        np.where(heads == 0, 0, np.searchsorted(_LENGTHS, np.abs(places - heads), "right"))
        for heads in (true, predicted)
    )
    size = max(true.max(), found.max()) + 1
    bins = [
        f"{low}-{following - 1}" if following > low + 1 else str(low)
        for low, following in pairwise(_LENGTHS)
    ]
    names = np.array([ROOT_NAME, *bins, f"{_LENGTHS[-1]}+"], dtype=object)[:size]
    kinds = true[is_right], true, found
    by_distance = AttachmentCounts(names, *(np.bincount(kind, minlength=size) for kind in kinds))
    totals = np.bincount(codes)
    order = np.argsort(-totals, kind="stable")[: np.count_nonzero(totals)]
    right = np.bincount(codes[is_right], minlength=totals.size)[order]
    totals = totals[order]
    return by_distance, AttachmentCounts(trees.symbols[order], right, totals, totals)


def _divide_counts(counts, totals):
    return np.divide(counts, totals, out=np.full(totals.size, np.nan), where=totals > 0)
