"""Features of arcs, against an oracle that knows each by name and hashes none."""

from itertools import chain, product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax

from sklearn_shag.conditional import Examples
from sklearn_shag.conditional._passes import cut_into_batches
from sklearn_shag.encoding import (
    all_arcs,
    choose_columns,
    encode_columns,
    list_values,
    make_columns,
)
from sklearn_shag.features import (
    DEFAULT_TEMPLATES,
    LinearTrainer,
    _hashing,
    compile_templates,
    labels_to_learn,
    score_arcs,
    trees_to_learn,
)
from sklearn_shag.treebank import DependencyTree
from tests.oracles import enumerate_loss

TREES = [
    DependencyTree(
        ["The", "dog", "sees", "a", "cat"],
        [2, 3, 0, 5, 3],
        upos=["DET", "NOUN", "VERB", "DET", "NOUN"],
        deprels=["det", "nsubj", "root", "det", "obj"],
    ),
    DependencyTree(
        ["Dogs", "often", "see", "the", "dog"],
        [3, 3, 0, 5, 3],
        upos=["NOUN", "ADV", "VERB", "DET", "NOUN"],
        deprels=["nsubj", "advmod", "root", "det", "_"],
    ),
    DependencyTree(["Sleep"], [0], upos=["VERB"], deprels=["root"]),
    DependencyTree(
        ["The", "cat", "sleeps"],
        [2, -1, -1],
        upos=["DET", "NOUN", "VERB"],
        deprels=["det", "_", "_"],
    ),
]
NAMES = ("upos", "form", "suffix.2")
TEMPLATES = (
    "bias",
    "h.upos m.upos",
    "h.upos m+1.form",
    "h-1.suffix.2 m.form m-2.upos",
    "m.form",
    "h.upos between.upos m.upos",
    "between.suffix.2",
)
HEADS = [tree.heads for tree in TREES]
# More than enough for features not to collide, which a test makes sure of.
N_FEATURES = 2**18


# The oracle


def value_of(tree, position, column):
    """That of a token, of the root, or of a place outside the sentence."""
    if position == 0:
        return "the root"
    if not 1 <= position <= len(tree):
        return "outside"
    form = tree.forms[position - 1].lower()
    return {"upos": tree.upos[position - 1], "form": form, "suffix.2": form[-2:]}[column]


def bucket(distance):
    for number, largest in enumerate((1, 2, 3, 4, 5, 7, 10, 15, 25)):
        if distance <= largest:
            return number
    return 9


def features(tree, head, modifier, templates=TEMPLATES):
    """Name the features of an arc, those with values between last."""
    direction, found = "right" if modifier > head else "left", []
    for template in sorted(templates, key=lambda each: "between" in each):
        tokens = range(min(head, modifier) + 1, max(head, modifier))
        for between in tokens if "between" in template else [None]:
            values = []
            for atom in [] if template == "bias" else template.split():
                place, column = atom.split(".", 1)
                side = place.rstrip("+-0123456789")
                start = {"h": head, "m": modifier, "between": between}[side]
                values.append(value_of(tree, start + int(place[len(side) :] or 0), column))
            key = template, tuple(values), direction
            found += [key, (*key, bucket(abs(head - modifier)))]
    return found


class Oracle:
    """A linear model that takes its steps arc by arc and feature by feature."""

    def __init__(self, rate, smallest, n_classes=1):
        self.rate, self.smallest = rate, smallest
        self.weights = np.zeros((N_FEATURES, n_classes))
        self.squares = np.full_like(self.weights, 0.1)

    def step(self, arcs):
        """Take a step along gradients of arcs, given by the places of their features."""
        for places, gradient in arcs:
            slopes = np.where(np.abs(gradient) >= self.smallest, gradient, 0.0)
            for place in places:
                self.squares[place] += slopes**2
                self.weights[place] -= self.rate * slopes / np.sqrt(self.squares[place])


def arcs_of(tree):
    """Modifiers and heads, in the layout of marginals."""
    places = product(range(1, len(tree) + 1), range(len(tree) + 1))
    return [(m, h) for m, h in places if m != h]


@pytest.fixture(scope="module")
def text():
    columns = make_columns(list_values(NAMES, TREES, min_count=1))
    indptr = np.cumsum([0, *map(len, TREES)])
    nothing = np.full(indptr[-1], -1)
    codes, weights = encode_columns(columns, TREES, indptr), np.ones(len(TREES))
    return Examples(codes, indptr, np.concatenate(HEADS), nothing, None, weights)


