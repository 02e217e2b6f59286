"""Expectation maximisation: the iterations, and the starts and the E step of one automaton."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sklearn_shag.operators import Operators, expected_visits, operators_from_counts
from sklearn_shag.utils._arrays import TINY, divide_by_sum, log_of
from sklearn_shag.utils._estimators import UNWATCHED
from sklearn_shag.utils._kernel import table_kernel
from sklearn_shag.utils._messages import warn

# Share of uniform uses in a start: EM could not move away from zeros.
UNIFORM_SHARE = 1e-3
NMF_ITERATIONS = 200
# An objective that falls by more than rounding is a defect.
OBJECTIVE_ROUNDING = 1e-9
# Tolerance for sums of tiny weights: smaller doubles have fewer digits.


class Expected(NamedTuple):
    """Result of an E step: expected counts, and the likelihood."""

    counts: Any  # the argument of the M step
    log_likelihood: float
    objective: float  # log likelihood plus log prior, which iterations raise


class EMResult(NamedTuple):
    """Result of EM: the best parameters, and the course of the iterations."""

    parameters: Any
    expected: Expected | None  # in the last iteration
    objectives: list  # after 0, 1, ... iterations
    log_likelihoods: list  # after 0, 1, ... iterations
    quality: float  # of the parameters: their objective, or the value of `watch`
    converged: bool


def climb_to_the_end(
    start,
    expect,
    maximise,
    *,
    max_iter,
    tol,
    n_samples,
    advance=None,
    watch=None,
    patience=0,
    may_fall=False,
    passes=UNWATCHED,
):
    """Run EM until an iteration raises the objective by no more than `tol` per sample.

    Parameters
    ----------
    start : object
        The parameters to start from.
    expect : callable
        The E step: takes parameters and returns Expected.
    maximise : callable
        The M step: takes counts and returns parameters.
    max_iter : int
    tol : float
    n_samples : float
        Number of terms in the log likelihood, the scale of its rounding errors.
    advance : None or callable, default=None
        Is called after each E step.
    watch : None or callable, default=None
        Takes parameters and returns their quality. With it, the best parameters are kept.
    patience : int, default=0
        Number of iterations without better parameters after which EM ends, if it has `watch`.
    may_fall : bool, default=False
        Whether an iteration may lower the objective, as smoothing that depends on the counts does.
        EM then ends when one changes it by no more than `tol` per sample.
    passes : FitTask, default=UNWATCHED
        Each iteration is one of its tasks. EM ends after one that callbacks want to be the last.

    Returns
    -------
    ended : EMResult

    Raises
    ------
    ArithmeticError
        If the objective is not a number, or falls although it may not.
    """
    parameters, expected, previous, best, waited = start, None, -np.inf, -np.inf, 0
    objectives, log_likelihoods = [], []
    for iteration in range(max_iter + 1):
        if iteration:
            task = passes.begin("iteration")
            parameters = maximise(expected.counts)
        expected = expect(parameters)
        objective = expected.objective
        lowest = previous - OBJECTIVE_ROUNDING * (n_samples + abs(objective)) - TINY
        if may_fall:
            lowest = -np.inf
        if not objective >= lowest:
            raise ArithmeticError(
                f"EM iteration {iteration} changed the objective from {previous!r} to {objective!r}"
            )
        objectives.append(objective)
        log_likelihoods.append(expected.log_likelihood)
        if advance is not None:
            advance()
        quality, waited = objective if watch is None else watch(parameters), waited + 1
        if watch is None or not iteration or quality > best:
            kept, best, waited = parameters, quality, 0
        gain, previous = objective - previous, objective
        if may_fall:
            gain = abs(gain)
        converged = waited >= patience if watch else bool(gain <= tol * n_samples)
        if iteration:
            task.end(-expected.log_likelihood, quality)
        if converged or (iteration and passes.stops):
            break
    return EMResult(kept, expected, objectives, log_likelihoods, best, converged)


def warn_of_limit(max_iter, remark=""):
    """Warn that EM ended before it had converged."""
    warn(
        f"EM has not converged after max_iter={max_iter} iterations. Raise max_iter or tol"
        f"{remark}.",
        ConvergenceWarning,
    )


def random_start(bigrams, n_states, rng):
    """Draw the start of EM in Luque et al. (2012, sec. 5.1) and make it a proper automaton.

    alpha_1, alpha_inf and a transition matrix T are random; every state emits the symbols by their
    relative frequency, and column j of ``A_a = T P(a)`` is scaled to ``1 - alpha_inf[j]``.
    """
    emission = bigrams[:-1].sum(axis=1)
    emission /= max(emission.sum(), TINY)
    transitions = rng.dirichlet(np.ones(n_states), size=n_states).T
    alpha_inf = rng.uniform(size=n_states)
    A = emission[:, None, None] * (transitions * (1.0 - alpha_inf))
    return proper_start(rng.dirichlet(np.ones(n_states)), alpha_inf, A, bigrams)


def factorise_bigrams(bigrams, n_states):
    """Factorise bigrams, ``P ~ W H``, without negative entries; return H and W."""
    from sklearn.decomposition import NMF  # slow to import, and seldom needed

    # The start of the factorisation by singular vectors is undefined beyond the rank.
    n_components = min(n_states, int(np.linalg.matrix_rank(bigrams)))
    # With tol=0 the number of iterations is fixed: a start need not be the optimum.
    factorisation = NMF(n_components, init="nndsvd", tol=0, max_iter=NMF_ITERATIONS, random_state=0)
    W = factorisation.fit_transform(bigrams)
    return factorisation.components_, W


def moments_start(bigrams, n_states):
    """Factorise the bigrams into a non-negative automaton (theory, eq. 31).

    ``P ~ W H`` by non-negative matrix factorisation: with columns of W scaled to sum to 1,
    column j of W is the distribution of the next symbol or STOP in state j, and column a of H
    the mass of the states after symbol a (or START). The next state depends on the symbol
    alone: ``A[a, i, j] = H[i, a] / sum_i H[i, a] * W[a, j]``.
    """
    H, W = factorise_bigrams(bigrams, n_states)
    # Components without mass, and states beyond the matrix, start as the average state.
    used = (W.sum(axis=0) > 0) & (H.sum(axis=1) > 0)
    average = bigrams.sum(axis=1)
    W = np.column_stack([W[:, used], np.repeat(average[:, None], n_states - used.sum(), axis=1)])
    H = np.vstack([H[used], np.full((n_states - used.sum(), H.shape[1]), 1e-3 * H.mean())])
    mass = W.sum(axis=0)
    W, H = W / mass, H * mass[:, None]
    following = divide_by_sum(H, 0)
    A = following[:, :-1].T[:, :, None] * W[:-1, None, :]
    return proper_start(following[:, -1], W[-1], A, bigrams)


def proper_start(alpha_1, alpha_inf, A, bigrams):
    """Mix a start with the uniform use of all states and normalise it."""
    n_states = alpha_1.size
    average = bigrams.sum(axis=1) / bigrams.sum()
    uniform = np.broadcast_to(average[:-1, None, None] / n_states, A.shape)
    return operators_from_counts(
        Operators(
            alpha_1 + UNIFORM_SHARE / n_states,
            alpha_inf + UNIFORM_SHARE * average[-1],
            A + UNIFORM_SHARE * uniform,
        )
    )


def em_automaton(tree, held_out, start, prior, max_iter, tol, patience, passes=UNWATCHED):
    """Improve an automaton by EM until the likelihood stops rising (theory, eqs. 11 and 30).

    Parameters
    ----------
    tree : PrefixTree
        The sequences to learn from.
    held_out : PrefixTree or None
        Sequences whose likelihood decides when to stop and which iteration is kept.
    start : Operators
    prior : Operators or None
        Pseudo-counts, added to the uses by the sequences.
    max_iter : int
    tol : float
        Stop when an iteration raises the objective by less, per sequence.
    patience : int
        Stop after so many iterations without a better likelihood of `held_out`.
    passes : FitTask, default=UNWATCHED

    Returns
    -------
    ended : EMResult
        Without counts, which are as large as the automaton.

    Raises
    ------
    ValueError
        If a sequence has no probability under the start.
    ArithmeticError
        If the objective falls or is not a number.
    """

    def watch(automaton):
        return expected_uses(automaton, held_out, Operators(*map(np.zeros_like, automaton)))

    # Contiguous, so that the kernel compiles for one memory layout only.
    start = Operators(*map(np.ascontiguousarray, start))
    limits = {
        "max_iter": max_iter,
        "tol": tol,
        "n_samples": float(tree.weight.sum()),
        "passes": passes,
    }
    if held_out is not None:
        limits |= {"watch": watch, "patience": patience}
    expect = partial(_expect_with_prior, tree, prior)
    return climb_to_the_end(start, expect, operators_from_counts, **limits)._replace(expected=None)


def _expect_with_prior(tree, prior, automaton):
    """The E step of one automaton: expected uses by the sequences of `tree`, plus `prior`."""
    counts = Operators(*map(np.zeros_like, automaton))
    log_likelihood = expected_uses(automaton, tree, counts)
    if log_likelihood == -np.inf:  # an iteration never leads there
        raise ValueError(
            "the start gives a training sequence the probability zero. Raise smoothing, or leave "
            "out sentences whose weights are tiny compared with those of others"
        )
    if prior is None:
        return Expected(counts, log_likelihood, log_likelihood)
    objective = log_likelihood + _log_prior(automaton, prior)
    return Expected(Operators(*map(np.add, counts, prior)), log_likelihood, objective)


def _log_prior(automaton, prior):
    """Log density of the Dirichlet prior with pseudo-counts `prior`, up to a constant."""
    total = 0.0
    for part, uses in zip(automaton, prior, strict=True):
        used = uses > 0
        # A start may have zeros where the prior has none.
        total += float(np.sum(uses[used] * log_of(part[used])))
    return total


def prior_uses(pooled, strength):
    """Compute expected uses of a pooled automaton by `strength` sequences drawn from it."""
    visits = expected_visits(pooled)
    return Operators(
        strength * pooled.alpha_1,
        strength * pooled.alpha_inf * visits,
        strength * pooled.A * visits,
    )


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
    (forward, backward), logs = np.zeros((2, n_nodes, n_states)), np.zeros(n_nodes)
    return _add_uses(automaton, tree, counts, forward, np.ones(n_nodes), logs, backward)


@table_kernel
def _add_uses(automaton, tree, counts, forward, scale, log_scale, backward):
    """Kernel of :func:`expected_uses`, with working memory for the prefixes of the tree."""
    n_nodes, n_states = tree.parent.size, automaton.alpha_1.size
    # forward[v] is the forward vector of prefix v divided by its sum, whose logarithm is
    # log_scale[v]; scale[v] is the last factor of that sum.
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
    # by its probability: the evidence of the sequences below v for the state after v.
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
