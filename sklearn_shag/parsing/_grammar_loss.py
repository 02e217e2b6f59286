"""The conditional likelihood of trees under a grammar, and its derivative by the operators."""

import numpy as np

from sklearn_shag.operators import Operators
from sklearn_shag.parsing._chart import sum_up_sentences


def grammar_loss(grammar, free, known, weights, n_jobs=None):
    """Compute how improbable known heads are by a grammar, and the derivative by its logarithms.

    Parameters
    ----------
    grammar : PackedGrammar
        Of operators that are not negative.
    free, known : Potentials
        The sentences, and the same with the known heads alone allowed where there are any.
    weights : ndarray of shape (n_sentences,)
    n_jobs : int or None

    Returns
    -------
    losses : ndarray of shape (n_sentences,)
        log Z - log Z(known) in nats, not weighted; inf where either is 0.
    gradient : Operators
        The derivative of the weighted sum by the logarithm of each entry: expected uses in all
        trees, less those in the trees with the known heads (eq. 26).
    """
    results = [
        sum_up_sentences(grammar, part, weights, counts=True, n_jobs=n_jobs)
        for part in (free, known)
    ]
    log_z, log_known = (np.where(each.sign > 0, each.log_abs_z, -np.inf) for each in results)
    losses = np.full(weights.size, np.inf)
    np.subtract(log_z, log_known, out=losses, where=log_known > -np.inf)
    of_free, of_known = (each.counts for each in results)
    return losses, Operators(*(one - other for one, other in zip(of_free, of_known, strict=True)))
