"""The report of scores against the functions that compute each of them, and resampled by hand."""

import numpy as np
import pytest

from sklearn_shag import SpectralSHAG
from sklearn_shag.metrics import (
    _report,
    attachment_breakdown,
    content_labeled_attachment_score,
    exact_match_score,
    is_punctuation,
    label_accuracy_score,
    labeled_attachment_score,
    score_report,
    unlabeled_attachment_score,
)
from sklearn_shag.treebank import DependencyTree, fill_unknown, with_tags
from tests.loops import over

METRICS = {
    "uas": unlabeled_attachment_score,
    "las": labeled_attachment_score,
    "clas": content_labeled_attachment_score,
    "label_accuracy": label_accuracy_score,
    "exact_match": exact_match_score,
}
COLUMNS = {"upos": "upos", "xpos": "xpos", "feats": "feats", "lemma": "lemmas"}
IGNORE = [None, is_punctuation]


@pytest.fixture(scope="module")
def parsed(english):
    return SpectralSHAG(2).fit(english[60:160]).parse(english[:60])


def values(report):
    return {name: interval.score for name, interval in report.scores.items()}


@over("ignore", IGNORE)
@over("by", ["head", "modifier"])
def test_scores_are_those_of_the_metrics(english, parsed, ignore, by):
    gold = english[:60]
    report = score_report(iter(gold), iter(parsed), ignore=ignore, by=by)
    scores = values(report)
    for name, metric in METRICS.items():
        assert scores[name] == metric(gold, parsed, ignore=ignore)
    assert scores["uas"] < 1
    n_tokens = sum(map(len, gold))
    n_punctuation = sum(is_punctuation(symbol) for tree in gold for symbol in tree.symbols)
    n_scored = n_tokens - (n_punctuation if ignore else 0)
    assert report[1:5] == (60, n_tokens, 0, n_scored)
    expected = attachment_breakdown(gold, parsed, by=by, ignore=ignore)
    assert report.breakdown.symbols.tolist() == expected.symbols.tolist()
    np.testing.assert_array_equal(report.breakdown[1:], expected[1:])


@over("ignore", IGNORE)
def test_intervals(english, parsed, ignore):
    """As the metrics give them, with the number of times that a sentence is drawn as weight."""
    gold, system = list(english[:30]), list(parsed[:30])
    # A sentence of which no token counts is drawn like the others.
    gold[0] = DependencyTree([".", "!"], [0, 1], upos=["PUNCT"] * 2, deprels=["root", "punct"])
    system[0] = gold[0]
    options = {"n_resamples": 50, "confidence_level": 0.8, "random_state": 3}
    report = score_report(gold, system, ignore=ignore, **options)
    rng = np.random.default_rng(3)
    weights = [np.bincount(rng.integers(30, size=30), minlength=30) for _ in range(50)]
    for name, metric in METRICS.items():
        scores = [metric(gold, system, sample_weight=w, ignore=ignore) for w in weights]
        _, low, high = report.scores[name]
        np.testing.assert_allclose([low, high], np.quantile(scores, [0.1, 0.9]), rtol=1e-12)
        assert low < report.scores[name].score < high
    assert report.n_resamples == 50
    assert report.confidence_level == 0.8
    assert str(score_report(gold, system, ignore=ignore, **options)) == str(report)
    default = score_report(gold, system, ignore=ignore)
    assert default.scores["uas"].low < report.scores["uas"].low


def test_columns_are_scored_where_both_have_some(english):
    """By the words whose value is the same; tags where UPOS, XPOS and FEATS all are."""
    gold, rng = english[:30], np.random.default_rng(0)
    wrong = {name: [rng.random(len(tree)) < 0.2 for tree in gold] for name in COLUMNS}

    def spoil(k, tree):
        changed = {
            name: np.where(wrong[name][k], "wrong", getattr(tree, attribute)).tolist()
            for name, attribute in COLUMNS.items()
        }
        return with_tags(tree, changed)

    scores = values(score_report(gold, [spoil(k, tree) for k, tree in enumerate(gold)]))
    expected = {name: 1 - np.concatenate(wrong[name]).mean() for name in COLUMNS}
    tags = [np.concatenate(wrong[name]) for name in ("upos", "xpos", "feats")]
    expected["tags"] = 1 - np.logical_or.reduce(tags).mean()
    assert {name: scores[name] for name in expected} == pytest.approx(expected)
    bare = [DependencyTree(tree.forms, tree.heads, upos=tree.upos) for tree in gold]
    for pair in ((gold, bare), (bare, gold)):
        scores = values(score_report(*pair))
        assert scores == {"uas": 1, "exact_match": 1, "upos": 1}
    tagged = [tree.with_heads(None) for tree in gold]  # a tagger gives no heads
    report = score_report(gold, tagged)
    assert list(report.scores) == ["upos", "xpos", "feats", "tags", "lemma"]
    assert set(values(report).values()) == {1.0}


def test_relations_are_scored_where_both_have_some(english, parsed):
    gold = english[:60]
    bare = [tree.with_heads(tree.heads, ["_"] * len(tree)) for tree in gold]
    for pair in ((gold, bare), (bare, gold)):
        assert not score_report(*pair).scores.keys() & {"las", "clas", "label_accuracy"}
    # Some true relations are not known, and those of other schemes have no content words.
    scores = values(score_report([gold[0], *bare[1:]], parsed))
    assert scores["las"] == labeled_attachment_score(gold[:1], parsed[:1])
    assert scores["uas"] == unlabeled_attachment_score(gold, parsed)
    own = [tree.with_heads(tree.heads, ["SBJ"] * len(tree)) for tree in gold]
    assert METRICS.keys() - score_report(own, own).scores.keys() == {"clas"}


@over("ignore", IGNORE)
def test_heads_that_are_not_known(english, parsed, ignore):
    rng = np.random.default_rng(0)
    partial = [
        tree.with_heads(np.where(rng.uniform(size=len(tree)) < 0.3, -1, tree.heads))
        for tree in english[:60]
    ]
    partial[3] = english[3].with_heads(None)
    report, whole = score_report(partial, parsed, ignore=ignore), fill_unknown(partial)
    assert report.n_unknown == sum(int((tree.heads == -1).sum()) for tree in whole)
    assert report.scores["uas"].score == unlabeled_attachment_score(whole, parsed, ignore=ignore)
    assert report.scores["exact_match"].score == exact_match_score(whole, parsed, ignore=ignore)
    for name in ("uas", "exact_match"):
        score, low, high = report.scores[name]
        assert low < score < high
    unlabelled = [tree.with_heads(None) for tree in partial]
    report = score_report(unlabelled, parsed, ignore=ignore)
    assert report.n_unknown == report.n_tokens
    assert "uas" not in report.scores


@over("ignore", IGNORE)
@over("by", ["head", "modifier"])
def test_scores_are_counted_in_chunks(english, parsed, monkeypatch, ignore, by):
    gold, system = list(english[:60]), list(parsed)
    for k in range(20, 30):  # chunks without tags or relations, and without heads
        gold[k] = DependencyTree(gold[k].forms, gold[k].heads)
    for k in range(40, 50):
        gold[k] = gold[k].with_heads(None)
    system[52] = system[52].with_heads(system[52].heads)  # its relations are not known
    expected = score_report(gold, system, ignore=ignore, by=by)
    assert expected.n_unknown == sum(map(len, gold[40:50]))
    assert expected.scores["las"].score > 0.3
    for chunk in (1, 10, 17):
        monkeypatch.setattr(_report, "SCORED_CHUNK", chunk)
        assert str(score_report(gold, system, ignore=ignore, by=by)) == str(expected)
