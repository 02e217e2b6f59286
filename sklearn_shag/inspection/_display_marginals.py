"""How probable each token is as the head of each other, as a heat map."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from sklearn_shag.inspection._display import cut, import_pyplot
from sklearn_shag.inspection._grammars import ROOT_NAME
from sklearn_shag.treebank import DependencyTree, Sentence
from sklearn_shag.utils._heads import UNKNOWN
from sklearn_shag.utils._typing import FloatArray, IndexArray, ObjectArray

_CELL, _SMALLEST, _LETTERS = 0.17, 3.0, 20  # inches, inches, letters of a word


class ArcMarginalsDisplay:
    """Heat map of the probabilities of heads.

    It is recommended to make it by :meth:`from_estimator`.

    Parameters
    ----------
    marginals : ndarray of shape (n_tokens, n_tokens + 1)
        One sentence of what :meth:`~sklearn_shag.BaseSHAG.predict_marginals` returns: a row for
        each modifier, a column for each head, that of the root first.
    words : sequence of str, length n_tokens
        How tokens are labelled.
    heads : None or int ndarray of shape (n_tokens,), default=None
        The true heads, 1-based, 0 for the root, -1 where they are not known, to be marked.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        Set by :meth:`plot`.
    figure_ : matplotlib.figure.Figure
        Set by :meth:`plot`.
    im_ : matplotlib.image.AxesImage
        The heat map. Set by :meth:`plot`.
    marks_ : None or matplotlib.lines.Line2D
        The marks of true heads. Set by :meth:`plot`.

    See Also
    --------
    DependencyTreeDisplay : The tree that was predicted.

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

    ax_: Any
    figure_: Any
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
            A fitted parser of this package.
        sentence : DependencyTree or sequence of str
            A single one. If it is a tree, words are labels, and its heads, if any, are marked.
        ax : None or matplotlib axes, default=None
            As for :meth:`plot`.
        cmap : str or matplotlib colormap, default="Blues"
            As for :meth:`plot`.

        Returns
        -------
        display : ArcMarginalsDisplay
            Drawn, with what it was drawn from.

        Raises
        ------
        TypeError
            If the estimator has no marginals, or `sentence` is none.
        """
        if not hasattr(estimator, "predict_marginals"):
            raise TypeError(
                f"estimator must be a fitted parser of this package, with predict_marginals, got a "
                f"{type(estimator).__name__}. Of a pipeline pass the parts: "
                f"ArcMarginalsDisplay.from_estimator(pipeline[-1], "
                f"pipeline[:-1].transform([sentence])[0]). Of a search pass its best_estimator_."
            )
        (marginals,) = estimator.predict_marginals([sentence])
        is_tree = isinstance(sentence, DependencyTree)
        words = sentence.forms if is_tree else tuple(sentence)
        return cls(marginals, words, sentence.heads if is_tree else None).plot(ax=ax, cmap=cmap)

    def plot(self, ax: Any = None, *, cmap: str = "Blues") -> Self:
        """Draw a row for each modifier and a column for each head.

        Parameters
        ----------
        ax : None or matplotlib axes, default=None
            Where to draw. None makes a figure that is as large as the sentence needs.
        cmap : str or matplotlib colormap, default="Blues"
            Colours of probabilities from 0 to 1.

        Returns
        -------
        display : ArcMarginalsDisplay
            Itself. True heads are marked by open circles.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        plt = import_pyplot(type(self).__name__)
        words = [cut(word, _LETTERS) for word in self.words]
        if ax is None:
            side = max(_CELL * len(words), _SMALLEST)
            _, ax = plt.subplots(figsize=(side + 2.4, side + 1.8), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        self.im_ = ax.imshow(self.marginals, vmin=0.0, vmax=1.0, cmap=cmap)
        self.marks_ = None
        if self.heads is not None:
            marks = {"mfc": "none", "mec": "#d55e00", "ms": 5}
            known = np.flatnonzero(self.heads != UNKNOWN)
            (self.marks_,) = ax.plot(self.heads[known], known, "o", **marks)
        style = {"fontsize": 8, "parse_math": False}
        ax.set_xticks(range(len(words) + 1), [ROOT_NAME, *words], rotation=90, **style)
        ax.set_yticks(range(len(words)), words, **style)
        ax.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=2)
        circles = "" if self.heads is None else " (circles: the true ones)"
        ax.set(xlabel=f"head{circles}", ylabel="modifier")
        ax.xaxis.set_label_position("top")
        self.figure_.colorbar(self.im_, ax=ax, label="probability", fraction=0.03, aspect=40)
        return self
