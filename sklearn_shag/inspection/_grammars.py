"""What the functions of this folder ask of an estimator, and tables as text."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklearn_shag.encoding import check_heads
from sklearn_shag.utils._estimators import open_member
from sklearn_shag.utils._heads import UNKNOWN
from sklearn_shag.utils._messages import printable, shorten

ROOT_NAME = "<root>"
DIRECTIONS = ("left", "right")  # in the order of their codes


def check_grammar(estimator, call):
    """Check that an estimator has learned a grammar.

    Parameters
    ----------
    estimator : estimator
    call : str
        What to write for a pipeline in its place, for the message.

    Returns
    -------
    operators : Operators
    symbols : ndarray of shape (n_symbols,), dtype object

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If it is a parser of this package that is not fitted.
    TypeError
        If it is anything else without operators.
    """
    if getattr(type(estimator), "_report_marginals", None) is not None:
        check_is_fitted(estimator)
    if not (hasattr(estimator, "operators_") and hasattr(estimator, "symbols_")):
        raise TypeError(
            f"estimator must be a fitted grammar of this package, with operators_, got a "
            f"{type(estimator).__name__}. Of a pipeline pass the parts: {call}. Of a search or a "
            f"composed parser pass its best_estimator_, or one of its estimators_."
        )
    return estimator.operators_, estimator.symbols_


def head_code(head, symbols):
    """Find the code of a head symbol that the estimator knows."""
    code = np.flatnonzero(symbols == head)
    if not isinstance(head, str) or not code.size:
        raise ValueError(
            f"head={shorten(head)} is none of the {symbols.size} symbols that the estimator has "
            f"seen: {', '.join(symbols[:50])}{', ...' if symbols.size > 50 else ''}."
        )
    return int(code[0])


def names_of_heads(symbols):
    """Name the heads of a grammar by their codes, but for the unknown one, which is left None."""
    return np.array([*symbols, None, ROOT_NAME], dtype=object)


def known_tokens(heads):
    """Find the tokens whose heads are known: a mask with at least one."""
    known = heads != UNKNOWN
    if not known.any():
        raise ValueError("No true head is known: all are -1. Give the heads of some tokens.")
    return known


def positions(trees):
    """List of each token of EncodedTrees where its sentence starts, and its position there."""
    starts = np.repeat(trees.indptr[:-1], np.diff(trees.indptr))
    return starts, np.arange(trees.heads.size) - starts + 1


def predict_heads(estimator, sentences, name="estimator"):
    """Predict the heads of all tokens; `name` is what messages call the estimator."""
    if not hasattr(estimator, "predict"):
        raise TypeError(
            f"{name} must be a fitted parser, which predicts heads, got a "
            f"{type(estimator).__name__}."
        )
    return check_heads(sentences, estimator.predict(sentences), f"{name}.predict(X)")


def open_parser(estimator):
    """Find the parser in an estimator, with its marginals, and what it is to see of sentences.

    Parameters
    ----------
    estimator : estimator
        A parser of this package, a pipeline that ends in one, or a search of either.

    Returns
    -------
    opened : OpenMember

    Raises
    ------
    TypeError
        If it is anything else.
    """
    opened = open_member(getattr(estimator, "best_estimator_", estimator))
    if not hasattr(opened.parser, "predict_marginals"):
        raise TypeError(
            f"estimator must be a fitted parser of this package, a pipeline that ends in one, or a "
            f"search of either, got a {type(opened.parser).__name__}, which has no "
            f"predict_marginals."
        )
    return opened


def largest_first(table, values, n=None):
    """Sort the rows of a table, a NamedTuple of columns, by their values, and take the first n."""
    rows = np.argsort(-values, kind="stable")[:n]
    return type(table)(*(column[rows] for column in table))


_SHOWN = 5  # of the values of a column that has several in each row


def table_text(table):
    """Draw a table, a NamedTuple of columns of equal length, with one line a row.

    Parameters
    ----------
    table : NamedTuple of ndarrays

    Returns
    -------
    text : str
        Names left, numbers right; floats with three digits after the point, and of a
        two-dimensional column the first five.
    """
    columns = []
    for name, values in zip(table._fields, table, strict=True):
        cells = [name, *map(_cell, values)]
        width = max(map(len, cells))
        pad = str.rjust if values.dtype.kind in "iuf" else str.ljust
        columns.append([pad(cell, width) for cell in cells])
    return "\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True))


def _cell(value):
    if isinstance(value, np.ndarray):
        dots = " ..." if value.size > _SHOWN else ""
        return " ".join(map(_cell, value[:_SHOWN])) + dots
    return f"{value:.3f}" if isinstance(value, float) else printable(value, max_length=None)
