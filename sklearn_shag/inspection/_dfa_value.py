"""A deterministic automaton as a value: states, transitions, paths."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sklearn_shag.inspection._dfa_drawing import draw_dot, draw_text, make_graph
from sklearn_shag.utils._collections import is_collection
from sklearn_shag.utils._messages import shorten
from sklearn_shag.utils._typing import FloatArray, IntArray, ObjectArray


class DFAStates(NamedTuple):
    """The states of an :class:`ApproximateDFA`, in columns.

    State i has row i; state 0 is the initial one.

    Attributes
    ----------
    visits : int ndarray of shape (n_states,)
        How often sequences pass the state.
    stops : int ndarray of shape (n_states,)
        How often they end there.
    stop_probabilities : ndarray of shape (n_states,)
        ``stops / visits``.
    prefixes : ndarray of shape (n_states,), dtype object
        The prefixes that the state was made of, the most frequent first: ``prefixes[i]`` is a tuple
        of tuples of symbols.

    See Also
    --------
    ApproximateDFA : The automaton that they belong to.
    DFATransitions : What leads from one to another.

    Examples
    --------
    >>> from sklearn_shag import DeterministicSHAG
    >>> from sklearn_shag.inspection import approximate_dfa
    >>> X, y = [["DET", "NOUN"], ["DET", "ADJ", "NOUN"], ["NOUN"]], [[2, 0], [3, 3, 0], [0]]
    >>> model = DeterministicSHAG("sibling").fit(X, y)
    >>> dfa = approximate_dfa(model, "NOUN", "left", X, y, min_count=1)
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


class DFATransitions(NamedTuple):
    """The transitions of an :class:`ApproximateDFA`, in columns.

    They are ordered by their source, those of a source by their counts, the largest first.

    Attributes
    ----------
    sources : int ndarray of shape (n_transitions,)
        The state before.
    symbols : ndarray of shape (n_transitions,), dtype object
        The modifier. A source has at most one transition with each.
    targets : int ndarray of shape (n_transitions,)
        The state after.
    counts : int ndarray of shape (n_transitions,)
        How often sequences take the transition.
    probabilities : ndarray of shape (n_transitions,)
        ``counts`` divided by the visits of the source.

    See Also
    --------
    ApproximateDFA : The automaton that they belong to.
    DFAStates : What they lead from and to.

    Examples
    --------
    >>> from sklearn_shag import DeterministicSHAG
    >>> from sklearn_shag.inspection import approximate_dfa
    >>> X, y = [["DET", "NOUN"], ["DET", "ADJ", "NOUN"], ["NOUN"]], [[2, 0], [3, 3, 0], [0]]
    >>> model = DeterministicSHAG("sibling").fit(X, y)
    >>> dfa = approximate_dfa(model, "NOUN", "left", X, y, min_count=1)
    >>> moves = dfa.transitions
    >>> list(zip(moves.sources.tolist(), moves.symbols, moves.targets.tolist()))
    [(0, 'ADJ', 1), (0, 'DET', 2), (1, 'DET', 2)]
    """

    sources: IntArray
    symbols: ObjectArray
    targets: IntArray
    counts: IntArray
    probabilities: FloatArray


class ApproximateDFA(NamedTuple):
    """A deterministic automaton near that of a head and a direction.

    State 0 is the initial one. Printed, it lists its states and transitions.

    Attributes
    ----------
    head : str
        The head's symbol.
    direction : str
        "left" or "right".
    n_clusters : int
        How many clusters there were before any were merged.
    n_sequences : int
        How many sequences of modifiers the uses were counted in.
    states : DFAStates
        Their uses, and the prefixes that they were made of.
    transitions : DFATransitions
        Which symbols lead from which state to which, and how often.

    See Also
    --------
    approximate_dfa : Makes it.
    AutomatonDisplay : Draws it.

    Examples
    --------
    >>> from sklearn_shag import DeterministicSHAG
    >>> from sklearn_shag.inspection import approximate_dfa
    >>> X, y = [["DET", "NOUN"], ["DET", "ADJ", "NOUN"], ["NOUN"]], [[2, 0], [3, 3, 0], [0]]
    >>> model = DeterministicSHAG("sibling").fit(X, y)
    >>> dfa = approximate_dfa(model, "NOUN", "left", X, y, min_count=1)
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

    head: str
    direction: str
    n_clusters: int
    n_sequences: int
    states: DFAStates
    transitions: DFATransitions

    @property
    def coverage(self) -> float:
        """Share of the sequences that have a path.

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
            Head outwards: the modifier closest to the head comes first.

        Returns
        -------
        state : int or None
            Where the path ends; None if there is none.

        Raises
        ------
        TypeError
            If `prefix` is no sequence of symbols.
        """
        if not is_collection(prefix) or not all(isinstance(symbol, str) for symbol in prefix):
            raise TypeError(
                f"prefix must be a sequence of symbols (str), got {type(prefix).__name__} "
                f"{shorten(prefix)}. Of a single symbol make a list: ['DET']."
            )
        state = 0
        for symbol in prefix:
            leaving = self.transitions.sources == state
            taken = np.flatnonzero(leaving & (self.transitions.symbols == symbol))
            if not taken.size:
                return None
            state = int(self.transitions.targets[taken[0]])
        return state

    def accepts(self, sequence: Sequence[str]) -> bool:
        """Tell whether a sequence has a path, and some sequence has stopped where it ends.

        Parameters
        ----------
        sequence : sequence of str
            As for :meth:`run`.

        Returns
        -------
        is_accepted : bool
            False if it has no path, or none has stopped there.
        """
        state = self.run(sequence)
        return state is not None and bool(self.states.stops[state] > 0)

    def to_networkx(self) -> Any:
        """Make a graph, for networkx to draw or to analyse.

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
        return make_graph(self)

    def to_dot(self) -> str:
        """Write the automaton in the language of Graphviz.

        Returns
        -------
        dot : str
            A directed graph: a node for each state with the probability to stop, with a double
            border where sequences stop; an edge for each two states, labelled with the symbols that
            lead from one to the other and their probabilities.
        """
        return draw_dot(self)

    def __str__(self) -> str:
        return draw_text(self)
