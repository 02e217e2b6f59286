"""Decoding against the enumeration of all trees."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_shag.parsing import Potentials, best_trees, eisner, tree_values
from sklearn_shag.parsing._chart import check_grammar
from sklearn_shag.parsing._potentials import as_factors, log_grammar, take_potentials
from sklearn_shag.parsing._viterbi import best_derivations, log_factors
from tests import oracles
from tests.loops import over
from tests.test_tree_values import (
    FACTORS,
    N_SYMBOLS,
    random_operators,
    random_potentials,
    value_by_hand,
)


@settings(max_examples=100)
@given(
    seed=st.integers(0, 10**6),
    n_tokens=st.integers(1, 6),
    n_values=st.sampled_from([1, 2, 3]),
    share=st.sampled_from([0.0, 0.2, 0.5, 0.9]),
    own_head=st.sampled_from([0.0, 1e9]),
)
def test_eisner_finds_one_of_the_best_trees(seed, n_tokens, n_values, share, own_head):
    """Of whole numbers, with sums that are exact: many are equal, and some arcs forbidden.

    What a token would score as its own head does not count.
    """
    rng = np.random.default_rng(seed)
    scores = rng.integers(-n_values, n_values, size=(n_tokens, n_tokens + 1)).astype(float)
    scores[rng.uniform(size=scores.shape) < share] = -np.inf
    scores[:, 1:] += own_head * np.eye(n_tokens)
    given_scores = scores.copy()
    heads, score = eisner(scores)
    assert tuple(heads.tolist()) in oracles.projective_trees(n_tokens)
    assert score == scores[np.arange(n_tokens), heads].sum()
    best = list(oracles.best_tree(scores))
    assert score == scores[np.arange(n_tokens), best].sum()
    assert_array_equal(scores, given_scores)


@over("n_tokens", [7, 10, 16, 17, 33])
def test_chains_and_bushes_of_any_length(n_tokens):
    """The only trees allowed: heads before or behind, all in the middle, ends in turn."""
    tokens = np.arange(1, n_tokens + 1)
    middle = np.where(tokens == 4, 0, 4)
    visited = np.column_stack([tokens, n_tokens + 1 - tokens]).ravel()[:n_tokens]
    nested = np.empty(n_tokens, dtype=int)
    nested[visited - 1] = np.concatenate([[0], visited[:-1]])
    for tree in (tokens - 1, (tokens + 1) % (n_tokens + 1), middle, nested):
        scores = np.full((n_tokens, n_tokens + 1), -np.inf)
        scores[tokens - 1, tree] = -tokens
        heads, score = eisner(scores)
        assert_array_equal(heads, tree)
        assert score == -tokens.sum()


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="takes a minute if interpreted")
@over("n_tokens", [40, 300])
def test_long_sentences(n_tokens):
    scores = np.random.default_rng(0).normal(size=(n_tokens, n_tokens + 1))
    heads, score = eisner(scores)
    assert oracles.is_tree(heads.tolist())
    assert not oracles.crosses(heads)
    assert np.sum(heads == 0) == 1
    assert_allclose(score, scores[np.arange(n_tokens), heads].sum(), rtol=1e-12)
    # Mirrored, the same tree is the best.
    mirrored = np.column_stack([scores[:, 0], scores[:, :0:-1]])[::-1]
    heads_of_mirrored, score_of_mirrored = eisner(mirrored)
    expected = np.where(heads == 0, 0, n_tokens + 1 - heads)[::-1]
    assert_array_equal(heads_of_mirrored, expected)
    assert_allclose(score_of_mirrored, score, rtol=1e-12)


def best_path_value(operators, head, direction, symbols):
    """The value of the best path through the states, for operators that are not negative."""
    state = operators.alpha_1[head, direction]
    for symbol in symbols:
        state = (operators.A[head, direction, symbol] * state).max(axis=1)
    return (operators.alpha_inf[head, direction] * state).max()


def deterministic_operators(rng, n_states):
    """Each symbol leads to one state of each head and direction, from every state."""
    operators = random_operators(rng, n_states)
    operators.alpha_1[..., 1:] = 0.0
    reached = rng.integers(n_states, size=operators.A.shape[:3])
    operators.A[np.arange(n_states) != reached[..., None]] = 0.0
    return operators


def assert_best(operators, potentials, heads, scores, value_of=oracles.sequence_value):
    """Trees and their scores are the best of all, by enumeration."""
    for s, (tree, score) in enumerate(zip(heads, scores, strict=True)):
        trees = oracles.projective_trees(tree.size)
        values = [value_by_hand(operators, potentials, s, each, value_of) for each in trees]
        assert tuple(tree.tolist()) in trees
        # Equal symbols make equal trees, so compare values, not trees.
        assert_allclose(np.exp(score), max(values), rtol=1e-9)
        assert_allclose(values[trees.index(tuple(tree.tolist()))], max(values), rtol=1e-9)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    n_classes=st.sampled_from([1, 2, 4]),
    n_states=st.integers(0, 3),
    factors=st.sets(st.sampled_from(FACTORS)),
    zeros=st.sampled_from([0.0, 0.1, 0.4]),
)
def test_best_trees_of_deterministic_operators_and_memory(
    seed, n_classes, n_states, factors, zeros
):
    rng = np.random.default_rng(seed)
    operators = deterministic_operators(rng, n_states) if n_states else None
    potentials = random_potentials(
        rng, [3, 1, 4, 2], n_classes, factors, with_codes=n_states > 0, zeros=zeros
    )
    heads, scores = best_trees(operators, potentials)
    assert_best(operators, potentials, heads, scores)
    sign, log_abs = tree_values(operators, potentials, heads)
    assert_array_equal(sign, scores > -np.inf)
    assert_allclose(log_abs, scores, rtol=1e-9)


@over("n_classes", [1, 2, 4])
def test_with_hidden_states_the_best_derivation_is_found(n_classes):
    rng = np.random.default_rng(n_classes)
    operators = random_operators(rng, 3)
    potentials = random_potentials(rng, [4] * 5, n_classes)
    heads, scores = best_trees(operators, potentials)
    assert_best(operators, potentials, heads, scores, best_path_value)
    _, log_abs = tree_values(operators, potentials, heads)
    assert np.all(scores < log_abs)


@over(("n_classes", "factors"), [(2, FACTORS), (4, FACTORS), (4, FACTORS[1:])])
@over("lengths", [[4, 3, 5], [9, 30]])
def test_memory_is_as_good_as_states(n_classes, factors, lengths):
    """DET+F with two classes, DET+FCP with four: their automata as operators and as memory."""
    rng = np.random.default_rng(n_classes)
    class_of = np.array([1, 1, 1, 1] if n_classes == 2 else [1, 2, 3, 3])
    operators = random_operators(rng, n_classes)
    operators.alpha_1[...] = np.eye(n_classes)[0]
    operators.A[:, :, np.arange(n_classes) != class_of[:, None]] = 0.0
    potentials = random_potentials(rng, lengths, 1, factors[:-2])
    codes, arc_memory, stop_memory = potentials.codes, [], []
    for begin, end in zip(potentials.indptr, potentials.indptr[1:], strict=False):
        sentence = codes[begin:end].tolist()
        for m, symbol in enumerate(sentence):
            for h, head in enumerate([N_SYMBOLS + 1, *sentence], start=-1):
                # What follows the only modifier of the root symbol: STOP, with class 0 before it.
                A = operators.A[head, int(h < m), symbol][class_of[symbol]]
                last = operators.alpha_inf[head, 1][class_of[symbol]]
                arc_memory.append(A * last if h == -1 else A)
            stop_memory.append(operators.alpha_inf[symbol])
    by_memory = Potentials(
        potentials.indptr,
        None,
        potentials.arcs,
        class_of[codes],
        np.array(arc_memory),
        np.array(stop_memory),
    )
    heads, scores = best_trees(operators, potentials)
    heads_by_memory, scores_by_memory = best_trees(None, by_memory)
    assert_allclose(scores_by_memory, scores, rtol=1e-12)
    for trees in (heads, heads_by_memory):
        assert_allclose(tree_values(operators, potentials, trees)[1], scores, rtol=1e-12)
        assert_allclose(tree_values(None, by_memory, trees)[1], scores, rtol=1e-12)


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), share=st.sampled_from([0.0, 0.3, 0.8]))
def test_ties_and_forbidden_arcs(seed, share):
    """Whole numbers, with sums that are exact: Eisner's algorithm finds the same scores."""
    rng = np.random.default_rng(seed)
    lengths = [1, 2, 4, 7, 8, 9, 17]
    arcs = [rng.integers(-1, 2, size=(n, n + 1)).astype(float) for n in lengths]
    for each in arcs:
        each[rng.uniform(size=each.shape) < share] = -np.inf
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    flat = np.concatenate([each.ravel() for each in arcs])
    heads, scores = best_trees(None, Potentials(indptr, arcs=flat))
    for each, tree, score in zip(arcs, heads, scores, strict=True):
        assert score == eisner(each)[1]
        assert score == each[np.arange(tree.size), tree].sum() or score == -np.inf
        assert oracles.is_tree(tree.tolist())
        assert not oracles.crosses(tree.tolist())
        assert np.sum(tree == 0) == 1


