"""Decoding against the enumeration of all trees."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_shag.operators import Operators
from sklearn_shag.parsing import _viterbi, eisner
from tests import oracles


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), n_tokens=st.integers(1, 6))
def test_eisner_finds_the_best_tree(seed, n_tokens):
    scores = np.random.default_rng(seed).normal(size=(n_tokens, n_tokens + 1))
    heads, score = eisner(scores)
    expected = oracles.best_tree(scores)
    assert_array_equal(heads, expected)
    assert_allclose(score, scores[np.arange(n_tokens), list(expected)].sum(), rtol=1e-12)


@settings(max_examples=100)
@given(
    seed=st.integers(0, 10**6),
    n_tokens=st.integers(1, 6),
    n_values=st.sampled_from([1, 2, 3]),
    share=st.sampled_from([0.0, 0.2, 0.5, 0.9]),
)
def test_eisner_finds_one_of_the_best_trees(seed, n_tokens, n_values, share):
    """Of whole numbers, with sums that are exact: many are equal, and some arcs forbidden."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(-n_values, n_values, size=(n_tokens, n_tokens + 1)).astype(float)
    scores[rng.uniform(size=scores.shape) < share] = -np.inf
    given_scores = scores.copy()
    heads, score = eisner(scores)
    assert tuple(heads.tolist()) in oracles.projective_trees(n_tokens)
    assert score == scores[np.arange(n_tokens), heads].sum()
    best = list(oracles.best_tree(scores))
    assert score == scores[np.arange(n_tokens), best].sum()
    assert_array_equal(scores, given_scores)


def test_the_head_of_a_single_token_is_the_root():
    for score in (1.5, -1.5, -np.inf):
        heads, best = eisner([[score, 7.0]])
        assert heads.tolist() == [0]
        assert best == score


def test_what_a_token_would_score_as_its_own_head_does_not_count():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(6, 7))
    expected = eisner(scores)
    for value in (1e9, -np.inf):
        scores[np.arange(6), np.arange(1, 7)] = value
        heads, score = eisner(scores)
        assert_array_equal(heads, expected[0])
        assert score == expected[1]


@pytest.mark.parametrize("n_tokens", [7, 10, 16, 17, 33])
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


@pytest.mark.parametrize("n_tokens", range(1, 7))
def test_viterbi_finds_the_most_probable_tree_of_a_deterministic_grammar(n_tokens):
    """Two states, before and after the first modifier: one path a tree."""
    rng = np.random.default_rng(n_tokens)
    for _ in range(10):
        A = np.zeros((5, 2, 4, 2, 2))
        A[..., 1, :] = rng.uniform(size=(5, 2, 4, 2))
        alpha_1 = np.zeros((5, 2, 2))
        alpha_1[..., 0] = 1.0
        operators = Operators(alpha_1, rng.uniform(size=(5, 2, 2)), A)
        codes = np.concatenate([[4], rng.integers(4, size=n_tokens)])
        with np.errstate(divide="ignore"):
            log_operators = Operators(*(np.log(part) for part in operators))
        heads = np.empty(n_tokens, dtype=np.int64)
        no_scores = np.zeros((n_tokens + 1, n_tokens + 1))
        score = _viterbi.viterbi(log_operators, codes, no_scores, heads)
        values = {
            tree: oracles.tree_value(operators, codes, tree)
            for tree in oracles.projective_trees(n_tokens)
        }
        # Equal symbols make equal trees, so compare probabilities, not trees.
        assert_allclose(values[tuple(heads)], max(values.values()), rtol=1e-10)
        assert_allclose(np.exp(score), values[tuple(heads)], rtol=1e-10)


def test_forbidden_arcs_are_avoided():
    scores = np.zeros((3, 4))
    scores[:, 0] = [-np.inf, -np.inf, 0]
    scores[0, 3] = -np.inf
    heads, score = eisner(scores)
    assert heads.tolist() == [2, 3, 0]
    assert score == 0


def test_a_tree_comes_back_even_if_all_are_forbidden():
    heads, score = eisner(np.full((4, 5), -np.inf))
    assert score == -np.inf
    assert tuple(heads) in oracles.projective_trees(4)


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="takes a minute if interpreted")
@pytest.mark.parametrize("n_tokens", [40, 300])
def test_long_sentences(n_tokens):
    scores = np.random.default_rng(0).normal(size=(n_tokens, n_tokens + 1))
    heads, score = eisner(scores)
    assert oracles.is_tree(heads.tolist())
    assert n_tokens > 40 or not oracles.crosses(heads.tolist())  # takes long
    assert np.sum(heads == 0) == 1
    assert_allclose(score, scores[np.arange(n_tokens), heads].sum(), rtol=1e-12)
    # Mirrored, the same tree is the best.
    mirrored = np.column_stack([scores[:, 0], scores[:, :0:-1]])[::-1]
    heads_of_mirrored, score_of_mirrored = eisner(mirrored)
    expected = np.where(heads == 0, 0, n_tokens + 1 - heads)[::-1]
    assert_array_equal(heads_of_mirrored, expected)
    assert_allclose(score_of_mirrored, score, rtol=1e-12)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (np.zeros((2, 2)), "must have the shape"),
        (np.zeros((3, 2)), "must have the shape"),
        (np.zeros((2, 4)), "must have the shape"),
        (np.zeros(6), "must have the shape"),
        (np.zeros((0, 1)), "at least one token"),
        ([[0.0, 0.0, np.nan], [0.0, 0.0, 0.0]], "head 2 of token 1 is NaN"),
    ],
)
def test_bad_scores_are_refused(scores, message):
    with pytest.raises(ValueError, match=message):
        eisner(scores)
