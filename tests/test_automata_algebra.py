"""Distances of automata and their text, against sums over sequences and by round trips."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal, assert_equal

from sklearn_shag import EMAutomaton, SpectralAutomaton
from sklearn_shag.datasets import make_sequences
from sklearn_shag.operators import (
    Operators,
    are_equivalent,
    change_basis,
    from_att,
    l2_distance,
    mixture,
    product,
    to_att,
    to_dot,
    total_mass,
)
from tests.loops import over
from tests.test_operators import all_strings, string_values, value

COIN = Operators(np.array([1.0]), np.array([0.5]), np.array([[[0.25]], [[0.25]]]))


def random_signed(seed, n_states, size=0.3, n_symbols=2):
    """An automaton with entries of either sign, whose values fall with the length."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n_symbols, n_states, n_states))
    A *= size / np.linalg.norm(A, axis=(1, 2)).max()
    return Operators(*rng.normal(size=(2, n_states)), A)


@over("sizes", [(1, 1), (2, 3), (4, 2)])
@over("seed", [0, 1])
def test_distances_are_sums_over_sequences(sizes, seed):
    one, other = (random_signed(10 * seed + k, n) for k, n in enumerate(sizes))
    gap = np.linalg.norm(string_values(one, 13) - string_values(other, 13))
    assert_allclose(l2_distance(one, other), gap, rtol=1e-8)
    assert_allclose(l2_distance(other, one), l2_distance(one, other), rtol=1e-12)
    assert not are_equivalent(one, other)


def test_distances_by_the_product():
    made = [
        make_sequences(1, 5, n_symbols=3, random_state=k, return_operators=True)[1]
        for k in range(2)
    ]
    one, other = made
    # |f - g|^2 = <f, f> - 2 <f, g> + <g, g>, each the total mass of a product
    squares = [total_mass(product(f, g)) for f, g in ((one, one), (one, other), (other, other))]
    expected = np.sqrt(np.array([1, -2, 1]) @ squares)
    assert_allclose(l2_distance(one, other), expected, rtol=1e-10)


@over("kind", ["nondeterministic", "deterministic", "hmm"])
def test_equal_automata_are_as_near_as_rounding_allows(kind):
    _, one = make_sequences(1, 8, kind=kind, random_state=2, return_operators=True)
    basis = np.random.default_rng(0).normal(size=(8, 8))
    twice = mixture(one, change_basis(one, basis), 0.3)
    norm = l2_distance(one, one._replace(alpha_1=np.zeros(8)))
    assert l2_distance(one, twice) < 1e-13 * norm
    assert are_equivalent(one, twice)
    # A difference far below the root of rounding is found, to several digits.
    near = change_basis(one._replace(alpha_inf=(1 + 1e-10) * one.alpha_inf), basis)
    assert_allclose(l2_distance(one, near), 1e-10 * norm, rtol=1e-3)
    assert are_equivalent(one, near)
    assert not are_equivalent(one, near, tol=1e-11)


def test_a_learned_automaton_comes_near_to_the_truth():
    X, truth = make_sequences(30_000, 4, n_symbols=3, random_state=2, return_operators=True)
    distances = [
        l2_distance(truth, SpectralAutomaton(4).fit(X[:n]).operators_) for n in (300, 30_000)
    ]
    assert distances[1] < distances[0] / 3


@over("size", [1e-200, 1e-3, 1e100, 1e200])
def test_distances_of_any_size(size):
    one, other = random_signed(0, 3), random_signed(1, 2)
    expected = l2_distance(one, other)
    # Half of the factor may be in the start, and both models may have it elsewhere.
    large = [f._replace(alpha_inf=size * f.alpha_inf) for f in (one, other)]
    assert_allclose(l2_distance(*large), size * expected, rtol=1e-12)
    moved = large[0]._replace(alpha_1=one.alpha_1 * size, alpha_inf=one.alpha_inf)
    assert_allclose(l2_distance(moved, large[1]), size * expected, rtol=1e-12)


def test_distances_in_bases_of_different_scales():
    one = random_signed(0, 3)
    scaled = change_basis(one, np.diag([1e5, 1.0, 1e-5]))
    assert are_equivalent(one, scaled)
    assert are_equivalent(scaled, one)


def test_distances_where_states_cancel():
    A = np.zeros((2, 3, 3))
    A[0, :, :2] = [[0.5, 0.0], [0.0, 0.5], [0.3, -0.3]]  # nothing ever gets to the last state
    one = Operators(np.array([1.0, 1.0, 0.0]), np.array([0.5, 0.5, 0.5]), A)
    other = Operators(np.ones(1), np.ones(1), np.array([[[0.5]], [[0.0]]]))
    assert are_equivalent(one, other)


