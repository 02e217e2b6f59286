"""Charts: inside-outside sums, arc marginals, best trees and the values of given ones."""

from sklearn_shag.parsing._best_trees import best_trees
from sklearn_shag.parsing._bulk import decode, log_partitions, marginal_report, marginals
from sklearn_shag.parsing._eisner import eisner
from sklearn_shag.parsing._inside_outside import InsideOutside, inside_outside
from sklearn_shag.parsing._potentials import Potentials
from sklearn_shag.parsing._tree_values import tree_values

__all__ = [
    "InsideOutside",
    "Potentials",
    "best_trees",
    "eisner",
    "inside_outside",
    "tree_values",
]
