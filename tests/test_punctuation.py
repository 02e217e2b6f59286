"""Trees without their punctuation."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sklearn_shag.metrics import is_punctuation
from sklearn_shag.treebank import DependencyTree, heads, remove_punctuation
from tests import oracles


def tree_of(symbols, heads=None, **columns):
    forms = [f"{symbol}{k}" for k, symbol in enumerate(symbols)]
    return DependencyTree(forms, heads, upos=list(symbols), **columns)


@given(st.lists(st.sampled_from(["NOUN", "PUNCT", ".", "VERB"]), min_size=1), st.integers(0, 99))
def test_heads_are_those_of_the_marks_above(symbols, seed):
    """Token by token: the nearest ancestor that is no punctuation mark."""
    given_heads = oracles.random_tree(np.random.default_rng(seed), len(symbols))
    tree = tree_of(symbols, given_heads)
    words = [k for k, symbol in enumerate(symbols, start=1) if not is_punctuation(symbol)]
    if set(symbols) <= {"PUNCT", "."}:
        assert remove_punctuation([tree]) == []
        return
    (found,) = remove_punctuation([tree])
    assert list(found.symbols) == [symbols[k - 1] for k in words]
    assert list(found.forms) == [tree.forms[k - 1] for k in words]
    for place, word in enumerate(words, start=1):
        above = tree.path(word, 0)[1:]
        nearest = next(k for k in above if k == 0 or k in words)
        assert found.heads[place - 1] == (words.index(nearest) + 1 if nearest else 0)


def test_columns_and_symbols_are_those_of_the_words():
    tree = DependencyTree(
        ["Stop", "!", "now"],
        [0, 1, 1],
        lemmas=["stop", "!", "now"],
        xpos=["VB", ".", "RB"],
        feats=["Mood=Imp", "_", "_"],
        deprels=["root", "punct", "advmod"],
        symbols=["VERB", "PUNCT|.", "ADV"],
    )
    (found,) = remove_punctuation([tree])
    expected = DependencyTree(
        ["Stop", "now"],
        [0, 1],
        lemmas=["stop", "now"],
        xpos=["VB", "RB"],
        feats=["Mood=Imp", "_"],
        deprels=["root", "advmod"],
        symbols=["VERB", "ADV"],
    )
    assert found == expected


def test_what_is_not_known_stays_so():
    partial = tree_of(["NOUN", "PUNCT", "NOUN", "VERB"], [2, -1, -1, 1])
    assert heads(remove_punctuation([partial]))[0].tolist() == [-1, -1, 1]
    assert remove_punctuation([tree_of(["NOUN", "PUNCT"])])[0].heads is None


def test_trees_without_punctuation_stay_as_they_are_and_sentences_of_marks_are_left_out():
    trees = [tree_of(["NOUN"], [0]), tree_of(["PUNCT", "."], [2, 0]), tree_of(["VERB"], [0])]
    found = remove_punctuation(iter(trees))
    assert found[0] is trees[0]
    assert found[1] is trees[2]
    assert len(found) == 2
    assert remove_punctuation([]) == []
