"""Attachment scores against naive counting and against the official evaluation of UD."""

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import UndefinedMetricWarning

from sklearn_shag import DeterministicSHAG
from sklearn_shag.metrics import (
    attachment_breakdown,
    exact_match_score,
    is_punctuation,
    neutral_edge_direction_score,
    undirected_attachment_score,
    unlabeled_attachment_score,
)
from sklearn_shag.treebank import DependencyTree, read_conllu
from tests import oracles
from tests.fuzz.treebanks import heads_lists

# Of drawn treebanks it may be that no token counts.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")

few = settings(max_examples=40)
SCORES = [unlabeled_attachment_score, exact_match_score]
OF_HEADS = [unlabeled_attachment_score, undirected_attachment_score, neutral_edge_direction_score]
OF_HEADS += [exact_match_score]
SYMBOLS = ["NOUN", "VERB", "PUNCT", "PUNCT|.", ",", "DET"]

# A multiword token, empty nodes (one within the multiword token) and enhanced dependencies.
MULTIWORD = """\
# sent_id = 1
# text = Vámonos al mar y ellos al monte
1-2\tVámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tVamos\tir\tVERB\t_\t_\t0\troot\t0:root\t_
1.1\tya\tya\tADV\t_\t_\t_\t_\t1:advmod\tCopyOf=-1
2\tnos\tnosotros\tPRON\t_\t_\t1\texpl\t1:expl\t_
3-4\tal\t_\t_\t_\t_\t_\t_\t_\t_
3\ta\ta\tADP\t_\t_\t5\tcase\t5:case\t_
4\tel\tel\tDET\t_\t_\t5\tdet\t5:det\t_
5\tmar\tmar\tNOUN\t_\t_\t1\tobl\t1:obl:a\t_
6\ty\ty\tCCONJ\t_\t_\t7\tcc\t7.1:cc\t_
7\tellos\tellos\tPRON\t_\t_\t1\tconj\t7.1:nsubj\t_
7.1\tvan\tir\tVERB\t_\t_\t_\t_\t1:conj:y\tCopyOf=1
8-9\tal\t_\t_\t_\t_\t_\t_\t_\t_
8\ta\ta\tADP\t_\t_\t10\tcase\t10:case\t_
9\tel\tel\tDET\t_\t_\t10\tdet\t10:det\t_
10\tmonte\tmonte\tNOUN\t_\t_\t7\torphan\t7.1:obl:a\tSpaceAfter=No

# sent_id = 2
# text = Sí
1\tSí\tsí\tINTJ\t_\t_\t0\troot\t0:root\t_

"""


@st.composite
def treebanks(draw):
    """Symbols, true heads, predicted heads, masks of ignored tokens, and integer weights."""
    sentences = []
    for _ in range(draw(st.integers(1, 5))):
        n_tokens = draw(st.integers(1, 6))
        gold, other = (draw(heads_lists(n_tokens=n_tokens)) for _ in range(2))
        flips = draw(st.lists(st.booleans(), min_size=n_tokens, max_size=n_tokens))
        system = [b if flip else a for a, b, flip in zip(gold, other, flips, strict=True)]
        symbols = draw(st.lists(st.sampled_from(SYMBOLS), min_size=n_tokens, max_size=n_tokens))
        mask = draw(st.lists(st.booleans(), min_size=n_tokens, max_size=n_tokens))
        sentences.append((symbols, gold, system, mask, draw(st.integers(0, 3))))
    return [list(column) for column in zip(*sentences, strict=True)]


def naive_uas(gold, system, masks, weights):
    right = total = 0
    for i in range(len(gold)):
        for j in range(len(gold[i])):
            if not masks[i][j]:
                total += weights[i]
                if gold[i][j] == system[i][j]:
                    right += weights[i]
    return right / total if total else 0.0


def naive_exact(gold, system, weights):
    right = sum(w for a, b, w in zip(gold, system, weights, strict=True) if a == b)
    return right / sum(weights) if sum(weights) else 0.0


def naive_breakdown(symbols, gold, system, masks, weights, by):
    """A dict from (symbol, is on the right) to [right, total]."""
    cells = {}
    for i in range(len(gold)):
        for j, head in enumerate(gold[i]):
            if masks[i][j]:
                continue
            if by == "modifier":
                symbol = symbols[i][j]
            else:
                symbol = "<root>" if head == 0 else symbols[i][head - 1]
            cell = cells.setdefault((symbol, head < j + 1), [0, 0])
            cell[0] += weights[i] * (system[i][j] == head)
            cell[1] += weights[i]
    return cells


