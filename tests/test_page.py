"""The page of the web service, in a real Chromium without network, as doc/look.py drives it."""

import json
import queue
import re
import tempfile
import time
from pathlib import Path

import pytest

from sklearn_shag import service
from sklearn_shag.service._app import PAGE, ParserApp
from sklearn_shag.service._models import open_served
from tests.test_architecture import load_script
from tests.test_serve import serving

FILES = Path(service.__file__).parent / "page"
MARK = "<script>top.harmed = true</script>"
TEXT = "I saw the man with the telescope. She didn't answer."
ARABIC = "ذهب الولد إلى المدرسة."
# More than 3,000 words, in paragraphs.
LONG = "\n\n".join(f"Cat {k} sat on my mat, and you saw it sleep. " * 4 for k in range(62))
# Opens the page in a frame, uses it as a reader does, and sends what there is to see.
SCRIPT = """<!DOCTYPE html><meta charset="utf-8"><body><script type="module">
const { texts } = await (await fetch("/task")).json();
const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
const frame = document.createElement("iframe");
frame.style = "border: 0; width: 1200px; height: 900px";
const loaded = new Promise((done) => (frame.onload = done));
frame.src = "/";
document.body.append(frame);
await loaded;
const page = frame.contentDocument;
const violations = [];
page.addEventListener("securitypolicyviolation", (event) =>
  violations.push(event.violatedDirective));
const all = (selector, root = page) => [...root.querySelectorAll(selector)];
const one = (selector, root = page) => root.querySelector(selector);

async function until(isTrue, seconds = 60) {
  for (let tries = 0; tries < 20 * seconds; tries++) {
    if (isTrue()) return true;
    await pause(50);
  }
  return false;
}

async function type(text, isDone) {
  const area = one("#text");
  area.value = text;
  area.dispatchEvent(new frame.contentWindow.Event("input", { bubbles: true }));
  if (!(await until(isDone, 20)))
    throw new Error(`It does not show ${text.slice(0, 50)}, but ${one("#status").textContent}`);
}

function see(figure) {
  const style = (element) => frame.contentWindow.getComputedStyle(element);
  return {
    text: one(".sentence", figure).textContent,
    number: one(".pages", figure).textContent,
    words: all(".word", figure).map((word) => ({
      cells: all("text", word).map((text) => text.textContent),
      label: word.getAttribute("aria-label"),
      x: word.getBoundingClientRect().x,
      width: word.getBoundingClientRect().width,
    })),
    arcs: all(".arc", figure).map((arc) => ({
      id: Number(arc.dataset.id),
      judgement: arc.classList[1],
      relation: one("tspan", arc).textContent,
      color: style(one("path", arc)).stroke,
      box: one(".tip", arc).getBoundingClientRect().x,
      label: one("text", arc).getBoundingClientRect().toJSON(),
      probability: style(one(".probability", arc)).display,
    })),
    tokens: all(".token", figure).map((token) => token.textContent),
  };
}

const shows = (text) => () => {
  const last = all("figure").at(-1);
  return last && one(".sentence", last).textContent === text && one(".word", last);
};
const status = () => one("#status").textContent;
const results = {};
try {
  results.started = await until(() => all("figure .tree").length === 2);
  results.example = one("#text").value;
  await type(texts.text, shows("She didn't answer."));
  results.figures = all("figure").map(see);
  results.status = status();
  results.models = all("#model option").map((option) => [option.textContent, option.disabled]);

  const first = one("figure");
  const arc = one('.arc[data-id="4"]', first);
  const point = (name, element) => element.dispatchEvent(
    new frame.contentWindow.PointerEvent(name, { bubbles: true }));
  point("pointerover", one("text", arc));
  results.pointed = [see(first).arcs[3].probability, one("text", arc).textContent];
  results.marked = all(".active, .head", first).map(
    (each) => [each.dataset.id, each.classList.value]);
  point("pointerleave", one("svg", first));
  results.left = see(first).arcs[3].probability;
  const press = (key) => page.activeElement.dispatchEvent(
    new frame.contentWindow.KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  frame.contentWindow.focus();
  one(".word", first).focus();
  results.walk = ["ArrowRight", "ArrowRight", "ArrowRight", "ArrowUp", "End", "Home"].map((key) => {
    press(key);
    return page.activeElement.dataset.id;
  });
  results.reachable = all('.word[tabindex="0"]', first).length;
  results.focused = see(first).arcs[0].probability;
  page.activeElement.blur();

  one("summary", first).click();
  await until(() => one("td", first));
  results.table = all("tr", first).map((row) => [...row.cells].map((cell) => cell.textContent));
  one('button[aria-label="Next tree"]', first).click();
  results.second = see(first);
  results.said = status();
  results.table_of_second = all("tr", first).map((row) => [...row.cells].map((c) => c.textContent));
  for (const view of ["conllu", "json"]) {
    one(`input[value="${view}"]`).click();
    results[view] = one("pre").textContent;
  }
  results.hidden = one("#trees").hidden;
  one('input[value="trees"]').click();

  const join = () => all(".sentence").map((each) => each.textContent).join("");
  await type(texts.mark, () => join() === texts.mark && one(".word"));
  results.marks = all("#trees script, #status script, #model script").length;
  await type(texts.arabic, shows(texts.arabic));
  results.arabic = see(one("figure"));
  results.direction = frame.contentWindow.getComputedStyle(one(".sentence")).direction;

  await type("slow", () => status().startsWith("Parsing for"));
  results.moves = one("#progress").checkVisibility();
  results.slow = status();
  await type("Dogs bark.", shows("Dogs bark."));
  await pause(2500);
  results.after_slow = [all(".sentence").map((each) => each.textContent), status()];
  results.progress = one("#progress").hidden;
  await type("fail", () => !one("#again").hidden);
  results.failed = [status(), all("#status *").length];
  await type("", () => all("figure").length === 0);
  results.empty = status();

  const begun = performance.now();
  const entries = () => frame.contentWindow.performance.getEntriesByType("resource");
  frame.style.width = "360px";
  await type(texts.long, () => one("progress").value === 62 && one("#progress").hidden);
  results.long = [status(), all("figure").length, all("figure .tree").length];
  results.milliseconds = performance.now() - begun;
  all("figure").at(-1).scrollIntoView();
  results.scrolled = await until(() => one(".tree", all("figure").at(-1)), 10);
  results.wide = page.documentElement.scrollWidth;
  const n_before = entries().length;
  await type(`${texts.long}\\n\\nCows moo.`, () => join().endsWith("Cows moo."));
  results.asked_again = entries().length - n_before;
  results.hosts = [...new Set(entries().map((entry) => new URL(entry.name).host))];
  results.host = location.host;
  results.harmed = Boolean(window.harmed);
  const other = document.createElement("iframe");
  other.style = frame.style.cssText;
  other.src = "/below/";
  document.body.prepend(other);
  results.below = await until(() => other.contentDocument.querySelector(".tree"), 20);
} catch (error) {
  results.error = `${error}\\n${error.stack}`;
}
results.violations = violations;
await fetch("/results", { method: "POST", body: JSON.stringify(results) });
</script>"""


