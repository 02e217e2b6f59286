"""Some of what python -m tests.fuzz tries on readers; and that it would find what is wrong."""

import pytest

from sklearn_shag.treebank import _drawing, _lines, _pieces
from sklearn_shag.treebank import _sources as _text
from tests.fuzz._run import try_once
from tests.fuzz.treebanks import TARGETS


def outcomes(name, n_inputs):
    found = [try_once(TARGETS[name], 0, number) for number in range(n_inputs)]
    return {each.outcome for each in found}, [each.failure for each in found if each.failure]


@pytest.mark.parametrize("name", TARGETS)
def test_readers(name):
    found, failures = outcomes(name, 1000)
    assert not failures, failures[0]
    assert {"ConlluError", "1 trees", "2 trees", "3 trees"} <= found


@pytest.mark.parametrize(
    ("module", "name", "replacement"),
    [
        (_text, "printable", str),
        (_drawing, "printable", lambda text, max_length: text),
        (_pieces, "describe_binary", lambda data: 1 / 0 if b"\x1b" in data else None),
        (_lines, "ParseException", KeyError),
        (_lines, "replace_heads", lambda text, heads, deprels: text),
    ],
)
def test_it_finds_what_is_wrong(monkeypatch, module, name, replacement):
    monkeypatch.setattr(module, name, replacement)
    assert outcomes("conllu", 1000)[1]
