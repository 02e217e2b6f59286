"""Deterministic automata are relative frequencies."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import cross_val_score

from sklearn_shag import DeterministicSHAG, SpectralSHAG
from tests import oracles


def naive_probability(trees, head, direction, modifiers, state_of):
    """Relative frequency of each outcome in its state, multiplied along a sequence."""
    uses, totals = {}, {}
    for tree in trees:
        for h, d, children in oracles.tree_sequences(tree.heads.tolist()):
            if h and tree.symbols[h - 1] == head and d == direction:
                outcomes = [tree.symbols[m - 1] for m in children] + ["<stop>"]
                for t, outcome in enumerate(outcomes):
                    state = state_of(outcomes[:t])
                    uses[state, outcome] = uses.get((state, outcome), 0) + 1
                    totals[state] = totals.get(state, 0) + 1
    outcomes = [*modifiers, "<stop>"]
    probability = 1.0
    for t, outcome in enumerate(outcomes):
        state = state_of(outcomes[:t])
        probability *= uses.get((state, outcome), 0) / totals.get(state, 1)
    return probability


STATES = {
    "single": lambda history: 0,
    "first": lambda history: len(history) > 0,
    "sibling": lambda history: history[-1] if history else None,
}


@pytest.mark.parametrize("automaton", STATES)
def test_probabilities_are_relative_frequencies(english, automaton):
    trees = english[:80]
    model = DeterministicSHAG(automaton).fit(trees)
    code_of = {symbol: code for code, symbol in enumerate(model.symbols_)}
    for head, direction, modifiers in [
        ("NOUN", 0, []),
        ("NOUN", 0, ["DET"]),
        ("NOUN", 0, ["ADJ", "DET"]),
        ("VERB", 1, ["NOUN", "PUNCT"]),
        ("VERB", 1, ["ADV", "NOUN", "PUNCT"]),
        ("DET", 1, []),
    ]:
        found = oracles.sequence_value(
            model.operators_, code_of[head], direction, [code_of[m] for m in modifiers]
        )
        expected = naive_probability(trees, head, direction, modifiers, STATES[automaton])
        assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(("automaton", "n_states"), [("single", 1), ("first", 2), ("sibling", 16)])
def test_every_automaton_is_a_distribution(english, automaton, n_states):
    operators = DeterministicSHAG(automaton).fit(english).operators_
    n_symbols = operators.A.shape[2] - 1
    assert operators.alpha_1.shape == (n_symbols + 2, 2, n_states)
    leaving = operators.alpha_inf + operators.A[:, :, :-1].sum(axis=(2, 3))
    used = leaving[:-1] > 0
    assert used[..., 0].all()
    assert_allclose(leaving[:-1][used], 1.0, rtol=1e-12)
    # Deterministic: a symbol leads from a state to at most one other.
    assert ((operators.A[:-1, :, :-1] > 0).sum(axis=-2) <= 1).all()


def test_root_distribution_is_the_relative_frequency(english):
    model = DeterministicSHAG().fit(english)
    roots = [tree.symbols[tree.heads.tolist().index(0)] for tree in english]
    expected = [roots.count(symbol) / len(roots) for symbol in model.symbols_]
    assert_allclose(model.operators_.A[-1, 1, :-1, 0, 0], expected, rtol=1e-12)


def test_marginals_are_those_of_the_enumeration(english):
    model = DeterministicSHAG("first", smoothing=1).fit(english)
    sentence = ["DET", "NOUN", "VERB", "NOUN", "PUNCT"]
    codes = [model.operators_.A.shape[0] - 1, *np.searchsorted(model.symbols_, sentence)]
    # The root symbol's one state could emit for ever; one root is what the chart adds.
    _, expected = oracles.partition_and_marginals(model.operators_, codes, single_root=True)
    assert_allclose(model.predict_marginals([sentence])[0], expected, rtol=1e-9, atol=1e-11)


def test_viterbi_of_what_has_no_mass_is_that_of_the_fallback():
    model = DeterministicSHAG(decoder="viterbi").fit([["DET", "NOUN"]], [[2, 0]])
    heads = model.predict([["NOUN", "NOUN"], ["DET", "NOUN"]])
    assert sorted(heads[0]) in ([0, 1], [0, 2])
    assert list(heads[1]) == [2, 0]


def test_viterbi_maximises_the_probability_of_the_tree(english):
    model = DeterministicSHAG("first", smoothing=1, decoder="viterbi").fit(english)
    sentences = [tree.symbols for tree in english if len(tree) <= 6]
    for symbols, heads in zip(sentences, model.predict(sentences), strict=True):
        trees = oracles.projective_trees(len(symbols))
        scores = model.score_samples([symbols] * len(trees), trees)
        assert_allclose(model.score_samples([symbols], [heads])[0], scores.max(), rtol=1e-9)


def test_huge_smoothing_gives_every_head_the_pooled_automaton(english):
    operators = DeterministicSHAG("first", smoothing=1e12).fit(english).operators_
    assert_allclose(operators.A[:-2], np.broadcast_to(operators.A[-2], operators.A[:-2].shape),
                    rtol=0, atol=1e-9)  # fmt: skip


def test_one_spectral_state_is_not_a_relative_frequency_but_orders_agree(english):
    """Both are models of rank one, and score alike."""
    scores = [
        cross_val_score(model, english, error_score="raise").mean()
        for model in (DeterministicSHAG("single"), SpectralSHAG(1))
    ]
    assert abs(scores[0] - scores[1]) < 0.05


def test_smoothing_changes_nothing_without_strength(english):
    plain = DeterministicSHAG("sibling").fit(english).operators_
    zero = DeterministicSHAG("sibling", smoothing=0).fit(english).operators_
    assert_array_equal(plain.A, zero.A)
