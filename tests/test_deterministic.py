"""Deterministic automata are relative frequencies."""

import pytest
from numpy.testing import assert_allclose

from sklearn_shag import DeterministicSHAG
from tests import oracles
from tests.test_em import assert_proper


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
    model = DeterministicSHAG(automaton).fit(english)
    operators = model.operators_
    assert operators.alpha_1.shape == (len(model.symbols_) + 2, 2, n_states)
    assert_proper(model)
    # Deterministic: a symbol leads from a state to at most one other.
    assert ((operators.A[:-1, :, :-1] > 0).sum(axis=-2) <= 1).all()
