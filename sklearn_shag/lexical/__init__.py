"""Words with tags: how often each follows which head, backed off, as factors of the chart.

What other modules use of it is listed here; users have no need of it.
"""

from sklearn_shag.lexical._lexicalized import LexicalizedSHAG
from sklearn_shag.lexical._statistics import LexicalStatistics, check_words

__all__ = []
