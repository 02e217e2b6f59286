"""Scores of predicted heads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from numbers import Integral
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from sklearn_shag.treebank import MISSING, DependencyTree, Heads, marks_punctuation, require_trees
from sklearn_shag.utils._arrays import as_list, is_collection
from sklearn_shag.utils._heads import UNKNOWN, as_heads
from sklearn_shag.utils._messages import shorten, warn
from sklearn_shag.utils._param_validation import check_sample_weight
from sklearn_shag.utils._typing import ArrayLike, BoolArray, FloatArray, ObjectArray

# A predicate of symbols, or a mask for each sentence.
Ignored: TypeAlias = Callable[[str], bool] | Iterable[Sequence[bool] | BoolArray]


class AlignedHeads(NamedTuple):
    """True and predicted heads of the tokens of all sentences, one after the other."""

    true: np.ndarray  # 1-based within each sentence, 0 for the root, -1 where not known
    pred: np.ndarray
    tokens: np.ndarray  # the position of each token itself, from 1
    begins: np.ndarray  # the place of the first token of its sentence

    @property
    def right(self):
        """Mask of the tokens whose predicted head is the true one."""
        return self.true == self.pred

    def above(self, heads):
        """Return the true head of each token's given head; -2 if that has none or it is unknown."""
        above = self.true[np.where(heads > 0, self.begins + heads - 1, 0)]
        return np.where((heads > 0) & (above != UNKNOWN), above, -2)


def align_heads(y_true, y_pred, sample_weight, ignore, max_length):
    """Check true and predicted heads, and concatenate the heads of all sentences.

    Returns
    -------
    heads : AlignedHeads
    counted : bool ndarray of shape (n_tokens,)
        True for the tokens that count.
    weights : ndarray of shape (n_tokens,)
        The weight of each token.
    """
    y_true, y_pred = list_sentences(y_true, "y_true"), list_sentences(y_pred, "y_pred")
    if len(y_true) != len(y_pred) or not y_true:
        raise ValueError(
            f"y_true and y_pred must hold the same number of sentences, at least one; got "
            f"{len(y_true)} and {len(y_pred)}."
        )
    true_heads = [_read_heads(item, f"y_true[{k}]", UNKNOWN) for k, item in enumerate(y_true)]
    pred_heads = [_read_heads(item, f"y_pred[{k}]", 0) for k, item in enumerate(y_pred)]
    lengths = np.array([heads.size for heads in true_heads])
    for index, heads in enumerate(pred_heads):
        if heads.size != lengths[index]:
            raise ValueError(
                f"y_pred[{index}] has {heads.size} tokens but y_true[{index}] has {lengths[index]}."
            )
    true_heads, pred_heads = np.concatenate(true_heads), np.concatenate(pred_heads)
    known = true_heads != UNKNOWN
    if not known.any():
        raise ValueError(
            f"No head of y_true is known: all {known.size} tokens have -1, so there is nothing to "
            f"compare with. Give the heads of some tokens."
        )
    sample_weight = check_sample_weight(sample_weight, y_true, allow_all_zero=True)
    counted = known & ~_mask_ignored(y_true, lengths, ignore)
    if max_length is not None:
        if not isinstance(max_length, Integral) or max_length < 1:
            raise ValueError(
                f"max_length must be None or a whole number from 1 on, got {max_length!r}."
            )
        counted &= np.repeat(lengths <= max_length, lengths)
    heads = lay_out(true_heads, pred_heads, lengths)
    return heads, counted, np.repeat(sample_weight, lengths)


def lay_out(true, pred, lengths):
    """Make AlignedHeads of concatenated heads, given the lengths of the sentences."""
    begins = np.repeat(np.cumsum(lengths) - lengths, lengths)
    return AlignedHeads(true, pred, np.arange(lengths.sum()) - begins + 1, begins)


def list_sentences(items, name):
    """Check that `items` is a sequence, of trees or of heads of sentences, and list it."""
    advice = (  # scikit-learn's tools call a scorer with the estimator
        " Pass uas_scorer or another scorer as scoring= to scikit-learn's tools."
        if hasattr(items, "predict")
        else ""
    )
    return as_list(items, name, "a list of trees, or of the heads of each sentence", advice)


