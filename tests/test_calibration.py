"""Calibration of arc marginals: against scikit-learn, plain loops and a calibrated parser."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import calibration_curve
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sklearn_shag import DeterministicSHAG, SpectralSHAG
from sklearn_shag.inspection import (
    ArcCalibrationDisplay,
    CalibrationBins,
    expected_calibration_error,
)
from sklearn_shag.treebank import TokenFeature
from tests.faults import not_refused

plt = pytest.importorskip("matplotlib.pyplot")
plt.switch_backend("agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def model(english):
    return SpectralSHAG(4).fit(english[:200])


@pytest.fixture(scope="module")
def test(english):
    return english[200:300]


def confidence_by_loop(test, marginals, heads):
    right, probabilities = [], []
    for tree, of_sentence, found in zip(test, marginals, heads, strict=True):
        for m, head in enumerate(tree.heads):
            if head != -1:
                right.append(head == found[m])
                probabilities.append(of_sentence[m, found[m]])
    return np.array(right), np.array(probabilities)


def ece_by_loop(right, probabilities, n_bins):
    error = 0.0
    for low in range(n_bins):
        inside = (probabilities > low / n_bins) & (probabilities <= (low + 1) / n_bins)
        if inside.any():
            distance = abs(right[inside].mean() - probabilities[inside].mean())
            error += inside.mean() * distance
    return error


def test_against_a_loop(model, test):
    marginals, heads = model.predict_marginals(test), model.predict(test)
    for n_bins in (1, 4, 10):
        expected = ece_by_loop(*confidence_by_loop(test, marginals, heads), n_bins)
        found = expected_calibration_error(test, marginals, heads, n_bins=n_bins)
        assert_allclose(found, expected, rtol=1e-10, err_msg=f"{n_bins} bins")
        assert 0.005 < found < 0.2


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_bins_are_those_of_scikit_learn(model, test, strategy):
    marginals, heads = model.predict_marginals(test), model.predict(test)
    right, probabilities = confidence_by_loop(test, marginals, heads)
    accuracies, confidences = calibration_curve(right, probabilities, n_bins=7, strategy=strategy)
    bins = ArcCalibrationDisplay.from_predictions(
        test, marginals, heads, n_bins=7, strategy=strategy
    ).bins
    assert_allclose(bins.accuracies, accuracies, rtol=1e-12)
    assert_allclose(bins.confidences, confidences, rtol=1e-12)
    assert bins.counts.sum() == right.size
    if strategy == "quantile":
        assert np.ptp(bins.counts) < 0.2 * right.size


def test_most_probable_heads_stand_in(model, test):
    marginals = model.predict_marginals(test)
    heads = [part.argmax(axis=1) for part in marginals]
    expected = ece_by_loop(*confidence_by_loop(test, marginals, heads), 10)
    assert_allclose(expected_calibration_error(test, marginals), expected, rtol=1e-10)
    assert any(np.any(a != b) for a, b in zip(heads, model.predict(test), strict=True))
    assert expected != expected_calibration_error(test, marginals, model.predict(test))


def test_a_grammar_is_calibrated_on_its_own_trees(english):
    """Its probabilities are the truth about trees that it draws. Squared, they claim too much."""
    grammar = DeterministicSHAG(smoothing=1).fit(english)
    trees = grammar.sample(1000, random_state=0)
    marginals, heads = grammar.predict_marginals(trees), grammar.predict(trees)
    squared = [part**2 / (part**2).sum(axis=1, keepdims=True) for part in marginals]
    assert expected_calibration_error(trees, marginals, heads) < 0.01
    assert expected_calibration_error(trees, squared, heads) > 0.04


def test_perfect_and_wrong():
    certain = [np.array([[0, 0, 1.0], [1.0, 0, 0]])]
    assert expected_calibration_error([[2, 0]], certain) == 0.0
    assert expected_calibration_error([[0, 1]], certain) == 1.0
    assert expected_calibration_error([[2, -1]], certain) == 0.0
    assert expected_calibration_error([[0, 1]], certain, [[0, 1]]) == 1.0  # they have probability 0


def test_edges_belong_to_the_lower_bin():
    marginals = [np.array([[0, 0, 0.5, 0.5], [1.0, 0, 0, 0], [0.4, 0, 0.6, 0]])]
    bins = ArcCalibrationDisplay.from_predictions([[2, 0, 2]], marginals, n_bins=2).bins
    assert_allclose(bins.confidences, [0.5, 0.8])
    assert bins.counts.tolist() == [1, 2]


def test_tokens_without_a_true_head_do_not_count(model, test):
    rng = np.random.default_rng(0)
    partial = [t.with_heads(np.where(rng.uniform(size=len(t)) < 0.5, -1, t.heads)) for t in test]
    marginals, heads = model.predict_marginals(test), model.predict(test)
    right, probabilities = confidence_by_loop(partial, marginals, heads)
    assert right.size < 0.6 * sum(map(len, test))
    found = expected_calibration_error(partial, marginals, heads)
    assert_allclose(found, ece_by_loop(right, probabilities, 10), rtol=1e-10)
    display = ArcCalibrationDisplay.from_estimator(model, partial)
    assert_allclose(display.bins.expected_error, found, rtol=1e-12)


class TestDisplay:
    def test_what_is_drawn(self, model, test):
        display = ArcCalibrationDisplay.from_estimator(model, test, n_bins=5)
        expected = ArcCalibrationDisplay.from_predictions(
            test, model.predict_marginals(test), model.predict(test), n_bins=5
        )
        for one, other in zip(display.bins, expected.bins, strict=True):
            assert_array_equal(one, other)
        assert_array_equal(display.line_.get_xdata(), display.bins.confidences)
        assert_array_equal(display.line_.get_ydata(), display.bins.accuracies)
        places = np.column_stack([display.bins.confidences, display.bins.accuracies])
        assert_allclose(display.points_.get_offsets(), places)
        assert_array_equal(np.argsort(display.points_.get_sizes()), np.argsort(display.bins.counts))
        assert display.figure_ is display.ax_.figure
        labels = display.ax_.get_legend_handles_labels()[1]
        error = f"ECE {display.bins.expected_error:.3f}"
        assert labels == ["perfectly calibrated", f"SpectralSHAG ({error})"]
        assert expected.ax_.get_legend_handles_labels()[1] == ["perfectly calibrated", error]

    def test_several_on_the_same_axes(self, model, test, english):
        one = ArcCalibrationDisplay.from_estimator(model, test, name="one")
        other = DeterministicSHAG().fit(english[:200])
        two = ArcCalibrationDisplay.from_estimator(other, test, name="two", ax=one.ax_)
        assert two.ax_ is one.ax_
        labels = one.ax_.get_legend_handles_labels()[1]
        assert [label.split(" (")[0] for label in labels] == ["perfectly calibrated", "one", "two"]
        assert_array_equal(one.plot().line_.get_xdata(), one.bins.confidences)

    def test_pipelines(self, test, english):
        pipeline = make_pipeline(TokenFeature("xpos"), DeterministicSHAG()).fit(english[:200])
        display = ArcCalibrationDisplay.from_estimator(pipeline, test)
        expected = ArcCalibrationDisplay.from_estimator(
            pipeline[-1], pipeline[0].transform(test), [tree.heads for tree in test]
        )
        assert display.bins.expected_error == expected.bins.expected_error

    def test_bins_by_hand(self):
        bins = CalibrationBins(np.array([0.2, 0.9]), np.array([0.5, 0.8]), np.array([1, 3]))
        assert bins.expected_error == pytest.approx((0.3 + 3 * 0.1) / 4)
        assert ArcCalibrationDisplay(bins).plot().line_.get_xdata().size == 2


class TestErrors:
    MARGINALS = (np.array([[0, 0, 1.0], [1.0, 0, 0]]),)

    def test_values(self):
        certain = self.MARGINALS
        cases = [
            (([[2, 0]], certain * 2), "y_true, marginals must hold the same number .* got 1, 2"),
            (([], []), "at least one; got 0, 0"),
            (([[2, 0, 2]], certain), r"y_true\[0\] holds 3 heads for a sentence of 2 tokens"),
            (([[-1, -1]], certain), "No true head is known"),
            (([[2, 0]], [np.eye(2)]), r"marginals\[0\] must be an array of shape .* got the shape"),
            (([[2, 0]], [certain[0] * 2]), r"marginals\[0\] holds 0 to 2, but"),
            (([[2, 0]], [certain[0] * np.nan]), r"marginals\[0\] holds nan to nan, but"),
            (([[2, 0]], [-certain[0]]), r"marginals\[0\] holds -1 to -0, but"),
        ]
        assert not not_refused(cases, lambda given: expected_calibration_error(*given))

    def test_predictions(self):
        with pytest.raises(ValueError, match=r"y_true, marginals, y_pred must hold .* got 1, 1, 2"):
            expected_calibration_error([[2, 0]], self.MARGINALS, [[2, 0]] * 2)
        with pytest.raises(ValueError, match=r"y_pred\[0\] has unknown heads"):
            expected_calibration_error([[2, 0]], self.MARGINALS, [[2, -1]])
        with pytest.raises(
            TypeError, match="y_pred must be a list with those of each sentence, got"
        ):
            expected_calibration_error([[2, 0]], self.MARGINALS, 2)

    def test_options(self, model, test):
        cases = [({"n_bins": 0}, "n_bins"), ({"strategy": "equal"}, "strategy")]
        given = [[2, 0]], self.MARGINALS
        display = ArcCalibrationDisplay
        assert not not_refused(cases, lambda o: expected_calibration_error(*given, **o))
        assert not not_refused(cases, lambda o: display.from_predictions(*given, **o))
        assert not not_refused(cases, lambda o: display.from_estimator(model, test[:2], **o))

    def test_no_parser(self, test):
        with pytest.raises(TypeError, match=r"must be a fitted parser .* got a LogisticRegression"):
            ArcCalibrationDisplay.from_estimator(LogisticRegression(), test)
