"""Calibration of arc marginals, and the arcs and sentences that a parser is least sure of."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np
from scipy.special import entr
from sklearn.base import BaseEstimator

from sklearn_shag.encoding import check_heads, check_sentences, check_trees
from sklearn_shag.inspection._display import Display
from sklearn_shag.inspection._grammars import ROWS_OR_ALL, known_tokens
from sklearn_shag.inspection._tables import largest_first, shown_as_table, to_dataframe
from sklearn_shag.parsing import ask, head_probabilities, list_best, list_corrected
from sklearn_shag.treebank import DependencyTree, Heads, Sentences, allowed_arcs, list_known_heads
from sklearn_shag.utils._arrays import as_list
from sklearn_shag.utils._estimators import open_parser
from sklearn_shag.utils._heads import UNKNOWN
from sklearn_shag.utils._param_validation import COUNT, StrOptions, as_floats, validate_params
from sklearn_shag.utils._typing import FloatArray, IntArray, ObjectArray

Marginals: TypeAlias = ObjectArray | Sequence[FloatArray]

_REFERENCE = "perfectly calibrated"
_SMALLEST, _LARGEST = 4.0, 200.0  # square points: of a bin without tokens, and added for all
BINNING = {"n_bins": COUNT, "strategy": [StrOptions({"uniform", "quantile"})]}


@shown_as_table
class CalibrationBins(NamedTuple):
    """Predicted heads, sorted by their probability and cut into bins.

    If the probabilities are calibrated, confidences and accuracies are the same.

    Attributes
    ----------
    confidences : ndarray of shape (n_bins,)
        Mean probability of the predicted heads in each bin, increasing.
    accuracies : ndarray of shape (n_bins,)
        Share of these heads that are right.
    counts : int ndarray of shape (n_bins,)
        Number of heads in each bin. Empty bins are left out.

    See Also
    --------
    ArcCalibrationDisplay : Draws the bins.
    expected_calibration_error : Summarises them in one number.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_shag.inspection import CalibrationBins
    >>> bins = CalibrationBins(np.array([0.6, 0.9]), np.array([0.5, 1.0]), np.array([10, 30]))
    >>> round(bins.expected_error, 3)
    0.1
    """

    confidences: FloatArray
    accuracies: FloatArray
    counts: IntArray

    to_dataframe = to_dataframe

    @property
    def expected_error(self) -> float:
        """Expected calibration error: mean distance between confidence and accuracy, per token.

        Returns
        -------
        float
        """
        return float(np.average(np.abs(self.accuracies - self.confidences), weights=self.counts))


@validate_params(BINNING)
def expected_calibration_error(
    y_true: Heads,
    marginals: Marginals,
    y_pred: Heads | None = None,
    *,
    n_bins: int = 10,
    strategy: Literal["uniform", "quantile"] = "uniform",
) -> float:
    """Compute how far, on average, probabilities of predicted heads are from their accuracy.

    Parameters
    ----------
    y_true : sequence of length n_sentences
        The true heads of each sentence, 1-based, 0 for the root, or a DependencyTree with them.
        Tokens without one (-1) do not count.
    marginals : sequence of length n_sentences
        What :meth:`~sklearn_shag.BaseSHAG.predict_marginals` returns for the sentences.
    y_pred : None or sequence of length n_sentences, default=None
        The heads whose probability is looked up, as :meth:`~sklearn_shag.BaseSHAG.predict` returns
        them. None takes the most probable head of each token; these need not form a tree.
    n_bins : int, default=10
        Number of bins.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width from 0 to 1, or bins with equal numbers of tokens.

    Returns
    -------
    error : float
        In [0, 1]. It is 0 if a share p of the heads with probability p is right, for all p.

    Raises
    ------
    ValueError
        If the numbers of sentences or tokens do not match, no true head is known, or the marginals
        are not probabilities.
    TypeError
        If an argument is not a sequence.

    See Also
    --------
    ArcCalibrationDisplay : Shows the same as a figure.

    Notes
    -----
    Bin b has n_b of the n tokens; acc_b is the share with the right head, and conf_b the mean
    probability. The error is the sum of ``n_b / n * |acc_b - conf_b|`` over all bins (Guo et al.,
    2017, eq. 3). Errors of tokens in the same bin cancel, so it grows with the number of bins. It
    takes a few thousand tokens to tell errors of a hundredth from chance.

    References
    ----------
    Guo, Pleiss, Sun and Weinberger (2017), On calibration of modern neural networks.

    Examples
    --------
    >>> from sklearn_shag import SpectralSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.inspection import expected_calibration_error
    >>> trees = load_english().data
    >>> model, test = SpectralSHAG().fit(trees[:300]), trees[300:]
    >>> marginals, heads = model.predict_marginals(test), model.predict(test)
    >>> round(expected_calibration_error(test, marginals, heads), 2)
    0.03
    """
    right, probabilities = look_up_confidence(y_true, marginals, y_pred)
    return fill_bins(right, probabilities, n_bins, strategy).expected_error


def look_up_confidence(y_true, marginals, y_pred=None):
    """Look up whether the head of each token with a true head is right, and its probability.

    Parameters
    ----------
    y_true, marginals, y_pred
        As for :func:`expected_calibration_error`.

    Returns
    -------
    right : bool ndarray of shape (n_known,)
    probabilities : float ndarray of shape (n_known,)
    """
    given = {"y_true": y_true, "marginals": marginals}
    given |= {} if y_pred is None else {"y_pred": y_pred}
    expected = "a list with those of each sentence"
    given = {name: as_list(values, name, expected) for name, values in given.items()}
    sizes = {name: len(values) for name, values in given.items()}
    if len(set(sizes.values())) > 1 or not given["y_true"]:
        raise ValueError(
            f"{', '.join(sizes)} must hold the same number of sentences, at least one; got "
            f"{', '.join(map(str, sizes.values()))}."
        )
    marginals = [_check_arcs(part, f"marginals[{s}]") for s, part in enumerate(given["marginals"])]
    true = check_heads(marginals, given["y_true"], "y_true", partial=True)
    known = known_tokens(true)
    if y_pred is None:
        found = np.concatenate([part.argmax(axis=1) for part in marginals])
    else:
        found = check_heads(marginals, given["y_pred"], "y_pred")
    cuts = np.cumsum([len(part) for part in marginals])[:-1]
    probabilities = np.concatenate(head_probabilities(marginals, np.split(found, cuts)))
    return (true == found)[known], probabilities[known]


def fill_bins(right, probabilities, n_bins, strategy):
    """Cut tokens into bins as scikit-learn's :func:`~sklearn.calibration.calibration_curve` does.

    Parameters
    ----------
    right : bool ndarray of shape (n_tokens,)
    probabilities : float ndarray of shape (n_tokens,)
    n_bins : int
    strategy : {"uniform", "quantile"}

    Returns
    -------
    bins : CalibrationBins
    """
    even = np.linspace(0.0, 1.0, n_bins + 1)
    edges = even if strategy == "uniform" else np.quantile(probabilities, even)
    places = np.searchsorted(edges[1:-1], probabilities)
    counts, sums, hits = (
        np.bincount(places, weights, n_bins) for weights in (None, probabilities, right)
    )
    filled = counts > 0
    counts, sums, hits = counts[filled], sums[filled], hits[filled]
    return CalibrationBins(sums / counts, hits / counts, counts)


def _check_arcs(part, where):
    values = as_floats(part, where)
    if values.ndim != 2 or not values.shape[0] or values.shape[1] != values.shape[0] + 1:
        raise ValueError(
            f"{where} must be an array of shape (n_tokens, n_tokens + 1), as predict_marginals "
            f"returns, got the shape {values.shape}."
        )
    if not (values.min() >= 0 and values.max() <= 1 + 1e-9):
        raise ValueError(
            f"{where} holds values from {values.min():g} to {values.max():g}, but probabilities "
            f"are from 0 to 1; predict_marginals repairs those of signed operators."
        )
    return values


class ArcCalibrationDisplay(Display):
    """Reliability diagram: the share of right heads against their predicted probability.

    Create it with :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    bins : CalibrationBins
        Tokens binned by the probability of their predicted head.
    name : None or str, default=None
        Name of the parser in the legend.
    unit : {"heads", "trees"}, default="heads"
        Whether the bins contain heads or whole trees.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        Set by :meth:`plot`.
    figure_ : matplotlib.figure.Figure
        Set by :meth:`plot`.
    line_ : matplotlib.lines.Line2D
        The line that connects the bins. Set by :meth:`plot`.
    points_ : matplotlib.collections.PathCollection
        The bins; larger points have more tokens. Set by :meth:`plot`.

    See Also
    --------
    expected_calibration_error : The mean distance from the diagonal, weighted by tokens.
    ArcMarginalsDisplay : Shows the probabilities of one sentence.

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

    line_: Any
    points_: Any

    def __init__(
        self,
        bins: CalibrationBins,
        name: str | None = None,
        unit: Literal["heads", "trees"] = "heads",
    ) -> None:
        self.bins = bins
        self.name = name
        self.unit = unit

    @classmethod
    @validate_params({**BINNING, "unit": [StrOptions({"heads", "trees"})]})
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Sentences,
        y: Heads | None = None,
        *,
        unit: Literal["heads", "trees"] = "heads",
        n_bins: int = 10,
        strategy: Literal["uniform", "quantile"] = "uniform",
        name: str | None = None,
        ax: Any = None,
    ) -> Self:
        """Parse sentences, compare the result with the true trees, and draw the diagram.

        Parameters
        ----------
        estimator : estimator
            A fitted parser of this package, a pipeline that ends in one, or a search over either.
        X : sequence of length n_sentences
            As for :meth:`~sklearn_shag.BaseSHAG.score`; not the sentences it was trained on.
        y : None or sequence of length n_sentences, default=None
            The true heads, -1 where they are not known; None takes those of the trees in X.
        unit : {"heads", "trees"}, default="heads"
            With "heads", the probabilities of predicted heads are compared with the share of right
            heads. With "trees", those of :meth:`~sklearn_shag.BaseSHAG.predict_tree_proba` are
            compared with the share of trees whose known heads are all right.
        n_bins : int, default=10
            As for :func:`expected_calibration_error`.
        strategy : {"uniform", "quantile"}, default="uniform"
            As for :func:`expected_calibration_error`. Few trees have a high probability, so
            "quantile" avoids nearly empty bins of trees.
        name : None or str, default=None
            Name of the parser in the legend; None takes the name of its class.
        ax : None or matplotlib axes, default=None
            As for :meth:`plot`.

        Returns
        -------
        display : ArcCalibrationDisplay
            The display, already drawn.

        Raises
        ------
        TypeError
            If the estimator is not a parser.
        ValueError
            If X is not valid, or no true head is known.
        """
        transform, parser = open_parser(estimator, "predict_marginals")
        sentences, y = check_trees(X, y)
        sentences = transform(sentences)
        name = type(parser).__name__ if name is None else name
        heads = parser.predict(sentences)
        if unit == "heads":
            marginals = list(parser.predict_marginals(sentences))
            right, probabilities = look_up_confidence(y, marginals, heads)
        else:
            known_tokens(np.concatenate(y))  # raises an error if none is known
            # If the true head is not known, any head is right.
            found = [np.where(true == UNKNOWN, true, h) for true, h in zip(y, heads, strict=True)]
            chosen = np.array([true.max() != UNKNOWN for true in y])
            right = np.array([(h == true).all() for h, true in zip(found, y, strict=True)])[chosen]
            probabilities = parser.predict_tree_proba(sentences, found)[chosen]
        return cls(fill_bins(right, probabilities, n_bins, strategy), name, unit).plot(ax=ax)

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
        """Compare predicted heads and probabilities with the true trees, and draw the diagram.

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
            Name of the parser in the legend.
        ax : None or matplotlib axes, default=None
            As for :meth:`plot`.

        Returns
        -------
        display : ArcCalibrationDisplay
            The display, already drawn.

        Raises
        ------
        TypeError, ValueError
            As for :func:`expected_calibration_error`.
        """
        right, probabilities = look_up_confidence(y_true, marginals, y_pred)
        return cls(fill_bins(right, probabilities, n_bins, strategy), name).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw a point for each bin, and the diagonal on which points should be.

        Parameters
        ----------
        ax : None or matplotlib axes, default=None
            Axes to draw in, which may already hold other displays. None makes a figure.

        Returns
        -------
        display : ArcCalibrationDisplay
            The display itself. Bins with more tokens have larger points; the legend has the
            expected calibration error (ECE).

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        ax = self._make_axes(ax, figsize=(4.5, 4.5), layout="constrained")
        if _REFERENCE not in ax.get_legend_handles_labels()[1]:
            ax.plot([0, 1], [0, 1], ":", color="black", label=_REFERENCE)
        error = f"ECE {self.bins.expected_error:.3f}"
        label = error if self.name is None else f"{self.name} ({error})"
        confidences, accuracies, counts = self.bins
        (self.line_,) = ax.plot(confidences, accuracies, label=label)
        areas = _SMALLEST + _LARGEST * counts / counts.sum()
        self.points_ = ax.scatter(confidences, accuracies, areas, color=self.line_.get_color())
        ax.set(
            xlabel=f"mean probability of predicted {self.unit}",
            ylabel=f"share of right {self.unit}",
        )
        ax.legend(loc="lower right")
        return self


