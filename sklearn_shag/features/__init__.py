"""Features of tokens and arcs: columns, templates, and hashed weights that learn."""

from sklearn_shag.features._columns import (
    AFFIXES,
    FIRST,
    OF_WORDS,
    ROOT,
    TAGS,
    UNKNOWN,
    VECTOR,
    Columns,
    check_name,
    choose_columns,
    encode_columns,
    list_values,
    make_columns,
    split_features,
)
from sklearn_shag.features._explanation import FeatureWeight, compare_heads
from sklearn_shag.features._hashing import LinearWeights, all_arcs, arcs_of_heads
from sklearn_shag.features._templates import DEFAULT_TEMPLATES, compile_templates
from sklearn_shag.features._training import (
    LinearTrainer,
    Text,
    cut_into_batches,
    learn_labels,
    learn_trees,
    score_arcs,
)

__all__ = ["DEFAULT_TEMPLATES", "FeatureWeight", "LinearWeights"]
