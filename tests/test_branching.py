"""Whether sentences of a grammar end: closed cases, expected numbers, sampling that gives up."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_shag.operators import (
    Operators,
    branching_radius,
    change_basis,
    complete_grammar,
    sample_derivations,
)
from tests.oracles import LEFT, RIGHT
from tests.test_operators import all_strings, at, random_automaton, string_values


def grammar_of(sides, root_counts):
    """A grammar of right automata, one a symbol; nothing is on the left."""
    n_symbols, n_states = len(sides), sides[0].alpha_1.size
    alpha_1, alpha_inf = np.ones((2, n_symbols + 1, 2, n_states)) / n_states
    alpha_inf *= n_states
    A = np.zeros((n_symbols + 1, 2, n_symbols, n_states, n_states))
    for head, side in enumerate(sides):
        alpha_1[head, RIGHT], alpha_inf[head, RIGHT], A[head, RIGHT] = side
    return complete_grammar(Operators(alpha_1, alpha_inf, A), np.asarray(root_counts, dtype=float))


def catalan(p):
    """The grammar S -> S S | a of the paper: a head has two modifiers, or none."""
    A = np.zeros((1, 3, 3))
    A[0, 1, 0], A[0, 2, 1] = p, 1.0
    return grammar_of([Operators(np.eye(3)[0], np.array([1 - p, 0.0, 1.0]), A)], [1])


def geometric(q, n_symbols=1):
    """Stops with probability q, or takes one of all symbols."""
    A = np.full((n_symbols, 1, 1), (1 - q) / n_symbols)
    return Operators(np.ones(1), np.array([q]), A)


def share_of_finite(generate):
    """How probable it is that a derivation ends: the least fixed point."""
    share = 0.0
    for _ in range(20000):
        share = generate(share)
    return share


@pytest.mark.parametrize("p", [0.2, 0.45, 0.5, 0.55, 0.8])
def test_the_catalan_grammar(p):
    assert_allclose(branching_radius(catalan(p)), 2 * p, rtol=1e-12)
    # Cohen and Johnson: it is tight up to p = 1/2; of the others Z = (1 - p) / p.
    finite = share_of_finite(lambda share: 1 - p + p * share**2)
    assert_allclose(finite, min(1.0, (1 - p) / p), rtol=1e-3)
    assert (branching_radius(catalan(p)) > 1) == (finite < 0.999)


@pytest.mark.parametrize("q", [0.8, 0.5, 0.3])
def test_a_head_that_stops_with_one_probability(q):
    one_sided = grammar_of([geometric(q)], [1])
    assert_allclose(branching_radius(one_sided), (1 - q) / q, rtol=1e-12)
    finite = share_of_finite(lambda share: q / (1 - (1 - q) * share))
    assert_allclose(finite, min(1.0, q / (1 - q)), rtol=1e-3)
    for part in one_sided:
        part[0, LEFT] = part[0, RIGHT]
    assert_allclose(branching_radius(one_sided), 2 * (1 - q) / q, rtol=1e-12)


def test_symbols_that_take_each_other():
    A = np.zeros((2, 2, 1, 1))
    A[0, 1], A[1, 0] = 0.75, 0.2  # 3 and 1/4 modifiers in expectation, of the other symbol
    sides = [
        Operators(np.ones(1), np.array([stop]), moves)
        for stop, moves in zip([0.25, 0.8], A, strict=True)
    ]
    assert_allclose(branching_radius(grammar_of(sides, [1, 0])), np.sqrt(3 / 4), rtol=1e-12)


def test_expected_numbers_of_hidden_states_are_those_of_all_sequences():
    rng = np.random.default_rng(0)
    automata = random_automaton(rng, n_symbols=2, lead=(3, 2))
    grammar = complete_grammar(automata, np.ones(2))
    numbers, expected = [np.bincount(x, minlength=2) for x in all_strings(2, 11)], np.zeros((2, 2))
    for head in range(2):
        for direction in (LEFT, RIGHT):
            expected[head] += string_values(at(automata, head, direction), 11) @ numbers
    radius = np.abs(np.linalg.eigvals(expected)).max()
    assert_allclose(branching_radius(grammar), radius, rtol=1e-2)
    basis = rng.normal(size=(2, 2))
    other = Operators(*map(np.copy, grammar))
    for part, changed in zip(other, change_basis(grammar, basis), strict=True):
        part[:-1] = changed[:-1]
    assert min(part.min() for part in other) < 0
    assert_allclose(branching_radius(other), branching_radius(grammar), rtol=1e-9)


def test_what_the_root_does_not_reach_does_not_count():
    stops = Operators(np.ones(1), np.ones(1), np.zeros((2, 1, 1)))
    # The second symbol would never stop; the first has no modifiers.
    sides = [stops, geometric(0.0, n_symbols=2)]
    assert branching_radius(grammar_of(sides, [1, 0])) == 0.0
    assert branching_radius(grammar_of(sides, [1, 1])) == np.inf
    A = np.zeros((1, 2, 2))
    A[0, 1, 1] = 1.0  # a state that is left for itself alone
    alone = Operators(np.eye(2)[0], np.array([1.0, 0.0]), A)
    assert branching_radius(grammar_of([alone], [1])) == 0.0
    A[0, 1, 0] = 0.5
    assert branching_radius(grammar_of([alone], [1])) == np.inf
    ones = np.ones((4, 2, 1))
    assert branching_radius(Operators(ones, ones, np.full((4, 2, 3, 1, 1), 1e90))) == np.inf


def test_sampling_that_gives_up_tells_the_radius():
    def draw(grammar, max_length):
        sample_derivations(grammar, 100, 0, max_length=max_length)

    with pytest.raises(ValueError, match=r"1000 sentences.*is 2, not below 1: .*fewer mod"):
        draw(catalan(0.9999), 2)
    # A state that is never left, for few: draws that end do not enter it, but expectations do.
    A, stops = np.zeros((1, 4, 4)), np.array([1e-4, 0.0, 1.0, 0.0])
    A[0, 1, 0], A[0, 3, 0], A[0, 2, 1], A[0, 3, 3] = 0.9998, 1e-4, 1.0, 1.0
    trap = Operators(np.eye(4)[0], stops, A)
    with pytest.raises(ValueError, match=r"is inf, not below 1: .*never end"):
        draw(grammar_of([trap], [1]), 2)
    A[0, 3, 0] = -1e-4
    with pytest.raises(ValueError, match=r"is inf: noise in signed operators.*smoothing"):
        draw(grammar_of([trap], [1]), 2)
    # A first symbol has ten modifiers, which have none: long, and finite.
    A = np.zeros((2, 11, 11))
    A[1, range(1, 11), range(10)] = 1.0
    nothing = Operators(np.eye(11)[0], np.ones(11), np.zeros((2, 11, 11)))
    ten = Operators(np.eye(11)[0], np.eye(11)[10], A)
    with pytest.raises(ValueError, match=r"is 0, below 1: .*Raise max_length\.$"):
        draw(grammar_of([ten, nothing], [1, 0]), 5)
