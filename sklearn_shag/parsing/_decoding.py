"""The best trees of all sentences of a chunk."""

import numpy as np

from sklearn_shag.parsing._eisner import best_tree
from sklearn_shag.parsing._viterbi import viterbi
from sklearn_shag.utils._kernel import kernel


@kernel
def decode_trees(scores, begins, indptr, heads):
    """Decode every sentence from the scores of its arcs, in the layout of marginals (eq. 28)."""
    for s in range(indptr.size - 1):
        n = indptr[s + 1] - indptr[s]
        of_sentence = scores[begins[s] : begins[s + 1]].reshape((n - 1, n))
        best_tree(of_sentence, heads[indptr[s] + 1 : indptr[s + 1]])


@kernel
def decode_derivations(log_operators, log_fallback, codes, indptr, heads):
    """Find the most probable derivation of every sentence."""
    for s in range(indptr.size - 1):
        sentence = codes[indptr[s] : indptr[s + 1]]
        arc_scores = np.zeros((sentence.size, sentence.size))
        for grammar in (log_operators, log_fallback):
            score = viterbi(grammar, sentence, arc_scores, heads[indptr[s] + 1 : indptr[s + 1]])
            if score > -np.inf:
                break