@shown_as_table
class UncertainArcs(NamedTuple):
    """Columns of predicted arcs, the least certain first.

    It prints as a table.

    Attributes
    ----------
    sentences : int ndarray of shape (n_arcs,)
        The sentence of each arc: its position in X, from 0.
    tokens : int ndarray of shape (n_arcs,)
        The token whose head is uncertain, from 1.
    heads : int ndarray of shape (n_arcs,)
        The predicted head, from 1, 0 for the root.
    probabilities : ndarray of shape (n_arcs,)
        Probability of the predicted head, given the known heads of the sentence.
    margins : ndarray of shape (n_arcs,)
        This probability minus that of the most probable other head of the token. It may be
        negative, since the heads have to form a tree.
    entropies : ndarray of shape (n_arcs,)
        Entropy of the probabilities of all heads of the token, in nats.

    See Also
    --------
    least_certain_arcs : Lists the least certain arcs.

    Examples
    --------
    Sorted by the probability of the predicted head instead of its margin:

    >>> import numpy as np
    >>> from sklearn_shag import DeterministicSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.inspection import UncertainArcs, least_certain_arcs
    >>> trees = load_english().data
    >>> model = DeterministicSHAG(smoothing=1).fit(trees[:300])
    >>> arcs = least_certain_arcs(model, [tree.with_heads(None) for tree in trees[300:]])
    >>> order = np.argsort(arcs.probabilities)[:2]
    >>> print(UncertainArcs(*(column[order] for column in arcs)))
    sentences  tokens  heads  probabilities  margins  entropies
           70      30     22          0.225    0.001      1.966
           70      13     12          0.240    0.013      1.809
    """

    sentences: IntArray
    tokens: IntArray
    heads: IntArray
    probabilities: FloatArray
    margins: FloatArray
    entropies: FloatArray

    to_dataframe = to_dataframe