def as_trees(symbols, heads):
    return [
        DependencyTree(names, tree_heads) for names, tree_heads in zip(symbols, heads, strict=True)
    ]


def no_masks(gold):
    return [[False] * len(heads) for heads in gold]


class TestUnlabeledAttachmentScore:
    @few
    @given(treebanks())
    def test_counts(self, sentences):
        symbols, gold, system, masks, weights = sentences
        plain, ones = no_masks(gold), [1] * len(gold)
        options = {"sample_weight": weights, "ignore": masks}
        for given_options, counted in ({}, (plain, ones)), (options, (masks, weights)):
            found = unlabeled_attachment_score(gold, system, **given_options)
            np.testing.assert_allclose(found, naive_uas(gold, system, *counted), rtol=1e-14)
        trees = as_trees(symbols, gold)
        # `system` mixes two trees and need not be one, but the gold trees can stand on both sides.
        assert unlabeled_attachment_score(trees, system, **options) == found
        assert unlabeled_attachment_score(system, trees, **options) == found

    def test_kinds_of_sequences(self):
        gold = [[2, 0, 2], [0, 1, 1]]
        system = [[2, 0, 1], [0, 1, 1]]
        for cast in (
            np.array,
            tuple,
            iter,
            lambda heads: [np.array(item, dtype=np.uint8) for item in heads],
            lambda heads: [tuple(item) for item in heads],
        ):
            assert unlabeled_attachment_score(cast(gold), cast(system)) == 5 / 6
            assert exact_match_score(cast(gold), cast(system)) == 0.5


class TestExactMatchScore:
    @few
    @given(treebanks())
    def test_counts(self, sentences):
        """Ignored tokens cannot be wrong."""
        symbols, gold, system, masks, weights = sentences
        for mask in masks:
            mask[0] = False  # what a sentence without any token that counts is, is left open here
        pruned = [
            [
                [head for head, skip in zip(heads, mask, strict=True) if not skip]
                for heads, mask in zip(side, masks, strict=True)
            ]
            for side in (gold, system)
        ]
        for truth in (gold, as_trees(symbols, gold)):
            for ignore, sides in ((None, (gold, system)), (masks, pruned)):
                np.testing.assert_allclose(
                    exact_match_score(truth, system, sample_weight=weights, ignore=ignore),
                    naive_exact(*sides, weights),
                    rtol=1e-14,
                )


class TestIgnore:
    @few
    @given(treebanks())
    def test_predicate_is_its_mask(self, sentences):
        symbols, gold, system, _, weights = sentences
        trees = as_trees(symbols, gold)
        masks = [[symbol in ("PUNCT", "PUNCT|.", ",") for symbol in item] for item in symbols]
        for score in SCORES:
            assert score(trees, system, sample_weight=weights, ignore=is_punctuation) == score(
                trees, system, sample_weight=weights, ignore=masks
            )

    def test_predicate_sees_the_symbols_of_the_true_trees(self):
        gold = [DependencyTree(["a", "b"], [2, 0], symbols=["X", "Y"])]
        system = [DependencyTree(["a", "b"], [0, 1], symbols=["Y", "X"])]
        seen = []
        assert unlabeled_attachment_score(gold, system, ignore=seen.append) == 0.0
        assert seen == ["X", "Y"]


def test_where_nothing_counts_the_score_is_zero_and_said_to_be_undefined():
    gold = [[0], [2, 0]]
    masks = [[True], [True, True]], [[True], [False, False]]
    cases = [{"sample_weight": [0, 0]}, {"ignore": masks[0]}]
    cases.append({"ignore": masks[1], "sample_weight": [1, 0]})  # of the one that has a weight
    for score in SCORES:
        for options in cases:
            with pytest.warns(UndefinedMetricWarning, match="No token is left to score") as caught:
                assert score(gold, gold, **options) == 0.0, (score, options)
            assert [warning.filename for warning in caught] == [__file__], (score, options)


