"""Tagger: what it reads and learns, cross-fitting, and its place before parsers of tags."""

import io
import pickle
from copy import copy
from itertools import chain
from unittest import mock

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics.cluster import contingency_matrix
from sklearn.model_selection import KFold

from sklearn_shag import BiaffineParser, Tagger
from sklearn_shag.encoding import Batch
from sklearn_shag.network._tags import NetworkTagging, open_factors
from sklearn_shag.parsing import fit_together
from sklearn_shag.treebank import DependencyTree, read_conllu, with_tags, write_conllu
from tests.estimators import assert_same_model, same


def small(tags="upos", columns=("form", "suffix"), **parameters):
    """A tagger that is trained in a moment."""
    settings = {"hidden_layer_sizes": [8], "max_iter": 2, "random_state": 0, "cv": 2}
    return Tagger(tags, columns, **(settings | parameters))


def bare(trees):
    """The same sentences without anything but forms."""
    return [DependencyTree(tree.forms) for tree in trees]


@pytest.fixture(scope="module")
def fitted(english):
    settings = {"batch_size": 100, "max_iter": 6, "learning_rate_init": 0.02}
    columns = ("form", "prefix", "suffix", "shape", "letters")
    return small(columns=columns, hidden_layer_sizes=[32], **settings).fit(english[:150])


# What is learned


def test_tags_of_text_without_any(fitted, english):
    test = english[300:]
    tags = fitted.predict_tags(bare(test))
    right = [np.array(tree.upos) == of_tree for tree, of_tree in zip(test, tags, strict=True)]
    assert np.concatenate(right).mean() == fitted.score(test) > 0.8
    assert fitted.tags_.tolist() == sorted({tag for tree in english[:150] for tag in tree.upos})
    assert fitted.loss_curve_[-1] < 0.1 * fitted.loss_curve_[0]
    assert fitted.n_iter_ == len(fitted.loss_curve_) == 6


def test_the_loss_is_that_of_tags(trees):
    """Before the first step all tags are about as probable: their logarithm, for each token."""
    still = small(max_iter=1, dropout=0.0, learning_rate_init=1e-12).fit(trees)
    n_tokens = np.mean([len(tree) for tree in trees])
    assert_allclose(still.loss_curve_[0], n_tokens * np.log(still.tags_.size), rtol=0.1)


def test_no_other_tags_are_read(trees, fitted):
    """Neither of training sentences nor of others; and heads are not needed."""
    odd = [
        DependencyTree(tree.forms, upos=tree.upos, xpos=["X"] * len(tree), symbols=tree.forms)
        for tree in trees
    ]
    one, alone = small().fit(trees), small().fit(odd)
    assert alone.tag_factors_ == {}  # only parsers, which know relations, use them
    alone.tag_factors_ = one.tag_factors_
    assert_same_model(one, alone)
    assert same(fitted.predict_tags(odd), fitted.predict_tags(trees))
    xpos = small("xpos").fit(trees)
    assert xpos.tags_.tolist() == sorted({tag for tree in trees for tag in tree.xpos})


def test_tags_that_are_not_known(trees):
    """They teach nothing, and are not scored; sentences without any drop out."""
    n = len(trees[0])
    half = DependencyTree(trees[0].forms, upos=["_", *trees[0].upos[1:]])
    empty = DependencyTree(["Unheard"] * 3, upos=["_"] * 3)
    one = small(min_count=1).fit([half, *trees[1:], empty, DependencyTree(["Unheard"])])
    assert "_" not in one.tags_
    assert "unheard" not in one.vocabulary_["form"]
    assert_same_model(one, small(min_count=1).fit([half, *trees[1:]]))
    right = one.predict_tags([trees[0]])[0] == np.array(trees[0].upos)
    assert one.score([half]) == right[1:].mean()
    assert one.score([trees[0]]) == right.sum() / n


def test_weights(trees):
    """Zero changes nothing, others do."""
    one = small().fit(trees)
    odd = DependencyTree(["Unheard"] * 3, upos=["X"] * 3)
    assert_same_model(one, small().fit([odd, *trees], sample_weight=[0] + [1] * len(trees)))
    weights = np.arange(len(trees)) % 3 + 1
    assert not np.array_equal(
        one.weights_.values, small().fit(trees, sample_weight=weights).weights_.values
    )


def test_every_parameter_counts(trees):
    cases = [
        {"tags": "xpos"},
        {"columns": ["form"]},
        {"hidden_layer_sizes": [4, 4]},
        {"dropout": 0.5},
        {"batch_size": 50},
        {"max_iter": 3},
        {"learning_rate_init": 1e-3},
        {"alpha": 1.0},
        {"min_count": 4},
        {"augment": False},
        {"random_state": 1},
    ]
    first = small().fit(trees).weights_.values
    others = [small(**change).fit(trees).weights_.values for change in cases]
    assert not [c for c, other in zip(cases, others, strict=True) if np.array_equal(first, other)]


