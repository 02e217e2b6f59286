"""Sufficient statistics of sequences, and moments from them (theory, eqs. 5-9, 32)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from sklearn_shag.encoding import LEFT, RIGHT, Alphabet, encode_trees, pair_of, split_pair
from sklearn_shag.sequences._extract import (
    HeadModifierSequences,
    check_sequences,
    collapse_sequences,
    take_sequences,
    take_trees_apart,
)
from sklearn_shag.sequences._labels import (
    LabelCounts,
    add_up,
    count_labels,
    join_names,
    merge_labels,
)
from sklearn_shag.treebank import Heads, Sentences
from sklearn_shag.utils._arrays import check_codes, check_indptr, check_positive, check_shapes
from sklearn_shag.utils._kernel import table_kernel
from sklearn_shag.utils._typing import ArrayLike, FloatArray, IntArray, ObjectArray


class SequenceStatistics(NamedTuple):
    """Trigram counts of the sequences of every head and direction.

    Every sequence has START before its first modifier and STOP after its last one. Each modifier is
    the middle of trigrams that consist of a symbol before it, the modifier, and a symbol after it.
    The symbol before it is the previous symbol (or START), or one further away, and each choice
    makes its own trigram; likewise after it. These counts and the number of sequences determine the
    counts of bigrams (eqs. 6, 7 and 32 of the theory page).

    Attributes
    ----------
    roots : float ndarray of shape (n_symbols,)
        How often each symbol is the root of a sentence.
    n_sequences : float ndarray of shape (n_symbols + 1, 2)
        Number of sequences of each head and direction (0 left, 1 right). The last head is
        the pool of all heads.
    indptr : int ndarray of shape (2 * (n_symbols + 1) + 1,)
        The trigrams of head h in direction d begin at ``indptr[2 * h + d]``.
    first, middle, last : int ndarrays of shape (n_trigrams,)
        Symbol codes. In `first`, code a means that symbol a directly precedes the middle one,
        ``n_symbols`` that nothing does (START), and ``n_symbols + 1 + a`` that a occurs further
        before it. The codes of `last` do the same for what follows, with STOP.
    counts : float ndarray of shape (n_trigrams,)
        The counts. A symbol that occurs further away several times counts each time.

    See Also
    --------
    collect_statistics : Collects them from sequences.
    pair_moments : Estimates moments from them.
    TreebankStatistics : Adds the names of symbols.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_shag.sequences import LEFT, collect_statistics, extract_sequences
    >>> codes, heads = np.array([0, 1, 1]), np.array([2, 0, 2])
    >>> sequences = extract_sequences(codes, heads, np.array([0, 3]), n_symbols=2)
    >>> statistics = collect_statistics(sequences, n_symbols=2)
    >>> pair = slice(*statistics.indptr[2 * 1 + LEFT :][:2])
    >>> [of[pair].item() for of in (statistics.first, statistics.middle, statistics.last)]
    [2, 0, 2]
    """

    roots: FloatArray
    n_sequences: FloatArray
    indptr: IntArray
    first: IntArray
    middle: IntArray
    last: IntArray
    counts: FloatArray


class TreebankStatistics(NamedTuple):
    """The statistics of a treebank, with the symbols and labels that their codes stand for.

    Because they hold the symbols, statistics of different treebanks can be merged.

    Attributes
    ----------
    symbols : ndarray of shape (n_symbols,), dtype object
        Distinct symbols (str), sorted; the code of each is its position.
    statistics : SequenceStatistics
        The trigram counts of the symbols.
    labels : ndarray of shape (n_labels,), dtype object
        Distinct relations of arcs (str), sorted, as in the DEPREL column of trees; empty if none
        are known.
    label_counts : LabelCounts
        The counts of the relations.

    See Also
    --------
    count_treebank : Computes them from trees.
    merge_statistics : Merges the statistics of several treebanks.
    sklearn_shag.SpectralSHAG.fit_statistics : Learns from them.

    Examples
    --------
    >>> from sklearn_shag import DeterministicSHAG
    >>> from sklearn_shag.sequences import count_treebank
    >>> counted = count_treebank([["DET", "NOUN"], ["NOUN", "VERB"]], [[2, 0], [2, 0]])
    >>> dict(zip(counted.symbols, counted.statistics.roots.tolist()))
    {'DET': 0.0, 'NOUN': 1.0, 'VERB': 1.0}
    >>> DeterministicSHAG().fit_statistics(counted).predict([["DET", "NOUN"]])[0]
    array([2, 0])
    """

    symbols: ObjectArray
    statistics: SequenceStatistics
    labels: ObjectArray
    label_counts: LabelCounts


class Moments(NamedTuple):
    """Expected n-gram counts in one sequence of one head and direction.

    Codes of rows and columns are those of :class:`SequenceStatistics`: ``n_symbols`` is START or
    STOP. Larger codes are symbols further away and occur only if these were requested.

    Attributes
    ----------
    n_symbols : int
        Number of known symbols.
    n_sequences : float
        The number of sequences that the counts come from, pseudo-sequences included; infinite for
        exact expectations.
    bigrams : ndarray of shape (n_codes, n_codes)
        The matrix P: rows are what follows, columns what came before. `n_codes` is
        ``n_symbols + 1``, or ``2 * n_symbols + 1`` with symbols further away.
    first, middle, last : int ndarrays of shape (n_trigrams,)
        The non-zero entries of the matrices P_b: b is `middle`, the row is `last`, the column is
        `first`. If an entry is listed more than once, its value is the sum.
    trigrams : ndarray of shape (n_trigrams,)
        The values of these entries.

    See Also
    --------
    pair_moments : Estimates them from counts.
    sklearn_shag.operators.exact_moments : Computes them for a known automaton.
    sklearn_shag.learning.learn_grammar : Learns automata from them.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_shag.operators import Operators, exact_moments
    >>> coin = Operators(np.array([1.0]), np.array([0.5]), np.array([[[0.25]], [[0.25]]]))
    >>> moments = exact_moments(coin)
    >>> float(moments.bigrams[2, 2])             # STOP follows START: an empty sequence
    0.5
    >>> float(moments.bigrams.sum())             # one more than a sequence has modifiers
    2.0
    """

    n_symbols: int
    n_sequences: float
    bigrams: FloatArray
    first: IntArray
    middle: IntArray
    last: IntArray
    trigrams: FloatArray


def check_trigrams(statistics, name, symbols):
    """Check SequenceStatistics: learners trust their codes and places."""
    alphabet, n_trigrams = Alphabet(symbols.size), statistics.counts.size
    check_shapes(
        statistics,
        (
            (symbols.size,),
            (alphabet.n_learned, 2),
            (alphabet.n_pairs + 1,),
            *[(n_trigrams,)] * 4,
        ),
        name,
    )
    check_indptr(statistics.indptr, n_trigrams, f"{name}.indptr", "trigrams")
    beside = alphabet.n_contexts - 1
    check_codes(
        statistics,
        name,
        first=beside,
        middle=symbols.size - 1,
        last=beside,
        roots=np.inf,
        n_sequences=np.inf,
    )
    check_positive(statistics.counts, f"{name}.counts")


def collect_statistics(sequences: HeadModifierSequences, n_symbols: int) -> SequenceStatistics:
    """Count the trigrams of head-modifier sequences, by head and direction and pooled.

    Parameters
    ----------
    sequences : HeadModifierSequences
        The sequences of all heads and directions, in any order.
    n_symbols : int
        Number of known symbols; the root symbol has the code ``n_symbols + 1``.

    Returns
    -------
    statistics : SequenceStatistics
        Trigrams are sorted, and the counts of equal ones are added up.

    Raises
    ------
    ValueError
        If there are so many symbols that trigrams cannot be numbered in 64 bits, the arrays of
        `sequences` do not agree, or a modifier is the unknown symbol.

    See Also
    --------
    count_treebank : Counts the trigrams of a treebank.
    pair_moments : Estimates the moments of one head and direction.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_shag.sequences import collect_statistics, extract_sequences
    >>> codes, heads = np.array([0, 1, 1]), np.array([2, 0, 2])
    >>> sequences = extract_sequences(codes, heads, np.array([0, 3]), n_symbols=2)
    >>> statistics = collect_statistics(sequences, n_symbols=2)
    >>> statistics.n_sequences
    array([[1., 1.],
           [2., 2.],
           [3., 3.]])
    >>> statistics.roots
    array([0., 1.])
    """
    _check_n_symbols(n_symbols)
    check_sequences(sequences, n_symbols)
    check_codes(sequences, "sequences", modifiers=n_symbols - 1)  # no trigram has an unknown one
    return _count_trigrams(sequences, n_symbols)


def _count_trigrams(sequences, n_symbols):
    """Count the trigrams of sequences that have been checked, as SequenceStatistics."""
    collapsed, alphabet = collapse_sequences(sequences), Alphabet(n_symbols)
    of_root = collapsed.heads == alphabet.root
    root_sequences = take_sequences(collapsed, np.flatnonzero(of_root))
    of_modifiers = np.repeat(root_sequences.weights, np.diff(root_sequences.indptr))
    roots = np.bincount(root_sequences.modifiers, of_modifiers, minlength=n_symbols)
    own = take_sequences(collapsed, np.flatnonzero(~of_root))
    pairs = pair_of(own.heads, own.directions)
    n_sequences = np.bincount(pairs, weights=own.weights, minlength=alphabet.n_pairs).reshape(-1, 2)
    n_sequences[alphabet.unknown_head] = n_sequences.sum(axis=0)

    space = np.empty((3, n_symbols), np.int64)
    nothing = np.zeros((4, 0), np.int64), np.zeros(0)
    n_trigrams = _list_trigrams(own, pairs, n_symbols, space, *nothing)
    codes, counts = np.empty((4, n_trigrams), np.int64), np.empty(n_trigrams)
    _list_trigrams(own, pairs, n_symbols, space, codes, counts)
    indptr, *trigrams = _add_up_trigrams(n_symbols, *codes, counts)
    # The pool of all heads comes last.
    _, directions = split_pair(np.repeat(np.arange(alphabet.n_pairs), np.diff(indptr)))
    pooled = _add_up_trigrams(n_symbols, pair_of(alphabet.unknown_head, directions), *trigrams)
    pools = slice(pair_of(alphabet.unknown_head, LEFT), None)
    indptr[pools] = indptr[-1] + pooled[0][pools]
    trigrams = (np.concatenate(both) for both in zip(trigrams, pooled[1:], strict=True))
    return SequenceStatistics(roots, n_sequences, indptr, *trigrams)


@table_kernel
def _list_trigrams(sequences, pairs, n_symbols, space, codes, counts):
    """List pair, first, middle and last of all trigrams with their counts; return their number.

    With empty arrays they are only counted.
    """
    n = 0
    earlier, later, present = space[0], space[1], space[2]
    for s in range(pairs.size):
        x = sequences.modifiers[sequences.indptr[s] : sequences.indptr[s + 1]]
        n_present = 0
        earlier[:] = later[:] = 0
        for symbol in x:
            if later[symbol] == 0:
                present[n_present] = symbol
                n_present += 1
            later[symbol] += 1
        for t in range(x.size):
            # `earlier` counts the symbols up to the last but one, `later` those from the next but
            # one on; the neighbours themselves, START and STOP have k = -1.
            if t >= 2:
                earlier[x[t - 2]] += 1
            if t == 0:
                later[x[0]] -= 1
            if t + 1 < x.size:
                later[x[t + 1]] -= 1
            for k in range(-1, n_present):
                before = 1 if k < 0 else earlier[present[k]]
                if before == 0:
                    continue
                neighbour = x[t - 1] if t > 0 else n_symbols
                first = neighbour if k < 0 else n_symbols + 1 + present[k]
                for m in range(-1, n_present):
                    after = 1 if m < 0 else later[present[m]]
                    if after == 0:
                        continue
                    if counts.size:
                        neighbour = x[t + 1] if t + 1 < x.size else n_symbols
                        last = neighbour if m < 0 else n_symbols + 1 + present[m]
                        codes[0, n], codes[1, n] = pairs[s], first
                        codes[2, n], codes[3, n] = x[t], last
                        counts[n] = sequences.weights[s] * before * after
                    n += 1
    return n


def _add_up_trigrams(n_symbols, pairs, first, middle, last, counts):
    """Add up equal trigrams; returns indptr, first, middle, last and counts, sorted by pair."""
    alphabet = Alphabet(n_symbols)
    shape = alphabet.n_pairs, alphabet.n_modifiers, alphabet.n_contexts, alphabet.n_contexts
    pairs, middle, last, first, counts = add_up(shape, pairs, middle, last, first, counts)
    indptr = np.searchsorted(pairs, np.arange(alphabet.n_pairs + 1))
    return indptr, first, middle, last, counts


def _check_n_symbols(n_symbols):
    if 2 * Alphabet(n_symbols).n_contexts ** 4 > np.iinfo(np.int64).max:
        raise ValueError(
            f"{n_symbols} symbols are too many to count their trigrams; merge rare symbols, for "
            f"example with TokenFeature(min_count=...)."
        )


def sequences_of(trees):
    """Return the HeadModifierSequences of encoded trees."""
    return take_trees_apart(
        trees.codes, trees.heads, trees.indptr, trees.symbols.size, trees.weights
    )


def count_trees(trees, sequences=None):
    """Count the trigrams of encoded trees.

    Parameters
    ----------
    trees : EncodedTrees
    sequences : None or HeadModifierSequences, default=None
        The sequences of the trees; None to extract them.

    Returns
    -------
    statistics : TreebankStatistics
    """
    sequences = sequences_of(trees) if sequences is None else sequences
    _check_n_symbols(trees.symbols.size)
    statistics = _count_trigrams(sequences, trees.symbols.size)
    return TreebankStatistics(trees.symbols, statistics, trees.labels, count_labels(trees))


def count_treebank(
    X: Sentences, y: Heads | None = None, sample_weight: ArrayLike | None = None
) -> TreebankStatistics:
    """Count the trigrams of trees, from which :class:`~sklearn_shag.SpectralSHAG` learns.

    Parameters
    ----------
    X : sequence of length n_sentences
        ``X[i]`` is a DependencyTree, or a sequence of n_tokens_i symbols (str).
    y : None or sequence of length n_sentences, default=None
        ``y[i]`` holds n_tokens_i heads, 1-based, 0 for the root, or is a DependencyTree. None takes
        the heads from the trees in X.
    sample_weight : None or array-like of shape (n_sentences,), default=None
        The weight of each sentence.

    Returns
    -------
    statistics : TreebankStatistics
        Their size depends on the number of distinct trigrams, not on the number of sentences.

    Raises
    ------
    ValueError
        If X is empty, a sentence has no tokens, heads are missing, unknown (-1) or not a tree, or
        weights are negative or all zero.
    TypeError
        If symbols are not strings.

    See Also
    --------
    merge_statistics : Adds up the statistics of several treebanks.
    sklearn_shag.SpectralSHAG.fit_statistics : Learns from them.

    Examples
    --------
    >>> from sklearn_shag.sequences import count_treebank
    >>> counted = count_treebank([["DET", "NOUN"], ["NOUN", "VERB"]], [[2, 0], [2, 0]])
    >>> counted.symbols
    array(['DET', 'NOUN', 'VERB'], dtype=object)
    >>> counted.statistics.roots
    array([0., 1., 1.])
    """
    return count_trees(encode_trees(X, y, sample_weight))


def check_statistics(value, name):
    """Check that a value is TreebankStatistics, and return it."""
    if not isinstance(value, TreebankStatistics):
        raise TypeError(
            f"{name} must be TreebankStatistics, got {type(value).__name__}. Count trees with "
            f"count_treebank, or pass them to fit."
        )
    return value


def merge_statistics(parts: Iterable[TreebankStatistics]) -> TreebankStatistics:
    """Add up the statistics of several treebanks, as if they had been counted as one.

    Parameters
    ----------
    parts : iterable of TreebankStatistics
        At least one part. Their symbols may differ. Few are in memory at once.

    Returns
    -------
    statistics : TreebankStatistics
        The sum. It is identical to the last bit for any order and any division into parts, as long
        as sums of weights are exact, such as those of integers.

    Raises
    ------
    ValueError
        If there are no parts, or together they have so many symbols that trigrams cannot be
        numbered in 64 bits.
    TypeError
        If a part has another type, such as a tree.

    See Also
    --------
    count_treebank : Counts a treebank.
    sklearn_shag.SpectralSHAG.partial_fit : Adds trees to those of an estimator.

    Examples
    --------
    >>> from sklearn_shag.sequences import count_treebank, merge_statistics
    >>> one, two = count_treebank([["DET", "NOUN"]], [[2, 0]]), count_treebank([["VERB"]], [[0]])
    >>> merged = merge_statistics([one, two])
    >>> merged.symbols
    array(['DET', 'NOUN', 'VERB'], dtype=object)
    >>> merged.statistics.roots
    array([0., 1., 1.])
    """
    checked = (check_statistics(part, f"parts[{k}]") for k, part in enumerate(parts))
    return add_in_pairs(checked, _merge_parts)


def _merge_parts(parts):
    if not parts:
        raise ValueError("There are no statistics to merge; at least one part is needed.")
    known = join_names(part.symbols for part in parts)
    n_symbols = known.size
    _check_n_symbols(n_symbols)
    alphabet = Alphabet(n_symbols)
    roots, n_sequences = np.zeros(n_symbols), np.zeros((alphabet.n_learned, 2))
    own_codes = [np.searchsorted(known, part.symbols) for part in parts]
    recoded = []
    for own, part in zip(own_codes, parts, strict=True):
        statistics = part.statistics
        roots[own] += statistics.roots
        heads = np.append(own, alphabet.unknown_head)
        n_sequences[heads] += statistics.n_sequences
        pairs = pair_of(heads[:, None], [LEFT, RIGHT]).ravel()
        codes = np.concatenate([own, [alphabet.boundary], alphabet.further(own)])
        recoded.append(
            (
                np.repeat(pairs, np.diff(statistics.indptr)),
                codes[statistics.first],
                codes[statistics.middle],
                codes[statistics.last],
                statistics.counts,
            )
        )
    columns = map(np.concatenate, zip(*recoded, strict=True))
    statistics = SequenceStatistics(roots, n_sequences, *_add_up_trigrams(n_symbols, *columns))
    return TreebankStatistics(known, statistics, *merge_labels(parts, own_codes, n_symbols))


def add_in_pairs(parts, merge):
    """Add up any number of statistics, of which few are in memory at once.

    Neighbours that stand for as many parts are added up, as one carries in binary numbers: what
    has grown large is seldom merged again.

    Parameters
    ----------
    parts : iterable
    merge : callable
        Takes a list of statistics, and returns their sum.

    Returns
    -------
    statistics : object
    """
    held = []
    for k, part in enumerate(parts, start=1):
        while not k % 2:
            part, k = merge([held.pop(), part]), k // 2
        held.append(part)
    return held[0] if len(held) == 1 else merge(held)


SMALLEST_DIVISOR = 2.0**-900


def pair_moments(
    statistics: SequenceStatistics,
    head: int,
    direction: int,
    smoothing: float = 0.0,
    context: float = 0.0,
) -> Moments:
    """Estimate the moments of one head and direction (eqs. 6-9 of the theory page).

    Parameters
    ----------
    statistics : SequenceStatistics
        The statistics of all heads and directions.
    head : int
        Symbol code, or ``n_symbols`` for the pool of all heads.
    direction : int
        0 for left, 1 for right.
    smoothing : float, default=0.0
        The number of sequences of the pool of the same direction that are added to the head's own.
    context : float, default=0.0
        Weight of symbols further away. With 0, rows and columns stand for neighbours only.

    Returns
    -------
    moments : Moments
        Counts divided by the number of sequences, both the head's own and the pooled ones.

    See Also
    --------
    sklearn_shag.operators.exact_moments : Computes the moments of a known automaton.
    sklearn_shag.learning.learn_grammar : Calls this function for every head and direction.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_shag.sequences import (
    ...     collect_statistics, extract_sequences, pair_moments)
    >>> codes, heads = np.array([0, 1, 1]), np.array([2, 0, 2])
    >>> sequences = extract_sequences(codes, heads, np.array([0, 3]), n_symbols=2)
    >>> statistics = collect_statistics(sequences, n_symbols=2)
    >>> pair_moments(statistics, head=1, direction=0).bigrams
    array([[0. , 0. , 0.5],
           [0. , 0. , 0. ],
           [0.5, 0. , 0.5]])
    """
    alphabet = Alphabet(statistics.roots.size)
    total = statistics.n_sequences[head, direction] + smoothing
    parts = [(head, 1.0, total)]
    if smoothing > 0:
        pool = alphabet.unknown_head
        parts.append((pool, smoothing / total, statistics.n_sequences[pool, direction]))

    chosen, trigrams, empty = [], [], 0.0
    for pair_head, share, divisor in parts:
        # Of tiny weights inverses are no doubles: both they and counts are multiplied.
        unit = 1.0 if divisor > SMALLEST_DIVISOR else 1.0 / SMALLEST_DIVISOR
        scale = share / (unit * divisor)
        start, stop = statistics.indptr[pair_of(pair_head, direction) :][:2]
        first, last = statistics.first[start:stop], statistics.last[start:stop]
        counts = unit * statistics.counts[start:stop]
        # Rounding may leave a hair below zero where weights are not integers.
        not_empty = counts[(first == alphabet.boundary) & (last <= alphabet.boundary)].sum()
        n_sequences = unit * statistics.n_sequences[pair_head, direction]
        empty += scale * max(n_sequences - not_empty, 0.0)
        n_far = (first > alphabet.boundary).astype(np.int64) + (last > alphabet.boundary)
        kept = np.flatnonzero(n_far == 0) if context == 0 else np.arange(counts.size)
        chosen.append(start + kept)
        trigrams.append(scale * counts[kept] * context ** n_far[kept])
    chosen, trigrams = np.concatenate(chosen), np.concatenate(trigrams)
    first, middle, last = (
        codes[chosen] for codes in (statistics.first, statistics.middle, statistics.last)
    )
    bigrams = _sum_bigrams(alphabet, first, middle, last, trigrams, context)
    bigrams[alphabet.boundary, alphabet.boundary] = empty
    return Moments(alphabet.n_symbols, total, bigrams, first, middle, last, trigrams)


def _sum_bigrams(alphabet, first, middle, last, trigrams, context):
    """Sum trigrams to bigrams, all but the empty sequence (theory, eqs. 6 and 32)."""
    n_codes = alphabet.boundary + 1 if context == 0 else alphabet.n_contexts
    before, after = first <= alphabet.boundary, last <= alphabet.boundary
    ends = last == alphabet.boundary
    cells = [  # row, column, values of each way from a trigram to a bigram
        # The middle symbol follows what came before it,
        (middle[after], first[after], trigrams[after]),
        # STOP follows the middle symbol of the last trigram,
        (last[ends & before], middle[ends & before], trigrams[ends & before]),
    ]
    if context > 0:
        # what came before the last symbol came further before STOP,
        met = ends & (first != alphabet.boundary)
        cells.append((last[met], *_move_further(first[met], trigrams[met], alphabet, context)))
        # and what follows the middle symbol follows further after what came before it.
        rows, values = _move_further(last[~ends], trigrams[~ends], alphabet, context)
        cells.append((rows, first[~ends], values))
    rows, columns, values = (np.concatenate(part) for part in zip(*cells, strict=True))
    flat = np.bincount(rows * n_codes + columns, weights=values, minlength=n_codes**2)
    # (Sums of no trigrams are integers.)
    return flat.reshape(n_codes, n_codes).astype(float)


def _move_further(codes, values, alphabet, context):
    """Code symbols one place further away, where near ones have a weight of `context`."""
    near = codes < alphabet.boundary
    return np.where(near, alphabet.further(codes), codes), np.where(near, context * values, values)
