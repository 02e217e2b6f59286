"""CRFParser: what it learns, from what, and what it says of it."""

import copy
import itertools
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from sklearn_shag import BiaffineParser, CRFParser, load_model, save_model
from sklearn_shag.features import FeatureWeight, LinearTrainer
from sklearn_shag.metrics import labeled_attachment_score
from sklearn_shag.parsing import tree_loss
from sklearn_shag.treebank import DependencyTree, lift
from tests import oracles
from tests.estimators import assert_same_model, hide, same
from tests.faults import not_refused
from tests.loops import assert_all_close
from tests.test_persistence import read_parts, write_parts

Small = partial(CRFParser, n_features=2**14, calibrate=False, random_state=0)
Network = partial(
    BiaffineParser,
    ["upos", "form"],
    hidden_layer_sizes=[16],
    batch_size=50,
    learning_rate_init=0.02,
    calibrate=False,
    random_state=0,
)
CROSSING = [3, 4, 0, 3, 2]  # "on it" of "a hearing on it", behind the verb


@pytest.fixture(scope="module")
def fitted(trees):
    return Small().fit(trees)


def with_own_words(trees):
    """Trees whose last words tell which of them were set aside."""
    return [
        DependencyTree([*tree.forms[:-1], f"word{k}"], tree.heads, upos=tree.upos)
        for k, tree in enumerate(trees)
    ]


def list_held_out(parser, trees):
    """The places of the trees whose last word the parser does not know."""
    known = set(parser.vocabulary_["form"])
    return [k for k, tree in enumerate(trees) if tree.forms[-1] not in known]


def arc_scores(parser, tree):
    """Those of all arcs of a sentence, as the sums of their weights."""
    scores = np.full((len(tree), len(tree) + 1), -np.inf)
    for m, h in itertools.product(range(1, len(tree) + 1), range(len(tree) + 1)):
        if h != m:
            rival = next(k for k in range(len(tree) + 1) if k not in (h, m))
            features = parser.explain(tree, m, head=h, rival=rival, n_features=None)
            scores[m - 1, h] = sum(feature.weight for feature in features)
    return scores


# A linear first-order projective CRF


def test_scores_of_arcs_are_sums_of_weights(fitted, test):
    """Each sentence has its own, whatever others it comes with, and in whatever chunk."""
    chosen = [tree for tree in test if len(tree) >= 2][:3]
    one_token = DependencyTree(["No"], upos=["INTJ"])
    *found, alone = fitted.score_arcs([*chosen, one_token])
    assert_all_close(found, [arc_scores(fitted, tree) for tree in chosen], atol=1e-6)
    assert alone.shape == (1, 2)
    assert alone[0, 1] == -np.inf
    assert same(fitted.score_arcs(test * 20)[: len(test)], fitted.score_arcs(test))


def test_probabilities_are_those_of_the_scores(fitted, english):
    """By enumeration, and by the loss of a grammar of arcs alone."""
    for tree in [tree for tree in english if 3 <= len(tree) <= 5][:4]:
        n, scores = len(tree), arc_scores(fitted, tree)
        projective = np.array(oracles.projective_trees(n))
        values = np.exp(scores[np.arange(n), projective].sum(axis=1))
        _, marginals = oracles.sum_trees(projective, values)
        assert_allclose(fitted.predict_marginals([tree])[0], marginals, atol=1e-9)
        best = copy.copy(fitted).set_params(decoder="viterbi")
        assert_array_equal(best.predict([tree])[0], projective[values.argmax()])
        for known in (tree, hide(tree, 0), tree.with_heads([-1] * n)):
            losses, _ = tree_loss(scores.ravel(), [known.heads])
            likelihood = fitted.conditional_log_likelihood([known])
            assert_allclose(likelihood, -losses, rtol=1e-9, atol=1e-12)


