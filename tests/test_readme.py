"""The README says what is true and runs as written."""

import re
import shlex
from pathlib import Path

import pytest

from sklearn_shag.cli._main import main
from tests.processes import run
from tests.test_architecture import repository_file

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)


def test_the_example_prints_what_the_readme_says():
    (example,), (printed,) = blocks("python"), blocks("text")
    assert run(example, PYTHONWARNINGS="error").stdout == printed


def test_the_demo_draws_what_the_readme_shows(capsys):
    (shown,) = blocks("console")
    command, drawn = shown.removeprefix("$ sklearn-shag ").split("\n", 1)
    assert main(shlex.split(command)) == 0
    found = capsys.readouterr().out
    number = re.compile(r" *([0-9]+\.[0-9]) %$", flags=re.MULTILINE)
    assert number.sub("", found) == number.sub("", drawn)
    one, other = (list(map(float, number.findall(text))) for text in (found, drawn))
    assert one == pytest.approx(other, abs=0.3)  # of another processor


def test_two_commands_each_start_from_nothing():
    """Continuous integration finds each by its beginning and its end, and runs it."""
    commands = [line for block in blocks("sh") for line in block.strip().splitlines()]
    files = (repository_file(".ci", name) for name in ("beside", "run"))
    scripts = "".join(path.read_text(encoding="utf-8") for path in files)
    patterns = re.findall(r"grep -E '(\^python3 -m venv .*\$)' README\.md", scripts)
    assert all(map(re.search, patterns, commands))
    assert len(patterns) == len(commands) == 2
    assert all("pip install" in command for command in commands)
    assert ".ci/beside &> " in scripts
