"""Tables of a grammar, after functions for all inspection that check estimators and heads."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sklearn_shag.encoding import (
    LEFT,
    RIGHT,
    Alphabet,
    arcs_of_heads,
    check_heads,
    check_sentences,
    encode_trees,
    pair_of,
    split_pair,
)
from sklearn_shag.inspection._tables import largest_first, shown_as_table, to_dataframe
from sklearn_shag.operators import Operators, pair_automaton
from sklearn_shag.parsing import ask, report_marginals
from sklearn_shag.treebank import Heads, Sentences
from sklearn_shag.utils._estimators import open_parser
from sklearn_shag.utils._heads import UNKNOWN
from sklearn_shag.utils._messages import join_first, shorten
from sklearn_shag.utils._param_validation import COUNT, validate_params
from sklearn_shag.utils._typing import FloatArray, IntArray, ObjectArray, StrArray

ROOT_NAME = "<root>"
DIRECTIONS = ("left", "right")  # in the order of their codes
ROWS_OR_ALL = {"n": [None, *COUNT]}  # how many are listed


def open_grammar(estimator):
    """Find the grammar in an estimator, and the transformation of sentences before it.

    Parameters
    ----------
    estimator : estimator
        A grammar, a pipeline that ends in one, or a search of either.

    Returns
    -------
    opened : OpenMember
        With a parser that has operators and symbols.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If it is not fitted.
    TypeError
        If it is anything else without operators.
    """
    opened = open_parser(estimator, "predict_marginals")
    check_is_fitted(opened.parser)
    if not hasattr(opened.parser, "operators_"):
        raise TypeError(
            f"estimator must have learned a grammar with operators_, got a "
            f"{type(opened.parser).__name__}. For a composed parser, pass one of its estimators_."
        )
    return opened


def head_code(head, symbols):
    """Return the code of a head symbol, after checking that the estimator knows it."""
    code = np.flatnonzero(symbols == head)
    if not isinstance(head, str) or not code.size:
        raise ValueError(
            f"head={shorten(head)} is none of the {symbols.size} symbols that the estimator has "
            f"seen: {join_first(symbols, 50)}."
        )
    return int(code[0])


def names_of_heads(symbols):
    """Return the names of the heads of a grammar by code; None for the unknown symbol."""
    return np.array([*symbols, None, ROOT_NAME], dtype=object)


def known_tokens(heads):
    """Return a mask of the tokens with known heads, after checking that there are any."""
    known = heads != UNKNOWN
    if not known.any():
        raise ValueError("No true head is known: all are -1. Give the heads of some tokens.")
    return known


def predict_heads(estimator, sentences, name="estimator"):
    """Predict the heads of all tokens; messages call the estimator `name`."""
    if not hasattr(estimator, "predict"):
        raise TypeError(
            f"{name} must be a fitted parser, which predicts heads; got a "
            f"{type(estimator).__name__}."
        )
    return check_heads(sentences, estimator.predict(sentences), f"{name}.predict(X)")


@shown_as_table
class ArcTable(NamedTuple):
    """Columns of arcs from heads to modifiers.

    It prints as a table.

    Attributes
    ----------
    heads : ndarray of shape (n_arcs,), dtype object
        The head's symbol, ``"<root>"`` for the root symbol.
    directions : str ndarray of shape (n_arcs,)
        The side of the modifier: "left" or "right" of its head.
    modifiers : ndarray of shape (n_arcs,), dtype object
        The modifier's symbol.
    probabilities : ndarray of shape (n_arcs,)
        Probability that a head has at least one such modifier on that side.
    counts : ndarray of shape (n_arcs,)
        Number of such modifiers that a head has on average.

    See Also
    --------
    arc_table : Lists the arcs of all heads.
    top_modifiers : Lists the arcs of one head.

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

    to_dataframe = to_dataframe