class Harness:
    """The application, with a page that uses its page, and answers that are slow or fail."""

    def __init__(self, app):
        self.app, self.max_bytes, self.results = app, app.max_bytes, queue.Queue()

    def __call__(self, environ, start_response):
        # A proxy that has the page at a path of its own.
        environ["PATH_INFO"] = environ["PATH_INFO"].removeprefix("/below")
        path, body = environ["PATH_INFO"], environ["wsgi.input"].read()
        if path == "/results":
            self.results.put(json.loads(body))
        texts = {"text": TEXT, "mark": MARK, "arabic": ARABIC, "long": LONG}
        made = {"/look.html": SCRIPT, "/task": json.dumps({"texts": texts}), "/results": ""}
        if path in made:
            start_response("200 OK", [("Content-Type", "text/html; charset=utf-8")])
            return [made[path].encode()]
        text = json.loads(body)["text"] if path == "/trees" else ""
        if text == "slow":
            time.sleep(4)
        if text == "fail":
            start_response("503 Service Unavailable", [("Content-Type", "text/plain")])
            return [f"It failed: {MARK}\n".encode()]
        environ["wsgi.input"].seek(0)
        return self.app(environ, start_response)


@pytest.fixture(scope="module")
def seen(bundled):
    """What the script has found."""
    look = load_script("doc", "look.py")
    browser = look.find_browser()
    if browser is None:
        pytest.skip("Chromium is not installed, so the page of the service is not tested")
    served = open_served(bundled, 500)
    other = served._replace(splitter=None, tasks=["parser"])
    harness = Harness(ParserApp({"english": served, MARK: other}, False, 2**22, 120.0))
    with (
        serving(harness) as address,
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
    ):
        found = look.look_at(look.browser_command(browser, profile), address, harness.results)
    assert "error" not in found, found["error"]
    return found


