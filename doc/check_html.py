"""Check the built pages: `python doc/check_html.py doc/_build/html`.

Every figure, script, style and page that a page names must be there, formulae must be MathML, and
nothing may be loaded from another host. Prints what is wrong, page by page, and exits with 1.
"""

import argparse
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Hosts that readers may be sent to. Nothing is loaded from them.
LINKED_HOSTS = {
    "github.com",  # projects that pages speak of
    "keepachangelog.com",  # the change log
    "semver.org",
    "pydata-sphinx-theme.readthedocs.io",  # footers
    "sphinx-gallery.github.io",
    "www.sphinx-doc.org",
}
# Where a URL stands, by tag; only those of "a" are for the reader to follow.
URLS = {
    "a": ("href",),
    "audio": ("src",),
    "embed": ("src",),
    "form": ("action",),
    "iframe": ("src",),
    "image": ("href", "xlink:href"),
    "img": ("src",),
    "link": ("href",),
    "object": ("data",),
    "script": ("src",),
    "source": ("src",),
    "use": ("href", "xlink:href"),
    "video": ("src",),
}
VERBATIM = {"code", "pre", "script", "style", "math", "textarea"}
RAW_FORMULA = re.compile(
    r"\\[(\[)\]]|\$\$|:math:`|\\(?:frac|sum|prod|alpha|infty|mathrm|mathcal|begin|top)\b"
)
CSS_URL = re.compile(r"""url\(\s*['"]?(?!data:)([^'")]+)|@import\s+['"]([^'"]+)""")


class Page(HTMLParser):
    """What a page names: identifiers, URLs with their tags, raw formulae."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.urls, self.formulae = set(), [], []
        self.n_math = 0
        self._verbatim = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.ids |= {values[name] for name in ("id", "name") if values.get(name)}
        self.urls += [(tag, values[name]) for name in URLS.get(tag, ()) if values.get(name)]
        self.n_math += tag == "math"
        if tag in VERBATIM:
            self._verbatim.append(tag)

    def handle_endtag(self, tag):
        if tag in self._verbatim:
            del self._verbatim[self._verbatim.index(tag) :]

    def handle_data(self, data):
        if not self._verbatim and RAW_FORMULA.search(data):
            self.formulae.append(" ".join(data.split())[:80])


def check_url(path, tag, url, pages):
    """Say what is wrong with a URL, or return None."""
    parts = urlsplit(url)
    if parts.netloc or parts.scheme in ("http", "https"):
        if tag != "a":
            return f"<{tag}> loads {url} from another host"
        return None if parts.netloc in LINKED_HOSTS else f"links to another host: {url}"
    if parts.scheme:  # mailto:, data:, javascript:
        return None if parts.scheme in ("data", "mailto") else f"unknown kind of address: {url}"
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.is_file():
        return f"<{tag}> names {url}, which is not there"
    # Scripts make the targets on pages such as search.html by themselves.
    if target in pages and parts.fragment and unquote(parts.fragment) not in pages[target].ids:
        return f"links to {url}, but that page has no such place"
    return None


def check_page(path, pages):
    """List what is wrong with a page."""
    page = pages[path]
    found = [check_url(path, tag, url, pages) for tag, url in page.urls]
    found += [f"a formula is not rendered: {text}" for text in page.formulae]
    return sorted({problem for problem in found if problem})


def check_style(path):
    """List files that a style sheet names, but that are elsewhere or missing."""
    urls = [a or b for a, b in CSS_URL.findall(path.read_text(encoding="utf-8"))]
    parts = {url: urlsplit(url) for url in urls}
    return sorted(
        f"names {url}, which is elsewhere or missing"
        for url, part in parts.items()
        if part.netloc or (part.path and not (path.parent / unquote(part.path)).is_file())
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="of the built pages")
    folder = parser.parse_args().folder.resolve()
    # What themes keep in _static are templates.
    files = (path for path in folder.rglob("*.html") if "_static" not in path.parts)
    pages = {path: Page(path) for path in sorted(files)}
    if not pages:
        parser.error(f"{folder} holds no HTML; build the documentation first")
    problems = {path: check_page(path, pages) for path in pages}
    problems |= {path: check_style(path) for path in sorted(folder.rglob("*.css"))}
    n_problems = 0
    for path, found in problems.items():
        n_problems += len(found)
        for problem in found:
            print(f"{path.relative_to(folder)}: {problem}")
    n_figures = sum(tag == "img" for page in pages.values() for tag, _ in page.urls)
    n_formulae = sum(page.n_math for page in pages.values())
    print(
        f"{len(pages)} pages, {n_figures} figures, {n_formulae} formulae, {n_problems} problems",
        file=sys.stderr if n_problems else sys.stdout,
    )
    return 1 if n_problems else 0


if __name__ == "__main__":
    sys.exit(main())
