"""Expected uses of memory and stop factors and of operators, from the tables of the fast chart."""

from typing import NamedTuple

import numpy as np

from sklearn_shag.operators import Operators
from sklearn_shag.parsing._fast_group import group_of
from sklearn_shag.parsing._fast_sums import (
    AWAITING,
    COMPLETE,
    D_AWAITING,
    D_CLOSED,
    D_COMPLETE,
    D_INCOMPLETE,
)
from sklearn_shag.parsing._packed_grammar import FastGrammar
from sklearn_shag.parsing._potentials import classes_of
from sklearn_shag.sequences import LEFT, RIGHT
from sklearn_shag.utils._kernel import inlined_kernel, inner_table_kernel
from sklearn_shag.utils._simd import (
    LANES,
    lane_sum,
    load,
    multiply,
    multiply_add,
    store,
    weight,
    zeros,
)


@inner_table_kernel
def put_uses(factors, group, member, s, results, n_states):
    """Set the expected uses of the memory and stop factors of one sentence, of several classes."""
    n_tokens, n_classes = group.lengths[member], group.arc_scores.shape[2]
    if results.arc_memory.shape[0]:
        for m in range(1, n_tokens + 1):
            first = factors.begins[s] + (m - 1) * (n_tokens + 1)
            for h in range(n_tokens + 1):
                for c in range(n_classes):
                    use = 0.0
                    if h == 0 and c == 0:
                        use = group.marginals[m - 1, 0, member]
                    elif h > 0 and h != m:
                        use = _product(group, D_AWAITING, AWAITING, h, m, c, n_states, member)
                    results.arc_memory[first + h, c] = use
    if results.stop_memory.shape[0]:
        for h in range(1, n_tokens + 1):
            for direction in range(2):
                for c in range(n_classes):
                    use = _stop_use(group, h, direction, c, n_states, member)
                    results.stop_memory[factors.indptr[s] + h - 1, direction, c] = use


@inlined_kernel
def _product(group, one, other, h, m, c, n_states, member):
    """Inner product of the states of a class in two tables."""
    vectors, n_members, total = group.vectors, group.lengths.size, zeros()
    if n_members == 1:
        for q in range(c * n_states, (c + 1) * n_states, LANES):
            left = load(vectors, (one, h, m, q))
            total = multiply_add(left, load(vectors, (other, h, m, q)), total)
        return lane_sum(total)
    place = c * n_members + member  # the one state
    return vectors[one, h, m, place] * vectors[other, h, m, place]


@inlined_kernel
def _ends(group, h, direction, member):
    """The range of the boundaries where halves of a head end."""
    if direction == LEFT:
        return 1, h + 1
    return h + 1, group.lengths[member] + 2


@inlined_kernel
def _stop_use(group, h, direction, c, n_states, member):
    # sum_b dclosed[h, b] stop(h, c) alpha_inf . C[h, b, c]
    vectors, n_members, use, total = group.vectors, group.lengths.size, 0.0, zeros()
    low, high = _ends(group, h, direction, member)
    if n_members == 1:
        for q in range(c * n_states, (c + 1) * n_states, LANES):
            stop = load(group.stops, (h, direction, q))
            for b in range(low, high):
                d_closed = multiply(weight(group.numbers, (D_CLOSED, h, b, 0)), stop)
                total = multiply_add(d_closed, load(vectors, (COMPLETE, h, b, q)), total)
        return lane_sum(total)
    place = c * n_members + member  # the one state
    for b in range(low, high):
        use += group.numbers[D_CLOSED, h, b, member] * vectors[COMPLETE, h, b, place]
    return use * group.stops[h, direction, place]


@inner_table_kernel
def add_counts(grammar, factors, s, weights, space, counts):
    """Add what one sentence uses of operators, times its weight (eq. 26).

    Starts and moves are divided by their entries, and of the root there is only how often each
    symbol is it: :func:`finish_counts` makes counts of them.
    """
    begin, n_tokens = factors.indptr[s], factors.indptr[s + 1] - factors.indptr[s]
    n_states = grammar.alpha_1.shape[2]
    group = group_of(space, n_tokens, n_states, classes_of(factors), 1)
    for h in range(1, n_tokens + 1):
        code = factors.codes[begin + h - 1]
        for direction in range(2):
            for q in range(n_states):
                start = group.vectors[D_COMPLETE, h, h + direction, q]
                counts.alpha_1[code, direction, q] += weights[s] * start
            _add_stops(group, h, code, direction, n_states, weights[s], counts)
        for m in range(1, n_tokens + 1):
            if m != h:
                place = code, RIGHT if m > h else LEFT, factors.codes[begin + m - 1]
                _add_moves(group, h, m, place, weights, s, counts)
        counts.roots[code] += weights[s] * group.marginals[h - 1, 0, 0]


