"""Open the built pages in Chromium, without network: `python doc/look.py doc/_build/html`.

    python doc/look.py --service doc/_static

keeps pictures of the pages of the commands serve and annotate, in light and dark colours, for the
guide. The page for annotators is also laid out in several widths.

Every page is laid out as wide as a desktop and as a phone. All figures must be there, all formulae
drawn, nothing wider than the window, nothing loaded from other hosts. The search must find
SpectralSHAG, and for the words of `_extensions/terms.py` the right page among the first three. With
--screenshots, pictures of some pages are kept to be looked at.

Exits with 1 if anything is wrong, with 0 if not, and also, with a message, where Chromium is not
installed (`apt install chromium` on Debian).
"""

import argparse
import functools
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

from browser import Browser
from terms import SEARCHES

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
WIDTHS = {"desktop": 1280, "phone": 390}
HEIGHTS = {"desktop": 900, "phone": 844}
# A page of each kind, for pictures.
PICTURES = {
    "start": "index.html",
    "guide": "guide/start.html",
    "choosing": "guide/choosing.html",
    "learned": "guide/learned.html",
    "gallery": "auto_examples/index.html",
    "example": "auto_examples/inspection/plot_automaton.html",
    "api": "api.html",
    "class": "generated/sklearn_shag.SpectralSHAG.html",
    "theory": "theory.html",
    "contributing": "contributing.html",
    "speed": "speed.html",
}
SEARCHED = "SpectralSHAG"
SECONDS = 600
ANNOTATED = """I saw the man with the telescope. He didn't see me, though, and walked on.
We ate the soup with a spoon. Nobody knows who wrote the letter that she found.
The old ferry crosses the river twice a day. In winter it stays in the harbour.
"""
# Measures one page after the other in a frame of the given width, and sends what it has found.
LOOK = """<!DOCTYPE html><meta charset="utf-8"><body style="margin: 0"><script>
const pause = milliseconds => new Promise(done => setTimeout(done, milliseconds));

async function open(url, width) {
  const frame = document.createElement("iframe");
  frame.style = `border: 0; width: ${width}px; height: 900px`;
  const loaded = new Promise(done => (frame.onload = done));
  frame.src = url;
  document.body.replaceChildren(frame);
  await loaded;
  return frame;
}

function isDrawn(math) {
  const box = math.getBoundingClientRect();
  if (math.closest("[hidden], details:not([open])") || !math.checkVisibility()) return true;
  // Where MathML is only text, a fraction is one line.
  const fractions = [...math.querySelectorAll("mfrac")].map(
    fraction => [...fraction.children].map(part => part.getBoundingClientRect()));
  return box.height > 0 && box.width > 0 && !math.querySelector("merror")
    && fractions.every(([upper, lower]) => lower.top > upper.top + upper.height / 2);
}

// What readers would have to scroll sideways as a whole; tables and code may.
const WINDOWS = "html, body, .bd-article-container";

function isClipped(element) {
  for (let e = element.parentElement; e && !e.matches(WINDOWS); e = e.parentElement)
    if (getComputedStyle(e).overflowX !== "visible") return true;
  return false;
}

async function look(page, width) {
  const frame = await open(page, width);
  const inside = frame.contentDocument;
  const images = [...inside.images];
  images.forEach(image => (image.loading = "eager"));
  await Promise.all(images.map(image => image.decode().catch(() => null)));
  await frame.contentWindow.document.fonts.ready;
  const problems = [];
  for (const image of images)
    if (!image.naturalWidth) problems.push(`the figure ${image.getAttribute("src")} is missing`);
  const formulae = [...inside.querySelectorAll("math")];
  for (const math of formulae)
    if (!isDrawn(math)) problems.push(`a formula is not drawn: ${math.textContent.slice(0, 60)}`);
  const narrow = [...inside.querySelectorAll(WINDOWS)].find(e => e.scrollWidth > e.clientWidth + 1);
  if (narrow) {
    const edge = narrow.getBoundingClientRect().left + narrow.clientWidth;
    const culprit = [...narrow.querySelectorAll("*")].findLast(
      e => e.getBoundingClientRect().right > edge && e.checkVisibility() && !isClipped(e));
    const name = culprit ? `: ${culprit.outerHTML.slice(0, 80)}` : "";
    problems.push(`it is wider than the window${name}`);
  }
  for (const entry of frame.contentWindow.performance.getEntriesByType("resource"))
    if (new URL(entry.name).host !== location.host) problems.push(`it asks for ${entry.name}`);
  return { page, width, problems, figures: images.length, formulae: formulae.length };
}

async function search(words, width, page) {
  const frame = await open(`search.html?q=${words}`, width);
  let links = [], found = false;
  for (let tries = 0; tries < 100 && !found; tries++) {
    await pause(100);
    links = [...frame.contentDocument.querySelectorAll("#search-results li > a")];
    found = page
      ? links.slice(0, 3).some(link => link.pathname.endsWith(`/${page}`))
      : links.some(link => link.textContent.split(".").at(-1) === words);
  }
  const first = links.slice(0, 3).map(link => link.textContent).join(", ");
  const where = page ? ` in ${page} among the first three: ${first}` : "";
  const problems = found ? [] : [`it does not find ${words}${where}`];
  return { page: "search.html", width, problems, figures: 0, formulae: 0 };
}

(async () => {
  const { pages, widths, words, searches } = await (await fetch("/look.json")).json();
  const results = [];
  for (const width of widths) {
    for (const page of pages) results.push(await look(page, width));
    results.push(await search(words, width));
  }
  for (const [term, page] of Object.entries(searches))
    results.push(await search(term, widths[0], page));
  await fetch("/results", { method: "POST", body: JSON.stringify(results) });
})();
</script>"""


