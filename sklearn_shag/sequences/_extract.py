"""Trees to head-modifier sequences and back (theory, eq. 1); equal ones, and prefixes, merged."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sklearn_shag.encoding import LEFT, RIGHT, Alphabet, pair_of, places_of
from sklearn_shag.utils._arrays import (
    as_integers,
    check_codes,
    check_indptr,
    check_range,
    check_shape,
    check_shapes,
)
from sklearn_shag.utils._kernel import kernel, table_kernel
from sklearn_shag.utils._messages import shorten
from sklearn_shag.utils._typing import ArrayLike, FloatArray, IntArray, IntArrayLike


class PrefixTree(NamedTuple):
    """The tree of the distinct prefixes of the sequences of one head and direction.

    Every node is a prefix, and node 0 is the empty one. Parents come before their children.

    Attributes
    ----------
    parent : int ndarray of shape (n_nodes,)
        The node of the prefix without its last symbol; -1 for node 0.
    symbol : int ndarray of shape (n_nodes,)
        Code of the last symbol of the prefix; -1 for node 0.
    weight : float ndarray of shape (n_nodes,)
        The number of sequences that are equal to the prefix.

    See Also
    --------
    build_prefix_trees : Builds the trees of all heads and directions.

    Examples
    --------
    In one sequence, symbol 1 has symbol 0 on its left once, and in another one twice:

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


def check_tree_arrays(codes, heads, indptr, n_symbols):
    """Check the arrays of :func:`extract_sequences`, all but for cycles.

    Returns
    -------
    codes, heads, indptr : int64 ndarrays

    Raises
    ------
    ValueError
        If they are no flat arrays of whole numbers, their sizes do not agree, or a code or a head
        is out of its range.
    """
    codes, heads = as_integers(codes, "codes"), as_integers(heads, "heads")
    check_shape(heads, codes.shape, "heads", "(n_codes,) = ")
    indptr = check_indptr(indptr, codes.size, "indptr", "codes")
    check_range(codes, 0, n_symbols, "codes")
    lengths = np.diff(indptr)
    check_range(heads, 0, np.repeat(lengths, lengths), "heads")
    return codes, heads, indptr


def check_sequences(sequences, n_symbols):
    """Check the arrays of HeadModifierSequences over `n_symbols` symbols.

    Parameters
    ----------
    sequences : HeadModifierSequences
    n_symbols : int
        Modifiers may be the unknown symbol, heads also the root symbol.

    Raises
    ------
    ValueError
        If sizes of arrays do not agree, or a value is out of its range.
    """
    for name in ("heads", "directions", "indptr", "modifiers"):
        as_integers(getattr(sequences, name), f"sequences.{name}")
    n_sequences, n_modifiers = np.size(sequences.heads), np.size(sequences.modifiers)
    each = (n_sequences,)
    check_shapes(sequences, (each, each, (n_sequences + 1,), (n_modifiers,), each), "sequences")
    check_indptr(sequences.indptr, n_modifiers, "sequences.indptr", "modifiers")
    check_codes(
        sequences,
        "sequences",
        heads=Alphabet(n_symbols).root,
        directions=RIGHT,
        modifiers=n_symbols,
    )


class HeadModifierSequences(NamedTuple):
    """Modifier sequences of many (head, direction) pairs, one after the other.

    They are stored in flat arrays, like the rows of a sparse matrix.

    Attributes
    ----------
    heads : int ndarray of shape (n_sequences,)
        Symbol code of the head. The root symbol has the code ``n_symbols + 1``.
    directions : int ndarray of shape (n_sequences,)
        0 for left, 1 for right.
    indptr : int ndarray of shape (n_sequences + 1,)
        Sequence k is ``modifiers[indptr[k]:indptr[k + 1]]``; many are empty.
    modifiers : int ndarray of shape (n_modifiers,)
        Symbol codes, with each sequence from the head outwards: the closest modifier comes first.
    weights : float ndarray of shape (n_sequences,)
        The weight of each sequence.

    See Also
    --------
    extract_sequences : Extracts them from trees.
    collapse_sequences : Merges equal ones.
    sklearn_shag.operators.sequence_values : Computes their values under a grammar.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_shag.sequences import RIGHT, extract_sequences
    >>> codes, heads = np.array([0, 1, 1]), np.array([2, 0, 2])
    >>> sequences = extract_sequences(codes, heads, np.array([0, 3]), n_symbols=2)
    >>> (k,) = np.flatnonzero((sequences.heads == 3) & (sequences.directions == RIGHT))
    >>> sequences.modifiers[sequences.indptr[k] : sequences.indptr[k + 1]]   # of the root symbol
    array([1])
    """

    heads: IntArray
    directions: IntArray
    indptr: IntArray
    modifiers: IntArray
    weights: FloatArray


