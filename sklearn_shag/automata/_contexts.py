"""Contexts before and behind the gaps of sequences, their moments, and n-grams (eq. 60)."""

from typing import NamedTuple

import numpy as np

from sklearn_shag.automata._decomposition import Events, find_basis, project_events
from sklearn_shag.utils._arrays import TINY, check_codes, check_range, check_shapes
from sklearn_shag.utils._kernel import table_kernel
from sklearn_shag.utils._typing import FloatArray, IntArray


class EncodedSequences(NamedTuple):
    """Codes of all sequences, one after the other, and the weights of the sequences."""

    codes: np.ndarray  # (n_tokens,)
    indptr: np.ndarray  # (n_sequences + 1,)
    weights: np.ndarray  # (n_sequences,)


class Contexts(NamedTuple):
    """Numbers of the frequent strings on one side of each gap."""

    numbers: np.ndarray  # (n_gaps, max_context): by length, shortest first; -1 for none
    boundary: int  # the number of START or STOP alone
    n_contexts: int


class NGrams(NamedTuple):
    """Smoothed probabilities of the next symbol, given the longest known context.

    Contexts are strings of symbols, which may include the start of a sequence. A known context
    without its first or its last symbol is known as well, so each next context can be looked up.

    Attributes
    ----------
    probabilities : float ndarray of shape (n_contexts + 1, n_symbols + 1)
        Probability of each symbol and, last, of the end. Context 0 is the empty one.
    following : int ndarray of shape (n_contexts + 1, n_symbols + 1)
        The context to which each symbol leads and, last, that to which an unknown symbol leads.
    start : int ndarray of shape ()
        The context before the first symbol.

    See Also
    --------
    sklearn_shag.SpectralAutomaton : Mixes n-grams with an automaton.

    Examples
    --------
    >>> from sklearn_shag import SpectralAutomaton
    >>> model = SpectralAutomaton(n_states=1, max_context=1).fit([["a", "b"], ["b"], []])
    >>> model.ngrams_.probabilities.round(2)[model.ngrams_.start]
    array([0.28, 0.33, 0.39])
    """

    probabilities: FloatArray
    following: IntArray
    start: IntArray


class Gaps(NamedTuple):
    """The places between symbols, before the first and behind the last one of each sequence."""

    before: np.ndarray  # (n_gaps,): the symbol before the gap; n_symbols for START
    behind: np.ndarray  # (n_gaps,): the symbol behind the gap; n_symbols for STOP
    sequences: np.ndarray  # (n_gaps,): the sequence of the gap
    columns: Contexts  # contexts before the gap
    rows: Contexts  # contexts behind the gap


def check_ngrams(ngrams, name, symbols):
    """Check NGrams from a file: kernels do not check the codes of contexts."""
    n_rows = len(ngrams.probabilities)
    check_shapes(ngrams, (*[(n_rows, len(symbols) + 1)] * 2, ()), name)
    check_codes(ngrams, name, probabilities=1.0, following=n_rows - 1, start=n_rows - 1)
    check_range(ngrams.probabilities.sum(axis=1), 1 - 1e-6, 1 + 1e-6, f"The sum of {name}, by row,")


def list_gaps(sequences, n_symbols, max_context, n_contexts):
    """List the gaps of sequences, and the contexts around them.

    Parameters
    ----------
    sequences : EncodedSequences
    n_symbols : int
    max_context : int
        Contexts are the strings of up to so many symbols next to a gap, START and STOP included.
    n_contexts : int
        Number of contexts on each side, the most frequent ones.

    Returns
    -------
    gaps : Gaps
    """
    codes, indptr, weights = sequences
    before, behind = (np.insert(codes, places, n_symbols) for places in (indptr[:-1], indptr[1:]))
    own = np.repeat(np.arange(weights.size), np.diff(indptr) + 1)
    limits = n_symbols, max_context, n_contexts
    columns = number_contexts(before, weights[own], *limits)
    rows = number_contexts(behind[::-1], weights[own][::-1], *limits)
    return Gaps(before, behind, own, columns, rows._replace(numbers=rows.numbers[::-1]))