# Shows one page, and calls itself loaded a second after that page, with all that scripts make.
FRAME = """<!DOCTYPE html><meta charset="utf-8"><body style="margin: 0"><script>
const [page, width, height] = location.hash.slice(1).split(",");
document.body.innerHTML = `<iframe src="${page}" width="${width}" height="${height}"
  style="border: 0" onload="document.body.append(Object.assign(new Image(), {src: '/wait'}))">`;
</script>"""


class Handler(SimpleHTTPRequestHandler):
    """The pages, one more that looks at them, and a place for what it finds."""

    def __init__(self, *arguments, task, results, **options):
        self.task, self.results = task, results
        super().__init__(*arguments, **options)

    def do_GET(self):
        if self.path == "/wait":
            time.sleep(1)
        made = {
            "/look.html": LOOK,
            "/look.json": json.dumps(self.task),
            "/frame.html": FRAME,
            "/wait": "",
        }.get(self.path)
        if made is None:
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(made.encode())

    def do_POST(self):
        self.results.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        """Be quiet."""


class Server(ThreadingHTTPServer):
    """A server that takes it quietly when the browser has seen enough of a page."""

    def handle_error(self, request, client_address):
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def find_browser():
    """The path of Chromium, None where it is not installed."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def browser_command(browser, profile):
    """Chromium without a window, and without any host but this one."""
    command = [
        browser,
        "--headless",
        "--disable-gpu",
        "--hide-scrollbars",
        "--no-first-run",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        f"--user-data-dir={profile}",
    ]
    if getattr(os, "geteuid", lambda: 1)() == 0:  # Chromium refuses root its sandbox
        command.append("--no-sandbox")
    return command


def look_at(command, address, results):
    """Have all pages measured, and return what was found."""
    log = subprocess.DEVNULL
    with subprocess.Popen([*command, f"{address}/look.html"], stdout=log, stderr=log) as process:
        try:
            return results.get(timeout=SECONDS)
        finally:
            process.terminate()


def take_pictures(command, address, folder):
    """Keep what the first two screens of some pages look like."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in PICTURES.items():
        for kind, width in WIDTHS.items():
            # Chromium has no windows as narrow as a phone, so the page is in a frame.
            height = 2 * HEIGHTS[kind]
            url = f"{address}/frame.html#{page},{width},{height}"
            picture = f"--screenshot={folder / f'{name}-{kind}.png'}"
            size = f"--window-size={max(width, 500)},{height}"
            subprocess.run([*command, picture, size, url], check=True, capture_output=True)


