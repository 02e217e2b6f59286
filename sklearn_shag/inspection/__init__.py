"""What a learned grammar does, beyond its predictions."""

from sklearn_shag.inspection._arcs import ArcTable, arc_table, top_modifiers
from sklearn_shag.inspection._calibration import CalibrationBins, expected_calibration_error
from sklearn_shag.inspection._dfa import approximate_dfa
from sklearn_shag.inspection._dfa_value import ApproximateDFA, DFAStates, DFATransitions
from sklearn_shag.inspection._display_automaton import AutomatonDisplay
from sklearn_shag.inspection._display_calibration import ArcCalibrationDisplay
from sklearn_shag.inspection._display_distance import (
    AttachmentByDistanceDisplay,
    AttachmentCounts,
)
from sklearn_shag.inspection._display_marginals import ArcMarginalsDisplay
from sklearn_shag.inspection._display_tree import DependencyTreeDisplay
from sklearn_shag.inspection._gains import AutomatonGains, automaton_gains
from sklearn_shag.inspection._marginals import MarginalReport, inspect_marginals
from sklearn_shag.inspection._ranks import AutomatonRanks, automaton_ranks
from sklearn_shag.inspection._uncertainty import (
    UncertainArcs,
    UncertainSentences,
    least_certain_arcs,
    least_certain_sentences,
)

__all__ = [
    "ApproximateDFA",
    "ArcCalibrationDisplay",
    "ArcMarginalsDisplay",
    "ArcTable",
    "AttachmentByDistanceDisplay",
    "AttachmentCounts",
    "AutomatonDisplay",
    "AutomatonGains",
    "AutomatonRanks",
    "CalibrationBins",
    "DFAStates",
    "DFATransitions",
    "DependencyTreeDisplay",
    "MarginalReport",
    "UncertainArcs",
    "UncertainSentences",
    "approximate_dfa",
    "arc_table",
    "automaton_gains",
    "automaton_ranks",
    "expected_calibration_error",
    "inspect_marginals",
    "least_certain_arcs",
    "least_certain_sentences",
    "top_modifiers",
]
