"""Partial trees (-1 for an unknown head) in estimators and scores: what they read, and what not."""

import copy
import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal, assert_equal
from sklearn.base import clone

from sklearn_shag import DeterministicSHAG, SpectralSHAG
from sklearn_shag.inspection import automaton_gains
from sklearn_shag.metrics import (
    attachment_breakdown,
    exact_match_score,
    exact_match_scorer,
    uas_scorer,
    unlabeled_attachment_score,
)
from sklearn_shag.parsing import Potentials, has_projective_completion, projectivize, tree_values
from sklearn_shag.treebank import DependencyTree, allowed_arcs, heads
from tests import oracles
from tests.estimators import (
    BLIND,
    ESTIMATORS,
    REPRESENTATIVES,
    assert_same_model,
    hide,
    learned,
    same,
)
from tests.loops import over
from tests.oracles import fits

NAMES = ["NOUN", "VERB", "ADP", "NOUN"]
SENTENCE = DependencyTree(["dogs", "sleep", "in", "baskets"], upos=NAMES)
# Grammars without negative numbers, whose sums over trees have logarithms.
POSITIVE = [name for name in ESTIMATORS if "spectral" not in name and "pipeline" not in name]
POSITIVE = [name for name in POSITIVE if name not in ("published", "average", "product with words")]


@pytest.fixture(params=REPRESENTATIVES)
def parser(request, with_relations):
    return with_relations(request.param)


@pytest.fixture(params=[name for name in ESTIMATORS if name not in BLIND])
def labelled(request, with_relations):
    """A parser that knows relations."""
    return with_relations(request.param)


@pytest.fixture(scope="module")
def text(english):
    """Projective trees that nobody has learned from."""
    return [tree for tree in english[300:320] if tree.is_projective and len(tree) < 20]


# What is read of X


def test_heads_of_sentences_change_nothing(labelled, text):
    parser, gold = labelled, heads(text)
    others = [
        [tree.with_heads(None) for tree in text],
        [hide(tree, seed) for seed, tree in enumerate(text)],
        [tree.with_heads(range(len(tree))) for tree in text],
    ]
    for method in ("predict", "predict_marginals", "log_likelihood"):
        if hasattr(parser, method):
            expected = getattr(parser, method)(text)
            for X in others:
                assert same(getattr(parser, method)(X), expected)
    for method in ("score", "score_samples", "conditional_log_likelihood"):
        if hasattr(parser, method):
            expected = getattr(parser, method)(text, gold)
            for X in others:
                assert_array_equal(getattr(parser, method)(X, gold), expected)
    parsed = parser.parse(text)
    assert same(heads(parsed), parser.predict(text))
    for X in others:
        assert parser.parse(X) == parsed  # relations too
        assert list(map(tuple, parser.predict_labels(X))) == [tree.deprels for tree in parsed]


def test_kept_heads_are_kept_and_the_rest_is_completed(labelled, text):
    parser, partial = labelled, [hide(tree, seed) for seed, tree in enumerate(text)]
    completed = parser.parse(partial, keep_heads=True)
    predicted = parser.predict(text, allowed=allowed_arcs(partial))
    labels = parser.predict_labels(text, predicted)
    rows = zip(partial, completed, predicted, labels, strict=True)
    for before, after, expected, its_labels in rows:
        known = before.heads != -1
        assert_array_equal(after.heads[known], before.heads[known])
        assert_array_equal(after.heads, expected)
        assert after.is_projective or parser.decoder == "mst"
        assert after.deprels == tuple(np.where(known, before.deprels, its_labels))
        assert after.with_heads(None) == before.with_heads(None)
    assert parser.parse(text, keep_heads=True) == text
    bare = [tree.with_heads(None) for tree in text]
    assert parser.parse(bare, keep_heads=True) == parser.parse(bare)