def test_sums_of_squares_that_exist_though_others_do_not():
    # The values sum to infinity, but their squares do not.
    wide = COIN._replace(A=np.full((2, 1, 1), 0.6))
    zero = COIN._replace(alpha_1=np.zeros(1))
    assert_allclose(l2_distance(wide, zero), np.sqrt(0.25 / (1 - 0.72)))
    # A state that never ends, or is never reached, has no part in any value.
    useless = Operators(
        np.array([1.0, 0.0, 0.5]),
        np.array([0.5, 0.5, 0.0]),
        np.array([np.diag([0.25, 7.0, 8.0]), np.diag([0.25, 7.0, 8.0])]),
    )
    assert are_equivalent(useless, COIN)
    assert l2_distance(zero, zero) == 0.0
    assert are_equivalent(zero, zero._replace(alpha_inf=np.zeros(1)))


@over("kind", ["nondeterministic", "deterministic", "hmm"])
@over("semiring", ["log", "real"])
def test_files_are_read_back_with_equal_values(kind, semiring):
    _, made = make_sequences(1, 6, n_symbols=3, kind=kind, random_state=1, return_operators=True)
    for alpha_1 in (made.alpha_1, np.eye(6)[0], np.eye(6)[2]):
        one = made._replace(alpha_1=alpha_1)
        text = to_att(one, ["b", "a", "ü"], semiring=semiring)
        read, symbols = from_att(text, ["b", "a", "ü"], semiring=semiring)
        assert symbols == ["b", "a", "ü"]
        assert_allclose(string_values(read, 4), string_values(one, 4), rtol=1e-13, atol=1e-300)
        named, symbols = from_att(text, semiring=semiring)
        assert symbols == ["a", "b", "ü"]
        assert_array_equal(named.A, read.A[[1, 0, 2]])


def test_signed_automata_are_written_as_they_are():
    one = random_signed(0, 3)
    read, symbols = from_att(to_att(one, semiring="real"), semiring="real")
    assert symbols == [1, 2]
    assert_equal(read, one)
    tiny = COIN._replace(A=np.array([[[5e-324]], [[1e-300]]]))
    assert_allclose(from_att(to_att(tiny))[0].A, tiny.A, rtol=1e-12)


def test_arcs_without_symbols_are_summed_over():
    """Against the sum over paths, in which free arcs may follow each other."""
    text = "7 7 0 0.25\n7 2 <epsilon> 0.5\n2 7 <eps> 0.5\n7 2 a 0.5\n2 2 b\n2 0.5\n9 9 b 3\n"
    read, symbols = from_att(text, semiring="real")
    assert symbols == ["a", "b"]
    free = np.array([[0.25, 0.5], [0.5, 0.0]])  # from states 7 and 2
    closure = sum(np.linalg.matrix_power(free, k) for k in range(200))
    A = np.array([[[0.0, 0.0], [0.5, 0.0]], [[0.0, 0.0], [0.0, 1.0]]])
    for x in all_strings(2, 4):
        state = closure @ [1.0, 0.0]
        for code in x:
            state = closure @ A[code] @ state
        assert_allclose(value(read, x), 0.5 * state[1])


def test_text_of_integers():
    read, symbols = from_att("0\t1\t10\t0.5\n1\t0\t3\n\n1\n")
    assert symbols == [3, 10]
    assert_allclose(read.A[1, 1, 0], np.exp(-0.5))
    assert read.A[0, 0, 1] == 1.0
    assert_array_equal(read.alpha_inf, [0.0, 1.0])


def test_openfst_reads_and_writes_the_same_values():
    fst = pytest.importorskip("pywrapfst")
    _, one = make_sequences(1, 4, n_symbols=3, random_state=1, return_operators=True)
    compiler = fst.Compiler(arc_type="log64", acceptor=True)
    compiler.write(to_att(one))
    compiled = compiler.compile()
    # The sum over all paths is the total mass; rounding of OpenFst's sum stops at its delta.
    assert_allclose(
        float(fst.shortestdistance(compiled, delta=1e-9, reverse=True)[0]), 0, atol=1e-6
    )
    again, symbols = from_att(compiled.print(acceptor=True), [1, 2, 3])
    assert symbols == [1, 2, 3]
    assert l2_distance(one, again) < 1e-4


def test_dot_shows_all_that_is_not_zero():
    one = Operators(
        np.array([0.0, 1.0]), np.array([0.5, 0.0]), np.array([[[0.0, -0.25], [0.0, 0.0]]])
    )
    lines = to_dot(one, ['"\\']).splitlines()
    assert lines[3:-1] == [
        "start1 [shape=point];",
        'start1 -> 1 [label="1"];',
        '0 [label="0\\nSTOP 0.5", peripheries=2];',
        '1 [label="1"];',
        '1 -> 0 [label="\\"\\\\ -0.25"];',
    ]


def test_what_was_learned_is_written_and_read():
    X = [list("abab"), list("ab"), list("b"), []] * 10
    model = EMAutomaton(3, random_state=0).fit(X)
    again = EMAutomaton.from_operators(*from_att(to_att(model.operators_, model.symbols_)))
    assert_allclose(again.score_samples(X), model.score_samples(X), rtol=1e-12)