@table_kernel
def _list_breadth_first(heads, indptr, first, following, tokens, sequence_indptr):
    """List the tokens of every tree breadth-first, each head's modifiers head-outwards.

    The list is its own queue: the modifiers of the k-th token listed are appended in turn.
    Sequence 0 of a tree is the root symbol's, 2k + 1 and 2k + 2 are the k-th token's. Returns the
    first sentence that is not a tree, since tokens in a cycle are never listed; or -1.
    """
    sequence = 0
    # Linked lists of the modifiers of each position, split by side; scans from the far ends
    # put the closest modifier first.
    for s in range(indptr.size - 1):
        start = indptr[s]
        n_tokens = indptr[s + 1] - start
        first[: n_tokens + 1] = 0
        for token in range(1, n_tokens + 1):
            head = heads[start + token - 1]
            if token < head:
                following[token] = first[head, LEFT]
                first[head, LEFT] = token
        for token in range(n_tokens, 0, -1):
            head = heads[start + token - 1]
            if token > head:
                following[token] = first[head, RIGHT]
                first[head, RIGHT] = token
        end = start
        for k in range(-1, n_tokens):
            if k >= 0 and start + k >= end:
                return s
            position = 0 if k < 0 else tokens[start + k] - start + 1
            for direction in range(RIGHT if k < 0 else LEFT, RIGHT + 1):
                token = first[position, direction]
                while token:
                    tokens[end] = start + token - 1
                    end += 1
                    token = following[token]
                sequence += 1
                sequence_indptr[sequence] = end
    return -1


def extract_sequences(
    codes: IntArrayLike,
    heads: IntArrayLike,
    indptr: IntArrayLike,
    n_symbols: int,
    sample_weight: ArrayLike | None = None,
) -> HeadModifierSequences:
    """Extract the modifier sequences of every head and direction from trees.

    Every token yields a left and a right sequence, possibly empty, and every sentence the right
    sequence of its root symbol (Luque et al. 2012, sec. 2.1). Non-projective trees have sequences
    like any other tree.

    Parameters
    ----------
    codes : int ndarray of shape (n_tokens,)
        Symbol codes of all sentences, one after the other.
    heads : int ndarray of shape (n_tokens,)
        Head positions within the sentence, 1-based, 0 for the root; each sentence must be a tree.
    indptr : int ndarray of shape (n_sentences + 1,)
        Sentence s is ``codes[indptr[s]:indptr[s + 1]]``.
    n_symbols : int
        The root symbol gets the code ``n_symbols + 1`` (``n_symbols`` is the unknown symbol).
    sample_weight : None or float ndarray of shape (n_sentences,), default=None
        The weight of each sentence; None for a weight of 1.

    Returns
    -------
    sequences : HeadModifierSequences
        ``2 * n_tokens + n_sentences`` sequences. Those of one sentence are in breadth-first order.
        The sequence of the root symbol comes first, followed by the left and right ones of each
        token, in the order in which the tokens occur in these sequences.

    Raises
    ------
    ValueError
        If sizes do not agree, a code or a head is out of range, or heads are not a tree.

    See Also
    --------
    assemble_trees : The inverse.
    collect_statistics : Counts the trigrams of sequences.
    count_treebank : Counts the trigrams of the trees of a treebank.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_shag.sequences import extract_sequences
    >>> codes, heads = np.array([0, 1, 2]), np.array([2, 3, 0])    # the <- dog <- barks
    >>> sequences = extract_sequences(codes, heads, np.array([0, 3]), n_symbols=3)
    >>> sequences.heads                                            # 4 is the root symbol
    array([4, 2, 2, 1, 1, 0, 0])
    >>> sequences.modifiers, sequences.indptr
    (array([2, 1, 0]), array([0, 1, 2, 2, 3, 3, 3, 3]))
    """
    codes, heads, indptr = check_tree_arrays(codes, heads, indptr, n_symbols)
    weights = np.ones(indptr.size - 1) if sample_weight is None else sample_weight
    check_shape(weights, (indptr.size - 1,), "sample_weight", "(n_sentences,) = ")
    return take_trees_apart(codes, heads, indptr, n_symbols, weights)


