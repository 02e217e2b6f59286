"""TokenFeature: what the symbols are, and the contract of a scikit-learn transformer."""

import pickle
import warnings

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


class TestSymbols:
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
    def test_joined(self, trees, parameters, expected):
        feature = TokenFeature(**parameters)
        transformed = feature.fit_transform(trees)
        assert symbols_of(transformed) == expected
        assert symbols_of(feature.transform(trees)) == expected
        seen = sorted({symbol for symbols in expected for symbol in symbols})
        assert feature.symbols_.tolist() == seen

    @pytest.mark.filterwarnings("ignore::sklearn_shag.treebank.UnknownSymbolWarning")
    @over("min_count", [1, 2, 5, 60])
    @over("rare_symbol", ["<rare>", None])
    def test_symbols_are_those_of_a_count_by_hand(self, english, min_count, rare_symbol):
        """By loops over the columns; the second half holds symbols that the first does not."""
        half = len(english) // 2
        seen = {}
        for tree in english[:half]:
            for upos, form in zip(tree.upos, tree.forms, strict=True):
                seen[f"{upos}+{form}"] = seen.get(f"{upos}+{form}", 0) + 1
        kept = {symbol for symbol, count in seen.items() if count >= min_count}
        expected = []
        for tree in english[half:]:
            pairs = [
                (upos, f"{upos}+{form}") for upos, form in zip(tree.upos, tree.forms, strict=True)
            ]
            expected.append(
                tuple(
                    joined if min_count == 1 or joined in kept else rare_symbol or upos
                    for upos, joined in pairs
                )
            )
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

    @pytest.mark.parametrize(("n_new", "warns"), [(9, False), (10, True)])
    def test_many_more_rare_symbols_than_in_training(self, n_new, warns):
        """Two in a hundred tokens are rare in training: up to nine are in another text."""
        train = DependencyTree(["dogs"] * 98 + ["bark", "meow"])
        feature = TokenFeature("form", min_count=2).fit([train])
        assert feature.rare_share_ == 0.02
        new = DependencyTree(["dogs"] * (100 - n_new) + ["neigh"] * n_new)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            feature.transform([new])
        assert len(caught) == warns
        if warns:
            message = str(caught[0].message)
            assert message.startswith("10 % of the tokens (10 of 100) have symbols that are rare")
            assert "where they make up 2 %" in message
            assert "'neigh'" in message

    def test_everything_is_rare_and_has_its_own_replacement(self, trees):
        feature = TokenFeature("upos", "xpos", min_count=9, rare_symbol=None).fit(trees)
        assert feature.symbols_.shape == (0,)
        assert symbols_of(feature.transform(trees)) == [("NOUN", "VERB")] * 2

    @pytest.mark.parametrize(
        ("columns", "n_warnings"),
        [(("upos", "deprel"), 1), (("upos", ["lemma", "deprel"]), 2), (("upos", "xpos"), 0)],
    )
    def test_joined_columns_without_values(self, trees, columns, n_warnings):
        empty = [
            DependencyTree(
                tree.forms, upos=tree.upos, xpos=["_", "VBP"], lemmas=["_", "_"], deprels=["_", "_"]
            )
            for tree in trees
        ]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            TokenFeature(*columns).fit(empty)
        assert [warning.category for warning in caught] == [UnknownSymbolWarning] * n_warnings
        for warning, name in zip(reversed(caught), ("deprel", "lemma"), strict=False):
            assert str(warning.message).startswith(f"The column {name!r} is '_' throughout")
            assert warning.filename == __file__
