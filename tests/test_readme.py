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
    commands = [line for block in blocks("sh") for line in block.strip().splitlines()]
    assert len(commands) == 2
    assert all(command.startswith("python3 -m venv ") for command in commands)
    assert all("pip install" in command for command in commands)
    assert commands[0].endswith(".venv/bin/sklearn-shag demo")
    assert commands[1].endswith(".venv/bin/python -m pytest -n 2")


def test_continuous_integration_runs_the_commands_of_the_readme():
    text = repository_file(".ci", "run").read_text(encoding="utf-8")
    assert ".ci/beside &> " in text
    assert "python -m pytest -n 2$' README.md" in text
    assert "sklearn-shag demo$' README.md" in repository_file(".ci", "beside").read_text(
        encoding="utf-8"
    )


def test_continuous_integration_names_files_that_exist():
    folders = repository_file(".ci"), ROOT / ".github"
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    texts = "\n".join(path.read_text(encoding="utf-8") for path in files)
    named = set(re.findall(r"\b(?:tests|benchmarks|doc)/\w+\.py\b", texts))
    assert len(named) > 20
    assert [name for name in sorted(named) if not (ROOT / name).is_file()] == []
