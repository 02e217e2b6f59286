"""Chunks of sentences through the fast chart: one by one, or in lockstep."""

import math
from typing import NamedTuple

import numpy as np

from sklearn_shag.parsing._fast_chart import (
    CLOSED,
    COMPLETE,
    D_CLOSED,
    INCOMPLETE,
    Sentence,
    inside,
    outside,
)
from sklearn_shag.sequences import LEFT, RIGHT
from sklearn_shag.utils._kernel import inlined_kernel, merged_kernel, table_kernel
from sklearn_shag.utils._simd import LANES, aligned

# Sentences up to this length are one tile, longer ones and those in lockstep are cut; measured.
LONGEST_UNCUT = 24
TILE = np.int64(4)

# A chart is in range if no entry is larger, and no closed half, nor Z, is smaller unless it is 0:
# then whatever vanished in a product is negligible. Operators may be small, but not larger.
SMALLEST, LARGEST = 1e-90, 1e90
# Of the scale of a token, as a power of two.
LARGEST_EXPONENT = 100
# Sentences up to this length seldom need a scale.
LONGEST_UNSCALED = 24
# So many tokens tell by what factor the value of a sentence changes with each; where they were not
# enough, so many.
N_PROBED, N_PROBED_AGAIN = np.int64(12), np.int64(48)


class LaneGrammar(NamedTuple):
    """Operators in the layout of the fast chart, of the symbols that a text has."""

    alpha_1: np.ndarray  # (n_heads, 2, n), states padded to a multiple of LANES
    alpha_inf: np.ndarray  # (n_heads, 2, n)
    A: np.ndarray  # (n_heads, 2, n_symbols, n, n)
    A_transposed: np.ndarray  # the last two axes exchanged
    roots: np.ndarray  # (n_symbols,): the value of being the one root


def lane_grammar(operators, codes):
    """Take the operators that a text needs, in the layout of the fast chart.

    Parameters
    ----------
    operators : Operators
        Of a grammar.
    codes : int ndarray
        All codes of the text.

    Returns
    -------
    grammar : LaneGrammar or None
        None if entries are so large that the fast chart cannot take them.
    place : int ndarray of shape (n_heads,)
        The code in `grammar` of each code. The root symbol is the last head.
    """
    n_heads, _, n_states = operators.alpha_1.shape
    used = np.flatnonzero(np.bincount(codes, minlength=n_heads)[:-1])
    place = np.zeros(n_heads, dtype=np.int64)
    place[used], place[-1] = np.arange(used.size), used.size
    heads = np.append(used, n_heads - 1)
    alpha_1, alpha_inf = operators.alpha_1[heads], operators.alpha_inf[heads]
    A = operators.A[heads[:, None, None], [[0], [1]], used]
    if not all(np.all(np.abs(part) <= LARGEST) for part in (alpha_1, alpha_inf, A)):
        return None, place
    roots = A[-1, RIGHT] @ alpha_1[-1, RIGHT] @ alpha_inf[-1, RIGHT]
    if n_states == 1:
        A = np.ascontiguousarray(A)  # for kernels that are compiled for this layout
        return LaneGrammar(alpha_1, alpha_inf, A, A, roots), place
    parts = [_pad(part, part.shape[:2]) for part in (alpha_1, alpha_inf)]
    parts += [_pad(part, part.shape[:3]) for part in (A, A.swapaxes(3, 4))]
    return LaneGrammar(*parts, roots), place


def _pad(values, leading):
    """Pad the axes of states, which follow the leading ones, with zeros to a multiple of LANES."""
    axes = values.shape[len(leading) :]
    out = aligned((*leading, *(size + -size % LANES for size in axes)))
    out[...] = 0.0
    out[(..., *map(slice, axes))] = values
    return out


def run_fast(grammar, codes, indptr, which, results):
    """Parse sentences of a chunk.

    Parameters
    ----------
    grammar : LaneGrammar
    codes, indptr : int ndarrays
        Sentence s is ``codes[indptr[s]:indptr[s + 1]]``, in codes of the grammar; its first code is
        the root symbol's.
    which : int ndarray
        The sentences to parse, the shortest first.
    results : Results
        Of sentences that are done they are set; marginals only if there is room for them.

    Returns
    -------
    done : bool ndarray of the shape of `which`
        Where it is False, the chart with exponents must tell.
    """
    # Other processes get large arrays read-only, which would be another type to the kernels.
    grammar = LaneGrammar(
        *(part if part.flags.writeable else _pad(part, part.shape) for part in grammar)
    )
    n_states = grammar.alpha_1.shape[2]
    run, n_states, n_lanes = (
        (_in_lockstep, LANES, LANES) if n_states == 1 else (_one_by_one, n_states, 1)
    )
    longest = indptr[which[-1] + 1] - indptr[which[-1]] - 1
    workspace = _new_workspace(longest, n_states, n_lanes)
    done = np.empty(which.size, dtype=bool)
    run(grammar, codes, indptr, which, results, workspace, done)
    return done


