"""Displays: what they hold, what they draw, and that it can be read."""

import itertools
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sklearn_shag import SpectralSHAG
from sklearn_shag.inspection import (
    ApproximateDFA,
    ArcMarginalsDisplay,
    AutomatonDisplay,
    DependencyTreeDisplay,
    DFAStates,
    DFATransitions,
    approximate_dfa,
)
from sklearn_shag.treebank import DependencyTree


@pytest.fixture(autouse=True)
def pyplot():
    """matplotlib.pyplot without windows, and without figures left open."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


@pytest.fixture(scope="module")
def model(english):
    return SpectralSHAG(4).fit(english[:300])


@pytest.fixture(scope="module")
def long_tree():
    """60 tokens of ordinary length and 50 tags."""
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("aemnW"), size=rng.integers(1, 13))) for _ in range(60)]
    tags = [f"TAG{i % 50}" for i in range(60)]
    heads = [max(1, m - m % 7) if m > 1 else 0 for m in range(1, 61)]
    heads = [h - 1 if h == m else h for m, h in enumerate(heads, start=1)]
    return DependencyTree(words, heads, upos=tags, deprels=[f"relation:{m}" for m in range(60)])


def boxes(texts):
    """The boxes of texts as they are drawn, in pixels; empty texts have none."""
    texts = [text for text in texts if text.get_text()]
    texts[0].figure.canvas.draw()
    return [text.get_window_extent() for text in texts]


def overlaps(extents, by=1.0):
    """Pairs of boxes that overlap by more than so many pixels both ways."""
    return [
        (i, j)
        for (i, a), (j, b) in itertools.combinations(enumerate(extents), 2)
        if min(a.x1, b.x1) - max(a.x0, b.x0) > by and min(a.y1, b.y1) - max(a.y0, b.y0) > by
    ]


def check_can_be_read(texts, figure, size):
    """All texts inside the figure, apart from each other, and large enough; give their boxes."""
    extents, box = boxes(texts), figure.bbox
    assert not overlaps(extents)
    assert all(
        e.x0 >= box.x0 and e.x1 <= box.x1 and e.y0 >= box.y0 and e.y1 <= box.y1 for e in extents
    )
    assert min(text.get_fontsize() for text in texts) >= size
    return extents


def words_of(display):
    return [text for text in display.ax_.texts if text.get_text()]


def texts_of(texts):
    return [text.get_text() for text in texts]


class TestDependencyTree:
    tree = DependencyTree(
        ["Dogs", "bark", "at", "cats"],
        [2, 0, 4, 2],
        upos=["NOUN", "VERB", "ADP", "NOUN"],
        deprels=["nsubj", "root", "case", "obl"],
    )

    def test_arcs_are_compared(self):
        display = DependencyTreeDisplay.from_predictions(self.tree, [2, 0, 2, 3])
        assert display.arcs == {
            "right": [(2, 1), (0, 2)],
            "missed": [(4, 3), (2, 4)],
            "wrong": [(2, 3), (3, 4)],
        }
        kinds = {arc: kind for kind, arcs in display.arcs.items() for arc in arcs}
        assert {arc: patch.get_gid() for arc, patch in display.arcs_.items()} == kinds
        assert len(display.ax_.patches) == 6
        styles = {(p.get_linestyle(), p.get_edgecolor()) for p in display.ax_.patches}
        assert len(styles) == len({line for line, _ in styles}) == 3
        legend = texts_of(display.ax_.get_legend().texts)
        assert legend == ["right (2)", "missed (2)", "wrong (2)"]
        columns = self.tree.forms, self.tree.symbols, self.tree.deprels
        assert sorted(texts_of(words_of(display))) == sorted(itertools.chain(*columns))

    def test_arcs_end_at_their_modifiers_and_nest(self):
        display = DependencyTreeDisplay(self.tree).plot()
        places = {text.get_text(): text.get_position()[0] for text in words_of(display)}
        tops = {}
        for (_, modifier), patch in display.arcs_.items():
            arrow = patch.get_path().vertices  # the line, and the head at its end
            assert abs(arrow[-2, 0] - places[self.tree.forms[modifier - 1]]) < 0.1
            tops[modifier] = arrow[:, 1].max()
        assert tops[3] < tops[4] < tops[2]
        assert tops[1] < tops[2]

    def test_partial_tree(self):
        """What is predicted for a token without a true head is neither right nor wrong."""
        partial = self.tree.with_heads([-1, 0, 4, -1])
        display = DependencyTreeDisplay.from_predictions(partial, [2, 0, 2, 3])
        assert display.arcs == {
            "right": [(0, 2)],
            "missed": [(4, 3)],
            "wrong": [(2, 3)],
            "unknown": [(2, 1), (3, 4)],
        }
        labels = texts_of(display.ax_.get_legend().get_texts())
        assert labels == ["right (1)", "missed (1)", "wrong (1)", "unknown (2)"]
        assert len({patch.get_linestyle() for patch in display.ax_.patches}) == 4
        alone = DependencyTreeDisplay(partial).plot()
        assert alone.arcs["right"] == [(0, 2), (4, 3)]
        assert len(alone.ax_.patches) == 2

    def test_from_estimator(self, model, english):
        tree = english[302]
        display = DependencyTreeDisplay.from_estimator(model, tree)
        assert_array_equal(display.heads, model.predict([tree])[0])
        right = tree.heads == display.heads
        assert [len(arcs) for arcs in display.arcs.values()] == [right.sum(), *[(~right).sum()] * 2]
        other = DependencyTreeDisplay.from_predictions(tree, model.parse([tree])[0])
        assert other.arcs == display.arcs

    def test_own_axes_are_used_and_everything_fits(self, pyplot, long_tree):
        figure, axes = pyplot.subplots(1, 2)
        display = DependencyTreeDisplay.from_predictions(
            long_tree, long_tree.heads, ax=axes[1]
        ).plot(ax=axes[0])
        assert [display.ax_, display.figure_] == [axes[0], figure]
        assert not overlaps(boxes(words_of(display)))

    def test_can_be_read(self, model, english, long_tree):
        for tree in (english[302], long_tree):
            heads = np.arange(len(tree))  # a chain
            display = DependencyTreeDisplay.from_predictions(tree, heads)
            texts = [*words_of(display), *display.ax_.get_legend().texts]
            extents = check_can_be_read(texts, display.figure_, 7.9)
            assert display.figure_.get_size_inches()[0] < 20
            # The arcs stay above the words.
            words = max(box.y1 for box in extents)
            for patch in display.ax_.patches:
                assert patch.get_window_extent().y0 > words - 5


class TestArcMarginals:
    def test_data_and_marks(self, model, english):
        tree = english[302]
        display = ArcMarginalsDisplay.from_estimator(model, tree)
        for found in (display.marginals, display.im_.get_array()):
            assert_array_equal(found, model.predict_marginals([tree])[0])
        assert display.im_.get_clim() == (0.0, 1.0)
        labels = display.ax_.get_xticklabels(), display.ax_.get_yticklabels()
        assert [*map(texts_of, labels)] == [["<root>", *tree.forms], [*tree.forms]]
        assert_array_equal(display.marks_.get_data(), (tree.heads, np.arange(len(tree))))


def random_dfa(n_states, n_symbols, seed=0):
    """An automaton with a transition for each state and symbol, few of them probable."""
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(1000, rng.dirichlet(np.full(n_symbols + 1, 0.1), n_states))
    symbols = np.array([f"TAG{i}" for i in range(n_symbols)], dtype=object)
    order = np.argsort(-counts[:, 1:], axis=1, kind="stable")
    found = np.take_along_axis(counts[:, 1:], order, axis=1)
    prefixes = np.empty(n_states, dtype=object)
    prefixes[:] = [((), ("TAG1",), ("TAG2", "TAG3"), ("TAG4",))] * n_states
    return ApproximateDFA(
        "HEAD",
        "left",
        n_states,
        1000,
        DFAStates(np.full(n_states, 1000), counts[:, 0], counts[:, 0] / 1000, prefixes),
        DFATransitions(
            np.repeat(np.arange(n_states), n_symbols),
            symbols[order.ravel()],
            rng.integers(0, n_states, size=n_states * n_symbols),
            found.ravel(),
            found.ravel() / 1000,
        ),
    )


class TestAutomaton:
    def test_from_estimator(self, model, english):
        options = {"head": "NOUN", "direction": "left", "n_clusters": 2, "min_count": 5}
        display = AutomatonDisplay.from_estimator(model, english, min_probability=0.03, **options)
        dfa = approximate_dfa(model, english, **options)
        assert str(display.dfa) == str(dfa)
        expected = {}
        for source, symbol, target, _, probability in zip(*dfa.transitions, strict=True):
            if probability >= 0.03:
                expected.setdefault((source, target), []).append(f"{symbol} {probability:.2f}")
        labels = {pair: text.get_text() for pair, text in display.labels_.items()}
        assert labels == {
            pair: "\n".join(lines[:3] + [f"+{len(lines) - 3}"] * (len(lines) > 3))
            for pair, lines in expected.items()
        }
        assert "+" in "".join(labels.values())
        # A patch for each state and arrow, and one that leads to the initial state.
        assert len(display.states_) == len(dfa.states.visits)
        assert len(display.ax_.patches) == len(display.states_) + len(labels) + 1
        texts = {text.get_text() for text in display.ax_.texts}
        assert {f"{i}\n{p:.2f}" for i, p in enumerate(dfa.states.stop_probabilities)} <= texts
        assert any(text.startswith("0: after (none)") for text in texts)

    def test_layers(self):
        """States by their distance from the initial one; those that nothing leads to are not there.

        The arrows are 0 -> 1 -> 3 -> 0, 0 -> 2, and 4 -> 1.
        """
        dfa = random_dfa(5, 1)
        sources, targets = np.array([0, 0, 1, 3, 4]), np.array([1, 2, 3, 0, 1])
        symbols = np.array(list("abcde"), dtype=object)
        moves = DFATransitions(sources, symbols, targets, np.ones(5, dtype=int), np.full(5, 0.5))
        display = AutomatonDisplay(dfa._replace(transitions=moves)).plot()
        places = {state: circle.get_center() for state, circle in display.states_.items()}
        assert sorted(places) == [0, 1, 2, 3]
        assert set(display.labels_) == {(0, 1), (0, 2), (1, 3), (3, 0)}
        assert places[0][0] < places[1][0] == places[2][0] < places[3][0]
        assert any("probability to stop" in text.get_text() for text in display.ax_.texts)

    @pytest.mark.parametrize(("n_states", "n_symbols"), [(1, 3), (2, 5), (5, 20), (10, 50)])
    def test_can_be_read(self, n_states, n_symbols):
        display = AutomatonDisplay(random_dfa(n_states, n_symbols)).plot()
        assert len(display.labels_) >= 2 * n_states or n_states < 3
        labels = list(display.labels_.values())
        assert not overlaps(
            boxes(labels) + [c.get_window_extent() for c in display.states_.values()]
        )
        # All other texts but those in the circles, too.
        check_can_be_read(display.ax_.texts, display.figure_, 7)
        assert max(display.figure_.get_size_inches()) < 12

    def test_arrows_pass_no_other_state(self):
        """Every pair of ten states, both ways."""
        pairs = np.array(list(itertools.permutations(range(10), 2)))
        dfa = random_dfa(10, 9)
        dfa = dfa._replace(
            transitions=dfa.transitions._replace(
                sources=pairs[:, 0], targets=pairs[:, 1], probabilities=np.full(90, 0.1)
            )
        )
        display = AutomatonDisplay(dfa).plot()
        display.figure_.canvas.draw()
        circles = list(display.states_.values())
        centres = {state: np.array(c.get_center()) for state, c in display.states_.items()}
        curves = [p for p in display.ax_.patches if p not in circles][1:]
        middles = set()
        for pair, curve in zip(display.labels_, curves, strict=True):
            path = curve.get_path().vertices[:3]  # in front of the arrow's head
            points = [
                (1 - t) ** 2 * path[0] + 2 * t * (1 - t) * path[1] + t**2 * path[2]
                for t in np.linspace(0, 1, 31)
            ]
            middles.add(tuple(points[15].round(2)))
            for state, centre in centres.items():
                if state not in pair:
                    assert min(np.linalg.norm(points - centre, axis=1)) > 0.27
        assert len(middles) == 90


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for display in (
        DependencyTreeDisplay(DependencyTree(["a"], [0])),
        ArcMarginalsDisplay(np.ones((1, 2)), ("a",)),
        AutomatonDisplay(random_dfa(2, 2)),
    ):
        message = rf"{type(display).__name__}.plot .*sklearn-shag\[plot\]"
        with pytest.raises(ImportError, match=message):
            display.plot()
