"""Pictures of trees and pages of them, tables of tokens, and other tools that search."""

import re
from collections import Counter
from pathlib import Path

import pytest

from sklearn_shag.cli._main import main
from sklearn_shag.treebank import DependencyTree, to_dataframe, to_html, to_spacy, write_conllu

TREE = DependencyTree(
    ["The", "dog", "<b>", "."],
    [2, 3, 0, 3],
    upos=["DET", "NOUN", "VERB", "PUNCT"],
    deprels=["det", "nsubj", "root", "punct"],
)


def test_pages_stand_alone(english):
    trees = [*english[:3], TREE]
    page = to_html(trees, highlight=lambda token: token.upos == "VERB")
    assert page.count("<svg ") == 4
    assert not re.search(r"(src|href)=|<script|<b>\.", page)
    assert all(tree.text in page for tree in english[:3])
    assert "&lt;b&gt;" in page
    shown = page._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert "<svg" not in shown  # it is escaped


def test_command_draws_a_page(english, tmp_path, capsys):
    write_conllu(english[:5], tmp_path / "a.conllu")
    command = ["draw", str(tmp_path / "a.conllu"), "--highlight", "obj,nsubj", "--colors"]
    assert main([*command, "-o", str(tmp_path / "page.html")]) == 0
    wanted = {"highlight": lambda token: token.deprel in ("obj", "nsubj"), "colors": True}
    assert (tmp_path / "page.html").read_text() == to_html(english[:5], **wanted)
    assert main(["draw", str(tmp_path / "a.conllu"), "--compact"]) == 0
    assert capsys.readouterr().out == to_html(english[:5], compact=True)


def test_tables_have_heads_and_features(english):
    pytest.importorskip("pandas")
    trees = [tree.with_comments([]) for tree in english[:30]]
    trees[0] = trees[0].with_comments(["# newdoc id = x"])
    plain, table = to_dataframe(trees), to_dataframe(trees, extended=True)
    assert table[plain.columns].equals(plain)
    assert table["document"].dropna().tolist() == ["x"] * len(trees[0])
    tokens = [token for tree in trees for token in tree.tokens]
    for token, (_, row) in zip(tokens, table.iterrows(), strict=True):
        found = [row["head_form"], row["head_lemma"], row["head_upos"]]
        head = token.head
        assert (found != found) or head is None or found == [head.form, head.lemma, head.upos]
        assert (head is None) == (row["head_form"] != row["head_form"])
        assert token.feats == {
            name.removeprefix("feats."): value
            for name, value in row.items()
            if name.startswith("feats.") and value == value
        }


def test_the_matcher_of_spacy_finds_what_tokens_find(english):
    """As the guide shows it."""
    matcher_of = pytest.importorskip("spacy.matcher").DependencyMatcher
    doc = to_spacy(english[:100])
    matcher = matcher_of(doc.vocab)
    verb = {"RIGHT_ID": "verb", "RIGHT_ATTRS": {"POS": "VERB"}}
    thing = {"LEFT_ID": "verb", "REL_OP": ">", "RIGHT_ID": "object", "RIGHT_ATTRS": {"DEP": "obj"}}
    matcher.add("objects", [[verb, thing]])
    pairs = [(doc[verb].lemma_, doc[thing].lemma_) for _, (verb, thing) in matcher(doc)]
    expected = [
        (t.head.lemma, t.lemma)
        for tree in english[:100]
        for t in tree.tokens
        if t.deprel == "obj" and t.head.upos == "VERB"
    ]
    assert Counter(pairs) == Counter(expected)
    assert len(expected) > 20


PICTURES = Path(__file__).parent / "data" / "pictures"
PARTIAL = DependencyTree(
    ["a", "b", "\x00\ud800", "d"], [3, -1, 0, 3], deprels=["obj", '"', "<", "'"]
)
DRAWN = {
    "tree": TREE.to_svg(),
    "compact": TREE.to_svg(compact=True),
    "colours": TREE.to_svg(highlight=[2, 3], colors=True),
    "highlighted": TREE.to_svg(highlight=lambda token: token.deprel == "nsubj"),
    "unlabelled": TREE.with_heads(None).to_svg(),
    "partial": PARTIAL.to_svg(),
    "crossing": DependencyTree(["a", "long word", "猫は", "d"], [3, 4, 0, 3]).to_svg(),
}


@pytest.mark.parametrize("name", DRAWN)
def test_pictures_are_those_that_were_looked_at(name):
    """To draw another one, delete the file, run this test, and look at what it has written."""
    path = PICTURES / f"{name}.svg"
    if not path.exists():
        path.write_text(DRAWN[name], encoding="utf-8")
        pytest.fail(f"{path} is new: look at it")
    assert path.read_text(encoding="utf-8") == DRAWN[name]
