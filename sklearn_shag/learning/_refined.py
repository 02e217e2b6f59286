"""Grammars whose symbols have hidden refinements, which are split and estimated by EM."""

from __future__ import annotations

from copy import copy
from functools import partial
from itertools import compress
from numbers import Integral, Real
from typing import Literal, NamedTuple, Self
from warnings import catch_warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from sklearn_shag._parser import Parser
from sklearn_shag.automata import Expected, climb_to_the_end
from sklearn_shag.encoding import arcs_of_heads, decode_trees, encode_trees, places_of
from sklearn_shag.learning._automata import fallback_grammar
from sklearn_shag.learning._base import GenerativeMixin, OperatorMixin
from sklearn_shag.learning._derivations import (
    TreebankGraph,
    expect_uses,
    fold_trees,
    token_posteriors,
    tree_logs,
)
from sklearn_shag.learning._em import EMSHAG, HiddenStatesMixin, learn_by_em
from sklearn_shag.operators import (
    Operators,
    RefinedGrammar,
    RefinedOperators,
    back_off,
    count_refinements,
    extend,
    sample_derivations,
    start_unrefined,
    unfold,
)
from sklearn_shag.parsing import (
    Potentials,
    Scored,
    chart,
    has_projective_completion,
    keep_known,
    pack_grammar,
    pack_refined,
)
from sklearn_shag.sequences import count_labels, count_trees, sequences_of
from sklearn_shag.treebank import Heads, Sentences, UnknownSymbolWarning, arcs_left_by
from sklearn_shag.utils._arrays import TINY, divide_by_sum
from sklearn_shag.utils._estimators import check_same_symbols, keep
from sklearn_shag.utils._heads import UNKNOWN
from sklearn_shag.utils._messages import warn
from sklearn_shag.utils._parallel import progress
from sklearn_shag.utils._param_validation import LARGEST_COUNT, Interval, fit_context
from sklearn_shag.utils._typing import ArrayLike, RandomSeed

NOISE = 0.02  # relative difference between the halves of a refinement at first
# Symbols with fewer modifiers per token than this share of the average get a few refinements at
# most: function words, punctuation. On development sets this costs no accuracy.
FEW_MODIFIERS, FEW_REFINEMENTS = 0.2, 4
FOLDED_CHUNK = 200  # sentences folded by token at a time: each takes kilobytes


def estimate_refined(uses, unrefined, pairs, smoothing=0.0, mixing=0.0):
    """Estimate operators from their uses: the M step (theory, eq. 52).

    Parameters
    ----------
    uses : RefinedOperators
    unrefined : Operators
        Operators of the grammar without refinements.
    pairs : int ndarray of shape (n_blocks, 3)
        Head, direction and modifier of the blocks, sorted.
    smoothing : float
        Number of events added to each refinement of a head, in each state: this many from all its
        refinements together, and as many from the grammar without refinements.
    mixing : float
        The share of the mean over refinements in each.

    Returns
    -------
    refined : RefinedOperators
    """
    common = divide_by_sum(uses.common, axis=1)
    leaving = uses.alpha_inf + sum_blocks(uses.A, pairs, uses.alpha_inf.shape)

    is_used = uses.common > 0

    def estimate(events, total, of_unrefined, heads=slice(None)):
        shared = events.sum(axis=-1, keepdims=True)
        shared = shared / np.maximum(total.sum(axis=-1, keepdims=True), TINY) + of_unrefined
        estimates = events + smoothing * shared
        estimates *= (1.0 - mixing) / np.maximum(total + 2.0 * smoothing, TINY)
        mean = np.einsum("i...h,ih->i...", estimates, divide_by_sum(is_used[heads], axis=1))
        estimates += mixing / (1.0 - mixing) * mean[..., None]
        return estimates

    starting = uses.alpha_1.sum(axis=2, keepdims=True)
    alpha_1 = estimate(uses.alpha_1, starting, unrefined.alpha_1[:-2, ..., None])
    alpha_inf = estimate(uses.alpha_inf, leaving, unrefined.alpha_inf[:-2, ..., None])
    if not smoothing:
        alpha_inf[leaving <= 0] = 1.0  # states that are never reached
    of_heads = leaving[pairs[:, 0], pairs[:, 1], None, :, None]
    return RefinedOperators(
        divide_by_sum(alpha_1, axis=2),  # to be proper for heads without any
        alpha_inf,
        estimate(uses.A, of_heads, back_off(unrefined, common, pairs), pairs[:, 0]),
        uses.blocks,
        estimate(np.zeros_like(leaving), leaving, 1.0),
        common,
        uses.roots / uses.roots.sum(),
    )


