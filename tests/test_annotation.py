"""Annotation: answers beside a plain model, histories, and a journal that outlives any end."""

import errno
import os
import random
import shutil
import subprocess
import sys
import time
from functools import partial
from itertools import islice

import numpy as np
import pytest

from sklearn_shag.annotation._annotation import Annotation
from sklearn_shag.annotation._boundaries import ConflictError
from sklearn_shag.annotation._draft import Guess
from sklearn_shag.annotation._store import Store, _digest_trees
from sklearn_shag.datasets import load_english
from sklearn_shag.treebank import (
    find_guesses,
    forget_guesses,
    keep_given,
    read_conllu,
    with_tags,
    with_valid_heads,
    write_conllu,
)
from tests.loops import over
from tests.plain_annotation import COLUMNS, PlainConflictError, PlainModel, complete_heads


class HangOnRoot:
    """A parser that hangs words on the root, and gives all words the same tags."""

    def __init__(self, tags=()):
        self.tags = dict(tags)

    def guess(self, tree):
        known = [-1] * len(tree) if tree.heads is None else tree.heads.tolist()
        heads, own = complete_heads(known), tree.deprels or ["_"] * len(tree)
        rows = zip(own, heads, strict=True)
        relations = [r if r != "_" else ("dep" if head else "root") for r, head in rows]
        found = with_valid_heads(tree, np.array(heads), relations, keep_deps=True)
        tags = {name: [value] * len(tree) for name, value in self.tags.items()}
        given = keep_given(with_tags(found, tags), tree) if tags else found
        return Guess(given, list(tags), [{"probability": 0.5} for _ in heads])


def draw_answers(rng, tree):
    """Draw the answers of an annotator."""
    n, answers = len(tree), {}
    word = lambda: rng.randint(1, n)  # noqa: E731
    for _ in range(rng.choice([1, 1, 2])):
        kind = rng.choice(["heads", "heads", "deprels", "tags", "confirm", "unknown", "checked"])
        if kind == "heads":
            own = word()
            head = rng.randint(0, n)
            if head != own:
                answers.setdefault("heads", {})[str(own)] = head
        elif kind == "deprels":
            own = word()
            is_root = tree.heads is not None and tree.heads[own - 1] == 0
            relation = "root" if is_root else rng.choice(["obj", "nsubj"])
            answers["deprels"] = {str(own): relation}
        elif kind == "tags":
            value = {"upos": "ADV", "feats": "Case=Gen"}
            name = rng.choice(list(COLUMNS))
            answers[name] = {str(word()): value.get(name, f"new{rng.randint(0, 9)}")}
        elif kind == "checked":
            answers["checked"] = rng.random() < 0.7
            answers["note"] = rng.choice(["", "look again", "è = é"])
        else:
            answers[kind] = [word() for _ in range(rng.randint(1, 3))]
    return answers


def change_both(rng, annotation, plain):
    """Make one random change in both; return its kind, or None if both refuse it."""
    trees = [each.tree for each in annotation.store.sentences]
    at = rng.choice([rng.randrange(len(trees)), rng.randrange(5)])
    n, kind = (
        len(trees[at]),
        rng.choices(
            ["answer", "undo", "undo one", "redo", "split", "split word", "join", "join word"],
            [12, 2, 2, 2, 1, 2, 1, 3],
        )[0],
    )
    word = rng.randint(1, n)
    calls = {
        "undo": (annotation.undo, plain.undo),
        "redo": (annotation.redo, plain.redo),
        "undo one": (lambda: annotation.undo(at), lambda: plain.undo(at)),
        "split": (lambda: annotation.split(at, word), lambda: plain.split_sentence(at, word)),
        "join": (lambda: annotation.join(at), lambda: plain.join_sentences(at)),
        "join word": (lambda: annotation.join(at, word), lambda: plain.join_words(at, word)),
    }
    if kind == "answer":
        answers = draw_answers(rng, trees[at])
        calls[kind] = lambda: annotation.answer(at, answers), lambda: plain.answer(at, answers)
    if kind == "split word":
        k = rng.randint(1, 4)
        calls[kind] = lambda: annotation.split(at, word, k), lambda: plain.split_word(at, word, k)
    results = []
    for call in calls[kind]:
        try:
            results.append(call())
        except (ConflictError, PlainConflictError):
            results.append("conflict")
        except ValueError:
            results.append("invalid")
    if kind == "answer" or isinstance(results[1], str):
        assert results[0] == results[1], (kind, results)
    else:
        assert not isinstance(results[0], str), (kind, results)
    return None if results[1] in ("conflict", "invalid") else kind


