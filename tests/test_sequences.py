"""Head-modifier sequences and their statistics against naive loops, and exact round trips."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal, assert_equal

from sklearn_shag.encoding import Alphabet, pair_of, split_pair
from sklearn_shag.sequences import (
    assemble_trees,
    collapse_sequences,
    collect_statistics,
    extract_sequences,
    pair_moments,
)
from tests import oracles
from tests.loops import assert_all_close, over

N_SYMBOLS = 3
START = STOP = POOL = N_SYMBOLS
ROOT = N_SYMBOLS + 1


def test_pairs_are_numbered_head_by_head_left_before_right():
    alphabet = Alphabet(N_SYMBOLS)
    heads, directions = np.indices((alphabet.n_learned, 2)).reshape(2, -1)
    pairs = pair_of(heads, directions)
    assert_array_equal(pairs, np.arange(alphabet.n_pairs))
    assert_array_equal(split_pair(pairs), [heads, directions])


def random_treebank(seed, projective, n_sentences=12, longest=6):
    rng = np.random.default_rng(seed)
    sentences = []
    for _ in range(n_sentences):
        n_tokens = int(rng.integers(1, longest + 1))
        if projective:
            trees = oracles.projective_trees(min(n_tokens, 5), single_root=False)
            heads = trees[rng.integers(len(trees))]
        else:
            heads = oracles.random_tree(rng, n_tokens)
        sentences.append((rng.integers(N_SYMBOLS, size=len(heads)).tolist(), list(heads)))
    return sentences


def flatten(sentences):
    codes = np.concatenate([symbols for symbols, _ in sentences])
    heads = np.concatenate([heads for _, heads in sentences])
    indptr = np.cumsum([0] + [len(symbols) for symbols, _ in sentences])
    return codes, heads, indptr


def as_tuples(sequences):
    """(head, direction, modifiers, weight) of every sequence, in any order."""
    return sorted(
        (
            int(head),
            int(direction),
            tuple(sequences.modifiers[start:stop].tolist()),
            float(weight),
        )
        for head, direction, start, stop, weight in zip(
            sequences.heads,
            sequences.directions,
            sequences.indptr[:-1],
            sequences.indptr[1:],
            sequences.weights,
            strict=True,
        )
    )


def naive_tuples(sentences):
    return sorted(
        (
            ROOT if h == 0 else symbols[h - 1],
            direction,
            tuple(symbols[m - 1] for m in modifiers),
            1.0,
        )
        for symbols, heads in sentences
        for h, direction, modifiers in oracles.tree_sequences(heads)
    )


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), projective=st.booleans())
def test_extraction_agrees_with_naive_loops(seed, projective):
    sentences = random_treebank(seed, projective)
    sequences = extract_sequences(*flatten(sentences), N_SYMBOLS)
    assert as_tuples(sequences) == naive_tuples(sentences)


def test_a_sentence_s_weight_is_that_of_all_its_sequences():
    sentences = random_treebank(0, projective=False)
    weights = np.arange(1, len(sentences) + 1) / 4
    sequences = extract_sequences(*flatten(sentences), N_SYMBOLS, weights)
    expected = [
        (*one, weight)
        for sentence, weight in zip(sentences, weights.tolist(), strict=True)
        for *one, _ in naive_tuples([sentence])
    ]
    assert as_tuples(sequences) == sorted(expected)


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6))
def test_projective_trees_come_back_exactly(seed):
    codes, heads, indptr = flatten(random_treebank(seed, projective=True))
    sequences = extract_sequences(codes, heads, indptr, N_SYMBOLS)
    found_codes, found_heads = assemble_trees(sequences, indptr)
    assert_array_equal(found_codes, codes)
    assert_array_equal(found_heads, heads)


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6))
def test_non_projective_trees_come_back_projective_with_the_same_sequences(seed):
    codes, heads, indptr = flatten(random_treebank(seed, projective=False))
    sequences = extract_sequences(codes, heads, indptr, N_SYMBOLS)
    found_codes, found_heads = assemble_trees(sequences, indptr)
    for part in np.split(found_heads, indptr[1:-1]):
        assert oracles.is_tree(part.tolist())
        assert not oracles.crosses(part.tolist())
    again = extract_sequences(found_codes, found_heads, indptr, N_SYMBOLS)
    assert_equal(again, sequences)


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6))
def test_collapsing_adds_up_equal_sequences(seed):
    sequences = extract_sequences(*flatten(random_treebank(seed, projective=False)), N_SYMBOLS)
    rng = np.random.default_rng(seed)
    sequences = sequences._replace(weights=rng.integers(1, 9, sequences.heads.size) / 4)
    expected = {}
    for *key, weight in as_tuples(sequences):
        expected[tuple(key)] = expected.get(tuple(key), 0.0) + weight
    collapsed = collapse_sequences(sequences)
    assert as_tuples(collapsed) == sorted((*key, weight) for key, weight in expected.items())
    pairs = 2 * collapsed.heads + collapsed.directions
    assert_array_equal(pairs, np.sort(pairs))


def moments_of_places(weighted_strings, n_symbols, context):
    """Rows and columns as vectors of every place in every string, by their definition."""
    n_codes = 2 * n_symbols + 1
    bigrams, trigrams = np.zeros((n_codes, n_codes)), np.zeros((n_symbols, n_codes, n_codes))

    def vector(symbols):
        """What is seen of symbols, the nearest first; START and STOP have one code."""
        seen = np.zeros(n_codes)
        seen[symbols[0] if symbols else n_symbols] = 1.0
        for symbol in symbols[1:]:
            seen[n_symbols + 1 + symbol] += context
        return seen

    for x, weight in weighted_strings:
        for t in range(len(x) + 1):
            came = weight * vector(x[:t][::-1])
            bigrams += np.outer(vector(x[t:]), came)
            if t < len(x):
                trigrams[x[t]] += np.outer(vector(x[t + 1 :]), came)
    return bigrams, trigrams


def dense_trigrams(moments):
    """A matrix for each symbol in the middle."""
    dense = np.zeros((moments.n_symbols, *moments.bigrams.shape))
    np.add.at(dense, (moments.middle, moments.last, moments.first), moments.trigrams)
    return dense


def naive_moments(sentences, head, direction, context=0.0):
    """P and the P_b of one head and direction, as dense matrices, and the number of sequences."""
    strings = [
        (modifiers, weight)
        for own, side, modifiers, weight in naive_tuples(sentences)
        if side == direction and own != ROOT and head in (own, POOL)
    ]
    bigrams, trigrams = moments_of_places(strings, N_SYMBOLS, context)
    seen = slice(None) if context else slice(N_SYMBOLS + 1)  # of the nearest symbols alone
    return bigrams[seen, seen], trigrams[:, seen, seen], len(strings)


@over("head", range(N_SYMBOLS + 1))
@over("direction", [0, 1])
@over(("smoothing", "context"), [(0.0, 0.0), (2.5, 0.0), (0.0, 0.3), (2.5, 0.3)])
def test_moments_agree_with_naive_counts(head, direction, smoothing, context):
    sentences = random_treebank(head, projective=False, n_sentences=50, longest=15)
    sequences = extract_sequences(*flatten(sentences), N_SYMBOLS)
    statistics = collect_statistics(sequences, N_SYMBOLS)
    moments = pair_moments(statistics, head, direction, smoothing, context=context)
    bigrams, trigrams, total = naive_moments(sentences, head, direction, context)
    of_pool = naive_moments(sentences, POOL, direction, context)
    share = smoothing / of_pool[2]
    assert_all_close(
        [moments.bigrams, dense_trigrams(moments)],
        [
            (bigrams + share * of_pool[0]) / (total + smoothing),
            (trigrams + share * of_pool[1]) / (total + smoothing),
        ],
        rtol=1e-12,
        atol=1e-15,
    )
    assert statistics.n_sequences[head, direction] == total
    assert moments.n_sequences == total + smoothing
    # START starts and STOP ends every sequence.
    near = moments.bigrams[: N_SYMBOLS + 1, : N_SYMBOLS + 1]
    assert_allclose([near[:, START].sum(), near[STOP].sum()], 1.0, rtol=1e-12)
    assert moments.bigrams.min() >= 0


def test_statistics_count_roots_and_ignore_how_sequences_are_given():
    codes, heads, indptr = flatten(random_treebank(0, projective=False, n_sentences=40))
    sequences = extract_sequences(codes, heads, indptr, N_SYMBOLS)
    statistics = collect_statistics(sequences, N_SYMBOLS)
    assert_array_equal(statistics.roots, np.bincount(codes[heads == 0], minlength=N_SYMBOLS))
    collapsed = collect_statistics(collapse_sequences(sequences), N_SYMBOLS)
    assert_all_close(collapsed, statistics, rtol=1e-12)
