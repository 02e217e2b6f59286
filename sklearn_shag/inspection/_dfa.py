"""The states of a learned automaton made visible: a deterministic automaton near it."""

from numbers import Integral
from typing import Literal

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator
from sklearn.metrics.pairwise import cosine_distances

from sklearn_shag.encoding import check_heads, check_sentences, encode_sentences, pair_of
from sklearn_shag.inspection._dfa_value import ApproximateDFA, DFAStates, DFATransitions
from sklearn_shag.inspection._grammars import DIRECTIONS, check_grammar, head_code
from sklearn_shag.operators import pair_automaton
from sklearn_shag.sequences import build_prefix_trees, extract_sequences, take_sequences
from sklearn_shag.treebank import Heads, Sentences
from sklearn_shag.utils._messages import shorten
from sklearn_shag.utils._param_validation import Interval, StrOptions, validate_params

# What is left of a vector where all terms cancel, relative to them; and how far apart directions
# are that differ by rounding errors alone.
_ROUNDING = 1e-12
_DIGITS = 9


@validate_params(
    {
        "direction": [StrOptions(set(DIRECTIONS))],
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "min_count": [Interval(Integral, 1, None, closed="left")],
    }
)
def approximate_dfa(
    estimator: BaseEstimator,
    head: str,
    direction: Literal["left", "right"],
    X: Sentences,
    y: Heads | None = None,
    *,
    n_clusters: int = 10,
    min_count: int = 10,
) -> ApproximateDFA:
    """Approximate a learned automaton by a deterministic one, to see what its states stand for.

    Each frequent prefix of the modifier sequences in X leads the automaton to a vector of states.
    Vectors of similar direction are clustered, and each cluster is a state. Where one
    state and one symbol lead to several states, these are merged, until none is left.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator of this package that has `operators_`.
    head : str
        A symbol that the estimator knows.
    direction : {"left", "right"}
        Which of its automata.
    X : sequence of length n_sentences
        As for :meth:`~sklearn_shag.BaseSHAG.score`: trees, such as those of a development set.
    y : None or sequence of length n_sentences, default=None
        Their heads; None takes those of the trees in X.
    n_clusters : int, default=10
        At most so many clusters. Prefixes whose vectors have the same direction always share one.
    min_count : int, default=10
        Prefixes of fewer sequences are not clustered.

    Returns
    -------
    dfa : ApproximateDFA
        Its state 0 is that of the empty prefix.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    TypeError
        If it is something else, such as a pipeline.
    ValueError
        If the estimator does not know `head`, X has it fewer than `min_count` times, a parameter is
        invalid, or X is not valid.

    See Also
    --------
    automaton_gains : Which automata are worth a look.
    AutomatonDisplay : A picture of what is found.

    Notes
    -----
    Luque et al. (2012), sec. 5.3. Vectors are clustered by group average and cosine, each prefix
    counting once. Cosines do not depend on the length of vectors, which shrinks with each modifier,
    nor on rotations of the state space, but they do on other changes of its basis. Vectors of
    opposite directions are as far apart as can be: operators learned spectrally may give a
    prefix negative mass, and such prefixes have states of their own.

    Prefixes that the automaton cannot generate, whose vector is zero, and those with a symbol
    that it does not know have no state.

    Uses are counted in all sequences of X, the rare ones too, as far as they have a path. Where a
    sequence goes on with a symbol without transition it leaves the automaton. So the probabilities
    of a state sum to one less those who leave.

    Merging goes no further than determinism demands, so its result does not depend on the order.
    States are numbered in the order of their first prefix, the shortest first, then by
    the alphabet; the order of X does not matter.

    Examples
    --------
    >>> from sklearn_shag import SpectralSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.inspection import approximate_dfa
    >>> trees = load_english().data
    >>> model = SpectralSHAG(9).fit(trees)
    >>> dfa = approximate_dfa(model, "NOUN", "left", trees, n_clusters=3)
    >>> print(dfa)
    NOUN, left: 3 states of 3 clusters, paths for 89% of 919 sequences
    state 0, visits 1105, after (none), ADJ, NOUN
        0.11 STOP
        0.54 DET -> 2
        0.13 ADJ -> 0
        0.07 PRON -> 1
        0.05 ADP -> 1
        0.03 NOUN -> 0
        0.03 NUM -> 2
    state 1, visits 329, after DET ADP, PRON, ADP, ...
        0.93 STOP
    state 2, visits 630, after DET, ADJ DET, NUM, ...
        0.62 STOP
        0.31 ADP -> 1
    >>> dfa.run(["ADJ", "DET"]), dfa.accepts(["ADJ", "DET"])     # head outwards
    (2, True)
    """
    operators, symbols = check_grammar(
        estimator,
        f"approximate_dfa(pipeline[-1], {shorten(head)}, {direction!r}, "
        f"pipeline[:-1].transform(X))",
    )
    code, side = head_code(head, symbols), DIRECTIONS.index(direction)
    sequences = _sequences(X, y, symbols, code, side)
    n_sequences = sequences.heads.size
    if n_sequences < min_count:
        raise ValueError(
            f"The head {shorten(head)} occurs {n_sequences} times in X, and min_count={min_count} "
            f"asks for more. Pass more trees, or a smaller min_count."
        )
    tree = build_prefix_trees(sequences, symbols.size)[pair_of(code, side)]
    passing = _passing(tree)
    frequent = (passing >= min_count) & (tree.symbol < symbols.size)
    vectors = _forward_vectors(pair_automaton(operators, code, side), tree, frequent)
    nodes = np.flatnonzero(vectors.any(axis=1))
    if 0 not in nodes:
        raise ValueError(
            f"The automaton of {shorten(head)}, {direction}, starts with a vector of zeros: it "
            f"generates no sequence, and has no states to show. Fit it, or smooth it."
        )
    clusters = _cluster(vectors[nodes], n_clusters)
    parent, symbol = np.searchsorted(nodes, tree.parent[nodes[1:]]), tree.symbol[nodes[1:]]
    states = _in_order(_merge(clusters, parent, symbol))
    targets = np.full((states.max() + 1, symbols.size + 1), -1)
    targets[states[parent], symbol] = states[1:]
    by_count = np.argsort(-passing[nodes], kind="stable")
    names = _names_of_prefixes(tree, symbols)
    prefixes = _group([names[nodes[k]] for k in by_count], states[by_count])
    return ApproximateDFA(
        str(head),
        direction,
        int(clusters.max() + 1),
        n_sequences,
        *_count_uses(tree, passing, targets, symbols, prefixes),
    )


