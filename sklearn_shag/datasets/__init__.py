"""Treebanks: bundled, generated, and downloaded; and parsers that are bundled."""

from sklearn_shag.datasets._generated import (
    BUNDLED,
    load_english,
    load_parser,
    make_sequences,
    make_treebank,
)
from sklearn_shag.datasets._universal_dependencies import fetch_treebank, get_data_home

__all__ = [
    "fetch_treebank",
    "get_data_home",
    "load_english",
    "load_parser",
    "make_sequences",
    "make_treebank",
]