def test_the_loss_begins_with_all_trees_alike():
    """One batch: before its step all weights are zero, and all projective trees as probable."""
    n_trees = [len(oracles.projective_trees(n)) for n in range(5)]
    X = [list("abcd"), list("ab"), list("abc"), list("abc"), ["a"]]
    y = [[2, 0, 2, 3], [0, 1], [-1, 0, -1], [-1, -1, -1], [0]]
    weights = [1.0, 3.0, 0.5, 7.0, 2.0]
    parser = Small(batch_size=1000, max_iter=1).fit(X, y, sample_weight=weights)
    n_known = sum(tree[1] == 0 for tree in oracles.projective_trees(3))
    logs = np.log([n_trees[4], n_trees[2], n_trees[3] / n_known, 1.0])
    # The fourth sentence, of which nothing is known, drops out.
    assert_allclose(parser.loss_curve_, logs @ [1.0, 3.0, 0.5, 2.0] / 6.5, rtol=1e-12)


def test_the_loss_falls_and_accuracy_rises(trees, test):
    scores = []
    for max_iter in (1, 4):
        parser = Small(max_iter=max_iter).fit(trees)
        assert len(parser.loss_curve_) == parser.n_iter_ == max_iter
        assert np.all(np.diff(parser.loss_curve_) < 0)
        scores.append(parser.score(test))
    assert 0.65 < scores[0] < scores[1]
    assert parser.score(trees) > 0.95
    assert labeled_attachment_score(trees, parser.parse(trees)) > 0.93


# What is learned, and from what


def test_sentences_that_differ_in_words_alone_have_an_order():
    trees = [
        DependencyTree([word, "x"], [2, 0], upos=["A", "B"], deprels=[label, "root"])
        for word, label in itertools.product("abcd", "de")
    ]
    expected = Small(["upos", "form"], min_count=1, batch_size=1).fit(trees)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(trees))
        again = clone(expected).fit([trees[k] for k in order])
        assert_same_model(again, expected)


def test_crossing_arcs_are_lifted_or_left_out(trees, fitted):
    crossing = DependencyTree(list("abcde"), CROSSING, upos=list("ABCDE"), deprels=list("vwxyz"))
    lifted = crossing.with_heads(lift(CROSSING), crossing.deprels)
    parser = Small().fit([*trees, crossing])
    assert (parser.n_lifted_, parser.n_left_out_) == (1, 0)
    share = "nonprojective_share_"
    assert_same_model_but(Small().fit([*trees, lifted]), parser, "n_lifted_", share)
    assert set("vwxyz") < set(parser.labels_)
    with pytest.warns(UserWarning, match="1 of 31 sentences are left out of training, since no"):
        parser = Small(nonprojective="drop").fit([*trees, crossing])
    assert_same_model_but(copy.copy(fitted), parser, "n_left_out_", share)
    assert (parser.n_lifted_, parser.n_left_out_) == (0, 1)


def assert_same_model_but(expected, model, *attributes):
    for attribute in attributes:
        setattr(expected, attribute, getattr(model, attribute))
    assert_same_model(model, expected)


def test_labels_count_where_the_heads_are_those_of_the_tree():
    tree = DependencyTree(list("abc"), [2, 0, 2], upos=list("ABC"), deprels=["x", "root", "y"])
    assert Small().fit([tree], [[3, 0, 2]]).labels_.tolist() == ["root", "y"]
    assert Small().fit([tree], [[-1, 0, -1]]).labels_.tolist() == ["root"]


# Going on, and stopping


def test_going_on_keeps_what_is_read_and_starts_with_the_loss_of_before(trees):
    parser = Small(warm_start=True).fit(trees)
    before = parser.columns_, parser.vocabulary_, parser.templates_, parser.labels_.tolist()
    new = DependencyTree(["newword"] * 2, [2, 0], upos=["NEWTAG"] * 2, deprels=["new", "root"])
    expected = -parser.conditional_log_likelihood([*trees, new]).mean()
    parser.set_params(max_iter=1, batch_size=10**6).fit([*trees, new])
    after = parser.columns_, parser.vocabulary_, parser.templates_, parser.labels_.tolist()
    assert after == before
    assert_allclose(parser.loss_curve_, [expected], rtol=1e-6)


