"""Callbacks of scikit-learn, from version 1.9 on, watch and stop what learns in passes."""

import pickle

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from sklearn_shag import (
    DMV,
    EMSHAG,
    BiaffineParser,
    CRFParser,
    EMAutomaton,
    Splitter,
    Tagger,
    load_model,
    make_parser_pipeline,
    save_model,
)
from tests.estimators import learned
from tests.loops import over

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn 1.9 has them")


def is_pass(context):
    return context.task_name in ("pass", "iteration")


class Watcher:
    """Keeps what it sees, and may ask to stop after some passes."""

    def __init__(self, stop_after=None, path=None):
        self.stop_after, self.path, self.seen, self.n_open = stop_after, path, [], 0

    def setup(self, estimator, context):
        self.seen.append(("setup", type(estimator).__name__))

    def teardown(self, estimator, context):
        self.seen.append(("teardown", type(estimator).__name__))

    def on_fit_task_begin(self, estimator, context):
        self.n_open += 1

    def on_fit_task_end(self, estimator, context, *, metadata=None):
        self.n_open -= 1
        self.seen.append((context, metadata))
        if self.path:
            with open(self.path, "a") as file:
                print(context.task_name, file=file)
        return is_pass(context) and context.task_id + 1 == self.stop_after

    @property
    def passes(self):
        """The contexts of passes, and what they have reached."""
        return [each for each in self.seen if isinstance(each[1], dict) and is_pass(each[0])]


class PropagatedWatcher(Watcher):
    """One that searches pass on to what they fit."""

    max_propagation_depth = 1


SMALL = {"hidden_layer_sizes": [4], "max_iter": 6, "random_state": 0}
CASES = {
    "EMSHAG": EMSHAG(2, tol=0.01, max_iter=30, random_state=0),
    "EMSHAG that holds out": EMSHAG(2, max_iter=50, early_stopping=True, random_state=0),
    "EMAutomaton": EMAutomaton(2, init="random", tol=0.1, random_state=0),
    "EMAutomaton from several starts": EMAutomaton(2, n_init=2, tol=0.1, random_state=0),
    "DMV": DMV(tol=0.1),
    "DMV with hidden states": DMV(n_states=2, tol=0.1, random_state=0),
    "CRF": CRFParser(n_features=2**12, max_iter=6, early_stopping=True, random_state=0),
    "calibrated CRF": CRFParser(n_features=2**12, max_iter=6, random_state=0),
    "network": BiaffineParser(["upos"], early_stopping=True, **SMALL),
    "calibrated network": BiaffineParser(["upos"], **SMALL),
    "splitter": Splitter(**SMALL),
    "tagger": Tagger("upos", **SMALL),
}
IN_ORDER = [*CASES][4:]  # not of several automata, or runs, side by side


def data_for(name, trees):
    return [list(tree.upos) for tree in trees] if name.startswith("EMAutomaton") else trees


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@over("name", CASES)
def test_each_pass_is_a_task_and_nothing_else_changes(trees, name):
    X, watcher = data_for(name, trees), Watcher()
    watched = clone(CASES[name])
    assert watched.set_callbacks(watcher) is watched
    watched.fit(X)
    assert_equal(learned(watched), learned(clone(CASES[name]).fit(X)))
    ends = [each for each in watcher.seen if isinstance(each[1], str)]
    kind = type(watched).__name__
    assert ends == [("setup", kind), ("teardown", kind)]
    assert watcher.n_open == 0
    root = watcher.seen[-2][0]
    assert (root.task_name, root.parent) == ("fit", None)
    assert root.max_subtasks is not None
    levels = {}
    for context, _ in watcher.passes:
        levels.setdefault(id(context.parent), []).append(context.task_id)
    for numbers in levels.values():
        assert numbers == [*range(len(numbers))]
    if name not in IN_ORDER:
        assert len(levels) > 1 or name == "EMAutomaton"
        assert max(map(len, levels.values())) >= watched.n_iter_
    elif name == "DMV with hidden states":
        assert len(watcher.passes) > watched.n_iter_  # EM has run before, too
    else:
        reached = [data for _, data in watcher.passes][: watched.n_iter_]
        assert len(watcher.passes) - watched.n_iter_ == 6 * ("CRF" in name)  # of relations
        losses, scores = watched.loss_curve_, getattr(watched, "validation_scores_", [])
        if name == "DMV":  # its score is what EM raises
            losses, scores = [data["loss"] for data in reached], np.negative(losses[1:]).tolist()
        assert [data["loss"] for data in reached] == losses
        assert [data["score"] for data in reached if data["score"] is not None] == scores
        assert bool(scores) == (name in ("CRF", "network", "DMV"))