def choose_contexts(gaps, prefixes, suffixes, symbols):
    """Replace the contexts of gaps by strings of one's own.

    Parameters
    ----------
    gaps : Gaps
    prefixes, suffixes : None or lists of lists
        Strings before and behind gaps, in which None is START or STOP. Without them, the contexts
        of that side stay as they are.
    symbols : ndarray of shape (n_symbols,)

    Returns
    -------
    gaps : Gaps
    """
    if prefixes is not None:
        gaps = gaps._replace(columns=_find_strings(gaps.before, prefixes, symbols))
    if suffixes is not None:
        rows = _find_strings(gaps.behind[::-1], [string[::-1] for string in suffixes], symbols)
        gaps = gaps._replace(rows=rows._replace(numbers=rows.numbers[::-1]))
    return gaps


def _find_strings(nearest, strings, symbols):
    """Find strings, and the boundary alone, before gaps: see :func:`number_contexts`."""
    codes = {None: symbols.size} | {symbol: code for code, symbol in enumerate(symbols.tolist())}
    strings = list(dict.fromkeys([(None,), *map(tuple, strings)]))
    numbers = np.full((nearest.size, max(map(len, strings)) + 1), -1)
    for number, string in enumerate(strings):
        if None in string[1:]:
            raise ValueError("None must be the first item of a prefix, or the last of a suffix.")
        found = np.ones(nearest.size, dtype=bool)
        for back, symbol in enumerate(string[::-1]):  # the first gap has START before it
            found[back:] &= nearest[: nearest.size - back] == codes.get(symbol, -1)
        numbers[found, len(string)] = number
    return Contexts(numbers, 0, len(strings))


def count_contexts(gaps, counts):
    """Count the contexts around gaps.

    Parameters
    ----------
    gaps : Gaps
    counts : ndarray of shape (n_gaps,)

    Returns
    -------
    bigrams : ndarray of shape (n_rows, n_columns)
        Counts of gaps between the context of a column and that of a row.
    row_mass : ndarray of shape (n_rows,)
        Counts of gaps before the context of a row, whatever is before them.
    column_mass : ndarray of shape (n_columns,)
        Counts of gaps behind the context of a column.
    """
    bigrams = np.zeros((gaps.rows.n_contexts, gaps.columns.n_contexts))
    row_mass, column_mass = map(np.zeros, bigrams.shape)
    _add_pairs(gaps.rows.numbers, gaps.columns.numbers, counts, bigrams, row_mass, column_mass)
    return bigrams, row_mass, column_mass


def learn_spectral(gaps, weights, n_symbols, n_states, *, scaling, shrinkage, alpha=0.0):
    """Learn an automaton by a singular value decomposition (theory, eqs. 34 and 35).

    Parameters
    ----------
    gaps : Gaps
        From :func:`list_gaps`.
    weights : ndarray of shape (n_sequences,)
        Weights of the sequences; those with weight 0 are left out.
    n_symbols, n_states : int
        Numbers of symbols, and of states at most.
    scaling, shrinkage, alpha : float
        Parameters of :class:`SpectralAutomaton`.

    Returns
    -------
    operators : Operators
        The automaton.
    singular_values : ndarray
        All singular values of the scaled bigrams, largest first.
    """
    (rows, stop, _), (columns, start, _) = gaps.rows, gaps.columns
    counts = (weights / weights.sum())[gaps.sequences]
    bigrams, *masses = count_contexts(gaps, counts)
    basis = find_basis(bigrams, *masses, n_states, scaling, alpha)
    places = np.flatnonzero((gaps.behind != gaps.behind[-1]) & (counts > 0))
    events = Events(rows[places + 1], gaps.behind[places], columns[places], counts[places])
    operators = project_events(
        basis,
        bigrams[:, start],
        bigrams[stop],
        events,
        n_symbols,
        pseudo_count=shrinkage / weights.sum(),
    )
    return operators, basis.singular_values


