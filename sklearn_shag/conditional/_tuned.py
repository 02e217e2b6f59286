"""Grammars with hidden states, tuned to the probability of trees given their sentences."""

from __future__ import annotations

import math
import warnings
from functools import partial
from numbers import Real
from typing import Literal, NamedTuple, Self

import numpy as np
from scipy.optimize import minimize
from sklearn.base import clone

from sklearn_shag.conditional._base import ConditionalParser, count_known_labels, prepare_trees
from sklearn_shag.encoding import encode_sentences
from sklearn_shag.learning import DeterministicSHAG, OperatorMixin, TreeLearner
from sklearn_shag.operators import Operators
from sklearn_shag.parsing import Potentials, grammar_loss, keep_known, pack_grammar
from sklearn_shag.treebank import Heads, Sentences, UnknownSymbolWarning
from sklearn_shag.utils._arrays import log_of
from sklearn_shag.utils._heads import UNKNOWN
from sklearn_shag.utils._messages import warn
from sklearn_shag.utils._parallel import progress
from sklearn_shag.utils._param_validation import (
    COUNT,
    LARGEST,
    HasMethods,
    Interval,
    StrOptions,
    fit_members_context,
)
from sklearn_shag.utils._typing import ArrayLike

# Smaller entries of operators, for starts, stops and transitions, count as zero and stay zero.
SMALLEST = Operators(alpha_1=1e-8, alpha_inf=1e-12, A=1e-8)
# The least initial logarithm of other entries.
FLOOR = np.log(1e-6)


