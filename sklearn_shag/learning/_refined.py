"""Hidden refinements of symbols, learned by expectation maximisation on trees."""

from numbers import Integral, Real
from typing import Literal, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from sklearn_shag.encoding import decode_trees
from sklearn_shag.learning._base import Learned, TreeLearner
from sklearn_shag.learning._derivations import Refined, expect_uses, fold_trees, tree_logs
from sklearn_shag.learning._em import EMSHAG
from sklearn_shag.operators import (
    Operators,
    RefinedOperators,
    moves_of,
    root_masses,
    sample_derivations,
    unfold,
)
from sklearn_shag.parsing import Potentials, Scored, pack_grammar, pack_refined
from sklearn_shag.utils._estimators import keep
from sklearn_shag.utils._parallel import progress
from sklearn_shag.utils._param_validation import LARGEST, LARGEST_COUNT, Interval, StrOptions
from sklearn_shag.utils._typing import FloatArray, RandomSeed

# Of the probability of modifiers that a head was never seen with, beside that of the pool.
UNSEEN = 1e-7
NOISE = 0.02  # by which the two halves of a refinement differ at first
TINY = np.finfo(float).tiny


def start_unrefined(operators, pairs):
    """Make the parameters of one refinement of a grammar without them, for blocks that occur."""
    heads, directions, modifiers = pairs.T
    moves = operators.A[heads, directions, modifiers].swapaxes(1, 2)[:, None, ..., None]
    starts, stops = (part[:-2, ..., None] for part in operators[:2])
    return Refined(starts, stops, moves, root_masses(operators)[:, None])


def split(refined, uses, pairs, n_refinements, rng):
    """Split refinements into two that differ a little: all, or those most used, up to a number.

    Parameters
    ----------
    refined, uses : Refined
    pairs : int ndarray of shape (n_blocks, 3)
        Head, direction and modifier of the blocks.
    n_refinements : int
        More than there are, and twice as many at most.
    rng : RandomState

    Returns
    -------
    refined : Refined
    """
    n_symbols, k = refined.roots.shape
    most_used = uses.starts.sum(axis=(1, 2)).argsort(axis=1, kind="stable")[:, ::-1]
    # Every refinement and, once more, those that are split.
    every = np.tile(np.arange(k), (n_symbols, 1))
    parents = np.concatenate([every, most_used[:, : n_refinements - k]], axis=1)
    n_parts = np.stack([np.bincount(row, minlength=k) for row in parents])
    shares = 1.0 / np.take_along_axis(n_parts, parents, axis=1)
    heads, _, modifiers = pairs.T

    def take(values, of_symbols, axis):
        shape = [1] * values.ndim
        shape[0], shape[axis] = len(values), n_refinements
        return np.take_along_axis(values, parents[of_symbols].reshape(shape), axis=axis)

    starts, stops = (take(part, slice(None), 3) for part in refined[:2])
    moves = take(take(refined.moves, modifiers, 1), heads, 4)
    moves *= shares[modifiers][:, :, None, None, None]
    # The same for all states: the first iterations tell refinements apart, not states.
    moves *= 1.0 + NOISE * rng.uniform(-1.0, 1.0, (len(pairs), n_refinements, 1, 1, n_refinements))
    roots = take(refined.roots, slice(None), 1) * shares
    roots *= 1.0 + NOISE * rng.uniform(-1.0, 1.0, roots.shape)
    return maximise(Refined(starts, stops, moves, roots), pairs)


