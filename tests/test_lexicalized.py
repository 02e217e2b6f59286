"""Words with tags: back-off as by Collins, as factors of the chart."""

import tracemalloc
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_shag import LexicalizedSHAG
from sklearn_shag.lexical._potentials import WordDistributions
from sklearn_shag.lexical._statistics import back_off_words
from sklearn_shag.treebank import DependencyTree, TokenFeature
from tests import oracles
from tests.collins import ROOT, UNKNOWN, Collins
from tests.loops import compiled, over
from tests.oracles import LEFT, RIGHT

AUTOMATA = {"single": 1, "first": 2, "fcp": 4}

pytestmark = pytest.mark.filterwarnings("ignore::sklearn_shag.treebank.UnknownSymbolWarning")


def tree(text, heads=None):
    """A tree of words with tags, written as "the/DET dog/NOUN"."""
    words, tags = zip(*(token.split("/") for token in text.split()), strict=True)
    return DependencyTree(words, heads, upos=tags)


def factors_of(model, trees):
    """The memory of each sentence, as its oracle has it: class, arcs, stops."""
    potentials = model._score(model._batch(trees)).potentials
    arrays = {n: getattr(potentials, n) for n in ("memory", "arc_memory", "stop_memory")}
    return [oracles.of_sentence(arrays, potentials.indptr, s) for s in range(len(trees))]


def assert_factors(model, oracle, trees):
    """Assert that all factors that a tree can use are those of the oracle."""
    n_classes = AUTOMATA[model.automaton]
    for sentence, found in zip(trees, factors_of(model, trees), strict=True):
        tokens, n = oracle.tokens(sentence), len(sentence)
        assert found["memory"].tolist() == [oracle.class_of(tag) for tag, _ in tokens[1:]]
        arcs, stops = np.zeros((n, n + 1, n_classes)), np.empty((n, 2, n_classes))
        for (m, h), state in product(np.ndindex(n, n + 1), range(n_classes)):
            if m + 1 != h and (h > 0 or state == 0):
                side = LEFT if m + 1 < h else RIGHT
                arcs[m, h, state] = oracle.probability(tokens[m + 1], tokens[h], side, state)
        for h, side, state in np.ndindex(n, 2, n_classes):
            stops[h, side, state] = oracle.stop(tokens[h + 1], side, state)
        # No token is its own head, and the root symbol takes one modifier, its first.
        found["arc_memory"][np.arange(n), np.arange(1, n + 1)] = 0.0
        found["arc_memory"][:, 0, 1:] = 0.0
        assert found["arc_memory"].shape == arcs.shape
        assert_allclose(found["arc_memory"], arcs, rtol=1e-12)
        assert_allclose(found["stop_memory"], stops, rtol=1e-12)


# By hand

