"""Features of tokens and arcs: columns, templates, and hashed weights that learn."""

from sklearn_shag.features._hashing import (
    FeatureWeight,
    LinearWeights,
    all_arcs,
    arcs_of_heads,
    check_linear_weights,
    compare_heads,
)
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