FILES = {
    "UD_English-EWT": {},
    "UD_Tamil-TTB": {"upos": "NOUN", "feats": "_"},
    "UD_Latin-Perseus": {"lemma": "lemma"},
}


@over("name", FILES)
def test_random_changes_give_what_a_plain_model_gives(name, tmp_path_factory, treebank):
    tmp_path = tmp_path_factory.mktemp(name)
    path = tmp_path / "in.conllu"
    write_conllu(treebank(name).test[:300], path)
    text = path.read_text(encoding="utf-8")
    out = tmp_path / "out.conllu"
    rng = random.Random(name)
    tags = FILES[name]
    store = Store(str(out), [str(path)], lambda: read_conllu(path))
    annotation, plain = Annotation(store, HangOnRoot(tags)), PlainModel(text, tags)
    kinds = []
    for k in range(1000):
        kinds.append(change_both(rng, annotation, plain))
        if k % 250 == 100:  # as if killed
            store._journal.close()
            store = Store(str(out), [str(path)], None)
            annotation = Annotation(store, HangOnRoot(tags))
            plain.done, plain.undone = [], []
        if k % 100 == 50:
            store.save()
            assert out.read_text(encoding="utf-8") == plain.write()
    assert len(set(kinds)) == 9
    store.close()
    assert out.read_text(encoding="utf-8") == plain.write()


@pytest.fixture
def opened(tmp_path):
    """Write a small file, and open it for annotation as often as asked."""
    path = tmp_path / "in.conllu"
    write_conllu(load_english().data[:8], path)

    stores = []

    def open_anew(out="out.conllu", sources=(path,)):
        names = list(map(str, sources))
        store = Store(str(tmp_path / out), names, partial(read_conllu, names))
        stores.append(store)
        return Annotation(store, HangOnRoot())

    yield open_anew
    for store in stores:
        store._journal.close()


def written(annotation):
    return [each.tree.to_conllu() for each in annotation.store.sentences]


def test_a_head_frees_what_does_not_fit_and_arcs_follow(tmp_path):
    path = tmp_path / "in.conllu"
    columns = [
        ("a", 2, "det", "2:det|4:x"),
        ("b", 3, "nsubj", "3:nsubj"),
        ("c", 0, "root", "4:y|0:root"),  # not sorted
    ]
    rows = [
        f"{k}\t{form}\t_\tX\t_\t_\t{head}\t{relation}\t{deps}\tA=1"
        for k, (form, head, relation, deps) in enumerate([*columns, ("d", 3, "obj", "_")], start=1)
    ]
    path.write_bytes("\r\n".join(["# text = a b c d", *rows, "", ""]).encode())
    store = Store(str(path), [str(path)], lambda: read_conllu(path))
    annotation = Annotation(store, HangOnRoot())
    assert annotation.answer(0, {"heads": {"2": 1}}) == [1]
    first, second, third, *_ = store.sentences[0].tree.to_conllu().split("\r\n")[1:]
    assert first.split("\t")[6:] == ["3", "dep", "3:dep|4:x", "A=1|Predicted=Yes"]
    assert second.split("\t")[6:] == ["1", "dep", "1:dep", "A=1|Guessed=deprel"]
    assert third.split("\t")[6:] == ["0", "root", "4:y|0:root", "A=1"]
    assert annotation.answer(0, {"heads": {"4": 0}, "deprels": {"4": "root"}}) == [3]
    described = annotation.describe(0)
    assert [token["head"] for token in described["tokens"]] == [4, 1, 4, 0]
    assert [token["known"] for token in described["tokens"]] == [False, True, False, True]
    before = path.read_bytes()
    for wrong in ({"heads": {"1": 1}}, {"heads": {"5": 1}}, {"heads": {"1": 9}}, {"confirm": [0]}):
        with pytest.raises(ValueError, match=r"cannot be|no word"):
            annotation.answer(0, wrong)
    with pytest.raises(ValueError, match="cycle"):
        annotation.answer(0, {"heads": {"1": 2, "2": 1}})
    with pytest.raises(ValueError, match="neither an empty string nor a tab"):
        annotation.answer(0, {"lemma": {"1": "a\tb"}})
    with pytest.raises(ValueError, match="neither an empty string nor a tab"):
        annotation.answer(0, {"note": "a\n# checked = yes"})
    assert path.read_bytes() == before
    annotation.answer(0, {"checked": True})
    assert not find_guesses(store.sentences[0].tree)["head"].any()
    for _ in range(3):
        annotation.undo()
    store.close()
    assert path.read_bytes() == before


