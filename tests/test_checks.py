"""Flat arrays that kernels trust: what is wrong with them is an error, and no signal 11."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_equal

from sklearn_shag.conditional import Examples
from sklearn_shag.encoding import Batch, Codes, MemberCodes
from sklearn_shag.operators import (
    Operators,
    branching_radius,
    log_values,
    sample_derivations,
    sequence_values,
)
from sklearn_shag.parsing import Potentials
from sklearn_shag.parsing._potentials import take_potentials
from sklearn_shag.sequences import build_prefix_trees, collect_statistics, extract_sequences
from tests.loops import over

BIG = 10**9
SEQUENCES = extract_sequences([0, 1, 2], [2, 3, 0], [0, 3], n_symbols=3)
GRAMMAR = Operators(np.ones((5, 2, 1)), np.ones((5, 2, 1)), np.full((5, 2, 4, 1, 1), 0.1))


BAD_SEQUENCES = [
    ("heads", np.full(7, BIG)),
    ("directions", np.full(7, -1)),
    ("directions", np.zeros(6, dtype=int)),
    ("indptr", np.array([0, 1, 2, 2, BIG, 3, 3, 3])),
    ("modifiers", np.array([4, 1, 0])),
    ("modifiers", np.array([0.0, 1.0, 2.0])),
    ("weights", np.ones(6)),
]


@pytest.mark.parametrize(
    "use",
    [
        partial(collect_statistics, n_symbols=3),
        partial(build_prefix_trees, n_symbols=3),
        partial(sequence_values, GRAMMAR),
        partial(log_values, GRAMMAR),
    ],
    ids=["collect_statistics", "build_prefix_trees", "sequence_values", "log_values"],
)
def test_sequences(use):
    use(SEQUENCES)
    for name, value in BAD_SEQUENCES:
        with pytest.raises(ValueError, match=r"sequences\.|must grow"):
            use(SEQUENCES._replace(**{name: value}))


# What is left of an array, or is there twice.
BAD_SHAPES = [np.s_[:1], np.s_[:, :1], np.s_[..., :0], np.s_[..., [0, 0]], np.s_[0]]


@pytest.mark.parametrize(
    "use",
    [
        partial(sequence_values, sequences=SEQUENCES),
        partial(log_values, sequences=SEQUENCES),
        branching_radius,
        partial(sample_derivations, max_length=9),
    ],
    ids=["sequence_values", "log_values", "branching_radius", "sample_derivations"],
)
def test_operators(use):
    for name, array in GRAMMAR._asdict().items():
        for bad in (np.array(1.0), *(array[place] for place in BAD_SHAPES)):
            with pytest.raises(ValueError, match=r"leading axes \(V \+ 2, 2\)"):
                use(GRAMMAR._replace(**{name: bad}))


def make_batch(sentences):
    tokens, indptr = np.concatenate(sentences), np.cumsum([0, *map(len, sentences)])
    vectors = np.arange(20.0).reshape(10, 2)
    columns = Codes(np.stack([tokens, tokens], axis=1), SPELLINGS, vectors, tokens % 10)
    return Batch(
        MemberCodes([tokens, None, columns]),
        indptr,
        sentences=[list(map(str, sentence)) for sentence in sentences],
        allowed=[np.full((len(own), len(own) + 1), bool(own[0] % 2)) for own in sentences],
        known=sentences,
        seeds=np.array([sentence[0] for sentence in sentences]),
    )


def make_examples(sentences):
    """There are as many copies as sentences and as tokens of the first two, by chance."""
    tokens, indptr = np.concatenate(sentences), np.cumsum([0, *map(len, sentences)])
    weights = np.array([sentence[0] / 2 for sentence in sentences])
    lessons = [None if sentence[0] % 2 else f"lesson {sentence[0]}" for sentence in sentences]
    known = tokens[:, None], indptr, tokens + 1, tokens + 2, None, weights
    return Examples(*known, copied=COPIED, lessons=lessons)


def make_potentials(sentences):
    tokens, indptr = np.concatenate(sentences), np.cumsum([0, *map(len, sentences)])
    arcs = [own[0] + np.arange(len(own) * (len(own) + 1)) / 100 for own in sentences]
    arcs = np.concatenate(arcs)  # one number for each, and two classes of memory beside it
    stops = np.tile(tokens[:, None, None], (1, 2, 2))
    return Potentials(indptr, tokens, arcs, None, np.stack([arcs, -arcs], axis=1), stops)


SPELLINGS, COPIED = object(), np.arange(2)


@over(
    ("make", "take"),
    [
        (make_batch, Batch.take),
        (make_examples, Examples.take),
        (make_potentials, take_potentials),
    ],
)
def test_chosen_sentences_are_as_if_they_were_alone(make, take):
    sentences = [np.array([3]), np.array([8]), np.array([4, 7, 2]), np.array([5, 1])]
    for n, chosen in ((2, [1]), (2, [1, 0]), (4, [2]), (4, [3, 0, 2]), (4, [1, 1])):
        found = take(make(sentences[:n]), np.array(chosen))
        assert type(found) is type(make(sentences))
        assert_equal(found, make([sentences[s] for s in chosen]))
