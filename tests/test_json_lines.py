"""Trees as dicts and as JSON lines: what was written comes back, and what is wrong is named."""

import gzip
import io
import json
from itertools import chain, islice

import pytest

from sklearn_shag import DeterministicSHAG, save_model
from sklearn_shag.cli import main
from sklearn_shag.treebank import (
    ConlluError,
    DependencyTree,
    EmptyNode,
    MultiwordToken,
    iter_conllu,
    iter_jsonl,
    read_conllu,
    read_jsonl,
    write_conllu,
)
from tests.faults import not_refused
from tests.test_conllu import files_of_treebanks

SENTENCE = """# newdoc id = d
# sent_id=one
# text = au le bas
# odd
0.1\tx\tx\tX\tX\tA=B\t_\t_\t0:root\tP=Q
1-2\tau\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
1\tà\tà\tADP\tP\t_\t3\tcase\t3:case|0.1:dep\t_
2\tle\tle\tDET\tD\tDefinite=Def\t3\tdet\t3:det\tGloss=the
3\tbas\tbas\tNOUN\tN\tNumber=Sing\t0\troot\t0.1:conj\t_
3.1\ty\t_\t_\t_\t_\t_\t_\t_\t_
3.2\tz\t_\t_\t_\t_\t_\t_\t_\t_
"""


def as_lines(*contents):
    return io.StringIO("\n".join(map(json.dumps, contents)))


def test_trees_come_back_from_dicts(english):
    odd = DependencyTree.from_conllu(SENTENCE)
    partial = DependencyTree.from_conllu(SENTENCE.replace("\t0\troot", "\t_\tdep"))
    unknown = DependencyTree.from_conllu(odd.with_heads(None).to_conllu())
    given = DependencyTree.from_conllu("1\ta\t_\t_\t_\t_\t_\tobj\t_\t_\n")  # without a head
    others = (islice(iter_conllu(path), 200) for path in files_of_treebanks("test"))
    for tree in (odd, partial, unknown, given, *english, *chain.from_iterable(others)):
        content = json.loads(json.dumps(tree.to_dict()))
        found = DependencyTree.from_dict(content)
        assert (found, found.deps, found.to_dict()) == (tree, tree.deps, content)
        assert found.document is None or "newdoc" in str(tree.comments)
    for tree in (odd, partial, given, *english):
        assert DependencyTree.from_dict(tree.to_dict()).to_conllu() == tree.to_conllu()


def test_dicts_may_hold_less_or_more():
    tree = DependencyTree.from_dict({"form": ["Dogs", "bark"], "begin": [0, 5], "head": None})
    assert tree == DependencyTree.from_conllu("1\tDogs" + 8 * "\t_" + "\n2\tbark" + 8 * "\t_")
    content = DependencyTree.from_conllu(SENTENCE).to_dict()
    for name in ("one", "two"):
        changed = DependencyTree.from_dict({**content, "sent_id": name, "text": None})
        assert (changed.sent_id, changed.text) == (name, "au le bas")
        assert len(changed.comments) == 4
    bare = DependencyTree.from_dict({**content, "comments": ["# odd"]})
    assert bare.comments == ("# odd", "# sent_id = one", "# text = au le bas")


WRONG = {
    "no form": ({"head": [0]}, "words as 'form'"),
    "no words": ({"form": []}, "words as 'form'"),
    "no dict": (["Dogs"], "words as 'form'"),
    "text": ({"form": "Dogs"}, "form must be a sequence of str"),
    "numbers": ({"form": ["a"], "lemma": [1]}, "lemma must be a sequence of str"),
    "lengths": ({"form": ["a", "b"], "head": [0]}, "head has length 1"),
    "no tree": ({"form": ["a", "b"], "head": [2, 1]}, "no sentence: .* has no root"),
    "no head": ({"form": ["a"], "head": [2]}, "head 2 is outside"),
    "real head": ({"form": ["a"], "head": [0.0]}, "bad head '0.0'"),
    "tab": ({"form": ["a\tb"]}, "tab or line end"),
    "line end": ({"form": ["a"], "misc": ["b\n2"]}, "tab or line end"),
    "comment": ({"form": ["a"], "comments": ["# a\n1\tb"]}, "begins with '#'"),
    "name": ({"form": ["a"], "sent_id": "a\n1\tb"}, "begins with '#'"),
    "range": (
        {"form": ["a"], "multiword_tokens": [{"first": 1, "last": 2, "form": "b"}]},
        "must cover words from 1 to 1",
    ),
    "cells": (
        {"form": ["a"], "multiword_tokens": [{"first": 1, "last": 1, "form": "b\n"}]},
        "tab or line end",
    ),
    "node": ({"form": ["a"], "empty_nodes": [{"after": 2, "form": "b"}]}, "follow a word"),
    "nodes": ({"form": ["a"], "empty_nodes": [{"after": 1, "form": "b"}]}, "columns must be"),
    "nowhere": ({"form": ["a"], "empty_nodes": [{"form": "b"}]}, "after"),
}


def test_wrong_dicts_are_refused():
    errors = (KeyError, TypeError, ValueError)
    assert not not_refused(WRONG.values(), DependencyTree.from_dict, errors)


