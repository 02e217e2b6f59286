"""Reliability diagram of arc marginals."""

from typing import Any, Literal, Self

from sklearn.base import BaseEstimator

from sklearn_shag.encoding import check_trees
from sklearn_shag.inspection._calibration import (
    BINNING,
    CalibrationBins,
    Marginals,
    fill_bins,
    look_up_confidence,
)
from sklearn_shag.inspection._display import import_pyplot
from sklearn_shag.inspection._grammars import open_parser
from sklearn_shag.treebank import Heads, Sentences
from sklearn_shag.utils._param_validation import validate_params

_REFERENCE = "perfectly calibrated"
_SMALLEST, _LARGEST = 4.0, 200.0  # areas in square points: of no token, and how much all add


class ArcCalibrationDisplay:
    """Share of right heads by their probability: a reliability diagram.

    It is recommended to make it by :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    bins : CalibrationBins
        Tokens by the probability of their predicted head.
    name : None or str, default=None
        What the legend calls the parser.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        Set by :meth:`plot`.
    figure_ : matplotlib.figure.Figure
        Set by :meth:`plot`.
    line_ : matplotlib.lines.Line2D
        From bin to bin. Set by :meth:`plot`.
    points_ : matplotlib.collections.PathCollection
        The bins; larger ones have more tokens. Set by :meth:`plot`.

    See Also
    --------
    expected_calibration_error : The mean distance from the diagonal, weighted by tokens.
    ArcMarginalsDisplay : The probabilities of one sentence.

    Examples
    --------
    >>> from sklearn_shag import SpectralSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.inspection import ArcCalibrationDisplay
    >>> trees = load_english().data
    >>> model = SpectralSHAG().fit(trees[:300])
    >>> display = ArcCalibrationDisplay.from_estimator(model, trees[300:], n_bins=3)
    >>> display.bins.counts
    array([  7, 221, 824])
    >>> round(display.bins.expected_error, 2)
    0.03
    """

    ax_: Any
    figure_: Any
    line_: Any
    points_: Any

    def __init__(self, bins: CalibrationBins, name: str | None = None) -> None:
        self.bins = bins
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Sentences,
        y: Heads | None = None,
        *,
        n_bins: int = 10,
        strategy: Literal["uniform", "quantile"] = "uniform",
        name: str | None = None,
        ax: Any = None,
    ) -> Self:
        """Parse sentences, compare with the true trees, and draw.

        Parameters
        ----------
        estimator : estimator
            A fitted parser of this package, a pipeline that ends in one, or a search of either.
        X : sequence of length n_sentences
            As for :meth:`~sklearn_shag.BaseSHAG.score`: none that the estimator has learned from.
        y : None or sequence of length n_sentences, default=None
            The true heads, -1 where they are not known; None takes those of the trees in X.
        n_bins : int, default=10
            As for :func:`expected_calibration_error`.
        strategy : {"uniform", "quantile"}, default="uniform"
            As for :func:`expected_calibration_error`.
        name : None or str, default=None
            What the legend calls the parser; None takes the name of its class.
        ax : None or matplotlib axes, default=None
            As for :meth:`plot`.

        Returns
        -------
        display : ArcCalibrationDisplay
            Drawn, with what it was drawn from.

        Raises
        ------
        TypeError
            If the estimator is no parser.
        ValueError
            If X is not valid, or no true head is known.
        """
        transform, parser = open_parser(estimator)
        sentences, y = check_trees(X, y)
        sentences = transform(sentences)
        return cls.from_predictions(
            y,
            list(parser.predict_marginals(sentences)),
            parser.predict(sentences),
            n_bins=n_bins,
            strategy=strategy,
            name=type(parser).__name__ if name is None else name,
            ax=ax,
        )

    @classmethod
    @validate_params(BINNING)
    def from_predictions(
        cls,
        y_true: Heads,
        marginals: Marginals,
        y_pred: Heads | None = None,
        *,
        n_bins: int = 10,
        strategy: Literal["uniform", "quantile"] = "uniform",
        name: str | None = None,
        ax: Any = None,
    ) -> Self:
        """Compare predicted heads and their probabilities with the true trees, and draw.

        Parameters
        ----------
        y_true : sequence of length n_sentences
            As for :func:`expected_calibration_error`.
        marginals : sequence of length n_sentences
            As for :func:`expected_calibration_error`.
        y_pred : None or sequence of length n_sentences, default=None
            As for :func:`expected_calibration_error`.
        n_bins : int, default=10
            As for :func:`expected_calibration_error`.
        strategy : {"uniform", "quantile"}, default="uniform"
            As for :func:`expected_calibration_error`.
        name : None or str, default=None
            What the legend calls the parser.
        ax : None or matplotlib axes, default=None
            As for :meth:`plot`.

        Returns
        -------
        display : ArcCalibrationDisplay
            Drawn, with what it was drawn from.

        Raises
        ------
        TypeError, ValueError
            As :func:`expected_calibration_error`.
        """
        right, probabilities = look_up_confidence(y_true, marginals, y_pred)
        return cls(fill_bins(right, probabilities, n_bins, strategy), name).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw a point for each bin, and the diagonal where they should be.

        Parameters
        ----------
        ax : None or matplotlib axes, default=None
            Where to draw, beside other displays if need be. None makes a figure.

        Returns
        -------
        display : ArcCalibrationDisplay
            Itself. Bins with more tokens have larger points; the legend has the expected
            calibration error (ECE).

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        plt = import_pyplot(type(self).__name__)
        if ax is None:
            _, ax = plt.subplots(figsize=(4.5, 4.5), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        if _REFERENCE not in ax.get_legend_handles_labels()[1]:
            ax.plot([0, 1], [0, 1], ":", color="black", label=_REFERENCE)
        error = f"ECE {self.bins.expected_error:.3f}"
        label = error if self.name is None else f"{self.name} ({error})"
        confidences, accuracies, counts = self.bins
        (self.line_,) = ax.plot(confidences, accuracies, label=label)
        areas = _SMALLEST + _LARGEST * counts / counts.sum()
        self.points_ = ax.scatter(confidences, accuracies, areas, color=self.line_.get_color())
        ax.set(xlabel="mean probability of predicted heads", ylabel="share of right heads")
        ax.legend(loc="lower right")
        return self
