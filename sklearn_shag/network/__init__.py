"""Networks over the words of a sentence, and over the characters of a text, and their training.

The estimators are public names of the package. Their weights, `weights_`, are public here.
"""

from sklearn_shag.network._biaffine import BiaffineParser
from sklearn_shag.network._characters import OF_CHARACTERS
from sklearn_shag.network._estimators import NetworkLearner, TagLearner
from sklearn_shag.network._parameters import NetworkWeights, check_network_weights
from sklearn_shag.network._splitter import Splitter, SplitterFormat, compile_patterns
from sklearn_shag.network._tagger import Tagger
from sklearn_shag.network._tags import (
    LEARNED,
    SCRIPT,
    TagLookup,
    join_values,
    list_known_columns,
    pick_proba,
)

__all__ = ["NetworkWeights"]