@pytest.mark.parametrize("make", [Small, Network])
def test_early_stopping_keeps_the_best_weights(english, make):
    settings = {"early_stopping": True, "validation_fraction": 0.3, "min_count": 1}
    trees = with_own_words(english[:100])
    parser = make(max_iter=40, n_iter_no_change=3, **settings).fit(trees)
    held_out = [trees[k] for k in list_held_out(parser, trees)]
    assert len(held_out) == 30
    scores = parser.validation_scores_
    best = int(np.argmax(scores))
    assert parser.n_iter_ == len(scores) == len(parser.loss_curve_) == best + 4 < 40
    assert_allclose(parser.score(held_out), scores[best], rtol=1e-12)
    assert max(scores[best + 1 :]) <= scores[best]
    if make is Small:  # the steps of networks depend on max_iter
        again = Small(max_iter=best + 1, n_iter_no_change=3, **settings).fit(trees)
        assert_array_equal(again.weights_.arcs, parser.weights_.arcs)
    assert make(max_iter=1).fit(trees).validation_scores_ == []


def test_early_stopping_scores_known_heads_by_weight(english):
    """And those that crossing arcs have, before they are lifted."""
    partial_trees = [hide(tree, k) for k, tree in enumerate(english[:20])]
    crossing = DependencyTree(list("abcde"), CROSSING, upos=list("ABCDE"))
    trees = with_own_words([*partial_trees, *[crossing] * 20])
    weights = np.arange(40) % 3 + 1.0
    parser = Small(early_stopping=True, validation_fraction=0.4, min_count=1, max_iter=1)
    parser.fit(trees, sample_weight=weights)
    chosen = list_held_out(parser, trees)
    score = parser.score([trees[k] for k in chosen], sample_weight=weights[chosen])
    assert_allclose(parser.validation_scores_, [score], rtol=1e-12)


# Explanations


def test_the_weights_of_features_add_up(fitted, test):
    tree = next(tree for tree in test if len(tree) > 6)
    (scores,) = fitted.score_arcs([tree])
    for m, h in [(1, 0), (2, 5), (6, 1)]:
        features = fitted.explain(tree, m, head=h, rival=3, n_features=None)
        sums = np.sum([(f.weight, f.rival_weight) for f in features], axis=0)
        assert_allclose(sums, scores[m - 1, [h, 3]], rtol=1e-6)
        apart = [abs(f.weight - f.rival_weight) for f in features]
        assert apart == sorted(apart, reverse=True)
        assert len(features) == 2 * len(fitted.templates_)
        assert fitted.explain(tree, m, head=h, rival=3, n_features=4) == features[:4]
        assert len(fitted.explain(tree, m, head=h, rival=3)) == 10


def test_the_arc_explained_is_the_predicted_one(fitted, test):
    tree = test[0]
    (predicted,) = fitted.predict([tree])
    for token in range(1, len(tree) + 1):
        features = fitted.explain(tree, token, n_features=None)
        side = "right" if predicted[token - 1] < token else "left"
        assert [f.values for f in features if f.template == "bias"] == [side]
        explicit = fitted.explain(tree, token, head=predicted[token - 1], n_features=None)
        assert explicit == features
    (scores,) = fitted.score_arcs([tree])
    scores[0, predicted[0]] = -np.inf
    explicit = fitted.explain(tree, 1, rival=int(scores[0].argmax()))
    assert explicit == fitted.explain(tree, 1)


