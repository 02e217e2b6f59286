"""Deterministic approximations of automata."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from numbers import Integral
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator
from sklearn.metrics.pairwise import cosine_distances

from sklearn_shag.automata import SequenceModel, SymbolSequences
from sklearn_shag.encoding import check_heads, check_sentences, encode_sentences, pair_of
from sklearn_shag.inspection._display import cut_word
from sklearn_shag.inspection._grammars import DIRECTIONS, head_code, open_grammar
from sklearn_shag.inspection._refinements import open_refinement
from sklearn_shag.inspection._tables import shown_as_table, table_html, to_dataframe
from sklearn_shag.operators import pair_automaton, write_dot
from sklearn_shag.sequences import build_prefix_trees, extract_sequences, take_sequences
from sklearn_shag.treebank import Heads, Sentences, new_graph
from sklearn_shag.utils._arrays import group_equal, is_collection, rows_of
from sklearn_shag.utils._messages import join_first, printable, shorten
from sklearn_shag.utils._param_validation import COUNT, Interval, StrOptions, validate_params
from sklearn_shag.utils._typing import FloatArray, IntArray, ObjectArray

# Size of a vector that is zero but for rounding, relative to its terms; and decimals in which the
# distance of equal directions is zero.
_ROUNDING = 1e-12
_DIGITS = 9
_SHOWN = 3  # prefixes of a state


@shown_as_table
class DFAStates(NamedTuple):
    """The states of an :class:`ApproximateDFA`, in columns.

    Row i describes state i; state 0 is the initial one.

    Attributes
    ----------
    visits : int ndarray of shape (n_states,)
        Number of times that sequences pass through the state.
    stops : int ndarray of shape (n_states,)
        Number of times that they end there.
    stop_probabilities : ndarray of shape (n_states,)
        ``stops / visits``.
    prefixes : ndarray of shape (n_states,), dtype object
        The prefixes that were merged into the state, the most frequent first: ``prefixes[i]`` is a
        tuple of tuples of symbols.

    See Also
    --------
    ApproximateDFA : The automaton that the states belong to.
    DFATransitions : The transitions between states.

    Examples
    --------
    >>> from sklearn_shag import DeterministicSHAG
    >>> from sklearn_shag.inspection import approximate_dfa
    >>> X, y = [["DET", "NOUN"], ["DET", "ADJ", "NOUN"], ["NOUN"]], [[2, 0], [3, 3, 0], [0]]
    >>> model = DeterministicSHAG("sibling").fit(X, y)
    >>> dfa = approximate_dfa(model, X, y, head="NOUN", direction="left", min_count=1)
    >>> for stop, prefixes in zip(dfa.states.stop_probabilities, dfa.states.prefixes):
    ...     print(stop.round(2), prefixes)
    0.33 ((),)
    0.0 (('ADJ',),)
    1.0 (('DET',), ('ADJ', 'DET'))
    """

    visits: IntArray
    stops: IntArray
    stop_probabilities: FloatArray
    prefixes: ObjectArray

    to_dataframe = to_dataframe


@shown_as_table
class DFATransitions(NamedTuple):
    """The transitions of an :class:`ApproximateDFA`, in columns.

    They are sorted by source, and for each source by count, the largest first.

    Attributes
    ----------
    sources : int ndarray of shape (n_transitions,)
        The state before the transition.
    symbols : ndarray of shape (n_transitions,), dtype object
        The modifier. A source has at most one transition for each.
    targets : int ndarray of shape (n_transitions,)
        The state after the transition.
    counts : int ndarray of shape (n_transitions,)
        Number of times that sequences take the transition.
    probabilities : ndarray of shape (n_transitions,)
        ``counts`` divided by the visits of the source.

    See Also
    --------
    ApproximateDFA : The automaton that the transitions belong to.
    DFAStates : The states that they connect.

    Examples
    --------
    >>> from sklearn_shag import DeterministicSHAG
    >>> from sklearn_shag.inspection import approximate_dfa
    >>> X, y = [["DET", "NOUN"], ["DET", "ADJ", "NOUN"], ["NOUN"]], [[2, 0], [3, 3, 0], [0]]
    >>> model = DeterministicSHAG("sibling").fit(X, y)
    >>> dfa = approximate_dfa(model, X, y, head="NOUN", direction="left", min_count=1)
    >>> moves = dfa.transitions
    >>> list(zip(moves.sources.tolist(), moves.symbols, moves.targets.tolist()))
    [(0, 'ADJ', 1), (0, 'DET', 2), (1, 'DET', 2)]
    """

    sources: IntArray
    symbols: ObjectArray
    targets: IntArray
    counts: IntArray
    probabilities: FloatArray

    to_dataframe = to_dataframe


class ApproximateDFA(NamedTuple):
    """A deterministic approximation of the automaton of a head and direction, or of sequences.

    State 0 is the initial one. Printing it lists the states and transitions.

    Attributes
    ----------
    head : str or None
        The head's symbol; None for a model of sequences.
    direction : str or None
        "left" or "right"; None for a model of sequences.
    n_clusters : int
        Number of clusters before merging.
    n_sequences : int
        Number of sequences of modifiers in which uses were counted.
    states : DFAStates
        The states, with their uses and the prefixes that were merged into them.
    transitions : DFATransitions
        Which symbols lead from which state to which, and how often.

    See Also
    --------
    approximate_dfa : Computes the approximation.
    AutomatonDisplay : Draws it.

    Examples
    --------
    >>> from sklearn_shag import DeterministicSHAG
    >>> from sklearn_shag.inspection import approximate_dfa
    >>> X, y = [["DET", "NOUN"], ["DET", "ADJ", "NOUN"], ["NOUN"]], [[2, 0], [3, 3, 0], [0]]
    >>> model = DeterministicSHAG("sibling").fit(X, y)
    >>> dfa = approximate_dfa(model, X, y, head="NOUN", direction="left", min_count=1)
    >>> print(dfa)
    NOUN, left: 3 states of 3 clusters, paths for 100% of 3 sequences
    state 0, visits 3, after (none)
        0.33 STOP
        0.33 ADJ -> 1
        0.33 DET -> 2
    state 1, visits 1, after ADJ
        0.00 STOP
        1.00 DET -> 2
    state 2, visits 2, after DET, ADJ DET
        1.00 STOP
    >>> dfa.run(["ADJ"]), dfa.accepts(["ADJ"]), dfa.accepts(["ADJ", "DET"])
    (1, False, True)
    """

    head: str | None
    direction: str | None
    n_clusters: int
    n_sequences: int
    states: DFAStates
    transitions: DFATransitions

    @property
    def coverage(self) -> float:
        """Share of the sequences that have a path through the automaton.

        Returns
        -------
        float
            In (0, 1].
        """
        return float(self.states.stops.sum() / self.n_sequences)

    def run(self, prefix: Sequence[str]) -> int | None:
        """Follow the path of a sequence of modifiers.

        Parameters
        ----------
        prefix : sequence of str
            Modifiers from the head outwards: the one closest to the head comes first.

        Returns
        -------
        state : int or None
            The state where the path ends; None if there is no path.

        Raises
        ------
        TypeError
            If `prefix` is not a sequence of symbols.
        """
        if not is_collection(prefix) or not all(isinstance(symbol, str) for symbol in prefix):
            raise TypeError(
                f"prefix must be a sequence of symbols (str), got {type(prefix).__name__} "
                f"{shorten(prefix)}. Put a single symbol in a list: ['DET']."
            )
        rows, state = rows_of(self.transitions), 0
        targets = {(source, symbol): target for source, symbol, target, *_ in rows}
        for symbol in prefix:
            state = targets.get((state, symbol))
        return state

    def accepts(self, sequence: Sequence[str]) -> bool:
        """Tell whether a sequence has a path that ends where some sequence has stopped.

        Parameters
        ----------
        sequence : sequence of str
            As for :meth:`run`.

        Returns
        -------
        is_accepted : bool
            False if it has no path, or no sequence has stopped where the path ends.
        """
        state = self.run(sequence)
        return state is not None and bool(self.states.stops[state] > 0)

    def to_networkx(self) -> Any:
        """Convert the automaton to a networkx graph, to draw or analyse.

        Returns
        -------
        graph : networkx.MultiDiGraph
            A node for each state, with the attributes `visits`, `stops`, `stop_probability` and
            `prefixes`. An edge for each transition, whose key is the symbol, with the
            attributes `symbol`, `count` and `probability`. ``graph.graph`` has `head`, `direction`
            and `initial`, which is 0.

        Raises
        ------
        ImportError
            If networkx is not installed.
        """
        graph = new_graph("MultiDiGraph", head=self.head, direction=self.direction, initial=0)
        for state, (visits, stops, stop, prefixes) in enumerate(rows_of(self.states)):
            graph.add_node(
                state, visits=visits, stops=stops, stop_probability=stop, prefixes=prefixes
            )
        for source, symbol, target, n, share in rows_of(self.transitions):
            graph.add_edge(source, target, key=symbol, symbol=symbol, count=n, probability=share)
        return graph

    def to_dot(self) -> str:
        """Write the automaton in the DOT language of Graphviz.

        Returns
        -------
        dot : str
            A directed graph. The node of a state shows the probability of stopping, and has a
            double border if sequences stop there. An edge is labelled with the symbols that lead
            from one state to the other, and their probabilities.
        """
        states = [(f"\nSTOP {stop:.2f}", n) for _, n, stop, _ in rows_of(self.states)]
        return write_dot([("start", 0, "")], states, self._label_arrows())

    def _label_arrows(self, min_probability=0.0, n_letters=np.inf):
        """List the symbols and probabilities that stand at the arrow between two states."""
        labels = {}
        for source, symbol, target, _, probability in rows_of(self.transitions):
            if probability >= min_probability:
                line = f"{cut_word(symbol, n_letters)} {probability:.2f}"
                labels.setdefault((source, target), []).append(line)
        return labels

    def _repr_html_(self) -> str:
        name = escape(name_pair(self.head, self.direction))
        tables = table_html(self.states) + table_html(self.transitions)
        return f"<p>{name}: paths for {self.coverage:.0%}</p>{tables}"

    def __str__(self) -> str:
        lines = [
            f"{name_pair(self.head, self.direction)}: {len(self.states.visits)} states of "
            f"{self.n_clusters} clusters, paths for {self.coverage:.0%} of {self.n_sequences} "
            f"sequences"
        ]
        for state, (visits, _, stop, prefixes) in enumerate(rows_of(self.states)):
            moves = [
                f"    {probability:.2f} {symbol} -> {target}"
                for source, symbol, target, _, probability in rows_of(self.transitions)
                if source == state
            ]
            lines += [
                f"state {state}, visits {visits}, after {name_prefixes(prefixes)}",
                f"    {stop:.2f} STOP",
                *moves,
            ]
        return "\n".join(printable(line, max_length=None) for line in lines)


def name_pair(head, direction):
    """Return the title of an automaton: its head and direction, or "Sequences"."""
    return "Sequences" if head is None else f"{head}, {direction}"


def name_prefixes(prefixes):
    """Join the first prefixes of a state to one text."""
    return join_first([" ".join(prefix) or "(none)" for prefix in prefixes], _SHOWN)


@validate_params(
    {
        "direction": [StrOptions(set(DIRECTIONS)), None],
        "n_clusters": COUNT,
        "min_count": COUNT,
        "refinement": [Interval(Integral, 0, None, closed="left"), None],
    }
)
def approximate_dfa(
    estimator: BaseEstimator,
    X: Sentences | SymbolSequences,
    y: Heads | None = None,
    *,
    head: str | None = None,
    direction: Literal["left", "right"] | None = None,
    n_clusters: int = 10,
    min_count: int = 10,
    refinement: int | None = None,
) -> ApproximateDFA:
    """Approximate a learned automaton by a deterministic one, to interpret its states.

    Each frequent prefix of the modifier sequences in X takes the automaton to a vector of states.
    Vectors with similar directions are clustered, and each cluster becomes a state. States to which
    the same state and symbol lead are merged, until the automaton is deterministic.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator of this package that has `operators_`, a pipeline that ends in one, or a
        search over either; or a :class:`~sklearn_shag.SpectralAutomaton` or
        :class:`~sklearn_shag.EMAutomaton`.
    X : sequence of length n_sentences
        As for :meth:`~sklearn_shag.BaseSHAG.score`: trees, such as those of a development set; or
        sequences of symbols.
    y : None or sequence of length n_sentences, default=None
        Their heads; None takes those of the trees in X.
    head : None or str, default=None
        A symbol that the estimator knows. Only a model of sequences does without it.
    direction : {"left", "right"} or None, default=None
        Which automaton of the head. Only a model of sequences does without it.
    n_clusters : int, default=10
        Largest number of clusters. Prefixes whose vectors have the same direction always share one.
    min_count : int, default=10
        Prefixes of fewer sequences are not clustered.
    refinement : None or int, default=None
        For a :class:`~sklearn_shag.RefinedSHAG`, the automaton of this refinement of the head. It
        generates symbols without refinements. Sequences are those of tokens whose most probable
        refinement, given their trees, is this one. None takes the grammar without refinements.

    Returns
    -------
    dfa : ApproximateDFA
        The deterministic automaton; its state 0 is that of the empty prefix.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    TypeError
        If it is not such an estimator, or `refinement` is given and it has no refinements.
    ValueError
        If the estimator does not know `head` or the refinement, X has it fewer than `min_count`
        times, a parameter is invalid, or X is not valid.

    See Also
    --------
    automaton_gains : Shows which automata are worth a look.
    AutomatonDisplay : Draws the approximation.

    Notes
    -----
    The method is from Luque et al. (2012), sec. 5.3. Vectors are clustered by group average and
    cosine, and each prefix counts once. Cosines depend neither on the length of vectors, which
    shrinks with each modifier, nor on rotations of the state space, but they depend on other
    changes of its basis. Vectors of opposite directions are the furthest apart. Operators learned
    spectrally may give a prefix negative mass, and such prefixes have states of their own.

    A prefix has no state if the automaton cannot generate it, so that its vector is zero, or if it
    contains an unknown symbol.

    Uses are counted in all sequences of X, including rare ones, as far as they have a path. A
    sequence that continues with a symbol without a transition leaves the automaton. The
    probabilities of a state thus sum to one minus the share of sequences that leave.

    States are merged only as far as determinism requires, so the result does not depend on the
    order. States are numbered by their first prefix, the shortest first, then alphabetically; the
    order of X does not matter.

    Examples
    --------
    >>> from sklearn_shag import SpectralSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.inspection import approximate_dfa
    >>> trees = load_english().data
    >>> model = SpectralSHAG(9).fit(trees)
    >>> dfa = approximate_dfa(model, trees, head="NOUN", direction="left", n_clusters=3)
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
    if isinstance(estimator, SequenceModel):
        tree = estimator._prefix_tree(X)
        symbols, automaton = estimator.symbols_.astype(str).astype(object), estimator.operators_
        head, direction, kind = None, None, "sequences"
    else:
        head, symbols, automaton, tree = _open_head(estimator, head, direction, X, y, refinement)
        kind = "trees"
    name, n_sequences = name_pair(head, direction), int(tree.weight.sum())
    if n_sequences < min_count:
        raise ValueError(
            f"X has {n_sequences} sequences of the automaton {shorten(name)}, but "
            f"min_count={min_count} asks for more. Pass more {kind}, or a smaller min_count."
        )
    passing = _count_passing(tree)
    frequent = (passing >= min_count) & (tree.symbol < symbols.size)
    vectors = _forward_vectors(automaton, tree, frequent)
    nodes = np.flatnonzero(vectors.any(axis=1))
    if 0 not in nodes:
        raise ValueError(
            f"The automaton of {shorten(name)} starts with a vector of zeros: it generates no "
            f"sequence and has no states to show. Fit it, or smooth it."
        )
    clusters = _cluster_vectors(vectors[nodes], n_clusters)
    parent, symbol = np.searchsorted(nodes, tree.parent[nodes[1:]]), tree.symbol[nodes[1:]]
    _, states = group_equal(_merge_states(clusters, parent, symbol))
    targets = np.full((states.max() + 2, symbols.size + 1), -1)  # last, of no state: -1
    targets[states[parent], symbol] = states[1:]
    by_count = np.argsort(-passing[nodes], kind="stable")
    prefixes = _list_prefixes(tree, symbols, nodes[by_count], states[by_count])
    uses = _count_uses(tree, passing, targets, symbols, prefixes)
    return ApproximateDFA(head, direction, int(clusters.max() + 1), n_sequences, *uses)


