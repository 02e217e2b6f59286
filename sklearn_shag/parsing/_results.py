"""What is kept of the sentences of a chunk, and by which route it came."""

from typing import NamedTuple

import numpy as np

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
