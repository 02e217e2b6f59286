"""The loss of trees against enumeration and differences."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_shag.parsing import tree_loss
from tests.loops import over
from tests.oracles import differences, enumerate_loss

HEADS = [[2, 0], [-1, 0, -1, 2], [0], [2, 3, 0], [-1, -1, -1], [0, 1, 1, 3, 3], [-1, 4, -1, -1, 4]]


def drawn(dtype=np.float64):
    rng = np.random.default_rng(0)
    scores = [rng.normal(size=(len(heads), len(heads) + 1)).astype(dtype) for heads in HEADS]
    scores[3][0, 0] = -np.inf  # a forbidden arc
    return scores


def flat(parts):
    return np.concatenate([part.ravel() for part in parts])


@over("dtype", [np.float32, np.float64])
@over("n_jobs", [1, 2])
def test_loss_and_gradient_are_those_of_enumeration(dtype, n_jobs):
    scores, weights = drawn(dtype), np.array([1.0, 0.5, 2.0, 0.0, 1.0, 3.0, 0.1])
    losses, gradient = tree_loss(flat(scores), HEADS, sample_weight=weights, n_jobs=n_jobs)
    expected = [
        enumerate_loss(part.astype(float), heads) for part, heads in zip(scores, HEADS, strict=True)
    ]
    assert losses.dtype == np.float64
    assert gradient.dtype == dtype
    assert_allclose(losses, [loss for loss, _ in expected], atol=1e-12)
    weighted = [weight * part for weight, (_, part) in zip(weights, expected, strict=True)]
    assert_allclose(gradient, flat(weighted), atol=1e-12 if dtype == np.float64 else 1e-6)


def test_what_is_not_known_costs_nothing_and_pulls_nowhere():
    losses, gradient = tree_loss(np.ones(12), [[-1, -1, -1]])
    assert losses.tolist() == [0.0]
    assert_array_equal(gradient, 0.0)


@over("offset", [0.0, 5e3, -5e3])
def test_gradient_is_the_derivative(offset):
    rng = np.random.default_rng(1)
    heads = [[2, 3, 0, 3, 4] + [5] * 25, [-1] * 10 + [12, 0] + [-1] * 20]
    n_arcs = sum(len(part) * (len(part) + 1) for part in heads)
    scores = 4 * rng.normal(size=n_arcs) + offset
    _, gradient = tree_loss(scores, heads)
    places = rng.integers(n_arcs, size=20)
    expected = differences(lambda: tree_loss(scores, heads)[0].sum(), scores, 1e-4, places)
    assert_allclose(gradient[places], expected, atol=1e-6)