def sum_blocks(moves, pairs, shape):
    """Sum moves over modifiers and next states: continuations by head, side, state, refinement."""
    total = np.zeros(shape)
    np.add.at(total, (pairs[:, 0], pairs[:, 1]), moves.sum(axis=(1, 3)))
    return total


def limit_refinements(uses, pairs, n_refinements):
    """Compute the largest number of refinements of each symbol, (n_symbols,)."""
    n_tokens = uses.common.sum(axis=1)
    n_modifiers = np.bincount(pairs[:, 0], uses.A.sum(axis=(1, 2, 3, 4)), n_tokens.size)
    is_bare = n_modifiers < FEW_MODIFIERS * n_modifiers.sum() / n_tokens.sum() * n_tokens
    limits = np.where(is_bare, np.minimum(FEW_REFINEMENTS, n_refinements), n_refinements)
    return np.maximum(limits, count_refinements(uses, pairs))  # there may be more from a warm start


def split_refinements(refined, uses, pairs, sizes, rng):
    """Split refinements into slightly different halves, the most used first, up to a number.

    A symbol that has fewer refinements than others has no mass for the rest.

    Parameters
    ----------
    refined, uses : RefinedOperators
    pairs : int ndarray of shape (n_blocks, 3)
        Head, direction and modifier of the blocks.
    sizes : int ndarray of shape (n_symbols,)
        Number of refinements of each symbol: from the present number to twice that.
    rng : RandomState

    Returns
    -------
    refined : RefinedOperators
    """
    (n_symbols, k), n_refinements = refined.roots.shape, sizes.max()
    most_used = uses.common.argsort(axis=1, kind="stable")[:, ::-1]
    # Every refinement once, and the split ones once more.
    every = np.tile(np.arange(k), (n_symbols, 1))
    parents = np.concatenate([every, most_used[:, : n_refinements - k]], axis=1)
    is_used = np.arange(n_refinements) < sizes[:, None]
    n_parts = np.stack(list(map(partial(np.bincount, minlength=k), parents, is_used)))
    shares = is_used / np.maximum(np.take_along_axis(n_parts, parents, axis=1), 1)

    def take(values, axis, of_symbols=slice(None)):
        shape = [1] * values.ndim
        shape[0], shape[axis] = len(values), n_refinements
        return np.take_along_axis(values, parents[of_symbols].reshape(shape), axis=axis)

    alpha_1, alpha_inf, backoff = (
        take(part, 3) for part in (refined.alpha_1, refined.alpha_inf, refined.backoff)
    )
    common, roots = (take(part, 1) * shares for part in (refined.common, refined.roots))
    moves = take(take(refined.A, 1, pairs[:, 2]), 4, pairs[:, 0])
    moves *= shares[pairs[:, 2]][:, :, None, None, None]
    total = sum_blocks(moves, pairs, alpha_1.shape)
    # One noise for all states: the first iterations tell refinements apart, not states.
    moves *= 1.0 + NOISE * rng.uniform(-1.0, 1.0, (len(pairs), n_refinements, 1, 1, n_refinements))
    ratio = total / np.maximum(sum_blocks(moves, pairs, alpha_1.shape), TINY)
    moves *= ratio[pairs[:, 0], pairs[:, 1], None, :, None]
    roots = divide_by_sum(roots * (1.0 + NOISE * rng.uniform(-1.0, 1.0, roots.shape)), axis=None)
    return RefinedOperators(alpha_1, alpha_inf, moves, refined.blocks, backoff, common, roots)


class FoldedTreebank(NamedTuple):
    """Folded trees, and potentials of partial trees, to learn refinements from."""

    graph: TreebankGraph  # of whole trees
    weights: np.ndarray  # of whole trees
    partial: Potentials | None  # of partial trees, with the arcs that fit their known heads
    partial_weights: np.ndarray
    n_jobs: int | None


def expect_all_uses(treebank, unrefined, refined):
    """The E step: over derivations of whole trees, and over trees that have the known heads.

    Parameters
    ----------
    treebank : FoldedTreebank
    unrefined : Operators
    refined : RefinedOperators

    Returns
    -------
    expected : Expected
        Its counts are RefinedOperators.
    """
    uses, log_likelihood = expect_uses(treebank.graph, refined, treebank.weights)
    if treebank.partial is not None:
        results = chart(
            RefinedGrammar(refined, unrefined),
            treebank.partial,
            marginals=False,
            counts=True,
            sample_weight=treebank.partial_weights,
            n_jobs=treebank.n_jobs,
        )
        uses = RefinedOperators(*map(np.add, uses, results.counts))._replace(blocks=refined.blocks)
        log_likelihood += treebank.partial_weights @ results.log_abs_z
    return Expected(uses, log_likelihood, log_likelihood)