def test_relations_that_are_guessed_are_not_learned(opened):
    annotation = opened()
    tree = annotation.store.sentences[0].tree
    word = 1 + next(k for k in range(len(tree)) if tree.heads[k] > 2)
    annotation.answer(0, {"heads": {str(word): 1 if word > 1 else 2}})
    found = forget_guesses(annotation.store.sentences[0].tree)
    assert found.heads[word - 1] in (1, 2)
    assert found.deprels[word - 1] == "_"


def test_unlabelled_sentences_stay_until_they_are_answered(opened, tmp_path):
    trees = [tree.with_heads(None) for tree in load_english().data[:8]]
    write_conllu(trees, tmp_path / "bare.conllu")
    annotation = opened("bare.conllu", [tmp_path / "bare.conllu"])
    shown = annotation.describe(0)["tokens"]
    assert [token["head"] for token in shown[:3]] == [0, 1, 1]
    assert not any(token["known"] for token in shown)
    rows = annotation.list_sentences()
    assert rows[0]["expected_errors"] == len(shown) / 2
    assert rows[1]["expected_errors"] is None
    assert written(annotation) == [tree.to_conllu() for tree in trees]
    annotation.answer(0, {"confirm": [2], "deprels": {"3": "obj"}})
    tree = annotation.store.sentences[0].tree
    assert tree.heads[:3].tolist() == [0, 1, 1]
    assert tree.deprels[:3] == ("root", "dep", "obj")
    assert np.flatnonzero(~find_guesses(tree)["head"]).tolist() == [1, 2]
    assert written(annotation)[1:] == [tree.to_conllu() for tree in trees[1:]]


def test_stale_versions_and_other_sentences_are_refused(opened):
    annotation = opened()
    first = annotation.describe(0)
    annotation.answer(0, {"note": "seen", "version": first["version"], "id": first["id"]})
    assert annotation.describe(0)["note"] == "seen"
    with pytest.raises(ConflictError, match="another version"):
        annotation.answer(0, {"note": "late", "version": first["version"]})
    annotation.split(0, 2)
    assert [annotation.describe(k)["id"] for k in (0, 1, 2)] == [0, annotation.store.version, 1]
    with pytest.raises(ConflictError, match="another id"):
        annotation.answer(1, {"note": "to the second", "id": 1})
    with pytest.raises(LookupError):
        annotation.describe(9)
    annotation.answer(1, {"note": "to the second part"})
    with pytest.raises(ConflictError, match="other part"):
        annotation.undo(0)
    annotation.undo(1)
    annotation.undo(0)
    assert [annotation.describe(k)["id"] for k in (0, 1)] == [0, 1]


