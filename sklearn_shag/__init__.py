"""Hidden-state dependency grammars as scikit-learn estimators.

The flow, one folder a stage::

    fit      sentences -> sequences -> statistics -> operators     treebank, sequences, operators
    predict  sentences -> chart -> arc marginals -> trees          parsing

Around it: `metrics` (attachment scores), `inspection` (signs of marginals) and `datasets` (bundled,
generated and downloaded).
"""

import importlib
import typing

__version__ = "0.1.0"

if typing.TYPE_CHECKING:
    from sklearn_shag._base import BaseSHAG
    from sklearn_shag._deterministic import DeterministicSHAG
    from sklearn_shag._em import EMSHAG
    from sklearn_shag._persistence import load_model, save_model
    from sklearn_shag._spectral import SpectralSHAG
    from sklearn_shag._spectral_cv import SpectralSHAGCV

__all__ = [
    "EMSHAG",
    "BaseSHAG",
    "DeterministicSHAG",
    "SpectralSHAG",
    "SpectralSHAGCV",
    "__version__",
    "load_model",
    "save_model",
]

# A module is imported when a name in it is first asked for: the command line can thus say what is
# wrong with an option, or help, without a second of importing scikit-learn.
_HOMES = {
    "BaseSHAG": "_base",
    "DeterministicSHAG": "_deterministic",
    "EMSHAG": "_em",
    "SpectralSHAG": "_spectral",
    "SpectralSHAGCV": "_spectral_cv",
    "load_model": "_persistence",
    "save_model": "_persistence",
}
_FOLDERS = ("datasets", "inspection", "metrics", "operators", "parsing", "sequences", "treebank")


def __getattr__(name):
    if name in _FOLDERS:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{_HOMES[name]}")
    globals()[name] = value = getattr(module, name)  # from now on found without this function
    return value


def __dir__():
    return sorted({*globals(), *__all__, *_FOLDERS})