@over("name", CASES)
def test_callbacks_stop_a_fit_with_what_it_has(trees, name):
    X, watcher = data_for(name, trees), Watcher(stop_after=2)
    stopped = clone(clone(CASES[name]).set_callbacks(watcher)).fit(X)
    # What is begun after the stop has one pass: automata with hidden states, another start.
    after = 1 if name in ("DMV with hidden states", "EMAutomaton from several starts") else 2
    is_em = "EM" in name or "DMV" in name
    assert (stopped.n_iter_, len(stopped.loss_curve_)) == (after, after + is_em)
    assert (watcher.n_open, getattr(stopped, "converged_", False)) == (0, False)
    if name in ("EMAutomaton", "DMV"):
        short = clone(CASES[name]).set_params(max_iter=2)
        with pytest.warns(UserWarning, match="not converged"):
            assert_equal(learned(stopped), learned(short.fit(X)))
    if "CRF" in name:  # relations are learned in one pass
        assert len(watcher.passes) == 3
        assert set(np.concatenate(stopped.predict_labels(X))) > {"det", "root"}
    if hasattr(stopped, "predict") and "EMAutomaton" not in name:
        assert len(stopped.predict(X)) == len(X)


def test_automata_that_are_begun_after_a_stop_have_one_iteration(trees):
    class Stopper(Watcher):
        def on_fit_task_end(self, estimator, context, *, metadata=None):
            super().on_fit_task_end(estimator, context, metadata=metadata)
            return context.task_name == "automaton"

    watcher = Stopper()
    model = EMSHAG(2, init="moments", max_iter=5, tol=0).set_callbacks(watcher).fit(trees)
    assert len(watcher.passes) > model.n_iter_ == 1  # of heads; the pool of all heads is first


def test_a_stopped_fit_is_not_calibrated_on_halves(trees):
    calibrated = clone(CASES["calibrated network"]).fit(trees)
    stopped = clone(CASES["calibrated network"]).set_callbacks(Watcher(2)).fit(trees)
    assert np.any(calibrated.temperatures_ != 1)
    assert np.all(stopped.temperatures_ == 1)


def test_a_tagger_within_is_watched_too_except_in_a_search(trees):
    watcher = Watcher()
    parser = BiaffineParser(tags=("upos", "xpos"), **SMALL).set_callbacks(watcher).fit(trees)
    names = [each[1] for each in watcher.seen if each[0] == "setup"]
    assert names == ["BiaffineParser", "Tagger"]
    assert len(watcher.passes) == parser.n_iter_ + parser.tagger_.n_iter_
    watcher = PropagatedWatcher()
    search = GridSearchCV(parser.set_callbacks(), {"alpha": [0, 1]}, cv=2, refit=False)
    search.set_callbacks(watcher).fit(trees[:20])
    assert [each[1] for each in watcher.seen if each[0] == "setup"] == ["GridSearchCV"]
    assert len(watcher.passes) == 4 * parser.n_iter_


def test_trials_of_both_kinds_of_trees_are_not_watched(trees, monkeypatch):
    monkeypatch.setattr("sklearn_shag.conditional._base.FEW_CROSSING", -1.0)
    watcher = Watcher()
    model = CRFParser(n_features=2**12, max_iter=2, calibrate=False, random_state=0)
    model.set_callbacks(watcher)
    assert len(model.fit(trees).trees_scores_) == 2
    assert len(watcher.passes) == 4
    assert [each[0] for each in watcher.seen if isinstance(each[1], str)] == ["setup", "teardown"]


def test_callbacks_end_with_fits_that_fail(trees):
    for model in (CRFParser(learning_rate_init=1e300), BiaffineParser(**SMALL, alpha=1e300)):
        watcher = Watcher()
        with pytest.raises(ValueError, match="Lower"):
            model.set_callbacks(watcher).fit(trees)
        assert watcher.seen[-1] == ("teardown", type(model).__name__)


def test_callbacks_are_no_part_of_model_files(trees, tmp_path):
    fitted = clone(CASES["calibrated CRF"]).fit(trees)
    save_model(fitted, tmp_path / "without.npz")
    save_model(fitted.set_callbacks(Watcher()), tmp_path / "with.npz")
    assert (tmp_path / "with.npz").read_bytes() == (tmp_path / "without.npz").read_bytes()
    assert not hasattr(load_model(tmp_path / "with.npz"), "_skl_callbacks")
    assert isinstance(clone(fitted)._skl_callbacks[0], Watcher)  # as all of scikit-learn


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_callbacks_of_workers(trees, tmp_path, backend):
    model, n_tasks = EMSHAG(2, tol=0.1, random_state=0), []
    for n_jobs in (1, 2):
        path = tmp_path / f"{n_jobs}.txt"
        with parallel_config(backend=backend):
            clone(model).set_params(n_jobs=n_jobs).set_callbacks(Watcher(path=str(path))).fit(trees)
        n_tasks.append(sorted(path.read_text().split()))
    assert n_tasks[0] == n_tasks[1]


def test_pipelines_pass_them_on(trees):
    watcher = PropagatedWatcher()
    steps = Splitter(**SMALL), Tagger("upos", **SMALL), CRFParser(n_features=2**12, max_iter=2)
    make_parser_pipeline(*steps).set_callbacks(watcher).fit(trees)
    names = [context.estimator_name for context, _ in watcher.passes]
    assert [*dict.fromkeys(names)] == ["Splitter", "Tagger", "CRFParser"]
    pickle.loads(pickle.dumps(steps[0].set_callbacks(watcher)))


def test_progress_bars_of_scikit_learn(trees, capsys):
    pytest.importorskip("rich")
    clone(CASES["tagger"]).set_callbacks(callback.ProgressBar()).fit(trees)
    assert "Tagger - fit" in capsys.readouterr().out