def test_kept_heads_and_allowed_arcs_go_together(parser, text):
    partial = [hide(tree, seed, 0.7) for seed, tree in enumerate(text)]
    rng = np.random.default_rng(0)
    allowed = []
    for tree in text:
        arcs = rng.uniform(size=(len(tree), len(tree) + 1)) < 0.5
        arcs[np.arange(len(tree)), tree.heads] = True
        allowed.append(arcs)
    allowed[1] = None
    for before, after, arcs in zip(
        partial, parser.parse(partial, allowed=allowed, keep_heads=True), allowed, strict=True
    ):
        assert fits(after.heads, before.heads)
        assert arcs is None or arcs[np.arange(len(after)), after.heads].all()


@pytest.mark.parametrize("decoder", ["viterbi", "mbr", "max_marginal", "mst"])
def test_completions_are_the_best_trees(english, decoder):
    model = DeterministicSHAG(smoothing=1, decoder=decoder).fit(english)
    trees = oracles.projective_trees(4)
    for partial in ([-1, -1, -1, 1], [4, -1, -1, -1], [-1, 4, -1, -1], [-1, -1, 1, 0]):
        possible = [tree for tree in trees if fits(tree, partial)]
        values = model.score_samples([NAMES] * len(possible), possible)
        if decoder == "viterbi":
            scores = values
        else:
            _, marginals = oracles.sum_trees(possible, np.exp(values))
            gains = marginals if decoder == "max_marginal" else np.log(np.maximum(marginals, 1e-12))
            if decoder == "mst":
                possible = [tree for tree in oracles.trees(4) if fits(tree, partial)]
            scores = [gains[np.arange(4), tree].sum() for tree in possible]
        (completed,) = model.parse([SENTENCE.with_heads(partial)], keep_heads=True)
        assert tuple(completed.heads) == possible[int(np.argmax(scores))]


def assert_same_text(trees, others):
    assert [tree.to_conllu() for tree in trees] == [tree.to_conllu() for tree in others]


def test_heads_are_kept_though_no_projective_tree_has_them(parser, english):
    """As by the decoder "mst"; all else is as it is without them."""
    good = [SENTENCE.with_heads([-1, 0, -1, -1]), SENTENCE.with_heads([-1, -1, -1, 2])]
    odd = [SENTENCE.with_heads(h) for h in ([3, 4, -1, -1], [3, 0, -1, -1], [4, -1, -1, 2])]
    long = [tree for tree in english[:40] if len(tree) > 5]
    odd += [tree.with_heads([3, 4, *[-1] * (len(tree) - 2)]) for tree in long]
    assert not has_projective_completion(odd).any()
    parser = copy.copy(parser).set_params(decoder="max_marginal")
    spanning = copy.copy(parser).set_params(decoder="mst")
    ways = {"keep_heads": True, "confidence": True}
    found = parser.parse([good[0], *odd, good[1]], **ways)
    assert_same_text([found[0], found[-1]], parser.parse(good, **ways))
    assert_same_text(found[1:-1], spanning.parse(odd, **ways))
    for tree, after in zip(odd, found[1:-1], strict=True):
        assert fits(after.heads, tree.heads)
        assert (after.heads == 0).sum() == 1
        values = [float(token.misc["Confidence"]) for token in after.tokens]
        assert np.isfinite([float(after.comments[-1].partition("= ")[2]), *values]).all()
        assert 0 <= min(values) <= max(values) <= 1


@over("name", ["UD_Latin-Perseus", "UD_Dutch-LassySmall", "UD_English-EWT"])
def test_gold_heads_of_treebanks_are_kept(treebank, name):
    bunch = treebank(name)
    model = DeterministicSHAG(smoothing=1, decoder="max_marginal").fit(bunch.train[:500])
    whole = [tree for tree in bunch.test[:300] if np.sum(tree.heads == 0) == 1]
    text = [hide(tree, seed) for seed, tree in enumerate(whole)]
    possible = has_projective_completion([tree.heads for tree in text])
    assert not possible.all()
    found = model.parse(text, keep_heads=True)
    for tree, after in zip(text, found, strict=True):
        assert fits(after.heads, tree.heads)
        assert (after.heads == 0).sum() == 1
        assert (after.deps, after.empty_nodes) == (tree.deps, tree.empty_nodes)
    for tree, trees in zip(text, model.parse(text[:30], keep_heads=True, n_best=2), strict=False):
        assert {(each.deps, each.empty_nodes) for each in trees} == {(tree.deps, tree.empty_nodes)}
    for decoder, chosen in (("max_marginal", possible), ("mst", ~possible)):
        model.set_params(decoder=decoder)
        expected = model.parse(list(itertools.compress(text, chosen)), keep_heads=True)
        assert_same_text(itertools.compress(found, chosen), expected)


