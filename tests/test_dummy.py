"""Chains and random trees."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_shag import DummyParser
from tests import oracles

SENTENCES = [["A"], list("AB"), list("ABCAB"), list("BACBCAAB")]


CHAINS = {"left": lambda n: [*range(n)], "right": lambda n: [*range(2, n + 1), 0]}


@pytest.mark.parametrize("strategy", CHAINS)
def test_chains(strategy):
    model = DummyParser(strategy).fit(SENTENCES)
    expected = [CHAINS[strategy](len(sentence)) for sentence in SENTENCES]
    assert [heads.tolist() for heads in model.predict(SENTENCES)] == expected
    for heads, marginals in zip(expected, model.predict_marginals(SENTENCES), strict=True):
        _, certain = oracles.sum_trees([heads], [1.0])
        assert_allclose(marginals, certain, atol=1e-9)
    assert_allclose(model.conditional_log_likelihood(SENTENCES, expected), 0, atol=1e-9)


def test_every_tree_may_be_drawn():
    sentence, trees = [list("ABC")], set()
    for seed in range(200):
        model = DummyParser("random", random_state=seed).fit(sentence)
        trees.add(tuple(model.predict(sentence)[0].tolist()))
    assert trees == set(oracles.projective_trees(3))


def test_what_is_allowed_comes_first():
    allowed = [np.ones((4, 5), dtype=bool)]
    allowed[0][1] = [True, False, False, False, False]  # token 2 is the root
    heads = DummyParser("right").fit([list("ABCD")]).predict([list("ABCD")], allowed=allowed)[0]
    assert heads.tolist() == [2, 0, 4, 2]
