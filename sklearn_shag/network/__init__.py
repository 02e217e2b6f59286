"""A network of one architecture that scores arcs, labels and tags, and how it is trained.

What the estimator uses of it is listed here; users see the weights alone.
"""

from sklearn_shag.network._biaffine import BiaffineParser
from sklearn_shag.network._estimators import NetworkLearner, TagLearner
from sklearn_shag.network._parameters import NetworkWeights, check_network_weights
from sklearn_shag.network._splitter import OF_CHARACTERS, RawText, Splitter
from sklearn_shag.network._tagger import Tagger
from sklearn_shag.network._tags import LEARNED, list_known_columns

__all__ = ["NetworkWeights"]