def test_trees_are_drawn(seen, bundled):
    """Words, heads, relations and colours are those of the parser."""
    assert seen["started"]
    assert seen["example"].count(". ") == 1
    best = [trees[0] for trees in bundled.parse_text(TEXT, n_best=1, confidence=True)]
    assert [figure["text"] for figure in seen["figures"]] == [tree.text for tree in best]
    colors = {}
    for figure, tree in zip(seen["figures"], best, strict=True):
        columns = zip(tree.forms, tree.upos, tree.lemmas, strict=True)
        assert [tuple(word["cells"]) for word in figure["words"]] == list(columns)
        rows = zip(figure["arcs"], figure["words"], tree.to_dict()["head"], strict=True)
        for k, (arc, word, head) in enumerate(rows):
            assert arc["relation"] == tree.deprels[k]
            parent = tree.forms[head - 1] if head else "the sentence"
            probability = float(re.search(r"Confidence=([\d.]+)", tree.misc[k])[1])
            shown = f"{tree.forms[k]}, {tree.upos[k]}: {tree.deprels[k]} of {parent}"
            assert word["label"] == f"{shown}, {100 * probability:.1f} %"
            # Its arrow points to the middle of the word.
            assert word["x"] < arc["box"] + 4.5 < word["x"] + word["width"]
            limits = {"sure": 0.95, "likely": 0.8, "unsure": 0.5, "doubtful": 0.0}
            judgement = next(name for name, limit in limits.items() if probability >= limit)
            assert arc["judgement"] == judgement
            colors.setdefault(judgement, set()).add(arc["color"])
        labels = [arc["label"] for arc in figure["arcs"]]
        for k, one in enumerate(labels):
            for other in labels[:k]:
                apart = one["right"] <= other["left"] or other["right"] <= one["left"]
                assert apart or one["bottom"] <= other["top"] or other["bottom"] <= one["top"]
    assert seen["figures"][1]["tokens"] == ["didn't"]
    assert len(colors) >= 2  # the telescope may be the man's
    assert all(len(each) == 1 for each in colors.values())
    assert len(set.union(*colors.values())) == len(colors)
    assert seen["status"] == "2 sentences, 13 words"


def test_arcs_that_are_pointed_at_or_have_the_focus(seen):
    assert seen["figures"][0]["arcs"][3]["probability"] == seen["left"] == "none"
    assert re.fullmatch(r"inline obj \d+\.\d %", " ".join(seen["pointed"]))
    assert seen == seen | {
        "marked": [["4", "arc sure active"], ["2", "word head"], ["4", "word active"]],
        "walk": ["2", "3", "4", "2", "8", "1"],
        "reachable": 1,
        "focused": "inline",
    }