def _read_heads(item, where, lowest):
    if isinstance(item, DependencyTree):
        if item.heads is None:
            raise ValueError(f"{where} is a tree without heads. Leave it out, or parse it first.")
        heads = item.heads
    else:
        heads = as_heads(item, where)
    if not heads.size:
        raise ValueError(f"{where} holds no heads; remove empty sentences.")
    wrong = np.flatnonzero((heads < lowest) | (heads > heads.size))
    if wrong.size:
        head = heads[wrong[0]]
        advice = (
            ". A head is the position of a token, from 1, or 0 for the root; only true heads may "
            "be -1, for unknown."
        )
        raise ValueError(
            f"{where} has the head {head} for token {wrong[0] + 1}"
            f"{advice if head < lowest else f', but {heads.size} tokens.'}"
        )
    return heads


def _mask_ignored(y_true, lengths, ignore):
    if ignore is None:
        return np.zeros(lengths.sum(), dtype=bool)
    if callable(ignore):
        require_trees(y_true, "y_true", "symbols are")
        symbols = join_all(tree.symbols for tree in y_true)
        if set(symbols) == {MISSING}:
            raise ValueError(
                f"All symbols of y_true are {MISSING!r}, so ignore cannot tell them apart. "
                f"Tag the text first, choose a column that has values, or pass masks as ignore."
            )
        return np.array([bool(ignore(symbol)) for symbol in symbols])
    if not is_collection(ignore):
        raise TypeError(
            f"ignore must be None, a function of a symbol, or a sequence with a bool mask for each "
            f"sentence, got a {type(ignore).__name__}: {shorten(ignore)}"
        )
    masks = list(map(np.asarray, ignore))
    if len(masks) != lengths.size:
        raise ValueError(
            f"ignore holds {len(masks)} masks for {lengths.size} sentences. It is a bool mask for "
            f"each sentence, or a function of a symbol, such as is_punctuation."
        )
    for index, mask in enumerate(masks):
        if mask.shape != (lengths[index],) or mask.dtype != bool:
            raise ValueError(
                f"ignore[{index}] must be a bool mask of shape ({lengths[index]},), got "
                f"{mask.dtype} of shape {mask.shape}."
            )
    return np.concatenate(masks)


def is_punctuation(symbol: str) -> bool:
    """Tell whether a symbol stands for punctuation.

    Parameters
    ----------
    symbol : str
        A UPOS tag, a joined symbol such as ``PUNCT|.``, or a treebank-specific tag.

    Returns
    -------
    bool
        True for "PUNCT", alone or before "|", and for symbols that consist of punctuation
        characters only (such as the Penn tags ``,`` and ``.``), except "_", a missing tag.

    Raises
    ------
    TypeError
        If `symbol` is not a str.

    See Also
    --------
    unlabeled_attachment_score : Leaves punctuation out with ``ignore=is_punctuation``.

    Examples
    --------
    >>> from sklearn_shag.metrics import is_punctuation
    >>> [symbol for symbol in ["NOUN", "PUNCT", ",", "PUNCT|."] if is_punctuation(symbol)]
    ['PUNCT', ',', 'PUNCT|.']
    """
    if not isinstance(symbol, str):
        raise TypeError(f"symbol must be a str, got a {type(symbol).__name__}: {shorten(symbol)}")
    return marks_punctuation(symbol)


