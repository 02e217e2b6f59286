"""How far each idea goes that could make the spectral learner robust: the grid behind its defaults.

Usage: python benchmarks/spectral_grid.py [FOLDER]

FOLDER holds the treebanks (default: the environment variable SKLEARN_SHAG_DATA). Printed are, for
every variant, attachment scores on the development sets: the mean over 8, 12 and 16 states of each
treebank, the mean of these, and the mean of 16 states alone, which shows a collapse. One thing at a
time is changed from the defaults, then from the published algorithm.
"""

import sys
import warnings

import numpy as np

from sklearn_shag import EMSHAG, DeterministicSHAG, SpectralSHAG
from sklearn_shag.datasets import fetch_treebank
from sklearn_shag.encoding import encode_sentences
from sklearn_shag.learning._spectral import N_BASELINE_STATES, PUBLISHED
from sklearn_shag.metrics import unlabeled_attachment_score
from sklearn_shag.parsing import eisner, inside_outside

TREEBANKS = (
    "UD_Afrikaans-AfriBooms",
    "UD_French-Sequoia",
    "UD_Tamil-TTB",
    "UD_Turkish-IMST",
    "UD_English-EWT",
)
STATES = (8, 12, 16)
VALUES = {
    "smoothing": (0, 1, 5, 20),  # (a) smoothing of all moments to the pool
    "scaling": (0, 0.25, 0.5),  # (b) scaling of rows and columns, up to CCA
    "alpha": (0, 1e-4, 1e-3, 1e-2),  # (c) regularised inverse
    "shrinkage": (0, 10, 30, 100, 300),  # (e) third moment towards products of bigrams
    "mixing": (0, 0.05, 0.1, 0.2),  # (f) sum with DET+F
    "context": (0, 0.2, 0.5, 1.0),  # (g) longer contexts
}


def noise_rank(n_states, factor):
    """(d) Of each head only the singular values above `factor` / sqrt(number of sequences)."""

    def fit(trees):
        model = SpectralSHAG(n_states).fit(trees)
        n_sequences = model.statistics_.statistics.n_sequences + model.smoothing
        noise = factor / np.sqrt(n_sequences)
        ranks = np.sum(model.singular_values_ > noise[..., None], axis=-1)
        n_kept = N_BASELINE_STATES + np.maximum(ranks, 1)
        kept = np.arange(model.operators_.alpha_1.shape[-1]) < n_kept[..., None]
        alpha_1, alpha_inf, A = (part[:-1] for part in model.operators_)  # all but the root's
        alpha_1[~kept] = alpha_inf[~kept] = 0
        A[...] = np.where(kept[:, :, None, :, None] & kept[:, :, None, None, :], A, 0)
        return model

    return fit


def score_of_absolute_values(model, trees):
    """(h) Negative marginals made positive in place of clipped."""
    heads = []
    for tree in trees:
        codes = encode_sentences([tree.symbols], model.symbols_).codes
        marginals = inside_outside(model.operators_, codes).marginals
        scores = np.log(np.maximum(np.abs(np.nan_to_num(marginals)), 1e-12))
        heads.append(eisner(scores)[0])
    return unlabeled_attachment_score(trees, heads)


def spectral(**params):
    return lambda n: SpectralSHAG(n, **params).fit


def variants():
    yield "defaults", spectral(), None
    for name, values in VALUES.items():
        for value in values:
            if value != getattr(SpectralSHAG(), name):
                yield f"{name}={value}", spectral(**{name: value}), None
    for factor in (0.5, 1.0, 2.0):
        yield f"rank by noise, {factor}", lambda n, f=factor: noise_rank(n, f), None
    yield "decoder=max_marginal", spectral(decoder="max_marginal"), None
    yield "absolute marginals", spectral(), score_of_absolute_values
    yield "published", spectral(**PUBLISHED), None
    for name in VALUES:
        default = getattr(SpectralSHAG(), name)
        params = {**PUBLISHED, name: default}
        yield f"published, {name}={default}", spectral(**params), None
    yield "published, absolute marginals", spectral(**PUBLISHED), score_of_absolute_values
    yield (
        "non-negative factorisation",
        lambda n: EMSHAG(n, init="moments", max_iter=0, smoothing=1).fit,
        None,
    )
    yield "sibling, smoothing=5", lambda _: DeterministicSHAG("sibling", smoothing=5).fit, None


def main(data_home=None):
    warnings.simplefilter("ignore")  # EM that has not converged, on purpose
    treebanks = [
        fetch_treebank(name, data_home=data_home, download_if_missing=False) for name in TREEBANKS
    ]
    names = [name.split("-")[0].removeprefix("UD_") for name in TREEBANKS]
    print(f"{'':<32}" + "".join(f"{name:>11}" for name in names) + f"{'mean':>8}{'n = 16':>8}")
    for label, make, score in variants():
        scores = np.array(
            [
                [
                    100 * (score(model, data.dev) if score else model.score(data.dev))
                    for model in (make(n)(data.train) for n in STATES)
                ]
                for data in treebanks
            ]
        )
        print(
            f"{label:<32}"
            + "".join(f"{value:>11.2f}" for value in scores.mean(axis=1))
            + f"{scores.mean():>8.2f}{scores[:, -1].mean():>8.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
