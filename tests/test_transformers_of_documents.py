"""Transformers of documents: counts by brute force, and the tools of scikit-learn."""

import os
import pickle
import shutil
from collections import Counter
from itertools import combinations, pairwise

import networkx
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline

from sklearn_shag import (
    DependencyVectorizer,
    DeterministicSHAG,
    SyntaxStatistics,
    TextParser,
    make_parser_pipeline,
    save_model,
)
from sklearn_shag.datasets import find_model
from sklearn_shag.treebank import DependencyTree

TEXTS = [
    "Dogs chase cats. It rains.",
    "",
    "The cat was seen by a dog.",
    "I slept.",
    "Cats purr.",
] * 3
LABELS = [0, 1, 0, 1, 1] * 3


def rows_of(tree):
    """Position, names by column, head and relation of each word, from the text of its file."""
    lines = [line.split("\t") for line in tree.to_conllu().split("\n")]
    return {int(c[0]): c for c in lines if c[0].isdecimal()}


def brute_force(tree, kind, column, max_length=3):
    rows = rows_of(tree)
    name = {0: "ROOT"} | {k: row[column] for k, row in rows.items()}
    if kind == "words":
        return Counter(name[k] for k in rows)
    if kind == "relations":
        return Counter(f"-{row[7]}->" for row in rows.values())
    arrows = {}
    for k, row in rows.items():
        arrows[int(row[6]), k], arrows[k, int(row[6])] = f" -{row[7]}-> ", f" <-{row[7]}- "
    content = [k for k, r in rows.items() if r[3] in ("NOUN", "PROPN", "VERB", "ADJ", "ADV", "NUM")]
    ends = {
        "arcs": [(int(row[6]), k) for k, row in rows.items()],
        "root": [(0, k) for k in rows],
        "content": combinations(content, 2),
    }
    graph, found = networkx.Graph(list(arrows)), Counter()
    for one, other in ends[kind]:
        path = networkx.shortest_path(graph, one, other)
        steps = "".join(f"{arrows[step]}{name[step[1]]}" for step in pairwise(path))
        found[name[one] + steps] += len(path) - 1 <= max_length
    return +found


@pytest.mark.parametrize(("nodes", "column"), [("upos", 3), ("lemma", 2), ("form", 1)])
@pytest.mark.parametrize("kind", ["arcs", "relations", "words", "root", "content"])
def test_counts_are_those_of_brute_force(english, kind, nodes, column):
    trees = english[:60]
    paths = {"kind": "paths", "paths": kind} if kind in ("root", "content") else {"kind": kind}
    vectorizer = DependencyVectorizer(nodes=nodes, **paths)
    counts, names = vectorizer.fit_transform(trees), vectorizer.get_feature_names_out()
    for row, tree in zip(counts.toarray(), trees, strict=True):
        assert {n: c for n, c in zip(names, row, strict=True) if c} == brute_force(
            tree, kind, column
        )


def test_names_of_words(english):
    pair = DependencyVectorizer("words", nodes=("upos", "lemma")).fit(english[:20])
    made = DependencyVectorizer("words", nodes=lambda t: f"{t.upos}|{t.lemma}").fit(english[:20])
    assert pair.vocabulary_ == made.vocabulary_


def test_options_are_those_of_the_vectorizer_of_words(english):
    full = DependencyVectorizer("relations").fit(english)
    few = DependencyVectorizer("relations", min_df=10, max_df=0.5, binary=True, dtype=np.float32)
    counts = few.fit_transform(english)
    assert (counts.dtype, counts.max()) == (np.float32, 1)
    assert set(few.vocabulary_) < set(full.vocabulary_)
    assert len(DependencyVectorizer("arcs", max_features=5).fit(english).vocabulary_) == 5
    fixed = DependencyVectorizer(vocabulary=["VERB -obj-> NOUN"]).fit(english)
    assert fixed.transform(english).shape == (len(english), 1)


def test_dense_counts_are_those_of_sparse_ones(english):
    sparse = DependencyVectorizer(["arcs", "words"]).fit(english[:30])
    dense = clone(sparse).set_params(sparse_output=False).fit(english[:30])
    assert (dense.transform(english[:40]) == sparse.transform(english[:40])).all()
    with pytest.raises(ValueError, match="sparse matrix"):
        sparse.set_output(transform="pandas").transform(english[:1])


def test_documents_are_sums_of_trees(english):
    """Whatever their order, and however they are given."""
    vectorizer = DependencyVectorizer(["arcs", "paths", "words"]).fit(english[:50])
    single = vectorizer.transform(english[:50]).toarray()
    documents = [english[:20], tuple(english[20:21]), [], iter(english[21:50])]
    sums = [single[:20].sum(axis=0), single[20], 0 * single[0], single[21:].sum(axis=0)]
    backwards = iter(english[49::-1])
    for X, expected in ((documents, sums), (backwards, single[::-1])):
        np.testing.assert_array_equal(vectorizer.transform(X).toarray(), expected)
    assert clone(vectorizer).fit(english[49::-1]).vocabulary_ == vectorizer.vocabulary_
    parts = [vectorizer.transform(english[k : min(k + 7, 50)]).toarray() for k in range(0, 50, 7)]
    np.testing.assert_array_equal(np.concatenate(parts), single)


