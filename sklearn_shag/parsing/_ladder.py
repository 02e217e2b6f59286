"""The ladder of grammars and charts that a sentence climbs, and the repair of its marginals."""

import numpy as np

from sklearn_shag.parsing._fast_driver import run_fast
from sklearn_shag.parsing._packed_grammar import pack_grammar
from sklearn_shag.parsing._results import ROUTES, new_results
from sklearn_shag.parsing._scaled_driver import run_scaled
from sklearn_shag.utils._kernel import kernel

# Marginals of signed operators can come out zero or negative; eq. 28 takes their logarithm.
SMALLEST_MARGINAL = 1e-12


def parse_chunk(grammars, first, codes, indptr, with_marginals=True):
    """Parse a chunk, each sentence with the first of the grammars that has mass for it.

    `first` is the :func:`pack_grammar` of the first, made once for all chunks; the others are
    seldom needed.
    """
    results = new_results(indptr, with_marginals)
    pending = np.arange(indptr.size - 1)
    for k, operators in enumerate(grammars):
        if not pending.size:
            break
        packed, place = first
        if k:
            of_pending = [codes[indptr[s] : indptr[s + 1]] for s in pending]
            packed, place = pack_grammar(operators, np.concatenate(of_pending))
        if packed is not None:
            done = run_fast(packed, place[codes], indptr, pending, results)
            pending = _take_route("fallback" if k else "fast", done, pending, results)
        if pending.size:
            # Out of range, or without mass, which only this chart is sure of.
            done = np.empty(pending.size, dtype=bool)
            run_scaled(operators, codes, indptr, pending, results, done)
            pending = _take_route("fallback" if k else "scaled", done, pending, results)
    if with_marginals:
        for s in pending:  # no head is better than another
            results.marginals[results.begins[s] : results.begins[s + 1]] = 1.0
    return results


def _take_route(route, done, pending, results):
    """Note how the sentences that are done were parsed, and return the others."""
    results.route[pending[done]] = ROUTES.index(route)
    return pending[~done]


@kernel
def repair(marginals, begins, indptr):
    """Make signed marginals a distribution over heads for every token: clip, then renormalise.

    Their rows sum to 1 as they are, also where Z is negative. What is clipped here is what
    decoding and users see alike.
    """
    for s in range(indptr.size - 1):
        n = indptr[s + 1] - indptr[s]
        of_sentence = marginals[begins[s] : begins[s + 1]].reshape((n - 1, n))
        for m in range(1, n):
            row, total = of_sentence[m - 1], 0.0
            for h in range(n):
                row[h] = max(row[h], SMALLEST_MARGINAL) if h != m else 0.0
                total += row[h]
            for h in range(n):
                row[h] /= total
