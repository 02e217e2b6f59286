"""Expected uses of an automaton by the sequences of a prefix tree: the E step of EM."""

import numpy as np

from sklearn_shag.utils._kernel import kernel

__all__ = ["expected_uses"]


@kernel
def expected_uses(automaton, tree, counts):
    """Add the expected uses of an automaton by all sequences of a prefix tree (theory, eq. 30).

    Parameters
    ----------
    automaton : Operators
        Non-negative, of one head and direction.
    tree : PrefixTree
    counts : Operators
        Of the shapes of `automaton`; the uses are added to it.

    Returns
    -------
    log_likelihood : float
        Of all sequences, in nats.
    """
    n_nodes, n_states = tree.parent.size, automaton.alpha_1.size
    # forward[v] is the forward vector of prefix v divided by its sum, whose logarithm is
    # log_scale[v]; scale[v] is the last factor of that sum.
    forward = np.zeros((n_nodes, n_states))
    scale, log_scale = np.ones(n_nodes), np.zeros(n_nodes)
    for i in range(n_states):
        forward[0, i] = automaton.alpha_1[i]
    for v in range(1, n_nodes):
        symbol, parent = tree.symbol[v], tree.parent[v]
        total = 0.0
        for i in range(n_states):
            for j in range(n_states):
                forward[v, i] += automaton.A[symbol, i, j] * forward[parent, j]
            total += forward[v, i]
        scale[v] = total
        log_scale[v] = log_scale[parent] + np.log(total) if total > 0.0 else -np.inf
        for i in range(n_states):
            forward[v, i] /= total if total > 0.0 else 1.0
    # backward[v] sums the backward vectors of all sequences that begin with prefix v, each divided
    # by its probability: what the sequences below v say about the state after v.
    backward = np.zeros((n_nodes, n_states))
    log_likelihood = 0.0
    for v in range(n_nodes - 1, -1, -1):
        if tree.weight[v] > 0.0:
            probability = 0.0
            for j in range(n_states):
                probability += automaton.alpha_inf[j] * forward[v, j]
            if probability == 0.0 or log_scale[v] == -np.inf:
                return -np.inf
            log_likelihood += tree.weight[v] * (np.log(probability) + log_scale[v])
            for j in range(n_states):
                stop = automaton.alpha_inf[j] * tree.weight[v] / probability
                backward[v, j] += stop
                counts.alpha_inf[j] += stop * forward[v, j]
        if v > 0:
            symbol, parent = tree.symbol[v], tree.parent[v]
            for i in range(n_states):
                after = backward[v, i] / scale[v] if scale[v] > 0.0 else 0.0
                for j in range(n_states):
                    move = after * automaton.A[symbol, i, j]
                    backward[parent, j] += move
                    counts.A[symbol, i, j] += move * forward[parent, j]
    for j in range(n_states):
        counts.alpha_1[j] += backward[0, j] * automaton.alpha_1[j]
    return log_likelihood