@shown_as_table
class UncertainSentences(NamedTuple):
    """Columns of sentences, those with the largest expected error rate first.

    It prints as a table.

    Attributes
    ----------
    sentences : int ndarray of shape (n_listed,)
        Positions in X, from 0.
    n_unknown : int ndarray of shape (n_listed,)
        Number of unknown heads.
    expected_errors : ndarray of shape (n_listed,)
        How many of these heads the parser expects to get wrong: the sum of one minus the
        probability of each predicted head.
    error_rates : ndarray of shape (n_listed,)
        Expected errors per unknown head.
    tree_probabilities : ndarray of shape (n_listed,)
        Probability of the whole predicted tree, given the known heads.

    See Also
    --------
    least_certain_sentences : Lists the least certain sentences.

    Examples
    --------
    >>> from sklearn_shag import DeterministicSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.inspection import least_certain_sentences
    >>> model = DeterministicSHAG(smoothing=1).fit(load_english().data)
    >>> found = least_certain_sentences(model, [["DET", "NOUN"], ["NOUN", "VERB", "ADP", "NOUN"]])
    >>> found.sentences
    array([1, 0])
    """

    sentences: IntArray
    n_unknown: IntArray
    expected_errors: FloatArray
    error_rates: FloatArray
    tree_probabilities: FloatArray

    to_dataframe = to_dataframe


