"""Automata as text: the AT&T format of OpenFst, and the DOT language of Graphviz."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from sklearn_shag.operators._operators import (
    Operators,
    check_automaton,
    require_operators,
    spectral_radius,
    trim,
)
from sklearn_shag.utils._arrays import check_finite, check_range, check_shape, log_of
from sklearn_shag.utils._messages import shorten
from sklearn_shag.utils._param_validation import StrOptions, validate_params

EPSILONS = ("<eps>", "<epsilon>", "0")  # labels of arcs without a symbol

SymbolNames: TypeAlias = Sequence[Any]


@validate_params({"semiring": [StrOptions({"log", "real"})]})
def to_att(
    operators: Operators, symbols: SymbolNames | None = None, *, semiring: str = "log"
) -> str:
    """Write a model in the AT&T text format, which OpenFst and other toolkits read.

    Parameters
    ----------
    operators : Operators
        A single model: `alpha_1` of shape (n_states,), `A` of shape
        (n_symbols, n_states, n_states).
    symbols : None or sequence of length n_symbols, default=None
        The symbols, such as ``symbols_`` of a model. None takes 1, 2, ..., since 0 is no symbol in
        this format.
    semiring : {"log", "real"}, default="log"
        Whether weights are negative logarithms, as in OpenFst, or the numbers themselves, which may
        be negative.

    Returns
    -------
    text : str
        One line for each arc (source, target, symbol, weight) and for each state where sequences
        end (state, weight), separated by tabs. State 0 is the start; arcs without a symbol,
        labelled ``<eps>`` (0 without `symbols`), lead from it to the states of the model, which
        are 1, 2, ... If the model always starts in its first state, that is state 0.

    Raises
    ------
    ValueError
        If shapes do not match, a symbol cannot be written, or there are negative entries but
        weights are logarithms.

    See Also
    --------
    from_att : Reads the format.
    to_dot : Writes a model to draw it.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_shag.operators import Operators, to_att
    >>> coin = Operators(np.array([1.0]), np.array([0.5]), np.array([[[0.25]], [[0.25]]]))
    >>> print(to_att(coin, ["heads", "tails"], semiring="real").expandtabs(4))
    0   0   heads   0.25
    0   0   tails   0.25
    0   0.5
    """
    names = _name_symbols(operators, symbols)
    for name in names:
        if name in EPSILONS or name.split() != [name]:
            raise ValueError(
                f"The symbol {name!r} cannot be written: it is empty, has a space, or means that "
                f"an arc has no symbol. Pass other names as `symbols`."
            )
    if semiring == "log":
        for field, values in zip(Operators._fields, operators, strict=True):
            check_range(values, 0.0, np.inf, field, ', or use semiring="real"')
    alpha_1, alpha_inf, A = operators
    first = int(not np.array_equal(alpha_1, np.eye(alpha_1.size)[0]))
    none, starts = EPSILONS[2 if symbols is None else 0], alpha_1.nonzero()[0]
    lines = []
    if first:
        lines = [(0, i + 1, none, alpha_1[i]) for i in (starts if starts.size else [0])]
    for j, stop in enumerate(alpha_inf):
        arcs = zip(*A[:, :, j].nonzero(), strict=True)
        lines += [(j + first, i + first, names[a], A[a, i, j]) for a, i in arcs]
        if stop or not lines:  # the first line tells the start
            lines.append((j + first, stop))
    if semiring == "log":
        lines = [(*line[:-1], 0.0 - log_of(line[-1])) for line in lines]
    text = "".join("\t".join(map(str, line)) + "\n" for line in lines)
    return text.replace("\tinf\n", "\tInfinity\n")


@validate_params({"semiring": [StrOptions({"log", "real"})], "text": [str]})
def from_att(
    text: str, symbols: SymbolNames | None = None, *, semiring: str = "log"
) -> tuple[Operators, list[Any]]:
    """Read a model from the AT&T text format of OpenFst.

    Parameters
    ----------
    text : str
        As :func:`to_att` writes it, or ``fstprint --acceptor``. The state of the first line is the
        start. A missing weight is that of a free arc. Values are sums over paths, even if the file
        was made for the tropical semiring.
    symbols : None or sequence of length n_symbols, default=None
        The symbols in the order of the operators. None takes those of the text, sorted: integers
        if all are, otherwise str.
    semiring : {"log", "real"}, default="log"
        As for :func:`to_att`.

    Returns
    -------
    operators : Operators
        The model, without states that are on no way from the start to an end. Arcs without a symbol
        (``<eps>``, ``<epsilon>``, 0) are part of the moves before them, or of the start.
    symbols : list of length n_symbols
        The symbols. ``EMAutomaton.from_operators`` takes both.

    Raises
    ------
    ValueError
        If a line cannot be read (the message has its number), a symbol is not one of `symbols`, no
        path leads from the start to an end, or cycles without symbols sum to infinity.

    See Also
    --------
    to_att : Writes the format.

    Examples
    --------
    >>> from sklearn_shag.operators import from_att
    >>> operators, symbols = from_att("0 0 heads 0.25\\n0 0 tails 0.25\\n0 0.5", semiring="real")
    >>> symbols, operators.alpha_inf
    (['heads', 'tails'], array([0.5]))
    """
    arcs, ends, states = [], {}, {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            *places, weight = _read_line(line.split(), semiring)
        except ValueError as error:
            raise ValueError(f"Line {number} of the text is {shorten(line)}: {error}") from None
        numbers = [states.setdefault(place, len(states)) for place in places[:2]]
        if len(numbers) == 2:
            arcs.append((places[2], numbers[1], numbers[0], weight))
        else:
            ends[numbers[0]] = weight
    names = {name for name, *_ in arcs} - set(EPSILONS)
    if symbols is None:
        are_integers = all(name.removeprefix("-").isdecimal() for name in names)
        symbols = sorted(map(int, names) if are_integers else names)
    codes = {str(symbol): code for code, symbol in enumerate(symbols)}
    if unknown := names - codes.keys():
        raise ValueError(f"The text has symbols that `symbols` does not have: {shorten(unknown)}.")
    codes |= dict.fromkeys(EPSILONS, len(symbols))
    n = len(states)
    moves = np.zeros((len(symbols) + 1, n, n))
    for name, target, source, weight in arcs:
        moves[codes[name], target, source] += weight
    if spectral_radius(moves[-1]) >= 1.0:
        raise ValueError("The weights of cycles without symbols sum to infinity.")
    free, stop = np.linalg.inv(np.eye(n) - moves[-1]), np.zeros(n)
    stop[list(ends)] = list(ends.values())
    operators = trim(Operators(free @ np.eye(1, n)[0], stop, free @ moves[:-1]))
    if not operators.alpha_1.size:
        raise ValueError("No path leads from the start of the text to an end.")
    return operators, list(symbols)


def _read_line(fields, semiring):
    """Read a line as source and weight, or source, target, label and weight."""
    if len(fields) > 4:
        raise ValueError("it has more than one label. Print the text with --acceptor.")
    given = fields.pop() if len(fields) in (2, 4) else (semiring == "real")
    weight = np.exp(-float(given)) if semiring == "log" else float(given)
    check_finite(weight, "its weight")
    return *fields, weight


def to_dot(operators: Operators, symbols: SymbolNames | None = None) -> str:
    """Write a model in the DOT language of Graphviz.

    Parameters
    ----------
    operators : Operators
        As for :func:`to_att`.
    symbols : None or sequence of length n_symbols, default=None
        The symbols; None takes 0, 1, ...

    Returns
    -------
    dot : str
        A directed graph of all entries that are not 0, to three digits. The node of a state has its
        number and stopping mass, with a double border if there is some. Arrows without origin are
        starts.

    See Also
    --------
    sklearn_shag.inspection.approximate_dfa : Approximates a model by fewer states, to draw it.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_shag.operators import Operators, to_dot
    >>> coin = Operators(np.array([1.0]), np.array([0.5]), np.array([[[0.25]], [[0.25]]]))
    >>> print(to_dot(coin, ["heads", "tails"]))
    digraph {
    rankdir=LR;
    node [shape=circle];
    start0 [shape=point];
    start0 -> 0 [label="1"];
    0 [label="0\\nSTOP 0.5", peripheries=2];
    0 -> 0 [label="heads 0.25\\ntails 0.25"];
    }
    """
    names = _name_symbols(operators, symbols, first=0)
    alpha_1, alpha_inf, A = operators
    starts = [(f"start{i}", i, f' [label="{alpha_1[i]:.3g}"]') for i in alpha_1.nonzero()[0]]
    states = [(f"\nSTOP {stop:.3g}" if stop else "", stop) for stop in alpha_inf]
    arrows = {}
    for source, target, a in np.argwhere(A.T):
        arrows.setdefault((source, target), []).append(f"{names[a]} {A[a, target, source]:.3g}")
    return write_dot(starts, states, arrows)


def write_dot(starts, states, arrows):
    """Write an automaton in the DOT language of Graphviz.

    Parameters
    ----------
    starts : iterable of (str, int, str)
        Names of the points where arrows begin that lead to a first state; this state; and the
        attributes of the arrow.
    states : iterable of (str, bool)
        The text below the number of each state, and whether it has a double border.
    arrows : dict of (int, int) to list of str
        The lines of text at each arrow, by its two states.

    Returns
    -------
    dot : str
    """
    lines = ["digraph {", "rankdir=LR;", "node [shape=circle];"]
    for name, state, attributes in starts:
        lines += [f"{name} [shape=point];", f"{name} -> {state}{attributes};"]
    for state, (text, is_end) in enumerate(states):
        border = ", peripheries=2" if is_end else ""
        lines.append(f"{state} [label={_quote_label(f'{state}{text}')}{border}];")
    for (source, target), uses in arrows.items():
        label = _quote_label("\n".join(uses))
        lines.append(f"{source} -> {target} [label={label}];")
    return "\n".join([*lines, "}"])


def _quote_label(text):
    """Put a text in quotation marks as DOT does, with "\\n" at the end of a line."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _name_symbols(operators, symbols, first=1):
    """Check a model and return the names of its symbols; without `symbols`, numbers."""
    require_operators(operators)
    check_automaton(operators, "operators", operators.A)
    n_symbols = len(operators.A)
    names = list(map(str, range(first, n_symbols + first) if symbols is None else symbols))
    check_shape(names, (n_symbols,), "symbols")
    return names
