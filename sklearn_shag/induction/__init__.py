"""Grammars from raw text: distributions, where EM starts, rules, and EM over all trees.

What the estimators use of it is listed here; users have no need of it.
"""

from sklearn_shag.induction._arcs import list_arcs, observed_arcs
from sklearn_shag.induction._concave import as_grammar, learn_concave
from sklearn_shag.induction._expectation import Text, improve
from sklearn_shag.induction._mixture import align_grammar, learn_weights, mix_grammars
from sklearn_shag.induction._rules import score_by_rules, score_rules
from sklearn_shag.induction._starts import from_operators, make_start, split_states
from sklearn_shag.induction._valence import Form, count_uses, to_grammar

__all__ = []