def number_contexts(nearest, counts, boundary, max_context, n_contexts):
    """Number the most frequent contexts of gaps on one side.

    Parameters
    ----------
    nearest : int ndarray of shape (n_gaps,)
        The symbol next to each gap, on this side. The symbols before it are next to earlier gaps.
    counts : ndarray of shape (n_gaps,)
    boundary : int
        The code next to the first gap of each sequence; it is always a context.
    max_context, n_contexts : int

    Returns
    -------
    contexts : Contexts
    """
    levels, masses = [], []
    for length in range(max_context):
        strings = nearest
        if length:  # a shorter string at the previous gap, and the symbol between the gaps
            shorter = np.concatenate([[-1], levels[-1][:-1]])
            is_there = (nearest != boundary) & (shorter >= 0)
            strings = np.where(is_there, shorter * (boundary + 1) + nearest, -1)
        strings, places = np.unique(strings, return_inverse=True)
        mass = np.where(strings < 0, 0.0, np.bincount(places, counts))
        if not length:
            mass[strings == boundary] = np.inf
        # No string is more frequent than its parts: longer ones need no more than the kept ones.
        kept = _most_frequent(mass, n_contexts)
        levels.append(_number_chosen(kept, mass.size)[places])
        masses.append(mass[kept])
    mass, firsts = np.concatenate(masses), np.cumsum([0, *map(len, masses)])
    ranks = np.append(_number_chosen(_most_frequent(mass, n_contexts), mass.size), -1)
    columns = [
        ranks[np.where(level < 0, -1, first + level)]
        for level, first in zip(levels, firsts, strict=False)
    ]
    return Contexts(np.stack(columns, axis=1), int(ranks[np.argmax(mass)]), int(ranks.max()) + 1)


def _most_frequent(mass, n):
    """Return the places of the n largest positive masses, in ascending order."""
    places = np.sort(np.argsort(-mass, kind="stable")[:n])
    return places[mass[places] > 0]


def _number_chosen(chosen, size):
    ranks = np.full(size, -1)
    ranks[chosen] = np.arange(chosen.size)
    return ranks


@table_kernel
def _add_pairs(rows, columns, counts, bigrams, row_mass, column_mass):
    for g in range(counts.size):
        for r in rows[g]:
            if r >= 0:
                row_mass[r] += counts[g]
                for c in columns[g]:
                    if c >= 0:
                        bigrams[r, c] += counts[g]
        for c in columns[g]:
            if c >= 0:
                column_mass[c] += counts[g]


def count_ngrams(gaps, weights, smoothing):
    """Estimate n-grams, each context interpolated with a shorter one (Witten and Bell 1991).

    Parameters
    ----------
    gaps : Gaps
    weights : ndarray of shape (n_sequences,)
    smoothing : float
        Pseudo-count of other symbols, for each different symbol that was seen behind a context.

    Returns
    -------
    ngrams : NGrams
    """
    (numbers, start, n_contexts), counts = gaps.columns, weights[gaps.sequences]
    n_symbols = int(gaps.before[0])
    columns = [np.zeros(counts.size, dtype=np.int64), *(numbers.T + 1)]
    probabilities = np.full((n_contexts + 1, n_symbols + 1), 1.0 / (n_symbols + 1))
    following = np.zeros(probabilities.shape, dtype=np.int64)
    for length, column in enumerate(columns):
        known = np.flatnonzero((column > 0) | (length == 0))
        own, examples, places = np.unique(column[known], return_index=True, return_inverse=True)
        examples, shorter = known[examples], columns[max(length - 1, 0)]
        if length:
            symbols = gaps.before[examples]
            is_symbol = symbols < n_symbols
            # A context without its last symbol, and without its first: both are shorter, and known.
            prefixes = shorter[examples - 1] if length > 1 else np.zeros_like(own)
            following[prefixes[is_symbol], symbols[is_symbol]] = own[is_symbol]
            following[own] = following[shorter[examples]]
        places = places * (n_symbols + 1) + gaps.behind[known]
        uses = np.bincount(places, counts[known], own.size * (n_symbols + 1))
        uses = uses.reshape(own.size, n_symbols + 1)
        other = smoothing * np.count_nonzero(uses, axis=1)[:, None]
        total = np.maximum(uses.sum(axis=1, keepdims=True) + other, TINY)
        probabilities[own] = (uses + other * probabilities[shorter[examples]]) / total
    return NGrams(probabilities, following, np.array(start + 1))
