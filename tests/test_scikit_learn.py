"""What the page on scikit-learn's tools says of scorers and of y."""

import inspect
import pickle
import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import make_scorer
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import sklearn_shag
from sklearn_shag import DeterministicSHAG, SpectralSHAG, make_parser_pipeline
from sklearn_shag.metrics import (
    exact_match_score,
    exact_match_scorer,
    labeled_attachment_score,
    las_scorer,
    uas_scorer,
    unlabeled_attachment_score,
)
from sklearn_shag.treebank import TokenFeature, heads
from sklearn_shag.utils._arrays import object_array
from sklearn_shag.utils._estimators import find_documentation
from tests.processes import run

SCORERS = {"uas": uas_scorer, "exact": exact_match_scorer, "las": las_scorer}
SCORES = {
    "uas": unlabeled_attachment_score,
    "exact": exact_match_score,
    "las": labeled_attachment_score,
}


# Scorers


@pytest.mark.parametrize("name", SCORERS)
@pytest.mark.parametrize(
    "model", [SpectralSHAG(2), make_parser_pipeline(TokenFeature("xpos"), SpectralSHAG(2))]
)
def test_scorers_score_what_is_predicted(english, name, model):
    trees, weights = english[:60], np.arange(60) % 3
    parsed, true = model.fit(trees).parse(trees), heads(trees)
    expected = SCORES[name](trees, parsed)
    assert 0 < expected < 1
    weighted = SCORES[name](trees, parsed, sample_weight=weights)
    assert weighted != expected
    for y in (None, true, [each.tolist() for each in true], object_array(true), trees):
        assert SCORERS[name](model, trees, y) == expected
        assert SCORERS[name](model, trees, y, sample_weight=weights) == weighted
    assert uas_scorer(model, trees) == model.score(trees)


def test_true_heads_are_those_before_the_steps_of_a_pipeline(trees):
    def chain(trees):
        return [tree.with_heads(np.arange(len(tree))) for tree in trees]

    model = make_pipeline(FunctionTransformer(chain), DeterministicSHAG()).fit(trees)
    score = unlabeled_attachment_score(trees, model.predict(trees))
    assert uas_scorer(model, trees) == score
    assert model.score(trees) != score  # of the chains


@pytest.mark.parametrize("name", SCORERS)
def test_scorers_can_be_pickled(name):
    assert pickle.loads(pickle.dumps(SCORERS[name])) is SCORERS[name]


@sklearn.config_context(enable_metadata_routing=True)
def test_routing_passes_weights_to_objects_and_not_to_functions(trees, weights):
    model = DeterministicSHAG().set_fit_request(sample_weight=True)
    model.set_score_request(sample_weight=True)
    made = make_scorer(unlabeled_attachment_score).set_score_request(sample_weight=True)
    by_default, by_object, by_function = (
        cross_val_score(
            model,
            trees,
            trees,
            cv=3,
            scoring=scoring,
            params={"sample_weight": weights},
            error_score="raise",
        )
        for scoring in (None, made, uas_scorer)
    )
    assert_array_equal(by_object, by_default)
    for k, (train, test) in enumerate(KFold(3).split(trees)):
        held_out = [trees[i] for i in test]
        fitted = clone(model).fit([trees[i] for i in train], sample_weight=weights[train])
        assert by_function[k] == fitted.score(held_out)
        assert by_default[k] == fitted.score(held_out, sample_weight=weights[test])


# Links of diagrams


ADDRESS = "https://docs.org/shag"


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Install the package with these lines in its metadata."""

    def install(lines):
        folder = tmp_path / "sklearn_shag-0.1.0.dist-info"
        folder.mkdir(exist_ok=True)
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: sklearn-shag\n{lines}")
        find_documentation.cache_clear()

    monkeypatch.syspath_prepend(tmp_path)
    yield install
    find_documentation.cache_clear()


def test_diagrams_link_to_pages_of_the_documentation_if_its_address_is_known(installed):
    reference = Path(sklearn_shag.__file__).parents[1] / "doc" / "api.rst"
    if not reference.exists():
        pytest.skip("the documentation is not part of this copy")
    links = {}  # by the names of the pages that autosummary makes
    for section in reference.read_text(encoding="utf-8").split(".. currentmodule:: ")[1:]:
        module, rest = section.split("\n", 1)
        for name in re.findall(r"^   (\w+)$", rest, flags=re.MULTILINE):
            value = getattr(import_module(module), name)
            is_class = inspect.isclass(value) and not inspect.isabstract(value)
            if is_class and issubclass(value, BaseEstimator):
                links[f"{ADDRESS}/generated/{module}.{name}.html"] = value.__new__(value)
    assert len(links) > 20
    for lines in ("", "Project-URL: Source, https://source.org\n"):
        installed(lines)
        assert {estimator._get_doc_link() for estimator in links.values()} == {""}
    installed(f"Project-URL: Source, https://source.org\nProject-URL: Documentation, {ADDRESS}/\n")
    assert [estimator._get_doc_link() for estimator in links.values()] == list(links)
    assert (
        f'href="{ADDRESS}/generated/sklearn_shag.SpectralSHAG.html"' in SpectralSHAG()._repr_html_()
    )

    class Own(SpectralSHAG):
        """Of somebody else, who has other documentation, if any."""

    assert not Own()._get_doc_link()


def test_diagrams_do_not_link_where_the_package_is_not_installed(installed, monkeypatch):
    monkeypatch.setattr("sys.path", [])
    find_documentation.cache_clear()
    assert not SpectralSHAG()._get_doc_link()


# callbacks

# scikit-learn as before version 1.9. Modules of it that import the mixin must be there already.
WITHOUT_CALLBACKS = """
import sys
from sklearn_shag import EMSHAG
X, y = [["DET", "NOUN"]], [[2, 0]]
EMSHAG(2, init="moments", tol=9).fit(X, y)
for name in [name for name in sys.modules if name.partition(".")[0] == "sklearn_shag"]:
    del sys.modules[name]
if "sklearn.callback" in sys.modules:
    del sys.modules["sklearn.callback"].CallbackSupportMixin
from sklearn_shag import EMSHAG
model = EMSHAG(2, init="moments", tol=9).fit(X, y)
print(hasattr(model, "set_callbacks"), model.predict(X)[0])
"""


def test_callbacks_cannot_be_set_with_older_versions():
    assert run(WITHOUT_CALLBACKS).stdout == "False [2 0]\n"
