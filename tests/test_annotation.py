"""Annotation: answers beside a plain model, the interface, and a database that outlives any end."""

import random

import numpy as np

from sklearn_shag.annotation import Annotation, ConflictError, Store
from sklearn_shag.treebank import keep_given, read_conllu, with_tags, with_valid_heads
from tests.loops import over
from tests.plain_annotation import PlainConflictError, PlainModel


class HangOnRoot:
    """A parser that hangs words on the root, and gives all words the same tags."""

    def __init__(self, tags=()):
        self.tags = dict(tags)

    def guess(self, tree):
        known = np.full(len(tree), -1) if tree.heads is None else tree.heads
        root = 1 + [*np.flatnonzero(known == 0), *np.flatnonzero(known == -1)][0]
        heads = np.where(known == -1, root, known)
        heads[root - 1] = 0
        relations = np.where(heads == 0, "root", "dep").tolist()
        found = with_valid_heads(tree, heads, relations, keep_deps=True)
        for name, value in self.tags.items():
            found = with_tags(found, {name: [value] * len(tree)})
        likely = [[] for _ in tree.forms]
        of_words = {"probability": [0.5 for _ in likely], "alternatives": likely, "relations": likely}
        return keep_given(found, tree), list(self.tags), of_words


def draw_answers(rng, tree):
    """Draw the answers of an annotator."""
    n, answers = len(tree), {}
    while not answers or rng.random() < 0.3:
        own, k = str(rng.randint(1, n)), rng.randint(0, n)
        tags = {"upos": "ADV", "feats": "Case=Gen", "lemma": f"new{k}", "xpos": f"X{k}"}
        name = rng.choice(list(tags))
        is_root = tree.heads is not None and tree.heads[int(own) - 1] == 0
        relation = rng.choice(["obj", "nsubj", "root" if is_root else "obj:x"])
        one = rng.choice(
            [
                {"heads": {own: k}} if k != int(own) else {},
                {"heads": {own: k}, "deprels": {own: relation}} if k != int(own) else {},
                {"deprels": {own: relation}},
                {name: {own: tags[name]}},
                {"confirm": [rng.randint(1, n) for _ in range(3)]},
                {"unknown": [rng.randint(1, n) for _ in range(3)]},
                {"checked": k > 1, "note": rng.choice(["", "look again", "è = é"])},
            ]
        )
        answers |= one
    return answers


def change_both(rng, annotation, plain):
    """Make one random change in both; return its kind, or None if both refuse it."""
    sentences = annotation.store.sentences
    at = rng.choice([rng.randrange(len(sentences)), rng.randrange(5)])
    tree = sentences[at].tree
    word, k, answers = rng.randint(1, len(tree)), rng.randint(1, 4), draw_answers(rng, tree)
    weights = {"answer": 12, "undo": 2, "undo one": 2, "redo": 2, "split": 1, "split word": 2}
    weights |= {"join": 1, "join word": 3}
    kind = rng.choices([*weights], [*weights.values()])[0]
    calls = {
        "answer": (lambda: annotation.answer(at, answers), lambda: plain.answer(at, answers)),
        "undo": (lambda: annotation.undo(None, {}), plain.undo),
        "undo one": (lambda: annotation.undo(at, {}), lambda: plain.undo(at)),
        "redo": (lambda: annotation.redo({}), plain.redo),
        "split": (
            lambda: annotation.split(at, {"word": word}),
            lambda: plain.split_sentence(at, word),
        ),
        "split word": (
            lambda: annotation.split(at, {"word": word, "character": k}),
            lambda: plain.split_word(at, word, k),
        ),
        "join": (lambda: annotation.join(at, {}), lambda: plain.join_sentences(at)),
        "join word": (
            lambda: annotation.join(at, {"word": word}),
            lambda: plain.join_words(at, word),
        ),
    }
    results = []
    for call in calls[kind]:
        try:
            results.append(call())
        except (ConflictError, PlainConflictError):
            results.append("conflict")
        except ValueError:
            results.append("invalid")
    is_refused = isinstance(results[1], str)
    found = results[0].get("freed") if isinstance(results[0], dict) else results[0]
    assert found == results[1], (kind, at, word, answers, results)
    text = "".join(each.tree.to_conllu() for each in annotation.store.sentences)
    assert text.replace("\r", "") == plain.write(), (kind, at, word, k, answers)
    return None if is_refused else kind


FILES = {
    "UD_English-EWT": {},
    "UD_Tamil-TTB": {"upos": "NOUN", "feats": "_"},
    "UD_Latin-Perseus": {"lemma": "lemma"},
}


@over("name", FILES)
def test_random_changes_give_what_a_plain_model_gives(name, tmp_path_factory, treebank):
    folder = tmp_path_factory.mktemp(name)
    change_at_random(folder, treebank(name).test[:300], FILES[name], 1000)


def change_at_random(folder, trees, tags, n_changes, seed=0):
    path, out = folder / "in.conllu", folder / "out.conllu"
    text = "".join(tree.to_conllu() for tree in trees)
    path.write_bytes((text.replace("\n", "\r\n") if "feats" in tags else text).encode())
    rng, kinds, plain = random.Random(seed), [], PlainModel(text, tags)
    for k in range(n_changes):
        if k % 250 == 100:  # as if killed
            store._db.close()
            plain.done, plain.undone = [], []
        if k == 0 or k % 250 == 100:
            store = Store(str(out), [str(path)], lambda: read_conllu(path))
            annotation = Annotation(store, HangOnRoot(tags))
        kinds.append(change_both(rng, annotation, plain))
        if k % 100 == 50:
            store.save()
            assert out.read_text(encoding="utf-8") == plain.write()
    assert len(set(kinds)) == 9
    store.close()
    assert out.read_text(encoding="utf-8") == plain.write()
