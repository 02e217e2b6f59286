"""What to annotate next: tables of the least certain arcs and sentences, against plain loops."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from sklearn_shag import DeterministicSHAG
from sklearn_shag.inspection import least_certain_arcs, least_certain_sentences
from sklearn_shag.metrics import uas_scorer
from sklearn_shag.treebank import DependencyTree, TokenFeature, allowed_arcs, fill_unknown
from tests.estimators import ESTIMATORS, hide, same
from tests.loops import assert_all_close


@pytest.fixture(scope="module", params=ESTIMATORS)
def parser(request, fitted):
    return fitted(request.param)


@pytest.fixture(scope="module")
def first(english):
    return DeterministicSHAG(smoothing=1).fit(english[:60])


@pytest.fixture(scope="module")
def text(english):
    """A whole tree, an unlabelled one, and partial ones."""
    trees = [tree for tree in english[300:330] if tree.is_projective and 4 < len(tree) < 20]
    partial = [hide(tree, seed, 0.6) for seed, tree in enumerate(trees[2:])]
    return [trees[0], trees[1].with_heads(None), *partial]


def rows_by_loop(parser, text):
    """A row for each unknown head: sentence, token, head, probability, margin, entropy."""
    allowed = allowed_arcs(fill_unknown(text))
    found = parser.predict(text, allowed=allowed)
    marginals = parser.predict_marginals(text, allowed=allowed)
    for s, tree in enumerate(text):
        for m in range(len(tree)):
            if tree.heads is not None and tree.heads[m] != -1:
                continue
            head, row = found[s][m], marginals[s][m].tolist()
            others = row[:head] + row[head + 1 :]
            entropy = -sum(p * np.log(p) for p in row if p > 0)
            yield s, m + 1, head, row[head], row[head] - max(others), entropy


def test_arcs_against_a_loop(parser, text):
    arcs = least_certain_arcs(parser, text)
    rows = sorted(rows_by_loop(parser, text), key=lambda row: row[4])
    assert 40 < len(rows) < sum(map(len, text)) - len(text[0])
    assert_all_close(arcs, zip(*rows, strict=True), rtol=0, atol=1e-12)
    assert arcs.sentences.min() == 1
    assert same(least_certain_arcs(parser, text, n=7), [column[:7] for column in arcs])


def test_sentences_against_a_loop(parser, text):
    found = least_certain_sentences(parser, text)
    lacking = {}
    for s, _, _, probability, *_ in rows_by_loop(parser, text):
        lacking.setdefault(s, []).append(1 - probability)
    assert 0 not in lacking
    order = sorted(lacking, key=lambda s: -np.mean(lacking[s]))
    assert_array_equal(found.sentences, order)
    assert_array_equal(found.n_unknown, [len(lacking[s]) for s in order])
    assert_allclose(found.expected_errors, [sum(lacking[s]) for s in order], rtol=1e-12)
    assert_allclose(found.error_rates, [np.mean(lacking[s]) for s in order], rtol=1e-12)
    probabilities = parser.predict_tree_proba(text, allowed=allowed_arcs(fill_unknown(text)))
    assert_array_equal(found.tree_probabilities, probabilities[order])
    by_trees = least_certain_sentences(parser, text, by="trees").tree_probabilities
    assert_array_equal(by_trees, np.sort(probabilities[order]))
    assert same(least_certain_sentences(parser, text, n=3), [column[:3] for column in found])


def test_ties_come_in_the_order_of_x(first):
    sentence = ["DET", "NOUN", "VERB"]
    arcs = least_certain_arcs(first, [sentence] * 4)
    assert_array_equal(arcs.sentences, [0, 1, 2, 3] * 3)
    assert len(set(arcs.tokens.tolist())) == 3
    assert_array_equal(least_certain_sentences(first, [sentence] * 4).sentences, [0, 1, 2, 3])


def test_single_tokens_are_certain(first):
    arcs = least_certain_arcs(first, [["NOUN"]])
    assert [column.tolist() for column in arcs] == [[0], [1], [0], [1.0], [1.0], [0.0]]


@pytest.mark.parametrize("function", [least_certain_arcs, least_certain_sentences])
class TestTables:
    def test_pipelines_and_searches_are_opened(self, function, english, text):
        pipeline = make_pipeline(TokenFeature("xpos"), DeterministicSHAG(smoothing=1))
        grid = {"deterministicshag__smoothing": [1]}
        search = GridSearchCV(pipeline, grid, cv=2, scoring=uas_scorer).fit(english[:60])
        pipeline.fit(english[:60])
        expected = function(pipeline[-1], pipeline[0].transform(text))
        for estimator in (pipeline, search, FrozenEstimator(pipeline)):
            assert same(function(estimator, text), expected)

    def test_heads_that_are_part_of_no_projective_tree(self, function, first):
        tree = DependencyTree(list("abcde"), [3, 4, -1, 0, -1], upos=["NOUN"] * 5)
        text = [tree.with_heads([3, 4, 0, 3, 4]), ["NOUN"], tree]
        found, spanning = (
            function(copy.copy(first).set_params(decoder=d), text) for d in ("mbr", "mst")
        )
        assert set(found.sentences.tolist()) == {1, 2}
        assert np.isfinite(found).all()
        assert same(found, spanning)
