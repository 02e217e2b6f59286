"""What is kept of the sentences of a chunk, and how marginals become trees."""

from typing import NamedTuple

import numpy as np

from sklearn_shag.parsing._eisner import eisner
from sklearn_shag.utils._kernel import kernel

# Marginals of signed operators can come out zero or negative; eq. 28 takes their logarithm.
SMALLEST_MARGINAL = 1e-12
# Where the results of a sentence come from: the fast chart or, where it is out of range, the scaled
# one; a fallback grammar, in either chart, where the first has no mass; or no grammar has.
ROUTES = ("fast", "scaled", "fallback", "none")


class Results(NamedTuple):
    """Room for the results of all sentences of a chunk."""

    route: np.ndarray  # (n_sentences,), the place in ROUTES of where the results come from
    sign: np.ndarray  # (n_sentences,), of Z; 0 where no grammar had mass
    log_abs_z: np.ndarray  # (n_sentences,), in nats
    marginals: np.ndarray  # (N, N + 1) of every sentence, one after the other; empty if not wanted
    begins: np.ndarray  # (n_sentences + 1,), where those of each begin


def new_results(indptr, with_marginals):
    """Allocate results for a chunk.

    Parameters
    ----------
    indptr : int ndarray of shape (n_sentences + 1,)
        Where sentences begin; the first position of each is the root symbol's.
    with_marginals : bool

    Returns
    -------
    results : Results
        Marginals are all equal, for sentences that no grammar has mass for.
    """
    sizes = np.diff(indptr)
    begins = np.concatenate([[0], np.cumsum(sizes * (sizes - 1))])
    n_sentences = sizes.size
    return Results(
        np.full(n_sentences, ROUTES.index("none"), dtype=np.uint8),
        np.zeros(n_sentences),
        np.full(n_sentences, -np.inf),
        np.ones(begins[-1] if with_marginals else 0),
        begins,
    )


@kernel
def repair(marginals, begins, indptr):
    """Make signed marginals a distribution over heads for every token: clip, then renormalise.

    Their rows sum to 1 as they are, also where Z is negative. What is clipped here is what
    decoding and users see alike.
    """
    for s in range(indptr.size - 1):
        n = indptr[s + 1] - indptr[s]
        of_sentence = marginals[begins[s] : begins[s + 1]].reshape((n - 1, n))
        for m in range(1, n):
            row, total = of_sentence[m - 1], 0.0
            for h in range(n):
                row[h] = max(row[h], SMALLEST_MARGINAL) if h != m else 0.0
                total += row[h]
            for h in range(n):
                row[h] /= total


@kernel
def decode_trees(scores, begins, indptr, heads):
    """Decode every sentence from the scores of its arcs, in the layout of marginals (eq. 28)."""
    for s in range(indptr.size - 1):
        n = indptr[s + 1] - indptr[s]
        of_sentence = scores[begins[s] : begins[s + 1]].reshape((n - 1, n))
        eisner(of_sentence, heads[indptr[s] + 1 : indptr[s + 1]])
