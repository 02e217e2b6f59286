"""Where one parser is better than another: attachments by automaton."""

from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from sklearn_shag.encoding import (
    Alphabet,
    check_heads,
    check_sentences,
    encode_trees,
    pair_of,
    split_pair,
)
from sklearn_shag.inspection._grammars import (
    DIRECTIONS,
    check_predicts,
    known_tokens,
    names_of_heads,
)
from sklearn_shag.inspection._text import table_text
from sklearn_shag.treebank import Heads, Sentences
from sklearn_shag.utils._typing import FloatArray, IntArray, ObjectArray, StrArray


class AutomatonGains(NamedTuple):
    """What one parser gains over another, automaton by automaton, in columns.

    Rows are sorted by their gain, the largest first; what is lost comes last. Printed, it is a
    table.

    Attributes
    ----------
    heads : ndarray of shape (n_automata,), dtype object
        The head's symbol, ``"<root>"`` for the root symbol.
    directions : str ndarray of shape (n_automata,)
        "left" or "right".
    counts : int ndarray of shape (n_automata,)
        How many tokens have their true head there.
    baseline_scores, scores : ndarrays of shape (n_automata,)
        Share of these tokens whose head the baseline and the estimator predict right.
    gains : int ndarray of shape (n_automata,)
        How many more of them the estimator predicts right.

    See Also
    --------
    automaton_gains : Makes it.

    Examples
    --------
    >>> from sklearn_shag import DeterministicSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.inspection import AutomatonGains, automaton_gains
    >>> trees = load_english().data
    >>> single, first = (DeterministicSHAG(kind).fit(trees) for kind in ("single", "first"))
    >>> gains = automaton_gains(first, single, trees)
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

    def __str__(self) -> str:
        return table_text(self)


def automaton_gains(
    estimator: BaseEstimator, baseline: BaseEstimator, X: Sentences, y: Heads | None = None
) -> AutomatonGains:
    """Count what a parser gains over another for each head and direction.

    A token belongs to the automaton that generates it in the true tree: that of its true head's
    symbol, and of the side of the head where it stands.

    Parameters
    ----------
    estimator, baseline : estimators
        Fitted, of any kind that predicts heads: parsers, pipelines, searches.
    X : sequence of length n_sentences
        As for :meth:`~sklearn_shag.BaseSHAG.score`. Rows are named by the symbols in X, whatever
        symbols a pipeline makes of them.
    y : None or sequence of length n_sentences, default=None
        The true heads; None takes those of the trees in X.

    Returns
    -------
    gains : AutomatonGains
        A row for each automaton with a token; together they have all with a known head.

    Raises
    ------
    TypeError
        If an estimator does not predict.
    ValueError
        If X is not valid, no true head is known, or what is predicted are no heads.

    See Also
    --------
    approximate_dfa : What the states of an automaton stand for.
    sklearn_shag.metrics.attachment_breakdown : The same counts for one parser.

    Examples
    --------
    >>> from sklearn_shag import DeterministicSHAG, SpectralSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.inspection import automaton_gains
    >>> trees = load_english().data
    >>> train, test = trees[:300], trees[300:]
    >>> hidden, first = SpectralSHAG().fit(train), DeterministicSHAG("first").fit(train)
    >>> gains = automaton_gains(hidden, first, test)
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
    known = known_tokens(trees)
    right, right_baseline = (
        (_predict(parser, name, sentences) == trees.heads)[known]
        for parser, name in ((estimator, "estimator"), (baseline, "baseline"))
    )
    pairs = _true_pairs(trees)[known]
    found, rows = np.unique(pairs, return_inverse=True)
    counts, hits, baseline_hits = (
        np.bincount(rows[tokens], minlength=found.size)
        for tokens in (slice(None), right, right_baseline)
    )
    gains = hits - baseline_hits
    order = np.argsort(-gains, kind="stable")
    head, direction = split_pair(found[order])
    return AutomatonGains(
        names_of_heads(trees.symbols)[head],
        np.array(DIRECTIONS)[direction],
        counts[order],
        (baseline_hits / counts)[order],
        (hits / counts)[order],
        gains[order],
    )


def _predict(parser, name, sentences):
    check_predicts(parser, name)
    return check_heads(sentences, parser.predict(sentences), f"{name}.predict(X)")


def _true_pairs(trees):
    """The automaton that each token belongs to, any where that is not known."""
    starts = np.repeat(trees.indptr[:-1], np.diff(trees.indptr))
    positions = np.arange(trees.heads.size) - starts + 1
    is_root = trees.heads == 0
    # Any code stands in for that of a head where there is none.
    head = trees.codes[np.where(trees.heads <= 0, 0, starts + trees.heads - 1)]
    head[is_root] = Alphabet(trees.symbols.size).root
    return pair_of(head, (positions > trees.heads).astype(np.int64))
