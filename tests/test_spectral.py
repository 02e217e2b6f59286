"""Spectral learning: exact recovery, the published algorithm, rank and smoothing."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_equal
from scipy import linalg

from sklearn_shag import SpectralSHAG
from sklearn_shag.automata._decomposition import leading_states
from sklearn_shag.learning._deterministic import deterministic_automaton
from sklearn_shag.learning._spectral import PUBLISHED, spectral_automaton
from sklearn_shag.operators import Operators, exact_moments
from sklearn_shag.sequences import (
    collect_statistics,
    count_treebank,
    extract_sequences,
    pair_moments,
)
from tests.loops import assert_all_close, over
from tests.test_em import automaton_of, encode
from tests.test_operators import random_automaton, string_values
from tests.test_sequences import dense_trigrams, flatten, naive_moments, random_treebank


@over("n_states", [1, 2, 3])
@over("seed", range(5))
@over("context", [0.0, 0.5])
@over("scaling", [0.0, 0.5])
def test_exact_statistics_give_the_automaton_back(n_states, seed, context, scaling):
    automaton = random_automaton(np.random.default_rng(seed), n_symbols=3, n_states=n_states)
    moments = exact_moments(automaton, context)
    # From exact moments there is nothing to shrink.
    learned, _ = spectral_automaton(moments, n_states, scaling=scaling, shrinkage=30)
    assert_allclose(string_values(learned, 5), string_values(automaton, 5), rtol=0, atol=1e-9)


@pytest.fixture
def noun_moments(english):
    """Moments of the left modifiers of nouns, estimated from trees."""
    symbols, statistics, *_ = count_treebank(english)
    noun = list(symbols).index("NOUN")
    return lambda context: pair_moments(statistics, noun, 0, smoothing=5, context=context)


def test_mixing_is_the_weighted_mean_of_two_models(noun_moments):
    moments = noun_moments(0.5)
    mixed, alone = (
        spectral_automaton(moments, 4, shrinkage=30, mixing=weight)[0] for weight in (0.25, 0.0)
    )
    first = deterministic_automaton(moments, "first")
    expected = 0.75 * string_values(alone, 4) + 0.25 * string_values(first, 4)
    assert_allclose(string_values(mixed, 4), expected, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("mixing", [0.0, 0.1])
def test_fewer_states_are_leading_ones_to_the_last_bit(noun_moments, mixing):
    options = {"shrinkage": 30, "scaling": 0.5, "alpha": 1e-3, "mixing": mixing}
    largest, _ = spectral_automaton(noun_moments(0.5), 16, **options)
    for n_states in range(1, 16):
        learned, _ = spectral_automaton(noun_moments(0.5), n_states, **options)
        assert_equal(learned, leading_states(largest, n_states + (2 if mixing else 0)))


def test_more_states_than_the_rank_change_nothing():
    automaton = random_automaton(np.random.default_rng(0), n_symbols=4, n_states=2)
    moments = exact_moments(automaton)
    # Rounding leaves singular values of about 1e-17 behind the two.
    learned, _ = spectral_automaton(moments, n_states=5)
    assert learned.alpha_1.size == 2
    assert_allclose(string_values(learned, 3), string_values(automaton, 3), rtol=0, atol=1e-9)


@over("n_states", [1, 2, 3])
@over("head", [0, 1, 2])
def test_without_smoothing_it_is_the_published_algorithm(n_states, head):
    """Algorithm 1 with START, STOP and packed operators, by general pseudo-inverses."""
    sentences = random_treebank(head, projective=False, n_sentences=40)
    bigrams, trigrams, total = naive_moments(sentences, head, 0)
    P, P_a = bigrams / total, trigrams / total
    U = np.linalg.svd(P)[0][:, :n_states]
    inverse = np.linalg.pinv(U.T @ P)
    A = np.array([U.T @ matrix @ inverse for matrix in P_a])
    published = Operators(U.T @ P[:, -1], P[-1] @ inverse, A)

    symbols = [[f"x{code}" for code in codes] for codes, _ in sentences]
    model = SpectralSHAG.published(n_states)
    model.fit(symbols, [heads for _, heads in sentences])
    learned = string_values(automaton_of(model, 2 * head), 4)
    assert_allclose(learned, string_values(published, 4), rtol=1e-7, atol=1e-10)


def naive_spectral(moments, n_states, shrinkage, scaling, alpha):
    """Equations 33 to 35 of the theory page with dense matrices, all symbols seen."""
    n, P = moments.n_symbols, moments.bigrams
    near = slice(n + 1)
    D_r, D_c = P[:, near].sum(axis=1) ** -scaling, P[near].sum(axis=0) ** -scaling
    U, s, Vt = np.linalg.svd(np.diag(D_r) @ P @ np.diag(D_c))
    L = D_r[:, None] * U[:, :n_states]
    R = D_c[:, None] * Vt[:n_states].T * s[:n_states] / (s[:n_states] ** 2 + alpha * s[0] ** 2)
    A = []
    for matrix in dense_trigrams(moments):
        h, g, m = matrix[:, near].sum(axis=1), matrix[near].sum(axis=0), matrix[near, near].sum()
        relied = np.ones_like(g)
        if shrinkage:
            count = moments.n_sequences * g
            relied = count / (count + shrinkage)
        A.append(L.T @ (relied * matrix + (1 - relied) * np.outer(h, g) / m) @ R)
    # The largest entry of each column of U is to be positive.
    signs = [np.sign(column[np.abs(column).argmax()]) for column in U[:, :n_states].T]
    basis = np.diag(signs)
    return L.T @ P[:, n], P[n] @ R, np.array(A), basis


@over("context", [0.0, 0.5])
@over(
    "options",
    [
        {"shrinkage": 0, "scaling": 0, "alpha": 0},
        {"shrinkage": 30, "scaling": 0, "alpha": 0},
        {"shrinkage": 0, "scaling": 0.5, "alpha": 0},
        {"shrinkage": 0, "scaling": 0, "alpha": 1e-2},
        {"shrinkage": 3, "scaling": 0.3, "alpha": 1e-3},
    ],
)
def test_operators_are_those_of_the_equations(options, context):
    """START has a column and no row, STOP a row and no column: alpha_1 and alpha_inf are packed."""
    sentences = random_treebank(0, projective=False, n_sentences=200, longest=12)
    statistics = collect_statistics(extract_sequences(*flatten(sentences), 3), 3)
    moments = pair_moments(statistics, 3, 0, context=context)
    for n_states in (1, 2, 3):
        learned, _ = spectral_automaton(moments, n_states, **options)
        alpha_1, alpha_inf, A, basis = naive_spectral(moments, n_states, **options)
        assert_allclose(learned.alpha_1, basis @ alpha_1, rtol=1e-9, atol=1e-12)
        assert_allclose(learned.alpha_inf, alpha_inf @ basis, rtol=1e-9, atol=1e-12)
        assert_allclose(learned.A, basis @ A @ basis, rtol=1e-9, atol=1e-12)


def test_rare_heads_have_fewer_states():
    """A head that never takes a left modifier has a bigram matrix of rank 1."""
    model = SpectralSHAG.published(4).fit(
        [["D", "N", "V"], ["N", "V", "N"]], [[2, 3, 0], [2, 0, 2]]
    )
    d = list(model.symbols_).index("D")
    assert model.operators_.alpha_1.shape[2] >= 2
    assert not model.operators_.alpha_1[d, 0, 1:].any()
    assert_allclose(
        model.operators_.alpha_inf[d, 0] @ model.operators_.alpha_1[d, 0], 1.0, rtol=1e-12
    )


def test_one_state_still_has_a_root(english):
    """The root symbol's bigrams have two equal singular values: one state would be zero."""
    model = SpectralSHAG(1, smoothing=1).fit(english)
    assert np.isfinite(model.log_likelihood(english[:20])).all()
    assert model.score(english) > 0.6


