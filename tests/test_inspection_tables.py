"""Tables of what was gained and learned, against plain loops and enumeration."""

import itertools
from collections import Counter
from xml.etree import ElementTree

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal, assert_equal

from sklearn_shag import EMSHAG, DeterministicSHAG, SpectralSHAG, load_model, save_model
from sklearn_shag.inspection import (
    ArcTable,
    AutomatonGains,
    AutomatonRanks,
    approximate_dfa,
    arc_table,
    automaton_gains,
    automaton_ranks,
    top_modifiers,
)
from sklearn_shag.inspection._tables import table_text
from sklearn_shag.operators import Operators, change_basis
from sklearn_shag.treebank import DependencyTree, display_width
from tests.loops import over
from tests.oracles import RIGHT, ngram_counts
from tests.test_dfa import with_automaton
from tests.test_operators import all_strings, string_values


@pytest.fixture(scope="module")
def models(english):
    train = english[:200]
    return SpectralSHAG(4).fit(train), DeterministicSHAG().fit(train)


def rows_of(table):
    return list(zip(*table, strict=True))


def test_gains_against_a_loop(models, english):
    test = english[200:]
    gains = automaton_gains(models[0], test, baseline=models[1])
    counts, hits = Counter(), [Counter(), Counter()]
    predicted = [model.predict(test) for model in models]
    for s, tree in enumerate(test):
        for token, head in enumerate(tree.heads, start=1):
            side = "right" if token > head else "left"
            key = tree.symbols[head - 1] if head else "<root>", side
            counts[key] += 1
            for k in range(2):
                hits[k][key] += predicted[k][s][token - 1] == head
    found = {
        (str(head), str(side)): (count, round(before * count), round(after * count), gain)
        for head, side, count, before, after, gain in rows_of(gains)
    }
    assert found == {
        key: (counts[key], hits[1][key], hits[0][key], hits[0][key] - hits[1][key])
        for key in counts
    }
    assert sorted(gains.gains, reverse=True) == gains.gains.tolist()
    assert gains.counts.sum() == sum(map(len, test))


def nilpotent(rng, n_symbols, n_states):
    """Signed operators that give sequences of n_states symbols and more the value zero."""
    A = np.tril(rng.normal(size=(n_symbols, n_states, n_states)), k=-1)
    automaton = Operators(rng.normal(size=n_states), rng.normal(size=n_states), A)
    return change_basis(automaton, rng.normal(size=(n_states, n_states)))


def enumerated(automaton, longest):
    """The probability and the mean count of each symbol."""
    total, having, times = 0.0, Counter(), Counter()
    words = all_strings(len(automaton.A), longest)
    for word, value in zip(words, string_values(automaton, longest), strict=True):
        total += value
        for symbol, count in Counter(word).items():
            having[symbol] += value
            times[symbol] += count * value
    symbols = range(len(automaton.A))
    return [having[a] / total for a in symbols], [times[a] / total for a in symbols]


class TestArcs:
    @over("seed", range(5))
    def test_signed_operators_against_enumeration(self, seed):
        automaton = nilpotent(np.random.default_rng(seed), 3, 4)
        model = with_automaton(automaton, [])
        probabilities, counts = enumerated(automaton, 4)
        arcs = top_modifiers(model, head="H", n=4)
        left = {row[2]: row[3:] for row in rows_of(arcs) if row[1] == "left"}
        for k, name in enumerate("abc"):
            assert_allclose(left[name], (probabilities[k], counts[k]), rtol=1e-8, atol=1e-10)
        right = [row[3:] for row in rows_of(arcs) if row[1] == "right"]
        assert_array_equal(right, 0)

    @pytest.mark.parametrize("automaton", ["single", "first", "sibling"])
    def test_frequencies_come_back(self, automaton, english):
        """Relative frequencies keep the mean number of each modifier."""
        arcs = arc_table(DeterministicSHAG(automaton).fit(english))
        sentences = [(tree.symbols, tree.heads.tolist()) for tree in english]
        n_arcs, n_heads = ngram_counts(sentences, 1)
        n_heads["<root>", RIGHT] = sum(
            heads.count(0) for _, heads in sentences
        )  # some have several
        assert arcs.counts.size == 15 * 2 * 15 + 15
        for head, direction, modifier, _, count in rows_of(arcs):
            key = head, ["left", "right"].index(direction)
            expected = n_arcs[key][(modifier,)] / n_heads[key]
            assert_allclose(count, expected, rtol=1e-9, atol=1e-12)

    @pytest.mark.parametrize("model", [SpectralSHAG(4), EMSHAG(2, init="moments", tol=0.1)])
    def test_sorted_and_in_the_order_of_symbols(self, model, english):
        arcs = arc_table(model.fit(english))
        symbols = model.symbols_
        blocks = [*itertools.product(symbols, ["left", "right"]), ("<root>", "right")]
        found = itertools.groupby(rows_of(arcs), key=lambda row: row[:2])
        for key, (block, rows) in zip(blocks, found, strict=True):
            modifiers, _, counts = zip(*(row[2:] for row in rows), strict=True)
            assert block == key
            assert set(modifiers) == set(symbols)
            assert list(counts) == sorted(counts, reverse=True)
        root = arcs.heads == "<root>"
        assert_allclose(arcs.counts[root].sum(), 1.0)
        assert_array_equal(arcs.counts[root], arcs.probabilities[root])

    def test_top_modifiers_are_the_first_of_the_table(self, models):
        arcs = rows_of(arc_table(models[0]))
        for head in ("VERB", "<root>"):
            expected = []
            for direction in ("left", "right"):
                expected += [row for row in arcs if row[:2] == (head, direction)][:2]
            assert rows_of(top_modifiers(models[0], head=head, n=2)) == expected
        everything = rows_of(top_modifiers(models[0], head="VERB", n=100))
        assert len(everything) == 2 * models[0].symbols_.size
        expected = [
            row for h in models[0].symbols_ for row in rows_of(top_modifiers(models[0], head=h))
        ]
        assert rows_of(top_modifiers(models[0]))[:-5] == expected  # before those of the root

    def test_a_sum_without_limit(self, models):
        model = DeterministicSHAG("single").fit([DependencyTree(list("ab"), [0, 1])])
        A = model.operators_.A.copy()
        A[0, 1, :2, 0, 0] = 0.9, 0.9
        model.operators_ = model.operators_._replace(A=A)
        arcs = arc_table(model)
        own = (arcs.heads == "a") & (arcs.directions == "right")
        assert_array_equal(np.isnan(arcs.counts), own)
        assert np.isnan(arcs.probabilities[own]).all()
        assert np.isfinite(arc_table(models[0]).probabilities).all()