def test_a_file_that_was_not_made_from_these_is_refused(opened, tmp_path):
    opened("out.conllu").store.close()
    opened("out.conllu").store.close()  # the next day
    (tmp_path / "other.conllu").write_text("", encoding="utf-8")
    with pytest.raises(ValueError, match="not made from these files"):
        opened("other.conllu")
    with pytest.raises(ValueError, match="other files than these"):
        opened("out.conllu", [tmp_path / "other.conllu"])
    annotation = opened("out.conllu")
    with pytest.raises(BlockingIOError):
        opened("out.conllu")
    annotation.answer(0, {"note": "not in the file yet"})
    annotation.store._journal.close()
    write_conllu(load_english().data[:3], tmp_path / "out.conllu")
    with pytest.raises(ValueError, match="changed by another program"):
        opened("out.conllu")


def test_a_full_disk_forgets_nothing(opened, monkeypatch):
    annotation = opened()
    annotation.answer(0, {"note": "first"})
    before, file = written(annotation), annotation.store._journal._file

    class Full:
        """A file on a disk that is full after some bytes."""

        left = 20

        def write(self, data):
            if not self.left:
                raise OSError(errno.ENOSPC, "No space left on device")
            n, self.left = self.left, 0
            return file.write(data[:n])

        def __getattr__(self, name):
            return getattr(file, name)

    monkeypatch.setattr(annotation.store._journal, "_file", Full())
    for change in (lambda: annotation.answer(1, {"note": "second"}), annotation.undo):
        with pytest.raises(OSError, match="No space"):
            change()
        assert written(annotation) == before
    monkeypatch.setattr(annotation.store._journal, "_file", file)
    annotation.answer(1, {"note": "second"})
    annotation.undo()
    annotation.redo()
    after = written(annotation)
    annotation.store._journal.close()
    assert written(opened()) == after


WORKER = """
import sys
sys.path.insert(0, {root!r})
from tests.test_annotation import work
for digest in work({source!r}, {out!r}, {seed}):
    print(digest, flush=True)
"""


def digest(store):
    return _digest_trees([each.tree for each in store.sentences])


def work(source, out, seed):
    """Change sentences, and yield what all of them are after each answer."""
    rng = random.Random(seed)
    store = Store(out, [source], lambda: read_conllu(source))
    annotation = Annotation(store, HangOnRoot())
    while True:
        at, word = rng.randrange(len(store.sentences)), rng.randint(1, 5)
        kind = rng.choice(["answer"] * 6 + ["split", "join", "undo", "redo", "save"])
        answers = draw_answers(rng, store.sentences[at].tree)
        calls = {
            "answer": partial(annotation.answer, at, answers),
            "split": partial(annotation.split, at, word),
            "join": partial(annotation.join, at),
        }
        try:
            calls.get(kind, getattr(store, kind, None))()
        except (ConflictError, ValueError):
            continue
        try:
            yield digest(store)
        except GeneratorExit:
            store._journal.close()
            raise


@pytest.mark.parametrize("n_kills", [3, pytest.param(50, marks=pytest.mark.exhaustive)])
def test_no_answer_is_lost_where_the_process_is_killed(tmp_path, n_kills):
    """What was answered is there, and at most the change that was under way besides."""
    source, out, copy = (
        str(tmp_path / name) for name in ("in.conllu", "out.conllu", "copy.conllu")
    )
    write_conllu(load_english().data[:30], source)
    for seed in range(n_kills):
        for ending in ("", ".journal"):
            if os.path.exists(out + ending):
                shutil.copy(out + ending, copy + ending)
        code = WORKER.format(root=os.getcwd(), source=source, out=out, seed=seed)
        child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        answered = [child.stdout.readline().strip()]
        time.sleep(random.Random(seed).expovariate(1 / 0.1))
        child.kill()
        answered += child.communicate()[0].split()
        expected = list(islice(work(source, copy, seed), len(answered) + 1))
        assert answered == expected[:-1]
        store = Store(out, [source], None)
        assert digest(store) in expected[-2:]
        if seed % 3:
            store.close()
        else:
            store._journal.close()