def take_pictures_of_service(command, folder):
    """Keep what the page of the web service looks like, in light and dark colours."""
    serve = [sys.executable, "-m", "sklearn_shag", "serve", "english", "--port", "0"]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as process:
        url = process.stdout.readline().partition(": ")[2].strip()
        for kind, scheme in {"dark": 0, "light": 1}.items():
            options = [
                f"--screenshot={folder / f'service-{kind}.png'}",
                f"--blink-settings=preferredColorScheme={scheme}",
                "--virtual-time-budget=5000",
                "--window-size=1000,1110",
            ]
            subprocess.run([*command, *options, url], check=True, capture_output=True)
        process.terminate()


def look_at_annotation(command, folder):
    """Keep what the page of annotate looks like; return what is wrong with it in all widths."""
    problems = []
    with tempfile.TemporaryDirectory() as place:
        text, out = Path(place, "text.txt"), Path(place, "trees.conllu")
        text.write_text(ANNOTATED)
        annotate = [sys.executable, "-m", "sklearn_shag", "annotate", "english", text]
        annotate += ["--input", "text", "-o", out, "--no-browser"]
        with (
            subprocess.Popen(annotate, stdout=subprocess.PIPE, text=True) as process,
            Browser(command) as browser,
        ):
            browser.callback(process.terminate)
            browser.open(process.stdout.readline().strip())
            browser.wait("document.querySelector('#drawing .word')")
            # Some words are confirmed, and one is asked for.
            browser.press("Home", "Enter", "Enter", "Enter", "Enter", "ArrowRight", "ArrowRight")
            browser.wait("sessionStorage.getItem('waiting') === '[]'")
            for scheme in ("dark", "light"):
                browser.show(1000, 760, scheme)
                (folder / f"annotate-{scheme}.png").write_bytes(browser.picture())
            for width in (*WIDTHS.values(), 360):
                browser.show(width, 900)
                wide = browser.ask("document.documentElement.scrollWidth")
                if wide > width:
                    problems.append(f"annotate is {wide} pixels wide in a window of {width}")
    return problems + browser.problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", help="of the built pages")
    parser.add_argument("--screenshots", type=Path, metavar="FOLDER", help="keep pictures there")
    parser.add_argument("--service", type=Path, metavar="FOLDER", help="keep its pictures there")
    arguments = parser.parse_args()
    browser = find_browser()
    if browser is None:
        print(f"Chromium is not installed (none of {', '.join(BROWSERS)}): nothing was looked at.")
        return 0
    if arguments.service:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
            command = browser_command(browser, profile)
            take_pictures_of_service(command, arguments.service.resolve())
            problems = look_at_annotation(command, arguments.service.resolve())
        print(*problems, f"{len(problems)} problems", sep="\n")
        return 1 if problems else 0
    folder = Path(arguments.folder or "").resolve()
    pages = [path.relative_to(folder) for path in sorted(folder.rglob("*.html"))]
    pages = [page.as_posix() for page in pages if page.parts[0] != "_static"]
    if not pages:
        parser.error(f"{folder} holds no HTML; build the documentation first")
    task = {"pages": pages, "widths": list(WIDTHS.values()), "words": SEARCHED}
    ways = {term: f"{page}.html" for term, page in SEARCHES.items()}
    task["searches"] = {term: page for term, page in ways.items() if page in pages}
    results = queue.Queue()
    handler = functools.partial(Handler, directory=folder, task=task, results=results)
    with (
        Server(("127.0.0.1", 0), handler) as server,
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}"
        command = browser_command(browser, profile)
        found = look_at(command, address, results)
        if arguments.screenshots:
            take_pictures(command, address, arguments.screenshots.resolve())
        server.shutdown()
    n_problems = sum(len(result["problems"]) for result in found)
    for result in found:
        for problem in result["problems"]:
            print(f"{result['page']}, {result['width']} pixels: {problem}")
    for kind, width in WIDTHS.items():
        here = [result for result in found if result["width"] == width]
        figures, formulae = (sum(r[what] for r in here) for what in ("figures", "formulae"))
        print(f"{kind}: {len(here)} pages, {figures} figures, {formulae} formulae")
    print(f"{n_problems} problems")
    return 1 if n_problems else 0


if __name__ == "__main__":
    sys.exit(main())
