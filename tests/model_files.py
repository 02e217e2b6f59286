"""Small models of all estimators; as a script, the files that later releases must load.

``python -m tests.model_files`` writes ``tests/data/models/VERSION``, once for each release: the
files, the sentences, and what the models say of them. What is there is never written again.
"""

import json
import sys
import warnings
from functools import cache
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline

import sklearn_shag
from sklearn_shag import DeterministicSHAG, EMAutomaton, MixtureSHAG, SpectralAutomaton, save_model
from sklearn_shag.datasets import load_english
from sklearn_shag.model_files._archive import HEADER
from sklearn_shag.treebank import TokenFeature, read_conllu, write_conllu
from tests.estimators import ESTIMATORS, TRANSFORMERS

FOLDER = Path(__file__).parent / "data" / "models"
SENTENCES, EXPECTED = "sentences.conllu", "expected.json"
OF_SEQUENCES = {
    "spectral automaton": SpectralAutomaton(2, mixing=0.2, max_context=1),
    "EM automaton": EMAutomaton(2, random_state=0, max_context=1),
}
SIZES = {"n_features": 64, "hidden_layer_sizes": [1], "max_iter": 2, "cv": 2}


@cache
def short_trees():
    """Short sentences, so that there are few symbols, with all columns."""
    return [tree for tree in sorted(load_english().data, key=len) if len(tree) > 1][:6]


@cache
def small_models():
    """Every estimator of the suite, and pipelines, fitted on few trees, by name."""
    estimators = ESTIMATORS | TRANSFORMERS
    models = {name: _make_small(clone(estimator)) for name, estimator in estimators.items()}
    feature = TokenFeature("upos", "xpos", min_count=2, rare_symbol=None)
    models["pipeline"] = make_pipeline(feature, DeterministicSHAG(smoothing=1))
    frozen = FrozenEstimator(TokenFeature("xpos").fit(short_trees()))
    models["frozen"] = make_pipeline(frozen, DeterministicSHAG("sibling", smoothing=1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few trees, so few iterations
        models = {name: model.fit(short_trees()) for name, model in models.items()}
        tags = [tree.symbols for tree in short_trees()]
        return models | {name: clone(model).fit(tags) for name, model in OF_SEQUENCES.items()}


def _make_small(estimator):
    if isinstance(estimator, MixtureSHAG):
        helper = DeterministicSHAG("single", smoothing=1).fit(short_trees())
        estimator.set_params(estimators=[("one", FrozenEstimator(helper))])
    return estimator.set_params(**{key: n for key, n in SIZES.items() if hasattr(estimator, key)})


def answers(model, trees):
    """What a model says of sentences, as JSON can hold it."""
    if hasattr(model, "perplexity"):
        sequences = [tree.symbols for tree in trees]
        return {"next": model.predict_proba(sequences).round(6).tolist()}
    if not hasattr(model, "predict"):
        return {"symbols": [list(tree.symbols) for tree in model.transform(trees)]}
    said = {"heads": [heads.tolist() for heads in model.predict(trees)]}
    if hasattr(model, "predict_marginals"):
        marginals = model.predict_marginals(trees)
        said["marginals"] = [part.round(3).tolist() for part in marginals]
    if getattr(model, "_has_labels", False):
        said["labels"] = [labels.tolist() for labels in model.predict_labels(trees)]
    return said


def file_name(name):
    """The file of a model, with signs alone that every system and every tool admits."""
    return "-".join(name.replace(",", "").split()) + ".npz"


def write_release(folder):
    """Write the files of all small models, and what they say."""
    folder.mkdir(parents=True)
    write_conllu(
        [tree for tree in load_english().data if len(tree) in (4, 7)][:3], folder / SENTENCES
    )
    trees, expected = read_conllu(folder / SENTENCES), {}
    for name, model in small_models().items():
        save_model(model, folder / file_name(name))
        expected[file_name(name)] = answers(model, trees)
    (folder / EXPECTED).write_text(json.dumps(expected) + "\n", encoding="utf-8")


def read_without_card(path):
    """Return the header and the arrays of a model file, but not what it was learned from."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    header = json.loads(arrays.pop(HEADER).tobytes())
    header.pop("card", None)
    return header, {name: (each.dtype.str, each.tobytes()) for name, each in arrays.items()}


if __name__ == "__main__":
    target = FOLDER / sklearn_shag.__version__
    if target.exists():
        sys.exit(f"{target} is there: files of a release stay as they are.")
    write_release(target)
