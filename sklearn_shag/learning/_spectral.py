"""Spectral learning of hidden-state automata from moments."""

from functools import partial
from numbers import Real
from typing import Any, Literal, Self

import numpy as np

from sklearn_shag.automata import Events, find_basis, project_events
from sklearn_shag.learning._automata import learn_automata
from sklearn_shag.learning._base import IncrementalMixin, TreeLearner
from sklearn_shag.learning._deterministic import deterministic_automaton
from sklearn_shag.operators import join_automata, mixture
from sklearn_shag.utils._param_validation import COUNT, LARGEST_NUMBER, Interval
from sklearn_shag.utils._typing import FloatArray

# Number of states of the deterministic automaton in a mixture.
N_BASELINE_STATES = 2


def spectral_automaton(moments, n_states, *, shrinkage=0.0, scaling=0.0, alpha=0.0, mixing=0.0):
    """Learn an operator model from moments by a singular value decomposition.

    Parameters
    ----------
    moments : Moments
    n_states : int
        Largest number of states; there are fewer where the bigram matrix has a smaller rank.
    shrinkage, scaling, alpha, mixing : float, default=0.0
        See :class:`~sklearn_shag.SpectralSHAG`.

    Returns
    -------
    operators : Operators
        The automaton.
    singular_values : ndarray
        All singular values of its scaled bigrams, largest first.

    Notes
    -----
    Without options these are eqs. 12 and 13 of the theory page: for the top left singular
    vectors U of the bigrams P, ``alpha_1 = U^T P[:, START]``, ``alpha_inf = P[STOP, :] (U^T P)^+``
    and ``A_a = U^T P_a (U^T P)^+``. With them U becomes ``left`` and the pseudo-inverse ``right``
    (eqs. 33 and 34).
    """
    n_symbols, P = moments.n_symbols, moments.bigrams
    mass = P[:, : n_symbols + 1].sum(axis=1), P[: n_symbols + 1].sum(axis=0)
    basis = find_basis(P, *mass, n_states, scaling, alpha)
    events = Events(moments.last[:, None], moments.middle, moments.first[:, None], moments.trigrams)
    with np.errstate(over="ignore"):  # to infinity: events have no weight then
        pseudo_count = shrinkage / moments.n_sequences
    operators = project_events(
        basis, P[:, n_symbols], P[n_symbols], events, n_symbols, n_symbols + 1, pseudo_count
    )
    if mixing > 0:
        baseline = deterministic_automaton(moments, "first")
        operators = mixture(baseline, operators, 1.0 - mixing)
    return operators, basis.singular_values


# Parameters of the published algorithm, without later additions.
PUBLISHED = {"smoothing": 0, "context": 0, "shrinkage": 0, "scaling": 0, "alpha": 0, "mixing": 0}