@validate_params(ROWS_OR_ALL)
def least_certain_arcs(
    estimator: BaseEstimator, X: Sentences, *, n: int | None = None
) -> UncertainArcs:
    """List the predicted arcs that a parser is least sure of: the heads to annotate next.

    Parameters
    ----------
    estimator : estimator
        A fitted parser of this package, a pipeline that ends in one, or a search over either.
    X : sequence of length n_sentences
        As for :meth:`~sklearn_shag.BaseSHAG.predict`. Known heads in X are taken as true: they are
        not listed, and the other heads are predicted given them.
    n : None or int, default=None
        Largest number of arcs to list. None lists all.

    Returns
    -------
    arcs : UncertainArcs
        Sorted by the margin between the predicted head and the most probable other one, the
        smallest first; equal margins are in the order of X.

    Raises
    ------
    TypeError
        If the estimator is not a parser.
    ValueError
        If X is not valid, or all heads in it are known.

    See Also
    --------
    least_certain_sentences : Lists the whole sentences to annotate next.
    sklearn_shag.treebank.DependencyTree.with_heads : Inserts the annotated heads.

    Notes
    -----
    This is margin sampling (Scheffer et al., 2001). On treebanks of English, French, Tamil and
    Afrikaans, :class:`~sklearn_shag.CRFParser` learned at least as fast from heads with small
    margins as from heads with small probabilities.

    References
    ----------
    Scheffer, Decomain and Wrobel (2001), Active hidden Markov models for information extraction.

    Examples
    --------
    >>> from sklearn_shag import DeterministicSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.inspection import least_certain_arcs
    >>> trees = load_english().data
    >>> model = DeterministicSHAG(smoothing=1).fit(trees[:300])
    >>> raw = [tree.with_heads(None) for tree in trees[300:]]
    >>> arcs = least_certain_arcs(model, raw, n=3)
    >>> print(arcs)
    sentences  tokens  heads  probabilities  margins  entropies
           85      12      2          0.252   -0.161      1.296
           70       2     14          0.279   -0.120      1.491
           14      13      9          0.352   -0.040      1.199
    """
    sentences, unknown, heads, marginals, probabilities, _ = _predict_rest(estimator, X)
    doubts = [_measure_doubts(*each) for each in zip(marginals, heads, strict=True)]
    columns = (
        np.repeat(sentences, list(map(len, heads))),
        np.concatenate([np.arange(len(part)) + 1 for part in heads]),
        np.concatenate(heads),
        np.concatenate(probabilities),
        *np.concatenate(doubts, axis=1),
    )
    chosen = np.concatenate(unknown)
    arcs = UncertainArcs(*(column[chosen] for column in columns))
    return largest_first(arcs, -arcs.margins, n)


