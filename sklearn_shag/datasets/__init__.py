"""Treebanks: bundled, generated, and downloaded; and parsers, bundled or downloaded.

What other folders use of it is listed here.
"""

from sklearn_shag.datasets._generated import load_english, make_sequences, make_treebank
from sklearn_shag.datasets._parsers import PARSERS, find_model, load_parser
from sklearn_shag.datasets._universal_dependencies import (
    TREEBANK_NAME,
    fetch_treebank,
    find_files,
    find_treebank,
    get_data_home,
)

__all__ = [
    "fetch_treebank",
    "get_data_home",
    "load_english",
    "load_parser",
    "make_sequences",
    "make_treebank",
]
