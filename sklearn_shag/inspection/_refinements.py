"""What hidden refinements stand for."""

from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from sklearn_shag.encoding import encode_sentences, encode_trees
from sklearn_shag.inspection._grammars import (
    DIRECTIONS,
    ROOT_NAME,
    head_code,
    open_grammar,
    table_text,
)
from sklearn_shag.treebank import Heads, Sentences
from sklearn_shag.utils._typing import FloatArray, ObjectArray, StrArray


class RefinementTable(NamedTuple):
    """What the refinements of a symbol are typically connected with, in columns.

    Printed, it is a table.

    Attributes
    ----------
    refinements : ndarray of shape (n_rows,), dtype object
        The symbol and the number of the refinement, as in "VERB.3"; the most frequent first.
    shares : ndarray of shape (n_rows,)
        The share of it among the tokens with this symbol.
    relations : str ndarray of shape (n_rows,)
        What the other symbol is to the token: its "head on the left" or "right", a "modifier on
        the left" or "right".
    symbols : ndarray of shape (n_rows,), dtype object
        The other symbol; ``"<root>"`` for the root.
    counts : ndarray of shape (n_rows,)
        How many of them a token with the refinement has.
    ratios : ndarray of shape (n_rows,)
        How many times as many as a token with the symbol has.

    See Also
    --------
    top_refinements : Makes it.

    Examples
    --------
    >>> from sklearn_shag import RefinedSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.inspection import top_refinements
    >>> trees = load_english().data
    >>> model = RefinedSHAG(n_refinements=4, random_state=0).fit(trees)
    >>> top_refinements(model, "NOUN", trees, n=1).shares.round(2)
    array([0.34, 0.32, 0.29, 0.05])
    """

    refinements: ObjectArray
    shares: FloatArray
    relations: StrArray
    symbols: ObjectArray
    counts: FloatArray
    ratios: FloatArray

    __str__ = table_text


def top_refinements(
    estimator: BaseEstimator, symbol: str, X: Sentences, y: Heads | None = None, *, n: int = 4
) -> RefinementTable:
    """List the typical heads and modifiers of each hidden refinement of a symbol.

    Parameters
    ----------
    estimator : RefinedSHAG
        Fitted, or a pipeline that ends in one, or a search of either.
    symbol : str
        One that the estimator knows.
    X : sequence of length n_sentences
        Trees, such as those that it has learned from.
    y : None or sequence of length n_sentences, default=None
        Their heads; None takes those of the trees in X.
    n : int, default=4
        Rows of each refinement.

    Returns
    -------
    table : RefinementTable
        For each refinement, the most frequent first, what it has most of all beyond what the
        symbol has: by the count times the logarithm of the ratio.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    ValueError
        If the symbol is not known, or X are no trees.
    TypeError
        If the estimator has no refinements.

    See Also
    --------
    sklearn_shag.operators.unfold : The grammar over pairs of a symbol and a refinement.
    top_modifiers : The modifiers of a head without refinements.

    Notes
    -----
    Expected over the refinements of all tokens, given their trees (theory, eq. 51).

    Examples
    --------
    >>> from sklearn_shag import RefinedSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.inspection import top_refinements
    >>> trees = load_english().data
    >>> model = RefinedSHAG(n_refinements=4, random_state=0).fit(trees)
    >>> print(top_refinements(model, "NOUN", trees, n=2))     # the first is a subject, as a rule
    refinements  shares  relations              symbols  counts  ratios
    NOUN.1        0.343  head on the right      VERB      0.541   2.220
    NOUN.1        0.343  head on the right      NOUN      0.120   2.508
    NOUN.2        0.323  head on the left       VERB      0.766   1.661
    NOUN.2        0.323  modifier on the right  NOUN      0.220   1.689
    NOUN.0        0.286  modifier on the left   ADP       0.804   2.756
    NOUN.0        0.286  head on the left       NOUN      0.418   3.198
    NOUN.3        0.048  modifier on the right  PUNCT     0.922  20.670
    NOUN.3        0.048  head                   <root>    0.544  20.824
    """
    opened = open_grammar(estimator)
    grammar = opened.parser
    if not hasattr(grammar, "refined_operators_"):
        raise TypeError(
            f"estimator must be a RefinedSHAG, whose symbols have refinements, got a "
            f"{type(grammar).__name__}."
        )
    code = head_code(symbol, grammar.symbols_)
    trees = encode_trees(opened.transform(X), y)
    known = encode_sentences([trees.symbols[trees.codes]], grammar.symbols_)[0]
    uses, pairs = grammar._expect(known, trees.heads, trees.indptr)
    n_tokens = uses.common[code]
    rows = [("head", ROOT_NAME, uses.roots[code])]
    names = np.append(grammar.symbols_, "<unknown>")
    for (head, side, modifier), moves in zip(pairs, uses.A, strict=True):
        if head == code:
            found = moves.sum(axis=(0, 1, 2))
            rows.append((f"modifier on the {DIRECTIONS[side]}", names[modifier], found))
        if modifier == code:
            found = moves.sum(axis=(1, 2, 3))
            rows.append((f"head on the {DIRECTIONS[1 - side]}", names[head], found))
    relations, symbols, found = zip(*rows, strict=True)
    # What there is none of is typical of nothing.
    least = np.finfo(float).tiny
    counts = np.array(found) / np.maximum(n_tokens, least)
    of_symbol = np.sum(found, axis=1) / n_tokens.sum()
    ratios = counts / np.maximum(of_symbol, least)[:, None]
    gains = counts * np.log(np.maximum(ratios, least))
    chosen = [
        (row, refinement)
        for refinement in np.argsort(-n_tokens, kind="stable")[: np.count_nonzero(n_tokens)]
        for row in np.argsort(-gains[:, refinement], kind="stable")[:n]
    ]
    of_rows, of_refinements = np.transpose(chosen)
    return RefinementTable(
        np.array([f"{symbol}.{k}" for k in of_refinements], dtype=object),
        (n_tokens / n_tokens.sum())[of_refinements],
        np.array(relations)[of_rows],
        np.array(symbols, dtype=object)[of_rows],
        counts[of_rows, of_refinements],
        ratios[of_rows, of_refinements],
    )