def test_partial_trees_have_the_arcs_that_are_known():
    tree = DependencyTree(["a", "b", "c"], [2, -1, 2], upos=["X", "VERB", "X"], deprels=list("pqr"))
    vectorizer = DependencyVectorizer(["arcs", "relations", "paths"]).fit([tree])
    assert set(vectorizer.vocabulary_) == {"VERB -p-> X", "VERB -r-> X", "-p->", "-r->"}


# Five trees, and their statistics by hand.
ROWS = {
    # The old dog was seen . It barked .   (one passive; amod of a noun)
    "The old dog was seen .": "DET:3:det ADJ:3:amod NOUN:5:nsubj:pass AUX:5:aux:pass VERB:0:root "
    "PUNCT:5:punct",
    # I know that he sleeps and she knows him
    "I know that he sleeps .": "PRON:2:nsubj VERB:0:root SCONJ:5:mark PRON:5:nsubj VERB:2:ccomp "
    "PUNCT:2:punct",
    "He came and he saw": "PRON:2:nsubj VERB:0:root CCONJ:5:cc PRON:5:nsubj VERB:2:conj",
    "Cats and dogs": "NOUN:0:root CCONJ:3:cc NOUN:1:conj",
    "!": "PUNCT:0:root",
}
BY_HAND = {
    # depth of the deepest token; words; sum of distances and left arcs of words but roots
    "sentences": [1, 1, 1, 1, 1],
    "tokens": [6, 6, 5, 3, 1],
    "sentence_length": [5, 5, 5, 3, 0],
    "depth": [3, 3, 3, 3, 1],
    "dependency_length": [(2 + 1 + 2 + 1) / 4, (1 + 2 + 1 + 3) / 4, (1 + 2 + 1 + 3) / 4, 3 / 2, 0],
    "left_arcs": [1, 3 / 4, 3 / 4, 1 / 2, 0],
    "clauses": [1, 2, 2, 1, 1],
    "subordination": [0, 1 / 2, 0, 0, 0],
    "passives": [1, 0, 0, 0, 0],
    "modifiers_per_noun": [1, 0, 0, 0, 0],
    "type_token_ratio": [1, 1, 4 / 5, 1, 0],
    "upos_VERB": [1 / 6, 2 / 6, 2 / 5, 0, 0],
    "upos_PUNCT": [1 / 6, 1 / 6, 0, 0, 1],
    "upos_NOUN": [1 / 6, 0, 0, 2 / 3, 0],
}


def by_hand():
    for text, cells in ROWS.items():
        rows = [cell.split(":", 2) for cell in cells.split()]
        upos, heads, deprels = zip(*rows, strict=True)
        yield DependencyTree(text.split(), list(map(int, heads)), upos=upos, deprels=deprels)


def test_statistics_are_those_computed_by_hand():
    trees = list(by_hand())
    statistics = SyntaxStatistics()
    names, table = statistics.get_feature_names_out().tolist(), statistics.fit_transform(trees)
    assert table.shape == (5, 28)
    columns = [table[:, names.index(name)] for name in BY_HAND]
    np.testing.assert_allclose(columns, list(BY_HAND.values()))
    np.testing.assert_allclose(table[:, 11:].sum(axis=1), 1)
    whole = dict(zip(names, statistics.transform([trees])[0], strict=True))
    assert whole == whole | {
        "sentences": 5,
        "tokens": 21,
        "clauses": 7 / 5,
        "subordination": 1 / 7,
        "passives": 1 / 7,
        "modifiers_per_noun": 1 / 3,
        # the old dog was seen i know that he sleeps came and saw cats dogs: 15 of 18
        "type_token_ratio": 15 / 18,
        "dependency_length": (6 + 7 + 7 + 3) / 14,
    }
    assert not statistics.transform([[]]).any()


def test_conjuncts_of_clauses_are_clauses(english):
    """Counted by recursion, from the lines of files."""

    def heads_clause(rows, k):
        relation, head = rows[k][7].split(":")[0], int(rows[k][6])
        if relation in ("csubj", "ccomp", "xcomp", "advcl", "acl", "parataxis") or not head:
            return True
        return relation == "conj" and rows[k][3] in ("VERB", "AUX") and heads_clause(rows, head)

    rows = [rows_of(tree) for tree in english]
    found = sum(heads_clause(each, k) for each in rows for k in each)
    table = SyntaxStatistics().set_output(transform="pandas").fit_transform([english])
    assert table["clauses"][0] * table["sentences"][0] == pytest.approx(found)