@pytest.fixture(scope="module")
def templates():
    return compile_templates(TEMPLATES, NAMES)


def places_of_arc(text, templates, s, head, modifier):
    """Where the weights of the features of an arc are."""
    begin, n = text.indptr[s], len(TREES[s])
    space = _hashing.allocate_memory(templates, [0, n], 1)
    _hashing.hash_tokens(text.codes, begin, n, templates.atoms, space.hashes)
    count = _hashing.list_features(space, templates.n_of_arcs, head, modifier, N_FEATURES)
    return space.places[:count].tolist()


def place_of_features(text, templates):
    """Where the weight of each feature is."""
    pairs = []
    for s, tree in enumerate(TREES):
        for m, h in arcs_of(tree):
            pairs += zip(features(tree, h, m), places_of_arc(text, templates, s, h, m), strict=True)
    return pairs


@pytest.fixture(scope="module")
def places(text, templates):
    """Of each tree the places of the features of its arcs, by modifier and head."""
    place_of = dict(place_of_features(text, templates))
    return [
        {(m, h): [place_of[name] for name in features(tree, h, m)] for m, h in arcs_of(tree)}
        for tree in TREES
    ]


# Places, scores, steps


def test_each_feature_has_a_place_of_its_own(text, templates):
    pairs = place_of_features(text, templates)
    names, places = map(set, zip(*pairs, strict=True))
    assert len(set(pairs)) == len(names) == len(places) > 300
    assert min(places) >= 0
    assert max(places) < N_FEATURES


