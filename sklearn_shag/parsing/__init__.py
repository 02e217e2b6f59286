"""Charts: inside-outside, arc marginals, Eisner decoding, and the batch driver."""

from sklearn_shag.parsing._batch import decode, log_partitions, marginals
from sklearn_shag.parsing._inside_outside import InsideOutside, eisner, inside_outside

__all__ = [
    "InsideOutside",
    "decode",
    "eisner",
    "inside_outside",
    "log_partitions",
    "marginals",
]
