"""Scores of heads and relations against naive counting and the official evaluation of UD."""

import io
from collections import defaultdict
from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal, assert_equal
from sklearn.exceptions import UndefinedMetricWarning

from sklearn_shag import DeterministicSHAG, LexicalizedSHAG, SpectralSHAG
from sklearn_shag.metrics import (
    attachment_breakdown,
    content_labeled_attachment_score,
    exact_match_score,
    is_punctuation,
    label_accuracy_score,
    labeled_attachment_score,
    labeled_breakdown,
    las_scorer,
    neutral_edge_direction_score,
    undirected_attachment_score,
    unlabeled_attachment_score,
)
from sklearn_shag.treebank import DependencyTree, read_conllu
from tests.estimators import without_relations
from tests.fuzz.treebanks import heads_lists
from tests.oracles import random_tree

# Of drawn treebanks it may be that no token counts.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")

OF_HEADS = {
    "UAS": unlabeled_attachment_score,
    "undirected": undirected_attachment_score,
    "NED": neutral_edge_direction_score,
    "exact match": exact_match_score,
}
OF_RELATIONS = {
    "LAS": labeled_attachment_score,
    "CLAS": content_labeled_attachment_score,
    "label accuracy": label_accuracy_score,
}
SCORES = OF_HEADS | OF_RELATIONS
SYMBOLS = ["NOUN", "VERB", "PUNCT", "PUNCT|.", ",", "DET"]
LABELS = ["nsubj", "nsubj:pass", "obj", "case", "det", "punct", "root", "mine"]
FUNCTION = {"case", "det", "punct", "mine"}

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
    """True and predicted trees, masks of what is ignored, weights, and what says what is ignored.

    That is the masks, or a predicate. Not all that is true is known.
    """
    sentences = []
    for _ in range(draw(st.integers(1, 4))):
        n_tokens = draw(st.integers(1, 6))

        def of_tokens(values, n_tokens=n_tokens):
            return draw(st.lists(values, min_size=n_tokens, max_size=n_tokens))

        trees, symbols = [], of_tokens(st.sampled_from(SYMBOLS))
        for labels in (["_", *LABELS], LABELS):
            tree = draw(heads_lists(n_tokens=n_tokens, n_roots=1))
            trees.append(DependencyTree(symbols, tree, deprels=of_tokens(st.sampled_from(labels))))
        true, other = trees
        labels = np.where(of_tokens(st.booleans()), true.deprels, other.deprels)
        parsed = other.with_heads(
            draw(st.sampled_from(trees)).heads, np.where(labels == "_", "obj", labels)
        )
        hidden = of_tokens(st.sampled_from([False, False, True]))
        true = true.with_heads(np.where(hidden, -1, true.heads), true.deprels)
        sentences.append((true, parsed, of_tokens(st.booleans()), draw(st.integers(0, 3))))
    gold, system, masks, weights = map(list, zip(*sentences, strict=True))
    if draw(st.booleans()):
        marks = [[symbol in ("PUNCT", "PUNCT|.", ",") for symbol in tree.symbols] for tree in gold]
        return gold, system, marks, weights, is_punctuation
    return gold, system, masks, weights, masks


def naive_scores(gold, system, masks, weights, subtypes):
    """Right and all of each score, by counting."""
    sums = {name: np.zeros(2) for name in SCORES}
    for true, parsed, mask, weight in zip(gold, system, masks, weights, strict=True):
        right_heads = []
        for k, (head, guess) in enumerate(zip(true.heads, parsed.heads, strict=True)):
            if mask[k] or head == -1:
                continue
            is_child = guess > 0 and true.heads[guess - 1] == k + 1
            is_above = head > 0 and true.heads[head - 1] == guess
            ways = [guess == head, is_child, is_above]
            right_heads.append(guess == head)
            for n_ways, name in enumerate(("UAS", "undirected", "NED"), start=1):
                sums[name] += weight * any(ways[:n_ways]), weight
            label, other = true.deprels[k], parsed.deprels[k]
            if label == "_":
                continue
            content = [each.split(":")[0] not in FUNCTION for each in (label, other)]
            if not subtypes:
                label, other = label.split(":")[0], other.split(":")[0]
            right = guess == head and label == other
            sums["LAS"] += weight * right, weight
            sums["label accuracy"] += weight * (label == other), weight
            # The harmonic mean of precision and recall has both denominators.
            sums["CLAS"] += 2 * weight * (right and content[0]), weight * sum(content)
        if right_heads:
            sums["exact match"] += weight * all(right_heads), weight
    return sums


@given(treebanks())
def test_counts(treebank):
    gold, system, masks, weights, ignore = treebank
    assume(any((tree.heads >= 0).any() for tree in gold))
    options = {"ignore": ignore, "sample_weight": weights}
    for subtypes in (False, True):
        expected = naive_scores(gold, system, masks, weights, subtypes)
        for name, score in OF_HEADS.items():
            right, total = expected[name]
            for predicted in (system, [tree.heads.tolist() for tree in system]):
                found = score(gold, predicted, **options)
                assert_allclose(found, right / max(total, 1), rtol=1e-14, err_msg=name)
        for name, score in OF_RELATIONS.items():
            right, total = expected[name]
            if total:
                found = score(gold, system, **options, subtypes=subtypes)
                assert_allclose(found, right / total, rtol=1e-12, err_msg=f"{name}, {subtypes}")
                continue
            with pytest.raises(ValueError, match=r"[Nn]o (token|relation)|^None of the relations"):
                score(gold, system, **options, subtypes=subtypes)


