"""The fast chart against enumeration and the oracle in logarithms."""

import re
import warnings
from functools import cache, partial
from itertools import pairwise
from types import SimpleNamespace
from unittest.mock import patch

import numba
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal, assert_equal

from sklearn_shag.encoding import Batch
from sklearn_shag.operators import Operators
from sklearn_shag.parsing import (
    Forest,
    Potentials,
    Scored,
    _chart,
    _fast_driver,
    _fast_group,
    _fast_sums,
    ask,
    eisner,
    list_best,
    list_marginals,
    list_totals,
    maximum_arborescence,
    pack_grammar,
    report_marginals,
)
from sklearn_shag.parsing import _forest as _chunks
from sklearn_shag.parsing._chart import run_charts
from sklearn_shag.parsing._fast_driver import DONE, LONGEST_UNCUT
from sklearn_shag.parsing._fast_sums import N_PROBED
from sklearn_shag.parsing._potentials import as_factors, check_potentials
from sklearn_shag.utils._simd import LANES
from tests import oracles
from tests.log_chart import sum_up
from tests.loops import compiled, over

N_SYMBOLS = 4
ROOT = N_SYMBOLS  # the last head of the grammars of this module
# Around lengths where sentences are cut into tiles, tiles are full, and scales probed.
CUT = [LONGEST_UNCUT - 1, *range(LONGEST_UNCUT, LONGEST_UNCUT + 11)]
PROBED = list(range(N_PROBED - 1, N_PROBED + 3))


def even_grammar(seed, n_states):
    """Make a grammar for which values of sentences of any length are near 1."""
    rng = np.random.default_rng(seed)
    heads = N_SYMBOLS + 1, 2
    # Two of three states stop; else all symbols and states may follow.
    stops = rng.uniform(0.5, 0.8, size=(*heads, n_states))
    follows = rng.dirichlet(np.ones(N_SYMBOLS * n_states), size=(*heads, n_states))
    A = (follows * (1 - stops)[..., None]).swapaxes(2, 3) * N_SYMBOLS
    A = A.reshape(*heads, N_SYMBOLS, n_states, n_states)
    return Operators(rng.dirichlet(np.ones(n_states), size=heads), stops, A)


def sentences_of(lengths, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.integers(N_SYMBOLS, size=n) for n in lengths]


def encoded(sentences):
    return np.concatenate(sentences), np.cumsum([0, *map(len, sentences)])


def run(operators, sentences, with_marginals=True):
    """Give sentences to the fast chart alone: which are done, sign, log |Z| and marginals.

    Those of one state in lockstep and one by one, which is the same to the last bit.
    """
    several = _run(operators, sentences, with_marginals, fewest_in_lockstep=0)
    if operators.alpha_1.shape[2] == 1:
        single = _run(operators, sentences, with_marginals, fewest_in_lockstep=np.inf)
        assert_equal(single[:3], several[:3])
        for k, done in enumerate(several[0]):
            if done:  # else undefined
                assert_array_equal(single[3][k], several[3][k])
    return several


def _run(operators, sentences, with_marginals, fewest_in_lockstep):
    codes, indptr = encoded(sentences)
    factors = as_factors(check_potentials(Potentials(indptr, codes), N_SYMBOLS))
    packed, lengths = pack_grammar(operators), np.diff(indptr)
    with patch.object(_chart, "FEWEST_ARCS_IN_LOCKSTEP", fewest_in_lockstep):
        results = run_charts(packed, factors, with_marginals)
    parts = [()] * len(sentences)
    if with_marginals:
        ends = pairwise(factors.begins)
        parts = [
            results.arcs[begin:end].reshape(-1, n + 1)
            for (begin, end), n in zip(ends, lengths, strict=True)
        ]
    return results.route == DONE, results.sign, results.log_abs_z, parts


def parse(want, operators, fallback, codes, indptr, n_jobs=1):
    """Ask the forests of encoded sentences: a result for each."""
    grammars = [pack_grammar(part) for part in (operators, fallback)]

    def score(batch, rung=0):
        potentials = Potentials(batch.indptr, batch.codes)
        return Scored(grammars[rung], potentials) if rung < 2 else None

    parser = SimpleNamespace(_forest=partial(Forest, score), n_jobs=n_jobs, verbose=0)
    return ask(parser, want, Batch(codes, indptr))


def list_raw(forest):
    return list_marginals(forest.batch, forest.marginals)


