"""What a chart finds of sentences, and by which route."""

from typing import NamedTuple

import numpy as np

from sklearn_shag.operators import Operators
from sklearn_shag.utils._typing import FloatArray, RouteArray, SignArray

# Where the results of a sentence come from: the fast chart or, where it is out of range, the scaled
# one; a parser's fallback grammar, in either chart, where its first has no mass; or none has.
ROUTES = ("fast", "scaled", "fallback", "none")


class ChartResults(NamedTuple):
    """Sums over all trees, and the expected uses of every factor that went in.

    What was not asked for, and uses of factors that were not given, are None.

    Attributes
    ----------
    sign : int8 ndarray of shape (n_sentences,)
        Of Z, the total value of all trees; 0 where it vanishes.
    log_abs_z : ndarray of shape (n_sentences,)
        Logarithm of the absolute value of Z, in nats; -inf where Z vanishes.
    route : uint8 ndarray of shape (n_sentences,)
        0 where the fast chart did it; 1 where numbers left its range and the scaled one did; 3
        where Z vanishes, or it or an expected use is not finite.
    arcs : None or ndarray of shape (n_arcs,)
        Expected uses of arcs, in the layout of ``Potentials.arcs``: the raw marginals, which for
        signed operators may leave [0, 1].
    arc_memory : None or ndarray of shape (n_arcs, n_classes)
        Expected uses of ``Potentials.arc_memory``; None if there was none.
    stop_memory : None or ndarray of shape (n_tokens, 2, n_classes)
        Expected uses of ``Potentials.stop_memory``; None if there was none.
    counts : None or Operators
        Expected uses of the operators, summed over sentences times their weights.

    See Also
    --------
    chart : Makes it.
    Potentials : The factors that went in.

    Notes
    -----
    The derivative of log Z by the logarithm of a factor is its expected use. Uses are NaN where
    the sign is 0, and such sentences add nothing to `counts`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_shag.parsing import Potentials, chart
    >>> result = chart(None, Potentials(np.array([0, 2]), arcs=np.log([1, 1, 3, 1, 1, 1])))
    >>> np.exp(result.log_abs_z).round(6)                # two trees, of the values 3 and 1
    array([4.])
    >>> result.arcs.reshape(2, 3)
    array([[0.25, 0.  , 0.75],
           [0.75, 0.25, 0.  ]])
    >>> result.counts is None
    True
    """

    sign: SignArray
    log_abs_z: FloatArray
    route: RouteArray
    arcs: FloatArray | None
    arc_memory: FloatArray | None
    stop_memory: FloatArray | None
    counts: Operators | None


class Results(NamedTuple):
    """Room for the results of the sentences of a chunk; what is not wanted is empty."""

    route: np.ndarray  # (n_sentences,), the place in ROUTES
    sign: np.ndarray  # (n_sentences,) int8
    log_abs_z: np.ndarray  # (n_sentences,)
    arcs: np.ndarray  # (n_arcs,)
    arc_memory: np.ndarray  # (n_arcs, n_classes)
    stop_memory: np.ndarray  # (n_tokens, 2, n_classes)


def new_results(factors, with_uses, of_memory=True):
    """Allocate results for a chunk.

    Parameters
    ----------
    factors : Factors
    with_uses : bool
        Whether expected uses are wanted of arcs.
    of_memory : bool, default=True
        Whether those of the factors of memory are too, if they are given.

    Returns
    -------
    results : Results
        Without mass, by no route; uses are not defined yet.
    """
    n_sentences, n_arcs, n_tokens = factors.indptr.size - 1, 0, 0
    if with_uses:
        n_arcs, n_tokens = factors.begins[-1], factors.indptr[-1]
    of_arcs, of_stops = factors.arc_memory.shape, factors.stop_memory.shape
    return Results(
        np.full(n_sentences, ROUTES.index("none"), dtype=np.uint8),
        np.zeros(n_sentences, dtype=np.int8),
        np.full(n_sentences, -np.inf),
        np.empty(n_arcs),
        np.empty((min(n_arcs, of_arcs[0]) * of_memory, *of_arcs[1:])),
        np.empty((min(n_tokens, of_stops[0]) * of_memory, *of_stops[1:])),
    )
