"""Several answers: trees that are drawn, the k best, how probable trees are, relations that fit."""

from collections import Counter
from unittest import mock

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from sklearn_shag import AveragedParser, BiaffineParser, CRFParser, DeterministicSHAG
from sklearn_shag.inspection import ArcCalibrationDisplay, least_certain_sentences
from sklearn_shag.network import _biaffine, _tags
from sklearn_shag.operators import Operators
from sklearn_shag.parsing import _forest
from sklearn_shag.parsing._forest import keep_apart
from sklearn_shag.treebank import DependencyTree, allowed_arcs
from tests import oracles
from tests.estimators import ESTIMATORS, same, uncorrected
from tests.loops import over
from tests.oracles import chi_square

# One of each kind that has a distribution over trees.
KINDS = ["first", "sibling", "EM from random", "refined", "product", "deterministic product"]
KINDS += ["CRF", "network", "lexicalized", "average of both"]
N_TRAINING = 130
EXACT = {"first", "sibling", "deterministic product", "CRF", "network", "lexicalized"}


@pytest.fixture(scope="module", params=KINDS)
def parser(request, english):
    if request.param == "average of both":
        members = [("CRF", ESTIMATORS["CRF"]), ("EM", ESTIMATORS["EM from moments"])]
        estimator = AveragedParser(members, weights=[1, 2], calibrate=False)
    else:
        estimator = clone(ESTIMATORS[request.param])
    fitted = estimator.fit(english[:N_TRAINING])
    fitted.kind = request.param
    return fitted


@pytest.fixture(scope="module")
def short(parser, english):
    """Sentences of up to five tokens that the parser has mass for: it has learned from some."""
    trees = [tree for tree in english[:N_TRAINING] if len(tree) <= 5]
    columns = ("lemmas", "upos", "xpos", "feats", "symbols")
    for n in (1, 2):
        first = {name: getattr(trees[0], name)[:n] for name in columns}
        trees.append(DependencyTree(trees[0].forms[:n], **first))
    lengths, members = {}, parser.estimators_ if parser.kind.startswith("average") else [parser]
    for tree in trees:
        anything = [np.full(len(tree), -1)]
        if all(member.predict_tree_proba([tree], anything)[0] > 0 for member in members):
            lengths[len(tree)] = tree
    assert {4, 5} <= set(lengths)
    return [lengths[n] for n in sorted(lengths)]


@pytest.fixture(scope="module")
def crf(english):
    return CRFParser(["upos"], n_features=2**12, calibrate=False, random_state=0).fit(english[:200])


def enumerate_trees(parser, sentence, allowed=None):
    """All projective trees of a sentence, or those with allowed arcs, and their probabilities."""
    trees = oracles.projective_trees(len(sentence))
    if allowed is not None:
        rows = range(len(sentence))
        trees = [tree for tree in trees if allowed[rows, tree].all()]
    logs = parser.conditional_log_likelihood([sentence] * len(trees), trees)
    probabilities = np.exp(logs)
    if allowed is None:
        assert_allclose(probabilities.sum(), 1, rtol=1e-9)
    return trees, probabilities / probabilities.sum()


def test_samples_have_the_frequencies_of_enumeration(parser, short):
    samples = parser.sample_heads(short, 40_000, random_state=0)
    for sentence, drawn in zip(short, samples, strict=True):
        assert drawn.shape == (40_000, len(sentence))
        assert chi_square(drawn, *enumerate_trees(parser, sentence)) > 1e-4


def test_samples_of_allowed_arcs_have_the_frequencies_of_what_is_left(parser, short):
    sentences = short[-2:]
    heads = [parser.k_best_heads([tree], 3, random_state=0)[0][0][-1] for tree in sentences]
    allowed = allowed_arcs([np.where(np.arange(len(tree)) % 2, -1, tree) for tree in heads])
    samples = parser.sample_heads(sentences, 20_000, random_state=1, allowed=allowed)
    for sentence, drawn, arcs in zip(sentences, samples, allowed, strict=True):
        if parser.kind == "average of both":  # a mean of members, each given what is known
            assert arcs[np.arange(len(sentence)), drawn].all()
        else:
            assert chi_square(drawn, *enumerate_trees(parser, sentence, arcs)) > 1e-4


