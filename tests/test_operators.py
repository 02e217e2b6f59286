"""Operator models: values, algebra, exact moments, sampling."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_shag.operators import (
    Operators,
    change_basis,
    complete_grammar,
    exact_moments,
    fallback_grammar,
    log_values,
    operators_from_counts,
    product,
    sample_trees,
    sequence_values,
    total_mass,
)
from sklearn_shag.sequences import HeadModifierSequences, collect_statistics, extract_sequences
from tests import oracles
from tests.test_sequences import N_SYMBOLS, flatten, random_treebank


def random_automaton(rng, n_symbols=3, n_states=2, lead=()):
    """A probabilistic automaton that stops with probability 0.4 or more in every state."""
    moves = rng.dirichlet(np.ones(n_symbols * n_states), size=(*lead, n_states))
    moves = np.moveaxis(moves.reshape(*lead, n_states, n_symbols, n_states), -3, -1)
    moving = rng.uniform(0.1, 0.6, size=(*lead, n_states))
    return Operators(
        rng.dirichlet(np.ones(n_states), size=lead),
        1 - moving,
        moves * moving[..., None, None, :],
    )


def all_strings(n_symbols, longest):
    for length in range(longest + 1):
        yield from itertools.product(range(n_symbols), repeat=length)


def value(operators, string):
    lead = Operators(*(part[None, None] for part in operators))
    return oracles.sequence_value(lead, 0, 0, string)


def as_sequences(keys, strings):
    lengths = [len(string) for string in strings]
    return HeadModifierSequences(
        np.array([head for head, _ in keys], dtype=np.int64),
        np.array([direction for _, direction in keys], dtype=np.int64),
        np.cumsum([0, *lengths]),
        np.array([symbol for string in strings for symbol in string], dtype=np.int64),
        np.ones(len(keys)),
    )


def test_values_of_sequences_agree_with_matrix_products(random_grammar):
    operators = random_grammar(0, n_states=3, signed=True)
    rng = np.random.default_rng(0)
    keys = [(rng.integers(5), rng.integers(2)) for _ in range(50)]
    strings = [rng.integers(4, size=rng.integers(6)).tolist() for _ in keys]
    expected = [
        oracles.sequence_value(operators, *key, string)
        for key, string in zip(keys, strings, strict=True)
    ]
    sequences = as_sequences(keys, strings)
    assert_allclose(sequence_values(operators, sequences), expected, rtol=1e-10, atol=1e-14)
    with np.errstate(invalid="ignore"):
        logs = np.where(np.array(expected) > 0, np.log(expected), -np.inf)
    assert_allclose(log_values(operators, sequences), logs, rtol=1e-10)


def test_logarithms_of_long_sequences_do_not_underflow():
    ones = np.ones((3, 2, 1))
    coin = Operators(ones, ones, np.full((3, 2, 2, 1, 1), 1e-3))
    sequences = as_sequences([(0, 0)], [[0] * 1000])
    assert_allclose(log_values(coin, sequences), 1000 * np.log(1e-3), rtol=1e-12)


def test_total_mass_is_the_sum_over_all_strings():
    automaton = random_automaton(np.random.default_rng(0))
    assert_allclose(total_mass(automaton), 1.0, rtol=1e-12)
    halved = automaton._replace(A=automaton.A / 2)
    summed = sum(value(halved, string) for string in all_strings(3, 9))
    assert_allclose(total_mass(halved), summed, rtol=1e-5)


def test_total_mass_needs_stopping():
    with pytest.raises(ValueError, match="spectral radius 1"):
        total_mass(Operators(np.ones(1), np.ones(1), np.ones((1, 1, 1))))


def test_change_of_basis_keeps_all_values():
    rng = np.random.default_rng(0)
    automaton = random_automaton(rng, n_states=3)
    other = change_basis(automaton, rng.normal(size=(3, 3)))
    for string in all_strings(3, 4):
        assert_allclose(value(other, string), value(automaton, string), rtol=1e-9)


def test_product_multiplies_values():
    rng = np.random.default_rng(0)
    left, right = random_automaton(rng, n_states=2), random_automaton(rng, n_states=3)
    both = product(left, right)
    assert both.A.shape == (3, 6, 6)
    for string in all_strings(3, 3):
        assert_allclose(value(both, string), value(left, string) * value(right, string), rtol=1e-12)


def test_product_with_the_trivial_model_is_the_model():
    automaton = random_automaton(np.random.default_rng(0))
    trivial = Operators(np.ones(1), np.ones(1), np.ones((3, 1, 1)))
    for found, expected in zip(product(automaton, trivial), automaton, strict=True):
        assert_array_equal(found, expected)


def test_product_of_grammars_multiplies_each_pair(random_grammar):
    left, right = random_grammar(0, n_states=2), random_grammar(1, n_states=2)
    both = product(left, right)
    for key in [(0, 0), (2, 1), (4, 1)]:
        for string in all_strings(3, 2):
            expected = oracles.sequence_value(left, *key, string) * oracles.sequence_value(
                right, *key, string
            )
            assert_allclose(oracles.sequence_value(both, *key, string), expected, rtol=1e-12)


def test_product_needs_the_same_symbols():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="same heads and symbols"):
        product(random_automaton(rng, n_symbols=2), random_automaton(rng, n_symbols=3))


def test_counts_become_proper_automata():
    rng = np.random.default_rng(0)
    counts = Operators(rng.uniform(size=3), rng.uniform(size=3), rng.uniform(size=(4, 3, 3)))
    automaton = operators_from_counts(counts)
    assert_allclose(automaton.alpha_1.sum(), 1.0, rtol=1e-12)
    assert_allclose(automaton.alpha_inf + automaton.A.sum(axis=(0, 1)), 1.0, rtol=1e-12)
    assert_allclose(
        automaton.A[2, 1, 0],
        counts.A[2, 1, 0] / (counts.alpha_inf[0] + counts.A[:, :, 0].sum()),
        rtol=1e-12,
    )


def test_unused_states_stay_zero():
    automaton = operators_from_counts(
        Operators(np.array([1.0, 0.0]), np.array([1.0, 0.0]), np.zeros((2, 2, 2)))
    )
    assert_array_equal(automaton.alpha_inf, [1.0, 0.0])
    assert not automaton.A.any()


def test_exact_moments_are_expected_substring_counts():
    automaton = random_automaton(np.random.default_rng(3), n_symbols=2)
    moments = exact_moments(automaton)
    START = STOP = 2
    bigrams, trigrams = np.zeros((3, 3)), np.zeros((2, 3, 3))
    for string in all_strings(2, 14):
        probability = value(automaton, string)
        padded = [START, *string, STOP]
        for a, b in itertools.pairwise(padded):
            bigrams[b, a] += probability
        for a, b, c in zip(padded, padded[1:], padded[2:], strict=False):
            trigrams[b, c, a] += probability
    assert_allclose(moments.bigrams, bigrams, rtol=0, atol=1e-3)
    dense = np.zeros((2, 3, 3))
    np.add.at(dense, (moments.middle, moments.last, moments.first), moments.trigrams)
    assert_allclose(dense, trigrams, rtol=0, atol=1e-3)
    assert_allclose(moments.bigrams[:, START].sum(), 1.0, rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_fallback_grammar_adds_one_use_of_every_outcome(seed):
    """Relative frequencies of modifiers and STOP, as counted by loops over the trees."""
    sentences = random_treebank(seed, projective=False, n_sentences=20)
    n = N_SYMBOLS
    statistics = collect_statistics(extract_sequences(*flatten(sentences), n), n)
    grammar = fallback_grammar(statistics)
    uses, roots = np.zeros((n + 1, 2, n + 1)), np.zeros(n)  # the last outcome is STOP
    for symbols, heads in sentences:
        for h, direction, modifiers in oracles.tree_sequences(heads):
            codes = [symbols[m - 1] for m in modifiers]
            if h == 0:
                roots[codes] += 1
                continue
            for head in (symbols[h - 1], n):  # the unknown head stands for all
                np.add.at(uses[head, direction], [*codes, n], 1)
    for head, direction in itertools.product(range(n + 1), range(2)):
        pool = uses[n, direction] + 1
        expected = uses[head, direction] + pool / pool.sum()
        expected /= expected.sum()
        key = head, direction
        assert_array_equal(grammar.alpha_1[key], [1.0])
        assert_allclose(grammar.alpha_inf[key], expected[-1:], rtol=1e-12)
        assert_allclose(grammar.A[key][:n, 0, 0], expected[:-1], rtol=1e-12)
        assert_allclose(grammar.A[key][n, 0, 0], expected[:-1].sum(), rtol=1e-12)
    assert_allclose(grammar.A[-1, 1, :n, 0, 0], (roots + 1) / (roots + 1).sum(), rtol=1e-12)


def test_samples_follow_the_grammar():
    """Frequencies of the left sequences of one head, within five standard errors."""
    rng = np.random.RandomState(0)
    automata = random_automaton(np.random.default_rng(1), n_symbols=2, lead=(3, 2))
    automata = automata._replace(A=automata.A * 0.4)
    automata = automata._replace(alpha_inf=1 - automata.A.sum(axis=(2, 3)))
    grammar = complete_grammar(automata, np.array([0.3, 0.7]))
    trees = sample_trees(grammar, ["a", "b"], 4000, 1000, rng)
    found, total = {}, 0
    for tree in trees:
        for h, direction, modifiers in oracles.tree_sequences(tree.heads.tolist()):
            if h and tree.symbols[h - 1] == "b" and direction == 0:
                string = tuple("ab".index(tree.symbols[m - 1]) for m in modifiers)
                found[string] = found.get(string, 0) + 1
                total += 1
    for string in all_strings(2, 2):
        expected = oracles.sequence_value(grammar, 1, 0, string)
        error = np.sqrt(expected * (1 - expected) / total)
        assert abs(found.get(string, 0) / total - expected) < 5 * error
    roots = np.mean([tree.symbols[tree.heads.tolist().index(0)] == "b" for tree in trees])
    assert abs(roots - 0.7) < 5 * np.sqrt(0.21 / 4000)


def test_samples_of_a_grammar_that_explodes_are_refused():
    rare = np.full((2, 2, 1), 1e-4)
    automata = Operators(np.ones((2, 2, 1)), rare, np.full((2, 2, 1, 1, 1), 1 - 1e-4))
    grammar = complete_grammar(automata, np.ones(1))
    with pytest.raises(ValueError, match="max_length=5"):
        sample_trees(grammar, ["a"], 1000, 5, np.random.RandomState(0))
