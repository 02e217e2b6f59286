"""Annotations say the truth; `.ci/types` has type checkers look at the examples."""

import re
import types
import typing
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.utils import Bunch

import sklearn_shag
from sklearn_shag import CRFParser, DeterministicSHAG, SpectralSHAG
from sklearn_shag.datasets import load_english
from sklearn_shag.inspection import (
    approximate_dfa,
    arc_table,
    automaton_gains,
    automaton_ranks,
    inspect_marginals,
)
from sklearn_shag.metrics import attachment_breakdown
from sklearn_shag.operators import exact_moments
from sklearn_shag.parsing import Potentials, chart, inside_outside
from sklearn_shag.sequences import build_prefix_trees, extract_sequences, pair_moments
from tests.estimators import ESTIMATORS, TRANSFORMERS
from tests.loops import over

# What values are that an annotation admits; NDArray is an alias of its own since numpy 2.5.
KINDS = {float: (int, float), NDArray: np.ndarray}


def check(value, hint, where):
    """Check that a value is what its annotation says, arrays by their dtype."""
    kinds = typing.get_args(hint) if isinstance(hint, types.UnionType) else [hint]
    origins = [typing.get_origin(kind) or kind for kind in kinds]
    fit = [kind for kind, o in zip(kinds, origins) if isinstance(value, KINDS.get(o, o))]  # noqa: B905
    assert fit, where
    if isinstance(value, np.ndarray):
        scalar = typing.get_args(fit[0])[-1]
        (scalar,) = typing.get_args(scalar) or (scalar,)
        assert issubclass(value.dtype.type, scalar), f"{where} is of {value.dtype}, not {scalar}"
    if hasattr(value, "_fields"):
        for field, of_field in typing.get_type_hints(type(value)).items():
            check(getattr(value, field), of_field, f"{where}.{field}")


def records(english):
    model = SpectralSHAG(2, mixing=0).fit(english)
    codes, heads, indptr = np.array([0, 1, 1]), np.array([2, 0, 2]), np.array([0, 3])
    sequences = extract_sequences(codes, heads, indptr, 2)
    yield sequences
    yield build_prefix_trees(sequences, 2)[0]
    yield model.statistics_
    for smoothing in (0, 1):
        yield pair_moments(model.statistics_.statistics, 0, 1, smoothing)
    yield exact_moments(type(model.operators_)(*(part[0, 0] for part in model.operators_)))
    yield inside_outside(model.operators_, [0, 1, 2])
    memory = np.ones((6, 1)), np.ones((2, 2, 1))
    sentence = Potentials(
        np.array([0, 2]), np.array([0, 1]), np.zeros(6), np.zeros(2, int), *memory
    )
    yield sentence
    yield chart(model.operators_, sentence, counts=True)
    yield inspect_marginals(model, english[:3])
    yield approximate_dfa(model, english, head="NOUN", direction="left")
    yield arc_table(model)
    yield automaton_gains(model, english[:3], baseline=DeterministicSHAG().fit(english))
    yield automaton_ranks(model)
    yield attachment_breakdown(english[:3], model.predict(english[:3]))
    parser = CRFParser(n_features=64, random_state=0).fit(english[:9])
    yield parser.weights_
    yield from parser.explain(english[0], 1)


def test_records_hold_what_their_annotations_say(english):
    found = list(records(english))
    for record in found:
        check(record, type(record), type(record).__name__)
    assert len(set(map(type, found))) == 15


@over("name", ESTIMATORS | TRANSFORMERS)
def test_fitted_attributes_are_what_their_annotations_say(name, fitted):
    estimator = fitted(name)
    hints = typing.get_type_hints(type(estimator))
    found = {name: value for name, value in vars(estimator).items() if name.endswith("_")}
    assert set(found) == {name for name in hints if name.endswith("_")}
    for name, value in found.items():
        check(value, hints[name], name)


def test_treebanks_are_bunches_with_annotated_keys():
    treebank = load_english()
    assert isinstance(treebank, Bunch)
    assert set(treebank) == set(typing.get_type_hints(type(treebank)))


def test_mypy_refuses_methods_that_do_not_exist(tmp_path, monkeypatch):
    """Where it is installed."""
    mypy = pytest.importorskip("mypy.api")
    monkeypatch.setenv("MYPYPATH", str(Path(sklearn_shag.__file__).parents[1]))
    script = tmp_path / "script.py"
    lines = [
        "from sklearn_shag import SpectralSHAG, load_model",
        "from sklearn_shag.datasets import load_parser",
        'load_parser().parse_text("It sleeps.", n_best=2)[0][0].heads',
        'load_parser().pars_text("It sleeps.")',
        'load_parser().parse_text("It sleeps.", n_bets=2)',
        "SpectralSHAG().predic([])",
        'load_model("model.npz").predict([])',
        'model: SpectralSHAG = load_model("model.npz")',
        "model.predic([])",
    ]
    script.write_text("\n".join(lines))
    options = ["--strict", "--disable-error-code=import-untyped", "--follow-imports=silent"]
    out, _, _ = mypy.run([*options, f"--cache-dir={tmp_path}", str(script)])
    assert sorted(set(re.findall(r"^\S+:(\d+): error", out, re.M))) == ["4", "5", "6", "9"]