def test_features_have_values():
    tree = DependencyTree(["The", "dog", "sees", "a", "cat"], [2, 3, 0, 5, 3], upos=list("DNVDN"))
    templates = ["bias", "h.upos m.form", "h.upos between.upos", "h-1.upos", "m+1.upos", "m.form"]
    parser = Small(["upos", "form"], templates=templates).fit([tree] * 2)
    features = parser.explain(tree, 5, head=2, rival=0, n_features=None)
    shown = {f.template: (f.values, f.rival_values) for f in features}
    assert shown["bias"] == ("right", "right")
    assert shown["bias distance"] == ("right 3", "right 5")
    assert shown["h.upos m.form"] == ("h.upos=N m.form=cat right", "h.upos=<root> m.form=cat right")
    assert shown["h.upos between.upos distance"] == (
        "h.upos=N between.upos=V,D right 3",
        "h.upos=<root> between.upos=D,N,V,D right 5",
    )
    assert shown["h-1.upos"][1] == "h-1.upos=<outside> right"
    assert shown["m+1.upos"][0] == "m+1.upos=<outside> right"
    strange = DependencyTree(["Lo", "dog"], [2, 0], upos=list("DN"))
    (unknown,) = [f for f in parser.explain(strange, 1, n_features=None) if f.template == "m.form"]
    assert unknown.values == "m.form=<unknown> left"
    assert isinstance(unknown, FeatureWeight)


# Attributes, and files


@pytest.fixture
def saved(tmp_path):
    tree = DependencyTree(list("abc"), [2, 0, 2], upos=list("ABC"), deprels=["x", "root", "y"])
    path = tmp_path / "model.npz"
    save_model(CRFParser(["upos"], n_features=64, random_state=0).fit([tree]), path)
    return path


def change(path, attribute=None, value=None, **arrays):
    header, parts = read_parts(path)
    if attribute:
        header["model"]["attributes"][attribute] = value
    parts |= {f"model/weights_/{name}": array for name, array in arrays.items()}
    write_parts(path, header, parts)


def test_files_that_kernels_cannot_trust_are_errors_not_crashes(saved):
    damaged = "is not a saved model, or is damaged"
    cases = [
        ({"arcs": np.zeros((64, 2), np.float32)}, damaged),
        ({"arcs": np.zeros(64, np.float32)}, damaged),
        ({"arcs": np.zeros((64, 1))}, damaged),
        ({"arcs": np.zeros((0, 1), np.float32)}, damaged),
        ({"arcs": np.zeros((), np.float32)}, damaged),
        ({"labels": np.zeros((8, 2), np.float32)}, damaged),
        ({"labels": np.zeros((8, 4), np.float32)}, damaged),
        ({"labels": np.zeros((8, 3), np.float64)}, damaged),
        ({"labels": np.zeros((0, 3), np.float32)}, damaged),
        ({"labels": np.zeros((8, 3, 1), np.float32)}, damaged),
        ({"attribute": "labels_", "value": ["x"]}, damaged),
        ({"attribute": "labels_", "value": ["root", "x", 3]}, damaged),
        ({"attribute": "vocabulary_", "value": {"dict": {"nonsense": ["A"]}}}, ""),
        ({"attribute": "vocabulary_", "value": {"dict": {"upos": 3}}}, ""),
        ({"attribute": "vocabulary_", "value": 7}, ""),
        ({"attribute": "templates_", "value": {"tuple": ["h.nonsense"]}}, ""),
        ({"attribute": "templates_", "value": {"tuple": []}}, ""),
        ({"attribute": "templates_", "value": 3}, ""),
    ]
    untouched = saved.read_bytes()

    def predict(wrong):
        saved.write_bytes(untouched)
        change(saved, **wrong)
        load_model(saved).predict([DependencyTree(["a"], upos=["A"])])

    predict({})
    assert not not_refused(cases, predict, (ValueError, TypeError, AttributeError))


# Extremes