def test_places_are_spread(text, templates):
    places = np.array([place for _, place in set(place_of_features(text, templates))])
    counts = np.bincount(places * 8 // N_FEATURES, minlength=8)
    assert np.sum((counts - counts.mean()) ** 2) < 24 * counts.mean()  # one in a thousand


def test_the_score_of_an_arc_is_the_sum_of_its_weights(text, templates, places):
    weights, expected = np.random.default_rng(0).normal(size=(N_FEATURES, 2)), []
    for of_tree, tree in zip(places, TREES, strict=True):
        for arc in np.ndindex(len(tree), len(tree) + 1):
            expected.append(weights[of_tree.get((arc[0] + 1, arc[1]), [])].sum(axis=0))
    scores = score_arcs(weights, templates, text, all_arcs(text.indptr))
    assert_allclose(scores, expected, rtol=1e-12, atol=1e-12)


def test_steps_and_averages(text, templates, places):
    rng, start, past = np.random.default_rng(1), np.ones((N_FEATURES, 1)), []
    trainer, oracle = LinearTrainer(start, templates, 0.3, 0.2, None), Oracle(0.3, smallest=0.2)
    oracle.weights += start
    assert_array_equal(trainer.average(), start)  # of no steps
    everything = all_arcs(text.indptr)
    for _ in range(4):
        gradient = rng.normal(size=(everything.heads.size, 1))
        trainer.to_learn = lambda _, g=gradient: (everything, lambda scores: (7.0, g))
        assert trainer.learn(text) == 7.0
        of_arcs = gradient[everything.heads != everything.modifiers]
        oracle.step(zip(chain(*map(dict.values, places)), of_arcs, strict=True))
        assert_allclose(trainer.weights.values, oracle.weights, atol=2e-6)
        past.append(oracle.weights.copy())
    average = trainer.average()
    assert average.dtype == np.float32
    assert_allclose(average, np.mean(past, axis=0), atol=2e-6)
    assert_array_equal(average != 1, oracle.weights != 1)
    assert_array_equal(start, 1)


# Losses


def test_trees_learn_by_the_loss_over_all_trees(text, templates, places):
    """Steps follow the difference of feature counts, expected in all trees and in known ones."""
    rate, smallest = 0.2, 2e-3
    weights, oracle = np.array([1.0, 0.5, 2.0, 1.5]), Oracle(rate, smallest)
    trainer = LinearTrainer(np.zeros((N_FEATURES, 1)), templates, rate, smallest, trees_to_learn)
    for batches in ([[0, 1], [2, 3]], [[3, 0], [1]], [[0, 1, 2, 3]]):
        expected = 0.0
        for batch in batches:
            arcs = []
            for s in batch:
                scores = np.zeros((len(TREES[s]), len(TREES[s]) + 1))
                for (m, h), of_arc in places[s].items():
                    scores[m - 1, h] = oracle.weights[of_arc].sum()
                loss, gradient = enumerate_loss(scores, HEADS[s])
                expected += weights[s] * loss
                for (m, h), of_arc in places[s].items():
                    arcs.append((of_arc, weights[s] * gradient[m - 1, h]))
            oracle.step(arcs)
        examples = text._replace(weights=np.array(weights))
        loss = sum(trainer.learn(examples.take(np.array(batch))) for batch in batches)
        assert_allclose(loss, expected, rtol=1e-5)
        assert_allclose(trainer.weights.values, oracle.weights, atol=2e-6)


def test_labels_learn_by_a_softmax(text, templates, places):
    rate, smallest = 0.2, 1e-3
    labels = ["advmod", "det", "nsubj", "obj", "root"]
    codes = [[labels.index(d) if d in labels else -1 for d in tree.deprels] for tree in TREES]
    weights, oracle = np.array([1.0, 0.5, 2.0, 1.5]), Oracle(rate, smallest, n_classes=5)
    start = np.zeros((N_FEATURES, 5))
    trainer = LinearTrainer(start, templates, rate, smallest, labels_to_learn)
    examples = text._replace(labels=np.concatenate(codes), weights=weights)
    for batch in ([0, 1], [3, 2], [1, 0]):
        arcs, expected_loss = [], 0.0
        for s in batch:
            for m, (head, label) in enumerate(zip(HEADS[s], codes[s], strict=True), start=1):
                if label >= 0:
                    of_arc = places[s][m, head]
                    gradient = softmax(oracle.weights[of_arc].sum(axis=0))
                    expected_loss -= weights[s] * np.log(gradient[label])
                    gradient[label] -= 1.0
                    arcs.append((of_arc, weights[s] * gradient))
        oracle.step(arcs)
        loss = trainer.learn(examples.take(np.array(batch)))
        assert_allclose(loss, expected_loss, rtol=1e-5)
        assert_allclose(trainer.weights.values, oracle.weights, atol=2e-6)


# Arcs, buckets, batches


def test_buckets_of_distances():
    names = [_hashing.bucket_of(distance) for distance in range(1, 200)]
    assert list(dict.fromkeys(names)) == [
        *("1", "2", "3", "4", "5", "6-7", "8-10", "11-15", "16-25", "26+")
    ]
    for distance, name in enumerate(names, start=1):
        first, _, last = name.rstrip("+").partition("-")
        assert int(first) <= distance <= int(last or (first if name[-1] != "+" else 1000))


@pytest.mark.parametrize("batch_size", [1, 7, 10**30])
def test_batches_hold_every_sentence_once(batch_size):
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 9, size=40)
    order = rng.permutation(40)[:30]
    batches = cut_into_batches(lengths, order, batch_size)
    assert_array_equal(np.concatenate(batches), order)
    # A batch ends with the sentence in which its share of tokens is full.
    n_full = [int(end) // batch_size for end in np.cumsum(lengths[order])]
    ends = [k for k in range(1, 30) if n_full[k - 1] > (n_full[k - 2] if k > 1 else 0)]
    assert [batch.size for batch in batches] == np.diff([0, *ends, 30]).tolist()


# Templates


def texts(templates, names):
    return compile_templates(templates, names).texts


def test_templates_without_their_columns_drop_out():
    assert texts(["bias", "h.tag", "m.form", "h.upos m.xpos"], ("upos",)) == ("bias", "h.upos")
    assert texts(["h.feats.Case", "m.feats"], ("feats.Case",)) == ("h.feats.Case",)
    assert "between" not in " ".join(texts(DEFAULT_TEMPLATES, ("symbol",)))


def test_tag_is_the_first_of_the_tags():
    tags = {
        ("symbol", "upos", "xpos"): "symbol",
        ("upos", "xpos", "form"): "upos",
        ("form", "xpos"): "xpos",
        ("form", "suffix.3"): "suffix.3",
    }
    found = {names: texts(["h.tag m.tag"], names) for names in tags}
    assert found == {names: (f"h.{tag} m.{tag}",) for names, tag in tags.items()}


def test_affixes_without_a_length_are_those_of_each():
    names = ("upos", "prefix.1", "suffix.1", "suffix.2")
    assert texts(["h.suffix m.tag"], names) == ("h.suffix.1 m.upos", "h.suffix.2 m.upos")
    assert texts(["m.suffix.2"], names) == ("m.suffix.2",)
    assert texts(["h.suffix m.suffix"], names) == ("h.suffix.1 m.suffix.1", "h.suffix.2 m.suffix.2")
    both = ("h.prefix.1 m.suffix.1", "h.prefix.1 m.suffix.2")
    assert texts(["h.prefix m.suffix"], names) == both


def test_templates_are_themselves_once_more():
    """As when training goes on, or a model comes from a file."""
    names = ("upos", "form", "feats", "lemma", "suffix.2", "suffix.3")
    templates = [*DEFAULT_TEMPLATES, "between.suffix", "h+1.tag  m.tag", "bias"]
    once = compile_templates(templates, names)
    again = compile_templates(once.texts, names)
    assert again.texts == once.texts
    assert again.n_of_arcs == once.n_of_arcs == len(once.texts) - 2
    assert_array_equal(again.atoms, once.atoms)


def test_a_feature_named_between_is_not_between():
    compiled = compile_templates(["h.feats.between", "between.upos"], ("upos", "feats.between"))
    assert compiled.texts == ("h.feats.between", "between.upos")
    assert compiled.n_of_arcs == 1


# Columns


def tagged(**columns):
    return [DependencyTree(["Ab", "Bc"], [2, 0], **columns)]


def test_automatic_columns():
    cases = [
        (tagged(), ("form", *(f"suffix.{n}" for n in (1, 2, 3, 4)))),
        (tagged(upos=["A", "B"]), ("upos", "form", "suffix.3")),
        (tagged(xpos=["A", "_"]), ("xpos", "form", "suffix.3")),
        (
            tagged(upos=["A", "B"], xpos=["_", "_"], lemmas=["a", "_"], feats=["_", "_"]),
            ("upos", "form", "lemma", "suffix.3"),
        ),
        (
            tagged(upos=["A", "B"], xpos=["C", "D"], lemmas=["_", "_"], feats=["x=y", "_"]),
            ("upos", "xpos", "feats", "form", "suffix.3"),
        ),
        (tagged(symbols=["S", "T"], upos=["A", "B"]), ("symbol", "upos", "form", "suffix.3")),
        (tagged(symbols=["A", "B"], upos=["A", "B"]), ("upos", "form", "suffix.3")),
        ([["A", "B"]], ("symbol",)),
        ([*tagged(upos=["A", "B"]), ["A", "B"]], ("symbol",)),
    ]
    assert [choose_columns("auto", trees) for trees, _ in cases] == [names for _, names in cases]


def test_affixes_have_lengths():
    cases = [
        (["upos", "suffix", "prefix"], ("upos", "suffix.3", "prefix.2")),
        (["form", "suffix"], ("form", "suffix.1", "suffix.2", "suffix.3", "suffix.4")),
        (["prefix"], ("prefix.1", "prefix.2", "prefix.3")),
        (["suffix.7", "xpos"], ("suffix.7", "xpos")),
        (("feats.Case", "shape", "lemma"), ("feats.Case", "shape", "lemma")),
        (["symbol", "suffix"], ("symbol", "suffix.3")),
    ]
    assert [choose_columns(columns, TREES) for columns, _ in cases] == [each for _, each in cases]


def test_values_of_columns():
    tree = DependencyTree(
        ["Äpfel", "2nd", "...", "ox"],
        [0, 1, 1, 1],
        lemmas=["Apfel", "_", "_", "ox"],
        feats=["Case=Nom|Number=Plur", "_", "_", "Number=Sing"],
    )
    names = ("form", "lemma", "feats.Number", "suffix.2", "prefix.3", "shape")
    values = list_values(names, [tree], min_count=1)
    assert values == {
        "form": ["...", "2nd", "ox", "äpfel"],
        "lemma": ["...", "2nd", "Apfel", "ox"],
        "feats.Number": ["Plur", "Sing", "_"],
        "suffix.2": ["..", "el", "nd", "ox"],
        "prefix.3": ["...", "2nd", "ox", "äpf"],
        "shape": ["X5", "x.3", "x2", "x93"],
    }


def test_rare_words_are_unknown_and_rare_tags_are_not():
    trees = [
        DependencyTree(["a", "b"], [2, 0], upos=["A", "B"], xpos=["C", "D"]),
        DependencyTree(["a", "c"], [2, 0], upos=["A", "X"], xpos=["C", "Y"]),
    ]
    values = list_values(("upos", "xpos", "form"), trees, min_count=2)
    assert values == {"upos": ["A", "B", "X"], "xpos": ["C", "D", "Y"], "form": ["a"]}
    codes = encode_columns(make_columns(values), trees, np.array([0, 2, 4]))
    assert codes[:, 2].tolist() == [3, 0, 3, 0]
    assert codes[:, 0].tolist() == [3, 4, 3, 5]
