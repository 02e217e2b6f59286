"""Charts: inside-outside sums, arc marginals, best trees and the values of given ones."""

from sklearn_shag.parsing._arborescence import maximum_arborescence
from sklearn_shag.parsing._best_trees import best_trees
from sklearn_shag.parsing._chart import chart
from sklearn_shag.parsing._chunks import Batch, over_chunks, take_batch
from sklearn_shag.parsing._eisner import eisner
from sklearn_shag.parsing._grammar_loss import grammar_loss
from sklearn_shag.parsing._inside_outside import InsideOutside, inside_outside
from sklearn_shag.parsing._ladder import Rung, potentials_of_codes
from sklearn_shag.parsing._memory import as_memory, multiply_potentials
from sklearn_shag.parsing._packed_grammar import pack_grammar
from sklearn_shag.parsing._parse import (
    decode_marginals,
    find_impossible,
    forbid,
    head_probabilities,
    log_rungs,
    parse_derivations,
    parse_heads,
    parse_log_partitions,
    parse_marginals,
    permit_projective,
    report_marginals,
)
from sklearn_shag.parsing._potentials import (
    Potentials,
    arc_begins,
    packed_unit_grammar,
    places_of,
    potentials_of_arcs,
)
from sklearn_shag.parsing._projective import (
    ProjectiveHeads,
    has_projective_completion,
    projectivize,
)
from sklearn_shag.parsing._results import ChartResults
from sklearn_shag.parsing._tree_loss import sum_up_losses, tree_loss
from sklearn_shag.parsing._tree_values import tree_values, value_trees

__all__ = [
    "ChartResults",
    "InsideOutside",
    "Potentials",
    "ProjectiveHeads",
    "best_trees",
    "chart",
    "eisner",
    "has_projective_completion",
    "inside_outside",
    "maximum_arborescence",
    "projectivize",
    "tree_loss",
    "tree_values",
]