class TestBreakdown:
    @few
    @given(treebanks())
    def test_counts(self, sentences):
        symbols, gold, system, masks, weights = sentences
        trees = as_trees(symbols, gold)
        options = {"sample_weight": weights, "ignore": masks}
        for by in ("head", "modifier"):
            breakdown = attachment_breakdown(trees, system, by=by, **options)
            expected = naive_breakdown(symbols, gold, system, masks, weights, by)
            assert breakdown.symbols.tolist() == sorted({symbol for symbol, _ in expected}), by
            for row, symbol in enumerate(breakdown.symbols):
                for column in range(2):
                    right, total = expected.get((symbol, bool(column)), (0, 0))
                    assert breakdown.right[row, column] == right, by
                    assert breakdown.total[row, column] == total, by
            total = breakdown.total.sum()
            assert total == sum(
                weight * mask.count(False) for mask, weight in zip(masks, weights, strict=True)
            )
            np.testing.assert_allclose(
                breakdown.right.sum() / total if total else 0.0,
                unlabeled_attachment_score(trees, system, **options),
                rtol=1e-14,
                err_msg=by,
            )

    def test_nothing_counts(self):
        breakdown = attachment_breakdown([DependencyTree(["a"], [0])], [[0]], ignore=[[True]])
        assert breakdown.symbols.shape == (0,)
        assert breakdown.right.shape == breakdown.total.shape == (0, 2)
        assert breakdown.right.dtype == breakdown.total.dtype == np.float64


class TestIsPunctuation:
    def test_of_symbols(self):
        marks = ["PUNCT", "PUNCT|.", "PUNCT|``", "PUNCT|-LRB-", ",", ".", ":", "''", "...", "«"]
        others = ["NOUN", "SYM", "$", "", "|", "NOUN|.", "X|PUNCT", "PUNCTUATION", "X.", "1", " "]
        others += [". ", "_"]
        assert not [symbol for symbol in marks if is_punctuation(symbol) is not True]
        assert not [symbol for symbol in others if is_punctuation(symbol) is not False]


def official_uas(official, gold, system):
    score = official(gold, system)["UAS"]
    # All words are aligned: the share of right words has one denominator.
    assert score.gold_total == score.system_total == score.aligned_total == sum(map(len, gold))
    return score.f1


class TestOfficialEvaluation:
    def test_multiword_tokens_and_empty_nodes(self, official):
        gold = read_conllu(io.StringIO(MULTIWORD))
        model = DeterministicSHAG("single").fit(gold)
        systems = [
            model.parse(gold),
            [gold[0].with_heads([5, 1, 1, 3, 0, 5, 6, 7, 8, 9]), gold[1]],
            [gold[0].with_heads([0, 1, 5, 5, 2, 7, 1, 10, 8, 7]), gold[1]],
        ]
        ours = [unlabeled_attachment_score(gold, system) for system in systems]
        theirs = [official_uas(official, gold, system) for system in systems]
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
        np.testing.assert_allclose(ours[1:], [2 / 11, 9 / 11], rtol=1e-14)


# Scores that do not mind the direction of arcs, and sentences by length


def naive_right(score, true, pred):
    """Right tokens and counted ones of one sentence."""
    heads, right, counted = dict(enumerate(true, start=1)), 0, 0
    for token, guess in enumerate(pred, start=1):
        head = heads[token]
        if head == -1:
            continue
        counted += 1
        is_child = guess > 0 and heads[guess] == token
        is_above = head > 0 and heads[head] == guess
        ways = [guess == head, is_child, is_above]
        right += any(ways[: 1 + OF_HEADS.index(score)])
    return right, counted


@pytest.fixture(scope="module")
def pairs():
    """Random trees, some heads of the true ones unknown, and predictions near them."""
    rng = np.random.default_rng(0)
    true, pred = [], []
    for n_tokens in rng.integers(1, 9, size=200):
        heads = np.array(oracles.random_tree(rng, n_tokens))
        true.append(np.where(rng.random(n_tokens) < 0.2, -1, heads).tolist())
        pred.append(oracles.random_tree(rng, n_tokens))
    return true, pred


def test_scores_are_those_of_counting(pairs):
    for score in OF_HEADS[:3]:
        for max_length in (None, 1, 5):
            counts = [
                naive_right(score, true, pred)
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
    for score in OF_HEADS:
        expected = score(
            [true[s] for s in short], [pred[s] for s in short], sample_weight=weights[short]
        )
        assert score(true, pred, sample_weight=weights, max_length=4) == expected, score
        with pytest.warns(UndefinedMetricWarning, match="max_length"):
            assert score([[2, 0]], [[2, 0]], max_length=1) == 0


@pytest.mark.parametrize("score", OF_HEADS)
def test_each_score_minds_what_is_ignored(score):
    assert score([[2, 3, 0]], [[3, 3, 0]], ignore=[[True, False, False]]) == 1
