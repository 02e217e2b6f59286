"""Charts: inside-outside sums, arc marginals, best trees and the values of given ones."""

from sklearn_shag.parsing._chart import (
    Batch,
    ChartResults,
    Rung,
    chart,
    over_chunks,
    potentials_of_codes,
    take_batch,
)
from sklearn_shag.parsing._decoders import eisner, maximum_arborescence
from sklearn_shag.parsing._losses import (
    grammar_loss,
    sum_up_losses,
    tree_loss,
    tree_values,
    value_trees,
)
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
    pack_grammar,
    packed_unit_grammar,
    places_of,
    potentials_of_arcs,
)
from sklearn_shag.parsing._scaled_outside import InsideOutside, inside_outside
from sklearn_shag.parsing._trees import (
    ProjectiveHeads,
    advise_on_crossing,
    allow_kept_heads,
    has_projective_completion,
    kept_relations,
    make_trees,
    projectivize,
)
from sklearn_shag.parsing._viterbi import best_trees

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
