"""Charts: inside-outside sums, arc marginals, best trees and the values of given trees."""

from sklearn_shag.parsing._calibration import (
    LARGEST_SHARE,
    LARGEST_TEMPERATURE,
    MIN_SENTENCES,
    CalibratedMixin,
    average_choices,
    learn_calibrations,
)
from sklearn_shag.parsing._chart import (
    ChartResults,
    chart,
    over_chunks,
    pack_grammar,
    pack_refined,
    packed_unit_grammar,
)
from sklearn_shag.parsing._decoders import eisner, maximum_arborescence
from sklearn_shag.parsing._losses import (
    arc_losses,
    cross_entropy,
    grammar_loss,
    tree_loss,
    tree_values,
    value_trees,
)
from sklearn_shag.parsing._parse import (
    Scored,
    correct,
    decode,
    find_impossible,
    head_probabilities,
    keep_apart,
    list_corrected,
    list_derivations,
    list_heads,
    list_log_partitions,
    list_marginals,
    list_parts,
    permit_projective,
    report_marginals,
    score_by_arcs,
    solve,
    solve_derivations,
)
from sklearn_shag.parsing._potentials import Potentials, keep_known
from sklearn_shag.parsing._samples import draw_trees
from sklearn_shag.parsing._scaled_chart import InsideOutside, inside_outside
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
