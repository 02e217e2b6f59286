"""Annotation: answers beside a plain model, the interface, and a database that outlives any end."""

import gzip
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from contextlib import ExitStack, suppress
from functools import partial
from http.client import HTTPException
from itertools import count, islice
from threading import Timer
from unittest.mock import Mock

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from sklearn_shag import CRFParser, DeterministicSHAG, Tagger
from sklearn_shag.annotation import Annotation, ConflictError, Guesser, Store, _store
from sklearn_shag.annotation._draft import Draft
from sklearn_shag.cli import _annotate, main
from sklearn_shag.service import AnnotationApp, _annotation_app, open_served
from sklearn_shag.treebank import (
    DependencyTree,
    find_guesses,
    forget_guesses,
    keep_given,
    read_conllu,
    with_tags,
    with_valid_heads,
    write_conllu,
)
from sklearn_shag.utils._estimators import open_parser
from tests import test_serve
from tests.loops import over
from tests.plain_annotation import PlainModel
from tests.processes import annotate_files
from tests.test_annotation_loop import ENHANCED, files, learn, run  # noqa: F401


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
        of_words = {
            "probability": [0.5 for _ in likely],
            "alternatives": likely,
            "relations": likely,
        }
        return keep_given(found, tree), list(self.tags), of_words


def draw_answers(rng, tree):
    """Draw the answers of an annotator."""
    n, answers = len(tree), {}
    while not answers or rng.random() < 0.3:
        own, k, some = str(rng.randint(1, n)), rng.randint(0, n), rng.choices(range(1, n + 1), k=3)
        value, relation = rng.choice(["x", "Case=Gen"]), rng.choice(["obj", "nsubj", "root"])
        head = k if k != int(own) else 0
        answers |= rng.choice(
            [
                {"heads": {own: head}},
                {"heads": {own: head}, "deprels": {own: "obj" if head else "root"}},
                {"deprels": {own: relation}},
                {rng.choice(["upos", "feats", "lemma", "xpos"]): {own: value}},
                {rng.choice(["confirm", "unknown"]): some},
                {"checked": k > 1, "note": rng.choice(["", "look again", "è = é"])},
            ]
        )
    return answers


def draw_change(rng, trees):
    """Draw the name of a method of Annotation, and its arguments."""
    at = rng.randrange(rng.choice([len(trees), min(5, len(trees))]))
    word, k = {"word": rng.randint(1, len(trees[at]))}, {"character": rng.randint(1, 4)}
    changes = [
        *[("answer", at, draw_answers(rng, trees[at]))] * 12,
        *[("undo", None, {}), ("undo", at, {}), ("redo", {}), ("split", at, word | k)] * 2,
        *[("split", at, word), ("join", at, {})],
        *[("join", at, word)] * 3,
    ]
    return rng.choice(changes)


def list_trees(store):
    return [each.tree for each in store.sentences]


def written(store):
    return "".join(tree.to_conllu() for tree in list_trees(store))


def change_at_random(folder, trees, tags, n_changes):
    """Make the same random changes by the package and the plain model."""
    path, out, n_done = folder / "in.conllu", folder / "out.conllu", Counter()
    text = "".join(tree.to_conllu() for tree in trees)
    line_end = "\r\n" if "feats" in tags else "\n"
    path.write_bytes(text.replace("\n", line_end).encode())
    rng, plain = random.Random(0), PlainModel(text, tags)
    open_store = partial(Store, str(out), [str(path)], partial(read_conllu, path))
    annotation = Annotation(open_store(), HangOnRoot(tags))
    for k in range(n_changes):
        change, freed = draw_change(rng, list_trees(annotation.store)), []
        for model in (annotation, plain):
            try:
                found = getattr(model, change[0])(*change[1:])
                freed.append(found.get("freed") if model is annotation else found)
            except (ConflictError, ValueError, LookupError) as error:
                freed.append(isinstance(error, ValueError))
        assert freed[0] == freed[1], change
        kind = change[0], len(change[-1].keys() & {"word", "character"})
        n_done[kind] += not isinstance(freed[0], bool)
        found = written(annotation.store)
        assert found == plain.write().replace("\n", line_end), change
        if k % 100 == 50:
            annotation.store.save()
            assert out.read_bytes().decode() == found
        if k % 250 == 100:  # as if killed
            annotation.store._db.close()
            plain.done, plain.undone = [], []
            annotation = Annotation(open_store(), HangOnRoot(tags))
    assert min(n_done.values()) > 0
    annotation.store.close()
    assert out.read_bytes().decode() == found