def refine_grammar(
    treebank, refined, unrefined, n_refinements, rng, *, max_iter, tol, advance, **smoothing
):
    """Split refinements repeatedly, with EM after each split.

    Parameters
    ----------
    treebank : FoldedTreebank
    refined : RefinedOperators
        The start; EM comes before the first split if it has several refinements.
    unrefined : Operators
    n_refinements : int
    rng : RandomState
    max_iter, tol
        As of :class:`RefinedSHAG`.
    advance : callable
        Is called after each E step.
    **smoothing
        `smoothing` and `mixing`.

    Returns
    -------
    stages : list of RefinedOperators
        Operators after the EM of each number of refinements.
    log_likelihoods : list of float
        After 0, 1, ... iterations.
    """
    pairs = treebank.graph.pairs
    expect = partial(expect_all_uses, treebank, unrefined)
    maximise = partial(estimate_refined, unrefined=unrefined, pairs=pairs, **smoothing)
    n_samples = treebank.weights.sum() + treebank.partial_weights.sum()
    limits = {"tol": tol, "n_samples": n_samples, "advance": advance, "may_fall": True}
    stages, curve = [], []
    while True:
        k = refined.roots.shape[1]
        limits["max_iter"] = max_iter if k > 1 else 0
        ended = climb_to_the_end(refined, expect, maximise, **limits)
        curve += ended.log_likelihoods[len(stages) > 0 :]  # a split is no iteration
        stages.append(ended.parameters)
        if k >= n_refinements:
            return stages, curve
        uses = ended.expected.counts
        sizes = limit_refinements(uses, pairs, n_refinements)
        refined = split_refinements(stages[-1], uses, pairs, np.minimum(sizes, 2 * k), rng)