def unlabeled_attachment_score(
    y_true: Heads,
    y_pred: Heads,
    *,
    sample_weight: ArrayLike | None = None,
    ignore: Ignored | None = None,
    max_length: int | None = None,
) -> float:
    """Compute the share of tokens whose predicted head is right (UAS).

    Parameters
    ----------
    y_true, y_pred : sequences of length n_sentences
        Each element is a DependencyTree with heads, or the n_tokens_i heads of a sentence (1-based,
        0 for the root). Tokens whose true head is not known (-1) do not count.
    sample_weight : None or array-like of shape (n_sentences,), default=None
        The weight of each sentence, which multiplies the counts of its tokens.
    ignore : None, callable or sequence of bool arrays, default=None
        Tokens that do not count: a mask of shape (n_tokens_i,) for every sentence, or a predicate
        that is called with the symbol of each token, such as :func:`is_punctuation`. With a
        predicate, `y_true` must hold trees.
    max_length : None or int, default=None
        Longer sentences do not count; None counts all.

    Returns
    -------
    score : float
        In [0, 1]; 0 if no token counts.

    Raises
    ------
    ValueError
        If the numbers of sentences or tokens do not match (the message names the sentence). If no
        true head is known, or a predicted head is unknown. If `ignore` is a predicate and all
        symbols are ``_``, or if `max_length` is not a valid length.
    TypeError
        If an argument has the wrong type.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If no token counts.

    See Also
    --------
    exact_match_score : The share of sentences in which every head is right.
    undirected_attachment_score : The share of arcs, whichever end is the head.
    attachment_breakdown : Counts by symbol and direction.
    uas_scorer : The score of an estimator, for scikit-learn's tools.

    Examples
    --------
    >>> from sklearn_shag.metrics import unlabeled_attachment_score
    >>> unlabeled_attachment_score([[2, 0, 2], [0]], [[2, 0, 1], [0]])
    0.75
    """
    heads, counted, weights = align_heads(y_true, y_pred, sample_weight, ignore, max_length)
    return _average_scores(heads.right[counted], weights[counted])


def undirected_attachment_score(
    y_true: Heads,
    y_pred: Heads,
    *,
    sample_weight: ArrayLike | None = None,
    ignore: Ignored | None = None,
    max_length: int | None = None,
) -> float:
    """Compute the share of predicted arcs that are right, whichever end is the head.

    Parameters
    ----------
    y_true, y_pred : sequences of length n_sentences
        The true and the predicted heads, as for :func:`unlabeled_attachment_score`.
    sample_weight : None or array-like of shape (n_sentences,), default=None
        The weight of each sentence.
    ignore : None, callable or sequence of bool arrays, default=None
        Tokens that do not count, as for :func:`unlabeled_attachment_score`.
    max_length : None or int, default=None
        Longer sentences do not count; None counts all.

    Returns
    -------
    score : float
        In [0, 1]; 0 if no token counts.

    Raises
    ------
    ValueError, TypeError
        As for :func:`unlabeled_attachment_score`.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If no token counts.

    See Also
    --------
    neutral_edge_direction_score : Accepts the head of the head as well.

    Notes
    -----
    A token is right if its predicted head is its true head or its true modifier. A grammar learned
    from raw text has its own convention for heads and may, for example, make the determiner the
    head of the noun. This score does not penalise conventions that differ from the treebank's.

    References
    ----------
    Klein and Manning (2004), Corpus-based induction of syntactic structure.

    Examples
    --------
    >>> from sklearn_shag.metrics import undirected_attachment_score
    >>> undirected_attachment_score([[2, 3, 0]], [[3, 1, 0]])
    0.6666666666666666
    """
    heads, counted, weights = align_heads(y_true, y_pred, sample_weight, ignore, max_length)
    right = heads.right | (heads.above(heads.pred) == heads.tokens)
    return _average_scores(right[counted], weights[counted])