def maximise(uses, pairs, smoothing=0.0, mixing=0.0):
    """Estimate parameters from their uses: the M step, with what they have in common added.

    Parameters
    ----------
    uses : Refined
    pairs : int ndarray of shape (n_blocks, 3)
        Head, direction and modifier of the blocks.
    smoothing : float
        How many events of the head without refinements each refinement sees beside its own.
    mixing : float
        The share of the mean over refinements in each.

    Returns
    -------
    refined : Refined
    """
    n_states, k = uses.starts.shape[2:]
    starts, stops = (part.reshape(-1, n_states, k) for part in (uses.starts, uses.stops))
    owners = 2 * pairs[:, 0] + pairs[:, 1]
    leaving = stops.copy()
    np.add.at(leaving, owners, uses.moves.sum(axis=(1, 3)))

    def estimate(events, total):
        shared = events.sum(axis=-1, keepdims=True) / np.maximum(total.sum(-1, keepdims=True), TINY)
        estimates = (events + smoothing * shared) / np.maximum(total + smoothing, TINY)
        estimates *= 1.0 - mixing
        estimates += mixing / (1.0 - mixing) * estimates.mean(axis=-1, keepdims=True)
        return estimates

    stops = estimate(stops, leaving)
    stops[leaving.sum(axis=-1) <= 0] = 1.0  # a state that nothing leads to
    starts = estimate(starts, starts.sum(axis=1, keepdims=True))
    moves = estimate(uses.moves, leaving[owners][:, None, :, None])
    return Refined(
        starts.reshape(uses.starts.shape),
        stops.reshape(uses.stops.shape),
        moves,
        uses.roots / uses.roots.sum(),
    )


def complete(refined, uses, pairs, unrefined):
    """Make a grammar of parameters: with the unknown head, and modifiers that heads never had.

    Parameters
    ----------
    refined, uses : Refined
        Parameters, and how often about they are used: it tells how common refinements are.
    pairs : int ndarray of shape (n_blocks, 3)
        Head, direction and modifier of the blocks.
    unrefined : Operators
        Of the grammar without refinements, whose unknown head is the pool of all.

    Returns
    -------
    operators : RefinedOperators
    """
    n_symbols, k = refined.roots.shape
    heads, directions, modifiers = pairs.T
    common = uses.roots.copy()
    np.add.at(common, modifiers, uses.moves.sum(axis=(2, 3, 4)))
    common /= np.maximum(common.sum(axis=1, keepdims=True), TINY)
    # By direction and modifier: its refinement, state before and after, refinement of the head.
    pool = unrefined.A[n_symbols, :, :n_symbols].swapaxes(2, 3)[:, :, None, :, :, None]
    pool = pool * common[:, :, None, None, None] * np.ones(k)
    places = np.arange(2 * n_symbols).reshape(2, n_symbols)
    blocks = np.tile(places, (n_symbols + 1, 1, 1))
    is_unseen = np.ones(blocks.shape, dtype=bool)
    blocks[heads, directions, modifiers] = 2 * n_symbols + np.arange(len(pairs))
    is_unseen[heads, directions, modifiers] = False
    # Of all that a known head does, in each state, so much is left for what was seen.
    mass = UNSEEN * np.einsum("hdm,dmgvuk->hdvk", is_unseen[:-1], pool)
    seen = 1.0 - mass
    moves = refined.moves * seen[heads, directions][:, None, :, None]
    backoff = np.full((n_symbols + 1, *seen.shape[1:]), UNSEEN)
    backoff[-1] = 1.0
    is_first = np.arange(k) == 0
    of_unknown = [part[n_symbols, ..., None] * is_first for part in unrefined[:2]]
    return RefinedOperators(
        np.concatenate([refined.starts, of_unknown[0][None]]),
        np.concatenate([refined.stops * seen, of_unknown[1][None]]),
        np.concatenate([pool.reshape(-1, *pool.shape[2:]), moves]),
        blocks,
        backoff,
        refined.roots,
    )


