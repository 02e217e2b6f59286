"""The page for annotators, in a real Chromium without network, by its keys and by the mouse."""

import random
import re
import tempfile
from contextlib import contextmanager

import pytest

from sklearn_shag.datasets import load_english
from sklearn_shag.treebank import read_conllu, write_conllu
from tests.test_annotation import send
from tests.test_architecture import load_script

IS_IDLE = "sessionStorage.getItem('waiting') === '[]'"
WORD = "document.querySelector('.word.chosen')"
# Two words are written as one, and a command has found something.
HEBREW = """# sent_id = 1
# text = הילד הלך לביתו.
1	הילד	ילד	NOUN	_	_	2	nsubj	_	_
2	הלך	הלך	VERB	_	_	0	root	_	Likely=head:1
3-4	לביתו	_	_	_	_	_	_	_	SpaceAfter=No
3	ל	ל	ADP	_	_	4	case	_	_
4	ביתו	בית	NOUN	_	_	2	obl	_	_
5	.	.	PUNCT	_	_	2	punct	_	_

"""


@pytest.fixture(scope="module")
def browser():
    """A Chromium, which all tests use."""
    look, driver = (load_script("doc", f"{name}.py") for name in ("look", "browser"))
    path = look.find_browser()
    if path is None:
        pytest.skip("Chromium is not installed, so the page for annotators is not tested")
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
        driver.Browser(look.browser_command(path, profile)) as found,
    ):
        yield found
    assert found.problems == []


@contextmanager
def annotating(browser, start_annotate, files, width=1200):
    """The page of a file in.conllu, which is written as out.conllu in the end."""
    process = start_annotate(files)
    address = process.output.readline().strip()
    browser.show(width, 900)
    browser.open(address)
    browser.wait("document.querySelector('#drawing .word')")
    yield address
    browser.open("about:blank")
    process.terminate()
    process.join()


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
        of_column = f'[data-command="askColumn"][data-argument="{column}"]'
        self.browser.click({"head": '[data-command="askHead"]'}.get(column, of_column))
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
            pairs = zip(send(address, f"sentences/{index}")["tokens"], values, strict=True)
            wrong = [(token["id"], value) for token, value in pairs if token[column] != value]
            if not wrong:
                break
            hand.give(column, *wrong[0])
        assert not wrong


@pytest.mark.parametrize(
    ("kind", "width", "n"), [(Keyboard, 1200, 20), (Mouse, 1200, 8), (Mouse, 390, 8)]
)
def test_whole_file(browser, start_annotate, tmp_path, kind, width, n):
    """A file is corrected, and the output has what is wanted, to the byte."""
    trees = load_english().data[:n]
    write_conllu([tree.with_heads(None) for tree in trees], tmp_path / "in.conllu")
    hand = kind(browser)
    with annotating(browser, start_annotate, tmp_path, width) as address:
        for k, tree in enumerate(trees):
            browser.wait(f"document.querySelector('#place').textContent === 'Sentence {k + 1}'")
            browser.wait(f"{WORD} && !document.querySelector('.loading')")
            n_words = "document.querySelectorAll('#drawing .word').length"
            if k == 1:  # the sentence falls apart, and is whole again
                listed = "document.querySelector('option').textContent"
                hand.split(4)
                assert (browser.ask(n_words), browser.ask(listed)) == (3, f"all ({n + 1})")
                hand.join()
                assert (browser.ask(n_words), browser.ask(listed)) == (len(tree), f"all ({n})")
            if k == 2:  # a word does, and an undo is undone
                place, form = next((i, f) for i, f in enumerate(tree.forms, 1) if len(f) > 3)
                hand.split(place, f"{form[:2]} {form[2:]}")
                forms = browser.ask("""[...document.querySelectorAll('#drawing .form')].map(
                    (form) => form.textContent)""")
                assert forms == [*tree.forms[: place - 1], form[:2], form[2:], *tree.forms[place:]]
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


def test_server_that_is_killed(browser, start_annotate, tmp_path):
    """Nothing of what was typed is lost if the server is killed, and starts again."""
    draws, trees, done = random.Random(0), load_english().data[:30], set()
    lemmas, heads = {}, {}  # the heads are the last ones that are given in their sentences
    write_conllu([tree.with_heads(None) for tree in trees], tmp_path / "in.conllu")
    process = start_annotate(tmp_path)
    address = process.output.readline()
    browser.show(1200, 900)
    browser.open(address.strip())
    for k in range(120):
        if k % 40 == 20:
            browser.wait("document.querySelector('#waiting').hidden")
            process.kill()
            process.join()
        if k % 40 == 30:
            process = start_annotate(tmp_path)
        is_away = 20 <= k % 40 < 30  # then no other sentence can be seen
        keys = ["Tab", "ArrowRight", "ArrowLeft", *"12xlllhh", "Enter"]
        key = draws.choice(keys if is_away else [*keys, "Ctrl+Enter"])
        browser.wait(f"{WORD} && !document.querySelector('.loading')")
        place = "document.querySelector('#place').textContent.split(' ')[1]"
        index, word = browser.ask(f"[{place} - 1, {WORD}.dataset.id - 1]")
        browser.press(key)
        if key == "l":
            lemmas[index, word] = f"lemma{k}"
            browser.press(*lemmas[index, word], "Enter")
        if key in "12x":
            heads.pop(index, None)
        if key == "h":
            head = draws.choice([k for k in range(len(trees[index]) + 1) if k != word + 1])
            browser.press(*str(head), "Enter")
            heads[index] = word, head
        if key == "Ctrl+Enter":
            done.add(index)
    assert address == process.output.readline()
    browser.wait(IS_IDLE)
    assert browser.ask("document.querySelector('#waiting').hidden")
    process.terminate()
    process.join()
    written = read_conllu(tmp_path / "out.conllu")
    assert len(lemmas) >= 10
    for k, (word, head) in heads.items():
        assert written[k].heads[word] == head
        assert "Predicted=Yes" not in written[k].misc[word]
    assert {place: written[place[0]].lemmas[place[1]] for place in lemmas} == lemmas
    assert {k for k, tree in enumerate(written) if "# checked = yes" in tree.comments} == done


