"""Parsers made of parsers: averages, and products of grammars.

What other folders use of it is listed here.
"""

from sklearn_shag.ensembles._base import ComposedParser

__all__ = []
