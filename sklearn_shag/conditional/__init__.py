"""Parsers of the probability of trees given their sentences: their base class, and a linear model.

The names that other folders use are listed here.
"""

from sklearn_shag.conditional._base import (
    ArcLabeller,
    ArcParser,
    KnownTrees,
    count_known_labels,
    mask_scores,
    prepare_trees,
    tell_trees,
)
from sklearn_shag.conditional._crf import CRFParser
from sklearn_shag.conditional._passes import (
    Examples,
    Lesson,
    cut_into_batches,
    find_places,
    run_passes,
    without_heads,
)

__all__ = []
