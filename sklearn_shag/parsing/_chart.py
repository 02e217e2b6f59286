"""The chart: potentials of sentences in, log Z and expected uses out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import chain, pairwise
from typing import Any, Literal, NamedTuple

import numpy as np

from sklearn_shag.encoding import arc_begins, places_of, places_of_heads
from sklearn_shag.operators import Operators, RefinedGrammar, RefinedOperators, check_refined
from sklearn_shag.parsing._arborescences import run_all_trees
from sklearn_shag.parsing._arc_sums import LONGEST, new_arc_tables, sum_arcs
from sklearn_shag.parsing._decoders import find_trees, new_space
from sklearn_shag.parsing._fast_driver import (
    DONE,
    OUT_OF_RANGE,
    WITHOUT_MASS,
    run_lockstep,
    run_one_by_one,
)
from sklearn_shag.parsing._fast_group import (
    NO_COUNTS,
    finish_fast_counts,
    new_fast_counts,
    new_workspace,
    padded_size,
)
from sklearn_shag.parsing._fast_sums import TokenClasses
from sklearn_shag.parsing._potentials import (
    FastGrammar,
    Potentials,
    as_factors,
    check_operators,
    check_potentials,
    classes_of,
    fast_grammar,
    log_grammar,
    longest_counted,
    make_writable,
    support_of,
    take_potentials,
)
from sklearn_shag.parsing._refined_chart import run_refined
from sklearn_shag.parsing._refined_sums import (
    NO_REFINED_COUNTS,
    RefinedTables,
    finish_refined_counts,
    new_refined_counts,
    refined_tables,
    unrefined_tables,
)
from sklearn_shag.utils._parallel import count_workers, delayed, run_parallel
from sklearn_shag.utils._param_validation import LARGEST_WEIGHT, as_floats
from sklearn_shag.utils._simd import LANES
from sklearn_shag.utils._typing import ArrayLike, FloatArray, RouteArray, SignArray

# Where the results of a sentence come from: the chart; a parser's fallback grammar, where its first
# has no mass; or nowhere, since values leave the range of doubles, or no tree has mass.
ROUTES = ("fast", "out of range", "fallback", "none")


# The trees that sums are taken over: those without crossing arcs, or all with one root. The first
# are among the others.
TREES = ("projective", "all")


def name_tree(projective):
    """Name a tree of this kind in a message."""
    return "projective tree" if projective else "tree"


class ChartResults(NamedTuple):
    """Sums over all trees, and the expected uses of every factor.

    Results that were not requested, and uses of factors that were not given, are None.

    Attributes
    ----------
    sign : int8 ndarray of shape (n_sentences,)
        The sign of Z, the total value of all trees; 0 where Z vanishes.
    log_abs_z : ndarray of shape (n_sentences,)
        Logarithm of the absolute value of Z, in nats; -inf where Z vanishes.
    route : uint8 ndarray of shape (n_sentences,)
        0 if Z was computed; 1 if values left the range of doubles, or may have, so that nothing is
        known; 3 if no tree has mass.
    arcs : None or ndarray of shape (n_arcs,)
        Expected uses of arcs, in the layout of ``Potentials.arcs``. These are the raw marginals,
        which may lie outside [0, 1] for signed operators.
    arc_memory : None or ndarray of shape (n_arcs, n_classes)
        Expected uses of ``Potentials.arc_memory``; None if there was none.
    stop_memory : None or ndarray of shape (n_tokens, 2, n_classes)
        Expected uses of ``Potentials.stop_memory``; None if there was none.
    counts : None, Operators or RefinedOperators
        Expected uses of the operators, summed over sentences times their weights. With
        refinements, only operators of known symbols are counted, without uses of the grammar that
        they back off to.

    See Also
    --------
    chart : Computes these results.
    Potentials : Holds the factors.

    Notes
    -----
    The derivative of log Z by the logarithm of a factor is the expected use of the factor. Uses are
    NaN if the sign is 0, and such sentences add nothing to `counts`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_shag.parsing import Potentials, chart
    >>> result = chart(None, Potentials(np.array([0, 2]), arcs=np.log([1, 1, 3, 1, 1, 1])))
    >>> np.exp(result.log_abs_z).round(6)                # two trees, of the values 3 and 1
    array([4.])
    >>> result.arcs.reshape(2, 3)
    array([[0.25, 0.  , 0.75],
           [0.75, 0.25, 0.  ]])
    >>> result.counts is None
    True
    """

    sign: SignArray
    log_abs_z: FloatArray
    route: RouteArray
    arcs: FloatArray | None
    arc_memory: FloatArray | None
    stop_memory: FloatArray | None
    counts: Operators | RefinedOperators | None


class Results(NamedTuple):
    """Arrays for the results of a chunk; results that are not requested have size 0."""

    route: np.ndarray  # (n_sentences,), the place in ROUTES
    sign: np.ndarray  # (n_sentences,) int8
    log_abs_z: np.ndarray  # (n_sentences,)
    arcs: np.ndarray  # (n_arcs,)
    arc_memory: np.ndarray  # (n_arcs, n_classes)
    stop_memory: np.ndarray  # (n_tokens, 2, n_classes)


def new_results(factors, with_uses, of_memory=True):
    """Allocate results for a chunk.

    Parameters
    ----------
    factors : Factors
    with_uses : bool
        Whether to make room for the expected uses of arcs.
    of_memory : bool, default=True
        Whether to make room for the uses of memory factors too, if there are any.

    Returns
    -------
    results : Results
        All sentences are without mass and route; uses are undefined.
    """
    n_sentences, n_arcs, n_tokens = factors.indptr.size - 1, 0, 0
    if with_uses:
        n_arcs, n_tokens = factors.begins[-1], factors.indptr[-1]
    of_arcs, of_stops = factors.arc_memory.shape, factors.stop_memory.shape
    return Results(
        np.full(n_sentences, ROUTES.index("none"), dtype=np.uint8),
        np.zeros(n_sentences, dtype=np.int8),
        np.full(n_sentences, -np.inf),
        np.empty(n_arcs),
        np.empty((min(n_arcs, of_arcs[0]) * of_memory, *of_arcs[1:])),
        np.empty((min(n_tokens, of_stops[0]) * of_memory, *of_stops[1:])),
    )


class Call(NamedTuple):
    """The sentences of a chunk, their grammar, and the results that its routes set."""

    grammar: Any  # PackedGrammar, PackedRefined or AllTrees
    factors: Any  # Factors
    results: Any  # Results, set for sentences that are done; uses only if there is room for them
    weights: np.ndarray  # (n_sentences,)
    # Expected uses of operators in sentences that are done are added, times their weights, in the
    # form for `finish_counts` of the grammar; of size 0 if no counts are requested.
    counts: Any


class Route(NamedTuple):
    """A way to sum over trees, for sentences out of the range of the routes before."""

    # Takes a Call and the places of sentences, the shortest first; returns the state of each: DONE;
    # WITHOUT_MASS where no tree is possible; or OUT_OF_RANGE where values are too large or too
    # small, or cancel.
    run: Callable[[Call, np.ndarray], np.ndarray]
    applies: Callable[[Call], bool] | None = None  # None for any call


# Sentences of grammars of one state run in lockstep, with kernels of their own, which take ten
# seconds to compile. Texts of fewer arcs, N (N + 1) for a sentence of N tokens, and without
# factors, use the kernels of all other grammars: these take milliseconds more.
FEWEST_ARCS_IN_LOCKSTEP = 50_000
# Cost of a chunk in the units of `cut_chunks`: a hundredth of a second with 8 states. That is long
# beside the time to hand it out, and makes enough chunks for many workers.
CHUNK_COST = 8e6
# Chunks of grammars with refinements cost this many times more: their counts are large.
FEWER_WITH_REFINEMENTS = 20
# Cost of a chunk for a single worker without a progress bar: its results fit into memory.
CHUNK_COST_ALONE = 1e9


def cut_chunks(lengths, chunk_cost):
    """List int arrays of sentences, chunks of about equal cost, the shortest sentences first."""
    # Measured with 8 states: cubic only for long sentences.
    cost = (lengths + 1) ** 2 * (lengths + 31.0)
    total = cost.sum()
    if total <= chunk_cost:
        return [np.arange(lengths.size)]
    order = np.argsort(lengths, kind="stable")
    n_chunks = int(total / chunk_cost) + 1
    cuts = np.searchsorted(np.cumsum(cost[order]), total * np.arange(1, n_chunks) / n_chunks)
    cuts = np.unique(np.concatenate([[0], cuts, [lengths.size]]))
    return [order[start:stop] for start, stop in pairwise(cuts.tolist())]


def join_in_order(chunks, parts):
    """List the results of the sentences of chunks, which are lists, in the order of sentences."""
    results = dict(zip(np.concatenate(chunks).tolist(), chain.from_iterable(parts), strict=True))
    return [results[s] for s in range(len(results))]


def run_charts(
    grammar, factors, with_uses=True, of_memory=False, weights=None, counts=None, which=None
):
    """Sum over the trees of the sentences of a chunk, by the routes of the grammar.

    Parameters
    ----------
    grammar : PackedGrammar, PackedRefined or AllTrees
    factors : Factors
    with_uses : bool, default=True
        Whether to compute the expected uses of arcs.
    of_memory : bool, default=False
        Whether to compute the expected uses of memory factors too.
    weights : None or ndarray of shape (n_sentences,), default=None
        The weight of the uses of each sentence in `counts`.
    counts : None, Counts or RefinedCounts, default=None
        Made by ``grammar.new_counts``; the expected uses of operators are added.
    which : None or int ndarray, default=None
        The sentences to parse, the shortest first; None for all.

    Returns
    -------
    results : Results
        Uses are NaN for sentences that are out of range or without mass.
    """
    lengths = factors.indptr[1:] - factors.indptr[:-1]
    results = new_results(factors, with_uses, of_memory)
    weights = np.ones(lengths.size) if weights is None else weights
    pending = lengths.argsort(kind="stable") if which is None else which
    counts = grammar.no_counts if counts is None else counts
    call = Call(grammar, factors, results, weights, counts)
    results.route[pending] = OUT_OF_RANGE
    for route in grammar.routes:
        if pending.size and (route.applies is None or route.applies(call)):
            states = results.route[pending] = route.run(call, pending)
            pending = pending[states == OUT_OF_RANGE]
    for s in (results.route != DONE).nonzero()[0]:
        of_arcs = slice(factors.begins[s], factors.begins[s + 1])
        results.arcs[of_arcs] = results.arc_memory[of_arcs] = np.nan
        results.stop_memory[factors.indptr[s] : factors.indptr[s + 1]] = np.nan
    return results


def _has_only_arcs(call):
    """Whether trees are worth the product of the scores of their arcs, and no more is asked for."""
    factors = call.factors
    has_others = factors.arc_memory.size or factors.stop_memory.size or call.counts.A.size
    return call.grammar.is_unit and factors.arcs.size > 0 and not has_others


def _sum_scores_of_arcs(call, which):
    """Sum over scores of arcs in sentences that are not too long for it."""
    indptr, is_done = call.factors.indptr, np.zeros(which.size, dtype=bool)
    lengths = indptr[which + 1] - indptr[which]
    n_short = np.searchsorted(lengths, LONGEST, side="right")
    space = new_arc_tables(min(int(lengths[-1]), LONGEST))
    sum_arcs(call.factors, which[:n_short], call.results, space, is_done)
    return np.where(is_done, DONE, OUT_OF_RANGE)


def _has_chart(call):
    """Whether the entries of the operators are small enough for the chart."""
    return call.grammar.fast is not None


def fill_chart(call, which):
    """Fill the chart; where Z is 0, tell whether a tree is possible."""
    grammar, factors, results, weights, counts = call
    kernel, memory, space = _prepare_chart(call, which)
    states, operators = np.empty(which.size, dtype=np.uint8), make_writable(grammar.fast)
    kernel(operators, factors, which, results, memory, weights, counts, space, states)
    if np.count_nonzero(states == WITHOUT_MASS):
        lost = np.flatnonzero(states == WITHOUT_MASS)
        # Z is 0 also where values vanish or cancel. The same kernel, on the support, tells.
        others, found = which[lost], np.empty(lost.size, dtype=np.uint8)
        support, spare = make_writable(grammar.support), results._make(map(np.empty_like, results))
        given = support_of(factors), others, spare, memory, weights, NO_COUNTS
        kernel(support, *given, space, found)
        is_certain = found == WITHOUT_MASS
        is_certain &= _lengths_of(factors, others) <= longest_counted(grammar)
        states[lost[~is_certain]] = OUT_OF_RANGE
    # With one class, memory factors of arcs are used as arcs are, and each stop once.
    has_memory = results.arc_memory.size or results.stop_memory.size
    if has_memory and classes_of.py_func(factors) == 1:
        results.arc_memory[...] = results.arcs[: len(results.arc_memory), None]
        results.stop_memory[...] = 1.0
    return states


def _prepare_chart(call, which):
    """Return the kernel for sentences, one by one or in lockstep, and its memory and space."""
    fast, factors = call.grammar.fast, call.factors
    n_classes, n_states = classes_of.py_func(factors), fast.alpha_1.shape[2]
    n_tokens = int(_lengths_of(factors, which[-1]))
    # None without memory: the kernels with memory are compiled when they are first needed.
    memory = None
    if fast.in_arcs.size and _is_worth_lockstep(call, which):
        return run_lockstep, memory, new_workspace(n_tokens, 1, n_classes, LANES)
    if n_classes > 1:
        columns = np.empty(padded_size.py_func(n_tokens), dtype=np.int64)
        following = np.empty((n_classes, columns.size), dtype=np.int64)
        classes = np.repeat(np.arange(n_classes), max(n_states // LANES, 1))
        memory = TokenClasses(n_states, classes, columns, following)
    return run_one_by_one, memory, new_workspace(n_tokens, n_states, n_classes, 1)


def _is_worth_lockstep(call, which):
    """Whether there are factors or counts, or many arcs."""
    factors = call.factors
    if factors.arcs.size or factors.arc_memory.size or factors.stop_memory.size:
        return True
    n_arcs = np.sum(factors.begins[which + 1] - factors.begins[which])
    return call.counts.A.size > 0 or n_arcs >= FEWEST_ARCS_IN_LOCKSTEP


def _can_scale_arcs(call):
    """Whether there are scores of arcs, for a grammar that has a chart."""
    return _has_chart(call) and call.factors.arcs.size > 0


def _fill_chart_of_scaled_arcs(call, which):
    """Fill the chart with arcs of the best tree scaled to 1, however much better others are."""
    factors = call.factors
    heads = np.zeros(factors.indptr[-1], dtype=np.int64)
    space = new_space(int(_lengths_of(factors, which[-1])))
    for s in which:
        places = factors.begins[s : s + 2], factors.indptr[s : s + 2]
        find_trees(factors.arcs, *places, *space, heads)
    scales = factors.arcs[places_of_heads(factors.indptr, heads)]
    return fill_chart(call._replace(factors=factors._replace(arc_scales=scales)), which)


def _lengths_of(factors, which):
    return factors.indptr[which + 1] - factors.indptr[which]


# Those of a grammar, in this order.
FAST_ROUTES = (
    Route(_sum_scores_of_arcs, _has_only_arcs),
    Route(fill_chart, _has_chart),
    Route(_fill_chart_of_scaled_arcs, _can_scale_arcs),
)


@dataclass(frozen=True)
class PackedGrammar:
    """Operators of a grammar in two layouts, and the functions that run the chart on them."""

    operators: Operators
    fast: FastGrammar | None  # None where entries are so large that the chart cannot take them
    no_counts = NO_COUNTS
    chunk_cost = CHUNK_COST  # where uses are counted
    trees = "projective"  # of which sums are taken
    routes = FAST_ROUTES
    new_counts = new_fast_counts  # for a chunk
    finish_counts = finish_fast_counts  # of all chunks, as Operators

    def as_refined(self):
        """Return the grammar as a PackedRefined with one refinement of each symbol."""
        return PackedRefined(None, unrefined_tables(self.operators), self)

    @cached_property
    def logs(self):
        """Logarithms of the operators, which must not be negative, as a LogGrammar."""
        return log_grammar(self.operators)

    @cached_property
    def is_signed(self):
        """Whether the value of a tree may be negative."""
        return any(part.min() < 0 for part in self.operators)

    @cached_property
    def is_unit(self):
        """Whether every tree has the value 1, so that sums are over scores of arcs alone."""
        return (
            self.fast is not None
            and self.operators.A.size == 12
            and all(np.all(part == 1.0) for part in self.operators)
        )

    @cached_property
    def support(self):
        """Operators with 1 for each nonzero entry, so that a chart counts derivations."""
        return fast_grammar(Operators(*(np.sign(np.abs(part)) for part in self.operators)))


def scale_by_totals(call, which):
    """Parse sentences again, scaled by their totals without refinements.

    These are of about the same size, and their chart has more range.
    """
    totals = run_charts(call.grammar.unrefined, call.factors, with_uses=False, which=which)
    states, has_mass = totals.route[which], totals.sign[which] > 0
    others = which[has_mass]
    again = run_refined(call, others, totals.log_abs_z[others])
    states[has_mass] = np.where(again == DONE, DONE, WITHOUT_MASS)
    return states


@dataclass(frozen=True)
class PackedRefined:
    """A grammar with refinements in the layout of its chart, and the grammar without them."""

    operators: RefinedOperators | None  # None for one without refinements
    refined: RefinedTables
    unrefined: PackedGrammar
    no_counts = NO_REFINED_COUNTS
    chunk_cost = FEWER_WITH_REFINEMENTS * CHUNK_COST
    is_signed, trees = False, "projective"
    routes = Route(run_refined), Route(scale_by_totals)
    new_counts = new_refined_counts
    finish_counts = finish_refined_counts

    def as_refined(self):
        """The grammar itself, which has refinements."""
        return self


class AllTrees:
    """In place of a grammar: a tree is worth its arcs, whether or not these cross."""

    no_counts = None
    routes = (Route(run_all_trees),)
    is_signed, trees = False, "all"


def pack_grammar(operators):
    """Lay out the operators of a grammar as the charts need them, as a PackedGrammar."""
    # Contiguous, for kernels that are compiled for this layout.
    operators = Operators(*(np.ascontiguousarray(part, dtype=float) for part in operators))
    return PackedGrammar(operators, fast_grammar(operators))


def pack_refined(grammar, unrefined):
    """Lay out a RefinedGrammar as its chart needs it; `unrefined` is its PackedGrammar."""
    return PackedRefined(grammar.refined, refined_tables(grammar), unrefined)


@cache
def grammar_of_arcs(trees):
    """Return the grammar of learners that score each arc by itself, for "projective" or "all".

    It gives every tree the value 1; projective ones by operators, for sentences of one symbol.
    """
    if trees == "all":
        return AllTrees()
    ones = np.ones((3, 2, 1))
    return pack_grammar(Operators(ones, ones, np.ones((3, 2, 2, 1, 1))))


def check_grammar(grammar, potentials, trees="projective"):
    """Check a grammar, None for the unit grammar, and the potentials of its sentences.

    Parameters
    ----------
    grammar : Operators or None
    potentials : Potentials
    trees : {"projective", "all"}, default="projective"

    Returns
    -------
    grammar : PackedGrammar or AllTrees
        The unit grammar for None.
    potentials : Potentials
        From :func:`check_potentials`.

    Raises
    ------
    ValueError
        If operators have other shapes or are not finite, or potentials are wrong; or with
        trees="all" if there are others than those of arcs.
    """
    if trees not in TREES:
        raise ValueError(f"trees must be 'projective' or 'all', got {trees!r}.")
    if grammar is None:
        potentials = check_potentials(potentials, None)
    has_others = grammar is not None or any(part is not None for part in potentials[3:])
    if trees == "all" and has_others:
        raise ValueError(
            "trees='all' sums over trees whose arcs may cross, for scores of arcs alone. Leave "
            "grammar and memory out, or sum over projective trees."
        )
    if grammar is None:
        return grammar_of_arcs(trees), potentials
    check_operators(grammar)
    return pack_grammar(grammar), check_potentials(potentials, grammar.A.shape[2])


def chart(
    grammar: Operators | RefinedGrammar | None,
    potentials: Potentials,
    *,
    trees: Literal["projective", "all"] = "projective",
    marginals: bool = True,
    counts: bool = False,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> ChartResults:
    """Sum over the trees of sentences with one root, and compute the expected use of every factor.

    Parameters
    ----------
    grammar : Operators, RefinedGrammar or None
        The operators of a grammar, with entries of any sign, or of no negative ones if it has
        refinements. See the Notes of :class:`~sklearn_shag.operators.Operators` for their axes.
        None to use the factors alone.
    potentials : Potentials
        The sentences.
    trees : {"projective", "all"}, default="projective"
        Whether to sum over projective trees, or over all trees, whose arcs may cross. All trees are
        for scores of arcs alone, without a grammar.
    marginals : bool, default=True
        Whether to compute the expected uses of arcs, and of all other factors that are given.
        Without them, the call takes a third of the time.
    counts : bool, default=False
        Whether to compute the expected uses of the operators as well, summed over sentences.
    sample_weight : None or array-like of shape (n_sentences,), default=None
        The weight of the uses of each sentence in `counts`.
    n_jobs : int or None, default=None
        Number of joblib workers, which process chunks of sentences. Results do not depend on it.

    Returns
    -------
    results : ChartResults
        An entry for each sentence, arc and token, in the order of `potentials`.

    Raises
    ------
    ValueError
        If shapes, types or numbers are not as described in :class:`Potentials`, operators are not
        finite, counts are requested without a grammar, or all trees with a grammar or memory.
    TypeError
        If `grammar` or `potentials` has the wrong type.

    See Also
    --------
    best_trees : Finds the best trees instead of the sums.
    tree_values : Computes the values of given trees.
    inside_outside : Takes one sentence, with operators and scores of any sign.

    Notes
    -----
    Implements eqs. 14-26 of the theory page. A sentence of N tokens and automata with n states take
    O(n N^3 + n^2 N^2) time, and k classes of memory (k + 1) / 2 times as much. Each worker needs
    O(n k N^2) memory. A sentence without mass gets the sign 0; there is no fallback to another
    grammar.

    Sums over all trees eliminate the tokens one by one, eqs. 65-68 of the theory page, in O(N^3)
    time. An arc that is more than 600 nats worse than the best arc to the same token counts as 600
    nats worse.

    References
    ----------
    Koo, Globerson, Carreras and Collins (2007), Structured prediction models via the matrix-tree
    theorem.

    Grassmann, Taksar and Heyman (1985), Regenerative analysis and steady state distributions for
    Markov chains.

    Luque, Quattoni, Balle and Carreras (2012), eqs. 15-20.

    Examples
    --------
    Three tokens have 7 projective trees with one root, and two more whose arcs cross. Only one of
    the seven has token 2 as the root:

    >>> import numpy as np
    >>> from sklearn_shag.parsing import Potentials, chart
    >>> indptr = np.array([0, 3])
    >>> np.exp(chart(None, Potentials(indptr)).log_abs_z).round(6)
    array([7.])
    >>> np.exp(chart(None, Potentials(indptr), trees="all").log_abs_z).round(6)
    array([9.])
    >>> arcs = np.zeros((3, 4))
    >>> arcs[[0, 2], 0] = -np.inf
    >>> result = chart(None, Potentials(indptr, arcs=arcs.ravel()))
    >>> result.arcs.reshape(3, 4).round(2)
    array([[0., 0., 1., 0.],
           [1., 0., 0., 0.],
           [0., 0., 1., 0.]])
    """
    if counts and grammar is None:
        raise ValueError("counts are of operators, so they need a grammar.")
    if isinstance(grammar, RefinedGrammar):
        unrefined, potentials = check_grammar(grammar.unrefined, potentials, trees)
        n_symbols = len(grammar.unrefined.alpha_1) - 2
        check_refined(grammar.refined, "grammar.refined", np.empty(n_symbols))
        packed = pack_refined(grammar, unrefined)
    else:
        packed, potentials = check_grammar(grammar, potentials, trees)
    weights, n_sentences = sample_weight, potentials.indptr.size - 1
    if weights is not None:
        weights = as_floats(weights, "sample_weight")
        if weights.shape != (n_sentences,) or not (np.abs(weights) <= LARGEST_WEIGHT).all():
            raise ValueError(
                f"sample_weight must be {n_sentences} finite numbers, one per sentence, none "
                f"larger than {LARGEST_WEIGHT:g}."
            )
    return sum_up_sentences(packed, potentials, weights, marginals, counts, n_jobs)


def sum_up_sentences(packed, potentials, weights=None, marginals=True, counts=False, n_jobs=None):
    """Compute the ChartResults of :func:`chart` from arguments that have been checked."""
    weights = np.ones(potentials.indptr.size - 1) if weights is None else weights
    cost = CHUNK_COST
    if counts:  # which may be large; chunks, and so the last bits of sums, ignore the workers
        cost = packed.chunk_cost
    elif count_workers(n_jobs) == 1:
        cost = CHUNK_COST_ALONE
    chunks = cut_chunks(np.diff(potentials.indptr), cost)
    task = partial(_chart_task, packed, with_uses=marginals, with_counts=counts)
    if len(chunks) == 1:
        parts = [task(potentials, weights)]
        results = parts[0][0]
    else:
        tasks = (delayed(task)(take_potentials(potentials, part), weights[part]) for part in chunks)
        parts = run_parallel(tasks, n_jobs)
        results = _join_results(potentials, [part for part, _ in parts], chunks, marginals)
    return ChartResults(
        results.sign,
        results.log_abs_z,
        results.route,
        results.arcs if marginals else None,
        *(
            uses if marginals and like is not None else None
            for uses, like in zip(results[4:], potentials[4:], strict=True)
        ),
        packed.finish_counts([part for _, part in parts]) if counts else None,
    )


def _chart_task(packed, potentials, weights, with_uses, with_counts):
    factors, counts = as_factors(potentials), packed.new_counts() if with_counts else None
    return run_charts(packed, factors, with_uses or with_counts, with_uses, weights, counts), counts


def _join_results(potentials, parts, chunks, with_uses):
    """Join the results of chunks, in the order of the sentences."""
    results = new_results(as_factors(potentials), with_uses)
    for part, chosen in zip(parts, chunks, strict=True):
        places = [chosen] * 3
        if with_uses:
            _, arcs = places_of(arc_begins(potentials.indptr), chosen)
            _, tokens = places_of(potentials.indptr, chosen)
            places += [arcs, arcs, tokens]
        for whole, values, where in zip(results, part, places, strict=False):
            if whole.size:
                whole[where] = values
    return results
