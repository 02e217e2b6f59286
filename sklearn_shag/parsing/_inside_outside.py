"""The chart of a single sentence: marginals before repair, and expected uses of operators."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_shag.encoding import RIGHT
from sklearn_shag.operators import Operators
from sklearn_shag.parsing._chart import chart
from sklearn_shag.parsing._fast_driver import OUT_OF_RANGE
from sklearn_shag.parsing._potentials import Potentials, as_codes, check_operators
from sklearn_shag.utils._arrays import check_finite, check_shape, log_of
from sklearn_shag.utils._param_validation import as_floats
from sklearn_shag.utils._typing import ArrayLike, FloatArray, IntArrayLike


class InsideOutside(NamedTuple):
    """The results of a chart for one sentence.

    They are the sum over all its projective trees with one root, and the share of each arc in it.

    Attributes
    ----------
    sign : float
        Sign of Z, the total value of all trees; 0 if Z vanishes.
    log_abs_z : float
        Logarithm of the absolute value of Z, in nats.
    marginals : ndarray of shape (n_tokens, n_tokens + 1)
        ``marginals[m - 1, h]`` is the share of Z that belongs to trees in which h is the head of m;
        column 0 is the root symbol. Rows sum to 1. Signed operators can give values outside [0, 1].
        NaN if Z vanishes.
    counts : Operators
        The expected uses of every start, stop and transition in a tree of the sentence; NaN if Z
        vanishes.

    See Also
    --------
    inside_outside : Computes these results.
    ChartResults : Holds the results for many sentences.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_shag.operators import Operators
    >>> from sklearn_shag.parsing import inside_outside
    >>> ones = np.ones((3, 2, 1))
    >>> result = inside_outside(Operators(ones, ones, np.ones((3, 2, 2, 1, 1))), [0, 0])
    >>> round(np.exp(result.log_abs_z)), result.sign         # two trees, of the value 1
    (2, 1.0)
    >>> result.counts.A[2, 1, 0].item()                      # each has one root
    1.0
    """

    sign: float
    log_abs_z: float
    marginals: FloatArray
    counts: Operators


def inside_outside(
    operators: Operators,
    codes: IntArrayLike,
    *,
    arc_scores: ArrayLike | None = None,
    stop_scores: ArrayLike | None = None,
) -> InsideOutside:
    """Sum over all projective trees of a sentence with one root (eqs. 14-26 of the theory page).

    Parameters
    ----------
    operators : Operators
        The operators of a grammar, with entries of any sign. See the Notes of
        :class:`~sklearn_shag.operators.Operators` for their axes.
    codes : int array-like of shape (n_tokens,)
        Symbol codes of the sentence.
    arc_scores : None or array-like of shape (n_tokens + 1, n_tokens + 1), default=None
        A factor, not negative, for the arc from every head position (row, 0 the root symbol) to
        every modifier position (column).
    stop_scores : None or array-like of shape (n_tokens + 1, 2), default=None
        A factor, not negative, for the end of the left (column 0) and right (column 1) sequence of
        every position. The root symbol has no left sequence.

    Returns
    -------
    result : InsideOutside
        The sum, the share of each arc in it, and the expected uses of the operators.

    Raises
    ------
    ValueError
        If the sentence is empty, the grammar does not have a code, scores have the wrong shape or
        are negative, or a number is not finite. Also if values leave the range of doubles: if the
        factors of a sentence differ by a hundred orders of magnitude, or operators of both signs
        cancel until nothing is left.
    TypeError
        If `operators` has the wrong type.

    See Also
    --------
    chart : Takes many sentences at once, with factors as logarithms.

    Notes
    -----
    Takes O(n N^3 + n^2 N^2) time for N tokens and n states.

    References
    ----------
    Luque, Quattoni, Balle and Carreras (2012), eqs. 15-20.

    Examples
    --------
    If all operators are 1, the chart counts trees. Three words have 7 trees with one root:

    >>> import numpy as np
    >>> from sklearn_shag.operators import Operators
    >>> from sklearn_shag.parsing import inside_outside
    >>> ones = np.ones((3, 2, 1))
    >>> counting = Operators(ones, ones, np.ones((3, 2, 2, 1, 1)))
    >>> result = inside_outside(counting, [0, 0, 0])
    >>> round(np.exp(result.log_abs_z))
    7
    >>> result.marginals.round(2)
    array([[0.43, 0.  , 0.29, 0.29],
           [0.14, 0.43, 0.  , 0.43],
           [0.43, 0.29, 0.29, 0.  ]])
    """
    check_operators(operators)
    if np.size(codes) == 0:
        raise ValueError("codes must hold at least one symbol code, got none.")
    codes = as_codes(codes, operators.A.shape[2])
    n = codes.size
    arcs = _check_scores(arc_scores, (n + 1, n + 1), "arc_scores")[:, 1:].T
    stops = _check_scores(stop_scores, (n + 1, 2), "stop_scores")
    arcs = log_of(np.ascontiguousarray(arcs)).ravel()
    sentence = Potentials(np.array([0, n]), codes, arcs=arcs, stop_memory=stops[1:, :, None])
    results = chart(operators, sentence, counts=True)
    if results.route[0] == OUT_OF_RANGE:
        raise ValueError(
            "Values of this sentence leave the range of doubles: its factors differ by a hundred "
            "orders of magnitude or more, or operators of both signs cancel until nothing is left. "
            "Rescale the operators or the scores. Parsers use another grammar in this case."
        )
    marginals = results.arcs.reshape(n, n + 1)
    if results.sign[0] == 0 or stops[0, RIGHT] == 0:
        missing = (np.full_like(part, np.nan, dtype=float) for part in operators)
        return InsideOutside(0.0, -np.inf, np.full_like(marginals, np.nan), Operators(*missing))
    # Each tree has one end of the sequence of the root symbol, which has none to its left.
    log_abs_z = results.log_abs_z[0] + np.log(stops[0, RIGHT])
    return InsideOutside(float(results.sign[0]), float(log_abs_z), marginals, results.counts)


def _check_scores(scores, shape, name):
    scores = np.ones(shape) if scores is None else as_floats(scores, name)
    check_shape(scores, shape, name)
    check_finite(scores, name)
    if scores.min() < 0:
        raise ValueError(
            f"{name} must not be negative, got {scores.min():g}: the chart takes their logarithms. "
            f"A sign belongs to the operators."
        )
    return scores
