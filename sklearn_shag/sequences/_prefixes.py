"""Sequences by their beginnings: what depends on a prefix only is computed once."""

from typing import NamedTuple

import numpy as np

from sklearn_shag.utils._typing import FloatArray, IntArray


class PrefixTree(NamedTuple):
    """The distinct prefixes of the sequences of one head and direction, each a node.

    Node 0 is the empty prefix. Parents come before their children.

    Attributes
    ----------
    parent : int ndarray of shape (n_nodes,)
        The node of the prefix without its last symbol; -1 for node 0.
    symbol : int ndarray of shape (n_nodes,)
        Code of the last symbol of the prefix; -1 for node 0.
    weight : float ndarray of shape (n_nodes,)
        How many sequences end here: are equal to the prefix.

    See Also
    --------
    build_prefix_trees : Makes them for all heads and directions.

    Examples
    --------
    The symbol 1 has the symbol 0 on its left once, and twice once:

    >>> import numpy as np
    >>> from sklearn_shag.sequences import build_prefix_trees, extract_sequences
    >>> codes, heads = np.array([0, 0, 1, 0, 1]), np.array([3, 3, 0, 2, 0])
    >>> sequences = extract_sequences(codes, heads, np.array([0, 3, 5]), n_symbols=2)
    >>> build_prefix_trees(sequences, n_symbols=2)[2 * 1 + 0]
    PrefixTree(parent=array([-1,  0,  1]), symbol=array([-1,  0,  0]), weight=array([0., 1., 1.]))
    """

    parent: IntArray
    symbol: IntArray
    weight: FloatArray


def number_prefixes(kinds, indptr, symbols):
    """Number the distinct prefixes of sequences of several kinds, shorter ones first.

    Parameters
    ----------
    kinds : int ndarray of shape (n_sequences,)
    indptr : int ndarray of shape (n_sequences + 1,)
    symbols : int ndarray of shape (n_tokens,)
        Of all sequences, one after the other.

    Returns
    -------
    ends : int ndarray of shape (n_sequences,)
        The node in which each sequence ends.
    kind, parent, symbol : int ndarrays of shape (n_nodes,)
        Of every node, the symbol being the last one. The first nodes are the empty prefixes.
    """
    lengths = np.diff(indptr)
    kinds, node = np.unique(kinds, return_inverse=True)
    root = np.full(kinds.size, -1)
    levels = [(kinds, root, root)]
    n_nodes = kinds.size
    # All sequences walk down their trees together, a symbol a step; few are long.
    walking = np.arange(lengths.size)
    symbol_range = symbols.max(initial=0) + 1
    for step in range(lengths.max(initial=0)):
        walking = walking[lengths[walking] > step]
        own = symbols[indptr[walking] + step]
        keys, inverse = np.unique(node[walking] * symbol_range + own, return_inverse=True)
        parent, symbol = np.divmod(keys, symbol_range)
        first_of_level = n_nodes - levels[-1][0].size
        levels.append((levels[-1][0][parent - first_of_level], parent, symbol))
        node[walking] = n_nodes + inverse
        n_nodes += keys.size
    return node, *map(np.concatenate, zip(*levels, strict=True))
