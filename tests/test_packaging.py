"""The metadata of the distribution: true, and the same wherever they are told."""

import configparser
import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import sklearn_shag
from tests.test_architecture import imported_modules, load_script, repository_file

PACKAGE = Path(sklearn_shag.__file__).parent
ROOT = Path(__file__).parent.parent
CONFIG = configparser.ConfigParser()
CONFIG.read(ROOT / "setup.cfg", encoding="utf-8")
METADATA = CONFIG["metadata"]
CLASSIFIERS = METADATA["classifiers"].split("\n")
EXTRAS = CONFIG["options.extras_require"]
# Names of modules that are not those of their distributions.
DISTRIBUTIONS = {"sklearn": "scikit-learn"}


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


def requirements(lines):
    """What is required, by distribution: ``{"numpy": ">=2.0"}``."""
    pairs = (re.fullmatch(r"([a-z-]+)([=>~]=[0-9.]+)", line) for line in lines.strip().split("\n"))
    return dict(pair.groups() for pair in pairs)


CORE = requirements(CONFIG["options"]["install_requires"])


def test_all_that_is_imported_is_required_and_all_that_is_required_is_imported():
    extras = ("contextual", "dask", "fetch", "frame", "graph", "plot", "spacy")
    optional = {name for extra in extras for name in requirements(EXTRAS[extra])}
    modules = [module for path in PACKAGE.rglob("*.py") for module in imported_modules(path)]
    # llvmlite comes with numba, of one version for each of numba's.
    inner = {*sys.stdlib_module_names, "sklearn_shag", "llvmlite"}
    tops = {module.partition(".")[0] for module in modules} - inner
    assert {DISTRIBUTIONS.get(top, top) for top in tops} - optional == set(CORE)


def test_a_requirement_is_the_same_in_all_extras():
    seen = dict(CORE)
    for extra in EXTRAS:
        for name, bound in requirements(EXTRAS[extra]).items():
            assert name not in CORE, f"[{extra}] repeats {name}"
            assert seen.setdefault(name, bound) == bound, f"[{extra}] differs on {name}"


def test_the_guide_tells_the_oldest_versions():
    table = re.findall(r"^   \* - ([a-z-]+)\n     - ([0-9.]+)$", text("doc/guide/start.rst"), re.M)
    assert {name: f">={version}" for name, version in table} == CORE


def test_one_oldest_python():
    oldest = CONFIG["options"]["python_requires"].removeprefix(">=")
    versions = [name.rpartition(" ")[2] for name in CLASSIFIERS if re.search(r":: 3\.\d+$", name)]
    assert oldest == versions[0]
    assert versions == sorted(versions, key=lambda version: int(version.partition(".")[2]))
    assert f"Python {oldest} or newer" in text("README.md")
    assert f"Python {oldest} or newer" in text("doc/guide/start.rst")
    ruff = tomllib.loads(text("pyproject.toml"))["tool"]["ruff"]
    assert ruff["target-version"] == "py" + oldest.replace(".", "")


def test_author_version_and_licence_are_those_of_the_citation():
    citation = text("CITATION.cff")
    # A bundled parser has the licence of its treebank.
    software, _, data = METADATA["license_expression"].partition(" AND ")
    assert data == "CC-BY-SA-4.0"
    told = f"  - name: {METADATA['author']}", f"license: {software}"
    assert {*told, f"version: {sklearn_shag.__version__}"} <= {*citation.splitlines()}
    assert f'author = "{METADATA["author"]}"' in text("doc/conf.py")
    # PEP 639: an SPDX expression, and then no classifier.
    assert not any(name.startswith("License ::") for name in CLASSIFIERS)


def test_the_citation_is_written_from_what_is_told_elsewhere():
    update = load_script(".ci", "citation.py").update
    names = "CITATION.cff", "sklearn_shag/__init__.py", "CHANGELOG.md", "setup.cfg"
    citation, package, changelog, config = map(text, names)
    assert update(citation, package, changelog, config) == citation
    urls = "    Documentation = https://docs.org\n    Source = https://source.org\n"
    config = f"[metadata]\nproject_urls =\n{urls}"
    changelog = f"## {sklearn_shag.__version__} (2031-02-03)\n"
    told = update(citation, package, changelog, config)
    assert (
        f"""\nlicense: BSD-3-Clause
version: {sklearn_shag.__version__}
date-released: 2031-02-03
url: https://docs.org
repository-code: https://source.org
authors:"""
        in told
    )
    assert update(told, package, changelog, config) == told


def test_the_conda_recipe_says_what_setup_cfg_says():
    recipe = repository_file(".ci", "recipe.yaml").read_text(encoding="utf-8")
    run = recipe.partition("  run:\n")[2].partition("\n\n")[0]
    assert dict(re.findall(r"^    - ([a-z-]+) (>=[\d.]+)$", run, re.M)) == CORE
    oldest = CONFIG["options"]["python_requires"].removeprefix(">=")
    names = METADATA["license_files"].strip().split("\n")
    for told in (
        f'version: "{sklearn_shag.__version__}"\n  python_min: "{oldest}"\n',
        f"summary: {METADATA['description']}\n",
        f"license: {METADATA['license_expression']}\n",
        f"- {CONFIG['options.entry_points']['console_scripts'].strip()}\n",
        "license_file:\n" + "".join(f"    - {name}\n" for name in names),
    ):
        assert told in recipe


def test_there_are_no_addresses_before_there_are_true_ones():
    assert not {"url", "download_url", "author_email"} & set(METADATA)
    lines = METADATA["project_urls"].strip().split("\n")
    assert lines == [""] or all(re.fullmatch(r"(\w| )+ = https://[\w./-]+", line) for line in lines)
    assert not re.search(r"example\.(com|org)|placeholder", text("setup.cfg"))
    assert len(re.findall("https?://", text("setup.cfg"))) == len(list(filter(None, lines)))


def test_the_console_script_is_the_command_line(monkeypatch, capsys):
    (script,) = CONFIG["options.entry_points"]["console_scripts"].strip().split("\n")
    name, module, function = re.fullmatch(r"(\S+) = (\S+):(\S+)", script).groups()
    monkeypatch.setattr(sys, "argv", [f"/bin/{name}", "--help"])
    with pytest.raises(SystemExit, match="0"):
        getattr(importlib.import_module(module), function)()
    assert_calls_itself(capsys.readouterr().out, name)


def assert_calls_itself(out, program):
    assert re.match(rf"usage: {program} .*\n  {program} demo\n", out, re.DOTALL)


def test_the_module_calls_itself_as_it_was_called():
    out = subprocess.run(
        [sys.executable, "-m", "sklearn_shag", "--help"],
        capture_output=True,
        text=True,
        cwd=PACKAGE.parent,  # comes before any installed package
        check=True,
    ).stdout
    assert_calls_itself(out, "python -m sklearn_shag")


def test_all_files_of_the_package_are_installed():
    """Modules are found; other files are listed."""
    patterns = {
        PACKAGE.joinpath(*package.split(".")[1:]): lines.strip().split("\n")
        for package, lines in CONFIG["options.package_data"].items()
    }
    listed = {
        path for folder, globs in patterns.items() for glob in globs for path in folder.glob(glob)
    }
    files = {path for path in PACKAGE.rglob("*") if path.is_file()}
    assert PACKAGE / "service" / "page" / "tree.js" in files
    assert {path for path in files if path.suffix not in (".py", ".pyc")} == listed