FILES = {
    "UD_English-EWT": {},
    "UD_Tamil-TTB": {"upos": "NOUN", "feats": "_"},
    "UD_Latin-Perseus": {"lemma": "lemma"},
}


@over("name", FILES)
def test_random_changes_give_what_a_plain_model_gives(name, tmp_path_factory, treebank):
    folder = tmp_path_factory.mktemp(name)
    change_at_random(folder, treebank(name).test[:300], FILES[name], 1000)


def test_random_changes_of_empty_nodes_and_unknown_heads(tmp_path, english):
    texts = [FORM.format(k=k) + english[k].to_conllu() for k in range(10)]
    trees = [DependencyTree.from_conllu(each) for text in texts for each in text.split("\n\n")[:2]]
    change_at_random(tmp_path, trees, {"xpos": "X"}, 400)


@pytest.fixture(scope="module")
def models(english):
    """Parsers of each kind."""
    tagger = Tagger(
        "upos", ["form", "suffix"], hidden_layer_sizes=[8], max_iter=4, cv=2, random_state=0
    )
    crf = CRFParser(["upos"], n_features=2**12, max_iter=2, random_state=0)
    bare = [DependencyTree(tree.forms, tree.heads, upos=tree.upos) for tree in english[:60]]
    return {
        "bundled": open_served("english", 500).opened,
        "tags alone": open_parser(DeterministicSHAG().fit(bare), "parse"),
        "tagger": open_parser(make_pipeline(tagger, crf).fit(english[:60]), "parse"),
    }


@pytest.fixture
def open_anew(tmp_path, english):
    """Open a file for annotation, as often as asked."""
    stores = []

    def open_anew(trees=english[:8], out="out.conllu", source="in.conllu"):
        path = str(tmp_path / source)
        write_conllu(trees, path)
        stores.append(Store(str(tmp_path / out), [path], partial(read_conllu, path)))
        return Annotation(stores[-1], HangOnRoot())

    yield open_anew
    for store in stores:
        store._db.close()


@pytest.fixture
def serve(open_anew, models):
    """Serve the annotation of trees, and return what asks the server, and the store."""
    numbers = count()
    with ExitStack() as stack:

        def start(trees, model="bundled", by="order"):
            store = open_anew(trees, f"{next(numbers)}.conllu").store
            app = AnnotationApp({}, Annotation(store, Guesser(models[model]), by), "key")
            app.start()
            stack.callback(app.close)
            return partial(ask, stack.enter_context(test_serve.serving(app))), store

        yield start


def ask(address, request, content=None, status=200, key="key"):
    """Send a request, and return the answer."""
    method, _, path = request.partition(" ")
    if not isinstance(content, bytes | None):
        content = json.dumps(content).encode()
    options = {"data": content, "method": method, "headers": {"X-Key": key}}
    found, headers, answer = test_serve.see(address + path, **options)
    assert str(found) in str(status), (found, answer)
    assert not any("access-control" in name.lower() for name in headers)
    is_json = headers["Content-Type"] == "application/json"
    return json.loads(answer) if is_json else answer.decode()


