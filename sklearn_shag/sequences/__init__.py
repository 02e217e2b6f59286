"""Head-modifier sequences of trees, and their sufficient statistics, in flat arrays."""

from sklearn_shag.encoding import LEFT, RIGHT
from sklearn_shag.sequences._extract import (
    HeadModifierSequences,
    PrefixTree,
    assemble_trees,
    breadth_first_sequences,
    build_prefix_trees,
    check_sequences,
    collapse_sequences,
    extract_sequences,
    list_prefix_trees,
    number_prefixes,
    take_sequences,
)
from sklearn_shag.sequences._labels import (
    LabelCounts,
    check_labels,
    count_labels,
    count_relations,
    find_contexts,
    join_names,
    merge_labels,
    tabulate_labels,
)
from sklearn_shag.sequences._statistics import (
    Moments,
    SequenceStatistics,
    TreebankStatistics,
    add_in_pairs,
    check_statistics,
    check_trigrams,
    collect_statistics,
    count_treebank,
    count_trees,
    merge_statistics,
    pair_moments,
    sequences_of,
)

__all__ = [
    "LEFT",
    "RIGHT",
    "HeadModifierSequences",
    "LabelCounts",
    "Moments",
    "PrefixTree",
    "SequenceStatistics",
    "TreebankStatistics",
    "assemble_trees",
    "build_prefix_trees",
    "collapse_sequences",
    "collect_statistics",
    "count_treebank",
    "extract_sequences",
    "merge_statistics",
    "pair_moments",
]