class ConditionalSHAG(OperatorMixin, ConditionalParser):
    """Split head-automata grammar tuned to the probability of trees given their sentences.

    It starts from the operators of another grammar and makes the known heads more probable, given
    the sentences, than all other trees. Unknown heads are summed over.

    Parameters
    ----------
    estimator : estimator
        The grammar to start from: EMSHAG, DeterministicSHAG, or any other whose operators are not
        negative. It is fitted on the trees whose heads are all known. If these hold less than half
        of all known heads, a grammar with deterministic automata starts from equal weights.
    alpha : float, default=1.0
        Strength of the L2 penalty on changes in the logarithms of operators, on the scale of a sum
        over sentences.
    max_iter : int, default=30
        Maximum number of iterations of L-BFGS.
    tol : float, default=1e-5
        Training ends when no derivative is larger than this share of the number of known heads,
        each weighted like its sentence.
    warm_start : bool, default=False
        Whether `fit` continues from the operators of the previous `fit`, with its symbols. The
        penalty still refers to the original starting point, and `estimator` is not fitted again.
        L-BFGS starts afresh.
    nonprojective : {"lift", "drop"}, default="lift"
        What to do with training trees that have crossing arcs: lift arcs to the head's head, the
        shortest first (see :func:`~sklearn_shag.treebank.lift`), or leave the sentence out.
        Partially annotated trees are never lifted.
    decoder : {"mbr", "max_marginal", "viterbi", "mst"}, default="mbr"
        How trees are chosen. "mbr" maximises the sum of log marginals (eq. 14 of the paper),
        "max_marginal" the sum of marginals (the expected number of correct arcs), and "viterbi",
        for deterministic automata, the probability. "mst" is like "mbr", but its trees may have
        crossing arcs.
    max_tokens : None or int, default=None
        Maximum number of tokens in a sentence to parse; longer ones raise an error. Time grows with
        the cube of the length, memory with its square: 1,000 tokens take seconds and up to 0.8 GB.
    n_jobs : int or None, default=None
        Number of joblib workers. Learning and parsing are split over chunks of sentences. What is
        learned does not depend on it.
    verbose : int, default=0
        1 shows progress bars on standard error for work that takes more than two seconds; 2 always
        shows them.

    Attributes
    ----------
    symbols_ : ndarray of shape (n_symbols,), dtype object
        Known symbols (str), sorted; the code of each is its position.
    operators_ : Operators
        Like those of `estimator`, but not normalised.
    fallback_operators_ : Operators
        A one-state grammar without zeros, for sentences to which `operators_` gives no mass.
    start_operators_ : Operators
        The operators of `estimator`, from which tuning started.
    loss_curve_ : list of float
        Mean of ``-log P(known heads | sentence)`` in each iteration; the first entry is that of the
        start.
    n_iter_ : int
        Number of iterations.
    n_lifted_, n_left_out_ : int
        Number of training trees that were lifted, and number left out because no projective tree
        with one root has their heads, or none with a positive probability at the start.

    See Also
    --------
    CRFParser : Uses words and neighbours instead of hidden states, for the same objective.
    EMSHAG : A grammar to start from.

    Notes
    -----
    The objective is the sum of log Z - log Z(known) over sentences, plus the penalty. Its
    derivative is the difference of expected uses of each operator (eq. 26). Zeros of the start stay
    zero. Operators are weights, not probabilities, so sentences have no probability and cannot be
    drawn.

    References
    ----------
    Luque, Quattoni, Balle and Carreras (2012), Spectral Learning for Non-Deterministic Dependency
    Parsing.

    Examples
    --------
    >>> from sklearn_shag import ConditionalSHAG, EMSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> trees = load_english().data
    >>> start = EMSHAG(2, init="moments", smoothing=3)
    >>> model = ConditionalSHAG(start, max_iter=10).fit(trees[:300])
    >>> model.score(trees[300:]) > start.fit(trees[:300]).score(trees[300:])
    True
    """

    _parameter_constraints = {
        **ConditionalParser._parameter_constraints,
        "estimator": [HasMethods(["fit", "predict"])],
        "alpha": [Interval(Real, 0, LARGEST, closed="both")],
        "max_iter": COUNT,
        "tol": [Interval(Real, 0, LARGEST, closed="both")],
        "warm_start": ["boolean"],
        "nonprojective": [StrOptions({"lift", "drop"})],
    }

    start_operators_: Operators
    n_lifted_: int
    n_left_out_: int

    def __init__(
        self,
        estimator: TreeLearner,
        *,
        alpha: float = 1.0,
        max_iter: int = 30,
        tol: float = 1e-5,
        warm_start: bool = False,
        nonprojective: Literal["lift", "drop"] = "lift",
        decoder: Literal["mbr", "max_marginal", "viterbi", "mst"] = "mbr",
        max_tokens: int | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.nonprojective = nonprojective
        self.decoder = decoder
        self.max_tokens = max_tokens
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def _deterministic(self):
        return getattr(self.estimator, "_deterministic", False)

    @fit_members_context
    def fit(
        self, X: Sentences, y: Heads | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit the grammar to start from, and tune it.

        Parameters
        ----------
        X : sequence of length n_sentences
            ``X[i]`` is a DependencyTree or a sequence of symbols.
        y : None or sequence of length n_sentences, default=None
            ``y[i]`` holds n_tokens_i heads (1-based, 0 for the root, -1 if unknown) or is a
            DependencyTree with heads. None uses the heads of the trees in X. Sentences without
            known heads are left out.
        sample_weight : None or array-like of shape (n_sentences,), default=None
            Weight of each sentence; 0 leaves it out.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If X is empty or has nothing to learn from, heads are missing, weights are negative or
            all zero, or a parameter is invalid. The message names the sentence. Also if operators
            are negative, or a grammar with hidden states has no whole trees to start from.
        TypeError
            If `estimator` has no operators, or symbols are not strings.

        Warns
        -----
        UserWarning
            If sentences are left out because no projective tree with one root has their heads, or
            none to which the starting grammar gives a positive probability.
        """
        self._check_parsing()
        if not isinstance(self.estimator, OperatorMixin):
            raise TypeError(
                f"estimator={type(self.estimator).__name__}(...) has no operators to tune. Take "
                f"EMSHAG or DeterministicSHAG; put transformers of sentences before this "
                f"estimator in a pipeline."
            )
        separate = prepare_trees(X, y, sample_weight, self.nonprojective)
        trees = separate.merge()
        encode_sentences(separate.symbols, sorted(set().union(*separate.symbols)))  # warns, once
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnknownSymbolWarning)
            start = self._choose_start(trees)
        codes, indptr = encode_sentences(trees.symbols, start.symbols, check=False)
        free = Potentials(indptr, codes)
        known = keep_known(free, trees.heads)
        space = LogOperators(start.first)
        begin = space.start if start.tuned is start.first else space.vector(start.tuned)
        grammar = pack_grammar(space.operators(begin))
        losses, _ = grammar_loss(grammar, free, known, trees.weights, self.n_jobs)
        weights = np.where(np.isfinite(losses), trees.weights, 0.0)
        n_impossible = int(np.count_nonzero(weights == 0))
        if n_impossible == weights.size:
            raise ValueError(
                f"No sentence of X can be learned from: {type(self.estimator).__name__} gives no "
                f"probability to any tree that has the known heads. Raise its smoothing."
            )
        if n_impossible:
            warn(
                f"{n_impossible} of {weights.size} sentences are left out of training, since "
                f"{type(self.estimator).__name__} gives no probability to any tree with their "
                f"known heads. Raise its smoothing.",
                UserWarning,
            )
        operators, losses = self._tune(space, begin, free, known, weights, trees.heads)
        vars(self).update(
            symbols_=start.symbols,
            operators_=operators,
            fallback_operators_=start.fallback,
            start_operators_=start.first,
            **count_known_labels(separate, start.symbols),
            loss_curve_=losses,
            n_iter_=len(losses) - 1,
            n_lifted_=trees.n_lifted,
            n_left_out_=trees.n_left_out + n_impossible,
        )
        return self

    def _choose_start(self, trees):
        """Return the TuningStart, from a new fit of the estimator or from the previous fit."""
        is_warm = self.warm_start and hasattr(self, "operators_")
        fitted = self if is_warm else self._fit_start(trees)
        first = self.start_operators_ if is_warm else fitted.operators_
        return TuningStart(fitted.symbols_, fitted.fallback_operators_, first, fitted.operators_)

    def _fit_start(self, trees):
        """Fit the grammar from which tuning starts."""
        estimator = clone(self.estimator)
        heads = np.split(trees.given, trees.indptr[1:-1])
        whole = [s for s, of_sentence in enumerate(heads) if UNKNOWN not in of_sentence]
        n_known, n_in_whole = np.sum(trees.given != UNKNOWN), sum(heads[s].size for s in whole)
        if isinstance(estimator, DeterministicSHAG) and 2 * n_in_whole < n_known:
            return _with_equal_weights(estimator, sorted(set().union(*trees.symbols)))
        if not whole:
            raise ValueError(
                f"X has no sentence of which all heads are known, and {type(estimator).__name__} "
                f"cannot start without one: hidden states that are all alike stay alike. Give some "
                f"whole trees, or start from DeterministicSHAG."
            )
        sentences, weights = [trees.symbols[s] for s in whole], trees.weights[whole]
        estimator.fit(sentences, [heads[s] for s in whole], sample_weight=weights)
        if any(np.any(part < 0) for part in estimator.operators_):
            raise ValueError(
                f"{type(estimator).__name__} has learned negative operators: its states are a "
                f"basis of singular vectors, not probabilities, so its operators have no "
                f"logarithms to tune. Take EMSHAG(n_states, init='moments'), which starts from the "
                f"same moments."
            )
        return estimator

    def _tune(self, space, begin, free, known, weights, heads):
        """Minimise the loss over logarithms of operators; return operators and all losses."""
        # Large weights are scaled down, since the search squares them; powers of two are exact.
        unit = 2.0 ** (math.frexp(weights.max())[1] - 1)
        unit = max(unit, 1.0) if self.alpha > 0 else unit
        alpha, weights = self.alpha / unit, weights / unit
        losses, curve = [], []
        settings = {"n_jobs": self.n_jobs, "losses": losses}
        objective = partial(_objective, space, free, known, weights, alpha, **settings)
        with progress("Tuning", self.max_iter, "iterations", self.verbose) as advance:

            def note(_):
                curve.append(losses[-1])
                advance()

            n_known = np.add.reduceat(heads != UNKNOWN, free.indptr[:-1], dtype=float)
            options = {"maxiter": self.max_iter, "gtol": self.tol * (weights @ n_known)}
            result = minimize(
                objective, begin, jac=True, method="L-BFGS-B", callback=note, options=options
            )
        return space.operators(result.x), [losses[0], *curve]


class TuningStart(NamedTuple):
    """Symbols and operators at the start of tuning."""

    symbols: np.ndarray
    fallback: Operators
    first: Operators  # origin of the penalty
    tuned: Operators  # where the search starts: `first`, or operators of the previous fit


class LogOperators:
    """Logarithms of operators as a vector, for a search; zeros are left out.

    Parameters
    ----------
    logs : list of ndarray
        Logarithms of the parts of operators, -inf where entries are and stay 0.
    """

    def __init__(self, start):
        logs = [
            np.where(part > smallest, np.maximum(log_of(part), FLOOR), -np.inf)
            for part, smallest in zip(start, SMALLEST, strict=True)
        ]
        logs[2][:, :, -1] = -np.inf  # the unknown modifier is the sum of all others
        self.shapes = [part.shape for part in logs]
        flat = np.concatenate([part.ravel() for part in logs])
        self.places = np.flatnonzero(flat > -np.inf)
        self.start = flat[self.places]

    def vector(self, operators):
        """Return the vector of operators; the inverse of `operators`."""
        flat = np.concatenate([part.ravel() for part in operators])
        return np.log(np.maximum(flat[self.places], np.finfo(float).tiny))

    def operators(self, vector):
        """Return the operators of a vector; the unknown modifier has the sum of all others."""
        flat = np.zeros(sum(map(np.prod, self.shapes)))
        flat[self.places] = np.exp(vector)
        parts = np.split(flat, np.cumsum([np.prod(shape) for shape in self.shapes])[:-1])
        operators = Operators(*map(np.reshape, parts, self.shapes))
        operators.A[:, :, -1] = operators.A[:, :, :-1].sum(axis=2)
        return operators

    def gradient(self, operators, uses):
        """Compute the gradient by the vector from `uses`, the derivatives by all logarithms."""
        A, of_A = operators.A, uses.A.copy()
        total = A[:, :, -1:]
        of_sum = np.divide(of_A[:, :, -1:], total, out=np.zeros_like(total), where=total > 0)
        of_A[:, :, :-1] += A[:, :, :-1] * of_sum
        flat = np.concatenate([part.ravel() for part in (uses.alpha_1, uses.alpha_inf, of_A)])
        return flat[self.places]


def _objective(space, free, known, weights, alpha, vector, *, n_jobs, losses):
    """Compute the penalised loss and its gradient; the mean loss is appended to `losses`."""
    operators = space.operators(vector)
    of_sentences, uses = grammar_loss(pack_grammar(operators), free, known, weights, n_jobs)
    counted = weights > 0
    loss, moved = weights[counted] @ of_sentences[counted], vector - space.start
    losses.append(float(loss / weights.sum()))
    value = loss + alpha / 2 * (moved @ moved)
    return value, space.gradient(operators, uses) + alpha * moved


def _with_equal_weights(estimator, symbols):
    """Fit deterministic automata so that all possible transitions have the same weight.

    Transitions are found by a fit of all sequences of up to two modifiers, smoothed to all heads.
    """
    head = symbols[0]
    right = [[], *([one] for one in symbols), *([one, two] for one in symbols for two in symbols)]
    sentences = [[head, *each] for each in right] + [[*each[::-1], head] for each in right]
    trees = [[0] + [1] * len(each) for each in right]
    trees += [[len(each) + 1] * len(each) + [0] for each in right]
    sentences += [[one] for one in symbols]
    trees += [[0] for _ in symbols]
    estimator.set_params(smoothing=1.0).fit(sentences, trees)
    parts = zip(estimator.operators_, SMALLEST, strict=True)
    estimator.operators_ = Operators(*((part > least).astype(float) for part, least in parts))
    return estimator
