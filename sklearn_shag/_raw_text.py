"""Text to learn grammars from, of which heads may be known here and there."""

from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sklearn_shag._base_conditional import KnownTrees, prepare_trees
from sklearn_shag.encoding import check_sentences, encode_sentences
from sklearn_shag.induction import Text, list_arcs, observed_arcs, score_by_rules, score_rules
from sklearn_shag.utils._collections import is_collection
from sklearn_shag.utils._heads import UNKNOWN
from sklearn_shag.utils._param_validation import check_sample_weight
from sklearn_shag.utils._warnings import warn

__all__ = ["RawText", "check_root_symbols", "prepare_text", "warn_of_limit"]


class RawText(NamedTuple):
    """Sentences to learn from, checked."""

    symbols: np.ndarray  # (n_symbols,), dtype object: those that are known, sorted
    text: Text  # sentences that are the same are one
    merged: KnownTrees  # what `text` was made of
    separate: KnownTrees  # the same, sentence by sentence


def prepare_text(
    X, y, sample_weight, max_length, nonprojective, rules=None, rule_strength=0.0, symbols=None
):
    """Check sentences and known heads as users give them, and encode them.

    Parameters
    ----------
    X : sequence of length n_sentences
        Heads of trees in it are not looked at.
    y : None or sequence of length n_sentences
        The known heads, -1 for others; None if none are known.
    sample_weight : None or array-like of shape (n_sentences,)
    max_length : int or None
        Longer sentences are left out.
    nonprojective : {"lift", "drop"}
        As for :func:`prepare_trees`.
    rules, rule_strength
        As for :func:`score_rules`; no rules by default.
    symbols : None or list of str, default=None
        Those that are known, sorted; None takes all that occur.

    Returns
    -------
    raw : RawText

    Raises
    ------
    ValueError, TypeError
        As :func:`prepare_trees` and :func:`score_rules`; or if all sentences are too long.

    Warns
    -----
    UserWarning
        If sentences are left out since no projective tree with one root has their known heads.
    """
    X, y = (list(part) if is_collection(part) else part for part in (X, y))
    sentences, of_sentences = check_sentences(X)
    lengths = np.array([len(sentence) for sentence in of_sentences])
    weights = check_sample_weight(sample_weight, sentences)
    if y is None:
        y = [[UNKNOWN] * n_tokens for n_tokens in lengths]
    if max_length is not None:
        if not weights[lengths <= max_length].any():
            shortest = lengths[weights > 0].min()
            raise ValueError(
                f"All sentences of X have more than max_length={max_length} tokens, the shortest "
                f"{shortest}: none is left to learn from. Raise max_length, or set it to None."
            )
        weights = np.where(lengths <= max_length, weights, 0.0)
    separate = prepare_trees(X, y, weights, nonprojective, raw=True)
    known = sorted(set().union(*separate.symbols)) if symbols is None else symbols
    encode_sentences(separate.symbols, known)  # tells if they say nothing, once
    merged = separate.merge()
    codes, indptr = encode_sentences(merged.symbols, known, check=False)
    arcs = None
    if rules is not None or np.any(merged.heads != UNKNOWN):
        cells = list_arcs(codes, indptr, len(known))
        arcs = np.where(observed_arcs(merged.heads, cells), 0.0, -np.inf)
        if rules is not None:
            arcs += score_by_rules(score_rules(rules, rule_strength, known), codes, indptr, cells)
    text = Text(codes, merged.heads, indptr, merged.weights, arcs)
    return RawText(np.array(known, dtype=object), text, merged, separate)


def check_root_symbols(root_symbols, symbols):
    """Check that some of the symbols that roots may have are known; None is any."""
    if root_symbols is not None and not set(root_symbols) & set(symbols):
        raise ValueError(
            f"None of root_symbols={root_symbols!r} is a symbol of X, which are "
            f"{', '.join(map(repr, list(symbols)[:10]))}, ... Name some of these."
        )
    return root_symbols


def warn_of_limit(max_iter, remark=""):
    """Warn that EM ended before it had converged."""
    warn(
        f"EM has not converged after max_iter={max_iter} iterations. Raise max_iter or tol"
        f"{remark}.",
        ConvergenceWarning,
    )
