"""How far the marginals of signed operators are from probabilities."""

from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from sklearn_shag.treebank import Sentences
from sklearn_shag.utils._typing import FloatArray, IntArray, StrArray

__all__ = ["MarginalReport", "inspect_marginals"]


class MarginalReport(NamedTuple):
    """How sentences are parsed, and their signs and those of their arc marginals before any repair.

    Sums of probabilities are never negative; those of operators learned spectrally may be.

    Attributes
    ----------
    z_sign : int ndarray of shape (n_sentences,)
        Sign of Z, the total mass of the trees of a sentence: 1 as for probabilities; -1, which the
        division by Z repairs; 0 where Z is zero, or it or a marginal is not finite, so that
        ``fallback_operators_`` stand in.
    negative_share : ndarray of shape (n_sentences,)
        Share of the marginals of a sentence that are below zero (by more than 1e-12) and are
        clipped. 0 where the sign of Z is 0.
    negative_mass : ndarray of shape (n_sentences,)
        Their sum, without the sign, per token. The true marginals of a token sum to 1.
    routes : str ndarray of shape (n_sentences,)
        Which chart parses each sentence: "fast"; "scaled", many times slower, where numbers leave
        the range of the fast one; "none" where ``fallback_operators_`` stand in.

    See Also
    --------
    inspect_marginals : Makes it.

    Examples
    --------
    >>> from sklearn_shag import DeterministicSHAG
    >>> from sklearn_shag.inspection import inspect_marginals
    >>> model = DeterministicSHAG().fit([["DET", "NOUN"]], [[2, 0]])
    >>> report = inspect_marginals(model, [["DET", "NOUN"], ["NOUN", "DET"]])
    >>> report.z_sign, report.routes                # the second has no tree like those seen
    (array([1, 0]), array(['fast', 'none'], dtype='<U4'))
    """

    z_sign: IntArray
    negative_share: FloatArray
    negative_mass: FloatArray
    routes: StrArray


def inspect_marginals(model: BaseEstimator, X: Sentences) -> MarginalReport:
    """Tell how often a grammar gives sentences and arcs negative mass.

    Operators learned spectrally are signed. `predict` and `predict_marginals` repair what is
    negative; here is how much there was to repair.

    Parameters
    ----------
    model : estimator
        A fitted estimator of this package.
    X : sequence of length n_sentences
        As for :meth:`~sklearn_shag.BaseSHAG.predict`.

    Returns
    -------
    report : MarginalReport
        An entry for each sentence.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    ValueError, TypeError
        If X is not valid, or `model` is something else.

    See Also
    --------
    sklearn_shag.BaseSHAG.predict_marginals : The marginals, repaired.
    sklearn_shag.parsing.chart : The marginals as they are.

    Examples
    --------
    >>> import collections
    >>> from sklearn_shag import SpectralSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.inspection import inspect_marginals
    >>> trees = load_english().data
    >>> report = inspect_marginals(SpectralSHAG(4).fit(trees[:300]), trees[300:])
    >>> int((report.z_sign < 0).sum()), int((report.z_sign == 0).sum())
    (1, 0)
    >>> round(float(report.negative_share.mean()), 2)
    0.07
    >>> collections.Counter(report.routes.tolist())
    Counter({'fast': 87})
    """
    if not hasattr(type(model), "_report_marginals"):
        raise TypeError(
            f"model must be an estimator of this package that parses by a chart, got a "
            f"{type(model).__name__}. Of a pipeline pass both parts: "
            f"inspect_marginals(pipeline[-1], pipeline[:-1].transform(X)). Of an average pass "
            f"each of its estimators_."
        )
    return MarginalReport(*map(np.array, zip(*model._report_marginals(X), strict=True)))
