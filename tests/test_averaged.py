"""Averages of parsers: what they are of their members, and how members are given."""

import pickle
import re
import threading
from copy import copy
from functools import partial
from unittest import mock

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sklearn_shag import (
    DMV,
    EMSHAG,
    AveragedParser,
    BiaffineParser,
    CRFParser,
    DeterministicSHAG,
    MixtureSHAG,
    SpectralSHAG,
    Tagger,
    load_model,
    save_model,
)
from sklearn_shag.ensembles import _averaged
from sklearn_shag.network import _biaffine, _tags
from sklearn_shag.network._reading import read_sentences
from sklearn_shag.parsing import Forest, Scored
from sklearn_shag.treebank import DependencyTree, TokenFeature, allowed_arcs
from tests import oracles
from tests.estimators import (
    REPRESENTATIVES,
    assert_same_model,
    mirror,
    parameters,
    repeat,
    same,
    symbols_and_heads,
    without_relations,
)
from tests.loops import assert_all_close

TEXT = [["DET", "NOUN", "VERB"], ["NOUN", "VERB", "ADP", "NOUN"], ["VERB"], ["PRON", "VERB"]]


def members():
    return [
        ("single", DeterministicSHAG("single", smoothing=1)),
        ("spectral", SpectralSHAG(3)),
        ("em", EMSHAG(2, tol=0.01, random_state=0)),
    ]


@pytest.fixture(scope="module")
def train(english):
    return english[:120]


@pytest.fixture(scope="module")
def grammars(train):
    """Three members, each fitted on its own."""
    return [clone(member).fit(train) for _, member in members()]


def frozen(parsers, **options):
    """An average of parsers that are fitted already."""
    named = [(f"p{k}", FrozenEstimator(parser)) for k, parser in enumerate(parsers)]
    return AveragedParser(named, **options).fit([["NOUN"]], [[0]])


# What averages are


@pytest.mark.parametrize("weights", [None, [1, 2, 0.5], np.array([5, 0, 5])])
def test_marginals_are_the_mean_of_those_of_the_members(train, test, grammars, weights):
    model = AveragedParser(members(), weights=weights, calibrate=False).fit(train)
    some_are_known = allowed_arcs([np.where(tree.heads % 2, -1, tree.heads) for tree in test])
    for allowed in (None, some_are_known):
        parts = [parser.predict_marginals(test, allowed=allowed) for parser in grammars]
        found = model.predict_marginals(test, allowed=allowed)
        assert_all_close(found, np.average(parts, axis=0, weights=weights), rtol=1e-13)


def test_trees_are_the_best_of_the_averages(grammars, monkeypatch):
    """Found by enumeration. The two ways to decode differ for marginals as wild as these."""
    rng = np.random.default_rng(0)

    class RandomForest(Forest):
        def __init__(self, batch):
            super().__init__(lambda _: Scored(), batch)
            drawn = [rng.gamma(0.3, size=(n, n + 1)) for n in np.diff(batch.indptr)]
            drawn = [marginals / marginals.sum(axis=1, keepdims=True) for marginals in drawn]
            self.marginals = np.concatenate([part.ravel() for part in drawn])

    text, found = [["NOUN"] * n for n in (1, 2, 3, 4, 5, 5, 5, 5)], {}
    for parser in map(type, grammars):
        monkeypatch.setattr(parser, "_forest", lambda self, batch: RandomForest(batch))
    for decoder, transform in [("mbr", np.log), ("max_marginal", np.asarray)]:
        model = frozen(grammars, decoder=decoder, weights=[1, 2, 3])
        rng = np.random.default_rng(0)
        found[decoder] = model.predict(text)
        rng = np.random.default_rng(0)
        expected = [oracles.best_tree(transform(each)) for each in model.predict_marginals(text)]
        assert list(map(tuple, found[decoder])) == expected
    assert not same(*found.values())


@pytest.mark.parametrize("name", REPRESENTATIVES)
def test_the_average_of_one_is_that_one(with_relations, test, name):
    """To the last bit, whatever it is."""
    parser = copy(with_relations(name))
    for weights, decoder in ((None, "mbr"), ([0.3], "max_marginal")):
        parser.set_params(decoder=decoder)
        model = frozen([parser], decoder=decoder, weights=weights)
        assert same(model.predict(test), parser.predict(test))
        for method in ("predict_marginals", "conditional_log_likelihood"):
            assert same(getattr(model, method)(test), getattr(parser, method)(test))
        assert model.score(test) == parser.score(test)


