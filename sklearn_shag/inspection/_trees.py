"""Dependency trees and the marginals of their arcs, drawn by matplotlib."""

from __future__ import annotations

from itertools import chain
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from sklearn_shag.encoding import check_heads
from sklearn_shag.inspection._display import Display, cut_word, text_width
from sklearn_shag.inspection._grammars import ROOT_NAME, predict_heads
from sklearn_shag.treebank import DependencyTree, Sentence, TreeLayout, known_arcs, place_words
from sklearn_shag.utils._estimators import open_parser
from sklearn_shag.utils._heads import UNKNOWN
from sklearn_shag.utils._typing import FloatArray, IndexArray, IntArray, IntArrayLike, ObjectArray

_FONTS, _SMALL_FONT = (10, 8, 8), 8  # of words, tags and relations; of the legend
_HORIZONTAL = 20  # words of at most so many tokens are written horizontally
_LETTERS = 20  # of a word, at most
_MARGIN, _GAP, _ROW, _LEVEL, _LEGEND = 0.15, 0.12, 0.2, 0.28, 0.35  # inches
_HIGHEST = 6.0  # inches for all arcs
_CELL, _SMALLEST = 0.17, 3.0  # inches, of one marginal and of the drawing
# Colours that the colour-blind can tell apart, and lines that can be told apart without colour.
_STYLES = {
    "right": {"color": "#4d4d4d", "linestyle": "-", "linewidth": 1.1},
    "missed": {"color": "#0072b2", "linestyle": "--", "linewidth": 1.4},
    "wrong": {"color": "#d55e00", "linestyle": ":", "linewidth": 1.8},
    "unknown": {"color": "#999999", "linestyle": "-.", "linewidth": 1.1},
}