@given(treebanks())
def test_counts_by_symbol(treebank):
    gold, system, masks, weights, ignore = treebank
    assume(any((tree.heads >= 0).any() for tree in gold))
    for by in ("head", "modifier"):
        cells = defaultdict(partial(np.zeros, 2))
        for true, parsed, mask, weight in zip(gold, system, masks, weights, strict=True):
            for k, head in enumerate(true.heads):
                if not mask[k] and head != -1:
                    symbol = ["<root>", *true.symbols][head if by == "head" else k + 1]
                    cells[symbol, head < k + 1] += weight * (parsed.heads[k] == head), weight
        found = attachment_breakdown(gold, system, by=by, ignore=ignore, sample_weight=weights)
        assert found.symbols.tolist() == sorted({symbol for symbol, _ in cells})
        for row, symbol in enumerate(found.symbols):
            expected = np.transpose([cells[symbol, False], cells[symbol, True]])
            assert_array_equal([found.right[row], found.total[row]], expected, err_msg=by)


def naive_value(tree, token, by, subtypes):
    """The relation, the length or the depth of an arc; None for an unknown depth."""
    head = tree.heads[token - 1]
    if by == "relation":
        relation = tree.deprels[token - 1]
        return relation if subtypes else relation.split(":")[0]
    if by == "length":
        return abs(token - head) if head else 0
    depth = 1
    while head > 0:
        depth, head = depth + 1, tree.heads[head - 1]
    return None if head < 0 else depth


@given(treebanks())
def test_counts_by_relation_length_and_depth(treebank):
    for by in ("relation", "length", "depth"):
        for subtypes in (False, True):
            check_breakdown(by, subtypes, *treebank)


def check_breakdown(by, subtypes, gold, system, masks, weights, ignore):
    rows = {}
    for true, parsed, mask, weight in zip(gold, system, masks, weights, strict=True):
        for k in range(len(true)):
            value = naive_value(true, k + 1, by, subtypes)
            known = true.heads[k] >= 0 and true.deprels[k] != "_"
            if mask[k] or not known or value is None or not weight:
                continue
            right_head = true.heads[k] == parsed.heads[k]
            label, other = (naive_value(t, k + 1, "relation", subtypes) for t in (true, parsed))
            right_label = label == other
            row = rows.setdefault(value, np.zeros(5))
            row += weight * np.array([1, 0, right_head, right_label, right_head and right_label])
            other = rows.setdefault(naive_value(parsed, k + 1, by, subtypes), np.zeros(5))
            other[1] += weight
    options = {"by": by, "ignore": ignore, "sample_weight": weights, "subtypes": subtypes}
    n_scored = naive_scores(gold, system, masks, weights, False)["LAS"][1]
    if not n_scored or not rows:
        with pytest.raises(ValueError, match=r"[Nn]o (head|token|relation)"):
            labeled_breakdown(gold, system, **options)
        return
    values, *columns = labeled_breakdown(gold, system, **options)
    assert values.tolist() == sorted(rows)
    expected = [rows[v] for v in sorted(rows)]
    assert_allclose(np.transpose(columns), expected, rtol=1e-12, err_msg=by)


def test_a_length_is_a_filter(english):
    gold, parsed = english[300:], SpectralSHAG(2).fit(english[:300]).parse(english[300:])
    short, weights = [k for k, tree in enumerate(gold) if len(tree) <= 8], np.arange(len(gold)) % 3
    sides = [gold[k] for k in short], [parsed[k] for k in short]
    by_depth = partial(labeled_breakdown, by="depth")
    for score in (*SCORES.values(), labeled_breakdown, by_depth, attachment_breakdown):
        expected = score(*sides, sample_weight=weights[short])
        found = score(gold, parsed, sample_weight=weights, max_length=8)
        assert_equal(found, expected, err_msg=score)


# What is compared with what


@pytest.mark.parametrize(
    "cast",
    [
        np.array,
        tuple,
        iter,
        lambda heads: [np.array(item, dtype=np.uint8) for item in heads],
        lambda heads: [tuple(item) for item in heads],
    ],
)
def test_kinds_of_sequences(cast):
    """Predictions need not be trees."""
    gold, system = [[2, 0, 2], [0, 1, 1]], [[2, 1, 2], [0, 1, 1]]
    assert unlabeled_attachment_score(cast(gold), cast(system)) == 5 / 6
    assert exact_match_score(cast(gold), cast(system)) == 0.5


def test_a_predicate_sees_the_symbols_of_the_true_trees():
    gold = [DependencyTree(["a", "b"], [2, 0], symbols=["X", "Y"])]
    system = [DependencyTree(["a", "b"], [0, 1], symbols=["Y", "X"])]
    seen = []
    assert unlabeled_attachment_score(gold, system, ignore=seen.append) == 0.0
    assert seen == ["X", "Y"]