def test_answers_that_wait(browser, start_annotate, tmp_path):
    """Full disks and changes elsewhere are said, and the answer is sent again."""
    write_conllu([load_english().data[9].with_heads(None)], tmp_path / "in.conllu")
    hand = Keyboard(browser)
    waiting = "document.querySelector('#waiting').textContent"
    with annotating(browser, start_annotate, tmp_path) as address:
        fill = """window.fetch = async (address, options) =>
            options.method === "PUT" ? new Response("", { status: 507 }) : real(address, options);
            0"""
        browser.ask(f"window.real = fetch, {fill}")
        hand.go_to(3)
        browser.press("h", "6", "Enter")
        browser.wait(f"{waiting}.startsWith('The disk is full')")
        browser.press("l", *"mine", "Enter", "l", *"not", "Enter", "z")
        assert "2 answers wait" in browser.ask(waiting)
        label = browser.ask(f"{WORD}.getAttribute('aria-label')")
        assert re.fullmatch("her, PRON: .* of jar, confirmed", label)
        assert browser.ask(f"{WORD}.querySelector('.lemma').textContent") == "mine"
        send(address, "sentences/0", "PUT", note="from elsewhere")
        browser.ask("window.fetch = real, 0")
        browser.wait(IS_IDLE)
        found = send(address, "sentences/0")
        third = found["tokens"][2]
        assert (found["note"], third["head"], third["lemma"]) == ("from elsewhere", 6, "mine")
        # The relation to a head that was given is a guess, which Enter confirms.
        assert "deprel" not in third["given"]
        hand.act("Enter")
        assert "deprel" in send(address, "sentences/0")["tokens"][2]["given"]
        # The next answer is to a version that is no longer there.
        send(address, "sentences/0", "PUT", lemma={"1": "theirs"})
        hand.give("lemma", 1, "ours")
        assert send(address, "sentences/0")["tokens"][0]["lemma"] == "ours"
        # What cannot be is said, and given back: numbers of words may mean others by now.
        browser.ask(fill)
        browser.press("l", *"late", "Enter")
        browser.wait(f"{waiting} !== ''")
        send(address, "sentences/0/split", "POST", word=8, character=3)
        browser.ask("window.fetch = real, 0")
        browser.wait(IS_IDLE)
        hand.join()
        refused = browser.ask("document.querySelector('#refused').textContent")
        assert "have changed elsewhere. Not done: lemma of Ruth: late." in refused
        assert "There is no next sentence. Not done: join." in refused


def test_what_is_seen(browser, start_annotate, tmp_path):
    """Scripts run from the right, marked words have their choice, and a table says the same."""
    (tmp_path / "in.conllu").write_text(HEBREW, encoding="utf-8")
    with annotating(browser, start_annotate, tmp_path):
        xs = browser.ask(
            "[...document.querySelectorAll('.word')].map((w) => w.getBoundingClientRect().x)"
        )
        assert xs == sorted(xs, reverse=True)
        browser.press("m")
        assert browser.ask(f"{WORD}.dataset.id") == "2"
        likely = browser.ask("document.querySelector('button.likely').textContent")
        assert re.fullmatch(r"\d1 הילד\d+\.\d %, found by check", likely)
        assert browser.ask("document.querySelector('.token').textContent") == "לביתו"
        assert browser.ask("document.querySelectorAll('.arc.known').length") == 5
        browser.click("#table summary")
        browser.wait("document.querySelector('#table td')")
        table = browser.ask("""[...document.querySelectorAll('#table tr')].map(
            (row) => [...row.cells].map((cell) => cell.textContent))""")
        assert [row[1] for row in table[1:]] == ["הילד", "הלך", "ל", "ביתו", "."]
        assert [row[6] for row in table[1:]] == ["2 הלך", "0", "4 ביתו", "2 הלך", "2 הלך"]
        assert {row[8] for row in table[1:]} == {"confirmed"}
        browser.press("x", "c")
        browser.wait("document.querySelectorAll('#earlier .arc').length === 5")
        browser.press("?")
        shown = browser.ask("document.querySelector('dialog').innerText")
        assert "confirm the sentence, and go on" in shown
        browser.press("Escape")
        assert browser.ask("document.activeElement.matches('.word, body, button')")
