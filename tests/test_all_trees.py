"""Sums over all trees of a sentence, whether or not their arcs cross, against enumeration."""

import itertools

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

from sklearn_shag.parsing import Potentials, chart, tree_loss
from sklearn_shag.parsing._arborescence_draws import best_all_trees, draw_all_trees
from sklearn_shag.parsing._chart import ROUTES
from sklearn_shag.parsing._potentials import as_factors
from sklearn_shag.treebank import is_projective, lift, nonprojective_arcs
from tests import oracles
from tests.loops import over

DIGITS = 1000  # more than subtraction loses here


def sentence(scores):
    return Potentials(np.array([0, len(scores)]), arcs=scores.ravel())


def sum_trees(scores):
    """log Z and marginals of one sentence."""
    found = chart(None, sentence(scores), trees="all")
    return found.log_abs_z[0], found.arcs.reshape(scores.shape)


def enumerate_trees(scores, known=None):
    """All trees with one root that have the known heads, their scores, log Z and marginals."""
    known = [-1] * len(scores) if known is None else known
    trees = np.array([tree for tree in oracles.trees(len(scores)) if oracles.fits(tree, known)])
    values = scores[np.arange(len(scores)), trees].sum(axis=1)
    log_z = logsumexp(values)
    _, marginals = oracles.sum_trees(trees, np.exp(values - log_z))
    return trees, values, log_z, marginals


def draw_scores(rng, n, deviation=3.0, forbidden=0.0):
    """Random scores, some -inf, though at least one tree stays."""
    scores = rng.normal(scale=deviation, size=(n, n + 1))
    kept = np.array(oracles.random_tree(rng, n))
    is_kept = kept[:, None] == np.arange(n + 1)
    return np.where((rng.random(scores.shape) < forbidden) & ~is_kept, -np.inf, scores)


@over("n", range(1, 6))
def test_sums_are_those_of_all_trees_with_one_root(n):
    rng = np.random.default_rng(n)
    for forbidden in (0.0, 0.3, 0.6):
        scores = draw_scores(rng, n, forbidden=forbidden)
        _, _, log_z, marginals = enumerate_trees(scores)
        found, of_arcs = sum_trees(scores)
        assert_allclose(found, log_z, rtol=1e-12, atol=1e-12)
        assert_allclose(of_arcs, marginals, atol=1e-12)
        assert_allclose(of_arcs[:, 0].sum(), 1.0, atol=1e-12)


def test_no_tree_has_no_mass_and_too_wide_scores_are_out_of_range():
    scores = np.zeros((2, 3))
    scores[:, 0] = -np.inf  # no root
    found = chart(None, sentence(scores), trees="all")
    assert found.sign[0] == 0
    assert found.log_abs_z[0] == -np.inf
    assert ROUTES[found.route[0]] == "none"
    assert np.isnan(found.arcs).all()
    # Two cycles, left by one forced chain of arcs that are much worse each.
    scores = np.full((5, 6), -np.inf)
    for m, h, score in [
        (1, 2, 0),
        (2, 1, 0),
        (3, 4, 0),
        (4, 3, 0),
        (5, 0, 0),
        (2, 4, -9e2),
        (4, 5, -9e2),
    ]:
        scores[m - 1, h] = score
    found = chart(None, sentence(scores), trees="all")
    assert ROUTES[found.route[0]] in ("fast", "out of range")
    if found.sign[0]:
        assert_allclose(found.arcs.reshape(5, 6)[[0, 1, 2, 3], [2, 4, 4, 5]], 1.0)


def log_determinant(weights):
    """log Z by the matrix-tree theorem, in arithmetic with many digits."""
    rows = [[-weight for weight in row[1:]] for row in weights]
    for m, row in enumerate(weights):
        rows[m][m] = sum(weight for h, weight in enumerate(row[1:]) if h != m)
        rows[m][0] = row[0]
    return mpmath.log(mpmath.det(mpmath.matrix(rows)))


def weigh(scores):
    return [[mpmath.exp(mpmath.mpf(float(score))) for score in row] for row in scores]


def cycles(rng, n, size, nats):
    """Scores by which tokens point at each other, `size` at a time."""
    scores = rng.normal(size=(n, n + 1))
    for first in range(0, n - size + 1, size):
        for k in range(size):
            scores[first + k, 1 + first + (k + 1) % size] += nats
    return scores


def check_digits(scores, n_rows, digits=DIGITS):
    """Assert that log Z and the marginals of some rows have their digits."""
    n, (log_z, marginals) = len(scores), sum_trees(scores)
    with mpmath.workdps(digits):
        weights = weigh(scores)
        exact = log_determinant(weights)
        assert abs(log_z - exact) < 1e-12 * max(1, abs(exact))
        for m in np.random.default_rng(0).choice(n, n_rows, replace=False):
            for h in np.argsort(marginals[m])[-2:]:
                only = [row if k != m else [0 * w for w in row] for k, row in enumerate(weights)]
                only[m][h] = weights[m][h]
                share = mpmath.exp(log_determinant(only) - exact) if h != m + 1 else 0
                assert abs(marginals[m, h] - share) < 1e-12
    assert_allclose(marginals.sum(axis=1), 1.0, atol=1e-12)


@over("deviation", [1, 10, 100])
def test_wide_scores_lose_no_digits(deviation):
    check_digits(np.random.default_rng(0).normal(size=(12, 13)) * deviation, 3)


