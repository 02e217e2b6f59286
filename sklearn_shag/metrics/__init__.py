"""Scores of predicted heads."""

from sklearn_shag.metrics._attachment import (
    AttachmentBreakdown,
    attachment_breakdown,
    exact_match_score,
    is_punctuation,
    unlabeled_attachment_score,
)

__all__ = [
    "AttachmentBreakdown",
    "attachment_breakdown",
    "exact_match_score",
    "is_punctuation",
    "unlabeled_attachment_score",
]
