"""All scores of parsed trees, including tags and lemmas, with confidence intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain, starmap, zip_longest
from typing import Literal, NamedTuple

import numpy as np

from sklearn_shag.encoding import read_column
from sklearn_shag.metrics._attachment import AttachmentBreakdown, break_down, join_all, lay_out
from sklearn_shag.metrics._labeled import compare_labels, count_compared
from sklearn_shag.treebank import MISSING, DependencyTree, known_heads
from sklearn_shag.utils._arrays import in_chunks
from sklearn_shag.utils._heads import UNKNOWN
from sklearn_shag.utils._messages import shorten

SCORED_CHUNK = 1000  # sentences held at once
TAG_COLUMNS = ("upos", "xpos", "feats")
SCORES = ("uas", "las", "clas", "label_accuracy", "exact_match", *TAG_COLUMNS, "tags", "lemma")


class ScoreInterval(NamedTuple):
    """A score, and the bounds of its confidence interval.

    The bounds are percentiles of the scores of resampled sentences.

    Attributes
    ----------
    score, low, high : float
        In [0, 1].

    See Also
    --------
    score_report : Computes these intervals.

    Examples
    --------
    >>> from sklearn_shag.metrics import ScoreInterval
    >>> uas = ScoreInterval(0.8, low=0.75, high=0.85)
    >>> f"{uas.score:.1%}, {uas.low:.1%} to {uas.high:.1%}"
    '80.0%, 75.0% to 85.0%'
    """

    score: float
    low: float
    high: float


class ScoreReport(NamedTuple):
    """The scores of parsed trees, with their intervals.

    It also says how many tokens the scores are of, and where the wrong heads are.

    Attributes
    ----------
    scores : dict of str to ScoreInterval
        In this order, without those of which either side has no values at all: "uas", "las",
        "clas", "label_accuracy" and "exact_match" as the functions of this module compute them, and
        "upos", "xpos", "feats", "tags" and "lemma", the shares of all tokens whose value is the
        true one. For "tags", the first three of these are, where there are at least two of them.
    n_sentences, n_tokens : int
        The numbers of sentences and of their tokens.
    n_unknown : int
        The number of tokens whose true head is unknown.
    n_scored : int
        The number of tokens that count for the scores of heads.
    breakdown : AttachmentBreakdown
        The right heads by symbol and direction, as of :func:`attachment_breakdown`.
    n_resamples : int
        The number of resamples that the intervals are of.
    confidence_level : float
        The share of resamples that the intervals hold.

    See Also
    --------
    score_report : Computes it.

    Examples
    --------
    >>> from sklearn_shag.metrics import score_report
    >>> from sklearn_shag.treebank import DependencyTree
    >>> tree = DependencyTree(["Dogs", "bark", "."], [2, 0, 2])
    >>> report = score_report([tree], [tree.with_heads([2, 0, 1])])
    >>> report.n_sentences, report.n_tokens, list(report.scores)
    (1, 3, ['uas', 'exact_match'])
    """

    scores: dict[str, ScoreInterval]
    n_sentences: int
    n_tokens: int
    n_unknown: int
    n_scored: int
    breakdown: AttachmentBreakdown
    n_resamples: int
    confidence_level: float


def score_report(
    y_true: Iterable[DependencyTree],
    y_pred: Iterable[DependencyTree],
    *,
    ignore: Callable[[str], bool] | None = None,
    by: Literal["head", "modifier"] = "head",
    n_resamples: int = 1000,
    confidence_level: float = 0.95,
    random_state: int = 0,
) -> ScoreReport:
    """Compute all scores of parsed trees, with intervals by a bootstrap over sentences.

    Trees are read as they are needed and not kept, so that they may come from files of any size,
    with :func:`~sklearn_shag.treebank.iter_conllu`.

    Parameters
    ----------
    y_true : iterable of DependencyTree
        The true trees. Tokens whose head or relation is unknown do not count for scores of these.
    y_pred : iterable of DependencyTree
        The predicted trees of the same sentences, such as from ``parse``; of a tagger, they need no
        heads. What is unknown in them is wrong.
    ignore : None or callable, default=None
        A predicate of symbols, such as :func:`is_punctuation`: tokens that do not count for the
        scores of heads and relations.
    by : {"head", "modifier"}, default="head"
        Whether tokens are broken down by the symbol of their head or by their own.
    n_resamples : int, default=1000
        How often as many sentences as there are, are drawn with replacement.
    confidence_level : float, default=0.95
        The share of the resamples whose scores are within the interval (the percentile bootstrap).
    random_state : int, default=0
        The seed of the resamples.

    Returns
    -------
    report : ScoreReport
        Scores, counts and a breakdown of heads.

    Raises
    ------
    ValueError
        If there are no sentences, their numbers or those of their tokens do not match, all symbols
        are ``_`` where some are to be ignored, or no token is left to score. If `by`, `n_resamples`
        or `confidence_level` is out of range.
    TypeError
        If anything but trees is among them.

    See Also
    --------
    raw_text_scores : Scores trees whose sentences and words may differ.

    Examples
    --------
    >>> from sklearn_shag import DeterministicSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.metrics import score_report
    >>> trees = load_english().data
    >>> parsed = DeterministicSHAG().fit(trees).parse(trees)
    >>> for name, (score, low, high) in list(score_report(trees, parsed).scores.items())[:2]:
    ...     print(f"{name}: {score:.3f}, from {low:.3f} to {high:.3f}")
    uas: 0.789, from 0.775 to 0.804
    las: 0.705, from 0.692 to 0.720
    """
    if n_resamples < 1 or not 0 < confidence_level < 1:
        raise ValueError(
            f"n_resamples must be at least 1, and confidence_level between 0 and 1; got "
            f"{n_resamples!r} and {confidence_level!r}."
        )
    parts = [
        _count_chunk(chunk, by, ignore)
        for chunk in in_chunks(_iter_checked_pairs(y_true, y_pred), SCORED_CHUNK)
    ]
    if not parts:
        raise ValueError("y_true holds no sentences.")
    counts, breakdowns = zip(*parts, strict=True)
    counts = {name: np.concatenate([part[name] for part in counts]) for name in counts[0]}
    known = {name: table[:, 2:].any(axis=0).all() for name, table in counts.items()}
    known["tags"] = sum(known[name] for name in TAG_COLUMNS) > 1
    _, n_scored, n_known, _ = counts["uas"].sum(axis=0).astype(int).tolist()
    if ignore is not None and known["uas"]:
        if not counts.pop("symbols").any():
            raise ValueError(
                f"All tags of the true trees are {MISSING!r}, so punctuation cannot be told from "
                f"words. Tag the text first, or score punctuation too."
            )
        if not n_scored:
            raise ValueError(
                "No token is left to score: all symbols of words with heads stand for punctuation."
            )
    names = [name for name in SCORES if known[name] and counts[name][:, 1].any()]
    table = np.hstack([counts[name][:, :2] for name in names])
    intervals = _resample_shares(table, n_resamples, confidence_level, random_state)
    scores = dict(zip(names, intervals, strict=True))
    n_tokens = int(counts["upos"][:, 1].sum())
    return ScoreReport(
        scores,
        n_sentences=len(table),
        n_tokens=n_tokens,
        n_unknown=n_tokens - n_known,
        n_scored=n_scored,
        breakdown=_sum_parts(breakdowns),
        n_resamples=n_resamples,
        confidence_level=confidence_level,
    )


def _iter_checked_pairs(y_true, y_pred):
    """Yield pairs of a true and a predicted tree, after checking that their lengths match."""
    for k, (true, pred) in enumerate(zip_longest(y_true, y_pred)):
        for name, tree in (("y_true", true), ("y_pred", pred)):
            if tree is None:
                raise ValueError(f"{name} holds {k} trees, fewer than the other side.")
            if not isinstance(tree, DependencyTree):
                raise TypeError(f"{name}[{k}] must be a DependencyTree, got {shorten(tree)}.")
        if len(true) != len(pred):
            raise ValueError(f"y_pred[{k}] has {len(pred)} tokens but y_true[{k}] has {len(true)}.")
        yield true, pred


def _count_chunk(pairs, by, ignore):
    """Count right and scored tokens of each pair of a true and a predicted tree, for each score.

    Returns
    -------
    counts : dict of ndarrays of shape (n_sentences, 4)
        Numerator, denominator, and numbers of tokens with a true and with a predicted value.
    breakdown : AttachmentBreakdown
    """
    y_true, y_pred = zip(*pairs, strict=True)
    lengths = np.array(list(map(len, y_true)))
    both = (np.concatenate(list(map(known_heads, trees))) for trees in (y_true, y_pred))
    heads = lay_out(*both, lengths)
    symbols, ones = join_all(tree.symbols for tree in y_true), np.ones(heads.true.size)
    are_known = [heads.true != UNKNOWN, heads.pred != UNKNOWN]
    counted = ones * are_known[0]
    if ignore is not None:
        counted *= [not ignore(symbol) for symbol in symbols]
    labels = compare_labels(heads, counted, y_true, y_pred)
    counts = {"uas": [heads.right * counted, counted, *are_known], "symbols": [symbols != MISSING]}
    for name, pair in count_compared(labels).items():
        counts[name] = [*pair, labels.weights, labels.predicted != MISSING]
    for name in (*TAG_COLUMNS, "lemma"):
        true, pred = (join_all(read_column(t, name) for t in trees) for trees in (y_true, y_pred))
        counts[name] = [true == pred, ones, true != MISSING, pred != MISSING]
    counts["tags"] = [np.logical_and.reduce([counts[name][0] for name in TAG_COLUMNS]), ones]
    starts = np.cumsum(lengths) - lengths
    counts = {name: np.add.reduceat(rows, starts, axis=1).T for name, rows in counts.items()}
    right, total, n_true, n_pred = counts["uas"].T
    is_scored = total > 0
    counts["exact_match"] = np.transpose([is_scored & (right == total), is_scored, n_true, n_pred])
    return counts, break_down(heads, counted > 0, counted, symbols, by)


def _resample_shares(table, n_resamples, confidence_level, random_state):
    """Compute the ratio of each pair of columns, with its bootstrap interval over the rows."""
    rng, n_rows = np.random.default_rng(random_state), len(table)
    draws = (table[rng.integers(n_rows, size=n_rows)] for _ in range(n_resamples))
    sums = np.array([rows.sum(axis=0) for rows in chain([table], draws)])
    shares = sums[:, ::2] / np.maximum(sums[:, 1::2], 1)
    tail = (1 - confidence_level) / 2
    bounds = np.quantile(shares[1:], [tail, 1 - tail], axis=0)
    return starmap(ScoreInterval, np.transpose([shares[0], *bounds]).tolist())


def _sum_parts(breakdowns):
    """Sum the breakdowns of chunks, symbol by symbol."""
    symbols, right, total = map(np.concatenate, zip(*breakdowns, strict=True))
    symbols, rows = np.unique(symbols, return_inverse=True)
    sums = np.zeros((2, symbols.size, 2))
    np.add.at(sums, (slice(None), rows), [right, total])
    return AttachmentBreakdown(symbols, *sums)
