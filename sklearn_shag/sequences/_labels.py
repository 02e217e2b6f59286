"""Relations of arcs: counts by the symbols at both ends, and the most frequent relation."""

import math
from typing import NamedTuple

import numpy as np

from sklearn_shag.encoding import RIGHT, Alphabet, arcs_of_heads, places_of
from sklearn_shag.utils._arrays import check_codes, check_positive, check_shapes
from sklearn_shag.utils._typing import FloatArray, IntArray

EITHER = 2  # the direction of arcs pooled over both
EVERYTHING = np.iinfo(np.int64).max  # the number of the context of all arcs

# Contexts in the order of look-up: whether arcs are pooled over heads (but for the root symbol,
# whose arcs have a relation of their own), over directions and over modifiers.
BACK_OFF = (
    (False, False, False),
    (True, False, False),
    (True, True, False),
    (False, False, True),
    (True, True, True),
)


class LabelCounts(NamedTuple):
    """Counts of the relations of arcs.

    The rows are sorted and distinct. Arcs whose relation is unknown are not counted.

    Attributes
    ----------
    heads : int ndarray of shape (n_rows,)
        Symbol code of the head. The root symbol has the code ``n_symbols + 1``.
    directions : int ndarray of shape (n_rows,)
        0 for modifiers left of their head, 1 for those right of it and those of the root symbol.
    modifiers : int ndarray of shape (n_rows,)
        Symbol code of the modifier.
    labels : int ndarray of shape (n_rows,)
        The relation: its position among the sorted labels.
    counts : float ndarray of shape (n_rows,)
        How often an arc between these symbols has the relation; positive.

    See Also
    --------
    TreebankStatistics : Holds them, with the meaning of the codes of symbols and labels.
    count_treebank : Counts the relations of a treebank.

    Examples
    --------
    >>> from sklearn_shag.sequences import count_treebank
    >>> from sklearn_shag.treebank import DependencyTree
    >>> tree = DependencyTree(["Dogs", "bark"], [2, 0], deprels=["nsubj", "root"])
    >>> counted = count_treebank([tree])
    >>> heads, directions, modifiers, labels, counts = counted.label_counts
    >>> counted.symbols[modifiers], counted.labels[labels]
    (array(['Dogs', 'bark'], dtype=object), array(['nsubj', 'root'], dtype=object))
    """

    heads: IntArray
    directions: IntArray
    modifiers: IntArray
    labels: IntArray
    counts: FloatArray


class LabelTable(NamedTuple):
    """Frequencies of relations in contexts of arcs, some less specific than others.

    Attributes
    ----------
    n_symbols : int
    contexts : int ndarray of shape (n_contexts,)
        Numbers of contexts that were seen, ascending; the last and largest one is the context of
        all arcs.
    begins : int ndarray of shape (n_contexts + 1,)
        The first cell of each context; its relations are ascending.
    labels : int ndarray of shape (n_cells,)
    counts : ndarray of shape (n_cells,)
    """

    n_symbols: int
    contexts: IntArray
    begins: IntArray
    labels: IntArray
    counts: FloatArray


def check_labels(counts, name, symbols, labels):
    """Check the codes of LabelCounts, and that there are counts if there are labels."""
    n_rows = counts.counts.size
    if bool(n_rows) != bool(labels.size):
        raise ValueError(f"{name} holds {n_rows} counts of {labels.size} labels.")
    check_shapes(counts, [(n_rows,)] * len(counts), name)
    check_codes(
        counts,
        name,
        heads=Alphabet(symbols.size).root,
        directions=RIGHT,
        modifiers=symbols.size - 1,
        labels=labels.size - 1,
    )
    check_positive(counts.counts, f"{name}.counts")


def count_labels(trees):
    """Count the known relations of encoded trees.

    Parameters
    ----------
    trees : EncodedTrees

    Returns
    -------
    counts : LabelCounts
    """
    known = trees.label_codes >= 0
    weights = np.repeat(trees.weights, np.diff(trees.indptr))
    arcs = _list_arcs(trees.codes, trees.heads, trees.indptr, trees.symbols.size)
    rows = (column[known] for column in (*arcs, trees.label_codes, weights))
    return _add_up_labels(trees.symbols.size, trees.labels.size, *rows)


def merge_labels(parts, codes, n_symbols):
    """Add up the relations of several treebanks.

    Parameters
    ----------
    parts : list
        Of statistics that have `labels` and `label_counts`.
    codes : list of int ndarrays
        For each part the codes of its symbols among the symbols of all parts.
    n_symbols : int
        The number of these.

    Returns
    -------
    labels : ndarray of shape (n_labels,), dtype object
    counts : LabelCounts
    """
    known = join_names(part.labels for part in parts)
    alphabet, recoded = Alphabet(n_symbols), []
    for own, part in zip(codes, parts, strict=True):
        heads = np.append(own, [alphabet.unknown_head, alphabet.root])
        labels, counts = np.searchsorted(known, part.labels), part.label_counts
        arcs = heads[counts.heads], counts.directions, own[counts.modifiers]
        recoded.append((*arcs, labels[counts.labels], counts.counts))
    rows = map(np.concatenate, zip(*recoded, strict=True))
    return known, _add_up_labels(n_symbols, known.size, *rows)