def assert_agrees_with_the_oracle(operators, sentences, rtol=1e-8):
    done, sign, log_abs_z, marginals = run(operators, sentences)
    assert done.all()
    for k, sentence in enumerate(sentences):
        in_logs = sum_up(operators, sentence)
        assert sign[k] == in_logs.sign
        assert_allclose(log_abs_z[k], in_logs.log_abs_z, rtol=rtol)
        assert_allclose(marginals[k], in_logs.arcs, rtol=rtol, atol=1e-14)


@over("n_states", [1, 2, 8, 9])
def test_agrees_with_the_oracle_at_any_length(monkeypatch, n_states):
    longest = 30
    if numba.config.DISABLE_JIT:  # smaller tiles of shorter sentences
        longest = 12
        monkeypatch.setattr(_fast_driver, "LONGEST_UNCUT", 5)
        monkeypatch.setattr(_fast_driver, "LONGEST_IN_SMALL_TILES", 9)
    sentences = sentences_of(range(1, longest + 1))
    assert_agrees_with_the_oracle(even_grammar(0, n_states), sentences)


@compiled
@over("n_states", [1, 2, 8, 9])
@over("n_tokens", [*CUT, *PROBED, 100])
def test_agrees_with_the_oracle_around_limits(n_states, n_tokens):
    assert_agrees_with_the_oracle(even_grammar(1, n_states), sentences_of([n_tokens]))


LONG, VERY_LONG = (8, 14) if numba.config.DISABLE_JIT else (50, 90)


@over(
    "lengths",
    [
        [3],
        [1, 1],
        [1, 2, 3, 4, 5, 6, 7],
        [4] * 8,
        [1] * 7 + [LONG],
        [1, LONG, 2, 3, 9, 2, 1, 1, 4],
        [1, 2, VERY_LONG, 3, LONG, 6],
        [7] * 17,
    ],
)
def test_sentences_in_lockstep_do_not_disturb_each_other(lengths):
    operators, sentences = even_grammar(4, 1), sentences_of(lengths)
    together = run(operators, sentences)
    alone = [run(operators, [sentence]) for sentence in sentences]
    for found, expected in zip(together[:2], zip(*alone, strict=True), strict=False):
        assert_array_equal(found, np.concatenate(expected))
    assert_allclose(together[2], [log_abs_z[0] for _, _, log_abs_z, _ in alone], rtol=1e-12)
    for found, (_, _, _, (expected,)) in zip(together[3], alone, strict=True):
        assert_allclose(found, expected, rtol=1e-9, atol=1e-14)
    assert_agrees_with_the_oracle(operators, sentences)


@compiled
def test_sentences_in_lockstep_are_scaled_each_by_its_own_factor():
    """Of one symbol each: values change by other factors with every token."""
    operators = even_grammar(6, 1)
    powers = 10.0 ** np.array([-23, -1, 2, 5])
    operators = operators._replace(A=operators.A * powers.reshape(4, 1, 1))
    sentences = [np.full(n, symbol) for n, symbol in zip([9, 70, 150, 150], range(4), strict=True)]
    assert_agrees_with_the_oracle(operators, sentences, rtol=1e-7)


@over("signed", [True, False])
@over("factor", [1e-3, 1.0, 1e40])
def test_one_by_one_is_the_same_as_in_lockstep(random_grammar, signed, factor):
    """To the last bit (:func:`run` tells), in range or not, with mass or without."""
    operators = random_grammar(8, n_states=1, signed=signed)
    rng = np.random.default_rng(8)
    operators.A[rng.uniform(size=operators.A.shape) < 0.1] = 0.0
    operators = operators._replace(A=operators.A * factor)
    n_sentences, longest = (20, 9) if numba.config.DISABLE_JIT else (2000, 40)
    lengths = [*rng.integers(1, longest, size=n_sentences), 2 * longest, 3 * longest]
    done, sign, _, _ = run(operators, sentences_of(lengths))
    assert done.any()
    assert (sign == 0).any()
    assert signed == (np.min(sign) < 0)


@over("n_states", [1, 2])
@over("order", ["C", "F"])
def test_packed_grammars_have_one_memory_layout(n_states, order):
    """Kernels would be compiled anew for another."""
    operators = Operators(*(np.asarray(part, order=order) for part in even_grammar(8, n_states)))
    packed = pack_grammar(operators)
    assert all(part.flags.c_contiguous for part in (*packed.operators, *packed.fast))


