"""What a learned grammar does, beyond its predictions."""

from sklearn_shag.inspection._arcs import ArcTable, arc_table, top_modifiers
from sklearn_shag.inspection._dfa import approximate_dfa
from sklearn_shag.inspection._dfa_value import ApproximateDFA, DFAStates, DFATransitions
from sklearn_shag.inspection._display_automaton import AutomatonDisplay
from sklearn_shag.inspection._display_distance import (
    AttachmentByDistanceDisplay,
    AttachmentCounts,
)
from sklearn_shag.inspection._display_marginals import ArcMarginalsDisplay
from sklearn_shag.inspection._display_tree import DependencyTreeDisplay
from sklearn_shag.inspection._gains import AutomatonGains, automaton_gains
from sklearn_shag.inspection._marginals import MarginalReport, inspect_marginals
from sklearn_shag.inspection._ranks import AutomatonRanks, automaton_ranks

__all__ = [
    "ApproximateDFA",
    "ArcMarginalsDisplay",
    "ArcTable",
    "AttachmentByDistanceDisplay",
    "AttachmentCounts",
    "AutomatonDisplay",
    "AutomatonGains",
    "AutomatonRanks",
    "DFAStates",
    "DFATransitions",
    "DependencyTreeDisplay",
    "MarginalReport",
    "approximate_dfa",
    "arc_table",
    "automaton_gains",
    "automaton_ranks",
    "inspect_marginals",
    "top_modifiers",
]
