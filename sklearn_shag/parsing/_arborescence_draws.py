"""Trees of a sentence drawn exactly, and the best ones, whether or not their arcs cross.

Tokens come back in the reverse order of their elimination (:mod:`_arborescences`). After the
elimination of token k, the weight of an arc from h to m is the sum of the weight that it has by
itself and of its weights by way of each token from k on. So for each arc of a tree over the tokens
before k, the token that it goes by is drawn once, and nothing is subtracted here either. When that
token comes back, m depends on it; its own head is drawn among the tokens that do not depend on it.
"""

import heapq

import numpy as np

from sklearn_shag.parsing._arborescences import eliminate, new_tables, put_weights
from sklearn_shag.parsing._decoders import best_arborescence, find_arborescences
from sklearn_shag.utils._kernel import inner_table_kernel, table_kernel


def draw_all_trees(factors, seeds, n_samples):
    """Draw trees of sentences, as :func:`draw_trees` does for grammars."""
    n_sentences = factors.indptr.size - 1
    samples = np.empty((n_samples, factors.indptr[-1]), dtype=np.int64)
    lost = np.ones(n_sentences, dtype=bool)
    longest = int(np.diff(factors.indptr).max(initial=0))
    tables, marks = new_tables(longest), np.empty((4, longest), dtype=np.int64)
    for s in range(n_sentences):
        rng, scores = np.random.default_rng(seeds[s]), _scores_of(factors, s)
        own = samples[:, factors.indptr[s] : factors.indptr[s + 1]]
        lost[s] = not _draw_samples(scores, *tables, marks, own, rng)
    return samples, lost


def _scores_of(factors, s):
    begin, n = factors.begins[s], int(factors.indptr[s + 1] - factors.indptr[s])
    if not factors.arcs.size:
        return np.zeros((n, n + 1))
    return factors.arcs[begin : begin + n * (n + 1)].reshape(n, n + 1)


@table_kernel
def _draw_samples(scores, tables, sums, order, marks, samples, rng):
    """Draw trees of one sentence; return whether its values are in range."""
    n = scores.shape[0]
    rows = tables[0, : n * (n + 1)].reshape((n, n + 1))
    first = tables[1, : n * (n + 1)].reshape((n, n + 1))
    put_weights(scores, first, rows, sums, order)
    if not -np.inf < eliminate(rows, sums, order) < np.inf:
        return False
    heads, ways = marks[2, :n], marks[3, :n]
    for row in range(samples.shape[0]):
        heads[0], ways[0] = 0, _draw_way(first, rows, sums, order, 0, 0, 1, rng)
        for k in range(1, n):
            _insert(first, rows, sums, order, k, marks[0], marks[1], heads, ways, rng)
        for m in range(n):
            samples[row, order[m]] = order[heads[m] - 1] + 1 if heads[m] else 0
    return True


@inner_table_kernel
def _draw_way(first, rows, sums, order, m, h, begin, rng):
    """Draw the token, from `begin` on, that the arc from h to m goes by; N for none (eq. 69)."""
    n = rows.shape[0]
    itself = first[order[m], order[h - 1] + 1 if h else 0]
    total = itself
    for k in range(begin, n):
        total += rows[m, k + 1] / sums[k] * rows[k, h]
    left = rng.random() * total - itself
    way = n
    for k in range(begin, n):
        if left < 0.0:
            break
        by = rows[m, k + 1] / sums[k] * rows[k, h]
        if by > 0.0:
            way, left = k, left - by
    return way


@inner_table_kernel
def _insert(first, rows, sums, order, k, below, path, heads, ways, rng):
    """Put token k back into a tree over the tokens before it."""
    is_root, any_below = False, False
    for m in range(k):
        below[m] = 0
        if ways[m] == k:
            is_root |= heads[m] == 0
            heads[m], below[m], any_below = k + 1, 1, True
            ways[m] = _draw_way(first, rows, sums, order, m, k + 1, k + 1, rng)
    heads[k] = 0
    if not is_root:
        if any_below:
            _mark_below(k, below, path, heads)
        heads[k] = _draw_head(rows[k], k, below, rng)
    ways[k] = _draw_way(first, rows, sums, order, k, heads[k], k + 1, rng)


@inner_table_kernel
def _mark_below(k, below, path, heads):
    """Set `below` to 1 for the tokens before k that depend on it, and to 2 for the others."""
    for m in range(k):
        node, size = m, 0
        while below[node] == 0:
            path[size], size = node, size + 1
            if heads[node] == 0:
                break
            node = heads[node] - 1
        mark = max(below[node], 1) if below[node] else 2
        for j in range(size):
            below[path[j]] = mark


@inner_table_kernel
def _draw_head(pivot, k, below, rng):
    """Draw the head of token k among the tokens before it that do not depend on it (eq. 70)."""
    total = 0.0
    for m in range(k):
        total += pivot[m + 1] if below[m] != 1 else 0.0
    left, head = rng.random() * total, 0
    for m in range(k):
        if below[m] != 1 and pivot[m + 1] > 0.0:
            head, left = m + 1, left - pivot[m + 1]
            if left < 0.0:
                break
    return head


def best_all_trees(factors, heads, values):
    """List the best trees of sentences, with the results of :func:`best_derivations`.

    Lawler (1972): of the trees that differ from those found first at one token, and agree with one
    of them at all tokens before, the best comes next. k trees take k N searches of O(N^2).
    """
    if len(heads) == 1:
        arcs = factors.arcs if factors.arcs.size else np.zeros(factors.begins[-1])
        values[0] = find_arborescences(arcs, factors.begins, factors.indptr, heads[0])
        return
    for s in range(factors.indptr.size - 1):
        own = slice(factors.indptr[s], factors.indptr[s + 1])
        _list_best(_scores_of(factors, s), heads[:, own], values[:, s])


def _list_best(scores, heads, values):
    k, n = heads.shape
    values[:], best, n_met = -np.inf, np.empty(n, dtype=np.int64), 1
    agenda = [(-best_arborescence(scores, best), 0, best, 0, scores)]
    heads[:] = best
    for row in range(k):
        if not agenda or agenda[0][0] == np.inf:
            return
        value, _, heads[row], begin, kept = heapq.heappop(agenda)
        values[row] = -value
        kept = kept.copy()
        for m in range(begin, n):
            other, found = kept.copy(), np.empty(n, dtype=np.int64)
            other[m, heads[row, m]] = -np.inf
            heapq.heappush(agenda, (-best_arborescence(other, found), n_met, found, m, other))
            n_met += 1
            kept[m] = np.where(np.arange(n + 1) == heads[row, m], kept[m], -np.inf)