def arc_table(estimator: BaseEstimator) -> ArcTable:
    """List how many of which modifiers each head takes, according to a learned grammar.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator of this package that has `operators_`, a pipeline that ends in one, or a
        search over either.

    Returns
    -------
    arcs : ArcTable
        A row for each known head, direction and modifier, and for each root. Heads are in the order
        of ``symbols_``, left before right; the modifiers of an automaton are sorted by their
        counts, the largest first.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    TypeError
        If it is not such an estimator.

    See Also
    --------
    top_modifiers : Lists the modifiers that one head takes most.

    Notes
    -----
    Both numbers are exact sums over all sequences of the automaton. With S the sum of its
    operators and Z its total mass, the count of modifier a is (theory, eq. 29, for one direction)::

        alpha_inf (I - S)^-1 A_a (I - S)^-1 alpha_1 / Z

    and its probability is one minus the share of the sequences without it::

        1 - alpha_inf (I - S + A_a)^-1 alpha_1 / Z

    Numbers from operators learned spectrally are unrepaired estimates: small ones may be negative,
    and a probability may be above one. They are NaN and come last if the sum over all sequences has
    no limit, because S or S without a has a spectral radius of 1 or more. This hardly ever happens
    with the defaults of :class:`~sklearn_shag.SpectralSHAG`.

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
    return top_modifiers(estimator, n=None)


@validate_params(ROWS_OR_ALL)
def top_modifiers(
    estimator: BaseEstimator, *, head: str | None = None, n: int | None = 5
) -> ArcTable:
    """List the modifiers that a head takes most, on either side.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator of this package that has `operators_`, a pipeline that ends in one, or a
        search over either.
    head : None or str, default=None
        A symbol that it knows, or ``"<root>"``. None takes each head in turn.
    n : None or int, default=5
        Largest number of modifiers to list for each head and direction; None lists all.

    Returns
    -------
    arcs : ArcTable
        Rows of :func:`arc_table`, which also explains the numbers.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    TypeError
        If it is not such an estimator.
    ValueError
        If it does not know `head`, or `n` is not a positive whole number.

    See Also
    --------
    arc_table : Lists the modifiers of all heads.

    Examples
    --------
    >>> from sklearn_shag import SpectralSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.inspection import top_modifiers
    >>> model = SpectralSHAG().fit(load_english().data)
    >>> print(top_modifiers(model, head="NOUN", n=3))
    heads  directions  modifiers  probabilities  counts
    NOUN   left        DET                0.640   0.656
    NOUN   left        ADP                0.283   0.288
    NOUN   left        ADJ                0.144   0.159
    NOUN   right       NOUN               0.109   0.131
    NOUN   right       VERB               0.064   0.064
    NOUN   right       PUNCT              0.044   0.045
    """
    _, grammar = open_grammar(estimator)
    symbols = grammar.symbols_
    root, names = Alphabet(symbols.size).root, names_of_heads(symbols)
    codes = [*range(symbols.size), root]
    if head is not None:
        is_root = isinstance(head, str) and head == ROOT_NAME
        codes = [root if is_root else head_code(head, symbols)]
    pairs = [pair for pair in product(codes, (LEFT, RIGHT)) if pair != (root, LEFT)]
    parts = []
    for code, side in pairs:
        automaton = pair_automaton(grammar.operators_, code, side)
        if code == root:  # with one modifier, so that its count is its probability
            probabilities = counts = automaton.alpha_inf @ automaton.A @ automaton.alpha_1
        else:
            probabilities, counts = _count_modifiers(automaton)
        ends, sides = np.full_like(symbols, names[code]), np.full(symbols.size, DIRECTIONS[side])
        table = ArcTable(ends, sides, symbols, probabilities, counts)
        parts.append(largest_first(table, counts, n))
    return ArcTable(*map(np.concatenate, zip(*parts, strict=True)))


def _count_modifiers(automaton: Operators):
    """Return the probability that each modifier is in a sequence, and its expected count."""
    total = automaton.A.sum(axis=0)
    moves = np.concatenate([total[None], total - automaton.A])  # all symbols; all but one
    converges = np.abs(np.linalg.eigvals(moves)).max(axis=-1) < 1.0
    equations = np.eye(total.shape[0]) - np.where(converges[:, None, None], moves, 0.0)
    visits = np.linalg.solve(equations, automaton.alpha_1[:, None])[..., 0]
    finishing = np.linalg.solve(equations[0].T, automaton.alpha_inf)
    masses = np.where(converges, visits @ automaton.alpha_inf, np.nan)
    counts = finishing @ automaton.A @ visits[0] / masses[0]
    return 1.0 - masses[1:] / masses[0], counts


@shown_as_table
class AutomatonRanks(NamedTuple):
    """Columns with the effective rank of each automaton: how much it has to remember.

    It prints as a table.

    Attributes
    ----------
    heads : ndarray of shape (n_automata,), dtype object
        The head's symbol.
    directions : str ndarray of shape (n_automata,)
        "left" or "right".
    counts : ndarray of shape (n_automata,)
        Number of training sequences of the head, by weight.
    effective_ranks : ndarray of shape (n_automata,)
        Effective number of states.
    singular_values : ndarray of shape (n_automata, n_values)
        Singular values, the largest first.

    See Also
    --------
    automaton_ranks : Lists the ranks of a grammar.

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

    to_dataframe = to_dataframe