@pytest.mark.parametrize(
    "parameters",
    [
        {**PUBLISHED, "smoothing": 2},
        {
            "context": 0.3,
            "shrinkage": 20,
            "scaling": 0.3,
            "alpha": 0.01,
            "mixing": 0.2,
            "smoothing": 3,
        },
    ],
    ids=str,
)
def test_learning_uses_what_pair_moments_gives(english, parameters):
    """The automaton of every head is that of its moments; so are singular values and ranks."""
    model = SpectralSHAG(3, **parameters).fit(english)
    n_symbols, _, statistics = encode(english)
    options = dict(parameters)
    smoothing, context = options.pop("smoothing"), options.pop("context")
    for head, direction in np.ndindex(n_symbols + 1, 2):
        moments = pair_moments(statistics, head, direction, smoothing, context)
        automaton, singular_values = spectral_automaton(moments, 3, **options)
        n = automaton.alpha_1.size
        key = head, direction
        assert_allclose(model.operators_.alpha_1[key][:n], automaton.alpha_1, rtol=1e-9)
        assert_allclose(model.operators_.alpha_inf[key][:n], automaton.alpha_inf, rtol=1e-9)
        assert_allclose(model.operators_.A[key][:-1, :n, :n], automaton.A, rtol=1e-7, atol=1e-12)
        found = model.singular_values_[key]
        assert_allclose(found[: singular_values.size], singular_values, rtol=1e-9, atol=1e-15)
        assert not found[singular_values.size :].any()
        squares = singular_values[:3][singular_values[:3] > 1e-12] ** 2
        worth = squares / (squares + parameters["alpha"] * squares[0])
        assert_allclose(model.effective_rank_[key], worth.sum(), rtol=1e-9)


def test_a_decomposition_that_does_not_converge_is_made_another_way(noun_moments, monkeypatch):
    """Seen with words as symbols: divide and conquer gave up on a matrix without defect."""

    def svd(matrix, lapack_driver="gesdd", **options):
        if lapack_driver == "gesdd":
            raise linalg.LinAlgError("SVD did not converge")
        return original(matrix, lapack_driver=lapack_driver, **options)

    expected, expected_values = spectral_automaton(noun_moments(0.5), 4)
    original = linalg.svd
    monkeypatch.setattr(linalg, "svd", svd)
    found, found_values = spectral_automaton(noun_moments(0.5), 4)
    assert_allclose(found_values, expected_values, rtol=1e-10, atol=1e-14)
    assert_all_close(found, expected, rtol=1e-8, atol=1e-10)
