"""The command line.

What other folders use of it is listed here.
"""

from sklearn_shag.cli._main import main

__all__ = []
