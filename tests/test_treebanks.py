"""Real treebanks: accuracy, and a tree for every sentence at every rank."""

import warnings

import numpy as np
import pytest

from sklearn_shag import DeterministicSHAG, SpectralSHAG
from tests import oracles

TREEBANKS = [
    "UD_Afrikaans-AfriBooms",
    "UD_English-EWT",
    "UD_French-Sequoia",
    "UD_Tamil-TTB",
    "UD_Turkish-IMST",
]


@pytest.mark.parametrize("name", TREEBANKS)
def test_hidden_states_beat_two_states_beat_one(treebank, name):
    data = treebank(name)
    single, first = (DeterministicSHAG(a).fit(data.train) for a in ("single", "first"))
    models = [
        max(
            (make(n).fit(data.train) for n in states),
            key=lambda model: model.score(data.dev),
        )
        for make, states in ((SpectralSHAG.published, (2, 4, 6)), (SpectralSHAG, (8, 12)))
    ]
    for split in (data.dev, data.test):
        scores = [model.score(split) for model in (single, first, *models)]
        assert scores == sorted(scores)
        assert np.diff(scores).min() > 0


# Four tenths of a point below what was measured when the defaults were chosen.
SPECTRAL_ON_DEV = {
    "UD_Afrikaans-AfriBooms": 0.792,
    "UD_English-EWT": 0.726,
    "UD_French-Sequoia": 0.794,
    "UD_Tamil-TTB": 0.668,
    "UD_Turkish-IMST": 0.569,
}


@pytest.mark.parametrize("name", TREEBANKS)
def test_accuracy_of_the_defaults(treebank, name):
    data = treebank(name)
    assert SpectralSHAG().fit(data.train).score(data.dev) > SPECTRAL_ON_DEV[name]


@pytest.mark.parametrize("n_states", range(1, 21))
def test_every_sentence_gets_a_tree_at_every_rank(treebank, n_states):
    data = treebank("UD_English-EWT")
    make = SpectralSHAG.published if n_states % 2 else SpectralSHAG
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = make(n_states).fit(data.train)
        predicted = model.predict(data.test)
    assert len(predicted) == len(data.test)
    for heads, tree in zip(predicted, data.test, strict=True):
        assert len(heads) == len(tree)
        assert np.sum(heads == 0) == 1
        assert oracles.is_tree(heads.tolist())
        assert not oracles.crosses(heads)


@pytest.mark.parametrize("name", TREEBANKS)
def test_fine_symbols_with_unseen_modifiers(treebank, name):
    """Forms seen five times and more: most modifiers of most heads were never seen."""
    data = treebank(name)
    train = [tree.with_symbols(tree.column("form")) for tree in data.train[:400]]
    test = [tree.with_symbols(tree.column("form")) for tree in data.test[:20]]
    known = {form for tree in train for form in tree.forms}
    common = {f for f in known if sum(tree.forms.count(f) for tree in train) >= 20}
    train, test = (
        [t.with_symbols([s if s in common else "<rare>" for s in t.symbols]) for t in trees]
        for trees in (train, test)
    )
    model = DeterministicSHAG("first").fit(train)
    for heads in model.predict(test):
        assert oracles.is_tree(heads.tolist())
    assert all(np.isfinite(m).all() for m in model.predict_marginals(test))
