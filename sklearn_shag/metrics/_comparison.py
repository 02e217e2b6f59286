"""True and predicted heads, checked and put side by side."""

from collections.abc import Callable, Iterable, Sequence
from numbers import Integral
from typing import NamedTuple, TypeAlias

import numpy as np

from sklearn_shag.treebank import MISSING, DependencyTree
from sklearn_shag.utils._collections import is_collection
from sklearn_shag.utils._heads import UNKNOWN, as_heads
from sklearn_shag.utils._messages import shorten
from sklearn_shag.utils._param_validation import check_sample_weight
from sklearn_shag.utils._typing import BoolArray

# A predicate of symbols, or a mask for each sentence.
Ignored: TypeAlias = Callable[[str], bool] | Iterable[Sequence[bool] | BoolArray]


class AlignedHeads(NamedTuple):
    """True and predicted heads of the tokens of all sentences, one after the other."""

    true: np.ndarray  # 1-based within each sentence, 0 for the root, -1 where not known
    pred: np.ndarray
    tokens: np.ndarray  # the position of each token itself, from 1
    begins: np.ndarray  # the place of the first token of its sentence

    def of_true(self):
        """The true head of the true head of each token; -2 if there is none or it is unknown."""
        return self._above(self.true)

    def of_pred(self):
        """The true head of the predicted head."""
        return self._above(self.pred)

    def _above(self, heads):
        above = self.true[np.where(heads > 0, self.begins + heads - 1, 0)]
        return np.where((heads > 0) & (above != UNKNOWN), above, -2)


def compare_heads(y_true, y_pred, sample_weight, ignore):
    """Per token of all sentences: is its head right, does it count, and with which weight."""
    heads, counted, weights = align_heads(y_true, y_pred, sample_weight, ignore)
    return heads.true == heads.pred, counted, weights


def align_heads(y_true, y_pred, sample_weight, ignore, max_length=None):
    """Check true and predicted heads and put them side by side.

    Returns
    -------
    heads : AlignedHeads
    counted : bool ndarray of shape (n_tokens,)
    weights : ndarray of shape (n_tokens,)
    """
    y_true, y_pred = as_list(y_true, "y_true"), as_list(y_pred, "y_pred")
    if len(y_true) != len(y_pred) or not y_true:
        raise ValueError(
            f"y_true and y_pred must hold the same number of sentences, at least one; got "
            f"{len(y_true)} and {len(y_pred)}."
        )
    true_heads = [_heads(item, f"y_true[{index}]", UNKNOWN) for index, item in enumerate(y_true)]
    pred_heads = [_heads(item, f"y_pred[{index}]", 0) for index, item in enumerate(y_pred)]
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
            f"compare with. Give the heads of some."
        )
    sample_weight = check_sample_weight(sample_weight, y_true, allow_all_zero=True)
    counted = known & ~_ignored(y_true, lengths, ignore)
    if max_length is not None:
        if not isinstance(max_length, Integral) or max_length < 1:
            raise ValueError(
                f"max_length must be None or a whole number from 1 on, got {max_length!r}."
            )
        counted &= np.repeat(lengths <= max_length, lengths)
    begins = np.repeat(np.cumsum(lengths) - lengths, lengths)
    tokens = np.arange(lengths.sum()) - begins + 1
    aligned = AlignedHeads(true_heads, pred_heads, tokens, begins)
    return aligned, counted, np.repeat(sample_weight, lengths)


def as_list(items, name):
    if not is_collection(items):
        scorer = ""
        if hasattr(items, "predict"):  # scikit-learn's tools call a scorer with the estimator
            scorer = " As scoring= of scikit-learn's tools pass uas_scorer or another scorer."
        raise TypeError(
            f"{name} must be a list of trees, or of the heads of each sentence, got a single "
            f"{type(items).__name__}.{scorer}"
        )
    return list(items)


def _heads(item, where, lowest):
    if isinstance(item, DependencyTree):
        if item.heads is None:
            raise ValueError(f"{where} is a tree without heads. Leave it out, or parse it first.")
        heads = item.heads
    else:
        heads = as_heads(item, where)
    if not heads.size:
        raise ValueError(f"{where} holds no heads; remove empty sentences.")
    if heads.min() < lowest:
        token = int(np.argmax(heads < lowest))
        raise ValueError(
            f"{where} has the head {heads[token]} for token {token + 1}. A head is the position of "
            f"a token, from 1, or 0 for the root; only a true one may be -1, where it is not known."
        )
    if heads.max() > heads.size:
        token = int(np.argmax(heads > heads.size))
        raise ValueError(
            f"{where} has the head {heads[token]} for token {token + 1}, but {heads.size} tokens."
        )
    return heads


def _as_array(item):
    """An array of an item of whatever shape; ragged nesting becomes an array of objects."""
    try:
        return np.asarray(item)
    except ValueError:
        return np.empty(0, dtype=object)


def _ignored(y_true, lengths, ignore):
    if ignore is None:
        return np.zeros(lengths.sum(), dtype=bool)
    if callable(ignore):
        require_trees(y_true, "y_true", "symbols are")
        symbols = [symbol for tree in y_true for symbol in tree.symbols]
        if set(symbols) == {MISSING}:
            raise ValueError(
                f"All symbols of y_true are {MISSING!r}, so ignore cannot tell one from another. "
                f"Tag the text first, choose a column that has values, or pass masks as ignore."
            )
        return np.array([bool(ignore(symbol)) for symbol in symbols])
    if not is_collection(ignore):
        raise TypeError(
            f"ignore must be None, a function of a symbol, or a sequence with a bool mask for each "
            f"sentence, got a {type(ignore).__name__}: {shorten(ignore)}"
        )
    masks = [_as_array(mask) for mask in ignore]
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


def require_trees(items, name, known):
    """Check that items are trees, of which alone something is known."""
    for index, item in enumerate(items):
        if not isinstance(item, DependencyTree):
            raise TypeError(
                f"{name}[{index}] is a {type(item).__name__}; {known} only known of a "
                f"DependencyTree."
            )
