"""Features of tokens and arcs: columns, templates, and hashed weights that learn."""

from sklearn_shag.features._hashing import (
    FeatureWeight,
    LinearWeights,
    check_linear_weights,
    compare_heads,
)
from sklearn_shag.features._templates import DEFAULT_TEMPLATES, compile_templates
from sklearn_shag.features._training import (
    LinearTrainer,
    labels_to_learn,
    score_arcs,
    trees_to_learn,
)

__all__ = ["DEFAULT_TEMPLATES", "FeatureWeight", "LinearWeights"]
