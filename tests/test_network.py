"""The network: every derivative by finite differences, in double precision."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_shag.conditional import Examples
from sklearn_shag.encoding import ROOT_CODE, UNKNOWN_CODE, Batch, Codes, Spellings
from sklearn_shag.network import _reading
from sklearn_shag.network._layers import (
    Noise,
    Tokens,
    embed_tokens,
    rectify,
    recur,
    score_all_arcs,
    score_labels,
    with_roots,
)
from sklearn_shag.network._network import NetworkScores, backward, forward, make_network
from sklearn_shag.network._parameters import (
    NO_VECTORS,
    ArcWeights,
    Group,
    LabelWeights,
    Linear,
    NetworkWeights,
    Sizes,
    count_parameters,
    initial_parameters,
    parameter_shapes,
    view_parameters,
)
from sklearn_shag.network._reading import label_scores, number_rows, read_sentences
from sklearn_shag.network._training import Trainer, learn_batch
from tests.oracles import differences, enumerate_loss

# Four sentences, one of a single token and one beyond the last bucket of distances.
INDPTR = np.array([0, 3, 4, 28, 33])
BEGINS = INDPTR + np.arange(5)
OF_VALUES = (Group((0, 2), (6, 5), 1.0, 0.3, width=5), Group((1,), (9,), 0.5, 0.5, width=5))
GROUPS = (*OF_VALUES, Group((3,), (4,), 0.5, 0.1, width=3, spelled=True))
# Of no word, of one with three n-grams, of which two are the same row, and of one with five.
SPELLINGS = Spellings(np.array([0, 0, 0, 0, 3, 8]), np.array([2, 0, 2, 0, 1, 2, 3, 1], np.uint16))
GIVEN = Group((1,), (9,), 0.3, 0.2, width=2, fixed=True)
SIZES = Sizes((*GROUPS, GIVEN), (3, 2), 4, (3, 2), arc=4, label=3)
# Without what was learned elsewhere.
LEARNED = SIZES._replace(groups=GROUPS)


def assert_derivative(function, array, d_array):
    assert np.abs(d_array).max() > 1e-3  # or nothing would be shown
    assert_allclose(d_array, differences(function, array), rtol=1e-6, atol=1e-8)


def examples(rng, heads=None):
    """Sentences with labels and tags, some of which are not known."""
    n = INDPTR[-1]
    codes = np.stack([rng.integers(0, high, n) for high in (6, 9, 5, 5)], axis=1)
    if heads is None:
        chain = [np.arange(size) for size in np.diff(INDPTR)]
        heads = np.concatenate(chain)
    return Examples(
        Codes(codes.astype(np.int32), SPELLINGS),
        INDPTR,
        heads,
        rng.integers(-1, 4, n),
        np.stack([rng.integers(-1, high, n) for high in SIZES.n_tags], axis=1),
        np.array([1.0, 2.0, 0.5, 1.0]),
    )


def partial_heads(rng):
    """Of a chain some heads, of the second sentence all, of the last none."""
    heads = examples(rng).heads.copy()
    heads[[0, 2, 5, 6, 20]] = -1
    heads[INDPTR[3] :] = -1
    return heads


# Layers


def test_embeddings(rng):
    tables = [rng.normal(size=(sum(group.n_codes), group.width)) for group in GROUPS]
    codes = examples(rng).codes
    tokens = Tokens(codes.columns, INDPTR, codes.spellings)
    x, _ = embed_tokens(tables, GROUPS, tokens)
    first, second, third, _ = tokens.codes[7]
    assert_array_equal(x[7, :5], tables[0][first] + tables[0][6 + third])
    assert_array_equal(x[7, 5:10], tables[1][second])
    words = tokens.codes[:, 3]
    assert_array_equal(x[words < 3, 10:], 0)
    expected = (2 * tables[2][2] + tables[2][0]) / np.sqrt(3)
    assert_allclose(x[words == 3, 10:], expected[None].repeat((words == 3).sum(), axis=0))


def test_rectified_units(rng):
    x = rng.normal(size=(6, 4))
    y = x.copy()
    rectify(y)
    assert_array_equal(y, np.where(x > 0, x, 0.1 * x))


def recur_naively(layer, x, begins):
    """One unit of one direction of one sentence after the other."""
    n = layer.bias.size // 3
    y = x @ layer.weight + layer.bias
    h = np.empty((len(x), n))
    for begin, end in pairwise(begins.tolist()):
        for k in range(n):
            state = 0.0
            steps = range(begin, end) if k < n // 2 else range(end - 1, begin - 1, -1)
            for t in steps:
                forget, output = (1 / (1 + np.exp(-y[t, k + j * n])) for j in (1, 2))
                state = forget * state + (1 - forget) * y[t, k]
                h[t, k] = output * np.tanh(state)
    return h


def test_recurrent_units(rng):
    weights = Linear(rng.normal(size=(4, 18)), rng.normal(size=18))
    x = rng.normal(size=(33, 4))
    h, _ = recur(weights, x, INDPTR)
    assert_allclose(h, recur_naively(weights, x, INDPTR), rtol=1e-12, atol=1e-14)


def test_gates_never_leave_the_range_of_numbers():
    layer = Linear(np.array([[1.0, 0, 0, 0, 1, 1]], dtype=np.float32), np.zeros(6, np.float32))
    with np.errstate(all="raise"):
        h, _ = recur(layer, np.array([[-1e4], [1e4]], dtype=np.float32), np.array([0, 2]))
    assert np.isfinite(h).all()


# Scores


def test_scores_of_arcs(rng):
    shapes = parameter_shapes(SIZES).arcs
    weights = ArcWeights(*(rng.normal(size=shape) for shape in shapes))
    heads, modifiers = rng.normal(size=(2, 37, 4))
    scores, _ = score_all_arcs(weights, heads, modifiers, BEGINS)
    # Token 3 of the third sentence, with all heads; there are 12 + 2 arcs before that sentence.
    d = modifiers[BEGINS[2] + 3]
    for head in range(25):
        distance = abs(head - 3)
        buckets = [1, 2, 3, 4, 6, 10, 20, 99]
        bucket = 2 * next(k for k, last in enumerate(buckets) if distance <= last) + (head < 3)
        h = heads[BEGINS[2] + head]
        expected = d @ weights.bilinear @ h + weights.head @ h
        expected += h @ weights.near_head[:, bucket] + d @ weights.near_modifier[:, bucket]
        assert_allclose(scores[14 + 2 * 25 + head], expected, rtol=1e-12)


def test_scores_of_labels(rng):
    shapes = parameter_shapes(SIZES).labels
    weights = LabelWeights(*(rng.normal(size=shape) for shape in shapes))
    modifiers, heads = rng.normal(size=(2, 8, 3))
    arcs = np.array([1, 2, 4, 7]), np.array([2, 0, 2, 6])
    scores, _ = score_labels(weights, modifiers, heads, arcs)
    tensor = weights.tensor.reshape(3, 3, 4)
    expected = np.einsum("d,dhl,h->l", modifiers[4], tensor, heads[2])
    expected += np.r_[modifiers[4], heads[2]] @ weights.linear + weights.bias
    assert_allclose(scores[2], expected, rtol=1e-12)


# The whole


class Silence:
    """No noise at all, in place of Noise."""

    def replace(self, tokens, groups):
        return tokens

    def drop(self, x):
        return 1


SILENCE = Silence()


def double_network(sizes, rng):
    """A network in double precision, none of whose parameters is 0."""
    flat = initial_parameters(sizes, rng).astype(np.float64)
    flat += rng.normal(0, 0.1, flat.size)
    return flat, make_network(sizes, flat, rng.normal(size=(9, 2)))


@pytest.mark.parametrize("noisy", [False, True])
def test_the_whole_network(rng, noisy):
    flat, network = double_network(SIZES, rng)
    tokens = with_roots(examples(rng).codes, INDPTR)
    arcs = np.array([1, 2, 3, 9]), np.array([0, 1, 1, 7])

    def run():
        noise = Noise(0.2, np.random.default_rng(3)) if noisy else SILENCE
        return forward(network, tokens, arcs, noise)

    scores, cache = run()
    d_scores = NetworkScores(*(rng.normal(size=each.shape) for each in scores))
    d_flat = np.full_like(flat, np.nan)
    backward(network, cache, d_scores, view_parameters(SIZES, d_flat))
    assert_derivative(
        lambda: sum((s * d).sum() for s, d in zip(run()[0], d_scores, strict=True)), flat, d_flat
    )


@pytest.mark.parametrize(
    ("partial", "n_labels", "n_tags"), [(False, 4, (3, 2)), (True, 4, (3, 2)), (False, 0, ())]
)
def test_the_loss_of_trees_labels_and_tags(rng, partial, n_labels, n_tags):
    sizes = SIZES._replace(n_labels=n_labels, n_tags=n_tags)
    flat, network = double_network(sizes, rng)
    batch = examples(rng, partial_heads(rng) if partial else None)
    batch = batch.take(np.array([0, 1, 3]))  # the short ones
    if not n_labels:
        nothing = np.full(batch.heads.size, -1)
        batch = batch._replace(labels=nothing, tags=batch.tags[:, :0])

    def loss(d_flat):
        losses = learn_batch(
            network, batch, SILENCE, view_parameters(sizes, d_flat), batch.indptr[-1]
        )
        return sum(losses) / batch.heads.size

    d_flat, scratch = np.full((2, flat.size), np.nan)
    assert loss(d_flat) > 0
    # Those of the network are met entry by entry above: here along directions of all entries.
    directions, start = rng.normal(size=(flat.size, 40)) / np.sqrt(flat.size), flat.copy()
    along = np.zeros(40)

    def moved():
        flat[:] = start + directions @ along
        return loss(scratch)

    assert_derivative(moved, along, d_flat @ directions)


def test_the_loss_by_enumeration(rng):
    """Of a sentence of three tokens of which one head, one label and one tag are known."""
    _, network = double_network(SIZES, rng)
    codes = examples(rng).codes
    codes = codes._replace(columns=codes.columns[:3])
    heads, labels = np.array([-1, 3, -1]), np.array([0, 2, -1])  # the first of an unknown arc
    indptr, tags = np.array([0, 3]), np.array([[-1, -1], [-1, -1], [1, 0]])
    batch = Examples(codes, indptr, heads, labels, tags, np.array([2.0]))
    gradient = view_parameters(SIZES, np.empty(count_parameters(SIZES)))
    losses = learn_batch(network, batch, SILENCE, gradient, batch.indptr[-1])
    tokens = with_roots(codes, indptr)
    scores, _ = forward(network, tokens, (np.array([2]), np.array([3])), SILENCE)
    loss_of_tree, _ = enumerate_loss(scores.arcs.reshape(3, 4), heads)
    expected = (
        loss_of_tree,
        -np.log(np.exp(scores.labels[0, 2]) / np.exp(scores.labels[0]).sum()),
        -np.log(np.exp(scores.tags[3, 1]) / np.exp(scores.tags[3, :3]).sum())
        - np.log(np.exp(scores.tags[3, 3]) / np.exp(scores.tags[3, 3:]).sum()),
    )
    assert_allclose(losses, 2 * np.array(expected), rtol=1e-10)


# Noise


def test_noise_replaces_values_but_never_roots(rng):
    codes = np.full((4000, 3), 5, dtype=np.int32)
    tokens = with_roots(codes, np.array([0, 1000, 4000]))
    noisy = Noise(0.1, rng).replace(tokens, OF_VALUES)
    assert_array_equal(noisy.codes[noisy.are_roots()], ROOT_CODE)
    replaced = noisy.codes[~noisy.are_roots()] == UNKNOWN_CODE
    assert_allclose(replaced.mean(axis=0), [0.3, 0.5, 0.3], atol=0.03)
    both = (replaced[:, 0] & replaced[:, 2]).mean()  # each column for itself
    assert_allclose(both, 0.09, atol=0.02)
    assert_array_equal(tokens.codes[~tokens.are_roots()], 5)


def test_dropout_keeps_the_mean(rng):
    x = np.ones((200, 100), dtype=np.float32)
    factors = Noise(0.2, rng).drop(x)
    assert_array_equal(x, factors)
    assert x.dtype == np.float32
    assert_allclose(np.unique(x), [0, 1.25])
    assert_allclose(x.mean(), 1, atol=0.02)


# Training and prediction


def trainer(rng, **options):
    settings = {"learning_rate": 0.01, "alpha": 0.0, "dropout": 0.0, "n_steps": 40, **options}
    values, hidden = initial_parameters(LEARNED, rng), np.array(LEARNED.hidden)
    weights = NetworkWeights(hidden, values, None, NO_VECTORS)
    return Trainer(LEARNED, weights, rng=rng, **settings)


def test_gradients_of_parts_add_up(rng):
    """To that of the whole batch, and to nothing else where a batch has a single sentence."""
    learner, batch = trainer(rng), examples(rng)
    groups = [group._replace(replaced=0.0) for group in GROUPS]
    learner.network = learner.network._replace(sizes=LEARNED._replace(groups=groups))
    learner.loss_shown = slice(None)
    for chosen in (np.arange(batch.weights.size), [0], [2, 1]):
        part, expected = batch.take(chosen), np.zeros_like(learner.values)
        views = view_parameters(LEARNED, expected)
        losses = learn_batch(learner.network, part, SILENCE, views, part.indptr[-1])
        assert_allclose(learner.learn(part), losses, rtol=1e-6)
        assert_allclose(learner.gradient, expected, rtol=1e-3, atol=1e-6)


def test_threads_learn_the_same(rng):
    batch = examples(rng)
    one, several = (trainer(np.random.default_rng(3), dropout=0.3, n_jobs=n) for n in (None, 2))
    for chosen in (np.arange(batch.weights.size), [0], [2, 1]):
        assert one.learn(batch.take(chosen)) == several.learn(batch.take(chosen))
    assert_array_equal(one.values, several.values)
    assert_array_equal(one.averaged, several.averaged)


def test_adam_step_by_step(rng):
    """With the schedule, clipping and average as they are described, in numpy."""
    learner, batch = trainer(rng, alpha=0.3), examples(rng)
    values = learner.values.astype(np.float64)
    first, second, average = 0.0, 0.0, values
    for t in range(6):
        learner.learn(batch)
        slope = learner.gradient.astype(np.float64)
        slope = slope * min(1, 5 / np.linalg.norm(slope))
        first, second = 0.9 * first + 0.1 * slope, 0.95 * second + 0.05 * slope**2
        rate = 0.01 * min(1, (t + 1) / 2) * (0.02 + 0.49 * (1 + np.cos(np.pi * t / 40)))
        step = first / (1 - 0.9 ** (t + 1)) / (np.sqrt(second / (1 - 0.95 ** (t + 1))) + 1e-8)
        values = values - rate * step
        decay = (1 + t) / (10 + t)
        average = decay * average + (1 - decay) * values
        assert_allclose(learner.values, values, atol=2e-5)
        assert_allclose(learner.averaged, average, atol=2e-5)


def test_long_gradients_are_shortened(rng):
    learner, batch = trainer(rng), examples(rng)
    learner.learn(batch._replace(weights=1e4 * batch.weights))
    assert np.linalg.norm(learner.gradient) > 5
    assert_allclose(np.linalg.norm(learner.first), 0.1 * 5, rtol=1e-4)


def test_the_penalty_pulls_towards_zero(rng):
    nothing = np.full(INDPTR[-1], -1)
    learner, batch = trainer(rng, alpha=2.0), examples(rng, nothing)
    learner.learn(batch._replace(labels=nothing, tags=np.full_like(batch.tags, -1)))
    start = initial_parameters(LEARNED, np.random.default_rng(0))
    assert_allclose(learner.gradient, start * 2 / INDPTR[-1], rtol=1e-5, atol=1e-7)


def test_a_sentence_alone_is_as_in_a_text(rng):
    """To the last bit, in single precision and with sizes as in use."""
    sizes = Sizes(tuple(group._replace(width=64) for group in GROUPS), (100, 100), 7, (5, 3))
    flat = initial_parameters(sizes, rng)
    network = make_network(sizes, flat)
    lengths = rng.integers(1, 60, 150)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    codes = np.stack([rng.integers(0, high, indptr[-1]) for high in (6, 9, 5, 5)], axis=1)
    heads = np.concatenate([np.arange(n) for n in lengths])
    reading = read_sentences(network, Batch(Codes(codes, SPELLINGS), indptr), with_scores=True)
    arcs, tags = reading.arcs, reading.tag_scores[:, :5].argmax(axis=1)
    every = np.ones((2, 7), dtype=bool)
    labels = label_scores(network, every, reading, indptr, heads)
    assert arcs.dtype == np.float32
    assert labels.shape == (indptr[-1], 7)
    assert min(np.unique(labels.argmax(axis=1)).size, np.unique(tags).size) > 1
    found = []
    for begin, end in pairwise(indptr):
        alone = Batch(Codes(codes[begin:end], SPELLINGS), np.array([0, end - begin]))
        of_sentence = read_sentences(network, alone, with_scores=True)
        its_labels = label_scores(network, every, of_sentence, alone.indptr, heads[begin:end])
        found.append((of_sentence.arcs, its_labels, of_sentence.tag_scores))
    for parts, together in zip(
        zip(*found, strict=True), (arcs, labels, reading.tag_scores), strict=True
    ):
        assert_array_equal(np.concatenate(parts), together)


def test_prediction_is_what_is_trained(rng):
    _, network = double_network(SIZES, rng)
    batch = examples(rng)
    tokens = with_roots(batch.codes, INDPTR)
    rows = np.flatnonzero(~tokens.are_roots())
    heads = np.repeat(BEGINS[:-1], np.diff(INDPTR)) + batch.heads
    scores, _ = forward(network, tokens, (rows, heads), SILENCE)
    network = network._replace(tables=[table.astype(np.float32) for table in network.tables])
    reading = read_sentences(network, Batch(batch.codes, INDPTR), with_scores=True)
    assert_allclose(reading.arcs, scores.arcs, rtol=1e-5, atol=1e-5)
    every = np.ones((2, SIZES.n_labels), dtype=bool)
    labels = label_scores(network, every, reading, INDPTR, batch.heads)
    assert_allclose(labels, scores.labels, rtol=1e-5, atol=1e-5)
    assert_allclose(reading.tag_scores, scores.tags[rows], rtol=1e-5, atol=1e-5)


def test_equal_rows_are_found(rng):
    """Also where there are more combinations of codes than 64 bits can tell apart."""
    for high in (2, 5, 2**30):
        different = rng.integers(0, high, (20, 7))
        rows = different[rng.integers(0, 20, 100)].astype(np.int32)
        firsts, numbers = number_rows(rows)
        assert_array_equal(rows[firsts][numbers], rows)
        assert firsts.size == len(np.unique(rows, axis=0))


# Parameters


def test_where_parameters_start(rng):
    sizes = Sizes((Group((0,), (4000,), 0.3, 0.2),), (100,), 40, (17, 600))
    parameters = view_parameters(sizes, initial_parameters(sizes, rng))
    (layer,) = parameters.layers
    assert_array_equal(layer.bias, np.repeat([0, 1, 0], 200))
    weight, labels = parameters.vectors.weight, parameters.labels
    deviations = {
        0.3: parameters.embeddings[0],
        1 / 8: layer.weight,
        np.sqrt(2 / 300): weight[:, :200],
        np.sqrt(2 / 250): weight[:, 200:],
        0.02: labels.tensor,
        np.sqrt(2 / 140): labels.linear,
        np.sqrt(2 / 217): parameters.tags.weight[:, :17],
        np.sqrt(2 / 800): parameters.tags.weight[:, 17:],
    }
    for deviation, array in deviations.items():
        assert_allclose(array.std(), deviation, rtol=0.05)
    arcs = parameters.arcs
    assert_allclose(arcs.bilinear @ arcs.bilinear.T, np.eye(100), atol=1e-5)
    for array in (arcs.head, arcs.near_head, arcs.near_modifier, parameters.vectors.bias):
        assert_array_equal(array, 0)


def test_parts_of_what_is_read_hold_sentences(rng, monkeypatch):
    """Wherever the limits of parts fall: also where the last one falls into the last sentence."""
    sizes = Sizes((Group((0,), (6,), 0.3, 0.2, width=4),), (3,), 0, (2,), arc=3)
    network = make_network(sizes, initial_parameters(sizes, rng))
    monkeypatch.setattr(_reading, "ROWS_AT_ONCE", 40)
    monkeypatch.setattr(_reading, "ROWS_OF_TYPES", 160)
    for n_tokens in (37, 39, 45, 157, 165):
        indptr = np.array([0, 2, n_tokens])
        codes = rng.integers(0, 6, (n_tokens, 1))
        together = read_sentences(network, Batch(codes, indptr))
        alone = [
            read_sentences(network, Batch(codes[b:e], np.array([0, e - b])))
            for b, e in pairwise(indptr)
        ]
        for whole, *parts in zip(together, *alone, strict=True):
            assert_array_equal(whole, np.concatenate(parts))


@pytest.mark.parametrize("n_rows", [3, 50])  # fewer than the rows of the table, and more
def test_tables_of_half_precision_are_read_as_they_are(n_rows):
    rng = np.random.default_rng(0)
    half = rng.standard_normal((20, 4)).astype(np.float16)
    half[0] = [2.0**-24, -(2.0**-20), 65504, -0.0]
    group = Group((0, 1), (12, 8), 1.0, 0.0)
    codes = np.column_stack([rng.integers(0, 12, n_rows), rng.integers(0, 8, n_rows)])
    tokens = Tokens(codes.astype(np.int32), np.array([0, n_rows]))
    x, _ = embed_tokens([half], [group], tokens)
    expected, _ = embed_tokens([half.astype(np.float32)], [group], tokens)
    assert_array_equal(x, expected)
