"""The page for annotators with a long file: how soon it is there, and how soon keys are answered.

    python benchmarks/annotation_page.py [--sentences 5000] [--keys 50]

The trees of the bundled treebank, without heads, are annotated with the bundled parser in a
Chromium without a window, while the parser works on all sentences in the background. The time of a
key that moves is that until the next frame, and the time of an answer that until the new tree of
the server is drawn.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path

from sklearn_shag.datasets import load_english
from sklearn_shag.treebank import write_conllu

sys.path.insert(0, str(Path(__file__).parents[1] / "doc"))

from browser import Browser
from look import browser_command, find_browser

# Notes how long after a key the next frame is there, and the last drawing that no answer awaits.
WATCH = """
window.begun = window.moved = window.answered = 0;
addEventListener("keydown", () => {
  begun = performance.now();
  requestAnimationFrame(() => setTimeout(() => (moved = performance.now() - begun)));
}, { capture: true });
new MutationObserver(() => {
  if (sessionStorage.getItem("waiting") === "[]") answered = performance.now() - begun;
}).observe(document.querySelector("#drawing"), { childList: true });
0"""


def press(browser, key, kind):
    """Press a key, and return the milliseconds until it is answered."""
    browser.ask(f"{kind} = 0")
    browser.press(key)
    browser.wait(kind)
    return browser.ask(kind)


def measure(browser, n_keys):
    """Move by keys, and then choose the first head of one word after the other."""
    browser.ask(WATCH)
    yield "moves", [press(browser, "ArrowRight", "moved") for _ in range(n_keys)]
    answers = []
    while len(answers) < n_keys:
        browser.wait(
            "document.querySelector('.word.chosen') && !document.querySelector('.loading')"
        )
        if browser.ask("document.querySelector('.word.chosen + .word') === null"):
            browser.press("PageDown")
        else:
            answers.append(press(browser, "1", "answered"))
            browser.press("ArrowRight")
    yield "answers", answers


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sentences", type=int, default=5000)
    parser.add_argument("--keys", type=int, default=50)
    options = parser.parse_args()
    path = find_browser()
    if path is None:
        parser.error("Chromium is not installed")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        given = Path(place, "in.conllu")
        trees = islice(cycle(load_english().data), options.sentences)
        write_conllu([tree.with_heads(None) for tree in trees], given)
        command = [sys.executable, "-m", "sklearn_shag", "annotate", "english", given]
        command += ["-o", Path(place, "out.conllu"), "--no-browser"]
        with (
            subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process,
            Browser(browser_command(path, place)) as browser,
        ):
            browser.callback(process.terminate)
            browser.show(1200, 900)
            address = process.stdout.readline().strip()
            begun = time.perf_counter()
            browser.open(address)
            browser.wait("document.querySelector('#drawing .word')")
            print(
                f"{options.sentences:,} sentences: first seen {time.perf_counter() - begun:.2f} s"
            )
            for name, times in measure(browser, options.keys):
                median, longest = statistics.median(times), max(times)
                print(f"{name}: median {median:.0f} ms, longest {longest:.0f} ms")


if __name__ == "__main__":
    main()