@inlined_kernel
def _padded(n_tokens):
    """P of the tables: room for groups of four, and rows that begin in different cache sets."""
    return (n_tokens + 5 + 3) // 4 * 4


class Workspace(NamedTuple):
    """Memory for the longest sentence of a chunk, used for all of them."""

    vectors: np.ndarray
    numbers: np.ndarray
    starts: np.ndarray
    stops: np.ndarray
    roots: np.ndarray
    arc_scores: np.ndarray
    marginals: np.ndarray
    lengths: np.ndarray
    z: np.ndarray
    exponents: np.ndarray
    n_wrong: np.ndarray


def _new_workspace(n_tokens, n_states, n_lanes):
    p, n = _padded(n_tokens), n_tokens + 1
    return Workspace(
        vectors=aligned(5 * p * (p + 1) * n_states),
        numbers=aligned(3 * (p + 1) ** 2 * n_lanes),
        starts=aligned(2 * n * n_states),
        stops=aligned(2 * n * n_states),
        roots=aligned(n * n_lanes),
        arc_scores=aligned(n * n * n_lanes),
        marginals=aligned((n - 1) * n * n_lanes),
        lengths=np.empty(n_lanes, dtype=np.int64),
        z=np.empty(n_lanes),
        exponents=np.zeros(n_lanes, dtype=np.int64),
        n_wrong=np.empty(n_lanes, dtype=np.int64),
    )


class Lanes(NamedTuple):
    """Sentences side by side: LANES of them in lockstep, else one. The last axis counts them."""

    lengths: np.ndarray  # (n_lanes,)
    roots: np.ndarray  # (N + 1, n_lanes)
    arc_scores: np.ndarray  # (N + 1, N + 1, n_lanes)
    numbers: np.ndarray  # (3, P + 1, P + 1, n_lanes)
    marginals: np.ndarray  # (N, N + 1, n_lanes)
    z: np.ndarray  # (n_lanes,), set by the chart
    exponents: np.ndarray  # (n_lanes,): arcs are divided by 2 to their power
    n_wrong: np.ndarray  # (n_lanes,): how many entries of the chart are out of range


@table_kernel
def _one_by_one(grammar, codes, indptr, which, results, space, done):
    """Parse sentences with states in lanes; tell which of `which` are done."""
    n_states = grammar.alpha_1.shape[2]
    for k in range(which.size):
        s = which[k]
        tokens = codes[indptr[s] : indptr[s + 1]]
        n, p = tokens.size, _padded(tokens.size - 1)
        lanes = _lanes(space, n, p, 1)
        arc_scores = lanes.arc_scores.reshape((n, n))
        numbers = lanes.numbers.reshape((3, p + 1, p + 1))
        marginals = lanes.marginals.reshape((n - 1, n))
        starts = space.starts[: 2 * n * n_states].reshape((n, 2, n_states))
        stops = space.stops[: 2 * n * n_states].reshape((n, 2, n_states))
        lanes.lengths[0] = n - 1
        for m in range(1, n):
            lanes.roots[m, 0] = grammar.roots[tokens[m]]
            for direction in range(2):
                for q in range(n_states):
                    starts[m, direction, q] = grammar.alpha_1[tokens[m], direction, q]
                    stops[m, direction, q] = grammar.alpha_inf[tokens[m], direction, q]
            for h in range(1, n):
                arc_scores[m, h] = 1.0
        vectors = space.vectors[: 5 * p * (p + 1) * n_states].reshape((5, p, p + 1, n_states))
        sentence = Sentence(tokens, starts, stops, grammar.A, grammar.A_transposed, arc_scores)
        tile = n - 1 if n - 1 <= LONGEST_UNCUT else TILE
        _solve(sentence, vectors, numbers, marginals, lanes, results, tile)
        done[k] = _put_result(lanes, 0, s, results)


