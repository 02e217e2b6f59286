"""The public face of the scaled chart: all that it knows about one sentence."""

from typing import NamedTuple

import numpy as np

from sklearn_shag.operators import LOG_BASE, Operators, scale_operators
from sklearn_shag.parsing._potentials import as_codes, check_operators, check_range
from sklearn_shag.parsing._scaled_chart import Sentence, Table, normalise_scores
from sklearn_shag.parsing._scaled_outside import sum_over_trees
from sklearn_shag.utils._param_validation import as_floats
from sklearn_shag.utils._typing import ArrayLike, FloatArray, IntArrayLike


class InsideOutside(NamedTuple):
    """What the chart knows about one sentence.

    It is the sum over all its projective trees, and the share of each arc in it.

    Attributes
    ----------
    sign : float
        Sign of Z, the total value of all trees; 0 where it vanishes.
    log_abs_z : float
        Logarithm of the absolute value of Z, in nats.
    marginals : ndarray of shape (n_tokens, n_tokens + 1)
        ``marginals[m - 1, h]`` is the share of Z of the trees in which h is the head of m; column 0
        is the root symbol. Rows sum to 1. Signed operators can give values outside [0, 1].
        NaN where Z vanishes.
    counts : Operators
        The expected uses of every start, stop and transition in a tree of the sentence.

    See Also
    --------
    inside_outside : Makes it.
    ChartResults : The same of many sentences.

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
    single_root: bool = True,
) -> InsideOutside:
    """Sum over all projective trees of a sentence (theory, eqs. 14-26).

    Parameters
    ----------
    operators : Operators
        Of a grammar; entries of any sign. See the Notes of
        :class:`~sklearn_shag.operators.Operators` for its axes.
    codes : int array-like of shape (n_tokens,)
        Symbol codes of the sentence.
    arc_scores : None or array-like of shape (n_tokens + 1, n_tokens + 1), default=None
        A factor for the arc from every head position (row, 0 the root symbol) to every modifier
        position (column).
    stop_scores : None or array-like of shape (n_tokens + 1, 2), default=None
        A factor for the end of the left (column 0) and right (column 1) sequence of every
        position.
    single_root : bool, default=True
        Whether only trees with one root count. If False the automaton of the root symbol says how
        many there are.

    Returns
    -------
    result : InsideOutside
        The sum, and what each arc and operator has to do with it.

    Raises
    ------
    ValueError
        If the sentence is empty, a code is not one of the grammar's, scores have another shape,
        or a number is not finite; or expected uses are not, where large values cancel.
    TypeError
        If `operators` are none.

    See Also
    --------
    chart : Many sentences at once, and faster; factors are not negative there.

    Notes
    -----
    Takes O(n N^3 + n^2 N^2) time for N tokens and n states, and about 50 n N^2 bytes.

    References
    ----------
    Luque, Quattoni, Balle and Carreras (2012), eqs. 15-20.

    Examples
    --------
    With all operators 1 the chart counts trees; three words have 7 with one root:

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
    # Contiguous, so that the kernels compile for one memory layout only.
    check_operators(operators)
    operators = Operators(*(np.ascontiguousarray(part, dtype=float) for part in operators))
    sentence = _check_sentence(operators, codes, arc_scores, stop_scores)
    counts = Operators(*(np.zeros_like(part) for part in operators))
    scaled = scale_operators(operators)
    z, exponent, arcs, _ = sum_over_trees(scaled, sentence, single_root, counts)
    if z == 0:
        counts = Operators(*(np.full_like(part, np.nan) for part in operators))
        return InsideOutside(0.0, -np.inf, arcs[:, :, 0], counts)
    if not all(np.isfinite(part).all() for part in (arcs, *counts)):
        raise ValueError(
            "Expected uses overflow: operators of both signs cancel until Z is some 300 orders of "
            "magnitude smaller than their products, which no double can tell from 0. Parsers then "
            "take another grammar."
        )
    log_abs_z = np.log(abs(z)) + exponent * LOG_BASE
    return InsideOutside(float(np.sign(z)), float(log_abs_z), arcs[:, :, 0], counts)


def _check_sentence(operators, codes, arc_scores, stop_scores):
    n_heads, _, n_symbols = operators.A.shape[:3]
    if np.size(codes) == 0:
        raise ValueError("codes must hold at least one symbol code, got none.")
    codes = as_codes(codes)
    if codes.ndim != 1:
        raise ValueError(f"codes must be those of one sentence, got an array {codes.shape}.")
    check_range(codes, n_symbols)
    positions = np.concatenate([[n_heads - 1], codes])
    n = positions.size
    return Sentence(
        positions,
        np.zeros_like(positions),
        _check_scores(arc_scores, (n, n), "arc_scores"),
        _check_scores(stop_scores, (n, 2), "stop_scores"),
    )


def _check_scores(scores, shape, name):
    scores = np.ones(shape) if scores is None else as_floats(scores, name).copy()
    if scores.shape != shape:
        raise ValueError(
            f"{name} must have the shape {shape} for {shape[0] - 1} tokens, got {scores.shape}."
        )
    if not np.isfinite(scores).all():
        raise ValueError(f"{name} holds values that are not finite.")
    table = Table(np.ascontiguousarray(scores[..., None]), np.zeros((*shape, 1), dtype=np.int64))
    normalise_scores(table)
    return table
