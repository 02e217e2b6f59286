"""Tables (NamedTuples of columns of equal length) as text, as HTML and as data frames."""

from html import escape
from itertools import starmap
from typing import Any

import numpy as np

from sklearn_shag.treebank import join_cells, pad_cells
from sklearn_shag.utils._messages import import_optional, printable

_SHOWN = 5  # values of a cell that has several
_LONGEST = 80  # characters of a cell that holds neither text nor a number
_N_ROWS = 60  # rows that a notebook shows


def largest_first(table, values, n=None):
    """Sort the rows of a table by `values`, the largest first, and return the first n."""
    rows = np.argsort(-values, kind="stable")[:n]
    return type(table)(*(column[rows] for column in table))


def table_text(table):
    """Draw a table with one line per row.

    Parameters
    ----------
    table : NamedTuple of ndarrays

    Returns
    -------
    text : str
        Names left, numbers right; floats with three digits after the point, and of a
        two-dimensional column the first five.
    """
    return join_cells(starmap(pad_cells, _format_columns(table)))


def table_html(table):
    """Draw the first rows of a table for notebooks."""
    columns, n_rows = [], len(table[0])
    for (name, *cells), is_number in _format_columns(table, _N_ROWS):
        style = f'style="text-align: {"right" if is_number else "left"}"'
        body = (f"<td {style}>{escape(cell)}</td>" for cell in cells)
        columns.append([f"<th {style}>{escape(name)}</th>", *body])
    rows = "".join(f"<tr>{''.join(row)}</tr>" for row in zip(*columns, strict=True))
    rest = f"<p>The first {_N_ROWS:,} of {n_rows:,} rows.</p>" if n_rows > _N_ROWS else ""
    return f"<table>{rows}</table>{rest}"


def shown_as_table(cls):
    """Let str() and notebooks show a NamedTuple of columns as a table; decorates the class."""
    cls.__str__, cls._repr_html_ = table_text, table_html
    return cls


def to_dataframe(self) -> Any:
    """Convert the columns to a pandas table.

    Returns
    -------
    table : pandas.DataFrame
        The same columns; cells of a two-dimensional column are arrays.

    Raises
    ------
    ImportError
        If pandas is not installed.
    """
    pd = import_optional("pandas", "frame", "to_dataframe")
    columns = zip(self._fields, self, strict=True)
    return pd.DataFrame({name: v if v.ndim == 1 else list(v) for name, v in columns})


def _format_columns(table, n_rows=None):
    """Yield name and first cells of each column as texts, and whether it holds numbers."""
    for name, values in zip(table._fields, table, strict=True):
        yield [name, *map(_format_cell, values[:n_rows])], values.dtype.kind in "iuf"


def _format_cell(value):
    if isinstance(value, np.ndarray):
        dots = " ..." if value.size > _SHOWN else ""
        return " ".join(map(_format_cell, value[:_SHOWN])) + dots
    if isinstance(value, float):
        return f"{value:.3f}"
    return printable(value, max_length=None if isinstance(value, str) else _LONGEST)
