"""Scores of predicted heads, and scorers for scikit-learn's tools."""

from sklearn_shag.metrics._attachment import (
    AttachmentBreakdown,
    attachment_breakdown,
    exact_match_score,
    is_punctuation,
    unlabeled_attachment_score,
)
from sklearn_shag.metrics._scorers import exact_match_scorer, uas_scorer

__all__ = [
    "AttachmentBreakdown",
    "attachment_breakdown",
    "exact_match_score",
    "exact_match_scorer",
    "is_punctuation",
    "uas_scorer",
    "unlabeled_attachment_score",
]