def automaton_ranks(estimator: BaseEstimator) -> AutomatonRanks:
    """List the effective rank and singular values of all automata of a spectral grammar.

    Parameters
    ----------
    estimator : SpectralSHAG
        A fitted estimator, a pipeline that ends in one, or a search over either.

    Returns
    -------
    ranks : AutomatonRanks
        A row for each known head and each direction, sorted by effective rank, the largest first.
        The numbers are those of the attributes `effective_rank_`, `singular_values_` and
        `statistics_`.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    TypeError
        If it is something else, such as a grammar that is not learned spectrally.

    See Also
    --------
    automaton_gains : Shows how much each automaton gains from its states.

    Notes
    -----
    Automata of rare heads have about the same effective rank as the pool of all heads, because
    `smoothing` adds sequences of that pool.

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
    _, grammar = open_grammar(estimator)
    if not hasattr(grammar, "singular_values_"):
        raise TypeError(
            f"estimator must be a SpectralSHAG, which has singular_values_, got a "
            f"{type(grammar).__name__}."
        )
    symbols = grammar.symbols_
    known = slice(symbols.size)  # the last row is the pool
    ranks = grammar.effective_rank_[known].ravel()
    table = AutomatonRanks(
        np.repeat(symbols, 2),
        np.tile(DIRECTIONS, symbols.size),
        grammar.statistics_.statistics.n_sequences[known].ravel(),
        ranks,
        grammar.singular_values_[known].reshape(ranks.size, -1),
    )
    return largest_first(table, ranks)


class MarginalReport(NamedTuple):
    """Report on negative masses of sentences and arcs before repair, and on how they are parsed.

    Sums of probabilities are never negative, but those of operators learned spectrally may be.

    Attributes
    ----------
    z_sign : int ndarray of shape (n_sentences,)
        Sign of Z, the total mass of the trees of a sentence. It is 1 as for probabilities, or -1,
        which division by Z repairs. It is 0 if Z is zero, or Z or a marginal is not finite;
        ``fallback_operators_`` are then used.
    negative_share : ndarray of shape (n_sentences,)
        Share of the marginals of a sentence that are below zero (by more than 1e-12) and are
        clipped. It is 0 where the sign of Z is 0.
    negative_mass : ndarray of shape (n_sentences,)
        Sum of these marginals, without the sign, per token. The true marginals of a token sum to 1.
    routes : str ndarray of shape (n_sentences,)
        Where the sums of each sentence come from: "fast", the chart; "out of range" if values leave
        the range of doubles, or may do so; or "none" if no tree has mass. In the last two cases,
        ``fallback_operators_`` are used.

    See Also
    --------
    inspect_marginals : Makes the report.

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


