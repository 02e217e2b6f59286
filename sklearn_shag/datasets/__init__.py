"""Treebanks: bundled, generated, and downloaded."""

from sklearn_shag.datasets._generated import load_english, make_sequences, make_treebank
from sklearn_shag.datasets._universal_dependencies import fetch_treebank, get_data_home

__all__ = ["fetch_treebank", "get_data_home", "load_english", "make_sequences", "make_treebank"]