def test_where_nothing_counts_the_score_is_zero_and_said_to_be_undefined():
    gold = [[0, 1], [2, 0]]
    cases = [{"sample_weight": [0, 0]}, {"ignore": [[True, True]] * 2}, {"max_length": 1}]
    # Of the one that has a weight nothing counts.
    cases.append({"ignore": [[True, True], [False, False]], "sample_weight": [1, 0]})
    for score in OF_HEADS.values():
        for options in cases:
            with pytest.warns(UndefinedMetricWarning, match="No token is left to score") as caught:
                assert score(gold, gold, **options) == 0.0, (score, options)
            assert [warning.filename for warning in caught] == [__file__], (score, options)


def test_a_breakdown_of_nothing():
    breakdown = attachment_breakdown([DependencyTree(["a"], [0])], [[0]], ignore=[[True]])
    assert breakdown.symbols.shape == (0,)
    assert breakdown.right.shape == breakdown.total.shape == (0, 2)
    assert breakdown.right.dtype == breakdown.total.dtype == np.float64


def test_symbols_of_punctuation():
    marks = ["PUNCT", "PUNCT|.", "PUNCT|``", "PUNCT|-LRB-", ",", ".", ":", "''", "...", "«"]
    others = ["NOUN", "SYM", "$", "", "|", "NOUN|.", "X|PUNCT", "PUNCTUATION", "X.", "1", " "]
    others += [". ", "_"]
    assert not [symbol for symbol in marks if is_punctuation(symbol) is not True]
    assert not [symbol for symbol in others if is_punctuation(symbol) is not False]


def test_true_trees_without_relations_do_not_count():
    tree = DependencyTree(["a", "b"], [2, 0], deprels=["obj", "root"])
    other = tree.with_heads([0, 1], ["x", "y"])
    for score in OF_RELATIONS.values():
        assert score([tree, without_relations(tree)], [tree, other]) == 1.0


# The official evaluation


def assert_official(official, gold, system, names=("UAS", "LAS", "CLAS")):
    """Assert that scores are the official ones; give those."""
    found = official(gold, system)
    for name in names:
        assert_allclose(SCORES[name](gold, system), found[name].f1, rtol=1e-12)
    score = found["UAS"]
    # All words are aligned: the share of right words has one denominator.
    assert score.gold_total == score.system_total == score.aligned_total == sum(map(len, gold))
    return [found[name].f1 for name in names]


def test_multiword_tokens_and_empty_nodes(official):
    gold = read_conllu(io.StringIO(MULTIWORD))
    assert_official(official, gold, DeterministicSHAG("single").fit(gold).parse(gold))
    for heads_of_first, n_right in [
        ([5, 1, 1, 3, 0, 5, 6, 7, 8, 9], 2),
        ([0, 1, 5, 5, 2, 7, 1, 10, 8, 7], 9),
    ]:
        system = [gold[0].with_heads(heads_of_first), gold[1]]
        assert assert_official(official, gold, system, ["UAS"]) == [n_right / 11]


@pytest.mark.parametrize(
    "model", [DeterministicSHAG("single"), SpectralSHAG(6), LexicalizedSHAG()], ids=str
)
def test_bundled_treebank(official, english, model):
    train, test = english[::2], english[1::2]
    found = assert_official(official, test, model.fit(train).parse(test))
    assert 0.4 < min(found) < max(found) < 0.95


def test_random_trees(official):
    udeval = pytest.importorskip("udtools.udeval")
    rng = np.random.default_rng(0)
    labels = [*LABELS, *udeval.CONTENT_DEPRELS, *udeval.FUNCTIONAL_DEPRELS, "acl:relcl", "cc:x"]
    labels.sort()

    def draw(n_tokens):
        tree, deprels = random_tree(rng, n_tokens), rng.choice(labels, n_tokens)
        return DependencyTree(["w"] * n_tokens, tree, deprels=deprels)

    gold = [draw(n) for n in rng.integers(1, 12, size=60)]
    system = []
    for tree in gold:
        other = draw(len(tree))
        kept = np.where(rng.random(len(tree)) < 0.6, tree.deprels, other.deprels)
        system.append(tree.with_heads((tree if rng.random() < 0.7 else other).heads, kept))
    *_, clas = assert_official(official, gold, system)
    assert 0.1 < clas < 0.9


def test_relations_count_where_y_has_the_same_heads(english):
    model = DeterministicSHAG().fit(english)
    tree = DependencyTree(["DET", "NOUN", "VERB"], [2, 3, 0], deprels=["x", "nsubj", "root"])
    for X_and_y in ([[tree]], [[tree.symbols], [tree]], map(iter, [[tree], [tree]])):
        assert las_scorer(model, *X_and_y) == pytest.approx(2 / 3)
    for heads_of_y in ([3, 3, 0], [-1, 3, 0]):
        assert las_scorer(model, [tree], [heads_of_y]) == 1