# Of two tokens, the head and its modifier on one side.
SIDES = ((oracles.LEFT, [1, 0]), (oracles.RIGHT, [0, 1]))
# What is multiplied in a grammar, by what; sentences, and which of them the fast chart takes.
CHANGES = {
    # As if states were measured in other units, of which arcs take more: what is large matters.
    **{
        f"units of {size}": (
            [
                ("alpha_1", ..., size),
                ("alpha_inf", ..., 1 / size),
                ("A", ..., of_arcs),
            ],
            [[3], [2, 1], [1, 0]],
            taken,
        )
        for size, of_arcs, taken in [
            (1e-70, 1.0, True),
            (1e70, 1.0, True),
            (1e-70, 1e-70, True),
            (1e70, 1e70, [True, False, False]),
        ]
    },
    # At the end of a sentence; what it leads to is in range again.
    **{
        f"one arc on side {side}": (
            [
                ("alpha_1", (0, side), 1e60),
                ("A", (0, side, 1), 1e40),
                ("alpha_inf", (0, side), 1e-60),
                ("alpha_inf", (1, side), 1e-40),
            ],
            [codes],
            False,
        )
        for side, codes in SIDES
    },
    **{
        f"one number of {size} on side {side}": (
            [
                ("alpha_1", (slice(ROOT), side), size),
                ("alpha_inf", (slice(ROOT), side), size),
            ],
            [[3], [2]],
            False,
        )
        for side, _ in SIDES
        for size in (1e-80, 1e80)
    },
    # Of the half of the root that covers the whole sentence.
    **{
        f"products at the end on side {side}": (
            [
                ("alpha_inf", (slice(2), side), 1e-80),
                ("A", (0, side, 1), 1e-80),
                ("A", (ROOT, oracles.RIGHT, 1), 0.0),
            ],
            [codes],
            False,
        )
        for side, codes in SIDES
    },
    # If entries of the chart might be as small as those of the operators here.
    "products": (
        [("A", ..., 1e-80), ("alpha_1", slice(ROOT), 1e-80)],
        [[3], [2, 1], [1, 0], [1, 0, 2], [3, 3, 0, 1]],
        False,
    ),
    # Z is a product of three entries of the root symbol and four of the one token.
    **{
        f"Z by {size}": (
            [("alpha_1", ..., size), ("alpha_inf", ROOT, size), ("A", ROOT, 1e-28)],
            [[3], [2], [0]],
            size > 1e-30,
        )
        for size in (1e-10, 1e-30, 1e-60, 1e-90)
    },
}


