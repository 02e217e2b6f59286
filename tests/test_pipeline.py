"""Pipelines that parse: their methods are those of the parser, of what the steps before it make."""

from inspect import signature

import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from sklearn_shag import CRFParser, ParserPipeline, SpectralSHAG, Tagger, make_parser_pipeline
from sklearn_shag.inspection import least_certain_arcs
from sklearn_shag.treebank import TokenFeature, allowed_arcs
from tests.estimators import same


@pytest.fixture(scope="module")
def model(english):
    return make_parser_pipeline(TokenFeature("upos", "xpos"), SpectralSHAG(3)).fit(english[:100])


def test_methods_are_those_of_the_parser(model, test):
    feature, parser = model
    text, heads = feature.transform(test), {"y": [tree.heads for tree in test]}
    known = [tree.with_heads([tree.heads[0], *[-1] * (len(tree) - 1)]) for tree in test]
    allowed = {"allowed": allowed_arcs(known)}
    for method, given in [
        ("predict", {}),
        ("predict_marginals", {}),
        ("predict_marginals", allowed),
        ("predict_labels", {}),
        ("predict_labels", heads),
        ("predict_labels", allowed),
        ("predict_label_proba", {}),
        ("predict_label_proba", heads),
        ("conditional_log_likelihood", {}),
        ("predict_tree_proba", {}),
    ]:
        assert same(getattr(model, method)(test, **given), getattr(parser, method)(text, **given))
    assert model.parse(test) == parser.parse(text) == list(model.iter_parse(iter(test)))
    assert list(model.iter_parse(test, chunk_size=3)) == model.parse(test)
    assert model.parse(test, **allowed) == parser.parse(text, **allowed)
    kept = model.parse(known, keep_heads=True)
    assert [tree.heads[0] for tree in kept] == [tree.heads[0] for tree in test]
    assert len(least_certain_arcs(model, known, n=3).margins) == 3


def test_it_has_what_its_parser_has(model, test, english):
    feature, parser = model
    assert same(model.log_likelihood(test), parser.log_likelihood(feature.transform(test)))
    assert model.sample(3, random_state=0) == parser.sample(3, random_state=0)
    for method in ("predict_tags", "score_arcs", "explain"):
        assert not hasattr(model, method)
        with pytest.raises(AttributeError, match=method):
            getattr(model, method)
    linear = make_parser_pipeline(
        TokenFeature("upos"), CRFParser(["symbol"], n_features=2**12, max_iter=2)
    )
    linear.fit(english[:40])
    text = linear[0].transform(test)
    assert same(linear.score_arcs(X=test), linear[-1].score_arcs(text))
    drawn = linear.sample_heads(test, 3, random_state=0)
    assert same(drawn, linear[-1].sample_heads(text, 3, random_state=0))
    assert all(map(same, linear.k_best_heads(test, 3), linear[-1].k_best_heads(text, 3)))
    expected = linear[-1].explain(text[0], 1, n_features=3)
    assert linear.explain(test[0], 1, n_features=3) == expected
    assert linear.explain(sentence=test[0], modifier=1, n_features=3) == expected
    assert not hasattr(linear, "sample")
    with pytest.raises(NotFittedError):
        clone(linear).score_arcs(test)
    assert signature(ParserPipeline.parse) == signature(CRFParser.parse)
    assert ParserPipeline.k_best_heads.__doc__ == CRFParser.k_best_heads.__doc__


def test_a_tagger_writes_its_tags(english):
    tagger = Tagger(hidden_layer_sizes=[4], max_iter=1, cv=2, random_state=0)
    linear = CRFParser(["upos"], n_features=2**12, random_state=0)
    model = make_parser_pipeline(tagger, linear).fit(english[:50])
    (tree,) = model.parse([["Dogs", "bark"]])
    assert tree.forms == ("Dogs", "bark")
    assert set(tree.upos) <= set(model[0].tags_)