class DependencyTreeDisplay(Display):
    """Dependency tree drawn as arcs above the sentence, with true and predicted arcs together.

    Create it with :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    tree : DependencyTree
        The sentence, with or without its true heads.
    heads : None or int ndarray of shape (n_tokens,), default=None
        The predicted heads, 1-based, 0 for the root.

    Attributes
    ----------
    arcs : dict
        Lists of pairs (head, modifier), where 0 is the root. "right" are predicted arcs of the
        tree, "missed" the other arcs of the tree, and "wrong" those predicted in their place. If
        only the tree or only the prediction is known, all its arcs are "right". A partially
        annotated tree also has "unknown": predicted arcs whose true head is not known.
    ax_ : matplotlib.axes.Axes
        Set by :meth:`plot`.
    figure_ : matplotlib.figure.Figure
        Set by :meth:`plot`.
    arcs_ : dict of (int, int) to matplotlib.patches.FancyArrowPatch
        The drawn arc for each pair in `arcs`. Set by :meth:`plot`.

    See Also
    --------
    ArcMarginalsDisplay : Shows how sure the parser is.
    sklearn_shag.treebank.DependencyTree.to_svg : Draws a tree without matplotlib.

    Examples
    --------
    >>> from sklearn_shag import SpectralSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.inspection import DependencyTreeDisplay
    >>> trees = load_english().data
    >>> model = SpectralSHAG().fit(trees[:300])
    >>> display = DependencyTreeDisplay.from_estimator(model, trees[302])
    >>> display.arcs["missed"], display.arcs["wrong"]
    ([(5, 9)], [(2, 9)])
    """

    arcs: dict[str, list[tuple[int, int]]]
    arcs_: dict[tuple[int, int], Any]

    def __init__(self, tree: DependencyTree, heads: IntArray | None = None) -> None:
        self.tree = tree
        self.heads = heads
        true, predicted = ([] if each is None else known_arcs(each) for each in (tree.heads, heads))
        if tree.heads is None or heads is None:
            self.arcs = {"right": true or predicted, "missed": [], "wrong": []}
        else:
            self.arcs = {
                "right": [arc for arc in true if arc in predicted],
                "missed": [arc for arc in true if arc not in predicted],
                "wrong": [(h, m) for h, m in predicted if tree.heads[m - 1] not in (h, UNKNOWN)],
            }
            if UNKNOWN in tree.heads:
                self.arcs["unknown"] = [
                    (h, m) for h, m in predicted if tree.heads[m - 1] == UNKNOWN
                ]

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, tree: DependencyTree, *, ax: Any = None
    ) -> Self:
        """Parse a sentence and draw the predicted tree, with the true tree if it is known.

        Parameters
        ----------
        estimator : estimator
            Any fitted estimator that predicts heads: a parser, a pipeline, a search.
        tree : DependencyTree
            A sentence, with or without its heads.
        ax : None or matplotlib axes, default=None
            As for :meth:`plot`.

        Returns
        -------
        display : DependencyTreeDisplay
            The display, already drawn.

        Raises
        ------
        TypeError
            If `tree` is not a DependencyTree, or the estimator does not predict.
        """
        _check_tree(tree)
        return cls(tree, predict_heads(estimator, [tree])).plot(ax=ax)

    @classmethod
    def from_predictions(
        cls, tree: DependencyTree, heads: IntArrayLike | DependencyTree, *, ax: Any = None
    ) -> Self:
        """Draw predicted heads, with the true tree if it is known.

        Parameters
        ----------
        tree : DependencyTree
            A sentence, with or without its heads.
        heads : sequence of int, length n_tokens, or DependencyTree
            The predicted heads, 1-based, 0 for the root, or a tree with them.
        ax : None or matplotlib axes, default=None
            As for :meth:`plot`.

        Returns
        -------
        display : DependencyTreeDisplay
            The display, already drawn.

        Raises
        ------
        TypeError
            If `tree` is not a DependencyTree.
        ValueError
            If `heads` are not a tree over its tokens.
        """
        _check_tree(tree)
        return cls(tree, check_heads([tree], [heads], "heads")).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the arcs above the words, tags and relations.

        Correctly predicted arcs are solid, missed arcs dashed, wrong arcs dotted, and arcs to
        tokens whose true head is not known dash-dotted. An arrow from above points to a root. From
        21 tokens on, words are written vertically.

        Parameters
        ----------
        ax : None or matplotlib axes, default=None
            Axes to draw in; everything is scaled to their size. None makes a figure that is as
            wide as the sentence needs.

        Returns
        -------
        display : DependencyTreeDisplay
            The display itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        self._import_pyplot()  # which the widths of words need
        rows = self._rows()
        widths, heights = _measure_rows(rows)
        centres, width = place_words(widths + _GAP, _MARGIN)
        layout = TreeLayout(centres, list(chain.from_iterable(self.arcs.values())))
        step = min(_LEVEL, _HIGHEST / layout.n_levels)
        is_compared = self.heads is not None and self.tree.heads is not None
        baseline = _MARGIN + (sum(heights) + 0.06) + (_LEGEND if is_compared else 0.0)
        self._make_canvas(ax, max(width, 3.0), baseline + step * layout.n_levels + _MARGIN)
        self._write(rows, layout.centres, heights, baseline)
        self.arcs_ = {}
        for kind, arcs in self.arcs.items():
            for head, token in arcs:
                points = layout.curve(head, token, baseline, step, aside=0.05)
                if not head:  # straight down: a line up and down again would fill its own dashes
                    points = (points[0][0], baseline + step * layout.n_levels), points[-1]
                self.arcs_[head, token] = self._add_arrow(
                    points, **_STYLES[kind], fill=True, gid=kind
                )
        if is_compared:
            self._explain()
        return self

    def _rows(self):
        """List rows of text below the tokens: forms, symbols, and relations of the true arcs."""
        tree = self.tree
        rows = [tree.forms]
        if tree.symbols != tree.forms:
            rows.append(tree.symbols)
        if tree.deprels is not None and tree.heads is not None:
            rows.append(tree.deprels)
        return [[cut_word(text, _LETTERS) for text in row] for row in rows]

    def _write(self, rows, centres, heights, baseline):
        rotation = 90 if len(self.tree) > _HORIZONTAL else 0
        top = baseline - 0.06
        colors = "black", "#5a6270", "#5a6270"
        for row, size, color, height in zip(rows, _FONTS, colors, heights, strict=False):
            for centre, text in zip(centres, row, strict=True):
                self._add_text(
                    centre, top, text, size, color=color, ha="center", va="top", rotation=rotation
                )
            top -= height

    def _explain(self):
        """Draw a legend of the kinds of arcs, with their numbers."""
        for kind, arcs in self.arcs.items():
            style = {**_STYLES[kind], "linewidth": _STYLES[kind]["linewidth"] * self._scale}
            self.ax_.plot([], [], label=f"{kind} ({len(arcs)})", **style)
        self.ax_.legend(
            loc="lower left",
            ncols=3,
            frameon=False,
            fontsize=_SMALL_FONT * self._scale,
            borderaxespad=0.2,
        )


def _check_tree(tree):
    if not isinstance(tree, DependencyTree):
        raise TypeError(
            f"tree must be a single DependencyTree, got a {type(tree).__name__}. Pass one tree of "
            f"a list, or DependencyTree(symbols) for a list of symbols."
        )


def _measure_rows(rows):
    """Compute the width of each token, and the height of each row, in inches."""
    widths = np.array(
        [[text_width(text, size) for text in row] for row, size in zip(rows, _FONTS, strict=False)]
    )
    if len(rows[0]) > _HORIZONTAL:
        return np.full(len(rows[0]), 0.16), widths.max(axis=1) + 0.05
    return widths.max(axis=0), np.full(len(rows), _ROW)


