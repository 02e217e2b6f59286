"""Trees of which only some heads are known (-1), and functions of heads."""

import copy
import io
import itertools
import pickle
import xml.etree.ElementTree as ElementTree

import networkx
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from sklearn_shag.treebank import (
    DependencyTree,
    allowed_arcs,
    fill_unknown,
    heads,
    lift,
    read_conllu,
    write_conllu,
)
from tests import oracles
from tests.fuzz.treebanks import heads_lists, partial_heads

LINE = "{}\t{}\t_\tX\t_\t_\t{}\t{}\t_\t_\n"


@pytest.fixture
def partial():
    """The dog barked at a cat: the root and the last noun have no head."""
    return DependencyTree(
        ["The", "dog", "barked", "at", "a", "cat"],
        [2, 3, -1, 6, 6, -1],
        upos=["DET", "NOUN", "VERB", "ADP", "DET", "NOUN"],
        deprels=["det", "nsubj", "_", "case", "det", "obl"],
    )


def rewritten(trees):
    """What is left of trees in a file."""
    file = io.StringIO()
    write_conllu(trees, file)
    return read_conllu(io.StringIO(file.getvalue()))


@pytest.mark.parametrize("n_tokens", [1, 2, 3, 4])
def test_exactly_what_is_part_of_a_tree_is_accepted(n_tokens):
    """Of a tree with one root; where all heads are known, it may have several."""
    parts = oracles.partial_trees(n_tokens)
    for candidate in itertools.product(range(-1, n_tokens + 1), repeat=n_tokens):
        if candidate in parts:
            assert DependencyTree(["x"] * n_tokens, candidate).heads.tolist() == list(candidate)
            assert allowed_arcs([candidate])[0].shape == (n_tokens, n_tokens + 1)
        else:
            with pytest.raises(ValueError, match="heads is not a tree"):
                DependencyTree(["x"] * n_tokens, candidate)
            with pytest.raises(ValueError, match=r"heads\[1\] is not a tree: at token \d"):
                allowed_arcs([[0], candidate])


# Files


@given(partial_heads(), st.booleans())
def test_round_trip(partial, with_relations):
    relations = [f"rel{k}" for k in range(len(partial))] if with_relations else None
    tree = DependencyTree(["x"] * len(partial), partial, deprels=relations)
    (back,) = rewritten([tree])
    assert_array_equal(back.heads, partial)
    if with_relations:
        assert back.deprels == tree.deprels
    else:
        names = {-1: "_", 0: "root"}
        assert back.deprels == tuple(names.get(head, "dep") for head in partial)
    assert rewritten([back]) == [back]


def test_file_stays_as_it_was():
    text = "# a comment\n" + LINE.format(1, "a", "_", "amod") + LINE.format("2-3", "bc", "_", "_")
    text += LINE.format(2, "b", 0, "root") + LINE.format(3, "c", "_", "_") + "\n"
    (tree,) = read_conllu(io.StringIO(text))
    assert tree.heads.tolist() == [-1, 0, -1]
    assert tree.deprels == ("amod", "root", "_")
    file = io.StringIO()
    write_conllu([tree, tree.with_heads([2, -1, -1])], file)
    changed = "# a comment\n" + LINE.format(1, "a", 2, "dep") + LINE.format("2-3", "bc", "_", "_")
    changed += LINE.format(2, "b", "_", "_") + LINE.format(3, "c", "_", "_") + "\n"
    assert file.getvalue() == text + changed


def test_a_sentence_without_any_head_stays_unlabelled():
    assert rewritten([DependencyTree(["a", "b"], [-1, -1])])[0].heads is None


# Values


def test_copies_and_comparisons(partial):
    assert partial == pickle.loads(pickle.dumps(partial)) == copy.deepcopy(partial)
    assert partial != partial.with_heads([2, 3, 0, 6, 6, -1], partial.deprels)
    assert heads([partial])[0] is partial.heads


# Drawings


def test_text(partial):
    assert str(partial) == "\n".join(
        [
            "    ,-- The  DET   det    1 <- 2",
            ",-- dog      NOUN  nsubj  2 <- 3",
            "barked       VERB  _      3 <- ?",
            ",-- at       ADP   case   4 <- 6",
            "|-- a        DET   det    5 <- 6",
            "cat          NOUN  obl    6 <- ?",
        ]
    )


