"""The chart of grammars whose symbols have hidden refinements (theory, eqs. 53-59).

Halves are those of :mod:`_fast_chart`. A closed half is a vector over the refinements of its head,
an open one a row over pairs of a state and a refinement, and an arc a matrix: a row for each
refinement of the modifier. Forbidden arcs have no matrix, and halves that would need one are not
visited.
"""

from typing import NamedTuple

import numpy as np

from sklearn_shag.parsing._fast_chart import LEFT_SIDE, RIGHT_SIDE
from sklearn_shag.parsing._fast_driver import DONE, OUT_OF_RANGE
from sklearn_shag.parsing._potentials import classes_of
from sklearn_shag.parsing._refined_sums import (
    ROWS,
    RefinedSentence,
    RefinedSpace,
    add_products,
    add_refined_counts,
    add_vectors,
    list_ends,
    list_splits,
    move_states,
    spread_matrix,
    sum_outer,
)
from sklearn_shag.utils._kernel import inlined_kernel, inner_table_kernel, table_kernel
from sklearn_shag.utils._simd import (
    LANES,
    add_sum,
    aligned,
    load,
    multiply,
    multiply_add,
    put_sum,
    shaped,
    store,
    weight,
    zeros,
)

FORWARDS, BACKWARDS = np.bool_(False), np.bool_(True)
# Between these values of Z, no entry that matters is lost.
SMALLEST_TOTAL, LARGEST_TOTAL = 1e-200, 1e200


@inlined_kernel
def _make_arc(tables, sentence, space, head, modifier, direction, low, high):
    """Set arcs[h, m], from splits[g, q] = sum_b closed[m, b, g] open[h, b, q] (eqs. 53, 54)."""
    place = space.places[head, modifier]
    if place < 0:
        return
    n_listed = list_splits(sentence, space, head, modifier, low, high)
    sum_outer(sentence, space, space.splits, head, modifier, n_listed)
    half = head, modifier, direction
    move_states(tables, sentence, space, half, space.splits, space.arcs, place, FORWARDS)


@inlined_kernel
def _close_half_of(tables, sentence, space, head, boundary, direction):
    """closed[h, b, r] = sum_c stop[h, c] sum_v alpha_inf[v, r] open[h, b, c, v, r]    (eq. 56)."""
    width, n_classes = sentence.widths[head], space.open.shape[2]
    k = width // tables.moves.shape[2]
    for h in range(0, k, LANES):
        total = zeros()
        for c in range(n_classes):
            of_class = zeros()
            for q in range(h, width, k):
                stop = load(tables.stops, (sentence.codes[head], direction, q))
                of_class = multiply_add(stop, load(space.open, (head, boundary, c, q)), of_class)
            factor = weight(sentence.stops, (head, direction, c))
            total = multiply_add(factor, of_class, total)
        store(space.closed, (head, boundary, h), total)


# Open halves are sums over their last arcs (eq. 55): open[h, b, c, q] = sum_m sum_g
# closed[m, b, g] arcs[h, m, g, q], over modifiers m of class c. Spans i..j are visited for one j
# after the other. So when an arc to the left is made, all outer halves of its modifier are known,
# and it is spread while it is in the cache; arcs to the right are read again for each boundary.


@inlined_kernel
def _spread_left(tables, sentence, space, head, modifier):
    """Add an arc to the left to all open halves of which it is the last arc."""
    place = space.places[head, modifier]
    if place < 0:
        return
    n_listed, c = 0, sentence.classes[modifier]
    for b in range(1, modifier + 1):
        if space.alive[modifier, b]:
            space.listed[n_listed] = b
            n_listed += 1
    spread_matrix(sentence, space, space.arcs, place, head, modifier, n_listed)
    for t in range(n_listed):
        b = space.listed[t]
        space.alive[head, b] = True
        for q in range(0, sentence.widths[head], LANES):
            total = load(space.open, (head, b, c, q))
            store(space.open, (head, b, c, q), add_vectors(load(space.sums, (t, q)), total))


