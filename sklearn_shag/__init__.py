"""Hidden-state dependency grammars as scikit-learn estimators.

The flow, one folder a stage::

    fit      sentences -> sequences -> statistics -> operators     sequences, learning
    predict  sentences -> chart -> arc marginals -> trees          parsing

Around it: `metrics` (attachment scores), `inspection` (signs of marginals) and `datasets` (bundled,
generated and downloaded).
"""

__version__ = "0.1.0"

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
