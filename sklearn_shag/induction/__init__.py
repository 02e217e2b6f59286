"""Grammars from raw text: distributions, where EM starts, rules, and EM over all trees.

What the estimators use of it is listed here; users have no need of it.
"""

from sklearn_shag.induction._mixture import MixtureSHAG

__all__ = []
