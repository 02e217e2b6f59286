"""Checks of the contract that every parser keeps, for parsers of this package and of others."""

from sklearn_shag.checks._parsers import check_parser, yield_checks

__all__ = ["check_parser", "yield_checks"]
