"""TokenFeature: what the symbols are, and the contract of a scikit-learn transformer."""

import pickle
from collections import Counter
from itertools import chain, product

import pytest

from sklearn_shag.treebank import DependencyTree, TokenFeature, UnknownSymbolWarning
from tests.loops import over


@pytest.fixture
def trees():
    return [
        DependencyTree(
            ["dogs", "bark"],
            [2, 0],
            upos=["NOUN", "VERB"],
            xpos=["NNS", "VBP"],
            feats=["Number=Plur", "Tense=Pres"],
        ),
        DependencyTree(
            ["dogs", "slept"],
            [2, 0],
            upos=["NOUN", "VERB"],
            xpos=["NNS", "VBD"],
            feats=["Number=Plur", "Tense=Past"],
        ),
    ]


def symbols_of(trees):
    return [tree.symbols for tree in trees]


@over(
    ("parameters", "expected"),
    [
        ({}, [("NOUN", "VERB"), ("NOUN", "VERB")]),
        ({"feature": "form"}, [("dogs", "bark"), ("dogs", "slept")]),
        ({"joined_with": "xpos"}, [("NOUN|NNS", "VERB|VBP"), ("NOUN|NNS", "VERB|VBD")]),
        ({"joined_with": ()}, [("NOUN", "VERB"), ("NOUN", "VERB")]),
        (
            {"joined_with": ["feats.Number", "form"], "separator": "+"},
            [("NOUN+Plur+dogs", "VERB+_+bark"), ("NOUN+Plur+dogs", "VERB+_+slept")],
        ),
    ],
)
def test_symbols_are_joined(trees, parameters, expected):
    feature = TokenFeature(**parameters)
    transformed = feature.fit_transform(trees)
    assert symbols_of(transformed) == expected
    assert symbols_of(feature.transform(trees)) == expected
    seen = sorted({symbol for symbols in expected for symbol in symbols})
    assert feature.symbols_.tolist() == seen


@pytest.mark.filterwarnings("ignore::sklearn_shag.treebank.UnknownSymbolWarning")
# Behind the last count everything is rare.
@over(("min_count", "rare_symbol"), [*product([1, 2, 5, 60], ["<rare>", None]), (10**6, None)])
def test_symbols_are_those_of_a_count_by_hand(english, min_count, rare_symbol):
    """By loops over the columns; the second half holds symbols that the first does not."""
    half = len(english) // 2
    joined = [tuple(map("+".join, zip(t.upos, t.forms, strict=True))) for t in english]
    seen, expected = Counter(chain(*joined[:half])), []
    kept = {symbol for symbol, count in seen.items() if count >= min_count}
    for tree, symbols in zip(english[half:], joined[half:], strict=True):
        others = symbols
        if min_count > 1:
            others = [rare_symbol] * len(tree) if rare_symbol else tree.upos
        pairs = zip(symbols, others, strict=True)
        expected.append(tuple(own if own in kept else other for own, other in pairs))
    feature = TokenFeature(
        "upos", "form", separator="+", min_count=min_count, rare_symbol=rare_symbol
    )
    feature.fit(english[:half])
    fitted = pickle.dumps(feature)
    assert symbols_of(feature.transform(english[half:])) == expected
    assert feature.symbols_.tolist() == sorted(kept)
    n_rare = sum(count for symbol, count in seen.items() if symbol not in kept)
    assert feature.rare_share_ == n_rare / sum(seen.values())
    # Sentences are transformed one by one, and nothing is learned from them.
    one_by_one = [feature.transform([tree])[0] for tree in english[half : half + 5]]
    assert symbols_of(one_by_one) == expected[:5]
    assert pickle.dumps(feature) == fitted


def test_warnings_point_at_the_line_of_the_user(trees):
    empty = [DependencyTree(tree.forms, upos=tree.upos, deprels=["_", "_"]) for tree in trees]
    with pytest.warns(UnknownSymbolWarning, match="'deprel' is '_' throughout") as caught:
        TokenFeature("upos", "deprel").fit(empty)
    assert caught[0].filename == __file__
