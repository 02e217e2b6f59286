"""Concave models: their likelihood token by token, one optimum, roots."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_shag import DMV, ConcaveParser
from sklearn_shag.induction._concave import learn_concave
from tests import oracles
from tests.oracles import LEFT, RIGHT
from tests.test_dmv import SENTENCES


def naive_step(c, sentences, known=None, roots=None):
    """Log likelihood, and the next probabilities: token by token, head by head."""
    total, counts = 0.0, np.zeros_like(c)
    for s, sentence in enumerate(sentences):
        codes = ["ABC".index(symbol) for symbol in sentence]
        has_root = roots is not None and set(sentence) & set(roots)
        for m in range(1, len(codes) + 1):
            cells = []
            for h in range(len(codes) + 1):
                if h == m or (known is not None and known[s][m - 1] not in (-1, h)):
                    continue
                if h == 0 and has_root and sentence[m - 1] not in roots:
                    continue
                head = 4 if h == 0 else codes[h - 1]
                cells.append((head, LEFT if m < h else RIGHT, codes[m - 1]))
            z = sum(c[cell] for cell in cells)
            total += np.log(z)
            for cell in cells:
                counts[cell] += c[cell] / z
    counts[3] = counts[:3].sum(axis=0)
    sums = counts.sum(axis=-1, keepdims=True)
    return total, np.where(sums > 0, counts / np.where(sums > 0, sums, 1), 1 / 3)


@pytest.mark.parametrize("roots", [None, ("B",)])
@pytest.mark.parametrize(
    "known", [None, [[2, 0, -1], [-1, -1], *[[-1] * n for n in (1, 5, 3, 2, 4)]]]
)
def test_em_is_that_of_independent_tokens(known, roots):
    model = ConcaveParser(roots, max_iter=3).fit(SENTENCES, known)
    c, log_likelihoods = np.full((5, 2, 3), 1 / 3), []
    for _ in range(4):
        expected = c
        log_likelihood, c = naive_step(c, SENTENCES, known, roots)
        log_likelihoods.append(log_likelihood)
    assert_allclose(model.loss_curve_, np.negative(log_likelihoods), rtol=1e-12)
    assert_allclose(model.operators_.A[:4, :, :3, 0, 0], expected[:4], atol=1e-12)
    assert_allclose(model.operators_.A[4, RIGHT, :3, 0, 0], expected[4, RIGHT], atol=1e-12)
    assert_array_equal(model.operators_.alpha_inf[:4], 1)


def test_four_starts_reach_one_optimum(unpunctuated):
    raw = ConcaveParser()._prepare_text(unpunctuated, None, None)
    n = raw.symbols.size
    ended = [learn_concave(raw.text, raw.symbols, max_iter=2000)]
    for seed in range(3):
        start = np.random.default_rng(seed).dirichlet(np.ones(n), size=(n + 2, 2))
        ended.append(learn_concave(raw.text, raw.symbols, max_iter=2000, start=start))
    starts = [each.objectives[0] for each in ended]
    ends = [each.objectives[-1] for each in ended]
    assert np.ptp(starts) > 1
    assert_allclose(ends, ends[0], rtol=1e-5)
    for each in ended:
        assert np.diff(each.objectives).min() > -1e-9 * abs(ends[0])


def test_roots_have_some_of_the_symbols_in_training_alone():
    model = ConcaveParser(("B",)).fit([list("AB"), list("BA"), list("BAA")])
    assert model.operators_.A[-1, RIGHT, 1, 0, 0] == 1
    without = ConcaveParser(("B",)).fit([list("AB"), list("AA")])
    assert 0 < without.operators_.A[-1, RIGHT, 0, 0, 0] < 1
    assert without.predict([list("AA")])[0].size == 2
    known = ConcaveParser(("B",)).fit([list("AB")], [[0, 1]])
    assert known.operators_.A[-1, RIGHT, 0, 0, 0] == 1


def test_predictions_are_the_best_trees_of_arcs():
    model = ConcaveParser(max_iter=5).fit(SENTENCES)
    for sentence, found in zip(SENTENCES, model.predict(SENTENCES), strict=True):
        codes = ["ABC".index(symbol) for symbol in sentence]
        scores = np.full((len(codes), len(codes) + 1), -np.inf)
        for m, h in np.ndindex(scores.shape):
            if h != m + 1:
                direction = LEFT if m + 1 < h else RIGHT
                head = 4 if h == 0 else codes[h - 1]
                scores[m, h] = np.log(model.operators_.A[head, direction, codes[m], 0, 0])
        best = oracles.best_tree(scores)
        tokens = np.arange(len(codes))
        assert_allclose(scores[tokens, found].sum(), scores[tokens, best].sum(), rtol=1e-12)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_it_is_where_a_dmv_starts(unpunctuated):
    """The distributions of modifiers are copied, and stop probabilities are 1/2."""
    roots = ("VERB", "AUX")
    parser = ConcaveParser(roots).fit(unpunctuated)
    start = DMV("concave", root_symbols=roots, max_iter=0, prior=0).fit(unpunctuated)
    n = start.symbols_.size
    assert_array_equal(start.operators_.alpha_inf[:n], 0.5)
    expected = parser.operators_.A[:n, :, :n, 0, 0]
    for state in range(2):
        found = start.operators_.A[:n, :, :n, 1, state]
        assert_allclose(found, 0.5 * expected, atol=1e-12)
    assert_allclose(
        start.operators_.A[-1, RIGHT, :n, 0, 0],
        parser.operators_.A[-1, RIGHT, :n, 0, 0],
        atol=1e-12,
    )
