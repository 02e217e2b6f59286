"""The best trees of all sentences of a chunk."""

import numpy as np

from sklearn_shag.operators import Operators
from sklearn_shag.parsing._eisner import best_tree
from sklearn_shag.parsing._potentials import Potentials, as_factors
from sklearn_shag.parsing._viterbi import best_derivations, log_factors, log_grammar
from sklearn_shag.utils._kernel import kernel


@kernel
def decode_trees(scores, begins, indptr, heads):
    """Decode every sentence from the scores of its arcs, in the layout of marginals (eq. 28)."""
    for s in range(indptr.size - 1):
        n = indptr[s + 1] - indptr[s]
        of_sentence = scores[begins[s] : begins[s + 1]].reshape((n - 1, n))
        best_tree(of_sentence, heads[indptr[s] + 1 : indptr[s + 1]])


def decode_derivations(log_operators, log_fallback, codes, indptr, heads):
    """Find the most probable derivation of every sentence, whose first position is the root's."""
    sentences = Potentials(indptr - np.arange(indptr.size), np.delete(codes, indptr[:-1]))
    factors = log_factors(as_factors(sentences))
    found, scores = np.empty_like(factors.codes), np.full(indptr.size - 1, -np.inf)
    for logs in (log_operators, log_fallback):
        grammar = log_grammar(Operators(*map(np.exp, logs)))
        best_derivations(grammar, factors, np.flatnonzero(scores == -np.inf), found, scores)
    is_token = np.ones(codes.size, dtype=bool)
    is_token[indptr[:-1]] = False
    heads[is_token] = found
