"""Flat arrays that kernels trust: what is wrong with them is an error, and no signal 11."""

import importlib
import itertools
import pkgutil
from typing import NamedTuple

import numpy as np
import pytest

import sklearn_shag
from sklearn_shag import DeterministicSHAG, Tagger
from sklearn_shag.encoding import take_sentences
from sklearn_shag.operators import (
    Operators,
    branching_radius,
    log_values,
    sample_derivations,
    sequence_values,
)
from sklearn_shag.sequences import (
    assemble_trees,
    build_prefix_trees,
    collect_statistics,
    count_treebank,
    extract_sequences,
)
from sklearn_shag.treebank import DependencyTree, heads
from tests.loops import over

BIG = 10**9
CODES, HEADS, INDPTR = [0, 1, 2], [2, 3, 0], [0, 3]
SEQUENCES = extract_sequences(CODES, HEADS, INDPTR, n_symbols=3)
GRAMMAR = Operators(np.ones((5, 2, 1)), np.ones((5, 2, 1)), np.full((5, 2, 4, 1, 1), 0.1))


@over(
    ("changes", "message"),
    [
        ({"heads": [2, -1, 0]}, r"heads\[1\] must be from 0"),
        ({"heads": [2, 4, 0]}, r"heads\[1\] must be from 0 to 3, got 4"),
        ({"heads": [2, 1, 0]}, r"sentence 0 are not a tree: array\(\[2, 1, 0\]\)"),
        ({"heads": [2, 3, 1]}, "sentence 0 are not a tree"),
        ({"heads": [2]}, r"heads must have the shape \(n_codes,\) = \(3,\), got \(1,\)"),
        ({"heads": [[2, 3, 0]]}, "heads must be a flat array of whole numbers"),
        ({"heads": [2.0, 3.0, 0.0]}, "heads must be a flat array of whole numbers"),
        ({"codes": [0, 4, 2]}, r"codes\[1\] must be from 0 to 3"),
        ({"codes": [0, -1, 2]}, r"codes\[1\] must be from 0 to 3"),
        ({"indptr": [0, BIG]}, "indptr must grow from 0 to the number of codes, 3"),
        ({"indptr": [-BIG, 3]}, "indptr must grow"),
        ({"indptr": [0, 5, 3]}, "indptr must grow"),
        ({"indptr": []}, "indptr must grow"),
        ({"indptr": [0, 1, 3]}, r"heads\[0\] must be from 0 to 1, got 2"),
        (
            {"sample_weight": [1.0, 2.0]},
            r"sample_weight must have the shape \(n_sentences,\) = \(1,\), got \(2,\)",
        ),
    ],
)
def test_trees(changes, message):
    given = {"codes": CODES, "heads": HEADS, "indptr": INDPTR, "n_symbols": 3, **changes}
    with pytest.raises(ValueError, match=message):
        extract_sequences(**given)


def test_cycles_in_a_later_sentence():
    with pytest.raises(ValueError, match="sentence 1 are not a tree"):
        extract_sequences([0] * 6, [2, 3, 0, 0, 3, 2], [0, 3, 6], n_symbols=3)


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
        lambda sequences: collect_statistics(sequences, 3),
        lambda sequences: build_prefix_trees(sequences, 3),
        lambda sequences: sequence_values(GRAMMAR, sequences),
        lambda sequences: log_values(GRAMMAR, sequences),
    ],
    ids=["collect_statistics", "build_prefix_trees", "sequence_values", "log_values"],
)
def test_sequences(use):
    use(SEQUENCES)
    for name, value in BAD_SEQUENCES:
        with pytest.raises(ValueError, match=r"sequences\.|must grow"):
            use(SEQUENCES._replace(**{name: value}))


def test_trigrams_of_unknown_modifiers():
    """Kernels count them in arrays of the known symbols."""
    with pytest.raises(ValueError, match=r"sequences\.modifiers\[0\] must be from 0 to 1, got 2"):
        collect_statistics(extract_sequences(CODES, HEADS, INDPTR, n_symbols=2), 2)