@validate_params({**ROWS_OR_ALL, "by": [StrOptions({"errors", "trees"})]})
def least_certain_sentences(
    estimator: BaseEstimator,
    X: Sentences,
    *,
    n: int | None = None,
    by: Literal["errors", "trees"] = "errors",
) -> UncertainSentences:
    """List the sentences that a parser is least sure of: those to annotate next.

    Parameters
    ----------
    estimator : estimator
        A fitted parser of this package, a pipeline that ends in one, or a search over either.
    X : sequence of length n_sentences
        As for :func:`least_certain_arcs`. Sentences whose heads are all known are not listed.
    n : None or int, default=None
        Largest number of sentences to list. None lists all.
    by : {"errors", "trees"}, default="errors"
        Sort by the expected share of wrong heads, the largest first, or by the probability of the
        whole tree, the smallest first.

    Returns
    -------
    sentences : UncertainSentences
        Sorted; equal sentences are in the order of X.

    Raises
    ------
    TypeError, ValueError
        As for :func:`least_certain_arcs`.

    See Also
    --------
    least_certain_arcs : Lists the single heads to annotate next.

    Notes
    -----
    The work of annotation grows with the number of heads, so what counts is the gain per head. The
    number of expected errors favours long sentences. The probability of the whole tree favours them
    even more: each token multiplies it by a factor, however sure the parser is.

    Examples
    --------
    >>> from sklearn_shag import DeterministicSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.inspection import least_certain_sentences
    >>> trees = load_english().data
    >>> model = DeterministicSHAG(smoothing=1).fit(trees[:300])
    >>> raw = [tree.with_heads(None) for tree in trees[300:]]
    >>> print(least_certain_sentences(model, raw, n=3))
    sentences  n_unknown  expected_errors  error_rates  tree_probabilities
           44         15            5.137        0.342               0.001
           47         17            5.772        0.340               0.004
            1          7            2.368        0.338               0.346
    """
    sentences, unknown, _, _, probabilities, of_trees = _predict_rest(estimator, X)
    n_unknown = np.array(list(map(np.count_nonzero, unknown)))
    # Heads that are known have the probability 1.
    lacking = np.array([np.sum(1.0 - of_sentence) for of_sentence in probabilities])
    rates = lacking / n_unknown
    found = UncertainSentences(sentences, n_unknown, lacking, rates, of_trees)
    return largest_first(found, rates if by == "errors" else -of_trees, n)


