"""What processes that fork servers start have done before they begin: it takes seconds."""

import pytest  # noqa: F401

import sklearn_shag.cli._serve  # noqa: F401
from tests.processes import open_bundled

open_bundled()
