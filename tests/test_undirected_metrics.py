"""Scores that do not mind the direction of arcs, and sentences by length, counted naively."""

import numpy as np
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from sklearn_shag.metrics import (
    exact_match_score,
    neutral_edge_direction_score,
    undirected_attachment_score,
    unlabeled_attachment_score,
)
from tests import oracles
from tests.faults import not_refused

SCORES = [
    unlabeled_attachment_score,
    undirected_attachment_score,
    neutral_edge_direction_score,
    exact_match_score,
]
UNKNOWN = -1


def naive(score, true, pred):
    """Right tokens and counted ones of one sentence."""
    heads, right, counted = dict(enumerate(true, start=1)), 0, 0
    for token, guess in enumerate(pred, start=1):
        head = heads[token]
        if head == UNKNOWN:
            continue
        counted += 1
        is_head, is_child = guess == head, guess > 0 and heads[guess] == token
        is_above = head > 0 and heads[head] == guess
        if score is unlabeled_attachment_score:
            right += is_head
        elif score is undirected_attachment_score:
            right += is_head or is_child
        else:
            right += is_head or is_child or is_above
    return right, counted


@pytest.fixture(scope="module")
def pairs():
    """Random trees, some heads of the true ones unknown, and predictions near them."""
    rng = np.random.default_rng(0)
    true, pred = [], []
    for n_tokens in rng.integers(1, 9, size=200):
        heads = np.array(oracles.random_tree(rng, n_tokens))
        true.append(np.where(rng.random(n_tokens) < 0.2, UNKNOWN, heads).tolist())
        pred.append(oracles.random_tree(rng, n_tokens))
    return true, pred


def test_scores_are_those_of_counting(pairs):
    for score in SCORES[:3]:
        for max_length in (None, 1, 5):
            counts = [
                naive(score, true, pred)
                for true, pred in zip(*pairs, strict=True)
                if max_length is None or len(true) <= max_length
            ]
            right, counted = np.sum(counts, axis=0)
            expected = pytest.approx(right / counted, abs=1e-12)
            assert score(*pairs, max_length=max_length) == expected, (score, max_length)


def test_a_length_and_weights_are_a_filter(pairs):
    true, pred = pairs
    short = [s for s, heads in enumerate(true) if len(heads) <= 4]
    weights = np.arange(len(true)) % 3
    for score in SCORES:
        expected = score(
            [true[s] for s in short], [pred[s] for s in short], sample_weight=weights[short]
        )
        assert score(true, pred, sample_weight=weights, max_length=4) == expected, score


def test_the_root_may_be_the_head_of_the_head():
    assert neutral_edge_direction_score([[2, 0]], [[0, 1]]) == 1
    assert undirected_attachment_score([[2, 0]], [[0, 1]]) == 0.5


@pytest.mark.parametrize("score", SCORES)
def test_each_score_minds_its_arguments(score):
    mask = [[True, False, False]]
    assert score([[2, 3, 0]], [[3, 3, 0]], ignore=mask) == 1
    for true, pred in (([[3, 0]], [[2, 0]]), ([[2, 0]], [[3, 0]])):
        with pytest.raises(ValueError, match="has the head 3 for token 1, but 2 tokens"):
            score(true, pred)
    with pytest.warns(UndefinedMetricWarning, match="max_length"):
        assert score([[2, 0]], [[2, 0]], max_length=1) == 0
    message = "max_length must be None or a whole number from 1 on"
    cases = [(max_length, message) for max_length in (0, -1, 2.5, "10")]
    assert not not_refused(cases, lambda given: score([[0]], [[0]], max_length=given))