def neutral_edge_direction_score(
    y_true: Heads,
    y_pred: Heads,
    *,
    sample_weight: ArrayLike | None = None,
    ignore: Ignored | None = None,
    max_length: int | None = None,
) -> float:
    """Compute the share of tokens that are right up to the direction of single arcs (NED).

    Parameters
    ----------
    y_true, y_pred : sequences of length n_sentences
        The true and the predicted heads, as for :func:`unlabeled_attachment_score`.
    sample_weight : None or array-like of shape (n_sentences,), default=None
        The weight of each sentence.
    ignore : None, callable or sequence of bool arrays, default=None
        Tokens that do not count, as for :func:`unlabeled_attachment_score`.
    max_length : None or int, default=None
        Longer sentences do not count; None counts all.

    Returns
    -------
    score : float
        In [0, 1]; 0 if no token counts.

    Raises
    ------
    ValueError, TypeError
        As for :func:`unlabeled_attachment_score`.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If no token counts.

    See Also
    --------
    undirected_attachment_score : Accepts the modifier, but not the head of the head.

    Notes
    -----
    A token is right if its predicted head is its true head, its true modifier, or the true head of
    its true head, which may be the root. When an arc is reversed, its former modifier takes the
    place of its former head: it depends on whatever that head depended on.

    References
    ----------
    Schwartz, Abend, Reichart and Rappoport (2011), Neutralizing linguistically problematic
    annotations in unsupervised dependency parsing evaluation.

    Examples
    --------
    The preposition is the head of the noun in one tree, and its modifier in the other:

    >>> from sklearn_shag.metrics import neutral_edge_direction_score
    >>> neutral_edge_direction_score([[0, 3, 1]], [[0, 1, 2]])
    1.0
    """
    heads, counted, weights = align_heads(y_true, y_pred, sample_weight, ignore, max_length)
    right = heads.right | (heads.above(heads.pred) == heads.tokens)
    right |= heads.pred == heads.above(heads.true)
    return _average_scores(right[counted], weights[counted])


def exact_match_score(
    y_true: Heads,
    y_pred: Heads,
    *,
    sample_weight: ArrayLike | None = None,
    ignore: Ignored | None = None,
    max_length: int | None = None,
) -> float:
    """Compute the share of sentences in which every token has the right head.

    Parameters
    ----------
    y_true, y_pred : sequences of length n_sentences
        The true and the predicted heads, as for :func:`unlabeled_attachment_score`.
    sample_weight : None or array-like of shape (n_sentences,), default=None
        The weight of each sentence.
    ignore : None, callable or sequence of bool arrays, default=None
        Tokens that do not count, as for :func:`unlabeled_attachment_score`.
    max_length : None or int, default=None
        Longer sentences do not count; None counts all.

    Returns
    -------
    score : float
        In [0, 1], over the sentences with at least one token that counts; 0 if there is none.
        Tokens that do not count may have any head.

    Raises
    ------
    ValueError, TypeError
        As for :func:`unlabeled_attachment_score`.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If no token counts.

    See Also
    --------
    unlabeled_attachment_score : The share of tokens that are right.
    exact_match_scorer : The score of an estimator, for scikit-learn's tools.

    Examples
    --------
    >>> from sklearn_shag.metrics import exact_match_score
    >>> exact_match_score([[2, 0, 2], [0]], [[2, 0, 1], [0]])
    0.5
    """
    heads, counted, weights = align_heads(y_true, y_pred, sample_weight, ignore, max_length)
    starts = np.flatnonzero(heads.tokens == 1)
    matches = np.logical_and.reduceat(heads.right | ~counted, starts)
    scored = np.logical_or.reduceat(counted, starts)
    return _average_scores(matches[scored], weights[starts][scored])


class AttachmentBreakdown(NamedTuple):
    """Attachment counts by symbol and direction.

    ``right / total`` are the scores, NaN where a symbol has no token in a direction.

    Attributes
    ----------
    symbols : ndarray of shape (n_symbols,), dtype object
        Sorted; ``"<root>"`` for the root symbol.
    right, total : ndarrays of shape (n_symbols, 2)
        Weighted numbers of tokens with the right head and of all tokens. Column 0 is for modifiers
        left of their head, column 1 for those right of it and those of the root symbol.

    See Also
    --------
    attachment_breakdown : Computes it.

    Examples
    --------
    >>> from sklearn_shag import DeterministicSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.metrics import attachment_breakdown
    >>> trees = load_english().data
    >>> breakdown = attachment_breakdown(trees, DeterministicSHAG().fit(trees).predict(trees))
    >>> verb = breakdown.symbols == "VERB"
    >>> (breakdown.right[verb] / breakdown.total[verb]).round(2)
    array([[0.85, 0.79]])
    """

    symbols: ObjectArray
    right: FloatArray
    total: FloatArray


