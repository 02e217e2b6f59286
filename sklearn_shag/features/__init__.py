"""Features of tokens and arcs: columns, templates, and hashed weights that learn."""

from sklearn_shag.features._hashing import (
    FeatureUse,
    FeatureWeight,
    LinearTrainer,
    LinearWeights,
    check_linear_weights,
    compare_heads,
    labels_to_learn,
    score_arcs,
    top_features,
    trees_to_learn,
)
from sklearn_shag.features._templates import DEFAULT_TEMPLATES, Templates, compile_templates

__all__ = ["DEFAULT_TEMPLATES", "FeatureUse", "FeatureWeight", "LinearWeights"]
