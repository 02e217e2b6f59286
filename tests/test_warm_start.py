"""Long training in pieces: EM goes on as if it had never stopped, other training where it was."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sklearn_shag import (
    DMV,
    EMSHAG,
    BiaffineParser,
    ConditionalSHAG,
    CRFParser,
    DeterministicSHAG,
    ModelFileError,
    load_model,
    save_model,
)
from sklearn_shag.learning import NO_SEED
from sklearn_shag.treebank import DependencyTree
from tests.estimators import assert_same_model, same
from tests.test_interruptions import Interrupter

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

# What iterates in another way each.
BY_EM = {
    "EM": EMSHAG(3, tol=0, random_state=0),
    "EM, some converge": EMSHAG(3, tol=0.02, random_state=0),
    "EM from moments": EMSHAG(2, init="moments", tol=0),
    "EM, smoothed": EMSHAG(2, smoothing=1, tol=0, random_state=0),
    "EM, smoothed by pools that converge": EMSHAG(2, smoothing=1, tol=0.05, random_state=0),
    "EM, starts": EMSHAG(3, n_init=3, tol=0, random_state=0),
    "EM, early stopping": EMSHAG(
        3, early_stopping=True, n_iter_no_change=2, smoothing=0.5, random_state=0
    ),
    "DMV": DMV(tol=0),
    "DMV, rules": DMV("uniform", rules="ud", tol=0),
    "DMV, best trees": DMV("uniform", algorithm="viterbi"),
    "DMV, variational": DMV("random", prior_inference="variational", tol=0, random_state=0),
    "DMV, split": DMV(n_states=2, tol=0.01, random_state=0),
    "DMV, split too early": DMV("concave", tied=False, n_states=2, tol=0, random_state=0),
}


@pytest.fixture(scope="module")
def trees(english):
    return [tree for tree in english if len(tree) < 9][:40]


@pytest.fixture(scope="module", autouse=True)
def start_of_split_states(trees):
    """So near to where EM ends that it converges at once, before states are split."""
    BY_EM["DMV, split"].init = DMV(tol=1e-4).fit(trees).operators_


@pytest.mark.parametrize("pieces", [(3, 3), (1, 1, 4), (0, 2), (9, 0, 9)], ids=str)
@pytest.mark.parametrize("name", BY_EM)
def test_pieces_are_the_whole(name, pieces, trees, tmp_path):
    """To the last bit, in all that was learned, and through a file after each piece."""
    whole = clone(BY_EM[name]).set_params(max_iter=sum(pieces)).fit(trees)
    part = clone(BY_EM[name])
    for n_iter in pieces:
        part.set_params(max_iter=n_iter, warm_start=True).fit(trees)
        init = part.init
        save_model(
            part.set_params(init="random"), tmp_path / "part.npz"
        )  # files hold no operators there
        part = load_model(tmp_path / "part.npz").set_params(init=init)
    assert_same_model(part, whole)


def test_the_cases_differ(trees):
    """In the table something converges early, in some the pools do, and some are split early."""
    parts = {name: clone(each).set_params(max_iter=3) for name, each in BY_EM.items()}
    ended = {name: part.fit(trees).checkpoint_.converged for name, part in parts.items()}
    assert not ended["EM"][:-2].all()
    assert 0 < ended["EM, some converge"][:-2].sum() < ended["EM, some converge"].size - 2
    assert not ended["EM, smoothed"][-2:].all()
    assert ended["EM, smoothed by pools that converge"][-2:].all()
    assert not ended["EM, smoothed by pools that converge"].all()
    assert ended["DMV, split"].tolist() == [True, False]
    assert ended["DMV, split too early"].tolist() == [False, False]


@pytest.mark.parametrize("name", ["EM, starts", "EM, early stopping", "DMV, split too early"])
def test_what_is_left_to_chance_is_drawn_once(name, trees):
    """Whatever the generator is, and whatever it has become since."""
    whole = clone(BY_EM[name]).set_params(max_iter=4, random_state=np.random.RandomState(7))
    part = clone(BY_EM[name]).set_params(
        max_iter=2, random_state=np.random.RandomState(7), warm_start=True
    )
    assert_same_model(part.fit(trees).set_params(random_state=None).fit(trees), whole.fit(trees))


@pytest.mark.parametrize("name", ["EM", "DMV"])
def test_what_has_converged_stays(name, trees):
    model = clone(BY_EM[name]).set_params(tol=0.1, max_iter=100, warm_start=True).fit(trees)
    assert model.converged_
    again = clone(model).fit(trees)
    again.fit(trees)
    assert again.n_iter_ == model.n_iter_
    assert_array_equal(again.operators_.A, model.operators_.A)


@pytest.mark.parametrize("name", ["EM", "DMV"])
def test_as_many_iterations_as_it_takes_go_on_through_files(name, trees, tmp_path):
    model = clone(BY_EM[name]).set_params(tol=0.1, max_iter=2**31 - 1, warm_start=True)
    for _ in range(3):
        save_model(model.fit(trees), tmp_path / "model.npz")
        model = load_model(tmp_path / "model.npz")
    assert model.checkpoint_.max_iter == 3 * (2**31 - 1)


@pytest.mark.parametrize(("field", "value"), [("seed", -2), ("seed", 2**32), ("max_iter", -1)])
def test_checkpoints_that_no_fit_makes_are_refused(field, value, trees, tmp_path):
    model = clone(BY_EM["EM"]).set_params(max_iter=1).fit(trees)
    model.checkpoint_ = model.checkpoint_._replace(**{field: np.array(value)})
    save_model(model, tmp_path / "model.npz")
    with pytest.raises(ModelFileError, match=rf"{field} must be from -?\d to \d+, got {value}\.$"):
        load_model(tmp_path / "model.npz")


@pytest.mark.parametrize("name", ["EM", "EM, starts", "DMV", "DMV, split", "DMV, split too early"])
def test_other_data_or_parameters_begin_a_run(name, trees):
    """At the operators of before: there the likelihood is that after the last fit, not lower."""
    model = clone(BY_EM[name]).set_params(max_iter=3, warm_start=True).fit(trees)
    curve = "log_likelihoods_" if isinstance(model, EMSHAG) else "objectives_"
    for change, data in (({"tol": 1e-6}, trees), ({}, trees[:-1] + trees[-1:] * 2)):
        cold = getattr(clone(model).fit(data), curve)[0]
        model.set_params(**change).fit(data)
        assert model.checkpoint_.seed == NO_SEED
        assert getattr(model, curve)[0] > cold
        assert model.n_iter_ <= 3
    # And this run goes on too.
    before = model.n_iter_
    assert model.fit(data).n_iter_ == (before if model.converged_ else 6)


@pytest.mark.parametrize("name", ["EM", "DMV"])
def test_other_symbols_are_refused(name, trees):
    model = clone(BY_EM[name]).set_params(max_iter=2, warm_start=True).fit(trees)
    kept = vars(model).copy()
    with pytest.raises(ValueError, match=r"previous fit, whose symbols were others\. Fit the same"):
        model.fit([["DET", "NOUN"]], [[2, 0]])
    assert all(kept[key] is value for key, value in vars(model).items())


TRAINED = {
    "CRF": CRFParser(["symbol"], n_features=2**10, random_state=0),
    "network": BiaffineParser(["symbol"], hidden_layer_sizes=[8], max_iter=2, random_state=0),
    "conditional": ConditionalSHAG(
        EMSHAG(2, init="moments", smoothing=1), max_iter=3, alpha=0.1, tol=0
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


def test_conditional_keeps_its_penalty_and_its_start(trees, monkeypatch):
    """Warm or cold, the optimum is the same; the grammar to begin with is fitted once."""
    member = DeterministicSHAG("first", smoothing=1)
    whole = ConditionalSHAG(member, alpha=5.0, max_iter=500, tol=1e-9).fit(trees)
    part = ConditionalSHAG(member, alpha=5.0, max_iter=4, tol=1e-9, warm_start=True).fit(trees)
    assert same(part.start_operators_, clone(member).fit(trees).operators_)
    monkeypatch.setattr(ConditionalSHAG, "_fit_start", None)
    part.set_params(max_iter=500).fit(trees)
    for one, other in zip(part.operators_, whole.operators_, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-12)
    # Symbols stay what they were, too.
    more = DependencyTree(["new", "VERB"], [2, 0])
    assert "new" not in part.fit([*trees, more]).symbols_


@pytest.mark.parametrize("name", ["EM", "EM, smoothed", "DMV", "DMV, split", *TRAINED])
def test_an_interrupted_fit_loses_that_call_alone(name, trees):
    """What comes after it is as if it had never been."""
    model = clone((BY_EM | TRAINED)[name]).set_params(max_iter=2, warm_start=True).fit(trees)
    expected = clone(model).fit(trees).fit(trees)
    with Interrupter() as counting:
        copy.copy(model).fit(trees)
    for moment in (1, counting.n_calls // 3, counting.n_calls - 20):
        with Interrupter(moment), pytest.raises(KeyboardInterrupt):
            model.fit(trees)
    assert_same_model(model.fit(trees), expected)


def test_the_warning_counts_all_iterations(trees):
    for model in (EMSHAG(2, tol=0, random_state=0, max_iter=2), DMV(max_iter=2)):
        model.set_params(warm_start=True).fit(trees)
        with pytest.warns(ConvergenceWarning, match="after max_iter=4 iterations"):
            model.fit(trees)