def take_trees_apart(codes, heads, indptr, n_symbols, weights):
    """Extract the HeadModifierSequences of trees from arrays that have been checked."""
    tokens, longest = np.empty(codes.size, dtype=np.int64), np.diff(indptr).max(initial=0) + 1
    sequence_indptr = np.zeros(2 * codes.size + indptr.size, dtype=np.int64)
    first, following = np.empty((longest, 2), np.int64), np.empty(longest, np.int64)
    cyclic = _list_breadth_first(heads, indptr, first, following, tokens, sequence_indptr)
    if cyclic >= 0:
        of_sentence = heads[indptr[cyclic] : indptr[cyclic + 1]]
        raise ValueError(f"The heads of sentence {cyclic} are not a tree: {shorten(of_sentence)}.")
    sequences = breadth_first_sequences(codes[tokens], sequence_indptr, indptr, n_symbols)
    return sequences._replace(weights=np.repeat(weights, 2 * np.diff(indptr) + 1))


def breadth_first_sequences(modifiers, sequence_indptr, indptr, n_symbols):
    """Make HeadModifierSequences of the modifiers of derivations in breadth-first order."""
    n_sentences, n_tokens = indptr.size - 1, modifiers.size
    is_token = np.ones(sequence_indptr.size - 1, dtype=bool)
    is_token[2 * indptr[:-1] + np.arange(n_sentences)] = False
    heads = np.full(is_token.size, Alphabet(n_symbols).root, dtype=np.int64)
    heads[is_token] = np.repeat(modifiers, 2)
    directions = np.full(is_token.size, RIGHT, dtype=np.int64)
    directions[is_token] = np.tile([LEFT, RIGHT], n_tokens)
    return HeadModifierSequences(
        heads, directions, sequence_indptr, modifiers, np.ones(is_token.size)
    )


@kernel
def _linearise_trees(indptr, sequence_indptr, order, heads):
    """Find the place in the sentence of every modifier and its head (theory, eq. 1)."""
    sequence = 0
    for s in range(indptr.size - 1):
        start, n_tokens = indptr[s], indptr[s + 1] - indptr[s]
        # By rank in breadth-first order: the head's rank, the side, and the size of each subtree.
        parent = np.full(n_tokens, -1)
        side = np.full(n_tokens, RIGHT)
        size = np.ones(n_tokens, dtype=np.int64)
        left_size = np.zeros(n_tokens, dtype=np.int64)
        for k in range(n_tokens):
            for direction in range(2):
                q = sequence + 1 + 2 * k + direction
                for rank in range(sequence_indptr[q] - start, sequence_indptr[q + 1] - start):
                    parent[rank], side[rank] = k, direction
        for rank in range(n_tokens - 1, -1, -1):
            if parent[rank] >= 0:
                size[parent[rank]] += size[rank]
                if side[rank] == LEFT:
                    left_size[parent[rank]] += size[rank]
        # Head-outwards, the modifiers of a head claim the free places beside it in turn; those of
        # the root symbol lie side by side.
        place = np.empty(n_tokens, dtype=np.int64)
        free = np.empty((n_tokens + 1, 2), dtype=np.int64)
        free[n_tokens, RIGHT] = 0
        for rank in range(n_tokens):
            up = parent[rank] if parent[rank] >= 0 else n_tokens
            if side[rank] == LEFT:
                free[up, LEFT] -= size[rank]
                begin = free[up, LEFT]
            else:
                begin = free[up, RIGHT]
                free[up, RIGHT] += size[rank]
            place[rank] = begin + left_size[rank]
            free[rank, LEFT], free[rank, RIGHT] = place[rank], place[rank] + 1
        for rank in range(n_tokens):
            order[start + place[rank]] = start + rank
            up = parent[rank]
            heads[start + place[rank]] = place[up] + 1 if up >= 0 else 0
        sequence += 2 * n_tokens + 1