def test_samples_of_real_sentences_have_the_marginals_of_the_chart(parser, english):
    text = [tree for tree in english[:N_TRAINING] if 15 < len(tree) < 25][:2]
    parser = uncorrected(parser)  # corrected marginals are those of no distribution
    samples = parser.sample_heads(text, 5000, random_state=0)
    for marginals, drawn in zip(parser.predict_marginals(text), samples, strict=True):
        shares = np.stack([(drawn == h).mean(axis=0) for h in range(len(marginals) + 1)], axis=1)
        deviations = np.sqrt(np.maximum(marginals * (1 - marginals), 1e-3) / 5000)
        assert (np.abs(shares - marginals) < 5 * deviations).all()


@pytest.mark.filterwarnings("ignore::sklearn_shag.treebank.UnknownSymbolWarning")
def test_refinements_are_drawn_along_where_grammars_back_off(english):
    """Heads with modifiers that they were never seen with, and symbols that nobody knows."""
    model = clone(ESTIMATORS["refined"]).set_params(mixing=0.0).fit(english[:N_TRAINING])
    first = [tree.symbols for tree in english[:N_TRAINING]]
    seen = {(a, b) for symbols in first for a in symbols for b in symbols}
    known = sorted({symbol for symbols in first for symbol in symbols})
    pair = next((a, b) for a in known for b in known if (a, b) not in seen)
    text = [[*pair, "VERB", "?!?"], ["?!?", "NOUN", "VERB", *pair]]
    samples = model.sample_heads(text, 50_000, random_state=0)
    for sentence, drawn in zip(text, samples, strict=True):
        assert chi_square(drawn, *enumerate_trees(model, sentence)) > 1e-4


def test_sentences_without_mass_are_drawn_from_the_fallback_and_that_is_said(english):
    model = DeterministicSHAG(smoothing=1).fit(english[:60])
    text = [list(english[0].symbols[:4])]
    model.operators_ = Operators(*(part * 0.0 for part in model.operators_))
    with pytest.warns(UserWarning, match="1 of 1 sentences are drawn from the fallback grammar"):
        samples = model.sample_heads(text, 20_000, random_state=0)[0]
    fallback = clone(model).fit(english[:60])
    fallback.operators_ = fallback.fallback_operators_
    assert chi_square(samples, *enumerate_trees(fallback, text[0])) > 1e-4
    heads, logs = model.k_best_heads(text, 3)
    expected, expected_logs = fallback.k_best_heads(text, 3)
    assert_array_equal(heads[0], expected[0])
    assert_allclose(logs[0], expected_logs[0])
    model.fallback_operators_ = model.operators_  # nor has that any mass
    with pytest.warns(UserWarning, match="or uniformly"):
        samples = model.sample_heads(text, 20_000, random_state=0)[0]
    assert chi_square(samples, oracles.projective_trees(4), np.full(30, 1 / 30)) > 1e-4
    assert_allclose(model.k_best_heads(text, 100)[1][0], np.full(30, -np.log(30)))


def test_the_same_seed_draws_the_same_whatever_the_workers(english):
    model, text = clone(ESTIMATORS["EM from moments"]).fit(english[:60]), english[300:340]
    one, other = (model.sample_heads(text, 5, random_state=seed) for seed in (7, 8))
    assert same(model.set_params(n_jobs=2).sample_heads(text, 5, random_state=7), one)
    assert not same(other, one)


@over("scale", [1e-30, 1e30])
def test_values_far_from_one_are_scaled(scale, english):
    model = DeterministicSHAG(smoothing=1).fit(english[:60])
    text = [tree for tree in english[300:] if len(tree) > 20][:1]
    expected = model.sample_heads(text, 50, random_state=0)[0]
    alpha_1, alpha_inf, A = model.operators_
    model.operators_ = Operators(alpha_1, alpha_inf, A * scale)
    assert_array_equal(model.sample_heads(text, 50, random_state=0)[0], expected)


@over("n_jobs", [1, 2])
def test_what_leaves_the_range_in_several_chunks_is_counted_in_one_warning(n_jobs, english):
    model = DeterministicSHAG(smoothing=1, n_jobs=n_jobs).fit(english[:60])
    model.operators_ = model.operators_._replace(A=model.operators_.A * 1e38)
    with (
        mock.patch.object(_forest, "CHUNK_COST", 1e5),
        mock.patch.object(_forest, "CHUNK_COST_ALONE", 1e5),
        pytest.warns(UserWarning, match="leave the range of doubles") as caught,
    ):
        model.predict(english[:60])
    (message,) = (str(each.message) for each in caught)
    n_out = int(message.split()[2])
    assert 2 < n_out < 60
    assert message.startswith(f"Values of {n_out} of 60 sentences")


