"""Warm starts: EM from the operators of the fit before, other training from its weights."""

import copy

import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from sklearn_shag import DMV, EMSHAG, BiaffineParser, CRFParser, load_model, save_model
from tests.estimators import assert_same_model
from tests.test_interruptions import Interrupter

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

# What iterates in another way each, and the curve that it raises.
BY_EM = {
    "EM": EMSHAG(3, tol=0, random_state=0),
    "EM, smoothed": EMSHAG(2, smoothing=1, tol=0, random_state=0),
    "EM, starts": EMSHAG(3, n_init=3, tol=0, random_state=0),
    "DMV": DMV(tol=0),
    "DMV, rules": DMV("uniform", rules="ud", tol=0),
    "DMV, best trees": DMV("uniform", algorithm="viterbi"),
    "DMV, split": DMV(n_states=2, tol=0.01, random_state=0),
}


@pytest.fixture(scope="module")
def trees(english):
    return [tree for tree in english if len(tree) < 9][:40]


@pytest.mark.parametrize("name", BY_EM)
def test_em_starts_where_it_ended(name, trees, tmp_path):
    """Through a file, too; the curves are those of the last fit."""
    model = clone(BY_EM[name]).set_params(max_iter=3, warm_start=True)
    first = model.fit(trees).loss_curve_
    save_model(model, tmp_path / "model.npz")
    loaded = load_model(tmp_path / "model.npz").fit(trees)
    second = model.fit(trees).loss_curve_
    assert_same_model(loaded, model)
    assert_allclose(second[0], first[-1], rtol=1e-9)
    # Where it ended at an optimum, the loss is the same sum, whose rounding is the processor's.
    assert second[-1] <= second[0] * (1 + 1e-12)
    assert model.n_iter_ == len(second) - 1 <= 3
    cold = clone(model).set_params(warm_start=False).fit(trees)
    assert_allclose(cold.loss_curve_, first, rtol=1e-12)


@pytest.mark.parametrize("name", ["EM", "DMV"])
def test_other_symbols_are_refused(name, trees):
    model = clone(BY_EM[name]).set_params(max_iter=2, warm_start=True).fit(trees)
    kept = vars(model).copy()
    with pytest.raises(ValueError, match=r"previous fit, which had other symbols\. Fit the same"):
        model.fit([["DET", "NOUN"]], [[2, 0]])
    assert all(kept[key] is value for key, value in vars(model).items())


TRAINED = {
    "CRF": CRFParser(["symbol"], n_features=2**10, random_state=0),
    "network": BiaffineParser(
        ["symbol"], hidden_layer_sizes=[8], max_iter=2, dropout=0.1, random_state=0
    ),
}


@pytest.mark.parametrize("name", TRAINED)
def test_trained_parsers_go_on_from_their_weights(name, trees, tmp_path):
    model = clone(TRAINED[name]).set_params(warm_start=True).fit(trees)
    first = model.loss_curve_
    save_model(model, tmp_path / "model.npz")
    loaded = load_model(tmp_path / "model.npz")
    assert model.fit(trees).loss_curve_[0] < 0.9 * first[0]
    assert model.loss_curve_[-1] < min(first)
    assert_same_model(loaded.fit(trees), model)
    assert clone(model).set_params(warm_start=False).fit(trees).loss_curve_ == first


@pytest.mark.parametrize("name", ["EM", *TRAINED])
def test_an_interrupted_fit_loses_that_call_alone(name, trees):
    """What comes after it is as if it had never been."""
    model = {"EM": BY_EM["EM"], **TRAINED}[name]
    model = clone(model).set_params(max_iter=2, warm_start=True).fit(trees)
    expected = clone(model).fit(trees).fit(trees)
    with Interrupter() as counting:
        copy.copy(model).fit(trees)
    with Interrupter(counting.n_calls // 3), pytest.raises(KeyboardInterrupt):
        model.fit(trees)
    assert_same_model(model.fit(trees), expected)