def _open_head(estimator, head, direction, X, y, refinement):
    """Return name, symbols and automaton of a head, and the prefix tree of its sequences in X."""
    transform, grammar = open_grammar(estimator)
    symbols = grammar.symbols_
    code = head_code(head, symbols)
    if direction is None:
        raise ValueError('direction must be "left" or "right", got None.')
    side, name = DIRECTIONS.index(direction), str(head)
    if refinement is None:
        automaton = pair_automaton(grammar.operators_, code, side)
    else:
        automaton = open_refinement(grammar, head, code, side, refinement)
        name = f"{head}.{refinement}"
    sequences = _extract_head_sequences(transform(X), y, grammar, code, side, refinement)
    tree = build_prefix_trees(sequences, symbols.size)[pair_of(code, side)]
    return name, symbols, automaton, tree


def _extract_head_sequences(X, y, grammar, head, direction, refinement):
    """Extract the sequences in X of one direction of a head, or of one refinement of it."""
    sentences, sentence_symbols = check_sentences(X)
    symbols = grammar.symbols_
    codes, indptr = encode_sentences(sentence_symbols, symbols)
    heads, own, marked = check_heads(sentences, y), codes == head, symbols.size + 1
    if refinement is not None:
        own &= grammar._token_posteriors(codes, heads, indptr).argmax(axis=1) == refinement
    # The chosen tokens get a code of their own, by which their sequences are found.
    sequences = extract_sequences(np.where(own, marked, codes), heads, indptr, marked + 1)
    chosen = (sequences.heads == marked) & (sequences.directions == direction)
    found = take_sequences(sequences, np.flatnonzero(chosen))
    modifiers = np.where(found.modifiers == marked, head, found.modifiers)
    return found._replace(heads=np.full_like(found.heads, head), modifiers=modifiers)