@pytest.fixture(scope="module")
def parsed():
    return TextParser().fit_transform(TEXTS)


def test_texts_keep_their_places(parsed, bundled, tmp_path):
    assert (parsed.dtype, parsed.shape) == (object, (len(TEXTS),))
    assert [len(trees) for trees in parsed[:5]] == [2, 0, 1, 1, 1]
    shutil.copy(find_model("english"), tmp_path / "m.npz")
    for parser in (bundled, tmp_path / "m.npz", str(tmp_path / "m.npz")):
        assert TextParser(parser).transform(iter(TEXTS)).tolist() == parsed.tolist()


def test_a_model_file_that_has_changed_is_read_again(tmp_path, bundled):
    path = tmp_path / "m.npz"
    parser, grammar = TextParser(str(path)), DeterministicSHAG("single")
    for k, heads in enumerate(([2, 0, 2, 2], [0, 1, 2, 3]), start=1):
        grammar.fit([["The", "cat", "sat", "."]], [heads])
        save_model(make_parser_pipeline(bundled[0], grammar), path)
        assert parser.transform(["The cat sat."])[0][0].heads.tolist() == heads
        os.utime(path, ns=(1, k))


def test_tools_of_scikit_learn(tmp_path):
    union = FeatureUnion(
        [("arcs", DependencyVectorizer()), ("words", DependencyVectorizer("words", nodes="lemma"))]
    )
    pipeline = make_pipeline(TextParser(), union, LogisticRegression(), memory=str(tmp_path))
    expected = clone(pipeline).fit(TEXTS, LABELS).predict(TEXTS)
    assert (pipeline.fit(TEXTS, LABELS).predict(TEXTS) == expected).all()  # from the cache
    grid = {"featureunion__words__nodes": ["form", "lemma"]}
    search = GridSearchCV(pipeline, grid, cv=3, n_jobs=2, error_score="raise")
    search.fit(TEXTS, LABELS)
    assert len(search.cv_results_["mean_test_score"]) == 2


@pytest.mark.parametrize("gap", [None, np.nan, "NA"])
def test_missing_texts_are_empty_or_named_by_their_row(parsed, gap):
    pd = pytest.importorskip("pandas")
    texts = [*TEXTS[:5], pd.NA if gap == "NA" else gap]
    series = pd.Series(texts, index=list("fedcba"), dtype=object)
    filled = TextParser(missing="empty")
    for X in (texts, series, series.astype("string"), iter(texts)):
        assert filled.fit_transform(X).tolist() == [*parsed[:5], []]
    for X in (series, series[::-1]):
        row = X.index.get_loc("a")
        with pytest.raises(ValueError, match=rf'Row {row} of X.*fillna\(""\).*missing="empty"'):
            TextParser().fit_transform(X)
    assert TextParser().fit_transform(series.fillna("")).tolist() == [*parsed[:5], []]
    with pytest.warns(UserWarning, match="id 5 is refused"):
        assert TextParser(on_error="skip").fit_transform(series)[5] == []


def test_a_search_takes_frozen_parsers(bundled):
    model = make_pipeline(TextParser(), DependencyVectorizer(), LogisticRegression())
    grid = {"textparser__parser": ["english", FrozenEstimator(bundled)]}
    search = GridSearchCV(model, grid, cv=3, error_score="raise").fit(TEXTS, LABELS)
    assert len(set(search.cv_results_["mean_test_score"])) == 1


def test_a_pickle_holds_the_name_of_the_parser(parsed):
    parser = TextParser().fit(TEXTS)
    parser.transform(TEXTS[:1])
    content = pickle.dumps(parser)
    assert len(content) < 500
    assert pickle.loads(content).transform(TEXTS).tolist() == parsed.tolist()


def test_fitted_parsers_stay_fitted_in_copies(bundled, parsed):
    step = TextParser(bundled, lines=True)
    copied = clone(step).set_params(lines=False)
    assert copied.parser is bundled
    assert step.lines
    restored = pickle.loads(pickle.dumps(copied))
    assert clone(restored).transform(TEXTS).tolist() == parsed.tolist()


def test_inverse_transform_lists_the_features_of_each_document(english):
    vectorizer = DependencyVectorizer("words", nodes="lemma").fit(english[:30])
    documents = [english[:2], [], english[29]]
    expected = [{w for t in trees for w in t.lemmas} for trees in (english[:2], [], english[29:30])]
    counts = vectorizer.transform(documents)
    for X in (counts, counts.toarray()):
        assert list(map(set, vectorizer.inverse_transform(X))) == expected


def test_processes_change_nothing(parsed):
    assert TextParser(n_jobs=2).fit_transform(TEXTS).tolist() == parsed.tolist()