# Probabilities of trees


@pytest.mark.parametrize("weights", [None, [1, 2, 0.5]])
def test_likelihoods_are_those_of_a_mixture(grammars, weights):
    """By enumeration of all trees under the operators of each member."""
    model = frozen(grammars, weights=weights)
    shares = np.ones(3) if weights is None else np.array(weights)
    for symbols in TEXT:
        trees = oracles.projective_trees(len(symbols))
        mixture = np.zeros(len(trees))
        for parser, share in zip(grammars, shares / shares.sum(), strict=True):
            known = parser.symbols_.tolist()
            codes = [len(known) + 1, *map(known.index, symbols)]
            values = [oracles.tree_value(parser.operators_, codes, heads) for heads in trees]
            # Shares of negative value have no logarithm and add nothing.
            mixture += share * np.maximum(values / np.sum(values), 0.0)
        found = model.conditional_log_likelihood([symbols] * len(trees), trees)
        assert_allclose(np.exp(found), mixture, rtol=1e-8, atol=1e-14)
        assert_array_equal(found == -np.inf, mixture == 0.0)


@pytest.mark.filterwarnings("ignore::sklearn_shag.treebank.UnknownSymbolWarning")
def test_a_member_without_mass_adds_nothing_to_a_mixture(grammars):
    blind = DeterministicSHAG().fit([["VERB"]], [[0]])  # knows no tree of two tokens
    models = blind, grammars[0], frozen([grammars[0], blind]), frozen([blind, blind])
    none, alone, mixed, never = (
        model.conditional_log_likelihood([["VERB", "VERB"]], [[0, 1]]) for model in models
    )
    assert none == never == -np.inf
    assert_allclose(mixed, alone + np.log(0.5), rtol=1e-12)


# Labels and tags


@pytest.fixture(scope="module")
def knowing(english):
    """Networks, which know other labels and tags, a linear model and a grammar."""
    settings = {"columns": ["form", "suffix"], "hidden_layer_sizes": [8], "max_iter": 6}
    settings |= {"tags": "upos", "calibrate": False}
    few = [tree for tree in english[:150] if "ADV" not in tree.symbols]
    return [
        BiaffineParser(random_state=0, **settings).fit(english[:100]),
        BiaffineParser(random_state=1, **settings).fit(few),
        CRFParser(["upos", "form"], n_features=2**14, random_state=0).fit(english[:80]),
        SpectralSHAG(2).fit(few),
    ]


def average_of_logs(names, parts, weights):
    """Of each part one row of the probabilities of its names; names, and probabilities."""
    union = sorted(set().union(*names))
    products = []
    for name in union:
        of_name = [
            row[known.index(name)] if name in known else 0.0
            for known, row in zip(names, parts, strict=True)
        ]
        product = np.prod(np.maximum(of_name, 1e-6) ** (np.array(weights) / np.sum(weights)))
        products.append(product if any(of_name) else 0.0)
    return union, np.array(products) / np.sum(products)


WEIGHTS = [None, [1, 2, 0.5, 3], [0, 1, 1, 0]]


@pytest.mark.parametrize("weights", WEIGHTS)
def test_labels_are_those_of_the_mean_of_logarithms(train, test, knowing, weights):
    """Over those that know some."""
    bare, shares = SpectralSHAG(2).fit(list(map(without_relations, train))), weights or [1] * 4
    model = frozen([bare, *knowing], weights=weights and [2, *weights])
    asked = [k for k, share in enumerate(shares) if share]
    names = [knowing[k].labels_.tolist() for k in asked]
    parts = [np.concatenate(knowing[k].predict_label_proba(test, test)) for k in asked]
    found = np.concatenate(model.predict_label_proba(test, test))
    labels = np.concatenate(model.predict_labels(test, test))
    assert len(set(map(tuple, names))) > 1
    for row, label, *of_token in zip(found, labels, *parts, strict=True):
        union, expected = average_of_logs(names, of_token, [shares[k] for k in asked])
        assert_allclose(row, expected, rtol=1e-10)
        assert label == union[expected.argmax()]
    assert model.labels_.tolist() == union
    assert found.dtype == np.float64
    model.set_params(weights=[1, 0, 0, 0, 0])
    assert model.labels_.size == 0
    assert model.parse(test)[0].deprels is None


