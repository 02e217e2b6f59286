"""Scores of predicted heads and relations, and scorers for scikit-learn's tools."""

from sklearn_shag.metrics._attachment import (
    AttachmentBreakdown,
    attachment_breakdown,
    exact_match_score,
    is_punctuation,
    neutral_edge_direction_score,
    undirected_attachment_score,
    unlabeled_attachment_score,
)
from sklearn_shag.metrics._labeled import (
    LabeledBreakdown,
    content_labeled_attachment_score,
    label_accuracy_score,
    labeled_attachment_score,
    labeled_breakdown,
)
from sklearn_shag.metrics._raw_text import RawTextScore, raw_text_scores
from sklearn_shag.metrics._report import ScoreInterval, ScoreReport, score_report
from sklearn_shag.metrics._scorers import exact_match_scorer, las_scorer, uas_scorer

__all__ = [
    "AttachmentBreakdown",
    "LabeledBreakdown",
    "RawTextScore",
    "ScoreInterval",
    "ScoreReport",
    "attachment_breakdown",
    "content_labeled_attachment_score",
    "exact_match_score",
    "exact_match_scorer",
    "is_punctuation",
    "label_accuracy_score",
    "labeled_attachment_score",
    "labeled_breakdown",
    "las_scorer",
    "neutral_edge_direction_score",
    "raw_text_scores",
    "score_report",
    "uas_scorer",
    "undirected_attachment_score",
    "unlabeled_attachment_score",
]