@table_kernel
def _in_lockstep(grammar, codes, indptr, which, results, space, done):
    """Parse sentences of one state, LANES at a time; tell which of `which` are done."""
    for first in range(0, which.size, LANES):
        end = min(first + LANES, which.size)
        n = indptr[which[end - 1] + 1] - indptr[which[end - 1]]  # the last is the longest
        p = _padded(n - 1)
        lanes = _lanes(space, n, p, LANES)
        starts = space.starts[: 2 * n * LANES].reshape((n, 2, LANES))
        stops = space.stops[: 2 * n * LANES].reshape((n, 2, LANES))
        for lane in range(LANES):
            k = min(first + lane, end - 1)  # the last fills lanes that would be empty
            tokens = codes[indptr[which[k]] : indptr[which[k] + 1]]
            lanes.lengths[lane] = tokens.size - 1
            for h in range(1, n):
                present = h < tokens.size
                lanes.roots[h, lane] = grammar.roots[tokens[h]] if present else 0.0
                for direction in range(2):
                    start, stop = 0.0, 0.0
                    if present:
                        start = grammar.alpha_1[tokens[h], direction, 0]
                        stop = grammar.alpha_inf[tokens[h], direction, 0]
                    starts[h, direction, lane], stops[h, direction, lane] = start, stop
                for m in range(1, n):
                    score = 0.0
                    if present and m < tokens.size:
                        direction = RIGHT if m > h else LEFT
                        score = grammar.A[tokens[h], direction, tokens[m], 0, 0]
                    lanes.arc_scores[h, m, lane] = score
        vectors = space.vectors[: 5 * p * (p + 1) * LANES].reshape((5, p, p + 1, LANES))
        # Codes are for operators, which arcs have in them already.
        sentence = Sentence(which, starts, stops, None, None, lanes.arc_scores)
        numbers, marginals = lanes.numbers, lanes.marginals
        # Always in tiles: the order of sums must not depend on how long the others are.
        _solve(sentence, vectors, numbers, marginals, lanes, results, TILE)
        for k in range(first, end):
            done[k] = _put_result(lanes, k - first, which[k], results)


@inlined_kernel
def _lanes(space, n, p, n_lanes):
    """Cut what sentences side by side need from the workspace."""
    return Lanes(
        space.lengths,
        space.roots[: n * n_lanes].reshape((n, n_lanes)),
        space.arc_scores[: n * n * n_lanes].reshape((n, n, n_lanes)),
        space.numbers[: 3 * (p + 1) ** 2 * n_lanes].reshape((3, p + 1, p + 1, n_lanes)),
        space.marginals[: (n - 1) * n * n_lanes].reshape((n - 1, n, n_lanes)),
        space.z,
        space.exponents,
        space.n_wrong,
    )


@merged_kernel
def _solve(sentence, vectors, numbers, marginals, lanes, results, tile):
    """Fill Z and, if there is room for them, marginals, and tell what is out of range.

    Arcs are divided by a power of two, so that the value of a sentence is near 1. That rounds
    nothing: results are the same to the last bit for any power. The power comes from the first
    tokens of the sentence, and from more of them where it turns out not to do. So a sentence
    decides by itself whether it is in range, not those before or beside it.
    """
    n_tokens = sentence.starts.shape[0] - 1
    n_probed = N_PROBED if _begin_unscaled(lanes) else 0
    retried = False
    while True:  # one call of `inside`, since each is compiled
        inside(sentence, min(n_probed, n_tokens) if n_probed else n_tokens, tile, vectors, numbers)
        if n_probed:
            _probe(lanes, n_probed)
            n_probed = 0
        else:
            _attach_roots(lanes)
            if _all_in_range(vectors, lanes, n_tokens) or retried:
                break
            n_probed, retried = N_PROBED_AGAIN, True
    if results.marginals.size:
        outside(sentence, n_tokens, tile, vectors, numbers, marginals)


@inlined_kernel
def _begin_unscaled(lanes):
    """Set all powers to 0, and return whether a sentence is so long that it needs another."""
    n_long = 0
    for lane in range(lanes.lengths.size):
        lanes.exponents[lane] = 0
        lanes.n_wrong[lane] = lanes.lengths[lane] > LONGEST_UNSCALED
        n_long += lanes.n_wrong[lane]
    return n_long > 0


@inlined_kernel
def _scale(lanes, lane, exponent):
    """Divide arcs by two to the power `exponent` from now on."""
    factor = 2.0 ** (lanes.exponents[lane] - exponent)
    lanes.exponents[lane] = exponent
    for h in range(1, lanes.arc_scores.shape[0]):
        for m in range(1, lanes.arc_scores.shape[1]):
            lanes.arc_scores[h, m, lane] *= factor