@over(
    ("indptr", "sequence_indptr", "message"),
    [
        ([0, BIG], SEQUENCES.indptr, "indptr must grow from 0 to the number of modifiers, 3"),
        ([-BIG, 3], SEQUENCES.indptr, "indptr must grow"),
        ([0, 1, 3], SEQUENCES.indptr, r"n_sentences \+ 1,\) = \(9,\), got \(8,\)"),
        ([0, 3], [0, 1, 2, 2, BIG, 3, 3, 3], "sequences.indptr must grow"),
        ([0, 3], [0, 0, 2, 2, 3, 3, 3, 3], "not those of whole sentences"),  # token 0 has itself
        ([0, 3], [0, 1, 1, 1, 1, 1, 2, 3], "not those of whole sentences"),  # so has token 1
    ],
)
def test_assembly(indptr, sequence_indptr, message):
    sequences = SEQUENCES._replace(indptr=np.array(sequence_indptr))
    with pytest.raises(ValueError, match=message):
        assemble_trees(sequences, indptr)


BAD_SHAPES = [
    lambda array: array[:1],
    lambda array: array[:, :1],
    lambda array: array[..., :0],
    lambda array: np.concatenate([array] * 2, axis=-1),
    lambda array: array[0],
    lambda array: np.array(1.0),
]


@pytest.mark.parametrize(
    "use",
    [
        lambda operators: sequence_values(operators, SEQUENCES),
        lambda operators: log_values(operators, SEQUENCES),
        branching_radius,
        lambda operators: sample_derivations(operators, 2, 0, max_length=9),
    ],
    ids=["sequence_values", "log_values", "branching_radius", "sample_derivations"],
)
def test_operators(use):
    for part, change in itertools.product(range(3), BAD_SHAPES):
        parts = list(GRAMMAR)
        parts[part] = change(parts[part])
        with pytest.raises(ValueError, match=r"leading axes \(V \+ 2, 2\)"):
            use(Operators(*parts))


def test_sets():
    """What has no order has no partners."""
    trees = [DependencyTree(["a", "b"], [2, 0]), DependencyTree(["b"], [0])]
    model = DeterministicSHAG().fit(trees)
    for use in (model.fit, model.predict, model.parse):
        for X in (set(trees), frozenset(trees), dict.fromkeys(trees).keys()):
            with pytest.raises(TypeError, match=r"X is a \w+, which has no order; pass a list"):
                use(X)
    with pytest.raises(TypeError, match="y is a set, which has no order"):
        model.fit(trees, {(2, 0), (0,)})
    with pytest.raises(TypeError, match=r"has no order|sequence"):
        heads(set(trees))
    with pytest.raises(TypeError, match="has no order"):
        count_treebank(set(trees))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"hidden_layer_sizes": [True]}, "hidden_layer_sizes must hold a positive whole number"),
        ({"n_jobs": 0}, "'n_jobs' parameter of Tagger must be"),
    ],
)
def test_parameters_of_networks(params, message):
    trees = [DependencyTree(["a", "b"], upos=["X", "Y"])] * 4
    with pytest.raises(ValueError, match=message):
        Tagger(**params).fit(trees)


def test_errors_of_folds_name_them():
    trees = [DependencyTree(["a"], upos=["X"]), *[DependencyTree(["b"], upos=["_"])] * 3]
    message = r"In X without fold \d of 4, which is to be tagged: "
    with pytest.raises(ValueError, match=message):
        Tagger(cv=4, max_iter=1, random_state=0).fit_transform(trees)


class Counted(NamedTuple):
    """Two sentences of two tokens, and a table that has as many rows by chance."""

    indptr: np.ndarray
    codes: np.ndarray
    weights: np.ndarray
    table: np.ndarray

    _by_token = ("codes",)
    _by_sentence = ("weights",)


def test_of_records_that_is_taken_which_they_declare():
    table = np.arange(6.0).reshape(2, 3)
    both = Counted(np.array([0, 1, 2]), np.array([7, 8]), np.array([1.0, 2.0]), table)
    part = take_sentences(both, np.array([1]))
    assert part.table is table
    assert [each.tolist() for each in part[:3]] == [[0, 1], [8], [2.0]]


def test_records_declare_fields_of_theirs():
    for info in pkgutil.walk_packages(sklearn_shag.__path__, "sklearn_shag."):
        if not info.name.endswith("__main__"):
            importlib.import_module(info.name)
    records = [each for each in all_classes(tuple) if hasattr(each, "_by_token")]
    assert len(records) > 4
    for record in records:
        of_what = ("_by_token", "_by_sentence", "_by_arc")
        declared = [name for each in of_what for name in getattr(record, each, ())]
        assert len(set(declared)) == len(declared), record
        assert set(declared) <= set(record._fields), record


def all_classes(base):
    """All subclasses, and theirs."""
    return {each for one in base.__subclasses__() for each in (one, *all_classes(one))}