def test_wrong_lines_are_named_by_file_and_line(tmp_path):
    good = json.dumps({"form": ["Dogs"]})
    wrong = [
        *(json.dumps(content) for content, _ in WRONG.values()),
        *("1\tDogs", "{", "7", '{"form": ["\\ud800"]}', "[" * 10**5, '{"sentences": 3}'),
        *('{"id": 1, "sentences": [3]}', '{"id": 1, "sentences": [{"sent_id": 3}]}'),
    ]
    path = tmp_path / "trees.jsonl"
    for line in wrong:
        path.write_text(f"\n{good}\n{line}\n{good}")
        with pytest.raises(ConlluError, match=rf"^{path}:3: .*JSON"):
            read_jsonl(path)
        assert len(read_jsonl(path, on_error="skip")) == 2
        with pytest.warns(UserWarning, match=r"jsonl:3: .*; the line is left out"):
            assert len(list(iter_jsonl(path, on_error="warn"))) == 2
    bad = f"{good}\n".encode() + b'{"form": ["\xff"]}'
    for data, read, limit, message in (
        (bad, read_jsonl, {}, "jsonl:2: a character is not valid UTF-8"),
        (good.encode(), read_conllu, {}, "read_jsonl reads what parse writes"),
        (good.encode(), read_jsonl, {"max_bytes": 8}, "=8 bytes"),
        (good.encode(), iter_jsonl, {"max_sentence_bytes": 8}, "=8 bytes"),
    ):
        path.write_bytes(data)
        with pytest.raises(ConlluError, match=message):
            list(read(path, **limit))


def test_files_are_read_like_those_of_conllu(tmp_path, english):
    lines = [f"{json.dumps(tree.to_dict())}\r\n".encode() for tree in english]
    (tmp_path / "a.jsonl").write_bytes(b"\xef\xbb\xbf" + b"".join(lines[:100]))
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(b"\n\n".join(lines[100:])))
    (tmp_path / "c.conllu").write_text("not read")
    assert read_jsonl(tmp_path) == english
    found = iter_jsonl([tmp_path / "a.jsonl", io.StringIO(lines[100].decode())], ("upos", "xpos"))
    symbols = [tree.symbols for tree in found]
    assert symbols == [tuple(map("|".join, zip(t.upos, t.xpos))) for t in english[:101]]  # noqa: B905


def test_sentences_belong_to_their_documents():
    one = {"sent_id": "a-1", "comments": ["# newpar"], "form": ["x"]}
    two = {"sent_id": "a-2", "comments": [], "form": ["y"]}
    document = {"id": 7, "sentences": [one, two], "text": "x y"}
    empty = {"id": "b", "sentences": [], "text": ""}
    found = read_jsonl(as_lines(document, empty, {"id": "c", "sentences": [two]}))
    assert [(t.document, t.sent_id) for t in found] == [("7", "a-1"), ("7", "a-2"), ("c", "a-2")]
    assert found[0].comments == ("# newdoc id = 7", "# newpar", "# sent_id = a-1")
    assert found[1].comments == ("# sent_id = a-2",)
    alone = {"id": "s-3", "sentences": [{"comments": [], "form": ["z"]}], "text": None}
    (tree,) = read_jsonl(as_lines(alone))
    assert tree.to_conllu() == "# sent_id = s-3\n1\tz" + 8 * "\t_" + "\n\n"
    assert tree.document is None


def check_what_parse_writes(folder, model, trees, *options):
    """The trees of JSON lines are those of CoNLL-U, with all that belongs to them."""
    write_conllu(trees, folder / "in.conllu")
    save_model(model, folder / "m.npz")
    command = ["parse", str(folder / "m.npz"), str(folder / "in.conllu"), *options]
    for form in ("conllu", "jsonl"):
        assert main([*command, "-o", str(folder / form), "--output-format", form]) == 0
    expected, found = read_conllu(folder / "conllu"), read_jsonl(folder / "jsonl")
    assert found == expected
    for one, other in zip(found, expected, strict=True):
        contents = [
            tree.to_dict() | {"comments": sorted(tree.comments), "document": tree.document}
            for tree in (one, other)
        ]
        assert contents[0] == contents[1]
    return found


@pytest.mark.filterwarnings("ignore:DEPS and empty nodes")
def test_what_parse_writes_of_sentences_comes_back(tmp_path, english):
    tokens, node = [MultiwordToken(1, 2, "xy", "A=b")], EmptyNode(1, tuple("_" * 9))
    given = english[0].with_multiword_tokens(tokens).with_empty_nodes([node])
    trees = [given.with_comments(["# newdoc id = d", "# text = t", "# sent_id = s"]), *english[1:9]]
    model = DeterministicSHAG(smoothing=0.1).fit(english)
    found = check_what_parse_writes(tmp_path, model, trees)
    assert found[0].multiword_tokens == tuple(tokens)
    assert {tree.document for tree in found} == {"d"}
    assert len(check_what_parse_writes(tmp_path, model, trees, "--k-best", "3")) == 27


@pytest.mark.filterwarnings("ignore:DEPS and empty nodes")
@pytest.mark.parametrize("name", ["UD_English-EWT", "UD_French-Sequoia"])
def test_what_parse_writes_of_a_test_set_comes_back(treebank, tmp_path, name):
    data = treebank(name)
    found = check_what_parse_writes(tmp_path, DeterministicSHAG().fit(data.train), data.test)
    assert sum(len(tree.multiword_tokens) for tree in found) > 300