class TestLadder:
    """Who is out of range, or has no mass, goes to the next grammar, and the former are counted."""

    @staticmethod
    def assert_bulk_agrees(operators, fallback, sentences):
        """Parsers find what the oracle finds; returns the signs of Z that this finds."""
        codes, indptr = encoded(sentences)
        given = operators, fallback, codes, indptr
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            logs = parse(list_totals, *given)
            report = parse(report_marginals, *given)
            marginals = parse(list_raw, *given)
            mbr = parse(partial(list_best, "mbr"), *given)
            largest = parse(partial(list_best, "max_marginal"), *given)
            crossing = parse(partial(list_best, "mst"), *given)
        signs, share, mass, routes = map(np.array, zip(*report, strict=True))
        in_range = _run(operators, sentences, True, fewest_in_lockstep=np.inf)[0]
        expected_signs, n_out_of_either = [], 0
        n_out = np.count_nonzero(routes == "out of range")
        for k, sentence in enumerate(sentences):
            in_logs = sum_up(operators, sentence)
            expected_signs.append(in_logs.sign)
            sign, is_out = (in_logs.sign, False) if in_range[k] else (0, in_logs.sign != 0)
            assert signs[k] == logs[k][0] == sign
            assert routes[k] == ("fast" if sign else "out of range" if is_out else routes[k])
            assert_allclose(logs[k][1], in_logs.log_abs_z if sign else -np.inf, rtol=1e-9)
            negative = np.zeros(1)
            if sign:
                negative = np.where(in_logs.arcs < -1e-12, in_logs.arcs, 0.0)
            assert_allclose(share[k], np.count_nonzero(negative) / len(sentence) ** 2)
            assert_allclose(mass[k], -negative.sum() / len(sentence), rtol=1e-7, atol=1e-12)
            is_out = routes[k] == "out of range"
            if not sign:
                in_logs = sum_up(fallback, sentence)
                sign = in_logs.sign
                if not _run(fallback, [sentence], True, fewest_in_lockstep=np.inf)[0][0]:
                    is_out, sign = is_out or sign != 0, 0
            n_out_of_either += is_out
            expected = np.ones((len(sentence), len(sentence) + 1))
            expected = oracles.repaired(in_logs.arcs if sign else expected)
            assert_allclose(marginals[k], expected, rtol=1e-7, atol=1e-11)
            assert_allclose(marginals[k].sum(axis=1), 1.0, rtol=1e-12)
            with np.errstate(divide="ignore"):
                logs_of_marginals = np.log(marginals[k])
            assert_array_equal(mbr[k], eisner(logs_of_marginals)[0])
            assert_array_equal(largest[k], eisner(marginals[k])[0])
            assert_array_equal(crossing[k], maximum_arborescence(logs_of_marginals)[0])
        # Without a compiler numpy warns too.
        told = [str(each.message) for each in warned if each.category is UserWarning]
        counts = [int(re.match(r"Values of (\d+) of", message)[1]) for message in told]
        assert counts == [n for n in (n_out, *[n_out_of_either] * 4) if n]
        return np.array(expected_signs)

    @over("magnitude", [1e-200, 1e200, -1e200])
    @over("part", ["alpha_1", "alpha_inf", "A"])
    @over("n_states", [1, 2])
    def test_operators_out_of_range(self, magnitude, part, n_states):
        operators, fallback = even_grammar(9, n_states), even_grammar(10, n_states)
        getattr(operators, part)[1, 1] *= magnitude
        sentences = sentences_of([1, 2, 3, 5, 6, 6])
        assert (pack_grammar(operators).fast is None) == (abs(magnitude) > 1)
        self.assert_bulk_agrees(operators, fallback, sentences)

    @over("factor", [1e-60, 1e60])
    @over("n_states", [1, 2])
    def test_values_out_of_range(self, factor, n_states):
        """Only of longer sentences: of the others in lockstep with them too, it seems."""
        operators, fallback = even_grammar(11, n_states), even_grammar(12, n_states)
        operators = operators._replace(A=operators.A * factor)
        sentences = sentences_of([1, 1, 8, 2, 8, 1])
        done = run(operators, sentences)[0]
        assert_array_equal(done[[2, 4]], False)
        if n_states > 1:
            assert_array_equal(done[[0, 1, 3, 5]], True)
        assert_array_equal(self.assert_bulk_agrees(operators, fallback, sentences), 1)

    @over("n_states", [1, 2])
    def test_derivatives_that_overflow(self, n_states):
        """Of what is impossible by what is large: 1 cannot take 0 as a modifier."""
        operators, fallback = even_grammar(30, n_states), even_grammar(31, n_states)
        operators.A[1, oracles.LEFT, 0] = 0.0
        operators.A[0, oracles.RIGHT, 1] *= 1e-174
        operators.alpha_1[1, oracles.RIGHT] *= 1e89
        operators.alpha_1[0, oracles.LEFT] *= 1e89
        operators.A[ROOT, oracles.RIGHT, 0] *= 1e-76
        operators.A[ROOT, oracles.RIGHT, 1] *= 1e85
        sentences = [np.array([0, 1])]
        done, _, _, _ = run(operators, sentences, with_marginals=False)
        assert done.all()
        done, _, _, _ = run(operators, sentences)
        assert not done.any()
        with pytest.warns(UserWarning, match="Values of 1 of 1 sentences leave the range"):
            marginals = parse(list_raw, operators, fallback, *encoded(sentences))[0]
        expected = sum_up(fallback, sentences[0]).arcs
        assert_allclose(marginals, oracles.repaired(expected), rtol=1e-9)

    @over(("changes", "codes", "taken"), CHANGES.values())
    @over("n_states", [1, 2])
    def test_what_leaves_the_range(self, n_states, changes, codes, taken):
        """The fallback stands in, unless the others are taken all the same."""
        operators, fallback = even_grammar(22, n_states), even_grammar(23, n_states)
        for part, place, factor in changes:
            getattr(operators, part)[place] *= factor
        sentences = [np.array(each) for each in codes]
        assert_array_equal(run(operators, sentences)[0], taken)
        assert_array_equal(self.assert_bulk_agrees(operators, fallback, sentences), 1)

    @over("n_states", [1, 3])
    def test_the_fallback_stands_in_where_there_is_no_mass(self, n_states):
        operators, fallback = even_grammar(13, n_states), even_grammar(14, n_states)
        operators.A[:, :, 1] = 0.0  # nothing has symbol 1 as a modifier
        sentences = [np.array(s) for s in ([0, 2], [1], [0, 1, 2], [3], [2, 1], [2, 3, 0])]
        done, sign, log_abs_z, _ = run(operators, sentences)
        impossible = np.array([1 in sentence for sentence in sentences])
        assert_array_equal(done, ~impossible)
        assert_array_equal(sign, ~impossible)
        assert_array_equal(log_abs_z[impossible], -np.inf)
        signs = self.assert_bulk_agrees(operators, fallback, sentences)
        assert_array_equal(signs, ~impossible)

    @over("factors", [(1e-200, 1.0), (1.0, 1e-200), (1e-200, 1e-200)])
    @over("n_states", [1, 3])
    def test_the_fallback_stands_in_where_a_grammar_is_out_of_range(self, n_states, factors):
        operators, fallback = (
            grammar._replace(A=grammar.A * factor)
            for grammar, factor in zip(
                (even_grammar(13, n_states), even_grammar(14, n_states)), factors, strict=True
            )
        )
        operators.A[:, :, 1] = 0.0
        sentences = [np.array(s) for s in ([0, 2], [2], [0, 1, 2], [3], [2, 1], [1, 3, 0])]
        signs = self.assert_bulk_agrees(operators, fallback, sentences)
        assert_array_equal(signs, [1 not in sentence for sentence in sentences])

    @over("n_states", [1, 3])
    def test_all_heads_are_equal_where_no_grammar_has_mass(self, n_states):
        operators, fallback = even_grammar(15, n_states), even_grammar(16, n_states)
        operators.A[:, :, 1] = 0.0
        fallback.A[:, :, 1] = 0.0
        sentences = [np.array(s) for s in ([0, 2], [1], [0, 1, 2], [3], [2, 3, 0])]
        self.assert_bulk_agrees(operators, fallback, sentences)
        codes, indptr = encoded(sentences)
        marginals = parse(list_raw, operators, fallback, codes, indptr)[2]
        assert_allclose(marginals, (1 - np.eye(3, 4, 1)) / 3, rtol=1e-15)
        heads = parse(partial(list_best, "mbr"), operators, fallback, codes, indptr)[2]
        assert tuple(heads) in oracles.projective_trees(3)

    @over("n_states", [1, 3])
    def test_signs_of_negative_sums(self, random_grammar, n_states):
        operators, fallback = (
            random_grammar(17, n_states=n_states, signed=True),
            even_grammar(17, n_states),
        )
        sentences = sentences_of([1, 2, 3, 4, 5] * 4)
        signs = self.assert_bulk_agrees(operators, fallback, sentences)
        expected = [oracles.enumerate_uses(operators, s).sign for s in sentences]
        assert_array_equal(signs, expected)
        assert set(signs.tolist()) == {-1, 1}