def test_the_k_best_are_those_of_sorted_enumeration(parser, short):
    for k in (1, 2, 7, 1000):
        all_heads, all_logs = parser.k_best_heads(short, k, n_samples=20_000, random_state=0)
        for sentence, heads, logs in zip(short, all_heads, all_logs, strict=True):
            trees, probabilities = enumerate_trees(parser, sentence)
            possible = np.sort(probabilities[probabilities > 0])[::-1]
            rows = list(map(tuple, heads.tolist()))
            assert len(set(rows)) == len(rows) <= k
            found = probabilities[[trees.index(row) for row in rows]]
            assert_allclose(np.exp(logs), found, rtol=1e-9)
            n_certain = np.count_nonzero(possible > 1e-3)  # of samples the others may be missing
            n = min(k, possible.size if parser.kind in EXACT else n_certain)
            assert_allclose(np.exp(logs[:n]), possible[:n], rtol=1e-9)
            assert len(rows) == n or parser.kind not in EXACT


def test_k_best_of_long_sentences_are_different_trees_with_their_probabilities(crf, english):
    text = sorted(english, key=len)[-3:]
    for sentence, heads, logs in zip(text, *crf.k_best_heads(text, 200), strict=True):
        assert heads.shape == (200, len(sentence))
        assert len(np.unique(heads, axis=0)) == 200
        assert all(oracles.is_tree(row) for row in heads.tolist())
        assert (np.diff(logs) <= 0).all()
        expected = crf.conditional_log_likelihood([sentence] * 200, list(heads))
        assert_allclose(logs, expected, rtol=1e-9)
        # None of those that were drawn is better than the last, but those that are listed.
        listed = set(map(tuple, heads.tolist()))
        drawn = np.unique(crf.sample_heads([sentence], 500, random_state=0)[0], axis=0)
        others = [row for row in drawn if tuple(row.tolist()) not in listed]
        its_logs = crf.conditional_log_likelihood([sentence] * len(others), others)
        assert max(its_logs) <= logs[-1] + 1e-9


def test_fewer_trees_than_k_are_all_of_them(crf, english):
    text = [next(tree for tree in english if len(tree) == 4)]
    allowed = allowed_arcs([[-1, 0, -1, -1]])
    heads, _ = crf.k_best_heads(text, 500, allowed=allowed)
    expected = [tree for tree in oracles.projective_trees(4) if tree[1] == 0]
    assert sorted(map(tuple, heads[0].tolist())) == sorted(expected)


def test_probabilities_of_trees(parser, short, english):
    sentence = short[-1]
    trees, probabilities = enumerate_trees(parser, sentence)
    assert_allclose(parser.predict_tree_proba([sentence] * len(trees), trees), probabilities)
    text = english[:5]
    heads = parser.predict(text)
    assert_array_equal(parser.predict_tree_proba(text), parser.predict_tree_proba(text, heads))
    logs = parser.conditional_log_likelihood(text, heads)
    assert_allclose(parser.predict_tree_proba(text, heads), np.exp(logs))


def test_probabilities_of_trees_among_those_that_are_allowed(crf, english):
    sentence = next(tree for tree in english if len(tree) == 4)
    known = [-1, 0, -1, -1]
    (allowed,) = allowed_arcs([known])
    trees, probabilities = enumerate_trees(crf, sentence, allowed)
    copies = [sentence] * len(trees)
    found = crf.predict_tree_proba(copies, trees, allowed=[allowed] * len(trees))
    assert_allclose(found, probabilities)
    share = crf.predict_tree_proba(copies[:1], [known])
    assert_allclose(crf.predict_tree_proba(copies, trees), probabilities * share)