@inlined_kernel
def _gather_right(tables, sentence, space, head, boundary):
    """Set an open right half to the sum over its last arcs."""
    width = sentence.widths[head]
    for c in range(space.open.shape[2]):
        for q in range(0, width, LANES):
            store(space.open, (head, boundary, c, q), zeros())
    for m in range(head + 1, boundary):
        place, c = space.places[head, m], sentence.classes[m]
        if place < 0 or not space.alive[m, boundary]:
            continue
        space.alive[head, boundary] = True
        for q in range(0, width, 2 * LANES):
            even, odd = load(space.open, (head, boundary, c, q)), zeros()
            next_even, next_odd = load(space.open, (head, boundary, c, q + LANES)), zeros()
            for g in range(0, sentence.sizes[m], 2):
                factor = weight(space.closed, (m, boundary, g))
                even = multiply_add(factor, load(space.arcs, (place, g, q)), even)
                row = load(space.arcs, (place, g, q + LANES))
                next_even = multiply_add(factor, row, next_even)
                factor = weight(space.closed, (m, boundary, g + 1))
                odd = multiply_add(factor, load(space.arcs, (place, g + 1, q)), odd)
                row = load(space.arcs, (place, g + 1, q + LANES))
                next_odd = multiply_add(factor, row, next_odd)
            store(space.open, (head, boundary, c, q), add_vectors(even, odd))
            store(space.open, (head, boundary, c, q + LANES), add_vectors(next_even, next_odd))


@inlined_kernel
def _start_half_of(tables, sentence, space, head, boundary, direction):
    for q in range(0, sentence.widths[head], LANES):
        start = load(tables.starts, (sentence.codes[head], direction, q))
        store(space.open, (head, boundary, 0, q), start)
        for c in range(1, space.open.shape[2]):
            store(space.open, (head, boundary, c, q), zeros())
    space.alive[head, boundary] = True
    _close_half_of(tables, sentence, space, head, boundary, direction)


@inner_table_kernel
def _fill_inside(tables, sentence, space, n):
    width = space.open.shape[2] * space.rows.shape[1]
    for j in range(1, n + 1):
        to_left = shaped(space.open[j], (j * width,))
        to_left[:] = 0.0
        space.closed[j, 0] = 0.0
        _start_half_of(tables, sentence, space, j, j, LEFT_SIDE)
        _start_half_of(tables, sentence, space, j, j + 1, RIGHT_SIDE)
        for i in range(j - 1, 0, -1):
            _make_arc(tables, sentence, space, i, j, RIGHT_SIDE, i + 1, j)
            _make_arc(tables, sentence, space, j, i, LEFT_SIDE, i + 1, j)
            _spread_left(tables, sentence, space, j, i)
            _gather_right(tables, sentence, space, i, j + 1)
            _close_half_of(tables, sentence, space, i, j + 1, RIGHT_SIDE)
            _close_half_of(tables, sentence, space, j, i, LEFT_SIDE)


@inner_table_kernel
def _sum_roots(tables, sentence, space, n):
    """Z = sum_m score[0, m] sum_g root[m, g] closed[m, 1, g] closed[m, N + 1, g]      (eq. 57)."""
    z = 0.0
    for m in range(1, n + 1):
        for g in range(sentence.sizes[m]):
            both = space.closed[m, 1, g] * space.closed[m, n + 1, g]
            if space.alive[m, 1] and space.alive[m, n + 1]:
                z += space.scores[0, m] * tables.roots[sentence.codes[m], g] * both
    return z


@inlined_kernel
def _gather_closed_right(tables, sentence, space, modifier, boundary):
    """Add to d_closed of a right half the terms of arcs to its head from the left (eq. 58)."""
    of_class, n_listed = sentence.classes[modifier], 0
    for h in range(1, modifier):
        if space.places[h, modifier] >= 0 and space.alive[h, boundary]:
            space.listed[n_listed] = h
            n_listed += 1
    arcs, d_open = space.arcs, space.d_open
    for g in range(0, sentence.sizes[modifier], ROWS):
        sum_0, sum_1, sum_2, sum_3 = zeros(), zeros(), zeros(), zeros()
        for t in range(n_listed):
            h = space.listed[t]
            place = space.places[h, modifier]
            for q in range(0, sentence.widths[h], LANES):
                row = load(d_open, (h, boundary, of_class, q))
                sum_0 = multiply_add(row, load(arcs, (place, g, q)), sum_0)
                sum_1 = multiply_add(row, load(arcs, (place, g + 1, q)), sum_1)
                sum_2 = multiply_add(row, load(arcs, (place, g + 2, q)), sum_2)
                sum_3 = multiply_add(row, load(arcs, (place, g + 3, q)), sum_3)
        add_sum(space.d_closed, (modifier, boundary, g), sum_0)
        add_sum(space.d_closed, (modifier, boundary, g + 1), sum_1)
        add_sum(space.d_closed, (modifier, boundary, g + 2), sum_2)
        add_sum(space.d_closed, (modifier, boundary, g + 3), sum_3)