def _count_passing(tree):
    """Count the sequences that begin with each prefix."""
    passing = tree.weight.copy()
    for node in range(passing.size - 1, 0, -1):
        passing[tree.parent[node]] += passing[node]
    return passing


def _forward_vectors(automaton, tree, wanted):
    """Compute the forward vectors, up to scale, of the wanted prefixes; zero for others."""
    vectors = np.zeros((tree.parent.size, automaton.alpha_1.size))
    vectors[0] = automaton.alpha_1
    for node in np.flatnonzero(wanted[1:]) + 1:
        matrix, before = automaton.A[tree.symbol[node]], vectors[tree.parent[node]]
        after = matrix @ before
        largest = np.abs(after).max()
        if largest > _ROUNDING * (np.abs(matrix) @ np.abs(before)).max():
            vectors[node] = after / largest
    return vectors


def _cluster_vectors(vectors, n_clusters):
    """Cluster vectors by direction into at most `n_clusters`, and return cluster numbers."""
    # Its import takes half as long as that of the whole package.
    from sklearn.cluster import AgglomerativeClustering

    if len(vectors) == 1:
        return np.zeros(1, dtype=np.int64)
    # Rounded, so that equal distances are equal in any basis.
    distances = np.round(cosine_distances(vectors), _DIGITS)
    average = {"metric": "precomputed", "linkage": "average"}
    apart = AgglomerativeClustering(None, distance_threshold=10.0**-_DIGITS, **average)
    n_directions = apart.fit(distances).n_clusters_
    return AgglomerativeClustering(min(n_clusters, n_directions), **average).fit_predict(distances)


