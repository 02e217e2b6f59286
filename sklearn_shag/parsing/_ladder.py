"""The ladder of grammars and charts that the sentences of a chunk climb."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sklearn_shag.parsing._chunks import take_batch
from sklearn_shag.parsing._fast_driver import run_fast
from sklearn_shag.parsing._fast_uses import NO_COUNTS
from sklearn_shag.parsing._packed_grammar import PackedGrammar, writable
from sklearn_shag.parsing._potentials import Potentials, arc_begins, as_factors, places_of
from sklearn_shag.parsing._results import ROUTES, new_results
from sklearn_shag.parsing._scaled_driver import run_scaled


class Rung(NamedTuple):
    """One way to parse: a grammar, and what the chart is to know of the sentences of a Batch."""

    grammar: PackedGrammar
    make_potentials: Callable

    def potentials_of(self, batch):
        """Make the potentials of a batch, and forbid what is not allowed."""
        potentials = self.make_potentials(batch)
        if batch.allowed is None:
            return potentials
        arcs = np.where(np.concatenate([part.ravel() for part in batch.allowed]), 0.0, -np.inf)
        arcs = arcs if potentials.arcs is None else arcs + potentials.arcs
        return potentials._replace(arcs=arcs)


def potentials_of_codes(batch):
    """Make the potentials of a grammar that sees nothing but symbols."""
    return Potentials(batch.indptr, batch.codes)


def climb(rungs, batch, with_uses=True, of_memory=False, weights=None, counts=NO_COUNTS):
    """Parse a chunk of sentences, each by the first of the rungs that has mass for it.

    Parameters
    ----------
    rungs : sequence of Rung
    batch : Batch
    with_uses : bool, default=True
        Whether expected uses are wanted of arcs.
    of_memory : bool, default=False
        Whether those of the factors of memory are too. Of sentences that a further rung has mass
        for, they are not set.
    weights : None or ndarray of shape (n_sentences,), default=None
        How often the uses of each sentence are counted, if there is a single rung.
    counts : Counts, default=NO_COUNTS
        Of its grammar: what is used of its operators is added.

    Returns
    -------
    factors : Factors
        Of the first rung.
    results : Results
        Uses are NaN for sentences that no rung has mass for.
    """
    whole = lost = None
    for rung in rungs:
        part = batch if whole is None else take_batch(batch, lost)
        factors = as_factors(rung.potentials_of(part))
        lengths = factors.indptr[1:] - factors.indptr[:-1]
        results = new_results(factors, with_uses, of_memory)
        weights = np.ones(lengths.size) if weights is None else weights
        pending, grammar = lengths.argsort(kind="stable"), rung.grammar
        if grammar.fast is not None:
            fast = writable(grammar.fast)
            done = run_fast(fast, factors, pending, results, weights, counts.fast)
            pending = _take_route("fast", done, pending, results)
        if pending.size:
            # Out of range, or without mass, which only this chart is sure of.
            done = np.empty(pending.size, dtype=bool)
            scaled = grammar.scaled
            run_scaled(scaled, factors, pending, results, done, weights, counts.scaled)
            pending = _take_route("scaled", done, pending, results)
        for s in pending:
            of_arcs = slice(factors.begins[s], factors.begins[s + 1])
            results.arcs[of_arcs] = results.arc_memory[of_arcs] = np.nan
            results.stop_memory[factors.indptr[s] : factors.indptr[s + 1]] = np.nan
        if whole is None:
            whole, lost = (factors, results), pending
        else:
            _put(results, lost, whole[1], batch.indptr)
            lost = lost[pending]
        if not lost.size:
            break
    return whole


def _take_route(route, done, pending, results):
    """Note how the sentences that are done were parsed, and return the others."""
    results.route[pending[done]] = ROUTES.index(route)
    return pending[~done]


def _put(results, chosen, whole, indptr):
    """Put what a further rung found of some sentences in their places."""
    found = results.route != ROUTES.index("none")
    whole.route[chosen[found]] = ROUTES.index("fallback")
    whole.sign[chosen], whole.log_abs_z[chosen] = results.sign, results.log_abs_z
    if whole.arcs.size:
        whole.arcs[places_of(arc_begins(indptr), chosen)[1]] = results.arcs