class SpectralSHAG(IncrementalMixin, TreeLearner):
    """Split head-automata grammar with hidden states, learned from moments in one pass.

    Every head and direction gets its own weighted automaton over modifier sequences. Its operators
    come from bigram and trigram counts and one singular value decomposition, without iterations,
    local optima or initialisation. Entries may be negative; sentences are parsed by marginals, not
    by the best state path.

    Parameters
    ----------
    n_states : int, default=8
        Number of hidden states of each automaton. Where the bigram matrix of a head and direction
        has a smaller rank r, its automaton has r states. `mixing` adds two.
    smoothing : float, default=5.0
        Number of sequences from the pool of the same direction to add to all moments of each head
        and direction. It matters for small treebanks and many symbols.
    context : float, default=0.5
        Weight of more distant symbols. The published moments relate the next symbol to the previous
        one. Here, rows also include the symbols after the next one, and columns those before the
        previous one; their counts are multiplied by this weight (eq. 32). It helps to distinguish
        states that neighbouring symbols cannot.
    shrinkage : float, default=30.0
        Pseudo-count that shrinks trigrams whose first two symbols are rare towards a product of
        bigrams (eq. 35), as in Cohen et al. (2013). In this product, what follows the second symbol
        does not depend on the first.
    scaling : float, default=0.5
        Rows and columns of the bigrams are divided by this power of their mass before the singular
        value decomposition, and operators are scaled back (eq. 33). With 0.5 this is a canonical
        correlation analysis: rare symbols count as much as frequent ones.
    alpha : float, default=1e-3
        Tikhonov regularisation of the inverse of the singular values s:
        ``s / (s^2 + alpha s_1^2)``, where s_1 is the largest (eq. 33). It prevents noise in small
        singular values from being amplified.
    mixing : float, default=0.1
        Weight of ``DeterministicSHAG("first")`` in a mixture with the spectral automaton. It gives
        a positive probability to sequences to which the spectral estimate gives none.
    decoder : {"mbr", "max_marginal", "mst"}, default="mbr"
        How trees are chosen. "mbr" maximises the sum of log marginals (eq. 14 of the paper), and
        "max_marginal" the sum of marginals (the expected number of correct arcs). "mst" is like
        "mbr", but its trees may have crossing arcs. "viterbi" is refused because finding the most
        probable derivation of a grammar with hidden states is intractable.
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
        (n_symbols + 2, 2, n_symbols + 1, n_states, n_states), padded with zeros where an automaton
        has fewer states than the largest. Heads ``n_symbols`` and ``n_symbols + 1`` are
        the unknown head and the root symbol; symbol ``n_symbols`` is the unknown modifier.
    fallback_operators_ : Operators
        A one-state grammar without zeros, for sentences to which `operators_` gives no mass.
    singular_values_ : ndarray of shape (n_symbols + 1, 2, n_codes)
        Singular values of the scaled bigram matrix of every head and direction, largest first,
        padded with zeros. The last head is the pool of all heads.
    effective_rank_ : ndarray of shape (n_symbols + 1, 2)
        Effective number of states of each automaton: the sum of ``s^2 / (s^2 + alpha s_1^2)`` over
        the singular values in use. With ``alpha=0`` it is their number.
    statistics_ : TreebankStatistics
        The trigram counts from which the grammar was learned; `partial_fit` adds to them.

    See Also
    --------
    DeterministicSHAG : The same kind of grammar without hidden states.

    Notes
    -----
    With ``smoothing``, ``context``, ``shrinkage``, ``scaling``, ``alpha`` and ``mixing`` at 0 this
    is the published algorithm (:meth:`published`), which is accurate only with few states. With the
    defaults, the number of states matters little from 8 upwards.

    The root symbol is not learned spectrally: its distribution is a relative frequency. The chart
    and the decoder ensure that there is exactly one root.

    References
    ----------
    Luque, Quattoni, Balle and Carreras (2012), Spectral Learning for Non-Deterministic Dependency
    Parsing, Algorithm 1 with START and STOP symbols and packed operators (footnote 6).

    Cohen, Stratos, Collins, Foster and Ungar (2013), Experiments with Spectral Learning of
    Latent-Variable PCFGs, on smoothing and scaling.

    Examples
    --------
    >>> from sklearn_shag import SpectralSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> trees = load_english().data
    >>> model = SpectralSHAG(n_states=3, smoothing=5).fit(trees)
    >>> model.predict([["DET", "NOUN", "VERB", "DET", "NOUN", "PUNCT"]])[0]
    array([2, 3, 0, 5, 3, 3])
    """

    _parameter_constraints = {
        **TreeLearner._parameter_constraints,
        "n_states": COUNT,
        **{
            name: [Interval(Real, 0, LARGEST_NUMBER, closed="both")]
            for name in ("smoothing", "shrinkage", "alpha")
        },
        "context": [Interval(Real, 0, 1e100, closed="both")],  # its square is a weight, too
        "scaling": [Interval(Real, 0, 1, closed="both")],
        "mixing": [Interval(Real, 0, 1, closed="left")],
    }

    singular_values_: FloatArray
    effective_rank_: FloatArray

    def __init__(
        self,
        n_states: int = 8,
        *,
        smoothing: float = 5.0,
        context: float = 0.5,
        shrinkage: float = 30.0,
        scaling: float = 0.5,
        alpha: float = 1e-3,
        mixing: float = 0.1,
        decoder: Literal["mbr", "max_marginal", "mst"] = "mbr",
        max_tokens: int | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(decoder=decoder, max_tokens=max_tokens, n_jobs=n_jobs, verbose=verbose)
        self.n_states = n_states
        self.smoothing = smoothing
        self.context = context
        self.shrinkage = shrinkage
        self.scaling = scaling
        self.alpha = alpha
        self.mixing = mixing

    @classmethod
    def published(cls, n_states: int = 8, **params: Any) -> Self:
        """Make an estimator for the published algorithm, without later additions.

        Parameters
        ----------
        n_states : int, default=8
            Number of hidden states. Accuracy falls beyond a few.
        **params
            Further parameters.

        Returns
        -------
        estimator : SpectralSHAG
            With `smoothing`, `context`, `shrinkage`, `scaling`, `alpha` and `mixing` at 0 unless
            they are given.

        Examples
        --------
        >>> from sklearn_shag import SpectralSHAG
        >>> SpectralSHAG.published(3)
        SpectralSHAG(alpha=0, context=0, mixing=0, n_states=3, scaling=0, shrinkage=0,
                     smoothing=0)
        """
        return cls(n_states, **{**PUBLISHED, **params})

    def _learn_operators(self, statistics, trees, sequences):
        learn = partial(
            spectral_automaton,
            n_states=self.n_states,
            shrinkage=self.shrinkage,
            scaling=self.scaling,
            alpha=self.alpha,
            mixing=self.mixing,
        )
        context = float(self.context)  # arrays of whole numbers are multiplied by its powers
        # Of every head and direction, in order of pairs.
        automata = learn_automata(
            statistics.statistics, learn, self.smoothing, self.n_jobs, context, self.verbose
        )
        operators, spectra = zip(*automata, strict=True)
        values = np.zeros((len(spectra), max(map(len, spectra))))
        for row, singular_values in zip(values, spectra, strict=True):
            row[: singular_values.size] = singular_values
        extra = N_BASELINE_STATES if self.mixing > 0 else 0
        ranks = np.array([part.alpha_1.size - extra for part in operators])
        used = (np.arange(values.shape[1]) < ranks[:, None]) & (values > 0)
        squares = np.divide(values, values[:, :1], out=np.zeros_like(values), where=used) ** 2
        shares = np.divide(squares, squares + self.alpha, out=np.zeros_like(values), where=used)
        return {
            "operators_": join_automata(operators, statistics.statistics.roots),
            "singular_values_": values.reshape(-1, 2, values.shape[1]),
            "effective_rank_": shares.sum(axis=1).reshape(-1, 2),
            "statistics_": statistics,
        }