@pytest.mark.parametrize("weights", WEIGHTS)
def test_parse_says_the_same_of_labels_and_tags(test, knowing, weights):
    model, shares = frozen(knowing, weights=weights), weights or [1] * 4
    heads, labels = model.predict(test), model.predict_labels(test)
    assert same(labels, model.predict_labels(test, heads))
    best = [model.labels_[p.argmax(axis=1)] for p in model.predict_label_proba(test)]
    parsed = model.parse(test)
    assert [list(tree.deprels) for tree in parsed] == [each.tolist() for each in labels]
    assert [each.tolist() for each in best] == [each.tolist() for each in labels]
    asked = [k for k in (0, 1) if shares[k]]
    names = [knowing[k].tags_.tolist() for k in asked]
    every = np.arange(len(test))
    parts = [knowing[k]._score(knowing[k]._batch(test)).tagging.proba(every)[0] for k in asked]
    expected, relations = [], [relation for tree in parsed for relation in tree.deprels]
    first = knowing[asked[0]]  # whose factors of relations count
    for relation, *of_token in zip(relations, *parts, strict=True):
        union, average = average_of_logs(names, of_token, [shares[k] for k in asked])
        factors = dict(zip(names[0], first.tag_factors_.get(relation, ()), strict=False))
        scores = np.log(average) + [factors.get(tag, 0.0) for tag in union]
        expected.append(union[scores.argmax()])
    assert [tag for tree in parsed for tag in tree.upos] == expected
    assert model.tags_.tolist() == union
    assert model.tag_column_ == "upos"


def test_members_that_learned_another_column_have_no_say_in_tags(test, knowing):
    network, _, linear, _ = knowing
    network = copy(network)
    network.tag_factors_ = {}  # relations, in which others have a say, do not count
    other = clone(network).set_params(tags="xpos", max_iter=1).fit(test)
    expected = [tree.upos for tree in network.parse(test)]
    for members in ([network, other], [linear, network, other], [frozen([network, other]), other]):
        model = frozen(members)
        assert model.tag_column_ == "upos"
        assert_array_equal(model.tags_, network.tags_)
        assert [tree.upos for tree in model.parse(test)] == expected
    assert frozen([linear]).tag_column_ is None


def test_networks_read_sentences_once(test, knowing, monkeypatch):
    """For marginals, labels and tags; probabilities of tags are for averages that parse."""
    model = frozen(knowing)
    read, average = mock.Mock(wraps=read_sentences), mock.Mock(wraps=_averaged.average_choices)
    for module in (_biaffine, _tags):
        monkeypatch.setattr(module, "read_sentences", read)
    monkeypatch.setattr(_averaged, "average_choices", average)
    for ask in (model.predict, model.parse, partial(model.parse, confidence=True)):
        read.reset_mock()
        average.reset_mock()
        ask(test)
        n_read = sum(call.args[1].indptr[-1] for call in read.call_args_list)
        assert n_read == 2 * sum(map(len, test))
        assert average.called == (ask != model.predict)


def test_what_no_member_thinks_possible_stays_so(test, knowing):
    """Nothing but roots is a root, also after a correction."""
    model = frozen(knowing[:3])
    model.temperatures_, model.uniform_shares_ = np.array([1, 2.0]), np.array([0, 0.1])
    for tree, found in zip(test, model.predict_label_proba(test, test), strict=True):
        of_roots = found[:, model.labels_.tolist().index("root")]
        assert_array_equal(of_roots > 0, tree.heads == 0)
        assert_allclose(found.sum(axis=1), 1)


# Seeds


TINY = {"columns": ["form", "suffix"], "hidden_layer_sizes": [4], "max_iter": 1}