def _merge_states(states, parent, symbol):
    """Merge states until each has at most one transition with each symbol.

    Parameters
    ----------
    states : int ndarray of shape (n_prefixes,)
        The state of each prefix, the first of which is empty.
    parent, symbol : int ndarrays of shape (n_prefixes - 1,)
        For each further prefix, the prefix that it continues, and its last symbol.

    Returns
    -------
    states : int ndarray of shape (n_prefixes,)
    """
    while True:
        n_states = states.max() + 1
        # A vertex for each state, and one for each source and symbol, tied to all its targets:
        # connected states become one. Sources may have several targets again after that.
        moves = states[parent] * (symbol.max(initial=0) + 1) + symbol
        keys, sources = np.unique(moves, return_inverse=True)
        ties = (np.ones(sources.size), (n_states + sources, states[1:]))
        graph = coo_array(ties, shape=(n_states + keys.size,) * 2)
        _, component = connected_components(graph, directed=False)
        found, merged = np.unique(component[:n_states], return_inverse=True)
        if found.size == n_states:
            return states
        states = merged[states]


def _list_prefixes(tree, symbols, nodes, states):
    """List the prefixes of each state, tuples of symbols, in the order of `nodes`."""
    known = [*symbols, None]  # no node in `nodes` has an unknown symbol
    names = [()]
    for parent, symbol in zip(tree.parent[1:], tree.symbol[1:], strict=True):
        names.append((*names[parent], known[symbol]))
    of_states = (nodes[states == state] for state in range(states.max() + 1))
    return np.fromiter((tuple(names[k] for k in own) for own in of_states), dtype=object)


def _count_uses(tree, passing, targets, symbols, prefixes):
    """Count visits, stops and transitions of all sequences, as far as they have a path."""
    states = np.zeros(tree.parent.size, dtype=np.int64)
    for node in range(1, states.size):
        states[node] = targets[states[tree.parent[node]], tree.symbol[node]]
    visits, stops = (
        np.bincount(states + 1, counts, len(targets))[1:].astype(np.int64)
        for counts in (passing, tree.weight)
    )
    uses = np.zeros(targets.shape)
    np.add.at(uses, (states[tree.parent[1:]], tree.symbol[1:]), passing[1:])
    source, symbol = np.nonzero(targets >= 0)
    order = np.lexsort((symbol, -uses[source, symbol], source))
    source, symbol = source[order], symbol[order]
    counts = uses[source, symbol].astype(np.int64)
    moves = source, symbols[symbol], targets[source, symbol], counts, counts / visits[source]
    return DFAStates(visits, stops, stops / visits, prefixes), DFATransitions(*moves)
