"""Displays: what they hold, what they draw, and that it can be read."""

import itertools
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.pipeline import make_pipeline

from sklearn_shag import SpectralSHAG
from sklearn_shag.inspection import ArcMarginalsDisplay, DependencyTreeDisplay
from sklearn_shag.treebank import DependencyTree, TokenFeature


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
    figure = texts[0].figure
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    return [text.get_window_extent(renderer) for text in texts]


def overlaps(extents, by=1.0):
    """Pairs of boxes that overlap by more than so many pixels both ways."""
    return [
        (i, j)
        for (i, a), (j, b) in itertools.combinations(enumerate(extents), 2)
        if min(a.x1, b.x1) - max(a.x0, b.x0) > by and min(a.y1, b.y1) - max(a.y0, b.y0) > by
    ]


def lies_within(extents, figure):
    box = figure.bbox
    return all(
        e.x0 >= box.x0 and e.x1 <= box.x1 and e.y0 >= box.y0 and e.y1 <= box.y1 for e in extents
    )


def words_of(display):
    return [text for text in display.ax_.texts if text.get_text()]


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
        assert {arc: patch.get_gid() for arc, patch in display.arcs_.items()} == {
            arc: kind for kind, arcs in display.arcs.items() for arc in arcs
        }
        assert len(display.ax_.patches) == 6
        styles = {(p.get_linestyle(), p.get_edgecolor()) for p in display.ax_.patches}
        assert len(styles) == len({line for line, _ in styles}) == 3
        assert [text.get_text() for text in display.ax_.get_legend().texts] == [
            "right (2)",
            "missed (2)",
            "wrong (2)",
        ]
        assert sorted(text.get_text() for text in words_of(display)) == sorted(
            [*self.tree.forms, *self.tree.symbols, *self.tree.deprels]
        )

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

    @pytest.mark.parametrize("known", ["tree", "heads", "neither"])
    def test_where_one_is_known_alone(self, known):
        tree = self.tree if known == "tree" else self.tree.with_heads(None)
        heads = self.tree.heads if known == "heads" else None
        display = DependencyTreeDisplay(tree, heads).plot()
        assert len(display.arcs["right"]) == len(display.ax_.patches) == 4 * (known != "neither")
        assert display.arcs["missed"] == display.arcs["wrong"] == []
        assert display.ax_.get_legend() is None

    def test_from_estimator(self, model, english):
        tree = english[302]
        display = DependencyTreeDisplay.from_estimator(model, tree)
        assert_array_equal(display.heads, model.predict([tree])[0])
        right = tree.heads == display.heads
        assert [len(arcs) for arcs in display.arcs.values()] == [right.sum(), *[(~right).sum()] * 2]
        other = DependencyTreeDisplay.from_predictions(tree, model.parse([tree])[0])
        assert other.arcs == display.arcs

    def test_words_alone_and_marks_of_mathematics(self, pyplot):
        tree = DependencyTree(["$x^$", "\\alpha$", "$"], [0, 1, 1])
        display = DependencyTreeDisplay(tree).plot()
        assert [text.get_text() for text in words_of(display)] == list(tree.forms)
        display.figure_.canvas.draw()  # "$x^$" would be no formula
        ArcMarginalsDisplay(np.ones((3, 4)), tree.forms).plot().figure_.canvas.draw()

    def test_own_axes_are_used_and_everything_fits(self, pyplot, long_tree):
        figure, axes = pyplot.subplots(1, 2)
        display = DependencyTreeDisplay.from_predictions(
            long_tree, long_tree.heads, ax=axes[1]
        ).plot(ax=axes[0])
        assert display.ax_ is axes[0]
        assert display.figure_ is figure
        assert not overlaps(boxes(words_of(display)))

    def test_can_be_read(self, model, english, long_tree):
        for tree in (english[302], long_tree):
            heads = np.arange(len(tree))  # a chain
            display = DependencyTreeDisplay.from_predictions(tree, heads)
            texts = [*words_of(display), *display.ax_.get_legend().texts]
            extents = boxes(texts)
            assert not overlaps(extents)
            assert lies_within(extents, display.figure_)
            assert min(text.get_fontsize() for text in texts) >= 7.9
            assert display.figure_.get_size_inches()[0] < 20
            # The arcs stay above the words.
            words = max(box.y1 for box in extents)
            for patch in display.ax_.patches:
                assert patch.get_window_extent().y0 > words - 5

    def test_long_words_are_cut(self):
        display = DependencyTreeDisplay(DependencyTree(["https://example.org/" * 3, "a"])).plot()
        word = words_of(display)[0].get_text()
        assert len(word) == 20
        assert word.endswith("\N{HORIZONTAL ELLIPSIS}")

    def test_mistakes(self, model, english):
        with pytest.raises(TypeError, match="must be a single DependencyTree, got a list"):
            DependencyTreeDisplay.from_estimator(model, english[:2])
        with pytest.raises(TypeError, match="predicts heads, got a TokenFeature"):
            DependencyTreeDisplay.from_estimator(TokenFeature(), english[0])
        with pytest.raises(ValueError, match="heads"):
            DependencyTreeDisplay.from_predictions(self.tree, [2, 0, 4])


