"""From statistics to operators: how each learner makes an automaton, and the loop over all."""

from sklearn_shag.learning._automata import learn_automata, learn_grammar
from sklearn_shag.learning._checkpoint import (
    NO_SEED,
    Checkpoint,
    digest_of,
    draw_seed,
    find_checkpoint,
    make_checkpoint,
)
from sklearn_shag.learning._climb import Expected, climb_to_the_end
from sklearn_shag.learning._deterministic import deterministic_automaton
from sklearn_shag.learning._expectation import em_automaton, learn_by_em, split_prefix_trees
from sklearn_shag.learning._fallback import fallback_from_uses, fallback_grammar
from sklearn_shag.learning._spectral import N_BASELINE_STATES, leading_states, spectral_automaton
from sklearn_shag.learning._starts import Starts, check_start, make_starts

__all__ = ["fallback_grammar", "learn_grammar"]