# Probabilities


@over("name", POSITIVE)
def test_probabilities_are_sums_over_the_trees_that_fit(fitted, name):
    model, trees = fitted(name), oracles.projective_trees(4)
    for method in ("conditional_log_likelihood", "score_samples"):
        if not hasattr(model, method):
            continue
        values = getattr(model, method)([SENTENCE] * len(trees), trees)
        for known in ([-1, 0, -1, -1], [2, -1, 4, -1], [-1, -1, -1, 3], [-1] * 4):
            possible = values[[fits(tree, known) for tree in trees]]
            (found,) = getattr(model, method)([SENTENCE], [known])
            assert_allclose(found, np.logaddexp.reduce(possible), rtol=1e-9, atol=1e-9)


def test_signed_probabilities_are_sums_too(english):
    model = SpectralSHAG(3).fit(english[:60])
    codes = np.array([model.symbols_.tolist().index(name) for name in NAMES])
    trees = oracles.projective_trees(4)
    sentences = Potentials(4 * np.arange(len(trees) + 1), np.tile(codes, len(trees)))
    sign, log_abs = tree_values(model.operators_, sentences, trees)
    values = sign * np.exp(log_abs)
    assert values.min() < 0
    for partial in ([-1, 0, -1, -1], [2, -1, 4, -1]):
        total = values[[fits(tree, partial) for tree in trees]].sum()
        assert_allclose(model.score_samples([SENTENCE], [partial]), np.log(total), rtol=1e-9)
        share = np.log(total / values.sum())
        assert_allclose(model.conditional_log_likelihood([SENTENCE], [partial]), share, rtol=1e-9)


def test_partial_trees_among_whole_ones(parser, text):
    mixed = [hide(tree, 0) if k % 2 else tree for k, tree in enumerate(text)]
    mixed[3] = mixed[3].with_heads(None)
    for method in ("conditional_log_likelihood", "score_samples"):
        if hasattr(parser, method):
            values = getattr(parser, method)(mixed)
            for k in (0, 1, 2, 5):
                assert_array_equal(getattr(parser, method)([mixed[k]]), values[k : k + 1])
    assert_allclose(parser.conditional_log_likelihood(mixed)[3], 0.0, atol=1e-12)
    if hasattr(parser, "log_likelihood"):
        assert_allclose(parser.score_samples(mixed)[3], parser.log_likelihood(mixed)[3])


# Learning


def test_whole_trees_are_asked_for_by_name(of_whole_trees, english):
    estimator = of_whole_trees
    trees = english[:60]
    partial = [*trees[:7], hide(trees[7], 0), *trees[8:], hide(trees[7], 1)]
    learner = type(estimator).__name__
    if hasattr(estimator, "estimators"):  # one of the members is named
        learner = r"(?!Averaged|Product)\w+SHAG"
    first = list(partial[7].heads).index(-1) + 1
    message = (
        rf"\[7\] \('{trees[7].forms[0]}.*'\) has unknown heads \(-1\), \d+ of {len(trees[7])}, "
        rf"the first at token {first}, and 2 of 61 sentences have some; {learner} needs whole trees"
    )
    for name, X, y in (("X", partial, None), ("y", [*trees, trees[7]], heads(partial))):
        with pytest.raises(ValueError, match=rf"{name}{message}\. "):
            estimator.fit(X, y)
        assert not learned(estimator)


def test_partial_trees_of_weight_zero_are_not_there(of_whole_trees, english):
    partial, weights = [hide(tree, 1) for tree in english[40:43]], np.repeat([1.0, 0.0], [40, 3])
    model = clone(of_whole_trees).fit(english[:40] + partial, sample_weight=weights)
    assert_same_model(model, of_whole_trees.fit(english[:40]))


