"""Inspection of learned grammars and of predictions: tables, automata and drawings."""

from sklearn_shag.inspection._confidence import (
    ArcCalibrationDisplay,
    CalibrationBins,
    UncertainArcs,
    UncertainSentences,
    expected_calibration_error,
    least_certain_arcs,
    least_certain_sentences,
)
from sklearn_shag.inspection._dfa import ApproximateDFA, DFAStates, DFATransitions, approximate_dfa
from sklearn_shag.inspection._dfa_display import AutomatonDisplay
from sklearn_shag.inspection._grammars import (
    ArcTable,
    AutomatonGains,
    AutomatonRanks,
    MarginalReport,
    arc_table,
    automaton_gains,
    automaton_ranks,
    inspect_marginals,
    top_modifiers,
)
from sklearn_shag.inspection._refinements import RefinementTable, top_refinements
from sklearn_shag.inspection._suspicious import SuspiciousArcs, assign_folds, suspicious_arcs
from sklearn_shag.inspection._trees import ArcMarginalsDisplay, DependencyTreeDisplay

__all__ = [
    "ApproximateDFA",
    "ArcCalibrationDisplay",
    "ArcMarginalsDisplay",
    "ArcTable",
    "AutomatonDisplay",
    "AutomatonGains",
    "AutomatonRanks",
    "CalibrationBins",
    "DFAStates",
    "DFATransitions",
    "DependencyTreeDisplay",
    "MarginalReport",
    "RefinementTable",
    "SuspiciousArcs",
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
    "suspicious_arcs",
    "top_modifiers",
    "top_refinements",
]