@inlined_kernel
def _differentiate_open(tables, sentence, space, uses, head, boundary, direction):
    """Add the term of a closed half to d_open, after the terms of further arcs (eq. 59)."""
    code, width = sentence.codes[head], sentence.widths[head]
    k = width // tables.moves.shape[2]
    for q in range(0, width, LANES):
        derivative = load(space.d_closed, (head, boundary, q % k))
        derivative = multiply(load(tables.stops, (code, direction, q)), derivative)
        for c in range(space.open.shape[2]):
            factor, index = weight(sentence.stops, (head, direction, c)), (head, boundary, c, q)
            total = multiply_add(factor, derivative, load(space.d_open, index))
            store(space.d_open, index, total)
            if uses.stops.size:
                product = multiply(derivative, load(space.open, index))
                add_sum(uses.stops, (head, direction, c), multiply(factor, product))


@inlined_kernel
def _differentiate_arc(tables, sentence, space, uses, head, modifier, direction, low, high, n):
    """Compute the posterior of an arc, and add its terms to d_closed and d_open (eq. 58)."""
    place, half, first = space.places[head, modifier], (head, modifier, direction), np.int64(0)
    if place < 0:
        return
    width = sentence.widths[head]
    n_listed = list_ends(sentence, space, head, modifier, n)
    sum_outer(sentence, space, space.d_arc, head, modifier, n_listed)
    if direction == LEFT_SIDE:
        add_products(sentence, space, space.arcs, place, head, modifier, n_listed)
    total = zeros()
    for g in range(sentence.sizes[modifier]):
        for q in range(0, width, LANES):
            d_arc = load(space.d_arc, (0, g, q))
            total = multiply_add(load(space.arcs, (place, g, q)), d_arc, total)
    put_sum(uses.marginals, (head, modifier), total)
    move_states(tables, sentence, space, half, space.d_arc, space.d_splits, first, BACKWARDS)
    n_listed = list_splits(sentence, space, head, modifier, low, high)
    add_products(sentence, space, space.d_splits, first, head, modifier, n_listed)
    spread_matrix(sentence, space, space.d_splits, first, head, modifier, n_listed)
    for t in range(n_listed):
        b = space.listed[t]
        for c in range(space.open.shape[2]):
            factor = weight(space.memory, (head, modifier, c))
            for q in range(0, width, LANES):
                row, index = load(space.sums, (t, q)), (head, b, c, q)
                store(space.d_open, index, multiply_add(factor, row, load(space.d_open, index)))
                if uses.arcs.size:
                    product = multiply(row, load(space.open, index))
                    add_sum(uses.arcs, (head, modifier, c), multiply(factor, product))


class Uses(NamedTuple):
    """Expected uses of the factors of one sentence; of size 0 where they are not requested."""

    marginals: np.ndarray  # (N + 1, N + 1), by head and modifier
    arcs: np.ndarray  # (N + 1, N + 1, C)
    stops: np.ndarray  # (N + 1, 2, C)


@inner_table_kernel
def _fill_outside(tables, sentence, space, uses, z, n):
    for m in range(1, n + 1):
        if not (space.alive[m, 1] and space.alive[m, n + 1]):
            continue
        factor = space.scores[0, m] / z
        for g in range(sentence.sizes[m]):
            root = factor * tables.roots[sentence.codes[m], g]
            left, right = space.closed[m, 1, g], space.closed[m, n + 1, g]
            space.d_closed[m, 1, g] += root * right
            space.d_closed[m, n + 1, g] += root * left
            uses.marginals[0, m] += root * left * right
    for j in range(n, 0, -1):
        for i in range(1, j + 1):
            if space.alive[i, j + 1]:
                _gather_closed_right(tables, sentence, space, i, j + 1)
                _differentiate_open(tables, sentence, space, uses, i, j + 1, RIGHT_SIDE)
            if space.alive[j, i]:
                _differentiate_open(tables, sentence, space, uses, j, i, LEFT_SIDE)
            if i < j:
                _differentiate_arc(tables, sentence, space, uses, i, j, RIGHT_SIDE, i + 1, j, n)
                _differentiate_arc(tables, sentence, space, uses, j, i, LEFT_SIDE, i + 1, j, n)