def assemble_trees(
    sequences: HeadModifierSequences, indptr: IntArrayLike
) -> tuple[IntArray, IntArray]:
    """Assemble trees from head-modifier sequences, the inverse of :func:`extract_sequences`.

    Parameters
    ----------
    sequences : HeadModifierSequences
        In breadth-first order, as :func:`extract_sequences` lists them.
    indptr : int ndarray of shape (n_sentences + 1,)
        Where each sentence starts among all tokens.

    Returns
    -------
    codes : int ndarray of shape (n_tokens,)
        Symbol codes in sentence order.
    heads : int ndarray of shape (n_tokens,)
        Head positions within the sentence, 1-based, 0 for the root. The trees are
        projective; a non-projective tree comes back with its words rearranged.

    Raises
    ------
    ValueError
        If sizes do not agree, or sequences are not listed breadth-first.

    See Also
    --------
    extract_sequences : Extracts sequences from trees.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_shag.sequences import assemble_trees, extract_sequences
    >>> codes, heads, indptr = np.array([0, 1, 2]), np.array([2, 3, 0]), np.array([0, 3])
    >>> assemble_trees(extract_sequences(codes, heads, indptr, n_symbols=3), indptr)
    (array([0, 1, 2]), array([2, 3, 0]))
    """
    indptr = check_indptr(indptr, sequences.modifiers.size, "indptr", "modifiers")
    _check_breadth_first(sequences.indptr, indptr, sequences.modifiers.size)
    order, heads = np.empty((2, sequences.modifiers.size), dtype=np.int64)
    _linearise_trees(indptr, sequences.indptr, order, heads)
    return sequences.modifiers[order], heads


def _check_breadth_first(sequence_indptr, indptr, n_tokens):
    """Check that sequences cover whole sentences, and that heads precede modifiers."""
    n_sentences = indptr.size - 1
    shape, symbols = (2 * n_tokens + n_sentences + 1,), "(2 * n_tokens + n_sentences + 1,) = "
    check_shape(sequence_indptr, shape, "sequences.indptr", symbols)
    check_indptr(sequence_indptr, n_tokens, "sequences.indptr", "modifiers")
    of_roots = 2 * indptr[:-1] + np.arange(n_sentences)
    starts, ends = sequence_indptr[:-1], sequence_indptr[1:]
    tokens = np.repeat(np.arange(n_tokens), 2)
    is_late = (np.delete(starts, of_roots) <= tokens) & (np.delete(ends, of_roots) > tokens)
    if is_late.any() or (starts[of_roots] != indptr[:-1]).any():
        raise ValueError(
            "The sequences are not those of whole sentences, one after the other, in breadth-first "
            "order, as extract_sequences lists them."
        )


