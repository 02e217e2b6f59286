"""BiaffineParser: what it reads, learns and says, and how training goes."""

from copy import copy
from unittest import mock

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from sklearn_shag import BiaffineParser, CRFParser, load_model, save_model
from sklearn_shag.network._parameters import NO_VECTORS, NetworkWeights, sizes_of
from sklearn_shag.network._reading import read_sentences
from sklearn_shag.network._training import Trainer
from sklearn_shag.parsing import Potentials, chart
from sklearn_shag.treebank import DependencyTree, heads
from tests.estimators import assert_same_model, same


def small(columns=("upos", "form"), **parameters):
    """A parser that is trained in a moment."""
    settings = {"hidden_layer_sizes": [16], "max_iter": 4, "calibrate": False, "random_state": 0}
    return BiaffineParser(
        list(columns) if isinstance(columns, tuple) else columns, **settings | parameters
    )


@pytest.fixture(scope="module")
def fitted(english):
    return small(batch_size=100, learning_rate_init=0.02).fit(english[:300])


# What is read


def test_auto_reads_what_crf_parser_reads_but_feature_by_feature():
    tree = DependencyTree(
        ["Go", "on"], [0, 1], upos=["V", "P"], feats=["Mood=Imp|Voice=Act", "_"], lemmas=["go", "_"]
    )
    parser = small("auto", min_count=1).fit([tree])
    expected = ("upos", "feats.Mood", "feats.Voice", "form", "lemma", "suffix.3")
    assert parser.columns_ == expected == tuple(parser.vocabulary_)
    assert CRFParser(min_count=1).fit([tree]).columns_ == ("upos", "feats", *expected[3:])
    assert parser.vocabulary_["feats.Mood"] == ["Imp", "_"]
    assert small(["upos", "feats", "feats.Mood"]).fit([tree]).columns_ == expected[:3]


def test_every_column_counts(trees, test):
    """A parser does not say the same of sentences that differ in a column."""
    parser, tree = small(("upos", "form", "suffix")).fit(trees), test[0]
    (before,) = parser.predict_marginals([tree])
    for other in (
        DependencyTree(tree.forms, upos=["VERB", *tree.upos[1:]]),
        DependencyTree(["the", *tree.forms[1:]], upos=tree.upos),
    ):
        assert np.abs(parser.predict_marginals([other])[0] - before).max() > 1e-4


# What is learned


def test_scores_are_those_of_the_network(fitted, test):
    """Marginals are those of a chart over the scores that the network gives."""
    columns, network, *_ = fitted._network()
    assert columns.names == ("upos", "form")
    batch = fitted._batch(test[:3])
    scores = read_sentences(network, batch).arcs
    potentials = Potentials(batch.indptr, arcs=scores.astype(np.float64))
    expected = chart(None, potentials).arcs
    given = [each[np.isfinite(each)] for each in fitted.score_arcs(test[:3])]
    others = [np.arange(1, n + 1)[:, None] != np.arange(n + 1) for n in map(len, test[:3])]
    assert_array_equal(
        np.concatenate(given), scores[np.concatenate([each.ravel() for each in others])]
    )
    found = np.concatenate([each.ravel() for each in fitted.predict_marginals(test[:3])])
    assert_allclose(found, expected, atol=1e-9)


def test_it_parses_better_than_chance_and_than_tags_alone(fitted, test):
    chains = np.mean(np.concatenate([np.arange(len(tree)) == tree.heads for tree in test]))
    assert fitted.score(test) > 0.8 > 2 * chains


def test_weights_are_averages(trees):
    make = Trainer.__init__
    with mock.patch.object(Trainer, "__init__", autospec=True, side_effect=make) as made:
        parser = small(max_iter=1).fit(trees)
    trainer = made.call_args.args[0]
    assert_array_equal(parser.weights_.values, trainer.averaged.astype(np.float16))
    assert not np.array_equal(trainer.averaged, trainer.values)


def test_columns_are_embedded_in_groups():
    names = ["form", "upos", "feats.Case", "suffix.2", "lemma", "prefix.1", "suffix.3", "shape"]
    values = {name: ["x"] * size for size, name in enumerate(names, start=1)}
    weights = NetworkWeights(np.array([7, 5]), None, None, NO_VECTORS)
    sizes = sizes_of(weights, values, np.arange(4), {"upos": ["A", "B", "C"], "xpos": ["a", "b"]})
    assert sizes[1:4] == ((7, 5), 4, (3, 2))
    words, tags = sizes.groups
    assert words[:4] == ((0, 3, 4, 5, 6, 7), (4, 7, 8, 9, 10, 11), 0.3, 0.2)
    assert tags[:4] == ((1, 2), (5, 6), 1.0, 0.02)
    untagged = {name: values[name] for name in (names[0], *names[3:])}
    untagged["letters"] = []
    forms, suffixes, prefixes, letters = sizes_of(weights, untagged).groups
    assert letters[:7] == ((6,), (2**14,), 0.0, 0.05, 64, False, True)
    assert forms[:4] == ((0, 2), (4, 8), 0.3, 0.3)
    assert suffixes[:4] == ((1, 4), (7, 10), 0.5, 0.05)
    assert prefixes[:4] == ((3, 5), (9, 11), 0.5, 0.05)


def test_the_loss_is_that_of_the_known_trees(trees):
    """Without noise, and with steps that change nothing, it is the mean of what is reported."""
    still = {"dropout": 0.0, "learning_rate_init": 1e-12, "min_count": 1}
    trees, ratios = [tree for tree in trees if tree.is_projective], []
    for seed in range(3):
        parser = small(("upos",), max_iter=1, **still | {"random_state": seed}).fit(trees)
        ratios.append(parser.loss_curve_[0] / -parser.conditional_log_likelihood(trees).mean())
    assert_allclose(np.mean(ratios), 1, atol=0.02)  # of tags, 2 % are replaced in training


