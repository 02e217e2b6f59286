"""The page for annotators, in a real Chromium without network, by its keys and by the mouse."""

import importlib.util
import itertools
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from sklearn_shag.datasets import load_english
from sklearn_shag.treebank import read_conllu, write_conllu

DOC = Path(__file__).parent.parent / "doc"
IS_IDLE = "sessionStorage.getItem('waiting') === '[]'"
WORD = "document.querySelector('.word.chosen')"
ARABIC = """# sent_id = 1
# text = ذهب الولد إلى بيته.
1	ذهب	ذهب	VERB	_	_	0	root	_	_
2	الولد	ولد	NOUN	_	_	1	nsubj	_	Likely=head:4
3	إلى	إلى	ADP	_	_	4	case	_	_
4-5	بيته	_	_	_	_	_	_	_	SpaceAfter=No
4	بيت	بيت	NOUN	_	_	1	obl	_	_
5	ه	هو	PRON	_	_	4	nmod	_	_
6	.	.	PUNCT	_	_	1	punct	_	_

"""


@pytest.fixture(scope="module")
def browser():
    """A Chromium, which all tests use."""
    if not DOC.exists():
        pytest.skip("the folder doc is not part of this copy")
    modules = []
    for name in ("look", "browser"):
        spec = importlib.util.spec_from_file_location(name, DOC / f"{name}.py")
        modules.append(importlib.util.module_from_spec(spec))
        spec.loader.exec_module(modules[-1])
    look, driver = modules
    path = look.find_browser()
    if path is None:
        pytest.skip("Chromium is not installed, so the page for annotators is not tested")
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
        driver.Browser(look.browser_command(path, profile)) as found,
    ):
        yield found
    assert found.problems == []


