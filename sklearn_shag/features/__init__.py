"""Features of tokens and arcs: columns, templates, hashed weights that learn, given vectors."""

from sklearn_shag.features._explanations import (
    FeatureUse,
    FeatureWeight,
    compare_heads,
    top_features,
)
from sklearn_shag.features._hashing import (
    LinearTrainer,
    LinearWeights,
    check_linear_weights,
    labels_to_learn,
    score_arcs,
    trees_to_learn,
)
from sklearn_shag.features._templates import DEFAULT_TEMPLATES, Templates, compile_templates
from sklearn_shag.features._transformer import TransformerVectors
from sklearn_shag.features._vectors import read_vectors

__all__ = [
    "DEFAULT_TEMPLATES",
    "FeatureUse",
    "FeatureWeight",
    "LinearWeights",
    "TransformerVectors",
    "read_vectors",
]