DOGS = [
    tree("the/D dog/N barks/V", [2, 3, 0]),
    tree("a/D dog/N sees/V the/D cat/N", [2, 3, 0, 5, 3]),
]
# On the left of dog/N: the/D once, a/D once, STOP twice: f = 4, u = 2. On that of any N, with the
# cat: the/D twice, a/D once, STOP three times: f = 6, u = 2. Tags and STOP: D, N, V, STOP.
# P_A(D | dog/N) = 2/7 * 1/2 + 5/7 * (3/8 * 1/2 + 5/8 * 1/4) = 87/224
# P_A(D | N) = 3/8 * 1/2 + 5/8 * 1/4 = 11/32, and the same for STOP.
# P_B(the | D) = 3/13 * 2/3 + 10/13 * 1/3 = 16/39: of the words a, the, and the unknown one.
# P_B(the | D, N) = 3/13 * 2/3 + 10/13 * 16/39 = 238/507
# P_B(the | D, dog/N) = 1/6 * 1/2 + 5/6 * 238/507 = 2887/6084
# P_B(an | D, dog/N) = 5/6 * 10/13 * 10/13 * 1/3 = 250/1521
# P_A(V | root) = 2/7 * 1 + 5/7 * 1/3 = 11/21: the root symbol never stops.
# P_B(barks | V, root) = 1/6 * 1/2 + 5/6 * (1/6 * 1/2 + 5/6 * 1/3) = 83/216
# On the left of any head: D three times, N twice, STOP eight times, once for each token: f = 13,
# u = 3. P_A(D | any) = 13/28 * 3/13 + 15/28 * 1/4 = 27/112, P_A(STOP | any) = 47/112.
# P_B(the | D, any) = P_B(the | D, N), since no other heads have a D.
BY_HAND = [
    ("the/D dog/N", "arc_memory", (0, 2), Fraction(87, 224) * Fraction(2887, 6084)),
    ("an/D dog/N", "arc_memory", (0, 2), Fraction(87, 224) * Fraction(250, 1521)),
    ("the/D bird/N", "arc_memory", (0, 2), Fraction(11, 32) * Fraction(238, 507)),
    ("barks/V", "arc_memory", (0, 0), Fraction(11, 21) * Fraction(83, 216)),
    ("the/D dog/X", "arc_memory", (0, 2), Fraction(27, 112) * Fraction(238, 507)),
    # A modifier with an unknown tag: all but STOP.
    ("the/X dog/N", "arc_memory", (0, 2), 1 - Fraction(87, 224)),
    ("the/X bird/N", "arc_memory", (0, 2), 1 - Fraction(11, 32)),
    ("the/X", "arc_memory", (0, 0), Fraction(1)),
    ("dog/N", "stop_memory", (0, LEFT), Fraction(87, 224)),
    ("bird/N", "stop_memory", (0, LEFT), Fraction(11, 32)),
    ("dog/X", "stop_memory", (0, LEFT), Fraction(47, 112)),
]


@over(("text", "factor", "place", "expected"), BY_HAND)
def test_factors_are_those_by_hand(text, factor, place, expected):
    (found,) = factors_of(LexicalizedSHAG("single").fit(DOGS), [tree(text)])
    assert_allclose(found[factor][place][0], float(expected), rtol=1e-14)


def test_words_are_sorted_by_tag_and_then_by_form():
    model = LexicalizedSHAG(min_count=1).fit([*DOGS, tree("dog/V the/D", [0, 1])])
    assert model.symbols_.tolist() == ["D", "N", "V"]
    assert model.words_.tolist() == ["a", "the", "cat", "dog", "barks", "dog", "sees"]
    assert model.statistics_.tags.tolist() == [0, 0, 1, 1, 2, 2, 2]
    assert LexicalizedSHAG(min_count=2).fit(DOGS).words_.tolist() == ["the", "dog"]


def test_states_of_fcp_follow_the_symbol_of_the_modifier_before():
    model = LexicalizedSHAG().fit([tree("a/X b/CC c/CCONJ d/PUNCT e/``", [0, 1, 1, 1, 1])])
    (found,) = factors_of(model, [tree("a/X b/CC c/CCONJ d/PUNCT e/`` f/unknown")])
    assert found["memory"].tolist() == [3, 1, 1, 2, 2, 3]
    model = LexicalizedSHAG(coordination=["X"], punctuation=()).fit([*DOGS, tree("a/X", [0])])
    (found,) = factors_of(model, [tree("a/X b/CCONJ d/PUNCT the/D")])
    assert found["memory"].tolist() == [1, 3, 3, 3]


# Against dictionaries


def disguise(trees, rng):
    """Some tokens with unknown words, and some with tags that no other tree has."""
    disguised = []
    for each in trees:
        words = [w if rng.uniform() > 0.1 else "unheard-of" for w in each.forms]
        tags = [t if rng.uniform() > 0.1 else "UNKNOWN" for t in each.symbols]
        disguised.append(DependencyTree(words, each.heads, upos=tags))
    return disguised