# Scores


def test_score_counts_known_heads(parser, text):
    partial = [hide(tree, seed) for seed, tree in enumerate(text)]
    predicted, known = parser.predict(text), [tree.heads != -1 for tree in partial]
    hits = [
        (tree.heads == found)[is_known]
        for tree, found, is_known in zip(text, predicted, known, strict=True)
    ]
    expected = np.concatenate(hits).mean()
    assert parser.score(partial) == parser.score(text, heads(partial)) == expected
    assert uas_scorer(parser, partial) == expected
    bare = [*partial, text[0].with_heads(None)]  # one among others does not count
    assert parser.score(bare) == uas_scorer(parser, bare) == expected
    assert exact_match_scorer(parser, bare) == exact_match_scorer(parser, partial)


def test_unknown_heads_are_ignored_tokens(text):
    rng = np.random.default_rng(0)
    predicted = [np.where(rng.uniform(size=len(t)) < 0.2, 1, t.heads) for t in text]
    partial = [hide(tree, seed) for seed, tree in enumerate(text)]
    partial[2] = text[2].with_heads([-1] * len(text[2]))  # nothing is known of this one
    masks = [tree.heads == -1 for tree in partial]
    weights = rng.uniform(size=len(text))
    for score in (unlabeled_attachment_score, exact_match_score):
        expected = score(text, predicted, ignore=masks, sample_weight=weights)
        assert score(partial, predicted, sample_weight=weights) == expected
        assert 0 < expected < 1
        assert score(heads(partial), predicted, sample_weight=weights) == expected
        both = [mask | (np.arange(mask.size) < 2) for mask in masks]
        first = [np.arange(mask.size) < 2 for mask in masks]
        assert score(partial, predicted, ignore=first) == score(text, predicted, ignore=both)
    for by in ("head", "modifier"):
        found = attachment_breakdown(partial, predicted, by=by)
        assert_equal(found, attachment_breakdown(text, predicted, by=by, ignore=masks))


def test_gains_are_those_of_known_heads(english, text):
    one, other = DeterministicSHAG().fit(english[:60]), SpectralSHAG(3).fit(english[:60])
    partial = [hide(tree, seed) for seed, tree in enumerate(text)]
    gains = automaton_gains(
        other, [*partial, DependencyTree(["x"], [-1], symbols=["X"])], baseline=one
    )
    known = sum(int((tree.heads != -1).sum()) for tree in partial)
    assert gains.counts.sum() == known
    assert_allclose(
        gains.gains.sum(), known * (other.score(partial) - one.score(partial)), atol=1e-9
    )
    for_each = attachment_breakdown(partial, one.predict(partial), by="head")
    assert sorted(gains.counts) == sorted(for_each.total[for_each.total > 0].astype(int))


# What a chart can learn from


def test_completions_against_enumeration():
    trees = oracles.projective_trees(4)
    parts = sorted(oracles.partial_trees(4))
    possible = has_projective_completion(parts)
    assert possible.tolist() == [any(fits(tree, part) for tree in trees) for part in parts]
    crossing = [oracles.crosses([h if h >= 0 else m for m, h in enumerate(p, 1)]) for p in parts]
    assert any(not c and not p for c, p in zip(crossing, possible, strict=True))  # not enough
    lifted = projectivize(parts)
    dropped = projectivize(parts, nonprojective="drop")
    assert_array_equal(dropped.kept, possible)
    assert not dropped.lifted.any()
    assert [tuple(h) for h in dropped.heads] == list(itertools.compress(parts, possible))
    whole = [-1 not in part and part.count(0) == 1 for part in parts]
    assert_array_equal(lifted.lifted, np.array(whole) & ~possible)
    assert_array_equal(lifted.kept, possible | lifted.lifted)
    assert has_projective_completion(lifted.heads).all()
    assert lifted.lifted.sum() > 5
    assert same(projectivize([SENTENCE.with_heads(part) for part in parts]).heads, lifted.heads)
