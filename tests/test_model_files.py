"""Files of every release load, and say what they said; other formats than ours carry models too."""

import io
import json

import joblib
import numpy as np
import pytest

import sklearn_shag
from sklearn_shag import load_model
from sklearn_shag.treebank import read_conllu
from tests.estimators import ESTIMATORS, TRANSFORMERS
from tests.loops import over
from tests.model_files import (
    EXPECTED,
    FOLDER,
    OF_SEQUENCES,
    SENTENCES,
    answers,
    file_name,
    short_trees,
    small_models,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn_shag.treebank.UnknownSymbolWarning")
FILES = sorted(FOLDER.glob("*/*.npz"))
SMALL = [*ESTIMATORS, *TRANSFORMERS, "pipeline", "frozen", *OF_SEQUENCES]


def test_this_release_has_a_file_of_every_estimator():
    """`python -m tests.model_files` makes them."""
    own = FOLDER / sklearn_shag.__version__
    assert {path.name for path in FILES if path.parent == own} == set(map(file_name, SMALL))
    assert sum(path.stat().st_size for path in own.iterdir()) < 550_000


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_files_of_releases(path):
    trees = read_conllu(path.with_name(SENTENCES))
    expected = json.loads(path.with_name(EXPECTED).read_text(encoding="utf-8"))[path.name]
    said = answers(load_model(path), trees)
    assert said.keys() == expected.keys()
    for marginals, others in zip(
        said.pop("marginals", ()), expected.pop("marginals", ()), strict=True
    ):
        np.testing.assert_allclose(marginals, others, rtol=0, atol=2e-3)
    assert said == expected


def by_skops(model):
    skops = pytest.importorskip("skops.io")
    types = skops.get_untrusted_types(data=skops.dumps(model))
    assert all(name.startswith(("sklearn_shag.", "sklearn.")) for name in types)
    return skops.loads(skops.dumps(model), trusted=types)


def by_joblib(model):
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


@pytest.mark.parametrize("name", SMALL)
@over("carry", [by_skops, by_joblib])
def test_other_formats_carry_models_too(name, carry):
    model = small_models()[name]
    other = carry(model)
    assert type(other) is type(model)
    assert answers(other, short_trees()) == answers(model, short_trees())