class TestTrees:
    """What `parse` writes into trees is what the other methods say."""

    @pytest.fixture
    def text(self, parser, english):
        """Sentences that a parser has mass for."""
        found = english[300:320]
        has_mass = parser.predict_tree_proba(found, [np.full(len(tree), -1) for tree in found]) > 0
        return [tree for tree, has in zip(found, has_mass, strict=True) if has][:6]

    def test_are_the_best_ones(self, parser, text):
        trees = parser.parse(text, n_best=3, random_state=0)
        heads, logs = parser.k_best_heads(text, 3, random_state=0)
        assert [[tree.heads.tolist() for tree in found] for found in trees] == [
            rows.tolist() for rows in heads
        ]
        for found, of_sentence, original in zip(trees, logs, text, strict=True):
            for tree, log in zip(found, of_sentence, strict=True):
                assert f"# score = {min(log, 0):.4f}" in tree.comments
                assert tree.forms == original.forms
                if len(parser.labels_):
                    (labels,) = parser.predict_labels([original], [tree.heads])
                    assert list(tree.deprels) == labels.tolist()

    def test_are_random_ones(self, parser, text):
        trees = parser.parse(text, n_samples=4, random_state=7)
        samples = parser.sample_heads(text, 4, random_state=7)
        assert all(len(found) == 4 for found in trees)
        for found, rows, original in zip(trees, samples, text, strict=True):
            assert_array_equal([tree.heads for tree in found], rows)
            logs = parser.conditional_log_likelihood([original] * 4, list(rows))
            written = [float(tree.comments[-1].partition(" = ")[2]) for tree in found]
            assert_allclose(written, np.minimum(logs, 0), atol=6e-5)

    def test_have_their_probabilities(self, parser, text):
        trees, plain = parser.parse(text, confidence=True), parser.parse(text)
        assert trees == plain  # comments and MISC do not count
        logs, marginals = np.log(parser.predict_tree_proba(text)), parser.predict_marginals(text)
        for tree, log, of_sentence in zip(trees, logs, marginals, strict=True):
            assert f"# score = {log:.4f}" in tree.comments
            found = [float(cell.partition("Confidence=")[2][:6]) for cell in tree.misc]
            expected = of_sentence[np.arange(len(tree)), tree.heads]
            assert_allclose(found, expected, atol=6e-5)
        both = parser.parse(text, n_best=2, confidence=True, random_state=0)
        assert all("Confidence=" in tree.misc[0] for found in both for tree in found)

    def test_keep_the_heads_that_are_known(self, crf, english):
        known = [
            tree.with_heads([tree.heads[0], *[-1] * (len(tree) - 1)], ["kept"] * len(tree))
            for tree in english[:9]
        ]
        for tree, found in zip(known, crf.parse(known, keep_heads=True, n_best=4), strict=True):
            assert {(each.heads[0], each.deprels[0]) for each in found} == {(tree.heads[0], "kept")}

    def test_come_from_iterators_and_processes(self, english):
        parser = clone(ESTIMATORS["EM from moments"]).fit(english[:60])
        text = english[100:130]
        options = {"n_samples": 2, "confidence": True}
        with pytest.warns(UserWarning, match="drawn from the fallback grammar of this EMSHAG"):
            alone = list(parser.iter_parse(iter(text), chunk_size=7, random_state=3, **options))
        assert [len(found) for found in alone] == [2] * 30
        processes = parser.iter_parse(text, chunk_size=7, n_jobs=2, random_state=3, **options)
        with pytest.warns(UserWarning, match="drawn from the fallback grammar of this EMSHAG"):
            processes = list(processes)
        shown = [[[t.to_conllu() for t in found] for found in each] for each in (alone, processes)]
        assert shown[0] == shown[1]


class TestForest:
    """A chunk is scored once, whatever is asked."""

    def test_charts_run_once(self, crf, english):
        with mock.patch.object(_forest, "run_charts", wraps=_forest.run_charts) as run:
            forest = crf._forest(crf._batch(english[:5]))
            assert not run.called
            best, again = forest.best("mbr"), forest.best("max_marginal")
            assert forest.corrected.sum() > 0
            assert best.shape == again.shape
            assert run.call_count == 1
            rows = [heads[None] for heads in _forest.list_heads(forest.batch, best)]
            assert_array_equal(forest.log_proba(rows), forest.log_proba(rows))
            assert run.call_count == 4  # Z once, and the given trees twice

    def test_networks_read_once(self, english):
        model = BiaffineParser(
            ["form"],
            tags=("upos", "xpos", "lemma"),
            hidden_layer_sizes=[4],
            max_iter=1,
            random_state=0,
        ).fit(english[:40])
        text, read = [tree.with_heads(None) for tree in english[40:50]], _biaffine.read_sentences
        with (
            mock.patch.object(_biaffine, "read_sentences", wraps=read) as for_trees,
            mock.patch.object(_tags, "read_sentences", wraps=read) as for_columns,
        ):
            model.parse(text, n_best=5, confidence=True)
            assert (for_trees.call_count, for_columns.call_count) == (1, 1)
            model.predict(text)
            least_certain_sentences(model, text)
            assert (for_trees.call_count, for_columns.call_count) == (3, 1)


