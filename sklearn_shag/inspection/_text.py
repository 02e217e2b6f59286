"""Tables as text."""

import numpy as np

from sklearn_shag.utils._messages import printable

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
