"""Which modifiers heads take, by what was learned."""

from numbers import Integral
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from sklearn_shag.encoding import RIGHT, Alphabet
from sklearn_shag.inspection._grammars import (
    DIRECTIONS,
    ROOT_NAME,
    check_grammar,
    head_code,
    names_of_heads,
)
from sklearn_shag.inspection._text import table_text
from sklearn_shag.operators import Operators, pair_automaton
from sklearn_shag.utils._messages import shorten
from sklearn_shag.utils._param_validation import Interval, validate_params
from sklearn_shag.utils._typing import FloatArray, ObjectArray, StrArray


class ArcTable(NamedTuple):
    """Arcs from heads to modifiers, in columns.

    Printed, it is a table.

    Attributes
    ----------
    heads : ndarray of shape (n_arcs,), dtype object
        The head's symbol, ``"<root>"`` for the root symbol.
    directions : str ndarray of shape (n_arcs,)
        Where the modifier stands: "left" or "right" of its head.
    modifiers : ndarray of shape (n_arcs,), dtype object
        The modifier's symbol.
    probabilities : ndarray of shape (n_arcs,)
        How probable it is that a head has at least one such modifier on that side.
    counts : ndarray of shape (n_arcs,)
        How many it has on average.

    See Also
    --------
    arc_table : Makes it for all heads.
    top_modifiers : Makes it for one.

    Examples
    --------
    >>> from sklearn_shag import DeterministicSHAG
    >>> from sklearn_shag.inspection import ArcTable, arc_table
    >>> arcs = arc_table(DeterministicSHAG().fit([["DET", "NOUN"], ["NOUN"]], [[2, 0], [0]]))
    >>> print(ArcTable(*(column[arcs.probabilities > 0] for column in arcs)))
    heads   directions  modifiers  probabilities  counts
    NOUN    left        DET                0.500   0.500
    <root>  right       NOUN               1.000   1.000
    """

    heads: ObjectArray
    directions: StrArray
    modifiers: ObjectArray
    probabilities: FloatArray
    counts: FloatArray

    def __str__(self) -> str:
        return table_text(self)


def arc_table(estimator: BaseEstimator) -> ArcTable:
    """Tell in words what a grammar has learned: how many of which modifiers each head takes.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator of this package that has `operators_`.

    Returns
    -------
    arcs : ArcTable
        A row for each head that the estimator knows, direction and modifier, and for each root.
        Heads are in the order of ``symbols_``, left before right; the modifiers of an
        automaton are sorted by their counts, the largest first.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    TypeError
        If it is something else, such as a pipeline.

    See Also
    --------
    top_modifiers : Of one head, those that it takes most.

    Notes
    -----
    Both numbers are exact sums over all sequences of the automaton. With S the sum of its
    operators and Z its total mass, the count of modifier a is (theory, eq. 29, for one direction)::

        alpha_inf (I - S)^-1 A_a (I - S)^-1 alpha_1 / Z

    and its probability one less the share of the sequences without it::

        1 - alpha_inf (I - S + A_a)^-1 alpha_1 / Z

    Those of operators learned spectrally are estimates, as they are: small ones may be negative,
    and a probability above one. Where the sum over all sequences has no limit, since S, or what is
    left of it without a, has a spectral radius of 1 or more, they are NaN, and stand last.
    With the defaults of :class:`~sklearn_shag.SpectralSHAG` that is hardly ever seen.

    Examples
    --------
    >>> from sklearn_shag import SpectralSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.inspection import ArcTable, arc_table
    >>> arcs = arc_table(SpectralSHAG().fit(load_english().data))
    >>> print(ArcTable(*(column[arcs.counts > 0.36] for column in arcs)))
    heads   directions  modifiers  probabilities  counts
    INTJ    right       PUNCT              0.363   0.367
    NOUN    left        DET                0.640   0.656
    PROPN   left        ADP                0.432   0.440
    VERB    left        AUX                0.318   0.368
    VERB    left        NOUN               0.341   0.365
    VERB    right       NOUN               0.577   0.688
    VERB    right       PUNCT              0.551   0.595
    <root>  right       VERB               0.811   0.811
    """
    operators, symbols = check_grammar(estimator, "arc_table(pipeline[-1])")
    root = Alphabet(symbols.size).root
    return _make_table(operators, symbols, [*range(symbols.size), root], symbols.size)


@validate_params({"n": [Interval(Integral, 1, None, closed="left")]})
def top_modifiers(estimator: BaseEstimator, head: str, n: int = 5) -> ArcTable:
    """List the modifiers that a head takes most, on either side.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator of this package that has `operators_`.
    head : str
        A symbol that it knows, or ``"<root>"``.
    n : int, default=5
        How many for each direction, at most.

    Returns
    -------
    arcs : ArcTable
        Those of :func:`arc_table`, which also says what its numbers mean.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    TypeError
        If it is something else, such as a pipeline.
    ValueError
        If it does not know `head`, or `n` is no positive whole number.

    See Also
    --------
    arc_table : All heads.

    Examples
    --------
    >>> from sklearn_shag import SpectralSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.inspection import top_modifiers
    >>> model = SpectralSHAG().fit(load_english().data)
    >>> print(top_modifiers(model, "NOUN", n=3))
    heads  directions  modifiers  probabilities  counts
    NOUN   left        DET                0.640   0.656
    NOUN   left        ADP                0.283   0.288
    NOUN   left        ADJ                0.144   0.159
    NOUN   right       NOUN               0.109   0.131
    NOUN   right       VERB               0.064   0.064
    NOUN   right       PUNCT              0.044   0.045
    """
    call = f"top_modifiers(pipeline[-1], {shorten(head)})"
    operators, symbols = check_grammar(estimator, call)
    is_root = isinstance(head, str) and head == ROOT_NAME
    code = Alphabet(symbols.size).root if is_root else head_code(head, symbols)
    return _make_table(operators, symbols, [code], n)


def _make_table(operators, symbols, heads, n):
    """The first `n` arcs of each automaton of `heads`."""
    root = Alphabet(symbols.size).root
    names = names_of_heads(symbols)
    parts = []
    for head in heads:
        for code, direction in enumerate(DIRECTIONS):
            if head == root and code != RIGHT:
                continue
            uses = _root_uses if head == root else _uses
            probabilities, counts = uses(pair_automaton(operators, head, code))
            first = np.argsort(-counts, kind="stable")[:n]
            labels = np.full(first.size, names[head], dtype=object), np.full(first.size, direction)
            parts.append((*labels, symbols[first], probabilities[first], counts[first]))
    return ArcTable(*map(np.concatenate, zip(*parts, strict=True)))


def _root_uses(automaton):
    """The root symbol has just one modifier."""
    probabilities = automaton.alpha_inf @ automaton.A @ automaton.alpha_1
    return probabilities, probabilities


def _uses(automaton: Operators):
    """How probable each modifier is in a sequence, and how often it is there."""
    total = automaton.A.sum(axis=0)
    moves = np.concatenate([total[None], total - automaton.A])  # with all, and without each
    converges = np.abs(np.linalg.eigvals(moves)).max(axis=-1) < 1.0
    equations = np.eye(total.shape[0]) - np.where(converges[:, None, None], moves, 0.0)
    visits = np.linalg.solve(equations, automaton.alpha_1[:, None])[..., 0]
    finishing = np.linalg.solve(equations[0].T, automaton.alpha_inf)
    masses = np.where(converges, visits @ automaton.alpha_inf, np.nan)
    counts = finishing @ automaton.A @ visits[0] / masses[0]
    return 1.0 - masses[1:] / masses[0], counts
