"""The best tree whose arcs may cross, against networkx and the enumeration of all trees."""

import networkx
import numba
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_shag.parsing import eisner, maximum_arborescence
from tests import oracles


def sums(scores):
    """The sum of every tree with one root."""
    trees = np.array(oracles.trees(len(scores)))
    return trees, scores[np.arange(len(scores)), trees].sum(axis=1)


def assert_is_tree(heads):
    assert oracles.is_tree(heads.tolist())
    assert np.sum(heads == 0) == 1


def best_by_networkx(scores):
    """The largest sum, with the arc of each root in turn; -inf if there is no tree.

    A branching need not reach all tokens. Each arc is worth so much that the best one does if any
    does; the weights of networkx's own maximum_spanning_arborescence are too small for that.
    """
    best, worth = -np.inf, 1000.0
    for root in range(1, len(scores) + 1):
        graph = networkx.DiGraph()
        graph.add_nodes_from(range(len(scores) + 1))
        for m, h in np.argwhere(scores > -np.inf):
            if (h == 0 and m + 1 == root) or h not in (0, m + 1):
                graph.add_edge(int(h), int(m) + 1, weight=scores[m, h] + worth)
        found = networkx.maximum_branching(graph)
        if found.number_of_edges() == len(scores):
            best = max(best, sum(value - worth for *_, value in found.edges.data("weight")))
    return best


@settings(max_examples=150)
@given(
    seed=st.integers(0, 10**6),
    n_tokens=st.integers(1, 5),
    n_values=st.sampled_from([1, 2, 3]),
    share=st.sampled_from([0.0, 0.2, 0.5, 0.8]),
)
def test_one_of_the_best_trees_is_found(seed, n_tokens, n_values, share):
    """Of whole numbers, with sums that are exact: many are equal, and some arcs forbidden.

    A tree comes back even if none is allowed. No token is its own head, whatever that would score.
    """
    rng = np.random.default_rng(seed)
    scores = rng.integers(n_values, size=(n_tokens, n_tokens + 1)).astype(float)
    scores[rng.uniform(size=scores.shape) < share] = -np.inf
    before = scores.copy()
    heads, score = maximum_arborescence(scores)
    assert_is_tree(heads)
    assert_array_equal(scores, before)
    assert score == sums(scores)[1].max()
    assert score == scores[np.arange(n_tokens), heads].sum()
    assert score >= eisner(scores)[1]


@settings(max_examples=25, deadline=None)
@example(seed=77818, n_tokens=12, share=0.85)
@given(
    seed=st.integers(0, 10**6),
    n_tokens=st.integers(6, 14),
    share=st.sampled_from([0.0, 0.5, 0.85]),
)
def test_networkx_finds_no_better_one(seed, n_tokens, share):
    rng = np.random.default_rng(seed)
    scores = rng.integers(-9, 3, size=(n_tokens, n_tokens + 1)).astype(float)
    scores[rng.uniform(size=scores.shape) < share] = -np.inf
    heads, score = maximum_arborescence(scores)
    assert_is_tree(heads)
    assert score == best_by_networkx(scores)


def test_several_roots_are_never_better():
    """However much the arcs from the root symbol are worth, and to the last digit."""
    scores = np.full((3, 4), -1.0)
    scores[:, 0] = 1e15
    scores[0, 2] = -0.5
    assert maximum_arborescence(scores)[0].tolist() in ([2, 0, 2], [2, 3, 0], [2, 0, 1])
    scores[:, 0] = [3.0, 1e15 + 0.25, 1e15]  # a large number taken off would lose the difference
    assert maximum_arborescence(scores)[0].tolist() in ([2, 0, 2], [2, 0, 1])


def test_cycles_within_cycles():
    """Tokens of which each pair wants each other, and so does each pair of pairs."""
    scores = np.zeros((8, 9))
    for m in range(8):
        for h in range(8):
            scores[m, h + 1] = 8.0 - (m ^ h)
    scores[:, 0] = -np.arange(8.0)
    heads, score = maximum_arborescence(scores)
    assert_is_tree(heads)
    assert score == best_by_networkx(scores)


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="takes long if interpreted")
def test_long_sentences():
    scores = np.random.default_rng(0).normal(size=(300, 301))
    heads, score = maximum_arborescence(scores)
    assert_is_tree(heads)
    # In another order of the tokens, the same tree is the best.
    order = np.random.default_rng(1).permutation(300)
    place = np.concatenate([[0], np.argsort(order) + 1])
    columns = np.concatenate([[0], order + 1])
    heads_of_shuffled, score_of_shuffled = maximum_arborescence(scores[order][:, columns])
    assert_array_equal(heads_of_shuffled, place[heads[order]])
    assert_allclose(score_of_shuffled, score, rtol=1e-12)