def parameters_of(operators, pairs):
    """Take the parameters of pairs of heads and modifiers, which may be unknown, from a grammar."""
    heads, directions, modifiers = pairs.T
    known = np.minimum(modifiers, len(operators.roots) - 1)
    blocks = operators.blocks[heads, directions, known]
    moves = operators.A[blocks]
    shared = blocks < 2 * len(operators.roots)
    moves[shared] *= operators.backoff[heads[shared], directions[shared]][:, None, :, None]
    unknown = np.flatnonzero(modifiers != known)
    if unknown.size:
        moves[unknown, 1:] = 0.0
        every = moves_of(operators).sum(axis=(2, 3))
        moves[unknown, 0] = every[heads[unknown], directions[unknown]]
    roots = np.vstack([operators.roots, operators.roots.sum() * (np.arange(moves.shape[1]) == 0)])
    return Refined(operators.alpha_1, operators.alpha_inf, moves, roots)


class RefinedSHAG(TreeLearner):
    """Split head-automata grammar with hidden relations: symbols have hidden refinements.

    Hidden states pass information along the modifiers of one head. Here every token has, beside its
    symbol, a hidden refinement of it, on which the automata on both its sides depend and which its
    own head sees: so information passes from a head to the modifiers of its modifiers, too. A verb
    with a subject is not the same to its head as one without. It is the grammar with latent
    variables of constituents, on dependency trees, with hidden states beside them.

    Parameters
    ----------
    n_states : int, default=4
        Number of hidden states of each automaton.
    n_refinements : int, default=16
        Number of hidden refinements of each symbol; 1 for none.
    init : {"moments", "random", "deterministic"} or Operators, default="moments"
        Where the grammar without refinements starts, as in :class:`EMSHAG`. From there refinements
        are split in two, again and again.
    smoothing : float, default=5.0
        How many events of the head without refinements each refinement sees beside its own, in
        each state. 0, and `mixing` at 0, is maximum likelihood.
    mixing : float, default=0.05
        The share of the mean over the refinements of a head in each of them, in [0, 1).
    max_iter : int, default=15
        Largest number of EM iterations after each split. Many more overfit.
    tol : float, default=0.0
        Iterations after a split end when one raises the log likelihood by no more than this per
        sentence, in nats. Smoothed iterations may also lower it.
    n_init : int, default=1
        Number of runs, which differ in how refinements are split; the one with the best likelihood
        is kept. To average some parses better: see :class:`AveragedSHAG`.
    prune : float, default=0.001
        In `predict`, `predict_marginals` and `parse`, arcs that are less probable than this under
        the grammar without refinements are left out, but for those of its best tree. It is several
        times as fast and about as good; 0 is exact. Likelihoods are exact always.
    warm_start : bool, default=False
        Whether EM goes on from the refinements of the previous `fit`, if there was one, and splits
        them further if `n_refinements` has been raised. The symbols must be the same.
    decoder : {"mbr", "max_marginal", "mst"}, default="mbr"
        How trees are chosen: by the largest sum of log marginals (eq. 14 of the paper), the largest
        sum of marginals (the expected number of right arcs), or as by "mbr" of all trees, with arcs
        that may cross.
    random_state : int, RandomState instance or None, default=None
        Seeds the start and the splits.
    n_jobs : int or None, default=None
        Number of joblib workers, for the grammar without refinements over heads and directions, for
        parsing over chunks of sentences.
    verbose : int, default=0
        1 shows progress bars, on standard error, for work that takes more than two seconds, 2 for
        all.

    Attributes
    ----------
    symbols_ : ndarray of shape (n_symbols,), dtype object
        Known symbols (str), sorted; the code of each is its position.
    labels_ : ndarray of shape (n_labels,), dtype object
        Known relations of arcs (str), sorted; empty if the training trees had none.
    label_counts_ : LabelCounts
        How often arcs had which of them, by the symbols at both ends and the direction.
    operators_ : Operators
        The grammar without refinements, as of :class:`EMSHAG`.
    refined_operators_ : RefinedOperators
        The grammar with refinements.
    stages_ : list of RefinedOperators
        Those with fewer refinements that were on the way, from 1 on, and the last.
    fallback_operators_ : Operators
        A grammar of one state without zeros, for sentences that the others give no mass.
    log_likelihoods_ : ndarray of shape (n_iter_ + 1,)
        Log likelihood, in nats, of the training trees after 0, 1, ... iterations.
    n_iter_ : int
        Number of iterations, over all splits.

    See Also
    --------
    EMSHAG : Hidden states alone.
    AveragedSHAG : Averages grammars that were split in different ways.
    ProductSHAG : Multiplies it with a grammar of words.

    Notes
    -----
    Theory, eqs. 70-80. Equal parts of trees are visited once an iteration. With k refinements and n
    states a chart takes O(k^2 n N^3 + k^2 n^2 N^2) time for a sentence of N tokens of which no arcs
    are pruned, and O(k^2 n N^2) memory.

    References
    ----------
    Luque, Quattoni, Balle and Carreras (2012), sec. 6, name vertical hidden relations as future
    work. Musillo and Merlo (2008), Unlexicalised Hidden Variable Models of Split Dependency
    Grammars. Petrov, Barrett, Thibaux and Klein (2006), Learning Accurate, Compact, and
    Interpretable Tree Annotation.

    Examples
    --------
    >>> from sklearn_shag import RefinedSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> trees = load_english().data
    >>> model = RefinedSHAG(n_refinements=4, random_state=0).fit(trees[:300])
    >>> round(model.score(trees[300:]), 2)
    0.84
    """

    _parameter_constraints = {
        **TreeLearner._parameter_constraints,
        "n_states": [Interval(Integral, 1, LARGEST_COUNT, closed="both")],
        "n_refinements": [Interval(Integral, 1, LARGEST_COUNT, closed="both")],
        "init": [StrOptions({"random", "moments", "deterministic"}), Operators],
        "smoothing": [Interval(Real, 0, LARGEST, closed="both")],
        "mixing": [Interval(Real, 0, 1, closed="left")],
        "max_iter": [Interval(Integral, 0, LARGEST_COUNT, closed="both")],
        "tol": [Interval(Real, 0, LARGEST, closed="both")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "prune": [Interval(Real, 0, 1, closed="left")],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
    }
    _parsing_parameters = (*TreeLearner._parsing_parameters, "prune")

    refined_operators_: RefinedOperators
    stages_: list[RefinedOperators]
    log_likelihoods_: FloatArray
    n_iter_: int

    def __init__(
        self,
        n_states: int = 4,
        n_refinements: int = 16,
        *,
        init: Literal["random", "moments", "deterministic"] | Operators = "moments",
        smoothing: float = 5.0,
        mixing: float = 0.05,
        max_iter: int = 15,
        tol: float = 0.0,
        n_init: int = 1,
        prune: float = 1e-3,
        warm_start: bool = False,
        decoder: Literal["mbr", "max_marginal", "mst"] = "mbr",
        random_state: RandomSeed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_states = n_states
        self.n_refinements = n_refinements
        self.init = init
        self.smoothing = smoothing
        self.mixing = mixing
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.prune = prune
        self.warm_start = warm_start
        self.decoder = decoder
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def truncate(self, n_refinements: int) -> Self:
        """Take the grammar with fewer refinements that was on the way to this one.

        Parameters
        ----------
        n_refinements : int
            As many as one of `stages_` has.

        Returns
        -------
        model : RefinedSHAG
            A fitted copy that parses with that grammar.

        Raises
        ------
        ValueError
            If none has so many.
        """
        self._check_ready()
        sizes = [stage.roots.shape[1] for stage in self.stages_]
        if n_refinements not in sizes:
            raise ValueError(
                f"There is no grammar with {n_refinements} refinements on the way to this one, but "
                f"with {', '.join(map(str, sizes))}."
            )
        stages = self.stages_[: sizes.index(n_refinements) + 1]
        model = clone(self).set_params(n_refinements=n_refinements)
        fitted = {name: value for name, value in vars(self).items() if name.endswith("_")}
        vars(model).update(fitted, stages_=stages, refined_operators_=stages[-1])
        return model

    def _learn_operators(self, statistics, trees, sequences):
        rng = check_random_state(self.random_state)
        graph = fold_trees(trees.codes, trees.heads, trees.indptr, trees.symbols.size)
        if self.warm_start and hasattr(self, "refined_operators_"):
            unrefined, stages = self._go_on(statistics.symbols), self.stages_[:-1]
            start = parameters_of(self.refined_operators_, graph.pairs)
            start = maximise(start._replace(
                starts=start.starts[:-1], stops=start.stops[:-1], roots=start.roots[:-1]
            ), graph.pairs)
        else:
            em = EMSHAG(self.n_states, init=self.init, smoothing=1.0, random_state=rng)
            em.set_params(n_jobs=self.n_jobs, verbose=self.verbose)
            (unrefined, _), stages = em._run_em(statistics, sequences), []
            start = maximise(start_unrefined(unrefined, graph.pairs), graph.pairs)
        runs = [self._refine(graph, trees.weights, start, unrefined, rng) for _ in range(self.n_init)]
        found, curve = max(runs, key=lambda run: run[1][-1])
        stages = [*stages, *found]
        attributes = {
            "refined_operators_": stages[-1],
            "stages_": stages,
            "log_likelihoods_": np.array(curve),
            "n_iter_": len(curve) - 1,
        }
        return Learned(unrefined, attributes)

    def _refine(self, graph, weights, refined, unrefined, rng):
        """Split and climb; return the grammars on the way, and the log likelihoods."""
        pairs, stages, k = graph.pairs, [], refined.roots.shape[1]
        n_rounds = int(np.ceil(np.log2(max(self.n_refinements / k, 1)))) + (k > 1)
        uses, log_likelihood = expect_uses(graph, refined, weights)
        curve = [log_likelihood]
        n_steps = n_rounds * self.max_iter
        with progress("Refining", n_steps, "iterations", self.verbose) as advance:
            while True:
                n_iter = self.max_iter if refined.roots.shape[1] > 1 else 0
                for _ in range(n_iter):
                    refined = maximise(uses, pairs, self.smoothing, self.mixing)
                    uses, log_likelihood = expect_uses(graph, refined, weights)
                    curve.append(log_likelihood)
                    advance()
                    if abs(curve[-1] - curve[-2]) <= self.tol * weights.sum():
                        break
                stages.append(complete(refined, uses, pairs, unrefined))
                k = refined.roots.shape[1]
                if k >= self.n_refinements:
                    return stages, curve
                refined = split(refined, uses, pairs, min(2 * k, self.n_refinements), rng)
                uses, _ = expect_uses(graph, refined, weights)

    def _score(self, batch, rung=0):
        """First with refinements, then without, and last by the fallback."""
        if rung:
            return super()._score(batch, rung - 1)
        parts = self.refined_operators_, self.operators_
        grammar, potentials = keep(self, parts, _pack), Potentials(batch.indptr, batch.codes)
        return Scored(grammar, potentials, self._labeller(batch), prune=self.prune)

    def _score_trees(self, batch, heads):
        graph = fold_trees(
            batch.codes, np.concatenate(heads), batch.indptr, len(self.symbols_) + 1
        )
        logs = tree_logs(graph, parameters_of(self.refined_operators_, graph.pairs))
        return np.sign(np.exp(logs)), logs

    def _draw(self, n_samples, max_length, rng):
        codes, heads, indptr = sample_derivations(
            unfold(self.refined_operators_), n_samples, max_length, rng
        )
        return decode_trees(self.symbols_, codes // self.refined_operators_.roots.shape[1], heads, indptr)


def _pack(refined, operators):
    return pack_refined(refined, pack_grammar(operators))
