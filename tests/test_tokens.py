"""Tokens are views: what they say is what the columns of their tree say."""

import gc
import pickle

from sklearn_shag.datasets import load_parser
from sklearn_shag.treebank import DependencyTree, MultiwordToken, Token


def test_tokens_say_what_the_columns_say(english):
    for tree in english[:100]:
        rows = [line.split("\t") for line in tree.to_conllu().split("\n")]
        rows = [row for row in rows if row[0].isdecimal()]
        assert len(tree.tokens) == len(rows)
        for token, row in zip(tree.tokens, rows, strict=True):
            cells = [token.index, token.form, token.lemma, token.upos, token.xpos]
            assert [str(cell) for cell in cells] == row[:5]
            assert "|".join(f"{n}={v}" for n, v in token.feats.items()) == row[5].strip("_")
            assert (token.head.index if token.head else 0) == int(row[6])
            assert [token.deprel, token.deps] == row[7:9]
            assert "|".join(f"{n}={v}" for n, v in token.misc.items()) == row[9].strip("_")
            assert all(child.head == token for child in token.children)
            assert {token, *(t for c in token.children for t in c.subtree)} == {*token.subtree}
        assert tree.root.head is None
        assert {*tree.root.subtree} == {*tree.tokens}


def test_the_head_of_the_root_is_no_token():
    """Where an index into the columns silently gives the last token."""
    tree = DependencyTree(["a", "b"], [0, 1], lemmas=["x", "y"])
    assert tree.lemmas[tree.heads[0] - 1] == "y"
    assert tree.tokens[0].head is None
    assert tree.root == tree.tokens[0] != tree.tokens[1]
    assert repr(tree.root) == "Token(1, 'a')"


def test_text_is_at_the_span():
    text = "Cats don't sleep.\n\n  They cannot (now)."
    for tree in load_parser().parse_text(text):
        for token in tree.tokens:
            assert text[slice(*token.span)] == token.text
    du = DependencyTree(["à", "le", "bout"]).with_multiword_tokens([MultiwordToken(1, 2, "au")])
    assert [token.text for token in du.tokens] == ["au", "au", "bout"]
    assert du.tokens[0].span is None


def test_what_is_not_known():
    token = DependencyTree(["a", "b"], [-1, 1]).tokens[0]
    assert token.deps == "_"
    assert (token.lemma, token.upos, token.xpos, token.deprel) == (None, None, None, None)
    assert token.feats == token.misc == {}
    assert token.head is None


def test_tokens_cost_nothing_before_they_are_asked_for(english):
    """Pickles neither; and the tree does not keep them."""
    tree = english[0]
    before = pickle.dumps(tree)
    assert all(each.tokens[0].misc is not None for each in english)
    # Not isinstance: it asks proxies of other tests, whose objects may be gone.
    assert not any(type(each) is Token for each in gc.get_objects())
    assert pickle.dumps(tree) == before
    assert not hasattr(tree, "__dict__")
