"""From statistics to operators: the learners of grammars, and their loop over heads."""

from sklearn_shag.learning._automata import fallback_from_uses, fallback_grammar, learn_grammar
from sklearn_shag.learning._base import BaseSHAG, GenerativeMixin, OperatorMixin
from sklearn_shag.learning._deterministic import DeterministicSHAG
from sklearn_shag.learning._em import EMSHAG, check_start
from sklearn_shag.learning._refined import RefinedSHAG
from sklearn_shag.learning._spectral import SpectralSHAG

__all__ = ["fallback_grammar", "learn_grammar"]