@given(partial_heads())
def test_drawings_have_the_known_arcs(partial):
    words = [f"w{k}" for k in range(1, len(partial) + 1)]
    tree = DependencyTree(words, partial, symbols=["X"] * len(words), deprels=["rel"] * len(words))
    known = [(head, token) for token, head in enumerate(partial, start=1) if head != -1]
    root = ElementTree.fromstring(tree.to_svg())
    drawn = [path for path in root.iter() if path.tag.endswith("path") and "stroke" in path.attrib]
    assert len(drawn) == len(known)
    labels = [text for text in root.iter() if text.text == "rel"]
    assert len(labels) == len(known)
    arcs = {
        (
            arc["end" if arc["dir"] == "left" else "start"] + 1,
            arc["start" if arc["dir"] == "left" else "end"] + 1,
        )
        for arc in tree.to_displacy()["arcs"]
    }
    assert arcs == {arc for arc in known if arc[0]}
    rows = str(tree).split("\n")
    assert [row.split()[-1] for row in rows] == ["?" if h == -1 else str(h) for h in partial]


# Structure


@given(partial_heads())
def test_structure_is_that_of_the_known_arcs(partial):
    tree = DependencyTree(["x"] * len(partial), partial)
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(len(partial) + 1))
    graph.add_edges_from((head, token) for token, head in enumerate(partial, 1) if head != -1)
    assert set(tree.to_networkx().edges) == set(graph.edges)
    assert set(tree.to_networkx()) == set(graph)
    between = graph.to_undirected()
    for token in graph:
        below = networkx.descendants(graph, token)
        assert tree.children(token) == tuple(sorted(graph.successors(token)))
        assert tree.descendants(token) == tuple(sorted(below))
        assert tree.subtree(token) == tuple(sorted({token, *below}))
        for other in graph:
            if networkx.has_path(between, token, other):
                expected = tuple(networkx.shortest_path(between, token, other))
                assert tree.path(token, other) == expected
            else:
                with pytest.raises(ValueError, match=f"there is no path from {token} to {other}"):
                    tree.path(token, other)
        if networkx.has_path(graph, 0, token):
            assert tree.depth(token) == networkx.shortest_path_length(graph, 0, token)
        else:
            with pytest.raises(ValueError, match=r"is not known \(-1\), so its depth"):
                tree.depth(token)


# Functions of heads


@given(partial_heads())
def test_allowed_arcs(partial):
    n = len(partial)
    for given_as in (partial, np.array(partial), DependencyTree(["x"] * n, partial)):
        (allowed,) = allowed_arcs([given_as])
        assert allowed.dtype == bool
        for m, head in enumerate(partial):
            assert allowed[m].tolist() == [head in (-1, h) for h in range(n + 1)]


def test_unlabelled_sentences_allow_all():
    first, second = allowed_arcs([DependencyTree(["a", "b"]), [2, 0]])
    assert first.shape == (2, 3)
    assert first.all()
    assert second.astype(int).tolist() == [[0, 0, 1], [1, 0, 0]]


def naive_lift(tree):
    """Nivre and Nilsson's algorithm with sets of descendants."""
    tree = list(tree)
    while True:
        below = {h: {h} for h in range(len(tree) + 1)}
        for token in range(1, len(tree) + 1):
            above = token
            while above:
                above = tree[above - 1]
                below[above].add(token)
        arcs = [(abs(h - m), m, h) for m, h in enumerate(tree, start=1)]
        wrong = [arc for arc in arcs if set(range(min(arc[1:]) + 1, max(arc[1:]))) - below[arc[2]]]
        if not wrong:
            return tree
        _, m, h = sorted(wrong)[0]
        tree[m - 1] = tree[h - 1]


@given(heads_lists())
@example([3, 5, 4, 0, 4, 3])
def test_the_shortest_arc_is_lifted_first(tree):
    assert lift(tree).tolist() == naive_lift(tree)


def test_unlabelled_trees_among_others_have_unknown_heads(partial):
    unlabelled = DependencyTree(["a", "b"], deprels=["x", "y"])
    for trees in ([partial, unlabelled], (partial, unlabelled)):
        known, filled = fill_unknown(trees)
        assert known is partial
        assert filled.heads.tolist() == [-1, -1]
        assert filled.deprels == ("x", "y")
    alone = [unlabelled, unlabelled]
    assert all(a is b for a, b in zip(fill_unknown(alone), alone, strict=True))
    assert fill_unknown(5) == 5