@pytest.fixture(scope="module")
def unseen(english):
    """Sentences to parse: words that training has, others, and unknown tags."""
    new = [each for each in english[200:] if len(each) < 10][:10]
    # Of training, to have each word as a head with unknown tags on either side.
    framed = [
        DependencyTree(("x", *each.forms, "y"), upos=("UNKNOWN", *each.symbols, "UNKNOWN"))
        for each in english[:12:4]
    ]
    return disguise(new, np.random.default_rng(0)) + framed


@over("automaton", AUTOMATA)
@over(("min_count", "backoff"), [(1, 5.0), (2, 5.0), (3, 0.3), (999, 5.0)])
def test_factors_are_those_of_the_oracle(english, unseen, automaton, min_count, backoff):
    model = LexicalizedSHAG(automaton, min_count=min_count, backoff=backoff).fit(english[:80])
    oracle = Collins(english[:80], automaton, backoff, min_count)
    rare = {(tag, word) for t in english[:80] for tag, word in zip(t.symbols, t.forms, strict=True)}
    rare -= oracle.known
    tokens = {token for t in unseen for token in zip(t.symbols, t.forms, strict=True)}
    assert bool(tokens & oracle.known) == (min_count < 999)
    assert bool(tokens & rare) == (min_count > 1)
    assert {tag for tag, _ in tokens} - oracle.tags == {"UNKNOWN"}
    assert any(tag in oracle.tags for tag, _ in tokens - rare - oracle.known)
    assert_factors(model, oracle, unseen)


@over("automaton", AUTOMATA)
def test_factors_of_weighted_trees_are_those_of_the_oracle(english, unseen, automaton):
    weights = np.random.default_rng(1).choice([0.0, 0.25, 1.0, 3.5], size=80)
    model = LexicalizedSHAG(automaton, min_count=1.5)
    model.fit(english[:80], sample_weight=weights)
    kept = weights > 0
    trees = [each for each, keep in zip(english, kept, strict=False) if keep]
    oracle = Collins(trees, automaton, min_count=1.5, weights=weights[kept].tolist())
    assert_factors(model, oracle, unseen)


@over("roots", [1, 2])
def test_factors_of_several_roots_and_crossing_arcs_are_those_of_the_oracle(roots):
    rng, trees = np.random.default_rng(2), []
    for n in rng.integers(roots, 9, size=30):
        heads = oracles.random_tree(rng, n)
        heads = [0 if roots == 2 and rng.uniform() < 0.2 else h for h in heads]
        words = rng.choice(["u", "v", "w"], size=n)
        trees.append(DependencyTree(words, heads, upos=rng.choice(["NOUN", "PUNCT"], size=n)))
    assert any(not each.is_projective for each in trees)
    assert (max(each.heads.tolist().count(0) for each in trees) > 1) == (roots == 2)
    for automaton in AUTOMATA:
        assert_factors(LexicalizedSHAG(automaton).fit(trees), Collins(trees, automaton), trees[:9])


@over("automaton", AUTOMATA)
def test_every_context_is_a_distribution(english, automaton):
    model = LexicalizedSHAG(automaton, min_count=2).fit(english[:60])
    oracle = Collins(english[:60], automaton, min_count=2)
    distributions = WordDistributions(back_off_words(model.statistics_, 5.0))
    lexicon, tags = model.statistics_.lexicon, model.symbols_[model.statistics_.lexicon.tags]
    known = list(zip(tags.tolist(), model.words_.tolist(), strict=True))
    modifiers = known + [(tag, UNKNOWN) for tag in model.symbols_.tolist()]
    heads = [*modifiers, ("UNKNOWN", UNKNOWN), (ROOT, UNKNOWN)]
    assert len(heads) == lexicon.root + 1
    for head, side, state in np.ndindex(len(heads), 2, AUTOMATA[automaton]):
        found = distributions(head, side, state)
        assert found.size == len(modifiers) + 1
        assert_allclose(found.sum(), 1.0, rtol=1e-12)
        assert found[-1] == 0 if head == lexicon.root else found.min() > 0
        if head % 40 == 0 or head >= lexicon.n_words:
            stop = 0.0 if head == lexicon.root else oracle.stop(heads[head], side, state)
            assert_allclose(found[-1], stop, rtol=1e-12)
            for code in (*range(0, len(modifiers), 50), len(modifiers) - 1):
                expected = oracle.probability(modifiers[code], heads[head], side, state)
                assert_allclose(found[code], expected, rtol=1e-12)