def start(files, *options):
    """Start the command, and return its process and the address that it prints."""
    command = [sys.executable, "-m", "sklearn_shag", "annotate", "english", files / "in.conllu"]
    command += ["-o", files / "out.conllu", "--no-browser", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    return process, process.stdout.readline().strip()


@contextmanager
def annotating(browser, files, width=1200):
    """The page of a file in.conllu, which is written as out.conllu in the end."""
    process, address = start(files)
    try:
        browser.show(width, 900)
        browser.open(address)
        browser.wait("document.querySelector('#drawing .word')")
        yield address
    finally:
        browser.open("about:blank")
        with process:
            process.terminate()


def ask(address, path, method="GET", **content):
    """Ask the server."""
    base, key = address.split("?key=")
    body = json.dumps(content).encode() if content else None
    with urlopen(Request(base + path, body, {"X-Key": key}, method=method)) as answer:
        return json.load(answer)


class Keyboard:
    """An annotator without a mouse."""

    def __init__(self, browser):
        self.browser = browser

    def act(self, *keys):
        self.browser.press(*keys)
        self.browser.wait(IS_IDLE)

    def go_to(self, word):
        step = word - int(self.browser.ask(f"{WORD}.dataset.id"))
        self.browser.press(*["ArrowRight" if step > 0 else "ArrowLeft"] * abs(step))
        assert int(self.browser.ask(f"{WORD}.dataset.id")) == word

    def give(self, column, word, value):
        self.go_to(word)
        self.act({"head": "h", "deprel": "r", "lemma": "l"}[column], *str(value), "Enter")

    def call(self, command):
        keys = {"confirmSentence": "Ctrl+Enter", "undo": "z", "redo": "Z", "forgetWord": "x"}
        self.act(keys[command])

    def split(self, word, parts=None):
        self.go_to(word)
        self.act("s", *(parts or []), "Enter")

    def join(self):
        self.act("j", "Enter")

    def write_note(self, note):
        self.act("n", *note, "Enter")


class Mouse(Keyboard):
    """An annotator without a keyboard, but for what has to be typed."""

    def go_to(self, word):
        self.browser.click(f'.word[data-id="{word}"]')
        self.browser.click(f'.word[data-id="{word}"]')

    def choose(self, text):
        choices = "[...document.querySelectorAll('#choices bdi')].map((bdi) => bdi.textContent)"
        if text not in self.browser.ask(choices):
            self.browser.press(*text)
        place = self.browser.ask(choices).index(text)
        self.browser.click(f"#choices li:nth-child({place + 1})")
        self.browser.wait(IS_IDLE)

    def give(self, column, word, value):
        if column == "head" and value:
            self.browser.click(f'.word[data-id="{word}"]')
            self.browser.click(f'.word[data-id="{value}"]')
            self.browser.wait(IS_IDLE)
            return
        self.go_to(word)
        ways = {"head": "askHead", "deprel": "askColumn", "lemma": "askColumn"}
        argument = f'[data-argument="{column}"]' if column != "head" else ""
        self.browser.click(f'[data-command="{ways[column]}"]{argument}')
        self.choose({"head": "0 root"}.get(column, value))

    def call(self, command):
        self.browser.click(f'[data-command="{command}"]')
        self.browser.wait(IS_IDLE)

    def split(self, word, parts=None):
        self.go_to(word)
        self.call("askSplit")
        self.choose(parts or self.browser.ask("document.querySelector('#choices bdi').textContent"))

    def join(self):
        self.call("askJoin")
        self.choose("this sentence and the next")

    def write_note(self, note):
        self.browser.click("[name=note]")
        self.act(*note, "Enter")


def correct(hand, address, index, tree):
    """Give the heads of a tree where they are others, and then the relations."""
    for column, values in (("head", tree.heads.tolist()), ("deprel", tree.deprels)):
        for _ in range(3 * len(tree)):
            tokens = ask(address, f"sentences/{index}")["tokens"]
            pairs = zip(tokens, values, strict=True)
            wrong = [(token["id"], value) for token, value in pairs if token[column] != value]
            if not wrong:
                break
            hand.give(column, *wrong[0])
        assert not wrong


@pytest.mark.parametrize(
    ("kind", "width", "n"), [(Keyboard, 1200, 50), (Mouse, 1200, 12), (Mouse, 390, 12)]
)
def test_whole_file(browser, tmp_path, kind, width, n):
    """A file is corrected, and the output has what is wanted, to the byte."""
    trees = load_english().data[:n]
    write_conllu([tree.with_heads(None) for tree in trees], tmp_path / "in.conllu")
    hand = kind(browser)
    with annotating(browser, tmp_path, width) as address:
        for k, tree in enumerate(trees):
            browser.wait(f"document.querySelector('#place').textContent === 'Sentence {k + 1}'")
            browser.wait(f"{WORD} && !document.querySelector('.loading')")
            n_words = "document.querySelectorAll('#drawing .word').length"
            if k == 1:  # the sentence falls apart, and is whole again
                hand.split(4)
                assert browser.ask(n_words) == 3
                hand.join()
                browser.wait(f"{n_words} === {len(tree)}")
            if k == 2:  # a word does, and an undo is undone
                place, form = next((i, f) for i, f in enumerate(tree.forms, 1) if len(f) > 3)
                hand.split(place, f"{form[:2]} {form[2:]}")
                assert browser.ask(n_words) == len(tree) + 1
                hand.call("undo")
                browser.wait(f"{n_words} === {len(tree)}")
                hand.give("lemma", 1, "wrong")
                for command in ("undo", "redo", "undo"):
                    hand.call(command)
                hand.write_note("Seen by me")
            correct(hand, address, k, tree)
            if k == 3:
                hand.go_to(2)
                hand.call("forgetWord")
                correct(hand, address, k, tree)
            hand.call("confirmSentence")
        done = f"{n} of {n} sentences done"
        browser.wait(f"document.querySelector('#progress').textContent.startsWith('{done}')")
        assert browser.ask("document.documentElement.scrollWidth") == width
        assert browser.ask("document.querySelector('#refused').textContent") == ""
    trees[2] = trees[2].with_comments([*trees[2].comments, "# note = Seen by me"])
    checked = [tree.with_comments([*tree.comments, "# checked = yes"]) for tree in trees]
    expected = "".join(tree.to_conllu() for tree in checked)
    assert (tmp_path / "out.conllu").read_text(encoding="utf-8") == expected