def attachment_breakdown(
    y_true: Iterable[DependencyTree],
    y_pred: Heads,
    *,
    by: Literal["head", "modifier"] = "head",
    sample_weight: ArrayLike | None = None,
    ignore: Ignored | None = None,
    max_length: int | None = None,
) -> AttachmentBreakdown:
    """Count right attachments by symbol and direction of the true arc.

    Parameters
    ----------
    y_true : sequence of DependencyTree
        Trees with heads; the rows are named by their symbols.
    y_pred : sequence of length n_sentences
        The predicted heads, as for :func:`unlabeled_attachment_score`.
    by : {"head", "modifier"}, default="head"
        Whether tokens are counted by the symbol of their head or by their own.
    sample_weight : None or array-like of shape (n_sentences,), default=None
        The weight of each sentence, which multiplies the counts of its tokens.
    ignore : None, callable or sequence of bool arrays, default=None
        Tokens that do not count, as for :func:`unlabeled_attachment_score`.
    max_length : None or int, default=None
        Longer sentences do not count; None counts all.

    Returns
    -------
    breakdown : AttachmentBreakdown
        One row for each symbol that has tokens that count.

    Raises
    ------
    ValueError
        If `by` is unknown, the numbers of sentences or tokens do not match, no true head is known,
        or a predicted head is unknown.
    TypeError
        If `y_true` does not hold trees.

    See Also
    --------
    unlabeled_attachment_score : The score of all tokens together.
    labeled_breakdown : Counts by the relation, the length or the depth of arcs.
    sklearn_shag.inspection.automaton_gains : Compares the counts of two parsers.

    Examples
    --------
    >>> from sklearn_shag.metrics import attachment_breakdown
    >>> from sklearn_shag.treebank import DependencyTree
    >>> tree = DependencyTree(["DET", "NOUN", "VERB"], [2, 3, 0])
    >>> breakdown = attachment_breakdown([tree], [[3, 3, 0]])
    >>> breakdown.symbols
    array(['<root>', 'NOUN', 'VERB'], dtype=object)
    >>> breakdown.right
    array([[0., 1.],
           [0., 0.],
           [1., 0.]])
    """
    y_true = list_sentences(y_true, "y_true")
    heads, counted, weights = align_heads(y_true, y_pred, sample_weight, ignore, max_length)
    require_trees(y_true, "y_true", "symbols are")
    return break_down(heads, counted, weights, join_all(tree.symbols for tree in y_true), by)


def break_down(heads, counted, weights, symbols, by):
    """Count right attachments of aligned heads by the symbols of their tokens.

    Parameters
    ----------
    heads : AlignedHeads
    counted : bool ndarray of shape (n_tokens,)
    weights : float ndarray of shape (n_tokens,)
    symbols : object ndarray of shape (n_tokens,)
    by : {"head", "modifier"}

    Returns
    -------
    breakdown : AttachmentBreakdown
    """
    if by == "head":
        above = heads.begins + np.maximum(heads.true, 1) - 1
        symbols = np.where(heads.true > 0, symbols[above], "<root>")
    elif by != "modifier":
        raise ValueError(f"by must be 'head' or 'modifier', got {by!r}.")
    symbols, rows = np.unique(symbols[counted], return_inverse=True)
    cells = 2 * rows + (heads.tokens > heads.true)[counted]
    total, hits = (
        np.bincount(cells, weights=values, minlength=2 * symbols.size).astype(float).reshape(-1, 2)
        for values in (weights[counted], (weights * heads.right)[counted])
    )
    return AttachmentBreakdown(symbols, hits, total)


def join_all(values):
    """Concatenate values of the tokens of sentences to an object array of shape (n_tokens,)."""
    return np.array(list(chain.from_iterable(values)), dtype=object)


def _average_scores(values, weights):
    total = weights.sum()
    if total > 0:
        return float(values @ weights / total)
    warn(
        "No token is left to score, so the score is set to 0.0. Change ignore, max_length or "
        "sample_weight so that some tokens count.",
        UndefinedMetricWarning,
    )
    return 0.0
