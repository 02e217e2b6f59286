"""The ladder of grammars and charts that the sentences of a chunk climb."""

import numpy as np

from sklearn_shag.parsing._fast_driver import run_fast
from sklearn_shag.parsing._fast_uses import NO_COUNTS
from sklearn_shag.parsing._packed_grammar import writable
from sklearn_shag.parsing._potentials import as_factors
from sklearn_shag.parsing._results import ROUTES, new_results
from sklearn_shag.parsing._scaled_driver import run_scaled


def climb(grammars, potentials, with_uses=True, weights=None, counts=NO_COUNTS):
    """Parse a chunk of sentences, each with the first of the grammars that has mass for it.

    Parameters
    ----------
    grammars : sequence of PackedGrammar
        Over the same symbols.
    potentials : Potentials
        As :func:`check_potentials` returns them.
    with_uses : bool, default=True
        Whether expected uses are wanted, of arcs and of all factors that are given.
    weights : None or ndarray of shape (n_sentences,), default=None
        How often the uses of each sentence are counted.
    counts : Counts, default=NO_COUNTS
        Of the first grammar: what is used of its operators is added.

    Returns
    -------
    factors : Factors
    results : Results
        Uses are NaN for sentences that no grammar has mass for.
    """
    factors = as_factors(potentials)
    results, lengths = new_results(factors, with_uses), factors.indptr[1:] - factors.indptr[:-1]
    weights = np.ones(lengths.size) if weights is None else weights
    pending = lengths.argsort(kind="stable")
    for k, grammar in enumerate(grammars):
        if pending.size and grammar.fast is not None:
            fast = writable(grammar.fast)
            done = run_fast(fast, factors, pending, results, weights, counts.fast)
            pending = _take_route("fallback" if k else "fast", done, pending, results)
        if pending.size:
            # Out of range, or without mass, which only this chart is sure of.
            done = np.empty(pending.size, dtype=bool)
            operators = grammar.operators
            run_scaled(operators, factors, pending, results, done, weights, counts.scaled)
            pending = _take_route("fallback" if k else "scaled", done, pending, results)
    for s in pending:
        of_arcs = slice(factors.begins[s], factors.begins[s + 1])
        results.arcs[of_arcs] = results.arc_memory[of_arcs] = np.nan
        results.stop_memory[factors.indptr[s] : factors.indptr[s + 1]] = np.nan
    return factors, results


def _take_route(route, done, pending, results):
    """Note how the sentences that are done were parsed, and return the others."""
    results.route[pending[done]] = ROUTES.index(route)
    return pending[~done]
