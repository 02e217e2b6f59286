"""Deterministic split head-automata grammars: relative frequencies."""

from functools import partial
from numbers import Real
from typing import Literal

import numpy as np

from sklearn_shag.learning._automata import learn_grammar
from sklearn_shag.learning._base import IncrementalMixin, TreeLearner
from sklearn_shag.operators import Operators, operators_from_counts
from sklearn_shag.utils._param_validation import LARGEST_NUMBER, Interval, StrOptions


def deterministic_automaton(moments, automaton):
    """Estimate a deterministic automaton from bigrams (theory, eqs. 10-11).

    Parameters
    ----------
    moments : Moments
    automaton : {"single", "first", "sibling"}
        See :class:`~sklearn_shag.DeterministicSHAG`.

    Returns
    -------
    operators : Operators
        With 1, 2 or ``n_symbols + 1`` states.
    """
    n_symbols = moments.n_symbols
    bigrams = moments.bigrams[: n_symbols + 1, : n_symbols + 1]
    # uses[a, j]: modifier (last row: STOP) a is generated in state j. State 0 is the state before
    # the first modifier: column START of the bigrams.
    starts, continues = bigrams[:, -1:], bigrams[:, :-1]
    if automaton == "single":
        uses = starts + continues.sum(axis=1, keepdims=True)
        target = np.zeros(n_symbols, dtype=np.int64)
    elif automaton == "first":
        uses = np.hstack([starts, continues.sum(axis=1, keepdims=True)])
        target = np.ones(n_symbols, dtype=np.int64)
    else:
        uses = np.hstack([starts, continues])
        target = np.arange(1, n_symbols + 1)
    return operators_from_counts(deterministic_counts(uses, target))


def deterministic_counts(uses, target):
    """Make an automaton of its uses that starts in state 0.

    Parameters
    ----------
    uses : ndarray of shape (n_symbols + 1, n_states)
        How often each modifier, or STOP (last row), is generated in each state.
    target : int ndarray of shape (n_symbols,)
        The state after each modifier.

    Returns
    -------
    counts : Operators
    """
    n_symbols, n_states = target.size, uses.shape[1]
    transitions = np.zeros((n_symbols, n_states, n_states))
    transitions[np.arange(n_symbols), target] = uses[:-1]
    return Operators(np.eye(n_states)[0], uses[-1], transitions)


class DeterministicSHAG(IncrementalMixin, TreeLearner):
    """Split head-automata grammar with deterministic automata, the classical baselines.

    The modifiers generated so far determine the state of an automaton, so probabilities are
    relative frequencies of modifiers and STOP given head, direction and state.

    Parameters
    ----------
    automaton : {"single", "first", "sibling"}, default="first"
        The states of each automaton:

        - "single": one state; modifiers are independent of each other (DET in the paper);
        - "first": two states, before the first modifier and after it (DET+F);
        - "sibling": the previous modifier is the state. Memory grows with the fourth power of
          the number of symbols: 0.2 GB for 60 of them.
    smoothing : float, default=0.0
        Number of sequences of the pooled automaton of the same direction to add to those of each
        head and direction. 0 gives plain relative frequencies.
    decoder : {"mbr", "max_marginal", "viterbi", "mst"}, default="mbr"
        How trees are chosen. "mbr" maximises the sum of log marginals (eq. 14 of the paper),
        "max_marginal" the sum of marginals (the expected number of correct arcs), and "viterbi" the
        probability. "mst" is like "mbr", but its trees may have crossing arcs.
    max_tokens : None or int, default=None
        Maximum number of tokens in a sentence to parse; longer ones raise an error. Time grows with
        the cube of the length, memory with its square: 1,000 tokens take seconds and up to 0.8 GB.
    n_jobs : int or None, default=None
        Number of joblib workers. Learning is split over heads and directions, parsing over chunks
        of sentences.
    verbose : int, default=0
        1 shows progress bars on standard error for work that takes more than two seconds; 2 always
        shows them.

    Attributes
    ----------
    symbols_ : ndarray of shape (n_symbols,), dtype object
        Known symbols (str), sorted; the code of each is its position.
    labels_ : ndarray of shape (n_labels,), dtype object
        Known relations of arcs (str), sorted; empty if the training trees had none.
    label_counts_ : LabelCounts
        How often each relation occurred, by the symbols at both ends of the arc and its direction.
    operators_ : Operators
        `alpha_1` and `alpha_inf` have shape (n_symbols + 2, 2, n_states), `A` has shape
        (n_symbols + 2, 2, n_symbols + 1, n_states, n_states). Heads ``n_symbols`` and
        ``n_symbols + 1`` are the unknown head and the root symbol; symbol ``n_symbols`` is the
        unknown modifier.
    fallback_operators_ : Operators
        A one-state grammar without zeros, for sentences to which `operators_` gives no mass.
    statistics_ : TreebankStatistics
        The trigram counts from which the grammar was learned; `partial_fit` adds to them.

    See Also
    --------
    SpectralSHAG : Learns hidden states from moments.

    References
    ----------
    Luque, Quattoni, Balle and Carreras (2012), Spectral Learning for Non-Deterministic Dependency
    Parsing, eq. 2 and sec. 5.1.

    Examples
    --------
    >>> from sklearn_shag import DeterministicSHAG
    >>> X = [["DET", "NOUN", "VERB"], ["NOUN", "VERB", "NOUN"]]
    >>> y = [[2, 3, 0], [2, 0, 2]]
    >>> model = DeterministicSHAG().fit(X, y)
    >>> model.predict([["DET", "NOUN", "VERB", "DET", "NOUN"]])[0]
    array([2, 3, 0, 5, 3])
    """

    _parameter_constraints = {
        **TreeLearner._parameter_constraints,
        "automaton": [StrOptions({"single", "first", "sibling"})],
        "smoothing": [Interval(Real, 0, LARGEST_NUMBER, closed="both")],
    }

    _deterministic = True

    def __init__(
        self,
        automaton: Literal["single", "first", "sibling"] = "first",
        *,
        smoothing: float = 0.0,
        decoder: Literal["mbr", "max_marginal", "viterbi", "mst"] = "mbr",
        max_tokens: int | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(decoder=decoder, max_tokens=max_tokens, n_jobs=n_jobs, verbose=verbose)
        self.automaton = automaton
        self.smoothing = smoothing

    def _learn_operators(self, statistics, trees, sequences):
        learn = partial(deterministic_automaton, automaton=self.automaton)
        operators = learn_grammar(statistics.statistics, learn, self.smoothing, self.n_jobs)
        return {"operators_": operators, "statistics_": statistics}
