"""The best trees of many sentences: the public face of (max, +)."""

import numpy as np

from sklearn_shag.operators import Operators
from sklearn_shag.parsing._chunks import CHUNK_COST, cut
from sklearn_shag.parsing._potentials import (
    Potentials,
    as_factors,
    check_grammar,
    take_sentences,
)
from sklearn_shag.parsing._viterbi import best_derivations, log_factors, log_grammar
from sklearn_shag.utils._parallel import delayed, run_parallel
from sklearn_shag.utils._typing import FloatArray, IntArray


def best_trees(
    grammar: Operators | None, potentials: Potentials, *, n_jobs: int | None = None
) -> tuple[list[IntArray], FloatArray]:
    """Find the tree of the largest value, of all projective trees with one root.

    Parameters
    ----------
    grammar : Operators or None
        Not negative. None for arcs and memories alone.
    potentials : Potentials
        The sentences.
    n_jobs : int or None, default=None
        Number of joblib workers; each takes sentences of its own.

    Returns
    -------
    heads : list of int ndarrays of shape (n_tokens_i,)
        1-based, 0 for the root; the first met of equally good trees.
    scores : ndarray of shape (n_sentences,)
        Logarithms of the values of the trees, in nats. -inf where no tree is possible: the heads
        are then those of some tree.

    Raises
    ------
    ValueError
        If an operator is negative or not finite, or potentials are not what
        :class:`Potentials` says.
    TypeError
        If `grammar` or `potentials` is something else.

    See Also
    --------
    tree_values : The values of given trees.
    eisner : The best tree of a single sentence whose arcs are independent.

    Notes
    -----
    It is the best derivation that is found: a tree with the states of its automata. That is the
    best tree if the tree determines the states, as those of deterministic operators and the classes
    of `memory`. With hidden states the score is that of the best path through them, and another
    tree may have a larger value in all.

    Takes O(n k N^3 + n (n + k) N^2) time for N tokens, n states and k classes of memory, and about
    16 n (k + 1) N^2 bytes for each worker and its longest sentence.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_shag.parsing import Potentials, best_trees
    >>> arcs = np.array([[0.0, 0.0, 2.0], [1.0, -1.0, 0.0]])
    >>> sentence = Potentials(np.array([0, 2]), arcs=arcs.ravel())
    >>> best_trees(None, sentence)
    ([array([2, 0])], array([3.]))

    Forbidden arcs are avoided:

    >>> arcs[1, 0] = -np.inf
    >>> best_trees(None, Potentials(np.array([0, 2]), arcs=arcs.ravel()))
    ([array([0, 1])], array([-1.]))
    """
    packed, potentials = check_grammar(grammar, potentials)
    for name, part in zip(Operators._fields, packed.operators, strict=True):
        if part.min() < 0:
            raise ValueError(
                f"{name} of the operators holds the negative value {part.min():.6g}, which has no "
                f"logarithm. Decode marginals: they take operators of any sign."
            )
    logs, chunks = log_grammar(packed.operators), cut(np.diff(potentials.indptr), CHUNK_COST)
    tasks = (delayed(_find_best)(logs, take_sentences(potentials, chosen)) for chosen in chunks)
    heads, scores = [None] * (potentials.indptr.size - 1), np.empty(potentials.indptr.size - 1)
    for chosen, results in zip(chunks, run_parallel(tasks, n_jobs), strict=True):
        for s, of_sentence, score in zip(chosen.tolist(), *results, strict=True):
            heads[s], scores[s] = of_sentence, score
    return heads, scores


def _find_best(grammar, potentials):
    factors = log_factors(as_factors(potentials))
    heads, scores = np.empty_like(factors.codes), np.empty(factors.indptr.size - 1)
    best_derivations(grammar, factors, np.arange(scores.size), heads, scores)
    return np.split(heads, factors.indptr[1:-1]), scores
