"""Spectral learning of one automaton from sequences."""

from collections.abc import Sequence
from copy import copy
from numbers import Integral, Real
from typing import Any, Self, TypeAlias

from sklearn.utils import check_scalar
from sklearn.utils.validation import check_is_fitted

from sklearn_shag.automata._base import SequenceModel, list_sequences
from sklearn_shag.automata._contexts import choose_contexts, learn_spectral
from sklearn_shag.automata._decomposition import leading_states
from sklearn_shag.utils._param_validation import LARGEST_NUMBER, Interval
from sklearn_shag.utils._typing import FloatArray

Strings: TypeAlias = Sequence[Sequence[Any]] | None


class SpectralAutomaton(SequenceModel):
    """Weighted automaton over sequences, learned from moments in one pass.

    It predicts the next symbol, or the end, from a hidden state that sums up all symbols so far.
    The operators come from counts of what precedes and follows each symbol and one singular value
    decomposition, without iteration or local optima. Their masses may be negative; probabilities
    come from the positive masses, mixed with n-grams, and sum to 1.

    Parameters
    ----------
    n_states : int, default=8
        Number of hidden states. If the matrix of contexts has a smaller rank r, there are r.
    max_context : int, default=3
        Longest context, in symbols, before and after a gap between symbols, including the start and
        the end of a sequence. With 1, contexts are those of :class:`SpectralSHAG`.
    n_contexts : int, default=400
        Largest number of contexts on each side; the most frequent ones are used.
    smoothing : float, default=1.0
        Smoothing of the n-grams: this count, for each different symbol seen after a context, goes
        to the probabilities after a shorter context. 1 is the method of Witten and Bell.
    shrinkage : float, default=5.0
        Pseudo-count that shrinks what follows a symbol after a rare context towards what follows it
        after any context (eq. 35).
    scaling : float, default=0.4
        Rows and columns of the matrix of contexts are divided by this power of their mass before
        the singular value decomposition (eq. 33).
    alpha : float, default=0.0
        Tikhonov regularisation of the inverse of the singular values (eq. 33).
    prefixes, suffixes : None or sequence of sequences, default=None
        Strings of symbols before and behind gaps, the columns and rows of the matrix, in place of
        the most frequent contexts; [] is the empty string. If the first item of a prefix is None,
        it stands at the start of the sequence; if the last item of a suffix is None, it stands at
        the end. The start and the end alone are always contexts. With both parameters,
        `max_context` and `n_contexts` are those of the n-grams only.
    mixing : None or float, default=None
        Share of n-grams, over the contexts before each symbol, in the probabilities. None finds it
        on every tenth sequence, with an automaton trained on the others; this takes twice as long.

    Attributes
    ----------
    symbols_ : ndarray of shape (n_symbols,)
        Known symbols, sorted: objects (str) or integers.
    operators_ : Operators
        `alpha_1` and `alpha_inf` of shape (n_states,), `A` of shape
        (n_symbols, n_states, n_states).
    ngrams_ : NGrams
        The n-grams that are mixed with the automaton.
    mixing_ : float
        The share of the n-grams.
    singular_values_ : ndarray of shape (n_contexts,)
        Singular values of the scaled matrix of contexts, the largest first.

    See Also
    --------
    EMAutomaton : Learns a probabilistic automaton by maximum likelihood.
    SpectralSHAG : Learns automata of the modifiers of heads in trees.

    Notes
    -----
    See the theory page, eqs. 60-62. If some masses of the next symbols are negative, the state is
    partly noise. That part is replaced by the state after the previous symbol, whatever came before
    it.

    References
    ----------
    Hsu, Kakade and Zhang (2009), A spectral algorithm for learning hidden Markov models. Balle,
    Carreras, Luque and Quattoni (2014), Spectral learning of weighted automata.

    Examples
    --------
    >>> from sklearn_shag import SpectralAutomaton
    >>> words = [list(word) for word in ["banana", "bandana", "cabana", "panama"] * 5]
    >>> model = SpectralAutomaton(n_states=6, mixing=0.01).fit(words)
    >>> model.predict([list("ban"), list("cabana")])
    array(['a', None], dtype=object)
    """

    _parameter_constraints = {
        **SequenceModel._parameter_constraints,
        **{
            name: [Interval(Real, 0, LARGEST_NUMBER, closed="both")]
            for name in ("shrinkage", "alpha")
        },
        "scaling": [Interval(Real, 0, 1, closed="both")],
        "prefixes": ["array-like", None],
        "suffixes": ["array-like", None],
    }

    singular_values_: FloatArray

    def __init__(
        self,
        n_states: int = 8,
        *,
        max_context: int = 3,
        n_contexts: int = 400,
        smoothing: float = 1.0,
        shrinkage: float = 5.0,
        scaling: float = 0.4,
        alpha: float = 0.0,
        prefixes: Strings = None,
        suffixes: Strings = None,
        mixing: float | None = None,
    ) -> None:
        super().__init__(
            n_states=n_states,
            max_context=max_context,
            n_contexts=n_contexts,
            smoothing=smoothing,
            mixing=mixing,
        )
        self.shrinkage = shrinkage
        self.scaling = scaling
        self.alpha = alpha
        self.prefixes = prefixes
        self.suffixes = suffixes

    def _learn_automaton(self, sequences, gaps, symbols):
        strings = (
            None if value is None else list_sequences(value, name)
            for name, value in (("prefixes", self.prefixes), ("suffixes", self.suffixes))
        )
        gaps = choose_contexts(gaps, *strings, symbols)
        operators, singular_values = learn_spectral(
            gaps,
            sequences.weights,
            symbols.size,
            self.n_states,
            scaling=self.scaling,
            shrinkage=self.shrinkage,
            alpha=self.alpha,
        )
        return {"operators_": operators, "singular_values_": singular_values}

    def truncate(self, n_states: int) -> Self:
        """Return the automaton with fewer states.

        Parameters
        ----------
        n_states : int
            Number of states, at most as many as there are.

        Returns
        -------
        model : SpectralAutomaton
            A fitted copy, whose operators are exactly those that `fit` would learn with fewer
            states. `mixing_` is that of the larger automaton.

        Raises
        ------
        ValueError
            If the automaton does not have as many states.
        """
        check_is_fitted(self)
        check_scalar(
            n_states, "n_states", Integral, min_val=1, max_val=self.operators_.alpha_1.size
        )
        model = copy(self).set_params(n_states=n_states)
        model.operators_ = leading_states(self.operators_, n_states)
        return model