def _sequences(X, y, symbols, head, direction):
    """The sequences of one head and direction in X."""
    sentences, sentence_symbols = check_sentences(X)
    codes, indptr = encode_sentences(sentence_symbols, symbols)
    sequences = extract_sequences(codes, check_heads(sentences, y), indptr, symbols.size)
    own = np.flatnonzero((sequences.heads == head) & (sequences.directions == direction))
    return take_sequences(sequences, own)


def _passing(tree):
    """How many sequences begin with each prefix."""
    passing = tree.weight.copy()
    for node in range(passing.size - 1, 0, -1):
        passing[tree.parent[node]] += passing[node]
    return passing


def _forward_vectors(automaton, tree, wanted):
    """Forward vectors, of any length, of the prefixes that are wanted; zero for others."""
    vectors = np.zeros((tree.parent.size, automaton.alpha_1.size))
    vectors[0] = automaton.alpha_1
    for node in np.flatnonzero(wanted[1:]) + 1:
        matrix, before = automaton.A[tree.symbol[node]], vectors[tree.parent[node]]
        after = matrix @ before
        largest = np.abs(after).max()
        if largest > _ROUNDING * (np.abs(matrix) @ np.abs(before)).max():
            vectors[node] = after / largest
    return vectors


def _cluster(vectors, n_clusters):
    """Number the clusters of vectors by direction, at most `n_clusters`."""
    # Half as long to import as the whole package.
    from sklearn.cluster import AgglomerativeClustering

    if len(vectors) == 1:
        return np.zeros(1, dtype=np.int64)
    # Rounded, so that directions that are equal, or equally far, are so in whatever basis.
    distances = np.round(cosine_distances(vectors), _DIGITS)
    average = {"metric": "precomputed", "linkage": "average"}
    apart = AgglomerativeClustering(None, distance_threshold=10.0**-_DIGITS, **average)
    n_directions = apart.fit(distances).n_clusters_
    return AgglomerativeClustering(min(n_clusters, n_directions), **average).fit_predict(distances)


def _merge(states, parent, symbol):
    """Merge states until each has at most one transition with each symbol.

    Parameters
    ----------
    states : int ndarray of shape (n_prefixes,)
        The state of each prefix, the first of which is empty.
    parent, symbol : int ndarrays of shape (n_prefixes - 1,)
        Which prefix each of the others continues, and with which symbol.

    Returns
    -------
    states : int ndarray of shape (n_prefixes,)
    """
    while True:
        n_states = states.max() + 1
        # A vertex for each state, and one for each source and symbol, tied to all its targets:
        # what is connected must be one state. That may give sources more targets in turn.
        moves = states[parent] * (symbol.max(initial=0) + 1) + symbol
        keys, sources = np.unique(moves, return_inverse=True)
        ties = (np.ones(sources.size), (n_states + sources, states[1:]))
        graph = coo_array(ties, shape=(n_states + keys.size,) * 2)
        _, component = connected_components(graph, directed=False)
        found, merged = np.unique(component[:n_states], return_inverse=True)
        if found.size == n_states:
            return states
        states = merged[states]


def _in_order(states):
    """Number states in the order in which they come first."""
    _, first, inverse = np.unique(states, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def _names_of_prefixes(tree, symbols):
    known = [*symbols, None]  # no name of a prefix with an unknown symbol is asked for
    names = [()]
    for parent, symbol in zip(tree.parent[1:], tree.symbol[1:], strict=True):
        names.append((*names[parent], known[symbol]))
    return names


def _group(names, states):
    groups = np.empty(states.max() + 1, dtype=object)
    for state in range(groups.size):
        groups[state] = tuple(name for name, own in zip(names, states, strict=True) if own == state)
    return groups


def _count_uses(tree, passing, targets, symbols, prefixes):
    """Count the uses of states and transitions in all sequences, as far as they have a path."""
    states = np.zeros(tree.parent.size, dtype=np.int64)
    for node in range(1, states.size):
        before = states[tree.parent[node]]
        states[node] = -1 if before < 0 else targets[before, tree.symbol[node]]
    on = states >= 0
    n_states = len(targets)
    visits, stops = (
        np.bincount(states[on], weights=counts[on], minlength=n_states).astype(np.int64)
        for counts in (passing, tree.weight)
    )
    uses = np.zeros(targets.shape)
    moved = np.flatnonzero(on[1:]) + 1
    np.add.at(uses, (states[tree.parent[moved]], tree.symbol[moved]), passing[moved])
    source, symbol = np.nonzero(targets >= 0)
    order = np.lexsort((symbol, -uses[source, symbol], source))
    source, symbol = source[order], symbol[order]
    counts = uses[source, symbol].astype(np.int64)
    return (
        DFAStates(visits, stops, stops / visits, prefixes),
        DFATransitions(
            source, symbols[symbol], targets[source, symbol], counts, counts / visits[source]
        ),
    )
