"""Graphs for networkx, which is optional."""

from itertools import combinations
from numbers import Integral
from typing import Any

import numpy as np

from sklearn_shag.treebank._columns import ATTRIBUTES
from sklearn_shag.utils._heads import UNKNOWN
from sklearn_shag.utils._messages import shorten
from sklearn_shag.utils._typing import IndexArray


class TreeStructure:
    """What the heads of a DependencyTree say; positions are theirs: from 1, 0 for the root.

    Of a partial tree it is what the known heads say. What depends on others is refused.
    """

    __slots__ = ()

    heads: IndexArray | None

    def children(self, token: int) -> tuple[int, ...]:
        """List the modifiers of a token.

        Parameters
        ----------
        token : int
            Its position, from 1; 0 for the root, whose children are the roots of the sentence.

        Returns
        -------
        tokens : tuple of int
            Positions, sorted.

        Raises
        ------
        ValueError
            If there is no such position, or the sentence is unlabelled.

        Examples
        --------
        >>> from sklearn_shag.treebank import DependencyTree
        >>> tree = DependencyTree(["The", "dog", "barks", "."], [2, 3, 0, 3])
        >>> tree.children(3), tree.children(0)
        ((2, 4), (3,))
        """
        heads, token = self._structure(token)
        return _positions(np.flatnonzero(heads == token) + 1)

    def descendants(self, token: int) -> tuple[int, ...]:
        """List what lies below a token: its children, theirs, and so on.

        Parameters
        ----------
        token : int
            As for :meth:`children`. All tokens lie below 0, if all heads are known.

        Returns
        -------
        tokens : tuple of int
            Positions, sorted, without `token` itself.

        Raises
        ------
        ValueError
            As of :meth:`children`.

        Examples
        --------
        >>> from sklearn_shag.treebank import DependencyTree
        >>> tree = DependencyTree(["The", "dog", "barks", "."], [2, 3, 0, 3])
        >>> tree.descendants(3), tree.descendants(1)
        ((1, 2, 4), ())
        """
        return tuple(below for below in self.subtree(token) if below != token)

    def subtree(self, token: int) -> tuple[int, ...]:
        """List a token and its descendants: the phrase that it heads.

        Parameters
        ----------
        token : int
            As for :meth:`children`.

        Returns
        -------
        tokens : tuple of int
            Positions, sorted, with `token` itself.

        Raises
        ------
        ValueError
            As of :meth:`children`.

        Examples
        --------
        >>> from sklearn_shag.treebank import DependencyTree
        >>> tree = DependencyTree(["The", "dog", "barks", "."], [2, 3, 0, 3])
        >>> [tree.forms[k - 1] for k in tree.subtree(2)]
        ['The', 'dog']
        """
        heads, token = self._structure(token)
        inside = np.zeros(heads.size + 1, dtype=bool)
        inside[token] = True
        known = heads != UNKNOWN
        # One level a round, until no token is added.
        while (added := known & inside[heads] & ~inside[1:]).any():
            inside[1:] |= added
        return _positions(np.flatnonzero(inside))

    def depth(self, token: int) -> int:
        """Count the arcs from the root to a token.

        Parameters
        ----------
        token : int
            As for :meth:`children`.

        Returns
        -------
        depth : int
            0 for the root, 1 for its children.

        Raises
        ------
        ValueError
            As of :meth:`children`, and if a head on the way is not known.

        Examples
        --------
        >>> from sklearn_shag.treebank import DependencyTree
        >>> tree = DependencyTree(["The", "dog", "barks", "."], [2, 3, 0, 3])
        >>> [tree.depth(token) for token in range(5)]
        [0, 3, 2, 1, 2]
        """
        *below, top = _ascend(*self._structure(token))
        if top:
            self._refuse_way(top, "its depth is not known")
        return len(below)

    def path(self, start: int, end: int) -> tuple[int, ...]:
        """Walk from one token to another along arcs, up first and then down.

        Parameters
        ----------
        start, end : int
            As for :meth:`children`.

        Returns
        -------
        tokens : tuple of int
            All positions on the way, with both ends. It passes 0 where the tokens lie below
            different roots.

        Raises
        ------
        ValueError
            As of :meth:`children`, and if a head on the way is not known.

        Examples
        --------
        >>> from sklearn_shag.treebank import DependencyTree
        >>> tree = DependencyTree(["The", "dog", "barks", "."], [2, 3, 0, 3])
        >>> tree.path(1, 4)
        (1, 2, 3, 4)
        """
        up, down = (_ascend(*self._structure(token)) for token in (start, end))
        top = next((token for token in up if token in down), None)
        if top is None:
            self._refuse_way(up[-1] or down[-1], f"no way leads from {start} to {end}")
        return (*up[: up.index(top) + 1], *reversed(down[: down.index(top)]))

    def crossing_arcs(self) -> tuple[tuple[int, int], ...]:
        """List the pairs of arcs that cross.

        Returns
        -------
        pairs : tuple of pairs of int
            An arc is named by the token that it ends at; the earlier one comes first. Arcs
            from the root start left of all tokens. There is none if and only if the tree, or
            the known part of it, is projective.

        Raises
        ------
        ValueError
            If the sentence is unlabelled.

        Examples
        --------
        >>> from sklearn_shag.treebank import DependencyTree
        >>> forms = ["A", "hearing", "is", "held", "on", "it", "today"]
        >>> tree = DependencyTree(forms, [2, 4, 4, 0, 6, 2, 4])        # a hearing on it
        >>> tree.crossing_arcs()
        ((4, 6), (6, 7))
        """
        heads, _ = self._structure()
        arcs = [arc for arc in enumerate(heads.tolist(), start=1) if arc[1] != UNKNOWN]
        spans = [(token, min(token, head), max(token, head)) for token, head in arcs]
        return tuple(
            (one, other)
            for (one, a, b), (other, c, d) in combinations(spans, 2)
            if a < c < b < d or c < a < d < b
        )

    def to_networkx(self) -> Any:
        """Make a graph, for networkx to draw or to analyse.

        Returns
        -------
        graph : networkx.DiGraph
            The nodes are 0 and the positions of the tokens, which have their columns as attributes,
            `form`, `symbol`, `upos` and so on, where the tree has them. An edge leads from
            each known head to its modifier, with the attribute `deprel` if the tree has relations.

        Raises
        ------
        ImportError
            If networkx is not installed.
        ValueError
            If the sentence is unlabelled.

        Examples
        --------
        >>> from sklearn_shag.treebank import DependencyTree
        >>> graph = DependencyTree(["Dogs", "bark"], [2, 0]).to_networkx()
        >>> sorted(graph.edges), graph.nodes[1]["form"]
        ([(0, 2), (2, 1)], 'Dogs')
        """
        heads, _ = self._structure()
        columns = {name: getattr(self, attribute) for name, attribute in ATTRIBUTES.items()}
        deprels = columns.pop("deprel")
        graph = new_graph("DiGraph")
        graph.add_node(0)
        for token, head in enumerate(heads.tolist(), start=1):
            row = {name: values[token - 1] for name, values in columns.items() if values}
            graph.add_node(token, **row)
            if head != UNKNOWN:
                graph.add_edge(head, token, **({"deprel": deprels[token - 1]} if deprels else {}))
        return graph

    def _structure(self, token=0):
        """The heads, and the token as a plain int, both checked."""
        if self.heads is None:
            raise ValueError(
                f"{self!r} has no heads, so nothing hangs on anything in it. Parse it, or give it "
                f"heads with with_heads."
            )
        n_tokens = self.heads.size
        is_number = isinstance(token, Integral) and not isinstance(token, bool)
        if not is_number or not 0 <= token <= n_tokens:
            raise ValueError(
                f"A position in {self!r} is a whole number from 1 to {n_tokens}, or 0 for the "
                f"root; got {shorten(token)}."
            )
        return self.heads, int(token)

    def _refuse_way(self, token, consequence):
        raise ValueError(
            f"The head of token {token} of {self!r} is not known (-1), so {consequence}. Parse the "
            f"sentence, or give it heads with with_heads."
        )


def _positions(tokens):
    return tuple(tokens.tolist())


def _ascend(heads, token):
    """The way from a token up to the root, or to a token without a known head, both included."""
    way = [token]
    while way[-1] and (head := int(heads[way[-1] - 1])) != UNKNOWN:
        way.append(head)
    return way


def new_graph(kind, **attributes):
    """Make an empty graph of networkx.

    Parameters
    ----------
    kind : str
        The name of its class, such as "DiGraph".
    **attributes
        Of the graph.

    Returns
    -------
    graph : networkx.Graph

    Raises
    ------
    ImportError
        If networkx is not installed.
    """
    try:
        import networkx
    except ImportError:
        raise ImportError(
            "to_networkx needs networkx: pip install 'sklearn-shag[graph]'."
        ) from None
    return getattr(networkx, kind)(**attributes)
