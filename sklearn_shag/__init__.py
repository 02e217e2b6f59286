"""Hidden-state dependency grammars as scikit-learn estimators.

The flow, one folder a stage::

    fit      sentences -> sequences -> statistics -> operators     sequences, learning
    predict  sentences -> chart -> arc marginals -> trees          parsing

Around it: `metrics` (attachment scores), `inspection` (what was learned) and `datasets` (bundled,
generated and downloaded).
"""

import importlib
import typing

__version__ = "0.1.0"

if typing.TYPE_CHECKING:
    from sklearn_shag._averaged import AveragedSHAG
    from sklearn_shag._base_shag import BaseSHAG
    from sklearn_shag._biaffine import BiaffineParser
    from sklearn_shag._concave import ConcaveParser
    from sklearn_shag._conditional import ConditionalSHAG
    from sklearn_shag._crf import CRFParser
    from sklearn_shag._deterministic import DeterministicSHAG
    from sklearn_shag._dmv import DMV
    from sklearn_shag._dummy import DummyParser
    from sklearn_shag._em import EMSHAG
    from sklearn_shag._lexicalized import LexicalizedSHAG
    from sklearn_shag._mixture import MixtureSHAG
    from sklearn_shag._model_file import ModelFileError
    from sklearn_shag._persistence import load_model, save_model
    from sklearn_shag._product import ProductSHAG
    from sklearn_shag._spectral import SpectralSHAG
    from sklearn_shag._spectral_cv import SpectralSHAGCV
    from sklearn_shag._tagger import Tagger
else:  # to type checkers any name would be right

    def __getattr__(name):
        if name in _FOLDERS:
            return importlib.import_module(f"{__name__}.{name}")
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        for module in _MODULES:
            made = vars(importlib.import_module(f"{__name__}.{module}"))
            globals().update({public: made[public] for public in __all__ if public in made})
        return globals()[name]


__all__ = [
    "DMV",
    "EMSHAG",
    "AveragedSHAG",
    "BaseSHAG",
    "BiaffineParser",
    "CRFParser",
    "ConcaveParser",
    "ConditionalSHAG",
    "DeterministicSHAG",
    "DummyParser",
    "LexicalizedSHAG",
    "MixtureSHAG",
    "ModelFileError",
    "ProductSHAG",
    "SpectralSHAG",
    "SpectralSHAGCV",
    "Tagger",
    "__version__",
    "load_model",
    "save_model",
]

# Modules are imported when something in them is first asked for: the command line can thus help, or
# say what is wrong with an option, without a second of importing scikit-learn.
_MODULES = (
    "_averaged",
    "_base_shag",
    "_biaffine",
    "_concave",
    "_conditional",
    "_crf",
    "_deterministic",
    "_dmv",
    "_dummy",
    "_em",
    "_lexicalized",
    "_mixture",
    "_model_file",
    "_persistence",
    "_product",
    "_spectral",
    "_spectral_cv",
    "_tagger",
)
_FOLDERS = (
    "datasets",
    "features",
    "inspection",
    "learning",
    "metrics",
    "network",
    "operators",
    "parsing",
    "sequences",
    "treebank",
)


def __dir__():
    return sorted({*globals(), *__all__, *_FOLDERS})