@pytest.mark.parametrize(("n_features", "batch_size"), [(8, 10**30), (2**12 + 1, 1)])
def test_sizes(trees, test, n_features, batch_size):
    parser = Small(n_features=n_features, batch_size=batch_size).fit(trees)
    assert parser.weights_.arcs.shape == (n_features, 1)
    assert parser.weights_.labels.shape == (n_features // 8, parser.labels_.size)
    assert all(np.isfinite(part).all() for part in parser.weights_)
    assert 0.0 < parser.score(test) <= 1.0


def test_penalty(trees, monkeypatch):
    """Weights are smaller, those of the fewest features most; averages are those of all steps."""
    alphas = 0, 0.01, 0.1, 1e9, 1e300
    sizes = [np.square(Small(alpha=alpha).fit(trees).weights_.arcs).sum() for alpha in alphas]
    assert sizes[0] > sizes[1] > sizes[2] > 100 * sizes[3]
    assert sizes[3] >= sizes[4]

    seen = []
    learn, shrink = LinearTrainer.learn, LinearTrainer._shrink

    def record(trainer, batch):
        loss = learn(trainer, batch)
        seen.append(trainer.weights.values[:, 0].copy())
        return loss

    def compare(trainer, n_due):
        values, squares, _ = (part.copy() for part in trainer.weights)
        shrink(trainer, n_due)
        # The minimum of half alpha times its square and of the distance to the value, by the rate.
        rate = 0.05 * n_due / np.sqrt(squares.astype(float))
        np.testing.assert_allclose(trainer.weights.values, values / (1 + 0.1 * rate), rtol=1e-5)

    monkeypatch.setattr(LinearTrainer, "learn", record)
    monkeypatch.setattr(LinearTrainer, "_shrink", compare)
    unlabelled = [DependencyTree(tree.forms, tree.heads, upos=tree.upos) for tree in trees]
    parser = Small(alpha=0.1, calibrate=False).fit(unlabelled)
    np.testing.assert_allclose(parser.weights_.arcs[:, 0], np.mean(seen, axis=0), atol=1e-5)


def test_top_features(trees, test):
    parser = Small(n_features=2**21).fit(trees)
    for tree in test[:10]:
        distances = abs(tree.heads - np.arange(1, len(tree) + 1))
        for m, distance in ((distances.argmax(), distances.max()), (distances.argmin(), 1)):
            only = np.where(np.arange(len(tree)) == m, tree.heads, -1)
            features = parser.top_features([tree.with_heads(None)], [only], n_features=None)
            # All features of a single arc add up to its score.
            total = sum(each.weight * each.count for each in features)
            (scores,) = parser.score_arcs([tree])
            assert total == pytest.approx(scores[m, tree.heads[m]], abs=1e-4)
            weights = [each.weight for each in features]
            assert weights == sorted(weights, reverse=True)
            assert features[:3] == parser.top_features([tree], [only], n_features=3)
            if distance > 1:
                assert all("," not in each.values for each in features)  # one between at a time
            else:  # where no tokens are between, they are those that explain names
                rival = next(h for h in range(len(tree) + 1) if h not in (tree.heads[m], m + 1))
                head = int(tree.heads[m])
                explained = parser.explain(tree, m + 1, head=head, rival=rival, n_features=None)
                expected = {(each.template, each.values, each.weight) for each in explained}
                assert {tuple(each)[:3] for each in features} <= expected

    # Counts are of arcs; relations have weights of their own.
    feature = parser.top_features(trees, label="det", n_features=1)[0]
    assert feature.values == "m.upos=DET left"
    assert feature.count == sum(
        tree.upos[m] == "DET" for tree in trees for m, h in enumerate(tree.heads) if h > m + 1
    )


def test_tiny_and_long_sentences(trees):
    one = Small().fit([["A"]], [[0]])
    assert one.loss_curve_ == [0.0] * 3
    assert one.predict([["A"], ["A", "A"]])[0].tolist() == [0]
    rng = np.random.default_rng(0)
    symbols = rng.choice(list("ABC"), size=200).tolist()
    parser = Small(max_iter=2, trees="projective")
    parser.fit([symbols, ["A", "B"]], [oracles.random_tree(rng, 200), [2, 0]])
    (predicted,) = parser.predict([symbols])
    assert predicted.size == 200
    assert DependencyTree(symbols, predicted).is_projective