class TestArcMarginals:
    def test_data_and_marks(self, model, english):
        tree = english[302]
        display = ArcMarginalsDisplay.from_estimator(model, tree)
        expected = model.predict_marginals([tree])[0]
        assert_array_equal(display.marginals, expected)
        assert_array_equal(display.im_.get_array(), expected)
        assert display.im_.get_clim() == (0.0, 1.0)
        rows, columns = display.ax_.get_yticklabels(), display.ax_.get_xticklabels()
        assert [text.get_text() for text in rows] == list(tree.forms)
        assert [text.get_text() for text in columns] == ["<root>", *tree.forms]
        assert_array_equal(display.marks_.get_xdata(), tree.heads)
        assert_array_equal(display.marks_.get_ydata(), np.arange(len(tree)))

    def test_symbols_have_no_true_heads(self, model, pyplot):
        figure, ax = pyplot.subplots()
        display = ArcMarginalsDisplay.from_estimator(model, ["DET", "NOUN", "VERB"], ax=ax)
        assert display.ax_ is ax
        assert display.figure_ is figure
        assert display.marks_ is None
        assert [text.get_text() for text in ax.get_yticklabels()] == ["DET", "NOUN", "VERB"]

    def test_can_be_read(self, long_tree):
        rng = np.random.default_rng(0)
        marginals = rng.dirichlet(np.ones(61), size=60)
        display = ArcMarginalsDisplay(marginals, long_tree.forms, long_tree.heads).plot()
        ax = display.ax_
        texts = [*ax.get_xticklabels(), *ax.get_yticklabels(), ax.xaxis.label, ax.yaxis.label]
        extents = boxes(texts)
        assert not overlaps(extents)
        assert lies_within(extents, display.figure_)
        assert min(text.get_fontsize() for text in texts) >= 8
        cells = ax.get_window_extent()
        assert cells.width / 61 > 9  # pixels, at least
        assert all(not cells.overlaps(extent) for extent in extents)
        assert max(display.figure_.get_size_inches()) < 15

    def test_mistakes(self, model, english):
        pipeline = make_pipeline(TokenFeature(), SpectralSHAG(2)).fit(english[:50])
        with pytest.raises(TypeError, match=r"got a Pipeline.*pipeline\[-1\]"):
            ArcMarginalsDisplay.from_estimator(pipeline, english[0])
        display = ArcMarginalsDisplay.from_estimator(
            pipeline[-1], pipeline[:-1].transform([english[0]])[0]
        )
        assert display.marginals.shape == (len(english[0]), len(english[0]) + 1)
        with pytest.raises((TypeError, ValueError), match="X"):
            ArcMarginalsDisplay.from_estimator(model, english[:2])


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    displays = [
        DependencyTreeDisplay(DependencyTree(["a"], [0])),
        ArcMarginalsDisplay(np.ones((1, 2)), ("a",)),
    ]
    for display in displays:
        name = type(display).__name__
        with pytest.raises(ImportError, match=rf"{name}.plot .*sklearn-shag\[plot\]"):
            display.plot()