# Against all trees


@pytest.fixture(scope="module")
def short(unseen):
    """Sentences of which all trees can be listed; with unknown words and tags."""
    pieces = []
    for k, each in enumerate(unseen[:10]):
        piece, n = slice(2, 3 + k % 4), 1 + k % 4
        heads = oracles.projective_trees(n)[k % len(oracles.projective_trees(n))]
        pieces.append(DependencyTree(each.forms[piece], heads, upos=each.symbols[piece]))
    assert {len(piece) for piece in pieces} == {1, 2, 3, 4}
    assert any("UNKNOWN" in piece.symbols for piece in pieces)
    assert any("unheard-of" in piece.forms for piece in pieces)
    return pieces


@over("automaton", AUTOMATA)
@over("min_count", [1, 2])
def test_sums_over_trees_are_those_over_all_of_them(english, short, automaton, min_count):
    model = LexicalizedSHAG(automaton, min_count=min_count).fit(english[:80])
    oracle = Collins(english[:80], automaton, min_count=min_count)
    likelihoods, marginals = model.log_likelihood(short), model.predict_marginals(short)
    of_trees, given = model.score_samples(short), model.conditional_log_likelihood(short)
    best = model.set_params(decoder="viterbi").predict(short)
    for s, sentence in enumerate(short):
        trees = oracle.trees(sentence)
        z, known = sum(trees.values()), trees[tuple(sentence.heads.tolist())]
        assert_allclose(likelihoods[s], np.log(z), rtol=1e-12)
        assert_allclose(of_trees[s], np.log(known), rtol=1e-12)
        assert_allclose(given[s], np.log(known / z), rtol=1e-10, atol=1e-12)
        _, expected = oracles.sum_trees([*trees], [*trees.values()])
        assert_allclose(marginals[s], expected, atol=2e-12)
        assert trees[tuple(best[s].tolist())] >= max(trees.values()) * (1 - 1e-12)


# Sampling


@over("automaton", AUTOMATA)
def test_samples_are_as_frequent_as_they_are_probable(automaton):
    trees = [tree("a/NOUN", [0]), tree("a/NOUN ,/PUNCT b/NOUN", [0, 1, 1]), tree("b/NOUN", [0])]
    model = LexicalizedSHAG(automaton, backoff=0.5, min_count=2).fit(trees, sample_weight=[4, 1, 1])
    n, drawn = 4000, model.sample(4000, random_state=0)
    # The comma was seen once: so little that it is a rare word, as are all that were never seen.
    words = ["a/NOUN", "b/NOUN", "<rare>/NOUN", "<rare>/PUNCT"]
    pairs = {pair for each in drawn for pair in zip(each.forms, each.upos, strict=True)}
    assert pairs == {tuple(word.split("/")) for word in words}
    every = [
        tree(" ".join(sentence), heads)
        for length in (1, 2, 3)
        for sentence in product(words, repeat=length)
        for heads in oracles.projective_trees(length)
    ]
    probabilities, counts = np.exp(model.score_samples(every)), Counter(drawn)
    deviations = np.array([counts[each] for each in every]) / n - probabilities
    assert np.all(np.abs(deviations) < 5 * np.sqrt(probabilities / n) + 2 / n)
    assert 0.8 < probabilities.sum() < 1