def tagging_members():
    """Two networks and a pipeline, which has the tagger of the first network."""
    tags = ["upos", "xpos"]
    linear = CRFParser(["upos", "form"], n_features=2**12, random_state=0, calibrate=False)
    steps = Tagger(tags, cv=3, random_state=0, **TINY), linear
    networks = [
        (f"n{k}", BiaffineParser(tags=tags, random_state=k, calibrate=False, **TINY))
        for k in range(2)
    ]
    return [*networks, ("linear", make_pipeline(*steps))]


@pytest.mark.parametrize("calibrate", [False, True])
def test_equal_taggers_learn_once_and_members_are_as_if_alone(english, calibrate):
    trees = english[:24]
    alone = [clone(member).fit(trees) for _, member in tagging_members()]
    with mock.patch.object(Tagger, "fit", autospec=True, side_effect=Tagger.fit) as fit:
        averages = [
            AveragedParser(tagging_members(), calibrate=calibrate, n_jobs=n_jobs).fit(trees)
            for n_jobs in (None, 2)
        ]
    assert fit.call_count == 2 * (2 + 3)  # of two seeds, and of three folds
    for average in averages:
        for one, shared in zip(alone, average.estimators_, strict=True):
            assert_same_model(one, shared)
    assert_same_model(*(average.set_params(n_jobs=None) for average in averages))


def test_taggers_without_a_seed_are_not_shared(english):
    network = BiaffineParser(tags=["upos", "xpos"], **TINY)
    average = AveragedParser([("a", network), ("b", network)], calibrate=False).fit(english[:40])
    one, other = (member.tagger_.weights_.values for member in average.estimators_)
    assert not np.array_equal(one, other)


def test_one_half_of_many_tokens_calibrates(train, monkeypatch):
    n_tokens, learn = sum(map(len, train)), mock.Mock(wraps=_averaged.learn_calibrations)
    monkeypatch.setattr(_averaged, "learn_calibrations", learn)
    for enough in (n_tokens, n_tokens + 1):
        monkeypatch.setattr(_averaged, "ENOUGH", enough)
        AveragedParser(members()[:1]).fit(train)
    halves = [len(call.args[0]) for call in learn.call_args_list]
    assert list(filter(None, halves)) == [1, 2]  # members learn nothing of the kind


def test_halves_see_the_tags_of_folds(english):
    """A pipeline is calibrated as its parser is on trees that were tagged in folds beforehand."""
    trees = english[:40]
    _, linear = tagging_members()[-1]
    tagged = clone(linear[0]).fit_transform(trees)
    # Halves are drawn, and trees are put in order, by symbols.
    pairs = zip(trees, tagged, strict=True)
    trees = [before.with_symbols(after.symbols) for before, after in pairs]
    found = AveragedParser([("linear", linear)]).fit(trees)
    expected = AveragedParser([("linear", linear[1])]).fit(tagged)
    assert_array_equal(found.temperatures_, expected.temperatures_)
    assert_array_equal(found.uniform_shares_, expected.uniform_shares_)
    assert found.temperatures_[0] != 1


def test_of_seeds(train, test):
    linear = CRFParser(["upos"], n_features=2**12, max_iter=2, calibrate=False)
    model = AveragedParser.of_seeds(linear, 2, random_state=5, calibrate=False, decoder="mst")
    assert linear.random_state is None
    members = [(f"seed{k}", clone(linear).set_params(random_state=5 + k)) for k in range(2)]
    assert parameters(model) == parameters(AveragedParser(members, calibrate=False, decoder="mst"))
    one, other = model.fit(train).estimators_
    assert not same(one.predict_marginals(test), other.predict_marginals(test))
    names = [name for name, _ in AveragedParser.of_seeds(linear).estimators]
    assert names == ["seed0", "seed1", "seed2"]


def test_of_seeds_sets_all_of_a_pipeline():
    inner = AveragedParser([("linear", CRFParser(random_state=7)), ("grammar", SpectralSHAG())])
    pipeline = make_pipeline(Tagger(), inner)
    for k, (_, member) in enumerate(AveragedParser.of_seeds(pipeline).estimators):
        seeds = {n: v for n, v in member.get_params().items() if n.endswith("random_state")}
        assert seeds == {"tagger__random_state": k, "averagedparser__linear__random_state": k}
    assert pipeline[0].random_state is None


# Members of all kinds


