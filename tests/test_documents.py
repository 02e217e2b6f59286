"""Documents: many texts split and parsed together, and what trees know of them."""

import io
import pickle
import random

import numpy as np
import pytest

from sklearn_shag.network._characters import iter_columns
from sklearn_shag.treebank import DependencyTree, list_paragraphs, read_conllu, write_conllu

TEXTS = [
    "Dogs bark. Cats sleep.",
    "",
    " \n\n",
    "It rains",
    "\n  A headline\n\nShe sees him, he said. They don't mind.\n",
    "a",
    "\u0301It e\u0301merged (today)\r\n\r\nWhy not?",
    "No end, and an address: a.b@c.org",
]


def copies(trees):
    return [(tree, tree.text, tree.misc, tree.multiword_tokens) for tree in trees]


@pytest.mark.parametrize("lines", [False, True])
def test_texts_are_parsed_together_as_alone(bundled, lines):
    """Whatever their order, and whatever they are parsed with."""
    options = {"lines": lines, "confidence": True}
    alone = [copies(bundled.parse_text(text, **options)) for text in TEXTS]
    together = bundled.parse_texts(TEXTS, **options)
    assert list(map(copies, together)) == alone
    order = random.Random(0).sample(range(len(TEXTS)), len(TEXTS))
    mixed = bundled.parse_texts([TEXTS[k] for k in order], **options)
    assert list(map(copies, mixed)) == [alone[k] for k in order]


def test_chunks_and_processes_change_nothing(bundled):
    texts = {f"t{k}": text for k, text in enumerate(TEXTS * 3)}
    expected = dict(bundled.iter_parse_texts(texts.values(), texts))
    assert list(expected) == list(texts)
    for options in ({"chunk_size": 1}, {"chunk_size": 40, "n_jobs": 2}):
        found = dict(bundled.iter_parse_texts(iter(texts.values()), iter(texts), **options))
        assert list(found) == list(texts)
        for name, trees in found.items():
            assert list(map(str, trees)) == list(map(str, expected[name]))
            assert [t.to_conllu() for t in trees] == [t.to_conllu() for t in expected[name]]


def test_few_texts_are_in_memory(bundled):
    """Only as many as make a chunk have been taken when the first trees come."""
    left = iter(["Dogs bark."] * 100)
    found = bundled.iter_parse_texts(left, chunk_size=50)
    assert next(found)[0] == 0
    assert len(list(left)) >= 94


def test_documents_are_written_and_read_back(bundled, tmp_path):
    names = ["a", "b c", "empty", "d"]
    documents = bundled.parse_texts(["Dogs bark. It rains.", "Why? How? No.", "", "Yes."], names)
    trees = [tree for document in documents for tree in document]
    write_conllu(trees, tmp_path / "x.conllu")
    again = read_conllu(tmp_path / "x.conllu")
    assert [tree.document for tree in again] == ["a", "a", "b c", "b c", "b c", "d"]
    assert [tree.document for tree in trees] == [tree.document for tree in again]
    assert [tree.sent_id for tree in again] == ["a-1", "a-2", "b c-1", "b c-2", "b c-3", "d-1"]
    assert [tree.comments for tree in again] == [tree.comments for tree in trees]
    assert "".join(tree.to_conllu() for tree in again) == (tmp_path / "x.conllu").read_text()
    twice = read_conllu([tmp_path / "x.conllu", io.StringIO(DependencyTree(["a"]).to_conllu())])
    assert twice[-1].document is None  # a file ends the document of the one before
    assert pickle.loads(pickle.dumps(again[1])).document == "a"
    assert again[1].with_heads(None).document == "a"


def test_a_comment_ends_a_document():
    row = "1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    text = f"# newdoc id = x\n{row}{row}# newdoc\n{row}# text = newdoc id\n{row}#newdoc id=y\n{row}"
    found = [tree.document for tree in read_conllu(io.StringIO(text))]
    assert found == ["x", "x", None, None, "y"]
    invalid = text.replace("1\ta", "7\ta", 1)
    found = [tree.document for tree in read_conllu(io.StringIO(invalid), on_error="skip")]
    assert found == ["x", None, None, "y"]
    assert DependencyTree(["a"]).with_comments(["# newdoc id = z"]).document == "z"


def test_no_character_sees_the_next_text():
    """Each column of characters is that of the text alone, also at its last character."""
    texts = ["It slept.", "No end", "a", "He said: (no)\n", "Why"]
    joined = "\n\n".join(texts)
    begins = np.cumsum([0, *(len(text) + 2 for text in texts)])[:-1]
    stops = begins + [len(text) - 1 for text in texts]
    together = list(iter_columns(joined, list_paragraphs(joined), stops))
    for begin, text in zip(begins, texts, strict=True):
        alone = iter_columns(text, list_paragraphs(text))
        for (name, values, _, places), (_, own, _, own_places) in zip(together, alone, strict=True):
            found = [values[k] for k in places[begin : begin + len(text.rstrip())]]
            assert found == [own[k] for k in own_places[: len(text.rstrip())]], name