# What comes out


def test_tags_go_into_their_column_whatever_is_set_since(trees):
    tagger = small().fit(trees)
    expected = tagger.transform(trees), tagger.score(trees)
    for tags in ("xpos", None):
        tagger.set_params(tags=tags)
        assert (tagger.transform(trees), tagger.score(trees)) == expected


def test_plain_tokens_are_words(fitted, english):
    forms = [list(tree.forms) for tree in english[300:310]]
    assert fitted.transform(forms) == fitted.transform(bare(english[300:310]))


def test_symbols_of_copies_are_tags(fitted, english):
    tree = english[310].with_symbols(["odd"] * len(english[310]))
    (tagged,) = fitted.transform([tree])
    assert tagged.symbols == tagged.upos == tuple(fitted.predict_tags([tree])[0])
    assert tree.symbols == ("odd",) * len(tree)  # that of the caller stays as it is


def test_symbols_are_predicted_tags_where_they_were_those_tags():
    """Or the forms, as long as there were no tags."""
    plain, known = DependencyTree(["a", "b"]), DependencyTree(["a", "b"], upos=["X", "Y"])
    for tree, symbols, expected in (
        (plain, "ab", "NV"),
        (plain, "Aa", "Aa"),
        (known, "XY", "NV"),
        (known, "ab", "ab"),
        (known, "Zz", "Zz"),
    ):
        tagged = with_tags(tree.with_symbols(list(symbols)), {"upos": ["N", "V"]})
        assert tagged.upos == ("N", "V")
        assert tagged.symbols == tuple(expected)


LINES = """\
# sent_id = a
1-2\tIsn't\t_\t_\t_\t_\t_\t_\t_\t_
1\tIs\tbe\tAUX\tVBZ\tMood=Ind\t3\tcop\t3:cop\t_
2\tn't\tnot\t_\tRB\t_\t3\tadvmod\t_\tSpaceAfter=No
2.1\tgone\t_\tVERB\tVBN\t_\t_\t_\t_\t_
3\tgood\tgood\tADJ\tJJ\tDegree=Pos\t0\troot\t_\t_

"""


def combine(trees, columns=("xpos", "upos", "feats")):
    """The combinations of the tags of tokens."""
    return list(zip(*(chain(*(getattr(t, c) for t in trees)) for c in columns), strict=True))


def test_combinations_are_those_of_training(trees):
    tagger = small(("xpos", "lemma", "upos", "feats"), max_iter=1).fit(trees)
    assert list(map(tuple, tagger.tag_combinations_)) == sorted(set(combine(trees)))
    assert small(("lemma", "upos"), max_iter=1).fit(trees).tag_combinations_ == []


def test_relations_tell_tags_apart(trees, english):
    """Values of a parser are the best of probability and of how they go with the relation.

    The probability of the first column is the geometric mean of those of the parser and its tagger.
    """
    settings = {"hidden_layer_sizes": [8], "max_iter": 4, "calibrate": False, "random_state": 0}
    model, text = BiaffineParser(tags=("feats", "upos"), **settings).fit(trees), english[100:160]
    tagger, n_changed = model.tagger_, 0
    tagger.tag_combinations_ = []
    relations, n = list(chain(*(tree.deprels for tree in trees))), sum(map(len, trees))
    indptr, parsed = np.cumsum([0, *map(len, text)]), model.parse(text)
    assert list(tagger.tag_factors_) == sorted(set(relations))
    tables = np.split(np.array([*tagger.tag_factors_.values()]), [len(tagger.tags_)], axis=1)
    found = NetworkTagging(tagger, Batch(None, indptr, text)).proba()
    alone = copy(model)
    alone.tagger_ = None
    assert alone.tag_values_["feats"] == tagger.tag_values_["feats"]
    (own,) = alone._score(alone._batch(text)).tagging.proba()
    mean = np.sqrt(own * found[0])
    found[0] = mean / mean.sum(axis=1, keepdims=True)
    mixed, _ = model._score(model._batch(text)).tagging.proba()
    assert_allclose(mixed, found[0], rtol=1e-4)
    of_tokens = np.searchsorted(sorted(set(relations)), list(chain(*(t.deprels for t in parsed))))
    for name, table, proba in zip(("feats", "upos"), tables, found, strict=True):
        values, column = tagger.tag_values_[name], chain(*(getattr(tree, name) for tree in trees))
        counts = contingency_matrix(relations, list(column))
        expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / n
        assert_allclose(table, 0.3 * np.log((counts + 0.5) / (expected + 0.5)), atol=6e-4)
        best = (np.log(proba) + table[of_tokens]).argmax(axis=1)
        n_changed += np.count_nonzero(best != proba.argmax(axis=1))
        given = [value for tree in parsed for value in getattr(tree, name)]
        assert given == [values[k] for k in best]
        assert np.concatenate(model.predict_tags(text, name)).tolist() == given
    assert n_changed > 10
    known, more = {"upos": np.array(["B", "D"])}, {"upos": np.array(["A", "B", "C", "D"])}
    (table,) = open_factors({"nsubj": [1, 2]}, known).place(known, more).tables
    assert table.tolist() == [[0, 1, 0, 2], [0, 0, 0, 0]]


