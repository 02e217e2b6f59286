"""Charts: inside-outside sums, arc marginals, best trees and the values of given trees."""

from sklearn_shag.parsing._calibration import (
    LARGEST_SHARE,
    LARGEST_TEMPERATURE,
    MIN_SENTENCES,
    UNIQUE,
    Answers,
    Calibration,
    average_choices,
    calibrate,
    encode_combinations,
    fit_together,
    learn_calibrations,
)
from sklearn_shag.parsing._chart import (
    TREES,
    ChartResults,
    chart,
    grammar_of_arcs,
    name_tree,
    pack_grammar,
    pack_refined,
)
from sklearn_shag.parsing._decoders import eisner, maximum_arborescence
from sklearn_shag.parsing._forest import (
    Forest,
    Labeller,
    Mixture,
    MixtureSeeds,
    Scored,
    Tagging,
    ask,
    list_arc_labels,
    list_best,
    list_columns,
    list_corrected,
    list_heads,
    list_label_proba,
    list_log_proba,
    list_marginals,
    list_totals,
    list_uncertain,
    report_marginals,
    score_by_arcs,
)
from sklearn_shag.parsing._inside_outside import InsideOutside, inside_outside
from sklearn_shag.parsing._losses import (
    arc_losses,
    cross_entropy,
    tree_loss,
    tree_values,
    value_trees,
)
from sklearn_shag.parsing._potentials import Potentials, keep_known
from sklearn_shag.parsing._trees import (
    ProjectiveHeads,
    allow_arcs,
    has_projective_completion,
    head_probabilities,
    keep_learnable,
    list_answers,
    list_best_rows,
    list_derivations,
    list_most_probable,
    list_rows,
    list_samples,
    make_trees,
    parse_trees,
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
