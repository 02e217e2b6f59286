"""Single automata over sequences: their learning, and estimators of sequences."""

from sklearn_shag.automata._base import SequenceModel, SymbolSequences
from sklearn_shag.automata._contexts import NGrams, check_ngrams
from sklearn_shag.automata._decomposition import Events, find_basis, project_events
from sklearn_shag.automata._em import HMM, EMAutomaton
from sklearn_shag.automata._expectation import (
    Expected,
    climb_to_the_end,
    em_automaton,
    moments_start,
    prior_uses,
    proper_start,
    random_start,
    warn_of_limit,
)

__all__ = ["HMM", "NGrams"]