def inspect_marginals(estimator: BaseEstimator, X: Sentences) -> MarginalReport:
    """Tell how often a grammar gives sentences and arcs negative mass.

    Operators learned spectrally are signed. `predict` and `predict_marginals` repair negative
    masses; this function tells how much there was to repair.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator of this package, a pipeline that ends in one, or a search over either.
    X : sequence of length n_sentences
        As for :meth:`~sklearn_shag.BaseSHAG.predict`.

    Returns
    -------
    report : MarginalReport
        An entry for each sentence.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    ValueError, TypeError
        If X is not valid, or it is not such an estimator.

    See Also
    --------
    sklearn_shag.BaseSHAG.predict_marginals : Computes the repaired marginals.
    sklearn_shag.parsing.chart : Computes the marginals without repair.

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
    transform, parser = open_parser(estimator, "predict_marginals")
    if getattr(parser, "_score", None) is None:
        raise TypeError(
            f"estimator must parse with a chart of its own, got a {type(parser).__name__}. For "
            f"an average, pass each of its estimators_."
        )
    reports = ask(parser, report_marginals, parser._batch(transform(X)))
    return MarginalReport(*map(np.array, zip(*reports, strict=True)))


@shown_as_table
class AutomatonGains(NamedTuple):
    """Columns of what one parser gains over another, for each automaton.

    Rows are sorted by gain, the largest first; losses come last. It prints as a table.

    Attributes
    ----------
    heads : ndarray of shape (n_automata,), dtype object
        The head's symbol, ``"<root>"`` for the root symbol.
    directions : str ndarray of shape (n_automata,)
        "left" or "right".
    counts : int ndarray of shape (n_automata,)
        Number of tokens that the automaton generates in the true trees.
    baseline_scores, scores : ndarrays of shape (n_automata,)
        Share of these tokens whose head the baseline and the estimator predict correctly.
    gains : int ndarray of shape (n_automata,)
        How many more heads the estimator predicts correctly.

    See Also
    --------
    automaton_gains : Computes the gains.

    Examples
    --------
    >>> from sklearn_shag import DeterministicSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.inspection import AutomatonGains, automaton_gains
    >>> trees = load_english().data
    >>> single, first = (DeterministicSHAG(kind).fit(trees) for kind in ("single", "first"))
    >>> gains = automaton_gains(first, trees, baseline=single)
    >>> print(AutomatonGains(*(column[:2] for column in gains)))     # where most is gained
    heads  directions  counts  baseline_scores  scores  gains
    NOUN   left          1275            0.813   0.881     87
    NOUN   right          268            0.201   0.481     75
    """

    heads: ObjectArray
    directions: StrArray
    counts: IntArray
    baseline_scores: FloatArray
    scores: FloatArray
    gains: IntArray

    to_dataframe = to_dataframe


def automaton_gains(
    estimator: BaseEstimator, X: Sentences, y: Heads | None = None, *, baseline: BaseEstimator
) -> AutomatonGains:
    """Count what one parser gains over another for each head and direction.

    A token belongs to the automaton that generates it in the true tree: that of the symbol of its
    true head and of its side of the head.

    Parameters
    ----------
    estimator : estimator
        Any fitted estimator that predicts heads: a parser, a pipeline, a search.
    X : sequence of length n_sentences
        As for :meth:`~sklearn_shag.BaseSHAG.score`. Rows are named by the symbols in X, even if a
        pipeline replaces them.
    y : None or sequence of length n_sentences, default=None
        The true heads; None takes those of the trees in X.
    baseline : estimator
        Another such estimator, which the first one is compared with.

    Returns
    -------
    gains : AutomatonGains
        A row for each automaton with at least one token. Together the rows count all tokens with a
        known head.

    Raises
    ------
    TypeError
        If an estimator does not predict.
    ValueError
        If X is not valid, no true head is known, or the predictions are not heads.

    See Also
    --------
    approximate_dfa : Shows what the states of an automaton stand for.
    sklearn_shag.metrics.attachment_breakdown : Counts the same for one parser.

    Examples
    --------
    >>> from sklearn_shag import DeterministicSHAG, SpectralSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.inspection import automaton_gains
    >>> trees = load_english().data
    >>> train, test = trees[:300], trees[300:]
    >>> hidden, first = SpectralSHAG().fit(train), DeterministicSHAG("first").fit(train)
    >>> gains = automaton_gains(hidden, test, baseline=first)
    >>> print(gains)
    heads   directions  counts  baseline_scores  scores  gains
    VERB    right          258            0.783   0.884     26
    VERB    left           267            0.816   0.891     20
    <root>  right           87            0.713   0.851     12
    ...
    ADJ     left            51            0.745   0.647     -5
    >>> int(gains.gains.sum()), int(gains.counts.sum())
    (65, 1052)
    """
    sentences, _ = check_sentences(X)
    trees = encode_trees(sentences, y, partial=True)
    known = known_tokens(trees.heads)
    right, right_baseline = (
        (predict_heads(parser, sentences, name) == trees.heads)[known]
        for parser, name in ((estimator, "estimator"), (baseline, "baseline"))
    )
    arcs, root = arcs_of_heads(trees.indptr, trees.heads), Alphabet(trees.symbols.size).root
    head, direction, _ = arcs.symbols(trees.codes, trees.indptr, root)
    found, rows = np.unique(pair_of(head, direction)[known], return_inverse=True)
    counts, hits, baseline_hits = (
        np.bincount(rows[tokens], minlength=found.size)
        for tokens in (slice(None), right, right_baseline)
    )
    gains = hits - baseline_hits
    head, direction = split_pair(found)
    labels = names_of_heads(trees.symbols)[head], np.array(DIRECTIONS)[direction]
    table = AutomatonGains(*labels, counts, baseline_hits / counts, hits / counts, gains)
    return largest_first(table, gains)