@over("n_members", [1, LANES])
@over("z", [1.0, 0.0, 1e-99, 1e89, 1e-101, 1e91, np.nan])
@over("table", ["COMPLETE", "INCOMPLETE", "D_COMPLETE", "D_INCOMPLETE", "CLOSED", "D_CLOSED"])
@over("value", [1e-300, 1e89, 1e91, 1e99, 1e101, np.inf, np.nan])
def test_entries_and_derivatives_tell_what_is_lost(n_members, z, table, value):
    """Of each sentence its own: those beside it, and what lies behind its end, say nothing."""
    n, last, nothing = 3, n_members - 1, np.empty(0)
    group = dict.fromkeys(_fast_group.SentenceGroup._fields, nothing)
    group["lengths"], group["n_wrong"] = np.full((2, n_members), [[n], [0]])
    group["z"], group["arc_scores"] = np.full(n_members, np.nan), np.ones((1, 1, 1, n_members))
    group["vectors"] = np.full((6, n + 3, n + 4, LANES), np.nan)
    group["numbers"] = np.full((3, n + 4, n + 4, n_members), np.nan)
    group = _fast_group.SentenceGroup(**group)
    group.vectors[:, 1 : n + 1, 1 : n + 2, last::n_members] = 1.0
    group.numbers[:, 1 : n + 1, 1 : n + 2, last] = 1.0
    group.n_wrong[last], group.z[last] = 7, z
    is_vector = "COMPLETE" in table
    place = 2, n if table.endswith("INCOMPLETE") else n + 1, last
    (group.vectors if is_vector else group.numbers)[(getattr(_fast_sums, table), *place)] = value
    counted = _fast_sums._count_losses.py_func  # Python can call no kernel that is within others
    with patch.object(_fast_sums, "_count_losses", counted):
        _fast_sums.recount_by_derivatives.py_func(group)
    is_right = z == 0 or 1e-100 <= z <= 1e90, value <= (1e100 if table.startswith("D_") else 1e90)
    assert group.n_wrong[last] == is_right.count(False)
    assert not group.n_wrong[:last].any()