LISTED = {"index", "id", "sent_id", "text", "checked", "marked", "expected_errors"}
SENTENCE = {
    *("index", "id", "version", "sent_id", "text", "checked", "note", "tokens"),
    *("multiword_tokens", "empty_nodes"),
}
TOKEN = {
    *("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "known", "given"),
    *("probability", "alternatives", "relations", "marked", "likely"),
}
FORM = ENHANCED.replace("4:punct", "8:dep|4:punct").replace("2\t,", "2\t,,")  # not sorted


@over("by", ["order", "heads-in-sentences", "sentences"])
def test_the_interface_describes_sentences(serve, english, by):
    tree, long = DependencyTree.from_conllu(FORM.format(k=1)), english[3].with_heads(None)
    sure, bare = tree.with_heads([2, 4, 4, 0, 4, 7, 4, 7, 4]), tree.with_heads(None, keep_deps=True)
    call, _ = serve([sure, long, bare], by=by)
    while None in [row["expected_errors"] for row in call("GET /sentences")]:
        time.sleep(0.01)
    rows = {row["index"]: row for row in call("GET /sentences")}
    shares = {k: row["expected_errors"] / (len(long) if k == 1 else 9) for k, row in rows.items()}
    wrong = {"sentences": shares}.get(by, {k: row["expected_errors"] for k, row in rows.items()})
    by_errors = sorted(range(3), key=wrong.get, reverse=True)
    assert list(rows) == (by_errors if by != "order" else [0, 1, 2])
    assert wrong[0] < min(wrong[1], wrong[2])
    shown = call("GET /sentences/2")
    tokens, content = shown["tokens"], bare.to_dict()
    assert (set(rows[0]), set(shown)) == (LISTED, SENTENCE)
    assert [set(token) for token in tokens] == [TOKEN] * 9
    names = "multiword_tokens", "empty_nodes", "text", "sent_id"
    assert [shown[name] for name in names] == [content[name] for name in names]
    found = call("PUT /sentences/2", {"confirm": [1], "deprels": {"2": tokens[1]["deprel"]}})
    assert set(found) == SENTENCE | {"freed"}
    call("GET /sentences/0")  # so that it is parsed anew
    assert call("GET /sentences/2") | {"freed": []} == found
    assert [token["known"] for token in found["tokens"]] == [True, True, *[False] * 7]
    for token in found["tokens"]:
        assert token["given"] == ["upos", "xpos", "feats", "lemma", *["deprel"] * token["known"]]
        for rows in (token["alternatives"], token["relations"]):
            shares = [share for _, share in rows]
            assert shares == sorted(shares, reverse=True)
            assert sum(shares) == pytest.approx(1, abs=0.01)
        share = 1 if token["known"] else dict(token["alternatives"])[token["head"]]
        assert token["probability"] == pytest.approx(share, abs=1e-4)
    assert len(found["tokens"][0]["alternatives"]) > 1  # though it is known
    assert set(call("POST /undo")) == SENTENCE
    found = call("POST /sentences/2/split", {"word": 2, "character": 1})
    assert found["multiword_tokens"][0]["last"] == 3


PUT, SPLIT, JOIN = "PUT /sentences/0", "POST /sentences/0/split", "POST /sentences/0/join"
WRONG = [
    *(b"{", b"\xff", b"null", b"[]", {"head": {"1": 2}}, {"heads": {"x": 2}}),
    *({"heads": {"1": "2"}}, {"heads": {"2": True}}, {"heads": [2]}, {"heads": {"1": 1}}),
    *({"heads": {"99": 1}}, {"heads": {"1": 99}}, {"heads": {"1": -1}}, {"heads": {"0": 1}}),
    *({"heads": {"1": 2, "2": 1}}, {"heads": {"1": 0, "2": 0}}, {"deprels": {"1": ""}}),
    *(
        {"deprels": {"2": "root"}},
        {"deprels": {"4": "root:x"}},
        {"upos": {"1": "a\tb"}},
        {"lemma": {"1": "a\nb"}},
    ),
    *({"feats": {"1": None}}, {"confirm": 1}, {"confirm": ["1"]}, {"confirm": [0]}),
    *({"unknown": [99]}, {"checked": "yes"}, {"checked": 1}, {"note": 3}, {"note": "a\nb"}),
    *({"version": "3"}, {"id": False}, {"deprels": {"2": "obj", "99": "obj"}}),
    *({"deprels": {"3": "obj"}}, {"heads": {"2": 0}, "deprels": {"2": "obj"}}),
]
REFUSED = {
    400: [
        *[(PUT, content) for content in WRONG],
        *[
            (SPLIT, content)
            for content in ({}, {"word": 99}, {"character": 1}, {"word": [1]}, {"word": True})
        ],
        *[(JOIN, content) for content in ({"word": 0}, {"words": 1})],
    ],
    404: [
        *[(f"GET /sentences/{name}", None) for name in ("3", "N", "-1", "0/other", "")],
        *[("POST /sentences/3/split", {"word": 2}), ("PUT /sentences/99", {"note": "x"})],
    ],
    405: [
        *[("POST /sentences/0", {}), ("GET /undo", None), ("DELETE /sentences/0", None)],
        *[("OPTIONS /sentences", None), ("OPTIONS /", None), ("PUT /sentences", {})],
    ],
    409: [
        *[("POST /undo", None), ("POST /redo", None), ("POST /sentences/0/undo", None)],
        *[("POST /sentences/2/join", None), (JOIN, {"version": 1}), (PUT, {"version": 0})],
        *[(SPLIT, {"word": 1, "character": k}) for k in (-1, 0, 99)],
        *[(SPLIT, {"word": 1}), (SPLIT, {"word": 2, "id": 1}), (PUT, {"id": 1, "note": "x"})],
        *[(JOIN, {"word": 1}), (JOIN, {"word": 8}), (JOIN, {"word": 99})],
    ],
}


def test_what_is_refused_changes_nothing(serve, english, capsys):
    call, _ = serve(english[:3])
    before = call("GET /sentences/0")
    for status, requests in REFUSED.items():
        for request, content in requests:
            assert call(request, content, status).count("\n") == 1
    assert call("GET /sentences/0") == call("GET /sentences/0?key=key", key="") == before
    for request in ("GET /sentences", "OPTIONS /sentences", "GET /models", "GET /sentences?key=no"):
        for key in ("", "kez", "é"):
            call(request, None, 403, key=key)
    assert "<html" in call("GET /", key="")
    assert capsys.readouterr().err == ""


@over("model", ["bundled", "tags alone", "tagger"])
def test_edited_tags_are_read_by_models_that_read_tags(serve, english, model):
    tree = DependencyTree(english[3].forms, upos=english[3].upos, xpos=english[3].xpos)
    call, store = serve([tree], model)
    before = call("GET /sentences/0")["tokens"]
    found = call("PUT /sentences/0", {"upos": {"2": "VERB"}, "xpos": {"2": "new"}})["tokens"]
    assert (found[1]["upos"], found[1]["xpos"]) == ("VERB", "new")
    keys = ("head", "probability", "alternatives", "relations")
    is_same = all(
        new[key] == old[key] for new, old in zip(found, before, strict=True) for key in keys
    )
    assert is_same == (model == "bundled")
    assert "upos" in found[1]["given"]
    guessed = {"bundled": True, "tags alone": False, "tagger": False}[model]
    assert all(token["feats"] == "_" for token in found) != guessed
    tree = store.sentences[0].tree
    assert find_guesses(tree)["feats"].all() == guessed
    if model == "tags alone":
        assert not any(token["relations"] for token in found)
        assert {token["deprel"] for token in found} == {"dep", "root"}
        own = next(token["id"] for token in found if token["head"])
        found = call("PUT /sentences/0", {"deprels": {str(own): "obj"}, "lemma": {"1": "x"}})
        tokens = found["tokens"]
        assert (tokens[own - 1]["deprel"], tokens[0]["lemma"]) == ("obj", "x")


def test_the_file_is_written_behind_and_long_sentences_are_refused(
    serve, english, tmp_path, monkeypatch
):
    monkeypatch.setattr(_annotation_app, "_SAVED", 0.0)
    call, _ = serve([DependencyTree(["a"] * 501), english[0]])
    out = tmp_path / "0.conllu"
    call(PUT, {"note": "x"}, 400)
    call("GET /sentences/0", None, 400)
    call("PUT /sentences/1", {"note": "written behind"})
    while not out.exists() or "# note = written behind" not in out.read_text(encoding="utf-8"):
        time.sleep(0.01)
    assert "# note = x" not in out.read_text(encoding="utf-8")
    assert call("GET /sentences")[0]["expected_errors"] == 501


def test_ids_stay_and_other_parts_stand_in_the_way(serve, english):
    call, store = serve(english[:3])

    def list_ids():
        return [row["id"] for row in call("GET /sentences")]

    assert list_ids() == [0, 1, 2]
    parts = [call("POST /sentences/0/split", {"word": 3}), call("GET /sentences/1")]
    assert [part["text"] for part in parts] == ["The tide", "comes in twice a day."]
    new = parts[1]["id"]
    assert list_ids() == [0, new, 1, 2]
    call("PUT /sentences/1", {"note": "to the second", "id": 1}, 409)
    answers = {"heads": {"1": 4, "2": 5, "3": 6}, "note": "to the second part"}  # which cross
    found = call("PUT /sentences/1", answers | {"id": new, "version": parts[1]["version"]})
    assert [token["head"] for token in found["tokens"][:3]] == [4, 5, 6]
    call("PUT /sentences/1", {"note": "late", "version": parts[1]["version"]}, 409)
    call("POST /sentences/0/undo", None, 409)
    assert call("POST /sentences/1/undo")["note"] is None
    assert call("POST /sentences/0/undo")["text"] == english[0].text
    assert list_ids() == [0, 1, 2]
    call("POST /redo")
    assert list_ids() == [0, new, 1, 2]
    call("POST /sentences/0/join", {"word": 1}, 409)  # a space is between them
    assert call("POST /sentences/0/join")["text"] == english[0].text
    split = call("POST /sentences/0/split", {"word": 2, "character": 2})
    assert [token["form"] for token in split["tokens"]][:4] == ["The", "ti", "de", "comes"]
    assert call("POST /sentences/0/join", {"word": 2})["text"] == english[0].text
    for _ in range(4):
        found = call("POST /undo")
    assert found["text"] == english[0].text
    expected = "".join(tree.to_conllu() for tree in english[:3])
    assert written(store) == expected


def test_annotation_goes_on_in_the_file_and_in_the_database(open_anew, tmp_path):
    for _ in range(2):  # the next day
        open_anew().store.close()
    annotation = open_anew()
    annotation.answer(0, {"note": "by annotate"})
    annotation.store.close()
    out = tmp_path / "out.conllu"
    edited = out.read_text(encoding="utf-8").replace("by annotate", "by an editor")
    out.write_text(edited, encoding="utf-8")
    annotation = open_anew()
    assert written(annotation.store) == edited
    annotation.answer(0, {"note": "not in the file yet"})
    after = written(annotation.store)
    annotation.store._db.close()
    annotation = open_anew()
    assert written(annotation.store) == after


@pytest.fixture
def is_small(tmp_path):
    """Mount a small disk, where that is possible, and tell whether it was."""
    command = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", tmp_path]
    is_mounted = not subprocess.run(command, capture_output=True, check=False).returncode
    yield is_mounted
    if is_mounted:
        subprocess.run(["umount", tmp_path], check=True)


def test_a_full_disk_forgets_nothing(is_small, serve, tmp_path, english):
    call, store = serve(english[:20])
    k, filler, database = 0, tmp_path / "filler", store._db
    ((n_pages,),) = database.execute("PRAGMA page_count").fetchall()
    database.execute(f"PRAGMA max_page_count = {n_pages + (9999 if is_small else 30)}")
    filler.write_bytes(bytes(150_000))
    while isinstance(call(f"PUT /sentences/{k % 20}", {"note": f"{k} " * 900}, "200 507"), dict):
        k += 1
    assert k > 0
    before = [call(f"GET /sentences/{at}") for at in range(20)]
    assert before[(k - 1) % 20]["note"] == (f"{k - 1} " * 900).strip()
    assert "disk may be full" in call("PUT /sentences/3", {"note": "0 " * 9999}, 507)
    assert [call(f"GET /sentences/{at}") for at in range(20)] == before
    filler.unlink()
    database.execute(f"PRAGMA max_page_count = {n_pages + 9999}")
    assert call("PUT /sentences/3", {"note": "there is room"})["note"] == "there is room"
    assert call("POST /undo")["note"] == before[3]["note"]


def work(store, seed):
    """Change sentences, and yield a digest of all of them after each answer."""
    rng, annotation = random.Random(seed), Annotation(store, HangOnRoot())
    while True:
        name, *arguments = draw_change(rng, list_trees(annotation.store))
        with suppress(ConflictError, ValueError):
            getattr(annotation, name)(*arguments)
            yield digest(annotation)
        if rng.random() < 0.1:
            store.save()


def digest(annotation):
    return hashlib.sha256(written(annotation.store).encode()).hexdigest()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that are forked")
@pytest.mark.parametrize("n_kills", [3, pytest.param(500, marks=pytest.mark.exhaustive)])
def test_no_answer_is_lost_where_the_process_is_killed(tmp_path, n_kills, english):
    """What was answered is there, and at most the change that was under way besides."""
    source, out, copy = (str(tmp_path / name) for name in ("in.conllu", "out.conllu", "copy"))
    write_conllu(english[:30], source)
    open_store = partial(Store, sources=[source], read=partial(read_conllu, source))
    open_store(out).close()
    for seed in range(n_kills):
        shutil.copy(f"{out}.journal", f"{copy}.journal")
        read, write = os.pipe()
        child = os.fork()
        if not child:
            try:
                for found in work(open_store(out), seed):
                    os.write(write, f"{found}\n".encode())
            finally:
                os._exit(1)
        os.close(write)
        answered = [os.read(read, 65).decode()]
        time.sleep(random.Random(seed).expovariate(1 / 0.05))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        with os.fdopen(read) as rest:
            answered = "".join([*answered, *rest]).split()
        twin = open_store(copy)
        expected = list(islice(work(twin, seed), len(answered) + 1))
        twin._db.close()
        assert answered == expected[:-1]
        store = open_store(out)
        assert digest(Annotation(store, None)) in expected[-2:]
        store.close()


@pytest.fixture
def annotate(run, monkeypatch):  # noqa: F811
    """Run the command in this process; requests come from a list, in place of a server."""

    def call(command, *steps):
        answers = []

        class Served:
            port = 1

            def __init__(self, app, *_, threads):
                self.app = app

            def run(self):
                with test_serve.serving(self.app) as address:
                    answers.extend(ask(address, *step, key=self.app.key) for step in steps)

        monkeypatch.setattr(_annotate, "AppServer", Served)
        monkeypatch.setattr(_annotate, "heed_signals", lambda _: None)
        line = run(f"annotate {command} --no-browser")
        assert re.fullmatch(r"http://127\.0\.0\.1:1/\?key=[\w-]{20,}\n", line)
        return answers

    return call


def test_other_commands_read_what_was_annotated(run, files, annotate, english):  # noqa: F811
    learn(run, "own.conllu", options="--tags upos")
    run("parse model.npz own.conllu -o parsed.conllu")
    leaf = next(k for k in range(1, len(english[0])) if k not in english[0].heads)
    head = next(k for k in range(1, 9) if k not in (leaf, *english[0].heads[[leaf - 1]]))
    rows, *_ = annotate(
        "model.npz parsed.conllu --ignore-heads --by sentences -o out.conllu",
        ("GET /sentences",),
        ("PUT /sentences/0", {"heads": {str(leaf): head}, "upos": {"1": "X"}}),
        ("PUT /sentences/1", {"confirm": [1, 2]}),
        ("PUT /sentences/2", {"checked": True}),
    )
    assert len(rows) == 60
    trees = read_conllu("out.conllu")
    known = [np.flatnonzero(~find_guesses(tree)["head"]).tolist() for tree in trees]
    assert known == [[leaf - 1], [0, 1], list(range(len(trees[2]))), *[[]] * 57]
    assert trees[2].comments[-1] == "# checked = yes"
    assert "Guessed=deprel" in trees[0].misc[leaf - 1]
    learned = forget_guesses(trees[0])
    assert (learned.heads[leaf - 1], learned.deprels[leaf - 1]) == (head, "_")
    assert learned.upos == ("X", *trees[0].upos[1:])
    write_conllu(map(forget_guesses, trees[:3]), "known.conllu")
    models = [
        learn(run, "own.conllu", name, options="--tags upos")
        for name in ("out.conllu", "known.conllu")
    ]
    assert models[0] == models[1]
    run("parse model.npz out.conllu --keep-heads -o kept.conllu")
    for tree, of_tree, kept in zip(trees, known, read_conllu("kept.conllu"), strict=True):
        assert (tree.heads == kept.heads)[of_tree].all()
    run("suggest model.npz out.conllu --by arcs -n 9999 -o next.conllu")
    asked = [[m for m in t.misc if "Check=Yes" in m] for t in read_conllu("next.conllu")]
    assert sum(map(len, asked)) == sum(map(len, trees)) - sum(map(len, known))


def test_marks_of_check_are_shown(run, files, annotate):  # noqa: F811
    learn(run, "own.conllu")
    table = run("check own.conllu -n 4 -o marked.conllu").splitlines()
    _, *found = [line.split("\t") for line in table]
    at = int(found[0][1]) - 1
    rows, shown = annotate(
        "model.npz marked.conllu -o out.conllu", ("GET /sentences",), (f"GET /sentences/{at}",)
    )
    assert {row["index"] + 1 for row in rows if row["marked"]} == {int(row[1]) for row in found}
    likely = {str(token["id"]): token["likely"] for token in shown["tokens"] if token["likely"]}
    assert likely == {row[3]: f"{row[5]}:{row[7]}" for row in found if int(row[1]) - 1 == at}


def test_all_else_of_a_file_stays(run, files, annotate):  # noqa: F811
    learn(run, "own.conllu")
    text = (files / "own.conllu").read_bytes().replace(b"\n", b"\r\n")
    (files / "in.conllu").write_bytes(text)
    step = "PUT /sentences/0", {"note": "è"}
    end = text.index(b"1\t")
    expected = text[:end] + "# note = è\r\n".encode() + text[end:]
    for out in ("out.conllu", "out.conllu.gz", "in.conllu"):
        annotate(f"model.npz in.conllu -o {out}", step)
        with (gzip.open if out.endswith("gz") else open)(out, "rb") as file:
            assert file.read() == expected
    assert annotate("model.npz in.conllu -o in.conllu", ("GET /sentences/0",))[0]["note"] == "è"


@pytest.mark.usefixtures("quick_english")
@over("form", ["text", "lines"])
def test_text_is_annotated(run, files, annotate, form):  # noqa: F811
    (files / "raw.txt").write_text("Dogs bark. It\nsleeps.\n", encoding="utf-8")
    rows, *_ = annotate(
        f"english raw.txt --input {form} -o {form}.conllu",
        ("GET /sentences",),
        (SPLIT, {"word": 2}),
        (JOIN, {}),
        (PUT, {"confirm": [1]}),
    )
    found = read_conllu(f"{form}.conllu")
    assert [row["sent_id"] for row in rows] == [tree.sent_id for tree in found]
    sizes = {"text": [3, 3], "lines": [4, 2]}[form]
    assert rows[0]["sent_id"] == "raw-1"
    assert list(map(len, found)) == sizes
    assert found[0].comments.count("# predicted = words") == 1
    guesses = find_guesses(found[0])
    expected = [False, *[True] * (sizes[0] - 1)]
    assert guesses["head"].tolist() == guesses["upos"].tolist() == expected


@pytest.mark.parametrize("n_kills", [1, pytest.param(20, marks=pytest.mark.exhaustive)])
def test_no_answer_is_lost_where_the_command_is_killed(
    tmp_path, n_kills, english, start_annotate, capsys
):
    write_conllu(english[:30], tmp_path / "in.conllu")
    states, keys = {}, set()
    for seed in range(n_kills + 1):
        rng, process = random.Random(seed), start_annotate(tmp_path)
        address = process.output.readline().strip()
        keys.add(address.partition("?")[2])
        for index in states:
            found = send(address, f"sentences/{index}")
            assert found["tokens"][1]["known"]
            assert (found["tokens"][1]["head"], found["note"]) in states[index]
            states[index] = [(found["tokens"][1]["head"], found["note"])]
        if seed == n_kills:
            break
        Timer(rng.expovariate(1 / 0.5) + 0.1, process.kill).start()
        with suppress(OSError, HTTPException):
            for k in count():
                index, new = rng.randrange(30), (rng.choice([1, 3]), f"{seed} {k}")
                states[index] = [*states.get(index, [(english[index].heads[1], None)]), new]
                said = {"heads": {"2": new[0]}, "note": new[1]}
                send(address, f"sentences/{index}", "PUT", **said)
                states[index] = [new]
        process.join()
        assert process.exitcode == -signal.SIGKILL
    assert states
    assert len(keys) == 1  # a page that is still open goes on
    assert main(annotate_files(tmp_path)) == 1
    assert "out.conllu.journal cannot be opened: database is locked" in capsys.readouterr().err
    process.terminate()
    process.join()
    assert (process.exitcode, process.output.read()) == (0, "")
    trees = read_conllu(tmp_path / "out.conllu")
    for index, ((head, note),) in states.items():
        assert trees[index].heads[1] == head
        assert note is None or f"# note = {note}" in trees[index].comments


def send(address, path, method="GET", **content):
    """Send a request to a server, by the address that the command prints, and return the answer."""
    server, key = address.split("?key=")
    data = json.dumps(content).encode() if content else None
    options = {"data": data, "method": method, "headers": {"X-Key": key}}
    status, answer = test_serve.ask(server + path, **options)
    assert status == 200
    return answer


def test_answers_outlive_a_file_that_cannot_be_written(open_anew, tmp_path, monkeypatch):
    annotation = open_anew()
    annotation.store.save()
    annotation.answer(0, {"note": "only in the database"})
    monkeypatch.setattr(_store, "write_conllu", Mock(side_effect=OSError("full")))
    with pytest.raises(OSError, match="full"):
        annotation.store.save()
    annotation.store._db.close()
    with (tmp_path / "out.conllu").open("a", encoding="utf-8") as file:
        file.write("# by an editor\n1" + "\t_" * 9 + "\n\n")
    with pytest.raises(ValueError, match="changed by another program"):
        open_anew()


@over("deps", ["9:dep|2:x", "2.1:x", "2", "x"])
def test_arcs_of_the_enhanced_graph_that_are_not_valid_stay(deps):
    text = f"1\ta\t_\tX\t_\t_\t2\tdep\t{deps}\t_\n2\tb\t_\tX\t_\t_\t0\troot\t0:root\t_\n\n"
    draft = Draft(DependencyTree.from_conllu(text))
    assert draft.answer({"upos": {"2": "NOUN"}}) == []
    assert draft.write().to_conllu() == text.replace("b\t_\tX", "b\t_\tNOUN")
