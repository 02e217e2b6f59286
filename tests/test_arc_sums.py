"""Sums over scores of arcs alone: against enumeration, the chart of automata and the oracle."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_shag.parsing import grammar_of_arcs
from sklearn_shag.parsing._arc_sums import LONGEST, new_arc_tables, sum_arcs
from sklearn_shag.parsing._chart import FAST_ROUTES, PackedGrammar, new_results, run_charts
from sklearn_shag.parsing._fast_driver import DONE, WITHOUT_MASS
from sklearn_shag.parsing._potentials import Potentials, as_factors
from tests.log_chart import sum_up
from tests.loops import compiled, over
from tests.oracles import of_sentence, projective_trees, sum_trees


def drawn(seed, lengths, scale=1.0, forbidden=0.0, chain=0.0):
    """Draw scores of arcs, raised in a chain, of which all others may be forbidden."""
    rng, arcs = np.random.default_rng(seed), []
    for n in lengths:
        scores = rng.normal(size=(n, n + 1)) * scale
        in_chain = np.arange(n + 1) == np.arange(n)[:, None]
        scores[in_chain] += chain
        scores[~in_chain & (rng.random((n, n + 1)) < forbidden)] = -np.inf
        arcs.append(scores.ravel())
    indptr = np.cumsum([0, *lengths])
    codes = np.zeros(indptr[-1], dtype=np.int64)
    return as_factors(Potentials(indptr, codes, arcs=np.concatenate(arcs)))


class ByAutomata(PackedGrammar):
    """The grammar whose trees have the value 1, always by the chart of automata."""

    routes = FAST_ROUTES[1:]


def run_all(factors):
    return run_charts(grammar_of_arcs("projective"), factors)


def run_automata(factors):
    unit = grammar_of_arcs("projective")
    return run_charts(ByAutomata(unit.operators, unit.fast), factors)


def sum_all(factors):
    results = new_results(factors, with_uses=True)
    which = np.argsort(np.diff(factors.indptr), kind="stable")
    done = np.zeros(which.size, dtype=bool)
    is_short = np.diff(factors.indptr)[which] <= LONGEST
    sum_arcs(factors, which[is_short], results, new_arc_tables(LONGEST), done)
    is_done = np.empty_like(done)
    is_done[which] = done
    return is_done, results


@over(("n_tokens", "forbidden"), [(n, share) for n in range(1, 6) for share in (0.0, 0.4)])
def test_against_enumeration(n_tokens, forbidden):
    factors = drawn(n_tokens, [n_tokens], 2.0, forbidden)
    scores, trees = factors.arcs.reshape(n_tokens, -1), np.array(projective_trees(n_tokens))
    z, uses = sum_trees(trees, np.exp(scores[np.arange(n_tokens), trees].sum(axis=1)))
    is_done, results = sum_all(factors)
    assert is_done.all()
    assert results.sign == 1
    assert_allclose(results.log_abs_z, np.log(z), rtol=1e-12, atol=1e-12)
    assert_allclose(results.arcs.reshape(uses.shape), uses, rtol=1e-12, atol=1e-14)


@compiled
@over(("scale", "forbidden"), [(1.0, 0.0), (3.0, 0.5), (6.0, 0.2)])
def test_against_the_chart_of_automata(scale, forbidden):
    factors = drawn(0, [*range(1, 10), 15, 16, 17, 30, 33, 61], scale, forbidden, 2 * scale)
    is_done, results = sum_all(factors)
    assert is_done.all()
    expected = run_automata(factors)
    assert (expected.route == DONE).all()
    assert_array_equal(results.sign, expected.sign)
    assert_allclose(results.log_abs_z, expected.log_abs_z, rtol=1e-12)
    assert_allclose(results.arcs, expected.arcs, rtol=1e-8, atol=1e-13)


def test_a_sentence_alone_is_as_among_others():
    """To the last bit, with longer ones beside it and with marginals or without."""
    lengths = [9, 40, 3, 9, 17]
    factors = drawn(1, lengths)
    together = run_all(factors)
    for s in range(len(lengths)):
        arcs = slice(factors.begins[s], factors.begins[s + 1])
        indptr = np.array([0, lengths[s]])
        codes = np.zeros(lengths[s], dtype=np.int64)
        alone = run_all(as_factors(Potentials(indptr, codes, arcs=factors.arcs[arcs])))
        assert_array_equal(alone.arcs, together.arcs[arcs])
        assert alone.log_abs_z[0] == together.log_abs_z[s]
        without = new_results(factors, with_uses=False)
        sum_arcs(factors, np.array([s]), without, new_arc_tables(LONGEST), np.zeros(1, dtype=bool))
        assert without.log_abs_z[s] == together.log_abs_z[s]


@compiled
def test_scores_that_differ_by_hundreds():
    """Where values may be lost, nothing is set; what is done, is right."""
    factors = drawn(2, [3, 5, 8, 12] * 9, 120.0)
    is_done, results = sum_all(factors)
    assert 9 < is_done.sum() < is_done.size - 9
    operators = grammar_of_arcs("projective").operators
    given = {"codes": factors.codes, "arcs": factors.arcs}
    sentences = [of_sentence(given, factors.indptr, s) for s in range(is_done.size)]
    expected = [sum_up(operators, **sentence) for sentence in sentences]
    logs = np.array([each.log_abs_z for each in expected])
    arcs = np.concatenate([each.arcs.ravel() for each in expected])
    assert_allclose(results.log_abs_z[is_done], logs[is_done], rtol=1e-12)
    of_done = np.repeat(is_done, np.diff(factors.begins))
    assert_allclose(results.arcs[of_done], arcs[of_done], rtol=1e-6, atol=1e-12)
    assert_array_equal(results.sign[~is_done], 0)
    whole = run_all(factors)
    done = np.repeat(whole.route == DONE, np.diff(factors.begins))
    assert_allclose(whole.arcs[done], arcs[done], rtol=1e-6, atol=1e-12)


@compiled
def test_a_head_that_all_tokens_want():
    """Parts of the sentence without it vanish, and with it there are very many trees."""
    factors = drawn(4, [100, LONGEST], 0.1)
    for begin, n in zip(factors.begins, (100, LONGEST), strict=False):
        factors.arcs[begin + 60 : begin + n * (n + 1) : n + 1] += 50.0
    factors.arcs[factors.begins[1] + 60 :] = 0.0
    is_done, results = sum_all(factors)
    assert is_done.all()
    assert results.log_abs_z[1] > 200
    expected = run_automata(factors)
    assert (expected.route == DONE).all()
    assert_allclose(results.log_abs_z, expected.log_abs_z, rtol=1e-12)
    assert_allclose(results.arcs, expected.arcs, rtol=1e-8, atol=1e-13)


@compiled
def test_the_chart_takes_what_is_left():
    """Long sentences, and those without a tree."""
    factors = drawn(3, [LONGEST, LONGEST + 1, 3], chain=9.0)
    factors.arcs[factors.begins[2] :] = -np.inf
    is_done, _ = sum_all(factors)
    assert is_done.tolist() == [True, False, False]
    results = run_all(factors)
    assert results.route.tolist() == [DONE, DONE, WITHOUT_MASS]
    expected = run_automata(factors)
    chosen = slice(factors.begins[2])
    assert_allclose(results.arcs[chosen], expected.arcs[chosen], rtol=1e-8, atol=1e-13)