@over("size, nats", itertools.product((2, 4), (20, 100)))
def test_cycles_lose_no_digits(size, nats):
    check_digits(cycles(np.random.default_rng(0), 12, size, nats), 3)


@pytest.mark.exhaustive
@over(
    "size, nats, deviation, digits",
    [(2, 100, 1, 300), (4, 100, 1, 300), (2, 0, 100, DIGITS), (2, 0, 0, 100)],
)
def test_long_sentences_lose_no_digits(size, nats, deviation, digits):
    rng = np.random.default_rng(0)
    check_digits(cycles(rng, 160, size, nats) * deviation, 1, digits)


@over("n, forbidden", [(1, 0.0), (2, 0.0), (3, 0.0), (4, 0.3), (5, 0.0), (5, 0.6)])
def test_draws_have_the_probabilities_of_trees(n, forbidden):
    rng, n_samples = np.random.default_rng(10 * n), 40_000
    scores = draw_scores(rng, n, 1.0, forbidden)
    trees, values, log_z, _ = enumerate_trees(scores)
    samples, lost = draw_all_trees(as_factors(sentence(scores)), [n], n_samples)
    assert not lost[0]
    assert oracles.chi_square(samples, trees, np.exp(values - log_z)) > 1e-3


def test_draws_lose_no_digits_where_tokens_point_at_each_other():
    """The tree that leaves each cycle by its best arc is certain, though its weight is tiny."""
    scores = np.full((4, 5), -300.0)
    scores[[0, 1, 2, 3], [2, 1, 4, 3]] = 0.0
    scores[[0, 2], [0, 1]] = -100.0
    trees, values, _, _ = enumerate_trees(scores)
    samples, _ = draw_all_trees(as_factors(sentence(scores)), [0], 50)
    assert_array_equal(samples, np.tile(trees[values.argmax()], (50, 1)))


@over("n, k, forbidden", [(1, 3, 0.0), (2, 2, 0.0), (3, 20, 0.3), (4, 10, 0.0), (5, 12, 0.5)])
def test_the_best_trees_are_those_of_enumeration(n, k, forbidden):
    scores = draw_scores(np.random.default_rng(n), n, forbidden=forbidden)
    trees, values, _, _ = enumerate_trees(scores)
    possible = np.sort(values[values > -np.inf])[::-1][:k]
    heads, found = np.empty((k, n), dtype=np.int64), np.empty((k, 1))
    best_all_trees(as_factors(sentence(scores)), heads, found)
    assert_allclose(found[: possible.size, 0], possible, atol=1e-12)
    assert (found[possible.size :] == -np.inf).all()
    places = {tuple(tree): value for tree, value in zip(trees.tolist(), values, strict=True)}
    listed = [tuple(row) for row in heads[: possible.size].tolist()]
    assert len(set(listed)) == possible.size
    assert_allclose([places[tree] for tree in listed], possible, atol=1e-12)


def test_results_do_not_depend_on_neighbours_or_workers():
    rng = np.random.default_rng(0)
    parts = [draw_scores(rng, n, forbidden=0.2) for n in (7, 1, 30, 3, 12, 2, 30, 5)]
    indptr = np.cumsum([0, *map(len, parts)])
    together = Potentials(indptr, arcs=np.concatenate([part.ravel() for part in parts]))
    for n_jobs in (1, 2):
        found = chart(None, together, trees="all", n_jobs=n_jobs)
        alone = [sum_trees(part) for part in parts]
        assert_array_equal(found.log_abs_z, [log_z for log_z, _ in alone])
        assert_array_equal(found.arcs, np.concatenate([arcs.ravel() for _, arcs in alone]))


@over("known", [[3, 4, 0, 3], [3, 4, -1, -1], [-1, -1, -1, -1], [-1, 4, -1, 1], [0, -1, -1, -1]])
def test_losses_sum_over_the_trees_with_the_known_heads(known):
    scores = np.random.default_rng(1).normal(size=(4, 5))
    _, _, log_z, marginals = enumerate_trees(scores)
    _, _, log_known, of_known = enumerate_trees(scores, known)
    losses, gradient = tree_loss(scores.ravel(), [known], trees="all", sample_weight=[3.0])
    assert_allclose(losses, [log_z - log_known], atol=1e-10)
    assert_allclose(gradient.reshape(4, 5), 3 * (marginals - of_known), atol=1e-10)
    expected = oracles.differences(
        lambda: tree_loss(scores.ravel(), [known], trees="all")[0][0], scores
    )
    assert_allclose(gradient.reshape(4, 5) / 3, expected, atol=1e-8)


def test_nonprojective_arcs_skip_a_token_that_does_not_descend_from_the_head():
    rng = np.random.default_rng(0)
    for _ in range(200):
        heads = oracles.random_tree(rng, int(rng.integers(1, 9)))
        above = {0: set()}
        for token in range(1, len(heads) + 1):
            way, node = set(), token
            while node:
                node = heads[node - 1]
                way.add(node)
            above[token] = way
        between = {m: range(min(m, h) + 1, max(m, h)) for m, h in enumerate(heads, start=1)}
        expected = tuple(
            m for m, h in enumerate(heads, start=1) if any(h not in above[k] for k in between[m])
        )
        assert nonprojective_arcs(heads) == expected
        assert is_projective(heads) == (not expected)
        assert nonprojective_arcs(lift(heads)) == ()
    assert nonprojective_arcs([3, 4, 0, 3]) == (2,)
    assert nonprojective_arcs([3, -1, 0, 3]) == nonprojective_arcs([3, 4, -1, -1]) == ()