def test_members_may_read_other_columns(train, test):
    coarse = make_pipeline(TokenFeature("upos"), SpectralSHAG(2))
    fine = make_pipeline(
        None, TokenFeature("xpos"), "passthrough", make_pipeline(SpectralSHAG(3, smoothing=5))
    )
    model = AveragedParser([("coarse", coarse), ("fine", fine)], calibrate=False).fit(train)
    parts = []
    for feature, parser in [(coarse[0], coarse[1]), (fine[1], fine[3][0])]:
        alone = clone(parser).fit(clone(feature).fit_transform(train))
        parts.append(alone.predict_marginals(clone(feature).fit(train).transform(test)))
    assert_all_close(model.predict_marginals(test), np.mean(parts, axis=0), rtol=1e-13)
    assert "VBD" in model.named_estimators_["fine"][-1][-1].symbols_
    assert np.isfinite(model.conditional_log_likelihood(test)).mean() > 0.9


def test_frozen_members_stay_as_they_are(english, train, test):
    parser = SpectralSHAG(2).fit(english[200:])
    pipeline = make_pipeline(TokenFeature("xpos"), SpectralSHAG(2)).fit(english[200:])
    step = make_pipeline(TokenFeature("upos"), FrozenEstimator(parser))
    model = AveragedParser(
        [
            ("parser", FrozenEstimator(parser)),
            ("pipeline", FrozenEstimator(pipeline)),
            ("step", step),
            ("own", SpectralSHAG(2)),
        ]
    )
    before = pickle.dumps((parser, pipeline))
    model.fit(train, sample_weight=np.arange(120.0))
    assert pickle.dumps((parser, pipeline)) == before
    named = model.named_estimators_
    assert named["parser"].estimator is parser
    assert named["pipeline"].estimator is pipeline
    assert named["step"][-1].estimator is parser
    assert_same_model(named["own"], SpectralSHAG(2).fit(train, sample_weight=np.arange(120.0)))
    assert not hasattr(step[0], "symbols_")  # a copy of the pipeline was fitted
    of_members = [each.predict_marginals(test) for each in (parser, named["own"])]
    of_members.append(pipeline[-1].predict_marginals(pipeline[:-1].transform(test)))
    expected = np.average(of_members, axis=0, weights=[2, 1, 1])
    assert_all_close(model.predict_marginals(test), expected, rtol=1e-13)


def test_weights_of_sentences_reach_the_parsers(train):
    weights = np.arange(120) % 3
    inner = Pipeline([("a", TokenFeature("upos")), ("b", make_pipeline(SpectralSHAG(2)))])
    expected = AveragedParser([("p", inner), ("s", SpectralSHAG(2))]).fit(repeat(train, weights))
    for routing in (False, True):
        with sklearn.config_context(enable_metadata_routing=routing):
            model = clone(expected).fit(train, sample_weight=weights)
        assert_same_model(model, expected)


def forget_heads(trees):
    return [list(tree.xpos) for tree in trees]


def test_steps_of_pipelines_may_forget_the_heads(train):
    """Members get the heads of the trees as they came."""
    pipeline = make_pipeline(FunctionTransformer(forget_heads), SpectralSHAG(2))
    other = make_pipeline(TokenFeature("xpos"), SpectralSHAG(2))
    assert_same_model(
        *(AveragedParser([("member", each)]).fit(train) for each in (pipeline, other))
    )


def test_members_are_fitted_and_parse_side_by_side(train, test):
    """Each waits for the other, where it learns and where it parses."""
    meeting = threading.Barrier(2)

    def meet(trees):
        meeting.wait(60)  # seconds
        return trees

    member = make_pipeline(FunctionTransformer(meet), DeterministicSHAG())
    AveragedParser([("one", member), ("other", member)], n_jobs=2).fit(train).predict(test)


def test_progress_is_that_of_members(train, capsys):
    AveragedParser(members()[:2], verbose=2).fit(train)
    assert re.search(r"Learning: 100%.*2/2.* estimators", capsys.readouterr().err)


def test_members_are_replaced_by_name():
    model = AveragedParser(members()).set_params(spectral__n_states=5, single=SpectralSHAG(7))
    assert [member.n_states for _, member in model.estimators] == [7, 5, 2]
    model.set_params(estimators=[("a", SpectralSHAG()), ("b", SpectralSHAG())], b__n_states=2)
    assert [member.n_states for _, member in model.estimators] == [8, 2]