def results_of(operators, fallback, sentences, n_jobs):
    """All that parsers compute: a list for each."""
    given = operators, fallback, *encoded(sentences), n_jobs
    decoders = [partial(list_best, n) for n in ("mbr", "max_marginal", "mst", "viterbi")]
    return [parse(want, *given) for want in (list_totals, report_marginals, list_raw, *decoders)]


@cache
def bulk(n_states):
    """Sentences in no order of their lengths, some of them impossible for one grammar or both."""
    operators, fallback = even_grammar(18, n_states), even_grammar(19, n_states)
    operators.A[:, :, 1] = 0.0
    fallback.A[:, :, 1] = 0.0
    operators.A[:, :, 2, 0] = 0.0
    rng = np.random.default_rng(0)
    lengths = rng.permutation(np.concatenate([np.arange(1, 12), [1, 1, 2, 3, 3, 3, 5, 8]]))
    sentences = [rng.choice(4, size=n, p=[0.4, 0.05, 0.1, 0.45]) for n in lengths]
    return operators, fallback, sentences


@over("n_states", [1, 2])
def test_results_come_in_the_order_of_sentences(n_states):
    signs = TestLadder.assert_bulk_agrees(*bulk(n_states)).tolist()
    assert 2 < signs.count(0) < len(signs) - 2


def test_viterbi_comes_in_the_order_of_sentences():
    """Compared with the most probable of all trees; with one state a tree is a derivation."""
    operators, fallback, sentences = bulk(1)
    *_, heads = results_of(operators, fallback, sentences, 2)
    for sentence, found in zip(sentences, heads, strict=True):
        assert found.shape == sentence.shape
        if len(sentence) > 5:
            continue
        for grammar in (operators, fallback):
            values = {
                tree: oracles.tree_value(grammar, [ROOT, *sentence], tree)
                for tree in oracles.projective_trees(len(sentence))
            }
            best = max(values.values())
            if best > 0:
                assert_allclose(values[tuple(found.tolist())], best, rtol=1e-10)
                break


@over("n_states", [1, 2])
@over(("n_jobs", "cost"), [(1, 1.0), (1, 1e4), (None, 1e4), (2, 1.0), (2, 1e4), (2, 3e4)])
def test_chunks_change_nothing(monkeypatch, n_states, n_jobs, cost):
    expected = results_of(*bulk(n_states), 1)
    n_chunks = []

    def run_parallel(tasks, *options):
        tasks = list(tasks)
        n_chunks.append(len(tasks))
        return original(tasks, *options)

    original = _chunks.run_parallel
    monkeypatch.setattr(_chunks, "run_parallel", run_parallel)
    monkeypatch.setattr(_chunks, "CHUNK_COST", cost)
    monkeypatch.setattr(_chunks, "CHUNK_COST_ALONE", cost)
    found = results_of(*bulk(n_states), n_jobs)
    assert min(n_chunks) > 1
    assert_equal([list(each) for each in found], [list(each) for each in expected])


@compiled
@over("n_states", [1, 2])
def test_other_sentences_decide_over_no_route(n_states):
    """Values from far inside of the range to far outside, and sentences of many lengths between.

    Were scales handed on from one sentence to the next, many would be on the edge of the range.
    """
    grammar = even_grammar(41, n_states)
    sentences = sentences_of([2, 5, 9, 24, 25, 26, 30, 40, 50, 60, 70])
    routes = []
    for exponent in np.linspace(-60, 60, 25):
        operators = grammar._replace(A=grammar.A * 10.0**exponent)
        # What has another scale, before and beside them.
        operators.A[:, :, 3] *= 1e20
        odd = [np.full(n, 3) for n in (1, 3, 12, 33)]
        alone = [run(operators, [sentence]) for sentence in sentences]
        together = run(operators, [*sentences, *odd])
        for k in range(len(sentences)):
            for results, expected in zip(together, alone[k], strict=True):
                if alone[k][0][0] or results is together[0]:  # else nothing is defined
                    assert_array_equal(results[k], expected[0])
        routes.extend(result[0][0] for result in alone)
    assert 0.1 < np.mean(routes) < 0.9
