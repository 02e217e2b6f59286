"""Operator models: values of sequences, algebra, and the grammar that they make up."""

from sklearn_shag.operators._expectation import expected_uses
from sklearn_shag.operators._grammar import (
    complete_grammar,
    fallback_grammar,
    join_automata,
    learn_automata,
    learn_grammar,
)
from sklearn_shag.operators._operators import (
    Operators,
    change_basis,
    exact_moments,
    mixture,
    operators_from_counts,
    product,
    total_mass,
)
from sklearn_shag.operators._sampling import sample_trees
from sklearn_shag.operators._values import log_values, sequence_values, signed_log_values

__all__ = [
    "Operators",
    "change_basis",
    "complete_grammar",
    "exact_moments",
    "fallback_grammar",
    "join_automata",
    "learn_grammar",
    "log_values",
    "mixture",
    "operators_from_counts",
    "product",
    "sample_trees",
    "sequence_values",
    "total_mass",
]