class RefinedSHAG(HiddenStatesMixin, OperatorMixin, GenerativeMixin, Parser):
    """Split head-automata grammar whose symbols have hidden refinements.

    Hidden states pass information along the modifiers of one head. Here, every token also has a
    hidden refinement of its symbol. The automata on both its sides depend on it, and its own head
    sees it, so information also passes from a head to the modifiers of its modifiers. For example,
    a verb with a subject looks different to its head from one without. The model applies the
    latent-variable grammars of constituents to dependency trees, in addition to hidden states.

    Parameters
    ----------
    n_states : int, default=4
        Number of hidden states of each automaton.
    n_refinements : int, default=16
        Number of hidden refinements of each symbol; 1 for none. Symbols that take few modifiers (a
        fifth of the average or less) get at most 4.
    init : {"moments", "random", "deterministic"} or Operators, default="moments"
        Where EM for the grammar without refinements starts, as in :class:`EMSHAG`. From there,
        refinements are repeatedly split in two.
    smoothing : float, default=4.0
        Number of events to add to those of each refinement of a head, in each state: this many
        from all its refinements together, and as many from the grammar without refinements. If
        both this and `mixing` are 0, it is maximum likelihood, and heads take only modifiers with
        which they were seen.
    mixing : float, default=0.02
        Share, in [0, 1), of the mean over the refinements of a head in each of them.
    max_iter : int, default=15
        Maximum number of EM iterations after each split. Many more overfit.
    tol : float, default=0.0
        Iterations after a split end when one changes the log likelihood by no more than this per
        sentence, in nats. Smoothed iterations may also lower it.
    n_init : int, default=1
        Number of runs, which differ in how refinements are split; the one with the best likelihood
        is kept. Averaging several runs parses better; see :class:`AveragedParser`.
    prune : float, default=0.0003
        In `predict`, `predict_marginals` and `parse`, arcs that are less probable than this under
        the grammar without refinements are left out, except those of its best tree. This is several
        times as fast and about as good; 0 is exact. Likelihoods are always exact.
    warm_start : bool, default=False
        Whether EM continues from the refinements of the previous `fit`, if there was one, and
        splits them further if `n_refinements` has been raised. The symbols must be the same.
    decoder : {"mbr", "max_marginal", "mst"}, default="mbr"
        How trees are chosen. "mbr" maximises the sum of log marginals (eq. 14 of the paper), and
        "max_marginal" the sum of marginals (the expected number of correct arcs). "mst" is like
        "mbr", but its trees may have crossing arcs.
    random_state : int, RandomState instance or None, default=None
        Seeds the start and the splits.
    max_tokens : None or int, default=None
        Maximum number of tokens in a sentence to parse; longer ones raise an error. Time grows with
        the cube of the length, memory with its square: 1,000 tokens take seconds and up to 0.8 GB.
    n_jobs : int or None, default=None
        Number of joblib workers. Learning the grammar without refinements is split over heads and
        directions, parsing over chunks of sentences.
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
        The grammar without refinements, as in :class:`EMSHAG`.
    refined_operators_ : RefinedOperators
        The grammar with refinements.
    stages_ : list of RefinedOperators
        The intermediate grammars with fewer refinements, starting with 1.
    fallback_operators_ : Operators
        A one-state grammar without zeros, for sentences to which the others give no mass.
    loss_curve_ : list of float
        Minus the log likelihood, in nats, of the training trees after 0, 1, ..., `n_iter_`
        iterations.
    n_iter_ : int
        Number of iterations over all splits.

    See Also
    --------
    EMSHAG : Learns hidden states alone.
    AveragedParser : Averages grammars that were split in different ways.
    ProductParser : Multiplies it with a grammar of words.

    Notes
    -----
    See theory, eqs. 49-59. Each iteration visits equal parts of trees only once. With k refinements
    and n states, the chart of a sentence of N tokens needs O(k^2 n N^2) memory. If no arcs are
    pruned, it takes O(k^2 n N^3 + k^2 n^2 N^2) time.

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
    0.85
    """

    _parameter_constraints = {
        **Parser._parameter_constraints,
        **HiddenStatesMixin._parameter_constraints,
        "n_refinements": [Interval(Integral, 1, LARGEST_COUNT, closed="both")],
        "mixing": [Interval(Real, 0, 1, closed="left")],
        "prune": [Interval(Real, 0, 1, closed="left")],
    }
    _needs_whole_trees = None  # unknown heads are summed over
    _parsing_parameters = (*Parser._parsing_parameters, "prune")

    refined_operators_: RefinedOperators
    stages_: list[RefinedOperators]
    loss_curve_: list[float]
    n_iter_: int

    def __init__(
        self,
        n_states: int = 4,
        n_refinements: int = 16,
        *,
        init: Literal["random", "moments", "deterministic"] | Operators = "moments",
        smoothing: float = 4.0,
        mixing: float = 0.02,
        max_iter: int = 15,
        tol: float = 0.0,
        n_init: int = 1,
        prune: float = 3e-4,
        warm_start: bool = False,
        decoder: Literal["mbr", "max_marginal", "mst"] = "mbr",
        random_state: RandomSeed = None,
        max_tokens: int | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_states=n_states,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            smoothing=smoothing,
            warm_start=warm_start,
            random_state=random_state,
            decoder=decoder,
            max_tokens=max_tokens,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.n_refinements = n_refinements
        self.mixing = mixing
        self.prune = prune

    def truncate(self, n_refinements: int) -> Self:
        """Return a copy that uses an intermediate grammar with fewer refinements.

        Parameters
        ----------
        n_refinements : int
            Number of refinements of one of `stages_` or of the grammar itself.

        Returns
        -------
        model : RefinedSHAG
            A fitted copy that parses with that grammar.

        Raises
        ------
        ValueError
            If no grammar has that number.
        """
        self._check_ready()
        stages = [*self.stages_, self.refined_operators_]
        sizes = [stage.roots.shape[1] for stage in stages]
        if n_refinements not in sizes:
            raise ValueError(
                f"No intermediate grammar has {n_refinements} refinements. Choose one with "
                f"{', '.join(map(str, sizes))}."
            )
        place = sizes.index(n_refinements)
        model = copy(self).set_params(n_refinements=n_refinements)
        vars(model).update(stages_=stages[:place], refined_operators_=stages[place])
        return model

    @fit_context
    def fit(
        self, X: Sentences, y: Heads | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn automata from trees, and split the refinements of their symbols.

        Parameters
        ----------
        X : sequence of length n_sentences
            ``X[i]`` is a DependencyTree or a sequence of n_tokens_i symbols (str).
        y : None or sequence of length n_sentences, default=None
            ``y[i]`` holds n_tokens_i heads (1-based, 0 for the root, -1 if unknown) or is a
            DependencyTree. None uses the heads of the trees in X. Non-projective trees and trees
            with several roots count like any other. For a partial tree, all projective trees with
            the known heads count according to their probability. Sentences without known heads are
            left out.
        sample_weight : None or array-like of shape (n_sentences,), default=None
            Weight of each sentence; 0 leaves it out.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If X is empty, a sentence has no tokens, heads are missing or not a tree, no tree is
            complete, weights are negative or all zero, or a parameter is invalid. The message names
            the sentence.
        TypeError
            If symbols are not strings.

        Warns
        -----
        UserWarning
            If sentences are left out because no projective tree with one root has their heads.
        """
        self._check_parsing()
        trees, rng = _encode_learnable(X, y, sample_weight), check_random_state(self.random_state)
        em = EMSHAG(self.n_states, init="moments", smoothing=1.0, random_state=rng)
        em.set_params(n_jobs=self.n_jobs, verbose=self.verbose)
        completed = trees._replace(heads=_complete_trees(trees, em))
        treebank = _fold_treebank(trees, completed.heads, self.n_jobs)
        pairs, sequences = treebank.graph.pairs, sequences_of(completed)
        statistics = count_trees(completed, sequences)
        if self.warm_start and hasattr(self, "refined_operators_"):
            self._check_start(trees.symbols)
            unrefined, stages = self.operators_, self.stages_
            start = self._take_blocks(pairs)
        else:
            unrefined, _ = learn_by_em(em, statistics, sequences, self.init)
            stages, start = [], start_unrefined(unrefined, pairs)
        found, curve = self._refine(treebank, start, unrefined, rng)
        vars(self).update(
            symbols_=statistics.symbols,
            labels_=statistics.labels,
            label_counts_=count_labels(trees),
            operators_=unrefined,
            refined_operators_=found[-1],
            stages_=stages + found[:-1],
            fallback_operators_=fallback_grammar(statistics.statistics),
            loss_curve_=np.negative(curve).tolist(),
            n_iter_=len(curve) - 1,
        )
        return self

    def _refine(self, treebank, start, unrefined, rng):
        """Refine the grammar `n_init` times, and return stages and curve of the likeliest run."""
        k = start.roots.shape[1]
        n_rounds = int(np.ceil(np.log2(max(self.n_refinements / k, 1)))) + (k > 1)
        n_steps = (n_rounds * (self.max_iter + 1) + (k == 1)) * self.n_init
        run = partial(
            refine_grammar,
            treebank,
            start,
            unrefined,
            self.n_refinements,
            rng,
            max_iter=self.max_iter,
            tol=self.tol,
            smoothing=self.smoothing,
            mixing=self.mixing,
        )
        with progress("Refining", n_steps, "iterations", self.verbose) as advance:
            runs = [run(advance=advance) for _ in range(self.n_init)]
        return max(runs, key=lambda run: run[1][-1])

    def _check_start(self, symbols):
        check_same_symbols(self, symbols, "refinements")
        n_states, k = self.refined_operators_.alpha_1.shape[2:]
        if n_states != self.n_states or k > self.n_refinements:
            raise ValueError(
                f"warm_start=True goes on from {n_states} states and {k} refinements: set "
                f"n_states={n_states} and n_refinements={k} or more, or warm_start=False."
            )

    @property
    def _grammar(self):
        return RefinedGrammar(self.refined_operators_, self.operators_)

    def _take_blocks(self, pairs):
        """Return the operators with blocks for these pairs of known symbols, seen or not."""
        refined = extend(self._grammar, pairs)
        known = len(self.symbols_)
        parts = {
            name: getattr(refined, name)[:known]
            for name in ("alpha_1", "alpha_inf", "backoff", "common", "roots")
        }
        return refined._replace(blocks=refined.blocks[:known, :, :known], **parts)

    def _score(self, batch, rung=0):
        """Score by the refined grammar, then by the unrefined one, and last by the fallback."""
        grammars = keep(
            self,
            (self.refined_operators_, self.operators_, self.fallback_operators_),
            _pack_with_refinements,
        )
        if rung == len(grammars):
            return None
        potentials, prune = Potentials(batch.indptr, batch.codes), 0.0 if rung else self.prune
        return Scored(grammars[rung], potentials, self._labeller(batch), prune=prune)

    def _fold(self, codes, heads, indptr, by_token=False):
        """Fold trees, which may have unknown symbols; return graph and operators for its blocks."""
        graph = fold_trees(codes, heads, indptr, len(self.symbols_) + 1, by_token=by_token)
        return graph, extend(self._grammar, graph.pairs)

    def _token_posteriors(self, codes, heads, indptr):
        """Compute probabilities of refinements of tokens in trees, (n_tokens, n_refinements)."""
        found = []
        for first in range(0, indptr.size - 1, FOLDED_CHUNK):
            part = indptr[first : first + FOLDED_CHUNK + 1]
            chosen = slice(part[0], part[-1])
            folded = self._fold(codes[chosen], heads[chosen], part - part[0], by_token=True)
            found.append(token_posteriors(*folded))
        return np.concatenate(found)

    def _score_trees(self, batch, heads):
        logs = tree_logs(*self._fold(batch.codes, np.concatenate(heads), batch.indptr))
        return (logs > -np.inf).astype(np.int8), logs

    def _draw(self, n_samples, max_length, rng):
        codes, *trees = sample_derivations(
            unfold(self._grammar), n_samples, rng, max_length=max_length
        )
        return decode_trees(self.symbols_, codes // self.refined_operators_.roots.shape[1], *trees)


def _encode_learnable(X, y, sample_weight):
    """Encode trees, without partial ones that have no known head or no projective completion."""
    trees = encode_trees(X, y, sample_weight, partial=True)
    if trees.heads.min() > UNKNOWN:
        return trees
    known = np.split(trees.heads, trees.indptr[1:-1])
    is_whole, is_bare = np.array(
        [(heads.min() > UNKNOWN, heads.max() == UNKNOWN) for heads in known]
    ).T
    if not is_whole.any():
        raise ValueError(
            f"None of {is_whole.size} sentences has all its heads, but hidden refinements begin "
            f"with a grammar of whole trees. Give some, or complete the sentences with another "
            f"fitted parser: parser.parse(trees, keep_heads=True)."
        )
    is_impossible = ~is_whole & ~has_projective_completion(known)
    if is_impossible.any():
        warn(
            f"{is_impossible.sum()} of {is_whole.size} sentences are left out of training, since "
            f"no projective tree with one root has their heads.",
            UserWarning,
        )
    weights = np.zeros(trees.kept.size)
    weights[trees.kept] = np.where(is_bare | is_impossible, 0.0, trees.weights)
    return encode_trees(X, y, weights, partial=True)


def _complete_trees(trees, learner):
    """Complete partial trees by a parser fitted to the whole ones; return the heads of all."""
    if trees.heads.min() > UNKNOWN:
        return trees.heads
    decoded = decode_trees(trees.symbols, trees.codes, trees.heads, trees.indptr)
    is_partial = np.array([UNKNOWN in tree.heads for tree in decoded])
    partial, whole = (list(compress(decoded, chosen)) for chosen in (is_partial, ~is_partial))
    allowed = arcs_left_by([tree.heads for tree in partial])
    with (
        catch_warnings(action="ignore", category=ConvergenceWarning),
        catch_warnings(action="ignore", category=UnknownSymbolWarning),
    ):
        learner.fit(whole, sample_weight=trees.weights[~is_partial])
        found = iter(learner.predict(partial, allowed=allowed))
    return np.concatenate([next(found) if UNKNOWN in t.heads else t.heads for t in decoded])


def _fold_treebank(trees, completed, n_jobs):
    """Fold whole trees, and make potentials of the partial ones and blocks for their arcs."""
    is_partial = np.minimum.reduceat(trees.heads, trees.indptr[:-1]) == UNKNOWN
    indptr, tokens = places_of(trees.indptr, np.flatnonzero(~is_partial))
    whole = trees.codes[tokens], trees.heads[tokens], indptr
    weights, partial, others = trees.weights, None, None
    if is_partial.any():
        indptr, tokens = places_of(trees.indptr, np.flatnonzero(is_partial))
        codes, root = trees.codes[tokens], trees.symbols.size
        others = np.stack(arcs_of_heads(indptr, completed[tokens]).symbols(codes, indptr, root), 1)
        others = others[others[:, 0] < root]
        partial = keep_known(Potentials(indptr, codes), trees.heads[tokens])
    graph = fold_trees(*whole, trees.symbols.size, others)
    return FoldedTreebank(graph, weights[~is_partial], partial, weights[is_partial], n_jobs)


def _pack_with_refinements(refined, operators, fallback):
    unrefined = pack_grammar(operators)
    packed = pack_refined(RefinedGrammar(refined, operators), unrefined)
    return packed, unrefined, pack_grammar(fallback)
