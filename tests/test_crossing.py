"""Parsers of trees whose arcs cross: what they promise of projective trees holds of all trees."""

import copy
from functools import partial
from unittest import mock

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from sklearn_shag import (
    AveragedParser,
    BiaffineParser,
    CRFParser,
    DeterministicSHAG,
    DistilledParser,
)
from sklearn_shag.conditional import _base
from sklearn_shag.inspection import least_certain_arcs
from sklearn_shag.treebank import DependencyTree, allowed_arcs, is_projective, nonprojective_arcs
from tests import oracles, test_all_trees
from tests.estimators import assert_same_model, uncorrected
from tests.loops import assert_all_close, over

Linear = partial(CRFParser, n_features=2**14, random_state=0)
Network = partial(BiaffineParser, hidden_layer_sizes=(12,), max_iter=3, random_state=0)
MAKE = {"linear": Linear, "network": Network}
CROSSING = [3, 4, 0, 3]


def make_trees(n_trees, seed=0, share=1.0, longest=5, symbols="ABCDE"):
    """Random trees of few words, whose relations tell left from right."""
    rng, trees = np.random.default_rng(seed), []
    while len(trees) < n_trees:
        n = int(rng.integers(1, longest + 1))
        heads, tags = oracles.random_tree(rng, n), rng.choice(list(symbols), n).tolist()
        if not is_projective(heads) and rng.random() > share:
            continue
        names = ["root" if h == 0 else "left" if h > m else "right" for m, h in enumerate(heads, 1)]
        trees.append(DependencyTree(tags, heads, upos=tags, deprels=names))
    return trees


@pytest.fixture(scope="module")
def crossing():
    return make_trees(60)


@pytest.fixture(scope="module")
def parsers(crossing):
    return {name: make(["upos"]).fit(crossing) for name, make in MAKE.items()}


def enumerate_trees(parser, sentence, allowed=None):
    """Trees of a sentence, their log probabilities and marginals, by enumeration."""
    (scores,) = parser.score_arcs([sentence])
    if allowed is not None:
        scores = np.where(allowed, scores, -np.inf)
    trees, values, log_z, marginals = test_all_trees.enumerate_trees(scores)
    possible = values > -np.inf
    return trees[possible], values[possible] - log_z, marginals


@pytest.mark.parametrize("name", MAKE)
def test_probabilities_are_those_of_all_trees(parsers, crossing, name):
    parser = uncorrected(parsers[name])
    assert parser.trees_ == "all"
    assert parser.n_lifted_ == parser.n_left_out_ == 0
    for sentence in crossing[:20]:
        trees, logs, marginals = enumerate_trees(parser, sentence)
        assert_allclose(parser.predict_marginals([sentence])[0], marginals, atol=1e-10)
        own = [sentence] * len(trees)
        assert_allclose(parser.conditional_log_likelihood(own, list(trees)), logs, atol=1e-9)
        assert_allclose(parser.predict_tree_proba(own, list(trees)).sum(), 1.0, atol=1e-9)
        heads, found = parser.k_best_heads([sentence], 5)
        assert_allclose(found[0], np.sort(logs)[::-1][:5], atol=1e-9)
        assert len({tuple(row) for row in heads[0].tolist()}) == min(5, len(trees))


@pytest.mark.parametrize("name", MAKE)
def test_decoders_find_the_best_of_all_trees(parsers, crossing, name):
    parser = copy.copy(parsers[name])
    n_crossing = 0
    for sentence in crossing[:20]:
        trees, logs, marginals = enumerate_trees(uncorrected(parser), sentence)
        tokens = np.arange(len(sentence))
        sums = {
            "viterbi": logs,
            "mbr": np.log(np.maximum(marginals, 1e-300))[tokens, trees].sum(axis=1),
            "mst": np.log(np.maximum(marginals, 1e-300))[tokens, trees].sum(axis=1),
            "max_marginal": marginals[tokens, trees].sum(axis=1),
        }
        for decoder, values in sums.items():
            (heads,) = parser.set_params(decoder=decoder).predict([sentence])
            place = np.flatnonzero((trees == heads).all(axis=1))[0]
            assert_allclose(values[place], values.max(), atol=1e-9)
            n_crossing += not is_projective(heads)
    assert n_crossing