def join_names(lists):
    """List all names of several lists, sorted, each once."""
    return np.array(sorted(set().union(*lists)), dtype=object)


def _add_up_labels(n_symbols, n_labels, *rows):
    """Add up equal rows of LabelCounts, and sort them."""
    shape = Alphabet(n_symbols).n_heads, RIGHT + 1, n_symbols, max(n_labels, 1)
    return LabelCounts(*add_up(shape, *rows))


def add_up(shape, *rows):
    """Add up the counts of equal codes, the columns of `rows` but for the last; sort by codes.

    Codes are smaller than the shape says.
    """
    *codes, counts = rows
    cells = np.ravel_multi_index(codes, shape)
    if math.prod(shape) <= cells.size:  # much faster than to sort them
        present = np.flatnonzero(np.bincount(cells))
        sums = np.bincount(cells, weights=counts)[present]
    else:
        present, inverse = np.unique(cells, return_inverse=True)
        sums = np.bincount(inverse, weights=counts, minlength=present.size)
    # (Sums of no rows are integers.)
    return *map(np.ascontiguousarray, np.unravel_index(present, shape)), sums.astype(float)


def tabulate_labels(counts, symbols):
    """Count the relations of every context.

    Parameters
    ----------
    counts : LabelCounts
        Not without rows.
    symbols : ndarray of shape (n_symbols,)

    Returns
    -------
    table : LabelTable
    """
    arcs, n_symbols, n_pools = counts[:3], symbols.size, len(BACK_OFF) + 1
    contexts = [_number_contexts(n_symbols, arcs, *pooled) for pooled in BACK_OFF]
    contexts = np.concatenate([*contexts, np.full(counts.labels.size, EVERYTHING)])
    labels, n_labels = np.tile(counts.labels, n_pools), counts.labels.max() + 1
    contexts, inverse = np.unique(contexts, return_inverse=True)
    rows = inverse, labels, np.tile(counts.counts, n_pools)
    of_cells, labels, sums = add_up((contexts.size, n_labels), *rows)
    begins = np.searchsorted(of_cells, np.arange(contexts.size + 1))
    return LabelTable(n_symbols, contexts, begins, labels, sums)


def find_contexts(table, codes, heads, indptr):
    """Look up the most specific context of every arc that the table has.

    Parameters
    ----------
    table : LabelTable
    codes, heads : int ndarrays of shape (n_tokens,)
        Symbol code and head position, within the sentence, of every token.
    indptr : int ndarray of shape (n_sentences + 1,)

    Returns
    -------
    places : int ndarray of shape (n_tokens,)
        Among the contexts of the table.
    """
    arcs = _list_arcs(codes, heads, indptr, table.n_symbols)
    found_at = np.full(codes.size, table.contexts.size - 1)
    missing = np.arange(codes.size)
    for pooled in BACK_OFF:
        contexts = _number_contexts(table.n_symbols, (part[missing] for part in arcs), *pooled)
        places = np.searchsorted(table.contexts, contexts)
        found = table.contexts[places] == contexts
        found_at[missing[found]] = places[found]
        missing = missing[~found]
    return found_at


def count_relations(table, places, n_labels):
    """Return the counts of each relation in the contexts of arcs, (n_tokens, n_labels)."""
    counts = np.zeros((places.size, n_labels))
    begins, cells = places_of(table.begins, places)
    rows = np.repeat(np.arange(places.size), np.diff(begins))
    counts[rows, table.labels[cells]] = table.counts[cells]
    return counts


def _list_arcs(codes, heads, indptr, n_symbols):
    """List head code, direction and modifier code of the arc to each token."""
    return arcs_of_heads(indptr, heads).symbols(codes, indptr, Alphabet(n_symbols).root)


def _number_contexts(n_symbols, arcs, pool_heads, pool_directions, pool_modifiers):
    """Number contexts; the codes of unknown symbols stand for the pools of all symbols.

    So an arc with an unknown symbol is looked up there at once.
    """
    alphabet, (heads, directions, modifiers) = Alphabet(n_symbols), arcs
    if pool_heads:
        heads = np.where(heads == alphabet.root, heads, alphabet.unknown_head)
    if pool_directions:
        directions = np.full(heads.size, EITHER)
    if pool_modifiers:
        modifiers = np.full(heads.size, alphabet.unknown_modifier)
    return (heads * (EITHER + 1) + directions) * alphabet.n_modifiers + modifiers
