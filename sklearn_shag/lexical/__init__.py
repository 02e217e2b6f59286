"""Lexicalised grammars: counts of words after heads, backed off, as factors of the chart.

The names that other modules use are listed here; users do not need them.
"""

from sklearn_shag.lexical._lexicalized import LexicalizedSHAG
from sklearn_shag.lexical._statistics import LexicalStatistics, check_words

__all__ = []
