"""Grammars from raw text: distributions, where EM starts, rules, and EM over all trees.

Nothing else in the package has need of it.
"""

__all__ = []