def _predict_rest(estimator, X):
    """Predict heads, marginals and probabilities of the sentences that have unknown heads.

    Returns
    -------
    sentences : int ndarray of shape (n_chosen,)
        Indices of these sentences in X.
    unknown, heads, marginals, probabilities : lists of ndarrays, length n_chosen
        For each token: whether its head is unknown, the predicted head, the probabilities of all
        heads, and the probability of the predicted one.
    of_trees : ndarray of shape (n_chosen,)
        Probability of each predicted tree.
    """
    transform, parser = open_parser(estimator, "predict_marginals")
    sentences, _ = check_sentences(X)
    trees = [s if isinstance(s, DependencyTree) else np.full(len(s), UNKNOWN) for s in sentences]
    known = list_known_heads(trees)
    chosen = np.array([s for s, heads in enumerate(known) if UNKNOWN in heads], dtype=np.int64)
    if not chosen.size:
        raise ValueError(
            "All heads of the sentences in X are known, so there is nothing to annotate. Give -1 "
            "(in a file _) for uncertain heads; tree.with_heads(None) removes all heads."
        )
    known = [known[s] for s in chosen]
    part, allowed = transform([sentences[s] for s in chosen]), allowed_arcs(known)
    found = ask(parser, partial(_list_predicted, parser.decoder), parser._batch(part, allowed))
    heads, marginals, of_trees = zip(*found, strict=True)
    unknown = [of_sentence == UNKNOWN for of_sentence in known]
    of_heads = head_probabilities(marginals, heads)
    return chosen, unknown, heads, marginals, of_heads, np.array(of_trees)


def _list_predicted(decoder, forest):
    """List the heads of the best tree, the marginals, and the tree's probability, by sentence."""
    heads = list_best(decoder, forest)
    logs = np.minimum(forest.log_proba([of_sentence[None] for of_sentence in heads]), 0.0)
    return list(zip(heads, list_corrected(forest), np.exp(logs).tolist(), strict=True))


def _measure_doubts(marginals, heads):
    """Compute the margin and the entropy of each token of a sentence."""
    tokens = np.arange(heads.size)
    others = marginals.copy()
    others[tokens, heads] = 0.0
    return marginals[tokens, heads] - others.max(axis=1), entr(marginals).sum(axis=1)
