"""What the documentation is built and checked with: the check finds what is broken."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sklearn_shag.datasets import load_english
from tests.files import write_files
from tests.test_architecture import load_script

DOC = Path(__file__).parent.parent / "doc"
if not DOC.exists():
    pytest.skip("the documentation is not part of this copy", allow_module_level=True)

PAGE = """<!DOCTYPE html>
<html><head><link rel="stylesheet" href="style.css"/></head>
<body id="top"><h1>A page</h1>
<p>Below 1 <math><mi>x</mi></math> \\\\ <code>\\(x\\)</code>, see <a href="#top">above</a></p>
<img src="figure.svg" alt="a figure"/>
</body></html>
"""


@pytest.fixture
def site(tmp_path):
    """A site of one page, with all that it names, and a template that is none."""
    write_files(
        tmp_path,
        {
            "index.html": PAGE,
            "figure.svg": "<svg/>",
            "style.css": "body {background: url(figure.svg)} a {content: url(data:)}",
            "_static/macros.html": '<script src="{{ pathto() }}"></script>',
        },
    )
    return tmp_path


def run_script(name, *arguments, **environment):
    """Run a script of the folder doc."""
    command = [sys.executable, DOC / name, *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | environment
    )


def test_a_whole_page_passes(site):
    result = run_script("check_html.py", site)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == "1 pages, 1 figures, 1 formulae, 0 problems\n"


BROKEN = [
    ('<img src="missing.png">', "<img> names missing.png, which is not there"),
    ('<a href="missing.html">', "<a> names missing.html, which is not there"),
    ('<a href="#nowhere">', "links to #nowhere, but that page has no such place"),
    ('<a href="index.html#nowhere">', "no such place"),
    ('<script src="https://cdn.org/a.js"></script>', "<script> loads https://cdn.org/a.js"),
    ('<link rel="stylesheet" href="//cdn.org/a.css">', "<link> loads //cdn.org/a.css from"),
    ('<a href="https://elsewhere.org/">', "links to another host: https://elsewhere.org/"),
    (r"<p>\(x\)</p>", r"a formula is not rendered: \(x\)"),
    (r"<p>$$x$$</p>", "a formula is not rendered"),
    (r"<p>A \frac{1}{2}</p>", "a formula is not rendered"),
    ("<p>:math:`x`</p>", "a formula is not rendered"),
]


def test_what_is_broken_is_found_page_by_page(site):
    for k, (broken, _) in enumerate(BROKEN):
        (site / f"page{k}.html").write_text(PAGE.replace("</body>", f"{broken}\n</body>"))
    for k, url in enumerate(["https://fonts.org/a.woff2", "missing.woff2"]):
        (site / f"style{k}.css").write_text(f"@font-face {{src: url('{url}')}}")
    result = run_script("check_html.py", site)
    lines = result.stdout.splitlines()
    assert result.returncode == 1
    assert f"{len(BROKEN) + 2} problems" in result.stderr
    for k, (_, message) in enumerate(BROKEN):
        (own,) = [line for line in lines if line.startswith(f"page{k}.html: ")]
        assert message in own
    for k, url in enumerate(["https://fonts.org/a.woff2", "missing.woff2"]):
        assert f"style{k}.css: names {url}, which is elsewhere or missing" in result.stdout


CITATIONS = [
    ("weight (eq. 32). It", "weight (:eq:`eq32`). It"),
    ("Fill (eqs. 14-18, 23).", "Fill (:eq:`eq14` to :eq:`eq18`, :eq:`eq23`)."),
    ("Theory, eq. 39; eq. 21 of the paper", "Theory, :eq:`eq39`; eq. 21 of the paper"),
    ("(theory, eqs. 6, 7 and 32)", "(theory, :eq:`eq6`, :eq:`eq7` and :eq:`eq32`)"),
    ("see eq. 31 of\n  the theory page", "see :eq:`eq31` of\n  the theory page"),
    ("(theory, eq.\n  29)", "(theory, \n  :eq:`eq29`)"),
    ("marginals (eq. 14 of the paper)", "marginals (eq. 14 of the paper)"),
    ("Luque et al. (2012), eqs. 15-20.", "Luque et al. (2012), eqs. 15-20."),
    ("the sum (3) of eq. 3", "the sum (3) of eq. 3"),
]


def test_citations_of_the_theory_become_links():
    module = load_script("doc", "_extensions", "equation_links.py")
    found = [(text, module.link_equations(text)) for text, _ in CITATIONS]
    assert found == CITATIONS


def test_where_there_is_no_chromium_nothing_is_looked_at(site):
    result = run_script("look.py", site, PATH=str(site))
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("Chromium is not installed (none of chromium, ")


@pytest.fixture(scope="module")
def looked_at(tmp_path_factory):
    """What is seen of a site with broken pages, and of the same site once they are mended."""
    if shutil.which("chromium") is None:
        pytest.skip("needs Chromium")
    site, said = tmp_path_factory.mktemp("site"), []
    fraction = "<math><mfrac><mi>a</mi><mi>b</mi></mfrac></math>"
    flat = '<math><mfrac style="display: contents"><mi>a</mi><mi>b</mi></mfrac></math>'
    inner = [f"guide/{name}.html" for name in ("network", "a", "b", "c")]
    texts = {
        "style.css": "",
        "figure.svg": '<svg xmlns="http://www.w3.org/2000/svg" width="9"/>',
        "fine.html": f"{PAGE}{fraction}<pre style='overflow-x: auto'>{'wide' * 99}",
        "broken.html": (
            f'{PAGE}{flat}<img src="missing.svg"><script src="https://cdn.org/a.js"></script>'
            '<div style="width: 1000px"><p>wide</p></div>'
        ),
        **dict.fromkeys(inner, PAGE.replace("figure.svg", "../figure.svg")),
    }
    write_files(site, texts)
    for order in ("abc", "ab"):
        rows = (f'<li><a href="guide/{n}.html">{n}</a></li>' for n in (*order, "network", "c"))
        own = '<li><a href="fine.html">module.SpectralSHAG</a></li>'
        (site / "search.html").write_text(f'<ul id="search-results">{"".join(rows)}{own}</ul>')
        said.append(run_script("look.py", site))
        (site / "broken.html").unlink(missing_ok=True)
    assert [(each.returncode, each.stderr) for each in said] == [(1, ""), (0, "")]
    return [each.stdout.splitlines() for each in said]


def test_what_readers_would_see_broken_is_seen(looked_at):
    lines, mended = looked_at
    assert lines[-1] == "8 problems"
    for width in (1280, 390):
        page = f"broken.html, {width} pixels: "
        assert f"{page}the figure missing.svg is missing" in lines
        assert f"{page}a formula is not drawn: ab" in lines
        assert f"{page}it asks for https://cdn.org/a.js" in lines
    assert any(line.startswith("broken.html, 390 pixels: it is wider") for line in lines)
    assert mended[-1] == "0 problems"


def test_searches_must_find_their_page_among_the_first_three(looked_at):
    told = "it does not find GPU in guide/network.html among the first"
    assert [told in "\n".join(lines) for lines in looked_at] == [True, False]


@pytest.mark.filterwarnings("error")
def test_snippets_lead_from_text_and_from_a_treebank_to_pictures(tmp_path, monkeypatch):
    """As "Getting started" has them: copied into one session, in a folder with a treebank."""
    folder = DOC / "guide" / "snippets"
    text = (DOC / "guide" / "start.rst").read_text(encoding="utf-8")
    included = re.findall(r"literalinclude:: snippets/(\w+)\.txt", text)
    assert included == ["install", "english", "learn", "picture", "compare"]
    snippets = {path.stem: path.read_text(encoding="utf-8") for path in folder.iterdir()}
    assert snippets["install"] == "$ pip install .\n"
    shutil.copy(load_english().filename, tmp_path / "train.conllu")
    monkeypatch.chdir(tmp_path)
    exec("".join(snippets[name] for name in included[1:]), {})
    for name in ("tree.svg", "parsed.svg", "compared.svg"):
        assert "<svg" in (tmp_path / name).read_text(encoding="utf-8")


def test_prose_that_reads_as_translated_is_found(tmp_path):
    pytest.importorskip("proselint")
    long = "It is a sentence of " + "very " * 40 + "many words."
    texts = {
        "good.rst": "Title\n=====\n\nIt finds trees.\n\n.. code-block:: python\n\n   x = 1\n",
        "phrase.rst": "It learns from heads here and there.\n",
        "long.md": f"First.\n\n{long}\n\n```sh\n{long}\n```\n",
    }
    write_files(tmp_path, texts)
    result = run_script("check_prose.py", *tmp_path.iterdir())
    assert result.returncode == 1, result.stderr
    lines = [line for line in result.stdout.splitlines() if "damn" not in line]
    assert len(lines) == 3, lines
    assert any(
        "phrase.rst:1: 'heads here and there': partially annotated" in line for line in lines
    )
    assert any("long.md:3: a sentence of 47 words" in line for line in lines)


def test_pages_have_measured_tables_without_targets():
    """Tables named by comments are in the saved results; filling them in leaves targets out."""
    benchmarks = DOC.parent / "benchmarks"
    measure, saved = load_script("benchmarks", "_measure.py"), set()
    for results in (benchmarks / "results").glob("*.json"):
        content = json.loads(results.read_text(encoding="utf-8"))
        saved |= {f"{content.get('script')} {name}" for name in content.get("tables", ())}
    pages = {page: page.read_text(encoding="utf-8") for page in DOC.rglob("*.rst")}
    for page, text in pages.items():
        assert set(re.findall(r"^\.\. measured: (.+)$", text, re.M)) <= saved, page
        assert not re.search(r"^what .* demanded +met$", text, re.M), page
    rows = [{"what": "seconds", "measured": 2.0, "demanded": "at most 3", "met": "yes"}]
    filled = measure.fill("Before.\n\n.. measured: speed all\n\nAfter.\n", {"speed all": rows})
    rule = "=======  ========"
    table = f"{rule}\nwhat     measured\n{rule}\nseconds      2.00\n{rule}"
    assert filled == f"Before.\n\n.. measured: speed all\n\n{table}\n\nAfter.\n"
    assert measure.fill(filled, {"speed all": rows}) == filled