@inner_table_kernel
def _put_factors(tables, factors, s, log_total, sentence, space):
    """Set the codes and scaled factors of a sentence; return the logarithm of the scale.

    Arcs to a token are divided by the largest of them and, if log Z is known approximately, all
    arcs by one factor more, so that Z is about 1.
    """
    first, begin = factors.indptr[s], factors.begins[s]
    n, n_classes = factors.indptr[s + 1] - first, space.open.shape[2]
    n_arcs, shift = 0, 0.0
    for m in range(1, n + 1):
        shift += _largest_log(factors, begin, m, n)
    of_each = 0.0 if np.isnan(log_total) else (log_total - shift) / n
    for m in range(1, n + 1):
        code = sentence.codes[m] = factors.codes[first + m - 1]
        sentence.sizes[m], sentence.widths[m] = tables.sizes[code], tables.widths[code]
        sentence.classes[m] = factors.memory[first + m - 1] if factors.memory.size else 0
        row, of_token = begin + (m - 1) * (n + 1), of_each + _largest_log(factors, begin, m, n)
        for h in range(n + 1):
            log = factors.arcs[row + h] if factors.arcs.size else 0.0
            allowed = h != m and log > -np.inf
            for c in range(n_classes):
                value = factors.arc_memory[row + h, c] if factors.arc_memory.size else 1.0
                space.memory[h, m, c] = value
            space.scores[h, m] = np.exp(log - of_token) if allowed else 0.0
            space.places[h, m] = n_arcs if allowed and h > 0 else -1
            n_arcs += allowed and h > 0
        space.scores[0, m] *= space.memory[0, m, 0]
        for side in range(2):
            for c in range(n_classes):
                value = 1.0
                if factors.stop_memory.size:
                    value = factors.stop_memory[first + m - 1, side, c]
                sentence.stops[m, side, c] = value
    return shift + n * of_each


@inlined_kernel
def _largest_log(factors, begin, m, n):
    """Return the largest log factor of the arcs to a token; 0 if no arc is possible."""
    if not factors.arcs.size:
        return 0.0
    largest, row = -np.inf, begin + (m - 1) * (n + 1)
    for h in range(n + 1):
        if h != m:
            largest = max(largest, factors.arcs[row + h])
    return largest if largest > -np.inf else 0.0


@inner_table_kernel
def _clear_derivatives(space, uses, n):
    width = space.open.shape[2] * space.rows.shape[1]
    for m in range(1, n + 1):
        d_open = shaped(space.d_open[m], ((n + 2) * width,))
        d_open[width:] = 0.0
        d_closed = shaped(space.d_closed[m], ((n + 2) * space.closed.shape[2],))
        d_closed[:] = 0.0
        uses.marginals[: n + 1, m] = 0.0
    uses.arcs[:], uses.stops[:] = 0.0, 0.0


@inner_table_kernel
def _put_results(factors, s, uses, results):
    first = factors.indptr[s]
    n, place = factors.indptr[s + 1] - first, factors.begins[s]
    for m in range(1, n + 1):
        for h in range(n + 1):
            results.arcs[place] = uses.marginals[h, m]
            if results.arc_memory.size:
                for c in range(results.arc_memory.shape[1]):
                    of_root = uses.marginals[0, m] if c == 0 else 0.0
                    results.arc_memory[place, c] = of_root if h == 0 else uses.arcs[h, m, c]
            place += 1
        if results.stop_memory.size:
            for side in range(2):
                for c in range(results.stop_memory.shape[2]):
                    results.stop_memory[first + m - 1, side, c] = uses.stops[m, side, c]


@inner_table_kernel
def sum_inside(tables, factors, s, log_total, sentence, space):
    """Compute inside values, scaled, of a sentence; Z is 0 where it is out of range.

    The second value is the logarithm of the scale: to be added to log Z.
    """
    shift = _put_factors(tables, factors, s, log_total, sentence, space)
    n = factors.indptr[s + 1] - factors.indptr[s]
    space.alive[:] = False
    _fill_inside(tables, sentence, space, n)
    z = _sum_roots(tables, sentence, space, n)
    return z if SMALLEST_TOTAL < z < LARGEST_TOTAL else 0.0, shift