@over("word", ["form", "lemma", "xpos", "feats", "deprel", "feats.Number", "upos"])
def test_samples_have_the_column_of_words(english, word):
    tags = "xpos" if word == "upos" else "upos"
    trees = TokenFeature(tags).fit_transform(english[:100])
    model = LexicalizedSHAG(word=word, min_count=2).fit(trees)
    drawn = model.sample(10, random_state=0)
    short, again, other = (model.sample(10, random_state=k, max_length=5) for k in (0, 0, 1))
    assert short == again != other
    assert max(map(len, short)) <= 5
    # Drawn with the words that the model counts: the scores are those of what was drawn.
    known = {*model.words_.tolist(), "<rare>"}
    assert all(known.issuperset(each.column(word)) for each in drawn)
    assert {each.column(word) for each in drawn} == {each.forms for each in drawn}
    assert set(model.symbols_) >= {symbol for each in drawn for symbol in each.symbols}
    pairs = zip(model.symbols_[model.statistics_.tags], model.words_, strict=True)
    seen = set(pairs) | {(symbol, "<rare>") for symbol in model.symbols_}
    assert all(seen.issuperset(zip(t.symbols, t.column(word), strict=True)) for t in drawn)
    assert np.isfinite(model.score_samples(drawn)).all()


# Extremes


def assert_parses(model, trees):
    """Assert that sentences have a probability, and trees that can be trusted."""
    assert np.isfinite(model.log_likelihood(trees)).all()
    for marginals, heads in zip(model.predict_marginals(trees), model.predict(trees), strict=True):
        assert marginals.min() >= 0
        assert_allclose(marginals.sum(axis=1), 1.0, rtol=1e-9)
        assert oracles.is_tree(heads.tolist())


@compiled
@over("automaton", AUTOMATA)
@over(
    "options",
    [
        {"backoff": 5e-324},
        {"backoff": 1e-300},
        {"backoff": 1e300},
        {"min_count": 1e9},
        {"min_count": 0},
        {"coordination": [], "punctuation": ()},
    ],
)
def test_extreme_parameters_leave_every_sentence_a_probability(english, unseen, automaton, options):
    model = LexicalizedSHAG(automaton, **options).fit(english[:60])
    assert_parses(model, unseen)


@over("weight", [1e-90, 1e17, 1e90])
def test_extreme_weights_leave_every_sentence_a_probability(english, unseen, weight):
    weights = np.full(60, weight)
    assert_parses(LexicalizedSHAG().fit(english[:60], sample_weight=weights), unseen)
    # Here everything stops at once, but for unknown tags the rest of the probability is needed.
    single = LexicalizedSHAG().fit([tree("a/X", [0])], sample_weight=[weight])
    assert_parses(single, [tree("a/Y b/Y c/Z")])


@compiled
@pytest.mark.parametrize("n", [250, pytest.param(1000, marks=pytest.mark.exhaustive)])
def test_probabilities_beyond_the_range_of_doubles(english, n):
    text = [each for each in english if len(each) > 12]
    words, tags = (sum((getattr(t, name) for t in text), ())[:n] for name in ("forms", "upos"))
    sentence = DependencyTree(words, upos=tags)
    assert len(sentence) == n
    model = LexicalizedSHAG().fit(english[:80])
    assert_parses(model, [sentence])
    assert model.log_likelihood([sentence])[0] < -745  # of the smallest double


@compiled
def test_many_words_take_no_table_of_all_pairs():
    # 20,000 words with 50 tags: heads times modifiers times sides and classes in doubles would take
    # 25 GB, and heads times tags 64 MB.
    rng, n_words = np.random.default_rng(0), 20_000
    trees = []
    for begin in range(0, n_words, 10):
        codes = np.append(np.arange(begin, begin + 10), rng.integers(n_words, size=10))
        heads = [0, *(int(rng.integers(1, m)) for m in range(2, 21))]
        words, tags = [f"w{code}" for code in codes], [f"t{code % 50}" for code in codes]
        trees.append(DependencyTree(words, heads, upos=tags))
    LexicalizedSHAG().fit(DOGS).predict(DOGS)  # compiled
    tracemalloc.start()
    try:
        model = LexicalizedSHAG().fit(trees)
        _, of_fit = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        model.predict(trees[:100])
        _, of_prediction = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (model.words_.size, model.symbols_.size) == (n_words, 50)
    assert max(of_fit, of_prediction) < 40e6