def collapse_sequences(sequences: HeadModifierSequences) -> HeadModifierSequences:
    """Merge equal sequences of the same head and direction, adding up their weights.

    Parameters
    ----------
    sequences : HeadModifierSequences
        The sequences of all heads and directions, in any order.

    Returns
    -------
    sequences : HeadModifierSequences
        Distinct sequences, ordered by head and direction.

    See Also
    --------
    build_prefix_trees : Merges equal beginnings as well.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_shag.sequences import collapse_sequences, extract_sequences
    >>> codes, heads = np.array([0, 1, 0, 1]), np.array([2, 0, 2, 0])
    >>> sequences = extract_sequences(codes, heads, np.array([0, 2, 4]), n_symbols=2)
    >>> collapse_sequences(sequences).weights
    array([2., 2., 2., 2., 2.])
    """
    pairs = pair_of(sequences.heads, sequences.directions)
    node, pair, _, _ = number_prefixes(pairs, sequences.indptr, sequences.modifiers)
    ends, chosen, inverse = np.unique(node, return_index=True, return_inverse=True)
    weights = np.bincount(inverse, weights=sequences.weights)
    by_pair = np.argsort(pair[ends], kind="stable")
    return take_sequences(sequences, chosen[by_pair])._replace(weights=weights[by_pair])


def take_sequences(sequences, chosen):
    """Take the sequences at the positions `chosen`, in that order."""
    heads, directions, indptr, modifiers, weights = sequences
    indptr, places = places_of(indptr, chosen)
    return HeadModifierSequences(
        heads[chosen], directions[chosen], indptr, modifiers[places], weights[chosen]
    )


def build_prefix_trees(sequences: HeadModifierSequences, n_symbols: int) -> list[PrefixTree]:
    """Build the prefix tree of every head and direction, and of the pools of all heads.

    Values that depend on a prefix only, such as its forward vector, need to be computed only once
    per node. In a treebank of English, 400,000 sequences have 9,000 distinct prefixes.

    Parameters
    ----------
    sequences : HeadModifierSequences
        The sequences of all heads and directions, in any order.
    n_symbols : int
        Number of known symbols; sequences of the root symbol, ``n_symbols + 1``, are left out.

    Returns
    -------
    trees : list of PrefixTree, length 2 * (n_symbols + 1)
        The tree of head h and direction d is at ``2 * h + d``; head ``n_symbols`` is the pool.

    See Also
    --------
    collapse_sequences : Merges whole sequences only.
    sklearn_shag.EMSHAG : Learns from such trees.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_shag.sequences import build_prefix_trees, extract_sequences
    >>> codes, heads = np.array([0, 0, 1, 0, 1]), np.array([3, 3, 0, 2, 0])
    >>> sequences = extract_sequences(codes, heads, np.array([0, 3, 5]), n_symbols=2)
    >>> tree = build_prefix_trees(sequences, n_symbols=2)[2 * 1 + 0]
    >>> tree.symbol, tree.weight
    (array([-1,  0,  0]), array([0., 1., 1.]))
    """
    check_sequences(sequences, n_symbols)
    return list_prefix_trees(sequences, n_symbols)


def list_prefix_trees(sequences, n_symbols):
    """List the PrefixTree of every head and direction of sequences that have been checked."""
    collapsed, alphabet = collapse_sequences(sequences), Alphabet(n_symbols)
    own = take_sequences(collapsed, np.flatnonzero(collapsed.heads != alphabet.root))
    # Every sequence once more, as one of the pool.
    twice = take_sequences(own, np.tile(np.arange(own.heads.size), 2))
    heads = np.concatenate([own.heads, np.full_like(own.heads, alphabet.unknown_head)])
    pairs = pair_of(heads, twice.directions)
    node, pair, parent, symbol = number_prefixes(pairs, twice.indptr, twice.modifiers)
    weight = np.bincount(node, weights=twice.weights, minlength=pair.size)
    # By pair, each in the order of its numbers: the parents first.
    order = np.argsort(pair, kind="stable")
    cuts = np.searchsorted(pair[order], np.arange(alphabet.n_pairs + 1))
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    trees = []
    for start, stop in pairwise(cuts):
        nodes = order[start:stop]
        parents = np.where(parent[nodes] < 0, -1, rank[parent[nodes]] - start)
        trees.append(PrefixTree(parents, symbol[nodes], weight[nodes]))
    return trees
