"""The chart, public: potentials of sentences in, log Z and expected uses out."""

import math
from functools import partial

import numpy as np

from sklearn_shag.operators import Operators
from sklearn_shag.parsing._chunks import CHUNK_COST, CHUNK_COST_ALONE, Batch, cut
from sklearn_shag.parsing._fast_uses import NO_COUNTS, finish_counts, new_counts
from sklearn_shag.parsing._ladder import Rung, climb
from sklearn_shag.parsing._potentials import (
    Potentials,
    arc_begins,
    as_factors,
    check_grammar,
    places_of,
    take_sentences,
)
from sklearn_shag.parsing._results import ChartResults, new_results
from sklearn_shag.utils._parallel import count_workers, delayed, run_parallel
from sklearn_shag.utils._param_validation import LARGEST_TOTAL, as_floats
from sklearn_shag.utils._typing import ArrayLike


def chart(
    grammar: Operators | None,
    potentials: Potentials,
    *,
    marginals: bool = True,
    counts: bool = False,
    weights: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> ChartResults:
    """Sum over all projective trees with one root: every factor in, its expected use out.

    Parameters
    ----------
    grammar : Operators or None
        Of a grammar; entries of any sign. See the Notes of
        :class:`~sklearn_shag.operators.Operators` for its axes. None for the factors alone.
    potentials : Potentials
        The sentences.
    marginals : bool, default=True
        Whether expected uses are wanted of arcs, and of all other factors that are given. Without
        them it takes a third of the time.
    counts : bool, default=False
        Whether those of the operators are wanted as well, summed over sentences.
    weights : None or array-like of shape (n_sentences,), default=None
        How often the uses of each sentence count in `counts`.
    n_jobs : int or None, default=None
        Number of joblib workers, over chunks of sentences. No result depends on it.

    Returns
    -------
    results : ChartResults
        An entry for each sentence, arc and token, in the order of `potentials`.

    Raises
    ------
    ValueError
        If shapes, types or numbers are not what :class:`Potentials` says, or operators are not
        finite, or counts are wanted without a grammar.
    TypeError
        If `grammar` or `potentials` is something else.

    See Also
    --------
    best_trees : The best tree in place of the sum.
    tree_values : Given trees in place of all.
    inside_outside : One sentence, operators and scores of any sign.

    Notes
    -----
    Eqs. 14-26 of the theory page. O(n N^3 + n^2 N^2) time for a sentence of N tokens and automata
    with n states, (k + 1) / 2 times as much for k classes of memory, and O(n k N^2) memory for each
    worker. A sentence without mass gets the sign 0: no other grammar stands in for it, and nothing
    is repaired.

    References
    ----------
    Luque, Quattoni, Balle and Carreras (2012), eqs. 15-20.

    Examples
    --------
    Three tokens have 7 trees with one root, and one is left if token 2 is the root:

    >>> import numpy as np
    >>> from sklearn_shag.parsing import Potentials, chart
    >>> indptr = np.array([0, 3])
    >>> np.exp(chart(None, Potentials(indptr)).log_abs_z).round(6)
    array([7.])
    >>> arcs = np.zeros((3, 4))
    >>> arcs[[0, 2], 0] = -np.inf
    >>> result = chart(None, Potentials(indptr, arcs=arcs.ravel()))
    >>> result.arcs.reshape(3, 4).round(2)
    array([[0., 0., 1., 0.],
           [1., 0., 0., 0.],
           [0., 0., 1., 0.]])
    """
    if counts and grammar is None:
        raise ValueError("counts are those of operators: they need a grammar.")
    packed, potentials = check_grammar(grammar, potentials)
    if weights is not None:
        weights, n_sentences = as_floats(weights, "weights"), potentials.indptr.size - 1
        if weights.shape != (n_sentences,) or not (np.abs(weights) <= LARGEST_TOTAL).all():
            raise ValueError(
                f"weights must be {n_sentences} finite numbers, one a sentence, none larger than "
                f"{LARGEST_TOTAL:g}."
            )
    return sum_up_sentences(packed, potentials, weights, marginals, counts, n_jobs)


def sum_up_sentences(packed, potentials, weights=None, marginals=True, counts=False, n_jobs=None):
    """Do what :func:`chart` does, with what has been checked."""
    weights = np.ones(potentials.indptr.size - 1) if weights is None else weights
    # Derivatives times weights of any size may leave the range of doubles, which uses do not.
    unit = 2.0 ** (math.frexp(np.abs(weights).max())[1] - 1)
    weights = weights / unit
    # Sums of counts must not depend on workers, so chunks do not, if there are any.
    alone = count_workers(n_jobs) == 1 and not counts
    chunks = cut(np.diff(potentials.indptr), CHUNK_COST_ALONE if alone else CHUNK_COST)
    task = partial(_chart_task, packed, with_uses=marginals, with_counts=counts)
    if len(chunks) == 1:
        parts = [task(potentials, weights)]
        results = parts[0][0]
    else:
        tasks = (delayed(task)(take_sentences(potentials, part), weights[part]) for part in chunks)
        parts = run_parallel(tasks, n_jobs)
        results = _put_together(potentials, [part for part, _ in parts], chunks, marginals)
    total = None
    if counts:
        total = (unit * sum(each) for each in zip(*(part for _, part in parts), strict=True))
        total = Operators(*total)
    given = potentials.arc_memory, potentials.stop_memory
    return ChartResults(
        results.sign,
        results.log_abs_z,
        results.route,
        results.arcs if marginals else None,
        *(
            uses if marginals and like is not None else None
            for uses, like in zip(results[4:], given, strict=True)
        ),
        total,
    )


def _chart_task(packed, potentials, weights, with_uses, with_counts):
    counts = new_counts(packed) if with_counts else NO_COUNTS
    batch = Batch([], potentials.codes, potentials.indptr, None)
    rung = Rung(packed, lambda _: potentials)
    _, results = climb((rung,), batch, with_uses or with_counts, with_uses, weights, counts)
    return results, finish_counts(counts, packed.operators) if with_counts else None


def _put_together(potentials, parts, chunks, with_uses):
    """Put the results of chunks in the places of their sentences."""
    results = new_results(as_factors(potentials), with_uses)
    for part, chosen in zip(parts, chunks, strict=True):
        places = [chosen] * 3
        if with_uses:
            _, arcs = places_of(arc_begins(potentials.indptr), chosen)
            _, tokens = places_of(potentials.indptr, chosen)
            places += [arcs, arcs, tokens]
        for whole, values, where in zip(results, part, places, strict=False):
            if whole.size:
                whole[where] = values
    return results
