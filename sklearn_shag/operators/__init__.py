"""Operator models: values of sequences, algebra, and the grammar that they make up."""

from sklearn_shag.operators._branching import branching_radius
from sklearn_shag.operators._grammar import (
    check_shapes,
    complete_grammar,
    grammar_shapes,
    join_automata,
    pair_automaton,
)
from sklearn_shag.operators._operators import (
    Operators,
    change_basis,
    exact_moments,
    expected_visits,
    mixture,
    operators_from_counts,
    product,
    total_mass,
)
from sklearn_shag.operators._sampling import choose, draw_derivations, sample_derivations
from sklearn_shag.operators._scales import (
    BASE,
    LOG2_BASE,
    LOG_BASE,
    ScaledOperators,
    root_masses,
    scale_operators,
)
from sklearn_shag.operators._values import log_values, sequence_values, signed_log_values

__all__ = [
    "Operators",
    "branching_radius",
    "change_basis",
    "complete_grammar",
    "exact_moments",
    "join_automata",
    "log_values",
    "mixture",
    "operators_from_counts",
    "product",
    "sample_derivations",
    "sequence_values",
    "total_mass",
]
