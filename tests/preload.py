"""What processes that fork servers start have done before they begin: it takes two seconds."""

import pytest  # noqa: F401

import sklearn_shag.cli._annotate
import sklearn_shag.cli._serve  # noqa: F401
from sklearn_shag.datasets import load_parser

load_parser().parse_text("Dogs bark.")