@table_kernel
def _run_sentences(
    tables, factors, which, log_totals, weights, results, sentence, space, uses, counts, states
):
    """Run the chart on sentences, one by one, and set their results and states."""
    for t in range(which.size):
        s = which[t]
        n = factors.indptr[s + 1] - factors.indptr[s]
        z, shift = sum_inside(tables, factors, s, log_totals[t], sentence, space)
        if z == 0:
            states[t] = OUT_OF_RANGE
            continue
        results.sign[s], results.log_abs_z[s] = 1, np.log(z) + shift
        states[t] = DONE
        if results.arcs.size:
            _clear_derivatives(space, uses, n)
            _fill_outside(tables, sentence, space, uses, z, n)
            _put_results(factors, s, uses, results)
            if counts.moves.size:
                add_refined_counts(tables, sentence, space, z, weights[s], counts, n)


def new_room(tables, factors, which, with_uses):
    """Allocate the arrays for one sentence, of the length of the longest of a chunk.

    Parameters
    ----------
    tables : RefinedTables
    factors : Factors
    which : int ndarray
        The sentences, at least one.
    with_uses : bool
        Whether to make room for derivatives.

    Returns
    -------
    sentence : RefinedSentence
    space : RefinedSpace
    """
    n, n_classes = int(np.diff(factors.indptr)[which].max()), classes_of.py_func(factors)
    n_arcs = [n * n]
    if factors.arcs.size:
        allowed = factors.arcs > -np.inf
        n_arcs = np.add.reduceat(allowed, factors.begins[:-1], dtype=np.int64)[which]
    k, width = tables.roots.shape[1], tables.starts.shape[2]
    of_arcs = int(max(n_arcs)), k, width

    def room(*shape):
        return aligned(int(np.prod(shape))).reshape(shape)

    halves, ends = (n + 1, n + 2, n_classes, width), (n + 1, n + 2, k)
    space = RefinedSpace(
        room(*halves),
        room(*halves) if with_uses else room(0, 0, n_classes, width),
        room(*ends),
        room(*ends),
        np.zeros((n + 1, n + 2), dtype=np.bool_),
        room(*of_arcs),
        *(room(1, k, width) for _ in range(3)),
        np.empty((n + 1, n + 1), dtype=np.int64),
        np.empty((n + 1, n + 1)),
        np.empty((n + 1, n + 1, n_classes)),
        *(room(n + ROWS, width) for _ in range(2)),
        np.empty(n + ROWS, dtype=np.int64),
    )
    codes = np.empty((4, n + 1), dtype=np.int64)
    return RefinedSentence(*codes, np.empty((n + 1, 2, n_classes))), space


def run_refined(call, which, log_totals=None):
    """Parse sentences of a Call with a grammar that has refinements.

    Parameters
    ----------
    call : Call
        Its grammar is a PackedRefined, and its counts are RefinedCounts.
    which : int ndarray
        The sentences to parse.
    log_totals : None or ndarray of the shape of `which`, default=None
        Log Z of each sentence, approximately; None if unknown.

    Returns
    -------
    states : uint8 ndarray of the shape of `which`
        DONE, or OUT_OF_RANGE where Z vanishes or leaves the doubles.
    """
    if not which.size:
        return np.empty(0, dtype=np.uint8)
    grammar, factors, results, weights, counts = call
    tables = grammar.refined
    log_totals = np.full(which.size, np.nan) if log_totals is None else log_totals
    sentence, space = new_room(tables, factors, which, results.arcs.size > 0)
    n, n_classes = len(sentence.codes) - 1, space.open.shape[2]
    with_memory = results.arc_memory.size or results.stop_memory.size
    n_wanted = n + 1 if with_memory else 0
    uses = Uses(
        np.empty((n + 1, n + 1)),
        np.empty((n_wanted, n_wanted, n_classes)),
        np.empty((n_wanted, 2, n_classes)),
    )
    states = np.empty(which.size, dtype=np.uint8)
    _run_sentences(
        *(tables, factors, which, log_totals, weights, results),
        *(sentence, space, uses, counts, states),
    )
    return states
