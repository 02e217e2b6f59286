"""The values of given trees against products taken by hand."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_shag.operators import Operators
from sklearn_shag.parsing import Potentials, tree_values
from sklearn_shag.treebank import DependencyTree
from tests import oracles

FACTORS = ("arcs", "arc_memory", "stop_memory")
N_SYMBOLS = 3


def random_operators(rng, n_states, *, signed=False):
    """A grammar over three symbols whose automata have hidden states."""
    low = -1.0 if signed else 0.0
    return Operators(
        rng.uniform(low, 1, size=(N_SYMBOLS + 2, 2, n_states)),
        rng.uniform(low, 1, size=(N_SYMBOLS + 2, 2, n_states)),
        rng.uniform(low, 1, size=(N_SYMBOLS + 2, 2, N_SYMBOLS + 1, n_states, n_states)),
    )


def random_potentials(rng, lengths, n_classes=1, factors=FACTORS, *, with_codes=True, zeros=0.0):
    """Sentences with some factors, of which a share is zero."""
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    n_tokens, n_arcs = indptr[-1], sum(n * (n + 1) for n in lengths)

    def positive(*shape):
        return np.where(rng.uniform(size=shape) < zeros, 0.0, rng.uniform(0.1, 2, size=shape))

    with np.errstate(divide="ignore"):
        arcs = 3 * np.log(positive(n_arcs))
    return Potentials(
        indptr,
        rng.integers(N_SYMBOLS + 1, size=n_tokens) if with_codes else None,
        arcs if "arcs" in factors else None,
        rng.integers(n_classes, size=n_tokens) if n_classes > 1 else None,
        positive(n_arcs, n_classes) if "arc_memory" in factors else None,
        positive(n_tokens, 2, n_classes) if "stop_memory" in factors else None,
    )


def value_by_hand(operators, potentials, s, tree, value_of=oracles.sequence_value):
    """The value of a tree of sentence s, factor by factor."""
    factors = oracles.of_sentence(potentials._asdict(), potentials.indptr, s)
    codes = factors.pop("codes")
    value = np.exp(oracles.log_factors(tree, **factors))
    if operators is not None:
        codes = [N_SYMBOLS + 1, *codes]
        value *= oracles.tree_value(operators, codes, tree, value_of=value_of)
    return value


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    n_classes=st.sampled_from([1, 2, 4]),
    n_states=st.integers(0, 3),
    factors=st.sets(st.sampled_from(FACTORS)),
    zeros=st.sampled_from([0.0, 0.1]),
)
def test_values_are_products_over_sequences(seed, n_classes, n_states, factors, zeros):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 8, size=6).tolist()
    operators = random_operators(rng, n_states, signed=True) if n_states else None
    potentials = random_potentials(
        rng, lengths, n_classes, factors, with_codes=n_states > 0, zeros=zeros
    )
    trees = [oracles.random_tree(rng, n) for n in lengths]  # projective or not
    given = [DependencyTree(["x"] * len(tree), tree) for tree in trees[:3]] + trees[3:]
    sign, log_abs = tree_values(operators, potentials, given)
    expected = [value_by_hand(operators, potentials, s, tree) for s, tree in enumerate(trees)]
    assert sign.dtype == np.int8
    assert_array_equal(sign, np.sign(expected))
    assert_allclose(sign * np.exp(log_abs), expected, rtol=1e-9)
    assert_array_equal(log_abs == -np.inf, sign == 0)


def test_trees_with_several_roots_have_no_value():
    potentials = Potentials(np.array([0, 2, 4, 7]), arcs=np.ones(24))
    sign, log_abs = tree_values(None, potentials, [[0, 0], [0, 1], [0, 0, 2]])
    assert sign.tolist() == [0, 1, 0]
    assert log_abs.tolist() == [-np.inf, 2.0, -np.inf]


def test_values_far_below_the_smallest_double_are_finite():
    n = 300
    chain = np.arange(n)
    potentials = Potentials(np.array([0, n]), arc_memory=np.full((n * (n + 1), 1), 1e-7))
    sign, log_abs = tree_values(None, potentials, [chain])
    assert sign[0] == 1
    assert_allclose(log_abs, n * np.log(1e-7))