@pytest.mark.parametrize("name", MAKE)
def test_draws_are_of_all_allowed_trees(parsers, name):
    parser, sentence = uncorrected(parsers[name]), ["A", "C", "B", "D"]
    sentence = DependencyTree(sentence, upos=sentence)
    allowed = np.ones((4, 5), dtype=bool)
    allowed[1, [0, 1, 3]] = allowed[0, 0] = False  # token 2 depends on token 4
    trees, logs, _ = enumerate_trees(parser, sentence, allowed)
    (samples,) = parser.sample_heads([sentence], 20_000, random_state=0, allowed=[allowed])
    assert oracles.chi_square(samples, trees, np.exp(logs)) > 1e-3
    again = parser.set_params(n_jobs=2).sample_heads([sentence], 5, 0, allowed=[allowed])[0]
    assert_array_equal(again, parser.sample_heads([sentence], 5, 0, allowed=[allowed])[0])


@pytest.mark.parametrize("name", MAKE)
def test_heads_are_kept_although_their_arcs_cross(parsers, name):
    parser = parsers[name]
    tree = DependencyTree(list("ABCD"), [3, 4, -1, -1], upos=list("ABCD"))
    (found,) = parser.parse([tree], keep_heads=True, confidence=True)
    assert found.heads[:2].tolist() == [3, 4]
    allowed = allowed_arcs([tree])
    *_, marginals = enumerate_trees(uncorrected(parser), tree, *allowed)
    (of_known,) = uncorrected(parser).predict_marginals([tree], allowed=allowed)
    assert_allclose(of_known, marginals, atol=1e-10)
    arcs = least_certain_arcs(parser, [tree])
    assert set(arcs.tokens) == {3, 4}
    for each in parser.parse([tree], keep_heads=True, n_best=3)[0]:
        assert each.heads[:2].tolist() == [3, 4]
    assert set(found.deprels) <= {"left", "right", "root"}


def test_partial_trees_and_single_heads_that_cross_are_learned(crossing):
    partial_trees = [tree.with_heads([*tree.heads[:-1], -1]) for tree in crossing if len(tree) > 1]
    known = Linear(["upos"], trees="all", calibrate=False).fit(partial_trees)
    assert known.n_left_out_ == 0
    with pytest.warns(UserWarning, match="since no projective tree with one root has their heads"):
        lifted = Linear(["upos"], trees="projective", calibrate=False).fit(partial_trees)
    assert lifted.n_left_out_ > 0
    roots = [DependencyTree(["A", "B"], [0, 0], upos=["A", "B"])]
    with pytest.warns(
        UserWarning, match="1 of 61 sentences are left out .* since no tree with one"
    ):
        model = Linear(["upos"], trees="all", calibrate=False).fit([*crossing, *roots])
    assert model.n_left_out_ == 1
    assert_array_equal(
        model.weights_.arcs,
        Linear(["upos"], trees="all", calibrate=False).fit(crossing).weights_.arcs,
    )


@pytest.mark.parametrize("name", MAKE)
def test_auto_changes_no_bit_where_few_arcs_cross(english, name):
    model = MAKE[name](["upos"]).fit(english[:40])
    assert (model.trees_, model.trees_scores_) == ("projective", [])
    assert_same_model(model, MAKE[name](["upos"], trees="projective").fit(english[:40]))


def test_auto_tries_both_kinds_of_trees_where_the_share_does_not_decide(
    crossing, capsys, monkeypatch
):
    share = np.mean([len(nonprojective_arcs(tree)) for tree in crossing])
    share /= np.mean(list(map(len, crossing)))
    model = Linear(["upos"], verbose=1).fit(crossing)
    assert_allclose(model.nonprojective_share_, share)
    told = f"{100 * share:.2g} % of the arcs are not projective: sums are over all trees.\n"
    assert told in capsys.readouterr().err
    monkeypatch.setattr(_base, "MANY_CROSSING", 1.0)
    tried = Linear(["upos"], verbose=1).fit(crossing)
    assert len(tried.trees_scores_) == 2
    assert tried.trees_ == ("all" if np.diff(tried.trees_scores_)[0] > 0 else "projective")
    of_projective, of_all = (f"{100 * score:.1f}" for score in tried.trees_scores_)
    assert f"(UAS on a tenth set aside: projective {of_projective}, all {of_all})." in (
        capsys.readouterr().err
    )
    again = Linear(["upos"], trees=tried.trees_).fit(crossing)
    assert_array_equal(again.weights_.arcs, tried.weights_.arcs)
    order = np.random.default_rng(0).permutation(len(crossing))
    shuffled = Linear(["upos"]).fit([crossing[k] for k in order])
    assert_same_model(shuffled, tried)
    few = Linear(["upos"]).fit(crossing[:15])  # too few to set any aside
    assert (few.trees_, few.trees_scores_) == ("projective", [0.0, 0.0])


