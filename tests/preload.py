"""What processes that fork servers start have done before they begin: it takes seconds.

The command annotate finds the bundled parser open; other commands open it themselves.
"""

import pytest  # noqa: F401

from sklearn_shag.cli import _annotate, _serve  # noqa: F401
from sklearn_shag.datasets import load_parser
from sklearn_shag.service import open_served

bundled = load_parser()
served = open_served(bundled, _annotate._MAX_TOKENS)
_annotate.open_model = lambda *_, **__: bundled
_annotate.open_served = lambda *_: served
