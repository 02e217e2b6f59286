"""A network of one architecture that scores arcs, labels and tags, and how it is trained.

What the estimator uses of it is listed here; users see the weights alone.
"""

from sklearn_shag.network._network import label_scores, make_network, read
from sklearn_shag.network._parameters import (
    ARC,
    Group,
    NetworkWeights,
    Sizes,
    count_parameters,
    initial_parameters,
)
from sklearn_shag.network._training import Examples, Trainer

__all__ = ["NetworkWeights"]
