"""Charts: inside-outside sums, arc marginals, and Eisner decoding."""

from sklearn_shag.parsing._bulk import decode, log_partitions, marginal_report, marginals
from sklearn_shag.parsing._eisner import eisner
from sklearn_shag.parsing._inside_outside import InsideOutside, inside_outside

__all__ = [
    "InsideOutside",
    "eisner",
    "inside_outside",
]
