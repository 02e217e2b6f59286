"""Operator models: values, algebra, exact moments, sampling."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal, assert_equal

from sklearn_shag.encoding import decode_trees
from sklearn_shag.learning import fallback_grammar, learn_grammar
from sklearn_shag.operators import (
    Operators,
    change_basis,
    exact_moments,
    log_values,
    mixture,
    operators_from_counts,
    product,
    sample_derivations,
    sequence_values,
    total_mass,
)
from sklearn_shag.operators._sampling import _SequenceSampler
from sklearn_shag.sequences import (
    HeadModifierSequences,
    collect_statistics,
    extract_sequences,
    pair_moments,
)
from tests import oracles
from tests.test_sequences import (
    N_SYMBOLS,
    dense_trigrams,
    flatten,
    moments_of_places,
    random_treebank,
)


def random_automaton(rng, n_symbols=3, n_states=2, lead=(), moving=(0.1, 0.6)):
    """A probabilistic automaton that goes on with such a probability in every state."""
    moves = rng.dirichlet(np.ones(n_symbols * n_states), size=(*lead, n_states))
    moves = np.moveaxis(moves.reshape(*lead, n_states, n_symbols, n_states), -3, -1)
    moving = rng.uniform(*moving, size=(*lead, n_states))
    return Operators(
        rng.dirichlet(np.ones(n_states), size=lead),
        1 - moving,
        moves * moving[..., None, None, :],
    )


def all_strings(n_symbols, longest):
    for length in range(longest + 1):
        yield from itertools.product(range(n_symbols), repeat=length)


def at(operators, *place):
    """The automaton of a head and a direction."""
    return Operators(*(part[place] for part in operators))


def value(operators, string):
    lead = Operators(*(part[None, None] for part in operators))
    return oracles.sequence_value(lead, 0, 0, string)


def string_values(operators, longest):
    """The values of all strings up to a length, in the order of :func:`all_strings`."""
    states, found = operators.alpha_1[None], []
    for _ in range(longest + 1):
        found.append(states @ operators.alpha_inf)
        states = np.einsum("aij,sj->sai", operators.A, states).reshape(-1, states.shape[1])
    return np.concatenate(found)


def test_values_of_all_strings_are_those_of_each():
    automaton = random_automaton(np.random.default_rng(0))
    expected = [value(automaton, string) for string in all_strings(3, 4)]
    assert_allclose(string_values(automaton, 4), expected, rtol=1e-13)


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
    assert_allclose(total_mass(halved), string_values(halved, 9).sum(), rtol=1e-5)


def test_total_mass_of_eigenvalues_that_are_not_positive():
    rotation = np.array([[0.0, -1.0], [1.0, 0.0]])
    for matrix in (0.9 * rotation, np.array([[-0.75]])):
        operators = Operators(np.ones(len(matrix)), np.ones(len(matrix)), matrix[None])
        assert_allclose(total_mass(operators), string_values(operators, 400).sum(), rtol=1e-12)


def test_total_mass_of_each_model():
    models = random_automaton(np.random.default_rng(0), lead=(3, 2))
    models = models._replace(A=models.A * np.linspace(0.1, 1, 6).reshape(3, 2, 1, 1, 1))
    found = total_mass(models)
    assert found.shape == (3, 2)
    for pair in np.ndindex(3, 2):
        assert_allclose(found[pair], total_mass(at(models, *pair)))


def test_change_of_basis_keeps_all_values():
    rng = np.random.default_rng(0)
    automaton = random_automaton(rng, n_states=3)
    other = change_basis(automaton, rng.normal(size=(3, 3)))
    assert_allclose(string_values(other, 4), string_values(automaton, 4), rtol=1e-9)


def test_product_multiplies_values_of_each_head_and_direction():
    rng = np.random.default_rng(0)
    left, right = (random_automaton(rng, n_states=n, lead=(3, 2)) for n in (2, 3))
    both = product(left, right)
    assert both.A.shape == (3, 2, 3, 6, 6)
    for key in np.ndindex(3, 2):
        one, other, found = (string_values(at(each, *key), 3) for each in (left, right, both))
        assert_allclose(found, one * other, rtol=1e-12)


@pytest.mark.parametrize("weight", [0.0, 0.2, 1.0])
def test_mixture_is_the_weighted_mean_of_values(weight):
    rng = np.random.default_rng(0)
    one, other = (random_automaton(rng, n_states=n, lead=(2, 2)) for n in (2, 3))
    both = mixture(one, other, weight)
    for key in np.ndindex(2, 2):
        values = [string_values(at(model, *key), 3) for model in (one, other, both)]
        assert_allclose(values[2], (1 - weight) * values[0] + weight * values[1], rtol=1e-12)
        # The states of the first come first.
        assert_array_equal(both.alpha_inf[key], [*one.alpha_inf[key], *other.alpha_inf[key]])


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
    for used in ([0.0, 0.0], [1.0, 0.0]):
        counts = Operators(np.array(used), np.array(used), np.zeros((2, 2, 2)))
        assert_equal(operators_from_counts(counts), counts)


@pytest.mark.parametrize("context", [0.0, 0.3])
def test_exact_moments_of_symbols_further_away(context):
    """Equation 32 by enumeration: rows and columns as vectors of every place in every string."""
    n = 2
    automaton = random_automaton(np.random.default_rng(4), n_symbols=n)
    automaton = automaton._replace(A=0.3 * automaton.A)
    automaton = automaton._replace(alpha_inf=1 - automaton.A.sum(axis=(0, 1)))
    strings = list(zip(all_strings(n, 8), string_values(automaton, 8), strict=True))
    left_out = 1 - sum(probability for _, probability in strings)
    assert 0 < left_out < 1e-6
    n_codes = n + 1 if context == 0 else 2 * n + 1  # without a context the others are 0
    bigrams, trigrams = (
        part[..., :n_codes, :n_codes] for part in moments_of_places(strings, n, context)
    )
    moments = exact_moments(automaton, context)
    assert_allclose(moments.bigrams, bigrams, rtol=0, atol=100 * left_out)
    assert_allclose(dense_trigrams(moments), trigrams, rtol=0, atol=100 * left_out)


def test_a_grammar_is_learned_pair_by_pair():
    """What `learn` is given, what becomes of it, and in which place."""
    sentences = random_treebank(0, projective=False, n_sentences=30)
    n = N_SYMBOLS
    statistics = collect_statistics(extract_sequences(*flatten(sentences), n), n)
    rng = np.random.default_rng(0)
    given_moments, learned = [], []

    def learn(moments):
        given_moments.append(moments)
        automaton = random_automaton(rng, n_symbols=n, n_states=1 + len(learned) % 3)
        learned.append(automaton)
        return automaton

    grammar = learn_grammar(statistics, learn, smoothing=2.5, n_jobs=1)
    assert grammar.A.shape == (n + 2, 2, n + 1, 3, 3)
    assert len(learned) == 2 * (n + 1)
    for pair, (moments, automaton) in enumerate(zip(given_moments, learned, strict=True)):
        expected = pair_moments(statistics, *divmod(pair, 2), smoothing=2.5)
        assert_equal(moments, expected)
        key, n_states = divmod(pair, 2), automaton.alpha_1.size
        for found, part in zip(grammar[:2], automaton[:2], strict=True):
            assert_array_equal(found[key], np.pad(part, (0, 3 - n_states)))
        padding = ((0, 0), (0, 3 - n_states), (0, 3 - n_states))
        assert_array_equal(grammar.A[key][:n], np.pad(automaton.A, padding))
        assert_allclose(grammar.A[key][n], grammar.A[key][:n].sum(axis=0), rtol=1e-15)
    # The root symbol takes no left modifiers. To the right one state emits, each symbol by its
    # share of the roots, an unknown symbol with any; it stops at once.
    assert not any(part[-1, 0].any() for part in grammar)
    roots = np.zeros((n + 1, 3, 3))
    roots[:, 0, 0] = [*statistics.roots / statistics.roots.sum(), 1.0]
    assert_allclose(grammar.A[-1, 1], roots, rtol=1e-15)
    assert_array_equal(grammar.alpha_1[-1, 1], [1.0, 0.0, 0.0])
    assert_array_equal(grammar.alpha_inf[-1, 1], [1.0, 0.0, 0.0])


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


def draw_trees(grammar, symbols, n_sentences, max_length, rng):
    drawn = sample_derivations(grammar, n_sentences, rng, max_length=max_length)
    return decode_trees(symbols, *drawn)


class Drawn(np.random.RandomState):
    """Draws numbers that are known."""

    def __init__(self, numbers):
        self.numbers = iter(numbers)

    def uniform(self):
        return next(self.numbers)


def naive_draw(automaton, numbers, max_length):
    """Go on with the outcome that the next number points at among the masses of all outcomes."""
    # The mass of all that may follow a state, summed over its length.
    transitions, rest, ahead = automaton.A.sum(axis=0), automaton.alpha_inf, 0.0
    for _ in range(200):
        ahead, rest = ahead + rest, rest @ transitions
    state, drawn = automaton.alpha_1, []
    for number in numbers:
        if len(drawn) == max_length:
            break
        masses = [ahead @ matrix @ state for matrix in automaton.A] + [automaton.alpha_inf @ state]
        masses = [max(mass, 0.0) for mass in masses]
        left = number * sum(masses)
        outcome = 0
        while left >= masses[outcome]:
            left -= masses[outcome]
            outcome += 1
        if outcome == len(automaton.A):
            return drawn
        drawn.append(outcome)
        state = automaton.A[outcome] @ state
    return drawn


@pytest.mark.parametrize("kind", ["proper", "improper", "another basis", "negative masses"])
def test_sequences_are_drawn_by_the_mass_of_all_ways_to_go_on(kind):
    rng = np.random.default_rng(0)
    automaton = random_automaton(rng, n_symbols=3, n_states=2)
    if kind == "improper":  # stops more often after some symbols: what is ahead differs by state
        automaton = automaton._replace(alpha_inf=automaton.alpha_inf * [0.2, 1.5])
    elif kind == "another basis":
        automaton = change_basis(automaton, rng.normal(size=(2, 2)))
    elif kind == "negative masses":
        automaton = automaton._replace(A=automaton.A * [[[1.0]], [[-0.3]], [[0.8]]])
    # A grammar of one head; the last symbol is the unknown one, which is never drawn.
    A = np.concatenate([automaton.A, np.full((1, 2, 2), 9.0)])
    grammar = Operators(
        automaton.alpha_1[None, None], automaton.alpha_inf[None, None], A[None, None]
    )
    sampler = _SequenceSampler(grammar, 0, 0)
    lengths = set()
    for _ in range(200):
        numbers = rng.uniform(size=7) ** 2  # more small ones: longer sequences
        found = sampler.draw(Drawn(numbers), 6)
        assert found == naive_draw(automaton, numbers, 6)
        lengths.add(len(found))
    assert lengths == set(range(7))


def test_long_sequences_are_drawn_without_underflow():
    grammar = Operators(np.ones((1, 1, 1)), np.ones((1, 1, 1)), np.full((1, 1, 2, 1, 1), 1e-3))
    sampler = _SequenceSampler(grammar, 0, 0)
    assert sampler.draw(Drawn([0.0] * 300 + [0.5]), 1000) == [0] * 300


def two_kinds_of_sentences():
    """A root "a" with exactly two modifiers to its right, or a root "b" without."""
    A = np.zeros((4, 2, 3, 3, 3))
    A[0, 1, 1, 1, 0] = A[0, 1, 1, 2, 1] = 1.0
    A[3, 1, :2, 0, 0] = 0.5
    alpha_1, alpha_inf = np.zeros((4, 2, 3)), np.zeros((4, 2, 3))
    alpha_1[:, :, 0] = alpha_inf[:, :, 0] = 1.0
    alpha_inf[0, 1] = [0.0, 0.0, 1.0]
    return Operators(alpha_1, alpha_inf, A)


def test_the_longest_sentences_are_drawn():
    grammar = two_kinds_of_sentences()
    trees = draw_trees(grammar, ["a", "b"], 50, 3, np.random.RandomState(0))
    assert {tree.symbols for tree in trees} == {("a", "b", "b"), ("b",)}
    trees = draw_trees(grammar, ["a", "b"], 50, 2, np.random.RandomState(0))
    assert {tree.symbols for tree in trees} == {("b",)}


def test_a_thousand_long_sentences_in_a_row_are_too_many():
    # A root, left and right modifiers: each outcome but the root is certain.
    too_long, short = [0.1, 0.5, 0.5, 0.5], [0.9, 0.5, 0.5]
    grammar = two_kinds_of_sentences()
    numbers = 2 * (999 * too_long + short)
    assert len(draw_trees(grammar, ["a", "b"], 2, 2, Drawn(numbers))) == 2
    with pytest.raises(ValueError, match="1000 sentences in a row grew beyond max_length=2"):
        draw_trees(grammar, ["a", "b"], 1, 2, Drawn(1000 * too_long + short))


def test_roots_of_negative_mass_are_not_drawn():
    grammar = two_kinds_of_sentences()
    grammar.A[3, 1, :2, 0, 0] = [-0.5, 0.5]
    for number in (0.0, 0.3, 0.6, 0.99):
        (tree,) = draw_trees(grammar, ["a", "b"], 1, 3, Drawn([number, 0.5, 0.5]))
        assert tree.symbols == ("b",)


def test_what_has_no_mass_is_not_drawn_at_the_edge_either():
    """0.0 is a number that a generator may draw; the first outcome need not be possible."""
    (tree,) = draw_trees(two_kinds_of_sentences(), ["a", "b"], 1, 3, Drawn([0.0] * 9))
    assert tree.symbols == ("a", "b", "b")