class TestUniqueRelations:
    GROUPS = (("nsubj", "csubj"), "obj")
    NUMBERS = {"nsubj": 0, "csubj": 0, "obj": 1}

    def count(self, trees):
        """The largest number of relations of one group at one head."""
        counts = Counter(
            (number, head, self.NUMBERS.get(name.partition(":")[0], name))
            for number, tree in enumerate(trees)
            for head, name in zip(tree.heads.tolist(), tree.deprels, strict=True)
        )
        return max((n for (*_, group), n in counts.items() if group in (0, 1)), default=0)

    @pytest.mark.parametrize("kind", ["CRF", "first"])
    def test_are_at_most_one_of_each_head(self, kind, english):
        model = clone(ESTIMATORS[kind]).fit(english[:150])
        free = model.parse(english[300:], unique_relations=())
        apart = model.parse(english[300:], unique_relations=self.GROUPS)
        assert self.count(free) > 1 == self.count(apart)
        for one, other in zip(free, apart, strict=True):
            assert_array_equal(one.heads, other.heads)
            if self.count([one]) <= 1:
                assert one.deprels == other.deprels
        heads = [tree.heads for tree in apart]
        labels = model.predict_labels(english[300:], heads, unique_relations=self.GROUPS)
        assert [tuple(row) for row in labels] == [tree.deprels for tree in apart]

    def test_are_the_most_probable_that_fit(self, crf, english):
        """By enumeration of all labels of the arcs of a head."""
        text = english[300:330]
        trees = crf.parse(text, unique_relations=self.GROUPS)
        free = crf.parse(text, unique_relations=())
        probabilities = crf.predict_label_proba(text, [tree.heads for tree in trees])
        probabilities = [np.maximum(rows, 1e-300) for rows in probabilities]
        names = crf.labels_.tolist()
        checked = 0
        for tree, other, rows in zip(trees, free, probabilities, strict=True):
            for head in set(tree.heads.tolist()):
                tokens = np.flatnonzero(tree.heads == head)
                if len(tokens) > 3 or all(tree.deprels[m] == other.deprels[m] for m in tokens):
                    continue
                found = sum(np.log(rows[m, names.index(tree.deprels[m])]) for m in tokens)
                assert_allclose(found, self.best(rows[tokens], names), rtol=1e-9)
                checked += 1
        assert checked

    @over("seed", range(20))
    def test_assignments_are_the_best_of_all(self, seed):
        rng = np.random.default_rng(seed)
        names = ["nsubj", "nsubj:pass", "obj", "obl", "det"]
        groups = np.array([0, 0, 1, -1, -1])
        indptr = np.array([0, 1, 4])
        heads, rows = np.array([0, 0, 1, 1]), rng.dirichlet(np.full(5, 0.3), 4)
        labels = rows.argmax(axis=1)
        keep_apart(indptr, heads, labels, rows.__getitem__, groups)
        assert labels[0] == rows[0].argmax()
        for tokens in ([1], [2, 3]):
            found = np.log(rows[tokens, labels[tokens]]).sum()
            assert_allclose(found, self.best(rows[tokens], names), rtol=1e-9)

    def best(self, rows, names):
        groups = np.array([self.NUMBERS.get(name.partition(":")[0], 2) for name in names])
        choices = np.array(list(np.ndindex(*[len(names)] * len(rows))))
        logs = np.log(rows)[np.arange(len(rows)), choices].sum(axis=1)
        fit = [max(np.bincount(own, minlength=3)[:2]) <= 1 for own in groups[choices]]
        return logs[fit].max()


def test_reliability_of_whole_trees(crf, english):
    pytest.importorskip("matplotlib").use("agg")
    text = [tree for tree in english[200:] if len(tree) < 15]
    display = ArcCalibrationDisplay.from_estimator(crf, text, unit="trees", n_bins=3)
    heads = crf.predict(text)
    right = [np.array_equal(tree.heads, found) for tree, found in zip(text, heads, strict=True)]
    assert_allclose(
        np.average(display.bins.accuracies, weights=display.bins.counts), np.mean(right)
    )
    expected = crf.predict_tree_proba(text, heads).mean()
    assert_allclose(np.average(display.bins.confidences, weights=display.bins.counts), expected)
    assert display.ax_.get_ylabel() == "share of right trees"
    marginals = crf.predict_marginals(text)
    display = ArcCalibrationDisplay.from_predictions(text, marginals, strategy="quantile")
    assert display.bins.counts.sum() == sum(map(len, text))
