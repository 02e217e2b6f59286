"""Children, paths, crossing arcs and graphs of trees, against networkx."""

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sklearn_shag.treebank import DependencyTree, is_projective
from tests.fuzz.treebanks import heads_lists, partial_heads


@given(st.one_of(heads_lists(), partial_heads()))
def test_crossing_arcs(heads):
    """Two known arcs cross if one has a single end strictly between the ends of the other."""
    tree = DependencyTree(["x"] * len(heads), heads)
    expected = []
    for one, other in combinations(range(1, len(heads) + 1), 2):
        ends = {one, heads[one - 1]}, {other, heads[other - 1]}
        if not ends[0] & ends[1] and -1 not in ends[0] | ends[1]:
            between = range(min(ends[0]) + 1, max(ends[0]))
            if len(ends[1] & set(between)) == 1:
                expected.append((one, other))
    assert tree.crossing_arcs() == tuple(expected)
    assert is_projective(heads) == is_projective(tree) == tree.is_projective == (not expected)


def test_plain_numbers():
    """Whole numbers of any type go in, Python's come out."""
    token, tree = np.int64(4), DependencyTree(list("abcdefg"), [2, 5, 4, 2, 0, 7, 4])
    rows = tree.children(token), tree.subtree(token), tree.path(token, np.uint8(1))
    assert rows == ((3, 7), (3, 4, 6, 7), (4, 2, 1))
    found = [*sum(rows, ()), *tree.descendants(0), tree.depth(token), *tree.crossing_arcs()[0]]
    assert {type(value) for value in found} == {int}


def test_a_long_chain():
    n = 2000
    chain = DependencyTree(["x"] * n, range(n))
    assert chain.depth(n) == n
    assert chain.descendants(0) == tuple(range(1, n + 1))
    assert chain.path(n, 0) == tuple(range(n, -1, -1))


def test_the_graph_has_the_columns():
    tree = DependencyTree(
        ["Dogs", "bark"], [2, 0], upos=["NOUN", "VERB"], deprels=["nsubj", "root"]
    )
    graph = tree.to_networkx()
    assert dict(graph.nodes) == {
        0: {},
        1: {"form": "Dogs", "upos": "NOUN", "symbol": "NOUN"},
        2: {"form": "bark", "upos": "VERB", "symbol": "VERB"},
    }
    edges = {(head, token): data for head, token, data in graph.edges(data=True)}
    assert edges == {(0, 2): {"deprel": "root"}, (2, 1): {"deprel": "nsubj"}}
    bare = DependencyTree(["Dogs", "bark"], [2, 0]).to_networkx()
    assert all(not data for *_, data in bare.edges(data=True))
