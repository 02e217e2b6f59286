"""Operator models: values of sequences, algebra, and grammars made of such models."""

from sklearn_shag.operators._distances import are_equivalent, l2_distance
from sklearn_shag.operators._operators import (
    Operators,
    change_basis,
    check_automaton,
    check_axes,
    complete_grammar,
    direct_sum,
    exact_moments,
    expected_visits,
    grammar_shapes,
    join_automata,
    mixture,
    operators_from_counts,
    pair_automaton,
    product,
    remaining_mass,
    root_masses,
    spectral_radius,
    total_mass,
)
from sklearn_shag.operators._refined import (
    RefinedGrammar,
    RefinedOperators,
    back_off,
    check_refined,
    count_refinements,
    extend,
    refined_automaton,
    start_unrefined,
    unfold,
)
from sklearn_shag.operators._sampling import (
    MAX_REJECTED,
    draw_derivations,
    draw_outcome,
    sample_derivations,
)
from sklearn_shag.operators._text import from_att, to_att, to_dot, write_dot
from sklearn_shag.operators._values import (
    branching_radius,
    log_values,
    sequence_values,
    signed_log_values,
)

__all__ = [
    "Operators",
    "RefinedGrammar",
    "RefinedOperators",
    "are_equivalent",
    "branching_radius",
    "change_basis",
    "complete_grammar",
    "exact_moments",
    "from_att",
    "join_automata",
    "l2_distance",
    "log_values",
    "mixture",
    "operators_from_counts",
    "product",
    "sample_derivations",
    "sequence_values",
    "to_att",
    "to_dot",
    "total_mass",
    "unfold",
]