def test_names_that_methods_of_dictionaries_have(train):
    named = [(name, SpectralSHAG(2)) for name in ("self", "values", "items")]
    assert len(AveragedParser(named).fit(train).estimators_) == 3


# Weights from raw text


@pytest.fixture(scope="module")
def languages(train):
    """Treebanks to learn helpers from; the last lacks a tag of the others."""
    return {
        "near": train[:60],
        "far": list(map(mirror, train[60:])),
        "bare": [tree for tree in train if "NUM" not in tree.symbols],
    }


def of_helpers(languages, **params):
    """An average of arc-factored parsers, with the weights of a mixture of grammars."""
    parser = CRFParser(["symbol"], n_features=2**12, calibrate=False, random_state=0)
    grammars, parsers = (
        [(name, FrozenEstimator(learn(trees))) for name, trees in languages.items()]
        for learn in (
            lambda trees: DMV(max_length=None).fit(trees, trees),
            lambda trees: clone(parser).fit(trees),
        )
    )
    return AveragedParser(parsers, weights=MixtureSHAG(grammars, tol=1e-3, **params))


def test_weights_are_the_shares_of_helpers_in_raw_text(languages, test):
    text, model = symbols_and_heads(test)[0], of_helpers(languages, max_length=15)
    model.fit(text)
    mixture = clone(model.weights).set_params(tied=True).fit(text)
    assert np.isfinite(mixture.loss_curve_).all()
    assert_array_equal(model.shares_, mixture.weights_[:, 0, 0])
    assert_allclose(model.shares_.sum(), 1.0, rtol=1e-12)
    assert model.shares_[1] < 0.1  # of the mirrored language
    members = [member.predict_marginals(text) for member in model.estimators_]
    expected = np.average(members, axis=0, weights=model.shares_)
    assert_all_close(model.predict_marginals(text), expected, atol=1e-12)
    by_hand = AveragedParser(model.estimators, weights=model.shares_).fit(text)
    assert same(by_hand.predict_labels(text, test), model.predict_labels(text, test))


def test_heads_count_where_they_are_given_as_y(languages, test):
    model = of_helpers(languages, max_length=None).fit(symbols_and_heads(test)[0])
    assert_array_equal(clone(model).fit(test).shares_, model.shares_)
    knowing = clone(model).fit(test, test)
    mixture = clone(model.weights).set_params(tied=True).fit(test, test)
    assert_array_equal(knowing.shares_, mixture.weights_[:, 0, 0])
    assert abs(knowing.shares_ - model.shares_).max() > 1e-3
    twice = clone(model).fit(test[:10], sample_weight=[2] * 5 + [0] * 5)
    assert_allclose(twice.shares_, clone(model).fit(test[:5] * 2).shares_, rtol=1e-9)


def test_a_helper_that_has_seen_no_tag_of_the_text_is_no_error(languages, test):
    model = of_helpers({"near": languages["near"], "none": [DependencyTree(["SYM"], [0])] * 3})
    assert_allclose(model.fit(symbols_and_heads(test)[0]).shares_, [1.0, 0.0], atol=0.1)


def test_helpers_may_have_any_order(languages, test):
    text, model = symbols_and_heads(test)[0], of_helpers(languages).fit(symbols_and_heads(test)[0])
    for turned in (
        of_helpers(dict(reversed(languages.items()))),
        clone(model).set_params(estimators=model.estimators[::-1]),
    ):
        assert_allclose(turned.fit(text).shares_, model.shares_[::-1], rtol=1e-6)
        assert same(turned.predict(text), model.predict(text))


def test_given_weights_take_the_place_of_learned_ones(languages, test, tmp_path):
    """Of a model from a file, too, which has those that were learned."""
    model = of_helpers(languages).fit(symbols_and_heads(test)[0])
    save_model(model, tmp_path / "model.npz")
    loaded = load_model(tmp_path / "model.npz")
    assert_array_equal(loaded.shares_, model.shares_)
    loaded.set_params(weights=[0, 3, 0])
    assert same(loaded.predict(test), model.estimators_[1].predict(test))
    assert_array_equal(loaded.fit(test).shares_, [0, 1, 0])