class ArcMarginalsDisplay(Display):
    """Heat map of the probabilities of heads.

    Create it with :meth:`from_estimator`.

    Parameters
    ----------
    marginals : ndarray of shape (n_tokens, n_tokens + 1)
        The marginals of one sentence, as :meth:`~sklearn_shag.BaseSHAG.predict_marginals` returns
        them: a row for each modifier and a column for each head, the root first.
    words : sequence of str, length n_tokens
        The labels of the tokens.
    heads : None or int ndarray of shape (n_tokens,), default=None
        The heads to mark, such as those of a tree, 1-based, 0 for the root, -1 where they are not
        known.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        Set by :meth:`plot`.
    figure_ : matplotlib.figure.Figure
        Set by :meth:`plot`.
    im_ : matplotlib.image.AxesImage
        The heat map. Set by :meth:`plot`.
    marks_ : None or matplotlib.lines.Line2D
        The marks of the heads of the tree. Set by :meth:`plot`.

    See Also
    --------
    DependencyTreeDisplay : Draws the predicted tree.

    Examples
    --------
    >>> from sklearn_shag import SpectralSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.inspection import ArcMarginalsDisplay
    >>> trees = load_english().data
    >>> model = SpectralSHAG().fit(trees[:300])
    >>> display = ArcMarginalsDisplay.from_estimator(model, trees[302])
    >>> display.marginals.shape
    (10, 11)
    """

    im_: Any
    marks_: Any

    def __init__(
        self,
        marginals: FloatArray,
        words: tuple[str, ...] | ObjectArray,
        heads: IndexArray | None = None,
    ) -> None:
        self.marginals = marginals
        self.words = words
        self.heads = heads

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, sentence: Sentence, *, ax: Any = None, cmap: str = "Blues"
    ) -> Self:
        """Compute the marginals of a sentence and draw them.

        Parameters
        ----------
        estimator : estimator
            A fitted parser of this package, a pipeline that ends in one, or a search over either.
        sentence : DependencyTree or sequence of str
            A single sentence. If it is a tree, its words are the labels, and its heads, if any, are
            marked.
        ax : None or matplotlib axes, default=None
            As for :meth:`plot`.
        cmap : str or matplotlib colormap, default="Blues"
            As for :meth:`plot`.

        Returns
        -------
        display : ArcMarginalsDisplay
            The display, already drawn.

        Raises
        ------
        TypeError
            If the estimator has no marginals, or `sentence` is not a sentence.
        """
        transform, parser = open_parser(estimator, "predict_marginals")
        (marginals,) = parser.predict_marginals(transform([sentence]))
        is_tree = isinstance(sentence, DependencyTree)
        words = sentence.forms if is_tree else tuple(sentence)
        return cls(marginals, words, sentence.heads if is_tree else None).plot(ax=ax, cmap=cmap)

    def plot(self, ax: Any = None, *, cmap: str = "Blues") -> Self:
        """Draw a row for each modifier and a column for each head.

        Parameters
        ----------
        ax : None or matplotlib axes, default=None
            Axes to draw in. None makes a figure that is as large as the sentence needs.
        cmap : str or matplotlib colormap, default="Blues"
            Colours for probabilities from 0 to 1.

        Returns
        -------
        display : ArcMarginalsDisplay
            The display itself. The heads of the tree are marked by open circles; they are true ones
            only if the tree is from a treebank.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        words = [cut_word(word, _LETTERS) for word in self.words]
        side = max(_CELL * len(words), _SMALLEST)
        ax = self._make_axes(ax, figsize=(side + 2.4, side + 1.8), layout="constrained")
        self.im_ = ax.imshow(self.marginals, vmin=0.0, vmax=1.0, cmap=cmap)
        self.marks_, circles = None, ""
        if self.heads is not None:
            circles = " (circles: those of the tree)"
            known = np.flatnonzero(self.heads != UNKNOWN)
            (self.marks_,) = ax.plot(self.heads[known], known, "o", mfc="none", mec="#d55e00", ms=5)
        style = {"fontsize": 8, "parse_math": False}
        ax.set_xticks(range(len(words) + 1), [ROOT_NAME, *words], rotation=90, **style)
        ax.set_yticks(range(len(words)), words, **style)
        ax.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=2)
        ax.set(xlabel=f"head{circles}", ylabel="modifier")
        ax.xaxis.set_label_position("top")
        self.figure_.colorbar(self.im_, ax=ax, label="probability", fraction=0.03, aspect=40)
        return self