def test_ranks_are_the_attributes_by_name(models, tmp_path):
    model = models[0]
    ranks = automaton_ranks(model)
    assert ranks.heads.size == 2 * model.symbols_.size
    assert (np.diff(ranks.effective_ranks) <= 0).all()
    for head, direction, count, rank, values in rows_of(ranks):
        cell = list(model.symbols_).index(head), ["left", "right"].index(direction)
        assert rank == model.effective_rank_[cell]
        assert count == model.statistics_.statistics.n_sequences[cell]
        assert_array_equal(values, model.singular_values_[cell])
    save_model(model, tmp_path / "model.npz")
    assert_equal(automaton_ranks(load_model(tmp_path / "model.npz")), ranks)


def test_tables_as_text():
    names = np.array(["NOUN", "X"], dtype=object)
    table = ArcTable(names, np.array(["left", "right"]), names, np.array([0.5, np.nan]), [])
    table = table._replace(counts=np.array([[1.0] * 6, [10.0] * 6]))
    assert table_text(table).splitlines() == [
        f"heads  directions  modifiers  probabilities  {'counts':>38}",
        f"NOUN   left        NOUN               0.500  {'1.000 1.000 1.000 1.000 1.000 ...':>38}",
        "X      right       X                    nan  10.000 10.000 10.000 10.000 10.000 ...",
    ]


def test_wide_letters_take_two_columns():
    names, counts = np.array(["\u732b" * 6, "e\u0301", "x"], dtype=object), np.array([1, 20, 300])
    lines = table_text(AutomatonGains(names, names, counts, counts, counts, counts)).splitlines()
    assert {display_width(line) for line in lines} == {display_width(lines[0])}
    assert lines[0].startswith("heads" + " " * 9 + "directions")
    assert lines[2].startswith("e\u0301" + " " * 13 + "e\u0301")


class TestForms:
    """A table as what notebooks and pandas show."""

    def table(self, n_rows):
        values = np.arange(n_rows) / 8
        names = np.array([f"<b{k}>&" for k in range(n_rows)], dtype=object)
        several = np.outer(values, np.ones(7))
        return AutomatonRanks(names, np.full(n_rows, "left"), values, values, several)

    @pytest.mark.parametrize(("n_rows", "n_shown"), [(0, 0), (3, 3), (60, 60), (61, 60)])
    def test_html(self, n_rows, n_shown):
        table = self.table(n_rows)
        html = table._repr_html_()
        body = html.partition("</table>")[0] + "</table>"
        rows = ElementTree.fromstring(body).findall("tr")
        assert [cell.text for cell in rows[0]] == list(table._fields)
        assert len(rows) == n_shown + 1
        # The same cells as in the text, with letters that HTML reads as its own.
        for row, line in zip(rows[1:], str(table).split("\n")[1:], strict=False):
            assert " ".join(cell.text for cell in row).split() == line.split()
        assert ("The first 60 of 61 rows" in html) == (n_rows > n_shown)

    def test_dataframe(self):
        pandas = pytest.importorskip("pandas")
        table = self.table(4)
        frame = table.to_dataframe()
        expected = dict(zip(table._fields, map(list, table), strict=True))
        pandas.testing.assert_frame_equal(frame, pandas.DataFrame(expected))

    def test_dfa(self, english):
        model = DeterministicSHAG("sibling").fit(english)
        dfa = approximate_dfa(model, english, head="NOUN", direction="left")
        html = dfa._repr_html_()
        assert html.startswith("<p>NOUN, left")
        assert html.count("<tr>") == len(dfa.states.visits) + len(dfa.transitions.counts) + 2