@over("n_classes", [1, 4])
@over("n_states", [1, 3])
def test_a_tree_comes_back_even_if_nothing_is_possible(n_classes, n_states):
    rng = np.random.default_rng(0)
    operators = random_operators(rng, n_states)
    whole = random_potentials(rng, [1, 5, 3], n_classes)
    for impossible in (
        whole._replace(arcs=np.full_like(whole.arcs, -np.inf)),
        whole._replace(arc_memory=np.zeros_like(whole.arc_memory)),
        whole._replace(stop_memory=np.zeros_like(whole.stop_memory)),
    ):
        heads, scores = best_trees(operators, impossible)
        assert scores.tolist() == [-np.inf] * 3
        for tree in heads:
            assert tuple(tree.tolist()) in oracles.projective_trees(tree.size)


@over("n_jobs", [1, 2])
def test_sentences_do_not_depend_on_each_other(n_jobs):
    rng = np.random.default_rng(0)
    operators = deterministic_operators(rng, 2)
    potentials = random_potentials(rng, [7, 1, 12, 3, 9, 2], 2, zeros=0.05)
    heads, scores = best_trees(operators, potentials, n_jobs=n_jobs)
    for s, (tree, score) in enumerate(zip(heads, scores, strict=True)):
        alone = take_potentials(potentials, np.array([s]))
        (expected,), (expected_score,) = best_trees(operators, alone)
        assert_array_equal(tree, expected)
        assert score == expected_score


def test_of_a_chunk_only_those_asked_for_are_parsed():
    rng = np.random.default_rng(0)
    operators = deterministic_operators(rng, 2)
    _, potentials = check_grammar(operators, random_potentials(rng, [5, 3, 8], 2))
    expected, expected_scores = best_trees(operators, potentials)
    heads, scores = np.full((1, 16), -1), np.full((1, 3), np.nan)
    sentences = log_grammar(operators), log_factors(as_factors(potentials))
    best_derivations(*sentences, np.array([2, 0]), heads, scores)
    assert heads[0].tolist() == [*expected[0], -1, -1, -1, *expected[2]]
    assert_array_equal(scores[0], [expected_scores[0], np.nan, expected_scores[2]])
    best_derivations(*sentences, np.array([], dtype=np.int64), heads, scores)
    assert np.isnan(scores[0, 1])