@table_kernel
def _probe(lanes, n_probed):
    """Set the powers, where they are wrong, by what each of the first tokens contributes to Z."""
    for lane in range(lanes.lengths.size):
        if not lanes.n_wrong[lane]:
            continue
        n = min(n_probed, lanes.lengths[lane])
        largest = 0.0
        for m in range(1, n + 1):
            left = lanes.numbers[CLOSED, m, 1, lane]
            largest = max(largest, abs(left * lanes.numbers[CLOSED, m, n + 1, lane]))
        exponent = lanes.exponents[lane]
        if 0.0 < largest < np.inf:
            exponent += round(np.log2(largest) / n)
        _scale(lanes, lane, min(max(exponent, -LARGEST_EXPONENT), LARGEST_EXPONENT))


@table_kernel
def _all_in_range(vectors, lanes, n_tokens):
    """Whether nothing is lost in the chart; count, by lane, the entries that say otherwise.

    What is lost in a vector beside larger entries is negligible, and where the whole of it is,
    the closed half that it leads to is too small.
    """
    n_lanes, width = lanes.lengths.size, vectors.shape[2] * vectors.shape[3]
    for lane in range(n_lanes):
        lanes.n_wrong[lane] = _is_out_of_range(lanes.z[lane], SMALLEST)
    for h in range(1, n_tokens + 1):
        # There is a boundary behind the last token, but no modifier.
        for table, end in ((COMPLETE, n_tokens + 2), (INCOMPLETE, n_tokens + 1)):
            row = vectors[table, h].reshape(width)
            row = row[vectors.shape[3] : end * vectors.shape[3]]
            _count_out_of_range(row, 0.0, lanes.n_wrong)
        row = lanes.numbers[CLOSED, h].reshape(lanes.numbers.shape[2] * n_lanes)
        _count_out_of_range(row[n_lanes : (n_tokens + 2) * n_lanes], SMALLEST, lanes.n_wrong)
    n_wrong = 0
    for lane in range(n_lanes):
        n_wrong += lanes.n_wrong[lane]
    return n_wrong == 0


@inlined_kernel
def _count_out_of_range(values, smallest, n_wrong):
    if n_wrong.size == 1:
        count = 0  # in a register
        for k in range(values.size):
            count += _is_out_of_range(values[k], smallest)
        n_wrong[0] += count
        return
    for k in range(0, values.size, LANES):
        for lane in range(LANES):
            n_wrong[lane] += _is_out_of_range(values[k + lane], smallest)


@inlined_kernel
def _is_out_of_range(value, smallest):
    # Without branches, so that several are compared at once; NaN is not equal to itself.
    size = abs(value)
    return (size != 0.0) & ((size < smallest) | (size > LARGEST) | (size != size))


@table_kernel
def _attach_roots(lanes):
    """Z = sum_m w(m) closed[m, 1] closed[m, N + 1] and its derivatives (eqs. 23, 24)."""
    numbers = lanes.numbers
    d_closed = numbers[D_CLOSED].reshape(numbers[D_CLOSED].size)
    for k in range(d_closed.size):
        d_closed[k] = 0.0
    for lane in range(lanes.lengths.size):
        n = lanes.lengths[lane] + 1
        scale = 2.0 ** -lanes.exponents[lane]
        z = 0.0
        for m in range(1, n):
            closed = numbers[CLOSED, m, 1, lane] * numbers[CLOSED, m, n, lane]
            z += scale * lanes.roots[m, lane] * closed
        lanes.z[lane] = z
        for m in range(1, n):
            factor = scale * lanes.roots[m, lane] / z if z != 0.0 else 0.0
            left, right = numbers[CLOSED, m, 1, lane], numbers[CLOSED, m, n, lane]
            numbers[D_CLOSED, m, 1, lane] += factor * right
            numbers[D_CLOSED, m, n, lane] += factor * left
            lanes.marginals[m - 1, 0, lane] = factor * left * right


@table_kernel
def _put_result(lanes, lane, s, results):
    """Keep the results of one sentence; return whether it is done."""
    z, n_tokens = lanes.z[lane], lanes.lengths[lane]
    if lanes.n_wrong[lane] or z == 0.0:
        return False
    if results.marginals.size:
        total, place = 0.0, results.begins[s]
        for m in range(n_tokens):
            for h in range(n_tokens + 1):
                marginal = lanes.marginals[m, h, lane] if h != m + 1 else 0.0
                results.marginals[place] = marginal
                total += abs(marginal)
                place += 1
        if not np.isfinite(total):
            return False
    results.sign[s] = np.sign(z)
    # Taken apart, so that the power of two decides over no bit.
    mantissa, exponent = math.frexp(abs(z))
    exponent += lanes.exponents[lane] * n_tokens
    results.log_abs_z[s] = np.log(mantissa) + np.log(2.0) * exponent
    return True