def test_combinations_behind_the_last_known_one():
    codes = np.array([[1, 1], [0, 0], [0, 1]])
    fit_together(codes, [np.zeros((3, 2))] * 2, {0: np.array([0]), 1: np.array([0])})
    assert not codes.any()


def test_files_keep_all_but_tags(trees):
    tagger, (tree,) = small("xpos").fit(trees), read_conllu(io.StringIO(LINES))
    written = io.StringIO()
    write_conllu(tagger.transform([tree]), written)
    before, after = (
        [line.split("\t") for line in text.split("\n")] for text in (LINES, written.getvalue())
    )
    tags = [row.pop(4) for row in after if row[0].isdigit()]
    assert tags == tagger.predict_tags([tree])[0].tolist()
    assert tags != [row.pop(4) for row in before if row[0].isdigit()]
    assert after == before


def test_a_sentence_alone_is_as_in_a_text(fitted, english):
    tagger = pickle.loads(pickle.dumps(fitted)).set_params(n_jobs=2)
    together = tagger.transform(english[300:340])
    assert [tagger.transform([tree])[0] for tree in english[300:340]] == together


# Cross-fitting


@pytest.mark.parametrize(("max_iter", "passes"), [(2, 2), ("auto", 3)])
def test_folds_are_tagged_by_others(trees, monkeypatch, max_iter, passes):
    """As by hand, with the folds of a splitter, by default in half as many passes."""
    choose = Tagger._choose_schedule
    of_auto = {"max_iter": 5}
    monkeypatch.setattr(
        Tagger,
        "_choose_schedule",
        lambda self, n: choose(self, n) | (of_auto if self.max_iter == "auto" else {}),
    )
    folds = KFold(3, shuffle=True, random_state=1)
    tagger = small(cv=folds, random_state=5, max_iter=max_iter)
    found = tagger.fit_transform(trees)
    seeds = np.random.RandomState(5).randint(2**31, size=3)
    for (train, test), seed in zip(folds.split(trees), seeds, strict=True):
        other = small(random_state=seed, max_iter=passes).fit([trees[s] for s in train])
        assert [found[s] for s in test] == other.transform([trees[s] for s in test])
    assert_same_model(tagger, small(random_state=5, max_iter=max_iter).fit(trees))
    assert found != tagger.transform(trees)


def test_folds_of_an_int_are_drawn(trees):
    """Neighbours are of one document."""
    with mock.patch("sklearn.model_selection.KFold", wraps=KFold) as made:
        one = small(cv=3).fit_transform(trees)
        assert one == small(cv=3, n_jobs=2).fit_transform(trees)
        small(cv=3, random_state=1).fit_transform(trees)
    first, again, other = (KFold(*call.args, **call.kwargs) for call in made.call_args_list)
    assert (first.n_splits, first.shuffle) == (3, True)
    assert first.random_state == again.random_state != other.random_state


def test_folds_may_come_from_a_generator_and_vectors_are_not_copied(trees):
    class Vectors(dict):
        def __deepcopy__(self, memo):
            raise AssertionError("copied")

    folds, vectors = list(KFold(2).split(trees)), Vectors(the=[1.0, 2.0])
    found = small(cv=iter(folds), embeddings=vectors).fit_transform(trees)
    assert found == small(cv=folds, embeddings=dict(vectors)).fit_transform(trees)


def test_a_tag_of_one_fold_alone_is_not_learned_there(trees):
    """Each sentence has a tag of its own, which only its own fold knows."""
    own = [
        DependencyTree(tree.forms, upos=[f"T{k % 4}"] * len(tree)) for k, tree in enumerate(trees)
    ]
    fold_of = np.arange(len(trees)) % 4
    folds = [(np.flatnonzero(fold_of != k), np.flatnonzero(fold_of == k)) for k in range(4)]
    for k, tree in enumerate(small(cv=folds).fit_transform(own)):
        assert f"T{k % 4}" not in tree.upos


def test_weights_go_to_the_folds(trees):
    weights = np.arange(len(trees)) % 2
    tagger = small(cv=KFold(2), min_count=1)
    odd = [
        DependencyTree(["Unheard"], upos=["ODD"]) if k % 2 == 0 else t for k, t in enumerate(trees)
    ]
    found = tagger.fit_transform(odd, sample_weight=weights)
    assert not any("ODD" in tree.upos for tree in found)
