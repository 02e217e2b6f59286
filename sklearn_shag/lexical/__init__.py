"""Words with tags: how often each follows which head, backed off, as factors of the chart.

What other modules use of it is listed here; users have no need of it.
"""

from sklearn_shag.lexical._back_off import back_off
from sklearn_shag.lexical._potentials import lexical_potentials
from sklearn_shag.lexical._sampling import sample_words
from sklearn_shag.lexical._statistics import (
    LexicalStatistics,
    Lexicon,
    count_words,
    list_words,
)

__all__ = []
