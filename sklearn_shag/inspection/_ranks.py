"""How many states automata are worth."""

from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from sklearn_shag.inspection._grammars import DIRECTIONS, check_grammar
from sklearn_shag.inspection._text import table_text
from sklearn_shag.utils._typing import FloatArray, ObjectArray, StrArray


class AutomatonRanks(NamedTuple):
    """How much each automaton has to remember, in columns.

    Printed, it is a table.

    Attributes
    ----------
    heads : ndarray of shape (n_automata,), dtype object
        The head's symbol.
    directions : str ndarray of shape (n_automata,)
        "left" or "right".
    counts : ndarray of shape (n_automata,)
        How many sequences it was learned from: as many as training has of the head, by weight.
    effective_ranks : ndarray of shape (n_automata,)
        How many states it is worth.
    singular_values : ndarray of shape (n_automata, n_values)
        The largest first.

    See Also
    --------
    automaton_ranks : Makes it.

    Examples
    --------
    >>> from sklearn_shag import SpectralSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.inspection import AutomatonRanks, automaton_ranks
    >>> ranks = automaton_ranks(SpectralSHAG().fit(load_english().data))
    >>> print(AutomatonRanks(*(column[ranks.heads == "VERB"] for column in ranks)))
    heads  directions   counts  effective_ranks                    singular_values
    VERB   left        621.000            7.865  1.212 0.872 0.473 0.409 0.361 ...
    VERB   right       621.000            7.452  1.243 0.923 0.602 0.180 0.133 ...
    """

    heads: ObjectArray
    directions: StrArray
    counts: FloatArray
    effective_ranks: FloatArray
    singular_values: FloatArray

    def __str__(self) -> str:
        return table_text(self)


def automaton_ranks(estimator: BaseEstimator) -> AutomatonRanks:
    """List effective rank and singular values of all automata of a spectral grammar.

    Parameters
    ----------
    estimator : SpectralSHAG
        Fitted.

    Returns
    -------
    ranks : AutomatonRanks
        A row for each head that the estimator knows and each direction, sorted by effective rank,
        the largest first. The numbers are those of its attributes `effective_rank_`,
        `singular_values_` and `statistics_`.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    TypeError
        If it is something else, such as a pipeline, or a grammar that is not learned spectrally.

    See Also
    --------
    automaton_gains : What the states of each automaton are good for.
    sklearn_shag.SpectralSHAGCV : Chooses the number of states by the score.

    Notes
    -----
    Automata of rare heads are worth about as many states as the pool of all heads, whose sequences
    `smoothing` lends them.

    Examples
    --------
    >>> from sklearn_shag import SpectralSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.inspection import automaton_ranks
    >>> ranks = automaton_ranks(SpectralSHAG().fit(load_english().data))
    >>> print(ranks)
    heads  directions   counts  effective_ranks                    singular_values
    AUX    left        322.000            7.964  1.026 0.998 0.919 0.621 0.462 ...
    ADJ    left        247.000            7.948  1.171 0.871 0.536 0.486 0.442 ...
    ...
    NOUN   right       919.000            5.234  1.026 0.620 0.333 0.178 0.099 ...
    """
    _, symbols = check_grammar(estimator, "automaton_ranks(pipeline[-1])")
    if not hasattr(estimator, "singular_values_"):
        raise TypeError(
            f"estimator must be a SpectralSHAG, which has singular_values_, got a "
            f"{type(estimator).__name__}. Of a SpectralSHAGCV fit SpectralSHAG(**best_params_)."
        )
    known = slice(symbols.size)  # the last row is the pool
    ranks = estimator.effective_rank_[known].ravel()
    order = np.argsort(-ranks, kind="stable")
    values = estimator.singular_values_[known]
    return AutomatonRanks(
        np.repeat(symbols, 2)[order],
        np.tile(DIRECTIONS, symbols.size)[order],
        estimator.statistics_.statistics.n_sequences[known].ravel()[order],
        ranks[order],
        values.reshape(ranks.size, -1)[order],
    )