def test_every_parameter_of_training_counts(trees):
    cases = [
        {"dropout": 0.5},
        {"alpha": 1.0},
        {"batch_size": 50},
        {"learning_rate_init": 1e-3},
        {"hidden_layer_sizes": [15]},
        {"labels": False},
        {"min_count": 5},
    ]
    first = small(max_iter=1).fit(trees).weights_.values
    others = [small(max_iter=1, **change).fit(trees).weights_.values for change in cases]
    assert not [c for c, other in zip(cases, others, strict=True) if np.array_equal(first, other)]


def test_few_trees_have_more_passes_by_default(trees):
    assert small(max_iter="auto").fit(trees[:5]).n_iter_ == 30


# Tags


def test_tags_are_learned_along(english, test):
    parser = BiaffineParser(
        tags="upos",
        hidden_layer_sizes=[16],
        batch_size=100,
        max_iter=5,
        learning_rate_init=0.02,
        calibrate=False,
        random_state=0,
    ).fit(english[:200])
    assert parser.columns_[:4] == ("form", "prefix.1", "prefix.2", "prefix.3")
    assert parser.columns_[-2:] == ("shape", "letters")
    untagged = [DependencyTree(tree.forms) for tree in test]
    tags = parser.predict_tags(untagged)
    right = [np.array(tree.upos) == its_tags for tree, its_tags in zip(test, tags, strict=True)]
    assert np.concatenate(right).mean() > 0.75
    assert parser.tags_.tolist() == sorted({tag for tree in english[:200] for tag in tree.upos})


@pytest.fixture(scope="module")
def of_words(english):
    return BiaffineParser(tags="upos", hidden_layer_sizes=[8], max_iter=2, random_state=0).fit(
        english[:60]
    )


@pytest.mark.parametrize("allowed", [{}, {"allowed": [None] * 40}])
def test_parse_fills_in_what_was_learned(of_words, test, allowed):
    parsed, tags = of_words.parse(test, **allowed), of_words.predict_tags(test)
    assert [tree.upos for tree in parsed] == list(map(tuple, tags))
    assert [tree.upos for tree in parsed] != [tree.upos for tree in test]
    assert [tree.symbols for tree in parsed] == [tree.upos for tree in parsed]
    assert [tree.deprels for tree in parsed] == list(map(tuple, of_words.predict_labels(test)))
    assert same(heads(parsed), of_words.predict(test))
    assert [tree.xpos for tree in parsed] == [tree.xpos for tree in test]
    tokens = [list(tree.forms) for tree in test]
    assert of_words.parse(tokens) == of_words.parse([DependencyTree(each) for each in tokens])
    assert of_words.parse(tokens) == [
        DependencyTree(tree.forms, tree.heads, upos=tree.upos, deprels=tree.deprels)
        for tree in parsed
    ]


def test_symbols_follow_tags_where_they_were_these(of_words, test):
    """Else they stay; the forms of a tree without UPOS stood for it."""
    tree = test[0]
    for given, symbols in [
        (tree, None),
        (tree.with_symbols(tree.xpos), tree.xpos),
        (DependencyTree(tree.forms), None),
        (DependencyTree(tree.forms, symbols=["a"] * len(tree)), ("a",) * len(tree)),
        (DependencyTree(tree.forms, xpos=tree.xpos, symbols=tree.xpos), tree.xpos),
    ]:
        (parsed,) = of_words.parse([given])
        assert parsed.upos == tuple(of_words.predict_tags([tree])[0])
        assert parsed.symbols == (symbols or parsed.upos)


def test_learned_tags_go_into_their_column_whatever_is_set_since(trees, test):
    parser = small(["form", "suffix"], tags="xpos", max_iter=1).fit(trees)
    text = [test[0], list(test[0].forms)]
    parsed = parser.parse(text)
    assert [tree.xpos for tree in parsed] == [tuple(parser.predict_tags(test[:1])[0])] * 2
    assert [tree.upos for tree in parsed] == [test[0].upos, None]
    assert [tree.symbols for tree in parsed] == [test[0].upos, test[0].forms]
    for tags in ("upos", None):
        assert parser.set_params(tags=tags).parse(text) == parsed


def test_kept_heads_stay_where_tags_are_filled_in(of_words, test):
    tree = test[1]
    known = tree.with_heads([-1, *tree.heads[1:]], tree.deprels)
    model = copy(of_words)
    model.tag_factors_ = {}  # other relations would mean other tags
    (parsed,) = model.parse([known], keep_heads=True)
    assert_array_equal(parsed.heads[1:], tree.heads[1:])
    assert parsed.deprels[1:] == tree.deprels[1:]
    assert parsed.upos == tuple(model.predict_tags([tree])[0])


@pytest.mark.parametrize(
    "parser",
    [
        small(["form", "suffix"], max_iter=1, labels=False),
        CRFParser(
            ["form", "suffix"], n_features=2**14, max_iter=1, calibrate=False, random_state=0
        ),
    ],
)
def test_plain_sequences_are_words_where_words_alone_are_read(trees, test, parser):
    parser.fit(trees)
    assert same(parser.predict([list(tree.forms) for tree in test]), parser.predict(test))
    of_forms = clone(parser).fit([list(tree.forms) for tree in trees], heads(trees))
    assert of_forms.vocabulary_ == parser.vocabulary_


# Files


def test_files_are_small(fitted, tmp_path):
    save_model(fitted, tmp_path / "model.npz")
    assert (tmp_path / "model.npz").stat().st_size < 2.5 * fitted.weights_.values.size
    assert_same_model(load_model(tmp_path / "model.npz"), fitted)