def test_tables_and_further_trees(seen, bundled):
    tree, second = bundled.parse_text(TEXT, n_best=2)[0]
    for table, own in ((seen["table"], tree), (seen["table_of_second"], second)):
        assert [row[1] for row in table] == ["Word", *own.forms]
        assert [row[7] for row in table] == ["Relation", *own.deprels]
        assert [int(row[6].split()[0]) for row in table[1:]] == own.heads.tolist()
    assert seen["second"]["number"].startswith(seen["said"])
    assert seen["said"].startswith("Tree 2 of 3, ")
    assert [arc["relation"] for arc in seen["second"]["arcs"]] == list(second.deprels)


def test_what_is_seen_as_text(seen, bundled):
    """The second tree of the first sentence, which was chosen, and the best one of the other."""
    from io import StringIO

    from sklearn_shag.treebank import read_conllu

    first, other = bundled.parse_text(TEXT, n_best=2)
    expected = [first[1], other[0]]
    written = read_conllu(StringIO(seen["conllu"]))
    texts = [tree.text for tree in expected]
    assert (written, [tree.text for tree in written]) == (expected, texts)
    assert written[1].multiword_tokens[0].form == "didn't"
    assert "Confidence=" in written[0].misc[0]
    content = json.loads(seen["json"])
    assert [each["text"] for each in content] == texts
    for sentence, tree in zip(content, expected, strict=True):
        ((shown),) = sentence["trees"]
        assert [token["head"] for token in shown["tokens"]] == tree.heads.tolist()
    assert seen["hidden"]


def test_text_is_never_markup(seen):
    assert seen == seen | {
        "marks": 0,
        "harmed": False,
        "models": [["english", False], [MARK, True]],
        "failed": [f"It failed: {MARK}", 0],
    }
    for name in ("page.js", "tree.js"):
        code = (FILES / name).read_text(encoding="utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", code)


def test_text_from_right_to_left(seen):
    xs = [word["x"] for word in seen["arabic"]["words"]]
    assert xs == sorted(xs, reverse=True)
    assert seen["direction"] == "rtl"
    assert len(xs) > 3


def test_slow_old_and_failed_answers(seen):
    assert re.fullmatch(r"Parsing for \d s …", seen["slow"])
    assert seen == seen | {
        "moves": True,
        "after_slow": [["Dogs bark."], "1 sentence, 3 words"],
        "progress": True,
        "empty": "",
    }


def test_long_texts_on_a_phone(seen):
    """Trees are drawn where they are seen; what is known is not asked for again."""
    *said, n_drawn = seen["long"]
    assert said == [f"248 sentences, {248 * 13:,} words", 248]
    assert 0 < n_drawn < 20
    assert seen == seen | {"scrolled": True, "wide": 360, "asked_again": 1}
    assert seen["milliseconds"] < 60_000


def test_nothing_comes_from_elsewhere(seen):
    assert seen == seen | {"hosts": [seen["host"]], "below": True, "violations": []}
    for name, _ in PAGE.values():
        text = (FILES / name).read_text(encoding="utf-8")
        addresses = set(re.findall(r"(?:https?:)?//[\w.-]+\.\w+[^\s\"'`]*", text))
        assert addresses <= {"http://www.w3.org/2000/svg"}, name
        # Nor does anything stand in the page itself that the policy forbids.
        assert not re.search(r"<style|\sstyle=|<script(?! type=\"module\" src)|\son\w+=", text)
        links = re.findall(r"(?:src|href)=\"([^\"]+)\"", text)
        links += re.findall(r"(?:from|fetch\(|request\() ?\"([^\"]+)\"", text)
        assert all(re.fullmatch(r"(\./)?[\w.]+", link) for link in links), links
    assert {path.name for path in FILES.iterdir()} == {name for name, _ in PAGE.values()}