def test_early_stopping_scores_the_trees_of_the_model(crossing):
    settings = {"early_stopping": True, "calibrate": False}
    model = Linear(["upos"], trees="all", **settings).fit(crossing)
    assert len(model.validation_scores_) == model.n_iter_
    assert_same_model(model, Linear(["upos"], **settings).fit(crossing))


@over(
    "kinds, weights, expected",
    [
        (("all", "all"), None, "all"),
        (("all", "projective"), None, "all"),
        (("all", "projective"), [1, 2], "projective"),
        (("projective", "projective"), None, "projective"),
    ],
)
def test_averages_decode_the_trees_of_half_of_their_weight(crossing, kinds, weights, expected):
    members = [
        (f"{k}", FrozenEstimator(Linear(["upos"], trees=kind, random_state=k).fit(crossing)))
        for k, kind in enumerate(kinds)
    ]
    average = AveragedParser(members, weights=weights).fit(crossing)
    assert average.trees_ == expected
    own = [member.estimator.predict_marginals(crossing[:20]) for _, member in members]
    means = np.average(own, axis=0, weights=weights)
    assert_all_close(average.predict_marginals(crossing[:20]), means, atol=1e-12)
    heads = average.predict(crossing[:20])
    assert all(map(is_projective, heads)) == (expected == "projective")


def test_averages_of_both_kinds_take_arcs_of_which_only_crossing_trees_are_made(crossing):
    members = [
        (kind, FrozenEstimator(Linear(["upos"], trees=kind, calibrate=False).fit(crossing)))
        for kind in ("all", "projective")
    ]
    average = AveragedParser(members).fit(crossing)
    sentence = DependencyTree(list("ABCD"), upos=list("ABCD"))
    allowed = allowed_arcs([[3, 4, -1, -1]])
    (marginals,) = average.predict_marginals([sentence], allowed=allowed)
    assert not marginals[~allowed[0]].any()
    assert_allclose(marginals.sum(axis=1), 1.0)
    assert average.predict([sentence], allowed=allowed)[0][:2].tolist() == [3, 4]
    (samples,) = average.sample_heads([sentence], 3, 0, allowed=allowed)
    assert (samples[:, :2] == [3, 4]).all()
    of_all = AveragedParser(members[:1]).fit(crossing)
    (samples,) = of_all.sample_heads([sentence], 50, 0, allowed=allowed)
    assert (samples[:, :2] == [3, 4]).all()
    logs = average.conditional_log_likelihood([sentence], [CROSSING])
    (own,) = members[0][1].estimator.conditional_log_likelihood([sentence], [CROSSING])
    assert_allclose(logs, [own + np.log(0.5)])


def test_halves_of_an_average_sum_over_the_trees_of_its_members(crossing):
    with mock.patch.object(CRFParser, "fit", autospec=True, side_effect=CRFParser.fit) as fit:
        AveragedParser([("a", Linear(["upos"]))]).fit(crossing)
    assert [call.args[0].trees for call in fit.call_args_list] == ["auto", "all", "all"]


@over("student, teacher", [("projective", "all"), ("all", "projective"), ("all", "all")])
def test_students_learn_from_teachers_of_other_trees(crossing, student, teacher):
    raw = [tree.with_heads(None) for tree in make_trees(30, seed=3)]
    teaching = Linear(["upos"], trees=teacher, calibrate=False).fit(crossing)
    learner = Linear(["upos"], trees=student, calibrate=False)
    model = DistilledParser(learner, FrozenEstimator(teaching)).fit([*crossing, *raw])
    assert model.parser_.trees_ == student
    assert np.isfinite(model.parser_.loss_curve_).all()
    assert min(model.parser_.loss_curve_) > 0
    by_trees = DistilledParser(learner, FrozenEstimator(teaching), targets="trees")
    by_trees.fit([*crossing, *raw])
    same = np.array_equal(model.parser_.weights_.arcs, by_trees.parser_.weights_.arcs)
    # Marginals of all trees are nothing for a student of projective ones: it gets the best trees.
    assert same == ((student, teacher) == ("projective", "all"))


def test_grammars_sum_over_projective_trees(crossing):
    model = DeterministicSHAG().fit([t.upos for t in crossing], [t.heads for t in crossing])
    assert all(map(is_projective, model.predict([tree.upos for tree in crossing])))
    assert "trees" not in clone(model).get_params()