@inlined_kernel
def _add_stops(group, h, code, direction, n_states, factor, counts):
    low, high = _ends(group, h, direction, 0)
    for b in range(low, high):
        d_closed = factor * group.numbers[D_CLOSED, h, b, 0]
        for place in range(group.stops.shape[2]):
            use = d_closed * group.stops[h, direction, place] * group.vectors[COMPLETE, h, b, place]
            counts.alpha_inf[code, direction, place % n_states] += use


@inlined_kernel
def _add_moves(group, h, m, place, weights, s, counts):
    # dI[h, m, i] sum_c score(h, m, c) g[h, m, c, j]
    n_classes = group.arc_scores.shape[2]
    n_states = group.vectors.shape[3] // n_classes
    for q in range(0, n_states, LANES):
        before = zeros()
        for c in range(n_classes):
            awaiting = load(group.vectors, (AWAITING, h, m, c * n_states + q))
            before = multiply_add(weight(group.arc_scores, (m, h, c, 0)), awaiting, before)
        before = multiply(weight(weights, (s,)), before)
        for i in range(n_states):
            use = load(counts.A, (*place, i, q))
            after = weight(group.vectors, (D_INCOMPLETE, h, m, i))
            store(counts.A, (*place, i, q), multiply_add(after, before, use))


@inner_table_kernel
def add_counts_of_arcs(factors, s, weights, results, counts):
    """Add what one sentence uses of operators with one state: every arc its move."""
    begin, n_tokens = factors.indptr[s], factors.indptr[s + 1] - factors.indptr[s]
    place = factors.begins[s]
    for m in range(1, n_tokens + 1):
        symbol = factors.codes[begin + m - 1]
        counts.roots[symbol] += weights[s] * results.arcs[place]
        for h in range(1, n_tokens + 1):
            code, direction = factors.codes[begin + h - 1], RIGHT if m > h else LEFT
            counts.A[code, direction, symbol, 0, 0] += weights[s] * results.arcs[place + h]
        for direction in range(2):
            counts.alpha_1[symbol, direction, 0] += weights[s]
            counts.alpha_inf[symbol, direction, 0] += weights[s]
        place += n_tokens + 1


class Counts(NamedTuple):
    """Room for expected uses of operators, summed over the sentences of a chunk."""

    # What the fast chart counts, in the layout of its grammar. None if no counts are wanted: the
    # kernels for them are compiled if somebody asks.
    fast: FastGrammar | None
    scaled: Operators  # what the scaled one does


_nothing = np.empty((0, 2, 1))
NO_COUNTS = Counts(None, Operators(_nothing, _nothing, np.empty((0, 2, 0, 1, 1))))


def new_counts(grammar):
    """Allocate counts of the operators of a PackedGrammar."""
    padded = grammar.fast is not None and grammar.operators.alpha_1.shape[2] > 1
    alpha_1, alpha_inf, A = map(np.zeros_like, (grammar.fast if padded else grammar.operators)[:3])
    fast = FastGrammar(alpha_1, alpha_inf, A, A, np.empty((0, 2, 0)), np.zeros(A.shape[2]))
    return Counts(fast, Operators(*map(np.zeros_like, grammar.operators)))


def finish_counts(counts, operators):
    """Add up the counts of both charts; see :func:`add_counts` for those of the fast one."""
    n_states = operators.alpha_1.shape[2]
    alpha_1, alpha_inf = (part[..., :n_states] for part in counts.fast[:2])
    A = counts.fast.A[..., :n_states, :n_states]
    if n_states > 1:
        alpha_1, A = alpha_1 * operators.alpha_1, A * operators.A
    # The root: its one modifier tells the states before and after.
    root = -1, RIGHT
    moves = operators.alpha_inf[root][:, None] * operators.A[root] * operators.alpha_1[root]
    values = moves.sum(axis=(1, 2))
    shares = np.divide(counts.fast.roots, values, out=np.zeros_like(values), where=values != 0)
    A[root] = moves * shares[:, None, None]
    alpha_1[root], alpha_inf[root] = A[root].sum(axis=(0, 1)), A[root].sum(axis=(0, 2))
    parts = zip((alpha_1, alpha_inf, A), counts.scaled, strict=True)
    return Operators(*(fast + scaled for fast, scaled in parts))
