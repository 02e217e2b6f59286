"""Mixtures of grammars of other languages: their direct sum, and EM of its weights."""

from functools import partial

import numpy as np

from sklearn_shag.encoding import LEFT, RIGHT
from sklearn_shag.learning import Expected, climb_to_the_end
from sklearn_shag.operators import Operators, complete_grammar, root_masses
from sklearn_shag.parsing import chart


def align_grammar(operators, codes, shares):
    """Write a grammar over other symbols, some of which it may not know.

    Of these it says that some symbol is there, which their shares divide among them; the symbols
    that it knows have the rest. So no sum over symbols changes, and not to know any is no
    advantage.

    Parameters
    ----------
    operators : Operators
        Of a grammar.
    codes : int ndarray of shape (n_symbols,)
        Those that the new symbols have in the grammar.
    shares : ndarray of shape (n_symbols,)
        How frequent each symbol is in text, positive; their sum is 1.

    Returns
    -------
    operators : Operators
        Of the grammar over the new symbols.
    """
    unknown = operators.A.shape[2] - 1
    missing = codes == unknown
    factors = np.where(missing, shares, 1.0 - shares[missing].sum())
    heads = np.append(codes, unknown)
    alpha_1, alpha_inf, A = (part[heads] for part in operators)
    roots = root_masses(operators)
    return complete_grammar(
        Operators(alpha_1, alpha_inf, A[:, :, codes] * factors[:, None, None]),
        np.append(roots, roots.sum())[codes] * factors,
    )


def mix_grammars(grammars, weights):
    """Mix grammars: sequences of a head and direction have the weighted mean of their values.

    Parameters
    ----------
    grammars : list of Operators
        Over the same symbols, as of :func:`align_grammar`.
    weights : ndarray of shape (n_grammars, n_symbols + 2, 2)
        Of each head and direction.

    Returns
    -------
    operators : Operators
        Of the grammar: the direct sum, with the states of all (theory, eq. 47). Roots have the mean
        of their distributions.
    """
    starts = [w[..., None] * g.alpha_1 for w, g in zip(weights, grammars, strict=True)]
    *lead, n_symbols, _, _ = grammars[0].A[:-1, :, :-1].shape
    ends = np.cumsum([each.shape[-1] for each in starts])
    A, begin = np.zeros((*lead, n_symbols, ends[-1], ends[-1])), 0
    for grammar, end in zip(grammars, ends, strict=True):
        A[..., begin:end, begin:end] = grammar.A[:-1, :, :-1]
        begin = end
    stops = np.concatenate([grammar.alpha_inf[:-1] for grammar in grammars], axis=-1)
    roots = weights[:, -1, RIGHT] @ _roots_of(grammars)[:, :-1]
    return complete_grammar(Operators(np.concatenate(starts, axis=-1)[:-1], stops, A), roots)


def _roots_of(grammars):
    """The distributions of the root, and of an unknown one: (n_grammars, n_symbols + 1)."""
    return np.stack([grammar.A[-1, RIGHT, :, 0, 0] for grammar in grammars])


def learn_weights(grammars, text, start, *, tied, max_iter, tol, n_jobs, advance):
    """Learn how much grammars count, head by head, from raw text (theory, eq. 48).

    Parameters
    ----------
    grammars : list of Operators
        As for :func:`mix_grammars`, none with negative entries.
    text : Text
        If there are iterations, each sentence of positive weight has a tree that is possible under
        the start.
    start : ndarray of shape (n_grammars, n_symbols + 2, 2)
        Weights, where EM starts.
    tied : bool
        Whether all heads and directions, and the root, have the same.
    max_iter, tol, advance
        As for :func:`climb_to_the_end`.
    n_jobs : int or None

    Returns
    -------
    ended : Ended
        Its parameters are weights; its objective is the log likelihood.
    """
    return climb_to_the_end(
        start,
        partial(_expect, grammars, text, n_jobs),
        partial(_share_out, tied=tied),
        max_iter=max_iter,
        tol=tol,
        n_samples=float(text.weights.sum()),
        advance=advance,
    )


def _expect(grammars, text, n_jobs, weights):
    """The E step: how many sequences of each head and direction each grammar has generated."""
    found = chart(
        mix_grammars(grammars, weights),
        text.potentials,
        marginals=False,
        counts=True,
        weights=text.weights,
        n_jobs=n_jobs,
    )
    ends = np.cumsum([grammar.alpha_1.shape[-1] for grammar in grammars])
    starts = np.split(found.counts.alpha_1, ends[:-1], axis=-1)
    uses = np.stack([each.sum(axis=-1) for each in starts])
    # The root has one state for all: what it emits tells whose it may be.
    joint = weights[:, -1, RIGHT, None] * _roots_of(grammars)
    total = joint.sum(axis=0)
    emitted = found.counts.A[-1, RIGHT, :, 0, 0]
    uses[:, -1, LEFT] = 0.0
    shares = np.divide(joint, total, out=np.zeros_like(joint), where=total > 0)
    uses[:, -1, RIGHT] = shares @ emitted
    counted = text.weights > 0
    scores = np.where(found.sign > 0, found.log_abs_z, -np.inf)
    log_likelihood = float(text.weights[counted] @ scores[counted])
    return Expected(uses, log_likelihood, log_likelihood)


def _share_out(uses, tied):
    """The M step: relative frequencies; heads that are not there have the weights of all heads."""
    if tied:
        return np.broadcast_to(_divide(uses.sum(axis=(1, 2), keepdims=True)), uses.shape)
    pool = uses[:, :-1].sum(axis=1, keepdims=True)
    return _divide(np.where(uses.sum(axis=0) > 0, uses, pool))


def _divide(uses):
    """Shares; alike where nothing is used."""
    total = uses.sum(axis=0)
    return np.divide(uses, total, out=np.full(uses.shape, 1.0 / len(uses)), where=total > 0)
